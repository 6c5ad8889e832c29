//! Page faults that the system leaves to the process (`userfaultfd`), in the mode in which the thread that touched
//! gets SIGBUS. Rights are in the page table alone, so they take no maps, and pages of several runs change faster.
//!
//! - U1 The view is registered with the descriptor as long as that is open; nobody else changes its page table.
//!
//! | a page | in the page table | a touch |
//! |---|---|---|
//! | nothing allowed | absent | SIGBUS: missing (nobody has written it) or minor |
//! | may be read | write-protected | a write: SIGBUS |
//! | may be written | writable | |
//!
//! The system may take pages out of the table at any time; the touch that follows finds them again.

use crate::Access;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::OnceLock;

// linux/userfaultfd.h (Linux 6.4 and later have all of it); `libc` has none of these.
const USER_MODE_ONLY: libc::c_int = 1;
const API: u64 = 0xaa;
const FEATURE_SIGBUS: u64 = 1 << 7;
const FEATURE_MINOR_SHMEM: u64 = 1 << 10;
const FEATURE_WP_SHMEM: u64 = 1 << 12;
const REGISTER_MISSING: u64 = 1;
const REGISTER_WP: u64 = 2;
const REGISTER_MINOR: u64 = 4;
const WRITEPROTECT_WP: u64 = 1;
const CONTINUE_WP: u64 = 2;
const IOCTL_API: libc::c_ulong = 0xc018_aa3f;
const IOCTL_REGISTER: libc::c_ulong = 0xc020_aa00;
const IOCTL_UNREGISTER: libc::c_ulong = 0x8010_aa01;
const IOCTL_WRITEPROTECT: libc::c_ulong = 0xc018_aa06;
const IOCTL_CONTINUE: libc::c_ulong = 0xc020_aa07;

/// A view whose faults are left to the process.
#[derive(Debug)]
pub(super) struct Registered {
    file: OwnedFd,
}

/// A descriptor that can do all that is needed.
fn open() -> io::Result<OwnedFd> {
    // SAFETY: U1 - the call makes a new descriptor, and touches no memory.
    let file =
        unsafe { libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC | USER_MODE_ONLY) } as libc::c_int;
    if file < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: U1 - it was opened just now, and nobody else has it.
    let file = unsafe { OwnedFd::from_raw_fd(file) };
    let mut api = [API, FEATURE_SIGBUS | FEATURE_MINOR_SHMEM | FEATURE_WP_SHMEM, 0];
    call(&file, IOCTL_API, &mut api)?;
    Ok(file)
}

/// Whether this system lets the process have its own page faults. Asked once.
pub(super) fn is_there() -> bool {
    static THERE: OnceLock<bool> = OnceLock::new();
    *THERE.get_or_init(|| open().is_ok())
}

fn call<const N: usize>(file: &OwnedFd, number: libc::c_ulong, words: &mut [u64; N]) -> io::Result<()> {
    // SAFETY: U1 - the number says how many words are read and written: no more than there are.
    let done = unsafe { libc::ioctl(file.as_raw_fd(), number, words.as_mut_ptr()) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

impl Registered {
    /// A view of a memory file, `bytes` from `start` on, of which nothing is allowed at first.
    pub(super) fn new(start: *mut u8, bytes: usize) -> io::Result<Registered> {
        let whole = (start as usize | bytes).is_multiple_of(system_page());
        assert!(whole && bytes > 0, "U1: {bytes} bytes from {start:?} on are no view");
        let file = open()?;
        let modes = REGISTER_MISSING | REGISTER_WP | REGISTER_MINOR;
        call(&file, IOCTL_REGISTER, &mut [start as u64, bytes as u64, modes, 0])?;
        Ok(Registered { file })
    }
    /// Changes what is allowed, of pages for which that was the same before. They are in the file.
    pub(super) fn change(
        &self,
        start: *mut u8,
        bytes: usize,
        before: Access,
        access: Access,
    ) -> io::Result<()> {
        match (before, access) {
            (Access::None, Access::Read) => self.fill_in(start as u64, bytes as u64, CONTINUE_WP),
            (Access::None, Access::Write) => self.fill_in(start as u64, bytes as u64, 0),
            (Access::Read, Access::Write) => self.protect(start, bytes, 0),
            (Access::Write, Access::Read) => self.protect(start, bytes, WRITEPROTECT_WP),
            (_, Access::None) => {
                // SAFETY: U1 - the pages are of a file: they leave the page table only.
                let done = unsafe { libc::madvise(start.cast(), bytes, libc::MADV_DONTNEED) };
                if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
            }
            _ => Ok(()),
        }
    }
    /// The system has taken a page out of the table, of which this is allowed: puts it back.
    pub(super) fn refresh(&self, start: *mut u8, bytes: usize, access: Access) -> io::Result<()> {
        debug_assert!(bytes.is_multiple_of(system_page()), "U1: {bytes} bytes of a view");
        if access == Access::None {
            return Ok(());
        }
        let protected = if access == Access::Read { CONTINUE_WP } else { 0 };
        self.fill_in(start as u64, bytes as u64, protected)?;
        self.protect(start, bytes, if access == Access::Read { WRITEPROTECT_WP } else { 0 })
    }
    /// Anything is allowed from now on.
    pub(super) fn open(&self, start: *mut u8, bytes: usize) {
        // If the system refuses it, the touch comes again, and with it the next attempt.
        let _ = call(&self.file, IOCTL_UNREGISTER, &mut [start as u64, bytes as u64]);
    }
    /// Puts pages of the file into the table.
    fn fill_in(&self, start: u64, bytes: u64, mode: u64) -> io::Result<()> {
        let mut at = 0;
        while at < bytes {
            let mut words = [start + at, bytes - at, mode, 0];
            match call(&self.file, IOCTL_CONTINUE, &mut words) {
                Ok(()) => return Ok(()),
                // Some of them are done, or none.
                Err(error) => match error.raw_os_error() {
                    Some(libc::EAGAIN) => at += u64::try_from(words[3].cast_signed()).unwrap_or(0),
                    Some(libc::EEXIST) => at += system_page() as u64,
                    _ => return Err(error),
                },
            }
        }
        Ok(())
    }
    fn protect(&self, start: *mut u8, bytes: usize, mode: u64) -> io::Result<()> {
        loop {
            match call(&self.file, IOCTL_WRITEPROTECT, &mut [start as u64, bytes as u64, mode]) {
                Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => {}
                done => return done,
            }
        }
    }
}

/// Bytes of a page of the system.
pub(super) fn system_page() -> usize {
    // SAFETY: U1 - it reads no memory.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}
