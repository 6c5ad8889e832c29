//! Garbage in cycles over several nodes: the distance heuristic with migration (Maheshwari and Liskov, "Collecting
//! cyclic distributed garbage by controlled migration", PODC 1995).
//!
//! The *distance* of an import is how many references between nodes lie between it and what some node's program holds:
//! 1 if this node's program holds it, else one more than that of an export of this node that leads to it. The distance
//! of an export is the least of its imports, which their nodes tell after each collection of everything. Round a cycle
//! that nobody holds, distances grow with each round of such collections; of all else they stay. An import that is at
//! least [`Options::far`](super::Options::far) away is suspected. If its home has a higher number it is read: terms do
//! not change, so a copy is as good as what it was made from. What a cycle leads through comes to its lowest node, and
//! dies there. To suspect what is alive costs a read.
//!
//! What is told may be out of date, or not be all that there is, for references are under way. So it comes with the
//! import's weight, and an export is as far as it is told only if what was told accounts for all of its weight.
//!
//! What waits is not garbage: goals are held. Cycles of variables there are none (rule L of `binding`). A cycle of
//! daemons alone, such as mergers that feed each other over nodes, is not collected.

use super::exports::Export;
use super::{Fault, Post, With};
use crate::message::{Distance, Distances, Message};
use crate::store::{ExportId, ImportId, Store};
use fabric::NodeId;
use std::collections::BTreeMap;

/// What a node has told of one of its imports.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Told {
    from: NodeId,
    import: u32,
    weight: u64,
    distance: u8,
}

impl Export {
    /// The distance that what was told makes.
    fn nearest(&self) -> u8 {
        let sum: u128 = self.told.iter().map(|told| u128::from(told.weight)).sum();
        let nearest = self.told.iter().map(|told| told.distance).min();
        nearest.filter(|_| sum == self.weight).unwrap_or(1)
    }
}

impl<S: Store, P: Post> With<'_, S, P> {
    /// After a collection of everything: these imports have these distances, and all others are at 1, as they were
    /// before.
    pub fn far(&mut self, distances: &[(ImportId, u8)]) {
        let mut told: BTreeMap<NodeId, Vec<u64>> = BTreeMap::new();
        let mut suspects = Vec::new();
        let (node, far) = (self.protocol.options.node, self.protocol.options.far);
        for &(import, distance) in distances {
            let Some(entry) = self.protocol.imports.get_mut(import) else { continue };
            let before = std::mem::replace(&mut entry.distance, distance);
            let (home, weight) = (entry.home, entry.weight);
            if distance > 1 || before > 1 {
                let item = Distance { entry: entry.entry, import: import.0, weight, distance };
                Distances::push(told.entry(home).or_default(), &item);
            }
            if distance >= far && node < home {
                suspects.push(import);
            }
        }
        for (home, words) in told {
            let items = Distances::new(&words).expect("items of this node's own");
            self.send(home, Message::Distances { items });
        }
        for import in suspects {
            if self.unread(import).is_some() {
                self.protocol.suspected += 1;
                self.ask(import, false);
                if let Some(entry) = self.protocol.imports.get_mut(import) {
                    entry.ahead = true;
                }
            }
        }
    }

    /// A node has told how far its imports are.
    pub(super) fn told(&mut self, from: NodeId, items: Distances<'_>) -> Result<(), Fault> {
        for Distance { entry, import, weight, distance } in items {
            let export = self.exported(from, entry)?;
            let Some(entry) = self.protocol.exports.get_mut(export) else { continue };
            entry.told.retain(|told| (told.from, told.import) != (from, import));
            if distance > 1 {
                entry.told.push(Told { from, import, weight, distance });
            }
            let nearest = entry.nearest();
            if std::mem::replace(&mut entry.distance, nearest) != nearest {
                self.store.set_distance(export, nearest);
            }
        }
        Ok(())
    }

    /// The weight of an export has changed: nothing that was told of it counts any more.
    pub(super) fn forget_told(&mut self, export: ExportId) {
        let Some(entry) = self.protocol.exports.get_mut(export) else { return };
        entry.told.clear();
        if std::mem::replace(&mut entry.distance, 1) > 1 {
            self.store.set_distance(export, 1);
        }
    }
}
