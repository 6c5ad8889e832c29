//! Module `timer`, in virtual time (O4).

use super::super::scheduler::Machine;
use super::super::terms::{Id, Value};
use super::{Native, Step, done, native, type_error};
use std::cmp::Ordering;
use term::abi::Place;
use term::symbol;

const SECONDS_PER_DAY: i64 = 86_400;
const MICROS_PER_SECOND: i64 = 1_000_000;
/// Microseconds after which it is seen whether a timer is over, while goals are ready.
const LOOK_MICROS: i64 = 64;

pub(super) fn natives() -> Vec<Native> {
    vec![
        native("timer", "get_time_of_day", "o", Place::Goal, |m, _| {
            let now = m.now;
            done(time(m, now))
        }),
        native("time", "monotonic", "o", Place::Goal, |m, _| done(m.store.int(m.now))),
        native("timer", "add", "iio", Place::Goal, |m, a| calculate(m, a, i64::checked_add)),
        native("timer", "sub", "iio", Place::Goal, |m, a| calculate(m, a, i64::checked_sub)),
        native("timer", "compare", "iio", Place::Goal, compare),
        native("timer", "instantiate_after", "ia", Place::Goal, |m, a| bind_at(m, a, m.now)),
        native("timer", "instantiate_at", "ia", Place::Goal, |m, a| bind_at(m, a, 0)),
    ]
}

/// Microseconds of `time(Days,Seconds,Microseconds)` or `time(Seconds,Microseconds)`.
fn micros(machine: &Machine, term: Id) -> Result<i64, Step> {
    let wrong = || type_error("a time is time(Days,Seconds,Microseconds) or time(Seconds,Microseconds)");
    let parts = match machine.store.get(term) {
        Some(Value::Struct(name, parts)) if machine.atoms.text(*name) == b"time" => parts.clone(),
        Some(_) => return Err(wrong()),
        None => return Err(Step::Wait(machine.store.deref(term))),
    };
    let values: Result<Vec<i64>, Step> = parts.iter().map(|part| machine.int_of(*part)).collect();
    let (days, seconds, rest) = match values?[..] {
        [days, seconds, rest] => (days, seconds, rest),
        [seconds, rest] => (0, seconds, rest),
        _ => return Err(wrong()),
    };
    let seconds = days.checked_mul(SECONDS_PER_DAY).and_then(|days| days.checked_add(seconds));
    let total = seconds.and_then(|seconds| seconds.checked_mul(MICROS_PER_SECOND)?.checked_add(rest));
    total.ok_or_else(too_large)
}

fn too_large() -> Step {
    Step::Error("a time is too large".into())
}

fn time(machine: &mut Machine, micros: i64) -> Id {
    let seconds = micros.div_euclid(MICROS_PER_SECOND);
    let parts = [
        seconds.div_euclid(SECONDS_PER_DAY),
        seconds.rem_euclid(SECONDS_PER_DAY),
        micros.rem_euclid(MICROS_PER_SECOND),
    ];
    let parts = parts.map(|part| machine.store.int(part));
    let name = machine.atoms.intern(b"time");
    machine.store.functor(name, &parts)
}

fn two(machine: &Machine, inputs: &[Id]) -> Result<(i64, i64), Step> {
    Ok((micros(machine, inputs[0])?, micros(machine, inputs[1])?))
}

fn calculate(machine: &mut Machine, inputs: &[Id], run: fn(i64, i64) -> Option<i64>) -> Step {
    match two(machine, inputs) {
        Ok((a, b)) => match run(a, b) {
            Some(result) => done(time(machine, result)),
            None => too_large(),
        },
        Err(step) => step,
    }
}

fn compare(machine: &mut Machine, inputs: &[Id]) -> Step {
    match two(machine, inputs) {
        Ok((a, b)) => {
            let name: &[u8] = match a.cmp(&b) {
                Ordering::Less => b"<",
                Ordering::Equal => b"=",
                Ordering::Greater => b">",
            };
            let name = machine.atoms.intern(name);
            done(machine.store.atom(name))
        }
        Err(step) => step,
    }
}

fn bind_at(machine: &mut Machine, inputs: &[Id], base: i64) -> Step {
    match micros(machine, inputs[0]).map(|micros| base.checked_add(micros)) {
        Ok(Some(at)) => {
            machine.timers_set += 1;
            machine.timers.insert((at, machine.timers_set), inputs[1]);
            Step::Done(Vec::new())
        }
        Ok(None) => too_large(),
        Err(step) => step,
    }
}

/// O4: after a reduction. A timer that is over binds its variable.
pub(in super::super) fn tick(machine: &mut Machine) {
    machine.now += 1;
    if machine.now % LOOK_MICROS == 0
        && machine.timers.first_key_value().is_some_and(|((at, _), _)| *at <= machine.now)
    {
        advance(machine);
    }
}

/// Moves the clock to the next event. False if there is none.
pub(in super::super) fn advance(machine: &mut Machine) -> bool {
    let Some(((at, _), variable)) = machine.timers.pop_first() else { return false };
    machine.now = machine.now.max(at);
    let nil = machine.store.atom(symbol::NIL);
    machine.unify(variable, nil);
    true
}
