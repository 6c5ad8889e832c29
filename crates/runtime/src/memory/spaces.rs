//! The spaces that all workers of a node share, in one address range: old space, large objects, and the young lanes.
//!
//! ```text
//! old space:    blocks of 256 KB; each worker fills one after the other
//! large space:  [ meta ][ object ............ ] in whole pages
//! young region, a lane for each worker:  [ survivors A ][ survivors B ][ nursery .... ][ gap ]
//! ```
//! Invariants:
//! - G6 Every old and large object has a lower address than every young one.
//! - Large objects hold no unbound cells (only builtins make them), so no REF keeps one alive.
//! - G4 A large object is young until its first collection; the word before its header says so, and carries its mark.
//! - G5 No cell ever lies in a gap, so a range of addresses that begins in a nursery and is as long as one holds
//!   cells of that nursery only.

use crate::memory::machine;
use crate::memory::ranges::{LARGE_PAGE, Range, Region, fetch_or, raw, read, write};
use crate::memory::tuning::{
    BLOCK_BYTES, IN_VAIN_PERCENT, LANE_BYTES, MAJOR_MIN, NURSERY_RANGE, SPACE_BYTES, SURVIVOR_RANGE,
};
#[cfg(not(miri))]
use base::lock;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use term::Word;

const PAGE: usize = 4096;

/// What all workers of a node share of the heap. The atomic numbers change only while no worker reduces, or are
/// counters.
pub(crate) struct Spaces {
    memory: Region,
    pub(crate) young: Range,
    pub(crate) large_range: Range,
    pub(crate) old: OldSpace,
    large: Mutex<LargeSpace>,
    /// Bytes of large objects: all, and those made since the last collection.
    large_used: AtomicUsize,
    large_young: AtomicUsize,
    /// Bytes of young large objects above which a collection is due.
    large_limit: AtomicUsize,
    /// The survivor area in use: 0 or 1.
    area: AtomicUsize,
    /// Bytes of large objects that workers are about to make.
    promised: AtomicUsize,
    /// Bytes in use (old and large) above which the next collection is a major one.
    major_threshold: AtomicUsize,
    /// The option, or what the machine suggests.
    bytes_max: AtomicUsize,
}

impl Spaces {
    /// Empty spaces of 1 / 2^`halvings` of their usual size for `workers`, of which the heap takes at most
    /// `bytes_max` bytes, or what is usual on a machine that `share` nodes share; `None` if the system refuses the
    /// address space.
    pub(crate) fn new(workers: usize, bytes_max: Option<usize>, share: u32, halvings: u32) -> Option<Spaces> {
        let (space, young_bytes) = (SPACE_BYTES >> halvings, LANE_BYTES * workers);
        let memory = Region::reserve(2 * space + young_bytes, LARGE_PAGE)?;
        let old = Range { start: memory.base(), end: memory.base() + space };
        let large_range = Range { start: old.end, end: old.end + space };
        let young = Range { start: large_range.end, end: large_range.end + young_bytes };
        let lanes = (young.start..young.end).step_by(LANE_BYTES);
        let parts = lanes.flat_map(|lane| {
            let nursery = lane + 2 * SURVIVOR_RANGE;
            [(lane, SURVIVOR_RANGE), (lane + SURVIVOR_RANGE, SURVIVOR_RANGE), (nursery, NURSERY_RANGE)]
        });
        for (start, bytes) in parts.chain([(old.start, space), (large_range.start, space)]) {
            memory.use_large_pages(start, start + bytes);
        }
        // A major collection needs the space twice, and blocks and pages are not filled to the last word.
        let bytes_max = bytes_max.unwrap_or_else(|| machine_share() / share as usize).min(space / 4);
        Some(Spaces {
            young,
            old: OldSpace::new(old),
            large: Mutex::new(LargeSpace::new(large_range)),
            large_range,
            memory,
            large_used: AtomicUsize::new(0),
            large_young: AtomicUsize::new(0),
            large_limit: AtomicUsize::new(MAJOR_MIN),
            area: AtomicUsize::new(0),
            promised: AtomicUsize::new(0),
            major_threshold: AtomicUsize::new(MAJOR_MIN.min(bytes_max)),
            bytes_max: AtomicUsize::new(bytes_max),
        })
    }
    /// Whether an address is one of the node's heap.
    #[inline(always)]
    pub(crate) fn contains(&self, address: usize) -> bool {
        Range { start: self.memory.base(), end: self.memory.end() }.contains(address)
    }
    /// How many workers share it.
    pub(crate) fn workers(&self) -> usize {
        (self.young.end - self.young.start) / LANE_BYTES
    }
    /// The first address of a lane.
    pub(crate) fn lane(&self, worker: usize) -> usize {
        debug_assert!(worker < self.workers(), "G5: worker {worker} has no lane");
        self.young.start + worker * LANE_BYTES
    }
    /// The survivor area in use.
    pub(crate) fn area(&self) -> usize {
        self.area.load(Relaxed)
    }
    /// The other survivor area is in use from now on.
    pub(crate) fn flip(&self) {
        self.area.fetch_xor(1, Relaxed);
    }
    /// Bytes of objects outside the young region.
    pub(crate) fn old_bytes(&self) -> usize {
        self.old.used_bytes() + self.large_used.load(Relaxed)
    }
    /// Bytes in use above which the next collection is a major one.
    pub(crate) fn major_threshold(&self) -> usize {
        self.major_threshold.load(Relaxed)
    }
    /// Decides, after a collection, when the next one is due; `major` has the bytes in use before and after a major
    /// one.
    pub(crate) fn set_limits(&self, major: Option<(usize, usize)>) {
        self.large_limit.store((self.old_bytes() / 2).max(MAJOR_MIN), Relaxed);
        if let Some((before, live)) = major {
            let times = if live * 100 > before * IN_VAIN_PERCENT { 3 } else { 2 };
            self.major_threshold.store((live * times).max(MAJOR_MIN).min(self.bytes_max()), Relaxed);
        }
    }
    /// Bytes of large objects that are about to be made.
    pub(crate) fn promised(&self) -> usize {
        self.promised.load(Relaxed)
    }
    /// Answers what was promised before.
    pub(crate) fn promise(&self, bytes: usize) -> usize {
        self.promised.fetch_add(bytes, Acquire)
    }
    /// They were made, or never will be. Release: whoever no longer counts the promise counts the object (pairs with
    /// `promise`).
    pub(crate) fn settle_promise(&self, bytes: usize) {
        let before = self.promised.fetch_sub(bytes, Release);
        debug_assert!(before >= bytes, "{bytes} bytes of {before} that were promised");
    }
    /// The heap limit.
    pub(crate) fn bytes_max(&self) -> usize {
        self.bytes_max.load(Relaxed)
    }
    /// Changes the heap limit, for tests.
    #[cfg(test)]
    pub(crate) fn set_bytes_max(&self, bytes: usize) {
        self.bytes_max.store(bytes, Relaxed);
    }
    /// Room for a large object; true if a collection is due.
    pub(crate) fn allocate_large(&self, words: usize) -> (usize, bool) {
        let bytes = (words * 8 + PREFIX_BYTES).next_multiple_of(PAGE);
        let object = lock(&self.large).allocate(bytes);
        self.large_used.fetch_add(bytes, Relaxed);
        let young = self.large_young.fetch_add(bytes, Relaxed) + bytes;
        (object, young > self.large_limit.load(Relaxed))
    }
    /// Frees the large objects without a mark, of the young ones or all; the others are old. Answers what was freed, by
    /// address.
    pub(crate) fn sweep_large(&self, only_young: bool) -> Vec<Range> {
        let freed = lock(&self.large).sweep(&self.memory, only_young);
        let bytes: usize = freed.iter().map(|range| range.end - range.start).sum();
        let before = self.large_used.fetch_sub(bytes, Relaxed);
        debug_assert!(before >= bytes, "G4: {bytes} bytes of {before} were freed");
        self.large_young.store(0, Relaxed);
        freed
    }
    /// Blocks that were evacuated become free.
    pub(crate) fn free_blocks(&self, from: &Blocks) {
        self.old.free_blocks(&self.memory, from, self.bytes_max());
    }
    /// Free pages between large objects cost nothing.
    pub(crate) fn give_fragments_back(&self) {
        lock(&self.large).free.iter().for_each(|range| self.memory.discard(range.start, range.end));
    }
    /// Gives pages back to the system.
    pub(crate) fn discard(&self, from: usize, to: usize) {
        self.memory.discard(from, to);
    }
}

/// A share of the memory that the process may have, so that there is room for copying.
#[cfg(not(miri))]
fn machine_share() -> usize {
    usize::try_from(machine::bytes() / 100 * 45).unwrap_or(usize::MAX)
}
#[cfg(miri)]
fn machine_share() -> usize {
    1 << 20
}

// ---- old space -------------------------------------------------------------------------------------

/// What a block of old space holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Block {
    /// Nothing.
    Free,
    /// Objects.
    Used,
}

/// Blocks; workers take them one by one.
pub(crate) struct OldSpace {
    pub(crate) range: Range,
    table: Mutex<Table>,
    used: AtomicUsize,
}

#[derive(Default)]
struct Table {
    blocks: Vec<Block>,
    /// Free blocks: those whose pages may cost memory, and others.
    free: Vec<usize>,
    clean: Vec<usize>,
}

impl OldSpace {
    fn new(range: Range) -> OldSpace {
        OldSpace { range, table: Mutex::default(), used: AtomicUsize::new(0) }
    }
    /// Bytes of blocks in use.
    pub(crate) fn used_bytes(&self) -> usize {
        self.used.load(Relaxed) * BLOCK_BYTES
    }
    /// A free block, or several in a row for an object larger than a block. Panics when the address space is used up,
    /// which is far beyond every memory.
    #[cold]
    pub(crate) fn take_block(&self, bytes: usize) -> Range {
        let count = bytes.div_ceil(BLOCK_BYTES);
        let mut table = lock(&self.table);
        let one = if count == 1 { table.free.pop().or_else(|| table.clean.pop()) } else { None };
        let first = match one {
            Some(block) => block,
            None => {
                let first = table.blocks.len();
                table.blocks.resize(first + count, Block::Free);
                assert!(
                    table.blocks.len() * BLOCK_BYTES <= self.range.end - self.range.start,
                    "address space is used up"
                );
                first
            }
        };
        debug_assert!(
            table.blocks[first..first + count].iter().all(|&block| block == Block::Free),
            "G6: in use"
        );
        table.blocks[first..first + count].fill(Block::Used);
        self.used.fetch_add(count, Relaxed);
        let start = self.range.start + first * BLOCK_BYTES;
        Range { start, end: start + count * BLOCK_BYTES }
    }
    /// The blocks in use now: what a major collection evacuates. No worker may go on filling one of them.
    pub(crate) fn used_blocks(&self) -> Blocks {
        let used = lock(&self.table).blocks.iter().map(|&block| block == Block::Used).collect();
        Blocks { base: self.range.start, used }
    }
    /// True if an address is in a block in use.
    pub(crate) fn is_used(&self, address: usize) -> bool {
        let block = (address - self.range.start) / BLOCK_BYTES;
        lock(&self.table).blocks.get(block) == Some(&Block::Used)
    }
    /// Blocks that were evacuated become free. Twice as many free ones as are in use keep their pages, since old space
    /// will double and be copied. They are no more than those in use, or than fill half of the heap limit with them.
    fn free_blocks(&self, memory: &Region, from: &Blocks, limit: usize) {
        let mut table = lock(&self.table);
        let freed: Vec<usize> = (0..from.used.len()).filter(|&block| from.used[block]).collect();
        for &block in &freed {
            debug_assert!(table.blocks[block] == Block::Used, "block {block} is freed twice");
            table.blocks[block] = Block::Free;
        }
        let used = self.used.fetch_sub(freed.len(), Relaxed) - freed.len();
        // Those that are taken first lie last.
        table.free.extend(freed.into_iter().rev());
        let kept = (2 * used).max(MAJOR_MIN / BLOCK_BYTES);
        let kept = kept.min(used.max((limit / 2 / BLOCK_BYTES).saturating_sub(used)));
        let unused = table.free.len().saturating_sub(kept);
        let mut unused: Vec<usize> = table.free.drain(..unused).collect();
        unused.sort_unstable();
        // Neighbours together, so that large pages stay whole.
        for blocks in unused.chunk_by(|&block, &next| block + 1 == next) {
            let start = self.range.start + blocks[0] * BLOCK_BYTES;
            memory.discard(start, start + blocks.len() * BLOCK_BYTES);
        }
        table.clean.extend(unused.into_iter().rev());
    }
}

/// A set of blocks.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    base: usize,
    used: Vec<bool>,
}

impl Blocks {
    /// True if an address lies in one of them.
    #[inline(always)]
    pub(crate) fn contains(&self, address: usize) -> bool {
        self.used.get(address.wrapping_sub(self.base) / BLOCK_BYTES).is_some_and(|&used| used)
    }
    /// The block in which an address of one of them lies.
    #[inline(always)]
    pub(crate) fn block(&self, address: usize) -> Range {
        debug_assert!(self.contains(address), "an address of no such block");
        let start = address - (address - self.base) % BLOCK_BYTES;
        Range { start, end: start + BLOCK_BYTES }
    }
}

// ---- large objects ---------------------------------------------------------------------------------

const MARKED: u64 = 8;
const YOUNG: u64 = 16;
/// Bytes before a large object: a word that is not used, and the meta word (G4).
const PREFIX_BYTES: usize = 16;

/// Marks an object; false if that was done before, or if only young objects count and it is old.
pub(crate) fn mark_large(object: usize, only_young: bool) -> bool {
    debug_assert!(read(object).is_header(), "G4: no large object begins there");
    if only_young && read(object - 8).bits() & YOUNG == 0 {
        return false;
    }
    fetch_or(object - 8, MARKED) & MARKED == 0
}

/// Objects that are never moved.
struct LargeSpace {
    young: Vec<usize>,
    old: Vec<usize>,
    /// Free pages: start and end, by start; neighbours are joined at each sweep.
    free: Vec<Range>,
    next: usize,
    end: usize,
}

impl LargeSpace {
    fn new(range: Range) -> LargeSpace {
        LargeSpace { young: Vec::new(), old: Vec::new(), free: Vec::new(), next: range.start, end: range.end }
    }
    /// Panics when the address space is used up, which is far beyond every memory.
    fn allocate(&mut self, bytes: usize) -> usize {
        debug_assert!(bytes.is_multiple_of(PAGE) && bytes > PREFIX_BYTES, "G4: {bytes} bytes");
        let start = match self.free.iter().position(|range| range.end - range.start >= bytes) {
            Some(index) => {
                let range = &mut self.free[index];
                let start = range.start;
                range.start += bytes;
                if range.start == range.end {
                    self.free.swap_remove(index);
                }
                start
            }
            None => {
                let start = self.next;
                assert!(bytes <= self.end - start, "address space for large objects is used up");
                self.next += bytes;
                start
            }
        };
        write(start, Word::small((bytes / PAGE) as i64));
        let object = start + PREFIX_BYTES;
        write(object - 8, raw(YOUNG));
        self.young.push(object);
        object
    }
    fn sweep(&mut self, memory: &Region, only_young: bool) -> Vec<Range> {
        let mut candidates = std::mem::take(&mut self.young);
        if !only_young {
            candidates.append(&mut self.old);
        }
        let mut freed = Vec::new();
        for object in candidates {
            if read(object - 8).bits() & MARKED != 0 {
                write(object - 8, Word::small(0));
                self.old.push(object);
                continue;
            }
            let start = object - PREFIX_BYTES;
            let bytes = read(start).as_int() as usize * PAGE;
            debug_assert!(bytes > 0 && start + bytes <= self.next, "G4: a prefix that was written over");
            freed.push(Range { start, end: start + bytes });
        }
        if !freed.is_empty() {
            freed.sort_unstable_by_key(|range| range.start);
            self.free.extend_from_slice(&freed);
            self.join_free(memory);
        }
        freed
    }
    fn join_free(&mut self, memory: &Region) {
        self.free.sort_unstable_by_key(|range| range.start);
        let mut joined: Vec<Range> = Vec::with_capacity(self.free.len());
        for &range in &self.free {
            debug_assert!(joined.last().is_none_or(|last| last.end <= range.start), "G4: freed twice");
            match joined.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                _ => joined.push(range),
            }
        }
        if let Some(&last) = joined.last()
            && last.end == self.next
        {
            joined.pop();
            self.next = last.start;
            memory.discard(last.start, last.end);
        }
        for range in &joined {
            if range.end - range.start >= BLOCK_BYTES {
                memory.discard(range.start, range.end);
            }
        }
        self.free = joined;
    }
}
