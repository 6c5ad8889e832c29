//! Sums of what another worker is still computing.
//!
//! Invariant:
//! - B10 After [`SUMS`] sums that were put off in a row, each with the result of the one before, the goal that makes
//!   them goes to a worker that has goals, to its giver if that has any, and runs after what is ready there. If no
//!   worker has goals, it is left for later here. Reason: a loop that adds to a result which another worker is still
//!   computing makes a goal that waits for each sum. One worker comes to such a loop only when the result is there.

use crate::coordination::team::When;
use crate::sharing::tuning::SUMS;
use crate::terms::deref;
use crate::worker::Worker;
use crate::worker::rules::Rule;
use term::Word;
use term::word::Tag;

impl Worker {
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
                // B13: the worker that has all goals goes on with it.
                let when = if self.shared.trial.is_off() { When::Next } else { When::Later };
                self.send_top_goal(maker, when);
            }
            None => {
                let adder = self.pop_goal();
                self.push_later(self.abi.priority, &adder);
            }
        }
    }
}

#[cfg(all(test, not(models)))]
mod tests {
    use super::*;
    use crate::collect::tests::Builder;
    use crate::coordination::team::When;

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
        assert!(
            mails.len() == 1
                && mails[0].when == When::Later
                && mails[0].words == [Word::small(2), goal.goal_word()]
        );
        assert!(worker.later_is_now());
        assert_eq!(worker.pop_goal()[0], Word::small(1));
    }
}
