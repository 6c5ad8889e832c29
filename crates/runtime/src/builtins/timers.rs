//! Module `timer`: the clock, and variables that are bound at a time. Calculation with times is in `library/timer.kl1`.

use super::io::events;
use super::{Row, error, goal, integer};
use crate::native::Outcome;
use crate::outcome::ErrorKind;
use crate::terms::View;
use crate::worker::Worker;
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

/// `get_time_of_day(time(Days,Seconds,Microseconds))`.
fn time_of_day(worker: &mut Worker, _: &[Word], outputs: &mut [Word]) -> Outcome {
    let now = now();
    let name = worker.intern("time");
    let seconds = now / MICROS_PER_SECOND;
    let parts = [seconds / SECONDS_PER_DAY, seconds % SECONDS_PER_DAY, now % MICROS_PER_SECOND];
    outputs[0] = worker.structure(name, &parts.map(Word::small));
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
    goal("timer", "instantiate_after", "ia", after),
    goal("timer", "instantiate_at", "ia", at),
];
