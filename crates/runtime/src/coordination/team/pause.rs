//! A running worker that waits for a moment, because others reduce at a higher priority (B11 of `yields`) or what comes
//! before its goals (B14 of `gaps`), or because worker 0 comes first (Y12 of `abroad`).
//!
//! Invariants (T1 to T12 are those of the modules beside this one):
//! - T13 A worker in `pause` counts as running, and every poke ends its pause: under the lock of its mailbox it says
//!   that it pauses, unless it was poked before; whoever pokes says so first, and then looks under that lock.

use super::{AT_REST, AtomicI64, AtomicU64, Relaxed, SPIN, Team, UNPOISONED, bit, members, now, since};
use std::time::Duration;

/// What a worker shows in place of the priority that it reduces at, if it reduces nothing.
pub(crate) const NOT_RUNNING: i64 = i64::MIN;

/// What all workers know of each other's priorities. Relaxed everywhere: hints, which others compare with theirs.
#[derive(Debug)]
pub(super) struct Precedence {
    /// Workers that pause because others reduce.
    yielding: AtomicU64,
    /// The highest priority that any worker has reduced at in this run.
    highest: AtomicI64,
}

impl Precedence {
    pub(super) fn new() -> Precedence {
        Precedence { yielding: AtomicU64::new(0), highest: AtomicI64::new(NOT_RUNNING) }
    }
    pub(super) fn begin_run(&self) {
        self.yielding.store(0, Relaxed);
        self.highest.store(NOT_RUNNING, Relaxed);
    }
}

impl Team {
    /// A running worker waits: until it has something to attend to, `goes_on` answers false, or `time` is over.
    pub(crate) fn pause(&self, me: usize, time: Duration, goes_on: impl Fn() -> bool) {
        let begin = now();
        let waits = || !self.wants(me) && goes_on() && since(begin) < time;
        if self.schedule.is_some() {
            while waits() {
                crate::coordination::schedule::step();
            }
            return;
        }
        while self.spins && waits() && since(begin) < SPIN {
            std::hint::spin_loop();
        }
        let nudge = &self.seats[me].nudge;
        let mut mailbox = self.mailbox(me);
        debug_assert!(!mailbox.pausing, "T13: it pauses already");
        while waits() {
            mailbox.pausing = true;
            let left = time.saturating_sub(since(begin));
            mailbox = nudge.wait_timeout(mailbox, left).expect(UNPOISONED).0;
        }
        mailbox.pausing = false;
    }
    /// The same while others reduce at a higher priority than this one, and nobody needs what this worker makes more
    /// often than so.
    pub(crate) fn pause_below(&self, me: usize, priority: i64, needed: u32, time: Duration) {
        self.precedence.yielding.fetch_or(bit(me), Relaxed);
        self.pause(me, time, || self.runs_above(priority) && self.needed(me) == needed);
        self.precedence.yielding.fetch_and(!bit(me), Relaxed);
    }
    /// The other workers that reduce, and how often each has stopped.
    pub(crate) fn others(&self, me: usize) -> impl Iterator<Item = (usize, u32)> {
        let others = self.seats.iter().enumerate().filter(move |&(worker, _)| worker != me);
        let others = others.filter(|(_, seat)| seat.runs_at.load(Relaxed) != NOT_RUNNING);
        others.map(|(worker, seat)| (worker, seat.stops.load(Relaxed)))
    }
    /// A running worker waits while others reduce but for these, and asks this one or the next for goals meanwhile.
    pub(crate) fn pause_behind(&self, me: usize, but: &[(usize, u32)], ask: Option<usize>, time: Duration) {
        if let Some(first) = ask {
            self.hungry.fetch_or(bit(me), Relaxed);
            let asked = self.others(me).min_by_key(|&(worker, _)| (worker < first, worker));
            asked.inspect(|&(worker, _)| self.poke(worker));
        }
        self.precedence.yielding.fetch_or(bit(me), Relaxed);
        self.pause(me, time, || self.others(me).any(|other| !but.contains(&other)));
        self.precedence.yielding.fetch_and(!bit(me), Relaxed);
        // If a giver was faster, its mail is there soon.
        self.hungry.fetch_and(!bit(me), Relaxed);
    }
    /// How often others have said that they need what this worker makes.
    pub(crate) fn needed(&self, me: usize) -> u32 {
        self.seats[me].needed.load(Relaxed)
    }
    /// Some worker cannot go on without what this one makes.
    pub(crate) fn need(&self, maker: usize) {
        self.seats[maker].needed.fetch_add(1, Relaxed);
        self.nudge(self.precedence.yielding.load(Relaxed) & bit(maker));
    }
    /// A worker gets mail of this priority: it counts as if it reduced that already. A hint: it shows the truth soon.
    pub(super) fn expect(&self, worker: usize, priority: Option<i64>) {
        let runs_at = &self.seats[worker].runs_at;
        if let Some(priority) = priority.filter(|&priority| priority > runs_at.load(Relaxed)) {
            runs_at.store(priority, Relaxed);
            self.reaches(priority);
        }
    }
    fn reaches(&self, priority: i64) {
        if priority > self.highest() {
            self.precedence.highest.fetch_max(priority, Relaxed);
        }
    }
    fn nudge(&self, workers: u64) {
        for worker in members(workers) {
            let mailbox = self.mailbox(worker);
            if mailbox.pausing {
                self.seats[worker].nudge.notify_one();
            }
        }
    }
    /// Shows the priority that a worker reduces at from now on. Workers that pause because of it look again.
    pub(crate) fn show_running(&self, me: usize, priority: i64) {
        let runs_at = &self.seats[me].runs_at;
        let before = runs_at.load(Relaxed);
        runs_at.store(priority, Relaxed);
        self.reaches(priority);
        if priority == NOT_RUNNING && before != NOT_RUNNING {
            self.seats[me].stops.fetch_add(1, Relaxed);
        }
        if priority < before {
            // It may overlook one that begins to pause just now; no pause is long.
            self.nudge(self.precedence.yielding.load(Relaxed));
        }
    }
    /// The highest priority that any worker has reduced at in this run.
    #[inline(always)]
    pub(crate) fn highest(&self) -> i64 {
        self.precedence.highest.load(Relaxed)
    }
    /// Whether some worker reduces at a higher priority.
    pub(crate) fn runs_above(&self, priority: i64) -> bool {
        self.seats.iter().any(|seat| seat.runs_at.load(Relaxed) > priority)
    }
    /// Makes all workers look that reduce.
    pub(crate) fn poke_all(&self) {
        (0..self.seats.len()).for_each(|worker| self.poke(worker));
    }
    /// Makes the workers look that reduce at a higher priority than this one.
    pub(crate) fn poke_above(&self, priority: i64) {
        for (worker, seat) in self.seats.iter().enumerate() {
            let shown = seat.priority.load(Relaxed);
            if shown > priority && shown != AT_REST && !seat.looks.load(Relaxed) {
                self.poke(worker);
            }
        }
    }
    /// Makes a worker look that reduces at a lower priority, unless it pauses.
    pub(crate) fn poke_below(&self, worker: usize) {
        if self.precedence.yielding.load(Relaxed) & bit(worker) == 0 {
            self.poke(worker);
        }
    }
}
