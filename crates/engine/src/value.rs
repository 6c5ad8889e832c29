//! Terms as owned data, which any thread may have.
//!
//! A value is flat: a list of nodes, each behind its parts. So nothing here recurses on the depth of user data (A6),
//! and a part that a term has twice is there once.

mod build;

pub use build::{Builder, Part};

use num_bigint::BigInt;
use runtime::node::{Node as Engine, Term as HeapTerm, Terms as HeapTerms};
use runtime::outcome::ProgramError;
use runtime::terms::View;
use runtime::worker::Root;
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

// ---- from the heap and to it -----------------------------------------------------------------------

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

/// What is left to do while a term is read.
enum Step<'t> {
    Look(HeapTerm<'t>),
    List(HeapTerm<'t>, usize),
    Vector(HeapTerm<'t>, usize),
    Structure(HeapTerm<'t>, Box<[u8]>, usize),
}

/// A term that is being read.
#[derive(Default)]
struct Reading<'t> {
    nodes: Vec<Node>,
    steps: Vec<Step<'t>>,
    /// Nodes that are parts of what comes.
    made: Vec<u32>,
    /// Nodes of terms with parts; none yet, of those around what is being read.
    known: FxHashMap<HeapTerm<'t>, Option<u32>>,
    variables: FxHashMap<HeapTerm<'t>, u32>,
}

impl<'t> Reading<'t> {
    fn put(&mut self, node: Node) {
        self.made.push(self.nodes.len() as u32);
        self.nodes.push(node);
    }
    /// A node with the last `count` of what was made.
    fn join(&mut self, term: HeapTerm<'t>, count: usize, make: impl FnOnce(Box<[u32]>) -> Node) {
        let parts = self.made.split_off(self.made.len() - count).into();
        self.known.insert(term, Some(self.nodes.len() as u32));
        self.put(make(parts));
    }
    fn look(&mut self, terms: &HeapTerms<'t>, term: HeapTerm<'t>) -> Result<(), Unfit> {
        let term = terms.deref(term);
        match self.known.get(&term) {
            Some(Some(node)) => {
                self.made.push(*node);
                return Ok(());
            }
            Some(None) => return Err(Unfit::Infinite),
            None => {}
        }
        match terms.view(term) {
            View::Unbound(variable) => {
                let next = self.variables.len() as u32;
                let number = *self.variables.entry(variable).or_insert(next);
                self.put(Node::Variable(number));
            }
            View::Int(value) => self.put(Node::Integer(value)),
            View::Atom(atom) => self.put(Node::Atom(terms.atoms().text(atom).into())),
            View::Cons(..) => self.look_along(terms, term)?,
            View::Struct(name, arity) => {
                self.known.insert(term, None);
                let name = terms.atoms().text(name).into();
                self.steps.push(Step::Structure(term, name, arity));
                self.steps.extend((0..arity).rev().map(|index| Step::Look(terms.arg(term, index))));
            }
            View::Object(_) => self.look_at_object(terms, term),
        }
        Ok(())
    }
    /// A list, as far as it goes.
    fn look_along(&mut self, terms: &HeapTerms<'t>, term: HeapTerm<'t>) -> Result<(), Unfit> {
        self.known.insert(term, None);
        let (mut items, mut rest) = (Vec::new(), term);
        while let View::Cons(car, cdr) = terms.view(rest) {
            if self.nodes.len() + items.len() > NODES_MAX {
                return Err(Unfit::Large);
            }
            items.push(car);
            rest = terms.deref(cdr);
            if rest == term {
                return Err(Unfit::Infinite);
            }
        }
        self.steps.push(Step::List(term, items.len()));
        self.steps.extend(items.into_iter().rev().map(Step::Look));
        self.steps.push(Step::Look(rest));
        Ok(())
    }
    fn look_at_object(&mut self, terms: &HeapTerms<'t>, term: HeapTerm<'t>) {
        if let Some(value) = terms.big(term) {
            self.put(i64::try_from(&value).map_or(Node::Big(value), Node::Integer));
        } else if let Some(value) = terms.float_value(term) {
            self.put(Node::Float(value));
        } else if let Some(bytes) = terms.string_bytes(term) {
            self.put(Node::String(bytes.into()));
        } else if let Some(elements) = terms.vector_elements(term) {
            self.known.insert(term, None);
            self.steps.push(Step::Vector(term, elements.len()));
            self.steps.extend(elements.into_iter().rev().map(Step::Look));
        } else {
            self.put(Node::Other(terms.term_text(term).into_bytes().into()));
        }
    }
}

impl Value {
    /// Of a term of a heap.
    pub(crate) fn read<'t>(terms: &HeapTerms<'t>, term: HeapTerm<'t>) -> Result<Value, Unfit> {
        let mut reading = Reading::default();
        reading.steps.push(Step::Look(term));
        while let Some(step) = reading.steps.pop() {
            match step {
                Step::Look(term) => reading.look(terms, term)?,
                Step::List(term, count) => {
                    // The tail was read first.
                    let tail = reading.made.remove(reading.made.len() - 1 - count);
                    reading.join(term, count, |items| Node::List(items, tail));
                }
                Step::Vector(term, count) => reading.join(term, count, Node::Vector),
                Step::Structure(term, name, count) => {
                    reading.join(term, count, |parts| Node::Structure(name, parts));
                }
            }
            if reading.nodes.len() + reading.steps.len() > NODES_MAX {
                return Err(Unfit::Large);
            }
        }
        // What was read last may have been there before.
        let last = *reading.made.last().expect("the whole was read");
        debug_assert_eq!(last as usize + 1, reading.nodes.len(), "a whole is no part of itself");
        Ok(Value { nodes: reading.nodes })
    }

    /// Whether it has no variable.
    pub fn is_ground(&self) -> bool {
        !self.nodes.iter().any(|node| matches!(node, Node::Variable(_)))
    }

    /// Words of heap that it takes, at most.
    fn words(&self) -> usize {
        let words = |node: &Node| match node {
            Node::Integer(_) | Node::Big(_) | Node::Float(_) => 4,
            Node::Atom(_) | Node::Variable(_) => 1,
            Node::String(bytes) | Node::Other(bytes) => 8 + bytes.len() / 8,
            Node::List(items, _) => 2 * items.len(),
            Node::Vector(parts) => 8 + parts.len(),
            Node::Structure(_, parts) => 1 + parts.len(),
        };
        let big = |node: &Node| if let Node::Big(value) = node { value.bits() as usize / 64 } else { 0 };
        self.nodes.iter().map(|node| words(node) + big(node)).sum()
    }

    /// These terms in the heap of a node that is between two runs; or there is no room for them. Variables of the same
    /// number are the same one.
    pub(crate) fn make_all(values: &[Value], node: &mut Engine) -> Result<Vec<Root>, Box<ProgramError>> {
        node.make_room(values.iter().map(Value::words).sum())?;
        let (mut variables, mut terms) = (FxHashMap::default(), node.terms());
        let mut make = |value: &Value| {
            let term = value.make(&mut terms, &mut variables);
            terms.root(term)
        };
        Ok(values.iter().map(&mut make).collect())
    }

    /// The term in a heap, or there is no room for it. What has it now is kept only if something refers
    /// to it.
    pub(crate) fn make_in<'t>(&self, terms: &mut HeapTerms<'t>) -> Result<HeapTerm<'t>, Box<ProgramError>> {
        terms.ensure(self.words())?;
        Ok(self.make(terms, &mut FxHashMap::default()))
    }

    fn make<'t>(
        &self,
        terms: &mut HeapTerms<'t>,
        variables: &mut FxHashMap<u32, HeapTerm<'t>>,
    ) -> HeapTerm<'t> {
        let mut made: Vec<HeapTerm<'t>> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let all = |parts: &[u32]| parts.iter().map(|&part| made[part as usize]).collect::<Vec<_>>();
            let term = match node {
                Node::Integer(value) => terms.int(*value),
                Node::Big(value) => terms.integer(value),
                Node::Float(value) => terms.float(*value),
                Node::Atom(name) if **name == *b"[]" => HeapTerm::NIL,
                Node::Atom(name) => HeapTerm::atom(terms.atoms().intern(name)),
                Node::String(bytes) | Node::Other(bytes) => terms.string(bytes),
                Node::List(items, tail) => terms.list(&all(items), made[*tail as usize]),
                Node::Vector(parts) => terms.vector(&all(parts)),
                Node::Structure(name, parts) => {
                    let name = terms.atoms().intern(name);
                    terms.structure(name, &all(parts))
                }
                Node::Variable(number) => *variables.entry(*number).or_insert_with(|| terms.new_variable()),
            };
            made.push(term);
        }
        made.pop().expect("a value has a node")
    }
}
