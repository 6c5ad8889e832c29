//! A timeline of a run: what each worker did when, for whoever asked for it (option `trace` of a node).
//!
//! A worker notes what it does where it begins or stops to reduce, rest or collect, and where goals travel: never at
//! a reduction, a suspension or a binding. Without a trace that is one test at each of these places. Lists are
//! bounded: what does not fit is counted.

use crate::coordination::sync::{Mutex, lock};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Events of all workers together: 100 MB.
const EVENTS_MAX: usize = 2_000_000;
/// Figures are noted at most so often by a worker.
const FIGURES_EVERY: Duration = Duration::from_millis(1);

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum What {
    /// The worker reduced goals.
    Reducing,
    /// It had no goals.
    Resting,
    /// Nothing was left to reduce anywhere, and worker 0 waited for files, sockets, timers.
    Outside,
    /// It wanted to collect, and waited until all others had stopped.
    Stopping,
    /// It stood still because another worker collected.
    Stopped,
    /// It led a collection.
    Collecting {
        /// Whether the collection was a major one.
        major: bool,
        /// Words that all workers copied.
        words: usize,
    },
    /// Its own part in a collection in which several may take part.
    Copying {
        /// Words that it copied.
        words: usize,
    },
    /// It led a collection, had done its part, and waited for the others.
    Waiting,
    /// It asked for goals.
    Asking {
        /// The worker that is asked.
        worker: usize,
    },
    /// It gave goals to one that asked.
    Giving {
        /// The worker that gets them.
        worker: usize,
        /// Words of goals.
        words: usize,
        /// Number of the gift.
        gift: u32,
    },
    /// It took what it had been given.
    Receiving {
        /// Words of goals.
        words: usize,
        /// Number of the gift.
        gift: u32,
    },
    /// Counters of the worker.
    Figures {
        /// Goals that have suspended, up to the last collection.
        suspensions: u64,
        /// Goals that have been resumed.
        resumptions: u64,
        /// Words of ready goals.
        ready_words: usize,
    },
    /// Words in use in the heap after a collection.
    Heap {
        /// Their number.
        words: usize,
    },
    /// It sent a message to another node.
    Sending(Letter),
    /// It did what a message of another node wants.
    Handling(Letter),
}

/// A message between nodes. Those between two nodes that are urgent have numbers, and so have the others: the same at
/// both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Letter {
    /// The node that it goes to or comes from.
    pub peer: u32,
    /// Whether it may overtake others.
    pub urgent: bool,
    /// Its number.
    pub number: u32,
    /// What kind of message it is, by the numbers of whoever carries them.
    pub kind: u8,
}

/// Something that happened on a worker: a moment, or with a length.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Event {
    /// When it began, in nanoseconds from the first event of the node.
    pub at: u64,
    /// How many nanoseconds it took.
    pub lasted: u64,
    /// What.
    pub what: What,
}

/// What the workers of a node did.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Tracks {
    /// When the first event began, in nanoseconds of this host's monotonic clock.
    pub start: u64,
    /// By worker.
    pub tracks: Vec<Track>,
}

/// What one worker did.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Track {
    /// In the order in which they began; what lies within another event comes after it.
    pub events: Vec<Event>,
    /// Number of later events for which there was no room.
    pub left_out: u64,
    /// When its figures, and those of the heap, are to be noted again.
    figures_at: u64,
    heap_at: u64,
}

/// The tracks of a node that is being traced.
pub(crate) struct Trace {
    start: Instant,
    tracks: Box<[Own]>,
    events_max: usize,
    gifts: AtomicU32,
}

/// In cache lines of its own: written by one worker, so that the lock is free whenever that worker wants it.
#[repr(align(128))]
#[derive(Default)]
struct Own(Mutex<Track>);

impl Trace {
    /// A trace of this number of workers, of a node that shares the process or host with others: `share` of them.
    pub(crate) fn new(workers: usize, share: u32) -> Trace {
        Trace {
            start: Instant::now(),
            tracks: (0..workers).map(|_| Own::default()).collect(),
            events_max: EVENTS_MAX / workers / share.max(1) as usize,
            gifts: AtomicU32::new(0),
        }
    }
    /// Nanoseconds from its start.
    pub(crate) fn since_start(&self, instant: Instant) -> u64 {
        instant.duration_since(self.start).as_nanos() as u64
    }
    /// Notes an event of a worker.
    pub(crate) fn add(&self, worker: usize, at: u64, lasted: u64, what: What) {
        let mut track = lock(&self.tracks[worker].0);
        if track.events.len() < self.events_max {
            track.events.push(Event { at, lasted, what });
        } else {
            track.left_out += 1;
        }
    }
    fn is_time(&self, worker: usize, now: u64, next: impl FnOnce(&mut Track) -> &mut u64) -> bool {
        let mut track = lock(&self.tracks[worker].0);
        let next = next(&mut track);
        let due = now >= *next;
        if due {
            *next = now + FIGURES_EVERY.as_nanos() as u64;
        }
        due
    }
    /// Whether it is time to note a worker's figures again.
    pub(crate) fn figures_due(&self, worker: usize, now: u64) -> bool {
        self.is_time(worker, now, |track| &mut track.figures_at)
    }
    /// The same for what is in use in the heap.
    pub(crate) fn heap_due(&self, worker: usize, now: u64) -> bool {
        self.is_time(worker, now, |track| &mut track.heap_at)
    }
    /// A number for a gift of goals.
    pub(crate) fn next_gift(&self) -> u32 {
        // Relaxed: only the number itself matters.
        self.gifts.fetch_add(1, Relaxed) + 1
    }
    /// The tracks so far, which begin anew.
    pub(crate) fn take(&self) -> Tracks {
        let tracks = self.tracks.iter().map(|own| std::mem::take(&mut *lock(&own.0)));
        let mut tracks: Vec<Track> = tracks.map(Track::in_order).collect();
        let start = tracks.iter().filter_map(|track| track.events.first()).map(|event| event.at).min();
        let start = start.unwrap_or_default();
        let events = tracks.iter_mut().flat_map(|track| &mut track.events);
        events.for_each(|event| event.at -= start);
        Tracks { start: on_the_clock(self.start) + start, tracks }
    }
}

/// An instant in nanoseconds of the clock that instants are of. `Instant` does not tell: the clock is read between
/// two looks at the time since then. Of several tries the one with the closest looks counts, so that the error is tens
/// of nanoseconds, less than a message between two processes takes, also where the system interrupts some tries.
fn on_the_clock(instant: Instant) -> u64 {
    let tries = (0..16).map(|_| {
        let (before, clock, after) = (instant.elapsed(), monotonic(), instant.elapsed());
        (after - before, clock.saturating_sub(((before + after) / 2).as_nanos() as u64))
    });
    tries.min().map_or(0, |(_, begin)| begin)
}

/// Nanoseconds of the clock that instants are of.
fn monotonic() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

impl Track {
    /// Events are noted when they end, so those that others lie within come first.
    fn in_order(mut self) -> Track {
        self.events.reverse();
        self.events.sort_by_key(|event| (event.at, std::cmp::Reverse(event.lasted)));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_within_comes_after_and_what_has_no_room_is_counted() {
        let mut trace = Trace::new(2, 1);
        trace.events_max = 4;
        for (at, lasted) in [(105, 0), (110, 5), (110, 20), (100, 30), (131, 1)] {
            trace.add(1, at, lasted, What::Reducing);
        }
        let tracks = trace.take().tracks;
        let times: Vec<(u64, u64)> = tracks[1].events.iter().map(|event| (event.at, event.lasted)).collect();
        assert_eq!(times, [(0, 30), (5, 0), (10, 20), (10, 5)]);
        assert_eq!((tracks[1].left_out, tracks[0].events.len()), (1, 0));
    }
}
