//! Memory that nodes share, as if they had one: pages that have a home each, copies of them at other nodes, several
//! writers a page, and eager release consistency (Nakajo, Ichikawa, Kaneda, "A Distributed Shared-Memory System on a
//! Workstation Cluster Using Fast Serial Links", IJPP 28(2), 2000).
//!
//! What one node wrote before a release, another one reads after the acquire that follows it: the next holder of a
//! lock, or whoever leaves a barrier. The unit is a word of eight bytes: programs in which two nodes touch one word,
//! one of them to write, with no release and acquire in between, are wrong (a race), and read anything.
//!
//! [`protocol`] is pure; a [`Store`] is where the bytes are. A [`Node`] runs it under a program on any fabric:
//! simulated, threads, or processes under MPI. The program sees a [`Memory`] and says what it uses before it does;
//! [`kernels`] has some. On real nodes ([`fault`]) it need not say it: page faults do. A program that passes its node's
//! messages on itself asks before each access ([`Asked`]).

#![deny(unsafe_code)]

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod asked;
mod costs;
mod difference;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[allow(unsafe_code)]
pub mod fault;
mod frames;
pub mod kernels;
mod memory;
mod message;
mod node;
pub mod protocol;
mod runs;
mod space;
mod store;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod sync;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use asked::{Asked, Parcel};
pub use costs::PageCosts;
pub use memory::{Memory, Use, View};
pub use message::{FETCH_MAX, KINDS, Letter, Malformed, Message, Page};
pub use node::{Local, Node, Work};
pub use runs::{Runs, WORD};
pub use store::{Access, Store};

/// The programs of the readme run.
#[cfg(all(doctest, target_os = "linux", target_arch = "x86_64"))]
#[doc = include_str!("../README.md")]
struct Readme;
