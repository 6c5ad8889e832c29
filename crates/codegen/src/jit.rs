//! Putting an image where it can run: the only unsafe module of this crate.
//!
//! Invariants:
//! - J1 The mapping is writable only before it is executable, and stays for as long as the process lives: entries of
//!   workers and goals that run lead into it, and nothing says when the last of them is gone.
//! - J2 An image's `enter` offset lies inside its code, where `generate` put a function of this type.
//! - J3 [`Pages`] are pages that nothing else shares, and are never written.

use crate::image::Image;
use crate::places::CodePlace;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect};
use std::ffi::c_void;
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

/// Maps an image executable. Running it is as trustworthy as where it came from.
pub fn load(image: &Image) -> io::Result<LoadedCode> {
    let size = image.code.len().max(1);
    // SAFETY: J1 - an anonymous mapping at an address that the system chooses touches nothing that exists.
    let base = unsafe {
        mmap_anonymous(ptr::null_mut(), size, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)?
    };
    let loaded = LoadedCode {
        base,
        size,
        entries: image.entries.clone(),
        native_entry: image.native_entry,
        enter: image.enter,
        places: image.places.clone(),
    };
    // SAFETY: `base` leads to `size` fresh writable bytes (J1), and `code` is not longer.
    unsafe { ptr::copy_nonoverlapping(image.code.as_ptr(), base.cast(), image.code.len()) };
    // SAFETY: J1 - the range is the mapping just made; nothing holds a reference into it.
    unsafe { mprotect(base, size, MprotectFlags::READ | MprotectFlags::EXEC)? };
    Ok(loaded)
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
