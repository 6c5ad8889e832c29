//! The first word of every message, and what a handler sees of one.
//!
//! `code (32 bits) | kind (8) | aux (24)`: `aux` is a node, a round or an entry of a table, as the kind says. Whoever
//! gives out entries sees to it that their numbers fit.

use crate::names::Name;
use fabric::{Message, NodeId, Priority};

/// Most words of a program's message.
pub const WORDS: usize = fabric::WORDS_MAX - 2;
/// Codes of programs are below this number.
pub const CODES: u32 = 1 << 31;
/// Nodes, and entries of tables, have to fit into a header.
pub(crate) const NODES_MAX: u32 = 1 << 24;

/// What a message is to the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Kind {
    /// For a handler.
    Plain,
    /// For a handler that replies: word 1 is the slot at the sender.
    Request,
    /// A reply: word 1 is the slot.
    Reply,
    /// For the handler that has an object: word 1 is its name, `aux` the node that sent it first.
    Named,
    /// Word 1 is a name, `aux` the node that has it now, word 2 how often it has moved.
    Moved,
    /// A message that was refused comes back.
    Returned,
    /// A number of credits (`aux`).
    Credits,
    /// For a handler of each node; `aux` is the root of the tree.
    Broadcast,
    /// For a handler of each node of a set, which is at the end of the payload; word 1 is who sent it first, `aux`
    /// the entry of who passed it on.
    Multicast,
    /// The same along a chain: behind the set are the answers so far, `aux` is the entry of the first sender.
    Chain,
    /// The same by the fabric's own multicast, without a set.
    Copy,
    /// A multicast has been dealt with below here: `aux` is the receiver's entry, word 1 the answers.
    Acknowledge,
    /// A multicast by the fabric has been dealt with below here: word 1 is who sent it first, `aux` that node's
    /// entry, word 2 the answers.
    Gathered,
    /// Somebody is in this round (`aux`) of a barrier.
    Barrier,
    /// Towards the root and back: word 1 is the operation, word 2 the value.
    ReduceUp,
    ReduceDown,
    /// Of the waves that find the end of the run (X4): down, and up with what was counted.
    WaveDown,
    WaveUp,
    End,
}

const KINDS: [Kind; 19] = [
    Kind::Plain,
    Kind::Request,
    Kind::Reply,
    Kind::Named,
    Kind::Moved,
    Kind::Returned,
    Kind::Credits,
    Kind::Broadcast,
    Kind::Multicast,
    Kind::Chain,
    Kind::Copy,
    Kind::Acknowledge,
    Kind::Gathered,
    Kind::Barrier,
    Kind::ReduceUp,
    Kind::ReduceDown,
    Kind::WaveDown,
    Kind::WaveUp,
    Kind::End,
];

impl Kind {
    /// Whether X4 counts messages of this kind: all but those that find the end, and those that no program waits for.
    #[inline]
    pub(crate) fn counts(self) -> bool {
        !matches!(self, Kind::WaveDown | Kind::WaveUp | Kind::End | Kind::Credits)
    }
}

/// A header word, taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Header {
    pub(crate) code: u32,
    pub(crate) kind: Kind,
    pub(crate) aux: u32,
}

impl Header {
    #[inline]
    pub(crate) fn new(kind: Kind, code: u32, aux: u32) -> Header {
        assert!(code < CODES, "codes are below 2^31");
        debug_assert!(aux < NODES_MAX);
        Header { code, kind, aux }
    }
    #[inline]
    pub(crate) fn word(self) -> u64 {
        u64::from(self.code) | (self.kind as u64) << 32 | u64::from(self.aux) << 40
    }
    /// `None` if no machine writes such a word.
    #[inline]
    pub(crate) fn of(message: &Message) -> Option<Header> {
        let word = *message.words().first()?;
        let kind = *KINDS.get(usize::from((word >> 32) as u8))?;
        let code = word as u32;
        (code < CODES).then_some(Header { code, kind, aux: (word >> 40) as u32 })
    }
    /// A message with this header and these words.
    #[inline]
    pub(crate) fn message(self, priority: Priority, words: &[u64]) -> Message {
        Message::with(priority, 1 + words.len(), |i| if i == 0 { self.word() } else { words[i - 1] })
    }
}

/// A message as its handler sees it.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Its sender.
    pub from: NodeId,
    /// Which handler it is for.
    pub code: u32,
    /// Up to [`WORDS`] words.
    pub words: &'a [u64],
    /// And bytes.
    pub payload: &'a [u8],
    /// What it was sent to by name: the name and the value that this node gave it.
    pub object: Option<(Name, u64)>,
    /// How urgent it is.
    pub priority: Priority,
    /// The sender's slot for a reply.
    pub(crate) reply: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_survive_and_strange_words_are_none() {
        for (number, kind) in KINDS.into_iter().enumerate() {
            assert_eq!(kind as usize, number);
            let header = Header::new(kind, CODES - 1, NODES_MAX - 1);
            let message = header.message(Priority::Low, &[7]);
            assert_eq!((Header::of(&message), message.words()[1]), (Some(header), 7));
        }
        for words in [&[][..], &[u64::MAX], &[1 << 31], &[19 << 32]] {
            assert_eq!(Header::of(&Message::new(Priority::Low, words)), None, "{words:?}");
        }
    }
}
