//! Modules `unix` (the predicates that need no stream) and `system_control`.

use super::io::Io;
use super::{Row, attempt, goal, integer};
use crate::native::Outcome;
use crate::worker::Worker;
use term::Word;

/// `unix:exit(Status)`: of the status the low 8 bits, as in C.
fn exit(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    let status = attempt!(integer(worker, 1, inputs[0]));
    worker.exit((status & 0xff) as i32);
    Outcome::Done
}

fn argc(worker: &mut Worker, _: &[Word], outputs: &mut [Word]) -> Outcome {
    outputs[0] = Word::small(worker.state::<Io>().arguments.len() as i64);
    Outcome::Done
}

fn argv(worker: &mut Worker, _: &[Word], outputs: &mut [Word]) -> Outcome {
    let arguments = worker.state::<Io>().arguments.clone();
    let items: Vec<Word> = arguments.iter().map(|argument| worker.string(argument)).collect();
    outputs[0] = worker.list(&items, Word::NIL);
    Outcome::Done
}

/// `times(U,S,CU,CS)`: processor milliseconds of this process and of its children; 0 where the system does not say.
fn times(_: &mut Worker, _: &[Word], outputs: &mut [Word]) -> Outcome {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The second field, the program's name in parentheses, may hold anything; the times are fields 14 to 17.
    let after_name = stat.rfind(')').map_or("", |at| &stat[at + 1..]);
    let mut ticks =
        after_name.split_ascii_whitespace().skip(11).map(|field| field.parse::<i64>().unwrap_or(0));
    let per_second = rustix::param::clock_ticks_per_second() as i64;
    for output in outputs {
        *output = Word::small(ticks.next().unwrap_or(0) * 1000 / per_second);
    }
    Outcome::Done
}

pub(super) const NATIVES: &[Row] = &[
    goal("unix", "exit", "i", exit),
    goal("unix", "argc", "o", argc),
    goal("unix", "argv", "o", argv),
    goal("unix", "times", "oooo", times),
];
