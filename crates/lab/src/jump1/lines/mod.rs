//! A cache-coherent memory of lines: who may read and write each, and what nodes tell each other about it (JUMP-1's
//! memory was one).
//!
//! Each line has a *home*, which keeps its bytes while nobody owns it, and knows who has copies. A node that wants to
//! read or write a line asks the home; a line that is to be written is first taken from all who have it: by one
//! multicast with one acknowledgement for all, or from its owner. The multicast may go to more nodes than have the
//! line; those answer that they have not.
//!
//! ```text
//! node: Want --> home: Recall --> owner: Give --> home: Grant --> node
//!                      Invalidate, a multicast; when all have acknowledged: Grant
//! ```
//! Messages of one node to another must come in the order in which they were sent. A multicast and another message may
//! overtake each other.
//!
//! - L1 While a node may write a line, no other node has a copy.
//! - L2 A copy has what was written last.
//! - L3 A home does one thing at a time for a line; what is asked meanwhile waits, in order.
//! - L4 A node that may write a line gets a new version of it. A copy that is older than an invalidation that came
//!   while the node waited for it is asked for again: the invalidation has overtaken it.
//! - There is no clock, thread, hash map or I/O here.

mod direct;
mod home;
#[cfg(test)]
mod model;

pub(crate) use direct::DirectMapped;

use fabric::{NodeId, NodeSet};
use home::Entry;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry::Vacant;

/// Bytes of a line.
pub(crate) const LINE_BYTES: usize = 32;

/// What is in a line.
pub(crate) type Bytes = [u8; LINE_BYTES];

/// A line by its number: its address divided by [`LINE_BYTES`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Line(pub(crate) u32);

/// What a node may do with a line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Access {
    /// To read it.
    Read,
    /// To write it, too.
    Write,
}

/// A node's copy of a line.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Held {
    /// What is in it.
    pub(crate) bytes: Bytes,
    /// What the node may do with it.
    pub(crate) access: Access,
    /// How often the line had been given for writing.
    pub(crate) version: u32,
}

/// Where the bytes of a node are: its part of the memory, and its cache.
pub(crate) trait Store {
    /// The home of a line; the same at all nodes.
    fn home(&self, line: Line) -> NodeId;
    /// The bytes of a line that has its home here.
    fn memory(&mut self, line: Line) -> &mut Bytes;
    /// A copy in the cache.
    fn held(&mut self, line: Line) -> Option<&mut Held>;
    /// Puts a copy into the cache, in place of an older one of the same line. Returns one of another line that had to
    /// make room.
    fn hold(&mut self, line: Line, held: Held) -> Option<(Line, Held)>;
    /// Takes a copy out of the cache.
    fn forget(&mut self, line: Line) -> Option<Held>;
}

/// What nodes tell each other, beside invalidations.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Message {
    /// To the home: the sender wants a line.
    Want(Line, Access),
    /// From the home: there it is.
    Grant(Line, Held),
    /// From the home to the owner of this version: another node wants the line. The owner may keep it for reading, or
    /// not.
    Recall {
        /// The line.
        line: Line,
        /// Whether the owner keeps it for reading.
        keep: bool,
        /// The version that it owns.
        version: u32,
    },
    /// From the owner: it was recalled, or made room for another line.
    Give {
        /// The line.
        line: Line,
        /// Whether the owner keeps it for reading.
        keeps: bool,
        /// As it was last written.
        held: Held,
    },
}

/// What a node is to do now, in this order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Effect {
    /// To send this, maybe to itself.
    Send(NodeId, Message),
    /// To tell these nodes, and maybe others, that copies older than this version are worth nothing
    /// ([`Node::invalidate`]). When all have acknowledged that, [`Node::invalidated`] is to be called.
    Invalidate {
        /// The line.
        line: Line,
        /// The nodes that may have it.
        sharers: NodeSet,
        /// Of the line, from now on.
        version: u32,
    },
    /// The node has what it wanted. It should use it before it looks at another message, or it may be gone.
    Ready(Line, Access),
}

/// A message that no node that keeps to the protocol has sent. Nothing has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Strange;

/// What a node waits for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Wanted {
    access: Access,
    /// The newest invalidation that has come since it asked.
    seen: u32,
}

/// A node's part of the memory.
#[derive(Clone, Hash, Debug)]
pub(crate) struct Node<S> {
    /// Its bytes.
    pub(crate) store: S,
    node: NodeId,
    wanted: BTreeMap<Line, Wanted>,
    /// Lines that have their home here and that somebody has asked for.
    entries: BTreeMap<Line, Entry>,
}

impl<S: Store> Node<S> {
    /// A node that has no copies.
    pub(crate) fn new(node: NodeId, store: S) -> Node<S> {
        Node { store, node, wanted: BTreeMap::new(), entries: BTreeMap::new() }
    }
    /// The program wants to use a line. True: it may, now. Otherwise [`Effect::Ready`] says when to ask again.
    pub(crate) fn want(&mut self, line: Line, access: Access, effects: &mut Vec<Effect>) -> bool {
        if self.store.held(line).is_some_and(|held| held.access >= access) {
            return true;
        }
        if let Vacant(place) = self.wanted.entry(line) {
            place.insert(Wanted { access, seen: 0 });
            effects.push(Effect::Send(self.store.home(line), Message::Want(line, access)));
        }
        false
    }
    /// Whether the node waits for a line, or as the home of one for other nodes.
    #[cfg(test)]
    pub(crate) fn is_waiting(&self) -> bool {
        !self.wanted.is_empty() || self.entries.values().any(Entry::is_busy)
    }
    /// A message has come.
    pub(crate) fn receive(
        &mut self,
        from: NodeId,
        message: Message,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Strange> {
        match message {
            Message::Want(line, access) => self.asked(from, line, access, effects),
            Message::Grant(line, held) => self.granted(from, line, held, effects),
            Message::Recall { line, keep, version } => self.recalled(from, line, (keep, version), effects),
            Message::Give { line, keeps, held } => self.given(from, line, (keeps, held), effects),
        }
    }
    fn granted(
        &mut self,
        from: NodeId,
        line: Line,
        held: Held,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Strange> {
        let wanted = *self.wanted.get(&line).ok_or(Strange)?;
        if from != self.store.home(line) || held.access != wanted.access {
            return Err(Strange);
        }
        if held.version < wanted.seen {
            effects.push(Effect::Send(from, Message::Want(line, wanted.access)));
            return Ok(());
        }
        self.wanted.remove(&line);
        if let Some((other, gone)) = self.store.hold(line, held)
            && gone.access == Access::Write
        {
            let home = self.store.home(other);
            effects.push(Effect::Send(home, Message::Give { line: other, keeps: false, held: gone }));
        }
        effects.push(Effect::Ready(line, wanted.access));
        Ok(())
    }
    fn recalled(
        &mut self,
        from: NodeId,
        line: Line,
        (keep, version): (bool, u32),
        effects: &mut Vec<Effect>,
    ) -> Result<(), Strange> {
        if from != self.store.home(line) {
            return Err(Strange);
        }
        // It may have made room for another line meanwhile: what it gave then is the answer.
        let owned = |held: &&mut Held| held.access == Access::Write && held.version == version;
        let Some(held) = self.store.held(line).filter(owned) else { return Ok(()) };
        held.access = Access::Read;
        let held = held.clone();
        if !keep {
            self.store.forget(line);
        }
        effects.push(Effect::Send(from, Message::Give { line, keeps: keep, held }));
        Ok(())
    }
    /// A line has a new version: a copy of an older one is worth nothing. True if the node had one.
    pub(crate) fn invalidate(&mut self, line: Line, version: u32) -> bool {
        if let Some(wanted) = self.wanted.get_mut(&line) {
            wanted.seen = wanted.seen.max(version);
        }
        let had = self.store.held(line).is_some_and(|held| held.version < version);
        if had {
            self.store.forget(line);
        }
        had
    }
}
