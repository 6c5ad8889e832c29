//! Terms as owned data, which any thread may have.
//!
//! A value is flat: a list of nodes, each behind its parts. So nothing here recurses on the depth of user data (A6),
//! and a part that a term has twice is there once.

mod build;
mod heap;

pub use build::{Builder, Part};
pub(crate) use heap::{Unread, Variables};

use num_bigint::BigInt;
use rustc_hash::{FxHashMap, FxHashSet};

/// A term.
#[derive(Clone, Debug)]
pub struct Value {
    /// Each behind its parts; the last one is the whole.
    nodes: Vec<Node>,
}

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Integer(i64),
    Big(BigInt),
    Float(f64),
    Atom(Box<[u8]>),
    String(Box<[u8]>),
    /// Its items, and what is behind them: not a list with items.
    List(Box<[u32]>, u32),
    Vector(Box<[u32]>),
    Structure(Box<[u8]>, Box<[u32]>),
    Variable(u32),
    Other(Box<[u8]>),
}

impl Node {
    /// The numbers of its parts.
    fn parts(&self) -> impl Iterator<Item = u32> {
        let (parts, tail): (&[u32], _) = match self {
            Node::List(items, tail) => (items, Some(*tail)),
            Node::Vector(parts) | Node::Structure(_, parts) => (parts, None),
            _ => (&[], None),
        };
        parts.iter().copied().chain(tail)
    }
    /// The same with parts of other numbers.
    fn moved(self, number: impl Fn(u32) -> u32) -> Node {
        let moved = |parts: Box<[u32]>| parts.iter().map(|&part| number(part)).collect();
        match self {
            Node::List(items, tail) => Node::List(moved(items), number(tail)),
            Node::Vector(parts) => Node::Vector(moved(parts)),
            Node::Structure(name, parts) => Node::Structure(name, moved(parts)),
            leaf => leaf,
        }
    }
}

/// A term, or a part of one, to look at.
#[derive(Clone, Copy, Debug)]
pub struct Term<'v> {
    nodes: &'v [Node],
    at: u32,
}

/// A term that is no value: it has more nodes than fit, or contains itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// More than [`NODES_MAX`] nodes.
    Large,
    /// It contains itself.
    Infinite,
}

/// Nodes of a value at most.
pub const NODES_MAX: usize = 1 << 28;

/// Arguments of a structure at most.
pub const ARITY_MAX: usize = term::word::STRUCT_ARITY_MAX as usize;

/// What a term is, at its top.
#[derive(Clone, Copy, Debug)]
pub enum Shape<'v> {
    /// An integer of 64 bits.
    Integer(i64),
    /// Any other integer.
    Big(&'v BigInt),
    /// A float.
    Float(f64),
    /// An atom, by its name; the empty list is `[]`.
    Atom(&'v [u8]),
    /// A string, by its bytes.
    String(&'v [u8]),
    /// A list: its items, of which there is one at least, and what is behind them (`[]`, or a variable).
    List(Terms<'v>, Term<'v>),
    /// A vector.
    Vector(Terms<'v>),
    /// A structure: its name, and its arguments, of which there is one at least.
    Structure(&'v [u8], Terms<'v>),
    /// A variable without a value; the same one has the same number everywhere in a value.
    Variable(u32),
    /// A module, a predicate, or an object of another class, as text for people.
    Other(&'v [u8]),
}

/// Parts of a term.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'v> {
    nodes: &'v [Node],
    parts: &'v [u32],
}

impl<'v> Terms<'v> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.parts.len()
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }
    /// The part at a position from 0.
    pub fn get(&self, index: usize) -> Option<Term<'v>> {
        self.parts.get(index).map(|&at| Term { nodes: self.nodes, at })
    }
    /// All of them.
    pub fn iter(self) -> impl ExactSizeIterator<Item = Term<'v>> {
        self.parts.iter().map(move |&at| Term { nodes: self.nodes, at })
    }
}

impl<'v> Term<'v> {
    /// What it is.
    pub fn shape(self) -> Shape<'v> {
        let terms = |parts: &'v [u32]| Terms { nodes: self.nodes, parts };
        match &self.nodes[self.at as usize] {
            Node::Integer(value) => Shape::Integer(*value),
            Node::Big(value) => Shape::Big(value),
            Node::Float(value) => Shape::Float(*value),
            Node::Atom(name) => Shape::Atom(name),
            Node::String(bytes) => Shape::String(bytes),
            Node::List(items, tail) => Shape::List(terms(items), Term { nodes: self.nodes, at: *tail }),
            Node::Vector(parts) => Shape::Vector(terms(parts)),
            Node::Structure(name, parts) => Shape::Structure(name, terms(parts)),
            Node::Variable(number) => Shape::Variable(*number),
            Node::Other(text) => Shape::Other(text),
        }
    }
    /// Its number among the parts of its value ([`Value::part`]).
    pub fn number(self) -> u32 {
        self.at
    }
    /// A value of its own.
    pub fn to_value(self) -> Value {
        let (mut found, mut left) = (FxHashSet::from_iter([self.at]), vec![self.at]);
        while let Some(at) = left.pop() {
            self.nodes[at as usize]
                .parts()
                .filter(|&part| found.insert(part))
                .for_each(|part| left.push(part));
        }
        let mut found: Vec<u32> = found.into_iter().collect();
        // Parts stay before what they are parts of.
        found.sort_unstable();
        let numbers: FxHashMap<u32, u32> = found.iter().copied().zip(0..).collect();
        let nodes = found.iter().map(|&at| self.nodes[at as usize].clone().moved(|part| numbers[&part]));
        Value { nodes: nodes.collect() }
    }
    /// An integer of 64 bits.
    pub fn as_integer(self) -> Option<i64> {
        if let Shape::Integer(value) = self.shape() { Some(value) } else { None }
    }
    /// The items of a list that ends with `[]`.
    pub fn as_list(self) -> Option<Terms<'v>> {
        match self.shape() {
            Shape::Atom(b"[]") => Some(Terms { nodes: self.nodes, parts: &[] }),
            Shape::List(items, tail) if matches!(tail.shape(), Shape::Atom(b"[]")) => Some(items),
            _ => None,
        }
    }
}

impl PartialEq for Term<'_> {
    /// Whether they are the same term; variables are if they have the same number.
    fn eq(&self, other: &Term<'_>) -> bool {
        let (mut pairs, mut seen) = (vec![(self.at, other.at)], FxHashSet::default());
        while let Some((a, b)) = pairs.pop() {
            if !seen.insert((a, b)) {
                continue;
            }
            let same = |one: &[u32], two: &[u32], pairs: &mut Vec<(u32, u32)>| {
                pairs.extend(one.iter().copied().zip(two.iter().copied()));
                one.len() == two.len()
            };
            let equal = match (&self.nodes[a as usize], &other.nodes[b as usize]) {
                (Node::List(one, tail), Node::List(two, end)) => {
                    pairs.push((*tail, *end));
                    same(one, two, &mut pairs)
                }
                (Node::Vector(one), Node::Vector(two)) => same(one, two, &mut pairs),
                (Node::Structure(name, one), Node::Structure(word, two)) => {
                    name == word && same(one, two, &mut pairs)
                }
                (one, two) => one == two,
            };
            if !equal {
                return false;
            }
        }
        true
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        self.term() == other.term()
    }
}

// ---- making ----------------------------------------------------------------------------------------

impl Value {
    fn leaf(node: Node) -> Value {
        Value { nodes: vec![node] }
    }
    /// How many terms it is made of: [`NODES_MAX`] at most, for a call.
    pub fn count(&self) -> usize {
        self.nodes.len()
    }
    /// The part of this number ([`Term::number`]).
    pub fn part(&self, number: u32) -> Option<Term<'_>> {
        ((number as usize) < self.nodes.len()).then_some(Term { nodes: &self.nodes, at: number })
    }
    /// The term, to look at.
    pub fn term(&self) -> Term<'_> {
        Term { nodes: &self.nodes, at: self.nodes.len() as u32 - 1 }
    }
    /// An integer.
    pub fn integer(value: impl Into<BigInt>) -> Value {
        let value = value.into();
        Value::leaf(i64::try_from(&value).map_or(Node::Big(value), Node::Integer))
    }
    /// A float.
    pub fn float(value: f64) -> Value {
        Value::leaf(Node::Float(value))
    }
    /// An atom.
    pub fn atom(name: impl AsRef<[u8]>) -> Value {
        Value::leaf(Node::Atom(name.as_ref().into()))
    }
    /// A string.
    pub fn string(bytes: impl AsRef<[u8]>) -> Value {
        Value::leaf(Node::String(bytes.as_ref().into()))
    }
    /// A variable; the same number is the same variable in all inputs of a call.
    pub fn variable(number: u32) -> Value {
        Value::leaf(Node::Variable(number))
    }
    /// A list.
    pub fn list(items: impl IntoIterator<Item = Value>) -> Value {
        Value::list_before(items, Value::atom("[]"))
    }
    /// Items, and a list or variable behind them.
    pub fn list_before(items: impl IntoIterator<Item = Value>, tail: Value) -> Value {
        let mut parts = Parts::of(tail);
        items.into_iter().for_each(|item| parts.add(item));
        let Parts { mut nodes, parts } = parts;
        let (&tail, items) = parts.split_first().expect("the tail is there");
        if items.is_empty() {
            return Value { nodes };
        }
        let (mut items, mut end) = (items.to_vec(), tail);
        if let Node::List(more, behind) = &nodes[tail as usize] {
            items.extend(more);
            end = *behind;
        }
        nodes.push(Node::List(items.into(), end));
        Value { nodes }
    }
    /// A vector.
    pub fn vector(elements: impl IntoIterator<Item = Value>) -> Value {
        let Parts { mut nodes, parts } = Parts::all(elements);
        nodes.push(Node::Vector(parts.into()));
        Value { nodes }
    }
    /// A structure; without arguments an atom.
    pub fn structure(name: impl AsRef<[u8]>, arguments: impl IntoIterator<Item = Value>) -> Value {
        let Parts { mut nodes, parts } = Parts::all(arguments);
        if parts.is_empty() {
            return Value::atom(name);
        }
        nodes.push(Node::Structure(name.as_ref().into(), parts.into()));
        Value { nodes }
    }
}

/// Values that become parts of one.
#[derive(Default)]
struct Parts {
    nodes: Vec<Node>,
    parts: Vec<u32>,
}

impl Parts {
    /// The first one's nodes stay where they are, so a deep term that is made from the inside takes no more time than
    /// it has nodes.
    fn of(first: Value) -> Parts {
        Parts { parts: vec![first.nodes.len() as u32 - 1], nodes: first.nodes }
    }
    fn all(values: impl IntoIterator<Item = Value>) -> Parts {
        let mut values = values.into_iter();
        let mut parts = values.next().map_or_else(Parts::default, Parts::of);
        values.for_each(|value| parts.add(value));
        parts
    }
    fn add(&mut self, value: Value) {
        let by = self.nodes.len() as u32;
        self.nodes.extend(value.nodes.into_iter().map(|node| node.moved(|part| part + by)));
        self.parts.push(self.nodes.len() as u32 - 1);
    }
}

impl Value {
    /// What a function makes of the term, from its leaves up. It is given the shape of each node, and what it has made
    /// of the node's parts: of a list its items, then what is behind them. A part that the term has twice is made once,
    /// and nothing recurses.
    pub fn fold<T, E>(&self, mut make: impl FnMut(Shape<'_>, &[&T]) -> Result<T, E>) -> Result<T, E> {
        let mut made: Vec<T> = Vec::with_capacity(self.nodes.len());
        for (at, node) in self.nodes.iter().enumerate() {
            let term = Term { nodes: &self.nodes, at: at as u32 };
            let next = match node {
                Node::List(parts, tail) => {
                    let parts: Vec<&T> =
                        parts.iter().chain([tail]).map(|&part| &made[part as usize]).collect();
                    make(term.shape(), &parts)?
                }
                Node::Vector(parts) | Node::Structure(_, parts) => {
                    let parts: Vec<&T> = parts.iter().map(|&part| &made[part as usize]).collect();
                    make(term.shape(), &parts)?
                }
                _ => make(term.shape(), &[])?,
            };
            made.push(next);
        }
        Ok(made.pop().expect("a value has a node"))
    }
}
