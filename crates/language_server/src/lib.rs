//! What editors ask about KL1 texts, by the language server protocol.
//!
//! ```text
//! bytes --transport--> messages --server--> texts, outlines, checks --> answers, diagnostics
//! ```
//! A text has an outline: what it defines and where names stand, from its own clauses only. Definitions, references,
//! symbols and the like come from outlines. Diagnostics, and what arguments wait for, come from a check of the program
//! that the text begins: the engine compiles it, and the modules that it calls, as unsaved texts and files have them.
//!
//! A module is looked for as `fifth` looks for it: in the text itself, in the file of its name beside it, in the
//! library; before the library, also in the other files beside it, because a command may name several.
//!
//! Invariants:
//! - Whatever comes from the client is answered or left alone: [`serve`] ends when the client says so, or when there
//!   is nobody to write to.
//! - E2 Places are bytes of a text as the compiler reads it; [`text::Text`] alone knows those of the protocol.
//! - This crate opens no files: the [`Host`] does.
//!
//! Absent on purpose: threads that check (a check of 5,000 lines takes some 30 ms), and options.

#![forbid(unsafe_code)]

mod check;
mod completion;
mod cursor;
mod fixes;
pub mod fuzzing;
mod hover;
mod navigate;
mod outline;
mod rename;
mod server;
mod symbols;
mod text;
mod transport;
mod workspace;

pub use server::serve;

use engine::Files;
use std::path::{Path, PathBuf};

/// What a server asks of its process.
pub trait Host: Files {
    /// The KL1 files of a folder, and of those in it if `deep`.
    fn texts_in(&self, folder: &Path, deep: bool) -> Vec<PathBuf>;
    /// A file with the text of this module of the library, so that an editor can show it.
    fn library_file(&self, module: &str, text: &str) -> Option<PathBuf>;
}
