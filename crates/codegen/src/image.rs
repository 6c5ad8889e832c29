//! The result of code generation, and its form as bytes.
//!
//! ```text
//! magic (8) | layout (8) | entries (4) | code bytes (4) | native entry (4) | enter (4) | entries x [predicate (4) | offset (4)] | code
//! ```
//! All numbers are little-endian. `layout` is a sum of the ABI's offsets: code made for another ABI is refused.
//! Decoding is total: any bytes give an image or [`BadImage`].

use crate::jit::{InPlace, OwnFile};
use crate::places::CodePlace;
use std::mem::{offset_of, size_of};
use term::abi::{Helpers, PredicateId, WorkerAbi};

const MAGIC: [u8; 8] = *b"FIFTHx64";
const FIXED: usize = 32;

/// What code is best aligned to: constants in it need 16, its functions are aligned to no more than this.
pub const CODE_ALIGNMENT: usize = 64;

/// Bytes of machine code.
#[derive(Clone, Debug)]
pub enum Code {
    /// They are copied to where they run.
    Own(Vec<u8>),
    /// They run where they are.
    InPlace(InPlace),
}

impl std::ops::Deref for Code {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Code::Own(bytes) => bytes,
            Code::InPlace(code) => code.bytes(),
        }
    }
}

impl PartialEq for Code {
    fn eq(&self, other: &Code) -> bool {
        **self == **other
    }
}

impl Eq for Code {}

/// Machine code of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Position-independent machine code.
    pub code: Code,
    /// Where the predicates begin in `code`, by rising predicate number.
    pub entries: Vec<(PredicateId, u32)>,
    /// Where the routine for predicates of the runtime begins.
    pub(crate) native_entry: u32,
    /// Where the way in from Rust begins.
    pub(crate) enter: u32,
    /// Where code comes from, by rising offset, if `Options` asked for it. It is no part of the bytes.
    pub places: Vec<CodePlace>,
}

/// Bytes that are no image, or one for another version of the ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadImage(&'static str);

impl std::fmt::Display for BadImage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for BadImage {}

/// A number that changes when a field that generated code uses moves.
fn layout() -> u64 {
    let offsets = [
        size_of::<WorkerAbi>(),
        offset_of!(WorkerAbi, entries),
        offset_of!(WorkerAbi, constants),
        offset_of!(WorkerAbi, heap),
        offset_of!(WorkerAbi, goals),
        offset_of!(WorkerAbi, pending),
        offset_of!(WorkerAbi, operands),
        offset_of!(WorkerAbi, helpers),
        size_of::<Helpers>(),
        offset_of!(Helpers, suspend),
        offset_of!(Helpers, grow_goals),
    ];
    offsets.iter().fold(1, |sum, &offset| sum * 31 + offset as u64)
}

impl Image {
    /// The offset of a predicate's entry in `code`.
    pub fn entry(&self, predicate: PredicateId) -> Option<u32> {
        let index = self.entries.binary_search_by_key(&predicate, |&(id, _)| id).ok()?;
        Some(self.entries[index].1)
    }

    /// The image as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(FIXED + 8 * self.entries.len() + self.code.len());
        bytes.extend(MAGIC);
        bytes.extend(layout().to_le_bytes());
        for number in [self.entries.len() as u32, self.code.len() as u32, self.native_entry, self.enter] {
            bytes.extend(number.to_le_bytes());
        }
        for &(predicate, offset) in &self.entries {
            bytes.extend(predicate.0.to_le_bytes());
            bytes.extend(offset.to_le_bytes());
        }
        bytes.extend(&*self.code);
        bytes
    }

    /// The image in bytes that [`Image::to_bytes`] made.
    pub fn from_bytes(bytes: &[u8]) -> Result<Image, BadImage> {
        Image::read(bytes, |code| Code::Own(code.to_vec()))
    }

    /// The same for bytes in this executable's file. The code stays there, if it is aligned.
    pub fn in_place(bytes: &'static [u8], file: OwnFile) -> Result<Image, BadImage> {
        Image::read(bytes, |code| match file.code(code) {
            Some(code) => Code::InPlace(code),
            None => Code::Own(code.to_vec()),
        })
    }

    fn read<'b>(bytes: &'b [u8], code: impl FnOnce(&'b [u8]) -> Code) -> Result<Image, BadImage> {
        if bytes.len() < FIXED || bytes[..8] != MAGIC {
            return Err(BadImage("not an image of generated code"));
        }
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        if u64::from(word(8)) | u64::from(word(12)) << 32 != layout() {
            return Err(BadImage("the image was made by another version"));
        }
        let (count, size, native_entry, enter) = (word(16) as usize, word(20) as usize, word(24), word(28));
        if (bytes.len() - FIXED).checked_sub(size) != count.checked_mul(8) {
            return Err(BadImage("the image is truncated"));
        }
        let entries: Vec<_> = (0..count)
            .map(|index| (PredicateId(word(FIXED + 8 * index)), word(FIXED + 8 * index + 4)))
            .collect();
        let inside = |offset: u32| (offset as usize) < size;
        let sorted = entries.is_sorted_by(|a, b| a.0 < b.0);
        if !sorted || !entries.iter().all(|e| inside(e.1)) || !inside(native_entry) || !inside(enter) {
            return Err(BadImage("the image's table of entries is wrong"));
        }
        Ok(Image {
            code: code(&bytes[FIXED + 8 * count..]),
            entries,
            native_entry,
            enter,
            places: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Image {
        let entries = vec![(PredicateId(3), 0), (PredicateId(9), 2)];
        Image { code: Code::Own(vec![1, 2, 3]), entries, native_entry: 1, enter: 0, places: Vec::new() }
    }

    #[test]
    fn images_survive_as_bytes() {
        assert_eq!(Image::from_bytes(&sample().to_bytes()), Ok(sample()));
        assert_eq!(sample().entry(PredicateId(9)), Some(2));
        assert_eq!(sample().entry(PredicateId(4)), None);
    }

    #[test]
    fn any_bytes_give_an_image_or_an_error() {
        arbtest::arbtest(|u| {
            let mut bytes = sample().to_bytes();
            for _ in 0..u.int_in_range(0..=4)? {
                let at = u.choose_index(bytes.len())?;
                bytes[at] = u.arbitrary()?;
            }
            bytes.truncate(u.int_in_range(0..=bytes.len())?);
            if let Ok(image) = Image::from_bytes(&bytes) {
                assert_eq!(image.to_bytes(), bytes);
            }
            Ok(())
        });
    }
}
