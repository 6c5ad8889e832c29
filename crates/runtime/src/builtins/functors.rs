//! Structures by position and by name: `functor`, `arg`, `setarg`, `new_functor`, `=..`.

use super::{
    Row, attempt, body, error, guard, integer, known, list_length, method, out_of_range, walker, wrong,
};
use crate::reports::outcome::ErrorKind;
use crate::terms::View;
use crate::worker::Worker;
use crate::worker::native::Outcome;
use term::symbol::DOT;
use term::word::STRUCT_ARITY_MAX;
use term::{Atom, Word};

/// `functor(T,F,N)`, and with the term again. Atomic data and objects are their own names, with arity 0.
fn functor(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let (name, arity) = match worker.view(inputs[0]) {
        View::Cons(..) => (Word::atom(DOT), 2),
        View::Struct(name, arity) => (Word::atom(name), arity),
        View::Unbound(variable) => return Outcome::Wait(variable),
        View::Int(_) | View::Atom(_) | View::Object(_) => (worker.deref(inputs[0]), 0),
    };
    outputs[0] = name;
    outputs[1] = Word::small(arity as i64);
    if let Some(again) = outputs.get_mut(2) {
        *again = inputs[0];
    }
    Outcome::Done
}

/// Number of arguments of a structure or cons; `None` for anything else.
fn arity(worker: &Worker, term: Word) -> Option<usize> {
    match worker.view(term) {
        View::Cons(..) => Some(2),
        View::Struct(_, arity) => Some(arity),
        _ => None,
    }
}

fn guard_arg(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let (Some(position), Some(arity)) = (worker.small(inputs[0]), arity(worker, inputs[1])) else {
        return Outcome::No;
    };
    match usize::try_from(position) {
        Ok(position) if (1..=arity).contains(&position) => {
            outputs[0] = worker.arg(inputs[1], position - 1);
            Outcome::Done
        }
        _ => Outcome::No,
    }
}

/// The checked position (from 0) of `arg` and `setarg`, whose first arguments are I and T.
fn position(worker: &Worker, inputs: &[Word]) -> Result<(usize, usize), Outcome> {
    let position = integer(worker, 1, inputs[0])?;
    let Some(arity) = arity(worker, inputs[1]) else {
        return Err(wrong(worker, 2, "a structure or a list", inputs[1]));
    };
    match usize::try_from(position) {
        Ok(position) if (1..=arity).contains(&position) => Ok((position - 1, arity)),
        _ => Err(out_of_range(1, &format!("1 to {arity}"), position)),
    }
}

/// `arg(I,T,A)`, and with the term again.
fn arg(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let (position, _) = attempt!(position(worker, inputs));
    outputs[0] = worker.arg(inputs[1], position);
    if let Some(again) = outputs.get_mut(1) {
        *again = inputs[1];
    }
    Outcome::Done
}

/// `setarg(I,T,New,T2)`; with two outputs `setarg(I,T,Old,New,T2)`.
fn setarg(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let (position, arity) = attempt!(position(worker, inputs));
    let old = worker.arg(inputs[1], position);
    let new = worker.copy_with(inputs[1], arity, position, inputs[2]);
    match outputs {
        [old_out, new_out] => (*old_out, *new_out) = (old, new),
        [new_out, ..] => *new_out = new,
        [] => {}
    }
    Outcome::Done
}

/// A structure's name.
fn name(worker: &Worker, position: usize, word: Word) -> Result<Atom, Outcome> {
    let word = known(word)?;
    worker.atom_value(word).ok_or_else(|| wrong(worker, position, "an atom", word))
}

/// `new_functor(T,F,N)`: all arguments 0.
fn new_functor(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let arity = attempt!(integer(worker, 3, inputs[1]));
    if !(0..=i64::from(STRUCT_ARITY_MAX)).contains(&arity) {
        return out_of_range(3, &format!("0 to {STRUCT_ARITY_MAX}"), arity);
    }
    if arity == 0 {
        outputs[0] = inputs[0];
        return Outcome::Done;
    }
    let name = attempt!(name(worker, 2, inputs[0]));
    attempt!(worker.ensure_young(arity as usize + 8));
    outputs[0] = worker.structure(name, &vec![Word::small(0); arity as usize]);
    Outcome::Done
}

/// `functor_table:(T =.. [F|Args])`: builds T.
fn build(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    if let Some(structure) = worker.structure_at_once(inputs[0]) {
        outputs[0] = structure;
        return Outcome::Done;
    }
    build_any(worker, inputs, outputs)
}

#[cold]
#[inline(never)]
fn build_any(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let count = attempt!(list_length(worker, 2, inputs[0], 1 + STRUCT_ARITY_MAX as usize));
    let View::Cons(first, args) = worker.view(inputs[0]) else {
        return error(ErrorKind::ArgumentType, "argument 2 must be a list with a name in front, not []");
    };
    outputs[0] = match count - 1 {
        0 => first,
        arity => {
            // What the heap has no room for is the heap's limit, an endless list too.
            attempt!(worker.ensure_young(arity + 8));
            let name = attempt!(name(worker, 2, first));
            if arity > STRUCT_ARITY_MAX as usize {
                return out_of_range(2, &format!("a list of at most {STRUCT_ARITY_MAX} arguments"), arity);
            }
            worker.structure_of_list(name, arity, args)
        }
    };
    Outcome::Done
}

const MODULE: &str = "functor_table";

pub(super) const NATIVES: &[Row] = &[
    guard("guard", "functor", "ioo", functor),
    guard("guard", "arg", "iio", guard_arg),
    body(MODULE, "functor", "ioo", functor),
    body(MODULE, "functor", "iooo", functor),
    body(MODULE, "arg", "iio", arg),
    body(MODULE, "arg", "iioo", arg),
    body(MODULE, "setarg", "iiao", setarg),
    body(MODULE, "setarg", "iioao", setarg),
    body(MODULE, "new_functor", "oii", new_functor),
    walker(method(MODULE, "=..", "oi", build)),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtins::tests::worker;

    #[test]
    fn a_structure_of_a_list_has_its_name_and_arguments() {
        let worker = worker();
        for count in [0, 1, 2, 3, 62, 63, 64, 200] {
            for name in ["f", "."] {
                let mut items = vec![Word::atom(worker.intern(name))];
                items.extend((0..count).map(Word::small));
                let expected = worker.structure(items[0].as_atom(), &items[1..]);
                // A list whose tail and some of whose items are behind variables.
                let tail = worker.new_variable();
                let item = worker.new_variable();
                let last = items.pop().expect("a name at least");
                let end = worker.cons(item, Word::NIL);
                let list = worker.list(&items, tail);
                let mut made = [Word::NIL];
                assert!(matches!(build(worker, &[list], &mut made), Outcome::Wait(_)) || items.is_empty());
                worker.unify(tail, end);
                worker.unify(item, last);
                let list = worker.deref(list);
                assert!(matches!(build(worker, &[list], &mut made), Outcome::Done), "{name}/{count}");
                assert!(matches!(worker.equal_terms(made[0], expected), Outcome::Done), "{name}/{count}");
            }
        }
        let name = worker.intern("f");
        let improper = worker.list(&[Word::atom(name), Word::small(1)], Word::small(2));
        assert!(matches!(build(worker, &[improper], &mut [Word::NIL]), Outcome::Error(_)));
    }
}
