//! How far terms of other nodes are from what some node's program holds, for cycles of garbage over several nodes.
//!
//! Invariant Y7: a major collection traces from what the program of this node has, and then from the anchors, the
//! nearest first. An import that is reached only then is a step farther than the anchor from which it was. What is
//! said between nodes about that is somebody else's business.

use super::state::{Abroad, Import};
use crate::worker::Worker;
use term::Word;

/// The largest distance: at least so far.
pub const FAR: u8 = 8;

/// Distances of imports.
#[derive(Debug, Default)]
pub(super) struct Distances {
    /// By import, since the last major collection; 0: not reached.
    now: Vec<u8>,
    before: Vec<u8>,
    /// There was one since they were last told.
    new: bool,
    /// Words that the last major collection has copied or marked from anchors.
    held: usize,
}

impl Abroad {
    /// Y7: a major collection has traced from all but the anchors. False: there is nothing to be done about these.
    pub(crate) fn begin_distances(&mut self) -> bool {
        if !self.has_order() {
            return false;
        }
        let Distances { now, before, new, .. } = &mut self.distances;
        std::mem::swap(now, before);
        now.clear();
        now.resize(self.imports.len(), 0);
        *new = true;
        true
    }
    /// Y7: words that were traced from anchors, and from nothing before.
    pub(crate) fn set_held(&mut self, words: usize) {
        self.distances.held = words;
    }
    /// Y7: the anchors at this distance are roots now. False: there are none.
    pub(crate) fn roots_at(&mut self, distance: u8, mut trace: impl FnMut(&mut Word)) -> bool {
        debug_assert!((1..=FAR).contains(&distance), "Y7: no anchor is at distance {distance}");
        let there = self.anchors.iter_mut().filter(|anchor| anchor.root && anchor.queued == 0);
        let mut any = false;
        for anchor in there.filter(|anchor| anchor.distance.clamp(1, FAR) == distance) {
            any = true;
            trace(&mut anchor.word);
        }
        any
    }
    /// Y7: what has been reached now and was not before is at this distance.
    pub(crate) fn reached(&mut self, distance: u8, moved: impl Fn(usize) -> Option<usize>) {
        debug_assert!(
            !self.has_order() || self.imports.len() == self.distances.now.len(),
            "Y7: imports since the collection began"
        );
        for (import, known) in self.imports.iter().zip(&mut self.distances.now) {
            if let Import::Record(record) = import.import
                && *known == 0
                && moved(record).is_some()
            {
                *known = distance.min(FAR);
            }
        }
    }
}

impl Worker {
    /// After a major collection, once: imports that are farther than a step, and those that were before, with their
    /// distance: of an import that the program of this node holds 1, of one that an anchor holds a step more than that
    /// of the anchor, at most [`FAR`].
    pub(crate) fn take_distances(&mut self) -> Option<Vec<(u32, u8)>> {
        let Distances { now, before, new, .. } = &mut self.abroad.distances;
        if !std::mem::take(new) {
            return None;
        }
        let numbered = (0..).zip(now.iter().copied());
        let far = |&(import, distance): &(u32, u8)| {
            distance > 0 && distance.max(before.get(import as usize).copied().unwrap_or(0)) > 1
        };
        Some(numbered.filter(far).collect())
    }
    /// How far the nearest reference to an anchored word is: at least 1. A new anchor's is 1.
    pub(crate) fn set_anchor_distance(&mut self, export: u32, distance: u8) {
        if let Some(anchor) = self.abroad.anchors.get_mut(export as usize) {
            anchor.distance = distance;
        }
    }
    /// Bytes of what is known of other nodes' terms and of those that other nodes know, and of the heap that the last
    /// major collection found held by other nodes and by nothing else.
    pub(crate) fn held_abroad(&self) -> usize {
        8 * self.abroad.distances.held + self.abroad.bytes()
    }
    /// Whether a major collection has found something that was not taken.
    pub(crate) fn has_distances(&self) -> bool {
        self.abroad.distances.new
    }
    /// Y13: whether a major collection that leaves too little room is not the last word: other nodes may let go of
    /// what they alone hold.
    pub(crate) fn set_hopes(&mut self, hopes: bool) {
        self.abroad.gives_up = !hopes;
    }
    /// Bytes that whoever speaks with other nodes keeps for that, which count for the heap limit.
    pub(crate) fn set_bytes_beside(&mut self, bytes: usize) {
        self.abroad.beside = bytes;
    }
}
