//! Slots: arguments of ready goals that goals above them are going to fill (C7 of `term::abi`). Here slots become
//! variables, or are followed to where they move.
//!
//! Invariants:
//! - S1 A word of the goal stack with the tag HEADER leads to a slot, and one with the tag VAR is a slot without a
//!   value. They lie in the same segment, and exactly one word leads to each such slot (or the running goal does). It
//!   lies above the slot, and no MARK between them: so a goal with a slot runs after the one that fills it, and nothing
//!   is filled below `clean` (P4 of `stack`).
//! - S2 What leaves the stack in another way than to be reduced, or changes places, has been *settled* before: fresh
//!   variables went into the slots that it led to, and into it, or into its own slots, and into what led to those. A
//!   record with a slot that stays moves only by as much as what leads to the slot is told.
//! - Records that wait, buckets and messages know no slots.

use crate::memory::ranges::{pointer, read, write};
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
    /// S2: the same for records that leave, the lowest first; and for their own slots.
    pub(crate) fn settle_records(&mut self, records: &[Range<usize>]) {
        records.iter().for_each(|record| self.settle_slots(record.clone()));
        let words = records.iter().flat_map(|record| record.clone().step_by(8));
        let empty: Vec<usize> = words.filter(|&at| is_empty_slot(read(at))).collect();
        let mut left = empty.len();
        // S1: what leads to a slot lies above it.
        let mut at = empty.first().copied().unwrap_or(usize::MAX);
        while left > 0 && at < self.abi.goals as usize {
            let word = read(at);
            if word.tag() == Tag::Header && empty.binary_search(&word.address()).is_ok() {
                self.settle_slots(at..at + 8);
                left -= 1;
            }
            at += 8;
        }
        debug_assert_eq!(left, 0, "S1");
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
                write(at, pointer(Tag::Header, word.address().wrapping_add_signed(bytes)));
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
                write(at, pointer(Tag::Header, moved[found].1));
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
    use crate::goals::state::{NO_PRIORITY, Place};
    use crate::reports::outcome::ErrorKind;
    use crate::sharing::choose::Surplus;
    use term::abi::{BOTTOM, PredicateId};
    use term::word::UNBOUND;

    /// A worker's goal stack, with goals of one argument.
    struct Stack {
        builder: Builder,
        goal: PredicateId,
    }

    impl Stack {
        fn new() -> Stack {
            let mut builder = Builder::with(2, None);
            builder.node.worker().abi.first_compiled = BOTTOM.goal_word();
            let goal = builder.goal[0];
            Stack { builder, goal }
        }
        fn worker(&mut self) -> &mut Worker {
            self.builder.node.worker()
        }
        fn top(&mut self) -> usize {
            self.worker().abi.goals as usize
        }
        fn push(&mut self, argument: Word) {
            let goal = self.goal;
            self.worker().spawn(goal, &[argument]);
        }
        fn numbers(&mut self, numbers: Range<i64>) {
            numbers.for_each(|number| self.push(Word::small(number)));
        }
        /// A goal whose argument is a slot; answers what leads to it.
        fn reader(&mut self) -> Word {
            let slot = self.top();
            self.push(UNBOUND);
            pointer(Tag::Header, slot)
        }
        /// Such a goal, and one on top of it that is going to fill its slot.
        fn pair(&mut self) {
            let slot = self.reader();
            self.push(slot);
        }
        /// The goal on top of the stack stores this where it leads to.
        fn fill_by_top(&mut self, value: i64) {
            let top = self.top();
            let word = read(top - 16);
            assert!(word.tag() == Tag::Header && is_empty_slot(read(word.address())), "{word:?}");
            write(word.address(), Word::small(value));
            self.worker().abi.goals = crate::memory::ranges::at(top - 16);
        }
        fn pop(&mut self) -> Word {
            self.worker().pop_goal()[0]
        }
        fn pop_numbers<const N: usize>(&mut self) -> [i64; N] {
            [(); N].map(|()| self.pop().as_int())
        }
        /// What another worker gets that asks for one goal, settled.
        fn gift(&mut self) -> Vec<Word> {
            // B4 of `choose`: the first look sees nothing that was there before.
            let looks = (0..16).find_map(|_| self.worker().surplus(1, NO_PRIORITY).pop());
            let surplus = looks.expect("there is a goal to spare");
            assert!(matches!(surplus, Surplus::Stack(..)));
            self.worker().settle_surplus(&surplus);
            self.worker().take_surplus(surplus, false).1
        }
    }

    #[test]
    fn a_goal_that_is_popped_and_the_one_with_its_slot_get_the_same_variable() {
        let mut stack = Stack::new();
        stack.pair();
        let variable = stack.pop();
        assert_eq!((variable.tag(), stack.pop()), (Tag::Ref, variable));
    }

    #[test]
    fn slots_survive_collections() {
        let mut stack = Stack::new();
        let slot = stack.reader();
        stack.numbers(1..2);
        stack.push(slot);
        for _ in 0..3 {
            stack.builder.node.collect(0);
        }
        let top = stack.top();
        if stack.worker().is_special(top) {
            stack.worker().pop_goal();
            stack.worker().unmark_goals();
        }
        stack.fill_by_top(5);
        assert_eq!(stack.pop_numbers(), [1, 5]);
    }

    #[test]
    fn slots_are_followed_when_resumed_goals_go_below_them() {
        let mut stack = Stack::new();
        stack.worker().goals.turns.choice.below = true;
        stack.worker().abi.turn_left = i64::MAX;
        let variable = stack.worker().new_variable();
        stack.numbers(3..4);
        let worker = stack.worker();
        (worker.abi.pending[0], worker.abi.pending_count) = (variable, 1);
        worker.suspend_top();
        let old = stack.reader();
        stack.worker().unify(variable, Word::NIL);
        let new = stack.reader();
        stack.push(old);
        stack.push(new);
        stack.worker().put_resumed_off();
        stack.fill_by_top(1);
        stack.fill_by_top(2);
        assert_eq!(stack.pop_numbers(), [1, 3, 2]);
    }

    #[test]
    fn what_comes_on_top_of_the_stack_has_no_slots() {
        let mut stack = Stack::new();
        let start = stack.top();
        let slot = stack.reader();
        let end = stack.top();
        stack.numbers(1..2);
        stack.push(slot);
        stack.worker().goals.turns.places = vec![Place { start, end }];
        stack.worker().take_turn(true);
        let variable = stack.pop();
        assert_eq!(variable.tag(), Tag::Ref);
        assert_eq!((stack.pop(), stack.pop_numbers()), (variable, [1]));
    }

    #[test]
    fn goals_that_are_exchanged_have_no_slots() {
        let mut stack = Stack::new();
        stack.pair();
        stack.worker().swap_top_goals();
        let variable = stack.pop();
        assert_eq!((variable.tag(), stack.pop()), (Tag::Ref, variable));
    }

    #[test]
    fn slots_are_followed_when_goals_between_are_taken() {
        let mut stack = Stack::new();
        let first = stack.reader();
        let start = stack.top();
        stack.numbers(0..3);
        let end = stack.top();
        let second = stack.reader();
        stack.push(first);
        stack.push(second);
        assert_eq!(stack.worker().take_from_stack(0, std::slice::from_ref(&(start..end)), false).len(), 6);
        stack.fill_by_top(2);
        stack.fill_by_top(1);
        assert_eq!(stack.pop_numbers(), [2, 1]);
    }

    #[test]
    fn slots_are_followed_when_a_hole_below_them_is_closed() {
        let mut stack = Stack::new();
        let start = stack.top();
        stack.numbers(0..20);
        let end = stack.top();
        stack.pair();
        stack.worker().take_from_stack(0, std::slice::from_ref(&(start..end)), false);
        assert!(stack.top() < end);
        stack.fill_by_top(4);
        assert_eq!(stack.pop_numbers(), [4]);
    }

    #[test]
    fn a_gift_leads_to_variables_not_to_slots() {
        let mut stack = Stack::new();
        // What awaits its argument waits for what is above it.
        stack.goal = stack.builder.awaiting;
        let slot = stack.reader();
        stack.goal = stack.builder.goal[0];
        stack.push(slot);
        stack.numbers(0..6);
        let gift = stack.gift();
        assert_eq!((gift.len(), gift[0].tag()), (2, Tag::Ref));
        assert_eq!(stack.pop_numbers(), [5, 4, 3, 2, 1, 0]);
        assert_eq!(stack.pop(), gift[0]);
    }

    #[test]
    fn a_gift_with_slots_gets_variables_that_others_fill() {
        let mut stack = Stack::new();
        let [first, second] = [(); 2].map(|()| stack.reader());
        stack.numbers(0..2);
        stack.push(second);
        stack.push(first);
        stack.numbers(2..4);
        // Nothing is found young below that.
        stack.worker().goals.clean = stack.top();
        let gift = stack.gift();
        assert_eq!((gift.len(), gift[0].tag()), (2, Tag::Ref));
        assert_eq!(stack.pop_numbers(), [3, 2]);
        let leads = stack.top() - 16;
        assert!(stack.worker().goals.clean <= leads);
        assert_eq!(stack.pop(), gift[0]);
        stack.fill_by_top(7);
        assert_eq!(stack.pop_numbers(), [1, 0, 7]);
    }

    #[test]
    fn goals_that_fill_each_others_slots_may_leave_together() {
        let mut stack = Stack::new();
        let start = stack.top();
        let slot = stack.reader();
        let middle = stack.top();
        stack.push(slot);
        stack.pair();
        let end = stack.top();
        let records = [start..middle, middle..middle + 16, middle + 16..middle + 32];
        stack.worker().settle_records(&records);
        let words: Vec<Word> = (start..end).step_by(16).map(read).collect();
        assert!(words.iter().all(|word| word.tag() == Tag::Ref), "{words:?}");
        assert!(words[0] == words[1] && words[2] == words[3] && words[0] != words[2], "{words:?}");
    }

    #[test]
    fn a_report_shows_a_variable_in_the_place_of_a_slot() {
        let mut stack = Stack::new();
        stack.pair();
        stack.worker().fail_top(ErrorKind::ReductionFailure, "it fails");
        let error = stack.worker().ending.take_error().expect("it was reported");
        assert_eq!(error.goal.text, "main:one(_1)");
    }
}
