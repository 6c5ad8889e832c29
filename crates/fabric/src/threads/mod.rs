//! Nodes that are threads of this process.
//!
//! Between two nodes that have something to say to each other there is a `lane` for each direction and priority, made
//! when it is first used. A node reads its lanes in turn. One that has nothing to do waits awake for a while (see
//! `patience`), then sleeps behind its `doorbell`.
//!
//! Messages become visible in bunches: when [`BUNCH_WORDS`] have come together, when the sender finds nothing to
//! poll, and after each of its steps (N3).
//!
//! Invariants:
//! - H1 A lane is given to its receiver before anything is published on it.
//! - Whoever publishes rings the doorbell after it.
//! - H3 A node that panics ends the run: `failed` is set, then all doorbells ring; every node looks at `failed`
//!   between its steps and before it sleeps.
//! - A node that comes last to a barrier says that it is over and then rings all doorbells.

mod doorbell;
mod lane;
#[cfg(all(test, models))]
mod models;

pub use crate::drive::Failed;

use crate::patience::{Patience, Processors};
use crate::sync::{Arc, AtomicBool, AtomicU64, Mutex, Ordering, thread};
use crate::{Busy, Drive, Fabric, Message, Node, NodeId, Priority, Step, Time};
use doorbell::Doorbell;
use lane::{Reader, Writer, lane};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// A lane's words: few if there are many nodes, for every pair of them may have four lanes.
const LANE_WORDS: std::ops::RangeInclusive<usize> = if cfg!(models) { 16..=16 } else { 256..=4096 };
/// What the lanes to one receiver have together, if everybody sends to it.
const RECEIVER_WORDS: usize = 1 << 15;
/// Words after which a sender publishes although it goes on.
const BUNCH_WORDS: u64 = 64;
/// Messages of low priority that may come before the next look for one of high priority.
const STRETCH: u32 = 16;
/// The two of them, as indices.
const PRIORITIES: usize = 2;

/// What all nodes share.
struct Hub {
    mailboxes: Vec<Mailbox>,
    lane_words: usize,
    processors: Processors,
    begin: Instant,
    /// How often nodes have come to barriers, and how many barriers are over.
    come: AtomicU64,
    over: AtomicU64,
    /// Set once somebody has failed; `failure` says how.
    failed: AtomicBool,
    failure: Mutex<Option<Failed>>,
}

/// What senders see of a node.
struct Mailbox {
    doorbell: Doorbell,
    /// Lanes that it does not know yet, and how many there have ever been.
    opened: Mutex<Vec<(NodeId, Priority, Reader)>>,
    openings: AtomicU64,
    /// It takes no more messages.
    done: AtomicBool,
}

/// A thread's way to the others.
pub struct Threads {
    hub: Arc<Hub>,
    node: NodeId,
    /// By receiver and priority.
    writers: Vec<Option<Writer>>,
    /// Which of them have something unpublished.
    unpublished: Vec<usize>,
    inbox: [Inbox; PRIORITIES],
    openings: u64,
    /// How many barriers it has come to, and whether it waits for the end of the last.
    barriers: u64,
    in_barrier: bool,
    /// Messages of low priority until the next look at those of high priority.
    stretch: u32,
    /// It got a message back and has read none since: what it needs is that others run.
    stalled: bool,
    patience: Patience,
}

/// The doorbell of a node that several threads step in turn, one of which sleeps behind it.
#[derive(Clone)]
pub struct Bell {
    hub: Arc<Hub>,
    node: NodeId,
}

impl Bell {
    fn doorbell(&self) -> &Doorbell {
        &self.hub.mailboxes[self.node.0 as usize].doorbell
    }
}

impl crate::Bell for Bell {
    type Rest = ();
    fn adopt(&self) {
        self.doorbell().adopt();
    }
    fn hush(&self) {
        self.doorbell().hush();
    }
    fn ring(&self) {
        self.doorbell().ring();
    }
    fn sleep(&self, (): (), limit: Duration) {
        doorbell::park_timeout(limit);
    }
    /// H3.
    fn fail(&self, reason: String) {
        self.hub.fail(Failed { node: self.node, reason });
    }
    fn failure(&self) -> Option<Failed> {
        self.hub.failure.lock().expect("nothing panics while it holds this").clone()
    }
}

/// The lanes of one priority that lead to a node.
#[derive(Default)]
struct Inbox {
    lanes: Vec<(NodeId, Reader)>,
    /// The one that was read last.
    current: usize,
}

/// The ways of `nodes` nodes to each other, for threads of the caller that step them.
pub fn open(nodes: u32) -> Vec<Threads> {
    let hub = Arc::new(Hub::new(nodes, processors(nodes)));
    (0..nodes).map(|node| Threads::new(hub.clone(), NodeId(node))).collect()
}

/// Runs `nodes` nodes, made by `make` and stepped each by a thread of its own, until all are done; what `end` makes
/// of them comes back in their order. Both are called by the node's thread. If a node panics, or there is no thread
/// for one, the others are abandoned.
pub fn run<N: Node<Threads>, R: Send>(
    nodes: u32,
    make: impl Fn(NodeId) -> N + Sync,
    end: impl Fn(N) -> R + Sync,
) -> Result<Vec<R>, Failed> {
    let hub = Arc::new(Hub::new(nodes, processors(nodes)));
    let mut ends: Vec<Option<R>> = (0..nodes).map(|_| None).collect();
    std::thread::scope(|scope| {
        for (id, place) in (0..nodes).map(NodeId).zip(&mut ends) {
            let (make, end, thread_hub) = (&make, &end, &hub);
            let live = move || {
                let life = || live(make(id), Threads::new(thread_hub.clone(), id)).map(end);
                match catch_unwind(AssertUnwindSafe(life)) {
                    Ok(value) => *place = value,
                    Err(panic) => thread_hub.fail(Failed { node: id, reason: said(&*panic) }),
                }
            };
            let builder = std::thread::Builder::new().name(format!("node {}", id.0));
            if let Err(error) = builder.spawn_scoped(scope, live) {
                hub.fail(Failed { node: id, reason: format!("no thread for it: {error}") });
                break;
            }
        }
    });
    match hub.failure.lock().expect("nothing panics while it holds this").take() {
        Some(failed) => Err(failed),
        None => Ok(ends.into_iter().map(|end| end.expect("a node that did not fail has its end")).collect()),
    }
}

/// Steps a node until it is done; nothing if the run has failed before.
fn live<N: Node<Threads>>(mut node: N, mut fabric: Threads) -> Option<N> {
    while !fabric.hub.has_failed() {
        let step = node.step(&mut fabric);
        fabric.publish();
        match step {
            Step::Again | Step::Refused(_) if fabric.stalled => thread::yield_now(),
            Step::Again | Step::Refused(_) => {}
            Step::Wait(until) => fabric.wait(until),
            Step::Done => {
                // Relaxed: nothing else is told by it.
                fabric.mailbox(fabric.node).done.store(true, Ordering::Relaxed);
                return Some(node);
            }
        }
    }
    None
}

/// What a panic said.
fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_string());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "panicked".into())
}

fn processors(nodes: u32) -> Processors {
    let there = std::thread::available_parallelism().map_or(1, usize::from);
    if nodes as usize <= there { Processors::Enough } else { Processors::Few }
}

impl Hub {
    fn new(nodes: u32, processors: Processors) -> Hub {
        let lane_words = (RECEIVER_WORDS / nodes.max(1) as usize).next_power_of_two();
        let mailbox = || Mailbox {
            doorbell: Doorbell::new(),
            opened: Mutex::new(Vec::new()),
            openings: AtomicU64::new(0),
            done: AtomicBool::new(false),
        };
        Hub {
            mailboxes: (0..nodes).map(|_| mailbox()).collect(),
            lane_words: lane_words.clamp(*LANE_WORDS.start(), *LANE_WORDS.end()),
            processors,
            begin: Instant::now(),
            come: AtomicU64::new(0),
            over: AtomicU64::new(0),
            failed: AtomicBool::new(false),
            failure: Mutex::new(None),
        }
    }
    fn fail(&self, failed: Failed) {
        self.failure.lock().expect("nothing panics while it holds this").get_or_insert(failed);
        // Relaxed: the doorbells' fences order it for sleeping nodes, and all others look again and again (H3).
        self.failed.store(true, Ordering::Relaxed);
        for mailbox in &self.mailboxes {
            mailbox.doorbell.ring();
        }
    }
    fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }
}

impl Threads {
    fn new(hub: Arc<Hub>, node: NodeId) -> Threads {
        let writers = hub.mailboxes.iter().flat_map(|_| [None, None]).collect();
        let patience = Patience::new(hub.processors);
        Threads {
            hub,
            node,
            writers,
            unpublished: Vec::new(),
            inbox: Default::default(),
            openings: 0,
            barriers: 0,
            in_barrier: false,
            stretch: 0,
            stalled: false,
            patience,
        }
    }

    fn mailbox(&self, node: NodeId) -> &Mailbox {
        &self.hub.mailboxes[node.0 as usize]
    }

    /// The lane there, made if it is the first message.
    fn writer(&mut self, to: NodeId, priority: Priority) -> (usize, &mut Writer) {
        let index = to.0 as usize * PRIORITIES + priority as usize;
        if self.writers[index].is_none() {
            let (writer, reader) = lane(self.hub.lane_words);
            let mailbox = self.mailbox(to);
            mailbox
                .opened
                .lock()
                .expect("nothing panics while it holds this")
                .push((self.node, priority, reader));
            // Release: pairs with the Acquire in `open_lanes` (H1).
            mailbox.openings.fetch_add(1, Ordering::Release);
            self.writers[index] = Some(writer);
        }
        (index, self.writers[index].as_mut().expect("just made"))
    }

    /// Makes visible everything that has been sent; whether some of it went to this node itself.
    fn publish(&mut self) -> bool {
        let mut to_itself = false;
        while let Some(index) = self.unpublished.pop() {
            self.writers[index].as_mut().expect("it has been written to").publish();
            let to = NodeId((index / PRIORITIES) as u32);
            if to == self.node {
                to_itself = true;
            } else {
                self.mailbox(to).doorbell.ring();
            }
        }
        to_itself
    }

    fn open_lanes(&mut self) {
        let mailbox = &self.hub.mailboxes[self.node.0 as usize];
        // Acquire: pairs with the Release in `writer`. A lane that is missed now is seen before the node sleeps (B1,
        // H1).
        let openings = mailbox.openings.load(Ordering::Acquire);
        if openings != self.openings {
            self.openings = openings;
            let mut opened = mailbox.opened.lock().expect("nothing panics while it holds this");
            for (from, priority, reader) in opened.drain(..) {
                self.inbox[priority as usize].lanes.push((from, reader));
            }
        }
    }

    fn has_message(&mut self) -> bool {
        self.open_lanes();
        self.inbox.iter_mut().any(|inbox| inbox.lanes.iter_mut().any(|(_, reader)| reader.has_message()))
    }

    /// The next message, whoever it is from.
    fn read(&mut self) -> Option<Message> {
        if self.stretch > 0 {
            self.stretch -= 1;
            if let Some(message) = self.inbox[Priority::Low as usize].read_current(Priority::Low) {
                return Some(message);
            }
        }
        self.open_lanes();
        if let Some(message) = self.inbox[Priority::High as usize].read_next(Priority::High) {
            return Some(message);
        }
        self.stretch = STRETCH;
        self.inbox[Priority::Low as usize].read_next(Priority::Low)
    }

    /// Whether the barrier is over for whose end this node waits.
    fn is_over(&self) -> bool {
        // Acquire: pairs with the Release in `arrive`.
        self.in_barrier && self.hub.over.load(Ordering::Acquire) == self.barriers
    }

    /// Returns when there is something to do, at this time, or if the run has failed.
    fn wait(&mut self, until: Option<Time>) {
        self.patience.begin();
        let mut awake = true;
        while !self.has_message() && !self.is_over() && !self.hub.has_failed() {
            let left = until.map(|until| until.0.saturating_sub(self.now().0));
            if left == Some(0) {
                return;
            }
            if awake {
                awake = self.patience.wait();
                continue;
            }
            let hub = self.hub.clone();
            let doorbell = &hub.mailboxes[self.node.0 as usize].doorbell;
            let wanted = || self.has_message() || self.is_over() || hub.has_failed();
            doorbell.sleep(left.map(Duration::from_nanos), wanted);
        }
        self.patience.end();
    }
}

impl Inbox {
    fn read_current(&mut self, priority: Priority) -> Option<Message> {
        let (from, reader) = self.lanes.get_mut(self.current)?;
        reader.read(*from, priority)
    }
    /// From the next lane that has a message, all in turn.
    fn read_next(&mut self, priority: Priority) -> Option<Message> {
        for _ in 0..self.lanes.len() {
            self.current = if self.current + 1 < self.lanes.len() { self.current + 1 } else { 0 };
            if let Some(message) = self.read_current(priority) {
                return Some(message);
            }
        }
        None
    }
}

impl Fabric for Threads {
    fn node(&self) -> NodeId {
        self.node
    }
    fn nodes(&self) -> u32 {
        self.hub.mailboxes.len() as u32
    }
    fn send(&mut self, to: NodeId, message: Message) -> Result<(), Busy> {
        let (index, writer) = self.writer(to, message.priority);
        let before = writer.unpublished();
        if let Err(message) = writer.write(message) {
            // The receiver must see what is there, or there would never be room.
            self.publish();
            // Relaxed: what is done stays done.
            self.stalled = !self.mailbox(to).done.load(Ordering::Relaxed);
            return if self.stalled { Err(Busy(message)) } else { Ok(()) };
        }
        let bunch = writer.unpublished();
        if before == 0 {
            self.unpublished.push(index);
        }
        if bunch >= BUNCH_WORDS {
            self.publish();
        }
        Ok(())
    }
    fn poll(&mut self) -> Option<Message> {
        let message = self.read();
        // A node that finds nothing may be waiting for an answer to what it has sent.
        let message = if message.is_none() && self.publish() { self.read() } else { message };
        self.stalled &= message.is_none();
        message
    }
    fn arrive(&mut self) -> bool {
        assert!(!self.in_barrier, "a node comes to one barrier at a time");
        self.in_barrier = true;
        self.barriers += 1;
        // AcqRel: the last one has seen what the others did before.
        let come = self.hub.come.fetch_add(1, Ordering::AcqRel) + 1;
        if come == self.barriers * self.hub.mailboxes.len() as u64 {
            // Release: pairs with the Acquire in `is_over`.
            self.hub.over.store(self.barriers, Ordering::Release);
            self.hub.mailboxes.iter().for_each(|mailbox| mailbox.doorbell.ring());
        }
        true
    }
    fn all_arrived(&mut self) -> bool {
        self.in_barrier &= !self.is_over();
        !self.in_barrier
    }
    fn now(&self) -> Time {
        Time(self.hub.begin.elapsed().as_nanos() as u64)
    }
    fn spend(&mut self, _: u64) {}
}

impl Drive for Threads {
    type Bell = Bell;
    fn bell(&self) -> Bell {
        Bell { hub: self.hub.clone(), node: self.node }
    }
    fn settle(&mut self, step: Step) {
        self.publish();
        if step == Step::Done {
            // Relaxed: nothing else is told by it.
            self.mailbox(self.node).done.store(true, Ordering::Relaxed);
        } else if self.stalled {
            thread::yield_now();
        }
    }
    fn lie_down(&mut self) -> Option<()> {
        self.mailbox(self.node).doorbell.listen();
        // B1: listening comes before looking.
        let news = self.has_message() || self.is_over() || self.hub.has_failed();
        (!news).then_some(())
    }
    fn may_spin(&self) -> bool {
        self.hub.processors == Processors::Enough
    }
    fn has_failed(&self) -> bool {
        self.hub.has_failed()
    }
}
