//! Which routers and inputs have flits that may go: only these are looked at.
//!
//! Inputs of all routers stand in one row, so that going through those with flits is going through words: a loop for
//! each router would end where the processor does not expect it.

use super::shape::Shape;

/// A bit for each input, and one for each word of these.
pub(super) struct Occupied {
    /// By input of all routers: it has flits, and does not wait for a channel.
    inputs: Vec<u64>,
    /// By buffer at the end of a channel: the inputs of the router before it that wait for the channel while another
    /// one has it.
    waiting: Vec<u32>,
    /// Words of `inputs` that may have bits.
    active: Vec<u64>,
}

impl Occupied {
    pub(super) fn new(nodes: usize, shape: &Shape) -> Occupied {
        let words = (nodes * shape.inputs()).div_ceil(64);
        Occupied {
            inputs: vec![0; words],
            waiting: vec![0; nodes * shape.inputs()],
            active: vec![0; words.div_ceil(64)],
        }
    }
    /// A bit for each of some inputs, at most 32, that is looked at.
    #[inline]
    pub(super) fn inputs(&self, from: usize, count: usize) -> u32 {
        let (word, bit) = (from / 64, from % 64);
        let low = self.inputs[word] >> bit;
        let both = if bit + count > 64 { low | self.inputs[word + 1] << (64 - bit) } else { low };
        (both & ((1 << count) - 1)) as u32
    }
    /// An input has flits.
    #[inline]
    pub(super) fn add(&mut self, at: usize) {
        self.add_if(at, true);
    }
    /// An input has flits, if that is true: without a branch.
    #[inline]
    pub(super) fn add_if(&mut self, at: usize, any: bool) {
        let word = at / 64;
        self.inputs[word] |= u64::from(any) << (at % 64);
        self.active[word / 64] |= u64::from(any) << (word % 64);
    }
    /// An input has no flits any more, if that is true: without a branch.
    #[inline]
    pub(super) fn remove_if(&mut self, at: usize, none: bool) {
        self.inputs[at / 64] &= !(u64::from(none) << (at % 64));
    }
    /// An input waits for a channel that another one has.
    #[inline]
    pub(super) fn wait(&mut self, at: usize, input: u8, end: usize) {
        self.remove_if(at, true);
        self.waiting[end] |= 1 << input;
    }
    /// A channel of the router whose inputs begin there is free again.
    #[inline]
    pub(super) fn free(&mut self, from: usize, end: usize) {
        let mut waiting = std::mem::take(&mut self.waiting[end]);
        while waiting != 0 {
            self.add(from + waiting.trailing_zeros() as usize);
            waiting &= waiting - 1;
        }
    }
    /// Whether an input waits for a channel.
    pub(super) fn waits(&self, input: usize, end: usize) -> bool {
        self.waiting[end] & (1 << input) != 0
    }
    /// How many rows of words there are.
    #[inline]
    pub(super) fn rows(&self) -> usize {
        self.active.len()
    }
    /// Words of a row, 64 at most from `64 * row` on, that may have bits.
    #[inline]
    pub(super) fn active(&self, row: usize) -> u64 {
        self.active[row]
    }
    /// The bits of an active word, which is active no more if there are none: inputs from `64 * word` on.
    #[inline]
    pub(super) fn look(&mut self, word: usize) -> u64 {
        let bits = self.inputs[word];
        self.active[word / 64] &= !(u64::from(bits == 0) << (word % 64));
        bits
    }
    /// All inputs that are looked at.
    pub(super) fn all(&self) -> impl Iterator<Item = usize> {
        let bits = |at: usize, bits: u64| {
            let mut rest = bits;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| 64 * at + rest.trailing_zeros() as usize);
                rest &= rest.wrapping_sub(1);
                bit
            })
        };
        let words = self.active.iter().enumerate().flat_map(move |(row, active)| bits(row, *active));
        words.flat_map(move |word| bits(word, self.inputs[word]))
    }
    /// Whether an input is looked at.
    pub(super) fn has(&self, at: usize) -> bool {
        self.inputs[at / 64] >> (at % 64) & 1 != 0 && self.active[at / 4096] >> (at / 64 % 64) & 1 != 0
    }
    /// Spoils it, for tests of the checks.
    #[cfg(test)]
    pub(super) fn spoil(&mut self, spoil: impl FnOnce(&mut [u64])) {
        spoil(&mut self.inputs);
    }
}
