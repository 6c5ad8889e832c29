//! Slots: arguments in records on the goal stack that a goal above them is going to fill (C7 of `term::abi`).

use crate::lower::Lower;
use compiler::ir::{At, Block, End, GoalCall, Op, Operand, Reg};
use cranelift_codegen::ir::{self, InstBuilder, Value};
use term::abi::SPENT_ARITIES;
use term::word::{Tag, UNBOUND};

/// A variable or slot that the result of arithmetic goes to.
#[derive(Clone, Copy)]
pub(crate) struct Bound {
    pub(crate) var: Reg,
    pub(crate) at: At,
    /// It may be a slot.
    pub(crate) slot: bool,
}

impl Lower<'_, '_> {
    /// Writes a goal's record whose arguments may be new slots: afterwards their registers lead there.
    pub(crate) fn put_goal_with_slots(&mut self, goal: &GoalCall) {
        let offset = self.goals_offset;
        let mut made = Vec::new();
        for (index, &argument) in goal.arguments.iter().enumerate() {
            if let Operand::Reg(register) = argument
                && let Some(at) = self.slots.iter().position(|&slot| slot == register)
            {
                self.slots.swap_remove(at);
                let empty = self.word(UNBOUND);
                self.define(register, empty);
                made.push((register, offset + 8 * index as i64));
            }
        }
        self.put_goal(goal);
        let base = self.b.use_var(self.goals);
        for (register, place) in made {
            let reference = self.offset(base, place + Tag::Header as i64);
            self.define(register, reference);
        }
    }

    /// Stores the value if the register leads to a slot; else unifies it.
    pub(crate) fn fill_or_unify(&mut self, var: Reg, value: Operand, at: At) {
        let done = self.b.create_block();
        self.fill_or_unify_to(var, value, at, done);
        self.enter_block(done);
    }

    /// The same, and goes to `done`.
    pub(crate) fn fill_or_unify_to(&mut self, var: Reg, value: Operand, at: At, done: ir::Block) {
        let word = self.operand(value);
        self.read(var);
        self.store_in_slot(var, word, done);
        self.unify_to(Operand::Reg(var), value, at, done);
    }

    pub(crate) fn put_in_slot(&mut self, slot: Reg, value: Operand) {
        let (word, place) = (self.operand(value), self.read(slot));
        self.store(word, place, -(Tag::Header as i64));
    }

    /// Stores the value and goes to `done` if the register leads to a slot; else goes on.
    pub(crate) fn store_in_slot(&mut self, var: Reg, value: Value, done: ir::Block) {
        let cell = self.read_raw(var);
        let (slot, other) = (self.next_block(), self.next_block());
        let differs = self.tag_differs(cell, Tag::Header);
        self.b.ins().brif(differs, other, &[], slot, &[]);
        self.enter_block(slot);
        self.store(value, cell, -(Tag::Header as i64));
        self.b.ins().jump(done, &[]);
        self.enter_block(other);
    }

    /// The arguments that the routine which suspends the goal at the end of a block settles: a bit for each.
    pub(crate) fn settled_at_end(&self, block: &Block) -> u64 {
        let (End::Suspend { goal, .. } | End::SuspendOrFail { goal }) = &block.end else { return 0 };
        if goal.arguments.len() >= SPENT_ARITIES {
            return 0;
        }
        let settles = |argument: &Operand| {
            block.ops.iter().any(|op| matches!(op, Op::Settle { var } if Operand::Reg(*var) == *argument))
        };
        let arguments = goal.arguments.iter().enumerate();
        arguments.filter(|(_, argument)| settles(argument)).map(|(at, _)| 1 << at).sum()
    }

    /// A goal that led to a slot leads to a new variable, and so does the slot.
    pub(crate) fn settle(&mut self, var: Reg) {
        if self.settled != 0 {
            return;
        }
        let cell = self.read(var);
        let (slot, done) = (self.cold_block(), self.next_block());
        let differs = self.tag_differs(cell, Tag::Header);
        self.b.ins().brif(differs, done, &[], slot, &[]);
        self.enter_block(slot);
        let heap = self.heap_now();
        let unbound = self.word(UNBOUND);
        self.store(unbound, heap, 0);
        let variable = self.offset(heap, Tag::Ref as i64);
        self.store(variable, cell, -(Tag::Header as i64));
        self.redefine(var, variable);
        let base = self.b.use_var(self.heap);
        let after = self.offset(base, 8);
        self.b.def_var(self.heap, after);
        self.b.ins().jump(done, &[]);
        self.enter_block(done);
    }
}
