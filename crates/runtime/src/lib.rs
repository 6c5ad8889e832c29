//! One node of Fifth: heap, goals, scheduler, suspension, unification, collector, builtins.
//!
//! A [`node::Node`] holds the loaded program and runs goals with one or several [`worker::Worker`]s: a worker owns
//! its goal stack and the nursery, reduces goals by entering generated code, and offers builtins the operations on
//! terms (`terms`), unification (`goals::unify`), comparison (`terms::order`) and suspension (`goals`). Absent on
//! purpose: other nodes (an external reference is a class of object), the compiler, printing to the user and exiting.
//!
//! The crate is a house of rooms, each a folder with one job; a room uses those below it in this list:
//! `node`, `collect`, `sharing`, `builtins`, `goals`, `terms`, `worker`, `reports`, `memory`, `coordination`.

pub mod builtins;
mod collect;
mod coordination;
mod goals;
mod memory;
pub mod node;
mod reports;
mod sharing;
pub mod terms;
pub mod worker;

pub use coordination::{schedule, waker};
pub use goals::{abroad, resumed_order};
pub use memory::classes;
pub use memory::refused;
pub use reports::{outcome, statistics, trace};
pub use terms::order;
pub use worker::{events, native, program};
