//! Making, stopping and aborting shoens. X11 to X19 are those of the module above.

use crate::goals::shoen::state::{News, Shoen, Told};
use crate::goals::suspend::RESUMED;
use crate::memory::ranges::{read, write};
use crate::worker::Worker;
use rustc_hash::FxHashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use term::Word;
use term::abi::PredicateId;
use term::layout::{SUSPENSION_PREDICATE, SUSPENSION_PRIORITY};

impl Worker {
    /// Makes a shoen, as a goal of the running one: its number, and its reports. It counts as one goal that waits until
    /// it has one. Its priorities are within those of the running one.
    pub(crate) fn new_shoen(&mut self, mut told: Told) -> (i64, Word) {
        let report = self.new_variable();
        let parent = self.running_shoen();
        told.depth = parent.as_ref().map_or(1, |parent| parent.depth + 1);
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
            if !shoen.tally.try_hold() {
                continue;
            }
            // Whoever holds it is the last to leave.
            let first = !shoen.tally.is_aborted();
            shoen.tally.abort();
            if first && shoen.foster.is_none() {
                shoen.nodes().into_iter().for_each(|node| self.order_at(&shoen, node));
                self.abort_daemons(shoen.number);
            }
            self.leave(&shoen);
            all.extend(shoen.children());
        }
        self.shared.shoens.count_abort();
        self.shared.team.poke_all();
        self.abi.want_attention();
    }
    /// X19: the goals of a shoen, and of those inside, do not run until it is started.
    pub(crate) fn stop(&mut self, shoen: &Arc<Shoen>) {
        if shoen.stop() {
            self.note_news(shoen.clone(), News::Event("stopped"));
            self.order_stop();
        }
    }
    /// X19: they run again.
    pub(crate) fn start(&mut self, shoen: &Arc<Shoen>) {
        if shoen.start() {
            self.note_news(shoen.clone(), News::Event("started"));
            self.order_start();
        }
    }
    /// X18: the goals of a shoen may allocate more words; if they had allocated what they may, they go on.
    pub(crate) fn add_words(&mut self, shoen: &Arc<Shoen>, words: u64) {
        shoen.add_words(words);
        self.order_nodes(shoen);
        self.order_start();
    }
    fn order_start(&mut self) {
        self.shared.shoens.count_start();
        self.abi.want_attention();
    }
    /// X14, X19: drops and parks ready goals of shoens that were aborted or stopped since this was last asked, and
    /// takes up those of shoens that were started.
    pub(crate) fn follow_orders(&mut self) {
        let orders = self.shared.shoens.orders();
        if std::mem::replace(&mut self.lanes.orders, orders) != orders {
            self.drop_dead();
            self.lanes.parks = true;
            self.take_up_started();
        }
    }
    /// X19: goals that were parked, and are not to be any more, are ready here, or dropped.
    fn take_up_started(&mut self) {
        if !self.shared.shoens.have_stopped() {
            return;
        }
        for (lane, goals) in self.shared.shoens.take_started() {
            // B2 of `give`.
            self.publish();
            self.shared.goal_bytes.fetch_sub(8 * goals.len(), Relaxed);
            if !self.is_dead(lane) {
                self.push_goals(lane, &goals);
            }
            self.arrived(lane);
        }
    }
    /// X19: parks ready goals, if there may be some that are to be. At the end of an attention.
    #[inline(always)]
    pub(crate) fn park_stopped(&mut self) {
        if self.lanes.parks {
            self.park_all_stopped();
        }
    }
    #[cold]
    fn park_all_stopped(&mut self) {
        self.lanes.parks = false;
        let here = self.lanes.here.all().filter(|(_, here)| here.places > 0 && here.lane.is_parked());
        let stopped: Vec<i64> = here.map(|(lane, _)| lane).collect();
        if stopped.is_empty() {
            return;
        }
        self.end_solo();
        for lane in stopped {
            self.lanes.send_off(&self.shared.shoens, lane);
            let goals = self.take_lane(lane, true);
            if goals.is_empty() {
                self.arrived(lane);
                continue;
            }
            self.publish();
            self.shared.goal_bytes.fetch_add(8 * goals.len(), Relaxed);
            self.shared.shoens.park(lane, &goals);
        }
        self.take_up_started();
    }
    #[cold]
    fn drop_dead(&mut self) {
        let here = self.lanes.here.all();
        let dead: Vec<i64> =
            here.filter(|(_, here)| here.places > 0 && here.lane.is_dead()).map(|(lane, _)| lane).collect();
        for lane in dead {
            self.take_lane(lane, false);
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
