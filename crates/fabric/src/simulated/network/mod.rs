//! The network itself: routers, links and the packets in them, one cycle at a time.
//!
//! A router has a buffer for each virtual channel of each input port. A packet is a row of flits; the first one finds
//! the way and takes each channel for the packet, the last one gives it back (wormhole routing). The input of a
//! router's own node is no buffer but the queue of packets that the node has sent.
//!
//! What a cycle does ([`cycle`]), in this order:
//! 1. *choose* ([`router`]): each router with flits takes for each output port one input whose foremost flit
//!    wants it, may have its channel and finds room behind it. Nothing changes meanwhile, so the order of routers
//!    does not matter.
//! 2. *share* ([`wires`]): of the two directions of a half-duplex link one loses.
//! 3. *judge* ([`link`]): the rule holds back what it likes to.
//! 4. *move* ([`link`]): each flit that is left goes to the next buffer, where it may be chosen `hop_cycles`
//!    later, or to its node. Its place may be chosen `credit_cycles` later by the router before.
//!
//! Each input may give a flit to one output a cycle; inputs of the same port do not hinder each other.
//!
//! Only routers with flits are looked at, and of their inputs those whose packets need not wait for another one's.
//! Nothing is allocated or stored for a flit: a buffer knows its foremost packet, how many flits of that have not left
//! it, and how many flits it holds; behind a packet come the others in a list. Where hops or credits take more than a
//! cycle, each place of a buffer has a time besides: from when on its flit may go or, when empty, may be filled. So
//! there are no events and no counters of credits. Where buffers say stop and go instead, `signals` has what they have
//! said.
//!
//! Each stage has its state to itself: `queues` (packets that wait in nodes), `buffers` (virtual channels), `outputs`
//! (ports), `wires` (half-duplex links), `forks` (multicasts), `interface` (ways out), `occupied` (which routers are
//! looked at). What a router and a link do with all of them is in `router`, `ways`, `multicast` and `link`;
//! `stream` does many cycles at once that are alike.

mod buffers;
mod check;
mod clock;
mod cycle;
mod forks;
mod interface;
mod link;
mod multicast;
mod occupied;
mod outputs;
mod queues;
mod router;
mod shape;
mod signals;
mod stream;
mod ways;
mod wires;

use super::config::Config;
use super::log::Log;
use super::packet::{FIRST, LAST, NOBODY, Packet, Packets, packet_of};
use super::report::Channel;
use super::topology::Routes;
use super::trace::Sent;
use super::tree::Stage;
use crate::{NodeId, Priority, Random, Time};
use buffers::Buffers;
use clock::Clock;
use forks::Multicasts;
use interface::{Exits, entry};
use link::Sorted;
use occupied::Occupied;
use outputs::{Grant, Outputs};
use queues::{Foremost, Queues};
use shape::Shape;
use wires::Wires;

/// Random nodes of packets are others than those of the traffic with the same seed.
const WAYS: u64 = 0x5741_5953;

/// Routers, links and packets.
pub(super) struct Network {
    config: Config,
    shape: Shape,
    routes: Routes,
    packets: Packets,
    multicasts: Multicasts,
    buffers: Buffers,
    queues: Queues,
    outputs: Outputs,
    wires: Wires,
    exits: Exits,
    occupied: Occupied,
    /// What goes in this cycle.
    grants: Vec<Grant>,
    /// Room for `pass_all`.
    sorted: Sorted,
    /// Inputs whose foremost packet may choose another way in the next cycle.
    undecided: Vec<u32>,
    random: Random,
    clock: Clock,
    /// Nodes that packets have left wholly in the last cycle.
    left: Vec<u32>,
    /// Flits in buffers.
    inside: u64,
    sent: u64,
    log: Log,
    /// All packets that were sent, if the configuration wants them.
    trace: Vec<Sent>,
}

impl Network {
    pub(super) fn new(config: &Config) -> Network {
        config.validate();
        let most = "an RDT has channels for one priority (`Priorities::Alike`), a grid for two";
        assert!(config.fits(), "{most}");
        let nodes = config.topology.nodes() as usize;
        let shape = Shape::new(config);
        Network {
            routes: Routes::new(&config.topology),
            packets: Packets::default(),
            multicasts: Multicasts::default(),
            buffers: Buffers::new(config, nodes, &shape),
            queues: Queues::new(nodes, &shape),
            outputs: Outputs::new(config, nodes, &shape),
            wires: Wires::new(nodes * shape.ports()),
            exits: Exits::new(config, nodes, &shape),
            occupied: Occupied::new(nodes, &shape),
            grants: Vec::new(),
            sorted: Sorted::default(),
            undecided: Vec::new(),
            random: Random::new(config.seed ^ WAYS),
            clock: Clock::new(),
            left: Vec::new(),
            inside: 0,
            sent: 0,
            log: Log::new(config.log),
            trace: Vec::new(),
            shape,
            config: config.clone(),
        }
    }

    pub(super) fn config(&self) -> &Config {
        &self.config
    }
    /// The cycle that comes next.
    pub(super) fn now(&self) -> u64 {
        self.clock.now()
    }
    /// What went out, by node and port.
    pub(super) fn counters(&self) -> Vec<Channel> {
        self.outputs.counters()
    }
    /// The event log; empty if the configuration does not want it.
    pub(super) fn take_log(&mut self) -> String {
        self.log.take()
    }
    /// All packets that were sent, if the configuration wants them.
    pub(super) fn take_trace(&mut self) -> Vec<Sent> {
        std::mem::take(&mut self.trace)
    }
    /// Whether nothing is under way.
    pub(super) fn is_empty(&self) -> bool {
        self.inside == 0 && self.queues.waiting() == 0
    }
    /// Packets that wait in nodes.
    pub(super) fn waiting(&self) -> u64 {
        self.queues.waiting()
    }
    /// Packets of a priority that wait in a node's queue.
    pub(super) fn queued(&self, node: NodeId, priority: Priority) -> u32 {
        self.queues.at(node.0 as usize, self.config.level(priority)).len
    }
    /// A node has taken a message of this priority out of its queue, or never will look at it.
    pub(super) fn make_room(&mut self, node: NodeId, priority: Priority) {
        self.exits.make_room(node.0 as usize, self.config.level(priority));
    }
    /// All nodes take whatever comes.
    pub(super) fn open_exits(&mut self) {
        self.exits.open();
    }
    /// Packets whose last flit left the network in the last cycle.
    pub(super) fn arrived(&self) -> &[u32] {
        self.exits.arrived()
    }
    /// Nodes that packets have left wholly in the last cycle.
    pub(super) fn left(&self) -> &[u32] {
        &self.left
    }
    /// When a node has the message of a packet whose last flit has left the network at a time.
    pub(super) fn arrival(&mut self, packet: u32, now: u64) -> u64 {
        self.exits.arrival(&self.packets[packet], now)
    }
    /// A packet is with its node at a time, and is forgotten.
    pub(super) fn take(&mut self, number: u32, time: u64) -> Packet {
        let packet = self.packets.remove(number);
        self.log.arrive(time, &packet);
        packet
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
    fn enqueue(&mut self, packet: Packet) -> u32 {
        let (from, flits, priority) = (packet.from, packet.flits, packet.priority);
        let number = self.packets.add(packet);
        let (node, level) = (from.0 as usize, self.config.level(priority));
        if self.queues.push(node, level, number, &mut self.packets) {
            let input = self.shape.entry(level);
            let through = self.clock.cycle() + self.config.interface_cycles + entry(&self.config, flits);
            self.buffers.show_packet(node * self.shape.inputs() + input, number, flits, through);
            self.occupied.add(node * self.shape.inputs() + input);
        }
        number
    }
    /// The foremost flit of a node's queue leaves.
    fn leave_queue(&mut self, node: usize, input: u8, from: usize) {
        self.inside += 1;
        let foremost = self.queues.pass(node, usize::from(self.shape.gate(input).level), &self.packets);
        if !matches!(foremost, Foremost::Flit(_)) {
            self.left.push(node as u32);
        }
        match foremost {
            Foremost::Flit(flit) => self.buffers.show(from, flit),
            Foremost::Nothing => self.occupied.remove_if(from, true),
            Foremost::Packet(number) => {
                let next = &self.packets[number];
                let interface = self.config.interface_cycles + entry(&self.config, next.flits);
                // It may have been sent just now; otherwise it has been through the interface meanwhile.
                let through = self.clock.within(next.sent + u64::from(interface));
                self.buffers.show_packet(from, number, next.flits, through);
            }
        }
    }
    /// The foremost flit of a buffer leaves.
    #[inline]
    fn leave_buffer(&mut self, from: usize) {
        let emptied = || self.occupied.remove_if(from, true);
        let behind = |packet| {
            let next = self.packets[packet].next;
            (next, self.packets[next].flits)
        };
        self.buffers.leave(from, &self.clock, emptied, behind);
    }
    /// A flit goes through a port into a buffer.
    #[inline]
    fn enter_buffer(&mut self, port: usize, to: usize, flit: u32) {
        let number = packet_of(flit);
        let first = |before: Option<u32>| match before {
            Some(before) => {
                self.packets[before].next = number;
                0
            }
            None => self.packets[number].flits,
        };
        if self.buffers.enter(to, flit, &self.clock, first) {
            self.occupied.add(to);
        }
        if flit & FIRST != 0 && self.log.is_on() {
            let neighbour = self.outputs.at(port).neighbour as usize;
            self.log.hop(self.now(), &self.packets[number], port / self.shape.ports(), neighbour);
        }
    }
    /// A flit comes to its node.
    fn arrive(&mut self, node: usize, level: usize, flit: u32) {
        self.inside -= 1;
        let packet = &mut self.packets[packet_of(flit)];
        packet.arrived += 1;
        if flit & FIRST != 0 {
            self.exits.take_room(node, level);
        }
        if flit & LAST != 0 {
            assert!(
                packet.arrived == packet.flits && packet.to.0 as usize == node,
                "whole and where it should"
            );
            self.exits.arrive(packet_of(flit));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::clock::{CLOCK_MAX, Clock};
    use super::*;
    use crate::simulated::Topology;

    /// The log of some packets that are sent at a time.
    fn log_from(clock: u32) -> String {
        let config = Config { check: true, log: true, ..Config::plain(Topology::torus(&[3, 3]), 0) };
        let mut network = Network::new(&config);
        network.clock = Clock::at(clock, u64::from(CLOCK_MAX - clock));
        for node in 0..9 {
            network.send(NodeId(node), NodeId(8 - node), 5, Priority::Low, 0);
            network.send(NodeId(node), NodeId((node + 2) % 9), 5, Priority::Low, 0);
        }
        while !network.is_empty() {
            network.cycle(None);
        }
        network.take_log()
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
        assert_eq!((network.now(), network.clock.cycle()), (1 << 50, 3));
    }
}
