//! How a node that has nothing to do sleeps, and how its senders wake it.
//!
//! | asleep | the node | a sender |
//! |---|---|---|
//! | no | steps, or looks for messages | need do nothing |
//! | yes | is about to park, is parked, or is about to go on | takes the state back to "no" and unparks it |
//!
//! Invariant B1: no wake-up is lost. The node says that it sleeps, then looks for messages a last time; a sender
//! publishes, then looks whether the node sleeps. Each has a fence between the two, so at least one of them sees what
//! the other did. An unpark that comes before the park makes the park return at once.

use crate::sync::{AtomicBool, Ordering, fence, thread};
use std::sync::OnceLock;
use std::time::Duration;

/// One node's.
pub(super) struct Doorbell {
    asleep: AtomicBool,
    /// The sleeping thread; entered before it sleeps for the first time.
    sleeper: OnceLock<thread::Thread>,
}

impl Doorbell {
    pub(super) fn new() -> Doorbell {
        Doorbell { asleep: AtomicBool::new(false), sleeper: OnceLock::new() }
    }

    /// The calling thread is the one that sleeps here.
    pub(super) fn adopt(&self) {
        self.sleeper.get_or_init(thread::current);
    }
    /// From now on [`Doorbell::ring`] wakes the sleeper. The sleeper looks afterwards whether there is something
    /// to do (B1).
    pub(super) fn listen(&self) {
        // Release: pairs with the Acquire in `ring`, which then finds the sleeper.
        self.asleep.store(true, Ordering::Release);
        fence(Ordering::SeqCst);
    }
    /// Nobody need be woken: somebody looks.
    pub(super) fn hush(&self) {
        // Relaxed: a sender that still sees "yes" unparks in vain.
        self.asleep.store(false, Ordering::Relaxed);
    }

    /// Parks the calling thread, always the same one, unless `wanted` says that there is something to do; at most for
    /// `limit`. It may return for no reason.
    pub(super) fn sleep(&self, limit: Option<Duration>, wanted: impl FnOnce() -> bool) {
        self.adopt();
        // Its fence comes before what `wanted` looks at (B1).
        self.listen();
        if !wanted() {
            match limit {
                None => thread::park(),
                Some(limit) => park_timeout(limit),
            }
        }
        self.hush();
    }

    /// Wakes the node if it sleeps; what is to wake it has been published.
    pub(super) fn ring(&self) {
        // B1: publishing comes before looking.
        fence(Ordering::SeqCst);
        // The first look spares the write if the node does not sleep; the exchange leaves one of several senders to
        // unpark.
        if self.asleep.load(Ordering::Relaxed) && self.asleep.swap(false, Ordering::Acquire) {
            self.sleeper.get().expect("who sleeps has entered itself").unpark();
        }
    }
}

#[cfg(not(all(test, models)))]
pub(super) fn park_timeout(limit: Duration) {
    thread::park_timeout(limit);
}

/// Models have no time: whoever has one may wake at any moment.
#[cfg(all(test, models))]
pub(super) fn park_timeout(_: Duration) {
    thread::yield_now();
}
