//! Streams between a session and those who use it: an event source beside the outside world of its node.
//!
//! What is sent waits in a queue until the first worker looks; then it becomes the next item of a list in the heap. Of
//! lists that are received, complete items are handed over when the worker looks, and when the run ends.
//!
//! Invariants:
//! - S1 Whoever puts something into the queue wakes the worker, reducing or at rest, unless somebody did and it has not
//!   looked since.
//! - S2 A list whose sender is alive, and a call of a function, are pending events: the run does not end, and no goal
//!   is said to wait for ever.
//! - S3 Of a list that is received at most [`UNREAD_MAX`] items lie unread outside the heap while its call goes on; a
//!   reader that waits, or has read half of them, wakes the worker.

use crate::value::{Unfit, Value};
use base::{lock, unpoisoned};
use runtime::node::{MoreEvents, Rouser, Term, Terms};
use runtime::terms::View;
use runtime::waker::Waker;
use runtime::worker::Root;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Items that wait to be looked at before a sender has to wait.
const QUEUE_MAX: usize = 1024;
/// Items of a list that lie unread before no more are handed over.
const UNREAD_MAX: usize = 8192;
/// How long a reader waits before it wakes the worker again, which may have had no item for it.
const ASK_AGAIN: Duration = Duration::from_millis(5);

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
    /// Calls of functions that are over, and what they gave.
    answers: Vec<(u64, Value)>,
    /// The session has ended: nobody will look.
    closed: bool,
    /// A call runs: somebody looks.
    running: bool,
    /// The bell of the call that runs was rung, and nobody has looked since.
    rung: bool,
    lists: u64,
}

/// The queue of a session.
#[derive(Clone, Default)]
pub(crate) struct Mailbox {
    queue: Arc<(Mutex<Queue>, Condvar)>,
}

impl Mailbox {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        lock(&self.queue.0)
    }
    /// Nobody looks any more.
    pub(crate) fn close(&self) {
        let mut queue = self.queue();
        queue.closed = true;
        queue.items.clear();
        queue.answers.clear();
        self.queue.1.notify_all();
    }
    /// A call begins, or has ended.
    pub(crate) fn set_running(&self, running: bool) {
        let mut queue = self.queue();
        (queue.running, queue.rung) = (running, false);
        drop(queue);
        self.queue.1.notify_all();
    }
    /// The two ends of a list.
    pub(crate) fn list(&self, bell: Doorbell) -> (Sender, Source) {
        let mut queue = self.queue();
        queue.lists += 1;
        let list = queue.lists;
        (Sender { list, mailbox: self.clone(), bell }, Source { list })
    }
    /// A call of a function is over.
    pub(crate) fn answer(&self, call: u64, value: Value) {
        let mut queue = self.queue();
        if !queue.closed {
            queue.answers.push((call, value));
        }
    }
    fn take_answers(&self) -> Vec<(u64, Value)> {
        std::mem::take(&mut self.queue().answers)
    }
    fn take(&self) -> VecDeque<(u64, Option<Value>)> {
        let mut queue = self.queue();
        queue.rung = false;
        let items = std::mem::take(&mut queue.items);
        drop(queue);
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
        let mut item = item;
        while let Some(back) = self.send_within(item, Duration::from_secs(1))? {
            item = back;
        }
        Ok(())
    }
    /// The same, if there is room within a time; else it gives the item back.
    pub fn send_within(&self, item: Value, time: Duration) -> Result<Option<Value>, Closed> {
        let queue = self.mailbox.queue();
        let full = |queue: &mut Queue| queue.items.len() >= QUEUE_MAX && queue.running && !queue.closed;
        let waited = self.mailbox.queue.1.wait_timeout_while(queue, time, full);
        let (mut queue, waited) = unpoisoned(waited);
        if queue.closed {
            return Err(Closed);
        }
        if waited.timed_out() {
            return Ok(Some(item));
        }
        queue.items.push_back((self.list, Some(item)));
        let running = queue.running;
        let rung = std::mem::replace(&mut queue.rung, running);
        drop(queue);
        if !rung {
            self.bell.ring();
        }
        Ok(None)
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
pub struct Receiver(Arc<Pipe>);

/// A list that a [`Receiver`] reads, as an argument of a call.
pub struct Drain(Arc<Pipe>);

/// Items between the engine's thread and a reader.
#[derive(Default)]
struct Pipe {
    state: Mutex<Piped>,
    changed: Condvar,
}

#[derive(Default)]
struct Piped {
    items: VecDeque<Result<Value, Unfit>>,
    /// No more items come.
    ended: bool,
    /// Nobody reads any more.
    unread: bool,
    /// Of the engine that hands items over.
    bell: Option<Doorbell>,
}

impl Pipe {
    /// Hands an item over.
    fn put(&self, item: Result<Value, Unfit>) {
        let mut state = lock(&self.state);
        if !state.unread {
            state.items.push_back(item);
            self.changed.notify_one();
        }
    }
    /// S3
    fn is_full(&self) -> bool {
        lock(&self.state).items.len() >= UNREAD_MAX
    }
    fn is_unread(&self) -> bool {
        lock(&self.state).unread
    }
}

/// The two ends of a list that a call makes.
pub fn receiver() -> (Drain, Receiver) {
    let pipe = Arc::<Pipe>::default();
    (Drain(pipe.clone()), Receiver(pipe))
}

impl Drop for Drain {
    fn drop(&mut self) {
        lock(&self.0.state).ended = true;
        self.0.changed.notify_all();
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.unread = true;
        state.items.clear();
    }
}

impl Receiver {
    /// The next item, once it is complete; `None` at the end of the list, or of the call. A part of it that never gets
    /// a value is a variable, if the call ends.
    pub fn receive(&self) -> Option<Result<Value, Unfit>> {
        loop {
            if let Ok(received) = self.receive_within(Duration::from_secs(60)) {
                return received;
            }
        }
    }
    /// The same, if it comes within a time.
    pub fn receive_within(&self, time: Duration) -> Result<Option<Result<Value, Unfit>>, Late> {
        let is_dry = |state: &mut Piped| state.items.is_empty() && !state.ended;
        let begin = Instant::now();
        let mut state = lock(&self.0.state);
        while is_dry(&mut state) {
            let left = time.saturating_sub(begin.elapsed());
            if left.is_zero() {
                break;
            }
            // S3: a worker that reduces on and on looks when somebody asks.
            if let Some(bell) = &state.bell {
                bell.ring();
            }
            let waited = self.0.changed.wait_timeout_while(state, left.min(ASK_AGAIN), is_dry);
            (state, _) = unpoisoned(waited);
        }
        let item = state.items.pop_front();
        if state.items.len() == UNREAD_MAX / 2
            && let Some(bell) = &state.bell
        {
            bell.ring();
        }
        match item {
            Some(item) => Ok(Some(item)),
            None if state.ended => Ok(None),
            None => Err(Late),
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
    heads: Vec<(Root, Drain)>,
    /// Items for lists that no call has read yet.
    early: VecDeque<(u64, Option<Value>)>,
    /// Lists that have ended, or whose call has.
    over: BTreeSet<u64>,
    /// Calls of functions that are not over: the variable of each answer, and what it is.
    calls: BTreeMap<u64, (Root, String)>,
    /// How many there have been.
    called: u64,
}

impl Lists {
    /// A variable, an argument of the call that begins, becomes a list that is sent.
    pub(crate) fn source(&mut self, variable: Root, source: &Source) {
        self.tails.insert(source.list, variable);
    }
    /// It is a list that is received.
    pub(crate) fn drain(&mut self, variable: Root, drain: Drain, bell: &Doorbell) {
        lock(&drain.0.state).bell = Some(bell.clone());
        self.heads.push((variable, drain));
    }
    /// A function is called, which gives this variable a value: the number of the call.
    pub(crate) fn call(&mut self, variable: Root, what: String) -> u64 {
        self.called += 1;
        self.calls.insert(self.called, (variable, what));
        self.called
    }
    /// Binds what functions gave; what they give after their run is nothing to anybody.
    fn answer(&mut self, terms: &mut Terms<'_>, answers: Vec<(u64, Value)>) {
        for (call, value) in answers {
            let Some((root, _)) = self.calls.remove(&call) else { continue };
            let variable = terms.take_root(root);
            match value.make_in(terms) {
                Ok(value) => terms.unify(variable, value),
                Err(error) => terms.end_with(error),
            }
        }
    }
    /// The call has ended: hands over what is left, complete or not, if that is wanted.
    pub(crate) fn end(&mut self, terms: &mut Terms<'_>, wanted: bool) {
        if wanted {
            self.hand_over(terms, true);
        }
        for (list, tail) in std::mem::take(&mut self.tails) {
            terms.take_root(tail);
            self.over.insert(list);
        }
        for (head, _) in self.heads.drain(..) {
            terms.take_root(head);
        }
        for (_, (root, _)) in std::mem::take(&mut self.calls) {
            terms.take_root(root);
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
fn hand_over(terms: &mut Terms<'_>, head: &Root, drain: &Drain, all: bool) -> bool {
    loop {
        if drain.0.is_unread() {
            return false;
        }
        if !all && drain.0.is_full() {
            return true;
        }
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
        drain.0.put(item);
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
        let lists = lock(&self.lists);
        !lists.tails.is_empty() || !lists.calls.is_empty()
    }
    fn awaited(&self, tell: &mut dyn FnMut(&Root, String)) {
        let lists = lock(&self.lists);
        lists.tails.values().for_each(|tail| tell(tail, "the next item sent".into()));
        lists.calls.values().for_each(|(root, what)| tell(root, what.clone()));
    }
    fn look(&mut self, terms: &mut Terms<'_>) {
        lock(&self.lists).hand_over(terms, false);
    }
    fn handle(&mut self, terms: &mut Terms<'_>) -> bool {
        let (items, answers) = (self.mailbox.take(), self.mailbox.take_answers());
        let any = !items.is_empty() || !answers.is_empty();
        let mut lists = lock(&self.lists);
        lists.deliver(terms, items);
        lists.answer(terms, answers);
        any
    }
}
