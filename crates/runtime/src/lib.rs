//! One node of Fifth: heap, goals, scheduler, suspension, unification, collector, builtins.
//!
//! A [`schedule::Node`] holds the loaded program and runs goals with a [`worker::Worker`]: the worker owns the goal
//! stack and the nursery, reduces goals by entering generated code, and offers builtins the operations on terms
//! (`terms`), unification (`unify`), comparison (`order`) and suspension (`suspend`). Absent on purpose: other
//! nodes (an external reference is a class of object), the compiler, printing to the user and exiting.

mod arith;
pub mod builtins;
mod check;
pub mod classes;
mod collect;
#[cfg(test)]
mod collect_tests;
mod constants;
mod deadlock;
pub mod events;
mod goals;
mod heap;
mod helpers;
#[cfg(test)]
mod infinite_tests;
mod memory;
pub mod native;
pub mod order;
pub mod outcome;
mod policy;
mod print;
pub mod program;
pub mod schedule;
pub mod statistics;
mod suspend;
#[allow(
    dead_code,
    unused_imports,
    reason = "the scheduler of several workers, for which this is written, does not use it yet"
)]
pub(crate) mod team;
pub mod terms;
pub mod unify;
pub mod waker;
mod walk;
pub mod worker;
