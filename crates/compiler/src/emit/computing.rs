//! Operations whose inputs other goals compute become goals. These goals are frequent (`add(R1,R2,R)` behind two
//! calls), so they are compiled: they wait for their inputs in code, and arithmetic computes small integers in place.
//! Each place of the text has a predicate of its own, so that an error names the line, and the goal needs no word for
//! it.

use crate::ir::{At, Block, BlockId, Component, End, Entry, GoalCall, Op, Operand, Pattern, Predicate, Reg};
use crate::plan::{Late, Plan, Target};
use rustc_hash::FxHashMap;
use term::AtomTable;
use term::abi::{Builtin, Position, PredicateId};

/// The compiled operations of a program that wait as goals, in the order of their numbers.
#[derive(Debug, Default)]
pub(crate) struct Computing {
    numbers: FxHashMap<(Late, Position), PredicateId>,
    order: Vec<(Late, Position)>,
}

impl Computing {
    /// Of all goals in the plans, numbered from `first`.
    pub(crate) fn new(plans: &[Vec<Plan<'_>>], first: u32) -> Computing {
        let mut found = Computing::default();
        for goal in plans.iter().flatten().flat_map(|plan| &plan.goals) {
            if let Target::Late(late, at) = goal.target
                && !found.numbers.contains_key(&(late, at))
            {
                found.numbers.insert((late, at), PredicateId(first + found.order.len() as u32));
                found.order.push((late, at));
            }
        }
        found
    }
    /// The predicate that computes an operation of the program.
    pub(crate) fn id(&self, late: Late, at: Position) -> PredicateId {
        self.numbers[&(late, at)]
    }
    /// Their predicates and components; named like the builtins that they stand for. `owners` are the predicates in
    /// which they stand.
    pub(crate) fn predicates(
        &self,
        builtins: &[Builtin],
        atoms: &AtomTable,
        owners: &[Predicate],
    ) -> Vec<(Predicate, Component)> {
        let first = owners.first().map_or(0, |owner| owner.id.0);
        let mut all = Vec::new();
        for &(late, at) in &self.order {
            let signature = &builtins[late.builtin().0 as usize - 1];
            let atom = |text: &str| atoms.lookup(text.as_bytes()).unwrap_or(term::symbol::EMPTY);
            let owner = at.predicate().and_then(|owner| owners.get(owner.0.checked_sub(first)? as usize));
            let id = self.numbers[&(late, at)];
            let predicate = Predicate {
                id,
                module: atom(&signature.module),
                name: atom(&signature.name),
                arity: signature.modes.len() as u32,
                file: owner.map_or_else(String::new, |owner| owner.file.clone()),
                line: owner.map_or(0, |_| at.line()),
                daemon: signature.daemon,
                auxiliary: true,
                awaits: 0,
                reads: 0,
            };
            all.push((predicate, component(late, id, signature, At::Line(at))));
        }
        all
    }
}

/// `op(A,[B,]Result)`, or another builtin: waits for each input that it needs, then computes. Arithmetic on what are no
/// small integers is the builtin's.
fn component(late: Late, id: PredicateId, signature: &Builtin, at: At) -> Component {
    let modes = signature.modes.as_bytes();
    let arity = modes.len() as u32;
    let parameters: Vec<Reg> = (0..arity).map(Reg).collect();
    let arguments: Vec<Operand> = parameters.iter().map(|&register| Operand::Reg(register)).collect();
    let goal = GoalCall { predicate: id, arguments };
    let of_mode = |wanted: &dyn Fn(u8) -> bool| -> Vec<Reg> {
        parameters
            .iter()
            .zip(modes)
            .filter(|&(_, &mode)| wanted(mode))
            .map(|(&register, _)| register)
            .collect()
    };
    let awaited = of_mode(&|mode| mode == b'i');
    let computes = matches!(late, Late::Arith(..));
    // Each input is tested in one block and waited for in the next; then comes arithmetic, and at last the builtin.
    let compute = BlockId(2 * awaited.len() as u32);
    let call = BlockId(compute.0 + u32::from(computes));
    let mut blocks = Vec::new();
    for (number, &register) in awaited.iter().enumerate() {
        let test = 2 * number as u32;
        let next = if number + 1 == awaited.len() { compute } else { BlockId(test + 2) };
        let cases = if computes { vec![(Pattern::AnyInt, next)] } else { Vec::new() };
        let default = if computes { call } else { next };
        let end = End::Match { reg: register, cases, unbound: BlockId(test + 1), default };
        blocks.push(Block { ops: Vec::new(), end });
        blocks.push(Block { ops: Vec::new(), end: End::Suspend { goal: goal.clone(), on: vec![register] } });
    }
    let unify =
        |(parameter, value): (Reg, Reg)| Op::Unify { a: Operand::Reg(parameter), b: Operand::Reg(value), at };
    let (inputs, results) = (of_mode(&|mode| mode != b'o'), of_mode(&|mode| mode == b'o'));
    let outputs: Vec<Reg> = (0..results.len() as u32).map(|number| Reg(arity + number)).collect();
    let operands: Vec<Operand> = inputs.iter().map(|&register| Operand::Reg(register)).collect();
    let unifications = || results.iter().copied().zip(outputs.iter().copied()).map(unify);
    if let Late::Arith(op, _) = late {
        let b = operands.get(1).copied().unwrap_or(Operand::Int(0));
        let first = Op::Arith { op, dst: outputs[0], a: operands[0], b, at };
        let ops = std::iter::once(first).chain(unifications()).collect();
        blocks.push(Block { ops, end: End::Proceed });
    }
    let first = Op::Builtin { predicate: late.builtin(), inputs: operands, outputs: outputs.clone(), at };
    let ops = std::iter::once(first).chain(unifications()).collect();
    blocks.push(Block { ops, end: End::Proceed });
    blocks[0].ops.insert(0, Op::Poll { goal, need: 0 });
    Component {
        entries: vec![Entry { predicate: id, parameters, block: BlockId(0) }],
        registers: arity + outputs.len() as u32,
        blocks,
    }
}
