//! The C face of [`dsm`]: memory that nodes share, for programs in C. `include/fifth_dsm.h` has the contract.
//!
//! Invariants:
//! - C1 What the header says of a pointer holds: options, a program and its argument live while the call lasts, and a
//!   node is used by the thread whose program got it, until that program returns.
//! - C2 No panic leaves a function: it becomes an answer and a text ([`answer`]).

use dsm::Use;
use dsm::fault::{Attached, Attempt, Real, Stats, check};
use dsm::protocol::{Homes, Mode, Options};
use fabric::NodeId;
use std::cell::{Cell, RefCell};
use std::ffi::{CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::null_mut;

const OK: c_int = 0;
const FAILED: c_int = -1;
const PAGE_BYTES: usize = 4096;
const WORD: usize = dsm::WORD;

/// `fifth_dsm_node`.
#[derive(Debug)]
pub struct Node<'a> {
    attached: &'a Attached<'a>,
    bytes: usize,
    page_bytes: usize,
    /// Bytes that [`fifth_dsm_alloc`] has given.
    given: Cell<usize>,
}

/// `fifth_dsm_program`.
pub type Program = unsafe extern "C" fn(*const Node<'_>, *mut c_void) -> c_int;
/// The member `home` of `fifth_dsm_options`.
pub type Home = unsafe extern "C" fn(u32, u32, *mut c_void) -> u32;

/// `fifth_dsm_options`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct COptions {
    bytes: usize,
    page_bytes: usize,
    mode: c_int,
    messages: c_int,
    home: Option<Home>,
}

/// `fifth_dsm_stats`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CStats {
    time: u64,
    fetching: u64,
    releasing: u64,
    barriers: u64,
    locks: u64,
    misses: u64,
    fetched_bytes: u64,
    upgrades: u64,
    diffs: u64,
    diff_bytes: u64,
}

thread_local! {
    static ERROR: RefCell<CString> = RefCell::default();
}

/// C2: does something; what goes wrong is kept for [`fifth_dsm_error`].
fn answer(f: impl FnOnce() -> Result<(), String>) -> c_int {
    let wrong = match catch_unwind(AssertUnwindSafe(f)) {
        Ok(Ok(())) => return OK,
        Ok(Err(wrong)) => wrong,
        Err(_) => "a mistake inside the library: see what it wrote to standard error".into(),
    };
    let text = CString::new(wrong.replace('\0', " ")).unwrap_or_default();
    ERROR.with(|error| *error.borrow_mut() = text);
    FAILED
}

/// `fifth_dsm_error`.
#[unsafe(no_mangle)]
pub extern "C" fn fifth_dsm_error() -> *const c_char {
    ERROR.with(|error| error.borrow().as_ptr())
}

/// What a run is made with, and a program with its argument. C1: they may go to other threads.
struct Job {
    options: COptions,
    program: Program,
    argument: *mut c_void,
}

// SAFETY: C1 - the header says that the argument is handed to each node's program.
unsafe impl Sync for Job {}

impl Job {
    fn real(&self) -> Real {
        Real { faults: None, direct: self.options.messages == 0 }
    }
    /// The options of `nodes` nodes, of which `here` are in this process, checked.
    fn options(&self, nodes: u32, here: u32) -> Result<Options, String> {
        let COptions { bytes, page_bytes, mode, home, .. } = self.options;
        let page_bytes = if page_bytes == 0 { PAGE_BYTES } else { page_bytes };
        let mode = match mode {
            0 => Mode::Invalidate,
            1 => Mode::Update,
            other => return Err(format!("mode {other}: 0 invalidates, 1 updates")),
        };
        if nodes == 0 || bytes == 0 {
            return Err(format!("{nodes} nodes that share {bytes} bytes: both must be at least 1"));
        }
        let pages = u32::try_from(bytes.div_ceil(page_bytes));
        let pages =
            pages.map_err(|_| format!("{bytes} bytes are more than 2^32 pages of {page_bytes} bytes"))?;
        let homes = Homes::Blocks { nodes, pages };
        let mut options = Options { node: NodeId(0), nodes, page_bytes, homes, mode };
        // Before a home is asked for each page.
        check(here, &options)?;
        if let Some(home) = home {
            // SAFETY: C1 - the header says that the function takes any page and this argument.
            options.homes =
                (0..pages).map(|page| NodeId(unsafe { home(page, nodes, self.argument) })).collect();
            check(here, &options)?;
        }
        Ok(options)
    }
    /// The program of a node. Anything but 0 ends the run, as a panic does.
    fn live(&self, attached: &Attached<'_>) {
        let page_bytes = attached.page_words() * WORD;
        let bytes = self.options.bytes.div_ceil(page_bytes) * page_bytes;
        let node = Node { attached, bytes, page_bytes, given: Cell::new(0) };
        // SAFETY: C1 - the node lives until the program returns, and the argument is the caller's for it.
        let code = unsafe { (self.program)(&node, self.argument) };
        if code != OK {
            resume_unwind(Box::new(format!("its program returned {code}")));
        }
    }
}

fn job(options: *const COptions, program: Option<Program>, argument: *mut c_void) -> Result<Job, String> {
    // SAFETY: C1 - the options live while the call lasts; null is told from them.
    let options = unsafe { options.as_ref() }.ok_or("no options")?;
    Ok(Job { options: *options, program: program.ok_or("no program")?, argument })
}

/// `fifth_dsm_run`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_dsm_run(
    nodes: u32,
    options: *const COptions,
    program: Option<Program>,
    argument: *mut c_void,
) -> c_int {
    answer(|| {
        let job = job(options, program, argument)?;
        let options = job.options(nodes, nodes)?;
        let of_node = |node| Options { node, ..options.clone() };
        let ended = job.real().run(nodes, of_node, |attached| job.live(attached));
        ended.map(|_| ()).map_err(|failed| failed.to_string())
    })
}

/// `fifth_dsm_join`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_dsm_join(
    options: *const COptions,
    program: Option<Program>,
    argument: *mut c_void,
) -> c_int {
    answer(|| joined(&job(options, program, argument)?))
}

#[cfg(feature = "mpi")]
fn joined(job: &Job) -> Result<(), String> {
    let mut session = fabric::mpi::Session::start().map_err(|error| error.to_string())?;
    let options = job.options(session.nodes(), 1)?;
    let of_node = |node| Options { node, ..options };
    let ended = job.real().join(&mut session, of_node, |attached| job.live(attached));
    // Without its session a failed job ends at once: so the cause is said here.
    ended.map_err(|failed| failed.to_string()).inspect_err(|wrong| eprintln!("fifth_dsm: {wrong}"))?;
    session.finish();
    Ok(())
}

#[cfg(not(feature = "mpi"))]
fn joined(_: &Job) -> Result<(), String> {
    Err("this library was built without its feature `mpi`".into())
}

/// A node's step, which fails once the run has.
fn step(node: *const Node<'_>, f: impl FnOnce(&Node<'_>) -> Result<Attempt<'static>, String>) -> c_int {
    answer(|| {
        // SAFETY: C1 - a node's address comes from its program, which has not returned; null is told from it.
        let node = unsafe { node.as_ref() }.ok_or("no node")?;
        node.attached.attempt(f(node)?).map_err(|lost| lost.to_string())
    })
}

/// `fifth_dsm_barrier`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_dsm_barrier(node: *const Node<'_>) -> c_int {
    step(node, |_| Ok(Attempt::Barrier))
}

/// `fifth_dsm_lock`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_dsm_lock(node: *const Node<'_>, lock: u32) -> c_int {
    step(node, |node| match node.attached.has_lock(lock) {
        true => Err(format!("this node has lock {lock} already")),
        false => Ok(Attempt::Lock(lock)),
    })
}

/// `fifth_dsm_unlock`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_dsm_unlock(node: *const Node<'_>, lock: u32) -> c_int {
    step(node, |node| match node.attached.has_lock(lock) {
        true => Ok(Attempt::Unlock(lock)),
        false => Err(format!("this node does not have lock {lock}")),
    })
}

/// `fifth_dsm_touch`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_dsm_touch(
    node: *const Node<'_>,
    start: *const c_void,
    bytes: usize,
    writes: c_int,
) -> c_int {
    let mut uses = [Use::read(0, 0)];
    answer(|| {
        // SAFETY: C1 - a node's address comes from its program, which has not returned; null is told from it.
        let node = unsafe { node.as_ref() }.ok_or("no node")?;
        let offset = (start as usize).wrapping_sub(node.attached.address());
        let end = offset.checked_add(bytes).filter(|&end| end <= node.bytes);
        let end = end.ok_or("these bytes are not all in the shared memory")?;
        let first = offset / WORD;
        uses[0] = Use { first, words: end.div_ceil(WORD) - first, writes: writes != 0 };
        node.attached.attempt(Attempt::Touch(&uses)).map_err(|lost| lost.to_string())
    })
}

/// `fifth_dsm_get_stats`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_dsm_get_stats(node: *const Node<'_>, stats: *mut CStats) -> c_int {
    answer(|| {
        // SAFETY: C1 - a node's address comes from its program, which has not returned; null is told from it.
        let node = unsafe { node.as_ref() }.ok_or("no node")?;
        let Stats { nanoseconds, counters, work } = node.attached.stats();
        let told = CStats {
            time: nanoseconds,
            fetching: work.fetching,
            releasing: work.releasing,
            barriers: work.barriers,
            locks: work.locks,
            misses: counters.misses,
            fetched_bytes: (counters.misses + counters.refetches) * node.page_bytes as u64,
            upgrades: counters.upgrades(),
            diffs: counters.diffs,
            diff_bytes: counters.diff_bytes,
        };
        if stats.is_null() {
            return Err("no room for the statistics".into());
        }
        // SAFETY: C1: it is room for one.
        unsafe { stats.write(told) };
        Ok(())
    })
}

/// What there is to know of a node; `without` one.
///
/// # Safety
/// C1.
unsafe fn told<R>(node: *const Node<'_>, without: R, f: impl FnOnce(&Node<'_>) -> R) -> R {
    let mut told = without;
    answer(|| {
        // SAFETY: C1 - a node's address comes from its program, which has not returned; null is told from it.
        told = f(unsafe { node.as_ref() }.ok_or("no node")?);
        Ok(())
    });
    told
}

/// `fifth_dsm_rank`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_dsm_rank(node: *const Node<'_>) -> u32 {
    // SAFETY: C1 - the caller passes what the header asks for, which is all that `told` asks for.
    unsafe { told(node, u32::MAX, |node| dsm::Memory::node(node.attached)) }
}

/// `fifth_dsm_nodes`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_dsm_nodes(node: *const Node<'_>) -> u32 {
    // SAFETY: C1 - the caller passes what the header asks for, which is all that `told` asks for.
    unsafe { told(node, 0, |node| dsm::Memory::nodes(node.attached)) }
}

/// `fifth_dsm_memory`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_dsm_memory(node: *const Node<'_>) -> *mut c_void {
    // SAFETY: C1 - the caller passes what the header asks for, which is all that `told` asks for.
    unsafe { told(node, null_mut(), |node| node.attached.address() as *mut c_void) }
}

/// `fifth_dsm_bytes`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_dsm_bytes(node: *const Node<'_>) -> usize {
    // SAFETY: C1 - the caller passes what the header asks for, which is all that `told` asks for.
    unsafe { told(node, 0, |node| node.bytes) }
}

/// `fifth_dsm_alloc`.
///
/// # Safety
/// The header's contract.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fifth_dsm_alloc(node: *const Node<'_>, bytes: usize) -> *mut c_void {
    let mut place = null_mut();
    answer(|| {
        // SAFETY: C1 - a node's address comes from its program, which has not returned; null is told from it.
        let node = unsafe { node.as_ref() }.ok_or("no node")?;
        let start = node.given.get();
        let pages = bytes.max(1).div_ceil(node.page_bytes);
        let end = pages.checked_mul(node.page_bytes).and_then(|bytes| bytes.checked_add(start));
        let end = end.filter(|&end| end <= node.bytes);
        node.given.set(
            end.ok_or_else(|| format!("no room for {bytes} bytes: {} of {} are given", start, node.bytes))?,
        );
        place = (node.attached.address() + start) as *mut c_void;
        Ok(())
    });
    place
}
