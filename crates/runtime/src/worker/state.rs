//! A worker's own state: when it attends, which of its cells others may see, and words that builtins keep.

use term::Word;

/// When a worker looks at what wants attention, if nobody lowers `abi.limit`.
#[derive(Debug)]
pub(crate) struct Attention {
    limit: usize,
    soon: usize,
    collected: bool,
}

impl Attention {
    /// `limit`: see [`Attention::limit`].
    pub(crate) fn new(limit: usize) -> Attention {
        Attention { limit, soon: usize::MAX, collected: false }
    }
    /// What `abi.limit` is while nothing wants attention.
    #[inline(always)]
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }
    /// With several workers: where allocation shall have got to when the worker looks again whether goals are to have
    /// their turn, or somebody asks for some; `usize::MAX` if it need not.
    #[inline(always)]
    pub(crate) fn soon(&self) -> usize {
        self.soon
    }
    /// The earlier of the two.
    #[inline(always)]
    pub(crate) fn first(&self) -> usize {
        self.limit.min(self.soon)
    }
    /// The worker is going to look in any case.
    #[inline(always)]
    pub(crate) fn looks_soon(&self) -> bool {
        self.soon != usize::MAX
    }
    /// The worker shall look when allocation has got there.
    #[inline(always)]
    pub(crate) fn look_at(&mut self, address: usize) {
        self.soon = self.soon.min(address);
    }
    /// The worker looks now.
    pub(crate) fn looks(&mut self) {
        self.soon = usize::MAX;
    }
    /// After a collection: allocation begins anew, up to this limit.
    pub(crate) fn collected(&mut self, limit: usize) {
        *self = Attention { limit, soon: usize::MAX, collected: true };
    }
    /// Whether there was a collection since this was last asked.
    pub(crate) fn take_collected(&mut self) -> bool {
        std::mem::take(&mut self.collected)
    }
}

/// Which cells other workers may see: `abi.private_base` says it (W2 of `all`), but for a worker that is alone.
#[derive(Debug, Default)]
pub(crate) struct Visibility {
    solo: bool,
    publish_wanted: bool,
}

impl Visibility {
    /// B5 of `give`: all others rest.
    #[inline(always)]
    pub(crate) fn is_solo(&self) -> bool {
        self.solo
    }
    /// B5: all others rest, so there is nothing to publish.
    pub(crate) fn begin_solo(&mut self) {
        debug_assert!(!self.solo, "B5: it is alone already");
        *self = Visibility { solo: true, publish_wanted: false };
    }
    /// B5: what is private since then is to be published. False if the worker was not alone.
    pub(crate) fn end_solo(&mut self) -> bool {
        let solo = std::mem::take(&mut self.solo);
        self.publish_wanted |= solo;
        solo
    }
    /// What others may take is to be published at the next attention (H5 of `suspend`).
    pub(crate) fn want_publishing(&mut self) {
        self.publish_wanted = true;
    }
    /// Whether that is wanted; said once.
    pub(crate) fn take_publishing(&mut self) -> bool {
        std::mem::take(&mut self.publish_wanted)
    }
    /// Between runs nobody is alone.
    pub(crate) fn end_run(&mut self) {
        self.solo = false;
    }
}

/// A word that a builtin's state keeps across collections: see [`Terms::root`](crate::node::Terms::root).
#[derive(Debug, PartialEq, Eq)]
pub struct Root(u32);

/// The words of all roots.
#[derive(Debug, Default)]
pub(crate) struct Roots {
    words: Vec<Word>,
    free: Vec<u32>,
}

impl Roots {
    pub(crate) fn add(&mut self, word: Word) -> Root {
        if let Some(index) = self.free.pop() {
            self.words[index as usize] = word;
            return Root(index);
        }
        self.words.push(word);
        Root(u32::try_from(self.words.len() - 1).expect("2^32 roots exceed memory"))
    }
    pub(crate) fn get(&self, root: &Root) -> Word {
        debug_assert!(!self.free.contains(&root.0), "a root that has ended");
        self.words[root.0 as usize]
    }
    pub(crate) fn set(&mut self, root: &Root, word: Word) {
        self.words[root.0 as usize] = word;
    }
    /// The word of a root, which ends.
    pub(crate) fn take(&mut self, root: Root) -> Word {
        debug_assert!(!self.free.contains(&root.0), "a root that has ended");
        self.free.push(root.0);
        std::mem::replace(&mut self.words[root.0 as usize], Word::small(0))
    }
    /// All of them, and small integers where roots have ended.
    pub(crate) fn words(&self) -> &[Word] {
        &self.words
    }
    pub(crate) fn words_mut(&mut self) -> &mut [Word] {
        &mut self.words
    }
}
