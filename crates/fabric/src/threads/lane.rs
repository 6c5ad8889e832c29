//! A lane: messages of one priority from one node to another, in a ring of words with one writer and one reader.
//!
//! A message is a header word (how many words, and whether a payload goes with it) and its words. The payload itself
//! is handed over beside the ring, so it is never copied.
//!
//! Invariants:
//! - L1 Words `head..tail` (positions only grow; a position modulo the capacity is its place) belong to the reader,
//!   all others to the writer. Only the writer moves `tail`, only the reader `head`, each after it is done with the
//!   words.
//! - L2 A lane has as many payloads as published and unpublished messages with one; both are in the order of sending.
//! - What is written becomes visible by [`Writer::publish`] alone, so that one transfer of a cache line carries
//!   many messages.

use crate::sync::{Arc, AtomicU64, Mutex, Ordering};
use crate::{Message, NodeId, Priority, WORDS_MAX};
use std::collections::VecDeque;

/// In a header word: a payload goes with this message.
const HAS_PAYLOAD: u64 = 1 << 8;

/// Keeps what the writer stores and what the reader stores in different cache lines (and pairs of lines, which are
/// fetched together).
#[repr(align(128))]
struct Padded<T>(T);

/// The part that both ends share.
struct Lane {
    tail: Padded<AtomicU64>,
    head: Padded<AtomicU64>,
    words: Box<[AtomicU64]>,
    payloads: Mutex<VecDeque<Vec<u8>>>,
}

impl Lane {
    fn word(&self, position: u64) -> &AtomicU64 {
        &self.words[position as usize & (self.words.len() - 1)]
    }
}

/// The sending end.
pub(super) struct Writer {
    lane: Arc<Lane>,
    /// Written up to here, published up to `published`.
    tail: u64,
    published: u64,
    /// `head` when it was last looked at: there is at least as much room.
    head: u64,
}

/// The receiving end.
pub(super) struct Reader {
    lane: Arc<Lane>,
    head: u64,
    /// `tail` when it was last looked at: there is at least as much to read.
    tail: u64,
}

/// A lane with room for `capacity` words, a power of two that holds a longest message.
pub(super) fn lane(capacity: usize) -> (Writer, Reader) {
    assert!(capacity.is_power_of_two() && capacity > WORDS_MAX, "a lane of {capacity} words");
    let lane = Arc::new(Lane {
        tail: Padded(AtomicU64::new(0)),
        head: Padded(AtomicU64::new(0)),
        words: (0..capacity).map(|_| AtomicU64::new(0)).collect(),
        payloads: Mutex::new(VecDeque::new()),
    });
    (Writer { lane: lane.clone(), tail: 0, published: 0, head: 0 }, Reader { lane, head: 0, tail: 0 })
}

impl Writer {
    /// Writes a message, or gives it back if there is no room.
    pub(super) fn write(&mut self, message: Message) -> Result<(), Message> {
        let words = message.words();
        if !self.has_room(1 + words.len() as u64) {
            return Err(message);
        }
        let mut header = words.len() as u64;
        if !message.payload.is_empty() {
            header |= HAS_PAYLOAD;
        }
        // Relaxed: `publish` orders the words (L1).
        self.lane.word(self.tail).store(header, Ordering::Relaxed);
        for (position, &word) in (self.tail + 1..).zip(words) {
            self.lane.word(position).store(word, Ordering::Relaxed);
        }
        self.tail += 1 + words.len() as u64;
        if header & HAS_PAYLOAD != 0 {
            self.payloads().push_back(message.payload);
        }
        Ok(())
    }

    fn has_room(&mut self, words: u64) -> bool {
        let limit = self.lane.words.len() as u64 - words;
        if self.tail - self.head > limit {
            // Acquire: pairs with the Release in `Reader::read`; the reader has read what is overwritten next (L1).
            self.head = self.lane.head.0.load(Ordering::Acquire);
        }
        self.tail - self.head <= limit
    }

    /// How many words have been written and not published.
    pub(super) fn unpublished(&self) -> u64 {
        self.tail - self.published
    }

    /// Makes visible what has been written.
    pub(super) fn publish(&mut self) {
        // Release: pairs with the Acquire in `Reader::has_message`.
        self.lane.tail.0.store(self.tail, Ordering::Release);
        self.published = self.tail;
    }

    fn payloads(&self) -> impl std::ops::DerefMut<Target = VecDeque<Vec<u8>>> {
        self.lane.payloads.lock().expect("nothing panics while it holds payloads")
    }
}

impl Reader {
    /// Whether there is a message.
    pub(super) fn has_message(&mut self) -> bool {
        if self.head == self.tail {
            // Acquire: pairs with the Release in `Writer::publish`.
            self.tail = self.lane.tail.0.load(Ordering::Acquire);
        }
        self.head != self.tail
    }

    /// The next message; `from` and `priority` are those of this lane.
    pub(super) fn read(&mut self, from: NodeId, priority: Priority) -> Option<Message> {
        if !self.has_message() {
            return None;
        }
        let header = self.lane.word(self.head).load(Ordering::Relaxed);
        let len = (header & 0xff) as usize;
        let mut message = Message::with(priority, len, |i| {
            self.lane.word(self.head + 1 + i as u64).load(Ordering::Relaxed)
        });
        message.from = from;
        if header & HAS_PAYLOAD != 0 {
            let mut payloads = self.lane.payloads.lock().expect("nothing panics while it holds payloads");
            message.payload = payloads.pop_front().expect("L2");
        }
        self.head += 1 + len as u64;
        // Release: pairs with the Acquire in `Writer::has_room`; the words above have been read.
        self.lane.head.0.store(self.head, Ordering::Release);
        Some(message)
    }
}

#[cfg(all(test, not(models)))]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_given_back_and_fits_later() {
        let (mut writer, mut reader) = lane(16);
        let message = |word: u64| Message::new(Priority::Low, &[word; 4]);
        for word in 0..3 {
            writer.write(message(word)).expect("room for three of five words");
        }
        let back = writer.write(message(3)).expect_err("no room for a fourth");
        assert_eq!(back.words(), [3; 4]);
        assert!(!reader.has_message(), "nothing has been published");
        writer.publish();
        for lap in 0..100 {
            let first = reader.read(NodeId(7), Priority::Low).expect("published");
            assert_eq!((first.from, first.words()), (NodeId(7), &[lap; 4][..]));
            writer.write(message(lap + 3)).expect("room again");
            writer.publish();
        }
    }

    #[test]
    fn payloads_keep_to_their_messages() {
        let (mut writer, mut reader) = lane(64);
        for length in 0..10 {
            let mut message = Message::new(Priority::High, &[length]);
            message.payload = vec![length as u8; length as usize];
            writer.write(message).expect("room");
        }
        writer.publish();
        for length in 0..10 {
            let message = reader.read(NodeId(0), Priority::High).expect("published");
            assert_eq!(message.words(), [length]);
            assert_eq!(message.payload, vec![length as u8; length as usize]);
        }
        assert!(reader.read(NodeId(0), Priority::High).is_none());
    }
}
