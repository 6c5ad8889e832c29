//! The message-driven node: what the J-Machine's processors did in hardware (Noakes, Wallach, Dally, ISCA 1993,
//! section 2), on any fabric.
//!
//! A program of a node is a [`Program`]: a state with handlers. A message names a handler by its code and brings a
//! few words; the handler runs at once and never blocks. What must wait is a *task*, a Rust future that
//! [`Here::spawn`] starts: it awaits a [`Slot`], which is empty until somebody fills it, and costs nothing meanwhile.
//! [`Machine`] runs both for one node; it is a [`fabric::Node`], so the same program runs on threads, on MPI and in
//! simulated time.
//!
//! ```text
//! fabric -> Machine::step -> Program::handle(Context)   replies, sends: at once
//!                         -> tasks (Here)               requests, done by the machine after the task's step
//! ```
//! Invariants:
//! - Messages of high priority are dispatched before all others. Programs send answers with it, and what a handler
//!   of such a message sends is of high priority too: so no answer waits for a request.
//! - X2 A node has at most [`CREDITS`] messages of low priority under way to each peer, and whoever dispatches them
//!   gives credits back: so a node that is slow stops the nodes that flood it, not the network. Copies that the
//!   network makes of a multicast need none; of such multicasts a node has at most 64 under way.
//! - X7 A payload is acknowledged once it was dispatched, with the credits, as soon as there are 64 KB of them: so a
//!   node knows how much of what it has sent its receivers have not taken, but for 64 KB of each
//!   ([`Context::under_way`]). Nobody has to wait for it: a handler takes a message whatever its own node has under
//!   way.
//! - X8 However many messages come, the program has a stretch of its background work after each 64 of them.
//! - X3 What has no credit, or finds the fabric busy, waits in the outbox of its sender, in order. Tasks wait while
//!   that is full; handlers never do, so it grows only if handlers send more messages than they get.
//! - X4 The run ends when no node has anything to do and no message is under way: two waves in a row over all nodes
//!   found the same numbers of messages sent and dispatched, equal to each other (Mattern, "Algorithms for
//!   distributed termination detection", 1987, section 5). To come to a barrier of the fabric's counts as a message
//!   to oneself, which nobody else need see. Tasks that still wait then would wait for ever: that is an error.
//! - X6 A run in which nobody has anything to do goes on nevertheless if something may come from outside to one node
//!   ([`Program::holds`]), and some node waits for anything at all ([`Program::waits`]): neither alone keeps it from
//!   its end.
//! - Where time is simulated, a step ends when time has been spent, and a task gives way after each message that
//!   it sends: so a message leaves when it was sent, and one that comes is dispatched before what could wait. A
//!   handler is not interrupted, nor a stretch of a task between two messages.

#![forbid(unsafe_code)]

mod collective;
mod context;
mod core;
mod flow;
mod header;
mod here;
mod letters;
mod machine;
mod multicast;
mod names;
mod slot;
#[cfg(test)]
mod strangers;
mod tasks;
mod waves;

pub use crate::core::{Costs, Counters, Spent};
pub use collective::Reduction;
pub use context::Context;
pub use fabric::NodeSet;
pub use flow::CREDITS;
pub use header::{CODES, Call, WORDS};
pub use here::{Here, Reply, Sending};
pub use machine::{Ended, Machine};
pub use multicast::{Answers, Spread};
pub use names::{Name, Passport};
pub use slot::Slot;

use fabric::Fabric;

/// What a node does.
pub trait Program {
    /// What it does first: usually it spawns a task.
    fn start(&mut self, here: &Here);
    /// A message has come. Takes as long as the handler does: nothing else runs on the node meanwhile.
    fn handle<F: Fabric>(&mut self, context: &mut Context<'_, F>, call: &Call<'_>) -> Verdict;
    /// A stretch of what the node does while no message comes and no task is ready. True: there is more of it. It is
    /// asked again after each message and each step of a task.
    fn background<F: Fabric>(&mut self, _: &mut Context<'_, F>) -> bool {
        false
    }
    /// X6: whether something may still come to this node from outside all nodes. It is asked when the node has
    /// nothing to do; as long as that is so, `background` is, too, now and then.
    fn holds(&mut self) -> bool {
        false
    }
    /// Node 0 is asked where the run would end while somebody waits ([`Program::waits`]). False: it has done something
    /// for those that do, and the run goes on.
    fn may_end<F: Fabric>(&mut self, _: &mut Context<'_, F>) -> bool {
        true
    }
    /// X6: whether somebody at this node waits for what another one, or the outside, may bring. It is asked when a
    /// wave comes by.
    fn waits(&mut self) -> bool {
        false
    }
}

/// What became of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It was dealt with.
    Done,
    /// It was a [multicast](Spread::Levels) that is not for this node: its sender learns how many such nodes there
    /// were.
    Absent,
    /// Not now: it goes back to its sender, which sends it again after a while.
    Refused,
    /// No node that runs this program sends it: it is dropped, and [counted](Counters::strange).
    Strange,
}
