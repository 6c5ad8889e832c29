//! Whether it pays to share goals. A gift pays if workers reduce at the same time. Where one goal after the other has
//! something to do, one worker is busy, however often goals change workers; and each change costs the order in which
//! lists are read as they are made.
//!
//! Invariant:
//! - B13 Sharing is on trial from its first gift on, and while a worker waits at a gap (B14 of `gaps`). If fewer than
//!   [`BUSY_EIGHTHS`] eighths of a worker were busy in a trial, on the average, or as soon as more than [`HOME_MAX`]
//!   goals went home (B3 of `give`), of which each gift makes up for [`HOME_PER_GIFT`], sharing is off for a while:
//!   worker 0, to which all events come, has all goals, nobody asks, and every other worker sends it what it has, at
//!   each attention. That time doubles from one failed trial to the next, and is shorter by the time of trials that
//!   paid. A trial without gifts does not begin, so a program that has nothing to spare yet is not judged.
//!   The goals go where they would have been without gifts: those of a worker that took some to the gap that these
//!   left, and what lies below a gap behind all that worker 0 has. Of both, goals come first whose predicate was
//!   resumed or came home there: one worker puts what is resumed on top, and mostly others wait for these, such as the
//!   clients of a server.

use crate::coordination::schedule::now;
use crate::coordination::sync::atomic::Ordering::Relaxed;
use crate::coordination::sync::lock;
use crate::coordination::team::{Mail, When};
use crate::memory::ranges::{at, read};
use crate::sharing::state::{Judge, Trial, Verdict};
use crate::sharing::tuning::{BUSY_EIGHTHS, HOME_MAX, HOME_PER_GIFT, OFF, OFF_MAX, TRIAL};
use crate::worker::Worker;
use crate::worker::all::Shared;
use crate::worker::rules::Rule;
use std::time::Duration;
use term::Word;
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
    /// Goals are given: they make up for some that go home.
    fn begin(&self) {
        let went_home = self.went_home.load(Relaxed);
        self.went_home.store(went_home.saturating_sub(HOME_PER_GIFT), Relaxed);
        self.go_on();
    }
    /// A trial begins, if none goes on.
    fn go_on(&self) {
        if !self.goes_on.swap(true, Relaxed) {
            let time = self.time();
            let mut judge = lock(&self.judge);
            judge.change(time, |busy| busy);
            judge.begun = Some(judge.work);
        }
    }
    /// Whether sharing is off: worker 0 has all goals.
    #[inline(always)]
    pub(crate) fn is_off(&self) -> bool {
        self.off.load(Relaxed)
    }
    /// It is from now on. For how long.
    fn fail(&self, judge: &mut Judge, time: Duration) -> Duration {
        self.goes_on.store(false, Relaxed);
        self.off.store(true, Relaxed);
        judge.end(time)
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
            self.off = OFF.max(self.off.saturating_sub(any));
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
            Verdict::OnAgain => {
                trial.went_home.store(0, Relaxed);
                trial.off.store(false, Relaxed);
            }
            Verdict::Pays => trial.goes_on.store(false, Relaxed),
            Verdict::Fails => {
                trial.goes_on.store(false, Relaxed);
                if judge.busy & !(1 << me) != 0 {
                    let off = trial.fail(&mut judge, time);
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
    /// B13: it waits at a gap.
    pub(crate) fn begin_trial_at_gap(&self) {
        let trial = &self.shared.trial;
        if !self.options.without.has(Rule::Trial) && !trial.is_off() {
            trial.go_on();
        }
    }
    /// B13: goals went home since the last attention.
    pub(crate) fn judge_home(&mut self) {
        let (trial, new) = (&self.shared.trial, std::mem::take(&mut self.sharing.went_home));
        if new == 0
            || self.options.without.has(Rule::Trial)
            || trial.is_off()
            || trial.went_home.fetch_add(new, Relaxed) + new <= HOME_MAX
        {
            return;
        }
        let time = trial.time();
        let mut judge = lock(&trial.judge);
        judge.change(time, |busy| busy);
        judge.begun = None;
        trial.fail(&mut judge, time);
        drop(judge);
        self.shared.team.poke_all();
    }
    /// B13: while worker 0 has all goals, it gets those of this one. Before mail is opened: a goal that was sent here
    /// because of what this worker has is tried here.
    #[inline(always)]
    pub(crate) fn send_while_off(&mut self) {
        if self.index != 0 && self.shared.trial.is_off() {
            self.send_all(0);
        }
    }
    /// B13: all ready goals go to this worker.
    #[cold]
    pub(super) fn send_all(&mut self, to: usize) {
        debug_assert!(to != self.index, "B13: a worker keeps its goals");
        self.end_solo();
        let mut mails = Vec::new();
        let mut when = if std::mem::take(&mut self.sharing.takes) { When::Last } else { When::Next };
        loop {
            let top = self.abi.goals as usize;
            if self.is_gap(top) {
                when = When::Last;
                self.abi.goals = at(top - 8);
            } else if PredicateId::of_goal_word(read(top - 8)) == BOTTOM {
                if !self.next_segment() {
                    break;
                }
            } else if self.is_special(top) {
                self.run_top_native();
            } else {
                self.settle_all();
                mails.extend(self.pop_as_mail(when));
            }
        }
        if !mails.is_empty() {
            self.publish();
            mails.iter().for_each(|_| self.count_mail(to));
            self.statistics.goals_back += mails.len() as u64;
            self.shared.team.post_all(to, mails);
        }
    }
    /// The goals down to the next record that is none. Of those that run last, some come first.
    fn pop_as_mail(&mut self, when: When) -> Vec<Mail> {
        let lane = self.abi.priority;
        // X12 of `shoen`: under way before the goals are gone.
        let mut first = Some(self.mail(lane, Vec::new()));
        let mut goals = Vec::new();
        while !self.is_special(self.abi.goals as usize) && !self.is_gap(self.abi.goals as usize) {
            goals.push(self.pop_goal());
        }
        goals.reverse();
        let was_resumed = |goal: &mut Vec<Word>| when == When::Last && self.was_resumed(goal[goal.len() - 1]);
        let resumed = goals.extract_if(.., was_resumed).flatten().collect::<Vec<_>>();
        let parts = [(when, goals.concat()), (When::Next, resumed)].into_iter();
        let parts = parts.filter(|(_, words)| !words.is_empty());
        parts
            .map(|(when, words)| {
                let mail = first.take().unwrap_or_else(|| self.mail(lane, Vec::new()));
                Mail { when, words, ..mail }
            })
            .collect()
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
        // The time of trials that pay makes it shorter.
        for (paid, off) in [(TRIAL, OFF_MAX - TRIAL), (OFF_MAX, OFF)] {
            judge.begun = Some(judge.work);
            judge.change(time, |_| 0b11);
            time += paid;
            assert_eq!(judge.look(time), Verdict::Pays);
            assert_eq!(judge.end(time), off);
            (judge.until, judge.off) = (None, OFF_MAX);
        }
    }

    /// Worker 1 with goals 1 to 3, and 4 at priority 7: the numbers of what it sends to worker 0 while sharing is off.
    fn sent(prepare: impl FnOnce(&mut Worker)) -> Vec<(i64, When, Vec<i64>)> {
        let mut builder = Builder::with(2, None);
        let goal = builder.goal[0];
        let worker = builder.node.worker_at(1);
        let shared = worker.shared.clone();
        for number in 1..=3 {
            worker.spawn(goal, &[Word::small(number)]);
        }
        worker.spawn_at(7, goal, &[Word::small(4)]);
        prepare(worker);
        worker.send_while_off();
        assert_eq!(shared.team.take_mail(0).len(), 0);
        shared.trial.off.store(true, Relaxed);
        worker.send_while_off();
        assert_eq!(worker.ready_words(), 0);
        let numbers = |words: &[Word]| words.iter().step_by(2).map(|word| word.as_int()).collect();
        shared.team.take_mail(0).iter().map(|mail| (mail.priority, mail.when, numbers(&mail.words))).collect()
    }

    #[test]
    fn while_sharing_is_off_worker_0_has_all_goals_in_their_order() {
        let start = crate::worker::PRIORITY_START;
        assert_eq!(sent(|_| ()), [(start, When::Next, vec![1, 2, 3]), (7, When::Next, vec![4])]);
        // They were given to it; or it gave the second one away.
        let took = sent(|worker| worker.sharing.takes = true);
        assert_eq!(took, [(start, When::Last, vec![1, 2, 3]), (7, When::Last, vec![4])]);
        let gave = sent(|worker| {
            let base = worker.goals.top_segment().base;
            let second = base + 16..base + 32;
            worker.take_from_stack(0, std::slice::from_ref(&second), true);
        });
        assert_eq!(
            gave,
            [(start, When::Next, vec![3]), (start, When::Last, vec![1]), (7, When::Last, vec![4])]
        );
    }

    #[test]
    fn of_what_runs_last_goals_whose_predicate_was_resumed_come_first() {
        let mut builder = Builder::with(2, None);
        let (goal, server) = (builder.goal[0], builder.awaiting);
        let worker = builder.node.worker_at(1);
        let team = worker.shared.clone();
        let numbers = |mails: Vec<Mail>| -> Vec<_> {
            mails.iter().map(|mail| (mail.when, mail.words[0].as_int(), mail.words.len() / 2)).collect()
        };
        let pushed = |worker: &mut Worker| {
            for (number, predicate) in [(1, goal), (2, server), (3, goal), (4, server)] {
                worker.spawn(predicate, &[Word::small(number)]);
            }
        };
        pushed(worker);
        assert_eq!(numbers(worker.pop_as_mail(When::Last)), [(When::Last, 1, 4)]);
        // One comes home.
        let words = vec![Word::small(5), server.goal_word()];
        let mail = worker.mail(worker.priority(), words);
        team.team.post(1, Mail { when: When::Home, ..mail });
        assert!(worker.open_mail());
        assert_eq!(worker.pop_goal()[0].as_int(), 5);
        pushed(worker);
        assert_eq!(numbers(worker.pop_as_mail(When::Last)), [(When::Last, 1, 2), (When::Next, 2, 2)]);
        pushed(worker);
        assert_eq!(numbers(worker.pop_as_mail(When::Next)), [(When::Next, 1, 4)], "in their order");
        worker.spawn(server, &[Word::small(6)]);
        assert_eq!(numbers(worker.pop_as_mail(When::Last)), [(When::Next, 6, 1)]);
    }

    #[test]
    fn sharing_is_on_trial_while_a_worker_waits_at_a_gap() {
        let mut builder = Builder::with(2, None);
        let worker = builder.node.worker();
        let shared = worker.shared.clone();
        shared.trial.off.store(true, Relaxed);
        worker.begin_trial_at_gap();
        assert!(lock(&shared.trial.judge).begun.is_none(), "it is off");
        shared.trial.off.store(false, Relaxed);
        shared.trial.begin_busy(1);
        worker.begin_trial_at_gap();
        std::thread::sleep(TRIAL);
        assert_eq!(shared.may_not_ask(0), Some(OFF));
        shared.trial.end_busy(1);
    }

    #[test]
    fn worker_0_keeps_its_goals_while_sharing_is_off() {
        let mut builder = Builder::with(2, None);
        let goal = builder.goal[0];
        let worker = builder.node.worker();
        worker.spawn(goal, &[Word::small(1)]);
        worker.shared.trial.off.store(true, Relaxed);
        worker.send_while_off();
        assert_eq!(worker.ready_words(), 2);
    }

    #[test]
    fn a_trial_that_fails_leaves_all_goals_to_worker_0() {
        let builder = Builder::with(2, None);
        let shared = builder.node.shared();
        shared.trial.begin_busy(0);
        assert_eq!(shared.may_not_ask(1), None);
        shared.trial.begin();
        std::thread::sleep(TRIAL);
        assert_eq!(shared.may_not_ask(1), Some(OFF));
        assert!(shared.trial.is_off());
        assert!(shared.team.wants(0), "it is told to look");
        lock(&shared.trial.judge).until = Some(Duration::ZERO);
        assert!(shared.may_not_ask(1).is_none() && !shared.trial.is_off());
        shared.trial.end_busy(0);
    }

    #[test]
    fn many_goals_that_go_home_end_a_trial_and_a_few_for_each_gift_do_not() {
        let mut builder = Builder::with(2, None);
        let worker = builder.node.worker();
        let shared = worker.shared.clone();
        let go_home = |worker: &mut Worker, goals| {
            worker.sharing.went_home += goals;
            worker.judge_home();
        };
        for _ in 0..9 {
            shared.trial.begin();
            go_home(worker, HOME_PER_GIFT);
        }
        go_home(worker, HOME_MAX - HOME_PER_GIFT);
        assert!(!shared.trial.is_off());
        go_home(worker, 1);
        assert!(shared.trial.is_off() && shared.may_not_ask(1).is_some());
    }
}
