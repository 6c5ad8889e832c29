//! Copying: what takes the place of a live word (F1, F2, F6).

use super::{BUSY, Collector, NURSERY_AT, forwarding, forwarding_cell, forwards_all, target};
use crate::goals::suspend::{HOOK_HEADER, RESUMED};
use crate::memory::ranges::{Range, compare_exchange, copy, pointer, raw, read, write};
use crate::memory::spaces::mark_large;
use crate::memory::tuning::{BLACK_BYTES_MIN, LANE_BYTES, SHARED_WORDS, SLICE_WORDS, SURVIVOR_RANGE};
use term::Word;
use term::layout::{self, HANDLE_SIZE, HOOK_SUSPENSION, SUSPENSION_NEXT, SUSPENSION_PREDICATE};
use term::word::{self, TAG_MASK, Tag, UNBOUND};

impl<const MAJOR: bool, const SHARED: bool> Collector<'_, MAJOR, SHARED> {
    /// True for addresses in the space that is evacuated.
    #[inline(always)]
    pub(super) fn in_from(&self, address: usize) -> bool {
        let offset = self.young_offset(address);
        if offset < self.young_bytes {
            return offset / SURVIVOR_RANGE % 4 != self.to_area;
        }
        MAJOR && self.common.from_blocks.contains(address)
    }
    /// How far an address is from the young region's start; at least `young_bytes` for one outside.
    #[inline(always)]
    fn young_offset(&self, address: usize) -> usize {
        address.wrapping_sub(self.young_start)
    }
    #[inline(always)]
    pub(super) fn is_young(&self, address: usize) -> bool {
        self.young_offset(address) < self.young_bytes
    }
    /// F6: puts `new` in the place of `old`; false if another collector was first.
    #[inline(always)]
    pub(super) fn claim(&self, address: usize, old: Word, new: Word) -> bool {
        if SHARED {
            return compare_exchange(address, old, new);
        }
        write(address, new);
        true
    }
    /// F6: the first word of what begins at `address`, or where its copy is. It is claimed if its first word says
    /// that there may be but one copy.
    #[inline(always)]
    fn take(&self, address: usize, is_single: impl Fn(Word) -> bool) -> Result<Word, usize> {
        loop {
            let first = read(address);
            if forwards_all(first) {
                if SHARED && first == BUSY {
                    crate::coordination::sync::spin_loop();
                    continue;
                }
                return Err(target(first));
            }
            if !SHARED || !is_single(first) || compare_exchange(address, first, BUSY) {
                return Ok(first);
            }
        }
    }
    /// The same for a cons: its car, as it is copied.
    #[inline(always)]
    fn take_car(&self, from: usize) -> Result<Word, usize> {
        let first = read(from);
        if is_value(first) { Ok(first) } else { self.take(from, is_variable).map(moved_content) }
    }
    /// The content of a cell that is being copied to `to` with what is around it (F1, F2).
    #[inline(always)]
    fn moved_cell(&self, from: usize, to: usize) -> Word {
        let content = read(from);
        if is_value(content) { content } else { self.moved_variable(from, to, content) }
    }
    /// The same for a cell that is unbound, or was copied alone.
    #[inline(always)]
    fn moved_variable(&self, from: usize, to: usize, content: Word) -> Word {
        if content.tag() == Tag::Var {
            // Before the claim: whoever sees it reads the copy.
            write(to, content);
            if self.claim(from, content, forwarding_cell(to)) {
                return content;
            }
            return pointer(Tag::Ref, target(read(from)));
        }
        moved_content(content)
    }

    /// Room for the copy of something at `from`, which is evacuated.
    #[inline(always)]
    fn room(&mut self, from: usize, words: usize) -> usize {
        self.room_unless_old(from, words, self.young_from)
    }
    /// The same; it stays young from that place in a lane on.
    #[inline(always)]
    fn room_unless_old(&mut self, from: usize, words: usize, young_from: usize) -> usize {
        loop {
            match self.room_at_hand(from, words, young_from) {
                Some(address) => return address,
                None => self.next_block(8 * words),
            }
        }
    }
    /// The same if the block of old space has that room, or it is not needed.
    #[inline(always)]
    fn room_at_hand(&mut self, from: usize, words: usize, young_from: usize) -> Option<usize> {
        debug_assert!(self.in_from(from));
        // A minor collection evacuates nothing but lanes.
        let place = self.young_offset(from) % LANE_BYTES;
        if place >= young_from && (!MAJOR || self.is_young(from)) {
            let address = self.survivor_top;
            if address + 8 * words <= self.survivor_end {
                self.survivor_top = address + 8 * words;
                return Some(address);
            }
        }
        let address = self.old.start;
        if address + 8 * words > self.old.end {
            return None;
        }
        if place < NURSERY_AT {
            self.again += words;
        }
        self.old.start = address + 8 * words;
        Some(address)
    }
    #[cold]
    pub(super) fn next_block(&mut self, bytes: usize) {
        if self.old_scan < self.old.start {
            self.grey.push(Range { start: self.old_scan, end: self.old.start });
        }
        self.old_words += (self.old.start - self.old_begin) / 8;
        self.old = self.common.spaces.old.take_block(bytes);
        (self.old_scan, self.old_begin) = (self.old.start, self.old.start);
    }

    /// Room for the copy of an unbound cell alone. Some of them stay young however long they wait: once old, such a
    /// cell keeps what it is bound to alive even if nobody needs it any more, and with a list all that follows.
    pub(super) fn room_for_variable(&mut self, from: usize) -> usize {
        debug_assert!(self.in_from(from), "F2: a cell that is not evacuated");
        if self.variables_to_keep > 0 && self.survivor_top + 8 <= self.survivor_end {
            self.variables_to_keep -= 1;
            self.survivor_top += 8;
            return self.survivor_top - 8;
        }
        self.room(from, 1)
    }

    /// The word that takes the place of a live word (F1, F2).
    #[inline(always)]
    pub(super) fn evacuate(&mut self, word: Word) -> Word {
        match word.tag() {
            Tag::Int | Tag::Atom | Tag::Header => word,
            Tag::Ref => self.evacuate_ref(word),
            Tag::Cons if self.in_from(word.address()) => self.evacuate_list(word.address()),
            Tag::Cons => word,
            Tag::Struct if self.in_from(word.address()) => self.evacuate_structure(word.address()),
            Tag::Struct | Tag::Object => self.evacuate_headed(word),
            Tag::Var => self.evacuate_headed(first_waiting(word)),
        }
    }
    /// The same apart, for what is rare where it is called.
    #[inline(never)]
    pub(super) fn evacuate_other(&mut self, word: Word) -> Word {
        self.evacuate(word)
    }
    pub(super) fn evacuate_ref(&mut self, mut word: Word) -> Word {
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
                    if self.claim(cell, content, forwarding_cell(to)) {
                        return pointer(Tag::Ref, to);
                    }
                    // The room is lost until the next collection; it must not look like a cell that waits.
                    write(to, Word::small(0));
                }
                // The cell is at its new place, alone or as the car of a copied cons.
                Tag::Header if SHARED && content == BUSY => crate::coordination::sync::spin_loop(),
                // F1: a cell that was copied for itself was unbound.
                Tag::Header if !forwards_all(content) => return pointer(Tag::Ref, target(content)),
                Tag::Header => {
                    let to = target(content);
                    let content = read(to);
                    if content.tag() == Tag::Var {
                        return pointer(Tag::Ref, to);
                    }
                    word = content;
                }
                _ => word = content,
            }
        }
        self.evacuate(word)
    }
    /// Copies a cons at `from`, and the conses that follow it in its list, one after the other.
    pub(super) fn evacuate_list(&mut self, from: usize) -> Word {
        let car = match self.take_car(from) {
            Ok(car) => car,
            Err(to) => return pointer(Tag::Cons, to),
        };
        let (first, mut cdr) = self.copy_cons(from, car);
        let (mut last, mut plain, mut until_shared) = (first, car.is_immediate(), SHARED_WORDS);
        loop {
            if plain {
                let run = last;
                let most = if SHARED { until_shared - 1 } else { SURVIVOR_RANGE / 16 };
                (last, cdr) = self.copy_plain_conses(last, cdr, most);
                until_shared -= if SHARED { (last - run) / 16 } else { 0 };
            }
            if cdr.tag() != Tag::Cons {
                let Some(content) = self.content_behind(cdr) else { break };
                cdr = content;
                write(last + 8, cdr);
                continue;
            }
            let next = cdr.address();
            if !self.in_from(next) {
                break;
            }
            let car = match self.take_car(next) {
                Ok(car) => car,
                Err(to) => {
                    write(last + 8, pointer(Tag::Cons, to));
                    break;
                }
            };
            let to;
            (to, cdr) = self.copy_cons(next, car);
            write(last + 8, pointer(Tag::Cons, to));
            if plain {
                self.blacken_cons(last, to);
            }
            (last, plain) = (to, car.is_immediate());
            if SHARED {
                until_shared -= 1;
                if until_shared == 0 {
                    until_shared = SHARED_WORDS;
                    let next = cdr.tag() == Tag::Cons && self.in_from(cdr.address());
                    self.share_list(last, next.then(|| cdr.address()));
                }
            }
        }
        pointer(Tag::Cons, first)
    }
    /// What the cdr of a list leads to through a bound cell, which is left out; `None`: it is left to the scan.
    #[inline(always)]
    fn content_behind(&self, cdr: Word) -> Option<Word> {
        if cdr.tag() != Tag::Ref || !self.in_from(cdr.address()) {
            return None;
        }
        Some(read(cdr.address())).filter(|&content| is_value(content))
    }
    /// The fast path of a list: copies conses whose cars are immediate and which lie in the same part of a space, at
    /// most this number, to the room directly behind `last`. Answers the last copy and its cdr.
    #[inline(always)]
    fn copy_plain_conses(&mut self, mut last: usize, mut cdr: Word, most: usize) -> (usize, Word) {
        let Some((source, stays)) = self.same_part(cdr) else { return (last, cdr) };
        let survivors = Range { start: self.survivor_top, end: self.survivor_end };
        let room = if stays { survivors } else { self.old };
        if room.start != last + 16 {
            return (last, cdr);
        }
        let (first, end) = (last, room.end.min(room.start + 16 * most));
        while cdr.bits() & TAG_MASK == Tag::Cons as u64 && source.contains(cdr.address()) && last + 32 <= end
        {
            let from = cdr.address();
            let (car, next) = (read(from), read(from + 8));
            if !car.is_immediate() || !is_value(next) {
                break;
            }
            write(last + 8, pointer(Tag::Cons, last + 16));
            last += 16;
            write(last, car);
            write(last + 8, next);
            write(from, forwarding(last));
            cdr = next;
        }
        let scan = if stays {
            self.survivor_top = last + 16;
            &mut self.survivor_scan
        } else {
            self.old.start = last + 16;
            let again = self.young_offset(source.start) % LANE_BYTES < NURSERY_AT;
            self.again += if again { (last - first) / 8 } else { 0 };
            &mut self.old_scan
        };
        debug_assert!(*scan <= first && first <= last, "F3: what is grey begins behind the copies");
        // F3: all but the last lead to the next one only, and so need no scan.
        if *scan == first || last - first >= BLACK_BYTES_MIN {
            if *scan < first {
                self.grey.push(Range { start: *scan, end: first });
            }
            *scan = last;
            self.scanned += if SHARED { (last - first) / 8 } else { 0 };
        }
        (last, cdr)
    }
    /// F3: a copied cons which leads to the next copy only is grey no longer if it is the first grey one, and the next
    /// lies behind it. Apart: most lists have other things than numbers.
    #[inline(never)]
    fn blacken_cons(&mut self, cons: usize, next: usize) {
        debug_assert!(
            read(cons).is_immediate() && read(cons + 8).tag() == Tag::Cons,
            "F3: more than a next one"
        );
        if next != cons + 16 {
            return;
        }
        if cons == self.survivor_scan {
            self.survivor_scan += 16;
        } else if cons == self.old_scan {
            self.old_scan += 16;
        } else {
            return;
        }
        self.scanned += if SHARED { 2 } else { 0 };
    }
    /// For the cdr of a list that goes on in the space that is evacuated: the quarter of a lane or the block where it
    /// does, and whether what lies there stays young.
    #[inline(always)]
    fn same_part(&self, cdr: Word) -> Option<(Range, bool)> {
        if cdr.tag() != Tag::Cons || !self.in_from(cdr.address()) {
            return None;
        }
        let address = cdr.address();
        if self.is_young(address) {
            let place = self.young_offset(address) % LANE_BYTES;
            let (start, stays) = (address - place % SURVIVOR_RANGE, place >= self.young_from);
            let border = address - place + self.young_from;
            let part = Range { start, end: start + SURVIVOR_RANGE };
            let part = if stays {
                Range { start: part.start.max(border), ..part }
            } else {
                Range { end: part.end.min(border), ..part }
            };
            debug_assert!(part.contains(address), "F7: another part than that of the list");
            return Some((part, stays));
        }
        Some((self.common.from_blocks.block(address), false))
    }
    /// F7: copies a list from a cons that lies `ahead` conses behind `from`, if it is that long. Nothing is copied on
    /// the way there, and it does not matter what others copy meanwhile: the cdrs that lead on stay as they are.
    pub(super) fn list_ahead(&mut self, from: usize, ahead: usize) {
        let mut at = from;
        for _ in 0..ahead {
            let mut cdr = read(at + 8);
            while cdr.tag() == Tag::Ref && self.in_from(cdr.address()) {
                cdr = read(cdr.address());
            }
            if cdr.tag() != Tag::Cons || !self.in_from(cdr.address()) {
                return;
            }
            at = cdr.address();
        }
        self.evacuate_list(at);
    }
    /// Answers the copy and its cdr.
    #[inline(always)]
    fn copy_cons(&mut self, from: usize, car: Word) -> (usize, Word) {
        let to = self.room(from, 2);
        let cdr = self.moved_cell(from + 8, to + 8);
        write(to, car);
        write(to + 8, cdr);
        write(from, forwarding(to));
        (to, cdr)
    }
    /// An object, or the record that a VAR word leads to; a structure that is not evacuated.
    pub(super) fn evacuate_headed(&mut self, word: Word) -> Word {
        let from = word.address();
        if !self.in_from(from) {
            self.mark_if_large(from);
            return word;
        }
        debug_assert!(word.tag() != Tag::Struct, "F6: a structure is not claimed");
        let header = match self.take(from, |_| true) {
            Ok(header) => header,
            Err(to) => return raw(to as u64 | word.tag() as u64),
        };
        debug_assert!(header.is_header() && word::header_is_object(header), "W3: no object begins there");
        let words = word::header_size(header);
        // An old version of a vector leads to all newer ones: if it became old and was garbage, they would live.
        let young_from = if is_handle(header) { self.young_from.min(NURSERY_AT) } else { self.young_from };
        let to = self.room_unless_old(from, 1 + words, young_from);
        copy(from + 8, to + 8, words);
        write(to, header);
        write(from, forwarding(to));
        raw(to as u64 | word.tag() as u64)
    }
    /// A structure in the space that is evacuated.
    #[inline(always)]
    pub(super) fn evacuate_structure(&mut self, from: usize) -> Word {
        match self.take(from, |_| false) {
            Ok(header) => self.copy_structure(from, header),
            Err(to) => pointer(Tag::Struct, to),
        }
    }
    /// Copies a structure with this header. Nothing is kept over a call, so that no register need be saved.
    #[inline(never)]
    fn copy_structure(&mut self, from: usize, header: Word) -> Word {
        let arity = word::header_arity(header);
        debug_assert!(arity > 0 && !word::header_is_object(header), "W3: no structure begins there");
        let Some(to) = self.room_at_hand(from, 1 + arity, self.young_from) else {
            return self.copy_to_next_block(from, header);
        };
        let end = from + 8 * arity;
        let (mut at, mut cell) = (from, to);
        loop {
            (at, cell) = (at + 8, cell + 8);
            write(cell, self.moved_cell(at, cell));
            if at == end {
                break;
            }
        }
        write(to, header);
        write(from, forwarding(to));
        pointer(Tag::Struct, to)
    }
    #[cold]
    #[inline(never)]
    fn copy_to_next_block(&mut self, from: usize, header: Word) -> Word {
        self.next_block(8 + 8 * word::header_arity(header));
        self.copy_structure(from, header)
    }
    /// What is not evacuated may be large (G4).
    #[inline(always)]
    pub(super) fn mark_if_large(&mut self, address: usize) {
        if self.large.contains(address) {
            self.mark_large(address);
        }
    }
    /// Marks a large object, and makes what is tagged in it grey, in slices.
    fn mark_large(&mut self, object: usize) {
        if !mark_large(object, !MAJOR) {
            return;
        }
        let header = read(object);
        debug_assert!(header.is_header() && !header.is_forwarding(), "G4: a large object is never moved");
        let mut words = word::header_words(header);
        self.large_words += words;
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
}

/// F8: where a list of records begins, or what is left of one, without the hooks of goals that were resumed.
#[inline(always)]
pub(crate) fn first_waiting(mut list: Word) -> Word {
    while list != UNBOUND && read(list.address()) == HOOK_HEADER {
        let record = read(list.address() + 8 * HOOK_SUSPENSION).address();
        if read(record + 8 * SUSPENSION_PREDICATE) != RESUMED {
            break;
        }
        list = read(list.address() + 8 * SUSPENSION_NEXT);
    }
    list
}

/// Whether a cell's content is a value: it is bound, and was not copied alone.
#[inline(always)]
fn is_value(content: Word) -> bool {
    !matches!(content.tag(), Tag::Var | Tag::Header)
}

/// A cell's bound content, as it is copied with its cons or structure.
#[inline(always)]
fn moved_content(content: Word) -> Word {
    if content.is_forwarding() { pointer(Tag::Ref, target(content)) } else { content }
}

#[inline(always)]
fn is_handle(header: Word) -> bool {
    header == word::object_header(layout::VECTOR, HANDLE_SIZE)
        || header == word::object_header(layout::STRING, HANDLE_SIZE)
}

fn is_variable(content: Word) -> bool {
    content.tag() == Tag::Var
}
