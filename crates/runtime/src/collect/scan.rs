//! Scanning grey words (F3, F4).

use super::Collector;
use super::share::Work;
use crate::coordination::schedule::{now, since};
use crate::memory::ranges::{Range, prefetch, read, write};
use crate::memory::tuning::{FETCHED_WORDS_AHEAD, GIVEN_BYTES_MIN, SHARED_WORDS};
use term::Word;
use term::word::{self, Tag};

impl<const MAJOR: bool, const SHARED: bool> Collector<'_, MAJOR, SHARED> {
    /// Evacuates what a slot leads to; true if that is young afterwards.
    #[inline(always)]
    pub(super) fn update(&mut self, slot: usize) -> bool {
        self.update_from(slot, read(slot))
    }
    /// The same, for a slot that was just read: the compiler may not leave out a second reading.
    #[inline(always)]
    pub(super) fn update_from(&mut self, slot: usize, word: Word) -> bool {
        let new = self.evacuate(word);
        self.replace(slot, word, new)
    }
    /// Puts what a slot leads to now into it; true if that is young.
    #[inline(always)]
    fn replace(&self, slot: usize, word: Word, new: Word) -> bool {
        if new != word {
            write(slot, new);
        }
        !new.is_immediate() && new.tag() != Tag::Header && self.is_young(new.address())
    }
    /// Scans grey words (F4). Words outside the young region that lead into it are remembered.
    pub(super) fn scan<const OLD: bool>(&mut self, mut at: usize, end: usize) -> usize {
        while at < end {
            let word = read(at);
            // What is met soon should be on its way; a claim (F6) even waits for all loads before it. What lies
            // behind the end is still in the region, and may be anything.
            prefetch(read(at + 8 * FETCHED_WORDS_AHEAD));
            if word.tag() == Tag::Header {
                debug_assert!(!word.is_forwarding(), "F4: a copy has no forwarding words");
                if word::header_is_object(word) {
                    at += self.scan_object::<OLD>(at, word);
                }
            } else {
                self.scan_word::<OLD>(at, word, end);
            }
            at += 8;
        }
        at
    }
    /// Scans an object if only a part of it is tagged. Answers the bytes to pass over.
    fn scan_object<const OLD: bool>(&mut self, object: usize, header: Word) -> usize {
        let tagged = self.tagged_words[word::header_class(header).0 as usize];
        let size = word::header_size(header);
        if tagged >= size {
            return 0;
        }
        let end = object + 8 * (1 + tagged);
        for at in (object + 8..end).step_by(8) {
            self.scan_word::<OLD>(at, read(at), end);
        }
        8 * size
    }
    /// Scans a grey word that is no header, in a range that ends there.
    #[inline(always)]
    fn scan_word<const OLD: bool>(&mut self, at: usize, word: Word, end: usize) {
        if word.is_immediate() {
            return;
        }
        let address = word.address();
        match word.tag() {
            // A list that was copied in a row goes on there: what it leads to is as old as it is.
            Tag::Cons if address == at + 8 && at + 8 < end => {}
            Tag::Cons if self.in_from(address) => {
                let new = self.evacuate_list(address);
                write(at, new);
                self.remember_young::<OLD>(at, new);
            }
            Tag::Struct if self.in_from(address) => {
                let new = self.evacuate_structure(address);
                write(at, new);
                self.remember_young::<OLD>(at, new);
            }
            Tag::Cons => self.remember_young::<OLD>(at, word),
            Tag::Struct => {
                self.mark_if_large(address);
                self.remember_young::<OLD>(at, word);
            }
            _ => {
                let new = self.evacuate_other(word);
                if self.replace(at, word, new) && OLD {
                    self.remembered.push(at);
                }
            }
        }
    }
    /// An old word that leads to something young is remembered.
    #[inline(always)]
    fn remember_young<const OLD: bool>(&mut self, at: usize, word: Word) {
        if OLD && self.is_young(word.address()) {
            self.remembered.push(at);
        }
    }
    /// Scans a range; with several collectors in pieces, so that a long one can be given away. A range may be cut
    /// anywhere but inside an object with raw words: that is, where a scan has stopped.
    pub(super) fn scan_range(&mut self, mut range: Range) {
        debug_assert!(range.start <= range.end && range.start.is_multiple_of(8), "F3: {range:?}");
        let old = !self.is_young(range.start);
        while range.start < range.end {
            let piece = if SHARED { range.end.min(range.start + 8 * SHARED_WORDS) } else { range.end };
            let start = range.start;
            range.start =
                if old { self.scan::<true>(start, piece) } else { self.scan::<false>(start, piece) };
            if SHARED {
                self.scanned += (range.start - start) / 8;
            }
            if self.somebody_searches() {
                self.give_grey();
                if range.end - range.start >= GIVEN_BYTES_MIN {
                    self.give(Work::Grey(range));
                    return;
                }
                if let Some(other) = self.new_grey(GIVEN_BYTES_MIN) {
                    self.give(Work::Grey(other));
                }
            }
        }
    }
    /// Takes a grey range of its own.
    #[inline(always)]
    pub(super) fn own_grey(&mut self) -> Option<Range> {
        self.new_grey(8).or_else(|| self.grey.pop())
    }
    /// Takes what it has copied since it looked last to one of the two spaces, if that is this number of bytes.
    #[inline(always)]
    fn new_grey(&mut self, least: usize) -> Option<Range> {
        if self.survivor_scan + least <= self.survivor_top {
            let range = Range { start: self.survivor_scan, end: self.survivor_top };
            self.survivor_scan = range.end;
            Some(range)
        } else if self.old_scan + least <= self.old.start {
            let range = Range { start: self.old_scan, end: self.old.start };
            self.old_scan = range.end;
            Some(range)
        } else {
            None
        }
    }
    /// Scans until nothing of its own is grey.
    pub(super) fn trace_own(&mut self) {
        while let Some(range) = self.own_grey() {
            self.scan_range(range);
        }
    }
    /// Scans until nothing is grey, neither of its own nor of others.
    pub(super) fn trace(&mut self) {
        self.trace_own();
        while SHARED && let Some(work) = self.search() {
            self.begin(work);
            self.trace_own();
        }
    }
    fn search(&mut self) -> Option<Work> {
        let begin = now();
        let work = self.common.pool.search();
        self.out_of_work += since(begin);
        work
    }
}
