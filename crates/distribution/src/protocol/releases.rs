//! Releases that wait for a batch.

use crate::wire::message::{Item, Items};
use fabric::NodeId;
use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};

/// Items for one node: how many, and their words.
#[derive(Clone, Debug, Default)]
struct Batch {
    count: usize,
    words: Vec<u64>,
}

/// For each node that any are for.
#[derive(Clone, Debug, Default)]
pub(super) struct Releases {
    /// By node.
    batches: Vec<Batch>,
    /// Those whose batch has items.
    waiting: BTreeSet<NodeId>,
}

impl Hash for Releases {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.iter().for_each(|batch| batch.hash(state));
    }
}

impl Releases {
    /// Adds an item; how many the node's batch has now.
    pub(super) fn add(&mut self, to: NodeId, item: &Item) -> usize {
        let index = to.0 as usize;
        if self.batches.len() <= index {
            self.batches.resize_with(index + 1, Batch::default);
        }
        let batch = &mut self.batches[index];
        debug_assert!((batch.count == 0) == batch.words.is_empty(), "D1: items wait that nobody counts");
        if batch.count == 0 {
            self.waiting.insert(to);
        }
        batch.count += 1;
        Items::push(&mut batch.words, item);
        batch.count
    }
    /// The words of a node's batch, which has no items then.
    pub(super) fn take(&mut self, to: NodeId) -> Vec<u64> {
        self.waiting.remove(&to);
        let batch = &mut self.batches[to.0 as usize];
        debug_assert!(batch.count > 0 && !batch.words.is_empty(), "D1: a batch without items");
        batch.count = 0;
        std::mem::take(&mut batch.words)
    }
    /// What was taken has been sent: its memory serves the next batch.
    pub(super) fn give_back(&mut self, to: NodeId, mut words: Vec<u64>) {
        let batch = &mut self.batches[to.0 as usize];
        if batch.words.capacity() == 0 {
            words.clear();
            batch.words = words;
        }
    }
    /// The first node whose batch has items.
    pub(super) fn first(&self) -> Option<NodeId> {
        self.waiting.first().copied()
    }
    /// The batches that have items.
    pub(super) fn iter(&self) -> impl Iterator<Item = (NodeId, &[u64])> {
        self.waiting.iter().map(|&to| (to, &self.batches[to.0 as usize].words[..]))
    }
}
