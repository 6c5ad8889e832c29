//! What a worker holds: where tracing begins, and the records of goals that wait.

use super::{Collector, forwards_all, target};
use crate::memory::read;
use crate::suspend::RESUMED;
use crate::worker::Worker;
use std::sync::atomic::Ordering;
use term::Word;
use term::abi::PredicateId;
use term::layout::SUSPENSION_PREDICATE;
use term::word::Tag;

impl<const MAJOR: bool, const SHARED: bool> Collector<'_, MAJOR, SHARED> {
    /// A worker whose roots (0), records (1) or lists of records (2) nobody has taken, its own first.
    pub(super) fn next_worker(&self, what: usize, me: usize) -> Option<usize> {
        let taken = &self.common.taken[what];
        let count = taken.len();
        (0..count).map(|i| (me + i) % count).find(|&worker| !taken[worker].swap(true, Ordering::AcqRel))
    }
    pub(super) fn roots(&mut self, words: &mut [Word]) {
        for word in words {
            *word = self.evacuate(*word);
        }
    }
    /// Everything that a worker holds, but its records.
    pub(super) fn roots_of(&mut self, worker: &mut Worker) {
        debug_assert!(!worker.has_resumed(), "F5");
        worker.register();
        let overflow = std::mem::take(&mut worker.heap.overflow);
        let mut slots = std::mem::take(&mut worker.heap.remembered);
        if !MAJOR {
            self.grey.extend(overflow);
            for &slot in &slots {
                // A slot that is here several times is changed by its first turn only. Were it kept each time, slots that are
                // written often and lead to variables that stay young would pile up for ever.
                let word = read(slot);
                if self.update_from(slot, word) && read(slot) != word {
                    self.remembered.push(slot);
                }
            }
        }
        slots.clear();
        worker.heap.remembered = slots;
        self.roots(&mut worker.roots);
        let team = &worker.shared.team;
        team.visit_mail(worker.index, |mail| self.roots(&mut mail.words));
        let top = worker.abi.goals as usize;
        let bottom = if MAJOR { worker.goals.start() } else { worker.goals.clean };
        let mut lowest_young = top;
        // From the top: the variables that stay young are those of the goals that run soon.
        for slot in (bottom..top).step_by(8).rev() {
            if self.update(slot) {
                lowest_young = slot;
            }
        }
        for goals in worker.goals.buckets_mut() {
            self.roots(goals);
        }
        worker.mark_goals(lowest_young);
    }
    /// Goals that wait are kept even if nothing leads to them: they are reported at the end. Only daemons may vanish.
    pub(super) fn keep_records(&mut self, worker: &mut Worker) {
        if MAJOR {
            let old = std::mem::take(&mut worker.registry.old);
            worker.registry.young.extend(old);
        }
        // A record that was copied keeps its predicate word, so nearly all are passed over with one look.
        worker.registry.young.retain(|record| read(record + 8 * SUSPENSION_PREDICATE) != RESUMED);
        for record in &worker.registry.young {
            let goal = read(*record + 8 * SUSPENSION_PREDICATE);
            if self.in_from(*record)
                && !forwards_all(read(*record))
                && !worker.predicates.get(PredicateId::of_goal_word(goal)).daemon
            {
                self.evacuate_headed(Word::pointer(Tag::Object, *record));
            }
        }
    }
    /// The new addresses of the records that were met.
    pub(super) fn survivors(&mut self, worker: &mut Worker) {
        let records = std::mem::take(&mut worker.registry.young);
        for record in records {
            let survivor = if !self.in_from(record) {
                record
            } else {
                let header = read(record);
                if !forwards_all(header) {
                    continue;
                }
                target(header)
            };
            let young = self.is_young(survivor);
            let list = if young { &mut worker.registry.young } else { &mut worker.registry.old };
            list.push(survivor);
        }
    }
}
