//! Sharing: the balance of load between the workers of a node.
//!
//! For: which goals a worker gives to one that asks, and whether that pays; which goals may go to another node;
//! disorder on purpose, for tests. It may know: goals, terms, and the mail of `coordination`. It never: reduces a goal
//! of the program, enters generated code or collects.

pub(crate) mod choose;
pub(crate) mod disorder;
pub(crate) mod give;
mod spare;
pub(crate) mod state;
mod sums;
mod trial;
pub(crate) mod tuning;
mod yields;
