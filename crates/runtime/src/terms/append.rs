//! Ground terms as text, straight into the buffer that is written into: the usual terms, as the printer of `syntax`
//! writes them.
//!
//! What is not usual is left to `print`: variables, operators, big integers, old versions of strings and vectors, and a
//! text for which there is no room. Every step writes a byte at least, so the room bounds the time, also for a term
//! that contains itself.

use crate::memory::ranges::read;
use crate::terms::state::Level;
use crate::terms::{deref, value_at};
use crate::worker::Worker;
use syntax::format::{
    Escapes, INTEGER_BYTES_MAX, float_fixed, float_readable, is_plain_string, write_atom, write_integer,
    write_string,
};
use syntax::operators::OpTable;
use term::layout::{FLOAT, STRING, VECTOR};
use term::symbol::{BAR, COMMA};
use term::word::{self, Tag};
use term::{Atom, Word};

/// Deeper terms are left to `print`, so that little memory is kept.
const LEVELS_MAX: usize = 1 << 10;

/// How terms are written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Style<'a> {
    /// As `putt` writes: atoms that are operators are left to `print`.
    Readable(&'a OpTable),
    /// As `print` writes.
    Plain,
}

/// A text that grows in a buffer.
struct Text<'a> {
    worker: &'a Worker,
    style: Style<'a>,
    out: &'a mut Vec<u8>,
    /// What the length of `out` may be.
    end: usize,
}

impl Worker {
    /// Appends a term in `room` bytes at most; false if it is left to `print`, and nothing was done.
    pub(crate) fn append_term(&mut self, term: Word, style: Style, room: usize, out: &mut Vec<u8>) -> bool {
        let mut levels = std::mem::take(&mut self.terms.levels);
        let before = out.len();
        let mut text = Text { worker: self, style, end: before + room, out };
        let whole = text.term(deref(term), &mut levels).is_some();
        if !whole {
            out.truncate(before);
            levels.clear();
        }
        self.terms.levels = levels;
        whole
    }
}

/// `None` everywhere below: the term is left to `print`.
impl Text<'_> {
    fn term(&mut self, mut term: Word, levels: &mut Vec<Level>) -> Option<()> {
        loop {
            match self.top(term)? {
                None => loop {
                    match levels.pop() {
                        None => return Some(()),
                        Some(level) => {
                            if let Some(next) = self.next(level, levels)? {
                                term = next;
                                break;
                            }
                        }
                    }
                },
                Some((first, level)) => {
                    if levels.len() == LEVELS_MAX {
                        return None;
                    }
                    levels.push(level);
                    term = first;
                }
            }
        }
    }

    /// Writes what a term begins with: its first part, and what is left behind that, if it has parts.
    #[inline(always)]
    fn top(&mut self, term: Word) -> Option<Option<(Word, Level)>> {
        match term.tag() {
            Tag::Int => {
                self.has_room(INTEGER_BYTES_MAX)?;
                write_integer(term.as_int(), self.out);
                Some(None)
            }
            Tag::Atom => self.atom(term.as_atom()).map(|()| None),
            Tag::Cons => {
                self.byte(b'[')?;
                let address = term.address();
                Some(Some((value_at(address), Level::Tail(address + 8))))
            }
            Tag::Struct => {
                let (address, header) = (term.address(), read(term.address()));
                self.atom(word::header_name(header))?;
                self.byte(b'(')?;
                debug_assert!(word::header_arity(header) > 0, "W3: no structure begins there");
                let left = word::header_arity(header) - 1;
                Some(Some((value_at(address + 8), Level::Arguments(address + 16, left))))
            }
            Tag::Object => self.object(term),
            _ => None,
        }
    }

    /// Goes on with a term that was begun: its next part, with what is left on top of `levels`; or it is complete.
    #[inline(always)]
    fn next(&mut self, level: Level, levels: &mut Vec<Level>) -> Option<Option<Word>> {
        match level {
            Level::Arguments(_, 0) => self.byte(b')').map(|()| None),
            Level::Arguments(address, left) => {
                self.byte(b',')?;
                levels.push(Level::Arguments(address + 8, left - 1));
                Some(Some(value_at(address)))
            }
            Level::Tail(address) => match value_at(address) {
                Word::NIL => self.byte(b']').map(|()| None),
                tail if tail.tag() == Tag::Cons => {
                    self.byte(b',')?;
                    levels.push(Level::Tail(tail.address() + 8));
                    Some(Some(value_at(tail.address())))
                }
                tail => {
                    self.byte(b'|')?;
                    levels.push(Level::End);
                    Some(Some(tail))
                }
            },
            Level::Elements(_, index, length) if index == length => self.byte(b'}').map(|()| None),
            Level::Elements(vector, index, length) => {
                self.byte(b',')?;
                levels.push(Level::Elements(vector, index + 1, length));
                self.worker.newest_element(vector, index as i64).map(|element| Some(deref(element)))
            }
            Level::End => self.byte(b']').map(|()| None),
        }
    }

    fn object(&mut self, term: Word) -> Option<Option<(Word, Level)>> {
        let worker = self.worker;
        match word::header_class(read(term.address())) {
            STRING => self.string(term).map(|()| None),
            FLOAT => {
                let value = worker.float_value(term)?;
                let text = match self.style {
                    Style::Plain => float_fixed(value),
                    Style::Readable(_) => float_readable(value),
                };
                self.bytes(text.as_bytes()).map(|()| None)
            }
            VECTOR => match worker.newest_length(term, VECTOR)? {
                0 => self.bytes(b"{}").map(|()| None),
                length => {
                    self.byte(b'{')?;
                    let first = worker.newest_element(term, 0)?;
                    Some(Some((deref(first), Level::Elements(term, 1, length))))
                }
            },
            _ => None,
        }
    }

    /// Its bytes are copied, and written once more if some of them are not written as they are.
    fn string(&mut self, term: Word) -> Option<()> {
        const QUOTES: usize = 2;
        const FURTHER: usize = 7;
        let start = self.out.len();
        let most = (self.end - start).checked_sub(QUOTES + FURTHER)?;
        self.out.push(b'"');
        if !self.worker.append_string(term, most, self.out) {
            return None;
        }
        let escapes = match self.style {
            Style::Plain => Escapes::NonAscii,
            Style::Readable(_) => Escapes::Control,
        };
        if is_plain_string(&self.out[start + 1..], escapes) {
            self.out.push(b'"');
            return Some(());
        }
        const ESCAPE_BYTES: usize = 4;
        let bytes = self.out.split_off(start + 1);
        self.out.truncate(start);
        self.has_room(QUOTES + ESCAPE_BYTES * bytes.len())?;
        write_string(&bytes, escapes, self.out);
        Some(())
    }

    /// An atom as a functor, argument or item.
    #[inline(always)]
    fn atom(&mut self, atom: Atom) -> Option<()> {
        let worker = self.worker;
        let text = worker.atoms.text(atom);
        match self.style {
            Style::Plain => self.bytes(text),
            Style::Readable(ops) => {
                if ops.is_operator(atom) || atom == COMMA || atom == BAR {
                    return None;
                }
                // Quotes double some characters.
                self.has_room(2 * text.len() + 2)?;
                write_atom(text, self.out);
                Some(())
            }
        }
    }

    #[inline(always)]
    fn has_room(&self, bytes: usize) -> Option<()> {
        debug_assert!(self.out.len() <= self.end, "{} bytes of {}", self.out.len(), self.end);
        (self.end - self.out.len() >= bytes).then_some(())
    }
    #[inline(always)]
    fn byte(&mut self, byte: u8) -> Option<()> {
        self.has_room(1)?;
        self.out.push(byte);
        Some(())
    }
    #[inline(always)]
    fn bytes(&mut self, bytes: &[u8]) -> Option<()> {
        self.has_room(bytes.len())?;
        self.out.extend_from_slice(bytes);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtins::tests::worker;
    use crate::terms::print::{plain, readable};

    /// Terms that are ground and usual.
    fn usual(worker: &mut Worker) -> Vec<Word> {
        let names = ["f", "A b", "it's", "g", "{}"].map(|name| worker.intern(name));
        let [f, quoted, quote, g, braces] = names;
        let number = Word::small(-12);
        let float = worker.float(2.5);
        let mut terms = vec![number, Word::NIL, Word::atom(quote), float];
        for bytes in [b"plain".as_slice(), b"", b"a \"b\\\n\x01\xe9", &[b'x'; 70], &[b'"'; 70]] {
            terms.push(worker.string(bytes));
        }
        terms.push(worker.vector(&[]));
        let items = terms.clone();
        terms.push(worker.vector(&items));
        terms.push(worker.list(&items, Word::NIL));
        terms.push(worker.list(&items, number));
        for name in [f, quoted, braces] {
            terms.push(worker.structure(name, &items));
            terms.push(worker.structure(name, &[number]));
        }
        let inner = terms.clone();
        terms.push(worker.structure(g, &inner));
        let variable = worker.new_variable();
        worker.unify(variable, terms[0]);
        terms.push(worker.list(&[variable, variable], Word::atom(f)));
        terms
    }

    #[test]
    fn usual_terms_are_written_as_the_printer_writes_them_or_not_at_all() {
        let worker = worker();
        let ops = OpTable::default_table(&worker.atoms);
        for term in usual(worker) {
            let expected = readable(worker, &ops, term).expect("it is finite");
            let expected_plain = plain(worker, term).expect("it is finite");
            for (style, expected) in [(Style::Readable(&ops), expected), (Style::Plain, expected_plain)] {
                let mut out = b"before".to_vec();
                let enough = 4 * expected.len() + 2 * INTEGER_BYTES_MAX;
                assert!(worker.append_term(term, style, enough, &mut out));
                assert_eq!(out, [b"before", &*expected].concat());
                for room in 0..expected.len() {
                    let mut out = b"before".to_vec();
                    assert!(!worker.append_term(term, style, room, &mut out), "{room}");
                    assert_eq!(out, b"before");
                }
            }
        }
    }

    #[test]
    fn what_is_not_usual_is_left_alone() {
        let worker = worker();
        let ops = OpTable::default_table(&worker.atoms);
        let (f, minus, word) = (worker.intern("f"), worker.intern("-"), worker.intern("mod"));
        let big = worker.int(i64::MAX);
        let circle = worker.new_variable();
        let term = worker.list(&[Word::small(1)], circle);
        worker.unify(circle, term);
        let deep = (0..=LEVELS_MAX).fold(Word::NIL, |term, _| worker.structure(f, &[term]));
        let old = worker.vector(&[Word::small(1)]);
        let variable = worker.new_variable();
        let mut terms = vec![variable, big, circle, deep];
        for inner in [variable, Word::atom(minus), Word::atom(COMMA), Word::atom(BAR)] {
            terms.extend([
                worker.structure(f, &[old, inner]),
                worker.vector(&[inner]),
                worker.cons(inner, Word::NIL),
            ]);
        }
        for name in [minus, word, COMMA, BAR] {
            terms.extend([
                worker.structure(name, &[f, f].map(Word::atom)),
                worker.structure(name, &[Word::NIL]),
            ]);
        }
        for term in terms {
            let mut out = vec![];
            assert!(!worker.append_term(term, Style::Readable(&ops), 1 << 12, &mut out));
            assert_eq!(out, b"");
        }
        // It is found out anew each time.
        let mut out = vec![];
        assert!(worker.append_term(Word::small(1), Style::Plain, 1 << 12, &mut out));
        assert_eq!(out, b"1");
    }
}
