//! Daemons of shoens, and of what stands for shoens of other nodes: X15 and X20 of the module `shoen`.

use super::{Lane, Shoen, Shoens, Tables, Told};
use crate::coordination::sync::atomic::Ordering::SeqCst;
use crate::coordination::sync::lock;
use rustc_hash::FxHashSet;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// Lanes of daemons, by the number of their shoen, by that of the foster that it is a goal of, and by those of what is
/// around that.
#[derive(Debug, Default)]
pub(super) struct Daemons(BTreeSet<(i64, i64)>);

impl Daemons {
    pub(super) fn add(&mut self, shoen: &Arc<Shoen>, lane: i64) {
        self.0.extend(numbers(shoen).into_iter().map(|number| (number, lane)));
    }
    pub(super) fn remove(&mut self, shoen: &Arc<Shoen>, lane: i64) {
        numbers(shoen).into_iter().for_each(|number| _ = self.0.remove(&(number, lane)));
    }
}

/// Numbers of shoens that were aborted, the last [`REMEMBERED`]: a daemon of theirs may be under way yet.
#[derive(Debug, Default)]
pub(super) struct Aborted {
    all: FxHashSet<i64>,
    oldest_first: VecDeque<i64>,
}

/// Far more than are aborted while a message is under way.
const REMEMBERED: usize = 4096;

impl Aborted {
    pub(super) fn add(&mut self, number: i64) {
        if !self.all.insert(number) {
            return;
        }
        self.oldest_first.push_back(number);
        if self.oldest_first.len() > REMEMBERED
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.all.remove(&oldest);
        }
        debug_assert!(self.all.len() <= REMEMBERED, "X20: what is remembered is bounded");
    }
}

/// Its own, and those of shoens around it that are aborted elsewhere.
fn numbers(shoen: &Arc<Shoen>) -> BTreeSet<i64> {
    let outermost = shoen.outwards().last();
    let told = outermost.filter(|outermost| outermost.foster.is_some() || !outermost.around.is_empty());
    let others = told.iter().flat_map(Shoen::numbers);
    others.chain([shoen.number]).collect()
}

impl Shoen {
    /// X20: another node has goals of it, or daemons.
    pub(in super::super) fn is_at(&self, node: u32) {
        lock(&self.nodes).insert(node);
    }
    /// X20: nodes that have had goals of it; of a foster those where daemons are left.
    pub(in super::super) fn nodes(&self) -> BTreeSet<u32> {
        lock(&self.nodes).clone()
    }
    /// X20: what is told of it and of what is around it, which a foster is told in their place.
    pub(crate) fn told_around(self: &Arc<Shoen>) -> Told {
        let kinds = self.outwards().fold(0, |kinds, shoen| kinds | shoen.kinds);
        Told { kinds, range: self.range, depth: self.depth, around: self.numbers().skip(1).collect() }
    }
    /// Its number, and those of all shoens around it at any node, from the inside.
    pub(in super::super) fn numbers(self: &Arc<Shoen>) -> impl Iterator<Item = i64> {
        self.outwards().flat_map(|shoen| [&[shoen.number], &*shoen.around].concat())
    }
}

impl Tables {
    /// Lanes of daemons of the shoen with this number, and of those inside, that are not dropped.
    fn daemons(&self, number: i64) -> impl Iterator<Item = (i64, &Arc<Lane>)> {
        let all = self.daemons.0.range((number, i64::MIN)..=(number, i64::MAX));
        let lanes = all.filter_map(|&(_, lane)| Some((lane, self.lanes.get(&lane)?)));
        lanes.filter(|(_, lane)| !lane.is_dead())
    }
}

impl Shoens {
    /// X20: whether daemons of the shoen with this number may be here, which was not aborted.
    pub(in super::super) fn has_daemons(&self, number: i64) -> bool {
        lock(&self.tables).daemons(number).next().is_some()
    }
    /// X20: whether the shoen with this number was aborted of late.
    pub(in super::super) fn was_aborted(&self, number: i64) -> bool {
        lock(&self.tables).aborted.all.contains(&number)
    }
    /// X20: the daemons of the shoen with this number are dropped whose goals here are over, and those that come yet.
    /// True if there were any.
    pub(in super::super) fn abort_daemons(&self, number: i64) -> bool {
        let mut tables = lock(&self.tables);
        tables.aborted.add(number);
        let over = tables.daemons(number).filter(|(_, lane)| lane.shoen.tally.is_over());
        let over: Vec<(i64, Arc<Lane>)> = over.map(|(number, lane)| (number, lane.clone())).collect();
        drop(tables);
        over.iter().for_each(|(_, lane)| _ = lane.shoen.tally.abort());
        self.free(&over.iter().map(|(number, _)| *number).collect::<Vec<_>>());
        if !over.is_empty() {
            self.deserted.store(true, SeqCst);
        }
        !over.is_empty()
    }
    /// X21: numbers of shoens of a node whose daemons are here.
    pub(in super::super) fn with_daemons(&self, node: u32) -> Vec<i64> {
        let tables = lock(&self.tables);
        let numbers = tables.daemons.0.iter().map(|&(number, _)| number);
        let mut numbers: Vec<i64> = numbers.filter(|&number| self.home(number) == node).collect();
        numbers.dedup();
        numbers
    }
    /// X20: where a daemon of this priority runs that has come from another node, and whether nothing of its shoen was
    /// here. `None`: it is dropped.
    pub(in super::super) fn lane_of_daemon(
        &self,
        number: i64,
        rank: i64,
        from: u32,
        told: Told,
    ) -> Option<(i64, bool)> {
        let tables = lock(&self.tables);
        let here = tables.shoens.get(&number).map(|(shoen, _)| shoen.clone());
        let mut left =
            tables.daemons(number).map(|(_, lane)| &lane.shoen).filter(|left| left.number == number);
        let known = here.or_else(|| left.next().cloned());
        drop(left);
        drop(tables);
        if let Some(shoen) = known {
            return (!shoen.tally.is_aborted()).then(|| (self.lane_of(&shoen, rank, true), false));
        }
        if std::iter::once(&number).chain(&told.around).any(|&number| self.was_aborted(number)) {
            return None;
        }
        // At its own node it is over, and nothing more is known of it.
        let other = self.home(number) != self.node;
        let shoen = Shoen::new(number, None, told.range.1, told, other.then_some(from));
        shoen.tally.begin();
        let over = shoen.tally.leave();
        debug_assert!(over, "X20: nothing counts daemons");
        Some((self.lane_of(&shoen, rank, true), other))
    }
}
