//! Coordination: mail, rest, stops and wakes of the workers of a node.
//!
//! For: which workers reduce and which rest, when all stand still, and how a sleeping thread is woken.
//! It may know: threads, locks and atomic operations (the standard library's or loom's).
//! It never: touches a heap, a goal or a term; mail is words that it does not look at.

pub mod schedule;
pub(crate) mod sync;
pub(crate) mod team;
pub mod waker;
