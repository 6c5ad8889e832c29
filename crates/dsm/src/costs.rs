//! What the protocol's work takes where time is simulated.

use crate::protocol::{Counters, Mode};

/// What a node's work takes in cycles of the simulated network. With it, a program's pages come one at a time, each
/// when it is touched, as page faults bring them; and a program that computes looks for messages after each slice, so
/// that handlers steal its time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageCosts {
    /// A touch that is not allowed, until the protocol knows of it.
    pub fault: u64,
    /// A page that has come, until the program may read it.
    pub install: u64,
    /// To make a twin.
    pub twin: u64,
    /// To compare a page with its twin.
    pub diff: u64,
    /// To put a page's changes into it, or to drop it, because another node has written there.
    pub apply: u64,
    /// A unit of what the program [spends](crate::Memory::spend).
    pub unit: u64,
    /// The longest stretch in which a program that computes does not look for messages.
    pub slice: u64,
}

impl PageCosts {
    /// What the protocol did between these two.
    pub(crate) fn of(&self, mode: Mode, before: &Counters, after: &Counters) -> u64 {
        let more = |count: fn(&Counters) -> u64| count(after) - count(before);
        // With updates a home that writes has a twin, too, and compares with it at the next release.
        let home = if mode == Mode::Update { self.fault + self.twin + self.diff } else { self.fault };
        more(|counters| counters.misses) * self.fault
            + more(|counters| counters.twins) * self.twin
            + more(|counters| counters.guarded_writes) * home
            + more(|counters| counters.diffs) * self.diff
            + more(|counters| counters.applied + counters.reached) * self.apply
    }
}
