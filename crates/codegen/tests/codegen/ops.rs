//! Every operation, on its fast and its slow paths.

use crate::machine::*;
use crate::programs::blocks;
use codegen::Options;
use compiler::ir::{At, Component, End, Op, Operand, Pattern, Place, Reg, Slot};
use term::abi::{IntOp, OPERANDS_MAX, Position, PredicateId, answer};
use term::layout::{GENERATOR, HANDLE_SIZE, STORE, STRING, SUSPENSION, VECTOR};
use term::symbol::{MAIN, NIL, TRUE};
use term::word::{Tag, UNBOUND, Word, functor_header, object_header};

const P: u32 = FIRST;
pub(crate) const OUT: Reg = r(30);

/// `p(r0..)` with its blocks from 1 on; block 0 polls and goes to block 1. The last argument is the result.
pub(crate) fn component(arity: u32, need: u32, rest: Vec<(Vec<Op>, End)>) -> Component {
    let arguments: Vec<_> = (0..arity).map(v).collect();
    let poll = Op::Poll { goal: goal(P, &arguments), need };
    let mut all = vec![(vec![poll], End::Goto(block(1)))];
    all.extend(rest);
    Component { entries: vec![entry(P, arity, 0)], registers: 40, blocks: blocks(all) }
}
pub(crate) fn result(arity: u32, value: Operand) -> (Vec<Op>, End) {
    (vec![Op::Unify { a: v(arity - 1), b: value, at: AT }], End::Proceed)
}
pub(crate) fn machine(component: Component) -> Machine {
    Machine::new(vec![component], &Options::default())
}
/// Runs `p(arguments.., Result)`: the result and what the helpers said.
pub(crate) fn run(machine: &mut Machine, arguments: &[Word]) -> (Word, Vec<String>) {
    let out = machine.variable();
    let mut all = arguments.to_vec();
    all.push(out);
    assert_eq!(machine.solve(P, &all), 1);
    (machine.value(out), machine.log())
}

/// Every case goes to a block that answers its number.
fn matcher(patterns: &[Pattern], from_cell: bool) -> Machine {
    let count = patterns.len() as u32;
    let cases = patterns.iter().zip(2..).map(|(&pattern, number)| (pattern, block(number))).collect();
    let (reg, ops) = if from_cell { (r(5), vec![Op::Cdr { dst: r(5), src: r(0) }]) } else { (r(0), vec![]) };
    let end = End::Match { reg, cases, unbound: block(count + 2), default: block(count + 3) };
    let mut all = vec![(ops, end)];
    all.extend((0..count).map(|number| result(2, Operand::Int(i64::from(number)))));
    all.push((vec![], End::Suspend { goal: goal(P, &[v(0), v(1)]), on: vec![reg] }));
    all.push(result(2, Operand::Atom(MAIN)));
    machine(component(2, 0, all))
}

#[test]
pub(crate) fn matches_find_their_case_through_references() {
    let patterns = [
        Pattern::Int(7),
        Pattern::Atom(TRUE),
        Pattern::AnyInt,
        Pattern::Struct(MAIN, 2),
        Pattern::AnyStruct,
        Pattern::Object(STRING.0),
        Pattern::AnyObject,
        Pattern::Cons,
        Pattern::Int(9),
    ];
    for from_cell in [false, true] {
        let mut m = matcher(&patterns, from_cell);
        let structure = |m: &mut Machine, arity| {
            pointer(Tag::Struct, m.build(&[functor_header(MAIN, arity), Word::NIL, Word::NIL]))
        };
        let (two, one) = (structure(&mut m, 2), structure(&mut m, 1));
        let object =
            |m: &mut Machine, class| pointer(Tag::Object, m.build(&[object_header(class, 1), Word::NIL]));
        let (string, vector) = (object(&mut m, STRING), object(&mut m, VECTOR));
        let list = m.list(&[1]);
        let expected = [
            (Word::small(7), Word::small(0)),
            (Word::atom(TRUE), Word::small(1)),
            (Word::small(8), Word::small(2)),
            (Word::small(9), Word::small(2)),
            (two, Word::small(3)),
            (one, Word::small(4)),
            (string, Word::small(5)),
            (vector, Word::small(6)),
            (list, Word::small(7)),
            (Word::NIL, Word::atom(MAIN)),
        ];
        for (word, answer) in expected {
            let cell = m.build(&[word]);
            let chain = m.build(&[pointer(Tag::Ref, cell)]);
            for word in [word, pointer(Tag::Ref, cell), pointer(Tag::Ref, chain)] {
                let word = if from_cell { pointer(Tag::Cons, m.build(&[Word::NIL, word])) } else { word };
                assert_eq!(run(&mut m, &[word]), (answer, vec![]));
            }
        }
        let unbound =
            if from_cell { pointer(Tag::Cons, m.build(&[Word::NIL, UNBOUND])) } else { m.variable() };
        // The first goal that waits for a variable makes its record itself.
        let (answer, log) = run(&mut m, &[unbound]);
        assert_eq!((answer.tag(), log), (Tag::Ref, vec![]));
        let cell = if from_cell { unbound.address() + 8 } else { unbound.address() };
        let cell = pointer(Tag::Ref, cell);
        let record = pointer(Tag::Var, m.worker.suspensions);
        assert_eq!(m.words(cell, 1), [record]);
        let header = object_header(SUSPENSION, 6);
        let words =
            [header, UNBOUND, PredicateId(P).goal_word(), Word::small(0), Word::small(0), unbound, answer];
        assert_eq!(m.words(record, 7), words);
        assert_eq!(run(&mut m, &[unbound]).1, ["suspend 1 Ref"]);
        assert_eq!(m.worker.pending[0], cell);
    }
}

#[test]
fn ten_thousand_cases_are_searched() {
    let number =
        |index: u32| if index.is_multiple_of(2) { i64::from(index) } else { i64::from(index) * 1_000_003 };
    let mut patterns: Vec<_> = (0..10_000).map(|index| Pattern::Int(number(index))).collect();
    patterns.extend((0..100).map(|index| Pattern::Struct(term::Atom(index), 1)));
    patterns.extend((100..110).map(|index| Pattern::Atom(term::Atom(index))));
    let mut m = matcher(&patterns, false);
    for index in [0, 1, 2, 4998, 4999, 9998, 9999] {
        assert_eq!(run(&mut m, &[Word::small(number(index))]).0, Word::small(i64::from(index)));
    }
    assert_eq!(run(&mut m, &[Word::small(1)]).0, Word::atom(MAIN));
    assert_eq!(run(&mut m, &[Word::small(-2)]).0, Word::atom(MAIN));
    let structure = pointer(Tag::Struct, m.build(&[functor_header(term::Atom(55), 1), Word::NIL]));
    assert_eq!(run(&mut m, &[structure]).0, Word::small(10_055));
    assert_eq!(run(&mut m, &[Word::atom(term::Atom(107))]).0, Word::small(10_107));
    assert_eq!(run(&mut m, &[Word::atom(term::Atom(7))]).0, Word::atom(MAIN));
}

#[test]
pub(crate) fn terms_are_laid_out_as_the_runtime_reads_them() {
    let ops = vec![
        Op::Cons { dst: r(2), car: Slot::Value(v(0)), cdr: Slot::Fresh(r(3)) },
        Op::Struct {
            dst: r(4),
            name: MAIN,
            args: vec![Slot::Value(v(2)), Slot::Fresh(r(5)), Slot::Value(v(3)), Slot::Fresh(r(6))],
        },
        Op::BindFresh { var: r(5), value: Operand::Int(17) },
        Op::Var { dst: r(7) },
        Op::Vector { dst: r(8), elements: vec![v(4), v(7), Operand::Constant(compiler::ir::ConstantId(0))] },
        Op::Move { dst: r(9), src: v(8) },
        Op::Unify { a: v(1), b: v(9), at: AT },
    ];
    let mut m = machine(component(2, 16, vec![(ops, End::Proceed)]));
    let (vector, log) = run(&mut m, &[Word::small(1)]);
    assert_eq!(log, Vec::<String>::new());
    let handle = m.words(vector, 4);
    assert_eq!(handle[0], object_header(VECTOR, HANDLE_SIZE));
    assert_eq!(handle[2..], [Word::small(-1), Word::small(3)]);
    let store = m.words(handle[1], 4);
    assert_eq!(store[0], object_header(STORE, 3));
    assert_eq!(store[3], Word::small(111));
    assert_eq!(m.words(store[2], 1), [UNBOUND]);
    let structure = m.words(store[1], 5);
    assert_eq!(structure[0], functor_header(MAIN, 4));
    assert_eq!(structure[2], Word::small(17));
    assert_eq!(structure[4], UNBOUND);
    let cons = m.words(structure[1], 2);
    assert_eq!(cons, [Word::small(1), UNBOUND]);
    assert_eq!(structure[3], pointer(Tag::Ref, structure[1].address() + 8));
}

#[test]
pub(crate) fn unification_binds_follows_resumes_or_asks() {
    let unify = vec![Op::Unify { a: v(0), b: v(1), at: AT }];
    let mut m = machine(component(2, 0, vec![(unify, End::Proceed)]));
    let go = |m: &mut Machine, a, b| {
        assert_eq!(m.solve(P, &[a, b]), 1);
        m.log()
    };
    let none = Vec::<String>::new();
    let list = m.list(&[1]);
    let a = m.variable();
    assert_eq!(go(&mut m, a, list), none);
    assert_eq!(m.value(a), list);
    // Both sides behind references; the left one bound: the helper compares.
    let b = m.variable();
    assert_eq!(go(&mut m, b, a), none);
    assert_eq!(m.value(b), list);
    assert_eq!(go(&mut m, a, b).len(), 1);
    assert_eq!(go(&mut m, list, list).len(), 1);
    // Variable with variable; a hooked variable.
    for swap in [false, true] {
        let (c, d) = (m.variable(), m.variable());
        let logged = if swap { go(&mut m, d, c) } else { go(&mut m, c, d) };
        assert_eq!((logged, m.words(d, 1), m.words(c, 1)), (none.clone(), vec![c], vec![UNBOUND]));
        assert_eq!(go(&mut m, c, d), none, "the same variable");
    }
    // The variable may be to the right.
    let (c, d) = (m.variable(), m.variable());
    assert_eq!((go(&mut m, c, d), go(&mut m, list, d)), (none.clone(), none.clone()));
    assert_eq!((m.value(c), m.value(d)), (list, list));
    // A variable that a goal waits for: bound here if its goals are the first to be resumed; generators are the
    // helper's.
    let waiting = |m: &mut Machine, class| {
        let record = m.build(&[object_header(class, 3), UNBOUND, Word::small(1), Word::small(0)]);
        (record, pointer(Tag::Ref, m.build(&[pointer(Tag::Var, record)])))
    };
    let (_, generated) = waiting(&mut m, GENERATOR);
    assert_eq!(go(&mut m, generated, list).len(), 1);
    let ((record, first), (_, second)) = (waiting(&mut m, SUSPENSION), waiting(&mut m, SUSPENSION));
    let limit = m.worker.limit();
    assert_eq!(go(&mut m, first, list), none);
    assert_eq!((m.value(first), m.worker.resumed, m.worker.limit()), (list, record, 0));
    m.worker.set_limit(limit);
    assert_eq!(go(&mut m, second, Word::small(1)).len(), 1);
    assert_eq!(go(&mut m, b, second).len(), 1);
    // On either side: the other variable leads to it, wherever it lies, or it gets the value; two are the helper's.
    for swap in [false, true] {
        let both = |m: &mut Machine, a, b| if swap { go(m, b, a) } else { go(m, a, b) };
        let (before, (record, waited)) = (m.variable(), waiting(&mut m, SUSPENSION));
        let behind = m.variable();
        for other in [before, behind] {
            assert_eq!((both(&mut m, other, waited), m.words(other, 1)), (none.clone(), vec![waited]));
        }
        m.worker.resumed = 0;
        assert_eq!(both(&mut m, list, before), none);
        assert_eq!((m.value(waited), m.value(behind), m.worker.resumed), (list, list, record));
        m.worker.set_limit(limit);
    }
    let (one, two) = (waiting(&mut m, SUSPENSION).1, waiting(&mut m, SUSPENSION).1);
    assert_eq!(go(&mut m, one, two).len(), 1);
    // C6: what is not private is the helper's; a private variable may become a reference to it.
    let (e, f, g) = (m.variable(), m.variable(), m.variable());
    m.worker.set_private_base(g.address());
    assert_eq!(go(&mut m, e, list).len(), 1);
    assert_eq!(go(&mut m, f, g), none);
    assert_eq!((m.words(f, 1), m.words(g, 1)), (vec![UNBOUND], vec![f]));
    let h = m.variable();
    m.worker.set_private_base(h.address());
    assert_eq!(go(&mut m, h, f), none);
    assert_eq!(m.words(h, 1), [f]);
    // A reference that is not private is followed; what goals wait for is not made a reference.
    let leading = pointer(Tag::Ref, m.build(&[f]));
    let (i, (_, third)) = (m.variable(), waiting(&mut m, SUSPENSION));
    m.worker.set_private_base(i.address());
    assert_eq!(go(&mut m, leading, i), none);
    assert_eq!(m.words(i, 1), [f]);
    assert_eq!(go(&mut m, leading, third).len(), 1);
}

#[test]
pub(crate) fn goals_are_pushed_placed_and_the_stack_grows() {
    let push = |places| Op::Push { goal: goal(0, &[]), places };
    let ops = vec![
        push(vec![]),
        push(vec![Place::Priority(v(0)), Place::Node(Operand::Int(2))]),
        push(vec![Place::Node(Operand::Int(-1))]),
        push(vec![Place::Node(Operand::Int(4)), Place::Lower(Operand::Int(3))]),
        push(vec![Place::Lower(Operand::Int(3))]),
    ];
    let mut m = machine(component(1, 0, vec![(ops, End::Proceed)]));
    assert_eq!(m.solve(P, &[Word::small(5)]), 1);
    // A goal that goes to another node takes its priority along, whichever of the two stands first.
    assert_eq!(m.log(), ["node 2 priority 0 5", "node -1", "node 4 priority 1 3", "priority 1 3"]);
    assert_eq!(m.depth(), 5);
    m.worker.goals_limit = 0;
    assert_eq!(m.solve(P, &[Word::small(5)]), 1);
    assert_eq!(m.log()[0], "grow");
}

#[test]
pub(crate) fn builtins_get_their_operands_and_give_results() {
    let ops = vec![
        Op::Cons { dst: r(4), car: Slot::Value(v(0)), cdr: Slot::Value(Operand::Atom(NIL)) },
        Op::Builtin { predicate: PredicateId(3), inputs: vec![v(0)], outputs: vec![OUT], at: AT },
        Op::Cons { dst: r(5), car: Slot::Value(Operand::Reg(OUT)), cdr: Slot::Value(v(4)) },
        Op::Unify { a: v(1), b: v(5), at: AT },
    ];
    let mut m = machine(component(2, 4, vec![(ops, End::Proceed)]));
    let (value, log) = run(&mut m, &[Word::small(6)]);
    assert_eq!(log, ["builtin 3 Int"]);
    assert_eq!(m.items(value), [88, 6]);
}

#[test]
pub(crate) fn guards_answer_three_ways() {
    let end = End::GuardCall {
        predicate: PredicateId(4),
        inputs: vec![v(0)],
        outputs: vec![OUT],
        yes: block(2),
        no: block(3),
        unbound: block(4),
        wait: r(31),
    };
    let wait = (vec![Op::Pend { var: r(31) }], End::SuspendOrFail { goal: goal(P, &[v(0), v(1)]) });
    let no = (vec![], End::SuspendOrFail { goal: goal(P, &[v(0), v(1)]) });
    let mut m = machine(component(2, 0, vec![(vec![], end), result(2, Operand::Reg(OUT)), no, wait]));
    answer_with(answer::YES);
    assert_eq!(run(&mut m, &[Word::small(6)]), (Word::small(77), vec!["guard 4 6".into()]));
    let unbound = m.variable();
    answer_with(unbound);
    assert_eq!(run(&mut m, &[Word::small(6)]).1, ["guard 4 6"]);
    let record = pointer(Tag::Var, m.worker.suspensions);
    assert_eq!((m.words(unbound, 1), m.words(record, 6)[5]), (vec![record], Word::small(6)));
    assert_eq!(run(&mut m, &[Word::small(6)]).1, ["guard 4 6", "suspend 1 Ref"]);
    answer_with(answer::NO);
    let out = m.variable();
    assert_eq!(m.solve(P, &[Word::small(6), out]), 2);
}

#[test]
pub(crate) fn several_entries_share_a_function_and_large_needs_are_told() {
    let both = Component {
        entries: vec![entry(P, 1, 0), entry(P + 1, 2, 1)],
        registers: 8,
        blocks: blocks(vec![
            (
                vec![Op::Poll { goal: goal(P, &[v(0)]), need: 0 }],
                End::Jump { block: block(1), moves: vec![(r(1), v(0)), (r(0), Operand::Int(5))] },
            ),
            (
                vec![
                    Op::Poll { goal: goal(P + 1, &[v(0), v(1)]), need: 5000 },
                    Op::Unify { a: v(1), b: v(0), at: AT },
                ],
                End::Proceed,
            ),
        ]),
    };
    let caller = Component {
        entries: vec![entry(P + 2, 1, 0)],
        registers: 8,
        blocks: blocks(vec![(
            vec![Op::Poll { goal: goal(P + 2, &[v(0)]), need: 0 }],
            End::Call(goal(P + 1, &[Operand::Atom(TRUE), v(0)])),
        )]),
    };
    let mut m = Machine::new(vec![both, caller], &Options::default());
    for (predicate, expected) in [(P, Word::small(5)), (P + 2, Word::atom(TRUE))] {
        let out = m.variable();
        assert_eq!(m.solve(predicate, &[out]), 1);
        assert_eq!(m.value(out), expected);
    }
    let out = m.variable();
    m.worker.limit_after = m.worker.limit();
    m.worker.set_limit(m.worker.heap as usize + 8 * 3000);
    assert_eq!(m.solve(P, &[out]), 0);
    assert_eq!((m.worker.need, m.worker.limit_after, m.depth()), (5000, 0, 3 + 3));
}

#[test]
fn a_function_with_many_live_values_gets_a_larger_frame() {
    for count in [5, 60, 500, 520, 2000] {
        let mut ops: Vec<_> = (2..2 + count).map(|number| Op::Var { dst: r(number) }).collect();
        // Between definition and use, something that may change everything.
        ops.push(Op::Arith { op: IntOp::Add, dst: r(1), a: v(0), b: v(0), at: AT });
        let elements = (2..2 + count).chain([1]).map(v).collect();
        ops.push(Op::Vector { dst: r(2), elements });
        ops.push(Op::Unify { a: v(3000), b: v(2), at: AT });
        let mut p = component(1, 5000, vec![(ops, End::Proceed)]);
        p.registers = 3001;
        p.entries[0].parameters = vec![r(0), r(3000)];
        let call = Component {
            entries: vec![entry(P + 1, 2, 0)],
            registers: 2,
            blocks: blocks(vec![(vec![], End::Call(goal(P, &[v(0), v(1)])))]),
        };
        let mut m = Machine::new(vec![p, call], &Options::default());
        answer_with(Word::small(7));
        for (argument, expected) in [(Word::small(4), 8), (Word::NIL, 7)] {
            let out = m.variable();
            assert_eq!(m.solve(P + 1, &[argument, out]), 1);
            let handle = m.words(m.value(out), 4);
            let store = m.words(handle[1], count as usize + 2);
            assert_eq!(store[count as usize + 1], Word::small(expected));
            let cells: Vec<_> = store[1..=count as usize].iter().map(|word| word.address()).collect();
            assert!(cells.is_sorted_by(|a, b| a + 8 == *b));
        }
    }
}

#[test]
pub(crate) fn helpers_that_may_report_an_error_are_told_the_place() {
    let builtin = Op::Builtin { predicate: PredicateId(3), inputs: vec![v(0)], outputs: vec![OUT], at: AT };
    let divide = Op::Arith { op: IntOp::Div, dst: OUT, a: v(0), b: Operand::Int(0), at: AT };
    let unify = Op::Unify { a: v(0), b: Operand::Int(1), at: AT };
    for op in [builtin, divide, unify] {
        let mut m = machine(component(1, 0, vec![(vec![op], End::Proceed)]));
        assert_eq!(position(), Position::NONE);
        m.solve(P, &[Word::small(2)]);
        assert_eq!(At::Line(position()), AT);
    }
}

#[test]
pub(crate) fn more_variables_than_the_worker_holds_are_noted() {
    let many = OPERANDS_MAX + 3;
    let pends = vec![Op::Pend { var: r(0) }; many];
    let goal = goal(P, &[v(0)]);
    let noted = End::SuspendOrFail { goal: goal.clone() };
    let listed = End::Suspend { goal, on: vec![r(0); many] };
    for (ops, end) in [(pends, noted), (vec![], listed)] {
        let mut m = machine(component(1, 0, vec![(ops, end)]));
        let variable = m.variable();
        assert_eq!(m.solve(P, &[variable]), 1);
        assert_eq!(m.worker.pending, [variable; OPERANDS_MAX]);
        let told = (OPERANDS_MAX..many).map(|index| format!("pend Ref {index}"));
        let expected: Vec<_> = told.chain([format!("suspend {many} Ref")]).collect();
        assert_eq!(m.log(), expected);
    }
}
