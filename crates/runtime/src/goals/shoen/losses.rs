//! Nodes that die: X21 of the module above.
//!
//! **Notice.** A node dies at once and for good: it does nothing more, and what it has sent until then arrives.
//! The carrier of messages tells every other node, behind all that the dead one has sent to it
//! ([`Terms::lose_node`](crate::node::Terms::lose_node)). So nodes learn of it at different times, and each acts for
//! itself from then on. If the dead node was node 0, which has the terminal, the run ends.
//!
//! **Terms.** What others refer to at the dead node is lost: its variables never get a value there, and what was read
//! of its structures until then is all that there is. Whoever waits for such a variable waits, as for one of an
//! aborted shoen, and deadlocks are told as always; two nodes that know the same lost variable know two from then on.
//! Reads that were under way stay unanswered; readers at the dead node are forgotten. Weight that it had is never
//! given back: such exports of living nodes stay to the end of the run. That is memory, and never a wrong answer.
//! Nothing is sent to a dead node.
//!
//! **Goals.** Goals that were there are lost, those that had left for it, and those that it had sent and that were not
//! taken in. Each shoen that had any is told `exception(node_lost(Node),skip,_,_)`, once or more often, if it lists
//! `node_lost`, or else one around it that does; and is aborted. Nobody counts goals that belong to no shoen: if such a
//! goal has ever gone to the dead node, the run ends, as it does if no shoen lists `node_lost`. A goal for a dead node
//! goes to the next one that lives.
//!
//! **What is left of a shoen** (X20) is a tree: each node that has a foster is counted by the one whose goal has made
//! it. With a node its whole branch would be counted by nobody, and the shoen might be over too early. So its own node
//! takes the branches, before it forgets what it had sent to the dead node: it counts a goal for each other living
//! node, and sends the message `lost`. Whoever gets that, and knows of the death itself, by when all that the dead
//! node has sent is in, answers at once, unless it has a foster that the dead node's goal has made: then the shoen's
//! own node is told when nothing is left of that, as if its goal had made it. Only then is a foster's node told to
//! forget what it had sent to the dead node itself: until then that holds its branch. A new foster's node is asked the
//! same of all nodes that are dead by then: it may have sent goals to one before it knew. If the shoen's own node is
//! dead, its fosters are aborted; the shoen around it, whose goal it was, had goals there, too.
//!
//! Why nothing is early: take a foster with goals, and follow who counts it to the shoen's own node. As long as all of
//! them live that is X20. Of those that are dead take the one nearest to the shoen's own node. Until that has heard of
//! the death, whoever counts the dead one holds; afterwards the shoen's node holds for each node that lives until it
//! has answered; and what is below answers only when nothing is left.
//!
//! **Where nodes can be lost.** On a simulated machine a node may die (`--crash`), and what is below it, which routes
//! messages and finds the end of a run, lives on, as an operating system closes the connections of a process that has
//! died. Nodes that are threads of a process die with it. Under MPI a rank's death ends the job: Open MPI and MPICH end
//! all ranks by themselves unless they are built and started for fault tolerance (ULFM), and the machine layer's waves
//! and barriers need every rank; both would have to go around a dead one.

use crate::goals::shoen::state::{Shoen, kind_bit};
use crate::reports::outcome::{ErrorKind, ProgramError};
use crate::worker::Worker;
use std::collections::BTreeSet;
use std::sync::Arc;
use term::Word;

impl Worker {
    /// X21: whether a node is known to be dead.
    #[inline]
    pub(crate) fn is_lost(&self, node: u32) -> bool {
        self.shared.shoens.losses.has(node)
    }
    /// X21: a node has died.
    pub(crate) fn lose_node(&mut self, node: u32) {
        debug_assert!(node != self.options.node, "X21: a node that is dead knows nothing");
        if !self.shared.shoens.losses.add(node) {
            return;
        }
        if self.shared.shoens.losses.has_uncounted(node) {
            return self.end_with(lost_error(node).detail("it had goals that belong to no shoen"));
        }
        for shoen in self.shared.shoens.all() {
            if !shoen.tally.try_hold() {
                continue;
            }
            if self.other_home(shoen.number) == Some(node) {
                self.abort(&shoen);
                self.forget_sent(&shoen, node);
            } else if shoen.foster.is_none() {
                self.take_branches(&shoen, node);
                self.report_lost(&shoen, node);
            }
            self.leave(&shoen);
        }
        for number in self.shared.shoens.with_daemons(node) {
            self.abort_daemons(number);
        }
        for (number, node) in self.shared.shoens.losses.take_early(node) {
            self.hear_of_loss(number, node);
        }
    }
    /// X21: other nodes may have goals of a shoen of this node that only the dead one has counted.
    fn take_branches(&mut self, shoen: &Arc<Shoen>, node: u32) {
        if !shoen.away.have_been() {
            return;
        }
        let (own, nodes) = (self.options.node, self.options.nodes);
        for other in (0..nodes).filter(|&other| other != own) {
            self.tell_loss(shoen, node, other);
        }
    }
    /// X21: another node has a new foster, and may have sent goals to a node of which this one has heard that it is
    /// dead.
    pub(super) fn tell_losses(&mut self, shoen: &Arc<Shoen>, other: u32) {
        for node in self.shared.shoens.losses.all() {
            if shoen.tally.try_hold() {
                self.tell_loss(shoen, node, other);
                self.leave(shoen);
            }
        }
    }
    fn tell_loss(&mut self, shoen: &Arc<Shoen>, node: u32, other: u32) {
        if !self.is_lost(other) {
            shoen.tally.hold();
            shoen.away.send(other);
            self.tell_node(other, self.system_goals.lost, &[shoen.number, node.into()].map(Word::small));
        }
    }
    /// X21: the node of a shoen knows that another one has died, and counts this one.
    pub(crate) fn hear_of_loss(&mut self, number: i64, node: u32) {
        if !self.is_lost(node) {
            return self.shared.shoens.losses.put_off(number, node);
        }
        debug_assert!(self.other_home(number) != Some(node), "X21: a dead node tells nothing of {number}");
        let foster = self.shared.shoens.get(number).filter(|shoen| shoen.tally.try_hold());
        let home = self.shared.shoens.home(number);
        let Some(shoen) = foster else { return self.tell_end(number, home, 0, BTreeSet::new()) };
        debug_assert!(shoen.foster.is_some(), "X21: a shoen's own node does not tell itself");
        self.report_lost(&shoen, node);
        if !shoen.is_adopted(node, home) {
            self.tell_done(number, home);
        }
        self.leave(&shoen);
    }
    /// X21: what was sent to a dead node is counted no more. True if there was anything.
    fn forget_sent(&mut self, shoen: &Arc<Shoen>, node: u32) -> bool {
        let sent = shoen.away.take(node);
        (0..sent).for_each(|_| self.leave(shoen));
        sent > 0
    }
    /// The same, and says so of the shoen.
    fn report_lost(&mut self, shoen: &Arc<Shoen>, node: u32) {
        if !self.forget_sent(shoen, node) || shoen.tally.is_aborted() {
            return;
        }
        let Some(listener) = self.listener(shoen, kind_bit("node_lost")) else {
            return self.end_with(lost_error(node).detail("no shoen around its goals is told of node_lost"));
        };
        let kind = self.named("node_lost", &[Word::small(node.into())]);
        self.give_up_for(&listener, kind_bit("node_lost"), kind);
    }
}

fn lost_error(node: u32) -> Box<ProgramError> {
    ProgramError::new(ErrorKind::Other, format!("node {node} has died"))
}
