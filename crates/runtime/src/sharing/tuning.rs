//! All numbers of the load balance: unit, meaning, and the reason where it is known.
//!
//! A rule is named by its letter (B1 to B13, in `give`, `choose`, `sums`, `yields`, `trial`). Whether a number is right
//! is seen by running `cargo xtask bench` with two workers before and after a change of it. The numbers of the order of
//! goals are in `goals::gaps` and `goals::resumed_order`.

use std::time::Duration;

// Looking for goals to give (`choose`).

/// Words at the bottom of the top segment that are remembered from one look to the next.
pub(crate) const SEEN_WORDS: usize = 256;
/// Goals of one priority that a look goes through, and arguments of a structure, at most: a look must not take longer
/// than a gift is worth.
pub(crate) const LOOKED_AT: usize = 64;
/// Levels of lists in which a look goes to the first element in search of a stream: rows of streams, and their
/// elements.
pub(crate) const ROWS_LOOKED_AT: usize = 2;
/// Elements of lists that one look passes over in search of their ends, at first; it doubles while lists are longer.
pub(crate) const LIST_STEPS: usize = 512;
/// Elements of lists that one look passes over, at most.
pub(crate) const LIST_STEPS_MAX: usize = 1 << 20;
/// Priorities that have no goal to spare after which a look ends.
pub(crate) const LEVELS_LOOKED_AT: usize = 8;

/// Time of its worker's thread for which a goal that would wait soon must have been there, while nothing else was to
/// spare, until it is given away (B12).
pub(crate) const OVERDUE: Duration = Duration::from_millis(200);
/// Looks at it in that time.
pub(crate) const OVERDUE_LOOKS: u32 = 8;

// When a worker looks, and what it gives (`give`).

/// Bytes that a worker which has no goals to spare allocates before it looks again, while another one asks (B8).
pub(crate) const LOOK_AGAIN_BYTES: usize = 16 << 10;
/// The same at most, after looks in vain that go through deep stacks or long lists: some tens of milliseconds.
pub(crate) const LOOK_AGAIN_BYTES_MAX: usize = 64 << 20;
/// Time of its thread after which a worker that is poked looks again (B8). It is not the time of a clock on the wall,
/// because others may have the processor meanwhile: with 64 workers on two processors every poke would be late
/// enough.
pub(crate) const LOOK_AGAIN_TIME: Duration = Duration::from_micros(100);
/// Looks in a row that find nothing after which one is left out between two, then 3, 7, and so on.
pub(crate) const LOOKS_IN_VAIN: u32 = 4;
/// Doublings of the looks that are left out, at most: 2 to this power, less one, in a row.
pub(crate) const LEFT_OUT_MAX: u32 = 6;
/// Goals that workers which reduce at lower priorities get in one look, at most, all together (B6).
pub(crate) const LOWER_GET: usize = 32;

// Reducing below others (`yields`).

/// Bytes that a worker allocates below the priority of another one before it pauses: some tens of goals (B11).
pub(crate) const YIELD_SLICE: usize = 512;
/// Bytes that it allocates before it looks again whether somebody is above it, if nobody was for a while.
pub(crate) const YIELD_SLICE_MAX: usize = 16 << 10;
/// Longest pause of a worker below others.
pub(crate) const YIELD_PAUSE: Duration = Duration::from_millis(1);
/// Time for which others have been above after which slices are twice as long.
pub(crate) const YIELD_DOUBLES: Duration = Duration::from_millis(100);
/// Doublings after which nothing holds a worker back any more: slices of half a megabyte, some milliseconds.
pub(crate) const YIELD_DOUBLINGS: u32 = 10;

// Asking for goals (`node::reduce`).

/// Time after which an idle worker asks another one.
pub(crate) const PATIENCE: Duration = Duration::from_micros(100);

// Sums (`sums`).

/// Sums in a row, each of the one before, that are no accident (B10).
pub(crate) const SUMS: u32 = 256;

// Whether it pays (`trial`).

/// Time of a trial at least, in which some worker reduced (B13): some gifts, and what they lead to.
pub(crate) const TRIAL: Duration = Duration::from_millis(2);
/// Eighths of a worker that were busy in it on the average, at least, if it pays to share. Where goals wait for each
/// other it is one worker, 8, and little more; what two gain at this number is what one gift costs, about.
pub(crate) const BUSY_EIGHTHS: u32 = 9;
/// Goals that go home after which a trial fails at once (B13). Searches send one or two for each gift, programs of
/// streams hundreds; each costs some microseconds, and the order in which lists are made before they are read.
pub(crate) const HOME_MAX: u32 = 16;
/// Goals that may go home for each gift.
pub(crate) const HOME_PER_GIFT: u32 = 4;
/// Time for which sharing is off after the first trial that fails.
pub(crate) const OFF: Duration = Duration::from_millis(4);
/// The same at most: what a program loses whose goals become worth to be shared later.
pub(crate) const OFF_MAX: Duration = Duration::from_millis(256);
