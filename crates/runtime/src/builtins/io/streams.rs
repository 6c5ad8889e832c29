//! Messages to file streams: what each of them does (see `serve` for who calls this).

use super::buffers::{File, Ready};
use super::errors::IoError;
use super::{Io, events, read};
use crate::builtins::{formats, integer, with_bytes, wrong};
use crate::reports::outcome::{ErrorKind, ProgramError};
use crate::terms::order::AHEAD;
use crate::terms::walk::{STEPS, Stack};
use crate::terms::{View, deref};
use crate::worker::Worker;
use crate::worker::native::Outcome;
use rustix::fs::SeekFrom;
use syntax::lexer::TermScanner;
use syntax::operators::OpTable;
use term::symbol::{self, OPEN};
use term::{Atom, Word};

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
    /// The files that are read and written; often the same.
    pub(super) input: usize,
    pub(super) output: usize,
    /// Somebody may be waiting for what is written: a pipe, socket or terminal, but none of the standard files.
    pub(super) interactive: bool,
    kind: Kind,
    /// The program closed the file (`fclose`), the stream goes on.
    pub(super) closed: bool,
    /// Messages in a row that only wrote: see `batches`.
    pub(super) calm: u32,
    /// Whose it is: a priority, or a lane.
    pub(super) lane: i64,
    /// Own operators, once changed.
    pub(super) ops: Option<Box<OpTable>>,
    /// `on_error(N)`. N < 0: a syntax error ends the program with this status.
    pub(super) on_error: Option<i64>,
    /// Where `gett` is in the term that has not come completely.
    pub(super) scanner: TermScanner,
}

impl Stream {
    /// The program closed its file.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }
    pub(super) fn kind(&self) -> Kind {
        self.kind
    }
    /// From now on it understands the messages of module `io`.
    pub(super) fn make_simple(&mut self) {
        self.kind = Kind::Simple;
    }
    pub(super) fn new(input: usize, output: usize, interactive: bool, kind: Kind) -> Stream {
        Stream {
            input,
            output,
            interactive,
            kind,
            closed: false,
            calm: 0,
            lane: 0,
            ops: None,
            on_error: None,
            scanner: TermScanner::new(),
        }
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

impl Step {
    /// An error that the message's own answer tells; one that ends the program all the same is none.
    fn is_answered(&self) -> bool {
        match self {
            Step::Error(Outcome::Error(error)) => error.kind != ErrorKind::ReaderGone,
            Step::Error(_) => true,
            _ => false,
        }
    }
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

impl From<Box<ProgramError>> for Step {
    fn from(error: Box<ProgramError>) -> Step {
        Step::Error(Outcome::Error(error))
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

/// What `serve` answers.
pub(super) fn state(worker: &mut Worker, name: &str, args: &[Word]) -> Word {
    let name = worker.intern(name);
    worker.structure(name, args)
}

/// A message has this number of arguments at most.
const ARGUMENTS_MAX: usize = 3;

/// Name and arguments of a message, and their number.
fn parts(worker: &Worker, message: Word) -> Option<(Atom, [Word; ARGUMENTS_MAX], usize)> {
    let mut args = [Word::NIL; ARGUMENTS_MAX];
    match worker.view(message) {
        View::Atom(name) => Some((name, args, 0)),
        View::Struct(name, arity) if arity <= ARGUMENTS_MAX => {
            for (i, arg) in args[..arity].iter_mut().enumerate() {
                *arg = worker.arg(message, i);
            }
            Some((name, args, arity))
        }
        _ => None,
    }
}

/// Whether a message has no answer.
pub(super) fn only_writes(worker: &Worker, message: Word) -> bool {
    use symbol::{FWRITE, NEWLINE, PRINT, PUTC, PUTS, PUTT, PUTTQ, PUTWT, PUTWTQ};
    match worker.view(message) {
        View::Int(_) => true,
        View::Atom(name) => name == NEWLINE,
        View::Struct(name, 1) => [PUTC, PUTT, PUTTQ, PUTWT, PUTWTQ, PRINT, PUTS, FWRITE].contains(&name),
        View::Struct(name, 2) => is_format(worker, name),
        _ => false,
    }
}

/// Does what a message asks for.
pub(super) fn handle_message(worker: &mut Worker, place: usize, message: Word) -> Step {
    match worker.view(message) {
        View::Unbound(variable) => return Step::Wait(variable),
        View::Int(_) => return put_byte(worker, place, message),
        _ => {}
    }
    let Some((name, args, arity)) = parts(worker, message) else { return Step::Unknown };
    let io = worker.io();
    let Some(stream) = io.streams.get_mut(place) else { return Step::Unknown };
    let (kind, closed, input, output) = (stream.kind, stream.closed, stream.input, stream.output);
    let reads = !closed && io.file(input).is_some_and(|file| file.reads());
    let writes = !closed && io.file(output).is_some_and(|file| file.writes());
    let simple = kind == Kind::Simple;
    match (name, &args[..arity]) {
        (symbol::SYNC, [answer]) => give(worker, *answer, Word::small(0)),
        (symbol::STATUS, [answer]) if !simple => tell_status(worker, place, *answer),
        (symbol::PUTC, [code]) if writes => put_byte(worker, place, *code),
        (symbol::NEWLINE, []) if writes => put(worker, place, b"\n"),
        (symbol::PUTT | symbol::PUTTQ | symbol::PUTWT | symbol::PUTWTQ, [term]) if writes && !simple => {
            let work = worker.cons(*term, Word::NIL);
            write_when_ground(worker, place, message, work)
        }
        (symbol::PRINT, [term]) if writes && simple => {
            let work = worker.cons(*term, Word::NIL);
            write_when_ground(worker, place, message, work)
        }
        (symbol::PUTS, [text]) if writes && simple => put_string(worker, place, *text),
        (symbol::FLUSH, []) if writes && simple => flush(worker, place),
        (symbol::GETC, [answer]) if reads => get_byte(worker, place, *answer),
        (name, [answer]) if reads && is_getl(worker, name) => get_line(worker, place, *answer),
        (name, [_, _]) if simple && writes && is_format(worker, name) => {
            write_template(worker, place, message)
        }
        (_, _) if simple => Step::Unknown,
        (symbol::FWRITE, [text]) if writes => put_string(worker, place, *text),
        (symbol::FWRITE, [text, count]) if writes => write_counted(worker, place, *text, *count),
        (symbol::FFLUSH, [answer]) if writes => flush_answering(worker, place, *answer),
        (symbol::UNGETC, [code]) if reads => unget_byte(worker, place, *code),
        (symbol::FREAD, [count, answer]) if reads => read_bytes(worker, place, *count, *answer),
        (symbol::GETT, [answer]) if reads => read::get_term(worker, place, *answer, false),
        (symbol::GETWT, [answer]) if reads => read::get_term(worker, place, *answer, true),
        (symbol::LINECOUNT, [answer]) if reads => {
            let lines = input_file(worker, place).map_or(0, |file| file.line_count());
            give(worker, *answer, Word::small(lines))
        }
        (symbol::FEOF, [answer]) if reads => {
            let end = input_file(worker, place).is_some_and(|file| file.at_end());
            give(worker, *answer, Word::small(end.into()))
        }
        (symbol::FSEEK, [offset, whence, answer]) => seek(worker, place, [*offset, *whence, *answer]),
        (symbol::FTELL, [answer]) => {
            let position = if reads {
                input_file(worker, place).map_or(-1, |file| file.tell())
            } else {
                output_file(worker, place).map_or(-1, |(_, file)| file.tell())
            };
            give(worker, *answer, Word::small(position))
        }
        (symbol::FCLOSE, [answer]) => close_file(worker, place, *answer),
        (symbol::ADDOP, [op, kind, priority]) => read::add_operator(worker, place, [*op, *kind, *priority]),
        (symbol::RMOP, [op, kind]) => read::remove_operator(worker, place, *op, *kind),
        (symbol::ON_ERROR, [status]) => {
            let status = step!(integer(worker, 1, *status));
            if let Some(stream) = worker.io().streams.get_mut(place) {
                stream.on_error = Some(status);
            }
            Step::Done
        }
        (name, [_, _]) if writes && is_format(worker, name) => write_template(worker, place, message),
        _ => Step::Unknown,
    }
}

fn give(worker: &mut Worker, variable: Word, value: Word) -> Step {
    worker.answer(worker.system_goals.stream, variable, value);
    Step::Done
}

/// `status(R)`: `open`, `closed`, or `broken(Reason)` once the other end of a connection or pipe is known to be gone.
fn tell_status(worker: &mut Worker, place: usize, answer: Word) -> Step {
    let closed = worker.io().streams.get_mut(place).is_none_or(|stream| stream.closed);
    let status = match broken(worker, place) {
        _ if closed => Word::atom(worker.intern("closed")),
        Some(reason) => {
            let reason = worker.string(reason.as_bytes());
            state(worker, "broken", &[reason])
        }
        None => Word::atom(OPEN),
    };
    give(worker, answer, status)
}

/// Why what a stream reads or writes is broken.
fn broken(worker: &mut Worker, place: usize) -> Option<String> {
    let reads = input_file(worker, place).and_then(|file| file.broken());
    reads.or_else(|| output_file(worker, place).and_then(|(_, file)| file.broken()))
}

/// The file that a stream reads.
pub(super) fn input_file(worker: &mut Worker, place: usize) -> Option<&mut File> {
    let io = worker.io();
    let input = io.streams.get_mut(place)?.input;
    io.file(input)
}

/// The file that a stream writes, and its number.
fn output_file(worker: &mut Worker, place: usize) -> Option<(usize, &mut File)> {
    let io = worker.io();
    let output = io.streams.get_mut(place)?.output;
    io.file(output).map(|file| (output, file))
}

// ---- output ----------------------------------------------------------------------------------------

/// Bytes into the buffer of a stream; a full one is written.
pub(super) fn put(worker: &mut Worker, place: usize, bytes: &[u8]) -> Step {
    step!(worker.ensure(bytes.len() / 8));
    let room = worker.room();
    let Some((number, file)) = output_file(worker, place) else { return Step::Unknown };
    // I7: wait before, not after, so that nothing is written twice.
    if file.is_full() {
        ready!(worker, file.flush());
        return put(worker, place, bytes);
    }
    file.make_room(bytes.len(), room);
    file.put(bytes);
    if number == super::STDERR || file.wants_flush() {
        // What does not fit now goes out with what comes next, or when no goal is ready.
        step!(file.flush());
    }
    Step::Done
}

fn put_byte(worker: &mut Worker, place: usize, code: Word) -> Step {
    if !output_file(worker, place).is_some_and(|(_, file)| file.writes()) {
        return Step::Unknown;
    }
    let code = step!(integer(worker, 1, code));
    // As in C: the low 8 bits count.
    put(worker, place, &[code as u8])
}

fn put_string(worker: &mut Worker, place: usize, text: Word) -> Step {
    step!(with_bytes(worker, 1, text, |worker, bytes| put(worker, place, bytes)))
}

fn write_counted(worker: &mut Worker, place: usize, text: Word, count: Word) -> Step {
    let written = with_bytes(worker, 1, text, |worker, bytes| (put(worker, place, bytes), bytes.len()));
    let (step, length) = step!(written);
    match step {
        Step::Done if broken(worker, place).is_some() => give(worker, count, Word::small(0)),
        Step::Done => give(worker, count, Word::small(length as i64)),
        step if step.is_answered() => give(worker, count, Word::small(0)),
        other => other,
    }
}

fn flush(worker: &mut Worker, place: usize) -> Step {
    let Some((_, file)) = output_file(worker, place) else { return Step::Unknown };
    ready!(worker, file.flush());
    Step::Done
}

fn flush_answering(worker: &mut Worker, place: usize, answer: Word) -> Step {
    match flush(worker, place) {
        Step::Done if broken(worker, place).is_some() => give(worker, answer, Word::small(-1)),
        Step::Done => give(worker, answer, Word::small(0)),
        step if step.is_answered() => give(worker, answer, Word::small(-1)),
        other => other,
    }
}

#[cold]
fn is_format(worker: &Worker, name: Atom) -> bool {
    worker.atoms.text(name) == b"format"
}

/// `format(Template,Args)`.
fn write_template(worker: &mut Worker, place: usize, message: Word) -> Step {
    let work = worker.cons(message, Word::NIL);
    write_when_ground(worker, place, message, work)
}

/// Writes the term of a `putt` or `print` message, or the template of `format`, once no variable is left in the terms
/// of the list `work`.
pub(super) fn write_when_ground(worker: &mut Worker, place: usize, message: Word, work: Word) -> Step {
    let Some((name, args, arity @ 1..=2)) = parts(worker, message) else { return Step::Unknown };
    let term = if arity == 1 { args[0] } else { message };
    let into_vectors = name != symbol::PRINT;
    if let Some((variable, work)) = step!(find_variable(worker, work, into_vectors)) {
        return Step::Ground(variable, work);
    }
    if let Some((variable, work)) = step!(find_elsewhere(worker, term, into_vectors)) {
        worker.run_generator(deref(variable).address());
        return Step::Ground(variable, work);
    }
    if let Some(answer) = worker.look_abroad(term, true) {
        return Step::Ground(answer, Word::NIL);
    }
    let text = match name {
        _ if arity == 2 => step!(formats::filled(worker, args[0], args[1])),
        symbol::PRINT => step!(crate::terms::print::plain(worker, args[0])),
        symbol::PUTWT | symbol::PUTWTQ => step!(read::unparse(worker, place, args[0], true)),
        _ => step!(read::unparse(worker, place, args[0], false)),
    };
    put(worker, place, &text)
}

/// Of a term in which no variable was left: the first that stands for a part at another node, which was not read yet,
/// and what was not looked at. What was looked at before may have been that node's own copy.
pub(in crate::builtins) fn find_elsewhere(
    worker: &mut Worker,
    term: Word,
    into_vectors: bool,
) -> Result<Option<(Word, Word)>, Outcome> {
    if !worker.is_one_of_several_nodes() {
        return Ok(None);
    }
    let whole = worker.cons(term, Word::NIL);
    find_variable(worker, whole, into_vectors)
}

/// The first unbound variable in the terms of a list, and the list of what was not looked at yet. What was seen is
/// never looked at again.
pub(in crate::builtins) fn find_variable(
    worker: &mut Worker,
    work: Word,
    into_vectors: bool,
) -> Result<Option<(Word, Word)>, Outcome> {
    // The list is what an earlier call has left on its stack: its first element was the top.
    let (mut stack, mut left, mut taken) = (Stack::new(), work, 0);
    while let Some(term) = next_term(worker, &mut stack, &mut left, &mut taken)? {
        match worker.view(term) {
            View::Unbound(variable) => {
                if worker.fetch(variable) {
                    fetch_ahead(worker, &stack, left);
                }
                let work = stack.items().iter().fold(left, |list, &term| worker.cons(term, list));
                return Ok(Some((variable, work)));
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
    Ok(None)
}

/// From the stack, and from the list once that is empty. Of an infinite list so much is taken as might be kept.
fn next_term(
    worker: &Worker,
    stack: &mut Stack<Word>,
    list: &mut Word,
    taken: &mut usize,
) -> Result<Option<Word>, Outcome> {
    if let Some(term) = stack.pop_unseen(worker)? {
        return Ok(Some(term));
    }
    *taken += 1;
    if taken.is_multiple_of(STEPS) {
        worker.may_go_on(*taken * size_of::<Word>())?;
    }
    match worker.view(*list) {
        View::Cons(term, rest) => {
            *list = rest;
            Ok(Some(term))
        }
        View::Atom(symbol::NIL) => Ok(None),
        View::Unbound(variable) => Err(Outcome::Wait(variable)),
        _ => Err(wrong(worker, 1, "a list", *list)),
    }
}

/// Terms that come next will be waited for, too.
fn fetch_ahead(worker: &mut Worker, stack: &Stack<Word>, mut list: Word) {
    let next = stack.items().iter().rev().take(AHEAD);
    next.for_each(|&term| _ = worker.fetch(term));
    for _ in stack.items().len()..AHEAD {
        let View::Cons(term, rest) = worker.view(list) else { break };
        worker.fetch(term);
        list = rest;
    }
}

// ---- input -----------------------------------------------------------------------------------------

fn get_byte(worker: &mut Worker, place: usize, answer: Word) -> Step {
    let Some(file) = input_file(worker, place) else { return Step::Unknown };
    let byte = ready!(worker, file.get_byte());
    give(worker, answer, Word::small(byte.map_or(-1, i64::from)))
}

#[cold]
fn is_getl(worker: &Worker, name: Atom) -> bool {
    worker.atoms.text(name) == b"getl"
}

/// `getl(L)`: the next line as a string, without its end; `end_of_file` behind the last one.
fn get_line(worker: &mut Worker, place: usize, answer: Word) -> Step {
    let mut known = 0;
    let line = loop {
        step!(worker.may_go_on(known));
        let Some(file) = input_file(worker, place) else { return Step::Unknown };
        let bytes = ready!(worker, file.peek_more(known));
        if let Some(at) = bytes.iter().skip(known).position(|&byte| byte == b'\n') {
            break file.take(known + at + 1);
        }
        if bytes.len() <= known {
            break file.take(known);
        }
        known = bytes.len();
    };
    if line.is_empty() {
        return give(worker, answer, Word::atom(symbol::END_OF_FILE));
    }
    let whole = line.strip_suffix(b"\n").map_or(&line[..], |line| line.strip_suffix(b"\r").unwrap_or(line));
    step!(worker.may_go_on(2 * line.len()));
    let string = worker.string(whole);
    give(worker, answer, string)
}

fn unget_byte(worker: &mut Worker, place: usize, code: Word) -> Step {
    let code = step!(integer(worker, 1, code));
    // As in C: pushing back the end of the file does nothing.
    if code >= 0
        && let Some(file) = input_file(worker, place)
    {
        file.unget(code as u8);
    }
    Step::Done
}

fn read_bytes(worker: &mut Worker, place: usize, count: Word, answer: Word) -> Step {
    let count = step!(integer(worker, 1, count));
    let count = step!(crate::builtins::vectors::in_range(1, count));
    let room = worker.room();
    let Some(file) = input_file(worker, place) else { return Step::Unknown };
    // One more than there is room for, so that it shows.
    let bytes = ready!(worker, file.read(count.min(room.saturating_add(1))));
    step!(worker.may_go_on(bytes.len()));
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
    // The side that is read knows what was read ahead; a file that is only written has the other one.
    let reads = input_file(worker, place).is_some_and(|file| file.reads());
    let file =
        if reads { input_file(worker, place) } else { output_file(worker, place).map(|(_, file)| file) };
    let done = to.zip(file).is_some_and(|(to, file)| file.seek(to));
    give(worker, answer, Word::small(if done { 0 } else { -1 }))
}

/// `fclose(R)`: the file is closed now; standard files are only written out.
fn close_file(worker: &mut Worker, place: usize, answer: Word) -> Step {
    let result = match flush(worker, place) {
        Step::Done if broken(worker, place).is_some() => -1,
        Step::Done => 0,
        step if step.is_answered() => -1,
        other => return other,
    };
    let io = worker.io();
    if let Some(stream) = io.streams.get_mut(place) {
        stream.closed = true;
        for number in [stream.input, stream.output] {
            if !Io::is_standard(number)
                && let Some(file) = io.file(number)
            {
                file.close();
            }
        }
    }
    give(worker, answer, Word::small(result))
}
