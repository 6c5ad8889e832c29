//! What travels.

use crate::NodeId;

/// Most words of a message; what is longer goes into its payload.
pub const WORDS_MAX: usize = 8;

/// Messages of the higher priority overtake others, at the receiver at least.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Priority {
    /// Of most messages.
    #[default]
    Low,
    /// Of messages without which others cannot go on: replies, credits.
    High,
}

/// A few words, and bytes if there is more to say.
#[derive(Clone, Debug)]
#[repr(C, align(16))]
pub struct Message {
    /// Behind the first `len` is anything.
    words: [u64; WORDS_MAX],
    /// Any number of bytes, moved as they are.
    pub payload: Vec<u8>,
    /// Its sender; the fabric enters that.
    pub from: NodeId,
    /// How urgent it is.
    pub priority: Priority,
    len: u8,
}

impl Message {
    /// A message of at most [`WORDS_MAX`] words, without payload. More is a mistake of the caller's: panics.
    #[inline]
    pub fn new(priority: Priority, words: &[u64]) -> Message {
        Message::with(priority, words.len(), |i| words[i])
    }
    /// A message of `count` words (at most [`WORDS_MAX`]), each asked for once and in order, without payload.
    #[inline]
    pub fn with(priority: Priority, count: usize, mut word: impl FnMut(usize) -> u64) -> Message {
        let mut words = [0; WORDS_MAX];
        for (i, place) in words[..count].iter_mut().enumerate() {
            *place = word(i);
        }
        Message { from: NodeId(0), priority, len: count as u8, words, payload: Vec::new() }
    }
    /// The first `count` of these words. (To copy all of them is faster than to copy some.)
    #[inline]
    pub fn of_array(priority: Priority, count: usize, words: [u64; WORDS_MAX]) -> Message {
        assert!(count <= WORDS_MAX);
        Message { from: NodeId(0), priority, len: count as u8, words, payload: Vec::new() }
    }
    /// The words, and what is behind them.
    #[cfg(any(test, feature = "mpi"))]
    #[inline]
    pub(crate) fn array(&self) -> &[u64; WORDS_MAX] {
        &self.words
    }
    /// The words.
    #[inline]
    pub fn words(&self) -> &[u64] {
        &self.words[..self.len.into()]
    }
}

impl PartialEq for Message {
    fn eq(&self, other: &Message) -> bool {
        let Message { from, priority, len: _, words: _, payload } = self;
        (from, priority, self.words(), payload)
            == (&other.from, &other.priority, other.words(), &other.payload)
    }
}

impl Eq for Message {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_the_words_it_was_made_of() {
        for count in 0..=WORDS_MAX {
            let words: Vec<u64> = (0..count as u64).collect();
            let message = Message::new(Priority::High, &words);
            assert_eq!(message.words(), words);
        }
    }
}
