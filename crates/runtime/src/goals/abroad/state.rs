//! Tables of exports and imports, and the queue of what is to be told: Y1 to Y4 of the module above.

use super::far::Distances;
use super::identities::Identities;
use super::outward::By;
use crate::coordination::waker::{Ticker, Waker};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use std::collections::{BTreeMap, VecDeque};
use term::Word;
use term::abi::{Position, PredicateId};
use term::word::Tag;

/// Those of an item of the queue; most have few.
pub(crate) type Words = SmallVec<[Word; 4]>;

/// An export.
#[derive(Clone, Copy, Debug)]
pub(super) struct Anchor {
    /// Good while it is a root; otherwise its marker has it.
    pub(super) word: Word,
    pub(super) root: bool,
    /// Y1: the list of young ones has it.
    listed: bool,
    /// Items of the queue that name it.
    pub(super) queued: u32,
    /// The record of its marker, or 0.
    pub(super) marker: usize,
    /// Y7; 0 is as 1.
    pub(super) distance: u8,
}

impl Default for Anchor {
    fn default() -> Anchor {
        Anchor { word: Word::small(0), root: false, listed: false, queued: 0, marker: 0, distance: 1 }
    }
}

impl Anchor {
    pub(super) fn is_root(&self) -> bool {
        self.root || self.queued > 0
    }
    /// The number is free, but for items of the queue that name it.
    pub(super) fn clear(&mut self) {
        *self = Anchor { listed: self.listed, queued: self.queued, ..Anchor::default() };
    }
}

/// An import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Import {
    #[default]
    Free,
    /// Y2.
    Record(usize),
    /// It got a value here, and an item of the queue says so (Y4): its cell.
    Bound(Word),
}

/// An import, and whether the list of young ones has it (Y1).
#[derive(Clone, Debug, Default)]
pub(super) struct Listed {
    pub(super) import: Import,
    listed: bool,
}

/// An item of the queue. Y8: of another worker's queue it has the record for its last word, if it is about one.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) what: Kind,
    pub(super) words: Words,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Throw {
        node: u32,
        priority: i64,
        predicate: PredicateId,
    },
    /// The second says whether all that is inside is wanted, too.
    Wanted(u32, bool),
    Looked(u32, bool),
    /// These two say which goal did it, if it is counted (X20 of `shoen`).
    Bound(u32, By),
    Alias(By),
    Marked(u32),
    Offered(PredicateId),
    Placed(PredicateId),
}

/// Words of mail that say what kind of item it is.
const KIND_WORDS: usize = 4;

impl Item {
    /// As mail to worker 0: the words, and what kind of item it is as integers.
    fn into_mail(self) -> Vec<Word> {
        let kind = match self.what {
            Kind::Throw { node, priority, predicate } => [0, node.into(), predicate.0.into(), priority],
            Kind::Wanted(import, whole) => [1, import.into(), whole.into(), 0],
            Kind::Bound(import, by) => [2, import.into(), by.position.bits() as i64, by.lane],
            Kind::Marked(export) => [3, export.into(), 0, 0],
            Kind::Alias(by) => [4, 0, by.position.bits() as i64, by.lane],
            Kind::Offered(predicate) => [5, predicate.0.into(), 0, 0],
            Kind::Placed(predicate) => [6, predicate.0.into(), 0, 0],
            Kind::Looked(import, whole) => [7, import.into(), whole.into(), 0],
        };
        self.words.into_iter().chain(kind.map(Word::small)).collect()
    }
    pub(super) fn of_mail(words: &[Word]) -> Item {
        debug_assert!(words.len() >= KIND_WORDS, "Y8: mail that says what it is: {words:?}");
        let (words, kind) = words.split_at(words.len() - KIND_WORDS);
        let [kind, number, second, priority] = [0, 1, 2, 3].map(|i| kind[i].as_int());
        let number = number as u32;
        let by = By { lane: priority, position: Position::of_word(Word::small(second)) };
        let what = match kind {
            0 => Kind::Throw { node: number, priority, predicate: PredicateId(second as u32) },
            1 => Kind::Wanted(number, second != 0),
            2 => Kind::Bound(number, by),
            3 => Kind::Marked(number),
            4 => Kind::Alias(by),
            5 => Kind::Offered(PredicateId(number)),
            6 => Kind::Placed(PredicateId(number)),
            _ => Kind::Looked(number, second != 0),
        };
        Item { what, words: Words::from_slice(words) }
    }
}

/// What is known of an import that somebody looks at.
#[derive(Debug)]
pub(super) enum Look {
    /// Its home was asked; this variable becomes `[]` when it has answered.
    Asked(Word),
    /// It had no value.
    Unbound,
}

/// See the module comment.
#[derive(Debug, Default)]
pub(crate) struct Abroad {
    pub(super) anchors: Vec<Anchor>,
    pub(super) imports: Vec<Listed>,
    /// Y1.
    young_anchors: Vec<u32>,
    young_imports: Vec<u32>,
    /// Of worker 0: what is to be told to other nodes; of others: what is to be sent to it (Y8).
    pub(super) queue: VecDeque<Item>,
    /// Y11: ticks while something waits.
    ticker: Ticker,
    ticks: bool,
    /// Y5: of the collection that is about to begin.
    awaited: Vec<Word>,
    /// The export that the last item taken from the queue named as marked: it counts as queued until the next is taken.
    pub(super) told: Option<u32>,
    /// What the last collections found: imports, and exports.
    pub(super) dead: Vec<u32>,
    pub(super) lost: Vec<u32>,
    /// Imports that a term's reader looks at.
    pub(super) looks: BTreeMap<u32, Look>,
    /// Words and entries that collections looked at.
    pub(super) scanned: u64,
    /// Predicates of goals with `@node(any)`, and of goals that `@node(N)` has placed here.
    pub(super) offered: FxHashSet<PredicateId>,
    pub(super) placed: FxHashSet<PredicateId>,
    pub(super) identities: Identities,
    pub(super) distances: Distances,
    /// Bytes that whoever speaks with other nodes keeps for that.
    pub(super) beside: usize,
    /// Y13: there is no hope.
    pub(super) gives_up: bool,
}

pub(super) fn place<T: Default + Clone>(list: &mut Vec<T>, number: u32) -> &mut T {
    if list.len() <= number as usize {
        list.resize(number as usize + 1, T::default());
    }
    &mut list[number as usize]
}

impl Abroad {
    /// An anchor whose word or marker may be young.
    pub(super) fn young_anchor(&mut self, export: u32) -> &mut Anchor {
        let anchor = place(&mut self.anchors, export);
        if !std::mem::replace(&mut anchor.listed, true) {
            self.young_anchors.push(export);
        }
        anchor
    }
    /// An import is this from now on.
    pub(super) fn set_import(&mut self, import: u32, to: Import) {
        debug_assert!(to != Import::Free, "Y2: only a collection, or whoever forgets it, ends an import");
        let entry = place(&mut self.imports, import);
        entry.import = to;
        if !std::mem::replace(&mut entry.listed, true) {
            self.young_imports.push(import);
        }
    }
    pub(super) fn import(&self, import: u32) -> Import {
        self.imports.get(import as usize).map_or(Import::Free, |entry| entry.import)
    }
    /// Y5: finds the variables that are roots of the next collection, before anything is moved.
    pub(crate) fn find_awaited(&mut self, major: bool) {
        self.awaited = if major {
            self.imports.iter().filter_map(|entry| entry.import.awaited()).collect()
        } else {
            self.young_imports.iter().filter_map(|&import| self.import(import).awaited()).collect()
        };
    }
    /// Y5: these.
    pub(crate) fn take_awaited(&mut self) -> Vec<Word> {
        debug_assert!(
            self.awaited.iter().all(|word| word.tag() == Tag::Ref),
            "Y5: variables: {:?}",
            self.awaited
        );
        std::mem::take(&mut self.awaited)
    }
    /// Y7: whether a major collection is to trace in order of distance, which one collector alone can do.
    pub(crate) fn has_order(&self) -> bool {
        !self.anchors.is_empty() || !self.imports.is_empty()
    }
    /// Y13.
    pub(crate) fn hopes(&self) -> bool {
        !self.gives_up && self.has_order()
    }
    /// Y8: all items, as mail to worker 0.
    pub(crate) fn take_reports(&mut self) -> Vec<Vec<Word>> {
        self.queue.drain(..).map(Item::into_mail).collect()
    }
    /// Y11: something waits for more from now on. False if nobody can end that: it is not to wait.
    pub(super) fn begin_bunch(&mut self, waker: &Waker) -> bool {
        self.ticks = true;
        self.ticker.set(true, waker);
        self.ticker.has_thread()
    }
    /// Y11: nothing waits any more.
    pub(super) fn end_bunch(&mut self) {
        if std::mem::take(&mut self.ticks) {
            self.ticker.stop();
        }
    }
    /// Y1, Y4: the words that collections trace from; `trace` replaces a word. `ordered`: without anchors that only
    /// other nodes hold, which follow in their order (Y7).
    pub(crate) fn roots(&mut self, major: bool, ordered: bool, mut trace: impl FnMut(&mut Word)) {
        let Abroad { anchors, imports, young_anchors, queue, looks, scanned, .. } = self;
        let asked = looks.values_mut().filter_map(|look| match look {
            Look::Asked(word) => Some(word),
            Look::Unbound => None,
        });
        for word in queue.iter_mut().flat_map(|item| &mut item.words).chain(asked) {
            *scanned += 1;
            trace(word);
        }
        if major {
            *young_anchors = (0..anchors.len() as u32).collect();
            for entry in imports.iter_mut() {
                if let Import::Bound(word) = &mut entry.import {
                    trace(word);
                }
            }
        } else {
            for &import in &self.young_imports {
                if let Import::Bound(word) = &mut imports[import as usize].import {
                    trace(word);
                }
            }
        }
        for &export in young_anchors.iter() {
            *scanned += 1;
            let anchor = &mut anchors[export as usize];
            debug_assert!(major || anchor.listed, "Y1: export {export} is in the list, and does not know it");
            if anchor.queued > 0 || anchor.root && !ordered {
                trace(&mut anchor.word);
            }
        }
    }
    /// Y2, Y3: after the trace. `moved` tells where a record is now, or `None` if it is dead, and `young` whether
    /// that is young.
    pub(crate) fn sweep(
        &mut self,
        major: bool,
        moved: impl Fn(usize) -> Option<usize>,
        young: impl Fn(usize) -> bool,
    ) {
        let Abroad {
            anchors, imports, young_anchors, young_imports, dead, lost, scanned, identities, ..
        } = self;
        identities.sweep(major, &moved, &young);
        if major {
            *young_imports = (0..imports.len() as u32).collect();
        }
        young_imports.retain(|&number| {
            *scanned += 1;
            let Listed { import, listed } = &mut imports[number as usize];
            *listed = match *import {
                Import::Free => false,
                Import::Bound(_) => true,
                Import::Record(record) => match moved(record) {
                    Some(record) => {
                        *import = Import::Record(record);
                        young(record)
                    }
                    None => {
                        *import = Import::Free;
                        dead.push(number);
                        false
                    }
                },
            };
            *listed
        });
        young_anchors.retain(|&number| {
            *scanned += 1;
            let anchor = &mut anchors[number as usize];
            if anchor.marker != 0 {
                anchor.marker = moved(anchor.marker).unwrap_or_default();
                if anchor.marker == 0 && !anchor.is_root() {
                    lost.push(number);
                }
            }
            let word = anchor.word;
            anchor.listed = anchor.marker != 0 && young(anchor.marker)
                || anchor.is_root() && !word.is_immediate() && young(word.address());
            anchor.listed
        });
    }
    /// All words that it keeps alive, for the check of the heap.
    pub(crate) fn words(&self) -> impl Iterator<Item = Word> {
        let anchors = self.anchors.iter().filter(|anchor| anchor.is_root());
        let bound = self.imports.iter().filter_map(|entry| match entry.import {
            Import::Bound(word) => Some(word),
            _ => None,
        });
        let queued = self.queue.iter().flat_map(|item| item.words.iter().copied());
        let asked = self.looks.values().filter_map(|look| match look {
            Look::Asked(word) => Some(*word),
            Look::Unbound => None,
        });
        anchors.map(|anchor| anchor.word).chain(bound).chain(queued).chain(asked)
    }
    /// Bytes that its tables take.
    pub(crate) fn bytes(&self) -> usize {
        let tables =
            self.anchors.capacity() * size_of::<Anchor>() + self.imports.capacity() * size_of::<Listed>();
        self.beside + tables + self.identities.bytes() + self.queue.capacity() * size_of::<Item>()
    }
}
