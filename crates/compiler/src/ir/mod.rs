//! The intermediate representation: what generated code does, without saying how a machine does it.
//!
//! For: the operations, their text form, their verifier, and what a predicate awaits and reads.
//! It may know: the ABI (`term`).
//! It never: knows clauses, or how the code came about.
//!
//! A *component* is a set of predicates that become one native function: they reach each other by jumps.
//! It has one set of virtual registers (assigned any number of times) and a graph of blocks.
//!
//! Invariants (the verifier checks them):
//! - I1 Every register is assigned on every path before it is read.
//! - I2 A register holds a value (term::word W1): `Car`, `Cdr`, `Arg` turn an unbound cell into a REF to it.
//! - I3 Each entry block starts with `Poll`, the only place where a goal may be interrupted; nothing else in a
//!   reduction gives up control before `Push`ed goals and the block's end.
//! - I4 Between `Poll` and the end of the reduction the build operations (`Cons`, `Struct`, `Var`) take at most
//!   `Poll::need` words on every path. If `need > SLACK_WORDS`, no `Arith`, `Builtin`, `GuardArith` or `GuardCall`
//!   follows.
//! - I5 The row of a `Column` and the node of a `Lookup` were found in the same table, or the node is 0.
//! - I6 A `Slot` is an argument of one goal that is pushed, and after that of one that is pushed or comes next and
//!   takes a slot there. Between them goals are pushed and terms are made, and nothing else happens.
//! - I7 A predicate that takes a slot binds it once (`Fill`, `Put`), or passes it on once to a goal that takes one, on
//!   each path that commits, and does nothing else with it. So when the goal with the slot in its record is next, it
//!   holds a value.
//! - I8 Before a goal that may have got a slot waits, it makes a variable of it (`Settle`).

pub(crate) mod awaits;
pub(crate) mod reads;
pub(crate) mod slots;
pub mod text;
pub mod verify;

use term::Atom;
use term::abi::{Cond, IntOp, Position, PredicateId};

pub use term::constant::Constant;

/// A virtual register of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reg(pub u32);

/// A block of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(pub u32);

/// Index of a constant of the program (counted from the node's first one: see [`Program::first_constant`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConstantId(pub u32);

/// A compiled program (or an increment of one, in the REPL).
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Number of constants that existed before; `constants[0]` has this number.
    pub first_constant: u32,
    /// Terms that code refers to.
    pub constants: Vec<Constant>,
    /// The predicates defined here, with consecutive numbers.
    pub predicates: Vec<Predicate>,
    /// Every predicate is an entry of exactly one component.
    pub components: Vec<Component>,
}

/// What messages and the scheduler know of a predicate.
#[derive(Clone, Debug)]
pub struct Predicate {
    /// Its number.
    pub id: PredicateId,
    /// Its module.
    pub module: Atom,
    /// Its name.
    pub name: Atom,
    /// Number of arguments.
    pub arity: u32,
    /// File of its first clause, as the user gave it.
    pub file: String,
    /// Line of its first clause.
    pub line: u32,
    /// Its goals may stay suspended at the end.
    pub daemon: bool,
    /// Made by the compiler (conditionals): named `owner/n$k`.
    pub auxiliary: bool,
    /// The arguments (a bit each, of the first 64) without whose values its goal waits. A hint for the scheduler.
    pub awaits: u64,
    /// The arguments (a bit each, of the first 64) that its goal reads sooner or later. A hint for the scheduler.
    pub reads: u64,
}

/// Predicates compiled together.
#[derive(Clone, Debug)]
pub struct Component {
    /// The predicates, and where they begin.
    pub entries: Vec<Entry>,
    /// Number of registers.
    pub registers: u32,
    /// The blocks.
    pub blocks: Vec<Block>,
}

/// Where a predicate begins when its goal is taken from the goal stack.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The predicate.
    pub predicate: PredicateId,
    /// The registers its arguments are loaded into.
    pub parameters: Vec<Reg>,
    /// Its first block.
    pub block: BlockId,
}

/// Straight-line operations and an end.
#[derive(Clone, Debug)]
pub struct Block {
    /// In order.
    pub ops: Vec<Op>,
    /// What comes next.
    pub end: End,
}

/// A register or an immediate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// The value of a register.
    Reg(Reg),
    /// A small integer.
    Int(i64),
    /// An atom.
    Atom(Atom),
    /// A constant.
    Constant(ConstantId),
}

/// A word of a row of a table (`term::table`): row and index say where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// The table: a constant.
    pub table: ConstantId,
    /// What [`End::Lookup`] found there.
    pub row: Reg,
    /// Number of the word, from 0.
    pub index: u32,
}

/// What an error report says of where an operation stands in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// There, for all goals.
    Line(Position),
    /// The number of lines below the position whose bits are in the row that the goal has found.
    Row(Column, u32),
}

/// What goes into a new cell of a structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// A value.
    Value(Operand),
    /// A new variable; the register becomes a REF to it.
    Fresh(Reg),
}

/// Where a pushed goal runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// `@priority(P)`.
    Priority(Operand),
    /// `@lower_priority(N)`.
    Lower(Operand),
    /// `@node(N)`.
    Node(Operand),
}

/// A goal with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoalCall {
    /// The predicate.
    pub predicate: PredicateId,
    /// Its arguments.
    pub arguments: Vec<Operand>,
}

/// An operation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each variant's comment names its fields")]
pub enum Op {
    /// First operation of a reduction: counts it; if the worker wants attention or fewer than `need` words are left,
    /// pushes `goal` back and returns to the scheduler.
    Poll { goal: GoalCall, need: u32 },
    /// `dst := src`.
    Move { dst: Reg, src: Operand },
    /// The car of a cons.
    Car { dst: Reg, src: Reg },
    /// The cdr of a cons.
    Cdr { dst: Reg, src: Reg },
    /// Argument `index` (from 0) of a structure.
    Arg { dst: Reg, src: Reg, index: u32 },
    /// What a table says of the row.
    Column { dst: Reg, column: Column },
    /// A new cons cell.
    Cons { dst: Reg, car: Slot, cdr: Slot },
    /// A new structure.
    Struct { dst: Reg, name: Atom, args: Vec<Slot> },
    /// A new variable on its own.
    Var { dst: Reg },
    /// A place in the record of the next goal that is pushed with this register as an argument: in that goal it is a
    /// place without a value, afterwards the register leads to the place.
    Slot { dst: Reg },
    /// A new vector of these elements (variables in it are REFs to cells of their own).
    Vector { dst: Reg, elements: Vec<Operand> },
    /// Active unification of any two values. Here and below, `at` is what an error report says.
    Unify { a: Operand, b: Operand, at: At },
    /// Binds a variable that this reduction (or loop) made and nobody else has seen: a plain store.
    BindFresh { var: Reg, value: Operand },
    /// Puts the value into a slot, if the register leads to one; otherwise unification.
    Fill { var: Reg, value: Operand, at: At },
    /// Puts the value into a slot.
    Put { slot: Reg, value: Operand },
    /// If the register leads to a slot, puts a new variable there and into the register.
    Settle { var: Reg },
    /// Body arithmetic: inline when both operands are small integers and the result is; else the helper decides. Unary
    /// operations ignore `b`.
    Arith { op: IntOp, dst: Reg, a: Operand, b: Operand, at: At },
    /// A body builtin, tried at once; `inputs` are its `i` and `a` arguments, `outputs` its `o` arguments, in order.
    Builtin { predicate: PredicateId, inputs: Vec<Operand>, outputs: Vec<Reg>, at: At },
    /// A goal onto the goal stack; with places, it is moved there.
    Push { goal: GoalCall, places: Vec<Place> },
    /// The variable in this register blocks a clause: noted for `SuspendOrFail`. A reduction may still commit after
    /// that: `Poll` forgets what an earlier one noted (in components that have a `Pend`). A variable may be noted
    /// twice. Rare: only predicates with many clauses, or beyond the decision tree's size budget, need it.
    Pend { var: Reg },
}

/// What a `Match` case accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// Any small integer.
    AnyInt,
    /// This small integer.
    Int(i64),
    /// Any atom.
    AnyAtom,
    /// This atom.
    Atom(Atom),
    /// A cons cell.
    Cons,
    /// Any structure.
    AnyStruct,
    /// A structure with this name and arity.
    Struct(Atom, u32),
    /// Any object (string, vector, float, big integer, ...).
    AnyObject,
    /// An object of this class (a `term::layout` class number).
    Object(u8),
}

/// How a block ends.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each variant's comment names its fields")]
pub enum End {
    /// Follows references from `reg` (and stores the result back in `reg`), then goes where the first matching case
    /// says. `unbound`: `reg` is then a REF to an unbound cell. A block that no case can reach is `default`.
    Match { reg: Reg, cases: Vec<(Pattern, BlockId)>, unbound: BlockId, default: BlockId },
    /// Guard comparison. `wait` gets the unbound variable on the `unbound` edge. Operands that are not integers: `no`.
    Compare { cond: Cond, a: Operand, b: Operand, yes: BlockId, no: BlockId, unbound: BlockId, wait: Reg },
    /// Guard arithmetic into `dst` (fails on wrong types and division by zero).
    GuardArith {
        op: IntOp,
        dst: Reg,
        a: Operand,
        b: Operand,
        yes: BlockId,
        no: BlockId,
        unbound: BlockId,
        wait: Reg,
    },
    /// Any other guard builtin.
    GuardCall {
        predicate: PredicateId,
        inputs: Vec<Operand>,
        outputs: Vec<Reg>,
        yes: BlockId,
        no: BlockId,
        unbound: BlockId,
        wait: Reg,
    },
    /// Follows references from `key` (and stores the result back), and looks for it in a node of the table (0: the
    /// first). `yes`: the row or next node is in `next`, as a small integer. `unbound`: `key` is then a REF to an
    /// unbound cell.
    Lookup {
        table: ConstantId,
        node: Operand,
        key: Reg,
        next: Reg,
        yes: BlockId,
        no: BlockId,
        unbound: BlockId,
    },
    /// If `var` is a REF to a private unbound cell (C6 of `term::abi`): stores `value`, which is no REF, there, and
    /// goes to `done`; goals that wait for it run after the next poll. In all other cases, and where waiting goals are
    /// not so easily resumed, changes nothing and goes to `other`, which unifies.
    TryBind { var: Reg, value: Operand, done: BlockId, other: BlockId },
    /// To another block.
    Goto(BlockId),
    /// Next reduction, of a predicate of this component: parallel assignment of its parameters, then its block (which
    /// polls).
    Jump { block: BlockId, moves: Vec<(Reg, Operand)> },
    /// Next reduction, of a predicate elsewhere.
    Call(GoalCall),
    /// Nothing left of this goal: the goal on top of the goal stack is next.
    Proceed,
    /// The goal waits for these variables (at least one).
    Suspend { goal: GoalCall, on: Vec<Reg> },
    /// The goal waits for what was `Pend`ed; if nothing was, it fails.
    SuspendOrFail { goal: GoalCall },
    /// No clause can commit.
    Fail { goal: GoalCall },
}

/// Heap words of a vector: its handle and its store.
pub(crate) fn vector_words(elements: usize) -> u32 {
    (term::layout::HANDLE_SIZE + 1 + 1 + elements.max(1)) as u32
}
