//! What nodes share beside terms, by messages of its own, such as memory: the node passes these on, and keeps back what
//! shows a value to others until they may see what stands behind it.

use crate::wire::message::Malformed;
use fabric::{NodeId, Priority};
use machine::NodeSet;
use runtime::node::Terms;
use std::sync::{Arc, Mutex, MutexGuard};

/// A message about terms that is kept back.
#[derive(Debug)]
pub struct Letter {
    pub(crate) to: NodeId,
    pub(crate) priority: Priority,
    /// What handles it there.
    pub(crate) code: u32,
    pub(crate) words: Vec<u64>,
}

impl Letter {
    /// What it takes while it is kept.
    pub(crate) fn bytes(&self) -> u64 {
        (size_of::<Letter>() + 8 * self.words.len()) as u64
    }
}

/// A message of what is beside: its kind, below 2^16, two words, and bytes.
#[derive(Debug)]
pub struct Parcel {
    /// To whom.
    pub to: Receivers,
    /// Its kind.
    pub kind: u32,
    /// Its words.
    pub words: [u64; 2],
    /// And what is behind them.
    pub bytes: Vec<u8>,
}

/// The nodes that get a [`Parcel`].
#[derive(Debug)]
pub enum Receivers {
    /// One node.
    One(NodeId, Priority),
    /// Several others; when all have it, [`Beside::acknowledged`] is told this number.
    Many(NodeSet, u64),
}

/// What is beside terms, at one node.
pub trait Beside: Send {
    /// A run begins; of one before nothing is under way.
    fn begin(&mut self, worker: &mut Terms<'_>);
    /// A message of this kind has come. It may make goals ready.
    fn receive(
        &mut self,
        worker: &mut Terms<'_>,
        from: NodeId,
        kind: u32,
        words: &[u64],
        bytes: &[u8],
    ) -> Result<(), Malformed>;
    /// All who were to get that [`Parcel`] have it.
    fn acknowledged(&mut self, number: u64);
    /// Whether a message about terms that is to be sent now has to be kept. If it `shows` no value, it may have to stay
    /// behind another.
    fn must_keep(&self, shows: bool) -> bool;
    /// Keeps one.
    fn keep(&mut self, letter: Letter, shows: bool);
    /// A message that showed a value has come.
    fn heard(&mut self);
    /// The next of what was kept that may leave.
    fn next_letter(&mut self) -> Option<Letter>;
    /// The next message to be sent.
    fn next_parcel(&mut self) -> Option<Parcel>;
    /// The node is about to look for messages: goals that have given way for that are ready again. Whether there were
    /// any.
    fn go_on(&mut self, worker: &mut Terms<'_>) -> bool;
    /// What the node has done in this run, under names that are the same at all nodes; nothing if that was nothing.
    fn counts(&self) -> Vec<(&'static str, u64)>;
}

/// What the nodes of a program share: a state of a node's workers ([`runtime::node::Node::give`]).
#[derive(Clone, Default)]
pub struct Shared(pub Option<Arc<Mutex<dyn Beside>>>);

impl Shared {
    /// That of the node that this is the first worker of.
    pub(crate) fn of(worker: &mut Terms<'_>) -> Shared {
        worker.state::<Shared>().clone()
    }
    /// None is the answer of nodes that share nothing.
    pub(crate) fn get(&self) -> Option<MutexGuard<'_, dyn Beside + 'static>> {
        self.0.as_ref().map(|beside| base::lock(beside))
    }
}
