//! Goals that waited become ready: what a binding resumes, and what becomes of their records (H3 to H7 of `suspend`).

use crate::goals::abroad::OUTWARD;
use crate::goals::suspend::{RESUMED, goal_arity, record_class};
use crate::memory::ranges::{compare_exchange, pointer, prefetch, raw, read, write};
use crate::worker::Worker;
use term::Word;
use term::abi::PredicateId;
use term::layout::{
    self, HOOK_SUSPENSION, SUSPENSION_ARGS, SUSPENSION_NEXT, SUSPENSION_PREDICATE, SUSPENSION_PRIORITY,
};
use term::word::{Tag, UNBOUND};

/// Lists of resumed goals in front of which builtins are reduced at once, at most.
const LATER_FEW: usize = 8;

impl Worker {
    /// A variable got its value: its goals become ready (H3). `waiting` was the cell's content.
    #[inline(always)]
    pub(crate) fn resume(&mut self, waiting: Word) {
        debug_assert!(waiting.tag() == Tag::Var && waiting != UNBOUND, "H3: nobody waits for it");
        self.abi.want_resumption();
        prefetch(waiting);
        if self.abi.resumed == 0 {
            self.abi.resumed = waiting.address();
            self.abi.resumed_at = self.abi.goals as usize;
        } else {
            self.waiting.resumed_later.push(waiting.address());
            self.abi.limit_after = 0;
        }
    }
    /// C8: from now on generated code makes resumed goals ready itself, if nothing else is wanted.
    #[inline(always)]
    pub(crate) fn let_code_attend(&mut self) {
        let alone = self.is_single() || !self.goals.turns.choice.below;
        let nothing = !self.abi.more_wanted && self.waiting.resumed_later.is_empty();
        self.abi.limit_after = if alone && nothing { self.attention.first() } else { 0 };
    }
    /// True if goals are to be made ready (H3).
    #[inline(always)]
    pub(crate) fn has_resumed(&self) -> bool {
        debug_assert!(self.abi.resumed != 0 || self.waiting.resumed_later.is_empty());
        self.abi.resumed != 0
    }

    /// Makes the goals that were resumed ready: those of the first binding on top, each variable's oldest goal first.
    /// Answers true.
    #[cold]
    #[inline(never)]
    pub(crate) fn push_resumed(&mut self) -> bool {
        while let Some(list) = self.waiting.resumed_later.pop() {
            self.push_list(list);
        }
        let first = std::mem::take(&mut self.abi.resumed);
        if first != 0 {
            self.push_list(first);
        }
        true
    }
    /// The record of the goal that was resumed, and its goal word, if it is only one, of the running priority, and
    /// the stack has room for it.
    #[inline(always)]
    pub(crate) fn take_one_resumed(&mut self) -> Option<(usize, Word)> {
        let record = self.abi.resumed;
        debug_assert!(record != 0, "H3: nothing was resumed");
        let goal = read(record + 8 * SUSPENSION_PREDICATE);
        let one = self.waiting.resumed_later.is_empty() && self.is_first(record, goal);
        if one {
            self.take_first(record);
        }
        one.then_some((record, goal))
    }
    /// Whether the first binding resumed one goal, of the running priority, and the stack has room for it.
    #[inline(always)]
    fn is_first(&self, record: usize, goal: Word) -> bool {
        read(record + 8 * SUSPENSION_NEXT) == UNBOUND
            && record_class(record) == layout::SUSPENSION
            && read(record + 8 * SUSPENSION_PRIORITY) == Word::small(self.abi.priority)
            && goal != RESUMED
            && self.abi.goals as usize <= self.abi.goals_limit
    }
    /// The record and goal word of the process (a stream's or a merger's) that the first binding resumed, if it is the
    /// only goal, its record is private, and `is_first` says so; and there are few others.
    #[inline(always)]
    pub(crate) fn first_process(&self) -> Option<(usize, Word)> {
        let record = self.abi.resumed;
        if record == 0 {
            return None;
        }
        let (goal, system) = (read(record + 8 * SUSPENSION_PREDICATE), &self.system_goals);
        let process = goal == system.stream.goal_word() || goal == system.merge.goal_word();
        let few = self.waiting.resumed_later.len() <= LATER_FEW;
        (process && few && self.is_first(record, goal) && self.is_private(record)).then_some((record, goal))
    }
    /// That record is taken. Answers how many other lists there are.
    #[inline(always)]
    pub(crate) fn take_first_of(&mut self, record: usize) -> usize {
        self.take_first(record);
        self.waiting.resumed_later.len()
    }
    #[inline(always)]
    fn take_first(&mut self, record: usize) {
        debug_assert!(record == self.abi.resumed, "H3: it is not the first");
        debug_assert!(read(record + 8 * SUSPENSION_PREDICATE) != RESUMED, "H3: it was resumed before");
        self.abi.resumed = 0;
        self.statistics.resumptions += 1;
        write(record + 8 * SUSPENSION_PREDICATE, RESUMED);
    }
    /// Goals were resumed. A builtin that would come on top of the stack is reduced at once: false, and there may be
    /// more of them then. Other goals become ready: true.
    #[inline(always)]
    pub(crate) fn reduce_or_push_resumed(&mut self) -> bool {
        let Some((record, goal)) = self.take_one_resumed() else { return self.reduce_first_or_push() };
        // As numbers: this is asked at every resumption.
        if goal.bits() < self.abi.first_compiled.bits() {
            self.reduce_record(record, PredicateId::of_goal_word(goal));
            return false;
        }
        let arity = goal_arity(record);
        self.push_words(goal, record + 8 * SUSPENSION_ARGS, arity);
        self.spend(record, arity);
        true
    }
    /// The same where several goals were resumed.
    #[inline(never)]
    fn reduce_first_or_push(&mut self) -> bool {
        if self.reduce_first() { false } else { self.push_resumed() }
    }
    /// Reduces the goal that the first binding resumed, if it is a builtin's, and only one, of the running priority,
    /// and there are few others. What it resumes comes before these.
    #[inline(always)]
    pub(crate) fn reduce_first(&mut self) -> bool {
        let record = self.abi.resumed;
        debug_assert!(record != 0, "H3: nothing was resumed");
        let goal = read(record + 8 * SUSPENSION_PREDICATE);
        let later = self.waiting.resumed_later.len();
        let reduces = later <= LATER_FEW && self.is_builtin(record) && self.is_first(record, goal);
        if reduces {
            self.take_first(record);
            self.reduce_record(record, PredicateId::of_goal_word(goal));
            if later != 0 {
                self.resume_after_builtin(later);
            }
        }
        reduces
    }
    /// Whether a list's newest goal is a builtin's, and waited for one variable.
    #[inline(always)]
    fn is_builtin(&self, record: usize) -> bool {
        read(record + 8 * SUSPENSION_PREDICATE).bits() < self.abi.first_compiled.bits()
    }
    /// What a builtin has resumed comes before the `later` lists that were there when it began, but other builtins
    /// come first: what several inputs have for one reader, it then gets at once.
    pub(crate) fn resume_after_builtin(&mut self, later: usize) {
        debug_assert!(later <= self.waiting.resumed_later.len(), "H3: lists that were there are gone");
        let first = std::mem::take(&mut self.abi.resumed);
        if first == 0 && self.waiting.resumed_later.len() == 1 {
            // As two streams of one goal are resumed.
            self.abi.resumed = self.waiting.resumed_later.pop().unwrap_or(0);
            return;
        }
        if self.waiting.resumed_later.len() > later {
            self.waiting.resumed_later.rotate_left(later);
        }
        let builtin = if first != 0 && self.is_builtin(first) {
            None
        } else {
            self.waiting.resumed_later.iter().position(|&list| self.is_builtin(list))
        };
        let lists = &mut self.waiting.resumed_later;
        self.abi.resumed = match builtin {
            // The usual cases move nothing.
            Some(0) if first != 0 => std::mem::replace(&mut lists[0], first),
            Some(place) if first != 0 => {
                lists[..=place].rotate_right(1);
                std::mem::replace(&mut lists[0], first)
            }
            None if first != 0 => first,
            place => {
                let place = place.unwrap_or(0);
                if place + 1 == lists.len() { lists.pop().unwrap_or(0) } else { lists.remove(place) }
            }
        };
    }
    fn push_list(&mut self, newest: usize) {
        let goal = read(newest + 8 * SUSPENSION_PREDICATE);
        if self.is_alone() && self.is_first(newest, goal) {
            let arity = goal_arity(newest);
            self.statistics.resumptions += 1;
            write(newest + 8 * SUSPENSION_PREDICATE, RESUMED);
            self.push_words(goal, newest + 8 * SUSPENSION_ARGS, arity);
            return self.spend(newest, arity);
        }
        self.claim_list(newest, |worker, record, goal| worker.push_claimed(record, goal));
    }
    /// Gives `then` the records of a list that still wait, and their goal words, the newest first.
    #[inline(always)]
    pub(crate) fn claim_list(&mut self, newest: usize, mut then: impl FnMut(&mut Worker, usize, Word)) {
        let mut next = pointer(Tag::Var, newest);
        while next != UNBOUND {
            let mut record = next.address();
            next = read(record + 8 * SUSPENSION_NEXT);
            let hook = record_class(record) == layout::HOOK;
            if hook {
                record = read(record + 8 * HOOK_SUSPENSION).address();
            }
            debug_assert!(record_class(record) == layout::SUSPENSION, "H1: a list of records and hooks");
            if let Some(goal) = self.claim_record(record) {
                self.statistics.resumptions += 1;
                then(self, record, goal);
                let arity = goal_arity(record);
                if hook {
                    self.forget_arguments(record, arity);
                } else {
                    self.spend(record, arity);
                }
            }
        }
    }
    /// H5: takes a goal that waits: its goal word; `None` if it was resumed before.
    #[inline(always)]
    pub(crate) fn claim_record(&mut self, record: usize) -> Option<Word> {
        let goal = read(record + 8 * SUSPENSION_PREDICATE);
        if goal == RESUMED {
            return None;
        }
        if self.is_alone() {
            write(record + 8 * SUSPENSION_PREDICATE, RESUMED);
            return Some(goal);
        }
        self.note_resumed(goal);
        compare_exchange(record + 8 * SUSPENSION_PREDICATE, goal, RESUMED).then_some(goal)
    }
    /// B13 of `trial`: a goal with this goal word is resumed, or came home.
    #[inline(never)]
    pub(crate) fn note_resumed(&mut self, goal: Word) {
        self.waiting.resumed.insert(PredicateId::of_goal_word(goal));
    }
    /// Whether one of its predicate was.
    pub(crate) fn was_resumed(&self, goal: Word) -> bool {
        self.waiting.resumed.contains(&PredicateId::of_goal_word(goal))
    }
    #[inline(always)]
    pub(crate) fn push_claimed(&mut self, record: usize, goal: Word) {
        let priority = read(record + 8 * SUSPENSION_PRIORITY).as_int();
        debug_assert_eq!(goal_arity(record), self.predicates.arity(PredicateId::of_goal_word(goal)), "H1");
        self.push_record(priority, goal, record + 8 * SUSPENSION_ARGS, goal_arity(record));
    }
    /// H6, H7: the goal of a record, which waited for one variable, is ready.
    #[inline(always)]
    pub(crate) fn spend(&mut self, record: usize, arity: usize) {
        debug_assert!(read(record + 8 * SUSPENSION_PREDICATE) == RESUMED, "H7: its goal waits");
        debug_assert_eq!(goal_arity(record), arity, "H7: a record of another size");
        if !self.is_private(record) {
            self.forget_far_arguments(record, arity);
        } else if let Some(newest) = self.abi.spent.get_mut(arity) {
            write(record + 8 * SUSPENSION_NEXT, raw(*newest as u64));
            *newest = record;
        }
    }
    /// H6: a record's goal is ready.
    #[inline(always)]
    pub(crate) fn forget_arguments(&self, record: usize, arity: usize) {
        if !self.is_private(record) {
            self.forget_far_arguments(record, arity);
        }
    }
    /// H6. The goal runs soon: what it leads to is fetched all at once, and not one after the other when the goal
    /// needs it.
    #[inline(never)]
    fn forget_far_arguments(&self, record: usize, arity: usize) {
        let told = self.index != 0 && read(record + 8 * SUSPENSION_PRIORITY) == Word::small(OUTWARD);
        let old = !self.heap.is_young(record) && !told;
        for argument in (0..arity).map(|i| record + 8 * (SUSPENSION_ARGS + i)) {
            prefetch(read(argument));
            if old {
                write(argument, Word::small(0));
            }
        }
    }
}

#[cfg(all(test, not(models)))]
mod tests {
    use super::*;
    use crate::collect::tests::Builder;
    use crate::terms::deref;

    /// A goal of one argument waits for variables: its record.
    fn wait(worker: &mut Worker, goal: PredicateId, variables: &[Word]) -> usize {
        worker.spawn(goal, &[Word::NIL]);
        worker.abi.pending[..variables.len()].copy_from_slice(variables);
        worker.abi.pending_count = variables.len();
        worker.suspend_top();
        let link = read(variables[0].address()).address();
        if variables.len() == 1 { link } else { read(link + 8 * HOOK_SUSPENSION).address() }
    }
    /// That goal, which ran.
    fn resume_and_run(worker: &mut Worker, variable: Word) {
        worker.unify(variable, Word::NIL);
        worker.push_resumed();
        assert_eq!(worker.pop_goal().len(), 2);
    }

    #[test]
    fn the_record_of_a_goal_that_was_resumed_is_used_again() {
        let mut builder = Builder::with(1, None);
        let goal = builder.goal[0];
        let worker = builder.node.worker();
        let [a, b, c, d, e, f] = [(); 6].map(|()| worker.new_variable());
        let first = wait(worker, goal, &[a]);
        let second = wait(worker, goal, &[b]);
        resume_and_run(worker, a);
        resume_and_run(worker, b);
        // The newest first; then there is none, and none for other arities.
        let before = worker.nursery_used();
        assert_eq!([c, d].map(|variable| wait(worker, goal, &[variable])), [second, first]);
        assert_eq!(worker.nursery_used(), before);
        assert!(![first, second].contains(&wait(worker, goal, &[e])));
        let waiting = |worker: &mut Worker| worker.waiting_goals().count();
        assert_eq!(waiting(worker), 3);
        // What was registered is not used again: the list of suspensions has begun anew.
        resume_and_run(worker, c);
        assert_eq!(waiting(worker), 2);
        assert_ne!(wait(worker, goal, &[f]), second);
        assert_eq!(worker.statistics().suspensions, 6);
        builder.node.collect(0);
        assert_eq!(builder.node.worker().waiting_goals().count(), 3);
    }

    /// C8 of `term::abi`.
    #[test]
    fn generated_code_attends_to_one_variable_when_nothing_else_is_wanted() {
        let mut builder = Builder::with(1, None);
        let goal = builder.goal[0];
        let worker = builder.node.worker();
        let limit = worker.attention.first();
        worker.abi.more_wanted = false;
        let allowed = |worker: &mut Worker| {
            worker.let_code_attend();
            worker.abi.limit_after
        };
        assert_eq!(allowed(worker), limit);
        worker.abi.want_attention();
        assert_eq!((worker.abi.limit_after, allowed(worker)), (0, 0));
        worker.abi.more_wanted = false;
        assert_eq!(allowed(worker), limit);
        let [a, b] = [(); 2].map(|()| worker.new_variable());
        for variable in [a, b] {
            wait(worker, goal, &[variable]);
        }
        worker.unify(a, Word::NIL);
        assert_eq!((worker.abi.limit_after, allowed(worker)), (limit, limit));
        worker.unify(b, Word::NIL);
        assert_eq!((worker.abi.limit_after, allowed(worker)), (0, 0));
        assert!(worker.attend_in_code());
        assert_eq!((worker.abi.limit_after, worker.abi.limit()), (limit, limit));
        worker.spawn_at(crate::worker::PRIORITY_MAX, goal, &[Word::NIL]);
        assert_eq!((worker.abi.limit_after, allowed(worker)), (0, 0));
        assert_eq!((worker.abi.woken, worker.abi.turn_left), (worker.waker().flag(), i64::MAX));
    }
    #[test]
    fn with_other_workers_it_does_while_goals_come_on_top() {
        let mut builder = Builder::with(2, None);
        let goal = builder.goal[0];
        let worker = builder.node.worker();
        worker.abi.more_wanted = false;
        let variables = [(); 2].map(|()| worker.new_variable());
        let limit = worker.attention.first();
        for (variable, turn_left, limit_after) in [(variables[0], 1, limit), (variables[1], 0, 0)] {
            worker.abi.turn_left = turn_left;
            wait(worker, goal, &[variable]);
            worker.let_code_attend();
            assert_eq!(worker.abi.limit_after, limit);
            worker.unify(variable, Word::NIL);
            assert!(worker.attend_in_code());
            assert_eq!(worker.abi.limit_after, limit_after);
        }
        assert!(worker.goals.turns.choice.below && worker.abi.turn_left > 0);
        assert_eq!(worker.abi.poked, worker.shared.team.poked(worker.index));
        // SAFETY: T7 - the worker is there.
        let poked = || unsafe { worker.abi.poked.read() };
        assert_eq!(poked(), 0);
        worker.shared.team.show_priority(0, 2);
        worker.shared.team.poke_above(1);
        assert_eq!(poked(), 1);
    }

    #[test]
    fn a_record_to_which_hooks_lead_or_that_others_may_see_is_not_used_again() {
        let mut builder = Builder::with(1, None);
        let goal = builder.goal[0];
        let worker = builder.node.worker();
        let [a, b, c, d] = [(); 4].map(|()| worker.new_variable());
        let hooked = wait(worker, goal, &[a, b]);
        resume_and_run(worker, a);
        assert_ne!(wait(worker, goal, &[c]), hooked);
        let published = read(c.address()).address();
        worker.publish();
        resume_and_run(worker, c);
        assert_ne!(wait(worker, goal, &[d]), published);
        // The hook leads to a record whose goal was resumed.
        worker.unify(b, Word::NIL);
        worker.push_resumed();
        assert!(worker.is_special(worker.abi.goals as usize));
        assert_eq!(worker.waiting_goals().count(), 1);
    }

    #[test]
    fn what_an_old_record_held_is_garbage_once_its_goal_was_resumed() {
        let mut builder = Builder::with(1, None);
        let goal = builder.goal[0];
        let worker = builder.node.worker();
        let (flag, stream) = (worker.new_variable(), worker.new_variable());
        worker.spawn(goal, &[stream]);
        (worker.abi.pending[0], worker.abi.pending_count) = (flag, 1);
        worker.suspend_top();
        let flag = worker.root(flag);
        for _ in 0..6 {
            builder.node.collect(0);
        }
        let worker = builder.node.worker();
        let flag = worker.take_root(flag);
        let record = read(deref(flag).address()).address();
        assert!(!worker.heap.is_young(record));
        worker.unify(flag, Word::NIL);
        worker.push_resumed();
        let stream = worker.pop_goal()[0];
        let messages = worker.list(&[Word::NIL; 1000], Word::NIL);
        worker.unify(stream, messages);
        let before = worker.statistics.words_copied();
        builder.node.collect(0);
        let copied = builder.node.worker().statistics.words_copied() - before;
        assert!(copied < 100, "{copied} words");
    }
}
