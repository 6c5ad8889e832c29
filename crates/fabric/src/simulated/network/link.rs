//! The links' part of a cycle: which of the flits that routers have chosen get across, and their move.

use super::Network;
use super::buffers::FORK;
use super::clock::CLOCK_MAX;
use super::outputs::Grant;
use crate::simulated::packet::{FIRST, LAST, packet_of};
use crate::simulated::rule::{Crossing, Rule, Verdict};
use crate::{NodeId, Time};

/// Room for the places of grants: of those in the middle of packets, and of the others.
#[derive(Default)]
pub(super) struct Sorted {
    middles: Vec<u32>,
    others: Vec<u32>,
}

impl Sorted {
    /// Each place is written to both and stays in one: a branch would be guessed wrongly every other time.
    fn sort(&mut self, grants: &[Grant]) -> (&[u32], &[u32]) {
        let Sorted { middles, others } = self;
        if others.len() < grants.len() {
            middles.resize(grants.len(), 0);
            others.resize(grants.len(), 0);
        }
        let mut count = 0;
        for (at, grant) in grants.iter().enumerate() {
            (others[count], middles[at - count]) = (at as u32, at as u32);
            count += usize::from(!grant.is_middle);
        }
        (&middles[..grants.len() - count], &others[..count])
    }
}

impl Network {
    /// Asks the rule about each packet that is about to cross a link.
    pub(super) fn judge(&mut self, rule: &mut dyn Rule) {
        self.buffers.expect_rule();
        let mut grants = std::mem::take(&mut self.grants);
        grants.retain(|grant| self.passes(*grant, rule));
        self.grants = grants;
    }

    fn passes(&mut self, grant: Grant, rule: &mut dyn Rule) -> bool {
        let port = grant.port as usize;
        let buffer = *self.buffers.at(grant.from as usize);
        let to_a_node = port % self.shape.ports() == self.shape.ports() - 1;
        let (first, number, judged) = if buffer.route == FORK {
            let child = self.multicasts.child(grant.from as usize, grant.route);
            (child.left() == 0, child.packet(), child.is_judged())
        } else {
            (buffer.flit & FIRST != 0, packet_of(buffer.flit), self.buffers.is_judged(grant.from as usize))
        };
        if !first || judged || to_a_node {
            return true;
        }
        let packet = &self.packets[number];
        let crossing = Crossing {
            time: Time(self.now()),
            at: NodeId(grant.node),
            next: NodeId(self.outputs.at(port).neighbour),
            from: packet.from,
            to: packet.to,
            flits: packet.flits,
            priority: packet.priority,
        };
        let verdict = rule.crossing(&crossing);
        self.log.verdict(&crossing, packet.number, verdict);
        let (wait, judged) = match verdict {
            Verdict::Pass => return true,
            Verdict::Delay(cycles) => (cycles, true),
            Verdict::Stall(cycles) => {
                self.outputs.stall(port, self.now() + u64::from(cycles));
                (0, true)
            }
            Verdict::Drop => {
                self.outputs.lose(port);
                (self.config.retransmit_cycles, false)
            }
        };
        let time = self.clock.cycle() + wait.clamp(1, CLOCK_MAX / 4);
        if buffer.route == FORK {
            self.multicasts.child(grant.from as usize, grant.route).hold(time, judged);
        } else {
            self.buffers.hold(grant.from as usize, time, judged);
        }
        false
    }

    /// Moves what goes: first the flits of which there is little to be known, then the others. In which order does not
    /// matter but to what sees the others.
    pub(super) fn pass_all(&mut self) {
        let grants = std::mem::take(&mut self.grants);
        let mut sorted = std::mem::take(&mut self.sorted);
        let (middles, others) = sorted.sort(&grants);
        middles.iter().for_each(|&at| self.pass_middle(grants[at as usize]));
        others.iter().for_each(|&at| self.pass(grants[at as usize]));
        (self.grants, self.sorted) = (grants, sorted);
    }

    fn pass(&mut self, grant: Grant) {
        let (node, port, from, to) =
            (grant.node as usize, grant.port as usize, grant.from as usize, grant.to as usize);
        let buffer = self.buffers.at(from);
        if buffer.route == FORK {
            return self.pass_child(grant);
        }
        let flit = buffer.flit;
        self.outputs.pass(port, grant.class);
        if flit & FIRST != 0 {
            self.outputs.begin(port, grant.input);
            self.buffers.take(to, grant.input);
        }
        if flit & LAST != 0 {
            self.buffers.end_packet(from);
            self.give_back(node, to);
        }
        if self.shape.is_own(grant.input) {
            self.leave_queue(node, grant.input, from);
        } else {
            self.leave_buffer(from);
        }
        if self.shape.is_own(grant.route) {
            self.arrive(node, usize::from(self.shape.gate(grant.route).level), flit);
        } else {
            self.enter_buffer(port, to, flit);
        }
    }

    /// The packet that had a channel of a router has passed.
    #[inline]
    pub(super) fn give_back(&mut self, node: usize, end: usize) {
        self.buffers.give_back(end);
        self.occupied.free(node * self.shape.inputs(), end);
    }

    /// Moves a flit of which there is little to be known ([`Grant::is_middle`]).
    #[inline]
    fn pass_middle(&mut self, grant: Grant) {
        let (from, to) = (grant.from as usize, grant.to as usize);
        self.outputs.pass(grant.port as usize, grant.class);
        let emptied = self.buffers.leave_middle(from);
        self.occupied.remove_if(from, emptied);
        let filled = self.buffers.enter_middle(to);
        self.occupied.add_if(to, filled);
    }
}
