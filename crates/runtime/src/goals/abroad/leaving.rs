//! What goals of shoens do that reaches other nodes: X20 of `shoen`.
//!
//! A variable of another node that such a goal binds may have another value there. So its home gets the value as a goal
//! of that shoen, which is counted like any other, and the failure is the shoen's.

use super::outward::Goal;
use crate::goals::shoen::state::{Shoen, Told};
use crate::worker::{PRIORITY_MAX, Worker};
use std::sync::Arc;
use term::Word;
use term::abi::PredicateId;

impl Worker {
    /// What a goal of a lane becomes that leaves for a node, and is under way already (X12). Daemons are nobody's
    /// there.
    pub(crate) fn leaving(&mut self, lane: i64, node: u32, predicate: PredicateId, args: &[Word]) -> Goal {
        let priority = self.rank(lane);
        let Some(shoen) = self.counted_shoen(lane) else {
            return Goal { priority, predicate, args: args.into() };
        };
        let numbers = self.sent_with(&shoen, priority, node);
        let goal = [self.predicate_object(predicate), self.vector(args)];
        let args = numbers.into_iter().chain(goal).collect();
        Goal { priority, predicate: self.system_goals.foster, args }
    }
    /// What is said of a shoen whose goal goes to a node, where its priority is this one.
    fn sent_with(&mut self, shoen: &Arc<Shoen>, priority: i64, node: u32) -> [Word; 7] {
        shoen.away.send(node);
        let Told { kinds, range: (low, high), depth } = shoen.told_around();
        let (number, from) = (shoen.number, self.options.node.into());
        [number, depth.into(), kinds as i64, low, high, priority, from].map(Word::small)
    }
    /// What a goal of this lane has bound goes to a node: the goal that binds it there, without its last two arguments,
    /// which are the variable and the value. `None`: the lane is 0.
    pub(crate) fn leaving_binding(&mut self, lane: i64, node: u32) -> Option<Goal> {
        if lane == 0 {
            return None;
        }
        let (shoen, rank) = (self.counted_shoen(lane)?, self.rank(lane));
        shoen.tally.hold();
        let args = self.sent_with(&shoen, rank, node).into_iter().collect();
        Some(Goal { priority: PRIORITY_MAX, predicate: self.system_goals.bind, args })
    }
}
