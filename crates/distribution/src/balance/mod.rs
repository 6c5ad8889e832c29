//! Goals that go to nodes that have none, and collections in which all nodes take part ([`rounds`]), without anything
//! that sends or looks at a clock. What nodes tell each other for that are notices, of which the protocol of terms
//! knows nothing.
//!
//! A node that rests asks one other, chosen at random ([`Notice::Hungry`]), as in GUM (Trinder, Hammond, Mattson,
//! Partridge and Peyton Jones, "GUM: a portable parallel implementation of Haskell", PLDI 1996). Whoever is asked and
//! has a goal to spare sends it; otherwise it remembers who asked, and passes the question on, at most three times. So
//! a node that has nothing to spare now feeds those that asked when it has. Questions become rarer, so that a
//! program ends: a node asks at its first rest, and then at the second, fourth, eighth since it got a goal.
//!
//! Which goals pay is learned by predicate: who gets one tells how long it ran, and compares that with the messages
//! that went and came meanwhile. Of a predicate whose goals were not worth it more often than they were, none go for a
//! while; then one is tried. While it is in vain, each pause is twice as long as the one before: what is old now may be
//! larger than what was old then.
//!
//! Invariants:
//! - H1 A node asks others, never itself, and remembers each that asked once.
//! - H2 The giver of each gift is told once what became of it, before the next gift is counted.

mod notice;
mod rounds;

pub(crate) use notice::{NAMES, Notice, Round};
pub(crate) use rounds::{Rounds, Usage};

use fabric::{NodeId, Random};
use notice::HOPS_MAX;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// A gift pays that runs this many times as long as the handling of its messages.
const WORTH: u64 = 10;
/// Gifts in vain of a predicate, less those that paid, from which on its goals stay.
const IN_VAIN: i32 = 3;
/// Turns in which goals were reduced for which they stay at first, and doublings of that, at most.
const PAUSE: u64 = 4;
const PAUSES_MAX: u32 = 5;
/// Gifts that paid, at most, that count for a predicate.
const PAID_MAX: i32 = 8;
/// After looks in vain, at most 2 to this power of turns until the next.
const LOOKS_MAX: u32 = 6;

/// A goal that came as a gift, until it is known what it was worth.
#[derive(Clone, Copy, Debug)]
struct Account {
    giver: NodeId,
    predicate: u32,
    /// Messages that this node had sent and received when it came.
    traffic: u64,
    /// For how long this node has reduced since then.
    time: u64,
}

/// What is known of a predicate's gifts.
#[derive(Clone, Copy, Debug, Default)]
struct Lesson {
    /// Those that paid, less those that did not.
    score: i32,
    /// The turn at which one may be tried although they did not pay, and how often that was in vain.
    tried_at: u64,
    in_vain: u32,
}

impl Lesson {
    /// None goes for a while, from this turn on; then one.
    fn pause(&mut self, turn: u64) {
        self.tried_at = turn + (PAUSE << self.in_vain);
        self.in_vain = (self.in_vain + 1).min(PAUSES_MAX);
    }
}

/// What a node knows of who wants goals.
#[derive(Debug)]
pub(crate) struct Balance {
    node: NodeId,
    nodes: u32,
    /// Those of them that are dead.
    lost: Vec<NodeId>,
    random: Random,
    /// The handling of a message, in the unit of time.
    message: u64,
    /// There may be goals to be had.
    on: bool,
    /// A question of this node is under way.
    asking: bool,
    /// Rests since it got a goal, and the one at which it asks.
    rests: u32,
    asks_at: u32,
    /// Nodes that want a goal, in the order in which they asked.
    askers: VecDeque<NodeId>,
    /// Turns until it looks again whether there is one for them, and looks in vain in a row.
    left_out: u32,
    in_vain: u32,
    /// Turns in which goals were reduced.
    turns: u64,
    /// By predicate.
    lessons: FxHashMap<u32, Lesson>,
    account: Option<Account>,
}

impl Balance {
    /// Of a node; `on`: any goal may move. A message takes that long.
    pub(crate) fn new(node: NodeId, nodes: u32, on: bool, message: u64) -> Balance {
        Balance {
            node,
            nodes,
            lost: Vec::new(),
            random: Random::new(u64::from(node.0)),
            message,
            on,
            asking: false,
            rests: 0,
            asks_at: 1,
            askers: VecDeque::new(),
            left_out: 0,
            in_vain: 0,
            turns: 0,
            lessons: FxHashMap::default(),
            account: None,
        }
    }

    /// The node has nothing to do, and had: whom it asks.
    pub(crate) fn rest(&mut self) -> Option<(NodeId, Notice)> {
        if !self.on || self.asking {
            return None;
        }
        self.rests += 1;
        if self.rests < self.asks_at {
            return None;
        }
        self.asks_at = self.asks_at.saturating_mul(2);
        let to = self.other(self.node)?;
        self.asking = true;
        Some((to, Notice::Hungry { asker: self.node, hops: 0 }))
    }
    /// A node other than this one and `asker`.
    fn other(&mut self, asker: NodeId) -> Option<NodeId> {
        let out = 1 + u32::from(asker != self.node);
        let mut number = self.random.below(self.nodes.checked_sub(out).filter(|&left| left > 0)?);
        let (first, second) = (self.node.min(asker), self.node.max(asker));
        number += u32::from(number >= first.0);
        number += u32::from(first != second && number >= second.0);
        debug_assert!(number < self.nodes && number != self.node.0 && number != asker.0, "H1: {number}");
        // The next one that lives.
        let others = (0..self.nodes).map(|step| NodeId((number + step) % self.nodes));
        let mut others = others.filter(|&other| other != self.node && other != asker);
        others.find(|other| !self.lost.contains(other))
    }
    /// A node is dead: nothing more comes from it, and what it was asked nobody answers.
    pub(crate) fn lose(&mut self, node: NodeId) {
        self.lost.push(node);
        self.askers.retain(|&asker| asker != node);
        self.account.take_if(|account| account.giver == node);
        self.asking = false;
    }
    /// Whether it is another node that asks (H1): no node sends a question of the receiver's own, and one that does
    /// gets nothing.
    pub(crate) fn is_other(&self, asker: NodeId) -> bool {
        asker != self.node
    }
    /// Another node wants a goal, and there is none to spare: who is told what.
    pub(crate) fn pass_on(&mut self, asker: NodeId, hops: u8) -> Option<(NodeId, Notice)> {
        if !self.is_other(asker) {
            return None;
        }
        if !self.askers.contains(&asker) {
            self.askers.push_back(asker);
            self.left_out = 0;
        }
        debug_assert!(self.askers.len() < self.nodes as usize, "H1: {:?}", self.askers);
        match self.other(asker).filter(|_| hops < HOPS_MAX) {
            Some(other) => Some((other, Notice::Hungry { asker, hops: hops + 1 })),
            None => Some((asker, Notice::NoGoal)),
        }
    }
    /// The question was in vain.
    pub(crate) fn no_goal(&mut self) {
        self.asking = false;
    }
    /// Some node has goals that any may reduce. True if that is new: a node that rests asks then.
    pub(crate) fn offered(&mut self) -> bool {
        (self.rests, self.asks_at) = (0, 1);
        !std::mem::replace(&mut self.on, true)
    }

    /// Another node wants a goal.
    pub(crate) fn is_asked(&self) -> bool {
        !self.askers.is_empty()
    }
    /// After a turn in which goals were reduced: for whom one is to be looked for.
    pub(crate) fn asker(&mut self) -> Option<NodeId> {
        self.turns += 1;
        let asker = *self.askers.front()?;
        if self.left_out > 0 {
            self.left_out -= 1;
            return None;
        }
        Some(asker)
    }
    /// A goal was found for a node, or not.
    pub(crate) fn looked(&mut self, asker: NodeId, found: bool) {
        if found {
            self.askers.retain(|&other| other != asker);
            (self.in_vain, self.left_out) = (0, 0);
        } else {
            self.in_vain = (self.in_vain + 1).min(LOOKS_MAX);
            self.left_out = (1 << self.in_vain) - 1;
        }
    }
    /// Goals of this predicate did not pay, and it is not time to try one.
    pub(crate) fn stays(&self, predicate: u32) -> bool {
        let lesson = self.lessons.get(&predicate);
        lesson.is_some_and(|lesson| lesson.score <= -IN_VAIN && self.turns < lesson.tried_at)
    }
    /// A goal of this predicate goes.
    pub(crate) fn gave(&mut self, predicate: u32) {
        if let Some(lesson) = self.lessons.get_mut(&predicate).filter(|lesson| lesson.score <= -IN_VAIN) {
            // One at a time.
            lesson.pause(self.turns);
        }
    }
    /// What became of a gift of this node.
    pub(crate) fn gained(&mut self, predicate: u32, much: bool) {
        let lesson = self.lessons.entry(predicate).or_default();
        if much {
            lesson.score = (lesson.score + 1).min(PAID_MAX);
            lesson.in_vain = 0;
        } else {
            lesson.score = (lesson.score - 1).max(-IN_VAIN);
            if lesson.score <= -IN_VAIN && lesson.in_vain == 0 {
                lesson.pause(self.turns);
            }
        }
    }

    /// A goal has come as a gift. `traffic`: messages that this node has sent and received until now.
    pub(crate) fn got(&mut self, giver: NodeId, predicate: u32, traffic: u64) {
        (self.asking, self.rests, self.asks_at) = (false, 0, 1);
        debug_assert!(self.account.is_none(), "H2: {:?} is not told", self.account);
        self.account = Some(Account { giver, predicate, traffic, time: 0 });
    }
    /// Whether it is to be known how long the node reduces.
    pub(crate) fn measures(&self) -> bool {
        self.account.is_some()
    }
    /// For how long it has reduced.
    pub(crate) fn spend(&mut self, time: u64) {
        if let Some(account) = &mut self.account {
            account.time += time;
        }
    }
    /// Nothing is known to come of the last gift any more: who is told what.
    pub(crate) fn close(&mut self, traffic: u64) -> Option<(NodeId, Notice)> {
        let Account { giver, predicate, traffic: before, time } = self.account.take()?;
        debug_assert!(before <= traffic, "H2: {traffic} messages, and {before} before");
        let messages = 1 + traffic.saturating_sub(before);
        let much = time >= WORTH.saturating_mul(messages).saturating_mul(self.message);
        Some((giver, Notice::Gained { predicate, much }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn balance(node: u32, nodes: u32) -> Balance {
        Balance::new(NodeId(node), nodes, true, 1_000)
    }

    #[test]
    fn every_other_node_is_asked_and_no_question_comes_back() {
        for nodes in 2..6 {
            for node in 0..nodes {
                let mut balance = balance(node, nodes);
                for asker in (0..nodes).map(NodeId) {
                    let asked: std::collections::BTreeSet<_> =
                        (0..200).filter_map(|_| balance.other(asker)).collect();
                    let others = (0..nodes).map(NodeId).filter(|&other| other != asker && other.0 != node);
                    assert_eq!(asked, others.collect());
                }
            }
        }
    }

    #[test]
    fn no_dead_node_is_asked_or_waited_for() {
        let mut balance = balance(0, 3);
        assert!(balance.rest().is_some());
        balance.lose(NodeId(1));
        assert_eq!(balance.rest(), Some((NodeId(2), Notice::Hungry { asker: NodeId(0), hops: 0 })));
        balance.pass_on(NodeId(2), 0);
        balance.lose(NodeId(2));
        assert_eq!((balance.asker(), balance.other(NodeId(0))), (None, None));
    }

    #[test]
    fn a_question_of_ones_own_gets_nothing() {
        let mut balance = balance(1, 3);
        assert!(balance.is_other(NodeId(0)) && !balance.is_other(NodeId(1)));
        assert_eq!((balance.pass_on(NodeId(1), 0), balance.asker()), (None, None));
    }

    #[test]
    fn a_question_ends_after_three_hops_and_is_remembered() {
        let mut nodes: Vec<Balance> = (0..9).map(|node| balance(node, 9)).collect();
        let (mut at, mut message) = nodes[0].rest().expect("it asks");
        assert!(nodes[0].rest().is_none(), "its question is under way");
        let mut asked = 0;
        while let Notice::Hungry { asker, hops } = message {
            asked += 1;
            let here = at;
            (at, message) = nodes[here.0 as usize].pass_on(asker, hops).expect("an answer");
            assert_eq!(nodes[here.0 as usize].asker(), Some(NodeId(0)));
        }
        assert_eq!((asked, at, message), (4, NodeId(0), Notice::NoGoal));
    }

    #[test]
    fn a_node_that_gets_nothing_asks_ever_less_often() {
        let mut balance = balance(1, 2);
        let mut asked = Vec::new();
        for rest in 1..40 {
            if balance.rest().is_some() {
                asked.push(rest);
                balance.no_goal();
            }
        }
        assert_eq!(asked, [1, 2, 4, 8, 16, 32]);
        balance.got(NodeId(0), 7, 0);
        assert!(balance.rest().is_some());
    }

    #[test]
    fn nobody_asks_before_there_is_anything_to_be_had() {
        let mut balance = Balance::new(NodeId(1), 3, false, 1_000);
        assert!(balance.rest().is_none() && balance.offered() && !balance.offered());
        assert!(balance.rest().is_some());
    }

    #[test]
    fn predicates_whose_gifts_did_not_pay_stay() {
        let (mut giver, mut taker) = (balance(0, 2), balance(1, 2));
        let mut give = |time: u64, traffic: u64, until: &mut Balance| {
            taker.got(NodeId(0), 7, 100);
            taker.spend(time);
            let Some((NodeId(0), Notice::Gained { predicate: 7, much })) = taker.close(100 + traffic) else {
                panic!("the giver is told")
            };
            until.gained(7, much);
            much
        };
        // Three messages: the goal itself, and two more.
        assert!(give(30_000, 2, &mut giver) && !give(29_999, 2, &mut giver));
        for _ in 0..3 {
            assert!(!giver.stays(7));
            assert!(!give(5_000, 1, &mut giver));
        }
        assert!(giver.stays(7) && !giver.stays(8));
        assert!(taker.close(0).is_none());
    }

    #[test]
    fn after_ever_longer_pauses_one_goal_of_such_a_predicate_is_tried() {
        let mut balance = balance(0, 2);
        (0..IN_VAIN).for_each(|_| balance.gained(7, false));
        let mut pauses = Vec::new();
        for _ in 0..4 {
            let begin = balance.turns;
            while balance.stays(7) {
                balance.asker();
            }
            pauses.push(balance.turns - begin);
            balance.gave(7);
            assert!(balance.stays(7));
            balance.gained(7, false);
        }
        assert_eq!(pauses, [PAUSE, 2 * PAUSE, 4 * PAUSE, 8 * PAUSE]);
        // The next one pays: others may go at once, and pauses begin anew.
        balance.gained(7, true);
        assert!(!balance.stays(7));
        balance.gained(7, false);
        assert_eq!(balance.lessons[&7].tried_at - balance.turns, PAUSE);
    }

    #[test]
    fn after_looks_in_vain_turns_are_left_out() {
        let mut balance = balance(0, 3);
        balance.pass_on(NodeId(2), 3);
        let looks = (0..1_000).filter(|_| {
            let asker = balance.asker();
            asker.into_iter().for_each(|asker| balance.looked(asker, false));
            asker.is_some()
        });
        assert!((15..30).contains(&looks.count()));
        while balance.asker().is_none() {}
        balance.looked(NodeId(2), true);
        assert_eq!(balance.asker(), None);
    }
}
