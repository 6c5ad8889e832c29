//! The network itself: routers, links and the packets in them, one cycle at a time.
//!
//! A router has a buffer for each virtual channel of each input port. A packet is a row of flits; the first one finds the way and takes
//! each channel for the packet, the last one gives it back (wormhole routing). The input of a router's own node is no buffer but the queue
//! of packets that the node has sent.
//!
//! What a cycle does, in this order:
//! 1. *choose* ([`super::router`]): each router with flits takes for each output port one input whose foremost flit wants it, may have its
//!    channel and finds room behind it. Nothing changes meanwhile, so the order of routers does not matter.
//! 2. *share* ([`super::link`]): of the two directions of a half-duplex link one loses.
//! 3. *judge* ([`Network::judge`]): the rule holds back what it likes to.
//! 4. *move* ([`Network::pass`]): each flit that is left goes to the next buffer, where it may be chosen `hop_cycles` later, or to its node.
//!    Its place may be chosen `credit_cycles` later by the router before.
//!
//! Each input may give a flit to one output a cycle; inputs of the same port do not hinder each other.
//!
//! Only routers with flits are looked at. Nothing is allocated for a flit: buffers are rings in one vector, a flit is the number of its
//! packet and two bits. Places of rings carry the time from when on their flit may go or, when empty, may be filled; so there
//! are no events and no counters of credits.

use super::config::{Config, Duplex};
use super::log::Log;
use super::multicast::Multicasts;
use super::packet::{NOBODY, Packet, Packets};
use super::report::Channel;
use super::rule::Rule;
use super::topology::Routes;
use super::trace::Sent;
use super::tree::Stage;
use crate::{NodeId, Priority, Time};

/// No route, no owner.
pub(super) const NONE: u8 = u8::MAX;
/// The route of a packet that takes several.
pub(super) const FORK: u8 = u8::MAX - 1;
/// Bits of a flit; the rest is its packet's number.
pub(super) const FIRST: u32 = 1 << 31;
pub(super) const LAST: u32 = 1 << 30;
const NUMBER: u32 = LAST - 1;
/// A router's inputs are bits of a word.
pub(super) const INPUTS_MAX: usize = 28;
/// Times within the network count from `base`; when they get to here, they begin anew.
pub(super) const CLOCK_MAX: u32 = 1 << 31;

/// The packet of a flit.
pub(super) fn packet_of(flit: u32) -> u32 {
    flit & NUMBER
}

/// A place of a ring: a flit and when it may go, or when the place may be filled.
#[derive(Clone, Copy, Default)]
pub(super) struct Place {
    pub(super) time: u32,
    pub(super) flit: u32,
}

/// A virtual channel: its end at a router's input, and who holds it.
#[derive(Clone, Copy)]
pub(super) struct Buffer {
    /// The foremost flit and when it may go, if there is one.
    pub(super) flit: u32,
    pub(super) time: u32,
    /// The ring: where it begins and how much is in it.
    pub(super) first: u16,
    pub(super) len: u16,
    /// Which output (port and channel) the foremost packet takes.
    pub(super) route: u8,
    /// Which input of the router at its other end has it.
    pub(super) owner: u8,
    /// The rule has spoken about the foremost packet.
    pub(super) judged: bool,
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

/// A router's output port, and what it had last.
#[derive(Clone, Copy)]
pub(super) struct Port {
    /// The first buffer at the other end.
    pub(super) end: u32,
    /// Who is there.
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
    pub(super) depth: usize,
    pub(super) levels: usize,
    pub(super) classes: usize,
    /// By node, port and virtual channel.
    pub(super) buffers: Vec<Buffer>,
    pub(super) places: Vec<Place>,
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
    /// By number of an input or output.
    pub(super) gates: [Gate; INPUTS_MAX],
    /// By node and port, of half-duplex links: when this side was chosen, and in which level; whether it had the link last.
    pub(super) chosen: Vec<(u32, u8)>,
    pub(super) had_link: Vec<bool>,
    /// By node and port: when a stall ends. Empty without one.
    pub(super) stalled: Vec<u64>,
    /// By node and port: what went through.
    pub(super) counters: Vec<Channel>,
    pub(super) grants: Vec<Grant>,
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
        assert!(ports * channels <= INPUTS_MAX, "{most}");
        let depth = config.buffer_flits as usize;
        let mut outputs = Vec::with_capacity(nodes * ports);
        for node in 0..nodes {
            for port in 0..ports {
                let other = config.topology.neighbour(NodeId(node as u32), port);
                let (other, port) = other.map_or((node, ports - 1), |other| (other.0 as usize, port ^ 1));
                let end = ((other * ports + port) * channels) as u32;
                outputs.push(Port { end, neighbour: other as u32, last_input: 0, last_class: 0 });
            }
        }
        let empty = Buffer { flit: 0, time: 0, first: 0, len: 0, route: NONE, owner: NONE, judged: false };
        let queue = Queue { first: NOBODY, last: NOBODY, left: 0, len: 0 };
        let (all_ports, levels) = (nodes * ports, config.levels());
        Network {
            config: config.clone(),
            routes: Routes::new(&config.topology),
            packets: Packets::default(),
            multicasts: Multicasts::default(),
            ports,
            channels,
            depth,
            levels,
            classes: config.topology.classes(),
            buffers: vec![empty; all_ports * channels],
            places: vec![Place::default(); all_ports * channels * depth],
            queues: vec![queue; nodes * levels],
            room: vec![config.receive_queue; nodes * levels],
            occupied: vec![0; nodes],
            active: vec![0; nodes.div_ceil(64)],
            outputs,
            gates: gates(channels, config.topology.classes()),
            chosen: vec![(0, 0); all_ports],
            had_link: vec![false; all_ports],
            stalled: Vec::new(),
            counters: vec![Channel::default(); all_ports],
            grants: Vec::new(),
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
        let input = (self.ports - 1) * self.channels + level * self.classes;
        let buffer = &mut self.buffers[node * self.ports * self.channels + input];
        (buffer.flit, buffer.time) = (first_flit(number, flits), self.clock + self.config.interface_cycles);
        self.wake(node, input);
        number
    }

    fn wake(&mut self, node: usize, input: usize) {
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
        for at in 0..self.grants.len() {
            self.pass(self.grants[at]);
        }
        self.moved = self.grants.len();
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

    fn begin_clock_anew(&mut self) {
        let past = self.clock - 1;
        self.base += u64::from(past);
        self.clock = 1;
        for place in &mut self.places {
            place.time = place.time.saturating_sub(past);
        }
        for buffer in &mut self.buffers {
            buffer.time = buffer.time.saturating_sub(past);
        }
        self.chosen.fill((0, 0));
    }

    /// Moves a flit.
    fn pass(&mut self, grant: Grant) {
        if self.buffers[grant.from as usize].route == FORK {
            return self.pass_child(grant);
        }
        let (node, port) = (grant.node as usize, grant.port as usize);
        let gate = self.gates[usize::from(grant.route)];
        let flit = self.buffers[grant.from as usize].flit;
        self.counters[port].flits += 1;
        if flit & FIRST != 0 {
            self.counters[port].packets += 1;
            self.buffers[grant.from as usize].judged = false;
            self.buffers[grant.to as usize].owner = grant.input;
            self.outputs[port].last_input = grant.input;
        }
        self.outputs[port].last_class = gate.class;
        if flit & LAST != 0 {
            self.buffers[grant.from as usize].route = NONE;
            self.buffers[grant.to as usize].owner = NONE;
        }
        if self.is_own(grant.input) {
            self.leave_queue(node, grant.input, grant.from as usize);
        } else {
            self.leave_buffer(node, grant.input, grant.from as usize);
        }
        if self.is_own(grant.route) {
            self.arrive(node, usize::from(gate.level), flit);
        } else {
            self.enter_buffer(port, grant.to as usize, flit);
        }
    }

    pub(super) fn leave_queue(&mut self, node: usize, input: u8, from: usize) {
        let level = usize::from(self.gates[usize::from(input)].level);
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
        let through = next.sent + u64::from(self.config.interface_cycles);
        let buffer = &mut self.buffers[from];
        buffer.flit = first_flit(queue.first, next.flits);
        buffer.time = (through + 1).saturating_sub(self.base) as u32;
    }

    pub(super) fn leave_buffer(&mut self, node: usize, input: u8, from: usize) {
        let buffer = self.buffers[from];
        let place = from * self.depth + usize::from(buffer.first);
        self.places[place].time = self.clock + self.config.credit_cycles;
        let first = self.ring(buffer.first, 1);
        let next = self.places[from * self.depth + first];
        let buffer = &mut self.buffers[from];
        buffer.first = first as u16;
        buffer.len -= 1;
        (buffer.flit, buffer.time) = (next.flit, next.time);
        if buffer.len == 0 {
            self.occupied[node] &= !(1 << input);
        }
    }

    pub(super) fn enter_buffer(&mut self, port: usize, to: usize, flit: u32) {
        let time = self.clock + self.config.hop_cycles;
        let len = usize::from(self.buffers[to].len);
        let place = to * self.depth + self.ring(self.buffers[to].first, len);
        self.places[place] = Place { time, flit };
        let buffer = &mut self.buffers[to];
        buffer.len += 1;
        let neighbour = self.outputs[port].neighbour as usize;
        if len == 0 {
            (buffer.flit, buffer.time) = (flit, time);
            self.wake(neighbour, to - neighbour * self.inputs());
        }
        if flit & FIRST != 0 && self.log.is_on() {
            self.log.hop(self.now(), &self.packets[packet_of(flit)], port / self.ports, neighbour);
        }
    }

    /// Whether an input or output is that of the router's own node.
    pub(super) fn is_own(&self, number: u8) -> bool {
        usize::from(self.gates[usize::from(number)].port) == self.ports - 1
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

fn gates(channels: usize, classes: usize) -> [Gate; INPUTS_MAX] {
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
        (network.clock, network.base) = (clock, u64::from(CLOCK_MAX - clock));
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
