//! What a node's worker 0 tells of terms of other nodes and for other nodes.

use smallvec::SmallVec;
use term::Word;
use term::abi::{Position, PredicateId};

/// A goal that leaves its node, or may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Goal<T = Word> {
    /// Its priority.
    pub priority: i64,
    /// Its predicate.
    pub predicate: PredicateId,
    /// Its arguments.
    pub args: SmallVec<[T; 4]>,
}

impl Goal {
    /// The same goal, with each argument as the face of a node shows it.
    pub(crate) fn map<T>(self, show: impl FnMut(Word) -> T) -> Goal<T> {
        let Goal { priority, predicate, args } = self;
        Goal { priority, predicate, args: args.into_iter().map(show).collect() }
    }
}

/// Whose fault it is if a variable has another value at its home.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct By {
    /// The lane of the goal, or 0 if nobody counts it.
    pub lane: i64,
    /// Where that stands in the text.
    pub position: Position,
}

/// What happened that other nodes may have to be told. Words are good until the next turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outward<T = Word> {
    /// A goal is to be reduced by another node.
    Throw {
        /// Which.
        node: u32,
        /// The goal.
        goal: Goal<T>,
    },
    /// A goal waits for an import that nobody waited for before.
    Wanted {
        /// The import.
        import: u32,
        /// Somebody walks a term that it is a part of: all that is inside it will be wanted, too.
        whole: bool,
    },
    /// Somebody wants to know whether an import has a value, and does not wait for it.
    Looked {
        /// The import.
        import: u32,
        /// As for `Wanted`.
        whole: bool,
    },
    /// An import got a value at this node.
    Bound {
        /// The import.
        import: u32,
        /// Its cell.
        value: T,
        /// Whose fault it is if its home has another one.
        by: By,
    },
    /// A marked variable was bound or became a reference.
    Marked {
        /// As [`Terms::mark`](crate::node::Terms::mark) was told.
        export: u32,
    },
    /// Two variables are to be one, and both are imports or marked.
    Alias {
        /// One.
        a: T,
        /// The other.
        b: T,
        /// As for `Bound`.
        by: By,
    },
    /// The program has said `@node(any)` of a goal, for the first time at this node.
    Offered,
}
