//! What tests compare with: the reference interpreter, and generators of random programs.
//!
//! It works on clauses (`syntax::program`), so it shares nothing with the compiler, the code generator or the runtime
//! that it checks. Absent on purpose: speed; no program that a user runs comes here.

#![forbid(unsafe_code)]

pub mod fuzzing;
pub mod interpret;
