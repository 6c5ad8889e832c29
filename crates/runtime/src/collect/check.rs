//! The check of the whole heap after a collection (option `check_heap`): every word that can be reached makes sense.

use crate::goals::suspend::RESUMED;
use crate::memory::ranges::{Range, pointer, read};
use crate::worker::Worker;
use crate::worker::all::Crew;
use rustc_hash::FxHashSet;
use term::Word;
use term::layout::{self, SUSPENSION_PREDICATE};
use term::word::{self, Tag, UNBOUND};

/// Panics if a word that can be reached leads to no object, or an old one leads to a young one that is not
/// remembered, or a young one is (G2). Nobody reduces.
pub(crate) fn check_heap(crew: &Crew, leader: &Worker) {
    let mut live = Vec::new();
    let mut remembered = FxHashSet::default();
    let mut slots = Vec::new();
    let mut words = Vec::new();
    let mut visit = |worker: &Worker| {
        let heap = &worker.heap;
        live.push(Range { start: heap.survivor_base(heap.spaces.area()), end: heap.survivor_top });
        live.push(Range { start: heap.nursery(), end: worker.abi.heap as usize });
        assert!(heap.remembered.iter().all(|&slot| !heap.is_young(slot)), "a young word is remembered");
        remembered.extend(heap.remembered.iter().copied());
        for slot in (worker.goals.start()..worker.abi.goals as usize).step_by(8) {
            let word = read(slot);
            if word.tag() == Tag::Header {
                let to = word.address();
                assert!(worker.goals.start() <= to && to < slot && read(to) == UNBOUND, "S1 of `slots`");
                continue;
            }
            words.push(word);
            let leads = !word.is_immediate();
            assert!(slot >= worker.goals.clean() || !leads || !heap.is_young(word.address()), "P4");
        }
        words.extend(worker.roots.words());
        words.extend(worker.abroad.words());
        words.extend(worker.goals.buckets().flatten());
        let records = worker.waiting.registry.records();
        let waiting = records.filter(|record| read(record + 8 * SUSPENSION_PREDICATE) != RESUMED);
        words.extend(waiting.map(|record| pointer(Tag::Object, record)));
    };
    for index in 0..crew.len() {
        if index == leader.index {
            visit(leader);
        } else {
            crew.with(index, |worker| visit(worker));
        }
    }
    let mut check = Check { worker: leader, live, seen: FxHashSet::default(), stack: Vec::new() };
    words.into_iter().for_each(|word| check.word(word));
    let heap = &leader.heap;
    slots.append(&mut check.stack);
    while let Some(slot) = slots.pop() {
        let word = read(slot);
        check.word(word);
        slots.append(&mut check.stack);
        let leads = !word.is_immediate() && word.tag() != Tag::Header && word != UNBOUND;
        if leads && heap.is_young(word.address()) && !heap.is_young(slot) {
            assert!(remembered.contains(&slot), "old word at {slot:x} leads to {word:?}, not remembered");
        }
    }
}

struct Check<'a> {
    worker: &'a Worker,
    /// Where young objects may be.
    live: Vec<Range>,
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
        if !self.seen.insert(word.bits()) {
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
                assert!(header.is_header(), "{word:?} leads to {:x}, no header", header.bits());
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
            return self.live.iter().any(|range| range.contains(address));
        }
        // The rest: large objects and constants.
        !heap.spaces.old.range.contains(address) || heap.spaces.old.is_used(address)
    }
}
