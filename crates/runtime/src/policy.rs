//! When to collect, and how large the spaces are.
//!
//! The nursery starts at half a core's second-level cache. It doubles while much of it survives (then a larger one gives objects
//! more time to die), and shrinks again when little does for long. A major collection comes when old and large objects have
//! doubled since the last one. Running out means that live data alone exceeds what was allowed.

use crate::collect::{Collection, Part};
use crate::crew::{Shared, lock};
use crate::heap::{NURSERY_MAX, NURSERY_MIN};
use crate::memory::at;
use crate::outcome::{ErrorKind, ProgramError};
use crate::spaces::NURSERY_RANGE;
use crate::statistics::{self as noted, Collected, Share};
use crate::team::Sharers;
use crate::trace::What;
use crate::worker::Worker;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Survival (in percent of the nursery) above which the nursery doubles.
const GROW_PERCENT: usize = 20;
/// Survival below which it may shrink.
const SHRINK_PERCENT: usize = 3;
/// So many collections in a row with little survival shrink it.
const SHRINK_AFTER: u32 = 16;
/// What a root stands for in memory: its word, and the timer or descriptor that somebody waits for.
const ROOT_BYTES: usize = 64;

/// What is remembered from one collection to the next.
#[derive(Debug, Default)]
pub(crate) struct Policy {
    /// Collections in a row after which little was left.
    quiet_collections: u32,
}

/// Collects, led by worker `me`, while everybody else is stopped or rests: then every worker has the room that it needs.
pub(crate) fn collect(shared: &Shared, me: usize) {
    let (crew, spaces) = (shared.crew(), &shared.spaces);
    let start = Instant::now();
    let in_use = crew.with(me, |worker| worker.bytes_in_use());
    let (mut used, mut major) = (0, in_use > spaces.major_threshold());
    crew.each(|worker| {
        let words = (worker.abi.heap as usize - worker.heap.nursery()) / 8;
        worker.statistics.words_allocated += words as u64;
        used += words * 8;
        major |= std::mem::take(&mut worker.major_wanted);
        worker.collection_wanted = false;
    });
    // To wake who rests takes longer than a minor collection.
    let sharers = if major { Sharers::Everybody } else { Sharers::Stopped };
    let others = if major { crew.len() > 1 } else { shared.team.stopped_any() };
    let collection = Arc::new(Collection::new(crew, major, others));
    if others {
        *lock(&shared.collection) = Some(collection.clone());
        shared.team.open_share(me, sharers);
    }
    take_part(shared, &collection, me);
    if others {
        shared.noted(me, || shared.team.wait_shares(me), |()| What::Waiting);
        *lock(&shared.collection) = None;
    }
    let parts = collection.end(crew);
    let copied: usize = parts.iter().map(|part| part.words).sum();
    let time = start.elapsed();
    let in_use = crew.with(me, |worker| worker.bytes_in_use());
    spaces.set_limits(major.then_some(in_use));
    let kind = if major { Collected::Everything } else { Collected::Young };
    crew.with(me, |worker| {
        worker.statistics.collected(kind, copied, time);
        worker.statistics.bytes_peak = worker.statistics.bytes_peak.max(spaces.old_bytes());
    });
    shared.note_collection(me, start, major, copied);
    let nursery_bytes = if major {
        // With less than a tenth to spare, collections would take nearly all the time.
        if in_use > spaces.bytes_max() - spaces.bytes_max() / 10 {
            crew.with(me, |worker| worker.heap_limit_reached(in_use));
        }
        None
    } else {
        let nursery = crew.with(me, |worker| worker.heap.nursery_bytes);
        let lanes = crew.len();
        Some(lock(&shared.policy).nursery_bytes(
            nursery,
            copied * 8 / lanes,
            used / lanes,
            spaces.bytes_max() / lanes,
        ))
    };
    crew.each(|worker| {
        worker.heap.nursery_bytes = nursery_bytes.unwrap_or(worker.heap.nursery_bytes);
        worker.empty_nursery();
    });
    if crew.with(0, |worker| worker.collections.is_some()) {
        note(shared, kind, &parts, time);
    }
    crew.with(me, |worker| {
        if worker.options.check_heap {
            crate::check::check_heap(crew, worker);
        }
    });
}

/// A worker's part in a collection.
pub(crate) fn take_part(shared: &Shared, collection: &Collection, me: usize) {
    let part = || collection.take_part(shared.crew(), me);
    if collection.shared {
        shared.noted(me, part, |&words| What::Copying { words });
    } else {
        part();
    }
}

/// Notes a collection. Walks the records of waiting goals, and so is called only if somebody asked for it.
#[cold]
fn note(shared: &Shared, kind: Collected, parts: &[Part], pause: Duration) {
    let (mut ready_words, mut waiting_words, mut young_words, mut unfilled) = (0, 0, 0, 0);
    shared.crew().each(|worker| {
        ready_words += worker.ready_words();
        waiting_words += worker.waiting_words();
        young_words += worker.heap.survivor_words();
        unfilled += (worker.heap.old.end - worker.heap.old.start) / 8;
    });
    let heap_words = young_words + shared.spaces.old_bytes() / 8 - unfilled;
    let ended = Instant::now();
    let shares: Vec<Share> = parts.iter().map(Part::share).collect();
    let words_copied = shares.iter().map(|share| share.words_copied).sum();
    let collection = noted::Collection {
        kind,
        ended,
        pause,
        words_copied,
        heap_words,
        ready_words,
        waiting_words,
        shares,
    };
    shared.crew().with(0, |worker| worker.collections.get_or_insert_default().push(collection));
}

impl Policy {
    /// The size of nurseries after a minor collection of nurseries of that size (bytes, for each worker).
    fn nursery_bytes(&mut self, nursery: usize, survived: usize, used: usize, bytes_max: usize) -> usize {
        if survived * 100 > used.max(nursery / 2) * GROW_PERCENT {
            self.quiet_collections = 0;
            // What survives a large nursery at once would go far beyond a small limit.
            let most = NURSERY_MAX.min(bytes_max / 8).max(NURSERY_MIN);
            return (nursery * 2).min(most);
        }
        if survived * 100 < used * SHRINK_PERCENT {
            self.quiet_collections += 1;
            if self.quiet_collections >= SHRINK_AFTER {
                self.quiet_collections = 0;
                return (nursery / 2).max(NURSERY_MIN);
            }
        } else {
            self.quiet_collections = 0;
        }
        nursery
    }
}

impl Worker {
    /// After a collection: the nursery is empty, and holds what the next reduction needs.
    fn empty_nursery(&mut self) {
        let base = self.heap.nursery();
        if self.abi.heap as usize - base > NURSERY_MAX {
            self.heap.spaces.discard(base + NURSERY_MAX, base + NURSERY_RANGE);
        }
        self.abi.heap = at(base);
        self.limit = self.first_limit();
        self.collected = true;
        self.soon = usize::MAX;
        self.goals.seen.forget();
        // The worker attends again before it reduces.
        self.abi.limit = 0;
        self.set_private_base(base);
    }
    fn heap_limit_reached(&mut self, bytes: usize) {
        let mebibytes = |bytes: usize| bytes.div_ceil(1 << 20);
        let message = format!(
            "the heap limit of {} MiB is reached: {} MiB are in use",
            mebibytes(self.heap.spaces.bytes_max()),
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
        let limit = self.heap.spaces.bytes_max() >> 20;
        let message = format!("an object of {words} words does not fit into the heap limit of {limit} MiB");
        Err(ProgramError::new(ErrorKind::HeapLimit, message))
    }
    /// Bytes that are left until the heap limit is reached.
    pub(crate) fn room(&self) -> usize {
        self.heap.spaces.bytes_max().saturating_sub(self.bytes_in_use())
    }
    /// Bytes that count against the heap limit: those of the heap outside the young regions, and what the node keeps
    /// beside the heap because the program wants it kept.
    fn bytes_in_use(&self) -> usize {
        let kept = self.shared.kept.load(Relaxed) + self.roots.len() * ROOT_BYTES;
        self.heap.spaces.old_bytes() + self.atoms.bytes() + kept
    }
    /// Makes the next collection a major one, and soon.
    pub fn collect_soon(&mut self) {
        self.major_wanted = true;
        self.collection_wanted = true;
        self.abi.limit = 0;
    }
}
