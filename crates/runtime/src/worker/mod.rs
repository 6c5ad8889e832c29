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
pub mod events;
pub mod native;
pub mod program;

use crate::collect::TaggedWords;
use crate::coordination::team::AT_REST;
use crate::coordination::waker::Waker;
use crate::goals::abroad::Abroad;
use crate::goals::runtime_predicates::SystemGoals;
use crate::goals::stack::Goals;
use crate::goals::suspend::Registry;
use crate::memory::nursery::Heap;
use crate::memory::ranges::at;
use crate::reports::outcome::ProgramError;
use crate::reports::statistics::{Collection, Statistics};
use crate::sharing::disorder::Shaker;
use crate::sharing::feedback::{Sums, Trial};
use crate::sharing::give::Polling;
use crate::terms::classes::Classes;
use crate::worker::all::Shared;
use crate::worker::program::{Code, Predicates};
use std::any::{Any, TypeId};
use std::marker::PhantomPinned;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};
use term::Word;
use term::abi::{BOTTOM, Helpers, OPERANDS_MAX, PredicateId, SPENT_ARITIES, WorkerAbi};
use term::symbol::{Atom, AtomTable};

/// A word that a builtin's state keeps across collections: see [`Worker::root`].
#[derive(Debug, PartialEq, Eq)]
pub struct Root(u32);

/// Bytes that a builtin keeps outside the heap: they count against the heap limit until this is dropped.
pub(crate) struct Kept {
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
        self.all.kept.fetch_sub(self.bytes, Relaxed);
    }
}

/// One worker. See the module comment.
#[repr(C)]
pub struct Worker {
    /// What generated code knows (R1).
    pub abi: WorkerAbi,
    /// Its number: 0 is the worker that the outside world belongs to.
    pub(crate) index: usize,
    /// What it shares with the node's other workers.
    pub(crate) shared: Arc<Shared>,
    /// Texts of atoms.
    pub atoms: Arc<AtomTable>,
    /// All predicates.
    pub predicates: Arc<Predicates>,
    /// All classes of objects.
    pub(crate) classes: Arc<Classes>,
    /// How generated code is entered.
    pub(crate) code: Code,
    /// The error that ends the program, found where it could not be returned.
    pub(crate) error: Option<Box<ProgramError>>,
    /// Set when the program asked to exit.
    pub(crate) exit: Option<i32>,
    /// Lists of waiting goals (newest record) whose variables got values after that of `abi.resumed`, oldest binding first.
    pub(crate) resumed_later: Vec<usize>,
    /// Its spaces.
    pub(crate) heap: Heap,
    /// The class table, as the collector reads it.
    pub(crate) tagged_words: Arc<TaggedWords>,
    /// Records of waiting goals.
    pub(crate) registry: Registry,
    /// Ready goals.
    pub(crate) goals: Goals,
    /// What `abi.limit` is while nothing wants attention.
    pub(crate) limit: usize,
    /// What others may take is to be published at the next attention (H5 of `suspend`).
    pub(crate) publish_wanted: bool,
    /// With several workers: where allocation shall have got to when the worker looks again whether goals are to have their turn, or
    /// somebody asks for some.
    pub(crate) soon: usize,
    /// B8 of `give`: the time of its thread from which on it counts how long it has not looked.
    pub(crate) looked: Option<Duration>,
    /// Looks that found nothing to spare, in a row, and how many of the next ones are left out because of that.
    pub(crate) looks_in_vain: u32,
    pub(crate) looks_left_out: usize,
    /// B6 of `give`: what others were shown.
    pub(crate) shown: i64,
    /// The lowest priority that it has reduced at since what was shown was last forgotten.
    pub(crate) lowest: i64,
    /// When it last fed others, and how often it went to a lower priority since then.
    pub(crate) fed_others: Instant,
    pub(crate) descents: usize,
    pub(crate) shown_looks: bool,
    /// There was a collection.
    pub(crate) collected: bool,
    pub(crate) polling: Polling,
    /// B5 of `give`.
    pub(crate) solo: bool,
    /// B7 of `feedback`: the last gift.
    pub(crate) trial: Option<Trial>,
    /// B9 of `feedback`: how many goals had waited, and been resumed, at the last collection.
    pub(crate) at_collection: (u64, u64),
    /// B10 of `feedback`.
    pub(crate) sums: Sums,
    /// Who gave it goals last.
    pub(crate) fed_by: Option<usize>,
    /// When goals of others last came.
    pub(crate) fed: Option<Instant>,
    /// Generated code waits for a unification, and those that were put off meanwhile.
    pub(crate) in_code: bool,
    pub(crate) unify_wanted: Vec<(Word, Word)>,
    /// Words that the next reduction needs at once.
    pub(crate) need: usize,
    pub(crate) collection_wanted: bool,
    /// There was no room for an object; the goal that runs now had none before the last major collection.
    pub(crate) refused: bool,
    pub(crate) tries_again: bool,
    pub(crate) major_wanted: bool,
    pub(crate) options: Options,
    pub(crate) shaker: Option<Shaker>,
    pub(crate) system_goals: SystemGoals,
    /// Those with lower numbers are builtins.
    pub(crate) first_compiled: PredicateId,
    /// The goals that compute when generated code cannot, by operation.
    pub(crate) arithmetic_goals: [PredicateId; 12],
    /// Counters.
    pub(crate) statistics: Statistics,
    /// Steps from old versions of vectors and strings to newer ones since one of them last got a store of its own.
    pub(crate) version_steps: usize,
    /// What did not fit in `abi.pending`; words of the reduction that is being tried, like those.
    pub(crate) pending_more: Vec<Word>,
    /// The cells for which the goal on top of the stack is about to wait.
    pub(crate) cells: Vec<usize>,
    /// Every collection so far, if somebody wants to know.
    pub(crate) collections: Option<Vec<Collection>>,
    pub(crate) roots: Vec<Word>,
    /// Of worker 0: terms of other nodes, and for them.
    pub(crate) abroad: Abroad,
    free_roots: Vec<u32>,
    /// Few: they are found by looking at each.
    states: Vec<(TypeId, Box<dyn Any + Send>)>,
    waker: Waker,
}

/// What a node may be told.
#[derive(Clone, Debug)]
pub struct Options {
    /// Workers, from 1 to [`WORKERS_MAX`].
    pub workers: usize,
    /// Bytes of heap and goal stack at most; `None`: 45 % of the machine's memory. Less if the process may
    /// have less address space than usual.
    pub heap_bytes_max: Option<usize>,
    /// When to collect.
    pub collect: Collect,
    /// Check the whole heap after every collection (tests).
    pub check_heap: bool,
    /// Note what each worker does when.
    pub trace: bool,
    /// The node's number, and how many nodes the program has.
    pub node: u32,
    /// See `node`.
    pub nodes: u32,
    /// How many of them share this process: each gets that part of the address space, of the machine's memory and of its processors.
    pub share: u32,
}

impl Options {
    /// Options of a node that is alone, has so many workers, and is told nothing else.
    pub const fn alone(workers: usize) -> Options {
        Options {
            workers,
            heap_bytes_max: None,
            collect: Collect::WhenFull,
            check_heap: false,
            trace: false,
            node: 0,
            nodes: 1,
            share: 1,
        }
    }
}

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

// SAFETY: a worker's pointers and addresses lead into regions and tables that live as long as it does, whichever thread uses it; only
// the thread that has the worker does (W1 of `worker::all`).
unsafe impl Send for Worker {}

impl Drop for Worker {
    fn drop(&mut self) {
        self.waker.detach();
        self.shared.team.detach(self.index);
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
        let heap = Heap::new(shared.spaces.clone(), index);
        let base = heap.nursery();
        let limit = if options.collect == Collect::WhenFull { heap.limit(0) } else { base };
        let shaker = match options.collect {
            Collect::AtRandom(seed) => Some(Shaker::new(seed, index)),
            Collect::WhenFull | Collect::Always => None,
        };
        let classes = Arc::<Classes>::default();
        let abi = WorkerAbi {
            limit: AtomicUsize::new(limit),
            goals_limit: goals.limit(),
            entries: std::ptr::null(),
            constants: std::ptr::null(),
            private_base: base,
            heap: at(base),
            goals: at(goals.start()),
            resumed: 0,
            resumed_at: 0,
            suspensions: 0,
            reused: 0,
            need: 0,
            reductions: 0,
            priority: PRIORITY_START,
            pending_count: 0,
            pending: [Word(0); OPERANDS_MAX],
            operands: [Word(0); OPERANDS_MAX],
            spent: [0; SPENT_ARITIES],
            helpers,
            more_wanted: false,
            pinned: PhantomPinned,
        };
        Box::new(Worker {
            abi,
            index,
            shared: shared.clone(),
            atoms: shared.atoms.clone(),
            predicates: Arc::default(),
            tagged_words: Arc::new(crate::collect::tagged_words(&classes)),
            classes,
            code: Code::default(),
            error: None,
            exit: None,
            resumed_later: Vec::new(),
            heap,
            publish_wanted: false,
            soon: usize::MAX,
            looked: None,
            looks_in_vain: 0,
            looks_left_out: 0,
            shown: AT_REST,
            lowest: AT_REST,
            fed_others: Instant::now(),
            descents: 0,
            shown_looks: false,
            polling: Polling::NEW,
            solo: false,
            trial: None,
            at_collection: (0, 0),
            sums: Sums::NONE,
            fed_by: None,
            fed: None,
            collected: false,
            in_code: false,
            unify_wanted: Vec::new(),
            need: 0,
            collection_wanted: false,
            refused: false,
            tries_again: false,
            major_wanted: false,
            options: options.clone(),
            shaker,
            registry: Registry::default(),
            goals,
            limit,
            system_goals: SystemGoals::default(),
            first_compiled: BOTTOM,
            arithmetic_goals: [BOTTOM; 12],
            statistics: Statistics::default(),
            version_steps: 0,
            pending_more: Vec::new(),
            cells: Vec::new(),
            collections: None,
            roots: Vec::new(),
            abroad: Abroad::default(),
            free_roots: Vec::new(),
            states: Vec::new(),
            // Nobody wakes the others: they are poked.
            waker: if index == 0 { shared.waker.clone() } else { Waker::default() },
        })
    }
    /// Where wakers find the limit; the worker does not move any more.
    pub(crate) fn attach_limit(&mut self) {
        self.waker.attach(&raw const self.abi.limit);
    }

    /// The atom with this text.
    pub fn intern(&mut self, text: &str) -> Atom {
        self.atoms.intern(text.as_bytes())
    }
    /// The classes of objects.
    pub fn classes(&self) -> &Classes {
        &self.classes
    }
    /// The counters so far.
    pub fn statistics(&self) -> Statistics {
        let used = (self.abi.heap as usize - self.heap.nursery()) as u64 / 8;
        let mut statistics = self.statistics.clone();
        statistics.words_allocated += used;
        statistics.suspensions += self.new_suspensions().count() as u64 + self.abi.reused;
        statistics.reductions = self.abi.reductions;
        statistics
    }
    /// From now on each collection is noted.
    pub fn note_collections(&mut self) {
        self.collections.get_or_insert_default();
    }
    /// The collections noted so far.
    pub fn collections(&self) -> &[Collection] {
        self.collections.as_deref().unwrap_or_default()
    }
    /// The state of a group of builtins (one value per type), made when it is first asked for.
    #[inline(always)]
    pub fn state<T: Any + Default + Send>(&mut self) -> &mut T {
        let place = match self.states.iter().position(|(of, _)| *of == TypeId::of::<T>()) {
            Some(place) => place,
            None => self.add_state::<T>(),
        };
        self.states[place].1.downcast_mut().expect("states are entered under their own type")
    }
    #[cold]
    fn add_state<T: Any + Default + Send>(&mut self) -> usize {
        self.states.push((TypeId::of::<T>(), Box::new(T::default())));
        self.states.len() - 1
    }
    /// Keeps a word alive (and up to date) across collections until [`Worker::take_root`].
    /// Whoever keeps one waits for something outside, so the scheduler looks at its events soon.
    pub fn root(&mut self, word: Word) -> Root {
        self.abi.want_attention();
        if let Some(index) = self.free_roots.pop() {
            self.roots[index as usize] = word;
            return Root(index);
        }
        self.roots.push(word);
        Root(u32::try_from(self.roots.len() - 1).expect("2^32 roots exceed memory"))
    }
    /// The word of a root.
    pub fn root_word(&self, root: &Root) -> Word {
        self.roots[root.0 as usize]
    }
    /// Replaces the word of a root.
    pub fn set_root(&mut self, root: &Root, word: Word) {
        self.roots[root.0 as usize] = word;
    }
    /// The word of a root, which ends.
    pub fn take_root(&mut self, root: Root) -> Word {
        self.free_roots.push(root.0);
        std::mem::replace(&mut self.roots[root.0 as usize], Word(0))
    }
    /// Asks the program to end with this exit status: no further goal is reduced.
    pub fn exit(&mut self, status: i32) {
        self.exit.get_or_insert(status);
        self.abi.want_attention();
    }
    /// Counts bytes that a builtin is going to keep outside the heap; it asks [`Worker::ensure`] first.
    pub(crate) fn keep(&self, bytes: usize) -> Kept {
        let mut kept = Kept { bytes: 0, all: self.shared.clone() };
        kept.add(bytes);
        kept
    }
    /// W3: what was allocated up to now may be taken by other workers. Between reductions only: generated code that runs knows which
    /// cells it has made itself.
    pub(crate) fn publish(&mut self) {
        self.set_private_base(self.abi.heap as usize);
    }
    pub(crate) fn set_private_base(&mut self, base: usize) {
        self.abi.private_base = base;
        self.shared.set_private_base(self.index, base);
    }
    /// A handle with which signals and other threads make this worker look at its [`Events`](crate::worker::events::Events) soon.
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }
    /// Whether what takes long is to be given up.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.shared.is_ending()
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
