//! What the standard library has for threads, and in models the same from `loom`, which then tries every order of
//! events.

#[cfg(all(test, models))]
pub(crate) use loom::{
    sync::{Condvar, Mutex, MutexGuard},
    thread,
};
#[cfg(not(all(test, models)))]
pub(crate) use std::{
    sync::{Condvar, Mutex, MutexGuard},
    thread,
};
