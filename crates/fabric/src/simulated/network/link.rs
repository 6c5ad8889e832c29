//! The links' part of a cycle: which of the flits that routers have chosen get across, and their move.

use super::Network;
use super::buffers::FORK;
use super::clock::CLOCK_MAX;
use super::outputs::Grant;
use crate::simulated::packet::{FIRST, LAST, packet_of};
use crate::simulated::rule::{Crossing, Rule, Verdict};
use crate::{NodeId, Time};

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

    /// Moves a flit.
    #[inline]
    pub(super) fn pass(&mut self, grant: Grant) {
        let (node, port, from, to) =
            (grant.node as usize, grant.port as usize, grant.from as usize, grant.to as usize);
        let buffer = self.buffers.at(from);
        if buffer.route == FORK {
            return self.pass_child(grant);
        }
        let (flit, gate) = (buffer.flit, self.shape.gate(grant.route));
        self.outputs.pass(port, gate.class);
        if flit & (FIRST | LAST) == 0 && self.buffers.are_quick() && self.is_between(grant) {
            return self.pass_middle(grant);
        }
        if flit & FIRST != 0 {
            self.outputs.begin(port, grant.input);
            self.buffers.take(to, grant.input);
        }
        if flit & LAST != 0 {
            self.buffers.end_packet(from);
            self.buffers.give_back(to);
        }
        if self.shape.is_own(grant.input) {
            self.leave_queue(node, grant.input, from);
        } else {
            self.leave_buffer(node, grant.input, from);
        }
        if self.shape.is_own(grant.route) {
            self.arrive(node, usize::from(gate.level), flit);
        } else {
            self.enter_buffer(port, to, flit);
        }
    }

    /// Whether a flit comes from another node and goes to one.
    fn is_between(&self, grant: Grant) -> bool {
        !self.shape.is_own(grant.input) && !self.shape.is_own(grant.route)
    }

    /// Moves a flit that is neither the first nor the last of its packet: most are so.
    #[inline]
    fn pass_middle(&mut self, grant: Grant) {
        if self.buffers.leave_middle(grant.from as usize) {
            self.occupied.remove(grant.node as usize, grant.input);
        }
        if self.buffers.enter_middle(grant.to as usize) {
            let neighbour = self.outputs.at(grant.port as usize).neighbour as usize;
            self.occupied.add(neighbour, grant.to as usize - neighbour * self.shape.inputs());
        }
    }
}
