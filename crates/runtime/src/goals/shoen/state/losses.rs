//! What is known of nodes that died: X21 of the module `shoen`.

use crate::coordination::sync::atomic::{AtomicBool, Ordering::Relaxed, Ordering::SeqCst};
use crate::coordination::sync::{Mutex, lock};

/// X21: what is known of nodes that died.
#[derive(Debug)]
pub(crate) struct Losses {
    /// By node, whether it is dead, and whether a goal of no shoen was sent there.
    dead: Vec<AtomicBool>,
    uncounted: Vec<AtomicBool>,
    /// Some are.
    any: AtomicBool,
    /// What other nodes have said of such a death before this one knew of it: shoens and nodes.
    early: Mutex<Vec<(i64, u32)>>,
}

impl Losses {
    pub(crate) fn new(nodes: u32) -> Losses {
        let [dead, uncounted] = [(); 2].map(|()| (0..nodes).map(|_| AtomicBool::new(false)).collect());
        Losses { dead, uncounted, any: AtomicBool::new(false), early: Mutex::new(Vec::new()) }
    }
    pub(crate) fn has(&self, node: u32) -> bool {
        self.any.load(SeqCst) && self.dead.get(node as usize).is_some_and(|dead| dead.load(SeqCst))
    }
    /// Those that are known to be.
    pub(crate) fn all(&self) -> Vec<u32> {
        if !self.any.load(SeqCst) {
            return Vec::new();
        }
        (0..).zip(&self.dead).filter(|(_, dead)| dead.load(SeqCst)).map(|(node, _)| node).collect()
    }
    /// What was said of a death comes again when it is known.
    pub(crate) fn put_off(&self, number: i64, node: u32) {
        debug_assert!(!self.has(node), "X21: the death of node {node} is known");
        lock(&self.early).push((number, node));
    }
    /// False if that was known.
    pub(crate) fn add(&self, node: u32) -> bool {
        let new = self.dead.get(node as usize).is_some_and(|dead| !dead.swap(true, SeqCst));
        self.any.fetch_or(new, SeqCst);
        new
    }
    /// A node, or the next one that lives.
    pub(crate) fn living(&self, node: u32) -> u32 {
        if !self.has(node) {
            return node;
        }
        let nodes = self.dead.len() as u32;
        (1..nodes).map(|step| (node + step) % nodes).find(|&node| !self.has(node)).unwrap_or(node)
    }
    /// A goal of no shoen goes there.
    pub(crate) fn goes_uncounted(&self, node: u32) {
        self.uncounted.get(node as usize).inspect(|uncounted| uncounted.store(true, Relaxed));
    }
    pub(crate) fn has_uncounted(&self, node: u32) -> bool {
        self.uncounted.get(node as usize).is_some_and(|uncounted| uncounted.load(Relaxed))
    }
    pub(crate) fn take_early(&self, node: u32) -> Vec<(i64, u32)> {
        lock(&self.early).extract_if(.., |(_, lost)| *lost == node).collect()
    }
}
