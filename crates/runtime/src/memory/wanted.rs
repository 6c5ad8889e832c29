//! What a worker wants of the collector.

/// What a worker wants of the next collection, and what became of a builtin that had no room.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    words: usize,
    soon: bool,
    major: bool,
    refused: bool,
    second_try: bool,
}

impl Wanted {
    /// Words that the next reduction needs at once, at least.
    pub(crate) fn need_words(&mut self, words: usize) {
        self.words = self.words.max(words);
    }
    /// Words that the next reduction needs at once.
    pub(crate) fn words(&self) -> usize {
        self.words
    }
    /// The same; from now on it needs none.
    pub(crate) fn take_words(&mut self) -> usize {
        std::mem::take(&mut self.words)
    }
    /// There shall be a collection at the next attention.
    pub(crate) fn collect(&mut self) {
        self.soon = true;
    }
    /// Whether there shall be one.
    pub(crate) fn is_soon(&self) -> bool {
        self.soon
    }
    /// The next collection shall be a major one.
    pub(crate) fn be_major(&mut self) {
        self.major = true;
    }
    /// A collection begins; answers whether it shall be a major one.
    pub(crate) fn begin_collection(&mut self) -> bool {
        self.soon = false;
        std::mem::take(&mut self.major)
    }
    /// There was no room for an object; `fits`: it may fit after a major collection.
    pub(crate) fn refuse(&mut self, fits: bool) {
        self.refused = fits;
    }
    /// Whether the last object that was refused may fit after a major collection; said once.
    pub(crate) fn take_refused(&mut self) -> bool {
        std::mem::take(&mut self.refused)
    }
    /// The goal that runs now had no room before the last major collection.
    pub(crate) fn begin_second_try(&mut self) {
        debug_assert!(!self.second_try, "a goal within another's second try");
        self.second_try = true;
    }
    pub(crate) fn end_second_try(&mut self) {
        self.second_try = false;
    }
    pub(crate) fn is_second_try(&self) -> bool {
        self.second_try
    }
}
