//! The messages that come by the million: `getc`, `putc` and `fwrite` where the buffer at hand is enough.
//!
//! They are told by their functors and go straight to the bytes. Whatever is not usual (an empty or full buffer, a
//! terminal, a closed file, an argument without a value) is left to `streams`, which then does all of it.

use super::streams::Kind;
use super::{Io, STDERR, Shared, Table};
use crate::memory::ranges::read;
use crate::terms::{cell, deref};
use crate::worker::Worker;
use crate::worker::native::Streams;
use term::symbol::{FWRITE, GETC, NEWLINE, PUTC, PUTS};
use term::word::{Tag, functor_header};
use term::{Atom, Word};

/// Longer strings take the long way.
const FEW_BYTES: usize = 128;

const fn message(name: Atom) -> Word {
    functor_header(name, 1)
}
const GET: Word = message(GETC);
const PUT: Word = message(PUTC);
const WRITE: Word = message(FWRITE);
const WRITE_SIMPLE: Word = message(PUTS);

/// What a stream needs for them.
struct Quick<'a> {
    files: &'a mut Table<Shared>,
    input: usize,
    output: usize,
    kind: Kind,
}

impl Worker {
    /// Handles the messages that a stream begins with as long as they are quick, `left` at most; answers the rest,
    /// dereferenced: all of them if there is no such stream.
    #[inline(always)]
    pub(super) fn quick_messages(&mut self, place: usize, messages: Word, left: &mut usize) -> Word {
        let messages = deref(messages);
        self.with_streams(|worker, io| io.quick(worker, place, messages, left)).unwrap_or(messages)
    }
}

impl Streams for Io {
    fn quick(&mut self, worker: &mut Worker, place: usize, messages: Word, left: &mut usize) -> Word {
        let Some(stream) = self.streams.get_mut(place) else { return messages };
        let (output, interactive, closed) = (stream.output, stream.interactive, stream.is_closed());
        let mut quick = Quick { files: &mut self.files, input: stream.input, output, kind: stream.kind() };
        let mut rest = messages;
        while *left > 0
            && rest.tag() == Tag::Cons
            && !closed
            && quick.message(worker, deref(cell(rest.address())))
        {
            rest = deref(cell(rest.address() + 8));
            *left -= 1;
        }
        if interactive && rest.tag() == Tag::Ref {
            self.idle(output);
        }
        rest
    }
}

impl Quick<'_> {
    /// Handles a message; false if nothing was done.
    #[inline(always)]
    fn message(&mut self, worker: &mut Worker, message: Word) -> bool {
        match message.tag() {
            Tag::Int => self.byte(message),
            Tag::Atom => message.as_atom() == NEWLINE && self.byte(Word::small(b'\n'.into())),
            Tag::Struct => {
                let argument = deref(cell(message.address() + 8));
                match read(message.address()) {
                    GET => self.get(worker, argument),
                    PUT => self.byte(argument),
                    WRITE => self.kind == Kind::File && self.string(worker, argument),
                    WRITE_SIMPLE => self.kind == Kind::Simple && self.string(worker, argument),
                    _ => false,
                }
            }
            _ => false,
        }
    }
    #[inline(always)]
    fn get(&mut self, worker: &mut Worker, answer: Word) -> bool {
        let Some(file) = self.files.get_mut(self.input).map(|shared| &mut shared.file) else { return false };
        let Some(byte) = file.byte_at_hand() else { return false };
        let answered = worker.bind_at_once(answer, Word::small(byte.into()));
        if answered {
            file.skip_byte(byte);
        }
        answered
    }
    #[inline(always)]
    fn byte(&mut self, code: Word) -> bool {
        // As in C: the low 8 bits count.
        let buffer = if code.tag() == Tag::Int { self.buffer() } else { None };
        buffer.map(|bytes| bytes.push(code.as_int() as u8)).is_some()
    }
    #[inline(always)]
    fn string(&mut self, worker: &Worker, text: Word) -> bool {
        let Some(buffer) = self.buffer() else { return false };
        let mut bytes = [0; FEW_BYTES];
        let length = worker.copy_string(text, &mut bytes);
        length.map(|length| buffer.extend_from_slice(&bytes[..length])).is_some()
    }
    /// The buffer that is written into.
    #[inline(always)]
    fn buffer(&mut self) -> Option<&mut Vec<u8>> {
        if self.output == STDERR {
            return None;
        }
        self.files.get_mut(self.output)?.file.buffer_at_hand(FEW_BYTES)
    }
}
