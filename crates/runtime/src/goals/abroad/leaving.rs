//! What goals of shoens do that reaches other nodes: X20 of `shoen`.
//!
//! A variable of another node that such a goal binds may have another value there. So its home gets the value as a goal
//! of that shoen, which is counted like any other, and the failure is the shoen's.

use super::outward::{By, Goal};
use crate::goals::shoen::state::{Shoen, Told};
use crate::worker::{PRIORITY_MAX, Worker};
use std::sync::Arc;
use term::Word;
use term::abi::PredicateId;

impl Worker {
    /// What a goal of a lane becomes that leaves for a node, and is under way already (X12). Daemons are not counted.
    /// It is taken in there before anything else, so that a goal without end does not keep it from being counted there,
    /// or dropped; and those that come together run in the order in which they were sent.
    pub(crate) fn leaving(&mut self, lane: i64, node: u32, predicate: PredicateId, args: &[Word]) -> Goal {
        let priority = self.rank(lane);
        let (numbers, becomes) = match self.counted_shoen(lane) {
            Some(shoen) => {
                shoen.away.send(node);
                (self.said_of(&shoen, priority), self.system_goals.foster)
            }
            None => match self.shoen_of(lane) {
                Some(shoen) => (self.said_of(&shoen, priority), self.system_goals.daemon),
                None => return Goal { priority, predicate, args: args.into() },
            },
        };
        let goal = [self.predicate_object(predicate), self.vector(args)];
        let args = numbers.into_iter().chain(goal).collect();
        Goal { priority: PRIORITY_MAX, predicate: becomes, args }
    }
    /// What is said of a shoen whose goal goes to another node, where its priority is this one.
    fn said_of(&mut self, shoen: &Arc<Shoen>, priority: i64) -> [Word; 8] {
        let Told { kinds, range: (low, high), depth, around } = shoen.told_around();
        let (number, from) = (shoen.number, self.options.node.into());
        let around: Vec<Word> = around.into_iter().map(Word::small).collect();
        let around = if around.is_empty() { Word::NIL } else { self.vector(&around) };
        let [number, depth, kinds, low, high, priority, from] =
            [number, depth.into(), kinds as i64, low, high, priority, from].map(Word::small);
        [number, depth, kinds, low, high, priority, from, around]
    }
    /// What a goal has bound goes to a node: the goal that binds it there, without its last two arguments, which are
    /// the variable and the value. `None`: nobody counts it.
    pub(crate) fn leaving_binding(&mut self, By { lane, position }: By, node: u32) -> Option<Goal> {
        if lane == 0 {
            return None;
        }
        let (shoen, rank) = (self.counted_shoen(lane)?, self.rank(lane));
        shoen.tally.hold();
        shoen.away.send(node);
        let args = self.said_of(&shoen, rank).into_iter().chain([position.word()]).collect();
        Some(Goal { priority: PRIORITY_MAX, predicate: self.system_goals.bind, args })
    }
}
