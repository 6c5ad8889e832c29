//! A router's part of a cycle: which flit goes out by each of its ports.
//!
//! The foremost flit of each input wants one virtual channel of one output. A channel that a packet has goes on with
//! that packet; a free one goes to an input by [`Arbitration`]. Of the channels of a port, those of the higher
//! priority come first, then classes in turn.
//!

use super::Network;
use super::buffers::{FORK, NONE};
use super::outputs::Grant;
use super::shape::{Gate, NUMBERS};
use crate::simulated::config::{Arbitration, Routing};
use crate::simulated::packet::{FIRST, NOBODY, packet_of};
use crate::simulated::topology::Routes;

impl Network {
    /// What goes out of a router, an input for each output port at most. Mostly a port is wanted by one input, and
    /// there is nothing to arbitrate.
    #[inline]
    pub(super) fn choose(&mut self, node: usize) {
        let is_plain = self.buffers.are_quick() && self.outputs.never_stalled();
        if !is_plain || !self.choose_alone(node) {
            self.choose_among(node);
        }
    }

    /// The same if flits wait for nothing but a place behind them, and no port is wanted by several inputs. False if
    /// one is: then nothing has been chosen.
    #[inline]
    fn choose_alone(&mut self, node: usize) -> bool {
        let base = node * self.shape.inputs();
        let mut wants = [(0u8, 0u8); NUMBERS];
        let mut ports = 0u32;
        let mut rest = self.occupied.inputs(node);
        while rest != 0 {
            let input = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let buffer = *self.buffers.at(base + input);
            if buffer.time > self.clock.cycle() {
                continue;
            }
            let mut route = buffer.route;
            if route == NONE {
                route = self.route(node, input, buffer.flit);
                self.buffers.set_route(base + input, route);
            }
            let port = self.shape.gate(route).port;
            if route == FORK || ports & 1 << port != 0 {
                return false;
            }
            ports |= 1 << port;
            wants[usize::from(port) % NUMBERS] = (input as u8, route);
        }
        while ports != 0 {
            let port = ports.trailing_zeros() as usize;
            ports &= ports - 1;
            let (input, route) = wants[port % NUMBERS];
            self.grant_alone(node, port, input, route);
        }
        true
    }

    /// An output port goes to the only input that wants it, if there is room.
    #[inline]
    fn grant_alone(&mut self, node: usize, port: usize, input: u8, route: u8) {
        let at = node * self.shape.ports() + port;
        let end = self.outputs.at(at).end as usize + usize::from(route) - port * self.shape.channels();
        let to = self.buffers.at(end);
        let has_room = if self.shape.is_own(route) {
            to.owner != NONE || self.exits.has_room(node, usize::from(self.shape.gate(route).level))
        } else {
            usize::from(to.len) < self.buffers.depth()
        };
        if has_room && (to.owner == NONE || to.owner == input) {
            let from = (node * self.shape.inputs() + usize::from(input)) as u32;
            self.grants.push(Grant {
                node: node as u32,
                port: at as u32,
                from,
                to: end as u32,
                input,
                route,
            });
        }
    }

    /// The same whatever ports are wanted.
    fn choose_among(&mut self, node: usize) {
        let base = node * self.shape.inputs();
        let mut wants = [0u32; NUMBERS];
        let mut wanted = 0u32;
        let mut rest = self.occupied.inputs(node);
        while rest != 0 {
            let input = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let buffer = self.buffers.at(base + input);
            if buffer.time > self.clock.cycle() {
                continue;
            }
            let mut route = buffer.route;
            if route >= FORK {
                if route == NONE {
                    route = self.route(node, input, buffer.flit);
                    self.buffers.set_route(base + input, route);
                }
                if route == FORK {
                    wanted |= self.children_want(node, input, &mut wants);
                    continue;
                }
            }
            wants[usize::from(route) % NUMBERS] |= 1 << input;
            wanted |= 1 << route;
        }
        let of_a_port = (1u32 << self.shape.channels()) - 1;
        while wanted != 0 {
            let port = usize::from(self.shape.gate(wanted.trailing_zeros() as u8).port);
            let first = port * self.shape.channels();
            self.arbitrate(node, port, wanted >> first & of_a_port, &wants);
            wanted &= !(of_a_port << first);
        }
    }

    /// Where a packet's first flit goes.
    fn route(&mut self, node: usize, input: usize, flit: u32) -> u8 {
        debug_assert!(flit & FIRST != 0, "the flits behind the first one go where it went");
        let Gate { port, level, class } = self.shape.gate(input as u8);
        let (port, level, class) = (usize::from(port), usize::from(level), usize::from(class));
        let hop = match &self.routes {
            _ if self.config.routing != Routing::Own => self.steer(node, input, packet_of(flit)),
            Routes::Graph(graph) => {
                let packet = &mut self.packets[packet_of(flit)];
                packet.routers += 1;
                graph.next(node, packet.to.0 as usize, port, class)
            }
            Routes::Grid(grid) => {
                let packet = &mut self.packets[packet_of(flit)];
                packet.routers += 1;
                grid.next(node, packet.to.0 as usize, port, class)
            }
            Routes::Rdt(_) if self.packets[packet_of(flit)].cast != NOBODY => {
                self.fork(node, input, packet_of(flit));
                return FORK;
            }
            Routes::Rdt(ways) => {
                let packet = &mut self.packets[packet_of(flit)];
                packet.routers += 1;
                ways.next(packet.way + packet.routers - 1, node, (port, class))
            }
        };
        self.shape.route(hop.port, level, hop.class)
    }

    /// Gives an output port to one of those who want one of its channels (`wanted`: a bit for each of these; `wants`:
    /// the inputs, for each of the router's channels).
    #[inline]
    fn arbitrate(&mut self, node: usize, port: usize, wanted: u32, wants: &[u32; NUMBERS]) {
        let at = node * self.shape.ports() + port;
        if self.outputs.is_stalled(at, self.clock.now()) {
            return;
        }
        let output = self.outputs.at(at);
        let end = output.end as usize;
        let later = !((2 << output.last_class) - 1);
        let mut level = self.shape.levels();
        while level > 0 {
            level -= 1;
            let first = level * self.shape.classes();
            let mut classes = wanted >> first & ((1 << self.shape.classes()) - 1);
            while classes != 0 {
                let next = if classes & later == 0 { classes } else { classes & later };
                let class = next.trailing_zeros();
                classes &= !(1 << class);
                let channel = first + class as usize;
                let to = self.buffers.at(end + channel);
                if !self.has_room(node, port, level, end + channel) {
                    continue;
                }
                let route = port * self.shape.channels() + channel;
                let inputs = wants[route % NUMBERS];
                let input = if to.owner == NONE {
                    self.pick(inputs, output.last_input)
                } else if inputs & (1 << to.owner) != 0 {
                    to.owner
                } else {
                    continue;
                };
                self.grants.push(Grant {
                    node: node as u32,
                    port: at as u32,
                    from: (node * self.shape.inputs() + usize::from(input)) as u32,
                    to: (end + channel) as u32,
                    input,
                    route: route as u8,
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

    /// Whether the other end of a channel can take a flit. A node takes all flits of a message that it has begun to
    /// take.
    pub(super) fn has_room(&self, node: usize, port: usize, level: usize, end: usize) -> bool {
        if port == self.shape.ports() - 1 {
            return self.buffers.at(end).owner != NONE || self.exits.has_room(node, level);
        }
        self.buffers.has_place(end, self.clock.cycle())
    }
}
