//! What code is made for.

/// How many workers run the code at the same time: it decides how vectors are read and changed. (Variables are bound
/// in the same way: C6 of `term::abi`.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Workers {
    /// One: nobody changes what a builtin looks at.
    #[default]
    One,
    /// Any number.
    Several,
}

/// What code does about the number of reductions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reductions {
    /// Nothing.
    #[default]
    Uncounted,
    /// Counts them in `WorkerAbi::reductions`.
    Counted,
    /// Counts them, and leaves when there were as many as `WorkerAbi::reductions_limit`.
    Metered,
}

/// Choices of code generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether reductions are counted.
    pub reductions: Reductions,
    /// What will run it.
    pub workers: Workers,
    /// Use no instructions that only some processors have (for executables that are carried elsewhere).
    pub portable: bool,
    /// A component of more blocks, and operations that are as much, becomes several native functions.
    pub piece_weight: u32,
    /// The image says where in the text its code comes from. The code is the same.
    pub places: bool,
}

impl Options {
    /// What most code is made with.
    pub const DEFAULT: Options = Options {
        reductions: Reductions::Uncounted,
        workers: Workers::One,
        portable: false,
        piece_weight: PIECE_WEIGHT,
        places: false,
    };
}

impl Default for Options {
    fn default() -> Self {
        Options::DEFAULT
    }
}

/// Predicates that people write are lighter.
const PIECE_WEIGHT: u32 = 1024;
