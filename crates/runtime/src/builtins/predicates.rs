//! Predicate and module objects: making, asking, calling.

use super::{Row, attempt, body, decide, error, guard, integer, known, wrong};
use crate::reports::outcome::ErrorKind;
use crate::worker::Worker;
use crate::worker::native::{Native, Outcome, Seat};
use term::abi::{Builtin, Place, PredicateId};
use term::{Atom, Word};

/// `generic:call` takes a predicate and at most this number of arguments.
const CALL_ARGUMENTS_MAX: usize = 32;

/// What an argument must be that is called.
const EXPECTED: &str = "a predicate, as `predicate#(module:name/arity)`";

fn predicate(worker: &Worker, position: usize, word: Word) -> Result<PredicateId, Outcome> {
    let word = known(word)?;
    worker.predicate_value(word).ok_or_else(|| wrong(worker, position, EXPECTED, word))
}

/// `m:p/2`
fn text(worker: &Worker, id: PredicateId) -> String {
    let info = worker.predicates.get(id);
    format!("{}:{}/{}", worker.atoms.name(info.module), worker.atoms.name(info.name), info.arity)
}

fn start(worker: &mut Worker, id: PredicateId, args: &[Word]) -> Outcome {
    let arity = worker.predicates.get(id).arity as usize;
    if arity != args.len() {
        let message = format!("arity mismatch: {} is called with {} arguments", text(worker, id), args.len());
        return error(ErrorKind::Range, message);
    }
    worker.spawn(id, args);
    Outcome::Done
}

/// `generic:call(P,A1,..,An)`.
fn call(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    let id = attempt!(predicate(worker, 1, inputs[0]));
    start(worker, id, &inputs[1..])
}

/// `apply(P,{A1,..,An})`.
fn apply(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    let id = attempt!(predicate(worker, 1, inputs[0]));
    let args = attempt!(known(inputs[1]));
    let Some(args) = worker.vector_elements(args) else {
        return wrong(worker, 2, "a vector of arguments", args);
    };
    start(worker, id, &args)
}

fn arity(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let id = attempt!(predicate(worker, 1, inputs[0]));
    outputs[0] = Word::small(worker.predicates.get(id).arity.into());
    Outcome::Done
}

fn guard_arity(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let Some(id) = worker.predicate_value(inputs[0]) else { return Outcome::No };
    outputs[0] = Word::small(worker.predicates.get(id).arity.into());
    Outcome::Done
}

/// `generic:name(X,A)`: of a predicate or a module.
fn name(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let name = match worker.module_value(inputs[0]) {
        Some(name) => name,
        None => match worker.predicate_value(inputs[0]) {
            Some(id) => worker.predicates.get(id).name,
            None => return wrong(worker, 1, "a predicate or module object", inputs[0]),
        },
    };
    outputs[0] = Word::atom(name);
    Outcome::Done
}

/// `generic:module(P,M)`.
fn module_of(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let id = attempt!(predicate(worker, 1, inputs[0]));
    let name = worker.predicates.get(id).module;
    outputs[0] = worker.module_object(name);
    Outcome::Done
}

fn is_predicate(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    decide(worker.predicate_value(inputs[0]).is_some())
}

fn is_module(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    decide(worker.module_value(inputs[0]).is_some())
}

/// `module(M,M2)` in guards: a module object, again.
fn guard_module(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    outputs[0] = inputs[0];
    is_module(worker, inputs, &mut [])
}

/// `module(M,M2)` in bodies.
fn body_module(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    if worker.module_value(inputs[0]).is_none() {
        return wrong(worker, 1, "a module object", inputs[0]);
    }
    outputs[0] = inputs[0];
    Outcome::Done
}

/// `code(P,M,N,A)`: module, name and arity of a predicate object.
fn parts(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let id = attempt!(predicate(worker, 1, inputs[0]));
    let info = worker.predicates.get(id);
    let (module, name, arity) = (info.module, info.name, info.arity);
    outputs[0] = worker.module_object(module);
    outputs[1] = Word::atom(name);
    outputs[2] = Word::small(arity.into());
    Outcome::Done
}

fn guard_parts(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    if worker.predicate_value(inputs[0]).is_none() {
        return Outcome::No;
    }
    parts(worker, inputs, outputs)
}

/// `generic:defined(M,P,A)`.
fn defined(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    let found = (|| {
        let module = worker.module_value(inputs[0])?;
        let name = worker.atom_value(inputs[1])?;
        let arity = usize::try_from(worker.small(inputs[2])?).ok()?;
        worker.predicates.lookup(module, name, arity)
    })();
    decide(found.is_some())
}

/// `generic:new(module, M, Name)`.
pub(super) fn module(worker: &mut Worker, name: Word) -> Result<Word, Outcome> {
    let name = known(name)?;
    let Some(name) = worker.atom_value(name) else { return Err(wrong(worker, 3, "an atom", name)) };
    if !worker.predicates.has_module(name) {
        let message = format!("there is no module {} in this program", worker.atoms.name(name));
        return Err(error(ErrorKind::UndefinedPredicate, message));
    }
    Ok(worker.module_object(name))
}

/// `generic:new(predicate, P, M, Name, Arity)`; M is a module object or its name.
pub(super) fn create(worker: &mut Worker, module: Word, name: Word, arity: Word) -> Result<Word, Outcome> {
    let (module, name) = (known(module)?, known(name)?);
    let module = match worker.module_value(module).or_else(|| worker.atom_value(module)) {
        Some(module) => module,
        None => return Err(wrong(worker, 3, "a module", module)),
    };
    let Some(name) = worker.atom_value(name) else { return Err(wrong(worker, 4, "an atom", name)) };
    let arity = integer(worker, 5, arity)?;
    let found = usize::try_from(arity).ok().and_then(|arity| worker.predicates.lookup(module, name, arity));
    match found {
        Some(id) => Ok(worker.predicate_object(id)),
        None => Err(error(
            ErrorKind::UndefinedPredicate,
            format!(
                "there is no predicate {}:{}/{arity}",
                worker.atoms.name(module),
                worker.atoms.name(name)
            ),
        )),
    }
}

/// The number of a native predicate of the library that other natives start.
pub(super) fn library(worker: &mut Worker, module: &str, name: &str, arity: usize) -> PredicateId {
    let (module, name): (Atom, Atom) = (worker.intern(module), worker.intern(name));
    worker.predicates.lookup(module, name, arity).expect("natives are loaded before any of them runs")
}

/// `current_node(Me,Total)`.
fn current_node(worker: &mut Worker, _: &[Word], outputs: &mut [Word]) -> Outcome {
    outputs[0] = Word::small(worker.options.node.into());
    outputs[1] = Word::small(worker.options.nodes.into());
    Outcome::Done
}

fn current_priority(worker: &mut Worker, _: &[Word], outputs: &mut [Word]) -> Outcome {
    outputs[0] = Word::small(worker.priority());
    Outcome::Done
}

/// `generic:call/N` for every number of arguments.
pub(super) fn calls() -> impl Iterator<Item = Native> {
    (0..=CALL_ARGUMENTS_MAX).map(|count| Native {
        signature: Builtin {
            module: "generic".into(),
            name: "call".into(),
            modes: format!("i{}", "a".repeat(count)).into(),
            place: Place::Body,
            daemon: false,
        },
        run: call,
        process: None,
        seat: Seat::Any,
        walks: false,
    })
}

pub(super) const NATIVES: &[Row] = &[
    body("generic", "apply", "ii", apply),
    body("builtin", "apply", "ii", apply),
    body("generic", "arity", "io", arity),
    body("generic", "name", "io", name),
    body("generic", "module", "io", module_of),
    body("module", "module", "io", body_module),
    body("module", "code", "iooo", parts),
    body("builtin", "current_node", "oo", current_node),
    guard("guard", "module", "io", guard_module),
    guard("guard", "code", "iooo", guard_parts),
    guard("guard", "current_priority", "o", current_priority),
    guard("generic", "module", "i", is_module),
    guard("generic", "predicate", "i", is_predicate),
    guard("generic", "arity", "io", guard_arity),
    guard("generic", "defined", "iii", defined),
];
