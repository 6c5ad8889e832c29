//! Module `json`: texts in JSON (`syntax::json`) to terms and back. The rest of the module is KL1 (`library/json.kl1`).

use super::io::streams;
use super::{Row, attempt, bytes, error, method};
use crate::reports::outcome::{ErrorKind, ProgramError};
use crate::terms::{View, print};
use crate::worker::Worker;
use crate::worker::native::Outcome;
use num_bigint::BigInt;
use syntax::json::{Builder, Wrong, read};
use syntax::number::line_and_column;
use term::Word;
use term::symbol::{ABNORMAL, NORMAL};

/// Bytes that reading keeps beside the heap for each byte of a text, at most: the byte, and values that are not in a
/// list yet.
const SCRATCH_PER_BYTE: usize = 5;

struct Terms<'w> {
    worker: &'w mut Worker,
    refused: Option<Box<ProgramError>>,
}

impl Terms<'_> {
    fn made(&mut self, words: usize, make: impl FnOnce(&mut Worker) -> Word) -> Option<Word> {
        match self.worker.ensure_young(words) {
            Ok(()) => Some(make(self.worker)),
            Err(error) => {
                self.refused = Some(error);
                None
            }
        }
    }
}

impl Builder for Terms<'_> {
    type Value = Word;
    fn string(&mut self, bytes: &[u8]) -> Option<Word> {
        self.made(bytes.len() / 8 + 8, |worker| worker.string(bytes))
    }
    fn integer(&mut self, value: i64) -> Option<Word> {
        self.made(4, |worker| worker.int(value))
    }
    fn big(&mut self, value: &BigInt) -> Option<Word> {
        self.made(value.bits() as usize / 64 + 4, |worker| worker.integer(value))
    }
    fn float(&mut self, value: f64) -> Option<Word> {
        self.made(2, |worker| worker.float(value))
    }
    fn constant(&mut self, name: &'static str) -> Option<Word> {
        Some(Word::atom(self.worker.intern(name)))
    }
    fn array(&mut self, items: &[Word]) -> Option<Word> {
        self.made(2 * items.len(), |worker| worker.list(items, Word::NIL))
    }
    fn object(&mut self, items: &[Word]) -> Option<Word> {
        // For each pair a cons, and a vector: its handle and store.
        self.made(items.len() / 2 * 9 + 2, |worker| {
            let pairs = items.chunks_exact(2).rev().fold(Word::NIL, |list, pair| {
                let pair = worker.vector(pair);
                worker.cons(pair, list)
            });
            let name = worker.intern("object");
            worker.structure(name, &[pairs])
        })
    }
}

/// `parse(S,R)`: `normal(Value)` or `abnormal(syntax(Line,Column,Text))`.
fn parse(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let length = worker.string_length(inputs[0]).unwrap_or(0);
    attempt!(worker.may_go_on(length.saturating_mul(SCRATCH_PER_BYTE)));
    let text = attempt!(bytes(worker, 1, inputs[0]));
    let mut terms = Terms { worker, refused: None };
    let result = read(&text, &mut terms);
    let refused = terms.refused.take();
    outputs[0] = match result {
        Ok(value) => worker.structure(NORMAL, &[value]),
        Err(Wrong::At(at, why)) => {
            let (line, column) = line_and_column(&text, at);
            let why = worker.string(why.as_bytes());
            let name = worker.intern("syntax");
            let reason = worker.structure(name, &[Word::small(line as i64), Word::small(column as i64), why]);
            worker.structure(ABNORMAL, &[reason])
        }
        Err(Wrong::Refused) => match refused {
            Some(error) => return Outcome::Error(error),
            None => return Outcome::No,
        },
    };
    Outcome::Done
}

/// `written(T,R)`: R is `text(S)` with the text of a term, or `waits` if it has a variable.
fn written(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    if let Some((variable, _)) = attempt!(streams::find_elsewhere(worker, inputs[0], true)) {
        return Outcome::Wait(variable);
    }
    match attempt!(print::json(worker, inputs[0])) {
        Ok(text) => {
            attempt!(worker.ensure_young(text.len() / 8 + 8));
            let text = worker.string(&text);
            let name = worker.intern("text");
            outputs[0] = worker.structure(name, &[text]);
            Outcome::Done
        }
        Err(part) if matches!(worker.view(part), View::Unbound(_)) => {
            outputs[0] = Word::atom(worker.intern("waits"));
            Outcome::Done
        }
        Err(part) => {
            let message =
                format!("argument 1 must be a value of JSON, and {} is none", worker.term_text(part));
            error(ErrorKind::ArgumentType, message)
        }
    }
}

pub(super) const NATIVES: &[Row] =
    &[method("json", "parse", "io", parse), method("json", "written", "io", written)];
