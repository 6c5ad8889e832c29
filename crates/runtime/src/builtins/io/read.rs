//! `gett`: terms from the bytes of a stream; and the operators of a stream.

use super::buffers::Ready;
use super::events;
use super::streams::{Step, step};
use crate::builtins::{ensure_readable, error, known, out_of_range, wrong};
use crate::reports::outcome::{ErrorKind, ProgramError};
use crate::terms::print;
use crate::worker::Worker;
use crate::worker::native::Outcome;
use syntax::lexer::{Scanned, TermScanner, has_end};
use syntax::operators::{OpTable, OpType, PRIORITY_MAX};
use syntax::parser::SyntaxError;
use syntax::tree::{Children, NodeKind, Tree};
use term::symbol::{END_OF_FILE, NORMAL};
use term::{Atom, Word};

/// Handles `gett(T)`, or with `wrapped` `getwt(R)`. A syntax error is reported, and the next term read.
pub(super) fn get_term(worker: &mut Worker, place: usize, answer: Word, wrapped: bool) -> Step {
    loop {
        let text = match next_text(worker, place) {
            Ok(text) => text,
            Err(step) => return step,
        };
        let Some(text) = text else { return answer_term(worker, answer, None, wrapped) };
        step!(ensure_readable(worker, text.len()));
        let ops = take_ops(worker, place);
        let parsed = syntax::parse_term(&text, &ops, &worker.atoms);
        give_ops(worker, place, ops);
        match parsed {
            Ok(Some(tree)) => return answer_term(worker, answer, Some(&tree), wrapped),
            Ok(None) => {}
            Err(error) => {
                if let Err(step) = report(worker, place, &text, &error) {
                    return step;
                }
            }
        }
    }
}

/// The text of the next term; `None` at the end.
fn next_text(worker: &mut Worker, place: usize) -> Result<Option<Vec<u8>>, Step> {
    let io = worker.io();
    let Some(stream) = io.streams.get_mut(place) else { return Err(Step::Unknown) };
    let mut scanner = std::mem::take(&mut stream.scanner);
    let number = stream.input;
    let mut known = 0;
    let (later, found) = loop {
        worker.may_go_on(known)?;
        let Some(file) = worker.io().file(number) else { return Err(Step::Unknown) };
        match file.peek_more(known) {
            Err(error) => return Err(Step::from(error)),
            Ok(Ready::Later(fd, direction)) => break (Some((fd, direction)), None),
            Ok(Ready::Now(bytes)) => {
                let ended = bytes.len() <= known;
                match scanner.scan(bytes, ended) {
                    Scanned::Term(count) => break (None, Some(count)),
                    Scanned::EndOfInput => break (None, None),
                    Scanned::NeedMore => known = bytes.len(),
                }
            }
        }
    };
    let io = worker.io();
    if let Some((fd, direction)) = later {
        if let Some(stream) = io.streams.get_mut(place) {
            stream.scanner = scanner;
        }
        return Err(Step::Wait(events::when_ready(worker, fd, direction)));
    }
    let text = found.zip(io.file(number)).map(|(count, file)| file.take(count));
    if let Some(stream) = io.streams.get_mut(place) {
        stream.scanner = TermScanner::new();
    }
    Ok(text)
}

fn answer_term(worker: &mut Worker, answer: Word, tree: Option<&Tree>, wrapped: bool) -> Step {
    let mut term = match tree {
        None => Word::atom(END_OF_FILE),
        Some(tree) => build(worker, tree, wrapped),
    };
    if wrapped {
        term = worker.structure(NORMAL, &[term]);
    }
    worker.answer(worker.system_goals.stream, answer, term);
    Step::Done
}

/// A parsed term on the heap: equal names are one variable. Wrapped, every part says what it is, and variables are
/// their names.
pub(in crate::builtins) fn build(worker: &mut Worker, tree: &Tree, wrapped: bool) -> Word {
    let variables: Vec<Word> = match wrapped {
        true => tree.variables().iter().map(|variable| worker.string(&variable.name)).collect(),
        false => tree.variables().iter().map(|_| worker.new_variable()).collect(),
    };
    let wrap = |worker: &mut Worker, name: &str, word: Word| match wrapped {
        true => super::requests::reply(worker, name, &[word]),
        false => word,
    };
    let mut words: Vec<Word> = Vec::with_capacity(tree.nodes().len());
    for node in tree.nodes() {
        let of = |range: &Children| -> Vec<Word> {
            tree.children(*range).iter().map(|id| words[id.0 as usize]).collect()
        };
        let (name, word) = match &node.kind {
            NodeKind::Var(index) => ("variable", variables[*index as usize]),
            NodeKind::Int(value) => ("integer", worker.int(*value)),
            NodeKind::BigInt(value) => ("integer", worker.integer(value)),
            NodeKind::Float(value) => ("floating_point", worker.float(*value)),
            NodeKind::Atom(atom) => ("atom", Word::atom(*atom)),
            NodeKind::String(bytes) => ("string", worker.string(bytes)),
            NodeKind::List(children) => {
                let items = of(children);
                let (tail, items) = items.split_last().expect("a list has items and a tail");
                ("list", list(worker, items, *tail, wrapped))
            }
            NodeKind::Struct(name, children) => ("functor", worker.structure(*name, &of(children))),
            NodeKind::Vector(children) => ("vector", worker.vector(&of(children))),
        };
        let word = wrap(worker, name, word);
        words.push(word);
    }
    words[tree.root().0 as usize]
}

/// A list; the rests of a wrapped one are wrapped too (the first cell is left to the caller).
fn list(worker: &mut Worker, items: &[Word], tail: Word, wrapped: bool) -> Word {
    let mut list = tail;
    for (i, &item) in items.iter().enumerate().rev() {
        list = worker.cons(item, list);
        if wrapped && i > 0 {
            list = super::requests::reply(worker, "list", &[list]);
        }
    }
    list
}

/// Says on standard error what is wrong with a term. With `on_error(N)`, N < 0, it ends the program; so does a last
/// term without its point, for all that the program would see is the end of the file. Not of a string, which the
/// program has made itself, nor after `on_error(0)`.
fn report(worker: &mut Worker, place: usize, text: &[u8], error: &SyntaxError) -> Result<(), Step> {
    let io = worker.io();
    let on_error = io.streams.get_mut(place).and_then(|stream| stream.on_error);
    let number = io.streams.get_mut(place).map_or(0, |stream| stream.input);
    let (lines, string) = io.file(number).map_or((0, true), |file| (file.line_count(), file.is_string()));
    super::print_error(worker, &error.report(text, lines)).map_err(Step::from)?;
    match on_error {
        Some(status) if status < 0 => {
            worker.exit((status & 0xff) as i32);
            // The rest of the stream is not served any more.
            let never = worker.new_variable();
            Err(Step::Wait(never))
        }
        None if !string && !has_end(text) => Err(crate::builtins::error(ErrorKind::Other, UNFINISHED).into()),
        _ => Ok(()),
    }
}

/// Why a program ends.
const UNFINISHED: &str = "the input ends within a term: each term ends with `.` and a blank or a new line";

// ---- operators -------------------------------------------------------------------------------------

/// The operators of a stream, taken out so that the worker can be used meanwhile.
fn take_ops(worker: &mut Worker, place: usize) -> Box<OpTable> {
    let stream = worker.io().streams.get_mut(place);
    match stream.and_then(|stream| stream.ops.take()) {
        Some(ops) => ops,
        None => Box::new(OpTable::default_table(&worker.atoms)),
    }
}

fn give_ops(worker: &mut Worker, place: usize, ops: Box<OpTable>) {
    if let Some(stream) = worker.io().streams.get_mut(place) {
        stream.ops = Some(ops);
    }
}

fn operator(worker: &Worker, op: Word, kind: Word) -> Result<(Atom, OpType), Step> {
    let (op, kind) = (known(op)?, known(kind)?);
    let Some(atom) = worker.atom_value(op) else { return Err(wrong(worker, 1, "an atom", op).into()) };
    let Some(name) = worker.atom_value(kind) else { return Err(wrong(worker, 2, "an atom", kind).into()) };
    match OpType::from_name(worker.atoms.text(name)) {
        Some(kind) => Ok((atom, kind)),
        None => {
            let message = format!(
                "an operator's type is fx, fy, xfx, xfy, yfx, xf or yf, not {}",
                worker.atoms.name(name)
            );
            Err(error(ErrorKind::ArgumentType, message).into())
        }
    }
}

/// `addop(Op,Type,Priority)`.
pub(super) fn add_operator(worker: &mut Worker, place: usize, [op, kind, priority]: [Word; 3]) -> Step {
    let (atom, kind) = match operator(worker, op, kind) {
        Ok(found) => found,
        Err(step) => return step,
    };
    let priority = step!(crate::builtins::integer(worker, 3, priority));
    let Some(priority) = u16::try_from(priority).ok().filter(|p| (1..=PRIORITY_MAX).contains(p)) else {
        return out_of_range(3, &format!("1 to {PRIORITY_MAX}"), priority).into();
    };
    let mut ops = take_ops(worker, place);
    ops.add(atom, kind, priority);
    give_ops(worker, place, ops);
    Step::Done
}

/// `rmop(Op,Type)`.
pub(super) fn remove_operator(worker: &mut Worker, place: usize, op: Word, kind: Word) -> Step {
    let (atom, kind) = match operator(worker, op, kind) {
        Ok(found) => found,
        Err(step) => return step,
    };
    let mut ops = take_ops(worker, place);
    ops.remove(atom, kind);
    give_ops(worker, place, ops);
    Step::Done
}

/// `default_operator_table(Ops)`: a list of `op(Name,Type,Priority)`.
pub(in crate::builtins) fn default_operators(
    worker: &mut Worker,
    _: &[Word],
    outputs: &mut [Word],
) -> Outcome {
    let mut items = Vec::new();
    for (kind, priority, name) in syntax::operators::default_operators() {
        let (name, kind) = (worker.intern(name), worker.intern(kind.name()));
        let args = [Word::atom(name), Word::atom(kind), Word::small(priority.into())];
        items.push(super::requests::reply(worker, "op", &args));
    }
    outputs[0] = worker.list(&items, Word::NIL);
    Outcome::Done
}

/// A ground term as `putt` writes it, or `putwt` the term that it wraps.
pub(super) fn unparse(
    worker: &mut Worker,
    place: usize,
    term: Word,
    wrapped: bool,
) -> Result<Vec<u8>, Box<ProgramError>> {
    let ops = take_ops(worker, place);
    let text = match wrapped {
        false => print::readable(worker, &ops, term),
        true => print::wrapped(worker, &ops, term),
    };
    give_ops(worker, place, ops);
    text
}
