//! A router's part of a cycle: which flit goes out by each of its ports.
//!
//! The foremost flit of each input wants one virtual channel of one output. A channel that a packet has goes on with that packet; a free one
//! goes to an input by [`Arbitration`]. Of the channels of a port, those of the higher priority come first, then classes in turn.

use super::config::Arbitration;
use super::network::{FIRST, FORK, Gate, Grant, INPUTS_MAX, NONE, Network, packet_of};
use super::packet::NOBODY;
use super::topology::Routes;

impl Network {
    /// What goes out of a router, an input for each output port at most.
    pub(super) fn choose(&mut self, node: usize) {
        let inputs = self.inputs();
        let base = node * inputs;
        let mut wants = [0u32; INPUTS_MAX];
        let mut wanted = 0u32;
        let mut rest = self.occupied[node];
        while rest != 0 {
            let input = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let buffer = &self.buffers[base + input];
            if buffer.time > self.clock {
                continue;
            }
            let mut route = buffer.route;
            if route == NONE {
                route = self.route(node, input, buffer.flit);
                self.buffers[base + input].route = route;
            }
            if route == FORK {
                wanted |= self.children_want(node, input, &mut wants);
                continue;
            }
            wants[usize::from(route)] |= 1 << input;
            wanted |= 1 << route;
        }
        let of_a_port = (1u32 << self.channels) - 1;
        while wanted != 0 {
            let port = usize::from(self.gates[wanted.trailing_zeros() as usize].port);
            let first = port * self.channels;
            wanted &= !(of_a_port << first);
            self.arbitrate(node, port, &wants[first..first + self.channels]);
        }
    }

    /// Where a packet's first flit goes.
    fn route(&mut self, node: usize, input: usize, flit: u32) -> u8 {
        debug_assert!(flit & FIRST != 0, "the flits behind the first one go where it went");
        let Gate { port, level, class } = self.gates[input];
        let (port, level, class) = (usize::from(port), usize::from(level), usize::from(class));
        let hop = match &self.routes {
            Routes::Grid(grid) => grid.next(node, self.packets[packet_of(flit)].to.0 as usize, port, class),
            Routes::Rdt(_) if self.packets[packet_of(flit)].cast != NOBODY => {
                self.fork(node, input, packet_of(flit));
                return FORK;
            }
            Routes::Rdt(ways) => {
                let packet = &mut self.packets[packet_of(flit)];
                let ends = (packet.from.0 as usize, packet.to.0 as usize);
                let hop = ways.next(ends, packet.routers, node, (port, class));
                packet.routers += 1;
                hop
            }
        };
        (hop.port * self.channels + level * self.classes + hop.class) as u8
    }

    /// Gives an output port to one of those who want one of its channels (`wants`: the inputs, for each of them).
    fn arbitrate(&mut self, node: usize, port: usize, wants: &[u32]) {
        let at = node * self.ports + port;
        if !self.stalled.is_empty() && self.stalled[at] > self.now() {
            return;
        }
        let output = self.outputs[at];
        let end = output.end as usize;
        for level in (0..self.levels).rev() {
            let mut class = usize::from(output.last_class);
            for _ in 0..self.classes {
                class = if class + 1 >= self.classes { 0 } else { class + 1 };
                let channel = level * self.classes + class;
                let inputs = wants[channel];
                if inputs == 0 || !self.has_room(node, port, level, end + channel) {
                    continue;
                }
                let owner = self.buffers[end + channel].owner;
                let input = if owner == NONE {
                    self.pick(inputs, output.last_input)
                } else if inputs & (1 << owner) != 0 {
                    owner
                } else {
                    continue;
                };
                self.grants.push(Grant {
                    node: node as u32,
                    port: at as u32,
                    from: (node * self.inputs() + usize::from(input)) as u32,
                    to: (end + channel) as u32,
                    input,
                    route: (port * self.channels + channel) as u8,
                });
                return;
            }
        }
    }

    fn pick(&self, inputs: u32, last: u8) -> u8 {
        let later = match self.config.arbitration {
            Arbitration::Fixed => 0,
            Arbitration::RoundRobin => inputs & !((2 << last) - 1),
        };
        (if later == 0 { inputs } else { later }).trailing_zeros() as u8
    }

    /// Whether the other end of a channel can take a flit. A node takes all flits of a message that it has begun to take.
    fn has_room(&self, node: usize, port: usize, level: usize, end: usize) -> bool {
        let buffer = &self.buffers[end];
        if port == self.ports - 1 {
            return buffer.owner != NONE || self.room[node * self.levels + level] > 0;
        }
        let len = usize::from(buffer.len);
        len < self.depth && self.places[end * self.depth + self.ring(buffer.first, len)].time <= self.clock
    }

    /// The place `offset` behind the first of a ring.
    pub(super) fn ring(&self, first: u16, offset: usize) -> usize {
        let place = usize::from(first) + offset;
        if place >= self.depth { place - self.depth } else { place }
    }
}
