//! Module `json`: texts in JSON (`syntax::json`) to terms and back. The rest of the module is KL1 (`library/json.kl1`).

use super::io::streams;
use super::parts::clipped;
use super::{Row, attempt, bytes, error, method};
use crate::reports::outcome::{ErrorKind, ProgramError};
use crate::terms::{View, print};
use crate::worker::Worker;
use crate::worker::native::Outcome;
use num_bigint::BigInt;
use rustc_hash::FxHasher;
use std::hash::Hasher;
use syntax::json::{Builder, Wrong, read};
use syntax::json_stream::Cutter;
use syntax::number::line_and_column;
use term::symbol::{ABNORMAL, NORMAL};
use term::{Atom, Word};

/// Bytes that reading keeps beside the heap for each byte of a text, at most: the byte, and values that are not in a
/// list yet.
const SCRATCH_PER_BYTE: usize = 5;

/// Lines, columns and states are less than this.
const PLACE_MAX: usize = 1 << 58;
/// Keys that are remembered: a power of two.
const KEYS: usize = 64;

/// Makes terms. Objects of one text have the same keys again and again: those that came last are one string each.
struct Terms<'w> {
    worker: &'w mut Worker,
    refused: Option<Box<ProgramError>>,
    /// By their hash; the words stay where they are while the text is read, as there is no collection meanwhile.
    keys: Vec<Option<(Box<[u8]>, Word)>>,
    /// The name `object`.
    object: Atom,
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
    fn key(&mut self, bytes: &[u8]) -> Option<Word> {
        let mut hasher = FxHasher::default();
        hasher.write(bytes);
        let place = hasher.finish() as usize % KEYS;
        match &self.keys[place] {
            Some((known, word)) if **known == *bytes => Some(*word),
            _ => {
                let word = self.string(bytes)?;
                self.keys[place] = Some((bytes.into(), word));
                Some(word)
            }
        }
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
        let name = self.object;
        self.made(items.len() / 2 * 9 + 2, |worker| {
            let pairs = items.chunks_exact(2).rev().fold(Word::NIL, |list, pair| {
                let pair = worker.vector(pair);
                worker.cons(pair, list)
            });
            worker.structure(name, &[pairs])
        })
    }
}

/// The value of a text, or what is wrong with it there.
fn value(worker: &mut Worker, text: &[u8]) -> Result<Result<Word, (usize, &'static str)>, Outcome> {
    let object = worker.intern("object");
    let mut terms = Terms { worker, refused: None, keys: vec![None; KEYS], object };
    match read(text, &mut terms) {
        Ok(value) => Ok(Ok(value)),
        Err(Wrong::At(at, why)) => Ok(Err((at, why))),
        Err(Wrong::Refused) => Err(terms.refused.map_or(Outcome::No, Outcome::Error)),
    }
}

/// `abnormal(syntax(Line,Column,Text))`.
fn syntax_error(worker: &mut Worker, (line, column): (usize, usize), why: &str) -> Word {
    let why = worker.string(why.as_bytes());
    let name = worker.intern("syntax");
    let reason = worker.structure(name, &[Word::small(line as i64), Word::small(column as i64), why]);
    worker.structure(ABNORMAL, &[reason])
}

/// The text of a string argument, when there is room to read it.
fn text(worker: &mut Worker, word: Word) -> Result<Vec<u8>, Outcome> {
    let length = worker.string_length(word).unwrap_or(0);
    worker.may_go_on(length.saturating_mul(SCRATCH_PER_BYTE)).map_err(Outcome::Error)?;
    bytes(worker, 1, word)
}

/// `parse(S,R)`: `normal(Value)` or `abnormal(syntax(Line,Column,Text))`.
fn parse(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let text = attempt!(text(worker, inputs[0]));
    outputs[0] = match attempt!(value(worker, &text)) {
        Ok(value) => worker.structure(NORMAL, &[value]),
        Err((at, why)) => syntax_error(worker, line_and_column(&text, at), why),
    };
    Outcome::Done
}

/// `part(S,Line,Column,R)`: the same of a part of a text that begins in this line and column. R is
/// `part(Value,Line,Column)` with the place behind it, or `abnormal(..)`.
fn part(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let text = attempt!(text(worker, inputs[0]));
    let line = attempt!(clipped(worker, 2, inputs[1], PLACE_MAX));
    let column = attempt!(clipped(worker, 3, inputs[2], PLACE_MAX));
    let place = |at| match line_and_column(&text, at) {
        (1, within) => (line, column + within - 1),
        (lines, within) => (line + lines - 1, within),
    };
    outputs[0] = match attempt!(value(worker, &text)) {
        Ok(value) => {
            let (line, column) = place(text.len());
            let name = worker.intern("part");
            worker.structure(name, &[value, Word::small(line as i64), Word::small(column as i64)])
        }
        Err((at, why)) => syntax_error(worker, place(at), why),
    };
    Outcome::Done
}

/// `cut(S,State,Parts,State1)`: Parts is S cut behind each value that ends there; its last part begins the next value,
/// or is empty. State is 0 at the beginning, and where no value has begun.
fn cut(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let text = attempt!(text(worker, inputs[0]));
    let state = attempt!(clipped(worker, 2, inputs[1], PLACE_MAX));
    let mut cutter = Cutter::from_number(state as u64);
    let mut ends = cutter.ends(&text);
    ends.push(text.len());
    attempt!(worker.ensure_young(text.len() / 8 + 8 * ends.len()));
    let mut from = 0;
    let parts: Vec<Word> =
        ends.iter().map(|&end| worker.string(&text[std::mem::replace(&mut from, end)..end])).collect();
    outputs[0] = worker.list(&parts, Word::NIL);
    outputs[1] = Word::small(cutter.number().min(PLACE_MAX as u64) as i64);
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

pub(super) const NATIVES: &[Row] = &[
    method("json", "cut", "iioo", cut),
    method("json", "parse", "io", parse),
    method("json", "part", "iiio", part),
    method("json", "written", "io", written),
];
