//! Stopping all workers between reductions, and work that they share meanwhile.
//!
//! One worker *leads*: it pokes those that run, waits until each of them is in [`Team::stopped`] or at rest, does
//! what must be done while nobody reduces, and lets them go on. In between it may open *shares*: work in which the
//! stopped workers (and the resting ones, if wanted) take part.
//!
//! Invariants (T1 to T7 are those of the module above):
//! - T8 There is at most one leader; it runs. From `stop_others` answering true to `resume_others`, everybody else is
//!   stopped, at rest, or in a share, and stays so.
//! - T9 A worker is in a share from the answer `Share` until it calls again. The leader closes a share before it
//!   waits for those that are in, so a worker that comes too late is not let in: what is shared must be work that
//!   anyone can take, and the leader does what nobody took.

use super::{Relaxed, SPIN, Team, World, bit, members};
use crate::coordination::schedule::now;
use crate::coordination::sync::MutexGuard;
use std::time::Duration;

/// How often a leader repeats its pokes (T7).
const REPEAT: Duration = Duration::from_millis(1);

/// What a stopped worker is to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// Take part in what the leader shares, then ask again.
    Share,
    /// Reduce.
    Resume,
}

/// The workers that shall take part in a share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sharers {
    /// Those that reduced.
    Stopped,
    /// The resting ones too: they must be woken, which pays only for long work.
    Everybody,
}

/// The stop that is going on.
#[derive(Debug, Default)]
pub(super) struct Stop {
    leader: Option<usize>,
    /// T8 holds: the leader has seen that everybody is stopped.
    complete: bool,
    stopped: u64,
    /// Workers that may enter the share that is open.
    called: u64,
    /// Workers that are in it.
    sharing: u64,
}

impl Stop {
    pub(super) fn leader(&self) -> Option<usize> {
        self.leader
    }
    pub(super) fn nobody(&self) -> bool {
        self.leader.is_none() && self.stopped == 0
    }
    /// True if the stop had not become complete and is off.
    pub(super) fn cancel(&mut self) -> bool {
        if !self.complete {
            self.leader = None;
        }
        !self.complete
    }
    pub(super) fn enter_share(&mut self, me: usize) -> bool {
        debug_assert!(self.called == 0 || self.complete, "T9: a share before all are stopped");
        let called = self.called & bit(me);
        self.called &= !called;
        self.sharing |= called;
        called != 0
    }
}

impl Team {
    /// Whether a running worker shall call `stopped`; asked at every attention.
    #[inline(always)]
    pub(crate) fn stop_wanted(&self) -> bool {
        self.stop.load(Relaxed)
    }
    /// Stops everybody else. False if another worker leads (the caller calls `stopped` then, as at any attention) or
    /// the run is over.
    pub(crate) fn stop_others(&self, me: usize) -> bool {
        let mut world = self.world();
        debug_assert!((world.at_rest | world.stop.stopped) & bit(me) == 0, "T8");
        if world.stop.leader.is_some() || self.over() {
            return false;
        }
        world.stop.leader = Some(me);
        self.stop.store(true, Relaxed);
        while !self.gathered(&world) {
            for worker in members(self.running(&world) & !bit(me)) {
                self.poke(worker);
            }
            world = self.wait(world, me, Some(now() + REPEAT), SPIN);
            if world.stop.leader != Some(me) {
                return false;
            }
        }
        world.stop.complete = true;
        true
    }
    /// What a worker does between two reductions when a stop is wanted: it asks this in a loop, until it may resume.
    pub(crate) fn stopped(&self, me: usize) -> Phase {
        let mut world = self.world();
        debug_assert!(world.at_rest & bit(me) == 0, "T8: a worker is stopped or rests");
        if world.stop.stopped & bit(me) != 0 {
            world = self.end_share(world, me);
        } else {
            world.stop.stopped |= bit(me);
            let leader = world.stop.leader.filter(|_| self.gathered(&world));
            world = self.ring_and_stay(world, leader.map_or(0, bit));
        }
        loop {
            if world.stop.enter_share(me) {
                return Phase::Share;
            }
            if world.stop.leader.is_none() {
                world.stop.stopped &= !bit(me);
                return Phase::Resume;
            }
            world = self.wait(world, me, None, SPIN);
        }
    }
    /// Whether somebody is stopped, not only at rest.
    pub(crate) fn stopped_any(&self) -> bool {
        self.world().stop.stopped != 0
    }
    /// The leader lets others take part in what follows: at most `most`, those that reduced first.
    pub(crate) fn open_share(&self, me: usize, sharers: Sharers, most: usize) {
        let mut world = self.led_by(me);
        debug_assert!(world.stop.called | world.stop.sharing == 0, "T9: a share is open");
        let resting = match sharers {
            Sharers::Stopped => 0,
            Sharers::Everybody => world.at_rest,
        };
        let others = members(world.stop.stopped).chain(members(resting));
        let called = others.take(most).fold(0, |called, worker| called | bit(worker));
        world.stop.called = called;
        self.ring(world, called);
    }
    /// The leader has done its own part and waits for those that take part (T9).
    pub(crate) fn wait_shares(&self, me: usize) {
        let mut world = self.led_by(me);
        world.stop.called = 0;
        while world.stop.sharing != 0 {
            world = self.wait(world, me, None, SPIN);
        }
    }
    /// The leader lets everybody go on.
    pub(crate) fn resume_others(&self, me: usize) {
        let mut world = self.led_by(me);
        assert!(world.stop.called | world.stop.sharing == 0, "T9: a share is open");
        (world.stop.leader, world.stop.complete) = (None, false);
        self.stop.store(false, Relaxed);
        let waiting = world.stop.stopped | std::mem::take(&mut world.held);
        self.ring(world, waiting);
    }

    /// Whether all are where the leader, if there is one, wants them.
    pub(super) fn gathered(&self, world: &World) -> bool {
        world.stop.leader.is_some_and(|leader| self.running(world) == bit(leader))
    }
    fn running(&self, world: &World) -> u64 {
        self.everybody() & !world.at_rest & !world.stop.stopped
    }
    /// A worker that was in a share comes back.
    pub(super) fn end_share<'a>(
        &'a self,
        mut world: MutexGuard<'a, World>,
        me: usize,
    ) -> MutexGuard<'a, World> {
        world.stop.sharing &= !bit(me);
        let leader = world.stop.leader.filter(|_| world.stop.sharing == 0);
        self.ring_and_stay(world, leader.map_or(0, bit))
    }
    fn led_by(&self, me: usize) -> MutexGuard<'_, World> {
        let world = self.world();
        assert!(world.stop.leader == Some(me) && world.stop.complete, "T8: {me} does not lead");
        world
    }
}
