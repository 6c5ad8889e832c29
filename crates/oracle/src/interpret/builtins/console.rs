//! `builtin:print` and what a program asks about its own call: arguments, exit.

use super::super::Outcome;
use super::super::scheduler::Machine;
use super::super::terms::{Id, Value};
use super::super::world;
use super::{Native, Step, done, native, type_error};
use term::abi::Place;
use term::symbol;

pub(super) fn natives() -> Vec<Native> {
    vec![
        native("builtin", "print", "a", Place::Goal, print_line),
        native("builtin", "print", "ao", Place::Goal, print),
        native("builtin", "putc", "io", Place::Goal, putc),
        native("builtin", "readint", "o", Place::Goal, read_integer),
        native("builtin", "start_measure", "", Place::Goal, |_, _| Step::Done(Vec::new())),
        native("builtin", "report_measure", "o", Place::Goal, report_measure),
        native("builtin", "idle", "", Place::Goal, |_, _| Step::Done(Vec::new())),
        native("system_control", "collect", "o", Place::Goal, words),
        native("system_control", "words", "o", Place::Goal, words),
        native("system_control", "postmortem", "iio", Place::Goal, postmortem),
        native("unix", "times", "oooo", Place::Goal, |m, _| {
            Step::Done((0..4).map(|_| m.store.int(0)).collect())
        }),
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

/// Prompts on standard error and reads a line.
fn read_integer(machine: &mut Machine, _: &[Id]) -> Step {
    machine.world.put(world::STDERR, b"> ");
    let mut line = Vec::new();
    while let [byte] = machine.world.take(world::STDIN, 1)[..] {
        if byte == b'\n' {
            break;
        }
        line.push(byte);
    }
    match std::str::from_utf8(&line).ok().and_then(|line| line.trim().parse().ok()) {
        Some(number) => done(machine.store.value(Value::integer(number))),
        None => Step::Error("the line read is no integer".into()),
    }
}

/// Time stands still.
fn report_measure(machine: &mut Machine, _: &[Id]) -> Step {
    machine.world.stdout.extend_from_slice(b"0 msec\n");
    done(machine.store.int(0))
}

/// The oracle collects nothing; it counts steps instead of words.
fn words(machine: &mut Machine, _: &[Id]) -> Step {
    let steps = machine.steps as i64;
    done(machine.store.int(steps))
}

/// `postmortem(Module,Goal,R)`: a goal for the end by failure or deadlock.
fn postmortem(machine: &mut Machine, inputs: &[Id]) -> Step {
    let (Value::Module(module) | Value::Atom(module)) = *machine.bound(inputs[0]) else {
        return type_error("a module is needed");
    };
    let (name, arguments) = match machine.bound(inputs[1]) {
        Value::Atom(name) => (*name, Vec::new()),
        Value::Struct(name, arguments) => (*name, arguments.to_vec()),
        _ => return type_error("a goal is needed"),
    };
    let code = machine.predicate_code(module, name, arguments.len());
    machine.postmortem = Some((code, arguments));
    done(machine.store.atom(symbol::NIL))
}

fn exit(machine: &mut Machine, inputs: &[Id]) -> Step {
    match *machine.bound(inputs[0]) {
        Value::Int(status) => {
            let exit = machine.atoms.intern(b"exit");
            let term = machine.store.functor(exit, inputs);
            let goal = machine.store.atom(symbol::NIL);
            if machine.tell_exception("exit", [term, goal]) {
                return Step::Done(Vec::new());
            }
            Step::End(Outcome::Exit((status & 255) as i32))
        }
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
