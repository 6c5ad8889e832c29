//! One worker: what generated code knows of it, its goal stack, its part of the heap.
//!
//! For: the state of one worker, and of all of them (`all`); programs, builtins and events as a worker knows them.
//! It may know: which state the rooms above keep in it.
//! It never: decides what to reduce, give or collect.
//!
//! A node has one or several. Each is reduced by a thread of its own; what they share is in `worker::all`.
//!
//! Invariants:
//! - R1 `abi` is the first field: generated code and the runtime pass the same address.
//! - R2 While Rust code runs, `abi.heap` and `abi.goals` are the true tops (C2 of `term::abi`).
//! - R3 Nothing collects while a builtin or helper runs: words that they hold in Rust variables stay valid until they
//!   return. What must live longer is a [`Root`].

pub(crate) mod all;
mod counts;
pub(crate) mod events;
pub mod native;
mod notes;
mod others;
pub mod program;
mod room;
pub(crate) mod rules;
mod state;

pub use notes::Tracer;

use crate::coordination::waker::Waker;
use crate::goals::abroad::state::Abroad;
use crate::goals::shoen::state::Lanes;
use crate::goals::state::{Choice, Goals, SystemGoals, Waiting};
use crate::memory::classes::{Classes, TaggedWords};
use crate::memory::nursery::Heap;
use crate::memory::ranges::{Range, at};
use crate::memory::wanted::Wanted;
use crate::reports::outcome::Ending;
use crate::reports::statistics::{Collection, Statistics};
use crate::sharing::state::{Shaker, Sharing};
use crate::terms::state::Terms;
use crate::worker::all::Shared;
use crate::worker::native::{KeptStreams, Streams};
use crate::worker::program::{Call, Code, Predicates};
pub use crate::worker::state::Root;
use crate::worker::state::{Attention, Roots, Visibility};
use std::any::{Any, TypeId};
use std::marker::PhantomPinned;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use term::Word;
use term::abi::{
    BOTTOM, Helpers, OPERANDS_MAX, PredicateId, REGISTERS_MAX, SPENT_ARITIES, WorkerAbi, private_place,
};
use term::symbol::{Atom, AtomTable};
use term::word::Tag;

/// Bytes that a builtin keeps outside the heap: they count against the heap limit until this is dropped.
pub struct Kept {
    bytes: usize,
    all: Arc<Shared>,
}

impl Kept {
    pub(crate) fn add(&mut self, bytes: usize) {
        self.bytes += bytes;
        self.all.kept.fetch_add(bytes, Relaxed);
    }
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Kept({})", self.bytes)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let before = self.all.kept.fetch_sub(self.bytes, Relaxed);
        debug_assert!(before >= self.bytes, "{} bytes of {before} that are kept", self.bytes);
    }
}

/// One worker. See the module comment.
#[repr(C)]
pub(crate) struct Worker {
    /// What generated code knows (R1).
    pub(crate) abi: WorkerAbi,
    /// Its number: 0 is the worker that the outside world belongs to.
    pub(crate) index: usize,
    /// What it shares with the node's other workers.
    pub(crate) shared: Arc<Shared>,
    /// Texts of atoms.
    pub(crate) atoms: Arc<AtomTable>,
    /// All predicates.
    pub(crate) predicates: Arc<Predicates>,
    /// Where the node's constants lie.
    pub(crate) constants: Arc<[Range]>,
    /// How generated code calls builtins, by number.
    pub(crate) calls: Arc<[Call]>,
    /// All classes of objects.
    pub(crate) classes: Arc<Classes>,
    /// How generated code is entered.
    pub(crate) code: Code,
    /// Its spaces.
    pub(crate) heap: Heap,
    /// The class table, as the collector reads it.
    pub(crate) tagged_words: Arc<TaggedWords>,
    /// What it wants of the collector.
    pub(crate) wanted: Wanted,
    /// Ready goals.
    pub(crate) goals: Goals,
    /// Goals that wait, or were resumed.
    pub(crate) waiting: Waiting,
    /// Shoens, as this worker knows them.
    pub(crate) lanes: Lanes,
    /// Unifications that were put off, versions of vectors.
    pub(crate) terms: Terms,
    /// The load balance.
    pub(crate) sharing: Sharing,
    /// When it attends.
    pub(crate) attention: Attention,
    /// Which of its cells others may see.
    pub(crate) visibility: Visibility,
    /// Why the program is to end.
    pub(crate) ending: Ending,
    pub(crate) options: Options,
    pub(crate) system_goals: SystemGoals,
    /// The goals that compute when generated code cannot, by operation.
    pub(crate) arithmetic_goals: [PredicateId; 12],
    /// Counters.
    pub(crate) statistics: Statistics,
    /// Every collection so far, if somebody wants to know.
    pub(crate) collections: Option<Vec<Collection>>,
    /// Words that builtins keep.
    pub(crate) roots: Roots,
    /// Of worker 0: terms of other nodes, and for them.
    pub(crate) abroad: Abroad,
    /// What serves the program's streams.
    streams: KeptStreams,
    /// Few: they are found by looking at each.
    states: Vec<(TypeId, Box<dyn Any + Send>)>,
    waker: Waker,
    /// `abi.registers`.
    _registers: Box<[MaybeUninit<Word>]>,
}

/// What a node may be told.
#[derive(Clone, Debug)]
pub struct Options {
    /// Workers, from 1 to [`WORKERS_MAX`].
    pub workers: usize,
    /// Bytes of heap and goal stack at most; `None`: 45 % of the machine's memory, or of what its control groups leave
    /// to the process. Less if the process may have less address space than usual.
    pub heap_bytes_max: Option<usize>,
    /// Bytes of address space at most, once the node is made. `None`: as usual, 2 TiB and 64 GiB for each worker.
    pub address_space: Option<usize>,
    /// When to collect.
    pub collect: Collect,
    /// Check the whole heap after every collection (tests).
    pub check_heap: bool,
    /// Workers reduce one after the other, in an order from this seed: with several, a run is the same each time
    /// (tests). See `coordination::schedule`.
    pub schedule: Option<u64>,
    /// Note what each worker does when.
    pub trace: bool,
    /// The node's number, and how many nodes the program has.
    pub node: u32,
    /// See `node`.
    pub nodes: u32,
    /// How many of them share this process: each gets that part of the address space, of the machine's memory and of
    /// its processors.
    pub share: u32,
    /// Of a node among several: nobody wakes its first worker for a message, so it looks every 5 ms at least.
    pub ticks: bool,
    /// Of a node among several: ready goals may go to nodes that have none.
    pub balance: bool,
    /// Rules of the load balance that do not hold, to measure them.
    pub without: Without,
}

impl Options {
    /// Options of a node that is alone, has this number of workers, and is told nothing else.
    pub const fn alone(workers: usize) -> Options {
        Options {
            workers,
            heap_bytes_max: None,
            address_space: None,
            collect: Collect::WhenFull,
            check_heap: false,
            schedule: None,
            trace: false,
            node: 0,
            nodes: 1,
            share: 1,
            ticks: false,
            balance: false,
            without: Without::NONE,
        }
    }
}

pub use crate::worker::rules::{Rule, Without};

/// When a node collects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Collect {
    /// When a nursery is full.
    WhenFull,
    /// At every opportunity: finds words that the collector does not know (tests).
    Always,
    /// At random safe points, and goals change workers at random; by this seed (tests).
    AtRandom(u64),
}

/// Most workers of a node.
pub const WORKERS_MAX: usize = crate::coordination::team::WORKERS_MAX;

// SAFETY: a worker's pointers and addresses lead into regions and tables that live as long as it does, whichever
// thread uses it; only the thread that has the worker does (W1 of `worker::all`).
unsafe impl Send for Worker {}

impl Drop for Worker {
    fn drop(&mut self) {
        self.waker.detach();
        self.shared.team.detach(self.index);
    }
}

/// What gives goals away at random, if it is wanted.
fn shaker(options: &Options, index: usize) -> Option<Shaker> {
    match options.collect {
        Collect::AtRandom(seed) => Some(Shaker::new(seed, index)),
        Collect::WhenFull | Collect::Always => None,
    }
}

impl Worker {
    /// A worker with an empty heap and an empty goal stack; `helpers` are what generated code calls.
    pub(crate) fn new(
        options: &Options,
        index: usize,
        shared: &Arc<Shared>,
        goals: Goals,
        helpers: Helpers,
    ) -> Box<Worker> {
        debug_assert!(index < options.workers, "W1: worker {index} of {}", options.workers);
        let heap = Heap::new(shared.spaces.clone(), index);
        let (base, classes) = (heap.nursery(), Arc::<Classes>::default());
        let limit = if options.collect == Collect::WhenFull { heap.limit(0) } else { base };
        // Nobody wakes the others: they are poked.
        let waker = if index == 0 { shared.waker.clone() } else { Waker::default() };
        // The system gives it memory where something is written.
        let mut registers = Box::<[Word]>::new_uninit_slice(REGISTERS_MAX);
        let abi = WorkerAbi {
            limit: AtomicUsize::new(limit),
            goals_limit: goals.limit(),
            entries: std::ptr::null(),
            constants: std::ptr::null(),
            private_base: private_place(base + Tag::Ref as usize),
            heap: at(base),
            goals: at(goals.start()),
            resumed: 0,
            resumed_at: 0,
            suspensions: 0,
            reused: 0,
            need: 0,
            reductions: 0,
            reductions_limit: u64::MAX,
            priority: PRIORITY_START,
            pending_count: 0,
            pending: [Word::small(0); OPERANDS_MAX],
            operands: [Word::small(0); OPERANDS_MAX],
            spent: [0; SPENT_ARITIES],
            helpers,
            more_wanted: false,
            limit_after: 0,
            woken: waker.flag(),
            poked: shared.team.poked(index),
            turn_left: Choice::first_left(shared.team.len() == 1),
            made_ready: 0,
            first_compiled: BOTTOM.goal_word(),
            registers: registers.as_mut_ptr().cast(),
            pinned: PhantomPinned,
        };
        Box::new(Worker {
            abi,
            index,
            shared: shared.clone(),
            atoms: shared.atoms.clone(),
            predicates: Arc::default(),
            constants: Arc::default(),
            calls: Arc::default(),
            tagged_words: Arc::new(classes.tagged_words()),
            classes,
            code: Code::default(),
            heap,
            wanted: Wanted::default(),
            goals,
            waiting: Waiting::default(),
            lanes: Lanes::default(),
            terms: Terms::default(),
            sharing: Sharing::new(shaker(options, index)),
            attention: Attention::new(limit),
            visibility: Visibility::default(),
            ending: Ending::default(),
            options: options.clone(),
            system_goals: SystemGoals::default(),
            arithmetic_goals: [BOTTOM; 12],
            statistics: Statistics::default(),
            collections: None,
            roots: Roots::default(),
            abroad: Abroad::default(),
            streams: KeptStreams::default(),
            states: Vec::new(),
            _registers: registers,
            waker,
        })
    }
    /// Where wakers find the limit; the worker does not move any more.
    pub(crate) fn attach_limit(&mut self) {
        self.waker.attach(&raw const self.abi.limit);
    }

    /// Whether what belongs to the outside world is done here: by the first worker of the first node.
    pub(crate) fn is_home(&self) -> bool {
        self.index == 0 && self.options.node == 0
    }
    /// Whether a program may call a predicate of this number with that number of arguments.
    pub(crate) fn may_be_called(&self, predicate: PredicateId, arity: usize) -> bool {
        (predicate.0 as usize) < self.predicates.len()
            && self.predicates.arity(predicate) == arity
            && !self.is_inner_predicate(predicate)
    }
    /// The same of what comes from another node, which also says what only nodes say.
    pub(crate) fn may_come(&self, predicate: PredicateId, arity: usize) -> bool {
        let says = self.system_goals.exported < predicate && predicate <= self.system_goals.lose;
        self.may_be_called(predicate, arity) || says && self.predicates.arity(predicate) == arity
    }
    /// Whether goals of a predicate are the runtime's own affair: they hold what is no term, or nodes count on them.
    pub(crate) fn is_inner_predicate(&self, predicate: PredicateId) -> bool {
        let system = &self.system_goals;
        predicate == BOTTOM
            || predicate <= system.lose && predicate != system.unify
            || predicate == system.merge
    }
    /// The atom with this text.
    pub(crate) fn intern(&mut self, text: &str) -> Atom {
        self.atoms.intern(text.as_bytes())
    }
    /// The classes of objects.
    pub(crate) fn classes(&self) -> &Classes {
        &self.classes
    }
    /// From now on each collection is noted.
    pub(crate) fn note_collections(&mut self) {
        self.collections.get_or_insert_default();
    }
    /// The collections noted so far.
    pub(crate) fn collections(&self) -> &[Collection] {
        self.collections.as_deref().unwrap_or_default()
    }
    /// The state of a group of builtins (one value per type), made when it is first asked for.
    #[inline(always)]
    pub(crate) fn state<T: Any + Default + Send>(&mut self) -> &mut T {
        let place = self.state_place::<T>();
        self.states[place].1.downcast_mut().expect("states are entered under their own type")
    }
    #[inline(always)]
    fn state_place<T: Any + Default + Send>(&mut self) -> usize {
        match self.states.iter().position(|(of, _)| *of == TypeId::of::<T>()) {
            Some(place) => place,
            None => self.add_state::<T>(),
        }
    }
    #[cold]
    fn add_state<T: Any + Default + Send>(&mut self) -> usize {
        self.states.push((TypeId::of::<T>(), Box::new(T::default())));
        self.states.len() - 1
    }
    /// What serves the program's streams, made when it is first asked for.
    #[inline(always)]
    pub(crate) fn streams<T: Streams + Default>(&mut self) -> &mut T {
        if self.streams.kept.is_none() {
            self.make_streams::<T>();
        }
        let streams: &mut dyn Any = &mut **self.streams.kept.as_mut().expect("they were made");
        streams.downcast_mut().expect("there is one kind of them")
    }
    #[cold]
    fn make_streams<T: Streams + Default>(&mut self) {
        assert!(!self.streams.made, "nobody asks for streams that are in use");
        self.streams = KeptStreams { kept: Some(Box::<T>::default()), made: true };
    }
    /// The next byte of one of these streams, if it is at hand.
    #[inline(always)]
    pub(crate) fn next_byte(&mut self, place: usize) -> Option<u8> {
        self.streams.kept.as_mut()?.next_byte(place)
    }
    /// Whether some of these streams are served in batches.
    #[inline(always)]
    pub(crate) fn has_batches(&self) -> bool {
        self.streams.kept.as_ref().is_some_and(|streams| streams.has_batches())
    }
    /// The worker attends when it has allocated this number of bytes, at the latest.
    pub(crate) fn look_within(&mut self, bytes: usize) {
        self.attention.look_at(self.abi.heap as usize + bytes);
        self.abi.limit_after = 0;
        self.abi.set_limit(self.abi.limit().min(self.attention.soon()));
    }
    /// Runs `then` with it, which may not ask for it; `None` if there is none.
    #[inline(always)]
    pub(crate) fn with_streams<R>(
        &mut self,
        then: impl FnOnce(&mut Worker, &mut dyn Streams) -> R,
    ) -> Option<R> {
        let mut streams = self.streams.kept.take()?;
        let result = then(self, &mut *streams);
        let other = self.streams.kept.replace(streams);
        debug_assert!(other.is_none(), "streams were made twice");
        // There is nothing to drop, and so nothing to keep for that.
        std::mem::forget(other);
        Some(result)
    }
    /// Keeps a word alive (and up to date) across collections until [`Worker::take_root`].
    /// Whoever keeps one waits for something outside, so the scheduler looks at its events soon.
    pub(crate) fn root(&mut self, word: Word) -> Root {
        self.abi.want_attention();
        self.roots.add(word)
    }
    /// The word of a root.
    pub(crate) fn root_word(&self, root: &Root) -> Word {
        self.roots.get(root)
    }
    /// Replaces the word of a root.
    pub(crate) fn set_root(&mut self, root: &Root, word: Word) {
        self.roots.set(root, word);
    }
    /// The word of a root, which ends.
    pub(crate) fn take_root(&mut self, root: Root) -> Word {
        self.roots.take(root)
    }
    /// Asks the program to end with this exit status: no further goal is reduced.
    pub(crate) fn exit(&mut self, status: i32) {
        self.ending.exit(status);
        self.abi.want_attention();
    }
    /// Counts bytes that a builtin is going to keep outside the heap; it asks [`Worker::ensure`] first.
    pub(crate) fn keep(&self, bytes: usize) -> Kept {
        let mut kept = Kept { bytes: 0, all: self.shared.clone() };
        kept.add(bytes);
        kept
    }
    /// W3: what was allocated up to now may be taken by other workers. Between reductions only: generated code that
    /// runs knows which cells it has made itself.
    pub(crate) fn publish(&mut self) {
        self.set_private_base(self.abi.heap as usize);
    }
    pub(crate) fn set_private_base(&mut self, base: usize) {
        let nursery = self.heap.nursery();
        debug_assert!((nursery..=self.heap.nursery_end()).contains(&base), "W2: nobody's cells are private");
        self.abi.set_private_base(base);
        self.shared.set_private_base(self.index, base);
    }
    /// A handle with which signals and other threads make this worker look at its
    /// [`Events`](crate::worker::events::Events) soon.
    pub(crate) fn waker(&self) -> Waker {
        self.waker.clone()
    }
    /// Whether what takes long is to be given up.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.shared.is_ending() || self.abi.priority < 0 && self.lanes.gives_up(self.abi.priority)
    }
    /// True once after a [`Waker`] was used.
    pub(crate) fn woken(&self) -> bool {
        self.waker.take()
    }
    /// True until [`Worker::woken`] has said so.
    #[inline(always)]
    pub(crate) fn is_woken(&self) -> bool {
        self.waker.is_set()
    }
}

/// Priority of the first goal.
pub const PRIORITY_START: i64 = PRIORITY_MAX - 1;
/// Highest priority.
pub const PRIORITY_MAX: i64 = term::word::INT_MAX;
