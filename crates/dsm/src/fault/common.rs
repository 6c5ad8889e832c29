//! Memory that all nodes of a process, or of a host, have in common: nothing faults, and no page travels. A message
//! between two nodes is a release and an acquire.

use super::Mapping;
use super::mapping::{Words, memory};
use crate::{Use, View, WORD};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that get memory at a time.
const PAGE_BYTES: usize = 64 << 10;
/// What is given out begins at a multiple of this number of words, a line of the processor's caches.
const LINE_WORDS: usize = 8;

/// A part of the address space, of which words are given out; only these take memory.
#[derive(Debug)]
pub struct Common {
    mapping: Mapping,
    words: Words,
}

// SAFETY: M1 of `mapping` - all access to the words is atomic, but for uses of programs without races; the mapping
// itself is only read after it was made.
unsafe impl Send for Common {}
// SAFETY: M1 of `mapping` - as for `Send`: threads share atomic words.
unsafe impl Sync for Common {}

impl Common {
    /// Room for `bytes` bytes, for the nodes of this process. An error if the system refuses the address space.
    pub fn new(bytes: usize) -> io::Result<Common> {
        Common::of(memory(bytes)?, bytes)
    }
    /// The memory of a file of `bytes` bytes, all zeros at first, which other processes may have, too.
    pub fn of(file: OwnedFd, bytes: usize) -> io::Result<Common> {
        let mapping = Mapping::open_to_all(file, bytes / PAGE_BYTES, PAGE_BYTES)?;
        let words = mapping.words();
        Ok(Common { mapping, words })
    }
    /// The file, which another process may have mapped, too ([`Common::of`], with as many bytes).
    pub fn file(&self) -> BorrowedFd<'_> {
        self.mapping.file()
    }
    /// How many words there may be at most. Some of them are never given out.
    pub fn words(&self) -> usize {
        self.words.len()
    }
    /// Gives out so many words, which are 0, as long as there are any: the number of the first. An error of the kind
    /// `OutOfMemory` if the system has no memory for them, or none are left.
    pub fn allocate(&self, words: usize) -> io::Result<usize> {
        let full = || io::Error::from(io::ErrorKind::OutOfMemory);
        let size = words.max(1).checked_next_multiple_of(LINE_WORDS).ok_or_else(full)? as u64;
        // The first line counts the words that were given out.
        let used = self.words.word(0);
        let room = (self.words.len() - LINE_WORDS) as u64;
        let grow = |used: u64| used.checked_add(size).filter(|&end| end <= room);
        let before = used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grow).map_err(|_| full())?;
        let (first, end) = (before as usize + LINE_WORDS, (before + size) as usize + LINE_WORDS);
        debug_assert!(first.is_multiple_of(LINE_WORDS) && end <= self.words.len(), "M1: word {first}");
        if let Err(error) = self.reserve(first, end - first) {
            // Unless others have got some meanwhile.
            let _ = used.compare_exchange(before + size, before, Ordering::Relaxed, Ordering::Relaxed);
            return Err(error);
        }
        Ok(first)
    }
    /// Whether all these words were given out.
    pub fn gave_out(&self, first: usize, words: usize) -> bool {
        let end = self.words.word(0).load(Ordering::Relaxed) as usize + LINE_WORDS;
        first >= LINE_WORDS && first.checked_add(words).is_some_and(|last| last <= end)
    }
    /// Gives these words memory, wherever they are. An error of the kind `OutOfMemory` if there is none.
    pub(crate) fn reserve(&self, first: usize, words: usize) -> io::Result<()> {
        debug_assert!(first + words <= self.words.len(), "M1: {words} words from {first} on");
        let pages = first * WORD / PAGE_BYTES..((first + words) * WORD).div_ceil(PAGE_BYTES);
        self.mapping.reserve(&pages)
    }
    /// A word. One beyond the end is a mistake of the caller's: panics.
    pub fn word(&self, number: usize) -> &AtomicU64 {
        self.words.word(number)
    }
    /// The words of these uses, in their order: see [`Memory::with`](crate::Memory::with). What one of them writes must
    /// not overlap another: panics.
    pub fn with<R>(&self, uses: &[Use], f: impl FnOnce(&mut [View<'_>]) -> R) -> R {
        let mut words = self.words;
        f(&mut words.views(uses))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn words_are_given_out_once_and_are_zeros() {
        let common = Common::new(1 << 20).unwrap();
        let [a, b] = [3, 70_000].map(|words| common.allocate(words).unwrap());
        assert!(a >= LINE_WORDS && a + 3 <= b && b.is_multiple_of(LINE_WORDS));
        assert!(common.gave_out(a, 3) && common.gave_out(b, 70_000));
        assert!(
            [(0, 8), (a, usize::MAX), (b, 80_000)]
                .iter()
                .all(|&(first, words)| !common.gave_out(first, words))
        );
        assert!((b..b + 70_000).all(|number| common.word(number).load(Relaxed) == 0));
        common.with(&[Use::write(b, 2), Use::read(a, 3), Use::read(a + 1, 2)], |views| views[0][1] = 1.5);
        assert_eq!(f64::from_bits(common.word(b + 1).load(Relaxed)), 1.5);
        for words in [70_000, usize::MAX] {
            let error = common.allocate(words).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::OutOfMemory, "{words}");
        }
        assert!(common.allocate(1).is_ok());
    }

    #[test]
    #[should_panic = "overlaps"]
    fn what_is_written_has_one_use() {
        let common = Common::new(1 << 20).unwrap();
        common.with(&[Use::read(16, 8), Use::write(20, 1)], |_| ());
    }
}
