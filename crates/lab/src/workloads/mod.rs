//! Programs of the J-Machine's evaluation (Noakes, Wallach, Dally, ISCA 1993, section 4) for [`machine::Machine`],
//! each beside a plain sequential version that says what the result must be. They run on every fabric.
//!
//! Each program charges what its threads cost on the machine that the paper measured, where time is simulated:
//! instructions from the paper's table 4, at one a cycle, or fitted constants, which are inputs of an experiment and
//! never its results.
//!
//! Between processes a message can be anything. What no node of the program sends is a
//! [strange](machine::Verdict::Strange) one: a handler looks at a message's shape and at what it would compute with,
//! before it does anything. What is well formed and wrong makes the result wrong, or tasks wait for ever, and that is
//! reported at the end of the run.

pub mod lcs;
pub mod queens;
pub mod radix_sort;
pub mod tsp;
