//! What reductions and messages cost on a simulated machine, and what a node has spent.
//!
//! Of the Multi-PSI/V2 (Nakajima, ICOT TR-486, 1989), times to send and receive `read`, `answer_value` and
//! `throw_goal` are printed; the other messages cost what is most like them. The time of a reduction is derived: 16
//! processors of which each works 85% of the time, a quarter of that on messages, reduce 14,735,231 goals of Pentomino
//! in 31,482 ms, so one has 22 µs for each.

use crate::KINDS;
use crate::protocol::Depth;
use crate::wire::message::Message;
use crate::wire::tokens::{Reference, Token};
use fabric::simulated::{Config, Priorities, Topology};

/// A simulated machine.
#[derive(Clone, Debug)]
pub struct Model {
    /// Nodes and channels; a flit is a byte, and a cycle the time in which a channel carries one.
    pub(crate) network: Config,
    /// Nanoseconds of a cycle.
    pub cycle: f64,
    /// Nanoseconds of a reduction.
    pub reduction: f64,
    /// Reductions until a node looks for messages.
    pub slice: u64,
    /// Nanoseconds to send and to receive a message of each kind, in the order of [`crate::KINDS`].
    pub messages: [[f64; 2]; KINDS.len()],
    /// How much of a structure an answer brings.
    pub depth: Depth,
    /// All references are black ([`crate::Options`]).
    pub black: bool,
    /// A node that dies.
    pub(crate) crash: Option<Crash>,
}

/// The death of a simulated node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Crash {
    /// Which.
    pub node: u32,
    /// It is dead when it would do something in this cycle or later.
    pub cycle: u64,
}

/// Bytes on the network of a word of a message: then a `read` has 16 bytes (printed: 14), and an answer that is an atom
/// and a reference 28 (printed: 24).
const WORD_BYTES: u32 = 4;
/// Bytes of the buffers into which a processor writes packets and from which it reads them.
const BUFFER_BYTES: u32 = 4096;
/// Bytes of a packet, printed, that such a buffer is divided by.
const PACKET_BYTES: u32 = 20;
const MICRO: f64 = 1000.0;

impl Model {
    /// A Multi-PSI/V2 of this number of nodes; `None` unless they make a square of 2 by 2 to 40 by 40.
    pub fn multi_psi(nodes: u32) -> Option<Model> {
        let side = nodes.isqrt();
        if side * side != nodes || !(2..=40).contains(&side) {
            return None;
        }
        let queue = BUFFER_BYTES / PACKET_BYTES;
        let network = Config {
            priorities: Priorities::Alike,
            // The output buffer of a channel.
            buffer_flits: 48,
            header_flits: 0,
            word_flits: WORD_BYTES,
            send_queue: queue,
            receive_queue: queue,
            time_max: u64::MAX / 4,
            ..Config::plain(Topology::mesh(&[side, side]), 1)
        };
        let (read, answer, throw) = ([25.0, 35.0], [42.0, 80.0], [85.0, 130.0]);
        let times = |kind: &str| match kind {
            "throw_goal" => throw,
            "answer_value" | "unify" => answer,
            _ => read,
        };
        let messages = KINDS.map(|kind| times(kind).map(|us| us * MICRO));
        let (depth, black) = (Depth::Off, false);
        Some(Model {
            network,
            cycle: 200.0,
            reduction: 22.0 * MICRO,
            slice: 8,
            messages,
            depth,
            black,
            crash: None,
        })
    }
    /// The Parallel Inference Machine as the paper extrapolates to it: a Multi-PSI with processors 32 times and
    /// channels 4 times as fast.
    pub fn pim(nodes: u32) -> Option<Model> {
        let slow = Model::multi_psi(nodes)?;
        let messages = slow.messages.map(|pair| pair.map(|time| time / 32.0));
        Some(Model { cycle: slow.cycle / 4.0, reduction: slow.reduction / 32.0, messages, ..slow })
    }
    /// The same machine, one of whose nodes dies.
    pub fn with_crash(self, crash: Option<Crash>) -> Model {
        Model { crash, ..self }
    }
    /// How many nodes it has.
    pub fn nodes(&self) -> u32 {
        self.network.topology.nodes()
    }
    /// Cycles of the work that a message is, at both ends: half of what a goal's takes.
    pub(crate) fn message(&self) -> u64 {
        let [send, receive] = self.messages[0];
        self.cycles((send + receive) / 2.0) as u64
    }
    fn cycles(&self, nanoseconds: f64) -> f64 {
        nanoseconds / self.cycle
    }
}

/// What a node has done. Times are cycles.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Work {
    /// Reductions.
    pub reductions: u64,
    /// Time that they took.
    pub reducing: u64,
    /// Time that sending and receiving messages took.
    pub messages: u64,
    /// Messages that came, by kind.
    pub received: [u64; KINDS.len()],
    /// Bytes of the messages that were sent, by kind.
    pub bytes: [u64; KINDS.len()],
    /// White and black references in messages that were sent.
    pub references: [u64; 2],
}

/// Reads off what a node has to spend.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    model: Model,
    pub(crate) work: Work,
    /// Cycles that were spent less than they should have been: they are spent with what follows.
    owed: f64,
}

impl Meter {
    pub(crate) fn new(model: Model) -> Meter {
        Meter { model, work: Work::default(), owed: 0.0 }
    }
    pub(crate) fn model(&self) -> &Model {
        &self.model
    }
    pub(crate) fn slice(&self) -> u64 {
        self.model.slice
    }
    /// Whole cycles of this time.
    fn spend(&mut self, nanoseconds: f64) -> u64 {
        self.owed += self.model.cycles(nanoseconds);
        let whole = self.owed as u64;
        self.owed -= whole as f64;
        whole
    }
    /// The cycles that this number of reductions takes.
    pub(crate) fn reduce(&mut self, reductions: u64) -> u64 {
        let time = self.spend(reductions as f64 * self.model.reduction);
        self.work.reductions += reductions;
        self.work.reducing += time;
        time
    }
    /// Cycles to send a message, which has this number of words.
    pub(crate) fn send(&mut self, message: &Message<'_>, words: usize) -> u64 {
        let kind = message.kind();
        if let Message::Throw { arguments: terms, .. }
        | Message::Answer { value: terms, .. }
        | Message::Unify { value: terms, .. } = message
        {
            for token in *terms {
                if let Token::Reference(Reference { black, .. }) = token {
                    self.work.references[usize::from(black)] += 1;
                }
            }
        }
        self.send_words(kind, words)
    }
    /// The same of whatever is of this kind.
    pub(crate) fn send_words(&mut self, kind: usize, words: usize) -> u64 {
        // With the machine's own word.
        self.work.bytes[kind] += (words as u64 + 1) * u64::from(WORD_BYTES);
        let time = self.spend(self.model.messages[kind][0]);
        self.work.messages += time;
        time
    }
    /// Cycles to receive a message of this kind.
    pub(crate) fn receive(&mut self, kind: usize) -> u64 {
        self.work.received[kind] += 1;
        let time = self.spend(self.model.messages[kind][1]);
        self.work.messages += time;
        time
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::message::Reader;
    use crate::wire::tokens::Tokens;
    use fabric::NodeId;

    #[test]
    fn machines_are_squares() {
        let known: Vec<u32> = (0..2000).filter(|&nodes| Model::multi_psi(nodes).is_some()).collect();
        assert_eq!((known.len(), known[0], known[38]), (39, 4, 1600));
    }

    #[test]
    fn parts_of_cycles_add_up() {
        // 687.5 ns are 13.75 cycles of 50 ns.
        let mut meter = Meter::new(Model::pim(4).expect("a square"));
        let spent: Vec<u64> = (0..4).map(|_| meter.reduce(1)).collect();
        assert_eq!((spent, meter.work.reductions, meter.work.reducing), (vec![13, 14, 14, 14], 4, 55));
    }

    #[test]
    fn messages_cost_what_is_printed() {
        let mut meter = Meter::new(Model::multi_psi(16).expect("a square"));
        let reader = Reader { node: NodeId(1), import: 0, serial: 0 };
        let read = Message::Read { entry: 0, reader, depth: 0, hops: 0, peek: false };
        let mut words = Vec::new();
        let key = Reference {
            home: NodeId(1),
            entry: 7,
            log2: Some(3),
            black: true,
            root: NodeId(1),
            depth: 1,
            identity: None,
        };
        let parts = [Token::List(1), Token::Int(1), Token::Reference(key)];
        parts.iter().for_each(|token| token.write(&mut words));
        let value = Tokens::new(&words, 1, 2).expect("one term");
        let answer = Message::Answer { reader, value };
        assert_eq!((meter.send(&read, 3), meter.receive(read.kind())), (125, 175));
        assert_eq!((meter.send(&answer, 6), meter.receive(answer.kind())), (210, 400));
        let bytes = [read, answer].map(|message| meter.work.bytes[message.kind()]);
        assert_eq!((bytes, meter.work.references), ([16, 28], [0, 1]));
    }
}
