//! Ready goals that a worker can do without: which they are, and taking them out of the goal stack or a bucket.
//!
//! Invariants (B2 and B3 are those of `balance`):
//! - B1 What is given away are the oldest goals of the highest priority that has any to spare: they lie at the bottom of the top
//!   segment, or first in a bucket, and are usually the largest. The goal on top of the stack stays, and so does one that
//!   would wait at once.
//! - B4 A goal of the top segment is given away only if it was there when the worker last looked. So goals that talk to each other, each
//!   ready for a moment only, stay together: to talk across workers costs a hundred times as much.

use crate::memory::{at, copy, read, write, write_all};
use crate::terms::deref;
use crate::worker::Worker;
use std::ops::Range;
use term::Word;
use term::abi::{BOTTOM, PredicateId};
use term::word::Tag;

/// So many words at the bottom of the top segment are remembered from one look to the next.
const SEEN_WORDS: usize = 256;
/// At most so many goals are looked at.
const LOOKED_AT: usize = 64;

/// Goals that may be given away: address ranges of their records, the oldest first.
pub(crate) enum Surplus {
    /// On the top segment.
    Stack(Vec<Range<usize>>),
    /// In the bucket of this priority; ranges of indices.
    Bucket(i64, Vec<Range<usize>>),
}

/// B4: the bottom of the top segment when the worker last looked.
#[derive(Default)]
pub(crate) struct Seen {
    base: usize,
    words: Vec<Word>,
}

impl Seen {
    /// What it knew is no longer true: a collection moved everything.
    pub(crate) fn forget(&mut self) {
        self.words.clear();
    }
    /// The end of what is as it was; what lies between `base` and `top` now is remembered.
    fn look(&mut self, base: usize, top: usize) -> usize {
        let words = (base..top).step_by(8).take(SEEN_WORDS).map(read);
        let same = if self.base == base {
            words.clone().zip(&self.words).take_while(|(now, then)| now == *then).count()
        } else {
            0
        };
        self.base = base;
        self.words.clear();
        self.words.extend(words);
        base + 8 * same
    }
}

impl Worker {
    /// B1, B4: what may be given to a worker that wants so many goals: not more than half of what there is.
    pub(crate) fn surplus(&mut self, appetite: usize) -> Option<Surplus> {
        let segment = *self.goals.segments.last().expect("the lowest segment stays");
        let top = self.abi.goals as usize;
        // Below a mark nothing was popped since the last collection (P4): a deep stack is looked at from there.
        let mark = self.goals.marks.iter().copied().find(|&mark| mark > segment.base);
        let stable = self.goals.seen.look(segment.base, top).max(mark.unwrap_or(0));
        let mut end = mark.unwrap_or(top);
        let mut starts = Vec::new();
        while end > segment.base {
            end = self.below_top(end);
            starts.push(end);
        }
        let mut ready = Vec::new();
        for (i, &start) in starts.iter().enumerate().rev().take(LOOKED_AT) {
            let end = if i == 0 { mark.unwrap_or(top) } else { starts[i - 1] };
            if end > stable || end == top {
                break;
            }
            let predicate = PredicateId::of_goal_word(read(end - 8));
            if predicate != self.system_goals.mark && !self.would_wait(predicate, |i| read(start + 8 * i)) {
                ready.push(start..end);
            }
        }
        if ready.is_empty() {
            return self.surplus_in_bucket(appetite);
        }
        ready.truncate(appetite.min(ready.len().div_ceil(2)));
        Some(Surplus::Stack(ready))
    }
    fn surplus_in_bucket(&self, appetite: usize) -> Option<Surplus> {
        let priority = self.goals.best()?;
        let bucket = &self.goals.buckets[&priority];
        let mut ready = Vec::new();
        let mut end = bucket.len();
        while end > 0 {
            let predicate = PredicateId::of_goal_word(bucket[end - 1]);
            let start = end - 1 - self.predicates.arity(predicate);
            if !self.would_wait(predicate, |i| bucket[start + i]) {
                ready.push(start..end);
            }
            end = start;
        }
        ready.reverse();
        ready.truncate(appetite.min(ready.len().div_ceil(2)));
        (!ready.is_empty()).then_some(Surplus::Bucket(priority, ready))
    }
    /// True if a goal with these arguments would wait before it does anything.
    fn would_wait(&self, predicate: PredicateId, argument: impl Fn(usize) -> Word) -> bool {
        let unbound = |word: Word| deref(word).tag() == Tag::Ref;
        if predicate == self.system_goals.at_position {
            // A builtin's goal with its place in the text: position, predicate, and its arguments in an object.
            let inner = PredicateId(argument(1).as_int() as u32);
            let arguments = argument(2).address() + 8;
            return self.awaited(inner).any(|i| unbound(read(arguments + 8 * i)));
        }
        self.awaited(predicate).any(|i| unbound(argument(i)))
    }
    fn awaited(&self, predicate: PredicateId) -> impl Iterator<Item = usize> {
        let awaits = self.predicates.get(predicate).awaits;
        (0..64).filter(move |i| awaits >> i & 1 != 0)
    }

    /// Takes what [`Worker::surplus`] has just found: its priority, and its words.
    pub(crate) fn take_surplus(&mut self, surplus: Surplus) -> (i64, Vec<Word>) {
        match surplus {
            Surplus::Stack(ranges) => {
                let priority = self.goals.segments.last().expect("the lowest segment stays").priority;
                (priority, self.take_from_stack(&ranges))
            }
            Surplus::Bucket(priority, ranges) => (priority, self.take_from_bucket(priority, &ranges)),
        }
    }
    /// The records between those that are taken move up to what stays.
    fn take_from_stack(&mut self, ranges: &[Range<usize>]) -> Vec<Word> {
        let segment = *self.goals.segments.last().expect("the lowest segment stays");
        let cut = ranges.last().expect("some are taken").end;
        let words = ranges.iter().flat_map(|range| range.clone().step_by(8).map(read)).collect();
        let mut kept: Vec<Word> = Vec::new();
        let mut from = segment.base;
        for range in ranges {
            kept.extend((from..range.start).step_by(8).map(read));
            from = range.end;
        }
        if self.goals.marks.contains(&segment.base) {
            kept.remove(0);
        }
        let base = cut - 8 * kept.len();
        write_all(base, &kept);
        (segment.base - 8..base - 8).step_by(8).for_each(|slot| write(slot, Word::small(0)));
        write(base - 8, BOTTOM.goal_word());
        self.rebase_segment(cut, base);
        words
    }
    /// The top segment begins at `base` now; nothing above `cut` has changed.
    fn rebase_segment(&mut self, cut: usize, base: usize) {
        let top = self.abi.goals as usize;
        let segment = self.goals.segments.last_mut().expect("the lowest segment stays");
        segment.base = base;
        let floor = segment.floor;
        self.goals.marks.retain(|&mark| mark < floor || mark >= cut);
        // A gap as large as what lies above it is closed, so that the stack does not creep upwards.
        let (from, words) = (base - 8, (top - base) / 8 + 1);
        let down = if from - floor >= 8 * words { from - floor } else { 0 };
        self.goals.clean =
            if self.goals.clean >= cut { self.goals.clean - down } else { self.goals.clean.min(floor) };
        if down > 0 {
            copy(from, floor, words);
            let segment = self.goals.segments.last_mut().expect("the lowest segment stays");
            segment.base = base - down;
            self.abi.goals = at(top - down);
            self.goals.marks.iter_mut().filter(|mark| **mark >= cut).for_each(|mark| *mark -= down);
        }
    }
    fn take_from_bucket(&mut self, priority: i64, ranges: &[Range<usize>]) -> Vec<Word> {
        let bucket = self.goals.buckets.get_mut(&priority).expect("there was surplus");
        let words = ranges.iter().flat_map(|range| bucket[range.clone()].to_vec()).collect();
        for range in ranges.iter().rev() {
            bucket.drain(range.clone());
        }
        if bucket.is_empty() {
            self.goals.forget_bucket(priority);
        }
        words
    }
}
