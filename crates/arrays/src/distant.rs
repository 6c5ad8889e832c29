//! A node that has copies of pages: what its goals wait for, and what other nodes send.
//!
//! - Only the node's first worker comes here: in goals of the module, and between its turns. So no page changes
//!   between the moment when a goal may use it and its use.
//! - A4 A goal that waits has a variable of its own, which is bound when the page has come that it misses. It is then
//!   reduced from the start, and looks again: the page may have gone meanwhile.

use distribution::{Beside, Letter, Malformed, Parcel, Receivers};
use dsm::fault::Common;
use dsm::{Asked, Page, Use};
use fabric::NodeId;
use runtime::native::Outcome;
use runtime::node::{Answer, Term, Terms};
use runtime::worker::Root;
use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

/// How long a kernel computes before the node looks for messages: about what a page takes that another node wants.
const SLICE: Duration = Duration::from_micros(200);

/// What a kernel's part has still to do.
pub(crate) type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// See the module comment.
pub(crate) struct Distant {
    asked: Asked<Letter>,
    /// Variables of goals, by the page that they miss.
    waiting: BTreeMap<Page, Vec<Root>>,
    /// Those of goals that have given way.
    soon: Vec<Root>,
    /// Parts of kernels that have begun, by what the goal says of them.
    begun: Vec<(Vec<u64>, Work)>,
    /// When the part that is being computed gives way.
    until: Instant,
    /// The page that it misses, if it does.
    misses: Option<Page>,
    /// Messages that were kept in this run.
    kept: u64,
}

impl Distant {
    pub(crate) fn new(node: NodeId, nodes: u32, bytes: u64) -> io::Result<Distant> {
        let (waiting, soon, begun) = (BTreeMap::new(), Vec::new(), Vec::new());
        let (asked, until) = (Asked::new(node, nodes, bytes)?, Instant::now());
        Ok(Distant { asked, waiting, soon, begun, until, misses: None, kept: 0 })
    }
    pub(crate) fn common(&self) -> &Arc<Common> {
        self.asked.common()
    }
    pub(crate) fn allocate(&mut self, words: usize) -> io::Result<usize> {
        self.asked.allocate(words)
    }
    /// False if these words are no array's ([`Asked::may_be_given_out`]).
    pub(crate) fn may_be_given_out(&self, first: usize, words: usize) -> bool {
        self.asked.may_be_given_out(first, words)
    }
    /// A goal may use these words, or waits (A4).
    pub(crate) fn touch<'t>(&mut self, worker: &mut Terms<'t>, uses: &[Use]) -> Result<(), Answer<'t>> {
        match self.asked.may(uses) {
            Ok(()) => Ok(()),
            Err(page) => Err(self.wait(worker, Some(page))?),
        }
    }
    /// A variable for a goal that misses this page, or gives way.
    fn wait<'t>(&mut self, worker: &mut Terms<'t>, page: Option<Page>) -> Result<Answer<'t>, Answer<'t>> {
        worker.ensure(8)?;
        let variable = worker.new_variable();
        let root = worker.root(variable);
        match page {
            Some(page) => self.waiting.entry(page).or_default().push(root),
            None => self.soon.push(root),
        }
        Ok(Outcome::Wait(variable))
    }
    /// A kernel may use these words, or has to wait: see [`Distant::put_back`].
    pub(crate) fn reach(&mut self, uses: &[Use]) -> Poll<()> {
        self.misses = None;
        if Instant::now() > self.until {
            return Poll::Pending;
        }
        self.misses = self.asked.may(uses).err();
        if self.misses.is_some() { Poll::Pending } else { Poll::Ready(()) }
    }
    /// What there is still to do of a part that is known by these words, if it has begun. Its time begins.
    pub(crate) fn take(&mut self, known: &[u64]) -> Option<Work> {
        self.until = Instant::now() + SLICE;
        let place = self.begun.iter().position(|(words, _)| words == known)?;
        Some(self.begun.swap_remove(place).1)
    }
    /// A part is not at its end: what its goal waits for.
    pub(crate) fn put_back<'t>(&mut self, worker: &mut Terms<'t>, known: Vec<u64>, work: Work) -> Answer<'t> {
        self.begun.push((known, work));
        let page = self.misses.take();
        self.wait(worker, page).unwrap_or_else(|full| full)
    }
}

impl Beside for Distant {
    fn begin(&mut self, worker: &mut Terms<'_>) {
        let waiting = std::mem::take(&mut self.waiting).into_values().flatten();
        waiting.chain(self.soon.drain(..)).for_each(|root| _ = worker.take_root(root));
        (self.misses, self.kept) = (None, 0);
        self.begun.clear();
        self.asked.begin();
    }
    fn receive(
        &mut self,
        worker: &mut Terms<'_>,
        from: NodeId,
        kind: u32,
        words: &[u64],
        bytes: &[u8],
    ) -> Result<(), Malformed> {
        let pages = self.asked.receive(from, kind, words, bytes);
        for page in pages.map_err(|malformed| Malformed(malformed.0))? {
            wake(worker, self.waiting.remove(&page).into_iter().flatten());
        }
        Ok(())
    }
    fn acknowledged(&mut self, number: u64) {
        self.asked.acknowledged(number);
    }
    fn must_keep(&self, shows: bool) -> bool {
        self.asked.must_keep(shows)
    }
    fn keep(&mut self, letter: Letter, shows: bool) {
        self.kept += 1;
        self.asked.keep(letter, shows);
    }
    fn heard(&mut self) {
        self.asked.heard();
    }
    fn next_letter(&mut self) -> Option<Letter> {
        self.asked.next_kept()
    }
    fn next_parcel(&mut self) -> Option<Parcel> {
        let (to, (kind, words, bytes)) = match self.asked.next_parcel()? {
            dsm::Parcel::One(to, priority, letter) => (Receivers::One(to, priority), letter),
            dsm::Parcel::Many(to, number, letter) => (Receivers::Many(to, number), letter),
        };
        Some(Parcel { to, kind, words, bytes })
    }
    fn go_on(&mut self, worker: &mut Terms<'_>) -> bool {
        let any = !self.soon.is_empty();
        wake(worker, self.soon.drain(..));
        any
    }
    fn counts(&self) -> Vec<(&'static str, u64)> {
        let of = self.asked.counters();
        let counts = vec![
            ("page misses", of.misses),
            ("page upgrades", of.upgrades()),
            ("page releases", of.releases),
            ("page diffs sent", of.diffs),
            ("bytes of page diffs", of.diff_bytes),
            ("page copies dropped", of.reached),
            ("messages kept", self.kept),
        ];
        if counts.iter().all(|&(_, count)| count == 0) { Vec::new() } else { counts }
    }
}

/// The goals that wait for these variables are ready.
fn wake(worker: &mut Terms<'_>, variables: impl Iterator<Item = Root>) {
    for root in variables {
        let variable = worker.take_root(root);
        worker.unify(variable, Term::NIL);
    }
}
