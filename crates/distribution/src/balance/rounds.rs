//! When all nodes collect everything together, for the garbage in rings over nodes.
//!
//! Such a ring dies after some collections of everything at each of its nodes (see `protocol::cycles`), and all parts
//! of it are kept until then. A node does not come to these by itself before it has no room, or does while another one
//! does not. So a node *leads* rounds when much that only other nodes hold has been added to what stayed after the last
//! rounds, or less near its heap limit: it asks all nodes to collect everything, and again when all have. This ends
//! when nothing here is as far as garbage in rings would be by then, or when rounds are in vain. As what is held must
//! double, or grow by a part of the limit, rounds cost a part of the work that made it. To know what is held a node
//! collects everything when half of what was left of its heap limit has been used: so it does that a few times until
//! it reaches the limit.
//!
//! Invariants:
//! - R1 From the beginning of a round to the end of the leader's last one a node holds back: it reduces nothing, and
//!   its workers hand nothing to other nodes. So no garbage is made meanwhile, and nothing takes the room of what
//!   moves. It goes on handling messages, so it answers all leaders there are, and no two wait for each other.
//! - R2 A node has done its part of a round when it has collected everything, and all that was to move has come.
//!   Distances and releases travel ahead of its answer: after a round each node knows what all have found.
//! - R3 After `n` rounds garbage in a ring is at a distance of more than `n` at each of its nodes, and at the distance
//!   of a suspect from then on.

use super::Round;
use crate::protocol::SUSPECT;
use fabric::NodeId;
use std::collections::BTreeSet;

/// Bytes that only other nodes hold and that may be added in any case, unless the limit is low.
const ADDED_MIN: usize = 16 << 20;
/// Of the limit.
const ADDED_PART: usize = 8;
/// The same where more than half of the limit is in use.
const ADDED_PART_NEAR: usize = 16;
/// A round is in vain if it frees less than this part of what is in use.
const FREED_PART: usize = 64;
/// Rounds in vain after which no other is begun: one in which things move, and two in which what they left dies.
const VAIN_MAX: u32 = 3;

/// What a node has in use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    /// Bytes in use, and those that other nodes alone hold: of the heap, found by the last collection of everything,
    /// and of the tables. What tables have free is not in use.
    pub(crate) in_use: usize,
    pub(crate) held: usize,
    /// The heap limit.
    pub(crate) limit: usize,
    /// The largest distance of what the tables have.
    pub(crate) farthest: u8,
}

impl Usage {
    /// At least a quarter of the limit is left.
    pub(crate) fn leaves_enough(&self) -> bool {
        self.in_use <= self.limit / 4 * 3
    }
}

/// A leader's.
#[derive(Debug)]
struct Lead {
    /// Rounds so far.
    count: u32,
    /// Nodes that have not done the last one.
    missing: BTreeSet<NodeId>,
    /// The least that was in use after one, and rounds since then that were in vain.
    least: usize,
    vain: u32,
}

/// See the module comment.
#[derive(Debug)]
pub(crate) struct Rounds {
    own: NodeId,
    /// All that live.
    nodes: BTreeSet<NodeId>,
    lead: Option<Lead>,
    /// R1: this node holds back for these.
    leaders: Vec<NodeId>,
    /// Those who have asked for a collection that has not come; and those who are to be answered.
    asking: Vec<NodeId>,
    waiting: Vec<NodeId>,
    /// Rounds since there were none.
    count: u32,
    /// Bytes that other nodes alone held after the last collection of everything; and after the last rounds of which
    /// there were enough, or less.
    held: usize,
    kept: usize,
    /// Bytes in use at which everything is to be collected.
    looks_at: usize,
}

impl Rounds {
    /// Of a node among this number of nodes, with this heap limit in bytes.
    pub(crate) fn new(own: NodeId, nodes: u32, limit: usize) -> Rounds {
        let (leaders, asking, waiting) = (Vec::new(), Vec::new(), Vec::new());
        Rounds {
            own,
            nodes: (0..nodes).map(NodeId).collect(),
            lead: None,
            leaders,
            asking,
            waiting,
            count: 0,
            held: 0,
            kept: 0,
            looks_at: limit / 2,
        }
    }

    /// Whether the bytes in use are enough that everything is to be collected.
    pub(crate) fn must_look(&self, in_use: usize) -> bool {
        in_use > self.looks_at
    }

    /// A node is dead: no round waits for it, or is for it.
    pub(crate) fn lose(&mut self, node: NodeId) {
        self.nodes.remove(&node);
        self.lead.iter_mut().for_each(|lead| _ = lead.missing.remove(&node));
        for all in [&mut self.leaders, &mut self.asking, &mut self.waiting] {
            all.retain(|&other| other != node);
        }
    }

    /// R1: whether this node holds back.
    pub(crate) fn are_on(&self) -> bool {
        !self.leaders.is_empty()
    }

    /// A node says this.
    pub(crate) fn hear(&mut self, from: NodeId, round: Round) {
        match round {
            Round::Begins => {
                if !self.leaders.contains(&from) {
                    self.leaders.push(from);
                }
                debug_assert!(self.leaders.len() <= self.nodes.len(), "R1: {:?}", self.leaders);
                self.asking.push(from);
                self.count += 1;
            }
            Round::Done => {
                if let Some(lead) = &mut self.lead {
                    lead.missing.remove(&from);
                }
            }
            Round::Over => {
                self.leaders.retain(|&leader| leader != from);
                if std::mem::take(&mut self.count) > SUSPECT.into() {
                    self.kept = self.held;
                }
            }
        }
    }

    /// Everything was collected. True if this node leads rounds from now on because of that.
    pub(crate) fn collected(&mut self, usage: &Usage) -> bool {
        let Usage { in_use, held, limit, .. } = *usage;
        let added = held.saturating_sub(self.kept);
        (self.held, self.kept) = (held, self.kept.min(held));
        self.looks_at = in_use + limit.saturating_sub(in_use) / 2;
        if self.are_on() {
            return false;
        }
        let near = in_use > limit / 2 && added > limit / ADDED_PART_NEAR;
        let leads = near || added > self.kept.max(ADDED_MIN.min(limit / ADDED_PART));
        if leads {
            debug_assert!(self.lead.is_none(), "R1: a leader holds back until its rounds are over");
            self.lead = Some(Lead { count: 0, missing: BTreeSet::new(), least: usize::MAX, vain: 0 });
            self.leaders.push(self.own);
        }
        leads
    }

    /// Whether a collection of everything is due. The caller sees to it.
    pub(crate) fn take_due(&mut self) -> bool {
        let due = !self.asking.is_empty();
        self.waiting.append(&mut self.asking);
        due
    }

    /// R2: this node has done its part. The others that are to be told; itself it has told.
    pub(crate) fn done(&mut self) -> Vec<NodeId> {
        let mut leaders = std::mem::take(&mut self.waiting);
        leaders.retain(|&leader| {
            let other = leader != self.own;
            if !other {
                self.hear(leader, Round::Done);
            }
            other
        });
        leaders
    }

    /// If this node leads, and all have done the last round: what it says to all others. Itself it has told.
    pub(crate) fn go_on(&mut self, usage: &Usage) -> Option<Round> {
        let lead = self.lead.as_mut().filter(|lead| lead.missing.is_empty())?;
        let Usage { in_use, held, farthest, .. } = *usage;
        debug_assert!(self.leaders.contains(&self.own), "R1: a leader holds back");
        // R3. What was found may overtake what one of the others has told another.
        let hopes = lead.count == 0 || u32::from(farthest) >= lead.count.clamp(2, SUSPECT.into());
        if lead.count >= SUSPECT.into() {
            lead.vain = if in_use < lead.least - lead.least / FREED_PART { 0 } else { lead.vain + 1 };
        }
        lead.least = lead.least.min(in_use);
        let round = if hopes && lead.vain < VAIN_MAX {
            (lead.count, lead.missing) = (lead.count + 1, self.nodes.clone());
            Round::Begins
        } else {
            (self.lead, self.kept) = (None, held);
            Round::Over
        };
        self.hear(self.own, round);
        Some(round)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: usize = 64 << 20;

    fn usage(in_use: usize, held: usize, farthest: u8) -> Usage {
        Usage { in_use, held, limit: LIMIT, farthest }
    }

    /// A leader's rounds: what is in use before each, of which all is held, and how far it is. How many there are.
    fn led(in_use: impl Fn(u32) -> usize, farthest: impl Fn(u32) -> u8) -> u32 {
        let mut rounds = Rounds::new(NodeId(1), 3, LIMIT);
        assert!(rounds.collected(&usage(in_use(0), in_use(0), 1)));
        for count in 0.. {
            let now = usage(in_use(count), in_use(count), farthest(count));
            match rounds.go_on(&now) {
                Some(Round::Begins) => {}
                said => {
                    assert_eq!((said, rounds.are_on()), (Some(Round::Over), false));
                    return count;
                }
            }
            assert!(rounds.take_due() && rounds.go_on(&now).is_none());
            assert!(rounds.done().is_empty());
            for other in [0, 2] {
                assert!(rounds.go_on(&now).is_none());
                rounds.hear(NodeId(other), Round::Done);
            }
        }
        unreachable!()
    }

    #[test]
    fn rounds_go_on_as_long_as_there_is_hope_and_something_to_be_gained() {
        let half = LIMIT / 2;
        let as_garbage = |count: u32| (count + 1).min(8) as u8;
        // Nothing is far; something was, as far as what is alive may be.
        assert_eq!(led(|_| half, |_| 1), 1);
        assert_eq!(led(|_| half, |_| 3), 4);
        // All that is far stays.
        assert_eq!(led(|_| half, as_garbage), 6);
        // A part of it dies in each second round, until nothing is far.
        let dies = |count: u32| half - (count / 2) as usize * (half / 16);
        assert_eq!(led(dies, |count| if count < 20 { as_garbage(count) } else { 1 }), 20);
    }

    #[test]
    fn a_leader_does_not_wait_for_a_dead_node() {
        let mut rounds = Rounds::new(NodeId(0), 3, LIMIT);
        let full = usage(LIMIT / 2, LIMIT / 2, 1);
        assert!(rounds.collected(&full) && rounds.go_on(&full) == Some(Round::Begins));
        assert!(rounds.take_due() && rounds.done().is_empty() && rounds.go_on(&full).is_none());
        rounds.hear(NodeId(2), Round::Done);
        assert_eq!(rounds.go_on(&full), None);
        rounds.lose(NodeId(1));
        assert_eq!(rounds.go_on(&full), Some(Round::Over));
    }

    #[test]
    fn a_node_leads_when_what_others_hold_has_doubled_or_grown_near_the_limit() {
        let mut rounds = Rounds::new(NodeId(0), 2, LIMIT);
        let mib = |mebibytes: usize| mebibytes << 20;
        assert!(!rounds.collected(&usage(mib(30), mib(8), 9)));
        assert!(rounds.collected(&usage(mib(30), mib(9), 9)));
        rounds.go_on(&usage(mib(30), mib(9), 9));
        rounds.lead.iter_mut().for_each(|lead| (lead.missing, lead.vain) = (BTreeSet::new(), VAIN_MAX));
        assert_eq!(rounds.go_on(&usage(mib(30), mib(9), 9)), Some(Round::Over));
        assert!(!rounds.collected(&usage(mib(31), mib(18), 9)));
        // Of what is held for some time the node learns when it gets less.
        assert!(!rounds.collected(&usage(mib(31), mib(2), 9)));
        assert!(rounds.collected(&usage(mib(31), mib(11), 9)));
        let mut near = Rounds::new(NodeId(0), 2, LIMIT);
        assert!(!near.collected(&usage(mib(33), mib(4), 9)) && near.collected(&usage(mib(33), mib(5), 9)));
    }

    #[test]
    fn everything_is_collected_when_half_of_what_was_left_is_used() {
        let mut rounds = Rounds::new(NodeId(0), 2, LIMIT);
        let (mut in_use, mut count) = (0, 0);
        while in_use < LIMIT - LIMIT / 10 {
            in_use += LIMIT / 1024;
            if rounds.must_look(in_use) {
                count += 1;
                assert!(!rounds.collected(&usage(in_use, 0, 9)));
            }
        }
        assert_eq!(count, 3);
    }

    /// Each of two nodes leads, and answers the other.
    #[test]
    fn two_leaders_end_and_what_stayed_is_known_to_all() {
        let mut nodes = [0, 1].map(|node| Rounds::new(NodeId(node), 2, LIMIT));
        let full = usage(LIMIT / 2, LIMIT / 4, 4);
        assert!(nodes.iter_mut().all(|node| node.collected(&full)));
        let mut steps = 0;
        while nodes.iter().any(Rounds::are_on) {
            steps += 1;
            assert!(steps < 100);
            for own in 0..2 {
                let (node, from, other) = (&mut nodes[own], NodeId(own as u32), 1 - own);
                let mut said = Vec::new();
                if node.take_due() {
                    assert!(!node.collected(&full));
                }
                said.extend(node.done().iter().map(|_| Round::Done));
                said.extend(node.go_on(&full));
                said.into_iter().for_each(|round| nodes[other].hear(from, round));
            }
        }
        assert!(nodes.iter_mut().all(|node| !node.collected(&full) && node.kept == LIMIT / 4));
        // A leader that does not end its rounds, and one that has died.
        nodes[1].hear(NodeId(0), Round::Begins);
        nodes[1].lose(NodeId(0));
        assert!(!nodes[1].are_on() && !nodes[1].take_due());
        // What nobody has asked for.
        nodes[0].hear(NodeId(1), Round::Begins);
        assert!(nodes[0].are_on() && nodes[0].take_due() && nodes[0].done() == [NodeId(1)]);
        nodes[0].hear(NodeId(1), Round::Done);
        assert!(nodes[0].go_on(&full).is_none());
    }
}
