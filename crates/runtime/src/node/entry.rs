//! The functions that generated code calls (`term::abi::Helpers`). None of them unwinds: `extern "C"` turns a panic
//! into an abort.
//!
//! Invariant E6: generated code passes the address of the `WorkerAbi` of a live [`Worker`] (R1) that nobody else uses
//! meanwhile, and has stored what the helper's description says (C2).

use crate::goals::abroad::Words;
use crate::goals::calls::{FEW_ARGUMENTS, missing};
use crate::goals::runtime_predicates::target_priority;
use crate::memory::ranges::{at, read};
use crate::reports::outcome::ErrorKind;
use crate::terms::deref;
use crate::terms::integers::{self, ArithError};
use crate::terms::pairs::equal_at_top;
use crate::worker::Worker;
use crate::worker::native::{Outcome, Run, Seat};
use crate::worker::program::{Call, Shape};
use term::Word;
use term::abi::{
    GUARD_FAILS, Helpers, OPERANDS_MAX, Position, PredicateId, REGISTER_OUTPUTS, Two, WorkerAbi, answer,
};
use term::layout::STORE;
use term::symbol::ANY;
use term::word::Tag;

/// The table that `WorkerAbi::helpers` holds.
pub(crate) const HELPERS: Helpers = Helpers {
    unify,
    remember,
    arith: arith_helper,
    guard_arith,
    compare,
    equal,
    guard,
    guard_1,
    guard_2,
    guard_3,
    builtin,
    builtin_1,
    builtin_2,
    builtin_3,
    attend,
    native,
    suspend,
    move_to_priority,
    move_to_node,
    move_to_place,
    grow_goals,
    pend,
};

/// The worker of an ABI part.
///
/// # Safety
/// `abi` is what generated code was entered with, and nobody else uses the worker while the result lives.
#[inline(always)]
pub(super) unsafe fn worker_of<'a>(abi: *mut WorkerAbi) -> &'a mut Worker {
    // SAFETY: R1 - `abi` is the first field of a repr(C) `Worker`, whose address the scheduler derived from the whole
    // worker.
    unsafe { &mut *abi.cast::<Worker>() }
}

unsafe extern "C" fn unify(abi: *mut WorkerAbi, a: Word, b: Word, position: Position) {
    // SAFETY: E6 - generated code alone calls this, for the worker that runs it.
    let worker = unsafe { worker_of(abi) };
    let (a, b) = (deref(a), deref(b));
    // The usual reason to come here: the variable is not private (C6).
    if worker.bind_at_once(a, b) {
        return;
    }
    worker.unify_in_code(a, b, position);
}

unsafe extern "C" fn remember(abi: *mut WorkerAbi, cell: usize) {
    // SAFETY: E6 - generated code alone calls this, for the worker that runs it.
    let worker = unsafe { worker_of(abi) };
    // Generated code knows only that it is not in the nursery.
    worker.remember_if_old(cell, read(cell));
}

unsafe extern "C" fn arith_helper(
    abi: *mut WorkerAbi,
    op: u64,
    a: Word,
    b: Word,
    position: Position,
) -> Word {
    // SAFETY: E6 - generated code alone calls this, for the worker that runs it.
    let worker = unsafe { worker_of(abi) };
    let op = integers::int_op(op);
    let (a, b) = (deref(a), deref(b));
    let waits = a.tag() == Tag::Ref || b.tag() == Tag::Ref && !integers::is_unary(op);
    if !waits && let Some(Ok(value)) = worker.arithmetic(op, a, b) {
        return value;
    }
    // An operand is missing or wrong: a goal computes, or says what is wrong.
    let result = worker.new_variable();
    if !worker.is_single() {
        worker.put_off_sum([a, b], result);
    }
    worker.spawn_sum(position, op, [a, b, result]);
    result
}

unsafe extern "C" fn guard_arith(abi: *mut WorkerAbi, op: u64, a: Word, b: Word) -> Word {
    // SAFETY: E6 - generated code alone calls this, for the worker that runs it.
    let worker = unsafe { worker_of(abi) };
    let op = integers::int_op(op);
    let (a, b) = (deref(a), if integers::is_unary(op) { Word::small(0) } else { deref(b) });
    match worker.guard_arithmetic(op, a, b) {
        Some(Ok(value)) => value,
        Some(Err(ArithError::Ended(error))) => {
            worker.end_with(error);
            GUARD_FAILS
        }
        Some(Err(_)) => GUARD_FAILS,
        None => not_integers(worker, a, b).unwrap_or(GUARD_FAILS),
    }
}

unsafe extern "C" fn compare(abi: *mut WorkerAbi, cond: u64, a: Word, b: Word) -> Word {
    // SAFETY: E6 - generated code alone calls this, for the worker that runs it.
    let worker = unsafe { worker_of(abi) };
    let (a, b) = (deref(a), deref(b));
    match worker.compare_integers(a, b) {
        Some(ordering) if integers::holds(integers::cond(cond), ordering) => answer::YES,
        Some(_) => answer::NO,
        None => not_integers(worker, a, b).unwrap_or(answer::NO),
    }
}

/// Two operands, not both integers: the variable to wait for, unless the other one is wrong already.
fn not_integers(worker: &Worker, a: Word, b: Word) -> Option<Word> {
    let wrong = |w: Word| w.tag() != Tag::Ref && worker.big(w).is_none();
    if wrong(a) || wrong(b) {
        return None;
    }
    Some(if a.tag() == Tag::Ref { a } else { b })
}

unsafe extern "C" fn guard(abi: *mut WorkerAbi, predicate: u64) -> Word {
    // SAFETY: E6 - generated code alone calls this, for the worker that runs it.
    let worker = unsafe { worker_of(abi) };
    let code =
        worker.predicates.native(PredicateId(predicate as u32)).expect("the compiler calls builtins only");
    let (run, shape) = (code.run, code.shape);
    let outcome = worker.call_with_operands(run, shape);
    guard_answer(worker, outcome)
}

unsafe extern "C" fn guard_1(abi: *mut WorkerAbi, predicate: u64, a: Word) -> Two {
    // SAFETY: E6 - generated code alone calls this, for the worker that runs it.
    let worker = unsafe { worker_of(abi) };
    worker.guard_in_registers(predicate, [a])
}

unsafe extern "C" fn guard_2(abi: *mut WorkerAbi, predicate: u64, a: Word, b: Word) -> Two {
    // SAFETY: E6 - generated code alone calls this, for the worker that runs it.
    let worker = unsafe { worker_of(abi) };
    worker.guard_in_registers(predicate, [a, b])
}

unsafe extern "C" fn guard_3(abi: *mut WorkerAbi, predicate: u64, a: Word, b: Word, c: Word) -> Two {
    // SAFETY: E6 - generated code alone calls this, for the worker that runs it.
    let worker = unsafe { worker_of(abi) };
    worker.guard_in_registers(predicate, [a, b, c])
}

unsafe extern "C" fn equal(abi: *mut WorkerAbi, a: Word, b: Word) -> Word {
    // SAFETY: E6 - generated code alone calls this, for the worker that runs it.
    let worker = unsafe { worker_of(abi) };
    let (a, b) = (deref(a), deref(b));
    match equal_at_top(a, b) {
        Some(true) => answer::YES,
        Some(false) => answer::NO,
        None => equal_inside(worker, a, b),
    }
}

/// The same for what two terms have inside. Apart, as it needs more registers.
#[inline(never)]
fn equal_inside(worker: &mut Worker, a: Word, b: Word) -> Word {
    // L2: what was looked at before is not looked at again.
    let known = worker.terms.has_comparisons() && worker.terms.has_comparison([a, b]);
    let near = if known { None } else { worker.equal_near(a, b) };
    match near {
        Some(true) => answer::YES,
        Some(false) => answer::NO,
        None => equal_far(worker, a, b),
    }
}

#[cold]
#[inline(never)]
fn equal_far(worker: &mut Worker, a: Word, b: Word) -> Word {
    let outcome = worker.equal_terms(a, b);
    worker.fetch_met();
    guard_answer(worker, outcome)
}

/// What a guard's outcome is to generated code.
#[inline(always)]
fn guard_answer(worker: &mut Worker, outcome: Outcome) -> Word {
    match outcome {
        Outcome::Done => answer::YES,
        Outcome::Wait(variable) => variable,
        Outcome::Error(error) if matches!(error.kind, ErrorKind::HeapLimit | ErrorKind::Interrupted) => {
            worker.end_with(error);
            answer::NO
        }
        Outcome::No | Outcome::Error(_) => answer::NO,
    }
}

unsafe extern "C" fn builtin(abi: *mut WorkerAbi, predicate: u64, position: Position) {
    // SAFETY: E6 - generated code alone calls this, for the worker that runs it.
    let worker = unsafe { worker_of(abi) };
    let predicate = PredicateId(predicate as u32);
    let code = worker.predicates.native(predicate).expect("the compiler calls builtins only");
    let (run, shape, seat) = (code.run, code.shape, code.seat);
    // Another worker's goal, or node's, is sent home when its turn comes.
    let outcome = if worker.has_seat(seat) { worker.call_with_operands(run, shape) } else { Outcome::No };
    if !matches!(outcome, Outcome::Done) {
        worker.not_done(outcome, predicate, position);
    }
}

unsafe extern "C" fn builtin_1(abi: *mut WorkerAbi, predicate: u64, position: Position, a: Word) -> Two {
    // SAFETY: E6 - generated code alone calls this, for the worker that runs it.
    let worker = unsafe { worker_of(abi) };
    worker.builtin_in_registers(predicate, position, [a])
}

unsafe extern "C" fn builtin_2(
    abi: *mut WorkerAbi,
    predicate: u64,
    position: Position,
    a: Word,
    b: Word,
) -> Two {
    // SAFETY: E6 - generated code alone calls this, for the worker that runs it.
    let worker = unsafe { worker_of(abi) };
    worker.builtin_in_registers(predicate, position, [a, b])
}

unsafe extern "C" fn builtin_3(
    abi: *mut WorkerAbi,
    predicate: u64,
    position: Position,
    a: Word,
    b: Word,
    c: Word,
) -> Two {
    // SAFETY: E6 - generated code alone calls this, for the worker that runs it.
    let worker = unsafe { worker_of(abi) };
    worker.builtin_in_registers(predicate, position, [a, b, c])
}

impl Worker {
    /// Whether a number is that of a builtin with this number of inputs.
    fn takes(&self, predicate: u64, inputs: usize) -> bool {
        let code = self.predicates.native(PredicateId(predicate as u32));
        code.is_some_and(|code| code.shape.inputs == inputs)
    }
    #[inline(always)]
    fn guard_in_registers<const N: usize>(&mut self, predicate: u64, inputs: [Word; N]) -> Two {
        let call = self.calls[predicate as usize];
        debug_assert!(self.takes(predicate, N), "C4: builtin {predicate} with {N} inputs");
        let mut outputs = [Word::small(0); REGISTER_OUTPUTS];
        let outcome = self.call_in_registers(call, &mut { inputs }, &mut outputs);
        if matches!(outcome, Outcome::Done) {
            self.abi.operands[1..REGISTER_OUTPUTS].copy_from_slice(&outputs[1..]);
            return Two(answer::YES, outputs[0]);
        }
        Two(self.no_or_wait(outcome), Word::small(0))
    }
    #[cold]
    #[inline(never)]
    fn no_or_wait(&mut self, outcome: Outcome) -> Word {
        guard_answer(self, outcome)
    }
    #[inline(always)]
    fn builtin_in_registers<const N: usize>(
        &mut self,
        predicate: u64,
        position: Position,
        mut inputs: [Word; N],
    ) -> Two {
        let call = self.calls[predicate as usize];
        debug_assert!(self.takes(predicate, N), "C4: builtin {predicate} with {N} inputs");
        let mut outputs = [Word::small(0); REGISTER_OUTPUTS];
        let here = call.seat == Seat::Any || self.has_seat(call.seat);
        let outcome =
            if here { self.call_in_registers(call, &mut inputs, &mut outputs) } else { Outcome::No };
        if matches!(outcome, Outcome::Done) {
            self.abi.operands[2] = outputs[2];
            return Two(outputs[0], outputs[1]);
        }
        self.few_to_goal(outcome, PredicateId(predicate as u32), position, &inputs)
    }
    #[cold]
    #[inline(never)]
    fn few_to_goal(
        &mut self,
        outcome: Outcome,
        predicate: PredicateId,
        position: Position,
        inputs: &[Word],
    ) -> Two {
        self.abi.operands[..inputs.len()].copy_from_slice(inputs);
        self.not_done(outcome, predicate, position);
        Two(self.abi.operands[0], self.abi.operands[1])
    }
    /// Calls a builtin; its inputs are dereferenced then, if they are waited for.
    #[inline(always)]
    fn call_in_registers<const N: usize>(
        &mut self,
        call: Call,
        inputs: &mut [Word; N],
        outputs: &mut [Word; REGISTER_OUTPUTS],
    ) -> Outcome {
        for (i, input) in inputs.iter_mut().enumerate() {
            if input.tag() == Tag::Ref && call.awaited >> i & 1 != 0 {
                *input = deref(*input);
                if input.tag() == Tag::Ref {
                    return Outcome::Wait(*input);
                }
            }
        }
        (call.run)(self, inputs, &mut outputs[..usize::from(call.outputs) & REGISTER_OUTPUTS])
    }
    /// A body builtin, whose inputs are in `operands`, becomes a goal, or ends the program with its error.
    #[cold]
    #[inline(never)]
    fn not_done(&mut self, outcome: Outcome, predicate: PredicateId, position: Position) {
        // What serves the outside world is called by the library: its place there is of no use to a reader.
        let seat = self.predicates.native(predicate).expect("the compiler calls builtins only").seat;
        let position = if seat == Seat::Home { Position::NONE } else { position };
        match outcome {
            Outcome::Done => {}
            Outcome::Wait(variable) if self.waits_at_once(predicate, variable) => {
                self.operands_to_goal(predicate, |worker, args| {
                    worker.spawn_waiting_at_position(position, predicate, args, variable);
                });
            }
            Outcome::Wait(_) | Outcome::No => self.operands_to_goal(predicate, |worker, args| {
                worker.spawn_at_position(position, predicate, args);
            }),
            Outcome::Error(error) => self.operands_to_goal(predicate, |worker, args| {
                worker.builtin_error(error, predicate, args, position);
            }),
        }
    }
    /// Calls a builtin with its inputs in `operands`; on `Done` its outputs stand there.
    #[inline(always)]
    fn call_with_operands(&mut self, run: Run, shape: Shape) -> Outcome {
        match shape.inputs.max(shape.outputs) {
            0..=FEW_ARGUMENTS => self.call_sized::<FEW_ARGUMENTS>(run, shape),
            _ => self.call_sized::<OPERANDS_MAX>(run, shape),
        }
    }
    #[inline(always)]
    fn call_sized<const N: usize>(&mut self, run: Run, shape: Shape) -> Outcome {
        debug_assert!(shape.inputs.max(shape.outputs) <= N, "C4: more operands than {N}");
        let mut inputs = [Word::small(0); N];
        inputs.copy_from_slice(&self.abi.operands[..N]);
        if let Some(variable) = missing(&mut inputs, shape.awaited) {
            return Outcome::Wait(variable);
        }
        let mut outputs = [Word::small(0); N];
        let outcome = run(self, &inputs[..shape.inputs.min(N)], &mut outputs[..shape.outputs.min(N)]);
        if matches!(outcome, Outcome::Done) {
            self.abi.operands[..N].copy_from_slice(&outputs);
        }
        outcome
    }
    /// Gives `then` the arguments of a goal for the builtin whose inputs are in `operands`; its outputs are fresh
    /// variables.
    #[inline(always)]
    fn operands_to_goal(&mut self, predicate: PredicateId, then: impl FnOnce(&mut Worker, &[Word])) {
        let shape = self.predicates.native(predicate).expect("the compiler calls builtins only").shape;
        if shape.outputs_last && shape.inputs + shape.outputs <= FEW_ARGUMENTS {
            self.few_operands_to_goal(shape, then);
        } else {
            self.any_operands_to_goal(shape, then);
        }
    }
    /// The same for a goal of few arguments, of which the outputs come last.
    #[inline(always)]
    fn few_operands_to_goal(&mut self, shape: Shape, then: impl FnOnce(&mut Worker, &[Word])) {
        let (inputs, arity) = (shape.inputs, shape.inputs + shape.outputs);
        let mut args = [Word::small(0); FEW_ARGUMENTS];
        for (i, (arg, &input)) in args.iter_mut().zip(&self.abi.operands).enumerate() {
            if i < inputs {
                *arg = input;
            }
        }
        for (operand, i) in (inputs..arity.min(FEW_ARGUMENTS)).enumerate() {
            args[i] = self.new_variable();
            self.abi.operands[operand] = args[i];
        }
        then(self, &args[..arity.min(FEW_ARGUMENTS)]);
    }
    #[inline(never)]
    fn any_operands_to_goal(&mut self, shape: Shape, then: impl FnOnce(&mut Worker, &[Word])) {
        let made = |i: usize| i < 64 && shape.made >> i & 1 != 0;
        let (mut args, mut outputs) = (Vec::new(), Vec::new());
        let mut input = 0;
        for i in 0..shape.inputs + shape.outputs {
            if made(i) {
                let variable = self.new_variable();
                outputs.push(variable);
                args.push(variable);
            } else {
                args.push(self.abi.operands[input]);
                input += 1;
            }
        }
        self.abi.operands[..outputs.len()].copy_from_slice(&outputs);
        then(self, &args);
    }
    /// Whether a builtin whose inputs are in `operands`, and that misses this variable, becomes a goal that waits for
    /// it, in place of a ready one. So it is reduced as soon as it can be, and not after all goals of the body, which
    /// would wait for what it makes. Not if it waits for what is *in* an input: a list that is being made would resume
    /// it at each element.
    fn waits_at_once(&self, predicate: PredicateId, variable: Word) -> bool {
        let code = self.predicates.native(predicate).expect("the compiler calls builtins only");
        if code.walks || !self.is_single() {
            return false;
        }
        let mut awaited = code.shape.awaited;
        while awaited != 0 {
            if deref(self.abi.operands[awaited.trailing_zeros() as usize]) == variable {
                return true;
            }
            awaited &= awaited - 1;
        }
        false
    }
}

unsafe extern "C" fn pend(abi: *mut WorkerAbi, variable: Word, bytes: usize) {
    // SAFETY: E6 - generated code alone calls this, for the worker that runs it.
    let worker = unsafe { worker_of(abi) };
    worker.waiting.pend(bytes / 8 - OPERANDS_MAX, variable);
}

unsafe extern "C" fn attend(abi: *mut WorkerAbi) -> bool {
    // SAFETY: E6 - generated code alone calls this, for the worker that runs it.
    let worker = unsafe { worker_of(abi) };
    worker.attend_in_code()
}

unsafe extern "C" fn native(abi: *mut WorkerAbi) -> bool {
    // SAFETY: E6 - generated code alone calls this, for the worker that runs it.
    let worker = unsafe { worker_of(abi) };
    worker.reduce_native()
}

unsafe extern "C" fn suspend(abi: *mut WorkerAbi) {
    // SAFETY: E6 - generated code alone calls this, for the worker that runs it.
    let worker = unsafe { worker_of(abi) };
    worker.suspend_top();
}

unsafe extern "C" fn move_to_priority(abi: *mut WorkerAbi, kind: u64, amount: Word) {
    // SAFETY: E6 - generated code alone calls this, for the worker that runs it.
    let worker = unsafe { worker_of(abi) };
    let amount = deref(amount);
    match amount.tag() {
        Tag::Int => {
            let priority = target_priority(worker.priority(), kind, amount.as_int());
            let lane = worker.lane_at(priority);
            top_to_priority(worker, lane);
        }
        _ => {
            let (predicate, args) = pop_goal(worker);
            wait_for_priority(worker, kind, amount, predicate, &args);
        }
    }
}

unsafe extern "C" fn move_to_node(abi: *mut WorkerAbi, node: Word) {
    // SAFETY: E6 - generated code alone calls this, for the worker that runs it.
    let worker = unsafe { worker_of(abi) };
    let priority = worker.abi.priority;
    top_to_node(worker, deref(node), priority);
}

unsafe extern "C" fn move_to_place(abi: *mut WorkerAbi, node: Word, kind: u64, amount: Word) {
    // SAFETY: E6 - generated code alone calls this, for the worker that runs it.
    let worker = unsafe { worker_of(abi) };
    let (node, amount) = (deref(node), deref(amount));
    if amount.tag() == Tag::Int {
        let priority = target_priority(worker.priority(), kind, amount.as_int());
        let lane = worker.lane_at(priority);
        if top_to_node(worker, node, lane) {
            top_to_priority(worker, lane);
        }
    } else {
        let (predicate, args) = pop_goal(worker);
        let placed = at_node_arguments(worker, node, predicate, &args);
        wait_for_priority(worker, kind, amount, worker.system_goals.at_node, &placed);
    }
}

/// The goal on top of the stack is one of this priority.
fn top_to_priority(worker: &mut Worker, priority: i64) {
    if priority != worker.abi.priority {
        let top = worker.abi.goals as usize - 8;
        let goal = read(top);
        let arity = worker.predicates.arity(PredicateId::of_goal_word(goal));
        let args = top - 8 * arity;
        worker.abi.goals = at(args);
        worker.put_beside(priority, goal, args, arity);
    }
}

/// A goal waits until its priority is known.
fn wait_for_priority(worker: &mut Worker, kind: u64, amount: Word, predicate: PredicateId, args: &[Word]) {
    let goal = worker.object(STORE, args);
    let at_priority = worker.system_goals.at_priority;
    worker.spawn(at_priority, &[Word::small(kind as i64), amount, Word::small(predicate.0.into()), goal]);
}

/// The goal on top of the stack is one of this priority for a node; true if it stays.
fn top_to_node(worker: &mut Worker, node: Word, priority: i64) -> bool {
    if node == Word::atom(ANY) {
        worker.offer(top_predicate(worker));
        return true;
    }
    if node.tag() != Tag::Int {
        let (predicate, args) = pop_goal(worker);
        let placed = at_node_arguments(worker, node, predicate, &args);
        worker.spawn_at_lane(priority, worker.system_goals.at_node, &placed);
        return false;
    }
    match worker.other_node(node.as_int()) {
        Ok(None) => {
            worker.place_here(top_predicate(worker));
            return true;
        }
        Ok(Some(node)) => {
            let (predicate, args) = pop_goal(worker);
            worker.throw_at(priority, node, predicate, &args);
        }
        Err(message) => {
            let (predicate, args) = pop_goal(worker);
            worker.placement_error(message, predicate, &args);
        }
    }
    false
}

/// Those of a goal that waits until its node is known.
fn at_node_arguments(worker: &mut Worker, node: Word, predicate: PredicateId, args: &[Word]) -> [Word; 3] {
    [node, Word::small(predicate.0.into()), worker.object(STORE, args)]
}

/// The predicate of the goal on top of the stack.
fn top_predicate(worker: &Worker) -> PredicateId {
    PredicateId::of_goal_word(read(worker.abi.goals as usize - 8))
}

/// Takes the goal on top of the stack.
fn pop_goal(worker: &mut Worker) -> (PredicateId, Words) {
    let top = worker.abi.goals as usize - 8;
    let predicate = PredicateId::of_goal_word(read(top));
    let arity = worker.predicates.arity(predicate);
    let base = top - 8 * arity;
    worker.abi.goals = at(base);
    (predicate, (0..arity).map(|i| read(base + 8 * i)).collect())
}

unsafe extern "C" fn grow_goals(abi: *mut WorkerAbi) {
    // SAFETY: E6 - generated code alone calls this, for the worker that runs it.
    let worker = unsafe { worker_of(abi) };
    worker.grow_goals();
}
