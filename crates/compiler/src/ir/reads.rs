//! Which arguments a predicate's goal reads, sooner or later: the scheduler gives a goal away only if all of that is
//! there.
//!
//! A goal reads an argument if a clause tests it, or a part of it, or if a goal that it makes does so. Only predicates
//! that make goals count: one that makes none, like arithmetic and other builtins of a body, holds up nothing but what
//! needs its result, and whoever waits there has done all the work that could be done before.

use crate::ir::awaits::{follow, parameters};
use crate::ir::{BlockId, Component, End, Op, Operand, Reg, Slot};
use rustc_hash::{FxHashMap, FxHashSet};
use term::abi::PredicateId;

/// Passes over the blocks of a predicate: a register that is used in a block is mostly set in one that comes before.
const PASSES: usize = 4;

/// For the predicates of these components, the arguments (a bit each, of the first 64) that they read. `earlier` says
/// it of others, and what it says is in the answer, too.
pub(crate) fn reads(
    components: &[Component],
    earlier: impl Iterator<Item = (PredicateId, u64)>,
) -> FxHashMap<PredicateId, u64> {
    follow(components, earlier, |component, entry, all| {
        let parts = parameters(entry);
        let mut flow = Flow { component, all, parts, news: false, read: 0, makes_goals: false };
        flow.from(entry.block);
        if flow.makes_goals { flow.read } else { 0 }
    })
}

/// How the arguments of one predicate flow through its registers.
struct Flow<'c> {
    component: &'c Component,
    /// What is known of the predicates so far.
    all: &'c FxHashMap<PredicateId, u64>,
    /// The arguments (a bit each) that a register's value has parts of.
    parts: FxHashMap<Reg, u64>,
    /// A register has more than before, in this pass.
    news: bool,
    read: u64,
    makes_goals: bool,
}

impl Flow<'_> {
    fn from(&mut self, entry: BlockId) {
        for _ in 0..PASSES {
            self.news = false;
            let (mut seen, mut open) = (FxHashSet::default(), vec![entry]);
            while let Some(block) = open.pop() {
                if seen.insert(block) {
                    self.block(block, &mut open);
                }
            }
            // What is read follows from what the registers have.
            if !self.news {
                break;
            }
        }
    }
    fn block(&mut self, block: BlockId, open: &mut Vec<BlockId>) {
        let component = self.component;
        let code = &component.blocks[block.0 as usize];
        code.ops.iter().for_each(|op| self.op(op));
        match &code.end {
            End::Suspend { .. } | End::SuspendOrFail { .. } | End::Fail { .. } | End::Proceed => {}
            End::Goto(next) => open.push(*next),
            End::Match { reg, cases, unbound, default } => {
                self.read |= self.of(Operand::Reg(*reg));
                open.extend(cases.iter().map(|(_, next)| *next));
                open.extend([*unbound, *default]);
            }
            End::Compare { a, b, yes, no, unbound, .. } => {
                self.read |= self.of(*a) | self.of(*b);
                open.extend([*yes, *no, *unbound]);
            }
            End::GuardArith { dst, a, b, yes, no, unbound, .. } => {
                let parts = self.of(*a) | self.of(*b);
                self.read |= parts;
                self.flows(*dst, parts);
                open.extend([*yes, *no, *unbound]);
            }
            End::GuardCall { inputs, outputs, yes, no, unbound, .. } => {
                let parts = inputs.iter().fold(0, |parts, &input| parts | self.of(input));
                self.read |= parts;
                outputs.iter().for_each(|&output| self.flows(output, parts));
                open.extend([*yes, *no, *unbound]);
            }
            End::Lookup { key, yes, no, unbound, .. } => {
                self.read |= self.of(Operand::Reg(*key));
                open.extend([*yes, *no, *unbound]);
            }
            End::TryBind { done, other, .. } => open.extend([*done, *other]),
            End::Jump { block, moves } => {
                let polled = component.blocks[block.0 as usize].ops.iter().find_map(|op| match op {
                    Op::Poll { goal, .. } => Some(goal),
                    _ => None,
                });
                if let Some(goal) = polled {
                    let moved = |operand: &Operand| {
                        let moved = moves.iter().find(|(dst, _)| *operand == Operand::Reg(*dst));
                        moved.map_or(*operand, |(_, src)| *src)
                    };
                    self.goal(goal.predicate, goal.arguments.iter().map(moved));
                }
            }
            End::Call(goal) => self.goal(goal.predicate, goal.arguments.iter().copied()),
        }
    }
    fn op(&mut self, op: &Op) {
        let slots = |flow: &Self, slots: &[Slot]| {
            slots.iter().fold(0, |parts, slot| match slot {
                Slot::Value(value) => parts | flow.of(*value),
                Slot::Fresh(_) => parts,
            })
        };
        match op {
            Op::Move { dst, src } => self.flows(*dst, self.of(*src)),
            Op::Car { dst, src } | Op::Cdr { dst, src } | Op::Arg { dst, src, .. } => {
                self.flows(*dst, self.of(Operand::Reg(*src)));
            }
            Op::Cons { dst, car, cdr } => self.flows(*dst, slots(self, &[*car, *cdr])),
            Op::Struct { dst, args, .. } => self.flows(*dst, slots(self, args)),
            Op::Vector { dst, elements } => {
                let parts = elements.iter().fold(0, |parts, &element| parts | self.of(element));
                self.flows(*dst, parts);
            }
            Op::BindFresh { var, value, .. } => self.flows(*var, self.of(*value)),
            Op::Arith { dst, a, b, .. } => self.flows(*dst, self.of(*a) | self.of(*b)),
            Op::Builtin { inputs, outputs, .. } => {
                let parts = inputs.iter().fold(0, |parts, &input| parts | self.of(input));
                outputs.iter().for_each(|&output| self.flows(output, parts));
            }
            Op::Push { goal, .. } => self.goal(goal.predicate, goal.arguments.iter().copied()),
            Op::Poll { .. }
            | Op::Var { .. }
            | Op::Slot { .. }
            | Op::Column { .. }
            | Op::Unify { .. }
            | Op::Fill { .. }
            | Op::Put { .. }
            | Op::Settle { .. }
            | Op::Pend { .. } => {}
        }
    }
    fn goal(&mut self, predicate: PredicateId, arguments: impl Iterator<Item = Operand>) {
        let reads = self.all.get(&predicate).copied().unwrap_or(0);
        let read = arguments.take(64).enumerate().filter(|(i, _)| reads >> i & 1 != 0);
        self.read |= read.fold(0, |parts, (_, argument)| parts | self.of(argument));
        self.makes_goals = true;
    }
    fn of(&self, operand: Operand) -> u64 {
        let Operand::Reg(register) = operand else { return 0 };
        self.parts.get(&register).copied().unwrap_or(0)
    }
    fn flows(&mut self, to: Reg, parts: u64) {
        if parts != 0 {
            let all = self.parts.entry(to).or_default();
            self.news |= *all | parts != *all;
            *all |= parts;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::ir::text;
    use term::abi::PredicateId;
    use term::symbol::AtomTable;

    /// What `p(r0,r1)` reads that has this body; `q(r0,r1)` tests its first argument.
    fn reads(body: &str) -> u64 {
        let text = format!(
            "first_constant 0\npredicate 1 'm':'p'/2 \"m.kl1\" 1\npredicate 2 'm':'q'/2 \"m.kl1\" 2\n\
             component 4\nentry 1 (r0, r1) b0\nb0:\n  poll 1(r0, r1) need 4\n{body}\n\
             component 2\nentry 2 (r0, r1) b0\nb0:\n  poll 2(r0, r1) need 0\n\
             match r0 {{ cons -> b1 }} unbound b2 default b3\n\
             b1:\n  call 2('[]', '[]')\nb2:\n  suspend 2(r0, r1) on (r0)\nb3:\n  fail 2(r0, r1)\n"
        );
        let program = text::parse(&text, &AtomTable::new()).expect("the text is right");
        let all = super::reads(&program.components, std::iter::empty());
        assert_eq!(all[&PredicateId(2)], 0b01);
        all[&PredicateId(1)]
    }

    #[test]
    fn what_a_goal_of_the_body_tests_is_read() {
        assert_eq!(reads("  call 2(r0, r1)"), 0b01);
        assert_eq!(reads("  push 2(r1, r0)\n  proceed"), 0b10);
        assert_eq!(reads("  push 2(r1, r0)\n  call 2(r0, r1)"), 0b11);
        assert_eq!(reads("  proceed"), 0);
    }

    #[test]
    fn parts_of_an_argument_and_what_is_made_of_it_are_read_with_it() {
        let element = "  match r0 { cons -> b1 } unbound b2 default b3\nb1:\n  r2 := car r1\n  call 2(r2, r0)\n\
             b2:\n  suspend 1(r0, r1) on (r0)\nb3:\n  fail 1(r0, r1)";
        assert_eq!(reads(element), 0b11);
        assert_eq!(reads("  r2 := cons(r1, '[]')\n  call 2(r2, r0)"), 0b10);
        assert_eq!(reads("  r2 := add r1, 1 at 1 line 1\n  call 2(r2, r0)"), 0b10);
        // Nothing tests the sum.
        assert_eq!(reads("  r2 := add r0, r1 at 1 line 1\n  call 2('[]', r2)"), 0);
    }

    #[test]
    fn a_goal_that_makes_no_others_reads_nothing() {
        let ends = "  match r0 { cons -> b1 } unbound b2 default b3\nb1:\n  proceed\nb2:\n  suspend 1(r0, r1) on (r0)\n\
             b3:\n  fail 1(r0, r1)";
        assert_eq!(reads(ends), 0);
        assert_eq!(reads(&ends.replace("proceed", "call 2('[]', r1)")), 0b01);
    }
}
