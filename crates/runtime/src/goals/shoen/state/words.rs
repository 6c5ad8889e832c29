//! What a shoen's goals have allocated, and may: X18 of the module `shoen`.

use super::Shoen;
use crate::coordination::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};

/// X18: a foster tells the shoen's own node of words when it has this many that were not told: at most one report of
/// two messages for 512 KiB.
pub(super) const PORTION: u64 = 1 << 16;

/// Words of a shoen, and of those inside, as far as workers have counted.
#[derive(Debug)]
pub(super) struct Words {
    all: AtomicU64,
    /// How many they may be.
    most: AtomicU64,
    /// They were more, and nobody has given it more since.
    exhausted: AtomicBool,
    /// Of all, those of which other nodes have told this one.
    elsewhere: AtomicU64,
    /// Of all, those of which a foster has told the shoen's own node.
    told: AtomicU64,
    /// What this node's goals had allocated at the last major collection.
    before: AtomicU64,
}

impl Words {
    pub(super) fn new() -> Words {
        let [all, elsewhere, told, before] = [(); 4].map(|()| AtomicU64::new(0));
        let (most, exhausted) = (AtomicU64::new(u64::MAX), AtomicBool::new(false));
        Words { all, most, exhausted, elsewhere, told, before }
    }
    pub(super) fn all(&self) -> u64 {
        self.all.load(Relaxed)
    }
    pub(super) fn is_exhausted(&self) -> bool {
        self.exhausted.load(SeqCst)
    }
    /// Words that goals of this node have allocated.
    fn here(&self) -> u64 {
        self.all().saturating_sub(self.elsewhere.load(Relaxed))
    }
    /// The same since the last major collection.
    pub(super) fn recent(&self) -> u64 {
        self.here().saturating_sub(self.before.load(Relaxed))
    }
    /// A major collection is over.
    pub(super) fn begin_recent(&self) {
        self.before.store(self.here(), Relaxed);
    }
    /// Of a foster: how many were not told.
    fn untold(&self) -> u64 {
        self.all().saturating_sub(self.told.load(Relaxed))
    }
}

impl Shoen {
    /// Its goals may allocate this number of words from the beginning.
    pub(crate) fn limit_words(&self, words: u64) {
        self.words.most.store(words, SeqCst);
    }
    /// Its goals may allocate this number of words from now on, and those that were left of a limit before.
    pub(in super::super) fn add_words(&self, words: u64) {
        let all = self.words.all();
        let left = match self.words.most.load(SeqCst) {
            u64::MAX => 0,
            most => most.saturating_sub(all),
        };
        self.words.most.store(all.saturating_add(left).saturating_add(words), SeqCst);
        self.words.exhausted.store(false, SeqCst);
    }
    /// X18: its goals have allocated words, and so have those of shoens around it. True if they may be too many in one
    /// of these, or [`PORTION`] that another node is to be told.
    pub(in super::super) fn count_words(&self, words: u64) -> bool {
        let (mut shoen, mut many) = (self, false);
        loop {
            let all = shoen.words.all.fetch_add(words, Relaxed) + words;
            many |= all > shoen.words.most.load(Relaxed) || shoen.is_to_tell();
            match &shoen.parent {
                Some(parent) => shoen = parent,
                None => return many,
            }
        }
    }
    /// X18: the same of words that goals at another node have allocated.
    pub(in super::super) fn count_elsewhere(&self, words: u64) -> bool {
        for shoen in std::iter::successors(Some(self), |shoen| shoen.parent.as_deref()) {
            shoen.words.elsewhere.fetch_add(words, Relaxed);
        }
        self.count_words(words)
    }
    /// X18: of a foster: there are many words that its shoen's own node does not know.
    pub(in super::super) fn is_to_tell(&self) -> bool {
        self.foster.is_some() && self.words.untold() >= PORTION
    }
    /// X18: of a foster: the words that its shoen's own node does not know, which it is told now.
    pub(in super::super) fn take_untold(&self) -> u64 {
        debug_assert!(self.foster.is_some(), "X18: only what stands for a shoen elsewhere tells of words");
        let all = self.words.all();
        all.saturating_sub(self.words.told.fetch_max(all, Relaxed))
    }
    /// X18: true once if its goals have allocated too many words: then they stop (X19).
    pub(in super::super) fn is_exhausted(&self) -> bool {
        let (all, most) = (self.words.all(), self.words.most.load(Relaxed));
        let ends = all > most && self.words.most.compare_exchange(most, u64::MAX, SeqCst, SeqCst).is_ok();
        if ends {
            self.words.exhausted.store(true, SeqCst);
        }
        ends
    }
}
