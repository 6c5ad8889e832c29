//! What the protocol asks of a node's heap.

use crate::Goal;
use fabric::NodeId;
use runtime::abroad::By;

/// An entry of the export table: a term of this node that other nodes have references to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ExportId(pub u32);

/// An entry of the import table: a reference of this node to a term of another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ImportId(pub u32);

/// What makes copies of one structure known as such: the node that gave the identity, and a number of that node's (40
/// bits).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct StructureId {
    /// The node that gave it.
    pub node: NodeId,
    /// Below 2^40.
    pub serial: u64,
}

/// A term's outside. Atoms, predicates and modules are the store's numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Seen {
    /// An integer of 61 bits.
    Int(i64),
    /// An atom.
    Atom(u32),
    /// A cons: parts 0 (car) and 1 (cdr).
    List,
    /// A structure with its arguments as parts.
    Struct {
        /// Its name, an atom.
        name: u32,
        /// At least 1.
        arity: usize,
    },
    /// A vector with its elements as parts.
    Vector(usize),
    /// A string of this length: [`Store::bytes`].
    Bytes(usize),
    /// The bits of a double.
    Float(u64),
    /// An integer that needs more than 61 bits: [`Store::limbs`].
    Big,
    /// A predicate.
    Predicate(u32),
    /// A module; its name is this atom.
    Module(u32),
    /// An unbound variable of this node.
    Variable {
        /// [`Store::mark`] has been called for it, ever.
        marked: bool,
    },
    /// An unbound variable that stands for a term of another node.
    Import(ImportId),
}

/// A term to make; `V` are its parts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Shape<'a, V> {
    /// An integer of 61 bits.
    Int(i64),
    /// An atom by its number.
    Atom(u32),
    /// An atom by its text: see [`Store::text`].
    Name(&'a [u8]),
    /// `[part, part, ..|last]`: at least two parts.
    List(&'a [V]),
    /// A structure; at least one argument.
    Struct(u32, &'a [V]),
    /// A vector.
    Vector(&'a [V]),
    /// A string.
    Bytes(&'a [u8]),
    /// The bits of a double.
    Float(u64),
    /// Below zero, and the magnitude as in [`Store::limbs`].
    Big(bool, &'a [u64]),
    /// A predicate.
    Predicate(u32),
    /// A module.
    Module(u32),
}

/// The heap has no room for a message's terms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full;

/// A node's heap. Nothing is collected or moved while a call of the protocol runs; between calls everything may move,
/// and the protocol keeps no `Value`. What the protocol has to be told afterwards (a marked variable that got a
/// value, say) the store queues: it is told in later calls, in order.
pub trait Store {
    /// A term: good until the call of the protocol returns. Equal for equal immediates and for the same cell or
    /// structure, after [`Store::follow`].
    type Value: Copy + PartialEq;

    /// The term that a value leads to by way of bound variables.
    fn follow(&self, value: Self::Value) -> Self::Value;
    /// What it is; follows.
    fn look(&self, value: Self::Value) -> Seen;
    /// The bytes of a string.
    fn bytes(&self, string: Self::Value) -> Vec<u8>;
    /// Of an integer that needs more than 61 bits: whether it is below zero, and its magnitude in 64-bit limbs, the
    /// lowest first, the last not 0.
    fn limbs(&self, integer: Self::Value) -> (bool, Vec<u64>);
    /// A part of a cons, structure or vector.
    fn part(&self, value: Self::Value, number: usize) -> Self::Value;
    /// Makes a term, in room that was asked for. `None`: there is no such atom, predicate or module.
    fn make(&mut self, shape: Shape<'_, Self::Value>) -> Option<Self::Value>;
    /// Makes sure of room for this number of words. Collects nothing.
    fn room(&mut self, words: usize) -> Result<(), Full>;
    /// The text of an atom, if other nodes may not know its number.
    fn text(&self, atom: u32) -> Option<&[u8]>;
    /// The atom of a text; makes it if need be. `None`: no more atoms.
    fn atom(&mut self, text: &[u8]) -> Option<u32>;

    /// From now on a root of collections, under this number, until [`Store::release`].
    fn anchor(&mut self, export: ExportId, value: Self::Value);
    /// Whether the anchored term is a root (as after [`Store::anchor`]) or lives only as long as something else keeps
    /// it. If that ends, the store tells (`Protocol::lost`).
    fn hold(&mut self, export: ExportId, root: bool);
    /// The anchored term. `None`: it was not held and has died.
    fn anchored(&self, export: ExportId) -> Option<Self::Value>;
    /// How far the nearest reference to it is from what some node's program holds: see `Protocol::far`. 1 as after
    /// [`Store::anchor`].
    fn set_distance(&mut self, export: ExportId, distance: u8);
    /// The number is free; what `note` has remembered of a structure is forgotten. A variable stays marked.
    fn release(&mut self, export: ExportId);
    /// For an unbound variable: when it is bound or becomes a reference, tell (`Protocol::marked`), once for each
    /// call of `mark`; until then it keeps its anchor alive. It may be an import's.
    fn mark(&mut self, variable: Self::Value, export: ExportId);
    /// For another term: remembers it for [`Store::exported`], unless the store does without what it need not (`must`).
    fn note(&mut self, value: Self::Value, export: ExportId, must: bool);
    /// An export that `mark` or `note` was told of for this term. It may be out of date: the protocol compares.
    fn exported(&self, value: Self::Value) -> Option<ExportId>;

    /// Makes a variable that stands for an import. The store keeps it weakly under this number; when it has died, the
    /// store tells (`Protocol::dead`). Room was asked for.
    fn import(&mut self, import: ImportId) -> Self::Value;
    /// That variable, whatever it has become. `None`: dead.
    fn cell(&self, import: ImportId) -> Option<Self::Value>;
    /// The number is free. What was queued of it may still be told (D5).
    fn forget(&mut self, import: ImportId);
    /// An unbound variable becomes a reference to a term. Goals that wait for it go on, or wait for the other one;
    /// for an import that was not waited for yet, that is told (`Protocol::wanted`). Tells of the variable's marks.
    /// Tells nothing of the import that it may stand for. False: somebody else was first, or is to do it; then the two
    /// are unified as a program does.
    fn bind(&mut self, variable: Self::Value, to: Self::Value) -> bool;
    /// Unifies as a program does. Two variables that are both marked or imports are told later (`Protocol::alias`);
    /// an import that gets a value, too (`Protocol::bound`); an unmarked variable becomes a reference to the other
    /// term at once.
    fn unify(&mut self, a: Self::Value, b: Self::Value);
    /// The same for a goal, whose fault it is if they differ.
    fn unify_in(&mut self, by: By, a: Self::Value, b: Self::Value) {
        debug_assert!(by.lane == 0, "a store without lanes");
        self.unify(a, b);
    }
    /// What a goal has bound goes to a node as a goal: that one, but for its last two arguments, which are the variable
    /// and the value. `None`: nobody's fault is to be told.
    fn leaving_binding(&mut self, by: By, to: NodeId) -> Option<Goal<Self::Value>> {
        debug_assert!(by.lane == 0, "a store without lanes, and {to:?}");
        None
    }
    /// Somebody who only looked ([`crate::Message::Read`] with `peek`) learns that the term has no value yet.
    fn unbound(&mut self, import: ImportId);
    /// Makes a goal ready. `false`: there is no such predicate with this number of arguments.
    fn spawn(&mut self, priority: i64, predicate: u32, arguments: &[Self::Value]) -> bool;

    /// The identity of a structure, if it has one.
    fn identity(&self, value: Self::Value) -> Option<StructureId>;
    /// Gives a structure its identity. Kept weakly, both ways.
    fn identify(&mut self, value: Self::Value, identity: StructureId);
    /// The structure with this identity, if there is a copy on this node.
    fn copy(&self, identity: StructureId) -> Option<Self::Value>;
}
