//! Finds a term that contains itself while it is written, with no memory but for one term, after a few times as many
//! steps as the circle has: Brent's algorithm, on the way from a term to its parts.

/// One term is remembered as long as its parts are being written, and must not be among them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Circles<T> {
    /// The term, and how much work was left when it was met.
    pub(crate) watched: Option<(T, usize)>,
    /// The number of further terms that are compared with it; then another one is remembered, twice as long.
    left: u64,
    patience: u64,
    /// The remembered term is among its own parts.
    pub(crate) found: bool,
}

impl<T: Copy> Circles<T> {
    pub(crate) const NEW: Circles<T> = Circles { watched: None, left: 1, patience: 1, found: false };
    /// So much work is left: less than before a term means that the term is written.
    pub(crate) fn finished(&mut self, work: usize) {
        if self.watched.is_some_and(|(_, before)| work < before) {
            self.watched = None;
        }
    }
    /// A list cell, structure or vector is met.
    pub(crate) fn meet(&mut self, term: T, work: usize, same: impl Fn(T, T) -> bool) {
        self.found |= self.watched.is_some_and(|(watched, _)| same(watched, term));
        if self.left == 0 {
            self.patience *= 2;
        } else if self.watched.is_some() {
            self.left -= 1;
            return;
        }
        (self.watched, self.left) = (Some((term, work)), self.patience);
    }
}
