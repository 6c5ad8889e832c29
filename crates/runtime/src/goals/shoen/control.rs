//! Making and aborting shoens. X11 to X16 are those of the module above.

use crate::goals::shoen::state::{Shoen, Told};
use crate::goals::suspend::RESUMED;
use crate::memory::ranges::{read, write};
use crate::worker::Worker;
use rustc_hash::FxHashSet;
use std::sync::Arc;
use term::Word;
use term::abi::PredicateId;
use term::layout::{SUSPENSION_PREDICATE, SUSPENSION_PRIORITY};

impl Worker {
    /// Makes a shoen, as a goal of the running one: its number, and its reports. It counts as one goal that waits until
    /// it has one. Its priorities are within those of the running one.
    pub(crate) fn new_shoen(&mut self, mut told: Told) -> (i64, Word) {
        let report = self.new_variable();
        let parent = self.running_shoen();
        let dead = parent.as_ref().is_some_and(|parent| parent.tally.is_aborted());
        if let Some((lowest, highest)) = parent.as_ref().map(|parent| parent.range) {
            let (low, high) = told.range;
            told.range = (low.clamp(lowest, highest), high.clamp(lowest, highest));
        }
        let lane = self.lane_outside();
        let shoen = self.shared.shoens.add(parent, lane, told, report);
        if dead && shoen.tally.abort() {
            self.note_over(shoen.clone());
        }
        (shoen.number, report)
    }
    /// The shoen with this number, unless it has begun or is over: whoever gives it its goal is a holder until `begun`.
    pub(crate) fn begin_shoen(&mut self, number: i64) -> Option<Arc<Shoen>> {
        let shoen = self.shared.shoens.get(number).filter(|shoen| shoen.tally.begin())?;
        if shoen.tally.is_aborted() {
            self.leave(&shoen);
            return None;
        }
        Some(shoen)
    }
    /// A goal of a shoen, of the running priority.
    pub(crate) fn spawn_in(&mut self, shoen: &Arc<Shoen>, predicate: PredicateId, args: &[Word]) {
        let rank = self.goals.rank();
        let lane = self.shared.shoens.lane_of(shoen, rank, false);
        self.spawn_at_lane(lane, predicate, args);
    }
    /// A shoen has its goal.
    pub(crate) fn begun(&mut self, shoen: &Arc<Shoen>) {
        self.leave(shoen);
    }
    /// The shoen with this number, unless it is over.
    pub(crate) fn shoen(&self, number: i64) -> Option<Arc<Shoen>> {
        self.shared.shoens.get(number)
    }
    /// X14: the goals of a shoen, and of those inside, are dropped.
    pub(crate) fn abort(&mut self, shoen: &Arc<Shoen>) {
        let mut all = vec![shoen.clone()];
        while let Some(shoen) = all.pop() {
            if shoen.tally.is_over() {
                continue;
            }
            if shoen.tally.abort() {
                self.note_over(shoen.clone());
            }
            all.extend(shoen.children());
        }
        self.shared.shoens.count_abort();
        self.shared.team.poke_all();
        self.abi.want_attention();
    }
    /// X14: drops ready goals of shoens that were aborted since this was last asked.
    pub(crate) fn drop_aborted(&mut self) {
        let aborts = self.shared.shoens.aborts();
        if std::mem::replace(&mut self.lanes.aborts, aborts) != aborts {
            self.drop_dead();
        }
    }
    #[cold]
    fn drop_dead(&mut self) {
        let here = self.lanes.here.iter();
        let dead: Vec<i64> =
            here.filter(|(_, here)| here.places > 0 && here.lane.is_dead()).map(|(&lane, _)| lane).collect();
        for lane in dead {
            self.drop_lane(lane);
        }
    }
    /// Adds the lanes of all goals of this worker, after a collection.
    pub(crate) fn lanes_in_use(&self, used: &mut FxHashSet<i64>) {
        used.extend(self.goals.lanes());
        let records = self.waiting.registry.records();
        used.extend(records.map(|record| read(record + 8 * SUSPENSION_PRIORITY).as_int()));
        self.shared.team.visit_mail(self.index, |mail| _ = used.insert(mail.priority));
    }
    /// X14: forgets the goals that wait of shoens that were aborted, before a major collection.
    pub(crate) fn forget_dead(&mut self) {
        self.register();
        let (lanes, shoens) = (&mut self.lanes, &self.shared.shoens);
        for record in self.waiting.registry.records() {
            let waits = read(record + 8 * SUSPENSION_PREDICATE) != RESUMED;
            let lane = read(record + 8 * SUSPENSION_PRIORITY).as_int();
            if waits && lanes.drops(shoens, lane) {
                write(record + 8 * SUSPENSION_PREDICATE, RESUMED);
            }
        }
    }
}
