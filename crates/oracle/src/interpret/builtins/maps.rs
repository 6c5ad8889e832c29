//! Natives of the library's module `map`: a map is `map(Size,Pairs)` with a list of pairs by rising keys.

use super::super::scheduler::Machine;
use super::super::terms::{Id, ListEnd, Value};
use super::{Native, Step, done, native, type_error};
use num_bigint::BigInt;
use std::cmp::Ordering;
use term::abi::Place;
use term::symbol;

pub(super) fn natives() -> Vec<Native> {
    vec![
        native("guard", "map_value", "iio", Place::Guard, |m, a| with_pairs(m, a[0], a[1], value, true)),
        native("map", "find", "iio", Place::Method, |m, a| with_pairs(m, a[1], a[0], find, false)),
        native("map", "get", "iaio", Place::Method, |m, a| {
            let default = a[1];
            with_pairs(m, a[2], a[0], |_, pairs, at| done(at.map_or(default, |at| pairs[at].1)), false)
        }),
        native("map", "put", "iaio", Place::Method, |m, a| {
            let (key, value) = (a[0], a[1]);
            changed(m, a[2], key, |_, _| Ok(Some(value)))
        }),
        native("map", "remove", "iio", Place::Method, |m, a| changed(m, a[1], a[0], |_, _| Ok(None))),
        native("map", "add", "iiio", Place::Method, |m, a| {
            let more = a[1];
            changed(m, a[2], a[0], |m, before| sum(m, before, more).map(Some))
        }),
        native("map", "pairs", "io", Place::Method, listed),
        native("map", "list", "io", Place::Method, listed),
        native("map", "put_known", "aioo", Place::Method, |_, a| Step::Done(vec![a[1], a[0]])),
        native("map", "count_known", "aioo", Place::Method, |_, a| Step::Done(vec![a[1], a[0]])),
    ]
}

type Pairs = Vec<(Id, Id)>;

fn listed(m: &mut Machine, a: &[Id]) -> Step {
    match pairs(m, a[0]) {
        Ok(pairs) => {
            let pairs: Vec<Id> = pairs
                .into_iter()
                .map(|(key, value)| m.store.value(Value::Vector([key, value].into())))
                .collect();
            let nil = m.store.atom(symbol::NIL);
            done(m.store.list(&pairs, nil))
        }
        Err(step) => step,
    }
}

fn pairs(machine: &Machine, map: Id) -> Result<Pairs, Step> {
    let wrong = || type_error("a map is needed");
    let Some(Value::Struct(name, parts)) = machine.store.get(map) else { return Err(wrong()) };
    if *name != symbol::MAP || parts.len() != 2 {
        return Err(wrong());
    }
    let (items, end) = machine.store.items(parts[1]);
    if end != ListEnd::Nil {
        return Err(wrong());
    }
    let pair = |item: Id| match machine.store.get(item) {
        Some(Value::Vector(pair)) if pair.len() == 2 => Ok((pair[0], pair[1])),
        _ => Err(wrong()),
    };
    items.into_iter().map(pair).collect()
}

fn of_pairs(machine: &mut Machine, pairs: Pairs) -> Id {
    let size = machine.store.int(pairs.len() as i64);
    let pairs: Vec<Id> = pairs
        .into_iter()
        .map(|(key, value)| machine.store.value(Value::Vector([key, value].into())))
        .collect();
    let nil = machine.store.atom(symbol::NIL);
    let list = machine.store.list(&pairs, nil);
    machine.reply("map", &[size, list])
}

/// The first variable of a key.
fn wait_for(machine: &mut Machine, key: Id) -> Option<Step> {
    let mut rest = vec![key];
    while let Some(part) = rest.pop() {
        machine.count_step();
        if machine.stop.is_some() {
            return Some(Step::No);
        }
        match machine.store.get(part) {
            Some(value) => rest.extend(value.parts().into_iter().rev()),
            None => return Some(Step::Wait(machine.store.deref(part))),
        }
    }
    None
}

/// Where a key stands, or would stand.
fn place(machine: &mut Machine, pairs: &Pairs, key: Id) -> Result<usize, usize> {
    for (at, &(other, _)) in pairs.iter().enumerate() {
        match machine.order(key, other).unwrap_or(0).cmp(&0) {
            Ordering::Less => return Err(at),
            Ordering::Equal => return Ok(at),
            Ordering::Greater => {}
        }
    }
    Err(pairs.len())
}

fn with_pairs(
    machine: &mut Machine,
    map: Id,
    key: Id,
    then: impl FnOnce(&mut Machine, &Pairs, Option<usize>) -> Step,
    guard: bool,
) -> Step {
    let pairs = match pairs(machine, map) {
        Ok(pairs) => pairs,
        Err(_) if guard => return Step::No,
        Err(step) => return step,
    };
    if let Some(step) = wait_for(machine, key) {
        return step;
    }
    let at = place(machine, &pairs, key).ok();
    then(machine, &pairs, at)
}

fn value(_: &mut Machine, pairs: &Pairs, at: Option<usize>) -> Step {
    at.map_or(Step::No, |at| done(pairs[at].1))
}

fn find(machine: &mut Machine, pairs: &Pairs, at: Option<usize>) -> Step {
    let answer = match at {
        Some(at) => machine.reply("normal", &[pairs[at].1]),
        None => {
            let absent = machine.reply("absent", &[]);
            machine.reply("abnormal", &[absent])
        }
    };
    done(answer)
}

/// The map with the value that `change` makes of the one before; without the key if it makes none.
fn changed(
    machine: &mut Machine,
    map: Id,
    key: Id,
    change: impl FnOnce(&mut Machine, Option<Id>) -> Result<Option<Id>, Step>,
) -> Step {
    let mut all = match pairs(machine, map) {
        Ok(pairs) => pairs,
        Err(step) => return step,
    };
    if let Some(step) = wait_for(machine, key) {
        return step;
    }
    let at = place(machine, &all, key);
    let before = at.ok().map(|at| all[at].1);
    match (change(machine, before), at) {
        (Ok(Some(value)), Ok(at)) => all[at].1 = value,
        (Ok(Some(value)), Err(at)) => all.insert(at, (key, value)),
        (Ok(None), Ok(at)) => _ = all.remove(at),
        (Ok(None), Err(_)) => {}
        (Err(step), _) => return step,
    }
    done(of_pairs(machine, all))
}

fn sum(machine: &mut Machine, before: Option<Id>, more: Id) -> Result<Id, Step> {
    let value = match before.map(|id| (id, machine.store.get(id))) {
        None => Some(BigInt::ZERO),
        Some((id, None)) => return Err(Step::Wait(machine.store.deref(id))),
        Some((_, Some(value))) => value.to_bigint(),
    };
    match (value, machine.bound(more).to_bigint()) {
        (Some(value), Some(more)) => Ok(machine.store.value(Value::integer(value + more))),
        _ => Err(type_error("integers are needed")),
    }
}
