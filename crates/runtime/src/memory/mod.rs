//! Memory: address ranges, the spaces in them, and the words that stand there.
//!
//! For: reserving address ranges, reading and writing heap words, the spaces of a node and of a worker, classes of
//! objects, ground terms outside the heap.
//! It may know: layouts (`term`) and what threads need (`coordination::sync`).
//! It never: looks at a goal, waits for a worker, or decides when to collect.

pub mod classes;
pub(crate) mod constants;
#[cfg(not(miri))]
mod machine;
pub(crate) mod nursery;
pub(crate) mod ranges;
pub mod refused;
pub(crate) mod spaces;
pub(crate) mod tuning;
pub(crate) mod wanted;
