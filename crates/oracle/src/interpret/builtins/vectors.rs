//! Vectors; methods that vectors share with strings ask `strings` for the other class.

use super::super::scheduler::Machine;
use super::super::terms::{Id, ListEnd, Value};
use super::{Native, Step, done, native, strings, test, type_error};
use std::rc::Rc;
use term::abi::Place;

/// Most elements of a vector or string that the oracle makes.
pub(super) const SIZE_MAX: usize = 1 << 28;

pub(super) fn natives() -> Vec<Native> {
    let mut all = vec![
        native("guard", "vector", "io", Place::Guard, |m, a| vector(m, a, false)),
        native("generic", "vector", "i", Place::Guard, |m, a| vector(m, a, false)),
        native("generic", "vector", "ioo", Place::Body, |m, a| vector(m, a, true)),
        native("generic", "vector", "io", Place::Body, |m, a| vector(m, a, false)),
        native("vector", "vector", "ioo", Place::Body, |m, a| vector(m, a, true)),
        native("generic", "new vector", "aoi", Place::Body, |m, a| new(m, a[1])),
        native("vector", "new_vector", "oi", Place::Body, |m, a| new(m, a[0])),
        native("generic", "element", "iio", Place::Guard, element),
        native("generic", "element", "iio", Place::Body, element),
        native("generic", "size", "io", Place::Body, size),
        native("generic", "set_element", "iiao", Place::Body, set_element),
        native("generic", "set_element", "iioao", Place::Body, exchange_element),
        native("generic", "split", "iioo", Place::Body, split),
        native("generic", "join", "iio", Place::Body, join),
    ];
    for place in [Place::Guard, Place::Body] {
        all.push(native("vector", "vector_element", "iio", place, |m, a| vector_only(m, a, element)));
    }
    all.push(native("vector", "vector_element", "iioo", Place::Body, |m, a| {
        super::strings::again(vector_only(m, a, element), a[0])
    }));
    all.push(native("vector", "set_vector_element", "iiao", Place::Body, |m, a| {
        vector_only(m, a, set_element)
    }));
    all.push(native("vector", "set_vector_element", "iioao", Place::Body, |m, a| {
        vector_only(m, a, exchange_element)
    }));
    all
}

/// The elements, if it is a vector.
fn elements(machine: &Machine, id: Id) -> Option<Rc<[Id]>> {
    match machine.bound(id) {
        Value::Vector(elements) => Some(elements.clone()),
        _ => None,
    }
}

fn vector_only(machine: &mut Machine, inputs: &[Id], run: super::Run) -> Step {
    if elements(machine, inputs[0]).is_none() {
        return type_error("a vector is needed");
    }
    run(machine, inputs)
}

fn out_of_range(machine: &Machine, index: Id) -> Step {
    match machine.bound(index) {
        Value::Int(_) | Value::Big(_) => Step::Error("index out of range".into()),
        _ => type_error("an index is an integer"),
    }
}

fn vector(machine: &mut Machine, inputs: &[Id], again: bool) -> Step {
    let Some(elements) = elements(machine, inputs[0]) else {
        return if again { type_error("a vector is needed") } else { test(false) };
    };
    let mut outputs = vec![machine.store.int(elements.len() as i64)];
    outputs.extend(again.then_some(inputs[0]));
    Step::Done(outputs)
}

/// A size (elements are 0) or a list of elements.
fn new(machine: &mut Machine, from: Id) -> Step {
    let elements: Vec<Id> = match machine.bound(from) {
        Value::Int(_) | Value::Big(_) => match machine.index(from, SIZE_MAX) {
            Some(size) => (0..size).map(|_| machine.store.int(0)).collect(),
            None => return Step::Error("no vector has this size".into()),
        },
        _ => match machine.store.items(from) {
            (items, ListEnd::Nil) => items,
            (_, ListEnd::Unbound(tail)) => return Step::Wait(tail),
            (_, ListEnd::Other) => return type_error("a vector is made from a size or a list"),
        },
    };
    done(machine.store.value(Value::Vector(elements.into())))
}

fn element(machine: &mut Machine, inputs: &[Id]) -> Step {
    let Some(elements) = elements(machine, inputs[0]) else { return strings::element(machine, inputs) };
    match machine.index(inputs[1], elements.len()) {
        Some(index) => done(elements[index]),
        None => out_of_range(machine, inputs[1]),
    }
}

fn size(machine: &mut Machine, inputs: &[Id]) -> Step {
    match machine.bound(inputs[0]) {
        Value::Vector(elements) => {
            let size = elements.len() as i64;
            done(machine.store.int(size))
        }
        Value::String(bytes) => {
            let size = bytes.len() as i64;
            done(machine.store.int(size))
        }
        _ => undefined(),
    }
}

/// A method that the object's class does not have.
pub(super) fn undefined() -> Step {
    Step::Error("undefined method".into())
}

fn set_element(machine: &mut Machine, inputs: &[Id]) -> Step {
    if let Value::String(_) = machine.bound(inputs[0]) {
        return strings::set_element(machine, inputs);
    }
    match exchange_element(machine, inputs) {
        Step::Done(outputs) => done(outputs[1]),
        other => other,
    }
}

fn exchange_element(machine: &mut Machine, inputs: &[Id]) -> Step {
    let Some(elements) = elements(machine, inputs[0]) else { return undefined() };
    let Some(index) = machine.index(inputs[1], elements.len()) else {
        return out_of_range(machine, inputs[1]);
    };
    let mut changed = elements.to_vec();
    changed[index] = inputs[2];
    Step::Done(vec![elements[index], machine.store.value(Value::Vector(changed.into()))])
}

fn split(machine: &mut Machine, inputs: &[Id]) -> Step {
    let (first, rest) = match machine.bound(inputs[0]).clone() {
        Value::Vector(elements) => match machine.index(inputs[1], elements.len() + 1) {
            Some(at) => (Value::Vector(elements[..at].into()), Value::Vector(elements[at..].into())),
            None => return out_of_range(machine, inputs[1]),
        },
        Value::String(bytes) => match machine.index(inputs[1], bytes.len() + 1) {
            Some(at) => (Value::String(bytes[..at].into()), Value::String(bytes[at..].into())),
            None => return out_of_range(machine, inputs[1]),
        },
        _ => return undefined(),
    };
    Step::Done(vec![machine.store.value(first), machine.store.value(rest)])
}

fn join(machine: &mut Machine, inputs: &[Id]) -> Step {
    let joined = match (machine.bound(inputs[0]), machine.bound(inputs[1])) {
        (Value::Vector(a), Value::Vector(b)) => Value::Vector(a.iter().chain(b.iter()).copied().collect()),
        (Value::String(a), Value::String(b)) => Value::String(a.iter().chain(b.iter()).copied().collect()),
        (Value::Vector(_), _) => return type_error("a vector is joined with a vector"),
        (Value::String(_), _) => return type_error("a string is joined with a string"),
        _ => return undefined(),
    };
    done(machine.store.value(joined))
}
