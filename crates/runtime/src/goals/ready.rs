//! A look at ready goals, for whoever watches a run.

use crate::memory::ranges::read;
use crate::reports::watch::Sample;
use crate::worker::Worker;
use rustc_hash::FxHashMap;
use term::Word;
use term::abi::{BOTTOM, PredicateId};

/// Goals that are looked at, of all workers together.
const LOOKED_AT: usize = 4096;
/// Predicates that are named.
const NAMED: usize = 24;

impl Worker {
    /// The next ready goals, and then some of lower priorities, by predicate. Between reductions.
    pub(crate) fn ready_sample(&self) -> Sample {
        let mut counts = Counts { most: LOOKED_AT / self.shared.team.len(), ..Counts::default() };
        let (mut top, start) = (self.abi.goals as usize, self.goals.start());
        while top > start && counts.count(self, read(top - 8)) {
            top = self.below_top(top);
        }
        debug_assert!(top >= start, "P3: below the bottom of the stack");
        for (_, bucket) in self.goals.by_priority().rev().take(LOOKED_AT) {
            let mut end = bucket.len();
            while end > 0 && counts.count(self, bucket[end - 1]) {
                debug_assert!(self.words_of(bucket[end - 1]) <= end, "P2: a record is whole");
                end = end.saturating_sub(self.words_of(bucket[end - 1]));
            }
        }
        let Counts { goals, words, of, .. } = counts;
        let mut by_count: Vec<(PredicateId, usize)> = of.into_iter().collect();
        by_count.sort_by_key(|&(predicate, count)| (std::cmp::Reverse(count), predicate));
        by_count.truncate(NAMED);
        let named = by_count.into_iter().map(|(predicate, count)| (self.predicate_name(predicate), count));
        Sample { goals, words, predicates: named.collect() }
    }
    /// Words of a ready goal of this goal word.
    fn words_of(&self, goal: Word) -> usize {
        self.predicates.arity(PredicateId::of_goal_word(goal)) + 1
    }
    /// A predicate as `module:name/arity`.
    fn predicate_name(&self, predicate: PredicateId) -> String {
        let info = self.predicates.get(predicate);
        let [module, name] = [info.module, info.name].map(|atom| self.atoms.name(atom));
        // The compiler has named its own after a predicate already.
        if info.auxiliary { format!("{module}:{name}") } else { format!("{module}:{name}/{}", info.arity) }
    }
}

/// What was looked at.
#[derive(Default)]
struct Counts {
    most: usize,
    /// Records that were looked at, those of the runtime included.
    records: usize,
    goals: usize,
    words: usize,
    of: FxHashMap<PredicateId, usize>,
}

impl Counts {
    /// Counts a record; false if no more are to be looked at.
    fn count(&mut self, worker: &Worker, goal: Word) -> bool {
        if self.records >= self.most {
            return false;
        }
        self.records += 1;
        let predicate = PredicateId::of_goal_word(goal);
        if predicate != BOTTOM && !worker.is_runtimes_own(predicate) {
            self.goals += 1;
            self.words += worker.words_of(goal);
            *self.of.entry(predicate).or_default() += 1;
        }
        true
    }
}
