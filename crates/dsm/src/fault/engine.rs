//! Real nodes that are threads of one process: who waits drives.
//!
//! Machine and fabric of a node stand behind one lock. The thread of the program that waits for something takes it
//! and steps the machine until that is there. A service thread answers others while the program computes: it sleeps
//! behind the doorbell.
//!
//! | who | doorbell | |
//! |---|---|---|
//! | the service sleeps, nobody drives | listens | a sender wakes the service |
//! | the service sleeps, the program drives | hushed | senders need not wake anybody |
//! | the service drives | hushed | |
//!
//! - D7 An engine is used by whoever holds its lock only, with all that its machine shares inside by counted
//!   references: so it may go from thread to thread.
//! - D10 Before the program gives the lock back to a sleeping service, it makes the doorbell listen and looks for
//!   messages a last time (B1 of `doorbell`): so no message waits for nobody.

use super::{Faults, Mapping, mapping::Words};
use crate::node::{Node, Space};
use crate::protocol::{Counters, Options};
use crate::{Local, Memory, Page, Use, View, Work};
use fabric::threads::{self, Bell, Failed, Threads};
use fabric::{Fabric, NodeId, Step};
use machine::{Costs, Machine};
use std::cell::RefCell;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// So often a thread that drives lets others run before it leaves that to the service.
const TURNS: u32 = 200;
/// Longest sleep: so that a failure is seen.
const SLEEP: Duration = Duration::from_millis(20);

/// What the lock protects.
struct Engine {
    machine: Machine<Node<()>>,
    fabric: Threads,
    /// The service sleeps, or is going to.
    service_sleeps: bool,
    /// The program waits until something has changed.
    program_waits: bool,
    over: bool,
}

// SAFETY: D7. `Engine` holds counted references (`Rc`) whose other ends are all in the same engine, or with a thread
// that drops them before it gives the lock back.
unsafe impl Send for Engine {}

impl Engine {
    fn step(&mut self) -> Step {
        let step = fabric::Node::step(&mut self.machine, &mut self.fabric);
        self.fabric.publish();
        if step == Step::Done {
            self.fabric.retire();
        }
        if let Some(refusal) = self.machine.program.refusal() {
            self.fabric.bell().fail(refusal);
        }
        self.over |= step == Step::Done || self.fabric.has_failed();
        if self.over { Step::Done } else { step }
    }
}

/// A node's lock, and how its two threads tell each other.
pub(super) struct Gate {
    engine: Mutex<Engine>,
    changed: Condvar,
    bell: Bell,
    /// A fault could not be served, because the run has failed.
    lost: AtomicBool,
    /// The program's view.
    words: Words,
    page_words: usize,
}

impl Gate {
    fn lock(&self) -> MutexGuard<'_, Engine> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Runs a task of the node, and drives it meanwhile. `None`: the run has failed.
    fn drive<R: 'static, T: Future<Output = R> + 'static>(&self, task: impl FnOnce(Local) -> T) -> Option<R> {
        let mut engine = self.lock();
        if engine.over {
            return None;
        }
        if engine.service_sleeps {
            self.bell.hush();
        }
        let end = Rc::new(RefCell::new(None));
        engine.machine.program.spawn(&end, task);
        let mut turns = 0;
        let result = loop {
            let step = engine.step();
            let result = end.borrow_mut().take();
            match step {
                Step::Done => break None,
                _ if result.is_some() => break result,
                Step::Again => {}
                Step::Wait(_) if turns < TURNS => {
                    turns += 1;
                    thread::yield_now();
                }
                Step::Wait(_) => {
                    engine.program_waits = true;
                    self.leave(&mut engine);
                    let waited = self.changed.wait_timeout(engine, SLEEP);
                    engine = waited.unwrap_or_else(PoisonError::into_inner).0;
                    engine.program_waits = false;
                    if engine.service_sleeps {
                        self.bell.hush();
                    }
                }
            }
        };
        // D7: the reference goes before the lock does.
        drop(end);
        self.leave(&mut engine);
        result
    }
    /// D10.
    fn leave(&self, engine: &mut Engine) {
        if engine.service_sleeps {
            self.bell.listen();
            if engine.fabric.has_news() {
                self.bell.ring();
            }
        }
    }
    /// Serves others until the run is over.
    fn serve(&self) {
        self.bell.adopt();
        let mut engine = self.lock();
        loop {
            engine.service_sleeps = false;
            self.bell.hush();
            let until = loop {
                match engine.step() {
                    Step::Again => {}
                    Step::Wait(until) => break until,
                    Step::Done => {
                        self.changed.notify_all();
                        return;
                    }
                }
            };
            if engine.program_waits {
                self.changed.notify_all();
            }
            engine.service_sleeps = true;
            self.bell.listen();
            if engine.fabric.has_news() {
                continue;
            }
            let left = until
                .map_or(SLEEP, |until| Duration::from_nanos(until.0.saturating_sub(engine.fabric.now().0)));
            drop(engine);
            thread::park_timeout(left.min(SLEEP));
            engine = self.lock();
        }
    }
    /// The program has touched a page that it may not.
    pub(super) fn fault(&self, page: Page, writes: bool) {
        let served = self.drive(move |local| async move { local.touch(page, writes).await });
        if served.is_none() {
            // The touch cannot be undone: the program goes on with whatever is there, and hears of it at its next
            // step.
            self.lost.store(true, Relaxed);
            self.lock().machine.program.open();
        }
    }
}

/// A program's way to the memory that it shares.
pub struct Attached<'a> {
    gate: &'a Gate,
    /// Faults are served on its own thread only.
    stays: PhantomData<*const ()>,
    node: u32,
    nodes: u32,
}

/// A value of eight bytes.
pub trait Word: Copy {
    /// As bits.
    fn to_bits(self) -> u64;
    /// From bits.
    fn of_bits(bits: u64) -> Self;
}

macro_rules! words {
    ($($type:ty: $to:expr, $of:expr;)*) => {
        $(impl Word for $type {
            fn to_bits(self) -> u64 {
                ($to)(self)
            }
            fn of_bits(bits: u64) -> $type {
                ($of)(bits)
            }
        })*
    };
}

words! {
    u64: |word| word, |bits| bits;
    i64: |word: i64| word as u64, |bits| bits as i64;
    f64: f64::to_bits, f64::from_bits;
}

/// Some of the shared words, all of one type. Reading and writing may bring pages.
#[derive(Clone, Copy)]
pub struct Region<'a, T> {
    attached: &'a Attached<'a>,
    first: usize,
    words: usize,
    of: PhantomData<T>,
}

impl<T: Word> Region<'_, T> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.words
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.words == 0
    }
    fn number(&self, index: usize) -> usize {
        assert!(index < self.words, "element {index} of {}", self.words);
        self.first + index
    }
    /// What is there. An index beyond the end is a mistake of the program's: panics.
    pub fn get(&self, index: usize) -> T {
        T::of_bits(self.attached.gate.words.word(self.number(index)).load(Relaxed))
    }
    /// Puts something there. An index beyond the end is a mistake of the program's: panics.
    pub fn set(&self, index: usize, value: T) {
        self.attached.gate.words.word(self.number(index)).store(value.to_bits(), Relaxed);
    }
}

impl Attached<'_> {
    /// Words of the memory. Those beyond its end are a mistake of the program's: panics.
    pub fn region<T: Word>(&self, first: usize, words: usize) -> Region<'_, T> {
        let end = first.checked_add(words);
        assert!(end.is_some_and(|end| end <= self.gate.words.len()), "{words} words from {first} on");
        Region { attached: self, first, words, of: PhantomData }
    }
    /// The run has failed elsewhere: so does this node.
    fn drive<R: 'static, T: Future<Output = R> + 'static>(&self, task: impl FnOnce(Local) -> T) -> R {
        let result = self.gate.drive(task).filter(|_| !self.gate.lost.load(Relaxed));
        result.unwrap_or_else(|| panic!("another node has failed"))
    }
}

impl Memory for Attached<'_> {
    fn node(&self) -> u32 {
        self.node
    }
    fn nodes(&self) -> u32 {
        self.nodes
    }
    /// Fetches all that is missing at once; page faults bring what is taken away again before `f` is there.
    async fn with<R>(&self, uses: &[Use], f: impl FnOnce(&mut [View<'_>]) -> R) -> R {
        let (mut words, pages, page_words) = (self.gate.words, uses.to_vec(), self.gate.page_words);
        self.drive(move |local| async move { local.fetch(&pages, page_words).await });
        f(&mut words.views(uses))
    }
    async fn barrier(&self) {
        self.drive(|local| async move { local.barrier().await });
    }
    async fn lock(&self, lock: u32) {
        self.drive(move |local| async move { local.lock(lock).await });
    }
    async fn unlock(&self, lock: u32) {
        self.drive(move |local| async move { local.unlock(lock).await });
    }
    fn spend(&self, _: u64) {}
}

/// What a node's program gave, and what the node has counted.
#[derive(Clone, Debug)]
pub struct Ended<R> {
    /// What it gave.
    pub result: R,
    /// What the protocol has done.
    pub counters: Counters,
    /// What the program has done, in nanoseconds; `written` has only what it declared.
    pub work: Work,
}

/// Runs a program on so many nodes that share memory, two threads each, by page faults. The results come in the order
/// of the nodes. An error if there is no memory or thread for one, or one panics. Options that make no sense are a
/// mistake of the caller's: panics.
pub fn run<R: Send>(
    nodes: u32,
    options: impl Fn(NodeId) -> Options,
    program: impl Fn(&Attached<'_>) -> R + Sync,
) -> Result<Vec<Ended<R>>, Failed> {
    let mut gates = Vec::new();
    for fabric in threads::open(nodes) {
        let (node, bell) = (fabric.node(), fabric.bell());
        let failed = |error: std::io::Error| Failed { node, reason: format!("no shared memory: {error}") };
        let options = options(node);
        let mapping = Mapping::new(options.homes.len(), options.page_bytes).map_err(failed)?;
        let (words, page_words) = (mapping.words(), mapping.page_words());
        let mut machine = Machine::new(node, nodes, Node::of(options, Space::Mapping(mapping)), Costs::REAL);
        let mut fabric = fabric;
        if let Some(reason) = machine.program.refusal() {
            return Err(Failed { node, reason });
        }
        // It knows its way only when it has been stepped.
        fabric::Node::step(&mut machine, &mut fabric);
        fabric.publish();
        let engine = Engine { machine, fabric, service_sleeps: false, program_waits: false, over: false };
        let engine = Mutex::new(engine);
        gates.push(Gate {
            engine,
            changed: Condvar::new(),
            bell,
            lost: AtomicBool::new(false),
            words,
            page_words,
        });
    }
    let mut ends: Vec<Option<R>> = (0..nodes).map(|_| None).collect();
    thread::scope(|scope| {
        for ((node, place), entry) in (0..nodes).zip(&mut ends).zip(&gates) {
            let (gate, program): (&Gate, _) = (entry, &program);
            let spawned = [
                thread::Builder::new().name(format!("service {node}")).spawn_scoped(scope, || gate.serve()),
                thread::Builder::new().name(format!("node {node}")).spawn_scoped(scope, move || {
                    *place = live(gate, (node, nodes), program);
                }),
            ];
            if let Some(Err(error)) = spawned.into_iter().find(Result::is_err) {
                gate.bell.fail(format!("no thread for it: {error}"));
                break;
            }
        }
    });
    if let Some(failed) = gates.first().and_then(|gate| gate.bell.failure()) {
        return Err(failed);
    }
    let end = |(result, gate): (Option<R>, Gate)| {
        let engine = gate.lock();
        let (counters, work) = (engine.machine.program.counters(), engine.machine.program.work());
        Ended { result: result.expect("a node that did not fail has its end"), counters, work }
    };
    Ok(ends.into_iter().zip(gates).map(end).collect())
}

/// A node's program, from its first fault to its end.
fn live<R>(gate: &Gate, (node, nodes): (u32, u32), program: impl Fn(&Attached<'_>) -> R) -> Option<R> {
    let attached = Attached { gate, stays: PhantomData, node, nodes };
    let faults = match Faults::new(gate, gate.words, gate.page_words * crate::WORD) {
        Ok(faults) => faults,
        Err(error) => {
            gate.bell.fail(format!("page faults cannot be served: {error}"));
            return None;
        }
    };
    let result = catch_unwind(AssertUnwindSafe(|| program(&attached)));
    drop(faults);
    let result = match result {
        Ok(result) => Some(result),
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_string());
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            gate.bell.fail(text.unwrap_or_else(|| "panicked".into()));
            None
        }
    };
    // From now on the run may end (X6 of `machine`): the service finds out.
    gate.lock().machine.program.leave();
    gate.bell.ring();
    result
}
