//! What a worker keeps for vectors, for texts of terms, and for walks through terms.
//!
//! A walk that has come to variables will be made again once these have values: of a long one it is kept what it has
//! left to do, so that it does not begin at the top again for each variable.
//!
//! Invariant L2: what a walk has found stays so, for terms only get values where they have none. Words that are kept
//! are no roots: a collection, which moves what they lead to, forgets all walks.

use std::collections::VecDeque;
use term::Word;

/// Levels of terms that a guard compares without a stack.
pub(super) const NEAR_LEVELS: usize = 32;
/// Walks that are kept, and items of all of them, at most.
const WALKS: usize = 8;
const ITEMS: usize = 1 << 20;

/// What is left to write of a term that was begun (see `append`).
#[derive(Clone, Copy, Debug)]
pub(super) enum Level {
    /// Address of the next argument, and number of arguments left.
    Arguments(usize, usize),
    /// What follows in a list: the cdr at this address.
    Tail(usize),
    /// The elements of a vector from this index on, up to this length.
    Elements(Word, usize, usize),
    /// The bracket after the tail of a list that is no list.
    End,
}

/// Two terms that are to be compared or unified; of two vectors, their elements from a number on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Pair {
    pub(crate) a: Word,
    pub(crate) b: Word,
    pub(crate) from: usize,
}

/// Two terms that are compared, and all pairs of their parts that are not known to be equal, the next one last.
#[derive(Debug)]
struct Comparison {
    terms: [Word; 2],
    left: Vec<Pair>,
}

/// See the module comment.
#[derive(Debug)]
pub(crate) struct Terms {
    /// Where a guard that compares two terms goes on, three words a level: see `equal_near` of `pairs`.
    pub(super) near: [usize; 3 * NEAR_LEVELS],
    /// Steps from old versions of vectors and strings to newer ones since one of them last got a store of its own.
    pub(super) version_steps: usize,
    /// For `append`, which leaves it empty.
    pub(super) levels: Vec<Level>,
    comparisons: VecDeque<Comparison>,
    /// Variables that the last comparison has met, of a node among several.
    pub(super) met: Vec<Word>,
}

impl Default for Terms {
    fn default() -> Terms {
        Terms {
            near: [0; 3 * NEAR_LEVELS],
            version_steps: 0,
            levels: Vec::new(),
            comparisons: VecDeque::new(),
            met: Vec::new(),
        }
    }
}

impl Terms {
    /// Whether any comparison was not finished.
    #[inline(always)]
    pub(crate) fn has_comparisons(&self) -> bool {
        !self.comparisons.is_empty()
    }
    /// Whether one of these terms was, dereferenced.
    pub(crate) fn has_comparison(&self, terms: [Word; 2]) -> bool {
        self.comparisons.iter().any(|kept| kept.terms == terms)
    }
    /// What it has left.
    pub(super) fn take_comparison(&mut self, terms: [Word; 2]) -> Option<Vec<Pair>> {
        let place = self.comparisons.iter().position(|kept| kept.terms == terms)?;
        self.comparisons.remove(place).map(|kept| kept.left)
    }
    /// Keeps that.
    pub(super) fn keep_comparison(&mut self, terms: [Word; 2], left: Vec<Pair>) {
        debug_assert!(!self.has_comparison(terms), "L2: two walks through the same terms");
        self.comparisons.push_back(Comparison { terms, left });
        let items = |kept: &VecDeque<Comparison>| kept.iter().map(|kept| kept.left.len()).sum::<usize>();
        while self.comparisons.len() > WALKS || items(&self.comparisons) > ITEMS {
            self.comparisons.pop_front();
        }
    }
    /// L2.
    pub(crate) fn forget_walks(&mut self) {
        self.comparisons.clear();
    }
    /// Variables that the last comparison has met.
    pub(crate) fn take_met(&mut self) -> Vec<Word> {
        std::mem::take(&mut self.met)
    }
}
