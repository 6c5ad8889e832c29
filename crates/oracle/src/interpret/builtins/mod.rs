//! Builtins by topic, and the table that finds them.
//!
//! As in the runtime, one function serves a builtin in guards, in bodies and as a goal: it gets the inputs (modes
//! `i`, bound, and `a`, in order) and answers the outputs (mode `o`, in order).

mod arithmetic;
mod atoms;
mod console;
mod control;
pub(super) mod io;
mod json;
mod maps;
mod merge;
mod objects;
pub(super) mod random;
mod shoen;
mod strings;
mod terms;
mod texts;
pub(super) mod timer;
mod vectors;
mod wrapping;

pub(super) use merge::Merger;

use super::Outcome;
use super::scheduler::Machine;
use super::terms::{Id, Value};
use std::collections::HashMap;
use std::rc::Rc;
use syntax::program::{Term, TermKind};
use term::abi::Place;
use term::{Atom, AtomTable};

/// What became of a builtin.
#[derive(Debug)]
pub(super) enum Step {
    /// The outputs.
    Done(Vec<Id>),
    /// It needs this variable first.
    Wait(Id),
    /// A guard fails; a body goal fails.
    No,
    /// The program is in error.
    Error(String),
    /// The run ends like this.
    End(Outcome),
}

/// The code of a builtin.
pub(super) type Run = fn(&mut Machine, &[Id]) -> Step;

/// A builtin.
pub(super) struct Native {
    pub(super) module: &'static str,
    pub(super) name: String,
    /// As in `term::abi::Builtin`.
    pub(super) modes: String,
    pub(super) place: Place,
    pub(super) daemon: bool,
    pub(super) run: Run,
}

/// A builtin that is no daemon.
pub(super) fn native(module: &'static str, name: &str, modes: &str, place: Place, run: Run) -> Native {
    Native { module, name: name.to_string(), modes: modes.to_string(), place, daemon: false, run }
}

/// All builtins, by the ways to name them.
pub(super) struct Table {
    guards: HashMap<(Atom, usize), Rc<Native>>,
    guard_methods: HashMap<(Atom, usize), Rc<Native>>,
    bodies: HashMap<(Atom, usize), Rc<Native>>,
    named: HashMap<(Atom, Atom, usize), Rc<Native>>,
    generic: Atom,
    new: Atom,
}

impl Table {
    pub(super) fn new(atoms: &AtomTable) -> Table {
        let mut table = Table {
            guards: HashMap::new(),
            guard_methods: HashMap::new(),
            bodies: HashMap::new(),
            named: HashMap::new(),
            generic: atoms.intern(b"generic"),
            new: atoms.intern(b"new"),
        };
        let groups = [
            arithmetic::natives(),
            atoms::natives(),
            console::natives(),
            control::natives(),
            io::natives(),
            json::natives(),
            maps::natives(),
            merge::natives(),
            objects::natives(),
            random::natives(),
            shoen::natives(),
            strings::natives(),
            terms::natives(),
            texts::natives(),
            timer::natives(),
            wrapping::natives(),
            vectors::natives(),
        ];
        for native in groups.into_iter().flatten() {
            table.enter(atoms, native);
        }
        table
    }

    fn enter(&mut self, atoms: &AtomTable, native: Native) {
        let (module, name) = (atoms.intern(native.module.as_bytes()), atoms.intern(native.name.as_bytes()));
        let arity = native.modes.len();
        let inputs = native.modes.bytes().filter(|mode| *mode != b'o').count();
        let native = Rc::new(native);
        match native.place {
            Place::Guard if module == self.generic => {
                self.guard_methods.insert((name, inputs), native);
            }
            Place::Guard => {
                self.guards.insert((name, arity), native);
            }
            Place::Body | Place::Method => {
                if native.place == Place::Body && module != self.generic {
                    self.bodies.insert((name, arity), native.clone());
                }
                self.named.insert((module, name, arity), native);
            }
            Place::Goal => {
                // `apply/2` may be called by its bare name, too.
                if module != self.generic && native.name == "apply" {
                    self.bodies.insert((name, arity), native.clone());
                }
                self.named.insert((module, name, arity), native);
            }
        }
    }

    /// Whether this is the module of methods.
    pub(super) fn is_generic(&self, module: Atom) -> bool {
        module == self.generic
    }
    /// A guard builtin.
    pub(super) fn guard(&self, name: Atom, arity: usize) -> Option<Rc<Native>> {
        self.guards.get(&(name, arity)).cloned()
    }
    /// A guard method, by its number of inputs.
    pub(super) fn guard_method(&self, name: Atom, inputs: usize) -> Option<Rc<Native>> {
        self.guard_methods.get(&(name, inputs)).cloned()
    }
    /// A body builtin, called by its bare name.
    pub(super) fn body(&self, name: Atom, arity: usize) -> Option<Rc<Native>> {
        self.bodies.get(&(name, arity)).cloned()
    }
    /// A builtin of a module that may be tried at once: body builtins and generic methods.
    pub(super) fn method(
        &self,
        atoms: &AtomTable,
        module: Atom,
        name: Atom,
        arguments: &[Term],
    ) -> Option<Rc<Native>> {
        let native = match arguments.first().map(|class| &class.kind) {
            Some(TermKind::Atom(class)) if (module, name) == (self.generic, self.new) => {
                let name = atoms.lookup(format!("new {}", atoms.name(*class)).as_bytes())?;
                self.named.get(&(module, name, arguments.len()))
            }
            _ => self.named.get(&(module, name, arguments.len())),
        };
        native.filter(|native| matches!(native.place, Place::Body | Place::Method)).cloned()
    }
    /// A builtin that can be a goal.
    pub(super) fn named(&self, module: Atom, name: Atom, arity: usize) -> Option<Rc<Native>> {
        self.named.get(&(module, name, arity)).cloned()
    }
    /// The same, by texts.
    pub(super) fn text_named(
        &self,
        atoms: &AtomTable,
        module: &str,
        name: &str,
        arity: usize,
    ) -> Option<Rc<Native>> {
        self.named(atoms.lookup(module.as_bytes())?, atoms.lookup(name.as_bytes())?, arity)
    }
}

/// The one output.
pub(super) fn done(value: Id) -> Step {
    Step::Done(vec![value])
}
/// A test's answer.
pub(super) fn test(condition: bool) -> Step {
    if condition { Step::Done(Vec::new()) } else { Step::No }
}
/// An argument of a wrong type.
pub(super) fn type_error(what: &str) -> Step {
    Step::Error(format!("argument type error: {what}"))
}

impl Machine<'_> {
    /// The value of an input of mode `i`.
    pub(super) fn bound(&self, id: Id) -> &Value {
        self.store.get(id).expect("inputs of mode i are bound before a builtin runs")
    }
    /// An index or count: `None` for what is no integer or out of `0..limit`.
    pub(super) fn index(&self, id: Id, limit: usize) -> Option<usize> {
        match self.bound(id) {
            Value::Int(n) => usize::try_from(*n).ok().filter(|n| *n < limit),
            _ => None,
        }
    }
}
