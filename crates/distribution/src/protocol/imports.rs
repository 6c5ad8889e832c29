//! The import table, and terms from tokens.

use super::exports::CHUNK_MAX;
use super::{Fault, Post, With};
use crate::message::Item;
use crate::store::{ExportId, ImportId, Shape, Store, StructureId};
use crate::tokens::{Name, Reference, Token, Tokens};
use fabric::NodeId;
use rustc_hash::FxHashMap;
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
    /// It is the rest of a list, of which the next answer is to bring 2 to this power of conses.
    pub(super) chunk: u8,
}

/// The table. An entry's serial says how often it was used before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Imports {
    entries: Vec<(u32, Option<Import>)>,
    free: Vec<u32>,
    /// Black imports that are not dead, by home and entry.
    keys: FxHashMap<(NodeId, u32), ImportId>,
}

impl Hash for Imports {
    /// `keys` follows from the entries but for imports that were made for the same export twice.
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.entries, &self.free).hash(state);
        for (number, (_, entry)) in self.entries.iter().enumerate() {
            if let Some(Import { home, entry, .. }) = entry {
                (self.keys.get(&(*home, *entry)) == Some(&ImportId(number as u32))).hash(state);
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
    /// All that are not gone.
    #[cfg(test)]
    pub(crate) fn all(&self) -> impl Iterator<Item = (ImportId, &Import)> {
        let numbered = self.entries.iter().enumerate();
        numbered.filter_map(|(number, (_, entry))| Some((ImportId(number as u32), entry.as_ref()?)))
    }
    fn add(&mut self, import: Import, black: bool) -> ImportId {
        let number = self.free.pop().unwrap_or_else(|| {
            self.entries.push((0, None));
            u32::try_from(self.entries.len() - 1).expect("fewer than 2^32 imports")
        });
        self.entries[number as usize].1 = Some(import);
        if black {
            self.keys.insert((import.home, import.entry), ImportId(number));
        }
        ImportId(number)
    }
    pub(super) fn remove(&mut self, import: ImportId) {
        let (serial, entry) = &mut self.entries[import.0 as usize];
        let Some(Import { home, entry, .. }) = entry.take() else { return };
        *serial = serial.wrapping_add(1);
        self.free.push(import.0);
        if self.keys.get(&(home, entry)) == Some(&import) {
            self.keys.remove(&(home, entry));
        }
    }
}

/// Terms that there is room for at once.
const SEVERAL: usize = 16;

/// A term whose parts are not all there.
struct Open<'a> {
    token: Token<'a>,
    missing: usize,
}

impl<S: Store, P: Post> With<'_, S, P> {
    /// Makes the terms of a message. Rests of lists ask for 2^chunk conses when they are read.
    pub(super) fn build(
        &mut self,
        from: NodeId,
        tokens: Tokens<'_>,
        chunk: u8,
    ) -> Result<Vec<S::Value>, Fault> {
        self.protocol.rest = None;
        self.store.room(tokens.room()).map_err(|_| Fault::Full)?;
        let unknown = Fault::Violation { from, what: "an atom, predicate or module that does not exist" };
        let (mut open, mut scratch) = (Vec::<Open<'_>>::new(), Vec::new());
        // A goal's arguments most often.
        let mut values = Vec::with_capacity(tokens.words().len().min(SEVERAL));
        for token in tokens {
            let missing = token.parts();
            if missing > 0 {
                open.push(Open { token, missing });
                continue;
            }
            let value = match token {
                Token::Reference(reference) => {
                    let tail = matches!(open.last(), Some(Open { token: Token::List(_), missing: 1 }));
                    self.resolve(from, &reference, if tail { chunk } else { 0 })?
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
        if weight == 0 {
            return Err(violation("a reference without weight"));
        }
        if let Some(copy) = identity.and_then(|identity| self.store.copy(identity)) {
            self.protocol.resolved += 1;
            self.release(home, Item { entry, weight, cancel: None });
            return Ok(copy);
        }
        if black
            && let Some(&import) = self.protocol.imports.keys.get(&(home, entry))
            && let Some(cell) = self.store.cell(import)
        {
            self.add_weight(import, weight);
            if let Some(known) = self.protocol.imports.get_mut(import) {
                known.identity = known.identity.or(identity);
            }
            return Ok(cell);
        }
        let (reading, ahead, asked, export) = (false, false, false, None);
        let (chunk, distance) = (chunk.min(CHUNK_MAX), 1);
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
        };
        let import = self.protocol.imports.add(import, black);
        if chunk > 0 {
            self.protocol.rest = Some(import);
        }
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
