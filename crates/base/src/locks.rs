//! Locks, whatever became of the threads that had them.

use std::sync::{Condvar, LockResult, Mutex, MutexGuard, PoisonError};

/// What a lock guards, also after a panic of a thread that had it. Its data are as that thread left them, between two
/// statements: the next owner has to take them so, and a second panic would hide the first.
pub fn unpoisoned<T>(result: LockResult<T>) -> T {
    result.unwrap_or_else(PoisonError::into_inner)
}

/// Locks, also after a panic ([`unpoisoned`]).
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    unpoisoned(mutex.lock())
}

/// Lets go of a lock until another thread notifies, and has it again.
pub fn wait<'a, T>(condition: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    unpoisoned(condition.wait(guard))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_can_be_had_after_a_panic() {
        let mutex = Mutex::new(1);
        let panicked = std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                *lock(&mutex) = 2;
                let _guard = lock(&mutex);
                panic!("with the lock");
            });
            thread.join().is_err()
        });
        assert!(panicked && mutex.is_poisoned());
        assert_eq!(*lock(&mutex), 2);
    }
}
