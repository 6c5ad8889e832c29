//! Terms as words.
//!
//! A term is a token, and the tokens of its parts behind it. A token is a word with a tag in its three low bits, for
//! some with more words:
//!
//! | tag | token | the other bits, from bit 3 on | words behind it |
//! |---|---|---|---|
//! | 0 | integer | 61 bits | |
//! | 1 | atom | number 32 | |
//! | 2 | list | number of conses 32 | (parts: that many heads, then the tail) |
//! | 3 | structure | arity 24, name 32 | (parts) |
//! | 4 | reference | black 1, root 1, identity 1, weight 6, node 20, entry 32 | root and depth; identity |
//! | 5 | vector | length 32 | (parts) |
//! | 6 | object | kind 5, then 56 bits | as its kind says |
//!
//! Objects: string (0: length in bytes; the bytes), double (1; its bits), big integer (2: sign 1, limbs 32; the
//! limbs), predicate (3: number), module (4: number), atom by its text (5: length; the bytes), structure by its
//! name's text (6: arity 24, length 32; the bytes; parts), module by its name's text (7: length; the bytes). A weight
//! of 0 is none, else it is 2 to the power of one less.
//!
//! [`Tokens::new`] checks all words without recursion: each number of parts is at most the words that remain, so that
//! what a message makes is bounded by its length, whatever the words are.
//!
//! - W2 What a node writes its receivers read: whole terms, whose numbers fit into their bits (W1 of `message`).

use crate::store::StructureId;
use crate::wire::message::{LOG2_MAX, Malformed, NODES_MAX};
use fabric::NodeId;

/// A reference to a term of a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Reference {
    /// Where the term is.
    pub home: NodeId,
    /// Its export there.
    pub entry: u32,
    /// The power of two that its weight is; `None`: no weight.
    pub log2: Option<u8>,
    /// The importer looks for an import of the same export, and notes this one for the next.
    pub black: bool,
    /// The node of the label: where the chain of references that begins here ends.
    pub root: NodeId,
    /// The depth of the label: how many references the chain has at most.
    pub depth: u32,
    /// Of the structure that it leads to.
    pub identity: Option<StructureId>,
}

impl Reference {
    /// The word of a reference of one word is one.
    #[inline]
    fn of_word(word: u64) -> Reference {
        let home = NodeId((word >> NODE_SHIFT) as u32 & (NODES_MAX - 1));
        Reference {
            home,
            entry: (word >> (NODE_SHIFT + NODE_BITS)) as u32,
            log2: ((word >> WEIGHT_SHIFT) as u8 & 63).checked_sub(1),
            black: word & BLACK != 0,
            root: home,
            depth: 1,
            identity: None,
        }
    }
    /// Appends its words.
    #[inline]
    pub(crate) fn write(&self, words: &mut Vec<u64>) {
        let Reference { home, entry, log2, black, root, depth, identity } = *self;
        let rooted = (root, depth) != (home, 1);
        debug_assert!(home.0 < NODES_MAX && root.0 < NODES_MAX, "W2: {self:?}");
        debug_assert!(log2.is_none_or(|log2| log2 <= LOG2_MAX), "W2: {self:?}");
        debug_assert!(!rooted || depth >= 2, "W2: {self:?}");
        let flag = |set: bool, bit: u64| if set { bit } else { 0 };
        words.push(
            REFERENCE
                | flag(black, BLACK)
                | flag(rooted, ROOTED)
                | flag(identity.is_some(), IDENTIFIED)
                | log2.map_or(0, |log2| u64::from(log2) + 1) << WEIGHT_SHIFT
                | u64::from(home.0) << NODE_SHIFT
                | u64::from(entry) << (NODE_SHIFT + NODE_BITS),
        );
        if rooted {
            words.push(u64::from(root.0) | u64::from(depth) << NODE_BITS);
        }
        if let Some(StructureId { node, serial }) = identity {
            debug_assert!(node.0 < NODES_MAX && serial >> SERIAL_BITS == 0, "W2: {identity:?}");
            words.push(u64::from(node.0) | serial << NODE_BITS);
        }
    }
}

/// A name: an atom's number or text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Name<'a> {
    /// All nodes know the number.
    Number(u32),
    /// They may not.
    Text(Packed<'a>),
}

/// Bytes in words, the lowest first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packed<'a> {
    words: &'a [u64],
    length: usize,
}

impl<'a> Packed<'a> {
    /// Bytes, with words for them.
    pub fn new(bytes: &[u8], words: &'a mut Vec<u64>) -> Packed<'a> {
        words.clear();
        words.extend(bytes.chunks(8).map(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(word)
        }));
        Packed { words, length: bytes.len() }
    }
    /// Puts the bytes into an empty buffer.
    pub fn unpack(&self, bytes: &mut Vec<u8>) {
        bytes.clear();
        debug_assert_eq!(self.words.len(), self.length.div_ceil(8), "W2: bytes and their words");
        bytes.extend(self.words.iter().flat_map(|word| word.to_le_bytes()));
        bytes.truncate(self.length);
    }
}

/// One token; parts follow it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Token<'a> {
    /// An integer of 61 bits.
    Int(i64),
    /// An atom.
    Atom(Name<'a>),
    /// This number of heads, then a tail.
    List(usize),
    /// A structure and its arity.
    Struct(Name<'a>, usize),
    /// A vector.
    Vector(usize),
    /// A term that stays where it is.
    Reference(Reference),
    /// A string.
    Bytes(Packed<'a>),
    /// The bits of a double.
    Float(u64),
    /// A big integer: whether it is below zero, and its limbs.
    Big(bool, &'a [u64]),
    /// A predicate.
    Predicate(u32),
    /// A module.
    Module(Name<'a>),
}

impl Token<'_> {
    /// Appends its words. Its parts are to follow.
    pub fn write(&self, words: &mut Vec<u64>) {
        write(words, self);
    }
    /// The word of an integer of 61 bits.
    #[inline]
    pub(crate) fn of_int(value: i64) -> u64 {
        debug_assert!(value << 3 >> 3 == value, "W2: {value} has more than 61 bits");
        (value as u64) << 3 | INT
    }
    /// The word of an atom whose number all nodes know.
    #[inline]
    pub(crate) fn of_atom(number: u32) -> u64 {
        u64::from(number) << 3 | ATOM
    }
    /// The word of a list with this number of heads.
    #[inline]
    pub(crate) fn of_list(heads: usize) -> u64 {
        debug_assert!((1..1 << 32).contains(&heads), "W2: a list with {heads} heads");
        (heads as u64) << 3 | LIST
    }
    /// How many terms follow that are its parts.
    pub fn parts(&self) -> usize {
        match *self {
            Token::List(heads) => heads + 1,
            Token::Struct(_, arity) => arity,
            Token::Vector(length) => length,
            _ => 0,
        }
    }
    /// Words of a heap that it takes at most, without its parts' own.
    fn room(&self) -> usize {
        match *self {
            Token::Int(_) | Token::Atom(_) => 0,
            Token::List(heads) => 2 * heads,
            Token::Struct(_, arity) => 1 + arity,
            Token::Vector(length) => 8 + length,
            Token::Bytes(bytes) => 8 + bytes.words.len(),
            Token::Big(_, limbs) => 2 + limbs.len(),
            Token::Float(_) | Token::Predicate(_) | Token::Module(_) => 2,
            Token::Reference(_) => REFERENCE_ROOM,
        }
    }
}

/// The words of some terms, checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tokens<'a> {
    words: &'a [u64],
    room: usize,
}

impl<'a> Tokens<'a> {
    /// These words, if they are `count` terms and no more, with references to `nodes` nodes.
    pub fn new(words: &'a [u64], count: usize, nodes: u32) -> Result<Tokens<'a>, Malformed> {
        let mut tokens = Tokens { words, room: 0 };
        let (mut rest, mut missing) = (words, count);
        while missing > 0 {
            if let &[first, ref behind @ ..] = rest
                && let Some(room) = plain(first, nodes)
            {
                (rest, missing, tokens.room) = (behind, missing - 1, tokens.room + room);
                if missing > rest.len() {
                    return Err(Malformed("a term without its parts"));
                }
                continue;
            }
            let (token, behind) = read(rest)?;
            if let Token::Reference(Reference { home, root, identity, .. }) = token
                && (home.0 >= nodes || root.0 >= nodes || identity.is_some_and(|id| id.node.0 >= nodes))
            {
                return Err(Malformed("a reference to an unknown node"));
            }
            missing = missing - 1 + token.parts();
            // Every part takes a word at least.
            if missing > behind.len() {
                return Err(Malformed("a term without its parts"));
            }
            tokens.room += token.room();
            rest = behind;
        }
        if rest.is_empty() { Ok(tokens) } else { Err(Malformed("words behind the last term")) }
    }
    /// Words of this node's own, to be sent: nobody has to check them, or asks how much room they take.
    pub(crate) fn own(words: &'a [u64]) -> Tokens<'a> {
        Tokens { words, room: 0 }
    }
    /// Its words.
    pub fn words(&self) -> &'a [u64] {
        self.words
    }
    /// The words of a heap that the terms take at most.
    pub fn room(&self) -> usize {
        self.room
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;
    fn next(&mut self) -> Option<Token<'a>> {
        let (token, rest) = read(self.words).ok()?;
        self.words = rest;
        Some(token)
    }
}

const INT: u64 = 0;
const ATOM: u64 = 1;
const LIST: u64 = 2;
const STRUCT: u64 = 3;
const REFERENCE: u64 = 4;
const VECTOR: u64 = 5;
const OBJECT: u64 = 6;

const BYTES: u64 = 0;
const FLOAT: u64 = 1;
const BIG: u64 = 2;
const PREDICATE: u64 = 3;
const MODULE: u64 = 4;
const NAME: u64 = 5;
const NAMED_STRUCT: u64 = 6;
const NAMED_MODULE: u64 = 7;

/// Words of a heap that a variable and the record of its import take at most.
const REFERENCE_ROOM: usize = 8;

const BLACK: u64 = 1 << 3;
const ROOTED: u64 = 1 << 4;
const IDENTIFIED: u64 = 1 << 5;
const WEIGHT_SHIFT: u32 = 6;
const NODE_SHIFT: u32 = 12;
const NODE_BITS: u32 = NODES_MAX.trailing_zeros();
const ARITY_BITS: u32 = 24;
const SERIAL_BITS: u32 = 40;

fn write(words: &mut Vec<u64>, token: &Token<'_>) {
    let object = |kind: u64, rest: u64| OBJECT | kind << 3 | rest << 8;
    match *token {
        Token::Int(value) => words.push(Token::of_int(value)),
        Token::Atom(Name::Number(number)) => words.push(Token::of_atom(number)),
        Token::Atom(Name::Text(text)) => {
            words.push(object(NAME, text.length as u64));
            words.extend(text.words);
        }
        Token::List(heads) => words.push(Token::of_list(heads)),
        Token::Struct(Name::Number(name), arity) => {
            debug_assert!(arity > 0 && arity >> ARITY_BITS == 0, "W2: {arity} arguments");
            words.push(u64::from(name) << (3 + ARITY_BITS) | (arity as u64) << 3 | STRUCT);
        }
        Token::Struct(Name::Text(text), arity) => {
            words.push(object(NAMED_STRUCT, arity as u64 | (text.length as u64) << ARITY_BITS));
            words.extend(text.words);
        }
        Token::Vector(length) => words.push((length as u64) << 3 | VECTOR),
        Token::Reference(reference) => reference.write(words),
        Token::Bytes(bytes) => {
            words.push(object(BYTES, bytes.length as u64));
            words.extend(bytes.words);
        }
        Token::Float(bits) => words.extend([object(FLOAT, 0), bits]),
        Token::Big(negative, limbs) => {
            words.push(object(BIG, u64::from(negative) | (limbs.len() as u64) << 1));
            words.extend(limbs);
        }
        Token::Predicate(number) => words.push(object(PREDICATE, number.into())),
        Token::Module(Name::Number(number)) => words.push(object(MODULE, number.into())),
        Token::Module(Name::Text(text)) => {
            words.push(object(NAMED_MODULE, text.length as u64));
            words.extend(text.words);
        }
    }
}

/// The words of a heap that a token takes at most, if it is right, has no parts and is this word alone: the usual case.
#[inline]
fn plain(word: u64, nodes: u32) -> Option<usize> {
    match word & 7 {
        INT => Some(0),
        ATOM => (word >> 3 <= u32::MAX.into()).then_some(0),
        REFERENCE => {
            let home = word >> NODE_SHIFT & u64::from(NODES_MAX - 1);
            (word & (ROOTED | IDENTIFIED) == 0 && home < nodes.into()).then_some(REFERENCE_ROOM)
        }
        _ => None,
    }
}

/// The first token, and the words behind it.
#[inline(always)]
fn read(words: &[u64]) -> Result<(Token<'_>, &[u64]), Malformed> {
    // The usual ones, of one word.
    if let &[first, ref rest @ ..] = words {
        if first & 7 == INT {
            return Ok((Token::Int(first as i64 >> 3), rest));
        }
        if first & (7 | ROOTED | IDENTIFIED) == REFERENCE {
            return Ok((Token::Reference(Reference::of_word(first)), rest));
        }
    }
    read_any(words)
}

#[inline(never)]
fn read_any(words: &[u64]) -> Result<(Token<'_>, &[u64]), Malformed> {
    let (&first, rest) = words.split_first().ok_or(Malformed("a term is missing"))?;
    let upper = first >> 3;
    let number = || u32::try_from(upper).map_err(|_| Malformed("a number that is too large"));
    let token = match first & 7 {
        INT => Token::Int(first as i64 >> 3),
        ATOM => Token::Atom(Name::Number(number()?)),
        LIST if upper > 0 => Token::List(number()? as usize),
        STRUCT => {
            let (arity, name) = (upper & ((1 << ARITY_BITS) - 1), upper >> ARITY_BITS);
            let name = u32::try_from(name).map_err(|_| Malformed("a number that is too large"))?;
            if arity == 0 {
                return Err(Malformed("a structure without arguments"));
            }
            Token::Struct(Name::Number(name), arity as usize)
        }
        VECTOR => Token::Vector(number()? as usize),
        REFERENCE => return read_reference(first, rest),
        OBJECT => return read_object(upper & 31, first >> 8, rest),
        _ => return Err(Malformed("an unknown token")),
    };
    Ok((token, rest))
}

fn read_reference(first: u64, mut rest: &[u64]) -> Result<(Token<'_>, &[u64]), Malformed> {
    const NODE_MASK: u64 = (NODES_MAX - 1) as u64;
    let mut word = || -> Result<u64, Malformed> {
        let (&word, behind) = rest.split_first().ok_or(Malformed("half a reference"))?;
        rest = behind;
        Ok(word)
    };
    let node = |word: u64| NodeId((word & NODE_MASK) as u32);
    let mut reference = Reference::of_word(first);
    if first & ROOTED != 0 {
        let label = word()?;
        reference.root = node(label);
        let depth = u32::try_from(label >> NODE_BITS);
        reference.depth = depth.map_err(|_| Malformed("a label that is too deep"))?;
        if reference.depth < 2 {
            return Err(Malformed("a label that is not deep enough"));
        }
    }
    if first & IDENTIFIED != 0 {
        let word = word()?;
        reference.identity = Some(StructureId { node: node(word), serial: word >> NODE_BITS });
        if word >> (NODE_BITS + SERIAL_BITS) != 0 {
            return Err(Malformed("an identity that is too large"));
        }
    }
    Ok((Token::Reference(reference), rest))
}

fn read_object(kind: u64, value: u64, rest: &[u64]) -> Result<(Token<'_>, &[u64]), Malformed> {
    let number = || u32::try_from(value).map_err(|_| Malformed("a number that is too large"));
    let text = |length: u64| {
        let length = usize::try_from(length).map_err(|_| Malformed("too many bytes"))?;
        let (words, rest) =
            rest.split_at_checked(length.div_ceil(8)).ok_or(Malformed("bytes are missing"))?;
        let unused = words.last().map_or(0, |last| last.checked_shr(length as u32 % 8 * 8).unwrap_or(0));
        if length % 8 != 0 && unused != 0 {
            return Err(Malformed("bytes behind the last"));
        }
        Ok((Packed { words, length }, rest))
    };
    Ok(match kind {
        BYTES => {
            let (bytes, rest) = text(value)?;
            (Token::Bytes(bytes), rest)
        }
        FLOAT if value == 0 => {
            let (&bits, rest) = rest.split_first().ok_or(Malformed("half a double"))?;
            (Token::Float(bits), rest)
        }
        BIG => {
            let length = usize::try_from(value >> 1).map_err(|_| Malformed("too many limbs"))?;
            let (limbs, rest) = rest.split_at_checked(length).ok_or(Malformed("limbs are missing"))?;
            let negative = value & 1 == 1;
            if !is_big(negative, limbs) {
                return Err(Malformed("a big integer that is small"));
            }
            (Token::Big(negative, limbs), rest)
        }
        PREDICATE => (Token::Predicate(number()?), rest),
        MODULE => (Token::Module(Name::Number(number()?)), rest),
        NAME => {
            let (text, rest) = text(value)?;
            (Token::Atom(Name::Text(text)), rest)
        }
        NAMED_STRUCT if value & ((1 << ARITY_BITS) - 1) != 0 => {
            let (text, rest) = text(value >> ARITY_BITS)?;
            (Token::Struct(Name::Text(text), (value & ((1 << ARITY_BITS) - 1)) as usize), rest)
        }
        NAMED_MODULE => {
            let (text, rest) = text(value)?;
            (Token::Module(Name::Text(text)), rest)
        }
        _ => return Err(Malformed("an unknown object")),
    })
}

/// Whether a magnitude is normal and needs more than the 61 bits of a small integer.
fn is_big(negative: bool, limbs: &[u64]) -> bool {
    const SMALL: u64 = 1 << 60;
    match *limbs {
        [] | [.., 0] => false,
        [limb] => limb > if negative { SMALL } else { SMALL - 1 },
        _ => true,
    }
}
