//! Where goals of a shoen are that have left this node: X20 and X21 of the module `shoen`.

use crate::coordination::sync::{Mutex, lock};
use std::collections::BTreeMap;

/// By node: how many goals were sent there of which it has not said that it has them, or that nothing is left.
#[derive(Debug)]
pub(crate) struct Away(Mutex<BTreeMap<u32, u64>>);

impl Away {
    pub(super) fn new() -> Away {
        Away(Mutex::new(BTreeMap::new()))
    }
    /// A goal is sent there.
    pub(crate) fn send(&self, node: u32) {
        *lock(&self.0).entry(node).or_default() += 1;
    }
    /// That node has said it of one. False if none was there.
    pub(crate) fn came(&self, node: u32) -> bool {
        let mut all = lock(&self.0);
        let goals = all.get_mut(&node).filter(|goals| **goals > 0);
        goals.map(|goals| *goals -= 1).is_some()
    }
    /// That node says nothing any more: how many there were.
    pub(crate) fn take(&self, node: u32) -> u64 {
        lock(&self.0).get_mut(&node).map_or(0, std::mem::take)
    }
    /// Whether any goal was ever sent.
    pub(crate) fn have_been(&self) -> bool {
        !lock(&self.0).is_empty()
    }
}
