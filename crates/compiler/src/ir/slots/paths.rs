//! What a version of a predicate does with its arguments (I7 and I8 of [`crate::ir`]).

use super::uses::parameters;
use super::{Heads, Place};
use crate::ir::verify::{end_defines, end_uses, op_defines, op_uses, successors};
use crate::ir::{Block, BlockId, Component, End, GoalCall, Op, Operand, Reg};
use rustc_hash::FxHashMap;

/// What the paths of one version do with its arguments.
pub(super) struct Paths<'c> {
    pub(super) component: &'c Component,
    pub(super) number: usize,
    pub(super) heads: &'c Heads,
    pub(super) own: &'c GoalCall,
    pub(super) strict: bool,
    /// The arguments in registers.
    pub(super) bits: FxHashMap<Reg, u32>,
    pub(super) all: u64,
    /// Arguments that take no slots.
    pub(super) spoilt: u64,
    pub(super) passed: Vec<(u32, Place)>,
    /// Arguments that are bound by plain stores.
    pub(super) stored: u64,
    /// Blocks, and what was done with on the way there.
    pub(super) seen: FxHashMap<BlockId, Done>,
}

/// Arguments on a path.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct Done {
    /// Bound or passed on.
    used: u64,
    /// Variables, if they were slots.
    settled: u64,
}

impl Paths<'_> {
    fn bit(&self, operand: Operand) -> u64 {
        let Operand::Reg(register) = operand else { return 0 };
        self.bits.get(&register).map_or(0, |at| 1 << at)
    }
    fn consume(&mut self, bit: u64, done: &mut Done) {
        self.spoilt |= bit & (done.used | done.settled);
        done.used |= bit;
    }
    pub(super) fn follow(&mut self, block: BlockId) {
        let mut work = vec![(block, Done::default())];
        while let Some((block, mut done)) = work.pop() {
            if let Some(before) = self.seen.insert(block, done) {
                self.spoilt |= before.used ^ done.used | before.settled ^ done.settled;
                continue;
            }
            let component = self.component;
            let Block { ops, end } = &component.blocks[block.0 as usize];
            ops.iter().for_each(|op| self.op(op, &mut done));
            self.end(end, done, &mut work);
        }
    }
    fn op(&mut self, op: &Op, done: &mut Done) {
        match op {
            Op::Poll { .. } => {}
            Op::Unify { a, b, .. } if !self.strict => match [self.bit(*a), self.bit(*b)] {
                // Of two arguments one may be the result: the one that has not been tested, or is on the left.
                [a, b] if a == 0 || b != 0 && self.spoilt & a != 0 => {
                    self.spoilt |= a;
                    self.consume(b, done);
                }
                [a, b] => {
                    self.spoilt |= b;
                    self.consume(a, done);
                }
            },
            Op::Fill { var, value, .. } => {
                self.spoilt |= self.bit(*value);
                self.consume(self.bit(Operand::Reg(*var)), done);
            }
            Op::BindFresh { var, value } if !self.strict => self.store(*var, *value, done),
            Op::Put { slot, value } => self.store(*slot, *value, done),
            Op::Settle { var } => done.settled |= self.bit(Operand::Reg(*var)),
            Op::Push { goal, places } if places.is_empty() => self.pass(goal, done),
            _ => {
                let mut bits = 0;
                op_uses(op, &mut |operand| bits |= self.bit(operand));
                self.spoilt |= bits;
            }
        }
        for register in op_defines(op) {
            self.spoilt |= self.bit(Operand::Reg(register));
        }
    }
    fn store(&mut self, to: Reg, value: Operand, done: &mut Done) {
        let bit = self.bit(Operand::Reg(to));
        self.spoilt |= self.bit(value);
        self.stored |= bit;
        self.consume(bit, done);
    }
    fn pass(&mut self, goal: &GoalCall, done: &mut Done) {
        let head = self.heads.get(&goal.predicate).copied();
        for (position, &argument) in goal.arguments.iter().enumerate() {
            self.pass_to(self.bit(argument), head.map(|head| (head, position as u32)), done);
        }
    }
    fn pass_to(&mut self, bit: u64, to: Option<Place>, done: &mut Done) {
        if bit == 0 {
            return;
        }
        self.consume(bit, done);
        match to {
            Some(to) => self.passed.push((bit.trailing_zeros(), to)),
            None => self.spoilt |= bit,
        }
    }
    /// The end of a reduction that committed.
    fn finish(&mut self, done: Done) {
        self.spoilt |= self.all & !done.used;
    }
    /// The goal as it was.
    fn unchanged(&mut self, goal: &GoalCall, done: Done) {
        let settled = if self.strict { self.all & !done.settled } else { 0 };
        self.spoilt |= done.used | settled;
        if goal != self.own {
            self.spoilt = self.all;
        }
    }
    fn end(&mut self, end: &End, mut done: Done, work: &mut Vec<(BlockId, Done)>) {
        match end {
            End::TryBind { var, value, done: stored, other } => {
                self.spoilt |= self.bit(*value);
                work.push((*other, done));
                self.consume(self.bit(Operand::Reg(*var)), &mut done);
                work.push((*stored, done));
            }
            End::Call(goal) => {
                self.pass(goal, &mut done);
                self.finish(done);
            }
            End::Jump { block, moves } => {
                let parameters = parameters(self.component, *block);
                for &(to, from) in moves {
                    if !parameters.contains(&Some(to)) {
                        self.spoilt |= self.bit(from);
                    }
                }
                for (position, parameter) in parameters.into_iter().enumerate() {
                    let Some(parameter) = parameter else { continue };
                    let moved = moves.iter().find(|(to, _)| *to == parameter);
                    let source = moved.map_or(Operand::Reg(parameter), |&(_, from)| from);
                    let to = ((self.number, *block), position as u32);
                    self.pass_to(self.bit(source), Some(to), &mut done);
                }
                self.finish(done);
            }
            End::Proceed => self.finish(done),
            End::Suspend { goal, on } => {
                let on = on.iter().fold(0, |bits, &register| bits | self.bit(Operand::Reg(register)));
                self.spoilt |= on;
                self.unchanged(goal, done);
            }
            End::SuspendOrFail { goal } => self.unchanged(goal, done),
            // The report shows a variable in the place of a slot.
            End::Fail { goal } => self.unchanged(goal, Done { settled: self.all, ..done }),
            _ => {
                let mut bits = 0;
                end_uses(end, &mut |operand| bits |= self.bit(operand));
                for (register, _) in end_defines(end) {
                    bits |= self.bit(Operand::Reg(register));
                }
                self.spoilt |= bits;
                work.extend(successors(end).into_iter().map(|next| (next, done)));
            }
        }
    }
}
