//! Which calls of a session interrupts are for.

use crate::streams::Doorbell;
use base::lock;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// Which calls interrupts are for.
#[derive(Default)]
pub(super) struct Turns {
    /// The number of the last call that was begun.
    begun: u64,
    /// Of the last that has ended.
    ended: u64,
    /// Calls that an interrupt came for before they run.
    interrupted: BTreeSet<u64>,
    /// The one behind those that have ended runs, or is about to: interrupts of it are for its node.
    runs: bool,
}

impl Turns {
    /// A call is begun: its number.
    pub(super) fn begin(&mut self) -> u64 {
        self.begun += 1;
        self.begun
    }
    /// The number of the first call that has not ended.
    pub(super) fn first(&self) -> u64 {
        self.ended + 1
    }
    /// That one runs. Whether an interrupt came before.
    pub(super) fn run(&mut self) -> bool {
        self.runs = true;
        let first = self.first();
        self.interrupted.remove(&first)
    }
    /// It has ended, whether it ran or not.
    pub(super) fn end(&mut self) {
        let first = self.first();
        (self.ended, self.runs) = (first, false);
        self.interrupted.remove(&first);
    }
    /// Ends a call (P2 of [`session`](super)).
    pub(super) fn interrupt(&mut self, number: u64, bell: &Doorbell) {
        if number <= self.ended || number > self.begun {
            return;
        }
        if number > self.first() || !self.runs {
            self.interrupted.insert(number);
            return;
        }
        // P2: the call that runs does not end its turn meanwhile. The answer is whether a second signal is in earnest,
        // which is nothing to a function.
        let _ = bell.waker.interrupt();
        bell.ring();
    }
}

/// Ends a call; may be used from any thread.
#[derive(Clone)]
pub struct Interrupter {
    /// The calls of a session are numbered from 1, as they were begun.
    pub(super) number: u64,
    pub(super) turns: Arc<Mutex<Turns>>,
    pub(super) bell: Doorbell,
}

impl Interrupter {
    /// Ends the call: it answers a [`Failure::Ended`](super::Failure::Ended), at once if it runs, else when its turn
    /// comes. Does nothing if it has ended.
    pub fn interrupt(&self) {
        lock(&self.turns).interrupt(self.number, &self.bell);
    }
}
