//! The export table, and terms as tokens.

use super::cycles::Told;
use super::{Depth, Fault, Post, Protocol, Rule, With};
use crate::store::{ExportId, ImportId, Seen, Store, StructureId};
use crate::wire::message::{Message, Reader};
use crate::wire::tokens::{Name, Packed, Reference, Token, Tokens};
use fabric::NodeId;
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// Structures that are larger get an identity at once (words).
const LARGE: usize = 32;
/// What does not fit into an answer of this number of words (3.6 KB) travels as a reference.
const ANSWER_WORDS: usize = 450;
/// Strings of at most this number of bytes always travel with what they are part of.
const SHORT_BYTES: usize = 32;
/// The largest exponent of a chunk of conses: 256.
pub(super) const CHUNK_MAX: u8 = 8;
/// From this on a chunk is no number of conses or structures: all of the term is wanted, and 2 to the power of what it
/// is more than this times as many words come as an answer has otherwise.
pub(super) const ALL: u8 = CHUNK_MAX + 1;
/// The largest chunk: an answer of 920 KB.
const ALL_MAX: u8 = ALL + 8;
/// Of a term that is wanted whole, or of which the outside is larger, an answer has so many times the words of the
/// outside, if that is more: to make and to release a reference takes longer than to copy a small structure.
const INSIDE: usize = 8;
/// How many depths a read may ask for.
pub const DEPTHS: usize = 4 + ALL_MAX as usize;
/// What is to move (see `cycles`).
pub(super) const WHOLE: u8 = 3 + ALL_MAX;
/// Levels of a structure that moves: of one that has the same parts in many places, few are sent twice.
const WHOLE_LEVELS: u8 = 4;
/// The same of conses, as an exponent, where heads may be what tails are. Where none can be, as many as of any list.
const WHOLE_CHUNK: u8 = 4;

/// Somebody who waits, and how much of the value is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Waiting {
    pub(crate) reader: Reader,
    pub(crate) depth: u8,
}

/// A term that other nodes refer to.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Export {
    /// What is out.
    pub(crate) weight: u128,
    pub(crate) readers: Vec<Waiting>,
    /// Its variable is marked for it, so it will be told; or it has been, and that is queued.
    pub(crate) hooked: bool,
    /// The import that it passes on; none if it was made for a term of this node. All references to an export have
    /// one label, so it is used again for nothing else, even if its variable has become something else.
    made_for: Option<ImportId>,
    /// How far its imports are (see `cycles`); 0 is as 1.
    pub(super) distance: u8,
}

/// The table.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Exports {
    entries: Vec<Option<Export>>,
    free: Vec<u32>,
    /// What makes the distances, of those few of which anything was told.
    pub(super) told: BTreeMap<u32, SmallVec<[Told; 1]>>,
}

/// Of an entry, with its place in the list of free ones.
pub(super) const BYTES: usize = size_of::<Option<Export>>() + 4;
/// Of what was told of one, with its share of the map.
pub(super) const TOLD_BYTES: usize = size_of::<SmallVec<[Told; 1]>>() + 16;

impl Exports {
    pub(crate) fn get(&self, export: ExportId) -> Option<&Export> {
        self.entries.get(export.0 as usize)?.as_ref()
    }
    pub(crate) fn get_mut(&mut self, export: ExportId) -> Option<&mut Export> {
        self.entries.get_mut(export.0 as usize)?.as_mut()
    }
    pub(crate) fn used(&self) -> usize {
        self.entries.len() - self.free.len()
    }
    /// How many were used at one time.
    pub(crate) fn most(&self) -> usize {
        self.entries.len()
    }
    pub(super) fn iter(&self) -> impl Iterator<Item = &Export> {
        self.entries.iter().flatten()
    }
    /// All that are not free.
    pub(crate) fn all(&self) -> impl Iterator<Item = (ExportId, &Export)> {
        let numbered = self.entries.iter().enumerate();
        numbered.filter_map(|(number, entry)| Some((ExportId(number as u32), entry.as_ref()?)))
    }
    pub(super) fn take_readers(&mut self, export: ExportId) -> Vec<Waiting> {
        self.get_mut(export).map(|entry| std::mem::take(&mut entry.readers)).unwrap_or_default()
    }
    fn add(&mut self, weight: u128, made_for: Option<ImportId>) -> ExportId {
        let number = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            u32::try_from(self.entries.len() - 1).expect("fewer than 2^32 exports")
        });
        debug_assert!(weight > 0, "D1: an export is made for a reference to it");
        debug_assert!(self.entries[number as usize].is_none(), "D1: the number of an export that is used");
        self.entries[number as usize] = Some(Export { weight, made_for, ..Export::default() });
        ExportId(number)
    }
    pub(super) fn remove(&mut self, export: ExportId) {
        if let Some(entry) = self.entries[export.0 as usize].take() {
            debug_assert!(entry.weight == 0, "D1: {export:?} is freed, and {} is out", entry.weight);
            self.told.remove(&export.0);
            self.free.push(export.0);
        }
    }
}

/// Where a term goes, and how.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    pub(super) to: NodeId,
    /// In a message of low priority: behind this node's releases so far.
    pub(super) low: bool,
    /// References are looked up and noted.
    pub(super) black: bool,
    /// But for those to variables that no other node knows: it is an argument of a thrown goal.
    pub(super) thrown: bool,
    /// The term moves: each structure that it refers to gets an identity and is noted. So all of it moves once, in
    /// whatever order, also what is a part of itself.
    pub(super) moves: bool,
}

impl Way {
    /// In a message of low priority, with black references.
    pub(super) fn low(to: NodeId) -> Way {
        Way { to, low: true, black: true, thrown: false, moves: false }
    }
}

/// What a `Read` says that it wants.
pub(super) fn depth_byte(depth: Depth, chunk: u8) -> u8 {
    match depth {
        Depth::Off => 0,
        Depth::OneLevel => 1,
        Depth::Adaptive => 2 + chunk.min(ALL_MAX),
    }
}

/// The chunk of what an answer with this chunk leaves out.
pub(super) fn next_chunk(chunk: u8) -> u8 {
    (chunk + 1).min(if chunk < ALL { CHUNK_MAX } else { ALL_MAX })
}

impl Protocol {
    /// Weight comes back to an export.
    pub(super) fn take(&mut self, from: NodeId, export: ExportId, weight: u64) -> Result<(), Fault> {
        let violation = |what| Fault::Violation { from, what };
        let entry = self.exports.get_mut(export).ok_or(violation("a reference to what was released"))?;
        let less = entry.weight.checked_sub(weight.into());
        entry.weight = less.ok_or(violation("more weight than was given"))?;
        Ok(())
    }
}

impl<S: Store, P: Post> With<'_, S, P> {
    /// An entry for a term, with weight for one more reference to it; and whether it had one.
    fn export(
        &mut self,
        value: S::Value,
        known: Option<ExportId>,
        made_for: Option<ImportId>,
    ) -> (ExportId, bool) {
        let weight = 1u128 << self.protocol.options.exponent;
        let value = self.store.follow(value);
        debug_assert!(made_for.is_none_or(|import| self.protocol.imports.get(import).is_some()), "D3");
        if let Some(export) = known
            && let Some(entry) = self.protocol.exports.get_mut(export)
            && entry.made_for == made_for
            && let Some(anchored) = self.store.anchored(export)
            && self.store.follow(anchored) == value
        {
            if entry.weight == 0 {
                self.store.hold(export, true);
            }
            entry.weight += weight;
            self.forget_told(export);
            return (export, true);
        }
        let export = self.protocol.exports.add(weight, made_for);
        self.store.anchor(export, value);
        (export, false)
    }

    /// A reference to a term of this node, which is what was `seen`.
    fn refer(&mut self, value: S::Value, seen: &Seen, way: Way) -> Reference {
        debug_assert!(!matches!(seen, Seen::Import(_)), "D3: its label is not this node's");
        // A variable that was never marked has no export.
        let is_new = *seen == Seen::Variable { marked: false };
        let black = way.black && !(is_new && way.thrown);
        let searches = black && !is_new && self.protocol.rule(Rule::ExportHash);
        let known = if searches { self.store.exported(value) } else { None };
        let (export, again) = self.export(value, known, None);
        let mut identity = None;
        if matches!(seen, Seen::Variable { .. }) {
            self.hook(export, value);
        } else {
            if black && !again {
                self.store.note(value, export, way.moves);
            }
            identity = self.identity(value, seen, again, way.moves);
        }
        let home = self.protocol.options.node;
        let log2 = Some(self.protocol.options.exponent);
        Reference { home, entry: export.0, log2, black, root: home, depth: 1, identity }
    }

    /// The identity of a structure: it gets one if it travels `again`, or is large, or moves.
    fn identity(&mut self, value: S::Value, seen: &Seen, again: bool, moves: bool) -> Option<StructureId> {
        let moves = moves && self.protocol.rule(Rule::Frontier);
        if !self.protocol.options.identities && !moves {
            return None;
        }
        let words = size(seen);
        if words == 0 {
            return None;
        }
        let known = self.store.identity(value);
        if known.is_some() || !(again || moves || words > LARGE) {
            return known;
        }
        let new = StructureId { node: self.protocol.options.node, serial: self.protocol.identity };
        self.protocol.identity = (new.serial + 1) & ((1 << 40) - 1);
        self.store.identify(value, new);
        Some(new)
    }

    /// A reference to a term of another node: a part of the import's weight, or, if it has no more than one, a
    /// reference to the import itself.
    fn pass_on(&mut self, import: ImportId, value: S::Value, way: Way) -> Option<Reference> {
        let [split, wants] = [Rule::Split, Rule::Want].map(|rule| self.protocol.rule(rule));
        let free = self.protocol.rule(Rule::HomeFree);
        let entry = self.protocol.imports.get_mut(import)?;
        let (home, number, root, depth) = (entry.home, entry.entry, entry.root, entry.depth);
        let identity = entry.identity;
        let black = way.black;
        let direct = |log2| Reference { home, entry: number, log2, black, root, depth, identity };
        if way.low && home == way.to && free {
            // It arrives before what releases this import: no weight is needed.
            return Some(direct(None));
        }
        if entry.weight >= 2 && split {
            let log2 = (entry.weight / 16).max(1).ilog2();
            entry.weight -= 1 << log2;
            debug_assert!(entry.weight > 0, "D6: what is given away leaves some");
            return Some(direct(Some(log2 as u8)));
        }
        let (asks, known) = (!std::mem::replace(&mut entry.asked, true), entry.export.filter(|_| black));
        if asks && wants {
            self.send(home, Message::WantWeight { entry: number, import: import.0 });
        }
        let known = known.filter(|_| self.protocol.rule(Rule::IndirectHash));
        let (export, _) = self.export(value, known, Some(import));
        self.protocol.indirect += 1;
        if black && let Some(entry) = self.protocol.imports.get_mut(import) {
            entry.export = Some(export);
        }
        let (home, log2) = (self.protocol.options.node, Some(self.protocol.options.exponent));
        let depth = depth.saturating_add(1);
        Some(Reference { home, entry: export.0, log2, black, root, depth, identity })
    }

    /// Words of this node's own.
    pub(super) fn tokens<'w>(&self, words: &'w [u64], count: usize) -> Tokens<'w> {
        debug_assert!(Tokens::new(words, count, self.protocol.options.nodes).is_ok());
        Tokens::own(words)
    }

    /// Appends a term; `levels` of structures, and references below.
    #[inline]
    pub(super) fn put(&mut self, words: &mut Vec<u64>, value: S::Value, levels: u8, way: Way) {
        match self.store.look(value) {
            Seen::Int(value) => words.push(Token::of_int(value)),
            Seen::Atom(atom) if self.store.text(atom).is_none() => words.push(Token::of_atom(atom)),
            seen @ Seen::Variable { .. } => self.refer(value, &seen, way).write(words),
            _ => self.put_other(words, value, levels, way),
        }
    }

    /// The same, of any term.
    fn put_other(&mut self, words: &mut Vec<u64>, value: S::Value, levels: u8, way: Way) {
        let (mut open, mut first) = (Vec::new(), Some((value, levels, way)));
        while let Some((value, levels, way)) = first.take().or_else(|| open.pop()) {
            // Of what is asked for, the outside comes whatever its size.
            let fits = words.is_empty() || words.len() + size(&self.store.look(value)) <= ANSWER_WORDS;
            let parts = self.put_outside(words, value, levels > 0 && fits, way);
            let way = Way { black: true, thrown: false, ..way };
            let part = |number| (self.store.part(value, number), levels - 1, way);
            open.extend((0..parts).rev().map(part));
        }
    }

    /// Appends a term without its parts if it `copies`, or else as a reference if it is a structure or a long string.
    /// Answers how many parts are to follow.
    pub(super) fn put_outside(
        &mut self,
        words: &mut Vec<u64>,
        value: S::Value,
        copies: bool,
        way: Way,
    ) -> usize {
        let mut scratch = Vec::new();
        let limbs;
        let token = match self.store.look(value) {
            Seen::Int(value) => Token::Int(value),
            Seen::Atom(atom) => Token::Atom(name(self.store, atom, &mut scratch)),
            Seen::Float(bits) => Token::Float(bits),
            Seen::Big => {
                limbs = self.store.limbs(value);
                Token::Big(limbs.0, &limbs.1)
            }
            Seen::Predicate(predicate) => Token::Predicate(predicate),
            Seen::Module(atom) => Token::Module(name(self.store, atom, &mut scratch)),
            Seen::Bytes(length) if copies || length <= SHORT_BYTES => {
                Token::Bytes(Packed::new(&self.store.bytes(value), &mut scratch))
            }
            Seen::List if copies => Token::List(1),
            Seen::Struct { name: atom, arity } if copies => {
                Token::Struct(name(self.store, atom, &mut scratch), arity)
            }
            Seen::Vector(length) if copies => Token::Vector(length),
            Seen::Import(import) => {
                Token::Reference(self.pass_on(import, value, way).expect("an import that is not gone"))
            }
            seen => Token::Reference(self.refer(value, &seen, way)),
        };
        token.write(words);
        token.parts()
    }

    /// Sends a value to what reads it; `depth` as in [`Message::Read`].
    pub fn answer(&mut self, value: S::Value, reader: Reader, depth: u8) {
        let way = Way { low: false, moves: depth == WHOLE, ..Way::low(reader.node) };
        let mut words = self.protocol.buffer();
        match (depth.checked_sub(2), self.store.look(value)) {
            (_, Seen::List) if depth == WHOLE => {
                let chunk = if self.has_plain_heads(value) { CHUNK_MAX } else { WHOLE_CHUNK };
                self.put_chunk(&mut words, value, chunk, way);
            }
            _ if depth == WHOLE => self.put(&mut words, value, WHOLE_LEVELS, way),
            (Some(chunk), _) => self.put_share(&mut words, value, chunk, way),
            (None, _) => self.put(&mut words, value, 1 + depth, way),
        }
        let value = self.tokens(&words, 1);
        // Its receiver takes it for a violation: nothing may be bound to a reference by an answer (D3).
        debug_assert!(!matches!({ value }.next(), Some(Token::Reference(_))), "D4: no answer is a reference");
        self.send(reader.node, Message::Answer { reader, value });
        self.protocol.buffer = words;
    }

    /// Whether the first conses of a list have heads that are no lists, structures or vectors.
    fn has_plain_heads(&self, mut list: S::Value) -> bool {
        let mut left = 1 << CHUNK_MAX;
        while left > 0 && self.store.look(list) == Seen::List {
            let head = self.store.look(self.store.part(list, 0));
            if matches!(head, Seen::List | Seen::Struct { .. } | Seen::Vector(_)) {
                return false;
            }
            (left, list) = (left - 1, self.store.part(list, 1));
        }
        true
    }

    /// Appends as much of a term as somebody wants who asks for this chunk.
    pub(super) fn put_share(&mut self, words: &mut Vec<u64>, value: S::Value, chunk: u8, way: Way) {
        match self.store.look(value) {
            Seen::List if chunk < ALL => self.put_chunk(words, value, chunk, way),
            _ => self.put_inside(words, value, chunk, way),
        }
    }
    /// The same: of a list, too, as much of its heads as of its tail.
    pub(super) fn put_inside(&mut self, words: &mut Vec<u64>, value: S::Value, chunk: u8, way: Way) {
        let size = match self.store.look(value) {
            _ if self.protocol.options.depth != Depth::Adaptive => 0,
            seen @ (Seen::List | Seen::Struct { .. } | Seen::Vector(_)) => size(&seen),
            _ => 0,
        };
        if size <= ANSWER_WORDS && chunk == 0 || size == 0 {
            return self.put(words, value, 1, way);
        }
        let share = if size <= ANSWER_WORDS && chunk < ALL {
            Share { structures: 1 << chunk, words: ANSWER_WORDS }
        } else {
            let most = ANSWER_WORDS << chunk.saturating_sub(ALL);
            Share { structures: usize::MAX, words: most.max(INSIDE * size) }
        };
        self.put_levels(words, value, share, way);
    }

    /// Appends the first 2^chunk conses of a list, or as many as fit into an answer, and the rest as a reference.
    fn put_chunk(&mut self, words: &mut Vec<u64>, list: S::Value, chunk: u8, way: Way) {
        let (first, mut count, mut tail) = (words.len(), 0, list);
        Token::List(1).write(words);
        while count < 1 << chunk.min(CHUNK_MAX) && self.store.look(tail) == Seen::List {
            // A list that is read whole has heads that are, too; a first cons may be all that is read.
            let head = self.store.part(tail, 0);
            let size = size(&self.store.look(head));
            if count > 0 && size < ANSWER_WORDS && words.len() + 1 + size > ANSWER_WORDS {
                // The next answer brings it: a reference would be read by a message of its own.
                break;
            }
            self.put(words, head, u8::from(chunk > 0), way);
            (count, tail) = (count + 1, self.store.part(tail, 1));
        }
        debug_assert!(count > 0, "W2: what is no list is sent as one");
        words[first] = Token::of_list(count);
        // Whoever reads a list goes on with its tail, and hardly anybody else has it.
        let black = self.protocol.options.black || way.moves || !self.protocol.rule(Rule::White);
        self.put(words, tail, 0, Way { black, ..way });
    }
}

/// How much of a term an answer brings at most.
pub(super) struct Share {
    pub(super) structures: usize,
    pub(super) words: usize,
}

/// The words of a structure or string without its parts' own; 0 of all others.
pub(super) fn size(seen: &Seen) -> usize {
    match *seen {
        Seen::List => 2,
        Seen::Struct { arity, .. } => 1 + arity,
        Seen::Vector(length) => 1 + length,
        Seen::Bytes(length) => 1 + length / 8,
        _ => 0,
    }
}

/// An atom's number, or its text if other nodes may not know the number.
fn name<'a, S: Store>(store: &S, atom: u32, scratch: &'a mut Vec<u64>) -> Name<'a> {
    match store.text(atom) {
        Some(text) => Name::Text(Packed::new(text, scratch)),
        None => Name::Number(atom),
    }
}
