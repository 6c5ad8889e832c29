//! Work that blocks without a way to wait for it (the system's resolver): done on a thread of its own.
//!
//! The thread lives as long as the work, and knows nothing of terms; the worker waits for a descriptor, as for
//! everything else.

use super::buffers::Fd;
use super::requests::owned;
use std::io::Result;
use std::sync::mpsc::{Receiver, channel};

/// Work under way.
#[derive(Debug)]
pub(crate) struct Job<T> {
    result: Receiver<T>,
    /// Readable (it is at its end) once the result is there.
    done: Fd,
}

impl<T: Send + 'static> Job<T> {
    /// Starts a piece of work.
    pub(crate) fn start(work: impl FnOnce() -> T + Send + 'static) -> Result<Job<T>> {
        let (done, running) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let (sender, result) = channel();
        std::thread::Builder::new().name("fifth-job".into()).spawn(move || {
            // After the end of the program nobody wants to know.
            let _ = sender.send(work());
            drop(running);
        })?;
        Ok(Job { result, done: owned(done) })
    }
    /// What becomes readable with the end of the work.
    pub(crate) fn done(&self) -> Fd {
        self.done.clone()
    }
    /// The result, once.
    pub(crate) fn result(&self) -> Option<T> {
        self.result.try_recv().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::super::buffers::{Direction, is_ready};
    use super::*;

    #[test]
    fn a_result_is_there_when_the_descriptor_says_so() {
        let (release, wait) = channel::<()>();
        let job = Job::start(move || wait.recv().map_or(0, |()| 42)).expect("a thread");
        assert!(!is_ready(&job.done(), Direction::Read));
        assert_eq!(job.result(), None);
        release.send(()).expect("the job waits");
        while !is_ready(&job.done(), Direction::Read) {
            std::thread::yield_now();
        }
        assert_eq!(job.result(), Some(42));
    }
}
