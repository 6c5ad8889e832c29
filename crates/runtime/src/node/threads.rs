//! The threads of a node's workers, but for worker 0: whoever runs the node reduces for that one.
//!
//! They are made with the node and wait between its runs: so a system that refuses them says so before a program has
//! begun.
//!
//! Invariant D1: a thread works only between `begin` and the moment at which it counts itself out, and `end` returns
//! after that.

use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// How often workers that have ended their work remind the others.
const REMINDED: Duration = Duration::from_millis(10);

/// See the module comment.
pub(crate) struct Threads {
    gate: Arc<Gate>,
    remind: Arc<dyn Fn() + Send + Sync>,
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
    /// Workers that work for the last one.
    working: usize,
    /// No run comes any more.
    over: bool,
    panicked: bool,
}

impl Gate {
    fn state(&self) -> MutexGuard<'_, State> {
        base::lock(&self.state)
    }
    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.changed.notify_all();
    }
    /// As long as others work, reminds them now and then.
    fn wait_while(&self, condition: impl Fn(&State) -> bool, remind: &dyn Fn()) -> MutexGuard<'_, State> {
        let mut state = self.state();
        while condition(&state) {
            if state.working == 0 {
                state = base::wait(&self.changed, state);
                continue;
            }
            let waited = base::unpoisoned(self.changed.wait_timeout(state, REMINDED));
            state = waited.0;
            if waited.1.timed_out() {
                drop(state);
                remind();
                state = self.state();
            }
        }
        state
    }
}

impl Threads {
    /// Threads for `workers` workers; each does `work` in every run, with its worker's number. A thread that has done
    /// it calls `remind` now and then until all have. `None` if the system refuses a thread.
    pub(crate) fn start(
        workers: usize,
        work: impl Fn(usize) + Clone + Send + 'static,
        remind: impl Fn() + Send + Sync + 'static,
    ) -> Option<Threads> {
        let mut threads = Threads { gate: Arc::default(), remind: Arc::new(remind), handles: Vec::new() };
        for index in 1..workers {
            let (gate, work, remind) = (threads.gate.clone(), work.clone(), threads.remind.clone());
            let body = move || {
                for run in 1.. {
                    if gate.wait_while(|state| state.runs < run && !state.over, &*remind).over {
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
    /// All threads work from now on, and so does the caller, until it calls `end`.
    pub(crate) fn begin(&self) {
        self.gate.change(|state| {
            debug_assert!(state.working == 0, "W1: workers of the run before are in it yet");
            state.runs += 1;
            state.working = self.handles.len() + 1;
        });
    }
    /// The caller has finished; waits until everybody has.
    pub(crate) fn end(&self) {
        drop(CountsOut(&self.gate));
        let panicked = self.gate.wait_while(|state| state.working > 0, &*self.remind).panicked;
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
        let threads = Threads::start(4, work, || ()).expect("threads");
        for run in 1..=100 {
            threads.begin();
            sum.fetch_add(1, Ordering::SeqCst);
            threads.end();
            assert_eq!(sum.load(Ordering::SeqCst), 0x0101_0101 * run);
        }
    }

    #[test]
    fn who_has_done_its_work_reminds_the_others() {
        // Each of them in turn ends only when somebody reminds it.
        let late = Arc::new(AtomicUsize::new(0));
        let reminded = Arc::new(AtomicUsize::new(0));
        let wait = {
            let (late, reminded) = (late.clone(), reminded.clone());
            move |index| {
                while late.load(Ordering::SeqCst) == index && reminded.load(Ordering::SeqCst) == 0 {
                    std::thread::yield_now();
                }
            }
        };
        let remind = reminded.clone();
        let threads =
            Threads::start(3, wait.clone(), move || remind.store(1, Ordering::SeqCst)).expect("threads");
        for index in 0..3 {
            late.store(index, Ordering::SeqCst);
            reminded.store(0, Ordering::SeqCst);
            threads.begin();
            wait(0);
            threads.end();
            assert_eq!(reminded.load(Ordering::SeqCst), 1);
        }
    }
}
