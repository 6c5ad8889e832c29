//! What is known of registers, and what of it the tests say behind which a block lies: it holds wherever these tests
//! are done (L3 of `lower`).

use crate::range::Range;
use compiler::ir::{Block, BlockId, Component, End, Operand, Pattern, Reg};
use compiler::verify::{end_defines, op_defines};
use std::collections::BTreeMap;
use term::abi::{Cond, PredicateId};

/// How many tests are looked at: the nearest say most.
const TESTS_MAX: usize = 16;

/// What is known of a register's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A small integer.
    Int(Range),
    /// An atom.
    Atom,
    /// A pointer that is no reference.
    Pointer,
    /// No reference.
    Value,
}

impl Kind {
    /// Any small integer.
    pub(crate) const INT: Kind = Kind::Int(Range::ALL);

    /// What is known of a value that is one or the other.
    pub(crate) fn or(self, other: Kind) -> Kind {
        match (self, other) {
            (Kind::Int(a), Kind::Int(b)) => Kind::Int(a.hull(b)),
            (a, b) if a == b => a,
            _ => Kind::Value,
        }
    }
}

/// What is known, by register.
pub(crate) type Facts = BTreeMap<Reg, Kind>;

/// What the tests on the only way to a block say: `sole_predecessors` has that way's blocks, and `output` says what
/// a guard's first output is.
pub(crate) fn of_ways(
    component: &Component,
    sole_predecessors: &[Option<BlockId>],
    block: BlockId,
    output: impl Fn(PredicateId) -> Option<Kind>,
) -> Facts {
    let before = |block: BlockId| sole_predecessors[block.0 as usize].map(|from| (from, block));
    let ways: Vec<_> =
        std::iter::successors(before(block), |&(from, _)| before(from)).take(TESTS_MAX).collect();
    let mut facts = Facts::new();
    for (from, to) in ways.into_iter().rev() {
        let from = &component.blocks[from.0 as usize];
        from.ops.iter().flat_map(op_defines).for_each(|reg| _ = facts.remove(&reg));
        learn(&mut facts, from, to, &output);
    }
    facts
}

/// What the end of a block says where it leads to another.
fn learn(facts: &mut Facts, from: &Block, to: BlockId, output: impl Fn(PredicateId) -> Option<Kind>) {
    end_defines(&from.end).into_iter().for_each(|(reg, _)| _ = facts.remove(&reg));
    match &from.end {
        End::Match { reg, cases, unbound, default } => {
            let here = cases.iter().filter(|&&(_, block)| block == to);
            let kind = here.map(|&(pattern, _)| accepted(pattern)).reduce(Kind::or);
            if let Some(kind) = kind.filter(|_| *unbound != to && *default != to) {
                facts.insert(*reg, kind);
            }
        }
        End::Compare { cond, a, b, yes, no, unbound, .. }
            if (*yes == to) != (*no == to) && *unbound != to =>
        {
            compared(facts, (*cond, *a, *b), *yes == to);
        }
        End::GuardCall { predicate, outputs, yes, no, unbound, .. }
            if *yes == to && *no != to && *unbound != to =>
        {
            facts.extend(output(*predicate).map(|kind| (outputs[0], kind)));
        }
        _ => {}
    }
}

/// What a case of a match accepts.
fn accepted(pattern: Pattern) -> Kind {
    match pattern {
        Pattern::AnyInt => Kind::INT,
        Pattern::Int(value) => Kind::Int(Range::one(value)),
        Pattern::AnyAtom | Pattern::Atom(_) => Kind::Atom,
        Pattern::Cons
        | Pattern::AnyStruct
        | Pattern::Struct(..)
        | Pattern::AnyObject
        | Pattern::Object(_) => Kind::Pointer,
    }
}

fn compared(facts: &mut Facts, (cond, a, b): (Cond, Operand, Operand), holds: bool) {
    let range = |operand| match operand {
        Operand::Int(value) => Some(Range::one(value)),
        Operand::Reg(reg) => match facts.get(&reg) {
            Some(&Kind::Int(range)) => Some(range),
            _ => None,
        },
        _ => None,
    };
    let Some((in_a, in_b)) = range(a).zip(range(b)) else { return };
    let way = if holds { Range::where_holds } else { Range::where_not };
    let (in_a, in_b) = way(cond, in_a, in_b);
    for (operand, range) in [(a, in_a), (b, in_b)] {
        if let Operand::Reg(reg) = operand {
            facts.insert(reg, Kind::Int(range));
        }
    }
}
