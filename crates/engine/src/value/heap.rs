//! Values of terms of a heap, and back.

use super::{NODES_MAX, Node, Unfit, Value};
use runtime::node::{Node as Engine, Term as HeapTerm, Terms as HeapTerms};
use runtime::outcome::ProgramError;
use runtime::terms::View;
use runtime::worker::Root;
use rustc_hash::{FxHashMap, FxHashSet};

/// Steps after which it is asked whether a walk may go on.
const STEPS: usize = 1 << 16;

/// Variables that terms have in common, by number.
#[derive(Default)]
pub(crate) struct Variables<'t> {
    /// The number of the first one that is read.
    first: u32,
    numbers: FxHashMap<HeapTerm<'t>, u32>,
    terms: FxHashMap<u32, HeapTerm<'t>>,
}

impl<'t> From<u32> for Variables<'t> {
    /// Those that are read have numbers from this one on.
    fn from(first: u32) -> Variables<'t> {
        Variables { first, ..Variables::default() }
    }
}

impl<'t> Variables<'t> {
    /// The number of a variable.
    fn number(&mut self, variable: HeapTerm<'t>) -> u32 {
        let next = self.first + self.numbers.len() as u32;
        let number = *self.numbers.entry(variable).or_insert(next);
        self.terms.insert(number, variable);
        number
    }
    /// The variable of a number, if there is one.
    pub(crate) fn term(&self, number: u32) -> Option<HeapTerm<'t>> {
        self.terms.get(&number).copied()
    }
}

/// Why a term was not read while a goal was reduced.
pub(crate) enum Unread {
    /// It is no value.
    Unfit(Unfit),
    /// The run is to end.
    Stopped(Box<ProgramError>),
}

impl From<Unfit> for Unread {
    fn from(unfit: Unfit) -> Unread {
        Unread::Unfit(unfit)
    }
}

/// What is left to do while a term is read.
enum Step<'t> {
    Look(HeapTerm<'t>),
    List(HeapTerm<'t>, usize),
    Vector(HeapTerm<'t>, usize),
    Structure(HeapTerm<'t>, Box<[u8]>, usize),
}

/// A term that is being read.
struct Reading<'t, 'v> {
    nodes: Vec<Node>,
    steps: Vec<Step<'t>>,
    /// Nodes that are parts of what comes.
    made: Vec<u32>,
    /// Nodes of terms with parts; none yet, of those around what is being read.
    known: FxHashMap<HeapTerm<'t>, Option<u32>>,
    variables: &'v mut Variables<'t>,
}

impl<'t, 'v> Reading<'t, 'v> {
    fn new(variables: &'v mut Variables<'t>) -> Self {
        let (nodes, steps, made) = (Vec::new(), Vec::new(), Vec::new());
        Reading { nodes, steps, made, known: FxHashMap::default(), variables }
    }
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
                let number = self.variables.number(variable);
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
        Value::read_while(terms, term, &mut Variables::default(), |_| Ok(()))
    }

    /// The same while a goal is reduced, with variables in common with others.
    pub(crate) fn read_among<'t>(
        terms: &HeapTerms<'t>,
        term: HeapTerm<'t>,
        variables: &mut Variables<'t>,
    ) -> Result<Value, Unread> {
        Value::read_while(terms, term, variables, |bytes| terms.may_go_on(bytes).map_err(Unread::Stopped))
    }

    fn read_while<'t, E: From<Unfit>>(
        terms: &HeapTerms<'t>,
        term: HeapTerm<'t>,
        variables: &mut Variables<'t>,
        go_on: impl Fn(usize) -> Result<(), E>,
    ) -> Result<Value, E> {
        let (mut reading, mut steps) = (Reading::new(variables), 0);
        reading.steps.push(Step::Look(term));
        while let Some(step) = reading.steps.pop() {
            steps += 1;
            if steps % STEPS == 0 {
                go_on((reading.nodes.len() + reading.steps.len()) * size_of::<Node>())?;
            }
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
                return Err(Unfit::Large.into());
            }
        }
        // What was read last may have been there before.
        let last = *reading.made.last().expect("the whole was read");
        debug_assert_eq!(last as usize + 1, reading.nodes.len(), "a whole is no part of itself");
        Ok(Value { nodes: reading.nodes })
    }

    /// The leftmost variable of a term, while a goal is reduced; `None` if it has none.
    pub(crate) fn first_variable<'t>(
        terms: &HeapTerms<'t>,
        term: HeapTerm<'t>,
    ) -> Result<Option<HeapTerm<'t>>, Unread> {
        let (mut left, mut seen, mut steps) = (vec![term], FxHashSet::default(), 0);
        while let Some(term) = left.pop() {
            steps += 1;
            if steps % STEPS == 0 {
                let bytes = (left.len() + 2 * seen.len()) * size_of::<HeapTerm<'t>>();
                terms.may_go_on(bytes).map_err(Unread::Stopped)?;
            }
            let term = terms.deref(term);
            match terms.view(term) {
                View::Unbound(variable) => return Ok(Some(variable)),
                View::Cons(car, cdr) if seen.insert(term) => left.extend([cdr, car]),
                View::Struct(_, arity) if seen.insert(term) => {
                    left.extend((0..arity).rev().map(|index| terms.arg(term, index)));
                }
                View::Object(_) if seen.insert(term) => {
                    left.extend(terms.vector_elements(term).into_iter().flatten().rev());
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// Whether it has no variable.
    pub fn is_ground(&self) -> bool {
        !self.nodes.iter().any(|node| matches!(node, Node::Variable(_)))
    }

    /// Words of heap that it takes, at most.
    pub(crate) fn words(&self) -> usize {
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
        let (mut variables, mut terms) = (Variables::default(), node.terms());
        let mut make = |value: &Value| {
            let term = value.make_among(&mut terms, &mut variables);
            terms.root(term)
        };
        Ok(values.iter().map(&mut make).collect())
    }

    /// The term in a heap, or there is no room for it. What has it now is kept only if something refers
    /// to it.
    pub(crate) fn make_in<'t>(&self, terms: &mut HeapTerms<'t>) -> Result<HeapTerm<'t>, Box<ProgramError>> {
        terms.ensure(self.words())?;
        Ok(self.make_among(terms, &mut Variables::default()))
    }

    /// The term in a heap, where there is room for it, with variables in common with others.
    pub(crate) fn make_among<'t>(
        &self,
        terms: &mut HeapTerms<'t>,
        variables: &mut Variables<'t>,
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
                Node::Variable(number) => {
                    *variables.terms.entry(*number).or_insert_with(|| terms.new_variable())
                }
            };
            made.push(term);
        }
        made.pop().expect("a value has a node")
    }
}
