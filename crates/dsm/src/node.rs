//! A node that shares memory, on any fabric: a program of [`machine`], which runs the protocol and one task, the
//! user's.

use crate::difference::with_difference;
use crate::frames::Frames;
use crate::message::Letter;
use crate::protocol::{Counters, Options, Post, Protocol};
pub(crate) use crate::space::Space;
use crate::{Access, Memory, Message, Page, PageCosts, Store, Use, View, WORD};
use fabric::{Fabric, NodeId, NodeSet, Priority};
use machine::{Call, Context, Here, Program, Slot, Spread, Verdict};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

with_difference! {
    /// What a node's program has done, and what its time went into: nanoseconds, or cycles of the simulated network.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct Work {
        /// Pages that the program wrote between two releases, summed over these.
        pub written: u64,
        /// Waiting for pages.
        pub fetching: u64,
        /// Waiting until what was written had been released, or stale pages had gone home.
        pub releasing: u64,
        /// Waiting for others in barriers.
        pub barriers: u64,
        /// Waiting for locks.
        pub locks: u64,
    }
}

/// What a node has.
struct Inner {
    protocol: Protocol,
    space: Space,
    /// How multicasts to copies go.
    spread: Spread,
    /// What is to be sent.
    out: Vec<Out>,
    /// Threads that want to know when anything has changed.
    waiting: Vec<Slot<()>>,
    /// Pages that the program has written since the last release.
    written: BTreeSet<Page>,
    work: Work,
    /// Where time is simulated.
    costs: Option<PageCosts>,
    /// Cycles that the program has still to spend.
    owed: u64,
    /// What the program waits for that only programs of other nodes can bring.
    awaited: Option<Awaited>,
}

/// What only programs of other nodes can bring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Awaited {
    Barrier,
    Lock(u32),
}

/// A program that has awaited the programs of others for so long (nanoseconds) keeps the run from its end no longer:
/// if nobody can bring it, the run ends. Most waits are shorter, and nobody looks for an end meanwhile.
const AWAITS: u64 = 20_000_000;

/// Pages that go home at once: to compare them takes a few times as long as a message, and what their changes need is
/// little enough for caches, and for the allocator to give it again and again.
const PART: usize = 16;

/// A message, as it travels: its values take no memory meanwhile.
enum Out {
    One(NodeId, Priority, Letter),
    Many(NodeSet, u64, Letter),
}

/// What the protocol sees of a node.
struct Env<'a> {
    space: &'a mut Space,
    out: &'a mut Vec<Out>,
}

impl Store for Env<'_> {
    fn read(&self, page: Page, into: &mut [u8]) {
        self.space.read(page, into);
    }
    fn write(&mut self, page: Page, at: usize, bytes: &[u8]) {
        self.space.write(page, at, bytes);
    }
    fn access(&mut self, page: Page, access: Access) {
        self.space.access(page, access);
    }
    fn access_later(&mut self, page: Page, access: Access) {
        self.space.access_later(page, access);
    }
    fn settle(&mut self) {
        self.space.settle();
    }
}

impl Post for Env<'_> {
    fn post(&mut self, to: NodeId, message: Message) {
        let priority = message.priority();
        self.out.push(Out::One(to, priority, message.into_letter()));
    }
    fn post_many(&mut self, to: NodeSet, tag: u64, message: Message) {
        self.out.push(Out::Many(to, tag, message.into_letter()));
    }
}

impl Inner {
    fn ask<R>(&mut self, f: impl FnOnce(&mut Protocol, &mut Env<'_>) -> R) -> R {
        f(&mut self.protocol, &mut Env { space: &mut self.space, out: &mut self.out })
    }
    /// The same, and what it takes.
    fn ask_at_cost<R>(&mut self, f: impl FnOnce(&mut Protocol, &mut Env<'_>) -> R) -> (R, u64) {
        let Some(costs) = self.costs else { return (self.ask(f), 0) };
        let before = self.protocol.counters();
        let result = self.ask(f);
        (result, costs.of(self.protocol.options().mode, &before, &self.protocol.counters()))
    }
    fn tell_changed(&mut self) {
        self.waiting.drain(..).for_each(|slot| _ = slot.fill(()));
    }
}

/// What a program that is not a task of its node wants from it.
pub(crate) enum Wish {
    /// A page, to be read or, if true, to be written.
    Touch(Page, bool),
    /// All pages of these words.
    Fetch(Vec<Use>),
    /// See [`Memory::barrier`].
    Barrier,
    /// See [`Memory::lock`].
    Lock(u32),
    /// See [`Memory::unlock`].
    Unlock(u32),
}

/// A node's memory, for its program.
#[derive(Clone)]
pub struct Local {
    inner: Rc<RefCell<Inner>>,
    here: Here,
}

impl Local {
    fn ask<R>(&self, f: impl FnOnce(&mut Protocol, &mut Env<'_>) -> R) -> R {
        let mut inner = self.inner.borrow_mut();
        let (result, cost) = inner.ask_at_cost(f);
        inner.owed += cost;
        result
    }
    /// The time: nanoseconds, or cycles of the simulated network.
    pub fn now(&self) -> u64 {
        self.here.now().0
    }
    /// What the program has done so far.
    pub fn work(&self) -> Work {
        self.inner.borrow().work
    }
    /// What the protocol has done so far.
    pub fn counters(&self) -> Counters {
        self.inner.borrow().protocol.counters()
    }
    /// Spends what is owed, slice by slice: between them messages are dealt with. False if nothing was.
    async fn pay(&self) -> bool {
        let mut any = false;
        loop {
            let slice = {
                let mut inner = self.inner.borrow_mut();
                let slice = inner.costs.map_or(0, |costs| costs.slice).min(inner.owed);
                inner.owed -= slice;
                slice
            };
            if slice == 0 {
                return any;
            }
            any = true;
            self.here.spend(slice);
            self.here.give_way().await;
        }
    }
    /// The node's time is when its step began: a program that has computed in this one begins another, so that what
    /// follows is not said to have taken that.
    async fn catch_up(&self) {
        let is_task = matches!(self.inner.borrow().space, Space::Frames(_));
        if !self.pay().await && is_task {
            self.here.give_way().await;
        }
    }
    /// Sends what the protocol wants to have sent; false if that was nothing.
    async fn send(&self) -> bool {
        let out = {
            let mut inner = self.inner.borrow_mut();
            let out = std::mem::take(&mut inner.out);
            if !out.is_empty() {
                inner.space.settle();
            }
            out
        };
        let any = !out.is_empty();
        for out in out {
            match out {
                Out::One(to, priority, (kind, words, bytes)) => {
                    self.here.send_with(to, priority, kind, &words, bytes).await;
                }
                Out::Many(to, tag, letter) => multicast(&self.inner, &self.here, to, tag, letter),
            }
        }
        any
    }
    /// Waits until this holds: it is looked at again after each change.
    async fn until(&self, mut holds: impl FnMut(&mut Protocol, &mut Env<'_>) -> bool) {
        loop {
            let done = self.ask(&mut holds);
            // What has come meanwhile may have changed that.
            if self.pay().await {
                continue;
            }
            if done {
                break;
            }
            if self.send().await {
                continue;
            }
            let changed = Slot::new();
            self.inner.borrow_mut().waiting.push(changed.clone());
            changed.read().await;
        }
        self.inner.borrow_mut().space.settle();
    }
    /// All pages of these words are there.
    async fn fetch(&self, uses: &[Use]) {
        self.catch_up().await;
        let begin = self.here.now();
        let (page_words, by_faults) = {
            let inner = self.inner.borrow();
            (inner.space.page_words(), inner.costs.is_some())
        };
        let pages = uses.iter().flat_map(|each| each.pages(page_words).map(|page| (page, each.writes)));
        let pages: Vec<(Page, bool)> = pages.collect();
        // Looks at all pages: what is missing is asked for. Then the first one that was missing is waited for, and each
        // behind it, so that a page that comes costs no look at all others. Meanwhile one may have gone again.
        let mut missing = None;
        self.until(|protocol, env| {
            let mut have = |&(page, writes): &(Page, bool)| protocol.look(page, writes, env);
            if let Some(first) = missing {
                missing = pages[first..].iter().position(|each| !have(each)).map(|more| first + more);
            }
            if missing.is_none() {
                for (number, each) in pages.iter().enumerate() {
                    if !have(each) {
                        missing.get_or_insert(number);
                        if by_faults {
                            break;
                        }
                    }
                }
            }
            protocol.fetch(env);
            missing.is_none()
        })
        .await;
        self.inner.borrow_mut().work.fetching += self.here.now().0 - begin.0;
    }
    /// The page is there, to be read or written.
    async fn touch(&self, page: Page, writes: bool) {
        let begin = self.here.now();
        let before = self.inner.borrow().space.held(page);
        self.until(|protocol, env| if writes { protocol.write(page, env) } else { protocol.read(page, env) })
            .await;
        let mut inner = self.inner.borrow_mut();
        if inner.space.held(page) == before {
            inner.space.refresh(page);
        }
        inner.work.fetching += self.here.now().0 - begin.0;
    }
    /// What a release or acquire has begun to send home is there.
    async fn all_gone(&self) {
        self.send().await;
        while self.inner.borrow().protocol.is_leaving() {
            // What has been sent is on its way before the next part is compared.
            self.here.give_way().await;
            self.ask(|protocol, env| protocol.go_on(env));
            self.send().await;
        }
        self.until(|protocol, _| protocol.is_released()).await;
    }
    fn set_awaited(&self, awaited: Option<Awaited>) {
        let before = std::mem::replace(&mut self.inner.borrow_mut().awaited, awaited);
        debug_assert!(
            before.is_none() || awaited.is_none(),
            "a program waits for {before:?} and {awaited:?}"
        );
    }
    async fn release(&self) {
        {
            let mut inner = self.inner.borrow_mut();
            inner.work.written += inner.written.len() as u64;
            inner.written.clear();
        }
        let begin = self.here.now();
        self.ask(|protocol, env| protocol.release(env));
        self.pay().await;
        self.all_gone().await;
        self.inner.borrow_mut().work.releasing += self.here.now().0 - begin.0;
    }
    async fn acquire(&self) {
        let begin = self.here.now();
        self.ask(|protocol, env| protocol.acquire(env));
        self.all_gone().await;
        self.inner.borrow_mut().work.releasing += self.here.now().0 - begin.0;
    }
}

impl Memory for Local {
    fn node(&self) -> u32 {
        self.here.node().0
    }
    fn nodes(&self) -> u32 {
        self.here.nodes()
    }
    async fn with<R>(&self, uses: &[Use], f: impl FnOnce(&mut [View<'_>]) -> R) -> R {
        self.fetch(uses).await;
        let mut inner = self.inner.borrow_mut();
        let page_words = inner.space.page_words();
        for each in uses.iter().filter(|each| each.writes) {
            inner.written.extend(each.pages(page_words));
        }
        let Space::Frames(frames) = &mut inner.space else { unreachable!("its program has the view") };
        f(&mut frames.views(uses))
    }
    async fn barrier(&self) {
        self.catch_up().await;
        self.release().await;
        let begin = self.here.now();
        self.set_awaited(Some(Awaited::Barrier));
        self.here.barrier().await;
        self.set_awaited(None);
        self.inner.borrow_mut().work.barriers += self.here.now().0 - begin.0;
        self.acquire().await;
    }
    async fn lock(&self, lock: u32) {
        self.catch_up().await;
        let begin = self.here.now();
        let held = self.inner.borrow().protocol.has_lock(lock);
        assert!(!held, "node {} has lock {lock} already", self.node());
        self.ask(|protocol, env| protocol.lock(lock, env));
        self.send().await;
        self.set_awaited(Some(Awaited::Lock(lock)));
        self.until(|protocol, _| protocol.has_lock(lock)).await;
        self.set_awaited(None);
        self.inner.borrow_mut().work.locks += self.here.now().0 - begin.0;
        self.acquire().await;
    }
    async fn unlock(&self, lock: u32) {
        self.catch_up().await;
        self.release().await;
        let held = self.ask(|protocol, env| protocol.unlock(lock, env));
        assert!(held, "node {} does not have lock {lock}", self.node());
        self.send().await;
    }
    fn spend(&self, cycles: u64) {
        let mut inner = self.inner.borrow_mut();
        match inner.costs {
            Some(costs) => inner.owed += cycles * costs.unit,
            None => self.here.spend(cycles),
        }
    }
}

/// Sends a message to several nodes, and tells the protocol when all of them have it.
fn multicast(inner: &Rc<RefCell<Inner>>, here: &Here, to: NodeSet, tag: u64, letter: Letter) {
    debug_assert!(!to.is_empty(), "D1: nobody would acknowledge multicast {tag}");
    let local = Local { inner: inner.clone(), here: here.clone() };
    let (kind, words, bytes) = letter;
    here.spawn(async move {
        let spread = local.inner.borrow().spread;
        local.here.multicast_by(spread, to, kind, &words, bytes).await;
        local.ask(|protocol, env| protocol.acknowledged(tag, env));
        local.inner.borrow_mut().tell_changed();
        local.send().await;
    });
}

type Task = Pin<Box<dyn Future<Output = ()>>>;

/// A node with its program, which gives an `R`.
pub struct Node<R> {
    inner: Rc<RefCell<Inner>>,
    begin: Option<Box<dyn FnOnce(Local) -> Task>>,
    here: Option<Here>,
    /// A thread beside the node runs its program (X6 of `machine`).
    attended: bool,
    /// When that was first seen to await the programs of others, as it does since.
    awaits_since: Option<u64>,
    /// Longer than [`AWAITS`].
    awaits_long: bool,
    result: Rc<RefCell<Option<R>>>,
}

impl<R: 'static> Node<R> {
    /// A node that runs this. Options that make no sense are a mistake of the caller's: panics.
    pub fn new<T>(options: Options, program: impl FnOnce(Local) -> T + 'static) -> Node<R>
    where
        T: Future<Output = R> + 'static,
    {
        let space = Space::Frames(Frames::new(options.homes.len(), options.page_bytes));
        let result = Rc::new(RefCell::new(None));
        let place = result.clone();
        let begin = move |local: Local| -> Task {
            let task = program(local.clone());
            Box::pin(async move {
                let end = task.await;
                local.pay().await;
                let wrong = local.inner.borrow().protocol.any_lock().map(ended_with);
                assert!(wrong.is_none(), "{}", wrong.unwrap_or_default());
                *place.borrow_mut() = Some(end);
            })
        };
        Node { begin: Some(Box::new(begin)), result, ..Node::without_program(options, space) }
    }
    fn without_program(options: Options, space: Space) -> Node<R> {
        let inner = Inner {
            protocol: Protocol::new(options),
            space,
            spread: Spread::Tree,
            out: Vec::new(),
            waiting: Vec::new(),
            written: BTreeSet::new(),
            work: Work::default(),
            costs: None,
            owed: 0,
            awaited: None,
        };
        let (inner, result) = (Rc::new(RefCell::new(inner)), Rc::new(RefCell::new(None)));
        Node {
            inner,
            begin: None,
            here: None,
            attended: false,
            awaits_since: None,
            awaits_long: false,
            result,
        }
    }
    /// Copies hear of changes in this way; without it, along a tree.
    pub fn with_spread(self, spread: Spread) -> Node<R> {
        self.inner.borrow_mut().spread = spread;
        self
    }
    /// Its work takes time, where that is simulated; a slice of nothing is a mistake of the caller's: panics.
    pub fn with_costs(self, costs: PageCosts) -> Node<R> {
        assert!(costs.slice > 0, "a program that computes goes on");
        self.inner.borrow_mut().costs = Some(costs);
        self
    }
    /// What the program has given, once it has.
    pub fn take_result(&self) -> Option<R> {
        self.result.borrow_mut().take()
    }
    /// What the protocol has done.
    pub fn counters(&self) -> Counters {
        self.inner.borrow().protocol.counters()
    }
    /// What the program has done.
    pub fn work(&self) -> Work {
        self.inner.borrow().work
    }
}

/// For a thread beside the node that runs its program.
impl Node<()> {
    /// A node whose program is elsewhere. It may write at first where its home is.
    pub(crate) fn of(options: Options, mut space: Space) -> Node<()> {
        options.homes.at(options.node).into_iter().for_each(|pages| space.open_pages(pages));
        let node = Node { attended: true, ..Node::without_program(options, space) };
        node.inner.borrow_mut().protocol.set_part(PART);
        node
    }
    /// Does what the program wants, at the next steps of the node, which has been stepped before; then `end` is filled.
    pub(crate) fn spawn(&self, end: &Rc<RefCell<Option<()>>>, wish: Wish) {
        debug_assert!(self.attended && end.borrow().is_none(), "D7: a program wants one thing at a time");
        let (end, here) = (end.clone(), self.here.clone().expect("it has been stepped"));
        let local = Local { inner: self.inner.clone(), here: here.clone() };
        here.spawn(async move {
            match wish {
                Wish::Touch(page, writes) => local.touch(page, writes).await,
                Wish::Fetch(uses) => local.fetch(&uses).await,
                Wish::Barrier => local.barrier().await,
                Wish::Lock(lock) => local.lock(lock).await,
                Wish::Unlock(lock) => local.unlock(lock).await,
            }
            *end.borrow_mut() = Some(());
        });
    }
    /// The program has ended.
    pub(crate) fn leave(&mut self) {
        self.attended = false;
    }
    /// What the program awaits of those of other nodes.
    pub(crate) fn awaited(&self) -> Option<Awaited> {
        self.inner.borrow().awaited
    }
    /// Whether the program has this lock.
    pub(crate) fn has_lock(&self, lock: u32) -> bool {
        self.inner.borrow().protocol.has_lock(lock)
    }
    /// What is wrong if the program ends now.
    pub(crate) fn unfinished(&self) -> Option<String> {
        self.inner.borrow().protocol.any_lock().map(ended_with)
    }
    /// Why the system has not protected a page, if it has not: the node has failed.
    pub(crate) fn refusal(&self) -> Option<String> {
        self.inner.borrow().space.refusal().map(String::from)
    }
    /// The program may do anything with all pages, whatever is in them: the run has failed.
    pub(crate) fn open(&self) {
        self.inner.borrow().space.open();
    }
}

/// A program has ended with a lock.
fn ended_with(lock: u32) -> String {
    format!("its program has ended with lock {lock}: give it back before")
}

impl<R> Node<R> {
    /// Whether the program may do anything more by itself.
    fn may_go_on(&self) -> bool {
        self.attended && !(self.awaits_long && self.inner.borrow().awaited.is_some())
    }
}

impl<R> Program for Node<R> {
    fn holds(&mut self) -> bool {
        self.may_go_on()
    }
    fn waits(&mut self) -> bool {
        self.may_go_on()
    }
    fn background<F: Fabric>(&mut self, context: &mut Context<'_, F>) -> bool {
        if self.attended {
            let awaits = self.inner.borrow().awaited.is_some();
            let now = context.now().0;
            let since = awaits.then(|| *self.awaits_since.get_or_insert(now));
            self.awaits_since = since;
            self.awaits_long = since.is_some_and(|since| now - since > AWAITS);
        }
        false
    }
    fn start(&mut self, here: &Here) {
        self.here = Some(here.clone());
        let Some(begin) = self.begin.take() else { return };
        here.spawn(begin(Local { inner: self.inner.clone(), here: here.clone() }));
    }
    fn handle<F: Fabric>(&mut self, context: &mut Context<'_, F>, call: &Call<'_>) -> Verdict {
        let mut inner = self.inner.borrow_mut();
        let page_bytes = inner.space.page_words() * WORD;
        let Ok(message) = Message::read(call.code, call.words, call.payload, page_bytes) else {
            return Verdict::Strange;
        };
        // A page that has come may wait for others: the program does.
        let settles = !matches!(message, Message::Pages { .. });
        let install = if settles { 0 } else { inner.costs.map_or(0, |costs| costs.install) };
        let (received, cost) = inner.ask_at_cost(|protocol, env| protocol.receive(call.from, message, env));
        context.spend(install + cost);
        if settles {
            inner.space.settle();
        }
        inner.tell_changed();
        let out = std::mem::take(&mut inner.out);
        drop(inner);
        for out in out {
            match out {
                Out::One(to, priority, (kind, words, bytes)) => {
                    context.send_with(to, priority, kind, &words, bytes);
                }
                Out::Many(to, tag, letter) => multicast(&self.inner, context.here(), to, tag, letter),
            }
        }
        if received.is_ok() { Verdict::Done } else { Verdict::Strange }
    }
}
