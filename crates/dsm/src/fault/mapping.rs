//! The pages of a real node: one piece of memory that is mapped twice. Programs use the view, where pages are
//! protected; the protocol uses the alias, where nothing is.
//!
//! Invariants:
//! - M1 View and alias are whole mappings of `pages` pages from when a `Mapping` is made until it is dropped, which is
//!   after the node's program has ended. All access through the alias, and to single words, is atomic.
//! - M2 What is passed to the system was made just before: a name that ends with a zero, a descriptor, a mapping that
//!   is not used yet; a mapping outlives its descriptor.
//! - M3 Before and behind each mapping lie [`GUARD_BYTES`] bytes of the address space that nobody may touch, as long as
//!   it lives: a pointer that runs beyond the memory of a node reaches no other node's.

use super::user::{Registered, system_page};
use crate::{Access, Page, Store, Use, View, WORD};
use std::ffi::CStr;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The system's bound, unless somebody has changed it.
const MAPS: &str = "65,530 at most by default";
const NAME: &CStr = c"fifth shared memory";

/// Both mappings of a node.
///
/// - M1 `alias` and `view` are mappings of `pages` pages each, of the same memory, until this is dropped. The alias
///   may be read and written; what the view allows, the protocol has said.
#[derive(Debug)]
pub(crate) struct Mapping {
    file: OwnedFd,
    alias: *mut u8,
    view: *mut u8,
    pages: usize,
    page_bytes: usize,
    rights: Rights,
    /// What the program may do with each page; empty if everything.
    held: Vec<Access>,
    /// What it is to be allowed with pages, but for what it is not yet.
    pending: Vec<(Page, Access)>,
    /// Why a page could not be protected.
    refusal: Option<String>,
}

/// How the view is protected.
#[derive(Debug)]
enum Rights {
    /// Not at all: all nodes have the same memory, and the view is the alias.
    Open,
    /// By `mprotect`: touches get SIGSEGV.
    Protections,
    /// By the page table: touches get SIGBUS.
    User(Registered),
}

/// M3.
const GUARD_BYTES: usize = 64 << 10;

/// One mapping of the file, whole pages of the system, with its guards (M3).
fn map(file: &OwnedFd, bytes: usize, protection: libc::c_int) -> io::Result<*mut u8> {
    let all = bytes.checked_add(2 * GUARD_BYTES).ok_or(io::ErrorKind::OutOfMemory)?;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: M2 - a new mapping, at a place that the system chooses.
    let whole = unsafe { libc::mmap(std::ptr::null_mut(), all, libc::PROT_NONE, flags, -1, 0) };
    if whole == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let flags = libc::MAP_SHARED | libc::MAP_FIXED;
    // SAFETY: M2 - its middle is replaced, which nobody has used; what is left of it are the guards.
    unsafe {
        let start = whole.cast::<u8>().add(GUARD_BYTES);
        if libc::mmap(start.cast(), bytes, protection, flags, file.as_raw_fd(), 0) == libc::MAP_FAILED {
            let error = io::Error::last_os_error();
            libc::munmap(whole, all);
            return Err(error);
        }
        Ok(start)
    }
}

/// Ends a mapping and its guards.
///
/// # Safety
/// M1: it is one of [`map`], and nobody uses it any more.
unsafe fn unmap(start: *mut u8, bytes: usize) {
    debug_assert!((start as usize | bytes).is_multiple_of(system_page()), "M3: no mapping of this module");
    // SAFETY: M3 - the guards are part of it.
    unsafe { libc::munmap(start.sub(GUARD_BYTES).cast(), bytes + 2 * GUARD_BYTES) };
}

/// Memory that can be mapped, of zeros.
pub(crate) fn memory(bytes: usize) -> io::Result<OwnedFd> {
    // SAFETY: M2 - the name ends with a zero, and the system makes a descriptor of its own.
    let file = unsafe { libc::memfd_create(NAME.as_ptr(), libc::MFD_CLOEXEC) };
    if file < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: M2 - the descriptor was made just now, and nobody else has it.
    let file = unsafe { OwnedFd::from_raw_fd(file) };
    // SAFETY: M2 - the descriptor is open; what it stands for has no mapping yet.
    let sized = unsafe { libc::ftruncate(file.as_raw_fd(), bytes.max(1) as libc::off_t) };
    if sized == 0 { Ok(file) } else { Err(io::Error::last_os_error()) }
}

impl Mapping {
    /// Pages of zeros, of which the program may use nothing. `by_user`: its touches are left to the process by
    /// `userfaultfd`.
    pub(crate) fn new(pages: usize, page_bytes: usize, by_user: bool) -> io::Result<Mapping> {
        let bytes = bytes(pages, page_bytes)?;
        let mut mapping = Mapping::open_to_all(memory(bytes)?, pages, page_bytes)?;
        if by_user {
            mapping.view = map(&mapping.file, bytes, libc::PROT_READ | libc::PROT_WRITE)?;
            mapping.rights = Rights::User(Registered::new(mapping.view, bytes)?);
        } else {
            mapping.view = map(&mapping.file, bytes, libc::PROT_NONE)?;
            mapping.rights = Rights::Protections;
        }
        mapping.held = vec![Access::None; pages];
        Ok(mapping)
    }
    /// Pages that other nodes have mapped, too, and of which everybody may use everything.
    pub(crate) fn open_to_all(file: OwnedFd, pages: usize, page_bytes: usize) -> io::Result<Mapping> {
        let alias = map(&file, bytes(pages, page_bytes)?, libc::PROT_READ | libc::PROT_WRITE)?;
        let (rights, held, pending) = (Rights::Open, Vec::new(), Vec::new());
        Ok(Mapping { file, alias, view: alias, pages, page_bytes, rights, held, pending, refusal: None })
    }
    /// What is mapped.
    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
    pub(crate) fn page_words(&self) -> usize {
        self.page_bytes / WORD
    }
    /// The program's words.
    pub(crate) fn words(&self) -> Words {
        Words { view: self.view, words: self.pages * self.page_words() }
    }
    /// Why the system has not done what the protocol said, with what to do (D11).
    pub(crate) fn refusal(&self) -> Option<&str> {
        self.refusal.as_deref()
    }
    /// Where some pages of the view begin, and their bytes.
    fn place(&self, pages: &Range<usize>) -> (*mut u8, usize) {
        assert!(pages.start <= pages.end && pages.end <= self.pages, "{pages:?} of {} pages", self.pages);
        // SAFETY: M1: the pages are part of the view.
        let start = unsafe { self.view.add(pages.start * self.page_bytes) };
        (start, pages.len() * self.page_bytes)
    }
    fn protect(&self, pages: &Range<usize>, access: Access) -> io::Result<()> {
        let protection = match access {
            Access::None => libc::PROT_NONE,
            Access::Read => libc::PROT_READ,
            Access::Write => libc::PROT_READ | libc::PROT_WRITE,
        };
        let (start, bytes) = self.place(pages);
        // SAFETY: M1: the pages are part of the view.
        let done = unsafe { libc::mprotect(start.cast(), bytes, protection) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
    /// The program may do this with some pages, with which it could do the same before.
    fn change(&mut self, pages: Range<usize>, access: Access) {
        if self.refusal.is_some() || matches!(self.rights, Rights::Open) {
            return;
        }
        let before = self.held[pages.start];
        debug_assert!(
            self.held[pages.clone()].iter().all(|&held| held == before),
            "M1: {pages:?} are one map"
        );
        self.held[pages.clone()].fill(access);
        let done = match &self.rights {
            Rights::Open => Ok(()),
            _ if before == access => Ok(()),
            Rights::Protections => self.protect(&pages, access),
            Rights::User(registered) => {
                let (start, bytes) = self.place(&pages);
                match registered.change(start, bytes, before, access) {
                    // Nobody has written some of them.
                    Err(error) if error.raw_os_error() == Some(libc::EFAULT) => {
                        self.reserve(&pages).and_then(|()| registered.change(start, bytes, before, access))
                    }
                    done => done,
                }
            }
        };
        if let Err(error) = done {
            self.refusal = Some(self.explain(&pages, &error));
            self.open();
        }
    }
    fn explain(&self, pages: &Range<usize>, error: &io::Error) -> String {
        let page = pages.start;
        if matches!(self.rights, Rights::User(_)) {
            return format!(
                "page {page} of {} cannot be given to the program: {error}. FIFTH_DSM_FAULTS=segv does it in \
                 another way; with too little memory, use fewer pages",
                self.pages
            );
        }
        format!(
            "page {page} of {} cannot be protected: {error}. Neighbours with different rights are maps of their own, \
             and a process has {MAPS}: raise vm.max_map_count (sysctl), or use pages of more than {} bytes",
            self.pages, self.page_bytes
        )
    }
    /// Gives some pages memory.
    pub(super) fn reserve(&self, pages: &Range<usize>) -> io::Result<()> {
        let (offset, bytes) = (pages.start * self.page_bytes, pages.len() * self.page_bytes);
        if available().is_some_and(|available| bytes > available) {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        // SAFETY: M1 - the pages are part of the file.
        let done = unsafe { libc::fallocate(self.file.as_raw_fd(), 0, offset as i64, bytes as i64) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
    /// A touch was not allowed although it is: the system has forgotten it.
    pub(crate) fn refresh(&mut self, page: Page) {
        let page = page as usize..page as usize + 1;
        let (start, bytes) = self.place(&page);
        let Rights::User(registered) = &self.rights else { return };
        if let Err(error) = registered.refresh(start, bytes, self.held[page.start]) {
            self.refusal = Some(self.explain(&page, &error));
            self.open();
        }
    }
    /// What the program may do with a page.
    pub(crate) fn held(&self, page: Page) -> Access {
        self.held.get(page as usize).copied().unwrap_or(Access::Write)
    }
    /// The program may write these pages, of which it might do nothing.
    pub(crate) fn open_pages(&mut self, pages: Range<usize>) {
        self.change(pages, Access::Write);
    }
    /// The program may do anything with all pages, whatever is in them: the run has failed (D11).
    pub(crate) fn open(&self) {
        let all = 0..self.pages;
        match &self.rights {
            Rights::Open => {}
            // Pages with equal rights are one map of the process, so this takes none. If the system refuses it all
            // the same, the touch comes again, and with it the next attempt.
            Rights::Protections => _ = self.protect(&all, Access::Write),
            Rights::User(registered) => {
                let (start, bytes) = self.place(&all);
                registered.open(start, bytes);
            }
        }
    }
    fn alias(&self, page: Page) -> &[AtomicU64] {
        assert!((page as usize) < self.pages, "page {page} of {}", self.pages);
        // SAFETY: M1; a page is whole words, and begins at a multiple of its size. All access through the alias is
        // atomic.
        unsafe {
            std::slice::from_raw_parts(
                self.alias.add(page as usize * self.page_bytes).cast::<AtomicU64>(),
                self.page_words(),
            )
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        let bytes = (self.pages * self.page_bytes).max(system_page());
        // SAFETY: M1; the node's program has ended, and with it what has borrowed the view.
        unsafe {
            unmap(self.alias, bytes);
            if self.view != self.alias {
                unmap(self.view, bytes);
            }
        }
    }
}

impl Store for Mapping {
    fn read(&self, page: Page, into: &mut [u8]) {
        debug_assert_eq!(into.len(), self.page_bytes, "M1: a page is read whole");
        into.chunks_exact_mut(WORD).zip(self.alias(page)).for_each(|(bytes, word)| {
            bytes.copy_from_slice(&word.load(Relaxed).to_le_bytes());
        });
    }
    fn write(&mut self, page: Page, at: usize, bytes: &[u8]) {
        let end = at + bytes.len();
        debug_assert!(end <= self.page_bytes && (at | end).is_multiple_of(WORD), "M1: whole words of a page");
        bytes.chunks_exact(WORD).zip(&self.alias(page)[at / WORD..]).for_each(|(bytes, word)| {
            word.store(u64::from_le_bytes(bytes.try_into().expect("8 bytes")), Relaxed);
        });
    }
    fn access(&mut self, page: Page, access: Access) {
        self.settle();
        self.change(page as usize..page as usize + 1, access);
    }
    fn access_later(&mut self, page: Page, access: Access) {
        if !matches!(self.rights, Rights::Open) {
            self.pending.push((page, access));
        }
    }
    fn settle(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let mut pending = std::mem::take(&mut self.pending);
        // Stable: what was said last counts.
        pending.sort_by_key(|&(page, _)| page);
        let mut run: Option<(Range<usize>, Access, Access)> = None;
        for (number, &(page, access)) in pending.iter().enumerate() {
            if pending.get(number + 1).is_some_and(|&(next, _)| next == page) {
                continue;
            }
            let (page, before) = (page as usize, self.held[page as usize]);
            match &mut run {
                Some((pages, old, new)) if pages.end == page && (*old, *new) == (before, access) => {
                    pages.end += 1
                }
                _ => {
                    if let Some((pages, _, access)) = run.take() {
                        self.change(pages, access);
                    }
                    run = Some((page..page + 1, before, access));
                }
            }
        }
        if let Some((pages, _, access)) = run {
            self.change(pages, access);
        }
        pending.clear();
        self.pending = pending;
    }
}

/// The bytes of so many pages, of which a mapping has one of the system's at least. An error if they are not whole
/// pages of the system.
fn bytes(pages: usize, page_bytes: usize) -> io::Result<usize> {
    if !page_bytes.is_multiple_of(system_page()) {
        let text = format!("pages of {page_bytes} bytes: those of this system have {}", system_page());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    let bytes = pages.checked_mul(page_bytes).ok_or(io::ErrorKind::OutOfMemory)?;
    Ok(bytes.max(system_page()))
}

/// A line of what the system says of its memory, in bytes.
fn memory_line(text: &str, name: &str) -> Option<usize> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().strip_suffix(" kB")?.parse::<usize>().ok()?.checked_mul(1024)
}

/// The bytes of memory that can be had, where the system says it.
pub(super) fn available() -> Option<usize> {
    memory_line(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable")
}

/// The bytes of memory and swap that this host has, where the system says it.
pub(super) fn of_host() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    memory_line(&text, "MemTotal")?.checked_add(memory_line(&text, "SwapTotal")?)
}

/// A node's view, for its program: 64-bit words, by number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words {
    view: *mut u8,
    words: usize,
}

// SAFETY: M1: a view may be used from any thread: pages are brought whoever touches them is, and words are atomic.
unsafe impl Send for Words {}
// SAFETY: M1 - as for `Send`: threads share atomic words, through a copied address.
unsafe impl Sync for Words {}

impl Words {
    pub(crate) fn start(self) -> usize {
        self.view as usize
    }
    pub(crate) fn bytes(self) -> usize {
        self.words * WORD
    }
    pub(crate) fn len(self) -> usize {
        self.words
    }
    /// A word, which may fault.
    pub(crate) fn word(&self, number: usize) -> &AtomicU64 {
        assert!(number < self.words, "word {number} of {}", self.words);
        // SAFETY: M1: it is a word of the view, which lives as long as the node; a fault brings the page. All access
        // here is atomic.
        unsafe { &*self.view.cast::<AtomicU64>().add(number) }
    }
    /// The words of these uses, in their order. What one of them writes must not overlap another: panics.
    pub(crate) fn views(&mut self, uses: &[Use]) -> Vec<View<'_>> {
        let mut order: Vec<&Use> = uses.iter().collect();
        order.sort_by_key(|each| (each.first, each.words));
        // The ends of all uses before, and of those that write.
        let (mut end, mut written) = (0, 0);
        for each in order {
            let free = if each.writes { end } else { written };
            assert!(free <= each.first, "{each:?} overlaps another use");
            end = end.max(each.first.saturating_add(each.words));
            written = if each.writes { end } else { written };
        }
        let view = |each: &Use| {
            let end = each.first.checked_add(each.words);
            assert!(end.is_some_and(|end| end <= self.words), "{each:?} is beyond the end of the memory");
            let first = self.view.cast::<f64>();
            // SAFETY: M1: words of the view; what one use writes, no other has. That the protocol writes none of them
            // meanwhile is what the program promises: it has no races.
            unsafe {
                let first = first.add(each.first);
                if each.writes {
                    View::Write(std::slice::from_raw_parts_mut(first, each.words))
                } else {
                    View::Read(std::slice::from_raw_parts(first, each.words))
                }
            }
        };
        uses.iter().map(view).collect()
    }
}
