//! One worker: what generated code knows of it, its goal stack, its part of the heap.
//!
//! Invariants:
//! - R1 `abi` is the first field: generated code and the runtime pass the same address.
//! - R2 While Rust code runs, `abi.heap` and `abi.goals` are the true tops (C2 of `term::abi`).
//! - R3 Nothing collects while a builtin or helper runs: words that they hold in Rust variables stay valid until they
//!   return. What must live longer is a [`Root`].

use crate::classes::Classes;
use crate::memory::{Region, at, write};
use crate::outcome::ProgramError;
use crate::program::Predicates;
use rustc_hash::FxHashMap;
use std::any::{Any, TypeId};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use term::Word;
use term::abi::{BOTTOM, GOAL_SLACK_WORDS, Helpers, OPERANDS_MAX, PredicateId, SLACK_WORDS, WorkerAbi};
use term::symbol::{Atom, AtomTable};

/// A word that a builtin's state keeps across collections: see [`Worker::root`].
#[derive(Debug, PartialEq, Eq)]
pub struct Root(u32);

/// Asks a worker to look at its outside events; may be used from any thread and from signal handlers.
#[derive(Clone, Debug)]
pub struct Waker {
    woken: Arc<AtomicBool>,
}

impl Waker {
    /// Makes the worker look soon.
    pub fn wake(&self) {
        // Release: pairs with the Acquire in `Worker::woken`; what was written before is seen by the worker.
        self.woken.store(true, Ordering::Release);
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
    /// All classes of objects.
    pub classes: Classes,
    /// The error that ends the program, found where it could not be returned.
    pub(crate) error: Option<Box<ProgramError>>,
    /// Set when the program asked to exit.
    pub(crate) exit: Option<i32>,
    /// Records of goals that a binding made ready, oldest binding first.
    pub(crate) resumed: Vec<Word>,
    /// Goals for other priorities than the running one.
    pub(crate) moved: Vec<(i64, Vec<Word>)>,
    /// Old cells that were given young values.
    pub(crate) remembered: Vec<usize>,
    pub(crate) young: Region,
    pub(crate) goal_region: Region,
    pub(crate) roots: Vec<Word>,
    free_roots: Vec<u32>,
    states: FxHashMap<TypeId, Box<dyn Any>>,
    waker: Waker,
}

const YOUNG_BYTES: usize = 1 << 34;
const GOAL_BYTES: usize = 1 << 34;

impl Worker {
    /// A worker with an empty heap and an empty goal stack. `None` if the system refuses the address space.
    pub fn new(
        atoms: AtomTable,
        predicates: Predicates,
        classes: Classes,
        helpers: Helpers,
    ) -> Option<Box<Worker>> {
        let young = Region::reserve(YOUNG_BYTES, YOUNG_BYTES)?;
        let goal_region = Region::reserve(GOAL_BYTES, 4096)?;
        write(goal_region.base(), BOTTOM.goal_word());
        let abi = WorkerAbi {
            limit: young.end() - SLACK_WORDS * 8,
            goals_limit: goal_region.end() - GOAL_SLACK_WORDS * 8,
            entries: std::ptr::null(),
            constants: std::ptr::null(),
            young_mask: YOUNG_BYTES - 1,
            heap: at(young.base()),
            goals: at(goal_region.base() + 8),
            need: 0,
            reductions: 0,
            priority: PRIORITY_START,
            pending_count: 0,
            pending: [Word(0); OPERANDS_MAX],
            operands: [Word(0); OPERANDS_MAX],
            helpers,
        };
        Some(Box::new(Worker {
            abi,
            atoms,
            predicates,
            classes,
            error: None,
            exit: None,
            resumed: Vec::new(),
            moved: Vec::new(),
            remembered: Vec::new(),
            young,
            goal_region,
            roots: Vec::new(),
            free_roots: Vec::new(),
            states: FxHashMap::default(),
            waker: Waker { woken: Arc::new(AtomicBool::new(false)) },
        }))
    }

    /// The atom with this text.
    pub fn intern(&mut self, text: &str) -> Atom {
        self.atoms.intern(text.as_bytes())
    }
    /// The state of a group of builtins (one value per type), made when it is first asked for.
    pub fn state<T: Any + Default>(&mut self) -> &mut T {
        let state = self.states.entry(TypeId::of::<T>()).or_insert_with(|| Box::new(T::default()));
        state.downcast_mut().expect("states are entered under their own type")
    }
    /// Keeps a word alive (and up to date) across collections until [`Worker::take_root`].
    pub fn root(&mut self, word: Word) -> Root {
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
    /// A handle with which signals and other threads make this worker look at its [`Events`](crate::events::Events) soon.
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }
    /// The priority of the running goal.
    pub fn priority(&self) -> i64 {
        self.abi.priority
    }

    /// Pushes a goal: it runs at the current priority after the running builtin, before goals that were pushed earlier
    /// (push the goal that is to run first last).
    pub fn spawn(&mut self, predicate: PredicateId, args: &[Word]) {
        debug_assert_eq!(self.predicates.get(predicate).arity as usize, args.len());
        if self.abi.goals as usize > self.abi.goals_limit {
            self.grow_goals();
        }
        let top = self.abi.goals as usize;
        for (i, &arg) in args.iter().enumerate() {
            write(top + 8 * i, arg);
        }
        write(top + 8 * args.len(), predicate.goal_word());
        self.abi.goals = at(top + 8 * (args.len() + 1));
    }
    /// A goal for another priority (clamped to `0..=`[`PRIORITY_MAX`]).
    pub fn spawn_at(&mut self, priority: i64, predicate: PredicateId, args: &[Word]) {
        let priority = priority.clamp(0, PRIORITY_MAX);
        if priority == self.abi.priority {
            return self.spawn(predicate, args);
        }
        let mut goal = args.to_vec();
        goal.push(predicate.goal_word());
        self.moved.push((priority, goal));
        self.abi.limit = 0;
    }
    /// Makes room on the goal stack (C5).
    pub(crate) fn grow_goals(&mut self) {
        panic!("goal stack of {} bytes is full", GOAL_BYTES);
    }
}

/// Priority of the first goal.
pub const PRIORITY_START: i64 = PRIORITY_MAX - 1;
/// Highest priority.
pub const PRIORITY_MAX: i64 = term::word::INT_MAX;
