//! Gaps in the goal stack, where goals were given away: what lies below runs behind what was given.
//!
//! Invariant (B3 is that of `sharing::give`):
//! - B14 Where a goal is given to a worker that asked, and older ones stay below it, a *gap* stays on the stack, the
//!   record of a builtin. With one worker the older goals would run when the gift is done, and mostly they read what
//!   it makes: begun before, they would wait, and so would all that they begin; later they would be resumed in turn,
//!   not one after the other. So a worker that comes to a gap waits until the taker of the gift has stopped (it rests,
//!   or has come to a gap), [`GAP_MAX`] at most, and asks for goals meanwhile. What it gets, and what came home (B3),
//!   runs above the gap. Goals below it can be given away like others. The gap's argument says who took the gift, and
//!   how often that worker had stopped before.

use crate::coordination::schedule::{now, since};
use crate::goals::state::Gap;
use crate::memory::ranges::{at, read, write};
use crate::worker::Worker;
use crate::worker::rules::Rule;
use std::time::Duration;
use term::Word;

/// Longest time that a worker waits at gaps, from the first to the one that it passes.
const GAP_MAX: Duration = Duration::from_millis(200);
/// Time after which it looks again and asks the next worker, at first; twice as long each time.
const GAP_PAUSE: Duration = Duration::from_micros(100);
/// The same at most. (The end of a gift wakes it.)
const GAP_PAUSE_MAX: Duration = Duration::from_millis(1);

impl Worker {
    /// B14: whether gifts leave gaps. Not at worker 0 of a node among several: it has messages to look at.
    pub(crate) fn leaves_gaps(&self) -> bool {
        !self.options.without.has(Rule::Gaps) && (self.index != 0 || !self.is_one_of_several_nodes())
    }
    /// The argument of a gap that a gift to this worker leaves.
    pub(crate) fn gap_behind(&self, taker: usize) -> Word {
        Word::small((taker as i64) << 32 | i64::from(self.shared.team.stops(taker)))
    }
    /// A gap is reduced.
    #[cold]
    pub(crate) fn come_to_gap(&mut self, behind: Word) {
        let later = self.goals.take_later(self.abi.priority);
        if later.is_none() && !self.must_wait_behind(behind) {
            self.goals.gap = Gap::NEW;
            return;
        }
        // There is room: it was just popped.
        let top = self.abi.goals as usize;
        write(top, behind);
        write(top + 8, self.system_goals.gap.goal_word());
        self.abi.goals = at(top + 16);
        match later {
            Some(words) => {
                let lane = self.abi.priority;
                self.push_goals(lane, &words);
                self.lose(lane);
            }
            None => self.abi.want_attention(),
        }
    }
    fn must_wait_behind(&mut self, behind: Word) -> bool {
        let (taker, stops) = taker(behind);
        self.shared.team.goes_on(taker, stops)
            && since(*self.goals.gap.since.get_or_insert_with(now)) < GAP_MAX
    }
    /// The argument of the gap on top of the stack.
    fn top_gap(&self) -> Option<Word> {
        let top = self.abi.goals as usize;
        self.is_gap(top).then(|| read(top - 16))
    }
    /// At an attention: whether this worker is to wait (`pause_at_gap`) before its next goal.
    pub(crate) fn waits_at_gap(&mut self) -> bool {
        self.top_gap().is_some_and(|behind| self.must_wait_behind(behind))
    }
    /// It waits from now on: for which worker's stop after how many, and for how long before it looks again.
    pub(crate) fn pause_at_gap(&mut self) -> Option<(usize, u32, Duration)> {
        let (taker, stops) = taker(self.top_gap()?);
        let gap = &mut self.goals.gap;
        gap.pause = (2 * gap.pause).clamp(GAP_PAUSE, GAP_PAUSE_MAX);
        Some((taker, stops, gap.pause))
    }
}

/// The worker that took a gift, and how often it had stopped before.
fn taker(behind: Word) -> (usize, u32) {
    let number = behind.as_int();
    ((number >> 32) as usize, number as u32)
}

#[cfg(all(test, not(models)))]
mod tests {
    use super::*;
    use crate::collect::tests::Builder;
    use crate::coordination::team::NOT_RUNNING;
    use crate::goals::state::NO_PRIORITY;
    use term::abi::{BOTTOM, PredicateId};

    /// Goals 1, 2 and 3 of a worker that has given the second one away, and shows others that it reduces.
    fn gave(builder: &mut Builder) -> (&mut Worker, PredicateId) {
        let goal = builder.goal[0];
        let worker = builder.node.worker();
        for number in 1..=3 {
            worker.spawn(goal, &[Word::small(number)]);
        }
        let base = worker.goals.top_segment().base;
        let second = base + 16..base + 32;
        worker.shared.clone().team.show_running(1, 20);
        let gap = Some(worker.gap_behind(1));
        assert_eq!(worker.take_from_stack(0, std::slice::from_ref(&second), gap)[0], Word::small(2));
        worker.show_running();
        (worker, goal)
    }
    /// Reduces what is on top: the number of a goal, or 0 if that is a gap.
    fn reduce(worker: &mut Worker) -> i64 {
        let is_gap = worker.is_gap(worker.abi.goals as usize);
        let words = worker.pop_goal();
        if !is_gap {
            return words[0].as_int();
        }
        worker.come_to_gap(words[0]);
        0
    }

    #[test]
    fn what_lies_below_a_gift_waits_while_another_worker_reduces() {
        let mut builder = Builder::with(2, None);
        let (worker, goal) = gave(&mut builder);
        let team = worker.shared.clone();
        assert_eq!([reduce(worker), reduce(worker)], [3, 0]);
        assert!(worker.waits_at_gap());
        assert!(worker.pause_at_gap().is_some_and(|(taker, _, pause)| taker == 1 && pause >= GAP_PAUSE));
        // It gets another one, and comes back.
        let lane = worker.priority();
        worker.push_goals(lane, &[Word::small(4), goal.goal_word()]);
        assert!(!worker.waits_at_gap());
        assert_eq!([reduce(worker), reduce(worker)], [4, 0]);
        // What came home is tried above the gap.
        worker.push_later(lane, &[Word::small(5), goal.goal_word()]);
        assert_eq!([reduce(worker), reduce(worker), reduce(worker)], [0, 5, 0]);
        assert!(worker.waits_at_gap());
        // It stops, and has something else to do since then.
        team.team.show_running(1, NOT_RUNNING);
        team.team.show_running(1, 20);
        assert!(!worker.waits_at_gap());
        assert_eq!([reduce(worker), reduce(worker)], [0, 1]);
    }

    #[test]
    fn nothing_waits_at_a_gap_for_ever() {
        let mut builder = Builder::with(2, None);
        let (worker, _) = gave(&mut builder);
        assert_eq!([reduce(worker), reduce(worker)], [3, 0]);
        worker.goals.gap.since = now().checked_sub(GAP_MAX);
        assert!(!worker.waits_at_gap());
        assert_eq!([reduce(worker), reduce(worker)], [0, 1]);
    }

    #[test]
    fn goals_below_a_gap_are_given_away_like_others_and_one_gap_is_enough() {
        let mut builder = Builder::with(2, None);
        let (worker, _) = gave(&mut builder);
        worker.abi.first_compiled = BOTTOM.goal_word();
        // B4 of `choose`: the first look sees nothing that was there before.
        let given = (0..4).find_map(|_| worker.surplus(1, NO_PRIORITY).pop()).expect("it has one to spare");
        let gap = Some(worker.gap_behind(1));
        assert_eq!(worker.take_surplus(given, gap).1[0], Word::small(1));
        worker.shared.clone().team.show_running(1, NOT_RUNNING);
        assert_eq!([reduce(worker), reduce(worker)], [3, 0]);
        assert_eq!(read(worker.abi.goals as usize - 8), BOTTOM.goal_word());
    }

    #[test]
    fn older_goals_come_above_the_topmost_gap_or_to_the_bottom() {
        for gap in [true, false] {
            let mut builder = Builder::with(2, None);
            let (worker, goal) = gave(&mut builder);
            if !gap {
                worker.shared.clone().team.show_running(1, NOT_RUNNING);
                assert_eq!([reduce(worker), reduce(worker)], [3, 0]);
                worker.spawn(goal, &[Word::small(3)]);
            }
            let lane = worker.priority();
            for number in [6, 5] {
                worker.push_older(lane, &[Word::small(number), goal.goal_word()]);
            }
            worker.shared.clone().team.show_running(1, NOT_RUNNING);
            let order = if gap { vec![3, 6, 5, 0, 1] } else { vec![3, 1, 6, 5] };
            assert_eq!(order.iter().map(|_| reduce(worker)).collect::<Vec<_>>(), order);
        }
    }
}
