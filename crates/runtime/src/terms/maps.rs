//! Maps from ground terms to any terms, as values: hash tries of structures (CHAMP: Steindorff and Vinju, "Optimizing
//! hash-array mapped tries for fast and lean immutable JVM collections", OOPSLA 2015).
//!
//! A map is `map(Size,Root)`; the root is `[]` or a node. A node of level L is a structure `map(Bits,K,V,..,Node,..)`:
//! of the 16 ways that four bits of a key's hash choose, the lower half of Bits says which have an entry, the upper
//! half which have a node of the next level, in the order of ways. Behind the last level, where hashes are used up,
//! Bits is -1 and entries follow in any order. So maps go to other nodes, are collected and compared as any structure
//! is.
//!
//! Invariants:
//! - J4 Equal maps have equal structures, but for the order of entries behind the last level: no node but the root has
//!   a single entry and nothing else.
//! - J5 A structure is used as a node only after its Bits were compared with its arity: a program may make any
//!   structure.
//! - J6 A key has the same hash in every node and process: atoms and predicates count by their texts. Integers have
//!   different hashes. Those of other keys are by SipHash, so that whoever chooses keys cannot easily make them
//!   collide.
//! - J7 A node is changed in place only if it was made since [`Edit::begin`], so nobody else has seen it.

use crate::memory::ranges::{pointer, read, write};
use crate::reports::outcome::{ErrorKind, ProgramError};
use crate::terms::walk::Stack;
use crate::terms::{View, cell, deref};
use crate::worker::Worker;
use crate::worker::native::Outcome;
use base::mixed;
use smallvec::SmallVec;
use std::hash::{DefaultHasher, Hash, Hasher};
use term::layout::{BIGINT, FLOAT, MODULE, PREDICATE, STRING, VECTOR};
use term::word::{self, Tag};
use term::{Atom, Word};

/// Bits of a hash that choose a way.
const WAY_BITS: u32 = 4;
/// Levels until a hash is used up.
const LEVELS: u32 = u64::BITS / WAY_BITS;
/// Parts of a key, at most: an infinite term is no key.
const KEY_PARTS_MAX: usize = 1 << 24;
/// Words that one change makes, at most, but for entries behind the last level.
pub(crate) const CHANGE_WORDS: usize = (LEVELS as usize + 1) * 36;

/// A node's arguments that fit without memory of their own.
type Arguments = SmallVec<[Word; 36]>;

/// A map that was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Map {
    pub(crate) size: i64,
    root: Word,
    name: Atom,
}

/// A map that is changed several times: what is made on the way is changed in place (J7).
#[derive(Debug)]
pub(crate) struct Edit {
    pub(crate) map: Map,
    /// Where the first structure made by it lies.
    start: usize,
}

/// A node of a level above the last.
#[derive(Clone, Copy)]
struct Node {
    address: usize,
    entries: u32,
    nodes: u32,
}

/// What a way of a node leads to: the index of an argument, counted from 1.
enum Way {
    Entry(usize),
    Node(usize),
    /// Nothing; an entry would stand there.
    Free(usize),
}

impl Node {
    fn way(&self, hash: u64, level: u32) -> (Way, u32) {
        debug_assert!(level < LEVELS, "J5: a node behind the last level has no ways");
        let bit = 1 << (hash >> (WAY_BITS * level) & 15);
        let before = |bits: u32| (bits & (bit - 1)).count_ones() as usize;
        let way = if self.nodes & bit != 0 {
            Way::Node(self.first_node() + before(self.nodes))
        } else if self.entries & bit != 0 {
            Way::Entry(2 + 2 * before(self.entries))
        } else {
            Way::Free(2 + 2 * before(self.entries))
        };
        (way, bit)
    }
    fn first_node(&self) -> usize {
        2 + 2 * self.entries.count_ones() as usize
    }
    fn arity(&self) -> usize {
        self.first_node() - 1 + self.nodes.count_ones() as usize
    }
    /// Its arguments between two indices.
    fn arguments(&self, from: usize, to: usize) -> impl Iterator<Item = Word> + use<> {
        let address = self.address;
        (from..to).map(move |index| cell(address + 8 * index))
    }
    fn bits(&self) -> Word {
        Word::small(i64::from(self.entries | self.nodes << 16))
    }
    /// What is left of a node that is no root: a single entry.
    fn is_single(&self) -> bool {
        self.nodes == 0 && self.entries.count_ones() == 1
    }
}

/// What a structure is that looks like a map, and is none.
pub(crate) fn no_map() -> Outcome {
    let message = "argument must be a map, and this structure is none";
    Outcome::Error(ProgramError::new(ErrorKind::ArgumentType, message))
}

fn valued(word: Word) -> Result<Word, Outcome> {
    let word = deref(word);
    if word.tag() == Tag::Ref { Err(Outcome::Wait(word)) } else { Ok(word) }
}

impl Worker {
    /// A map; `None` for what is none, at its top.
    pub(crate) fn map(&self, word: Word) -> Result<Option<Map>, Outcome> {
        let word = valued(word)?;
        if word.tag() != Tag::Struct {
            return Ok(None);
        }
        let header = read(word.address());
        let (name, arity) = (word::header_name(header), word::header_arity(header));
        if arity != 2 || name != term::symbol::MAP {
            return Ok(None);
        }
        let (size, root) = (valued(cell(word.address() + 8))?, valued(cell(word.address() + 16))?);
        let is_map = size.tag() == Tag::Int && (root == Word::NIL || root.tag() == Tag::Struct);
        Ok(is_map.then(|| Map { size: size.as_int(), root, name }))
    }
    /// The term that is this map.
    pub(crate) fn map_term(&mut self, map: &Map) -> Word {
        self.structure(map.name, &[Word::small(map.size), map.root])
    }

    // ---- hashes ----------------------------------------------------------------------------------------

    /// A key's hash (J6), once the key is ground.
    pub(crate) fn key_hash(&self, key: Word) -> Result<u64, Outcome> {
        let key = valued(key)?;
        if key.tag() == Tag::Int {
            return Ok(mixed(key.as_int() as u64));
        }
        let mut hasher = DefaultHasher::new();
        if self.class_of(key) == Some(STRING) {
            self.hash_string(key, &mut hasher);
        } else {
            self.hash_parts(key, &mut hasher)?;
        }
        Ok(hasher.finish())
    }
    fn hash_string(&self, string: Word, hasher: &mut DefaultHasher) {
        let length = self.string_length(string).unwrap_or(0);
        self.with_string_piece(string, 0..length, |bytes| hasher.write(bytes));
    }
    fn hash_parts(&self, key: Word, hasher: &mut DefaultHasher) -> Result<(), Outcome> {
        let (mut stack, mut parts) = (Stack::new(), 0);
        stack.push(key);
        while let Some(part) = stack.pop(self)? {
            parts += 1;
            if parts > KEY_PARTS_MAX {
                let message = format!("a key of a map has more than {KEY_PARTS_MAX} parts");
                return Err(Outcome::Error(ProgramError::new(ErrorKind::Range, message)));
            }
            let text = |atom: Atom, hasher: &mut DefaultHasher| self.atoms.text(atom).hash(hasher);
            match self.view(part) {
                View::Unbound(variable) => return Err(Outcome::Wait(variable)),
                View::Int(value) => (0u8, value).hash(hasher),
                View::Atom(atom) => {
                    hasher.write_u8(1);
                    text(atom, hasher);
                }
                View::Cons(car, cdr) => {
                    hasher.write_u8(2);
                    stack.extend([cdr, car]);
                }
                View::Struct(name, arity) => {
                    (3u8, arity).hash(hasher);
                    text(name, hasher);
                    stack.extend((0..arity).rev().map(|index| self.arg(part, index)));
                }
                View::Object(STRING) => {
                    (4u8, self.string_length(part)).hash(hasher);
                    self.hash_string(part, hasher);
                }
                // Zeros are equal, whatever their sign.
                View::Object(FLOAT) => {
                    (5u8, self.float_value(part).map(|value| (value + 0.0).to_bits())).hash(hasher);
                }
                View::Object(BIGINT) => (6u8, self.big(part)).hash(hasher),
                View::Object(VECTOR) => {
                    let elements = self.vector_elements(part).unwrap_or_default();
                    (7u8, elements.len()).hash(hasher);
                    stack.extend(elements.into_iter().rev());
                }
                View::Object(MODULE) => {
                    hasher.write_u8(8);
                    self.module_value(part).into_iter().for_each(|name| text(name, hasher));
                }
                View::Object(PREDICATE) => {
                    hasher.write_u8(9);
                    if let Some(id) = self.predicate_value(part) {
                        let info = self.predicates.get(id);
                        text(info.module, hasher);
                        text(info.name, hasher);
                        info.arity.hash(hasher);
                    }
                }
                View::Object(class) => (10u8, class.0).hash(hasher),
            }
        }
        Ok(())
    }
    /// Waits for a key that is still at another node: a map's own, too.
    fn same_key(&mut self, a: Word, b: Word) -> Result<bool, Outcome> {
        let (a, b) = (valued(a)?, valued(b)?);
        if a == b {
            return Ok(true);
        }
        if a.tag() != b.tag() || matches!(a.tag(), Tag::Int | Tag::Atom) {
            return Ok(false);
        }
        if let Some(equal) = (a.tag() == Tag::Object).then(|| self.equal_newest(a, b)).flatten() {
            return Ok(equal);
        }
        match self.equal_terms(a, b) {
            Outcome::Done => Ok(true),
            Outcome::No => Ok(false),
            other => Err(other),
        }
    }

    // ---- nodes -----------------------------------------------------------------------------------------

    /// A node above the last level (J5).
    fn map_node(&self, word: Word) -> Result<Node, Outcome> {
        let word = valued(word)?;
        if word.tag() == Tag::Struct {
            let address = word.address();
            let bits = deref(cell(address + 8));
            if bits.tag() == Tag::Int && u32::try_from(bits.as_int()).is_ok() {
                let bits = bits.as_int() as u32;
                let node = Node { address, entries: bits & 0xffff, nodes: bits >> 16 };
                if node.arity() == word::header_arity(read(address)) && node.entries & node.nodes == 0 {
                    return Ok(node);
                }
            }
        }
        Err(no_map())
    }
    /// A node behind the last level: its address and its number of arguments (J5).
    fn last_node(&self, word: Word) -> Result<(usize, usize), Outcome> {
        let word = valued(word)?;
        if word.tag() == Tag::Struct {
            let arity = word::header_arity(read(word.address()));
            if arity % 2 == 1 && deref(cell(word.address() + 8)) == Word::small(-1) {
                return Ok((word.address(), arity));
            }
        }
        Err(no_map())
    }
    /// The index of the argument that is this key, of a node behind the last level.
    fn place_in_last(&mut self, address: usize, arity: usize, key: Word) -> Result<Option<usize>, Outcome> {
        for index in (2..=arity).step_by(2) {
            if self.same_key(cell(address + 8 * index), key)? {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    /// The value of a key.
    pub(crate) fn map_find(&mut self, map: &Map, key: Word) -> Result<Option<Word>, Outcome> {
        let hash = self.key_hash(key)?;
        let mut at = map.root;
        if at == Word::NIL {
            return Ok(None);
        }
        for level in 0..LEVELS {
            let node = self.map_node(at)?;
            match node.way(hash, level).0 {
                Way::Node(index) => at = cell(node.address + 8 * index),
                Way::Entry(index) => {
                    let same = self.same_key(cell(node.address + 8 * index), key)?;
                    return Ok(same.then(|| cell(node.address + 8 * index + 8)));
                }
                Way::Free(_) => return Ok(None),
            }
        }
        let (address, arity) = self.last_node(at)?;
        let place = self.place_in_last(address, arity, key)?;
        Ok(place.map(|index| cell(address + 8 * index + 8)))
    }

    /// All keys and values, in the order of hashes.
    pub(crate) fn map_pairs(&self, map: &Map) -> Result<Vec<(Word, Word)>, Outcome> {
        let (mut pairs, mut stack) = (Stack::new(), Stack::new());
        if map.root != Word::NIL {
            stack.push((map.root, 0));
        }
        while let Some((word, level)) = stack.pop(self)? {
            let (address, first_node, arity) = if level == LEVELS {
                let (address, arity) = self.last_node(word)?;
                (address, arity + 1, arity)
            } else {
                let node = self.map_node(word)?;
                (node.address, node.first_node(), node.arity())
            };
            for index in (2..first_node).step_by(2) {
                pairs.count(self)?;
                pairs.push((cell(address + 8 * index), cell(address + 8 * index + 8)));
            }
            stack.extend((first_node..=arity).rev().map(|index| (cell(address + 8 * index), level + 1)));
        }
        Ok(pairs.into_items())
    }
}

/// Nodes from the root on, each with the index of the argument that leads to the next.
type Path = SmallVec<[(Word, usize, usize); LEVELS as usize]>;

impl Edit {
    /// Changes of a map.
    pub(crate) fn begin(worker: &Worker, map: Map) -> Edit {
        Edit { map, start: worker.abi.heap as usize }
    }
    /// Whether a structure was made since (J7): the heap pointer rises, and what does not fit lies elsewhere.
    fn is_own(&self, worker: &Worker, address: usize) -> bool {
        (self.start..worker.abi.heap as usize).contains(&address)
    }
    fn set(&self, worker: &mut Worker, node: Word, arity: usize, index: usize, value: Word) -> Word {
        debug_assert!((1..=arity).contains(&index), "J5: argument {index} of {arity}");
        if self.is_own(worker, node.address()) {
            write(node.address() + 8 * index, value);
            return node;
        }
        worker.copy_with(node, arity, index - 1, value)
    }
    fn make(&self, worker: &mut Worker, arguments: &[Word]) -> Word {
        debug_assert!(arguments.len() > 1, "J4: a node without entries and nodes");
        worker.structure(self.map.name, arguments)
    }
    /// Replaces, from the bottom to the root, what a path leads to.
    fn close(&mut self, worker: &mut Worker, path: Path, mut changed: Word) {
        for (node, arity, index) in path.into_iter().rev() {
            if deref(cell(node.address() + 8 * index)) == changed {
                return;
            }
            changed = self.set(worker, node, arity, index, changed);
        }
        self.map.root = changed;
    }

    /// Gives a key the value that `value` makes of the one that it has; after an error the map is as it was. The caller
    /// ensures [`CHANGE_WORDS`].
    pub(crate) fn put(
        &mut self,
        worker: &mut Worker,
        key: Word,
        value: impl FnOnce(&mut Worker, Option<Word>) -> Result<Word, Outcome>,
    ) -> Result<(), Outcome> {
        let hash = worker.key_hash(key)?;
        let (mut at, mut path) = (self.map.root, Path::new());
        if at == Word::NIL {
            let value = value(worker, None)?;
            let bit = 1 << (hash & 15);
            self.map.root = self.make(worker, &[Word::small(bit), key, value]);
            self.map.size = 1;
            return Ok(());
        }
        for level in 0..LEVELS {
            let node = worker.map_node(at)?;
            let this = pointer(Tag::Struct, node.address);
            let (way, bit) = node.way(hash, level);
            let made = match way {
                Way::Node(index) => {
                    path.push((this, node.arity(), index));
                    at = cell(node.address + 8 * index);
                    continue;
                }
                Way::Entry(index) => {
                    let [other, before] = [0, 8].map(|more| cell(node.address + 8 * index + more));
                    if worker.same_key(other, key)? {
                        let value = value(worker, Some(before))?;
                        self.set(worker, this, node.arity(), index + 1, value)
                    } else {
                        let other = (worker.key_hash(other)?, other, before);
                        let value = value(worker, None)?;
                        self.map.size += 1;
                        let below = self.fork(worker, level + 1, other, (hash, key, value));
                        self.with_node(worker, node, index, bit, below)
                    }
                }
                Way::Free(index) => {
                    let value = value(worker, None)?;
                    self.map.size += 1;
                    let arity = node.arity();
                    let mut arguments = Arguments::new();
                    arguments.push(Node { entries: node.entries | bit, ..node }.bits());
                    arguments.extend(node.arguments(2, index));
                    arguments.extend([key, value]);
                    arguments.extend(node.arguments(index, arity + 1));
                    self.make(worker, &arguments)
                }
            };
            self.close(worker, path, made);
            return Ok(());
        }
        let (address, arity) = worker.last_node(at)?;
        let this = pointer(Tag::Struct, address);
        let made = match worker.place_in_last(address, arity, key)? {
            Some(index) => {
                let value = value(worker, Some(cell(address + 8 * index + 8)))?;
                self.set(worker, this, arity, index + 1, value)
            }
            None => {
                worker.ensure(arity + 3)?;
                let value = value(worker, None)?;
                self.map.size += 1;
                let mut arguments: Arguments = (1..=arity).map(|index| cell(address + 8 * index)).collect();
                arguments.extend([key, value]);
                self.make(worker, &arguments)
            }
        };
        self.close(worker, path, made);
        Ok(())
    }
    /// A node in which the entry at an index has become a node.
    fn with_node(&self, worker: &mut Worker, node: Node, index: usize, bit: u32, below: Word) -> Word {
        let node = Node { entries: node.entries ^ bit, nodes: node.nodes | bit, ..node };
        let nodes_before = (node.nodes & (bit - 1)).count_ones() as usize;
        // Two arguments more were entries.
        let (first, place) = (node.first_node() + 2, node.first_node() + 2 + nodes_before);
        let mut arguments = Arguments::from_slice(&[node.bits()]);
        arguments.extend(node.arguments(2, index));
        arguments.extend(node.arguments(index + 2, first));
        arguments.extend(node.arguments(first, place));
        arguments.push(below);
        arguments.extend(node.arguments(place, node.arity() + 2));
        self.make(worker, &arguments)
    }
    /// A node of this level with two entries, whose keys differ.
    fn fork(&self, worker: &mut Worker, level: u32, a: (u64, Word, Word), b: (u64, Word, Word)) -> Word {
        let way = |hash: u64, level: u32| hash >> (WAY_BITS * level) & 15;
        let apart = (level..LEVELS).find(|&level| way(a.0, level) != way(b.0, level));
        let mut node = match apart {
            Some(level) => {
                let (way_a, way_b) = (way(a.0, level), way(b.0, level));
                let bits = Word::small(1 << way_a | 1 << way_b);
                let (a, b) = if way_a < way_b { (a, b) } else { (b, a) };
                self.make(worker, &[bits, a.1, a.2, b.1, b.2])
            }
            None => self.make(worker, &[Word::small(-1), a.1, a.2, b.1, b.2]),
        };
        for level in (level..apart.unwrap_or(LEVELS)).rev() {
            node = self.make(worker, &[Word::small(1 << (16 + way(a.0, level))), node]);
        }
        node
    }

    /// Takes a key out, if it is there. The caller ensures [`CHANGE_WORDS`].
    pub(crate) fn remove(&mut self, worker: &mut Worker, key: Word) -> Result<(), Outcome> {
        let hash = worker.key_hash(key)?;
        let (mut at, mut path) = (self.map.root, SmallVec::<[Node; LEVELS as usize]>::new());
        if at == Word::NIL {
            return Ok(());
        }
        let mut left = loop {
            if path.len() == LEVELS as usize {
                let (address, arity) = worker.last_node(at)?;
                let Some(place) = worker.place_in_last(address, arity, key)? else { return Ok(()) };
                worker.ensure(arity)?;
                let rest = (1..=arity).filter(|&index| index != place && index != place + 1);
                let arguments: Arguments = rest.map(|index| cell(address + 8 * index)).collect();
                break arguments;
            }
            let node = worker.map_node(at)?;
            let (way, bit) = node.way(hash, path.len() as u32);
            match way {
                Way::Free(_) => return Ok(()),
                Way::Node(index) => {
                    path.push(node);
                    at = cell(node.address + 8 * index);
                }
                Way::Entry(index) => {
                    if !worker.same_key(cell(node.address + 8 * index), key)? {
                        return Ok(());
                    }
                    let mut arguments = Arguments::new();
                    arguments.push(Node { entries: node.entries ^ bit, ..node }.bits());
                    arguments.extend(node.arguments(2, index));
                    arguments.extend(node.arguments(index + 2, node.arity() + 1));
                    break arguments;
                }
            }
        };
        self.map.size -= 1;
        while let Some(node) = path.pop() {
            left = self.with_rest(worker, node, hash, path.len() as u32, &left);
        }
        let is_empty = left.len() == 1;
        self.map.root = if is_empty { Word::NIL } else { self.make(worker, &left) };
        Ok(())
    }
    /// The arguments of a node with what is left below, which becomes an entry if it is a single one (J4).
    fn with_rest(&self, worker: &mut Worker, node: Node, hash: u64, level: u32, below: &[Word]) -> Arguments {
        let (way, bit) = node.way(hash, level);
        let Way::Node(place) = way else { unreachable!("the path went through a node") };
        let bits = deref(below[0]).as_int();
        let is_last = bits == -1;
        let single = below.len() == 3
            && (is_last
                || u32::try_from(bits).is_ok_and(|bits| {
                    Node { address: 0, entries: bits & 0xffff, nodes: bits >> 16 }.is_single()
                }));
        let mut arguments = Arguments::new();
        if !single {
            let changed = self.make(worker, below);
            arguments.push(node.bits());
            arguments.extend(node.arguments(2, place));
            arguments.push(changed);
            arguments.extend(node.arguments(place + 1, node.arity() + 1));
            return arguments;
        }
        let entry = 2 + 2 * (node.entries & (bit - 1)).count_ones() as usize;
        arguments.push(Node { entries: node.entries | bit, nodes: node.nodes ^ bit, ..node }.bits());
        arguments.extend(node.arguments(2, entry));
        arguments.extend([below[1], below[2]]);
        arguments.extend(node.arguments(entry, place));
        arguments.extend(node.arguments(place + 1, node.arity() + 1));
        arguments
    }
}
