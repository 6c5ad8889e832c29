//! Goals of shoens that wait for ever: each shoen is told of its own, the innermost first.

use super::is_lane;
use crate::goals::shoen::state::{Shoen, kind_bit};
use crate::memory::ranges::read;
use crate::worker::Worker;
use crate::worker::all::Shared;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use term::Word;
use term::abi::PredicateId;
use term::layout::{SUSPENSION_ARGS, SUSPENSION_PREDICATE, SUSPENSION_PRIORITY};

/// Goals of one shoen that are reported, at most.
const REPORTED: usize = 100;

/// Nothing is ready at this node, and worker 0 has it for itself: shoens are told of their goals that wait, which it
/// reports: of this depth, or if that is not given the innermost. True if there were any that had not been told.
pub(crate) fn tell_of_deadlock(shared: &Shared, depth: Option<u32>) -> bool {
    if shared.shoens.is_empty() {
        return false;
    }
    let (crew, waiting) = (shared.crew(), all_waiting(shared));
    let told = crew.with(0, |worker| worker.tell_shoens(&waiting, depth));
    if told {
        shared.team.go_on();
    }
    told
}

/// The same, where other nodes may have shoens farther inside: the greatest depth of a shoen that was not told.
pub(crate) fn deepest_deadlock(shared: &Shared) -> Option<u32> {
    if shared.shoens.is_empty() {
        return None;
    }
    let waiting = all_waiting(shared);
    let stuck = shared.crew().with(0, |worker| worker.stuck_shoens(&waiting));
    let untold = stuck.values().filter(|(shoen, _)| !shoen.told.load(Relaxed));
    untold.map(|(shoen, _)| shoen.depth).max()
}

/// The records of all goals that wait.
fn all_waiting(shared: &Shared) -> Vec<usize> {
    let mut waiting = Vec::new();
    shared.crew().each(|worker| {
        // What they lead to is in the reports of worker 0.
        worker.publish();
        waiting.extend(worker.waiting_goals());
    });
    waiting
}

impl Worker {
    /// The shoens that are told of these goals (their records), by number.
    fn stuck_shoens(&mut self, waiting: &[usize]) -> BTreeMap<i64, (Arc<Shoen>, Vec<usize>)> {
        let mut stuck: BTreeMap<i64, (Arc<Shoen>, Vec<usize>)> = BTreeMap::new();
        for &record in waiting {
            let lane = read(record + 8 * SUSPENSION_PRIORITY).as_int();
            let Some(shoen) = self.shoen_of(lane).filter(|_| is_lane(lane)) else { continue };
            // What nobody is told of inside is told outside.
            let Some(told) = self.listener(&shoen, kind_bit("deadlock")) else { continue };
            stuck.entry(told.number).or_insert_with(|| (told, Vec::new())).1.push(record);
        }
        stuck
    }
    /// These goals (their records) wait for ever: shoens are told that had not been, of this depth, or the innermost.
    /// True if there were any.
    pub(crate) fn tell_shoens(&mut self, waiting: &[usize], depth: Option<u32>) -> bool {
        let stuck = self.stuck_shoens(waiting);
        let around: Vec<i64> = stuck
            .values()
            .filter(|(shoen, _)| !shoen.told.load(Relaxed))
            .flat_map(|(shoen, _)| shoen.outwards().skip(1).map(|outer| outer.number))
            .collect();
        let mut told = false;
        for (number, (shoen, records)) in stuck {
            let other = depth.is_some_and(|depth| shoen.depth != depth);
            if other || around.contains(&number) || shoen.told.swap(true, Relaxed) {
                continue;
            }
            let goals: Vec<Word> =
                records.iter().take(REPORTED).map(|&record| self.waiting_term(record)).collect();
            let goals = self.list(&goals, Word::NIL);
            let name = self.intern("deadlock");
            let event = self.structure(name, &[goals]);
            self.tell_shoen(&shoen, kind_bit("deadlock"), event);
            told = true;
        }
        told
    }
    /// The goal that waits in a record.
    fn waiting_term(&mut self, record: usize) -> Word {
        let predicate = PredicateId::of_goal_word(read(record + 8 * SUSPENSION_PREDICATE));
        let arity = self.predicates.arity(predicate);
        let args: Vec<Word> = (0..arity).map(|i| read(record + 8 * (SUSPENSION_ARGS + i))).collect();
        self.goal_term(predicate, &args)
    }
}
