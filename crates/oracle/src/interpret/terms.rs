//! Terms: an arena of cells that are reached by index, so that long terms are neither dropped nor walked by recursion.
//!
//! Invariants:
//! - A cell that holds a value never changes again; an unbound cell becomes a link or a value once.
//! - T2 [`Store::deref`] answers a cell that is no link.

use num_bigint::BigInt;
use std::rc::Rc;
use term::{Atom, symbol};

/// A cell of the [`Store`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Id(u32);

impl Id {
    /// A name for a variable in messages.
    pub(super) fn number(self) -> u32 {
        self.0
    }
}

/// Number of a suspended goal, in the order of suspending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SuspensionId(pub(super) usize);

/// A bound term's principal part.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// An integer of 64 bits; always used when the number fits.
    Int(i64),
    /// A larger integer.
    Big(Rc<BigInt>),
    /// A float.
    Float(f64),
    /// An atom, also `[]`.
    Atom(Atom),
    /// A cons cell.
    List(Id, Id),
    /// A structure.
    Struct(Atom, Rc<[Id]>),
    /// A string.
    String(Rc<[u8]>),
    /// A vector.
    Vector(Rc<[Id]>),
    /// `predicate#(module:name/arity)`.
    Predicate(Atom, Atom, usize),
    /// A module object.
    Module(Atom),
    /// Something of the virtual world, by its number there.
    Handle(usize),
}

/// What a cell holds.
#[derive(Clone, Debug)]
pub(super) enum Cell {
    /// A variable without value, and the goals that wait for it (some may have been resumed through another variable).
    Unbound(Vec<SuspensionId>),
    /// A variable that gets the next random numbers when somebody needs it.
    Generator(super::builtins::random::Random),
    /// The same as another cell.
    Link(Id),
    /// A value.
    Value(Value),
}

/// All cells of a run.
#[derive(Default)]
pub(super) struct Store {
    cells: Vec<Cell>,
}

impl Store {
    /// A new cell.
    pub(super) fn add(&mut self, cell: Cell) -> Id {
        let id = u32::try_from(self.cells.len()).expect("2^32 cells exceed the memory the oracle may use");
        self.cells.push(cell);
        Id(id)
    }
    /// A new variable.
    pub(super) fn variable(&mut self) -> Id {
        self.add(Cell::Unbound(Vec::new()))
    }
    /// A cell with a value.
    pub(super) fn value(&mut self, value: Value) -> Id {
        self.add(Cell::Value(value))
    }
    pub(super) fn int(&mut self, value: i64) -> Id {
        self.value(Value::Int(value))
    }
    pub(super) fn atom(&mut self, atom: Atom) -> Id {
        self.value(Value::Atom(atom))
    }
    pub(super) fn string(&mut self, bytes: &[u8]) -> Id {
        self.value(Value::String(bytes.into()))
    }
    /// A structure, or a cons cell when name and arity say so, or an atom without arguments.
    pub(super) fn functor(&mut self, name: Atom, arguments: &[Id]) -> Id {
        match arguments {
            [] => self.atom(name),
            [car, cdr] if name == symbol::DOT => self.value(Value::List(*car, *cdr)),
            _ => self.value(Value::Struct(name, arguments.into())),
        }
    }
    /// A list that ends with `tail`.
    pub(super) fn list(&mut self, items: &[Id], tail: Id) -> Id {
        items.iter().rev().fold(tail, |rest, &item| self.value(Value::List(item, rest)))
    }
    /// Follows links (T2).
    pub(super) fn deref(&self, mut id: Id) -> Id {
        while let Cell::Link(next) = &self.cells[id.0 as usize] {
            id = *next;
        }
        id
    }
    /// The value, if there is one.
    pub(super) fn get(&self, id: Id) -> Option<&Value> {
        match &self.cells[self.deref(id).0 as usize] {
            Cell::Value(value) => Some(value),
            _ => None,
        }
    }
    /// The cell itself; links are not followed.
    pub(super) fn cell(&self, id: Id) -> &Cell {
        &self.cells[id.0 as usize]
    }
    /// Replaces a cell and answers what it held.
    pub(super) fn replace(&mut self, id: Id, cell: Cell) -> Cell {
        std::mem::replace(&mut self.cells[id.0 as usize], cell)
    }
    /// Adds a waiter to an unbound cell (links followed).
    pub(super) fn hook(&mut self, id: Id, suspension: SuspensionId) {
        let id = self.deref(id);
        match &mut self.cells[id.0 as usize] {
            Cell::Unbound(waiters) => waiters.push(suspension),
            cell => unreachable!("only unbound cells are waited for: {cell:?}"),
        }
    }
    /// The items of a list and how it ends: `Ok(tail value's cell)` (`[]` when proper), `Err(variable)` when unbound.
    pub(super) fn items(&self, list: Id) -> (Vec<Id>, ListEnd) {
        let mut items = Vec::new();
        let mut at = self.deref(list);
        loop {
            match self.get(at) {
                Some(Value::List(car, cdr)) => {
                    items.push(*car);
                    at = self.deref(*cdr);
                }
                Some(Value::Atom(symbol::NIL)) => return (items, ListEnd::Nil),
                Some(_) => return (items, ListEnd::Other),
                None => return (items, ListEnd::Unbound(at)),
            }
        }
    }
}

/// How a list ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListEnd {
    /// With `[]`.
    Nil,
    /// With this variable.
    Unbound(Id),
    /// With something else.
    Other,
}

impl Value {
    /// The parts of a list cell, structure or vector.
    pub(super) fn parts(&self) -> Vec<Id> {
        match self {
            Value::List(car, cdr) => vec![*car, *cdr],
            Value::Struct(_, parts) | Value::Vector(parts) => parts.to_vec(),
            _ => Vec::new(),
        }
    }
    /// The same with other parts (as many).
    pub(super) fn with_parts(&self, parts: Vec<Id>) -> Value {
        match self {
            Value::List(..) => Value::List(parts[0], parts[1]),
            Value::Struct(name, _) => Value::Struct(*name, parts.into()),
            Value::Vector(_) => Value::Vector(parts.into()),
            other => other.clone(),
        }
    }
    /// An integer in its shortest form.
    pub(super) fn integer(value: BigInt) -> Value {
        match i64::try_from(&value) {
            Ok(small) => Value::Int(small),
            Err(_) => Value::Big(Rc::new(value)),
        }
    }
    /// The number, if it is an integer.
    pub(super) fn to_bigint(&self) -> Option<BigInt> {
        match self {
            Value::Int(n) => Some(BigInt::from(*n)),
            Value::Big(n) => Some((**n).clone()),
            _ => None,
        }
    }
}
