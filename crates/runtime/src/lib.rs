//! One node of Fifth: heap, goals, scheduler, suspension, unification, collector, builtins.
//!
//! A [`node::Node`] holds the loaded program and runs goals with one or several [`worker::Worker`]s: a worker owns
//! its goal stack and the nursery, reduces goals by entering generated code, and offers builtins the operations on
//! terms (`terms`), unification (`goals::unify`), comparison (`terms::order`) and suspension (`goals`). Absent on
//! purpose: other nodes (an external reference is a class of object), the compiler, printing to the user and exiting.
//!
//! Words are not made of numbers, and nobody else writes to an address. None of these compiles:
//! ```compile_fail,E0423
//! #![forbid(unsafe_code)]
//! use term::word::Tag;
//! println!("{:?}", runtime::terms::deref(term::Word(0x1000 | Tag::Ref as u64)).0);
//! ```
//! ```compile_fail,E0133
//! term::Word::from_bits(0x1001);
//! ```
//! ```compile_fail,E0133
//! term::Word::pointer(term::word::Tag::Cons, 0x1000);
//! ```
//! ```compile_fail,E0603
//! runtime::memory::ranges::write(0x1000, term::Word::NIL);
//! ```
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
