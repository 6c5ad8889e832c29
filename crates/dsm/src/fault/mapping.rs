//! The pages of a real node: one piece of memory that is mapped twice. Programs use the view, where pages are
//! protected; the protocol uses the alias, where nothing is.
//!
//! Invariants:
//! - M1 View and alias are whole mappings of `pages` pages from when a `Mapping` is made until it is dropped, which is
//!   after the node's program has ended. All access through the alias, and to single words, is atomic.
//! - M2 What is passed to the system was made just before: a name that ends with a zero, a descriptor, a mapping that
//!   is not used yet; a mapping outlives its descriptor.

use crate::{Access, Page, Store, Use, View, WORD};
use std::ffi::CStr;
use std::io;
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
    alias: *mut u8,
    view: *mut u8,
    pages: usize,
    page_bytes: usize,
    /// Why a page could not be protected.
    refusal: Option<String>,
}

/// One mapping of the file.
fn map(file: libc::c_int, bytes: usize, protection: libc::c_int) -> io::Result<*mut u8> {
    // SAFETY: a new mapping at a place that the system chooses (M1).
    let place = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, libc::MAP_SHARED, file, 0) };
    if place == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(place.cast()) }
}

impl Mapping {
    /// Pages of zeros, of which the program may use nothing.
    pub(crate) fn new(pages: usize, page_bytes: usize) -> io::Result<Mapping> {
        // SAFETY: M2 - it reads no memory.
        let system = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        if !page_bytes.is_multiple_of(system) {
            let text = format!("pages of {page_bytes} bytes: those of this system have {system}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let bytes = (pages * page_bytes).max(system);
        // SAFETY: M2.
        let file = unsafe { libc::memfd_create(NAME.as_ptr(), libc::MFD_CLOEXEC) };
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: M2.
        let sized = unsafe { libc::ftruncate(file, bytes as libc::off_t) };
        let result = if sized != 0 {
            Err(io::Error::last_os_error())
        } else {
            map(file, bytes, libc::PROT_READ | libc::PROT_WRITE).and_then(|alias| {
                let view = map(file, bytes, libc::PROT_NONE).inspect_err(|_| {
                    // SAFETY: M2.
                    unsafe { libc::munmap(alias.cast(), bytes) };
                })?;
                Ok(Mapping { alias, view, pages, page_bytes, refusal: None })
            })
        };
        // SAFETY: M2.
        unsafe { libc::close(file) };
        result
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
    /// What the view allows in some pages from `first` on.
    fn protect(&self, first: usize, pages: usize, protection: libc::c_int) -> io::Result<()> {
        assert!(first + pages <= self.pages, "{pages} pages from {first} on, of {}", self.pages);
        // SAFETY: M1: the pages are part of the view.
        let done = unsafe {
            libc::mprotect(self.view.add(first * self.page_bytes).cast(), pages * self.page_bytes, protection)
        };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
    /// The program may do anything with all pages, whatever is in them: the run has failed (D11).
    pub(crate) fn open(&self) {
        // Pages with equal rights are one map of the process, so this takes none. If the system refuses it all the
        // same, the touch comes again, and with it the next attempt.
        let _ = self.protect(0, self.pages, libc::PROT_READ | libc::PROT_WRITE);
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
        let bytes = (self.pages * self.page_bytes).max(1);
        // SAFETY: M1; the node's program has ended, and with it what has borrowed the view.
        unsafe {
            libc::munmap(self.alias.cast(), bytes);
            libc::munmap(self.view.cast(), bytes);
        }
    }
}

impl Store for Mapping {
    fn read(&self, page: Page, into: &mut [u8]) {
        into.chunks_exact_mut(WORD).zip(self.alias(page)).for_each(|(bytes, word)| {
            bytes.copy_from_slice(&word.load(Relaxed).to_le_bytes());
        });
    }
    fn write(&mut self, page: Page, at: usize, bytes: &[u8]) {
        bytes.chunks_exact(WORD).zip(&self.alias(page)[at / WORD..]).for_each(|(bytes, word)| {
            word.store(u64::from_le_bytes(bytes.try_into().expect("8 bytes")), Relaxed);
        });
    }
    fn access(&mut self, page: Page, access: Access) {
        if self.refusal.is_some() {
            return;
        }
        let protection = match access {
            Access::None => libc::PROT_NONE,
            Access::Read => libc::PROT_READ,
            Access::Write => libc::PROT_READ | libc::PROT_WRITE,
        };
        if let Err(error) = self.protect(page as usize, 1, protection) {
            self.refusal = Some(format!(
                "page {page} of {} cannot be protected: {error}. Neighbours with different rights are maps of their \
                 own, and a process has {MAPS}: raise vm.max_map_count (sysctl), or use pages of more than {} bytes",
                self.pages, self.page_bytes
            ));
            self.open();
        }
    }
}

/// A node's view, for its program: 64-bit words, by number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words {
    view: *mut u8,
    words: usize,
}

// SAFETY: M1: a view may be used from any thread: pages are brought whoever touches them is, and words are atomic.
unsafe impl Send for Words {}
// SAFETY: M1.
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
    /// The words of these uses, in their order; uses that overlap panic.
    pub(crate) fn views(&mut self, uses: &[Use]) -> Vec<View<'_>> {
        let mut order: Vec<&Use> = uses.iter().collect();
        order.sort_by_key(|each| (each.first, each.words));
        for pair in order.windows(2) {
            assert!(pair[0].first + pair[0].words <= pair[1].first, "{:?} overlaps another use", pair[1]);
        }
        let view = |each: &Use| {
            let end = each.first.checked_add(each.words);
            assert!(end.is_some_and(|end| end <= self.words), "{each:?} is beyond the end of the memory");
            let first = self.view.cast::<f64>();
            // SAFETY: M1: words of the view that no other use has. That the protocol writes none of them meanwhile is
            // what the program promises: it has no races.
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
