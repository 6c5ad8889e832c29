//! Integer arithmetic and comparison, in bodies and guards.

use crate::machine::*;
use crate::ops::{OUT, component, machine, result, run};
use compiler::ir::{Component, End, Op, Operand};
use term::abi::{Cond, GUARD_FAILS, IntOp, answer};
use term::symbol::{MAIN, NIL, TRUE};
use term::word::{INT_MAX, INT_MIN, Tag, Word};

fn body_arith(op: IntOp, b: Operand) -> Component {
    let arith = Op::Arith { op, dst: OUT, a: v(0), b, at: AT };
    let (mut ops, end) = result(3, Operand::Reg(OUT));
    ops.insert(0, arith);
    component(3, 0, vec![(ops, end)])
}
fn guard_arith(op: IntOp, b: Operand) -> Component {
    let end = End::GuardArith {
        op,
        dst: OUT,
        a: v(0),
        b,
        yes: block(2),
        no: block(3),
        unbound: block(4),
        wait: r(31),
    };
    let no = result(3, Operand::Atom(NIL));
    let unbound = result(3, Operand::Atom(TRUE));
    component(3, 0, vec![(vec![], end), result(3, Operand::Reg(OUT)), no, unbound])
}

const OPS: [IntOp; 12] = [
    IntOp::Add,
    IntOp::Sub,
    IntOp::Mul,
    IntOp::Div,
    IntOp::Mod,
    IntOp::And,
    IntOp::Or,
    IntOp::Xor,
    IntOp::Shl,
    IntOp::Shr,
    IntOp::Neg,
    IntOp::Not,
];
pub(crate) const NUMBERS: [i64; 22] = [
    0,
    1,
    -1,
    2,
    -2,
    3,
    7,
    -7,
    8,
    60,
    61,
    63,
    64,
    1000,
    -1000,
    1 << 29,
    1 << 33,
    -(1 << 33),
    1 << 58,
    INT_MAX,
    INT_MIN,
    -8,
];

/// Divisors, beside those of `NUMBERS`.
const CONSTANTS: [i64; 8] = [-3, 9, 10, 100, 641, 12_345, -65_537, INT_MIN + 1];

/// What the operation gives as a small integer.
fn expected(op: IntOp, a: i64, b: i64) -> Option<i64> {
    let (a, b) = (i128::from(a), i128::from(b));
    let value = match op {
        IntOp::Add => a + b,
        IntOp::Sub => a - b,
        IntOp::Mul => a * b,
        IntOp::Div if b != 0 => a / b,
        IntOp::Mod if b != 0 => a % b,
        IntOp::Div | IntOp::Mod => return None,
        IntOp::And => a & b,
        IntOp::Or => a | b,
        IntOp::Xor => a ^ b,
        IntOp::Shl if (0..=60).contains(&b) => a << b,
        IntOp::Shr if (0..=60).contains(&b) => a >> b,
        IntOp::Shl | IntOp::Shr => return None,
        IntOp::Neg => -a,
        IntOp::Not => !a,
    };
    i64::try_from(value).ok().filter(|value| (INT_MIN..=INT_MAX).contains(value))
}

#[test]
pub(crate) fn arithmetic_is_right_or_left_to_the_helper() {
    answer_with(Word::small(4711));
    for op in OPS {
        let mut body = machine(body_arith(op, v(1)));
        for a in NUMBERS {
            for b in NUMBERS {
                let (value, log) = run(&mut body, &[Word::small(a), Word::small(b)]);
                match expected(op, a, b) {
                    // The helper may be asked for the few divisors that need care.
                    Some(number) if log.is_empty() => assert_eq!(value.as_int(), number, "{op:?} {a} {b}"),
                    Some(_) => assert!(matches!(op, IntOp::Div | IntOp::Mod) && b == -1, "{op:?} {a} {b}"),
                    None => assert_eq!(log, [format!("arith {} Int Int", op as u8)], "{op:?} {a} {b}"),
                }
            }
        }
    }
}

#[test]
pub(crate) fn arithmetic_with_constants_agrees() {
    answer_with(Word::small(4711));
    for op in OPS {
        for b in NUMBERS.into_iter().chain(CONSTANTS) {
            for component in [body_arith(op, Operand::Int(b)), guard_arith(op, Operand::Int(b))] {
                let mut machine = machine(component);
                // Where a quotient becomes another, most of all.
                let steps = [-1000, -1, 1, 2, 999, 1 << 30].map(|times| b.wrapping_mul(times));
                let near = steps.into_iter().flat_map(|a| [a.wrapping_sub(1), a, a.wrapping_add(1)]);
                let near = near.filter(|a| (INT_MIN..=INT_MAX).contains(a));
                for a in NUMBERS.into_iter().chain(near) {
                    let (value, log) = run(&mut machine, &[Word::small(a), Word::NIL]);
                    match expected(op, a, b) {
                        Some(number) if log.is_empty() => {
                            assert_eq!(value.as_int(), number, "{op:?} {a} {b}")
                        }
                        Some(_) => {
                            assert!(matches!(op, IntOp::Div | IntOp::Mod) && b == -1, "{op:?} {a} {b}");
                        }
                        None => assert_eq!(log.len(), 1, "{op:?} {a} {b}"),
                    }
                }
            }
        }
    }
}

#[test]
pub(crate) fn operands_behind_references_are_followed() {
    let mut body = machine(body_arith(IntOp::Add, v(1)));
    let cell = body.build(&[Word::small(40)]);
    let chain = body.build(&[pointer(Tag::Ref, cell)]);
    let a = pointer(Tag::Ref, chain);
    assert_eq!(run(&mut body, &[a, Word::small(2)]), (Word::small(42), vec![]));
    assert_eq!(run(&mut body, &[a, a]), (Word::small(80), vec![]));
    for (op, number) in [(IntOp::Sub, 38), (IntOp::Mul, 80)] {
        let mut body = machine(body_arith(op, v(1)));
        let a = pointer(Tag::Ref, body.build(&[Word::small(40)]));
        assert_eq!(run(&mut body, &[a, Word::small(2)]), (Word::small(number), vec![]), "{op:?}");
    }
    answer_with(Word::small(5));
    let asked = |number: u8| (Word::small(5), vec![format!("arith {number} Int Int")]);
    assert_eq!(run(&mut body, &[a, Word::small(INT_MAX)]), asked(0), "it is no small integer");
    let mut other = machine(body_arith(IntOp::Shl, v(1)));
    let b = pointer(Tag::Ref, other.build(&[Word::small(2)]));
    assert_eq!(run(&mut other, &[Word::small(40), b]), asked(IntOp::Shl as u8));
    let unbound = body.variable();
    assert_eq!(run(&mut body, &[a, unbound]), (Word::small(5), vec!["arith 0 Int Ref".into()]));
    assert_eq!(run(&mut body, &[Word::NIL, unbound]).1, ["arith 0 Atom Ref"]);
}

#[test]
pub(crate) fn guard_arithmetic_has_three_ways_out() {
    let mut guard = machine(guard_arith(IntOp::Sub, v(1)));
    assert_eq!(run(&mut guard, &[Word::small(50), Word::small(8)]), (Word::small(42), vec![]));
    let unbound = guard.variable();
    answer_with(unbound);
    let asked = vec!["guard_arith 1 Ref Int".into()];
    assert_eq!(run(&mut guard, &[unbound, Word::small(8)]), (Word::atom(TRUE), asked));
    for (answer, expected) in
        [(GUARD_FAILS, Word::NIL), (unbound, Word::atom(TRUE)), (Word::small(9), Word::small(9))]
    {
        answer_with(answer);
        assert_eq!(run(&mut guard, &[Word::NIL, Word::small(8)]).0, expected);
    }
}

#[test]
pub(crate) fn comparisons_choose_the_branch() {
    let conds = [Cond::Lt, Cond::Le, Cond::Gt, Cond::Ge, Cond::Eq, Cond::Ne];
    for cond in conds {
        let end = |b| End::Compare {
            cond,
            a: v(0),
            b,
            yes: block(2),
            no: block(3),
            unbound: block(4),
            wait: r(31),
        };
        let make = |b| {
            let exits = [TRUE, NIL, MAIN].map(|atom| result(3, Operand::Atom(atom)));
            let mut all = vec![(vec![], end(b))];
            all.extend(exits);
            machine(component(3, 0, all))
        };
        let mut both = make(v(1));
        let mut constant = make(Operand::Int(3));
        for a in [-5, 2, 3, 4, INT_MAX] {
            let holds = match cond {
                Cond::Lt => a < 3,
                Cond::Le => a <= 3,
                Cond::Gt => a > 3,
                Cond::Ge => a >= 3,
                Cond::Eq => a == 3,
                Cond::Ne => a != 3,
            };
            let expected = Word::atom(if holds { TRUE } else { NIL });
            assert_eq!(run(&mut both, &[Word::small(a), Word::small(3)]), (expected, vec![]));
            assert_eq!(run(&mut constant, &[Word::small(a), Word::NIL]), (expected, vec![]));
        }
        let unbound = both.variable();
        answer_with(unbound);
        let asked = vec![format!("compare {} Int Ref", cond as u8)];
        assert_eq!(run(&mut both, &[Word::small(1), unbound]), (Word::atom(MAIN), asked));
        for (answer, atom) in [(answer::NO, NIL), (answer::YES, TRUE), (unbound, MAIN)] {
            answer_with(answer);
            assert_eq!(run(&mut both, &[Word::NIL, Word::small(1)]).0, Word::atom(atom));
        }
    }
}
