//! Barrier by dissemination, and reductions over a tree: protocols that say what to send, and send nothing themselves.

use crate::slot::Slot;
use fabric::{Fabric, NodeId};
use std::collections::VecDeque;

/// How the values of all nodes become one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub enum Reduction {
    /// The sum, modulo 2^64.
    Sum,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// All bits that are set everywhere.
    And,
    /// All bits that are set anywhere.
    Or,
}

impl Reduction {
    pub(crate) fn of(word: u64) -> Option<Reduction> {
        use Reduction::{And, Max, Min, Or, Sum};
        [Sum, Min, Max, And, Or].into_iter().find(|&reduction| reduction as u64 == word)
    }
    fn apply(self, a: u64, b: u64) -> u64 {
        match self {
            Reduction::Sum => a.wrapping_add(b),
            Reduction::Min => a.min(b),
            Reduction::Max => a.max(b),
            Reduction::And => a & b,
            Reduction::Or => a | b,
        }
    }
}

/// A node's part of the barriers of a run. Where the fabric has none, it is a barrier by dissemination (Hensgen,
/// Finkel, Manber, "Two algorithms for barrier synchronization", 1988): in round r it tells the node 2^r further on,
/// and waits for word from the one 2^r before.
#[derive(Debug)]
pub(crate) struct Barrier {
    node: u32,
    nodes: u32,
    /// How often word has come, by round: a node that is ahead may have sent some for the next barrier.
    arrived: Vec<u64>,
    /// How many barriers this node has entered.
    entered: u64,
    round: usize,
    told: bool,
    /// The one that is going on is the fabric's.
    in_fabric: bool,
    waiting: VecDeque<Slot<()>>,
}

impl Barrier {
    pub(crate) fn new(node: NodeId, nodes: u32) -> Barrier {
        let rounds = nodes.next_power_of_two().trailing_zeros() as usize;
        Barrier {
            node: node.0,
            nodes,
            arrived: vec![0; rounds],
            entered: 0,
            round: 0,
            told: false,
            in_fabric: false,
            waiting: VecDeque::new(),
        }
    }
    /// The node enters a barrier; `done` is filled when all have.
    pub(crate) fn enter<F: Fabric>(&mut self, fabric: &mut F, done: Slot<()>) {
        self.waiting.push_back(done);
        if self.waiting.len() == 1 {
            self.begin(fabric);
        }
    }
    fn begin<F: Fabric>(&mut self, fabric: &mut F) {
        self.entered += 1;
        (self.round, self.told) = (0, false);
        // A machine may run on some of the fabric's nodes.
        self.in_fabric = self.nodes == fabric.nodes() && fabric.arrive();
    }
    /// How many barriers of the fabric's this node has entered, for X4.
    pub(crate) fn entered_in_fabric(&self) -> u64 {
        if self.in_fabric { self.entered } else { 0 }
    }
    /// Word has come. False if there is no such round.
    pub(crate) fn arrive(&mut self, round: u32) -> bool {
        let Some(arrived) = self.arrived.get_mut(round as usize) else { return false };
        *arrived += 1;
        true
    }
    /// Goes on as far as it can: whom to send word next, and of which round. To be called until there is nobody.
    pub(crate) fn advance<F: Fabric>(&mut self, fabric: &mut F) -> Option<(NodeId, u32)> {
        while let Some(done) = self.waiting.front() {
            let is_over =
                if self.in_fabric { fabric.all_arrived() } else { self.round == self.arrived.len() };
            if is_over {
                let _ = done.fill(());
                self.waiting.pop_front();
                if !self.waiting.is_empty() {
                    self.begin(fabric);
                }
            } else if self.in_fabric {
                return None;
            } else if !self.told {
                self.told = true;
                let to = (u64::from(self.node) + (1 << self.round)) % u64::from(self.nodes);
                return Some((NodeId(to as u32), self.round as u32));
            } else if self.arrived[self.round] >= self.entered {
                self.round += 1;
                self.told = false;
            } else {
                return None;
            }
        }
        None
    }
}

/// The neighbours of a node in the binary tree with this root.
pub(crate) fn parent(node: NodeId, root: NodeId, nodes: u32) -> Option<NodeId> {
    let rank = rank(node, root, nodes);
    (rank > 0).then(|| at_rank((rank - 1) / 2, root, nodes))
}
pub(crate) fn children(node: NodeId, root: NodeId, nodes: u32) -> impl Iterator<Item = NodeId> {
    let rank = u64::from(rank(node, root, nodes));
    let ranks = [2 * rank + 1, 2 * rank + 2].into_iter().filter(move |&child| child < u64::from(nodes));
    ranks.map(move |child| at_rank(child as u32, root, nodes))
}
fn rank(node: NodeId, root: NodeId, nodes: u32) -> u32 {
    ((u64::from(node.0) + u64::from(nodes) - u64::from(root.0)) % u64::from(nodes)) as u32
}
fn at_rank(rank: u32, root: NodeId, nodes: u32) -> NodeId {
    NodeId(((u64::from(rank) + u64::from(root.0)) % u64::from(nodes)) as u32)
}

/// A node's part of the reductions of a run: values go up the tree of node 0, the result comes down. No node is ahead
/// of the others by more than one: it would have to know a result that is not there yet.
#[derive(Debug)]
pub(crate) struct Reduce {
    node: NodeId,
    nodes: u32,
    /// Values of children that have come for the reduction that is going on, and what they make.
    arrived: usize,
    value: Option<u64>,
    sent: bool,
    waiting: VecDeque<(Reduction, u64, Slot<u64>)>,
}

/// What a node's part of a reduction sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Partial {
    Up(NodeId, Reduction, u64),
    /// To all children.
    Down(u64),
}

impl Reduce {
    pub(crate) fn new(node: NodeId, nodes: u32) -> Reduce {
        Reduce { node, nodes, arrived: 0, value: None, sent: false, waiting: VecDeque::new() }
    }
    pub(crate) fn enter(&mut self, reduction: Reduction, value: u64, done: Slot<u64>) {
        self.waiting.push_back((reduction, value, done));
    }
    /// A child's value.
    pub(crate) fn arrive(&mut self, reduction: Reduction, value: u64) {
        self.arrived += 1;
        self.value = Some(self.value.map_or(value, |mine| reduction.apply(mine, value)));
    }
    /// What is to be sent now, if anything.
    pub(crate) fn advance(&mut self) -> Option<Partial> {
        let &(reduction, own, _) = self.waiting.front()?;
        if self.sent || self.arrived < children(self.node, NodeId(0), self.nodes).count() {
            return None;
        }
        self.sent = true;
        let value = self.value.map_or(own, |value| reduction.apply(value, own));
        match parent(self.node, NodeId(0), self.nodes) {
            Some(parent) => Some(Partial::Up(parent, reduction, value)),
            None => Some(Partial::Down(value)),
        }
    }
    /// The result has come: the next reduction may begin. False if nobody waits for one.
    pub(crate) fn finish(&mut self, value: u64) -> bool {
        if !self.sent {
            return false;
        }
        let Some((_, _, done)) = self.waiting.pop_front() else { return false };
        (self.arrived, self.value, self.sent) = (0, None, false);
        let _ = done.fill(value);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use conformance::any_order::way;

    #[test]
    fn nobody_leaves_a_barrier_before_all_have_entered() {
        for nodes in 1..=20u32 {
            let mut barriers: Vec<_> = (0..nodes).map(|node| Barrier::new(NodeId(node), nodes)).collect();
            for last in 0..nodes {
                let slots: Vec<Slot<()>> = (0..nodes).map(|_| Slot::new()).collect();
                // All but one enter, and send what they can.
                for node in (0..nodes).filter(|&node| node != last) {
                    let way = &mut way(NodeId(node), nodes);
                    barriers[node as usize].enter(way, slots[node as usize].clone());
                }
                let run = |barriers: &mut Vec<Barrier>| {
                    let mut messages = 0;
                    loop {
                        let before = messages;
                        for node in 0..nodes as usize {
                            while let Some((to, round)) =
                                barriers[node].advance(&mut way(NodeId(node as u32), nodes))
                            {
                                assert!(barriers[to.0 as usize].arrive(round));
                                messages += 1;
                            }
                        }
                        if messages == before {
                            return messages;
                        }
                    }
                };
                let before = run(&mut barriers);
                assert!(nodes == 1 || slots.iter().all(|slot| !slot.is_full()), "{nodes} nodes, {last} last");
                barriers[last as usize].enter(&mut way(NodeId(last), nodes), slots[last as usize].clone());
                let after = run(&mut barriers);
                assert!(slots.iter().all(Slot::is_full), "{nodes} nodes, {last} last");
                assert_eq!(before + after, nodes * nodes.next_power_of_two().trailing_zeros());
            }
        }
    }

    #[test]
    fn trees_hold_every_node_once() {
        for nodes in 1..40 {
            for root in 0..nodes {
                let mut seen = vec![false; nodes as usize];
                let mut open = vec![NodeId(root)];
                while let Some(node) = open.pop() {
                    assert!(!std::mem::replace(&mut seen[node.0 as usize], true));
                    for child in children(node, NodeId(root), nodes) {
                        assert_eq!(parent(child, NodeId(root), nodes), Some(node));
                        open.push(child);
                    }
                }
                assert!(seen.iter().all(|&seen| seen));
            }
        }
    }
}
