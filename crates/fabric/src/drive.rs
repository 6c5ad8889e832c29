//! What fabrics offer to nodes that several threads of a process step in turn, each while it holds the node's lock.
//! One of these threads sleeps behind the node's doorbell while there is nothing to do.

use crate::{Fabric, NodeId, Step};
use std::fmt;
use std::time::Duration;

/// A node did not get to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// Which: the first of them, if there are several.
    pub node: NodeId,
    /// What it said.
    pub reason: String,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {}: {}", self.node.0, self.reason)
    }
}

impl std::error::Error for Failed {}

/// A fabric whose node is stepped by whichever thread has it. All of it is called with the lock.
pub trait Drive: Fabric {
    /// What the node's threads have of it without the lock.
    type Bell: Bell;
    /// The node's doorbell.
    fn bell(&self) -> Self::Bell;
    /// To be called after each step: what the node has sent leaves. It waits for nothing.
    fn settle(&mut self, step: Step);
    /// Senders wake the sleeper from now on, until the bell is [hushed](Bell::hush). `None`: there is something to do
    /// already.
    fn lie_down(&mut self) -> Option<<Self::Bell as Bell>::Rest>;
    /// Whether there is a processor for each node of this host: who waits for an answer may then spin for a moment
    /// instead of letting others run, which takes the system as long as a message.
    fn may_spin(&self) -> bool;
    /// Some node has failed, or what has come makes no sense: the run is to be abandoned.
    fn has_failed(&self) -> bool;
}

/// The doorbell of a node that several threads step in turn.
pub trait Bell: Clone + Send + Sync {
    /// What the sleeper has to know of the moment at which it lay down.
    type Rest;
    /// The calling thread is the one that sleeps. Once, before anybody lies down.
    fn adopt(&self);
    /// Senders need not wake anybody: somebody looks.
    fn hush(&self);
    /// Wakes the sleeper if somebody has lain down since the bell was hushed.
    fn ring(&self);
    /// Sleeps until the bell is rung, at most for `limit`; it may return for no reason. Without the lock.
    fn sleep(&self, rest: Self::Rest, limit: Duration);
    /// The node has failed, and with it the run.
    fn fail(&self, reason: String);
    /// What failed first, as far as this node knows.
    fn failure(&self) -> Option<Failed>;
}
