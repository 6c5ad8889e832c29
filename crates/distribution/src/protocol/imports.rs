//! The import table, and terms from tokens.

use super::exports::Way;
use super::{Fault, Post, Rule, With};
use crate::Goal;
use crate::store::{ExportId, ImportId, Shape, Store, StructureId};
use crate::wire::message::{Item, Message};
use crate::wire::tokens::{Name, Reference, Token, Tokens};
use fabric::NodeId;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};

/// A reference to a term of another node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Import {
    pub(crate) home: NodeId,
    pub(crate) entry: u32,
    pub(crate) weight: u64,
    /// Its label.
    pub(crate) root: NodeId,
    pub(crate) depth: u32,
    /// A `Read` is under way.
    pub(crate) reading: bool,
    /// That `Read` was sent before a goal waited, and none has since.
    pub(super) ahead: bool,
    /// More weight was asked for.
    pub(super) asked: bool,
    /// The export through which this import was passed on when it had no weight.
    pub(super) export: Option<ExportId>,
    pub(super) identity: Option<StructureId>,
    /// What was told of it: see `cycles`.
    pub(super) distance: u8,
    /// The next answer is to bring 2 to this power of conses or structures, or what `exports::ALL` says.
    pub(super) chunk: u8,
    /// It is being read because it is suspected.
    pub(super) moving: bool,
    /// Its term did not move: an answer had 2 to this power of words. 0: none was too large.
    pub(super) heavy: u8,
}

/// The table. An entry's serial says how often it was used before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Imports {
    entries: Vec<(u32, Option<Import>)>,
    free: Vec<u32>,
    /// Black imports that are not dead.
    keys: Keys,
}

/// Imports by home and entry. Entries are small numbers where little is exported at a time: most are places in a list
/// of their home's, and all lists together have at most [`PLACES`] for each import that there was at one time. The
/// others are hashed. A home and entry is in one of both.
#[derive(Clone, Debug, Default)]
struct Keys {
    /// By home and then by entry: the import's number and 1, or 0.
    lists: Vec<Vec<u32>>,
    places: usize,
    hashed: FxHashMap<(NodeId, u32), ImportId>,
}

/// Of an entry, with its place in the list of free ones, and in one of keys.
pub(super) const BYTES: usize = size_of::<(u32, Option<Import>)>() + 8;

/// See [`Keys`].
const PLACES: usize = 8;
/// Places that there may be in any case.
const PLACES_MIN: usize = 4096;

impl Keys {
    fn get(&self, home: NodeId, entry: u32) -> Option<ImportId> {
        match self.lists.get(home.0 as usize).and_then(|list| list.get(entry as usize)) {
            Some(&number) if number > 0 => Some(ImportId(number - 1)),
            _ if self.hashed.is_empty() => None,
            _ => self.hashed.get(&(home, entry)).copied(),
        }
    }
    /// Notes an import, one of `most`, instead of what had this home and entry before.
    fn set(&mut self, home: NodeId, entry: u32, import: ImportId, most: usize) {
        match self.place(home, entry, most) {
            Some(place) => *place = import.0 + 1,
            None => {
                self.hashed.insert((home, entry), import);
                return;
            }
        }
        if !self.hashed.is_empty() {
            self.hashed.remove(&(home, entry));
        }
    }
    /// The place of an entry; it is made unless the lists would then be too large for `most` imports.
    fn place(&mut self, home: NodeId, entry: u32, most: usize) -> Option<&mut u32> {
        let (home, entry) = (home.0 as usize, entry as usize);
        let length = self.lists.get(home).map_or(0, Vec::len);
        if entry >= length {
            let places = self.places + (entry - length) + 1;
            if places > PLACES_MIN + PLACES * most {
                return None;
            }
            if self.lists.len() <= home {
                self.lists.resize_with(home + 1, Vec::new);
            }
            self.lists[home].resize(entry + 1, 0);
            self.places = places;
            debug_assert_eq!(self.places, self.lists.iter().map(Vec::len).sum(), "places are counted");
        }
        Some(&mut self.lists[home][entry])
    }
    /// Forgets an import, if it is the one that is noted.
    fn remove(&mut self, home: NodeId, entry: u32, import: ImportId) {
        if let Some(place) = self.lists.get_mut(home.0 as usize).and_then(|list| list.get_mut(entry as usize))
            && *place == import.0 + 1
        {
            *place = 0;
        } else if !self.hashed.is_empty() && self.hashed.get(&(home, entry)) == Some(&import) {
            self.hashed.remove(&(home, entry));
        }
    }
}

impl Hash for Imports {
    /// `keys` follows from the entries but for imports that were made for the same export twice.
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.entries, &self.free).hash(state);
        for (number, (_, entry)) in self.entries.iter().enumerate() {
            if let Some(import) = entry {
                self.is_noted(ImportId(number as u32), import).hash(state);
            }
        }
    }
}

impl Imports {
    pub(crate) fn get(&self, import: ImportId) -> Option<&Import> {
        self.entries.get(import.0 as usize)?.1.as_ref()
    }
    pub(super) fn get_mut(&mut self, import: ImportId) -> Option<&mut Import> {
        self.entries.get_mut(import.0 as usize)?.1.as_mut()
    }
    pub(crate) fn serial(&self, import: ImportId) -> u32 {
        self.entries.get(import.0 as usize).map_or(0, |entry| entry.0)
    }
    pub(crate) fn used(&self) -> usize {
        self.entries.len() - self.free.len()
    }
    /// How many there were at one time.
    pub(crate) fn most(&self) -> usize {
        self.entries.len()
    }
    pub(super) fn iter(&self) -> impl Iterator<Item = &Import> {
        self.entries.iter().filter_map(|(_, entry)| entry.as_ref())
    }
    /// Whether an import is found again by its home and entry.
    fn is_noted(&self, import: ImportId, Import { home, entry, .. }: &Import) -> bool {
        self.keys.get(*home, *entry) == Some(import)
    }
    /// How many are found again.
    #[cfg(test)]
    pub(super) fn noted(&self) -> usize {
        self.all().filter(|(number, import)| self.is_noted(*number, import)).count()
    }
    /// All that are not gone.
    pub(crate) fn all(&self) -> impl Iterator<Item = (ImportId, &Import)> {
        let numbered = self.entries.iter().enumerate();
        numbered.filter_map(|(number, (_, entry))| Some((ImportId(number as u32), entry.as_ref()?)))
    }
    fn add(&mut self, import: Import, black: bool) -> ImportId {
        let number = self.free.pop().unwrap_or_else(|| {
            self.entries.push((0, None));
            u32::try_from(self.entries.len() - 1).expect("fewer than 2^32 imports")
        });
        debug_assert!(import.weight > 0, "D6: {import:?} has no weight");
        debug_assert!(self.entries[number as usize].1.is_none(), "D4: the number of an import that is used");
        self.entries[number as usize].1 = Some(import);
        if black {
            self.keys.set(import.home, import.entry, ImportId(number), self.entries.len());
            debug_assert!(
                self.keys.get(import.home, import.entry) == Some(ImportId(number)),
                "D3: one label"
            );
        }
        ImportId(number)
    }
    /// What it was.
    pub(super) fn remove(&mut self, import: ImportId) -> Option<Import> {
        let (serial, entry) = &mut self.entries[import.0 as usize];
        let was = entry.take()?;
        *serial = serial.wrapping_add(1);
        self.free.push(import.0);
        self.keys.remove(was.home, was.entry, import);
        Some(was)
    }
}

/// The terms of a message: a goal's few arguments most often.
pub(super) type Terms<V> = SmallVec<[V; 8]>;

/// Which references of a message ask for more when they are read, and for which chunk.
#[derive(Clone, Copy, Debug)]
pub(super) enum Inherits {
    All(u8),
    /// That to the rest of a list.
    Tail(u8),
}

/// A term whose parts are not all there.
struct Open<'a> {
    token: Token<'a>,
    missing: usize,
}

impl<S: Store, P: Post> With<'_, S, P> {
    /// Ends an import by a goal at its home, which unifies the export with one term, these words.
    pub(super) fn throw_binding(&mut self, import: ImportId, goal: &Goal<S::Value>, value: &[u64]) {
        let Some(&Import { home, entry, root, depth, identity, .. }) = self.protocol.imports.get(import)
        else {
            return;
        };
        let mut words = Vec::new();
        goal.args.iter().for_each(|&argument| self.put(&mut words, argument, 0, Way::low(home)));
        // It arrives before what releases the import: no weight is needed.
        let variable = Reference { home, entry, log2: None, black: true, root, depth, identity };
        Token::Reference(variable).write(&mut words);
        words.extend_from_slice(value);
        let arity = u8::try_from(goal.args.len() + 2).expect("a predicate has at most 255 arguments");
        let arguments = self.tokens(&words, arity.into());
        let (priority, predicate) = (goal.priority, goal.predicate.0);
        self.send(home, Message::Throw { priority, predicate, arity, gift: false, arguments });
        let weight = self.protocol.imports.get(import).map_or(0, |import| import.weight);
        self.release(home, Item { entry, weight, cancel: None });
        self.gone(import);
    }
    /// Makes the terms of a message.
    pub(super) fn build(
        &mut self,
        from: NodeId,
        tokens: Tokens<'_>,
        inherits: Inherits,
    ) -> Result<Terms<S::Value>, Fault> {
        self.protocol.rest = None;
        self.store.room(tokens.room()).map_err(|_| Fault::Full)?;
        let unknown = Fault::Violation { from, what: "an atom, predicate or module that does not exist" };
        let (mut open, mut scratch) = (Vec::<Open<'_>>::new(), Vec::new());
        let mut values = Terms::new();
        for token in tokens {
            let missing = token.parts();
            if missing > 0 {
                open.push(Open { token, missing });
                continue;
            }
            let value = match token {
                Token::Reference(reference) => {
                    let tail = matches!(open.last(), Some(Open { token: Token::List(_), missing: 1 }));
                    let chunk = match inherits {
                        Inherits::All(chunk) => chunk,
                        Inherits::Tail(chunk) => {
                            if tail {
                                chunk
                            } else {
                                0
                            }
                        }
                    };
                    self.resolve(from, &reference, chunk)?
                }
                Token::Int(value) => self.store.make(Shape::Int(value)).ok_or(unknown)?,
                _ => self.make(&token, &[], &mut scratch).ok_or(unknown)?,
            };
            values.push(value);
            while let Some(last) = open.last_mut() {
                last.missing -= 1;
                if last.missing > 0 {
                    break;
                }
                let first = values.len() - last.token.parts();
                let value = self.make(&last.token, &values[first..], &mut scratch).ok_or(unknown)?;
                values.truncate(first);
                values.push(value);
                open.pop();
            }
        }
        debug_assert!(open.is_empty(), "W2: a term without its parts");
        Ok(values)
    }

    fn make(&mut self, token: &Token<'_>, parts: &[S::Value], bytes: &mut Vec<u8>) -> Option<S::Value> {
        let shape = match *token {
            Token::Int(value) => Shape::Int(value),
            Token::Atom(name) => Shape::Atom(self.atom(name, bytes)?),
            Token::List(_) => Shape::List(parts),
            Token::Struct(name, _) => Shape::Struct(self.atom(name, bytes)?, parts),
            Token::Vector(_) => Shape::Vector(parts),
            Token::Bytes(packed) => {
                packed.unpack(bytes);
                Shape::Bytes(bytes)
            }
            Token::Float(bits) => Shape::Float(bits),
            Token::Big(negative, limbs) => Shape::Big(negative, limbs),
            Token::Predicate(number) => Shape::Predicate(number),
            Token::Module(name) => Shape::Module(self.atom(name, bytes)?),
            Token::Reference(_) => return None,
        };
        self.store.make(shape)
    }

    fn atom(&mut self, name: Name<'_>, bytes: &mut Vec<u8>) -> Option<u32> {
        match name {
            Name::Number(number) => Some(number),
            Name::Text(text) => {
                text.unpack(bytes);
                self.store.atom(bytes)
            }
        }
    }

    /// The term that a reference leads to, or a variable that stands for it.
    fn resolve(&mut self, from: NodeId, reference: &Reference, chunk: u8) -> Result<S::Value, Fault> {
        let violation = |what| Fault::Violation { from, what };
        let Reference { home, entry, log2, black, root, depth, identity } = *reference;
        let weight = log2.map_or(0, |log2| 1u64 << log2);
        if home == self.protocol.options.node {
            let export = ExportId(entry);
            let value = self.store.anchored(export).filter(|_| self.protocol.exports.get(export).is_some());
            let value = value.ok_or(violation("a reference to what was released"))?;
            self.protocol.take(from, export, weight)?;
            self.try_free(export);
            return Ok(value);
        }
        debug_assert!(home.0 < self.protocol.options.nodes, "D6: {home:?} is no node");
        if weight == 0 {
            return Err(violation("a reference without weight"));
        }
        if self.protocol.rule(Rule::Copies)
            && let Some(copy) = identity.and_then(|identity| self.store.copy(identity))
        {
            self.protocol.resolved += 1;
            self.release(home, Item { entry, weight, cancel: None });
            return Ok(copy);
        }
        if black
            && self.protocol.rule(Rule::ImportHash)
            && let Some(import) = self.protocol.imports.keys.get(home, entry)
            && let Some(cell) = self.store.cell(import)
        {
            self.add_weight(import, weight);
            if let Some(known) = self.protocol.imports.get_mut(import) {
                known.identity = known.identity.or(identity);
            }
            return Ok(cell);
        }
        let (reading, ahead, asked, export) = (false, false, false, None);
        let distance = 1;
        let (moving, heavy) = (false, 0);
        let import = Import {
            home,
            entry,
            weight,
            root,
            depth,
            reading,
            ahead,
            asked,
            export,
            identity,
            distance,
            chunk,
            moving,
            heavy,
        };
        let import = self.protocol.imports.add(import, black);
        if chunk > 0 {
            self.protocol.rest = Some(import);
        }
        self.protocol.suspects.found(import);
        Ok(self.store.import(import))
    }

    /// Weight for an import. What it cannot hold goes back.
    pub(super) fn add_weight(&mut self, import: ImportId, weight: u64) {
        let Some(entry) = self.protocol.imports.get_mut(import) else { return };
        match entry.weight.checked_add(weight) {
            Some(sum) => entry.weight = sum,
            None => {
                let item = Item { entry: entry.entry, weight, cancel: None };
                let home = entry.home;
                self.release(home, item);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_has_the_import_that_was_set_last_in_a_list_or_hashed() {
        let mut keys = Keys::default();
        let far = u32::MAX;
        for (number, entry) in [0, 7, far, 7, far, PLACES_MIN as u32].into_iter().enumerate() {
            keys.set(NodeId(3), entry, ImportId(number as u32), 1);
            assert_eq!(keys.get(NodeId(3), entry), Some(ImportId(number as u32)));
        }
        assert_eq!([keys.get(NodeId(3), 8), keys.get(NodeId(2), 7), keys.get(NodeId(9), far)], [None; 3]);
        // Whoever is no longer noted changes nothing.
        keys.remove(NodeId(3), 7, ImportId(1));
        keys.remove(NodeId(3), far, ImportId(2));
        assert_eq!(
            [7, far].map(|entry| keys.get(NodeId(3), entry)),
            [3, 4].map(|number| Some(ImportId(number)))
        );
        keys.remove(NodeId(3), 7, ImportId(3));
        keys.remove(NodeId(3), far, ImportId(4));
        assert_eq!([7, far].map(|entry| keys.get(NodeId(3), entry)), [None; 2]);
    }

    #[test]
    fn lists_stay_in_proportion_to_imports_and_take_over_what_was_hashed() {
        let mut keys = Keys::default();
        let entry = PLACES_MIN as u32 + 10;
        keys.set(NodeId(0), entry, ImportId(5), 1);
        assert_eq!((keys.places, keys.hashed.len()), (0, 1));
        for home in 0..1000 {
            keys.set(NodeId(home), 999, ImportId(home), 1000);
        }
        assert!(keys.places <= PLACES_MIN + PLACES * 1000, "{}", keys.places);
        assert!((0..1000).all(|home| keys.get(NodeId(home), 999) == Some(ImportId(home))));
        // There are more imports now.
        keys.set(NodeId(0), entry, ImportId(6), 1_000_000);
        assert_eq!(keys.get(NodeId(0), entry), Some(ImportId(6)));
        keys.remove(NodeId(0), entry, ImportId(6));
        assert_eq!(keys.get(NodeId(0), entry), None);
    }
}
