//! Where arrays are, and which places are free.

use crate::distant::Distant;
use dsm::fault::Common;
use dsm::{Use, WORD};
use fabric::NodeId;
use runtime::builtins::error;
use runtime::node::{Answer, Node, Terms};
use runtime::outcome::ErrorKind;
use runtime::worker::Kept;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::task::Poll;

/// Bytes of the file that [`Arrays::of`] takes, and of all nodes that have copies: address space, of which only what
/// arrays need gets memory.
pub const FILE_BYTES: u64 = 64 << 30;
/// If the system refuses more address space than this, there are no arrays.
const LEAST_BYTES: u64 = 16 << 20;

/// The memory of all arrays of a run, for the nodes of this process; if they have copies of its pages, for one of them.
#[derive(Clone, Default)]
pub struct Arrays(Arc<Inner>);

#[derive(Default)]
struct Inner {
    /// Made when somebody wants an array. The error says what to do.
    common: OnceLock<Result<Arc<Common>, String>>,
    /// Of a node that has copies of pages.
    distant: Option<Arc<Mutex<Distant>>>,
    places: Mutex<Places>,
}

#[derive(Default)]
struct Places {
    /// Those of arrays that are not needed any more, by their size.
    free: BTreeMap<usize, Vec<usize>>,
    /// Arrays that this process has made, by their places: they count as heap of the node that has made them.
    kept: BTreeMap<usize, Kept>,
}

/// An array: words of the memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Array {
    pub(crate) first: usize,
    pub(crate) size: usize,
}

/// A worker's way to the arrays.
#[derive(Default)]
pub(crate) struct State(Option<Arrays>);

impl Arrays {
    /// Of nodes that are processes of one host: they have this file in common, [`FILE_BYTES`] zeros at first.
    pub fn of(file: OwnedFd) -> Arrays {
        let arrays = Arrays::default();
        let common = Common::of(file, FILE_BYTES as usize).map(Arc::new).map_err(|error| refused(&error));
        arrays.0.common.get_or_init(|| common);
        arrays
    }
    /// There are none, and this says why.
    pub fn none(reason: &str) -> Arrays {
        let arrays = Arrays::default();
        arrays.0.common.get_or_init(|| Err(reason.into()));
        arrays
    }
    /// Of one of several nodes that send each other pages: each has copies of those that it needs.
    pub fn of_copies(node: u32, nodes: u32) -> Arrays {
        match Distant::new(NodeId(node), nodes, FILE_BYTES) {
            Ok(distant) => {
                let common = OnceLock::from(Ok(distant.common().clone()));
                let distant = Some(Arc::new(Mutex::new(distant)));
                Arrays(Arc::new(Inner { common, distant, places: Mutex::default() }))
            }
            Err(error) => Arrays::none(&refused(&error)),
        }
    }
    /// Whether nodes send each other pages.
    pub fn have_copies(&self) -> bool {
        self.0.distant.is_some()
    }
    /// A node's programs use these arrays.
    pub fn give(&self, node: &mut Node) {
        node.give(|| State(Some(self.clone())));
        if let Some(distant) = &self.0.distant {
            node.give(|| distribution::Shared(Some(distant.clone())));
        }
    }
    pub(crate) fn distant(&self) -> Option<MutexGuard<'_, Distant>> {
        self.0.distant.as_ref().map(|distant| base::lock(distant))
    }
    /// The goal that is being reduced may use these words, or waits until it may.
    pub(crate) fn touch<'t>(&self, worker: &mut Terms<'t>, uses: &[Use]) -> Result<(), Answer<'t>> {
        self.distant().map_or(Ok(()), |mut distant| distant.touch(worker, uses))
    }
    /// A kernel may use these words, or waits ([`Distant::put_back`]).
    pub(crate) fn reach(&self, uses: &[Use]) -> Poll<()> {
        self.distant().map_or(Poll::Ready(()), |mut distant| distant.reach(uses))
    }
    /// Those of the node that this worker belongs to; the error says what to do.
    pub(crate) fn of_worker(worker: &mut Terms<'_>) -> Result<Arrays, String> {
        worker.state::<State>().0.clone().ok_or_else(|| "this node shares no memory with others".into())
    }
    pub(crate) fn common(&self) -> Result<&Common, String> {
        let make = || {
            let halves = std::iter::successors(Some(FILE_BYTES), |bytes| Some(bytes / 2));
            let mut last = None;
            for bytes in halves.take_while(|&bytes| bytes >= LEAST_BYTES) {
                match Common::new(bytes as usize) {
                    Ok(common) => return Ok(Arc::new(common)),
                    Err(error) => last = Some(error),
                }
            }
            Err(last.map_or_else(String::new, |error| refused(&error)))
        };
        self.0.common.get_or_init(make).as_ref().map(|common| &**common).map_err(String::clone)
    }
    fn places(&self) -> MutexGuard<'_, Places> {
        base::lock(&self.0.places)
    }
    /// A new array of zeros, which counts as heap. An error says what to do.
    pub(crate) fn allocate<'t>(&self, worker: &mut Terms<'t>, size: usize) -> Result<Array, Answer<'t>> {
        let kept = worker.keep(size * WORD);
        let common = self.common().map_err(refusal)?;
        let free = self.places().free.get_mut(&size).and_then(Vec::pop);
        let first = match free {
            Some(first) => {
                if let Err(outcome) = self.touch(worker, &[Use::write(first, size)]) {
                    self.places().free.entry(size).or_default().push(first);
                    return Err(outcome);
                }
                (first..first + size).for_each(|word| common.word(word).store(0, Ordering::Relaxed));
                first
            }
            None => {
                let first = match self.distant() {
                    Some(mut distant) => distant.allocate(size),
                    None => common.allocate(size),
                };
                first.map_err(|error| refusal(no_room(size, &error)))?
            }
        };
        self.places().kept.insert(first, kept);
        Ok(Array { first, size })
    }
    /// This process may give the array's place to another one. False: it may already.
    pub(crate) fn free(&self, array: Array) -> bool {
        let mut places = self.places();
        places.kept.remove(&array.first);
        let free = places.free.entry(array.size).or_default();
        let new = !free.contains(&array.first);
        if new {
            free.push(array.first);
        }
        new
    }
}

impl Array {
    /// A1. False if a program has made it up.
    pub(crate) fn is_inside(&self, arrays: &Arrays) -> Result<bool, String> {
        let common = arrays.common()?;
        Ok(match arrays.distant() {
            Some(distant) => distant.may_be_given_out(self.first, self.size),
            None => common.gave_out(self.first, self.size),
        })
    }
    /// Some of its words, to be used.
    pub(crate) fn part(&self, index: usize, words: usize, writes: bool) -> Use {
        Use { first: self.first + index, words, writes }
    }
    /// The word of an element of an array that [is inside](Array::is_inside); an index beyond its end panics.
    pub(crate) fn element<'a>(&self, common: &'a Common, index: usize) -> &'a AtomicU64 {
        assert!(index < self.size, "element {index} of {}", self.size);
        common.word(self.first + index)
    }
}

/// What is wrong with the memory.
pub(crate) fn refusal<'t>(reason: String) -> Answer<'t> {
    error(ErrorKind::Other, format!("arrays: {reason}"))
}

fn refused(error: &io::Error) -> String {
    format!(
        "the system refuses address space for arrays: {error}; `ulimit -v` shows what this shell allows (in KiB)"
    )
}

fn no_room(size: usize, error: &io::Error) -> String {
    let mebibytes = size.saturating_mul(WORD).div_ceil(1 << 20);
    format!(
        "there is no room for an array of {size} floats ({mebibytes} MiB): {error}; array:free/1 gives room back"
    )
}
