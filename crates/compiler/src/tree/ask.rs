//! Code of one test, asked for all rows at once, and the state of each outcome.

use super::state::{Row, State};
use super::{CHUNK, Tree};
use crate::ir::{BlockId, ConstantId, End, Op, Operand, Reg};
use crate::program::arithmetic::relations;
use crate::program::values::{Atomic, Fact, Origin, Shape, Test, TestId, ValueId};
use crate::tree::code::Code;
use crate::tree::facts::{Answer, Facts};
use crate::tree::match_cases::{BIGINT, Cells, Wish, accepts, names_specific, other_accepts, wish};

impl Tree<'_> {
    /// Code for the first open test of a state.
    pub(super) fn fill(&mut self, block: BlockId, mut ops: Vec<Op>, mut state: State, code: &mut Code) {
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
                yes.facts.relate(self.table, (a, b), relations(cond));
                state.facts.relate(self.table, (a, b), !relations(cond) & 0b111);
                let yes = self.target(yes, code);
                let no = self.target(state, code);
                let (a, b) = (self.registers.operand(a, code), self.registers.operand(b, code));
                End::Compare { cond, a, b, yes, no, unbound: no, wait: self.wait_register(test, code) }
            }
            Test::Find { table, node, key } => {
                let (table, node, key) = (*table, *node, *key);
                self.split_off(&mut state, CHUNK, code);
                self.registers.ensure(key, self.table, &mut state.facts, &mut ops, code);
                self.find(test, (table, node, key), state, code)
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
    /// Where the variable comes that blocks a test: the same register for all if it is read at once (T4).
    fn wait_register(&mut self, test: TestId, code: &mut Code) -> Reg {
        let shared = if self.notes_at_once() { self.wait.values().next().copied() } else { None };
        *self.wait.entry(test).or_insert_with(|| shared.unwrap_or_else(|| code.register()))
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
        let Origin::Arith(op, a, b) = *self.table.origin(value) else {
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
    /// Looks for a value in a node of a table.
    fn find(
        &mut self,
        test: TestId,
        (table, node, key): (ConstantId, Option<ValueId>, ValueId),
        state: State,
        code: &mut Code,
    ) -> End {
        let prior = state.facts.value(key).unwrap_or(Fact::Loaded);
        let is_bound = prior.implies(Fact::Bound);
        let mut blocked = state.clone();
        blocked.facts.set_value(key, Fact::Unbound);
        let with = |answer: Answer| {
            let mut next = state.clone();
            next.facts.set_answer(test, answer);
            next.facts.set_value(key, if is_bound { prior } else { Fact::Bound });
            next
        };
        let (mut yes, no) = (with(Answer::Yes), with(Answer::No));
        let found = self.table.output(test, 0).expect("what is found has a value");
        yes.facts.set_value(found, Fact::Loaded);
        let no = self.target(no, code);
        let unbound = if is_bound { no } else { self.target(blocked, code) };
        let yes = self.target(yes, code);
        let node = node.map_or(Operand::Int(0), |node| Operand::Reg(self.registers.known(node)));
        let (key, next) = (self.registers.of(key, code), self.registers.of(found, code));
        End::Lookup { table, node, key, next, yes, no, unbound }
    }
    fn shapes<'r>(&'r self, row: &'r Row, value: ValueId) -> impl Iterator<Item = Shape> + 'r {
        let of = move |test: &TestId| match self.table.get(*test) {
            Test::Shape(v, shape) if *v == value => Some(*shape),
            _ => None,
        };
        row.left().iter().filter_map(of).take(self.shape_count(row, value))
    }
    /// How many tests of the value's shape the row has at most.
    fn shape_count(&self, row: &Row, value: ValueId) -> usize {
        self.shape_tests.get(&(row.clause, value)).copied().unwrap_or(0)
    }
    /// The row without its tests of `value`.
    fn without(&self, row: &Row, value: ValueId) -> Row {
        let concerns = |test: &TestId| matches!(self.table.get(*test), Test::Shape(v, _) if *v == value);
        let leading = row.left().iter().take_while(|test| concerns(test)).count();
        let mut row = Row { from: row.from + leading as u32, ..row.clone() };
        if leading < self.shape_count(&row, value) && row.left().iter().any(concerns) {
            row.tests = row.left().iter().filter(|test| !concerns(test)).copied().collect();
            row.from = 0;
        }
        row
    }
    /// Asks for the shape of a value, once for all rows.
    fn split_shape(&mut self, value: ValueId, mut state: State, code: &mut Code) -> End {
        let prior = state.facts.value(value).unwrap_or(Fact::Loaded);
        let mut wishes: Vec<Wish> = state.rows.iter().map(|row| wish(self.shapes(row, value))).collect();
        // Each row that wishes for nothing specific is asked for each specific pattern that another one names.
        let others = wishes.iter().filter(|wish| matches!(wish, Wish::Other)).count();
        let names_one = |row: &&Row| self.shapes(row, value).any(names_specific);
        let specific = if others == 0 { 0 } else { state.rows.iter().filter(names_one).count() };
        if specific * others > 4 * wishes.len() + 256 {
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
        for &pattern in &cells.general {
            let accepted = |i: usize| shapes[i].iter().all(|shape| accepts(pattern, *shape));
            let block = self.cell(&state, value, Fact::Like(pattern), &stripped, accepted, code);
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
        if fact == Fact::Like(BIGINT) {
            facts.forget_sizes();
        }
        let pending = state.pending.clone();
        self.target(State { rows, facts, pending, ..*state }, code)
    }
}
