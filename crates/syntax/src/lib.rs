//! KL1 text to clauses, and terms back to text.
//!
//! Source files: [`read_program`]. Terms at run time: [`lexer::TermScanner`] finds where a term ends in a
//! stream, [`parse_term`] reads it. Both report what is wrong as data and never panic, whatever the bytes.
//!
//! Absent on purpose: which builtins and predicates exist (the compiler), how anything runs.

#![forbid(unsafe_code)]

pub mod diagnostic;
pub mod documentation;
pub mod dump;
pub mod format;
pub mod fuzzing;
pub mod habits;
pub mod json;
pub mod json_stream;
pub mod lexer;
pub mod number;
pub mod operators;
pub mod parser;
pub mod pieces;
pub mod pretty;
pub mod print;
pub mod program;
pub mod source;
pub mod syntax_error;
pub mod template;
pub mod tree;
pub mod views;
pub mod written;

mod circles;
mod clauses;
mod escapes;
mod hints;
mod macros;

pub use clauses::read_program;
pub use parser::{parse_term, parse_tokens};
pub use syntax_error::SyntaxError;
