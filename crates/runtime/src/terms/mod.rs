//! Making and reading terms: the operations of [`Worker`] that builtins are written with.
//!
//! For: making, reading, comparing and printing terms; integers and vectors.
//! It may know: memory, and the worker whose nursery it allocates in.
//! It never: makes a goal ready, or collects.
//!
//! Words that these functions take may be any values (W1 of `term::word`), bound or not; readers follow references
//! themselves. Allocation never fails and never collects (R3).

pub(crate) mod append;
#[cfg(test)]
mod infinite_tests;
pub(crate) mod integers;
pub(crate) mod large;
pub(crate) mod maps;
pub mod naming;
pub(crate) mod order;
pub(crate) mod pairs;
pub(crate) mod print;
pub(crate) mod state;
pub(crate) mod vectors;
pub(crate) mod walk;

use crate::memory::ranges::{at, compare_exchange, pointer, raw, read, write};
use crate::memory::tuning::LARGE_WORDS;
use crate::worker::Worker;
use num_bigint::{BigInt, Sign};
use term::abi::PredicateId;
use term::layout::{self, ClassId, NEWEST};
use term::word::{self, Tag, UNBOUND};
use term::{Atom, Word};

/// Follows references: a value, or a REF to an unbound cell.
#[inline(always)]
pub(crate) fn deref(mut word: Word) -> Word {
    while word.tag() == Tag::Ref {
        let content = read(word.address());
        if content.tag() == Tag::Var {
            break;
        }
        word = content;
    }
    word
}

/// The value in a cell: its content, or a REF to it when it is unbound.
#[inline(always)]
pub(crate) fn cell(address: usize) -> Word {
    let content = read(address);
    if content.tag() == Tag::Var { pointer(Tag::Ref, address) } else { content }
}

/// The same, dereferenced.
#[inline(always)]
pub(crate) fn value_at(mut address: usize) -> Word {
    loop {
        let content = read(address);
        match content.tag() {
            Tag::Ref => address = content.address(),
            Tag::Var => return pointer(Tag::Ref, address),
            _ => return content,
        }
    }
}

/// Whether a word may be what a new cell holds (W3): no header, and of unbound cells only a fresh variable.
fn is_content(word: Word) -> bool {
    word == UNBOUND || !matches!(word.tag(), Tag::Var | Tag::Header)
}

/// What a term is, at its top.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View<T = Word> {
    /// An unbound variable (a REF to its cell).
    Unbound(T),
    /// An integer that a word holds.
    Int(i64),
    /// An atom.
    Atom(Atom),
    /// A cons: its car and cdr.
    Cons(T, T),
    /// A structure: name and arity; [`Terms::arg`](crate::node::Terms::arg) gives the arguments.
    Struct(Atom, usize),
    /// An object of a class (a vector or string: the class of the handle).
    Object(ClassId),
}

impl Worker {
    // ---- allocation -------------------------------------------------------------------------------

    /// `words` words of uninitialised heap; the caller fills all of them before anything else happens.
    #[inline(always)]
    pub(crate) fn allocate(&mut self, words: usize) -> usize {
        let address = self.abi.heap as usize;
        debug_assert!(address >= self.heap.nursery(), "G1: the heap's top is in no nursery");
        let end = address + words * 8;
        if words > LARGE_WORDS || end > self.heap.nursery_end() {
            return self.allocate_elsewhere(words);
        }
        self.abi.heap = at(end);
        address
    }
    #[cold]
    fn allocate_elsewhere(&mut self, words: usize) -> usize {
        debug_assert!(words <= u32::MAX as usize, "W2: an object of {words} words");
        self.statistics.words_allocated += words as u64;
        if words > LARGE_WORDS {
            let (address, due) = self.heap.spaces.allocate_large(words);
            self.heap.settle_promise(8 * words);
            if due {
                self.wanted.collect();
                self.abi.want_attention();
            }
            return address;
        }
        // The heap pointer stays below the end of the nursery, so it would not tell that the nursery is full.
        self.wanted.collect();
        self.abi.want_attention();
        self.heap.allocate_overflow(words)
    }

    // ---- constructors -----------------------------------------------------------------------------

    /// An integer of any size.
    pub(crate) fn integer(&mut self, value: &BigInt) -> Word {
        if let Some(word) = i64::try_from(value).ok().and_then(Word::int) {
            return word;
        }
        self.big_object(value.sign() == Sign::Minus, value.iter_u64_digits())
    }
    /// A big integer: its sign, and the words of its magnitude, the lowest first.
    fn big_object(&mut self, negative: bool, limbs: impl ExactSizeIterator<Item = u64>) -> Word {
        let address = self.allocate(2 + limbs.len());
        write(address, word::object_header(layout::BIGINT, 1 + limbs.len()));
        write(address + 8, Word::small(if negative { -1 } else { 1 }));
        for (i, limb) in limbs.enumerate() {
            write(address + 16 + 8 * i, raw(limb));
        }
        pointer(Tag::Object, address)
    }
    /// An integer of 128 bits.
    pub(crate) fn wide_integer(&mut self, value: i128) -> Word {
        if let Some(word) = i64::try_from(value).ok().and_then(Word::int) {
            return word;
        }
        let magnitude = value.unsigned_abs();
        let limbs = [magnitude as u64, (magnitude >> 64) as u64];
        let count = if limbs[1] == 0 { 1 } else { 2 };
        self.big_object(value < 0, limbs.into_iter().take(count))
    }
    /// An integer that may exceed a word's 61 bits.
    pub(crate) fn int(&mut self, value: i64) -> Word {
        match Word::int(value) {
            Some(word) => word,
            None => self.integer(&BigInt::from(value)),
        }
    }
    /// A float.
    pub(crate) fn float(&mut self, value: f64) -> Word {
        let address = self.allocate(2);
        write(address, word::object_header(layout::FLOAT, 1));
        write(address + 8, raw(value.to_bits()));
        pointer(Tag::Object, address)
    }
    /// `[car|cdr]`.
    pub(crate) fn cons(&mut self, car: Word, cdr: Word) -> Word {
        debug_assert!(is_content(car) && is_content(cdr), "W3: [{car:?}|{cdr:?}]");
        let address = self.allocate(2);
        write(address, car);
        write(address + 8, cdr);
        pointer(Tag::Cons, address)
    }
    /// A list of `items` that ends with `tail`.
    pub(crate) fn list(&mut self, items: &[Word], tail: Word) -> Word {
        items.iter().rev().fold(tail, |tail, &item| self.cons(item, tail))
    }
    /// A structure (a cons for `'.'/2`, an atom without arguments).
    pub(crate) fn structure(&mut self, name: Atom, args: &[Word]) -> Word {
        if args.is_empty() {
            return Word::atom(name);
        }
        if name == term::symbol::DOT && args.len() == 2 {
            return self.cons(args[0], args[1]);
        }
        debug_assert!(args.len() <= word::STRUCT_ARITY_MAX as usize, "W2: {} arguments", args.len());
        debug_assert!(args.iter().all(|&arg| is_content(arg)), "W3: {args:?}");
        let address = self.allocate(1 + args.len());
        write(address, word::functor_header(name, args.len() as u32));
        for (i, &arg) in args.iter().enumerate() {
            write(address + 8 + 8 * i, arg);
        }
        pointer(Tag::Struct, address)
    }
    /// A structure or cons with another argument (by position, from 0) and otherwise those of `term`, which has
    /// `arity` of them.
    pub(crate) fn copy_with(&mut self, term: Word, arity: usize, position: usize, argument: Word) -> Word {
        let term = deref(term);
        let (tag, before) = (term.tag(), term.address());
        debug_assert!(
            position < arity && is_content(argument),
            "W3: argument {position} of {arity}: {argument:?}"
        );
        let header = usize::from(tag == Tag::Struct);
        let address = self.allocate(header + arity);
        if header == 1 {
            write(address, read(before));
        }
        for i in header..header + arity {
            let value = if i == header + position { argument } else { cell(before + 8 * i) };
            write(address + 8 * i, value);
        }
        pointer(tag, address)
    }
    /// A structure of a name and the first elements of a list, which has them.
    pub(crate) fn structure_of_list(&mut self, name: Atom, arity: usize, list: Word) -> Word {
        let header = usize::from(name != term::symbol::DOT || arity != 2);
        let address = self.allocate(header + arity);
        if header == 1 {
            write(address, word::functor_header(name, arity as u32));
        }
        let mut rest = list;
        for i in header..header + arity {
            debug_assert!(deref(rest).tag() == Tag::Cons, "a list that is too short");
            let cons = deref(rest).address();
            write(address + 8 * i, cell(cons));
            rest = cell(cons + 8);
        }
        pointer(if header == 1 { Tag::Struct } else { Tag::Cons }, address)
    }
    /// A structure of a list of a name and arguments, if that is complete and what is at hand of the nursery is enough;
    /// `None` for a cons or an atom, too.
    #[inline(always)]
    pub(crate) fn structure_at_once(&mut self, list: Word) -> Option<Word> {
        const FEW: usize = 64;
        let list = deref(list);
        if list.tag() != Tag::Cons {
            return None;
        }
        let name = value_at(list.address());
        let address = self.abi.heap as usize;
        let end = self.heap.nursery_end().min(address + 8 * FEW);
        let (mut slot, mut rest) = (address + 8, value_at(list.address() + 8));
        while rest.tag() == Tag::Cons && slot < end {
            let cons = rest.address_behind(Tag::Cons);
            write(slot, cell(cons));
            slot += 8;
            let next = read(cons + 8);
            rest = if next.tag() == Tag::Cons { next } else { value_at(cons + 8) };
        }
        let arity = (slot - address) / 8 - 1;
        if name.tag() != Tag::Atom || rest != Word::NIL || arity == 0 || slot > end {
            return None;
        }
        let name = name.as_atom();
        if name == term::symbol::DOT && arity == 2 {
            return None;
        }
        write(address, word::functor_header(name, arity as u32));
        self.abi.heap = at(slot);
        Some(pointer(Tag::Struct, address))
    }
    /// A new variable in a cell of its own.
    pub(crate) fn new_variable(&mut self) -> Word {
        let address = self.allocate(1);
        write(address, UNBOUND);
        pointer(Tag::Ref, address)
    }
    /// An object of a class whose whole payload is tagged words.
    pub(crate) fn object(&mut self, class: ClassId, payload: &[Word]) -> Word {
        let address = self.allocate(1 + payload.len());
        write(address, word::object_header(class, payload.len()));
        for (i, &word) in payload.iter().enumerate() {
            write(address + 8 + 8 * i, word);
        }
        pointer(Tag::Object, address)
    }
    /// A vector.
    pub(crate) fn vector(&mut self, elements: &[Word]) -> Word {
        let store = self.object(layout::STORE, elements);
        self.handle(layout::VECTOR, store, elements.len())
    }
    /// A vector of this number of zeros.
    pub(crate) fn vector_of_zeros(&mut self, length: usize) -> Word {
        let store = self.allocate(1 + length);
        write(store, word::object_header(layout::STORE, length));
        for i in 1..=length {
            write(store + 8 * i, Word::small(0));
        }
        self.handle(layout::VECTOR, pointer(Tag::Object, store), length)
    }
    /// A string.
    pub(crate) fn string(&mut self, bytes: &[u8]) -> Word {
        let words = bytes.len().div_ceil(8);
        let address = self.allocate(1 + words);
        write(address, word::object_header(layout::BYTES, words));
        for (i, chunk) in bytes.chunks(8).enumerate() {
            let mut padded = [0; 8];
            padded[..chunk.len()].copy_from_slice(chunk);
            write(address + 8 + 8 * i, raw(u64::from_le_bytes(padded)));
        }
        self.handle(layout::STRING, pointer(Tag::Object, address), bytes.len())
    }
    /// A predicate object.
    pub(crate) fn predicate_object(&mut self, predicate: PredicateId) -> Word {
        self.object(layout::PREDICATE, &[Word::small(predicate.0.into())])
    }
    /// A module object.
    pub(crate) fn module_object(&mut self, name: Atom) -> Word {
        self.object(layout::MODULE, &[Word::atom(name)])
    }
    pub(crate) fn handle(&mut self, class: ClassId, store: Word, length: usize) -> Word {
        let of = if class == layout::VECTOR { layout::STORE } else { layout::BYTES };
        debug_assert!(self.class_of(store) == Some(of), "a handle leads to its store");
        self.object(class, &[store, NEWEST, Word::small(length as i64)])
    }

    // ---- readers ----------------------------------------------------------------------------------

    /// Follows references: a value, or a REF to an unbound cell.
    #[inline(always)]
    pub(crate) fn deref(&self, word: Word) -> Word {
        deref(word)
    }
    /// What a term is.
    pub(crate) fn view(&self, word: Word) -> View {
        let word = deref(word);
        match word.tag() {
            Tag::Int => View::Int(word.as_int()),
            Tag::Atom => View::Atom(word.as_atom()),
            Tag::Cons => View::Cons(cell(word.address()), cell(word.address() + 8)),
            Tag::Struct => {
                let header = read(word.address());
                View::Struct(word::header_name(header), word::header_arity(header))
            }
            Tag::Object => View::Object(word::header_class(read(word.address()))),
            Tag::Ref | Tag::Var | Tag::Header => View::Unbound(word),
        }
    }
    /// The class of an object; `None` for anything else.
    pub(crate) fn class_of(&self, word: Word) -> Option<ClassId> {
        let word = deref(word);
        (word.tag() == Tag::Object).then(|| word::header_class(read(word.address())))
    }
    /// Argument `index` (from 0) of a structure or cons. Panics if it has none such.
    pub(crate) fn arg(&self, word: Word, index: usize) -> Word {
        let word = deref(word);
        match word.tag() {
            Tag::Cons if index < 2 => cell(word.address() + 8 * index),
            Tag::Struct if index < word::header_arity(read(word.address())) => {
                cell(word.address() + 8 + 8 * index)
            }
            _ => panic!("argument {index} of a term without it"),
        }
    }
    /// Number of payload words of an object. Panics for anything else.
    pub(crate) fn object_size(&self, word: Word) -> usize {
        word::header_size(read(self.object_address(word)))
    }
    /// Payload word `index` of an object: a value, or raw bits where its class says so.
    pub(crate) fn object_word(&self, word: Word, index: usize) -> Word {
        let address = self.object_address(word);
        assert!(index < word::header_size(read(address)), "object word out of range");
        read(address + 8 + 8 * index)
    }
    /// Overwrites a tagged payload word of an object (of a class with state; values are never overwritten).
    #[cfg(test)]
    pub(crate) fn set_object_word(&mut self, word: Word, index: usize, value: Word) {
        let address = self.object_address(word);
        assert!(index < word::header_size(read(address)), "object word out of range");
        self.store(address + 8 + 8 * index, value);
    }
    /// Replaces the payload word (no address) at an address, of an object with state, if it is still `old`.
    #[inline(always)]
    pub(crate) fn claim_word(&self, address: usize, old: Word, new: Word) -> bool {
        debug_assert!(old.is_immediate() && new.is_immediate(), "G2: nothing remembers what it leads to");
        if self.is_alone() {
            let same = read(address) == old;
            if same {
                write(address, new);
            }
            return same;
        }
        compare_exchange(address, old, new)
    }
    fn object_address(&self, word: Word) -> usize {
        let word = deref(word);
        assert!(word.tag() == Tag::Object, "not an object");
        word.address()
    }
    /// Writes a value into a heap word that may be old, and remembers it for the collector if need be.
    #[inline(always)]
    pub(crate) fn store(&mut self, address: usize, value: Word) {
        debug_assert!(self.heap.spaces.contains(address), "M2: no word of the heap");
        write(address, value);
        self.remember_if_old(address, value);
    }
    /// The write barrier (G2).
    #[inline(always)]
    pub(crate) fn remember_if_old(&mut self, address: usize, value: Word) {
        if !self.heap.is_young(address) && !value.is_immediate() {
            self.heap.remembered.push(address);
        }
    }

    /// The value of an integer term of any size; `None` for anything else.
    pub(crate) fn big(&self, word: Word) -> Option<BigInt> {
        let word = deref(word);
        if word.tag() == Tag::Int {
            return Some(BigInt::from(word.as_int()));
        }
        if self.class_of(word) != Some(layout::BIGINT) {
            return None;
        }
        let address = word.address();
        let sign = if read(address + 8).as_int() < 0 { Sign::Minus } else { Sign::Plus };
        let limbs = word::header_size(read(address)) - 1;
        let digits: Vec<u32> = (0..limbs)
            .map(|i| read(address + 16 + 8 * i).bits())
            .flat_map(|limb| [limb as u32, (limb >> 32) as u32])
            .collect();
        Some(BigInt::from_slice(sign, &digits))
    }
    /// The value of an integer term whose magnitude has 64 bits at most.
    #[inline]
    pub(crate) fn wide(&self, word: Word) -> Option<i128> {
        let word = deref(word);
        if word.tag() == Tag::Int {
            return Some(word.as_int().into());
        }
        if word.tag() != Tag::Object || read(word.address()) != word::object_header(layout::BIGINT, 2) {
            return None;
        }
        let magnitude = i128::from(read(word.address() + 16).bits());
        Some(if read(word.address() + 8).as_int() < 0 { -magnitude } else { magnitude })
    }
    /// The value of an integer term if it fits an `i64`.
    pub(crate) fn small(&self, word: Word) -> Option<i64> {
        let word = deref(word);
        if word.tag() == Tag::Int { Some(word.as_int()) } else { i64::try_from(self.wide(word)?).ok() }
    }
    /// The value of a float; `None` for anything else.
    pub(crate) fn float_value(&self, word: Word) -> Option<f64> {
        let word = deref(word);
        (self.class_of(word)? == layout::FLOAT).then(|| f64::from_bits(read(word.address() + 8).bits()))
    }
    /// The atom; `None` for anything else.
    pub(crate) fn atom_value(&self, word: Word) -> Option<Atom> {
        let word = deref(word);
        (word.tag() == Tag::Atom).then(|| word.as_atom())
    }
    /// The predicate of a predicate object.
    pub(crate) fn predicate_value(&self, word: Word) -> Option<PredicateId> {
        let word = deref(word);
        (self.class_of(word)? == layout::PREDICATE)
            .then(|| PredicateId(read(word.address() + 8).as_int() as u32))
    }
    /// The name in a module object.
    pub(crate) fn module_value(&self, word: Word) -> Option<Atom> {
        let word = deref(word);
        (self.class_of(word)? == layout::MODULE).then(|| read(word.address() + 8).as_atom())
    }
}
