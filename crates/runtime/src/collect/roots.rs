//! What a worker holds: where tracing begins, and the records of goals that wait.

use super::share::Work;
use super::{BUSY, Collector, forwards_all, target};
use crate::coordination::sync::atomic::Ordering;
use crate::coordination::sync::lock;
use crate::goals::abroad::FAR;
use crate::goals::shoen::is_lane;
use crate::goals::state::Registry;
use crate::goals::suspend::RESUMED;
use crate::memory::ranges::{Range, pointer, prefetch, read};
use crate::memory::tuning::{FETCHED_ROOTS_AHEAD, SHARED_ROOTS, SHARED_WORDS, SLOTS_KEPT};
use crate::worker::Worker;
use crate::worker::all::Crew;
use term::Word;
use term::abi::PredicateId;
use term::layout::{SUSPENSION, SUSPENSION_PREDICATE, SUSPENSION_PRIORITY};
use term::word::{Tag, header_class};

/// Records of a worker that still wait.
pub(super) struct Waiting {
    of: usize,
    /// Their new addresses.
    registry: Registry,
    /// Those that are kept only if something leads to them, where they were.
    daemons: Vec<usize>,
}

impl<const MAJOR: bool, const SHARED: bool> Collector<'_, MAJOR, SHARED> {
    /// A worker whose roots nobody has taken, its own first.
    pub(super) fn next_worker(&self, me: usize) -> Option<usize> {
        let taken = &self.common.taken;
        let count = taken.len();
        (0..count).map(|i| (me + i) % count).find(|&worker| !taken[worker].swap(true, Ordering::AcqRel))
    }
    /// Everything that a worker holds; its records are left for later.
    pub(super) fn roots_of(&mut self, worker: &mut Worker) {
        debug_assert!(!worker.has_resumed(), "F5");
        worker.register();
        let mut awaited = worker.abroad.take_awaited();
        let overflow = std::mem::take(&mut worker.heap.overflow);
        let mut slots = std::mem::take(&mut worker.heap.remembered);
        if !MAJOR {
            self.grey.extend(overflow);
            self.slots(&slots);
        }
        slots.clear();
        slots.shrink_to(SLOTS_KEPT);
        worker.heap.remembered = slots;
        self.roots(worker.roots.words_mut());
        worker.lanes.roots(|words| self.roots(words));
        if worker.index == 0 {
            worker.shared.shoens.roots(|words| self.roots(words));
        }
        self.roots(&mut awaited);
        let trace = |word: &mut Word| _ = self.update((&raw mut *word).expose_provenance());
        worker.abroad.roots(MAJOR, MAJOR && !SHARED, trace);
        let team = &worker.shared.team;
        team.visit_mail(worker.index, |mail| self.roots(&mut mail.words));
        let top = worker.abi.goals as usize;
        let bottom = if MAJOR { worker.goals.start() } else { worker.goals.clean() };
        self.goals(Range { start: bottom, end: top }, Some(worker.index));
        for goals in worker.goals.buckets_mut() {
            self.roots(goals);
        }
        let lists = worker.waiting.registry.take(MAJOR);
        self.records.extend(lists.into_iter().map(|records| (worker.index, records)));
    }
    /// Y7 of `far`: what other nodes hold, the nearest first.
    pub(super) fn by_distance(&mut self, crew: &Crew) {
        let common = self.common;
        let moved = |record| common.moved(record);
        if !crew.with(0, |worker| worker.abroad.begin_distances()) {
            return;
        }
        crew.with(0, |worker| worker.abroad.reached(1, moved));
        let before = self.words() + self.large_words;
        for distance in 1..=FAR {
            let trace = |word: &mut Word| _ = self.update((&raw mut *word).expose_provenance());
            if crew.with(0, |worker| worker.abroad.roots_at(distance, trace)) {
                self.trace();
                crew.with(0, |worker| worker.abroad.reached(distance + 1, moved));
            }
        }
        let held = self.words() + self.large_words - before;
        crew.with(0, |worker| worker.abroad.set_held(held));
    }
    pub(super) fn slots(&mut self, slots: &[usize]) {
        self.in_pieces(slots, Work::Slots, |this, slot| {
            debug_assert!(!this.is_young(slot), "G2");
            // A slot that is here several times is changed by its first turn only. Were it kept each time, slots that
            // are written often and lead to variables that stay young would pile up for ever.
            let word = read(slot);
            if this.update_from(slot, word) && read(slot) != word {
                this.remembered.push(slot);
            }
        });
    }
    fn roots(&mut self, words: &mut [Word]) {
        let start = words.as_mut_ptr().expose_provenance();
        self.goals(Range { start, end: start + 8 * words.len() }, None);
    }
    /// From the top: the variables that stay young are those of the goals that run soon.
    pub(super) fn goals(&mut self, mut words: Range, stack_of: Option<usize>) {
        debug_assert!(words.start <= words.end, "P4: goals are clean above the top");
        let mut lowest_young = usize::MAX;
        while words.start < words.end {
            let most = if SHARED { 8 * SHARED_WORDS } else { usize::MAX };
            let piece = words.end.saturating_sub(most).max(words.start);
            for slot in (piece..words.end).step_by(8).rev() {
                if self.update(slot) {
                    lowest_young = slot;
                }
            }
            words.end = piece;
            let words_left = (words.end - words.start) / 8;
            if words_left > SHARED_WORDS && self.somebody_searches() {
                let middle = words.start + words_left / 2 * 8;
                self.give(Work::Goals { words: Range { start: words.start, end: middle }, stack_of });
                words.start = middle;
            }
        }
        if let Some(worker) = stack_of {
            // Relaxed: read when all are done.
            self.common.lowest_young[worker].fetch_min(lowest_young, Ordering::Relaxed);
        }
    }
    /// The records of its workers. Most of them were copied by then, near what leads to them.
    pub(super) fn own_records(&mut self) {
        let mut lists = std::mem::take(&mut self.records).into_iter();
        while let Some((of, records)) = lists.next() {
            if self.somebody_searches()
                && let Some((of, records)) = lists.next_back()
            {
                self.give(Work::Records { of, records });
            }
            self.records_of(of, records);
        }
    }
    /// Goals that wait are kept even if nothing leads to them: they are reported at the end, those of shoens before
    /// (X17 of `shoen`). Only daemons may vanish.
    pub(super) fn records_of(&mut self, of: usize, mut records: Vec<usize>) {
        let (mut young, mut daemons) = (Vec::new(), Vec::new());
        // Old ones take the places of those before them: a second list of all would be as much memory again.
        let (mut next, mut old) = (0, 0);
        while next < records.len() {
            if let Some(&later) = records.get(next + FETCHED_ROOTS_AHEAD) {
                prefetch(pointer(Tag::Ref, later));
            }
            let record = records[next];
            next += 1;
            match self.record(record) {
                Some(to) if self.is_young(to) => young.push(to),
                Some(to) => {
                    records[old] = to;
                    old += 1;
                }
                // It was resumed.
                None if read(record + 8 * SUSPENSION_PREDICATE) == RESUMED => {}
                None => daemons.push(record),
            }
            let left = records.len() - next;
            if SHARED && next.is_multiple_of(SHARED_ROOTS) && left > SHARED_ROOTS && self.somebody_searches()
            {
                let far = records.split_off(next + left / 2);
                records.shrink_to_fit();
                self.give(Work::Records { of, records: far });
            }
        }
        // The list may be kept for long.
        records.truncate(old);
        records.shrink_to_fit();
        young.shrink_to_fit();
        self.waiting.push(Waiting { of, registry: Registry::new(young, records), daemons });
    }
    /// Where a record is that waits; `None` if it was resumed, or nothing has led to it yet and it is a daemon's, or
    /// whoever collects everything looks for such goals of shoens.
    #[inline(always)]
    fn record(&mut self, record: usize) -> Option<usize> {
        // A record that was copied keeps its predicate word, so nearly all are passed over with one look.
        let goal = read(record + 8 * SUSPENSION_PREDICATE);
        if goal == RESUMED {
            return None;
        }
        if !self.in_from(record) {
            return Some(record);
        }
        let header = read(record);
        if forwards_all(header) && header != BUSY {
            return Some(target(header));
        }
        debug_assert!(header == BUSY || header_class(header) == SUSPENSION, "H4: {header:?} is no record's");
        let weak = MAJOR && !SHARED && is_lane(read(record + 8 * SUSPENSION_PRIORITY).as_int())
            || self.is_daemon(goal);
        (!weak).then(|| self.evacuate_headed(pointer(Tag::Object, record)).address())
    }
    fn is_daemon(&self, goal: Word) -> bool {
        self.common.predicates.get(PredicateId::of_goal_word(goal)).daemon
    }
    /// X17 of `shoen`: goals of shoens to which nothing leads are kept, and noted. Whoever collects everything, alone.
    /// Other nodes' terms that they hold are as near as those of other goals (Y7 of `far`).
    pub(super) fn find_lost(&mut self, crew: &Crew) {
        let is_lost = |&&record: &&usize| {
            !forwards_all(read(record)) && !self.is_daemon(read(record + 8 * SUSPENSION_PREDICATE))
        };
        let records = self.waiting.iter().flat_map(|waiting| &waiting.daemons);
        let mut lost: Vec<usize> = records.filter(is_lost).copied().collect();
        if lost.is_empty() {
            return;
        }
        for record in &mut lost {
            *record = self.evacuate_headed(pointer(Tag::Object, *record)).address();
        }
        self.trace();
        let common = self.common;
        crew.with(0, |worker| worker.abroad.reached(1, |record| common.moved(record)));
        lock(&self.common.lost).append(&mut lost);
    }
    /// After the trace: the new addresses of the records that were met, of those it has seen.
    pub(super) fn survivors(&mut self) -> Vec<(usize, Registry)> {
        let waiting = std::mem::take(&mut self.waiting);
        let with_daemons = |Waiting { of, mut registry, daemons }| {
            for header in daemons.into_iter().map(read).filter(|&header| forwards_all(header)) {
                registry.enter(target(header), !self.is_young(target(header)));
            }
            (of, registry)
        };
        waiting.into_iter().map(with_daemons).collect()
    }
}
