//! What can be called before there is a program: what the runtime itself needs, and the builtins.

use crate::builtins::MESSAGES;
use crate::goals::runtime_predicates;
use crate::goals::state::SystemGoals;
use crate::terms::integers;
use crate::worker::native::{Native, Outcome};
use crate::worker::program::{PredicateInfo, Predicates};
use std::sync::Arc;
use term::abi::{BOTTOM, Builtin, INNER, Place, PredicateId};
use term::symbol::AtomTable;

/// The predicates that every node with the same builtins has, under the same numbers. It needs no node, so a program
/// can be compiled that nobody runs.
pub struct Known {
    /// All of them.
    pub predicates: Predicates,
    /// The builtins, with their numbers.
    pub(super) builtins: Vec<(PredicateId, Builtin)>,
    pub(super) system_goals: SystemGoals,
    pub(super) arithmetic_goals: [PredicateId; 12],
}

impl Known {
    /// With these builtins; their names become atoms.
    pub fn new(atoms: &AtomTable, natives: Vec<Native>) -> Known {
        let mut predicates = Predicates::default();
        predicates.reserve(1 + runtime_predicates::COUNT + MESSAGES.len() + natives.len());
        let no_file: Arc<str> = "".into();
        let mut add = |native: Native| {
            let info = PredicateInfo::of_native(&native, atoms, no_file.clone());
            if native.signature.module == INNER { predicates.add_inner(info) } else { predicates.add(info) }
        };
        let bottom = add(runtime_predicates::native(INNER, "bottom", "", |_, _, _| Outcome::Done));
        assert_eq!(bottom, BOTTOM, "the first predicate is the bottom of the goal stack");
        let [at_priority, at_node, at_position, sum, after_collection, unify, mark, gap, external, exported] =
            runtime_predicates::natives().map(&mut add);
        let [foster, daemon, bind, told, hello, done, words, order, lost, lose] =
            MESSAGES.map(|(name, modes, run)| add(runtime_predicates::native(INNER, name, modes, run)));
        debug_assert!(exported < foster, "what nodes say is behind what stays in them");
        let mut builtins = Vec::with_capacity(natives.len());
        for native in natives {
            let signature = native.signature.clone();
            builtins.push((add(native), signature));
        }
        let module = atoms.intern(integers::MODULE.as_bytes());
        let arithmetic_goals = integers::GOALS.map(|(name, modes)| {
            let name = atoms.intern(name.as_bytes());
            // A node without arithmetic (tests) has no code that calls it either.
            predicates.lookup(module, name, modes.len()).unwrap_or(BOTTOM)
        });
        let known =
            [crate::builtins::MERGE_PROCESS, crate::builtins::STREAM_PROCESS, crate::builtins::INSTEAD];
        let [merge, stream, instead] = known.map(|(module, name, arity)| {
            let [module, name] = [module, name].map(|text| atoms.intern(text.as_bytes()));
            predicates.lookup(module, name, arity).unwrap_or(BOTTOM)
        });
        let system_goals = SystemGoals {
            at_priority,
            at_node,
            at_position,
            sum,
            after_collection,
            unify,
            mark,
            gap,
            external,
            exported,
            foster,
            daemon,
            bind,
            told,
            hello,
            done,
            words,
            order,
            lost,
            lose,
            merge,
            stream,
            instead,
        };
        Known { predicates, builtins, system_goals, arithmetic_goals }
    }
    /// All that code may call, in the order of the predicates' numbers from 1.
    pub fn callable(&self, atoms: &AtomTable) -> Vec<Builtin> {
        callable(&self.predicates, &self.builtins, atoms)
    }
}

/// The first of the predicates, up to the last of the builtins.
pub(super) fn callable(
    predicates: &Predicates,
    builtins: &[(PredicateId, Builtin)],
    atoms: &AtomTable,
) -> Vec<Builtin> {
    let (Some((first, _)), Some((last, _))) = (builtins.first(), builtins.last()) else {
        return Vec::new();
    };
    let needed = (1..first.0).map(|number| {
        let info = predicates.get(PredicateId(number));
        Builtin {
            module: atoms.name(info.module).into_owned().into(),
            name: atoms.name(info.name).into_owned().into(),
            modes: "a".repeat(info.arity as usize).into(),
            place: Place::Goal,
            daemon: info.daemon,
        }
    });
    let callable: Vec<Builtin> = needed.chain(builtins.iter().map(|(_, builtin)| builtin.clone())).collect();
    debug_assert_eq!(callable.len(), last.0 as usize, "builtins have consecutive numbers");
    callable
}
