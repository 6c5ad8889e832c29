//! Bytes of machine code, as the routines written by hand put them.

use term::word::Tag;

/// From a REF to its cell.
pub(crate) const CELL: u8 = (-(Tag::Ref as i8)) as u8;

/// Bytes of a cache line.
pub(super) const LINE: usize = 64;

/// What no code runs into: `int3`.
pub(super) const TRAP: u8 = 0xcc;

/// Machine code being written.
#[derive(Default)]
pub(crate) struct Assembler {
    pub(super) bytes: Vec<u8>,
}

impl Assembler {
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }
    /// An instruction that ends in a displacement from the worker.
    pub(crate) fn put_field(&mut self, opcode: &[u8], offset: usize) {
        self.put(opcode);
        self.put(&(offset as u32).to_le_bytes());
    }
    /// Where what follows will stand.
    pub(crate) fn place(&self) -> u32 {
        self.bytes.len() as u32
    }
    /// Continues at the beginning of a cache line; the gap traps. (At multiples of 16, how fast a loop was depended
    /// by 7 % on where it happened to lie.)
    pub(crate) fn next_line(&mut self) -> u32 {
        while !self.bytes.len().is_multiple_of(LINE) {
            self.bytes.push(TRAP);
        }
        self.bytes.len() as u32
    }

    /// Jumps to what lies before, by `0f 8x` or `e9`.
    pub(crate) fn jump_back(&mut self, opcode: &[u8], to: u32) {
        self.put(opcode);
        let end = self.bytes.len() as i64 + 4;
        self.put(&((i64::from(to) - end) as i32).to_le_bytes());
    }

    /// Jumps to what follows, by `0f 8x` or `e9`: where the distance will stand.
    pub(crate) fn jump_ahead(&mut self, opcode: &[u8]) -> usize {
        self.put(opcode);
        self.put(&[0; 4]);
        self.bytes.len()
    }
    /// What follows now is where that jump leads.
    pub(crate) fn land(&mut self, jump: usize) {
        let distance = (self.bytes.len() - jump) as u32;
        self.bytes[jump - 4..jump].copy_from_slice(&distance.to_le_bytes());
    }
}
