//! How the new variables of a block are used (I6 of [`crate::ir`]).

use super::{Heads, Place};
use crate::ir::verify::{end_uses, op_defines, op_uses};
use crate::ir::{Block, BlockId, Component, End, Op, Operand, Reg};
use rustc_hash::FxHashMap;
use term::abi::PredicateId;

/// A goal's use of a register.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Use {
    /// As this argument of the goal that the operation with this number pushes, without places.
    Pushed(usize, PredicateId, usize),
    /// As this argument of the version where the block ends.
    Ended(Place),
    Other,
}

/// From this operation of a block on nothing looks at the goal stack.
pub(super) fn quiet_from(block: &Block) -> usize {
    let loud = |op: &Op| match op {
        Op::Push { places, .. } => !places.is_empty(),
        Op::Move { .. }
        | Op::Car { .. }
        | Op::Cdr { .. }
        | Op::Arg { .. }
        | Op::Column { .. }
        | Op::Cons { .. }
        | Op::Struct { .. }
        | Op::Var { .. }
        | Op::Slot { .. }
        | Op::Vector { .. } => false,
        _ => true,
    };
    block.ops.iter().rposition(loud).map_or(0, |last| last + 1)
}

/// I6: which argument has to take a variable that is used like this if it is to be a slot; `None` if it is to be none.
pub(super) fn taker(quiet: usize, uses: &[Use], heads: &Heads) -> Option<Place> {
    let &[Use::Pushed(first, ..), second] = uses else { return None };
    let taker = match second {
        Use::Pushed(next, predicate, argument) if next > first => (*heads.get(&predicate)?, argument as u32),
        Use::Ended(place) => place,
        _ => return None,
    };
    (first >= quiet).then_some(taker)
}

/// How the registers are used that operations define which are `made`.
pub(super) fn uses(
    number: usize,
    component: &Component,
    block: &Block,
    heads: &Heads,
    made: &dyn Fn(&Op) -> bool,
) -> FxHashMap<Reg, Vec<Use>> {
    let mut all: FxHashMap<Reg, Vec<Use>> = FxHashMap::default();
    let note = |all: &mut FxHashMap<Reg, Vec<Use>>, operand: Operand, how: Use| {
        if let Operand::Reg(register) = operand
            && let Some(uses) = all.get_mut(&register)
        {
            uses.push(how);
        }
    };
    for (index, op) in block.ops.iter().enumerate() {
        match op {
            Op::Push { goal, places } if places.is_empty() => {
                for (position, &argument) in goal.arguments.iter().enumerate() {
                    note(&mut all, argument, Use::Pushed(index, goal.predicate, position));
                }
            }
            _ => op_uses(op, &mut |operand| note(&mut all, operand, Use::Other)),
        }
        for register in op_defines(op) {
            if made(op) {
                all.insert(register, Vec::new());
            } else {
                note(&mut all, Operand::Reg(register), Use::Other);
            }
        }
    }
    if all.is_empty() {
        return all;
    }
    match &block.end {
        End::Call(goal) => {
            let head = heads.get(&goal.predicate);
            for (position, &argument) in goal.arguments.iter().enumerate() {
                let how = head.map_or(Use::Other, |&head| Use::Ended((head, position as u32)));
                note(&mut all, argument, how);
            }
        }
        End::Jump { block, moves } => {
            let parameters = parameters(component, *block);
            for &(to, from) in moves {
                let position = parameters.iter().position(|&parameter| parameter == Some(to));
                let how = position.map_or(Use::Other, |at| Use::Ended(((number, *block), at as u32)));
                note(&mut all, from, how);
            }
        }
        end => end_uses(end, &mut |operand| note(&mut all, operand, Use::Other)),
    }
    all
}

/// The registers of a version's arguments.
pub(super) fn parameters(component: &Component, head: BlockId) -> Vec<Option<Reg>> {
    let Some(Op::Poll { goal, .. }) = component.blocks[head.0 as usize].ops.first() else {
        return Vec::new();
    };
    let register = |&argument: &Operand| match argument {
        Operand::Reg(register) => Some(register),
        _ => None,
    };
    goal.arguments.iter().map(register).collect()
}
