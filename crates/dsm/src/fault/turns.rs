//! Two threads that step one node in turn: who waits drives.
//!
//! The thread of the program that waits for something takes the node's lock and steps the node until that is there.
//! A service thread answers others while the program computes: it sleeps behind the doorbell.
//!
//! | who | doorbell | |
//! |---|---|---|
//! | the service sleeps, nobody drives | listens | a sender wakes the service |
//! | the service sleeps, the program drives | hushed | senders need not wake anybody |
//! | the service drives | hushed | |
//!
//! - D10 Before the program gives the lock back to a sleeping service, it makes the doorbell listen and looks for
//!   messages a last time ([`Wheel::lie_down`]): so no message waits for nobody.

#[cfg(all(test, models))]
mod models;

use crate::sync::{Condvar, Mutex, MutexGuard, thread};
use fabric::{Bell, Step};
use std::hint;
use std::time::Duration;

/// How many times a thread that drives looks again at once, if there are processors enough: together about what an
/// answer takes, so that the thread has it when it comes.
const SPINS: u32 = 64;
/// How many times it then lets others run before it leaves that to the service.
const TURNS: u32 = if cfg!(all(test, models)) { 1 } else { 200 };
/// Longest sleep: so that a failure is seen.
const SLEEP: Duration = Duration::from_millis(20);

/// What the two threads turn.
pub(super) trait Wheel {
    /// Its doorbell.
    type Bell: Bell;
    /// One step; what it has sent is on its way afterwards. `Done`: the run is over or has failed.
    fn step(&mut self) -> Step;
    /// D10: the bell listens. `None`: there is something to do already.
    fn lie_down(&mut self) -> Option<<Self::Bell as Bell>::Rest>;
    /// Whether there are processors enough.
    fn may_spin(&self) -> bool;
    /// How long a sleep may be, at most, if the wheel said so.
    fn limit(&self, step: Step) -> Option<Duration>;
}

/// A wheel and its lock.
pub(super) struct Turns<W: Wheel> {
    state: Mutex<State<W>>,
    changed: Condvar,
    bell: W::Bell,
}

struct State<W> {
    wheel: W,
    /// The service sleeps, or is going to.
    service_sleeps: bool,
    /// The program waits until something has changed.
    program_waits: bool,
    over: bool,
}

impl<W: Wheel> State<W> {
    fn step(&mut self) -> Step {
        let step = self.wheel.step();
        self.over |= step == Step::Done;
        if self.over { Step::Done } else { step }
    }
}

impl<W: Wheel> Turns<W> {
    pub(super) fn new(wheel: W, bell: W::Bell) -> Turns<W> {
        let state = State { wheel, service_sleeps: false, program_waits: false, over: false };
        Turns { state: Mutex::new(state), changed: Condvar::new(), bell }
    }
    fn lock(&self) -> MutexGuard<'_, State<W>> {
        base::unpoisoned(self.state.lock())
    }
    pub(super) fn bell(&self) -> &W::Bell {
        &self.bell
    }
    /// Does something with the wheel, between two steps.
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut W) -> R) -> R {
        f(&mut self.lock().wheel)
    }
    pub(super) fn into_wheel(self) -> W {
        base::unpoisoned(self.state.into_inner()).wheel
    }
    /// Begins something and turns the wheel until it has ended. `None`: the run is over before.
    pub(super) fn drive<R>(
        &self,
        begin: impl FnOnce(&mut W),
        mut end: impl FnMut(&mut W) -> Option<R>,
    ) -> Option<R> {
        let mut state = self.lock();
        debug_assert!(!state.program_waits, "D10: a node has one program, and it drives already");
        if state.over {
            return None;
        }
        if state.service_sleeps {
            self.bell.hush();
        }
        begin(&mut state.wheel);
        let mut turns = 0;
        let result = loop {
            let step = state.step();
            if step == Step::Done {
                break None;
            }
            if let Some(result) = end(&mut state.wheel) {
                break Some(result);
            }
            if matches!(step, Step::Again | Step::Refused(_)) {
                // Where something comes, more may.
                turns = 0;
                continue;
            }
            if turns < TURNS {
                turns += 1;
                if turns <= SPINS && state.wheel.may_spin() {
                    hint::spin_loop();
                } else {
                    thread::yield_now();
                }
                continue;
            }
            state.program_waits = true;
            self.leave(&mut state);
            let waited = self.changed.wait_timeout(state, SLEEP);
            let (back, ended) = base::unpoisoned(waited);
            state = back;
            if !ended.timed_out() {
                turns = 0;
            }
            state.program_waits = false;
            if state.service_sleeps {
                self.bell.hush();
            }
        };
        self.leave(&mut state);
        result
    }
    /// D10.
    fn leave(&self, state: &mut State<W>) {
        if state.service_sleeps && state.wheel.lie_down().is_none() {
            self.bell.ring();
        }
    }
    /// Serves others until the run is over.
    pub(super) fn serve(&self) {
        self.bell.adopt();
        let mut state = self.lock();
        debug_assert!(!state.service_sleeps, "D10: a node has one service");
        loop {
            state.service_sleeps = false;
            self.bell.hush();
            let step = loop {
                match state.step() {
                    Step::Again | Step::Refused(_) => {}
                    Step::Done => {
                        self.changed.notify_all();
                        return;
                    }
                    step @ Step::Wait(_) => break step,
                }
            };
            if state.program_waits {
                self.changed.notify_all();
            }
            state.service_sleeps = true;
            let Some(rest) = state.wheel.lie_down() else { continue };
            let limit = state.wheel.limit(step).unwrap_or(SLEEP);
            drop(state);
            self.bell.sleep(rest, limit.min(SLEEP));
            state = self.lock();
        }
    }
}
