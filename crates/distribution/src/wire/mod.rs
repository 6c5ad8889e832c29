//! Messages about terms as words: what nodes tell each other, and how terms travel.
//!
//! For: messages of the protocol (`message`), and terms inside them (`tokens`).
//! It may know: numbers of nodes, exports and imports.
//! It never: sends anything, or looks at a heap.

pub(crate) mod message;
pub(crate) mod tokens;
