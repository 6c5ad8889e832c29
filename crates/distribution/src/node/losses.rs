//! Nodes that die: J6 of `node`.

use super::{LOST, Reducer};
use fabric::{Fabric, NodeId, Priority};
use machine::Context;
use runtime::outcome::{ErrorKind, ProgramError, RunOutcome};

impl Reducer<'_> {
    /// Whether this node dies now: then it is dead.
    pub(super) fn dies<F: Fabric>(&mut self, context: &mut Context<'_, F>) -> bool {
        let own = context.node();
        let crash = self.out.meter.as_ref().and_then(|meter| meter.model().crash);
        if !crash.is_some_and(|crash| NodeId(crash.node) == own && context.now().0 >= crash.cycle) {
            return false;
        }
        self.over = true;
        self.node.end(Some(RunOutcome::Success));
        for to in (0..context.nodes()).map(NodeId).filter(|&to| to != own) {
            for priority in [Priority::High, Priority::Low] {
                context.send(to, priority, LOST, &[]);
            }
            self.out.outgoing.bells.push(to);
        }
        true
    }

    /// A node says that it is dead, behind what it has sent in this priority.
    pub(super) fn hear_of_death<F: Fabric>(
        &mut self,
        context: &mut Context<'_, F>,
        node: NodeId,
        priority: Priority,
    ) {
        let new = self.deaths.insert((node, priority));
        let both = [Priority::High, Priority::Low].iter().all(|&said| self.deaths.contains(&(node, said)));
        if !new || !both {
            return;
        }
        if node == NodeId(0) {
            let error = ProgramError::new(ErrorKind::Other, "node 0 has died, which has the terminal");
            return self.stop(context, Some(RunOutcome::Failed(error)));
        }
        self.woken = true;
        self.balance.lose(node);
        self.rounds.lose(node);
        let mut terms = self.node.terms();
        self.out.with(&mut terms, context, 0, |with| with.lose(node));
        terms.lose_node(node.0);
    }
}
