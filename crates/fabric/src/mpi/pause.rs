//! How a process waits for others, none of which can wake it.

use crate::patience::{Patience, Processors};
use std::time::Duration;

/// Sleeps of a node that has waited long: they grow from the first to the last.
const SLEEPS: (Duration, Duration) = (Duration::from_micros(20), Duration::from_millis(1));

/// A wait: awake at first, then in sleeps that grow.
pub(super) struct Pause {
    patience: Patience,
    sleep: Option<Duration>,
}

impl Pause {
    pub(super) fn new(processors: Processors) -> Pause {
        Pause { patience: Patience::new(processors), sleep: None }
    }
    /// Passes a moment, no longer than `limit`.
    pub(super) fn wait(&mut self, limit: Option<Duration>) {
        if self.sleep.is_none() && self.patience.wait() {
            return;
        }
        let sleep = self.sleep.map_or(SLEEPS.0, |sleep| (2 * sleep).min(SLEEPS.1));
        self.sleep = Some(sleep);
        std::thread::sleep(limit.map_or(sleep, |limit| limit.min(sleep)));
    }
}
