//! The messages that come by the million: `getc`, `putc` and `fwrite` where the buffer at hand is enough.
//!
//! They are told by their functors and go straight to the bytes. Whatever is not usual (an empty or full buffer, a
//! terminal, a closed file, an argument without a value) is left to `streams`, which then does all of it.

use super::STDERR;
use super::streams::Kind;
use crate::memory::ranges::read;
use crate::terms::{cell, deref};
use crate::worker::Worker;
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

impl Worker {
    /// Handles the messages that a stream begins with as long as they are quick, `left` at most; answers the rest.
    #[inline(always)]
    pub(super) fn quick_messages(&mut self, place: usize, messages: Word, left: &mut usize) -> Word {
        let mut rest = deref(messages);
        while *left > 0 && rest.tag() == Tag::Cons && self.quick_message(place, cell(rest.address())) {
            rest = deref(cell(rest.address() + 8));
            *left -= 1;
        }
        rest
    }
    /// Handles a message; false if nothing was done.
    #[inline(always)]
    fn quick_message(&mut self, place: usize, message: Word) -> bool {
        let message = deref(message);
        match message.tag() {
            Tag::Int => self.quick_byte(place, message),
            Tag::Atom => message.as_atom() == NEWLINE && self.quick_byte(place, Word::small(b'\n'.into())),
            Tag::Struct => {
                let argument = cell(message.address() + 8);
                match read(message.address()) {
                    GET => self.quick_get(place, argument),
                    PUT => self.quick_byte(place, argument),
                    header @ (WRITE | WRITE_SIMPLE) => self.quick_string(place, argument, header),
                    _ => false,
                }
            }
            _ => false,
        }
    }
    fn quick_get(&mut self, place: usize, answer: Word) -> bool {
        let io = self.io();
        let Some(stream) = io.streams.get_mut(place).filter(|stream| !stream.is_closed()) else {
            return false;
        };
        let input = stream.input;
        let Some(byte) = io.file(input).and_then(|file| file.byte_at_hand()) else { return false };
        self.unify(answer, Word::small(byte.into()));
        true
    }
    fn quick_byte(&mut self, place: usize, code: Word) -> bool {
        let code = deref(code);
        // As in C: the low 8 bits count.
        code.tag() == Tag::Int && self.quick_bytes(place, None, &[code.as_int() as u8])
    }
    fn quick_string(&mut self, place: usize, text: Word, header: Word) -> bool {
        let mut bytes = [0; FEW_BYTES];
        let Some(length) = self.copy_string(text, &mut bytes) else { return false };
        let kind = if header == WRITE { Kind::File } else { Kind::Simple };
        self.quick_bytes(place, Some(kind), &bytes[..length])
    }
    /// The bytes into a stream's buffer, if the stream understands messages of this kind.
    #[inline(always)]
    fn quick_bytes(&mut self, place: usize, kind: Option<Kind>, bytes: &[u8]) -> bool {
        let io = self.io();
        let Some(stream) = io.streams.get_mut(place) else { return false };
        let (output, understood) = (stream.output, kind.is_none_or(|kind| stream.is_of(kind)));
        understood
            && !stream.is_closed()
            && output != STDERR
            && io.file(output).is_some_and(|file| file.put_at_hand(bytes))
    }
}
