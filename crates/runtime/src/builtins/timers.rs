//! Module `timer`: the clock, and variables that are bound at a time. `library/timer.kl1` has
//! the rest.

use super::io::events;
use super::{Row, attempt, error, goal, home, integer};
use crate::reports::outcome::ErrorKind;
use crate::terms::View;
use crate::worker::Worker;
use crate::worker::native::Outcome;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use term::Word;

const SECONDS_PER_DAY: i64 = 86_400;
const MICROS_PER_SECOND: i64 = 1_000_000;

/// Microseconds in `time(Days,Seconds,Microseconds)` or `time(Seconds,Microseconds)`.
fn micros(worker: &mut Worker, time: Word) -> Result<i64, Outcome> {
    let name = worker.intern("time");
    let wrong = || {
        error(
            ErrorKind::ArgumentType,
            "a time is time(Days,Seconds,Microseconds) or time(Seconds,Microseconds)",
        )
    };
    let parts: Vec<Word> = match worker.view(time) {
        View::Struct(found, arity @ (2 | 3)) if found == name => {
            (0..arity).map(|i| worker.arg(time, i)).collect()
        }
        View::Unbound(variable) => return Err(Outcome::Wait(variable)),
        _ => return Err(wrong()),
    };
    let mut values = Vec::new();
    for &part in &parts {
        values.push(integer(worker, 1, part)?);
    }
    let (days, seconds, rest) = match values[..] {
        [days, seconds, rest] => (days, seconds, rest),
        [seconds, rest] => (0, seconds, rest),
        _ => return Err(wrong()),
    };
    let total = (|| {
        let seconds = days.checked_mul(SECONDS_PER_DAY)?.checked_add(seconds)?;
        seconds.checked_mul(MICROS_PER_SECOND)?.checked_add(rest)
    })();
    total.ok_or_else(|| error(ErrorKind::Range, "a time is too large"))
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// `time(Days,Seconds,Microseconds)`.
fn time(worker: &mut Worker, micros: i64) -> Word {
    let name = worker.intern("time");
    let seconds = micros.div_euclid(MICROS_PER_SECOND);
    let (days, seconds) = (seconds.div_euclid(SECONDS_PER_DAY), seconds.rem_euclid(SECONDS_PER_DAY));
    let parts = [days, seconds, micros.rem_euclid(MICROS_PER_SECOND)];
    worker.structure(name, &parts.map(Word::small))
}

/// `get_time_of_day(time(Days,Seconds,Microseconds))`.
fn time_of_day(worker: &mut Worker, _: &[Word], outputs: &mut [Word]) -> Outcome {
    outputs[0] = time(worker, now());
    Outcome::Done
}

/// `time:monotonic(T)`: microseconds of a clock that nobody sets.
fn monotonic(_: &mut Worker, _: &[Word], outputs: &mut [Word]) -> Outcome {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    outputs[0] = Word::small(now.tv_sec * MICROS_PER_SECOND + now.tv_nsec / 1000);
    Outcome::Done
}

fn calculate(
    worker: &mut Worker,
    inputs: &[Word],
    outputs: &mut [Word],
    run: fn(i64, i64) -> Option<i64>,
) -> Outcome {
    let a = attempt!(micros(worker, inputs[0]));
    let b = attempt!(micros(worker, inputs[1]));
    let Some(sum) = run(a, b) else { return error(ErrorKind::Range, "a time is too large") };
    outputs[0] = time(worker, sum);
    Outcome::Done
}

/// `compare(T1,T2,R)`: `<`, `=` or `>`.
fn compare(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let a = attempt!(micros(worker, inputs[0]));
    let b = attempt!(micros(worker, inputs[1]));
    let name = match a.cmp(&b) {
        std::cmp::Ordering::Less => "<",
        std::cmp::Ordering::Equal => "=",
        std::cmp::Ordering::Greater => ">",
    };
    outputs[0] = Word::atom(worker.intern(name));
    Outcome::Done
}

fn bind_in(worker: &mut Worker, micros: i64, variable: Word) -> Outcome {
    let wait = Duration::from_micros(u64::try_from(micros).unwrap_or(0));
    match Instant::now().checked_add(wait) {
        Some(at) => {
            events::bind_at(worker, at, variable);
            Outcome::Done
        }
        None => error(ErrorKind::Range, "a time is too large"),
    }
}

/// `instantiate_after(Interval,X)`.
fn after(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    match micros(worker, inputs[0]) {
        Ok(micros) => bind_in(worker, micros, inputs[1]),
        Err(outcome) => outcome,
    }
}

/// `instantiate_at(Time,X)`.
fn at(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    match micros(worker, inputs[0]) {
        Ok(micros) => bind_in(worker, micros.saturating_sub(now()), inputs[1]),
        Err(outcome) => outcome,
    }
}

pub(super) const NATIVES: &[Row] = &[
    goal("timer", "get_time_of_day", "o", time_of_day),
    goal("timer", "add", "iio", |w, i, o| calculate(w, i, o, i64::checked_add)),
    goal("timer", "sub", "iio", |w, i, o| calculate(w, i, o, i64::checked_sub)),
    goal("timer", "compare", "iio", compare),
    goal("time", "monotonic", "o", monotonic),
    home(goal("timer", "instantiate_after", "ia", after)),
    home(goal("timer", "instantiate_at", "ia", at)),
];
