//! The machine's memory: two sides of blocks. A processor takes a block when its last one is full, and has free lists
//! of records; collections empty them. Sizes are those of the paper's table 1.

use term::Atom;

/// Words of a goal record.
pub(super) const GOAL: u32 = 32;
/// Words of a record's head: its predicate, links, state. The arguments follow.
pub(super) const HEAD: u32 = 7;
/// Words of a suspension record.
pub(super) const SUSPENSION: u32 = 2;
/// Words of a suspension flag.
pub(super) const FLAG: u32 = 1;
/// Words of a communication record.
pub(super) const MESSAGE: u32 = 2;

/// A word: a value, or what the memory manager has there.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Word {
    /// Not written yet.
    Empty,
    Int(i64),
    Atom(Atom),
    /// The value is in this cell.
    Ref(u32),
    /// The address of two words.
    List(u32),
    /// The address of a vector and its number of words.
    Vector(u32, u32),
    /// A variable that nobody waits for.
    Unbound,
    /// A variable, or a suspension record's link: the first suspension record.
    Hook(u32),
    /// A suspension record's flag.
    Flag(u32),
    /// A flag: this goal waits, for one variable only or for more.
    Waits(u32, bool),
    /// A flag: its goal goes on.
    Resumed,
    /// A goal record's predicate and number of arguments.
    Goal(u32, u32),
    /// The cell is there now.
    Forward(u32),
    /// The object that begins here is there now.
    Moved(u32),
}

/// Sizes of the memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// Blocks of a side.
    pub(super) blocks: u32,
    /// Words of a block.
    pub(super) block: u32,
}

/// The paper's.
pub(super) const PRINTED: Sizes = Sizes { blocks: 64, block: 5_120 };

/// What records there are free lists of.
pub(super) const RECORDS: [u32; 4] = [GOAL, SUSPENSION, FLAG, MESSAGE];

/// A processor's part of the memory.
#[derive(Default)]
pub(super) struct Local {
    top: u32,
    end: u32,
    /// By kind, as [`RECORDS`] has them.
    pub(super) free: [Vec<u32>; 4],
    /// Words that it took from blocks since the start, other than in collections.
    pub(super) consumed: u64,
}

/// The two sides.
pub(super) struct Memory {
    words: Vec<Word>,
    sizes: Sizes,
    /// Words of a side: the blocks, and one block for each processor, in which the reductions end that run when there
    /// is no block left.
    side: u32,
    /// Where the side in use begins.
    base: u32,
    /// Blocks that are taken of the side in use.
    taken: u32,
    /// Words that are taken of those blocks.
    pub(super) used: u64,
}

impl Memory {
    pub(super) fn new(sizes: Sizes, processors: u32) -> Memory {
        let side = (sizes.blocks + processors) * sizes.block;
        Memory { words: vec![Word::Empty; 2 * side as usize], sizes, side, base: 0, taken: 0, used: 0 }
    }
    /// Whether somebody found no block.
    pub(super) fn is_full(&self) -> bool {
        self.taken > self.sizes.blocks
    }
    /// Room for an object in the processor's block or the next one. An object lies in one block.
    #[inline]
    pub(super) fn take(&mut self, local: &mut Local, words: u32) -> Result<u32, String> {
        if local.end - local.top < words {
            if words > self.sizes.block || (self.taken + 1) * self.sizes.block > self.side {
                return Err(format!("no room for {words} words: more is alive than the memory holds"));
            }
            local.top = self.base + self.taken * self.sizes.block;
            local.end = local.top + self.sizes.block;
            self.taken += 1;
        }
        let at = local.top;
        local.top += words;
        local.consumed += u64::from(words);
        self.used += u64::from(words);
        Ok(at)
    }
    /// Room for a record, from the free list if it has one.
    #[inline]
    pub(super) fn record(&mut self, local: &mut Local, kind: usize) -> Result<u32, String> {
        match local.free[kind].pop() {
            Some(at) => Ok(at),
            None => self.take(local, RECORDS[kind]),
        }
    }
    /// The other side is in use from now on; it is empty, and so are the free lists.
    pub(super) fn flip<'a>(&mut self, locals: impl Iterator<Item = &'a mut Local>) {
        self.base = self.side - self.base;
        (self.taken, self.used) = (0, 0);
        for local in locals {
            (local.top, local.end) = (0, 0);
            local.free.iter_mut().for_each(Vec::clear);
        }
    }
    #[inline]
    pub(super) fn get(&self, at: u32) -> Word {
        self.words[at as usize]
    }
    #[inline]
    pub(super) fn set(&mut self, at: u32, word: Word) {
        self.words[at as usize] = word;
    }
    pub(super) fn copy(&mut self, from: u32, to: u32, words: u32) {
        self.words.copy_within(from as usize..(from + words) as usize, to as usize);
    }
    /// What a cell holds, as a value: a variable is where it lies.
    #[inline]
    pub(super) fn load(&self, at: u32) -> Word {
        match self.get(at) {
            Word::Unbound | Word::Hook(_) => Word::Ref(at),
            word => word,
        }
    }
    /// The end of the references: a value, or the reference to an unbound variable.
    #[inline]
    pub(super) fn deref(&self, word: Word) -> Word {
        *self.end(&word)
    }
    /// Where [`Memory::deref`] finds it. A word that is copied as a whole costs much less than one that is put together
    /// in between.
    #[inline]
    pub(super) fn end<'a>(&'a self, mut word: &'a Word) -> &'a Word {
        while let Word::Ref(at) = *word {
            match &self.words[at as usize] {
                Word::Unbound | Word::Hook(_) => break,
                next => word = next,
            }
        }
        word
    }
    /// Whether an object lies in blocks that are taken.
    #[cfg(test)]
    pub(super) fn holds(&self, at: u32, words: u32) -> bool {
        self.base <= at && at + words <= self.base + self.taken * self.sizes.block
    }
    /// Words that are taken since the last flip fit the taken blocks.
    #[cfg(test)]
    pub(super) fn fits(&self) -> bool {
        self.used <= u64::from(self.taken * self.sizes.block)
    }
}
