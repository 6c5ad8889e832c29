//! The protocol of one node. Pure: no clock, no thread, nothing that depends on a hash, nothing sent but through
//! [`Post`].
//!
//! | a page, at a node that is not its home | the program may | |
//! |---|---|---|
//! | absent | nothing | |
//! | clean | read | a copy |
//! | dirty | read, write | a copy, and its twin: what it was before the node wrote |
//! | dirty and stale | read, write | the same, but others have changed their words meanwhile |
//!
//! At its home a page is open (no copies elsewhere: written unnoticed), guarded (read), or written.
//!
//! - D1 A release is over only when all copies that were made before it are gone or updated. A copy whose end was
//!   ordered for an earlier batch counts until it has acknowledged.
//! - D2 A home counts the batches that a page has got: its version. A node remembers the newest version that it was
//!   told of, and fetches again when an older page comes: pages and multicasts overtake each other. An order to drop
//!   or update a copy that is as new is obeyed already.
//! - D3 A dirty page that is to be dropped becomes stale instead, and is acknowledged at once. What the node wrote
//!   goes home at its next acquire or release, and the page with it. So writers of one page never wait for each
//!   other.
//! - D4 What goes home are the words that differ from the twin. In programs without races others write other words.
//! - D5 A home has no twin. What it writes is noticed only while others have copies; with [`Mode::Update`] it has a
//!   twin then, because a whole page would undo what is under way to it.
//! - D6 An acquire drops stale pages before the program goes on: it may not read there what others have written.

mod buffers;
mod counters;
mod home;
mod locks;
mod outbox;
mod places;
#[cfg(test)]
mod tests;

use crate::{Access, FETCH_MAX, Malformed, Message, Page, Runs, Store, WORD};
use buffers::Buffers;
pub use counters::Counters;
use fabric::{NodeId, NodeSet};
use home::{Batches, Home, HomeState, Origin};
use locks::Locks;
pub use outbox::Outbox;
pub use places::Homes;
use places::Places;
use std::collections::BTreeMap;

/// Sends messages; see [`Message`] for the order that it must keep.
pub trait Post {
    /// To one node, which may be this one.
    fn post(&mut self, to: NodeId, message: Message);
    /// To several nodes, this one not among them. When all have received it, [`Protocol::acknowledged`] is told this
    /// tag.
    fn post_many(&mut self, to: NodeSet, tag: u64, message: Message);
}

/// What becomes of copies when their page changes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Mode {
    /// They are dropped: who reads them again fetches them.
    #[default]
    Invalidate,
    /// They get the changed words.
    Update,
}

/// What a protocol is made with: the same at all nodes, but for `node`.
#[derive(Clone, Hash, Debug)]
pub struct Options {
    /// This node.
    pub node: NodeId,
    /// How many there are.
    pub nodes: u32,
    /// Bytes of a page: whole words, less than 2^16.
    pub page_bytes: usize,
    /// The home of each page.
    pub homes: Homes,
    /// What becomes of copies.
    pub mode: Mode,
}

impl Options {
    /// What is wrong with them, if anything.
    pub fn check(&self) -> Result<(), String> {
        let Options { node, nodes, page_bytes, homes, .. } = self;
        if node.0 >= *nodes {
            return Err(format!("node {} of {nodes}", node.0));
        }
        if *page_bytes == 0 || page_bytes % WORD != 0 || page_bytes / WORD >= 1 << 16 {
            return Err(format!("pages of {page_bytes} bytes: a multiple of {WORD} below {}", WORD << 16));
        }
        if u32::try_from(homes.len()).is_err() {
            return Err(format!("{} pages: there are numbers for 2^32 - 1", homes.len()));
        }
        match homes.last().filter(|home| home.0 >= *nodes) {
            Some(home) => Err(format!("a page has its home at node {} of {nodes}", home.0)),
            None => Ok(()),
        }
    }
}

/// The most pages whose changes go home in one message.
const DIFFS_MAX: usize = 256;

/// A page at a node that is not its home.
#[derive(Clone, Hash, Debug, Default)]
struct Copy {
    state: State,
    /// The newest version that this node was told of (D2).
    floor: u64,
    /// A `Fetch` is under way.
    fetching: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
enum State {
    #[default]
    Absent,
    /// The version is that of the fetch, at least.
    Clean {
        version: u64,
    },
    Dirty {
        version: u64,
        twin: Box<[u8]>,
    },
    DirtyStale {
        twin: Box<[u8]>,
    },
}

#[derive(Clone, Hash, Debug)]
enum Place {
    Away(Copy),
    Here(Home),
}

/// A rule that a test takes away.
#[cfg(test)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Rule {
    /// D1: a release waits for acknowledgements.
    Acknowledgements,
    /// D1: also for those of earlier batches.
    Earlier,
    /// D2: pages that are too old are dropped.
    Versions,
    /// D3: what was written stays.
    Stale,
    /// D4: words that differ only.
    Twins,
    /// D5: a home's writes are noticed.
    Guards,
    /// D5: and have a twin where copies are updated.
    HomeTwins,
    /// D6: stale pages are dropped at an acquire.
    Acquire,
    /// D14: what shows something waits for a release.
    Outbox,
}

/// One node's part of the protocol. The program of a node is one thread. It may go on, and write, while one of its own
/// releases is under way; what it wrote before is shown when that is over.
#[derive(Clone, Hash, Debug)]
pub struct Protocol {
    options: Options,
    places: Places,
    /// Pages that have been found missing and are still to be asked for.
    missing: Vec<Page>,
    /// Pages that the program has written since its last release: dirty copies, and written homes.
    dirty: Vec<Page>,
    /// Those that a release or acquire has still to send home, in the order from the last to the first: written homes
    /// come first here.
    leaving: Vec<Page>,
    /// How many of them go at once.
    part: usize,
    /// Some of `dirty` are stale.
    any_stale: bool,
    /// Batches of this node that are not done: at homes elsewhere, or here.
    outstanding: u32,
    /// Numbers of batches that went to other homes.
    next_batch: u64,
    batches: Batches,
    locks: Locks,
    counters: Counters,
    /// Of pages, to be used again.
    buffers: Buffers,
    #[cfg(test)]
    without: Option<Rule>,
}

impl Protocol {
    /// A node that has written nothing. Options that make no sense are a mistake of the caller's: panics.
    pub fn new(options: Options) -> Protocol {
        if let Err(wrong) = options.check() {
            panic!("{wrong}");
        }
        Protocol {
            places: Places::new(options.node, &options.homes),
            options,
            missing: Vec::new(),
            dirty: Vec::new(),
            leaving: Vec::new(),
            part: usize::MAX,
            any_stale: false,
            outstanding: 0,
            next_batch: 0,
            batches: Batches::default(),
            locks: Locks::default(),
            counters: Counters::default(),
            buffers: Buffers::default(),
            #[cfg(test)]
            without: None,
        }
    }
    /// A release or acquire sends home this number of pages at once (one at least), and the next when it is told to
    /// [`go on`](Protocol::go_on): so their homes deal with some while this node compares others. Without this, all.
    pub fn set_part(&mut self, pages: usize) {
        self.part = pages.max(1);
    }
    /// What it was made with.
    pub fn options(&self) -> &Options {
        &self.options
    }
    /// What the node has done so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }
    #[cfg(test)]
    fn has(&self, rule: Rule) -> bool {
        self.without != Some(rule)
    }

    /// The program wants to read a page. True: it may. False: the page is being fetched; ask again.
    pub fn read<E: Store + Post>(&mut self, page: Page, env: &mut E) -> bool {
        let may = self.may_read(page);
        self.fetch(env);
        may
    }
    /// The program wants to write a page. True: it may. False: the page is being fetched; ask again.
    pub fn write<E: Store + Post>(&mut self, page: Page, env: &mut E) -> bool {
        let may = self.may_write(page, env);
        self.fetch(env);
        may
    }
    /// [`Protocol::read`] or, if it `writes`, [`Protocol::write`], of one page of several: what is missing is asked for
    /// by the [`Protocol::fetch`] behind the last.
    pub fn look<E: Store + Post>(&mut self, page: Page, writes: bool, env: &mut E) -> bool {
        if writes { self.may_write(page, env) } else { self.may_read(page) }
    }
    /// Asks the homes of pages that have been found missing, each for all of its own, as far as a message goes.
    pub fn fetch<E: Store + Post>(&mut self, env: &mut E) {
        let mut homes: BTreeMap<NodeId, Vec<Page>> = BTreeMap::new();
        for page in self.missing.drain(..) {
            homes.entry(self.options.homes.of(page)).or_default().push(page);
        }
        for (home, pages) in homes {
            debug_assert!(home != self.options.node, "D2: {pages:?} are at home here, and no copies");
            for pages in pages.chunks(FETCH_MAX) {
                self.counters.fetches += 1;
                env.post(home, Message::Fetch { pages: pages.to_vec() });
            }
        }
    }
    fn may_read(&mut self, page: Page) -> bool {
        let Place::Away(copy) = self.places.at(page) else { return true };
        if copy.state != State::Absent {
            return true;
        }
        if !copy.fetching {
            copy.fetching = true;
            self.counters.misses += 1;
            self.missing.push(page);
        }
        false
    }
    fn may_write<E: Store + Post>(&mut self, page: Page, env: &mut E) -> bool {
        match self.places.at(page) {
            Place::Here(home) => match home.state {
                HomeState::Open | HomeState::Written { .. } => {}
                HomeState::Guarded if home.has_no_copies() => {
                    home.state = HomeState::Open;
                    env.access_later(page, Access::Write);
                }
                HomeState::Guarded => {
                    let twins = self.options.mode == Mode::Update;
                    #[cfg(test)]
                    let twins = twins && self.without != Some(Rule::HomeTwins);
                    let twin = twins.then(|| self.buffers.copy(&self.options, page, env));
                    home.state = HomeState::Written { twin };
                    self.counters.guarded_writes += 1;
                    self.dirty.push(page);
                    env.access_later(page, Access::Write);
                }
            },
            Place::Away(copy) => match copy.state {
                State::Absent => return self.may_read(page),
                State::Clean { version } => {
                    let twin = self.buffers.copy(&self.options, page, env);
                    copy.state = State::Dirty { version, twin };
                    self.counters.twins += 1;
                    self.dirty.push(page);
                    env.access_later(page, Access::Write);
                }
                State::Dirty { .. } | State::DirtyStale { .. } => {}
            },
        }
        true
    }
    /// Whether a page is being fetched.
    pub fn is_fetching(&self, page: Page) -> bool {
        matches!(self.places.seen(page), Some(Place::Away(copy)) if copy.fetching)
    }

    /// The program shows what it has written: begins. What is left, [`Protocol::go_on`] does; the program waits until
    /// it [is released](Protocol::is_released).
    pub fn release<E: Store + Post>(&mut self, env: &mut E) {
        self.flush(false, env);
    }
    /// The program wants to see what others have released: as [`Protocol::release`].
    pub fn acquire<E: Store + Post>(&mut self, env: &mut E) {
        #[cfg(test)]
        if !self.has(Rule::Acquire) {
            return;
        }
        if self.any_stale {
            self.flush(true, env);
        }
    }
    /// Whether all that was to be released is (D1).
    pub fn is_released(&self) -> bool {
        self.outstanding == 0 && self.leaving.is_empty()
    }

    /// Whether the node has written what it has not begun to release.
    pub fn has_written(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// What the node has written goes home: all of it, or that of stale pages (D3). The first part.
    fn flush<E: Store + Post>(&mut self, only_stale: bool, env: &mut E) {
        assert!(self.leaving.is_empty(), "a program waits until what it has released is gone");
        let mut pages = std::mem::take(&mut self.dirty);
        self.any_stale = false;
        self.counters.releases += u64::from(!pages.is_empty());
        if only_stale {
            (pages, self.dirty) = pages.into_iter().partition(|&page| {
                let place = self.places.seen(page);
                matches!(place, Some(Place::Away(Copy { state: State::DirtyStale { .. }, .. })))
            });
        }
        let is_away = |page: Page| self.options.homes.of(page) != self.options.node;
        pages.sort_unstable_by_key(|&page| (is_away(page), std::cmp::Reverse(page)));
        debug_assert!(pages.windows(2).all(|two| two[0] != two[1]), "D4: a page is compared once: {pages:?}");
        self.leaving = pages;
        self.go_on(env);
    }
    /// Whether a release or acquire has to [`go on`](Protocol::go_on).
    pub fn is_leaving(&self) -> bool {
        !self.leaving.is_empty()
    }
    /// The next part of what a release or acquire sends home. Messages may be received before it.
    pub fn go_on<E: Store + Post>(&mut self, env: &mut E) {
        let mut away: BTreeMap<NodeId, Vec<(Page, Runs)>> = BTreeMap::new();
        let (mut own, mut taken) = (Vec::new(), 0);
        while let Some(&page) = self.leaving.last() {
            let home = self.options.homes.of(page);
            if home != self.options.node && taken == self.part {
                break;
            }
            taken += 1;
            self.leaving.pop();
            match self.take_changes(page, env) {
                Some(runs) if runs.is_empty() => {}
                Some(runs) if home != self.options.node => {
                    self.counters.diffs += 1;
                    self.counters.diff_bytes += runs.as_bytes().len() as u64;
                    let diffs = away.entry(home).or_default();
                    diffs.push((page, runs));
                    if diffs.len() == DIFFS_MAX {
                        let diffs = std::mem::take(diffs);
                        self.send_diffs(home, diffs, env);
                    }
                }
                runs => own.push((page, runs)),
            }
        }
        for (home, diffs) in away.into_iter().filter(|(_, diffs)| !diffs.is_empty()) {
            self.send_diffs(home, diffs, env);
        }
        if !own.is_empty() {
            self.outstanding += 1;
            self.change(Origin::Own, own, env);
        }
    }
    fn send_diffs<E: Post>(&mut self, home: NodeId, diffs: Vec<(Page, Runs)>, env: &mut E) {
        debug_assert!(home != self.options.node, "D5: a home has no twin");
        debug_assert!((1..=DIFFS_MAX).contains(&diffs.len()), "D1: a batch of {} pages", diffs.len());
        self.next_batch += 1;
        self.outstanding += 1;
        env.post(home, Message::Diffs { batch: self.next_batch, diffs });
    }
    /// A page that was written is no longer: what has changed there, `None` if only its home may know.
    fn take_changes<E: Store + Post>(&mut self, page: Page, env: &mut E) -> Option<Runs> {
        #[cfg(test)]
        let whole = !self.has(Rule::Twins);
        let (access, twin) = match self.places.at(page) {
            Place::Away(copy) => match std::mem::take(&mut copy.state) {
                State::Dirty { version, twin } => {
                    copy.state = State::Clean { version };
                    (Access::Read, Some(twin))
                }
                State::DirtyStale { twin } => (Access::None, Some(twin)),
                State::Absent | State::Clean { .. } => {
                    unreachable!("page {page} is in the list of dirty ones")
                }
            },
            Place::Here(home) => match std::mem::take(&mut home.state) {
                HomeState::Written { twin } => {
                    home.state = HomeState::Guarded;
                    (Access::Read, twin)
                }
                _ => unreachable!("page {page} is in the list of dirty ones"),
            },
        };
        env.access_later(page, access);
        let twin = twin?;
        let now = self.buffers.copy(&self.options, page, env);
        #[cfg(test)]
        if whole {
            return Some(Runs::whole(&now));
        }
        let runs = Runs::between(&twin, &now);
        [twin, now].into_iter().for_each(|buffer| self.buffers.give_back(buffer));
        Some(runs)
    }

    /// A message has come.
    pub fn receive<E: Store + Post>(
        &mut self,
        from: NodeId,
        message: Message,
        env: &mut E,
    ) -> Result<(), Malformed> {
        match message {
            Message::Fetch { pages } => self.fetched(from, &pages, env),
            Message::Pages { pages, bytes } => {
                // `Message::read` has looked, or this process has made it.
                debug_assert_eq!(
                    bytes.len(),
                    pages.len() * self.options.page_bytes,
                    "D2: each page has bytes"
                );
                let bytes = bytes.chunks_exact(self.options.page_bytes);
                let mut each = pages.into_iter().zip(bytes);
                let arrived =
                    each.try_for_each(|((page, version), bytes)| self.arrived(page, version, bytes, env));
                self.fetch(env);
                arrived
            }
            Message::Diffs { batch, diffs } => {
                diffs.iter().try_for_each(|&(page, _)| self.home(page).map(|_| ()))?;
                self.counters.applied += diffs.len() as u64;
                let changes = diffs.into_iter().map(|(page, runs)| (page, Some(runs))).collect();
                self.change(Origin::Node(from, batch), changes, env);
                Ok(())
            }
            Message::Done { .. } => {
                let left = self.outstanding.checked_sub(1);
                self.outstanding = left.ok_or(Malformed("the end of a batch that nobody sent"))?;
                Ok(())
            }
            // A network may reach more nodes than it was told, the home itself among them.
            Message::Invalidate { .. } | Message::Update { .. } if from == self.options.node => Ok(()),
            Message::Invalidate { pages } => {
                pages.into_iter().try_for_each(|(page, version)| self.invalidate(page, version, env))
            }
            Message::Update { diffs } => {
                diffs.iter().try_for_each(|(page, version, runs)| self.update(*page, *version, runs, env))
            }
            Message::Lock { lock } => self.locks.ask(lock, from, env),
            Message::Unlock { lock } => self.locks.give_back(lock, from, env),
            Message::Grant { lock } => self.locks.granted(lock),
        }
    }
    fn home(&mut self, page: Page) -> Result<&mut Home, Malformed> {
        match self.places.get(page) {
            Some(Place::Here(home)) => Ok(home),
            _ => Err(Malformed("a page whose home is not here")),
        }
    }
    fn copy(&mut self, page: Page) -> Result<&mut Copy, Malformed> {
        match self.places.get(page) {
            Some(Place::Away(copy)) => Ok(copy),
            _ => Err(Malformed("a page that is no copy here")),
        }
    }
    /// A page that was fetched.
    fn arrived<E: Store + Post>(
        &mut self,
        page: Page,
        version: u64,
        bytes: &[u8],
        env: &mut E,
    ) -> Result<(), Malformed> {
        #[cfg(test)]
        let checks = self.has(Rule::Versions);
        #[cfg(not(test))]
        let checks = true;
        let copy = self.copy(page)?;
        if !copy.fetching || copy.state != State::Absent {
            return Err(Malformed("a page that nobody has asked for"));
        }
        if version < copy.floor && checks {
            self.counters.refetches += 1;
            self.missing.push(page);
            return Ok(());
        }
        copy.fetching = false;
        copy.state = State::Clean { version };
        env.write(page, 0, bytes);
        env.access_later(page, Access::Read);
        Ok(())
    }
    fn invalidate<E: Store + Post>(
        &mut self,
        page: Page,
        version: u64,
        env: &mut E,
    ) -> Result<(), Malformed> {
        #[cfg(test)]
        let keeps = self.has(Rule::Stale);
        #[cfg(not(test))]
        let keeps = true;
        let copy = self.copy(page)?;
        copy.floor = copy.floor.max(version);
        match std::mem::take(&mut copy.state) {
            State::Dirty { version: old, twin } if old < version && keeps => {
                copy.state = State::DirtyStale { twin };
                self.any_stale = true;
                debug_assert!(
                    self.dirty.contains(&page) || self.leaving.contains(&page),
                    "D3: page {page} is lost"
                );
            }
            State::Clean { version: old } if old < version => env.access_later(page, Access::None),
            State::Dirty { version: old, .. } if old < version => {
                env.access_later(page, Access::None);
                self.dirty.retain(|&dirty| dirty != page);
            }
            state => {
                copy.state = state;
                return Ok(());
            }
        }
        self.counters.reached += 1;
        Ok(())
    }
    /// The words come from programs without races, so they are others than those that this node has written: they go
    /// into the twin as well, and the order of updates does not matter.
    fn update<E: Store + Post>(
        &mut self,
        page: Page,
        version: u64,
        runs: &Runs,
        env: &mut E,
    ) -> Result<(), Malformed> {
        let copy = self.copy(page)?;
        copy.floor = copy.floor.max(version);
        match &mut copy.state {
            State::Clean { version: old } if *old < version => {}
            State::Dirty { version: old, twin } if *old < version => runs.apply(twin),
            _ => return Ok(()),
        }
        runs.iter().for_each(|(at, run)| env.write(page, at, run));
        self.counters.reached += 1;
        Ok(())
    }
}
