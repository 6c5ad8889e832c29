//! The reference interpreter: what a program means, in the plainest way. It is the oracle of the tests, never an
//! engine.
//!
//! It reduces the clauses of `syntax::program` as they stand, so comparing it with a compiled run checks decision
//! trees, IR, code generation and runtime at once. The outside world is virtual: input, arguments and files are
//! given, output is collected ([`world`]).
//!
//! Semantics, where the language leaves a choice:
//! - O1 Clauses are tried in textual order, tests from left to right; a test that meets an unbound variable blocks its
//!   clause. The goal waits for all variables that blocked a clause ([`guards`]).
//! - O2 After commitment: unifications first, then builtins in textual order, at once when their inputs are there. What
//!   remains runs leftmost first, depth first ([`bodies`]).
//! - O3 Goals resumed by a reduction run before its remaining goals, in the order they had suspended ([`scheduler`]).
//!
//! - O4 A reduction takes a microsecond of virtual time, and time passes at once where nothing is left to reduce
//!   before a timer's end. So a goal that waits for a time by looking at the clock, or by working on, comes to its end.
//!   Timers are looked at every 64 reductions ([`builtins`]), so that those without pause leave room for others.
//!
//! Absent on purpose: sockets, other processes, signals, other nodes, a garbage collector.

mod bodies;
mod builtins;
mod guards;
mod numbers;
mod scheduler;
mod shoens;
mod show;
mod terms;
mod unify;
mod world;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use syntax::program::Program;
use term::AtomTable;

/// What a run gets from outside, and its limits.
#[derive(Clone, Debug)]
pub struct Options {
    /// Program arguments.
    pub arguments: Vec<Vec<u8>>,
    /// Everything that standard input will give.
    pub stdin: Vec<u8>,
    /// Environment variables.
    pub environment: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The files there are at first, by path.
    pub files: BTreeMap<Vec<u8>, Vec<u8>>,
    /// In which order ready goals run.
    pub schedule: Schedule,
    /// Reductions (and steps inside long unifications) after which the run is given up.
    pub step_limit: u64,
}

impl Options {
    /// No input, no arguments, no files.
    pub fn bare(step_limit: u64) -> Options {
        Options {
            arguments: Vec::new(),
            stdin: Vec::new(),
            environment: BTreeMap::new(),
            files: BTreeMap::new(),
            schedule: Schedule::Textual,
            step_limit,
        }
    }
}

/// Which goal is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// O2 and O3, by priority.
    Textual,
    /// Any ready goal, whatever its priority; builtins are goals, too. The number decides. For finding out whether a
    /// program's result depends on the order.
    Shuffled(u64),
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing is left to do.
    Success,
    /// `unix:exit(N)`.
    Exit(i32),
    /// A goal, shown here, has no clause that commits, or two terms do not unify.
    Failure {
        /// `main:p(3)`.
        goal: String,
    },
    /// Any other error of the program.
    Error {
        /// What is wrong.
        message: String,
    },
    /// Goals wait for variables that nobody can bind.
    Deadlock {
        /// All of them, in the order they suspended.
        goals: Vec<String>,
    },
    /// The step limit was reached.
    StepLimit,
    /// The program asks for something that the oracle does not have (sockets, processes).
    Unsupported {
        /// What it was.
        what: String,
    },
}

impl Outcome {
    /// The exit status that `fifth run` has for such an end; `None` where the oracle gave up.
    pub fn exit_status(&self) -> Option<i32> {
        match self {
            Outcome::Success => Some(0),
            Outcome::Exit(status) => Some(status & 255),
            Outcome::Failure { .. } | Outcome::Error { .. } | Outcome::Deadlock { .. } => Some(255),
            Outcome::StepLimit | Outcome::Unsupported { .. } => None,
        }
    }
}

/// A finished run.
#[derive(Clone, Debug)]
pub struct Report {
    /// How it ended.
    pub outcome: Outcome,
    /// What was written to standard output.
    pub stdout: Vec<u8>,
    /// What the program wrote to standard error (messages about the outcome are not in it).
    pub stderr: Vec<u8>,
    /// The files there are at the end.
    pub files: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Reductions made.
    pub steps: u64,
}

/// Runs `main:main` of a program without error diagnostics. Library modules must be among its modules.
pub fn run(program: &Program, atoms: &AtomTable, options: Options) -> Report {
    scheduler::Machine::new(program, atoms, options).run()
}

/// The kind of an error, by its message.
fn error_kind(message: &str) -> &'static str {
    const KINDS: [(&str, &str); 7] = [
        ("division by zero", "zero_division"),
        ("argument type error", "argument_type"),
        ("undefined method", "undefined_method"),
        ("arity mismatch", "range"),
        ("shift count", "range"),
        ("index out of range", "range"),
        ("illegal data unified with merger", "argument_type"),
    ];
    KINDS.iter().find(|(begin, _)| message.starts_with(begin)).map_or("other", |(_, kind)| kind)
}
