//! What is wrong, as text: the one renderer for terminals and all other faces. It returns texts and writes nothing.

pub mod diagnostics;
pub mod endings;
mod excerpt;
pub mod failures;
