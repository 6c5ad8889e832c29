//! Which versions of predicates take slots (I7 of [`crate::ir`]).

use super::paths::Paths;
use super::uses::{parameters, quiet_from, taker, uses};
use super::{ARGUMENTS_MAX, Head, Heads, Place};
use crate::ir::{BlockId, Component, End, GoalCall, Op, Operand, Reg};
use rustc_hash::{FxHashMap, FxHashSet};

/// Which versions take slots, and where these go from there.
pub(super) struct Takers {
    pub(super) heads: Heads,
    /// By version: the arguments (a bit each) that take slots.
    pub(super) masks: FxHashMap<Head, u64>,
    /// Where the versions pass them on.
    pub(super) passed: Vec<(Place, Place)>,
    /// Those that get nothing but slots, or else (if they do not take them) nothing but fresh variables: they bind them
    /// by plain stores, or pass them on to such ones.
    pub(super) certain: FxHashSet<Place>,
}

impl Takers {
    /// `strict`: as the code is, not as it may become.
    pub(super) fn new(components: &[Component], strict: bool) -> Takers {
        let (heads, masks) = (Heads::default(), FxHashMap::default());
        let mut takers = Takers { heads, masks, passed: Vec::new(), certain: FxHashSet::default() };
        for (number, component) in components.iter().enumerate() {
            for entry in &component.entries {
                takers.heads.insert(entry.predicate, (number, entry.block));
            }
        }
        for (number, component) in components.iter().enumerate() {
            for (index, block) in component.blocks.iter().enumerate() {
                if let Some(Op::Poll { goal, .. }) = block.ops.first() {
                    takers.version(number, component, BlockId(index as u32), goal, strict);
                }
            }
        }
        takers.be_certain();
        for (number, component) in components.iter().enumerate() {
            takers.jumps(number, component, strict);
        }
        takers.close();
        takers
    }
    /// A place that passes on to one that is certain is so, too. Ordinary versions get whatever there is.
    fn be_certain(&mut self) {
        let givers = by(self.passed.iter().map(|&(giver, taker)| (taker, giver)));
        let mut work: Vec<Place> = self.certain.drain().collect();
        while let Some(place) = work.pop() {
            if self.certain.insert(place) {
                work.extend(givers.get(&place).into_iter().flatten());
            }
        }
        let ordinary: FxHashSet<Head> = self.heads.values().copied().collect();
        for &(head, argument) in self.certain.iter().filter(|place| ordinary.contains(&place.0)) {
            self.masks.entry(head).and_modify(|mask| *mask &= !(1 << argument));
        }
    }
    /// Spoils places that are certain and to which something comes that can be no slot.
    fn jumps(&mut self, number: usize, component: &Component, strict: bool) {
        let heads: FxHashSet<Head> = self.certain.iter().map(|place| place.0).collect();
        if !heads.iter().any(|head| head.0 == number) {
            return;
        }
        let polls = (0..component.blocks.len()).map(|block| parameters(component, BlockId(block as u32)));
        let arguments: FxHashSet<Reg> = polls.flatten().flatten().collect();
        let made = |op: &Op| matches!(op, Op::Var { .. } if !strict) || matches!(op, Op::Slot { .. });
        for block in &component.blocks {
            let End::Jump { block: to, moves } = &block.end else { continue };
            let head = (number, *to);
            if !heads.contains(&head) {
                continue;
            }
            let (quiet, uses) = (quiet_from(block), uses(number, component, block, &self.heads, &made));
            for (position, parameter) in parameters(component, *to).into_iter().enumerate() {
                let place = (head, position as u32);
                if !self.certain.contains(&place) {
                    continue;
                }
                let moved = moves.iter().find(|(to, _)| Some(*to) == parameter);
                let source = moved.map_or(parameter.map(Operand::Reg), |&(_, from)| Some(from));
                let right = matches!(source, Some(Operand::Reg(register)) if match uses.get(&register) {
                    Some(uses) => taker(quiet, uses, &self.heads) == Some(place),
                    None => arguments.contains(&register),
                });
                if !right && let Some(mask) = self.masks.get_mut(&head) {
                    *mask &= !(1 << position);
                }
            }
        }
    }
    pub(super) fn takes(&self, (head, argument): Place) -> bool {
        argument < ARGUMENTS_MAX as u32 && self.masks.get(&head).is_some_and(|mask| mask >> argument & 1 == 1)
    }
    fn version(
        &mut self,
        number: usize,
        component: &Component,
        block: BlockId,
        goal: &GoalCall,
        strict: bool,
    ) {
        let head = (number, block);
        let arguments = goal.arguments.len().min(ARGUMENTS_MAX);
        let mut bits = FxHashMap::default();
        let mut spoilt = 0;
        for (position, &argument) in goal.arguments.iter().take(arguments).enumerate() {
            let Operand::Reg(register) = argument else {
                spoilt |= 1 << position;
                continue;
            };
            if let Some(before) = bits.insert(register, position as u32) {
                spoilt |= 1 << before | 1 << position;
            }
        }
        let all = if arguments == 64 { u64::MAX } else { (1 << arguments) - 1 };
        let mut paths = Paths {
            component,
            number,
            heads: &self.heads,
            own: goal,
            strict,
            bits,
            all,
            spoilt,
            passed: Vec::new(),
            stored: 0,
            seen: FxHashMap::default(),
        };
        if all != 0 {
            paths.follow(block);
        }
        let (mut mask, passed) = (all & !paths.spoilt, paths.passed);
        let stored = (0..arguments as u32).filter(|at| paths.stored >> at & 1 == 1);
        self.certain.extend(stored.map(|at| (head, at)));
        // What is pushed back goes on in the ordinary version.
        match self.heads.get(&goal.predicate) {
            Some(&ordinary) if ordinary == head => {}
            Some(&ordinary) => {
                self.passed.extend((0..arguments as u32).map(|at| ((head, at), (ordinary, at))));
            }
            None => mask = 0,
        }
        self.masks.insert(head, mask);
        self.passed.extend(passed.into_iter().map(|(at, to)| ((head, at), to)));
    }
    /// A place that passes a slot on to where none is taken takes none; and where something else is passed on to a
    /// place that is certain, that takes none.
    fn close(&mut self) {
        let back = self.passed.iter().map(|&(giver, taker)| (taker, giver));
        let on = self.passed.iter().copied().filter(|(_, taker)| self.certain.contains(taker));
        let from = by(back.chain(on));
        let untaken = from.iter().filter(|&(&place, _)| !self.takes(place));
        let mut work: Vec<Place> = untaken.flat_map(|(_, others)| others).copied().collect();
        while let Some(place) = work.pop() {
            if !self.takes(place) {
                continue;
            }
            if let Some(mask) = self.masks.get_mut(&place.0) {
                *mask &= !(1 << place.1);
            }
            work.extend(from.get(&place).into_iter().flatten());
        }
    }
    /// Adds what gets a slot because others do.
    pub(super) fn spread(&self, given: &mut FxHashSet<Place>) {
        if given.is_empty() {
            return;
        }
        let to = by(self.passed.iter().copied());
        let mut work: Vec<Place> = given.iter().copied().collect();
        while let Some(place) = work.pop() {
            let next = to.get(&place).into_iter().flatten();
            work.extend(next.filter(|&&place| given.insert(place)));
        }
    }
}

/// The second of each pair, by the first.
pub(super) fn by(pairs: impl Iterator<Item = (Place, Place)>) -> FxHashMap<Place, Vec<Place>> {
    let mut all: FxHashMap<Place, Vec<Place>> = FxHashMap::default();
    pairs.for_each(|(from, to)| all.entry(from).or_default().push(to));
    all
}
