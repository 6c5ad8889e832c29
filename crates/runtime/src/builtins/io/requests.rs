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

use super::buffers::Fd;
use super::streams::{Kind, open};
use super::{Io, STDERR, STDOUT};
use crate::builtins::{Row, attempt, bytes, error, goal, wrong};
use crate::native::Outcome;
use crate::outcome::ErrorKind;
use crate::terms::View;
use crate::worker::Worker;
use rustix::fs::{Mode, OFlags};
use std::sync::Arc;
use term::Word;
use term::symbol::ABNORMAL;

/// A socket that accepts connections.
#[derive(Debug)]
pub(crate) struct Listener;

fn reply(worker: &mut Worker, name: &str, args: &[Word]) -> Word {
    let name = worker.intern(name);
    worker.structure(name, args)
}

/// A standard stream.
fn standard(worker: &mut Worker, file: usize, kind: Kind) -> Word {
    Word::small(worker.state::<Io>().open_stream(file, kind) as i64)
}

/// Opens a file with the modes of C's `fopen`.
fn open_path(worker: &mut Worker, path: &[u8], mode: &[u8]) -> Option<Word> {
    let (flags, reads, writes) = match mode {
        b"read_open" => (OFlags::RDONLY, true, false),
        b"write_open" => (OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC, false, true),
        b"append_open" => (OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND, false, true),
        _ => (OFlags::RDWR, true, true),
    };
    let fd = rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::from_raw_mode(0o666)).ok()?;
    if reads
        && rustix::fs::fstat(&fd).is_ok_and(|stat| {
            rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Directory
        })
    {
        return None;
    }
    let fd = Fd::Owned(Arc::new(fd));
    let name = String::from_utf8_lossy(path).into_owned();
    Some(open(worker, name, reads.then(|| fd.clone()), writes.then_some(fd)))
}

fn request(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let (name, args) = match worker.view(inputs[0]) {
        View::Atom(name) => (name, Vec::new()),
        View::Struct(name, arity) => (name, (0..arity).map(|i| worker.arg(inputs[0], i)).collect()),
        _ => return wrong(worker, 1, "a message", inputs[0]),
    };
    let name = worker.atoms.text(name).to_vec();
    outputs[0] = match (&name[..], &args[..]) {
        (b"stdin", [answer]) => {
            let handle = standard(worker, 0, Kind::File);
            reply(worker, "stream", &[handle, *answer])
        }
        (b"stdout", [answer]) => {
            let handle = standard(worker, STDOUT, Kind::File);
            reply(worker, "stream", &[handle, *answer])
        }
        (b"stderr", [answer]) => {
            let handle = standard(worker, STDERR, Kind::File);
            reply(worker, "stream", &[handle, *answer])
        }
        (b"read_open" | b"write_open" | b"append_open" | b"update_open", [path, answer]) => {
            let path = attempt!(bytes(worker, 1, *path));
            match open_path(worker, &path, &name) {
                Some(handle) => reply(worker, "stream", &[handle, *answer]),
                None => abnormal(worker, *answer),
            }
        }
        _ => {
            let message =
                format!("{} is no request that this stream understands", worker.term_text(inputs[0]));
            return error(ErrorKind::ReductionFailure, message);
        }
    };
    Outcome::Done
}

fn abnormal(worker: &mut Worker, answer: Word) -> Word {
    worker.unify(answer, Word::atom(ABNORMAL));
    reply(worker, "done", &[])
}

/// `simple_standard(N,H)`: standard file N as a stream of module `io`.
fn simple_standard(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let file = attempt!(crate::builtins::index(worker, 1, inputs[0], STDERR + 1));
    outputs[0] = standard(worker, file, Kind::Simple);
    Outcome::Done
}

/// `simple_open(Path,Mode,H)`: a file as a stream of module `io`; -1 if it cannot be opened.
fn simple_open(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let path = attempt!(bytes(worker, 1, inputs[0]));
    let Some(mode) = worker.atom_value(inputs[1]) else { return wrong(worker, 2, "an atom", inputs[1]) };
    let mode = worker.atoms.text(mode).to_vec();
    outputs[0] = match open_path(worker, &path, &mode) {
        Some(handle) => {
            let place = worker.small(handle).and_then(|handle| usize::try_from(handle).ok());
            if let Some(stream) = place.and_then(|place| worker.state::<Io>().streams.get_mut(place)) {
                stream.make_simple();
            }
            handle
        }
        None => Word::small(-1),
    };
    Outcome::Done
}

pub(in crate::builtins) const NATIVES: &[Row] = &[
    goal("file_io", "request", "io", request),
    goal("file_io", "simple_standard", "io", simple_standard),
    goal("file_io", "simple_open", "iio", simple_open),
];
