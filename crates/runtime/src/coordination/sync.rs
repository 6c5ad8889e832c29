//! What the standard library has for threads, and in models the same from `loom`, which then tries every order of
//! events.

#[cfg(not(all(test, models)))]
pub(crate) use base::lock;
#[cfg(all(test, models))]
pub(crate) use loom::{
    hint::spin_loop,
    sync::{Condvar, Mutex, MutexGuard, atomic},
    thread::yield_now,
};
#[cfg(not(all(test, models)))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, atomic};

/// What another thread does is awaited; with a schedule it goes on now.
#[cfg(not(all(test, models)))]
pub(crate) fn spin_loop() {
    if !crate::coordination::schedule::step() {
        std::hint::spin_loop();
    }
}
/// The same; another thread may have the processor.
#[cfg(not(all(test, models)))]
pub(crate) fn yield_now() {
    if !crate::coordination::schedule::step() {
        std::thread::yield_now();
    }
}

/// Locks.
#[cfg(all(test, models))]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    base::unpoisoned(mutex.lock())
}
