//! Open files with their buffers: bytes in and out, without ever waiting.
//!
//! Invariants:
//! - I3 Nothing here blocks on a pipe, socket or terminal: an operation that would answers [`Ready::Later`]
//!   with the descriptor and direction to wait for, and has lost nothing.
//! - I4 `input.bytes[input.at..]` are the bytes read from the descriptor and not yet taken by the program.
//! - I5 A file that is both read and written has an empty output buffer before it reads, and gives back what it
//!   read ahead (if it can seek) before it writes.
//! - I6 An owned descriptor whose other end is gone is no error: what is written to it is dropped, and
//!   [`File::broken`] says why.
//!
//! Absent on purpose: terms, variables, the table of streams.

mod at_hand;
mod output;

pub use output::Sink;

use super::closed;
use super::errors::{IoError, breaks, reason};
use crate::worker::Kept;
use output::Output;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::FileType;
use rustix::io::Errno;
use std::sync::Arc;

/// Bytes that are read or written at once.
const CHUNK_BYTES: usize = 16 * 1024;
/// A pipe that poll calls writable takes this many bytes without blocking (Linux's PIPE_BUF), unless another process
/// writes to it at that moment. Non-blocking mode would be safer, but it is set for all processes that share the pipe
/// or terminal.
const SAFE_WRITE_BYTES: usize = 4096;
/// An output buffer of this size is written.
const BUFFER_BYTES: usize = 64 * 1024;
/// Bytes that are kept of what goals have written without waiting for it.
const BACKLOG_BYTES: usize = 1024 * 1024;

/// What to wait for at a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Until it has input, or its end.
    Read,
    /// Until it takes output.
    Write,
}

/// A descriptor: owned, or one of the three that the process was born with.
#[derive(Clone, Debug)]
pub(crate) enum Fd {
    /// Closed with its last user.
    Owned(Arc<OwnedFd>),
    /// Standard input, output or error.
    Standard(BorrowedFd<'static>),
}

impl AsFd for Fd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Fd::Owned(fd) => fd.as_fd(),
            Fd::Standard(fd) => *fd,
        }
    }
}

/// An answer now, or what to wait for first (I3).
#[derive(Debug)]
pub(crate) enum Ready<T> {
    /// The answer.
    Now(T),
    /// Try again when the descriptor is ready.
    Later(Fd, Direction),
}

/// The side that is read.
#[derive(Debug)]
struct Input {
    /// `None`: a string.
    fd: Option<Fd>,
    /// A regular file: reading never waits.
    regular: bool,
    bytes: Vec<u8>,
    at: usize,
    /// The end was seen (it stays, as in C).
    end: bool,
    lines: i64,
}

/// An open file.
#[derive(Debug)]
pub(crate) struct File {
    /// For messages.
    pub(crate) name: String,
    input: Option<Input>,
    output: Option<Output>,
    /// For a string, which lies outside the heap: the bytes that it has room for.
    kept: Option<Kept>,
    /// I6: why it has no other end any more.
    broken: Option<Errno>,
}

fn has_type(fd: &Fd, kind: FileType) -> bool {
    rustix::fs::fstat(fd).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == kind)
}

/// True if the descriptor is ready now.
pub(crate) fn is_ready(fd: &Fd, direction: Direction) -> bool {
    let flags = match direction {
        Direction::Read => PollFlags::IN,
        Direction::Write => PollFlags::OUT,
    };
    let mut fds = [PollFd::new(fd, flags)];
    loop {
        match rustix::event::poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
            Ok(count) => return count > 0,
            Err(Errno::INTR) => {}
            // Let the read or write itself report what is wrong.
            Err(_) => return true,
        }
    }
}

impl File {
    /// A file over descriptors.
    pub(crate) fn new(name: impl Into<String>, input: Option<Fd>, output: Option<Fd>) -> File {
        File {
            name: name.into(),
            input: input.map(|fd| Input {
                regular: has_type(&fd, FileType::RegularFile),
                fd: Some(fd),
                bytes: Vec::new(),
                at: 0,
                end: false,
                lines: 0,
            }),
            output: output.map(|fd| {
                let lines = rustix::termios::isatty(&fd);
                let regular = has_type(&fd, FileType::RegularFile)
                    || (has_type(&fd, FileType::CharacterDevice) && !lines);
                let closed = matches!(&fd, Fd::Standard(fd) if closed::was_closed(*fd));
                Output::to(fd, regular, lines, closed)
            }),
            kept: None,
            broken: None,
        }
    }
    /// Reads from a string.
    pub(crate) fn from_bytes(bytes: Vec<u8>, kept: Kept) -> File {
        let input = Input { fd: None, regular: true, bytes, at: 0, end: false, lines: 0 };
        File { name: "string".into(), input: Some(input), output: None, kept: Some(kept), broken: None }
    }
    /// Collects what is written; [`File::take_collected`] gives it.
    pub(crate) fn collector(kept: Kept) -> File {
        let output = Output::without_descriptor(None);
        File { name: "string".into(), input: None, output: Some(output), kept: Some(kept), broken: None }
    }
    /// Hands what is written to a function.
    pub(crate) fn to_sink(name: &str, sink: Sink) -> File {
        let output = Some(Output::without_descriptor(Some(sink)));
        File { name: name.into(), input: None, output, kept: None, broken: None }
    }
    /// Is it a string?
    pub(crate) fn is_string(&self) -> bool {
        self.kept.is_some()
    }
    /// Can it be read?
    pub(crate) fn reads(&self) -> bool {
        self.input.is_some()
    }
    /// Can it be written?
    pub(crate) fn writes(&self) -> bool {
        self.output.is_some()
    }
    /// Closes the descriptors; nothing can be read or written any more.
    pub(crate) fn close(&mut self) {
        self.input = None;
        self.output = None;
        self.kept = None;
    }
    /// Why it has no other end any more, in the system's words (I6).
    pub(crate) fn broken(&self) -> Option<String> {
        self.broken.map(reason)
    }
    /// Is the output a pipe, socket or terminal, where someone may be waiting for it?
    pub(crate) fn is_interactive(&self) -> bool {
        self.output.as_ref().is_some_and(|output| !output.regular)
    }
    /// What a collector got.
    pub(crate) fn take_collected(&mut self) -> Option<Vec<u8>> {
        match &mut self.output {
            Some(output) if !output.leads_out() => Some(std::mem::take(&mut output.bytes)),
            _ => None,
        }
    }

    // ---- reading ----

    /// The bytes at hand, after at least one try to have more than `known` of them; fewer or equal at the end.
    pub(crate) fn peek_more(&mut self, known: usize) -> Result<Ready<&[u8]>, IoError> {
        debug_assert!(self.input.as_ref().is_none_or(|input| input.at <= input.bytes.len()), "I4");
        let available = self.input.as_ref().map_or(0, |input| input.bytes.len() - input.at);
        if available <= known
            && let Ready::Later(fd, direction) = self.fill()?
        {
            return Ok(Ready::Later(fd, direction));
        }
        Ok(Ready::Now(self.input.as_ref().map_or(&[][..], |input| &input.bytes[input.at..])))
    }
    /// Reads once more; nothing is added at the end.
    fn fill(&mut self) -> Result<Ready<()>, IoError> {
        if let Ready::Later(fd, direction) = self.flush()? {
            return Ok(Ready::Later(fd, direction));
        }
        debug_assert!(
            self.input.is_none() || self.output.as_ref().is_none_or(|it| it.bytes.is_empty()),
            "I5"
        );
        let Some(input) = &mut self.input else { return Ok(Ready::Now(())) };
        let Some(fd) = &input.fd else {
            input.end = true;
            return Ok(Ready::Now(()));
        };
        if input.end {
            return Ok(Ready::Now(()));
        }
        if input.at > CHUNK_BYTES && input.at * 2 > input.bytes.len() {
            input.bytes.drain(..input.at);
            input.at = 0;
        }
        loop {
            if !input.regular && !is_ready(fd, Direction::Read) {
                // Thousands of connections that say nothing keep no buffers.
                if input.at == input.bytes.len() {
                    (input.bytes, input.at) = (Vec::new(), 0);
                }
                return Ok(Ready::Later(fd.clone(), Direction::Read));
            }
            let old = input.bytes.len();
            input.bytes.resize(old + CHUNK_BYTES, 0);
            let result = rustix::io::read(fd, &mut input.bytes[old..]);
            input.bytes.truncate(old + result.unwrap_or(0));
            match result {
                Ok(count) => {
                    input.end = count == 0;
                    return Ok(Ready::Now(()));
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(Ready::Later(fd.clone(), Direction::Read)),
                // Nothing more comes from a connection whose other end is gone: that is its end (I6).
                Err(error) if breaks(error) => {
                    self.broken.get_or_insert(error);
                    input.end = true;
                    return Ok(Ready::Now(()));
                }
                Err(error) => return Err(IoError::new("cannot read", &self.name, error)),
            }
        }
    }
    /// Takes `count` of the bytes at hand.
    pub(crate) fn take(&mut self, count: usize) -> Vec<u8> {
        let Some(input) = &mut self.input else { return Vec::new() };
        let end = (input.at + count).min(input.bytes.len());
        let taken = input.bytes[input.at..end].to_vec();
        input.lines += taken.iter().filter(|&&byte| byte == b'\n').count() as i64;
        input.at = end;
        taken
    }
    /// The next byte; `None` at the end.
    pub(crate) fn get_byte(&mut self) -> Result<Ready<Option<u8>>, IoError> {
        Ok(match self.peek_more(0)? {
            Ready::Later(fd, direction) => Ready::Later(fd, direction),
            Ready::Now([]) => Ready::Now(None),
            Ready::Now(_) => Ready::Now(self.take(1).first().copied()),
        })
    }
    /// Puts a byte back in front.
    pub(crate) fn unget(&mut self, byte: u8) {
        let Some(input) = &mut self.input else { return };
        if input.at == 0 {
            input.bytes.insert(0, byte);
        } else {
            input.at -= 1;
            input.bytes[input.at] = byte;
        }
        if byte == b'\n' {
            input.lines -= 1;
        }
        input.end = false;
    }
    /// At most `count` bytes. All of them unless the end comes first (a pipe, socket or terminal: what is there).
    pub(crate) fn read(&mut self, count: usize) -> Result<Ready<Vec<u8>>, IoError> {
        loop {
            let Some(input) = &self.input else { return Ok(Ready::Now(Vec::new())) };
            let known = input.bytes.len() - input.at;
            let enough = known >= count || (known > 0 && !input.regular);
            if enough || input.end {
                return Ok(Ready::Now(self.take(count)));
            }
            if let Ready::Later(fd, direction) = self.fill()? {
                return Ok(Ready::Later(fd, direction));
            }
        }
    }
    /// Newlines taken so far.
    pub(crate) fn line_count(&self) -> i64 {
        self.input.as_ref().map_or(0, |input| input.lines)
    }
    /// Was the end seen, and is nothing left?
    pub(crate) fn at_end(&self) -> bool {
        self.input.as_ref().is_some_and(|input| input.end && input.at == input.bytes.len())
    }

    // ---- writing ----

    /// Appends to the output buffer.
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        self.give_back_read_ahead();
        let Some(output) = &mut self.output else { return };
        let before = output.bytes.capacity();
        output.bytes.extend_from_slice(bytes);
        if let Some(kept) = &mut self.kept {
            kept.add(output.bytes.capacity() - before);
        }
    }
    /// True if far more is buffered than is written at once.
    pub(crate) fn has_backlog(&self) -> bool {
        self.output.as_ref().is_some_and(|output| output.leads_out() && output.bytes.len() >= BACKLOG_BYTES)
    }
    /// True if the buffer is full: it is to be written before more is put into it.
    pub(crate) fn is_full(&self) -> bool {
        self.output.as_ref().is_some_and(|output| output.leads_out() && output.bytes.len() >= BUFFER_BYTES)
    }
    /// True if the buffer should be written now: it is full, or a terminal's line is complete.
    pub(crate) fn wants_flush(&self) -> bool {
        let line = |output: &Output| output.fd.is_some() && output.lines && output.bytes.contains(&b'\n');
        self.is_full() || self.output.as_ref().is_some_and(line)
    }
    /// Writes of the buffer what can be written without waiting.
    pub(crate) fn flush(&mut self) -> Result<Ready<()>, IoError> {
        self.write_out(false)
    }
    /// Writes the buffer, waiting as long as it takes (at the end of the program, and where nothing can be tried
    /// again).
    pub(crate) fn flush_waiting(&mut self) -> Result<(), IoError> {
        self.write_out(true).map(|_| ())
    }
    fn write_out(&mut self, may_wait: bool) -> Result<Ready<()>, IoError> {
        let Some(output) = &mut self.output else { return Ok(Ready::Now(())) };
        output.give_to_sink().map_err(|reason| IoError::of_sink(&self.name, &reason))?;
        let Some(fd) = &output.fd else { return Ok(Ready::Now(())) };
        if self.broken.is_some() {
            output.bytes.clear();
            return Ok(Ready::Now(()));
        }
        let mut done = 0;
        let result = loop {
            let rest = &output.bytes[done..];
            if rest.is_empty() {
                break Ok(Ready::Now(()));
            }
            let careful = !output.regular && !may_wait;
            if careful && !is_ready(fd, Direction::Write) {
                break Ok(Ready::Later(fd.clone(), Direction::Write));
            }
            let count = if careful { rest.len().min(SAFE_WRITE_BYTES) } else { rest.len() };
            let written =
                if output.closed { Err(Errno::BADF) } else { rustix::io::write(fd, &rest[..count]) };
            match written {
                Ok(count) => done += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if may_wait => wait_writable(fd),
                Err(Errno::AGAIN) => break Ok(Ready::Later(fd.clone(), Direction::Write)),
                Err(error) => {
                    done = output.bytes.len();
                    break match fd {
                        Fd::Owned(_) if breaks(error) => {
                            self.broken = Some(error);
                            Ok(Ready::Now(()))
                        }
                        Fd::Owned(_) => Err(IoError::new("cannot write to", &self.name, error)),
                        Fd::Standard(_) => Err(IoError::of_standard(&self.name, error)),
                    };
                }
            }
        };
        output.bytes.drain(..done);
        result
    }
    /// I5: before writing, the position goes back to what the program has taken.
    fn give_back_read_ahead(&mut self) {
        if let (Some(input), Some(_)) = (&mut self.input, &self.output)
            && let Some(fd) = &input.fd
            && input.at < input.bytes.len()
        {
            let ahead = (input.bytes.len() - input.at) as i64;
            if rustix::fs::seek(fd, rustix::fs::SeekFrom::Current(-ahead)).is_ok() {
                input.bytes.clear();
                input.at = 0;
            }
        }
    }

    // ---- position ----

    /// `fseek`: true if it worked. The output buffer must be empty.
    pub(crate) fn seek(&mut self, to: rustix::fs::SeekFrom) -> bool {
        use rustix::fs::SeekFrom;
        if let Some(input) = &mut self.input
            && input.fd.is_none()
        {
            let base = match to {
                SeekFrom::Start(at) => i64::try_from(at).ok(),
                SeekFrom::Current(by) => (input.at as i64).checked_add(by),
                SeekFrom::End(by) => (input.bytes.len() as i64).checked_add(by),
                _ => None,
            };
            let Some(at) = base.and_then(|at| usize::try_from(at).ok()) else { return false };
            input.at = at.min(input.bytes.len());
            input.end = false;
            return true;
        }
        let Some(fd) = self.seekable() else { return false };
        let ahead = self.input.as_ref().map_or(0, |input| (input.bytes.len() - input.at) as i64);
        let to = if let SeekFrom::Current(by) = to { SeekFrom::Current(by - ahead) } else { to };
        if rustix::fs::seek(&fd, to).is_err() {
            return false;
        }
        if let Some(input) = &mut self.input {
            input.bytes.clear();
            input.at = 0;
            input.end = false;
        }
        true
    }
    /// `ftell`: the position, or -1.
    pub(crate) fn tell(&self) -> i64 {
        if let Some(Input { fd: None, at, .. }) = &self.input {
            return *at as i64;
        }
        let Some(fd) = self.seekable() else { return -1 };
        let Ok(position) = rustix::fs::tell(&fd) else { return -1 };
        let ahead = self.input.as_ref().map_or(0, |input| input.bytes.len() - input.at);
        let behind = self.output.as_ref().map_or(0, |output| output.bytes.len());
        position as i64 - ahead as i64 + behind as i64
    }
    fn seekable(&self) -> Option<Fd> {
        let input = self.input.as_ref().and_then(|input| input.fd.clone());
        input.or_else(|| self.output.as_ref().and_then(|output| output.fd.clone()))
    }
}

fn wait_writable(fd: &Fd) {
    // An error here shows again, with its reason, in the write that follows.
    let _ = rustix::event::poll(&mut [PollFd::new(fd, PollFlags::OUT)], None);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtins::tests::worker;

    fn now<T>(ready: Result<Ready<T>, IoError>) -> T {
        match ready.expect("no error") {
            Ready::Now(value) => value,
            Ready::Later(..) => panic!("would wait"),
        }
    }

    fn pipe() -> (File, File) {
        let (read, write) = rustix::pipe::pipe().expect("pipe");
        let read = File::new("r", Some(Fd::Owned(Arc::new(read))), None);
        (read, File::new("w", None, Some(Fd::Owned(Arc::new(write)))))
    }

    #[test]
    fn a_pipe_gives_bytes_then_later_then_end() {
        let (mut read, mut write) = pipe();
        assert!(matches!(read.get_byte(), Ok(Ready::Later(_, Direction::Read))));
        write.put(b"ab\n");
        now(write.flush());
        assert_eq!(now(read.get_byte()), Some(b'a'));
        assert_eq!(now(read.read(10)), b"b\n");
        assert_eq!(read.line_count(), 1);
        read.unget(b'\n');
        assert_eq!(read.line_count(), 0);
        assert_eq!(now(read.get_byte()), Some(b'\n'));
        assert!(matches!(read.get_byte(), Ok(Ready::Later(..))));
        let input = read.input.as_ref().expect("it is read");
        assert_eq!(input.bytes.capacity(), 0, "what waits keeps no buffer");
        drop(write);
        assert_eq!(now(read.get_byte()), None);
        assert!(read.at_end());
        assert_eq!(now(read.get_byte()), None);
    }

    #[test]
    fn a_full_pipe_answers_later_and_loses_nothing() {
        let (mut read, mut write) = pipe();
        let data: Vec<u8> = (0..300_000u32).map(|n| n as u8).collect();
        write.put(&data);
        let mut got = Vec::new();
        let mut waited = false;
        loop {
            match write.flush().expect("no error") {
                Ready::Now(()) => break,
                Ready::Later(_, direction) => {
                    assert_eq!(direction, Direction::Write);
                    waited = true;
                    got.extend(now(read.read(1 << 20)));
                }
            }
        }
        drop(write);
        while !read.at_end() {
            got.extend(now(read.read(1 << 20)));
        }
        assert!(waited && got == data);
    }

    #[test]
    fn a_pipe_without_a_reader_is_broken_and_takes_what_is_written() {
        let (read, mut write) = pipe();
        drop(read);
        write.put(b"x");
        assert_eq!(write.broken(), None);
        now(write.flush());
        assert_eq!(write.broken().as_deref(), Some("Broken pipe"));
        write.put(&[0; 2 * BUFFER_BYTES]);
        assert!(write.is_full());
        now(write.flush());
        assert!(!write.is_full());
    }

    #[test]
    fn what_cannot_be_written_is_an_error_that_names_the_file() {
        let full = rustix::fs::open("/dev/full", rustix::fs::OFlags::WRONLY, rustix::fs::Mode::empty());
        let full = Fd::Owned(Arc::new(full.expect("/dev/full")));
        let mut file = File::new("w", None, Some(full));
        file.put(b"x");
        let error = file.flush().expect_err("it is full");
        assert!(error.message.contains("cannot write to w: No space left"), "{}", error.message);
    }

    #[test]
    fn what_cannot_be_read_is_no_end_but_an_error_that_names_the_file() {
        // Nothing is mapped at address 0.
        let memory =
            rustix::fs::open("/proc/self/mem", rustix::fs::OFlags::RDONLY, rustix::fs::Mode::empty());
        let memory = Fd::Owned(Arc::new(memory.expect("/proc/self/mem")));
        let mut file = File::new("r", Some(memory), None);
        for _ in 0..2 {
            let error = file.get_byte().map(|_| ()).expect_err("it cannot be read");
            assert_eq!(error.message, "cannot read r: Input/output error");
        }
        assert!(!file.at_end());
    }

    #[test]
    fn strings_are_read_sought_and_collected() {
        let mut file = File::from_bytes(b"hello".to_vec(), worker().keep(5));
        assert_eq!(now(file.read(2)), b"he");
        assert_eq!(file.tell(), 2);
        assert!(file.seek(rustix::fs::SeekFrom::Start(1)));
        assert_eq!(now(file.read(9)), b"ello");
        assert_eq!(now(file.get_byte()), None);
        let mut file = File::collector(worker().keep(0));
        file.put(b"ab");
        now(file.flush());
        file.put(b"c");
        assert_eq!(file.take_collected(), Some(b"abc".to_vec()));
    }

    #[test]
    fn a_file_open_for_update_keeps_one_position() {
        let path = std::env::temp_dir().join(format!("fifth-update-{}", std::process::id()));
        std::fs::write(&path, b"0123456789").expect("temporary file");
        let fd = rustix::fs::open(&path, rustix::fs::OFlags::RDWR, rustix::fs::Mode::empty()).expect("open");
        let fd = Fd::Owned(Arc::new(fd));
        let mut file = File::new("u", Some(fd.clone()), Some(fd));
        assert_eq!(now(file.read(3)), b"012");
        assert_eq!(file.tell(), 3);
        file.put(b"ab");
        assert_eq!(file.tell(), 5);
        assert_eq!(now(file.read(2)), b"56");
        drop(file);
        assert_eq!(std::fs::read(&path).expect("read"), b"012ab56789");
        std::fs::remove_file(&path).expect("remove");
    }
}
