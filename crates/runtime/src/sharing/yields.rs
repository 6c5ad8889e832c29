//! Low priorities give way to high ones: how far a worker may run ahead of those that reduce at a higher priority.
//!
//! Invariant (B6 is that of `give`):
//! - B11 A worker that reduces below another one's priority does so in *slices*, and pauses in between until nobody
//!   reduces above it, [`YIELD_PAUSE`] at most. Otherwise an endless generator at a low priority would run far ahead of
//!   its readers while these compute, and all that it makes would have to be read. A slice is [`YIELD_SLICE`] bytes of
//!   allocation, and twice as long for each [`YIELD_DOUBLES`] in which there was always somebody above: what is above
//!   for so long does not need the goals below, and after a second they run as if nobody was. A worker that finds
//!   nobody above looks ever later, after [`YIELD_SLICE_MAX`] at most; a short time at a high priority, such as that
//!   of a server that gets messages from below, is no reason to pause: somebody must be above at two looks in a row.

use crate::coordination::schedule::{now, since};
use crate::coordination::team::NOT_RUNNING;
use crate::memory::ranges::read;
use crate::sharing::state::Yields;
use crate::sharing::tuning::{YIELD_DOUBLES, YIELD_DOUBLINGS, YIELD_PAUSE, YIELD_SLICE, YIELD_SLICE_MAX};
use crate::worker::Worker;
use crate::worker::rules::Rule;
use term::abi::{BOTTOM, PredicateId};

impl Worker {
    /// B11: shows others what this worker reduces at now.
    #[inline(always)]
    pub(crate) fn show_running(&mut self) {
        if self.sharing.yields.runs_at != self.goals.rank() {
            self.sharing.yields.runs_at = self.goals.rank();
            self.shared.team.show_running(self.index, self.goals.rank());
        }
    }
    /// B11: this worker reduces nothing for now.
    pub(crate) fn show_no_running(&mut self) {
        self.sharing.yields.runs_at = NOT_RUNNING;
        self.shared.team.show_running(self.index, NOT_RUNNING);
    }
    /// B11, at an attention: whether this worker is to pause (`yield_to_others`) before its next goal. If not, it looks
    /// again when its slice is over.
    pub(crate) fn must_yield(&mut self, collected: bool) -> bool {
        let priority = self.best_priority();
        if self.shared.team.highest() <= priority || self.options.without.has(Rule::Yields) {
            // What it did below may have brought it here: it is needed, or nobody is above.
            (self.sharing.yields.above_since, self.sharing.yields.until) = (None, None);
            return false;
        }
        let heap = self.abi.heap as usize;
        let top = PredicateId::of_goal_word(read(self.abi.goals as usize - 8));
        if self.visibility.is_solo() || top == BOTTOM && !self.wants_other_priority() {
            self.sharing.yields.begin();
            return false;
        }
        let yields = &mut self.sharing.yields;
        if collected {
            yields.due = 0;
        }
        let paused = yields.until.is_some();
        if paused || heap >= yields.due {
            let above = self.shared.team.runs_above(priority);
            let needed = self.shared.team.needed(self.index);
            let needs = std::mem::replace(&mut yields.needed, needed) != needed;
            if above && !needs && yields.until.is_some_and(|until| now() < until) {
                // It was poked.
                return true;
            }
            if needs {
                yields.above_since = None;
            }
            if yields.look(above, paused) {
                return true;
            }
            yields.due = heap + yields.slice;
        }
        self.attention.look_at(yields.due);
        false
    }
    /// B11.
    pub(crate) fn yield_to_others(&mut self) {
        let Some(until) = self.sharing.yields.until else { return };
        let priority = self.best_priority();
        let (needed, time) = (self.sharing.yields.needed, until.saturating_duration_since(now()));
        self.shared.team.pause_below(self.index, priority, needed, time);
        self.abi.want_attention();
    }
}

impl Yields {
    /// True if a pause begins. `above`: somebody reduces at a higher priority; `paused`: a pause has ended.
    fn look(&mut self, above: bool, paused: bool) -> bool {
        self.until = None;
        match self.above_since {
            _ if !above => {
                self.above_since = None;
                self.slice = if paused { YIELD_SLICE } else { (2 * self.slice).min(YIELD_SLICE_MAX) };
                false
            }
            None => {
                (self.above_since, self.slice) = (Some(now()), YIELD_SLICE);
                false
            }
            Some(before) => {
                let doublings = since(before).div_duration_f64(YIELD_DOUBLES) as u32;
                self.slice = YIELD_SLICE << doublings.min(YIELD_DOUBLINGS);
                let pauses = !paused && doublings < YIELD_DOUBLINGS;
                if pauses {
                    self.until = Some(now() + YIELD_PAUSE);
                }
                pauses
            }
        }
    }
}

#[cfg(all(test, not(models)))]
mod tests {
    use super::*;
    use crate::collect::tests::Builder;
    use std::time::Duration;
    use term::Word;

    #[test]
    fn a_worker_below_others_pauses_until_they_are_not_above_or_need_it() {
        let mut builder = Builder::with(2, None);
        let goal = builder.goal[0];
        let worker = builder.node.worker();
        let team = worker.shared.clone();
        let look = |worker: &mut Worker| {
            // Its slice is over.
            worker.sharing.yields.due = 0;
            worker.must_yield(false)
        };
        worker.show_running();
        worker.spawn_at(10, goal, &[Word::NIL]);
        assert!(worker.next_segment());
        worker.show_running();
        // Nobody is above; slices become longer.
        assert!((0..20).all(|_| !look(worker)) && worker.sharing.yields.slice == YIELD_SLICE_MAX);
        team.team.show_running(1, 20);
        // Perhaps for a moment only.
        assert!(!look(worker) && worker.sharing.yields.slice == YIELD_SLICE);
        assert!(look(worker) && worker.must_yield(false));
        // A pause that is over is followed by a slice.
        worker.sharing.yields.until = Some(now());
        assert!(!look(worker) && look(worker));
        team.team.need(0);
        assert!(!look(worker) && look(worker));
        team.team.show_running(1, NOT_RUNNING);
        assert!(!look(worker) && !look(worker));
        // What is above for long does not need what is below.
        team.team.show_running(1, 20);
        assert!(!look(worker) && look(worker));
        let long = YIELD_DOUBLES * YIELD_DOUBLINGS;
        worker.sharing.yields.above_since = now().checked_sub(long + Duration::from_millis(1));
        worker.sharing.yields.until = None;
        assert!(!look(worker) && worker.sharing.yields.slice == YIELD_SLICE << YIELD_DOUBLINGS);
    }
}
