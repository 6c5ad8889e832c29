//! Module `builtin`, and console output in guards.

use super::{Row, attempt, error, goal, guard, home, integer, out_of_range, predicates};
use crate::reports::outcome::ErrorKind;
use crate::worker::Worker;
use crate::worker::native::Outcome;
use std::time::Instant;
use term::Word;

use super::io;
use crate::terms::print::plain;

/// When `start_measure` was called.
#[derive(Default)]
struct Measure(Option<Instant>);

fn write(worker: &mut Worker, bytes: &[u8]) -> Outcome {
    io::batches::serve(worker, Some(io::STDOUT));
    write_now(worker, bytes)
}
fn write_now(worker: &mut Worker, bytes: &[u8]) -> Outcome {
    match io::print(worker, bytes) {
        Ok(()) => Outcome::Done,
        Err(error) => Outcome::Error(error.program_error()),
    }
}

/// The same in a guard. Where the console is not, or the term is not all there, it becomes a goal.
fn print_in_guard(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    let first = worker.index == 0;
    let abroad = first && (worker.options.node != 0 || worker.look_abroad(inputs[0], true).is_some());
    if first && !abroad {
        if worker.has_batches() {
            io::batches::serve_quickly(worker);
        }
        return line_now(worker, inputs[0]);
    }
    let print = predicates::library(worker, "builtin", "print", 1);
    if abroad {
        worker.throw(0, print, &[inputs[0]]);
    } else {
        worker.post(0, print, &[inputs[0]]);
    }
    Outcome::Done
}

/// A term as it is now, and a newline.
fn print_line(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    if let Some(answer) = worker.look_abroad(inputs[0], true) {
        return Outcome::Wait(answer);
    }
    io::batches::serve(worker, Some(io::STDOUT));
    line_now(worker, inputs[0])
}
fn line_now(worker: &mut Worker, term: Word) -> Outcome {
    let mut text = attempt!(plain(worker, term));
    text.push(b'\n');
    write_now(worker, &text)
}

/// `print(X,Ok)`: without newline.
fn print(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    if let Some(answer) = worker.look_abroad(inputs[0], true) {
        return Outcome::Wait(answer);
    }
    outputs[0] = Word::NIL;
    let text = attempt!(plain(worker, inputs[0]));
    write(worker, &text)
}

/// `putc(C,Ok)`.
fn putc(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let code = attempt!(integer(worker, 1, inputs[0]));
    let Ok(byte) = u8::try_from(code) else { return out_of_range(1, "a byte from 0 to 255", code) };
    outputs[0] = Word::NIL;
    write(worker, &[byte])
}

fn start_measure(worker: &mut Worker, _: &[Word], _: &mut [Word]) -> Outcome {
    worker.state::<Measure>().0 = Some(Instant::now());
    Outcome::Done
}

/// `report_measure(Ms)`: milliseconds since `start_measure`, also written to standard output.
fn report_measure(worker: &mut Worker, _: &[Word], outputs: &mut [Word]) -> Outcome {
    let Some(start) = worker.state::<Measure>().0 else {
        return error(ErrorKind::Other, "report_measure without start_measure");
    };
    let elapsed = i64::try_from(start.elapsed().as_millis()).unwrap_or(i64::MAX);
    outputs[0] = worker.int(elapsed);
    write(worker, format!("{elapsed} msec\n").as_bytes())
}

/// Was the prompt of the `readint` at hand written already?
#[derive(Default)]
struct Prompted(bool);

/// `readint(I)`: prompts on standard error and reads a line; asks again when it holds no integer.
fn read_integer(worker: &mut Worker, _: &[Word], outputs: &mut [Word]) -> Outcome {
    loop {
        if !std::mem::replace(&mut worker.state::<Prompted>().0, true)
            && let Err(stop) = io::prompt(worker, b"> ")
        {
            worker.state::<Prompted>().0 = false;
            return stop;
        }
        let line = match io::read_line(worker) {
            Ok(line) => line,
            Err(outcome) => return outcome,
        };
        worker.state::<Prompted>().0 = false;
        if line.is_empty() {
            return error(ErrorKind::Other, "readint: standard input has ended");
        }
        let text = String::from_utf8_lossy(&line);
        if let Ok(value) = text.trim().parse::<num_bigint::BigInt>() {
            outputs[0] = worker.integer(&value);
            return Outcome::Done;
        }
    }
}

fn idle(_: &mut Worker, _: &[Word], _: &mut [Word]) -> Outcome {
    Outcome::Done
}

pub(super) const NATIVES: &[Row] = &[
    home(goal("builtin", "print", "a", print_line)),
    home(goal("builtin", "print", "ao", print)),
    home(goal("builtin", "putc", "io", putc)),
    home(goal("builtin", "readint", "o", read_integer)),
    home(goal("builtin", "start_measure", "", start_measure)),
    home(goal("builtin", "report_measure", "o", report_measure)),
    home(goal("builtin", "idle", "", idle)),
    guard("guard", "display_console", "i", print_in_guard),
    guard("guard", "put_console", "i", print_in_guard),
];
