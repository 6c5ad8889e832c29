//! Module `number`: numbers in strings, of which nobody knows whether they are right.

use super::{Row, attempt, bytes, method};
use crate::worker::Worker;
use crate::worker::native::Outcome;
use syntax::number::{Number, line_and_column, number, wrong_at};
use term::Word;
use term::symbol::{ABNORMAL, NORMAL};

/// `number:parse(S,R)`: R becomes `normal(N)`, an integer or a float, or `abnormal(syntax(Line,Column,Text))`.
fn parse(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let text = attempt!(bytes(worker, 1, inputs[0]));
    attempt!(worker.ensure(text.len()));
    outputs[0] = match number(&text) {
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

pub(super) const NATIVES: &[Row] = &[method("number", "parse", "io", parse)];
