//! What is known of structures of this node by where they are: the export that was made for them, and their identity,
//! which they have in common with their copies at other nodes.
//!
//! Invariant Y6: all of it is weak, both ways. After a collection's trace an entry has the structure's new address, or
//! is gone. A minor collection looks at entries of young structures only.

use crate::memory::ranges::pointer;
use rustc_hash::FxHashMap;
use term::Word;

/// Of a structure: the node that gave the identity, and its number there.
type Identity = (u32, u64);

#[derive(Clone, Copy, Debug)]
struct Entry {
    structure: Word,
    export: Option<u32>,
    identity: Option<Identity>,
}

/// See the module comment.
#[derive(Debug, Default)]
pub(crate) struct Identities {
    entries: Vec<Option<Entry>>,
    free: Vec<u32>,
    by_word: FxHashMap<u64, u32>,
    by_identity: FxHashMap<Identity, u32>,
    /// Y6.
    young: Vec<u32>,
}

impl Identities {
    fn find(&self, structure: Word) -> Option<&Entry> {
        self.entries[*self.by_word.get(&structure.bits())? as usize].as_ref()
    }
    /// The entry of a structure, made if there is none.
    fn entry(&mut self, structure: Word) -> (u32, &mut Entry) {
        let Identities { entries, free, by_word, young, .. } = self;
        let number = *by_word.entry(structure.bits()).or_insert_with(|| {
            let number = free.pop().unwrap_or_else(|| {
                entries.push(None);
                u32::try_from(entries.len() - 1).expect("fewer than 2^32 structures have a name")
            });
            young.push(number);
            number
        });
        let empty = Entry { structure, export: None, identity: None };
        let entry = entries[number as usize].get_or_insert(empty);
        debug_assert!(entry.structure == structure, "Y6: an entry of another structure");
        (number, entry)
    }
    fn remove(&mut self, number: u32) {
        let Some(entry) = self.entries[number as usize].take() else { return };
        self.free.push(number);
        if self.by_word.get(&entry.structure.bits()) == Some(&number) {
            self.by_word.remove(&entry.structure.bits());
        }
        if let Some(identity) = entry.identity
            && self.by_identity.get(&identity) == Some(&number)
        {
            self.by_identity.remove(&identity);
        }
    }
    /// An export was made for a structure.
    pub(super) fn note(&mut self, structure: Word, export: u32) {
        self.entry(structure).1.export = Some(export);
    }
    pub(super) fn noted(&self, structure: Word) -> Option<u32> {
        self.find(structure)?.export
    }
    /// The export is free.
    pub(super) fn forget(&mut self, structure: Word, export: u32) {
        let Some(&number) = self.by_word.get(&structure.bits()) else { return };
        let Some(entry) = &mut self.entries[number as usize] else { return };
        if entry.export == Some(export) {
            entry.export = None;
            if entry.identity.is_none() {
                self.remove(number);
            }
        }
    }
    /// A structure gets an identity, unless it has one.
    pub(super) fn identify(&mut self, structure: Word, identity: Identity) {
        let (number, entry) = self.entry(structure);
        if entry.identity.is_none() {
            entry.identity = Some(identity);
            self.by_identity.insert(identity, number);
        }
    }
    pub(super) fn identity(&self, structure: Word) -> Option<Identity> {
        self.find(structure)?.identity
    }
    pub(super) fn copy(&self, identity: Identity) -> Option<Word> {
        let number = *self.by_identity.get(&identity)?;
        self.entries[number as usize].map(|entry| entry.structure)
    }
    /// Y6.
    pub(super) fn sweep(
        &mut self,
        major: bool,
        moved: impl Fn(usize) -> Option<usize>,
        young: impl Fn(usize) -> bool,
    ) {
        let mut numbers = std::mem::take(&mut self.young);
        if major {
            numbers = (0..self.entries.len() as u32).collect();
        }
        numbers.sort_unstable();
        numbers.dedup();
        // Addresses of before and after the collection may be equal: all old ones go first.
        let structures = numbers.iter().filter_map(|&number| self.entries[number as usize]);
        structures.for_each(|entry| _ = self.by_word.remove(&entry.structure.bits()));
        numbers.retain(|&number| {
            let Some(entry) = &mut self.entries[number as usize] else { return false };
            let structure = entry.structure;
            match moved(structure.address()) {
                Some(address) => {
                    debug_assert!(!structure.is_immediate(), "Y6: only structures have entries");
                    entry.structure = pointer(structure.tag(), address);
                    self.by_word.insert(entry.structure.bits(), number);
                    young(address)
                }
                None => {
                    self.remove(number);
                    false
                }
            }
        });
        self.young = numbers;
    }
    /// Entries that the next minor collection looks at.
    #[cfg(all(test, not(models)))]
    pub(super) fn young(&self) -> usize {
        self.young.len()
    }
    pub(super) fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>()
            + (self.by_word.capacity() + self.by_identity.capacity()) * 2 * size_of::<Identity>()
    }
}
