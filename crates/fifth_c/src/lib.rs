//! The C face of [`engine`]: programs, sessions, calls and streams, for programs in C. `include/fifth.h` has the
//! contract; its values and errors are those of [`foreign`].
//!
//! Invariants:
//! - C1 What the header says of a pointer holds: it is NULL, or leads to what this library made and was not given back,
//!   or to what the caller has, of the size that is said, while the call lasts. What the header says one thread may use
//!   at a time is used so.
//! - C3 A child of a fork has no engine threads: to use one there is an error, and to give one back does nothing.

mod calls;
mod programs;
mod sessions;
mod streams;

use std::ffi::c_int;
use std::time::Duration;

pub use calls::*;
pub use foreign::*;
pub use programs::*;
pub use sessions::*;
pub use streams::*;

const LATE: c_int = 1;
const END: c_int = 2;

/// C3
fn forked() -> Wrong {
    Wrong::misuse("a session does not follow a fork: start one in this process")
}

/// How long to wait: `None` is for ever.
fn time(seconds: f64) -> Option<Duration> {
    if seconds < 0.0 || seconds.is_nan() { None } else { Duration::try_from_secs_f64(seconds).ok() }
}
