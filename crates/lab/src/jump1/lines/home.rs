//! What the home of a line knows and does.

use super::{Access, Effect, Held, Line, Message, Node, Store, Strange};
use fabric::{NodeId, NodeSet};
use std::collections::VecDeque;

/// What the home knows of a line.
#[derive(Clone, Hash, Debug, Default)]
pub(super) struct Entry {
    version: u32,
    holders: Holders,
    /// Invalidations or a recall are under way, for the first of those who ask.
    busy: bool,
    /// The nodes that ask, in order (L3).
    asking: VecDeque<(NodeId, Access)>,
}

/// The nodes that have a line.
#[derive(Clone, Hash, Debug)]
enum Holders {
    /// These may have it, to read.
    Sharers(NodeSet),
    /// This one has it, to write.
    Owner(NodeId),
}

impl Default for Holders {
    fn default() -> Holders {
        Holders::Sharers(NodeSet::new())
    }
}

impl Entry {
    #[cfg(test)]
    pub(super) fn is_busy(&self) -> bool {
        self.busy || !self.asking.is_empty()
    }
}

impl<S: Store> Node<S> {
    pub(super) fn asked(
        &mut self,
        from: NodeId,
        line: Line,
        access: Access,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Strange> {
        if self.store.home(line) != self.node {
            return Err(Strange);
        }
        let entry = self.entries.entry(line).or_default();
        let owns = matches!(entry.holders, Holders::Owner(owner) if owner == from);
        if owns || entry.asking.iter().any(|asking| asking.0 == from) {
            return Err(Strange);
        }
        entry.asking.push_back((from, access));
        self.serve(line, effects);
        Ok(())
    }
    /// A line comes back from its owner.
    pub(super) fn given(
        &mut self,
        from: NodeId,
        line: Line,
        (keeps, held): (bool, Held),
        effects: &mut Vec<Effect>,
    ) -> Result<(), Strange> {
        let entry = self.entries.get_mut(&line).ok_or(Strange)?;
        let owns = matches!(entry.holders, Holders::Owner(owner) if owner == from);
        if !owns || held.version != entry.version {
            return Err(Strange);
        }
        *self.store.memory(line) = held.bytes;
        entry.holders = Holders::Sharers(keeps.then_some(from).into_iter().collect());
        entry.busy = false;
        self.serve(line, effects);
        Ok(())
    }
    /// All who were told that a line has a new version have acknowledged it.
    pub(crate) fn invalidated(&mut self, line: Line, effects: &mut Vec<Effect>) -> Result<(), Strange> {
        let entry = self.entries.get_mut(&line).ok_or(Strange)?;
        if !entry.busy || matches!(entry.holders, Holders::Owner(_)) {
            return Err(Strange);
        }
        entry.holders = Holders::default();
        entry.busy = false;
        self.serve(line, effects);
        Ok(())
    }
    /// Goes on with those who ask for a line, as far as it can.
    fn serve(&mut self, line: Line, effects: &mut Vec<Effect>) {
        let Some(entry) = self.entries.get_mut(&line) else { return };
        while let Some(&(node, access)) = entry.asking.front().filter(|_| !entry.busy) {
            match &mut entry.holders {
                Holders::Owner(owner) => {
                    entry.busy = true;
                    let keep = access == Access::Read;
                    let recall = Message::Recall { line, keep, version: entry.version };
                    effects.push(Effect::Send(*owner, recall));
                    return;
                }
                Holders::Sharers(sharers) if access == Access::Read => sharers.insert(node),
                Holders::Sharers(sharers) => {
                    // Its own copy need not go: it gets a new one.
                    sharers.remove(node);
                    if !sharers.is_empty() {
                        entry.busy = true;
                        // Those who will have acknowledged this have nothing older (L4).
                        let (sharers, version) = (sharers.clone(), entry.version + 1);
                        effects.push(Effect::Invalidate { line, sharers, version });
                        return;
                    }
                    entry.version += 1;
                    entry.holders = Holders::Owner(node);
                }
            }
            entry.asking.pop_front();
            let held = Held { bytes: *self.store.memory(line), access, version: entry.version };
            effects.push(Effect::Send(node, Message::Grant(line, held)));
        }
    }
}
