//! Terms of the heap for the printer of `syntax`.

use crate::terms;
use crate::worker::Worker;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::cell::RefCell;
use syntax::operators::OpTable;
use syntax::print::{TermView, View};
use syntax::views::WrappedView;
use term::Word;
use term::layout::{BIGINT, FLOAT, STRING, VECTOR};

/// Shows terms; unbound variables are `_1`, `_2` in order of appearance.
struct Terms<'w> {
    worker: &'w Worker,
    names: RefCell<FxHashMap<u64, usize>>,
}

impl Terms<'_> {
    fn object(&self, class: term::layout::ClassId, term: Word) -> View<'_> {
        let worker = self.worker;
        match class {
            VECTOR => View::Vector(worker.vector_length(term).unwrap_or(0)),
            STRING => View::String(Cow::Owned(worker.string_bytes(term).unwrap_or_default())),
            FLOAT => View::Float(worker.float_value(term).unwrap_or(0.0)),
            BIGINT => View::BigInt(worker.big(term).unwrap_or_default().to_string()),
            _ => {
                if let Some(name) = worker.module_value(term) {
                    View::Other(format!("module#{}", worker.atoms.name(name)))
                } else if let Some(id) = worker.predicate_value(term) {
                    let info = worker.predicates.get(id);
                    let (module, name) = (worker.atoms.name(info.module), worker.atoms.name(info.name));
                    View::Other(format!("predicate#({module}:{name}/{})", info.arity))
                } else {
                    View::Other(format!("<{}>", worker.classes().get(class).name))
                }
            }
        }
    }
}

impl TermView for Terms<'_> {
    type Term = Word;
    fn view(&self, term: Word) -> View<'_> {
        match self.worker.view(term) {
            terms::View::Unbound(variable) => {
                let mut names = self.names.borrow_mut();
                let next = names.len() + 1;
                View::Variable(format!("_{}", names.entry(variable.0).or_insert(next)))
            }
            terms::View::Int(value) => View::Int(value),
            terms::View::Atom(atom) => View::Atom(atom),
            terms::View::Cons(..) => View::Cons,
            terms::View::Struct(name, arity) => View::Struct(name, arity),
            terms::View::Object(class) => self.object(class, term),
        }
    }
    fn argument(&self, term: Word, index: usize) -> Word {
        match self.worker.view(term) {
            terms::View::Object(_) => self.worker.vector_element(term, index),
            _ => self.worker.arg(term, index),
        }
    }
}

fn terms(worker: &Worker) -> Terms<'_> {
    Terms { worker, names: RefCell::default() }
}

/// As `print` writes it.
pub(crate) fn print(worker: &Worker, term: Word) -> Vec<u8> {
    syntax::print::print_plain(&terms(worker), &worker.atoms, term)
}

/// As `putt` writes it.
pub(crate) fn readable(worker: &Worker, ops: &OpTable, term: Word) -> Vec<u8> {
    syntax::print::print_readable(&terms(worker), &worker.atoms, ops, term)
}

/// As `putwt` writes a wrapped term.
pub(crate) fn wrapped(worker: &Worker, ops: &OpTable, term: Word) -> Vec<u8> {
    let terms = terms(worker);
    let view = WrappedView::new(&terms, &worker.atoms);
    syntax::print::print_readable(&view, &worker.atoms, ops, term)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtins::tests::worker;

    #[test]
    fn terms_are_written_in_canonical_form() {
        let worker = worker();
        let (a, b) = (worker.new_variable(), worker.new_variable());
        let name = worker.intern(":-");
        let string = worker.string(b"a\"\n\\\xe9");
        let float = worker.float(-1.5);
        let vector = worker.vector(&[Word::small(-3), b]);
        let inner = worker.list(&[a, b], a);
        let list = worker.list(&[inner, string, float, vector], Word::NIL);
        let term = worker.structure(name, &[list, Word::NIL]);
        let text = String::from_utf8(print(worker, term)).expect("ASCII");
        assert_eq!(text, r#":-([[_1,_2|_1],"a\"\012\\\351",-1.500000,{-3,_2}],[])"#);
    }

    #[test]
    fn operators_and_quotes_make_terms_readable() {
        let worker = worker();
        let ops = OpTable::default_table(&mut worker.atoms);
        let (minus, upper) = (worker.intern("-"), worker.intern("A"));
        let inner = worker.structure(minus, &[Word::small(2), Word::atom(upper)]);
        let term = worker.structure(minus, &[Word::small(1), inner]);
        assert_eq!(String::from_utf8(readable(worker, &ops, term)), Ok("1-(2-'A')".into()));
        let (functor, integer) = (worker.intern("functor"), worker.intern("integer"));
        let one = worker.structure(integer, &[Word::small(1)]);
        let inner = worker.structure(minus, &[one, one]);
        let term = worker.structure(functor, &[inner]);
        assert_eq!(String::from_utf8(wrapped(worker, &ops, term)), Ok("1-1".into()));
    }

    #[test]
    fn a_deep_term_needs_no_stack() {
        let worker = worker();
        let name = worker.intern("s");
        let deep = (0..200_000).fold(Word::small(0), |term, _| worker.structure(name, &[term]));
        assert_eq!(print(worker, deep).len(), 3 * 200_000 + 1);
    }
}
