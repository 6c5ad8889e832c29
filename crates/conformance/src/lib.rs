//! Programs for tests, whose nodes check what comes to them: the same for every kind of fabric.
//!
//! [`fabrics`] has those of a fabric alone, [`machines`] those of machines on one. Whoever tests a kind implements the
//! trait `Kind` of one of them, and runs all of its programs. [`any_order`] is a kind for tests of machines.

#![forbid(unsafe_code)]

pub mod any_order;
pub mod fabrics;
pub mod machines;
