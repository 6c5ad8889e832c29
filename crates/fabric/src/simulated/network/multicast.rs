//! Packets that routers copy.
//!
//! When a multicast packet's first flit is foremost in an input of a router, the router makes a *fork* (`forks`): a
//! child packet for each link of the `tree` that it takes from there, and one for the router's own node if it is a
//! leaf. From then on each child leaves by its own output as that becomes free, flit by flit; a place of the buffer is
//! free when all children have passed it. Assumed: a buffer gives a flit to each of several outputs in one cycle.
//!
//! A child's first flit leaves only when the next buffer has room for the whole packet. So no child holds a channel
//! while it waits for its siblings, and as channels wait for each other without cycles (`rdt`), nothing deadlocks.

use super::Network;
use super::forks::{Child, Freed};
use super::outputs::Grant;
use super::shape::Gate;
use crate::simulated::packet::{FIRST, LAST, NOBODY, Packet};
use crate::simulated::rdt::LINKS;
use crate::simulated::topology::Routes;
use crate::simulated::tree::{Branches, Gathers, Stage, leaf};
use crate::{Gather, NodeId, Priority};

impl Network {
    /// A node sends a packet of at most a buffer's length to the leaves of these branches. Returns the multicast's
    /// number, by which its packets are known.
    pub(in crate::simulated) fn send_many(
        &mut self,
        from: NodeId,
        branches: Branches,
        flits: u32,
        priority: Priority,
    ) -> u32 {
        let Routes::Rdt(ways) = &self.routes else { panic!("only an RDT has multicast") };
        assert!(flits as usize <= self.buffers.depth(), "a multicast fits into a buffer");
        let rdt = ways.rdt;
        self.multicasts.expect(self.buffers.count());
        let cast = self.multicasts.enter(branches);
        let packet = Packet {
            number: self.sent,
            sent: self.now(),
            from,
            to: from,
            flits,
            arrived: 0,
            way: 0,
            routers: 0,
            next: NOBODY,
            tag: 0,
            priority,
            cast,
            stage: Stage::start(&rdt),
        };
        self.sent += 1;
        self.log.send_many(&packet);
        self.enqueue(packet);
        cast
    }

    /// Makes a fork of the multicast packet that is foremost in an input.
    pub(super) fn fork(&mut self, node: usize, input: usize, number: u32) {
        let Routes::Rdt(ways) = &self.routes else { return };
        let rdt = ways.rdt;
        let parent = self.packets[number];
        let Gate { port, level, class, .. } = self.shape.gate(input as u8);
        let (port, level, class) = (usize::from(port), usize::from(level), usize::from(class));
        let at = rdt.place(node as u32);
        let branches = self.multicasts.branches(parent.cast);
        let copies = parent.stage.copies(&rdt, at, branches);
        let mut children = Vec::with_capacity(copies.len());
        for copy in copies {
            let (output, class) = match copy.step {
                Some(step) => {
                    let hop = rdt.hop(at, step, (port, class));
                    (hop.port, hop.class)
                }
                None => (LINKS, 0),
            };
            let to = NodeId(self.outputs.at(node * self.shape.ports() + output).neighbour);
            let packet =
                self.packets.add(Packet { to, arrived: 0, next: NOBODY, stage: copy.stage, ..parent });
            children.push(Child::new(packet, self.shape.route(output, level, class)));
        }
        let at = node * self.shape.inputs() + input;
        self.multicasts.begin(at, parent.cast, number, parent.flits, children);
    }

    /// The outputs that the children of a fork want: sets this input's bit in `wants`, and returns them.
    pub(super) fn children_want(&self, node: usize, input: usize, wants: &mut [u32]) -> u32 {
        let (at, clock) = (node * self.shape.inputs() + input, self.clock.cycle());
        let Some(fork) = self.multicasts.fork(at) else { return 0 };
        let len = usize::from(self.buffers.at(at).len);
        let queued = self.shape.is_own(input as u8);
        let mut wanted = 0;
        for (child, offset) in fork.going(clock) {
            let here = queued || (offset < len && self.buffers.is_past(at, offset, clock));
            if here && self.may_go(node, child, fork.flits()) {
                wants[usize::from(child.route())] |= 1 << input;
                wanted |= 1 << child.route();
            }
        }
        wanted
    }

    /// Whether a child has left already, or the next buffer has room for the whole of it.
    fn may_go(&self, node: usize, child: &Child, flits: u32) -> bool {
        let port = usize::from(self.shape.gate(child.route()).port);
        let channel = usize::from(child.route()) - port * self.shape.channels();
        let end = self.outputs.at(node * self.shape.ports() + port).end as usize + channel;
        child.left() > 0 || port == LINKS || self.buffers.has_places(end, flits)
    }

    /// Moves a flit of a child.
    pub(super) fn pass_child(&mut self, grant: Grant) {
        let (node, port, from, to) =
            (grant.node as usize, grant.port as usize, grant.from as usize, grant.to as usize);
        let gate = self.shape.gate(grant.route);
        let passed = self.multicasts.pass(from, grant.route);
        self.outputs.pass(port, gate.class);
        let mut flit = passed.packet;
        if passed.is_first {
            flit |= FIRST;
            self.outputs.begin(port, grant.input);
            self.buffers.take(to, grant.input);
        }
        if passed.is_last {
            flit |= LAST;
            self.give_back(node, to);
        }
        self.inside += 1;
        if self.shape.is_own(grant.route) {
            self.arrive(node, usize::from(gate.level), flit);
        } else {
            self.enter_buffer(port, to, flit);
        }
        self.free_places(node, grant.input, from);
    }

    /// Frees the places that all children of a fork have passed.
    fn free_places(&mut self, node: usize, input: u8, from: usize) {
        loop {
            let freed = self.multicasts.free_place(from);
            match freed {
                Freed::Nothing => return,
                Freed::Place => {}
                Freed::Last(_) => self.buffers.end_packet(from),
            }
            if self.shape.is_own(input) {
                self.leave_queue(node, input, from);
            } else {
                self.leave_buffer(from);
            }
            self.inside -= 1;
            if let Freed::Last(packet) = freed {
                let parent = self.packets.remove(packet);
                self.multicasts.forget(parent.cast);
                return;
            }
        }
    }

    /// Where the node to which a copy has come stands among those that gather acknowledgements.
    pub(in crate::simulated) fn gather(&self, copy: &Packet) -> Option<Gather> {
        let Routes::Rdt(ways) = &self.routes else { return None };
        let branches = self.multicasts.branches(copy.cast);
        let Gathers { parent, rank, children } = branches.gather(&ways.rdt, copy.stage.address());
        let home = ways.rdt.place(copy.from.0);
        let parent = parent.map(|address| NodeId(leaf(&ways.rdt, home, address)));
        Some(Gather { parent, children, level: rank as u32 })
    }

    /// A copy has come to its node, and is forgotten. True if it was the last of its multicast.
    pub(in crate::simulated) fn forget_copy(&mut self, cast: u32) -> bool {
        self.multicasts.forget(cast)
    }
}
