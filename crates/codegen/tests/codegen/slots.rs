//! Results that a goal puts into the record of the goal that reads them.

use crate::machine::*;
use crate::ops::{OUT, component};
use crate::programs::blocks;
use codegen::Options;
use compiler::ir::{Component, End, Op, Operand, Pattern};
use term::abi::IntOp;
use term::layout::SUSPENSION_ARGS;
use term::word::{INT_MAX, Tag, Word};

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
fn a_result_goes_into_the_record_of_the_goal_that_reads_it() {
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
fn a_variable_is_unified_where_a_slot_would_be_filled() {
    let mut machine = machine(vec![fill(v(0))]);
    let out = machine.variable();
    assert_eq!(machine.solve(MAKES, &[Word::small(5), out]), 1);
    assert_eq!(machine.value(out), Word::small(5));
}

#[test]
fn a_result_that_is_not_there_yet_goes_into_the_record_as_a_variable() {
    let arith = Op::Arith { op: IntOp::Add, dst: OUT, a: v(0), b: Operand::Int(1), at: AT };
    let mut machine = machine(vec![arith, fill(Operand::Reg(OUT))]);
    let later = machine.variable();
    answer_with(later);
    assert_eq!(solve(&mut machine, Word::small(INT_MAX)), later);
}

#[test]
fn a_goal_that_waits_makes_a_variable_of_its_slot() {
    let mut machine = machine(vec![fill(v(0))]);
    let argument = machine.variable();
    let out = solve(&mut machine, argument);
    assert_eq!(out.tag(), Tag::Ref);
    let record = machine.words(argument, 1)[0];
    let arguments = machine.words(record, SUSPENSION_ARGS + 2)[SUSPENSION_ARGS..].to_vec();
    assert_eq!([arguments[0], machine.value(arguments[1])], [argument, out]);
}
