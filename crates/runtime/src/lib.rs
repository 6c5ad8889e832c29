//! One node of Fifth: heap, goals, scheduler, suspension, unification, collector, builtins.
//!
//! A [`node::Node`] holds the loaded program and runs goals with one or several workers: a worker owns
//! its goal stack and the nursery, reduces goals by entering generated code, and offers builtins the operations on
//! terms (`terms`), unification (`goals::unify`), comparison (`terms::order`) and suspension (`goals`). Other crates
//! have [`node::Terms`] of a node instead. Absent on purpose: other nodes (an external reference is a class of object),
//! the compiler, printing to the user and exiting.
//!
//! # What safe code cannot do
//! No program without `unsafe` reaches undefined behaviour through this crate, but for the machine code that it loads
//! ([`program::Load`]). None of the following compiles. Words cannot be made of numbers, nor followed by anybody else:
//! ```compile_fail,E0423,E0603
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
//! Nobody else writes to an address:
//! ```compile_fail,E0603
//! runtime::memory::ranges::write(0x1000, term::Word::NIL);
//! ```
//! A term is not used after a collection may have moved it (Q1 of `node::face`):
//! ```compile_fail,E0499
//! fn kept(node: &mut runtime::node::Node) {
//!     let variable = node.terms().new_variable();
//!     node.turn();
//!     let text = node.terms().term_text(variable);
//! }
//! ```
//! nor after the call of a builtin that got it:
//! ```compile_fail,E0521
//! use runtime::node::{Answer, Term, Terms};
//! use std::cell::Cell;
//! thread_local!(static KEPT: Cell<Term<'static>> = const { Cell::new(Term::NIL) });
//! fn keeps<'t>(_: &mut Terms<'t>, inputs: &[Term<'t>], _: &mut [Term<'t>]) -> Answer<'t> {
//!     KEPT.set(inputs[0]);
//!     Answer::Done
//! }
//! ```
//! A worker has one user, and stays where it is (Q4 of `node::face`):
//! ```compile_fail,E0624
//! fn exchange(a: &mut runtime::node::Node, b: &mut runtime::node::Node) {
//!     std::mem::swap(a.worker(), b.worker());
//! }
//! ```
//! ```compile_fail,E0499
//! fn twice(node: &mut runtime::node::Node) {
//!     let (mut one, mut other) = (node.terms(), node.terms());
//!     (one.int(1), other.int(1));
//! }
//! ```
//! This does:
//! ```
//! #![forbid(unsafe_code)]
//! use runtime::node::{Node, Term};
//! let options = runtime::worker::Options::alone(1);
//! let mut node = Node::new(options, Default::default(), runtime::builtins::natives()).unwrap();
//! let mut terms = node.terms();
//! let variable = terms.new_variable();
//! let list = terms.cons(Term::small(1), variable);
//! terms.unify(variable, Term::NIL);
//! assert_eq!(terms.term_text(list), "[1]");
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
pub use reports::{outcome, profile, statistics, trace, watch};
pub use worker::{native, program};
