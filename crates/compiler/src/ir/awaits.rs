//! Which arguments a predicate's goal waits for before it does much: the scheduler does not give a goal away that
//! would wait soon.
//!
//! A goal waits for an argument if no clause commits without its value, and, so to speak, if the first goal of each
//! clause's body waits for it: what else there is mostly needs what that one makes. Clauses that end at once
//! (`p([],..)`) say nothing about what the others need, unless the goal waits for one of several arguments, like a
//! process for messages or for the sign to stop.
//!
//! What arithmetic and other builtins of a body compute is not there without their operands: a goal that waits for
//! the result waits for them, and if the body has one goal at most, so does its predicate in any case.

use crate::ir::{BlockId, Component, End, Entry, Op, Operand, Reg};
use rustc_hash::FxHashMap;
use std::ops::BitAnd;
use std::slice;
use term::abi::{Builtin, PredicateId};

/// Goals, each made by the one before, through which it is followed what goals give to each other.
const ROUNDS: usize = 8;

/// For the predicates of these components, the arguments (a bit each, of the first 64) without whose values they do
/// not do much. `earlier` says it of others, and what it says is in the answer, too.
pub(crate) fn awaits(
    components: &[Component],
    builtins: &[Builtin],
    earlier: impl Iterator<Item = (PredicateId, u64)>,
) -> FxHashMap<PredicateId, u64> {
    follow(components, earlier, |component, entry, all| {
        let needs = parameters(entry);
        let mut paths = Paths { component, builtins, all, needs, known: FxHashMap::default() };
        let arguments = (1u64 << entry.parameters.len().min(63)) - 1;
        paths.from(entry.block, 0).mask() & arguments
    })
}

/// What is true of arguments (a bit each) of the predicates of these components. `of` says it of one predicate by what
/// is known of the others so far; `earlier` says it of those that have code already, and is in the answer, too.
pub(super) fn follow<'c>(
    components: &'c [Component],
    earlier: impl Iterator<Item = (PredicateId, u64)>,
    of: impl Fn(&'c Component, &'c Entry, &FxHashMap<PredicateId, u64>) -> u64,
) -> FxHashMap<PredicateId, u64> {
    let mut all: FxHashMap<PredicateId, u64> = earlier.collect();
    for _ in 0..ROUNDS {
        let mut changed = false;
        for component in components {
            for entry in &component.entries {
                let mask = of(component, entry, &all);
                changed |= all.insert(entry.predicate, mask) != Some(mask);
            }
        }
        if !changed {
            break;
        }
    }
    all
}

/// The registers of a predicate's arguments, a bit each, of the first 64.
pub(super) fn parameters(entry: &Entry) -> FxHashMap<Reg, u64> {
    entry.parameters.iter().take(64).enumerate().map(|(i, &register)| (register, 1 << i)).collect()
}

/// The arguments that all paths from a block on await.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Awaited {
    /// Those paths on which goals follow; every argument if there are none.
    working: u64,
    /// More than one goal follows on some path.
    spawning: bool,
    /// Those paths that end without another goal; every argument if there are none.
    ending: u64,
}

impl Awaited {
    /// No clause commits.
    const NEVER: Awaited = Awaited { working: u64::MAX, spawning: false, ending: u64::MAX };
    /// A goal follows that awaits these.
    fn working(working: u64) -> Awaited {
        Awaited { working, ..Awaited::NEVER }
    }
    fn and(self, also: u64) -> Awaited {
        Awaited { working: self.working | also, ending: self.ending | also, ..self }
    }
    /// Paths that end count like those on which goals follow.
    fn either(self) -> Awaited {
        Awaited { working: self.working & self.ending, ending: u64::MAX, ..self }
    }
    /// What a goal awaits before it does much; if it never does, before it does anything.
    fn mask(self) -> u64 {
        if self.working == u64::MAX { self.ending } else { self.working }
    }
}

/// One or the other.
impl BitAnd for Awaited {
    type Output = Awaited;
    fn bitand(self, other: Awaited) -> Awaited {
        Awaited {
            working: self.working & other.working,
            spawning: self.spawning | other.spawning,
            ending: self.ending & other.ending,
        }
    }
}

struct Paths<'c> {
    component: &'c Component,
    builtins: &'c [Builtin],
    /// What is known of the predicates so far.
    all: &'c FxHashMap<PredicateId, u64>,
    /// The parameters (a bit each) without which there is no value in a register.
    needs: FxHashMap<Reg, u64>,
    known: FxHashMap<BlockId, Awaited>,
}

/// Trees of more tests one behind the other are not followed further.
const DEPTH: usize = 64;

impl Paths<'_> {
    /// The arguments without which nothing commits from this block on.
    fn from(&mut self, block: BlockId, depth: usize) -> Awaited {
        if depth == DEPTH {
            return Awaited::working(0);
        }
        if let Some(&known) = self.known.get(&block) {
            return known;
        }
        let component = self.component;
        let code = &component.blocks[block.0 as usize];
        let computing = code.ops.iter().fold(0, |computing, op| computing | self.computed(op));
        let mut found = match &code.end {
            End::Suspend { .. } | End::SuspendOrFail { .. } | End::Fail { .. } => Awaited::NEVER,
            End::Goto(next) => self.from(*next, depth + 1),
            End::Match { reg, cases, unbound, default } => {
                let mut common = self.from(*default, depth + 1);
                for (_, next) in cases {
                    common = common & self.from(*next, depth + 1);
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
            End::Lookup { key, yes, no, unbound, .. } => {
                let common = self.from(*yes, depth + 1) & self.from(*no, depth + 1);
                self.unless(*unbound, common, &[Operand::Reg(*key)], depth)
            }
            End::TryBind { done, other, .. } => self.from(*done, depth + 1) & self.from(*other, depth + 1),
            End::Jump { block, moves } => {
                let polled = component.blocks[block.0 as usize].ops.iter().find_map(|op| match op {
                    Op::Poll { goal, .. } => Some(goal),
                    _ => None,
                });
                Awaited::working(polled.map_or(0, |goal| {
                    let moved = |operand: &Operand| {
                        let moved = moves.iter().find(|(dst, _)| *operand == Operand::Reg(*dst));
                        moved.map_or(*operand, |(_, src)| *src)
                    };
                    self.given(goal.predicate, goal.arguments.iter().map(moved))
                }))
            }
            End::Call(goal) => Awaited::working(self.given(goal.predicate, goal.arguments.iter().copied())),
            End::Proceed => Awaited { ending: 0, ..Awaited::NEVER },
        };
        if code.ops.iter().any(|op| matches!(op, Op::Push { .. })) {
            found = Awaited { spawning: true, ..found.either() };
        }
        if !found.spawning {
            found = found.and(computing);
        }
        self.known.insert(block, found);
        found
    }
    fn builtin(&self, predicate: PredicateId) -> Option<&Builtin> {
        self.builtins.get((predicate.0 as usize).checked_sub(1)?)
    }
    /// The arguments that are given to a goal which waits for them.
    fn given(&self, predicate: PredicateId, arguments: impl Iterator<Item = Operand>) -> u64 {
        let builtin = self.builtin(predicate).map_or(0, Builtin::awaits);
        let awaits = self.all.get(&predicate).copied().unwrap_or(builtin);
        let awaited = arguments.take(64).enumerate().filter(|(i, _)| awaits >> i & 1 != 0);
        awaited.fold(0, |found, (_, argument)| found | self.needs(argument))
    }
    /// What an operation that computes something needs, from now on also what needs its results.
    fn computed(&mut self, op: &Op) -> u64 {
        let (needs, results) = match op {
            Op::Arith { dst, a, b, .. } => (self.needs(*a) | self.needs(*b), slice::from_ref(dst)),
            Op::Builtin { predicate, inputs, outputs, .. } => {
                let modes = self.builtin(*predicate).map_or("", |builtin| &builtin.modes);
                let inputs = modes.bytes().filter(|&mode| mode != b'o').zip(inputs);
                let awaited = inputs.filter(|&(mode, _)| mode == b'i');
                (awaited.fold(0, |needs, (_, &input)| needs | self.needs(input)), &outputs[..])
            }
            _ => return 0,
        };
        self.needs.extend(results.iter().map(|&result| (result, needs)));
        needs
    }
    /// The parameters without which an operand has no value.
    fn needs(&self, operand: Operand) -> u64 {
        let Operand::Reg(register) = operand else { return 0 };
        self.needs.get(&register).copied().unwrap_or(0)
    }
    /// A test of these operands, behind which nothing commits without `common`; `unbound` is where it goes if one has
    /// no value.
    fn unless(&mut self, unbound: BlockId, common: Awaited, tested: &[Operand], depth: usize) -> Awaited {
        let unbound = self.from(unbound, depth + 1);
        if unbound == Awaited::NEVER {
            common.and(tested.iter().fold(0, |tested, operand| tested | self.needs(*operand)))
        } else {
            (common & unbound).either()
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::ir::text;
    use term::abi::{Builtin, Place, PredicateId};
    use term::symbol::AtomTable;

    /// The mask of the only predicate of a component.
    fn awaits(blocks: &str) -> u64 {
        let text = format!(
            "first_constant 0\npredicate 1 'm':'p'/2 \"m.kl1\" 1\ncomponent 4\nentry 1 (r0, r1) b0\n{blocks}"
        );
        let program = text::parse(&text, &AtomTable::new()).expect("the text is right");
        let component = &program.components[0];
        super::awaits(std::slice::from_ref(component), &[], std::iter::empty())
            [&component.entries[0].predicate]
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
    fn a_clause_that_ends_at_once_says_nothing_about_what_the_others_wait_for() {
        // p([],_). p([X|_],Y) :- p(Y,X). p(a,b).
        let text = |end: &str| {
            format!(
                "b0:\n  poll 1(r0, r1) need 0\n  match r0 {{ '[]' -> b1, cons -> b2, 'a' -> b5 }} unbound b3 default b4\n\
                 b1:\n{end}\nb2:\n  r2 := car r0\n  call 1(r1, r2)\nb3:\n  suspend 1(r0, r1) on (r0)\n\
                 b4:\n  fail 1(r0, r1)\nb5:\n  match r1 {{ 'b' -> b6 }} unbound b7 default b4\nb6:\n  proceed\n\
                 b7:\n  suspend 1(r0, r1) on (r1)\n"
            )
        };
        assert_eq!(awaits(&text("  proceed")), 0b11);
        assert_eq!(awaits(&text("  push 1(r0, r0)\n  proceed")), 0b01);
        // p(_,a). p([],_). p([X|_],Y) :- p(Y,X): it waits for one or the other.
        let either = "b0:\n  poll 1(r0, r1) need 0\n  match r1 { 'a' -> b1 } unbound b2 default b2\nb1:\n  proceed\n\
             b2:\n  match r0 { '[]' -> b1, cons -> b3 } unbound b4 default b5\nb3:\n  r2 := car r0\n  call 1(r1, r2)\n\
             b4:\n  suspend 1(r0, r1) on (r0, r1)\nb5:\n  fail 1(r0, r1)\n";
        assert_eq!(awaits(either), 0);
        // All that its clauses do is to end: what they test is what it waits for.
        let ends = text("  proceed").replace("call 1(r1, r2)", "proceed");
        assert_eq!(awaits(&ends), 0b01);
    }

    #[test]
    fn an_operand_is_waited_for_by_what_waits_for_the_result() {
        let p = |body: &str| {
            format!(
                "b0:\n  poll 1(r0, r1) need 0\n  match r0 {{ int -> b1 }} unbound b2 default b3\n\
             b1:\n  r2 := add r1, 1 at 1 line 1\n{body}\nb2:\n  suspend 1(r0, r1) on (r0)\nb3:\n  fail 1(r0, r1)\n"
            )
        };
        // One goal follows, or none: all that it gets would have to wait.
        assert_eq!(awaits(&p("  call 1(r2, r0)")), 0b11);
        assert_eq!(awaits(&p("  proceed")), 0b11);
        // The first of several waits for the sum, or can do without it.
        assert_eq!(awaits(&p("  push 1(r2, r2)\n  r3 := sub r2, r0 at 1 line 1\n  call 1(r3, r0)")), 0b11);
        assert_eq!(awaits(&p("  push 1(r2, r2)\n  call 1(r0, r2)")), 0b01);
    }

    #[test]
    fn what_a_builtin_waits_for_is_waited_for() {
        let text = "first_constant 0\npredicate 2 'm':'p'/3 \"m.kl1\" 1\npredicate 3 'm':'q'/3 \"m.kl1\" 2\n\
             component 4\nentry 2 (r0, r1, r2) b0\nb0:\n  poll 2(r0, r1, r2) need 0\n\
             builtin 1(r0, r1) -> (r3) at 2 line 1\n  unify r2, r3 at 2 line 1\n  proceed\n\
             component 3\nentry 3 (r0, r1, r2) b0\nb0:\n  poll 3(r0, r1, r2) need 0\n  call 1(r1, r0, r2)\n";
        let program = text::parse(text, &AtomTable::new()).expect("the text is right");
        let builtin = Builtin {
            module: "m".into(),
            name: "b".into(),
            modes: "iao".into(),
            place: Place::Body,
            daemon: false,
        };
        let all = super::awaits(&program.components, &[builtin], std::iter::empty());
        assert_eq!([all[&PredicateId(2)], all[&PredicateId(3)]], [0b001, 0b010]);
    }

    #[test]
    fn an_argument_that_the_first_goal_of_the_body_waits_for_is_waited_for() {
        let text = "first_constant 0\npredicate 1 'm':'p'/2 \"m.kl1\" 1\npredicate 2 'm':'q'/1 \"m.kl1\" 2\n\
             component 2\nentry 1 (r0, r1) b0\nb0:\n  poll 1(r0, r1) need 0\n  call 2(r1)\n\
             component 1\nentry 2 (r0) b0\nb0:\n  poll 2(r0) need 0\n  match r0 { cons -> b1 } unbound b2 default b3\n\
             b1:\n  proceed\nb2:\n  suspend 2(r0) on (r0)\nb3:\n  fail 2(r0)\n";
        let program = text::parse(text, &AtomTable::new()).expect("the text is right");
        let all = super::awaits(&program.components, &[], std::iter::empty());
        let masks: Vec<u64> = program.components.iter().map(|c| all[&c.entries[0].predicate]).collect();
        assert_eq!(masks, [0b10, 0b1]);
        // The second was compiled earlier.
        let earlier = std::iter::once((PredicateId(2), 0b1));
        let all = super::awaits(&program.components[..1], &[], earlier);
        assert_eq!(all[&PredicateId(1)], 0b10);
    }
}
