//! Gaps in the goal stack, where goals were given away: what lies below runs behind what was given.
//!
//! Invariant (B3 is that of `sharing::give`, B10 of `sharing::sums`):
//! - B14 Where a goal is given to a worker that asked, and older ones stay below it, a *gap* stays on the stack, the
//!   record of a builtin. With one worker the older goals would run when the gift is done, and mostly they read what
//!   it makes: begun before, they would wait, and so would all that they begin; later they would be resumed in turn,
//!   not one after the other. So a worker that comes to a gap waits while another one reduces, and asks for goals
//!   meanwhile. What it gets, what came home (B3), and sums (B10) run above the gap. Goals below it can be given away
//!   like others. After [`GAP_MAX`] it goes on, and waits no more for those that reduce then, until they have stopped
//!   once.

use crate::memory::ranges::{at, write};
use crate::worker::Worker;
use crate::worker::rules::Rule;
use std::time::Duration;

/// Longest time that a worker waits at gaps, all together, until it passes one.
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
    /// A gap is reduced.
    #[cold]
    pub(crate) fn come_to_gap(&mut self) {
        let later = self.goals.take_later(self.abi.priority);
        if later.is_none() && !self.must_wait_at_gap() {
            (self.goals.gap.waited, self.goals.gap.pause) = (Duration::ZERO, Duration::ZERO);
            return;
        }
        self.push_gap();
        match later {
            Some(words) => {
                let lane = self.abi.priority;
                self.push_goals(lane, &words);
                self.lose(lane);
            }
            None => self.abi.want_attention(),
        }
    }
    /// There is room: it was just popped.
    fn push_gap(&mut self) {
        let top = self.abi.goals as usize;
        write(top, self.system_goals.gap.goal_word());
        self.abi.goals = at(top + 8);
    }
    fn must_wait_at_gap(&mut self) -> bool {
        let (team, gap) = (&self.shared.team, &mut self.goals.gap);
        if team.others(self.index).all(|other| gap.endless.contains(&other)) {
            return false;
        }
        if gap.waited < GAP_MAX {
            return true;
        }
        gap.endless = team.others(self.index).collect();
        false
    }
    /// At an attention: whether this worker is to wait (`pause_at_gap`) before its next goal.
    pub(crate) fn waits_at_gap(&mut self) -> bool {
        self.is_gap(self.abi.goals as usize) && self.must_wait_at_gap()
    }
    /// It waits from now on: for how long before it looks again, and for which workers it does not.
    pub(crate) fn pause_at_gap(&mut self) -> (Duration, Vec<(usize, u32)>) {
        debug_assert!(self.is_gap(self.abi.goals as usize), "B14: it has goals to reduce");
        let gap = &mut self.goals.gap;
        gap.pause = (2 * gap.pause).clamp(GAP_PAUSE, GAP_PAUSE_MAX);
        (gap.pause, gap.endless.clone())
    }
    /// It has waited there for that time.
    pub(crate) fn waited_at_gap(&mut self, time: Duration) {
        self.goals.gap.waited += time;
        self.abi.want_attention();
    }
}

#[cfg(all(test, not(models)))]
mod tests {
    use super::*;
    use crate::collect::tests::Builder;
    use crate::coordination::team::NOT_RUNNING;
    use crate::goals::state::NO_PRIORITY;
    use crate::memory::ranges::read;
    use term::Word;
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
        assert_eq!(worker.take_from_stack(0, std::slice::from_ref(&second), true)[0], Word::small(2));
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
        worker.come_to_gap();
        0
    }

    #[test]
    fn what_lies_below_a_gift_waits_while_another_worker_reduces() {
        let mut builder = Builder::with(2, None);
        let (worker, goal) = gave(&mut builder);
        let team = worker.shared.clone();
        team.team.show_running(1, 20);
        assert_eq!([reduce(worker), reduce(worker)], [3, 0]);
        assert!(worker.waits_at_gap());
        assert!((GAP_PAUSE..=GAP_PAUSE_MAX).contains(&worker.pause_at_gap().0));
        // It gets another one, and comes back.
        let lane = worker.priority();
        worker.push_goals(lane, &[Word::small(4), goal.goal_word()]);
        assert!(!worker.waits_at_gap());
        assert_eq!([reduce(worker), reduce(worker)], [4, 0]);
        // What was left for later is tried above the gap.
        worker.push_later(lane, &[Word::small(5), goal.goal_word()]);
        assert_eq!([reduce(worker), reduce(worker), reduce(worker)], [0, 5, 0]);
        assert!(worker.waits_at_gap());
        team.team.show_running(1, NOT_RUNNING);
        assert!(!worker.waits_at_gap());
        assert_eq!([reduce(worker), reduce(worker)], [0, 1]);
    }

    #[test]
    fn nothing_waits_at_a_gap_for_ever_and_only_once_for_a_worker_that_goes_on() {
        let mut builder = Builder::with(2, None);
        let (worker, goal) = gave(&mut builder);
        let team = worker.shared.clone();
        team.team.show_running(1, 20);
        assert_eq!([reduce(worker), reduce(worker)], [3, 0]);
        worker.waited_at_gap(GAP_MAX / 2);
        assert!(worker.waits_at_gap());
        worker.waited_at_gap(GAP_MAX / 2);
        assert!(!worker.waits_at_gap());
        assert_eq!([reduce(worker), reduce(worker)], [0, 1]);
        for waits in [false, true] {
            worker.spawn(goal, &[Word::small(1)]);
            worker.push_gap();
            assert_eq!(worker.waits_at_gap(), waits);
            team.team.show_running(1, NOT_RUNNING);
            assert!(!worker.waits_at_gap());
            assert_eq!([reduce(worker), reduce(worker)], [0, 1]);
            team.team.show_running(1, 20);
        }
    }

    #[test]
    fn goals_below_a_gap_are_given_away_like_others_and_one_gap_is_enough() {
        let mut builder = Builder::with(2, None);
        let (worker, _) = gave(&mut builder);
        worker.abi.first_compiled = BOTTOM.goal_word();
        // B4 of `choose`: the first look sees nothing that was there before.
        let given = (0..4).find_map(|_| worker.surplus(1, NO_PRIORITY).pop()).expect("it has one to spare");
        assert_eq!(worker.take_surplus(given, true).1[0], Word::small(1));
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
            let order = if gap { vec![3, 6, 5, 0, 1] } else { vec![3, 1, 6, 5] };
            assert_eq!(order.iter().map(|_| reduce(worker)).collect::<Vec<_>>(), order);
        }
    }
}
