//! Descriptors that have waited for a while. The system keeps the list of them (`epoll`), so thousands that go on
//! waiting cost nothing.
//!
//! To put one there and to take it out costs a system call each. So a descriptor is looked at by `poll` first
//! ([`events`](super::events)), and comes here when there are many of those. Invariants:
//! - J8 A descriptor that is in a set has its wait in `waits`, at the index that is its datum. The wait keeps the
//!   descriptor open, so it is in the set until it is taken out.
//! - J9 A set is of one process: a copy of the process leaves the set alone ([`Many::abandon`]), because what it took
//!   out would be taken out for both.

use super::buffers::{Direction, Fd};
use super::events::Awaited;
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::fd::OwnedFd;

/// Somebody waits for a descriptor.
pub(super) struct Wait {
    pub(super) fd: Fd,
    pub(super) direction: Direction,
    /// What is bound when it is ready.
    pub(super) variable: Awaited,
}

/// Waits whose descriptors the system watches: a set for each direction, as a descriptor is in a set once.
#[derive(Default)]
pub(super) struct Many {
    reading: Set,
    writing: Set,
}

/// Waits for one direction.
#[derive(Default)]
struct Set {
    /// Made with the first of them.
    set: Option<OwnedFd>,
    waits: Vec<Option<Wait>>,
    free: Vec<usize>,
}

impl Many {
    /// Takes a wait, or gives it back: the system watches no regular file, and each descriptor once.
    pub(super) fn add(&mut self, wait: Wait) -> Result<(), Wait> {
        match wait.direction {
            Direction::Read => self.reading.add(wait, epoll::EventFlags::IN),
            Direction::Write => self.writing.add(wait, epoll::EventFlags::OUT),
        }
    }
    /// Takes out those that are ready.
    pub(super) fn take_ready(&mut self) -> Vec<Wait> {
        let mut ready = self.reading.take_ready();
        ready.extend(self.writing.take_ready());
        ready
    }
    /// Takes out those of which this is true.
    pub(super) fn take_if(&mut self, mut is_wanted: impl FnMut(&Wait) -> bool) -> Vec<Wait> {
        let mut taken = self.reading.take_if(&mut is_wanted);
        taken.extend(self.writing.take_if(&mut is_wanted));
        taken
    }
    /// Gives back all waits, and leaves the sets as they are to the process that this one is a copy of (J9).
    pub(super) fn abandon(&mut self) -> impl Iterator<Item = Wait> + use<> {
        let Many { reading, writing } = std::mem::take(self);
        reading.waits.into_iter().chain(writing.waits).flatten()
    }
    /// What is readable when one of them is ready, of each direction that has some.
    pub(super) fn any(&self) -> impl Iterator<Item = &OwnedFd> {
        let sets = [&self.reading, &self.writing].into_iter();
        sets.filter(|set| set.free.len() < set.waits.len()).filter_map(|set| set.set.as_ref())
    }
    /// All of them.
    pub(super) fn all(&self) -> impl Iterator<Item = &Wait> {
        self.reading.waits.iter().chain(&self.writing.waits).flatten()
    }
}

impl Set {
    fn add(&mut self, wait: Wait, flags: epoll::EventFlags) -> Result<(), Wait> {
        if self.set.is_none() {
            self.set = epoll::create(epoll::CreateFlags::CLOEXEC).ok();
        }
        let Some(set) = &self.set else { return Err(wait) };
        let index = self.free.last().copied().unwrap_or(self.waits.len());
        if epoll::add(set, &wait.fd, epoll::EventData::new_u64(index as u64), flags).is_err() {
            return Err(wait);
        }
        if self.free.pop().is_none() {
            self.waits.push(None);
        }
        debug_assert!(self.waits[index].is_none(), "J8: the place is free");
        self.waits[index] = Some(wait);
        debug_assert!(self.free.len() < self.waits.len(), "J8: one waits at least");
        Ok(())
    }
    fn take(&mut self, index: usize) -> Option<Wait> {
        let wait = self.waits.get_mut(index).and_then(Option::take)?;
        if let Some(set) = &self.set {
            // J8: it is there.
            let _ = epoll::delete(set, &wait.fd);
        }
        self.free.push(index);
        Some(wait)
    }
    fn take_ready(&mut self) -> Vec<Wait> {
        const AT_A_TIME: usize = 256;
        let (mut ready, mut events) = (Vec::new(), Vec::with_capacity(AT_A_TIME));
        loop {
            let Some(set) = &self.set else { return ready };
            events.clear();
            // Interrupted by a signal: nothing is ready, the scheduler asks again.
            let _ = epoll::wait(set, spare_capacity(&mut events), Some(&Timespec::default()));
            for event in &events {
                let wait = self.take(event.data.u64() as usize);
                debug_assert!(wait.is_some(), "J8: a descriptor without a wait");
                ready.extend(wait);
            }
            if events.len() < AT_A_TIME {
                return ready;
            }
        }
    }
    fn take_if(&mut self, is_wanted: &mut impl FnMut(&Wait) -> bool) -> Vec<Wait> {
        let wanted = |index: &usize| self.waits[*index].as_ref().is_some_and(&mut *is_wanted);
        let indices: Vec<usize> = (0..self.waits.len()).filter(wanted).collect();
        indices.into_iter().filter_map(|index| self.take(index)).collect()
    }
}
