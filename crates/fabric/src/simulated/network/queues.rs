//! Packets that nodes have sent and that have not left them wholly.

use super::shape::Shape;
use crate::simulated::packet::{LAST, NOBODY, Packets};

/// Those of one node and level.
#[derive(Clone, Copy)]
pub(super) struct Queue {
    pub(super) first: u32,
    last: u32,
    /// Flits of the first that have left.
    pub(super) left: u32,
    /// Packets in it.
    pub(super) len: u32,
}

/// Those of all nodes.
pub(super) struct Queues {
    /// By node and level.
    queues: Vec<Queue>,
    levels: usize,
    /// Packets in queues.
    waiting: u64,
}

/// What is foremost after a flit has left.
pub(super) enum Foremost {
    /// The next flit of the same packet.
    Flit(u32),
    /// Another packet.
    Packet(u32),
    /// Nothing.
    Nothing,
}

impl Queues {
    pub(super) fn new(nodes: usize, shape: &Shape) -> Queues {
        let queue = Queue { first: NOBODY, last: NOBODY, left: 0, len: 0 };
        Queues { queues: vec![queue; nodes * shape.levels()], levels: shape.levels(), waiting: 0 }
    }
    pub(super) fn at(&self, node: usize, level: usize) -> &Queue {
        &self.queues[node * self.levels + level]
    }
    pub(super) fn all(&self) -> impl Iterator<Item = &Queue> {
        self.queues.iter()
    }
    /// Packets in all of them.
    #[inline]
    pub(super) fn waiting(&self) -> u64 {
        self.waiting
    }
    /// A packet goes to the end of one. True if it is foremost.
    pub(super) fn push(&mut self, node: usize, level: usize, number: u32, packets: &mut Packets) -> bool {
        let queue = &mut self.queues[node * self.levels + level];
        queue.len += 1;
        self.waiting += 1;
        if queue.first != NOBODY {
            packets[queue.last].next = number;
            queue.last = number;
            return false;
        }
        (queue.first, queue.last, queue.left) = (number, number, 0);
        true
    }
    /// The foremost flit leaves.
    #[inline]
    pub(super) fn pass(&mut self, node: usize, level: usize, packets: &Packets) -> Foremost {
        let queue = &mut self.queues[node * self.levels + level];
        let packet = &packets[queue.first];
        queue.left += 1;
        if queue.left < packet.flits {
            let last = if queue.left + 1 == packet.flits { LAST } else { 0 };
            return Foremost::Flit(queue.first | last);
        }
        (queue.first, queue.left) = (packet.next, 0);
        queue.len -= 1;
        self.waiting -= 1;
        if queue.first == NOBODY { Foremost::Nothing } else { Foremost::Packet(queue.first) }
    }
    /// `flits` of the foremost packet leave, and it has others.
    pub(super) fn pass_many(&mut self, node: usize, level: usize, flits: u32) {
        self.queues[node * self.levels + level].left += flits;
    }
    /// Spoils one, for tests of the checks.
    #[cfg(test)]
    pub(super) fn spoil(&mut self, spoil: impl FnOnce(&mut Queue)) {
        spoil(&mut self.queues[0]);
    }
}
