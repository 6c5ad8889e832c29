//! How a process sleeps that waits for others, how those on the same host wake it, and how all wait for each other if
//! all are on one host.
//!
//! Each node has a bell, a word in memory that all processes of its host share: whether the node sleeps, and how
//! often it has been rung. No ring is lost:
//!
//! - If processors are few and all nodes on this host, senders count the receiver's bell on whenever they have sent
//!   something. So a node that says that it sleeps, and then looks whether it has been rung, misses nothing; and one
//!   that waits need not ask MPI before it has been rung more often than something has come, for that takes as long
//!   as to let another process run.
//! - Elsewhere a sender only looks whether the receiver sleeps: to count takes as long as MPI takes to send. Without
//!   a fence it may look too early, just when the receiver lies down. So the first sleep is short, and a node goes on
//!   saying that it sleeps until there is something to do: before its second sleep begins, what was sent by who
//!   looked too early has been there for long.
//! - Where several threads step a node in turn, it says again and again that it sleeps, and that it does not. Senders
//!   then look behind a fence, and miss nothing.
//!
//! All sleep at one word, which says how often somebody has been woken, each as a member of one of 32 groups: so one
//! call of the system wakes one of them or all. A node that is rung between its last look and its sleep does not fall
//! asleep, for that word has changed.
//!
//! A library may keep back what was sent for a while, and nothing rings for what libraries tell each other, so every
//! sleep has an end, and now and then a node looks although nothing has rung.
//!
//! A barrier of nodes that are all on one host is a count of the nodes that have come to it. The last says that it is
//! over and wakes the others: so each is given a processor once for a barrier, and that takes longer than anything
//! else if they are few.

use super::raw::SharedWords;
use crate::patience::{Patience, Processors};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives};
use rustix::thread::futex::{self, Flags};
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::num::NonZero;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::time::Duration;

/// Sleeps of a node that has waited long: they grow from the first to the last.
const SLEEPS: (Duration, Duration) = (Duration::from_micros(50), Duration::from_millis(1));
/// The same if it waits for nothing but rings: so long that the system's clock need not be set for them, which takes
/// as long as all the rest.
pub(super) const QUIET_SLEEP: Duration = Duration::from_millis(10);
/// In a bell: the node sleeps. Above that, how often it has been rung.
const ASLEEP: u32 = 1;
const RING: u32 = 2;
/// Words behind the bells: how often somebody has been woken, how many have come to a barrier, how many barriers of
/// this run are over.
const WAKES: usize = 0;
const COME: usize = 1;
const OVER: usize = 2;
const OTHERS: usize = 3;

/// The words of this host, with which this process sleeps and wakes others.
#[derive(Clone)]
pub(super) struct Board {
    words: Arc<SharedWords>,
    own: usize,
    /// How many bells there are.
    here: usize,
}

/// Those of this host's nodes.
pub(super) struct Bells {
    board: Board,
    /// Which bell is whose, by node; none if it is on another host.
    places: Vec<Option<usize>>,
    counts: bool,
    /// Senders look behind a fence whether the receiver sleeps.
    fences: bool,
    /// For how many rings something has come.
    heard: u32,
    /// How many barriers this node has come to in this run, and whether it waits for the end of the last.
    barriers: u32,
    waits: bool,
}

/// A node that is about to sleep.
pub(super) struct Lying {
    /// What [`WAKES`] was.
    wakes: u32,
    /// It has said so before, and nobody has woken it since.
    pub(super) still: bool,
}

impl Board {
    fn bell(&self, place: usize) -> &AtomicU32 {
        assert!(place < self.here);
        self.words.get(place)
    }
    fn other(&self, word: usize) -> &AtomicU32 {
        self.words.get(self.here + word)
    }
    /// Wakes those of them that sleep.
    fn wake(&self, places: Range<usize>) {
        let sleeps = |&place: &usize| self.bell(place).load(Ordering::Relaxed) & ASLEEP != 0;
        // One of several wakes each. AcqRel: pairs with the one in `lie_down`, so that WAKES becomes more than it was
        // there.
        let own = |&place: &usize| self.bell(place).fetch_and(!ASLEEP, Ordering::AcqRel) & ASLEEP != 0;
        let groups = places.filter(sleeps).filter(own).fold(0, |groups, place| groups | group(place).get());
        if let Some(groups) = NonZero::new(groups) {
            self.other(WAKES).fetch_add(1, Ordering::Relaxed);
            // A node that cannot be woken wakes by itself.
            let _ = futex::wake_bitset(self.other(WAKES), Flags::empty(), i32::MAX as u32, groups);
        }
    }

    /// Wakes this node if it sleeps: some other thread of this process has something for it.
    pub(super) fn ring_own(&self) {
        // Pairs with the fence in `lie_down`: what it has comes before the look whether the node sleeps.
        fence(Ordering::SeqCst);
        self.wake(self.own..self.own + 1);
    }
    /// Says that this node sleeps. It is then to look whether there is something to do, and to [`Board::sleep`] or
    /// [`Board::get_up`].
    pub(super) fn lie_down(&self) -> Lying {
        let wakes = self.other(WAKES).load(Ordering::Relaxed);
        let said = self.bell(self.own).fetch_or(ASLEEP, Ordering::AcqRel);
        // Pairs with the fence in `arrive`: the last at a barrier sees that this node sleeps, or it sees that the
        // barrier is over.
        fence(Ordering::SeqCst);
        Lying { wakes, still: said & ASLEEP != 0 }
    }
    /// Sleeps until it is woken, at most for `limit`. Whether it was woken.
    pub(super) fn sleep(&self, lying: &Lying, limit: Duration) -> bool {
        let limit: Timespec = limit.try_into().expect("it is short");
        let end = clock_gettime(ClockId::Monotonic) + limit;
        let word = self.other(WAKES);
        futex::wait_bitset(word, Flags::empty(), lying.wakes, Some(&end), group(self.own)).is_ok()
    }
    pub(super) fn get_up(&self) {
        self.bell(self.own).fetch_and(!ASLEEP, Ordering::Relaxed);
    }
}

impl Bells {
    /// How many processes are on this host.
    pub(super) fn here(&self) -> usize {
        self.board.here
    }
    /// All processes call this together; `here` are those of this host.
    pub(super) fn new(
        world: &SimpleCommunicator,
        here: &SimpleCommunicator,
        processors: Processors,
    ) -> Bells {
        let count = here.size() as usize;
        let mut bells = Bells {
            board: Board {
                words: Arc::new(SharedWords::new(here, count + OTHERS)),
                own: here.rank() as usize,
                here: count,
            },
            places: vec![None; world.size() as usize],
            counts: here.size() == world.size() && processors != Processors::Enough,
            fences: false,
            heard: 0,
            barriers: 0,
            waits: false,
        };
        bells.board.bell(bells.board.own).store(0, Ordering::Relaxed);
        bells.end_run();
        // Nobody knows the others' bells before all have written their own words.
        let mut nodes = vec![0; count];
        here.all_gather_into(&world.rank(), &mut nodes[..]);
        nodes.iter().enumerate().for_each(|(place, &node)| bells.places[node as usize] = Some(place));
        bells
    }

    /// With what this process's other threads sleep and wake.
    pub(super) fn board(&self) -> &Board {
        &self.board
    }
    /// Whether senders look behind a fence if the receiver sleeps; all nodes of a run say the same.
    pub(super) fn set_fences(&mut self, fences: bool) {
        self.fences = fences;
    }
    /// Something has been sent to a node, which is woken if it sleeps.
    pub(super) fn ring(&self, node: u32) {
        let Some(place) = self.places[node as usize] else { return };
        let bell = self.board.bell(place);
        if self.fences {
            fence(Ordering::SeqCst);
        }
        // Release: pairs with the Acquires in `unheard` and `lie_down`, behind which what was sent is seen.
        let said =
            if self.counts { bell.fetch_add(RING, Ordering::Release) } else { bell.load(Ordering::Relaxed) };
        if said & ASLEEP != 0 {
            self.board.wake(place..place + 1);
        }
    }
    /// Something has come.
    pub(super) fn hear(&mut self) {
        self.heard = self.heard.wrapping_add(RING);
    }
    /// Rings for which nothing has come; below zero, what came before its ring. (What else comes then may be noticed
    /// with that ring.)
    fn unheard(&self) -> i32 {
        let rung = self.board.bell(self.board.own).load(Ordering::Acquire) & !ASLEEP;
        rung.wrapping_sub(self.heard).cast_signed()
    }
    /// Whether it is known that there is something that has not come, and whether it is known that there is not.
    pub(super) fn is_ringing(&self) -> bool {
        self.counts && self.unheard() > 0
    }
    pub(super) fn is_silent(&self) -> bool {
        self.counts && self.unheard() <= 0
    }

    /// This node comes to the next barrier; false if not all nodes are on this host.
    pub(super) fn arrive(&mut self) -> bool {
        if self.board.here < self.places.len() {
            return false;
        }
        assert!(!self.waits, "a node comes to one barrier at a time");
        self.waits = true;
        self.barriers = self.barriers.wrapping_add(1);
        // AcqRel: the last one has seen what the others did before.
        if self.board.other(COME).fetch_add(1, Ordering::AcqRel) as usize + 1 == self.board.here {
            self.board.other(COME).store(0, Ordering::Relaxed);
            // Release: pairs with the Acquire in `is_over`.
            self.board.other(OVER).store(self.barriers, Ordering::Release);
            fence(Ordering::SeqCst);
            self.board.wake(0..self.board.here);
        }
        true
    }
    /// Whether the barrier is over for whose end this node waits.
    pub(super) fn is_over(&self) -> bool {
        self.waits && self.board.other(OVER).load(Ordering::Acquire) == self.barriers
    }
    /// Whether it waits for no barrier, or no longer.
    pub(super) fn all_arrived(&mut self) -> bool {
        self.waits &= !self.is_over();
        !self.waits
    }
    /// A run has ended at all nodes: nobody comes to a barrier any more, even if some wait for one.
    pub(super) fn end_run(&mut self) {
        (self.barriers, self.waits) = (0, false);
        if self.board.own == 0 {
            self.board.other(COME).store(0, Ordering::Relaxed);
            self.board.other(OVER).store(0, Ordering::Relaxed);
        }
    }

    /// All processes call this together, at the end.
    pub(super) fn free(self) {
        let words = Arc::into_inner(self.board.words);
        words.expect("nobody sleeps any more").free();
    }
}

/// Whose sleep is ended together with that of this one.
fn group(place: usize) -> NonZero<u32> {
    NonZero::new(1 << (place % 32)).expect("a bit is set")
}

/// A wait: awake at first, then in sleeps that grow.
pub(super) struct Pause {
    patience: Patience,
    is_awake: bool,
    sleep: Duration,
}

impl Pause {
    /// The next wait of a node with this patience.
    pub(super) fn new(mut patience: Patience) -> Pause {
        patience.begin();
        Pause { patience, is_awake: true, sleep: SLEEPS.0 }
    }
    /// Passes a moment awake. False when it is time to sleep.
    pub(super) fn wait(&mut self) -> bool {
        self.is_awake = self.is_awake && self.patience.wait();
        self.is_awake
    }
    /// How long to sleep next: longer if it still waits for the same.
    pub(super) fn sleep(&mut self, still: bool) -> Duration {
        self.sleep = if still { (2 * self.sleep).min(SLEEPS.1) } else { SLEEPS.0 };
        self.sleep
    }
    /// The wait is over; `came`: because what was waited for has come. Answers the node's patience.
    pub(super) fn end(mut self, bells: &Bells, came: bool) -> Patience {
        if !self.is_awake {
            bells.board.get_up();
        }
        if came {
            self.patience.end();
        }
        self.patience
    }
}
