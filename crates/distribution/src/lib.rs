//! KL1 between nodes: the tables and messages of the Multi-PSI (Nakajima, Inamura, Rokusawa, Ichiyoshi, Chikayama,
//! "Distributed implementation of KL1 on the Multi-PSI/V2", ICOT TR-486, 1989), without anything that sends, waits or
//! looks at a clock.
//!
//! A node refers to a term of another by an *import*, an unbound variable of its own; the term has an *export* at its
//! home. Data stay where they are until somebody reads them. [`Store`] is what the protocol asks of a node's heap,
//! [`Message`] what nodes tell each other, and [`Protocol`] one node's tables.
//!
//! ```text
//! heap -- what became of variables --> With::{throw, wanted, bound, marked, alias, dead, lost} -- Post --> network
//! heap <-- Store -- With::receive <-- network
//! ```
//!
//! The rest joins it to what sends and computes: `heap` is a [`Store`] over a runtime node's heap, `node` a program of
//! the machine layer that owns such a node and its protocol, and [`run()`] lets several of them be threads of this
//! process (`run_part`: processes under MPI).

#![forbid(unsafe_code)]

mod balance;
mod coherence;
mod heap;
mod model;
mod node;
mod protocol;
mod run;
mod simulate;
mod store;
mod wire;

pub use coherence::{Beside, Letter, Parcel, Receivers, Shared};
pub use heap::Heap;
pub use model::{Crash, Model, Work};
pub use protocol::{Counters, DEPTHS, Depth, Fault, How, Options, Post, Protocol, With};
#[cfg(feature = "mpi")]
pub use run::run_part;
pub use run::{Part, Run, run};
pub use runtime::abroad::{By, Goal};
pub use simulate::{Simulated, Stopped, simulate};
pub use store::{ExportId, Full, ImportId, Seen, Shape, Store, StructureId};
pub use wire::message::{Distance, Distances, Item, Items, Malformed, Message, NODES_MAX, Reader};
pub use wire::tokens::{Name, Packed, Reference, Token, Tokens};

/// Names of what nodes tell each other: kinds of messages about terms, and behind them those of notices.
pub const KINDS: [&str; wire::message::TABLES + balance::NAMES.len()] = {
    let mut all = [""; wire::message::TABLES + balance::NAMES.len()];
    let (about_terms, others) = all.split_at_mut(wire::message::TABLES);
    about_terms.copy_from_slice(&wire::message::NAMES);
    others.copy_from_slice(&balance::NAMES);
    all
};
