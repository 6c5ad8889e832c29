//! How much a worker may allocate until the heap limit is reached, and how it asks for a collection. What the limit
//! bounds says `collect::room`.

use crate::memory::tuning::{LARGE_WORDS, ROOT_BYTES};
use crate::reports::outcome::{ErrorKind, ProgramError};
use crate::worker::Worker;
use std::sync::atomic::Ordering::Relaxed;
use term::abi::SLACK_WORDS;

impl Worker {
    /// The same as `ensure` for what is going to be made in the heap and nowhere else: a few words are at hand, most
    /// often, as they are for the reductions of generated code.
    #[inline(always)]
    pub(crate) fn ensure_young(&mut self, words: usize) -> Result<(), Box<ProgramError>> {
        if self.is_at_hand(words) { Ok(()) } else { self.ensure(words) }
    }
    /// Whether a few words are there without asking; not if the worker's attention is wanted.
    #[inline(always)]
    pub(crate) fn is_at_hand(&self, words: usize) -> bool {
        words <= SLACK_WORDS && self.abi.heap as usize + 8 * words <= self.abi.limit()
    }
    /// Whether `words` more words may be allocated at once; the error says why not. Builtins ask before they make an
    /// object whose size a program chooses. Nobody else is promised the same room.
    pub(crate) fn ensure(&mut self, words: usize) -> Result<(), Box<ProgramError>> {
        self.heap.settle_promise(usize::MAX);
        let bytes = words.saturating_mul(8);
        if bytes <= self.room() {
            if words <= LARGE_WORDS {
                return Ok(());
            }
            let by_others = self.heap.promise(bytes);
            if self.bytes_in_use() + by_others + bytes <= self.heap.spaces.bytes_max() {
                return Ok(());
            }
            self.heap.settle_promise(bytes);
        }
        self.wanted.refuse(bytes <= self.heap.spaces.bytes_max());
        let limit = self.heap.spaces.bytes_max() >> 20;
        let message = format!("an object of {words} words does not fit into the heap limit of {limit} MiB");
        Err(ProgramError::new(ErrorKind::HeapLimit, message))
    }
    /// The heap limit, in bytes.
    pub(crate) fn heap_limit(&self) -> usize {
        self.heap.spaces.bytes_max()
    }
    /// Bytes that are left until the heap limit is reached.
    pub(crate) fn room(&self) -> usize {
        let spaces = &self.heap.spaces;
        spaces.bytes_max().saturating_sub(self.bytes_in_use() + spaces.promised())
    }
    /// Bytes that count against the heap limit at once.
    pub(crate) fn bytes_in_use(&self) -> usize {
        self.heap_bytes() + self.shared.goal_bytes.load(Relaxed)
    }
    /// The same, for an error.
    pub(crate) fn mebibytes_in_use(&self) -> usize {
        self.bytes_in_use().div_ceil(1 << 20)
    }
    /// Bytes of the heap outside the young regions, and of what the node keeps beside the heap because the program
    /// wants it kept.
    pub(crate) fn heap_bytes(&self) -> usize {
        let kept = self.shared.kept.load(Relaxed) + self.shared.under_way.load(Relaxed);
        let kept = kept + self.roots.words().len() * ROOT_BYTES;
        self.heap.spaces.old_bytes() + self.atoms.bytes() + kept + self.abroad.bytes()
    }
    /// Bytes of its nursery in use.
    pub(crate) fn nursery_used(&self) -> usize {
        debug_assert!(
            self.abi.heap as usize <= self.heap.nursery_end() + 8 * SLACK_WORDS,
            "G1: beyond a nursery"
        );
        self.abi.heap as usize - self.heap.nursery()
    }
    /// Whether an address is one of this node's heap or of its constants.
    #[inline]
    pub(crate) fn owns(&self, address: usize) -> bool {
        self.heap.spaces.contains(address) || self.constants.iter().any(|range| range.contains(address))
    }
    /// Makes the next collection a major one, and soon.
    pub(crate) fn collect_soon(&mut self) {
        self.wanted.be_major();
        self.wanted.collect();
        self.abi.want_attention();
    }
}
