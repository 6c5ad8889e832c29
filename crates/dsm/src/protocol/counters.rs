//! What a node's part of the protocol counts.

use crate::difference::with_difference;
use std::hash::{Hash, Hasher};

with_difference! {
    /// What a node has done. It changes nothing of what it does, so states that differ here only are the same.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct Counters {
        /// Pages that were absent when the program wanted to read or write them.
        pub misses: u64,
        /// Messages that asked homes for pages.
        pub fetches: u64,
        /// Pages that came too late and were fetched again (D2).
        pub refetches: u64,
        /// Copies that became dirty: each has got a twin.
        pub twins: u64,
        /// Pages of this node as a home that were written while others had copies.
        pub guarded_writes: u64,
        /// Pages whose changes were sent home, and the bytes of that.
        pub diffs: u64,
        /// See `diffs`.
        pub diff_bytes: u64,
        /// Pages of others' diffs that this node has got as their home.
        pub applied: u64,
        /// Multicasts that this node has sent as a home, and for how many nodes in all.
        pub multicasts: u64,
        /// See `multicasts`.
        pub targets: u64,
        /// Copies that were dropped, became stale, or were updated by such a multicast.
        pub reached: u64,
        /// Releases that had something to do.
        pub releases: u64,
    }
}

impl Hash for Counters {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl Counters {
    /// Writes that were noticed because somebody else has the page, too: at homes, and of copies.
    pub fn upgrades(&self) -> u64 {
        self.twins + self.guarded_writes
    }
}
