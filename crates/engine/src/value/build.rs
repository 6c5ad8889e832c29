//! Making a term from its leaves up.

use super::{Node, Value};
use num_bigint::BigInt;

/// A term that is made from its leaves up, whatever its depth.
#[derive(Debug, Default)]
pub struct Builder {
    nodes: Vec<Node>,
}

/// A term that a [`Builder`] has made, to become a part of others.
#[derive(Clone, Copy, Debug)]
pub struct Part(u32);

impl Builder {
    fn put(&mut self, node: Node) -> Part {
        self.nodes.push(node);
        Part(self.nodes.len() as u32 - 1)
    }
    /// Nodes of all that was made; a value has [`NODES_MAX`](super::NODES_MAX) at most.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }
    /// Whether nothing was made.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
    /// An integer of 64 bits.
    pub fn integer(&mut self, value: i64) -> Part {
        self.put(Node::Integer(value))
    }
    /// An integer.
    pub fn big(&mut self, value: BigInt) -> Part {
        self.put(i64::try_from(&value).map_or(Node::Big(value), Node::Integer))
    }
    /// A float.
    pub fn float(&mut self, value: f64) -> Part {
        self.put(Node::Float(value))
    }
    /// An atom.
    pub fn atom(&mut self, name: impl AsRef<[u8]>) -> Part {
        self.put(Node::Atom(name.as_ref().into()))
    }
    /// A string.
    pub fn string(&mut self, bytes: impl AsRef<[u8]>) -> Part {
        self.put(Node::String(bytes.as_ref().into()))
    }
    /// A variable; the same number is the same variable in all inputs of a call.
    pub fn variable(&mut self, number: u32) -> Part {
        self.put(Node::Variable(number))
    }
    /// A list that ends with `[]`.
    pub fn list(&mut self, items: &[Part]) -> Part {
        let end = self.atom("[]");
        if items.is_empty() { end } else { self.put(Node::List(numbers(items), end.0)) }
    }
    /// A vector.
    pub fn vector(&mut self, elements: &[Part]) -> Part {
        self.put(Node::Vector(numbers(elements)))
    }
    /// A structure; without arguments an atom.
    pub fn structure(&mut self, name: impl AsRef<[u8]>, arguments: &[Part]) -> Part {
        if arguments.is_empty() {
            return self.atom(name);
        }
        self.put(Node::Structure(name.as_ref().into(), numbers(arguments)))
    }
    /// The term that was made last: all others are to be parts of it.
    ///
    /// # Panics
    /// If nothing was made.
    pub fn finish(self) -> Value {
        assert!(!self.nodes.is_empty(), "a value has a node");
        Value { nodes: self.nodes }
    }
}

fn numbers(parts: &[Part]) -> Box<[u32]> {
    parts.iter().map(|part| part.0).collect()
}
