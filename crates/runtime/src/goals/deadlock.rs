//! Perpetual suspension: which goals wait when nothing can resume them.
//!
//! Of the goals that wait, those are reported first that no other one could resume: nothing that another waiting goal
//! holds leads to them. (A goal leads to what its arguments lead to, and through an unbound variable to the goals
//! that wait for it.) If all lead to each other, the oldest stands for them.

use crate::goals::suspend::RESUMED;
use crate::memory::ranges::read;
use crate::reports::outcome::{RunOutcome, SuspendedGoal};
use crate::terms::print::Names;
use crate::terms::{cell, deref};
use crate::worker::Worker;
use rustc_hash::{FxHashMap, FxHashSet};
use term::Word;
use term::abi::{Position, PredicateId};
use term::layout::{self, HOOK_SUSPENSION, SUSPENSION_ARGS, SUSPENSION_NEXT, SUSPENSION_PREDICATE};
use term::word::{self, Tag, UNBOUND};

/// Goals shown at most.
const SHOWN: usize = 20;

impl Worker {
    /// The outcome if these goals (their records) wait for ever; `None` if there are none.
    pub(crate) fn perpetual_suspension(&self, waiting: &[usize]) -> Option<RunOutcome> {
        if waiting.is_empty() {
            return None;
        }
        let roots = Search::new(self, waiting).roots();
        let goals = roots.iter().take(SHOWN).map(|&record| self.suspended_goal(record)).collect();
        Some(RunOutcome::Deadlock { goals, count: waiting.len() })
    }
    /// Records of goals that wait and are no daemons, oldest first.
    pub(crate) fn waiting_goals(&mut self) -> impl Iterator<Item = usize> {
        self.register();
        let records = self.waiting.registry.old.iter().chain(&self.waiting.registry.young).copied();
        records.filter(|&record| {
            let goal = read(record + 8 * SUSPENSION_PREDICATE);
            goal != RESUMED && !self.predicates.get(PredicateId::of_goal_word(goal)).daemon
        })
    }
    /// Words of the records of goals that wait, daemons among them.
    pub(crate) fn waiting_words(&self) -> usize {
        let records = self.waiting.registry.old.iter().chain(&self.waiting.registry.young);
        let waiting = records.filter(|&&record| read(record + 8 * SUSPENSION_PREDICATE) != RESUMED);
        waiting.map(|&record| 1 + word::header_size(read(record))).sum()
    }
    fn suspended_goal(&self, record: usize) -> SuspendedGoal {
        let predicate = PredicateId::of_goal_word(read(record + 8 * SUSPENSION_PREDICATE));
        let arity = self.predicates.arity(predicate);
        let args: Vec<Word> = (0..arity).map(|i| read(record + 8 * (SUSPENSION_ARGS + i))).collect();
        let mut names = Names::default();
        // What waits for its priority or node is shown as the goal that it will be.
        let placed = self.placed_goal(predicate, &args);
        let (shown, shown_args) = placed.as_ref().map_or((predicate, &args), |(goal, args)| (*goal, args));
        let position = match args[..] {
            [position, ..] if predicate == self.system_goals.at_position => Position::of_word(position),
            _ => Position::NONE,
        };
        let (file, line) = self.place(shown, position);
        SuspendedGoal {
            goal: self.goal_text(&mut names, shown, shown_args),
            waits_for: self
                .waits_for(record, &args)
                .into_iter()
                .map(|variable| names.name(variable))
                .collect(),
            file,
            line,
        }
    }
    /// The variables near a goal's arguments that it is hooked on.
    fn waits_for(&self, record: usize, args: &[Word]) -> Vec<Word> {
        let mut search = Search::new(self, &[]);
        search.stack.extend_from_slice(args);
        let mut found = Vec::new();
        while let Some(word) = search.stack.pop()
            && search.seen.len() < 10_000
        {
            if let Some(variable) = search.visit(word)
                && records(variable).any(|waiting| waiting == record)
            {
                found.push(variable);
            }
        }
        found.sort_by_key(|variable| variable.address());
        found.dedup();
        found
    }
}

/// The suspensions that wait for a variable.
fn records(variable: Word) -> impl Iterator<Item = usize> {
    let mut next = read(variable.address());
    std::iter::from_fn(move || {
        if next == UNBOUND {
            return None;
        }
        let record = next.address();
        next = read(record + 8 * SUSPENSION_NEXT);
        let hook = word::header_class(read(record)) == layout::HOOK;
        Some(if hook { read(record + 8 * HOOK_SUSPENSION).address() } else { record })
    })
}

/// A walk through everything that words lead to.
struct Search<'a> {
    worker: &'a Worker,
    waiting: &'a [usize],
    seen: FxHashSet<u64>,
    stack: Vec<Word>,
}

impl<'a> Search<'a> {
    fn new(worker: &'a Worker, waiting: &'a [usize]) -> Self {
        Search { worker, waiting, seen: FxHashSet::default(), stack: Vec::new() }
    }
    /// The goals that no other one leads to.
    fn roots(mut self) -> Vec<usize> {
        // The goal from whose walk a record was reached first; a root reaches itself.
        let mut from: FxHashMap<usize, usize> = FxHashMap::default();
        let mut roots = Vec::new();
        for &start in self.waiting {
            if from.contains_key(&start) {
                continue;
            }
            roots.push(start);
            from.insert(start, start);
            self.stack.push(Word::pointer(Tag::Object, start));
            while let Some(word) = self.stack.pop() {
                let Some(variable) = self.visit(word) else { continue };
                for record in records(variable) {
                    if let Some(&first) = from.get(&record) {
                        // A root of an earlier walk that this one leads to is none.
                        if first == record && record != start {
                            roots.retain(|&root| root != record);
                        }
                        continue;
                    }
                    from.insert(record, start);
                    self.stack.push(Word::pointer(Tag::Object, record));
                }
            }
        }
        roots
    }
    /// Puts what a word leads to onto the stack; an unbound variable is answered instead.
    fn visit(&mut self, word: Word) -> Option<Word> {
        let word = deref(word);
        // A variable is answered each time: a later walk that comes to it takes its goals off the list.
        if word.tag() == Tag::Ref {
            return Some(word);
        }
        if word.is_immediate() || !self.seen.insert(word.0) {
            return None;
        }
        let address = word.address();
        match word.tag() {
            Tag::Cons => self.stack.extend([cell(address), cell(address + 8)]),
            Tag::Struct => {
                let arity = word::header_arity(read(address));
                self.stack.extend((1..=arity).map(|i| cell(address + 8 * i)));
            }
            _ => {
                let header = read(address);
                let class = word::header_class(header);
                let tagged = self.worker.tagged_words[class.0 as usize].min(word::header_size(header));
                let first = if class == layout::SUSPENSION { SUSPENSION_ARGS } else { 1 };
                let words = (first..=tagged).map(|i| read(address + 8 * i));
                self.stack.extend(words.filter(|word| word.tag() != Tag::Var));
            }
        }
        None
    }
}
