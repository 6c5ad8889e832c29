//! Work that collectors give to each other (F3, F7).
//!
//! Each collector keeps what it finds. When it sees that somebody is out of work (a look at two numbers, every few
//! hundred words), it puts work into the pool: grey words that it would have scanned later, half of what is left of a
//! root list, or a place further on in the list that it is copying. A collector that is out of work takes from the
//! pool, and is done when everybody is out of work.

use super::Collector;
use crate::coordination::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::coordination::sync::{Mutex, lock};
use crate::memory::ranges::{Range, pointer, prefetch};
use crate::memory::tuning::{
    CONSES_AHEAD, FETCHED_ROOTS_AHEAD, GIVEN_FROM_WORDS, LOOKS_FOR_WORK, SHARED_ROOTS,
};
use term::word::Tag;

#[cfg(test)]
#[path = "share_tests.rs"]
mod tests;

/// Work that any collector can do.
#[derive(Debug)]
pub(super) enum Work {
    /// Grey words (F3).
    Grey(Range),
    /// The part of a list that begins `ahead` conses behind `from` (F7).
    List { from: usize, ahead: usize },
    /// Words that a worker holds outside the heap: those of its goal stack, if its number is given.
    Goals { words: Range, stack_of: Option<usize> },
    /// Records of goals that wait, of this worker.
    Records { of: usize, records: Vec<usize> },
    /// Remembered words.
    Slots(Vec<usize>),
}

/// What collectors share to give each other work. Apart from what they only read: it is written while they run.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Pool {
    content: Mutex<Content>,
    /// Works in the pool, and collectors that are out of work. Relaxed: hints.
    pooled: AtomicUsize,
    searching: AtomicUsize,
    /// Everybody was out of work. Release and Acquire: whoever sees it sees all copies.
    over: AtomicBool,
    #[cfg(test)]
    step: tests::Step,
}

#[derive(Debug, Default)]
struct Content {
    works: Vec<Work>,
    /// Collectors that take part, and those of them that have come to the end and not found work since.
    collectors: usize,
    done: usize,
}

impl Pool {
    /// One collector more. It takes roots afterwards only: so when those that joined are done, all roots are.
    pub(super) fn join(&self) {
        lock(&self.content).collectors += 1;
    }
    /// Collectors out of work for which there is nothing in the pool.
    #[inline(always)]
    pub(super) fn hungry(&self) -> usize {
        #[cfg(test)]
        self.step.take();
        let searching = self.searching.load(Ordering::Relaxed);
        searching.saturating_sub(self.pooled.load(Ordering::Relaxed))
    }
    pub(super) fn give(&self, work: Work) {
        let mut content = lock(&self.content);
        debug_assert!(content.done < content.collectors, "whoever gives work is at work");
        content.works.push(work);
        self.pooled.store(content.works.len(), Ordering::Relaxed);
    }
    /// Work of others; `None` when everybody has come to the end. A collector that joins later has nothing to do.
    pub(super) fn search(&self) -> Option<Work> {
        self.searching.fetch_add(1, Ordering::Relaxed);
        let mut waits = false;
        let found = loop {
            let mut content = lock(&self.content);
            if let Some(work) = content.works.pop() {
                self.pooled.store(content.works.len(), Ordering::Relaxed);
                content.done -= usize::from(waits);
                break Some(work);
            }
            content.done += usize::from(!waits);
            waits = true;
            debug_assert!(content.done <= content.collectors, "a collector that has not joined");
            if content.done == content.collectors {
                self.over.store(true, Ordering::Release);
            }
            drop(content);
            let mut looks = 0;
            while self.pooled.load(Ordering::Relaxed) == 0 && !self.over.load(Ordering::Acquire) {
                #[cfg(test)]
                self.step.take();
                looks += 1;
                if looks % LOOKS_FOR_WORK == 0 {
                    crate::coordination::sync::yield_now();
                } else {
                    crate::coordination::sync::spin_loop();
                }
            }
            if self.over.load(Ordering::Acquire) {
                break None;
            }
        };
        self.searching.fetch_sub(1, Ordering::Relaxed);
        #[cfg(test)]
        found.is_none().then(|| self.step.leave());
        found
    }
}

impl<const MAJOR: bool, const SHARED: bool> Collector<'_, MAJOR, SHARED> {
    /// True if somebody is out of work and the pool has nothing for it.
    #[inline(always)]
    pub(super) fn somebody_searches(&self) -> bool {
        self.searching() > 0
    }
    /// How many are out of work, as far as it matters to this collector.
    #[inline(always)]
    fn searching(&self) -> usize {
        if SHARED && self.words() >= GIVEN_FROM_WORDS { self.common.pool.hungry() } else { 0 }
    }
    pub(super) fn give(&self, work: Work) {
        self.common.pool.give(work);
    }
    /// Begins work of another collector.
    #[cold]
    pub(super) fn begin(&mut self, work: Work) {
        match work {
            Work::Grey(range) => self.grey.push(range),
            Work::List { from, ahead } => self.list_ahead(from, ahead),
            Work::Goals { words, stack_of } => self.goals(words, stack_of),
            Work::Records { of, records } => self.records_of(of, records),
            Work::Slots(slots) => self.slots(&slots),
        }
    }
    /// Gives the older half of its further grey ranges.
    pub(super) fn give_grey(&mut self) {
        let half = self.grey.len().div_ceil(2);
        for range in self.grey.drain(..half) {
            self.common.pool.give(Work::Grey(range));
        }
    }
    /// Goes through a list of roots, unless others want some.
    #[inline(always)]
    pub(super) fn in_pieces(
        &mut self,
        mut roots: &[usize],
        work: impl Fn(Vec<usize>) -> Work,
        mut each: impl FnMut(&mut Self, usize),
    ) {
        while !roots.is_empty() {
            let (piece, rest) =
                roots.split_at(if SHARED { roots.len().min(SHARED_ROOTS) } else { roots.len() });
            for (i, &root) in piece.iter().enumerate() {
                if let Some(&later) = roots.get(i + FETCHED_ROOTS_AHEAD) {
                    prefetch(pointer(Tag::Ref, later));
                }
                each(self, root);
            }
            roots = rest;
            if rest.len() > SHARED_ROOTS && self.somebody_searches() {
                let (near, far) = rest.split_at(rest.len() / 2);
                self.give(work(far.to_vec()));
                roots = near;
            }
        }
    }
    /// In the middle of a long list whose last copied cons is `last`; `next` is the one behind it. What was copied
    /// before may be scanned by others, and others may copy further on in the list.
    #[cold]
    pub(super) fn share_list(&mut self, last: usize, next: Option<usize>) {
        let hungry = self.searching();
        if hungry == 0 {
            return;
        }
        let scan = if (self.survivor_scan..self.survivor_top).contains(&last) {
            &mut self.survivor_scan
        } else {
            &mut self.old_scan
        };
        let start = std::mem::replace(scan, last);
        debug_assert!(start <= last, "F3: the last copy was scanned");
        if start < last {
            self.give(Work::Grey(Range { start, end: last }));
        }
        self.give_grey();
        // Last, so that these are taken first.
        for number in (1..=hungry).rev() {
            next.into_iter().for_each(|from| self.give(Work::List { from, ahead: number * CONSES_AHEAD }));
        }
    }
}
