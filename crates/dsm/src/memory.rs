//! What a program sees of the memory that its nodes share, wherever it runs.

use crate::Page;
use std::future::Future;
use std::ops::{Deref, DerefMut, Range};

/// Words that a program is about to read, or to read and write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Use {
    /// The number of the first.
    pub first: usize,
    /// How many.
    pub words: usize,
    /// It writes them.
    pub writes: bool,
}

impl Use {
    /// It reads these words.
    pub fn read(first: usize, words: usize) -> Use {
        Use { first, words, writes: false }
    }
    /// It reads and writes these words.
    pub fn write(first: usize, words: usize) -> Use {
        Use { first, words, writes: true }
    }
    /// The pages that they are in.
    pub(crate) fn pages(&self, page_words: usize) -> Range<Page> {
        let end = if self.words == 0 { self.first } else { self.first + self.words - 1 + page_words };
        (self.first / page_words) as Page..(end / page_words) as Page
    }
}

/// The words of a [`Use`].
#[derive(Debug)]
pub enum View<'a> {
    /// To read.
    Read(&'a [f64]),
    /// To read and write.
    Write(&'a mut [f64]),
}

impl Deref for View<'_> {
    type Target = [f64];
    fn deref(&self) -> &[f64] {
        match self {
            View::Read(words) => words,
            View::Write(words) => words,
        }
    }
}

impl DerefMut for View<'_> {
    /// Words that were not declared as written are a mistake of the program's: panics.
    fn deref_mut(&mut self) -> &mut [f64] {
        match self {
            View::Read(_) => panic!("these words were declared as read only"),
            View::Write(words) => words,
        }
    }
}

/// A node's way to the memory that all share: 64-bit floats, by number.
///
/// A program without races reads what was written last: see the [crate](crate).
pub trait Memory {
    /// Which node this is.
    fn node(&self) -> u32;
    /// How many there are.
    fn nodes(&self) -> u32;
    /// Fetches what is missing of these words, and gives them to `f`, in the order in which they are declared. Uses
    /// that overlap are a mistake of the program's: panics.
    fn with<R>(&self, uses: &[Use], f: impl FnOnce(&mut [View<'_>]) -> R) -> impl Future<Output = R>;
    /// The program reads these words before its next barrier: a memory that asks for many pages in one message does so
    /// now. Any other does nothing.
    fn expect(&self, _: &[Use]) -> impl Future<Output = ()> {
        std::future::ready(())
    }
    /// Waits until all nodes have come here. Everybody then sees what everybody wrote before. A run in which one waits
    /// here, or for a lock, while the programs of all others have ended or wait, too, ends with an error.
    fn barrier(&self) -> impl Future<Output = ()>;
    /// Waits until no other node has this lock. The node then sees what its last holder had seen and written. To want a
    /// lock that the node has, or to end with one, is a mistake of the program's: panics.
    fn lock(&self, lock: u32) -> impl Future<Output = ()>;
    /// Gives the lock back. A lock that the node does not have is a mistake of the program's: panics.
    fn unlock(&self, lock: u32) -> impl Future<Output = ()>;
    /// What the program has just computed takes this number of cycles, if time is simulated.
    fn spend(&self, cycles: u64);
}
