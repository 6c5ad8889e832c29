//! Files, streams, and the requests of `klicio`, `unix` and `io`.
//!
//! A *file* is an open descriptor with its buffers ([`buffers`]); a *stream* is what a program sends messages to: one
//! reader of a file, with its own operators. The processes that serve streams are written in KL1
//! (`library/file_stream.kl1`) over the natives of module `file_io`.
//!
//! Invariants:
//! - I1 Files 0, 1 and 2 are the standard ones and stay; all streams on standard output share one buffer.
//! - I2 A stream's number is used again only after the stream was closed; so is a file's after its last stream.

mod awaited;
pub(crate) mod batches;
pub(crate) mod buffers;
mod closed;
mod errors;
pub(crate) mod events;
mod jobs;
mod many;
mod processes;
mod quick;
pub(crate) mod requests;
pub(crate) mod serve;
mod sockets;
pub(crate) mod streams;

pub(in crate::builtins) mod read;

use crate::coordination::waker::Ticker;
use crate::reports::outcome::{ErrorKind, ProgramError};
use crate::worker::Worker;
use crate::worker::native::Outcome;
pub use buffers::Sink;
use buffers::{Fd, File, Ready};
use errors::IoError;
use std::collections::BTreeMap;
use term::Word;
use term::abi::{Position, PredicateId};

/// Standard input's place in the table of files (I1).
pub(crate) const STDIN: usize = 0;
/// Standard output's.
pub(crate) const STDOUT: usize = 1;
/// Standard error's.
pub(crate) const STDERR: usize = 2;

/// Whether standard output is there. If it was closed when the process began, writing to it is an error, though the
/// Rust library has put
/// /dev/null in its place.
pub fn has_output() -> bool {
    !closed::was_closed(rustix::stdio::stdout())
}

/// The messages that streams and request streams take here, and no clause of the library.
const MESSAGES: [&str; 4] = [
    "accept accept2 access addop append_open bind cd chmod connect connect2 fclose feof fflush flush fork format",
    "fork_with_pipes fread fseek ftell fwrite getc getenv getl gett getwt kill linecount mktemp nl on_error pipe",
    "print putc putenv puts putt puttq putwt putwtq read_open rmop signal_stream status stderr stdin stdio",
    "stdout string_input string_output sync system umask ungetc unlink update_open write_open",
];

/// The names of the messages that a stream or request stream takes.
pub fn messages() -> impl Iterator<Item = &'static str> {
    MESSAGES.iter().flat_map(|names| names.split(' '))
}

/// Whether a stream or request stream takes a message of this name.
pub fn is_message(name: &[u8]) -> bool {
    messages().any(|message| message.as_bytes() == name)
}

/// A table with numbered places that are used again.
#[derive(Debug)]
pub(crate) struct Table<T> {
    places: Vec<Option<T>>,
    free: Vec<usize>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Table { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> Table<T> {
    pub(crate) fn add(&mut self, value: T) -> usize {
        match self.free.pop() {
            Some(place) => {
                debug_assert!(self.places[place].is_none(), "I2: place {place} is in use");
                self.places[place] = Some(value);
                place
            }
            None => {
                self.places.push(Some(value));
                self.places.len() - 1
            }
        }
    }
    #[inline(always)]
    pub(crate) fn get_mut(&mut self, place: usize) -> Option<&mut T> {
        self.places.get_mut(place)?.as_mut()
    }
    pub(crate) fn remove(&mut self, place: usize) -> Option<T> {
        let value = self.places.get_mut(place)?.take()?;
        self.free.push(place);
        Some(value)
    }
    fn values(&self) -> impl Iterator<Item = (usize, &T)> {
        self.places.iter().enumerate().filter_map(|(place, value)| Some((place, value.as_ref()?)))
    }
    fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.places.iter_mut().flatten()
    }
}

/// A file and how often streams use it.
#[derive(Debug)]
struct Shared {
    file: File,
    uses: usize,
}

/// The I/O state of a node.
pub(crate) struct Io {
    files: Table<Shared>,
    pub(crate) streams: Table<streams::Stream>,
    listeners: Table<sockets::Listener>,
    connecting: Table<sockets::Connecting>,
    /// Streams that are served in batches.
    batches: Vec<batches::Batch>,
    /// Ticks while there are some (O8 of `batches`).
    ticker: Ticker,
    /// What `putenv` changed.
    environment: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The request that is being done was asked with `try`: its answer tells why it cannot be done.
    tells_why: bool,
    /// Program arguments.
    pub(crate) arguments: Vec<Vec<u8>>,
}

impl Default for Io {
    fn default() -> Self {
        let mut io = Io {
            files: Table::default(),
            streams: Table::default(),
            listeners: Table::default(),
            connecting: Table::default(),
            batches: Vec::new(),
            ticker: Ticker::default(),
            environment: BTreeMap::new(),
            tells_why: false,
            arguments: Vec::new(),
        };
        let standard = [
            File::new("stdin", Some(Fd::Standard(rustix::stdio::stdin())), None),
            File::new("stdout", None, Some(Fd::Standard(rustix::stdio::stdout()))),
            File::new("stderr", None, Some(Fd::Standard(rustix::stdio::stderr()))),
        ];
        for file in standard {
            // One use that never ends keeps each of them (I1).
            io.files.add(Shared { file, uses: 1 });
        }
        io
    }
}

impl Io {
    /// Adds a file that no stream uses yet.
    pub(crate) fn add_file(&mut self, file: File) -> usize {
        self.files.add(Shared { file, uses: 0 })
    }
    pub(crate) fn file(&mut self, place: usize) -> Option<&mut File> {
        self.files.get_mut(place).map(|shared| &mut shared.file)
    }
    /// A stream that reads one file and writes another, or both the same.
    pub(crate) fn open_stream(&mut self, input: usize, output: usize, kind: streams::Kind) -> usize {
        for file in [input, output] {
            if let Some(shared) = self.files.get_mut(file) {
                shared.uses += 1;
            }
        }
        let interactive =
            !Io::is_standard(output) && self.file(output).is_some_and(|file| file.is_interactive());
        self.streams.add(streams::Stream::new(input, output, interactive, kind))
    }
    /// A stream belongs to a lane, or to none.
    fn belongs_to(&mut self, stream: usize, lane: i64) {
        if let Some(stream) = self.streams.get_mut(stream) {
            stream.lane = lane;
        }
    }
    /// The lanes of streams, and of sockets that are none.
    fn lanes(&self) -> impl Iterator<Item = i64> {
        let streams = self.streams.values().map(|(_, stream)| stream.lane);
        let listeners = self.listeners.values().map(|(_, listener)| listener.lane);
        streams.chain(listeners).chain(self.connecting.values().map(|(_, connecting)| connecting.lane))
    }
    /// Ends a stream, and its files with their last use. The output must have been flushed.
    pub(crate) fn close_stream(&mut self, stream: usize) {
        let Some(stream) = self.streams.remove(stream) else { return };
        for file in [stream.input, stream.output] {
            let Some(shared) = self.files.get_mut(file) else { continue };
            debug_assert!(shared.uses > usize::from(Io::is_standard(file)), "I1: file {file} ends");
            shared.uses -= 1;
            if shared.uses == 0 {
                self.files.remove(file);
            }
        }
    }
    /// An interactive stream with this output has no message at the moment: its reader gets what was written.
    #[cold]
    fn idle(&mut self, output: usize) {
        if let Some(file) = self.file(output) {
            // What cannot be written now stays in the buffer; an error shows at the next message or at the end.
            let _ = file.flush();
        }
    }
    /// What a stream's file is called in messages.
    fn name(&mut self, stream: usize) -> String {
        let output = self.streams.get_mut(stream).map(|stream| stream.output);
        output.and_then(|output| self.file(output)).map_or("a closed file".into(), |file| file.name.clone())
    }
    /// True for the files that all streams share and that are never closed (I1).
    pub(crate) fn is_standard(file: usize) -> bool {
        file <= STDERR
    }
}

impl Worker {
    /// The answer to a message, or what a request makes: a variable that has another value already fails for this
    /// predicate's sake.
    pub(in crate::builtins) fn answer(&mut self, by: PredicateId, variable: Word, value: Word) {
        self.unify_at(variable, value, Position::made_by(by));
    }
    /// Its open files and streams.
    #[inline(always)]
    pub(in crate::builtins) fn io(&mut self) -> &mut Io {
        self.streams::<Io>()
    }
}

impl IoError {
    /// The program ends with this error.
    pub(crate) fn program_error(self) -> Box<ProgramError> {
        let kind = if self.reader_gone { ErrorKind::ReaderGone } else { ErrorKind::Other };
        ProgramError::new(kind, self.message)
    }
}

/// Writes text to standard output's buffer; onto a terminal at each newline. Nobody waits for that, so a slow reader
/// finds it in the buffer, and stops the program only when much is there.
pub(crate) fn print(worker: &mut Worker, bytes: &[u8]) -> Result<(), IoError> {
    let file = worker.io().file(STDOUT).expect("I1");
    file.put(bytes);
    if file.wants_flush() {
        file.flush()?;
    }
    if file.has_backlog() { file.flush_waiting() } else { Ok(()) }
}

/// Writes to standard error at once, after what was written to standard output, waiting as long as it takes.
pub(crate) fn print_error(worker: &mut Worker, text: &[u8]) -> Result<(), IoError> {
    batches::serve(worker, Some(STDOUT));
    let io = worker.io();
    io.file(STDOUT).expect("I1").flush_waiting()?;
    let file = io.file(STDERR).expect("I1");
    file.put(text);
    file.flush_waiting()
}

/// Writes a prompt to standard error, after what was written to standard output. Must be tried again if it has to wait.
pub(crate) fn prompt(worker: &mut Worker, text: &[u8]) -> Result<(), Outcome> {
    batches::serve(worker, Some(STDOUT));
    match worker.io().file(STDOUT).expect("I1").flush() {
        Ok(Ready::Now(())) => {}
        Ok(Ready::Later(fd, direction)) => {
            return Err(Outcome::Wait(events::when_ready(worker, fd, direction)));
        }
        Err(error) => return Err(Outcome::Error(error.program_error())),
    }
    let file = worker.io().file(STDERR).expect("I1");
    file.put(text);
    // What does not fit now goes out before the answer is waited for.
    file.flush().map(|_| ()).map_err(|error| Outcome::Error(error.program_error()))
}

/// A line of standard input with its newline; empty at the end.
pub(crate) fn read_line(worker: &mut Worker) -> Result<Vec<u8>, Outcome> {
    let mut known = 0;
    let (fd, direction) = loop {
        worker.may_go_on(known)?;
        let file = worker.io().file(STDIN).expect("I1");
        match file.peek_more(known) {
            Err(error) => return Err(Outcome::Error(error.program_error())),
            Ok(Ready::Later(fd, direction)) => break (fd, direction),
            Ok(Ready::Now(bytes)) => {
                if let Some(at) = bytes.iter().position(|&byte| byte == b'\n') {
                    return Ok(file.take(at + 1));
                }
                if bytes.len() <= known {
                    return Ok(file.take(known));
                }
                known = bytes.len();
            }
        }
    };
    Err(Outcome::Wait(events::when_ready(worker, fd, direction)))
}

/// The program's arguments, for `unix:argv`: not its name, not the runtime's options.
pub(crate) fn set_arguments(worker: &mut Worker, arguments: Vec<Vec<u8>>) {
    worker.io().arguments = arguments;
}

/// What a node's program writes to standard output and standard error goes to these functions, where there are some. To
/// be called before it runs.
pub(crate) fn set_output(worker: &mut Worker, stdout: Option<Sink>, stderr: Option<Sink>) {
    for (place, name, sink) in [(STDOUT, "stdout", stdout), (STDERR, "stderr", stderr)] {
        if let Some(sink) = sink {
            *worker.io().file(place).expect("I1") = File::to_sink(name, sink);
        }
    }
}

/// Writes out everything that is buffered, waiting as long as it takes. For the end of a run and before anything else
/// is written to the terminal.
pub(crate) fn flush(worker: &mut Worker) -> Result<(), Box<ProgramError>> {
    let mut result = Ok(());
    for shared in worker.io().files.values_mut() {
        if let Err(error) = shared.file.flush_waiting() {
            result = result.and(Err(error.program_error()));
        }
    }
    result
}

/// X15 of `shoen`: the lanes of all that is open or awaited.
pub(crate) fn lanes(worker: &mut Worker) -> Vec<i64> {
    if worker.index != 0 {
        return Vec::new();
    }
    let mut lanes = batches::lanes(worker);
    lanes.extend(events::Outside::of(worker).lanes());
    lanes.extend(worker.io().lanes());
    lanes
}

/// X14 of `shoen`: closes what was opened in shoens that were aborted, if that was not done yet. What streams have
/// written goes out, as far as nobody has to wait for that. True if there were such shoens.
///
/// Requests ask for it, too: so whoever was told of an end may use the same port.
pub(super) fn close_deserted(worker: &mut Worker) -> bool {
    if !worker.shared.shoens.take_deserted() {
        return false;
    }
    batches::close_deserted(worker);
    close_streams(worker);
    sockets::close_deserted(worker);
    events::Outside::of(worker).forget_deserted(worker);
    true
}

/// X20 of `shoen`: whether a goal that has come from another node is late: what had this place was closed, as its shoen
/// was aborted, and the place may be another one's by now.
fn is_late<T>(
    worker: &mut Worker,
    table: fn(&mut Io) -> &mut Table<T>,
    place: usize,
    lane: fn(&T) -> i64,
) -> bool {
    if !worker.is_one_of_several_nodes() {
        return false;
    }
    let lane = table(worker.io()).get_mut(place).map(|value| lane(value));
    !lane.is_some_and(|lane| worker.is_of_running(lane))
}

/// The places of what belongs to shoens that were aborted.
fn deserted<T>(worker: &mut Worker, table: fn(&Io) -> &Table<T>, lane: fn(&T) -> i64) -> Vec<usize> {
    let mut all: Vec<(usize, i64)> =
        table(worker.io()).values().map(|(place, value)| (place, lane(value))).collect();
    all.retain(|&(_, lane)| worker.was_aborted(lane));
    all.into_iter().map(|(place, _)| place).collect()
}

fn close_streams(worker: &mut Worker) {
    for place in deserted(worker, |io| &io.streams, |stream| stream.lane) {
        let io = worker.io();
        let output = io.streams.get_mut(place).map(|stream| stream.output);
        if let Some(file) =
            output.filter(|&output| !Io::is_standard(output)).and_then(|output| io.file(output))
        {
            // Whoever could be told of an error is no more.
            let _ = file.flush();
        }
        io.close_stream(place);
    }
}

/// Before waiting for the outside: someone may be reading what was written so far. Answers the descriptors that took
/// only a part of it.
fn flush_before_waiting(worker: &mut Worker) -> Vec<Fd> {
    let mut blocked = Vec::new();
    let mut failure = None;
    for (place, shared) in worker.io().files.places.iter_mut().enumerate() {
        let Some(Shared { file, .. }) = shared else { continue };
        if !Io::is_standard(place) && !file.is_interactive() {
            continue;
        }
        match file.flush() {
            Ok(Ready::Now(())) => {}
            Ok(Ready::Later(fd, _)) => blocked.push(fd),
            // That of another file shows at its stream's next message or at the end.
            Err(error) if Io::is_standard(place) => failure = failure.or(Some(error)),
            Err(_) => {}
        }
    }
    if let Some(error) = failure {
        worker.ending.fail(error.program_error());
        worker.abi.want_attention();
    }
    blocked
}
