//! What stands under every face of Fifth: the command, executables, the laboratory, and whatever embeds it.
//!
//! ```text
//! texts --sources--> clauses --compile--> IR --machine--> code, nodes, a run --> its outcome, what was counted
//! ```
//! [`sources`] reads a program through the caller's [`Files`], [`compile()`] lowers it, a [`Machine`] makes code, loads
//! it into nodes and runs it. What is wrong with a text is a list of diagnostics, what goes wrong in a run its outcome,
//! and [`render`] makes texts of both.
//!
//! A command has its thread run a [`Machine`]. Whoever embeds the engine compiles a [`Program`] once and starts
//! [`Session`]s of it, each of which has a thread of its own:
//!
//! ```
//! use engine::{Argument, Hooks, Program, Session, Settings, Texts, Value};
//! let mut texts = Texts::default();
//! texts.add("p.kl1", ":- module main. double(X, Y) :- true | Y := 2 * X.");
//! let settings = Settings { address_space: Some(64 << 30), ..Settings::with_workers(1) };
//! let program = Program::compile(&settings, &["p.kl1".into()], &texts)?;
//! let session = Session::start(&program, &settings, Hooks::default())?;
//! let call = session.call("main", "double", [Argument::In(Value::integer(21)), Argument::Out]);
//! assert_eq!(call.wait()?, [Value::integer(42)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Invariants:
//! - N1 This crate prints nothing, exits nothing, reads no environment, and installs no allocator, panic hook or signal
//!   handler, but for SIGPROF if a run is profiled. It opens files through the caller's [`Files`] only. (Programs that
//!   run do what they say.)
//! - N2 What is wrong is a value. There is one renderer ([`render`]), which returns text.
//! - What programs write to standard output and standard error goes to a [`Sink`], if a session has one, behind the
//!   buffer that all their streams share.
//!
//! Absent on purpose: options, terminals, exit codes.

#![forbid(unsafe_code)]

mod bundle;
mod callers;
mod compile;
mod error;
pub mod foreign;
mod front;
pub mod functions;
pub mod interactive;
mod job;
mod machine;
mod observe;
mod profile;
mod program;
pub mod record;
mod recording;
pub mod render;
mod served;
mod session;
mod settings;
pub mod shown;
mod simulated;
pub mod sources;
mod streams;
pub mod testing;
pub mod timeline;
pub mod value;

pub use arrays::{Arrays, View};
pub use bundle::{EXECUTABLE_CODE, Stored, calls_in, give, libraries_in, received};
pub use callers::{Callers, Calls, Site};
pub use codegen::{CODE_ALIGNMENT, OwnFile};
pub use compile::{Wanted, compile, read};
pub use error::{Error, Unreadable};
pub use foreign::Libraries;
pub use front::Front;
pub use functions::Functions;
pub use job::Job;
#[cfg(feature = "mpi")]
pub use job::other_launcher;
pub use machine::{Compiled, Machine, Stage, Told, Unmade};
pub use observe::{Observer, Others, Seen, Waits};
pub use profile::Times;
pub use program::{NotCompiled, Program, Report};
pub use recording::Recording;
pub use runtime::builtins::io::{Sink, is_message as is_builtin_message, messages as builtin_messages};
pub use session::{Argument, Call, Failure, Hooks, Interrupter, Session};
pub use settings::{NODES_MAX, Nodes, Pages, Settings};
pub use simulated::Simulate;
pub use sources::{Files, Overlay, Texts};
pub use streams::{Closed, Drain, Late, Receiver, Sender, Source, receiver};
pub use value::{Builder, Value};
