//! The collector: copying, generational, Cheney's scan over whatever was copied.
//!
//! A *minor* collection evacuates the young region: what it meets for the first time goes to the other survivor area, what has
//! survived once goes to old space. A *major* one evacuates young and old together into fresh blocks of old space, and sweeps
//! the large objects; only unbound variables may be young afterwards. Both happen between reductions only.
//!
//! Invariants:
//! - F1 A copied structure or object has a forwarding word in its header's place, a copied cons in its car's. A cell that was
//!   copied alone, because a REF led to it before its cons or structure was met, has a forwarding word with `CELL` set, and
//!   so have unbound arguments and cdrs of what was copied.
//! - F2 An unbound cell is copied once: whoever meets it later gets a REF to the copy. A REF to a bound cell becomes the value.
//! - F3 Everything between a scan pointer and its space's top is grey: copied, its words not looked at. Grey ranges are lists of
//!   addresses in words, never of objects, so any number of scanners could share one large object.
//! - F4 Every word of a grey range is self-describing (W3); raw payloads are passed over by their header.
//! - F5 No goals wait to be made ready (H3): goals are on stacks, in buckets, or in records.

use crate::classes::Contents;
use crate::heap::{Block, Heap, LARGE_WORDS, NURSERY_RANGE, Range, SURVIVOR_RANGE};
use crate::memory::{copy, read, write};
use crate::suspend::RESUMED;
use crate::worker::Worker;
use term::abi::PredicateId;
use term::layout::SUSPENSION_PREDICATE;
use term::word::{self, Tag, UNBOUND};
use term::{Word, layout::ClassId};

/// In a forwarding word: it forwards this cell alone, not the cons that begins here (F1).
const CELL: u64 = 1 << 62;
/// One word in so many of the nursery may be an unbound cell that stays young.
const KEPT_SHARE: usize = 32;
/// Words of a large object that are scanned at once.
const SLICE_WORDS: usize = 8192;

#[inline(always)]
fn forward(from: usize, to: usize) {
    write(from, Word::pointer(Tag::Header, to));
}
#[inline(always)]
fn forward_cell(from: usize, to: usize) {
    write(from, Word(Word::pointer(Tag::Header, to).0 | CELL));
}
#[inline(always)]
fn target(forwarding: Word) -> usize {
    Word(forwarding.0 & !CELL).address()
}

/// Payload words after which an object's words are raw, by class: `usize::MAX` for none.
pub(crate) type TaggedWords = [usize; 256];

/// One collection.
pub(crate) struct Collector<'a, const MAJOR: bool> {
    heap: &'a mut Heap,
    tagged_words: &'a TaggedWords,
    young_base: usize,
    /// The quarter of the young region (2 or 3) that is copied to.
    to_quarter: usize,
    /// The survivor area that is copied to: its grey words, and its end.
    survivor_scan: usize,
    survivor_top: usize,
    survivor_end: usize,
    variables_to_keep: usize,
    /// First grey word of the current old block.
    old_scan: usize,
    /// Further grey ranges.
    grey: Vec<Range>,
    /// Words copied to old space.
    old_words: usize,
}

impl<'a, const MAJOR: bool> Collector<'a, MAJOR> {
    fn new(heap: &'a mut Heap, tagged_words: &'a TaggedWords) -> Self {
        let area = 1 - heap.survivors;
        let survivor_base = heap.survivor_base(area);
        let mut grey = Vec::new();
        if MAJOR {
            heap.old.begin_major();
            heap.overflow.clear();
        } else {
            grey.append(&mut heap.overflow);
        }
        Collector {
            young_base: heap.young.base(),
            to_quarter: 2 + area,
            survivor_scan: survivor_base,
            survivor_top: survivor_base,
            survivor_end: survivor_base + SURVIVOR_RANGE,
            variables_to_keep: heap.nursery_bytes / 8 / KEPT_SHARE,
            old_scan: heap.old.top,
            grey,
            old_words: 0,
            heap,
            tagged_words,
        }
    }

    /// True for addresses in the space that is evacuated.
    #[inline(always)]
    fn in_from(&self, address: usize) -> bool {
        let quarter = address.wrapping_sub(self.young_base) / SURVIVOR_RANGE;
        if quarter < 4 {
            return quarter != self.to_quarter;
        }
        MAJOR
            && self.heap.old.region.contains(address)
            && self.heap.old.blocks[self.heap.old.block_of(address)] == Block::From
    }

    /// Room for the copy of something at `from`.
    #[inline(always)]
    fn room(&mut self, from: usize, words: usize) -> usize {
        if !MAJOR && from.wrapping_sub(self.young_base) < NURSERY_RANGE {
            let address = self.survivor_top;
            if address + 8 * words <= self.survivor_end {
                self.survivor_top = address + 8 * words;
                return address;
            }
        }
        self.old_words += words;
        let old = &mut self.heap.old;
        if old.top + 8 * words > old.end {
            if self.old_scan < old.top {
                self.grey.push(Range { start: self.old_scan, end: old.top });
            }
            old.next_block(8 * words);
            self.old_scan = old.top;
        }
        let address = old.top;
        old.top += 8 * words;
        address
    }

    /// Room for the copy of an unbound cell alone. Some of them stay young however long they wait: once old, such a cell keeps
    /// what it is bound to alive even if nobody needs it any more, and with a list all that follows.
    fn room_for_variable(&mut self, from: usize) -> usize {
        if self.variables_to_keep > 0 && self.survivor_top + 8 <= self.survivor_end {
            self.variables_to_keep -= 1;
            self.survivor_top += 8;
            return self.survivor_top - 8;
        }
        self.room(from, 1)
    }

    /// The word that takes the place of a live word (F1, F2).
    #[inline(always)]
    fn evacuate(&mut self, word: Word) -> Word {
        match word.tag() {
            Tag::Int | Tag::Atom | Tag::Header => word,
            Tag::Ref => self.evacuate_ref(word),
            Tag::Cons if self.in_from(word.address()) => self.evacuate_list(word.address()),
            Tag::Cons => word,
            Tag::Struct | Tag::Object | Tag::Var => self.evacuate_headed(word),
        }
    }
    fn evacuate_ref(&mut self, mut word: Word) -> Word {
        while word.tag() == Tag::Ref {
            let cell = word.address();
            if !self.in_from(cell) {
                return word;
            }
            let content = read(cell);
            match content.tag() {
                Tag::Var => {
                    let to = self.room_for_variable(cell);
                    write(to, content);
                    forward_cell(cell, to);
                    return Word::pointer(Tag::Ref, to);
                }
                // The cell is at its new place, alone or as the car of a copied cons.
                Tag::Header => {
                    let to = target(content);
                    let content = read(to);
                    if content.tag() == Tag::Var {
                        return Word::pointer(Tag::Ref, to);
                    }
                    word = content;
                }
                _ => word = content,
            }
        }
        self.evacuate(word)
    }
    /// Copies a cons at `from`, and the conses that follow it in its list, one after the other.
    fn evacuate_list(&mut self, from: usize) -> Word {
        let car = read(from);
        if car.is_forwarding() && car.0 & CELL == 0 {
            return Word::pointer(Tag::Cons, target(car));
        }
        let first = self.copy_cons(from, car);
        let (mut last, mut cdr) = (first, read(from + 8));
        loop {
            match cdr.tag() {
                Tag::Cons => {
                    let next = cdr.address();
                    if !self.in_from(next) {
                        break;
                    }
                    let car = read(next);
                    if car.is_forwarding() && car.0 & CELL == 0 {
                        write(last + 8, Word::pointer(Tag::Cons, target(car)));
                        break;
                    }
                    // Read before `copy_cons` forwards the cell of an unbound cdr.
                    cdr = read(next + 8);
                    let to = self.copy_cons(next, car);
                    write(last + 8, Word::pointer(Tag::Cons, to));
                    last = to;
                }
                // A bound cell in between is left out; anything else is left to the scan.
                Tag::Ref if self.in_from(cdr.address()) => {
                    let content = read(cdr.address());
                    if matches!(content.tag(), Tag::Var | Tag::Header) {
                        break;
                    }
                    cdr = content;
                    write(last + 8, cdr);
                }
                _ => break,
            }
        }
        Word::pointer(Tag::Cons, first)
    }
    #[inline(always)]
    fn copy_cons(&mut self, from: usize, car: Word) -> usize {
        let cdr = read(from + 8);
        let to = self.room(from, 2);
        write(to, moved_cell(car));
        write(to + 8, moved_cell(cdr));
        forward(from, to);
        if cdr.tag() == Tag::Var {
            forward_cell(from + 8, to + 8);
        }
        to
    }
    /// A structure, object, or the record that a VAR word leads to.
    fn evacuate_headed(&mut self, word: Word) -> Word {
        let from = word.address();
        if !self.in_from(from) {
            if self.heap.large.region.contains(from) {
                self.mark_large(from);
            }
            return word;
        }
        let header = read(from);
        if header.is_forwarding() {
            return Word(target(header) as u64 | word.tag() as u64);
        }
        debug_assert!(header.is_header());
        let to = if word.tag() == Tag::Struct {
            self.copy_structure(from, header)
        } else {
            let words = 1 + word::header_size(header);
            let to = self.room(from, words);
            copy(from, to, words);
            to
        };
        forward(from, to);
        Word(to as u64 | word.tag() as u64)
    }
    fn copy_structure(&mut self, from: usize, header: Word) -> usize {
        let arity = word::header_arity(header);
        let to = self.room(from, 1 + arity);
        write(to, header);
        for i in 1..=arity {
            let cell = read(from + 8 * i);
            write(to + 8 * i, moved_cell(cell));
            if cell.tag() == Tag::Var {
                forward_cell(from + 8 * i, to + 8 * i);
            }
        }
        to
    }
    /// Marks a large object, and makes what is tagged in it grey, in slices.
    fn mark_large(&mut self, object: usize) {
        if !self.heap.large.mark(object, !MAJOR) {
            return;
        }
        let header = read(object);
        let mut words = word::header_words(header);
        if word::header_is_object(header) {
            words = words.min(self.tagged_words[word::header_class(header).0 as usize]);
        }
        let (mut start, end) = (object + 8, object + 8 + 8 * words);
        while start < end {
            let slice = Range { start, end: end.min(start + 8 * SLICE_WORDS) };
            self.grey.push(slice);
            start = slice.end;
        }
    }

    /// Evacuates what a slot leads to; true if that is young afterwards.
    #[inline(always)]
    fn update(&mut self, slot: usize) -> bool {
        let word = read(slot);
        let new = self.evacuate(word);
        if new != word {
            write(slot, new);
        }
        !new.is_immediate() && new.tag() != Tag::Header && self.heap.is_young(new.address())
    }
    /// Scans grey words (F4). Words outside the young region that lead into it are remembered.
    fn scan<const OLD: bool>(&mut self, mut at: usize, end: usize) {
        while at < end {
            let word = read(at);
            match word.tag() {
                Tag::Int | Tag::Atom => {}
                Tag::Header => {
                    if word::header_is_object(word) {
                        let tagged = self.tagged_words[word::header_class(word).0 as usize];
                        let size = word::header_size(word);
                        if tagged < size {
                            for i in 1..=tagged {
                                let young = self.update(at + 8 * i);
                                if OLD && young {
                                    self.heap.remembered.push(at + 8 * i);
                                }
                            }
                            at += 8 * size;
                        }
                    }
                }
                _ => {
                    let young = self.update(at);
                    if OLD && young {
                        self.heap.remembered.push(at);
                    }
                }
            }
            at += 8;
        }
    }
    /// Scans until nothing is grey.
    fn trace(&mut self) {
        loop {
            if self.survivor_scan < self.survivor_top {
                let range = self.survivor_scan..self.survivor_top;
                self.survivor_scan = range.end;
                self.scan::<false>(range.start, range.end);
            } else if self.old_scan < self.heap.old.top {
                let range = self.old_scan..self.heap.old.top;
                self.old_scan = range.end;
                self.scan::<true>(range.start, range.end);
            } else if let Some(range) = self.grey.pop() {
                self.scan::<true>(range.start, range.end);
            } else {
                return;
            }
        }
    }
    fn roots(&mut self, words: &mut [Word]) {
        for word in words {
            *word = self.evacuate(*word);
        }
    }
    fn remembered(&mut self) {
        let mut slots = std::mem::take(&mut self.heap.remembered);
        if !MAJOR {
            for &slot in &slots {
                // A slot that is here several times is changed by its first turn only. Were it kept each time, slots that are
                // written often and lead to variables that stay young would pile up for ever.
                let word = read(slot);
                if self.update(slot) && read(slot) != word {
                    self.heap.remembered.push(slot);
                }
            }
        }
        slots.clear();
        if self.heap.remembered.is_empty() {
            self.heap.remembered = slots;
        }
    }
    /// The new address of a record, if it was met.
    fn survivor(&self, record: usize) -> Option<usize> {
        if !self.in_from(record) {
            return Some(record);
        }
        let header = read(record);
        header.is_forwarding().then(|| target(header))
    }
}

impl Worker {
    /// Evacuates what is live; the nursery is empty afterwards. Answers the words copied.
    fn evacuate_all<const MAJOR: bool>(&mut self) -> usize {
        debug_assert!(!self.has_resumed());
        self.register();
        let top = self.abi.goals as usize;
        let mut collector = Collector::<MAJOR>::new(&mut self.heap, &self.tagged_words);
        collector.remembered();
        collector.roots(&mut self.roots);
        let bottom = if MAJOR { self.goals.start() } else { self.goals.clean };
        let mut lowest_young = top;
        // From the top: the variables that stay young are those of the goals that run soon.
        for slot in (bottom..top).step_by(8).rev() {
            if collector.update(slot) {
                lowest_young = slot;
            }
        }
        for goals in self.goals.buckets_mut() {
            collector.roots(goals);
        }
        collector.trace();
        // Goals that wait are kept even if nothing leads to them: they are reported at the end. Only daemons may vanish.
        // A record that was copied keeps its predicate word, so nearly all are passed over with one look.
        let mut records = std::mem::take(&mut self.registry.young);
        if MAJOR {
            records.append(&mut self.registry.old);
        }
        records.retain(|record| read(record + 8 * SUSPENSION_PREDICATE) != RESUMED);
        for record in &records {
            let header = read(*record);
            let goal = read(*record + 8 * SUSPENSION_PREDICATE);
            if collector.in_from(*record)
                && !header.is_forwarding()
                && !self.predicates.get(PredicateId::of_goal_word(goal)).daemon
            {
                collector.evacuate_headed(Word::pointer(Tag::Object, *record));
            }
        }
        collector.trace();
        for record in records {
            if let Some(record) = collector.survivor(record) {
                let young = collector.heap.is_young(record);
                let list = if young { &mut self.registry.young } else { &mut self.registry.old };
                list.push(record);
            }
        }
        let Collector { to_quarter, survivor_top, .. } = collector;
        let old_words = collector.old_words;
        let survivor_words = (survivor_top - self.heap.survivor_base(to_quarter - 2)) / 8;
        self.heap.survivors = to_quarter - 2;
        self.heap.survivor_top = survivor_top;
        self.mark_goals(lowest_young);
        let freed = self.heap.large.sweep(!MAJOR);
        if MAJOR {
            self.heap.old.end_major();
        } else if !freed.is_empty() {
            let dead = |slot: usize| {
                let next = freed.partition_point(|range| range.start <= slot);
                next > 0 && slot < freed[next - 1].end
            };
            self.heap.remembered.retain(|&slot| !dead(slot));
        }
        old_words + survivor_words
    }
    /// A minor collection: answers the words copied.
    pub(crate) fn evacuate_young(&mut self) -> usize {
        self.evacuate_all::<false>()
    }
    /// A major collection: answers the words copied.
    pub(crate) fn evacuate_everything(&mut self) -> usize {
        self.evacuate_all::<true>()
    }
}

/// A cell's content, as it is copied with its cons or structure.
#[inline(always)]
fn moved_cell(content: Word) -> Word {
    if content.is_forwarding() { Word::pointer(Tag::Ref, target(content)) } else { content }
}

/// How many payload words of each class are tagged.
pub(crate) fn tagged_words(classes: &crate::classes::Classes) -> TaggedWords {
    let mut table = [usize::MAX; 256];
    for (number, words) in table.iter_mut().enumerate().take(classes.len()) {
        *words = match classes.get(ClassId(number as u8)).contents {
            Contents::Tagged => usize::MAX,
            Contents::Raw => 0,
            Contents::TaggedPrefix(words) => words,
        };
    }
    table
}

const _: () = assert!(UNBOUND.0 == Tag::Var as u64 && LARGE_WORDS > SUSPENSION_PREDICATE);
