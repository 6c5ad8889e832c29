//! Decision trees: the passive parts of a predicate's clauses as blocks of tests.
//!
//! A *state* is the clauses that may still commit (*rows*, in textual order, each with the tests that are left) and what
//! is known. A step takes the first row's first test, asks it once for all rows, and goes on with a state per outcome.
//!
//! Invariants:
//! - T1 The first row whose tests all succeed commits.
//! - T2 A row that blocks on a variable before it failed puts that variable into `pending`; if no row commits, the goal
//!   suspends on all of them, and fails if there are none. A row behind an `otherwise` is only looked at when no row before that
//!   is pending.
//! - T3 Code size is linear in the number of tests: equal states are built once, and beyond a budget states are
//!   split into a first part and a shared *rest*; variables that block the first part are then noted at run time (`Pend`).
//!
//! Absent on purpose: choosing tests by statistics. The program's order is what programmers expect.

use crate::arithmetic::relations;
use crate::cells::{BIGINT, Cells, Wish, accepts, is_integer_cell, other_accepts, wish};
use crate::code::{Code, Registers};
use crate::facts::{Answer, Facts};
use crate::ir::{BlockId, End, GoalCall, Op, Operand, Pattern, Reg};
use crate::passive::Passive;
use crate::values::{Atomic, Fact, Shape, Table, Test, TestId, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// Rows that a two-way test is asked for at once.
const CHUNK: usize = 32;
/// States of more rows are not looked for among those already built.
const SHARED_MAX: usize = 4 * CHUNK;
/// Versions of one set of rows that differ in what is known.
const VERSIONS: usize = 4;

/// A clause as the tree sees it.
pub(crate) struct Candidate {
    pub(crate) passive: Passive,
    /// Number of `otherwise` at or before the clause.
    pub(crate) group: u32,
    /// Values that the body mentions.
    pub(crate) body_values: FxHashSet<ValueId>,
    /// Values that the body computes with.
    pub(crate) body_integers: FxHashSet<ValueId>,
}

/// What fills in the bodies.
pub(crate) trait Bodies {
    /// Code of a clause's body where `facts` hold.
    fn body(
        &mut self,
        clause: usize,
        facts: &Facts,
        code: &mut Code,
        registers: &mut Registers,
    ) -> (Vec<Op>, End);
}

#[derive(Clone, Debug)]
struct Row {
    clause: u32,
    tests: Rc<[TestId]>,
    from: u32,
}

impl PartialEq for Row {
    fn eq(&self, other: &Row) -> bool {
        let same = Rc::ptr_eq(&self.tests, &other.tests) && self.from == other.from;
        self.clause == other.clause && (same || self.left() == other.left())
    }
}

impl Eq for Row {}

impl std::hash::Hash for Row {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.clause.hash(state);
        self.left().hash(state);
    }
}

impl Row {
    fn left(&self) -> &[TestId] {
        &self.tests[self.from as usize..]
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct RestId(u32);

#[derive(Clone, Debug)]
struct State {
    rows: Vec<Row>,
    facts: Facts,
    /// Variables that blocked a row on this path.
    pending: Vec<Reg>,
    /// The smallest group of a blocked row.
    blocked: Option<u32>,
    /// Some blocking variables were noted by `Pend`.
    noted: bool,
    /// A big integer was seen: versions for small ones are not worth it any more.
    slow: bool,
    /// What to try when all rows have failed or blocked.
    rest: Option<RestId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    rows: Vec<Row>,
    pending: Vec<Reg>,
    blocked: Option<u32>,
    noted: bool,
    slow: bool,
    rest: Option<RestId>,
}

struct Rest {
    rows: Vec<Row>,
    facts: Facts,
    outer: Option<RestId>,
    blocks: Vec<(Option<u32>, BlockId)>,
}

enum Next {
    /// This clause commits.
    Commit(u32),
    /// No row is left.
    Exit,
    /// A row behind an `otherwise` is reached while something is pending.
    Wait,
    /// The first row's first test is open.
    Ask,
}

enum Work {
    State(State),
    Body(u32, Facts),
}

/// The builder of one predicate's tree.
pub(crate) struct Tree<'t> {
    table: &'t Table,
    candidates: &'t [Candidate],
    goal: GoalCall,
    registers: Registers,
    wait: FxHashMap<TestId, Reg>,
    memo: FxHashMap<Key, Vec<(Facts, BlockId)>>,
    bodies: FxHashMap<u32, Vec<(Facts, BlockId)>>,
    leaves: FxHashMap<(Vec<Reg>, bool), BlockId>,
    rests: Vec<Rest>,
    rest_numbers: FxHashMap<(u32, usize, Option<RestId>), Vec<RestId>>,
    /// The rest behind each clause, when the budget is spent.
    canonical: Vec<Option<RestId>>,
    start: Facts,
    mentions: Vec<FxHashSet<ValueId>>,
    work: Vec<(BlockId, Work)>,
    budget: usize,
}

/// Builds the tree of a predicate whose goal is `goal` behind the poll of `entry`. The parameters `fresh` are unbound.
pub(crate) fn build(
    table: &Table,
    candidates: &[Candidate],
    goal: GoalCall,
    fresh: &[u32],
    entry: (BlockId, Op),
    code: &mut Code,
    bodies: &mut dyn Bodies,
) {
    let mut registers = Registers::new(table.value_count());
    let mut start = Facts::default();
    for (position, argument) in goal.arguments.iter().enumerate() {
        // Parameters that no clause mentions have no value in the table.
        let value = table.parameter(position as u32);
        if let (Some(value), Operand::Reg(register)) = (value, argument) {
            registers.set(value, *register);
            let is_fresh = fresh.contains(&(position as u32));
            start.set_value(value, if is_fresh { Fact::Unbound } else { Fact::Loaded });
        }
    }
    let tests: usize = candidates.iter().map(|c| c.passive.tests.len()).sum();
    let mentions = candidates.iter().map(|candidate| mentions(table, candidate)).collect();
    let mut tree = Tree {
        table,
        candidates,
        goal,
        registers,
        wait: FxHashMap::default(),
        memo: FxHashMap::default(),
        bodies: FxHashMap::default(),
        leaves: FxHashMap::default(),
        rests: Vec::new(),
        rest_numbers: FxHashMap::default(),
        canonical: Vec::new(),
        start,
        mentions,
        work: Vec::new(),
        budget: code.block_count() + 64 + 4 * tests + 2 * candidates.len(),
    };
    tree.run(entry, code, bodies);
}

/// The values that a clause's tests and body look at, with what leads to them.
fn mentions(table: &Table, candidate: &Candidate) -> FxHashSet<ValueId> {
    let mut found = FxHashSet::default();
    let mut add = |mut value: ValueId| {
        while found.insert(value) {
            match table.parent(value) {
                Some(parent) => value = parent,
                None => break,
            }
        }
    };
    for test in candidate.passive.tests.iter() {
        match table.get(*test) {
            Test::Shape(value, _) | Test::Eval(value) => add(*value),
            Test::Compare(_, a, b) => [a, b].into_iter().for_each(|x| {
                if let Atomic::Value(value) = x {
                    add(*value);
                }
            }),
            Test::Call(_, inputs, _) => inputs.iter().for_each(|x| {
                if let Atomic::Value(value) = x {
                    add(*value);
                }
            }),
        }
        if let Test::Eval(value) = table.get(*test)
            && let crate::values::Origin::Arith(_, a, b) = table.origin(*value)
        {
            for operand in [a, b] {
                if let Atomic::Value(value) = operand {
                    add(*value);
                }
            }
        }
    }
    candidate.body_values.iter().for_each(|value| add(*value));
    found
}

impl Tree<'_> {
    fn run(&mut self, entry: (BlockId, Op), code: &mut Code, bodies: &mut dyn Bodies) {
        let usable = self.candidates.iter().enumerate().filter(|(_, c)| !c.passive.never);
        let rows =
            usable.map(|(i, c)| Row { clause: i as u32, tests: c.passive.tests.clone(), from: 0 }).collect();
        let state = State {
            rows,
            facts: self.start.clone(),
            pending: Vec::new(),
            blocked: None,
            noted: false,
            slow: false,
            rest: None,
        };
        self.enter(entry, state, code, bodies);
        while let Some((block, work)) = self.work.pop() {
            match work {
                Work::State(state) => self.fill(block, Vec::new(), state, code),
                Work::Body(clause, facts) => {
                    let (ops, end) = bodies.body(clause as usize, &facts, code, &mut self.registers);
                    code.fill(block, ops, end);
                }
            }
        }
    }
    /// The entry block holds the poll and the first test (or the only body).
    fn enter(&mut self, entry: (BlockId, Op), mut state: State, code: &mut Code, bodies: &mut dyn Bodies) {
        let mut ops = vec![entry.1];
        match self.advance(&mut state) {
            Next::Ask => self.fill(entry.0, ops, state, code),
            Next::Commit(clause) => {
                let facts = self.body_facts(clause, &state.facts);
                let (more, end) = bodies.body(clause as usize, &facts, code, &mut self.registers);
                ops.extend(more);
                code.fill(entry.0, ops, end);
            }
            Next::Exit | Next::Wait => {
                let (more, end) = self.leave(&state.pending, state.noted);
                ops.extend(more);
                code.fill(entry.0, ops, end);
            }
        }
    }
    /// Drops what is decided from the front of the state.
    fn advance(&mut self, state: &mut State) -> Next {
        let mut dropped = 0;
        let next = loop {
            let Some(row) = state.rows.get_mut(dropped) else { break Next::Exit };
            if state.blocked.is_some_and(|group| self.candidates[row.clause as usize].group > group) {
                break Next::Wait;
            }
            let Some(&test) = row.left().first() else { break Next::Commit(row.clause) };
            match self.decided(&state.facts, test) {
                Some(Answer::Yes) => row.from += 1,
                Some(Answer::No) => dropped += 1,
                Some(Answer::Blocked) => {
                    let group = self.candidates[row.clause as usize].group;
                    let register = match self.table.get(test) {
                        Test::Shape(value, _) => self.registers.known(*value),
                        _ => self.wait[&test],
                    };
                    if !state.pending.contains(&register) {
                        state.pending.push(register);
                    }
                    state.blocked = Some(state.blocked.map_or(group, |other| other.min(group)));
                    dropped += 1;
                }
                None => break Next::Ask,
            }
        };
        state.rows.drain(..dropped);
        next
    }
    fn decided(&self, facts: &Facts, test: TestId) -> Option<Answer> {
        let yes_no = |answer: bool| if answer { Answer::Yes } else { Answer::No };
        match self.table.get(test) {
            Test::Shape(value, shape) => match facts.value(*value)? {
                Fact::Unbound => Some(Answer::Blocked),
                fact => fact.decides(*shape).map(yes_no),
            },
            Test::Compare(cond, a, b) => facts.compares(*cond, *a, *b).map(yes_no),
            Test::Eval(value) if facts.value(*value).is_some() => Some(Answer::Yes),
            Test::Eval(_) | Test::Call(..) => facts.answer(test),
        }
    }
    /// The block where a state goes on.
    fn target(&mut self, mut state: State, code: &mut Code) -> BlockId {
        match self.advance(&mut state) {
            Next::Commit(clause) => self.commit(clause, &state.facts, code),
            Next::Wait => self.leaf(state.pending, state.noted, code),
            Next::Exit => self.exit(state, code),
            Next::Ask => {
                if state.rows.len() > SHARED_MAX {
                    let block = code.block();
                    self.work.push((block, Work::State(state)));
                    return block;
                }
                self.forget(&mut state);
                let key = Key {
                    rows: state.rows.clone(),
                    pending: state.pending.clone(),
                    blocked: state.blocked,
                    noted: state.noted,
                    slow: state.slow,
                    rest: state.rest,
                };
                let versions = self.memo.entry(key).or_default();
                let spend = code.block_count() <= self.budget;
                if let Some(block) = reusable(versions, &state.facts, spend) {
                    return block;
                }
                let block = code.block();
                versions.push((state.facts.clone(), block));
                self.work.push((block, Work::State(state)));
                block
            }
        }
    }
    /// Forgets what no row asks for, so that more states are equal.
    fn forget(&self, state: &mut State) {
        if state.rows.len() > 8 {
            return;
        }
        let rows = &state.rows;
        state.facts = state.facts.about(
            |value| rows.iter().any(|row| self.mentions[row.clause as usize].contains(&value)),
            |test| rows.iter().any(|row| row.left().contains(&test)),
        );
    }
    fn body_facts(&self, clause: u32, facts: &Facts) -> Facts {
        let candidate = &self.candidates[clause as usize];
        let mentions = &self.mentions[clause as usize];
        facts.values_as(|value, fact| {
            if candidate.body_integers.contains(&value) && fact.implies(Fact::Like(Pattern::AnyInt)) {
                return Some(Fact::Like(Pattern::AnyInt));
            }
            mentions.contains(&value).then_some(Fact::Loaded)
        })
    }
    fn commit(&mut self, clause: u32, facts: &Facts, code: &mut Code) -> BlockId {
        let facts = self.body_facts(clause, facts);
        let versions = self.bodies.entry(clause).or_default();
        if let Some(block) = reusable(versions, &facts, code.block_count() <= self.budget) {
            return block;
        }
        let block = code.block();
        versions.push((facts.clone(), block));
        self.work.push((block, Work::Body(clause, facts)));
        block
    }
    fn leave(&self, pending: &[Reg], noted: bool) -> (Vec<Op>, End) {
        let goal = self.goal.clone();
        if noted {
            let ops = pending.iter().map(|&var| Op::Pend { var }).collect();
            (ops, End::SuspendOrFail { goal })
        } else if pending.is_empty() {
            (Vec::new(), End::Fail { goal })
        } else {
            (Vec::new(), End::Suspend { goal, on: pending.to_vec() })
        }
    }
    fn leaf(&mut self, pending: Vec<Reg>, noted: bool, code: &mut Code) -> BlockId {
        if let Some(&block) = self.leaves.get(&(pending.clone(), noted)) {
            return block;
        }
        let (ops, end) = self.leave(&pending, noted);
        let block = code.block();
        code.fill(block, ops, end);
        self.leaves.insert((pending, noted), block);
        block
    }
    fn exit(&mut self, state: State, code: &mut Code) -> BlockId {
        let Some(rest) = state.rest else { return self.leaf(state.pending, state.noted, code) };
        let target = self.rest_block(rest, state.blocked, code);
        if state.pending.is_empty() {
            return target;
        }
        let block = code.block();
        let ops = state.pending.iter().map(|&var| Op::Pend { var }).collect();
        code.fill(block, ops, End::Goto(target));
        block
    }
    fn rest_block(&mut self, rest: RestId, blocked: Option<u32>, code: &mut Code) -> BlockId {
        let info = &self.rests[rest.0 as usize];
        if let Some((_, block)) = info.blocks.iter().find(|(known, _)| *known == blocked) {
            return *block;
        }
        let state = State {
            rows: info.rows.clone(),
            facts: info.facts.clone(),
            pending: Vec::new(),
            blocked,
            noted: blocked.is_some(),
            slow: false,
            rest: info.outer,
        };
        let block = self.target(state, code);
        self.rests[rest.0 as usize].blocks.push((blocked, block));
        block
    }
    /// Leaves the first `count` rows in the state; the others are tried when those do not commit.
    fn split_off(&mut self, state: &mut State, count: usize, code: &Code) {
        if code.block_count() > self.budget {
            return self.split_canonically(state);
        }
        if state.rows.len() <= count {
            return;
        }
        let rows = state.rows.split_off(count);
        let outer = state.rest;
        // Equal rests must be one: else each would have its own rests, and so on.
        let key = (rows[0].clause, rows.len(), outer);
        let alike = self.rest_numbers.entry(key).or_default();
        let rests = &self.rests;
        let found = alike.iter().find(|rest| {
            let rest = &rests[rest.0 as usize];
            rest.rows == rows && rest.facts == state.facts
        });
        state.rest = found.copied();
        if found.is_none() {
            let number = RestId(self.rests.len() as u32);
            alike.push(number);
            self.rests.push(Rest { rows, facts: state.facts.clone(), outer, blocks: Vec::new() });
            state.rest = Some(number);
        }
    }
    /// Beyond the budget: one row, and a rest that depends on nothing but its clause (T3).
    fn split_canonically(&mut self, state: &mut State) {
        let clause = state.rows[0].clause;
        state.rows.truncate(1);
        if self.canonical.is_empty() {
            self.make_canonical();
        }
        state.rest = self.canonical[clause as usize];
    }
    /// For each clause the rest behind it: the next clause alone, then the rest behind that.
    fn make_canonical(&mut self) {
        self.canonical = vec![None; self.candidates.len()];
        let mut behind = None;
        for (clause, candidate) in self.candidates.iter().enumerate().rev() {
            self.canonical[clause] = behind;
            if candidate.passive.never {
                continue;
            }
            let row = Row { clause: clause as u32, tests: candidate.passive.tests.clone(), from: 0 };
            self.rests.push(Rest {
                rows: vec![row],
                facts: self.start.clone(),
                outer: behind,
                blocks: Vec::new(),
            });
            behind = Some(RestId(self.rests.len() as u32 - 1));
        }
    }
    /// Code for the first open test of a state.
    fn fill(&mut self, block: BlockId, mut ops: Vec<Op>, mut state: State, code: &mut Code) {
        if code.block_count() > self.budget {
            self.split_off(&mut state, 1, code);
        }
        let test = state.rows[0].left()[0];
        let end = match self.table.get(test) {
            Test::Shape(value, _) => {
                let value = *value;
                self.registers.ensure(value, self.table, &mut state.facts, &mut ops, code);
                self.split_shape(value, state, code)
            }
            Test::Compare(cond, a, b) => {
                let (cond, a, b) = (*cond, *a, *b);
                self.split_off(&mut state, CHUNK, code);
                self.load_all(&[a, b], &mut state.facts, &mut ops, code);
                let mut yes = state.clone();
                yes.facts.relate((a, b), relations(cond));
                state.facts.relate((a, b), !relations(cond) & 0b111);
                let yes = self.target(yes, code);
                let no = self.target(state, code);
                let (a, b) = (self.registers.operand(a, code), self.registers.operand(b, code));
                End::Compare { cond, a, b, yes, no, unbound: no, wait: self.wait_register(test, code) }
            }
            Test::Eval(value) => {
                let value = *value;
                self.split_off(&mut state, CHUNK, code);
                self.eval(test, value, &mut ops, state, code)
            }
            Test::Call(predicate, inputs, outputs) => {
                let (predicate, inputs, outputs) = (*predicate, inputs.clone(), *outputs);
                self.split_off(&mut state, CHUNK, code);
                self.load_all(&inputs, &mut state.facts, &mut ops, code);
                self.call(test, predicate, &inputs, outputs, state, code)
            }
        };
        code.fill(block, ops, end);
    }
    fn wait_register(&mut self, test: TestId, code: &mut Code) -> Reg {
        *self.wait.entry(test).or_insert_with(|| code.register())
    }
    fn load_all(&mut self, operands: &[Atomic], facts: &mut Facts, ops: &mut Vec<Op>, code: &mut Code) {
        for operand in operands {
            if let Atomic::Value(value) = operand {
                self.registers.ensure(*value, self.table, facts, ops, code);
            }
        }
    }
    fn eval(
        &mut self,
        test: TestId,
        value: ValueId,
        ops: &mut Vec<Op>,
        mut state: State,
        code: &mut Code,
    ) -> End {
        let crate::values::Origin::Arith(op, a, b) = *self.table.origin(value) else {
            unreachable!("only arithmetic is evaluated")
        };
        self.load_all(&[a, b], &mut state.facts, ops, code);
        let mut yes = state.clone();
        yes.facts.set_value(value, Fact::Integer);
        state.facts.set_answer(test, Answer::No);
        let yes = self.target(yes, code);
        let no = self.target(state, code);
        let dst = self.registers.of(value, code);
        let (a, b) = (self.registers.operand(a, code), self.registers.operand(b, code));
        End::GuardArith { op, dst, a, b, yes, no, unbound: no, wait: self.wait_register(test, code) }
    }
    fn call(
        &mut self,
        test: TestId,
        predicate: term::abi::PredicateId,
        inputs: &[Atomic],
        outputs: u32,
        state: State,
        code: &mut Code,
    ) -> End {
        let wait = self.wait_register(test, code);
        let with = |answer: Answer| {
            let mut next = state.clone();
            next.facts.set_answer(test, answer);
            next
        };
        let mut yes = with(Answer::Yes);
        let mut registers = Vec::new();
        for index in 0..outputs {
            // An output that no clause names still has its place.
            match self.table.output(test, index) {
                Some(value) => {
                    yes.facts.set_value(value, Fact::Loaded);
                    registers.push(self.registers.of(value, code));
                }
                None => registers.push(code.register()),
            }
        }
        let (no, unbound) = (with(Answer::No), with(Answer::Blocked));
        let yes = self.target(yes, code);
        let no = self.target(no, code);
        let unbound = self.target(unbound, code);
        let inputs = inputs.iter().map(|&input| self.registers.operand(input, code)).collect();
        End::GuardCall { predicate, inputs, outputs: registers, yes, no, unbound, wait }
    }
}

/// A block that may run where `facts` hold: one that uses all of them, or, when there are versions enough, any.
fn reusable(versions: &[(Facts, BlockId)], facts: &Facts, spend: bool) -> Option<BlockId> {
    let fits = |known: &Facts| facts.implies(known) && !facts.is_stronger_than(known);
    let exact = versions.iter().find(|(known, _)| fits(known));
    let any = || versions.iter().find(|(known, _)| facts.implies(known));
    exact.or_else(|| if spend && versions.len() < VERSIONS { None } else { any() }).map(|found| found.1)
}

impl Tree<'_> {
    fn shapes<'r>(&'r self, row: &'r Row, value: ValueId) -> impl Iterator<Item = Shape> + 'r {
        let of = move |test: &TestId| match self.table.get(*test) {
            Test::Shape(v, shape) if *v == value => Some(*shape),
            _ => None,
        };
        row.left().iter().filter_map(of)
    }
    /// The row without its tests of `value`.
    fn without(&self, row: &Row, value: ValueId) -> Row {
        let concerns = |test: &TestId| matches!(self.table.get(*test), Test::Shape(v, _) if *v == value);
        let leading = row.left().iter().take_while(|test| concerns(test)).count();
        let mut row = Row { from: row.from + leading as u32, ..row.clone() };
        if row.left().iter().any(concerns) {
            row.tests = row.left().iter().filter(|test| !concerns(test)).copied().collect();
            row.from = 0;
        }
        row
    }
    /// Asks for the shape of a value, once for all rows.
    fn split_shape(&mut self, value: ValueId, mut state: State, code: &mut Code) -> End {
        let prior = state.facts.value(value).unwrap_or(Fact::Loaded);
        let mut wishes: Vec<Wish> = state.rows.iter().map(|row| wish(self.shapes(row, value))).collect();
        let specific = wishes.iter().filter(|wish| matches!(wish, Wish::Only(_))).count();
        let others = wishes.len() - specific;
        if specific > 0 && specific * others > 4 * wishes.len() + 256 {
            let alike = matches!(wishes[0], Wish::Only(_));
            let run = wishes.iter().take_while(|wish| matches!(wish, Wish::Only(_)) == alike).count();
            self.split_off(&mut state, if alike { run.max(CHUNK) } else { CHUNK }, code);
            wishes.truncate(state.rows.len());
        }
        let shapes: Vec<Vec<Shape>> =
            state.rows.iter().map(|row| self.shapes(row, value).collect()).collect();
        let stripped: Vec<Row> = state.rows.iter().map(|row| self.without(row, value)).collect();
        let cells = Cells::new(&shapes, &wishes, prior);
        // The commonest outcome last, so that its block comes first in the work list.
        let mut blocked = state.clone();
        blocked.facts.set_value(value, Fact::Unbound);
        let default = {
            let accepts = |shapes: &[Shape]| shapes.iter().all(|shape| other_accepts(*shape));
            let fact = if prior.implies(Fact::Bound) { prior } else { Fact::Bound };
            self.cell(&state, value, fact, &stripped, |i| accepts(&shapes[i]), code)
        };
        let unbound = if prior.implies(Fact::Bound) { default } else { self.target(blocked, code) };
        let mut cases = Vec::new();
        for (pattern, only) in &cells.specific {
            let mut accepted: Vec<usize> = only.clone();
            let general = cells.others.iter().copied();
            accepted.extend(general.filter(|&i| shapes[i].iter().all(|shape| accepts(*pattern, *shape))));
            accepted.sort_unstable();
            let rows = accepted.into_iter().map(|i| stripped[i].clone()).collect();
            let block = self.cell_rows(&state, value, Fact::Like(*pattern), rows, code);
            cases.push((*pattern, block));
        }
        let mut small_block = None;
        for &pattern in &cells.general {
            let accepted = |i: usize| shapes[i].iter().all(|shape| accepts(pattern, *shape));
            let fact = if state.slow && cells.integers && is_integer_cell(pattern) {
                Fact::Integer
            } else {
                Fact::Like(pattern)
            };
            let block = match small_block {
                Some(block) if fact == Fact::Integer => block,
                _ => self.cell(&state, value, fact, &stripped, accepted, code),
            };
            if fact == Fact::Integer {
                small_block = Some(block);
            }
            cases.push((pattern, block));
        }
        while cases.last().is_some_and(|(_, block)| *block == default) {
            cases.pop();
        }
        End::Match { reg: self.registers.of(value, code), cases, unbound, default }
    }
    fn cell(
        &mut self,
        state: &State,
        value: ValueId,
        fact: Fact,
        stripped: &[Row],
        accepted: impl Fn(usize) -> bool,
        code: &mut Code,
    ) -> BlockId {
        let rows = (0..stripped.len()).filter(|&i| accepted(i)).map(|i| stripped[i].clone()).collect();
        self.cell_rows(state, value, fact, rows, code)
    }
    fn cell_rows(
        &mut self,
        state: &State,
        value: ValueId,
        fact: Fact,
        rows: Vec<Row>,
        code: &mut Code,
    ) -> BlockId {
        let mut facts = state.facts.clone();
        facts.set_value(value, fact);
        let slow = state.slow || fact == Fact::Like(BIGINT);
        if slow {
            facts.forget_sizes();
        }
        let pending = state.pending.clone();
        self.target(State { rows, facts, pending, slow, ..*state }, code)
    }
}
