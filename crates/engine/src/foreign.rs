//! Predicates that libraries outside Fifth give to programs: *foreign* ones. What they are is data, and their code a
//! function over [`Arguments`]; whoever loads a library makes both (crate `foreign` of those that are written in C).
//!
//! A foreign predicate is a goal like a builtin's: it has a number, waits for its inputs, and errors name it. The
//! numbers come behind those of the library's code, and before the program's, so the library's code stays good.
//!
//! Invariants:
//! - F1 A code is called with its inputs as their modes say. Its outputs are unified when it is done, and never before:
//!   a call that waits, and comes again, has done nothing.
//! - F2 A predicate's number in [`Libraries`] is that of its goal less [`State::first`], at every node.

use crate::functions;
use crate::value::{NODES_MAX, Unfit, Unread, Value, Variables};
use base::lock;
use runtime::builtins::error;
use runtime::native::{Native, Outcome, Seat};
use runtime::node::{Answer, Term, Terms};
use runtime::outcome::{ErrorKind, ProgramError};
use runtime::program::PredicateInfo;
use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use syntax::program::Program;
use term::abi::{Builtin, Place};
use term::{Atom, AtomTable};

/// Arguments of a foreign predicate at most.
pub const ARGUMENTS_MAX: usize = 32;
/// Predicates of a library at most.
pub const PREDICATES_MAX: usize = 4096;
/// Variables of arguments have numbers from here on. Smaller ones in outputs are new.
pub const FIRST_VARIABLE: u32 = 1 << 31;

/// What a call of a foreign predicate comes to.
#[derive(Debug)]
pub enum Reply {
    /// All outputs are set.
    Done,
    /// It is to be called again once this argument, from 0, has a value.
    Wait(usize),
    /// It is to be called again once this variable has a value: one of the numbers that [`Arguments::value`] gave.
    WaitFor(u32),
    /// It fails, and the program with it; this says why. `None`: what it asked last of its arguments was wrong.
    Failed(Option<String>),
}

/// The code of a foreign predicate.
pub type Code = Box<dyn Fn(&mut Arguments<'_, '_>) -> Reply + Send + Sync>;

/// A foreign predicate.
pub struct Predicate {
    /// Its name.
    pub name: String,
    /// A letter for each argument: `i` is bound when the code is called, `g` has no variable in it, `a` is whatever it
    /// is, `o` is made by the code.
    pub modes: String,
    /// Its code, which any worker calls, several of them at a time.
    pub code: Code,
}

/// Foreign predicates of one library, in one module.
pub struct Library {
    /// The library's file.
    pub path: PathBuf,
    /// The module that its predicates belong to.
    pub module: String,
    /// One of them runs at a time.
    pub serial: bool,
    /// In the order of the library.
    pub predicates: Vec<Predicate>,
}

struct Loaded {
    library: Library,
    /// Held while one of its predicates runs, if it is serial.
    turn: Option<Mutex<()>>,
}

/// The libraries of a program. Copies share them.
#[derive(Clone, Default)]
pub struct Libraries(Arc<All>);

#[derive(Default)]
struct All {
    libraries: Vec<Loaded>,
    /// Of each predicate, by its number: its library, and its place there.
    places: Vec<(usize, usize)>,
}

/// What an executable knows of a library.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Signature {
    pub(crate) file: String,
    module: String,
    predicates: Vec<(String, String)>,
}

impl fmt::Debug for Libraries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.paths()).finish()
    }
}

impl Libraries {
    /// These libraries, in this order; or what is wrong with one of them, and what to do.
    pub fn new(libraries: Vec<Library>) -> Result<Libraries, String> {
        let mut modules: Vec<(&str, &Path)> = Vec::new();
        for library in &libraries {
            check(library).map_err(|wrong| format!("{}: {wrong}", library.path.display()))?;
            if let Some((module, other)) = modules.iter().find(|(module, _)| *module == library.module) {
                return Err(format!(
                    "{} and {} both have the module {module}: name one of them only, or rename a module",
                    other.display(),
                    library.path.display()
                ));
            }
            modules.push((&library.module, &library.path));
        }
        let numbered = libraries.iter().enumerate();
        let places =
            numbered.flat_map(|(at, library)| (0..library.predicates.len()).map(move |n| (at, n))).collect();
        let loaded = |library: Library| Loaded { turn: library.serial.then(Mutex::default), library };
        Ok(Libraries(Arc::new(All { libraries: libraries.into_iter().map(loaded).collect(), places })))
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.libraries.is_empty()
    }
    /// Their files.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.0.libraries.iter().map(|loaded| &*loaded.library.path)
    }
    /// The predicate of a number from 0.
    fn get(&self, number: usize) -> Option<(&Loaded, &Predicate)> {
        let &(library, place) = self.0.places.get(number)?;
        let loaded = &self.0.libraries[library];
        Some((loaded, &loaded.library.predicates[place]))
    }
    /// All predicates, by their numbers.
    fn all(&self) -> impl Iterator<Item = (&Loaded, &Predicate)> {
        (0..self.0.places.len()).filter_map(|number| self.get(number))
    }
    /// What the compiler and a node know of them, in the order of their numbers.
    fn natives(&self) -> impl Iterator<Item = Native> {
        self.all().map(|(loaded, predicate)| {
            let signature = Builtin {
                module: loaded.library.module.clone().into(),
                name: predicate.name.clone().into(),
                modes: predicate.modes.replace('g', "i").into(),
                place: Place::Goal,
                daemon: false,
            };
            Native::new(signature, Seat::Noted, predicate.modes.contains('g'), call)
        })
    }
    /// What a node is told of them, behind [`functions::natives`].
    pub(crate) fn infos(&self, atoms: &AtomTable) -> Vec<PredicateInfo> {
        let no_file: Arc<str> = "".into();
        let all = functions::natives().into_iter().chain(self.natives());
        all.map(|native| PredicateInfo::of_native(&native, atoms, no_file.clone())).collect()
    }
    /// Module, name, arity, and the arguments that are waited for, in the order of their numbers.
    pub(crate) fn keys(&self, atoms: &AtomTable) -> Vec<(compiler::PredicateKey, u64)> {
        let key = |info: PredicateInfo| ((info.module, info.name, info.arity as usize), info.awaits);
        self.infos(atoms).into_iter().map(key).collect()
    }
    /// What an executable is to find again.
    pub(crate) fn signatures(&self) -> Vec<Signature> {
        let of = |library: &Library| Signature {
            file: library.path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            module: library.module.clone(),
            predicates: library.predicates.iter().map(|p| (p.name.clone(), p.modes.clone())).collect(),
        };
        self.0.libraries.iter().map(|loaded| of(&loaded.library)).collect()
    }
    /// The program defines a predicate that a library has, too: its name, and the library.
    pub(crate) fn hidden<'p>(
        &self,
        program: &'p Program,
        atoms: &AtomTable,
    ) -> Vec<(&'p syntax::program::Predicate, Atom, PathBuf)> {
        let keys = self.keys(atoms);
        let owner = |key: &compiler::PredicateKey| {
            let number = keys[functions::COUNT..].iter().position(|(known, _)| known == key)?;
            self.get(number).map(|(loaded, _)| loaded.library.path.clone())
        };
        let all =
            program.modules.iter().flat_map(|module| module.predicates.iter().map(|p| (module.name, p)));
        all.filter_map(|(module, p)| Some((p, module, owner(&(module, p.name, p.arity))?))).collect()
    }
}

/// What is wrong with a library, if something is.
fn check(library: &Library) -> Result<(), String> {
    let module = &library.module;
    if module.is_empty() {
        return Err("its module has no name".into());
    }
    let of_builtins = || runtime::builtins::natives().into_iter().chain(arrays::natives(false));
    if library::text(module).is_some()
        || module == functions::MODULE
        || of_builtins().any(|native| *native.signature.module == **module)
    {
        return Err(format!("its module has the name of one of Fifth's own, {module}: give it another"));
    }
    if library.predicates.len() > PREDICATES_MAX {
        return Err(format!("it has more than {PREDICATES_MAX} predicates"));
    }
    let mut seen = BTreeSet::new();
    for Predicate { name, modes, .. } in &library.predicates {
        let shown = format!("{module}:{name}/{}", modes.len());
        if name.is_empty() {
            return Err("one of its predicates has no name".into());
        }
        if modes.len() > ARGUMENTS_MAX {
            return Err(format!(
                "{shown} has more than {ARGUMENTS_MAX} arguments: a vector or structure holds more"
            ));
        }
        if let Some(letter) = modes.chars().find(|letter| !"igao".contains(*letter)) {
            return Err(format!(
                "{shown} has the mode `{letter}`: a mode is `i` (bound), `g` (without variables), `a` (any) or `o` \
                 (output)"
            ));
        }
        if !seen.insert((name, modes.len())) {
            return Err(format!(
                "it has {shown} twice: a name may come again only with another number of arguments"
            ));
        }
    }
    Ok(())
}

/// What a worker knows of foreign predicates.
#[derive(Default)]
pub(crate) struct State {
    /// `None` also while one of them runs.
    pub(crate) libraries: Option<Libraries>,
    /// The number of the first of them.
    pub(crate) first: u32,
}

// ---- calls -----------------------------------------------------------------------------------------

/// The arguments of a call.
pub struct Arguments<'a, 't> {
    terms: &'a mut Terms<'t>,
    modes: &'a [u8],
    inputs: &'a [Term<'t>],
    variables: Variables<'t>,
    /// Of an input: it was looked at, and was a variable.
    unbound: Vec<bool>,
    outputs: Vec<Option<Output>>,
    /// What was wrong last.
    wrong: Option<Box<ProgramError>>,
    /// The run is to end, whatever the code says.
    stopped: bool,
}

enum Output {
    Value(Value),
    Integer(i64),
    Float(f64),
    /// An input, as it is.
    Input(usize),
}

/// An argument is not what it is asked for; the text says how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong(pub String);

impl<'t> Arguments<'_, 't> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.modes.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.modes.is_empty()
    }
    /// Notes what is wrong.
    fn wrong(&mut self, error: Box<ProgramError>) -> Wrong {
        let text = error.message.clone();
        self.wrong = Some(error);
        Wrong(text)
    }
    /// Whether something that it asked of its arguments was wrong.
    pub fn has_wrong(&self) -> bool {
        self.wrong.is_some()
    }
    /// Which input, or else which output, an argument is, from 0.
    fn place(&mut self, index: usize, output: bool) -> Result<usize, Wrong> {
        let is = |mode: &&u8| (**mode == b'o') == output;
        let text = match self.modes.get(index) {
            Some(mode) if is(&mode) => return Ok(self.modes[..index].iter().filter(is).count()),
            Some(_) if output => format!("argument {} is an input: it cannot be set", index + 1),
            Some(_) => format!("argument {} is an output: it cannot be asked for", index + 1),
            None => format!("argument {} is asked for, and there are {}", index + 1, self.modes.len()),
        };
        Err(self.wrong(ProgramError::new(ErrorKind::Other, text)))
    }
    /// An input, dereferenced.
    fn input(&mut self, index: usize) -> Result<Term<'t>, Wrong> {
        let place = self.place(index, false)?;
        let term = self.terms.deref(self.inputs[place]);
        self.unbound[place] |= self.terms.is_variable(term);
        Ok(term)
    }
    fn not(&mut self, index: usize, what: &str, term: Term<'t>) -> Wrong {
        let text = format!("argument {} must be {what}, not {}", index + 1, self.terms.describe(term));
        self.wrong(ProgramError::new(ErrorKind::ArgumentType, text))
    }
    /// An integer of 64 bits.
    pub fn integer(&mut self, index: usize) -> Result<i64, Wrong> {
        let term = self.input(index)?;
        self.terms.small(term).ok_or_else(|| self.not(index, "an integer of 64 bits", term))
    }
    /// A float.
    pub fn float(&mut self, index: usize) -> Result<f64, Wrong> {
        let term = self.input(index)?;
        self.terms.float_value(term).ok_or_else(|| self.not(index, "a float", term))
    }
    /// A copy of an input. A variable in it has a number from [`FIRST_VARIABLE`], the same one in all inputs.
    pub fn value(&mut self, index: usize) -> Result<Value, Wrong> {
        let term = self.input(index)?;
        let read = Value::read_among(self.terms, term, &mut self.variables);
        read.map_err(|unread| {
            self.stopped |= matches!(unread, Unread::Stopped(_));
            self.wrong(unfit(index, unread))
        })
    }
    fn set(&mut self, index: usize, output: Output) -> Result<(), Wrong> {
        let place = self.place(index, true)?;
        self.outputs[place] = Some(output);
        Ok(())
    }
    /// Sets an output. A variable of an input is that variable, any other number a new one.
    pub fn set_value(&mut self, index: usize, value: Value) -> Result<(), Wrong> {
        self.set(index, Output::Value(value))
    }
    /// Sets an output to an integer.
    pub fn set_integer(&mut self, index: usize, value: i64) -> Result<(), Wrong> {
        self.set(index, Output::Integer(value))
    }
    /// Sets an output to a float.
    pub fn set_float(&mut self, index: usize, value: f64) -> Result<(), Wrong> {
        self.set(index, Output::Float(value))
    }
    /// Sets an output to an input as it is, without a copy.
    pub fn set_same(&mut self, index: usize, input: usize) -> Result<(), Wrong> {
        let place = self.place(input, false)?;
        self.set(index, Output::Input(place))
    }
}

/// What is said of an argument that could not be read.
fn unfit(index: usize, unread: Unread) -> Box<ProgramError> {
    let text = match unread {
        Unread::Stopped(error) => return error,
        Unread::Unfit(Unfit::Large) => format!("argument {} has more than {NODES_MAX} parts", index + 1),
        Unread::Unfit(Unfit::Infinite) => format!("argument {} contains itself", index + 1),
    };
    ProgramError::new(ErrorKind::Range, text)
}

/// The code of every foreign predicate.
fn call<'t>(terms: &mut Terms<'t>, inputs: &[Term<'t>], outputs: &mut [Term<'t>]) -> Answer<'t> {
    let number = terms.called().0;
    let State { libraries, first } = terms.state::<State>();
    // F2
    let number = number.wrapping_sub(*first) as usize;
    let Some(taken) = libraries.take() else {
        return error(ErrorKind::UndefinedPredicate, "the library of this predicate is not loaded");
    };
    let answer = match taken.get(number) {
        Some((loaded, predicate)) => call_of(terms, loaded, predicate, inputs, outputs),
        None => error(ErrorKind::UndefinedPredicate, "no library has this predicate"),
    };
    terms.state::<State>().libraries = Some(taken);
    answer
}

/// The same of a predicate.
fn call_of<'t>(
    terms: &mut Terms<'t>,
    loaded: &Loaded,
    predicate: &Predicate,
    inputs: &[Term<'t>],
    outputs: &mut [Term<'t>],
) -> Answer<'t> {
    let modes = predicate.modes.as_bytes();
    loop {
        let mut arguments = Arguments {
            terms,
            modes,
            inputs,
            variables: Variables::from(FIRST_VARIABLE),
            unbound: vec![false; inputs.len()],
            outputs: outputs.iter().map(|_| None).collect(),
            wrong: None,
            stopped: false,
        };
        if let Err(answer) = ground(&mut arguments) {
            return answer;
        }
        let turn = loaded.turn.as_ref().map(lock);
        let reply = (predicate.code)(&mut arguments);
        drop(turn);
        if let Some(error) = arguments.wrong.take_if(|_| arguments.stopped) {
            return Outcome::Error(error);
        }
        let awaited = match reply {
            Reply::Done => return give(arguments, outputs),
            Reply::Failed(Some(text)) => return error(ErrorKind::Other, text),
            Reply::Failed(None) => {
                let none = || ProgramError::new(ErrorKind::Other, "it failed, and gave no reason");
                return Outcome::Error(arguments.wrong.unwrap_or_else(none));
            }
            Reply::Wait(index) => match arguments.place(index, false) {
                Ok(place) if arguments.unbound[place] || arguments.terms.is_variable(inputs[place]) => {
                    inputs[place]
                }
                Ok(_) => {
                    return error(
                        ErrorKind::Other,
                        format!("it waits for argument {}, which has a value", index + 1),
                    );
                }
                Err(Wrong(text)) => {
                    return error(ErrorKind::Other, format!("it waits for what there is not: {text}"));
                }
            },
            Reply::WaitFor(number) => match arguments.variables.term(number) {
                Some(variable) => variable,
                None => return error(ErrorKind::Other, "it waits for a variable that is in no argument"),
            },
        };
        let awaited = arguments.terms.deref(awaited);
        if arguments.terms.is_variable(awaited) {
            return Outcome::Wait(awaited);
        }
        // Another worker has bound it meanwhile.
    }
}

/// F1: an input that is to have no variable is waited for.
fn ground<'t>(arguments: &mut Arguments<'_, 't>) -> Result<(), Answer<'t>> {
    for index in (0..arguments.modes.len()).filter(|&index| arguments.modes[index] == b'g') {
        let place = arguments.place(index, false).expect("it is an input");
        let term = arguments.terms.deref(arguments.inputs[place]);
        let found = Value::first_variable(arguments.terms, term);
        if let Some(variable) = found.map_err(|unread| Outcome::Error(unfit(index, unread)))? {
            return Err(Outcome::Wait(variable));
        }
    }
    Ok(())
}

/// What a call that is done has made.
fn give<'t>(arguments: Arguments<'_, 't>, outputs: &mut [Term<'t>]) -> Answer<'t> {
    let Arguments { terms, modes, inputs, mut variables, outputs: made, .. } = arguments;
    if let Some(missing) = made.iter().position(Option::is_none) {
        let mut places = modes.iter().enumerate().filter(|(_, mode)| **mode == b'o');
        let argument = places.nth(missing).map_or(0, |(index, _)| index + 1);
        return error(ErrorKind::Other, format!("it is done, and has not set argument {argument}"));
    }
    let values =
        made.iter().flatten().map(|output| if let Output::Value(value) = output { value.words() } else { 4 });
    if let Err(error) = terms.ensure(values.sum()) {
        return Outcome::Error(error);
    }
    for (place, output) in outputs.iter_mut().zip(made.into_iter().flatten()) {
        *place = match output {
            Output::Value(value) => value.make_among(terms, &mut variables),
            Output::Integer(value) => terms.int(value),
            Output::Float(value) => terms.float(value),
            Output::Input(input) => inputs[input],
        };
    }
    Outcome::Done
}
