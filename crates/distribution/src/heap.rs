//! A [`Store`] over a node of the runtime, between its turns.

use crate::Goal;
use crate::store::{ExportId, Full, ImportId, Seen, Shape, Store, StructureId};
use fabric::NodeId;
use num_bigint::{BigInt, Sign};
use runtime::abroad::{By, Known};
use runtime::node::{Term, Terms};
use runtime::terms::View;
use term::Atom;
use term::abi::PredicateId;
use term::layout::{BIGINT, FLOAT, MODULE, PREDICATE, STRING, VECTOR};

/// The heap of a node's first worker.
pub struct Heap<'a, 't> {
    worker: &'a mut Terms<'t>,
    /// Atoms below have the same number at all nodes.
    atoms: u32,
    /// Exports whose variables had values when they were to be marked.
    late: &'a mut Vec<ExportId>,
    /// Words for which there is room.
    room: usize,
    /// Structures have identities.
    identities: bool,
}

impl<'a, 't> Heap<'a, 't> {
    /// This worker's, of a node that has the first `atoms` atoms in common with all others. Exports come into `late`
    /// that are to be told as marked though no marker will.
    pub fn new(worker: &'a mut Terms<'t>, atoms: u32, late: &'a mut Vec<ExportId>) -> Heap<'a, 't> {
        Heap { worker, atoms, late, room: 0, identities: false }
    }
    /// Somebody has made sure of room for this number of words.
    pub(crate) fn with_room(self, words: usize) -> Heap<'a, 't> {
        Heap { room: words, ..self }
    }
    /// Whether structures have identities ([`crate::Options`]).
    pub(crate) fn with_identities(self, identities: bool) -> Heap<'a, 't> {
        Heap { identities, ..self }
    }
    fn object(&self, value: Term<'t>) -> Seen {
        let worker = &*self.worker;
        match worker.class_of(value) {
            Some(VECTOR) => Seen::Vector(worker.vector_length(value).unwrap_or_default()),
            Some(STRING) => Seen::Bytes(worker.string_length(value).unwrap_or_default()),
            Some(FLOAT) => Seen::Float(worker.float_value(value).unwrap_or_default().to_bits()),
            Some(BIGINT) => Seen::Big,
            Some(PREDICATE) => Seen::Predicate(worker.predicate_value(value).map_or(0, |known| known.0)),
            Some(MODULE) => Seen::Module(worker.module_value(value).map_or(0, |name| name.0)),
            class => unreachable!("no term has a part of class {class:?}"),
        }
    }
    fn is_atom(&self, atom: u32) -> bool {
        (atom as usize) < self.worker.atoms().len()
    }
}

impl<'t> Store for Heap<'_, 't> {
    type Value = Term<'t>;

    fn follow(&self, value: Term<'t>) -> Term<'t> {
        self.worker.deref(value)
    }
    fn look(&self, value: Term<'t>) -> Seen {
        match self.worker.view(value) {
            View::Unbound(variable) => match self.worker.known_abroad(variable) {
                Known::Import(import) => Seen::Import(ImportId(import)),
                Known::Export(_) => Seen::Variable { marked: true },
                Known::Nowhere => Seen::Variable { marked: false },
            },
            View::Int(value) => Seen::Int(value),
            View::Atom(atom) => Seen::Atom(atom.0),
            View::Cons(..) => Seen::List,
            View::Struct(name, arity) => Seen::Struct { name: name.0, arity },
            View::Object(_) => self.object(value),
        }
    }
    fn bytes(&self, string: Term<'t>) -> Vec<u8> {
        self.worker.string_bytes(string).unwrap_or_default()
    }
    fn limbs(&self, integer: Term<'t>) -> (bool, Vec<u64>) {
        let value = self.worker.big(integer).unwrap_or_default();
        (value.sign() == Sign::Minus, value.iter_u64_digits().collect())
    }
    fn part(&self, value: Term<'t>, number: usize) -> Term<'t> {
        match self.worker.class_of(value) {
            Some(_) => self.worker.vector_element(value, number),
            None => self.worker.arg(value, number),
        }
    }
    fn make(&mut self, shape: Shape<'_, Term<'t>>) -> Option<Term<'t>> {
        let worker = &mut *self.worker;
        Some(match shape {
            Shape::Int(value) => worker.int(value),
            Shape::Atom(atom) => Term::atom(Atom(self.is_atom(atom).then_some(atom)?)),
            Shape::Name(text) => Term::atom(worker.atoms().intern(text)),
            Shape::List(parts) => {
                let (&tail, items) = parts.split_last()?;
                debug_assert!(!items.is_empty(), "W2: a list has a head");
                worker.list(items, tail)
            }
            Shape::Struct(name, arguments) => {
                if !self.is_atom(name) {
                    return None;
                }
                self.worker.structure(Atom(name), arguments)
            }
            Shape::Vector(elements) => worker.vector(elements),
            Shape::Bytes(bytes) => worker.string(bytes),
            Shape::Float(bits) => worker.float(f64::from_bits(bits)),
            Shape::Big(negative, limbs) => {
                let digits: Vec<u32> =
                    limbs.iter().flat_map(|&limb| [limb as u32, (limb >> 32) as u32]).collect();
                let sign = if negative { Sign::Minus } else { Sign::Plus };
                worker.integer(&BigInt::from_slice(sign, &digits))
            }
            Shape::Predicate(number) => {
                let known = (number as usize) < worker.predicates().len();
                worker.predicate_object(PredicateId(known.then_some(number)?))
            }
            Shape::Module(name) => {
                if !self.is_atom(name) {
                    return None;
                }
                self.worker.module_object(Atom(name))
            }
        })
    }
    fn room(&mut self, words: usize) -> Result<(), Full> {
        if words <= self.room { Ok(()) } else { self.worker.ensure(words).map_err(|_| Full) }
    }
    fn text(&self, atom: u32) -> Option<&[u8]> {
        (atom >= self.atoms).then(|| self.worker.atoms().text(Atom(atom)))
    }
    fn atom(&mut self, text: &[u8]) -> Option<u32> {
        Some(self.worker.atoms().intern(text).0)
    }

    fn anchor(&mut self, export: ExportId, value: Term<'t>) {
        self.worker.anchor(export.0, value);
    }
    fn hold(&mut self, export: ExportId, root: bool) {
        self.worker.hold_anchor(export.0, root);
    }
    fn anchored(&self, export: ExportId) -> Option<Term<'t>> {
        self.worker.anchored(export.0)
    }
    fn set_distance(&mut self, export: ExportId, distance: u8) {
        self.worker.set_anchor_distance(export.0, distance);
    }
    fn release(&mut self, export: ExportId) {
        self.worker.release_anchor(export.0);
    }
    fn mark(&mut self, variable: Term<'t>, export: ExportId) {
        self.worker.mark(variable, export.0);
        if !self.worker.is_variable(variable) {
            // Another worker has bound it a moment ago, or a generator has made its value at once.
            self.late.push(export);
        }
    }
    fn note(&mut self, value: Term<'t>, export: ExportId, must: bool) {
        // Without identities a second export of a structure gets another number.
        if must || self.identities {
            self.worker.note_export(value, export.0);
        }
    }
    fn exported(&self, value: Term<'t>) -> Option<ExportId> {
        let export = match self.worker.is_variable(value) {
            true => self.worker.marker_of(value),
            false => self.worker.noted_export(value),
        };
        export.map(ExportId)
    }

    fn import(&mut self, import: ImportId) -> Term<'t> {
        self.worker.import(import.0)
    }
    fn cell(&self, import: ImportId) -> Option<Term<'t>> {
        self.worker.import_cell(import.0)
    }
    fn forget(&mut self, import: ImportId) {
        self.worker.forget_import(import.0);
    }
    fn bind(&mut self, variable: Term<'t>, to: Term<'t>) -> bool {
        self.worker.become_reference(variable, to)
    }
    fn unify(&mut self, a: Term<'t>, b: Term<'t>) {
        self.worker.unify(a, b);
    }
    fn unify_in(&mut self, by: By, a: Term<'t>, b: Term<'t>) {
        self.worker.unify_in(by, a, b);
    }
    fn leaving_binding(&mut self, by: By, to: NodeId) -> Option<Goal<Term<'t>>> {
        self.worker.leaving_binding(by, to.0)
    }
    fn unbound(&mut self, import: ImportId) {
        self.worker.import_is_unbound(import.0);
    }
    fn spawn(&mut self, priority: i64, predicate: u32, arguments: &[Term<'t>]) -> bool {
        self.worker.take_goal(priority, PredicateId(predicate), arguments)
    }

    fn identity(&self, value: Term<'t>) -> Option<StructureId> {
        self.worker.identity(value).map(|(node, serial)| StructureId { node: NodeId(node), serial })
    }
    fn identify(&mut self, value: Term<'t>, identity: StructureId) {
        self.worker.identify(value, (identity.node.0, identity.serial));
    }
    fn copy(&self, identity: StructureId) -> Option<Term<'t>> {
        self.worker.identified((identity.node.0, identity.serial))
    }
}
