//! Predicates of the runtime's own, of which helpers make goals.

use crate::goals::calls::{FEW_ARGUMENTS, few_words};
use crate::memory::ranges::read;
use crate::reports::outcome::{ErrorKind, ProgramError};
use crate::terms::deref;
use crate::terms::integers::{int_op, is_unary};
use crate::worker::native::{Native, Outcome, Seat};
use crate::worker::{PRIORITY_MAX, Worker};
use term::Word;
use term::abi::{Builtin, INNER, IntOp, Place, Position, PredicateId};
use term::layout::{GOAL_ARITY_MAX, STORE};
use term::symbol::ANY;
use term::word::{Tag, header_size};

/// How many there are.
pub(crate) const COUNT: usize = 10;

/// The natives behind them, in the order of the numbers.
pub(crate) fn natives() -> [Native; COUNT] {
    [
        native(INNER, "at_priority", "aiaa", at_priority),
        native(INNER, "at_node", "iaa", at_node),
        native(INNER, "at_position", "aaa", at_position),
        native(INNER, "sum", "aaiia", sum),
        native(INNER, "after_collection", "aaa", after_collection),
        native("unify_term_dcode", "unify", "aa", unify_goal),
        native(INNER, "mark", "", |worker, _, _| {
            worker.unmark_goals();
            Outcome::Done
        }),
        native(INNER, "gap", "", |worker, _, _| {
            worker.come_to_gap();
            Outcome::Done
        }),
        outward("external"),
        outward("exported"),
    ]
}

/// The priority that `@priority` (kind 0) or `@lower_priority` (kind 1) means.
pub(crate) fn target_priority(current: i64, kind: u64, amount: i64) -> i64 {
    let priority = if kind == 0 { amount } else { current.saturating_sub(amount) };
    priority.clamp(0, PRIORITY_MAX)
}

pub(crate) fn native(
    module: &'static str,
    name: &'static str,
    modes: &'static str,
    run: crate::worker::native::Run,
) -> Native {
    let (module, name, modes) = (module.into(), name.into(), modes.into());
    Native {
        signature: Builtin { module, name, modes, place: Place::Goal, daemon: false },
        run,
        process: None,
        seat: Seat::Any,
        walks: false,
    }
}

/// A daemon whose goals become news for other nodes in place of being reduced: see `abroad`.
fn outward(name: &'static str) -> Native {
    let mut native = native(INNER, name, "aa", |_, _, _| Outcome::Done);
    native.signature.daemon = true;
    native
}

fn stored_goal(worker: &Worker, predicate: Word, goal: Word) -> (PredicateId, Vec<Word>) {
    debug_assert!(worker.class_of(goal) == Some(STORE), "a goal that is kept is a store");
    let args: Vec<Word> = (0..worker.object_size(goal)).map(|i| worker.object_word(goal, i)).collect();
    let predicate = PredicateId::of_goal_word(predicate);
    debug_assert_eq!(worker.predicates.arity(predicate), args.len(), "H1: a goal has its arguments");
    (predicate, args)
}

impl Worker {
    /// The goal inside an `at_priority`, `at_node`, `at_position` or `sum` goal.
    pub(crate) fn placed_goal(
        &self,
        predicate: PredicateId,
        args: &[Word],
    ) -> Option<(PredicateId, Vec<Word>)> {
        let system = &self.system_goals;
        let (predicate, args) = match *args {
            [_, _, predicate_word, goal] if predicate == system.at_priority => {
                stored_goal(self, deref(predicate_word), deref(goal))
            }
            [_, predicate_word, goal] if predicate == system.at_node || predicate == system.at_position => {
                stored_goal(self, deref(predicate_word), deref(goal))
            }
            [_, op, a, b, result] if predicate == system.sum => {
                self.sum_goal(int_op(deref(op).as_int() as u64), [a, b, result])
            }
            _ => return None,
        };
        // What waits for its priority may have a node, too.
        Some(self.placed_goal(predicate, &args).unwrap_or((predicate, args)))
    }
    /// Ends the program because a goal was to run where there is no such priority or node.
    pub(crate) fn placement_error(&mut self, message: String, predicate: PredicateId, args: &[Word]) {
        let placed = self.placed_goal(predicate, args);
        let (predicate, args) =
            placed.as_ref().map_or((predicate, args), |(predicate, args)| (*predicate, &args[..]));
        let error = ProgramError::new(ErrorKind::Placement, message);
        self.goal_error_at(error, predicate, args, Position::NONE);
    }
}

/// `at_priority(Kind, Amount, Predicate, Arguments)`.
fn at_priority(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    let [kind, amount, predicate, goal] = *inputs else { unreachable!("four inputs") };
    let (predicate, args) = stored_goal(worker, predicate, goal);
    if amount.tag() != Tag::Int {
        let amount = worker.term_text(amount);
        let message = format!("the priority of a goal must be an integer of 61 bits at most, not {amount}");
        worker.placement_error(message, predicate, &args);
        return Outcome::Done;
    }
    let priority = target_priority(worker.priority(), kind.as_int() as u64, amount.as_int());
    worker.spawn_at(priority, predicate, &args);
    Outcome::Done
}

/// `at_node(Node, Predicate, Arguments)`.
fn at_node(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    let [node, predicate, goal] = *inputs else { unreachable!("three inputs") };
    let (predicate, args) = stored_goal(worker, predicate, goal);
    if node == Word::atom(ANY) {
        worker.offer(predicate);
        worker.spawn(predicate, &args);
        return Outcome::Done;
    }
    if node.tag() != Tag::Int {
        let node = worker.term_text(node);
        let message = format!("the node of a goal must be an integer, or the atom any, not {node}");
        worker.placement_error(message, predicate, &args);
        return Outcome::Done;
    }
    match worker.other_node(node.as_int()) {
        Ok(None) => {
            worker.place_here(predicate);
            worker.spawn(predicate, &args);
        }
        Ok(Some(node)) => worker.throw(node, predicate, &args),
        Err(message) => worker.placement_error(message, predicate, &args),
    }
    Outcome::Done
}

/// `at_position(Position, Predicate, Arguments)`: a builtin's goal that knows where it stands in the text.
fn at_position(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    let [position, predicate, goal] = *inputs else { unreachable!("three inputs") };
    let position = Position::of_word(position);
    let stored = deref(goal).address();
    let arity = header_size(read(stored));
    let waits = if arity <= FEW_ARGUMENTS {
        let mut args = few_words(stored + 8, arity);
        worker.call_few(PredicateId::of_goal_word(predicate), &mut args, arity, position)
    } else {
        call_stored(worker, predicate, goal, position)
    };
    waits.map_or(Outcome::Done, Outcome::Wait)
}

/// `sum(Position, Operation, A, B, Result)`: arithmetic that stands there in the text, and whose operands had no values
/// when its clause was reduced.
fn sum(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    let [position, op, a, b, result] = *inputs else { unreachable!("five inputs") };
    let (position, op) = (Position::of_word(position), int_op(op.as_int() as u64));
    if let Some(Ok(value)) = worker.arithmetic(op, a, b) {
        worker.unify_at(result, value, position);
        return Outcome::Done;
    }
    // The builtin itself says what is wrong.
    let (predicate, args) = worker.sum_goal(op, [a, b, result]);
    let waits = worker.call::<FEW_ARGUMENTS>(predicate, &args, position);
    waits.map_or(Outcome::Done, Outcome::Wait)
}

impl Worker {
    /// A goal of arithmetic that stands there in the text, with its operands (the second is none if there is but one)
    /// and its result.
    pub(crate) fn spawn_sum(&mut self, position: Position, op: IntOp, [a, b, result]: [Word; 3]) {
        if position == Position::NONE {
            let predicate = self.arithmetic_goals[op as usize];
            let args = if is_unary(op) { &[a, result][..] } else { &[a, b, result] };
            return self.spawn(predicate, args);
        }
        let b = if is_unary(op) { Word::small(0) } else { b };
        debug_assert_eq!(int_op(op as u64), op, "H1: the goal has the operation's number");
        let op = Word::small(op as i64);
        self.spawn(self.system_goals.sum, &[position.word(), op, a, b, result]);
    }
    /// The builtin that a sum is, and its arguments.
    fn sum_goal(&self, op: IntOp, [a, b, result]: [Word; 3]) -> (PredicateId, Vec<Word>) {
        let args = if is_unary(op) { vec![a, result] } else { vec![a, b, result] };
        (self.arithmetic_goals[op as usize], args)
    }
}

/// Calls a builtin of many arguments.
#[cold]
#[inline(never)]
fn call_stored(worker: &mut Worker, predicate: Word, goal: Word, position: Position) -> Option<Word> {
    let (predicate, args) = stored_goal(worker, predicate, goal);
    worker.call::<GOAL_ARITY_MAX>(predicate, &args, position)
}

/// `after_collection(Position, Predicate, Arguments)`: a builtin's goal that had no room before.
fn after_collection(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    let [position, predicate, goal] = *inputs else { unreachable!("three inputs") };
    let (predicate, args) = stored_goal(worker, predicate, goal);
    let position = Position::of_word(position);
    worker.wanted.begin_second_try();
    if worker.call::<GOAL_ARITY_MAX>(predicate, &args, position).is_some() {
        worker.spawn_at_position(position, predicate, &args);
    }
    worker.wanted.end_second_try();
    Outcome::Done
}

fn unify_goal(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    worker.unify(inputs[0], inputs[1]);
    Outcome::Done
}
