//! One worker that reduces while all others rest: it has the node for itself, and need not care what others may do
//! meanwhile.
//!
//! Invariants (T1 to T9 are those of the modules beside this one):
//! - T10 While a worker is *solo*, it runs and everybody else is at rest. Nobody ends a rest then, except because the
//!   run is over; a worker that has a reason says so (`interrupt_solo`). Only the solo worker ends that state, and
//!   does so before it posts mail or rests.

use super::{Relaxed, Team, World, bit};

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
            && self.active.load(Relaxed) == 1
            && !self.over();
        if alone {
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
        if world.knocked {
            self.ring(world, bit(0));
        }
    }
    /// A resting worker has a reason to reduce. If somebody is solo, that ends soon.
    pub(crate) fn interrupt_solo(&self) {
        self.hurry_solo(&self.world());
    }
    pub(super) fn hurry_solo(&self, world: &World) {
        if let Some(solo) = world.solo {
            self.solo_interrupted.store(true, Relaxed);
            self.poke(solo);
        }
    }
    /// Whether the solo worker shall call `end_solo`.
    #[inline(always)]
    pub(crate) fn solo_interrupted(&self) -> bool {
        self.solo_interrupted.load(Relaxed)
    }
}
