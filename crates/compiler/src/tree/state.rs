//! What a tree's builder works on: the clauses that may still commit and what is known.

use crate::ir::{BlockId, Reg};
use crate::program::values::TestId;
use crate::tree::facts::Facts;
use std::rc::Rc;

/// A clause that may still commit, with the tests that are left.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) clause: u32,
    pub(super) tests: Rc<[TestId]>,
    pub(super) from: u32,
}

impl PartialEq for Row {
    fn eq(&self, other: &Row) -> bool {
        let same = Rc::ptr_eq(&self.tests, &other.tests) && self.from == other.from;
        self.clause == other.clause && (same || self.left() == other.left())
    }
}

impl Eq for Row {}

/// Tests that a row's hash looks at: rows of a clause with as many tests left mostly have the same.
const HASHED: usize = 4;

impl std::hash::Hash for Row {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        let left = self.left();
        (self.clause, left.len(), &left[..left.len().min(HASHED)]).hash(state);
    }
}

impl Row {
    /// The tests that are left.
    pub(super) fn left(&self) -> &[TestId] {
        &self.tests[self.from as usize..]
    }
}

/// Number of a [`Rest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct RestId(pub(super) u32);

/// What a block decides.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) rows: Vec<Row>,
    pub(super) facts: Facts,
    /// Variables that blocked a row on this path.
    pub(super) pending: Vec<Reg>,
    /// The smallest group of a blocked row.
    pub(super) blocked: Option<u32>,
    /// Some blocking variables were noted by `Pend`.
    pub(super) noted: bool,
    /// For which rows what none asks for was forgotten: the first clause, and how many.
    pub(super) about: (u32, usize),
    /// What to try when all rows have failed or blocked.
    pub(super) rest: Option<RestId>,
}

/// A state without its facts: states with one key may share a block.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) rows: Vec<Row>,
    pub(super) pending: Vec<Reg>,
    pub(super) blocked: Option<u32>,
    pub(super) noted: bool,
    /// A big integer was seen: versions for small ones are not worth it any more.
    pub(super) slow: bool,
    pub(super) rest: Option<RestId>,
}

/// The rows that are tried when those of another state do not commit.
pub(super) struct Rest {
    pub(super) rows: Vec<Row>,
    pub(super) facts: Facts,
    pub(super) outer: Option<RestId>,
    pub(super) blocks: Vec<(Option<u32>, BlockId)>,
}

/// What a state comes to when what is decided is dropped.
pub(super) enum Next {
    /// This clause commits.
    Commit(u32),
    /// No row is left.
    Exit,
    /// A row behind an `otherwise` is reached while something is pending.
    Wait,
    /// The first row's first test is open.
    Ask,
}

/// What is still to be put into a block.
pub(super) enum Work {
    State(State),
    Body(u32, Facts),
}
