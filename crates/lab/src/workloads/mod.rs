//! Programs of the J-Machine's evaluation (Noakes, Wallach, Dally, ISCA 1993, section 4) for [`machine::Machine`], each beside a plain sequential
//! version that says what the result must be. They run on every fabric.
//!
//! Each program charges what its threads cost on the machine that the paper measured, where time is simulated: instructions from the paper's
//! table 4, at one a cycle, or fitted constants, which are inputs of an experiment and never its results.

pub mod lcs;
pub mod queens;
pub mod radix_sort;
pub mod tsp;
