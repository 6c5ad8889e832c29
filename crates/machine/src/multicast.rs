//! Multicast to a set of nodes with one acknowledgement for all (JUMP-1's combined acknowledgements, with an exact bit-map).
//!
//! A node that gets a message for a set does its own part, and gives each half of the others to the first node of that half. It acknowledges
//! when its own part is done and both halves have acknowledged.

use crate::slot::Slot;
use fabric::NodeId;
use fabric::NodeSet;

/// Whom to tell when a node's part of a multicast is done.
#[derive(Debug)]
pub(crate) enum Origin {
    /// A task of this node.
    Task(Slot<()>),
    /// The node that it came from, and its entry.
    Node(NodeId, u32),
}

#[derive(Debug)]
struct Entry {
    origin: Origin,
    /// The own part, and halves that have not acknowledged.
    missing: u32,
}

/// A node's multicasts that are under way.
#[derive(Debug, Default)]
pub(crate) struct Multicasts {
    entries: Vec<Option<Entry>>,
    free: Vec<u32>,
}

/// The nodes that get the halves of a set, with what they are to pass on.
pub(crate) fn halves(set: &NodeSet) -> impl Iterator<Item = (NodeId, NodeSet)> {
    set.halves().into_iter().filter_map(|mut half| {
        let first = half.iter().next()?;
        half.remove(first);
        Some((first, half))
    })
}

impl Multicasts {
    /// A new one with so many parts.
    pub(crate) fn enter(&mut self, origin: Origin, missing: u32) -> u32 {
        let entry = Some(Entry { origin, missing });
        match self.free.pop() {
            Some(index) => {
                self.entries[index as usize] = entry;
                index
            }
            None => {
                self.entries.push(entry);
                (self.entries.len() - 1) as u32
            }
        }
    }
    /// A part is done; the origin if it was the last one. `None` also if there is no such entry.
    pub(crate) fn done(&mut self, index: u32) -> Option<Origin> {
        let place = self.entries.get_mut(index as usize)?;
        let entry = place.as_mut()?;
        entry.missing -= 1;
        if entry.missing > 0 {
            return None;
        }
        self.free.push(index);
        place.take().map(|entry| entry.origin)
    }
}
