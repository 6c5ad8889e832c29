//! Which arguments a predicate's goal waits for before it does much: the scheduler does not give a goal away that would wait soon.
//!
//! A goal waits for an argument if no clause commits without its value, and, so to speak, if the first goal of each clause's body
//! waits for it: what else there is mostly needs what that one makes.

use crate::ir::{BlockId, Component, End, Op, Operand, Reg};
use rustc_hash::FxHashMap;
use term::abi::PredicateId;

/// Every argument: on this path no clause commits.
const ALL: u64 = u64::MAX;
/// What goals give to each other is followed through so many goals.
const ROUNDS: usize = 8;

/// For the predicates of these components, the arguments (a bit each, of the first 64) without whose values they do not do much.
pub(crate) fn awaits(components: &[Component]) -> FxHashMap<PredicateId, u64> {
    let mut all: FxHashMap<PredicateId, u64> = FxHashMap::default();
    for _ in 0..ROUNDS {
        let mut changed = false;
        for component in components {
            for entry in &component.entries {
                let mut paths = Paths {
                    component,
                    parameters: &entry.parameters,
                    all: &all,
                    known: FxHashMap::default(),
                };
                let arguments = (1u64 << entry.parameters.len().min(63)) - 1;
                let mask = paths.from(entry.block, 0) & arguments;
                changed |= all.insert(entry.predicate, mask) != Some(mask);
            }
        }
        if !changed {
            break;
        }
    }
    all
}

struct Paths<'c> {
    component: &'c Component,
    parameters: &'c [Reg],
    /// What is known of the predicates so far.
    all: &'c FxHashMap<PredicateId, u64>,
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
            End::TryBind { done, other, .. } => self.from(*done, depth + 1) & self.from(*other, depth + 1),
            End::Jump { block, moves } => {
                let polled = component.blocks[block.0 as usize].ops.iter().find_map(|op| match op {
                    Op::Poll { goal, .. } => Some(goal),
                    _ => None,
                });
                polled.map_or(0, |goal| {
                    let moved = |operand: &Operand| {
                        let moved = moves.iter().find(|(dst, _)| *operand == Operand::Reg(*dst));
                        moved.map_or(*operand, |(_, src)| *src)
                    };
                    self.given(goal.predicate, goal.arguments.iter().map(moved))
                })
            }
            End::Call(goal) => self.given(goal.predicate, goal.arguments.iter().copied()),
            End::Proceed => 0,
        };
        self.known.insert(block, found);
        found
    }
    /// The arguments that are given to a goal which waits for them.
    fn given(&self, predicate: PredicateId, arguments: impl Iterator<Item = Operand>) -> u64 {
        let awaits = self.all.get(&predicate).copied().unwrap_or(0);
        let awaited = arguments.take(64).enumerate().filter(|(i, _)| awaits >> i & 1 != 0);
        awaited.fold(0, |found, (_, argument)| found | self.position(argument))
    }
    /// The bit of a parameter; 0 for other operands.
    fn position(&self, operand: Operand) -> u64 {
        let mut parameters = self.parameters.iter().take(64);
        parameters
            .position(|parameter| operand == Operand::Reg(*parameter))
            .map_or(0, |position| 1 << position)
    }
    /// A test of these operands, behind which nothing commits without `common`; `unbound` is where it goes if one has no value.
    fn unless(&mut self, unbound: BlockId, common: u64, tested: &[Operand], depth: usize) -> u64 {
        let unbound = self.from(unbound, depth + 1);
        let mut found = common & unbound;
        if unbound == ALL {
            found = tested.iter().fold(found, |found, operand| found | self.position(*operand));
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
        super::awaits(std::slice::from_ref(component))[&component.entries[0].predicate]
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

    #[test]
    fn an_argument_that_the_first_goal_of_the_body_waits_for_is_waited_for() {
        let text = "first_constant 0\npredicate 1 'm':'p'/2 \"m.kl1\" 1\npredicate 2 'm':'q'/1 \"m.kl1\" 2\n\
             component 2\nentry 1 (r0, r1) b0\nb0:\n  poll 1(r0, r1) need 0\n  call 2(r1)\n\
             component 1\nentry 2 (r0) b0\nb0:\n  poll 2(r0) need 0\n  match r0 { cons -> b1 } unbound b2 default b3\n\
             b1:\n  proceed\nb2:\n  suspend 2(r0) on (r0)\nb3:\n  fail 2(r0)\n";
        let program = text::parse(text, &AtomTable::new()).expect("the text is right");
        let all = super::awaits(&program.components);
        let masks: Vec<u64> = program.components.iter().map(|c| all[&c.entries[0].predicate]).collect();
        assert_eq!(masks, [0b10, 0b1]);
    }
}
