//! Messages in the trace of a node: what was sent and handled, with numbers that are the same at both ends.

use fabric::{NodeId, Priority};
use runtime::node::Node;
use runtime::trace::{Letter, What};
use runtime::worker::Tracer;
use std::collections::BTreeMap;

/// How many messages of a priority have gone to or come from each node. Their order is kept (N1), so both ends count
/// the same.
type Counts = BTreeMap<(NodeId, Priority), u32>;

/// Of a node that is traced.
pub(crate) struct Letters {
    tracer: Tracer,
    sent: Counts,
    received: Counts,
}

/// What is to be noted, and where.
pub(crate) type Note = Option<(Tracer, What)>;

impl Letters {
    pub(crate) fn of(node: &Node) -> Option<Letters> {
        Some(Letters { tracer: node.tracer()?, sent: Counts::new(), received: Counts::new() })
    }
    pub(crate) fn sending(&mut self, to: NodeId, what: (usize, Priority)) -> (Tracer, What) {
        (self.tracer.clone(), What::Sending(next(&mut self.sent, to, what)))
    }
    pub(crate) fn handling(&mut self, from: NodeId, what: (usize, Priority)) -> (Tracer, What) {
        (self.tracer.clone(), What::Handling(next(&mut self.received, from, what)))
    }
}

/// Of a message of this kind ([`KINDS`](crate::KINDS)) and priority.
fn next(counts: &mut Counts, peer: NodeId, (kind, priority): (usize, Priority)) -> Letter {
    let (kind, urgent) = (kind as u8, priority == Priority::High);
    let count = counts.entry((peer, priority)).or_default();
    *count = count.wrapping_add(1);
    Letter { peer: peer.0, urgent, number: *count, kind }
}

/// Does something, and notes it.
pub(crate) fn noted<R>(note: Note, act: impl FnOnce() -> R) -> R {
    match note {
        Some((tracer, what)) => tracer.noted(what, act),
        None => act(),
    }
}
