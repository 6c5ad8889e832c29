//! What somebody who watches a run sees of it, for whoever asked for it ([`Node::watch`](crate::node::Node::watch)).
//!
//! A worker of a node that may be watched notes what it does where it begins or stops to reduce, rest or collect. Its
//! counters, and a sample of its ready goals, it copies between two reductions when somebody asks (its limit is
//! lowered, A4), and when it goes to rest, since nobody can ask it then. A reduction, a suspension or a binding costs
//! nothing more.

use crate::coordination::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use crate::coordination::sync::{Mutex, lock};
use crate::reports::profile::Doing;
use serde::Serialize;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Collections that are remembered.
const PAUSES_KEPT: usize = 512;

/// What a worker does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Activity {
    /// It reduces goals, looks for them, or handles messages.
    Running,
    /// It collects, or stands still for a collection.
    Collecting,
    /// It has no goals.
    #[default]
    Idle,
}

/// Counters of a worker, when it copied them last.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Figures {
    /// When that was, in nanoseconds from the beginning of the watch; 0: never.
    pub at: u64,
    /// Reductions, when the code counts them.
    pub reductions: u64,
    /// Goals that suspended: of those since the last collection not more than some thousands.
    pub suspensions: u64,
    /// Goals that were resumed.
    pub resumptions: u64,
    /// Words allocated.
    pub words_allocated: u64,
    /// Mails with goals for other workers.
    pub mails: u64,
    /// Mails to workers that asked for goals.
    pub gifts: u64,
    /// Times that it had nothing to do.
    pub rests: u64,
    /// Collections that it led.
    pub collections: u64,
    /// Nanoseconds that these took.
    pub collecting: u64,
    /// Nanoseconds that the longest took.
    pub longest: u64,
    /// Words of ready goals.
    pub ready_words: usize,
    /// Bytes of its young objects.
    pub young_bytes: usize,
    /// What was looked at of the ready goals.
    pub ready: Sample,
}

/// Ready goals that were looked at, the next ones first.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Sample {
    /// Their number.
    pub goals: usize,
    /// Their words.
    pub words: usize,
    /// How many there are of each predicate (`module:name/arity`), the most frequent first.
    pub predicates: Vec<(String, usize)>,
}

/// What one worker does and has.
#[derive(Clone, Debug, Default, Serialize)]
pub struct WorkerSeen {
    /// What it does now.
    pub doing: Activity,
    /// Nanoseconds that it was running, so far.
    pub running: u64,
    /// Nanoseconds that it was collecting, or stood still for that.
    pub collecting: u64,
    /// Nanoseconds that it was idle.
    pub idle: u64,
    /// Its counters.
    pub figures: Figures,
}

/// A collection.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Pause {
    /// When it ended, in nanoseconds from the beginning of the watch.
    pub at: u64,
    /// Nanoseconds that it took, with those until all workers had stopped.
    pub took: u64,
    /// Whether it was a major one.
    pub major: bool,
    /// Bytes in use in the heap afterwards.
    pub heap_bytes: usize,
}

/// What a node among several has done, by whoever carries its messages.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Letters {
    /// When this was so, in nanoseconds from the beginning of the watch; 0: never.
    pub at: u64,
    /// Messages sent, by kind: numbers of whoever carries them.
    pub sent: Vec<u64>,
    /// Messages about terms and goals that came.
    pub received: u64,
    /// Goals given to nodes that had none.
    pub gifts: u64,
    /// Terms that other nodes refer to.
    pub exports: usize,
    /// Terms of other nodes that it refers to.
    pub imports: usize,
    /// Of a simulated node.
    pub simulated: Option<Virtual>,
}

/// What a simulated node has done, in cycles of its machine.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Virtual {
    /// The time that it has come to.
    pub now: u64,
    /// Cycles that it reduced.
    pub reducing: u64,
    /// Cycles that messages took.
    pub messages: u64,
    /// Its reductions.
    pub reductions: u64,
}

/// What one node does and has.
#[derive(Clone, Debug, Default, Serialize)]
pub struct NodeSeen {
    /// Its workers.
    pub workers: Vec<WorkerSeen>,
    /// Bytes of old objects, and of large ones.
    pub old_bytes: usize,
    /// Bytes that the heap may take.
    pub heap_limit: usize,
    /// Mails with goals between workers: from each (in rows) to each.
    pub mails: Vec<Vec<u64>>,
    /// Collections that ended since a time, the latest ones.
    pub pauses: Vec<Pause>,
    /// Of a node among several.
    pub letters: Letters,
}

/// What is known of the workers of a node that may be watched.
pub(crate) struct Watch {
    start: Instant,
    seats: Box<[Seat]>,
    /// Mails from each worker (in rows) to each. Relaxed: they order nothing.
    mails: Box<[AtomicU64]>,
    pauses: Mutex<VecDeque<Pause>>,
    /// Whoever carries messages is to say what it has done. Relaxed: a wish.
    letters_asked: AtomicBool,
    letters: Mutex<Letters>,
    /// When the last collection that worker 0 led was wanted: perhaps one in which it answers what waits.
    stopped_at: Mutex<Option<Instant>>,
}

/// In cache lines of its own: written by its worker, so that the lock is free whenever that worker wants it.
#[repr(align(128))]
#[derive(Default)]
struct Seat {
    /// Relaxed: a wish, and whoever has it lowers the worker's limit afterwards.
    asked: AtomicBool,
    own: Mutex<Own>,
}

#[derive(Default)]
struct Own {
    seen: WorkerSeen,
    /// Since when it does what it does.
    since: u64,
}

impl Own {
    /// What it does until now is counted.
    fn count(&mut self, now: u64) {
        let time = match self.seen.doing {
            Activity::Running => &mut self.seen.running,
            Activity::Collecting => &mut self.seen.collecting,
            Activity::Idle => &mut self.seen.idle,
        };
        *time += now.saturating_sub(self.since);
        self.since = self.since.max(now);
    }
}

impl Watch {
    /// Of this number of workers, from `start` on.
    pub(crate) fn new(workers: usize, start: Instant) -> Watch {
        debug_assert!(workers > 0, "a node has a worker");
        Watch {
            start,
            seats: (0..workers).map(|_| Seat::default()).collect(),
            mails: (0..workers * workers).map(|_| AtomicU64::new(0)).collect(),
            pauses: Mutex::default(),
            letters_asked: AtomicBool::new(false),
            letters: Mutex::default(),
            stopped_at: Mutex::default(),
        }
    }
    /// Nanoseconds from its beginning, at least 1.
    pub(crate) fn now(&self) -> u64 {
        (self.start.elapsed().as_nanos() as u64).max(1)
    }
    /// What a worker does from now on.
    pub(crate) fn does(&self, me: usize, doing: Doing) {
        let doing = match doing {
            Doing::Idle => Activity::Idle,
            Doing::Collecting => Activity::Collecting,
            Doing::Scheduling | Doing::Code(_) | Doing::Called(_) | Doing::Native(_) => Activity::Running,
        };
        let mut own = lock(&self.seats[me].own);
        if own.seen.doing != doing {
            own.count(self.now());
            own.seen.doing = doing;
        }
    }
    /// A worker sends goals to another.
    pub(crate) fn mailed(&self, from: usize, to: usize) {
        debug_assert!(from != to && to < self.seats.len(), "a worker sends goals to others");
        self.mails[from * self.seats.len() + to].fetch_add(1, Relaxed);
    }
    /// All workers are to copy their counters, once their limits are lowered.
    pub(crate) fn ask(&self) {
        self.seats.iter().for_each(|seat| seat.asked.store(true, Relaxed));
    }
    /// Whether a worker that runs has been asked and has not copied its counters yet.
    pub(crate) fn is_awaited(&self) -> bool {
        let awaited =
            |seat: &Seat| seat.asked.load(Relaxed) && lock(&seat.own).seen.doing == Activity::Running;
        self.seats.iter().any(awaited)
    }
    /// True once after somebody has asked.
    pub(crate) fn take_asked(&self, me: usize) -> bool {
        let asked = &self.seats[me].asked;
        asked.load(Relaxed) && asked.swap(false, Relaxed)
    }
    /// A worker's counters.
    pub(crate) fn show(&self, me: usize, figures: Figures) {
        let mut own = lock(&self.seats[me].own);
        debug_assert!(own.seen.figures.at <= figures.at, "what a worker shows is newer than before");
        // More of them may have been counted before.
        let suspensions = figures.suspensions.max(own.seen.figures.suspensions);
        own.seen.figures = Figures { suspensions, ..figures };
    }
    /// A collection has ended.
    pub(crate) fn collected(&self, major: bool, took: Duration, heap_bytes: usize) {
        let pause = Pause { at: self.now(), took: took.as_nanos() as u64, major, heap_bytes };
        let mut pauses = lock(&self.pauses);
        debug_assert!(pauses.len() <= PAUSES_KEPT, "what is kept is bounded");
        if pauses.len() == PAUSES_KEPT {
            pauses.pop_front();
        }
        pauses.push_back(pause);
    }
    /// Whoever carries messages is to say what it has done.
    pub(crate) fn ask_letters(&self) {
        self.letters_asked.store(true, Relaxed);
    }
    /// True once after that.
    pub(crate) fn take_letters_asked(&self) -> bool {
        self.letters_asked.load(Relaxed) && self.letters_asked.swap(false, Relaxed)
    }
    pub(crate) fn show_letters(&self, letters: Letters) {
        *lock(&self.letters) = Letters { at: self.now(), ..letters };
    }
    /// Worker 0 leads a collection that was wanted then.
    pub(crate) fn stopped(&self, wanted: Instant) {
        *lock(&self.stopped_at) = Some(wanted);
    }
    /// When the last such collection was wanted.
    pub(crate) fn stopped_at(&self) -> Option<Instant> {
        *lock(&self.stopped_at)
    }
    /// All that is known, with the collections that ended after a time.
    pub(crate) fn seen(&self, after: u64) -> NodeSeen {
        let worker = |seat: &Seat| {
            let mut own = lock(&seat.own);
            own.count(self.now());
            own.seen.clone()
        };
        let mails = self.mails.chunks(self.seats.len());
        NodeSeen {
            workers: self.seats.iter().map(worker).collect(),
            old_bytes: 0,
            heap_limit: 0,
            mails: mails.map(|row| row.iter().map(|count| count.load(Relaxed)).collect()).collect(),
            pauses: lock(&self.pauses).iter().filter(|pause| pause.at > after).copied().collect(),
            letters: lock(&self.letters).clone(),
        }
    }
}

#[cfg(all(test, not(models)))]
mod tests {
    use super::*;

    #[test]
    fn time_is_counted_for_what_a_worker_does() {
        let watch = Watch::new(2, Instant::now());
        watch.does(1, Doing::Scheduling);
        std::thread::sleep(Duration::from_millis(2));
        watch.does(1, Doing::Collecting);
        std::thread::sleep(Duration::from_millis(2));
        let seen = watch.seen(0);
        let [idle, busy] = &seen.workers[..] else { panic!("two workers") };
        assert_eq!((idle.doing, busy.doing), (Activity::Idle, Activity::Collecting));
        assert!(busy.running >= 2_000_000 && busy.collecting >= 2_000_000, "{busy:?}");
        assert!(idle.idle >= 4_000_000 && idle.running == 0, "{idle:?}");
        // What was counted once is not counted again.
        let again = watch.seen(0);
        assert_eq!(again.workers[1].running, busy.running);
        let all = |worker: &WorkerSeen| worker.running + worker.collecting + worker.idle;
        assert!(all(&again.workers[1]) <= watch.now());
    }

    #[test]
    fn the_latest_collections_are_kept() {
        let watch = Watch::new(1, Instant::now());
        (0..PAUSES_KEPT + 5).for_each(|n| watch.collected(n % 2 == 0, Duration::from_nanos(n as u64), n));
        let pauses = watch.seen(0).pauses;
        assert_eq!((pauses.len(), pauses[0].heap_bytes), (PAUSES_KEPT, 5));
        let last = pauses[PAUSES_KEPT - 1];
        assert!(last.major && watch.seen(last.at).pauses.is_empty());
    }

    #[test]
    fn a_worker_is_awaited_while_it_runs() {
        let watch = Watch::new(2, Instant::now());
        watch.ask();
        assert!(!watch.is_awaited(), "nobody runs");
        watch.does(0, Doing::Scheduling);
        assert!(watch.is_awaited() && watch.take_asked(0) && !watch.take_asked(0) && !watch.is_awaited());
    }
}
