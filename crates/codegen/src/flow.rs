//! Ends of blocks other than `Match`, arithmetic and comparison.

use crate::helpers::{Helper, Leave, SLOTS};
use crate::lower::{Kind, Lazy, Lower, field};
use crate::shape::Head;
use compiler::ir::{BlockId, End, GoalCall, Operand, Reg};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types::I64};
use term::abi::{OPERANDS_MAX, PredicateId, SPENT_ARITIES, answer};
use term::word::{IMMEDIATE_TAGS, Tag};

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
        let ops = &component.blocks[self.block.0 as usize].ops;
        let head = Head::of(component, block).and_then(|head| Some((head, head.fresh(ops, moves)?)));
        let lazy = head.and_then(|(_, source)| self.take_lazy(source, moves));
        let head = head.filter(|&(_, source)| lazy.is_some() || self.is_small(Operand::Reg(source)));
        let values: Vec<_> = moves
            .iter()
            .map(|&(reg, source)| match (&head, &lazy) {
                (Some((head, _)), Some(lazy)) if head.reg == reg => (lazy.raw, None),
                _ => (self.moved(source), self.kind(source)),
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
            Some((head, _)) => {
                self.lazy.extend(lazy.map(|lazy| Lazy { reg: head.reg, ..lazy }));
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
    fn take_lazy(&mut self, source: Reg, moves: &[(Reg, Operand)]) -> Option<Lazy> {
        let once = moves.iter().filter(|&&(_, other)| other == Operand::Reg(source)).count() == 1;
        let index = self.lazy.iter().position(|lazy| once && lazy.reg == source)?;
        Some(self.lazy.swap_remove(index))
    }

    /// C1: the goal on top of the stack is next.
    fn proceed(&mut self) {
        let (heap, goals) = (self.heap_now(), self.goals_now());
        let goal_word = self.load(goals, -8);
        self.enter_goal_word(goal_word, heap, goals);
    }

    fn suspend(&mut self, goal: &GoalCall, on: &[Reg]) {
        let variables: Vec<_> = on.iter().map(|&reg| self.read(reg)).collect();
        for (index, &variable) in variables.iter().enumerate() {
            if index < OPERANDS_MAX {
                self.set_worker_field(field!(pending) + 8 * index as i32, variable);
            } else {
                let bytes = self.b.ins().iconst(I64, 8 * index as i64);
                self.call_helper(Helper::Pend, &[variable, bytes]);
            }
        }
        let one =
            on.len() == 1 && goal.arguments.len() < SPENT_ARITIES && !self.env.is_daemon(goal.predicate);
        if !one {
            let count = self.b.ins().iconst(I64, on.len() as i64);
            self.set_worker_field(field!(pending_count), count);
        }
        self.put_goal(goal);
        self.leave_waiting(goal, one);
    }

    /// `one`: for the first variable in `pending`, whatever `pending_count` says.
    fn leave_waiting(&mut self, goal: &GoalCall, one: bool) {
        // Those of a shoen's daemons wait elsewhere than its other goals, which only the runtime knows.
        let daemon = self.env.is_daemon(goal.predicate);
        debug_assert!(!daemon || self.settled == 0, "daemons of the library have no slots");
        let arity = if daemon { SPENT_ARITIES } else { goal.arguments.len() };
        if self.settled != 0 {
            let slots = self.b.ins().iconst(I64, self.settled as i64);
            self.set_worker_field(SLOTS as i32, slots);
        }
        self.leave(match (self.settled != 0, one) {
            (false, false) => Leave::Suspend(arity),
            (false, true) => Leave::SuspendOne(arity),
            (true, false) => Leave::Settle(arity),
            (true, true) => Leave::SettleOne(arity),
        });
    }

    fn suspend_or_fail(&mut self, goal: &GoalCall) {
        self.put_goal(goal);
        let (wait, fail) = (self.b.create_block(), self.cold_block());
        let bytes = self.pending();
        self.b.ins().brif(bytes, wait, &[], fail, &[]);
        self.enter_block(wait);
        let count = self.b.ins().ushr_imm_u(bytes, 3);
        self.set_worker_field(field!(pending_count), count);
        self.leave_waiting(goal, false);
        self.enter_block(fail);
        self.leave(Leave::Fail);
    }

    // ---- guards --------------------------------------------------------------------------------

    fn guard_call(&mut self, predicate: PredicateId, inputs: &[Operand], outputs: &[Reg], exits: Exits) {
        self.flush();
        if self.float_guard(predicate, inputs, exits) || self.inline_guard(predicate, inputs, outputs, exits)
        {
            return;
        }
        let values: Vec<_> = inputs.iter().map(|&input| self.operand(input)).collect();
        match (&values[..], inputs) {
            (&[a, b], &[x, y]) if self.is_equality(predicate) => {
                let pointer = [x, y].iter().any(|&operand| self.kind(operand) == Some(Kind::Pointer));
                self.equality(a, b, pointer, exits);
            }
            _ => self.call_hot_guard(predicate, &values, outputs, exits),
        }
    }

    /// Calls a guard that has its operands in registers, if they are few. The offsets are flushed.
    fn call_hot_guard(&mut self, predicate: PredicateId, inputs: &[Value], outputs: &[Reg], exits: Exits) {
        let few = [Helper::Guard1, Helper::Guard2, Helper::Guard3];
        let helper = Helper::for_few(few, inputs.len(), outputs.len());
        let Some(helper) = helper else { return self.call_guard(predicate, inputs, outputs, exits) };
        self.store_state();
        let number = self.b.ins().iconst(I64, i64::from(predicate.0));
        let [answer, first] = self.call_in_registers(helper, &[&[number], inputs].concat());
        self.reload_heap();
        self.end_guard(answer, predicate, (outputs, &[first]), exits);
    }

    fn is_equality(&self, predicate: PredicateId) -> bool {
        let builtin = self.env.builtin(predicate);
        builtin.is_some_and(|builtin| builtin.name == "equal_terms" && builtin.modes == "aa")
    }

    /// Guard `A = B`: integers, and an atom and itself, are compared here; the helper does the rest, and all of it if
    /// one is known to be a `pointer`. The offsets are flushed.
    fn equality(&mut self, a: Value, b: Value, pointer: bool, exits: Exits) {
        if !pointer {
            let (same, different) = (self.b.create_block(), self.b.create_block());
            let other = self.b.create_block();
            let yes = self.edge(exits.yes, &[]);
            let no = self.edge(exits.no, &[]);
            let equal = self.b.ins().icmp(IntCC::Equal, a, b);
            self.b.ins().brif(equal, same, &[], different, &[]);
            self.enter_block(same);
            let immediate = self.has_tag_of(a, IMMEDIATE_TAGS);
            self.b.ins().brif(immediate, yes, &[], other, &[]);
            self.enter_block(different);
            let either = self.b.ins().bor(a, b);
            let differs = self.tag_differs(either, Tag::Int);
            self.b.ins().brif(differs, other, &[], no, &[]);
            self.enter_block(other);
        }
        self.store_state();
        let answer = self.call_helper(Helper::Equal, &[a, b]).expect("guards answer");
        self.choose_exit(answer, exits);
    }

    /// The helper on a cold path, whatever the guard is. The offsets are flushed.
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
        self.end_guard(answer, predicate, (outputs, &[]), exits);
    }

    /// Ends the block by a guard's answer; `first` are its first outputs if they are in registers.
    fn end_guard(
        &mut self,
        answer: Value,
        predicate: PredicateId,
        (outputs, first): (&[Reg], &[Value]),
        exits: Exits,
    ) {
        let (yes, other) = (self.b.create_block(), self.b.create_block());
        let succeeds = self.is_word(answer, answer::YES);
        self.b.ins().brif(succeeds, yes, &[], other, &[]);
        self.enter_block(yes);
        let facts = self.facts.clone();
        self.take_outputs(outputs, first);
        self.facts.extend(self.kind_of_output(predicate).map(|kind| (outputs[0], kind)));
        let target = self.edge(exits.yes, &[]);
        self.b.ins().jump(target, &[]);
        self.facts = facts;
        self.enter_block(other);
        self.no_or_wait(answer, exits);
    }

    /// Ends the block by the answer of a guard without outputs.
    pub(crate) fn choose_exit(&mut self, answer: Value, exits: Exits) {
        let succeeds = self.is_word(answer, answer::YES);
        let yes = self.edge(exits.yes, &[]);
        if exits.no == exits.unbound {
            let no = self.edge(exits.no, &[]);
            self.b.ins().brif(succeeds, yes, &[], no, &[]);
            return;
        }
        let other = self.next_block();
        self.b.ins().brif(succeeds, yes, &[], other, &[]);
        self.enter_block(other);
        self.no_or_wait(answer, exits);
    }

    /// Ends the block: to `no` if that is the answer, else to `unbound` with the answer as the variable.
    fn no_or_wait(&mut self, answer: Value, exits: Exits) {
        let no = self.edge(exits.no, &[]);
        if exits.no == exits.unbound {
            self.b.ins().jump(no, &[]);
            return;
        }
        let fails = self.is_word(answer, answer::NO);
        let wait = self.cold_block();
        let unbound = self.edge(exits.unbound, &[]);
        self.b.ins().brif(fails, no, &[], wait, &[]);
        self.enter_block(wait);
        self.define_wait(exits.wait, answer);
        self.b.ins().jump(unbound, &[]);
    }
}
