//! What names mean: builtins, predicates compiled earlier, and the predicates of this program.

use crate::Options;
use crate::program::constants::Predicates;
use rustc_hash::FxHashMap;
use syntax::program::{Call, GoalKind, Module, Predicate, Program};
use term::abi::{Builtin, INNER, Place, PredicateId};
use term::{Atom, AtomTable};

/// Index of a predicate of the program (all modules in order).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Index(pub(crate) u32);

/// What a body goal calls.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Callee<'a> {
    /// A builtin that is tried at once.
    Inline(PredicateId, &'a Builtin),
    /// A builtin or earlier predicate that is a goal of its own.
    Other(PredicateId),
    /// A predicate of this program.
    User(Index),
}

/// Module, name and arity.
pub(crate) type Key = (Atom, Atom, usize);

/// A predicate that has code already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Earlier {
    /// Its number.
    pub id: PredicateId,
    /// As [`Predicate::awaits`](crate::ir::Predicate::awaits) says.
    pub awaits: u64,
    /// As [`Predicate::reads`](crate::ir::Predicate::reads) says.
    pub reads: u64,
}

/// All names of a compilation.
pub(crate) struct Names<'a> {
    /// Bare names of body builtins.
    body: FxHashMap<(Atom, usize), (PredicateId, &'a Builtin)>,
    guard: FxHashMap<(Atom, usize), (PredicateId, &'a Builtin)>,
    qualified: FxHashMap<Key, (PredicateId, &'a Builtin)>,
    qualified_guard: FxHashMap<Key, (PredicateId, &'a Builtin)>,
    /// What modules of the library are called that have another name here, because the program has that one. Their
    /// builtins have the usual one.
    usual: FxHashMap<Atom, Atom>,
    earlier: &'a FxHashMap<Key, Earlier>,
    /// What the library has of a name ([`Known::library`](crate::Known::library)).
    pub(crate) library: fn(&str) -> Vec<(&'static str, &'static str)>,
    /// Predicates of the program, with their modules.
    pub(crate) predicates: Vec<(&'a Module, &'a Predicate)>,
    defined: FxHashMap<Key, Index>,
    numbers: Vec<Option<PredicateId>>,
    /// Atoms that the compiler itself looks for.
    pub(crate) generic: Atom,
}

impl<'a> Names<'a> {
    pub(crate) fn new(program: &'a Program, options: &Options<'a>, atoms: &AtomTable) -> Names<'a> {
        let mut names = Names {
            body: FxHashMap::default(),
            guard: FxHashMap::default(),
            qualified: FxHashMap::default(),
            qualified_guard: FxHashMap::default(),
            usual: FxHashMap::default(),
            earlier: options.known.predicates,
            library: options.known.library,
            predicates: Vec::new(),
            defined: FxHashMap::default(),
            numbers: Vec::new(),
            generic: atoms.intern(b"generic"),
        };
        for (index, builtin) in options.known.builtins.iter().enumerate() {
            names.add_builtin(PredicateId(1 + index as u32), builtin, atoms);
        }
        for module in &program.modules {
            if let Some(usual) = atoms.text(module.name).strip_prefix(b"library:") {
                names.usual.insert(module.name, atoms.intern(usual));
            }
            for predicate in &module.predicates {
                let index = Index(names.predicates.len() as u32);
                names.predicates.push((module, predicate));
                names.defined.entry((module.name, predicate.name, predicate.arity)).or_insert(index);
            }
        }
        names.numbers = vec![None; names.predicates.len()];
        names
    }
    fn add_builtin(&mut self, id: PredicateId, builtin: &'a Builtin, atoms: &AtomTable) {
        if builtin.module == INNER {
            return;
        }
        let module = atoms.intern(builtin.module.as_bytes());
        let name = atoms.intern(builtin.name.as_bytes());
        let arity = builtin.modes.len();
        if builtin.place == Place::Guard {
            self.guard.entry((name, arity)).or_insert((id, builtin));
            self.qualified_guard.insert((module, name, arity), (id, builtin));
            return;
        }
        // Methods are called through `generic` only.
        if builtin.place == Place::Body && module != self.generic {
            self.body.entry((name, arity)).or_insert((id, builtin));
        }
        self.qualified.insert((module, name, arity), (id, builtin));
    }
    /// A builtin by its module.
    fn qualified(&self, (module, name, arity): Key) -> Option<(PredicateId, &'a Builtin)> {
        let module = self.usual.get(&module).copied().unwrap_or(module);
        self.qualified.get(&(module, name, arity)).copied()
    }
    /// A bare guard builtin.
    pub(crate) fn guard(&self, name: Atom, arity: usize) -> Option<(PredicateId, &'a Builtin)> {
        self.guard.get(&(name, arity)).copied()
    }
    /// A guard method: one of module `generic`, or a bare guard builtin of that name.
    pub(crate) fn guard_method(&self, name: Atom, arity: usize) -> Option<(PredicateId, &'a Builtin)> {
        self.qualified_guard.get(&(self.generic, name, arity)).copied().or_else(|| self.guard(name, arity))
    }
    /// A body builtin by its bare name.
    pub(crate) fn body(&self, name: Atom, arity: usize) -> Option<(PredicateId, &'a Builtin)> {
        self.body.get(&(name, arity)).copied()
    }
    /// A body builtin as a call in the module `within` names it: bare or through a module.
    pub(crate) fn builtin(
        &self,
        within: Atom,
        module: Option<Atom>,
        name: Atom,
        arity: usize,
    ) -> Option<(PredicateId, &'a Builtin)> {
        let found = match module {
            None if self.is_own(within, name, arity) => None,
            None => self.body(name, arity),
            Some(module) => self.qualified((module, name, arity)),
        };
        found.filter(|(_, builtin)| matches!(builtin.place, Place::Body | Place::Method))
    }
    /// A predicate of the program.
    pub(crate) fn defined(&self, module: Atom, name: Atom, arity: usize) -> Option<Index> {
        self.defined.get(&(module, name, arity)).copied()
    }
    /// Whether a module has a predicate of this name itself, now or from earlier. Plain calls there mean it, and no
    /// builtin.
    fn is_own(&self, module: Atom, name: Atom, arity: usize) -> bool {
        let key = (module, name, arity);
        self.defined.contains_key(&key) || self.earlier.contains_key(&key)
    }
    /// What a call in `module` means; `None` if nothing.
    pub(crate) fn callee(&self, module: Atom, call: &Call) -> Option<Callee<'a>> {
        let arity = call.arguments.len();
        if call.module.is_none()
            && !self.is_own(module, call.name, arity)
            && let Some((id, builtin)) = self.body(call.name, arity)
        {
            return Some(Callee::Inline(id, builtin));
        }
        let key = (call.module.unwrap_or(module), call.name, arity);
        if let Some(&index) = self.defined.get(&key) {
            return Some(Callee::User(index));
        }
        if let Some(earlier) = self.earlier.get(&key) {
            return Some(Callee::Other(earlier.id));
        }
        let (id, builtin) = self.qualified(key)?;
        Some(match builtin.place {
            Place::Body | Place::Method => Callee::Inline(id, builtin),
            Place::Goal | Place::Guard => Callee::Other(id),
        })
    }
    /// All that can be called with its module, with repetitions.
    pub(crate) fn callable(&self) -> impl Iterator<Item = &Key> {
        self.defined.keys().chain(self.qualified.keys()).chain(self.earlier.keys())
    }
    /// Names and arities of body builtins that need no module.
    pub(crate) fn bare(&self) -> impl Iterator<Item = (Atom, usize)> {
        self.body.keys().copied()
    }
    /// Names and arities of guard builtins.
    pub(crate) fn guards(&self) -> impl Iterator<Item = (Atom, usize)> {
        self.guard.keys().copied()
    }
    /// Whether code is wanted for a predicate.
    pub(crate) fn is_compiled(&self, index: Index) -> bool {
        self.numbers[index.0 as usize].is_some()
    }
    /// The number of a predicate of the program. Panics if it is not compiled.
    pub(crate) fn id(&self, index: Index) -> PredicateId {
        self.numbers[index.0 as usize].expect("only predicates that are compiled are called by compiled ones")
    }
    /// Numbers the predicates that the roots reach (all of them without roots), from `first`; returns them in order.
    pub(crate) fn number(&mut self, roots: Option<&[Key]>, first: u32) -> Vec<Index> {
        let mut reached = vec![roots.is_none(); self.predicates.len()];
        let mut work: Vec<Index> = Vec::new();
        for root in roots.unwrap_or_default() {
            work.extend(self.defined.get(root));
        }
        while let Some(index) = work.pop() {
            if std::mem::replace(&mut reached[index.0 as usize], true) {
                continue;
            }
            let (module, predicate) = self.predicates[index.0 as usize];
            self.mentions(module.name, predicate, &mut |callee| work.push(callee));
        }
        let compiled: Vec<Index> =
            (0..reached.len() as u32).filter(|&i| reached[i as usize]).map(Index).collect();
        for (position, index) in compiled.iter().enumerate() {
            self.numbers[index.0 as usize] = Some(PredicateId(first + position as u32));
        }
        compiled
    }
    /// Calls `found` for each predicate of the program that a predicate calls or has as a constant.
    fn mentions(&self, module: Atom, predicate: &Predicate, found: &mut dyn FnMut(Index)) {
        for clause in &predicate.clauses {
            let constants = clause.predicates();
            constants
                .filter_map(|(module, name, arity, _)| self.defined(module, name, arity))
                .for_each(&mut *found);
            for goal in &clause.body {
                if let GoalKind::Call(call) = &goal.kind
                    && let Some(Callee::User(index)) = self.callee(module, call)
                {
                    found(index);
                }
            }
        }
    }
}

impl Predicates for Names<'_> {
    fn number(&self, module: Atom, name: Atom, arity: usize) -> Option<PredicateId> {
        let key = (module, name, arity);
        if let Some(&index) = self.defined.get(&key) {
            // Of a predicate that is not compiled only messages are wanted, never code.
            return Some(self.numbers[index.0 as usize].unwrap_or(term::abi::BOTTOM));
        }
        let earlier = self.earlier.get(&key).map(|earlier| earlier.id);
        earlier.or_else(|| self.qualified(key).map(|found| found.0))
    }
}
