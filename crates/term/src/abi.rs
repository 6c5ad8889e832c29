//! The contract between generated code and the runtime.
//!
//! # Generated code
//! Every predicate has one entry: code that is jumped to as if it were
//! `fn(worker: *mut WorkerAbi, heap: *mut Word, goals: *mut Word) -> Status` of the system's convention, except that it
//! keeps no register and runs in the stack frame of whoever entered generated code. `heap` is the allocation pointer,
//! `goals` points one word past the top of the goal stack. The goal itself is the top record of that stack (C1), so
//! an entry first loads its arguments and pops the record.
//!
//! A *goal word* is `Word::small(predicate number)`: shifted left by 3, so that it is also the byte offset
//! of the predicate's address in [`WorkerAbi::entries`].
//! ```text
//! goal stack, growing upwards:   ..[arg 1]..[arg n][goal word]   <- goals
//! ```
//! Invariants:
//! - C1 Whoever enters generated code (the scheduler, or `proceed`: load the goal word under `goals`, load its
//!   address from `entries`, jump) leaves the goal's record on top of the stack.
//! - C2 Before a call of a helper, and before every return, `heap` and `goals` are stored in the worker;
//!   after a call of a helper that may change them they are loaded again (each helper says which).
//! - C3 At every reduction generated code compares `heap` with [`WorkerAbi::limit`]; above it, it pushes the goal
//!   back and returns [`Status::Poll`]. Below it there are always [`SLACK_WORDS`] free words, so a clause that
//!   needs no more does not compare again. A clause that needs more compares `heap + need` and stores the
//!   need in [`WorkerAbi::need`], and 0 in `limit_after` (C8); it calls no helper that allocates.
//!   A suspension takes at most [`SLACK_WORDS`], too, and is made before a clause has allocated.
//! - C4 Everything that wants the worker's attention (collection, resumed goals, a goal of higher priority,
//!   signals, timers) lowers `limit` to 0.
//! - C5 Above `goals_limit` there is always room for [`GOAL_SLACK_WORDS`] words: generated code compares once per
//!   reduction that pushes, and pushing a goal back (interrupt, suspension, failure) needs no test.
//! - C6 Generated code binds a cell only if the cell is *private*: [`WorkerAbi::is_private`] says so. A private
//!   cell is in the nursery, so what is stored in it never has to be remembered; binding any other cell, or making a
//!   goal wait for it, is a helper's work. Cells that the running goal made itself since it started are private and
//!   need no test. Into any cell with a REF that leads to an integer, generated code may write that integer:
//!   whoever reads the cell meanwhile comes to the same value, nobody else writes there but the same, and an integer
//!   never has to be remembered.
//! - C7 An argument in a record may be a *slot*: a place that a goal above it on the stack is going to fill. Until then
//!   it holds `UNBOUND`. The goal above has the slot's address with the tag HEADER as an argument. It stores a value
//!   there, or passes the argument on to one goal that takes a slot there. Generated code puts a new variable into both
//!   places before such a goal waits. So none of the two is ever the argument of a goal that runs elsewhere.
//! - C8 If all that wants attention is one resumed goal of the running priority, which waited for one variable and has
//!   code of the program's, in a record that is private and of few arguments, generated code makes it ready itself:
//!   it sets `limit` to [`WorkerAbi::limit_after`], then looks at `woken` and `poked` (K2 of the runtime's `waker`, T7
//!   of its `team`), and then takes the goal from `resumed`. Otherwise it calls `attend`. While anything else is
//!   wanted or goals of a second variable were resumed, `limit_after` is 0, so that no heap is below it.

use crate::word::{self, TAG_BITS, Tag, Word};
use std::borrow::Cow;
use std::marker::PhantomPinned;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Free words above `WorkerAbi::limit` (C3).
pub const SLACK_WORDS: usize = 1024;
/// Free goal-stack words above `WorkerAbi::goals_limit` (C5).
pub const GOAL_SLACK_WORDS: usize = 4096;
/// Bytes of the address range whose cells are private to a worker (C6).
pub const PRIVATE_BYTES: usize = if cfg!(miri) { 256 << 10 } else { 64 << 20 };
/// Operands that fit in `WorkerAbi::operands`: a goal's arguments, and behind them those of the helper itself.
pub const OPERANDS_MAX: usize = 260;
/// Words of [`WorkerAbi::registers`].
pub const REGISTERS_MAX: usize = 1 << 18;
/// Inputs of a builtin that helpers take in registers, at most: with more it goes through `WorkerAbi::operands`.
pub const REGISTER_INPUTS: usize = 3;
/// Outputs of such a builtin, at most.
pub const REGISTER_OUTPUTS: usize = 3;

/// Why generated code came back to the scheduler. `goals` and `heap` are stored (C2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Status {
    /// C3/C4: the goal on top of the stack did not start; something needs attention.
    Poll = 0,
    /// The goal on top of the stack is implemented in the runtime, and something needs attention.
    Native = 1,
    /// No clause of the goal on top of the stack can commit: reduction failure.
    Fail = 2,
    /// A helper reported an error that ends the program; the worker keeps it.
    Error = 3,
}

/// A guard's answer, as a word: `NO`, `YES`, or a REF to the unbound variable to wait for.
pub mod answer {
    use crate::word::Word;
    /// The guard fails.
    pub const NO: Word = Word::small(0);
    /// The guard succeeds.
    pub const YES: Word = Word::small(1);
}

/// Integer operations, in guards and bodies. The number is the helper's operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum IntOp {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    Neg,
    Not,
}

/// Integer comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Cond {
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
}

/// Number of a predicate: index into the entries table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct PredicateId(pub u32);

impl PredicateId {
    /// The goal word of this predicate.
    pub const fn goal_word(self) -> Word {
        Word::small(self.0 as i64)
    }
    /// The predicate of a goal word.
    pub const fn of_goal_word(word: Word) -> PredicateId {
        PredicateId(word.as_int() as u32)
    }
}

/// Where something stands in the program text: a line of the file that a predicate is in. It fits in a small integer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Position(u64);

impl Position {
    /// Nowhere that is known.
    pub const NONE: Position = Position(0);
    const LINE_BITS: u32 = 24;

    /// A line of a predicate's file; none for lines beyond 2^24.
    pub const fn new(predicate: PredicateId, line: u32) -> Position {
        if line >> Self::LINE_BITS != 0 {
            return Position::NONE;
        }
        Position((predicate.0 as u64) << Self::LINE_BITS | line as u64)
    }
    /// Nowhere in a text: a builtin makes it, whose goal says by its predicate what it is.
    pub const fn made_by(predicate: PredicateId) -> Position {
        Position::new(predicate, 0)
    }
    /// The predicate whose file it is; `None` if the position is none.
    pub fn predicate(self) -> Option<PredicateId> {
        (self != Position::NONE).then_some(PredicateId((self.0 >> Self::LINE_BITS) as u32))
    }
    /// The line, from 1.
    pub const fn line(self) -> u32 {
        self.0 as u32 & ((1 << Self::LINE_BITS) - 1)
    }
    /// As generated code passes it.
    pub const fn bits(self) -> u64 {
        self.0
    }
    /// As a word, and back: [`Position::of_word`].
    pub const fn word(self) -> Word {
        Word::small(self.0 as i64)
    }
    /// The position that [`Position::word`] made a word of.
    pub const fn of_word(word: Word) -> Position {
        Position(word.as_int() as u64)
    }
}

/// Where a builtin may be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// In guards only: answers yes, no, or the variable to wait for; no effects.
    Guard,
    /// In bodies, by its bare name, at once when its inputs are there; as a goal when they are not.
    Body,
    /// The same, but only through its module's name.
    Method,
    /// A predicate of a module that the runtime implements; always a goal of its own.
    Goal,
}

/// The module of what only the runtime makes goals of: no program can name it.
pub const INNER: &str = "fifth";

/// The signature of a builtin. The runtime lists them with their implementations; the compiler only sees these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Builtin {
    /// The module through which it may be called (and under which messages show it).
    pub module: Cow<'static, str>,
    /// Its name.
    pub name: Cow<'static, str>,
    /// One letter per argument: `i` waited for (bound, not what is in it), `o` output, `a` any (not waited for).
    pub modes: Cow<'static, str>,
    /// Where it may be called.
    pub place: Place,
    /// Its goals may stay suspended at the end without being reported (stream servers, mergers).
    pub daemon: bool,
}

impl Builtin {
    /// The arguments (a bit each, of the first 64) that it waits for.
    pub fn awaits(&self) -> u64 {
        let modes = self.modes.bytes().take(64).enumerate();
        modes.fold(0, |awaits, (i, mode)| awaits | u64::from(mode == b'i') << i)
    }
}

/// Records of goals with fewer arguments are used again ([`WorkerAbi::spent`]).
pub const SPENT_ARITIES: usize = 16;

/// A REF word as C6 compares it: its address in words, and its tag in the highest bits. So one comparison of a word's
/// distance from a REF tells both that it is a REF and where it leads: the bits of any other tag make it far too great.
pub const fn private_place(reference: usize) -> usize {
    reference.rotate_right(TAG_BITS)
}

/// The part of a worker that generated code knows. The runtime's worker begins with it.
#[repr(C)]
pub struct WorkerAbi {
    /// C3: the highest `heap` at which a reduction may start. Atomic because other threads lower it, too (C4).
    /// Relaxed: it is a hint to look at what has an order of its own.
    pub limit: AtomicUsize,
    /// C5: the highest `goals` at which pushing may start.
    pub goals_limit: usize,
    /// Addresses of the predicates' entries, by predicate number.
    pub entries: *const usize,
    /// Constants of the program (strings, floats, big integers, ground terms), by constant number.
    pub constants: *const Word,
    /// The lowest address of a private cell (C6), as [`private_place`] has it: the nursery's base, or what was its top
    /// when other workers last got to see it.
    pub private_base: usize,
    /// C2: the allocation pointer while the runtime runs.
    pub heap: *mut Word,
    /// C2: the goal stack's top while the runtime runs.
    pub goals: *mut Word,
    /// The newest record that waited for the first variable bound since the last attention, or 0. Generated code that
    /// binds a private variable (C6) which goals wait for stores it here if it was 0 and the record is no generator,
    /// and stores 0 in `limit`.
    pub resumed: usize,
    /// The goal stack's top when that was stored: above it lies what the goal has made that bound the variable.
    pub resumed_at: usize,
    /// The newest suspension since the last collection, or 0 (`term::layout`).
    pub suspensions: usize,
    /// How often the record of another goal was used again for a goal that waits, and is in that list already.
    pub reused: u64,
    /// More than that is wanted since the last attention ([`WorkerAbi::want_attention`]). The runtime's own.
    pub more_wanted: bool,
    /// C8: what `limit` is when the resumed goal is ready, or 0: then that is not generated code's work.
    pub limit_after: usize,
    /// C8: leads to a byte that is not 0 if the outside world wants attention.
    pub woken: *const u8,
    /// C8: the same of other workers. Code for one worker alone looks neither there nor at `turn_left`.
    pub poked: *const u8,
    /// C8: how many times goals may still be made ready until `attend` is to think of where they go.
    pub turn_left: i64,
    /// How many goals generated code has made ready.
    pub made_ready: u64,
    /// The goal word of the first predicate that is no builtin.
    pub first_compiled: Word,
    /// C3: words that the clause about to run needs, when more than [`SLACK_WORDS`].
    pub need: usize,
    /// Reductions, counted when the code was generated with counting on.
    pub reductions: u64,
    /// The priority of the running goal.
    pub priority: i64,
    /// Number of entries in `pending`.
    pub pending_count: usize,
    /// Variables that blocked a clause of the goal that is being tried: the first ones, if there are more (helper
    /// `pend`).
    pub pending: [Word; OPERANDS_MAX],
    /// Inputs, then outputs, of `builtin` and `guard` helpers, as far as they are not in registers.
    pub operands: [Word; OPERANDS_MAX],
    /// Records (`term::layout`) that are in the list of `suspensions`, but whose goals were resumed, and to which
    /// nothing else leads, by the number of arguments: the newest, whose `SUSPENSION_NEXT` is the address of the next
    /// one, or 0.
    pub spent: [usize; SPENT_ARITIES],
    /// The runtime's functions that generated code calls.
    pub helpers: Helpers,
    /// At this number of `reductions` no reduction starts: metered code leaves as at the limit (C3).
    pub reductions_limit: u64,
    /// Where the code of a large predicate keeps registers that its functions share: [`REGISTERS_MAX`] words, which it
    /// writes before it reads them. Nothing in them is needed after a return.
    pub registers: *mut Word,
    /// A worker is used through `&mut` while other threads store to `limit`: so its references must not count as the
    /// only ones, as those to what may move do.
    pub pinned: PhantomPinned,
}

impl WorkerAbi {
    /// C6: makes an address the lowest of a private cell.
    #[inline(always)]
    pub fn set_private_base(&mut self, base: usize) {
        self.private_base = private_place(base + Tag::Ref as usize);
    }
    /// C6: whether the cell at an address is private.
    #[inline(always)]
    pub fn is_private(&self, cell: usize) -> bool {
        private_place(cell + Tag::Ref as usize).wrapping_sub(self.private_base) < PRIVATE_BYTES >> TAG_BITS
    }
    /// C3.
    #[inline(always)]
    pub fn limit(&self) -> usize {
        self.limit.load(Relaxed)
    }
    /// Forgets every wish for attention until now, and perhaps one made meanwhile.
    #[inline(always)]
    pub fn set_limit(&self, limit: usize) {
        self.limit.store(limit, Relaxed);
    }
    /// C4: no reduction starts before the worker has attended.
    #[inline(always)]
    pub fn want_attention(&mut self) {
        self.more_wanted = true;
        self.limit_after = 0;
        self.set_limit(0);
    }
    /// The same, if nothing is wanted but that resumed goals are made ready.
    #[inline(always)]
    pub fn want_resumption(&self) {
        self.set_limit(0);
    }
}

/// Functions that generated code calls, with the C convention. "Uses" names what must be stored before (C2); "changes"
/// what must be loaded after. None of them unwinds.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Helpers {
    /// `X = Y` in a body, whatever they are: binds (and remembers), resumes, or compares; a failure becomes a goal
    /// that fails. Uses heap and goals, changes neither. The position is where it stands in the text.
    pub unify: unsafe extern "C" fn(*mut WorkerAbi, Word, Word, Position),
    /// An old vector was given a young element: remember the slot's address. Changes nothing.
    pub remember: unsafe extern "C" fn(*mut WorkerAbi, usize),
    /// Body arithmetic when the fast path does not apply (`op` is an [`IntOp`]; unary ones ignore the second operand).
    /// Answers the value; a REF to a fresh variable when an operand is unbound or of a wrong type (a goal then
    /// computes or reports it). Uses and changes heap and goals.
    pub arith: unsafe extern "C" fn(*mut WorkerAbi, u64, Word, Word, Position) -> Word,
    /// Guard arithmetic when the fast path does not apply: the value; [`GUARD_FAILS`] when the guard fails; a REF to
    /// wait for. Uses and changes heap.
    pub guard_arith: unsafe extern "C" fn(*mut WorkerAbi, u64, Word, Word) -> Word,
    /// Guard comparison (`cond` is a [`Cond`]) when an operand is not a small integer: an [`answer`]. Changes nothing.
    pub compare: unsafe extern "C" fn(*mut WorkerAbi, u64, Word, Word) -> Word,
    /// Guard `A = B`, whatever the terms are: an [`answer`]. Uses heap and goals, changes neither.
    pub equal: unsafe extern "C" fn(*mut WorkerAbi, Word, Word) -> Word,
    /// Guard builtin `predicate` with inputs in `operands`: an [`answer`]; on yes the outputs stand in `operands`
    /// from index 0. Uses and changes heap.
    pub guard: unsafe extern "C" fn(*mut WorkerAbi, u64) -> Word,
    /// The same with one, two or three inputs ([`REGISTER_INPUTS`]) in registers: the [`answer`], and the first output.
    /// Others, of [`REGISTER_OUTPUTS`] at most, stand in `operands` from index 1.
    pub guard_1: unsafe extern "C" fn(*mut WorkerAbi, u64, Word) -> Two,
    /// See `guard_1`.
    pub guard_2: unsafe extern "C" fn(*mut WorkerAbi, u64, Word, Word) -> Two,
    /// See `guard_1`.
    pub guard_3: unsafe extern "C" fn(*mut WorkerAbi, u64, Word, Word, Word) -> Two,
    /// Body builtin `predicate` with inputs (modes `i` and `a`, in order) in `operands`; afterwards the outputs stand
    /// there from index 0. What cannot be computed yet, or is wrong, becomes a goal and the outputs fresh variables.
    /// Uses and changes heap and goals.
    pub builtin: unsafe extern "C" fn(*mut WorkerAbi, u64, Position),
    /// The same with one, two or three inputs in registers: the first two outputs. A third one stands in `operands` at
    /// index 2.
    pub builtin_1: unsafe extern "C" fn(*mut WorkerAbi, u64, Position, Word) -> Two,
    /// See `builtin_1`.
    pub builtin_2: unsafe extern "C" fn(*mut WorkerAbi, u64, Position, Word, Word) -> Two,
    /// See `builtin_1`.
    pub builtin_3: unsafe extern "C" fn(*mut WorkerAbi, u64, Position, Word, Word, Word) -> Two,
    /// The variable with this number (counted in bytes, from 0) that blocks the goal that is being tried, when
    /// `pending` has no place for it. Changes nothing.
    pub pend: unsafe extern "C" fn(*mut WorkerAbi, Word, usize),
    /// Something wants attention (C4). True if only resumed goals did: they are on the stack now, and the goal on top
    /// of it is next; false if the scheduler is needed. Uses heap and goals, changes goals.
    pub attend: unsafe extern "C" fn(*mut WorkerAbi) -> bool,
    /// Reduces the goal on top of the stack, which the runtime implements. True: the goal on top of the stack is next;
    /// false if the scheduler is needed. Uses and changes heap and goals.
    pub native: unsafe extern "C" fn(*mut WorkerAbi) -> bool,
    /// The goal on top of the stack suspends on `pending_count` variables (not 0): those in `pending`, then those that
    /// `pend` was told; pops it. Resets `pending_count`.
    /// If one of them has a value by now (a generator made it), the goal stays and `limit` is lowered.
    /// Uses heap and goals, changes both.
    pub suspend: unsafe extern "C" fn(*mut WorkerAbi),
    /// The goal on top of the stack is to run at another priority: moves it there. The second operand says how to
    /// read the third (an INT word, or REF: then the goal waits for it): 0 absolute, 1 current minus it. Uses and
    /// changes both.
    pub move_to_priority: unsafe extern "C" fn(*mut WorkerAbi, u64, Word),
    /// The goal on top of the stack has `@node(N)`; N is the second operand. On one node: keeps the goal, but if N is
    /// unbound the goal waits for it. Uses and changes both.
    pub move_to_node: unsafe extern "C" fn(*mut WorkerAbi, Word),
    /// The goal on top of the stack has `@node(N)`, the second operand, and a priority, the others as of
    /// `move_to_priority`: it goes to both, whichever of the two has to be waited for. Uses and changes both.
    pub move_to_place: unsafe extern "C" fn(*mut WorkerAbi, Word, u64, Word),
    /// Goal stack at its limit: makes room for at least [`GOAL_SLACK_WORDS`] more. Uses and changes goals.
    pub grow_goals: unsafe extern "C" fn(*mut WorkerAbi),
}

/// Two words that a helper answers in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Two(pub Word, pub Word);

/// What `guard_arith` answers when the guard fails: never a value (W1).
pub const GUARD_FAILS: Word = word::NO_VALUE;

/// Predicate number of the record at the bottom of a goal stack (arity 0, native): nothing is left to run.
pub const BOTTOM: PredicateId = PredicateId(0);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_survive_as_words() {
        let most = (1 << Position::LINE_BITS) - 1;
        for (predicate, line) in [(1, 1), (u32::MAX, most), (7, most)] {
            let position = Position::of_word(Position::new(PredicateId(predicate), line).word());
            assert_eq!((position.predicate(), position.line()), (Some(PredicateId(predicate)), line));
        }
        assert_eq!(Position::new(PredicateId(1), most + 1), Position::NONE);
        assert_eq!(Position::NONE.predicate(), None);
    }
}
