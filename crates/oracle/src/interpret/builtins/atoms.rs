//! Module `atom_table`: atoms from strings and back; hashing.

use super::super::scheduler::Machine;
use super::super::terms::{Id, Value};
use super::{Native, Step, done, native, type_error};
use std::hash::{DefaultHasher, Hash, Hasher};
use term::abi::Place;
use term::{Atom, symbol};

const MODULE: &str = "atom_table";
/// Hash values are below this.
const HASH_MASK: u64 = (1 << 27) - 1;

pub(super) fn natives() -> Vec<Native> {
    vec![
        native(MODULE, "make_atom", "io", Place::Goal, |m, a| make(m, a, false)),
        native(MODULE, "intern", "io", Place::Goal, |m, a| make(m, a, true)),
        native(MODULE, "get_atom_string", "io", Place::Goal, |m, a| text(m, a, false)),
        native(MODULE, "get_atom_name", "io", Place::Goal, |m, a| text(m, a, true)),
        native(MODULE, "atom_number", "io", Place::Goal, number),
        native("guard", "hash", "io", Place::Guard, |m, a| hash(m, a[0], 1)),
        native("guard", "hash", "iio", Place::Guard, |m, a| match m.bound(a[1]) {
            Value::Int(depth) => {
                let depth = *depth;
                hash(m, a[0], depth)
            }
            _ => Step::No,
        }),
    ]
}

fn answer(machine: &mut Machine, value: Id, normal: bool) -> Step {
    done(if normal { machine.store.functor(symbol::NORMAL, &[value]) } else { value })
}

fn make(machine: &mut Machine, inputs: &[Id], normal: bool) -> Step {
    let Value::String(bytes) = machine.bound(inputs[0]).clone() else {
        return type_error("a string is needed");
    };
    let atom = machine.atoms.intern(&bytes);
    let atom = machine.store.atom(atom);
    answer(machine, atom, normal)
}

fn atom(machine: &Machine, id: Id) -> Option<Atom> {
    match machine.bound(id) {
        Value::Atom(atom) => Some(*atom),
        _ => None,
    }
}

fn text(machine: &mut Machine, inputs: &[Id], normal: bool) -> Step {
    let Some(atom) = atom(machine, inputs[0]) else { return type_error("an atom is needed") };
    let text = machine.atoms.text(atom).to_vec();
    let text = machine.store.string(&text);
    answer(machine, text, normal)
}

fn number(machine: &mut Machine, inputs: &[Id]) -> Step {
    match atom(machine, inputs[0]) {
        Some(atom) => done(machine.store.int(atom.0.into())),
        None => type_error("an atom is needed"),
    }
}

/// A number from the top `depth` levels of a term. Which number, is not defined.
fn hash(machine: &mut Machine, term: Id, depth: i64) -> Step {
    let mut hasher = DefaultHasher::new();
    let mut stack = vec![(term, depth)];
    while let Some((term, depth)) = stack.pop() {
        if depth <= 0 {
            continue;
        }
        let mut below = |parts: &[Id]| {
            parts.len().hash(&mut hasher);
            stack.extend(parts.iter().rev().map(|&part| (part, depth - 1)));
        };
        match machine.store.get(term) {
            None => return Step::Wait(machine.store.deref(term)),
            Some(Value::List(car, cdr)) => below(&[*car, *cdr]),
            Some(Value::Vector(elements)) => below(elements),
            Some(Value::Struct(name, arguments)) => {
                below(arguments);
                name.0.hash(&mut hasher);
            }
            Some(_) => machine.print(term).hash(&mut hasher),
        }
    }
    let value = (hasher.finish() & HASH_MASK) as i64;
    done(machine.store.int(value))
}
