//! What concerns worker 0 alone, which has the world outside: knocks from there, and the calm (T2).
//!
//! Invariants (T1 to T10 and T12 are those of the modules beside this one):
//! - T11 A knock, from outside the team, gives worker 0 a claim (T12): it ends its next rest, or the one that it is in,
//!   as a timeout does. So not while the team is calm, nor before a solo worker has ended that.

use super::{Relaxed, Team, bit};

impl Team {
    /// T11: there is something outside for worker 0. May be called from any thread.
    pub(crate) fn knock(&self) {
        if self.len() == 1 {
            return;
        }
        let mut world = self.world();
        world.claims |= bit(0);
        self.ring(world, bit(0));
    }
    /// T2: whether worker 0, which asks this, has the node for itself.
    pub(crate) fn is_calm(&self) -> bool {
        // What others do begins with mail, which the caller posts.
        let world = self.world();
        debug_assert!(world.at_rest & bit(0) == 0, "T2: worker 0 runs, and asks this");
        world.calm && self.active.load(Relaxed) == 1
    }
}
