//! Shoens whose goals are at several nodes (X20 of the module above): what leaves a node is taken in by a foster there.
//!
//! What is left of a shoen at all nodes is found by acknowledgements (Dijkstra and Scholten, Termination detection for
//! diffusing computations, 1980). The multi-PSI's shoens had foster parents, too, and counted weights (Rokusawa et al.,
//! 1988).

use crate::goals::shoen::state::{Shoen, Told};
use crate::worker::{PRIORITY_MAX, Worker};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use term::Word;
use term::abi::{Position, PredicateId};
use term::word::INT_MAX;

/// What came with a goal of a shoen from another node.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    pub(crate) number: i64,
    pub(crate) told: Told,
    /// The goal's priority.
    pub(crate) rank: i64,
    /// The node that sent it, and counts it until it is told.
    pub(crate) from: u32,
}

/// A number of words, as one.
fn small(words: u64) -> Word {
    Word::small(i64::try_from(words).unwrap_or(i64::MAX).min(INT_MAX))
}

impl Worker {
    /// Tells another node, unless it is dead (X21).
    pub(super) fn tell_node(&mut self, node: u32, what: PredicateId, args: &[Word]) {
        if !self.is_lost(node) {
            self.throw_outside(PRIORITY_MAX, node, what, args);
        }
    }
    /// X20: tells another node that one of the goals that it has sent is counted here, or done.
    pub(super) fn tell_done(&mut self, number: i64, node: u32) {
        self.tell_done_with(number, node, Word::NIL);
    }
    fn tell_done_with(&mut self, number: i64, node: u32, left: Word) {
        let words = [Word::small(number), Word::small(self.options.node.into()), left];
        self.tell_node(node, self.system_goals.done, &words);
    }
    /// X20: nothing is left here of what stood for a shoen but its daemons, as another node is told, and of words that
    /// were not told before (X18).
    pub(super) fn tell_end(&mut self, number: i64, node: u32, words: u64, mut left: BTreeSet<u32>) {
        if self.shared.shoens.has_daemons(number) {
            left.insert(self.options.node);
        }
        let all = [small(words)].into_iter().chain(left.into_iter().map(|node| Word::small(node.into())));
        let all: Vec<Word> = all.collect();
        let left = if words == 0 && all.len() == 1 { Word::NIL } else { self.vector(&all) };
        self.tell_done_with(number, node, left);
    }
    /// X18: goals here have allocated words of which a shoen's own node does not know. Until that has answered, it
    /// counts this as one of its goals that was sent there: so it learns of all words before it is over.
    pub(super) fn tell_words(&mut self, shoen: &Arc<Shoen>) {
        let Some(home) = self.other_home(shoen.number) else { return };
        if self.is_lost(home) || !shoen.tally.try_hold() {
            return;
        }
        match shoen.take_untold() {
            // They were told since that was noted.
            0 => self.leave(shoen),
            words => {
                shoen.away.send(home);
                let words = [Word::small(shoen.number), Word::small(self.options.node.into()), small(words)];
                self.tell_node(home, self.system_goals.words, &words);
            }
        }
    }
    /// X18: goals of a shoen of this node have allocated words at that one.
    pub(crate) fn hear_of_words(&mut self, number: i64, node: u32, words: u64) {
        debug_assert!(self.other_home(number).is_none(), "X18: {number} is another node's, as are its words");
        if let Some(shoen) = self.shared.shoens.get(number) {
            self.count_elsewhere(&shoen, words);
        }
        self.tell_done(number, node);
    }
    fn count_elsewhere(&mut self, shoen: &Arc<Shoen>, words: u64) {
        debug_assert!(
            words == 0 || !shoen.tally.is_over(),
            "X18: a shoen is over, and not all its words are known"
        );
        if words != 0 && shoen.count_elsewhere(words) {
            self.note_words(shoen);
        }
    }
    /// The node that has made the shoen of a number, if it is another one.
    pub(crate) fn other_home(&self, number: i64) -> Option<u32> {
        let home = self.shared.shoens.home(number);
        (home != self.options.node).then_some(home)
    }
    /// X20: a goal of a shoen has come from another node.
    pub(crate) fn take_in(&mut self, arrival: Arrival, predicate: PredicateId, args: &[Word]) {
        let rank = arrival.rank;
        let Some(shoen) = self.admit(arrival) else { return };
        if !shoen.tally.is_aborted() {
            let lane = self.shared.shoens.lane_of(&shoen, rank, false);
            self.spawn_at_lane(lane, predicate, args);
        }
        self.leave(&shoen);
    }
    /// X20: a daemon of a shoen has come from another node.
    pub(crate) fn take_in_daemon(&mut self, arrival: Arrival, predicate: PredicateId, args: &[Word]) {
        let Arrival { number, told, rank, from } = arrival;
        let home = self.shared.shoens.home(number);
        if self.is_lost(from) || self.is_lost(home) {
            return;
        }
        let around = told.around.clone();
        let Some((lane, new)) = self.shared.shoens.lane_of_daemon(number, rank, from, told) else { return };
        if new {
            [&[number], &*around].concat().into_iter().for_each(|number| self.say_hello(number));
        }
        self.spawn_at_lane(lane, predicate, args);
    }
    /// X20: a goal of a shoen has bound a variable of this node at another one. It has done that, aborted or not.
    pub(crate) fn take_in_binding(&mut self, arrival: Arrival, at: Position, variable: Word, value: Word) {
        let rank = arrival.rank;
        let Some(shoen) = self.admit(arrival) else { return };
        let lane = self.shared.shoens.lane_of(&shoen, rank, false);
        self.in_lane(lane, |worker| worker.unify_at(variable, value, at));
        self.leave(&shoen);
    }
    /// X20: what is here of the shoen of a goal that has come, with a holder for that.
    fn admit(&mut self, arrival: Arrival) -> Option<Arc<Shoen>> {
        let Arrival { number, told, from, .. } = arrival;
        debug_assert!(from != self.options.node, "X20: a goal from this node has not left it");
        if self.is_lost(from) {
            // X21: it is lost, too.
            return None;
        }
        let home = self.shared.shoens.home(number);
        if self.is_lost(home) {
            self.tell_done(number, from);
            return None;
        }
        let own = home == self.options.node;
        let held = self.shared.shoens.hold_foster(number, own, from, told);
        if !held.as_ref().is_some_and(|(_, new)| *new) {
            self.tell_done(number, from);
        }
        let (shoen, new) = held?;
        if new {
            self.say_hello(number);
        }
        Some(shoen)
    }
    fn say_hello(&mut self, number: i64) {
        if let Some(home) = self.other_home(number) {
            let words = [number, self.options.node.into()].map(Word::small);
            self.tell_node(home, self.system_goals.hello, &words);
        }
    }
    /// X20: nothing is left of what stood for a shoen here.
    pub(super) fn end_foster(&mut self, shoen: &Shoen) {
        debug_assert!(shoen.tally.is_over(), "X20: goals of it are left here");
        self.shared.shoens.remove(shoen);
        if let Some(from) = &shoen.foster {
            self.tell_end(shoen.number, from.load(SeqCst), shoen.take_untold(), shoen.nodes());
        }
        if self.shared.shoens.has_deserted() {
            self.shared.waker.wake();
        }
    }
    /// X20: what was sent from here has come, and is counted there, or is done; this number of words was allocated for
    /// it (X18), and at these nodes daemons are left.
    pub(crate) fn is_done(&mut self, number: i64, node: u32, words: u64, left: &[u32]) {
        let shoen = self.shared.shoens.get(number).filter(|shoen| shoen.away.came(node));
        match shoen {
            Some(shoen) => {
                self.count_elsewhere(&shoen, words);
                left.iter().for_each(|&left| self.has_left(&shoen, left));
                self.leave(&shoen);
            }
            None => {
                debug_assert!(self.is_lost(node), "X20: node {node} had goals of {number}, which was over")
            }
        }
    }
    /// X20: a node has daemons of a shoen, as its holder says.
    fn has_left(&mut self, shoen: &Shoen, node: u32) {
        let (own, aborted) = (node == self.options.node, shoen.foster.is_none() && shoen.tally.is_aborted());
        if !own {
            shoen.is_at(node);
        }
        match (own, aborted) {
            (_, false) => {}
            (true, true) => self.abort_daemons(shoen.number),
            (false, true) => self.order_at(shoen, node),
        }
    }
    /// X20: a shoen inside another one is over, and what it has left is the outer one's.
    pub(super) fn inherit(&mut self, from: &Shoen, by: &Shoen) {
        if !from.tally.is_aborted() {
            from.nodes().into_iter().for_each(|node| self.has_left(by, node));
        }
    }
    /// X20: another node has goals of a shoen of this one.
    pub(crate) fn greet(&mut self, number: i64, node: u32) {
        let Some(shoen) = self.shared.shoens.get(number) else {
            if self.shared.shoens.was_aborted(number) {
                // A daemon was under way.
                let what = Word::atom(self.intern("late"));
                self.tell_node(node, self.system_goals.order, &[Word::small(number), what]);
            }
            return;
        };
        shoen.is_at(node);
        if shoen.tally.is_aborted() || shoen.is_stopped() {
            self.order_at(&shoen, node);
        }
        self.tell_losses(&shoen, node);
    }
    /// X20: what a shoen is told, and shoens inside, all nodes are told that have goals of theirs.
    pub(super) fn order_nodes(&mut self, shoen: &Arc<Shoen>) {
        let mut all = vec![shoen.clone()];
        while let Some(shoen) = all.pop() {
            // A foster's own node tells the others.
            let nodes = if shoen.foster.is_none() { shoen.nodes() } else { BTreeSet::new() };
            nodes.into_iter().for_each(|node| self.order_at(&shoen, node));
            all.extend(shoen.children());
        }
    }
    pub(super) fn order_at(&mut self, shoen: &Shoen, node: u32) {
        if shoen.tally.is_aborted() {
            // It is over when that node has closed what it had to.
            if self.is_lost(node) || !shoen.tally.try_hold() {
                return;
            }
            shoen.away.send(node);
        }
        let what = match (shoen.tally.is_aborted(), shoen.is_stopped()) {
            (true, _) => "abort",
            (false, true) => "stop",
            (false, false) => "start",
        };
        let what = Word::atom(self.intern(what));
        self.tell_node(node, self.system_goals.order, &[Word::small(shoen.number), what]);
    }
    /// X20: the node of a shoen says what is to become of its goals here.
    pub(crate) fn obey(&mut self, number: i64, what: &str) {
        let foster = self.shared.shoens.get(number).filter(|shoen| shoen.foster.is_some());
        match (what, foster) {
            ("abort", foster) => {
                foster.iter().for_each(|shoen| self.abort(shoen));
                self.abort_daemons(number);
            }
            ("late", _) => self.abort_daemons(number),
            ("stop", Some(shoen)) => self.stop(&shoen),
            (_, Some(shoen)) => self.start(&shoen),
            (_, None) => {}
        }
    }
    /// X20: the node of a shoen is told that its goals and daemons here are dropped, or will be before that is told of
    /// a goal that it counts.
    pub(crate) fn has_obeyed(&mut self, number: i64) {
        if let Some(home) = self.other_home(number) {
            self.tell_done(number, home);
        }
    }
    /// X20: daemons are dropped that were left here.
    pub(super) fn abort_daemons(&mut self, number: i64) {
        if self.options.nodes > 1 && self.shared.shoens.abort_daemons(number) {
            self.shared.shoens.count_abort();
            self.shared.team.poke_all();
            self.abi.want_attention();
            self.shared.waker.wake();
        }
    }
    /// X20: what has happened here is reported where the shoen is: `bit` is that of its kind. Whether whoever is told
    /// `ends` by that.
    pub(super) fn tell_home(&mut self, shoen: &Arc<Shoen>, bit: u64, ends: bool, event: Word) {
        let home = self.shared.shoens.home(shoen.number);
        if self.is_lost(home) {
            return;
        }
        // X15: of what is over daemons are left.
        let counted = shoen.tally.try_hold();
        let lane = self.shared.shoens.lane_of(shoen, PRIORITY_MAX, !counted);
        let words = [Word::small(bit as i64), Word::small(ends.into()), event];
        self.throw_in(lane, home, self.system_goals.told, &words);
        if counted {
            self.leave(shoen);
        }
    }
    /// The innermost shoen that is told of what has happened in this one, or in what it has left; or what stands for
    /// one that may be (X20).
    pub(super) fn told_of(&mut self, shoen: &Arc<Shoen>, bit: u64) -> Option<Arc<Shoen>> {
        let listens = self.listener(shoen, bit);
        // All that was here is over. What stood for a shoen of another node tells that one; what has come back knows
        // the numbers of those around.
        let outermost = shoen.outwards().last().filter(|shoen| listens.is_none() && shoen.kinds & bit != 0);
        let Some(outermost) = outermost else { return listens };
        if outermost.foster.is_some() {
            return Some(outermost);
        }
        let around = &outermost.around;
        (0..around.len()).find_map(|i| self.told_at(&outermost, i, bit))
    }
    /// The same for the one around it with this place, from the inside, if that is not over.
    fn told_at(&mut self, shoen: &Shoen, place: usize, bit: u64) -> Option<Arc<Shoen>> {
        let (number, outer) = (shoen.around[place], &shoen.around[place + 1..]);
        let Some(home) = self.other_home(number) else {
            return self.shoen(number).and_then(|shoen| self.told_of(&shoen, bit));
        };
        let told = Told { kinds: shoen.kinds, range: shoen.range, depth: shoen.depth, around: outer.into() };
        let (lane, new) = self.shared.shoens.lane_of_daemon(number, PRIORITY_MAX, home, told)?;
        if new {
            self.say_hello(number);
        }
        self.shoen_of(lane)
    }
    /// X20: something has happened to goals of the running shoen at another node. False if nobody is told.
    pub(crate) fn hear(&mut self, bit: u64, ends: bool, event: Word) -> bool {
        let shoen = self.running_shoen();
        let Some(listener) = shoen.and_then(|shoen| self.told_of(&shoen, bit)) else { return false };
        match ends {
            true => self.end_with_event(&listener, bit, event),
            false => self.tell_shoen(&listener, bit, event),
        }
        true
    }
}

#[cfg(all(test, not(models)))]
mod tests {
    use super::*;
    use crate::collect::tests::Builder;
    use crate::goals::abroad::Outward;
    use crate::memory::ranges::read;
    use crate::worker::PRIORITY_START;

    /// What a goal of a shoen of this node becomes that goes to another one.
    fn sent(worker: &mut Worker, goal: PredicateId, argument: i64) -> (i64, PredicateId, Vec<Word>) {
        let range = (0, PRIORITY_MAX);
        let (number, _) = worker.new_shoen(Told { kinds: 0, range, depth: 1, around: Box::default() });
        let shoen = worker.begin_shoen(number).expect("it has not begun");
        let lane = worker.shared.shoens.lane_of(&shoen, PRIORITY_START, false);
        worker.throw_in(lane, 0, goal, &[Word::small(argument)]);
        let Some(Outward::Throw { node: 0, goal }) = worker.next_outward() else { panic!("it leaves") };
        (goal.priority, goal.predicate, goal.args.to_vec())
    }

    #[test]
    fn what_comes_is_taken_in_first_and_runs_in_the_order_in_which_it_came() {
        let mut builder = Builder::with(1, None);
        let goal = builder.goal[0];
        let worker = builder.node.worker();
        (worker.options.nodes, worker.options.node) = (2, 1);
        for argument in [1, 2] {
            let (priority, predicate, mut args) = sent(worker, goal, argument);
            // As if it had come from the other node: its shoen, and who sends it.
            (args[0], args[6]) = (Word::small(4), Word::small(0));
            worker.spawn_at_lane(priority, predicate, &args);
        }
        worker.spawn(goal, &[Word::small(3)]);
        worker.switch_priority();
        for _ in 0..2 {
            let top = read(worker.abi.goals as usize - 8);
            assert_eq!(PredicateId::of_goal_word(top), worker.system_goals.foster);
            worker.run_top_native();
        }
        let next = [(); 3].map(|()| {
            worker.switch_priority();
            while read(worker.abi.goals as usize - 8) == term::abi::BOTTOM.goal_word() {
                assert!(worker.next_segment(), "a goal is left");
            }
            worker.pop_goal()[0].as_int()
        });
        // X11: they come on top of what ran before.
        assert_eq!(next, [1, 2, 3]);
    }
}
