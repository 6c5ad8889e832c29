//! The threads of a node's workers, but for worker 0: whoever runs the node reduces for that one.
//!
//! They are made with the node and wait between its runs: so a system that refuses them says so before a program has begun.
//!
//! Invariant D1: a thread works only between `begin` and the moment at which it counts itself out, and `run` ends after that.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

/// See the module comment.
pub(crate) struct Threads {
    gate: Arc<Gate>,
    handles: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// How many runs have begun.
    runs: usize,
    /// Threads that work for the last one.
    working: usize,
    /// No run comes any more.
    over: bool,
    panicked: bool,
}

impl Gate {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.changed.notify_all();
    }
    fn wait_while(&self, condition: impl FnMut(&mut State) -> bool) -> MutexGuard<'_, State> {
        self.changed.wait_while(self.state(), condition).unwrap_or_else(PoisonError::into_inner)
    }
}

impl Threads {
    /// Threads for `workers` workers; each does `work` in every run, with its worker's number. `None` if the system refuses one.
    pub(crate) fn start(workers: usize, work: impl Fn(usize) + Clone + Send + 'static) -> Option<Threads> {
        let mut threads = Threads { gate: Arc::default(), handles: Vec::new() };
        for index in 1..workers {
            let (gate, work) = (threads.gate.clone(), work.clone());
            let body = move || {
                for run in 1.. {
                    if gate.wait_while(|state| state.runs < run && !state.over).over {
                        return;
                    }
                    let _out = CountsOut(&gate);
                    work(index);
                }
            };
            threads.handles.push(Builder::new().name(format!("fifth-{index}")).spawn(body).ok()?);
        }
        Some(threads)
    }
    /// All threads work, and so does the caller, until everybody has finished.
    pub(crate) fn run(&self, own: impl FnOnce()) {
        self.gate.change(|state| {
            state.runs += 1;
            state.working = self.handles.len();
        });
        own();
        let panicked = self.gate.wait_while(|state| state.working > 0).panicked;
        assert!(!panicked, "a worker's thread panicked");
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.gate.change(|state| state.over = true);
        for handle in self.handles.drain(..) {
            // Its panic was reported when it came.
            let _ = handle.join();
        }
    }
}

/// D1, also for a thread that panics.
struct CountsOut<'a>(&'a Gate);

impl Drop for CountsOut<'_> {
    fn drop(&mut self) {
        self.0.change(|state| {
            state.working -= 1;
            state.panicked |= std::thread::panicking();
        });
    }
}

#[cfg(all(test, not(models)))]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn every_thread_works_once_in_every_run_and_no_run_ends_before() {
        let sum = Arc::new(AtomicUsize::new(0));
        let summand = sum.clone();
        let work = move |index| _ = summand.fetch_add(1usize << (8 * index), Ordering::SeqCst);
        let threads = Threads::start(4, work).expect("threads");
        for run in 1..=100 {
            threads.run(|| _ = sum.fetch_add(1, Ordering::SeqCst));
            assert_eq!(sum.load(Ordering::SeqCst), 0x0101_0101 * run);
        }
    }
}
