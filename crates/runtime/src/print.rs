//! Terms and goals as text for messages: cut off in depth and length, so that the text of any term is short.

use crate::memory::read;
use crate::terms::{View, deref};
use crate::worker::Worker;
use std::fmt::Write as _;
use term::abi::PredicateId;
use term::{Atom, Word, layout, word};

/// How deep and how long terms are shown (a list's elements count as one level).
const DEPTH: usize = 6;
const LENGTH: usize = 12;
const STRING_BYTES: usize = 200;

/// Names variables `_1`, `_2` in order of appearance.
#[derive(Default)]
pub(crate) struct Names {
    cells: Vec<usize>,
}

impl Names {
    /// The name of an unbound variable.
    pub(crate) fn name(&mut self, variable: Word) -> String {
        let cell = variable.address();
        let index = self.cells.iter().position(|&known| known == cell).unwrap_or_else(|| {
            self.cells.push(cell);
            self.cells.len() - 1
        });
        format!("_{}", index + 1)
    }
}

impl Worker {
    /// A term as text, cut off when it is deep or long.
    pub fn term_text(&self, term: Word) -> String {
        let mut text = String::new();
        self.write_term(&mut text, &mut Names::default(), term, DEPTH);
        text
    }
    /// A goal as text: `module:name(arguments)`.
    pub(crate) fn goal_text(&self, names: &mut Names, predicate: PredicateId, args: &[Word]) -> String {
        let info = self.predicates.get(predicate);
        let mut text = String::new();
        self.write_atom(&mut text, info.module);
        text.push(':');
        if info.auxiliary {
            text.push_str(&self.atoms.name(info.name));
        } else {
            self.write_atom(&mut text, info.name);
        }
        if !args.is_empty() {
            text.push('(');
            for (i, &arg) in args.iter().enumerate() {
                if i > 0 {
                    text.push(',');
                }
                self.write_term(&mut text, names, arg, DEPTH - 1);
            }
            text.push(')');
        }
        text
    }

    /// Recursion is bounded by `depth`.
    fn write_term(&self, text: &mut String, names: &mut Names, term: Word, depth: usize) {
        if depth == 0 && !deref(term).is_immediate() {
            return text.push_str("..");
        }
        match self.view(term) {
            View::Unbound(variable) => text.push_str(&names.name(variable)),
            View::Int(value) => {
                let _ = write!(text, "{value}");
            }
            View::Atom(atom) => self.write_atom(text, atom),
            View::Cons(..) => self.write_list(text, names, term, depth),
            View::Struct(name, arity) => {
                self.write_atom(text, name);
                let args = (0..arity.min(LENGTH)).map(|i| self.arg(term, i));
                self.write_items(text, names, args, arity, ("(", ")"), depth);
            }
            View::Object(layout::VECTOR) => {
                let length = self.vector_length(term).expect("class tested");
                let elements = (0..length.min(LENGTH)).map(|i| self.vector_element(term, i));
                self.write_items(text, names, elements, length, ("{", "}"), depth);
            }
            View::Object(class) => self.write_object(text, term, class),
        }
    }
    fn write_items(
        &self,
        text: &mut String,
        names: &mut Names,
        items: impl Iterator<Item = Word>,
        length: usize,
        (open, close): (&str, &str),
        depth: usize,
    ) {
        text.push_str(open);
        for (i, item) in items.enumerate() {
            if i > 0 {
                text.push(',');
            }
            self.write_term(text, names, item, depth - 1);
        }
        if length > LENGTH {
            text.push_str(",..");
        }
        text.push_str(close);
    }
    fn write_list(&self, text: &mut String, names: &mut Names, mut term: Word, depth: usize) {
        text.push('[');
        for i in 0.. {
            let View::Cons(car, cdr) = self.view(term) else {
                unreachable!("the loop goes on at a cons only")
            };
            if i == LENGTH {
                text.push_str("..");
                break;
            }
            self.write_term(text, names, car, depth - 1);
            term = deref(cdr);
            match self.view(term) {
                View::Cons(..) => text.push(','),
                View::Atom(term::symbol::NIL) => break,
                _ => {
                    text.push('|');
                    self.write_term(text, names, term, depth - 1);
                    break;
                }
            }
        }
        text.push(']');
    }
    fn write_object(&self, text: &mut String, term: Word, class: layout::ClassId) {
        let term = deref(term);
        match class {
            layout::STRING => {
                let mut bytes = self.string_bytes(term).expect("class tested");
                let cut = bytes.len() > STRING_BYTES;
                bytes.truncate(STRING_BYTES);
                let _ = write!(text, "{:?}", String::from_utf8_lossy(&bytes));
                if cut {
                    text.push_str("..");
                }
            }
            layout::FLOAT => {
                let _ = write!(text, "{:?}", self.float_value(term).expect("class tested"));
            }
            layout::BIGINT => {
                let _ = write!(text, "{}", self.big(term).expect("class tested"));
            }
            layout::PREDICATE => {
                let info = self.predicates.get(self.predicate_value(term).expect("class tested"));
                text.push_str("predicate#(");
                self.write_atom(text, info.module);
                text.push(':');
                self.write_atom(text, info.name);
                let _ = write!(text, "/{})", info.arity);
            }
            layout::MODULE => {
                text.push_str("module#");
                self.write_atom(text, self.module_value(term).expect("class tested"));
            }
            _ => {
                let _ =
                    write!(text, "#<{}>", self.classes.get(word::header_class(read(term.address()))).name);
            }
        }
    }
    fn write_atom(&self, text: &mut String, atom: Atom) {
        let name = self.atoms.name(atom);
        let first = name.chars().next();
        let word =
            first.is_some_and(char::is_lowercase) && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        let symbol =
            !name.is_empty() && name != "." && name.chars().all(|c| "+-*/\\^<>=~:?@#$&.".contains(c));
        if word || symbol || matches!(&*name, "[]" | "!" | ";" | "{}") {
            text.push_str(&name);
        } else {
            let _ = write!(text, "'{}'", name.replace('\'', "''"));
        }
    }
}
