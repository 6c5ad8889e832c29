//! The constant pool: ground terms of the text, each once.

use crate::ir::{Constant, ConstantId};
use rustc_hash::FxHashMap;
use syntax::program::{Term, TermKind};
use term::Atom;
use term::abi::PredicateId;

/// How predicate objects in the text find their numbers.
pub(crate) trait Predicates {
    /// The number of `module:name/arity`; `None` if there is no such predicate.
    fn number(&self, module: Atom, name: Atom, arity: usize) -> Option<PredicateId>;
}

/// Constants collected so far.
pub(crate) struct Pool {
    first: u32,
    constants: Vec<Constant>,
    numbers: FxHashMap<Vec<u8>, ConstantId>,
}

impl Pool {
    pub(crate) fn new(first: u32) -> Pool {
        Pool { first, constants: Vec::new(), numbers: FxHashMap::default() }
    }
    /// The constant's number, entered if it is new.
    pub(crate) fn intern(&mut self, constant: Constant) -> ConstantId {
        let mut key = Vec::new();
        encode(&constant, &mut key);
        let next = ConstantId(self.first + self.constants.len() as u32);
        let id = *self.numbers.entry(key).or_insert(next);
        if id == next {
            self.constants.push(constant);
        }
        id
    }
    /// A constant that nothing else will be equal to.
    pub(crate) fn add(&mut self, constant: Constant) -> ConstantId {
        self.constants.push(constant);
        ConstantId(self.first + self.constants.len() as u32 - 1)
    }
    /// A constant of this pool. Panics for one of another compilation.
    pub(crate) fn get(&self, id: ConstantId) -> &Constant {
        &self.constants[(id.0 - self.first) as usize]
    }
    pub(crate) fn into_constants(self) -> Vec<Constant> {
        self.constants
    }
}

/// The constant that a ground term stands for; `None` if it has variables (or names no predicate).
pub(crate) fn ground(term: &Term, predicates: &dyn Predicates) -> Option<Constant> {
    let all = |terms: &[Term]| terms.iter().map(|t| ground(t, predicates)).collect::<Option<Vec<_>>>();
    Some(match &term.kind {
        TermKind::Var(_) => return None,
        TermKind::Int(value) => Constant::Int(*value),
        TermKind::BigInt(value) => Constant::BigInt((**value).clone()),
        TermKind::Float(value) => Constant::Float(*value),
        TermKind::Atom(atom) => Constant::Atom(*atom),
        TermKind::String(bytes) => Constant::String(bytes.clone()),
        TermKind::List(items, tail) => {
            let tail = match tail {
                Some(tail) => ground(tail, predicates)?,
                None => Constant::Atom(term::symbol::NIL),
            };
            Constant::List(all(items)?, Box::new(tail))
        }
        TermKind::Struct(name, arguments) => Constant::Struct(*name, all(arguments)?),
        TermKind::Vector(elements) => Constant::Vector(all(elements)?),
        TermKind::Predicate(module, name, arity) => {
            Constant::Predicate(predicates.number(*module, *name, *arity)?)
        }
        TermKind::Module(name) => Constant::Module(*name),
    })
}

/// An unambiguous text of a constant (floats by their bits, so that `0.0` and `-0.0` differ and NaN is itself).
pub(crate) fn encode(constant: &Constant, out: &mut Vec<u8>) {
    let mut number = |tag: u8, bytes: &[u8]| {
        out.push(tag);
        out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        out.extend_from_slice(bytes);
    };
    match constant {
        Constant::Int(value) => number(0, &value.to_le_bytes()),
        Constant::BigInt(value) => number(1, &value.to_signed_bytes_le()),
        Constant::Float(value) => number(2, &value.to_bits().to_le_bytes()),
        Constant::Atom(atom) => number(3, &atom.0.to_le_bytes()),
        Constant::String(bytes) => number(4, bytes),
        Constant::Predicate(id) => number(5, &id.0.to_le_bytes()),
        Constant::Module(atom) => number(6, &atom.0.to_le_bytes()),
        Constant::List(items, tail) => {
            number(7, &(items.len() as u64).to_le_bytes());
            items.iter().for_each(|item| encode(item, out));
            encode(tail, out);
        }
        Constant::Struct(name, arguments) => {
            number(8, &name.0.to_le_bytes());
            number(8, &(arguments.len() as u64).to_le_bytes());
            arguments.iter().for_each(|argument| encode(argument, out));
        }
        Constant::Vector(elements) => {
            number(9, &(elements.len() as u64).to_le_bytes());
            elements.iter().for_each(|element| encode(element, out));
        }
        Constant::Table(words) => {
            number(10, &(words.len() as u64).to_le_bytes());
            words.iter().for_each(|word| encode(word, out));
        }
    }
}
