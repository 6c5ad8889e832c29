//! What a node tells others beside the protocol, and keeps back until they may see what it wrote before: for programs
//! without barriers and locks, in which to hear of something is to see what was written before it was told.
//!
//! - D14 What shows something leaves after a release that began when it was there, or if nothing is to be released. So
//!   whoever gets it has no copy left that is older, but for stale pages: who hears something acquires first (D6). It
//!   need not wait for the end of that: what it wrote on a stale page goes home before it asks for the page again.
//! - The program goes on meanwhile, and may write: that belongs to the next release. One is under way at a time, so
//!   each is over.
//! - All leave in the order in which they came.

use super::{Post, Protocol};
use crate::Store;
use std::collections::VecDeque;

/// See the module comment.
#[derive(Clone, Hash, Debug)]
pub struct Outbox<T> {
    /// May leave.
    free: VecDeque<T>,
    /// Leave when the release that is under way is over.
    released: VecDeque<T>,
    /// Came after it had begun.
    waiting: VecDeque<T>,
}

impl<T> Default for Outbox<T> {
    fn default() -> Outbox<T> {
        Outbox { free: VecDeque::new(), released: VecDeque::new(), waiting: VecDeque::new() }
    }
}

impl<T> Outbox<T> {
    /// Whether what is to leave now would have to be put here, if it `shows` something or does not.
    pub fn must_put(&self, shows: bool, protocol: &Protocol) -> bool {
        let shown = !shows || (protocol.is_released() && !protocol.has_written());
        #[cfg(test)]
        let shown = shown || !protocol.has(super::Rule::Outbox);
        !(self.is_empty() && shown)
    }
    /// Something is to leave: at once, if it need not wait.
    pub fn put<E: Store + Post>(&mut self, item: T, shows: bool, protocol: &mut Protocol, env: &mut E) {
        if !self.must_put(shows, protocol) {
            return self.free.push_back(item);
        }
        self.waiting.push_back(item);
        self.go_on(protocol, env);
    }
    /// To be called after messages have come: what the release that is over has kept back may leave.
    pub fn go_on<E: Store + Post>(&mut self, protocol: &mut Protocol, env: &mut E) {
        while protocol.is_released() && !(self.released.is_empty() && self.waiting.is_empty()) {
            self.free.append(&mut self.released);
            std::mem::swap(&mut self.released, &mut self.waiting);
            if !self.released.is_empty() && protocol.has_written() {
                protocol.release(env);
            }
        }
    }
    /// The next that may leave.
    pub fn take_free(&mut self) -> Option<T> {
        self.free.pop_front()
    }
    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.free.is_empty() && self.released.is_empty() && self.waiting.is_empty()
    }
}
