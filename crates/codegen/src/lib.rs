//! IR to native code with Cranelift.
//!
//! [`generate`] makes one position-independent blob of machine code, the [`Image`], from a program's components. The
//! blob refers to nothing but itself and the worker whose address every function gets, so the same bytes run wherever
//! they are put: `fifth run` maps them with [`load`], `fifth build` appends them to an executable, and [`Pages`] of the
//! library's code are a part of `fifth`.
//!
//! ```text
//! Image::code   [shared routines][entry stubs][component][component][piece][piece]..
//! ```
//! Invariants:
//! - An entry is `fn(worker, heap, goals)` as `term::abi` says; it keeps no register and runs in the frame that
//!   `enter` made (`x86::frame`).
//! - G2 Only components with floats hold vector registers across a call, and only their low 64 bits: theirs are other
//!   thunks (`x86::stubs`) than those of all others, which save general registers only.
//! - Nothing in the blob is written after it was mapped.
//! - No function of Cranelift is large, however large a component is (`pieces`).
//!
//! Absent on purpose: names of the runtime's functions (helpers are reached through the worker), stack maps (collection
//! happens between reductions), other processors than x86-64 (`processor` says what one
//! needs).

mod arith;
mod build;
mod facts;
mod floats;
mod flow;
mod helpers;
mod image;
mod intrinsics;
mod jit;
mod lower;
mod matching;
mod ops;
mod options;
mod pieces;
mod places;
mod processor;
mod program;
mod range;
mod registers;
mod shape;
mod slots;
mod tables;
mod x86;

pub use image::{BadImage, CODE_ALIGNMENT, Code, Image};
pub use jit::{Enter, InPlace, LoadedCode, OwnFile, PAGE, Pages, load};
pub use options::{Options, Reductions, Workers};
pub use places::CodePlace;
pub use program::{Dump, GenerateError, dump, generate};
