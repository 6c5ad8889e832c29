//! Results that a goal puts into the record of the goal that reads them.

use crate::machine::*;
use crate::ops::{OUT, component};
use crate::programs::blocks;
use codegen::Options;
use compiler::ir::{Component, End, Op, Operand, Pattern};
use term::abi::IntOp;
use term::layout::SUSPENSION_ARGS;
use term::word::{INT_MAX, Tag, UNBOUND, Word};

const P: u32 = FIRST;
const MAKES: u32 = FIRST + 1;
const READS: u32 = FIRST + 2;

/// `p(A, Out) :- makes(A, R), reads(R, Out).`, where `makes` does this with an integer.
fn machine(result: Vec<Op>) -> Machine {
    let reads = Op::Push { goal: goal(READS, &[v(5), v(1)]), places: vec![] };
    let p =
        component(2, 0, vec![(vec![Op::Slot { dst: r(5) }, reads], End::Call(goal(MAKES, &[v(0), v(5)])))]);
    let poll = |predicate| Op::Poll { goal: goal(predicate, &[v(0), v(1)]), need: 1 };
    let tests = End::Match {
        reg: r(0),
        cases: vec![(Pattern::AnyInt, block(1))],
        unbound: block(2),
        default: block(3),
    };
    let waits = End::Suspend { goal: goal(MAKES, &[v(0), v(1)]), on: vec![r(0)] };
    let makes = blocks(vec![
        (vec![poll(MAKES)], tests),
        (result, End::Proceed),
        (vec![Op::Settle { var: r(1) }], waits),
        (vec![], End::Fail { goal: goal(MAKES, &[v(0), v(1)]) }),
    ]);
    let makes = Component { entries: vec![entry(MAKES, 2, 0)], registers: 40, blocks: makes };
    let read = Op::Unify { a: v(1), b: v(0), at: AT };
    let reads = blocks(vec![(vec![poll(READS), read], End::Proceed)]);
    let reads = Component { entries: vec![entry(READS, 2, 0)], registers: 40, blocks: reads };
    Machine::new(vec![p, makes, reads], &Options::default())
}
fn fill(value: Operand) -> Op {
    Op::Fill { var: r(1), value, at: AT }
}
fn solve(machine: &mut Machine, argument: Word) -> Word {
    let out = machine.variable();
    assert_eq!(machine.solve(P, &[argument, out]), 1);
    machine.value(out)
}

#[test]
pub(crate) fn a_result_goes_into_the_record_of_the_goal_that_reads_it() {
    let arith = Op::Arith { op: IntOp::Add, dst: OUT, a: v(0), b: Operand::Int(1), at: AT };
    let certain = Op::Put { slot: r(1), value: v(0) };
    for (result, expected) in [
        (vec![fill(v(0))], 5),
        (vec![fill(Operand::Int(7))], 7),
        (vec![arith, fill(Operand::Reg(OUT))], 6),
        (vec![certain], 5),
    ] {
        let mut machine = machine(result);
        let before = machine.variable().address();
        assert_eq!(solve(&mut machine, Word::small(5)), Word::small(expected));
        // Nothing was made but the variables of this test.
        assert_eq!(machine.variable().address(), before + 16);
        assert_eq!(machine.log(), [""; 0]);
    }
}

#[test]
pub(crate) fn a_variable_is_unified_where_a_slot_would_be_filled() {
    let mut machine = machine(vec![fill(v(0))]);
    let out = machine.variable();
    assert_eq!(machine.solve(MAKES, &[Word::small(5), out]), 1);
    assert_eq!(machine.value(out), Word::small(5));
}

#[test]
pub(crate) fn a_result_that_is_not_there_yet_goes_into_the_record_as_a_variable() {
    let arith = Op::Arith { op: IntOp::Add, dst: OUT, a: v(0), b: Operand::Int(1), at: AT };
    let mut machine = machine(vec![arith, fill(Operand::Reg(OUT))]);
    let later = machine.variable();
    answer_with(later);
    assert_eq!(solve(&mut machine, Word::small(INT_MAX)), later);
}

#[test]
pub(crate) fn a_goal_that_waits_makes_a_variable_of_its_slot() {
    let mut machine = machine(vec![fill(v(0))]);
    let argument = machine.variable();
    let out = solve(&mut machine, argument);
    assert_eq!(out.tag(), Tag::Ref);
    let record = machine.words(argument, 1)[0];
    let arguments = machine.words(record, SUSPENSION_ARGS + 2)[SUSPENSION_ARGS..].to_vec();
    assert_eq!([arguments[0], machine.value(arguments[1])], [argument, out]);
}

/// `long(A1, .., A15)`, which waits for these and may lead to slots at `SLOTS`.
fn long(on: &[u32]) -> Component {
    let call = goal(LONG, &(0..15).map(v).collect::<Vec<_>>());
    let settles = SLOTS.iter().map(|&var| Op::Settle { var: r(var) }).collect();
    let waits = End::Suspend { goal: call.clone(), on: on.iter().map(|&var| r(var)).collect() };
    let poll = Op::Poll { goal: call, need: SLOTS.len() as u32 };
    Component {
        entries: vec![entry(LONG, 15, 0)],
        registers: 16,
        blocks: blocks(vec![(vec![poll], End::Goto(block(1))), (settles, waits)]),
    }
}
const LONG: u32 = FIRST;
const SLOTS: [u32; 3] = [0, 7, 14];

#[test]
pub(crate) fn the_slots_of_a_goal_that_waits_are_found_among_its_arguments() {
    for on in [&[1][..], &[1, 2]] {
        let mut machine = Machine::new(vec![long(on)], &Options::default());
        // The record that has the slots; what else looks like one is none.
        machine.push(STOP.0, &[]);
        let base = machine.worker.goals as usize;
        SLOTS.iter().for_each(|_| machine.push(STOP.0, &[UNBOUND]));
        let place = |index: usize| pointer(Tag::Header, base + 16 * index);
        let variable = machine.variable();
        let mut arguments = [variable; 15];
        arguments[5] = place(0);
        for (index, &at) in SLOTS.iter().enumerate() {
            arguments[at as usize] = place(index);
        }
        machine.push(LONG, &arguments);
        machine.run();
        let filled = machine.goals[1..].chunks(2).take(SLOTS.len()).map(|record| bits(record[0]));
        let filled: Vec<Word> = filled.collect();
        let cells = SLOTS.len() * 8;
        let expected = (0..cells).step_by(8).map(|at| pointer(Tag::Ref, variable.address() + 8 + at));
        assert_eq!(filled, expected.collect::<Vec<_>>());
        if on.len() == 1 {
            let record = machine.words(variable, 1)[0];
            for (&at, &word) in SLOTS.iter().zip(&filled) {
                arguments[at as usize] = word;
            }
            assert_eq!(machine.words(record, SUSPENSION_ARGS + 15)[SUSPENSION_ARGS..], arguments);
        }
        let helper = if on.len() == 1 { vec![] } else { vec!["suspend 2 Ref"] };
        assert_eq!(machine.log(), helper);
    }
}
