//! All numbers of the collector and of the spaces: unit, meaning, and the reason where it is known.
//!
//! What a change of one does is seen with `cargo xtask bench`, which prints times and pauses of the programs in
//! `benches/`, before and after it, with one worker and with two. Where one program shows an effect best, the number
//! names it: `fifth run --stats` prints its collections, words copied and pauses, and `valgrind --tool=callgrind` its
//! instructions.

use std::time::Duration;

// Sizes of spaces. Under Miri they are small: it is slow, and has no memory that is reserved only. The nodes of this
// crate's tests lie in one process, which has 128 TiB of addresses: there they are a sixteenth.

#[cfg(not(miri))]
mod sizes {
    pub(crate) const SPACE_BYTES: usize = if cfg!(test) { 1 << 36 } else { 1 << 40 };
    pub(crate) const GOAL_BYTES: usize = if cfg!(test) { 1 << 32 } else { 1 << 36 };
    pub(crate) const BLOCK_BYTES: usize = 256 << 10;
    pub(crate) const NURSERY_MIN: usize = 512 << 10;
    pub(crate) const NURSERY_MAX: usize = 16 << 20;
    pub(crate) const MAJOR_MIN: usize = 64 << 20;
    pub(crate) const EARLY_MAJOR_MIN: usize = 4 << 20;
    pub(crate) const HALVINGS_MAX: u32 = 13;
    pub(crate) const OTHER_BYTES: usize = 256 << 20;
    pub(crate) const THREAD_BYTES: usize = 68 << 20;
    pub(crate) const GIVEN_FROM_WORDS: usize = 8192;
}
#[cfg(miri)]
mod sizes {
    pub(crate) const SPACE_BYTES: usize = 4 << 20;
    pub(crate) const GOAL_BYTES: usize = 1 << 20;
    pub(crate) const BLOCK_BYTES: usize = 32 << 10;
    pub(crate) const NURSERY_MIN: usize = 64 << 10;
    pub(crate) const NURSERY_MAX: usize = 128 << 10;
    pub(crate) const MAJOR_MIN: usize = 256 << 10;
    pub(crate) const EARLY_MAJOR_MIN: usize = 128 << 10;
    pub(crate) const HALVINGS_MAX: u32 = 0;
    pub(crate) const OTHER_BYTES: usize = 4096;
    pub(crate) const THREAD_BYTES: usize = 0;
    pub(crate) const GIVEN_FROM_WORDS: usize = 256;
}

/// Bytes of address space of a worker's goal stack.
pub(crate) use sizes::GOAL_BYTES;
/// Halvings of these two after which a node gives up, where less address space is allowed (`ulimit -v`).
pub(crate) use sizes::HALVINGS_MAX;
/// Bytes of address space that a process needs beside the spaces: for code and the compiler.
pub(crate) use sizes::OTHER_BYTES;
/// Bytes of address space of old space, and of the large space: more than any machine has memory.
pub(crate) use sizes::SPACE_BYTES;
/// Bytes of address space of a thread: its stack, and what the C library reserves for its allocations.
pub(crate) use sizes::THREAD_BYTES;
/// Bytes of address space of a worker's young objects: two survivor areas, a nursery, and a gap as long as one (G5 of
/// `spaces`).
pub(crate) const LANE_BYTES: usize = 4 * term::abi::PRIVATE_BYTES;
/// Bytes of a nursery's address range.
pub(crate) const NURSERY_RANGE: usize = LANE_BYTES / 4;
/// Bytes of each survivor area.
pub(crate) const SURVIVOR_RANGE: usize = LANE_BYTES / 4;
/// Bytes of a block of old space: what a worker takes at once, and so what may stay unfilled for each.
pub(crate) use sizes::BLOCK_BYTES;
/// Words of the largest object that is moved. A larger one has pages of its own: to copy it costs more than to keep
/// them.
pub(crate) const LARGE_WORDS: usize = 1024;

// How large nurseries are (`collect::state`).

/// Bytes of the nurseries of several workers together, unless what is old beyond [`MAJOR_MIN`] is more (but at most
/// half of what is old), or larger ones are seen to pay; one worker alone has half of it. Beyond that the third-level
/// cache is too small (`benches/quicksort.kl1`). With more than [`MAJOR_MIN`] old, collections should come seldom
/// (`benches/paths.kl1`).
pub(crate) use sizes::NURSERY_MAX;
/// Bytes of the nursery of one worker at first, and at least: half of a core's second-level cache. Of several workers
/// that reduce each has twice as much, as a stop of all costs more than some misses (`benches/gates.kl1`).
pub(crate) use sizes::NURSERY_MIN;
/// Bytes of the nurseries of several workers together as long as larger ones are seen to pay (`benches/bintree.kl1`).
pub(crate) const NURSERIES_PAYING_MAX: usize = 2 * NURSERY_RANGE;
/// Survival, in percent of the nursery, above which it doubles: a larger one gives objects more time to die.
pub(crate) const GROW_PERCENT: usize = 20;
/// Survival, in percent of the nursery, below which it may shrink: the smaller one is in the cache.
pub(crate) const SHRINK_PERCENT: usize = 3;
/// Collections in a row with so little survival after which it shrinks.
pub(crate) const SHRINK_AFTER: u32 = 16;
/// A worker that used less than this part of its nursery allocates little: it gets no larger one.
pub(crate) const IDLE_NURSERY_PART: usize = 8;

// What becomes old, and when (`collect::state`).

/// What has survived stays young while it, and all that is looked at again because of it, is less than this part of
/// what was allocated: to copy it each time costs nothing, and a stream of which one cons is old keeps all later ones
/// alive until a major collection.
pub(crate) const STAYS_YOUNG_PART: usize = 32;
/// Percent of a nursery, those that are filled last, of which what survives stays young where what survives twice
/// becomes old. With all of it, what stays is copied twice, and survivor areas take more memory (`benches/primes.kl1`,
/// `benches/life.kl1`); with less, what would soon die becomes old (`benches/kl1cmp.kl1`).
pub(crate) const YOUNGER_PERCENT: usize = 50;
/// Unbound cells of which a collection lets one for this number of words of a nursery stay young: they are bound
/// soon, and then nobody has to remember them.
pub(crate) const YOUNG_CELL_PART: usize = 32;
/// Percent of what has survived once that must survive again if it is to go to old space at once: then it is copied
/// once, not twice (`benches/kl1cmp.kl1`).
pub(crate) const AGAIN_PERCENT: usize = 80;
/// Collections for which it goes there at once before it is asked again.
pub(crate) const AT_ONCE_COLLECTIONS: u32 = 16;
/// Percent of old space that the last major collection must have found alive, if things go there at once. It finds a
/// third at least where live data do not grow, since it comes when old space has doubled or tripled.
pub(crate) const LASTING_PERCENT: usize = 25;

// Major collections (`memory::spaces`).

/// Bytes of old and large objects below which no early major collection is due: a program's data, and a few blocks.
pub(crate) use sizes::EARLY_MAJOR_MIN;
/// Bytes of old and large objects below which no major collection is due.
pub(crate) use sizes::MAJOR_MIN;
/// Bytes of old and large objects above which none is early: to copy more than that takes memory and a long pause.
pub(crate) const EARLY_MAJOR_MAX: usize = 4 * EARLY_MAJOR_MIN;
/// An early one is due after this number of times the bytes in use was allocated. To copy a byte takes about as long
/// as to allocate a few and use them, so it costs less than a tenth of the time, mostly less than a hundredth.
pub(crate) const EARLY_MAJOR_WORK: usize = 64;
/// Percent of what was in use that a major collection finds alive if it came too early: the next one comes when that
/// has tripled, not doubled.
pub(crate) const IN_VAIN_PERCENT: usize = 75;
/// Bytes of a survivor area that a worker keeps although it does not collect: with many workers, the others copy the
/// next time.
pub(crate) const SURVIVORS_KEPT_BYTES: usize = 256 << 10;
/// Bytes that a record of a waiting goal takes, about: to use one again is as much work as to allocate them.
pub(crate) const RECORD_BYTES: usize = 64;
/// Bytes that a root stands for: its word, and the timer or descriptor that somebody waits for.
pub(crate) const ROOT_BYTES: usize = 64;

// How little room the heap limit may leave (`collect::room`).

/// Part of the heap limit below which the room makes a collection a major one. While all that is new lives, each
/// minor collection halves the room, so there are few before it comes to this.
pub(crate) const ROOM_PART_MIN: usize = 64;
/// Part of the heap limit below which the room that a major collection leaves ends the program.
pub(crate) const ROOM_PART_LEFT: usize = 32;
/// Bytes that may be in use beyond twice the heap limit. The process needs about 12 MB of the 32 MB that are promised.
pub(crate) const ROOM_SPARE: usize = 8 << 20;
/// Places in a worker's list of remembered slots that it keeps from one collection to the next.
pub(crate) const SLOTS_KEPT: usize = 16 << 10;
/// Bytes of a worker's nursery however little room there is.
pub(crate) const SHARE_MIN: usize = 64 << 10;

// Which workers take part in a collection (`collect::state`), and how collectors share (`collect::share`, `scan`).
// The effect shows with two workers or more, in `--stats` as words scanned by each.

/// Words from which on several workers copy them, if each has a processor: then those that are stopped need not be
/// woken.
pub(crate) const SHARED_FROM_WORDS: usize = 1024;
/// The same if workers take turns on the processors.
pub(crate) const SHARED_FROM_WORDS_IN_TURNS: usize = 16384;
/// Time of one collector from which on resting workers are woken to help. By time, because a long list is copied five
/// times as fast as small objects here and there.
pub(crate) const WOKEN_FROM_TIME: Duration = Duration::from_micros(400);
/// The same if one worker has filled its nursery and the others have made next to nothing: then all of it is in one
/// processor's cache. Two collectors take longer than one for 0.8 ms (`benches/gates.kl1`: 1.1 ms), and less for 2 ms
/// and more (`benches/compiler`, `benches/life.kl1`: 0.6 of the time).
pub(crate) const WOKEN_FOR_ONE_FROM_TIME: Duration = Duration::from_millis(2);
/// Words scanned, or conses of one list copied, after which a collector looks for somebody to give work to.
pub(crate) const SHARED_WORDS: usize = 1024;
/// The same for records and remembered slots, each of which may lead to much.
pub(crate) const SHARED_ROOTS: usize = 256;
/// Words that a collector copies before it gives anything away. What little it has it has made itself, mostly, and is
/// in its processor's cache; whoever else copies it takes several times longer.
pub(crate) use sizes::GIVEN_FROM_WORDS;
/// Bytes of grey words that are given away at least: of a chain of objects never more than one is grey, and its
/// collectors would hand it to each other.
pub(crate) const GIVEN_BYTES_MIN: usize = 8 * 128;
/// Conses behind the one that is being copied at which another collector begins.
pub(crate) const CONSES_AHEAD: usize = 8192;
/// Bytes of conses, copied in a row, which are worth a grey range of its own for what was copied before them: then
/// they are not scanned.
pub(crate) const BLACK_BYTES_MIN: usize = 8 * 128;
/// Words of a large object that are scanned at once: the rest can be given away.
pub(crate) const SLICE_WORDS: usize = 8192;
/// Looks for work after which a collector lets another thread have the processor.
pub(crate) const LOOKS_FOR_WORK: u32 = 64;

// What is fetched into the cache before it is needed (`collect::share`, `scan`).

/// Roots between the one that is looked at and the one that is fetched: most records are passed over in a few
/// nanoseconds.
pub(crate) const FETCHED_ROOTS_AHEAD: usize = 32;
/// Words between the one that is scanned and the one whose object is fetched.
pub(crate) const FETCHED_WORDS_AHEAD: usize = 16;
