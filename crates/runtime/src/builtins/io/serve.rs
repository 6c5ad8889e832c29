//! Natives of module `file_io`: the messages of a stream are served.
//!
//! `serve(S,H,State)` handles the messages that `S` has, and says how to go on:
//!
//! | State               | meaning                                                                  |
//! |---------------------|--------------------------------------------------------------------------|
//! | `open(S)`           | the rest of the stream, when it comes                                    |
//! | `busy(V,S)`         | the first message of `S` waits for `V`; then serve `S`                   |
//! | `ground(V,Work,S)`  | as `busy`, but `resume` goes on: `Work` is what of the term is unseen    |
//! | `closed(X)`         | the end; `X` is the text of a stream on a string, else `[]`              |
//!
//! `serve` has a variable as its state when it waits for the next message: the goal that does, `stream(S,H,State)`,
//! serves it on the spot, and binds the variable to one of these when the stream cannot go on.
//!
//! Invariant I7: a message has its whole effect or none before `serve` answers `busy` with it in front.

use super::buffers::Ready;
use super::streams::{Kind, Step, handle_message, only_writes, state, write_when_ground};
use super::{Io, batches, events, read};
use crate::builtins::{Row, describe, error, goal, home, method, process};
use crate::memory::ranges::{pointer, write};
use crate::reports::outcome::{ErrorKind, ProgramError};
use crate::terms::print::Names;
use crate::terms::{View, deref};
use crate::worker::Worker;
use crate::worker::native::{Outcome, Record, Seat};
use term::Word;
use term::symbol::{NIL, OPEN};
use term::word::{Tag, functor_header};

/// Messages that one call of `serve` handles at most: other goals get their turn.
pub(super) const BATCH: usize = 4096;

/// How far the messages of a stream were served.
enum Served {
    /// To the end of what is there, or of a batch: the rest, dereferenced.
    Open(Word),
    /// So far that this is the state.
    Ended(Word),
    /// The program ends.
    Stop(Outcome),
}

/// The process that waits for a stream's next message: module, name and number of arguments.
pub(crate) const PROCESS: (&str, &str, usize) = ("file_io", "stream", 3);

fn serve(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let [messages, handle] = *inputs else { return Outcome::No };
    if is_late(worker, handle) {
        outputs[0] = worker.new_variable();
        return Outcome::Done;
    }
    outputs[0] = match serve_messages(worker, messages, handle) {
        Served::Open(rest) if rest.tag() == Tag::Ref => {
            let state = worker.new_variable();
            wait(worker, [rest, handle, state]);
            state
        }
        Served::Open(rest) => open(worker, rest),
        Served::Ended(state) => state,
        Served::Stop(outcome) => return outcome,
    };
    Outcome::Done
}

/// `stream(S,H,State)`: serves all of `S`; `State` is bound when it cannot.
fn stream_process(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    let [messages, handle, state] = *inputs else { return Outcome::No };
    let process = worker.system_goals.stream;
    if worker.send_to_seat(Seat::Home, process, inputs) {
        return Outcome::Done;
    }
    if is_late(worker, handle) {
        return Outcome::Done;
    }
    match serve_messages(worker, messages, handle) {
        Served::Open(rest) if rest.tag() == Tag::Ref => wait(worker, [rest, handle, state]),
        Served::Open(rest) => worker.spawn(process, &[rest, handle, state]),
        Served::Ended(ended) => worker.unify(state, ended),
        Served::Stop(outcome) => return named(worker, outcome, inputs),
    }
    Outcome::Done
}

fn is_late(worker: &mut Worker, handle: Word) -> bool {
    super::is_late(worker, |io| &mut io.streams, place(handle), |stream| stream.lane)
}

/// The process waits for its next message, or is one of a batch.
fn wait(worker: &mut Worker, [rest, handle, state]: [Word; 3]) {
    if !batches::begin(worker, place(handle), rest, state) {
        worker.spawn_waiting(worker.system_goals.stream, [rest, handle, state], rest);
    }
}

/// It was resumed: most often what has come is quick.
#[inline(always)]
pub(crate) fn resumed(worker: &mut Worker, record: Record) -> bool {
    worker.is_home() && (worker.get_at_once(record) || other_resumed(worker, record))
}
#[inline(never)]
fn other_resumed(worker: &mut Worker, record: Record) -> bool {
    worker.with_streams(|worker, io| io.resumed(worker, record)).unwrap_or(false)
        || becomes_batch(worker, record)
}
#[cold]
fn becomes_batch(worker: &mut Worker, record: Record) -> bool {
    let [rest, handle, state] = [0, 1, 2].map(|index| deref(worker.record_argument(record, index)));
    if rest.tag() != Tag::Ref {
        return false;
    }
    let begins = batches::begin(worker, place(handle), rest, state);
    if begins {
        worker.spend(record.0, PROCESS.2);
    }
    begins || worker.wait_again(record, worker.system_goals.stream, rest)
}

/// An error of a stream shows the goal that the library calls.
#[cold]
fn named(worker: &Worker, outcome: Outcome, args: &[Word]) -> Outcome {
    let Outcome::Error(mut error) = outcome else { return outcome };
    let names = [PROCESS.0, "serve"].map(|name| worker.atoms.intern(name.as_bytes()));
    if let Some(serve) = worker.predicates.lookup(names[0], names[1], args.len()) {
        error.goal = worker.goal_text(&mut Names::default(), serve, args);
    }
    Outcome::Error(error)
}

fn open(worker: &mut Worker, rest: Word) -> Word {
    let open = worker.allocate(2);
    write(open, functor_header(OPEN, 1));
    write(open + 8, rest);
    pointer(Tag::Struct, open)
}

/// A stream's place.
#[inline(always)]
pub(super) fn place(handle: Word) -> usize {
    let number = deref(handle);
    if number.tag() == Tag::Int { number.as_int() as usize } else { usize::MAX }
}

#[inline(never)]
fn serve_messages(worker: &mut Worker, messages: Word, handle: Word) -> Served {
    let place = place(handle);
    let (mut rest, mut left) = (messages, BATCH);
    if !begin(worker, place) {
        return Served::Stop(error(ErrorKind::Other, "this stream was closed"));
    }
    loop {
        rest = worker.quick_messages(place, rest, &mut left);
        if left == 0 || rest.tag() == Tag::Ref {
            return Served::Open(rest);
        }
        let (message, next) = match worker.view(rest) {
            View::Cons(message, next) => (message, next),
            View::Atom(NIL) => return close(worker, place, rest),
            _ => {
                let message = format!("a stream must be a list of messages, not {}", describe(worker, rest));
                return Served::Stop(error(ErrorKind::ReductionFailure, message));
            }
        };
        let step = handle_message(worker, place, message);
        if let Some(end) = finish(worker, place, message, rest, step) {
            return end;
        }
        count(worker, place, message);
        (rest, left) = (next, left - 1);
    }
}

/// A stream is about to be served: what was sent before to the same file goes first. False if there is no such stream.
fn begin(worker: &mut Worker, place: usize) -> bool {
    let io = worker.io();
    let Some(output) = io.streams.get_mut(place).map(|stream| stream.output) else { return false };
    if io.has_batch_before(output) {
        batches::serve(worker, Some(output));
    }
    true
}

/// A message was handled: the stream is calm as long as they only write.
fn count(worker: &mut Worker, place: usize, message: Word) {
    let writes = only_writes(worker, message);
    if let Some(stream) = worker.io().streams.get_mut(place) {
        stream.calm = if writes { stream.calm.saturating_add(1) } else { 0 };
    }
}

/// `resume(V,Work,S,H,State)`: V is bound; goes on looking for variables in a term that is to be written.
fn resume(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let [seen, work, rest, handle] = *inputs else { return Outcome::No };
    if is_late(worker, handle) {
        outputs[0] = worker.new_variable();
        return Outcome::Done;
    }
    let Some(place) = stream(worker, handle).filter(|&place| begin(worker, place)) else {
        return error(ErrorKind::Other, "this stream was closed");
    };
    let View::Cons(message, next) = worker.view(rest) else { return Outcome::No };
    if let View::Unbound(message) = worker.view(message) {
        // The server was at another node, and its copy of the message is there: it comes.
        return Outcome::Wait(message);
    }
    let more = worker.cons(seen, work);
    let step = write_when_ground(worker, place, message, more);
    outputs[0] = match finish(worker, place, message, rest, step) {
        None => open(worker, next),
        Some(Served::Open(rest)) => open(worker, rest),
        Some(Served::Ended(state)) => state,
        Some(Served::Stop(outcome)) => return outcome,
    };
    Outcome::Done
}

/// What became of a message: `Some` if the stream cannot go on now.
fn finish(worker: &mut Worker, place: usize, message: Word, rest: Word, step: Step) -> Option<Served> {
    Some(match step {
        Step::Done => return None,
        Step::Wait(variable) => {
            // A server at another node may have its value already, and would only come back.
            worker.read_abroad(variable);
            Served::Ended(state(worker, "busy", &[variable, rest]))
        }
        Step::Ground(variable, work) => Served::Ended(state(worker, "ground", &[variable, work, rest])),
        Step::Error(outcome) => Served::Stop(in_message(worker, place, message, outcome)),
        Step::Unknown => Served::Stop(unknown(worker, place, message)),
    })
}

/// An error of a message names it.
#[cold]
fn in_message(worker: &mut Worker, place: usize, message: Word, outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Error(error) if matches!(error.kind, ErrorKind::ArgumentType | ErrorKind::Range) => {
            let (text, name) = (worker.term_text(message), worker.io().name(place));
            Outcome::Error(error.detail(format!("in the message {text} to the stream for {name}")))
        }
        other => other,
    }
}

/// What a stream of module `io` understands.
const SIMPLE: &str = "a stream of module `io` understands print(T), puts(S), format(S,Ts), putc(C), nl, flush, getc(C), getl(L) and sync(R)";
/// What one of `klicio` or `unix` does that writes.
const WRITES: &str = "a stream to write to understands putt(T), fwrite(S), putc(C), nl, fflush(R), fclose(R) and \
                      others (docs/library.md)";
/// What one of these does that reads.
const READS: &str = "a stream to read from understands gett(T), getc(C), fread(N,S), ungetc(C), feof(B), fclose(R) \
                     and others (docs/library.md)";

#[cold]
fn unknown(worker: &mut Worker, place: usize, message: Word) -> Outcome {
    let text = worker.term_text(message);
    let io = worker.io();
    let Some(stream) = io.streams.get_mut(place) else { return Outcome::No };
    let (input, output, kind, closed) = (stream.input, stream.output, stream.kind(), stream.closed);
    let reads = !closed && io.file(input).is_some_and(|file| file.reads());
    let writes = !closed && io.file(output).is_some_and(|file| file.writes());
    let message = format!("illegal message {text} to the I/O stream for {}", io.name(place));
    if kind == Kind::Simple {
        return Outcome::Error(ProgramError::new(ErrorKind::ReductionFailure, message).detail(SIMPLE));
    }
    let error = ProgramError::new(ErrorKind::Other, message);
    let error = if writes { error.detail(WRITES) } else { error };
    let error = if reads { error.detail(READS) } else { error };
    Outcome::Error(if closed { error.detail("it was closed by an fclose message") } else { error })
}

/// The end of the stream: its file is written out and closed.
fn close(worker: &mut Worker, place: usize, rest: Word) -> Served {
    let io = worker.io();
    let Some(stream) = io.streams.get_mut(place) else { return Served::Stop(Outcome::No) };
    let output = stream.output;
    let mut collected = None;
    if let Some(file) = io.file(output)
        && !Io::is_standard(output)
    {
        match file.flush() {
            Ok(Ready::Now(())) => {}
            Ok(Ready::Later(fd, direction)) => {
                let variable = events::when_ready(worker, fd, direction);
                return Served::Ended(state(worker, "busy", &[variable, rest]));
            }
            Err(error) => return Served::Stop(Outcome::Error(error.program_error())),
        }
        collected = file.take_collected();
    }
    io.close_stream(place);
    let result = match collected {
        Some(bytes) => worker.string(&bytes),
        None => Word::NIL,
    };
    Served::Ended(state(worker, "closed", &[result]))
}

/// The number of a stream of this worker. `None` after it was closed (only a program that passes numbers itself can
/// do that).
fn stream(worker: &mut Worker, handle: Word) -> Option<usize> {
    let handle = deref(handle);
    let place = usize::try_from(handle.as_int()).ok().filter(|_| handle.tag() == Tag::Int)?;
    worker.io().streams.get_mut(place).map(|_| place)
}

pub(in crate::builtins) const NATIVES: &[Row] = &[
    home(method("file_io", "serve", "iio", serve)),
    process(PROCESS.0, PROCESS.1, "iia", stream_process, resumed),
    home(goal("file_io", "resume", "iaiio", resume)),
    home(goal("klicio", "default_operator_table", "o", read::default_operators)),
];
