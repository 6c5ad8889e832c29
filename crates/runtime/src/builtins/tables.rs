//! Module `csv`: rows of tables (RFC 4180). The rest of the module is KL1 (`library/csv.kl1`).

use super::parts::{WORDS_BESIDE, Windows, clipped};
use super::{Row, attempt, method, with_bytes};
use crate::worker::Worker;
use crate::worker::native::Outcome;
use std::ops::Range;
use term::Word;

/// Bytes of a text whose rows are read together; more, if a row is longer.
const WINDOW_BYTES: usize = 1 << 14;

/// A field of a row: where it lies, without its quotes, and whether it has doubled ones.
struct Field {
    place: Range<usize>,
    doubled: bool,
}

/// Why a row cannot be read.
enum Stop {
    /// It goes on behind the window.
    Cut,
    /// This byte is wrong.
    Wrong(usize, &'static str),
}

/// The rows of a window.
struct Rows<'t> {
    text: &'t [u8],
    /// Nothing follows the window.
    is_last: bool,
    at: usize,
    fields: Vec<Field>,
    /// For each whole row the number of fields to its end.
    ends: Vec<usize>,
}

impl Rows<'_> {
    /// Reads rows as long as they are whole. Answers where the first one begins that is not, and why.
    fn read(&mut self) -> (usize, Option<Stop>) {
        while self.at < self.text.len() {
            let (start, known) = (self.at, self.fields.len());
            loop {
                match self.field() {
                    Ok(false) => {}
                    Ok(true) => break,
                    Err(stop) => {
                        self.fields.truncate(known);
                        return (start, Some(stop));
                    }
                }
            }
            debug_assert!(self.at > start && self.at <= self.text.len(), "each row takes a byte at least");
            self.ends.push(self.fields.len());
        }
        (self.at, None)
    }
    /// Reads a field and what is behind it. Answers whether it was the last of its row.
    fn field(&mut self) -> Result<bool, Stop> {
        let start = self.at;
        if self.text.get(start) == Some(&b'"') {
            return self.quoted(start + 1);
        }
        let found = memchr::memchr2(b',', b'\n', &self.text[start..]).map(|length| start + length);
        let Some(end) = found.or(self.is_last.then_some(self.text.len())) else { return Err(Stop::Cut) };
        let ends_row = self.text.get(end) != Some(&b',');
        let place = start..if ends_row && self.text[start..end].ends_with(b"\r") { end - 1 } else { end };
        self.fields.push(Field { place, doubled: false });
        self.at = self.text.len().min(end + 1);
        Ok(ends_row)
    }
    fn quoted(&mut self, start: usize) -> Result<bool, Stop> {
        debug_assert!(start > 0 && self.text[start - 1] == b'"', "the quote was read");
        let (mut end, mut doubled) = (start, false);
        loop {
            match memchr::memchr(b'"', &self.text[end..]) {
                Some(length) => end += length,
                None if self.is_last => return Err(Stop::Wrong(start - 1, "the quote is not closed")),
                None => return Err(Stop::Cut),
            }
            if self.text.get(end + 1) != Some(&b'"') {
                break;
            }
            (end, doubled) = (end + 2, true);
        }
        let behind = &self.text[end + 1..];
        let (bytes, ends_row) = match behind {
            [b',', ..] => (1, false),
            [b'\n', ..] => (1, true),
            [b'\r', b'\n', ..] => (2, true),
            [] if self.is_last => (0, true),
            [] | [b'\r'] if !self.is_last => return Err(Stop::Cut),
            _ => {
                let why = "behind a quote stands a comma or the end of the row";
                return Err(Stop::Wrong(end + 1, why));
            }
        };
        self.fields.push(Field { place: start..end, doubled });
        self.at = end + 1 + bytes;
        debug_assert!(self.at <= self.text.len(), "nothing behind the window was read");
        Ok(ends_row)
    }
    /// The words that [`Rows::terms`] takes.
    fn words(&self) -> usize {
        let fields: usize = self.fields.iter().map(|field| field.place.len() / 8 + WORDS_BESIDE).sum();
        fields + 2 * self.ends.len()
    }
    /// The list of its rows, with a rest behind them.
    fn terms(&self, worker: &mut Worker, rest: Word) -> Word {
        debug_assert!(self.ends.last().is_none_or(|&end| end == self.fields.len()), "rows are whole");
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let rows: Vec<(usize, usize)> = starts.zip(self.ends.iter().copied()).collect();
        rows.into_iter().rev().fold(rest, |rows, (start, end)| {
            let row = self.fields[start..end].iter().rev().fold(Word::NIL, |row, field| {
                let text = &self.text[field.place.clone()];
                let field = if field.doubled { worker.string(&single(text)) } else { worker.string(text) };
                worker.cons(field, row)
            });
            worker.cons(row, rows)
        })
    }
}

/// With one quote in place of two.
fn single(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'"', rest) {
        out.extend_from_slice(&rest[..=at]);
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
    debug_assert!(out.len() <= text.len(), "quotes become fewer");
    out
}

/// `some(S,From,Rest,Rows,Next)`: Rows is rows of S from byte From on, and behind them Rest. Next is the byte behind
/// these, `end`, or `wrong(I,Text)`: this byte is wrong in the row that comes next.
fn some(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let from = attempt!(clipped(worker, 2, inputs[1], usize::MAX >> 1));
    let mut windows = attempt!(Windows::new(worker, inputs[0], from, WINDOW_BYTES));
    loop {
        let window = attempt!(windows.bytes(worker));
        let is_last = windows.is_last();
        let mut rows = Rows { text: &window, is_last, at: 0, fields: Vec::new(), ends: Vec::new() };
        let (rest, stop) = rows.read();
        debug_assert!(rest <= window.len(), "the next row begins in the window, or behind it");
        outputs[1] = match stop {
            Some(Stop::Cut) if rows.ends.is_empty() => {
                windows.size *= 2;
                continue;
            }
            Some(Stop::Wrong(at, why)) if rows.ends.is_empty() => {
                attempt!(worker.ensure_young(why.len() / 8 + 2 * WORDS_BESIDE));
                let why = worker.string(why.as_bytes());
                let name = worker.intern("wrong");
                worker.structure(name, &[Word::small((windows.start + at) as i64), why])
            }
            None if is_last => Word::atom(worker.intern("end")),
            _ => Word::small((windows.start + rest) as i64),
        };
        attempt!(worker.ensure_young(rows.words() + WORDS_BESIDE));
        outputs[0] = rows.terms(worker, inputs[2]);
        return Outcome::Done;
    }
}

/// `field(F,G)`: G is F as a field of a text: in quotes where it must be.
fn field(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let written = attempt!(with_bytes(worker, 1, inputs[0], |_, text| {
        let is_special = |byte: &u8| matches!(byte, b',' | b'"' | b'\n' | b'\r');
        text.iter().any(is_special).then(|| {
            let doubled =
                text.iter().flat_map(|&byte| std::iter::repeat_n(byte, 1 + usize::from(byte == b'"')));
            [b'"'].into_iter().chain(doubled).chain([b'"']).collect::<Vec<u8>>()
        })
    }));
    outputs[0] = match written {
        None => inputs[0],
        Some(text) => {
            attempt!(worker.ensure_young(text.len() / 8 + WORDS_BESIDE));
            worker.string(&text)
        }
    };
    Outcome::Done
}

const MODULE: &str = "csv";

pub(super) const NATIVES: &[Row] =
    &[method(MODULE, "some", "iiaoo", some), method(MODULE, "field", "io", field)];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtins::tests::worker;

    /// All rows as text, as many calls as it takes, and what ends them.
    fn read(worker: &mut Worker, text: &[u8]) -> (String, String) {
        let string = worker.string(text);
        let (mut from, mut found) = (Word::small(0), String::new());
        loop {
            let mut out = [Word::NIL; 2];
            assert!(matches!(some(worker, &[string, from, Word::NIL], &mut out), Outcome::Done));
            let rows = worker.term_text(out[0]);
            found.push_str(rows.trim_start_matches('[').trim_end_matches(']'));
            from = out[1];
            if worker.small(from).is_none() {
                return (found, worker.term_text(from));
            }
        }
    }

    #[test]
    fn rows_do_not_depend_on_where_windows_end() {
        let worker = worker();
        for length in WINDOW_BYTES - 12..WINDOW_BYTES + 3 {
            let long = "y".repeat(length);
            // Behind the long row each of these meets the end of a window somewhere.
            for (row, expected) in [
                ("a,b\n", r#"["a","b"]"#),
                ("a,b\r\n", r#"["a","b"]"#),
                ("\"a\"\"\",b\n", r#"["a\"","b"]"#),
                ("\"a\r\n\"\r\n", "[\"a\\015\\n\"]"),
                (",\"\"", r#"["",""]"#),
            ] {
                let string = worker.string(format!("{long}\n{row}").as_bytes());
                let mut out = [Word::NIL; 2];
                assert!(matches!(
                    some(worker, &[string, Word::small(0), Word::NIL], &mut out),
                    Outcome::Done
                ));
                let last = if worker.small(out[1]).is_some() {
                    let from = out[1];
                    assert!(matches!(some(worker, &[string, from, Word::NIL], &mut out), Outcome::Done));
                    out[0]
                } else {
                    crate::builtins::list_items(worker, 1, out[0]).expect("a list")[1]
                };
                let shown = worker.term_text(last);
                assert_eq!(
                    shown.trim_matches(['[', ']']),
                    expected.trim_matches(['[', ']']),
                    "{length} {row:?}"
                );
            }
        }
    }

    #[test]
    fn a_wrong_row_leaves_those_before_it() {
        let worker = worker();
        let (rows, end) = read(worker, b"a\nb,\"c\"d\ne");
        assert_eq!(rows, "\"a\"");
        assert!(end.starts_with("wrong(7,"), "{end}");
        let (rows, end) = read(worker, b"a\n\"b");
        assert_eq!(rows, "\"a\"");
        assert!(end.starts_with("wrong(2,"), "{end}");
    }
}
