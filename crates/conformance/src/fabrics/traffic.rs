//! Nodes that send what a plan says and check that what the plan says comes to them: all of it, once, and in order
//! (N1).

use super::Kind;
use fabric::{Busy, Fabric, Message, Node, NodeId, Priority, Random, Step, WORDS_MAX};

const PRIORITIES: [Priority; 2] = [Priority::Low, Priority::High];
/// Messages sent, and polled, in one step.
const BATCH: usize = 32;

/// How much each node sends to each other. Every node has the same plan, so the receiver knows what must come.
#[derive(Clone, Copy)]
struct Plan {
    seed: u64,
    /// How many messages go from one node to another.
    count: fn(Route) -> u64,
    /// What one of them looks like, chosen by these numbers: how many words, how many bytes of payload.
    shape: fn(&mut Random) -> (usize, usize),
}

/// One pair and priority.
#[derive(Clone, Copy)]
struct Route {
    from: NodeId,
    to: NodeId,
    priority: Priority,
    seed: u64,
    /// How many nodes there are.
    nodes: u32,
}

impl Route {
    /// As many messages as make about so many in all if every node sends to every other.
    fn share(&self, messages: u64) -> u64 {
        (messages / u64::from(self.nodes).pow(2)).clamp(10, 300)
    }
}

impl Plan {
    /// The message of this number on its route.
    fn message(&self, from: NodeId, to: NodeId, priority: Priority, number: u64) -> Message {
        let route = (u64::from(from.0) << 33) | (u64::from(to.0) << 1) | priority as u64;
        let mut random = Random::new(self.seed ^ Random::new(route).bits() ^ Random::new(!number).bits());
        let (words, bytes) = (self.shape)(&mut random);
        let mut message = Message::with(priority, words, |_| random.bits());
        message.from = from;
        message.payload.reserve_exact(bytes);
        while message.payload.len() < bytes {
            let left = bytes - message.payload.len();
            message.payload.extend_from_slice(&random.bits().to_le_bytes()[..left.min(8)]);
        }
        message
    }
}

/// One node of a plan.
struct Traffic {
    plan: Plan,
    node: NodeId,
    /// What is still to be sent: receiver, priority, number of the next message, how many in all.
    routes: Vec<(NodeId, Priority, u64, u64)>,
    /// Chooses the next route.
    random: Random,
    /// What came back.
    refused: Option<(NodeId, Message)>,
    /// What is awaited, by sender and priority: the number of the next message, how many in all.
    awaited: Vec<[(u64, u64); 2]>,
    missing: u64,
}

impl Traffic {
    fn new(plan: Plan, node: NodeId, nodes: u32) -> Traffic {
        let all = || (0..nodes).map(NodeId);
        let count = |from, to, priority| (plan.count)(Route { from, to, priority, seed: plan.seed, nodes });
        let routes = all().flat_map(|to| PRIORITIES.map(|priority| (to, priority)));
        let routes = routes.map(|(to, priority)| (to, priority, 0, count(node, to, priority)));
        let awaited: Vec<_> =
            all().map(|from| PRIORITIES.map(|priority| (0, count(from, node, priority)))).collect();
        Traffic {
            plan,
            node,
            routes: routes.filter(|(.., count)| *count > 0).collect(),
            random: Random::new(plan.seed ^ u64::from(node.0)),
            refused: None,
            missing: awaited.iter().flatten().map(|(_, count)| count).sum(),
            awaited,
        }
    }

    /// The next message to send, of any route.
    fn next(&mut self) -> Option<(NodeId, Message)> {
        if self.refused.is_some() || self.routes.is_empty() {
            return self.refused.take();
        }
        let chosen = self.random.below(self.routes.len() as u32) as usize;
        let (to, priority, number, count) = &mut self.routes[chosen];
        let next = (*to, self.plan.message(self.node, *to, *priority, *number));
        *number += 1;
        if number == count {
            self.routes.swap_remove(chosen);
        }
        Some(next)
    }

    fn check(&mut self, message: &Message) {
        let (number, count) = &mut self.awaited[message.from.0 as usize][message.priority as usize];
        assert!(number < count, "{:?} sends more than its {count} messages", message.from);
        let expected = self.plan.message(message.from, self.node, message.priority, *number);
        assert!(
            *message == expected,
            "{:?}: message {number} of {:?} ({:?}) is {:?} and {} bytes instead of {:?} and {} bytes",
            self.node,
            message.from,
            message.priority,
            message.words(),
            message.payload.len(),
            expected.words(),
            expected.payload.len()
        );
        *number += 1;
        self.missing -= 1;
    }
}

impl<F: Fabric> Node<F> for Traffic {
    fn step(&mut self, fabric: &mut F) -> Step {
        let mut idle = true;
        for _ in 0..BATCH {
            let Some(message) = fabric.poll() else { break };
            self.check(&message);
            fabric.spend(1);
            idle = false;
        }
        for _ in 0..BATCH {
            let Some((to, message)) = self.next() else { break };
            fabric.spend(1);
            idle = false;
            if let Err(Busy(message)) = fabric.send(to, message) {
                self.refused = Some((to, message));
                break;
            }
        }
        match idle {
            true if self.missing == 0 => Step::Done,
            true => Step::Wait(None),
            false => Step::Again,
        }
    }
}

fn run<K: Kind>(kind: &mut K, plan: Plan) {
    let nodes = kind.nodes();
    kind.run(|node| Traffic::new(plan, node, nodes));
}

/// A few words.
fn words(random: &mut Random) -> (usize, usize) {
    (1 + random.below(WORDS_MAX as u32) as usize, 0)
}

/// Words, or a payload of some size, or both, or neither.
fn anything(random: &mut Random) -> (usize, usize) {
    let words = random.below(WORDS_MAX as u32 + 1) as usize;
    let bytes = match random.below(20) {
        0 => random.below(20_000),
        1..=5 => random.below(100),
        _ => 0,
    };
    (words, bytes as usize)
}

pub(super) fn pairs<K: Kind>(kind: &mut K) {
    let count = |route: Route| match route.priority {
        Priority::Low if route.from != route.to => route.share(100_000),
        _ => 0,
    };
    run(kind, Plan { seed: 1, count, shape: words });
}

pub(super) fn priorities<K: Kind>(kind: &mut K) {
    let count = |route: Route| if route.from == route.to { 0 } else { route.share(100_000) };
    run(kind, Plan { seed: 2, count, shape: words });
}

pub(super) fn to_itself<K: Kind>(kind: &mut K) {
    run(
        kind,
        Plan { seed: 3, count: |route| if route.from == route.to { 2_000 } else { 0 }, shape: anything },
    );
}

pub(super) fn all_to_all<K: Kind>(kind: &mut K) {
    run(kind, Plan { seed: 4, count: |route| route.share(50_000), shape: anything });
}

pub(super) fn all_to_one<K: Kind>(kind: &mut K) {
    run(kind, Plan { seed: 5, count: |route| if route.to.0 == 0 { 2_000 } else { 0 }, shape: words });
}

pub(super) fn large_payloads<K: Kind>(kind: &mut K) {
    let neighbours = |route: Route| if route.from.0 ^ 1 == route.to.0 { 3 } else { 0 };
    let shape = |random: &mut Random| (2, K::LARGE_BYTES + random.below(9) as usize);
    run(kind, Plan { seed: 6, count: neighbours, shape });
}

pub(super) fn nothing<K: Kind>(kind: &mut K) {
    run(kind, Plan { seed: 7, count: |route| route.share(50_000), shape: |_| (0, 0) });
}

pub(super) fn random<K: Kind>(kind: &mut K) {
    for seed in 100..110 {
        let count = |route: Route| {
            let mixed = route.seed ^ (u64::from(route.from.0) << 40) ^ (u64::from(route.to.0) << 8);
            let mut random = Random::new(mixed ^ route.priority as u64);
            if random.below(3) == 0 { 0 } else { random.below(route.share(20_000) as u32).into() }
        };
        run(kind, Plan { seed, count, shape: anything });
    }
}
