//! Tables of clauses that differ in constants only: how their words lie, for the compiler that fills them and the
//! code that looks.
//!
//! ```text
//! node   [shift][key][next][key][next]..[0][0]     the first node begins at word 0
//! row    [constant]..
//! ```
//! A key is the word of an integer or atom. `next` is where the node for the next key or the row begins, counted in
//! words: as a word that is its distance in bytes. It is 0 in an empty slot, and in the last. The search for a key
//! begins at its [`home`] and ends at the first empty slot.

use crate::Word;

/// Spreads keys. Words of neighbouring keys are 8 apart (their tag has 3 bits), and 8 times this is the golden section
/// of 2^64, whose multiples lie evenly (Knuth, The Art of Computer Programming, volume 3, section 6.4).
pub const MULTIPLIER: u64 = 0x13c6_ef37_2fe9_4f83;

/// The bits of a product that choose a slot are the highest of these many.
pub const HASH_BITS: u32 = 32;

/// The number of the slot where the search for a key begins, in a node with this shift: [`HASH_BITS`] less the bits of
/// a slot's number.
pub const fn home(key: Word, shift: u32) -> usize {
    let product = key.bits().wrapping_mul(MULTIPLIER) >> (u64::BITS - HASH_BITS);
    (product >> shift) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_are_slots_of_the_node() {
        for value in [0, 1, -1, 1 << 40, crate::word::INT_MIN] {
            assert_eq!(home(Word::small(value), HASH_BITS), 0);
            assert!(home(Word::small(value), HASH_BITS - 5) < 32);
        }
    }

    #[test]
    fn neighbouring_keys_have_different_homes() {
        let homes: std::collections::BTreeSet<usize> =
            (0..1 << 10).map(|value| home(Word::small(value), HASH_BITS - 11)).collect();
        assert!(homes.len() > 900);
    }
}
