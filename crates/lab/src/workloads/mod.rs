//! Programs of the J-Machine's evaluation (Noakes, Wallach, Dally, ISCA 1993, section 4) for [`machine::Machine`], each beside a plain sequential
//! version that says what the result must be. They run on every fabric.
//!
//! Each program charges what its threads cost on the machine that the paper measured, where time is simulated: instructions from the paper's
//! table 4, at one a cycle, or fitted constants, which are inputs of an experiment and never its results.

pub mod lcs;
pub mod queens;
pub mod radix_sort;
pub mod tsp;

/// The generator of all inputs: the paper prints none. (Knuth's 64-bit linear congruential generator, the upper half.)
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator with this seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }
    /// A number below `n`, which is at most 2^32.
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 32) * n) >> 32
    }
}
