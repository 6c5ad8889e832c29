//! Module `shoen_control`.

use super::super::scheduler::{Goal, Machine};
use super::super::terms::{Id, Value};
use super::{Native, Step, native, type_error};
use term::abi::Place;

const MODULE: &str = "shoen_control";

pub(super) fn natives() -> Vec<Native> {
    vec![
        native(MODULE, "new", "ioo", Place::Method, new),
        native(MODULE, "run", "ia", Place::Goal, run),
        native(MODULE, "tell", "ii", Place::Method, tell),
        native(MODULE, "instead", "i", Place::Goal, instead),
    ]
}

/// What stands for a goal.
enum Wanted {
    Goal(Goal),
    None,
    Waits(Id),
    Wrong(Step),
}

fn new(machine: &mut Machine, inputs: &[Id]) -> Step {
    match names(machine, inputs[0]) {
        Ok(kinds) => {
            let (number, report) = machine.new_shoen(kinds);
            Step::Done(vec![machine.store.int(number as i64), report])
        }
        Err(step) => step,
    }
}

fn run(machine: &mut Machine, inputs: &[Id]) -> Step {
    let Some(number) = number(machine, inputs[0]) else { return Step::Done(Vec::new()) };
    if !machine.begin_shoen(number) {
        return Step::Done(Vec::new());
    }
    let goal = match wanted(machine, inputs[1]) {
        Wanted::Goal(goal) => Some(goal),
        Wanted::None => None,
        Wanted::Waits(_) | Wanted::Wrong(_) => {
            let [module, name] = [MODULE, "instead"].map(|name| machine.atoms.intern(name.as_bytes()));
            let code = machine.predicate_code(module, name, 1);
            Some(Goal { code, arguments: vec![inputs[1]], priority: machine.priority, shoen: number })
        }
    };
    if let Some(goal) = goal {
        machine.push(Goal { shoen: number, ..goal });
    }
    Step::Done(Vec::new())
}

/// The shoen that a number names; `None` if there is none.
fn number(machine: &Machine, number: Id) -> Option<usize> {
    let Value::Int(number) = *machine.bound(number) else { return None };
    usize::try_from(number).ok().filter(|number| (1..machine.shoens.len()).contains(number))
}

/// `None` stands for `all`.
fn names(machine: &Machine, kinds: Id) -> Result<Option<Vec<String>>, Step> {
    let (mut rest, mut names) = (kinds, Vec::new());
    loop {
        match machine.store.get(rest) {
            Some(Value::Atom(term::symbol::NIL)) => return Ok(Some(names)),
            Some(Value::Atom(name)) if &*machine.atoms.name(*name) == "all" => return Ok(None),
            Some(&Value::List(item, more)) => {
                match machine.store.get(item) {
                    Some(Value::Atom(name)) => names.push(machine.atoms.name(*name).into_owned()),
                    None => return Err(Step::Wait(machine.store.deref(item))),
                    Some(_) => return Err(type_error("kinds of exceptions are atoms")),
                }
                rest = more;
            }
            None => return Err(Step::Wait(machine.store.deref(rest))),
            Some(_) => return Err(type_error("kinds of exceptions are a list")),
        }
    }
}

fn tell(machine: &mut Machine, inputs: &[Id]) -> Step {
    let Some(number) = number(machine, inputs[0]) else { return Step::Done(Vec::new()) };
    match machine.bound(inputs[1]) {
        Value::Atom(what) if &*machine.atoms.name(*what) == "abort" => {
            machine.abort(number);
            Step::Done(Vec::new())
        }
        _ => type_error("what a shoen is told"),
    }
}

fn instead(machine: &mut Machine, inputs: &[Id]) -> Step {
    match wanted(machine, inputs[0]) {
        Wanted::Goal(goal) => {
            machine.become_goal(goal.code, goal.arguments);
            Step::Done(Vec::new())
        }
        Wanted::None => Step::Done(Vec::new()),
        Wanted::Waits(variable) => Step::Wait(variable),
        Wanted::Wrong(step) => step,
    }
}

fn wanted(machine: &mut Machine, goal: Id) -> Wanted {
    let waits = |machine: &Machine, id: Id| Wanted::Waits(machine.store.deref(id));
    let (module, name, arguments) = match machine.store.get(goal).cloned() {
        None => return waits(machine, goal),
        Some(Value::Atom(name)) if matches!(&*machine.atoms.name(name), "skip" | "true") => {
            return Wanted::None;
        }
        Some(Value::Vector(parts)) if parts.len() == 2 => {
            match (machine.store.get(parts[0]), machine.store.get(parts[1])) {
                (None, _) => return waits(machine, parts[0]),
                (_, None) => return waits(machine, parts[1]),
                (Some(&Value::Predicate(module, name, arity)), Some(Value::Vector(arguments))) => {
                    if arity != arguments.len() {
                        return Wanted::Wrong(Step::Error("arity mismatch".into()));
                    }
                    (module, name, arguments.to_vec())
                }
                _ => return Wanted::Wrong(type_error("a goal")),
            }
        }
        Some(Value::Struct(colon, parts)) if parts.len() == 2 && &*machine.atoms.name(colon) == ":" => {
            match (machine.store.get(parts[0]), machine.store.get(parts[1])) {
                (None, _) => return waits(machine, parts[0]),
                (_, None) => return waits(machine, parts[1]),
                (Some(&Value::Atom(module)), Some(&Value::Atom(name))) => (module, name, Vec::new()),
                (Some(&Value::Atom(module)), Some(Value::Struct(name, arguments))) => {
                    (module, *name, arguments.to_vec())
                }
                _ => return Wanted::Wrong(type_error("a goal")),
            }
        }
        Some(_) => return Wanted::Wrong(type_error("a goal")),
    };
    let code = machine.predicate_code(module, name, arguments.len());
    Wanted::Goal(Goal { code, arguments, priority: machine.priority, shoen: machine.shoen })
}
