//! Garbage in cycles over several nodes: the distance heuristic with migration (Maheshwari and Liskov, "Collecting
//! cyclic distributed garbage by controlled migration", PODC 1995).
//!
//! The *distance* of an import is how many references between nodes lie between it and what some node's program holds:
//! 1 if this node's program holds it, else one more than that of an export of this node that leads to it. The distance
//! of an export is the least of its imports, which their nodes tell after each collection of everything. Round a cycle
//! that nobody holds, distances grow with each round of such collections; of all else they stay. An import that is at
//! least [`Options::far`](super::Options::far) away is suspected. If its home has a higher number its term *moves*: it
//! is read, for terms do not change, and a copy is as good as what it was made from. What a cycle leads through comes
//! to its lowest node, and dies there.
//!
//! All of a term moves at once, whatever parts it is made of: what an answer does not bring is read when the answer
//! comes, if its home has a higher number, too. Were it left there, its new export would be as near as what is alive,
//! and each level of a structure would cost as many collections as the first. What other references lead to moves
//! once, and a term that is a part of itself ends, for the structures where answers end have identities.
//!
//! To suspect what is alive costs copies. After each collection of everything, terms move until half of what was left
//! of the heap is full, [`WINDOW`] at a time; then the rest waits for the next collection. An answer for which there is
//! no room is taken apart for the references in it, and its import is suspected no more while there is no more room.
//!
//! What is told may be out of date, or not be all that there is, for references are under way. So it comes with the
//! import's weight, and an export is as far as it is told only if what was told accounts for all of its weight.
//!
//! A read that moves something is answered at once: variables do not move. So all that is to move has come after a
//! while, whatever waits for what. When nodes collect everything for that says `rounds`.
//!
//! What waits is not garbage: goals are held. Cycles of variables there are none (rule L of `binding`). A cycle of
//! daemons alone, such as mergers that feed each other over nodes, is not collected.

use super::exports::{self, WHOLE};
use super::{Fault, Post, Protocol, Rule, With, imports};
use crate::store::{ExportId, ImportId, Store};
use crate::wire::message::{Distance, Distances, FAR, Item, Message};
use crate::wire::tokens::{Reference, Token, Tokens};
use fabric::NodeId;
use std::collections::{BTreeMap, VecDeque};

/// What a node has told of one of its imports.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Told {
    from: NodeId,
    import: u32,
    weight: u64,
    distance: u8,
}

/// The distance that what was told of an export of this weight makes.
fn nearest(told: &[Told], weight: u128, all: bool) -> u8 {
    let sum: u128 = told.iter().map(|told| u128::from(told.weight)).sum();
    let nearest = told.iter().map(|told| told.distance).min();
    nearest.filter(|_| sum == weight || !all).unwrap_or(1)
}

/// Reads of suspects that are under way at one time, at most: enough that nobody waits for the next answer.
const WINDOW: usize = 256;

/// What is to move until the next collection of everything.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Suspects {
    /// Those that are not read yet. What an answer brings is first: less is left over when there is no more room.
    next: VecDeque<ImportId>,
    under_way: usize,
    /// Words that answers may bring, now and at first.
    room: usize,
    room_first: usize,
    /// The terms of an answer to a suspect are being built.
    building: bool,
}

impl Suspects {
    /// The terms of a message are going to be built; they are those of a suspect if it `moves`.
    pub(super) fn begin(&mut self, moves: bool) {
        self.building = moves;
    }
    pub(super) fn end(&mut self) {
        self.building = false;
    }
    /// A message has brought an import.
    pub(super) fn found(&mut self, import: ImportId) {
        if self.building {
            self.next.push_front(import);
        }
    }
    /// What was read for a suspect has come, or nobody wants it any more.
    pub(super) fn came(&mut self) {
        self.under_way = self.under_way.saturating_sub(1);
    }
}

impl Protocol {
    /// Whether anything is being moved.
    pub(crate) fn moves(&self) -> bool {
        self.suspects.under_way > 0
    }
    /// The largest distance of an import or export.
    pub(crate) fn farthest(&self) -> u8 {
        let (imports, exports) = (self.imports.iter(), self.exports.iter());
        imports.map(|import| import.distance).chain(exports.map(|export| export.distance)).max().unwrap_or(0)
    }
    /// Bytes that the tables take, and those of them that are of no use now. Room to grow takes none before.
    pub(crate) fn bytes(&self) -> (usize, usize) {
        let (exports, imports) = (&self.exports, &self.imports);
        let bytes = |exports, imports| exports * exports::BYTES + imports * imports::BYTES;
        let told = exports.told.len() * exports::TOLD_BYTES;
        let all = bytes(exports.most(), imports.most()) + told;
        (all, all - told - bytes(exports.used(), imports.used()))
    }
}

impl<S: Store, P: Post> With<'_, S, P> {
    /// After a collection of everything that left room for this number of words: these imports have these distances,
    /// and all others are at 1, as they were before.
    pub fn far(&mut self, distances: &[(ImportId, u8)], room: usize) {
        let mut told: BTreeMap<NodeId, Vec<u64>> = BTreeMap::new();
        let mut suspects = VecDeque::new();
        let (node, far) = (self.protocol.options.node, self.protocol.options.far);
        for &(import, distance) in distances {
            debug_assert!((1..=FAR).contains(&distance), "W1: {distance} of {import:?}");
            let Some(entry) = self.protocol.imports.get_mut(import) else { continue };
            let before = std::mem::replace(&mut entry.distance, distance);
            let (home, weight) = (entry.home, entry.weight);
            if distance > 1 || before > 1 {
                let item = Distance { entry: entry.entry, import: import.0, weight, distance };
                Distances::push(told.entry(home).or_default(), &item);
            }
            if distance >= far && node < home {
                suspects.push_back(import);
            }
        }
        for (home, words) in told {
            let items = Distances::new(&words).expect("items of this node's own");
            self.send(home, Message::Distances { items });
        }
        // Those of before that are still under way leave the others their places.
        self.protocol.suspects =
            Suspects { next: suspects, room: room / 2, room_first: room / 2, ..Suspects::default() };
        self.move_suspects();
    }

    /// Reads suspects while there is room for what they bring.
    pub(super) fn move_suspects(&mut self) {
        let node = self.protocol.options.node;
        while self.protocol.suspects.under_way < WINDOW
            && self.protocol.suspects.room > 0
            && let Some(import) = self.protocol.suspects.next.pop_front()
        {
            let most = self.protocol.suspects.room_first.checked_ilog2().unwrap_or(0);
            let lives = |home| !self.protocol.is_lost(home);
            let moves = |entry: &super::Import| {
                node < entry.home && lives(entry.home) && u32::from(entry.heavy) < most
            };
            if self.unread(import).is_some_and(moves) {
                self.protocol.suspected += 1;
                self.protocol.suspects.under_way += 1;
                debug_assert!(self.protocol.suspects.under_way <= WINDOW, "reads of suspects are bounded");
                if let Some(entry) = self.protocol.imports.get_mut(import) {
                    (entry.reading, entry.ahead, entry.moving) = (true, true, true);
                }
                self.send_read(import, WHOLE, true);
            }
        }
    }

    /// Whether there is room for the answer to a suspect. If not, its import is one that is not read.
    pub(super) fn has_room_for(&mut self, import: ImportId, value: &Tokens<'_>) -> bool {
        let rule = self.protocol.rule(Rule::Room);
        let (words, suspects) = (value.room(), &mut self.protocol.suspects);
        let fits = words <= suspects.room && self.store.room(words).is_ok();
        if fits || !rule {
            suspects.room = suspects.room.saturating_sub(words);
            return true;
        }
        if let Some(entry) = self.protocol.imports.get_mut(import) {
            (entry.reading, entry.ahead, entry.moving) = (false, false, false);
            entry.heavy = words.checked_ilog2().unwrap_or(0) as u8;
        }
        suspects.came();
        self.move_suspects();
        false
    }

    /// The references of a term that nobody wants go back.
    pub(super) fn take_apart(&mut self, from: NodeId, value: Tokens<'_>) -> Result<(), Fault> {
        for token in value {
            let Token::Reference(Reference { home, entry, log2, .. }) = token else { continue };
            let weight = log2.map_or(0, |log2| 1 << log2);
            if home == self.protocol.options.node {
                self.protocol.take(from, ExportId(entry), weight)?;
                self.try_free(ExportId(entry));
            } else if weight > 0 {
                self.release(home, Item { entry, weight, cancel: None });
            }
        }
        Ok(())
    }

    /// A node has told how far its imports are.
    pub(super) fn told(&mut self, from: NodeId, items: Distances<'_>) -> Result<(), Fault> {
        let all = self.protocol.rule(Rule::AllFar);
        for Distance { entry, import, weight, distance } in items {
            let export = self.exported(from, entry)?;
            let exports = &mut self.protocol.exports;
            let Some(total) = exports.get(export).map(|entry| entry.weight) else { continue };
            let told = exports.told.entry(export.0).or_default();
            told.retain(|told| (told.from, told.import) != (from, import));
            if distance > 1 {
                told.push(Told { from, import, weight, distance });
            }
            let nearest = nearest(told, total, all);
            if told.is_empty() {
                exports.told.remove(&export.0);
            }
            let Some(entry) = exports.get_mut(export) else { continue };
            if std::mem::replace(&mut entry.distance, nearest) != nearest {
                self.store.set_distance(export, nearest);
            }
        }
        Ok(())
    }

    /// The weight of an export has changed: nothing that was told of it counts any more.
    pub(super) fn forget_told(&mut self, export: ExportId) {
        if !self.protocol.exports.told.is_empty() {
            self.protocol.exports.told.remove(&export.0);
        }
        let Some(entry) = self.protocol.exports.get_mut(export) else { return };
        if std::mem::replace(&mut entry.distance, 1) > 1 {
            self.store.set_distance(export, 1);
        }
    }
}
