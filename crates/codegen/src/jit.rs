//! Putting an image where it can run: the only unsafe module of this crate.
//!
//! Invariants:
//! - J1 The mapping is writable only before it is executable, and stays for as long as the process lives: entries of
//!   workers and goals that run lead into it, and nothing says when the last of them is gone.
//! - J2 An image's `enter` offset lies inside its code, where `generate` put a function of this type.
//! - J3 [`Pages`] are pages that nothing else shares, and are never written.
//! - J4 An [`OwnFile`] is a mapping that stays and is never written. The system does not let the file of an executable
//!   that runs be written either; whoever gets round that exchanges Fifth's own code just as well.

use crate::image::{CODE_ALIGNMENT, Code, Image};
use crate::places::CodePlace;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap, mmap_anonymous, mprotect};
use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::ptr;
use term::abi::{Position, PredicateId, WorkerAbi};

/// From Rust into generated code: runs from `entry` (an address from [`LoadedCode`], or an entry of the worker's
/// table) until the scheduler is needed, and answers the status as a number (`term::abi::Status`).
///
/// The worker must be as C1 to C5 of `term::abi` say: its `heap`, `goals`, limits, tables and helpers are in place.
pub type Enter = unsafe extern "C" fn(*mut WorkerAbi, entry: usize) -> u64;

/// Code that is mapped executable, for the rest of the process's life.
#[derive(Debug)]
pub struct LoadedCode {
    base: *mut c_void,
    size: usize,
    entries: Vec<(PredicateId, u32)>,
    native_entry: u32,
    enter: u32,
    places: Vec<CodePlace>,
}

// SAFETY: the mapping is only read and executed (J1), from any thread.
unsafe impl Send for LoadedCode {}
// SAFETY: J1; no method changes anything.
unsafe impl Sync for LoadedCode {}

/// The file of this executable, mapped for the rest of the process's life: the system reads what is touched.
#[derive(Clone, Copy, Debug)]
pub struct OwnFile(&'static [u8]);

/// Code in this executable's file.
#[derive(Clone, Copy, Debug)]
pub struct InPlace(&'static [u8]);

impl OwnFile {
    /// Maps it.
    pub fn map() -> io::Result<OwnFile> {
        let file = File::open("/proc/self/exe")?;
        let size = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        // SAFETY: J4 - a new mapping at an address that the system chooses touches nothing that exists.
        let base = unsafe { mmap(ptr::null_mut(), size, ProtFlags::READ, MapFlags::PRIVATE, &file, 0)? };
        // SAFETY: J4 - `base` leads to `size` bytes that can be read and that nobody writes from now on.
        Ok(OwnFile(unsafe { std::slice::from_raw_parts(base.cast(), size) }))
    }
    /// All of it.
    pub fn bytes(self) -> &'static [u8] {
        self.0
    }
    /// A part of it as code that runs where it is; `None` if it cannot.
    pub(crate) fn code(self, part: &'static [u8]) -> Option<InPlace> {
        let inside = self.0.as_ptr_range().start <= part.as_ptr()
            && part.as_ptr_range().end <= self.0.as_ptr_range().end;
        (inside && part.as_ptr().addr().is_multiple_of(CODE_ALIGNMENT)).then_some(InPlace(part))
    }
}

impl InPlace {
    pub(crate) fn bytes(&self) -> &'static [u8] {
        self.0
    }
    /// Makes it executable, with what else lies in the same pages, and gives its address.
    fn make_executable(self) -> io::Result<*mut c_void> {
        let base = self.0.as_ptr().cast::<c_void>().cast_mut();
        let before = base.addr() % PAGE;
        // SAFETY: J4 - the pages are those of an `OwnFile` (`OwnFile::code`), and can be read afterwards as before.
        unsafe {
            let (start, size) = (base.byte_sub(before), before + self.0.len());
            mprotect(start, size, MprotectFlags::READ | MprotectFlags::EXEC)?;
        }
        Ok(base)
    }
}

/// Makes an image executable. Running it is as trustworthy as where it came from.
pub fn load(image: &Image) -> io::Result<LoadedCode> {
    let base = match &image.code {
        Code::Own(code) => map_executable(code)?,
        Code::InPlace(code) => code.make_executable()?,
    };
    Ok(LoadedCode {
        base,
        size: image.code.len(),
        entries: image.entries.clone(),
        native_entry: image.native_entry,
        enter: image.enter,
        places: image.places.clone(),
    })
}

/// A copy of the code that can run.
fn map_executable(code: &[u8]) -> io::Result<*mut c_void> {
    let size = code.len().max(1);
    // SAFETY: J1 - an anonymous mapping at an address that the system chooses touches nothing that exists.
    let base = unsafe {
        mmap_anonymous(ptr::null_mut(), size, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)?
    };
    // SAFETY: `base` leads to `size` fresh writable bytes (J1), and `code` is not longer.
    unsafe { ptr::copy_nonoverlapping(code.as_ptr(), base.cast(), code.len()) };
    // SAFETY: J1 - the range is the mapping just made; nothing holds a reference into it.
    unsafe { mprotect(base, size, MprotectFlags::READ | MprotectFlags::EXEC)? };
    Ok(base)
}

/// Bytes of a page.
pub const PAGE: usize = 4096;

/// The code of an image as a part of the executable: pages that the system reads when they are touched. `N` is a
/// multiple of [`PAGE`].
#[repr(C, align(4096))]
#[derive(Debug)]
pub struct Pages<const N: usize>(pub [u8; N]);

impl<const N: usize> Pages<N> {
    /// Makes it executable where it lies, and gives its address; the image's offsets count from there. Running it is as
    /// trustworthy as where it came from.
    pub fn make_executable(&'static self) -> io::Result<usize> {
        const { assert!(N.is_multiple_of(PAGE) && N > 0 && align_of::<Self>() == PAGE) };
        let base = ptr::from_ref(self).cast::<c_void>().cast_mut();
        // SAFETY: J3 - by its alignment and size the range is whole pages of this value alone; they stay readable.
        unsafe { mprotect(base, N, MprotectFlags::READ | MprotectFlags::EXEC)? };
        Ok(base as usize)
    }
}

impl LoadedCode {
    /// The address of a predicate's entry.
    pub fn entry_address(&self, predicate: PredicateId) -> Option<usize> {
        let index = self.entries.binary_search_by_key(&predicate, |&(id, _)| id).ok()?;
        Some(self.base as usize + self.entries[index].1 as usize)
    }
    /// All predicates with the addresses of their entries.
    pub fn entries(&self) -> impl Iterator<Item = (PredicateId, usize)> + '_ {
        self.entries.iter().map(|&(id, offset)| (id, self.base as usize + offset as usize))
    }
    /// The entry of every predicate that the runtime implements: answers `Status::Native`.
    pub fn native_entry(&self) -> usize {
        self.base as usize + self.native_entry as usize
    }
    /// The way in.
    pub fn enter(&self) -> Enter {
        let address = self.base as usize + self.enter as usize;
        // SAFETY: J2 - `enter` is the offset of a function of this type in the code, which is mapped executable (J1).
        unsafe { std::mem::transmute::<usize, Enter>(address) }
    }
    /// Where the code at an address comes from; `None` of routines that all programs have, and if nobody asked for
    /// places.
    pub fn place(&self, address: usize) -> Option<Position> {
        let offset = address.checked_sub(self.base as usize).filter(|&offset| offset < self.size)?;
        let behind = self.places.partition_point(|place| place.offset as usize <= offset);
        Some(self.places[behind.checked_sub(1)?].position)
    }
    /// All places with the addresses from which on they are.
    pub fn places(&self) -> impl Iterator<Item = (usize, Position)> + '_ {
        self.places.iter().map(|place| (self.base as usize + place.offset as usize, place.position))
    }
    /// Where the code lies: for profilers' symbol files.
    pub fn range(&self) -> std::ops::Range<usize> {
        self.base as usize..self.base as usize + self.size
    }
}
