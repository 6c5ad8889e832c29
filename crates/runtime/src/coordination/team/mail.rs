//! What workers send each other.

use term::Word;

/// When goals run that another worker sends: before what is ready there, or after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum When {
    /// Before it.
    Next,
    /// The same for a goal that waits for what is made there (B3 of `give`).
    Home,
    /// After it (B10 of `sums`).
    Later,
    /// They are older than what is ready there, or than what lies above the topmost gap (B14 of `gaps`).
    Last,
}

/// Goals on their way to another worker: in the format of the goal stack, to be pushed as they are.
#[derive(Debug)]
pub(crate) struct Mail {
    pub(crate) priority: i64, // or a lane
    pub(crate) rank: i64,     // the priority
    pub(crate) when: When,
    /// What was asked for has a number if the run is traced, otherwise 0.
    pub(crate) gift: u32,
    /// The worker that gave them, if they were asked for.
    pub(crate) giver: Option<usize>,
    pub(crate) words: Vec<Word>,
}
