//! Bodies: plans to operations.

use crate::emit::computing::Computing;
use crate::emit::fresh::{Bound, Versions};
use crate::ir::{self, At, BlockId, Column, End, GoalCall, Op, Operand, Place, Reg, Slot};
use crate::plan::{Plan, Planned, Side, Source, Step, Target};
use crate::program::constants::{Pool, ground};
use crate::program::names::Names;
use crate::program::values::{Atomic, Fact, Table, ValueId};
use crate::tree::code::{Code, Registers};
use crate::tree::facts::Facts;
use rustc_hash::{FxHashMap, FxHashSet};
use syntax::program::{Pragma, Term, TermKind, VarId};
use term::abi::Position;

/// What bodies need from the rest of the compilation.
pub(crate) struct Surroundings<'s, 'a> {
    pub(crate) names: &'s Names<'a>,
    pub(crate) pool: &'s mut Pool,
    pub(crate) versions: &'s mut Versions,
    pub(crate) bound: &'s Bound,
    pub(crate) computing: &'s Computing,
    /// Parameters of this version that are fresh variables.
    pub(crate) fresh: FxHashSet<ValueId>,
}

struct Emitter<'e, 's, 'a> {
    around: &'e mut Surroundings<'s, 'a>,
    table: &'e Table,
    plan: &'e Plan<'a>,
    code: &'e mut Code,
    registers: &'e mut Registers,
    facts: Facts,
    ops: Vec<Op>,
    ready: Vec<Option<Operand>>,
    need: u32,
    /// Registers that hold fresh variables.
    fresh: FxHashSet<Reg>,
    /// Where `ops` belong: `None` is the body's first block, which the caller fills.
    block: Option<BlockId>,
    first: Option<(Vec<Op>, End)>,
    /// The most that a detour needs.
    detours_need: u32,
}

/// A body's operations and end.
pub(crate) struct Body {
    pub(crate) ops: Vec<Op>,
    pub(crate) end: End,
    /// Heap words that its build operations take.
    pub(crate) need: u32,
}

/// Emits a body where `facts` hold.
pub(crate) fn emit<'a>(
    around: &mut Surroundings<'_, 'a>,
    table: &Table,
    plan: &Plan<'a>,
    facts: &Facts,
    code: &mut Code,
    registers: &mut Registers,
) -> Body {
    let ready = vec![None; plan.sources.len()];
    let fresh = around.fresh.iter().map(|&value| registers.known(value)).collect();
    let mut emitter = Emitter {
        around,
        table,
        plan,
        code,
        registers,
        facts: facts.clone(),
        ops: Vec::new(),
        ready,
        need: 0,
        fresh,
        block: None,
        first: None,
        detours_need: 0,
    };
    let (early, late) = emitter.stores();
    for &number in &early {
        emitter.step(&plan.steps[number]);
    }
    for (number, step) in plan.steps.iter().enumerate() {
        if !late.contains(&number) && !early.contains(&number) {
            emitter.step(step);
        }
    }
    for position in 0..late.len() {
        emitter.late_step(&late[position..]);
    }
    let end = emitter.goals();
    let need = emitter.need.max(emitter.detours_need);
    let (ops, end) = emitter.finish(end);
    Body { ops, end, need }
}

/// Bodies that store in this many places are enough; more unifications are ordinary ones.
const STORES_MAX: usize = 3;

/// Bodies of more goals build a goal's arguments when they push it.
const GOALS_AHEAD_MAX: usize = 64;

/// A goal's arguments and places.
type Call = (Vec<Operand>, Vec<Place>);

impl<'a> Emitter<'_, '_, 'a> {
    /// Ends the current block.
    fn finish(&mut self, end: End) -> (Vec<Op>, End) {
        let ops = std::mem::take(&mut self.ops);
        match (self.block, self.first.take()) {
            (Some(block), Some(first)) => {
                self.code.fill(block, ops, end);
                first
            }
            _ => (ops, end),
        }
    }
    /// Unifications that may be plain stores. Those that make new variables for the leftmost goal are better done
    /// last, so that nothing can undo what is known of them; the others first, for the same reason.
    fn stores(&self) -> (Vec<usize>, Vec<usize>) {
        let plan = self.plan;
        let (mut early, mut late) = (Vec::new(), Vec::new());
        let candidates: Vec<(usize, Side<'a>, Side<'a>)> = (plan.steps.iter().enumerate())
            .filter_map(|(number, step)| match step {
                Step::Unify(a, b, _) => self.store(*a, *b).map(|(target, value)| (number, target, value)),
                _ => None,
            })
            .collect();
        if candidates.is_empty() {
            return (early, late);
        }
        let mut mentions: FxHashMap<VarId, u32> = FxHashMap::default();
        for step in &plan.steps {
            let count = |side: Side<'a>| {
                plan.each_variable(side, &mut |variable| *mentions.entry(variable).or_insert(0) += 1);
            };
            match step {
                Step::Unify(a, b, _) => [*a, *b].into_iter().for_each(count),
                Step::Arith(_, _, a, b, _) => [*a, *b].into_iter().for_each(count),
                Step::Builtin(_, inputs, ..) => inputs.iter().copied().for_each(count),
            }
        }
        for (number, target, value) in candidates {
            let once = plan.variable(target).is_some_and(|variable| mentions[&variable] == 1);
            if late.len() < STORES_MAX && once && self.hands_on(value) {
                late.push(number);
                continue;
            }
            let mut ready = true;
            plan.each_variable(value, &mut |variable| {
                ready &= !matches!(plan.sources[variable.0 as usize], Source::Computed);
            });
            if self.is_fresh(target) && ready {
                early.push(number);
            }
        }
        (early, late)
    }
    /// Whether a side is a parameter that is fresh in this version.
    fn is_fresh(&self, side: Side<'a>) -> bool {
        matches!(self.plan.source_of(side), Some(Source::Known(Atomic::Value(value)))
            if self.around.fresh.contains(&value))
    }
    /// A unification of a variable of the goal with something that is certainly no variable.
    fn store(&self, a: Side<'a>, b: Side<'a>) -> Option<(Side<'a>, Side<'a>)> {
        let known = |side| matches!(self.plan.source_of(side), Some(Source::Known(Atomic::Value(_))));
        [(a, b), (b, a)].into_iter().find(|&(a, b)| known(a) && self.plan.is_built(b))
    }
    /// Whether a new variable in a term goes to a parameter of the leftmost goal that is worth being fresh.
    fn hands_on(&self, value: Side<'a>) -> bool {
        let Some(first) = self.plan.goals.first() else { return false };
        let Target::User(callee) = first.target else { return false };
        if !first.pragmas.is_empty() || self.around.versions.parameters(callee).is_none() {
            return false;
        }
        let plan = self.plan;
        let mut found = false;
        plan.each_variable(value, &mut |variable| {
            if matches!(plan.sources[variable.0 as usize], Source::Fresh) {
                let mut arguments = first.arguments.iter().enumerate();
                found |= arguments.any(|(position, argument)| {
                    plan.variable(*argument) == Some(variable)
                        && self.around.bound.has(callee, position as u32)
                });
            }
        });
        found
    }
    /// The first of these unifications, which may be a plain store.
    fn late_step(&mut self, late: &[usize]) {
        let step = &self.plan.steps[late[0]];
        let Step::Unify(a, b, at) = step else { return self.step(step) };
        let Some((target, value)) = self.store(*a, *b) else { return self.step(step) };
        let (operand, value) = (self.side(target), self.side(value));
        let Operand::Reg(var) = operand else { return self.unify(operand, value, *at) };
        if self.fresh.remove(&var) {
            self.ops.push(Op::BindFresh { var, value });
            return;
        }
        let (done, other) = (self.code.block(), self.code.block());
        self.detour(other, (var, value, *at), &late[1..]);
        let ops = std::mem::take(&mut self.ops);
        let end = End::TryBind { var, value, done, other };
        match self.block {
            Some(block) => self.code.fill(block, ops, end),
            None => self.first = Some((ops, end)),
        }
        self.block = Some(done);
    }
    /// The rest of the body when a variable is not what we hoped: with ordinary unifications.
    fn detour(&mut self, block: BlockId, (var, value, at): (Reg, Operand, Position), late: &[usize]) {
        let before =
            (std::mem::take(&mut self.ops), self.ready.clone(), self.facts.clone(), self.fresh.clone());
        let need = self.need;
        self.unify(Operand::Reg(var), value, at);
        for &number in late {
            self.step(&self.plan.steps[number]);
        }
        let end = self.goals();
        self.detours_need = self.detours_need.max(self.need);
        self.need = need;
        let ops = std::mem::replace(&mut self.ops, before.0);
        self.code.fill(block, ops, end);
        (self.ready, self.facts, self.fresh) = (before.1, before.2, before.3);
    }
    /// Where an operation stands: in the clause whose row was found.
    fn at(&self, at: Position) -> At {
        let Some(lines) = self.plan.lines else { return At::Line(at) };
        let row = self.registers.known(lines.row);
        At::Row(Column { table: lines.table, row, index: lines.index }, at.line() - lines.line)
    }
    /// A unification that may do anything.
    fn unify(&mut self, a: Operand, b: Operand, at: Position) {
        if a != b {
            let at = self.at(at);
            self.ops.push(Op::Unify { a, b, at });
            self.fresh.clear();
        }
    }
    fn step(&mut self, step: &Step<'a>) {
        match step {
            Step::Unify(a, b, at) => {
                let target = self.store(*a, *b);
                let (a, b) = (self.side(*a), self.side(*b));
                if let Some((target, _)) = target
                    && let Operand::Reg(var) = self.side(target)
                    && self.fresh.remove(&var)
                {
                    let value = if a == Operand::Reg(var) { b } else { a };
                    self.ops.push(Op::BindFresh { var, value });
                } else {
                    self.unify(a, b, *at);
                }
            }
            Step::Arith(op, output, a, b, at) => {
                let (a, b) = (self.side(*a), self.side(*b));
                let dst = self.code.register();
                let at = self.at(*at);
                self.ops.push(Op::Arith { op: *op, dst, a, b, at });
                self.ready[output.0 as usize] = Some(Operand::Reg(dst));
            }
            Step::Builtin(predicate, inputs, outputs, at) => {
                let inputs = inputs.iter().map(|input| self.side(*input)).collect();
                let registers: Vec<Reg> = outputs.iter().map(|_| self.code.register()).collect();
                for (output, register) in outputs.iter().zip(&registers) {
                    self.ready[output.0 as usize] = Some(Operand::Reg(*register));
                }
                let at = self.at(*at);
                self.ops.push(Op::Builtin { predicate: *predicate, inputs, outputs: registers, at });
                self.fresh.clear();
            }
        }
    }
    /// The goals: arguments in textual order, then pushed from the right; the leftmost goes on at once. Of many goals
    /// each gets its arguments when it is pushed: registers for all of them take the code generator quadratic time.
    fn goals(&mut self) -> End {
        let plan = self.plan;
        let mut end = End::Proceed;
        let mut calls: Vec<Call> = Vec::new();
        if plan.goals.len() <= GOALS_AHEAD_MAX {
            let arguments: Vec<_> = plan.goals.iter().map(|goal| self.arguments(goal)).collect();
            let places = plan.goals.iter().map(|goal| self.places(goal));
            calls = arguments.into_iter().zip(places).collect();
        }
        for (position, goal) in plan.goals.iter().enumerate().rev() {
            let ahead = calls.pop();
            let (arguments, places) = ahead.unwrap_or_else(|| (self.arguments(goal), self.places(goal)));
            if position == 0 && places.is_empty() {
                end = self.last(goal.target, arguments);
                continue;
            }
            let predicate = self.predicate(goal.target);
            if !places.is_empty() {
                self.fresh.clear();
            }
            self.ops.push(Op::Push { goal: GoalCall { predicate, arguments }, places });
        }
        end
    }
    fn arguments(&mut self, goal: &Planned<'a>) -> Vec<Operand> {
        goal.arguments.iter().map(|argument| self.side(*argument)).collect()
    }
    fn predicate(&self, target: Target) -> term::abi::PredicateId {
        match target {
            Target::User(index) => self.around.names.id(index),
            Target::Other(id) => id,
            Target::Late(late, at) => self.around.computing.id(late, at),
        }
    }
    fn last(&mut self, target: Target, arguments: Vec<Operand>) -> End {
        if let Target::User(index) = target
            && let Some(parameters) = self.around.versions.parameters(index)
        {
            let mut fresh = Vec::new();
            for (position, argument) in arguments.iter().enumerate() {
                if let Operand::Reg(register) = argument
                    && self.around.bound.has(index, position as u32)
                    && self.fresh.remove(register)
                {
                    fresh.push(position as u32);
                }
            }
            let moves = parameters.iter().copied().zip(arguments);
            let moves = moves.filter(|(to, from)| *from != Operand::Reg(*to)).collect();
            return End::Jump { block: self.around.versions.block(index, &fresh, self.code), moves };
        }
        End::Call(GoalCall { predicate: self.predicate(target), arguments })
    }
    fn places(&mut self, goal: &Planned<'a>) -> Vec<Place> {
        let place = |pragma: &'a Pragma| match pragma {
            Pragma::Priority(term) => Place::Priority(self.side(Side::Term(term))),
            Pragma::LowerPriority(term) => Place::Lower(self.side(Side::Term(term))),
            Pragma::Node(term) => Place::Node(self.side(Side::Term(term))),
        };
        goal.pragmas.iter().map(place).collect()
    }
    fn side(&mut self, side: Side<'a>) -> Operand {
        match side {
            Side::Int(value) => Operand::Int(value),
            Side::Var(variable) => self.variable(variable),
            Side::Term(term) => self.term(term),
        }
    }
    fn representative(&self, variable: VarId) -> VarId {
        self.plan.representative(variable)
    }
    /// A variable's value; a new variable gets a cell of its own if it has none yet.
    fn variable(&mut self, variable: VarId) -> Operand {
        let variable = self.representative(variable);
        if let Some(operand) = self.ready[variable.0 as usize] {
            return operand;
        }
        let operand = match self.plan.sources[variable.0 as usize] {
            Source::Known(atomic) => self.known(atomic),
            Source::Term(_) => return self.named(variable),
            Source::Fresh => {
                let dst = self.code.register();
                self.ops.push(Op::Var { dst });
                self.fresh.insert(dst);
                self.need += 1;
                Operand::Reg(dst)
            }
            Source::Alias(_) => unreachable!("a representative is no alias"),
            Source::Computed => unreachable!("operations come before what uses their outputs"),
        };
        self.ready[variable.0 as usize] = Some(operand);
        operand
    }
    fn known(&mut self, atomic: Atomic) -> Operand {
        if let Atomic::Value(value) = atomic {
            self.registers.ensure(value, self.table, &mut self.facts, &mut self.ops, self.code);
        }
        if let Atomic::Column { table, row, index } = atomic {
            let dst = self.code.register();
            let column = Column { table, row: self.registers.known(row), index };
            self.ops.push(Op::Column { dst, column });
            return Operand::Reg(dst);
        }
        self.registers.operand(atomic, self.code)
    }
    /// A name for a term: the terms named in it first, so that long chains of names need no deep recursion.
    fn named(&mut self, variable: VarId) -> Operand {
        let mut work = vec![(variable, false)];
        while let Some((variable, visited)) = work.pop() {
            let Source::Term(term) = self.plan.sources[variable.0 as usize] else { continue };
            if self.ready[variable.0 as usize].is_some() {
                continue;
            }
            if visited {
                let operand = self.term(term);
                self.ready[variable.0 as usize] = Some(operand);
                continue;
            }
            work.push((variable, true));
            let inner: Vec<VarId> = term.variables().collect();
            work.extend(inner.into_iter().rev().map(|inner| (self.representative(inner), false)));
        }
        self.ready[variable.0 as usize].expect("the variable itself was on the list")
    }
    fn term(&mut self, term: &'a Term) -> Operand {
        match &term.kind {
            TermKind::Var(variable) => return self.variable(*variable),
            TermKind::Int(value) => return Operand::Int(*value),
            TermKind::Atom(atom) => return Operand::Atom(*atom),
            _ => {}
        }
        if let Some(constant) = ground(term, self.around.names) {
            return Operand::Constant(self.around.pool.intern(constant));
        }
        match &term.kind {
            TermKind::List(items, tail) => self.list(items, tail.as_deref()),
            TermKind::Struct(name, arguments) => {
                let args = self.slots(&arguments.iter().collect::<Vec<_>>());
                let dst = self.code.register();
                self.need += 1 + args.len() as u32;
                self.ops.push(Op::Struct { dst, name: *name, args });
                Operand::Reg(dst)
            }
            TermKind::Vector(elements) => {
                let elements: Vec<Operand> = elements.iter().map(|element| self.term(element)).collect();
                let dst = self.code.register();
                self.need += ir::vector_words(elements.len());
                self.ops.push(Op::Vector { dst, elements });
                Operand::Reg(dst)
            }
            // A predicate that does not exist: diagnosed elsewhere.
            _ => Operand::Atom(term::symbol::NIL),
        }
    }
    /// A list that is not ground: its ground end is a constant, the rest cons cells from the back.
    fn list(&mut self, items: &'a [Term], tail: Option<&'a Term>) -> Operand {
        let nil = Operand::Atom(term::symbol::NIL);
        let ground_tail = tail.is_none_or(|tail| ground(tail, self.around.names).is_some());
        let mut left = items.len();
        if ground_tail {
            while left > 0 && ground(&items[left - 1], self.around.names).is_some() {
                left -= 1;
            }
        }
        let mut rest: Option<Operand> = None;
        if left < items.len() {
            let constants = items[left..].iter().filter_map(|item| ground(item, self.around.names)).collect();
            let end = tail
                .map_or(Some(ir::Constant::Atom(term::symbol::NIL)), |tail| ground(tail, self.around.names));
            let end = Box::new(end.expect("the tail was found to be ground"));
            let constant = ir::Constant::List(constants, end);
            rest = Some(Operand::Constant(self.around.pool.intern(constant)));
        } else if tail.is_none() {
            rest = Some(nil);
        }
        for item in items[..left].iter().rev() {
            let (car, cdr) = match (rest, tail) {
                (Some(rest), _) => (self.slots(&[item])[0], Slot::Value(rest)),
                (None, Some(tail)) => {
                    let slots = self.slots(&[item, tail]);
                    (slots[0], slots[1])
                }
                (None, None) => unreachable!("a list without a tail ends in nil"),
            };
            let dst = self.code.register();
            self.need += 2;
            self.ops.push(Op::Cons { dst, car, cdr });
            rest = Some(Operand::Reg(dst));
        }
        rest.expect("a list has at least one item")
    }
    /// Slots of one new cell or structure: what is built comes first, then new variables get their cells in it.
    fn slots(&mut self, terms: &[&'a Term]) -> Vec<Slot> {
        let mut operands: Vec<Option<Operand>> = Vec::with_capacity(terms.len());
        for term in terms {
            let later = match term.kind {
                TermKind::Var(variable) => self.is_new(variable),
                _ => false,
            };
            operands.push(if later { None } else { Some(self.term(term)) });
        }
        let mut counts: FxHashMap<VarId, u32> = FxHashMap::default();
        let new: Vec<Option<VarId>> = terms
            .iter()
            .map(|term| match term.kind {
                TermKind::Var(variable) if self.is_new(variable) => Some(self.representative(variable)),
                _ => None,
            })
            .collect();
        new.iter().flatten().for_each(|variable| *counts.entry(*variable).or_insert(0) += 1);
        // Twice in one structure: the second place would read what the same operation makes.
        let twice: Vec<VarId> = new.iter().flatten().copied().filter(|v| counts[v] > 1).collect();
        twice.into_iter().for_each(|variable| {
            self.variable(variable);
        });
        let mut slots = Vec::with_capacity(terms.len());
        for (term, operand) in terms.iter().zip(operands) {
            slots.push(match (operand, &term.kind) {
                (Some(operand), _) => Slot::Value(operand),
                (None, TermKind::Var(variable)) if self.is_new(*variable) => {
                    let dst = self.code.register();
                    let variable = self.representative(*variable);
                    self.ready[variable.0 as usize] = Some(Operand::Reg(dst));
                    self.fresh.insert(dst);
                    Slot::Fresh(dst)
                }
                (None, _) => Slot::Value(self.term(term)),
            });
        }
        slots
    }
    /// A new variable without a cell.
    fn is_new(&self, variable: VarId) -> bool {
        let variable = self.representative(variable);
        matches!(self.plan.sources[variable.0 as usize], Source::Fresh)
            && self.ready[variable.0 as usize].is_none()
    }
}

impl Registers {
    /// Loads a value that has no fact yet, and what leads to it.
    pub(crate) fn ensure(
        &mut self,
        value: ValueId,
        table: &Table,
        facts: &mut Facts,
        ops: &mut Vec<Op>,
        code: &mut Code,
    ) {
        let mut missing = Vec::new();
        let mut next = Some(value);
        while let Some(value) = next
            && facts.value(value).is_none()
        {
            missing.push(value);
            next = table.parent(value);
        }
        for value in missing.into_iter().rev() {
            ops.push(self.load(value, table, code));
            facts.set_value(value, Fact::Loaded);
        }
    }
}
