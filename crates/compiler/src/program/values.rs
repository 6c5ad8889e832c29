//! Values and tests: what the passive parts of a predicate's clauses look at.
//!
//! All clauses of a predicate share one [`Table`], so two clauses that look at the same thing name it by the same
//! number: that is how the decision tree sees that tests are common or complementary.

use crate::ir::{ConstantId, Pattern};
use rustc_hash::FxHashMap;
use term::Atom;
use term::abi::{Cond, IntOp, PredicateId};

/// A value that a goal's arguments determine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ValueId(pub(crate) u32);

/// A test that a guard may make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TestId(pub(crate) u32);

/// A value or an immediate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Atomic {
    Value(ValueId),
    Int(i64),
    Atom(Atom),
    Constant(ConstantId),
    /// A constant that a table has for the row that was found: never a variable. Only bodies name it.
    Column {
        table: ConstantId,
        row: ValueId,
        index: u32,
    },
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    /// An argument of the goal.
    Parameter(u32),
    /// The car of a cons.
    Car(ValueId),
    /// The cdr of a cons.
    Cdr(ValueId),
    /// An argument of a structure.
    Argument(ValueId, u32),
    /// Guard arithmetic.
    Arith(IntOp, Atomic, Atomic),
    /// An output of a guard builtin, or what was found in a table.
    Output(TestId, u32),
}

/// What a value must look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Shape {
    /// Like this pattern.
    Is(Pattern),
    /// Bound, and not like this pattern.
    IsNot(Pattern),
    /// An integer, small or big.
    Integer,
    /// An integer or atom.
    Atomic,
    /// Anything bound.
    Bound,
}

/// One step of a passive part.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Test {
    /// The value looks so.
    Shape(ValueId, Shape),
    /// Both are integers by now.
    Compare(Cond, Atomic, Atomic),
    /// The arithmetic value can be computed; its operands are integers by now.
    Eval(ValueId),
    /// A guard builtin says yes.
    Call(PredicateId, Vec<Atomic>, u32),
    /// The value `key` is in a node of a table: the node that was found before, or the first. Output 0 is what is found
    /// there.
    Find { table: ConstantId, node: Option<ValueId>, key: ValueId },
}

/// The values and tests of a predicate.
#[derive(Debug, Default)]
pub(crate) struct Table {
    origins: Vec<Origin>,
    by_origin: FxHashMap<Origin, ValueId>,
    tests: Vec<Test>,
    by_test: FxHashMap<Test, TestId>,
    /// What is compared.
    pairs: Vec<(Atomic, Atomic)>,
    by_pair: FxHashMap<(Atomic, Atomic), u32>,
}

impl Table {
    pub(crate) fn value(&mut self, origin: Origin) -> ValueId {
        if let Some(&id) = self.by_origin.get(&origin) {
            return id;
        }
        let id = ValueId(self.origins.len() as u32);
        self.origins.push(origin.clone());
        self.by_origin.insert(origin, id);
        id
    }
    pub(crate) fn test(&mut self, test: Test) -> TestId {
        if let Some(&id) = self.by_test.get(&test) {
            return id;
        }
        if let Test::Compare(_, a, b) = test {
            let next = self.pairs.len() as u32;
            if *self.by_pair.entry((a, b)).or_insert(next) == next {
                self.pairs.push((a, b));
            }
        }
        let id = TestId(self.tests.len() as u32);
        self.tests.push(test.clone());
        self.by_test.insert(test, id);
        id
    }
    pub(crate) fn origin(&self, value: ValueId) -> &Origin {
        &self.origins[value.0 as usize]
    }
    pub(crate) fn get(&self, test: TestId) -> &Test {
        &self.tests[test.0 as usize]
    }
    /// The number of a pair that some test compares.
    pub(crate) fn pair(&self, pair: (Atomic, Atomic)) -> Option<u32> {
        self.by_pair.get(&pair).copied()
    }
    /// The pair with this number.
    pub(crate) fn paired(&self, number: u32) -> (Atomic, Atomic) {
        self.pairs[number as usize]
    }
    /// The value of an argument, if any clause names it.
    pub(crate) fn parameter(&self, position: u32) -> Option<ValueId> {
        self.by_origin.get(&Origin::Parameter(position)).copied()
    }
    /// The value of an output, if any clause names it.
    pub(crate) fn output(&self, test: TestId, index: u32) -> Option<ValueId> {
        self.by_origin.get(&Origin::Output(test, index)).copied()
    }
    pub(crate) fn value_count(&self) -> usize {
        self.origins.len()
    }
    /// The value that must be in a register before this one can be loaded.
    pub(crate) fn parent(&self, value: ValueId) -> Option<ValueId> {
        match *self.origin(value) {
            Origin::Car(parent) | Origin::Cdr(parent) | Origin::Argument(parent, _) => Some(parent),
            Origin::Parameter(_) | Origin::Arith(..) | Origin::Output(..) => None,
        }
    }
}

/// What is known of a value on the way to a block. A value without a fact has no register yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Fact {
    /// In its register.
    Loaded,
    /// Unbound when it was looked at.
    Unbound,
    /// That, and noted by `Pend` since.
    Noted,
    /// Bound, and the register holds what it is bound to; so in all that follow.
    Bound,
    /// An integer, small or big.
    Integer,
    /// Exactly this pattern.
    Like(Pattern),
}

impl Fact {
    /// True if whoever relies on `weaker` may rely on `self`.
    pub(crate) fn implies(self, weaker: Fact) -> bool {
        match (self, weaker) {
            (a, b) if a == b => true,
            (_, Fact::Loaded) | (Fact::Noted, Fact::Unbound) => true,
            (Fact::Like(_) | Fact::Integer, Fact::Bound) => true,
            (Fact::Like(pattern), Fact::Integer) => is_integer(pattern) == Some(true),
            (Fact::Like(pattern), Fact::Like(general)) => covers(general, pattern) == Some(true),
            _ => false,
        }
    }
    /// What this fact says of a shape; `None`: nothing.
    pub(crate) fn decides(self, shape: Shape) -> Option<bool> {
        let pattern = match self {
            Fact::Loaded | Fact::Unbound | Fact::Noted => return None,
            Fact::Bound => return if shape == Shape::Bound { Some(true) } else { None },
            Fact::Integer => {
                return match shape {
                    Shape::Bound | Shape::Integer | Shape::Atomic => Some(true),
                    Shape::Is(p) | Shape::IsNot(p) => {
                        let possible = matches!(
                            p,
                            Pattern::AnyInt | Pattern::Int(_) | Pattern::AnyObject | Pattern::Object(_)
                        ) && is_integer(p) != Some(false);
                        if possible { None } else { Some(matches!(shape, Shape::IsNot(_))) }
                    }
                };
            }
            Fact::Like(pattern) => pattern,
        };
        match shape {
            Shape::Bound => Some(true),
            Shape::Integer => is_integer(pattern),
            Shape::Atomic => match pattern {
                Pattern::AnyAtom | Pattern::Atom(_) => Some(true),
                other => is_integer(other),
            },
            Shape::Is(wanted) => covers(wanted, pattern),
            Shape::IsNot(wanted) => covers(wanted, pattern).map(|is| !is),
        }
    }
}

const BIGINT: u8 = term::layout::BIGINT.0;

/// Whether everything like this pattern is an integer, nothing is, or that is open.
fn is_integer(pattern: Pattern) -> Option<bool> {
    match pattern {
        Pattern::AnyInt | Pattern::Int(_) => Some(true),
        Pattern::Object(class) => Some(class == BIGINT),
        Pattern::AnyObject => None,
        _ => Some(false),
    }
}

/// Whether everything like `pattern` is like `general`, nothing is, or that is open.
pub(crate) fn covers(general: Pattern, pattern: Pattern) -> Option<bool> {
    if general == pattern {
        return Some(true);
    }
    let kind = |p: Pattern| match p {
        Pattern::AnyInt | Pattern::Int(_) => 0,
        Pattern::AnyAtom | Pattern::Atom(_) => 1,
        Pattern::Cons => 2,
        Pattern::AnyStruct | Pattern::Struct(..) => 3,
        Pattern::AnyObject | Pattern::Object(_) => 4,
    };
    let any = |p: Pattern| {
        matches!(p, Pattern::AnyInt | Pattern::AnyAtom | Pattern::AnyStruct | Pattern::AnyObject)
    };
    if kind(general) != kind(pattern) {
        Some(false)
    } else if any(general) {
        Some(true)
    } else if any(pattern) {
        None
    } else {
        Some(false)
    }
}
