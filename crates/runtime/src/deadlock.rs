//! Perpetual suspension: which goals wait when nothing can resume them.

use crate::memory::read;
use crate::outcome::{RunOutcome, SuspendedGoal};
use crate::print::Names;
use crate::suspend::RESUMED;
use crate::worker::Worker;
use term::Word;
use term::abi::PredicateId;
use term::layout::{SUSPENSION_ARGS, SUSPENSION_PREDICATE};

/// Goals shown at most.
const SHOWN: usize = 20;

impl Worker {
    /// The outcome for goals that wait for ever; `None` if there are none but daemons.
    pub(crate) fn perpetual_suspension(&mut self) -> Option<RunOutcome> {
        let waiting: Vec<usize> = self.waiting_goals().collect();
        if waiting.is_empty() {
            return None;
        }
        let goals = waiting.iter().take(SHOWN).map(|&record| self.suspended_goal(record)).collect();
        Some(RunOutcome::Deadlock { goals, count: waiting.len() })
    }
    /// Records of goals that wait and are no daemons, oldest first.
    pub(crate) fn waiting_goals(&self) -> impl Iterator<Item = usize> {
        let records = self.registry.old.iter().chain(&self.registry.young).copied();
        records.filter(|&record| {
            let goal = read(record + 8 * SUSPENSION_PREDICATE);
            goal != RESUMED && !self.predicates.get(PredicateId::of_goal_word(goal)).daemon
        })
    }
    fn suspended_goal(&self, record: usize) -> SuspendedGoal {
        let predicate = PredicateId::of_goal_word(read(record + 8 * SUSPENSION_PREDICATE));
        let arity = self.predicates.arity(predicate);
        let args: Vec<Word> = (0..arity).map(|i| read(record + 8 * (SUSPENSION_ARGS + i))).collect();
        let info = self.predicates.get(predicate);
        SuspendedGoal {
            goal: self.goal_text(&mut Names::default(), predicate, &args),
            waits_for: Vec::new(),
            file: info.file.to_string(),
            line: info.line,
        }
    }
}
