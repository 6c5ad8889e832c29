//! What any crate may use, and none should have of its own.
//!
//! For: random numbers of a seed ([`Random`]), and locks ([`lock`]).
//! It may know: the standard library.
//! It never: decides for whom, or for what.

#![forbid(unsafe_code)]

mod locks;
mod random;

pub use locks::{lock, unpoisoned, wait};
pub use random::{Random, mixed};
