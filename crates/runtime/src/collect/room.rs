//! What the heap limit bounds: resident memory stays below twice the limit, but for what the process needs anyway
//! (code, the compiler). A major collection has what it copies twice, so bytes in use count as often as they may be
//! there:
//!
//! | what | counts |
//! |---|---|
//! | old objects, survivors, nurseries, lists of remembered slots | twice |
//! | large objects, ready goals, lists of records, what builtins keep beside the heap | once |
//!
//! Half of what is left of twice the limit (and a little more) is the *room* for what is young. Invariant:
//! - F9 After a collection all nurseries together have half of the room, and so have pages of survivor areas that are
//!   kept for the next one. A collection that begins without room is a major one, and one that leaves none ends the
//!   program.

use crate::memory::tuning::{ROOM_PART_LEFT, ROOM_PART_MIN, ROOM_SPARE, SHARE_MIN};
use crate::reports::outcome::{ErrorKind, ProgramError};
use crate::worker::Worker;
use crate::worker::all::Shared;
use std::sync::atomic::Ordering::Relaxed;

/// Bytes in use by all workers.
#[derive(Clone, Copy, Debug)]
pub(super) struct InUse {
    /// Of what a major collection copies, if it is alive.
    copied: usize,
    /// Of everything else.
    stays: usize,
}

impl InUse {
    /// What is in use now, while no worker reduces, and `nurseries` bytes of nurseries.
    pub(super) fn now(shared: &Shared, nurseries: usize) -> InUse {
        let (mut young, mut records) = (nurseries, 0);
        shared.crew().each(|worker| {
            young += 8 * (worker.heap.survivor_words() + worker.heap.remembered.len());
            records += 8 * worker.waiting.registry.count();
        });
        let old = shared.spaces.old.used_bytes();
        let counted = shared.crew().with(0, |worker| worker.bytes_in_use());
        InUse { copied: old + young, stays: counted - old + records }
    }
    /// Bytes that may be allocated and stay alive until there is no room for copies.
    pub(super) fn room(self, limit: usize) -> usize {
        (2 * limit + ROOM_SPARE).saturating_sub(2 * self.copied + self.stays) / 2
    }
    /// F9: there is so little room that only a major collection can help.
    pub(super) fn is_tight(self, limit: usize) -> bool {
        self.room(limit) < limit / ROOM_PART_MIN
    }
    /// F9: bytes that each of these workers may have for its nursery.
    pub(super) fn share(self, limit: usize, workers: usize) -> usize {
        (self.room(limit) / 2 / workers).max(SHARE_MIN)
    }
}

impl Worker {
    /// After a major collection: ends the program, or a shoen that is told of that, if there is less than a tenth to
    /// spare, or no room. Collections would take nearly all the time. Y13 of `abroad`: a node that `hopes` goes on up
    /// to the limit.
    pub(super) fn check_heap_limit(&mut self, in_use: InUse, hopes: bool) {
        let most = self.heap.spaces.bytes_max();
        if self.bytes_in_use() <= most - most / 10 && in_use.room(most) >= most / ROOM_PART_LEFT {
            return self.shared.shoens.begin_recent();
        }
        if hopes && self.bytes_in_use() <= most || self.blame_for_heap() {
            return;
        }
        let mebibytes = |bytes: usize| bytes.div_ceil(1 << 20);
        let mut message = format!(
            "the heap limit of {} MiB is reached: {} MiB are in use",
            mebibytes(most),
            mebibytes(in_use.copied + in_use.stays)
        );
        let goals = self.shared.goal_bytes.load(Relaxed);
        if goals >= most / 10 {
            message += &format!(", {} MiB of them by goals that are ready", mebibytes(goals));
        }
        let under_way = self.shared.under_way.load(Relaxed);
        if under_way >= most / 10 {
            message += &format!(", {} MiB of them for messages to other nodes", mebibytes(under_way));
        }
        self.end_with(ProgramError::new(ErrorKind::HeapLimit, message));
    }
}
