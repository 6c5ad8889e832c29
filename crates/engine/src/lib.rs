//! What stands under every face of Fifth: the command, executables, the laboratory, and whatever embeds it.
//!
//! ```text
//! texts --sources--> clauses --compile--> IR --machine--> code, nodes, a run --> its outcome, what was counted
//! ```
//! [`sources`] reads a program through the caller's [`Files`], [`compile`] lowers it, a [`Machine`] makes code, loads
//! it into nodes and runs it. What is wrong with a text is a list of diagnostics, what goes wrong in a run its outcome,
//! and [`render`] makes texts of both.
//!
//! Invariants:
//! - N1 This crate prints nothing, exits nothing, reads no environment, and installs no allocator, panic hook or signal
//!   handler. It opens files through the caller's [`Files`] only. (Programs that run do what they say.)
//! - N2 What is wrong is a value. There is one renderer ([`render`]), which returns text.
//!
//! Absent on purpose: options, terminals, exit codes.

#![forbid(unsafe_code)]

mod bundle;
mod callers;
mod compile;
mod error;
mod front;
mod job;
mod machine;
pub mod record;
mod recording;
pub mod render;
mod served;
mod settings;
pub mod shown;
mod simulated;
pub mod sources;
pub mod timeline;

pub use bundle::{EXECUTABLE_CODE, calls_in, give, received};
pub use callers::{Callers, Calls, Site};
pub use compile::{compile, read};
pub use error::{Error, Unreadable};
pub use front::Front;
pub use job::Job;
#[cfg(feature = "mpi")]
pub use job::other_launcher;
pub use machine::{Compiled, Machine, Stage, Told, Unmade};
pub use recording::Recording;
pub use settings::{NODES_MAX, Nodes, Pages, Settings};
pub use simulated::Simulate;
pub use sources::{Files, Texts};
