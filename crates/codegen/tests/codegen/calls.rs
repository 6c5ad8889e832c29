//! Builtins that are called: their operands and answers, and what lives across.

use crate::machine::*;
use crate::ops::{component, machine, result, run};
use compiler::ir::{At, End, Op, Operand, Slot};
use term::abi::{PredicateId, answer};
use term::symbol::NIL;
use term::word::Word;

#[test]
pub(crate) fn operands_in_registers_and_in_memory_come_to_a_builtin() {
    let inputs = [v(0), Operand::Int(5), v(1), Operand::Atom(NIL)];
    for (predicate, count, outputs, log, made) in [
        (11, 2, 1, "builtin 11 6 5", &[88][..]),
        (12, 3, 3, "builtin 12 6 5 7", &[88, 77, 79]),
        (13, 4, 1, "builtin 13 Int", &[88]),
    ] {
        let outputs: Vec<_> = (30..30 + outputs).map(r).collect();
        // What lives across the call: two variables, and a pointer to what was made before it.
        let mut ops = vec![
            Op::Cons { dst: r(10), car: Slot::Value(v(0)), cdr: Slot::Value(v(1)) },
            Op::Builtin {
                predicate: PredicateId(predicate),
                inputs: inputs[..count].to_vec(),
                outputs: outputs.clone(),
                at: AT,
            },
        ];
        let mut list = vec![v(0), v(1)];
        list.extend(outputs.iter().map(|&output| Operand::Reg(output)));
        let mut rest = Operand::Atom(NIL);
        for (index, &item) in list.iter().enumerate().rev() {
            let dst = r(20 + index as u32);
            ops.push(Op::Cons { dst, car: Slot::Value(item), cdr: Slot::Value(rest) });
            rest = Operand::Reg(dst);
        }
        ops.push(Op::Cons { dst: r(11), car: Slot::Value(v(10)), cdr: Slot::Value(rest) });
        ops.push(Op::Unify { a: v(2), b: v(11), at: AT });
        let mut m = machine(component(3, 20, vec![(ops, End::Proceed)]));
        let (value, said) = run(&mut m, &[Word::small(6), Word::small(7)]);
        assert_eq!(said, [log]);
        assert_eq!(At::Line(position()), AT);
        let [pair, items] = m.words(value, 2)[..] else { panic!("a cons") };
        assert_eq!(m.words(pair, 2), [Word::small(6), Word::small(7)]);
        assert_eq!(m.items(items), [&[6, 7], made].concat());
    }
}

#[test]
pub(crate) fn operands_in_registers_come_to_a_guard() {
    for (predicate, count, outputs) in [(9, 2, 3), (10, 3, 0)] {
        let inputs = [v(0), v(1), Operand::Int(5)][..count].to_vec();
        let outputs: Vec<_> = (30..30 + outputs).map(r).collect();
        let end = End::GuardCall {
            predicate: PredicateId(predicate),
            inputs,
            outputs: outputs.clone(),
            yes: block(2),
            no: block(3),
            unbound: block(4),
            wait: r(32),
        };
        let mut rest = Operand::Reg(r(1));
        let mut yes = Vec::new();
        for (index, &output) in outputs.iter().enumerate() {
            let dst = r(20 + index as u32);
            yes.push(Op::Cons { dst, car: Slot::Value(Operand::Reg(output)), cdr: Slot::Value(rest) });
            rest = Operand::Reg(dst);
        }
        yes.push(Op::Unify { a: v(2), b: rest, at: AT });
        let (no, unbound) = (result(3, Operand::Atom(NIL)), result(3, Operand::Reg(r(32))));
        let mut m = machine(component(3, 20, vec![(vec![], end), (yes, End::Proceed), no, unbound]));
        let log = if count == 2 { "guard 9 6 atom#0" } else { "guard 10 6 atom#0 5" };
        for (word, expected) in [(answer::YES, None), (answer::NO, Some(Word::NIL))] {
            answer_with(word);
            let (value, said) = run(&mut m, &[Word::small(6), Word::NIL]);
            assert_eq!(said, [log]);
            match expected {
                None if count == 2 => assert_eq!(m.items(value), [79, 78, 77]),
                None => assert_eq!(value, Word::NIL),
                Some(expected) => assert_eq!(value, expected),
            }
        }
        let unbound = m.variable();
        answer_with(unbound);
        let (value, said) = run(&mut m, &[Word::small(6), Word::NIL]);
        assert_eq!((value, &said[..]), (unbound, &[log.to_string()][..]));
    }
}
