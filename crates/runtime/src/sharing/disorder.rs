//! Disorder for tests (`Collect::AtRandom`): collections at random safe points, goals that go to whichever worker,
//! pauses.
//!
//! Small programs end before an idle worker has asked for anything, and busy workers give their oldest goals only.
//! Here every attention may publish, settle slots, give a goal to any worker, put resumed goals elsewhere, or let
//! others run first; so short programs too meet variables of other workers, goals that come back, vectors claimed by
//! two; and of several nodes each throws goals to whichever node. Nothing is done that could not happen anyway.

use crate::goals::state::NO_PRIORITY;
use crate::memory::ranges::read;
use crate::worker::{Collect, Worker};
use std::time::Duration;
use term::abi::{BOTTOM, PredicateId};

/// Bytes that are allocated between two collections, at most.
const NURSERY_BYTES_MAX: usize = 32 << 10;
/// Attentions between two that make disorder, at most.
const CALM_BYTES_MAX: usize = 512;

/// After this number of throws of a node, another one is half as likely.
const THROWS: usize = 128;

impl Worker {
    /// C3: the limit of an empty nursery with room for what the next reduction needs.
    pub(crate) fn first_limit(&mut self) -> usize {
        let need = self.wanted.take_words();
        let (base, full) = (self.heap.nursery(), self.heap.limit(need));
        match (self.options.collect, &mut self.sharing.shaker) {
            (Collect::WhenFull, _) => full,
            (Collect::AtRandom(_), Some(shaker)) => {
                full.min(base + 8 * need + shaker.bytes(NURSERY_BYTES_MAX))
            }
            (Collect::Always | Collect::AtRandom(_), _) => base + 8 * need,
        }
    }
    /// At an attention of a node among several: the goal on top of the stack, if it is the program's, may go to any
    /// node. The longer a program runs, the rarer: a goal that has to read much must stay somewhere until it has.
    #[cold]
    pub(crate) fn scatter(&mut self) {
        let Some(mut shaker) = self.sharing.shaker.take() else { return };
        let top = self.abi.goals as usize;
        let to = shaker.below(self.options.nodes as usize) as u32;
        let goal = read(top - 8);
        let predicate = PredicateId::of_goal_word(goal);
        if shaker.one_in(2) {
            self.settle_all();
        }
        let of_program = !self.is_special(top) && goal.bits() >= self.abi.first_compiled.bits();
        if of_program
            && to != self.options.node
            && !self.is_lost(to)
            && shaker.one_in(1 << (shaker.thrown / THROWS).min(30))
        {
            shaker.thrown += 1;
            let words = self.pop_goal();
            self.throw(to, predicate, &words[..words.len() - 1]);
        }
        self.attention.look_at(self.abi.heap as usize + shaker.bytes(CALM_BYTES_MAX));
        self.sharing.shaker = Some(shaker);
    }
    /// At an attention of one of several workers.
    #[cold]
    pub(crate) fn shake(&mut self) {
        // A worker that has nothing to do, and many may have nothing, disturbs nobody.
        if read(self.abi.goals as usize - 8) == BOTTOM.goal_word() {
            return;
        }
        let Some(mut shaker) = self.sharing.shaker.take() else { return };
        let others = self.shared.team.len() - 1;
        if shaker.one_in(4) {
            self.publish();
        }
        if shaker.one_in(4) {
            self.settle_all();
        }
        if shaker.one_in(2) {
            self.goals.go_the_other_way();
        }
        if shaker.one_in(8) {
            self.take_turn(true);
        }
        if shaker.one_in(2) {
            let surplus = self.surplus(2, NO_PRIORITY);
            if !surplus.is_empty() {
                self.give((self.index + 1 + shaker.below(others)) % (others + 1), surplus, shaker.one_in(2));
            }
        }
        if shaker.one_in(64) {
            self.send_all((self.index + 1 + shaker.below(others)) % (others + 1));
        }
        match shaker.below(64) {
            0 => std::thread::sleep(Duration::from_micros(20)),
            1..8 => std::thread::yield_now(),
            _ => {}
        }
        // A collection makes all workers attend: more often, and one would follow the other for ever.
        if shaker.one_in(64 * (others + 1)) {
            self.collect_soon();
        }
        self.attention.look_at(self.abi.heap as usize + shaker.bytes(CALM_BYTES_MAX));
        self.sharing.shaker = Some(shaker);
    }
}
