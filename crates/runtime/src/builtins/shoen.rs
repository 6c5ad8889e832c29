//! Module `shoen_control`: shoens, for the library's `shoen`. What they are says `goals::shoen`.
//!
//! | goal                      | what it does                                                                     |
//! |---------------------------|----------------------------------------------------------------------------------|
//! | `new(Kinds,N,Es)`         | a new shoen: its number, and the list of what happens in it                      |
//! | `run(N,Goal)`             | its goal: whoever reads the list waits for it by then                            |
//! | `tell(N,What)`            | `abort`                                                                          |
//! | `instead(Goal)`           | becomes the goal, when that is known                                             |
//!
//! `Kinds` is `all`, or a list of names of kinds. Items of `Es` are `exception(Kind,Goal,at(File,Line),New)`,
//! `deadlock(Goals)`, and at the end `terminated` or `aborted`.

use super::{Row, attempt, error, goal, list_items, method, wrong};
use crate::goals::shoen::faults::{GoalError, KINDS, kind_bit};
use crate::reports::outcome::ErrorKind;
use crate::worker::Worker;
use crate::worker::native::Outcome;
use term::Word;

/// What a goal becomes that failed in a shoen: module, name and number of arguments.
pub(crate) const INSTEAD: (&str, &str, usize) = ("shoen_control", "instead", 1);

fn kinds(worker: &Worker, word: Word) -> Result<u64, Outcome> {
    if worker.atom_value(word).is_some_and(|name| &*worker.atoms.name(name) == "all") {
        return Ok(KINDS.iter().fold(0, |bits, kind| bits | kind_bit(kind)));
    }
    let mut bits = 0;
    for item in list_items(worker, 1, word)? {
        let name = super::known(item)?;
        let bit = worker.atom_value(name).map_or(0, |name| kind_bit(&worker.atoms.name(name)));
        if bit == 0 {
            return Err(wrong(worker, 1, "a list of kinds of exceptions", name));
        }
        bits |= bit;
    }
    Ok(bits)
}

/// `new(Kinds,N,Es)`.
fn new(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let kinds = attempt!(kinds(worker, inputs[0]));
    if worker.options.nodes > 1 {
        let message = "a program of several nodes cannot make a shoen yet: run it with one node";
        return error(ErrorKind::Other, message);
    }
    let (number, report) = worker.new_shoen(kinds);
    outputs.copy_from_slice(&[Word::small(number), report]);
    Outcome::Done
}

/// `run(N,Goal)`.
fn run(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    let [number, goal] = *inputs else { return Outcome::No };
    let number = attempt!(super::integer(worker, 1, number));
    let Some(shoen) = worker.begin_shoen(number) else { return Outcome::Done };
    match worker.goal_of(goal) {
        Ok(Some((predicate, args))) => worker.spawn_in(&shoen, predicate, &args),
        Ok(None) => {}
        // It waits there, or is in error.
        Err(_) => worker.spawn_in(&shoen, worker.system_goals.instead, &[goal]),
    }
    worker.begun(&shoen);
    Outcome::Done
}

/// `tell(N,What)`: what is over hears nothing.
fn tell(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    let number = attempt!(super::integer(worker, 1, inputs[0]));
    let Some(what) = worker.atom_value(inputs[1]) else {
        return wrong(worker, 2, "what a shoen is told", inputs[1]);
    };
    match &*worker.atoms.name(what) {
        "abort" => {
            if let Some(shoen) = worker.shoen(number) {
                worker.abort(&shoen);
            }
        }
        _ => return wrong(worker, 2, "what a shoen is told", inputs[1]),
    }
    Outcome::Done
}

/// `instead(Goal)`.
fn instead(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    match worker.goal_of(inputs[0]) {
        Ok(None) => Outcome::Done,
        Ok(Some((predicate, args))) => {
            worker.spawn(predicate, &args);
            Outcome::Done
        }
        Err(GoalError::Waits(variable)) => Outcome::Wait(variable),
        Err(GoalError::Not) => wrong(worker, 1, "a goal, as module:name(..)", inputs[0]),
        Err(GoalError::Arity) => error(ErrorKind::Range, "the predicate has another number of arguments"),
        Err(GoalError::Undefined) => error(ErrorKind::UndefinedPredicate, "there is no such predicate"),
    }
}

pub(super) const NATIVES: &[Row] = &[
    method("shoen_control", "new", "ioo", new),
    goal("shoen_control", "run", "ia", run),
    method("shoen_control", "tell", "ii", tell),
    goal("shoen_control", "instead", "i", instead),
];
