//! Messages that tasks have asked to be sent, until their step is over.
//!
//! Each stays in the place where it was written first, which is used again and again: a processor is slow to move
//! what has just been written word by word.

use crate::header::{Header, Kind, WORDS};
use fabric::{Message, NodeId, Priority, WORDS_MAX};

/// Places, some of them in use.
#[derive(Default)]
pub(crate) struct Letters {
    places: Vec<Letter>,
    used: usize,
}

struct Letter {
    words: [u64; WORDS_MAX],
    count: usize,
    payload: Vec<u8>,
    to: NodeId,
    priority: Priority,
}

impl Letters {
    /// How many there are.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.used
    }
    /// One more, for a handler.
    #[inline]
    pub(crate) fn write(
        &mut self,
        to: NodeId,
        priority: Priority,
        code: u32,
        words: &[u64],
        payload: Vec<u8>,
    ) {
        assert!(words.len() <= WORDS, "a message has at most {WORDS} words");
        if self.used == self.places.len() {
            let words = [0; WORDS_MAX];
            self.places.push(Letter { words, count: 0, payload: Vec::new(), to, priority });
        }
        let place = &mut self.places[self.used];
        place.words[0] = Header::new(Kind::Plain, code, 0).word();
        for (i, &word) in words.iter().enumerate() {
            place.words[1 + i] = word;
        }
        (place.count, place.to, place.priority) = (1 + words.len(), to, priority);
        if place.payload.capacity() > 0 || !payload.is_empty() {
            place.payload = payload;
        }
        self.used += 1;
    }
    /// Those from one to before another, in order; they are gone then.
    #[inline]
    pub(crate) fn take(&mut self, from: usize, to: usize) -> impl Iterator<Item = (NodeId, Message)> {
        self.places[from..to].iter_mut().map(|place| {
            let mut message = Message::of_array(place.priority, place.count, place.words);
            if place.payload.capacity() > 0 {
                message.payload = std::mem::take(&mut place.payload);
            }
            (place.to, message)
        })
    }
    /// All have been taken.
    pub(crate) fn clear(&mut self) {
        self.used = 0;
    }
}
