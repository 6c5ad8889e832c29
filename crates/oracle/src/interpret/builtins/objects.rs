//! Predicate and module objects.

use super::super::scheduler::{Code, Machine};
use super::super::terms::{Id, Value};
use super::{Native, Step, done, native, test, type_error, vectors};
use term::abi::Place;

pub(super) fn natives() -> Vec<Native> {
    vec![
        native("generic", "predicate", "i", Place::Guard, |m, a| {
            test(matches!(m.bound(a[0]), Value::Predicate(..)))
        }),
        native("generic", "module", "i", Place::Guard, |m, a| {
            test(matches!(m.bound(a[0]), Value::Module(_)))
        }),
        native("generic", "arity", "io", Place::Guard, arity),
        native("generic", "arity", "io", Place::Body, arity),
        native("generic", "defined", "iii", Place::Guard, defined),
        native("generic", "name", "io", Place::Body, name),
        native("generic", "module", "io", Place::Body, module),
        native("generic", "new module", "aoi", Place::Body, new_module),
        native("generic", "new predicate", "aoiii", Place::Body, new_predicate),
    ]
}

fn arity(machine: &mut Machine, inputs: &[Id]) -> Step {
    match *machine.bound(inputs[0]) {
        Value::Predicate(_, _, arity) => done(machine.store.int(arity as i64)),
        _ => vectors::undefined(),
    }
}

fn defined(machine: &mut Machine, inputs: &[Id]) -> Step {
    let values = (machine.bound(inputs[0]), machine.bound(inputs[1]), machine.bound(inputs[2]));
    let (Value::Module(module), Value::Atom(name), Value::Int(arity)) = values else { return Step::No };
    let arity = usize::try_from(*arity).ok();
    test(arity.is_some_and(|arity| machine.predicates.contains_key(&(*module, *name, arity))))
}

fn name(machine: &mut Machine, inputs: &[Id]) -> Step {
    match *machine.bound(inputs[0]) {
        Value::Predicate(_, name, _) | Value::Module(name) => done(machine.store.atom(name)),
        _ => vectors::undefined(),
    }
}

fn module(machine: &mut Machine, inputs: &[Id]) -> Step {
    match *machine.bound(inputs[0]) {
        Value::Predicate(module, _, _) => done(machine.store.value(Value::Module(module))),
        _ => vectors::undefined(),
    }
}

fn new_module(machine: &mut Machine, inputs: &[Id]) -> Step {
    match *machine.bound(inputs[1]) {
        Value::Atom(name) => done(machine.store.value(Value::Module(name))),
        _ => type_error("a module is named by an atom"),
    }
}

fn new_predicate(machine: &mut Machine, inputs: &[Id]) -> Step {
    let values = (machine.bound(inputs[1]), machine.bound(inputs[2]), machine.bound(inputs[3]));
    let (Value::Atom(module) | Value::Module(module), Value::Atom(name), Value::Int(arity)) = values else {
        return type_error("a predicate is named by module, name and arity");
    };
    let (module, name) = (*module, *name);
    match usize::try_from(*arity) {
        Ok(arity) => match machine.predicate_code(module, name, arity) {
            Code::Wrong(..) => Step::Error("there is no such predicate".into()),
            _ => done(machine.store.value(Value::Predicate(module, name, arity))),
        },
        Err(_) => type_error("an arity is not negative"),
    }
}
