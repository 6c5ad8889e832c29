//! What a worker keeps for comparison, for vectors and for texts of terms.

use term::Word;

/// Levels of terms that a guard compares without a stack.
pub(super) const NEAR_LEVELS: usize = 32;

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

/// See the module comment.
#[derive(Debug)]
pub(crate) struct Terms {
    /// Where a guard that compares two terms goes on, three words a level: see `equal_near` of `pairs`.
    pub(super) near: [usize; 3 * NEAR_LEVELS],
    /// Steps from old versions of vectors and strings to newer ones since one of them last got a store of its own.
    pub(super) version_steps: usize,
    /// For `append`, which leaves it empty.
    pub(super) levels: Vec<Level>,
}

impl Default for Terms {
    fn default() -> Terms {
        Terms { near: [0; 3 * NEAR_LEVELS], version_steps: 0, levels: Vec::new() }
    }
}
