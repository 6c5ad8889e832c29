//! Scanning grey words, and sharing them between collectors (F3, F4).

use super::{Collector, SHARED_WORDS, lock};
use crate::heap::Range;
use crate::memory::{read, write};
use std::sync::atomic::Ordering;
use std::time::Instant;
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
        if new != word {
            write(slot, new);
        }
        !new.is_immediate() && new.tag() != Tag::Header && self.is_young(new.address())
    }
    /// Scans grey words (F4). Words outside the young region that lead into it are remembered.
    pub(super) fn scan<const OLD: bool>(&mut self, mut at: usize, end: usize) -> usize {
        while at < end {
            let word = read(at);
            match word.tag() {
                Tag::Int | Tag::Atom => {}
                Tag::Header => {
                    if word::header_is_object(word) {
                        let tagged = self.tagged_words[word::header_class(word).0 as usize];
                        let size = word::header_size(word);
                        if tagged < size {
                            for i in 1..=tagged {
                                let young = self.update(at + 8 * i);
                                if OLD && young {
                                    self.remembered.push(at + 8 * i);
                                }
                            }
                            at += 8 * size;
                        }
                    }
                }
                _ => {
                    let young = self.update_from(at, word);
                    if OLD && young {
                        self.remembered.push(at);
                    }
                }
            }
            at += 8;
        }
        at
    }
    /// Scans a range; with several collectors in pieces, so that a long one can be given away. A range may be cut anywhere
    /// but inside an object with raw words: that is, where a scan has stopped.
    pub(super) fn scan_range(&mut self, mut range: Range) {
        let old = !self.is_young(range.start);
        while range.start < range.end {
            let piece = if SHARED { range.end.min(range.start + 8 * SHARED_WORDS) } else { range.end };
            range.start = if old {
                self.scan::<true>(range.start, piece)
            } else {
                self.scan::<false>(range.start, piece)
            };
            if SHARED && self.somebody_searches() {
                if range.start < range.end {
                    self.give(range);
                    return;
                }
                if let Some(other) = self.own_grey() {
                    self.give(other);
                }
            }
        }
    }
    /// Takes a grey range of its own.
    #[inline(always)]
    pub(super) fn own_grey(&mut self) -> Option<Range> {
        if self.survivor_scan < self.survivor_top {
            let range = Range { start: self.survivor_scan, end: self.survivor_top };
            self.survivor_scan = range.end;
            Some(range)
        } else if self.old_scan < self.old.start {
            let range = Range { start: self.old_scan, end: self.old.start };
            self.old_scan = range.end;
            Some(range)
        } else {
            self.grey.pop()
        }
    }
    /// Scans until nothing is grey, neither of its own nor of others.
    pub(super) fn trace(&mut self) {
        loop {
            while let Some(range) = self.own_grey() {
                self.scan_range(range);
            }
            if !SHARED || !self.search() {
                return;
            }
        }
    }

    // ---- several collectors ----------------------------------------------------------------------

    /// True if somebody is out of work and the pool has nothing for it. Relaxed: a hint.
    #[inline(always)]
    pub(super) fn somebody_searches(&self) -> bool {
        self.common.searching.load(Ordering::Relaxed) > self.common.pooled.load(Ordering::Relaxed)
    }
    pub(super) fn give(&self, range: Range) {
        self.common.pooled.fetch_add(1, Ordering::Relaxed);
        lock(&self.common.pool).ranges.push(range);
    }
    /// In the middle of a long list: what was copied before its cons at `last` may be scanned by others.
    #[cold]
    pub(super) fn share_until(&mut self, last: usize) {
        if !self.somebody_searches() {
            return;
        }
        let scan = if (self.survivor_scan..self.survivor_top).contains(&last) {
            &mut self.survivor_scan
        } else {
            &mut self.old_scan
        };
        let range = Range { start: std::mem::replace(scan, last), end: last };
        self.give(range);
        while let Some(range) = self.grey.pop() {
            self.give(range);
        }
    }
    /// Out of work: takes a grey range of others. False when everybody has come to the end of this trace. (Who joins later has
    /// nothing to do in it.)
    #[cold]
    pub(super) fn search(&mut self) -> bool {
        let begin = Instant::now();
        self.common.searching.fetch_add(1, Ordering::Relaxed);
        let mut waits = false;
        let found = loop {
            let mut pool = lock(&self.common.pool);
            if let Some(range) = pool.ranges.pop() {
                pool.done[self.trace] -= usize::from(waits);
                self.common.pooled.fetch_sub(1, Ordering::Relaxed);
                break Some(range);
            }
            pool.done[self.trace] += usize::from(!waits);
            waits = true;
            if pool.done[self.trace] == pool.collectors {
                break None;
            }
            drop(pool);
            let mut looks = 0u32;
            while self.common.pooled.load(Ordering::Relaxed) == 0 && looks < 200 {
                std::hint::spin_loop();
                looks += 1;
            }
            if looks == 200 {
                std::thread::yield_now();
            }
        };
        self.common.searching.fetch_sub(1, Ordering::Relaxed);
        self.out_of_work += begin.elapsed();
        self.grey.extend(found);
        found.is_some()
    }
}
