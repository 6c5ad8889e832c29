//! Vectors and strings: versions of one store (`term::layout`).
//!
//! Invariants:
//! - V1 The newest version is updated in place by one worker at a time: by the one to which its handle is private, or
//!   by whoever changes a shared handle's index from `NEWEST` to `CHANGING`. For a handle that is private to another
//!   worker the store is copied.
//! - V2 An update writes in this order: index `CHANGING`, link and value, index of the difference, element. Whoever
//!   reads the newest version's element reads the index again afterwards: unless it is what it was, the element may
//!   be that of a newer version. A difference never changes, but for one worker alone.

use crate::memory::ranges::{compare_exchange, pointer, raw, read, write};
use crate::reports::outcome::ProgramError;
use crate::terms::deref;
use crate::worker::Worker;
use std::cmp::Ordering;
use std::ops::Range;
use term::Word;
use term::layout::{self, CHANGING, ClassId, HANDLE_INDEX, HANDLE_STORE, HANDLE_VALUE, LITERAL, NEWEST};
use term::word::{self, Tag};

/// A version is far from the newest when this many updates lie between them,
const FAR_STEPS: usize = 16;
/// and this part of its words.
const FAR_SHARE: usize = 64;

/// The longest part of a string that is looked at without memory of its own.
pub(crate) const STRING_PIECE_BYTES: usize = 256;
/// Words of strings that are short, as names and keys are: less is cleared for them.
const SHORT_WORDS: usize = 4;

impl Worker {
    /// Number of elements of a vector; `None` for anything else.
    pub(crate) fn vector_length(&self, word: Word) -> Option<usize> {
        self.handle_length(word, layout::VECTOR)
    }
    /// Number of bytes of a string; `None` for anything else.
    pub(crate) fn string_length(&self, word: Word) -> Option<usize> {
        self.handle_length(word, layout::STRING)
    }
    /// The length of a string or vector (which one `class` says) that is the newest version: nothing is to be settled.
    #[inline(always)]
    pub(crate) fn newest_length(&self, word: Word, class: ClassId) -> Option<usize> {
        let word = deref(word);
        if word.tag() != Tag::Object || word::header_class(read(word.address())) != class {
            return None;
        }
        let version = look(word.address());
        (version.index < 0).then_some(version.value.as_int() as usize)
    }
    /// Element `index` of a vector that is the newest version and has one; `None` for anything else.
    #[inline(always)]
    pub(crate) fn newest_element(&self, word: Word, index: i64) -> Option<Word> {
        self.in_newest(word, layout::VECTOR, index, |store, index| read(store + 8 + 8 * index))
    }
    /// Byte `index` of a string that is the newest version and has one; `None` for anything else.
    #[inline(always)]
    pub(crate) fn newest_byte(&self, word: Word, index: i64) -> Option<u8> {
        self.in_newest(word, layout::STRING, index, byte)
    }
    #[inline(always)]
    fn in_newest<T>(
        &self,
        word: Word,
        class: ClassId,
        index: i64,
        stored: impl FnOnce(usize, usize) -> T,
    ) -> Option<T> {
        let word = deref(word);
        if word.tag() != Tag::Object || word::header_class(read(word.address())) != class {
            return None;
        }
        let version = look(word.address());
        if version.index >= 0 || index as u64 >= version.value.as_int() as u64 {
            return None;
        }
        let element = stored(version.link, index as usize);
        is_still(word.address(), Word::small(version.index)).then_some(element)
    }
    fn handle_length(&self, word: Word, class: ClassId) -> Option<usize> {
        let word = deref(word);
        (self.class_of(word)? == class).then(|| distance(word.address()).1)
    }
    /// Element `index` of a vector, in whatever version. Panics if it is not a vector or has no such element.
    pub(crate) fn vector_element(&self, word: Word, index: usize) -> Word {
        assert!(self.vector_length(word).is_some_and(|length| index < length), "vector element out of range");
        find(deref(word).address(), index, |store| read(store + 8 + 8 * index), |value| value)
    }
    /// Byte `index` of a string, in whatever version. Panics if it is not a string or has no such byte.
    pub(crate) fn string_byte(&self, word: Word, index: usize) -> u8 {
        assert!(self.string_length(word).is_some_and(|length| index < length), "string byte out of range");
        find(deref(word).address(), index, |store| byte(store, index), |value| value.as_int() as u8)
    }
    /// All elements of a vector; `None` for anything else.
    pub(crate) fn vector_elements(&self, word: Word) -> Option<Vec<Word>> {
        let length = self.vector_length(word)?;
        Some(self.vector_part(word, 0..length))
    }
    /// Some elements of a vector. Panics if it is not a vector, or is too short.
    pub(crate) fn vector_part(&self, word: Word, range: Range<usize>) -> Vec<Word> {
        assert!(
            self.vector_length(word).is_some_and(|length| range.end <= length),
            "vector part out of range"
        );
        let stored = |store| range.clone().map(|i| read(store + 8 + 8 * i)).collect::<Vec<_>>();
        let (mut elements, differences) = collect_versions(deref(word).address(), stored);
        for &(index, value) in differences.iter().rev() {
            if range.contains(&index) {
                elements[index - range.start] = value;
            }
        }
        elements
    }
    /// All bytes of a string; `None` for anything else.
    pub(crate) fn string_bytes(&self, word: Word) -> Option<Vec<u8>> {
        let length = self.string_length(word)?;
        Some(self.string_part(word, 0..length))
    }
    /// The bytes of a string, if it is one, the newest version, and they fit (`into` has a multiple of 8 places): their
    /// number.
    pub(crate) fn copy_string(&self, word: Word, into: &mut [u8]) -> Option<usize> {
        let word = deref(word);
        if self.class_of(word)? != layout::STRING {
            return None;
        }
        let handle = word.address();
        let Version { index, link, value } = look(handle);
        let length = value.as_int() as usize;
        if index >= 0 || length > into.len() {
            return None;
        }
        let mut from = link + 8;
        for (chunk, _) in into.chunks_exact_mut(8).zip(0..length.div_ceil(8)) {
            chunk.copy_from_slice(&read(from).bits().to_le_bytes());
            from += 8;
        }
        is_still(handle, Word::small(index)).then_some(length)
    }
    /// Appends the bytes of a string, if it is one, the newest version, and no longer than `most`; false if nothing was
    /// done. `out` must have room for seven bytes more than these, or it grows.
    #[inline(always)]
    pub(crate) fn append_string(&self, word: Word, most: usize, out: &mut Vec<u8>) -> bool {
        let word = deref(word);
        if word.tag() != Tag::Object || word::header_class(read(word.address())) != layout::STRING {
            return false;
        }
        let handle = word.address();
        let Version { index, link, value } = look(handle);
        let length = value.as_int() as usize;
        if index >= 0 || length > most {
            return false;
        }
        let before = out.len();
        out.reserve(length + 7);
        for i in 0..length.div_ceil(8) {
            out.extend_from_slice(&read(link + 8 + 8 * i).bits().to_le_bytes());
        }
        let still = is_still(handle, Word::small(index));
        out.truncate(if still { before + length } else { before });
        still
    }
    /// Some bytes of a string. Panics if it is not a string, or is too short.
    pub(crate) fn string_part(&self, word: Word, range: Range<usize>) -> Vec<u8> {
        assert!(
            self.string_length(word).is_some_and(|length| range.end <= length),
            "string part out of range"
        );
        let first = range.start / 8;
        let stored = |store| {
            let mut bytes = Vec::with_capacity(range.len() + 16);
            for i in first..range.end.div_ceil(8) {
                bytes.extend(read(store + 8 + 8 * i).bits().to_le_bytes());
            }
            bytes
        };
        let (mut bytes, differences) = collect_versions(deref(word).address(), stored);
        for &(index, value) in differences.iter().rev() {
            if range.contains(&index) {
                bytes[index - 8 * first] = value.as_int() as u8;
            }
        }
        bytes.truncate(range.end.saturating_sub(8 * first));
        bytes.drain(..range.start % 8);
        bytes
    }
    /// What `then` makes of a part of a string, which takes memory if it is longer than [`STRING_PIECE_BYTES`]. Panics
    /// if it is not a string, or is too short.
    pub(crate) fn with_string_piece<R>(
        &self,
        word: Word,
        range: Range<usize>,
        then: impl FnOnce(&[u8]) -> R,
    ) -> R {
        if range.end.div_ceil(8) - range.start / 8 <= SHORT_WORDS {
            self.with_string_words::<SHORT_WORDS, R>(word, range, then)
        } else {
            self.with_string_words::<{ STRING_PIECE_BYTES / 8 + 1 }, R>(word, range, then)
        }
    }
    /// The same for a part that takes memory if it is in more words.
    #[inline(always)]
    fn with_string_words<const WORDS: usize, R>(
        &self,
        word: Word,
        range: Range<usize>,
        then: impl FnOnce(&[u8]) -> R,
    ) -> R {
        let handle = deref(word).address();
        let first = range.start / 8;
        let mut few = [[0; 8]; WORDS];
        let Some(words) = few.get_mut(..range.end.div_ceil(8) - first) else {
            return then(&self.string_part(word, range));
        };
        let version = self.newest_string(word, range.end);
        if let Some(Version { index, link, .. }) = version {
            for (i, bytes) in (first..).zip(&mut *words) {
                *bytes = read(link + 8 + 8 * i).bits().to_le_bytes();
            }
            if is_still(handle, Word::small(index)) {
                return then(&words.as_flattened()[range.start % 8..][..range.len()]);
            }
        }
        then(&self.string_part(word, range))
    }
    /// The words of a string's handle if it is the newest version. Panics if it is not a string, or is shorter.
    #[inline(always)]
    fn newest_string(&self, word: Word, length: usize) -> Option<Version> {
        let word = deref(word);
        assert!(self.class_of(word) == Some(layout::STRING), "not a string");
        let version = look(word.address());
        let newest = version.index < 0;
        assert!(!newest || length <= version.value.as_int() as usize, "string part out of range");
        newest.then_some(version)
    }
    /// A string of parts of strings, one behind the other. Panics if they are none, or too short.
    pub(crate) fn string_of_parts(&mut self, parts: &[(Word, Range<usize>)]) -> Word {
        let newest = |(word, _): &(Word, Range<usize>)| self.newest_length(*word, layout::STRING).is_some();
        if parts.iter().all(newest) {
            let length = parts.iter().map(|(_, range)| range.len()).sum::<usize>();
            let words = length.div_ceil(8);
            let store = self.allocate(1 + words);
            write(store, word::object_header(layout::BYTES, words));
            if self.copy_parts(parts, store + 8) {
                return self.handle(layout::STRING, pointer(Tag::Object, store), length);
            }
        }
        let bytes = parts.iter().flat_map(|(word, range)| self.string_part(*word, range.clone()));
        let bytes = bytes.collect::<Vec<u8>>();
        self.string(&bytes)
    }
    /// Copies parts of strings to where words are; the last one is filled with zeros. False if one of the strings is
    /// not the newest version any more: then not all is copied.
    fn copy_parts(&self, parts: &[(Word, Range<usize>)], mut to: usize) -> bool {
        // What fills no word yet, and how many bits of it there are.
        let (mut bits, mut filled) = (0, 0);
        for (word, range) in parts {
            let Some(Version { index, link, .. }) = self.newest_string(*word, range.end) else {
                return false;
            };
            let mut at = range.start;
            while at < range.end {
                if at % 8 == 0 {
                    // Whole words.
                    while range.end - at >= 8 {
                        let word = read(link + 8 + at).bits();
                        write(to, raw(bits | word << filled));
                        bits = (word >> 1) >> (63 - filled);
                        (at, to) = (at + 8, to + 8);
                    }
                    if at == range.end {
                        break;
                    }
                }
                let count = 8 * (8 - at % 8).min(range.end - at);
                let behind = 64 - count;
                let chunk = read(link + 8 + at / 8 * 8).bits() >> (8 * (at % 8)) << behind >> behind;
                bits |= chunk << filled;
                filled += count;
                debug_assert!(filled < 128, "a word and what is left of the next");
                if filled >= 64 {
                    write(to, raw(bits));
                    to += 8;
                    filled -= 64;
                    bits = if filled == 0 { 0 } else { chunk >> (count - filled) };
                }
                at += count / 8;
            }
            if !is_still(deref(*word).address(), Word::small(index)) {
                return false;
            }
        }
        if filled > 0 {
            write(to, raw(bits));
        }
        true
    }
    /// True if two objects are strings with the same bytes, as far as that shows without going through versions.
    #[inline(always)]
    pub(crate) fn same_strings(&self, a: Word, b: Word) -> bool {
        self.equal_newest(a, b) == Some(true)
    }
    /// Whether two objects, if both are strings and the newest versions, have the same bytes.
    #[inline(always)]
    pub(crate) fn equal_newest(&self, a: Word, b: Word) -> Option<bool> {
        let (a, b) = (a.address(), b.address());
        let header = read(a);
        if header != read(b) || word::header_class(header) != layout::STRING {
            return None;
        }
        // V2: what is read while both indices stay so is of these versions.
        // NEWEST and LITERAL are the two greatest words.
        let newest = |handle: usize| read(handle + 8 * HANDLE_INDEX).bits() >= LITERAL.bits();
        let value = |handle: usize| read(handle + 8 * HANDLE_VALUE);
        if !newest(a) || !newest(b) {
            return None;
        }
        let [store_a, store_b] = [a, b].map(|handle| read(handle + 8 * HANDLE_STORE).address());
        let length = value(a);
        let mut equal = length == value(b);
        if equal {
            let (mut at, mut left) = (8, length.as_int());
            while left > 0 && equal {
                let different = read(store_a + at).bits() ^ read(store_b + at).bits();
                // Bytes behind the end mean nothing.
                equal = if left < 8 { different << (64 - 8 * left) == 0 } else { different == 0 };
                (at, left) = (at + 8, left - 8);
            }
        }
        (newest(a) && newest(b)).then_some(equal)
    }
    /// The order of two strings, as [`Worker::compare_strings`] has it, if both are the newest versions.
    pub(crate) fn compare_newest(&self, a: Word, b: Word) -> Option<(Ordering, usize)> {
        let (a, b) = (deref(a).address(), deref(b).address());
        let (newest, other) = (look(a), look(b));
        if newest.index >= 0 || other.index >= 0 {
            return None;
        }
        let [length_a, length_b] = [newest.value, other.value].map(|length| length.as_int() as usize);
        let length = length_a.min(length_b);
        let mut found = (length_a.cmp(&length_b), length);
        for i in 0..length.div_ceil(8) {
            let (word_a, word_b) =
                (read(newest.link + 8 + 8 * i).bits(), read(other.link + 8 + 8 * i).bits());
            let same = 8 * i + (word_a ^ word_b).trailing_zeros() as usize / 8;
            if word_a != word_b {
                if same < length {
                    found = (word_a.swap_bytes().cmp(&word_b.swap_bytes()), same);
                }
                break;
            }
        }
        let still = is_still(a, Word::small(newest.index)) && is_still(b, Word::small(other.index));
        still.then_some(found)
    }
    /// A version of a vector with one other element: O(1) from the newest version, else a copy.
    /// The error says that there is no room for a copy. Panics if it is not a vector or has no such element.
    pub(crate) fn vector_update(
        &mut self,
        word: Word,
        index: usize,
        value: Word,
    ) -> Result<Word, Box<ProgramError>> {
        let length = self.vector_length(word).expect("the caller tested that it is a vector");
        assert!(index < length, "vector element out of range");
        let old = deref(word).address();
        if !self.claim_newest(old) {
            self.ensure(length + 8)?;
            let mut elements = self.vector_elements(word).expect("tested above");
            elements[index] = value;
            return Ok(self.vector(&elements));
        }
        let store = read(old + 8 * HANDLE_STORE);
        debug_assert!(self.object_size(store) >= length, "V1: a store of other elements");
        let new = self.handle(layout::VECTOR, store, length);
        let slot = store.address() + 8 + 8 * index;
        self.make_older(old, new, index, read(slot));
        self.store(slot, value);
        Ok(new)
    }
    /// A version of a string with one other byte; costs, fails and panics as [`Worker::vector_update`].
    pub(crate) fn string_update(
        &mut self,
        word: Word,
        index: usize,
        value: u8,
    ) -> Result<Word, Box<ProgramError>> {
        let length = self.string_length(word).expect("the caller tested that it is a string");
        assert!(index < length, "string byte out of range");
        let old = deref(word).address();
        if !self.claim_newest(old) {
            self.ensure(length / 8 + 8)?;
            let mut bytes = self.string_bytes(word).expect("tested above");
            bytes[index] = value;
            return Ok(self.string(&bytes));
        }
        let store = read(old + 8 * HANDLE_STORE);
        let new = self.handle(layout::STRING, store, length);
        self.make_older(old, new, index, Word::small(byte(store.address(), index).into()));
        let address = store.address() + 8 + index / 8 * 8;
        let shift = index % 8 * 8;
        write(address, raw(read(address).bits() & !(0xff << shift) | (u64::from(value) << shift)));
        Ok(new)
    }
    /// Looks at a vector or string before an element of it is read: an old version that is far from the newest gets a
    /// store of its own as soon as reads have taken as many steps as that costs, so a read takes bounded time on
    /// average. As only distant versions do, the copies do not take much more memory than the history between them.
    /// (One worker alone: V2.)
    pub(crate) fn settle(&mut self, word: Word) {
        let word = deref(word);
        let Some(class) = self.class_of(word) else { return };
        if class != layout::VECTOR && class != layout::STRING || !self.is_alone() {
            return;
        }
        let old = word.address();
        if read(old + 8 * HANDLE_INDEX).as_int() < 0 {
            return;
        }
        let (steps, length) = distance(old);
        let words = if class == layout::VECTOR { length } else { length.div_ceil(8) };
        self.terms.version_steps += steps;
        let far = steps >= FAR_STEPS.max(words / FAR_SHARE);
        if !far || self.terms.version_steps < words || self.ensure(words + 8).is_err() {
            return;
        }
        self.terms.version_steps = 0;
        let copy = match self.vector_elements(word) {
            Some(elements) => self.vector(&elements),
            None => {
                let bytes = self.string_bytes(word).expect("one of two classes");
                self.string(&bytes)
            }
        };
        self.store(old + 8 * HANDLE_STORE, read(copy.address() + 8 * HANDLE_STORE));
        write(old + 8 * HANDLE_INDEX, NEWEST);
        write(old + 8 * HANDLE_VALUE, Word::small(length as i64));
    }
    /// V1: true if the handle was the newest version's; then it is `CHANGING`.
    fn claim_newest(&mut self, handle: usize) -> bool {
        let index = handle + 8 * HANDLE_INDEX;
        if self.is_private(handle) || self.is_alone() {
            let newest = read(index) == NEWEST;
            if newest {
                write(index, CHANGING);
            }
            return newest;
        }
        self.owner(handle).is_none() && compare_exchange(index, NEWEST, CHANGING)
    }
    fn make_older(&mut self, old: usize, new: Word, index: usize, value: Word) {
        debug_assert!(read(old + 8 * HANDLE_INDEX) == CHANGING, "V1: somebody else may change it");
        self.store(old + 8 * HANDLE_STORE, new);
        self.store(old + 8 * HANDLE_VALUE, value);
        write(old + 8 * HANDLE_INDEX, Word::small(index as i64));
    }
}

/// A handle's words, as they were at one moment (V2).
struct Version {
    /// Negative for the newest version and for literals.
    index: i64,
    /// The store, or the handle of the next newer version.
    link: usize,
    /// The length, or the element that this version has at the index.
    value: Word,
}

#[inline(always)]
fn look(handle: usize) -> Version {
    debug_assert!(is_handle(read(handle)), "V2: no handle of a vector or string");
    loop {
        let index = read(handle + 8 * HANDLE_INDEX);
        let link = read(handle + 8 * HANDLE_STORE).address();
        let value = read(handle + 8 * HANDLE_VALUE);
        if index != CHANGING && is_still(handle, index) {
            return Version { index: index.as_int(), link, value };
        }
        crate::coordination::sync::spin_loop();
    }
}
/// Whether an object's header is that of a vector's or string's handle.
fn is_handle(header: Word) -> bool {
    matches!(word::header_class(header), layout::VECTOR | layout::STRING)
}

#[inline(always)]
fn is_still(handle: usize, index: Word) -> bool {
    read(handle + 8 * HANDLE_INDEX) == index
}

/// How many updates lie between a version and the newest, and the length.
fn distance(mut handle: usize) -> (usize, usize) {
    let mut steps = 0;
    loop {
        let version = look(handle);
        if version.index < 0 {
            return (steps, version.value.as_int() as usize);
        }
        handle = version.link;
        steps += 1;
    }
}

/// The element of a version: from the store, or from a difference.
fn find<T>(mut handle: usize, index: usize, stored: impl Fn(usize) -> T, changed: impl Fn(Word) -> T) -> T {
    loop {
        let version = look(handle);
        if version.index < 0 {
            let element = stored(version.link);
            if is_still(handle, Word::small(version.index)) {
                return element;
            }
        } else if version.index as usize == index {
            return changed(version.value);
        } else {
            handle = version.link;
        }
    }
}

/// What the store has, and the differences from this version to the newest: the first one counts.
fn collect_versions<T>(mut handle: usize, stored: impl Fn(usize) -> T) -> (T, Vec<(usize, Word)>) {
    let mut differences = Vec::new();
    loop {
        let version = look(handle);
        if version.index < 0 {
            let elements = stored(version.link);
            if is_still(handle, Word::small(version.index)) {
                return (elements, differences);
            }
        } else {
            differences.push((version.index as usize, version.value));
            handle = version.link;
        }
    }
}

fn byte(store: usize, index: usize) -> u8 {
    debug_assert!(index / 8 < word::header_size(read(store)), "byte {index} is beyond its store");
    (read(store + 8 + index / 8 * 8).bits() >> (index % 8 * 8)) as u8
}

#[cfg(all(test, not(models)))]
mod tests {
    use super::*;
    use crate::builtins::tests::worker;

    #[test]
    fn parts_of_strings_are_those_of_their_bytes() {
        let worker = worker();
        let newest = worker.string(b"the quick brown fox jumps");
        let old = worker.string(b"over the lazy dog, he says");
        worker.string_update(old, 3, b'-').expect("there is room");
        let texts: [&[u8]; 2] = [b"the quick brown fox jumps", b"over the lazy dog, he says"];
        let ends = [0, 1, 7, 8, 9, 15, 16, 17, 24, 25];
        let ranges = || ends.iter().flat_map(|&from| ends.iter().map(move |&to| from..to.max(from)));
        for (first, second) in ranges().flat_map(|first| ranges().map(move |second| (first.clone(), second)))
        {
            for (other, text) in [(newest, texts[0]), (old, texts[1])] {
                let joined = worker.string_of_parts(&[(newest, first.clone()), (other, second.clone())]);
                let bytes = [&texts[0][first.clone()], &text[second.clone()]].concat();
                assert_eq!(worker.string_bytes(joined).as_ref(), Some(&bytes));
                // What fills up the last word is the same as in any string.
                let same = worker.string(&bytes);
                assert!(worker.same_strings(joined, same));
                worker.with_string_piece(other, second.clone(), |got| assert_eq!(got, &text[second.clone()]));
            }
        }
    }

    #[test]
    fn a_string_is_appended_whole_or_not_at_all() {
        let worker = worker();
        let (mut out, text) = (b"ab".to_vec(), worker.string(b"0123456789"));
        assert!(!worker.append_string(text, 9, &mut out) && !worker.append_string(Word::NIL, 9, &mut out));
        assert!(worker.append_string(text, 10, &mut out));
        worker.string_update(text, 0, b'x').expect("there is room");
        assert!(!worker.append_string(text, 10, &mut out));
        assert_eq!(out, b"ab0123456789");
    }

    #[test]
    fn the_newest_version_tells_its_elements_and_no_others() {
        let worker = worker();
        let (vector, string) = (worker.vector(&[Word::small(1), Word::small(2)]), worker.string(b"ab"));
        let vectors = [vector, worker.vector_update(vector, 1, Word::NIL).expect("there is room"), string];
        let strings = [string, worker.string_update(string, 1, b'x').expect("there is room"), vector];
        let elements = |index| vectors.map(|word| worker.newest_element(word, index));
        assert_eq!(elements(1), [None, Some(Word::NIL), None]);
        assert_eq!([2, -1, i64::MIN].map(elements), [[None; 3]; 3]);
        let bytes = |index| strings.map(|word| worker.newest_byte(word, index));
        assert_eq!(bytes(1), [None, Some(b'x'), None]);
        assert_eq!([2, -1, i64::MIN].map(bytes), [[None; 3]; 3]);
        assert_eq!(vectors.map(|word| worker.newest_length(word, layout::VECTOR)), [None, Some(2), None]);
    }
}
