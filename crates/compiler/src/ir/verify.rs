//! Checks the invariants of the IR (I1 to I8 of [`crate::ir`]) and that everything named exists.

use crate::ir::{
    At, BlockId, Column, Component, Constant, ConstantId, End, GoalCall, Op, Operand, Program, Reg, Slot,
    slots,
};
use rustc_hash::{FxHashMap, FxHashSet};
use term::abi::{PredicateId, SLACK_WORDS};

/// What is wrong with a program; empty if nothing is. Each message names the component and block.
pub fn verify(program: &Program) -> Vec<String> {
    let mut problems = Vec::new();
    let mut entries: FxHashSet<PredicateId> = FxHashSet::default();
    let arities: FxHashMap<PredicateId, usize> =
        program.predicates.iter().map(|p| (p.id, p.arity as usize)).collect();
    if !program.predicates.windows(2).all(|pair| pair[0].id.0 + 1 == pair[1].id.0) {
        problems.push("predicates are not numbered consecutively".into());
    }
    for (number, component) in program.components.iter().enumerate() {
        let mut checker = Checker {
            component,
            arities: &arities,
            first_constant: program.first_constant,
            constants: &program.constants,
            rows: FxHashMap::default(),
            problems: &mut problems,
            place: format!("component {number}"),
        };
        checker.component();
        for entry in &component.entries {
            if !entries.insert(entry.predicate) {
                problems.push(format!("predicate {} has two entries", entry.predicate.0));
            }
        }
    }
    for predicate in &program.predicates {
        if !entries.contains(&predicate.id) {
            problems.push(format!("predicate {} has no entry", predicate.id.0));
        }
    }
    if problems.is_empty() {
        problems = slots::check(&program.components);
    }
    problems
}

struct Checker<'v> {
    component: &'v Component,
    arities: &'v FxHashMap<PredicateId, usize>,
    first_constant: u32,
    constants: &'v [Constant],
    /// In which table what a register holds was found.
    rows: FxHashMap<Reg, ConstantId>,
    problems: &'v mut Vec<String>,
    place: String,
}

/// A set of registers.
#[derive(Clone, PartialEq, Default)]
struct Set(Vec<u64>);

impl Set {
    fn has(&self, register: Reg) -> bool {
        self.0.get(register.0 as usize / 64).is_some_and(|word| word >> (register.0 % 64) & 1 == 1)
    }
    fn add(&mut self, register: Reg) {
        let word = register.0 as usize / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (register.0 % 64);
    }
    /// True if the intersection with `other` took something away.
    fn meet(&mut self, other: &Set) -> bool {
        let mut lost = self.0.iter().skip(other.0.len()).any(|&word| word != 0);
        self.0.truncate(other.0.len());
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            lost |= *word & !other != 0;
            *word &= other;
        }
        lost
    }
}

impl Checker<'_> {
    fn problem(&mut self, text: impl std::fmt::Display) {
        let place = &self.place;
        self.problems.push(format!("{place}: {text}"));
    }
    fn component(&mut self) {
        if !self.shape() {
            return;
        }
        self.tables();
        self.flow();
        for block in 0..self.component.blocks.len() {
            self.need(BlockId(block as u32));
        }
        for block in 0..self.component.blocks.len() {
            self.place = format!("{}, b{block}", self.place.split(',').next().unwrap_or_default());
            let is_poll = |op: &Op| matches!(op, Op::Poll { .. });
            if self.component.blocks[block].ops.iter().skip(1).any(is_poll) {
                self.problem("a poll that is not the first operation (I3)");
            }
        }
    }
    /// Everything named exists; arities agree. False if going on would make no sense.
    fn shape(&mut self) -> bool {
        let blocks = self.component.blocks.len() as u32;
        let before = self.problems.len();
        for entry in &self.component.entries {
            if entry.block.0 >= blocks {
                self.problem(format_args!("entry at b{} does not exist", entry.block.0));
                continue;
            }
            let first = self.component.blocks[entry.block.0 as usize].ops.first();
            if !matches!(first, Some(Op::Poll { goal, .. }) if goal.predicate == entry.predicate) {
                self.problem(format_args!("entry b{} does not begin with its poll (I3)", entry.block.0));
            }
            if self.arities.get(&entry.predicate).is_some_and(|arity| *arity != entry.parameters.len()) {
                self.problem(format_args!("entry of {} has a wrong number of parameters", entry.predicate.0));
            }
        }
        for (number, block) in self.component.blocks.iter().enumerate() {
            self.place = format!("{}, b{number}", self.place.split(',').next().unwrap_or_default());
            for successor in successors(&block.end) {
                if successor.0 >= blocks {
                    self.problem(format_args!("there is no b{}", successor.0));
                }
            }
            for op in &block.ops {
                self.names_of_op(op);
            }
            self.names_of_end(&block.end);
        }
        self.problems.len() == before
    }
    fn goal(&mut self, goal: &GoalCall) {
        if self.arities.get(&goal.predicate).is_some_and(|arity| *arity != goal.arguments.len()) {
            self.problem(format_args!("a goal of {} with a wrong number of arguments", goal.predicate.0));
        }
    }
    fn names_of_op(&mut self, op: &Op) {
        if let Op::Poll { goal, .. } | Op::Push { goal, .. } = op {
            self.goal(goal);
        }
        let mut bad = Vec::new();
        op_uses(op, &mut |operand| match operand {
            Operand::Constant(id) if id.0 >= self.first_constant + self.constants.len() as u32 => {
                bad.push(format!("there is no c{}", id.0));
            }
            Operand::Constant(id) if self.is_table(id) => bad.push(format!("c{} is no value", id.0)),
            Operand::Reg(register) if register.0 >= self.component.registers => {
                bad.push(format!("there is no r{}", register.0));
            }
            _ => {}
        });
        for register in op_defines(op) {
            if register.0 >= self.component.registers {
                bad.push(format!("there is no r{}", register.0));
            }
        }
        bad.into_iter().for_each(|text| self.problem(text));
    }
    fn names_of_end(&mut self, end: &End) {
        match end {
            End::Call(goal)
            | End::Suspend { goal, .. }
            | End::SuspendOrFail { goal }
            | End::Fail { goal } => self.goal(goal),
            End::Jump { block, moves } => {
                let component = self.component;
                let Some(target) = component.blocks.get(block.0 as usize) else { return };
                if !matches!(target.ops.first(), Some(Op::Poll { .. })) {
                    self.problem(format_args!("a jump to b{}, which does not poll", block.0));
                }
                let mut seen = FxHashSet::default();
                if !moves.iter().all(|(dst, _)| seen.insert(*dst)) {
                    self.problem("a jump assigns a register twice");
                }
            }
            _ => {}
        }
        if let End::Suspend { on, .. } = end
            && on.is_empty()
        {
            self.problem("a suspension on nothing");
        }
        let registers = self.component.registers;
        let mut bad = false;
        end_uses(end, &mut |operand| bad |= matches!(operand, Operand::Reg(r) if r.0 >= registers));
        if bad || end_defines(end).iter().any(|(r, _)| r.0 >= registers) {
            self.problem("a register that does not exist");
        }
    }
    fn is_table(&self, id: ConstantId) -> bool {
        let index = id.0.checked_sub(self.first_constant);
        index.is_some_and(|index| matches!(self.constants.get(index as usize), Some(Constant::Table(_))))
    }
    /// I5, for all paths together: what comes from a table is in a register of its own.
    fn tables(&mut self) {
        let component = self.component;
        let mut bad = Vec::new();
        for block in &component.blocks {
            if let End::Lookup { table, next, .. } = block.end
                && (!self.is_table(table) || *self.rows.entry(next).or_insert(table) != table)
            {
                bad.push(format!("r{} is found in c{}, which is another or no table (I5)", next.0, table.0));
            }
        }
        for block in &component.blocks {
            let defined = block.ops.iter().flat_map(op_defines).chain(
                end_defines(&block.end)
                    .into_iter()
                    .map(|(register, _)| register)
                    .filter(|register| !matches!(block.end, End::Lookup { next, .. } if next == *register)),
            );
            bad.extend(defined.filter(|register| self.rows.contains_key(register)).map(|register| {
                format!("r{} holds what was found in a table, and something else (I5)", register.0)
            }));
            let node = match block.end {
                End::Lookup { table, node: Operand::Reg(row), .. } => Some(Column { table, row, index: 0 }),
                _ => None,
            };
            for column in block.ops.iter().filter_map(op_column).chain(node) {
                if self.rows.get(&column.row) != Some(&column.table) {
                    bad.push(format!("r{} was not found in c{} (I5)", column.row.0, column.table.0));
                }
            }
            if let End::Lookup { node: Operand::Int(1..) | Operand::Atom(_) | Operand::Constant(_), .. } =
                block.end
            {
                bad.push("a look-up begins at node 0, or at one that was found (I5)".into());
            }
        }
        bad.into_iter().for_each(|text| self.problem(text));
    }
    /// I1 by forward data flow.
    fn flow(&mut self) {
        let component = self.component;
        let mut at_start: Vec<Option<Set>> = vec![None; component.blocks.len()];
        let mut work = Vec::new();
        for entry in &component.entries {
            let mut known = Set::default();
            entry.parameters.iter().for_each(|register| known.add(*register));
            at_start[entry.block.0 as usize] = Some(known);
            work.push(entry.block);
        }
        while let Some(block) = work.pop() {
            let mut known = at_start[block.0 as usize].clone().expect("blocks on the list were reached");
            self.walk(block, &mut known, false);
            let end = &component.blocks[block.0 as usize].end;
            for (target, known) in after(end, &known, component) {
                let slot = &mut at_start[target.0 as usize];
                let changed = match slot {
                    None => {
                        *slot = Some(known);
                        true
                    }
                    Some(old) => old.meet(&known),
                };
                if changed {
                    work.push(target);
                }
            }
        }
        for (number, known) in at_start.into_iter().enumerate() {
            let Some(mut known) = known else { continue };
            self.place = format!("{}, b{number}", self.place.split(',').next().unwrap_or_default());
            self.walk(BlockId(number as u32), &mut known, true);
        }
    }
    /// Goes through a block's operations; complains if asked to.
    fn walk(&mut self, block: BlockId, known: &mut Set, complain: bool) {
        let component = self.component;
        let block = &component.blocks[block.0 as usize];
        for op in &block.ops {
            if complain {
                self.check_op(op, known);
            }
            for register in op_defines(op) {
                known.add(register);
            }
        }
        if complain {
            let mut unassigned = Vec::new();
            end_uses(&block.end, &mut |operand| {
                if let Operand::Reg(register) = operand
                    && !known.has(register)
                {
                    unassigned.push(register);
                }
            });
            unassigned
                .into_iter()
                .for_each(|r| self.problem(format_args!("r{} may be unassigned (I1)", r.0)));
        }
    }
    fn check_op(&mut self, op: &Op, known: &Set) {
        let mut unassigned = Vec::new();
        op_uses(op, &mut |operand| match operand {
            Operand::Reg(register) if !known.has(register) => unassigned.push(register),
            _ => {}
        });
        unassigned.extend(op_column(op).map(|column| column.row).filter(|row| !known.has(*row)));
        unassigned.into_iter().for_each(|r| self.problem(format_args!("r{} may be unassigned (I1)", r.0)));
    }
    /// I4: the longest way from a poll to the end of its reduction.
    fn need(&mut self, start: BlockId) {
        let component = self.component;
        let Some(Op::Poll { need: allowed, .. }) = component.blocks[start.0 as usize].ops.first() else {
            return;
        };
        let mut best: FxHashMap<BlockId, u64> = FxHashMap::default();
        let mut work = vec![(start, 0u64)];
        while let Some((block, words)) = work.pop() {
            if best.get(&block).is_some_and(|known| *known >= words) {
                continue;
            }
            best.insert(block, words);
            let here = &component.blocks[block.0 as usize];
            let mut words = words;
            for op in &here.ops {
                words += op_words(op);
                let calls = matches!(op, Op::Arith { .. } | Op::Builtin { .. });
                if calls && *allowed as usize > SLACK_WORDS {
                    self.problem("an operation that may collect after a big need (I4)");
                }
            }
            let guards = matches!(here.end, End::GuardArith { .. } | End::GuardCall { .. });
            if guards && *allowed as usize > SLACK_WORDS {
                self.problem("a guard that may collect under a big need (I4)");
            }
            if words > u64::from(*allowed) {
                self.problem(format_args!("{words} words where {allowed} are allowed (I4)"));
                return;
            }
            // Paths through a reduction have no circles: a circle would go through a poll.
            if !matches!(here.end, End::Jump { .. }) {
                work.extend(successors(&here.end).into_iter().map(|next| (next, words)));
            }
        }
    }
}

/// Heap words that an operation takes.
pub fn op_words(op: &Op) -> u64 {
    match op {
        Op::Cons { .. } => 2,
        Op::Struct { args, .. } => 1 + args.len() as u64,
        Op::Var { .. } | Op::Settle { .. } => 1,
        Op::Vector { elements, .. } => u64::from(crate::ir::vector_words(elements.len())),
        _ => 0,
    }
}

/// The blocks that an end may go to.
pub fn successors(end: &End) -> Vec<BlockId> {
    match end {
        End::Match { cases, unbound, default, .. } => {
            cases.iter().map(|case| case.1).chain([*unbound, *default]).collect()
        }
        End::Compare { yes, no, unbound, .. }
        | End::GuardArith { yes, no, unbound, .. }
        | End::GuardCall { yes, no, unbound, .. }
        | End::Lookup { yes, no, unbound, .. } => vec![*yes, *no, *unbound],
        End::TryBind { done, other, .. } => vec![*done, *other],
        End::Goto(block) | End::Jump { block, .. } => vec![*block],
        End::Call(_) | End::Proceed | End::Suspend { .. } | End::SuspendOrFail { .. } | End::Fail { .. } => {
            vec![]
        }
    }
}

/// What is known at each successor.
fn after(end: &End, known: &Set, component: &Component) -> Vec<(BlockId, Set)> {
    let defines = end_defines(end);
    if let End::Jump { block, moves } = end {
        let mut next = known.clone();
        // Whoever jumps to an entry brings its parameters only: other registers are dead there.
        let parameters: Option<&Vec<Reg>> =
            component.entries.iter().find(|entry| entry.block == *block).map(|entry| &entry.parameters);
        if let Some(parameters) = parameters {
            next = Set::default();
            parameters.iter().filter(|r| known.has(**r)).for_each(|r| next.add(*r));
        }
        moves.iter().for_each(|(dst, _)| next.add(*dst));
        return vec![(*block, next)];
    }
    let mut found: Vec<(BlockId, Set)> = Vec::new();
    for (position, block) in successors(end).into_iter().enumerate() {
        let mut next = known.clone();
        for (register, edge) in &defines {
            if edge.is_none_or(|edge| edge == position) {
                next.add(*register);
            }
        }
        found.push((block, next));
    }
    found
}

/// Registers that an end assigns; `Some(n)`: only on the way to its n-th successor.
pub fn end_defines(end: &End) -> Vec<(Reg, Option<usize>)> {
    match end {
        End::Match { reg, .. } => vec![(*reg, None)],
        End::Lookup { key, next, .. } => vec![(*key, None), (*next, Some(0))],
        End::Compare { wait, .. } => vec![(*wait, Some(2))],
        End::GuardArith { dst, wait, .. } => vec![(*dst, Some(0)), (*wait, Some(2))],
        End::GuardCall { outputs, wait, .. } => {
            outputs.iter().map(|output| (*output, Some(0))).chain([(*wait, Some(2))]).collect()
        }
        _ => vec![],
    }
}

/// Registers that an operation assigns.
pub fn op_defines(op: &Op) -> Vec<Reg> {
    let slot = |slot: &Slot| match slot {
        Slot::Fresh(register) => Some(*register),
        Slot::Value(_) => None,
    };
    match op {
        Op::Move { dst, .. }
        | Op::Car { dst, .. }
        | Op::Cdr { dst, .. }
        | Op::Arg { dst, .. }
        | Op::Var { dst }
        | Op::Slot { dst }
        | Op::Column { dst, .. }
        | Op::Vector { dst, .. }
        | Op::Arith { dst, .. } => vec![*dst],
        Op::Cons { dst, car, cdr } => [car, cdr].into_iter().filter_map(slot).chain([*dst]).collect(),
        Op::Struct { dst, args, .. } => args.iter().filter_map(slot).chain([*dst]).collect(),
        Op::Builtin { outputs, .. } => outputs.clone(),
        Op::Poll { .. }
        | Op::Unify { .. }
        | Op::BindFresh { .. }
        | Op::Fill { .. }
        | Op::Put { .. }
        | Op::Settle { .. }
        | Op::Push { .. }
        | Op::Pend { .. } => vec![],
    }
}

/// The word of a table's row that an operation reads.
pub fn op_column(op: &Op) -> Option<Column> {
    match op {
        Op::Column { column, .. } => Some(*column),
        Op::Unify { at: At::Row(column, _), .. }
        | Op::Fill { at: At::Row(column, _), .. }
        | Op::Arith { at: At::Row(column, _), .. }
        | Op::Builtin { at: At::Row(column, _), .. } => Some(*column),
        _ => None,
    }
}

/// Calls `visit` for what an operation reads, but for rows of tables.
pub fn op_uses(op: &Op, visit: &mut dyn FnMut(Operand)) {
    match op {
        Op::Poll { goal, .. } => goal.arguments.iter().for_each(|o| visit(*o)),
        Op::Move { src, .. } => visit(*src),
        Op::Car { src, .. } | Op::Cdr { src, .. } | Op::Arg { src, .. } => visit(Operand::Reg(*src)),
        Op::Cons { car, cdr, .. } => [car, cdr].into_iter().for_each(|slot| slot_use(slot, visit)),
        Op::Struct { args, .. } => args.iter().for_each(|slot| slot_use(slot, visit)),
        Op::Var { .. } | Op::Slot { .. } | Op::Column { .. } => {}
        Op::Vector { elements, .. } => elements.iter().for_each(|o| visit(*o)),
        Op::Unify { a, b, .. } | Op::Arith { a, b, .. } => [a, b].into_iter().for_each(|o| visit(*o)),
        Op::BindFresh { var, value } | Op::Fill { var, value, .. } | Op::Put { slot: var, value } => {
            visit(Operand::Reg(*var));
            visit(*value);
        }
        Op::Pend { var } | Op::Settle { var } => visit(Operand::Reg(*var)),
        Op::Builtin { inputs, .. } => inputs.iter().for_each(|o| visit(*o)),
        Op::Push { goal, places } => {
            goal.arguments.iter().for_each(|o| visit(*o));
            for place in places {
                let (crate::ir::Place::Priority(o) | crate::ir::Place::Lower(o) | crate::ir::Place::Node(o)) =
                    place;
                visit(*o);
            }
        }
    }
}

fn slot_use(slot: &Slot, visit: &mut dyn FnMut(Operand)) {
    if let Slot::Value(operand) = slot {
        visit(*operand);
    }
}

/// Calls `visit` for what an end reads.
pub fn end_uses(end: &End, visit: &mut dyn FnMut(Operand)) {
    match end {
        End::Match { reg, .. } => visit(Operand::Reg(*reg)),
        End::Lookup { node, key, .. } => [*node, Operand::Reg(*key)].into_iter().for_each(visit),
        End::Compare { a, b, .. } | End::GuardArith { a, b, .. } => {
            [a, b].into_iter().for_each(|o| visit(*o))
        }
        End::GuardCall { inputs, .. } => inputs.iter().for_each(|o| visit(*o)),
        End::TryBind { var, value, .. } => {
            visit(Operand::Reg(*var));
            visit(*value);
        }
        End::Jump { moves, .. } => moves.iter().for_each(|(_, src)| visit(*src)),
        End::Call(goal) | End::SuspendOrFail { goal } | End::Fail { goal } => {
            goal.arguments.iter().for_each(|o| visit(*o));
        }
        End::Suspend { goal, on } => {
            goal.arguments.iter().for_each(|o| visit(*o));
            on.iter().for_each(|register| visit(Operand::Reg(*register)));
        }
        End::Goto(_) | End::Proceed => {}
    }
}
