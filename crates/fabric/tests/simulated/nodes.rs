//! Nodes on a simulated network.

use crate::for_seeds;
use fabric::simulated::{
    Arbitration, Config, Duplex, Endpoint, Priorities, RandomFaults, Stopped, Topology, run, run_with,
};
use fabric::{Busy, Fabric, Message, Node, NodeId, Priority, Random, Step, Time};
use std::collections::BTreeMap;

/// Sends messages to everybody at random until it has sent enough, takes what comes, and checks it. Done when
/// everybody has sent it how many there are, and these have come.
struct Chatter {
    random: Random,
    left: u32,
    /// What did not find room.
    held: Option<(NodeId, Message)>,
    /// Messages sent to each node, by priority.
    sent: Vec<[u64; 2]>,
    /// The next message of each sender, by priority.
    next: BTreeMap<(NodeId, Priority), u64>,
    /// How many messages senders say there are for me, and how many senders have said so.
    expected: u64,
    finals: u32,
    received: u64,
    busy: u32,
    reports: u32,
}

impl Chatter {
    fn new(node: NodeId, nodes: u32, seed: u64, messages: u32) -> Chatter {
        Chatter {
            random: Random::new(seed ^ (u64::from(node.0) << 32)),
            left: messages,
            held: None,
            sent: vec![[0; 2]; nodes as usize],
            next: BTreeMap::new(),
            expected: 0,
            finals: 0,
            received: 0,
            busy: 0,
            reports: 0,
        }
    }

    fn send(&mut self, fabric: &mut Endpoint) {
        let (to, message) = match self.held.take() {
            Some(held) => held,
            None if self.left > 0 => {
                self.left -= 1;
                let to = NodeId(self.random.below(fabric.nodes()));
                let priority = [Priority::Low, Priority::High][self.random.below(2) as usize];
                let count = &mut self.sent[to.0 as usize][priority as usize];
                let mut message = Message::new(priority, &[0, *count]);
                *count += 1;
                message.payload = vec![7; self.random.below(40) as usize];
                (to, message)
            }
            None if self.reports < fabric.nodes() => {
                let to = NodeId(self.reports);
                self.reports += 1;
                (to, Message::new(Priority::Low, &[1, self.sent[to.0 as usize].iter().sum()]))
            }
            None => return,
        };
        if let Err(Busy(message)) = fabric.send(to, message) {
            self.busy += 1;
            self.held = Some((to, message));
        }
    }

    fn take(&mut self, message: &Message) {
        match message.words() {
            [0, number] => {
                let next = self.next.entry((message.from, message.priority)).or_default();
                assert_eq!(*number, *next, "from {:?}: in order, each once (N1)", message.from);
                *next += 1;
                self.received += 1;
            }
            [1, count] => {
                self.expected += count;
                self.finals += 1;
            }
            other => panic!("{other:?} was never sent"),
        }
    }
}

impl Node<Endpoint> for Chatter {
    fn step(&mut self, fabric: &mut Endpoint) -> Step {
        fabric.spend(u64::from(self.random.below(5)));
        // Slow to take, so that queues fill.
        if self.random.below(3) > 0
            && let Some(message) = fabric.poll()
        {
            self.take(&message);
        }
        self.send(fabric);
        let all_sent = self.left == 0 && self.held.is_none() && self.reports == fabric.nodes();
        match all_sent {
            false => Step::Again,
            true if self.finals == fabric.nodes() && self.received == self.expected => Step::Done,
            true => Step::Wait(None),
        }
    }
}

fn random_config(seed: u64) -> Config {
    let mut random = Random::new(seed);
    let topologies =
        [Topology::ring(6), Topology::torus(&[3, 4]), Topology::mesh(&[3, 3]), Topology::mesh(&[2, 3, 2])];
    let topology = topologies[random.below(4) as usize].clone();
    Config {
        duplex: [Duplex::Full, Duplex::Half][random.below(2) as usize],
        priorities: [Priorities::Alike, Priorities::Apart][random.below(2) as usize],
        arbitration: [Arbitration::Fixed, Arbitration::RoundRobin][random.below(2) as usize],
        hop_cycles: 1 + random.below(3),
        credit_cycles: 1 + random.below(2),
        buffer_flits: 1 + random.below(3),
        send_queue: 1 + random.below(3),
        receive_queue: 1 + random.below(3),
        time_max: 10_000_000,
        check: true,
        log: true,
        ..Config::plain(topology, seed)
    }
}

/// N1 and N2, with the smallest queues, with and without faults.
#[test]
fn everything_arrives_once_and_in_order() {
    for_seeds("everything_arrives_once_and_in_order", 40, |seed| {
        let config = random_config(seed);
        let nodes = config.topology.nodes();
        let make = |node| Chatter::new(node, nodes, seed, 60);
        let outcome = match seed % 2 {
            0 => run(&config, make),
            _ => run_with(&config, &mut RandomFaults::swarm(seed), make),
        };
        let outcome = outcome.unwrap_or_else(|stopped| panic!("{stopped}\n{config:?}"));
        let received: u64 = outcome.nodes.iter().map(|node| node.received).sum();
        assert_eq!(received, u64::from(60 * nodes));
        assert!(outcome.nodes.iter().any(|node| node.busy > 0), "queues were full at times (N2)");
        assert_eq!(outcome.log.matches(" send ").count(), (60 * nodes + nodes * nodes) as usize);
    });
}

#[test]
fn the_same_seed_is_the_same_run() {
    let log = |seed| {
        let config = random_config(seed);
        let nodes = config.topology.nodes();
        let make = |node| Chatter::new(node, nodes, seed, 20);
        run_with(&config, &mut RandomFaults::swarm(seed), make).expect("all are done").log
    };
    for seed in 0..10 {
        assert_eq!(log(seed), log(seed));
    }
    assert_ne!(log(0), log(1));
}

/// Waits in one way or another, and notes when it was stepped.
#[derive(Debug)]
struct Sleeper {
    plan: Vec<Step>,
    stepped: Vec<u64>,
}

impl Node<Endpoint> for Sleeper {
    fn step(&mut self, fabric: &mut Endpoint) -> Step {
        self.stepped.push(fabric.now().0);
        if fabric.node().0 == 1 && self.stepped.len() == 1 {
            fabric.spend(100);
            fabric.send(NodeId(0), Message::new(Priority::Low, &[])).expect("there is room");
        }
        while fabric.poll().is_some() {}
        fabric.spend(3);
        self.plan.pop().unwrap_or(Step::Done)
    }
}

#[test]
fn a_node_is_stepped_when_it_likes_to() {
    let config = Config::plain(Topology::mesh(&[2]), 0);
    // Plans are read from the end.
    let plans = [
        vec![Step::Wait(Some(Time(1))), Step::Wait(Some(Time(500))), Step::Again, Step::Wait(Some(Time(50)))],
        vec![],
    ];
    let sleeper = |node: NodeId| Sleeper { plan: plans[node.0 as usize].clone(), stepped: Vec::new() };
    let outcome = run(&config, sleeper).expect("all are done");
    // The message of 1 flit that was sent at 100 comes at 103, before 500; a time that is past means now.
    assert_eq!(outcome.nodes[0].stepped, [0, 50, 53, 103, 106]);
    assert_eq!((outcome.nodes[1].stepped.as_slice(), outcome.time), (&[0][..], Time(109)));
}

#[test]
fn a_node_that_computes_does_not_hinder_time() {
    let config = Config::plain(Topology::mesh(&[2]), 0);
    let plan = || vec![Step::Wait(Some(Time(1 << 39)))];
    let outcome = run(&config, |_| Sleeper { plan: plan(), stepped: Vec::new() }).expect("all are done");
    assert_eq!(outcome.time, Time((1 << 39) + 3));
}

#[test]
fn who_waits_for_nothing_is_found() {
    let config = Config::plain(Topology::mesh(&[2]), 0);
    let sleeper = |_| Sleeper { plan: vec![Step::Wait(None); 5], stepped: Vec::new() };
    let stopped = run(&config, sleeper).expect_err("nobody wakes them");
    assert_eq!(stopped.to_string(), "at 103: 2 nodes wait for messages that nobody sends: 0, 1");
}

#[test]
fn a_run_ends_when_it_has_to() {
    let config = Config { time_max: 1000, ..Config::plain(Topology::mesh(&[2]), 0) };
    let sleeper = |_| Sleeper { plan: vec![Step::Again; 5000], stepped: Vec::new() };
    assert_eq!(run(&config, sleeper).expect_err("it is too long"), Stopped::Late);
}

/// Node 0 sends to node 1 all that it can; that one does not look at it before cycle 1,000.
struct Deaf {
    sent: u32,
    received: u32,
}

impl Node<Endpoint> for Deaf {
    fn step(&mut self, fabric: &mut Endpoint) -> Step {
        let early = fabric.now() < Time(1000);
        if fabric.node().0 == 1 {
            while !early && fabric.poll().is_some() {
                self.received += 1;
            }
            return if fabric.now() > Time(2000) { Step::Done } else { Step::Again };
        }
        while early && fabric.send(NodeId(1), Message::new(Priority::Low, &[1, 2])).is_ok() {
            self.sent += 1;
        }
        if early { Step::Again } else { Step::Done }
    }
}

#[test]
fn a_full_receiver_holds_up_its_sender() {
    let config =
        Config { send_queue: 5, receive_queue: 3, check: true, ..Config::plain(Topology::mesh(&[2]), 0) };
    let outcome = run(&config, |_| Deaf { sent: 0, received: 0 }).expect("all are done");
    let [sender, receiver] = &outcome.nodes[..] else { panic!("two nodes") };
    assert_eq!(sender.sent, receiver.received);
    // 3 flits each: 3 with the receiver, 4 flits in the buffer between, 5 in the queue, the first of which has left
    // in part.
    assert_eq!(sender.sent, 3 + 1 + 5);
}

/// Node 0 sends a number of long messages to node 1, and says what it likes to do when it is refused.
struct Patient {
    refused: Step,
    left: u32,
    steps: u32,
}

impl Node<Endpoint> for Patient {
    fn step(&mut self, fabric: &mut Endpoint) -> Step {
        self.steps += 1;
        while fabric.poll().is_some() {
            self.left -= 1;
        }
        if fabric.node().0 == 1 {
            return if self.left == 0 { Step::Done } else { Step::Wait(None) };
        }
        while self.left > 0 {
            if fabric.send(NodeId(1), Message::new(Priority::Low, &[1, 2, 3, 4])).is_err() {
                return self.refused;
            }
            self.left -= 1;
        }
        Step::Done
    }
}

#[test]
fn who_was_refused_goes_on_when_there_is_room() {
    let plain = Config::plain(Topology::mesh(&[2]), 0);
    let config = Config { send_queue: 2, word_flits: 5, check: true, ..plain };
    let steps = |refused| {
        let outcome = run(&config, |_| Patient { refused, left: 20, steps: 0 }).expect("all are done");
        (outcome.nodes[0].steps, outcome.time)
    };
    let ((again, one), (refused, other)) = (steps(Step::Again), steps(Step::Refused(None)));
    assert_eq!(one, other, "it is as if it had tried in each cycle");
    // Two messages find room at once, and one for each packet that leaves.
    assert_eq!(refused, 19);
    assert!(again > 10 * refused, "{again} steps");
}
