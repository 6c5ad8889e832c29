//! Which arguments a predicate's goal waits for before anything else: the scheduler does not give a goal away that would wait at once.

use crate::ir::{BlockId, Component, End, Entry, Operand, Reg};
use rustc_hash::FxHashMap;

/// Every argument: on this path no clause commits.
const ALL: u64 = u64::MAX;

/// The arguments (a bit each, of the first 64) without whose values no clause commits.
pub(crate) fn awaits(component: &Component, entry: &Entry) -> u64 {
    let mut paths = Paths { component, parameters: &entry.parameters, known: FxHashMap::default() };
    let arguments = (1u64 << entry.parameters.len().min(63)) - 1;
    paths.from(entry.block, 0) & arguments
}

struct Paths<'c> {
    component: &'c Component,
    parameters: &'c [Reg],
    known: FxHashMap<BlockId, u64>,
}

/// Trees of more tests one behind the other are not followed further.
const DEPTH: usize = 64;

impl Paths<'_> {
    /// The arguments without which nothing commits from this block on.
    fn from(&mut self, block: BlockId, depth: usize) -> u64 {
        if depth == DEPTH {
            return 0;
        }
        if let Some(&known) = self.known.get(&block) {
            return known;
        }
        let component = self.component;
        let found = match &component.blocks[block.0 as usize].end {
            End::Suspend { .. } | End::SuspendOrFail { .. } | End::Fail { .. } => ALL,
            End::Goto(next) => self.from(*next, depth + 1),
            End::Match { reg, cases, unbound, default } => {
                let mut common = self.from(*default, depth + 1);
                for (_, next) in cases {
                    common &= self.from(*next, depth + 1);
                }
                self.unless(*unbound, common, &[Operand::Reg(*reg)], depth)
            }
            End::Compare { a, b, yes, no, unbound, .. } | End::GuardArith { a, b, yes, no, unbound, .. } => {
                let common = self.from(*yes, depth + 1) & self.from(*no, depth + 1);
                self.unless(*unbound, common, &[*a, *b], depth)
            }
            End::GuardCall { yes, no, unbound, .. } => {
                let common = self.from(*yes, depth + 1) & self.from(*no, depth + 1);
                self.unless(*unbound, common, &[], depth)
            }
            End::TryBind { .. } | End::Jump { .. } | End::Call(_) | End::Proceed => 0,
        };
        self.known.insert(block, found);
        found
    }
    /// A test of these operands, behind which nothing commits without `common`; `unbound` is where it goes if one has no value.
    fn unless(&mut self, unbound: BlockId, common: u64, tested: &[Operand], depth: usize) -> u64 {
        let unbound = self.from(unbound, depth + 1);
        let mut found = common & unbound;
        if unbound == ALL {
            let positions = self.parameters.iter().take(64).enumerate();
            for (position, parameter) in positions {
                if tested.contains(&Operand::Reg(*parameter)) {
                    found |= 1 << position;
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use crate::text;
    use term::symbol::AtomTable;

    /// The mask of the only predicate of a component.
    fn awaits(blocks: &str) -> u64 {
        let text = format!(
            "first_constant 0\npredicate 1 'm':'p'/2 \"m.kl1\" 1\ncomponent 2\nentry 1 (r0, r1) b0\n{blocks}"
        );
        let program = text::parse(&text, &AtomTable::new()).expect("the text is right");
        let component = &program.components[0];
        super::awaits(component, &component.entries[0])
    }

    #[test]
    fn an_argument_that_every_clause_tests_is_waited_for() {
        let ends = "b2:\n  fail 1(r0, r1)\nb3:\n  suspend 1(r0, r1) on (r0)\nb4:\n  proceed\n";
        let first = "b0:\n  poll 1(r0, r1) need 0\n  goto b1\n";
        let one = format!("{first}b1:\n  match r0 {{ cons -> b4 }} unbound b3 default b2\n{ends}");
        assert_eq!(awaits(&one), 0b01);
        let both = format!(
            "{first}b1:\n  match r0 {{ cons -> b5 }} unbound b3 default b2\n{ends}\
             b5:\n  match r1 {{ cons -> b4 }} unbound b6 default b2\nb6:\n  suspend 1(r0, r1) on (r1)\n"
        );
        assert_eq!(awaits(&both), 0b11);
    }

    #[test]
    fn an_argument_that_some_clause_does_without_is_not() {
        let text = "b0:\n  poll 1(r0, r1) need 0\n  match r0 { cons -> b3 } unbound b1 default b2\n\
             b1:\n  match r1 { cons -> b3 } unbound b4 default b2\nb2:\n  fail 1(r0, r1)\nb3:\n  proceed\n\
             b4:\n  suspend 1(r0, r1) on (r0, r1)\n";
        assert_eq!(awaits(text), 0);
    }
}
