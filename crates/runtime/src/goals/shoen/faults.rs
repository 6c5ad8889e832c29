//! What fails in a shoen, and what is reported: X16 of the module above.

use crate::goals::shoen::state::{Fault, News, Shoen, What, kind_bit};
use crate::terms::{View, deref};
use crate::worker::Worker;
use std::sync::Arc;
use term::Word;
use term::abi::PredicateId;
use term::symbol::Atom;

impl Worker {
    /// The builtin that runs is about to fail with this, which is no error: a term of this kind.
    pub(crate) fn raise(&mut self, kind: &str, term: Word) {
        if self.in_shoen() {
            self.lanes.raised = Some(What { bit: kind_bit(kind), term });
        }
    }
    /// Whether somebody is told of what the running goal fails with, if it is of this kind.
    pub(crate) fn is_heard(&mut self, kind: &str) -> bool {
        let shoen = self.running_shoen();
        shoen.is_some_and(|shoen| self.listener(&shoen, kind_bit(kind)).is_some())
    }
    /// X16: reports what has failed, and what is over. Between reductions.
    pub(crate) fn report_news(&mut self) {
        while self.lanes.has_news() {
            for fault in std::mem::take(&mut self.lanes.faults) {
                let lane = fault.lane;
                self.report_fault(fault);
                self.arrived(lane);
            }
            for (shoen, news) in std::mem::take(&mut self.lanes.news) {
                self.report(&shoen, &news);
            }
            for shoen in std::mem::take(&mut self.lanes.over) {
                self.report_end(&shoen);
            }
        }
    }
    fn report(&mut self, shoen: &Arc<Shoen>, news: &News) {
        match news {
            News::Event(name) => {
                if shoen.foster.is_none() {
                    let event = Word::atom(self.intern(name));
                    self.tell_shoen(shoen, 0, event);
                }
                self.order_nodes(shoen);
            }
            News::Words => self.tell_words(shoen),
            News::HeapLimit => {
                let kind = Word::atom(self.intern("heap_limit"));
                self.give_up_for(shoen, kind_bit("heap_limit"), kind);
            }
        }
    }
    /// A shoen is told an exception that is no goal's, and is aborted.
    pub(super) fn give_up_for(&mut self, shoen: &Arc<Shoen>, bit: u64, kind: Word) {
        let skip = Word::atom(self.intern("skip"));
        let (place, new) = (self.place_term("", 0), self.new_variable());
        let event = self.named("exception", &[kind, skip, place, new]);
        self.end_with_event(shoen, bit, event);
    }
    /// A shoen is told this, and aborted, unless it was before.
    pub(super) fn end_with_event(&mut self, shoen: &Arc<Shoen>, bit: u64, event: Word) {
        if shoen.tally.is_aborted() {
            return;
        }
        match shoen.foster {
            Some(_) => self.tell_home(shoen, bit, true, event),
            None => self.tell_shoen(shoen, bit, event),
        }
        self.abort(shoen);
    }
    /// The heap is full after a major collection. True if another one may help, which comes at once: a shoen that is
    /// told of that is aborted, the one that has allocated most of late, or one was and not all of its goals are
    /// dropped.
    pub(crate) fn blame_for_heap(&mut self) -> bool {
        let shoens = &self.shared.shoens;
        if shoens.is_empty() {
            return false;
        }
        if !shoens.are_aborting() {
            let Some(shoen) = shoens.most_recent(kind_bit("heap_limit")) else { return false };
            self.note_news(shoen, News::HeapLimit);
        }
        self.wanted.be_major();
        self.collect_soon();
        true
    }
    fn report_fault(&mut self, fault: Fault) {
        let Fault { lane, error, what, predicate, args, position } = fault;
        debug_assert!(super::is_lane(lane), "X16: the fault of no shoen");
        debug_assert_eq!(self.predicates.arity(predicate), args.len(), "H1: a goal has its arguments");
        let Some(shoen) = self.shoen_of(lane).filter(|shoen| !shoen.tally.is_aborted()) else { return };
        let listener = self.told_of(&shoen, what.bit);
        let Some(listener) = listener else {
            return self.goal_error_outside(error, predicate, &args, position);
        };
        let goal = self.goal_term(predicate, &args);
        let (file, line) = self.place(predicate, position);
        let place = self.place_term(&file, line);
        let new = self.new_variable();
        self.wait_for_instead(lane, new);
        let event = self.named("exception", &[what.term, goal, place, new]);
        self.tell_shoen(&listener, what.bit, event);
    }
    /// The failed goal becomes one that waits for what is to take its place.
    fn wait_for_instead(&mut self, lane: i64, new: Word) {
        let instead = self.system_goals.instead;
        self.in_lane(lane, |worker| worker.spawn_waiting(instead, [new], new));
    }
    /// The innermost shoen around that is not over, and is told of what has this bit.
    pub(super) fn listener(&self, shoen: &Arc<Shoen>, bit: u64) -> Option<Arc<Shoen>> {
        shoen.outwards().find(|shoen| !shoen.tally.is_over() && shoen.kinds & bit != 0)
    }
    fn report_end(&mut self, shoen: &Arc<Shoen>) {
        if shoen.foster.is_some() {
            return self.end_foster(shoen);
        }
        let aborted = shoen.tally.is_aborted();
        if let Some(end) = self.shared.shoens.remove(shoen) {
            let event = self.intern(if aborted { "aborted" } else { "terminated" });
            let events = self.list(&[Word::atom(event)], Word::NIL);
            self.in_lane(shoen.lane, |worker| worker.unify(end, events));
        }
        if self.shared.shoens.has_deserted() {
            self.shared.waker.wake();
        }
        if let Some(parent) = &shoen.parent {
            self.inherit(shoen, parent);
            self.leave(parent);
        }
    }
    /// A shoen's report gets one more item; `bit` is that of its kind, if it has one.
    pub(crate) fn tell_shoen(&mut self, shoen: &Arc<Shoen>, bit: u64, event: Word) {
        if shoen.foster.is_some() {
            return self.tell_home(shoen, bit, false, event);
        }
        let end = self.new_variable();
        let events = self.list(&[event], end);
        if let Some(before) = self.shared.shoens.replace_report(shoen, end) {
            self.in_lane(shoen.lane, |worker| worker.unify(before, events));
        }
    }
    pub(super) fn named(&mut self, name: &str, args: &[Word]) -> Word {
        let name = self.intern(name);
        self.structure(name, args)
    }
    /// `at(File,Line)`.
    fn place_term(&mut self, file: &str, line: u32) -> Word {
        let file = self.string(file.as_bytes());
        self.named("at", &[file, Word::small(line.into())])
    }
    /// `module:name(..)`, or `A = B`.
    pub(super) fn goal_term(&mut self, predicate: PredicateId, args: &[Word]) -> Word {
        let placed = self.placed_goal(predicate, args);
        let (predicate, args) =
            placed.as_ref().map_or((predicate, args), |(predicate, args)| (*predicate, &args[..]));
        if predicate == self.system_goals.unify {
            return self.named("=", args);
        }
        let info = self.predicates.get(self.as_called(predicate));
        let (module, name): (Atom, Atom) = (info.module, info.name);
        let goal = self.structure(name, args);
        self.named(":", &[Word::atom(module), goal])
    }
    /// Runs a goal in the running lane: a predicate object with its arguments, `{P,{A1,..}}`, or `module:name(..)`, or
    /// `skip` or `true`, which do nothing. An error says what is wrong with it.
    pub(crate) fn goal_of(&mut self, word: Word) -> Result<Option<(PredicateId, Vec<Word>)>, GoalError> {
        let word = deref(word);
        if let Some(parts) = self.vector_elements(word) {
            let [predicate, args] = parts[..] else { return Err(GoalError::Not) };
            let (predicate, args) = (deref(predicate), deref(args));
            let missing = [predicate, args].into_iter().find(|&part| self.is_variable(part));
            if let Some(variable) = missing {
                return Err(GoalError::Waits(variable));
            }
            let (Some(predicate), Some(args)) = (self.predicate_value(predicate), self.vector_elements(args))
            else {
                return Err(GoalError::Not);
            };
            if self.is_inner_predicate(predicate) {
                return Err(GoalError::Undefined);
            }
            let fits = self.predicates.arity(predicate) == args.len();
            return if fits { Ok(Some((predicate, args))) } else { Err(GoalError::Arity) };
        }
        match self.view(word) {
            View::Unbound(variable) => Err(GoalError::Waits(variable)),
            View::Atom(name) if matches!(&*self.atoms.name(name), "skip" | "true") => Ok(None),
            View::Struct(name, 2) if &*self.atoms.name(name) == ":" => self.named_goal(word),
            _ => Err(GoalError::Not),
        }
    }
    fn is_variable(&self, word: Word) -> bool {
        matches!(self.view(word), View::Unbound(_))
    }
    /// The goal that `module:name(..)` names.
    fn named_goal(&self, word: Word) -> Result<Option<(PredicateId, Vec<Word>)>, GoalError> {
        let (module, goal) = (self.arg(word, 0), self.arg(word, 1));
        let module = match self.view(module) {
            View::Unbound(variable) => return Err(GoalError::Waits(variable)),
            View::Atom(module) => module,
            _ => return Err(GoalError::Not),
        };
        let (name, args) = match self.view(goal) {
            View::Unbound(variable) => return Err(GoalError::Waits(variable)),
            View::Atom(name) => (name, Vec::new()),
            View::Struct(name, arity) => (name, (0..arity).map(|i| self.arg(deref(goal), i)).collect()),
            _ => return Err(GoalError::Not),
        };
        let predicate = self.predicates.lookup(module, name, args.len());
        let predicate = predicate.filter(|&predicate| !self.is_inner_predicate(predicate));
        predicate.map(|predicate| Some((predicate, args))).ok_or(GoalError::Undefined)
    }
}

/// Why a term is no goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GoalError {
    /// This variable decides.
    Waits(Word),
    /// It is another term.
    Not,
    /// The predicate has another number of arguments.
    Arity,
    /// There is no such predicate.
    Undefined,
}
