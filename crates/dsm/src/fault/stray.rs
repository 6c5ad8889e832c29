//! What is said of a touch that ends the process, in the middle of its signal: nothing here allocates or locks.

use std::fmt::{self, Write};
use std::ops::Range;

/// Bytes of the line.
const LINE: usize = 320;

struct Line {
    bytes: [u8; LINE],
    length: usize,
}

impl Write for Line {
    /// What has no room is left out.
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let rest = &mut self.bytes[self.length..];
        let length = text.len().min(rest.len());
        rest[..length].copy_from_slice(&text.as_bytes()[..length]);
        self.length += length;
        Ok(())
    }
}

/// Says on standard error that the program of a node has touched an address outside its view.
pub(super) fn say(node: u32, address: usize, writes: bool, view: Range<usize>) {
    let mut line = Line { bytes: [0; LINE], length: 0 };
    let what = if writes { "write" } else { "read" };
    let Range { start, end } = view;
    // A line takes what it has room for.
    let _ = writeln!(
        line,
        "dsm: node {node} tries to {what} at {address:#x}, which is outside the shared memory ({start:#x} to {end:#x}) \
         and the process's own: a pointer or an index of the program is wrong"
    );
    // SAFETY: D8 - the bytes are the line's; the call may be made in a signal handler.
    unsafe { libc::write(2, line.bytes.as_ptr().cast(), line.length) };
}
