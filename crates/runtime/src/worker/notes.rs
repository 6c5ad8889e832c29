//! What workers note for a trace (`reports::trace`), and when.

use crate::reports::profile::{Clock, Doing};
use crate::reports::trace::{Trace, Tracks, What};
use crate::worker::Worker;
use crate::worker::all::Shared;
use std::sync::Arc;
use std::time::{Duration, Instant};

impl Shared {
    /// Does something, and notes what it was and how long it took.
    #[inline]
    pub(crate) fn noted<R>(&self, me: usize, act: impl FnOnce() -> R, what: impl FnOnce(&R) -> What) -> R {
        let Some(trace) = &self.trace else { return act() };
        let at = trace.since_start(Instant::now());
        let result = act();
        let what = what(&result);
        trace.add(me, at, trace.since_start(Instant::now()) - at, what);
        result
    }
    /// Notes a moment.
    #[inline]
    pub(crate) fn note(&self, me: usize, what: impl FnOnce() -> What) {
        if let Some(trace) = &self.trace {
            trace.add(me, trace.since_start(Instant::now()), 0, what());
        }
    }
    /// A number for a gift of goals; 0 if nobody wants to know.
    #[inline]
    pub(crate) fn next_gift(&self) -> u32 {
        self.trace.as_ref().map_or(0, Trace::next_gift)
    }
    /// Notes the collection that began at `start` and has just ended, and what it left.
    #[inline]
    pub(crate) fn note_collection(&self, me: usize, start: Instant, major: bool, words: usize) {
        let Some(trace) = &self.trace else { return };
        let (at, end) = (trace.since_start(start), trace.since_start(Instant::now()));
        trace.add(me, at, end - at, What::Collecting { major, words });
        if major || trace.heap_due(me, end) {
            let mut in_use = self.spaces.old_bytes() / 8;
            self.crew().each(|worker| in_use += worker.heap.survivor_words());
            trace.add(me, end, 0, What::Heap { words: in_use });
        }
    }
    /// What a worker does from now on, for its profile and for whoever watches.
    #[inline]
    pub(crate) fn does(&self, me: usize, doing: Doing) {
        if let Some(profiler) = self.profiler.get() {
            profiler.sampler(me).set(doing);
        }
        if let Some(watch) = self.watch.get() {
            watch.does(me, doing);
        }
    }
    /// A collection has ended, for whoever watches: its leader has all workers.
    pub(crate) fn show_collection(&self, major: bool, took: Duration) {
        let Some(watch) = self.watch.get() else { return };
        let mut bytes = self.spaces.old_bytes();
        self.crew().each(|worker| bytes += 8 * worker.heap.survivor_words());
        watch.collected(major, took, bytes);
    }
    /// The clock of the thread that is this worker's, if there is a profile.
    pub(crate) fn clock(&self, me: usize) -> Option<Clock> {
        self.profiler.get().map(|profiler| Clock::start(profiler, me))
    }
    /// What was noted so far; `None` without a trace.
    pub(crate) fn take_trace(&self) -> Option<Tracks> {
        self.trace.as_ref().map(Trace::take)
    }
}

/// For whoever carries messages of a node that is traced: notes what happens between the turns of worker 0.
#[derive(Clone)]
pub struct Tracer(Arc<Shared>);

impl Tracer {
    pub(crate) fn of(shared: &Arc<Shared>) -> Option<Tracer> {
        shared.trace.is_some().then(|| Tracer(shared.clone()))
    }
    /// Does something, and notes what it was and how long it took.
    pub fn noted<R>(&self, what: What, act: impl FnOnce() -> R) -> R {
        self.0.noted(0, act, |_| what)
    }
}

impl Worker {
    /// It sends goals to another worker.
    pub(crate) fn count_mail(&mut self, to: usize) {
        self.statistics.mails += 1;
        if let Some(watch) = self.shared.watch.get() {
            watch.mailed(self.index, to);
        }
    }
    /// It has reduced.
    pub(crate) fn note_reducing(&self) -> What {
        self.note_figures(false);
        What::Reducing
    }
    /// Notes its counters, if it is time for that or the run is over.
    pub(crate) fn note_figures(&self, over: bool) {
        let Some(trace) = &self.shared.trace else { return };
        let now = trace.since_start(Instant::now());
        if !over && !trace.figures_due(self.index, now) {
            return;
        }
        let (suspensions, resumptions) = (self.statistics.suspensions, self.resumptions());
        let ready_words = self.ready_words();
        trace.add(self.index, now, 0, What::Figures { suspensions, resumptions, ready_words });
    }
}
