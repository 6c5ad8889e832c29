//! The tree-sitter grammar of KL1, as Rust sees it.

pub use tree_sitter_language::LanguageFn;
