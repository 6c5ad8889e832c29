//! Lanes: which goals belong to which shoen, and what of it is left. X11 to X16 of the module above.

use super::is_lane;
use crate::goals::abroad::outward::By;
use crate::goals::shoen::state::{Fault, Here, Lane, News, Shoen, Since, What, kind_bit, name};
use crate::memory::ranges::read;
use crate::reports::outcome::{ErrorKind, ProgramError};
use crate::worker::Worker;
use std::sync::Arc;
use term::Word;
use term::abi::{Position, PredicateId};
use term::layout::SUSPENSION_PRIORITY;

/// Whether shoens are told of errors of this kind.
fn is_told(kind: ErrorKind) -> bool {
    !matches!(kind, ErrorKind::Interrupted | ErrorKind::ReaderGone)
}

impl Worker {
    /// Whether the running goal belongs to a shoen.
    #[inline(always)]
    pub(crate) fn in_shoen(&self) -> bool {
        is_lane(self.abi.priority)
    }
    /// The shoen of the running goal.
    pub(super) fn running_shoen(&mut self) -> Option<Arc<Shoen>> {
        self.shoen_of(self.abi.priority)
    }
    /// The shoen of a lane.
    pub(crate) fn shoen_of(&mut self, lane: i64) -> Option<Arc<Shoen>> {
        is_lane(lane).then(|| self.lane(lane).map(|here| here.lane.shoen.clone()))?
    }
    /// Whether the running goal is of the same shoen as what has this lane, or both are of none.
    pub(crate) fn is_of_running(&mut self, lane: i64) -> bool {
        let number = |shoen: Option<Arc<Shoen>>| shoen.map(|shoen| shoen.number);
        let of_lane = number(self.shoen_of(lane));
        (of_lane.is_some() || !is_lane(lane)) && of_lane == number(self.running_shoen())
    }
    /// What a lane means; `None` if its goals are dropped.
    fn lane(&mut self, number: i64) -> Option<&mut Here> {
        self.lanes.lane(&self.shared.shoens, number)
    }
    /// X11.
    pub(crate) fn rank(&mut self, lane: i64) -> i64 {
        if is_lane(lane) { self.lanes.rank_of(&self.shared.shoens, lane) } else { lane }
    }
    /// Whether the goals of a lane are dropped.
    pub(crate) fn is_dead(&mut self, lane: i64) -> bool {
        is_lane(lane) && self.lanes.drops(&self.shared.shoens, lane)
    }
    /// The same for whoever only looks.
    pub(crate) fn was_aborted(&self, lane: i64) -> bool {
        is_lane(lane) && self.shared.shoens.lane(lane).is_none_or(|lane| lane.is_dead())
    }
    /// The lane of goals of this priority that the running goal makes.
    pub(crate) fn lane_at(&mut self, priority: i64) -> i64 {
        let running = self.abi.priority;
        if !is_lane(running) {
            return priority;
        }
        if priority == self.goals.rank() {
            return running;
        }
        let Some(here) = self.lane(running) else { return running };
        let (shoen, daemons) = (here.lane.shoen.clone(), here.lane.daemons);
        self.shared.shoens.lane_of(&shoen, priority, daemons)
    }
    /// X15: the lane of daemons for the running one, if it is another one.
    #[cold]
    pub(crate) fn lane_to_wait_in(&mut self) -> Option<i64> {
        let here = self.lane(self.abi.priority)?;
        let (shoen, rank) = (here.lane.shoen.clone(), here.lane.rank);
        let daemons = here.lane.daemons;
        (!daemons).then(|| self.shared.shoens.lane_of(&shoen, rank, true))
    }

    /// X15: the lane of what happens outside for the running goal: the shoen may be over by then.
    pub(crate) fn lane_outside(&mut self) -> i64 {
        let other = if self.in_shoen() { self.lane_to_wait_in() } else { None };
        other.unwrap_or(self.abi.priority)
    }

    /// The shoen of a lane whose goals are counted.
    pub(crate) fn counted_shoen(&mut self, lane: i64) -> Option<Arc<Shoen>> {
        self.lanes.counted(&self.shared.shoens, lane).map(|lane| lane.shoen.clone())
    }
    /// A builtin for the library's `shoen`, by its name and number of arguments.
    pub(crate) fn shoen_goal(&self, (name, arity): (&str, usize)) -> PredicateId {
        self.predicate_named("shoen_control", name, arity).expect("builtins are not left out")
    }
    /// A predicate, unless the program has none of this name.
    pub(crate) fn predicate_named(&self, module: &str, name: &str, arity: usize) -> Option<PredicateId> {
        let [module, name] = [module, name].map(|text| self.atoms.intern(text.as_bytes()));
        self.predicates.lookup(module, name, arity)
    }
    /// X12: this worker has ready goals of a lane in one more place.
    #[inline(always)]
    pub(crate) fn gain(&mut self, lane: i64) {
        if is_lane(lane) {
            self.gain_place(lane);
        }
    }
    #[cold]
    fn gain_place(&mut self, lane: i64) {
        let may_park = self.shared.shoens.have_stopped();
        let Some(here) = self.lane(lane) else { return };
        here.places += 1;
        if here.places == 1 && !here.lane.daemons {
            here.lane.shoen.tally.hold();
        }
        if may_park && here.lane.is_parked() {
            self.lanes.parks = true;
            self.abi.want_attention();
        }
    }
    /// It has none in one of these places any more.
    #[inline(always)]
    pub(crate) fn lose(&mut self, lane: i64) {
        if is_lane(lane) {
            self.lose_place(lane);
        }
    }
    #[cold]
    fn lose_place(&mut self, lane: i64) {
        let Some(here) = self.lanes.here.get_mut(lane) else { return };
        debug_assert!(here.places > 0, "X12: it was in that place");
        here.places -= 1;
        if here.places == 0 && !here.lane.daemons && here.lane.shoen.tally.leave() {
            let shoen = here.lane.shoen.clone();
            self.note_over(shoen);
        }
    }
    /// A holder of a shoen leaves.
    pub(super) fn leave(&mut self, shoen: &Arc<Shoen>) {
        if shoen.tally.leave() {
            self.note_over(shoen.clone());
        }
    }
    pub(super) fn note_over(&mut self, shoen: Arc<Shoen>) {
        self.lanes.over.push(shoen);
        self.abi.want_attention();
    }
    /// X12: goals of a lane that were sent here are there.
    pub(crate) fn arrived(&mut self, lane: i64) {
        if let Some(lane) = self.counted(lane) {
            self.leave(&lane.shoen);
        }
    }
    /// The running goal does at this position what other nodes are told, and may be wrong there: its lane is a holder
    /// of its shoen until [`Worker::end_binding`], if it is counted.
    pub(crate) fn begin_binding(&mut self, position: Position) -> By {
        let lane = self.abi.priority;
        if !self.in_shoen() || self.counted_shoen(lane).is_none() {
            return By::default();
        }
        self.lanes.send_off(&self.shared.shoens, lane);
        By { lane, position }
    }
    /// Other nodes were told.
    pub(crate) fn end_binding(&mut self, lane: i64) {
        if lane != 0 {
            self.arrived(lane);
        }
    }
    /// A lane whose goals are counted.
    fn counted(&mut self, lane: i64) -> Option<Arc<Lane>> {
        self.lanes.counted(&self.shared.shoens, lane)
    }
    /// X13, X14: a goal of another lane than the running one was resumed: its rank, and it has one place more until
    /// `lose`. `None` if it is dropped.
    pub(crate) fn claim_elsewhere(&mut self, lane: i64) -> Option<i64> {
        if self.in_shoen() {
            // Its worker counted it as one of the running lane's.
            self.lanes.since.resumptions += 1;
        }
        if !is_lane(lane) {
            return Some(lane);
        }
        let may_park = self.shared.shoens.have_stopped();
        let here = self.lane(lane)?;
        here.places += 1;
        if !here.lane.daemons {
            let tally = &here.lane.shoen.tally;
            if here.places == 1 {
                tally.claim();
            } else {
                tally.wait(-1);
            }
            here.lane.shoen.told.store(false, std::sync::atomic::Ordering::Relaxed);
        }
        let (rank, parked) = (here.lane.rank, may_park && here.lane.is_parked());
        if here.lane.is_dead() {
            self.lose(lane);
            return None;
        }
        if parked {
            // X19.
            self.lanes.parks = true;
            self.abi.want_attention();
        }
        Some(rank)
    }

    /// The goals that are next are of this lane, whose rank this is.
    #[cold]
    pub(crate) fn change_lane(&mut self, lane: i64) {
        self.count_lane();
        self.abi.priority = lane;
        self.count_from_here();
    }
    fn count_from_here(&mut self) {
        self.lanes.since = Since {
            newest: self.abi.suspensions,
            reused: self.abi.reused,
            made_ready: self.abi.made_ready,
            resumptions: self.statistics.resumptions,
            heap: self.abi.heap as usize,
        };
    }
    /// X13: what the running lane's goals have done since it was last counted.
    #[inline(always)]
    pub(crate) fn count_lane(&mut self) {
        if self.in_shoen() {
            self.count_running();
        }
    }
    #[cold]
    fn count_running(&mut self) {
        let (lane, since) = (self.abi.priority, self.lanes.since);
        let of_lane = |&record: &usize| read(record + 8 * SUSPENSION_PRIORITY) == Word::small(lane);
        debug_assert!(self.abi.reused >= since.reused, "X13: counts grow");
        debug_assert!(self.abi.made_ready >= since.made_ready, "X13: counts grow");
        let new = self.new_suspensions().take_while(|&record| record != since.newest).filter(of_lane).count();
        let suspended = new as i64 + (self.abi.reused - since.reused) as i64;
        let resumed =
            self.abi.made_ready - since.made_ready + (self.statistics.resumptions - since.resumptions);
        self.count_from_here();
        let words = (self.abi.heap as usize).saturating_sub(since.heap) as u64 / 8;
        let Some(here) = self.lane(lane).filter(|here| !here.lane.daemons) else { return };
        let (shoen, waiting) = (&here.lane.shoen, suspended - resumed as i64);
        if waiting != 0 {
            shoen.tally.wait(waiting);
        }
        if words != 0 && shoen.count_words(words) {
            let shoen = shoen.clone();
            self.note_words(&shoen);
        }
    }
    /// X18: goals of a shoen have allocated many words.
    #[cold]
    pub(super) fn note_words(&mut self, shoen: &Arc<Shoen>) {
        for shoen in shoen.outwards() {
            if shoen.is_to_tell() {
                self.note_news(shoen.clone(), News::Words);
            }
            if shoen.is_exhausted() {
                self.note_news(shoen, News::Event("resource_low"));
                self.order_stop();
            }
        }
    }
    /// X19: somebody has stopped a shoen.
    pub(super) fn order_stop(&mut self) {
        self.shared.shoens.count_stop();
        self.shared.team.poke_all();
        self.abi.want_attention();
    }
    /// This is to be reported of a shoen.
    pub(super) fn note_news(&mut self, shoen: Arc<Shoen>, news: News) {
        self.lanes.news.push((shoen, news));
        self.abi.want_attention();
    }
    /// X13: the records that were new are so no more.
    #[inline(always)]
    pub(crate) fn count_anew(&mut self) {
        if self.in_shoen() {
            self.count_from_here();
        }
    }
    /// Between turns: does what belongs to no shoen, whichever goal is the next.
    pub(crate) fn outside<R>(&mut self, then: impl FnOnce(&mut Worker) -> R) -> R {
        if self.in_shoen() { self.in_lane(self.goals.rank(), then) } else { then(self) }
    }
    /// Does what belongs to another lane: goals that it makes wait there, and errors are that lane's.
    pub(crate) fn in_lane<R>(&mut self, lane: i64, then: impl FnOnce(&mut Worker) -> R) -> R {
        let running = self.abi.priority;
        if !is_lane(running) && !is_lane(lane) {
            self.abi.priority = lane;
            let result = then(self);
            self.abi.priority = running;
            return result;
        }
        self.gain(lane);
        self.change_lane(lane);
        let result = then(self);
        self.change_lane(running);
        self.lose(lane);
        result
    }

    /// X16: a goal of the running lane has failed. The error comes back if the run is to end with it.
    pub(crate) fn note_fault(
        &mut self,
        error: Box<ProgramError>,
        predicate: PredicateId,
        args: &[Word],
        position: Position,
    ) -> Option<Box<ProgramError>> {
        if !self.in_shoen() || !is_told(error.kind) {
            // A builtin of an aborted shoen has given up.
            let given_up = error.kind == ErrorKind::Interrupted && !self.shared.is_ending();
            return (!given_up || !self.in_shoen()).then_some(error);
        }
        let lane = self.abi.priority;
        if self.is_dead(lane) {
            return None;
        }
        let raised = self.lanes.raised.take();
        let what = raised.unwrap_or_else(|| self.kind_of(&error));
        self.lanes.send_off(&self.shared.shoens, lane);
        let fault = Fault { lane, error, what, predicate, args: args.to_vec(), position };
        self.lanes.faults.push(fault);
        self.abi.want_attention();
        None
    }
    fn kind_of(&mut self, error: &ProgramError) -> What {
        let kind = name(error.kind).unwrap_or("other");
        What { bit: kind_bit(kind), term: Word::atom(self.intern(kind)) }
    }
}
