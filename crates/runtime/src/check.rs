//! The check of the whole heap after a collection (option `check_heap`): every word that can be reached makes sense.

use crate::heap::Block;
use crate::memory::read;
use crate::suspend::RESUMED;
use crate::worker::Worker;
use rustc_hash::FxHashSet;
use term::Word;
use term::layout::{self, SUSPENSION_PREDICATE};
use term::word::{self, Tag, UNBOUND};

impl Worker {
    /// Panics if a reachable word leads to no object, or an old one leads to a young one that is not remembered (G2).
    pub(crate) fn check_heap(&self) {
        let mut check = Check { worker: self, seen: FxHashSet::default(), stack: Vec::new() };
        let remembered: FxHashSet<usize> = self.heap.remembered.iter().copied().collect();
        for slot in (self.goals.start()..self.abi.goals as usize).step_by(8) {
            let word = read(slot);
            check.word(word);
            let leads = !word.is_immediate();
            assert!(slot >= self.goals.clean || !leads || !self.heap.is_young(word.address()), "P4");
        }
        for &word in &self.roots {
            check.word(word);
        }
        for goals in self.goals.buckets() {
            goals.iter().for_each(|&word| check.word(word));
        }
        for &record in self.registry.young.iter().chain(&self.registry.old) {
            if read(record + 8 * SUSPENSION_PREDICATE) != RESUMED {
                check.word(Word::pointer(Tag::Object, record));
            }
        }
        while let Some(slot) = check.stack.pop() {
            let word = read(slot);
            check.word(word);
            let leads = !word.is_immediate() && word.tag() != Tag::Header && word != UNBOUND;
            if leads && self.heap.is_young(word.address()) && !self.heap.is_young(slot) {
                assert!(remembered.contains(&slot), "old word at {slot:x} leads to {word:?}, not remembered");
            }
        }
    }
}

struct Check<'a> {
    worker: &'a Worker,
    seen: FxHashSet<u64>,
    /// Slots to look at.
    stack: Vec<usize>,
}

impl Check<'_> {
    fn word(&mut self, word: Word) {
        if word.is_immediate() || word == UNBOUND {
            return;
        }
        let address = word.address();
        assert!(self.is_live(address), "{word:?} leads to no space in use");
        if !self.seen.insert(word.0) {
            return;
        }
        match word.tag() {
            Tag::Ref => {
                assert!(!read(address).is_header(), "a cell has a header");
                self.stack.push(address);
            }
            Tag::Cons => self.stack.extend([address, address + 8]),
            Tag::Struct | Tag::Object | Tag::Var => {
                let header = read(address);
                assert!(header.is_header(), "{word:?} leads to {:x}, no header", header.0);
                assert_eq!(word::header_is_object(header), word.tag() != Tag::Struct, "{word:?}");
                let mut words = word::header_words(header);
                if word::header_is_object(header) {
                    let class = word::header_class(header);
                    let record = matches!(class, layout::SUSPENSION | layout::HOOK | layout::GENERATOR);
                    assert!(word.tag() == Tag::Object || record, "a cell leads to an object of {class:?}");
                    words = words.min(self.worker.tagged_words[class.0 as usize]);
                }
                self.stack.extend((1..=words).map(|i| address + 8 * i));
            }
            Tag::Int | Tag::Atom | Tag::Header => panic!("{word:?} cannot be here"),
        }
    }
    fn is_live(&self, address: usize) -> bool {
        let heap = &self.worker.heap;
        if heap.is_young(address) {
            let base = heap.survivor_base(heap.survivors);
            return (base..heap.survivor_top).contains(&address)
                || (heap.young.base()..self.worker.abi.heap as usize).contains(&address);
        }
        if heap.old.region.contains(address) {
            return heap.old.blocks[heap.old.block_of(address)] == Block::Used;
        }
        // The rest: large objects and constants.
        true
    }
}
