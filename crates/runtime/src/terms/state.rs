//! What a worker keeps for unification and for vectors.

use term::Word;

/// See the module comment.
#[derive(Debug, Default)]
pub(crate) struct Terms {
    /// Generated code waits for a unification, and those that were put off meanwhile.
    pub(super) in_code: bool,
    pub(super) put_off: Vec<(Word, Word)>,
    /// Steps from old versions of vectors and strings to newer ones since one of them last got a store of its own.
    pub(super) version_steps: usize,
}

impl Terms {
    /// Unifications were put off to the end of the reduction.
    pub(crate) fn has_put_off(&self) -> bool {
        !self.put_off.is_empty()
    }
    /// They are of a run that is over.
    pub(crate) fn end_run(&mut self) {
        self.put_off.clear();
    }
}
