//! Programs that can run and do not mean what they say: terms where numbers are wanted, messages that nobody takes,
//! predicates that nobody calls.
//!
//! Each rule says only what is certain of every run that comes there, or what is a slip in all programs that were read
//! for it; a test holds the programs of this repository against all of them.

mod arguments;
pub(crate) mod messages;
pub(crate) mod numbers;
pub(crate) mod templates;
pub(crate) mod unused;
mod variables;
