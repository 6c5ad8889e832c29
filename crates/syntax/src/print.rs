//! Terms to text: `putt` (operators, quotes), `print` (canonical, no quotes), and a short form for messages.
//!
//! The terms are whoever's: a [`TermView`] shows them. A [`Printer`] keeps what is left to write on a stack
//! of its own, so that
//! - Nothing recurses: lists of 50 million cells and nesting of 10 million need no native stack;
//! - It can stop when the output buffer is full or a variable must be waited for, and go on later;
//! - P3 the terms it still needs can be found and moved by a collector ([`Printer::terms_mut`]).
//!
//! `putt`'s text of a term without variables reads back as the same term with the same operators.

use crate::circles::Circles;
use crate::format::{
    Escapes, edge_class, float_fixed, float_readable, is_bare_atom, write_atom, write_integer, write_string,
};
use crate::operators::{BAR_OP, COMMA_OP, Op, OpTable};
use std::borrow::Cow;
use term::symbol::{BAR, COMMA, NIL};
use term::{Atom, AtomTable};

mod place;
use place::{Before, Place};

/// The top of a term.
#[derive(Clone, Debug, PartialEq)]
pub enum View<'a> {
    /// An integer that a word holds.
    Int(i64),
    /// A larger one, in decimal.
    BigInt(String),
    /// A float.
    Float(f64),
    /// An atom.
    Atom(Atom),
    /// A string's bytes.
    String(Cow<'a, [u8]>),
    /// A list cell: argument 0 is its car, 1 its cdr.
    Cons,
    /// A functor and its arity.
    Struct(Atom, usize),
    /// A vector and its size.
    Vector(usize),
    /// A variable that is written as this label (`_12`).
    Variable(String),
    /// Something else, written as this text (`predicate#(m:p/2)`).
    Other(String),
    /// An unbound variable that must be waited for: the printer stops before it.
    Wait,
}

/// Shows terms to the printer.
pub trait TermView {
    /// A term, or a reference to one.
    type Term: Copy;
    /// The top of a term.
    fn view(&self, term: Self::Term) -> View<'_>;
    /// An argument, from 0. The index is less than the arity that `view` gave (2 for a list cell).
    fn argument(&self, term: Self::Term, index: usize) -> Self::Term;
    /// Whether both are the same list cell, structure or vector in memory. Where terms may contain themselves
    /// this finds them; finite terms need no answer.
    fn is_same(&self, _: Self::Term, _: Self::Term) -> bool {
        false
    }
}

/// How much of a term is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Levels of structures, lists and vectors; what is deeper is `..`.
    pub depth: usize,
    /// Items of a list, vector or structure; the rest is `..`.
    pub length: usize,
    /// Bytes, about; the rest is `..`.
    pub bytes: usize,
}

impl Limits {
    /// Everything.
    pub const NONE: Limits = Limits { depth: usize::MAX, length: usize::MAX, bytes: usize::MAX };
}

/// Bytes of a string that a limited printer shows.
const LIMITED_STRING_BYTES: usize = 200;
/// Places for work that a printer has from the beginning.
const WORK_FEW: usize = 16;
/// After so many steps a printer pauses.
const STEPS: usize = 1 << 16;

/// How far [`Printer::write`] came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress<T> {
    /// The whole term is written.
    Done,
    /// The buffer holds at least as much as was asked for, or many steps were made: there is more to write.
    Paused,
    /// This term's view was [`View::Wait`]; writing goes on with it.
    Blocked(T),
    /// The term contains itself: its text has no end.
    Endless,
}

/// What is left to write, top first.
#[derive(Clone, Copy, Debug)]
enum Work<T> {
    /// A term.
    Term(T, Place),
    /// `,` and the arguments from this index on (of so many).
    Arguments(T, u32, u32),
    /// What follows the car of this list cell; so many items are written.
    Tail(T, u32),
    /// An infix operator and its right operand.
    Infix(Atom, T, Place),
    /// A postfix operator.
    Postfix(Atom),
    /// A closing bracket; leaves a level.
    Close(u8),
}

/// How terms are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    /// `putt`: operators, and quotes where they are needed.
    Readable,
    /// `print`: neither.
    Plain,
    /// Messages: quotes only.
    Message,
}

/// A term being written.
#[derive(Clone, Debug)]
pub struct Printer<T> {
    work: Vec<Work<T>>,
    style: Style,
    limits: Limits,
    /// Open brackets.
    depth: usize,
    /// Class of the last byte written ([`edge_class`]).
    edge: u8,
    /// The last token was a prefix operator: `(` right after it would make it a functor.
    after_prefix: bool,
    circles: Circles<T>,
}

impl<T: Copy> Printer<T> {
    /// As `putt` writes.
    pub fn readable(term: T) -> Self {
        Self::new(term, Style::Readable, Limits::NONE)
    }
    /// As `print` writes.
    pub fn plain(term: T) -> Self {
        Self::new(term, Style::Plain, Limits::NONE)
    }
    /// As messages show terms: no more than `limits`.
    pub fn limited(term: T, limits: Limits) -> Self {
        Self::new(term, Style::Message, limits)
    }
    fn new(term: T, style: Style, limits: Limits) -> Self {
        let mut work = Vec::with_capacity(WORK_FEW);
        work.push(Work::Term(term, Place::TOP));
        Printer { work, style, limits, depth: 0, edge: b' ', after_prefix: false, circles: Circles::NEW }
    }
    /// Bytes of memory that it takes.
    pub fn bytes(&self) -> usize {
        self.work.capacity() * size_of::<Work<T>>()
    }
    /// The terms that are still to be written (P3).
    pub fn terms_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let work = self.work.iter_mut().filter_map(|work| match work {
            Work::Term(term, _)
            | Work::Arguments(term, ..)
            | Work::Tail(term, _)
            | Work::Infix(_, term, _) => Some(term),
            Work::Postfix(_) | Work::Close(_) => None,
        });
        work.chain(self.circles.watched.iter_mut().map(|(term, _)| term))
    }
    /// Appends to `out` until the term is written, `out` holds `enough` bytes, many steps are made, or a variable
    /// must be waited for.
    pub fn write<V: TermView<Term = T>>(
        &mut self,
        terms: &V,
        atoms: &AtomTable,
        ops: &OpTable,
        out: &mut Vec<u8>,
        enough: usize,
    ) -> Progress<T> {
        let mut steps = 0;
        while let Some(work) = self.work.pop() {
            if out.len() >= enough || steps == STEPS {
                self.work.push(work);
                return Progress::Paused;
            }
            steps += 1;
            self.circles.finished(self.work.len());
            let mut writer = Writer { printer: self, terms, atoms, ops, out };
            match work {
                Work::Term(term, place) => {
                    if !writer.term(term, place) {
                        self.work.push(work);
                        return Progress::Blocked(term);
                    }
                }
                Work::Arguments(term, next, count) => writer.arguments(term, next, count),
                Work::Tail(cell, written) => {
                    if let Some(tail) = writer.tail(cell, written) {
                        self.work.push(work);
                        return Progress::Blocked(tail);
                    }
                }
                Work::Infix(name, right, place) => {
                    writer.operator(name);
                    writer.printer.work.push(Work::Term(right, place));
                }
                Work::Postfix(name) => writer.operator(name),
                Work::Close(byte) => {
                    writer.token(&[byte]);
                    self.depth -= 1;
                }
            }
            if self.circles.found {
                return Progress::Endless;
            }
        }
        Progress::Done
    }
}

/// One step of a printer.
struct Writer<'p, 'v, V: TermView> {
    printer: &'p mut Printer<V::Term>,
    terms: &'v V,
    atoms: &'v AtomTable,
    ops: &'v OpTable,
    out: &'v mut Vec<u8>,
}

impl<V: TermView> Writer<'_, '_, V> {
    /// Writes a token, after a blank where it would melt into the one before.
    fn token(&mut self, bytes: &[u8]) {
        self.space(bytes);
        self.out.extend_from_slice(bytes);
    }

    /// What comes before a token; the token itself is written next. Of `bytes` the first and last matter.
    fn space(&mut self, bytes: &[u8]) {
        let (Some(&first), Some(&last)) = (bytes.first(), bytes.last()) else { return };
        if self.printer.style == Style::Readable {
            let first = edge_class(first);
            let melts = matches!(first, b'a' | b'+') && first == self.printer.edge;
            if melts || self.printer.after_prefix && first == b'(' {
                self.out.push(b' ');
            }
            self.printer.edge = edge_class(last);
            self.printer.after_prefix = false;
        }
    }

    /// An atom as a functor or operand.
    fn atom(&mut self, atom: Atom) {
        if self.printer.style != Style::Plain && !is_bare_atom(self.atoms.text(atom)) {
            self.space(b"'");
            write_atom(self.atoms.text(atom), self.out);
        } else {
            let atoms = self.atoms;
            self.token(atoms.text(atom));
        }
    }

    fn is_operator(&self, atom: Atom) -> bool {
        atom == COMMA || atom == BAR || self.ops.is_operator(atom)
    }

    /// The reader knows `|` always, and `,` with its priority; a table without `,` has it written in quotes.
    fn infix(&self, atom: Atom) -> Option<Op> {
        match atom {
            COMMA => self.ops.infix(atom).and(Some(COMMA_OP)),
            BAR => Some(BAR_OP),
            _ => self.ops.infix(atom),
        }
    }

    /// An operator between or after operands: words stand between blanks.
    fn operator(&mut self, atom: Atom) {
        let atoms = self.atoms;
        let text = atoms.text(atom);
        match atom {
            COMMA | BAR => self.token(text),
            _ if is_bare_atom(text) && edge_class(text[0]) != b'a' => self.token(text),
            _ => {
                self.out.push(b' ');
                write_atom(text, self.out);
                self.blank();
            }
        }
    }

    fn blank(&mut self) {
        self.out.push(b' ');
        self.printer.edge = b' ';
        self.printer.after_prefix = false;
    }

    /// Notes a list cell, structure or vector. What is cut off has an end.
    fn meet(&mut self, term: V::Term) {
        if self.printer.style != Style::Message {
            let (terms, work) = (self.terms, self.printer.work.len());
            self.printer.circles.meet(term, work, |a, b| terms.is_same(a, b));
        }
    }

    fn open(&mut self, byte: u8, close: u8) {
        self.token(&[byte]);
        self.printer.depth += 1;
        self.printer.work.push(Work::Close(close));
    }

    /// Writes the top of a term; `false`: it must be waited for.
    fn term(&mut self, term: V::Term, place: Place) -> bool {
        let terms = self.terms;
        let view = terms.view(term);
        let compound = matches!(view, View::Cons | View::Struct(..) | View::Vector(_));
        if compound && self.printer.depth >= self.printer.limits.depth {
            self.out.extend(b"..");
            return true;
        }
        if compound {
            self.meet(term);
        }
        match view {
            View::Wait => return false,
            View::Int(value) => {
                self.space(if value < 0 { b"-0" } else { b"0" });
                write_integer(value, self.out);
            }
            View::BigInt(text) | View::Variable(text) | View::Other(text) => self.token(text.as_bytes()),
            View::Float(value) if self.printer.style == Style::Plain => {
                self.token(float_fixed(value).as_bytes());
            }
            View::Float(value) => self.token(float_readable(value).as_bytes()),
            View::String(bytes) => self.string(&bytes),
            View::Atom(atom) if self.printer.style == Style::Readable && self.needs_brackets(atom, place) => {
                self.open(b'(', b')');
                self.atom(atom);
            }
            View::Atom(atom) => self.atom(atom),
            View::Cons => {
                self.token(b"[");
                self.printer.depth += 1;
                self.printer.work.push(Work::Tail(term, 1));
                self.printer.work.push(Work::Term(terms.argument(term, 0), Place::ARGUMENT));
            }
            View::Vector(count) => {
                self.open(b'{', b'}');
                self.items(term, count);
            }
            View::Struct(name, arity) => {
                let operators = self.printer.style == Style::Readable;
                if !(operators && self.operator_term(term, name, arity, place)) {
                    self.functional(term, name, arity);
                }
            }
        }
        true
    }

    fn string(&mut self, bytes: &[u8]) {
        self.space(b"\"");
        let text = &mut *self.out;
        match self.printer.style {
            Style::Readable => write_string(bytes, Escapes::Control, text),
            Style::Plain => write_string(bytes, Escapes::NonAscii, text),
            Style::Message if bytes.len() <= LIMITED_STRING_BYTES => {
                write_string(bytes, Escapes::Control, text);
            }
            Style::Message => {
                write_string(&bytes[..LIMITED_STRING_BYTES], Escapes::Control, text);
                text.extend(b"..");
            }
        }
    }

    /// `name(arguments)`.
    fn functional(&mut self, term: V::Term, name: Atom, arity: usize) {
        self.atom(name);
        self.printer.after_prefix = false;
        self.open(b'(', b')');
        self.items(term, arity);
    }

    fn items(&mut self, term: V::Term, count: usize) {
        // Arities and vector sizes are far below 2^32 (a vector of that size has no room in a heap of words).
        let count = count as u32;
        if count > 0 {
            if count > 1 {
                self.printer.work.push(Work::Arguments(term, 1, count));
            }
            self.printer.work.push(Work::Term(self.terms.argument(term, 0), Place::ARGUMENT));
        }
    }

    fn arguments(&mut self, term: V::Term, next: u32, count: u32) {
        self.token(b",");
        if next as usize >= self.printer.limits.length {
            self.out.extend(b"..");
            return;
        }
        if next + 1 < count {
            self.printer.work.push(Work::Arguments(term, next + 1, count));
        }
        let argument = self.terms.argument(term, next as usize);
        self.printer.work.push(Work::Term(argument, Place::ARGUMENT));
    }

    /// After a list item; answers the tail when it must be waited for.
    fn tail(&mut self, cell: V::Term, written: u32) -> Option<V::Term> {
        let terms = self.terms;
        let tail = terms.argument(cell, 1);
        match terms.view(tail) {
            View::Wait => return Some(tail),
            View::Atom(NIL) => self.close_list(),
            View::Cons if written as usize >= self.printer.limits.length => {
                self.out.extend(b",..");
                self.close_list();
            }
            View::Cons => {
                self.meet(tail);
                self.token(b",");
                self.printer.work.push(Work::Tail(tail, written.saturating_add(1)));
                self.printer.work.push(Work::Term(terms.argument(tail, 0), Place::ARGUMENT));
            }
            _ => {
                self.token(b"|");
                self.printer.work.push(Work::Close(b']'));
                self.printer.work.push(Work::Term(tail, Place::ARGUMENT));
            }
        }
        None
    }

    fn close_list(&mut self) {
        self.token(b"]");
        self.printer.depth -= 1;
    }

    /// Writes a structure with its operator; `false`: it has none.
    fn operator_term(&mut self, term: V::Term, name: Atom, arity: usize, place: Place) -> bool {
        let first = self.terms.argument(term, 0);
        if arity == 2
            && let Some(op) = self.infix(name)
        {
            let place = self.parenthesis(op, place);
            let right = self.terms.argument(term, 1);
            let after = Place { max: op.right, before: Before::Other, ..place };
            self.printer.work.push(Work::Infix(name, right, after));
            let closed = matches!(name, COMMA | BAR);
            let left = Place { max: self.left_max(first, name, op), closed, ..place };
            self.printer.work.push(Work::Term(first, left));
            return true;
        }
        if arity != 1 {
            return false;
        }
        if let Some(op) = self.ops.prefix(name)
            && !self.misread(name, first, op)
        {
            let place = self.parenthesis(op, place);
            self.atom(name);
            let text = self.atoms.text(name);
            if !is_bare_atom(text) || edge_class(text[0]) == b'a' {
                self.blank();
            }
            self.printer.after_prefix = self.printer.edge != b' ';
            let before = if self.is_word(name) { Before::Word } else { Before::Symbol };
            self.printer.work.push(Work::Term(first, Place { max: op.right, before, ..place }));
            return true;
        }
        if let Some(op) = self.ops.postfix(name) {
            // Before an operator the reader takes one that is infix, too, as that.
            let ambiguous = !place.closed && self.infix(name).is_some();
            let place = self.parenthesis(op, if ambiguous { Place { max: 0, ..place } } else { place });
            self.printer.work.push(Work::Postfix(name));
            let left = Place { max: self.left_max(first, name, op), closed: false, ..place };
            self.printer.work.push(Work::Term(first, left));
            return true;
        }
        false
    }

    /// Opens one where the operator needs it; answers where the term with the operator then stands.
    fn parenthesis(&mut self, op: Op, place: Place) -> Place {
        if op.priority <= place.max {
            return place;
        }
        self.open(b'(', b')');
        Place::TOP
    }
}

/// A whole term as `print` writes it; variables to be waited for show as `_`.
pub fn print_plain<V: TermView>(terms: &V, atoms: &AtomTable, term: V::Term) -> Vec<u8> {
    finish(Printer::plain(term), terms, atoms, &OpTable::default())
}

/// A whole term as `putt` writes it; variables to be waited for show as `_`.
pub fn print_readable<V: TermView>(terms: &V, atoms: &AtomTable, ops: &OpTable, term: V::Term) -> Vec<u8> {
    finish(Printer::readable(term), terms, atoms, ops)
}

/// A term as messages show it.
pub fn print_limited<V: TermView>(terms: &V, atoms: &AtomTable, term: V::Term, limits: Limits) -> String {
    String::from_utf8_lossy(&write_limited(terms, atoms, term, limits)).into_owned()
}

/// The same, with the bytes of atoms as they are.
pub fn write_limited<V: TermView>(terms: &V, atoms: &AtomTable, term: V::Term, limits: Limits) -> Vec<u8> {
    let mut printer = Printer::limited(term, limits);
    let mut out = vec![];
    let progress = printer.write(&NoWaiting(terms), atoms, &OpTable::default(), &mut out, limits.bytes);
    if !matches!(progress, Progress::Done) {
        out.extend(b"..");
    }
    out
}

fn finish<V: TermView>(
    mut printer: Printer<V::Term>,
    terms: &V,
    atoms: &AtomTable,
    ops: &OpTable,
) -> Vec<u8> {
    let mut out = vec![];
    let terms = NoWaiting(terms);
    while let Progress::Paused = printer.write(&terms, atoms, ops, &mut out, usize::MAX) {}
    out
}

/// Shows variables as `_` instead of waiting.
struct NoWaiting<'v, V>(&'v V);

impl<V: TermView> TermView for NoWaiting<'_, V> {
    type Term = V::Term;
    fn view(&self, term: V::Term) -> View<'_> {
        match self.0.view(term) {
            View::Wait => View::Variable("_".to_string()),
            view => view,
        }
    }
    fn argument(&self, term: V::Term, index: usize) -> V::Term {
        self.0.argument(term, index)
    }
    fn is_same(&self, a: V::Term, b: V::Term) -> bool {
        self.0.is_same(a, b)
    }
}
