//! Builtins: predicates implemented in Rust.
//!
//! One function serves a builtin wherever it is called: in a guard, at once in a body, or as a goal of its own. The
//! caller dereferences the inputs with mode `i` and waits for them; the function sees them bound. It gives its
//! outputs through a slice; the caller stores them in registers, or unifies them with the goal's arguments.

use crate::reports::outcome::ProgramError;
use crate::worker::Worker;
use std::any::Any;
use term::Word;

/// What became of a builtin.
#[derive(Debug)]
pub enum Outcome<T = Word> {
    /// All outputs are set (guard: it succeeds).
    Done,
    /// A further variable is needed; the builtin will be called again from the start.
    Wait(T),
    /// A guard fails. In a body or as a goal: the goal fails (reduction failure).
    No,
    /// The program is in error and ends.
    Error(Box<ProgramError>),
}

impl<T> From<Box<ProgramError>> for Outcome<T> {
    fn from(error: Box<ProgramError>) -> Outcome<T> {
        Outcome::Error(error)
    }
}

/// The code of a builtin: inputs (modes `i` and `a`, in order), outputs (mode `o`, in order; set all of them before
/// `Done`).
pub(crate) type Run = fn(&mut Worker, &[Word], &mut [Word]) -> Outcome;

/// The code of a process: a builtin, without outputs, whose goal waits for one thing after the other. It gets its
/// goal's record, which was resumed and is private, and goes on as long as the goal only waits again, with another
/// first argument. False if the goal is to be reduced as others are, with the arguments that the record has then.
pub(crate) type Process = fn(&mut Worker, Record) -> bool;

/// The record of a goal (`goals::suspend`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record(pub(crate) usize);

/// A builtin with its code.
#[derive(Clone)]
pub struct Native {
    /// Module, name, modes, place.
    pub signature: term::abi::Builtin,
    /// Its code.
    pub(crate) run: Run,
    /// What its goals do that were resumed.
    pub(crate) process: Option<Process>,
    /// Where its goals are reduced. Guards are evaluated anywhere.
    pub(crate) seat: Seat,
    /// It follows a list that it waits for to the end.
    pub(crate) walks: bool,
}

/// Where goals of a builtin are reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seat {
    /// By any worker.
    Any,
    /// Of a node among several, by the first worker: it looks at terms of other nodes, which that worker knows.
    First,
    /// By the first worker of the first node, which has the outside world.
    Home,
    /// By any worker, as goals only. The worker notes the predicate before it calls the code
    /// ([`Terms::called`](crate::node::Terms::called)), which may be that of several predicates.
    Noted,
}

/// What serves a program's streams: one load away, because messages come by the million.
pub(crate) trait Streams: Any + Send {
    /// Handles the messages that a stream begins with as long as they are quick, `left` at most; answers the rest,
    /// dereferenced: all of them if there is no such stream. `messages` is dereferenced.
    fn quick(&mut self, worker: &mut Worker, place: usize, messages: Word, left: &mut usize) -> Word;
    /// The process of a stream was resumed, most often by a quick message. True if it waits again.
    fn resumed(&mut self, worker: &mut Worker, record: Record) -> bool;
    /// Takes the next byte that a stream has at hand, if nothing else is to be done.
    fn next_byte(&mut self, place: usize) -> Option<u8>;
    /// Whether there are streams whose processes do not wait: see `builtins::io::batches`.
    fn has_batches(&self) -> bool;
    /// Handles the messages that one of those begins with as long as they are quick and only write: the rest.
    fn only_write(&mut self, worker: &mut Worker, place: usize, messages: Word) -> Word;
}

/// Where a worker keeps it.
#[derive(Default)]
pub(crate) struct KeptStreams {
    /// `None` before it is first asked for, and while it is in use.
    pub(super) kept: Option<Box<dyn Streams>>,
    pub(super) made: bool,
}
