//! Memory that the system refuses to Rust code, under `ulimit -v` for one.
//!
//! Code that asks fallibly (`try_reserve`) is told, and goes on. All other code ends in the standard library, which
//! says how many bytes were refused and aborts: then the process ends with an exit code instead of a signal.
//!
//! Invariants:
//! - M6 [`Allocator`] answers what the system's allocator answers, and does nothing else but note a refusal.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Something was refused. Relaxed: an abort because of it happens in the same thread.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// The system's allocator, for a command that calls [`exit_when_refused`].
#[derive(Debug)]
pub struct Allocator;

fn noted(memory: *mut u8) -> *mut u8 {
    if memory.is_null() {
        REFUSED.store(true, Relaxed);
    }
    memory
}

// SAFETY: M6 - all four are the system's.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: M6 - the caller keeps the rules of `GlobalAlloc`.
        noted(unsafe { System.alloc(layout) })
    }
    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: M6 - the caller keeps the rules of `GlobalAlloc`, and has the block of this very allocator.
        unsafe { System.dealloc(memory, layout) }
    }
    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: M6 - the caller keeps the rules of `GlobalAlloc`, and has the block of this very allocator.
        noted(unsafe { System.alloc_zeroed(layout) })
    }
    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: M6 - the caller keeps the rules of `GlobalAlloc`, and has the block of this very allocator.
        noted(unsafe { System.realloc(memory, layout, bytes) })
    }
}

/// What is given back to the allocator in pieces of this many bytes or more goes back to the system at once.
const GIVEN_BACK_BYTES: libc::c_int = 128 << 10;

/// From now on large pieces of memory that are freed go back to the system. By itself the GNU library keeps pieces of
/// up to 32 MB once one was freed, in each thread: lists of records that wait would take several times their size.
pub fn give_back_large() {
    #[cfg(target_env = "gnu")]
    // SAFETY: M6 - it changes a parameter of the system's allocator, and is safe to call from any thread.
    let taken = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, GIVEN_BACK_BYTES) };
    #[cfg(target_env = "gnu")]
    debug_assert_eq!(taken, 1, "it takes up to 32 MB");
}

/// From now on an abort after a refusal writes `message` to standard error and ends the process with this exit code.
pub fn exit_when_refused(message: &'static str, code: i32) -> std::io::Result<()> {
    let action = move || {
        if REFUSED.load(Relaxed) {
            // Nobody is left to tell when standard error is closed.
            let _ = rustix::io::write(rustix::stdio::stderr(), message.as_bytes());
            signal_hook::low_level::exit(code);
        }
    };
    // SAFETY: M6 - the action reads an atomic, writes and ends the process, all of which signal handlers may do;
    // nothing of it allocates.
    unsafe { signal_hook::low_level::register(signal_hook::consts::SIGABRT, action) }.map(|_| ())
}
