//! Functions of whoever embeds the engine, which a program calls: `python:call(F,Args,R)`.
//!
//! A goal hands its arguments over, and the node goes on. The answer comes from any thread, and is bound when the first
//! worker looks. Until then the call is a pending event: nothing that waits for it is said to wait for ever.

use crate::streams::{Doorbell, Lists, Mailbox};
use crate::value::{Unfit, Unread, Value, Variables};
use base::lock;
use runtime::builtins::error;
use runtime::native::{Native, Outcome, Seat};
use runtime::node::{Answer as Answered, Term, Terms};
use runtime::outcome::{ErrorKind, ProgramError};
use runtime::terms::View;
use std::sync::{Arc, Mutex};
use term::abi::{Builtin, Place};

/// Functions that a session's program may call.
pub trait Functions: Send + Sync {
    /// Begins a call, and comes back at once: somebody else computes, and answers. The name, and the list of arguments,
    /// which has no variable in it.
    fn begin(&self, function: Vec<u8>, arguments: Value, answer: Answer);
}

/// Where the answer of a call goes.
pub struct Answer {
    number: u64,
    mailbox: Mailbox,
    bell: Doorbell,
    given: bool,
}

impl Answer {
    /// The call is over: `normal(Value)`, or `abnormal(Reason)`. Does nothing if the run has ended.
    pub fn give(mut self, answer: Result<Value, Value>) {
        let (name, value) = match answer {
            Ok(value) => ("normal", value),
            Err(reason) => ("abnormal", reason),
        };
        self.put(Value::structure(name, [value]));
    }
    fn put(&mut self, value: Value) {
        self.given = true;
        self.mailbox.answer(self.number, value);
        self.bell.ring();
    }
}

/// What a function raised, as a reason.
pub fn exception(class: &str, text: &str) -> Value {
    Value::structure("exception", [class, text].map(Value::string))
}

impl Drop for Answer {
    /// Nobody gave one.
    fn drop(&mut self) {
        if !self.given {
            let reason = exception("RuntimeError", "the call was left without an answer");
            self.put(Value::structure("abnormal", [reason]));
        }
    }
}

/// What a session's first worker knows of them.
#[derive(Clone)]
pub(crate) struct Calls {
    pub(crate) functions: Arc<dyn Functions>,
    pub(crate) lists: Arc<Mutex<Lists>>,
    pub(crate) mailbox: Mailbox,
    pub(crate) bell: Doorbell,
}

/// None where nobody gives functions.
#[derive(Default)]
pub(crate) struct State(pub(crate) Option<Calls>);

/// The module of the predicate that calls them.
pub(crate) const MODULE: &str = "python";
/// What waits for an answer: a run does not end while a goal waits for what is pending.
const WAITS: &str = "answered";
/// How many [`natives`] there are.
pub(crate) const COUNT: usize = 2;

/// The predicate that calls them, where the outside world is, and the one that waits for an answer.
pub(crate) fn natives() -> [Native; COUNT] {
    let signature = |name: &'static str, modes: &'static str| Builtin {
        module: MODULE.into(),
        name: name.into(),
        modes: modes.into(),
        place: Place::Goal,
        daemon: false,
    };
    [
        Native::new(signature("call", "iia"), Seat::Home, false, call),
        Native::new(signature(WAITS, "i"), Seat::Any, false, answered),
    ]
}

/// `python:answered(R)`.
fn answered<'t>(_: &mut Terms<'t>, _: &[Term<'t>], _: &mut [Term<'t>]) -> Answered<'t> {
    Outcome::Done
}

/// `python:call(F,Args,R)`.
fn call<'t>(terms: &mut Terms<'t>, inputs: &[Term<'t>], _: &mut [Term<'t>]) -> Answered<'t> {
    begin(terms, inputs).err().unwrap_or(Outcome::Done)
}

fn begin<'t>(terms: &mut Terms<'t>, inputs: &[Term<'t>]) -> Result<(), Answered<'t>> {
    let function = match terms.view(inputs[0]) {
        View::Atom(name) => terms.atoms().text(name).to_vec(),
        _ => terms.string_bytes(inputs[0]).ok_or_else(|| terms.wrong(1, "a name", inputs[0]))?,
    };
    terms.list_items(2, inputs[1])?;
    if let Some(variable) = Value::first_variable(terms, inputs[1]).map_err(unread)? {
        return Err(Outcome::Wait(variable));
    }
    let arguments = Value::read_among(terms, inputs[1], &mut Variables::default()).map_err(unread)?;
    let Some(calls) = terms.state::<State>().0.clone() else {
        let text = "there is no Python here: a program calls it in a session that Python has started";
        return Err(error(ErrorKind::Other, text));
    };
    let what = format!("the answer of Python's function {}", String::from_utf8_lossy(&function));
    let root = terms.root(inputs[2]);
    let number = lock(&calls.lists).call(root, what);
    let atoms = terms.atoms();
    let waits = terms.predicates().lookup(atoms.intern(MODULE.as_bytes()), atoms.intern(WAITS.as_bytes()), 1);
    if let Some(waits) = waits {
        terms.spawn(waits, &inputs[2..]);
    }
    let (mailbox, bell) = (calls.mailbox, calls.bell);
    calls.functions.begin(function, arguments, Answer { number, mailbox, bell, given: false });
    Ok(())
}

fn unread<'t>(unread: Unread) -> Answered<'t> {
    Outcome::Error(match unread {
        Unread::Stopped(error) => error,
        Unread::Unfit(Unfit::Large) => ProgramError::new(ErrorKind::Range, "argument 2 is too large"),
        Unread::Unfit(Unfit::Infinite) => ProgramError::new(ErrorKind::Range, "argument 2 contains itself"),
    })
}
