//! Following terms that may be as deep as memory, or infinite (a cycle of references is a term like any other).
//!
//! Invariant L1: a loop whose length depends on what a program built takes its work from a [`Stack`] or counts with
//! [`Stack::count`]. So whoever presses Ctrl-C ends it, and what it keeps outside the heap stays within the heap limit.

use crate::reports::outcome::{ErrorKind, ProgramError};
use crate::worker::Worker;
use rustc_hash::FxBuildHasher;
use std::hash::{BuildHasher, Hash};

/// Steps after which the worker is asked whether the walk may go on.
pub(crate) const STEPS: usize = if cfg!(miri) { 1 << 8 } else { 1 << 16 };

/// The error of a run that somebody outside ended.
pub(crate) fn interrupted() -> Box<ProgramError> {
    ProgramError::new(ErrorKind::Interrupted, "interrupted")
}

/// What a walk has left to do.
#[derive(Debug)]
pub(crate) struct Stack<T> {
    items: Vec<T>,
    steps: usize,
    rests: usize,
    /// Items that were taken: see `pop_unseen`.
    seen: Vec<Option<T>>,
}

impl<T> Stack<T> {
    pub(crate) fn new() -> Stack<T> {
        Stack { items: Vec::new(), steps: 0, rests: 0, seen: Vec::new() }
    }
    #[inline(always)]
    pub(crate) fn push(&mut self, item: T) {
        self.items.push(item);
    }
    /// Pushes items, the last one on top.
    pub(crate) fn extend(&mut self, items: impl IntoIterator<Item = T>) {
        let before = self.items.len();
        self.items.extend(items);
        self.steps += self.items.len() - before;
    }
    /// The top item; the error ends the walk.
    #[inline(always)]
    pub(crate) fn pop(&mut self, worker: &Worker) -> Result<Option<T>, Box<ProgramError>> {
        self.count(worker)?;
        Ok(self.items.pop())
    }
    /// Counts a step; the error ends the walk.
    #[inline(always)]
    pub(crate) fn count(&mut self, worker: &Worker) -> Result<(), Box<ProgramError>> {
        self.steps += 1;
        if self.steps >= STEPS { self.rest(worker) } else { Ok(()) }
    }
    #[cold]
    fn rest(&mut self, worker: &Worker) -> Result<(), Box<ProgramError>> {
        self.steps = 0;
        self.rests += 1;
        worker.may_go_on(self.items.capacity() * size_of::<T>())
    }
    pub(crate) fn items(&self) -> &[T] {
        &self.items
    }
    pub(crate) fn into_items(self) -> Vec<T> {
        self.items
    }
}

impl<T: Copy + Eq + Hash> Stack<T> {
    /// The top item, for walks where an item that was taken before may be left out. A walk that goes in circles ends,
    /// because after [`STEPS`] items are remembered, each in the one place that its hash names, and left out while
    /// they are there.
    #[inline(always)]
    pub(crate) fn pop_unseen(&mut self, worker: &Worker) -> Result<Option<T>, Box<ProgramError>> {
        loop {
            let Some(item) = self.pop(worker)? else { return Ok(None) };
            if self.rests == 0 || !self.seen_before(item, worker) {
                return Ok(Some(item));
            }
        }
    }
    /// The table has a place for 16 steps, as long as it is small beside the heap: circles may be long.
    #[cold]
    fn seen_before(&mut self, item: T, worker: &Worker) -> bool {
        let places = (self.rests * (STEPS / 16)).next_power_of_two();
        if places > self.seen.len() {
            let bytes = places * size_of::<Option<T>>();
            if bytes <= worker.room() / 8 || self.seen.is_empty() {
                self.seen = vec![None; places];
            }
        }
        let hash = FxBuildHasher.hash_one(item) as usize;
        let place = hash & (self.seen.len() - 1);
        self.seen[place].replace(item) == Some(item)
    }
}

impl Worker {
    /// Whether a walk, or another long stretch of a builtin, that keeps this number of bytes outside the heap may go
    /// on.
    pub(crate) fn may_go_on(&self, bytes: usize) -> Result<(), Box<ProgramError>> {
        if self.is_interrupted() {
            return Err(interrupted());
        }
        if bytes <= self.room() {
            return Ok(());
        }
        let limit = self.heap.spaces.bytes_max() >> 20;
        let message = format!("a builtin would need more than the heap limit of {limit} MiB");
        Err(ProgramError::new(ErrorKind::HeapLimit, message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtins::tests::worker;

    #[test]
    fn a_walk_ends_when_it_keeps_too_much_or_is_interrupted() {
        let worker = worker();
        let mut stack = Stack::new();
        let error = loop {
            stack.extend([0u64; 3]);
            if let Err(error) = stack.pop(worker) {
                break error;
            }
        };
        assert_eq!(error.kind, ErrorKind::HeapLimit);
        assert!(stack.items().len() * 8 > worker.heap.spaces.bytes_max() / 4);
        worker.waker().set_running(true);
        assert!(worker.waker().interrupt());
        let mut stack = Stack::new();
        let error = loop {
            stack.push(());
            if let Err(error) = stack.pop(worker) {
                break error;
            }
        };
        assert_eq!(error.kind, ErrorKind::Interrupted);
    }

    #[test]
    fn circles_end_and_no_item_of_a_short_walk_is_left_out() {
        let worker = worker();
        worker.heap.spaces.set_bytes_max(32 << 20);
        // From each number two ways lead on, so that there are circles of many lengths.
        let mut stack = Stack::new();
        stack.push(0u32);
        while let Some(item) = stack.pop_unseen(worker).expect("it ends") {
            stack.extend([(item * 7 + 1) % 1000, (item + 1) % 1000]);
        }
        let mut stack = Stack::new();
        stack.extend([1; 1000]);
        let mut count = 0;
        while stack.pop_unseen(worker).expect("it ends").is_some() {
            count += 1;
        }
        assert_eq!(count, 1000);
    }
}
