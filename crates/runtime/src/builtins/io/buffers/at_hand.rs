//! What is at hand in the buffers of a file: a byte that was read, room for bytes that are written. Nothing here makes
//! a system call, and only [`File::make_room`] takes memory.

use super::{BUFFER_BYTES, File, Input, Output};

/// The least room that a collector's buffer gets.
const COLLECTED_BYTES_MIN: usize = 64;

/// A byte that is next.
pub(crate) struct Next<'a> {
    pub(crate) byte: u8,
    input: &'a mut Input,
}

impl Next<'_> {
    #[inline(always)]
    pub(crate) fn take(self) {
        self.input.at += 1;
        self.input.lines += i64::from(self.byte == b'\n');
    }
}

impl File {
    /// The next byte if one was read already.
    #[inline(always)]
    pub(crate) fn next_at_hand(&mut self) -> Option<Next<'_>> {
        let input = self.input.as_mut()?;
        let byte = *input.bytes.get(input.at)?;
        Some(Next { byte, input })
    }
    /// A collector's buffer gets room for this number of bytes, and as much again if `most` bytes are enough for that.
    pub(crate) fn make_room(&mut self, bytes: usize, most: usize) {
        let (Some(output), Some(kept)) = (&mut self.output, &mut self.kept) else { return };
        let (wanted, before) = (output.bytes.len() + bytes, output.bytes.capacity());
        let double = wanted.max(2 * before).max(COLLECTED_BYTES_MIN);
        let room = if double.saturating_sub(before) <= most { double } else { wanted + most / 16 };
        if wanted > before {
            output.bytes.reserve_exact(room - output.bytes.len());
            kept.add(output.bytes.capacity() - before);
        }
    }
    /// Whether nobody waits for what is written here, and so a worker may put it off until it has nothing else to do: a
    /// file, or standard output that is no terminal. A string is wanted as soon as it is complete: goals that come to
    /// it before wait, and so do those that need what they make (`benches/compiler`).
    pub(crate) fn takes_batches(&self) -> bool {
        let takes = |output: &Output| !output.lines && !output.closed && output.leads_out();
        self.input.is_none() && self.output.as_ref().is_some_and(takes)
    }
    /// The output buffer, if nothing else is to be done when something is put there, and how many bytes may be.
    #[inline(always)]
    pub(crate) fn buffer_at_hand(&mut self) -> Option<(&mut Vec<u8>, usize)> {
        let output = self.output.as_mut()?;
        if output.lines || self.input.is_some() {
            return None;
        }
        // A collector's does not grow here.
        let room = if output.leads_out() { BUFFER_BYTES - 1 } else { output.bytes.capacity() };
        let left = room.saturating_sub(output.bytes.len());
        Some((&mut output.bytes, left))
    }
}
