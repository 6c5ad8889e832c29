//! What arrives from outside: input and output that became possible, timers, signals.

use crate::worker::Worker;
use std::time::Duration;
use term::Word;

/// The source of outside events. The scheduler asks it when a [`Waker`](crate::coordination::waker::Waker) was used
/// and when nothing is ready.
pub(crate) trait Events: Send {
    /// True while an event may still come: then a node without ready goals waits instead of ending.
    fn has_pending(&self, worker: &Worker) -> bool;
    /// True while the process is to have one thread, because a copy of it is about to be made.
    fn needs_one_thread(&self) -> bool {
        false
    }
    /// The variables that events give values to, each with what is waited for: `input from standard input`.
    fn awaited(&self, worker: &Worker) -> Vec<(Word, String)>;
    /// Handles what has arrived (by `unify` and `spawn`). Waits for the first event at most `timeout`: not at all
    /// when it is zero, without end when it is `None`.
    fn poll(&mut self, worker: &mut Worker, timeout: Option<Duration>);
}
