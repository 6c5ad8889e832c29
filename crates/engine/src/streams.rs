//! Streams between a session and those who use it: an event source beside the outside world of its node.
//!
//! What is sent waits in a queue until the first worker looks; then it becomes the next item of a list in the heap. Of
//! lists that are received, complete items are handed over when the worker looks, and when the run ends.
//!
//! Invariants:
//! - S1 Whoever puts something into the queue wakes the worker, reducing or at rest.
//! - S2 A list whose sender is alive is a pending event: the run does not end, and no goal is said to wait for ever.

use crate::value::{Unfit, Value};
use runtime::node::{MoreEvents, Rouser, Term, Terms};
use runtime::terms::View;
use runtime::waker::Waker;
use runtime::worker::Root;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::mpsc;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Items that wait to be looked at before a sender has to wait.
const QUEUE_MAX: usize = 1024;

/// Makes the first worker of a node look; may be used from any thread.
#[derive(Clone)]
pub(crate) struct Doorbell {
    pub(crate) waker: Waker,
    pub(crate) rouser: Arc<Rouser>,
}

impl Doorbell {
    pub(crate) fn ring(&self) {
        self.waker.wake();
        self.rouser.rouse();
    }
}

/// What was sent, and not looked at.
#[derive(Default)]
struct Queue {
    /// The list, and its next item; none ends it.
    items: VecDeque<(u64, Option<Value>)>,
    /// The session has ended: nobody will look.
    closed: bool,
    /// A call runs: somebody looks.
    running: bool,
    lists: u64,
}

/// The queue of a session.
#[derive(Clone, Default)]
pub(crate) struct Mailbox {
    queue: Arc<(Mutex<Queue>, Condvar)>,
}

impl Mailbox {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Nobody looks any more.
    pub(crate) fn close(&self) {
        let mut queue = self.queue();
        queue.closed = true;
        queue.items.clear();
        self.queue.1.notify_all();
    }
    /// A call begins, or has ended.
    pub(crate) fn set_running(&self, running: bool) {
        self.queue().running = running;
        self.queue.1.notify_all();
    }
    /// The two ends of a list.
    pub(crate) fn list(&self, bell: Doorbell) -> (Sender, Source) {
        let mut queue = self.queue();
        queue.lists += 1;
        let list = queue.lists;
        (Sender { list, mailbox: self.clone(), bell }, Source { list })
    }
    fn take(&self) -> VecDeque<(u64, Option<Value>)> {
        let items = std::mem::take(&mut self.queue().items);
        self.queue.1.notify_all();
        items
    }
}

/// Puts items into a list that a call reads. The list ends when this is dropped.
pub struct Sender {
    list: u64,
    mailbox: Mailbox,
    bell: Doorbell,
}

/// A list that a [`Sender`] makes, as an argument of a call.
pub struct Source {
    list: u64,
}

/// The session has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed;

impl Sender {
    /// Adds an item. While a call runs that has not looked at many of them, it waits.
    pub fn send(&self, item: Value) -> Result<(), Closed> {
        let mut queue = self.mailbox.queue();
        while queue.items.len() >= QUEUE_MAX && queue.running && !queue.closed {
            queue = self.mailbox.queue.1.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        if queue.closed {
            return Err(Closed);
        }
        queue.items.push_back((self.list, Some(item)));
        drop(queue);
        self.bell.ring();
        Ok(())
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        let mut queue = self.mailbox.queue();
        if !queue.closed {
            queue.items.push_back((self.list, None));
        }
        drop(queue);
        self.bell.ring();
    }
}

/// Takes the items of a list that a call makes.
pub struct Receiver(mpsc::Receiver<Result<Value, Unfit>>);

/// A list that a [`Receiver`] reads, as an argument of a call.
pub struct Drain(mpsc::Sender<Result<Value, Unfit>>);

/// The two ends of a list that a call makes.
pub fn receiver() -> (Drain, Receiver) {
    let (sender, receiver) = mpsc::channel();
    (Drain(sender), Receiver(receiver))
}

impl Receiver {
    /// The next item, once it is complete; `None` at the end of the list, or of the call. A part of it that never gets
    /// a value is a variable, if the call ends.
    pub fn receive(&self) -> Option<Result<Value, Unfit>> {
        self.0.recv().ok()
    }
    /// The same, if it comes within a time.
    pub fn receive_within(&self, time: Duration) -> Result<Option<Result<Value, Unfit>>, Late> {
        match self.0.recv_timeout(time) {
            Ok(item) => Ok(Some(item)),
            Err(mpsc::RecvTimeoutError::Disconnected) => Ok(None),
            Err(mpsc::RecvTimeoutError::Timeout) => Err(Late),
        }
    }
}

/// Nothing came within the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Late;

// ---- the engine's side -----------------------------------------------------------------------------

/// Lists of the call that runs.
pub(crate) struct Streams {
    mailbox: Mailbox,
    lists: Arc<Mutex<Lists>>,
}

#[derive(Default)]
pub(crate) struct Lists {
    /// The unbound ends of lists that are sent.
    tails: BTreeMap<u64, Root>,
    /// What is left of lists that are received.
    heads: Vec<(Root, mpsc::Sender<Result<Value, Unfit>>)>,
    /// Items for lists that no call has read yet.
    early: VecDeque<(u64, Option<Value>)>,
    /// Lists that have ended, or whose call has.
    over: BTreeSet<u64>,
}

/// A lock, whatever became of those who had it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Lists {
    /// A variable, an argument of the call that begins, becomes a list that is sent.
    pub(crate) fn source(&mut self, variable: Root, source: &Source) {
        self.tails.insert(source.list, variable);
    }
    /// It is a list that is received.
    pub(crate) fn drain(&mut self, variable: Root, drain: Drain) {
        self.heads.push((variable, drain.0));
    }
    /// The call has ended: hands over what is left, complete or not.
    pub(crate) fn end(&mut self, terms: &mut Terms<'_>) {
        self.hand_over(terms, true);
        for (list, tail) in std::mem::take(&mut self.tails) {
            terms.take_root(tail);
            self.over.insert(list);
        }
        for (head, _) in self.heads.drain(..) {
            terms.take_root(head);
        }
    }
    /// Gives lists the items that were sent.
    fn deliver(&mut self, terms: &mut Terms<'_>, items: VecDeque<(u64, Option<Value>)>) {
        self.early.extend(items);
        for _ in 0..self.early.len() {
            let Some((list, item)) = self.early.pop_front() else { return };
            if self.over.contains(&list) {
                continue;
            }
            let Some(root) = self.tails.get(&list) else {
                self.early.push_back((list, item));
                continue;
            };
            let tail = terms.root_term(root);
            match item.map(|item| item.make_in(terms)) {
                None => {
                    let root = self.tails.remove(&list).expect("it was there");
                    terms.take_root(root);
                    self.over.insert(list);
                    terms.unify(tail, Term::NIL);
                }
                Some(Ok(item)) => {
                    let rest = terms.new_variable();
                    let cons = terms.cons(item, rest);
                    terms.set_root(root, rest);
                    terms.unify(tail, cons);
                }
                Some(Err(error)) => terms.end_with(error),
            }
        }
    }
    /// Hands over the items that are complete; with `all` the others, too.
    /// The reader of a list is told of its end at once.
    fn hand_over(&mut self, terms: &mut Terms<'_>, all: bool) {
        let mut index = 0;
        while let Some((head, drain)) = self.heads.get(index) {
            if hand_over(terms, head, drain, all) {
                index += 1;
            } else {
                let (head, _) = self.heads.swap_remove(index);
                terms.take_root(head);
            }
        }
    }
}

/// Hands over items of a list. True while more may come and are wanted.
fn hand_over(
    terms: &mut Terms<'_>,
    head: &Root,
    drain: &mpsc::Sender<Result<Value, Unfit>>,
    all: bool,
) -> bool {
    loop {
        let rest = terms.deref(terms.root_term(head));
        let (item, next) = match terms.view(rest) {
            View::Cons(item, next) => (item, next),
            View::Unbound(_) => return true,
            _ => return false,
        };
        let item = Value::read(terms, item);
        let is_complete = item.as_ref().map_or(true, Value::is_ground);
        if !is_complete && !all {
            return true;
        }
        terms.set_root(head, next);
        if drain.send(item).is_err() {
            return false;
        }
    }
}

impl Streams {
    pub(crate) fn new(mailbox: Mailbox) -> (Streams, Arc<Mutex<Lists>>) {
        let lists = Arc::new(Mutex::new(Lists::default()));
        (Streams { mailbox, lists: lists.clone() }, lists)
    }
}

impl MoreEvents for Streams {
    fn has_pending(&self) -> bool {
        // S2
        !lock(&self.lists).tails.is_empty()
    }
    fn awaited(&self, tell: &mut dyn FnMut(&Root, String)) {
        lock(&self.lists).tails.values().for_each(|tail| tell(tail, "the next item sent".into()));
    }
    fn look(&mut self, terms: &mut Terms<'_>) {
        lock(&self.lists).hand_over(terms, false);
    }
    fn handle(&mut self, terms: &mut Terms<'_>) -> bool {
        let items = self.mailbox.take();
        let any = !items.is_empty();
        lock(&self.lists).deliver(terms, items);
        any
    }
}
