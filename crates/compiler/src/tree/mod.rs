//! Decision trees: the passive parts of a predicate's clauses as blocks of tests.
//!
//! For: choosing the clause that commits.
//! It may know: the tests of `program`, and blocks of IR.
//! It never: looks at a body: its caller makes those.
//!
//! A *state* is the clauses that may still commit (*rows*, in textual order, each with the tests that are left) and
//! what is known. A step takes the first row's first test, asks it once for all rows, and goes on with a state per
//! outcome.
//!
//! Invariants:
//! - The first row whose tests all succeed commits.
//! - A row that blocks on a variable before it failed puts that variable into `pending`; if no row commits, the
//!   goal suspends on all of them, and fails if there are none. A row behind an `otherwise` is only looked at when no
//!   row before that is pending.
//! - T3 Code size is linear in the number of tests: equal states are built once, and beyond a budget states are split
//!   into a first part and a shared *rest*; variables that block the first part are then noted at run time (`Pend`).
//! - T4 States of a predicate with many clauses do not differ in which variables are pending: they are noted where
//!   they are met. Else clauses that each wait for a variable of their own would make a state for each set of such
//!   variables.
//!
//! Absent on purpose: choosing tests by statistics. The program's order is what programmers expect.

mod ask;
pub(crate) mod code;
pub(crate) mod facts;
mod match_cases;
mod numbered;
mod rests;
mod state;

use crate::ir::{BlockId, End, GoalCall, Op, Operand, Pattern, Reg};
use crate::program::passive::Passive;
use crate::program::values::{Atomic, Fact, Origin, Table, Test, TestId, ValueId};
use crate::tree::code::{Code, Registers};
use crate::tree::facts::{Answer, Facts};
use rustc_hash::{FxHashMap, FxHashSet};
use state::{Key, Next, Rest, RestId, Row, State, Work};

/// Rows that a two-way test is asked for at once.
const CHUNK: usize = 32;
/// States of more rows are not looked for among those already built.
const SHARED_MAX: usize = 4 * CHUNK;
/// Predicates of more clauses note what blocks a clause at once (T4).
const PENDING_CLAUSES_MAX: usize = 16;
/// Of so few rows each is asked whether it needs a fact, of so few values each whether there is one.
const FEW: usize = 8;
/// Versions of one set of rows that differ in what is known.
const VERSIONS: usize = 4;
/// With more values small and big integers have no versions of their own: all that is known would be compared at each
/// test.
const SIZED_MAX: usize = 2048;

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
    /// Blocks that note variables and go on elsewhere.
    notes: FxHashMap<(Vec<Reg>, BlockId), BlockId>,
    rests: Vec<Rest>,
    rest_numbers: FxHashMap<(u32, usize, Option<RestId>), Vec<RestId>>,
    /// The rest behind each clause, when the budget is spent.
    canonical: Vec<Option<RestId>>,
    start: Facts,
    mentions: Vec<FxHashSet<ValueId>>,
    /// The last clauses that mention a value and that ask a test.
    last_mention: FxHashMap<ValueId, u32>,
    last_test: FxHashMap<TestId, u32>,
    /// How many tests of a value's shape a clause makes.
    shape_tests: FxHashMap<(u32, ValueId), usize>,
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
    if table.value_count() > SIZED_MAX {
        start.forget_sizes();
    }
    let tests: usize = candidates.iter().map(|c| c.passive.tests.len()).sum();
    let mentions: Vec<_> = candidates.iter().map(|candidate| mentions(table, candidate)).collect();
    let (mut last_mention, mut last_test) = (FxHashMap::default(), FxHashMap::default());
    let mut shape_tests = FxHashMap::default();
    for (clause, candidate) in (0..).zip(candidates) {
        last_mention.extend(mentions[clause as usize].iter().map(|&value| (value, clause)));
        last_test.extend(candidate.passive.tests.iter().map(|&test| (test, clause)));
        for &test in candidate.passive.tests.iter() {
            if let Test::Shape(value, _) = table.get(test) {
                *shape_tests.entry((clause, *value)).or_insert(0) += 1;
            }
        }
    }
    let mut tree = Tree {
        table,
        candidates,
        goal,
        registers,
        wait: FxHashMap::default(),
        memo: FxHashMap::default(),
        bodies: FxHashMap::default(),
        leaves: FxHashMap::default(),
        notes: FxHashMap::default(),
        rests: Vec::new(),
        rest_numbers: FxHashMap::default(),
        canonical: Vec::new(),
        start,
        mentions,
        last_mention,
        last_test,
        shape_tests,
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
            Test::Find { node, key, .. } => node.iter().chain([key]).for_each(|value| add(*value)),
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
            && let Origin::Arith(_, a, b) = table.origin(*value)
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
            about: (0, 0),
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
                Some(answer @ (Answer::Blocked | Answer::Noted)) => {
                    let group = self.candidates[row.clause as usize].group;
                    let register = match self.table.get(test) {
                        Test::Shape(value, _) | Test::Find { key: value, .. } => self.registers.known(*value),
                        _ => self.wait[&test],
                    };
                    if answer == Answer::Blocked && !state.pending.contains(&register) {
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
                Fact::Noted => Some(Answer::Noted),
                fact => fact.decides(*shape).map(yes_no),
            },
            Test::Find { key, .. } => match facts.value(*key) {
                Some(Fact::Unbound) => Some(Answer::Blocked),
                Some(Fact::Noted) => Some(Answer::Noted),
                _ => facts.answer(test),
            },
            Test::Compare(cond, a, b) => facts.compares(self.table, *cond, *a, *b).map(yes_no),
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
            Next::Ask if !state.pending.is_empty() && self.notes_at_once() => {
                let noted = std::mem::take(&mut state.pending);
                let is_noted = |register: Reg| noted.contains(&register);
                state.facts.note(|v| is_noted(self.registers.known(v)), |test| is_noted(self.wait[&test]));
                state.noted = true;
                let target = self.target(state, code);
                self.note(noted, target, code)
            }
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
                    slow: state.facts.is_coarse(),
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
    fn notes_at_once(&self) -> bool {
        self.candidates.len() > PENDING_CLAUSES_MAX
    }
    /// Forgets what no row asks for, so that more states are equal. With many rows, only what none behind the first
    /// asks for.
    fn forget(&self, state: &mut State) {
        let rows = &state.rows;
        let (first, are_many) = (rows[0].clause, rows.len() > FEW);
        // Rows only get less: with as many of them, and the same first, it has been done.
        if state.about != (first, rows.len()) {
            state.about = (first, rows.len());
            state.facts = match rows.as_slice() {
                [row] if self.mentions[row.clause as usize].len() <= FEW => {
                    state.facts.about_few(self.table, &self.mentions[row.clause as usize])
                }
                _ => state.facts.about(self.table, |value| match are_many {
                    true => self.last_mention.get(&value).is_some_and(|&last| last >= first),
                    false => rows.iter().any(|row| self.mentions[row.clause as usize].contains(&value)),
                }),
            };
        }
        state.facts.keep_answers(|test| match are_many {
            true => self.last_test.get(&test).is_some_and(|&last| last >= first),
            false => rows.iter().any(|row| row.left().contains(&test)),
        });
    }
    fn body_facts(&self, clause: u32, facts: &Facts) -> Facts {
        let candidate = &self.candidates[clause as usize];
        let mentions = &self.mentions[clause as usize];
        facts.values_as(mentions, |value, fact| {
            let is_integer = fact.implies(Fact::Like(Pattern::AnyInt));
            match is_integer && candidate.body_integers.contains(&value) {
                true => Fact::Like(Pattern::AnyInt),
                false => Fact::Loaded,
            }
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
    /// A block that notes variables and goes on in another.
    fn note(&mut self, pending: Vec<Reg>, target: BlockId, code: &mut Code) -> BlockId {
        *self.notes.entry((pending, target)).or_insert_with_key(|(pending, target)| {
            let block = code.block();
            let ops = pending.iter().map(|&var| Op::Pend { var }).collect();
            code.fill(block, ops, End::Goto(*target));
            block
        })
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
}

/// A block that may run where `facts` hold: one that uses all of them, or, when there are versions enough, any.
fn reusable(versions: &[(Facts, BlockId)], facts: &Facts, spend: bool) -> Option<BlockId> {
    let fits = |known: &Facts| facts.implies(known) && !facts.is_stronger_than(known);
    let exact = versions.iter().find(|(known, _)| fits(known));
    let any = || versions.iter().find(|(known, _)| facts.implies(known));
    exact.or_else(|| if spend && versions.len() < VERSIONS { None } else { any() }).map(|found| found.1)
}
