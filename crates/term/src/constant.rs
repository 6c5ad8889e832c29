//! Ground terms of a program text, as the compiler hands them to the runtime and to files.

use crate::Atom;
use crate::abi::PredicateId;
use num_bigint::BigInt;
use std::sync::Arc;

/// A ground term of the program text.
#[derive(Clone, Debug, PartialEq)]
pub enum Constant {
    /// An integer that a word holds.
    Int(i64),
    /// A big integer.
    BigInt(BigInt),
    /// A float.
    Float(f64),
    /// An atom.
    Atom(Atom),
    /// A string.
    String(Box<[u8]>),
    /// `[items|tail]`.
    List(Vec<Constant>, Box<Constant>),
    /// A structure.
    Struct(Atom, Vec<Constant>),
    /// A vector.
    Vector(Vec<Constant>),
    /// A predicate object.
    Predicate(PredicateId),
    /// A module object.
    Module(Atom),
    /// A table of clauses ([`crate::table`]): no value. Its word is the address of these words.
    Table(Arc<[Constant]>),
}
