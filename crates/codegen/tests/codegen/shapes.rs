//! Shapes of hot paths: a comparison before the cases for single integers, and the new tail of a list in the old one's
//! register.

use crate::arithmetic::NUMBERS;
use crate::machine::*;
use crate::ops::{component, machine, result, run};
use crate::programs::append;
use codegen::{Dump, Options, dump};
use compiler::ir::{Component, End, Operand, Pattern};
use term::abi::Cond;
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
