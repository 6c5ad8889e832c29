//! What became of goals that were given away. Predicates whose goals did harm are kept for a while.
//!
//! Invariants:
//! - B7 After a gift the giver counts its goals that wait. If one waits more often than every [`OFTEN`], the
//!   predicates of the gift are kept for a while, and longer each time; unless goals waited half as often before the
//!   gift, or wait as often when none are given away. Reason: a worker's goals are in an order in which most of them
//!   find what they need. A gift takes one out of it, and those that need what it makes wait, each a moment before its
//!   turn would have come.
//! - B9 After each collection a worker compares its goals that waited with those that it resumed. If more than twice
//!   as many waited, it has *run ahead*, and what came back to it runs at once. If nothing came back, and another
//!   worker resumes more goals than wait there, all goals of the running priority go to that worker, to run after
//!   what is ready there. Then nothing is given away for a while, and longer each time. Reason: goals whose data are
//!   not there yet may make others that wait for these, without end. One worker comes to such a goal when nothing
//!   else is ready. After a gift, or with goals that came back (B3), a worker comes to it while another one has what
//!   it needs.
//! - B10 After [`SUMS`] sums that were put off in a row, each with the result of the one before, the goal that makes
//!   them goes to a worker that has goals, to its giver if that has any, and runs after what is ready there. If no
//!   worker has goals, it is left for later here. Reason: a loop that adds to a result which another worker is still
//!   computing makes a goal that waits for each sum. One worker comes to such a loop only when the result is there.

use crate::coordination::schedule::{now, since};
use crate::coordination::sync::lock;
use crate::sharing::state::{Lesson, Trial};
use crate::sharing::tuning::{
    AHEAD_MIN, AS_LONG, FEW, LEVELS, OFTEN, PREDICATES, REMEMBERED, SUMS, TRIAL, WINDOW,
};
use crate::terms::deref;
use crate::worker::Worker;
use crate::worker::rules::Rule;
use std::sync::atomic::Ordering::Relaxed;
use term::Word;
use term::abi::PredicateId;
use term::word::Tag;

impl Worker {
    /// B7: goals (in the format of the goal stack) go to another worker.
    pub(crate) fn begin_trial(&mut self, words: &[Word]) {
        self.judge();
        if self.waited_before() || self.options.without.has(Rule::Lessons) {
            return;
        }
        let mut predicates = Vec::new();
        let mut end = words.len();
        while end > 0 && predicates.len() < PREDICATES {
            let predicate = PredicateId::of_goal_word(words[end - 1]);
            if !predicates.contains(&predicate) {
                predicates.push(predicate);
            }
            debug_assert!(self.predicates.arity(predicate) < end, "P2: records fill mail");
            end -= 1 + self.predicates.arity(predicate);
        }
        self.count_from_now();
        let now = now();
        self.sharing.trial = Some(Trial { predicates, begin: now, since: now, look_at: FEW + 1 });
    }
    /// B7: looks what has become of the last gift.
    pub(crate) fn judge(&mut self) {
        self.count_suspended();
        self.note_waited();
        let Some(trial) = &mut self.sharing.trial else { return };
        let count = self.waiting.count();
        if count < trial.look_at {
            return;
        }
        let elapsed = since(trial.since);
        trial.look_at = count + FEW;
        if elapsed < OFTEN * u32::try_from(count).unwrap_or(u32::MAX) {
            let at_least = since(trial.begin) * AS_LONG;
            let mut known = lock(&self.shared.lessons.known);
            for &predicate in &trial.predicates {
                let lesson = known.entry(predicate).or_insert(Lesson {
                    until: trial.since,
                    level: 0,
                    idle: false,
                    kept: None,
                });
                if lesson.until <= now() {
                    lesson.until = now() + at_least.max(REMEMBERED * (1 << lesson.level));
                    lesson.level = (lesson.level + 1).min(LEVELS);
                    lesson.kept = None;
                }
            }
            self.shared.lessons.any.store(true, Relaxed);
            drop(known);
            self.end_trial();
        } else if since(trial.begin) > TRIAL {
            self.end_trial();
        } else if elapsed > WINDOW {
            (trial.since, trial.look_at) = (now(), FEW + 1);
            self.waiting.restart_count();
        }
    }
    /// B7: goals waited often before a gift that is made now: they talk to each other.
    fn waited_before(&self) -> bool {
        let [older, newer] = self.sharing.waited;
        older.or(newer).is_some_and(|(then, before)| {
            let count = u32::try_from(self.suspended() - before).unwrap_or(u32::MAX);
            u64::from(count) > FEW && since(then) < 2 * OFTEN * count
        })
    }
    /// B7: notes how many goals have waited so far, once in a while.
    fn note_waited(&mut self) {
        let newer = self.sharing.waited[1];
        if newer.is_none_or(|(then, _)| since(then) > WINDOW) {
            self.sharing.waited = [newer, Some((now(), self.suspended()))];
        }
    }
    /// Goals that have waited, but for new records that no collection has counted.
    fn suspended(&self) -> u64 {
        self.statistics.suspensions + self.abi.reused
    }
    fn end_trial(&mut self) {
        self.sharing.trial = None;
        self.waiting.end_count();
    }
    /// B9: after a collection.
    pub(crate) fn look_ahead(&mut self) {
        let (suspensions, resumptions) = (self.statistics.suspensions, self.resumptions());
        let before = std::mem::replace(&mut self.sharing.at_collection, (suspensions, resumptions));
        let (waited, resumed) = (suspensions - before.0, resumptions - before.1);
        let shared = self.shared.clone();
        let mut order = lock(&shared.lessons.order);
        order.behind.insert(self.index, resumed as i64 - waited as i64);
        let enough = waited >= AHEAD_MIN && !self.options.without.has(Rule::Ahead);
        // If hardly any were resumed, a network of goals is being made.
        if !enough || 2 * resumed > waited || 8 * resumed < waited {
            return;
        }
        let others = order
            .behind
            .iter()
            .filter(|&(&worker, &behind)| worker != self.index && behind > 0 && shared.team.is_busy(worker));
        let behind = others.max_by_key(|&(_, &behind)| behind).map(|(&worker, _)| worker);
        if !self.all_later_is_now() {
            let Some(worker) = behind else { return };
            self.give_way(worker);
        }
        order.keep_all();
        // Relaxed: as in `keeps`.
        shared.lessons.any.store(true, Relaxed);
        shared.lessons.ran_ahead.store(true, Relaxed);
    }
    /// B10: an operand of these is missing, so a goal is to compute the result.
    pub(crate) fn put_off_sum(&mut self, operands: [Word; 2], result: Word) {
        debug_assert!(result.tag() == Tag::Ref, "B10: a sum that is put off has no value");
        let sums = &mut self.sharing.sums;
        let before = std::mem::replace(&mut sums.newest, result);
        sums.in_a_row =
            if operands.iter().any(|&word| deref(word) == before) { sums.in_a_row + 1 } else { 0 };
        if sums.in_a_row >= SUMS && !self.options.without.has(Rule::Sums) {
            (sums.in_a_row, sums.too_many) = (0, true);
            self.abi.want_attention();
        }
    }
    /// B10: the goal on top of the stack made too many of them.
    #[cold]
    pub(crate) fn leave_sums(&mut self) {
        if self.is_special(self.abi.goals as usize) {
            return;
        }
        let team = &self.shared.team;
        let mut others = self.sharing.fed_by.into_iter().chain(0..team.len());
        match others.find(|&other| other != self.index && team.has_goals(other)) {
            Some(maker) => {
                self.end_solo();
                self.settle_top();
                self.publish();
                self.send_top_goal(maker);
            }
            None => {
                let adder = self.pop_goal();
                self.push_later(self.abi.priority, &adder);
            }
        }
    }
    /// B9: somebody ran ahead before.
    pub(crate) fn ran_ahead(&self) -> bool {
        self.shared.lessons.ran_ahead.load(Relaxed)
    }
    /// B7, B9: goals of this predicate are kept.
    pub(crate) fn keeps(&self, predicate: PredicateId) -> bool {
        // Relaxed: whoever does not see it yet gives one more goal away.
        if !self.shared.lessons.any.load(Relaxed) {
            return false;
        }
        if self.ran_ahead() && lock(&self.shared.lessons.order).kept_until.is_some_and(|until| now() < until)
        {
            return true;
        }
        let mut known = lock(&self.shared.lessons.known);
        let Some(lesson) = known.get_mut(&predicate) else { return false };
        let (now, waited) = (now(), self.suspended());
        let kept = *lesson.kept.get_or_insert((self.index, now, waited));
        if now < lesson.until {
            return !lesson.idle;
        }
        if kept.0 == self.index && waited - kept.2 > FEW {
            let count = u32::try_from(waited - kept.2).unwrap_or(u32::MAX);
            lesson.idle |= now - kept.1 < 2 * OFTEN * count;
        }
        false
    }
}

#[cfg(all(test, not(models)))]
mod tests {
    use super::*;
    use crate::collect::tests::Builder;
    use crate::goals::state::NO_PRIORITY;
    use std::time::Instant;

    /// A worker of which `waited` goals waited right after a gift of a goal of the first predicate.
    fn after_a_gift(builder: &mut Builder, waited: u64) -> &mut Worker {
        let goal = builder.goal;
        let worker = builder.node.worker();
        // None did before.
        worker.sharing.waited = [None; 2];
        worker.begin_trial(&[Word::small(1), goal[0].goal_word()]);
        for _ in 0..waited {
            let variable = worker.new_variable();
            worker.spawn(goal[1], &[Word::NIL; 3]);
            (worker.abi.pending[0], worker.abi.pending_count) = (variable, 1);
            worker.suspend_top();
        }
        // However long that took here.
        worker.sharing.trial.as_mut().expect("it has begun").since = Instant::now() + TRIAL;
        worker.judge();
        worker
    }

    #[test]
    fn a_predicate_whose_goals_do_harm_is_kept_for_a_while() {
        let mut builder = Builder::with(2, None);
        let goal = builder.goal;
        let worker = after_a_gift(&mut builder, FEW + 1);
        assert!(worker.keeps(goal[0]) && !worker.keeps(goal[1]));
        lock(&worker.shared.lessons.known).get_mut(&goal[0]).expect("it is known").until = Instant::now();
        assert!(!worker.keeps(goal[0]));
    }

    #[test]
    fn what_is_kept_goes_to_a_worker_that_reduces_at_a_lower_priority() {
        let mut builder = Builder::with(2, None);
        let goal = builder.goal[0];
        let worker = after_a_gift(&mut builder, FEW + 1);
        worker.spawn_at(50, goal, &[Word::NIL]);
        assert!(worker.surplus(1, NO_PRIORITY).is_empty());
        assert_eq!(worker.surplus(1, 49).len(), 1);
    }

    #[test]
    fn a_few_goals_that_wait_do_no_harm() {
        let mut builder = Builder::with(2, None);
        let goal = builder.goal[0];
        assert!(!after_a_gift(&mut builder, FEW).keeps(goal));
    }

    #[test]
    fn a_predicate_whose_goals_wait_as_often_when_they_are_kept_is_given_away() {
        let mut builder = Builder::with(2, None);
        let goal = builder.goal[0];
        let worker = after_a_gift(&mut builder, FEW + 1);
        assert!(worker.keeps(goal));
        worker.statistics.suspensions += 1 << 40;
        lock(&worker.shared.lessons.known).get_mut(&goal).expect("it is known").until = Instant::now();
        assert!(!worker.keeps(goal));
        assert!(!after_a_gift(&mut builder, FEW + 1).keeps(goal));
    }

    /// A client and its server wait for each message, whatever is given away beside them.
    #[test]
    fn a_predicate_is_not_kept_if_goals_waited_as_often_before_the_gift() {
        let mut builder = Builder::with(2, None);
        let goal = builder.goal[0];
        let worker = builder.node.worker();
        // However long this takes here.
        worker.sharing.waited = [Some((Instant::now() + TRIAL, 0)); 2];
        worker.statistics.suspensions += FEW;
        worker.begin_trial(&[Word::small(1), goal.goal_word()]);
        assert!(worker.sharing.trial.take().is_some());
        worker.statistics.suspensions += 1;
        worker.begin_trial(&[Word::small(1), goal.goal_word()]);
        assert!(worker.sharing.trial.is_none());
    }

    #[test]
    fn goals_that_were_counted_by_a_collection_count_once() {
        let mut builder = Builder::with(2, None);
        let goal = builder.goal[0];
        let worker = builder.node.worker();
        worker.begin_trial(&[Word::small(1), goal.goal_word()]);
        for round in 1..4 {
            let variable = worker.new_variable();
            worker.spawn(goal, &[Word::NIL]);
            (worker.abi.pending[0], worker.abi.pending_count) = (variable, 1);
            worker.suspend_top();
            if round == 2 {
                worker.register();
            }
            worker.count_suspended();
            assert_eq!(worker.waiting.count(), round);
        }
    }

    /// `count` goals of a worker wait.
    fn wait(worker: &mut Worker, goal: PredicateId, count: u64) {
        for _ in 0..count {
            let variable = worker.new_variable();
            worker.spawn(goal, &[Word::NIL]);
            (worker.abi.pending[0], worker.abi.pending_count) = (variable, 1);
            worker.suspend_top();
        }
        worker.register();
        worker.statistics.resumptions += count / 4;
    }

    #[test]
    fn who_runs_ahead_does_first_what_came_back_and_then_gives_way() {
        let mut builder = Builder::with(2, None);
        let (one, two) = (builder.goal[0], builder.goal[1]);
        let worker = builder.node.worker();
        let priority = worker.priority();
        worker.spawn(one, &[Word::small(1)]);
        worker.push_later(priority, &[Word::small(2), one.goal_word()]);
        worker.look_ahead();
        assert!(!worker.keeps(two));
        wait(worker, one, AHEAD_MIN);
        worker.look_ahead();
        assert!(worker.keeps(two));
        assert_eq!(worker.pop_goal()[0], Word::small(2));
        // Nothing came back, and nobody is behind; then somebody is.
        wait(worker, one, AHEAD_MIN);
        worker.look_ahead();
        assert_eq!(worker.ready_words(), 2);
        lock(&worker.shared.lessons.order).behind.insert(1, 1);
        worker.shared.team.show_priority(1, priority);
        wait(worker, one, AHEAD_MIN);
        worker.look_ahead();
        assert_eq!(worker.ready_words(), 0);
        let mails = worker.shared.team.take_mail(1);
        assert!(mails.len() == 1 && mails[0].back && mails[0].words == [Word::small(1), one.goal_word()]);
    }

    #[test]
    fn sums_of_what_is_not_known_yet_are_left_to_who_computes_it() {
        let mut builder = Builder::with(2, None);
        let goal = builder.goal[0];
        let worker = builder.node.worker();
        let mut unknown = worker.new_variable();
        let mut sums = |worker: &mut Worker, count| {
            for _ in 0..count {
                let result = worker.new_variable();
                worker.put_off_sum([unknown, Word::small(1)], result);
                unknown = result;
            }
            worker.sharing.take_too_many_sums()
        };
        assert!(!sums(worker, SUMS));
        // Another sum ends the row.
        let (other, result) = (worker.new_variable(), worker.new_variable());
        worker.put_off_sum([other, other], result);
        assert!(!sums(worker, SUMS));
        assert!(sums(worker, 1));
        // Nobody has goals; then somebody has.
        let priority = worker.priority();
        for left in [1, 2] {
            worker.spawn(goal, &[Word::small(left)]);
            worker.leave_sums();
            assert_eq!(worker.ready_words(), 2);
            worker.shared.team.show_priority(1, priority);
        }
        let mails = worker.shared.team.take_mail(1);
        assert!(mails.len() == 1 && mails[0].back && mails[0].words == [Word::small(2), goal.goal_word()]);
        assert!(worker.all_later_is_now());
        assert_eq!(worker.pop_goal()[0], Word::small(1));
    }
}
