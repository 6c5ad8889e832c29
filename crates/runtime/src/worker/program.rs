//! What the runtime knows of a program: predicates, constants, and how to enter generated code.

use crate::worker::native::{Native, Outcome, Process, Run, Seat};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use term::abi::{Place, PredicateId, REGISTER_OUTPUTS, WorkerAbi};
use term::{Atom, AtomTable};

pub use term::constant::Constant;

/// Enters generated code at an entry's address, with the goal on top of the goal stack; comes back with a
/// [`term::abi::Status`] as a number.
pub type Enter = unsafe extern "C" fn(worker: *mut WorkerAbi, entry: usize) -> u64;

/// The code of a node's program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Code {
    pub(crate) enter: Option<Enter>,
    /// The entry of predicates without code of their own.
    pub(crate) native_entry: usize,
    /// The entries' addresses, by predicate number.
    pub(crate) entries: Arc<Vec<usize>>,
}

/// How a builtin's argument is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// `i`: waited for, given to the code.
    Input,
    /// `o`: made by the code.
    Output,
    /// `a`: given to the code, bound or not.
    Any,
}

/// The runtime's implementation of a predicate.
#[derive(Clone, Debug)]
pub struct NativeCode {
    /// Its code.
    pub(crate) run: Run,
    /// What its goals do that were resumed.
    pub(crate) process: Option<Process>,
    /// What its arguments' modes say.
    pub(crate) shape: Shape,
    /// Where it may be called.
    pub place: Place,
    /// Where its goals are reduced.
    pub seat: Seat,
    /// It follows a list that it waits for to the end.
    pub walks: bool,
}

/// A builtin's arguments by number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    /// The inputs (a bit each) that are waited for: none after the first 64.
    pub(crate) awaited: u64,
    /// The arguments (a bit each) that are outputs: none after the first 64.
    pub(crate) made: u64,
    /// They come after all inputs.
    pub(crate) outputs_last: bool,
}

impl Shape {
    fn of(modes: impl Iterator<Item = Mode> + Clone) -> Shape {
        let inputs = modes.clone().filter(|&mode| mode != Mode::Output);
        debug_assert!(inputs.clone().skip(64).all(|mode| mode == Mode::Any));
        debug_assert!(modes.clone().skip(64).all(|mode| mode != Mode::Output));
        let made = modes.clone().take(64).enumerate();
        let awaited = inputs.clone().take(64).enumerate();
        Shape {
            inputs: inputs.clone().count(),
            outputs: modes.clone().filter(|&mode| mode == Mode::Output).count(),
            awaited: awaited.fold(0, |bits, (i, mode)| bits | u64::from(mode == Mode::Input) << i),
            made: made.fold(0, |bits, (i, mode)| bits | u64::from(mode == Mode::Output) << i),
            outputs_last: modes.is_sorted_by_key(|mode| mode == Mode::Output),
        }
    }
}

/// What a call of a builtin with its operands in registers has to know of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) run: Run,
    /// The inputs (a bit each) that are waited for.
    pub(crate) awaited: u8,
    /// A number up to [`REGISTER_OUTPUTS`].
    pub(crate) outputs: u8,
    pub(crate) seat: Seat,
}

/// `outputs & REGISTER_OUTPUTS` is `outputs`.
const _: () = assert!((REGISTER_OUTPUTS + 1).is_power_of_two());

impl Call {
    /// Of a predicate that is none of the runtime's: nobody calls it so.
    const NONE: Call = Call { run: |_, _, _| Outcome::No, awaited: 0, outputs: 0, seat: Seat::Any };

    fn of(code: &NativeCode) -> Call {
        let Shape { outputs, awaited, .. } = code.shape;
        Call { run: code.run, awaited: awaited as u8, outputs: outputs as u8, seat: code.seat }
    }
}

impl NativeCode {
    /// The code of a builtin.
    pub(crate) fn new(native: &Native) -> NativeCode {
        let mode = |letter| match letter {
            b'i' => Mode::Input,
            b'o' => Mode::Output,
            _ => Mode::Any,
        };
        debug_assert!(
            native.signature.modes.bytes().all(|mode| b"iao".contains(&mode)),
            "{:?}",
            native.signature
        );
        let shape = Shape::of(native.signature.modes.bytes().map(mode));
        let Native { run, process, seat, walks, .. } = *native;
        NativeCode { run, process, shape, place: native.signature.place, seat, walks }
    }
}

/// A predicate, as messages and the scheduler know it.
#[derive(Clone, Debug)]
pub struct PredicateInfo {
    /// Its module.
    pub module: Atom,
    /// Its name.
    pub name: Atom,
    /// Number of arguments.
    pub arity: u32,
    /// File of its first clause; empty for builtins.
    pub file: Arc<str>,
    /// Line of its first clause; 0 for builtins.
    pub line: u32,
    /// Its goals may stay suspended at the end.
    pub daemon: bool,
    /// Made by the compiler.
    pub auxiliary: bool,
    /// The arguments (a bit each, of the first 64) without whose values its goals wait.
    pub awaits: u64,
    /// The arguments (a bit each, of the first 64) that its goals read sooner or later.
    pub reads: u64,
    /// Implemented in the runtime.
    pub native: Option<NativeCode>,
}

impl PredicateInfo {
    /// Of a builtin; `no_file` is empty. A node that was made may be given more with a [`Load`].
    pub fn of_native(native: &Native, atoms: &AtomTable, no_file: Arc<str>) -> PredicateInfo {
        let signature = &native.signature;
        PredicateInfo {
            module: atoms.intern(signature.module.as_bytes()),
            name: atoms.intern(signature.name.as_bytes()),
            arity: signature.modes.len() as u32,
            file: no_file,
            line: 0,
            daemon: signature.daemon,
            auxiliary: false,
            awaits: signature.awaits(),
            reads: 0,
            native: Some(NativeCode::new(native)),
        }
    }
    /// What stands at a number whose predicate is not there: no name leads to it, and no goal has it.
    pub fn absent(file: Arc<str>) -> PredicateInfo {
        PredicateInfo {
            module: ABSENT,
            name: ABSENT,
            arity: 0,
            file,
            line: 0,
            daemon: false,
            auxiliary: true,
            awaits: 0,
            reads: 0,
            native: None,
        }
    }
    /// Whether the predicate is not there.
    pub fn is_absent(&self) -> bool {
        self.name == ABSENT
    }
}

/// The number of no atom: tables are smaller.
const ABSENT: Atom = Atom(u32::MAX);

/// What a compiled program (or an increment of one) adds to a node.
#[derive(Debug, Default)]
pub struct Load {
    /// The predicates, with consecutive numbers that continue those of the node.
    pub predicates: Vec<PredicateInfo>,
    /// Addresses of the entries of their code.
    pub entries: Vec<(PredicateId, usize)>,
    /// Constants, with consecutive numbers that continue those of the node.
    pub constants: Vec<Constant>,
}

/// All predicates, by number and by name.
#[derive(Clone, Debug, Default)]
pub struct Predicates {
    infos: Vec<PredicateInfo>,
    arities: Vec<u8>,
    by_name: FxHashMap<(Atom, Atom, u32), PredicateId>,
}

impl Predicates {
    /// Room for this number of predicates more: what grows step by step is copied each time.
    pub(crate) fn reserve(&mut self, more: usize) {
        self.infos.reserve(more);
        self.arities.reserve(more);
        self.by_name.reserve(more);
    }
    /// Adds a predicate under the next number; a later one with the same name hides an earlier one, but one that the
    /// compiler made has no name. Panics above [`term::layout::GOAL_ARITY_MAX`] arguments.
    pub fn add(&mut self, info: PredicateInfo) -> PredicateId {
        let name = (info.module, info.name, info.arity);
        // What the compiler made may have the name of what it stands for.
        let has_name = !info.auxiliary;
        let id = self.add_inner(info);
        if has_name {
            self.by_name.insert(name, id);
        }
        id
    }
    /// Adds a predicate that no program can name.
    pub(crate) fn add_inner(&mut self, info: PredicateInfo) -> PredicateId {
        let id = PredicateId(u32::try_from(self.infos.len()).expect("2^32 predicates exceed memory"));
        let modes = info.native.as_ref().map(|code| code.shape.inputs + code.shape.outputs);
        assert!(
            modes.is_none_or(|modes| modes == info.arity as usize),
            "a builtin of other arguments: {info:?}"
        );
        self.arities.push(u8::try_from(info.arity).expect("GOAL_ARITY_MAX is 255"));
        self.infos.push(info);
        id
    }
    /// A predicate by number. Panics for a number that was never given.
    #[inline(always)]
    pub fn get(&self, id: PredicateId) -> &PredicateInfo {
        &self.infos[id.0 as usize]
    }
    /// A predicate's number of arguments.
    #[inline(always)]
    pub fn arity(&self, id: PredicateId) -> usize {
        self.arities[id.0 as usize] as usize
    }
    /// A predicate's code, if the runtime implements it.
    #[inline(always)]
    pub fn native(&self, id: PredicateId) -> Option<&NativeCode> {
        self.infos[id.0 as usize].native.as_ref()
    }
    /// How builtins are called with their operands in registers, by number.
    pub(crate) fn calls(&self) -> Arc<[Call]> {
        self.infos.iter().map(|info| info.native.as_ref().map_or(Call::NONE, Call::of)).collect()
    }
    /// A predicate by module, name and arity.
    pub fn lookup(&self, module: Atom, name: Atom, arity: usize) -> Option<PredicateId> {
        self.by_name.get(&(module, name, u32::try_from(arity).ok()?)).copied()
    }
    /// True if a module with this name has predicates.
    pub fn has_module(&self, module: Atom) -> bool {
        self.infos.iter().any(|info| info.module == module)
    }
    /// Number of predicates.
    pub fn len(&self) -> usize {
        self.infos.len()
    }
    /// True before any was added.
    pub fn is_empty(&self) -> bool {
        self.infos.is_empty()
    }
}
