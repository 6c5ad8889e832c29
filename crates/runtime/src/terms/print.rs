//! Terms and goals as text, by the printer of `syntax`: whole, as builtins write them; and cut off in depth and
//! length, so that what messages show of any term is short.

use crate::reports::outcome::{ArgumentText, ErrorKind, GoalText, ProgramError};
use crate::terms;
use crate::terms::deref;
use crate::terms::walk::{STEPS, interrupted};
use crate::worker::Worker;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use syntax::format::write_atom;
use syntax::operators::OpTable;
use syntax::print::{Limits, Printer, Progress, TermView, View, print_limited, write_limited};
use syntax::views::WrappedView;
use term::abi::PredicateId;
use term::layout::{self, BIGINT, FLOAT, STRING, VECTOR};
use term::{Atom, Word};

/// How much of an argument a message shows (a list's elements count as one level).
const ARGUMENT: Limits = Limits { depth: 5, length: 12, bytes: 2000 };
/// How much of an item of an argument.
const ITEM: Limits = Limits { depth: ARGUMENT.depth - 1, ..ARGUMENT };
/// How much of a term.
const TERM: Limits = Limits { depth: 6, ..ARGUMENT };
/// Integers of more bits are not written out in messages: that takes time that grows with the square of their length.
const MESSAGE_BITS: u64 = 1 << 12;
/// Bytes that are written before the worker is asked whether it may go on.
const PIECE_BYTES: usize = 1 << 20;

/// Names variables `_1`, `_2` in order of appearance.
#[derive(Default)]
pub(crate) struct Names {
    /// Of variables, by address: their numbers, and themselves.
    pub(super) numbers: FxHashMap<usize, (usize, Word)>,
    /// The last number.
    pub(super) last: usize,
}

impl Names {
    /// The name of an unbound variable.
    pub(crate) fn name(&mut self, variable: Word) -> String {
        let last = &mut self.last;
        let (number, _) = self.numbers.entry(variable.address()).or_insert_with(|| {
            *last += 1;
            (*last, variable)
        });
        format!("_{number}")
    }
}

/// Shows terms to the printer. After an interrupt everything is shown as something to be waited for, so that the
/// printer stops.
struct Terms<'w> {
    worker: &'w Worker,
    names: RefCell<&'w mut Names>,
    message: bool,
    steps: Cell<usize>,
}

impl<'w> Terms<'w> {
    fn new(worker: &'w Worker, names: &'w mut Names) -> Terms<'w> {
        Terms { worker, names: RefCell::new(names), message: false, steps: Cell::new(0) }
    }
    fn object(&self, class: layout::ClassId, term: Word) -> View<'_> {
        let worker = self.worker;
        match class {
            VECTOR => View::Vector(worker.vector_length(term).unwrap_or(0)),
            STRING => View::String(Cow::Owned(worker.string_bytes(term).unwrap_or_default())),
            FLOAT => View::Float(worker.float_value(term).unwrap_or(0.0)),
            BIGINT => {
                let value = worker.big(term).unwrap_or_default();
                match value.bits() {
                    bits if self.message && bits > MESSAGE_BITS => {
                        View::Other(format!("#<an integer of {bits} bits>"))
                    }
                    _ if self.message => View::BigInt(value.to_string()),
                    _ => worker.digits(&value).map_or(View::Wait, View::BigInt),
                }
            }
            _ => {
                if let Some(name) = worker.module_value(term) {
                    View::Other(format!("module#{}", worker.atoms.name(name)))
                } else if let Some(id) = worker.predicate_value(term) {
                    let info = worker.predicates.get(id);
                    let (module, name) = (worker.atoms.name(info.module), worker.atoms.name(info.name));
                    View::Other(format!("predicate#({module}:{name}/{})", info.arity))
                } else if self.message {
                    View::Other(format!("#<{}>", worker.classes().get(class).name))
                } else {
                    View::Other(format!("<{}>", worker.classes().get(class).name))
                }
            }
        }
    }
    fn stopped(&self) -> bool {
        let steps = self.steps.get() + 1;
        self.steps.set(steps);
        steps >= STEPS && {
            let stopped = !self.message && self.worker.is_interrupted();
            self.steps.set(if stopped { STEPS } else { 0 });
            stopped
        }
    }
}

impl TermView for Terms<'_> {
    type Term = Word;
    fn view(&self, term: Word) -> View<'_> {
        if self.stopped() {
            return View::Wait;
        }
        match self.worker.view(term) {
            terms::View::Unbound(variable) => View::Variable(self.names.borrow_mut().name(variable)),
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
    fn is_same(&self, a: Word, b: Word) -> bool {
        deref(a) == deref(b)
    }
}

/// A whole text; the error is that of L1.
type Text = Result<Vec<u8>, Box<ProgramError>>;

fn write(
    worker: &Worker,
    view: &impl TermView<Term = Word>,
    ops: &OpTable,
    mut printer: Printer<Word>,
) -> Text {
    let mut text = Vec::new();
    loop {
        let enough = text.len() + PIECE_BYTES;
        match printer.write(view, &worker.atoms, ops, &mut text, enough) {
            Progress::Done => return Ok(text),
            Progress::Paused => worker.may_go_on(text.capacity() + printer.bytes())?,
            Progress::Blocked(_) => return Err(interrupted()),
            Progress::Endless => {
                let message = "the term contains itself, so its text has no end";
                return Err(ProgramError::new(ErrorKind::Other, message));
            }
        }
    }
}

/// As `print` writes it.
pub(crate) fn plain(worker: &Worker, term: Word) -> Text {
    write(worker, &Terms::new(worker, &mut Names::default()), &OpTable::default(), Printer::plain(term))
}

/// As `putt` writes it.
pub(crate) fn readable(worker: &Worker, ops: &OpTable, term: Word) -> Text {
    write(worker, &Terms::new(worker, &mut Names::default()), ops, Printer::readable(term))
}

/// In JSON; the inner error is the first part that JSON has no text for.
pub(crate) fn json(worker: &Worker, term: Word) -> Result<Result<Vec<u8>, Word>, Box<ProgramError>> {
    let (mut names, mut text) = (Names::default(), Vec::new());
    let terms = Terms::new(worker, &mut names);
    let mut writer = syntax::json::Writer::new(term);
    loop {
        let enough = text.len() + PIECE_BYTES;
        match writer.write(&terms, &worker.atoms, &mut text, enough) {
            syntax::json::Progress::Done => return Ok(Ok(text)),
            syntax::json::Progress::Paused => worker.may_go_on(text.capacity() + writer.bytes())?,
            syntax::json::Progress::Wrong(_) if worker.is_interrupted() => return Err(interrupted()),
            syntax::json::Progress::Wrong(part) => return Ok(Err(part)),
        }
    }
}

/// As `putwt` writes a wrapped term.
pub(crate) fn wrapped(worker: &Worker, ops: &OpTable, term: Word) -> Text {
    let mut names = Names::default();
    let terms = Terms::new(worker, &mut names);
    write(worker, &WrappedView::new(&terms, &worker.atoms), ops, Printer::readable(term))
}

impl Worker {
    /// A term as text, cut off when it is deep or long.
    pub(crate) fn term_text(&self, term: Word) -> String {
        self.limited(&mut Names::default(), term, TERM)
    }
    /// The same, with these names, as bytes.
    pub(super) fn term_bytes(&self, names: &mut Names, term: Word) -> Vec<u8> {
        let terms = Terms { message: true, ..Terms::new(self, names) };
        write_limited(&terms, &self.atoms, term, TERM)
    }
    fn limited(&self, names: &mut Names, term: Word, limits: Limits) -> String {
        let terms = Terms { message: true, ..Terms::new(self, names) };
        print_limited(&terms, &self.atoms, term, limits)
    }
    /// A goal as people see it.
    pub(crate) fn goal_text(&self, names: &mut Names, predicate: PredicateId, args: &[Word]) -> GoalText {
        let info = self.predicates.get(predicate);
        let name = self.atoms.name(info.name);
        let shown = if info.auxiliary { name.to_string() } else { self.atom_text(info.name) };
        let mut text = format!("{}:{shown}", self.atom_text(info.module));
        let mut arguments = Vec::with_capacity(args.len());
        for (i, &arg) in args.iter().enumerate() {
            text.push(if i == 0 { '(' } else { ',' });
            let argument = self.argument_text(names, arg);
            text += &argument.text;
            arguments.push(argument);
        }
        if !args.is_empty() {
            text.push(')');
        }
        GoalText { text, module: self.atoms.name(info.module).into(), name: name.into(), arguments }
    }
    fn argument_text(&self, names: &mut Names, argument: Word) -> ArgumentText {
        let text = self.limited(names, argument, ARGUMENT);
        let first = match self.view(deref(argument)) {
            terms::View::Cons(item, _) => Some(self.limited(names, item, ITEM)),
            _ => None,
        };
        ArgumentText { text, first }
    }
    fn atom_text(&self, atom: Atom) -> String {
        let mut text = Vec::new();
        write_atom(self.atoms.text(atom), &mut text);
        String::from_utf8_lossy(&text).into_owned()
    }
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
        let text = String::from_utf8(plain(worker, term).expect("it is finite")).expect("ASCII");
        assert_eq!(text, r#":-([[_1,_2|_1],"a\"\012\\\351",-1.500000,{-3,_2}],[])"#);
    }

    #[test]
    fn operators_and_quotes_make_terms_readable() {
        let worker = worker();
        let ops = OpTable::default_table(&worker.atoms);
        let (minus, upper) = (worker.intern("-"), worker.intern("A"));
        let inner = worker.structure(minus, &[Word::small(2), Word::atom(upper)]);
        let term = worker.structure(minus, &[Word::small(1), inner]);
        assert_eq!(
            String::from_utf8(readable(worker, &ops, term).expect("it is finite")),
            Ok("1-(2-'A')".into())
        );
        let (functor, integer) = (worker.intern("functor"), worker.intern("integer"));
        let one = worker.structure(integer, &[Word::small(1)]);
        let inner = worker.structure(minus, &[one, one]);
        let term = worker.structure(functor, &[inner]);
        assert_eq!(String::from_utf8(wrapped(worker, &ops, term).expect("it is finite")), Ok("1-1".into()));
    }

    #[test]
    fn a_term_that_contains_itself_is_refused_before_much_is_written() {
        let worker = worker();
        let ops = OpTable::default_table(&worker.atoms);
        let (plus, minus) = (worker.intern("+"), worker.intern("-"));
        let many = worker.list(&[Word::small(1); 300], Word::NIL);
        type Make = fn(&mut Worker, Word, Word, Atom) -> Word;
        let make: [Make; 5] = [
            |w, x, _, _| w.list(&[Word::small(1), Word::small(2)], x),
            |w, x, many, _| w.cons(x, many),
            |w, x, many, _| w.list(&[many, many, many], x),
            |w, x, many, plus| w.structure(plus, &[x, many]),
            |w, x, many, _| w.vector(&[many, x, many]),
        ];
        for make in make {
            let variable = worker.new_variable();
            let term = make(worker, variable, many, plus);
            worker.unify(variable, term);
            let inside = worker.structure(minus, &[term]);
            for term in [term, inside] {
                for text in [plain(worker, term), readable(worker, &ops, term)] {
                    assert!(text.expect_err("it is endless").message.contains("contains itself"));
                }
            }
        }
        // Parts that occur again and again are no circle.
        let mut term = many;
        for _ in 0..8 {
            term = worker.list(&[term, term, Word::NIL], term);
        }
        assert!(plain(worker, term).is_ok() && readable(worker, &ops, term).is_ok());
    }

    #[test]
    fn a_deep_term_needs_no_stack() {
        let worker = worker();
        worker.heap.spaces.set_bytes_max(1 << 30);
        let name = worker.intern("s");
        let deep = (0..10_000_000).fold(Word::small(0), |term, _| worker.structure(name, &[term]));
        assert_eq!(plain(worker, deep).expect("it is finite").len(), 3 * 10_000_000 + 1);
    }
}
