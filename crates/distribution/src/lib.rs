//! KL1 between nodes: the tables and messages of the Multi-PSI (Nakajima, Inamura, Rokusawa, Ichiyoshi, Chikayama, "Distributed implementation of
//! KL1 on the Multi-PSI/V2", ICOT TR-486, 1989), without anything that sends, waits or looks at a clock.
//!
//! A node refers to a term of another by an *import*, an unbound variable of its own; the term has an *export* at its home. Data stay where they
//! are until somebody reads them. [`Store`] is what the protocol asks of a node's heap, [`Message`] what nodes tell each other.

#![forbid(unsafe_code)]

mod message;
mod store;
mod tokens;

pub use message::{Item, Items, KINDS, Malformed, Message, NODES_MAX, Reader};
pub use store::{ExportId, Full, ImportId, Seen, Shape, Store, StructureId};
pub use tokens::{Name, Packed, Reference, Token, Tokens};
