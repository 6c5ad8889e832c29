//! The waves that find the end of a run (X4).

use crate::collective::children;
use fabric::NodeId;

/// What the nodes below one, and it itself, have counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Count {
    /// Messages sent and dispatched, modulo 2^64.
    pub(crate) sent: u64,
    pub(crate) dispatched: u64,
    /// Tasks that have not ended.
    pub(crate) tasks: u64,
    /// Whether somebody has something to do.
    pub(crate) busy: bool,
    /// X6: whether something may come from outside, and whether somebody waits.
    pub(crate) holds: bool,
    pub(crate) waits: bool,
}

impl Count {
    pub(crate) fn words(self) -> [u64; 4] {
        let flags = u64::from(self.busy) | u64::from(self.holds) << 1 | u64::from(self.waits) << 2;
        [self.sent, self.dispatched, self.tasks, flags]
    }
    pub(crate) fn of(words: &[u64]) -> Option<Count> {
        let &[sent, dispatched, tasks, flags @ 0..8] = words else { return None };
        let [busy, holds, waits] = [1, 2, 4].map(|flag| flags & flag != 0);
        Some(Count { sent, dispatched, tasks, busy, holds, waits })
    }
    fn add(self, other: Count) -> Count {
        Count {
            sent: self.sent.wrapping_add(other.sent),
            dispatched: self.dispatched.wrapping_add(other.dispatched),
            tasks: self.tasks.saturating_add(other.tasks),
            busy: self.busy || other.busy,
            holds: self.holds || other.holds,
            waits: self.waits || other.waits,
        }
    }
}

/// A node's part of the waves.
#[derive(Debug)]
pub(crate) struct Waves {
    children: usize,
    /// Children that have not answered the wave that is going on.
    missing: Option<usize>,
    count: Count,
    /// Of node 0: what the last wave found, if nobody was busy.
    last: Option<Count>,
}

impl Waves {
    pub(crate) fn new(node: NodeId, nodes: u32) -> Waves {
        let children = children(node, NodeId(0), nodes).count();
        Waves { children, missing: None, count: Count::default(), last: None }
    }
    /// A wave has come down (at node 0: begins).
    pub(crate) fn begin(&mut self) {
        (self.missing, self.count) = (Some(self.children), Count::default());
    }
    /// A child has answered. False if none was asked.
    pub(crate) fn answer(&mut self, count: Count) -> bool {
        let Some(missing) = self.missing.as_mut().filter(|missing| **missing > 0) else { return false };
        *missing -= 1;
        self.count = self.count.add(count);
        true
    }
    pub(crate) fn is_going_on(&self) -> bool {
        self.missing.is_some()
    }
    /// Once all children have answered: what they and this node, which counts this, have.
    pub(crate) fn finish(&mut self, own: impl FnOnce() -> Count) -> Option<Count> {
        if self.missing != Some(0) {
            return None;
        }
        self.missing = None;
        Some(self.count.add(own()))
    }
    /// Of node 0: what the count of a wave says.
    pub(crate) fn judge(&mut self, count: Count) -> Found {
        let goes_on = count.busy || count.holds && count.waits;
        let quiet = !goes_on && count.sent == count.dispatched;
        match (quiet, std::mem::replace(&mut self.last, quiet.then_some(count))) {
            (true, Some(last)) if last == count => Found::End,
            (true, None) => Found::PerhapsEnd,
            _ => Found::NoEnd,
        }
    }
}

/// What a wave found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// The run is over.
    End,
    /// It is if the next wave finds the same.
    PerhapsEnd,
    NoEnd,
}
