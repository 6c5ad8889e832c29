//! Nodes on a simulated network: steps and cycles in the order of time.
//!
//! Of what happens at the same time, arrivals come first, then packets that enter the network, then steps, each by
//! the number of the node.

use super::config::Config;
use super::network::Network;
use super::packet::NOBODY;
use super::report::Channel;
use super::rule::Rule;
use super::trace::Sent;
use super::tree::{Addresses, Branches};
use crate::{Busy, Fabric, Gather, Map, Message, Node, NodeId, Priority, Refused, Step, Time};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fmt;
use std::rc::Rc;

/// What a run of nodes left.
#[derive(Debug)]
pub struct Outcome<N> {
    /// The nodes, all of them done (or dead).
    pub nodes: Vec<N>,
    /// When the last was done.
    pub time: Time,
    /// What went out by each router's ports, by node and port.
    pub channels: Vec<Channel>,
    /// The event log, if the configuration wants it.
    pub log: String,
    /// All packets that were sent, if the configuration wants them.
    pub trace: Vec<Sent>,
}

/// Why a run ended before its nodes were done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stopped {
    /// These wait for messages, and there are none.
    Asleep {
        /// When.
        time: Time,
        /// The node.
        nodes: Vec<NodeId>,
    },
    /// It took longer than [`Config::time_max`].
    Late,
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stopped::Asleep { time, nodes } => {
                let numbers: Vec<String> = nodes.iter().take(8).map(|node| node.0.to_string()).collect();
                let more = if nodes.len() > 8 { ", .." } else { "" };
                let (count, who) = (nodes.len(), numbers.join(", "));
                write!(f, "at {}: {count} nodes wait for messages that nobody sends: {who}{more}", time.0)
            }
            Stopped::Late => write!(f, "the run took longer than it may"),
        }
    }
}

impl std::error::Error for Stopped {}

/// When a node is stepped that waits for a message.
const NEVER: u64 = u64::MAX;

/// A node's way to a simulated network.
#[derive(Debug)]
pub struct Endpoint {
    node: NodeId,
    nodes: u32,
    /// The node's own time.
    time: u64,
    /// Messages that have come, by priority, and how many were taken out in this step.
    inbox: [VecDeque<(Message, Option<Gather>)>; 2],
    taken: [u32; 2],
    /// Of the message that was taken last.
    gather: Option<Gather>,
    /// Messages that have not entered the network, with the time when they do.
    outbox: VecDeque<(u64, Target, Message)>,
    /// How many messages of a priority may be sent yet in this step, by level, and which level a priority has.
    room: [u32; 2],
    levels: [usize; 2],
    /// How long packets are, and where multicasts lead.
    config: Rc<Config>,
    addresses: Option<&'static Addresses>,
}

/// The receivers of a message.
#[derive(Debug)]
enum Target {
    Node(NodeId),
    Many(Branches),
}

impl Endpoint {
    fn post(&mut self, to: Target, mut message: Message) -> Result<(), Busy> {
        let room = &mut self.room[self.levels[message.priority as usize]];
        if *room == 0 {
            return Err(Busy(message));
        }
        *room -= 1;
        message.from = self.node;
        self.outbox.push_back((self.time, to, message));
        Ok(())
    }
}

impl Fabric for Endpoint {
    fn node(&self) -> NodeId {
        self.node
    }
    fn nodes(&self) -> u32 {
        self.nodes
    }
    fn send(&mut self, to: NodeId, message: Message) -> Result<(), Busy> {
        assert!(to.0 < self.nodes, "node {} of {}", to.0, self.nodes);
        self.post(Target::Node(to), message)
    }
    fn send_many(&mut self, to: &Map, message: Message) -> Result<u32, Refused> {
        let (Map::Exact(set) | Map::Levels(set)) = to;
        assert!(set.iter().all(|node| node.0 < self.nodes), "nodes of {}", self.nodes);
        let fits = self.config.flits(&message) <= self.config.buffer_flits;
        let branches =
            self.addresses.as_ref().filter(|_| fits).and_then(|addresses| addresses.branches(self.node, to));
        match branches {
            None => Err(Refused::Unsupported(message)),
            Some(_) if set.is_empty() => Ok(0),
            Some(branches) => {
                let leaves = branches.leaves();
                let sent = self.post(Target::Many(branches), message);
                sent.map(|()| leaves).map_err(|Busy(message)| Refused::Busy(message))
            }
        }
    }
    fn poll(&mut self) -> Option<Message> {
        for priority in [Priority::High, Priority::Low] {
            if let Some((message, gather)) = self.inbox[priority as usize].pop_front() {
                self.taken[priority as usize] += 1;
                self.gather = gather;
                return Some(message);
            }
        }
        None
    }
    fn gather(&self) -> Option<Gather> {
        self.gather
    }
    fn now(&self) -> Time {
        Time(self.time)
    }
    fn spend(&mut self, time: u64) {
        self.time = self.time.saturating_add(time);
    }
}

/// Runs nodes until all are done, without faults.
pub fn run<N: Node<Endpoint>>(
    config: &Config,
    make_node: impl FnMut(NodeId) -> N,
) -> Result<Outcome<N>, Stopped> {
    World::new(config, make_node, None).run()
}

/// Runs nodes until all are done or dead; the rule makes faults.
pub fn run_with<N: Node<Endpoint>>(
    config: &Config,
    rule: &mut dyn Rule,
    make_node: impl FnMut(NodeId) -> N,
) -> Result<Outcome<N>, Stopped> {
    World::new(config, make_node, Some(rule)).run()
}

/// What is to happen at a time, to a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Event {
    /// The first message of its outbox enters the network.
    Enter,
    /// It is stepped, unless it has been told another time since.
    Step,
}

struct World<'a, N> {
    network: Network,
    rule: Option<&'a mut dyn Rule>,
    nodes: Vec<N>,
    endpoints: Vec<Endpoint>,
    /// When each node is to be stepped; [`NEVER`] if it is done or waits for a message only.
    wake: Vec<u64>,
    done: Vec<bool>,
    /// Nodes that go on as soon as one of their packets has left them wholly.
    refused: Vec<bool>,
    running: usize,
    events: BinaryHeap<Reverse<(u64, Event, u32)>>,
    /// Packets that have left the network, and when they are with their nodes.
    arriving: VecDeque<(u64, u32)>,
    /// The messages of packets, by packet.
    messages: Vec<Option<Message>>,
    /// Those of multicasts, by multicast.
    multicasts: Vec<Option<Message>>,
}

impl<'a, N: Node<Endpoint>> World<'a, N> {
    fn new(
        config: &Config,
        make_node: impl FnMut(NodeId) -> N,
        rule: Option<&'a mut dyn Rule>,
    ) -> World<'a, N> {
        let network = Network::new(config);
        let nodes = config.topology.nodes();
        let (shared, addresses) = (Rc::new(config.clone()), config.topology.addresses());
        let levels = [Priority::Low, Priority::High].map(|priority| config.level(priority));
        let endpoint = |node| Endpoint {
            node: NodeId(node),
            nodes,
            time: 0,
            inbox: Default::default(),
            taken: [0; 2],
            gather: None,
            outbox: VecDeque::new(),
            room: [0; 2],
            levels,
            config: shared.clone(),
            addresses,
        };
        World {
            network,
            rule,
            nodes: (0..nodes).map(NodeId).map(make_node).collect(),
            endpoints: (0..nodes).map(endpoint).collect(),
            wake: vec![0; nodes as usize],
            done: vec![false; nodes as usize],
            refused: vec![false; nodes as usize],
            running: nodes as usize,
            events: (0..nodes).map(|node| Reverse((0, Event::Step, node))).collect(),
            arriving: VecDeque::new(),
            messages: Vec::new(),
            multicasts: Vec::new(),
        }
    }

    fn run(mut self) -> Result<Outcome<N>, Stopped> {
        while self.running > 0 {
            self.happen();
            let now = self.network.now();
            if self.running == 0 {
                break;
            }
            if now > self.network.config().time_max {
                return Err(Stopped::Late);
            }
            if self.network.is_empty() {
                match self.next() {
                    Some(time) => self.network.skip_to(time),
                    None => self.bury(Time(now))?,
                }
                continue;
            }
            if let Some(quiet) = self.network.quiet_until() {
                self.network.wait_until(self.next().map_or(quiet, |time| time.min(quiet)));
                continue;
            }
            let most = self.next().map_or(u64::MAX, |time| time - now);
            let steady = if self.rule.is_none() { self.network.steady_for(most) } else { 0 };
            if steady > 0 {
                self.network.go_on(steady);
                continue;
            }
            self.network.cycle(self.rule.as_deref_mut());
            self.wake_refused();
            for at in 0..self.network.arrived().len() {
                let packet = self.network.arrived()[at];
                let arrival = self.network.arrival(packet, now);
                let behind = self.arriving.partition_point(|other| other.0 <= arrival);
                self.arriving.insert(behind, (arrival, packet));
            }
        }
        Ok(Outcome {
            nodes: self.nodes,
            time: Time(self.endpoints.iter().map(|endpoint| endpoint.time).max().unwrap_or_default()),
            channels: self.network.counters(),
            log: self.network.take_log(),
            trace: self.network.take_trace(),
        })
    }

    /// When something arrives or is to happen next, if the network does nothing.
    fn next(&self) -> Option<u64> {
        let arrival = self.arriving.front().map(|arrival| arrival.0);
        arrival.into_iter().chain(self.events.peek().map(|event| event.0.0)).min()
    }

    /// Everything that is to happen before the next cycle.
    fn happen(&mut self) {
        let now = self.network.now();
        while self.arriving.front().is_some_and(|arrival| arrival.0 <= now) {
            let Some((_, packet)) = self.arriving.pop_front() else { break };
            self.deliver(packet);
        }
        while self.events.peek().is_some_and(|event| event.0.0 <= now) {
            let Some(Reverse((time, event, node))) = self.events.pop() else { break };
            match event {
                Event::Enter => self.enter(node as usize),
                Event::Step if time == self.wake[node as usize] => self.step(node as usize),
                Event::Step => {}
            }
        }
    }

    fn step(&mut self, node: usize) {
        let now = self.network.now();
        if !self.lives(node, Time(now)) {
            return self.finish(node);
        }
        self.refused[node] = false;
        let endpoint = &mut self.endpoints[node];
        endpoint.time = endpoint.time.max(now);
        endpoint.room = [0; 2];
        for priority in [Priority::Low, Priority::High] {
            let level = endpoint.levels[priority as usize];
            let leaving = endpoint
                .outbox
                .iter()
                .filter(|(_, _, message)| endpoint.levels[message.priority as usize] == level);
            let queued = self.network.queued(endpoint.node, priority) + leaving.count() as u32;
            endpoint.room[level] = self.network.config().send_queue.saturating_sub(queued);
        }
        let before = endpoint.outbox.len();
        let step = self.nodes[node].step(endpoint);
        for (time, _, _) in endpoint.outbox.range(before..) {
            self.events.push(Reverse((*time, Event::Enter, node as u32)));
        }
        for priority in [Priority::Low, Priority::High] {
            let taken = std::mem::take(&mut endpoint.taken[priority as usize]);
            (0..taken).for_each(|_| self.network.make_room(endpoint.node, priority));
        }
        let soon = endpoint.time.max(now + 1);
        let has_mail = endpoint.inbox.iter().any(|messages| !messages.is_empty());
        match step {
            Step::Again => self.wake_at(node, soon),
            // It may die meanwhile, and is to know.
            Step::Refused(_) if has_mail || self.rule.is_some() => self.wake_at(node, soon),
            Step::Refused(time) => {
                self.refused[node] = true;
                self.wake_or_not(node, time.map(|time| soon.max(time.0)));
            }
            Step::Wait(_) if has_mail => self.wake_at(node, soon),
            Step::Wait(time) => self.wake_or_not(node, time.map(|time| soon.max(time.0))),
            Step::Done => self.finish(node),
        }
    }

    fn wake_or_not(&mut self, node: usize, time: Option<u64>) {
        match time {
            Some(time) => self.wake_at(node, time),
            None => self.wake[node] = NEVER,
        }
    }

    /// A cycle is over: nodes go on whose packets have left, and which wait for that.
    fn wake_refused(&mut self) {
        for at in 0..self.network.left().len() {
            let node = self.network.left()[at] as usize;
            let time = self.endpoints[node].time.max(self.network.now());
            if std::mem::take(&mut self.refused[node]) && self.wake[node] > time {
                self.wake_at(node, time);
            }
        }
    }

    fn wake_at(&mut self, node: usize, time: u64) {
        self.wake[node] = time;
        self.events.push(Reverse((time, Event::Step, node as u32)));
    }

    /// The first message of a node's outbox enters the network.
    fn enter(&mut self, node: usize) {
        let Some((_, to, message)) = self.endpoints[node].outbox.pop_front() else { return };
        let (flits, priority) = (self.network.config().flits(&message), message.priority);
        let from = NodeId(node as u32);
        let (messages, number) = match to {
            Target::Node(to) => (&mut self.messages, self.network.send(from, to, flits, priority, 0)),
            Target::Many(to) => (&mut self.multicasts, self.network.send_many(from, to, flits, priority)),
        };
        let number = number as usize;
        if messages.len() <= number {
            messages.resize(number + 1, None);
        }
        messages[number] = Some(message);
    }

    fn deliver(&mut self, number: u32) {
        let now = self.network.now();
        let packet = self.network.take(number, now);
        let gather = if packet.cast == NOBODY { None } else { self.network.gather(&packet) };
        let message = if packet.cast == NOBODY {
            self.messages[number as usize].take()
        } else if self.network.forget_copy(packet.cast) {
            self.multicasts[packet.cast as usize].take()
        } else {
            self.multicasts[packet.cast as usize].clone()
        };
        let message = message.expect("every packet has a message");
        let node = packet.to.0 as usize;
        if self.done[node] || !self.lives(node, Time(now)) {
            // It vanishes, and so does the place that it would have taken.
            self.finish(node);
            return self.network.make_room(packet.to, packet.priority);
        }
        let endpoint = &mut self.endpoints[node];
        endpoint.inbox[packet.priority as usize].push_back((message, gather));
        let time = endpoint.time.max(now);
        if self.wake[node] > time {
            self.wake_at(node, time);
        }
    }

    fn lives(&mut self, node: usize, time: Time) -> bool {
        self.rule.as_deref_mut().is_none_or(|rule| rule.lives(NodeId(node as u32), time))
    }

    /// A node is done, or dead: it takes nothing out of its inbox any more.
    fn finish(&mut self, node: usize) {
        self.running -= usize::from(!self.done[node]);
        self.done[node] = true;
        self.wake[node] = NEVER;
        let endpoint = &mut self.endpoints[node];
        for priority in [Priority::Low, Priority::High] {
            let unread = std::mem::take(&mut endpoint.inbox[priority as usize]).len();
            (0..unread).for_each(|_| self.network.make_room(endpoint.node, priority));
        }
    }

    /// Nothing happens any more: whoever is going to die is dead, others would sleep for ever.
    fn bury(&mut self, time: Time) -> Result<(), Stopped> {
        for node in 0..self.nodes.len() {
            if !self.done[node] && !self.lives(node, Time(NEVER)) {
                self.finish(node);
            }
        }
        let asleep: Vec<NodeId> =
            (0..self.nodes.len()).filter(|node| !self.done[*node]).map(|node| NodeId(node as u32)).collect();
        if asleep.is_empty() { Ok(()) } else { Err(Stopped::Asleep { time, nodes: asleep }) }
    }
}
