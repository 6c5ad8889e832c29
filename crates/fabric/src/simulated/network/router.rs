//! A router's part of a cycle: which flit goes out by each of its ports.
//!
//! The foremost flit of each input wants one virtual channel of one output. A channel that a packet has goes on with
//! that packet; a free one goes to an input by [`Arbitration`]. Of the channels of a port, those of the higher
//! priority come first, then classes in turn. An input whose packet wants a channel that another one has is not looked
//! at until that packet has passed.

use super::Network;
use super::buffers::{FORK, NONE};
use super::outputs::Grant;
use super::shape::{Gate, NUMBERS};
use crate::simulated::config::{Arbitration, Routing};
use crate::simulated::packet::{FIRST, LAST, NOBODY, packet_of};
use crate::simulated::topology::Routes;

impl Network {
    /// What goes out of each router: for each output port an input at most. Mostly a port is wanted by one input, and
    /// there is nothing to arbitrate.
    #[inline]
    pub(super) fn choose(&mut self) {
        let is_plain = self.buffers.are_quick() && self.outputs.never_stalled();
        // Inputs before it belong to routers that were looked at as a whole.
        let mut next = 0;
        for row in 0..self.occupied.rows() {
            let mut words = self.occupied.active(row);
            while words != 0 {
                let word = row * 64 + words.trailing_zeros() as usize;
                words &= words - 1;
                let mut rest = self.occupied.look(word);
                while rest != 0 {
                    let from = word * 64 + rest.trailing_zeros() as usize;
                    rest &= rest - 1;
                    if from >= next && !(is_plain && self.choose_alone(from)) {
                        next = self.choose_anew(self.shape.router(from));
                    }
                }
            }
        }
    }

    /// What goes out of a router, whatever was chosen of it. Returns where the inputs of the next one begin.
    fn choose_anew(&mut self, node: usize) -> usize {
        while self.grants.pop_if(|grant| grant.node as usize == node).is_some() {}
        self.choose_among(node);
        (node + 1) * self.shape.inputs()
    }

    /// Whether the foremost flit of an input goes out, where flits wait for nothing but a place behind them. False if
    /// another input of the router may have the same port, or a packet goes several ways: then all of the router is to
    /// be chosen anew.
    #[inline]
    fn choose_alone(&mut self, from: usize) -> bool {
        let node = self.shape.router(from);
        let input = (from - node * self.shape.inputs()) as u8;
        let buffer = self.buffers.at(from);
        if buffer.time > self.clock.cycle() {
            return true;
        }
        let (mut route, flit) = (buffer.route, buffer.flit);
        if route >= FORK {
            if route == NONE {
                route = self.route(node, usize::from(input), flit);
                self.buffers.set_route(from, route);
            }
            if route == FORK {
                return false;
            }
        }
        let gate = self.shape.gate(route);
        let port = node * self.shape.ports() + usize::from(gate.port);
        let end = self.outputs.at(port).end as usize + usize::from(gate.channel);
        let to = *self.buffers.at(end);
        let has_it = to.owner == input;
        if !has_it && to.owner != NONE {
            if self.config.routing == Routing::Own {
                self.occupied.wait(from, input, end);
            }
            return true;
        }
        if self.outputs.want(port, self.clock.cycle()) {
            return false;
        }
        let leaves = self.shape.is_own(route);
        let has_room = if leaves {
            has_it || self.exits.has_room(node, usize::from(gate.level))
        } else {
            usize::from(to.len) < self.buffers.depth()
        };
        if has_room {
            self.grants.push(Grant {
                node: node as u32,
                port: port as u32,
                from: from as u32,
                to: end as u32,
                input,
                route,
                class: gate.class,
                is_middle: flit & (FIRST | LAST) == 0 && !leaves && !self.shape.is_own(input),
            });
        }
        true
    }

    /// What goes out of a router, whatever ports are wanted.
    fn choose_among(&mut self, node: usize) {
        let base = node * self.shape.inputs();
        let mut wants = [0u32; NUMBERS];
        let mut wanted = 0u32;
        let mut rest = self.occupied.inputs(base, self.shape.inputs());
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
        let Gate { port, level, class, .. } = self.shape.gate(input as u8);
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
                    class: class as u8,
                    is_middle: false,
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
