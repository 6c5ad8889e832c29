//! What a task may ask of its node. What it asks is done after its step, in the order in which it asked.

use crate::collective::Reduction;
use crate::header::{Header, Kind, WORDS};
use crate::letters::Letters;
use crate::multicast::{Answers, Multicast, Spread};
use crate::slot::Slot;
use crate::tasks::Task;
use fabric::NodeSet;
use fabric::{Message, NodeId, Priority, Time};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// Messages that a step of a task sends, at most: so it sees how full the outbox is.
const REQUESTS: usize = 64;

/// A task's (or a program's) way to its node. Clones are the same node.
#[derive(Clone)]
pub struct Here(Rc<Shared>);

pub(crate) struct Shared {
    pub(crate) node: NodeId,
    pub(crate) nodes: u32,
    pub(crate) now: Cell<Time>,
    pub(crate) full: Cell<bool>,
    /// Tasks give way after each message that they send: where time is simulated, so that what comes meanwhile is
    /// dispatched in time.
    gives_way: bool,
    /// What tasks have asked for, and how many letters were there before it.
    pub(crate) requests: RefCell<Vec<(usize, Request)>>,
    pub(crate) letters: RefCell<Letters>,
    pub(crate) spawned: RefCell<Vec<Task>>,
    /// Tasks that wait for room in the outbox.
    pub(crate) room: RefCell<Vec<Waker>>,
    /// Tasks that sleep, by the time when they wake.
    pub(crate) sleeping: RefCell<BTreeMap<Time, Vec<Slot<()>>>>,
}

/// What a task asks for.
pub(crate) enum Request {
    Send(NodeId, Message),
    Call { to: NodeId, code: u32, words: Vec<u64>, payload: Vec<u8>, reply: Slot<Message> },
    Broadcast { code: u32, words: Vec<u64>, payload: Vec<u8> },
    Multicast(Multicast),
    Barrier(Slot<()>),
    Reduce(Reduction, u64, Slot<u64>),
    Spend(u64),
}

/// The answer to [`Here::call`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reply(pub(crate) Message);

impl Reply {
    /// The words of the answer.
    pub fn words(&self) -> &[u64] {
        &self.0.words()[2..]
    }
    /// Its bytes.
    pub fn payload(&self) -> &[u8] {
        &self.0.payload
    }
}

/// A message that is sent as soon as there is room for it: at once, or when there is some while this is awaited. (It
/// fits into two registers: what a call returns in memory piece by piece cannot soon be moved as a whole.)
#[must_use = "there may be no room now"]
pub struct Sending<'a> {
    here: &'a Here,
    waiting: Option<Box<Waiting>>,
}

/// What a task waits for that sends a message.
enum Waiting {
    Room(NodeId, Message),
    /// It is sent, and the task gives way.
    Turn,
}

impl Future for Sending<'_> {
    type Output = ();
    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.waiting.is_none() { Poll::Ready(()) } else { self.wait(context) }
    }
}

impl Sending<'_> {
    #[cold]
    fn wait(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let here = self.here;
        if let Some(Waiting::Room(..)) = self.waiting.as_deref()
            && !here.has_room()
        {
            here.wait_for_room(context.waker());
            return Poll::Pending;
        }
        if let Some(Waiting::Room(to, message)) = self.waiting.take().map(|waiting| *waiting) {
            here.ask(Request::Send(to, message));
            if !here.0.gives_way {
                return Poll::Ready(());
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Here {
    pub(crate) fn new(node: NodeId, nodes: u32, gives_way: bool) -> Here {
        Here(Rc::new(Shared {
            node,
            nodes,
            now: Cell::new(Time(0)),
            full: Cell::new(false),
            gives_way,
            requests: RefCell::default(),
            letters: RefCell::default(),
            spawned: RefCell::default(),
            room: RefCell::default(),
            sleeping: RefCell::default(),
        }))
    }
    pub(crate) fn shared(&self) -> &Shared {
        &self.0
    }
    fn ask(&self, request: Request) {
        let letters = self.0.letters.borrow().len();
        self.0.requests.borrow_mut().push((letters, request));
    }
    /// Which node this is.
    pub fn node(&self) -> NodeId {
        self.0.node
    }
    /// How many there are.
    pub fn nodes(&self) -> u32 {
        self.0.nodes
    }
    /// The time at the beginning of the task's step.
    pub fn now(&self) -> Time {
        self.0.now.get()
    }
    /// What the task does takes so long, if time is simulated.
    pub fn spend(&self, time: u64) {
        self.ask(Request::Spend(time));
    }
    /// Starts a task.
    pub fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        self.0.spawned.borrow_mut().push(Box::pin(task));
    }
    /// Goes on at this time.
    pub async fn sleep_until(&self, time: Time) {
        if time > self.now() {
            let slot = Slot::new();
            self.0.sleeping.borrow_mut().entry(time).or_default().push(slot.clone());
            slot.read().await;
        }
    }
    /// Lets messages be dispatched and other tasks go on.
    pub async fn give_way(&self) {
        let mut first = true;
        std::future::poll_fn(|context| {
            if std::mem::take(&mut first) {
                context.waker().wake_by_ref();
                return std::task::Poll::Pending;
            }
            std::task::Poll::Ready(())
        })
        .await;
    }
    /// Sends a message to the handler of this code: at most [`WORDS`] words. Waits while too many are on their way.
    #[inline]
    pub fn send(&self, to: NodeId, priority: Priority, code: u32, words: &[u64]) -> Sending<'_> {
        self.send_with(to, priority, code, words, Vec::new())
    }
    /// The same with a payload.
    #[inline]
    pub fn send_with(
        &self,
        to: NodeId,
        priority: Priority,
        code: u32,
        words: &[u64],
        payload: Vec<u8>,
    ) -> Sending<'_> {
        assert!(words.len() <= WORDS, "a message has at most {WORDS} words");
        let waiting = if self.has_room() {
            self.0.letters.borrow_mut().write(to, priority, code, words, payload);
            self.0.gives_way.then_some(Waiting::Turn)
        } else {
            let mut message = Header::new(Kind::Plain, code, 0).message(priority, words);
            message.payload = payload;
            Some(Waiting::Room(to, message))
        };
        Sending { here: self, waiting: waiting.map(Box::new) }
    }
    /// Whether the outbox has room, and the task has not asked for much since its step began.
    #[inline]
    fn has_room(&self) -> bool {
        !self.0.full.get() && self.0.letters.borrow().len() + self.0.requests.borrow().len() < REQUESTS
    }
    fn wait_for_room(&self, waker: &Waker) {
        if self.0.full.get() {
            self.0.room.borrow_mut().push(waker.clone());
        } else {
            waker.wake_by_ref();
        }
    }
    async fn room(&self) {
        std::future::poll_fn(|context| {
            if self.has_room() {
                return Poll::Ready(());
            }
            self.wait_for_room(context.waker());
            Poll::Pending
        })
        .await;
    }
    /// Sends a message to a handler that replies ([`Context::reply`](crate::Context::reply)), and waits for the reply.
    pub async fn call(&self, to: NodeId, code: u32, words: &[u64]) -> Reply {
        self.call_with(to, code, words, Vec::new()).await
    }
    /// The same with a payload.
    pub async fn call_with(&self, to: NodeId, code: u32, words: &[u64], payload: Vec<u8>) -> Reply {
        self.room().await;
        let reply = Slot::new();
        self.ask(Request::Call { to, code, words: words.to_vec(), payload, reply: reply.clone() });
        Reply(reply.read().await)
    }
    /// Sends a message to a handler of every node, this one included, along a tree.
    pub async fn broadcast(&self, code: u32, words: &[u64], payload: Vec<u8>) {
        self.room().await;
        self.ask(Request::Broadcast { code, words: words.to_vec(), payload });
    }
    /// Sends a message to a handler of each node of a set, along a tree, and waits until all of them have dealt with
    /// it.
    pub async fn multicast(&self, set: NodeSet, code: u32, words: &[u64], payload: Vec<u8>) -> Answers {
        self.multicast_by(Spread::Tree, set, code, words, payload).await
    }
    /// The same in any way. Two multicasts, or a multicast and a message to one node, may overtake each other.
    pub async fn multicast_by(
        &self,
        spread: Spread,
        set: NodeSet,
        code: u32,
        words: &[u64],
        payload: Vec<u8>,
    ) -> Answers {
        assert!(words.len() <= WORDS, "a message has at most {WORDS} words");
        assert!(set.iter().all(|node| node.0 < self.nodes()), "a set of nodes that there are");
        self.room().await;
        let done = Slot::new();
        let words = std::iter::once(u64::from(self.node().0)).chain(words.iter().copied()).collect();
        self.ask(Request::Multicast(Multicast { spread, set, code, words, payload, done: done.clone() }));
        done.read().await
    }
    /// Waits until every node has come to this barrier.
    pub async fn barrier(&self) {
        let done = Slot::new();
        self.ask(Request::Barrier(done.clone()));
        done.read().await;
    }
    /// Waits until every node has given a value; all get the same result. All must mean the same reduction.
    pub async fn reduce(&self, reduction: Reduction, value: u64) -> u64 {
        let done = Slot::new();
        self.ask(Request::Reduce(reduction, value, done.clone()));
        done.read().await
    }
}
