//! Shoens whose goals are at several nodes (X20 of the module above): what leaves a node is taken in by a foster there.
//!
//! What is left of a shoen at all nodes is found by acknowledgements (Dijkstra and Scholten, Termination detection for
//! diffusing computations, 1980). The multi-PSI's shoens had foster parents, too, and counted weights (Rokusawa et al.,
//! 1988).

use crate::goals::shoen::state::{Shoen, Told};
use crate::worker::{PRIORITY_MAX, Worker};
use std::sync::Arc;
use term::Word;
use term::abi::PredicateId;

/// What nodes tell each other of shoens: names of builtins, and numbers of arguments.
const TOLD: (&str, usize) = ("told", 2);
const HELLO: (&str, usize) = ("hello", 2);
const DONE: (&str, usize) = ("done", 1);
const ORDER: (&str, usize) = ("order", 2);

/// What came with a goal of a shoen from another node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) number: i64,
    pub(crate) told: Told,
    /// The goal's priority.
    pub(crate) rank: i64,
    /// The node that sent it, and counts it until it is told.
    pub(crate) from: u32,
}

impl Worker {
    /// Tells another node.
    fn tell_node(&mut self, node: u32, what: (&str, usize), args: &[Word]) {
        let predicate = self.shoen_goal(what);
        self.throw_outside(PRIORITY_MAX, node, predicate, args);
    }
    /// The node that has made the shoen of a number, if it is another one.
    pub(crate) fn other_home(&self, number: i64) -> Option<u32> {
        let home = self.shared.shoens.home(number);
        (home != self.options.node).then_some(home)
    }
    /// X20: a goal of a shoen has come from another node.
    pub(crate) fn take_in(&mut self, arrival: Arrival, predicate: PredicateId, args: &[Word]) {
        let Arrival { number, told, rank, from } = arrival;
        debug_assert!(from != self.options.node, "X20: a goal from this node has not left it");
        let own = self.other_home(number).is_none();
        let held = self.shared.shoens.hold_foster(number, own, from, told);
        if !held.as_ref().is_some_and(|(_, new)| *new) {
            self.tell_node(from, DONE, &[Word::small(number)]);
        }
        let Some((shoen, new)) = held else { return };
        if new {
            let words = [number, self.options.node.into()].map(Word::small);
            self.tell_node(self.shared.shoens.home(number), HELLO, &words);
        }
        if !shoen.tally.is_aborted() {
            let lane = self.shared.shoens.lane_of(&shoen, rank, false);
            self.spawn_at_lane(lane, predicate, args);
        }
        self.leave(&shoen);
    }
    /// X20: nothing is left of what stood for a shoen here.
    pub(super) fn end_foster(&mut self, shoen: &Shoen, from: u32) {
        debug_assert!(shoen.tally.is_over(), "X20: goals of it are left here");
        self.shared.shoens.remove(shoen);
        self.tell_node(from, DONE, &[Word::small(shoen.number)]);
    }
    /// X20: what was sent from here has come, and is counted there, or is done.
    pub(crate) fn is_done(&mut self, number: i64) {
        if let Some(shoen) = self.shared.shoens.get(number) {
            self.leave(&shoen);
        }
    }
    /// X20: another node has goals of a shoen of this one.
    pub(crate) fn greet(&mut self, number: i64, node: u32) {
        let Some(shoen) = self.shared.shoens.get(number) else { return };
        shoen.is_at(node);
        if shoen.tally.is_aborted() || shoen.is_stopped() {
            self.order_at(&shoen, node);
        }
    }
    /// X20: what a shoen is told, and shoens inside, all nodes are told that have goals of theirs.
    pub(super) fn order_nodes(&mut self, shoen: &Arc<Shoen>) {
        let mut all = vec![shoen.clone()];
        while let Some(shoen) = all.pop() {
            for node in shoen.nodes() {
                self.order_at(&shoen, node);
            }
            all.extend(shoen.children());
        }
    }
    fn order_at(&mut self, shoen: &Shoen, node: u32) {
        let what = match (shoen.tally.is_aborted(), shoen.is_stopped()) {
            (true, _) => "abort",
            (false, true) => "stop",
            (false, false) => "start",
        };
        let what = Word::atom(self.intern(what));
        self.tell_node(node, ORDER, &[Word::small(shoen.number), what]);
    }
    /// X20: the node of a shoen says what is to become of its goals here.
    pub(crate) fn obey(&mut self, number: i64, what: &str) {
        let foster = self.shared.shoens.get(number).filter(|shoen| shoen.foster.is_some());
        let Some(shoen) = foster else { return };
        match what {
            "abort" => self.abort(&shoen),
            "stop" => self.stop(&shoen),
            _ => self.start(&shoen),
        }
    }
    /// X20: what has happened here is reported where the shoen is: `bit` is that of its kind.
    pub(super) fn tell_home(&mut self, shoen: &Arc<Shoen>, bit: u64, event: Word) {
        if !shoen.tally.try_hold() {
            return;
        }
        let lane = self.shared.shoens.lane_of(shoen, PRIORITY_MAX, false);
        let (home, told) = (self.shared.shoens.home(shoen.number), self.shoen_goal(TOLD));
        self.throw_in(lane, home, told, &[Word::small(bit as i64), event]);
        self.leave(shoen);
    }
    /// X20: something has happened to goals of the running shoen at another node. False if nobody is told.
    pub(crate) fn hear(&mut self, bit: u64, event: Word) -> bool {
        let shoen = self.running_shoen();
        let Some(listener) = shoen.and_then(|shoen| self.listener(&shoen, bit)) else { return false };
        self.tell_shoen(&listener, bit, event);
        if bit == super::state::kind_bit("heap_limit") {
            self.abort(&listener);
        }
        true
    }
}
