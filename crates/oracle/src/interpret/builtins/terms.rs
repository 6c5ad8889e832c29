//! Type tests, order, functors and their arguments.

use super::super::scheduler::Machine;
use super::super::terms::{Id, ListEnd, Value};
use super::super::unify::Answer;
use super::{Native, Step, done, native, test, type_error};
use std::rc::Rc;
use term::abi::Place;
use term::symbol;

/// Most arguments that `new_functor` makes.
const ARITY_MAX: usize = term::word::STRUCT_ARITY_MAX as usize + 1;

pub(super) fn natives() -> Vec<Native> {
    let mut all = Vec::new();
    let tests: [(&str, super::Run); 8] = [
        ("wait", |_, _| test(true)),
        ("atom", |m, a| test(matches!(m.bound(a[0]), Value::Atom(_)))),
        ("integer", |m, a| test(matches!(m.bound(a[0]), Value::Int(_) | Value::Big(_)))),
        ("atomic", |m, a| test(matches!(m.bound(a[0]), Value::Int(_) | Value::Big(_) | Value::Atom(_)))),
        ("float", |m, a| test(matches!(m.bound(a[0]), Value::Float(_)))),
        ("list", |m, a| test(matches!(m.bound(a[0]), Value::List(..)))),
        ("vector", |m, a| test(matches!(m.bound(a[0]), Value::Vector(_)))),
        ("string", |m, a| test(matches!(m.bound(a[0]), Value::String(_)))),
    ];
    for (name, run) in tests {
        all.push(native("guard", name, "i", Place::Guard, run));
    }
    all.push(native("generic", "float", "i", Place::Guard, |m, a| {
        test(matches!(m.bound(a[0]), Value::Float(_)))
    }));
    all.push(native("guard", "\\=", "aa", Place::Guard, |m, a| answer(m.differ(a[0], a[1]))));
    all.push(native("guard", "diff", "aa", Place::Guard, |m, a| answer(m.differ(a[0], a[1]))));
    all.push(native("guard", "compare", "aao", Place::Guard, |m, a| ordered(m, a, None)));
    all.push(native("guard", "@<", "aa", Place::Guard, |m, a| ordered(m, a, Some(|n| n < 0))));
    all.push(native("guard", "@=<", "aa", Place::Guard, |m, a| ordered(m, a, Some(|n| n <= 0))));
    all.push(native("guard", "@>", "aa", Place::Guard, |m, a| ordered(m, a, Some(|n| n > 0))));
    all.push(native("guard", "@>=", "aa", Place::Guard, |m, a| ordered(m, a, Some(|n| n >= 0))));
    for place in [Place::Guard, Place::Body] {
        all.push(native("functor_table", "functor", "ioo", place, |m, a| functor(m, a, false)));
        all.push(native("functor_table", "arg", "iio", place, |m, a| argument(m, a, false)));
    }
    all.push(native("functor_table", "functor", "iooo", Place::Body, |m, a| functor(m, a, true)));
    all.push(native("functor_table", "arg", "iioo", Place::Body, |m, a| argument(m, a, true)));
    all.push(native("functor_table", "setarg", "iiao", Place::Body, |m, a| set_argument(m, a, false)));
    all.push(native("functor_table", "setarg", "iioao", Place::Body, |m, a| set_argument(m, a, true)));
    all.push(native("functor_table", "new_functor", "oii", Place::Body, new_functor));
    all.push(native("functor_table", "=..", "oi", Place::Goal, build));
    all
}

fn answer(answer: Answer) -> Step {
    match answer {
        Answer::Yes => Step::Done(Vec::new()),
        Answer::No => Step::No,
        Answer::Wait(variable) => Step::Wait(variable),
    }
}

fn ordered(machine: &mut Machine, inputs: &[Id], condition: Option<fn(i64) -> bool>) -> Step {
    match (machine.order(inputs[0], inputs[1]), condition) {
        (Ok(order), Some(condition)) => test(condition(order)),
        (Ok(order), None) => done(machine.store.int(order)),
        (Err(variable), _) => Step::Wait(variable),
    }
}

/// Name and arity; of a list `'.'` and 2, of anything without arguments itself and 0.
fn functor(machine: &mut Machine, inputs: &[Id], again: bool) -> Step {
    let (name, arity) = match machine.bound(inputs[0]) {
        Value::List(..) => (Value::Atom(symbol::DOT), 2),
        Value::Struct(name, arguments) => (Value::Atom(*name), arguments.len() as i64),
        other => (other.clone(), 0),
    };
    let mut outputs = vec![machine.store.value(name), machine.store.int(arity)];
    outputs.extend(again.then_some(inputs[0]));
    Step::Done(outputs)
}

/// The arguments of a list or structure.
fn arguments(machine: &Machine, id: Id) -> Vec<Id> {
    match machine.bound(id) {
        Value::List(car, cdr) => vec![*car, *cdr],
        Value::Struct(_, arguments) => arguments.to_vec(),
        _ => Vec::new(),
    }
}

/// The place of an argument counted from 1.
fn place(machine: &Machine, index: Id, count: usize) -> Option<usize> {
    machine.index(index, count + 1)?.checked_sub(1)
}

fn no_argument(machine: &Machine, index: Id) -> Step {
    match machine.bound(index) {
        Value::Int(_) | Value::Big(_) => Step::Error("there is no argument with this number".into()),
        _ => type_error("the number of an argument is an integer"),
    }
}

fn argument(machine: &mut Machine, inputs: &[Id], again: bool) -> Step {
    let arguments = arguments(machine, inputs[1]);
    let Some(place) = place(machine, inputs[0], arguments.len()) else {
        return no_argument(machine, inputs[0]);
    };
    let mut outputs = vec![arguments[place]];
    outputs.extend(again.then_some(inputs[1]));
    Step::Done(outputs)
}

fn set_argument(machine: &mut Machine, inputs: &[Id], old: bool) -> Step {
    let mut arguments = arguments(machine, inputs[1]);
    let Some(place) = place(machine, inputs[0], arguments.len()) else {
        return no_argument(machine, inputs[0]);
    };
    let previous = std::mem::replace(&mut arguments[place], inputs[2]);
    let changed = match machine.bound(inputs[1]) {
        Value::Struct(name, _) => Value::Struct(*name, Rc::from(arguments)),
        _ => Value::List(arguments[0], arguments[1]),
    };
    let changed = machine.store.value(changed);
    Step::Done(if old { vec![previous, changed] } else { vec![changed] })
}

/// `new_functor(T,F,N)`: all arguments are 0.
fn new_functor(machine: &mut Machine, inputs: &[Id]) -> Step {
    let Some(arity) = machine.index(inputs[1], ARITY_MAX) else {
        return type_error("an arity is a small integer");
    };
    match machine.bound(inputs[0]) {
        Value::Atom(name) => {
            let name = *name;
            let arguments: Vec<Id> = (0..arity).map(|_| machine.store.int(0)).collect();
            done(machine.store.functor(name, &arguments))
        }
        _ if arity == 0 => done(inputs[0]),
        _ => type_error("the name of a functor is an atom"),
    }
}

/// `T =.. [F|Args]`: builds T.
fn build(machine: &mut Machine, inputs: &[Id]) -> Step {
    let (items, end) = machine.store.items(inputs[0]);
    match (end, &items[..]) {
        (ListEnd::Unbound(tail), _) => Step::Wait(tail),
        (ListEnd::Other, _) | (ListEnd::Nil, []) => type_error("a list with a name in front is needed"),
        (ListEnd::Nil, [only]) => done(*only),
        (ListEnd::Nil, [name, arguments @ ..]) => match machine.store.get(*name) {
            Some(Value::Atom(name)) => {
                let name = *name;
                done(machine.store.functor(name, arguments))
            }
            Some(_) => type_error("the name of a functor is an atom"),
            None => Step::Wait(machine.store.deref(*name)),
        },
    }
}
