//! The program as the compiler sees it: names, values, and each head and guard as a sequence of tests.
//!
//! For: which predicates there are, what clauses test, constants, and the diagnostics of what is wrong with them.
//! It may know: clauses (`syntax`) and the patterns and constants of `ir`.
//! It never: makes a block of code, or orders the goals of a body.

pub(crate) mod arithmetic;
pub(crate) mod check;
pub(crate) mod constants;
pub(crate) mod names;
pub(crate) mod passive;
pub(crate) mod shadowed;
pub(crate) mod slips;
pub(crate) mod split;
pub(crate) mod structures;
pub(crate) mod suggestions;
pub(crate) mod tables;
pub(crate) mod values;
