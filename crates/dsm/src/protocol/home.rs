//! A node as the home of pages: who has copies, and which releases wait for what.

#[cfg(test)]
use super::Rule;
use super::{Mode, Place, Post, Protocol};
use crate::message::PAGE_TAIL;
use crate::{Access, FETCH_MAX, Malformed, Message, Page, Runs, Store};
use fabric::{NodeId, NodeSet};
use std::collections::BTreeMap;

/// A page at its home.
#[derive(Clone, Hash, Debug, Default)]
pub(super) struct Home {
    pub(super) state: HomeState,
    /// Batches of diffs that it has got (D2).
    pub(super) version: u64,
    /// The nodes that have a copy, or are going to get one.
    pub(super) sharers: NodeSet,
    /// Multicasts that are to drop copies and are not acknowledged (D1).
    pub(super) pending: Vec<u64>,
}

/// What a home knows of its own writes.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) enum HomeState {
    /// Nothing: nobody has a copy.
    #[default]
    Open,
    /// There are none since the last release.
    Guarded,
    /// There are some; the twin is what was there before (D5).
    Written { twin: Option<Box<[u8]>> },
}

impl Home {
    /// Whether the program may write without being noticed: copies that are to be dropped count, too (D1).
    pub(super) fn has_no_copies(&self) -> bool {
        self.sharers.is_empty() && self.pending.is_empty()
    }
}

/// Whose changes they are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Origin {
    /// This node's.
    Own,
    /// That node's, under its number.
    Node(NodeId, u64),
}

#[derive(Clone, Hash, Debug)]
struct Batch {
    origin: Origin,
    /// Multicasts that must be acknowledged before it is done.
    waits: usize,
}

#[derive(Clone, Hash, Debug)]
struct Multicast {
    pages: Vec<Page>,
    /// The batches that wait for it.
    batches: Vec<u64>,
}

/// What is under way at a home.
#[derive(Clone, Hash, Debug, Default)]
pub(super) struct Batches {
    next: u64,
    batches: BTreeMap<u64, Batch>,
    multicasts: BTreeMap<u64, Multicast>,
}

#[cfg(test)]
impl Batches {
    pub(super) fn is_empty(&self) -> bool {
        self.batches.is_empty() && self.multicasts.is_empty()
    }
}

/// What copies of a page are to hear: its new version, and what has changed where they are updated.
type News = (Page, u64, Option<Runs>);

impl Protocol {
    /// Somebody wants copies.
    pub(super) fn fetched<E: Store + Post>(
        &mut self,
        from: NodeId,
        pages: &[Page],
        env: &mut E,
    ) -> Result<(), Malformed> {
        #[cfg(test)]
        let guards = self.has(Rule::Guards);
        #[cfg(not(test))]
        let guards = true;
        if pages.len() > FETCH_MAX {
            return Err(Malformed("more pages than anybody fetches at once"));
        }
        pages.iter().try_for_each(|&page| self.home(page).map(|_| ()))?;
        let (mut versions, own) = (Vec::with_capacity(pages.len()), self.options.node);
        for &page in pages {
            let home = self.home(page)?;
            debug_assert!(from != own, "D5: a home has no copy of page {page}");
            home.sharers.insert(from);
            versions.push((page, home.version));
            // D5: from now on writes are noticed, and those before are in the copy.
            if home.state == HomeState::Open && guards {
                home.state = HomeState::Guarded;
                env.access_later(page, Access::Read);
            }
        }
        env.settle();
        let page_bytes = self.options.page_bytes;
        let mut bytes = Vec::with_capacity(pages.len() * (page_bytes + PAGE_TAIL));
        bytes.resize(pages.len() * page_bytes, 0);
        bytes.chunks_exact_mut(page_bytes).zip(pages).for_each(|(bytes, &page)| env.read(page, bytes));
        env.post(from, Message::Pages { pages: versions, bytes });
        Ok(())
    }

    /// Pages of this home have changed; what has is `None` where the home itself has written and has no twin. Their
    /// copies hear of it, and whoever changed them when they have (D1).
    pub(super) fn change<E: Store + Post>(
        &mut self,
        origin: Origin,
        changes: Vec<(Page, Option<Runs>)>,
        env: &mut E,
    ) {
        let writer = match origin {
            Origin::Own => None,
            Origin::Node(node, _) => Some(node),
        };
        let mut waits: Vec<u64> = Vec::new();
        let mut news: BTreeMap<Vec<NodeId>, Vec<News>> = BTreeMap::new();
        for (page, runs) in changes {
            let Place::Here(home) = self.places.at(page) else { unreachable!("it was looked at") };
            if let (Some(_), Some(runs)) = (writer, &runs) {
                runs.iter().for_each(|(at, run)| env.write(page, at, run));
                if let HomeState::Written { twin: Some(twin) } = &mut home.state {
                    runs.apply(twin);
                }
            }
            home.version += 1;
            let targets: Vec<NodeId> = home.sharers.iter().filter(|&node| Some(node) != writer).collect();
            waits.extend(&home.pending);
            if self.options.mode == Mode::Invalidate {
                targets.iter().for_each(|&node| _ = home.sharers.remove(node));
            }
            if !targets.is_empty() {
                let runs = runs.filter(|_| self.options.mode == Mode::Update);
                news.entry(targets).or_default().push((page, home.version, runs));
            }
        }
        #[cfg(test)]
        if !self.has(Rule::Earlier) {
            waits.clear();
        }
        for (targets, news) in news {
            waits.push(self.tell_copies(targets.into_iter().collect(), news, env));
        }
        waits.sort_unstable();
        waits.dedup();
        #[cfg(test)]
        if !self.has(Rule::Acknowledgements) {
            waits.clear();
        }
        if waits.is_empty() {
            return self.done(origin, env);
        }
        self.batches.next += 1;
        let number = self.batches.next;
        for tag in &waits {
            let multicast = self.batches.multicasts.get_mut(tag).expect("it is not acknowledged");
            multicast.batches.push(number);
        }
        self.batches.batches.insert(number, Batch { origin, waits: waits.len() });
    }
    /// One multicast: its tag.
    fn tell_copies<E: Store + Post>(&mut self, targets: NodeSet, news: Vec<News>, env: &mut E) -> u64 {
        debug_assert!(!targets.is_empty() && !news.is_empty(), "D1: nobody would acknowledge it");
        debug_assert!(!targets.contains(self.options.node), "D5: a home has no copy of its own pages");
        self.batches.next += 1;
        let tag = self.batches.next;
        let pages: Vec<Page> = news.iter().map(|&(page, ..)| page).collect();
        self.counters.multicasts += 1;
        self.counters.targets += targets.len() as u64;
        let message = match self.options.mode {
            Mode::Invalidate => {
                for &page in &pages {
                    let Place::Here(home) = self.places.at(page) else { continue };
                    home.pending.push(tag);
                }
                let version = |(page, version, _)| (page, version);
                Message::Invalidate { pages: news.into_iter().map(version).collect() }
            }
            Mode::Update => {
                let mut whole = |page| {
                    let bytes = self.buffers.copy(&self.options, page, env);
                    let runs = Runs::whole(&bytes);
                    self.buffers.give_back(bytes);
                    runs
                };
                let runs = |(page, version, runs): News| (page, version, runs.unwrap_or_else(|| whole(page)));
                Message::Update { diffs: news.into_iter().map(runs).collect() }
            }
        };
        self.batches.multicasts.insert(tag, Multicast { pages, batches: Vec::new() });
        env.post_many(targets, tag, message);
        tag
    }
    /// All nodes have received the multicast of this tag.
    pub fn acknowledged<E: Store + Post>(&mut self, tag: u64, env: &mut E) {
        let Some(multicast) = self.batches.multicasts.remove(&tag) else { return };
        for page in multicast.pages {
            let Place::Here(home) = self.places.at(page) else { continue };
            home.pending.retain(|&pending| pending != tag);
        }
        for number in multicast.batches {
            let batch = self.batches.batches.get_mut(&number).expect("it waits");
            batch.waits -= 1;
            if batch.waits == 0 {
                let origin = batch.origin;
                self.batches.batches.remove(&number);
                self.done(origin, env);
            }
        }
    }
    fn done<E: Store + Post>(&mut self, origin: Origin, env: &mut E) {
        match origin {
            Origin::Own => {
                debug_assert!(self.outstanding > 0, "D1: a batch of this node's is over twice");
                self.outstanding -= 1;
            }
            Origin::Node(node, batch) => env.post(node, Message::Done { batch }),
        }
    }
}
