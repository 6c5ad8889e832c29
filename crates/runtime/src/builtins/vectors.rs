//! Vectors: guards, body builtins, and what the generic methods do for class `vector`.

use super::{
    Row, attempt, body, decide, guard, index, known, list_items, out_of_range, small_integer, walker, wrong,
};
use crate::terms::View;
use crate::worker::Worker;
use crate::worker::native::Outcome;
use term::Word;
use term::layout::{BIGINT, VECTOR};

/// Largest number of elements: 2^32, far above any heap limit that fits a machine.
pub(super) const LENGTH_MAX: i64 = 1 << 32;

#[inline(always)]
pub(super) fn length(worker: &mut Worker, position: usize, word: Word) -> Result<usize, Outcome> {
    match worker.newest_length(word, VECTOR) {
        Some(length) => Ok(length),
        None => other_length(worker, position, word),
    }
}
#[cold]
#[inline(never)]
fn other_length(worker: &mut Worker, position: usize, word: Word) -> Result<usize, Outcome> {
    worker.settle(word);
    let word = known(word)?;
    worker.vector_length(word).ok_or_else(|| wrong(worker, position, "a vector", word))
}

/// A number of elements.
pub(super) fn size(worker: &Worker, position: usize, word: Word) -> Result<usize, Outcome> {
    match worker.small(word) {
        Some(value) => in_range(position, value),
        None => Err(out_of_range(position, &format!("0 to {LENGTH_MAX}"), worker.term_text(word))),
    }
}

/// A number of elements that is known to be an integer.
pub(super) fn in_range(position: usize, value: i64) -> Result<usize, Outcome> {
    if (0..=LENGTH_MAX).contains(&value) {
        return Ok(value as usize);
    }
    Err(out_of_range(position, &format!("0 to {LENGTH_MAX}"), value))
}

/// A new vector: this number of zeros, or the elements of a list.
pub(super) fn create(worker: &mut Worker, position: usize, from: Word) -> Result<Word, Outcome> {
    match worker.view(from) {
        View::Int(_) | View::Object(BIGINT) => {
            let count = size(worker, position, from)?;
            worker.ensure(count + 8)?;
            Ok(worker.vector_of_zeros(count))
        }
        View::Cons(..) | View::Atom(term::symbol::NIL) | View::Unbound(_) => {
            let items = list_items(worker, position, from)?;
            worker.ensure(items.len() + 8)?;
            Ok(worker.vector(&items))
        }
        _ => Err(wrong(worker, position, "a size or a list", from)),
    }
}

fn new_vector(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    outputs[0] = attempt!(create(worker, 2, inputs[0]));
    Outcome::Done
}

fn guard_size(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    worker.settle(inputs[0]);
    let Some(length) = worker.vector_length(inputs[0]) else { return Outcome::No };
    outputs[0] = Word::small(length as i64);
    Outcome::Done
}

pub(super) fn guard_element(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    worker.settle(inputs[0]);
    let (Some(length), Some(index)) = (worker.vector_length(inputs[0]), worker.small(inputs[1])) else {
        return Outcome::No;
    };
    match usize::try_from(index) {
        Ok(index) if index < length => {
            outputs[0] = worker.vector_element(inputs[0], index);
            Outcome::Done
        }
        _ => Outcome::No,
    }
}

/// `vector(V,N,V2)`.
fn body_size(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    outputs[0] = Word::small(attempt!(length(worker, 1, inputs[0])) as i64);
    outputs[1] = inputs[0];
    Outcome::Done
}

#[inline(never)]
fn other_element(worker: &mut Worker, inputs: &[Word]) -> Result<Word, Outcome> {
    let length = length(worker, 1, inputs[0])?;
    let index = index(worker, 2, inputs[1], length)?;
    Ok(worker.vector_element(inputs[0], index))
}

/// `vector_element(V,I,E)`, and with the vector again.
pub(super) fn element(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    outputs[0] = match worker.newest_element(inputs[0], small_integer(inputs[1])) {
        Some(element) => element,
        None => attempt!(other_element(worker, inputs)),
    };
    if let Some(again) = outputs.get_mut(1) {
        *again = inputs[0];
    }
    Outcome::Done
}

/// `set_vector_element(V,I,New,V2)`.
pub(super) fn set_element(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let length = attempt!(length(worker, 1, inputs[0]));
    let index = attempt!(index(worker, 2, inputs[1], length));
    outputs[0] = attempt!(worker.vector_update(inputs[0], index, inputs[2]));
    Outcome::Done
}

/// `set_vector_element(V,I,Old,New,V2)`: outputs Old and V2.
pub(super) fn exchange_element(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let length = attempt!(length(worker, 1, inputs[0]));
    let index = attempt!(index(worker, 2, inputs[1], length));
    outputs[0] = worker.vector_element(inputs[0], index);
    outputs[1] = attempt!(worker.vector_update(inputs[0], index, inputs[2]));
    Outcome::Done
}

/// The first `at` elements, and the rest.
pub(super) fn split(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let length = attempt!(length(worker, 1, inputs[0]));
    let at = attempt!(index(worker, 2, inputs[1], length + 1));
    attempt!(worker.ensure(length + 16));
    let elements = worker.vector_elements(inputs[0]).unwrap_or_default();
    outputs[0] = worker.vector(&elements[..at]);
    outputs[1] = worker.vector(&elements[at..]);
    Outcome::Done
}

/// Two vectors in one.
pub(super) fn join(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let first = attempt!(length(worker, 1, inputs[0]));
    let second = attempt!(length(worker, 2, inputs[1]));
    attempt!(worker.ensure(first + second + 8));
    let mut elements = worker.vector_elements(inputs[0]).unwrap_or_default();
    elements.extend(worker.vector_elements(inputs[1]).unwrap_or_default());
    outputs[0] = worker.vector(&elements);
    Outcome::Done
}

fn is_vector(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    decide(worker.vector_length(inputs[0]).is_some())
}

pub(super) const NATIVES: &[Row] = &[
    guard("guard", "vector", "io", guard_size),
    guard("guard", "vector_element", "iio", guard_element),
    guard("generic", "vector", "i", is_vector),
    guard("generic", "vector", "io", guard_size),
    walker(body("vector", "new_vector", "oi", new_vector)),
    body("vector", "vector", "ioo", body_size),
    body("vector", "vector_element", "iio", element),
    body("vector", "vector_element", "iioo", element),
    body("vector", "set_vector_element", "iiao", set_element),
    body("vector", "set_vector_element", "iioao", exchange_element),
];
