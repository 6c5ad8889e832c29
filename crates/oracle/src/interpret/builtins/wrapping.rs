//! Wrapped terms: every part says what it is.

use super::super::scheduler::Machine;
use super::super::terms::{Id, Value};
use super::{Native, Step, done, native, type_error};
use std::collections::HashMap;
use std::rc::Rc;
use term::abi::Place;

pub(super) fn natives() -> Vec<Native> {
    vec![
        native("variable", "wrap", "ao", Place::Goal, |m, a| convert(m, a[0], wrap)),
        native("variable", "unwrap", "io", Place::Goal, |m, a| convert(m, a[0], unwrap)),
    ]
}

/// What a conversion has to do next; finished parts are on a stack of their own.
enum Work {
    Visit(Id),
    /// Makes a term like this one of the topmost finished parts; then wraps it.
    Build(Value, Option<&'static str>),
}

/// Names of variables seen so far.
type Names = HashMap<Rc<[u8]>, Id>;

/// What a term becomes.
enum Visit {
    Finished(Id),
    /// Its parts are converted first.
    Parts(Id, Option<&'static str>),
}

fn convert(
    machine: &mut Machine,
    term: Id,
    visit: fn(&mut Machine, Id, &mut Names) -> Result<Visit, Step>,
) -> Step {
    let mut names = Names::new();
    let mut work = vec![Work::Visit(term)];
    let mut finished: Vec<Id> = Vec::new();
    while let Some(next) = work.pop() {
        machine.count_step();
        let result = match next {
            Work::Visit(term) => match visit(machine, term, &mut names) {
                Ok(Visit::Finished(id)) => id,
                Ok(Visit::Parts(term, class)) => {
                    let value = machine.bound(term).clone();
                    let parts = value.parts();
                    work.push(Work::Build(value, class));
                    work.extend(parts.into_iter().rev().map(Work::Visit));
                    continue;
                }
                Err(step) => return step,
            },
            Work::Build(value, class) => {
                let parts = finished.split_off(finished.len() - value.parts().len());
                let term = machine.store.value(value.with_parts(parts));
                match class {
                    Some(class) => machine.reply(class, &[term]),
                    None => term,
                }
            }
        };
        finished.push(result);
        if machine.stop.is_some() {
            return done(term);
        }
    }
    done(finished.pop().expect("one term is finished at the end"))
}

fn wrap(machine: &mut Machine, term: Id, _: &mut Names) -> Result<Visit, Step> {
    let class = match machine.store.get(term) {
        Some(Value::Int(_) | Value::Big(_)) => "integer",
        Some(Value::Float(_)) => "floating_point",
        Some(Value::Atom(_)) => "atom",
        Some(Value::String(_)) => "string",
        Some(Value::List(..)) => return Ok(Visit::Parts(term, Some("list"))),
        Some(Value::Struct(..)) => return Ok(Visit::Parts(term, Some("functor"))),
        Some(Value::Vector(_)) => return Ok(Visit::Parts(term, Some("vector"))),
        _ => "unknown",
    };
    Ok(Visit::Finished(machine.reply(class, &[term])))
}

fn unwrap(machine: &mut Machine, term: Id, names: &mut Names) -> Result<Visit, Step> {
    let not_wrapped = || type_error("a wrapped term is needed");
    let (class, part) = match machine.store.get(term) {
        Some(Value::Struct(class, parts)) if parts.len() == 1 => (*class, parts[0]),
        Some(_) => return Err(not_wrapped()),
        None => return Err(Step::Wait(machine.store.deref(term))),
    };
    let class = machine.atoms.name(class).into_owned();
    match (class.as_str(), machine.store.get(part)) {
        ("unknown", _) => Ok(Visit::Finished(part)),
        (_, None) => Err(Step::Wait(machine.store.deref(part))),
        ("atom" | "integer" | "floating_point" | "string", Some(_)) => Ok(Visit::Finished(part)),
        ("variable", Some(Value::String(name))) => {
            let name = name.clone();
            let variable = *names.entry(name).or_insert_with(|| machine.store.variable());
            Ok(Visit::Finished(variable))
        }
        ("list" | "functor" | "vector", Some(Value::List(..) | Value::Struct(..) | Value::Vector(_))) => {
            Ok(Visit::Parts(part, None))
        }
        _ => Err(not_wrapped()),
    }
}
