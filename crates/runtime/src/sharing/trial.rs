//! Whether it pays to share goals. A gift pays if workers reduce at the same time. Where one goal after the other has
//! something to do, one worker is busy, however often goals change workers; and each change costs the order in which
//! lists are read as they are made.
//!
//! Invariant:
//! - B13 Sharing is on trial from its first gift on. If fewer than [`BUSY_EIGHTHS`] eighths of a worker were busy in a
//!   trial, on the average, sharing is off for a while: one worker has all goals, nobody asks, and every other one
//!   sends it what it has, at each attention. That time doubles from one failed trial to the next. A trial without
//!   gifts does not begin, so a program that has nothing to spare yet is not judged.

use crate::coordination::schedule::now;
use crate::coordination::sync::atomic::Ordering::Relaxed;
use crate::coordination::sync::lock;
use crate::memory::ranges::read;
use crate::sharing::state::{Judge, NOBODY, Trial, Verdict};
use crate::sharing::tuning::{BUSY_EIGHTHS, OFF, OFF_MAX, TRIAL};
use crate::worker::Worker;
use crate::worker::all::Shared;
use crate::worker::rules::Rule;
use std::time::Duration;
use term::abi::{BOTTOM, PredicateId};

impl Trial {
    fn time(&self) -> Duration {
        now().saturating_duration_since(self.base)
    }
    /// A worker reduces from now on.
    pub(crate) fn begin_busy(&self, me: usize) {
        if self.workers > 1 {
            let time = self.time();
            lock(&self.judge).change(time, |busy| busy | 1 << me);
        }
    }
    /// It reduces no longer.
    pub(crate) fn end_busy(&self, me: usize) {
        if self.workers > 1 {
            let time = self.time();
            lock(&self.judge).change(time, |busy| busy & !(1 << me));
        }
    }
    /// Goals are given: a trial begins, if none goes on.
    fn begin(&self) {
        if !self.goes_on.swap(true, Relaxed) {
            let time = self.time();
            let mut judge = lock(&self.judge);
            judge.change(time, |busy| busy);
            judge.begun = Some(judge.work);
        }
    }
    /// The worker that all goals go to while sharing is off.
    #[inline(always)]
    pub(crate) fn only(&self) -> Option<usize> {
        let only = self.only.load(Relaxed);
        (only != NOBODY).then_some(only)
    }
}

impl Judge {
    /// Other workers are busy from now on.
    fn change(&mut self, time: Duration, busy: impl FnOnce(u64) -> u64) {
        // Of two workers, the later may be the first here.
        let passed = time.saturating_sub(self.since);
        self.since += passed;
        self.work.all += passed * self.busy.count_ones();
        self.work.any += if self.busy == 0 { Duration::ZERO } else { passed };
        self.busy = busy(self.busy);
        debug_assert!(self.work.any <= self.work.all, "B13: a worker that reduces is one of all");
    }
    /// What holds for a worker that is about to ask for goals.
    fn look(&mut self, time: Duration) -> Verdict {
        self.change(time, |busy| busy);
        if let Some(until) = self.until {
            if time < until {
                return Verdict::Off(until - time);
            }
            self.until = None;
            return Verdict::OnAgain;
        }
        let Some(begun) = self.begun else { return Verdict::On };
        let any = self.work.any - begun.any;
        if any < TRIAL {
            return Verdict::On;
        }
        self.begun = None;
        if 8 * (self.work.all - begun.all) >= BUSY_EIGHTHS * any {
            self.off = OFF;
            return Verdict::Pays;
        }
        Verdict::Fails
    }
    /// A trial has failed. For how long sharing is off.
    fn end(&mut self, time: Duration) -> Duration {
        let off = self.off;
        self.until = Some(time + off);
        self.off = (2 * off).min(OFF_MAX);
        off
    }
}

impl Shared {
    /// B13: worker `me` is about to ask for goals. For how long it shall not, if sharing is off.
    pub(crate) fn may_not_ask(&self, me: usize) -> Option<Duration> {
        let trial = &self.trial;
        let time = trial.time();
        let mut judge = lock(&trial.judge);
        match judge.look(time) {
            Verdict::Off(left) => return Some(left),
            Verdict::On => return None,
            Verdict::OnAgain => trial.only.store(NOBODY, Relaxed),
            Verdict::Pays => trial.goes_on.store(false, Relaxed),
            Verdict::Fails => {
                trial.goes_on.store(false, Relaxed);
                let others = judge.busy & !(1 << me);
                if others != 0 {
                    let off = judge.end(time);
                    trial.only.store(others.trailing_zeros() as usize, Relaxed);
                    self.team.poke_all();
                    return Some(off);
                }
            }
        }
        None
    }
}

impl Worker {
    /// B13: goals are about to be given.
    pub(super) fn begin_trial(&self) {
        if !self.options.without.has(Rule::Trial) {
            self.shared.trial.begin();
        }
    }
    /// B13: while another worker has all goals, it gets those of this one. Before mail is opened: a goal that was sent
    /// here because of what this worker has is tried here.
    #[inline(always)]
    pub(crate) fn send_while_off(&mut self) {
        if let Some(only) = self.shared.trial.only()
            && only != self.index
        {
            self.send_all(only);
        }
    }
    /// B13: a worker that has all goals does not leave those for later that came back. They were to wait for what
    /// others make, and nobody else makes anything.
    #[inline(always)]
    pub(crate) fn later_is_now_while_off(&mut self) {
        if self.shared.trial.only() == Some(self.index) {
            while self.later_is_now() {
                self.swap_top_goals();
            }
        }
    }
    /// B13: all ready goals go to this worker.
    #[cold]
    pub(super) fn send_all(&mut self, to: usize) {
        debug_assert!(to != self.index, "B13: a worker keeps its goals");
        self.end_solo();
        let mut mails = Vec::new();
        loop {
            let top = self.abi.goals as usize;
            if PredicateId::of_goal_word(read(top - 8)) == BOTTOM {
                if !self.next_segment() {
                    break;
                }
            } else if self.is_special(top) {
                self.run_top_native();
            } else {
                self.settle_all();
                // X12 of `shoen`: under way before the goals are gone.
                let mut mail = self.mail(self.abi.priority, Vec::new());
                let mut goals = Vec::new();
                while !self.is_special(self.abi.goals as usize) {
                    goals.push(self.pop_goal());
                }
                self.count_mail(to);
                self.statistics.goals_back += 1;
                goals.reverse();
                mail.words = goals.concat();
                mails.push(mail);
            }
        }
        if !mails.is_empty() {
            self.publish();
            self.shared.team.post_all(to, mails);
        }
    }
}

#[cfg(all(test, not(models)))]
mod tests {
    use super::*;
    use crate::collect::tests::Builder;
    use term::Word;

    const MS: Duration = Duration::from_millis(1);

    /// From then on these workers reduce.
    fn reduce(judge: &mut Judge, ms: u32, workers: u64) {
        judge.change(ms * MS, |_| workers);
    }

    #[test]
    fn sharing_goes_on_while_workers_reduce_at_the_same_time() {
        let mut judge = Judge::NEW;
        reduce(&mut judge, 1, 0b1);
        judge.begun = Some(judge.work);
        assert_eq!(judge.look(2 * MS), Verdict::On, "a trial takes some time");
        reduce(&mut judge, 15, 0b11);
        assert_eq!(judge.look(17 * MS), Verdict::Pays);
        assert_eq!(judge.look(90 * MS), Verdict::On, "no trial goes on");
        // Both in turn, and hardly ever at the same time.
        for (together, verdict) in [(1, Verdict::Fails), (2, Verdict::Pays)] {
            reduce(&mut judge, 100, 0b01);
            judge.begun = Some(judge.work);
            reduce(&mut judge, 108, 0b10);
            reduce(&mut judge, 116 - together, 0b11);
            assert_eq!(judge.look(116 * MS), verdict);
            judge.since = Duration::ZERO;
        }
    }

    #[test]
    fn time_in_which_nobody_reduces_is_no_part_of_a_trial() {
        let mut judge = Judge::NEW;
        reduce(&mut judge, 0, 0b11);
        judge.begun = Some(judge.work);
        reduce(&mut judge, 1, 0);
        assert_eq!(judge.look(9000 * MS), Verdict::On, "the program waits for what is outside");
        reduce(&mut judge, 9000, 0b11);
        assert_eq!(judge.look(9001 * MS), Verdict::Pays);
    }

    #[test]
    fn sharing_is_off_for_longer_after_each_trial_that_fails_and_not_for_ever() {
        let mut judge = Judge::NEW;
        reduce(&mut judge, 0, 0b1);
        let (mut time, mut before) = (Duration::ZERO, Duration::ZERO);
        for _ in 0..12 {
            judge.begun = Some(judge.work);
            time += 8 * MS;
            assert_eq!(judge.look(time), Verdict::Fails);
            let off = judge.end(time);
            assert!(off == OFF_MAX || off == 2 * before || before.is_zero(), "{off:?} after {before:?}");
            assert_eq!(judge.look(time + MS), Verdict::Off(off - MS));
            time += off;
            assert_eq!(judge.look(time), Verdict::OnAgain);
            assert_eq!(judge.look(time), Verdict::On);
            before = off;
        }
        assert_eq!(before, OFF_MAX);
        // One that pays lets the next failure begin anew.
        judge.begun = Some(judge.work);
        judge.change(time, |_| 0b11);
        assert_eq!(judge.look(time + TRIAL), Verdict::Pays);
        assert_eq!(judge.end(time), OFF);
    }

    #[test]
    fn while_sharing_is_off_one_worker_has_all_goals_in_their_order() {
        let mut builder = Builder::with(2, None);
        let goal = builder.goal[0];
        let worker = builder.node.worker();
        let team = worker.shared.clone();
        let start = worker.priority();
        for number in 1..=3 {
            worker.spawn(goal, &[Word::small(number)]);
        }
        worker.spawn_at(7, goal, &[Word::small(4)]);
        worker.send_while_off();
        assert_eq!(team.team.take_mail(1).len(), 0);
        team.trial.only.store(1, Relaxed);
        worker.send_while_off();
        let mails = team.team.take_mail(1);
        let numbers = |words: &[Word]| words.iter().step_by(2).map(|word| word.as_int()).collect::<Vec<_>>();
        let sent: Vec<_> = mails.iter().map(|mail| (mail.priority, numbers(&mail.words))).collect();
        assert_eq!(sent, [(start, vec![1, 2, 3]), (7, vec![4])]);
        assert_eq!(worker.ready_words(), 0);
        // It is the one.
        team.trial.only.store(0, Relaxed);
        worker.spawn(goal, &[Word::small(1)]);
        worker.send_while_off();
        assert_eq!(worker.ready_words(), 2);
    }

    #[test]
    fn a_trial_that_fails_leaves_all_goals_to_a_worker_that_reduces() {
        let builder = Builder::with(2, None);
        let shared = builder.node.shared();
        shared.trial.begin_busy(0);
        assert_eq!(shared.may_not_ask(1), None);
        shared.trial.begin();
        std::thread::sleep(TRIAL);
        assert_eq!(shared.may_not_ask(1), Some(OFF));
        assert_eq!(shared.trial.only(), Some(0));
        assert!(shared.team.wants(0), "it is told to look");
        lock(&shared.trial.judge).until = Some(Duration::ZERO);
        assert_eq!((shared.may_not_ask(1), shared.trial.only()), (None, None));
        shared.trial.end_busy(0);
    }
}
