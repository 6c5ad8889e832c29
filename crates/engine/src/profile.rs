//! Where the time of a run went, by predicate and line: as folded lines and for `pprof`.

use crate::machine::Machine;
use runtime::profile::{Doing, PERIOD_NS};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;
use term::abi::{Position, PredicateId};

/// What a part of the time was spent on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Frame {
    /// A predicate, with its file and the line in it.
    Predicate { module: String, name: String, file: String, line: u32 },
    /// Something else, by name.
    Other(&'static str),
}

/// Times of a run by what they were spent on.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// From the outside to the inside; each with a number of rings of a worker's clock.
    rings: BTreeMap<Vec<Frame>, u64>,
    /// Rings for whose place there was no room.
    left_out: u64,
}

impl Machine {
    /// From now on the nodes of this process are profiled: of the program that was loaded last, with places.
    pub fn profile(&mut self) {
        let Some(code) = self.code.last() else { return };
        let first = code.places().next().map_or(code.range().end, |place| place.0);
        let range = first..code.range().end;
        self.nodes().for_each(|node| node.profile(range.clone()));
    }
    /// Where the time of the nodes of this process went.
    pub fn times(&mut self) -> Times {
        let mut times = Times::default();
        let profiles: Vec<_> = self.nodes().filter_map(runtime::node::Node::take_profile).collect();
        for profile in profiles {
            times.left_out += profile.left_out;
            for (doing, rings) in profile.samples {
                *times.rings.entry(self.frames(doing)).or_insert(0) += rings;
            }
        }
        times
    }
    fn frames(&mut self, doing: Doing) -> Vec<Frame> {
        match doing {
            Doing::Code(address) => vec![self.frame_at(address)],
            Doing::Called(address) => vec![self.frame_at(address), Frame::Other("builtin")],
            Doing::Native(predicate) => vec![self.frame_of(predicate, 0), Frame::Other("builtin")],
            Doing::Scheduling => vec![Frame::Other("scheduler")],
            Doing::Collecting => vec![Frame::Other("gc")],
            Doing::Idle => vec![Frame::Other("idle")],
        }
    }
    fn frame_at(&mut self, address: usize) -> Frame {
        let position = self.code.iter().find_map(|code| code.place(address)).unwrap_or(Position::NONE);
        match position.predicate() {
            Some(predicate) => self.frame_of(predicate, position.line()),
            None => Frame::Other("runtime"),
        }
    }
    fn frame_of(&mut self, predicate: PredicateId, line: u32) -> Frame {
        let (atoms, predicates) = (self.node.atoms().clone(), self.node.predicates().clone());
        let info = predicates.get(predicate);
        let name = atoms.name(info.name).into_owned();
        Frame::Predicate {
            module: atoms.name(info.module).into_owned(),
            // The compiler has named its own after a predicate already.
            name: if info.auxiliary { name } else { format!("{name}/{}", info.arity) },
            file: info.file.to_string(),
            line: if line == 0 { info.line } else { line },
        }
    }
    /// The symbol file in which `perf` finds the names of generated code: a line for each stretch of it.
    pub fn perf_map(&mut self) -> String {
        let mut stretches: Vec<(usize, usize, Position)> = Vec::new();
        for code in &self.code {
            let places: Vec<_> = code.places().collect();
            let ends = places.iter().skip(1).map(|place| place.0).chain([code.range().end]);
            for ((start, position), end) in places.iter().copied().zip(ends) {
                match stretches.last_mut() {
                    Some(last) if last.2.predicate() == position.predicate() && last.1 == start => {
                        last.1 = end
                    }
                    _ => stretches.push((start, end, position)),
                }
            }
        }
        let mut map = String::new();
        for (start, end, position) in stretches.into_iter().filter(|stretch| stretch.0 < stretch.1) {
            let name = match position.predicate().map(|predicate| self.frame_of(predicate, 0)) {
                Some(Frame::Predicate { module, name, .. }) => format!("{module}:{name}"),
                _ => "fifth".into(),
            };
            let _ = writeln!(map, "{start:x} {:x} {name}", end - start);
        }
        map
    }
}

impl Times {
    /// Folded lines, which tools for flame graphs read: `module;p/2;line 12 n`, with `builtin` inside where the runtime
    /// worked for that line; `scheduler`, `gc` and `idle` alone.
    pub fn folded(&self) -> String {
        let mut text = String::new();
        for (frames, rings) in &self.rings {
            let parts = frames.iter().map(|frame| match frame {
                Frame::Predicate { module, name, line: 0, .. } => format!("{module};{name}"),
                Frame::Predicate { module, name, line, .. } => format!("{module};{name};line {line}"),
                Frame::Other(name) => (*name).to_string(),
            });
            let _ = writeln!(text, "{} {rings}", parts.collect::<Vec<_>>().join(";"));
        }
        if self.left_out > 0 {
            let _ = writeln!(text, "left out {}", self.left_out);
        }
        text
    }
    /// The protocol buffer that `pprof` reads, compressed as it expects it. `lasted` is how long the run took.
    pub fn pprof(&self, lasted: Duration) -> Vec<u8> {
        let mut strings = Strings::default();
        // The first string is the empty one.
        strings.number("");
        let mut out = Message::default();
        for (kind, unit) in [("samples", "count"), ("cpu", "nanoseconds")] {
            out.message(1, &strings.value_type(kind, unit));
        }
        let mut locations: BTreeMap<Frame, u64> = BTreeMap::new();
        let mut functions: BTreeMap<(String, String), u64> = BTreeMap::new();
        let mut tables = Message::default();
        for (frames, &rings) in &self.rings {
            let mut ids = Message::default();
            for frame in frames.iter().rev() {
                let next = locations.len() as u64 + 1;
                let id = *locations.entry(frame.clone()).or_insert_with(|| {
                    tables.message(4, &location(next, frame, &mut functions, &mut strings, &mut out));
                    next
                });
                ids.varint(id);
            }
            let mut values = Message::default();
            values.varint(rings);
            values.varint(rings * PERIOD_NS);
            let mut sample = Message::default();
            sample.message(1, &ids);
            sample.message(2, &values);
            out.message(2, &sample);
        }
        out.0.extend(tables.0);
        let period = strings.value_type("cpu", "nanoseconds");
        for text in &strings.list {
            out.bytes(6, text.as_bytes());
        }
        out.number(10, lasted.as_nanos() as u64);
        out.message(11, &period);
        out.number(12, PERIOD_NS);
        gzip(&out.0)
    }
}

/// A location of a frame; what function it lies in is added to the profile.
fn location(
    id: u64,
    frame: &Frame,
    functions: &mut BTreeMap<(String, String), u64>,
    strings: &mut Strings,
    profile: &mut Message,
) -> Message {
    let (name, file, line) = match frame {
        Frame::Predicate { module, name, file, line } => (format!("{module}:{name}"), file.clone(), *line),
        Frame::Other(name) => ((*name).to_string(), String::new(), 0),
    };
    let next = functions.len() as u64 + 1;
    let function = *functions.entry((name.clone(), file.clone())).or_insert_with(|| {
        let mut function = Message::default();
        function.number(1, next);
        function.number(2, strings.number(&name));
        function.number(4, strings.number(&file));
        profile.message(5, &function);
        next
    });
    let mut at = Message::default();
    at.number(1, function);
    at.number(2, line.into());
    let mut location = Message::default();
    location.number(1, id);
    location.message(4, &at);
    location
}

/// The strings of a profile, by number.
#[derive(Default)]
struct Strings {
    numbers: BTreeMap<String, u64>,
    list: Vec<String>,
}

impl Strings {
    fn number(&mut self, text: &str) -> u64 {
        let next = self.list.len() as u64;
        *self.numbers.entry(text.to_string()).or_insert_with(|| {
            self.list.push(text.to_string());
            next
        })
    }
    fn value_type(&mut self, kind: &str, unit: &str) -> Message {
        let mut message = Message::default();
        message.number(1, self.number(kind));
        message.number(2, self.number(unit));
        message
    }
}

/// A message of protocol buffers.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
    fn number(&mut self, field: u64, value: u64) {
        self.varint(field << 3);
        self.varint(value);
    }
    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }
    fn message(&mut self, field: u64, message: &Message) {
        self.bytes(field, &message.0);
    }
}

/// Bytes of a stored block of a gzip file, at most.
const STORED_MAX: usize = 0xffff;

/// A gzip file (RFC 1952) of blocks that are stored as they are: a profile is small.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let blocks = bytes.chunks(STORED_MAX).collect::<Vec<_>>();
    for (index, block) in blocks.iter().enumerate() {
        let length = block.len() as u16;
        out.push(u8::from(index + 1 == blocks.len()));
        out.extend(length.to_le_bytes());
        out.extend((!length).to_le_bytes());
        out.extend_from_slice(block);
    }
    let sum = bytes.iter().fold(!0u32, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| sum >> 1 ^ (0xedb8_8320 & (sum & 1).wrapping_neg()))
    });
    out.extend((!sum).to_le_bytes());
    out.extend((bytes.len() as u32).to_le_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times() -> Times {
        let predicate =
            |line| Frame::Predicate { module: "main".into(), name: "p/2".into(), file: "p.kl1".into(), line };
        let rings = [
            (vec![predicate(12)], 30),
            (vec![predicate(12), Frame::Other("builtin")], 4),
            (vec![predicate(7)], 1),
            (vec![Frame::Other("gc")], 2),
        ];
        Times { rings: rings.into_iter().collect(), left_out: 0 }
    }

    #[test]
    fn folded_lines_say_predicate_line_and_what_is_apart() {
        assert_eq!(
            times().folded(),
            "main;p/2;line 7 1\nmain;p/2;line 12 30\nmain;p/2;line 12;builtin 4\ngc 2\n"
        );
    }

    /// The fields of a message: number and content, of a varint its value's bytes.
    fn fields(mut bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
        fn varint(bytes: &mut &[u8]) -> u64 {
            let length = bytes.iter().take_while(|byte| **byte >= 0x80).count() + 1;
            let (number, rest) = bytes.split_at(length);
            *bytes = rest;
            number.iter().rev().fold(0, |value, byte| value << 7 | u64::from(byte & 0x7f))
        }
        let mut found = Vec::new();
        while !bytes.is_empty() {
            let key = varint(&mut bytes);
            let content = if key & 7 == 2 {
                let length = varint(&mut bytes) as usize;
                let (content, rest) = bytes.split_at(length);
                bytes = rest;
                content.to_vec()
            } else {
                varint(&mut bytes).to_le_bytes().to_vec()
            };
            found.push((key >> 3, content));
        }
        found
    }

    #[test]
    fn pprof_gets_samples_that_lead_to_functions_and_lines() {
        let file = times().pprof(Duration::from_secs(2));
        // Header, a block's header, and behind the block its sum and size.
        let proto = &file[15..file.len() - 8];
        assert_eq!(u16::from_le_bytes([file[11], file[12]]) as usize, proto.len());
        let fields_of = fields(proto);
        let all = |number| fields_of.iter().filter(move |field| field.0 == number).map(|field| &field.1);
        let strings: Vec<_> = all(6).map(|text| String::from_utf8_lossy(text).into_owned()).collect();
        assert_eq!((strings[0].as_str(), all(2).count(), all(4).count(), all(5).count()), ("", 4, 4, 3));
        for name in ["main:p/2", "p.kl1", "builtin", "gc", "samples", "nanoseconds"] {
            assert!(strings.iter().any(|text| text == name), "{name}: {strings:?}");
        }
    }

    #[test]
    fn gzip_has_the_sum_that_the_format_asks_for() {
        let file = gzip(b"123456789");
        assert_eq!(file[file.len() - 8..], [0x26, 0x39, 0xf4, 0xcb, 9, 0, 0, 0]);
    }
}
