//! Ways that packets take besides their topology's own.
//!
//! Packets do not always take the topology's own way ([`Routing`]). *Valiant* (L. Valiant: A Scheme for Fast Parallel
//! Communication, 1982): a packet goes to a random node first, by the own way, and from there on, by the own way too,
//! in channels of its own. So the two parts never wait for each other in a circle. *Adaptive* (J. Duato: A New Theory
//! of Deadlock-Free Adaptive Routing, 1993): each link has one virtual channel more. In it a packet may take any link
//! that shortens its way; where none is free, it waits for the own way, which never ends in a circle. It chooses anew
//! in each cycle until its first flit has gone. On a grid it may leave its own way again; on a graph it stays there,
//! because going up and down has a memory.

use super::Network;
use super::buffers::NONE;
use crate::NodeId;
use crate::simulated::config::Routing;
use crate::simulated::packet::{FIRST, NOBODY, packet_of};
use crate::simulated::topology::{Hop, Routes};

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
        let gate = self.shape.gate(input as u8);
        let came = (usize::from(gate.port), usize::from(gate.class));
        self.packets[number].routers += 1;
        if self.config.routing == Routing::Valiant {
            return self.by_detour(node, number, came);
        }
        self.undecided.push((node * self.shape.inputs() + input) as u32);
        self.by_room(node, number, usize::from(gate.level), came)
    }

    /// By way of the packet's random node.
    fn by_detour(&mut self, node: usize, number: u32, (port, class): (usize, usize)) -> Hop {
        let (own, links) = (self.config.topology.classes(), self.shape.ports() - 1);
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
        let (own, links) = (self.config.topology.classes(), self.shape.ports() - 1);
        let to = self.packets[number].to.0 as usize;
        let is_grid = matches!(self.routes, Routes::Grid(_));
        let stays = !is_grid && port != links && class < own;
        let mut best = None::<(u16, usize)>;
        let mut ports = if stays || node == to { 0 } else { self.routes.candidates(node, to) };
        while ports != 0 {
            let port = ports.trailing_zeros() as usize;
            ports &= ports - 1;
            let end = self.outputs.at(node * self.shape.ports() + port).end as usize
                + level * self.shape.classes()
                + own;
            let len = self.buffers.at(end).len;
            let is_free = self.buffers.at(end).owner == NONE && self.has_room(node, port, level, end);
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
            let buffer = *self.buffers.at(at as usize);
            if buffer.route != NONE && buffer.flit & FIRST != 0 {
                self.buffers.set_route(at as usize, NONE);
                let number = packet_of(buffer.flit);
                self.packets[number].routers -= 1;
            }
        }
    }
}
