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
use crate::sharing::state::{Judge, NOBODY, Sample, Trial, Verdict};
use crate::sharing::tuning::{BUSY_EIGHTHS, OFF, OFF_MAX, TRIAL};
use crate::worker::Worker;
use crate::worker::all::Shared;
use crate::worker::rules::Rule;
use std::time::Duration;
use term::abi::{BOTTOM, PredicateId};

impl Trial {
    /// Time since it was made, and never 0.
    fn time(&self) -> Duration {
        now().saturating_duration_since(self.base) + Duration::from_nanos(1)
    }
    fn sample(&self) -> Sample {
        let time = self.time();
        let busy = self.seats.iter().map(|seat| {
            let since = Duration::from_nanos(seat.since.load(Relaxed));
            let now = if since.is_zero() { since } else { time.saturating_sub(since) };
            Duration::from_nanos(seat.total.load(Relaxed)) + now
        });
        let collecting = Duration::from_nanos(self.collecting.load(Relaxed));
        Sample { time, busy: busy.sum(), collecting }
    }
    /// A worker reduces from now on.
    pub(crate) fn begin_busy(&self, me: usize) {
        if self.seats.len() == 1 {
            return;
        }
        self.seats[me].since.store(self.time().as_nanos() as u64, Relaxed);
    }
    /// It reduces no longer.
    pub(crate) fn end_busy(&self, me: usize) {
        if self.seats.len() == 1 {
            return;
        }
        let seat = &self.seats[me];
        let since = seat.since.swap(0, Relaxed);
        debug_assert!(since != 0, "B13: it did not reduce");
        seat.total.fetch_add((self.time().as_nanos() as u64).saturating_sub(since), Relaxed);
    }
    /// A collection took this long.
    pub(crate) fn has_collected(&self, time: Duration) {
        self.collecting.fetch_add(time.as_nanos() as u64, Relaxed);
    }
    /// Goals are given: a trial begins, if none goes on.
    fn begin(&self) {
        if !self.goes_on.swap(true, Relaxed) {
            lock(&self.judge).begun = Some(self.sample());
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
    /// What holds for a worker that is about to ask for goals.
    fn look(&mut self, now: Sample) -> Verdict {
        if let Some(until) = self.until {
            if now.time < until {
                return Verdict::Off(until - now.time);
            }
            self.until = None;
            return Verdict::OnAgain;
        }
        let Some(begun) = self.begun else { return Verdict::On };
        let time = (now.time - begun.time).saturating_sub(now.collecting - begun.collecting);
        if time < TRIAL {
            return Verdict::On;
        }
        self.begun = None;
        if 8 * now.busy.saturating_sub(begun.busy) >= BUSY_EIGHTHS * time {
            self.off = OFF;
            return Verdict::Pays;
        }
        Verdict::Fails
    }
    /// A trial has failed. For how long sharing is off.
    fn end(&mut self, now: Sample) -> Duration {
        let off = self.off;
        self.until = Some(now.time + off);
        self.off = (2 * off).min(OFF_MAX);
        off
    }
}

impl Shared {
    /// B13: worker `me` is about to ask for goals. For how long it shall not, if sharing is off.
    pub(crate) fn may_not_ask(&self, me: usize) -> Option<Duration> {
        let trial = &self.trial;
        let mut judge = lock(&trial.judge);
        let now = trial.sample();
        match judge.look(now) {
            Verdict::Off(left) => return Some(left),
            Verdict::On => return None,
            Verdict::OnAgain => trial.only.store(NOBODY, Relaxed),
            Verdict::Pays => trial.goes_on.store(false, Relaxed),
            Verdict::Fails => {
                trial.goes_on.store(false, Relaxed);
                let runs = |&worker: &usize| worker != me && trial.seats[worker].since.load(Relaxed) != 0;
                if let Some(only) = (0..self.team.len()).find(runs) {
                    let off = judge.end(now);
                    trial.only.store(only, Relaxed);
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
        for (priority, words) in self.goals.take_polled(|_| true) {
            self.push_goals(priority, &words[1..]);
            self.lose(priority);
        }
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

    fn sample(time: u32, busy: u32, collecting: u32) -> Sample {
        Sample { time: time * MS, busy: busy * MS, collecting: collecting * MS }
    }

    #[test]
    fn sharing_goes_on_while_workers_reduce_at_the_same_time() {
        let mut judge = Judge { begun: Some(sample(1, 1, 0)), ..Judge::NEW };
        assert_eq!(judge.look(sample(2, 2, 0)), Verdict::On, "a trial takes some time");
        assert_eq!(judge.look(sample(17, 19, 0)), Verdict::Pays);
        assert_eq!(judge.look(sample(90, 19, 0)), Verdict::On, "no trial goes on");
        // All stop for a collection.
        judge.begun = Some(sample(100, 0, 10));
        assert_eq!(judge.look(sample(200, 18, 94)), Verdict::Pays);
        judge.begun = Some(sample(100, 0, 10));
        assert_eq!(judge.look(sample(200, 17, 94)), Verdict::Fails);
    }

    #[test]
    fn sharing_is_off_for_longer_after_each_trial_that_fails_and_not_for_ever() {
        let mut judge = Judge::NEW;
        let (mut time, mut before) = (0, Duration::ZERO);
        for _ in 0..12 {
            judge.begun = Some(sample(time, 0, 0));
            time += 8;
            assert_eq!(judge.look(sample(time, 8, 0)), Verdict::Fails);
            let off = judge.end(sample(time, 8, 0));
            assert!(off == OFF_MAX || off == 2 * before || before.is_zero(), "{off:?} after {before:?}");
            assert_eq!(judge.look(sample(time + 1, 9, 0)), Verdict::Off(off - MS));
            time += off.as_millis() as u32;
            assert_eq!(judge.look(sample(time, 9, 0)), Verdict::OnAgain);
            assert_eq!(judge.look(sample(time, 9, 0)), Verdict::On);
            before = off;
        }
        assert_eq!(before, OFF_MAX);
        // One that pays lets the next failure begin anew.
        judge.begun = Some(sample(0, 0, 0));
        assert_eq!(judge.look(sample(8, 16, 0)), Verdict::Pays);
        assert_eq!(judge.end(sample(8, 16, 0)), OFF);
    }

    #[test]
    fn while_sharing_is_off_one_worker_has_all_goals_in_their_order() {
        let mut builder = Builder::with(2, None);
        let goal = builder.goal[0];
        let worker = builder.node.worker();
        let team = worker.shared.clone();
        let start = worker.priority();
        let polled = worker.new_variable();
        for number in 1..=3 {
            worker.spawn(goal, &[Word::small(number)]);
        }
        worker.spawn_at(7, goal, &[Word::small(4)]);
        worker.gain(start);
        worker.goals.poll(start, vec![polled, Word::small(5), goal.goal_word()]);
        worker.send_while_off();
        assert_eq!(team.team.take_mail(1).len(), 0);
        team.trial.only.store(1, Relaxed);
        worker.send_while_off();
        let mails = team.team.take_mail(1);
        let numbers = |words: &[Word]| words.iter().step_by(2).map(|word| word.as_int()).collect::<Vec<_>>();
        let sent: Vec<_> = mails.iter().map(|mail| (mail.priority, numbers(&mail.words))).collect();
        assert_eq!(sent, [(start, vec![1, 2, 3, 5]), (7, vec![4])]);
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
        // Nobody has reduced since.
        let mut begun = shared.trial.sample();
        begun.busy += Duration::from_secs(3600);
        lock(&shared.trial.judge).begun = Some(begun);
        std::thread::sleep(TRIAL);
        assert_eq!(shared.may_not_ask(1), Some(OFF));
        assert_eq!(shared.trial.only(), Some(0));
        assert!(shared.team.wants(0), "it is told to look");
        lock(&shared.trial.judge).until = Some(Duration::ZERO);
        assert_eq!((shared.may_not_ask(1), shared.trial.only()), (None, None));
        shared.trial.end_busy(0);
    }
}
