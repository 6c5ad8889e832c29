//! Strings: guards, body builtins, and what the generic methods do for class `string`.

use super::{
    FEW_BYTES, Row, attempt, body, decide, guard, index, integer, known, list_length, out_of_range,
    small_integer, vectors, walker, wrong,
};
use crate::terms::vectors::STRING_PIECE_BYTES;
use crate::terms::walk::STEPS;
use crate::terms::{View, cell, deref};
use crate::worker::Worker;
use crate::worker::native::Outcome;
use std::cmp::Ordering;
use term::Word;
use term::layout::{BIGINT, STRING};

const ELEMENT_BITS: Word = Word::small(8);

#[inline(always)]
pub(super) fn length(worker: &mut Worker, position: usize, word: Word) -> Result<usize, Outcome> {
    match worker.newest_length(word, STRING) {
        Some(length) => Ok(length),
        None => other_length(worker, position, word),
    }
}
#[cold]
#[inline(never)]
fn other_length(worker: &mut Worker, position: usize, word: Word) -> Result<usize, Outcome> {
    worker.settle(word);
    let word = known(word)?;
    worker.string_length(word).ok_or_else(|| wrong(worker, position, "a string", word))
}

/// A character code.
#[inline(always)]
fn code(worker: &Worker, position: usize, word: Word) -> Result<u8, Outcome> {
    match u8::try_from(small_integer(word)) {
        Ok(code) => Ok(code),
        Err(_) => other_code(worker, position, word),
    }
}
#[cold]
#[inline(never)]
fn other_code(worker: &Worker, position: usize, word: Word) -> Result<u8, Outcome> {
    let value = integer(worker, position, word)?;
    u8::try_from(value).map_err(|_| out_of_range(position, "a character code from 0 to 255", value))
}

/// A new string: this number of zero bytes, or the codes in a list. `bits` must be 8.
pub(super) fn create(worker: &mut Worker, position: usize, from: Word, bits: Word) -> Result<Word, Outcome> {
    let size = integer(worker, position + 1, bits)?;
    if size != 8 {
        return Err(out_of_range(position + 1, "8 (strings have elements of 8 bits)", size));
    }
    let bytes = match worker.view(from) {
        View::Int(_) | View::Object(BIGINT) => {
            let count = vectors::size(worker, position, from)?;
            worker.ensure_young(count / 8 + 8)?;
            vec![0; count]
        }
        View::Cons(..) | View::Atom(term::symbol::NIL) | View::Unbound(_) => {
            return of_codes(worker, position, from);
        }
        _ => return Err(wrong(worker, position, "a size or a list of character codes", from)),
    };
    worker.ensure_young(bytes.len() / 8 + 8)?;
    Ok(worker.string(&bytes))
}

/// A string of the codes in a list.
fn of_codes(worker: &mut Worker, position: usize, list: Word) -> Result<Word, Outcome> {
    // A longer one contains itself.
    let most = worker.heap.spaces.bytes_max() / (2 * size_of::<Word>());
    let length = list_length(worker, position, list, most)?;
    if length > STEPS {
        worker.may_go_on(if length > most { usize::MAX } else { 0 })?;
    }
    worker.ensure_young(length / 8 + 8)?;
    let mut few = [0; FEW_BYTES];
    let mut many = Vec::new();
    let bytes = match few.get_mut(..length) {
        Some(bytes) => bytes,
        None => {
            many.resize(length, 0);
            &mut many[..]
        }
    };
    let mut rest = deref(list);
    for byte in &mut *bytes {
        *byte = code(worker, position, cell(rest.address()))?;
        rest = deref(cell(rest.address() + 8));
    }
    Ok(worker.string(bytes))
}

fn new_string(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    outputs[0] = attempt!(create(worker, 2, inputs[0], inputs[1]));
    Outcome::Done
}

/// A string's length; `None` for anything else.
#[inline(always)]
fn guard_length(worker: &mut Worker, word: Word) -> Option<usize> {
    let newest = worker.newest_length(word, STRING);
    newest.or_else(|| {
        worker.settle(word);
        worker.string_length(word)
    })
}

/// `string(S,N)` and `string(S,N,B)` in guards.
fn guard_size(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let Some(length) = guard_length(worker, inputs[0]) else { return Outcome::No };
    outputs[0] = Word::small(length as i64);
    if let Some(bits) = outputs.get_mut(1) {
        *bits = ELEMENT_BITS;
    }
    Outcome::Done
}

fn guard_element(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let (Some(length), Some(index)) = (guard_length(worker, inputs[0]), worker.small(inputs[1])) else {
        return Outcome::No;
    };
    match usize::try_from(index) {
        Ok(index) if index < length => {
            outputs[0] = Word::small(worker.string_byte(inputs[0], index).into());
            Outcome::Done
        }
        _ => Outcome::No,
    }
}

/// `string(S,N,B)` and `string(S,N,B,S2)`.
fn body_size(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    outputs[0] = Word::small(attempt!(length(worker, 1, inputs[0])) as i64);
    outputs[1] = ELEMENT_BITS;
    if let Some(again) = outputs.get_mut(2) {
        *again = inputs[0];
    }
    Outcome::Done
}

#[inline(never)]
fn other_element(worker: &mut Worker, inputs: &[Word]) -> Result<u8, Outcome> {
    let length = length(worker, 1, inputs[0])?;
    let index = index(worker, 2, inputs[1], length)?;
    Ok(worker.string_byte(inputs[0], index))
}

/// `string_element(S,I,C)`, and with the string again.
pub(super) fn element(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let byte = match worker.newest_byte(inputs[0], small_integer(inputs[1])) {
        Some(byte) => byte,
        None => attempt!(other_element(worker, inputs)),
    };
    outputs[0] = Word::small(byte.into());
    if let Some(again) = outputs.get_mut(1) {
        *again = inputs[0];
    }
    Outcome::Done
}

/// `set_string_element(S,I,C,S2)`.
pub(super) fn set_element(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let length = attempt!(length(worker, 1, inputs[0]));
    let index = attempt!(index(worker, 2, inputs[1], length));
    let code = attempt!(code(worker, 3, inputs[2]));
    outputs[0] = attempt!(worker.string_update(inputs[0], index, code));
    Outcome::Done
}

/// A string in two parts, cut at an index.
pub(super) fn split(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let length = attempt!(length(worker, 1, inputs[0]));
    let at = attempt!(index(worker, 2, inputs[1], length + 1));
    attempt!(worker.ensure_young(length / 8 + 16));
    outputs[0] = worker.string_of_parts(&[(inputs[0], 0..at)]);
    outputs[1] = worker.string_of_parts(&[(inputs[0], at..length)]);
    Outcome::Done
}

/// Two strings in one.
pub(super) fn join(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let first = attempt!(length(worker, 1, inputs[0]));
    let second = attempt!(length(worker, 2, inputs[1]));
    attempt!(worker.ensure_young((first + second) / 8 + 8));
    outputs[0] = worker.string_of_parts(&[(inputs[0], 0..first), (inputs[1], 0..second)]);
    Outcome::Done
}

/// `search_character(S,Start,End,Code,Pos)`: forwards or, if Start > End, backwards; both ends count. -1 if absent.
fn search(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let length = attempt!(length(worker, 1, inputs[0]));
    let start = attempt!(index(worker, 2, inputs[1], length));
    let end = attempt!(index(worker, 3, inputs[2], length));
    let wanted = attempt!(code(worker, 4, inputs[3]));
    // Piece by piece: what is looked for may be near the start of a long string.
    let (first, behind) = (start.min(end), start.max(end) + 1);
    let mut pieces = (first..behind).step_by(STRING_PIECE_BYTES);
    let find = |from: usize| {
        worker.with_string_piece(inputs[0], from..behind.min(from + STRING_PIECE_BYTES), |bytes| {
            let mut bytes = bytes.iter();
            let at = if start <= end {
                bytes.position(|&byte| byte == wanted)
            } else {
                bytes.rposition(|&byte| byte == wanted)
            };
            at.map(|at| from + at)
        })
    };
    let found = if start <= end { pieces.find_map(find) } else { pieces.rev().find_map(find) };
    outputs[0] = Word::small(found.map_or(-1, |at| at as i64));
    Outcome::Done
}

/// Byte order of two strings; `None` if one is none.
fn order(worker: &Worker, inputs: &[Word]) -> Option<Ordering> {
    worker.compare_strings(inputs[0], inputs[1]).map(|(ordering, _)| ordering)
}

fn less_than(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    decide(order(worker, inputs).is_some_and(Ordering::is_lt))
}

fn not_less_than(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    decide(order(worker, inputs).is_some_and(Ordering::is_ge))
}

/// `generic:less_than(X,Y)`: strings or floats.
fn generic_less_than(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    match (worker.float_value(inputs[0]), worker.float_value(inputs[1])) {
        (Some(a), Some(b)) => decide(a < b),
        _ => less_than(worker, inputs, outputs),
    }
}

fn generic_not_less_than(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    match (worker.float_value(inputs[0]), worker.float_value(inputs[1])) {
        (Some(a), Some(b)) => decide(a >= b),
        _ => not_less_than(worker, inputs, outputs),
    }
}

fn is_string(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    decide(worker.string_length(inputs[0]).is_some())
}

/// `generic:element(X,I):E` in guards: vectors and strings.
fn generic_guard_element(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    if worker.vector_length(inputs[0]).is_none() {
        return guard_element(worker, inputs, outputs);
    }
    vectors::guard_element(worker, inputs, outputs)
}

/// `generic:element_size(S,B)`.
fn element_size(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    attempt!(length(worker, 1, inputs[0]));
    outputs[0] = ELEMENT_BITS;
    Outcome::Done
}

pub(super) const NATIVES: &[Row] = &[
    guard("guard", "string", "io", guard_size),
    guard("guard", "string", "ioo", guard_size),
    guard("guard", "string_element", "iio", guard_element),
    guard("guard", "string_less_than", "ii", less_than),
    guard("guard", "string_not_less_than", "ii", not_less_than),
    guard("generic", "string", "i", is_string),
    guard("generic", "string", "io", guard_size),
    guard("generic", "string", "ioo", guard_size),
    guard("generic", "element", "iio", generic_guard_element),
    guard("generic", "less_than", "ii", generic_less_than),
    guard("generic", "not_less_than", "ii", generic_not_less_than),
    walker(body("string", "new_string", "oii", new_string)),
    body("string", "string", "ioo", body_size),
    body("string", "string", "iooo", body_size),
    body("string", "string_element", "iio", element),
    body("string", "string_element", "iioo", element),
    body("string", "set_string_element", "iiio", set_element),
    body("string", "search_character", "iiiio", search),
    body("generic", "search_character", "iiiio", search),
    body("generic", "string", "ioo", body_size),
    body("generic", "element_size", "io", element_size),
];
