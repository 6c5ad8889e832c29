//! Terms as the parser makes them: nodes in an arena, children by number.
//!
//! Invariant T1: a node's children have smaller numbers than the node. So a tree has no cycles, and a loop
//! over the numbers visits children first: no recursion is needed, however deep the term.

use num_bigint::BigInt;
use term::Atom;

/// A node of a [`Tree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// A range of [`Tree`]'s child list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Children {
    first: u32,
    count: u32,
}

/// A term's top and its place in the text.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What it is.
    pub kind: NodeKind,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// Kinds of nodes.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeKind {
    /// Index into [`Tree::variables`].
    Var(u32),
    /// An integer that a word holds.
    Int(i64),
    /// A larger one.
    BigInt(Box<BigInt>),
    /// A float.
    Float(f64),
    /// An atom.
    Atom(Atom),
    /// A string.
    String(Box<[u8]>),
    /// The items, then the tail (`[]` when the text has none). At least one item.
    List(Children),
    /// A functor; at least one argument, and never `'.'/2`.
    Struct(Atom, Children),
    /// `{..}`.
    Vector(Children),
}

/// A variable of a term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeVariable {
    /// As written; `_` for each anonymous one.
    pub name: Box<[u8]>,
    /// First occurrence: first byte.
    pub start: u32,
    /// First occurrence: one past the last byte.
    pub end: u32,
    /// Number of occurrences.
    pub occurrences: u32,
}

/// A term.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    pub(crate) nodes: Vec<Node>,
    pub(crate) children: Vec<NodeId>,
    pub(crate) variables: Vec<TreeVariable>,
}

impl Tree {
    /// The whole term: the last node. Panics on an empty tree (the parser gives none).
    pub fn root(&self) -> NodeId {
        NodeId((self.nodes.len() - 1) as u32)
    }
    /// A node.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }
    /// All nodes, children before parents (T1).
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }
    /// The nodes of a range.
    pub fn children(&self, range: Children) -> &[NodeId] {
        &self.children[range.first as usize..][..range.count as usize]
    }
    /// The variables, in order of first occurrence; each `_` is one of its own.
    pub fn variables(&self) -> &[TreeVariable] {
        &self.variables
    }
    pub(crate) fn add(&mut self, kind: NodeKind, start: u32, end: u32) -> NodeId {
        self.nodes.push(Node { kind, start, end });
        NodeId((self.nodes.len() - 1) as u32)
    }
    pub(crate) fn add_children(&mut self, ids: impl Iterator<Item = NodeId>) -> Children {
        let first = self.children.len() as u32;
        self.children.extend(ids);
        Children { first, count: self.children.len() as u32 - first }
    }
}
