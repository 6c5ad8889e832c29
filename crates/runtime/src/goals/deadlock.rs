//! Perpetual suspension: which goals wait when nothing can resume them.
//!
//! Of the goals that wait, those are reported first that no other one could resume: nothing that another waiting goal
//! holds leads to them. (A goal leads to what its arguments lead to, and through an unbound variable to the goals
//! that wait for it.) If all lead to each other, the oldest stands for them. Each of them (a *root*) is shown with
//! some that wait for what it holds.
//!
//! There may be as many goals as memory has room for: so the walk takes a few bits for each of them, and looks at no
//! variable more than twice.

use crate::goals::suspend::{RESUMED, goal_arity};
use crate::memory::ranges::{pointer, read};
use crate::reports::outcome::{RunOutcome, SuspendedGoal, Waiting};
use crate::terms::print::Names;
use crate::terms::{cell, deref};
use crate::worker::Worker;
use rustc_hash::{FxHashMap, FxHashSet};
use term::Word;
use term::abi::{Position, PredicateId};
use term::layout::{
    self, HOOK_SUSPENSION, SUSPENSION_ARGS, SUSPENSION_NEXT, SUSPENSION_PREDICATE, SUSPENSION_PRIORITY,
};
use term::word::{self, Tag, UNBOUND};

/// Goals shown at most.
const SHOWN: usize = 100;
/// A root and those that wait for it, at most.
const GROUP: usize = 4;
/// So many words of what a goal holds are looked at to say what it waits for, and so many goals that wait for a
/// variable.
const LOOKED_AT: usize = 10_000;

/// Variables that a goal holds and others wait for: the most in a report.
const HELD: usize = 64;

/// Words that are looked at to find the goals that are shown first, where somebody waits for the answer.
const LOOKED_AT_SOON: usize = 1_000_000;
/// Goals of which these are found then.
pub(crate) const LOOKED_AT_GOALS: usize = 100_000;

impl Worker {
    /// The outcome if these goals (their records) wait for ever; `None` if there are none.
    pub(crate) fn perpetual_suspension(&self, waiting: &[usize]) -> Option<RunOutcome> {
        if waiting.is_empty() {
            return None;
        }
        let (goals, _) = self.reported(waiting, usize::MAX, &[]);
        Some(RunOutcome::Deadlock { goals, count: waiting.len() })
    }
    /// What is reported of `count` goals that wait while the run could go on, of which these are some
    /// ([`LOOKED_AT_GOALS`]); `outside` says of variables what gives them values.
    pub(crate) fn still_waiting(
        &self,
        waiting: &[usize],
        count: usize,
        outside: &[(Word, String)],
    ) -> Waiting {
        let (mut goals, shown) = self.reported(waiting, LOOKED_AT_SOON, outside);
        // Of those that wait for what others wait for, too, the program's own.
        let others = waiting.iter().filter(|&record| !shown.contains(record) && self.is_of_program(*record));
        let more = others.take(SHOWN.saturating_sub(goals.len()));
        goals.extend(more.map(|&record| self.suspended_goal(&mut Names::default(), record, outside)));
        Waiting { goals, count }
    }
    /// Whether a record's goal is neither the library's nor a builtin's.
    fn is_of_program(&self, record: usize) -> bool {
        let predicate = PredicateId::of_goal_word(read(record + 8 * SUSPENSION_PREDICATE));
        let file = &self.predicates.get(predicate).file;
        !file.is_empty() && !file.starts_with("library/")
    }
    /// Goals that are found by looking at this number of words, at most, and their records.
    fn reported(
        &self,
        waiting: &[usize],
        most: usize,
        outside: &[(Word, String)],
    ) -> (Vec<SuspendedGoal>, FxHashSet<usize>) {
        let (mut goals, mut shown) = (Vec::new(), FxHashSet::default());
        for root in Search::new(self).roots(waiting, most).into_iter().take(SHOWN) {
            let group = self.group(root, GROUP.min(SHOWN - goals.len()), &mut shown);
            let (mut names, first) = (Names::default(), goals.len());
            for &(record, holder) in &group {
                let holder = holder.map(|index| first + index);
                goals.push(SuspendedGoal { holder, ..self.suspended_goal(&mut names, record, outside) });
            }
            if goals.len() >= SHOWN {
                break;
            }
        }
        (goals, shown)
    }
    /// Records of goals that wait and are no daemons, oldest first.
    pub(crate) fn waiting_goals(&mut self) -> impl Iterator<Item = usize> {
        self.register();
        self.waiting.registry.records().filter(|&record| self.waits_for_ever(record))
    }
    /// Words of the records of goals that wait, daemons among them.
    pub(crate) fn waiting_words(&self) -> usize {
        let records = self.waiting.registry.records();
        let waiting = records.filter(|&record| read(record + 8 * SUSPENSION_PREDICATE) != RESUMED);
        waiting.map(|record| 1 + word::header_size(read(record))).sum()
    }
    fn suspended_goal(&self, names: &mut Names, record: usize, outside: &[(Word, String)]) -> SuspendedGoal {
        let predicate = PredicateId::of_goal_word(read(record + 8 * SUSPENSION_PREDICATE));
        let arity = self.predicates.arity(predicate);
        debug_assert_eq!(goal_arity(record), arity, "H1: a record has its goal's arguments");
        let args: Vec<Word> = (0..arity).map(|i| read(record + 8 * (SUSPENSION_ARGS + i))).collect();
        // What waits for its priority or node is shown as the goal that it will be.
        let placed = self.placed_goal(predicate, &args);
        let (shown, shown_args) = placed.as_ref().map_or((predicate, &args), |(goal, args)| (*goal, args));
        let system = &self.system_goals;
        let position = match args[..] {
            [position, ..] if [system.at_position, system.sum].contains(&predicate) => {
                Position::of_word(position)
            }
            _ => Position::NONE,
        };
        let (file, line) = self.place(shown, position);
        let goal = self.goal_text(names, shown, shown_args);
        let near = self.variables(&args);
        let waits = |&variable: &Word| records(variable).take(LOOKED_AT).any(|waiting| waiting == record);
        let (variables, others): (Vec<Word>, Vec<Word>) = near.into_iter().partition(waits);
        let is_awaited = |variable: &&Word| read(variable.address()) != UNBOUND;
        let from = |&variable: &Word| outside.iter().find(|(word, _)| deref(*word) == variable);
        let found: Vec<(Word, String)> =
            variables.iter().filter_map(|variable| Some((*variable, from(variable)?.1.clone()))).collect();
        SuspendedGoal {
            goal,
            waits_at: variables.iter().map(|variable| variable.address()).collect(),
            holds: others.iter().filter(is_awaited).take(HELD).map(|variable| variable.address()).collect(),
            waits_for: variables.into_iter().map(|variable| names.name(variable)).collect(),
            outside: found
                .into_iter()
                .map(|(variable, text)| format!("{}: {text}", names.name(variable)))
                .collect(),
            file,
            line,
            holder: None,
            node: (self.options.nodes > 1).then_some(self.options.node),
        }
    }
    /// The unbound variables near these words, by address.
    fn variables(&self, words: &[Word]) -> Vec<Word> {
        let mut search = Search::new(self);
        search.stack.extend_from_slice(words);
        let mut found = Vec::new();
        for _ in 0..LOOKED_AT {
            let Some(word) = search.stack.pop() else { break };
            found.extend(search.visit(word));
        }
        found.sort_by_key(|variable| variable.address());
        found.dedup();
        found
    }
    /// A root and goals that wait for what one of these holds, at most so many of those not `shown`, each with that
    /// one's place among them.
    fn group(&self, root: usize, most: usize, shown: &mut FxHashSet<usize>) -> Vec<(usize, Option<usize>)> {
        let mut group: Vec<(usize, Option<usize>)> = vec![(root, None)];
        shown.insert(root);
        let mut next = 0;
        while next < group.len() {
            let holder = group[next].0;
            for variable in self.variables(&[pointer(Tag::Object, holder)]) {
                let waiting: Vec<usize> = records(variable).take(LOOKED_AT).collect();
                // A goal that waits for a variable does not bind it.
                if waiting.contains(&holder) {
                    continue;
                }
                if waiting.contains(&root) {
                    group[0].1.get_or_insert(next);
                }
                for record in waiting.into_iter().filter(|&record| self.waits_for_ever(record)) {
                    if group.len() < most && shown.insert(record) {
                        group.push((record, Some(next)));
                    }
                }
            }
            next += 1;
        }
        group
    }
    /// Whether this record's goal waits and is no daemon.
    fn waits_for_ever(&self, record: usize) -> bool {
        let goal = read(record + 8 * SUSPENSION_PREDICATE);
        goal != RESUMED
            && !self.predicates.get(PredicateId::of_goal_word(goal)).daemon
            && !self.was_aborted(read(record + 8 * SUSPENSION_PRIORITY).as_int())
    }
}

/// The suspensions that wait for a variable.
fn records(variable: Word) -> impl Iterator<Item = usize> {
    debug_assert!(variable.tag() == Tag::Ref, "H2: {variable:?} is no variable");
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

/// A set of addresses of words: the bits of a page for each page that has one.
#[derive(Default)]
struct Marks {
    pages: FxHashMap<usize, [u64; 8]>,
}

impl Marks {
    fn bit(address: usize) -> (usize, usize, u64) {
        let word = address / 8;
        (word / 512, word / 64 % 8, 1 << (word % 64))
    }
    fn has(&self, address: usize) -> bool {
        let (page, index, bit) = Marks::bit(address);
        self.pages.get(&page).is_some_and(|bits| bits[index] & bit != 0)
    }
    /// Answers whether it is new.
    fn add(&mut self, address: usize) -> bool {
        let (page, index, bit) = Marks::bit(address);
        let bits = &mut self.pages.entry(page).or_default()[index];
        let new = *bits & bit == 0;
        *bits |= bit;
        new
    }
    fn remove(&mut self, address: usize) {
        let (page, index, bit) = Marks::bit(address);
        if let Some(bits) = self.pages.get_mut(&page) {
            bits[index] &= !bit;
        }
    }
}

/// A walk through everything that words lead to.
struct Search<'a> {
    worker: &'a Worker,
    seen: Marks,
    stack: Vec<Word>,
}

/// What is known of variables while roots are looked for.
#[derive(Default)]
struct Variables {
    /// A walk came to them.
    seen: Marks,
    /// There is nothing more to learn from them.
    done: Marks,
    /// This walk was the first, and the goal where it began waits for them: another walk may come.
    own: FxHashSet<usize>,
}

impl<'a> Search<'a> {
    fn new(worker: &'a Worker) -> Self {
        Search { worker, seen: Marks::default(), stack: Vec::new() }
    }
    /// The goals that no other one leads to, as far as this number of words tells.
    fn roots(mut self, waiting: &[usize], most: usize) -> Vec<usize> {
        let mut left = most;
        // Records that were reached, and the roots among them; a root reaches itself.
        let (mut reached, mut roots) = (Marks::default(), Marks::default());
        let mut variables = Variables::default();
        for &start in waiting {
            if !reached.add(start) {
                continue;
            }
            roots.add(start);
            variables.own.clear();
            self.stack.push(pointer(Tag::Object, start));
            while let Some(word) = self.stack.pop() {
                if left == 0 {
                    self.stack.clear();
                    break;
                }
                left -= 1;
                let Some(variable) = self.visit(word) else { continue };
                let address = variable.address();
                if variables.done.has(address) || variables.own.contains(&address) {
                    continue;
                }
                let first = variables.seen.add(address);
                let mut own = false;
                for record in records(variable) {
                    own |= record == start;
                    if reached.add(record) {
                        self.stack.push(pointer(Tag::Object, record));
                    } else if record != start {
                        // A root of an earlier walk that this one leads to is none.
                        roots.remove(record);
                    }
                }
                // All its goals are reached now, and only the first walk's own may be a root.
                if first && own {
                    variables.own.insert(address);
                } else {
                    variables.done.add(address);
                }
            }
        }
        waiting.iter().copied().filter(|&record| roots.has(record)).collect()
    }
    /// Puts what a word leads to onto the stack; an unbound variable is answered instead, each time.
    fn visit(&mut self, word: Word) -> Option<Word> {
        let word = deref(word);
        if word.tag() == Tag::Ref {
            return Some(word);
        }
        if word.is_immediate() || !self.seen.add(word.address()) {
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
