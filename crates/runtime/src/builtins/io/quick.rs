//! The messages that come by the million: `getc`, and what writes characters, strings and terms, where the buffer at
//! hand is enough.
//!
//! They are told by their functors and go straight to the bytes. Whatever is not usual (an empty or full buffer, a
//! terminal, a closed file, an argument without a value) is left to `streams`, which then does all of it.

use super::batches::CALM;
use super::streams::{Kind, Stream};
use super::{Io, STDERR, Shared, Table, serve};
use crate::memory::ranges::{read, write as write_word};
use crate::terms::append::Style;
use crate::terms::{deref, value_at};
use crate::worker::Worker;
use crate::worker::native::{Record, Streams};
use syntax::format::{INTEGER_BYTES_MAX, write_atom, write_integer};
use term::symbol::{FWRITE, GETC, NEWLINE, PRINT, PUTC, PUTS, PUTT, PUTTQ};
use term::word::{Tag, UNBOUND, functor_header};
use term::{Atom, Word};

const fn message(name: Atom) -> Word {
    functor_header(name, 1)
}
const GET: Word = message(GETC);
const PUT: Word = message(PUTC);
const WRITE: Word = message(FWRITE);
const WRITE_SIMPLE: Word = message(PUTS);
const TERM: Word = message(PUTT);
const TERM_QUOTED: Word = message(PUTTQ);
const TERM_SIMPLE: Word = message(PRINT);

impl Worker {
    /// Handles the messages that a stream begins with as long as they are quick, `left` at most; answers the rest,
    /// dereferenced: all of them if there is no such stream.
    pub(super) fn quick_messages(&mut self, place: usize, messages: Word, left: &mut usize) -> Word {
        let messages = deref(messages);
        self.with_streams(|worker, io| io.quick(worker, place, messages, left)).unwrap_or(messages)
    }
    /// The same for those that only write, and all of them.
    pub(super) fn only_write(&mut self, place: usize, messages: Word) -> Word {
        self.with_streams(|worker, io| io.only_write(worker, place, messages)).unwrap_or(messages)
    }
}

impl Worker {
    /// The process of a stream was resumed by one message: if that is `getc`, and nothing else is to be done, answers
    /// it. False if nothing was done.
    #[inline(always)]
    pub(super) fn get_at_once(&mut self, record: Record) -> bool {
        let Some(cons) = self.only_message(record) else { return false };
        let Some(answer) = self.answer_cell(read(cons)).filter(|&answer| answer != cons + 8) else {
            return false;
        };
        let handle = self.record_argument(record, 1);
        if handle.tag() != Tag::Int {
            return false;
        }
        let Some(byte) = self.next_byte(handle.as_int() as usize) else { return false };
        write_word(answer, Word::small(byte.into()));
        self.wait_behind(record, self.system_goals.stream, cons);
        true
    }
    /// Where the answer to a `getc` goes, if that is a private variable for which nobody waits.
    #[inline(always)]
    fn answer_cell(&self, message: Word) -> Option<usize> {
        if !is_get(message) {
            return None;
        }
        let argument = read(message.address() + 8);
        let cell = match argument.tag() {
            Tag::Ref => argument.address(),
            _ => message.address() + 8,
        };
        (read(cell) == UNBOUND && self.is_private(cell)).then_some(cell)
    }
}

impl Streams for Io {
    fn next_byte(&mut self, place: usize) -> Option<u8> {
        if !self.batches.is_empty() && self.waits_for_batch(place) {
            return None;
        }
        let stream = self.streams.get_mut(place)?;
        if stream.is_closed() || stream.interactive {
            return None;
        }
        stream.calm = 0;
        let next = self.files.get_mut(stream.input)?.file.next_at_hand()?;
        let byte = next.byte;
        next.take();
        Some(byte)
    }
    fn quick(&mut self, worker: &mut Worker, place: usize, messages: Word, left: &mut usize) -> Word {
        self.handle_quick(worker, place, messages, left)
    }
    fn resumed(&mut self, worker: &mut Worker, record: Record) -> bool {
        let [messages, handle] = [0, 1].map(|index| worker.record_argument(record, index));
        let place = serve::place(handle);
        if !self.batches.is_empty() && self.waits_for_batch(place) {
            return false;
        }
        let rest = self.handle_quick(worker, place, deref(messages), &mut { serve::BATCH });
        let calm = self.streams.get_mut(place).is_some_and(|stream| stream.calm >= CALM);
        if calm {
            // It becomes one, perhaps.
            worker.replace_argument(record, rest);
        }
        !calm && worker.wait_again(record, worker.system_goals.stream, rest)
    }
    fn has_batches(&self) -> bool {
        !self.batches.is_empty()
    }
    fn only_write(&mut self, worker: &mut Worker, place: usize, messages: Word) -> Word {
        let Some(stream) = self.streams.get_mut(place) else { return messages };
        let mut rest = messages;
        while rest.tag() == Tag::Cons {
            let message = value_at(rest.address());
            if is_get(message) || !handle(&mut self.files, stream, worker, message) {
                break;
            }
            rest = value_at(rest.address() + 8);
        }
        rest
    }
}

impl Io {
    #[inline(always)]
    fn handle_quick(&mut self, worker: &mut Worker, place: usize, messages: Word, left: &mut usize) -> Word {
        let Some(stream) = self.streams.get_mut(place) else { return messages };
        if stream.is_closed() {
            return messages;
        }
        let (mut rest, before) = (messages, *left);
        while *left > 0
            && rest.tag() == Tag::Cons
            && handle(&mut self.files, stream, worker, value_at(rest.address()))
        {
            rest = value_at(rest.address() + 8);
            *left -= 1;
        }
        stream.calm = stream.calm.saturating_add((before - *left) as u32);
        if stream.interactive && rest.tag() == Tag::Ref {
            let output = stream.output;
            self.idle(output);
        }
        rest
    }
    /// O2 of `batches`.
    #[inline(always)]
    fn waits_for_batch(&mut self, place: usize) -> bool {
        let Some(stream) = self.streams.get_mut(place) else { return false };
        let output = stream.output;
        self.has_batch_before(output)
    }
}

type Files = Table<Shared>;

#[inline(always)]
fn is_get(message: Word) -> bool {
    message.tag() == Tag::Struct && read(message.address()) == GET
}

/// Handles a message; false if nothing was done.
#[inline(always)]
fn handle(files: &mut Files, stream: &mut Stream, worker: &mut Worker, message: Word) -> bool {
    match message.tag() {
        Tag::Struct => {
            let argument = value_at(message.address() + 8);
            match read(message.address()) {
                GET => get(files, stream, worker, argument),
                PUT => put(files, stream, argument),
                WRITE => stream.kind() == Kind::File && write(files, stream, worker, argument),
                WRITE_SIMPLE => stream.kind() == Kind::Simple && write(files, stream, worker, argument),
                TERM | TERM_QUOTED => stream.kind() == Kind::File && term(files, stream, worker, argument),
                TERM_SIMPLE => stream.kind() == Kind::Simple && term(files, stream, worker, argument),
                _ => false,
            }
        }
        Tag::Int => put(files, stream, message),
        Tag::Atom => message.as_atom() == NEWLINE && put(files, stream, Word::small(b'\n'.into())),
        _ => false,
    }
}

#[inline(always)]
fn get(files: &mut Files, stream: &mut Stream, worker: &mut Worker, answer: Word) -> bool {
    let Some(next) = files.get_mut(stream.input).and_then(|shared| shared.file.next_at_hand()) else {
        return false;
    };
    stream.calm = 0;
    let answered = worker.bind_at_once(answer, Word::small(next.byte.into()));
    if answered {
        next.take();
    }
    answered
}

/// `putc` with a character's code.
#[inline(always)]
fn put(files: &mut Files, stream: &Stream, code: Word) -> bool {
    if code.tag() != Tag::Int {
        return false;
    }
    // As in C: the low 8 bits count.
    room(files, stream, 1).map(|(buffer, _)| buffer.push(code.as_int() as u8)).is_some()
}

/// The bytes of a string.
#[inline(always)]
fn write(files: &mut Files, stream: &Stream, worker: &Worker, text: Word) -> bool {
    // Words are copied, so there must be room for one that is not full.
    let Some((buffer, room)) = room(files, stream, 8) else { return false };
    worker.append_string(text, room - 7, buffer)
}

/// A term that is ground and has no operators.
#[inline(never)]
fn term(files: &mut Files, stream: &Stream, worker: &mut Worker, term: Word) -> bool {
    match term.tag() {
        Tag::Int => {
            let Some((buffer, _)) = room(files, stream, INTEGER_BYTES_MAX) else { return false };
            write_integer(term.as_int(), buffer);
            true
        }
        Tag::Atom => {
            let text = worker.atoms.text(term.as_atom());
            // Quotes double some characters.
            let Some((buffer, _)) = room(files, stream, 2 * text.len() + 2) else { return false };
            if stream.kind() == Kind::Simple {
                buffer.extend_from_slice(text);
            } else {
                write_atom(text, buffer);
            }
            true
        }
        Tag::Cons | Tag::Struct | Tag::Object => parts(files, stream, worker, term).is_some(),
        _ => false,
    }
}

/// A term with parts, string, vector or float; `None` if nothing was done. The first term of a stream is left to the
/// printer, which then makes the table of operators. So are terms that may have parts at other nodes.
#[inline(never)]
fn parts(files: &mut Files, stream: &Stream, worker: &mut Worker, term: Word) -> Option<()> {
    let style = match stream.kind() {
        Kind::Simple => Style::Plain,
        Kind::File => Style::Readable(stream.ops.as_deref()?),
    };
    if worker.is_one_of_several_nodes() {
        return None;
    }
    let (buffer, room) = room(files, stream, 1)?;
    worker.append_term(term, style, room, buffer).then_some(())
}

/// The buffer that is written into, if it has room for this number of bytes, and the room.
#[inline(always)]
fn room<'a>(files: &'a mut Files, stream: &Stream, bytes: usize) -> Option<(&'a mut Vec<u8>, usize)> {
    if stream.output == STDERR {
        return None;
    }
    files.get_mut(stream.output)?.file.buffer_at_hand().filter(|&(_, room)| room >= bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtins::io::buffers::File;
    use crate::builtins::tests::worker;

    /// What a stream on a string has got of these messages, and how many were quick.
    fn collected(worker: &mut Worker, kind: Kind, messages: &[Word]) -> (Vec<u8>, usize) {
        let mut file = File::collector(worker.keep(0));
        file.make_room(1000, 1000);
        let io = worker.io();
        let file = io.add_file(file);
        let place = io.open_stream(file, file, kind);
        let ops = syntax::operators::OpTable::default_table(&worker.atoms);
        if let Some(stream) = worker.io().streams.get_mut(place) {
            stream.ops = Some(Box::new(ops));
        }
        let list = worker.list(messages, Word::NIL);
        let mut left = 100;
        worker.quick_messages(place, list, &mut left);
        let text = worker.io().file(file).and_then(|file| file.take_collected());
        (text.expect("it is a collector"), 100 - left)
    }

    #[test]
    fn usual_terms_are_written_as_the_printer_writes_them() {
        let worker = worker();
        let ops = syntax::operators::OpTable::default_table(&worker.atoms);
        let mut terms: Vec<Word> = [0, 7, -7, 10, -120, i64::MAX >> 3, i64::MIN >> 3]
            .into_iter()
            .map(|value| Word::int(value).expect("61 bits"))
            .collect();
        for name in ["a", "[]", "", "A b", "it's", "+", "-", "mod", ":-", "|", ",", "dynamic"] {
            terms.push(Word::atom(worker.intern(name)));
        }
        let f = worker.intern("f");
        terms.push(worker.structure(f, &[Word::small(1)]));
        terms.push(worker.list(&[Word::small(1), Word::small(2)], Word::NIL));
        terms.push(worker.string(b"it's\n"));
        terms.push(worker.float(0.5));
        for (kind, name) in [(Kind::File, PUTT), (Kind::File, PUTTQ), (Kind::Simple, PRINT)] {
            for &term in &terms {
                let message = worker.structure(name, &[term]);
                let expected = match kind {
                    Kind::File => crate::terms::print::readable(worker, &ops, term),
                    Kind::Simple => crate::terms::print::plain(worker, term),
                };
                let expected = (expected.expect("it is finite"), 1);
                assert_eq!(collected(worker, kind, &[message]), expected);
            }
        }
    }

    #[test]
    fn operators_and_variables_are_left_to_the_printer() {
        let worker = worker();
        let (f, minus, variable) = (worker.intern("f"), worker.intern("-"), worker.new_variable());
        for term in [worker.structure(minus, &[Word::small(1)]), worker.structure(f, &[variable])] {
            let message = worker.structure(PUTT, &[term]);
            assert_eq!(collected(worker, Kind::File, &[message]), (vec![], 0));
        }
    }

    #[test]
    fn a_collector_takes_what_it_has_room_for_and_no_more() {
        let worker = worker();
        let text = worker.string(b"0123456789ab");
        let write = worker.structure(FWRITE, &[text]);
        let (got, quick) = collected(worker, Kind::File, &[write; 99]);
        assert!((80..=83).contains(&quick), "{quick}");
        assert_eq!(got, b"0123456789ab".repeat(quick));
    }
}
