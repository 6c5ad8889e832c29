//! Views of terms for the printer: trees of the parser, and wrapped terms.

use crate::print::{TermView, View};
use crate::tree::{NodeId, NodeKind, Tree};
use std::borrow::Cow;
use term::{Atom, AtomTable};

/// A term of a [`Tree`]: a node, and for lists how many items come before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeTerm(NodeId, u32);

impl TreeTerm {
    /// The term of a node.
    pub fn of(node: NodeId) -> TreeTerm {
        TreeTerm(node, 0)
    }
}

/// Shows the terms of a tree.
pub struct TreeView<'t>(pub &'t Tree);

impl TreeView<'_> {
    /// The whole term.
    pub fn root(&self) -> TreeTerm {
        TreeTerm(self.0.root(), 0)
    }
}

impl TermView for TreeView<'_> {
    type Term = TreeTerm;
    fn view(&self, TreeTerm(id, _): TreeTerm) -> View<'_> {
        match &self.0.node(id).kind {
            NodeKind::Var(variable) => {
                let name = &self.0.variables()[*variable as usize].name;
                View::Variable(String::from_utf8_lossy(name).into_owned())
            }
            NodeKind::Int(value) => View::Int(*value),
            NodeKind::BigInt(value) => View::BigInt(value.to_string()),
            NodeKind::Float(value) => View::Float(*value),
            NodeKind::Atom(atom) => View::Atom(*atom),
            NodeKind::String(bytes) => View::String(Cow::Borrowed(bytes)),
            NodeKind::List(_) => View::Cons,
            NodeKind::Struct(name, range) => View::Struct(*name, self.0.children(*range).len()),
            NodeKind::Vector(range) => View::Vector(self.0.children(*range).len()),
        }
    }
    fn argument(&self, TreeTerm(id, before): TreeTerm, index: usize) -> TreeTerm {
        match &self.0.node(id).kind {
            NodeKind::List(range) => {
                let children = self.0.children(*range);
                let at = before as usize + index;
                if index == 0 || at + 1 == children.len() {
                    TreeTerm(children[at], 0)
                } else {
                    TreeTerm(id, before + 1)
                }
            }
            NodeKind::Struct(_, range) | NodeKind::Vector(range) => {
                TreeTerm(self.0.children(*range)[index], 0)
            }
            _ => unreachable!("the printer asks for arguments of compound terms only"),
        }
    }
}

/// Shows wrapped terms (`variable("X")`, `atom(a)`, `functor(f(W))`, ..) as the terms that they stand for.
/// Something that is no wrapped term shows as it is. When a part is to be waited for, the printer is
/// blocked on the wrapper around it.
pub struct WrappedView<'v, V> {
    inner: &'v V,
    variable: Option<Atom>,
    list: Option<Atom>,
    compound: [Option<Atom>; 2],
    atomic: [Option<Atom>; 5],
}

impl<'v, V: TermView> WrappedView<'v, V> {
    /// Over a view of the wrappers themselves.
    pub fn new(inner: &'v V, atoms: &AtomTable) -> Self {
        let atomic = ["atom", "integer", "floating_point", "string", "unknown"];
        WrappedView {
            inner,
            variable: atoms.lookup(b"variable"),
            list: atoms.lookup(b"list"),
            compound: ["functor", "vector"].map(|name| atoms.lookup(name.as_bytes())),
            atomic: atomic.map(|name| atoms.lookup(name.as_bytes())),
        }
    }
    /// What is inside a wrapper; the term itself when it is none.
    fn unwrap(&self, term: V::Term) -> V::Term {
        match self.inner.view(term) {
            View::Struct(name, 1) => {
                let name = Some(name);
                let known = name == self.variable
                    || name == self.list
                    || self.compound.contains(&name)
                    || self.atomic.contains(&name);
                if known { self.inner.argument(term, 0) } else { term }
            }
            _ => term,
        }
    }
}

impl<V: TermView> TermView for WrappedView<'_, V> {
    type Term = V::Term;
    fn view(&self, term: V::Term) -> View<'_> {
        let inside = self.inner.view(self.unwrap(term));
        match (self.inner.view(term), inside) {
            (View::Struct(name, 1), View::String(text)) if Some(name) == self.variable => {
                View::Variable(String::from_utf8_lossy(&text).into_owned())
            }
            (View::Struct(name, 1), View::Int(number)) if Some(name) == self.variable => {
                View::Variable(format!("_{number}"))
            }
            (View::Struct(name, 1), View::BigInt(number)) if Some(name) == self.variable => {
                View::Variable(format!("_{number}"))
            }
            (_, inside) => inside,
        }
    }
    fn argument(&self, term: V::Term, index: usize) -> V::Term {
        self.inner.argument(self.unwrap(term), index)
    }
    fn is_same(&self, a: V::Term, b: V::Term) -> bool {
        self.inner.is_same(a, b)
    }
}
