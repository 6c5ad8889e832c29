//! What the workers of a node share, and access to all of them for whoever may have it.
//!
//! Invariants:
//! - W1 A worker is used by the thread that reduces for it, while that thread runs (that of worker 0 between turns,
//!   too, when it tells other nodes what happened); by a collection's participants, one at a time, while its thread is
//!   stopped or rests; by worker 0 while the team is quiescent; and by the node between runs. `Team` keeps them apart
//!   (T2, T8), and in a collection the marks of what is taken do.
//! - W2 A cell at or above a worker's `private_base` in its nursery is *private*: while it is unbound, only that
//!   worker writes it, with plain stores. Other unbound cells are *shared*: they are replaced by compare-and-swap.
//! - W3 `private_base` moves upwards only, until a collection resets it or its worker is alone (B5 of `give`), and
//!   only its worker moves it, between reductions: after all plain stores to what becomes shared.

use crate::collect::state::Policy;
use crate::coordination::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::coordination::sync::{Mutex, lock};
use crate::coordination::team::Team;
use crate::coordination::waker::Waker;
use crate::goals::shoen::state::Shoens;
use crate::memory::spaces::Spaces;
use crate::reports::outcome::RunOutcome;
use crate::reports::profile::Profiler;
use crate::reports::trace::Trace;
use crate::reports::watch::Watch;
use crate::sharing::state::Trial;
use crate::worker::{Options, Worker};
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use term::symbol::AtomTable;

/// What all workers of a node share.
pub(crate) struct Shared {
    pub(crate) team: Team,
    /// Whether it pays to share goals.
    pub(crate) trial: Trial,
    pub(crate) spaces: Arc<Spaces>,
    pub(crate) atoms: Arc<AtomTable>,
    /// W3: each worker's `abi.private_base`, for the others.
    private_bases: Box<[PrivateBase]>,
    /// What others may take part in while they are stopped or rest.
    pub(crate) work: Mutex<Option<Arc<dyn SharedWork>>>,
    /// Bytes that builtins keep outside the heap: see [`Kept`](crate::worker::Kept).
    pub(crate) kept: AtomicUsize,
    /// Bytes of messages to other nodes that are under way.
    pub(crate) under_way: AtomicUsize,
    /// Y12 of `abroad`.
    pub(crate) holds_back: AtomicBool,
    /// Bytes of ready goals: P5 of `stack`.
    pub(crate) goal_bytes: AtomicUsize,
    /// Of worker 0, to which the outside belongs.
    pub(crate) waker: Waker,
    /// Worker 0 has a turn. Relaxed: a hint to wake it.
    pub(crate) in_turn: AtomicBool,
    /// How the run ended.
    outcome: Mutex<Option<RunOutcome>>,
    /// Requests of this run that could not be done: what was tried, and why; the last ones.
    pub(crate) refused: Mutex<VecDeque<String>>,
    pub(crate) policy: Mutex<Policy>,
    /// What there is of shoens.
    pub(crate) shoens: Shoens,
    /// Of the machine, as far as the node may use them.
    pub(crate) processors: usize,
    pub(crate) trace: Option<Trace>,
    /// Set between runs, if somebody wants to know where time goes.
    pub(crate) profiler: OnceLock<Arc<Profiler>>,
    /// Set between runs, if somebody may watch them.
    pub(crate) watch: OnceLock<Watch>,
    crew: OnceLock<Crew>,
}

/// Work that the leader of a stop shares with workers that are stopped or rest (T9 of `stop`).
pub(crate) trait SharedWork: Send + Sync {
    /// A worker's part in it.
    fn take_part(&self, shared: &Shared, me: usize);
}

/// In a cache line of its own: each is written by its worker only.
#[repr(align(128))]
struct PrivateBase(AtomicUsize);

impl Shared {
    pub(crate) fn new(options: &Options, atoms: Arc<AtomTable>, spaces: Spaces) -> Shared {
        let all = std::thread::available_parallelism().map_or(1, usize::from);
        let processors = all / options.share as usize;
        let team = Team::new(options.workers, processors);
        let team = match options.schedule {
            Some(seed) => team.scheduled(seed),
            None => team,
        };
        Shared {
            team,
            trial: Trial::new(options.workers),
            atoms,
            private_bases: (0..options.workers).map(|_| PrivateBase(AtomicUsize::new(0))).collect(),
            work: Mutex::default(),
            kept: AtomicUsize::new(0),
            under_way: AtomicUsize::new(0),
            holds_back: AtomicBool::new(false),
            goal_bytes: AtomicUsize::new(0),
            waker: Waker::default(),
            in_turn: AtomicBool::new(false),
            outcome: Mutex::default(),
            refused: Mutex::default(),
            policy: Mutex::new(Policy::new(options.workers)),
            shoens: Shoens::new(options.node, options.nodes),
            processors: processors.max(1),
            trace: options.trace.then(|| Trace::new(options.workers, options.share)),
            profiler: OnceLock::new(),
            watch: OnceLock::new(),
            crew: OnceLock::new(),
            spaces: Arc::new(spaces),
        }
    }
    /// All workers. Panics before `set_crew`.
    pub(crate) fn crew(&self) -> &Crew {
        self.crew.get().expect("the node enters its workers before it runs anything")
    }
    pub(crate) fn set_crew(&self, crew: Crew) {
        assert!(self.crew.set(crew).is_ok(), "workers are entered once");
    }
    /// W3: what others may take for shared.
    pub(crate) fn private_base(&self, worker: usize) -> usize {
        self.private_bases[worker].0.load(Ordering::Acquire)
    }
    /// W3. Release: whoever sees the new base sees what was stored below it.
    pub(crate) fn set_private_base(&self, worker: usize, base: usize) {
        debug_assert!(base.is_multiple_of(8), "W3: {base:#x} is no cell's address");
        self.private_bases[worker].0.store(base, Ordering::Release);
    }
    /// Ends the run; the first outcome counts.
    pub(crate) fn finish(&self, outcome: RunOutcome) {
        lock(&self.outcome).get_or_insert(outcome);
        self.team.finish();
    }
    /// Whether somebody has ended the run, or asks to.
    pub(crate) fn is_ending(&self) -> bool {
        // Between runs the team is over, but there is no outcome.
        self.waker.is_interrupted() || self.team.over() && lock(&self.outcome).is_some()
    }
    /// How the run ended.
    pub(crate) fn take_outcome(&self) -> Option<RunOutcome> {
        lock(&self.outcome).take()
    }
}

/// The addresses of a node's workers.
pub(crate) struct Crew {
    workers: Vec<*mut Worker>,
    /// W1, for a debug build: which of them are in use.
    #[cfg(debug_assertions)]
    used: Vec<std::sync::atomic::AtomicBool>,
}

// SAFETY: W1 - the addresses are used under it only.
unsafe impl Send for Crew {}
// SAFETY: W1 - threads share the addresses only, and each worker has one user at a time.
unsafe impl Sync for Crew {}

impl Crew {
    pub(crate) fn len(&self) -> usize {
        self.workers.len()
    }
    /// Uses a worker. The caller is one of those that W1 names, and does not use it in `then` by any other way.
    pub(crate) fn with<R>(&self, index: usize, then: impl FnOnce(&mut Worker) -> R) -> R {
        let worker = self.workers[index];
        #[cfg(debug_assertions)]
        let _use = InUse::of(&self.used[index]);
        // SAFETY: W1 - the worker lives as long as its node, which has the crew, and nobody else uses it now.
        then(unsafe { &mut *worker })
    }
    /// Uses all workers, one after the other.
    pub(crate) fn each(&self, mut then: impl FnMut(&mut Worker)) {
        (0..self.len()).for_each(|index| self.with(index, &mut then));
    }
}

/// W1: a worker has one user at a time.
#[cfg(debug_assertions)]
struct InUse<'a>(&'a std::sync::atomic::AtomicBool);

#[cfg(debug_assertions)]
impl InUse<'_> {
    fn of(used: &std::sync::atomic::AtomicBool) -> InUse<'_> {
        let other = used.swap(true, std::sync::atomic::Ordering::AcqRel);
        assert!(!other || std::thread::panicking(), "W1: two use a worker");
        InUse(used)
    }
}

#[cfg(debug_assertions)]
impl Drop for InUse<'_> {
    fn drop(&mut self) {
        self.0.store(false, std::sync::atomic::Ordering::Release);
    }
}

/// A node's workers. They stay where they are: generated code and the crew know their addresses.
pub(crate) struct Workers {
    workers: Vec<*mut Worker>,
}

// SAFETY: W1 - whoever has the node uses its workers, on whichever thread, while it is not running anything.
unsafe impl Send for Workers {}

impl Workers {
    pub(crate) fn new(workers: Vec<Box<Worker>>) -> Workers {
        Workers { workers: workers.into_iter().map(Box::into_raw).collect() }
    }
    pub(crate) fn crew(&self) -> Crew {
        Crew {
            workers: self.workers.clone(),
            #[cfg(debug_assertions)]
            used: self.workers.iter().map(|_| std::sync::atomic::AtomicBool::default()).collect(),
        }
    }
    /// A worker, between runs; worker 0 between turns, too.
    pub(crate) fn get(&mut self, index: usize) -> &mut Worker {
        // SAFETY: W1 - made by `Box::into_raw`, freed by `drop`; the node is not running anything, or it is worker 0
        // and the thread that reduces for it is the caller's.
        unsafe { &mut *self.workers[index] }
    }
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Worker> {
        // SAFETY: W1, as in `get`; the addresses differ.
        self.workers.iter().map(|&worker| unsafe { &mut *worker })
    }
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Worker> {
        // SAFETY: W1, as in `get`, and the node is borrowed, so nobody changes them.
        self.workers.iter().map(|&worker| unsafe { &*worker })
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        for &worker in &self.workers {
            // SAFETY: W1 - made by `Box::into_raw`; no thread runs any more.
            drop(unsafe { Box::from_raw(worker) });
        }
    }
}
