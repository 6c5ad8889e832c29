//! Making a worker look at outside events, from other threads and signal handlers.
//!
//! Invariants:
//! - K1 `limit` leads to the worker's `abi.limit` while the worker lives, and is null afterwards; nobody uses the
//!   address without having entered `users` first.
//! - K2 The worker restores its limit first and takes `woken` second, and so does generated code (C8 of `term::abi`); a
//!   waker sets `woken` first and lowers the limit second. There is no fence between the two steps of the worker, so a
//!   wake may be overlooked while its store is on the way; it is then seen at the worker's next attention, and the
//!   ticker repeats wakes as long as events may come. Of several nodes in a process each is reminded while it reduces
//!   ([`Bell::remind`](crate::node::Bell::remind)). Nobody repeats an interrupt: between its two steps all threads of
//!   the process have a fence, where the system has that (`membarrier`).

use rustix::thread::{MembarrierCommand, membarrier};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often events are looked at while goals run.
pub(crate) const TICK: Duration = Duration::from_millis(5);

/// The same in a hurry.
const HURRY: Duration = Duration::from_micros(200);
/// Ticks that a hurry lasts: ten milliseconds.
const HURRIED: u64 = 50;

/// An interrupt that comes so soon after the first is the same one: `timeout`, for one, sends its signal to the
/// process, and then to its group.
const SAME_INTERRUPT: Duration = Duration::from_millis(500);

#[derive(Debug)]
struct Shared {
    woken: AtomicBool,
    limit: AtomicPtr<AtomicUsize>,
    users: AtomicUsize,
    running: AtomicBool,
    /// A run is about to begin: an interrupt is for it.
    expected: AtomicBool,
    /// When the run was asked to end, in milliseconds since `begin`, from 1 on; 0 if it was not. It stays when the
    /// run has ended.
    interrupted_at: AtomicU64,
    begin: Instant,
    /// Interrupts between runs are only noted.
    held: AtomicBool,
    /// Signals that the program handles itself, a bit each.
    claimed: AtomicU64,
    /// Of a node's first worker: those of the others.
    others: OnceLock<Vec<Waker>>,
    /// Somebody wants to know what waits.
    asked: AtomicBool,
}

impl Default for Shared {
    fn default() -> Shared {
        Shared {
            woken: AtomicBool::default(),
            limit: AtomicPtr::default(),
            users: AtomicUsize::default(),
            running: AtomicBool::default(),
            expected: AtomicBool::default(),
            interrupted_at: AtomicU64::default(),
            begin: Instant::now(),
            held: AtomicBool::default(),
            claimed: AtomicU64::default(),
            others: OnceLock::new(),
            asked: AtomicBool::default(),
        }
    }
}

/// K2: a fence in all threads of the process. A system without it refuses, which is as good as it can be there.
///
/// The process says that it will use it when it first does: to say so takes 5 to 20 ms once there are several threads.
fn fence_everywhere() {
    if membarrier(MembarrierCommand::PrivateExpedited).is_err() {
        let _ = membarrier(MembarrierCommand::RegisterPrivateExpedited);
        let _ = membarrier(MembarrierCommand::PrivateExpedited);
    }
}

/// Asks a worker to look at its outside events; may be used from any thread and from signal handlers.
#[derive(Clone, Debug, Default)]
pub struct Waker {
    shared: Arc<Shared>,
}

impl Waker {
    /// Makes the worker look soon; does nothing once the worker is gone.
    pub fn wake(&self) {
        self.note();
        self.lower();
    }
    /// Of a node's first worker: all workers that reduce look soon.
    pub(crate) fn wake_all(&self) {
        let all = || std::iter::once(self).chain(self.shared.others.get().into_iter().flatten());
        all().for_each(Waker::note);
        fence_everywhere();
        all().for_each(Waker::lower);
    }
    /// K2, the first step.
    fn note(&self) {
        // SeqCst, all of them: K2 and K1 order a store before a load of another location on both sides.
        self.shared.woken.store(true, Ordering::SeqCst);
    }
    /// K2, the second one.
    fn lower(&self) {
        self.shared.users.fetch_add(1, Ordering::SeqCst);
        let limit = self.shared.limit.load(Ordering::SeqCst);
        // SAFETY: K1 - the worker lives until `detach` has seen `users` at zero.
        if let Some(limit) = unsafe { limit.as_ref() } {
            limit.store(0, Ordering::SeqCst);
        }
        self.shared.users.fetch_sub(1, Ordering::SeqCst);
    }
    /// True once after `wake`.
    #[inline(always)]
    pub(crate) fn take(&self) -> bool {
        self.is_set() && self.shared.woken.swap(false, Ordering::SeqCst)
    }
    /// What `take` would answer.
    #[inline(always)]
    pub(crate) fn is_set(&self) -> bool {
        // Relaxed: this is asked at every resumption, where a fence would cost more than all the rest (K2).
        self.shared.woken.load(Ordering::Relaxed)
    }
    /// C8 of `term::abi`: where generated code sees it, as long as there is this waker.
    pub(crate) fn flag(&self) -> *const u8 {
        (&raw const self.shared.woken).cast()
    }
    /// Asks the run to end, as Ctrl-C does. False if there is none, or if it was asked before, not just now, and has
    /// not ended yet.
    pub fn interrupt(&self) -> bool {
        let (shared, now) = (&self.shared, self.shared.begin.elapsed().as_millis() as u64 + 1);
        if shared.held.load(Ordering::SeqCst) {
            shared.interrupted_at.store(now, Ordering::SeqCst);
            return true;
        }
        // In this order: a run is running before it is no longer expected.
        let expected = shared.expected.load(Ordering::SeqCst);
        let first = if expected || shared.running.load(Ordering::SeqCst) {
            shared.interrupted_at.compare_exchange(0, now, Ordering::SeqCst, Ordering::SeqCst)
        } else {
            Err(shared.interrupted_at.load(Ordering::SeqCst))
        };
        match first {
            Ok(_) => {
                // Whichever worker reduces hears of it at once; the first one may be at rest, or wait for its turn.
                self.wake_all();
                true
            }
            Err(before) => before != 0 && now.saturating_sub(before) < SAME_INTERRUPT.as_millis() as u64,
        }
    }
    /// From now on an interrupt ends the next run, if none runs: it is about to begin.
    pub fn expect_run(&self) {
        self.shared.interrupted_at.store(0, Ordering::SeqCst);
        self.shared.expected.store(true, Ordering::SeqCst);
    }
    /// Of a node's first worker: who else hears of an interrupt. To be called once.
    pub(crate) fn set_others(&self, others: Vec<Waker>) {
        assert!(self.shared.others.set(others).is_ok(), "a node's workers are made once");
    }
    /// Asks the run to say what waits, and to go on. False if there is none.
    pub fn ask(&self) -> bool {
        let running = self.shared.running.load(Ordering::SeqCst);
        if running {
            self.shared.asked.store(true, Ordering::SeqCst);
            self.wake();
        }
        running
    }
    /// True after `ask`, until `answer`.
    pub(crate) fn is_asked(&self) -> bool {
        // Relaxed: it orders nothing.
        self.shared.asked.load(Ordering::Relaxed)
    }
    /// What was asked is being answered; false if nothing was.
    pub(crate) fn answer(&self) -> bool {
        self.shared.asked.swap(false, Ordering::SeqCst)
    }
    /// From now on an interrupt is only noted: something is under way, between runs, that must not be left half done.
    pub fn hold_interrupts(&self) {
        self.shared.interrupted_at.store(0, Ordering::SeqCst);
        self.shared.held.store(true, Ordering::SeqCst);
    }
    /// The opposite. True if an interrupt came meanwhile.
    pub fn release_interrupts(&self) -> bool {
        self.shared.held.store(false, Ordering::SeqCst);
        self.shared.interrupted_at.swap(0, Ordering::SeqCst) != 0
    }
    /// A run begins or has ended.
    pub(crate) fn set_running(&self, running: bool) {
        let expected = self.shared.expected.load(Ordering::SeqCst);
        if running {
            if !expected {
                self.shared.interrupted_at.store(0, Ordering::SeqCst);
            }
            self.shared.asked.store(false, Ordering::SeqCst);
        }
        self.shared.running.store(running, Ordering::SeqCst);
        if running && expected {
            self.shared.expected.store(false, Ordering::SeqCst);
            if self.is_interrupted() {
                // The limit may have been restored since.
                self.wake();
            }
        }
    }
    /// True after `interrupt`, until the run has ended.
    pub(crate) fn is_interrupted(&self) -> bool {
        // Relaxed: they order nothing.
        self.shared.interrupted_at.load(Ordering::Relaxed) != 0 && self.shared.running.load(Ordering::Relaxed)
    }
    /// The program handles this signal itself from now on.
    pub(crate) fn claim(&self, signal: i32) {
        // Relaxed, here and below: the bits order nothing.
        self.shared.claimed.fetch_or(1 << (signal & 63), Ordering::Relaxed);
    }
    pub(crate) fn is_claimed(&self, signal: i32) -> bool {
        self.shared.claimed.load(Ordering::Relaxed) >> (signal & 63) & 1 == 1
    }
    pub(crate) fn attach(&self, limit: *const AtomicUsize) {
        debug_assert!(self.shared.limit.load(Ordering::SeqCst).is_null(), "K1: two limits of one worker");
        self.shared.limit.store(limit.cast_mut(), Ordering::SeqCst);
    }
    pub(crate) fn detach(&self) {
        self.shared.limit.store(std::ptr::null_mut(), Ordering::SeqCst);
        while self.shared.users.load(Ordering::SeqCst) != 0 {
            std::hint::spin_loop();
        }
    }
}

/// A thread that wakes a worker at intervals while that is wanted: programs that neither allocate nor wait would never
/// look at their events.
#[derive(Debug, Default)]
pub(crate) struct Ticker {
    ticks: Arc<Ticks>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Ticks {
    wanted: AtomicBool,
    /// Odd while the worker sleeps until there is an event: then nobody needs ticks.
    sleeps: AtomicU64,
    /// The thread has stopped because of that, or is about to.
    stopped: AtomicBool,
    /// How many of the next ticks come in a hurry.
    hurried: AtomicU64,
}

impl Ticks {
    /// How long the thread sleeps until the next tick.
    fn next(&self) -> Duration {
        // Relaxed: a tick more or less does not matter.
        let one = |left: u64| left.checked_sub(1);
        let hurried = self.hurried.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one);
        if hurried.is_ok() { HURRY } else { TICK }
    }
}

impl Ticker {
    /// Starts or stops the ticks. Without a thread (the system refuses one) events are looked at when nothing is ready.
    pub(crate) fn set(&mut self, wanted: bool, waker: &Waker) {
        if !wanted {
            return self.stop();
        }
        // Relaxed: the flag orders nothing; `unpark` makes the thread look again.
        if self.ticks.wanted.swap(true, Ordering::Relaxed) {
            return;
        }
        if self.thread.is_none() {
            let (ticks, waker) = (Arc::downgrade(&self.ticks), waker.clone());
            let thread =
                std::thread::Builder::new().name("fifth-ticks".into()).spawn(move || tick(&ticks, &waker));
            self.thread = thread.ok();
        }
        self.unpark();
    }
    /// Stops the ticks.
    pub(crate) fn stop(&self) {
        // Relaxed: as above.
        self.ticks.wanted.store(false, Ordering::Relaxed);
    }
    /// Whether there are ticks while they are wanted.
    pub(crate) fn has_thread(&self) -> bool {
        self.thread.is_some()
    }
    /// What is looked for is likely to come soon: ticks come in a hurry for a while.
    pub(crate) fn hurry(&self) {
        self.ticks.hurried.store(HURRIED, Ordering::Relaxed);
    }
    /// The worker sleeps while `wait` runs. The ticks end if that takes longer than one.
    pub(crate) fn pause<R>(&self, wait: impl FnOnce() -> R) -> R {
        // SeqCst, here and in `tick`: each side writes one word and then reads the other's.
        self.ticks.sleeps.fetch_add(1, Ordering::SeqCst);
        let result = wait();
        self.ticks.sleeps.fetch_add(1, Ordering::SeqCst);
        if self.ticks.stopped.swap(false, Ordering::SeqCst) {
            self.unpark();
        }
        result
    }
    fn unpark(&self) {
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
    /// Stops the ticks, and ends the thread: it is gone afterwards.
    pub(crate) fn end(&mut self) {
        self.ticks = Arc::default();
        self.unpark();
        if let Some(thread) = self.thread.take() {
            // It does nothing that can panic.
            let _ = thread.join();
        }
    }
}

/// The ticker's thread, as long as there is a ticker.
fn tick(ticks: &Weak<Ticks>, waker: &Waker) {
    let mut before = 0;
    while let Some(now) = ticks.upgrade() {
        let sleeps = now.sleeps.load(Ordering::SeqCst);
        let asleep = sleeps % 2 == 1 && sleeps == before;
        before = sleeps;
        if now.wanted.load(Ordering::Relaxed) && !asleep {
            waker.wake();
            std::thread::sleep(now.next());
            continue;
        }
        now.stopped.store(true, Ordering::SeqCst);
        let park = !now.wanted.load(Ordering::SeqCst) || now.sleeps.load(Ordering::SeqCst) == sleeps;
        drop(now);
        if park {
            std::thread::park();
        }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.ticks = Arc::default();
        self.unpark();
    }
}

#[cfg(all(test, not(models)))]
mod tests {
    use super::*;

    #[test]
    fn a_hurry_ends() {
        let ticker = Ticker::default();
        assert_eq!(ticker.ticks.next(), TICK);
        (0..2).for_each(|_| ticker.hurry());
        assert!((0..HURRIED).all(|_| ticker.ticks.next() == HURRY));
        assert_eq!(ticker.ticks.next(), TICK);
    }

    #[test]
    fn an_interrupt_ends_a_run_that_is_expected() {
        let waker = Waker::default();
        for _ in 0..2 {
            waker.expect_run();
            assert!(waker.interrupt() && !waker.is_interrupted(), "there is no run yet");
            waker.set_running(true);
            assert!(waker.is_interrupted() && waker.take());
            waker.set_running(false);
            // The next one is another.
            waker.set_running(true);
            assert!(!waker.is_interrupted() && !waker.take());
            waker.set_running(false);
            waker.expect_run();
            waker.set_running(true);
            assert!(!waker.is_interrupted(), "nobody interrupted this one");
            waker.set_running(false);
        }
    }

    #[test]
    fn an_interrupt_may_come_twice() {
        let waker = Waker::default();
        assert!(!waker.interrupt(), "nothing runs");
        for _ in 0..2 {
            waker.set_running(true);
            assert!(!waker.is_interrupted());
            assert!(waker.interrupt() && waker.interrupt() && waker.is_interrupted());
            waker.set_running(false);
            assert!(waker.interrupt(), "it is what ended the run");
            assert!(!waker.is_interrupted());
        }
        waker.set_running(true);
        assert!(waker.interrupt());
        std::thread::sleep(SAME_INTERRUPT);
        assert!(!waker.interrupt(), "somebody is in earnest");
        waker.set_running(false);
        assert!(!waker.interrupt());
        waker.hold_interrupts();
        assert!(!waker.release_interrupts());
        waker.hold_interrupts();
        assert!(waker.interrupt() && waker.release_interrupts() && !waker.release_interrupts());
    }
}
