//! One node of Fifth: heap, goals, scheduler, suspension, unification, collector, builtins.
//!
//! A [`node::Node`] holds the loaded program and runs goals with one or several [`worker::Worker`]s: a worker owns its goal
//! stack and the nursery, reduces goals by entering generated code, and offers builtins the operations on terms
//! (`terms`), unification (`unify`), comparison (`order`) and suspension (`suspend`, `resume`). Absent on purpose: other
//! nodes (an external reference is a class of object), the compiler, printing to the user and exiting.

mod arith;
mod balance;
pub mod builtins;
mod calls;
mod check;
pub mod classes;
mod collect;
#[cfg(test)]
mod collect_tests;
mod constants;
mod crew;
mod deadlock;
pub mod events;
mod goals;
mod heap;
mod helpers;
#[cfg(test)]
mod infinite_tests;
mod lessons;
mod memory;
#[cfg(all(test, models))]
mod models;
pub mod native;
pub mod node;
pub mod order;
pub mod outcome;
mod policy;
mod print;
pub mod program;
mod resume;
mod schedule;
mod shake;
mod spaces;
pub mod statistics;
mod surplus;
mod suspend;
mod sync;
mod system;
mod team;
pub mod terms;
mod threads;
pub mod trace;
pub mod turns;
mod unify;
mod versions;
pub mod waker;
mod walk;
pub mod worker;
