//! Goals that go to nodes that have none, and collections in which all nodes take part ([`rounds`]), without anything
//! that sends or looks at a clock. What nodes tell each other for that are notices, of which the protocol of terms
//! knows nothing.
//!
//! A node that rests asks those 1, 2, 4, 8.. nodes behind it ([`Notice::Hungry`]), each once until that one has given
//! it a goal: its lifelines, as in GLB (Saraswat, Kambadur, Kodali, Grove and Krishnamoorthy, "Lifeline-based global
//! load balancing", PPoPP 2011). Nobody answers that there is none: who is asked remembers it, and gives when there is
//! one to spare. So who gets a goal feeds those that have asked it, goals reach every node in few steps from any that
//! has some, and where nobody has any, nothing is sent, so a program ends.
//!
//! Which goals pay is learned by predicate: who gets goals tells how long it ran until it rested, and compares that
//! with the messages that went and came meanwhile. Of a predicate whose goals were not worth it more often than
//! they were, none go for a while; then one is tried. While it is in vain, each pause is twice as long as the one
//! before: what is old now may be larger than what was old then.
//!
//! Invariants:
//! - H1 A node asks others, never itself, and none again that has its question.
//! - H2 The giver of each gift is told what became of it, before gifts after the next rest are counted: at most once,
//!   and not if it was not worth it here because a part of it went on.
//! - H3 Time is that of the node itself, and never goes back.

mod notice;
mod rounds;

pub(crate) use notice::{NAMES, Notice, Round};
pub(crate) use rounds::{Rounds, Usage};

use fabric::NodeId;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// A gift pays that runs this many times as long as the handling of its messages.
const WORTH: u64 = 2;
/// Gifts in vain of a predicate, less those that paid, from which on its goals stay.
const IN_VAIN: i32 = 3;
/// For how long they stay at first, in times that a message takes, and doublings of that, at most.
const PAUSE: u64 = 6;
const PAUSES_MAX: u32 = 5;
/// Gifts that paid, at most, that count for a predicate.
const PAID_MAX: i32 = 8;
/// Times that a message takes from a look in vain to the next.
const LOOK: u64 = 2;

/// Goals that came as gifts, until it is known what they were worth.
#[derive(Debug)]
struct Account {
    /// The nodes that gave them, and their predicates.
    gifts: Vec<(NodeId, u32)>,
    /// Messages that this node had sent and received when the first came.
    traffic: u64,
    /// For how long this node has reduced since then.
    time: u64,
    /// It has rested since then.
    rested: bool,
    /// It has given a goal away since then, so what they were worth is not known here.
    passed_on: bool,
}

/// What is known of a predicate's gifts.
#[derive(Clone, Copy, Debug, Default)]
struct Lesson {
    /// Those that paid, less those that did not.
    score: i32,
    /// The time at which one may be tried although they did not pay, and how often that was in vain.
    tried_at: u64,
    in_vain: u32,
}

impl Lesson {
    /// None goes for a while, from now on; then one. A message takes that long.
    fn pause(&mut self, now: u64, message: u64) {
        self.tried_at = now + message.saturating_mul(PAUSE << self.in_vain);
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
    /// The handling of a message, in the unit of time.
    message: u64,
    /// There may be goals to be had.
    on: bool,
    /// Nodes that have a question of this one.
    asked: Vec<NodeId>,
    /// Nodes that want a goal, in the order in which they asked.
    askers: VecDeque<NodeId>,
    /// When it looks again whether there is one for them.
    looks_at: u64,
    /// For how long the node had worked when that was last told.
    now: u64,
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
            message,
            on,
            asked: Vec::new(),
            askers: VecDeque::new(),
            looks_at: 0,
            now: 0,
            lessons: FxHashMap::default(),
            account: None,
        }
    }

    /// The node has nothing to do, and had: whom it asks.
    pub(crate) fn rest(&mut self) -> Vec<NodeId> {
        self.account.iter_mut().for_each(|account| account.rested = true);
        if !self.on {
            return Vec::new();
        }
        let before = self.asked.len();
        for distance in (0..u32::BITS).map(|power| 1 << power).take_while(|&distance| distance < self.nodes) {
            self.asked.extend(self.behind(distance).filter(|other| !self.asked.contains(other)));
        }
        self.asked[before..].to_vec()
    }
    /// The first other node that lives, that far behind this one or farther.
    fn behind(&self, distance: u32) -> Option<NodeId> {
        let others = (0..self.nodes).map(|step| NodeId((self.node.0 + distance + step) % self.nodes));
        others.filter(|&other| self.is_other(other)).find(|other| !self.lost.contains(other))
    }
    /// A node is dead: nothing more comes from it, and what it was asked nobody answers.
    pub(crate) fn lose(&mut self, node: NodeId) {
        self.lost.push(node);
        self.askers.retain(|&asker| asker != node);
        self.asked.retain(|&asked| asked != node);
        self.account.iter_mut().for_each(|account| account.gifts.retain(|&(giver, _)| giver != node));
    }
    fn is_other(&self, asker: NodeId) -> bool {
        asker != self.node
    }
    /// Another node wants a goal.
    pub(crate) fn hear(&mut self, asker: NodeId) {
        if self.is_other(asker) && !self.askers.contains(&asker) {
            self.askers.push_back(asker);
            self.looks_at = 0;
        }
        debug_assert!(self.askers.len() < self.nodes as usize, "H1: {:?}", self.askers);
    }
    /// Some node has goals that any may reduce. True if that is new: a node that rests asks then.
    pub(crate) fn offered(&mut self) -> bool {
        !std::mem::replace(&mut self.on, true)
    }

    /// Another node wants a goal.
    pub(crate) fn is_asked(&self) -> bool {
        !self.askers.is_empty()
    }
    /// For how long the node has worked, in the unit of time. Pauses are parts of that: turns differ too much.
    pub(crate) fn tell_time(&mut self, now: u64) {
        debug_assert!(self.now <= now, "H3: {now} after {}", self.now);
        self.now = now;
    }
    /// For whom a goal is to be looked for.
    pub(crate) fn asker(&self) -> Option<NodeId> {
        self.askers.front().copied().filter(|_| self.now >= self.looks_at)
    }
    /// A goal was found for a node, or not.
    pub(crate) fn looked(&mut self, asker: NodeId, found: bool) {
        if found {
            self.askers.retain(|&other| other != asker);
            self.looks_at = self.now;
        } else {
            self.looks_at = self.now + LOOK * self.message;
        }
    }
    /// Goals of this predicate did not pay, and it is not time to try one.
    pub(crate) fn stays(&self, predicate: u32) -> bool {
        let lesson = self.lessons.get(&predicate);
        lesson.is_some_and(|lesson| lesson.score <= -IN_VAIN && self.now < lesson.tried_at)
    }
    /// A goal of this predicate goes.
    pub(crate) fn gave(&mut self, predicate: u32) {
        self.account.iter_mut().for_each(|account| account.passed_on = true);
        if let Some(lesson) = self.lessons.get_mut(&predicate).filter(|lesson| lesson.score <= -IN_VAIN) {
            // One at a time.
            lesson.pause(self.now, self.message);
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
                lesson.pause(self.now, self.message);
            }
        }
    }

    /// A goal has come as a gift. `traffic`: messages that this node has sent and received until now. Answers
    /// who is told what of the gifts before the last rest.
    pub(crate) fn got(&mut self, giver: NodeId, predicate: u32, traffic: u64) -> Vec<(NodeId, Notice)> {
        self.asked.retain(|&asked| asked != giver);
        let ended = self.account.as_ref().is_some_and(|account| account.rested);
        let told = if ended { self.close(traffic) } else { Vec::new() };
        let new = || Account { gifts: Vec::new(), traffic, time: 0, rested: false, passed_on: false };
        self.account.get_or_insert_with(new).gifts.push((giver, predicate));
        told
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
    /// Nothing is known to come of the last gifts any more: who is told what.
    pub(crate) fn close(&mut self, traffic: u64) -> Vec<(NodeId, Notice)> {
        let Some(Account { gifts, traffic: before, time, passed_on, .. }) = self.account.take() else {
            return Vec::new();
        };
        debug_assert!(before <= traffic, "H2: {traffic} messages, and {before} before");
        let messages = 1 + traffic.saturating_sub(before);
        let much = time >= WORTH.saturating_mul(messages).saturating_mul(self.message);
        if passed_on && !much {
            return Vec::new();
        }
        gifts.into_iter().map(|(giver, predicate)| (giver, Notice::Gained { predicate, much })).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn balance(node: u32, nodes: u32) -> Balance {
        Balance::new(NodeId(node), nodes, true, 1_000)
    }

    #[test]
    fn what_one_node_has_reaches_all_that_rest_in_few_steps() {
        for nodes in 1..40u32 {
            let asked: Vec<Vec<NodeId>> = (0..nodes).map(|node| balance(node, nodes).rest()).collect();
            let steps = nodes.next_power_of_two().ilog2();
            assert!(asked.iter().all(|asked| asked.len() as u32 == steps), "{asked:?}");
            let mut fed = vec![false; nodes as usize];
            fed[0] = true;
            for _ in 0..steps {
                let before = fed.clone();
                for (node, asked) in asked.iter().enumerate() {
                    fed[node] |= asked.iter().any(|other| before[other.0 as usize]);
                }
            }
            assert!(fed.into_iter().all(|fed| fed), "{nodes} nodes");
        }
    }

    #[test]
    fn no_dead_node_is_asked_or_waited_for() {
        let mut balance = balance(0, 3);
        assert_eq!(balance.rest(), [NodeId(1), NodeId(2)]);
        balance.hear(NodeId(1));
        balance.lose(NodeId(1));
        assert_eq!((balance.rest(), balance.asker()), (vec![], None));
        balance.got(NodeId(2), 7, 0);
        assert_eq!(balance.rest(), [NodeId(2)]);
    }

    #[test]
    fn a_question_of_ones_own_gets_nothing_and_one_that_is_repeated_is_one() {
        let mut balance = balance(1, 3);
        balance.hear(NodeId(1));
        assert_eq!(balance.asker(), None);
        (0..2).for_each(|_| balance.hear(NodeId(0)));
        assert_eq!(balance.asker(), Some(NodeId(0)));
        balance.looked(NodeId(0), true);
        assert_eq!(balance.asker(), None);
    }

    #[test]
    fn a_node_asks_none_again_that_has_its_question() {
        let mut balance = balance(1, 5);
        assert_eq!(balance.rest(), [2, 3, 0].map(NodeId));
        assert_eq!(balance.rest(), []);
        balance.got(NodeId(3), 7, 0);
        assert_eq!(balance.rest(), [NodeId(3)]);
        assert_eq!(balance.rest(), []);
    }

    #[test]
    fn nobody_asks_before_there_is_anything_to_be_had() {
        let mut balance = Balance::new(NodeId(1), 3, false, 1_000);
        assert!(balance.rest().is_empty() && balance.offered() && !balance.offered());
        assert!(!balance.rest().is_empty());
    }

    #[test]
    fn predicates_whose_gifts_did_not_pay_stay() {
        let (mut giver, mut taker) = (balance(0, 2), balance(1, 2));
        let mut give = |time: u64, traffic: u64, until: &mut Balance| {
            taker.got(NodeId(0), 7, 100);
            taker.spend(time);
            let told = taker.close(100 + traffic);
            let &[(NodeId(0), Notice::Gained { predicate: 7, much })] = &told[..] else {
                panic!("the giver is told: {told:?}")
            };
            until.gained(7, much);
            much
        };
        // Three messages: the goal itself, and two more.
        assert!(give(6_000, 2, &mut giver) && !give(5_999, 2, &mut giver));
        for _ in 0..3 {
            assert!(!giver.stays(7));
            assert!(!give(1_000, 1, &mut giver));
        }
        assert!(giver.stays(7) && !giver.stays(8));
        assert!(taker.close(0).is_empty());
    }

    #[test]
    fn gifts_between_two_rests_are_worth_what_they_are_together() {
        let mut taker = balance(0, 5);
        let gained = |node, predicate, much| (NodeId(node), Notice::Gained { predicate, much });
        assert!(taker.got(NodeId(1), 7, 100).is_empty() && taker.got(NodeId(2), 8, 101).is_empty());
        taker.spend(20_000);
        taker.rest();
        assert_eq!(taker.got(NodeId(4), 7, 101), [gained(1, 7, true), gained(2, 8, true)]);
        taker.lose(NodeId(4));
        assert!(taker.close(102).is_empty());
        // Of what a part went on nothing bad is told.
        taker.got(NodeId(1), 7, 102);
        taker.gave(7);
        assert!(taker.close(102).is_empty());
    }

    #[test]
    fn after_ever_longer_pauses_one_goal_of_such_a_predicate_is_tried() {
        let mut balance = balance(0, 2);
        (0..IN_VAIN).for_each(|_| balance.gained(7, false));
        let mut pauses = Vec::new();
        for _ in 0..4 {
            let begin = balance.now;
            while balance.stays(7) {
                balance.tell_time(balance.now + balance.message);
            }
            pauses.push((balance.now - begin) / balance.message);
            balance.gave(7);
            assert!(balance.stays(7));
            balance.gained(7, false);
        }
        assert_eq!(pauses, [PAUSE, 2 * PAUSE, 4 * PAUSE, 8 * PAUSE]);
        // The next one pays: others may go at once, and pauses begin anew.
        balance.gained(7, true);
        assert!(!balance.stays(7));
        balance.gained(7, false);
        assert_eq!(balance.lessons[&7].tried_at - balance.now, PAUSE * balance.message);
    }

    #[test]
    fn after_a_look_in_vain_it_looks_later_however_long_turns_are() {
        let mut balance = balance(0, 3);
        balance.hear(NodeId(2));
        assert_eq!(balance.asker(), Some(NodeId(2)));
        balance.looked(NodeId(2), false);
        balance.tell_time(LOOK * balance.message - 1);
        assert_eq!(balance.asker(), None);
        balance.tell_time(LOOK * balance.message);
        assert_eq!(balance.asker(), Some(NodeId(2)));
        balance.looked(NodeId(2), true);
        assert_eq!(balance.asker(), None);
    }
}
