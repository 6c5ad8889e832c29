//! One worker: what generated code knows of it, its goal stack, its part of the heap.
//!
//! Invariants:
//! - R1 `abi` is the first field: generated code and the runtime pass the same address.
//! - R2 While Rust code runs, `abi.heap` and `abi.goals` are the true tops (C2 of `term::abi`).
//! - R3 Nothing collects while a builtin or helper runs: words that they hold in Rust variables stay valid until they
//!   return. What must live longer is a [`Root`].

use crate::classes::{Classes, Contents};
use crate::collect::{TaggedWords, tagged_words};
use crate::goals::Goals;
use crate::heap::{HALVINGS_MAX, Heap, MAJOR_MIN, OTHER_BYTES, YOUNG_BYTES};
use crate::memory::{Region, at};
use crate::outcome::ProgramError;
use crate::program::Predicates;
use crate::schedule::SystemGoals;
use crate::statistics::{Collection, Statistics};
use crate::suspend::Registry;
use crate::waker::Waker;
use rustc_hash::FxHashMap;
use std::any::{Any, TypeId};
use std::cell::Cell;
use std::rc::Rc;
use term::Word;
use term::abi::{BOTTOM, OPERANDS_MAX, PredicateId, WorkerAbi};
use term::layout::ClassId;
use term::symbol::{Atom, AtomTable};

/// A word that a builtin's state keeps across collections: see [`Worker::root`].
#[derive(Debug, PartialEq, Eq)]
pub struct Root(u32);

/// Bytes that a builtin keeps outside the heap: they count against the heap limit until this is dropped.
#[derive(Debug)]
pub(crate) struct Kept {
    bytes: usize,
    all: Rc<Cell<usize>>,
}

impl Kept {
    pub(crate) fn add(&mut self, bytes: usize) {
        self.bytes += bytes;
        self.all.set(self.all.get() + bytes);
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.all.set(self.all.get() - self.bytes);
    }
}

/// One worker. See the module comment.
#[repr(C)]
pub struct Worker {
    /// What generated code knows (R1).
    pub abi: WorkerAbi,
    /// Texts of atoms.
    pub atoms: AtomTable,
    /// All predicates.
    pub predicates: Predicates,
    /// All classes of objects; more are added with [`Worker::add_class`].
    pub(crate) classes: Classes,
    /// The error that ends the program, found where it could not be returned.
    pub(crate) error: Option<Box<ProgramError>>,
    /// Set when the program asked to exit.
    pub(crate) exit: Option<i32>,
    /// Lists of waiting goals (newest record) whose variables got values after that of `abi.resumed`, oldest binding first.
    pub(crate) resumed_later: Vec<usize>,
    /// Its spaces.
    pub(crate) heap: Heap,
    /// The class table, as the collector reads it.
    pub(crate) tagged_words: TaggedWords,
    /// Records of waiting goals.
    pub(crate) registry: Registry,
    /// Ready goals.
    pub(crate) goals: Goals,
    /// What `abi.limit` is while nothing wants attention.
    pub(crate) limit: usize,
    /// Bytes of young large objects above which a collection is due.
    pub(crate) large_limit: usize,
    pub(crate) collection_wanted: bool,
    pub(crate) major_wanted: bool,
    /// Collections in a row after which little was left.
    pub(crate) quiet_collections: u32,
    pub(crate) options: Options,
    pub(crate) system_goals: SystemGoals,
    /// The goals that compute when generated code cannot, by operation.
    pub(crate) arithmetic_goals: [PredicateId; 12],
    /// Counters.
    pub(crate) statistics: Statistics,
    /// Steps from old versions of vectors and strings to newer ones since one of them last got a store of its own.
    pub(crate) version_steps: usize,
    /// What did not fit in `abi.pending`; words of the reduction that is being tried, like those.
    pub(crate) pending_more: Vec<Word>,
    /// Every collection so far, if somebody wants to know.
    pub(crate) collections: Option<Vec<Collection>>,
    pub(crate) roots: Vec<Word>,
    /// Bytes that builtins keep outside the heap: see [`Kept`].
    pub(crate) kept: Rc<Cell<usize>>,
    free_roots: Vec<u32>,
    states: FxHashMap<TypeId, Box<dyn Any>>,
    waker: Waker,
}

/// What a node may be told.
#[derive(Clone, Debug)]
pub struct Options {
    /// Bytes of heap and goal stack at most; `None`: 45 % of the machine's memory. Less if the process may
    /// have less address space than usual.
    pub heap_bytes_max: Option<usize>,
    /// Collect at every opportunity: finds words that the collector does not know (tests).
    pub collect_always: bool,
    /// Check the whole heap after every collection (tests).
    pub check_heap: bool,
}

/// Heap and goal stack, if the system gives the address space for them and for all else that a process needs.
fn reserve(options: &Options, halvings: u32) -> Option<(Heap, Goals)> {
    let heap = Heap::new(options, halvings)?;
    let goals = Goals::new(PRIORITY_START, heap.bytes_max, halvings)?;
    // Given back at once: compiler, code and threads take it.
    Region::reserve(OTHER_BYTES, 4096)?;
    Some((heap, goals))
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.waker.detach();
    }
}

impl Worker {
    /// A worker with an empty heap and an empty goal stack. `None` if the system refuses the address space.
    pub(crate) fn new(options: Options, atoms: AtomTable, classes: Classes) -> Option<Box<Worker>> {
        // Less address space (`ulimit -v`) is a smaller heap, not an error.
        let (heap, goals) = (0..=HALVINGS_MAX).find_map(|halvings| reserve(&options, halvings))?;
        let base = heap.young.base();
        let limit = if options.collect_always { base } else { heap.limit(0) };
        let tagged_words = tagged_words(&classes);
        let abi = WorkerAbi {
            limit,
            goals_limit: goals.limit(),
            entries: std::ptr::null(),
            constants: std::ptr::null(),
            young_mask: YOUNG_BYTES - 1,
            private_base: base,
            heap: at(base),
            goals: at(goals.start()),
            resumed: 0,
            suspensions: 0,
            need: 0,
            reductions: 0,
            priority: PRIORITY_START,
            pending_count: 0,
            pending: [Word(0); OPERANDS_MAX],
            operands: [Word(0); OPERANDS_MAX],
            helpers: crate::helpers::HELPERS,
        };
        let mut worker = Box::new(Worker {
            abi,
            atoms,
            predicates: Predicates::default(),
            classes,
            error: None,
            exit: None,
            resumed_later: Vec::new(),
            heap,
            tagged_words,
            large_limit: MAJOR_MIN,
            collection_wanted: false,
            major_wanted: false,
            quiet_collections: 0,
            options,
            registry: Registry::default(),
            goals,
            limit,
            system_goals: SystemGoals {
                at_priority: BOTTOM,
                at_node: BOTTOM,
                at_position: BOTTOM,
                unify: BOTTOM,
                mark: BOTTOM,
            },
            arithmetic_goals: [BOTTOM; 12],
            statistics: Statistics::default(),
            version_steps: 0,
            pending_more: Vec::new(),
            collections: None,
            roots: Vec::new(),
            kept: Rc::default(),
            free_roots: Vec::new(),
            states: FxHashMap::default(),
            waker: Waker::default(),
        });
        worker.waker.attach(&raw mut worker.abi.limit);
        Some(worker)
    }

    /// The atom with this text.
    pub fn intern(&mut self, text: &str) -> Atom {
        self.atoms.intern(text.as_bytes())
    }
    /// Adds a class of objects.
    pub fn add_class(&mut self, name: &'static str, contents: Contents) -> ClassId {
        let class = self.classes.add(name, contents);
        self.tagged_words = tagged_words(&self.classes);
        class
    }
    /// The classes of objects.
    pub fn classes(&self) -> &Classes {
        &self.classes
    }
    /// The counters so far.
    pub fn statistics(&self) -> Statistics {
        let used = (self.abi.heap as usize - self.heap.young.base()) as u64 / 8;
        let mut statistics = self.statistics.clone();
        statistics.words_allocated += used;
        statistics.suspensions += self.new_suspensions().count() as u64;
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
    pub fn state<T: Any + Default>(&mut self) -> &mut T {
        let state = self.states.entry(TypeId::of::<T>()).or_insert_with(|| Box::new(T::default()));
        state.downcast_mut().expect("states are entered under their own type")
    }
    /// Keeps a word alive (and up to date) across collections until [`Worker::take_root`].
    /// Whoever keeps one waits for something outside, so the scheduler looks at its events soon.
    pub fn root(&mut self, word: Word) -> Root {
        self.abi.limit = 0;
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
        self.abi.limit = 0;
    }
    /// Counts bytes that a builtin is going to keep outside the heap; it asks [`Worker::ensure`] first.
    pub(crate) fn keep(&self, bytes: usize) -> Kept {
        let mut kept = Kept { bytes: 0, all: self.kept.clone() };
        kept.add(bytes);
        kept
    }
    /// A handle with which signals and other threads make this worker look at its [`Events`](crate::events::Events) soon.
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }
    /// True while an interrupt waits to be attended to.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.waker.is_interrupted()
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
