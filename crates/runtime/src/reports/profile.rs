//! A profile of a run: what each worker was doing whenever its clock rang, for whoever asked for it
//! ([`Node::profile`](crate::node::Node::profile)).
//!
//! The clock of a worker counts the processor time of its thread, and rings about 997 times a second of it (as often as
//! the system's own clock allows: a ring counts for those that were left out). The handler of the signal finds out
//! where the thread is, and counts one more there. Without a profile nothing of this is there: with one, generated code
//! is entered, and natives are called, by way of functions that note it.
//!
//! Invariants:
//! - X2 The handler uses atomics and the thread's own stack, and calls nothing but `timer_getoverrun`.
//! - X3 A thread's `CURRENT` is null, or leads to a sampler that lives: that of a clock, which has a share of its
//!   profiler and gives it up only after `CURRENT` is null again.
//! - X4 Generated code runs at one depth of the stack (F1 of `codegen::x86::frame`), so each return address into it
//!   that lies above the stack pointer and below `bottom` is that of the call that has led here.
//! - X5 A timer is made, set and deleted by its clock alone, with structures of the frame that calls the system; zeros
//!   in these mean nothing.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Once};
use std::thread::ThreadId;
use term::abi::{PredicateId, WorkerAbi};

/// The way into generated code, as a node has it.
pub(crate) type Enter = unsafe extern "C" fn(worker: *mut WorkerAbi, entry: usize) -> u64;

/// Nanoseconds of a worker's processor time between two rings: no divisor of anything that programs do.
pub const PERIOD_NS: u64 = 1_003_009;
/// Different places of a worker, at most.
const PLACES: usize = 1 << 15;
/// Entries of the table that are looked at for a place.
const PROBES: usize = 64;
/// Words of the stack that are looked at for a return address.
const STACK_WORDS_MAX: usize = 1 << 14;

/// What a worker was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doing {
    /// It looked for goals and attended to what is around it.
    Scheduling,
    /// It was in generated code, at this address.
    Code(usize),
    /// It was in a function of the runtime that generated code had called before this address.
    Called(usize),
    /// It reduced a goal of this builtin.
    Native(PredicateId),
    /// It collected, or stood still for a collection.
    Collecting,
    /// It had no goals.
    Idle,
}

const SCHEDULING: u64 = 1;
const CODE: u64 = 2;
const CALLED: u64 = 3;
const NATIVE: u64 = 4;
const COLLECTING: u64 = 5;
const IDLE: u64 = 6;
const KIND_BITS: u32 = 3;

impl Doing {
    fn key(self) -> u64 {
        if let Doing::Code(address) | Doing::Called(address) = self {
            debug_assert!(address >> (usize::BITS - KIND_BITS) == 0, "an address keeps its bits");
        }
        match self {
            Doing::Scheduling => SCHEDULING,
            Doing::Code(address) => (address as u64) << KIND_BITS | CODE,
            Doing::Called(address) => (address as u64) << KIND_BITS | CALLED,
            Doing::Native(predicate) => u64::from(predicate.0) << KIND_BITS | NATIVE,
            Doing::Collecting => COLLECTING,
            Doing::Idle => IDLE,
        }
    }
    fn of_key(key: u64) -> Doing {
        let rest = key >> KIND_BITS;
        match key & ((1 << KIND_BITS) - 1) {
            CODE => Doing::Code(rest as usize),
            CALLED => Doing::Called(rest as usize),
            NATIVE => Doing::Native(PredicateId(rest as u32)),
            COLLECTING => Doing::Collecting,
            IDLE => Doing::Idle,
            _ => Doing::Scheduling,
        }
    }
}

/// How often a node's workers were seen doing what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// In order; a number of rings with each.
    pub samples: Vec<(Doing, u64)>,
    /// Rings for whose place there was no room.
    pub left_out: u64,
}

/// The samplers of a node that is profiled.
pub(crate) struct Profiler {
    /// The way into generated code.
    pub(crate) enter: Enter,
    samplers: Box<[Sampler]>,
}

/// What a worker's clock has found. In cache lines of its own.
#[repr(align(128))]
pub(crate) struct Sampler {
    /// What the worker is doing, as a key; the address of `CODE` is left to the clock.
    doing: AtomicU64,
    /// Above all frames of generated code and of what it calls.
    bottom: AtomicUsize,
    code: Range<usize>,
    timer: AtomicPtr<c_void>,
    places: Box<[Place]>,
    left_out: AtomicU64,
}

#[derive(Default)]
struct Place {
    key: AtomicU64,
    count: AtomicU64,
}

impl Profiler {
    pub(crate) fn new(workers: usize, code: Range<usize>, enter: Enter) -> Profiler {
        let sampler = || Sampler {
            doing: AtomicU64::new(SCHEDULING),
            bottom: AtomicUsize::new(0),
            code: code.clone(),
            timer: AtomicPtr::default(),
            places: (0..PLACES).map(|_| Place::default()).collect(),
            left_out: AtomicU64::new(0),
        };
        Profiler { enter, samplers: (0..workers).map(|_| sampler()).collect() }
    }
    pub(crate) fn sampler(&self, worker: usize) -> &Sampler {
        &self.samplers[worker]
    }
    /// What was counted until now.
    pub(crate) fn take(&self) -> Profile {
        let mut profile = Profile::default();
        let mut found = std::collections::BTreeMap::new();
        for sampler in &self.samplers {
            profile.left_out += sampler.left_out.swap(0, Relaxed);
            for place in &sampler.places {
                let count = place.count.swap(0, Relaxed);
                if count > 0 {
                    *found.entry(Doing::of_key(place.key.load(Relaxed))).or_insert(0) += count;
                }
            }
        }
        profile.samples = found.into_iter().collect();
        profile
    }
}

impl Sampler {
    /// What the worker does from now on.
    pub(crate) fn set(&self, doing: Doing) {
        self.doing.store(doing.key(), Relaxed);
    }
    /// It enters generated code; `bottom` is an address in the frame of whoever does.
    pub(crate) fn enters(&self, bottom: usize) {
        debug_assert!(bottom.is_multiple_of(size_of::<usize>()), "the stack is looked at by words");
        self.bottom.store(bottom, Relaxed);
        self.doing.store(CODE, Relaxed);
    }
    /// It is in generated code again.
    pub(crate) fn goes_on(&self) {
        self.doing.store(CODE, Relaxed);
    }

    /// X2: the clock has rung, and found the thread at this instruction with this stack.
    fn ring(&self, at: usize, stack: usize) {
        let doing = self.doing.load(Relaxed);
        let key = match doing {
            CODE if self.code.contains(&at) => Doing::Code(at).key(),
            CODE => self.caller(stack).map_or(SCHEDULING, |address| Doing::Called(address - 1).key()),
            _ => doing,
        };
        // SAFETY: X5 - the timer of this thread is there while its clock is.
        let left_out = unsafe { libc::timer_getoverrun(self.timer.load(Relaxed)) };
        self.count(key, 1 + u64::try_from(left_out).unwrap_or(0));
    }
    /// X4: the return address into generated code.
    fn caller(&self, stack: usize) -> Option<usize> {
        let start = stack.next_multiple_of(8);
        let end = self.bottom.load(Relaxed).min(start + 8 * STACK_WORDS_MAX);
        (start..end).step_by(8).find_map(|address| {
            // SAFETY: X4 - from the stack pointer up to a frame that is there: this thread's own stack.
            let word = unsafe { std::ptr::with_exposed_provenance::<usize>(address).read_volatile() };
            self.code.contains(&word).then_some(word)
        })
    }
    /// Only the worker's own thread does this, and a signal does not interrupt its own handler.
    fn count(&self, key: u64, rings: u64) {
        debug_assert!(key & ((1 << KIND_BITS) - 1) != 0, "0 is an entry that nobody uses");
        let first = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize;
        for probe in 0..PROBES {
            let place = &self.places[(first + probe) % PLACES];
            let known = place.key.load(Relaxed);
            if known == 0 {
                place.key.store(key, Relaxed);
            }
            if known == 0 || known == key {
                place.count.store(place.count.load(Relaxed) + rings, Relaxed);
                return;
            }
        }
        self.left_out.store(self.left_out.load(Relaxed) + rings, Relaxed);
    }
}

thread_local! {
    /// X3. It has no destructor and is made without code, so a handler may read it at any time.
    static CURRENT: Cell<*const Sampler> = const { Cell::new(std::ptr::null()) };
}

extern "C" fn rang(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    let sampler = CURRENT.get();
    if sampler.is_null() {
        return;
    }
    // SAFETY: X2 - this is the handler, and what the system gives it with SA_SIGINFO is the state of its thread.
    let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let (at, stack) = (registers[libc::REG_RIP as usize], registers[libc::REG_RSP as usize]);
    // SAFETY: X3 - it is not null, so the sampler lives.
    unsafe { &*sampler }.ring(at as usize, stack as usize);
}

/// The signal of clocks.
fn handle_signal() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: X5 - all zeros are a set of flags, an empty mask and no handler.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = rang;
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
        // SAFETY: X2 - the handler may interrupt anything; nothing else in the process uses this signal.
        let refused = unsafe { libc::sigaction(libc::SIGPROF, &raw const action, null_mut()) };
        debug_assert_eq!(refused, 0, "the signal is one that can be caught");
    });
}

/// The clock of the worker whose thread has made it. It stands still when it is dropped.
pub(crate) struct Clock {
    profiler: Arc<Profiler>,
    worker: usize,
    thread: ThreadId,
    timer: Option<libc::timer_t>,
}

// SAFETY: X5 - a timer may be deleted by any thread, and `drop` looks whether it is the one that X3 is about.
unsafe impl Send for Clock {}

impl Clock {
    /// The clock of this thread, which is a worker's.
    pub(crate) fn start(profiler: &Arc<Profiler>, worker: usize) -> Clock {
        handle_signal();
        let sampler = profiler.sampler(worker);
        let thread = std::thread::current().id();
        let mut clock = Clock { profiler: profiler.clone(), worker, thread, timer: None };
        if !CURRENT.get().is_null() {
            // Nodes that are stepped by one thread in turn have one clock, that of the first.
            return clock;
        }
        // SAFETY: X5 - all zeros are an event that notifies by a signal, with no number yet.
        let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = libc::SIGPROF;
        event.sigev_notify_thread_id = rustix::thread::gettid().as_raw_nonzero().get();
        let mut timer: libc::timer_t = null_mut();
        // SAFETY: X5 - both addresses are of this frame.
        let refused =
            unsafe { libc::timer_create(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut event, &raw mut timer) };
        if refused != 0 {
            // There is a profile without this worker.
            return clock;
        }
        clock.timer = Some(timer);
        sampler.timer.store(timer, Relaxed);
        CURRENT.set(std::ptr::from_ref(sampler));
        let period = libc::timespec { tv_sec: 0, tv_nsec: PERIOD_NS as libc::c_long };
        let times = libc::itimerspec { it_interval: period, it_value: period };
        // SAFETY: X5 - the timer was made just now, and the address is of this frame.
        unsafe { libc::timer_settime(timer, 0, &raw const times, null_mut()) };
        clock
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        if let Some(timer) = self.timer {
            // SAFETY: X5 - it was made by `start`, and nobody else deletes it.
            unsafe { libc::timer_delete(timer) };
            if std::thread::current().id() == self.thread {
                CURRENT.set(std::ptr::null());
            } else {
                // X3: that thread may hear a last ring.
                std::mem::forget(self.profiler.clone());
            }
            self.profiler.sampler(self.worker).set(Doing::Scheduling);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" fn enter(_: *mut WorkerAbi, _: usize) -> u64 {
        0
    }

    #[test]
    fn keys_say_what_they_are_of() {
        for doing in [
            Doing::Scheduling,
            Doing::Code(0x7fff_1234_5678),
            Doing::Called(1),
            Doing::Native(PredicateId(u32::MAX)),
            Doing::Collecting,
            Doing::Idle,
        ] {
            assert_eq!(Doing::of_key(doing.key()), doing);
        }
    }

    #[test]
    fn the_nearest_return_address_of_the_stack_is_found_and_nothing_beyond_the_bottom() {
        let profiler = Profiler::new(1, 0x1000..0x2000, enter);
        let sampler = profiler.sampler(0);
        let stack: [usize; 6] = [7, 0x2000, 0x1234, 0x1100, 0, 0x1300];
        let address = |index: usize| (&raw const stack[index]).expose_provenance();
        sampler.enters(address(5));
        assert_eq!(sampler.caller(address(0)), Some(0x1234));
        assert_eq!(sampler.caller(address(3)), Some(0x1100));
        assert_eq!(sampler.caller(address(4)), None);
    }

    #[test]
    fn places_are_counted_and_those_without_room_are_left_out() {
        let profiler = Profiler::new(2, 0..1, enter);
        for number in 0..3 * PLACES {
            profiler.sampler(1).count(Doing::Code(number).key(), 2);
        }
        profiler.sampler(0).count(Doing::Code(0).key(), 5);
        let profile = profiler.take();
        assert_eq!(profile.samples[0], (Doing::Code(0), 7));
        assert!(profile.samples.len() <= PLACES && profile.samples.len() > PLACES / 2);
        let counted: u64 = profile.samples.iter().map(|sample| sample.1).sum();
        assert_eq!(counted + profile.left_out, 5 + 6 * PLACES as u64);
        assert_eq!(profiler.take().samples, []);
    }

    #[test]
    #[cfg(not(miri))]
    fn a_thread_that_works_is_found_at_it() {
        let profiler = Arc::new(Profiler::new(1, 0..1, enter));
        let clock = Clock::start(&profiler, 0);
        profiler.sampler(0).set(Doing::Native(PredicateId(9)));
        let mut rounds = 1u64;
        // The clock counts processor time, of which this takes what it needs.
        let found = loop {
            rounds = rounds.wrapping_mul(31).rotate_left(7);
            let profile = if rounds.is_multiple_of(1 << 12) { profiler.take() } else { Profile::default() };
            if let Some(&(doing, _)) = profile.samples.first() {
                break doing;
            }
        };
        drop(clock);
        assert_eq!(found, Doing::Native(PredicateId(9)));
        assert!(CURRENT.get().is_null());
    }
}
