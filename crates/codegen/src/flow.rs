//! Ends of blocks other than `Match`, arithmetic and comparison.

use crate::lower::{Lazy, Lower, field};
use crate::shape::Head;
use crate::stubs::{Helper, Leave};
use compiler::ir::{BlockId, End, GoalCall, Operand, Reg};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, Value, types::I64};
use term::abi::{OPERANDS_MAX, PredicateId, SPENT_ARITIES, answer};
use term::layout::{
    self, SUSPENSION_ARGS, SUSPENSION_BEFORE, SUSPENSION_NEXT, SUSPENSION_PREDICATE, SUSPENSION_PRIORITY,
};
use term::word::{TAG_BITS, Tag, UNBOUND, object_header};

/// Where a guard goes on.
#[derive(Clone, Copy)]
pub(crate) struct Exits {
    pub(crate) yes: BlockId,
    pub(crate) no: BlockId,
    pub(crate) unbound: BlockId,
    /// Gets the variable on the `unbound` edge.
    pub(crate) wait: Reg,
}

impl Lower<'_, '_> {
    pub(crate) fn end(&mut self, end: &End) {
        if let End::Match { reg, cases, unbound, default } = end {
            return self.match_on(*reg, cases, *unbound, *default);
        }
        match end {
            End::Match { .. } => unreachable!("handled above"),
            End::Compare { cond, a, b, yes, no, unbound, wait } => {
                let exits = Exits { yes: *yes, no: *no, unbound: *unbound, wait: *wait };
                self.compare(*cond, *a, *b, exits);
            }
            End::GuardArith { op, dst, a, b, yes, no, unbound, wait } => {
                let exits = Exits { yes: *yes, no: *no, unbound: *unbound, wait: *wait };
                self.guard_arith(*op, *dst, *a, *b, exits);
            }
            End::GuardCall { predicate, inputs, outputs, yes, no, unbound, wait } => {
                let exits = Exits { yes: *yes, no: *no, unbound: *unbound, wait: *wait };
                self.guard_call(*predicate, inputs, outputs, exits);
            }
            End::Lookup { table, node, key, next, yes, no, unbound } => {
                self.lookup(*table, *node, (*key, *next), [*yes, *no, *unbound]);
            }
            End::TryBind { var, value, done, other } => self.try_bind(*var, *value, *done, *other),
            End::Goto(block) => {
                self.flush();
                let target = self.edge(*block, &[]);
                self.b.ins().jump(target, &[]);
            }
            End::Jump { block, moves } => self.jump(*block, moves),
            End::Call(goal) => {
                self.put_goal(goal);
                self.enter_predicate(goal.predicate);
            }
            End::Proceed => self.proceed(),
            End::Suspend { goal, on } => self.suspend(goal, on),
            End::SuspendOrFail { goal } => self.suspend_or_fail(goal),
            End::Fail { goal } => {
                self.put_goal(goal);
                self.leave(Leave::Fail);
            }
        }
        self.drop_state();
    }

    fn jump(&mut self, block: BlockId, moves: &[(Reg, Operand)]) {
        let component = self.component;
        let head = Head::of(component, block).and_then(|head| Some((head, self.take_lazy(&head, moves)?)));
        let values: Vec<_> = moves
            .iter()
            .map(|&(reg, source)| match &head {
                Some((head, lazy)) if head.reg == reg => (lazy.raw, None),
                _ => (self.operand(source), self.kind(source)),
            })
            .collect();
        self.flush();
        for (&(reg, _), (value, kind)) in moves.iter().zip(values) {
            match kind {
                Some(kind) => self.define_as(reg, value, kind),
                None => self.define(reg, value),
            }
        }
        match head {
            Some((head, lazy)) => {
                self.lazy.push(Lazy { reg: head.reg, ..lazy });
                self.op(head.poll);
                self.end(head.end);
            }
            None => {
                let target = self.edge(block, &[]);
                self.b.ins().jump(target, &[]);
            }
        }
    }

    /// What the head matches, if it is lazy and nothing else becomes the same: it is not in `lazy` any more.
    fn take_lazy(&mut self, head: &Head<'_>, moves: &[(Reg, Operand)]) -> Option<Lazy> {
        let source = head.source(moves)?;
        let once = moves.iter().filter(|&&(_, other)| other == Operand::Reg(source)).count() == 1;
        let index = self.lazy.iter().position(|lazy| once && lazy.reg == source)?;
        Some(self.lazy.swap_remove(index))
    }

    /// C1: the goal on top of the stack is next.
    fn proceed(&mut self) {
        let heap = self.heap_now();
        self.proceed_from(heap);
    }
    fn proceed_from(&mut self, heap: Value) {
        let goals = self.goals_now();
        let goal_word = self.load(goals, -8);
        self.enter_goal_word(goal_word, heap, goals);
    }

    fn suspend(&mut self, goal: &GoalCall, on: &[Reg]) {
        let variables: Vec<_> = on.iter().map(|&reg| self.read(reg)).collect();
        if let [variable] = variables[..] {
            self.suspend_on(goal, variable);
        }
        for (index, &variable) in variables.iter().enumerate() {
            if index < OPERANDS_MAX {
                self.set_worker_field(field!(pending) + 8 * index as i32, variable);
            } else {
                let bytes = self.b.ins().iconst(I64, 8 * index as i64);
                self.call_helper(Helper::Pend, &[variable, bytes]);
            }
        }
        let count = self.b.ins().iconst(I64, on.len() as i64);
        self.suspend_with_helper(goal, count);
    }

    fn suspend_or_fail(&mut self, goal: &GoalCall) {
        // What the blocks below have in common is computed here.
        for &argument in &goal.arguments {
            self.operand(argument);
        }
        let (wait, fail, one, many) =
            (self.b.create_block(), self.b.create_block(), self.b.create_block(), self.b.create_block());
        let bytes = self.b.use_var(self.pending);
        self.b.ins().brif(bytes, wait, &[], fail, &[]);
        self.enter_block(wait);
        let count = self.b.ins().ushr_imm_u(bytes, 3);
        let single = self.b.ins().icmp_imm_s(IntCC::Equal, count, 1);
        self.b.ins().brif(single, one, &[], many, &[]);
        self.enter_block(one);
        let variable = self.worker_field(field!(pending));
        self.suspend_on(goal, variable);
        self.b.ins().jump(many, &[]);
        self.enter_block(many);
        let goals_offset = self.goals_offset;
        self.suspend_with_helper(goal, count);
        self.goals_offset = goals_offset;
        self.enter_block(fail);
        self.put_goal(goal);
        self.leave(Leave::Fail);
    }

    fn suspend_with_helper(&mut self, goal: &GoalCall, count: Value) {
        self.set_worker_field(field!(pending_count), count);
        self.put_goal(goal);
        self.leave(Leave::Suspend);
    }

    /// The goal waits for one variable: if its cell is private and no other goal waits for it, makes the record
    /// (`term::layout`) here and starts the next goal; otherwise goes on.
    fn suspend_on(&mut self, goal: &GoalCall, variable: Value) {
        let arguments: Vec<_> = goal.arguments.iter().map(|&argument| self.operand(argument)).collect();
        let other = self.cold_block();
        let content = self.load(variable, -(Tag::Ref as i64));
        let taken = self.b.ins().icmp_imm_s(IntCC::NotEqual, content, UNBOUND.0 as i64);
        self.unless(taken, other);
        self.unless_private_reference(variable, other);

        let tail = self.next_block();
        let hook = self.b.append_block_param(tail, I64);
        let heap = self.b.append_block_param(tail, I64);
        self.record(arguments.len(), tail);
        self.enter_block(tail);
        let unbound = self.word(UNBOUND);
        let goal_word = self.word(goal.predicate.goal_word());
        let priority = self.worker_field(field!(priority));
        let priority = self.b.ins().ishl_imm_u(priority, i64::from(TAG_BITS));
        let head =
            [(SUSPENSION_NEXT, unbound), (SUSPENSION_PREDICATE, goal_word), (SUSPENSION_PRIORITY, priority)];
        let arguments = arguments.into_iter().enumerate().map(|(i, value)| (SUSPENSION_ARGS + i, value));
        for (word, value) in head.into_iter().chain(arguments) {
            self.store(value, hook, 8 * word as i64 - Tag::Var as i64);
        }
        self.store(hook, variable, -(Tag::Ref as i64));
        self.proceed_from(heap);
        self.enter_block(other);
    }
    /// Ends the block: to `tail`, with what a cell holds that leads to a record (VAR and its address) for a goal of so
    /// many arguments, and the allocation pointer. (Were it the address alone, a new record and the allocation pointer
    /// would be one value, and want the same register.)
    fn record(&mut self, arity: usize, tail: ir::Block) {
        let heap = self.heap_now();
        if arity < SPENT_ARITIES {
            let newest = field!(spent) + 8 * arity as i32;
            let spent = self.worker_field(newest);
            let (reuse, fresh) = (self.next_block(), self.next_block());
            self.b.ins().brif(spent, reuse, &[], fresh, &[]);
            self.enter_block(reuse);
            let next = self.load(spent, 8 * SUSPENSION_NEXT as i64);
            self.set_worker_field(newest, next);
            let reused = self.worker_field(field!(reused));
            let reused = self.b.ins().iadd_imm_s(reused, 1);
            self.set_worker_field(field!(reused), reused);
            let hook = self.offset(spent, Tag::Var as i64);
            self.b.ins().jump(tail, &[hook.into(), heap.into()]);
            self.enter_block(fresh);
        }
        let words = SUSPENSION_ARGS + arity;
        let header = self.word(object_header(layout::SUSPENSION, words - 1));
        self.store(header, heap, 0);
        let before = self.worker_field(field!(suspensions));
        self.store(before, heap, 8 * SUSPENSION_BEFORE as i64);
        self.set_worker_field(field!(suspensions), heap);
        let end = self.offset(heap, 8 * words as i64);
        let hook = self.offset(heap, Tag::Var as i64);
        self.b.ins().jump(tail, &[hook.into(), end.into()]);
    }

    // ---- guards --------------------------------------------------------------------------------

    fn guard_call(&mut self, predicate: PredicateId, inputs: &[Operand], outputs: &[Reg], exits: Exits) {
        self.flush();
        if self.float_guard(predicate, inputs, exits) || self.inline_guard(predicate, inputs, outputs, exits)
        {
            return;
        }
        let inputs: Vec<_> = inputs.iter().map(|&input| self.operand(input)).collect();
        self.call_guard(predicate, &inputs, outputs, exits);
    }

    /// The helper, whatever the guard is. The offsets are flushed.
    pub(crate) fn call_guard(
        &mut self,
        predicate: PredicateId,
        inputs: &[Value],
        outputs: &[Reg],
        exits: Exits,
    ) {
        self.put_inputs(inputs);
        self.store_state();
        let number = self.b.ins().iconst(I64, i64::from(predicate.0));
        let answer = self.call_helper(Helper::Guard, &[number]).expect("guards answer");
        self.reload_heap();
        let (yes, other) = (self.b.create_block(), self.b.create_block());
        let succeeds = self.is_word(answer, answer::YES);
        self.b.ins().brif(succeeds, yes, &[], other, &[]);
        self.enter_block(yes);
        self.take_outputs(outputs);
        let target = self.edge(exits.yes, &[]);
        self.b.ins().jump(target, &[]);
        self.enter_block(other);
        self.no_or_wait(answer, answer::NO, exits);
    }

    /// Ends the block: to `no` if the answer is that word, else to `unbound` with the answer as the variable.
    pub(crate) fn no_or_wait(&mut self, answer: Value, no: term::Word, exits: Exits) {
        let fails = self.is_word(answer, no);
        let wait = self.cold_block();
        let (no, unbound) = (self.edge(exits.no, &[]), self.edge(exits.unbound, &[]));
        self.b.ins().brif(fails, no, &[], wait, &[]);
        self.enter_block(wait);
        self.define_wait(exits.wait, answer);
        self.b.ins().jump(unbound, &[]);
    }
}
