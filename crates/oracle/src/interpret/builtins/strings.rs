//! Strings of bytes.

use super::super::scheduler::Machine;
use super::super::terms::{Id, ListEnd, Value};
use super::vectors::{SIZE_MAX, undefined};
use super::{Native, Step, done, native, test, type_error};
use std::rc::Rc;
use term::abi::Place;

pub(super) fn natives() -> Vec<Native> {
    let mut all = vec![
        native("guard", "string", "io", Place::Guard, |m, a| string(m, a, false)),
        native("guard", "string", "ioo", Place::Guard, |m, a| string(m, a, false)),
        native("generic", "string", "i", Place::Guard, |m, a| string(m, a, false)),
        native("generic", "string", "ioo", Place::Body, |m, a| string(m, a, false)),
        native("string", "string", "iooo", Place::Body, |m, a| string(m, a, true)),
        native("generic", "new string", "aoii", Place::Body, |m, a| new(m, &a[1..])),
        native("string", "new_string", "oii", Place::Body, new),
        native("generic", "element_size", "io", Place::Body, element_size),
        native("generic", "search_character", "iiiio", Place::Body, search_character),
        native("guard", "string_less_than", "ii", Place::Guard, |m, a| less(m, a, true)),
        native("guard", "string_not_less_than", "ii", Place::Guard, |m, a| less(m, a, false)),
        native("string", "set_string_element", "iiio", Place::Body, set_element),
        native("string", "search_character", "iiiio", Place::Body, search_character),
    ];
    for place in [Place::Guard, Place::Body] {
        all.push(native("string", "string_element", "iio", place, element));
    }
    all.push(native("string", "string_element", "iioo", Place::Body, |m, a| again(element(m, a), a[0])));
    all
}

/// The same outputs, then the object itself.
pub(super) fn again(step: Step, object: Id) -> Step {
    match step {
        Step::Done(mut outputs) => {
            outputs.push(object);
            Step::Done(outputs)
        }
        other => other,
    }
}

/// The bytes, if it is a string.
pub(super) fn bytes(machine: &Machine, id: Id) -> Option<Rc<[u8]>> {
    match machine.store.get(id) {
        Some(Value::String(bytes)) => Some(bytes.clone()),
        _ => None,
    }
}

/// Length and element size.
fn string(machine: &mut Machine, inputs: &[Id], body: bool) -> Step {
    let Some(bytes) = bytes(machine, inputs[0]) else {
        return if body { type_error("a string is needed") } else { test(false) };
    };
    let mut outputs = vec![machine.store.int(bytes.len() as i64), machine.store.int(8)];
    outputs.extend(body.then_some(inputs[0]));
    Step::Done(outputs)
}

fn element_size(machine: &mut Machine, inputs: &[Id]) -> Step {
    match machine.bound(inputs[0]) {
        Value::String(_) => done(machine.store.int(8)),
        _ => undefined(),
    }
}

/// From a size (all zero) or a list of bytes; the element size must be 8.
fn new(machine: &mut Machine, inputs: &[Id]) -> Step {
    if !matches!(machine.bound(inputs[1]), Value::Int(8)) {
        return Step::Error("strings have elements of 8 bits".into());
    }
    if let Value::Int(_) | Value::Big(_) = machine.bound(inputs[0]) {
        return match machine.index(inputs[0], SIZE_MAX) {
            Some(size) => done(machine.store.string(&vec![0; size])),
            None => Step::Error("no string has this size".into()),
        };
    }
    let (items, end) = machine.store.items(inputs[0]);
    let mut bytes = Vec::new();
    for item in items {
        match machine.store.get(item) {
            Some(Value::Int(byte @ 0..=255)) => bytes.push(*byte as u8),
            Some(_) => return type_error("a string is made of bytes"),
            None => return Step::Wait(machine.store.deref(item)),
        }
    }
    match end {
        ListEnd::Nil => done(machine.store.string(&bytes)),
        ListEnd::Unbound(tail) => Step::Wait(tail),
        ListEnd::Other => type_error("a string is made from a size or a list"),
    }
}

/// The byte at an index.
pub(super) fn element(machine: &mut Machine, inputs: &[Id]) -> Step {
    let Some(bytes) = bytes(machine, inputs[0]) else { return undefined() };
    match machine.index(inputs[1], bytes.len()) {
        Some(index) => done(machine.store.int(i64::from(bytes[index]))),
        None => Step::Error("index out of range".into()),
    }
}

/// The string with another byte at an index.
pub(super) fn set_element(machine: &mut Machine, inputs: &[Id]) -> Step {
    let Some(bytes) = bytes(machine, inputs[0]) else { return undefined() };
    let Some(index) = machine.index(inputs[1], bytes.len()) else {
        return Step::Error("index out of range".into());
    };
    // As method of vectors and strings the new element is not waited for by its mode.
    let byte = match machine.store.get(inputs[2]) {
        Some(Value::Int(byte @ 0..=255)) => *byte as u8,
        Some(_) => return type_error("an element of a string is a byte"),
        None => return Step::Wait(machine.store.deref(inputs[2])),
    };
    let mut changed = bytes.to_vec();
    changed[index] = byte;
    done(machine.store.string(&changed))
}

/// First place of a byte from Start to End, both included, backwards when Start is larger; -1 when there is none.
fn search_character(machine: &mut Machine, inputs: &[Id]) -> Step {
    let Some(bytes) = bytes(machine, inputs[0]) else { return undefined() };
    let (Some(start), Some(end)) =
        (machine.index(inputs[1], bytes.len()), machine.index(inputs[2], bytes.len()))
    else {
        return Step::Error("index out of range".into());
    };
    let Value::Int(code @ 0..=255) = machine.bound(inputs[3]) else {
        return type_error("a character is a byte");
    };
    let code = *code as u8;
    let found = if start <= end {
        (start..=end).find(|&at| bytes[at] == code)
    } else {
        (end..=start).rev().find(|&at| bytes[at] == code)
    };
    done(machine.store.int(found.map_or(-1, |at| at as i64)))
}

fn less(machine: &mut Machine, inputs: &[Id], less: bool) -> Step {
    match (machine.bound(inputs[0]), machine.bound(inputs[1])) {
        (Value::String(a), Value::String(b)) => test((a < b) == less),
        _ => Step::No,
    }
}
