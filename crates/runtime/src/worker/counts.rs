//! What a worker has counted so far.

use crate::memory::ranges::read;
use crate::reports::statistics::Statistics;
use crate::worker::Worker;
use term::layout::SUSPENSION_BEFORE;

impl Worker {
    /// The counters so far.
    pub(crate) fn statistics(&self) -> Statistics {
        let used = (self.abi.heap as usize - self.heap.nursery()) as u64 / 8;
        let mut statistics = self.statistics.clone();
        statistics.words_allocated += used;
        statistics.suspensions += self.new_suspensions().count() as u64 + self.abi.reused;
        statistics.reductions = self.abi.reductions;
        statistics.resumptions = self.resumptions();
        statistics
    }
    /// Goals that were resumed.
    pub(crate) fn resumptions(&self) -> u64 {
        self.statistics.resumptions + self.abi.made_ready
    }
    /// The suspensions made since the last collection or [`Worker::register`], newest first.
    pub(crate) fn new_suspensions(&self) -> impl Iterator<Item = usize> + use<> {
        let mut next = self.abi.suspensions;
        std::iter::from_fn(move || {
            let record = next;
            next =
                if record == 0 { return None } else { read(record + 8 * SUSPENSION_BEFORE).bits() as usize };
            Some(record)
        })
    }
    /// Whether any goal is ready: then there is more than the ends of the stack's segments.
    pub(crate) fn has_ready(&self) -> bool {
        self.ready_words() > self.goals.segments().len()
    }
    /// Words of ready goals.
    pub(crate) fn ready_words(&self) -> usize {
        let on_stack = (self.abi.goals as usize - self.goals.start()) / 8;
        on_stack + self.goals.buckets().map(Vec::len).sum::<usize>()
    }
}
