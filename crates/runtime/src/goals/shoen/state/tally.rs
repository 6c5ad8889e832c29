//! Counting what is left of a shoen's goals: X12 and X14 of the module `shoen`.

use crate::coordination::sync::atomic::{AtomicBool, AtomicI64, Ordering::SeqCst};

/// A holder, in the units of a [`Tally`]; a goal that waits is one of them.
const HOLDER: i64 = 1 << 40;

/// X12: what there is of a shoen's goals.
#[derive(Debug)]
pub(crate) struct Tally {
    /// Holders and goals that wait. Of the latter there may be less than none for a while, when a goal was resumed
    /// before the worker that it waited at has counted it.
    units: AtomicI64,
    begun: AtomicBool,
    aborted: AtomicBool,
    over: AtomicBool,
}

impl Tally {
    /// Of a shoen that has not begun: its first goal waits.
    pub(crate) fn new() -> Tally {
        let [begun, aborted, over] = [(); 3].map(|()| AtomicBool::new(false));
        Tally { units: AtomicI64::new(1), begun, aborted, over }
    }
    /// Of what stands for a shoen of another node: a goal of it has come, for which there is a holder.
    pub(crate) fn of_foster() -> Tally {
        let tally = Tally::new();
        tally.begin();
        tally
    }
    /// By whoever is no holder: there is one more, unless nothing is left.
    pub(crate) fn try_hold(&self) -> bool {
        let more = |units: i64| (units != 0).then_some(units + HOLDER);
        self.units.fetch_update(SeqCst, SeqCst, more).is_ok()
            && (!self.is_over() || {
                self.units.fetch_sub(HOLDER, SeqCst);
                false
            })
    }
    /// True once: its first goal was taken.
    pub(crate) fn begin(&self) -> bool {
        let begins = !self.begun.swap(true, SeqCst);
        if begins {
            self.claim();
        }
        begins
    }
    /// By a holder: there is one more.
    pub(crate) fn hold(&self) {
        self.units.fetch_add(HOLDER, SeqCst);
    }
    /// By a holder: this number of goals more waits.
    pub(crate) fn wait(&self, goals: i64) {
        let before = self.units.fetch_add(goals, SeqCst);
        debug_assert!(before >= HOLDER / 2, "X12: a holder counts goals");
    }
    /// A goal that waited was taken: whoever took it is a holder.
    pub(crate) fn claim(&self) {
        self.units.fetch_add(HOLDER - 1, SeqCst);
    }
    /// Goals of it that wait, as far as workers have counted.
    pub(crate) fn waiting(&self) -> i64 {
        let units = self.units.load(SeqCst);
        let holders = (units + HOLDER / 2) >> HOLDER.trailing_zeros();
        (units - holders * HOLDER).max(0)
    }
    /// A holder leaves. True once: nothing is left.
    pub(crate) fn leave(&self) -> bool {
        let left = self.units.fetch_sub(HOLDER, SeqCst) - HOLDER;
        let holders = (left + HOLDER / 2) >> HOLDER.trailing_zeros();
        debug_assert!(holders >= 0, "X12: more holders have left than there were");
        (left == 0 || holders == 0 && self.is_aborted()) && !self.over.swap(true, SeqCst)
    }
    /// X14: no goal runs any more but for the holders'. True once: nothing is left.
    pub(crate) fn abort(&self) -> bool {
        self.hold();
        self.aborted.store(true, SeqCst);
        self.leave()
    }
    pub(crate) fn is_aborted(&self) -> bool {
        self.aborted.load(SeqCst)
    }
    /// Whether nothing is left.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(SeqCst)
    }
}
