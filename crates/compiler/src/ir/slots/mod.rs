//! Results without variables: a new variable that one goal of a body binds and a later one reads becomes a place in
//! the later goal's record (I6 to I8 of [`crate::ir`]).
//!
//! A predicate *takes a slot* at an argument if each clause binds it once, to whatever value, or passes it on once to
//! a goal that takes a slot there, and does nothing else with it. Every version of a predicate has a head, the block
//! that polls; what is said here of arguments is said of heads, as versions differ in what they do with them. A
//! version for a fresh variable, which it binds by a plain store, becomes one for a slot if each jump to it has a
//! variable for it that can be a slot.

mod paths;
mod takers;
mod uses;

use crate::ir::verify::successors;
use crate::ir::{Block, BlockId, Component, End, Op, Operand, Reg};
use rustc_hash::{FxHashMap, FxHashSet};
use takers::Takers;
use term::abi::PredicateId;
use uses::{Use, parameters, quiet_from, taker, uses};

/// Arguments that are looked at; those of a goal that come later take no slots.
const ARGUMENTS_MAX: usize = 64;

/// A version of a predicate: the number of its component, and the block that polls.
type Head = (usize, BlockId);
/// The ordinary versions of the predicates.
type Heads = FxHashMap<PredicateId, Head>;
/// An argument of a version.
type Place = (Head, u32);

/// Gives slots to variables for which that is right.
pub(crate) fn give_slots(components: &mut [Component]) {
    let takers = Takers::new(components, false);
    let mut given: FxHashSet<Place> = FxHashSet::default();
    for (number, component) in components.iter_mut().enumerate() {
        for block in 0..component.blocks.len() {
            let found = candidates(number, component, block, &takers);
            given.extend(found.values());
            for op in component.blocks[block].ops.iter_mut().filter(|_| !found.is_empty()) {
                match *op {
                    Op::Var { dst } if found.contains_key(&dst) => *op = Op::Slot { dst },
                    _ => {}
                }
            }
        }
    }
    takers.spread(&mut given);
    fill_and_settle(components, &given);
}

/// What is wrong with the slots of a program (I6 to I8).
pub(crate) fn check(components: &[Component]) -> Vec<String> {
    let takers = Takers::new(components, true);
    let mut problems = Vec::new();
    for (number, component) in components.iter().enumerate() {
        for (index, block) in component.blocks.iter().enumerate() {
            let is_slot = |op: &Op| matches!(op, Op::Slot { .. });
            if !block.ops.iter().any(is_slot) {
                continue;
            }
            let quiet = quiet_from(block);
            for (slot, uses) in uses(number, component, block, &takers.heads, &is_slot) {
                if !taker(quiet, &uses, &takers.heads).is_some_and(|place| takers.takes(place)) {
                    let r = slot.0;
                    problems.push(format!("component {number}, b{index}: r{r} is no slot (I6, I7, I8)"));
                }
            }
        }
    }
    for &((number, head), argument) in &takers.certain {
        if !takers.takes(((number, head), argument)) {
            let b = head.0;
            problems.push(format!("component {number}, b{b}: argument {argument} may be no slot (I7)"));
        }
    }
    problems
}

/// The new variables of a block that can be slots, and the arguments that take them.
fn candidates(number: usize, component: &Component, block: usize, takers: &Takers) -> FxHashMap<Reg, Place> {
    let block = &component.blocks[block];
    let pushes = block.ops.iter().any(|op| matches!(op, Op::Push { .. }));
    if !pushes || !matches!(block.end, End::Jump { .. } | End::Call(_) | End::Proceed) {
        return FxHashMap::default();
    }
    let (quiet, is_variable) = (quiet_from(block), |op: &Op| matches!(op, Op::Var { .. }));
    let uses = uses(number, component, block, &takers.heads, &is_variable).into_iter();
    let taken = |uses: &[Use]| taker(quiet, uses, &takers.heads).filter(|&place| takers.takes(place));
    uses.filter_map(|(variable, uses)| Some((variable, taken(&uses)?))).collect()
}

/// Where versions get slots, they bind what may be one, and make a variable of it before the goal waits.
fn fill_and_settle(components: &mut [Component], given: &FxHashSet<Place>) {
    let mut by_head: FxHashMap<Head, u64> = FxHashMap::default();
    for &(head, argument) in given {
        *by_head.entry(head).or_insert(0) |= 1 << argument;
    }
    let mut heads: Vec<(Head, u64)> = by_head.into_iter().collect();
    heads.sort_unstable();
    let mut settled: FxHashSet<(Head, Reg)> = FxHashSet::default();
    for ((number, head), mask) in heads {
        let component = &mut components[number];
        let registers: Vec<Reg> = (parameters(component, head).into_iter().enumerate())
            .filter_map(|(at, register)| register.filter(|_| at < ARGUMENTS_MAX && mask >> at & 1 == 1))
            .collect();
        if let Some(Op::Poll { need, .. }) = component.blocks[head.0 as usize].ops.first_mut() {
            *need = (*need).max(registers.len() as u32);
        }
        let mut seen = FxHashSet::default();
        let mut work = vec![head];
        while let Some(block) = work.pop() {
            if !seen.insert(block) {
                continue;
            }
            let Block { ops, end } = &mut component.blocks[block.0 as usize];
            ops.iter_mut().for_each(|op| may_be_slot(op, &registers));
            match end {
                End::Suspend { .. } | End::SuspendOrFail { .. } => {
                    let new = registers.iter().filter(|&&var| settled.insert(((number, block), var)));
                    ops.extend(new.map(|&var| Op::Settle { var }));
                }
                End::Jump { .. } => {}
                end => work.extend(successors(end)),
            }
        }
    }
}

/// An operation that binds one of these registers binds what may be a slot, or is one if it was known to be fresh.
fn may_be_slot(op: &mut Op, registers: &[Reg]) {
    if let Op::BindFresh { var, value } = *op
        && registers.contains(&var)
    {
        *op = Op::Put { slot: var, value };
    }
    let Op::Unify { a, b, at } = *op else { return };
    let of_these = |operand| match operand {
        Operand::Reg(register) if registers.contains(&register) => Some(register),
        _ => None,
    };
    if let Some((var, value)) = of_these(a).map(|a| (a, b)).or_else(|| of_these(b).map(|b| (b, a))) {
        *op = Op::Fill { var, value, at };
    }
}
