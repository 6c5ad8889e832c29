//! The spaces of the heap, and allocation in them.
//!
//! ```text
//! young region (aligned to its size):  [ nursery ......................... ][ survivors A ][ survivors B ]
//! old space:    blocks of 256 KB, filled one after the other
//! large space:  [ meta ][ object ............ ] in whole pages
//! ```
//! Invariants:
//! - G1 `abi.heap` is always inside the nursery; generated code allocates there only. Builtins allocate above `limit` too, up to
//!   the nursery's end, and beyond that in old space (`overflow`): the next collection scans what they put there.
//! - G2 An old or large word that leads to a young object is in `remembered`, or in an `overflow` range, or in a young large object.
//! - G3 Large objects hold no unbound cells (only builtins make them), so no REF keeps one alive.
//! - G4 A large object is young until its first collection; the word before its header says so, and carries its mark.

use crate::memory::{Region, read, write};
use crate::worker::Options;
use term::Word;
use term::abi::{PRIVATE_BYTES, SLACK_WORDS};

/// Objects of more words than this live in the large space.
pub(crate) const LARGE_WORDS: usize = 1024;

#[cfg(not(miri))]
pub(crate) mod sizes {
    pub(crate) const YOUNG_BYTES: usize = 256 << 20;
    pub(crate) const SPACE_BYTES: usize = 1 << 40;
    pub(crate) const BLOCK_BYTES: usize = 256 << 10;
    pub(crate) const NURSERY_MIN: usize = 512 << 10;
    pub(crate) const NURSERY_MAX: usize = 16 << 20;
    pub(crate) const MAJOR_MIN: usize = 32 << 20;
    pub(crate) const HALVINGS_MAX: u32 = 13;
    pub(crate) const OTHER_BYTES: usize = 256 << 20;
}
#[cfg(miri)]
pub(crate) mod sizes {
    pub(crate) const YOUNG_BYTES: usize = 1 << 20;
    pub(crate) const SPACE_BYTES: usize = 4 << 20;
    pub(crate) const BLOCK_BYTES: usize = 32 << 10;
    pub(crate) const NURSERY_MIN: usize = 64 << 10;
    pub(crate) const NURSERY_MAX: usize = 128 << 10;
    pub(crate) const MAJOR_MIN: usize = 256 << 10;
    pub(crate) const HALVINGS_MAX: u32 = 0;
    pub(crate) const OTHER_BYTES: usize = 4096;
}
use sizes::SPACE_BYTES;
pub(crate) use sizes::{BLOCK_BYTES, MAJOR_MIN, NURSERY_MAX, NURSERY_MIN, YOUNG_BYTES};
/// How small the spaces may become, and what must be left of a process's address space beside them.
pub(crate) use sizes::{HALVINGS_MAX, OTHER_BYTES};

/// Bytes of the nursery's address range.
pub(crate) const NURSERY_RANGE: usize = YOUNG_BYTES / 2;
// C6: the cells of the nursery are those that generated code may write. (No generated code runs under Miri.)
const _: () = assert!(NURSERY_RANGE == PRIVATE_BYTES || cfg!(miri));
/// Bytes of each survivor area.
pub(crate) const SURVIVOR_RANGE: usize = YOUNG_BYTES / 4;
const PAGE: usize = 4096;

/// A range of addresses.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Range {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Everything of the heap but `abi.heap` and `abi.limit`.
pub(crate) struct Heap {
    pub(crate) young: Region,
    /// Bytes of the nursery that generated code fills before a collection.
    pub(crate) nursery_bytes: usize,
    /// The survivor area in use: 0 or 1, and one past its last word.
    pub(crate) survivors: usize,
    pub(crate) survivor_top: usize,
    pub(crate) old: OldSpace,
    pub(crate) large: LargeSpace,
    /// Old words that may lead to young objects (G2).
    pub(crate) remembered: Vec<usize>,
    /// What builtins allocated in old space since the last collection.
    pub(crate) overflow: Vec<Range>,
    /// Bytes in use (old and large) above which the next collection is a major one.
    pub(crate) major_threshold: usize,
    /// The option, or what the machine suggests.
    pub(crate) bytes_max: usize,
}

impl Heap {
    /// An empty heap; `None` if the system refuses the address space. The spaces get 1 / 2^`halvings` of their usual size.
    pub(crate) fn new(options: &Options, halvings: u32) -> Option<Heap> {
        let young = Region::reserve(YOUNG_BYTES, YOUNG_BYTES)?;
        let survivor_top = young.base() + NURSERY_RANGE;
        let space_bytes = SPACE_BYTES >> halvings;
        // A major collection needs the space twice, and blocks and pages are not filled to the last word.
        let bytes_max = options.heap_bytes_max.unwrap_or_else(machine_share).min(space_bytes / 4);
        Some(Heap {
            young,
            nursery_bytes: NURSERY_MIN,
            survivors: 0,
            survivor_top,
            old: OldSpace::new(space_bytes)?,
            large: LargeSpace::new(space_bytes)?,
            remembered: Vec::new(),
            overflow: Vec::new(),
            major_threshold: MAJOR_MIN.min(bytes_max),
            bytes_max,
        })
    }
    /// C3: the limit of an empty nursery in which a clause may need `need` words.
    pub(crate) fn limit(&self, need: usize) -> usize {
        let bytes = self.nursery_bytes.max((need + 2 * SLACK_WORDS) * 8).min(NURSERY_RANGE);
        self.young.base() + bytes - SLACK_WORDS * 8
    }
    /// The end of the nursery for builtins: generated code still has its slack above.
    #[inline(always)]
    pub(crate) fn nursery_end(&self) -> usize {
        self.young.base() + NURSERY_RANGE - SLACK_WORDS * 8
    }
    /// The first address of a survivor area.
    pub(crate) fn survivor_base(&self, area: usize) -> usize {
        self.young.base() + NURSERY_RANGE + area * SURVIVOR_RANGE
    }
    /// True if an address is in the young region.
    #[inline(always)]
    pub(crate) fn is_young(&self, address: usize) -> bool {
        self.young.contains(address)
    }
    /// Bytes of objects outside the young region.
    pub(crate) fn old_bytes(&self) -> usize {
        self.old.used_bytes() + self.large.used_bytes
    }
    /// Words in use right after a collection.
    pub(crate) fn words_in_use(&self) -> usize {
        let survivors = self.survivor_top - self.survivor_base(self.survivors);
        let unfilled = self.old.end - self.old.top;
        (survivors + self.old_bytes() - unfilled) / 8
    }
    /// Old words for a builtin (G1).
    pub(crate) fn allocate_overflow(&mut self, words: usize) -> usize {
        let start = self.old.allocate(words);
        let end = start + 8 * words;
        match self.overflow.last_mut() {
            Some(last) if last.end == start => last.end = end,
            _ => self.overflow.push(Range { start, end }),
        }
        start
    }
}

/// A share of the machine's memory that leaves room for copying.
#[cfg(not(miri))]
fn machine_share() -> usize {
    let info = rustix::system::sysinfo();
    let bytes = (info.totalram as u64).saturating_mul(info.mem_unit.into());
    usize::try_from(bytes / 100 * 45).unwrap_or(usize::MAX)
}
#[cfg(miri)]
fn machine_share() -> usize {
    1 << 20
}

// ---- old space -------------------------------------------------------------------------------------

/// What a block of old space holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    /// Nothing; its pages may cost memory.
    Free,
    /// Objects.
    Used,
    /// Objects that the running major collection evacuates.
    From,
}

/// Blocks, filled one after the other.
pub(crate) struct OldSpace {
    pub(crate) region: Region,
    pub(crate) blocks: Vec<Block>,
    free: Vec<usize>,
    used: usize,
    /// The block being filled: next free word, and its end.
    pub(crate) top: usize,
    pub(crate) end: usize,
}

impl OldSpace {
    fn new(bytes: usize) -> Option<OldSpace> {
        let region = Region::reserve(bytes, BLOCK_BYTES)?;
        Some(OldSpace { region, blocks: Vec::new(), free: Vec::new(), used: 0, top: 0, end: 0 })
    }
    /// Bytes of blocks in use.
    pub(crate) fn used_bytes(&self) -> usize {
        self.used * BLOCK_BYTES
    }
    /// The index of the block of an address in the region.
    #[inline(always)]
    pub(crate) fn block_of(&self, address: usize) -> usize {
        (address - self.region.base()) / BLOCK_BYTES
    }
    /// Room for an object. Panics when the address space is used up, which is far beyond the heap limit.
    #[inline(always)]
    pub(crate) fn allocate(&mut self, words: usize) -> usize {
        if self.top + 8 * words > self.end {
            self.next_block(8 * words);
        }
        let address = self.top;
        self.top += 8 * words;
        address
    }
    /// Makes a free block the current one; the rest of the former stays unused. Objects larger than a block get several.
    #[cold]
    pub(crate) fn next_block(&mut self, bytes: usize) {
        let count = bytes.div_ceil(BLOCK_BYTES);
        let first = match (count, self.free.pop()) {
            (1, Some(block)) => block,
            (_, unused) => {
                self.free.extend(unused);
                let first = self.blocks.len();
                self.blocks.resize(first + count, Block::Free);
                assert!(self.blocks.len() * BLOCK_BYTES <= self.region.end() - self.region.base());
                first
            }
        };
        self.blocks[first..first + count].fill(Block::Used);
        self.used += count;
        self.top = self.region.base() + first * BLOCK_BYTES;
        self.end = self.top + count * BLOCK_BYTES;
    }
    /// All blocks become from-space.
    pub(crate) fn begin_major(&mut self) {
        for block in &mut self.blocks {
            if *block == Block::Used {
                *block = Block::From;
            }
        }
        (self.top, self.end) = (0, 0);
    }
    /// From-space becomes free. As many free blocks as are in use keep their pages.
    pub(crate) fn end_major(&mut self) {
        let mut freed = Vec::new();
        for (index, block) in self.blocks.iter_mut().enumerate() {
            if *block == Block::From {
                *block = Block::Free;
                freed.push(index);
            }
        }
        self.used -= freed.len();
        let keep = self.used.max(MAJOR_MIN / BLOCK_BYTES);
        for &index in freed.iter().skip(keep) {
            let start = self.region.base() + index * BLOCK_BYTES;
            self.region.discard(start, start + BLOCK_BYTES);
        }
        // The blocks that kept their pages are taken first.
        self.free.extend(freed.into_iter().rev());
    }
}

// ---- large objects ---------------------------------------------------------------------------------

const MARKED: u64 = 8;
const YOUNG: u64 = 16;
/// Bytes before a large object: a word that is not used, and the meta word (G4).
const PREFIX_BYTES: usize = 16;

/// Objects that are never moved.
pub(crate) struct LargeSpace {
    pub(crate) region: Region,
    pub(crate) young: Vec<usize>,
    pub(crate) old: Vec<usize>,
    /// Free pages: start and end, by start; neighbours are joined at each sweep.
    free: Vec<Range>,
    next: usize,
    pub(crate) used_bytes: usize,
    /// Bytes of young objects.
    pub(crate) young_bytes: usize,
}

impl LargeSpace {
    fn new(bytes: usize) -> Option<LargeSpace> {
        let region = Region::reserve(bytes, BLOCK_BYTES)?;
        let next = region.base();
        Some(LargeSpace {
            region,
            young: Vec::new(),
            old: Vec::new(),
            free: Vec::new(),
            next,
            used_bytes: 0,
            young_bytes: 0,
        })
    }
    /// Room for an object of `words` words. Panics when the address space is used up, which is far beyond the heap limit.
    pub(crate) fn allocate(&mut self, words: usize) -> usize {
        let bytes = (words * 8 + PREFIX_BYTES).next_multiple_of(PAGE);
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
                assert!(bytes <= self.region.end() - start, "address space for large objects is used up");
                self.next += bytes;
                start
            }
        };
        write(start, Word::small((bytes / PAGE) as i64));
        let object = start + PREFIX_BYTES;
        write(object - 8, Word(YOUNG));
        self.young.push(object);
        self.used_bytes += bytes;
        self.young_bytes += bytes;
        object
    }
    /// Marks an object; false if that was done before, or if only young objects count and it is old.
    pub(crate) fn mark(&mut self, object: usize, only_young: bool) -> bool {
        let meta = read(object - 8).0;
        if meta & MARKED != 0 || (only_young && meta & YOUNG == 0) {
            return false;
        }
        write(object - 8, Word(meta | MARKED));
        true
    }
    /// Frees the objects without a mark, of the young ones or all; the others are old. Answers what was freed, by address.
    pub(crate) fn sweep(&mut self, only_young: bool) -> Vec<Range> {
        let mut candidates = std::mem::take(&mut self.young);
        if !only_young {
            candidates.append(&mut self.old);
        }
        self.young_bytes = 0;
        let mut freed = Vec::new();
        for object in candidates {
            if read(object - 8).0 & MARKED != 0 {
                write(object - 8, Word(0));
                self.old.push(object);
                continue;
            }
            let start = object - PREFIX_BYTES;
            let bytes = read(start).as_int() as usize * PAGE;
            self.used_bytes -= bytes;
            freed.push(Range { start, end: start + bytes });
        }
        if !freed.is_empty() {
            freed.sort_unstable_by_key(|range| range.start);
            self.free.extend_from_slice(&freed);
            self.join_free();
        }
        freed
    }
    fn join_free(&mut self) {
        self.free.sort_unstable_by_key(|range| range.start);
        let mut joined: Vec<Range> = Vec::with_capacity(self.free.len());
        for &range in &self.free {
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
            self.region.discard(last.start, last.end);
        }
        for range in &joined {
            if range.end - range.start >= BLOCK_BYTES {
                self.region.discard(range.start, range.end);
            }
        }
        self.free = joined;
    }
}
