//! What generated code reaches outside its component, as any processor has it: the runtime's helpers, with the places
//! of their operands, and the ends of a reduction.

use std::mem::offset_of;
use term::abi::{Helpers, OPERANDS_MAX, REGISTER_INPUTS, REGISTER_OUTPUTS, SPENT_ARITIES, WorkerAbi};
use term::layout::{GENERATOR, HOOK, SUSPENSION};
use term::word::object_header;

/// Where the helpers' addresses lie in the worker.
pub(crate) const HELPERS: usize = offset_of!(WorkerAbi, helpers);
/// Where a thunk takes a helper's operands: from the end of the worker's operands, whose beginning the inputs of
/// builtins use (predicates have at most 255 arguments, and builtins' helpers two operands).
pub(crate) const fn operand(index: usize) -> usize {
    offset_of!(WorkerAbi, operands) + 8 * (OPERANDS_MAX - 1 - index)
}
/// Of arithmetic the number of the first operand of the two: before it comes the operation's.
pub(crate) const FIRST_OPERAND: usize = 1;
/// Where a thunk leaves a helper's answer.
pub(crate) const ANSWER: usize = operand(0);
/// Where a settling routine takes the arguments that may lead to slots: a bit for each, the lowest for the first.
pub(crate) const SLOTS: usize = operand(0);
const _: () = assert!(term::layout::GOAL_ARITY_MAX + 2 <= OPERANDS_MAX);

/// A helper that generated code calls through a thunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Helper {
    Unify,
    Remember,
    Arith,
    GuardArith,
    Compare,
    Equal,
    Guard,
    Guard1,
    Guard2,
    Guard3,
    Builtin,
    Builtin1,
    Builtin2,
    Builtin3,
    MoveToPriority,
    MoveToNode,
    GrowGoals,
    Pend,
    MoveToPlace,
}

impl Helper {
    pub(crate) const ALL: [Helper; 19] = [
        Helper::Unify,
        Helper::Remember,
        Helper::Arith,
        Helper::GuardArith,
        Helper::Compare,
        Helper::Equal,
        Helper::Guard,
        Helper::Guard1,
        Helper::Guard2,
        Helper::Guard3,
        Helper::Builtin,
        Helper::Builtin1,
        Helper::Builtin2,
        Helper::Builtin3,
        Helper::MoveToPriority,
        Helper::MoveToNode,
        Helper::GrowGoals,
        Helper::Pend,
        Helper::MoveToPlace,
    ];

    /// Where its address lies in the worker.
    pub(crate) fn offset(self) -> usize {
        HELPERS
            + match self {
                Helper::Unify => offset_of!(Helpers, unify),
                Helper::Remember => offset_of!(Helpers, remember),
                Helper::Arith => offset_of!(Helpers, arith),
                Helper::GuardArith => offset_of!(Helpers, guard_arith),
                Helper::Compare => offset_of!(Helpers, compare),
                Helper::Equal => offset_of!(Helpers, equal),
                Helper::Guard => offset_of!(Helpers, guard),
                Helper::Guard1 => offset_of!(Helpers, guard_1),
                Helper::Guard2 => offset_of!(Helpers, guard_2),
                Helper::Guard3 => offset_of!(Helpers, guard_3),
                Helper::Builtin => offset_of!(Helpers, builtin),
                Helper::Builtin1 => offset_of!(Helpers, builtin_1),
                Helper::Builtin2 => offset_of!(Helpers, builtin_2),
                Helper::Builtin3 => offset_of!(Helpers, builtin_3),
                Helper::MoveToPriority => offset_of!(Helpers, move_to_priority),
                Helper::MoveToNode => offset_of!(Helpers, move_to_node),
                Helper::GrowGoals => offset_of!(Helpers, grow_goals),
                Helper::Pend => offset_of!(Helpers, pend),
                Helper::MoveToPlace => offset_of!(Helpers, move_to_place),
            }
    }

    /// Operands after the worker.
    pub(crate) fn operands(self) -> usize {
        match self {
            Helper::GrowGoals => 0,
            Helper::Remember | Helper::Guard | Helper::MoveToNode => 1,
            Helper::Builtin | Helper::Equal | Helper::MoveToPriority | Helper::Pend | Helper::Guard1 => 2,
            Helper::Unify | Helper::GuardArith | Helper::Compare | Helper::MoveToPlace => 3,
            Helper::Guard2 | Helper::Builtin1 => 3,
            Helper::Arith | Helper::Guard3 | Helper::Builtin2 => 4,
            Helper::Builtin3 => 5,
        }
    }

    /// Of helpers for one, two and three inputs in registers the one for a call with these numbers of inputs and
    /// outputs, if they are few enough.
    pub(crate) fn for_few(
        helpers: [Helper; REGISTER_INPUTS],
        inputs: usize,
        outputs: usize,
    ) -> Option<Helper> {
        let index = inputs.checked_sub(1).filter(|_| outputs <= REGISTER_OUTPUTS)?;
        helpers.get(index).copied()
    }

    /// Whether its operands and its answer, two words, are in registers, and it keeps only those that functions keep.
    pub(crate) fn in_registers(self) -> bool {
        use Helper::{Builtin1, Builtin2, Builtin3, Guard1, Guard2, Guard3};
        matches!(self, Guard1 | Guard2 | Guard3 | Builtin1 | Builtin2 | Builtin3)
    }

    /// Whether it leaves a word in [`ANSWER`].
    pub(crate) fn answers(self) -> bool {
        matches!(self, Helper::Arith | Helper::GuardArith | Helper::Compare | Helper::Equal | Helper::Guard)
    }
}

/// Ends of a reduction that leave generated code; tail functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leave {
    /// Attends to resumed goals and starts the goal on top of the stack; if that is not all, returns `Status::Poll`.
    Poll,
    /// The entry of predicates that the runtime implements: reduces the goal and starts the next one; if that is not
    /// all, returns `Status::Native`.
    Native,
    /// Returns `Status::Fail`.
    Fail,
    /// Suspends the goal on top of the stack, which has this number of arguments, on what is `pending`, then starts the
    /// next one.
    Suspend(usize),
    /// The same on one variable, the first in `pending`, whatever `pending_count` says; for goals of fewer than
    /// [`SPENT_ARITIES`] arguments.
    SuspendOne(usize),
    /// The same as these two for a goal of few arguments, of which those that `SLOTS` says may lead to slots (C7 of
    /// `term::abi`).
    Settle(usize),
    SettleOne(usize),
}

impl Leave {
    /// The first has number 0. Suspension of a goal with any number of arguments comes before those of goals with few.
    pub(crate) const FIRST: [Leave; 4] =
        [Leave::Poll, Leave::Native, Leave::Fail, Leave::Suspend(SPENT_ARITIES)];
    pub(crate) const COUNT: usize = Leave::FIRST.len() + 4 * SPENT_ARITIES;

    pub(crate) fn number(self) -> usize {
        match self {
            Leave::Poll => 0,
            Leave::Native => 1,
            Leave::Fail => 2,
            Leave::Suspend(arity) if arity < SPENT_ARITIES => Leave::FIRST.len() + 2 * arity + 1,
            Leave::Suspend(_) => 3,
            Leave::SuspendOne(arity) => Leave::FIRST.len() + 2 * arity,
            Leave::Settle(arity) => Leave::FIRST.len() + 2 * (SPENT_ARITIES + arity) + 1,
            Leave::SettleOne(arity) => Leave::FIRST.len() + 2 * (SPENT_ARITIES + arity),
        }
    }
}

/// Of the headers of what a variable may lead to, only a generator's have it.
pub(crate) const GENERATOR_BIT: u8 = {
    let [generator, hook, suspension] =
        [object_header(GENERATOR, 0), object_header(HOOK, 0), object_header(SUSPENSION, 0)];
    (generator.bits() & !hook.bits() & !suspension.bits()) as u8
};
