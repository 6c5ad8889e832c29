//! When to collect, and how large the spaces are.
//!
//! The nursery starts at half a core's second-level cache. It doubles while much of it survives (then a larger one gives objects
//! more time to die), and shrinks again when little does for long. A major collection comes when old and large objects have
//! doubled since the last one. Running out means that live data alone exceeds what was allowed.

use crate::heap::{MAJOR_MIN, NURSERY_MAX, NURSERY_MIN, NURSERY_RANGE};
use crate::memory::at;
use crate::outcome::{ErrorKind, ProgramError};
use crate::statistics::{Collected, Collection};
use crate::worker::Worker;
use std::time::{Duration, Instant};

/// Survival (in percent of the nursery) above which the nursery doubles.
const GROW_PERCENT: usize = 20;
/// Survival below which it may shrink.
const SHRINK_PERCENT: usize = 3;
/// So many collections in a row with little survival shrink it.
const SHRINK_AFTER: u32 = 16;
/// What a root stands for in memory: its word, and the timer or descriptor that somebody waits for.
const ROOT_BYTES: usize = 64;

impl Worker {
    /// Makes room in the nursery for at least `need` words and the slack.
    pub(crate) fn collect(&mut self, need: usize) {
        let start = Instant::now();
        let base = self.heap.young.base();
        let used = self.abi.heap as usize - base;
        self.statistics.words_allocated += used as u64 / 8;
        let major = self.bytes_in_use() > self.heap.major_threshold || std::mem::take(&mut self.major_wanted);
        let (kind, copied) = if major {
            (Collected::Everything, self.evacuate_everything())
        } else {
            (Collected::Young, self.evacuate_young())
        };
        let pause = start.elapsed();
        self.statistics.collected(kind, copied, pause);
        match kind {
            Collected::Everything => self.after_major(),
            Collected::Young => self.resize_nursery(copied * 8, used),
        }
        if self.collections.is_some() {
            self.note_collection(kind, copied, pause);
        }
        if used > NURSERY_MAX {
            self.heap.young.discard(base + NURSERY_MAX, base + NURSERY_RANGE);
        }
        self.statistics.bytes_peak = self.statistics.bytes_peak.max(self.heap.old_bytes());
        self.abi.heap = at(base);
        self.limit = if self.options.collect_always { base } else { self.heap.limit(need) };
        self.large_limit = (self.heap.old_bytes() / 2).max(MAJOR_MIN);
        if self.options.check_heap {
            self.check_heap();
        }
    }
    /// Walks the records of waiting goals, and so is called only if somebody asked for it.
    #[cold]
    fn note_collection(&mut self, kind: Collected, words_copied: usize, pause: Duration) {
        let on_stack = (self.abi.goals as usize - self.goals.start()) / 8;
        let in_buckets = self.goals.buckets().map(Vec::len).sum::<usize>();
        let collection = Collection {
            kind,
            ended: Instant::now(),
            pause,
            words_copied,
            heap_words: self.heap.words_in_use(),
            ready_words: on_stack + in_buckets,
            waiting_words: self.waiting_words(),
        };
        self.collections.get_or_insert_default().push(collection);
    }
    fn resize_nursery(&mut self, survived: usize, used: usize) {
        let heap = &mut self.heap;
        if survived * 100 > used.max(heap.nursery_bytes / 2) * GROW_PERCENT {
            // What survives a large nursery at once would go far beyond a small limit.
            let most = NURSERY_MAX.min(heap.bytes_max / 8).max(NURSERY_MIN);
            heap.nursery_bytes = (heap.nursery_bytes * 2).min(most);
            self.quiet_collections = 0;
        } else if survived * 100 < used * SHRINK_PERCENT {
            self.quiet_collections += 1;
            if self.quiet_collections >= SHRINK_AFTER {
                heap.nursery_bytes = (heap.nursery_bytes / 2).max(NURSERY_MIN);
                self.quiet_collections = 0;
            }
        } else {
            self.quiet_collections = 0;
        }
    }
    fn after_major(&mut self) {
        let live = self.bytes_in_use();
        let heap = &mut self.heap;
        let bytes_max = heap.bytes_max;
        heap.major_threshold = (live * 2).max(MAJOR_MIN).min(bytes_max);
        // With less than a tenth to spare, collections would take nearly all the time.
        if live > bytes_max - bytes_max / 10 {
            self.heap_limit_reached(live);
        }
    }
    fn heap_limit_reached(&mut self, bytes: usize) {
        let mebibytes = |bytes: usize| bytes.div_ceil(1 << 20);
        let message = format!(
            "the heap limit of {} MiB is reached: {} MiB are in use",
            mebibytes(self.heap.bytes_max),
            mebibytes(bytes)
        );
        self.end_with(ProgramError::new(ErrorKind::HeapLimit, message));
    }
    /// Whether `words` more words may be allocated at once; the error says why not. Builtins ask before they make an object
    /// whose size a program chooses.
    pub fn ensure(&self, words: usize) -> Result<(), Box<ProgramError>> {
        if words.saturating_mul(8) <= self.room() {
            return Ok(());
        }
        let limit = self.heap.bytes_max >> 20;
        let message = format!("an object of {words} words does not fit into the heap limit of {limit} MiB");
        Err(ProgramError::new(ErrorKind::HeapLimit, message))
    }
    /// Bytes that are left until the heap limit is reached.
    pub(crate) fn room(&self) -> usize {
        self.heap.bytes_max.saturating_sub(self.bytes_in_use())
    }
    /// Bytes that count against the heap limit: those of the heap outside the young region, and what the worker keeps
    /// beside the heap because the program wants it kept.
    fn bytes_in_use(&self) -> usize {
        self.heap.old_bytes() + self.atoms.bytes() + self.roots.len() * ROOT_BYTES + self.kept.get()
    }
    /// Makes the next collection a major one, and soon.
    pub fn collect_soon(&mut self) {
        self.major_wanted = true;
        self.collection_wanted = true;
        self.abi.limit = 0;
    }
}
