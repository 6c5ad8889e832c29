//! What any crate may use, and none should have of its own.
//!
//! For: random numbers of a seed ([`Random`]), locks ([`lock`]), and the beginning of a file ([`read_at_most`]).
//! It may know: the standard library.
//! It never: decides for whom, or for what.

#![forbid(unsafe_code)]

mod files;
mod locks;
mod random;

pub use files::read_at_most;
pub use locks::{lock, unpoisoned, wait};
pub use random::{Random, mixed};
