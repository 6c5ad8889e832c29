//! What is known of registers where a block begins, by the tests behind which it lies: whoever does these tests, it holds
//! (L3 of `lower`).

use crate::lower::{Kind, Lower};
use crate::range::Range;
use compiler::ir::{Block, BlockId, End, Operand, Pattern, Reg};
use compiler::verify::{end_defines, op_defines};
use std::collections::BTreeMap;
use term::abi::Cond;

/// How many tests are looked at: the nearest say most.
const TESTS_MAX: usize = 16;

type Facts = BTreeMap<Reg, Kind>;

impl Lower<'_, '_> {
    /// What the tests on the only way to a block say.
    pub(crate) fn facts_of_ways(&self, block: BlockId) -> Facts {
        let behind = |&(from, _): &(BlockId, BlockId)| {
            self.pieces.sole_predecessors[from.0 as usize].map(|before| (before, from))
        };
        let first = self.pieces.sole_predecessors[block.0 as usize].map(|from| (from, block));
        let ways: Vec<_> = std::iter::successors(first, behind).take(TESTS_MAX).collect();
        let mut facts = Facts::new();
        for (from, to) in ways.into_iter().rev() {
            let from = &self.component.blocks[from.0 as usize];
            from.ops.iter().flat_map(op_defines).for_each(|reg| _ = facts.remove(&reg));
            self.learn(&mut facts, from, to);
        }
        facts
    }

    /// What the end of a block says where it leads to another.
    fn learn(&self, facts: &mut Facts, from: &Block, to: BlockId) {
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
                let kind = self.kind_of_output(*predicate);
                facts.extend(kind.map(|kind| (outputs[0], kind)));
            }
            _ => {}
        }
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
