//! The network itself: routers, links and the packets in them, one cycle at a time.
//!
//! A router has a buffer for each virtual channel of each input port. A packet is a row of flits; the first one finds
//! the way and takes each channel for the packet, the last one gives it back (wormhole routing). The input of a
//! router's own node is no buffer but the queue of packets that the node has sent.
//!
//! What a cycle does, in this order:
//! 1. *choose* ([`super::router`]): each router with flits takes for each output port one input whose foremost flit
//!    wants it, may have its channel and finds room behind it. Nothing changes meanwhile, so the order of routers
//!    does not matter.
//! 2. *share* ([`super::link`]): of the two directions of a half-duplex link one loses.
//! 3. *judge* ([`Network::judge`]): the rule holds back what it likes to.
//! 4. *move* ([`super::link`]): each flit that is left goes to the next buffer, where it may be chosen `hop_cycles`
//!    later, or to its node. Its place may be chosen `credit_cycles` later by the router before.
//!
//! Each input may give a flit to one output a cycle; inputs of the same port do not hinder each other.
//!
//! Only routers with flits are looked at. Nothing is allocated or stored for a flit: a buffer knows its foremost
//! packet, how many flits of that have not left it, and how many flits it holds; behind a packet come the others in a
//! list. Where hops or credits take more than a cycle, each place of a buffer has a time besides: from when on its
//! flit may go or, when empty, may be filled. So there are no events and no counters of credits. Where buffers say stop
//! and go instead, `signals` has what they have said.

use super::config::{Config, Duplex, Flow};
use super::interface::entry;
use super::log::Log;
use super::multicast::Multicasts;
use super::packet::{NOBODY, Packet, Packets};
use super::report::Channel;
use super::rule::Rule;
use super::signals::Signals;
use super::topology::Routes;
use super::trace::Sent;
use super::tree::Stage;
use crate::{NodeId, Priority, Random, Time};

/// No route, no owner.
pub(super) const NONE: u8 = u8::MAX;
/// The route of a packet that takes several.
pub(super) const FORK: u8 = u8::MAX - 1;
/// Bits of a flit; the rest is its packet's number.
pub(super) const FIRST: u32 = 1 << 31;
pub(super) const LAST: u32 = 1 << 30;
const NUMBER: u32 = LAST - 1;
/// Entries of tables by number of an input or output: a power of two, so that a mask takes the place of a check.
pub(super) const NUMBERS: usize = 32;
/// Times within the network count from `base`; when they get to here, they begin anew.
pub(super) const CLOCK_MAX: u32 = 1 << 31;

/// Random nodes of packets are others than those of the traffic with the same seed.
const WAYS: u64 = 0x5741_5953;

/// The packet of a flit.
pub(super) fn packet_of(flit: u32) -> u32 {
    flit & NUMBER
}

/// A virtual channel: its end at a router's input, and who holds it. What few flits need is elsewhere, because the
/// time of a cycle is that of the memory it touches.
#[derive(Clone, Copy)]
pub(super) struct Buffer {
    /// The foremost flit, or the one that will be when the rest of its packet comes; when it may go.
    pub(super) flit: u32,
    pub(super) time: u32,
    /// Flits of its packet that have not left.
    pub(super) left: u32,
    /// How many flits there are.
    pub(super) len: u16,
    /// Which output (port and channel) the foremost packet takes.
    pub(super) route: u8,
    /// Which input of the router at its other end has it.
    pub(super) owner: u8,
}

/// Packets that a node has sent and that have not left it wholly; those of one priority.
#[derive(Clone, Copy)]
pub(super) struct Queue {
    pub(super) first: u32,
    last: u32,
    /// Flits of the first that have left.
    pub(super) left: u32,
    /// Packets in it.
    pub(super) len: u32,
}

/// What the number of a router's input or output means: divisions that would be made for each flit.
#[derive(Clone, Copy, Default)]
pub(super) struct Gate {
    pub(super) port: u8,
    pub(super) level: u8,
    pub(super) class: u8,
}

/// A router's output port, what it had last, and how many flits went through.
#[derive(Clone, Copy)]
pub(super) struct Port {
    /// Since the clock began anew.
    pub(super) flits: u32,
    /// The first buffer at the other end.
    pub(super) end: u32,
    /// The node that is there.
    pub(super) neighbour: u32,
    /// The last input that got a free channel.
    pub(super) last_input: u8,
    /// The class that had the last flit.
    pub(super) last_class: u8,
}

/// A flit that goes.
#[derive(Clone, Copy)]
pub(super) struct Grant {
    pub(super) node: u32,
    /// The output: its number among all channels' ports.
    pub(super) port: u32,
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) input: u8,
    pub(super) route: u8,
}

/// Routers, links and packets.
pub(super) struct Network {
    pub(super) config: Config,
    pub(super) routes: Routes,
    pub(super) packets: Packets,
    pub(super) multicasts: Multicasts,
    /// Ports of a router, virtual channels of a port, flits of a buffer.
    pub(super) ports: usize,
    pub(super) channels: usize,
    /// The first input and output of a router's own node.
    pub(super) own: usize,
    pub(super) depth: usize,
    pub(super) levels: usize,
    pub(super) classes: usize,
    /// By node, port and virtual channel.
    pub(super) buffers: Vec<Buffer>,
    /// By buffer: the packet that came last.
    pub(super) lasts: Vec<u32>,
    /// By place of each buffer, a ring; and where each ring begins. Empty if all delays are a cycle.
    pub(super) times: Vec<u32>,
    pub(super) firsts: Vec<u16>,
    pub(super) signals: Signals,
    /// By node: until when its interface hands on what has come.
    pub(super) exits: Vec<u64>,
    /// By buffer: the rule has spoken about the foremost packet. Empty without a rule.
    pub(super) judged: Vec<bool>,
    /// By node and level.
    pub(super) queues: Vec<Queue>,
    /// By node and level: messages that the node can still take.
    pub(super) room: Vec<u32>,
    /// By node: its inputs with flits.
    pub(super) occupied: Vec<u32>,
    /// A bit for each node: those that may have flits.
    pub(super) active: Vec<u64>,
    /// By node and port.
    pub(super) outputs: Vec<Port>,
    /// By node and port: what went through; of flits, those before the clock began anew.
    pub(super) counters: Vec<Channel>,
    /// By number of an input or output.
    pub(super) gates: [Gate; NUMBERS],
    /// By node and port, of half-duplex links: when this side was chosen, and in which level; whether it had the link
    /// last.
    pub(super) chosen: Vec<(u32, u8)>,
    pub(super) had_link: Vec<bool>,
    /// By node and port: when a stall ends. Empty without one.
    pub(super) stalled: Vec<u64>,
    pub(super) grants: Vec<Grant>,
    /// Inputs whose foremost packet may choose another way in the next cycle.
    pub(super) undecided: Vec<u32>,
    pub(super) random: Random,
    /// Packets whose last flit has just left the network; they are with their nodes `hop_cycles` later.
    pub(super) arrived: Vec<u32>,
    base: u64,
    pub(super) clock: u32,
    /// Flits in buffers.
    pub(super) inside: u64,
    /// Packets in queues.
    waiting: u64,
    pub(super) sent: u64,
    /// Flits that the last cycle moved.
    pub(super) moved: usize,
    pub(super) log: Log,
    /// All packets that were sent, if the configuration wants them.
    pub(super) trace: Vec<Sent>,
}

impl Network {
    pub(super) fn new(config: &Config) -> Network {
        config.validate();
        let nodes = config.topology.nodes() as usize;
        let (ports, channels) = (config.topology.ports(), config.channels());
        let most = "an RDT has channels for one priority (`Priorities::Alike`), a grid for two";
        assert!(config.fits(), "{most}");
        let depth = config.buffer_flits as usize;
        let mut outputs = Vec::with_capacity(nodes * ports);
        for node in 0..nodes {
            for port in 0..ports {
                let end = config.topology.end(NodeId(node as u32), port);
                let (other, port) = end.map_or((node, ports - 1), |(other, port)| (other.0 as usize, port));
                let end = ((other * ports + port) * channels) as u32;
                outputs.push(Port { flits: 0, end, neighbour: other as u32, last_input: 0, last_class: 0 });
            }
        }
        let queue = Queue { first: NOBODY, last: NOBODY, left: 0, len: 0 };
        let (all_ports, levels) = (nodes * ports, config.levels());
        let quick = (config.hop_cycles, config.credit_cycles, config.flow) == (1, 1, Flow::Credits);
        let timed = if quick { 0 } else { all_ports * channels };
        Network {
            config: config.clone(),
            routes: Routes::new(&config.topology),
            packets: Packets::default(),
            multicasts: Multicasts::default(),
            ports,
            channels,
            own: (ports - 1) * channels,
            depth,
            levels,
            classes: config.classes(),
            buffers: vec![Buffer::EMPTY; all_ports * channels],
            lasts: vec![NOBODY; all_ports * channels],
            times: vec![0; timed * depth],
            firsts: vec![0; timed],
            exits: vec![0; nodes],
            signals: Signals::new(config.flow, all_ports * channels),
            judged: Vec::new(),
            counters: vec![Channel::default(); all_ports],
            queues: vec![queue; nodes * levels],
            room: vec![config.receive_queue; nodes * levels],
            occupied: vec![0; nodes],
            active: vec![0; nodes.div_ceil(64)],
            outputs,
            gates: gates(channels, config.classes()),
            chosen: vec![(0, 0); all_ports],
            had_link: vec![false; all_ports],
            stalled: Vec::new(),
            grants: Vec::new(),
            undecided: Vec::new(),
            random: Random::new(config.seed ^ WAYS),
            arrived: Vec::new(),
            base: 0,
            clock: 1,
            inside: 0,
            waiting: 0,
            sent: 0,
            moved: 0,
            log: Log::new(config.log),
            trace: Vec::new(),
        }
    }

    /// The cycle that comes next.
    pub(super) fn now(&self) -> u64 {
        // The clock began at 1, so that "chosen at 0" is never now.
        self.base + u64::from(self.clock) - 1
    }
    /// What went out, by node and port.
    pub(super) fn counters(&self) -> Vec<Channel> {
        let all = |(output, counter): (&Port, &Channel)| Channel {
            flits: counter.flits + u64::from(output.flits),
            ..*counter
        };
        self.outputs.iter().zip(&self.counters).map(all).collect()
    }
    /// Whether nothing is under way.
    pub(super) fn is_empty(&self) -> bool {
        self.inside == 0 && self.waiting == 0
    }
    /// Packets of a priority that wait in a node's queue.
    pub(super) fn queued(&self, node: NodeId, priority: Priority) -> u32 {
        self.queues[node.0 as usize * self.levels + self.config.level(priority)].len
    }
    /// A node has taken a message of this priority out of its queue, or never will look at it.
    pub(super) fn make_room(&mut self, node: NodeId, priority: Priority) {
        self.room[node.0 as usize * self.levels + self.config.level(priority)] += 1;
    }
    /// All flits of a router's inputs and outputs, for what reads them from outside.
    pub(super) fn inputs(&self) -> usize {
        self.ports * self.channels
    }

    /// A node sends a packet now.
    pub(super) fn send(&mut self, from: NodeId, to: NodeId, flits: u32, priority: Priority, tag: u32) -> u32 {
        let packet = Packet {
            number: self.sent,
            sent: self.now(),
            from,
            to,
            flits,
            arrived: 0,
            way: self.way(from, to),
            routers: 0,
            next: NOBODY,
            tag,
            priority,
            cast: NOBODY,
            stage: Stage::default(),
        };
        self.sent += 1;
        self.log.send(&packet);
        if self.config.trace {
            self.trace.push(Sent { time: Time(packet.sent), from, to, flits, priority });
        }
        self.enqueue(packet)
    }

    /// Puts a packet into its node's queue.
    pub(super) fn enqueue(&mut self, packet: Packet) -> u32 {
        let (from, flits, priority) = (packet.from, packet.flits, packet.priority);
        let number = self.packets.add(packet);
        let (node, level) = (from.0 as usize, self.config.level(priority));
        let queue = &mut self.queues[node * self.levels + level];
        queue.len += 1;
        self.waiting += 1;
        if queue.first != NOBODY {
            self.packets[queue.last].next = number;
            queue.last = number;
            return number;
        }
        (queue.first, queue.last, queue.left) = (number, number, 0);
        let input = self.own + level * self.classes;
        let buffer = &mut self.buffers[node * self.ports * self.channels + input];
        let through = self.clock + self.config.interface_cycles + entry(&self.config, flits);
        (buffer.flit, buffer.time) = (first_flit(number, flits), through);
        self.wake(node, input);
        number
    }

    pub(super) fn wake(&mut self, node: usize, input: usize) {
        self.occupied[node] |= 1 << input;
        self.active[node / 64] |= 1 << (node % 64);
    }

    /// A cycle. What has arrived is in `arrived` then, until the next one.
    pub(super) fn cycle<'r>(&mut self, rule: Option<&mut (dyn Rule + 'r)>) {
        self.arrived.clear();
        self.grants.clear();
        for word in 0..self.active.len() {
            let mut nodes = self.active[word];
            while nodes != 0 {
                let bit = nodes.trailing_zeros() as usize;
                nodes &= nodes - 1;
                let node = word * 64 + bit;
                if self.occupied[node] == 0 {
                    self.active[word] &= !(1 << bit);
                } else {
                    self.choose(node);
                }
            }
        }
        if self.config.duplex == Duplex::Half {
            self.share_links();
        }
        if let Some(rule) = rule {
            self.judge(rule);
        }
        let grants = std::mem::take(&mut self.grants);
        grants.iter().for_each(|grant| self.pass(*grant));
        self.moved = grants.len();
        self.grants = grants;
        if !self.undecided.is_empty() {
            self.forget_choices();
        }
        self.clock += 1;
        if self.clock == CLOCK_MAX {
            self.begin_clock_anew();
        }
        if self.config.check {
            self.verify();
        }
    }

    /// Nothing is under way until then: so nothing happens. At least one cycle goes by.
    pub(super) fn skip_to(&mut self, time: u64) {
        assert!(self.is_empty() && time > self.now(), "time goes forward, and only an empty network is idle");
        self.arrived.clear();
        // All places are free and all links quiet after the longest delay; the rest of the time goes into the base.
        let quiet = u64::from(self.config.hop_cycles.max(self.config.credit_cycles));
        let cycles = (time - self.now()).min(quiet);
        self.clock += cycles as u32;
        self.base += time - self.now();
        if self.clock >= CLOCK_MAX {
            self.begin_clock_anew();
        }
    }

    #[cfg(test)]
    pub(super) fn set_clock(&mut self, clock: u32, base: u64) {
        (self.clock, self.base) = (clock, base);
    }

    fn begin_clock_anew(&mut self) {
        let past = self.clock - 1;
        self.base += u64::from(past);
        self.clock = 1;
        for time in &mut self.times {
            *time = time.saturating_sub(past);
        }
        for buffer in &mut self.buffers {
            buffer.time = buffer.time.saturating_sub(past);
        }
        self.signals.shift(past);
        self.chosen.fill((0, 0));
        self.counters = self.counters();
        self.outputs.iter_mut().for_each(|output| output.flits = 0);
    }

    pub(super) fn leave_queue(&mut self, node: usize, input: u8, from: usize) {
        let level = usize::from(self.gate(input).level);
        let queue = &mut self.queues[node * self.levels + level];
        let packet = &self.packets[queue.first];
        self.inside += 1;
        queue.left += 1;
        if queue.left < packet.flits {
            let last = if queue.left + 1 == packet.flits { LAST } else { 0 };
            self.buffers[from].flit = queue.first | last;
            return;
        }
        (queue.first, queue.left) = (packet.next, 0);
        queue.len -= 1;
        self.waiting -= 1;
        if queue.first == NOBODY {
            self.occupied[node] &= !(1 << input);
            return;
        }
        let next = &self.packets[queue.first];
        // It may have been sent just now; otherwise it has been through the interface meanwhile.
        let through = next.sent + u64::from(self.config.interface_cycles + entry(&self.config, next.flits));
        let buffer = &mut self.buffers[from];
        buffer.flit = first_flit(queue.first, next.flits);
        buffer.time = (through + 1).saturating_sub(self.base) as u32;
    }

    #[inline]
    pub(super) fn leave_buffer(&mut self, node: usize, input: u8, from: usize) {
        if !self.times.is_empty() {
            self.free_place(from);
        }
        let buffer = &mut self.buffers[from];
        buffer.len -= 1;
        buffer.left -= 1;
        if buffer.len == 0 {
            self.occupied[node] &= !(1 << input);
        }
        let packet = packet_of(buffer.flit);
        if buffer.left > 0 {
            buffer.flit = packet | if buffer.left == 1 { LAST } else { 0 };
        } else if buffer.len > 0 {
            let next = self.packets[packet].next;
            buffer.begin(next, self.packets[next].flits);
        }
    }

    #[inline]
    pub(super) fn enter_buffer(&mut self, port: usize, to: usize, flit: u32) {
        let (number, neighbour) = (packet_of(flit), self.outputs[port].neighbour as usize);
        let len = usize::from(self.buffers[to].len);
        if !self.times.is_empty() {
            self.take_place(to, len);
        }
        let buffer = &mut self.buffers[to];
        buffer.len += 1;
        if flit & FIRST != 0 {
            if len == 0 {
                buffer.begin(number, self.packets[number].flits);
            } else {
                self.packets[self.lasts[to]].next = number;
            }
            self.lasts[to] = number;
        }
        if len == 0 {
            self.wake(neighbour, to - neighbour * self.inputs());
        }
        if flit & FIRST != 0 && self.log.is_on() {
            self.log.hop(self.now(), &self.packets[number], port / self.ports, neighbour);
        }
    }

    /// What the number of an input or output means.
    pub(super) fn gate(&self, number: u8) -> Gate {
        self.gates[usize::from(number) % NUMBERS]
    }
    /// Whether an input or output is that of the router's own node.
    pub(super) fn is_own(&self, number: u8) -> bool {
        // The last port's.
        usize::from(number) >= self.own
    }

    pub(super) fn arrive(&mut self, node: usize, level: usize, flit: u32) {
        self.inside -= 1;
        let packet = &mut self.packets[packet_of(flit)];
        packet.arrived += 1;
        if flit & FIRST != 0 {
            self.room[node * self.levels + level] -= 1;
        }
        if flit & LAST != 0 {
            assert!(
                packet.arrived == packet.flits && packet.to.0 as usize == node,
                "whole and where it should"
            );
            self.arrived.push(packet_of(flit));
        }
    }
}

impl Buffer {
    const EMPTY: Buffer = Buffer { flit: 0, time: 0, left: 0, len: 0, route: NONE, owner: NONE };

    /// A packet is the foremost one from now on.
    fn begin(&mut self, number: u32, flits: u32) {
        (self.flit, self.left) = (first_flit(number, flits), flits);
    }
}

fn gates(channels: usize, classes: usize) -> [Gate; NUMBERS] {
    std::array::from_fn(|number| {
        let (port, channel) = (number / channels, number % channels);
        Gate { port: port as u8, level: (channel / classes) as u8, class: (channel % classes) as u8 }
    })
}

fn first_flit(number: u32, flits: u32) -> u32 {
    number | FIRST | if flits == 1 { LAST } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Topology;

    /// The log of some packets that are sent at a time.
    fn log_from(clock: u32) -> String {
        let config = Config { check: true, log: true, ..Config::plain(Topology::torus(&[3, 3]), 0) };
        let mut network = Network::new(&config);
        network.set_clock(clock, u64::from(CLOCK_MAX - clock));
        for node in 0..9 {
            network.send(NodeId(node), NodeId(8 - node), 5, Priority::Low, 0);
            network.send(NodeId(node), NodeId((node + 2) % 9), 5, Priority::Low, 0);
        }
        while !network.is_empty() {
            network.cycle(None);
        }
        network.log.take()
    }

    #[test]
    fn the_clock_may_begin_anew() {
        let log = log_from(1);
        (1..40).for_each(|before| assert_eq!(log_from(CLOCK_MAX - before), log));
    }

    #[test]
    fn idle_time_is_skipped() {
        let mut network = Network::new(&Config::plain(Topology::ring(2), 0));
        network.skip_to(1);
        network.skip_to(1 << 50);
        assert_eq!((network.now(), network.clock), (1 << 50, 3));
    }
}
