//! How a process sleeps that waits for others, and how those on the same host wake it.
//!
//! Each node has a word in memory that all processes of its host share: whether it sleeps. As with the doorbells of threads, the node says that
//! it sleeps and then looks for messages a last time, and a sender sends and then looks whether the node sleeps; each has a fence between the
//! two. But a library may keep back what was sent for a while, and nothing rings for what libraries tell each other, so every sleep has an end.

use super::raw::SharedWords;
use crate::patience::{Patience, Processors};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives};
use rustix::thread::futex::{self, Flags};
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::time::Duration;

/// Sleeps of a node that has waited long: they grow from the first to the last.
const SLEEPS: (Duration, Duration) = (Duration::from_micros(50), Duration::from_millis(1));
const AWAKE: u32 = 0;
const ASLEEP: u32 = 1;

/// Those of this host's nodes.
pub(super) struct Bells {
    words: SharedWords,
    /// Which word is whose, by node; none if it is on another host.
    places: Vec<Option<usize>>,
    own: usize,
}

impl Bells {
    /// All processes call this together; `here` are those of this host.
    pub(super) fn new(world: &SimpleCommunicator, here: &SimpleCommunicator) -> Bells {
        let words = SharedWords::new(here);
        let own = here.rank() as usize;
        words.get(own).store(AWAKE, Ordering::Relaxed);
        let mut nodes = vec![0; here.size() as usize];
        // Nobody knows the others' words before all have written their own.
        here.all_gather_into(&world.rank(), &mut nodes[..]);
        let mut places = vec![None; world.size() as usize];
        nodes.iter().enumerate().for_each(|(place, &node)| places[node as usize] = Some(place));
        Bells { words, places, own }
    }

    fn own(&self) -> &AtomicU32 {
        self.words.get(self.own)
    }

    /// Wakes a node if it sleeps; what is to wake it has been sent.
    pub(super) fn ring(&self, node: u32) {
        let Some(place) = self.places[node as usize] else { return };
        let word = self.words.get(place);
        fence(Ordering::SeqCst);
        // The first look spares those who do not sleep the write; the exchange leaves one of several senders to wake.
        if word.load(Ordering::Relaxed) == ASLEEP && word.swap(AWAKE, Ordering::Relaxed) == ASLEEP {
            // Who cannot be woken wakes by itself.
            let _ = futex::wake(word, Flags::empty(), 1);
        }
    }

    /// Says that this node sleeps, which is then to look for messages, and either [`Bells::sleep`] or [`Bells::wake_up`].
    pub(super) fn lie_down(&self) {
        self.own().store(ASLEEP, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }
    /// Sleeps until it is woken, at most so long.
    pub(super) fn sleep(&self, limit: Duration) {
        let limit = limit.try_into().expect("it is short");
        // Whatever ends it: the node looks for messages next.
        let _ = futex::wait(self.own(), Flags::empty(), ASLEEP, Some(&limit));
        self.wake_up();
    }
    pub(super) fn wake_up(&self) {
        self.own().store(AWAKE, Ordering::Relaxed);
    }

    /// All processes call this together, at the end.
    pub(super) fn free(self) {
        self.words.free();
    }
}

/// A wait: awake at first, then in sleeps that grow.
pub(super) struct Pause {
    patience: Patience,
    sleep: Option<Duration>,
}

impl Pause {
    pub(super) fn new(processors: Processors) -> Pause {
        Pause { patience: Patience::new(processors), sleep: None }
    }
    /// Passes a moment, or says that it is time to sleep, and how long.
    pub(super) fn wait(&mut self) -> Option<Duration> {
        if self.sleep.is_none() && self.patience.wait() {
            return None;
        }
        let sleep = self.sleep.map_or(SLEEPS.0, |sleep| (2 * sleep).min(SLEEPS.1));
        self.sleep = Some(sleep);
        self.sleep
    }
}
