//! Straight-line operations: the poll, goals, unification, builtins.

use crate::helpers::GENERATOR_BIT;
use crate::helpers::{Helper, Leave};
use crate::lower::{Kind, Lower, field};
use crate::options::Reductions;
use compiler::ir::{At, BlockId, GoalCall, Op, Operand, Place, Reg};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types::I64};
use term::abi::{PRIVATE_BYTES, PredicateId, SLACK_WORDS};
use term::word::{TAG_BITS, TAG_MASK, Tag, UNBOUND, Word};

/// Words that may be pushed between two comparisons with `goals_limit`: what remains of the slack takes the goal that
/// is pushed back or passed on (at most 256 words).
const PUSHED_MAX: usize = term::abi::GOAL_SLACK_WORDS / 2;

impl Lower<'_, '_> {
    pub(crate) fn op(&mut self, op: &Op) {
        match op {
            Op::Poll { goal, need } => self.poll(goal, *need),
            Op::Move { dst, src } => self.copy(*dst, *src),
            Op::Car { dst, src } => self.select(*dst, *src, Tag::Cons, 0),
            Op::Cdr { dst, src } => self.select(*dst, *src, Tag::Cons, 8),
            Op::Arg { dst, src, index } => self.select(*dst, *src, Tag::Struct, 8 * (1 + i64::from(*index))),
            Op::Column { dst, column } => self.column(*dst, *column),
            Op::Cons { dst, car, cdr } => self.cons(*dst, *car, *cdr),
            Op::Struct { dst, name, args } => self.structure(*dst, *name, args),
            Op::Var { dst } => self.variable(*dst),
            Op::Vector { dst, elements } => self.vector(*dst, elements),
            Op::Slot { dst } => self.slots.push(*dst),
            Op::Unify { a, b, at } => self.unify(*a, *b, *at),
            Op::Fill { var, value, at } => self.fill_or_unify(*var, *value, *at),
            Op::Put { slot, value } => self.put_in_slot(*slot, *value),
            Op::Settle { var } => self.settle(*var),
            Op::BindFresh { var, value } => self.bind_fresh(*var, *value),
            Op::Arith { op, dst, a, b, at } => self.arith((*op, *a, *b), *dst, *at, None),
            Op::Builtin { predicate, inputs, outputs, at } => self.builtin(*predicate, inputs, outputs, *at),
            Op::Push { goal, places } => self.push(goal, places),
            Op::Pend { var } => self.pend(*var),
        }
    }

    /// C3, C4.
    fn poll(&mut self, goal: &GoalCall, need: u32) {
        if self.env.options.reductions == Reductions::Counted {
            self.count_reduction();
        }
        let (cold, go) = (self.cold_block(), self.b.create_block());
        let heap = self.heap_now();
        // The limit changes behind the code's back (C4): it must be loaded here, each time.
        self.b.ins().sequence_point();
        let limit = self.worker_field(field!(limit));
        let large = need as usize > SLACK_WORDS;
        let above = if large {
            let end = self.offset(heap, 8 * i64::from(need));
            let limit = self.offset(limit, 8 * SLACK_WORDS as i64);
            self.b.ins().icmp(IntCC::UnsignedGreaterThan, end, limit)
        } else {
            self.b.ins().icmp(IntCC::UnsignedGreaterThan, heap, limit)
        };
        let metered = self.env.options.reductions == Reductions::Metered;
        let above = if metered {
            let count = self.worker_field(field!(reductions));
            let limit = self.worker_field(field!(reductions_limit));
            let used_up = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, count, limit);
            self.b.ins().bor(above, used_up)
        } else {
            above
        };
        self.b.ins().brif(above, cold, &[], go, &[]);
        self.enter_block(cold);
        if large {
            let need = self.b.ins().iconst(I64, i64::from(need));
            self.set_worker_field(field!(need), need);
            let never = self.b.ins().iconst(I64, 0);
            self.set_worker_field(field!(limit_after), never);
        }
        let (offset, lazy) = (self.goals_offset, self.lazy.clone());
        self.put_goal(goal);
        self.leave(Leave::Poll);
        (self.goals_offset, self.lazy) = (offset, lazy);
        self.enter_block(go);
        if metered {
            self.count_reduction();
        }
        let zero = self.b.ins().iconst(I64, 0);
        self.set_pending(zero);
    }

    fn count_reduction(&mut self) {
        let count = self.worker_field(field!(reductions));
        let more = self.b.ins().iadd_imm_s(count, 1);
        self.set_worker_field(field!(reductions), more);
    }

    /// Writes a goal's record on top of the goal stack, where there is room (C5).
    pub(crate) fn put_goal(&mut self, goal: &GoalCall) {
        let values: Vec<_> = goal.arguments.iter().map(|&argument| self.stored(argument)).collect();
        let base = self.b.use_var(self.goals);
        for value in values {
            self.store(value, base, self.goals_offset);
            self.goals_offset += 8;
        }
        let word = self.word(goal.predicate.goal_word());
        self.store(word, base, self.goals_offset);
        self.goals_offset += 8;
    }

    fn push(&mut self, goal: &GoalCall, places: &[Place]) {
        let words = goal.arguments.len() + 1;
        self.pushed = match self.pushed {
            Some(pushed) if pushed + words <= PUSHED_MAX => Some(pushed + words),
            _ => {
                self.check_goals();
                Some(words)
            }
        };
        if self.slots.is_empty() {
            self.put_goal(goal);
        } else {
            self.put_goal_with_slots(goal);
        }
        if !places.is_empty() {
            self.place(places);
        }
    }

    /// C5: room for `PUSHED_MAX` words and more.
    fn check_goals(&mut self) {
        let (cold, go) = (self.cold_block(), self.b.create_block());
        let goals = self.goals_now();
        let limit = self.worker_field(field!(goals_limit));
        let above = self.b.ins().icmp(IntCC::UnsignedGreaterThan, goals, limit);
        self.b.ins().brif(above, cold, &[], go, &[]);
        self.enter_block(cold);
        self.set_worker_field(field!(goals), goals);
        self.call_helper(Helper::GrowGoals, &[]);
        self.reload_goals();
        self.b.ins().jump(go, &[]);
        self.enter_block(go);
    }

    /// Moves the goal on top of the stack. A node and a priority go to one helper: what went to either is no longer on
    /// top, and the goal takes its priority along to another node. A helper that took the goal away ends it.
    fn place(&mut self, places: &[Place]) {
        let mut nodes = places.iter().filter_map(|place| match *place {
            Place::Node(operand) => Some(operand),
            Place::Priority(_) | Place::Lower(_) => None,
        });
        let mut priorities = places.iter().filter_map(|place| match *place {
            Place::Priority(operand) => Some((0, operand)),
            Place::Lower(operand) => Some((1, operand)),
            Place::Node(_) => None,
        });
        let done = self.b.create_block();
        self.flush();
        let before = self.b.use_var(self.goals);
        let mut moves = std::iter::from_fn(|| match (nodes.next(), priorities.next()) {
            (None, None) => None,
            both => Some(both),
        });
        let mut next_move = moves.next();
        while let Some((node, priority)) = next_move {
            let node = node.map(|operand| self.operand(operand));
            let priority = priority.map(|(how, operand)| (how, self.operand(operand)));
            self.store_state();
            let priority = priority.map(|(how, amount)| (self.b.ins().iconst(I64, how), amount));
            match (node, priority) {
                (Some(node), Some((how, amount))) => {
                    self.call_helper(Helper::MoveToPlace, &[node, how, amount]);
                }
                (Some(node), None) => {
                    self.call_helper(Helper::MoveToNode, &[node]);
                }
                (None, Some((how, amount))) => {
                    self.call_helper(Helper::MoveToPriority, &[how, amount]);
                }
                (None, None) => {}
            }
            self.reload_heap();
            self.reload_goals();
            next_move = moves.next();
            if next_move.is_some() {
                let next = self.b.create_block();
                let goals = self.b.use_var(self.goals);
                let stayed = self.b.ins().icmp(IntCC::Equal, goals, before);
                self.b.ins().brif(stayed, next, &[], done, &[]);
                self.enter_block(next);
            }
        }
        self.b.ins().jump(done, &[]);
        self.enter_block(done);
        self.pushed = None;
    }

    // ---- unification ---------------------------------------------------------------------------

    pub(crate) fn unify(&mut self, a: Operand, b: Operand, at: At) {
        let done = self.b.create_block();
        self.unify_to(a, b, at, done);
        self.enter_block(done);
    }

    /// Unifies and goes to `done`.
    pub(crate) fn unify_to(&mut self, a: Operand, b: Operand, at: At, done: Block) {
        let is_variable = |lower: &Self, x: Operand| matches!(x, Operand::Reg(_)) && lower.kind(x).is_none();
        let (a, b) = if is_variable(self, a) { (a, b) } else { (b, a) };
        match a {
            Operand::Reg(var) if is_variable(self, a) => self.unify_variable(var, b, at, done),
            _ => {
                let (a, b) = (self.operand(a), self.operand(b));
                self.call_unify(a, b, at);
                self.b.ins().jump(done, &[]);
            }
        }
    }

    /// The helper, whatever the words are.
    pub(crate) fn call_unify(&mut self, a: Value, b: Value, at: At) {
        self.store_state();
        let at = self.position(at);
        self.call_helper(Helper::Unify, &[a, b, at]);
    }

    /// What a helper that may report an error is told of its place in the text.
    pub(crate) fn position(&mut self, at: At) -> Value {
        match at {
            At::Line(at) => self.b.ins().iconst(I64, at.bits() as i64),
            At::Row(column, lines) => {
                let word = self.load_column(column);
                let bits = self.b.ins().ushr_imm_u(word, i64::from(TAG_BITS));
                self.offset(bits, lines.into())
            }
        }
    }

    /// `var` usually is a reference to a private unbound cell that nobody waits for, and `other` a value: then a
    /// store does it. So it is done here, too, when goals wait for a list or structure: a message. All else is the
    /// thunk's (`x86::shortcuts`), because there are many such places. Goes to `done`.
    pub(crate) fn unify_variable(&mut self, var: Reg, other: Operand, at: At, done: Block) {
        let kind = self.kind(other);
        let (cell, value) = (self.read(var), self.operand(other));
        let slow = self.cold_block();
        let message = (kind == Some(Kind::Pointer)).then(|| self.cold_block());
        self.unless_private_reference(cell, slow);
        let content = self.load(cell, -(Tag::Ref as i64));
        let is_taken = self.b.ins().icmp_imm_s(IntCC::NotEqual, content, UNBOUND.bits() as i64);
        self.unless(is_taken, message.unwrap_or(slow));
        if kind.is_none() {
            let bind = self.next_block();
            let differs = self.tag_differs(value, Tag::Ref);
            self.b.ins().brif(differs, bind, &[], slow, &[]);
            self.enter_block(bind);
        }
        self.store(value, cell, -(Tag::Ref as i64));
        self.b.ins().jump(done, &[]);
        if let Some(message) = message {
            self.enter_block(message);
            self.bind_and_resume(cell, content, value, slow);
            self.b.ins().jump(done, &[]);
        }
        self.enter_block(slow);
        self.call_unify(cell, value, at);
        self.b.ins().jump(done, &[]);
    }

    /// A plain store if the register is a reference to a private unbound cell, whose goals are resumed; then the block
    /// `done`, else `other`.
    pub(crate) fn try_bind(&mut self, var: Reg, value: Operand, done: BlockId, other: BlockId) {
        let (word, cell) = (self.operand(value), self.read(var));
        self.flush();
        let (done, other) = (self.edge(done, &[]), self.edge(other, &[]));
        self.unless_private_reference(cell, other);
        let content = self.load(cell, -(Tag::Ref as i64));
        let is_taken = self.b.ins().icmp_imm_s(IntCC::NotEqual, content, UNBOUND.bits() as i64);
        let taken = self.cold_block();
        self.unless(is_taken, taken);
        self.store(word, cell, -(Tag::Ref as i64));
        self.b.ins().jump(done, &[]);
        self.enter_block(taken);
        self.bind_and_resume(cell, content, word, other);
        self.b.ins().jump(done, &[]);
    }

    /// Binds a private variable that goals wait for, and makes the next poll attend to them (`WorkerAbi::resumed`);
    /// to `slow` if that is not all. `content` is the cell's: VAR and the address of a record, if it is not bound.
    fn bind_and_resume(&mut self, cell: Value, content: Value, value: Value, slow: Block) {
        let others = self.worker_field(field!(resumed));
        let not = self.b.ins().bnot(content);
        let bound = self.b.ins().band_imm_s(not, TAG_MASK as i64);
        let unusual = self.b.ins().bor(others, bound);
        self.unless(unusual, slow);
        let header = self.load(content, -(Tag::Var as i64));
        let generator = self.b.ins().band_imm_s(header, i64::from(GENERATOR_BIT));
        self.unless(generator, slow);
        self.store(value, cell, -(Tag::Ref as i64));
        let record = self.offset(content, -(Tag::Var as i64));
        self.set_worker_field(field!(resumed), record);
        let goals = self.goals_now();
        self.set_worker_field(field!(resumed_at), goals);
        let zero = self.b.ins().iconst(I64, 0);
        self.set_worker_field(field!(limit), zero);
    }

    /// C6: goes on if the cell that a word of this tag leads to may be written, else to `other`.
    pub(crate) fn unless_public(&mut self, word: Value, tag: Tag, other: Block) {
        let reference = self.offset(word, Tag::Ref as i64 - tag as i64);
        self.unless_private_reference(reference, other);
    }

    /// C6: goes on if a word is a REF to a cell that may be written, else to `other`: one comparison for both
    /// (`private_place`).
    pub(crate) fn unless_private_reference(&mut self, word: Value, other: Block) {
        let place = self.b.ins().rotr_imm_u(word, i64::from(TAG_BITS));
        let base = self.worker_field(field!(private_base));
        let distance = self.b.ins().isub(place, base);
        let end = (PRIVATE_BYTES >> TAG_BITS) as i64;
        let differs = self.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, distance, end);
        self.unless(differs, other);
    }

    // ---- builtins ------------------------------------------------------------------------------

    fn builtin(&mut self, predicate: PredicateId, inputs: &[Operand], outputs: &[Reg], at: At) {
        if self.inline_builtin(predicate, inputs, outputs, at) {
            return;
        }
        let inputs: Vec<_> = inputs.iter().map(|&input| self.operand(input)).collect();
        let few = [Helper::Builtin1, Helper::Builtin2, Helper::Builtin3];
        let helper = Helper::for_few(few, inputs.len(), outputs.len());
        let Some(helper) = helper else {
            self.call_builtin(predicate, &inputs, at);
            return self.take_outputs(outputs, &[]);
        };
        self.store_state();
        let number = self.b.ins().iconst(I64, i64::from(predicate.0));
        let at = self.position(at);
        let first = self.call_in_registers(helper, &[&[number, at], &inputs[..]].concat());
        self.reload_heap();
        self.reload_goals();
        self.take_outputs(outputs, &first);
    }
    /// What a builtin's helper has left: the first outputs, and others in `operands`.
    pub(crate) fn take_outputs(&mut self, outputs: &[Reg], first: &[Value]) {
        for (index, &output) in outputs.iter().enumerate() {
            let value = match first.get(index) {
                Some(&value) => value,
                None => self.worker_field(field!(operands) + 8 * index as i32),
            };
            self.define(output, value);
        }
    }

    /// The helper on a cold path, whatever the builtin is.
    pub(crate) fn call_builtin(&mut self, predicate: PredicateId, inputs: &[Value], at: At) {
        self.put_inputs(inputs);
        self.store_state();
        let number = self.b.ins().iconst(I64, i64::from(predicate.0));
        let at = self.position(at);
        self.call_helper(Helper::Builtin, &[number, at]);
        self.reload_heap();
        self.reload_goals();
    }

    pub(crate) fn put_inputs(&mut self, inputs: &[Value]) {
        for (index, &input) in inputs.iter().enumerate() {
            self.set_worker_field(field!(operands) + 8 * index as i32, input);
        }
    }

    /// A word that is known here.
    pub(crate) fn is_word(&mut self, value: Value, word: Word) -> Value {
        self.b.ins().icmp_imm_s(IntCC::Equal, value, word.bits() as i64)
    }
}
