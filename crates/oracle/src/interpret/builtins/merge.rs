//! Mergers: each input is watched by a daemon goal; all inputs of one merger share its state.

use super::super::scheduler::{Code, Goal, Machine};
use super::super::terms::{Id, Value};
use super::{Native, Step, native};
use term::abi::Place;
use term::symbol;

/// The shared end of a merger.
pub(in super::super) struct Merger {
    /// Where the next element goes.
    output: Id,
    /// Inputs that are not closed.
    open: usize,
}

const MODULE: &str = "gcmerge";
const INPUT: &str = "gcmerge";

pub(super) fn natives() -> Vec<Native> {
    let mut input = native(MODULE, INPUT, "aa", Place::Goal, |m, a| absorb(m, a[0], a[1]));
    input.daemon = true;
    vec![
        native("generic", "merge", "aa", Place::Goal, |m, a| merge(m, a[0], a[1])),
        native("generic", "new merge", "aaa", Place::Body, |m, a| merge(m, a[1], a[2])),
        native("builtin", "merge", "aa", Place::Body, |m, a| merge(m, a[0], a[1])),
        input,
    ]
}

fn merge(machine: &mut Machine, input: Id, output: Id) -> Step {
    let state = machine.mergers.len();
    machine.mergers.push(Merger { output, open: 1 });
    let state = machine.store.value(Value::Handle(state));
    absorb(machine, input, state)
}

/// Takes everything that is there; what is still unbound gets a goal that waits for it.
fn absorb(machine: &mut Machine, input: Id, state: Id) -> Step {
    let Value::Handle(number) = *machine.bound(state) else { unreachable!("only mergers make such goals") };
    let mut inputs = vec![input];
    while let Some(input) = inputs.pop() {
        machine.count_step();
        if machine.stop.is_some() {
            break;
        }
        match machine.store.get(input).cloned() {
            Some(Value::List(item, rest)) => {
                let tail = machine.store.variable();
                let output = std::mem::replace(&mut machine.mergers[number].output, tail);
                let cell = machine.store.value(Value::List(item, tail));
                machine.unify(output, cell);
                inputs.push(rest);
            }
            Some(Value::Atom(symbol::NIL)) => close(machine, number),
            Some(Value::Vector(more)) => {
                machine.mergers[number].open += more.len();
                inputs.extend(more.iter().rev());
                close(machine, number);
            }
            Some(_) => {
                let shown = machine.show(input);
                return Step::Error(format!("illegal data unified with merger: {shown}"));
            }
            None => {
                let variable = machine.store.deref(input);
                wait(machine, variable, state);
            }
        }
    }
    Step::Done(Vec::new())
}

fn close(machine: &mut Machine, number: usize) {
    let merger = &mut machine.mergers[number];
    merger.open -= 1;
    if merger.open == 0 {
        let output = merger.output;
        let nil = machine.store.atom(symbol::NIL);
        machine.unify(output, nil);
    }
}

fn wait(machine: &mut Machine, variable: Id, state: Id) {
    let native = machine.natives.text_named(machine.atoms, MODULE, INPUT, 2).expect("entered with the group");
    let goal = Goal {
        code: Code::Native(native),
        arguments: vec![variable, state],
        priority: machine.priority,
        shoen: machine.shoen,
    };
    machine.suspend(goal, vec![variable]);
}
