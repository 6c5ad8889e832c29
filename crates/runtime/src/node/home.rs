//! What only worker 0 of a node has: the outside world.

use crate::coordination::waker::Ticker;
use crate::goals::deadlock::LOOKED_AT_GOALS;
use crate::goals::shoen::deadlock::tell_of_deadlock;
use crate::reports::outcome::Waiting;
use crate::worker::Worker;
use crate::worker::all::Shared;
use crate::worker::events::Events;
use std::sync::Arc;
use std::time::Duration;

/// The shortest time to wait for events.
const MOMENT: Duration = Duration::from_nanos(1);

/// Events from outside, the clock that ticks while some may come, and who asks what waits.
#[derive(Default)]
pub(crate) struct Home {
    pub(crate) events: Option<Box<dyn Events>>,
    pub(crate) ticker: Ticker,
    /// Gets what waits when somebody asks.
    pub(crate) report: Option<Report>,
    /// Somebody has asked since whoever steps the node looked.
    pub(crate) asked: bool,
}

/// Where an answer goes to somebody who asked what waits.
pub type Report = Arc<dyn Fn(Waiting) + Send + Sync>;

/// The goals of this node that wait, while nobody reduces: of those a part, with what they wait for.
pub(crate) fn waiting(shared: &Shared, home: &Home) -> Waiting {
    let (crew, mut records, mut count) = (shared.crew(), Vec::new(), 0);
    crew.each(|worker| {
        for record in worker.waiting_goals() {
            count += 1;
            if records.len() < LOOKED_AT_GOALS {
                records.push(record);
            }
        }
    });
    crew.with(0, |worker| {
        let outside = home.events.as_ref().map(|events| events.awaited(worker)).unwrap_or_default();
        worker.still_waiting(&records, count, &outside)
    })
}

impl Home {
    /// Whoever leads a collection has stopped all others: if somebody asked what waits, this is the time to say it.
    pub(super) fn answer(&self, shared: &Shared) {
        if shared.waker.answer()
            && let Some(report) = &self.report
        {
            report(waiting(shared, self));
        }
    }
    pub(crate) fn has_pending(&self, worker: &Worker) -> bool {
        self.events.as_ref().is_some_and(|events| events.has_pending(worker))
    }
    /// Nothing is ready, and no event may come: whether shoens were told of goals that wait for ever, as far as this
    /// node knows. Then the run goes on.
    pub(super) fn tells_shoens(&self, shared: &Shared) -> bool {
        // Other nodes may give what a goal waits for: `Node::tell_of_deadlock` is for those.
        let alone = |worker: &mut Worker| !worker.is_one_of_several_nodes() && !self.has_pending(worker);
        shared.crew().with(0, alone) && tell_of_deadlock(shared, None)
    }
    fn look(&mut self, worker: &mut Worker) {
        if let Some(mut events) = self.events.take() {
            events.poll(worker, Some(Duration::ZERO));
            self.events = Some(events);
        }
    }
    /// The same as if it waited for an event, but for a moment only. True if the worker has something to do then.
    pub(crate) fn look_and_flush(&mut self, worker: &mut Worker) -> bool {
        if let Some(mut events) = self.events.take() {
            events.poll(worker, Some(MOMENT));
            self.events = Some(events);
        }
        worker.ending.has_failed() || worker.has_resumed() || worker.has_outward()
    }
    /// A run begins or has ended: ticks if that is wanted all the time.
    pub(crate) fn tick(&mut self, worker: &Worker, runs: bool) {
        if worker.options.ticks {
            self.ticker.set(runs, &worker.waker());
        }
    }
    /// Ends the ticks if the process is to have one thread.
    fn is_alone(&mut self) -> bool {
        let alone = self.events.as_ref().is_some_and(|events| events.needs_one_thread());
        if alone {
            self.ticker.end();
        }
        alone
    }
    /// Waits for an event.
    pub(super) fn sleep(&mut self, worker: &mut Worker) {
        self.is_alone();
        if let Some(mut events) = self.events.take() {
            self.ticker.pause(|| events.poll(worker, None));
            self.events = Some(events);
        }
    }
    /// Somebody woke the worker (whoever starts waiting for an event wakes it too): polls the events, and keeps
    /// ticking while some may come.
    #[cold]
    pub(super) fn look_outside(&mut self, worker: &mut Worker) {
        if worker.waker().is_asked() {
            self.asked = true;
            worker.collect_soon();
        }
        if !self.is_alone() {
            let pending = self.has_pending(worker);
            self.ticker.set(pending || worker.options.ticks, &worker.waker());
        }
        // Even if none is pending: a reader of what the program makes may have woken the worker.
        self.look(worker);
    }
}
