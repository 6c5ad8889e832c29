//! What editors ask about KL1 texts, by the language server protocol.

#![forbid(unsafe_code)]

pub use lsp_types;
