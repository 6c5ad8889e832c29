//! Runs that somebody watches: what workers show, and who sees it.

use crate::node::Node;
use crate::reports::profile::Doing;
use crate::reports::watch::{Figures, Letters, NodeSeen, Watch};
use crate::worker::Worker;
use crate::worker::all::Shared;
use std::sync::Arc;
use std::time::Instant;

/// Suspensions since the last collection that are counted when somebody asks, and by a worker that goes to rest,
/// perhaps thousands of times a second: their records are a list.
const COUNTED: usize = 8192;
const COUNTED_AT_REST: usize = 32;

/// Sees what a node does; may be used from any thread, during a run and after it.
#[derive(Clone)]
pub struct Watcher(Arc<Shared>);

impl Node {
    /// From now on the node may be watched: times are counted from `start`. Panics during a run.
    pub fn watch(&mut self, start: Instant) -> Watcher {
        self.check_between_runs();
        self.shared.watch.get_or_init(|| Watch::new(self.shared.team.len(), start));
        Watcher(self.shared.clone())
    }
    /// What watches this node, if something does.
    pub fn watcher(&self) -> Option<Watcher> {
        self.shared.watch.get().map(|_| Watcher(self.shared.clone()))
    }
}

impl Watcher {
    fn watch(&self) -> &Watch {
        self.0.watch.get().expect("there is a watcher of nodes that are watched only")
    }
    /// All workers that reduce copy their counters soon. One that rests has done so before.
    pub fn ask(&self) {
        self.watch().ask();
        self.0.waker.wake_all();
    }
    /// Whether a worker that reduces has not done so yet.
    pub fn is_awaited(&self) -> bool {
        self.watch().is_awaited()
    }
    /// All that is known, with the collections that ended after this time (nanoseconds from the watch's start).
    pub fn seen(&self, after: u64) -> NodeSeen {
        let (old_bytes, heap_limit) = (self.0.spaces.old_bytes(), self.0.spaces.bytes_max());
        NodeSeen { old_bytes, heap_limit, ..self.watch().seen(after) }
    }
    /// Nanoseconds since the watch's start.
    pub fn now(&self) -> u64 {
        self.watch().now()
    }
    /// When the last collection was wanted that the first worker led: it answers in one what waits
    /// ([`Waker::ask`](crate::coordination::waker::Waker::ask)).
    pub fn stopped_at(&self) -> Option<Instant> {
        self.watch().stopped_at()
    }
    /// Whoever carries the node's messages is to show what it has done, with [`Watcher::show_letters`].
    pub fn ask_letters(&self) {
        self.watch().ask_letters();
    }
    /// True once after that.
    pub fn take_letters_asked(&self) -> bool {
        self.watch().take_letters_asked()
    }
    /// What whoever carries the node's messages has done.
    pub fn show_letters(&self, letters: Letters) {
        self.watch().show_letters(letters);
    }
}

impl Worker {
    /// Copies the counters if somebody asked for them. Between reductions.
    pub(super) fn show_if_asked(&self) {
        if let Some(watch) = self.shared.watch.get()
            && watch.take_asked(self.index)
        {
            watch.show(self.index, self.figures(watch, COUNTED));
        }
    }
    /// Copies the counters: nobody can ask the worker soon.
    pub(super) fn show_at_rest(&self) {
        if let Some(watch) = self.shared.watch.get() {
            watch.show(self.index, self.figures(watch, COUNTED_AT_REST));
        }
    }
    /// The run is over.
    pub(super) fn show_at_end(&self) {
        if let Some(watch) = self.shared.watch.get() {
            watch.does(self.index, Doing::Idle);
            watch.show(self.index, self.figures(watch, COUNTED));
        }
    }
    fn figures(&self, watch: &Watch, most: usize) -> Figures {
        let counted = &self.statistics;
        let suspended = self.new_suspensions().take(most).count() as u64 + self.abi.reused;
        Figures {
            at: watch.now(),
            reductions: self.abi.reductions,
            suspensions: counted.suspensions + suspended,
            resumptions: self.resumptions(),
            words_allocated: counted.words_allocated + self.nursery_used() as u64 / 8,
            mails: counted.mails,
            gifts: counted.gifts,
            rests: counted.rests,
            collections: counted.minor_collections + counted.major_collections,
            collecting: counted.collecting().as_nanos() as u64,
            longest: counted.pauses.longest.as_nanos() as u64,
            ready_words: self.ready_words(),
            young_bytes: self.nursery_used() + 8 * self.heap.survivor_words(),
            ready: self.ready_sample(),
        }
    }
}
