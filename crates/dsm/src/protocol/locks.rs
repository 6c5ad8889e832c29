//! Locks: each has a home, which keeps the queue of those who want it.

use super::{Post, Protocol};
use crate::{Malformed, Message, Store};
use fabric::NodeId;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A node's locks, and those whose home it is.
#[derive(Clone, Hash, Debug, Default)]
pub(super) struct Locks {
    /// Those that the program of this node has.
    held: BTreeSet<u32>,
    /// Of the locks of this home that somebody has: who has it, and who wants it.
    queues: BTreeMap<u32, VecDeque<NodeId>>,
}

impl Locks {
    pub(super) fn ask<E: Post>(&mut self, lock: u32, from: NodeId, env: &mut E) -> Result<(), Malformed> {
        let queue = self.queues.entry(lock).or_default();
        if queue.contains(&from) {
            return Err(Malformed("a lock that the sender has or has asked for"));
        }
        queue.push_back(from);
        if queue.len() == 1 {
            env.post(from, Message::Grant { lock });
        }
        Ok(())
    }
    pub(super) fn give_back<E: Post>(
        &mut self,
        lock: u32,
        from: NodeId,
        env: &mut E,
    ) -> Result<(), Malformed> {
        let queue = self.queues.get_mut(&lock).filter(|queue| queue.front() == Some(&from));
        let queue = queue.ok_or(Malformed("a lock that the sender does not have"))?;
        queue.pop_front();
        match queue.front() {
            Some(&next) => env.post(next, Message::Grant { lock }),
            None => _ = self.queues.remove(&lock),
        }
        Ok(())
    }
    pub(super) fn granted(&mut self, lock: u32) -> Result<(), Malformed> {
        let is_new = self.held.insert(lock);
        is_new.then_some(()).ok_or(Malformed("a lock that the node has"))
    }
}

impl Protocol {
    /// The program wants a lock: begins. When it [has](Protocol::has_lock) it, it has to
    /// [acquire](Protocol::acquire).
    pub fn lock<E: Store + Post>(&mut self, lock: u32, env: &mut E) {
        debug_assert!(!self.has_lock(lock), "a lock that the program has, which its home would refuse");
        env.post(self.lock_home(lock), Message::Lock { lock });
    }
    /// Whether the program has it.
    pub fn has_lock(&self, lock: u32) -> bool {
        self.locks.held.contains(&lock)
    }
    /// A lock that the program has, if it has any.
    pub fn any_lock(&self) -> Option<u32> {
        self.locks.held.first().copied()
    }
    /// The program gives a lock back, after a release that is over. False if it does not have it.
    pub fn unlock<E: Store + Post>(&mut self, lock: u32, env: &mut E) -> bool {
        let held = self.locks.held.remove(&lock);
        if held {
            debug_assert!(self.is_released(), "D1: whoever gets lock {lock} next would not see all");
            env.post(self.lock_home(lock), Message::Unlock { lock });
        }
        held
    }
    fn lock_home(&self, lock: u32) -> NodeId {
        NodeId(lock % self.options.nodes)
    }
    #[cfg(test)]
    pub(super) fn has_no_locks(&self) -> bool {
        self.locks.held.is_empty() && self.locks.queues.is_empty()
    }
}
