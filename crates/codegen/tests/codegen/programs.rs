//! Whole little programs, written as IR by hand.

use crate::machine::*;
use codegen::{Dump, Options, Reductions, dump};
use compiler::ir::{Block, Component, End, Op, Operand, Pattern, Slot};
use term::symbol::NIL;
use term::word::{Tag, UNBOUND, Word};

pub(crate) fn blocks(list: Vec<(Vec<Op>, End)>) -> Vec<Block> {
    list.into_iter().map(|(ops, end)| Block { ops, end }).collect()
}

const APPEND: u32 = FIRST;
const NREV: u32 = FIRST + 1;

/// `append([],Y,Z) :- Z=Y.  append([H|T],Y,Z) :- Z=[H|Z1], append(T,Y,Z1).`
pub(crate) fn append() -> Component {
    let call = goal(APPEND, &[v(0), v(1), v(2)]);
    Component {
        entries: vec![entry(APPEND, 3, 0)],
        registers: 8,
        blocks: blocks(vec![
            (
                vec![Op::Poll { goal: call.clone(), need: 2 }],
                End::Match {
                    reg: r(0),
                    cases: vec![(Pattern::Atom(NIL), block(1)), (Pattern::Cons, block(2))],
                    unbound: block(3),
                    default: block(4),
                },
            ),
            (vec![Op::Unify { a: v(2), b: v(1), at: AT }], End::Proceed),
            (
                vec![
                    Op::Car { dst: r(3), src: r(0) },
                    Op::Cdr { dst: r(4), src: r(0) },
                    Op::Cons { dst: r(5), car: Slot::Value(v(3)), cdr: Slot::Fresh(r(6)) },
                    Op::Unify { a: v(2), b: v(5), at: AT },
                ],
                End::Jump { block: block(5), moves: vec![(r(0), v(4)), (r(2), v(6))] },
            ),
            (vec![], End::Suspend { goal: call.clone(), on: vec![r(0)] }),
            (vec![], End::Fail { goal: call.clone() }),
            // The loop: the result's cell is ours.
            (
                vec![Op::Poll { goal: call.clone(), need: 2 }],
                End::Match {
                    reg: r(0),
                    cases: vec![(Pattern::Atom(NIL), block(6)), (Pattern::Cons, block(7))],
                    unbound: block(8),
                    default: block(9),
                },
            ),
            (vec![Op::BindFresh { var: r(2), value: v(1) }], End::Proceed),
            (
                vec![
                    Op::Car { dst: r(3), src: r(0) },
                    Op::Cdr { dst: r(4), src: r(0) },
                    Op::Cons { dst: r(5), car: Slot::Value(v(3)), cdr: Slot::Fresh(r(6)) },
                    Op::BindFresh { var: r(2), value: v(5) },
                ],
                End::Jump { block: block(5), moves: vec![(r(0), v(4)), (r(2), v(6))] },
            ),
            (vec![], End::Suspend { goal: call.clone(), on: vec![r(0)] }),
            (vec![], End::Fail { goal: call }),
        ]),
    }
}

/// `nrev([],R) :- R=[].  nrev([H|T],R) :- nrev(T,R1), append(R1,[H],R).`
fn nrev() -> Component {
    let call = goal(NREV, &[v(0), v(1)]);
    Component {
        entries: vec![entry(NREV, 2, 0)],
        registers: 8,
        blocks: blocks(vec![
            (
                vec![Op::Poll { goal: call.clone(), need: 3 }],
                End::Match {
                    reg: r(0),
                    cases: vec![(Pattern::Atom(NIL), block(1)), (Pattern::Cons, block(2))],
                    unbound: block(3),
                    default: block(4),
                },
            ),
            (vec![Op::Unify { a: v(1), b: Operand::Atom(NIL), at: AT }], End::Proceed),
            (
                vec![
                    Op::Car { dst: r(2), src: r(0) },
                    Op::Cdr { dst: r(3), src: r(0) },
                    Op::Var { dst: r(4) },
                    Op::Cons { dst: r(5), car: Slot::Value(v(2)), cdr: Slot::Value(Operand::Atom(NIL)) },
                    Op::Push { goal: goal(APPEND, &[v(4), v(5), v(1)]), places: vec![] },
                ],
                End::Jump { block: block(0), moves: vec![(r(0), v(3)), (r(1), v(4))] },
            ),
            (vec![], End::Suspend { goal: call.clone(), on: vec![r(0)] }),
            (vec![], End::Fail { goal: call }),
        ]),
    }
}

#[test]
pub(crate) fn naive_reverse_reverses() {
    let options = Options { reductions: Reductions::Counted, ..Options::default() };
    let mut machine = Machine::new(vec![append(), nrev()], &options);
    let items: Vec<i64> = (0..30).collect();
    let list = machine.list(&items);
    let result = machine.variable();
    assert_eq!(machine.solve(NREV, &[list, result]), 1);
    let reversed: Vec<i64> = items.into_iter().rev().collect();
    assert_eq!(machine.items(result), reversed);
    assert_eq!(machine.worker.reductions, 496);
    assert_eq!(machine.log(), Vec::<String>::new());
    assert_eq!(machine.depth(), 1);
}

#[test]
pub(crate) fn metered_code_stops_after_a_number_of_reductions_and_goes_on_later() {
    let options = Options { reductions: Reductions::Metered, ..Options::default() };
    let mut machine = Machine::new(vec![append(), nrev()], &options);
    let list = machine.list(&[1, 2, 3, 4, 5]);
    let result = machine.variable();
    machine.push(STOP.0, &[]);
    machine.push(NREV, &[list, result]);
    let mut slices = 0;
    loop {
        let limit = machine.worker.reductions + 4;
        machine.worker.reductions_limit = limit;
        if machine.run() != 0 {
            break;
        }
        assert_eq!(machine.worker.reductions, limit);
        slices += 1;
    }
    assert_eq!((slices, machine.worker.reductions), (5, 21));
    assert_eq!(machine.items(result), [5, 4, 3, 2, 1]);
}

#[test]
pub(crate) fn the_end_of_the_heap_interrupts_and_the_goal_goes_on_later() {
    let mut machine = Machine::new(vec![append(), nrev()], &Options::default());
    let list = machine.list(&[1, 2, 3, 4, 5]);
    let result = machine.variable();
    machine.push(STOP.0, &[]);
    machine.push(NREV, &[list, result]);
    let mut polls = 0;
    loop {
        machine.worker.set_limit(machine.worker.heap as usize);
        match machine.run() {
            0 => polls += 1,
            status => {
                assert_eq!(status, 1);
                break;
            }
        }
    }
    assert_eq!(machine.items(result), [5, 4, 3, 2, 1]);
    assert!(polls > 10, "{polls}");
}

#[test]
pub(crate) fn an_unbound_list_suspends() {
    let mut machine = Machine::new(vec![append(), nrev()], &Options::default());
    let list = machine.variable();
    let result = machine.variable();
    assert_eq!(machine.solve(NREV, &[list, result]), 1);
    assert_eq!(machine.log(), Vec::<String>::new());
    assert_ne!(machine.worker.suspensions, 0);
    // It is known to be one variable: nobody counts.
    assert_eq!((machine.worker.pending[0], machine.worker.pending_count), (list, 0));
    assert_eq!(machine.solve(NREV, &[Word::small(3), result]), 2);
    assert_eq!(machine.depth(), 5);
}

#[test]
pub(crate) fn a_spent_record_is_used_again() {
    let mut machine = Machine::new(vec![append(), nrev()], &Options::default());
    let wait = |machine: &mut Machine| {
        let (list, result) = (machine.variable(), machine.variable());
        assert_eq!(machine.solve(NREV, &[list, result]), 1);
        let record = machine.words(list, 1)[0];
        assert_eq!(machine.words(record, 7)[5..], [list, result]);
        record
    };
    let [one, two] = [0; 2].map(|_| wait(&mut machine));
    assert_eq!(machine.worker.suspensions, two.address());
    // Both are spent, the first one last.
    machine.set_word(one, 1, Word::small(two.address() as i64 >> 3));
    machine.set_word(two, 1, Word::small(0));
    machine.worker.spent[2] = one.address();
    for (reused, record) in [(1, one), (2, two)] {
        assert_eq!(wait(&mut machine), record);
        assert_eq!(machine.words(record, 2)[1], UNBOUND);
        assert_eq!((machine.worker.reused, machine.worker.suspensions), (reused, two.address()));
    }
    let three = wait(&mut machine);
    assert!(three != one && three != two);
    assert_eq!((machine.worker.reused, machine.worker.suspensions), (2, three.address()));
}

#[test]
fn the_dumps_show_the_code() {
    let program = program(vec![append(), nrev()]);
    let atoms = term::AtomTable::new();
    for (what, part) in [(Dump::Clif, "brif"), (Dump::Asm, "jmp")] {
        let text = dump(&program, &builtins(), &atoms, &Options::default(), what).expect("small");
        if std::env::var_os("SHOW").is_some() {
            println!("{text}");
        }
        assert!(text.contains(part) && text.contains("; main:main/3"), "{text}");
    }
}

/// `first([X|_],Out) :- Out = X.`, if X is one of these.
fn first(pattern: Pattern) -> Component {
    let call = goal(FIRST, &[v(0), v(1)]);
    let test = |reg, pattern, yes| End::Match {
        reg,
        cases: vec![(pattern, yes)],
        unbound: block(3),
        default: block(4),
    };
    Component {
        entries: vec![entry(FIRST, 2, 0)],
        registers: 8,
        blocks: blocks(vec![
            (vec![Op::Poll { goal: call.clone(), need: 1 }], test(r(0), Pattern::Cons, block(1))),
            (vec![Op::Car { dst: r(2), src: r(0) }], test(r(2), pattern, block(2))),
            (vec![Op::Unify { a: v(1), b: v(2), at: AT }], End::Proceed),
            (vec![], End::Suspend { goal: call.clone(), on: vec![r(0)] }),
            (vec![], End::Fail { goal: call }),
        ]),
    }
}

#[test]
pub(crate) fn a_cell_that_leads_to_an_integer_gets_it_when_it_is_read() {
    let five = Word::small(5);
    let cases = [
        (Pattern::AnyInt, five, true),
        (Pattern::Int(5), five, true),
        (Pattern::AnyInt, Word::NIL, false),
        // It is not looked for.
        (Pattern::Cons, five, false),
    ];
    for (pattern, value, gets) in cases {
        let mut machine = Machine::new(vec![first(pattern)], &Options::default());
        let inner = pointer(Tag::Ref, machine.build(&[value]));
        let outer = pointer(Tag::Ref, machine.build(&[inner]));
        let list = pointer(Tag::Cons, machine.build(&[outer, Word::NIL]));
        let out = machine.variable();
        machine.solve(FIRST, &[list, out]);
        assert_eq!(machine.value(out), if gets { value } else { out }, "{pattern:?}");
        assert_eq!(machine.words(list, 2), [if gets { value } else { outer }, Word::NIL], "{pattern:?}");
        assert_eq!(machine.words(outer, 1), [inner]);
    }
    // Nothing else is written.
    let mut machine = Machine::new(vec![first(Pattern::Cons)], &Options::default());
    let items = machine.list(&[1]);
    let outer = pointer(Tag::Ref, machine.build(&[items]));
    let list = pointer(Tag::Cons, machine.build(&[outer, Word::NIL]));
    let out = machine.variable();
    assert_eq!((machine.solve(FIRST, &[list, out]), machine.value(out)), (1, items));
    assert_eq!(machine.words(list, 1), [outer]);
}
