//! One worker that reduces while all others rest: it has the node for itself, and need not care what others may do
//! meanwhile.
//!
//! Invariants (T1 to T9 and T11 are those of the modules beside this one):
//! - T10 While a worker is *solo*, it runs and everybody else is at rest. Nobody ends a rest then, except because the
//!   run is over; a worker that has a reason says so (`interrupt_solo`). Only the solo worker ends that state, and
//!   does so before it posts mail or rests.
//! - T12 A worker that interrupts a solo one has a *claim* until it gets up. Nobody goes solo while a resting worker
//!   has one, and the end of solo rings for those that have. Otherwise the worker that was solo would be so again
//!   before the other one looks, for ever.

use super::{Instant, PATIENCE_MAX, Relaxed, Team, World, bit, now};

impl Team {
    /// T10: true if everybody else rests. The caller runs.
    pub(crate) fn go_solo(&self, me: usize) -> bool {
        if self.active.load(Relaxed) != 1 {
            return false;
        }
        let mut world = self.world();
        // A worker that is in `rest` and has not lain down yet counts as active.
        let alone = world.at_rest == self.everybody() & !bit(me)
            && world.stop.nobody()
            && world.claims & !bit(me) == 0
            && self.active.load(Relaxed) == 1
            && !self.over();
        if alone {
            debug_assert!(world.solo.is_none(), "T10: two are solo");
            world.solo = Some(me);
        }
        alone
    }
    /// The solo worker is like any other from now on.
    pub(crate) fn end_solo(&self, me: usize) {
        let mut world = self.world();
        assert_eq!(world.solo, Some(me), "T10");
        world.solo = None;
        self.solo_interrupted.store(false, Relaxed);
        let claims = world.claims;
        self.ring(world, claims);
    }
    /// A resting worker has a reason to reduce. If somebody is solo, that ends soon; `rest` then answers `Timeout`
    /// (T12).
    pub(crate) fn interrupt_solo(&self, me: usize) {
        self.world().claims |= bit(me);
    }
    /// T12: whether a worker that rests shall end that as soon as it may; a solo worker is told.
    pub(super) fn has_claim(&self, world: &World, me: usize, deadline: &mut Option<Instant>) -> bool {
        let claims = world.claims & bit(me) != 0;
        if claims && let Some(solo) = world.solo {
            self.solo_interrupted.store(true, Relaxed);
            self.poke(solo);
            // T7: it may overlook one poke.
            *deadline = now().checked_add(PATIENCE_MAX);
        }
        claims
    }
    /// Whether the solo worker shall call `end_solo`.
    #[inline(always)]
    pub(crate) fn solo_interrupted(&self) -> bool {
        self.solo_interrupted.load(Relaxed)
    }
}
