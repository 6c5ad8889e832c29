//! What generated code does by itself when goals were resumed (C8 of `term::abi`), and what it leaves to the runtime.

use crate::machine::{AT, FIRST, Machine, block, entry, goal, pointer, r, v};
use crate::programs::blocks;
use codegen::{Options, Workers};
use compiler::ir::{Component, End, Op, Operand};
use term::abi::PredicateId;
use term::layout::{GENERATOR, HOOK, RESUMED, SUSPENSION, SUSPENSION_ARGS};
use term::word::{Tag, UNBOUND, Word, object_header};

/// Ends at once.
const RUNNING: u32 = FIRST;
/// Binds its last argument to a vector of the others.
const WAITING: u32 = FIRST + 1;

fn component(predicate: u32, arity: u32, ops: Vec<Op>) -> Component {
    let arguments: Vec<Operand> = (0..arity).map(v).collect();
    let poll = Op::Poll { goal: goal(predicate, &arguments), need: 0 };
    let ops = std::iter::once(poll).chain(ops).collect();
    Component {
        entries: vec![entry(predicate, arity, 0)],
        registers: arity + 2,
        blocks: blocks(vec![(ops, End::Proceed)]),
    }
}

/// A machine whose running goal is interrupted because one of `arity` arguments was resumed: its record, and the
/// variable that it binds.
fn resumed(arity: u32, workers: Workers) -> (Machine, Word, Option<Word>) {
    let bind = (arity > 0).then(|| {
        let elements = (0..arity - 1).map(v).collect();
        let vector = Op::Vector { dst: r(arity), elements };
        [vector, Op::Unify { a: v(arity - 1), b: v(arity), at: AT }]
    });
    let waiting = component(WAITING, arity, bind.into_iter().flatten().collect());
    let options = Options { workers, ..Options::default() };
    let mut m = Machine::new(vec![component(RUNNING, 0, Vec::new()), waiting], &options);
    let out = (arity > 0).then(|| m.variable());
    let arguments = (1..arity.max(1)).map(|number| Word::small(number.into())).chain(out);
    let mut words = vec![object_header(SUSPENSION, SUSPENSION_ARGS - 1 + arity as usize), UNBOUND];
    words.extend([PredicateId(WAITING).goal_word(), Word::small(7), Word::small(0)]);
    words.extend(arguments);
    let record = pointer(Tag::Object, m.build(&words));
    m.worker.resumed = record.address();
    m.worker.priority = 7;
    m.worker.limit_after = m.worker.limit();
    m.worker.woken = (&raw const NO).cast();
    m.worker.poked = (&raw const NO).cast();
    m.worker.turn_left = i64::MAX;
    m.worker.set_limit(0);
    (m, record, out)
}

static NO: u8 = 0;
static YES: u8 = 1;

#[test]
pub(crate) fn a_resumed_goal_runs_without_the_runtime_and_its_record_is_spent() {
    let cases = (0..12).flat_map(|arity| [(arity, Workers::One), (arity, Workers::Several)]);
    for (arity, workers) in cases {
        let (mut m, record, out) = resumed(arity, workers);
        m.worker.spent[arity as usize] = 0x4440;
        let limit = m.worker.limit_after;
        assert_eq!(m.solve(RUNNING, &[]), 1, "{arity}");
        if let Some(out) = out {
            let vector = m.value(out);
            let store = m.words(vector, 2)[1];
            let elements = m.words(store, arity as usize);
            let expected: Vec<Word> = (1..arity).map(|number| Word::small(number.into())).collect();
            assert_eq!(elements[1..], expected, "{arity}");
        }
        assert_eq!((m.worker.made_ready, m.worker.resumed, m.worker.limit()), (1, 0, limit));
        assert_eq!(m.worker.spent[arity as usize], record.address());
        assert_eq!(m.words(record, 3)[1..], [Word::small(0x888), RESUMED]);
        assert!(m.log().is_empty());
    }
}

#[test]
fn with_other_workers_it_does_so_until_the_runtime_is_to_think_of_where_goals_go() {
    for (turn_left, poked, ready) in [(1, &NO, 1), (0, &NO, 0), (1, &YES, 0)] {
        let (mut m, _, _) = resumed(2, Workers::Several);
        m.worker.poked = (&raw const *poked).cast();
        m.worker.turn_left = turn_left;
        m.solve(RUNNING, &[]);
        assert_eq!(m.worker.made_ready, ready, "{turn_left}");
    }
}

#[test]
pub(crate) fn all_else_is_left_to_the_runtime() {
    type Change = fn(&mut Machine, Word);
    let changes: [(&str, Change); 11] = [
        ("nothing was resumed", |m, _| m.worker.resumed = 0),
        ("more is wanted", |m, _| m.worker.limit_after = 0),
        ("the heap is full", |m, _| m.worker.limit_after = m.worker.heap as usize - 8),
        ("woken", |m, _| m.worker.woken = (&raw const YES).cast()),
        ("another priority", |m, record| m.set_word(record, 3, Word::small(6))),
        ("two goals", |m, record| m.set_word(record, 1, pointer(Tag::Var, record.address()))),
        ("waits for several", |m, record| m.set_word(record, 0, object_header(HOOK, 2))),
        ("resumed before", |m, record| m.set_word(record, 2, RESUMED)),
        ("a builtin", |m, record| m.set_word(record, 2, PredicateId(FIRST - 1).goal_word())),
        ("no room", |m, _| m.worker.goals_limit = m.worker.goals as usize),
        ("not private", |m, _| m.worker.set_private_base(m.worker.heap as usize)),
    ];
    for (why, change) in changes {
        let (mut m, record, out) = resumed(2, Workers::One);
        change(&mut m, record);
        let before = m.words(record, 7);
        m.solve(RUNNING, &[]);
        assert_eq!(m.worker.made_ready, 0, "{why}");
        assert_eq!(m.worker.spent, [0; term::abi::SPENT_ARITIES], "{why}");
        assert_eq!(m.words(record, 7), before, "{why}");
        assert_eq!(out.map(|out| m.value(out)), out, "{why}");
    }
    let (mut m, _, _) = resumed(12, Workers::One);
    m.solve(RUNNING, &[]);
    assert_eq!(m.worker.made_ready, 0, "many arguments");
}

#[test]
pub(crate) fn a_variable_that_a_goal_waits_for_is_bound_at_once_but_not_one_with_a_generator() {
    let bind = End::TryBind { var: r(0), value: Operand::Int(5), done: block(1), other: block(2) };
    let told = |number| vec![Op::Unify { a: v(1), b: Operand::Int(number), at: AT }];
    let ends = [(Vec::new(), bind), (told(1), End::Proceed), (told(2), End::Proceed)];
    let goal = PredicateId(FIRST).goal_word();
    // What is resumed already, the class of the record, and what is resumed then: the record, or that.
    for (before, class, noted) in [
        (0, Some(SUSPENSION), true),
        (0, Some(HOOK), true),
        (0, Some(GENERATOR), false),
        (64, Some(SUSPENSION), false),
        (0, None, false),
    ] {
        let component =
            Component { entries: vec![entry(FIRST, 2, 0)], registers: 3, blocks: blocks(ends.to_vec()) };
        let mut m = Machine::new(vec![component], &Options::default());
        let record = class
            .map(|class| m.build(&[object_header(class, 4), UNBOUND, goal, Word::small(0), Word::small(0)]));
        let [variable, told] = [(); 2].map(|()| m.variable());
        m.set_word(variable, 0, record.map_or(Word::small(9), |record| pointer(Tag::Var, record)));
        m.worker.resumed = before;
        m.solve(FIRST, &[variable, told]);
        let way = if noted { 1 } else { 2 };
        assert_eq!(m.value(told), Word::small(way), "{class:?}");
        let resumed = if noted { record } else { Some(before) };
        assert_eq!(Some(m.worker.resumed), resumed, "{class:?}");
        if noted {
            assert_eq!((m.value(variable), m.worker.limit()), (Word::small(5), 0));
        }
    }
}
