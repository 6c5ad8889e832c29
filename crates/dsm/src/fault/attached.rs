//! What the program of a real node sees: words that it reads and writes, and the steps that nodes take together.

use super::engine::Gate;
use super::mapping::Words;
use crate::difference::with_difference;
use crate::node::Wish;
use crate::protocol::Counters;
use crate::{Memory, Use, View, Work};
use std::fmt::{self, Debug, Display, Formatter};
use std::marker::PhantomData;
use std::sync::atomic::Ordering::Relaxed;

/// A program's way to the memory that it shares.
pub struct Attached<'a> {
    gate: &'a dyn Gate,
    /// Faults are served on its own thread only.
    stays: PhantomData<*const ()>,
    words: Words,
    page_words: usize,
    node: u32,
    nodes: u32,
}

with_difference! {
    /// What a node has done until now. The difference of two is what it did in a phase of its program.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct Stats {
        /// Since the run began; without the parts in `work` the program has computed.
        pub nanoseconds: u64,
        /// What the protocol has done.
        pub counters: Counters,
        /// What the program has waited for, in nanoseconds; `written` has only what it declared.
        pub work: Work,
    }
}

impl Stats {
    /// Nanoseconds in which the program waited for nothing.
    pub fn computing(&self) -> u64 {
        let Work { fetching, releasing, barriers, locks, .. } = self.work;
        self.nanoseconds.saturating_sub(fetching + releasing + barriers + locks)
    }
}

/// A value of eight bytes.
pub trait Word: Copy {
    /// As bits.
    fn to_bits(self) -> u64;
    /// From bits.
    fn of_bits(bits: u64) -> Self;
}

macro_rules! words {
    ($($type:ty: $to:expr, $of:expr;)*) => {
        $(impl Word for $type {
            fn to_bits(self) -> u64 {
                ($to)(self)
            }
            fn of_bits(bits: u64) -> $type {
                ($of)(bits)
            }
        })*
    };
}

words! {
    u64: |word| word, |bits| bits;
    i64: |word: i64| word as u64, |bits| bits as i64;
    f64: f64::to_bits, f64::from_bits;
}

/// Some of the shared words, all of one type. Reading and writing may bring pages.
#[derive(Clone, Copy)]
pub struct Region<'a, T> {
    attached: &'a Attached<'a>,
    first: usize,
    words: usize,
    of: PhantomData<T>,
}

impl<T: Word> Region<'_, T> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.words
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.words == 0
    }
    fn number(&self, index: usize) -> usize {
        assert!(index < self.words, "element {index} of {}", self.words);
        self.first + index
    }
    /// What is there. An index beyond the end is a mistake of the program's: panics.
    pub fn get(&self, index: usize) -> T {
        T::of_bits(self.attached.words.word(self.number(index)).load(Relaxed))
    }
    /// Puts something there. An index beyond the end is a mistake of the program's: panics.
    pub fn set(&self, index: usize, value: T) {
        self.attached.words.word(self.number(index)).store(value.to_bits(), Relaxed);
    }
}

/// A step that fails if the run does: what [`Memory`] has as functions that panic then.
#[derive(Clone, Copy, Debug)]
pub enum Attempt<'a> {
    /// [`Memory::barrier`].
    Barrier,
    /// [`Memory::lock`].
    Lock(u32),
    /// [`Memory::unlock`].
    Unlock(u32),
    /// [`Attached::touch`].
    Touch(&'a [Use]),
}

/// The run has failed: so does this node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lost {
    /// Another node has failed.
    Elsewhere,
    /// What the program waits for never comes: the programs of all others have ended, or wait like this one.
    Stuck,
}

impl Display for Lost {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Lost::Elsewhere => "another node has failed",
            Lost::Stuck => "not all nodes come to this barrier, or nobody gives back this lock, any more",
        })
    }
}

impl std::error::Error for Lost {}

impl Debug for Attached<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "node {} of {}", self.node, self.nodes)
    }
}

impl<'a> Attached<'a> {
    pub(super) fn new(gate: &'a dyn Gate, node: u32, nodes: u32) -> Attached<'a> {
        let (words, page_words) = gate.view();
        Attached { gate, stays: PhantomData, words, page_words, node, nodes }
    }
    /// The words of a page.
    pub fn page_words(&self) -> usize {
        self.page_words
    }
    /// Words of the memory. Those beyond its end are a mistake of the program's: panics.
    pub fn region<T: Word>(&self, first: usize, words: usize) -> Region<'_, T> {
        let end = first.checked_add(words);
        assert!(end.is_some_and(|end| end <= self.words.len()), "{words} words from {first} on");
        Region { attached: self, first, words, of: PhantomData }
    }
    /// Fetches pages of these words that are missing, all at once. A system call that is given a page that is not there
    /// (`read(2)` into it, say) answers EFAULT: so this comes before it.
    pub fn touch(&self, uses: &[Use]) {
        self.step(Attempt::Touch(uses));
    }
    /// What the node has done until now.
    pub fn stats(&self) -> Stats {
        self.gate.stats()
    }
    /// The address of the first word: loads and stores of this thread may use it, as long as the program runs.
    pub fn address(&self) -> usize {
        self.words.start()
    }
    /// Whether the program has this lock.
    pub fn has_lock(&self, lock: u32) -> bool {
        self.gate.has_lock(lock)
    }
    /// Takes a step; an error if the run has failed. To want a lock that the node has, to give back one that it does
    /// not have, and words that do not exist, are mistakes of the program's: panics.
    pub fn attempt(&self, step: Attempt<'_>) -> Result<(), Lost> {
        let wish = match step {
            Attempt::Barrier => Wish::Barrier,
            Attempt::Lock(lock) => {
                assert!(!self.has_lock(lock), "node {} has lock {lock} already", self.node);
                Wish::Lock(lock)
            }
            Attempt::Unlock(lock) => {
                assert!(self.has_lock(lock), "node {} does not have lock {lock}", self.node);
                Wish::Unlock(lock)
            }
            Attempt::Touch(uses) => {
                let is_there = |each: &Use| {
                    each.first.checked_add(each.words).is_some_and(|end| end <= self.words.len())
                };
                let stray = uses.iter().find(|each| !is_there(each));
                assert!(stray.is_none(), "{stray:?} is beyond the end of the memory");
                Wish::Fetch(uses.to_vec())
            }
        };
        if self.gate.drive(wish) && !self.gate.is_lost() {
            Ok(())
        } else if self.gate.is_stuck() {
            Err(Lost::Stuck)
        } else {
            Err(Lost::Elsewhere)
        }
    }
    fn step(&self, step: Attempt<'_>) {
        if let Err(lost) = self.attempt(step) {
            panic!("{lost}");
        }
    }
}

impl Memory for Attached<'_> {
    fn node(&self) -> u32 {
        self.node
    }
    fn nodes(&self) -> u32 {
        self.nodes
    }
    /// Fetches all that is missing at once; page faults bring what is taken away again before `f` is there.
    async fn with<R>(&self, uses: &[Use], f: impl FnOnce(&mut [View<'_>]) -> R) -> R {
        self.touch(uses);
        let mut words = self.words;
        f(&mut words.views(uses))
    }
    async fn expect(&self, uses: &[Use]) {
        self.touch(uses);
    }
    async fn barrier(&self) {
        self.step(Attempt::Barrier);
    }
    async fn lock(&self, lock: u32) {
        self.step(Attempt::Lock(lock));
    }
    async fn unlock(&self, lock: u32) {
        self.step(Attempt::Unlock(lock));
    }
    fn spend(&self, _: u64) {}
}
