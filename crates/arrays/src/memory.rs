//! Where arrays are, and which places are free.

use dsm::WORD;
use dsm::fault::Common;
use runtime::node::Node;
use runtime::worker::{Kept, Worker};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Bytes of the file that [`Arrays::of`] takes: address space, of which only what arrays need gets memory.
pub const FILE_BYTES: u64 = 64 << 30;
/// If the system refuses more address space than this, there are no arrays.
const LEAST_BYTES: u64 = 16 << 20;

/// The memory of all arrays of a run, for the nodes of this process.
#[derive(Clone, Default)]
pub struct Arrays(Arc<Inner>);

#[derive(Default)]
struct Inner {
    /// Made when somebody wants an array. The error says what to do.
    common: OnceLock<Result<Common, String>>,
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
        let common = Common::of(file, FILE_BYTES as usize).map_err(|error| refused(&error));
        arrays.0.common.get_or_init(|| common);
        arrays
    }
    /// There are none, and this says why.
    pub fn none(reason: &str) -> Arrays {
        let arrays = Arrays::default();
        arrays.0.common.get_or_init(|| Err(reason.into()));
        arrays
    }
    /// A node's programs use these arrays.
    pub fn give(&self, node: &mut Node) {
        node.give(|| State(Some(self.clone())));
    }
    /// Those of the node that this worker belongs to; the error says what to do.
    pub(crate) fn of_worker(worker: &mut Worker) -> Result<Arrays, String> {
        worker.state::<State>().0.clone().ok_or_else(|| "this node shares no memory with others".into())
    }
    pub(crate) fn common(&self) -> Result<&Common, String> {
        let make = || {
            let halves = std::iter::successors(Some(FILE_BYTES), |bytes| Some(bytes / 2));
            let mut last = None;
            for bytes in halves.take_while(|&bytes| bytes >= LEAST_BYTES) {
                match Common::new(bytes as usize) {
                    Ok(common) => return Ok(common),
                    Err(error) => last = Some(error),
                }
            }
            Err(last.map_or_else(String::new, |error| refused(&error)))
        };
        self.0.common.get_or_init(make).as_ref().map_err(String::clone)
    }
    fn places(&self) -> MutexGuard<'_, Places> {
        self.0.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// A new array of zeros, which counts as `kept`. The error says what to do.
    pub(crate) fn allocate(&self, size: usize, kept: Kept) -> Result<Array, String> {
        let common = self.common()?;
        let mut places = self.places();
        let first = match places.free.get_mut(&size).and_then(Vec::pop) {
            Some(first) => {
                (first..first + size).for_each(|word| common.word(word).store(0, Ordering::Relaxed));
                first
            }
            None => common.allocate(size).map_err(|error| no_room(size, &error))?,
        };
        places.kept.insert(first, kept);
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
    /// A1.
    pub(crate) fn is_inside(&self, common: &Common) -> bool {
        self.first.checked_add(self.size).is_some_and(|end| end <= common.words())
    }
    /// The word of an element of an array that [is inside](Array::is_inside); an index beyond its end panics.
    pub(crate) fn element<'a>(&self, common: &'a Common, index: usize) -> &'a AtomicU64 {
        assert!(index < self.size, "element {index} of {}", self.size);
        common.word(self.first + index)
    }
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
