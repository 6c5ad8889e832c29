//! Module `text`: strings as characters in UTF-8. The rest of the module is KL1 (`library/text.kl1`).
//!
//! A part that is no UTF-8 counts as one character, U+FFFD; where a string is made of it, it stays as it is.

use super::parts::clipped;
use super::{Row, attempt, bytes, integer, list_items, method, out_of_range, walker};
use crate::worker::Worker;
use crate::worker::native::Outcome;
use std::ops::Range;
use term::Word;

/// The characters of a text, each with its bytes.
fn characters(text: &[u8]) -> impl Iterator<Item = (char, usize)> {
    text.utf8_chunks().flat_map(|chunk| {
        let invalid = chunk.invalid().len();
        let valid = chunk.valid().chars().map(|character| (character, character.len_utf8()));
        valid.chain((invalid > 0).then_some((char::REPLACEMENT_CHARACTER, invalid)))
    })
}

fn string(worker: &mut Worker, bytes: &[u8]) -> Result<Word, Outcome> {
    worker.ensure_young(bytes.len() / 8 + 8)?;
    Ok(worker.string(bytes))
}

/// `length(S,N)`.
fn length(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let text = attempt!(bytes(worker, 1, inputs[0]));
    outputs[0] = Word::small(characters(&text).count() as i64);
    Outcome::Done
}

/// `valid(S,R)`: `yes` or `no`.
fn valid(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let text = attempt!(bytes(worker, 1, inputs[0]));
    outputs[0] = Word::atom(worker.intern(if str::from_utf8(&text).is_ok() { "yes" } else { "no" }));
    Outcome::Done
}

/// `chars(S,Codes)`.
fn chars(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let text = attempt!(bytes(worker, 1, inputs[0]));
    attempt!(worker.ensure_young(2 * text.len()));
    let codes: Vec<Word> =
        characters(&text).map(|(character, _)| Word::small(i64::from(u32::from(character)))).collect();
    outputs[0] = worker.list(&codes, Word::NIL);
    Outcome::Done
}

/// `characters(Codes,S)`.
fn of_codes(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let mut text = String::new();
    for item in attempt!(list_items(worker, 1, inputs[0])) {
        let code = attempt!(integer(worker, 1, item));
        match u32::try_from(code).ok().and_then(char::from_u32) {
            Some(character) => text.push(character),
            None => return out_of_range(1, "a list of codes of characters (0 to 1114111)", code),
        }
    }
    outputs[0] = attempt!(string(worker, text.as_bytes()));
    Outcome::Done
}

/// The bytes of the characters between two indices.
fn range(text: &[u8], from: usize, to: usize) -> Range<usize> {
    let (mut start, mut end) = (0, 0);
    for (index, (_, bytes)) in (0..to).zip(characters(text)) {
        start += if index < from { bytes } else { 0 };
        end += bytes;
    }
    start..end
}

/// `sub(S,From,To,T)`.
fn sub(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let text = attempt!(bytes(worker, 1, inputs[0]));
    let from = attempt!(clipped(worker, 2, inputs[1], text.len()));
    let to = attempt!(clipped(worker, 3, inputs[2], text.len()));
    outputs[0] = attempt!(string(worker, &text[range(&text, from, to)]));
    Outcome::Done
}

fn changed(
    worker: &mut Worker,
    inputs: &[Word],
    outputs: &mut [Word],
    change: fn(&str) -> String,
) -> Outcome {
    let text = attempt!(bytes(worker, 1, inputs[0]));
    let mut made = Vec::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        made.extend_from_slice(change(chunk.valid()).as_bytes());
        made.extend_from_slice(chunk.invalid());
    }
    outputs[0] = attempt!(string(worker, &made));
    Outcome::Done
}

/// `upper(S,T)`.
fn upper(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    changed(worker, inputs, outputs, str::to_uppercase)
}

/// `lower(S,T)`.
fn lower(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    changed(worker, inputs, outputs, str::to_lowercase)
}

const MODULE: &str = "text";

pub(super) const NATIVES: &[Row] = &[
    method(MODULE, "length", "io", length),
    method(MODULE, "valid", "io", valid),
    method(MODULE, "chars", "io", chars),
    walker(method(MODULE, "characters", "io", of_codes)),
    method(MODULE, "sub", "iiio", sub),
    method(MODULE, "upper", "io", upper),
    method(MODULE, "lower", "io", lower),
];
