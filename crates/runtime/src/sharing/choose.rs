//! Ready goals that a worker can do without: which they are, and taking them out of the goal stack or a bucket.
//!
//! Invariants (B2 and B3 are those of `give`):
//! - B1 The oldest goals of the highest priority that has any to spare are given away. They lie at the bottom of the
//!   top segment, or first in a bucket, and are usually the largest. The goal on top of the stack stays, and so does
//!   one that would wait at once.
//! - B4 A goal of the top segment is given away only if it was there when the worker last looked. So goals that talk
//!   to each other, each ready for a moment, stay together: to talk across workers costs a hundred times as much.
//! - B12 A goal that could begin goes after [`OVERDUE`], although it would wait soon, if another worker has asked all
//!   that time and nothing else was to spare. So a goal behind a loop without an end is tried. That it is the same goal
//!   is seen by what its arguments lead to: where a loop goes on, there is a new one in its place each time.

use crate::coordination::schedule::{now, thread_time};
use crate::coordination::team::Mail;
use crate::goals::slots::is_empty_slot;
use crate::goals::state::Key;
use crate::memory::ranges::read;
use crate::sharing::state::Overdue;
use crate::sharing::tuning::{
    LEVELS_LOOKED_AT, LIST_STEPS, LIST_STEPS_MAX, LOOK_AGAIN_BYTES, LOOKED_AT, OVERDUE, OVERDUE_LOOKS,
    ROWS_LOOKED_AT,
};
use crate::terms::deref;
use crate::worker::Worker;
use rustc_hash::FxHasher;
use std::collections::VecDeque;
use std::hash::Hasher;
use std::ops::Range;
use term::Word;
use term::abi::PredicateId;
use term::word::{Tag, header_arity};

/// Goals that may be given away: address ranges of their records, the oldest first.
pub(crate) enum Surplus {
    /// On this segment of the stack.
    Stack(usize, Vec<Range<usize>>),
    /// In the bucket of this priority; ranges of indices.
    Bucket(Key, Vec<Range<usize>>),
}

/// A condition on a goal, by its predicate and arguments: for one, that it stays with its worker.
pub(crate) type Stays<'a> = &'a dyn Fn(&Worker, PredicateId, &dyn Fn(usize) -> Word) -> bool;

impl Surplus {
    /// How many goals they are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Surplus::Stack(_, goals) | Surplus::Bucket(_, goals) => goals.len(),
        }
    }
}

impl Worker {
    /// B1, B4: what may be given to a worker, that number of goals at most: half of what there is, of priorities
    /// that are higher than `floor`. That is what it reduces at (B6 of `give`), or `NO_PRIORITY` if it asks.
    pub(crate) fn surplus(&mut self, most: usize, floor: i64) -> Vec<Surplus> {
        self.surplus_but(most, floor, &|_, _, _| false)
    }
    /// The same without goals that `stays` names.
    pub(crate) fn surplus_but(&mut self, mut most: usize, floor: i64, stays: Stays<'_>) -> Vec<Surplus> {
        debug_assert!(most > 0, "B1: nobody wants any");
        let (segment, top) = (self.goals.top_segment(), self.abi.goals as usize);
        let stable = self.sharing.seen.look(segment.base, top);
        let mut segments = (0..self.goals.segments().len()).rev().peekable();
        if self.sharing.seen.left_out > 0 {
            self.sharing.seen.left_out -= 1;
            segments.next();
        } else {
            // Below a mark nothing was popped since the last collection (P4): a deep stack is looked at from there.
            let depth = self.goals.first_mark(segment.base, top).unwrap_or(top) - segment.base;
            self.sharing.seen.left_out = depth / LOOK_AGAIN_BYTES;
        }
        self.sharing.seen.steps.set(0);
        self.sharing.seen.list_steps = self.sharing.seen.list_steps.max(LIST_STEPS);
        let mut buckets = self.goals.by_priority().rev().peekable();
        let (mut all, mut in_vain) = (Vec::new(), 0);
        // The goal on top stays, so the next one may go.
        let mut larger_half = true;
        while most > 0 && in_vain < LEVELS_LOOKED_AT {
            let on_stack = segments.peek().map(|&i| self.goals.segments()[i].rank);
            let beside = buckets.peek().map(|&((rank, _), _)| rank);
            let Some(priority) = on_stack.max(beside).filter(|&priority| priority > floor) else { break };
            let mut surplus = if on_stack == Some(priority) {
                let segment = segments.next().expect("it was seen");
                Surplus::Stack(segment, self.ready_on_stack(segment, stable, stays))
            } else {
                let (key, bucket) = buckets.next().expect("it was seen");
                Surplus::Bucket(key, self.ready_in_bucket(bucket, stays))
            };
            let (Surplus::Stack(_, ready) | Surplus::Bucket(_, ready)) = &mut surplus;
            if ready.is_empty() {
                in_vain += 1;
            } else {
                let half = (ready.len() + usize::from(larger_half)) / 2;
                larger_half ^= ready.len() % 2 == 1;
                ready.truncate(most.min(half));
                most -= ready.len();
                if !ready.is_empty() {
                    all.push(surplus);
                }
            }
        }
        let seen = &mut self.sharing.seen;
        let steps = seen.steps.get();
        if steps >= seen.list_steps {
            seen.list_steps = (2 * steps).min(LIST_STEPS_MAX);
        }
        seen.left_out = seen.left_out.max(steps / LIST_STEPS);
        all
    }
    /// B12: nothing is to spare for a worker that asks, but this goal, which has been there for [`OVERDUE`].
    pub(crate) fn overdue(&mut self) -> Option<Surplus> {
        // The thread's time takes a call of the system, and goes no faster than this.
        let now = now();
        if self.sharing.overdue.is_some_and(|found| now < found.not_before) {
            return None;
        }
        let time = thread_time();
        if self.sharing.overdue.is_some_and(|found| time < found.look_at) {
            return None;
        }
        let (goal, found) = self.oldest_that_begins().unzip();
        let before = self.sharing.overdue.take().filter(|before| before.goal == found);
        let due = before.map_or(time + OVERDUE, |before| before.due);
        if goal.is_some() && time >= due {
            return goal;
        }
        let pause = OVERDUE / OVERDUE_LOOKS;
        self.sharing.overdue =
            Some(Overdue { goal: found, due, look_at: time + pause, not_before: now + pause });
        None
    }
    /// The oldest goal of the highest priority that need not wait at once, and its fingerprint.
    fn oldest_that_begins(&self) -> Option<(Surplus, u64)> {
        let begins = |worker: &Worker, predicate: PredicateId, argument: &dyn Fn(usize) -> Word| {
            predicate.goal_word().bits() >= worker.abi.first_compiled.bits()
                && !worker.awaited(predicate).any(|i| {
                    let word = deref(argument(i));
                    word.tag() == Tag::Ref || is_empty_slot(word)
                })
        };
        let segments = (0..self.goals.segments().len()).rev();
        let on_stack = segments.map(|index| {
            let top = if index + 1 == self.goals.segments().len() { self.abi.goals as usize } else { 0 };
            let goals = self.on_stack_that(index, top, &begins);
            goals.into_iter().next().map(|goal| {
                let found = fingerprint(goal.clone().step_by(8).map(read));
                (Surplus::Stack(index, vec![goal]), found)
            })
        });
        let in_buckets = self.goals.by_priority().rev().map(|(key, bucket)| {
            let goals = self.in_bucket_that(bucket, &begins);
            goals.into_iter().next().map(|goal| {
                let found = fingerprint(bucket[goal.clone()].iter().copied());
                (Surplus::Bucket(key, vec![goal]), found)
            })
        });
        on_stack.chain(in_buckets).take(LEVELS_LOOKED_AT).flatten().next()
    }
    /// The goals of a segment that may be given away, the oldest first; of the top segment those below `stable` (B4).
    /// But for those that stay.
    fn ready_on_stack(&self, index: usize, stable: usize, stays: Stays<'_>) -> Vec<Range<usize>> {
        self.on_stack_that(index, stable, &|worker, predicate, argument| {
            !stays(worker, predicate, argument) && !worker.would_wait(predicate, argument)
        })
    }
    /// The goals of a segment of which something is true, the oldest first; of the top segment those below `stable`,
    /// and not the one on top.
    fn on_stack_that(&self, index: usize, stable: usize, is_so: Stays<'_>) -> Vec<Range<usize>> {
        let segment = self.goals.segments()[index];
        let above = self.goals.segments().get(index + 1);
        let top = above.map_or(self.abi.goals as usize, |above| above.floor);
        let mark = self.goals.first_mark(segment.base, top);
        let stable = if above.is_some() { top } else { stable.max(mark.unwrap_or(0)) };
        let mut end = mark.unwrap_or(top);
        let mut ends = Vec::new();
        while end > segment.base {
            ends.push(end);
            end = self.below_top(end);
        }
        debug_assert_eq!(end, segment.base, "P2: records fill a segment");
        let mut start = segment.base;
        let mut ready = Vec::new();
        for &end in ends.iter().rev().take(LOOKED_AT) {
            if end > stable || end == self.abi.goals as usize {
                break;
            }
            let predicate = PredicateId::of_goal_word(read(end - 8));
            let argument = |i| read(start + 8 * i);
            if !self.is_runtimes_own(predicate) && is_so(self, predicate, &argument) {
                ready.push(start..end);
            }
            start = end;
        }
        ready
    }
    /// The goals of a bucket that may be given away, the oldest of the newest first.
    fn ready_in_bucket(&self, bucket: &[Word], stays: Stays<'_>) -> Vec<Range<usize>> {
        self.in_bucket_that(bucket, &|worker, predicate, argument| {
            !stays(worker, predicate, argument) && !worker.would_wait(predicate, argument)
        })
    }
    fn in_bucket_that(&self, bucket: &[Word], is_so: Stays<'_>) -> Vec<Range<usize>> {
        let mut ready = Vec::new();
        let mut end = bucket.len();
        for _ in 0..LOOKED_AT {
            if end == 0 {
                break;
            }
            let predicate = PredicateId::of_goal_word(bucket[end - 1]);
            debug_assert!(self.predicates.arity(predicate) < end, "P2: records fill a bucket");
            let start = end - 1 - self.predicates.arity(predicate);
            let argument = |i| bucket[start + i];
            if is_so(self, predicate, &argument) {
                ready.push(start..end);
            }
            end = start;
        }
        ready.reverse();
        ready
    }
    /// True if a goal with these arguments would wait before it does anything, or after that: it gets, or gives to a
    /// goal that tests it, a structure that is still being made, or has an empty slot there. So is a list whose end is
    /// not yet there. (A goal that reads a stream may have much to do for each of its elements; but if it has waited
    /// for some, it is given away as one that was resumed.)
    fn would_wait(&self, predicate: PredicateId, argument: &dyn Fn(usize) -> Word) -> bool {
        let is_unbound = |word: Word| matches!(deref(word).tag(), Tag::Ref | Tag::Var);
        let unbound = |word: Word| {
            let word = deref(word);
            if word.tag() == Tag::Cons {
                return self.is_open(word);
            }
            let arity = if word.tag() == Tag::Struct { header_arity(read(word.address())) } else { 0 };
            word.tag() == Tag::Ref
                || is_empty_slot(word)
                || (1..=arity.min(LOOKED_AT)).any(|i| is_unbound(read(word.address() + 8 * i)))
        };
        if predicate == self.system_goals.at_position {
            // A builtin's goal with its place in the text: position, predicate, and its arguments in an object.
            let inner = PredicateId(argument(1).as_int() as u32);
            let arguments = argument(2).address() + 8;
            return self.needed(inner).any(|i| unbound(read(arguments + 8 * i)));
        }
        self.needed(predicate).any(|i| unbound(argument(i)))
    }
    /// True if the list that begins here has no end yet, is too long to know that, or begins with a stream. (If only
    /// elements are missing, the goal itself may be the one that binds them.)
    fn is_open(&self, mut list: Word) -> bool {
        if self.begins_with_stream(list) {
            return true;
        }
        let seen = &self.sharing.seen;
        let mut steps = seen.steps.get();
        while list.tag() == Tag::Cons && steps < seen.list_steps {
            list = deref(read(list.address() + 8));
            steps += 1;
        }
        seen.steps.set(steps);
        matches!(list.tag(), Tag::Ref | Tag::Var | Tag::Cons)
    }
    /// True if a list's first element is a list that misses its first element or its end, or begins with such a one:
    /// then the elements are streams, or rows of streams, and who reads them waits for all of them.
    fn begins_with_stream(&self, list: Word) -> bool {
        let mut row = deref(read(list.address()));
        for _ in 0..ROWS_LOOKED_AT {
            if row.tag() != Tag::Cons {
                return false;
            }
            let first = deref(read(row.address()));
            let mut rest = deref(read(row.address() + 8));
            for _ in 0..LOOKED_AT {
                if rest.tag() != Tag::Cons {
                    break;
                }
                rest = deref(read(rest.address() + 8));
            }
            if [first, rest].iter().any(|word| matches!(word.tag(), Tag::Ref | Tag::Var)) {
                return true;
            }
            row = first;
        }
        false
    }
    fn awaited(&self, predicate: PredicateId) -> impl Iterator<Item = usize> {
        let awaits = self.predicates.get(predicate).awaits;
        (0..64).filter(move |i| awaits >> i & 1 != 0)
    }
    /// The arguments that a goal awaits or reads.
    fn needed(&self, predicate: PredicateId) -> impl Iterator<Item = usize> {
        let info = self.predicates.get(predicate);
        let needs = info.awaits | info.reads;
        (0..64).filter(move |i| needs >> i & 1 != 0)
    }

    /// S2 of `slots`: what is to be given away leads to variables, and has some in place of slots.
    pub(crate) fn settle_surplus(&mut self, surplus: &Surplus) {
        if let Surplus::Stack(_, ranges) = surplus {
            self.settle_records(ranges);
        }
    }
    /// Takes one of those that [`Worker::surplus`] has just found: its priority, and its words. With `gap`, a gap stays
    /// in its place (B14 of `gaps`).
    pub(crate) fn take_surplus(&mut self, surplus: Surplus, gap: bool) -> (i64, Vec<Word>) {
        match surplus {
            Surplus::Stack(index, ranges) => {
                debug_assert!(!ranges.is_empty(), "B1: a surplus of no goals");
                self.settle_records(&ranges);
                (self.goals.segments()[index].priority, self.take_from_stack(index, &ranges, gap))
            }
            Surplus::Bucket(key, ranges) => (key.1, self.take_from_bucket(key, &ranges)),
        }
    }
    /// The same as mail, which is under way before the goals are gone (X12 of `shoen`).
    pub(crate) fn take_as_mail(&mut self, surplus: Surplus, gap: bool) -> Mail {
        let lane = match &surplus {
            Surplus::Stack(index, _) => self.goals.segments()[*index].priority,
            Surplus::Bucket((_, lane), _) => *lane,
        };
        let mail = self.mail(lane, Vec::new());
        let (_, words) = self.take_surplus(surplus, gap);
        Mail { words, ..mail }
    }
}

/// B12: of a goal's words and the first [`LOOKED_AT`] words that they lead to. A collection does not change it, nor
/// what is bound behind these; another goal of the predicate has another one, mostly.
fn fingerprint(words: impl Iterator<Item = Word>) -> u64 {
    let mut hasher = FxHasher::default();
    let mut left: VecDeque<Word> = words.collect();
    for _ in 0..LOOKED_AT {
        let Some(word) = left.pop_front().map(deref) else { break };
        let last = match word.tag() {
            Tag::Cons => 1,
            Tag::Struct => header_arity(read(word.address())),
            Tag::Ref | Tag::Var | Tag::Object => 0,
            _ => {
                hasher.write_u64(word.bits());
                continue;
            }
        };
        hasher.write_u64(word.tag() as u64);
        if last > 0 {
            left.extend((0..=last).take(LOOKED_AT).map(|i| read(word.address() + 8 * i)));
        }
    }
    hasher.finish()
}

#[cfg(all(test, not(models)))]
mod tests {
    use super::*;
    use crate::collect::tests::Builder;
    use crate::goals::state::NO_PRIORITY;
    use crate::memory::ranges::write;
    use crate::worker::PRIORITY_MAX;
    use proptest::prelude::*;
    use std::time::Duration;
    use term::abi::BOTTOM;

    /// Takes all goals off the stack and out of the buckets: priorities and arguments, in the order in which they
    /// would run.
    fn drain(worker: &mut Worker) -> Vec<(i64, i64)> {
        let mut goals = Vec::new();
        loop {
            worker.switch_priority();
            let words = match PredicateId::of_goal_word(read(worker.abi.goals as usize - 8)) {
                BOTTOM if worker.next_segment() => continue,
                BOTTOM => return goals,
                _ => worker.pop_goal(),
            };
            if words == [worker.system_goals.gap.goal_word()] {
                continue;
            }
            if words.len() == 1 {
                worker.unmark_goals();
            } else {
                goals.push((worker.priority(), words[0].as_int()));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 3 } else { 500 }, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..Default::default() })]
        #[test]
        fn what_is_given_away_is_missing_and_nothing_else(operations in proptest::collection::vec((0u8..13, 0i64..12), 1..120)) {
            let mut builder = Builder::with(1, None);
            let goal = builder.goal[0];
            builder.node.worker().abi.first_compiled = BOTTOM.goal_word();
            let (mut number, mut given, mut all) = (0, Vec::new(), Vec::new());
            for (operation, n) in operations {
                let worker = builder.node.worker();
                match operation {
                    0..6 => {
                        let other = (worker.priority() - 5 + n).min(PRIORITY_MAX);
                        let priority = if operation < 4 { worker.priority() } else { other };
                        number += 1;
                        worker.spawn_at(priority, goal, &[Word::small(number)]);
                        all.push((priority, number));
                        if operation == 5 {
                            worker.switch_priority();
                        }
                    }
                    6 => builder.node.collect(0),
                    10 | 11 => {
                        let variable = worker.new_variable();
                        for _ in 0..=n {
                            number += 1;
                            worker.spawn(goal, &[Word::small(number)]);
                            (worker.abi.pending[0], worker.abi.pending_count) = (variable, 1);
                            worker.suspend_top();
                            all.push((worker.priority(), number));
                        }
                        worker.unify(variable, Word::NIL);
                        worker.put_resumed_off();
                    }
                    12 => worker.take_turn(true),
                    _ => {
                        let floor = if operation == 7 { NO_PRIORITY } else { worker.priority() - 6 + n };
                        worker.switch_priority();
                        let before = given.len();
                        for surplus in worker.surplus(n as usize + 1, floor) {
                            let (priority, words) = worker.take_surplus(surplus, n % 2 == 0);
                            prop_assert!(priority > floor && !words.is_empty());
                            given.extend(words.chunks(2).map(|words| (priority, words[0].as_int())));
                        }
                        prop_assert!(given.len() - before <= n as usize + 1);
                    }
                }
            }
            builder.node.collect(0);
            let kept = drain(builder.node.worker());
            prop_assert!(kept.is_sorted_by_key(|&(priority, _)| std::cmp::Reverse(priority)));
            let mut found = [given, kept].concat();
            found.sort_unstable();
            all.sort_unstable();
            prop_assert_eq!(found, all);
        }
    }

    /// Whether a goal that awaits this is given away.
    fn is_given(node: impl FnOnce(&mut Worker) -> Word) -> bool {
        let mut builder = Builder::with(1, None);
        let goal = builder.awaiting;
        let worker = builder.node.worker();
        let word = node(worker);
        worker.sharing.seen.steps.set(0);
        worker.sharing.seen.list_steps = LIST_STEPS;
        !worker.would_wait(goal, &|_| word)
    }

    #[test]
    fn a_goal_is_given_away_when_all_that_it_awaits_is_there() {
        let open = |worker: &mut Worker| {
            let variable = worker.new_variable();
            worker.list(&[Word::small(1)], variable)
        };
        let name = term::symbol::Atom(9);
        // A goal may be there to bind the elements of a list; but not those of streams in it.
        assert!(is_given(|worker| {
            let variable = worker.new_variable();
            worker.list(&[variable; 3], Word::NIL)
        }));
        for depth in [1, 2] {
            for end in [Word::NIL, Word::small(0)] {
                let row = |worker: &mut Worker| {
                    let rest = if end == Word::NIL { end } else { worker.new_variable() };
                    let mut row = worker.list(&[Word::small(1)], rest);
                    for _ in 0..depth {
                        row = worker.list(&[row], Word::NIL);
                    }
                    row
                };
                assert_eq!(is_given(row), end == Word::NIL, "{depth}");
            }
        }
        assert!(!is_given(|worker| {
            let variable = worker.new_variable();
            let row = worker.list(&[variable], Word::NIL);
            worker.list(&[row], Word::NIL)
        }));
        assert!(is_given(|_| Word::small(1)));
        assert!(is_given(|worker| worker.list(&[Word::small(1); 3], Word::NIL)));
        assert!(!is_given(open));
        assert!(!is_given(|worker| worker.new_variable()));
        assert!(is_given(|worker| worker.structure(name, &[Word::small(1)])));
        // Its argument is a cell of its own, or leads to one elsewhere.
        assert!(!is_given(|worker| {
            let structure = worker.structure(name, &[Word::NIL]);
            write(structure.address() + 8, term::word::UNBOUND);
            structure
        }));
        assert!(!is_given(|worker| {
            let variable = worker.new_variable();
            worker.structure(name, &[variable])
        }));
    }

    #[test]
    fn a_goal_that_would_wait_later_is_overdue_if_it_stays_where_it_is() {
        let mut builder = Builder::with(1, None);
        let goal = builder.awaiting;
        let worker = builder.node.worker();
        worker.abi.first_compiled = BOTTOM.goal_word();
        let open = worker.new_variable();
        let list = worker.list(&[Word::small(1)], open);
        // The first would wait at once, and the last is the next one.
        for word in [open, list, Word::small(1)] {
            worker.spawn(goal, &[word]);
        }
        let later = |worker: &mut Worker| {
            let found = worker.sharing.overdue.as_mut().expect("one was found");
            (found.look_at, found.due, found.not_before) = (Duration::ZERO, Duration::ZERO, now());
        };
        assert!(worker.overdue().is_none() && worker.surplus(1, NO_PRIORITY).is_empty());
        // It is not looked for all the time.
        assert!(worker.overdue().is_none());
        later(worker);
        let surplus = worker.overdue().expect("it is overdue");
        assert_eq!(worker.take_surplus(surplus, false).1, [list, goal.goal_word()]);
        // Another one begins anew.
        assert!(worker.overdue().is_none());
        worker.spawn_at(5, goal, &[list]);
        later(worker);
        assert!(worker.overdue().is_none());
        later(worker);
        assert!(matches!(worker.overdue(), Some(Surplus::Bucket((5, 5), _))));
    }

    #[test]
    fn a_goal_in_the_place_of_another_is_not_overdue_and_a_collection_moves_none() {
        let mut builder = Builder::with(1, None);
        let goal = builder.awaiting;
        builder.node.worker().abi.first_compiled = BOTTOM.goal_word();
        let put = |worker: &mut Worker, first| {
            let open = worker.new_variable();
            let list = worker.list(&[Word::small(first)], open);
            worker.spawn(goal, &[list]);
            worker.spawn(goal, &[Word::small(1)]);
        };
        let look_later = |worker: &mut Worker| {
            if let Some(found) = worker.sharing.overdue.as_mut() {
                (found.look_at, found.due, found.not_before) = (Duration::ZERO, Duration::ZERO, now());
            }
            worker.overdue().is_some()
        };
        let worker = builder.node.worker();
        for first in 1..4 {
            put(worker, first);
            assert!(!look_later(worker));
            (0..2).for_each(|_| _ = worker.pop_goal());
        }
        put(worker, 4);
        assert!(!look_later(worker));
        builder.node.collect(0);
        assert!(look_later(builder.node.worker()));
    }

    #[test]
    fn a_long_list_is_given_away_after_a_few_looks() {
        let mut builder = Builder::with(1, None);
        let goal = builder.awaiting;
        let worker = builder.node.worker();
        let list = worker.list(&[Word::small(1); 3 * LIST_STEPS], Word::NIL);
        worker.spawn(goal, &[list]);
        worker.spawn(goal, &[Word::small(1)]);
        // B4: the first look sees nothing that was there before. The second one does not come to the end of the list.
        let mut looks = 0;
        while worker.surplus(1, NO_PRIORITY).is_empty() {
            looks += 1;
        }
        assert!((2..16).contains(&looks), "{looks}");
    }
}
