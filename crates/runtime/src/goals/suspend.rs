//! Goals that wait: suspension and generators. `resume` makes them ready again.
//!
//! Invariants:
//! - H1 The records of `term::layout` are the only representation of a waiting goal. A goal that waits for one
//!   variable is one record; for several, one record and a hook for each variable.
//! - H2 The content of an unbound cell leads to the newest record, `next` to older ones; a generator is alone.
//! - H3 Binding moves the variable's list to `abi.resumed` if that is 0, else to `resumed_later`; the scheduler makes
//!   goals of it at the next reduction, before it collects, or reduces it there if it is a builtin. Generated code
//!   makes a goal of it in the usual case (C8 of `term::abi`). A record's predicate is INT -1 from then on, so that
//!   further hooks of it are passed over.
//! - H4 Every record that still waits is in `registry`, or in the list that begins at `abi.suspensions` (so are some
//!   that do not wait any more).
//! - H5 With several workers, what a goal that waits for a shared variable holds may be taken by others: so the
//!   worker publishes at the next attention. (Not at once: the running goal may know that a cell is private.) A goal
//!   that would wait for a variable private to another worker is sent there, and tried again. Whoever replaces VAR by
//!   a value has the variable's records for himself; a record with hooks on several variables belongs to whoever
//!   replaces its predicate by INT -1.
//! - H6 A record in old space holds no arguments after its goal was resumed. Nothing leads to it any more, but minor
//!   collections do not know that: what old words lead to stays alive, and if an argument was a stream, all of it
//!   that comes later. (But those of `abroad` do until worker 0 has learnt of it: Y8 there.)
//! - H7 A record to which nothing leads any more but the list of suspensions is *spent*: its goal was resumed, and
//!   waited for one variable. The next goal of as many arguments that waits takes it, so that goals that wait often
//!   hardly allocate. Only records that are private when they are spent: no other worker reads more of them than
//!   headers, and those stay. Not those for several variables, as hooks of the others may still lead to them.

use crate::coordination::team::{Mail, When};
use crate::goals::unify::Written;
use crate::memory::ranges::{at, copy_few, pointer, raw, read, write, write_all};
use crate::terms::deref;
use crate::worker::Worker;
use crate::worker::native::Record;
use term::Word;
use term::abi::{OPERANDS_MAX, PredicateId, SPENT_ARITIES};
pub(crate) use term::layout::RESUMED;
use term::layout::{
    self, ClassId, HOOK_SUSPENSION, SUSPENSION_ARGS, SUSPENSION_BEFORE, SUSPENSION_NEXT,
    SUSPENSION_PREDICATE, SUSPENSION_PRIORITY,
};
use term::word::{self, Tag, UNBOUND};

pub(crate) const HOOK_HEADER: Word = word::object_header(layout::HOOK, 2);

/// A variable that a goal is to wait for.
enum Asked {
    /// Its cell.
    Waits(usize),
    Bound,
    /// It is private to another worker.
    Foreign(usize),
}

#[inline(always)]
pub(crate) fn record_class(record: usize) -> ClassId {
    word::header_class(read(record))
}

/// The number of arguments of a record's goal.
#[inline(always)]
pub(crate) fn goal_arity(record: usize) -> usize {
    word::header_size(read(record)) + 1 - SUSPENSION_ARGS
}

impl Worker {
    /// The goal on top of the stack waits for `pending_count` variables; pops it. If one of them has a value by now,
    /// the goal stays.
    #[inline]
    pub(crate) fn suspend_top(&mut self) {
        let count = std::mem::take(&mut self.abi.pending_count);
        debug_assert!(count > 0);
        if count == 1 {
            let variable = self.abi.pending[0];
            let content = read(variable.address());
            if self.waits_here(variable, content) {
                let record = self.make_record(content);
                return self.store(variable.address(), pointer(Tag::Var, record));
            }
        }
        self.suspend_on_many(count);
    }

    /// A new goal of the running priority waits for a variable. (A ready goal might run after goals that bind several
    /// variables, and the order of bindings would be lost.)
    #[inline(always)]
    pub(crate) fn spawn_waiting<const N: usize>(
        &mut self,
        predicate: PredicateId,
        args: [Word; N],
        variable: Word,
    ) {
        if self.hook(predicate, &args, variable) {
            return;
        }
        self.spawn(predicate, &args);
        self.abi.pending[0] = variable;
        self.abi.pending_count = 1;
        self.suspend_top();
    }
    /// A new goal of the running priority waits for a variable, if goals are hooked on that by nobody else; otherwise
    /// nothing is done, and the answer is false.
    #[inline(always)]
    pub(crate) fn hook(&mut self, predicate: PredicateId, args: &[Word], variable: Word) -> bool {
        debug_assert_eq!(self.predicates.arity(predicate), args.len(), "H1: a goal has its arguments");
        if let Some(lane) = self.other_lane(predicate) {
            return self.in_lane(lane, |worker| worker.hook(predicate, args, variable));
        }
        let content = read(variable.address());
        let waits = self.waits_here(variable, content);
        if waits {
            let record = self.record(args.len());
            write(record + 8 * SUSPENSION_NEXT, content);
            write(record + 8 * SUSPENSION_PREDICATE, predicate.goal_word());
            write(record + 8 * SUSPENSION_PRIORITY, Word::small(self.abi.priority));
            write_all(record + 8 * SUSPENSION_ARGS, args);
            self.store(variable.address(), pointer(Tag::Var, record));
        }
        waits
    }
    /// An argument (from 0) of the goal in a record.
    #[inline(always)]
    pub(crate) fn record_argument(&self, record: Record, index: usize) -> Word {
        read(record.0 + 8 * (SUSPENSION_ARGS + index))
    }
    /// The goal of a private record was resumed, and has another first argument now.
    #[inline(always)]
    pub(crate) fn replace_argument(&mut self, record: Record, argument: Word) {
        debug_assert!(self.is_private(record.0), "H5: others may read it");
        write(record.0 + 8 * SUSPENSION_ARGS, argument);
    }
    /// The goal of a private record was resumed, and has another first argument now. True if that is a variable for
    /// which it waits again.
    #[inline(always)]
    pub(crate) fn wait_again(&mut self, record: Record, predicate: PredicateId, argument: Word) -> bool {
        let Record(record) = record;
        debug_assert!(self.is_private(record), "H5: others may read it");
        write(record + 8 * SUSPENSION_ARGS, argument);
        if argument.tag() != Tag::Ref {
            return false;
        }
        let content = read(argument.address());
        let waits = self.waits_here(argument, content);
        if waits {
            self.abi.reused += 1;
            write(record + 8 * SUSPENSION_NEXT, content);
            write(record + 8 * SUSPENSION_PREDICATE, predicate.goal_word());
            self.store(argument.address(), pointer(Tag::Var, record));
        }
        waits
    }
    /// The goal of a private record was resumed by a list, its first argument, that has one element so far: the address
    /// of that cons. `None` if it is another list, or its rest is not private, or known to others that wait for it.
    #[inline(always)]
    pub(crate) fn only_message(&self, record: Record) -> Option<usize> {
        let argument = self.record_argument(record, 0);
        if argument.tag() != Tag::Ref {
            return None;
        }
        let list = read(argument.address());
        let cons = list.address();
        (list.tag() == Tag::Cons && read(cons + 8) == UNBOUND && self.is_private(cons + 8)).then_some(cons)
    }
    /// That goal waits for the rest behind this cons, which is still so.
    #[inline(always)]
    pub(crate) fn wait_behind(&mut self, record: Record, predicate: PredicateId, cons: usize) {
        debug_assert!(read(record.0 + 8 * SUSPENSION_PREDICATE) == RESUMED, "H3: it waits already");
        let (Record(record), rest) = (record, cons + 8);
        debug_assert!(read(rest) == UNBOUND && self.is_private(rest));
        self.abi.reused += 1;
        write(record + 8 * SUSPENSION_ARGS, pointer(Tag::Ref, rest));
        write(record + 8 * SUSPENSION_NEXT, UNBOUND);
        write(record + 8 * SUSPENSION_PREDICATE, predicate.goal_word());
        write(rest, pointer(Tag::Var, record));
    }
    /// Whether goals that wait for the variable with this content are hooked on it by nobody else (H5).
    #[inline(always)]
    fn waits_here(&self, variable: Word, content: Word) -> bool {
        (self.is_private(variable.address()) || self.is_alone())
            && content.tag() == Tag::Var
            && !self.has_generator(content)
    }

    /// X15 of `shoen`: the lane in which a goal of the running one waits, if it is another one.
    #[inline(always)]
    fn other_lane(&mut self, predicate: PredicateId) -> Option<i64> {
        if self.in_shoen() && self.predicates.get(predicate).daemon { self.lane_to_wait_in() } else { None }
    }
    /// Takes the goal on top of the stack into a record.
    #[inline(always)]
    fn make_record(&mut self, next: Word) -> usize {
        debug_assert!(next.tag() == Tag::Var, "H2: what a cell without a value leads to");
        let top = self.abi.goals as usize - 8;
        let goal = read(top);
        if let Some(lane) = self.other_lane(PredicateId::of_goal_word(goal)) {
            return self.in_lane(lane, |worker| worker.fill_record(next, goal));
        }
        self.fill_record(next, goal)
    }
    #[inline(always)]
    fn fill_record(&mut self, next: Word, goal: Word) -> usize {
        let top = self.abi.goals as usize - 8;
        let arity = self.predicates.arity(PredicateId::of_goal_word(goal));
        let record = self.record(arity);
        write(record + 8 * SUSPENSION_NEXT, next);
        write(record + 8 * SUSPENSION_PREDICATE, goal);
        write(record + 8 * SUSPENSION_PRIORITY, Word::small(self.abi.priority));
        let args = top - 8 * arity;
        copy_few(args, record + 8 * SUSPENSION_ARGS, arity);
        self.abi.goals = at(args);
        record
    }
    /// A record for a goal of this arity, in the list of suspensions (H4, H7).
    #[inline(always)]
    pub(crate) fn record(&mut self, arity: usize) -> usize {
        if let Some(spent) = self.abi.spent.get_mut(arity)
            && *spent != 0
        {
            let record = *spent;
            debug_assert!(read(record + 8 * SUSPENSION_PREDICATE) == RESUMED, "H7: its goal waits");
            debug_assert_eq!(goal_arity(record), arity, "H7: a record of another size");
            *spent = read(record + 8 * SUSPENSION_NEXT).bits() as usize;
            self.abi.reused += 1;
            return record;
        }
        let record = self.allocate(SUSPENSION_ARGS + arity);
        write(record, word::object_header(layout::SUSPENSION, SUSPENSION_ARGS - 1 + arity));
        write(record + 8 * SUSPENSION_BEFORE, raw(self.abi.suspensions as u64));
        self.abi.suspensions = record;
        record
    }
    /// Enters the new suspensions that still wait into the registry, the oldest first (H4).
    pub(crate) fn register(&mut self) {
        self.count_lane();
        self.statistics.suspensions += std::mem::take(&mut self.abi.reused);
        self.abi.spent = [0; SPENT_ARITIES];
        let old = self.waiting.registry.young.len();
        for record in self.new_suspensions() {
            self.statistics.suspensions += 1;
            if read(record + 8 * SUSPENSION_PREDICATE) != RESUMED {
                self.waiting.registry.young.push(record);
            }
        }
        self.waiting.registry.young[old..].reverse();
        self.abi.suspensions = 0;
        self.count_anew();
    }

    /// B3: the goal on top of the stack goes to the worker that makes what it waits for.
    fn send_home(&mut self, maker: usize) {
        self.sharing.went_home += 1;
        self.abi.want_attention();
        self.send_top_goal(maker, When::Home);
    }
    /// B3, B10: the same for one that another worker may make sooner.
    pub(crate) fn send_top_goal(&mut self, to: usize, when: When) {
        debug_assert!(to != self.index && to < self.heap.spaces.workers(), "B3: a goal for worker {to}");
        let (priority, words) = (self.abi.priority, self.pop_goal());
        self.end_solo();
        self.shared.team.need(to);
        self.count_mail(to);
        self.statistics.goals_back += 1;
        let mail = self.mail(priority, words);
        self.shared.team.post(to, Mail { when, ..mail });
    }

    #[cold]
    fn suspend_on_many(&mut self, count: usize) {
        self.waiting.cells.clear();
        let more = std::mem::take(&mut self.waiting.pending_more);
        for i in 0..count {
            let variable = self.abi.pending.get(i).copied().unwrap_or_else(|| more[i - OPERANDS_MAX]);
            match self.ask(variable) {
                Asked::Waits(cell) if !self.waiting.cells.contains(&cell) => self.waiting.cells.push(cell),
                Asked::Waits(_) => {}
                Asked::Bound => return self.try_again(),
                Asked::Foreign(owner) => return self.send_home(owner),
            }
        }
        if let Some(owner) = self.maker() {
            return self.send_home(owner);
        }
        debug_assert!(!self.waiting.cells.is_empty(), "H1: a goal that waits for nothing");
        let hooks = self.waiting.cells.len() > 1;
        let record = self.make_record(UNBOUND);
        for i in 0..self.waiting.cells.len() {
            let cell = self.waiting.cells[i];
            let link = if hooks { self.allocate(3) } else { record };
            if hooks {
                write(link, HOOK_HEADER);
                write(link + 8 * HOOK_SUSPENSION, pointer(Tag::Object, record));
            }
            loop {
                let content = read(cell);
                if content.tag() != Tag::Var {
                    // Another worker bound it: the goal is tried again, unless it was resumed already.
                    if let Some(goal) = self.claim_record(record) {
                        self.statistics.resumptions += 1;
                        self.push_claimed(record, goal);
                        self.forget_arguments(record, goal_arity(record));
                        self.try_again();
                    }
                    return;
                }
                write(link + 8 * SUSPENSION_NEXT, content);
                match self.replace(cell, content, pointer(Tag::Var, link)) {
                    Written::Yes => break,
                    Written::Changed => {}
                    Written::Foreign(_) => unreachable!("a shared cell stays shared between collections"),
                }
            }
            if !self.is_alone() && !self.is_private(cell) {
                self.visibility.want_publishing();
            }
        }
    }
    /// The goal on top of the stack is tried again at once: some variable has a value.
    fn try_again(&mut self) {
        self.abi.want_attention();
    }
    /// B3 of `give`: the other worker in whose nursery the first of `cells` lies, if none lies in the own one or in a
    /// place that is nobody's; none if the worker has all goals (B13 of `trial`).
    fn maker(&self) -> Option<usize> {
        if self.visibility.is_solo() || self.index == 0 && self.shared.trial.is_off() {
            return None;
        }
        let mut makers = self.waiting.cells.iter().map(|&cell| self.heap.nursery_of(cell));
        let first = makers.next()??;
        let others =
            first != self.index && makers.all(|maker| maker.is_some_and(|maker| maker != self.index));
        others.then_some(first)
    }

    /// Looks at a variable that a goal is to wait for, after its generator (if it has one) was run.
    fn ask(&mut self, variable: Word) -> Asked {
        let mut variable = deref(variable);
        if variable.tag() == Tag::Ref && self.has_generator(read(variable.address())) {
            if let Some(owner) = self.run_generator(variable.address()) {
                return Asked::Foreign(owner);
            }
            variable = deref(variable);
        }
        if variable.tag() != Tag::Ref {
            return Asked::Bound;
        }
        self.owner(variable.address()).map_or(Asked::Waits(variable.address()), Asked::Foreign)
    }

    /// Gives a fresh variable a generator: a goal that is run when a goal waits for the variable, or it is unified.
    pub(crate) fn set_generator(&mut self, variable: Word, predicate: PredicateId, args: &[Word]) {
        let cell = deref(variable);
        assert!(
            cell.tag() == Tag::Ref && read(cell.address()) == UNBOUND,
            "a generator needs a fresh variable"
        );
        let record = self.allocate(SUSPENSION_ARGS + args.len());
        write(record, word::object_header(layout::GENERATOR, SUSPENSION_ARGS - 1 + args.len()));
        write(record + 8 * SUSPENSION_NEXT, UNBOUND);
        write(record + 8 * SUSPENSION_PREDICATE, predicate.goal_word());
        write(record + 8 * SUSPENSION_PRIORITY, Word::small(self.abi.priority));
        write(record + 8 * SUSPENSION_BEFORE, Word::small(0));
        write_all(record + 8 * SUSPENSION_ARGS, args);
        self.store(cell.address(), pointer(Tag::Var, record));
    }

    /// True if the cell's content leads to a generator.
    #[inline(always)]
    pub(crate) fn has_generator(&self, content: Word) -> bool {
        content.tag() == Tag::Var
            && content != UNBOUND
            && record_class(content.address()) == layout::GENERATOR
    }

    /// Runs the generator of a cell: afterwards the variable is bound, or a goal is ready that will bind it, or another
    /// node is asked for its value. If the cell is private to another worker, answers that worker and does nothing.
    pub(crate) fn run_generator(&mut self, cell: usize) -> Option<usize> {
        let content = read(cell);
        if !self.has_generator(content) {
            return None;
        }
        let record = content.address();
        if self.is_unread(content) {
            self.want_import(record);
            return None;
        }
        match self.replace(cell, content, UNBOUND) {
            Written::Yes => {}
            Written::Changed => return None,
            Written::Foreign(owner) => return Some(owner),
        }
        let predicate = PredicateId::of_goal_word(read(record + 8 * SUSPENSION_PREDICATE));
        let arity = self.predicates.arity(predicate);
        debug_assert_eq!(goal_arity(record), arity, "H2: a generator is a whole goal");
        let args: Vec<Word> = (0..arity).map(|i| read(record + 8 * (SUSPENSION_ARGS + i))).collect();
        self.forget_arguments(record, arity);
        self.call_or_spawn(predicate, &args);
        None
    }

    /// No goal waits any more; variables may still lead to the records, which count as resumed (H3).
    pub(crate) fn forget_waiting(&mut self) {
        self.register();
        for record in self.waiting.registry.take(true).into_iter().flatten() {
            write(record + 8 * SUSPENSION_PREDICATE, RESUMED);
        }
    }
}

#[cfg(all(test, not(models)))]
mod tests {
    use super::*;
    use crate::collect::tests::Builder;

    /// F8 of `collect`.
    #[test]
    fn goals_that_were_resumed_are_left_out_of_the_lists_of_other_variables() {
        let mut builder = Builder::with(1, None);
        let goal = builder.goal[0];
        let worker = builder.node.worker();
        let flag = worker.new_variable();
        let root = worker.root(flag);
        let wait = |worker: &mut Worker, message| {
            worker.spawn(goal, &[Word::NIL]);
            (worker.abi.pending[0], worker.abi.pending[1], worker.abi.pending_count) = (message, flag, 2);
            worker.suspend_top();
        };
        for waits in [false, false, true, false, true, false] {
            let message = worker.new_variable();
            wait(worker, message);
            if !waits {
                worker.unify(message, Word::NIL);
                worker.push_resumed();
                worker.pop_goal();
            }
        }
        let hooks = |flag: Word| {
            let (mut link, mut count) = (read(deref(flag).address()), 0);
            while link != UNBOUND {
                link = read(link.address() + 8 * layout::SUSPENSION_NEXT);
                count += 1;
            }
            count
        };
        assert_eq!(hooks(flag), 6);
        for _ in 0..3 {
            builder.node.collect(0);
            let worker = builder.node.worker();
            let flag = worker.root_word(&root);
            assert_eq!(hooks(flag), 2);
            assert_eq!(worker.waiting_goals().count(), 2);
        }
        // The two that wait are resumed by it, and nobody else.
        let worker = builder.node.worker();
        let flag = worker.take_root(root);
        worker.unify(flag, Word::NIL);
        worker.push_resumed();
        for _ in 0..2 {
            worker.pop_goal();
        }
        assert!(worker.is_special(worker.abi.goals as usize));
    }
}
