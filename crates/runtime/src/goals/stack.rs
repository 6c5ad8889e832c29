//! Ready goals: the goal stack with its segments, and the buckets of goals for other priorities.
//!
//! The goal stack holds segments of ascending priority, bottom to top; the top segment's priority is the running one.
//! Each segment stands on a BOTTOM record, so that generated code that runs out of goals comes to the scheduler.
//! ```text
//! [BOTTOM] goals of priority 10 .. [BOTTOM] goals of priority 30 ..   <- abi.goals      buckets: 20 -> goals, 5 -> goals
//! ```
//! Invariants:
//! - P1 A goal for another priority than the running one goes into that priority's bucket; if it is a higher one,
//!   `limit` is lowered, so that the next reduction is the bucket's. One that was resumed, and is of a higher one,
//!   becomes a segment at once if there is one worker: messages that cross priorities cost no bucket.
//! - P2 A bucket holds records in the format of the goal stack: taking one means copying it whole.
//! - P4 Words below `clean` lead to nothing young, so minor collections pass over them. A MARK record, a builtin of
//!   no arguments, lies on the stack at each address in `marks`; nothing below the topmost one was popped since it
//!   was pushed, and `clean` is not above it. So a minor collection costs what was pushed since the last one, however
//!   deep the stack is.
//! - P3 Within a priority the last goal pushed runs first, in a bucket as on the stack.
//! - P5 What goals take is counted against the heap limit, in steps: when a worker's stack has grown to `goals_limit`,
//!   and each time that as many words went into its buckets (and what new buckets take), so that to push a goal costs
//!   nothing more. What went into buckets is added to what they took; all of them are looked at after as many words as
//!   there are buckets. A worker that counts and finds the limit passed asks for a major collection, which gives back
//!   what is not needed, and decides.

use crate::goals::abroad::OUTWARD;
use crate::goals::shoen::is_lane;
use crate::goals::state::{
    BOTTOM_BYTES, BUCKET_BYTES, Choice, Gap, Goals, Key, NO_PRIORITY, SPARE_WORDS, STEP_BYTES, Segment, Turns,
};
use crate::memory::ranges::{at, copy_few, read, write, write_all};
use crate::reports::outcome::{ErrorKind, ProgramError};
use crate::worker::all::Shared;
use crate::worker::{PRIORITY_MAX, PRIORITY_START, Worker};
use std::sync::atomic::Ordering::Relaxed;
use term::Word;
use term::abi::{BOTTOM, GOAL_SLACK_WORDS, PredicateId};

/// Words of goals above the last mark from which on a collection makes a new one.
const MARK_WORDS: usize = if cfg!(test) { 4 } else { 4096 };

/// The error when memory or addresses are used up before the heap limit is reached (`ulimit -v`).
#[cold]
fn no_room(shared: &Shared) -> Box<ProgramError> {
    let mebibytes = shared.goal_bytes.load(Relaxed).div_ceil(1 << 20);
    let message = format!(
        "the system refuses more memory for goals: {mebibytes} MiB are in use by those that are ready"
    );
    ProgramError::new(ErrorKind::HeapLimit, message)
}

impl Worker {
    /// The priority of the running goal.
    pub(crate) fn priority(&self) -> i64 {
        self.goals.rank
    }

    /// Pushes a goal: it runs at the current priority after the running builtin, before goals that were pushed earlier
    /// (push the goal that is to run first last).
    pub(crate) fn spawn(&mut self, predicate: PredicateId, args: &[Word]) {
        debug_assert_eq!(self.predicates.get(predicate).arity as usize, args.len());
        let top = self.abi.goals as usize;
        if top > self.abi.goals_limit && !self.has_room(args.len()) {
            return;
        }
        write_all(top, args);
        write(top + 8 * args.len(), predicate.goal_word());
        self.abi.goals = at(top + 8 * (args.len() + 1));
    }
    /// A goal for a priority (clamped to `0..=`[`PRIORITY_MAX`]); among goals of one priority the last pushed runs
    /// first.
    pub(crate) fn spawn_at(&mut self, priority: i64, predicate: PredicateId, args: &[Word]) {
        let lane = self.lane_at(priority.clamp(0, PRIORITY_MAX));
        self.spawn_at_lane(lane, predicate, args);
    }
    /// The same for a priority or lane (X11 of `shoen`).
    pub(crate) fn spawn_at_lane(&mut self, lane: i64, predicate: PredicateId, args: &[Word]) {
        if lane == self.abi.priority {
            return self.spawn(predicate, args);
        }
        let Some(bucket) = self.beside(lane, args.len() + 1) else { return };
        bucket.extend_from_slice(args);
        bucket.push(predicate.goal_word());
    }
    /// Where goals go of another lane than the running one, with room for this number of words; `None` as of `bucket`.
    pub(super) fn beside(&mut self, lane: i64, words: usize) -> Option<&mut Vec<Word>> {
        if self.is_dead(lane) {
            return None;
        }
        let rank = self.rank(lane);
        if rank != self.goals.rank || lane == self.abi.priority {
            return self.bucket((rank, lane), words);
        }
        self.gain(lane);
        self.count_beside_new(words);
        self.abi.want_attention();
        let bucket = self.goals.spare.pop().unwrap_or_default();
        self.goals.entering.push((lane, bucket));
        self.goals.entering.last_mut().map(|(_, bucket)| bucket)
    }
    /// P5: words are going to be put beside the stack.
    fn count_beside_new(&mut self, words: usize) {
        self.goals.beside_new += words;
        if self.goals.beside_new >= self.goals.beside_next {
            if self.goals.beside_new >= self.goals.beside_step {
                self.goals.count_beside();
            } else {
                self.goals.beside_next = self.goals.beside_new + STEP_BYTES / 8;
            }
            self.count_goals();
        }
    }
    /// A bucket with room for this number of words; `None` if the system refuses it, and then the program ends at the
    /// next reduction.
    fn bucket(&mut self, key: Key, words: usize) -> Option<&mut Vec<Word>> {
        let (rank, lane) = key;
        if rank > self.goals.rank {
            self.abi.want_attention();
        }
        if is_lane(lane) && !self.goals.buckets.contains_key(&key) {
            self.gain(lane);
        }
        self.count_beside_new(words);
        let Goals { buckets, spare, best, beside_new, .. } = &mut self.goals;
        *best = rank.max(*best);
        let bucket = buckets.entry(key).or_insert_with(|| {
            *beside_new += BUCKET_BYTES / 8;
            spare.pop().unwrap_or_default()
        });
        if bucket.try_reserve(words).is_ok() {
            return Some(bucket);
        }
        self.ending.fail(no_room(&self.shared));
        self.abi.want_attention();
        None
    }
    /// Pushes the goal of a record that was resumed: `args` is the address of `arity` words. Between reductions only.
    #[inline(always)]
    pub(crate) fn push_record(&mut self, priority: i64, goal_word: Word, args: usize, arity: usize) {
        if priority != self.abi.priority {
            return self.push_elsewhere(priority, goal_word, args, arity);
        }
        if self.abi.goals as usize <= self.abi.goals_limit || self.has_room(arity) {
            self.push_words(goal_word, args, arity);
        }
    }
    /// Pushes a record's goal of the running priority; there is room for it.
    #[inline(always)]
    pub(crate) fn push_words(&mut self, goal_word: Word, args: usize, arity: usize) {
        let top = self.abi.goals as usize;
        debug_assert_eq!(self.predicates.arity(PredicateId::of_goal_word(goal_word)), arity, "P2");
        copy_few(args, top, arity);
        write(top + 8 * arity, goal_word);
        self.abi.goals = at(top + 8 * (arity + 1));
    }
    #[cold]
    fn push_elsewhere(&mut self, priority: i64, goal_word: Word, args: usize, arity: usize) {
        let Some(rank) = self.claim_elsewhere(priority) else { return };
        if priority == OUTWARD {
            return self.resumed_outward(goal_word, args);
        }
        if self.is_single() && rank >= self.goals.rank && self.has_room(arity + 1) {
            // The place is the segment's.
            self.begin_segment_held((rank, priority));
            return self.push_words(goal_word, args, arity);
        }
        self.put_beside(priority, goal_word, args, arity);
        self.lose(priority);
    }
    /// P1: a goal for another priority: `args` is the address of `arity` words.
    #[cold]
    pub(crate) fn put_beside(&mut self, lane: i64, goal_word: Word, args: usize, arity: usize) {
        let Some(bucket) = self.beside(lane, arity + 1) else { return };
        bucket.extend((0..arity).map(|i| read(args + 8 * i)));
        bucket.push(goal_word);
    }
    /// True if a bucket's goals come before those on the stack.
    #[inline(always)]
    pub(crate) fn wants_other_priority(&self) -> bool {
        self.goals.best > self.goals.rank
    }
    /// P1: if a bucket has a higher priority than the running one, its goals become the top segment. X11 of `shoen`:
    /// what was to come on top does.
    #[inline(always)]
    pub(crate) fn switch_priority(&mut self) {
        if !self.goals.entering.is_empty() {
            self.enter_all();
        }
        if self.wants_other_priority() {
            self.interrupt_segment();
        }
    }
    fn interrupt_segment(&mut self) {
        let Some(key) = self.goals.best_bucket() else { return };
        debug_assert!(key.0 > self.goals.rank, "P1: segments are of ascending priority");
        self.begin_segment(key);
        self.fill_segment(key, self.abi.goals as usize);
    }
    #[cold]
    fn enter_all(&mut self) {
        for (lane, mut words) in std::mem::take(&mut self.goals.entering) {
            let rank = self.rank(lane);
            if rank < self.goals.rank {
                if let Some(bucket) = self.bucket((rank, lane), words.len()) {
                    bucket.append(&mut words);
                }
            } else if self.has_room(words.len() + 1) {
                if lane != self.abi.priority {
                    self.begin_segment((rank, lane));
                }
                let top = self.abi.goals as usize;
                write_all(top, &words);
                self.abi.goals = at(top + 8 * words.len());
            }
            self.spare(words);
            self.lose(lane);
        }
    }
    /// A bucket is empty, or may be.
    fn spare(&mut self, mut words: Vec<Word>) {
        if self.goals.spare.len() < 64 && words.capacity() <= SPARE_WORDS {
            words.clear();
            self.goals.spare.push(words);
        }
    }
    /// A segment without goals, on top of the others.
    fn begin_segment(&mut self, key: Key) {
        self.gain(key.1);
        self.begin_segment_held(key);
    }
    /// The same of a lane that has a place more already (X12 of `shoen`).
    fn begin_segment_held(&mut self, (rank, lane): Key) {
        debug_assert!(rank >= self.goals.top_segment().rank, "P1: segments are of ascending rank");
        let floor = self.abi.goals as usize;
        write(floor, BOTTOM.goal_word());
        let base = floor + BOTTOM_BYTES;
        self.goals.segments.push(Segment { priority: lane, rank, floor, base });
        self.abi.goals = at(base);
        self.run_at((rank, lane));
    }
    /// The goals that are next have this rank and lane.
    #[inline(always)]
    fn run_at(&mut self, (rank, lane): Key) {
        self.goals.rank = rank;
        if is_lane(self.abi.priority) || is_lane(lane) {
            self.change_lane(lane);
        } else {
            self.abi.priority = lane;
        }
    }
    fn fill_segment(&mut self, key: Key, top: usize) {
        self.abi.goals = at(top);
        self.run_at(key);
        let goals = self.goals.forget_bucket(key);
        if 8 * goals.len() >= STEP_BYTES.max(self.goals.beside_bytes / 8) {
            self.goals.count_beside();
        }
        if self.has_room(goals.len()) {
            write_all(top, &goals);
            self.abi.goals = at(top + 8 * goals.len());
        }
        self.spare(goals);
        self.lose(key.1);
    }
    /// The same where nothing else is to be looked at first: of a worker without others that lies above other segments.
    #[inline(always)]
    pub(crate) fn leaves_segment(&mut self) -> bool {
        self.is_single() && self.goals.segments.len() > 1 && !self.has_batches() && self.next_segment()
    }
    /// The top segment is empty (its BOTTOM record is on top): makes the best other goals the top. False if there are
    /// none.
    pub(crate) fn next_segment(&mut self) -> bool {
        let segment = *self.goals.segments.last().expect("the lowest segment stays");
        debug_assert!(read(segment.base - BOTTOM_BYTES) == BOTTOM.goal_word(), "P1: no segment's bottom");
        debug_assert_eq!(self.abi.goals as usize, segment.base);
        if !self.goals.later.is_empty() {
            self.now_is_later();
        }
        debug_assert!(self.goals.later.is_empty(), "B10: goals left for later are ready if nothing else is");
        let best = self.goals.best_bucket();
        if self.goals.segments.len() == 1 {
            // Where goals were given away is free again.
            let base = segment.floor + BOTTOM_BYTES;
            write(segment.floor, BOTTOM.goal_word());
            self.goals.clean = self.goals.clean.min(base);
            self.goals.segments[0].base = base;
            self.abi.goals = at(base);
            if best.is_some() || is_lane(segment.priority) {
                let (rank, priority) = best.unwrap_or((segment.rank, segment.rank));
                self.gain(priority);
                (self.goals.segments[0].rank, self.goals.segments[0].priority) = (rank, priority);
                match best {
                    Some(key) => self.fill_segment(key, base),
                    None => self.run_at((rank, priority)),
                }
                self.lose(segment.priority);
            }
            return best.is_some();
        }
        self.goals.segments.pop();
        let below = *self.goals.segments.last().expect("more than one");
        self.goals.clean = self.goals.clean.min(segment.floor);
        self.abi.goals = at(segment.floor);
        match best {
            Some(key) if key.1 == below.priority => self.fill_segment(key, segment.floor),
            // X11 of `shoen`: what was made ready meanwhile comes on top, even if it is of another lane of that rank.
            Some(key) if key.0 >= below.rank => {
                self.begin_segment(key);
                self.fill_segment(key, self.abi.goals as usize);
            }
            _ => self.run_at((below.rank, below.priority)),
        }
        self.lose(segment.priority);
        true
    }
    /// X14, X19 of `shoen`: takes the ready goals of a lane, as on the stack; nothing is answered unless they are
    /// `kept`. Between reductions.
    #[cold]
    pub(crate) fn take_lane(&mut self, lane: i64, kept: bool) -> Vec<Word> {
        let bucket = self.goals.buckets.keys().find(|(_, of)| *of == lane).copied();
        let mut places = usize::from(bucket.is_some());
        let mut goals = bucket.map_or_else(Vec::new, |key| self.goals.forget_bucket(key));
        for index in 0..self.goals.segments.len() {
            if self.goals.segments[index].priority == lane {
                if kept {
                    goals.extend(self.whole_segment(index));
                }
                self.drop_segment(index);
            }
        }
        let of_lane = |(of, _): &mut (i64, Vec<Word>)| *of == lane;
        for (_, words) in self.goals.entering.extract_if(.., of_lane) {
            goals.extend(words);
            places += 1;
        }
        if let Some(later) = self.goals.later.remove(&lane) {
            goals.splice(0..0, later);
            places += 1;
        }
        (0..places).for_each(|_| self.lose(lane));
        goals
    }
    /// The goals of a segment, settled (S2 of `slots`).
    fn whole_segment(&mut self, index: usize) -> Vec<Word> {
        let above = self.goals.segments.get(index + 1);
        let (base, end) =
            (self.goals.segments[index].base, above.map_or(self.abi.goals as usize, |above| above.floor));
        self.settle_slots(base..end);
        let mut records = Vec::new();
        let mut top = end;
        while top > base {
            let start = self.below_top(top);
            if !self.is_runtimes_own(PredicateId::of_goal_word(read(top - 8))) {
                records.push(start..top);
            }
            top = start;
        }
        records.into_iter().rev().flat_map(|record| record.step_by(8).map(read)).collect()
    }
    /// A segment has no goals any more, and is nobody's. Below others it holds zeros, as where goals were given away.
    pub(crate) fn drop_segment(&mut self, index: usize) {
        let Segment { priority, rank, floor, base } = self.goals.segments[index];
        let above = self.goals.segments.get(index + 1).map(|above| above.floor);
        let end = above.unwrap_or(base);
        debug_assert!(floor < base && base <= end, "P2: a segment outside its addresses");
        self.goals.marks.retain(|&mark| mark < floor || above.is_some_and(|above| mark >= above));
        self.goals.clean = self.goals.clean.min(floor).min(self.goals.last_mark());
        (floor..end - BOTTOM_BYTES).step_by(8).for_each(|at| write(at, Word::small(0)));
        write(end - BOTTOM_BYTES, BOTTOM.goal_word());
        self.goals.segments[index] = Segment { priority: rank, rank, floor, base: end };
        if above.is_none() {
            self.goals.turns.places.clear();
            self.abi.goals = at(end);
            self.run_at((rank, rank));
        }
        self.lose(priority);
    }
    /// Ends a run: no goal of it, ready or waiting, runs any more.
    pub(crate) fn clear_goals(&mut self) {
        self.goals.segments.truncate(1);
        let floor = self.goals.start() - BOTTOM_BYTES;
        let (priority, rank) = (PRIORITY_START, PRIORITY_START);
        self.goals.segments[0] = Segment { priority, rank, floor, base: floor + BOTTOM_BYTES };
        write(floor, BOTTOM.goal_word());
        self.goals.buckets.clear();
        self.goals.entering.clear();
        self.goals.rank = rank;
        self.lanes = Default::default();
        self.goals.later.clear();
        self.goals.turns = Turns::NEW;
        self.goals.gap = Gap::NEW;
        self.abi.turn_left = Choice::first_left(self.is_single());
        self.goals.best = NO_PRIORITY;
        self.goals.marks.clear();
        self.goals.clean = self.goals.start();
        self.abi.goals = at(self.goals.start());
        self.give_goals_back();
        self.abi.priority = priority;
        self.abi.resumed = 0;
        self.waiting.resumed_later.clear();
        self.forget_waiting();
    }
    /// Makes goals ready: `words` are in the format of the goal stack.
    pub(crate) fn push_goals(&mut self, priority: i64, words: &[Word]) {
        if priority != self.abi.priority {
            if let Some(bucket) = self.beside(priority, words.len()) {
                bucket.extend_from_slice(words);
            }
            return;
        }
        let top = self.abi.goals as usize;
        if self.has_room(words.len()) {
            write_all(top, words);
            self.abi.goals = at(top + 8 * words.len());
        }
    }
    /// The same for goals that are left for later (B10 of `sums`): they run after what is ready, unless their priority
    /// is higher.
    pub(crate) fn push_later(&mut self, priority: i64, words: &[Word]) {
        debug_assert!(!words.is_empty(), "B10: a goal that is left for later");
        if self.rank(priority) > self.goals.rank {
            return self.push_goals(priority, words);
        }
        if !self.goals.later.contains_key(&priority) {
            self.gain(priority);
        }
        self.goals.later.entry(priority).or_default().extend_from_slice(words);
    }
    /// A goal of the running priority that was left for later goes onto the stack; true if there was one.
    pub(crate) fn later_is_now(&mut self) -> bool {
        let priority = self.abi.priority;
        let Some(mut words) = self.goals.later.remove(&priority) else { return false };
        let (end, goal) = (words.len(), words[words.len() - 1]);
        let record = words.split_off(end - 1 - self.predicates.arity(PredicateId::of_goal_word(goal)));
        if words.is_empty() {
            self.lose(priority);
        } else {
            self.goals.later.insert(priority, words);
        }
        // Below the goal on top, so that exchanging the two makes it the next one.
        self.push_goals(priority, &record);
        self.swap_top_goals();
        true
    }
    /// Nothing of the running priority is ready: the goals that were left for later are.
    #[cold]
    fn now_is_later(&mut self) {
        for (priority, mut words) in std::mem::take(&mut self.goals.later) {
            let key = (self.rank(priority), priority);
            if let Some(bucket) = self.bucket(key, words.len()) {
                words.append(bucket);
                *bucket = words;
            }
            self.lose(priority);
        }
    }
    /// The address of the record under the one that ends at `top`.
    pub(crate) fn below_top(&self, top: usize) -> usize {
        debug_assert!(top >= self.goals.start(), "P3: below the bottom of the stack");
        let predicate = PredicateId::of_goal_word(read(top - 8));
        top - 8 * (self.predicates.arity(predicate) + 1)
    }
    /// True if no goal of the program ends there.
    pub(crate) fn is_special(&self, end: usize) -> bool {
        let goal = read(end - 8);
        goal == BOTTOM.goal_word() || goal == self.system_goals.mark.goal_word()
    }
    /// True if such a record on the stack is no goal of the program, a mark or a gap.
    pub(crate) fn is_runtimes_own(&self, predicate: PredicateId) -> bool {
        predicate == self.system_goals.mark || predicate == self.system_goals.gap
    }
    /// True if a gap ends there (B14 of `gaps`).
    #[inline(always)]
    pub(crate) fn is_gap(&self, end: usize) -> bool {
        read(end - 8) == self.system_goals.gap.goal_word()
    }
    /// Exchanges the two goals on top, if they are the program's.
    #[cold]
    pub(crate) fn swap_top_goals(&mut self) {
        let top = self.abi.goals as usize;
        if self.is_special(top) {
            return;
        }
        self.settle_top();
        let middle = self.below_top(top);
        if self.is_special(middle) {
            return;
        }
        let start = self.below_top(middle);
        let below: Vec<Word> = (start..middle).step_by(8).map(read).collect();
        let above = (middle..top).step_by(8).map(read);
        for (i, word) in above.chain(below).collect::<Vec<Word>>().into_iter().enumerate() {
            write(start + 8 * i, word);
        }
    }
    /// Pops the goal on top of the stack: its words, which lead to no slots (S2 of `slots`).
    pub(crate) fn pop_goal(&mut self) -> Vec<Word> {
        self.settle_top();
        let top = self.abi.goals as usize;
        debug_assert!(read(top - 8) != BOTTOM.goal_word(), "P3: nothing is ready");
        let start = self.below_top(top);
        self.abi.goals = at(start);
        (start..top).step_by(8).map(read).collect()
    }
    /// The goal stack is at its limit (C5).
    pub(crate) fn grow_goals(&mut self) {
        self.has_room(GOAL_SLACK_WORDS);
    }
    /// True if the stack takes `words` more and keeps its slack; otherwise the program ends at the next reduction.
    #[cold]
    pub(crate) fn has_room(&mut self, words: usize) -> bool {
        let top = self.abi.goals as usize + 8 * words;
        if top <= self.abi.goals_limit {
            return true;
        }
        if !self.goals.set_stack_bytes(top - self.goals.region.base()) {
            self.end_with(no_room(&self.shared));
            return false;
        }
        self.abi.goals_limit = self.goals.limit();
        self.count_goals();
        true
    }
    /// P5: counts the goals, and asks for a collection if they are too many.
    #[cold]
    fn count_goals(&mut self) {
        let bytes = self.goals.bytes();
        let before = std::mem::replace(&mut self.goals.counted, bytes);
        // Relaxed: a counter. It wraps around when there are fewer.
        self.shared.goal_bytes.fetch_add(bytes.wrapping_sub(before), Relaxed);
        if self.room() == 0 {
            self.collect_soon();
        }
    }
    /// P5: the goals take what they need, and no more.
    pub(crate) fn give_goals_back(&mut self) {
        self.goals.count_beside();
        self.goals.set_stack_bytes(self.abi.goals as usize - self.goals.region.base());
        self.abi.goals_limit = self.goals.limit();
        self.count_goals();
    }
    /// P4: after a collection that found the lowest word that leads to something young at `young`.
    pub(crate) fn mark_goals(&mut self, young: usize) {
        let top = self.abi.goals as usize;
        if top - self.goals.last_mark() >= 8 * MARK_WORDS && top <= self.abi.goals_limit {
            debug_assert!(self.goals.last_mark() < top, "P4: marks are of ascending addresses");
            write(top, self.system_goals.mark.goal_word());
            self.goals.marks.push(top);
            self.abi.goals = at(top + 8);
        }
        self.goals.clean = young.min(self.goals.last_mark());
    }
    /// P4: the topmost MARK record was popped.
    pub(crate) fn unmark_goals(&mut self) {
        debug_assert_eq!(self.goals.marks.last(), Some(&(self.abi.goals as usize)));
        self.goals.marks.pop();
        self.goals.clean = self.goals.clean.min(self.goals.last_mark());
    }
}
