//! Module `atom_table`: atoms from strings and back.

use super::{FEW_BYTES, Row, attempt, guard, known, method, with_bytes, wrong};
use crate::worker::Worker;
use crate::worker::native::Outcome;
use term::symbol::NORMAL;
use term::{Atom, Word};

fn atom(worker: &Worker, position: usize, word: Word) -> Result<Atom, Outcome> {
    let word = known(word)?;
    worker.atom_value(word).ok_or_else(|| wrong(worker, position, "an atom", word))
}

/// `make_atom(String,A)`.
fn make(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let atom = attempt!(with_bytes(worker, 1, inputs[0], |worker, text| {
        // Atoms are kept for ever, outside the heap.
        worker.ensure(text.len() / 8).map(|()| worker.atoms.intern(text))
    }));
    outputs[0] = Word::atom(attempt!(atom));
    Outcome::Done
}

/// `get_atom_string(A,S)`.
fn string(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let atom = attempt!(atom(worker, 1, inputs[0]));
    let length = worker.atoms.text(atom).len();
    attempt!(worker.ensure_young(length / 8));
    outputs[0] = if length <= FEW_BYTES {
        let mut few = [0; FEW_BYTES];
        few[..length].copy_from_slice(worker.atoms.text(atom));
        worker.string(&few[..length])
    } else {
        let text = worker.atoms.text(atom).to_vec();
        worker.string(&text)
    };
    Outcome::Done
}

fn normal(worker: &mut Worker, value: Word) -> Word {
    worker.structure(NORMAL, &[value])
}

/// `intern(S,normal(A))`.
fn intern(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    match make(worker, inputs, outputs) {
        Outcome::Done => {
            outputs[0] = normal(worker, outputs[0]);
            Outcome::Done
        }
        other => other,
    }
}

/// `get_atom_name(A,normal(S))`.
fn name(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    match string(worker, inputs, outputs) {
        Outcome::Done => {
            outputs[0] = normal(worker, outputs[0]);
            Outcome::Done
        }
        other => other,
    }
}

/// `atom_number(A,N)`.
fn number(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    outputs[0] = Word::small(attempt!(atom(worker, 1, inputs[0])).0.into());
    Outcome::Done
}

/// `tag_and_value(X,T,V)`: the tag bits and the rest of the word, for debugging.
fn tag_and_value(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let word = worker.deref(inputs[0]);
    outputs[0] = Word::small(word.tag() as i64);
    outputs[1] = Word::small((word.bits() as i64) >> term::word::TAG_BITS);
    Outcome::Done
}

const MODULE: &str = "atom_table";

pub(super) const NATIVES: &[Row] = &[
    method(MODULE, "make_atom", "io", make),
    method(MODULE, "get_atom_string", "io", string),
    method(MODULE, "intern", "io", intern),
    method(MODULE, "get_atom_name", "io", name),
    method(MODULE, "atom_number", "io", number),
    guard("guard", "tag_and_value", "ioo", tag_and_value),
];
