//! The 64-bit word: a 3-bit tag in the low bits, and the headers of structures and objects.
//!
//! | tag | name   | the other 61 bits                                                        |
//! |----:|--------|--------------------------------------------------------------------------|
//! | 0   | INT    | a 61-bit two's complement integer (so `+ - <` work on tagged words)      |
//! | 1   | REF    | address of a variable cell                                               |
//! | 2   | CONS   | address of two words: car, cdr                                           |
//! | 3   | STRUCT | address of a functor header followed by the arguments                    |
//! | 4   | OBJECT | address of an object header followed by the payload                      |
//! | 5   | ATOM   | atom number                                                              |
//! | 6   | HEADER | never a value: functor header, object header, or forwarding address (GC) |
//! | 7   | VAR    | only as the content of a cell: 0 = unbound, else address of a hook record |
//!
//! Invariants:
//! - W1 A value (register, argument, slot) never has tag HEADER or VAR, but for arguments on the goal stack (C7 of
//!   `abi`). A *cell* (a word that a REF
//!   leads to) may hold VAR; it is then an unbound variable. Cells are a cons's car or cdr, a
//!   structure's argument, or one word alone. Goals, vector stores and all other objects hold no
//!   cells: an unbound variable in them is a REF.
//! - W2 Header words have bit 63 set; forwarding words (tag HEADER) have it clear.
//! - Every word of the heap is one of the above, except payloads of raw objects, whose length the
//!   object's header gives: a space can be walked word by word from its start.
//! - W4 The three tag bits have eight values, and each is a tag.
//! - W5 A word holds the address of something that its holder may look at: safe code copies addresses, and makes none.
//!   Words whose bits are a payload's (floats, limbs, bytes of strings) stand in raw objects only, and are read as
//!   bits.

/// The tag in the three low bits of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Tag {
    /// A 61-bit integer.
    Int = 0,
    /// The address of a variable cell.
    Ref = 1,
    /// The address of a cons cell.
    Cons = 2,
    /// The address of a structure.
    Struct = 3,
    /// The address of an object.
    Object = 4,
    /// An atom.
    Atom = 5,
    /// A header or forwarding word; never a value.
    Header = 6,
    /// Content of an unbound cell; never a value.
    Var = 7,
}

/// Mask of the tag bits.
pub const TAG_MASK: u64 = 7;
/// A bit for each tag of words that hold no address.
pub const IMMEDIATE_TAGS: u64 = 1 << Tag::Int as u64 | 1 << Tag::Atom as u64;
/// Number of tag bits.
pub const TAG_BITS: u32 = 3;
/// Smallest integer that a word holds without becoming a big integer.
pub const INT_MIN: i64 = i64::MIN >> TAG_BITS;
/// Largest integer that a word holds without becoming a big integer.
pub const INT_MAX: i64 = i64::MAX >> TAG_BITS;

/// A tagged machine word. Safe code makes integers, atoms and headers; W5 says where addresses come from.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Word(u64);

/// Never a value (W1): a forwarding word that leads nowhere.
pub(crate) const NO_VALUE: Word = Word(Tag::Header as u64);

/// The content of an unbound cell that no goal waits for.
pub const UNBOUND: Word = Word(Tag::Var as u64);

impl Word {
    /// The bits.
    #[inline(always)]
    pub const fn bits(self) -> u64 {
        self.0
    }
    /// The word with these bits.
    ///
    /// # Safety
    /// W5: an address among them leads to what the tag says, as long as anybody looks at it; or the word is a payload,
    /// and nobody follows it.
    #[inline(always)]
    pub const unsafe fn from_bits(bits: u64) -> Word {
        Word(bits)
    }
    /// The tag.
    #[inline(always)]
    pub const fn tag(self) -> Tag {
        // A `match` becomes jumps through a table wherever it is inlined.
        // SAFETY: W4 - the operand is below 8 by the mask, and `Tag` has a variant for each of these numbers.
        unsafe { std::mem::transmute::<u8, Tag>((self.0 & TAG_MASK) as u8) }
    }
    /// An integer in `INT_MIN..=INT_MAX`; `None` outside (it must become a big integer).
    #[inline(always)]
    pub const fn int(value: i64) -> Option<Word> {
        if value >= INT_MIN && value <= INT_MAX { Some(Word((value as u64) << TAG_BITS)) } else { None }
    }
    /// An integer that is known to be small (debug-asserted).
    #[inline(always)]
    pub const fn small(value: i64) -> Word {
        debug_assert!(value >= INT_MIN && value <= INT_MAX);
        Word((value as u64) << TAG_BITS)
    }
    /// The value of an INT word.
    #[inline(always)]
    pub const fn as_int(self) -> i64 {
        (self.0 as i64) >> TAG_BITS
    }
    /// A tagged address. `address` must be a multiple of 8.
    ///
    /// # Safety
    /// W5: what the tag says lies at the address, as long as anybody looks at it.
    #[inline(always)]
    pub const unsafe fn pointer(tag: Tag, address: usize) -> Word {
        debug_assert!(address & 7 == 0);
        Word(address as u64 | tag as u64)
    }
    /// The address in a REF, CONS, STRUCT, OBJECT, VAR or forwarding word.
    #[inline(always)]
    pub const fn address(self) -> usize {
        (self.0 & !TAG_MASK) as usize
    }
    /// The same for a word that is known to have this tag (debug-asserted).
    #[inline(always)]
    pub const fn address_behind(self, tag: Tag) -> usize {
        debug_assert!(self.0 & TAG_MASK == tag as u64);
        (self.0 - tag as u64) as usize
    }
    /// The atom with this number.
    #[inline(always)]
    pub const fn atom(atom: crate::Atom) -> Word {
        Word(((atom.0 as u64) << TAG_BITS) | Tag::Atom as u64)
    }
    /// The atom of an ATOM word.
    #[inline(always)]
    pub const fn as_atom(self) -> crate::Atom {
        crate::Atom((self.0 >> TAG_BITS) as u32)
    }
    /// The empty list.
    pub const NIL: Word = Word::atom(crate::symbol::NIL);
    /// True for INT and ATOM: words that hold no address.
    #[inline(always)]
    pub const fn is_immediate(self) -> bool {
        IMMEDIATE_TAGS >> (self.0 & TAG_MASK) & 1 != 0
    }
    /// True for a forwarding word left by the collector (W2).
    #[inline(always)]
    pub const fn is_forwarding(self) -> bool {
        self.0 & TAG_MASK == Tag::Header as u64 && (self.0 >> 63) == 0
    }
    /// True for a functor or object header (W2).
    #[inline(always)]
    pub const fn is_header(self) -> bool {
        self.0 & TAG_MASK == Tag::Header as u64 && (self.0 >> 63) == 1
    }
}

impl core::fmt::Debug for Word {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.tag() {
            Tag::Int => write!(f, "{}", self.as_int()),
            Tag::Atom => write!(f, "atom#{}", self.as_atom().0),
            tag => write!(f, "{tag:?}@{:x}", self.0 & !TAG_MASK),
        }
    }
}

// ---- headers -----------------------------------------------------------------------------------

const HEADER_BIT: u64 = 1 << 63;
const OBJECT_BIT: u64 = 1 << 3;
/// Where the arity begins in a functor header.
pub const ARITY_SHIFT: u32 = 4;
/// How many bits it has.
pub const ARITY_BITS: u32 = 24;
/// Where the number of the name begins in a functor header; above it there is one bit that is always set.
pub const NAME_SHIFT: u32 = ARITY_SHIFT + ARITY_BITS;
const CLASS_SHIFT: u32 = 4;
/// Where the number of payload words begins in an object's header.
pub const SIZE_SHIFT: u32 = 12;
const SIZE_BITS: u32 = 40;

/// Largest number of arguments of a structure.
pub const STRUCT_ARITY_MAX: u32 = (1 << ARITY_BITS) - 1;

/// The header of a structure with this name and arity; one immediate to compare with.
#[inline(always)]
pub const fn functor_header(name: crate::Atom, arity: u32) -> Word {
    debug_assert!(arity <= STRUCT_ARITY_MAX);
    Word(HEADER_BIT | ((name.0 as u64) << NAME_SHIFT) | ((arity as u64) << ARITY_SHIFT) | Tag::Header as u64)
}
/// True if a header word is an object's (else it is a functor header).
#[inline(always)]
pub const fn header_is_object(header: Word) -> bool {
    header.0 & OBJECT_BIT != 0
}
/// The name in a functor header.
#[inline(always)]
pub const fn header_name(header: Word) -> crate::Atom {
    crate::Atom(((header.0 & !HEADER_BIT) >> NAME_SHIFT) as u32)
}
/// The arity in a functor header.
#[inline(always)]
pub const fn header_arity(header: Word) -> usize {
    ((header.0 >> ARITY_SHIFT) & ((1 << ARITY_BITS) - 1)) as usize
}
/// The header of an object of a class with `size` payload words (header not counted).
#[inline(always)]
pub const fn object_header(class: crate::layout::ClassId, size: usize) -> Word {
    debug_assert!(size < 1 << SIZE_BITS);
    Word(
        HEADER_BIT
            | ((size as u64) << SIZE_SHIFT)
            | ((class.0 as u64) << CLASS_SHIFT)
            | OBJECT_BIT
            | Tag::Header as u64,
    )
}
/// The class in an object header.
#[inline(always)]
pub const fn header_class(header: Word) -> crate::layout::ClassId {
    crate::layout::ClassId((header.0 >> CLASS_SHIFT) as u8)
}
/// The payload words of an object, from its header.
#[inline(always)]
pub const fn header_size(header: Word) -> usize {
    ((header.0 >> SIZE_SHIFT) & ((1 << SIZE_BITS) - 1)) as usize
}
/// Words that a structure or object occupies after its header.
#[inline(always)]
pub const fn header_words(header: Word) -> usize {
    if header_is_object(header) { header_size(header) } else { header_arity(header) }
}

const _: () = assert!(size_of::<Word>() == 8 && NAME_SHIFT + 32 <= 63 && SIZE_SHIFT + SIZE_BITS < 63);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Atom;

    #[test]
    fn integers_round_trip_and_refuse_what_does_not_fit() {
        for value in [0, 1, -1, 42, INT_MIN, INT_MAX] {
            assert_eq!(Word::int(value).map(Word::as_int), Some(value));
        }
        assert_eq!(Word::int(INT_MAX + 1), None);
        assert_eq!(Word::int(INT_MIN - 1), None);
    }

    #[test]
    fn headers_keep_their_parts_and_are_not_forwarding_words() {
        let functor = functor_header(Atom(u32::MAX), 7);
        assert!(functor.is_header() && !functor.is_forwarding() && !header_is_object(functor));
        assert_eq!((header_name(functor), header_arity(functor)), (Atom(u32::MAX), 7));
        let object = object_header(crate::layout::VECTOR, 3);
        assert!(object.is_header() && header_is_object(object));
        assert_eq!((header_class(object), header_size(object)), (crate::layout::VECTOR, 3));
        // SAFETY: W5 - it is looked at as a number, and nobody follows it.
        assert!(unsafe { Word::pointer(Tag::Header, 0x7fff_ffff_fff8) }.is_forwarding());
    }
}
