//! A router's part of a cycle: which flit goes out by each of its ports.
//!
//! The foremost flit of each input wants one virtual channel of one output. A channel that a packet has goes on with
//! that packet; a free one goes to an input by [`Arbitration`]. Of the channels of a port, those of the higher
//! priority come first, then classes in turn.
//!
//! Packets do not always take the topology's own way ([`Routing`]). *Valiant* (L. Valiant: A Scheme for Fast Parallel
//! Communication, 1982): a packet goes to a random node first, by the own way, and from there on, by the own way too,
//! in channels of its own. So the two parts never wait for each other in a circle. *Adaptive* (J. Duato: A New Theory
//! of Deadlock-Free Adaptive Routing, 1993): each link has one virtual channel more. In it a packet may take any link
//! that shortens its way; where none is free, it waits for the own way, which never ends in a circle. It chooses anew
//! in each cycle until its first flit has gone. On a grid it may leave its own way again; on a graph it stays there,
//! because going up and down has a memory.

use super::config::{Arbitration, Routing};
use super::network::{FIRST, FORK, Gate, Grant, NONE, NUMBERS, Network, packet_of};
use super::packet::NOBODY;
use super::topology::{Hop, Routes};
use crate::NodeId;

impl Network {
    /// What goes out of a router, an input for each output port at most. Mostly a port is wanted by one input, and
    /// there is nothing to arbitrate.
    #[inline]
    pub(super) fn choose(&mut self, node: usize) {
        let is_plain = self.times.is_empty() && self.stalled.is_empty();
        if !is_plain || !self.choose_alone(node) {
            self.choose_among(node);
        }
    }

    /// The same if flits wait for nothing but a place behind them, and no port is wanted by several inputs. False if
    /// one is: then nothing has been chosen.
    #[inline]
    fn choose_alone(&mut self, node: usize) -> bool {
        let base = node * self.inputs();
        let mut wants = [(0u8, 0u8); NUMBERS];
        let mut ports = 0u32;
        let mut rest = self.occupied[node];
        while rest != 0 {
            let input = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let buffer = self.buffers[base + input];
            if buffer.time > self.clock {
                continue;
            }
            let mut route = buffer.route;
            if route == NONE {
                route = self.route(node, input, buffer.flit);
                self.buffers[base + input].route = route;
            }
            let port = self.gate(route).port;
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
        let at = node * self.ports + port;
        let end = self.outputs[at].end as usize + usize::from(route) - port * self.channels;
        let to = &self.buffers[end];
        let has_room = if self.is_own(route) {
            to.owner != NONE || self.room[node * self.levels + usize::from(self.gate(route).level)] > 0
        } else {
            usize::from(to.len) < self.depth
        };
        if has_room && (to.owner == NONE || to.owner == input) {
            let from = (node * self.inputs() + usize::from(input)) as u32;
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
        let base = node * self.inputs();
        let mut wants = [0u32; NUMBERS];
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
            if route >= FORK {
                if route == NONE {
                    route = self.route(node, input, buffer.flit);
                    self.buffers[base + input].route = route;
                }
                if route == FORK {
                    wanted |= self.children_want(node, input, &mut wants);
                    continue;
                }
            }
            wants[usize::from(route) % NUMBERS] |= 1 << input;
            wanted |= 1 << route;
        }
        let of_a_port = (1u32 << self.channels) - 1;
        while wanted != 0 {
            let port = usize::from(self.gate(wanted.trailing_zeros() as u8).port);
            let first = port * self.channels;
            self.arbitrate(node, port, wanted >> first & of_a_port, &wants);
            wanted &= !(of_a_port << first);
        }
    }

    /// Where a packet's first flit goes.
    fn route(&mut self, node: usize, input: usize, flit: u32) -> u8 {
        debug_assert!(flit & FIRST != 0, "the flits behind the first one go where it went");
        let Gate { port, level, class } = self.gate(input as u8);
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
        (hop.port * self.channels + level * self.classes + hop.class) as u8
    }

    /// Gives an output port to one of those who want one of its channels (`wanted`: a bit for each of these; `wants`:
    /// the inputs, for each of the router's channels).
    #[inline]
    fn arbitrate(&mut self, node: usize, port: usize, wanted: u32, wants: &[u32; NUMBERS]) {
        let at = node * self.ports + port;
        if !self.stalled.is_empty() && self.stalled[at] > self.now() {
            return;
        }
        let output = &self.outputs[at];
        let end = output.end as usize;
        let later = !((2 << output.last_class) - 1);
        let mut level = self.levels;
        while level > 0 {
            level -= 1;
            let first = level * self.classes;
            let mut classes = wanted >> first & ((1 << self.classes) - 1);
            while classes != 0 {
                let next = if classes & later == 0 { classes } else { classes & later };
                let class = next.trailing_zeros();
                classes &= !(1 << class);
                let channel = first + class as usize;
                let to = &self.buffers[end + channel];
                if !self.has_room(node, port, level, end + channel) {
                    continue;
                }
                let route = port * self.channels + channel;
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
                    from: (node * self.inputs() + usize::from(input)) as u32,
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
        let buffer = &self.buffers[end];
        if port == self.ports - 1 {
            return buffer.owner != NONE || self.room[node * self.levels + level] > 0;
        }
        let len = usize::from(buffer.len);
        if self.times.is_empty() { len < self.depth } else { self.has_room_in_time(end, len) }
    }

    /// The same where hops, credits or signals take their time.
    #[cold]
    fn has_room_in_time(&self, end: usize, len: usize) -> bool {
        if self.signals.is_empty() {
            return len < self.depth && self.times[self.place(end, len)] <= self.clock;
        }
        self.signals.allow(end, self.clock)
    }

    /// Whether the time of the place `offset` behind the first of a buffer has come.
    pub(super) fn is_past(&self, at: usize, offset: usize) -> bool {
        self.times.is_empty() || self.times[self.place(at, offset)] <= self.clock
    }

    /// The number, among all, of the place `offset` behind the first of a buffer. Only where there are times.
    pub(super) fn place(&self, at: usize, offset: usize) -> usize {
        let place = usize::from(self.firsts[at]) + offset;
        at * self.depth + if place >= self.depth { place - self.depth } else { place }
    }
}

/// Ways that packets do not always take.
impl Network {
    /// What a packet must know of its way: where it begins in the table of an RDT, or its random node.
    pub(super) fn way(&mut self, from: NodeId, to: NodeId) -> u32 {
        match self.config.routing {
            Routing::Valiant => self.random.below(self.config.topology.nodes()),
            Routing::Own | Routing::Adaptive => self.routes.way(from, to),
        }
    }

    /// What a packet takes next that does not go its topology's own way.
    #[cold]
    pub(super) fn steer(&mut self, node: usize, input: usize, number: u32) -> Hop {
        let gate = self.gate(input as u8);
        let came = (usize::from(gate.port), usize::from(gate.class));
        self.packets[number].routers += 1;
        if self.config.routing == Routing::Valiant {
            return self.by_detour(node, number, came);
        }
        self.undecided.push((node * self.inputs() + input) as u32);
        self.by_room(node, number, usize::from(gate.level), came)
    }

    /// By way of the packet's random node.
    fn by_detour(&mut self, node: usize, number: u32, (port, class): (usize, usize)) -> Hop {
        let (own, links) = (self.config.topology.classes(), self.ports - 1);
        let packet = &mut self.packets[number];
        let begins = packet.way as usize == node;
        if begins {
            packet.way = NOBODY;
        }
        if packet.way != NOBODY {
            let (to, came) = (packet.way as usize, (port, class));
            return self.own_way(node, to, came);
        }
        let to = packet.to.0 as usize;
        let came = if begins || class < own { (links, 0) } else { (port, class - own) };
        let hop = self.own_way(node, to, came);
        Hop { class: if hop.port == links { 0 } else { hop.class + own }, ..hop }
    }

    /// By a link that shortens the way and has room.
    fn by_room(&mut self, node: usize, number: u32, level: usize, (port, class): (usize, usize)) -> Hop {
        let (own, links) = (self.config.topology.classes(), self.ports - 1);
        let to = self.packets[number].to.0 as usize;
        let is_grid = matches!(self.routes, Routes::Grid(_));
        let stays = !is_grid && port != links && class < own;
        let mut best = None::<(u16, usize)>;
        let mut ports = if stays || node == to { 0 } else { self.routes.candidates(node, to) };
        while ports != 0 {
            let port = ports.trailing_zeros() as usize;
            ports &= ports - 1;
            let end = self.outputs[node * self.ports + port].end as usize + level * self.classes + own;
            let len = self.buffers[end].len;
            let is_free = self.buffers[end].owner == NONE && self.has_room(node, port, level, end);
            if is_free && best.is_none_or(|(least, _)| len < least) {
                best = Some((len, port));
            }
        }
        if let Some((_, port)) = best {
            return Hop { port, class: own };
        }
        match &self.routes {
            Routes::Grid(grid) => grid.next_anew(node, to),
            _ => self.own_way(node, to, if stays { (port, class) } else { (links, 0) }),
        }
    }

    fn own_way(&self, node: usize, to: usize, (port, class): (usize, usize)) -> Hop {
        match &self.routes {
            Routes::Grid(grid) => grid.next(node, to, port, class),
            Routes::Graph(graph) => graph.next(node, to, port, class),
            Routes::Rdt(_) => unreachable!("`Config::validate` lets an RDT's packets go its own way only"),
        }
    }

    /// Packets that have not gone choose anew in the next cycle.
    pub(super) fn forget_choices(&mut self) {
        while let Some(at) = self.undecided.pop() {
            let buffer = &mut self.buffers[at as usize];
            if buffer.route != NONE && buffer.flit & FIRST != 0 {
                buffer.route = NONE;
                let number = packet_of(buffer.flit);
                self.packets[number].routers -= 1;
            }
        }
    }
}
