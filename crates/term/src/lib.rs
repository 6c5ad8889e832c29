//! What a term looks like in memory and in a program text, and the `repr(C)` contract between generated code and the
//! runtime.
//!
//! Invariants: only [`word`] knows tag bits; `const` assertions pin every size and offset that
//! generated code uses. Absent on purpose: anything that runs, allocates or collects.

pub mod abi;
pub mod constant;
pub mod layout;
pub mod symbol;
pub mod table;
pub mod word;

pub use symbol::{Atom, AtomTable};
pub use word::{Tag, Word};
