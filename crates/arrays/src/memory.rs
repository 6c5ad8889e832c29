//! Where arrays are, and which places are free.

use crate::distant::Distant;
use base::lock;
use dsm::fault::Common;
use dsm::{Use, WORD};
use fabric::NodeId;
use runtime::builtins::error;
use runtime::native::Outcome;
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
pub struct Arrays {
    inner: Arc<Inner>,
    /// Of a node that shares the memory with whoever embeds it: what it has made.
    made: Option<Arc<Made>>,
}

/// A node that has made arrays: they end with it, but for those that somebody looks at.
struct Made(Arc<Inner>);

impl Made {
    /// What tells it from others.
    fn id(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        let mut places = lock(&self.0.places);
        let own = places.live.iter().filter(|(_, live)| live.maker == Some(self.id()));
        let own: Vec<Array> = own.map(|(&first, live)| Array { first, size: live.size }).collect();
        own.into_iter().for_each(|array| _ = places.free(array));
    }
}

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
    /// Arrays that this process has made and that are needed, by their places.
    live: BTreeMap<usize, Live>,
}

/// An array that is needed.
struct Live {
    size: usize,
    /// The node that has made it ([`Made::id`]), if that shares the memory with whoever embeds it.
    maker: Option<usize>,
    /// It counts as heap of the node that has made it; `None`: no node has, or the node has freed it.
    kept: Option<Kept>,
    /// How many look at it.
    views: usize,
    /// It is free when nobody looks at it any more.
    freed: bool,
}

impl Places {
    /// The array is not needed any more, unless somebody looks at it. False: it was freed before.
    fn free(&mut self, array: Array) -> bool {
        match self.live.get_mut(&array.first) {
            Some(live) if live.views > 0 => {
                (live.maker, live.kept) = (None, None);
                return !std::mem::replace(&mut live.freed, true);
            }
            _ => _ = self.live.remove(&array.first),
        }
        let free = self.free.entry(array.size).or_default();
        let new = !free.contains(&array.first);
        if new {
            free.push(array.first);
        }
        new
    }
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
        arrays.inner.common.get_or_init(|| common);
        arrays
    }
    /// There are none, and this says why.
    pub fn none(reason: &str) -> Arrays {
        let arrays = Arrays::default();
        arrays.inner.common.get_or_init(|| Err(reason.into()));
        arrays
    }
    /// Of one of several nodes that send each other pages: each has copies of those that it needs.
    pub fn of_copies(node: u32, nodes: u32) -> Arrays {
        match Distant::new(NodeId(node), nodes, FILE_BYTES) {
            Ok(distant) => {
                let common = OnceLock::from(Ok(distant.common().clone()));
                let distant = Some(Arc::new(Mutex::new(distant)));
                let inner = Arc::new(Inner { common, distant, places: Mutex::default() });
                Arrays { inner, made: None }
            }
            Err(error) => Arrays::none(&refused(&error)),
        }
    }
    /// Whether nodes send each other pages.
    pub fn have_copies(&self) -> bool {
        self.inner.distant.is_some()
    }
    /// A node's programs use these arrays.
    pub fn give(&self, node: &mut Node) {
        node.give(|| State(Some(self.clone())));
        if let Some(distant) = &self.inner.distant {
            node.give(|| distribution::Shared(Some(distant.clone())));
        }
    }
    pub(crate) fn distant(&self) -> Option<MutexGuard<'_, Distant>> {
        self.inner.distant.as_ref().map(|distant| lock(distant))
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
        self.inner.common.get_or_init(make).as_ref().map(|common| &**common).map_err(String::clone)
    }
    fn places(&self) -> MutexGuard<'_, Places> {
        lock(&self.inner.places)
    }
    /// A new array of zeros, which counts as heap. An error says what to do.
    pub(crate) fn allocate<'t>(&self, worker: &mut Terms<'t>, size: usize) -> Result<Array, Answer<'t>> {
        let kept = worker.keep(size * WORD);
        let array = Array { first: self.place(size, |uses| self.touch(worker, uses))?, size };
        let maker = self.made.as_ref().map(|made| made.id());
        let live = Live { size, maker, kept: Some(kept), views: 0, freed: false };
        self.places().live.insert(array.first, live);
        Ok(array)
    }
    /// A place of this number of zeros. `touch`: before they are written.
    fn place<'t>(
        &self,
        size: usize,
        touch: impl FnOnce(&[Use]) -> Result<(), Answer<'t>>,
    ) -> Result<usize, Answer<'t>> {
        let common = self.common().map_err(refusal)?;
        let free = self.places().free.get_mut(&size).and_then(Vec::pop);
        let first = match free {
            Some(first) => {
                if let Err(outcome) = touch(&[Use::write(first, size)]) {
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
        Ok(first)
    }
    /// This process may give the array's place to another one. False: it may already.
    pub(crate) fn free(&self, array: Array) -> bool {
        self.places().free(array)
    }
    /// For a node that shares this memory with whoever embeds it: what it makes ends with it.
    pub fn of_node(&self) -> Arrays {
        Arrays { inner: self.inner.clone(), made: Some(Arc::new(Made(self.inner.clone()))) }
    }
    /// A new array of zeros that belongs to no node. An error says what to do.
    pub fn new_view(&self, size: usize) -> Result<View, String> {
        let first = self.place(size, |_| Ok(())).map_err(|outcome| match outcome {
            Outcome::Error(error) => error.message,
            _ => "arrays: there is no room".into(),
        })?;
        let live = Live { size, maker: None, kept: None, views: 1, freed: true };
        self.places().live.insert(first, live);
        Ok(View { inner: self.inner.clone(), array: Array { first, size }, place: self.address(first)? })
    }
    /// A look at the array that begins at this word and has this size; `None` if this process has made none such.
    pub fn view(&self, first: usize, size: usize) -> Option<View> {
        let place = self.address(first).ok()?;
        let mut places = self.places();
        let live = places.live.get_mut(&first).filter(|live| live.size == size)?;
        live.views += 1;
        Some(View { inner: self.inner.clone(), array: Array { first, size }, place })
    }
    /// The same of an array that another process has made, in a file that both have.
    pub fn view_of_other(&self, first: usize, size: usize) -> Result<View, String> {
        let array = Array { first, size };
        if !array.is_inside(self)? {
            return Err("arrays: there is no such array".into());
        }
        let mut places = self.places();
        let live = Live { size, maker: None, kept: None, views: 0, freed: false };
        places.live.entry(first).or_insert(live).views += 1;
        drop(places);
        Ok(View { inner: self.inner.clone(), array, place: self.address(first)? })
    }
    /// Where a word of this memory is.
    fn address(&self, first: usize) -> Result<usize, String> {
        let common = self.common()?;
        if first >= common.words() {
            return Err("arrays: there is no such word".into());
        }
        Ok(std::ptr::from_ref(common.word(first)).addr())
    }
    /// The file that has the memory, for another process ([`Arrays::of_file`]).
    pub fn file(&self) -> Result<OwnedFd, String> {
        self.common()?.file().try_clone_to_owned().map_err(|error| refused(&error))
    }
    /// Those of another process, which gave its file of this number of bytes.
    pub fn of_file(file: OwnedFd, bytes: usize) -> Arrays {
        let arrays = Arrays::default();
        let common = Common::of(file, bytes).map(Arc::new).map_err(|error| refused(&error));
        arrays.inner.common.get_or_init(|| common);
        arrays
    }
    /// Whether both are the same memory.
    pub fn is(&self, other: &Arrays) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

/// A look at an array from outside. Its place is not given to another one meanwhile.
pub struct View {
    inner: Arc<Inner>,
    array: Array,
    place: usize,
}

impl View {
    /// Where it begins in the memory, in words.
    pub fn first(&self) -> usize {
        self.array.first
    }
    /// How many floats it has.
    pub fn size(&self) -> usize {
        self.array.size
    }
    /// The address of its first float. It is good as long as this is there; whoever follows it sees to it that nobody
    /// writes meanwhile.
    pub fn address(&self) -> usize {
        self.place
    }
    /// Its memory.
    pub fn arrays(&self) -> Arrays {
        Arrays { inner: self.inner.clone(), made: None }
    }
    /// An element, if there is one of this index.
    pub fn get(&self, index: usize) -> Option<f64> {
        let arrays = self.arrays();
        let common = arrays.common().ok()?;
        let inside = index < self.array.size;
        inside.then(|| f64::from_bits(self.array.element(common, index).load(Ordering::Acquire)))
    }
    /// Sets an element; false if there is none of this index.
    pub fn set(&self, index: usize, value: f64) -> bool {
        let arrays = self.arrays();
        let Ok(common) = arrays.common() else { return false };
        if index < self.array.size {
            self.array.element(common, index).store(value.to_bits(), Ordering::Release);
        }
        index < self.array.size
    }
    /// It stays when nobody looks at it any more: a program has it. `array:free` frees it.
    pub fn leave(&self) {
        if let Some(live) = lock(&self.inner.places).live.get_mut(&self.array.first) {
            live.freed = false;
        }
    }
}

impl Drop for View {
    fn drop(&mut self) {
        let mut places = lock(&self.inner.places);
        let Some(live) = places.live.get_mut(&self.array.first) else { return };
        live.views -= 1;
        if live.views == 0 && live.freed {
            places.free(self.array);
        }
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
