//! The links' part of a cycle: which of the flits that routers have chosen get across, and their move.

use super::network::{CLOCK_MAX, FIRST, FORK, Grant, LAST, NONE, Network, packet_of};
use super::rule::{Crossing, Rule, Verdict};
use crate::{NodeId, Time};
use std::cmp::Ordering;

impl Network {
    /// Of two sides that want the same wires, one gets them.
    pub(super) fn share_links(&mut self) {
        for grant in &self.grants {
            let level = self.gate(grant.route).level;
            self.chosen[grant.port as usize] = (self.clock, level);
        }
        let mut grants = std::mem::take(&mut self.grants);
        grants.retain(|grant| {
            let Some(opposite) = self.opposite(grant.port as usize) else { return true };
            let ((time, theirs), (_, ours)) = (self.chosen[opposite], self.chosen[grant.port as usize]);
            match (time == self.clock, ours.cmp(&theirs)) {
                (false, _) => true,
                (true, Ordering::Equal) => {
                    match (self.had_link[grant.port as usize], self.had_link[opposite]) {
                        (false, true) => true,
                        (true, false) => false,
                        // Never used before.
                        _ => (grant.port as usize) < opposite,
                    }
                }
                (true, order) => order == Ordering::Greater,
            }
        });
        for grant in &grants {
            if let Some(opposite) = self.opposite(grant.port as usize) {
                self.had_link[grant.port as usize] = true;
                self.had_link[opposite] = false;
            }
        }
        self.grants = grants;
    }

    /// The port that shares its wires with this one; a node's own port has none.
    fn opposite(&self, port: usize) -> Option<usize> {
        let number = port % self.ports;
        (number < self.ports - 1).then(|| self.outputs[port].neighbour as usize * self.ports + (number ^ 1))
    }

    /// Asks the rule about each packet that is about to cross a link.
    pub(super) fn judge(&mut self, rule: &mut dyn Rule) {
        self.judged.resize(self.buffers.len(), false);
        let mut grants = std::mem::take(&mut self.grants);
        grants.retain(|grant| self.passes(*grant, rule));
        self.grants = grants;
    }

    fn passes(&mut self, grant: Grant, rule: &mut dyn Rule) -> bool {
        let port = grant.port as usize;
        let buffer = self.buffers[grant.from as usize];
        let to_a_node = port % self.ports == self.ports - 1;
        let (first, number, judged) = if buffer.route == FORK {
            let child = self.multicasts.child(grant.from as usize, grant.route);
            (child.left == 0, child.packet, child.judged)
        } else {
            (buffer.flit & FIRST != 0, packet_of(buffer.flit), self.judged[grant.from as usize])
        };
        if !first || judged || to_a_node {
            return true;
        }
        let packet = &self.packets[number];
        let crossing = Crossing {
            time: Time(self.now()),
            at: NodeId(grant.node),
            next: NodeId(self.outputs[port].neighbour),
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
                if self.stalled.is_empty() {
                    self.stalled = vec![0; self.outputs.len()];
                }
                self.stalled[port] = self.now() + u64::from(cycles);
                (0, true)
            }
            Verdict::Drop => {
                self.counters[port].lost += 1;
                (self.config.retransmit_cycles, false)
            }
        };
        let time = self.clock + wait.clamp(1, CLOCK_MAX / 4);
        if buffer.route == FORK {
            let child = self.multicasts.child(grant.from as usize, grant.route);
            (child.time, child.judged) = (time, judged);
        } else {
            self.buffers[grant.from as usize].time = time;
            self.judged[grant.from as usize] = judged;
        }
        false
    }

    /// Moves a flit.
    #[inline]
    pub(super) fn pass(&mut self, grant: Grant) {
        if self.buffers[grant.from as usize].route == FORK {
            return self.pass_child(grant);
        }
        let (node, port) = (grant.node as usize, grant.port as usize);
        let gate = self.gate(grant.route);
        let flit = self.buffers[grant.from as usize].flit;
        let output = &mut self.outputs[port];
        output.flits += 1;
        output.last_class = gate.class;
        if flit & (FIRST | LAST) == 0 && self.times.is_empty() && self.is_between(grant) {
            return self.pass_middle(grant);
        }
        let output = &mut self.outputs[port];
        if flit & FIRST != 0 {
            output.last_input = grant.input;
            self.counters[port].packets += 1;
            self.buffers[grant.to as usize].owner = grant.input;
        }
        if flit & LAST != 0 {
            self.buffers[grant.from as usize].route = NONE;
            self.buffers[grant.to as usize].owner = NONE;
            if let Some(judged) = self.judged.get_mut(grant.from as usize) {
                *judged = false;
            }
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

    /// Whether a flit comes from another node and goes to one.
    fn is_between(&self, grant: Grant) -> bool {
        !self.is_own(grant.input) && !self.is_own(grant.route)
    }

    /// Moves a flit that is neither the first nor the last of its packet: most are so.
    #[inline]
    fn pass_middle(&mut self, grant: Grant) {
        let from = &mut self.buffers[grant.from as usize];
        from.len -= 1;
        from.left -= 1;
        from.flit = packet_of(from.flit) | if from.left == 1 { LAST } else { 0 };
        if from.len == 0 {
            self.occupied[grant.node as usize] &= !(1 << grant.input);
        }
        let to = &mut self.buffers[grant.to as usize];
        to.len += 1;
        if to.len == 1 {
            let neighbour = self.outputs[grant.port as usize].neighbour as usize;
            self.wake(neighbour, grant.to as usize - neighbour * self.inputs());
        }
    }
}
