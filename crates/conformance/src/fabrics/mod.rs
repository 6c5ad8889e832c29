//! What every kind of fabric must do: programs whose nodes check what comes to them, the same for all kinds.
//!
//! A node that sees something wrong panics, and its kind has to make a failed test of that. The programs run on two
//! nodes or more.
//!
//! They are silent on what no fabric promises: how long something takes, and in which order messages of different
//! senders arrive.

mod calls;
mod limits;
mod traffic;

use fabric::{Fabric, Node, NodeId};

/// A kind of fabric, as the suite needs it.
pub trait Kind {
    /// A node's way to the others.
    type Fabric: Fabric;
    /// What a payload has that is called large.
    const LARGE_BYTES: usize = 3 << 20;
    /// How many nodes it runs, at least two.
    fn nodes(&self) -> u32;
    /// Runs nodes until all are done. If one fails, so does the test: by a panic, or because the process ends.
    fn run<N: Node<Self::Fabric>>(&mut self, make: impl Fn(NodeId) -> N + Sync);
}

/// A program and what it is called.
pub type Program<K> = (&'static str, fn(&mut K));

/// The whole suite.
pub fn programs<K: Kind>() -> Vec<Program<K>> {
    vec![
        ("every pair, in order", traffic::pairs),
        ("both priorities", traffic::priorities),
        ("self-sends", traffic::to_itself),
        ("all to all", traffic::all_to_all),
        ("all to one", traffic::all_to_one),
        ("large payloads both ways", traffic::large_payloads),
        ("messages of nothing", traffic::nothing),
        ("random traffic", traffic::random),
        ("queues are bounded", limits::bounded),
        ("two flood each other", limits::mutual_flood),
        ("high priority overtakes", limits::overtaking),
        ("time wakes", calls::time_wakes),
        ("a message before the wait", calls::message_before_wait),
        ("a message wakes", calls::message_wakes),
        ("a round of all nodes", calls::round),
        ("a barrier, if there is one", calls::barriers),
    ]
}
