//! What a worker counts.

use std::time::Duration;

/// Pauses are counted by powers of two of microseconds: the last class has everything from 2^(n-1) µs.
pub const PAUSE_CLASSES: usize = 20;

/// Counters of one worker, since it was made.
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    /// Reductions, when the code counts them.
    pub reductions: u64,
    /// Goals that suspended.
    pub suspensions: u64,
    /// Goals that were resumed.
    pub resumptions: u64,
    /// Minor collections.
    pub minor_collections: u64,
    /// Major collections.
    pub major_collections: u64,
    /// Words allocated in the nursery and by builtins elsewhere.
    pub words_allocated: u64,
    /// Words copied by minor collections.
    pub words_copied_minor: u64,
    /// Words copied by major collections.
    pub words_copied_major: u64,
    /// Time in minor collections.
    pub minor_time: Duration,
    /// Time in major collections.
    pub major_time: Duration,
    /// Longest pause.
    pub pause_max: Duration,
    /// Collections by length: class 0 is below 1 µs, class n below 2^n µs.
    pub pauses: [u64; PAUSE_CLASSES],
    /// Most bytes in use outside the nursery after a collection.
    pub bytes_peak: usize,
}

impl Statistics {
    /// Counts a pause.
    pub(crate) fn pause(&mut self, time: Duration) {
        self.pause_max = self.pause_max.max(time);
        let class = (u128::BITS - time.as_micros().leading_zeros()) as usize;
        self.pauses[class.min(PAUSE_CLASSES - 1)] += 1;
    }
}
