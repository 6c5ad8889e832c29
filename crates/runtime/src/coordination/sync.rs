//! What the standard library has for threads, and in models the same from `loom`, which then tries every order of
//! events.

#[cfg(all(test, models))]
pub(crate) use loom::{
    hint::spin_loop,
    sync::{Condvar, Mutex, MutexGuard, atomic},
    thread::yield_now,
};
#[cfg(not(all(test, models)))]
pub(crate) use std::{
    hint::spin_loop,
    sync::{Condvar, Mutex, MutexGuard, atomic},
    thread::yield_now,
};

/// Locks. A panic ends the process, so nobody sees what it left behind.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
