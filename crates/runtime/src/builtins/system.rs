//! Modules `unix` (the predicates that need no stream) and `system_control`.

use super::{Row, attempt, error, goal, home, integer, wrong};
use crate::reports::outcome::ErrorKind;
use crate::terms::View;
use crate::worker::native::Outcome;
use crate::worker::{Root, Worker};
use term::Word;
use term::abi::PredicateId;

/// `unix:exit(Status)`: of the status the low 8 bits, as in C. An exception, where a shoen lists it.
fn exit(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    let status = attempt!(integer(worker, 1, inputs[0]));
    if worker.is_heard("exit") {
        let name = worker.intern("exit");
        let term = worker.structure(name, &[Word::small(status)]);
        worker.raise("exit", term);
        return error(ErrorKind::Other, "the program exits");
    }
    worker.exit((status & 0xff) as i32);
    Outcome::Done
}

fn argc(worker: &mut Worker, _: &[Word], outputs: &mut [Word]) -> Outcome {
    outputs[0] = Word::small(worker.io().arguments.len() as i64);
    Outcome::Done
}

fn argv(worker: &mut Worker, _: &[Word], outputs: &mut [Word]) -> Outcome {
    let arguments = worker.io().arguments.clone();
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

/// `system_control:collect(Before)`: words in use; the heap is collected before the next reduction.
fn collect(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    worker.wanted.collect();
    worker.abi.want_attention();
    words(worker, inputs, outputs)
}

/// `system_control:words(N)`: heap words in use.
fn words(worker: &mut Worker, _: &[Word], outputs: &mut [Word]) -> Outcome {
    let young = worker.abi.heap as usize - worker.heap.nursery();
    outputs[0] = Word::small(((worker.heap.spaces.old_bytes() + young) / 8) as i64);
    Outcome::Done
}

/// The goal to run after a failure.
#[derive(Default)]
struct Postmortem(Option<(PredicateId, Vec<Root>)>);

/// `system_control:postmortem(Module,Goal,R)`: registers a goal for the end by failure or deadlock; R becomes [].
fn register_postmortem(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let module = worker.module_value(inputs[0]).or_else(|| worker.atom_value(inputs[0]));
    let Some(module) = module else { return wrong(worker, 1, "a module", inputs[0]) };
    let (name, args) = match worker.view(inputs[1]) {
        View::Atom(name) => (name, Vec::new()),
        View::Struct(name, arity) => (name, (0..arity).map(|i| worker.arg(inputs[1], i)).collect()),
        _ => return wrong(worker, 2, "a goal", inputs[1]),
    };
    let Some(predicate) = worker.predicates.lookup(module, name, args.len()) else {
        let message = format!(
            "there is no predicate {}:{}/{}",
            worker.atoms.name(module),
            worker.atoms.name(name),
            args.len()
        );
        return error(ErrorKind::UndefinedPredicate, message);
    };
    let roots = args.into_iter().map(|arg| worker.root(arg)).collect();
    worker.state::<Postmortem>().0 = Some((predicate, roots));
    outputs[0] = Word::NIL;
    Outcome::Done
}

/// The goal that a program wants to be run after its failure or deadlock; given once. Whoever runs the node runs it,
/// and ends with the status of the failure, unless that goal asks to exit with another.
pub(crate) fn take_postmortem(worker: &mut Worker) -> Option<(PredicateId, Vec<Root>)> {
    worker.state::<Postmortem>().0.take()
}

pub(super) const NATIVES: &[Row] = &[
    goal("system_control", "collect", "o", collect),
    goal("system_control", "words", "o", words),
    home(goal("system_control", "postmortem", "iio", register_postmortem)),
    goal("unix", "exit", "i", exit),
    home(goal("unix", "argc", "o", argc)),
    home(goal("unix", "argv", "o", argv)),
    goal("unix", "times", "oooo", times),
];
