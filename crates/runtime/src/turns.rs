//! When goals that were resumed run, if there are several workers. With one, they come on top of the stack, the oldest first: programs know
//! that order.
//!
//! Whoever makes a list goes on making it, and whoever reads it gets much of it at once: a goal that is resumed for each element costs ten
//! times as much, and if it makes a list itself, so does every goal behind it.
//!
//! Invariants (P1 to P5 are those of `goals`):
//! - P6 Goals of the running priority that were resumed wait in a queue, until what was on the stack when they came is done, or has
//!   allocated [`TURN_BYTES`]. In the latter case a TURN record, a goal of no arguments, goes onto the stack, and the first of the
//!   queue on top of it. When the stack is down to it again, the next of the queue have their turn, and when there are none, what is
//!   below goes on. So of two goals that make and read an endless list, neither gets far ahead.
//! - P7 A goal for another priority than the running one is no matter of turns (P1). A builtin comes on top of the stack: it does
//!   little, and a merger is to see what arrives in the order in which it does.
//! - P8 If little is allocated for each goal of the queue ([`LITTLE`]), goals talk to each other and none makes much for another. Then the next ones come on top of
//!   the stack, as with one worker: what a goal was told is still in the cache, and what it answers is heard at once. Now and then some have their turn
//!   again, to see whether that is still so.

use crate::memory::{at, read, write, write_all};
use crate::suspend::goal_arity;
use crate::worker::Worker;
use term::Word;
use term::abi::PredicateId;
use term::layout::{SUSPENSION_ARGS, SUSPENSION_NEXT, SUSPENSION_PRIORITY};
use term::word::UNBOUND;

/// Large batches, which still fit in the nursery.
const TURN_BYTES: usize = 128 << 10;
/// As long as it is not known whether turns are good for anything.
const TRIAL_BYTES: usize = 4 << 10;
/// What was allocated since the last so many goals came into the queue is counted.
const ROUND: u64 = 64;
/// Fewer bytes for each of them are little: a goal that waits again takes 100 or 200, and a list to read of which there is much takes thousands.
const LITTLE: u64 = 512;
/// So many goals come on top after the first round of which little came, and at most.
const TALKS: u32 = 1024;
const TALKS_MAX: u32 = 1 << 20;
/// A queue of so many words takes no more goals: they go onto the stack, which is counted (P5).
const QUEUE_WORDS: usize = 64 << 10;
/// So many goals of the queue go onto the stack together.
const AT_ONCE: usize = 8;
/// Words of goals that were taken may stay in the queue.
const GAP: usize = 4096;
/// So many TURN records may be on the stack: goals that go on resuming each other never come down to theirs.
const TURNS_MAX: usize = 64;

/// How goals were resumed lately (P8).
#[derive(Debug)]
pub(crate) struct Talk {
    /// So many more goals come on top of the stack.
    left: u32,
    /// So many will after the next round of which little comes.
    next: u32,
    /// Goals that had come into the queue and bytes that had been allocated when the round began.
    came: u64,
    bytes: u64,
    /// How much is allocated before the goals of the queue have their turn.
    turn_bytes: usize,
}

impl Talk {
    pub(crate) const NEW: Talk = Talk { left: 0, next: TALKS, came: 0, bytes: 0, turn_bytes: TRIAL_BYTES };
    /// So many goals have come into the queue.
    #[inline(always)]
    fn count(&mut self, came: u64, bytes: u64) {
        if came - self.came < ROUND {
            return;
        }
        if bytes - self.bytes < LITTLE * (came - self.came) {
            self.left = self.next;
            self.next = (2 * self.next).min(TALKS_MAX);
            self.turn_bytes = TRIAL_BYTES;
        } else {
            self.next = TALKS;
            self.turn_bytes = TURN_BYTES;
        }
        (self.came, self.bytes) = (came, bytes);
    }
}

/// Goals that were resumed, the oldest first (P6).
#[derive(Default)]
pub(crate) struct Queue {
    /// Records: the goal word, then the arguments. What was taken is overwritten by zeros.
    pub(crate) words: Vec<Word>,
    /// Where the next one begins.
    pub(crate) first: usize,
    /// How many goals came so far, and how many of them were taken.
    pub(crate) came: u64,
    pub(crate) taken: u64,
}

impl Queue {
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }
    /// A goal whose arguments begin at an address.
    #[inline(always)]
    fn push(&mut self, goal: Word, args: usize, arity: usize) {
        self.came += 1;
        self.words.push(goal);
        self.words.extend((0..arity).map(|i| read(args + 8 * i)));
    }
    /// The first `goals` goals, which end at `end`, were taken.
    #[inline(always)]
    pub(crate) fn take(&mut self, end: usize, goals: usize) {
        self.taken += goals as u64;
        if end == self.words.len() {
            self.words.clear();
            self.first = 0;
            return;
        }
        self.words[self.first..end].fill(Word::small(0));
        self.first = end;
        if end > GAP && 2 * end > self.words.len() {
            self.words.drain(..end);
            self.first = 0;
        }
    }
}

impl Worker {
    /// Goals were resumed, perhaps (H3): they have their turn later. Answers true.
    #[inline(always)]
    pub(crate) fn put_resumed_off(&mut self) -> bool {
        if !self.has_resumed() {
            return true;
        }
        if self.talk.left > 0 {
            self.talk.left -= 1;
            if self.talk.left == 0 {
                self.talk.bytes = self.bytes_allocated();
            }
            return self.push_one_resumed() || self.push_resumed();
        }
        if self.goals.resumed.is_empty() {
            self.soon = self.soon.min(self.abi.heap as usize + self.talk.turn_bytes);
            self.abi.set_limit(self.abi.limit().min(self.soon));
        }
        let first = std::mem::take(&mut self.abi.resumed);
        self.put_list_off(first);
        if !self.resumed_later.is_empty() {
            for list in std::mem::take(&mut self.resumed_later) {
                self.put_list_off(list);
            }
        }
        self.talk.count(self.goals.resumed.came, self.bytes_allocated());
        true
    }
    fn put_list_off(&mut self, newest: usize) {
        if read(newest + 8 * SUSPENSION_NEXT) == UNBOUND {
            return self.claim_list(newest, Worker::put_off);
        }
        // The oldest goal comes first.
        let mut records = Vec::new();
        self.claim_list(newest, |_, record, goal| records.push((record, goal)));
        records.into_iter().rev().for_each(|(record, goal)| self.put_off(record, goal));
    }
    /// P7.
    #[inline(always)]
    fn put_off(&mut self, record: usize, goal: Word) {
        let priority = read(record + 8 * SUSPENSION_PRIORITY).as_int();
        if PredicateId::of_goal_word(goal) < self.first_compiled
            || priority != self.abi.priority
            || self.goals.resumed.words.len() >= QUEUE_WORDS
        {
            return self.push_claimed(record, goal);
        }
        self.goals.resumed.push(goal, record + 8 * SUSPENSION_ARGS, goal_arity(record));
    }

    fn bytes_allocated(&self) -> u64 {
        8 * self.statistics.words_allocated + self.nursery_used() as u64
    }
    /// They have their turn before what is on the stack goes on.
    #[cold]
    pub(crate) fn nest_turn(&mut self) {
        if self.goals.resumed.is_empty() {
            return;
        }
        if !self.is_special(self.abi.goals as usize) && self.goals.turns < TURNS_MAX {
            self.goals.turns += 1;
            self.spawn(self.system_goals.turn, &[]);
        }
        self.push_next_resumed();
    }
    /// The topmost TURN record is on top, and the queue is empty.
    pub(crate) fn end_turn(&mut self) {
        self.goals.turns -= 1;
        self.abi.goals = at(self.abi.goals as usize - 8);
    }
    /// The next goals of the queue go onto the stack, the oldest on top. False if there are none.
    pub(crate) fn push_next_resumed(&mut self) -> bool {
        let first = self.goals.resumed.first;
        let mut starts = [0; AT_ONCE];
        let (mut count, mut end) = (0, first);
        while count < AT_ONCE && end < self.goals.resumed.words.len() {
            starts[count] = end;
            end += 1 + self.predicates.arity(PredicateId::of_goal_word(self.goals.resumed.words[end]));
            count += 1;
        }
        if count == 0 || !self.has_room(end - first) {
            return false;
        }
        let mut top = self.abi.goals as usize;
        let mut above = end;
        for &start in starts[..count].iter().rev() {
            let goal = &self.goals.resumed.words[start..above];
            write_all(top, &goal[1..]);
            top += 8 * goal.len();
            write(top - 8, goal[0]);
            above = start;
        }
        self.abi.goals = at(top);
        self.goals.resumed.take(end, count);
        true
    }
    /// Takes so many goals out of the queue, in the format of the goal stack.
    pub(crate) fn take_resumed(&mut self, goals: usize) -> Vec<Word> {
        let queue = &self.goals.resumed;
        let mut words = Vec::new();
        let mut end = queue.first;
        for _ in 0..goals {
            let goal = queue.words[end];
            let args = self.predicates.arity(PredicateId::of_goal_word(goal));
            words.extend_from_slice(&queue.words[end + 1..end + 1 + args]);
            words.push(goal);
            end += 1 + args;
        }
        self.goals.resumed.take(end, goals);
        words
    }
}

#[cfg(all(test, not(models)))]
mod tests {
    use super::*;
    use crate::collect_tests::Builder;
    use term::abi::BOTTOM;

    /// A worker for which no goal is a builtin's, a predicate of one argument, and variables.
    fn worker<const N: usize>(builder: &mut Builder) -> (&mut Worker, PredicateId, [Word; N]) {
        let goal = builder.goal[0];
        let worker = builder.node.worker();
        worker.first_compiled = BOTTOM;
        let variables = [(); N].map(|()| worker.new_variable());
        (worker, goal, variables)
    }
    fn wait(worker: &mut Worker, goal: PredicateId, number: i64, variable: Word) {
        worker.spawn(goal, &[Word::small(number)]);
        worker.abi.pending[0] = variable;
        worker.abi.pending_count = 1;
        worker.suspend_top();
    }
    /// Takes the goals above the next BOTTOM or TURN record off the stack: the numbers of those that run first come first.
    fn run(worker: &mut Worker) -> Vec<i64> {
        let mut numbers = Vec::new();
        while !worker.is_special(worker.abi.goals as usize) {
            numbers.push(worker.pop_goal()[0].as_int());
        }
        numbers
    }

    #[test]
    fn resumed_goals_have_their_turn_after_what_is_ready_the_oldest_first() {
        let mut builder = Builder::with(1, None);
        let (worker, goal, [a, b]) = worker(&mut builder);
        for (number, variable) in [(3, a), (4, a), (5, b)] {
            wait(worker, goal, number, variable);
        }
        worker.spawn(goal, &[Word::small(2)]);
        worker.unify(a, Word::NIL);
        worker.unify(b, Word::NIL);
        worker.put_resumed_off();
        worker.spawn(goal, &[Word::small(1)]);
        assert_eq!(run(worker), [1, 2]);
        worker.push_next_resumed();
        assert_eq!(run(worker), [3, 4, 5]);
        assert!(worker.goals.resumed.is_empty());
    }

    #[test]
    fn what_is_ready_goes_on_after_a_turn_that_came_before_its_end() {
        let mut builder = Builder::with(1, None);
        let (worker, goal, [a, b]) = worker(&mut builder);
        wait(worker, goal, 1, a);
        wait(worker, goal, 2, b);
        worker.spawn(goal, &[Word::small(3)]);
        worker.unify(a, Word::NIL);
        worker.put_resumed_off();
        worker.nest_turn();
        assert_eq!(run(worker), [1]);
        // What that one resumed comes before the goal below, too.
        worker.unify(b, Word::NIL);
        worker.put_resumed_off();
        worker.push_next_resumed();
        assert_eq!(run(worker), [2]);
        assert!(worker.goals.resumed.is_empty());
        worker.end_turn();
        assert_eq!(run(worker), [3]);
    }

    #[test]
    fn turns_that_never_end_take_no_more_and_more_stack() {
        let mut builder = Builder::with(1, None);
        let (worker, goal, []) = worker(&mut builder);
        let mut depth = 0;
        for round in 0..10 * TURNS_MAX {
            let variable = worker.new_variable();
            wait(worker, goal, 0, variable);
            worker.spawn(goal, &[Word::small(1)]);
            worker.unify(variable, Word::NIL);
            worker.put_resumed_off();
            worker.nest_turn();
            assert_eq!(worker.pop_goal()[0].as_int(), 0);
            let words = (worker.abi.goals as usize - worker.goals.start()) / 8;
            if round < TURNS_MAX {
                depth = words;
            }
            // One goal that waits for its turn is left each time; a scheduler would run it now.
            if worker.goals.turns == TURNS_MAX {
                run(worker);
            }
            assert!(words <= depth + 2, "{words} words after {round} rounds");
        }
    }

    #[test]
    fn builtins_and_goals_of_a_full_queue_come_on_top() {
        let mut builder = Builder::with(1, None);
        let (worker, goal, [a, b]) = worker(&mut builder);
        wait(worker, goal, 1, a);
        worker.first_compiled = PredicateId(goal.0 + 1);
        worker.unify(a, Word::NIL);
        worker.put_resumed_off();
        assert_eq!(run(worker), [1]);
        worker.first_compiled = BOTTOM;
        let many = QUEUE_WORDS / 2 + 3;
        for number in 0..many {
            wait(worker, goal, number as i64, b);
        }
        worker.unify(b, Word::NIL);
        worker.put_resumed_off();
        let mut numbers = run(worker);
        assert_eq!(numbers.len(), 3);
        while !worker.goals.resumed.is_empty() {
            worker.push_next_resumed();
            numbers.extend(run(worker));
        }
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..many as i64));
    }

    /// Resumes a goal so many times, and allocates so many bytes for each; whether it came on top each time.
    fn talk(worker: &mut Worker, goal: PredicateId, times: u64, bytes: u64) -> Vec<bool> {
        let once = |_| {
            let variable = worker.new_variable();
            wait(worker, goal, 1, variable);
            worker.unify(variable, Word::NIL);
            worker.put_resumed_off();
            worker.allocate(bytes as usize / 8);
            let on_top = !run(worker).is_empty();
            worker.push_next_resumed();
            run(worker);
            on_top
        };
        (0..times).map(once).collect()
    }

    #[test]
    fn goals_that_talk_come_on_top() {
        let mut builder = Builder::with(1, None);
        let (worker, goal, []) = worker(&mut builder);
        let (little, talks) = (LITTLE / 2, u64::from(TALKS));
        for length in [talks, 2 * talks, 4 * talks] {
            assert_eq!(talk(worker, goal, ROUND, little), [false; ROUND as usize]);
            assert!(talk(worker, goal, length, little).iter().all(|&on_top| on_top));
        }
        // They read lists now.
        assert!(talk(worker, goal, 3 * ROUND, 2 * LITTLE).iter().all(|&on_top| !on_top));
        assert_eq!(
            talk(worker, goal, ROUND + talks + 1, little)[ROUND as usize..]
                .iter()
                .position(|&on_top| !on_top),
            Some(TALKS as usize)
        );
    }
}
