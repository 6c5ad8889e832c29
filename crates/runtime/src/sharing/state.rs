//! What the load balance remembers: each worker, and all of them together. The invariants are in `give`, `choose`,
//! `sums` and `trial`.

use crate::coordination::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use crate::coordination::sync::{Mutex, lock};
use crate::coordination::team::{AT_REST, NOT_RUNNING};
use crate::memory::ranges::read;
use crate::sharing::tuning::{OFF, SEEN_WORDS, YIELD_SLICE};
use std::cell::Cell;
use std::time::{Duration, Instant};
use term::Word;

/// What one worker remembers.
#[derive(Debug)]
pub(crate) struct Sharing {
    /// B8 of `give`: the time of its thread from which on it counts how long it has not looked.
    pub(super) looked: Option<Duration>,
    /// Looks that found nothing to spare, in a row, and where allocation shall have got to before the next.
    pub(super) looks_in_vain: u32,
    pub(super) look_from: usize,
    /// B6 of `give`: what others were shown.
    pub(super) shown: i64,
    /// The lowest priority that it has reduced at since what was shown was last forgotten.
    pub(super) lowest: i64,
    /// When it last fed others, and how often it went to a lower priority since then.
    pub(super) fed_others: Option<Instant>,
    pub(super) descents: usize,
    pub(super) shown_looks: bool,
    /// B10 of `sums`.
    pub(super) sums: Sums,
    /// The worker that gave it goals last.
    pub(super) fed_by: Option<usize>,
    /// Goals that went home and were not judged yet (B13 of `trial`).
    pub(crate) went_home: u32,
    /// B14 of `gaps`: of this worker and another one, which have exchanged goals, it has the older ones.
    pub(super) takes: bool,
    /// B4 of `choose`.
    pub(super) seen: Seen,
    /// B12 of `choose`.
    pub(super) overdue: Option<Overdue>,
    /// B11 of `yields`.
    pub(super) yields: Yields,
    pub(super) shaker: Option<Shaker>,
}

impl Sharing {
    /// Of a worker that has done nothing yet; with a seed it makes disorder.
    pub(crate) fn new(shaker: Option<Shaker>) -> Sharing {
        Sharing {
            looked: None,
            looks_in_vain: 0,
            look_from: 0,
            shown: AT_REST,
            lowest: AT_REST,
            fed_others: None,
            descents: 0,
            shown_looks: false,
            sums: Sums::NONE,
            fed_by: None,
            went_home: 0,
            takes: false,
            seen: Seen::default(),
            overdue: None,
            yields: Yields::NEW,
            shaker,
        }
    }
    /// After a run: nothing is shown to others, and what was seen of its goals is no longer true.
    pub(crate) fn end_run(&mut self) {
        (self.shown, self.lowest, self.shown_looks, self.looked) = (AT_REST, AT_REST, false, None);
        (self.yields, self.overdue, self.takes) = (Yields::NEW, None, false);
        self.seen = Seen::default();
    }
    /// B6: the priority that others were shown.
    #[inline(always)]
    pub(crate) fn shown(&self) -> i64 {
        self.shown
    }
    /// B8: it looks now.
    pub(crate) fn looks(&mut self) {
        self.looked = None;
    }
    /// After a collection, which moved everything: allocation had got to `heap`, and begins again at `base`. What was
    /// seen of the goal stack is no longer true (B4).
    pub(crate) fn begin_nursery(&mut self, heap: usize, base: usize) {
        debug_assert!(base <= heap, "B8: a nursery that ends below its base");
        self.seen.words.clear();
        self.seen.left_out = 0;
        self.look_from = base + self.look_from.saturating_sub(heap);
    }
    /// B10: too many sums were put off; said once.
    pub(crate) fn take_too_many_sums(&mut self) -> bool {
        std::mem::take(&mut self.sums.too_many)
    }
    /// It makes disorder, for tests.
    pub(crate) fn is_shaken(&self) -> bool {
        self.shaker.is_some()
    }
}

/// B12: the goal that would be given away next if it were not to wait soon.
#[derive(Clone, Copy, Debug)]
pub(super) struct Overdue {
    /// Its fingerprint; `None`: there is no such goal.
    pub(super) goal: Option<u64>,
    /// When it is to go, and when it is looked at next: times of the worker's thread.
    pub(super) due: Duration,
    pub(super) look_at: Duration,
    /// The time on the wall before which it cannot be time to look.
    pub(super) not_before: Instant,
}

/// B11 of `yields`.
#[derive(Debug)]
pub(super) struct Yields {
    /// What others were shown.
    pub(super) runs_at: i64,
    /// Where allocation has got to when the slice is over.
    pub(super) due: usize,
    /// Bytes of a slice.
    pub(super) slice: usize,
    /// Since when others have been above at each look.
    pub(super) above_since: Option<Instant>,
    /// When the pause ends that it is in.
    pub(super) until: Option<Instant>,
    /// How often others have needed what it makes, when it last looked.
    pub(super) needed: u32,
}

impl Yields {
    pub(super) const NEW: Yields = Yields {
        runs_at: NOT_RUNNING,
        due: 0,
        slice: YIELD_SLICE,
        above_since: None,
        until: None,
        needed: 0,
    };
    /// It begins anew: goals came from others, or nobody can be above.
    pub(super) fn begin(&mut self) {
        *self = Yields { runs_at: self.runs_at, needed: self.needed, ..Yields::NEW };
    }
}

/// B4: the bottom of the top segment when the worker last looked.
#[derive(Debug, Default)]
pub(super) struct Seen {
    base: usize,
    words: Vec<Word>,
    /// Elements of lists that were passed over in this look, and that may be.
    pub(super) steps: Cell<usize>,
    pub(super) list_steps: usize,
    /// Looks that are left out, because one is expensive: to find where goals begin, one has to go down the whole
    /// stack.
    pub(super) left_out: usize,
}

impl Seen {
    /// The end of what is as it was; what lies between `base` and `top` now is remembered.
    pub(super) fn look(&mut self, base: usize, top: usize) -> usize {
        debug_assert!(base <= top, "B4: a segment ends below its base");
        let words = (base..top).step_by(8).take(SEEN_WORDS).map(read);
        let same = if self.base == base {
            words.clone().zip(&self.words).take_while(|(now, then)| now == *then).count()
        } else {
            0
        };
        self.base = base;
        self.words.clear();
        self.words.extend(words);
        base + 8 * same
    }
}

/// B13 of `trial`: what all workers of a node remember of whether it pays to share goals.
#[derive(Debug)]
pub(crate) struct Trial {
    /// Times are counted from here.
    pub(super) base: Instant,
    /// A trial goes on, or its judge has not looked yet. Relaxed: a hint to take the lock.
    pub(super) goes_on: AtomicBool,
    /// Sharing is off. Relaxed: workers are told by a poke.
    pub(super) off: AtomicBool,
    /// Goals that went home since sharing is on, less those that gifts make up for. Relaxed: a count.
    pub(super) went_home: AtomicU32,
    pub(super) judge: Mutex<Judge>,
    pub(super) workers: usize,
}

/// Of a trial, and of what follows from it.
#[derive(Debug)]
pub(super) struct Judge {
    /// The workers that reduce, a bit each, and since when they have been these.
    pub(super) busy: u64,
    pub(super) since: Duration,
    /// Until then.
    pub(super) work: Work,
    /// What was at the beginning of the trial; `None`: none goes on.
    pub(super) begun: Option<Work>,
    /// For how long sharing is off if it fails.
    pub(super) off: Duration,
    /// When sharing is on again.
    pub(super) until: Option<Duration>,
}

/// Time in which workers reduced.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Work {
    /// In which at least one did. So neither collections count, nor what a program waits for outside.
    pub(super) any: Duration,
    /// Of each, all together.
    pub(super) all: Duration,
}

/// What a judge says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// Goals may be asked for.
    On,
    /// They may again, from now on.
    OnAgain,
    /// The trial has shown that it pays.
    Pays,
    /// It has shown the contrary.
    Fails,
    /// They may not for that time.
    Off(Duration),
}

impl Trial {
    pub(crate) fn new(workers: usize) -> Trial {
        Trial {
            base: Instant::now(),
            goes_on: AtomicBool::new(false),
            off: AtomicBool::new(false),
            went_home: AtomicU32::new(0),
            judge: Mutex::new(Judge::NEW),
            workers,
        }
    }
    /// Nothing is known of the run that begins.
    pub(crate) fn begin_run(&self) {
        *lock(&self.judge) = Judge::NEW;
        self.goes_on.store(false, Relaxed);
        self.off.store(false, Relaxed);
        self.went_home.store(0, Relaxed);
    }
}

impl Judge {
    pub(super) const NEW: Judge = Judge {
        busy: 0,
        since: Duration::ZERO,
        work: Work { any: Duration::ZERO, all: Duration::ZERO },
        begun: None,
        off: OFF,
        until: None,
    };
}

/// Sums that are put off because an operand is missing (B10).
#[derive(Debug)]
pub(super) struct Sums {
    /// The result of the newest.
    pub(super) newest: Word,
    /// Sums before it of which each was an operand of the next.
    pub(super) in_a_row: u32,
    pub(super) too_many: bool,
}

impl Sums {
    pub(super) const NONE: Sums = Sums { newest: Word::small(0), in_a_row: 0, too_many: false };
}

/// One worker's random numbers.
#[derive(Debug)]
pub(crate) struct Shaker {
    state: u64,
    /// Goals thrown to other nodes.
    pub(super) thrown: usize,
}

impl Shaker {
    pub(crate) fn new(seed: u64, worker: usize) -> Shaker {
        Shaker { state: seed ^ (worker as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15), thrown: 0 }
    }
    /// A number below `n`.
    pub(super) fn below(&mut self, n: usize) -> usize {
        debug_assert!(n > 0, "there is no number below 0");
        self.state = self.state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.state >> 33) as usize % n
    }
    pub(super) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
    /// A multiple of 8 up to `most`, small ones more often.
    pub(super) fn bytes(&mut self, most: usize) -> usize {
        let bits = most.ilog2() as usize + 1;
        let shift = self.below(bits);
        self.below(most >> shift) & !7
    }
}
