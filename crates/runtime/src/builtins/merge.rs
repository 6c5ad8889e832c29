//! `merge(In,Out)`: a native process per input that waits, and one object they share.
//!
//! The merger object holds `[Out's tail][number of open inputs]`. Invariants:
//! - The tail is an unbound variable or what the program bound it to; only the merger extends it.
//! - J2 Every open input is counted and has one place: the process that waits for it, or the work list of the running
//!   one. So Out ends when the last input does, and a message costs O(1).
//! - J3 A process has the merger for itself while the number of open inputs is `BUSY`; another one comes again later.

use super::{Row, attempt, body, error, process, wrong};
use crate::memory::ranges::{pointer, read, write};
use crate::reports::outcome::ErrorKind;
use crate::terms::walk::Stack;
use crate::terms::{cell, deref, value_at};
use crate::worker::Worker;
use crate::worker::native::{Outcome, Record};
use term::word::{Tag, UNBOUND, header_class, object_header};
use term::{Word, layout};

/// Messages that are forwarded at once: a merger whose output is its own input has no end, and other goals and the
/// collector must get their turn.
const BATCH: usize = 4096;

/// Bytes from a merger's address to its words.
const TAIL: usize = 8;
const OPEN: usize = 16;
const BUSY: Word = Word::small(-1);
const MERGER: Word = object_header(layout::MERGER, 2);

/// A new cons whose cdr is a new variable: the cons and that variable.
#[inline(always)]
pub(super) fn open_cons(worker: &mut Worker, car: Word) -> (Word, Word) {
    let address = worker.allocate(2);
    write(address, car);
    write(address + 8, UNBOUND);
    (pointer(Tag::Cons, address), pointer(Tag::Ref, address + 8))
}

/// A new merger with one input.
pub(super) fn start(worker: &mut Worker, input: Word, output: Word) -> Outcome {
    let merger = worker.object(layout::MERGER, &[output, Word::small(1)]);
    forward(worker, input, merger)
}

/// Forwards what `input` (an open input of `merger`) has, and leaves processes where it must wait.
fn forward(worker: &mut Worker, input: Word, merger: Word) -> Outcome {
    let merger = deref(merger);
    let Some(open) = claim(worker, merger.address()) else {
        worker.spawn(worker.system_goals.merge, &[input, merger]);
        return Outcome::Done;
    };
    let (rest, tail) = forward_list(worker, input, cell(merger.address() + TAIL));
    if rest.tag() == Tag::Ref {
        release(worker, merger.address(), tail, open);
        worker.spawn_waiting(worker.system_goals.merge, [rest, merger], rest);
        return Outcome::Done;
    }
    forward_claimed(worker, [rest, merger], tail, open.as_int())
}

/// J3: the number of open inputs of the merger at this address, which this worker has for itself now.
#[inline(always)]
fn claim(worker: &mut Worker, merger: usize) -> Option<Word> {
    let open = read(merger + OPEN);
    (open != BUSY && worker.claim_word(merger + OPEN, open, BUSY)).then_some(open)
}

/// The merger has this tail and number of open inputs, and is claimed no more.
#[inline(always)]
fn release(worker: &mut Worker, merger: usize, tail: Word, open: Word) {
    debug_assert!(read(merger + OPEN) == BUSY, "J3: it was not claimed");
    debug_assert!(open.as_int() >= 0, "J2: more inputs have ended than there were");
    worker.store(merger + TAIL, tail);
    write(merger + OPEN, open);
}

/// A process was resumed: the usual case is a list of messages that has no end yet, most often of one.
#[inline(always)]
pub(crate) fn resumed(worker: &mut Worker, record: Record) -> bool {
    forward_one(worker, record) || forward_few(worker, record)
}

/// Forwards one message, where nothing stands in the way; false if nothing was done.
#[inline(always)]
fn forward_one(worker: &mut Worker, record: Record) -> bool {
    let Some(message) = worker.only_message(record) else { return false };
    let merger = worker.record_argument(record, 1);
    let place = merger.address();
    if merger.tag() != Tag::Object || read(place) != MERGER || read(place + OPEN) == BUSY {
        return false;
    }
    let end = read(place + TAIL);
    if end.tag() != Tag::Ref || !worker.is_alone() || !worker.is_private(end.address()) {
        return false;
    }
    let waiting = read(end.address());
    if waiting.tag() != Tag::Var || worker.has_generator(waiting) {
        return false;
    }
    // Its output may be its input.
    if end.address() == message + 8 {
        return false;
    }
    let (cons, tail) = open_cons(worker, cell(message));
    write(end.address(), cons);
    if waiting != UNBOUND {
        worker.resume(waiting);
    }
    worker.store(place + TAIL, tail);
    worker.wait_behind(record, worker.system_goals.merge, message);
    true
}

#[inline(never)]
fn forward_few(worker: &mut Worker, record: Record) -> bool {
    let merger = deref(worker.record_argument(record, 1));
    let place = merger.address();
    if merger.tag() != Tag::Object || header_class(read(place)) != layout::MERGER {
        return false;
    }
    let Some(open) = claim(worker, place) else { return false };
    let (input, tail) = (worker.record_argument(record, 0), read(place + TAIL));
    let (rest, tail) = forward_list(worker, input, tail);
    release(worker, place, tail, open);
    worker.wait_again(record, worker.system_goals.merge, rest)
}

/// Forwards the messages that a list begins with, a batch at most: the rest, dereferenced, and the new tail.
#[inline(always)]
fn forward_list(worker: &mut Worker, input: Word, mut tail: Word) -> (Word, Word) {
    let (mut rest, mut left) = (deref(input), BATCH);
    while rest.tag() == Tag::Cons && left > 0 {
        let address = rest.address();
        let (cons, new_tail) = open_cons(worker, cell(address));
        let end = deref(tail);
        if !worker.bind_at_once(end, cons) {
            worker.unify(end, cons);
        }
        tail = new_tail;
        left -= 1;
        rest = value_at(address + 8);
    }
    (rest, tail)
}

/// The same with all that an input may be. The merger is claimed.
fn forward_claimed(
    worker: &mut Worker,
    [input, merger]: [Word; 2],
    mut tail: Word,
    mut open: i64,
) -> Outcome {
    let (mut next, mut inputs) = (Some(input), Stack::new());
    while let Some(input) = next {
        let (rest, new_tail) = forward_list(worker, input, tail);
        tail = new_tail;
        match rest.tag() {
            // The batch is over.
            Tag::Cons => {
                next = Some(rest);
                break;
            }
            Tag::Ref => worker.spawn_waiting(worker.system_goals.merge, [rest, merger], rest),
            Tag::Atom if rest == Word::NIL => open -= 1,
            _ => match worker.vector_elements(rest) {
                Some(elements) => {
                    open += elements.len() as i64 - 1;
                    inputs.extend(elements.into_iter().rev());
                }
                None => {
                    let message = format!(
                        "a merger's input must be a list or a vector of inputs, not {}",
                        super::describe(worker, rest)
                    );
                    return error(ErrorKind::ArgumentType, message);
                }
            },
        }
        next = if inputs.items().is_empty() { None } else { attempt!(inputs.pop(worker)) };
    }
    release(worker, deref(merger).address(), tail, Word::small(open));
    if open == 0 {
        worker.unify(tail, Word::NIL);
    }
    // What the batch left: the first one on top.
    for &input in inputs.items().iter().chain(&next) {
        worker.spawn(worker.system_goals.merge, &[input, merger]);
    }
    Outcome::Done
}

fn merge(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    start(worker, inputs[0], inputs[1])
}

fn input(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    if worker.class_of(inputs[1]) != Some(layout::MERGER) {
        return wrong(worker, 2, "a merger", inputs[1]);
    }
    forward(worker, inputs[0], inputs[1])
}

/// The process that waits for an input: module, name and number of arguments.
pub(crate) const PROCESS: (&str, &str, usize) = ("gcmerge", "in", 2);

pub(super) const NATIVES: &[Row] =
    &[body("gcmerge", "merge", "aa", merge), process(PROCESS.0, PROCESS.1, "ia", input, resumed)];
