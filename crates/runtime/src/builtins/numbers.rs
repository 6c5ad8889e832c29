//! Module `number`: numbers as text, and in strings of which nobody knows whether they are right.

use super::{Row, attempt, bytes, index, known, method, out_of_range, wrong};
use crate::terms::View;
use crate::terms::walk::interrupted;
use crate::worker::Worker;
use crate::worker::native::Outcome;
use syntax::format::{float_shortest, write_integer};
use syntax::number::{self, FIXED_DIGITS_MAX, Number, line_and_column, wrong_at};
use term::Word;
use term::layout::BIGINT;
use term::symbol::{ABNORMAL, NORMAL};

/// `number:parse(S,R)`: R becomes `normal(N)`, an integer or a float, or `abnormal(syntax(Line,Column,Text))`.
fn parse(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let text = attempt!(bytes(worker, 1, inputs[0]));
    attempt!(worker.ensure(text.len()));
    outputs[0] = match number::number(&text) {
        Ok(value) => {
            let value = match value {
                Number::Integer(value) => worker.integer(&value),
                Number::Float(value) => worker.float(value),
            };
            worker.structure(NORMAL, &[value])
        }
        Err(at) => {
            let (line, column) = line_and_column(&text, at);
            let why = worker.string(wrong_at(&text, at).as_bytes());
            let functor = worker.intern("syntax");
            let place = [line, column].map(|number| Word::small(number as i64));
            let reason = worker.structure(functor, &[place[0], place[1], why]);
            worker.structure(ABNORMAL, &[reason])
        }
    };
    Outcome::Done
}

/// A number argument.
pub(super) fn value(worker: &Worker, position: usize, word: Word) -> Result<Number, Outcome> {
    let word = known(word)?;
    if let Some(value) = worker.float_value(word) {
        return Ok(Number::Float(value));
    }
    worker.big(word).map(Number::Integer).ok_or_else(|| wrong(worker, position, "a number", word))
}

/// Appends a number, of a float the fewest digits that tell it; false for anything else.
pub(super) fn append_number(worker: &Worker, word: Word, out: &mut Vec<u8>) -> Result<bool, Outcome> {
    match worker.view(word) {
        View::Int(value) => write_integer(value, out),
        View::Object(BIGINT) => {
            let value = worker.big(word).unwrap_or_default();
            out.extend_from_slice(worker.digits(&value).ok_or_else(interrupted)?.as_bytes());
        }
        _ => match worker.float_value(word) {
            Some(value) => out.extend_from_slice(float_shortest(value).as_bytes()),
            None => return Ok(false),
        },
    }
    Ok(true)
}

fn string(worker: &mut Worker, text: &[u8]) -> Result<Word, Outcome> {
    worker.ensure_young(text.len() / 8 + 8)?;
    Ok(worker.string(text))
}

/// `number:text(N,S)`.
fn text(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let mut text = Vec::new();
    if !attempt!(append_number(worker, inputs[0], &mut text)) {
        return wrong(worker, 1, "a number", inputs[0]);
    }
    outputs[0] = attempt!(string(worker, &text));
    Outcome::Done
}

/// `number:fixed(N,Digits,S)`.
fn fixed(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let value = attempt!(value(worker, 1, inputs[0]));
    let digits = attempt!(index(worker, 2, inputs[1], FIXED_DIGITS_MAX + 1));
    outputs[0] = attempt!(string(worker, number::fixed(&value, digits).as_bytes()));
    Outcome::Done
}

/// Digits of integers in this base take time that grows with the square of their number, unless it is a power of two.
const RADIX_BITS_MAX: u64 = 1 << 16;

/// `number:radix(N,Base,S)`.
fn radix(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let word = attempt!(known(inputs[0]));
    let Some(value) = worker.big(word) else { return wrong(worker, 1, "an integer", word) };
    let base = attempt!(super::integer(worker, 2, inputs[1]));
    let Some(base) = u32::try_from(base).ok().filter(|base| (2..=36).contains(base)) else {
        return out_of_range(2, "2 to 36", base);
    };
    if value.bits() > RADIX_BITS_MAX && !base.is_power_of_two() {
        let limit = format!("an integer of {RADIX_BITS_MAX} bits at most, unless the base is a power of two");
        return out_of_range(1, &limit, format!("one of {} bits", value.bits()));
    }
    outputs[0] = attempt!(string(worker, value.to_str_radix(base).as_bytes()));
    Outcome::Done
}

const MODULE: &str = "number";

pub(super) const NATIVES: &[Row] = &[
    method(MODULE, "parse", "io", parse),
    method(MODULE, "text", "io", text),
    method(MODULE, "fixed", "iio", fixed),
    method(MODULE, "radix", "iio", radix),
];
