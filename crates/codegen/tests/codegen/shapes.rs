//! Shapes of hot paths: a comparison before the cases for single integers, and the new tail of a list in the old one's
//! register.

use crate::arithmetic::NUMBERS;
use crate::machine::*;
use crate::ops::{component, machine, result, run};
use crate::programs::{append, blocks};
use codegen::{Dump, Options, dump};
use compiler::ir::{Component, End, Op, Operand, Pattern};
use term::abi::{Cond, IntOp};
use term::word::Word;

fn assembly(component: Component) -> String {
    let atoms = term::AtomTable::new();
    dump(&program(vec![component]), &builtins(), &atoms, &Options::default(), Dump::Asm).expect("small")
}

/// `p(single, _, R)`, and `p(X, _, R)` for all other integers: R is 3 if they compare with `other`, 4 if not, 6 for
/// single ones, 5 for what is none.
fn compared(cond: Cond, other: i64, single: &[i64]) -> Component {
    let compare = End::Compare {
        cond,
        a: v(0),
        b: Operand::Int(other),
        yes: block(3),
        no: block(4),
        unbound: block(5),
        wait: r(31),
    };
    let mut cases: Vec<_> = single.iter().map(|&one| (Pattern::Int(one), block(6))).collect();
    cases.push((Pattern::AnyInt, block(2)));
    let head = End::Match { reg: r(0), cases, unbound: block(5), default: block(5) };
    let mut all = vec![(vec![], head), (vec![], compare)];
    all.extend((3..7).map(|value| result(3, Operand::Int(value))));
    component(3, 0, all)
}

#[test]
pub(crate) fn a_comparison_of_all_other_integers_agrees_with_cases_for_single_ones() {
    for cond in [Cond::Lt, Cond::Le, Cond::Gt, Cond::Ge, Cond::Eq, Cond::Ne] {
        for single in [vec![0], vec![0, 1], vec![-1, 5, 2, 7]] {
            let mut machine = machine(compared(cond, 2, &single));
            for a in NUMBERS.into_iter().chain([4, 5, 6]) {
                let holds = match cond {
                    Cond::Lt => a < 2,
                    Cond::Le => a <= 2,
                    Cond::Gt => a > 2,
                    Cond::Ge => a >= 2,
                    Cond::Eq => a == 2,
                    Cond::Ne => a != 2,
                };
                let way = match (single.contains(&a), holds) {
                    (true, _) => 6,
                    (false, true) => 3,
                    (false, false) => 4,
                };
                assert_eq!(
                    run(&mut machine, &[Word::small(a), Word::NIL]).0,
                    Word::small(way),
                    "{cond:?} {a}"
                );
            }
            let unbound = machine.variable();
            assert_eq!(run(&mut machine, &[unbound, Word::NIL]).0, Word::small(5));
            assert_eq!(run(&mut machine, &[Word::NIL, Word::NIL]).0, Word::small(5));
        }
    }
}

#[test]
fn a_loop_compares_once_if_no_single_integer_passes() {
    let first = |other: i64| {
        let text = assembly(compared(Cond::Gt, other, &[5]));
        let at = |value: i64| text.find(&format!("cmpq ${:#x},", value << 3)).expect("it is compared");
        if at(other) < at(5) { other } else { 5 }
    };
    assert_eq!((first(7), first(3)), (7, 5));
}

#[test]
fn a_loop_that_builds_a_list_keeps_its_tail_in_one_register() {
    let text = assembly(append());
    let lines: Vec<_> = text.lines().map(str::trim).collect();
    let bound = |line: &str| line.strip_suffix(')')?.split_once(", -1(").map(|(_, tail)| tail.to_string());
    let in_place = |(at, line): (usize, &&str)| {
        let Some(tail) = bound(line) else { return false };
        let block = lines[at..].iter().take_while(|line| !line.starts_with("block"));
        block.into_iter().any(|line| *line == format!("leaq 9(%rsi), {tail}"))
    };
    assert!(lines.iter().enumerate().any(in_place), "{text}");
}

/// `count(N, A, R)`: R is A and the number of steps that N takes until it is `single` (R is then negative) or compares
/// with `other` no longer.
fn counter(single: &[i64], (cond, other): (Cond, i64), step: i64) -> Component {
    let call = goal(FIRST, &[v(0), v(1), v(2)]);
    let mut cases: Vec<_> = single.iter().map(|&one| (Pattern::Int(one), block(4))).collect();
    cases.push((Pattern::AnyInt, block(1)));
    let head = End::Match { reg: r(0), cases, unbound: block(5), default: block(6) };
    let b = Operand::Int(other);
    let compare =
        End::Compare { cond, a: v(0), b, yes: block(2), no: block(3), unbound: block(6), wait: r(5) };
    let add = |dst, a, b| Op::Arith { op: IntOp::Add, dst: r(dst), a: v(a), b: Operand::Int(b), at: AT };
    let minus = Op::Arith { op: IntOp::Neg, dst: r(6), a: v(1), b: Operand::Int(0), at: AT };
    let again = End::Jump { block: block(0), moves: vec![(r(0), v(3)), (r(1), v(4))] };
    let bind = |value| Op::Unify { a: v(2), b: v(value), at: AT };
    let all = vec![
        (vec![Op::Poll { goal: call.clone(), need: 0 }], head),
        (vec![], compare),
        (vec![add(3, 0, step), add(4, 1, 1)], again),
        (vec![bind(1)], End::Proceed),
        (vec![minus, bind(6)], End::Proceed),
        (vec![], End::Suspend { goal: call.clone(), on: vec![r(0)] }),
        (vec![], End::Fail { goal: call }),
    ];
    Component { entries: vec![entry(FIRST, 3, 0)], registers: 8, blocks: blocks(all) }
}

#[test]
pub(crate) fn a_counter_takes_its_steps_in_one_piece_and_in_many() {
    let counters = [
        (vec![0], (Cond::Gt, 0), -1),
        (vec![3], (Cond::Gt, 0), -1),
        (vec![10], (Cond::Lt, 10), 1),
        (vec![], (Cond::Ge, -5), -3),
        (vec![7], (Cond::Ne, 10), 1),
        (vec![1, 3, 5, 7, 9], (Cond::Gt, 0), -2),
    ];
    for (single, (cond, other), step) in counters {
        let holds = |n: i64| match cond {
            Cond::Gt => n > other,
            Cond::Ge => n >= other,
            Cond::Lt => n < other,
            _ => n != other,
        };
        let whole = Options::default();
        let pieces = Options { piece_weight: 1, ..Options::default() };
        for options in [whole, pieces] {
            let mut machine = Machine::new(vec![counter(&single, (cond, other), step)], &options);
            for start in -4..12 {
                let (mut n, mut steps) = (start, 0);
                // Others would count for ever.
                let ends = cond != Cond::Ne || start <= 10;
                while ends && !single.contains(&n) && holds(n) {
                    (n, steps) = (n + step, steps + 1);
                }
                let expected = if single.contains(&n) { -steps } else { steps };
                if ends {
                    let result = run(&mut machine, &[Word::small(start), Word::small(0)]).0;
                    assert_eq!(result, Word::small(expected), "{single:?} {cond:?} {other} {step} {start}");
                }
            }
        }
    }
}

#[test]
fn a_counter_that_was_just_compared_is_not_asked_what_it_is() {
    let text = assembly(counter(&[0], (Cond::Gt, 0), -1));
    let step = text.find("leaq -8(%r").expect("it counts down");
    let register = text[step..].split(&['(', ')']).nth(1).expect("of a register").trim_start_matches('%');
    // The loop begins with the step: it ends in a jump there.
    let name = text[..step].rfind("block").expect("in a block") + "block".len();
    let label = format!("label{}", text[name..].split(':').next().expect("with a name"));
    let end = step + text[step..].find(&label).expect("a loop");
    let numbered = register[1..].starts_with(|c: char| c.is_ascii_digit());
    let low = if numbered { format!("{register}d") } else { register.replacen('r', "e", 1) };
    assert!(!text[step..end].contains(&format!("testl $0x7, %{low}")), "{text}");
}
