//! One worker's part of the heap, and allocation in it. What all share is in `spaces`.
//!
//! Invariants:
//! - G1 `abi.heap` is always inside the nursery; generated code allocates there only. Builtins allocate above `limit`
//!   too, up to the nursery's end, and beyond that in old space (`overflow`): the next collection scans what they put
//!   there.
//! - G2 An old or large word that leads to a young object is in some worker's `remembered`, or in an `overflow`
//!   range, or in a young large object.

use crate::memory::ranges::Range;
use crate::memory::spaces::Spaces;
use crate::memory::tuning::{
    GOAL_BYTES, HALVINGS_MAX, LANE_BYTES, NURSERY_MIN, NURSERY_RANGE, OTHER_BYTES, SHARE_MIN, SPACE_BYTES,
    SURVIVOR_RANGE, THREAD_BYTES,
};
use std::sync::Arc;
use term::abi::SLACK_WORDS;

/// What must be left of a process's address space beside the spaces: for code, the compiler, and the threads.
pub(crate) fn other_bytes(workers: usize) -> usize {
    OTHER_BYTES + (workers - 1) * THREAD_BYTES
}

/// Address space that a process needs at least.
pub(crate) fn address_space_min(workers: usize) -> usize {
    reserved_bytes(workers, HALVINGS_MAX) + other_bytes(workers)
}

/// Address space of a node whose spaces and goal stacks have 1 / 2^`halvings` of their usual size.
pub(crate) fn reserved_bytes(workers: usize, halvings: u32) -> usize {
    2 * (SPACE_BYTES >> halvings) + workers * (LANE_BYTES + (GOAL_BYTES >> halvings))
}

/// Everything of a worker's heap but `abi.heap` and `abi.limit`.
pub(crate) struct Heap {
    pub(crate) spaces: Arc<Spaces>,
    /// The first address of its lane.
    lane: usize,
    /// The young region of all workers.
    young: Range,
    /// Bytes of the nursery that generated code fills before a collection.
    nursery_bytes: usize,
    /// Bytes of the nursery, and of each survivor area, whose pages may cost memory.
    nursery_touched: usize,
    survivors_touched: [usize; 2],
    /// One past the last word of the lane's survivor area in use.
    pub(crate) survivor_top: usize,
    /// What is left of the block of old space that it fills.
    pub(crate) old: Range,
    /// Old words that may lead to young objects (G2).
    pub(crate) remembered: Vec<usize>,
    /// What builtins allocated in old space since the last collection.
    pub(crate) overflow: Vec<Range>,
    /// Bytes of large objects that the running builtin is about to make (or an earlier one did not make).
    promised: usize,
}

impl Heap {
    /// The empty heap of a worker.
    pub(crate) fn new(spaces: Arc<Spaces>, worker: usize) -> Heap {
        let lane = spaces.lane(worker);
        Heap {
            young: spaces.young,
            lane,
            nursery_bytes: NURSERY_MIN.min(spaces.bytes_max() / 2 / spaces.workers()).max(SHARE_MIN),
            nursery_touched: 0,
            survivors_touched: [0; 2],
            spaces,
            survivor_top: lane,
            old: Range::default(),
            remembered: Vec::new(),
            overflow: Vec::new(),
            promised: 0,
        }
    }
    /// A large object of this number of bytes is going to be made, and nothing of what was promised before. Answers
    /// what others are going to make.
    pub(crate) fn promise(&mut self, bytes: usize) -> usize {
        self.settle_promise(usize::MAX);
        self.promised = bytes;
        self.spaces.promise(bytes)
    }
    /// This number of bytes of what was promised were made, or never will be.
    pub(crate) fn settle_promise(&mut self, bytes: usize) {
        let bytes = bytes.min(self.promised);
        if bytes > 0 {
            self.promised -= bytes;
            self.spaces.settle_promise(bytes);
        }
    }
    /// The first address of the nursery.
    pub(crate) fn nursery(&self) -> usize {
        self.lane + 2 * SURVIVOR_RANGE
    }
    /// C3: the limit of an empty nursery in which a clause may need `need` words.
    pub(crate) fn limit(&self, need: usize) -> usize {
        let bytes = self.nursery_bytes.max((need + 2 * SLACK_WORDS) * 8).min(NURSERY_RANGE);
        self.nursery() + bytes - SLACK_WORDS * 8
    }
    /// The end of the nursery for builtins: generated code still has its slack above.
    #[inline(always)]
    pub(crate) fn nursery_end(&self) -> usize {
        self.lane + 2 * SURVIVOR_RANGE + NURSERY_RANGE - SLACK_WORDS * 8
    }
    /// The first address of a survivor area of its lane.
    pub(crate) fn survivor_base(&self, area: usize) -> usize {
        debug_assert!(area < 2, "G5: a lane has two survivor areas");
        self.lane + area * SURVIVOR_RANGE
    }
    /// True if an address is in the young region, of whichever worker.
    #[inline(always)]
    pub(crate) fn is_young(&self, address: usize) -> bool {
        self.young.contains(address)
    }
    /// Whose lane an address is in; `None` for what is not young, and for the survivor areas, which are nobody's own.
    pub(crate) fn nursery_of(&self, address: usize) -> Option<usize> {
        let offset = address.wrapping_sub(self.young.start);
        (self.is_young(address) && offset % LANE_BYTES >= 2 * SURVIVOR_RANGE).then_some(offset / LANE_BYTES)
    }
    /// The nursery is empty; it had `used` bytes, and has `bytes` from now on. Pages beyond `kept` bytes cost nothing.
    pub(crate) fn empty_nursery(&mut self, bytes: usize, used: usize, kept: usize) {
        debug_assert!(used.max(bytes) <= NURSERY_RANGE, "G1: {used} bytes of a nursery, and {bytes} now");
        let touched = self.nursery_touched.max(used);
        if touched > kept {
            self.spaces.discard(self.nursery() + kept, self.nursery() + NURSERY_RANGE);
        }
        self.nursery_touched = touched.min(kept);
        self.nursery_bytes = bytes;
    }
    /// After a collection: of the survivor area that is not in use, pages beyond `kept` bytes cost nothing.
    pub(crate) fn give_survivors_back(&mut self, kept: usize) {
        let area = self.spaces.area();
        let base = self.survivor_base(area);
        debug_assert!((base..=base + SURVIVOR_RANGE).contains(&self.survivor_top), "G5: the other area's");
        let touched = &mut self.survivors_touched;
        touched[area] = touched[area].max(self.survivor_top - (self.lane + area * SURVIVOR_RANGE));
        let unused = 1 - area;
        if touched[unused] > kept {
            touched[unused] = kept;
            let base = self.survivor_base(unused);
            self.spaces.discard(base + kept, base + SURVIVOR_RANGE);
        }
    }
    /// Words in the survivor area in use.
    pub(crate) fn survivor_words(&self) -> usize {
        (self.survivor_top - self.survivor_base(self.spaces.area())) / 8
    }
    /// Old words for a builtin (G1).
    pub(crate) fn allocate_overflow(&mut self, words: usize) -> usize {
        if self.old.start + 8 * words > self.old.end {
            self.old = self.spaces.old.take_block(8 * words);
        }
        let start = self.old.start;
        let end = start + 8 * words;
        debug_assert!(end <= self.old.end, "G1: {words} words beyond their block");
        self.old.start = end;
        match self.overflow.last_mut() {
            Some(last) if last.end == start => last.end = end,
            _ => self.overflow.push(Range { start, end }),
        }
        start
    }
}
