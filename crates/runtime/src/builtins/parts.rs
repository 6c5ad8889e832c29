//! Modules `strings` and `builder`: parts of strings, counted in bytes. The rest of the modules is KL1 (`library/`).
//!
//! A long string is looked at in windows, so that a goal neither copies all of it for each part nor holds its worker
//! up for long.

use super::{Row, attempt, bytes, error, known, list_items, method, strings, with_bytes, wrong};
use crate::reports::outcome::ErrorKind;
use crate::worker::Worker;
use crate::worker::native::Outcome;
use memchr::memmem::Finder;
use num_bigint::Sign;
use std::ops::Range;
use term::Word;
use term::symbol::{ABNORMAL, NORMAL};

/// Bytes of a string that are looked at together.
const WINDOW_BYTES: usize = 4096;
/// The same of what is looked for, at first: it is near, most often.
const NEAR_BYTES: usize = 256;
/// Words of a string beside its bytes: handle, header of the store, and its cons in a list.
pub(super) const WORDS_BESIDE: usize = 8;

/// An index, which is any integer; one outside of 0 to `length` counts as the nearer end.
pub(super) fn clipped(worker: &Worker, position: usize, word: Word, length: usize) -> Result<usize, Outcome> {
    let word = known(word)?;
    if let Some(index) = worker.small(word) {
        return Ok(index.clamp(0, length as i64) as usize);
    }
    let large = worker.big(word).ok_or_else(|| wrong(worker, position, "an integer", word))?;
    Ok(if large.sign() == Sign::Minus { 0 } else { length })
}

/// `sub(S,From,To,T)`.
fn sub(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let length = attempt!(strings::length(worker, 1, inputs[0]));
    let from = attempt!(clipped(worker, 2, inputs[1], length));
    let to = attempt!(clipped(worker, 3, inputs[2], length)).max(from);
    attempt!(worker.ensure_young((to - from) / 8 + WORDS_BESIDE));
    outputs[0] = worker.string_of_parts(&[(inputs[0], from..to)]);
    Outcome::Done
}

/// Windows of a string, each with the place of its first byte; the next one may begin inside.
pub(super) struct Windows {
    string: Word,
    length: usize,
    pub(super) start: usize,
    pub(super) size: usize,
}

impl Windows {
    pub(super) fn new(
        worker: &mut Worker,
        string: Word,
        start: usize,
        size: usize,
    ) -> Result<Windows, Outcome> {
        let length = strings::length(worker, 1, string)?;
        Ok(Windows { string, length, start: start.min(length), size })
    }
    pub(super) fn bytes(&self, worker: &Worker) -> Result<Vec<u8>, Outcome> {
        worker.may_go_on(self.size)?;
        Ok(worker.string_part(self.string, self.start..self.end()))
    }
    fn end(&self) -> usize {
        self.length.min(self.start.saturating_add(self.size))
    }
    pub(super) fn is_last(&self) -> bool {
        self.end() == self.length
    }
}

/// `find(S,Part,From,R)`: R is `normal(I)`, the first place of a part from there on, or `abnormal(absent)`.
fn find(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let part = attempt!(bytes(worker, 2, inputs[1]));
    let from = attempt!(clipped(worker, 3, inputs[2], usize::MAX >> 1));
    let finder = Finder::new(&part);
    let size = NEAR_BYTES.max(2 * part.len());
    let mut windows = attempt!(Windows::new(worker, inputs[0], from, size));
    let found = loop {
        let window = attempt!(windows.bytes(worker));
        match finder.find(&window) {
            Some(at) => break Some(windows.start + at),
            None if windows.is_last() => break None,
            None => {
                windows.start = windows.end() + 1 - part.len();
                windows.size = (2 * windows.size).min(WINDOW_BYTES.max(size));
            }
        }
    };
    let (name, value) = match found.filter(|_| from <= windows.length) {
        Some(at) => (NORMAL, Word::small(at as i64)),
        None => (ABNORMAL, Word::atom(worker.intern("absent"))),
    };
    outputs[0] = worker.structure(name, &[value]);
    Outcome::Done
}

/// Where a string is cut.
enum Cut<'a> {
    /// Between blanks.
    Words,
    /// Behind each newline; a carriage return before it goes, too.
    Lines,
    /// At each place of a separator.
    At(&'a Finder<'a>),
}

pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, 9..=13 | b' ')
}

impl Cut<'_> {
    /// The whole parts of a window, and where the part begins that is not whole; behind the last window none is.
    fn parts(&self, window: &[u8], last: bool) -> (Vec<Range<usize>>, usize) {
        let mut parts = Vec::new();
        let mut start = 0;
        match self {
            Cut::Words => {
                let mut at = 0;
                loop {
                    at += window[at..].iter().take_while(|&&byte| is_blank(byte)).count();
                    start = at;
                    at += window[at..].iter().take_while(|&&byte| !is_blank(byte)).count();
                    if at == window.len() {
                        break;
                    }
                    parts.push(start..at);
                }
            }
            Cut::Lines => {
                for at in memchr::memchr_iter(b'\n', window) {
                    let end = if window[start..at].ends_with(b"\r") { at - 1 } else { at };
                    parts.push(start..end);
                    start = at + 1;
                }
            }
            Cut::At(separator) => {
                for at in separator.find_iter(window) {
                    parts.push(start..at);
                    start = at + separator.needle().len();
                }
            }
        }
        let rest = start < window.len() || matches!(self, Cut::At(_));
        if last && rest {
            parts.push(start..window.len());
        }
        (parts, start)
    }
}

/// `pieces(S,How,From,Rest,Ps,Next)`: Ps is parts of S from there on, and behind them Rest. Next is where they end, or
/// -1 when these are the last. How is `words`, `lines` or a separator.
fn pieces(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let name = worker.atom_value(inputs[1]).map(|atom| worker.atoms.text(atom).to_vec());
    match name.as_deref() {
        Some(b"words") => cut(worker, inputs, outputs, &Cut::Words),
        Some(b"lines") => cut(worker, inputs, outputs, &Cut::Lines),
        _ => {
            let separator = attempt!(bytes(worker, 2, inputs[1]));
            if separator.is_empty() {
                return error(
                    ErrorKind::Range,
                    "argument 2 is out of range: a separator has one byte at least",
                );
            }
            cut(worker, inputs, outputs, &Cut::At(&Finder::new(&separator)))
        }
    }
}

fn cut(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word], cut: &Cut<'_>) -> Outcome {
    let from = attempt!(clipped(worker, 3, inputs[2], usize::MAX >> 1));
    let mut windows = attempt!(Windows::new(worker, inputs[0], from, WINDOW_BYTES));
    let (window, parts, rest) = loop {
        let window = attempt!(windows.bytes(worker));
        let (parts, rest) = cut.parts(&window, windows.is_last());
        if windows.is_last() || rest > 0 {
            break (window, parts, rest);
        }
        windows.size *= 2;
    };
    let words: usize = parts.iter().map(|part| part.len() / 8 + WORDS_BESIDE).sum();
    attempt!(worker.ensure_young(words));
    outputs[0] = parts.into_iter().rev().fold(inputs[3], |list, part| {
        let part = worker.string(&window[part]);
        worker.cons(part, list)
    });
    let next = if windows.is_last() { -1 } else { (windows.start + rest) as i64 };
    outputs[1] = Word::small(next);
    Outcome::Done
}

/// `all(Strings,Separator,S)`: S is all strings of a list, with a separator between two.
fn all(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let separator = attempt!(strings::length(worker, 2, inputs[1]));
    let items = attempt!(list_items(worker, 1, inputs[0]));
    let mut parts = Vec::with_capacity(2 * items.len());
    let mut length = 0usize;
    for item in items {
        let item = attempt!(known(item));
        let Some(size) = worker.string_length(item) else {
            return wrong(worker, 1, "a list of strings", item);
        };
        if separator > 0 && !parts.is_empty() {
            parts.push((inputs[1], 0..separator));
            length = length.saturating_add(separator);
        }
        parts.push((item, 0..size));
        length = length.saturating_add(size);
    }
    attempt!(worker.ensure_young(length / 8 + WORDS_BESIDE));
    outputs[0] = worker.string_of_parts(&parts);
    Outcome::Done
}

/// `trim(S,T)`: without blanks around.
fn trim(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let range = attempt!(with_bytes(worker, 1, inputs[0], |_, text| {
        let start = text.iter().take_while(|&&byte| is_blank(byte)).count();
        let behind = text[start..].iter().rev().take_while(|&&byte| is_blank(byte)).count();
        start..text.len() - behind
    }));
    attempt!(worker.ensure_young(range.len() / 8 + WORDS_BESIDE));
    outputs[0] = worker.string_of_parts(&[(inputs[0], range)]);
    Outcome::Done
}

/// `builder:add(S,B,B1)`: a builder is the list of its strings, the last one first. (A predicate of this name and arity
/// in KL1 would be warned of: it is a builtin's, too.)
fn add(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    attempt!(worker.ensure_young(2));
    outputs[0] = worker.cons(inputs[0], inputs[1]);
    Outcome::Done
}

const MODULE: &str = "strings";

pub(super) const NATIVES: &[Row] = &[
    method(MODULE, "sub", "iiio", sub),
    method(MODULE, "find", "iiio", find),
    method(MODULE, "pieces", "iiiaoo", pieces),
    method(MODULE, "all", "iio", all),
    method(MODULE, "trim", "io", trim),
    method("builder", "add", "aao", add),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtins::tests::worker;

    /// All parts, as many calls as it takes.
    fn cut_up(worker: &mut Worker, text: &[u8], how: Word) -> Vec<Vec<u8>> {
        let string = worker.string(text);
        let (mut from, mut found) = (Word::small(0), Vec::new());
        loop {
            let mut out = [Word::NIL; 2];
            assert!(matches!(pieces(worker, &[string, how, from, Word::NIL], &mut out), Outcome::Done));
            let items = list_items(worker, 1, out[0]).expect("a list");
            found.extend(items.into_iter().map(|item| worker.string_bytes(item).expect("a string")));
            from = out[1];
            if from == Word::small(-1) {
                return found;
            }
        }
    }

    #[test]
    fn parts_do_not_depend_on_where_windows_end() {
        let worker = worker();
        let [words, lines] = ["words", "lines"].map(|name| Word::atom(worker.intern(name)));
        for length in (WINDOW_BYTES - 3..WINDOW_BYTES + 4).chain([0, 1, 3 * WINDOW_BYTES]) {
            for end in
                ["", " ", "ab", " ab", "ab ", "\r\n", "\n", "\r\nab", "ab\r\n\n", "--", "-ab", "--ab--"]
            {
                let text = format!("{}{end}x{end}", "y".repeat(length));
                let expected: Vec<_> =
                    text.split_ascii_whitespace().map(|part| part.as_bytes().to_vec()).collect();
                assert_eq!(cut_up(worker, text.as_bytes(), words), expected, "{length} {end:?}");
                let expected: Vec<_> = text.lines().map(|part| part.as_bytes().to_vec()).collect();
                assert_eq!(cut_up(worker, text.as_bytes(), lines), expected, "{length} {end:?}");
                let separator = worker.string(b"--");
                let expected: Vec<_> = text.split("--").map(|part| part.as_bytes().to_vec()).collect();
                assert_eq!(cut_up(worker, text.as_bytes(), separator), expected, "{length} {end:?}");
            }
        }
    }

    #[test]
    fn a_part_is_found_where_two_windows_meet() {
        let worker = worker();
        let part = worker.string(b"needle");
        let at = |result: Word, worker: &Worker| worker.term_text(result);
        for place in (NEAR_BYTES - 7..4 * NEAR_BYTES).chain(2 * WINDOW_BYTES - 9..2 * WINDOW_BYTES + 2) {
            let text =
                worker.string(format!("{}needle!", "need".repeat(place)[..place].to_owned()).as_bytes());
            for (from, found) in [(0, Some(place)), (place, Some(place)), (place + 1, None), (1 << 20, None)]
            {
                let mut out = [Word::NIL];
                let inputs = [text, part, Word::small(from as i64)];
                assert!(matches!(find(worker, &inputs, &mut out), Outcome::Done));
                let expected = found.map_or("abnormal(absent)".into(), |place| format!("normal({place})"));
                assert_eq!(at(out[0], worker), expected, "{place} {from}");
            }
        }
    }
}
