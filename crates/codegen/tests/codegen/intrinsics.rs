//! Reads and updates of vectors and strings, and equality of terms, in generated code.

use crate::machine::*;
use crate::ops::{OUT, component, machine, result, run};
use compiler::ir::{End, Op, Operand, Slot};
use term::abi::{PredicateId, answer};
use term::layout::{HANDLE_SIZE, STORE, STRING, VECTOR};
use term::symbol::{MAIN, NIL, TRUE};
use term::word::{Tag, Word, object_header};

/// A vector as the runtime makes it.
fn vector(m: &mut Machine, version: i64, elements: &[i64]) -> Word {
    let mut words = vec![object_header(STORE, elements.len())];
    words.extend(elements.iter().map(|&element| Word::small(element)));
    let store = pointer(Tag::Object, m.build(&words));
    let length = Word::small(elements.len() as i64);
    let header = object_header(VECTOR, HANDLE_SIZE);
    pointer(Tag::Object, m.build(&[header, store, Word::small(version), length]))
}

#[test]
pub(crate) fn vector_elements_are_read_inline() {
    let ops = vec![
        Op::Builtin { predicate: PredicateId(6), inputs: vec![v(0), v(1)], outputs: vec![OUT], at: AT },
        Op::Unify { a: v(2), b: Operand::Reg(OUT), at: AT },
    ];
    let mut m = machine(component(3, 0, vec![(ops, End::Proceed)]));
    for version in [-1, -2] {
        let vector = vector(&mut m, version, &[10, 11, 12]);
        let cell = m.build(&[vector]);
        assert_eq!(run(&mut m, &[vector, Word::small(2)]), (Word::small(12), vec![]));
        let reference = pointer(Tag::Ref, cell);
        assert_eq!(run(&mut m, &[reference, Word::small(0)]), (Word::small(10), vec![]));
        assert_eq!(run(&mut m, &[vector, Word::small(3)]).1, ["builtin 6 Object"]);
        assert_eq!(run(&mut m, &[vector, Word::small(-1)]).1, ["builtin 6 Object"]);
        assert_eq!(run(&mut m, &[vector, Word::NIL]).1, ["builtin 6 Object"]);
    }
    let older = vector(&mut m, 1, &[10, 11, 12]);
    assert_eq!(run(&mut m, &[older, Word::small(0)]).1, ["builtin 6 Object"]);
    let list = m.list(&[1]);
    assert_eq!(run(&mut m, &[list, Word::small(0)]).1, ["builtin 6 Cons"]);
}

#[test]
pub(crate) fn vector_updates_keep_the_older_version() {
    let ops = vec![
        Op::Cons { dst: r(5), car: Slot::Value(v(1)), cdr: Slot::Value(Operand::Atom(NIL)) },
        Op::Builtin {
            predicate: PredicateId(2),
            inputs: vec![v(0), v(1), Operand::Int(99)],
            outputs: vec![r(6), OUT],
            at: AT,
        },
        Op::Cons { dst: r(7), car: Slot::Value(v(6)), cdr: Slot::Value(v(5)) },
        Op::Unify { a: v(2), b: v(7), at: AT },
        Op::Unify { a: v(3), b: Operand::Reg(OUT), at: AT },
    ];
    let mut m = machine(component(4, 4, vec![(ops, End::Proceed)]));
    let old = vector(&mut m, -1, &[10, 11, 12]);
    let pair = m.variable();
    let (new, log) = run(&mut m, &[old, Word::small(1), pair]);
    assert_eq!(log, Vec::<String>::new());
    assert_eq!(m.items(pair), [11, 1]);
    let handle = m.words(new, 4);
    assert_eq!(handle[2..], [Word::small(-1), Word::small(3)]);
    assert_eq!(m.words(handle[1], 4)[2], Word::small(99));
    assert_eq!(m.words(old, 4)[1..], [new, Word::small(1), Word::small(11)]);
    // Literals, older versions, handles that are not private and a full heap are the helper's.
    let literal = vector(&mut m, -2, &[1, 2]);
    assert_eq!(run(&mut m, &[literal, Word::small(1), pair]).1[0], "builtin 2 Object");
    assert_eq!(run(&mut m, &[old, Word::small(1), pair]).1[0], "builtin 2 Object");
    m.worker.set_private_base(0);
    assert_eq!(run(&mut m, &[new, Word::small(1), pair]).1[0], "builtin 2 Object");
}

#[test]
pub(crate) fn string_elements_and_lengths_are_read_inline() {
    for (predicate, inputs, expected) in [(5, vec![v(0), v(1)], 98), (4, vec![v(0)], 0)] {
        let end = End::GuardCall {
            predicate: PredicateId(predicate),
            inputs,
            outputs: vec![OUT],
            yes: block(2),
            no: block(3),
            unbound: block(3),
            wait: r(31),
        };
        let no = result(3, Operand::Atom(NIL));
        let mut m = machine(component(3, 0, vec![(vec![], end), result(3, Operand::Reg(OUT)), no]));
        let bytes =
            m.build(&[object_header(term::layout::BYTES, 1), bits(u64::from_le_bytes(*b"abc\0\0\0\0\0"))]);
        let header = object_header(STRING, HANDLE_SIZE);
        let store = pointer(Tag::Object, bytes);
        let handle = m.build(&[header, store, Word::small(-1), Word::small(3)]);
        let string = pointer(Tag::Object, handle);
        if predicate == 5 {
            assert_eq!(run(&mut m, &[string, Word::small(1)]), (Word::small(expected), vec![]));
        }
        answer_with(answer::NO);
        // A string is no vector; index 3 is outside.
        assert_eq!(run(&mut m, &[string, Word::small(3)]).0, Word::NIL);
    }
}

#[test]
pub(crate) fn equality_asks_the_helper_about_all_but_integers_and_the_same_atom() {
    let end = |b| End::GuardCall {
        predicate: PredicateId(8),
        inputs: vec![v(0), b],
        outputs: vec![],
        yes: block(2),
        no: block(3),
        unbound: block(4),
        wait: r(31),
    };
    let exits = [TRUE, NIL, MAIN].map(|atom| result(3, Operand::Atom(atom)));
    let mut all = vec![(vec![], end(v(1)))];
    all.extend(exits);
    let mut m = machine(component(3, 0, all));
    let [six, seven, nil] = [Word::small(6), Word::small(7), Word::NIL];
    for (a, b, atom) in [(six, six, TRUE), (six, seven, NIL), (nil, nil, TRUE)] {
        assert_eq!(run(&mut m, &[a, b]), (Word::atom(atom), vec![]));
    }
    let unbound = m.variable();
    let cons = pointer(Tag::Cons, m.build(&[six, nil]));
    let others =
        [(nil, Word::atom(TRUE)), (six, nil), (nil, six), (cons, cons), (unbound, unbound), (six, cons)];
    for (a, b) in others {
        for (answer, atom) in [(answer::NO, NIL), (answer::YES, TRUE), (unbound, MAIN)] {
            answer_with(answer);
            let log = vec![format!("equal {:?} {:?}", a.tag(), b.tag())];
            assert_eq!(run(&mut m, &[a, b]), (Word::atom(atom), log));
        }
    }
}
