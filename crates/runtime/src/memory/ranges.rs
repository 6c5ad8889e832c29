//! Reserved address ranges, and reads and writes of heap words.
//!
//! Invariants:
//! - M1 A `Region` is readable and writable from its base to its end for as long as it lives; pages cost memory once
//!   they are touched, and cost nothing again after `discard`.
//! - M2 Every address that `read` and `write` get is inside a live region (or inside a chunk of constants), and is a
//!   multiple of 8. All heap addresses come from regions, so this is the memory safety of the whole runtime. (During
//!   a collection also addresses in vectors of goals that their worker, which stands still, keeps outside.)
//! - M3 Whoever sees a word in a cell also sees what its writer had written before: processors of the x86 family keep
//!   the order of stores and of loads, so these accesses are ordinary instructions, and generated code needs no
//!   others.
//! - M4 A prefetch accesses nothing: every address will do.
//! - M5 The functions here trust their callers, and are this crate's own: nothing of its public face takes an address,
//!   or a word from which one can be had. They alone make addresses into words, of what lies in a region or in
//!   constants.

use crate::coordination::sync::atomic::{AtomicU64, Ordering};
use term::Word;
use term::word::Tag;

/// Bytes of a large page.
pub(crate) const LARGE_PAGE: usize = 2 << 20;

/// A range of addresses.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Range {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Range {
    /// True if an address lies in it.
    #[inline(always)]
    pub(crate) fn contains(&self, address: usize) -> bool {
        address.wrapping_sub(self.start) < self.end - self.start
    }
}

/// An address range of its own.
pub(crate) struct Region {
    base: usize,
    bytes: usize,
    mapping: backend::Mapping,
}

impl Region {
    /// Reserves `bytes` at a multiple of `align` (a power of two of at least a page).
    pub(crate) fn reserve(bytes: usize, align: usize) -> Option<Region> {
        debug_assert!(align.is_power_of_two() && bytes.is_multiple_of(4096));
        let mapping = backend::Mapping::new(bytes, align)?;
        let base = mapping.base();
        debug_assert!(base.is_multiple_of(align));
        Some(Region { base, bytes, mapping })
    }
    /// The first address.
    pub(crate) fn base(&self) -> usize {
        self.base
    }
    /// One past the last address.
    pub(crate) fn end(&self) -> usize {
        self.base + self.bytes
    }
    /// Asks the system for large pages between these addresses, but for the first one, so that a process that needs
    /// little memory gets little. They are had much faster than as many small ones, and found faster afterwards.
    pub(crate) fn use_large_pages(&self, from: usize, to: usize) {
        let (from, to) = (from.next_multiple_of(LARGE_PAGE) + LARGE_PAGE, to & !(LARGE_PAGE - 1));
        assert!(from >= self.base && to <= self.end(), "large pages lie inside their region");
        if from < to {
            self.mapping.use_large_pages(from, to - from);
        }
    }
    /// Gives the pages that lie wholly inside `from..to` back to the system; they read as zero afterwards.
    pub(crate) fn discard(&self, from: usize, to: usize) {
        let (from, to) = (from.next_multiple_of(4096), to & !4095);
        assert!(from >= self.base && to <= self.end(), "discard stays inside its region");
        if from < to {
            self.mapping.discard(from, to - from);
        }
    }
}

/// The pointer for a heap address.
#[inline(always)]
pub(crate) fn at(address: usize) -> *mut Word {
    std::ptr::with_exposed_provenance_mut(address)
}

/// The word that leads to an address (M5).
#[inline(always)]
pub(crate) const fn pointer(tag: Tag, address: usize) -> Word {
    // SAFETY: W5 of `word` - the caller has put there what the tag says (M5), or found it there.
    unsafe { Word::pointer(tag, address) }
}

/// The word of these bits: those of another word, or of a payload (M5).
#[inline(always)]
pub(crate) const fn raw(bits: u64) -> Word {
    // SAFETY: W5 of `word` - bits of a payload stay in raw objects, and others were a word's (M5).
    unsafe { Word::from_bits(bits) }
}

/// A heap word as other workers see it.
#[cfg(not(all(test, models)))]
#[inline(always)]
fn shared<'a>(address: usize) -> &'a AtomicU64 {
    debug_assert!(address & 7 == 0 && address != 0);
    // SAFETY: M2 - callers pass addresses taken from words of the heap or computed inside a region; heap words are
    // accessed as atomic numbers, or plainly by whoever has them for himself (generated code, a copy that nobody has
    // seen).
    unsafe { AtomicU64::from_ptr(at(address).cast()) }
}

/// In models: loom's word of that address, made when it is first used. It fails if another thread uses the word
/// without having seen something that was written after that: so it checks M3 for everything that is allocated.
#[cfg(all(test, models))]
fn shared(address: usize) -> std::sync::Arc<AtomicU64> {
    use rustc_hash::FxHashMap;
    use std::sync::{Arc, Mutex};
    loom::lazy_static! {
        static ref WORDS: Mutex<FxHashMap<usize, Arc<AtomicU64>>> = Mutex::default();
    }
    assert!(address & 7 == 0 && address != 0);
    let mut words = WORDS.lock().expect("nothing panics here");
    words.entry(address).or_insert_with(|| Arc::new(AtomicU64::new(0))).clone()
}

/// Reads the heap word at an address. Acquire: what it leads to was written before it (M3).
#[inline(always)]
pub(crate) fn read(address: usize) -> Word {
    raw(shared(address).load(Ordering::Acquire))
}

/// Writes the heap word at an address. Release: M3.
#[inline(always)]
pub(crate) fn write(address: usize, word: Word) {
    shared(address).store(word.bits(), Ordering::Release);
}

/// Replaces the heap word at an address if it is still `old`.
#[inline(always)]
pub(crate) fn compare_exchange(address: usize, old: Word, new: Word) -> bool {
    shared(address).compare_exchange(old.bits(), new.bits(), Ordering::AcqRel, Ordering::Acquire).is_ok()
}

/// Sets bits of a raw heap word; answers what it was.
pub(crate) fn fetch_or(address: usize, bits: u64) -> u64 {
    shared(address).fetch_or(bits, Ordering::AcqRel)
}

/// Makes what a word leads to, if it leads anywhere, come near for a worker that is going to change it.
#[inline(always)]
pub(crate) fn prefetch(word: Word) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if !word.is_immediate() {
        // `_mm_prefetch` with a hint to write becomes one to read unless the compiler is told that the processor has
        // the other; those that do not have it do nothing for it.
        // SAFETY: M4 - the instruction is a hint: it reads and writes nothing, whatever the address is.
        unsafe {
            std::arch::asm!("prefetchw byte ptr \
                [{}]", in(reg) word.address(), options(nomem, nostack, preserves_flags));
        }
    }
    #[cfg(any(not(target_arch = "x86_64"), miri))]
    let _ = word;
}

/// Copies a few words, upwards, one by one: a goal's arguments, for which a vectorised copy is too long a way round,
/// and so is a loop for most of them.
#[inline(always)]
pub(crate) fn copy_few(from: usize, to: usize, words: usize) {
    match words {
        1 => copy_just::<1>(from, to),
        2 => copy_just::<2>(from, to),
        3 => copy_just::<3>(from, to),
        4 => copy_just::<4>(from, to),
        5 => copy_just::<5>(from, to),
        6 => copy_just::<6>(from, to),
        _ => copy_one_by_one(from, to, words),
    }
}
#[inline(always)]
fn copy_just<const WORDS: usize>(from: usize, to: usize) {
    copy_one_by_one(from, to, WORDS);
}
#[inline(always)]
fn copy_one_by_one(from: usize, to: usize, words: usize) {
    let mut at = 0;
    while at < words {
        // Acquire loads keep the loop a loop.
        let word = read(from + 8 * at);
        write(to + 8 * at, word);
        at += 1;
    }
}

/// Moves `count` words to a place that may overlap them.
pub(crate) fn move_words(from: usize, to: usize, count: usize) {
    if from < to {
        (0..count).rev().for_each(|i| write(to + 8 * i, read(from + 8 * i)));
    } else {
        copy_few(from, to, count);
    }
}

/// Copies `count` words to a place that does not overlap them.
#[inline(always)]
pub(crate) fn copy(from: usize, to: usize, count: usize) {
    if cfg!(all(test, models)) {
        return copy_few(from, to, count);
    }
    debug_assert!(from + 8 * count <= to || to + 8 * count <= from, "M2: a copy over itself");
    // SAFETY: M2 - both ranges lie inside regions; the caller says that they do not overlap.
    unsafe { std::ptr::copy_nonoverlapping(at(from), at(to), count) }
}

/// Writes words one after the other.
#[inline(always)]
pub(crate) fn write_all(to: usize, words: &[Word]) {
    if cfg!(all(test, models)) {
        return words.iter().enumerate().for_each(|(i, &word)| write(to + 8 * i, word));
    }
    debug_assert!(to & 7 == 0 && to != 0, "M2: no address of the heap");
    // SAFETY: M2 - the range lies inside a region, and no slice does.
    unsafe { std::ptr::copy_nonoverlapping(words.as_ptr(), at(to), words.len()) }
}

#[cfg(not(any(miri, all(test, models))))]
mod backend {
    use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

    /// An anonymous private mapping without reserved swap.
    pub(super) struct Mapping {
        base: usize,
        bytes: usize,
    }

    impl Mapping {
        pub(super) fn new(bytes: usize, align: usize) -> Option<Mapping> {
            let length = bytes.checked_add(align)?;
            let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
            // SAFETY: M1 - a new mapping at an address that the system chooses touches no memory in use.
            let start = unsafe {
                mmap_anonymous(std::ptr::null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, flags)
            };
            let start = start.ok()?;
            let start = start.expose_provenance();
            let base = start.next_multiple_of(align);
            // What alignment did not need counts against the process's limit as well.
            let (before, after) = (base - start, align - (base - start));
            for (from, unused) in [(start, before), (base + bytes, after)] {
                if unused > 0 {
                    // SAFETY: M1 - this part of the new mapping is outside the region that begins to live.
                    let result = unsafe { munmap(std::ptr::with_exposed_provenance_mut(from), unused) };
                    debug_assert!(result.is_ok());
                }
            }
            Some(Mapping { base, bytes })
        }
        pub(super) fn base(&self) -> usize {
            self.base
        }
        pub(super) fn use_large_pages(&self, address: usize, bytes: usize) {
            let pointer = std::ptr::with_exposed_provenance_mut(address);
            // SAFETY: M1 - the range is inside this mapping; the advice changes no contents. A system without such
            // pages refuses it, and does no harm by that.
            let _ = unsafe { madvise(pointer, bytes, Advice::LinuxHugepage) };
        }
        pub(super) fn discard(&self, address: usize, bytes: usize) {
            let pointer = std::ptr::with_exposed_provenance_mut(address);
            // SAFETY: M1 - the range is inside this mapping, whose contents the caller gives up.
            let result = unsafe { madvise(pointer, bytes, Advice::LinuxDontNeed) };
            debug_assert!(result.is_ok());
        }
    }

    impl Drop for Mapping {
        fn drop(&mut self) {
            // SAFETY: M1 - this mapping was made by `new` and nothing refers to it after its owner is gone.
            let result = unsafe { munmap(std::ptr::with_exposed_provenance_mut(self.base), self.bytes) };
            debug_assert!(result.is_ok());
        }
    }
}

#[cfg(miri)]
mod backend {
    use std::alloc::{Layout, alloc_zeroed, dealloc};

    /// A block of the Rust allocator.
    pub(super) struct Mapping {
        start: usize,
        layout: Layout,
    }

    impl Mapping {
        pub(super) fn new(bytes: usize, align: usize) -> Option<Mapping> {
            let layout = Layout::from_size_align(bytes, align).ok()?;
            // SAFETY: M1 - the size is not zero (regions have at least a page).
            let pointer = unsafe { alloc_zeroed(layout) };
            (!pointer.is_null()).then(|| Mapping { start: pointer.expose_provenance(), layout })
        }
        pub(super) fn base(&self) -> usize {
            self.start
        }
        pub(super) fn use_large_pages(&self, _address: usize, _bytes: usize) {}
        pub(super) fn discard(&self, address: usize, bytes: usize) {
            // SAFETY: M1 - the range is inside this block, and the caller gives up what it holds.
            unsafe { std::ptr::write_bytes::<u8>(std::ptr::with_exposed_provenance_mut(address), 0, bytes) }
        }
    }

    impl Drop for Mapping {
        fn drop(&mut self) {
            // SAFETY: M1 - allocated by `new` with this layout.
            unsafe { dealloc(std::ptr::with_exposed_provenance_mut(self.start), self.layout) }
        }
    }
}

#[cfg(all(test, models))]
mod backend {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    /// Addresses without memory: loom has the words. They are used again after 64 TiB, when those that had them are
    /// gone.
    pub(super) struct Mapping {
        base: usize,
    }

    impl Mapping {
        pub(super) fn new(bytes: usize, align: usize) -> Option<Mapping> {
            static NEXT: AtomicUsize = AtomicUsize::new(0);
            let start = NEXT.fetch_add(bytes + 2 * align, Relaxed) % (1 << 46) + (1 << 42);
            Some(Mapping { base: start.next_multiple_of(align) })
        }
        pub(super) fn base(&self) -> usize {
            self.base
        }
        pub(super) fn use_large_pages(&self, _address: usize, _bytes: usize) {}
        pub(super) fn discard(&self, _address: usize, _bytes: usize) {}
    }
}
