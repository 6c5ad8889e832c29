//! How a run ends, and what a program did wrong: data, which only the command line shows.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What kind of error ended the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ErrorKind {
    /// No clause of a goal can commit.
    ReductionFailure,
    /// Two different terms were unified.
    UnificationFailure,
    /// An argument of a builtin has the wrong type.
    ArgumentType,
    /// An index or count is out of range.
    Range,
    /// A goal is to run at a priority or node that there is not; the goal is that one.
    Placement,
    /// An integer was divided by zero.
    ZeroDivision,
    /// An object has no such method, or the thing is not an object.
    UndefinedMethod,
    /// A predicate was called by name that does not exist.
    UndefinedPredicate,
    /// The heap limit is reached.
    HeapLimit,
    /// Somebody outside ended the run (Ctrl-C); the goal is the one that was next.
    Interrupted,
    /// Whoever read standard output, or standard error, has gone: no fault of the program's.
    ReaderGone,
    /// Anything else; the message says it.
    Other,
}

/// A goal as people see it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoalText {
    /// All of it: `main:p(3,[a|_7])`.
    pub text: String,
    /// The name of its predicate's module.
    pub module: String,
    /// The name of its predicate.
    pub name: String,
    /// Its arguments.
    pub arguments: Vec<ArgumentText>,
}

/// An argument of a goal, cut off when it is deep or long.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArgumentText {
    /// All of it.
    pub text: String,
    /// Of a list: its first item.
    pub first: Option<String>,
}

impl GoalText {
    /// Whether no goal is known.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

impl fmt::Display for GoalText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A program error: everything a message needs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProgramError {
    /// What kind.
    pub kind: ErrorKind,
    /// The goal in question; empty when none is known.
    pub goal: GoalText,
    /// Source file of the goal if it was called inline, else of its predicate; empty when unknown.
    pub file: String,
    /// Line of the goal, or of its predicate's first clause; 0 when unknown.
    pub line: u32,
    /// The predicate in whose clauses that line stands, as text (`main:p/3`), if it is another one than the goal's; if
    /// there is no line, the builtin whose result does not fit; else empty.
    pub within: String,
    /// One sentence.
    pub message: String,
    /// Further lines.
    pub details: Vec<String>,
    /// Goals that waited when somebody ended the run.
    pub waiting: Waiting,
}

/// Goals that wait.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Waiting {
    /// Those to report first, at most some of them.
    pub goals: Vec<SuspendedGoal>,
    /// How many there are.
    pub count: usize,
}

impl Waiting {
    /// Adds those of another node.
    pub fn add(&mut self, mut other: Waiting) {
        let before = self.goals.len();
        other.goals.iter_mut().filter_map(|goal| goal.holder.as_mut()).for_each(|holder| *holder += before);
        self.goals.append(&mut other.goals);
        self.count += other.count;
    }
}

impl ProgramError {
    /// An error with a message; the scheduler adds the goal and its place.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Box<ProgramError> {
        Box::new(ProgramError {
            kind,
            goal: GoalText::default(),
            file: String::new(),
            line: 0,
            within: String::new(),
            message: message.into(),
            details: Vec::new(),
            waiting: Waiting::default(),
        })
    }
    /// The same error with one more line.
    pub fn detail(mut self: Box<Self>, line: impl Into<String>) -> Box<ProgramError> {
        self.details.push(line.into());
        self
    }
}

/// A goal that nothing can resume.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SuspendedGoal {
    /// The goal.
    pub goal: GoalText,
    /// The variables it waits for, as named in the text. A goal and those that wait for what it holds share names.
    pub waits_for: Vec<String>,
    /// The same as numbers: equal ones in what a node says at one time are the same variable.
    pub waits_at: Vec<usize>,
    /// As such numbers, variables that other goals wait for and that it may give values, as far as it leads to them
    /// soon.
    pub holds: Vec<usize>,
    /// What gives them values from outside, as `_1: input from standard input`.
    pub outside: Vec<String>,
    /// As in [`ProgramError`].
    pub file: String,
    /// As in [`ProgramError`].
    pub line: u32,
    /// Which goal of the report holds a variable that it waits for, and does not wait for it itself.
    pub holder: Option<usize>,
    /// Where it waits, if there are several nodes.
    pub node: Option<u32>,
}

/// How a run ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum RunOutcome {
    /// Nothing is ready and nothing waits.
    Success,
    /// The program asked to exit with this status.
    Exit(i32),
    /// The program is in error.
    Failed(Box<ProgramError>),
    /// Nothing is ready, nothing will come from outside, and these goals wait (at most some of them, with their
    /// number).
    Deadlock {
        /// The goals to report first.
        goals: Vec<SuspendedGoal>,
        /// How many there are.
        count: usize,
    },
}

/// Why the program is to end at the next attention of a worker: nothing, while it goes on.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    /// The error that ends it, found where it could not be returned.
    error: Option<Box<ProgramError>>,
    /// It asked to exit.
    exit: Option<i32>,
}

impl Ending {
    /// The program is in error; the first error counts.
    pub(crate) fn fail(&mut self, error: Box<ProgramError>) {
        self.error.get_or_insert(error);
    }
    /// The program asked to exit with this status; the first one counts.
    pub(crate) fn exit(&mut self, status: i32) {
        self.exit.get_or_insert(status);
    }
    pub(crate) fn is_wanted(&self) -> bool {
        self.error.is_some() || self.exit.is_some()
    }
    pub(crate) fn has_failed(&self) -> bool {
        self.error.is_some()
    }
    /// The error, which is forgotten.
    pub(crate) fn take_error(&mut self) -> Option<Box<ProgramError>> {
        self.error.take()
    }
    /// The status, which is forgotten.
    pub(crate) fn take_exit(&mut self) -> Option<i32> {
        self.exit.take()
    }
    /// The run is over.
    pub(crate) fn end_run(&mut self) {
        *self = Ending::default();
    }
}
