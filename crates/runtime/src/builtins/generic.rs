//! `generic:Method(Object, ..)`: methods whose class is known when the object is.

use super::{Row, body, describe, error, floats, merge, predicates, random, strings, vectors, wrong};
use crate::reports::outcome::ErrorKind;
use crate::terms::View;
use crate::worker::Worker;
use crate::worker::native::Outcome;
use term::Word;
use term::layout::{STRING, VECTOR};

/// The object has no such method.
fn undefined(worker: &Worker, method: &str, object: Word) -> Outcome {
    match worker.view(object) {
        View::Unbound(variable) => Outcome::Wait(variable),
        _ => {
            error(ErrorKind::UndefinedMethod, format!("{} has no method {method}", describe(worker, object)))
        }
    }
}

fn element(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    match worker.class_of(inputs[0]) {
        Some(VECTOR) => vectors::element(worker, inputs, outputs),
        Some(STRING) => strings::element(worker, inputs, outputs),
        _ => undefined(worker, "element", inputs[0]),
    }
}

fn size(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    match worker.vector_length(inputs[0]).or_else(|| worker.string_length(inputs[0])) {
        Some(length) => {
            outputs[0] = Word::small(length as i64);
            Outcome::Done
        }
        None => undefined(worker, "size", inputs[0]),
    }
}

fn set_element(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    match worker.class_of(inputs[0]) {
        Some(VECTOR) => vectors::set_element(worker, inputs, outputs),
        Some(STRING) => strings::set_element(worker, inputs, outputs),
        _ => undefined(worker, "set_element", inputs[0]),
    }
}

fn exchange_element(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    match worker.class_of(inputs[0]) {
        Some(VECTOR) => vectors::exchange_element(worker, inputs, outputs),
        _ => undefined(worker, "set_element with the old element", inputs[0]),
    }
}

fn split(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    match worker.class_of(inputs[0]) {
        Some(VECTOR) => vectors::split(worker, inputs, outputs),
        Some(STRING) => strings::split(worker, inputs, outputs),
        _ => undefined(worker, "split", inputs[0]),
    }
}

fn join(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    match worker.class_of(inputs[0]) {
        Some(VECTOR) => vectors::join(worker, inputs, outputs),
        Some(STRING) => strings::join(worker, inputs, outputs),
        _ => undefined(worker, "join", inputs[0]),
    }
}

/// `generic:new(Class, X, Args..)`: X is unified with the object, or (merge) is its input.
fn new(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    let Some(class) = worker.atom_value(inputs[0]) else {
        return wrong(worker, 1, "the name of a class", inputs[0]);
    };
    let made = match (worker.atoms.text(class), &inputs[2..]) {
        (b"vector", [from]) => vectors::create(worker, 3, *from),
        (b"string", [from, bits]) => strings::create(worker, 3, *from, *bits),
        (b"float", [from]) => floats::create(worker, *from),
        (b"merge", [output]) => return merge::start(worker, inputs[1], *output),
        (b"random_numbers", [range]) => random::create(worker, *range, Word::small(0)),
        (b"random_numbers", [range, seed]) => random::create(worker, *range, *seed),
        (b"module", [name]) => predicates::module(worker, *name),
        (b"predicate", [module, name, arity]) => predicates::create(worker, *module, *name, *arity),
        (_, args) => {
            let name = worker.atoms.name(class).into_owned();
            let message =
                format!("there is no class {name} whose objects are made from {} terms", args.len());
            return error(ErrorKind::UndefinedMethod, message);
        }
    };
    match made {
        Ok(object) => {
            if !worker.bind_at_once(crate::terms::deref(inputs[1]), object) {
                let [module, name] = [MODULE, "new"].map(|text| worker.atoms.intern(text.as_bytes()));
                let by = worker.predicates.lookup(module, name, inputs.len());
                worker.answer(by.unwrap_or(worker.system_goals.unify), inputs[1], object);
            }
            Outcome::Done
        }
        Err(outcome) => outcome,
    }
}

const MODULE: &str = "generic";

pub(super) const NATIVES: &[Row] = &[
    body(MODULE, "element", "iio", element),
    body(MODULE, "size", "io", size),
    body(MODULE, "set_element", "iiao", set_element),
    body(MODULE, "set_element", "iioao", exchange_element),
    body(MODULE, "split", "iioo", split),
    body(MODULE, "join", "iio", join),
    body(MODULE, "new", "iaa", new),
    body(MODULE, "new", "iaaa", new),
    body(MODULE, "new", "iaaaa", new),
];
