//! Arithmetic whose operands other goals compute becomes a goal. These goals are frequent (`add(R1,R2,R)` behind two
//! calls), so they are compiled: integers are tested and computed in place, everything else is left to the builtin.

use crate::ir::{At, Block, BlockId, Component, End, Entry, GoalCall, Op, Operand, Pattern, Predicate, Reg};
use crate::plan::{Plan, Target};
use rustc_hash::FxHashMap;
use term::AtomTable;
use term::abi::{Builtin, IntOp, Position, PredicateId};

/// The compiled arithmetic goals of a program, in the order of their numbers.
#[derive(Debug, Default)]
pub(crate) struct Computing {
    numbers: FxHashMap<IntOp, PredicateId>,
    order: Vec<(IntOp, PredicateId)>,
}

impl Computing {
    /// Of all goals in the plans, numbered from `first`.
    pub(crate) fn new(plans: &[Vec<Plan<'_>>], first: u32) -> Computing {
        let mut found = Computing::default();
        for goal in plans.iter().flatten().flat_map(|plan| &plan.goals) {
            if let Target::Arith(op, builtin) = goal.target
                && !found.numbers.contains_key(&op)
            {
                found.numbers.insert(op, PredicateId(first + found.order.len() as u32));
                found.order.push((op, builtin));
            }
        }
        found
    }
    /// The predicate that computes an operation of the program.
    pub(crate) fn id(&self, op: IntOp) -> PredicateId {
        self.numbers[&op]
    }
    /// Their predicates and components; named like the builtins that they stand for.
    pub(crate) fn predicates(&self, builtins: &[Builtin], atoms: &AtomTable) -> Vec<(Predicate, Component)> {
        let mut all = Vec::new();
        for &(op, builtin) in &self.order {
            let signature = &builtins[builtin.0 as usize - 1];
            let atom = |text: &str| atoms.lookup(text.as_bytes()).unwrap_or(term::symbol::EMPTY);
            let id = self.numbers[&op];
            let arity = signature.modes.len() as u32;
            let predicate = Predicate {
                id,
                module: atom(&signature.module),
                name: atom(&signature.name),
                arity,
                file: String::new(),
                line: 0,
                daemon: false,
                auxiliary: true,
                awaits: 0,
            };
            all.push((predicate, component(op, id, builtin, arity - 1)));
        }
        all
    }
}

/// `op(A,[B,]Result)`: waits for each operand; what is no small integer goes to the builtin.
fn component(op: IntOp, id: PredicateId, builtin: PredicateId, operands: u32) -> Component {
    let parameters: Vec<Reg> = (0..=operands).map(Reg).collect();
    let arguments: Vec<Operand> = parameters.iter().map(|&register| Operand::Reg(register)).collect();
    let goal = GoalCall { predicate: id, arguments: arguments.clone() };
    let poll = Op::Poll { goal: goal.clone(), need: 0 };
    let (result, dst) = (Operand::Reg(Reg(operands)), Reg(operands + 1));
    let other = BlockId(2 * operands + 1);
    let mut blocks = Vec::new();
    for operand in 0..operands {
        let next = if operand + 1 == operands { BlockId(2 * operands) } else { BlockId(2 * operand + 2) };
        let end = End::Match {
            reg: Reg(operand),
            cases: vec![(Pattern::AnyInt, next)],
            unbound: BlockId(2 * operand + 1),
            default: other,
        };
        let ops = if operand == 0 { vec![poll.clone()] } else { Vec::new() };
        blocks.push(Block { ops, end });
        let wait = End::Suspend { goal: goal.clone(), on: vec![Reg(operand)] };
        blocks.push(Block { ops: Vec::new(), end: wait });
    }
    let b = if operands == 2 { Operand::Reg(Reg(1)) } else { Operand::Int(0) };
    let compute = vec![
        Op::Arith { op, dst, a: Operand::Reg(Reg(0)), b, at: At::Line(Position::NONE) },
        Op::Unify { a: result, b: Operand::Reg(dst), at: At::Line(Position::NONE) },
    ];
    blocks.push(Block { ops: compute, end: End::Proceed });
    let call = End::Call(GoalCall { predicate: builtin, arguments });
    blocks.push(Block { ops: Vec::new(), end: call });
    Component {
        entries: vec![Entry { predicate: id, parameters, block: BlockId(0) }],
        registers: operands + 2,
        blocks,
    }
}
