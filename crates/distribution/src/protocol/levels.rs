//! Structures as tokens, level after level: of a term that is deep to whatever side, or wide, as much as an answer has.

use super::exports::{Share, Way, size};
use super::{Post, With};
use crate::store::{Seen, Store};
use crate::wire::tokens::Token;

/// A part of a term that may be sent.
struct Part<V> {
    value: V,
    /// The place of its first part. All of them are there, side by side.
    parts: Option<usize>,
}

impl<S: Store, P: Post> With<'_, S, P> {
    /// Appends a structure: of what is inside it, the nearest come with it, and references to what is left out.
    pub(super) fn put_levels(&mut self, words: &mut Vec<u64>, value: S::Value, share: Share, way: Way) {
        let all = self.choose(value, share);
        let way = Way { black: true, thrown: false, ..way };
        let mut open = vec![0];
        while let Some(place) = open.pop() {
            let Part { value, parts } = all[place];
            let Some(first) = parts else {
                self.put_outside(words, value, false, way);
                continue;
            };
            if self.store.look(value) == Seen::List {
                self.put_conses(words, &all, first, &mut open);
                continue;
            }
            let count = self.put_outside(words, value, true, way);
            debug_assert!(first + count <= all.len(), "W2: parts that nobody has chosen");
            open.extend((first..first + count).rev());
        }
    }

    /// Appends the token of a list that has these parts, as far as its conses are sent; its heads and tail come next.
    fn put_conses(&self, words: &mut Vec<u64>, all: &[Part<S::Value>], first: usize, open: &mut Vec<usize>) {
        let (mut cons, bottom) = (first, open.len());
        loop {
            open.push(cons);
            match all[cons + 1].parts {
                Some(next) if self.store.look(all[cons + 1].value) == Seen::List => cons = next,
                _ => break,
            }
        }
        debug_assert!(open.len() > bottom && cons + 1 < all.len(), "W2: a list has a head and a tail");
        words.push(Token::of_list(open.len() - bottom));
        open.push(cons + 1);
        open[bottom..].reverse();
    }

    /// The parts of a structure that are sent, and those of which references are, level after level. The structure
    /// itself is sent whatever its size.
    fn choose(&self, value: S::Value, share: Share) -> Vec<Part<S::Value>> {
        let mut all = vec![Part { value, parts: None }];
        let (mut next, mut structures, mut taken) = (0, 0, 0);
        while next < all.len() && structures < share.structures {
            let value = all[next].value;
            let seen = self.store.look(value);
            let count = match seen {
                Seen::List => 2,
                Seen::Struct { arity, .. } => arity,
                Seen::Vector(length) => length,
                Seen::Bytes(_) => 0,
                _ => {
                    next += 1;
                    continue;
                }
            };
            if next == 0 || taken + size(&seen) <= share.words {
                (structures, taken) = (structures + 1, taken + size(&seen));
                all[next].parts = Some(all.len());
                all.extend(
                    (0..count).map(|number| Part { value: self.store.part(value, number), parts: None }),
                );
            }
            next += 1;
        }
        debug_assert!(all[0].parts.is_some(), "D4: what is asked for comes, whatever its size");
        all
    }
}
