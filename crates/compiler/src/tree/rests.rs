//! States in two parts: rows that are asked now, and a shared rest that is tried when none of them commits (T3).

use super::Tree;
use super::state::{Rest, RestId, Row, State};
use crate::ir::BlockId;
use crate::tree::code::Code;

impl Tree<'_> {
    pub(super) fn exit(&mut self, state: State, code: &mut Code) -> BlockId {
        let Some(rest) = state.rest else { return self.leaf(state.pending, state.noted, code) };
        let target = self.rest_block(rest, state.blocked, code);
        if state.pending.is_empty() {
            return target;
        }
        self.note(state.pending, target, code)
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
            about: (0, 0),
            rest: info.outer,
        };
        let block = self.target(state, code);
        self.rests[rest.0 as usize].blocks.push((blocked, block));
        block
    }
    /// Leaves the first `count` rows in the state; the others are tried when those do not commit.
    pub(super) fn split_off(&mut self, state: &mut State, count: usize, code: &Code) {
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
}
