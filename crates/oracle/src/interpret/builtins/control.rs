//! Calls of predicate objects, priorities, nodes, and what looks at the run itself.

use super::super::scheduler::Machine;
use super::super::terms::{Id, Value};
use super::{Native, Step, native, test, type_error};
use term::abi::Place;

/// `generic:call` with up to this many arguments for the predicate.
const CALL_MAX: usize = 64;

pub(super) fn natives() -> Vec<Native> {
    let mut all = vec![
        native("guard", "current_priority", "o", Place::Guard, current_priority),
        native("guard", "display_console", "i", Place::Guard, display),
        native("guard", "put_console", "i", Place::Guard, display),
        native("builtin", "current_node", "oo", Place::Body, current_node),
        native("builtin", "apply", "ii", Place::Goal, apply),
        native("generic", "apply", "ii", Place::Goal, apply),
        native("variable", "unbound", "ao", Place::Body, unbound),
    ];
    for count in 0..=CALL_MAX {
        let modes = format!("i{}", "a".repeat(count));
        all.push(native("generic", "call", &modes, Place::Goal, call));
    }
    all
}

fn current_priority(machine: &mut Machine, _: &[Id]) -> Step {
    let priority = machine.priority;
    Step::Done(vec![machine.store.int(priority)])
}

fn current_node(machine: &mut Machine, _: &[Id]) -> Step {
    Step::Done(vec![machine.store.int(0), machine.store.int(1)])
}

fn display(machine: &mut Machine, inputs: &[Id]) -> Step {
    let text = machine.print(inputs[0]);
    machine.world.stdout.extend_from_slice(&text);
    machine.world.stdout.push(b'\n');
    test(true)
}

/// `unbound(X,R)`: `{X}` when X is bound, `{Node,Address,X}` when it is not at this moment.
fn unbound(machine: &mut Machine, inputs: &[Id]) -> Step {
    let parts = if machine.is_unbound(inputs[0]) {
        let address = i64::from(machine.store.deref(inputs[0]).number());
        vec![machine.store.int(0), machine.store.int(address), inputs[0]]
    } else {
        vec![inputs[0]]
    };
    Step::Done(vec![machine.store.value(Value::Vector(parts.into()))])
}

fn apply(machine: &mut Machine, inputs: &[Id]) -> Step {
    match machine.bound(inputs[1]) {
        Value::Vector(arguments) => {
            let arguments = arguments.to_vec();
            enter(machine, inputs[0], arguments)
        }
        _ => type_error("apply needs a vector of arguments"),
    }
}

fn call(machine: &mut Machine, inputs: &[Id]) -> Step {
    enter(machine, inputs[0], inputs[1..].to_vec())
}

/// The goal of a predicate object comes next.
fn enter(machine: &mut Machine, predicate: Id, arguments: Vec<Id>) -> Step {
    let Value::Predicate(module, name, arity) = *machine.bound(predicate) else {
        return type_error("a predicate object is needed");
    };
    if arity != arguments.len() {
        return Step::Error("arity mismatch".into());
    }
    let code = machine.predicate_code(module, name, arity);
    machine.become_goal(code, arguments);
    Step::Done(Vec::new())
}
