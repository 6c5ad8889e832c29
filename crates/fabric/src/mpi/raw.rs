//! Transfers that own their bytes: the calls of MPI that take a buffer now and use it later.
//!
//! The safe interface of the `mpi` crate ties such a buffer to a scope of the caller's, but these live as long as a
//! run does.
//!
//! Invariants:
//! - X1 While a request is active, its transfer owns the buffer, which nobody reads, writes, moves to other memory or
//!   frees. A transfer that is dropped before its end gives up the buffer instead of freeing it.
//! - X2 One thread at a time calls MPI, which was begun so (`MPI_THREAD_SERIALIZED`). A [`Channel`] and all transfers
//!   stay with their thread, for neither is `Send`; who nevertheless moves them moves all of a fabric, under a lock,
//!   and calls MPI in no other way meanwhile.
//! - X3 A communicator outlives its channel's requests, and MPI is finalised after all of them.
//! - X4 A window's part of the first process has `count` words, `APART_BYTES` apart.
//! - X5 What the library calls a constant may be read at any time once it is initialised.
//! - X6 A status is read only after the library has written it, or as the zeros that it was made of.

use super::launch;
use mpi::ffi::{self, MPI_Aint, MPI_Comm, MPI_Datatype, MPI_Request, MPI_Status, MPI_Win};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{AsRaw, Communicator};
use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit, take};
use std::rc::Rc;
use std::sync::atomic::AtomicU32;

/// What MPI moves at once; longer transfers are several. All nodes must mean the same.
const CHUNK_BYTES: usize = 1 << 30;

/// In a buffer, behind the longest packet: a hole, and a byte that is received if there is more (see [`packet`]).
const BEHIND: usize = 2;

/// The nodes that can be sent to.
pub(super) struct Channel {
    raw: MPI_Comm,
    /// Never freed (X3): the library does that when it ends, and to free one is a call of all nodes together, which
    /// one that fails cannot make.
    world: ManuallyDrop<SimpleCommunicator>,
    /// What is received from anybody: a number of this type.
    packet: (c_int, MPI_Datatype),
    packet_bytes: usize,
    /// Of each transfer that is longer: so long are its pieces but the last.
    pub(super) chunk_bytes: usize,
}

/// Where a transfer comes from or goes to, and which of several between two nodes it is.
#[derive(Clone, Copy)]
struct Line {
    node: c_int,
    tag: c_int,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Send,
    /// A packet, from anybody.
    Receive,
    /// Every byte of the buffer, from one node.
    ReceiveAll,
}

/// One on its way, or at its end.
pub(super) struct Transfer {
    buffer: Vec<u8>,
    direction: Direction,
    line: Line,
    /// Bytes that complete requests have moved.
    moved: usize,
    request: MPI_Request,
    active: bool,
    /// X2.
    _stays: PhantomData<Rc<()>>,
}

/// What a transfer that is complete has moved.
#[derive(Clone, Copy)]
pub(super) struct Complete {
    /// The sender; what it is of a send does not matter.
    pub(super) from: u32,
    /// None if what came was longer than it may be, or, if all of the buffer was to be received, shorter.
    pub(super) bytes: Option<usize>,
}

impl Channel {
    /// A communicator of its own, so that nobody else's messages come here. The most bytes of a packet.
    pub(super) fn new(world: &SimpleCommunicator, packet_bytes: usize) -> Channel {
        let world = ManuallyDrop::new(world.duplicate());
        let raw = world.as_raw();
        // SAFETY: X5 - MPI is initialised: a communicator was had before.
        let all = unsafe { ffi::RSMPI_COMM_WORLD };
        // So that a sender of too much can be named. What is to be done about an error of a request, MPICH asks the
        // communicator of all processes.
        for communicator in [raw, all] {
            // SAFETY: X3; a constant of the library.
            succeeded(unsafe { ffi::MPI_Comm_set_errhandler(communicator, ffi::RSMPI_ERRORS_RETURN) });
        }
        let packet = packet(packet_bytes as c_int);
        Channel { raw, world, packet, packet_bytes, chunk_bytes: CHUNK_BYTES }
    }
    pub(super) fn world(&self) -> &SimpleCommunicator {
        &self.world
    }
    pub(super) fn send(&self, buffer: Vec<u8>, to: u32, tag: i32) -> Transfer {
        self.begin(buffer, Direction::Send, Line { node: to as c_int, tag })
    }
    /// Receives a packet from anybody, into a buffer of [`Channel::packet_buffer`]'s.
    pub(super) fn receive(&self, buffer: Vec<u8>, tag: i32) -> Transfer {
        assert!(buffer.len() == self.packet_bytes + BEHIND, "X1");
        // SAFETY: X5 - MPI is initialised: a communicator was had before.
        let node = unsafe { ffi::RSMPI_ANY_SOURCE };
        self.begin(buffer, Direction::Receive, Line { node, tag })
    }
    pub(super) fn packet_buffer(&self) -> Vec<u8> {
        vec![0; self.packet_bytes + BEHIND]
    }
    /// Receives as many bytes as the buffer has. How many there are is looked at before they are received; the
    /// transfer is complete with none if they are more or fewer.
    pub(super) fn receive_all(&self, buffer: Vec<u8>, from: u32, tag: i32) -> Transfer {
        self.begin(buffer, Direction::ReceiveAll, Line { node: from as c_int, tag })
    }
    fn begin(&self, buffer: Vec<u8>, direction: Direction, line: Line) -> Transfer {
        // SAFETY: X5 - MPI is initialised: a communicator was had before.
        let request = unsafe { ffi::RSMPI_REQUEST_NULL };
        let mut transfer =
            Transfer { buffer, direction, line, moved: 0, request, active: false, _stays: PhantomData };
        transfer.next_chunk(self);
        transfer
    }
    /// Begins to wait for all nodes; ends when all have begun.
    pub(super) fn barrier(&self) -> Transfer {
        let line = Line { node: 0, tag: 0 };
        // SAFETY: X5 - MPI is initialised: a communicator was had before.
        let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
        // SAFETY: X3; the request is written before the call returns.
        succeeded(unsafe { ffi::MPI_Ibarrier(self.raw, &mut request) });
        let direction = Direction::Send;
        Transfer { buffer: Vec::new(), direction, line, moved: 0, request, active: true, _stays: PhantomData }
    }
}

impl Transfer {
    /// Begins to move the next chunk, but for one that is to be looked at first.
    fn next_chunk(&mut self, channel: &Channel) {
        let rest = &mut self.buffer[self.moved..];
        let count = rest.len().min(channel.chunk_bytes) as c_int;
        let start = rest.as_mut_ptr().cast();
        let Line { node, tag } = self.line;
        let request = &mut self.request;
        // SAFETY: X1 - `count` bytes from `start` on lie in the buffer, which stays as it is until the request is
        // complete; X2, X3.
        succeeded(unsafe {
            match self.direction {
                Direction::Send => {
                    ffi::MPI_Isend(start, count, ffi::RSMPI_UINT8_T, node, tag, channel.raw, request)
                }
                Direction::Receive => {
                    let (count, packet) = channel.packet;
                    ffi::MPI_Irecv(start, count, packet, node, tag, channel.raw, request)
                }
                Direction::ReceiveAll => return,
            }
        });
        self.active = true;
    }

    /// Begins to receive the next chunk if it is there and as long as it must be; false if it is not as long.
    fn match_chunk(&mut self, channel: &Channel) -> bool {
        let rest = &mut self.buffer[self.moved..];
        let expected = rest.len().min(channel.chunk_bytes) as c_int;
        let start = rest.as_mut_ptr().cast();
        let Line { node, tag } = self.line;
        let (mut there, mut count): (c_int, c_int) = (0, 0);
        let mut status = MaybeUninit::<MPI_Status>::uninit();
        // SAFETY: X5 - MPI is initialised: a communicator was had before.
        let mut message = unsafe { ffi::RSMPI_MESSAGE_NULL };
        // SAFETY: all places are valid for writing; X2, X3.
        succeeded(unsafe {
            ffi::MPI_Improbe(node, tag, channel.raw, &mut there, &mut message, status.as_mut_ptr())
        });
        if there == 0 {
            return true;
        }
        // SAFETY: X6 - there is a message.
        let status = unsafe { status.assume_init() };
        // SAFETY: X2, X6 - a status of a message, and a place for the count.
        succeeded(unsafe { ffi::MPI_Get_count(&status, ffi::RSMPI_UINT8_T, &mut count) });
        if count != expected {
            return false;
        }
        // SAFETY: X1 - `count` bytes from `start` on lie in the buffer, which stays as it is until the request is
        // complete, and the message has no more; X2, X3.
        succeeded(unsafe {
            ffi::MPI_Imrecv(start, count, ffi::RSMPI_UINT8_T, &mut message, &mut self.request)
        });
        self.active = true;
        true
    }

    /// Whether it is complete; it gets on by being asked.
    pub(super) fn test(&mut self, channel: &Channel) -> Option<Complete> {
        if !self.active && self.direction == Direction::ReceiveAll && !self.match_chunk(channel) {
            return Some(Complete { from: self.line.node as u32, bytes: None });
        }
        if !self.active {
            return None;
        }
        let mut done: c_int = 0;
        let mut status = MaybeUninit::<MPI_Status>::zeroed();
        // SAFETY: the request is active; both places are valid for writing; X2.
        let code = unsafe { ffi::MPI_Test(&mut self.request, &mut done, status.as_mut_ptr()) };
        // SAFETY: X6 - zeros, or what the library has written: any bits are numbers.
        let status = unsafe { status.assume_init() };
        let from = status.MPI_SOURCE as u32;
        if is_truncated(code) {
            self.active = false;
            return Some(Complete { from, bytes: None });
        }
        succeeded(code);
        if done == 0 {
            return None;
        }
        self.active = false;
        if self.direction == Direction::Receive {
            let mut count: c_int = 0;
            // SAFETY: X2, X6 - a status of a receive, and a place for the count.
            succeeded(unsafe { ffi::MPI_Get_count(&status, ffi::RSMPI_UINT8_T, &mut count) });
            let bytes = count as usize;
            return Some(Complete { from, bytes: (bytes <= channel.packet_bytes).then_some(bytes) });
        }
        self.moved += self.buffer[self.moved..].len().min(channel.chunk_bytes);
        if self.moved < self.buffer.len() {
            self.next_chunk(channel);
            return None;
        }
        Some(Complete { from, bytes: Some(self.moved) })
    }

    /// The buffer of a complete transfer.
    pub(super) fn into_buffer(mut self) -> Vec<u8> {
        assert!(!self.active, "X1");
        take(&mut self.buffer)
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        if !self.active {
            return;
        }
        if self.direction != Direction::Send {
            let mut done: c_int = 0;
            // SAFETY: an active request (X2); nobody waits for it any more.
            unsafe {
                ffi::MPI_Cancel(&mut self.request);
                ffi::MPI_Test(&mut self.request, &mut done, ffi::RSMPI_STATUS_IGNORE);
            }
            self.active = done == 0;
        }
        if self.active {
            // X1: the library may still use it.
            std::mem::forget(take(&mut self.buffer));
        }
    }
}

/// Words that all processes of a host share.
///
/// Invariant X4: the memory is there until [`SharedWords::free`], which nobody's reference outlives, and everybody
/// treats it as atomic words.
pub(super) struct SharedWords {
    window: MPI_Win,
    base: *const AtomicU32,
    count: usize,
}

/// Between two of them: other processors' cache lines, and pairs of lines, which are fetched together.
const APART_BYTES: usize = 128;

// SAFETY: X4: what threads share are atomic words. The window is used by who has all of it (X2).
unsafe impl Send for SharedWords {}
// SAFETY: X4 - a shared reference gives atomic words only.
unsafe impl Sync for SharedWords {}

impl SharedWords {
    /// So many, of these processes, which call this together and are on one host. What is in them is to be written
    /// first.
    pub(super) fn new(here: &SimpleCommunicator, count: usize) -> SharedWords {
        let bytes = if here.rank() == 0 { (count * APART_BYTES) as MPI_Aint } else { 0 };
        let mut base: *mut c_void = std::ptr::null_mut();
        // SAFETY: X5 - MPI is initialised: a communicator was had before.
        let info = unsafe { ffi::RSMPI_INFO_NULL };
        // SAFETY: X5 - MPI is initialised: a communicator was had before.
        let mut window = unsafe { ffi::RSMPI_WIN_NULL };
        // SAFETY: X2; the places are valid for writing.
        succeeded(unsafe {
            let base = (&raw mut base).cast();
            ffi::MPI_Win_allocate_shared(bytes, 1, info, here.as_raw(), base, &mut window)
        });
        let (mut bytes, mut unit): (MPI_Aint, c_int) = (0, 0);
        // SAFETY: X2; the window is there, and the places are valid for writing.
        succeeded(unsafe {
            let base = (&raw mut base).cast();
            ffi::MPI_Win_shared_query(window, 0, &mut bytes, &mut unit, base)
        });
        assert!(!base.is_null() && base.cast::<AtomicU32>().is_aligned(), "MPI shares no words");
        assert!(bytes as usize >= count * APART_BYTES, "MPI shares fewer bytes than it was asked for");
        SharedWords { window, base: base.cast(), count }
    }
    pub(super) fn get(&self, index: usize) -> &AtomicU32 {
        assert!(index < self.count);
        // SAFETY: X4 - the index is below `count`, so the word lies in the first process's part.
        unsafe { &*self.base.byte_add(index * APART_BYTES) }
    }
    /// All processes call this together.
    pub(super) fn free(mut self) {
        // SAFETY: X2, X4; it is freed once, for it is gone then.
        succeeded(unsafe { ffi::MPI_Win_free(&mut self.window) });
    }
}

/// So many of which type are received where a packet may come. Open MPI 4.1 fetches a long message from the memory of
/// a sender on the same host and writes all of it, however little room there is, but not into a type with a hole.
/// There is one behind all that a fabric sends, so that the library still copies that at once. For others (MPICH) a
/// type with a hole is slow, and they always write no more than there is room for.
fn packet(bytes: c_int) -> (c_int, MPI_Datatype) {
    if !launch::library().contains("Open MPI") {
        // SAFETY: X5 - MPI is initialised: a communicator was had before.
        return (bytes, unsafe { ffi::RSMPI_UINT8_T });
    }
    let (lengths, places) = ([bytes, 1], [0, bytes + 1]);
    // SAFETY: X5 - MPI is initialised: a communicator was had before.
    let mut packet = unsafe { ffi::RSMPI_DATATYPE_NULL };
    let place = &mut packet;
    // SAFETY: X2; there are two lengths and two places.
    succeeded(unsafe {
        ffi::MPI_Type_indexed(2, lengths.as_ptr(), places.as_ptr(), ffi::RSMPI_UINT8_T, place)
    });
    // SAFETY: X2; the type is there.
    succeeded(unsafe { ffi::MPI_Type_commit(&mut packet) });
    (1, packet)
}

/// Whether more was sent than there was room for.
fn is_truncated(code: c_int) -> bool {
    if code == ffi::MPI_SUCCESS as c_int {
        return false;
    }
    let mut class = 0;
    // SAFETY: X2; the place is valid for writing.
    let known = unsafe { ffi::MPI_Error_class(code, &mut class) };
    known == ffi::MPI_SUCCESS as c_int && class == ffi::MPI_ERR_TRUNCATE as c_int
}

/// Ends the job if there is an error. Most calls do that inside the library (`MPI_ERRORS_ARE_FATAL`, the default),
/// but not those of a [`Channel`].
fn succeeded(code: c_int) {
    if code != ffi::MPI_SUCCESS as c_int {
        let mut text = [0; ffi::MPI_MAX_ERROR_STRING as usize];
        let mut length = 0;
        // SAFETY: X2; there is room for a text, and a place for its length.
        unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr(), &mut length) };
        let text: String = text.iter().take(length as usize).map(|&byte| char::from(byte as u8)).collect();
        panic!("MPI reports error {code}: {text}");
    }
}
