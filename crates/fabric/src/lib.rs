//! Messages between nodes. What they mean is nobody's concern here.
//!
//! A [`Fabric`] is one node's way to the others. There are three kinds, with the same promises:
//!
//! | kind | nodes are | time |
//! |---|---|---|
//! | `threads` | threads of this process | nanoseconds |
//! | `mpi` (cargo feature) | processes under an MPI launcher | nanoseconds |
//! | `simulated` | states of one thread | cycles of a network that is simulated flit by flit |
//!
//! What a node does is a [`Node`]: a state machine that never blocks. Each kind has a `run` that makes nodes and
//! steps them until all are
//! done. So a node's code is the same on each, and the crate `conformance` has the tests that all of them pass.
//!
//! Invariants:
//! - N1 Nothing is lost and nothing arrives twice. Of two messages of one priority from one node to another, the
//!   first sent arrives first. A multicast
//!   ([`Fabric::send_many`]) comes once to each node of its map, in no order with other messages.
//! - N2 All queues are bounded. A message for which there is no room is given back ([`Busy`]); who gets one back
//!   goes on polling, or two nodes
//!   that wait for each other would wait for ever.
//! - N3 What was sent arrives although its sender does nothing more than wait; it may be held back for a bounded
//!   time, so that one packet
//!   carries many messages.

#![deny(unsafe_code)]

mod drive;
mod message;
#[cfg(feature = "mpi")]
pub mod mpi;
mod node_set;
mod pace;
mod patience;
pub mod simulated;
mod sync;
pub mod threads;
#[cfg(any(test, feature = "mpi"))]
mod wire;

pub use base::Random;
pub use drive::{Bell, Drive, Failed};
pub use message::{Message, Priority, WORDS_MAX};
pub use node_set::NodeSet;
pub use pace::Pace;

/// A node's address: nodes are numbered from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u32);

/// A moment, in nanoseconds or cycles since the fabric began.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Time(pub u64);

/// There is no room for this message now. The sender has it back, and tries again after it has polled.
#[derive(Debug)]
pub struct Busy(pub Message);

/// The nodes that a multicast is for, and how exactly the network keeps to them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Map {
    /// These and no others.
    Exact(NodeSet),
    /// A superset of these: the packet carries one bit-map for each level of the network's tree, the same for all
    /// branches of a level, so its
    /// size does not grow with the machine (the reduced hierarchical bit-map directory of JUMP-1). Strangers get the
    /// message, too.
    Levels(NodeSet),
}

/// A multicast that was not sent. The sender has its message back.
#[derive(Debug)]
pub enum Refused {
    /// There is no room for it now: poll, and try again.
    Busy(Message),
    /// This network cannot do it: the message is too long for its buffers, it has no multicast, or its tree does not
    /// reach all of these nodes.
    Unsupported(Message),
}

/// A node's place in the tree along which the nodes that a multicast reached gather their acknowledgements. It is the
/// fabric's, because only
/// that knows whom the multicast reached; to acknowledge is the business of nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gather {
    /// The node that is to get this node's; none: the sender of the multicast.
    pub parent: Option<NodeId>,
    /// How many nodes give it theirs.
    pub children: u32,
    /// Of the network's tree: where its acknowledgement is gathered with others. 0 is next to the leaves.
    pub level: u32,
}

/// One node's way to the others.
pub trait Fabric {
    /// Whose way this is.
    fn node(&self) -> NodeId;
    /// How many nodes there are.
    fn nodes(&self) -> u32;
    /// Sends a message; a node may send to itself. Whoever is to get it must be one of [`Fabric::nodes`].
    fn send(&mut self, to: NodeId, message: Message) -> Result<(), Busy>;
    /// Sends a message to all nodes of a map, which the network itself multiplies on its way. A multicast and a
    /// message to one node may overtake each
    /// other, and so may two multicasts. Returns how many nodes get it.
    fn send_many(&mut self, to: &Map, message: Message) -> Result<u32, Refused> {
        let _ = to;
        Err(Refused::Unsupported(message))
    }
    /// Where acknowledgements of the message that was polled last are gathered, if it came by a multicast.
    fn gather(&self) -> Option<Gather> {
        None
    }
    /// The next message that has arrived, those of higher priority first.
    fn poll(&mut self) -> Option<Message>;
    /// This node comes to a barrier that the fabric has where all nodes share memory: see [`Fabric::all_arrived`].
    /// False if it has none; nodes then make
    /// one of messages.
    fn arrive(&mut self) -> bool {
        false
    }
    /// Whether all nodes have come to the barrier to which this one came last. It may come to the next one then; a
    /// wait ([`Step::Wait`]) ends
    /// when this becomes true.
    fn all_arrived(&mut self) -> bool {
        true
    }
    /// The time at this node. On a simulated network it passes by what the node is said to [`Fabric::spend`].
    fn now(&self) -> Time;
    /// What the node has just done takes so long, if time is simulated.
    fn spend(&mut self, time: u64);
}

/// What a node does.
pub trait Node<F: Fabric> {
    /// Does a little: as much as it likes to do before it looks at its messages again.
    fn step(&mut self, fabric: &mut F) -> Step;
}

/// What a node wants after a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// To go on.
    Again,
    /// The fabric has refused to send, and there is nothing else to do: to go on when it may send again, or as with
    /// [`Step::Wait`]. It is no mistake to let it go on at once.
    Refused(Option<Time>),
    /// To go on when there is a message, when a barrier is over, or at this time.
    Wait(Option<Time>),
    /// Nothing more. Messages that still come to it vanish, so nodes agree among themselves on when to be done.
    Done,
}
