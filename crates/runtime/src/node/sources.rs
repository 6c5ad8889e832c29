//! Sources of events of a node's first worker: the outside world, and one of another crate.

use crate::builtins::io::events::Outside;
use crate::node::face::Terms;
use crate::worker::events::Events;
use crate::worker::{Root, Worker};
use std::time::Duration;
use term::Word;

/// A source of events of another crate, which the first worker asks when it was woken and when nothing is ready.
pub trait MoreEvents: Send {
    /// True while an event may still come: then a node without ready goals waits instead of ending.
    fn has_pending(&self) -> bool;
    /// Tells of each variable that an event gives a value to, by its root, what is waited for.
    fn awaited(&self, tell: &mut dyn FnMut(&Root, String));
    /// Looks at what the program has made. What has come is dealt with behind it.
    fn look(&mut self, terms: &mut Terms<'_>);
    /// Deals with what has come; false if nothing has.
    fn handle(&mut self, terms: &mut Terms<'_>) -> bool;
}

/// The outside world, and a further source.
pub(super) struct Both {
    outside: Outside,
    more: Box<dyn MoreEvents>,
}

impl Both {
    pub(super) fn new(outside: Outside, more: Box<dyn MoreEvents>) -> Both {
        Both { outside, more }
    }
}

impl Events for Both {
    fn has_pending(&self, worker: &Worker) -> bool {
        self.outside.has_pending(worker) || self.more.has_pending()
    }
    fn awaited(&self, worker: &Worker) -> Vec<(Word, String)> {
        let mut awaited = self.outside.awaited(worker);
        self.more.awaited(&mut |root, what| awaited.push((worker.root_word(root), what)));
        awaited
    }
    fn poll(&mut self, worker: &mut Worker, timeout: Option<Duration>) {
        let mut terms = Terms::new(worker);
        self.more.look(&mut terms);
        let timeout = if self.more.handle(&mut terms) { Some(Duration::ZERO) } else { timeout };
        self.outside.poll(worker, timeout);
        self.more.handle(&mut Terms::new(worker));
    }
}
