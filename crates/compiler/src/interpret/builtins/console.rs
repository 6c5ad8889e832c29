//! `builtin:print` and what a program asks about its own call: arguments, exit.

use super::super::Outcome;
use super::super::scheduler::Machine;
use super::super::terms::{Id, Value};
use super::{Native, Step, done, native, type_error};
use term::abi::Place;
use term::symbol;

pub(super) fn natives() -> Vec<Native> {
    vec![
        native("builtin", "print", "a", Place::Goal, print_line),
        native("builtin", "print", "ao", Place::Goal, print),
        native("builtin", "putc", "io", Place::Goal, putc),
        native("unix", "exit", "i", Place::Goal, exit),
        native("unix", "argc", "o", Place::Goal, argument_count),
        native("unix", "argv", "o", Place::Goal, arguments),
    ]
}

fn print_line(machine: &mut Machine, inputs: &[Id]) -> Step {
    let text = machine.print(inputs[0]);
    machine.world.stdout.extend_from_slice(&text);
    machine.world.stdout.push(b'\n');
    Step::Done(Vec::new())
}

fn print(machine: &mut Machine, inputs: &[Id]) -> Step {
    let text = machine.print(inputs[0]);
    machine.world.stdout.extend_from_slice(&text);
    done(machine.store.atom(symbol::NIL))
}

fn putc(machine: &mut Machine, inputs: &[Id]) -> Step {
    let Value::Int(byte @ 0..=255) = *machine.bound(inputs[0]) else {
        return type_error("a character is a byte");
    };
    machine.world.stdout.push(byte as u8);
    done(machine.store.atom(symbol::NIL))
}

fn exit(machine: &mut Machine, inputs: &[Id]) -> Step {
    match *machine.bound(inputs[0]) {
        Value::Int(status) => Step::End(Outcome::Exit((status & 255) as i32)),
        _ => type_error("an exit status is an integer"),
    }
}

fn argument_count(machine: &mut Machine, _: &[Id]) -> Step {
    let count = machine.world.arguments.len() as i64;
    done(machine.store.int(count))
}

fn arguments(machine: &mut Machine, _: &[Id]) -> Step {
    let arguments = machine.world.arguments.clone();
    let items: Vec<Id> = arguments.iter().map(|argument| machine.store.string(argument)).collect();
    let nil = machine.store.atom(symbol::NIL);
    done(machine.store.list(&items, nil))
}
