//! Slots: arguments of ready goals that goals above them are going to fill (C7 of `term::abi`). Here slots become
//! variables, or are followed to where they move.
//!
//! Invariants:
//! - S1 A word of the goal stack with the tag HEADER leads to a slot, and one with the tag VAR is a slot without a
//!   value. They lie in the same segment, and exactly one word leads to each such slot (or the running goal does). It
//!   lies above the slot, and no MARK between them: so a goal with a slot runs after the one that fills it, and nothing
//!   is filled below `clean` (P4 of `stack`).
//! - S2 What leaves the stack in another way than to be reduced, or changes places, has been *settled* before: a fresh
//!   variable went into the slots that it led to, and into it. A record with a slot that has no value stays where it
//!   is, or only moves by as much as what leads to it is told.
//! - S3 Records that wait, buckets and messages know no slots.

use crate::memory::ranges::{read, write};
use crate::worker::Worker;
use std::ops::Range;
use term::Word;
use term::word::Tag;

/// Whether a word is a slot without a value.
#[inline(always)]
pub(crate) fn is_empty_slot(word: Word) -> bool {
    word.tag() == Tag::Var
}

impl Worker {
    /// S2: variables for the slots that the words at these addresses lead to.
    pub(crate) fn settle_slots(&mut self, records: Range<usize>) {
        for at in records.step_by(8) {
            let word = read(at);
            if word.tag() != Tag::Header {
                continue;
            }
            let slot = word.address();
            debug_assert!(slot < at && is_empty_slot(read(slot)), "S1");
            let variable = self.new_variable();
            write(slot, variable);
            write(at, variable);
            self.goals.clean = self.goals.clean.min(slot);
        }
    }
    /// The same for the goal on top of the stack.
    pub(crate) fn settle_top(&mut self) {
        let top = self.abi.goals as usize;
        self.settle_slots(self.below_top(top)..top - 8);
    }
    /// The same for all ready goals of the running priority.
    pub(crate) fn settle_all(&mut self) {
        let base = self.goals.segments.last().expect("the lowest segment stays").base;
        self.settle_slots(base..self.abi.goals as usize);
    }
    /// What now lies at these addresses has moved up by a number of bytes (down, if it is negative): the slots that it
    /// leads to, if they lay at `start` or above, have, too.
    pub(crate) fn move_slots(&mut self, moved: Range<usize>, start: usize, bytes: isize) {
        for at in moved.step_by(8) {
            let word = read(at);
            if word.tag() == Tag::Header && word.address() >= start {
                write(at, Word::pointer(Tag::Header, word.address().wrapping_add_signed(bytes)));
            }
        }
    }
    /// Slots have moved from one address to another (in their order): what leads to them lies among these words.
    pub(super) fn lead_to_slots(&mut self, words: Range<usize>, moved: &[(usize, usize)]) {
        let mut left = moved.len();
        for at in words.step_by(8) {
            if left == 0 {
                return;
            }
            let word = read(at);
            if word.tag() == Tag::Header
                && let Ok(found) = moved.binary_search_by_key(&word.address(), |slot| slot.0)
            {
                write(at, Word::pointer(Tag::Header, moved[found].1));
                left -= 1;
            }
        }
        debug_assert_eq!(left, 0, "S1");
    }
}

#[cfg(all(test, not(models)))]
mod tests {
    use super::*;
    use crate::collect::tests::Builder;
    use crate::goals::state::{Choice, NO_PRIORITY, Place};
    use crate::reports::outcome::ErrorKind;
    use term::abi::{BOTTOM, PredicateId};
    use term::word::UNBOUND;

    fn worker(builder: &mut Builder) -> (&mut Worker, PredicateId) {
        let goal = builder.goal[0];
        let worker = builder.node.worker();
        worker.first_compiled = BOTTOM;
        (worker, goal)
    }
    /// A goal whose argument is a slot.
    fn reader(worker: &mut Worker, goal: PredicateId) -> Word {
        let slot = worker.abi.goals as usize;
        worker.spawn(goal, &[UNBOUND]);
        Word::pointer(Tag::Header, slot)
    }
    fn number(worker: &mut Worker, goal: PredicateId, number: i64) {
        worker.spawn(goal, &[Word::small(number)]);
    }
    /// The goal on top of the stack stores this where it leads to.
    fn fill_by_top(worker: &mut Worker, value: i64) {
        let top = worker.abi.goals as usize;
        let word = read(top - 16);
        assert!(word.tag() == Tag::Header && is_empty_slot(read(word.address())), "{word:?}");
        write(word.address(), Word::small(value));
        worker.abi.goals = crate::memory::ranges::at(top - 16);
    }
    fn pop(worker: &mut Worker) -> i64 {
        worker.pop_goal()[0].as_int()
    }

    #[test]
    fn a_goal_that_is_popped_and_the_one_with_its_slot_get_the_same_variable() {
        let mut builder = Builder::with(1, None);
        let (worker, goal) = worker(&mut builder);
        let slot = reader(worker, goal);
        worker.spawn(goal, &[slot]);
        let variable = worker.pop_goal()[0];
        assert_eq!((variable.tag(), worker.pop_goal()[0]), (Tag::Ref, variable));
    }

    #[test]
    fn slots_survive_collections() {
        let mut builder = Builder::with(1, None);
        let (worker, goal) = worker(&mut builder);
        let slot = reader(worker, goal);
        number(worker, goal, 1);
        worker.spawn(goal, &[slot]);
        for _ in 0..3 {
            builder.node.collect(0);
        }
        let worker = builder.node.worker();
        if worker.is_special(worker.abi.goals as usize) {
            worker.pop_goal();
            worker.unmark_goals();
        }
        fill_by_top(worker, 5);
        assert_eq!([pop(worker), pop(worker)], [1, 5]);
    }

    #[test]
    fn slots_are_followed_when_resumed_goals_go_below_them() {
        let mut builder = Builder::with(1, None);
        let (worker, goal) = worker(&mut builder);
        worker.goals.turns.choice = Choice { below: true, left: u32::MAX, ..Choice::NEW };
        let variable = worker.new_variable();
        number(worker, goal, 3);
        (worker.abi.pending[0], worker.abi.pending_count) = (variable, 1);
        worker.suspend_top();
        let old = reader(worker, goal);
        worker.unify(variable, Word::NIL);
        let new = reader(worker, goal);
        worker.spawn(goal, &[old]);
        worker.spawn(goal, &[new]);
        worker.put_resumed_off();
        fill_by_top(worker, 1);
        fill_by_top(worker, 2);
        assert_eq!([(); 3].map(|()| pop(worker)), [1, 3, 2]);
    }

    #[test]
    fn what_comes_on_top_of_the_stack_has_no_slots() {
        let mut builder = Builder::with(1, None);
        let (worker, goal) = worker(&mut builder);
        let start = worker.abi.goals as usize;
        let slot = reader(worker, goal);
        let end = worker.abi.goals as usize;
        number(worker, goal, 1);
        worker.spawn(goal, &[slot]);
        worker.goals.turns.places = vec![Place { start, end }];
        worker.take_turn(true);
        let variable = worker.pop_goal()[0];
        assert_eq!(variable.tag(), Tag::Ref);
        assert_eq!((worker.pop_goal()[0], pop(worker)), (variable, 1));
    }

    #[test]
    fn goals_that_are_exchanged_have_no_slots() {
        let mut builder = Builder::with(1, None);
        let (worker, goal) = worker(&mut builder);
        let slot = reader(worker, goal);
        worker.spawn(goal, &[slot]);
        worker.swap_top_goals();
        let variable = worker.pop_goal()[0];
        assert_eq!((variable.tag(), worker.pop_goal()[0]), (Tag::Ref, variable));
    }

    #[test]
    fn slots_are_followed_when_goals_between_are_taken() {
        let mut builder = Builder::with(1, None);
        let (worker, goal) = worker(&mut builder);
        let first = reader(worker, goal);
        let start = worker.abi.goals as usize;
        (0..3).for_each(|n| number(worker, goal, n));
        let end = worker.abi.goals as usize;
        let second = reader(worker, goal);
        worker.spawn(goal, &[first]);
        worker.spawn(goal, &[second]);
        assert_eq!(worker.take_from_stack(0, std::slice::from_ref(&(start..end))).len(), 6);
        fill_by_top(worker, 2);
        fill_by_top(worker, 1);
        assert_eq!([pop(worker), pop(worker)], [2, 1]);
    }

    #[test]
    fn slots_are_followed_when_a_gap_below_them_is_closed() {
        let mut builder = Builder::with(1, None);
        let (worker, goal) = worker(&mut builder);
        let start = worker.abi.goals as usize;
        (0..20).for_each(|n| number(worker, goal, n));
        let end = worker.abi.goals as usize;
        let slot = reader(worker, goal);
        worker.spawn(goal, &[slot]);
        worker.take_from_stack(0, std::slice::from_ref(&(start..end)));
        assert!((worker.abi.goals as usize) < end);
        fill_by_top(worker, 4);
        assert_eq!(pop(worker), 4);
    }

    #[test]
    fn a_gift_leads_to_variables_and_a_goal_with_a_slot_is_none() {
        let mut builder = Builder::with(2, None);
        let (worker, goal) = worker(&mut builder);
        let slot = reader(worker, goal);
        worker.spawn(goal, &[slot]);
        (0..6).for_each(|n| number(worker, goal, n));
        let mut surplus = Vec::new();
        while surplus.is_empty() {
            surplus = worker.surplus(1, NO_PRIORITY);
        }
        let part = surplus.pop().expect("there is one");
        worker.settle_surplus(&part);
        let (_, words) = worker.take_surplus(part);
        assert_eq!((words.len(), words[0].tag()), (2, Tag::Ref));
        (0..6).rev().for_each(|n| assert_eq!(pop(worker), n));
        assert_eq!(worker.pop_goal()[0], words[0]);
    }

    #[test]
    fn a_report_shows_a_variable_in_the_place_of_a_slot() {
        let mut builder = Builder::with(1, None);
        let (worker, goal) = worker(&mut builder);
        let slot = reader(worker, goal);
        worker.spawn(goal, &[slot]);
        worker.fail_top(ErrorKind::ReductionFailure, "it fails");
        let error = worker.ending.take_error().expect("it was reported");
        assert_eq!(error.goal, "main:one(_1)");
    }
}
