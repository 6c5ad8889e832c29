//! Constants of programs: ground terms outside the heap, which live as long as the node and are never moved or changed.
//!
//! Invariant: nothing in a constant leads into the heap, so the collector never looks at it. Vectors and strings are
//! *literals* (`term::layout`): an update copies them first.

use crate::memory::ranges::{Range, pointer, raw, write};
use num_bigint::Sign;
use std::sync::Arc;
use term::constant::Constant;
use term::layout::{self, ClassId};
use term::word::{self, Tag};
use term::{Word, symbol};

const CHUNK_WORDS: usize = 8192;

/// All constants of a node.
#[derive(Default)]
pub(crate) struct Constants {
    table: Vec<Word>,
    /// Memory of the terms; chunks never move.
    chunks: Vec<Box<[u64]>>,
    next: usize,
    end: usize,
}

impl Constants {
    /// Adds a constant under the next number.
    pub(crate) fn add(&mut self, constant: &Constant) {
        let word = self.make(constant);
        self.table.push(word);
    }
    /// Number of constants.
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }
    /// Where they lie.
    pub(crate) fn ranges(&self) -> Arc<[Range]> {
        let starts = self.chunks.iter().map(|chunk| (chunk.as_ptr().addr(), 8 * chunk.len()));
        starts.map(|(start, bytes)| Range { start, end: start + bytes }).collect()
    }
    /// The words of the constants, by number; valid until one is added.
    pub(crate) fn table(&self) -> *const Word {
        self.table.as_ptr()
    }
    /// Makes a term. Recursion is bounded by the nesting of program text.
    pub(crate) fn make(&mut self, constant: &Constant) -> Word {
        match constant {
            Constant::Int(value) => Word::int(*value).expect("the compiler makes other integers big"),
            Constant::Atom(atom) => Word::atom(*atom),
            Constant::BigInt(value) => {
                let limbs: Vec<u64> = value.iter_u64_digits().collect();
                let sign = Word::small(if value.sign() == Sign::Minus { -1 } else { 1 });
                let words: Vec<Word> = std::iter::once(sign).chain(limbs.into_iter().map(raw)).collect();
                self.object(layout::BIGINT, &words)
            }
            Constant::Float(value) => self.object(layout::FLOAT, &[raw(value.to_bits())]),
            Constant::String(bytes) => {
                let words: Vec<Word> = bytes.chunks(8).map(padded).collect();
                let store = self.object(layout::BYTES, &words);
                self.handle(layout::STRING, store, bytes.len())
            }
            Constant::List(items, tail) => {
                let mut list = self.make(tail);
                for item in items.iter().rev() {
                    let car = self.make(item);
                    let address = self.allocate(2);
                    write(address, car);
                    write(address + 8, list);
                    list = pointer(Tag::Cons, address);
                }
                list
            }
            Constant::Struct(name, args) if *name == symbol::DOT && args.len() == 2 => {
                self.make(&Constant::List(vec![args[0].clone()], Box::new(args[1].clone())))
            }
            Constant::Struct(name, args) => {
                let words: Vec<Word> = args.iter().map(|arg| self.make(arg)).collect();
                let address = self.allocate(1 + words.len());
                write(address, word::functor_header(*name, words.len() as u32));
                write_all(address + 8, &words);
                pointer(Tag::Struct, address)
            }
            Constant::Vector(elements) => {
                let words: Vec<Word> = elements.iter().map(|element| self.make(element)).collect();
                let store = self.object(layout::STORE, &words);
                self.handle(layout::VECTOR, store, words.len())
            }
            Constant::Predicate(id) => self.object(layout::PREDICATE, &[Word::small(id.0.into())]),
            Constant::Table(words) => {
                let words: Vec<Word> = words.iter().map(|word| self.make(word)).collect();
                let address = self.allocate(words.len());
                write_all(address, &words);
                pointer(Tag::Int, address)
            }
            Constant::Module(name) => self.object(layout::MODULE, &[Word::atom(*name)]),
        }
    }
    fn handle(&mut self, class: ClassId, store: Word, length: usize) -> Word {
        self.object(class, &[store, layout::LITERAL, Word::small(length as i64)])
    }
    fn object(&mut self, class: ClassId, payload: &[Word]) -> Word {
        let address = self.allocate(1 + payload.len());
        write(address, word::object_header(class, payload.len()));
        write_all(address + 8, payload);
        pointer(Tag::Object, address)
    }
    fn allocate(&mut self, words: usize) -> usize {
        if self.next + 8 * words > self.end {
            let mut chunk = vec![0u64; words.max(CHUNK_WORDS)].into_boxed_slice();
            self.next = chunk.as_mut_ptr().expose_provenance();
            self.end = self.next + 8 * chunk.len();
            self.chunks.push(chunk);
        }
        let address = self.next;
        self.next += 8 * words;
        debug_assert!(self.next <= self.end, "M2: {words} words beyond their chunk");
        address
    }
}

fn write_all(address: usize, words: &[Word]) {
    for (i, &word) in words.iter().enumerate() {
        write(address + 8 * i, word);
    }
}

fn padded(bytes: &[u8]) -> Word {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    raw(u64::from_le_bytes(word))
}
