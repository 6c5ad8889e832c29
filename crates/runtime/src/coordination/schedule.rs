//! Workers that reduce one after the other, in an order from a seed (`Options::schedule`, tests): as the systematic
//! testing of Pony and Verona.
//!
//! Each worker has its thread as usual, but a thread runs only while it has the *baton*. It passes it on in [`step`],
//! at every attention and wherever it would spin, and in [`Schedule::wait`], where it would sleep. The seed decides
//! which worker gets it. Time is counted in steps: [`now`] answers it, and every rule that asks for the time asks
//! there. So a run is the same each time, with every gift, wait and collection, unless the program waits for the
//! world outside. What loom tries for small models, in every order, this does for whole programs, in some. A loop
//! that allocates nothing keeps the baton until it ends.
//!
//! Invariants:
//! - Nobody holds a lock that another worker may want when it passes the baton on.
//! - Z2 Between `begin` and the moment at which all have left, exactly one worker has the baton, and no other changes
//!   anything.

use base::Random;
use std::cell::RefCell;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Nanoseconds that a step takes.
const STEP_NS: u64 = 500;
/// Bytes that a worker allocates between two attentions, at most.
const STEP_BYTES_MAX: u64 = 256;

/// See the module comment.
#[derive(Debug)]
pub(crate) struct Schedule {
    state: Mutex<State>,
    turns: Box<[Condvar]>,
    /// Where its time begins.
    base: Instant,
}

#[derive(Debug)]
struct State {
    places: Box<[Place]>,
    holder: usize,
    random: Random,
    time_ns: u64,
    passed: Passed,
    /// The run is over: what follows is not counted.
    over: bool,
}

/// What a worker does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Ready,
    /// Until somebody rings, or until then.
    Waiting(Option<u64>),
    /// It is not in the run.
    Away,
}

/// How often the baton was passed on, and a hash of who got it and when: equal runs have equal ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Passed {
    /// The number.
    pub times: u64,
    /// The hash.
    pub trace: u64,
}

thread_local! {
    /// The worker that this thread reduces for, while there is a schedule.
    static SEAT: RefCell<Option<(Arc<Schedule>, usize)>> = const { RefCell::new(None) };
}

fn seat<R>(then: impl FnOnce(&Arc<Schedule>, usize) -> R) -> Option<R> {
    SEAT.with_borrow(|seat| seat.as_ref().map(|(schedule, me)| then(schedule, *me)))
}

/// The time, for every rule of the runtime that asks for it.
pub(crate) fn now() -> Instant {
    seat(|schedule, _| schedule.base + Duration::from_nanos(schedule.state().time_ns))
        .unwrap_or_else(Instant::now)
}

/// How long ago that was.
pub(crate) fn since(instant: Instant) -> Duration {
    now().saturating_duration_since(instant)
}

/// The time for which this thread has had a processor; with a schedule, the time.
pub fn thread_time() -> Duration {
    let virtual_time = seat(|schedule, _| Duration::from_nanos(schedule.state().time_ns));
    virtual_time.unwrap_or_else(|| {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
    })
}

/// Lets another worker go on, perhaps. False without a schedule.
pub(crate) fn step() -> bool {
    seat(|schedule, me| schedule.pass(me, Place::Ready)).is_some()
}

/// Bytes that a worker may allocate until its next attention.
pub(crate) fn step_bytes() -> Option<usize> {
    seat(|schedule, _| schedule.state().below(STEP_BYTES_MAX) as usize & !7)
}

impl State {
    /// A number below `n`.
    fn below(&mut self, n: u64) -> u64 {
        self.random.bits() % n
    }
    fn is_ready(&self, worker: usize) -> bool {
        match self.places[worker] {
            Place::Ready => true,
            Place::Waiting(until) => until.is_some_and(|until| until <= self.time_ns),
            Place::Away => false,
        }
    }
    /// Draws who goes on; `None` if all have left. If all wait, time goes on to the first for which it is over.
    fn draw(&mut self) -> Option<usize> {
        self.time_ns += STEP_NS;
        let mut ready: Vec<usize> = (0..self.places.len()).filter(|&worker| self.is_ready(worker)).collect();
        if ready.is_empty() {
            let deadlines = self.places.iter().filter_map(|place| match place {
                Place::Waiting(until) => *until,
                _ => None,
            });
            let Some(first) = deadlines.min() else {
                let left = self.places.iter().all(|place| *place == Place::Away);
                assert!(left, "all workers wait, and nobody is going to ring: {:?}", self.places);
                return None;
            };
            self.time_ns = first;
            ready.extend((0..self.places.len()).filter(|&worker| self.is_ready(worker)));
        }
        let next = ready[self.below(ready.len() as u64) as usize];
        if !self.over {
            self.passed.times += 1;
            let seen = (self.passed.trace ^ next as u64 ^ self.time_ns << 8).wrapping_mul(0x100_0000_01b3);
            self.passed.trace = seen.rotate_left(23);
        }
        Some(next)
    }
}

impl Schedule {
    /// A schedule for this number of workers.
    pub(crate) fn new(workers: usize, seed: u64) -> Schedule {
        let state = State {
            places: vec![Place::Away; workers].into(),
            holder: 0,
            random: Random::new(seed),
            time_ns: 0,
            passed: Passed::default(),
            over: true,
        };
        Schedule {
            state: Mutex::new(state),
            turns: (0..workers).map(|_| Condvar::new()).collect(),
            base: Instant::now(),
        }
    }
    fn state(&self) -> MutexGuard<'_, State> {
        base::lock(&self.state)
    }
    /// A run begins: worker 0, whose thread calls this, has the baton.
    pub(crate) fn begin(self: &Arc<Self>) {
        let mut state = self.state();
        debug_assert!(state.places.iter().all(|place| *place == Place::Away), "Z2: {:?}", state.places);
        state.places.fill(Place::Ready);
        (state.holder, state.over) = (0, false);
        drop(state);
        SEAT.set(Some((self.clone(), 0)));
    }
    /// This thread reduces for another worker, when it gets the baton.
    pub(crate) fn enter(self: &Arc<Self>, me: usize) {
        self.await_turn(self.state(), me);
        SEAT.set(Some((self.clone(), me)));
    }
    /// This thread's worker has ended the run.
    pub(crate) fn leave(&self, me: usize) {
        SEAT.set(None);
        let mut state = self.state();
        state.places[me] = Place::Away;
        if let Some(next) = state.draw() {
            state.holder = next;
            self.turns[next].notify_one();
        }
    }
    /// Waits until somebody wakes this worker, or until then.
    pub(crate) fn wait(&self, me: usize, until: Option<Instant>) {
        let until = until.map(|until| until.saturating_duration_since(self.base).as_nanos() as u64);
        self.pass(me, Place::Waiting(until));
    }
    /// These workers (a bit each) need wait no more.
    pub(crate) fn wake(&self, workers: u64) {
        let mut state = self.state();
        for (worker, place) in state.places.iter_mut().enumerate() {
            if workers >> worker & 1 == 1 && matches!(place, Place::Waiting(_)) {
                *place = Place::Ready;
            }
        }
    }
    /// The run is over: from now on only the order of leaving is open.
    pub(crate) fn finish(&self) {
        self.state().over = true;
    }
    /// What happened in all runs.
    pub(crate) fn passed(&self) -> Passed {
        self.state().passed
    }
    fn pass(&self, me: usize, place: Place) {
        let mut state = self.state();
        debug_assert_eq!(state.holder, me, "Z2");
        state.places[me] = place;
        let next = state.draw().expect("this worker has not left");
        state.places[next] = Place::Ready;
        state.holder = next;
        if next != me {
            self.turns[next].notify_one();
            self.await_turn(state, me);
        }
    }
    fn await_turn(&self, mut state: MutexGuard<'_, State>, me: usize) {
        while state.holder != me || state.places[me] == Place::Away {
            state = base::wait(&self.turns[me], state);
        }
    }
}

/// Leaves the run, also when its thread panics.
pub(crate) struct Leaves<'a>(pub(crate) &'a Schedule, pub(crate) usize);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        self.0.leave(self.1);
    }
}

#[cfg(all(test, not(models)))]
mod tests {
    use super::*;

    /// Three workers note their numbers, with waits in between: what they noted, and what the schedule did.
    fn noted(seed: u64) -> (Vec<usize>, Passed) {
        let schedule = Arc::new(Schedule::new(3, seed));
        let noted = Arc::new(Mutex::new(Vec::new()));
        schedule.begin();
        let work = |me: usize, schedule: Arc<Schedule>, noted: Arc<Mutex<Vec<usize>>>| {
            for round in 0..20 {
                noted.lock().expect("nobody panics").push(me);
                if round % 5 == me {
                    schedule.wait(me, Some(now() + Duration::from_micros(10)));
                } else {
                    step();
                }
            }
        };
        let others = [1, 2].map(|me| {
            let (schedule, noted) = (schedule.clone(), noted.clone());
            std::thread::spawn(move || {
                schedule.enter(me);
                let _leaves = Leaves(&schedule, me);
                work(me, schedule.clone(), noted);
            })
        });
        work(0, schedule.clone(), noted.clone());
        schedule.leave(0);
        for other in others {
            other.join().expect("nobody panics");
        }
        let noted = noted.lock().expect("nobody panics").clone();
        (noted, schedule.passed())
    }

    #[test]
    fn the_seed_alone_decides_who_goes_on() {
        let (order, passed) = noted(1);
        assert_eq!(order.len(), 60);
        for _ in 0..20 {
            assert_eq!(noted(1), (order.clone(), passed));
        }
        let (other_order, other) = noted(2);
        assert!(order != other_order && passed.trace != other.trace);
    }

    #[test]
    fn who_waits_goes_on_when_it_is_rung_for_and_not_before() {
        let schedule = Arc::new(Schedule::new(2, 1));
        schedule.begin();
        let other = {
            let schedule = schedule.clone();
            std::thread::spawn(move || {
                schedule.enter(1);
                let _leaves = Leaves(&schedule, 1);
                schedule.wait(1, None);
            })
        };
        (0..100).for_each(|_| assert!(step()));
        assert!(schedule.state().places[1] == Place::Waiting(None));
        schedule.wake(1 << 1);
        while schedule.state().places[1] != Place::Away {
            step();
        }
        schedule.leave(0);
        other.join().expect("nobody panics");
    }

    #[test]
    fn without_a_schedule_time_is_that_of_the_clock() {
        let begin = now();
        std::thread::sleep(Duration::from_millis(2));
        assert!(!step() && step_bytes().is_none() && since(begin) >= Duration::from_millis(2));
    }
}
