//! Requests of `klicio` and `unix` streams.
//!
//! `file_io:request(Message, Reply)` does what a message asks for. The reply says what the process that serves the
//! stream has to do:
//!
//! | Reply              | meaning                                                                        |
//! |--------------------|--------------------------------------------------------------------------------|
//! | `done`             | nothing                                                                        |
//! | `result(R)`        | wait until the program's variable R has its value                              |
//! | `stream(H,R)`      | R becomes `normal(S)`; serve the file stream S with number H                   |
//! | `pair(I,O,R)`      | R becomes `normal(S,T)`; serve S with number I, T with number O                |
//! | `collect(H,R,X)`   | as `stream`, and X becomes the text when the stream is closed                  |
//! | `server(H,R)`      | R becomes `normal(B)`; serve the socket B with number H                        |
//! | `connecting(K)`    | ask `connected(K,Reply)` how it went                                           |
//! | `forked(F,I,O,R)`  | R becomes `parent(Pid,S,T)` or `child(S,T)`, F made so far: F is `parent(Pid)` or `child` |

use super::buffers::{Fd, File};
use super::errors::{IoError, Refusal};
use super::sockets::Wanted;
use super::streams::Kind;
use super::{STDERR, STDIN, STDOUT, batches, events, processes, sockets};
use crate::builtins::{Row, attempt, bytes, error, goal, home, integer, known, wrong};
use crate::coordination::waker::TICK;
use crate::reports::outcome::{ErrorKind, ProgramError};
use crate::terms::View;
use crate::worker::Worker;
use crate::worker::native::Outcome;
use rustix::fd::OwnedFd;
use rustix::fs::{Access, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::sync::Arc;
use term::Word;
use term::symbol::{ABNORMAL, NORMAL};

pub(in crate::builtins) fn reply(worker: &mut Worker, name: &str, args: &[Word]) -> Word {
    let name = worker.intern(name);
    worker.structure(name, args)
}

/// A stream on files that are open already, of the running goal's shoen.
fn standard(worker: &mut Worker, input: usize, output: usize, kind: Kind) -> Word {
    let lane = worker.lane_outside();
    let io = worker.io();
    let stream = io.open_stream(input, output, kind);
    io.belongs_to(stream, lane);
    Word::small(stream as i64)
}

/// A new file as a stream.
pub(super) fn open(worker: &mut Worker, name: &str, input: Option<Fd>, output: Option<Fd>) -> Word {
    open_file(worker, File::new(name, input, output))
}

fn open_file(worker: &mut Worker, file: File) -> Word {
    let file = worker.io().add_file(file);
    standard(worker, file, file, Kind::File)
}

/// A descriptor that this process now owns.
pub(super) fn owned(fd: impl Into<rustix::fd::OwnedFd>) -> Fd {
    Fd::Owned(Arc::new(fd.into()))
}

/// Opens a file with the modes of C's `fopen`.
fn open_path(worker: &mut Worker, path: &[u8], mode: &[u8]) -> Result<Word, Errno> {
    let (flags, reads, writes) = match mode {
        b"read_open" => (OFlags::RDONLY, true, false),
        b"write_open" => (OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC, false, true),
        b"append_open" => (OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND, false, true),
        _ => (OFlags::RDWR, true, true),
    };
    let fd = open_soon(worker, path, flags)?;
    let stat = rustix::fs::fstat(&fd)?;
    if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
        return Err(Errno::ISDIR);
    }
    let fd = owned(fd);
    let name = String::from_utf8_lossy(path).into_owned();
    Ok(open(worker, &name, reads.then(|| fd.clone()), writes.then_some(fd)))
}

/// Opens a file, and hears of an interrupt meanwhile. A FIFO that nobody writes yet opens at once (its reader waits);
/// one that nobody reads is tried again and again.
fn open_soon(worker: &Worker, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    let fd = loop {
        match rustix::fs::open(path, flags | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::from_raw_mode(0o666)) {
            Err(Errno::NXIO) if is_fifo(path) && !worker.is_interrupted() => std::thread::sleep(TICK),
            opened => break opened?,
        }
    };
    rustix::fs::fcntl_setfl(&fd, rustix::fs::fcntl_getfl(&fd)? - OFlags::NONBLOCK)?;
    Ok(fd)
}

fn is_fifo(path: &[u8]) -> bool {
    let kind = rustix::fs::stat(path).map(|stat| FileType::from_raw_mode(stat.st_mode));
    kind == Ok(FileType::Fifo)
}

fn request(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    // O2 of `batches`: what it makes may read or write the same files.
    batches::serve(worker, None);
    super::close_deserted(worker);
    let (name, args) = attempt!(parts(worker, inputs[0]));
    let inner = args.first().copied().filter(|_| name == b"try" && args.len() == 1);
    let (name, args) = match inner {
        Some(request) => attempt!(parts(worker, attempt!(known(request)))),
        None => (name, args),
    };
    worker.io().tells_why = inner.is_some();
    let answer = match stream_request(worker, &name, &args) {
        Some(answer) => answer,
        None => match system_request(worker, &name, &args) {
            Some(answer) => answer,
            None => {
                let text = worker.term_text(inputs[0]);
                let message = format!("the stream does not understand the request {text}");
                return error(ErrorKind::ReductionFailure, message);
            }
        },
    };
    outputs[0] = attempt!(answer);
    Outcome::Done
}

/// Name and arguments of a request.
fn parts(worker: &Worker, message: Word) -> Result<(Vec<u8>, Vec<Word>), Outcome> {
    let (name, args) = match worker.view(message) {
        View::Atom(name) => (name, Vec::new()),
        View::Struct(name, arity) => (name, (0..arity).map(|i| worker.arg(message, i)).collect()),
        _ => return Err(wrong(worker, 1, "a message", message)),
    };
    Ok((worker.atoms.text(name).to_vec(), args))
}

/// What a file on a string and its stream take, about, besides the string.
const FILE_BYTES: usize = 512;

type Answer = Option<Result<Word, Outcome>>;

/// Requests whose answer is a stream; `None` for any other.
fn stream_request(worker: &mut Worker, name: &[u8], args: &[Word]) -> Answer {
    Some(Ok(match (name, args) {
        (b"stdin" | b"stdout" | b"stderr" | b"stdio", [answer]) => {
            let (input, output) = match name {
                b"stdin" => (STDIN, STDIN),
                b"stdout" => (STDOUT, STDOUT),
                b"stderr" => (STDERR, STDERR),
                _ => (STDIN, STDOUT),
            };
            let handle = standard(worker, input, output, Kind::File);
            reply(worker, "stream", &[handle, *answer])
        }
        (b"read_open" | b"write_open" | b"append_open" | b"update_open", [path, answer]) => {
            match bytes(worker, 1, *path) {
                Err(outcome) => return Some(Err(outcome)),
                Ok(path) => match open_path(worker, &path, name) {
                    Ok(handle) => reply(worker, "stream", &[handle, *answer]),
                    Err(error) => {
                        let what = format!("cannot open {}", String::from_utf8_lossy(&path));
                        return Some(refused(worker, *answer, &Refusal::new(what, error)));
                    }
                },
            }
        }
        (b"string_input", [answer, text]) => match bytes(worker, 2, *text) {
            Err(outcome) => return Some(Err(outcome)),
            Ok(text) => {
                if let Err(error) = worker.ensure(text.len() / 8) {
                    return Some(Err(error.into()));
                }
                let kept = worker.keep(FILE_BYTES + text.len());
                let handle = open_file(worker, File::from_bytes(text, kept));
                reply(worker, "stream", &[handle, *answer])
            }
        },
        (b"string_output", [answer, text]) => {
            let kept = worker.keep(FILE_BYTES);
            let handle = open_file(worker, File::collector(kept));
            reply(worker, "collect", &[handle, *answer, *text])
        }
        (b"pipe", [answer]) => match rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC) {
            Ok((read, write)) => pair(worker, "pipe", owned(read), owned(write), *answer),
            Err(error) => {
                return Some(refused(worker, *answer, &Refusal::new("cannot make a pipe", error)));
            }
        },
        (b"connect" | b"connect2", [address, answer]) => {
            let wanted = if name == b"connect2" { Wanted::TwoStreams } else { Wanted::Stream };
            return Some(sockets::make(worker, *address, *answer, wanted));
        }
        (b"bind", [address, answer]) => {
            return Some(sockets::make(worker, *address, *answer, Wanted::Server));
        }
        (b"fork_with_pipes", [answer]) => return Some(processes::fork_with_pipes(worker, *answer)),
        (b"signal_stream", [signal, answer]) => return Some(signal_stream(worker, *signal, *answer)),
        _ => return None,
    }))
}

fn signal_stream(worker: &mut Worker, signal: Word, answer: Word) -> Result<Word, Outcome> {
    let signal = integer(worker, 1, signal)?;
    let list = i32::try_from(signal).ok().and_then(|signal| events::signal_list(worker, signal));
    let Some(list) = list else {
        let refusal = Refusal::new(format!("cannot catch signal {signal}"), Errno::INVAL);
        return refused(worker, answer, &refusal);
    };
    let normal = worker.structure(NORMAL, &[list]);
    answer_request(worker, answer, normal);
    Ok(reply(worker, "done", &[]))
}

/// `pair(I,O,R)` for two descriptors.
pub(super) fn pair(worker: &mut Worker, name: &str, input: Fd, output: Fd, answer: Word) -> Word {
    let input = open(worker, name, Some(input), None);
    let output = open(worker, name, None, Some(output));
    reply(worker, "pair", &[input, output, answer])
}

/// A request cannot be done: its answer is `abnormal`, or `abnormal(Reason)` if the program asked with `try` for the
/// reason. A program that takes nothing but `normal(..)` ends with it.
pub(super) fn refused(worker: &mut Worker, answer: Word, refusal: &Refusal) -> Result<Word, Outcome> {
    let why = worker.io().tells_why.then(|| refusal.term(worker));
    answer_refused(worker, answer, refusal, why)
}

/// The same for requests that give their reasons always: those for which KLIC has no `abnormal`.
pub(super) fn refused_saying_why(
    worker: &mut Worker,
    answer: Word,
    refusal: &Refusal,
) -> Result<Word, Outcome> {
    let why = refusal.term(worker);
    answer_refused(worker, answer, refusal, Some(why))
}

fn answer_refused(
    worker: &mut Worker,
    answer: Word,
    refusal: &Refusal,
    why: Option<Word>,
) -> Result<Word, Outcome> {
    if let View::Struct(NORMAL, _) = worker.view(answer) {
        let error = ProgramError::new(ErrorKind::Other, refusal.message());
        let text = worker.term_text(answer);
        return Err(Outcome::Error(error.detail(format!(
            "the request has {text} where its answer goes: a variable there becomes `abnormal`, and the run goes on"
        ))));
    }
    worker.note_refused(refusal.message());
    let abnormal = match why {
        Some(why) => worker.structure(ABNORMAL, &[why]),
        None => Word::atom(ABNORMAL),
    };
    answer_request(worker, answer, abnormal);
    Ok(reply(worker, "done", &[]))
}

/// The answer to a request, of which a failure names what makes it.
fn answer_request(worker: &mut Worker, answer: Word, value: Word) {
    let [module, name] = ["file_io", "request"].map(|text| worker.atoms.intern(text.as_bytes()));
    let by = worker.predicates.lookup(module, name, 2).unwrap_or(worker.system_goals.unify);
    worker.answer(by, answer, value);
}

fn result(worker: &mut Worker, answer: Word, value: Word) -> Result<Word, Outcome> {
    answer_request(worker, answer, value);
    Ok(reply(worker, "done", &[]))
}

/// C's convention: 0 or -1; with `try` the reason in place of -1.
fn status<T>(
    worker: &mut Worker,
    answer: Word,
    what: impl FnOnce() -> String,
    done: Result<T, Errno>,
) -> Result<Word, Outcome> {
    match done {
        Ok(_) => result(worker, answer, Word::small(0)),
        Err(error) if worker.io().tells_why => refused(worker, answer, &Refusal::new(what(), error)),
        Err(_) => result(worker, answer, Word::small(-1)),
    }
}

/// The same for what was tried with a path.
fn path_status<T>(
    worker: &mut Worker,
    answer: Word,
    (what, path): (&str, &[u8]),
    done: Result<T, Errno>,
) -> Result<Word, Outcome> {
    status(worker, answer, || format!("cannot {what} {}", String::from_utf8_lossy(path)), done)
}

/// Requests about the process and its files; `None` for any other.
fn system_request(worker: &mut Worker, name: &[u8], args: &[Word]) -> Answer {
    Some(match (name, args) {
        (b"sync", [answer]) => result(worker, *answer, Word::small(0)),
        (b"cd", [path, answer]) => {
            let path = bytes(worker, 1, *path);
            path.and_then(|path| {
                let done = rustix::process::chdir(&path[..]);
                path_status(worker, *answer, ("go to", &path), done)
            })
        }
        (b"unlink", [path, answer]) => {
            let path = bytes(worker, 1, *path);
            path.and_then(|path| {
                let done = rustix::fs::unlink(&path[..]);
                path_status(worker, *answer, ("remove", &path), done)
            })
        }
        (b"chmod", [path, mode, answer]) => chmod(worker, *path, *mode, *answer),
        (b"access", [path, mode, answer]) => access(worker, *path, *mode, *answer),
        (b"mktemp", [template, answer]) => make_temporary(worker, *template, *answer),
        (b"umask", [old]) => {
            let mask = rustix::process::umask(Mode::empty());
            rustix::process::umask(mask);
            result(worker, *old, Word::small(mask.bits().into()))
        }
        (b"umask", [old, new]) => integer(worker, 2, *new).and_then(|new| {
            let mask = rustix::process::umask(Mode::from_raw_mode(new as u32 & 0o777));
            result(worker, *old, Word::small(mask.bits().into()))
        }),
        (b"getenv", [name, answer]) => bytes(worker, 1, *name).and_then(|name| {
            let value = match processes::environment(worker, &name) {
                Some(value) => worker.string(&value),
                None => Word::small(0),
            };
            result(worker, *answer, value)
        }),
        (b"putenv", [text, answer]) => bytes(worker, 1, *text).and_then(|text| {
            let done = processes::set_environment(worker, &text).ok_or(Errno::INVAL);
            path_status(worker, *answer, ("set", &text), done)
        }),
        (b"system", [command, answer]) => processes::system(worker, *command, *answer),
        (b"kill", [pid, signal, answer]) => {
            let done = processes::kill(worker, *pid, *signal);
            done.and_then(|done| status(worker, *answer, || "cannot send a signal".into(), done))
        }
        (b"fork", [answer]) => {
            processes::fork(worker).and_then(|pid| result(worker, *answer, Word::small(pid)))
        }
        _ => return None,
    })
}

fn chmod(worker: &mut Worker, path: Word, mode: Word, answer: Word) -> Result<Word, Outcome> {
    let path = bytes(worker, 1, path)?;
    let mode = integer(worker, 2, mode)?;
    let done = rustix::fs::chmod(&path[..], Mode::from_raw_mode(mode as u32 & 0o7777));
    path_status(worker, answer, ("change the mode of", &path), done)
}

fn access(worker: &mut Worker, path: Word, mode: Word, answer: Word) -> Result<Word, Outcome> {
    let path = bytes(worker, 1, path)?;
    let mode = integer(worker, 2, mode)?;
    let done = rustix::fs::access(&path[..], Access::from_bits_truncate(mode as _));
    path_status(worker, answer, ("access", &path), done)
}

/// `mktemp(Template,Name)`: a new empty file whose name is the template and six characters.
fn make_temporary(worker: &mut Worker, template: Word, answer: Word) -> Result<Word, Outcome> {
    const CHARACTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    const TRIES: u32 = 1000;
    let template = bytes(worker, 1, template)?;
    let mut seed = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos() as u64)
        ^ u64::from(std::process::id()) << 32;
    let mut last = Errno::EXIST;
    for _ in 0..TRIES {
        let mut path = template.clone();
        seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        path.extend((0..6).map(|i| CHARACTERS[(seed >> (33 + 5 * i)) as usize & 31]));
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        match rustix::fs::open(&path[..], flags, Mode::from_raw_mode(0o600)) {
            Ok(_) => {
                let name = worker.string(&path);
                return result(worker, answer, name);
            }
            Err(rustix::io::Errno::EXIST) => {}
            Err(error) => {
                last = error;
                break;
            }
        }
    }
    let what = format!("cannot make a file {}", String::from_utf8_lossy(&template));
    refused(worker, answer, &Refusal::new(what, last))
}

/// `simple_standard(N,H)`: standard file N as a stream of module `io`.
fn simple_standard(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let file = attempt!(crate::builtins::index(worker, 1, inputs[0], STDERR + 1));
    outputs[0] = standard(worker, file, file, Kind::Simple);
    Outcome::Done
}

/// `simple_open(Path,Mode,H)`: a file as a stream of module `io`; if it cannot be opened, the system's number of the
/// error, negative.
fn simple_open(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let path = attempt!(bytes(worker, 1, inputs[0]));
    let Some(mode) = worker.atom_value(inputs[1]) else { return wrong(worker, 2, "an atom", inputs[1]) };
    let mode = worker.atoms.text(mode).to_vec();
    outputs[0] = match open_path(worker, &path, &mode) {
        Ok(handle) => {
            let place = worker.small(handle).and_then(|handle| usize::try_from(handle).ok());
            if let Some(stream) = place.and_then(|place| worker.io().streams.get_mut(place)) {
                stream.make_simple();
            }
            handle
        }
        Err(error) => Word::small(-i64::from(error.raw_os_error())),
    };
    Outcome::Done
}

/// `cannot_open(Path,Error)`: the end of a program that must have a file; `Error` is from `simple_open`.
fn cannot_open(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    let path = attempt!(bytes(worker, 1, inputs[0]));
    let number = attempt!(integer(worker, 2, inputs[1]));
    // The system's errors are 1 to 4,095; a program that calls this by itself may say anything.
    let code = number.checked_neg().and_then(|code| i32::try_from(code).ok());
    let reason = code.filter(|code| (1..4096).contains(code)).map_or(Errno::IO, Errno::from_raw_os_error);
    Outcome::Error(IoError::new("cannot open", &String::from_utf8_lossy(&path), reason).program_error())
}

pub(in crate::builtins) const NATIVES: &[Row] = &[
    home(goal("file_io", "request", "io", request)),
    home(goal("file_io", "simple_standard", "io", simple_standard)),
    home(goal("file_io", "simple_open", "iio", simple_open)),
    goal("file_io", "cannot_open", "ii", cannot_open),
    home(goal("file_io", "connected", "io", sockets::connected)),
    home(goal("file_io", "accept", "iio", sockets::accept)),
];
