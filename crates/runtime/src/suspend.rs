//! Goals that wait: suspension, resumption, generators.
//!
//! Invariants:
//! - H1 The records of `term::layout` are the only representation of a waiting goal. A goal that waits for one variable is one
//!   record; for several, one record and a hook for each variable.
//! - H2 The content of an unbound cell leads to the newest record, `next` to older ones; a generator is alone.
//! - H3 Binding moves the variable's list to `abi.resumed` if that is 0, else to `resumed_later`; the scheduler makes goals of it at
//!   the next reduction, before it collects. A record's predicate is INT -1 from then on, so that further hooks of it are passed over.
//! - H4 Every record that still waits is in `registry`, or in the list that begins at `abi.suspensions` (so are some that do not
//!   wait any more).

use crate::memory::{at, copy, copy_few, read, write};
use crate::terms::deref;
use crate::worker::Worker;
use term::Word;
use term::abi::{OPERANDS_MAX, PredicateId};
use term::layout::{
    self, ClassId, HOOK_SUSPENSION, SUSPENSION_ARGS, SUSPENSION_BEFORE, SUSPENSION_NEXT,
    SUSPENSION_PREDICATE, SUSPENSION_PRIORITY,
};
use term::word::{self, Tag, UNBOUND};

/// What a record's predicate word says once its goal was resumed (H3).
pub(crate) const RESUMED: Word = Word::small(-1);
const HOOK_HEADER: Word = word::object_header(layout::HOOK, 2);

/// Records of waiting goals, by address (H4).
#[derive(Debug, Default)]
pub(crate) struct Registry {
    /// Not in old space when it was entered here.
    pub(crate) young: Vec<usize>,
    /// In old space.
    pub(crate) old: Vec<usize>,
}

#[inline(always)]
fn record_class(record: usize) -> ClassId {
    word::header_class(read(record))
}

/// The number of arguments of a record's goal.
#[inline(always)]
fn goal_arity(record: usize) -> usize {
    word::header_size(read(record)) + 1 - SUSPENSION_ARGS
}

impl Worker {
    /// The goal on top of the stack waits for `pending_count` variables; pops it. If one of them has a value by now, the goal
    /// stays.
    #[inline]
    pub(crate) fn suspend_top(&mut self) {
        let count = std::mem::take(&mut self.abi.pending_count);
        debug_assert!(count > 0);
        if count == 1 {
            let variable = self.abi.pending[0];
            let content = read(variable.address());
            if content == UNBOUND
                || (content.tag() == Tag::Var && record_class(content.address()) != layout::GENERATOR)
            {
                let record = self.make_record(content);
                return self.store(variable.address(), Word::pointer(Tag::Var, record));
            }
        }
        self.suspend_on_many(count);
    }

    /// Takes the goal on top of the stack into a record.
    #[inline(always)]
    fn make_record(&mut self, next: Word) -> usize {
        let top = self.abi.goals as usize - 8;
        let goal = read(top);
        let arity = self.predicates.arity(PredicateId::of_goal_word(goal));
        let record = self.allocate(SUSPENSION_ARGS + arity);
        write(record, word::object_header(layout::SUSPENSION, SUSPENSION_ARGS - 1 + arity));
        write(record + 8 * SUSPENSION_NEXT, next);
        write(record + 8 * SUSPENSION_PREDICATE, goal);
        write(record + 8 * SUSPENSION_PRIORITY, Word::small(self.abi.priority));
        let args = top - 8 * arity;
        copy_few(args, record + 8 * SUSPENSION_ARGS, arity);
        self.abi.goals = at(args);
        write(record + 8 * SUSPENSION_BEFORE, Word(self.abi.suspensions as u64));
        self.abi.suspensions = record;
        record
    }
    /// The suspensions made since the last collection or [`Worker::register`], newest first.
    pub(crate) fn new_suspensions(&self) -> impl Iterator<Item = usize> + use<> {
        let mut next = self.abi.suspensions;
        std::iter::from_fn(move || {
            let record = next;
            next = if record == 0 { return None } else { read(record + 8 * SUSPENSION_BEFORE).0 as usize };
            Some(record)
        })
    }
    /// Enters the new suspensions that still wait into the registry, the oldest first (H4).
    pub(crate) fn register(&mut self) {
        let old = self.registry.young.len();
        for record in self.new_suspensions() {
            self.statistics.suspensions += 1;
            if read(record + 8 * SUSPENSION_PREDICATE) != RESUMED {
                self.registry.young.push(record);
            }
        }
        self.registry.young[old..].reverse();
        self.abi.suspensions = 0;
    }

    #[cold]
    fn suspend_on_many(&mut self, count: usize) {
        let mut cells: Vec<usize> = Vec::with_capacity(count);
        let more = std::mem::take(&mut self.pending_more);
        for i in 0..count {
            let variable = self.abi.pending.get(i).copied().unwrap_or_else(|| more[i - OPERANDS_MAX]);
            let Some(variable) = self.ask(variable) else {
                // It has a value: the goal is tried again.
                self.abi.limit = 0;
                return;
            };
            if !cells.contains(&variable) {
                cells.push(variable);
            }
        }
        if let [cell] = cells[..] {
            let record = self.make_record(read(cell));
            return self.store(cell, Word::pointer(Tag::Var, record));
        }
        let record = self.make_record(UNBOUND);
        for cell in cells {
            let hook = self.allocate(3);
            write(hook, HOOK_HEADER);
            write(hook + 8 * SUSPENSION_NEXT, read(cell));
            write(hook + 8 * HOOK_SUSPENSION, Word::pointer(Tag::Object, record));
            self.store(cell, Word::pointer(Tag::Var, hook));
        }
    }

    /// The cell of a variable that stays unbound, after its generator (if it has one) was run; `None` if it is bound.
    fn ask(&mut self, variable: Word) -> Option<usize> {
        let variable = deref(variable);
        if variable.tag() != Tag::Ref {
            return None;
        }
        let content = read(variable.address());
        if content != UNBOUND && record_class(content.address()) == layout::GENERATOR {
            self.run_generator(variable.address());
            let variable = deref(variable);
            return (variable.tag() == Tag::Ref).then(|| variable.address());
        }
        Some(variable.address())
    }

    /// Gives a fresh variable a generator: a goal that is run when a goal waits for the variable, or it is unified.
    pub fn set_generator(&mut self, variable: Word, predicate: PredicateId, args: &[Word]) {
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
        write(record + 8 * SUSPENSION_BEFORE, Word(0));
        copy(args.as_ptr().expose_provenance(), record + 8 * SUSPENSION_ARGS, args.len());
        self.store(cell.address(), Word::pointer(Tag::Var, record));
    }

    /// True if the cell's content leads to a generator.
    #[inline(always)]
    pub(crate) fn has_generator(&self, content: Word) -> bool {
        content.tag() == Tag::Var
            && content != UNBOUND
            && record_class(content.address()) == layout::GENERATOR
    }

    /// Runs the generator of a cell: afterwards the variable is bound, or the generator's goal is ready and will bind it.
    pub(crate) fn run_generator(&mut self, cell: usize) {
        let record = read(cell).address();
        write(cell, UNBOUND);
        let predicate = PredicateId::of_goal_word(read(record + 8 * SUSPENSION_PREDICATE));
        let arity = self.predicates.arity(predicate);
        let args: Vec<Word> = (0..arity).map(|i| read(record + 8 * (SUSPENSION_ARGS + i))).collect();
        self.call_or_spawn(predicate, &args);
    }

    /// A variable got its value: its goals become ready (H3). `waiting` was the cell's content.
    #[inline(always)]
    pub(crate) fn resume(&mut self, waiting: Word) {
        self.abi.limit = 0;
        if self.abi.resumed == 0 {
            self.abi.resumed = waiting.address();
        } else {
            self.resumed_later.push(waiting.address());
        }
    }
    /// True if goals are to be made ready (H3).
    #[inline(always)]
    pub(crate) fn has_resumed(&self) -> bool {
        debug_assert!(self.abi.resumed != 0 || self.resumed_later.is_empty());
        self.abi.resumed != 0
    }

    /// No goal waits any more; variables may still lead to the records, which count as resumed (H3).
    pub(crate) fn forget_waiting(&mut self) {
        self.register();
        let records = self.registry.old.drain(..).chain(self.registry.young.drain(..));
        records.for_each(|record| write(record + 8 * SUSPENSION_PREDICATE, RESUMED));
    }

    /// Makes the goals that were resumed ready: those of the first binding on top, each variable's oldest goal first.
    /// Answers true.
    #[cold]
    #[inline(never)]
    pub(crate) fn push_resumed(&mut self) -> bool {
        while let Some(list) = self.resumed_later.pop() {
            self.push_list(list);
        }
        let first = std::mem::take(&mut self.abi.resumed);
        if first != 0 {
            self.push_list(first);
        }
        true
    }
    /// The same if it is one goal, of the running priority, as it most often is; otherwise false.
    #[inline(always)]
    pub(crate) fn push_one_resumed(&mut self) -> bool {
        let record = self.abi.resumed;
        let goal = read(record + 8 * SUSPENSION_PREDICATE);
        let one = self.resumed_later.is_empty()
            && read(record + 8 * SUSPENSION_NEXT) == UNBOUND
            && record_class(record) == layout::SUSPENSION
            && read(record + 8 * SUSPENSION_PRIORITY) == Word::small(self.abi.priority)
            && goal != RESUMED
            && self.abi.goals as usize <= self.abi.goals_limit;
        if one {
            self.abi.resumed = 0;
            self.statistics.resumptions += 1;
            write(record + 8 * SUSPENSION_PREDICATE, RESUMED);
            self.push_words(goal, record + 8 * SUSPENSION_ARGS, goal_arity(record));
        }
        one
    }
    fn push_list(&mut self, newest: usize) {
        let mut next = Word::pointer(Tag::Var, newest);
        while next != UNBOUND {
            let mut record = next.address();
            next = read(record + 8 * SUSPENSION_NEXT);
            if record_class(record) == layout::HOOK {
                record = read(record + 8 * HOOK_SUSPENSION).address();
            }
            let goal = read(record + 8 * SUSPENSION_PREDICATE);
            if goal == RESUMED {
                continue;
            }
            self.statistics.resumptions += 1;
            write(record + 8 * SUSPENSION_PREDICATE, RESUMED);
            let priority = read(record + 8 * SUSPENSION_PRIORITY).as_int();
            self.push_record(priority, goal, record + 8 * SUSPENSION_ARGS, goal_arity(record));
        }
    }
}
