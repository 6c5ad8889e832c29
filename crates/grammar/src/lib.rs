//! The tree-sitter grammar of KL1 (`editors/tree-sitter-kl1`), as Rust sees it.
//!
//! Tests use it: they compare the trees with those of `syntax`, and try what stands in `editors/`.
//!
//! Invariant:
//! - G1 The function that the parser exports has no arguments, and answers a table that is never freed: the generator
//!   of tree-sitter promises that.

use tree_sitter_language::LanguageFn;

unsafe extern "C" {
    fn tree_sitter_kl1() -> *const ();
}

/// KL1.
// SAFETY: by G1 it is such a function.
pub const LANGUAGE: LanguageFn = unsafe { LanguageFn::from_raw(tree_sitter_kl1) };

/// Colours.
pub const HIGHLIGHTS: &str = include_str!("../../../editors/tree-sitter-kl1/queries/highlights.scm");
/// Scopes of variables.
pub const LOCALS: &str = include_str!("../../../editors/tree-sitter-kl1/queries/locals.scm");
/// What can be folded.
pub const FOLDS: &str = include_str!("../../../editors/tree-sitter-kl1/queries/folds.scm");
