//! Natives of module `file_io`: messages to file streams.
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
//! Invariant S1: a message has its whole effect or none before `serve` answers `busy` with it in front.

use super::buffers::{Fd, File, IoError, Ready};
use super::{Io, events, read};
use crate::builtins::{Row, describe, error, goal, integer};
use crate::native::Outcome;
use crate::outcome::ErrorKind;
use crate::terms::View;
use crate::worker::Worker;
use rustix::fs::SeekFrom;
use syntax::lexer::TermScanner;
use syntax::operators::OpTable;
use term::symbol::NIL;
use term::{Atom, Word};

/// Messages that one call of `serve` handles at most: other goals get their turn.
const BATCH: usize = 1000;

/// Which messages a stream understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Those of `klicio` and `unix`.
    File,
    /// Those of module `io`.
    Simple,
}

/// A reader or writer of a file.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(super) file: usize,
    kind: Kind,
    /// The program closed the file (`fclose`), the stream goes on.
    closed: bool,
    /// Own operators, once changed.
    pub(super) ops: Option<Box<OpTable>>,
    /// `on_error(N)`, N < 0: a syntax error ends the program with this status.
    pub(super) on_error: i64,
    /// Where `gett` is in the term that has not come completely.
    pub(super) scanner: TermScanner,
}

impl Stream {
    /// From now on it understands the messages of module `io`.
    pub(super) fn make_simple(&mut self) {
        self.kind = Kind::Simple;
    }
    pub(super) fn new(file: usize, kind: Kind) -> Stream {
        Stream { file, kind, closed: false, ops: None, on_error: 0, scanner: TermScanner::new() }
    }
}

/// What became of a message.
pub(super) enum Step {
    /// Handled.
    Done,
    /// Try it again when this variable is bound.
    Wait(Word),
    /// A term is to be written when it is ground: the unbound variable found, and what is still unseen.
    Ground(Word, Word),
    /// The stream does not understand it.
    Unknown,
    /// The program ends.
    Error(Outcome),
}

impl From<Outcome> for Step {
    fn from(outcome: Outcome) -> Step {
        match outcome {
            Outcome::Done => Step::Done,
            Outcome::Wait(variable) => Step::Wait(variable),
            other => Step::Error(other),
        }
    }
}

impl From<IoError> for Step {
    fn from(error: IoError) -> Step {
        Step::Error(Outcome::Error(error.program_error()))
    }
}

macro_rules! step {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(stop) => return Step::from(stop),
        }
    };
}

/// The ready value of a file operation, or the step that waits for it.
macro_rules! ready {
    ($worker:expr, $result:expr) => {
        match $result {
            Ok(Ready::Now(value)) => value,
            Ok(Ready::Later(fd, direction)) => {
                return Step::Wait(events::when_ready($worker, fd, direction));
            }
            Err(error) => return Step::from(error),
        }
    };
}
pub(super) use step;

/// A stream of this worker. `None` after it was closed (only a program that passes numbers itself can do that).
fn stream(worker: &mut Worker, handle: Word) -> Option<(usize, &mut Stream)> {
    let place = usize::try_from(worker.small(handle)?).ok()?;
    worker.state::<Io>().streams.get_mut(place).map(|stream| (place, stream))
}

fn serve(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let Some((place, _)) = stream(worker, inputs[1]) else {
        return error(ErrorKind::Other, "this stream was closed");
    };
    let mut rest = inputs[0];
    for _ in 0..BATCH {
        let (message, next) = match worker.view(rest) {
            View::Cons(message, next) => (message, next),
            View::Unbound(_) => {
                idle(worker, place);
                break;
            }
            View::Atom(NIL) => return close(worker, place, rest, outputs),
            _ => {
                let message = format!("a stream must be a list of messages, not {}", describe(worker, rest));
                return error(ErrorKind::ReductionFailure, message);
            }
        };
        if let Some(stop) = finish(worker, place, message, rest, |worker| handle(worker, place, message)) {
            return stop(outputs);
        }
        rest = next;
    }
    outputs[0] = state(worker, "open", &[rest]);
    Outcome::Done
}

/// `resume(V,Work,S,H,State)`: V is bound; goes on looking for variables in a term that is to be written.
fn resume(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let [seen, work, rest, handle] = *inputs else { return Outcome::No };
    let Some((place, _)) = stream(worker, handle) else {
        return error(ErrorKind::Other, "this stream was closed");
    };
    let View::Cons(message, next) = worker.view(rest) else { return Outcome::No };
    let more = worker.cons(seen, work);
    let run = |worker: &mut Worker| write_when_ground(worker, place, message, more);
    if let Some(stop) = finish(worker, place, message, rest, run) {
        return stop(outputs);
    }
    outputs[0] = state(worker, "open", &[next]);
    Outcome::Done
}

fn state(worker: &mut Worker, name: &str, args: &[Word]) -> Word {
    let name = worker.intern(name);
    worker.structure(name, args)
}

type Stop = Box<dyn FnOnce(&mut [Word]) -> Outcome>;

/// Runs one message; `Some` if the stream cannot go on now.
fn finish(
    worker: &mut Worker,
    place: usize,
    message: Word,
    rest: Word,
    run: impl FnOnce(&mut Worker) -> Step,
) -> Option<Stop> {
    let answer = |state: Word| -> Option<Stop> {
        Some(Box::new(move |outputs: &mut [Word]| {
            outputs[0] = state;
            Outcome::Done
        }))
    };
    match run(worker) {
        Step::Done => None,
        Step::Wait(variable) => answer(state(worker, "busy", &[variable, rest])),
        Step::Ground(variable, work) => answer(state(worker, "ground", &[variable, work, rest])),
        Step::Error(outcome) => Some(Box::new(move |_: &mut [Word]| outcome)),
        Step::Unknown => {
            let outcome = unknown(worker, place, message);
            Some(Box::new(move |_: &mut [Word]| outcome))
        }
    }
}

fn unknown(worker: &mut Worker, place: usize, message: Word) -> Outcome {
    let text = worker.term_text(message);
    let io = worker.state::<Io>();
    let Some(stream) = io.streams.get_mut(place) else { return Outcome::No };
    let (file, kind) = (stream.file, stream.kind);
    let name = io.file(file).map_or("a closed file", |file| &file.name);
    let kind = if kind == Kind::Simple { ErrorKind::ReductionFailure } else { ErrorKind::Other };
    error(kind, format!("illegal message {text} to the I/O stream for {name}"))
}

/// The program has no message at the moment: interactive readers get what was written.
fn idle(worker: &mut Worker, place: usize) {
    let io = worker.state::<Io>();
    let Some(stream) = io.streams.get_mut(place) else { return };
    let place = stream.file;
    if let Some(file) = io.file(place)
        && !Io::is_standard(place)
        && file.is_interactive()
    {
        // What cannot be written now stays in the buffer; an error shows at the next message or at the end.
        let _ = file.flush();
    }
}

/// The end of the stream: its file is written out and closed.
fn close(worker: &mut Worker, place: usize, rest: Word, outputs: &mut [Word]) -> Outcome {
    let io = worker.state::<Io>();
    let Some(stream) = io.streams.get_mut(place) else { return Outcome::No };
    let file_place = stream.file;
    let mut collected = None;
    if let Some(file) = io.file(file_place)
        && !Io::is_standard(file_place)
    {
        match file.flush() {
            Ok(Ready::Now(())) => {}
            Ok(Ready::Later(fd, direction)) => {
                let variable = events::when_ready(worker, fd, direction);
                outputs[0] = state(worker, "busy", &[variable, rest]);
                return Outcome::Done;
            }
            Err(error) => return Outcome::Error(error.program_error()),
        }
        collected = file.take_collected();
    }
    io.close_stream(place);
    let result = match collected {
        Some(bytes) => worker.string(&bytes),
        None => Word::NIL,
    };
    outputs[0] = state(worker, "closed", &[result]);
    Outcome::Done
}

/// Name and arguments of a message; an integer is `putc`.
fn parts(worker: &Worker, message: Word) -> Option<(Atom, Vec<Word>)> {
    match worker.view(message) {
        View::Atom(name) => Some((name, Vec::new())),
        View::Struct(name, arity) if arity <= 3 => {
            Some((name, (0..arity).map(|i| worker.arg(message, i)).collect()))
        }
        _ => None,
    }
}

fn handle(worker: &mut Worker, place: usize, message: Word) -> Step {
    match worker.view(message) {
        View::Unbound(variable) => return Step::Wait(variable),
        View::Int(_) => return put_byte(worker, place, message),
        _ => {}
    }
    let Some((name, args)) = parts(worker, message) else { return Step::Unknown };
    let name = worker.atoms.text(name).to_vec();
    let io = worker.state::<Io>();
    let Some(stream) = io.streams.get_mut(place) else { return Step::Unknown };
    let (kind, closed, file) = (stream.kind, stream.closed, stream.file);
    let Some(file) = io.file(file) else { return Step::Unknown };
    let (reads, writes) = (file.reads() && !closed, file.writes() && !closed);
    let simple = kind == Kind::Simple;
    match (&name[..], &args[..]) {
        (b"sync", [answer]) => give(worker, *answer, Word::small(0)),
        (b"putc", [code]) if writes => put_byte(worker, place, *code),
        (b"nl", []) if writes => put(worker, place, b"\n"),
        (b"putt" | b"puttq" | b"putwt" | b"putwtq", [term]) if writes && !simple => {
            let work = worker.cons(*term, Word::NIL);
            write_when_ground(worker, place, message, work)
        }
        (b"print", [term]) if writes && simple => {
            let work = worker.cons(*term, Word::NIL);
            write_when_ground(worker, place, message, work)
        }
        (b"puts", [text]) if writes && simple => put_string(worker, place, *text),
        (b"flush", []) if writes && simple => flush(worker, place),
        (b"getc", [answer]) if reads => get_byte(worker, place, *answer),
        (_, _) if simple => Step::Unknown,
        (b"fwrite", [text]) if writes => put_string(worker, place, *text),
        (b"fwrite", [text, count]) if writes => write_counted(worker, place, *text, *count),
        (b"fflush", [answer]) if writes => flush_answering(worker, place, *answer),
        (b"ungetc", [code]) if reads => unget_byte(worker, place, *code),
        (b"fread", [count, answer]) if reads => read_bytes(worker, place, *count, *answer),
        (b"gett", [answer]) if reads => read::get_term(worker, place, *answer),
        (b"linecount", [answer]) if reads => {
            let lines = with_file(worker, place, |file| file.line_count());
            give(worker, *answer, Word::small(lines))
        }
        (b"feof", [answer]) if reads => {
            let end = with_file(worker, place, |file| file.at_end());
            give(worker, *answer, Word::small(end.into()))
        }
        (b"fseek", [offset, whence, answer]) => seek(worker, place, [*offset, *whence, *answer]),
        (b"ftell", [answer]) => {
            let position = with_file(worker, place, |file| file.tell());
            give(worker, *answer, Word::small(position))
        }
        (b"fclose", [answer]) => close_file(worker, place, *answer),
        (b"addop", [op, kind, priority]) => read::add_operator(worker, place, [*op, *kind, *priority]),
        (b"rmop", [op, kind]) => read::remove_operator(worker, place, *op, *kind),
        (b"on_error", [status]) => {
            let status = step!(integer(worker, 1, *status));
            if let Some(stream) = worker.state::<Io>().streams.get_mut(place) {
                stream.on_error = status;
            }
            Step::Done
        }
        _ => Step::Unknown,
    }
}

fn give(worker: &mut Worker, variable: Word, value: Word) -> Step {
    worker.unify(variable, value);
    Step::Done
}

/// Runs an operation on the file of a stream that `handle` has seen to have one.
pub(super) fn with_file<T: Default>(
    worker: &mut Worker,
    place: usize,
    run: impl FnOnce(&mut File) -> T,
) -> T {
    let io = worker.state::<Io>();
    let Some(file) = io.streams.get_mut(place).map(|stream| stream.file) else { return T::default() };
    io.file(file).map(run).unwrap_or_default()
}

// ---- output ----------------------------------------------------------------------------------------

/// Bytes into the buffer of a stream; a full one is written.
pub(super) fn put(worker: &mut Worker, place: usize, bytes: &[u8]) -> Step {
    let io = worker.state::<Io>();
    let Some(number) = io.streams.get_mut(place).map(|stream| stream.file) else { return Step::Unknown };
    let Some(file) = io.file(number) else { return Step::Unknown };
    // S1: wait before, not after, so that nothing is written twice.
    if !Io::is_standard(number) && file.wants_flush() {
        ready!(worker, file.flush());
        return put(worker, place, bytes);
    }
    file.put(bytes);
    if Io::is_standard(number) && (number == super::STDERR || file.wants_flush()) {
        step!(file.flush_waiting());
    }
    Step::Done
}

fn put_byte(worker: &mut Worker, place: usize, code: Word) -> Step {
    if !with_file(worker, place, |file| file.writes()) {
        return Step::Unknown;
    }
    let code = step!(integer(worker, 1, code));
    // As in C: the low 8 bits count.
    put(worker, place, &[code as u8])
}

fn put_string(worker: &mut Worker, place: usize, text: Word) -> Step {
    let bytes = step!(crate::builtins::bytes(worker, 1, text));
    put(worker, place, &bytes)
}

fn write_counted(worker: &mut Worker, place: usize, text: Word, count: Word) -> Step {
    let bytes = step!(crate::builtins::bytes(worker, 1, text));
    match put(worker, place, &bytes) {
        Step::Done => give(worker, count, Word::small(bytes.len() as i64)),
        Step::Error(_) => give(worker, count, Word::small(0)),
        other => other,
    }
}

fn flush(worker: &mut Worker, place: usize) -> Step {
    let io = worker.state::<Io>();
    let Some(number) = io.streams.get_mut(place).map(|stream| stream.file) else { return Step::Unknown };
    let Some(file) = io.file(number) else { return Step::Unknown };
    if Io::is_standard(number) {
        step!(file.flush_waiting());
    } else {
        ready!(worker, file.flush());
    }
    Step::Done
}

fn flush_answering(worker: &mut Worker, place: usize, answer: Word) -> Step {
    match flush(worker, place) {
        Step::Done => give(worker, answer, Word::small(0)),
        Step::Error(_) => give(worker, answer, Word::small(-1)),
        other => other,
    }
}

/// Writes the term of a `putt` or `print` message once no variable is left in the terms of the list `work`.
fn write_when_ground(worker: &mut Worker, place: usize, message: Word, work: Word) -> Step {
    let Some((name, args)) = parts(worker, message) else { return Step::Unknown };
    let name = worker.atoms.text(name).to_vec();
    let into_vectors = name != b"print";
    if let Some((variable, work)) = find_variable(worker, work, into_vectors) {
        return Step::Ground(variable, work);
    }
    let text = match &name[..] {
        b"print" => super::text::print(worker, args[0]),
        b"putwt" | b"putwtq" => read::unparse(worker, place, args[0], true),
        _ => read::unparse(worker, place, args[0], false),
    };
    put(worker, place, &text)
}

/// The first unbound variable in the terms of a list, and the list of what was not looked at yet. What was seen is
/// never looked at again.
fn find_variable(worker: &mut Worker, work: Word, into_vectors: bool) -> Option<(Word, Word)> {
    let mut stack = Vec::new();
    let mut rest = work;
    // The list is the stack of an earlier call: its first element is the top.
    while let View::Cons(car, cdr) = worker.view(rest) {
        stack.push(car);
        rest = cdr;
    }
    stack.reverse();
    while let Some(term) = stack.pop() {
        match worker.view(term) {
            View::Unbound(variable) => {
                let work = stack.iter().fold(Word::NIL, |list, &term| worker.cons(term, list));
                return Some((variable, work));
            }
            View::Cons(car, cdr) => stack.extend([cdr, car]),
            View::Struct(_, arity) => stack.extend((0..arity).rev().map(|i| worker.arg(term, i))),
            View::Object(_) if into_vectors => {
                if let Some(elements) = worker.vector_elements(term) {
                    stack.extend(elements.into_iter().rev());
                }
            }
            View::Int(_) | View::Atom(_) | View::Object(_) => {}
        }
    }
    None
}

// ---- input -----------------------------------------------------------------------------------------

fn get_byte(worker: &mut Worker, place: usize, answer: Word) -> Step {
    let io = worker.state::<Io>();
    let Some(file) = io.streams.get_mut(place).map(|stream| stream.file) else { return Step::Unknown };
    let Some(file) = io.file(file) else { return Step::Unknown };
    let byte = ready!(worker, file.get_byte());
    give(worker, answer, Word::small(byte.map_or(-1, i64::from)))
}

fn unget_byte(worker: &mut Worker, place: usize, code: Word) -> Step {
    let code = step!(integer(worker, 1, code));
    // As in C: pushing back the end of the file does nothing.
    if code >= 0 {
        with_file(worker, place, |file| file.unget(code as u8));
    }
    Step::Done
}

fn read_bytes(worker: &mut Worker, place: usize, count: Word, answer: Word) -> Step {
    let count = step!(integer(worker, 1, count));
    let count = step!(crate::builtins::vectors::size(1, count));
    let io = worker.state::<Io>();
    let Some(file) = io.streams.get_mut(place).map(|stream| stream.file) else { return Step::Unknown };
    let Some(file) = io.file(file) else { return Step::Unknown };
    let bytes = ready!(worker, file.read(count));
    let string = worker.string(&bytes);
    give(worker, answer, string)
}

fn seek(worker: &mut Worker, place: usize, [offset, whence, answer]: [Word; 3]) -> Step {
    let offset = step!(integer(worker, 1, offset));
    let whence = step!(integer(worker, 2, whence));
    let to = match whence {
        0 => u64::try_from(offset).ok().map(SeekFrom::Start),
        1 => Some(SeekFrom::Current(offset)),
        2 => Some(SeekFrom::End(offset)),
        _ => None,
    };
    match flush(worker, place) {
        Step::Done => {}
        other => return other,
    }
    let done = to.is_some_and(|to| with_file(worker, place, |file| file.seek(to)));
    give(worker, answer, Word::small(if done { 0 } else { -1 }))
}

/// `fclose(R)`: the file is closed now; standard files are only written out.
fn close_file(worker: &mut Worker, place: usize, answer: Word) -> Step {
    let result = match flush(worker, place) {
        Step::Done => 0,
        Step::Error(_) => -1,
        other => return other,
    };
    if let Some(stream) = worker.state::<Io>().streams.get_mut(place) {
        stream.closed = true;
        let file = stream.file;
        if !Io::is_standard(file) {
            with_file(worker, place, File::close);
        }
    }
    give(worker, answer, Word::small(result))
}

/// A descriptor as a stream's file, for requests.
pub(super) fn open(worker: &mut Worker, name: String, input: Option<Fd>, output: Option<Fd>) -> Word {
    let io = worker.state::<Io>();
    let file = io.add_file(File::new(name, input, output));
    Word::small(io.open_stream(file, Kind::File) as i64)
}

pub(in crate::builtins) const NATIVES: &[Row] =
    &[goal("file_io", "serve", "iio", serve), goal("file_io", "resume", "iaaio", resume)];
