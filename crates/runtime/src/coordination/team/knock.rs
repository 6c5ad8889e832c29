//! What concerns worker 0 alone, which has the world outside: knocks from there, and the calm (T2).
//!
//! Invariants (T1 to T10 are those of the modules beside this one):
//! - T11 A knock, from outside the team, ends the next rest of worker 0, or the one that it is in: as a timeout does,
//!   so not while the team is calm, nor before a solo worker has ended that.

use super::{Instant, PATIENCE_MAX, Relaxed, Team, World, bit, now};

impl Team {
    /// T11: there is something outside for worker 0. May be called from any thread.
    pub(crate) fn knock(&self) {
        if self.len() == 1 {
            return;
        }
        let mut world = self.world();
        world.knocked = true;
        self.ring(world, bit(0));
    }
    /// T11: whether a worker that rests shall end that soon; a solo worker is told.
    pub(super) fn hears_knock(&self, world: &World, me: usize, deadline: &mut Option<Instant>) -> bool {
        let hears = me == 0 && world.knocked;
        if hears && world.solo.is_some() {
            self.hurry_solo(world);
            // T7: it may overlook one poke.
            *deadline = now().checked_add(PATIENCE_MAX);
        }
        hears
    }
    /// T2: whether worker 0, which asks this, has the node for itself.
    pub(crate) fn is_calm(&self) -> bool {
        // What others do begins with mail, which the caller posts.
        self.world().calm && self.active.load(Relaxed) == 1
    }
}
