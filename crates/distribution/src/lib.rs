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

//! The rest joins it to what sends and computes: `heap` is a [`Store`] over a runtime node's heap, `node` a program of
//! the machine layer that owns such a node and its protocol, and [`run`] lets several of them be threads of this
//! process (`run_part`: processes under MPI).

#![forbid(unsafe_code)]

mod balance;
mod beside;
mod heap;
mod letters;
mod message;
mod model;
mod node;
mod outgoing;
mod protocol;
mod rounds;
mod run;
mod simulate;
mod store;
mod tokens;

pub use beside::{Beside, Letter, Parcel, Receivers, Shared};
pub use heap::Heap;
pub use message::{Distance, Distances, Item, Items, KINDS, Malformed, Message, NODES_MAX, Reader, Round};
pub use model::{Model, Work};
pub use protocol::{Counters, DEPTHS, Depth, Fault, Goal, Options, Post, Protocol, With};
#[cfg(feature = "mpi")]
pub use run::run_part;
pub use run::{Part, Run, run};
pub use simulate::{Simulated, Stopped, simulate};
pub use store::{ExportId, Full, ImportId, Seen, Shape, Store, StructureId};
pub use tokens::{Name, Packed, Reference, Token, Tokens};
