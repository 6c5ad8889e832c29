//! Arrays of floats that the nodes of a KL1 program share: the native part of the library's module `array`, over the
//! memory of [`dsm`]. It is the only crate that knows both.
//!
//! An array is a term `array(First, Size)`: where it begins in the memory that all nodes have, and how many floats it
//! has. So it goes to other nodes as any term does. `set_element` writes the array in place and gives it back when it
//! has written. What a node wrote before it bound a variable, another node reads after it has seen the value: a message
//! between nodes is a release and an acquire. So programs need neither locks nor barriers.
//!
//! Nodes that do not have one memory have copies of its pages ([`dsm::Asked`]). A goal that touches a page which is
//! missing waits until that has come ([`distant`]), as for a variable; the node reduces others meanwhile and answers
//! other nodes. So nothing faults, and no node waits for another in the middle of something.
//!
//! Invariants:
//! - A1 Each access is to words that were given out, whatever a term says: a term that is made up reads and writes
//!   floats of other arrays at worst.
//! - A2 A kernel's arrays do not overlap where one of them is written; it is looked at before each part of the kernel.

#![forbid(unsafe_code)]

mod builtins;
mod distant;
mod kernels;
mod memory;

pub use builtins::natives;
pub use memory::{Arrays, FILE_BYTES, View};
