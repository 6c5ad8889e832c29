//! Which of standard output and standard error were closed when the process began.
//!
//! The Rust library opens /dev/null for those before `main`, and what a program writes there would be lost without a
//! word. So they are looked at before that, among the initialisers of the executable.
//!
//! Invariant C1: `look` needs nothing that the Rust library sets up before `main`: it makes two system calls and stores
//! to a static. The loader calls initialisers one after the other in the only thread.

use rustix::fd::{AsRawFd, BorrowedFd};
use rustix::io::{Errno, fcntl_getfd};
use std::sync::atomic::{AtomicU32, Ordering};

/// A bit for each closed descriptor.
static CLOSED: AtomicU32 = AtomicU32::new(0);

extern "C" fn look() {
    let closed = |fd: &BorrowedFd<'_>| fcntl_getfd(fd) == Err(Errno::BADF);
    let both = [rustix::stdio::stdout(), rustix::stdio::stderr()];
    let bits = both.iter().filter(|fd| closed(fd)).map(|fd| 1 << fd.as_raw_fd()).sum();
    CLOSED.store(bits, Ordering::Relaxed);
}

// SAFETY: C1; the section holds addresses of functions with the C convention.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

/// Whether it was closed: standard output or standard error.
pub(super) fn was_closed(fd: BorrowedFd<'_>) -> bool {
    let bit = 1u32.checked_shl(fd.as_raw_fd().unsigned_abs()).unwrap_or(0);
    CLOSED.load(Ordering::Relaxed) & bit != 0
}
