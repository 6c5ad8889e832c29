//! What the faces of other languages have in common: terms as C has them, and libraries that give predicates to KL1
//! programs ([`load`]). The functions on values are those of `fifth.h`; a library gets them through a table, so it is
//! linked with nothing of Fifth.
//!
//! Invariants:
//! - C1 What a header says of a pointer holds: it is NULL, or leads to what this library made and was not given back,
//!   or to what the caller has, of the size that is said, while the call lasts. What the header says one thread may use
//!   at a time is used so.
//! - C2 No panic leaves a function: it becomes an answer and a text ([`answer`]).
//! - C4 Nothing recurses on the depth of user data: values are looked at level by level, and so are they dropped.
//! - C5 A library that was loaded stays loaded, and is what `fifth_foreign.h` says: its table has the layout of the ABI
//!   number that it begins with, and does not change; its functions take their arguments and come back.
//! - C6 A `fifth_args` is used by the function that it was given to, while that runs.

mod answers;
mod calls;
mod loading;
mod values;

pub use answers::*;
pub use loading::load;
pub use values::*;
