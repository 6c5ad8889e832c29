//! The builtins of the runtime, by topic.
//!
//! For: the predicates of the standard library that are written in Rust.
//! It may know: terms, goals and its own worker.
//! It never: touches another worker, or tag bits.
//!
//! Invariants:
//! - N1 A builtin never panics, whatever terms it gets: a wrong type or range is `No` in a guard and an error
//!   elsewhere.
//! - N2 A builtin never waits: what is not there yet is `Outcome::Wait`.
//! - N3 No recursion on terms, and no loop over them that does not count its steps (L1 of `walk`).
//! - N4 What is made in a size that the program chooses, in the heap or beside it, is asked for with `ensure`.
//!
//! Each topic has a `NATIVES` table of rows (see [`Row`]). Absent on purpose: comparisons and arithmetic on small
//! integers, `wait` and one-argument type tests in guards (generated code does them itself).

mod atoms;
mod characters;
mod console;
mod floats;
mod formats;
mod functors;
mod generic;
mod http;
mod integers;
pub mod io;
mod json;
mod maps;
mod merge;
mod numbers;
mod ordering;
mod parts;
mod predicates;
mod random;
mod shoen;
mod sorting;
mod strings;
mod system;
mod tables;
mod terms_text;
mod timers;
mod variables;
mod vectors;

pub(crate) use io::serve::{PROCESS as STREAM_PROCESS, resumed as stream_resumed};
pub(crate) use merge::{PROCESS as MERGE_PROCESS, resumed as merge_resumed};

pub(crate) use shoen::{INSTEAD, MESSAGES};
pub(crate) use system::take_postmortem;

use crate::reports::outcome::{ErrorKind, ProgramError};
use crate::terms::View;
use crate::terms::walk::Stack;
use crate::worker::Worker;
use crate::worker::native::{Native, Outcome, Process, Run, Seat};
use syntax::lexer::TEXT_MAX;
use term::Word;
use term::abi::{Builtin, Place};
use term::layout;

/// All builtins, each with its signature and code.
pub fn natives() -> Vec<Native> {
    let tables: &[&[Row]] = &[
        integers::NATIVES,
        floats::NATIVES,
        vectors::NATIVES,
        strings::NATIVES,
        parts::NATIVES,
        characters::NATIVES,
        formats::NATIVES,
        maps::NATIVES,
        json::NATIVES,
        tables::NATIVES,
        http::NATIVES,
        functors::NATIVES,
        ordering::NATIVES,
        sorting::NATIVES,
        generic::NATIVES,
        predicates::NATIVES,
        merge::NATIVES,
        numbers::NATIVES,
        random::NATIVES,
        atoms::NATIVES,
        variables::NATIVES,
        terms_text::NATIVES,
        console::NATIVES,
        system::NATIVES,
        timers::NATIVES,
        shoen::NATIVES,
        io::requests::NATIVES,
        io::serve::NATIVES,
    ];
    let calls = predicates::calls();
    let count = tables.iter().map(|rows| rows.len()).sum::<usize>();
    let mut natives = Vec::with_capacity(count + calls.size_hint().0);
    tables.iter().for_each(|rows| natives.extend(rows.iter().map(Row::native)));
    natives.extend(calls);
    natives
}

/// One line of a topic's table.
pub(crate) struct Row {
    module: &'static str,
    name: &'static str,
    modes: &'static str,
    place: Place,
    daemon: bool,
    seat: Seat,
    run: Run,
    process: Option<Process>,
    walks: bool,
}

impl Row {
    fn native(&self) -> Native {
        Native {
            signature: Builtin {
                module: self.module.into(),
                name: self.name.into(),
                modes: self.modes.into(),
                place: self.place,
                daemon: self.daemon,
            },
            run: self.run,
            process: self.process,
            seat: self.seat,
            walks: self.walks,
        }
    }
}

const fn row(place: Place, module: &'static str, name: &'static str, modes: &'static str, run: Run) -> Row {
    Row { module, name, modes, place, daemon: false, seat: Seat::Any, run, process: None, walks: false }
}
/// A guard builtin.
const fn guard(module: &'static str, name: &'static str, modes: &'static str, run: Run) -> Row {
    row(Place::Guard, module, name, modes, run)
}
/// A body builtin.
const fn body(module: &'static str, name: &'static str, modes: &'static str, run: Run) -> Row {
    row(Place::Body, module, name, modes, run)
}
/// A body builtin that has to be called through its module's name.
const fn method(module: &'static str, name: &'static str, modes: &'static str, run: Run) -> Row {
    row(Place::Method, module, name, modes, run)
}
/// A predicate of a library module.
const fn goal(module: &'static str, name: &'static str, modes: &'static str, run: Run) -> Row {
    row(Place::Goal, module, name, modes, run)
}
/// A predicate whose goals may wait for ever.
const fn daemon(module: &'static str, name: &'static str, modes: &'static str, run: Run) -> Row {
    let mut row = goal(module, name, modes, run);
    row.daemon = true;
    row
}

/// A daemon whose goals wait for one thing after the other.
const fn process(
    module: &'static str,
    name: &'static str,
    modes: &'static str,
    run: Run,
    process: Process,
) -> Row {
    let mut row = daemon(module, name, modes, run);
    row.process = Some(process);
    row
}

/// The same builtin, which follows a list to the end.
const fn walker(row: Row) -> Row {
    Row { walks: true, ..row }
}
/// The same builtin where the outside world is.
const fn home(row: Row) -> Row {
    Row { seat: Seat::Home, ..row }
}
/// The same builtin where terms of other nodes are known.
const fn first(row: Row) -> Row {
    Row { seat: Seat::First, ..row }
}

// ---- answers ---------------------------------------------------------------------------------------

/// Yes or no.
fn decide(yes: bool) -> Outcome {
    if yes { Outcome::Done } else { Outcome::No }
}

/// An error of the program.
pub fn error<T>(kind: ErrorKind, message: impl Into<String>) -> Outcome<T> {
    Outcome::Error(ProgramError::new(kind, message))
}

/// What an argument is, which has a value from here on: it waits for that. Another worker may give it one at any
/// time, so a builtin that asks twice what it is may get two answers.
pub(crate) fn known(word: Word) -> Result<Word, Outcome> {
    let word = crate::terms::deref(word);
    if word.tag() == term::word::Tag::Ref { Err(Outcome::Wait(word)) } else { Ok(word) }
}

/// Argument `position` (from 1) is not what it must be; an unbound one is waited for.
pub(crate) fn wrong(worker: &Worker, position: usize, expected: &str, got: Word) -> Outcome {
    match worker.view(got) {
        View::Unbound(variable) => Outcome::Wait(variable),
        _ => error(
            ErrorKind::ArgumentType,
            format!("argument {position} must be {expected}, not {}", describe(worker, got)),
        ),
    }
}

/// A number is out of range.
pub fn out_of_range<T>(position: usize, expected: &str, got: impl std::fmt::Display) -> Outcome<T> {
    error(ErrorKind::Range, format!("argument {position} is out of range: it must be {expected}, not {got}"))
}

/// A term in a few words, for messages.
pub(crate) fn describe(worker: &Worker, word: Word) -> String {
    match worker.view(word) {
        View::Unbound(_) => "an unbound variable".into(),
        View::Int(value) => format!("the integer {value}"),
        View::Atom(atom) => format!("the atom {}", worker.atoms.name(atom)),
        View::Cons(..) => "a list".into(),
        View::Struct(name, arity) => format!("a structure {}/{arity}", worker.atoms.name(name)),
        View::Object(layout::BIGINT) => format!("the integer {}", worker.term_text(word)),
        View::Object(class) => format!("an object of class {}", worker.classes().get(class).name),
    }
}

/// Gives up the enclosing builtin with its answer when a part of it has no value.
macro_rules! attempt {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(outcome) => return outcome.into(),
        }
    };
}
use attempt;

/// A word's value if it is a small integer, and otherwise a number that is too low for every use.
#[inline(always)]
fn small_integer(word: Word) -> i64 {
    let word = crate::terms::deref(word);
    if word.tag() == term::word::Tag::Int { word.as_int() } else { i64::MIN }
}

/// A small integer in a range.
#[inline(always)]
pub(crate) fn index(worker: &Worker, position: usize, word: Word, below: usize) -> Result<usize, Outcome> {
    match usize::try_from(small_integer(word)) {
        Ok(index) if index < below => Ok(index),
        _ => other_index(worker, position, word, below),
    }
}
#[cold]
#[inline(never)]
fn other_index(worker: &Worker, position: usize, word: Word, below: usize) -> Result<usize, Outcome> {
    let value = integer(worker, position, word)?;
    match usize::try_from(value) {
        Ok(index) if index < below => Ok(index),
        _ if below == 0 => Err(out_of_range(position, "an index, but there are no elements", value)),
        _ => Err(out_of_range(position, &format!("0 to {}", below - 1), value)),
    }
}

/// An integer argument of 64 bits.
pub(crate) fn integer(worker: &Worker, position: usize, word: Word) -> Result<i64, Outcome> {
    let word = known(word)?;
    worker.small(word).ok_or_else(|| match worker.view(word) {
        View::Object(layout::BIGINT) => {
            out_of_range(position, "an integer of 64 bits at most", worker.term_text(word))
        }
        _ => wrong(worker, position, "an integer", word),
    })
}

/// A string argument.
fn bytes(worker: &Worker, position: usize, word: Word) -> Result<Vec<u8>, Outcome> {
    let word = known(word)?;
    worker.string_bytes(word).ok_or_else(|| wrong(worker, position, "a string", word))
}

/// Longer strings take memory of their own on their way.
const FEW_BYTES: usize = 128;

/// What `then` makes of the bytes of a string argument.
fn with_bytes<R>(
    worker: &mut Worker,
    position: usize,
    word: Word,
    then: impl FnOnce(&mut Worker, &[u8]) -> R,
) -> Result<R, Outcome> {
    let mut few = [0; FEW_BYTES];
    if let Some(length) = worker.copy_string(word, &mut few) {
        return Ok(then(worker, &few[..length]));
    }
    let bytes = bytes(worker, position, word)?;
    Ok(then(worker, &bytes))
}

/// The elements of a list that is complete so far as needed; waits for an unbound tail.
pub(crate) fn list_items(worker: &Worker, position: usize, word: Word) -> Result<Vec<Word>, Outcome> {
    let mut items = Stack::new();
    let mut rest = word;
    loop {
        items.count(worker)?;
        rest = known(rest)?;
        match worker.view(rest) {
            View::Cons(car, cdr) => {
                items.push(car);
                rest = cdr;
            }
            View::Atom(term::symbol::NIL) => return Ok(items.into_items()),
            _ => return Err(wrong(worker, position, "a list", rest)),
        }
    }
}

/// The number of elements of a list that is complete, or one more than `most`; waits for an unbound tail.
fn list_length(worker: &Worker, position: usize, word: Word, most: usize) -> Result<usize, Outcome> {
    let mut steps = Stack::<()>::new();
    let (mut length, mut rest) = (0, known(word)?);
    while rest.tag() == term::word::Tag::Cons {
        if length > most {
            return Ok(length);
        }
        steps.count(worker)?;
        length += 1;
        rest = known(crate::terms::cell(rest.address() + 8))?;
    }
    if rest == Word::NIL { Ok(length) } else { Err(wrong(worker, position, "a list", rest)) }
}

/// Words that reading takes per byte of text, about: for tokens, their tree, and the term.
const WORDS_PER_BYTE: usize = 4;

/// Whether a text of this length may be read.
fn ensure_readable(worker: &mut Worker, length: usize) -> Result<(), Outcome> {
    if length > TEXT_MAX {
        return Err(error(ErrorKind::Range, format!("the text of a term is longer than {TEXT_MAX} bytes")));
    }
    Ok(worker.ensure(WORDS_PER_BYTE * length)?)
}

#[cfg(test)]
mod large_tests;
#[cfg(test)]
mod round_trip_tests;
#[cfg(test)]
pub(crate) mod tests;
