//! Binding two variables of which each is known at more than one node: rule L.
//!
//! Two variables become one by making one of them a reference to the other. If both homes do that at once, each with
//! the other's variable, the references form a circle. An order of variables avoids this: of two, the larger becomes
//! the reference. Which is larger must be clear at every node that may unify the two, also where only a reference to
//! a reference is known.
//!
//! **Labels.** A reference has a label (root, depth), compared in this order. A variable homed at node n has (n, 0);
//! a reference to it (n, 1); a reference to an import labelled (r, d), made because that import had no weight to give
//! away, (r, d + 1). All references to one export have one label, fixed when the import is made.
//!
//! **Rule L.** Of two variables that are marked or imports, the one with the larger label (then home, then entry)
//! becomes a reference to the other. If it is an import, its home is told to unify the export with the other.
//!
//! **Why no circle.** Follow any chain of references. A step from an import to its export leads from label (n, 1) to
//! a variable (n, 0), or from (r, d + 1) to an import labelled (r, d): the label falls. Where the export's cell has
//! meanwhile become a reference to something else, rule L made it so, and the label fell further or stayed equal; a
//! step between nodes always falls strictly. So labels fall along every chain, and since there is no label below (n,
//! 0) at node 0, every chain ends. A read is passed on along such a chain, so it waits strictly below the import that
//! it is for: no read waits for itself.
//!
//! Ichiyoshi, Rokusawa, Nakajima and Inamura ("A new external reference management and distributed unification for
//! KL1", New Generation Computing 7, 1990) order variables by node alone, which references to references defeat: the
//! depth is what they lack.

use super::exports::Way;
use super::{Post, Rule, With};
use crate::store::{ImportId, Seen, Store};
use fabric::NodeId;
use runtime::abroad::By;

/// What is compared: root, depth, home and entry.
type Label = (NodeId, u32, NodeId, u32);

impl<S: Store, P: Post> With<'_, S, P> {
    /// Two variables that are marked or imports were unified here, by that goal.
    pub fn alias(&mut self, a: S::Value, b: S::Value, by: By) {
        let (a, b) = (self.store.follow(a), self.store.follow(b));
        if a == b {
            return;
        }
        let (Some(of_a), Some(of_b)) = (self.label(a), self.label(b)) else {
            self.store.unify_in(by, a, b);
            return;
        };
        let (larger, other) = if of_a >= of_b { (a, b) } else { (b, a) };
        let seen = self.store.look(larger);
        // Before its home is told: a worker of this node may have bound it meanwhile.
        if self.store.bind(larger, other)
            && let Seen::Import(import) = seen
        {
            self.yield_to(import, other, by);
        }
    }

    /// Of an unbound variable that other nodes may know.
    fn label(&self, value: S::Value) -> Option<Label> {
        match self.store.look(value) {
            Seen::Variable { marked: true } => Some((self.protocol.options.node, 0, NodeId(0), 0)),
            Seen::Import(import) => {
                let entry = self.protocol.imports.get(import)?;
                if !self.protocol.rule(Rule::Depth) {
                    return Some((entry.root, 1, NodeId(0), 0));
                }
                Some((entry.root, entry.depth, entry.home, entry.entry))
            }
            _ => None,
        }
    }

    /// Ends an import whose variable has become a reference to `other`.
    fn yield_to(&mut self, import: ImportId, other: S::Value, by: By) {
        let Some(&entry) = self.protocol.imports.get(import) else { return };
        if let Seen::Import(same) = self.store.look(other)
            && let Some(known) = self.protocol.imports.get(same)
            && (known.home, known.entry) == (entry.home, entry.entry)
        {
            self.add_weight(same, entry.weight);
            self.gone(import);
            return;
        }
        if self.protocol.is_lost(entry.home) {
            return self.gone(import);
        }
        let goal = self.store.leaving_binding(by, entry.home);
        let mut words = Vec::new();
        self.put(&mut words, other, 0, Way::low(entry.home));
        match goal {
            Some(goal) => self.throw_binding(import, &goal, &words),
            None => self.give_back(import, entry.home, entry.entry, &words),
        }
    }
}
