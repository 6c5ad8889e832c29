//! Where resumed goals go if there are several workers. With one, they come on top of the stack, the oldest first
//! (`resume`): programs know that order.
//!
//! Goals that talk to each other are best on top: what a goal was told is still in the cache, and its answer is heard
//! at once. Goals that read a list are best below the goal that makes it: that goes on with its list, and the reader
//! gets a long piece of it. A goal that is resumed for each element costs ten times as much, and if it makes a list
//! itself, so does every goal behind it. One worker's goals are in an order in which lists are made first. A gift may
//! break it.
//!
//! Invariants (P1 to P5 are those of `stack`):
//! - P6 A resumed goal of the running priority is put *below* what the goal has made that resumed it, above all that
//!   was there before. It runs as soon as that goal is done or waits, and before anything older. Of several that one
//!   reduction resumed, the oldest runs first.
//! - P7 A goal for another priority than the running one takes no turn (P1). A builtin is reduced at once, or, if it is
//!   one of several, comes on top of the stack: it does little, and a merger is to see what arrives in the order in
//!   which it does. A goal that it resumes goes where the builtin would have gone.
//! - P8 When [`TURN_BYTES`] were allocated since then, those that were put below the oldest goals come on top of the
//!   stack. So of two goals that make and read an endless list, neither gets far ahead.
//! - P9 Both ways are tried in turn. Goals go below if fewer are resumed there for what is allocated meanwhile, and
//!   otherwise on top, which costs less.

use crate::goals::state::Place;
use crate::goals::suspend::goal_arity;
use crate::memory::ranges::{at, copy_few, move_words, read, write};
use crate::worker::Worker;
use crate::worker::rules::Rule;
use term::Word;
use term::layout::{SUSPENSION_ARGS, SUSPENSION_PRIORITY};

/// Large batches, which still fit in the nursery.
const TURN_BYTES: usize = 32 << 10;
/// A goal that has made more goals than this is done with when resumed ones come on top of these.
const MADE_MAX: usize = 16;
/// Places in which goals may lie below others, at most; further ones come on top of the stack.
const PLACES_MAX: usize = 64;

impl Worker {
    /// Goals were resumed, perhaps (H3): they run after what is being done.
    pub(crate) fn put_resumed_off(&mut self) {
        if self.has_resumed() {
            if self.goes_below() {
                self.put_below();
            } else {
                self.push_resumed();
            }
        }
    }
    /// Goals were resumed. A builtin that would come on top of the stack is reduced at once: false, and there may be
    /// more of them then. Other goals run after what is being done: true.
    #[inline(never)]
    pub(crate) fn reduce_or_put_off(&mut self) -> bool {
        if !self.goes_below() {
            return self.reduce_or_push_resumed();
        }
        // P7.
        let level = self.abi.resumed_at;
        let reduced = self.reduce_first();
        if reduced {
            self.abi.resumed_at = level;
        } else {
            self.put_below();
        }
        !reduced
    }
    /// P9: whether what was resumed goes below.
    #[inline(always)]
    pub(crate) fn goes_below(&mut self) -> bool {
        if self.abi.turn_left <= 0 {
            self.choose();
        }
        self.abi.turn_left -= 1;
        self.goals.turns.choice.below
    }
    #[cold]
    fn choose(&mut self) {
        let bytes = 8 * self.statistics.words_allocated + self.nursery_used() as u64;
        let choice = &mut self.goals.turns.choice;
        choice.look(bytes);
        choice.below |= self.options.without.has(Rule::Both);
        self.abi.turn_left = self.goals.turns.choice.left.into();
        self.abi.limit_after = 0;
    }
    /// P6.
    #[inline(never)]
    fn put_below(&mut self) {
        debug_assert!(self.abi.resumed != 0, "H3: nothing was resumed");
        let builtins = std::mem::replace(&mut self.goals.turns.builtins.start, usize::MAX);
        let level = self.abi.resumed_at;
        let level = self.level(if level >= builtins { self.goals.turns.builtins.end } else { level });
        if let Some((record, goal)) = self.take_one_resumed() {
            self.put_off(record, goal, level, level);
            return self.spend(record, goal_arity(record));
        }
        let first = std::mem::take(&mut self.abi.resumed);
        self.put_list_off(first, level);
        if !self.waiting.resumed_later.is_empty() {
            for list in std::mem::take(&mut self.waiting.resumed_later) {
                self.put_list_off(list, level);
            }
        }
    }
    /// This address, if it is the end of one of the goals near the top of the stack, or else the top.
    #[inline(always)]
    fn level(&self, wanted: usize) -> usize {
        let top = self.abi.goals as usize;
        if wanted >= top {
            return top;
        }
        let mut at = top;
        for _ in 0..MADE_MAX {
            if at <= wanted || self.is_special(at) {
                break;
            }
            at = self.below_top(at);
        }
        if at == wanted { at } else { top }
    }
    #[inline(always)]
    fn put_list_off(&mut self, newest: usize, level: usize) {
        // Each older one above the newer ones.
        let mut above = level;
        self.claim_list(newest, |worker, record, goal| above = worker.put_off(record, goal, level, above));
    }
    /// P6, P7: a goal that goes to `level`, above others that went there. Answers where it ends, if it lies there.
    #[inline(always)]
    fn put_off(&mut self, record: usize, goal: Word, level: usize, above: usize) -> usize {
        let (arity, top) = (goal_arity(record), self.abi.goals as usize);
        debug_assert!(level <= above && above <= top, "P6: below what was there before");
        let bytes = 8 * (arity + 1);
        let other = read(record + 8 * SUSPENSION_PRIORITY).as_int() != self.abi.priority;
        let builtin = goal.bits() < self.abi.first_compiled.bits();
        if builtin && !other && self.goals.turns.builtins.start == usize::MAX {
            self.goals.turns.builtins = Place { start: top, end: level };
        }
        if builtin || other || top > self.abi.goals_limit || !self.note_place(above, bytes) {
            self.push_claimed(record, goal);
            return above;
        }
        if above < top {
            move_words(above, above + bytes, (top - above) / 8);
            self.move_slots(above + bytes..top + bytes, above, bytes as isize);
        }
        copy_few(record + 8 * SUSPENSION_ARGS, above, arity);
        write(above + 8 * arity, goal);
        self.abi.goals = at(top + bytes);
        above + bytes
    }
    /// This number of bytes of goals is about to be put there. False if there are too many places.
    #[inline(always)]
    fn note_place(&mut self, start: usize, bytes: usize) -> bool {
        let (turns, top) = (&mut self.goals.turns, self.abi.goals as usize);
        while turns.places.last().is_some_and(|place| place.start > start || place.end > top) {
            turns.places.pop();
        }
        if start == top {
            return true;
        }
        let places = turns.places.len();
        match turns.places.last_mut() {
            Some(place) if place.end >= start => place.end += bytes,
            _ if places >= PLACES_MAX => return false,
            _ => {
                if turns.places.is_empty() {
                    turns.due = self.abi.heap as usize + TURN_BYTES;
                    self.attention.look_at(turns.due);
                    self.abi.set_limit(self.abi.limit().min(self.attention.soon()));
                }
                turns.places.push(Place { start, end: start + bytes });
            }
        }
        true
    }

    /// P8, if it is time for that; `collected`: since a collection allocation has begun anew.
    #[cold]
    pub(crate) fn take_turn(&mut self, collected: bool) {
        let turns = &mut self.goals.turns;
        if self.options.without.has(Rule::Turns) {
            turns.due = usize::MAX;
        } else if self.abi.heap as usize >= turns.due || collected {
            if !turns.places.is_empty() {
                let place = turns.places.remove(0);
                self.move_to_top(place);
            }
            let turns = &mut self.goals.turns;
            turns.due =
                if turns.places.is_empty() { usize::MAX } else { self.abi.heap as usize + TURN_BYTES };
        }
    }
    /// What lies between two addresses of the stack comes on top, if these are ends of records.
    fn move_to_top(&mut self, Place { start, end }: Place) {
        let top = self.abi.goals as usize;
        debug_assert!(start <= end, "P8: a place that ends before it begins");
        let base = self.goals.segments.last().expect("the lowest segment stays").base;
        // Whatever lies there now: a MARK record stays between the same goals (P4).
        let marked = self.goals.marks.iter().any(|mark| (start..end).contains(mark));
        if end >= top || start < base || marked {
            return;
        }
        let mut at_record = top;
        while at_record > end {
            at_record = self.below_top(at_record);
        }
        let is_end = at_record == end;
        while at_record > start {
            at_record = self.below_top(at_record);
        }
        if !is_end || at_record != start {
            return;
        }
        self.settle_slots(start..top);
        let moved: Vec<Word> = (start..end).step_by(8).map(read).collect();
        move_words(end, start, (top - end) / 8);
        moved.iter().rev().enumerate().for_each(|(i, &word)| write(top - 8 - 8 * i, word));
        let down = end - start;
        for place in &mut self.goals.turns.places {
            place.start -= down;
            place.end -= down;
        }
        self.goals.move_marks(start, down);
    }
}

#[cfg(all(test, not(models)))]
mod tests {
    use super::*;
    use crate::collect::tests::Builder;
    use crate::goals::state::{Choice, MUCH};
    use term::abi::{BOTTOM, PredicateId};

    /// A worker for which no goal is a builtin's and whose resumed goals go below, a predicate of one argument, and
    /// variables.
    fn worker<const N: usize>(builder: &mut Builder) -> (&mut Worker, PredicateId, [Word; N]) {
        let goal = builder.goal[0];
        let worker = builder.node.worker();
        worker.abi.first_compiled = BOTTOM.goal_word();
        worker.goals.turns.choice.below = true;
        worker.abi.turn_left = i64::MAX;
        let variables = [(); N].map(|()| worker.new_variable());
        (worker, goal, variables)
    }
    fn spawn(worker: &mut Worker, goal: PredicateId, number: i64) {
        worker.spawn(goal, &[Word::small(number)]);
    }
    fn wait(worker: &mut Worker, goal: PredicateId, number: i64, variable: Word) {
        spawn(worker, goal, number);
        worker.abi.pending[0] = variable;
        worker.abi.pending_count = 1;
        worker.suspend_top();
    }
    /// Takes all goals off the stack: the numbers of those that run first come first.
    fn run(worker: &mut Worker) -> Vec<i64> {
        let mut numbers = Vec::new();
        while !worker.is_special(worker.abi.goals as usize) {
            numbers.push(worker.pop_goal()[0].as_int());
        }
        numbers
    }

    #[test]
    fn resumed_goals_lie_below_what_the_one_made_that_resumed_them_the_oldest_on_top() {
        let mut builder = Builder::with(1, None);
        let (worker, goal, [a, b]) = worker(&mut builder);
        for (number, variable) in [(3, a), (4, a), (5, b)] {
            wait(worker, goal, number, variable);
        }
        spawn(worker, goal, 6);
        worker.unify(a, Word::NIL);
        spawn(worker, goal, 2);
        spawn(worker, goal, 1);
        worker.put_resumed_off();
        // One of those that it made resumes another one, and makes one.
        assert_eq!(worker.pop_goal()[0].as_int(), 1);
        worker.unify(b, Word::NIL);
        spawn(worker, goal, 1);
        worker.put_resumed_off();
        assert_eq!(run(worker), [1, 5, 2, 3, 4, 6]);
    }

    #[test]
    fn goals_below_one_that_never_ends_have_their_turn() {
        let mut builder = Builder::with(1, None);
        let (worker, goal, [a, b, c]) = worker(&mut builder);
        for (number, variable) in [(1, a), (2, b), (3, c)] {
            wait(worker, goal, number, variable);
        }
        spawn(worker, goal, 6);
        for variable in [a, b] {
            worker.unify(variable, Word::NIL);
            spawn(worker, goal, 5);
            worker.put_resumed_off();
            worker.pop_goal();
        }
        spawn(worker, goal, 5);
        worker.unify(c, Word::NIL);
        spawn(worker, goal, 4);
        worker.put_resumed_off();
        assert_eq!(worker.goals.turns.places.len(), 2);
        worker.take_turn(false);
        assert_eq!(worker.goals.turns.places.len(), 2);
        (0..TURN_BYTES / 64).for_each(|_| _ = worker.allocate(8));
        worker.take_turn(false);
        assert_eq!([(); 2].map(|()| worker.pop_goal()[0].as_int()), [2, 1]);
        (0..TURN_BYTES / 64).for_each(|_| _ = worker.allocate(8));
        worker.take_turn(false);
        assert_eq!(run(worker), [3, 4, 5, 6]);
        assert_eq!(worker.goals.turns.due, usize::MAX);
    }

    #[test]
    fn marks_stay_where_they_are() {
        let mut builder = Builder::with(1, None);
        let (worker, goal, []) = worker(&mut builder);
        let mut ends = Vec::new();
        for number in 0..12 {
            spawn(worker, goal, number);
            ends.push(worker.abi.goals as usize);
            if number == 5 {
                worker.mark_goals(usize::MAX);
            }
        }
        assert_eq!(worker.goals.marks.len(), 1);
        // What lay there when it was noted is no longer there.
        let [below, around, above] =
            [(0, 2), (3, 7), (8, 10)].map(|(first, last)| Place { start: ends[first], end: ends[last] });
        for place in [around, above, below] {
            worker.goals.turns.places = vec![place];
            worker.take_turn(true);
        }
        let mut numbers = Vec::new();
        while read(worker.abi.goals as usize - 8) != BOTTOM.goal_word() {
            let words = worker.pop_goal();
            if words.len() == 1 {
                assert_eq!(worker.goals.marks, [worker.abi.goals as usize]);
                worker.unmark_goals();
            } else {
                numbers.push(words[0].as_int());
            }
        }
        assert_eq!(numbers, [2, 1, 10, 9, 11, 8, 7, 6, 5, 4, 3, 0]);
    }

    #[test]
    fn builtins_come_on_top_and_whom_they_resume_below_what_was_there() {
        let mut builder = Builder::with(1, None);
        let (goal, other) = (builder.goal[0], builder.goal[1]);
        let (worker, _, [a, b]) = worker(&mut builder);
        worker.abi.first_compiled = PredicateId(goal.0.max(other.0)).goal_word();
        let (builtin, compiled) = if goal.0 < other.0 { (goal, other) } else { (other, goal) };
        let arity = |worker: &Worker, goal| worker.predicates.arity(goal);
        let put = |worker: &mut Worker, goal, number| {
            let args = vec![Word::small(number); arity(worker, goal)];
            worker.spawn(goal, &args);
        };
        for (goal, number, variable) in [(builtin, 1, a), (compiled, 3, b)] {
            put(worker, goal, number);
            (worker.abi.pending[0], worker.abi.pending_count) = (variable, 1);
            worker.suspend_top();
        }
        put(worker, compiled, 4);
        worker.unify(a, Word::NIL);
        put(worker, compiled, 2);
        worker.put_resumed_off();
        assert_eq!(worker.pop_goal()[0].as_int(), 1);
        worker.unify(b, Word::NIL);
        worker.put_resumed_off();
        assert_eq!(run(worker), [2, 3, 4]);
    }

    #[test]
    fn a_deep_stack_and_many_places_lose_no_goal() {
        let mut builder = Builder::with(1, None);
        let (worker, goal, []) = worker(&mut builder);
        let count = 3 * PLACES_MAX as i64;
        for number in 0..count {
            let variable = worker.new_variable();
            wait(worker, goal, number, variable);
            worker.unify(variable, Word::NIL);
            // Ever deeper: too much lies above now and then.
            for _ in 0..number % (2 * MADE_MAX as i64) {
                spawn(worker, goal, -1);
            }
            worker.put_resumed_off();
            if number % 7 == 0 {
                worker.take_turn(true);
            }
        }
        let mut numbers = run(worker);
        numbers.retain(|&number| number >= 0);
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..count));
    }

    /// Rounds in which these bytes are allocated for each time that goals are resumed: how many go on top, and below.
    fn rounds(on_top: u64, below: u64, rounds: u32) -> (u32, u32) {
        let (mut choice, mut bytes, mut went) = (Choice::NEW, 0, (0, 0));
        for _ in 0..rounds {
            let each = if choice.below { below } else { on_top };
            *(if choice.below { &mut went.1 } else { &mut went.0 }) += choice.left;
            bytes += u64::from(choice.left) * each;
            choice.look(bytes);
        }
        went
    }
    #[test]
    fn goals_go_where_fewer_of_them_wait() {
        let share = |(on_top, below): (u32, u32)| f64::from(below) / f64::from(on_top + below);
        assert!(share(rounds(100, 100, 20)) < 0.02);
        assert!(share(rounds(100, 80, 20)) < 0.02);
        assert!(share(rounds(100, 150, 200)) > 0.97);
        assert!(share(rounds(100, 2 * MUCH, 200)) > 0.99);
    }
}
