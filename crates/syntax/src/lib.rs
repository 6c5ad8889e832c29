//! KL1 text to clauses, and terms back to text.

pub mod diagnostic;
pub mod program;
pub mod source;
