//! What wakes a node that waits.

use super::Kind;
use fabric::{Busy, Fabric, Message, Node, NodeId, Priority, Random, Step, Time};

/// Some time that passes soon on every kind.
const SOON: u64 = 20_000;

/// Sends what there surely is room for.
pub(super) fn send<F: Fabric>(fabric: &mut F, to: NodeId, word: u64) {
    if let Err(Busy(message)) = fabric.send(to, Message::new(Priority::Low, &[word])) {
        panic!("no room for {message:?}, although nothing else is on its way");
    }
}

/// Waits for one moment after another.
struct Sleeper {
    until: Option<Time>,
    times: u32,
}

impl<F: Fabric> Node<F> for Sleeper {
    fn step(&mut self, fabric: &mut F) -> Step {
        let now = fabric.now();
        assert!(fabric.poll().is_none(), "nobody sends anything");
        if let Some(until) = self.until {
            assert!(now >= until, "woken at {now:?}, before {until:?}, without a message");
            self.times -= 1;
        }
        self.until = Some(Time(now.0 + SOON));
        if self.times == 0 { Step::Done } else { Step::Wait(self.until) }
    }
}

pub(super) fn time_wakes<K: Kind>(kind: &mut K) {
    kind.run(|_| Sleeper { until: None, times: 5 });
}

/// Sends to the next node, lets time pass without polling, and then waits for what has long come.
struct Late {
    since: Option<Time>,
    waited: bool,
}

impl<F: Fabric> Node<F> for Late {
    fn step(&mut self, fabric: &mut F) -> Step {
        let (me, now) = (fabric.node().0, fabric.now());
        let Some(since) = self.since else {
            self.since = Some(now);
            send(fabric, NodeId((me + 1) % fabric.nodes()), u64::from(me));
            return Step::Again;
        };
        if now.0 < since.0 + SOON {
            fabric.spend(100);
            return Step::Again;
        }
        if !self.waited {
            self.waited = true;
            return Step::Wait(None);
        }
        match fabric.poll() {
            // A step for no reason, or the sender is not that far.
            None => Step::Wait(None),
            Some(message) => {
                let before = (me + fabric.nodes() - 1) % fabric.nodes();
                assert_eq!((message.from.0, message.words()), (before, &[u64::from(before)][..]));
                Step::Done
            }
        }
    }
}

pub(super) fn message_before_wait<K: Kind>(kind: &mut K) {
    kind.run(|_| Late { since: None, waited: false });
}

/// Two of them send a message back and forth; whoever has it not waits, by turns with a time that is far away and
/// without one.
struct Pong {
    rounds: u64,
}

const PONGS: u64 = 400;

impl<F: Fabric> Node<F> for Pong {
    fn step(&mut self, fabric: &mut F) -> Step {
        let me = fabric.node().0;
        let partner = NodeId(me ^ 1);
        if partner.0 >= fabric.nodes() {
            return Step::Done;
        }
        if self.rounds == 0 && me < partner.0 {
            self.rounds = 1;
            send(fabric, partner, 1);
        }
        if let Some(message) = fabric.poll() {
            self.rounds = message.words()[0] + 1;
            if self.rounds <= PONGS {
                send(fabric, partner, self.rounds);
            }
        }
        let far = Time(fabric.now().0 + (1 << 50));
        match self.rounds {
            PONGS.. => Step::Done,
            rounds if rounds % 3 == 0 => Step::Wait(Some(far)),
            _ => Step::Wait(None),
        }
    }
}

pub(super) fn message_wakes<K: Kind>(kind: &mut K) {
    kind.run(|_| Pong { rounds: 0 });
}

/// A message that goes round all nodes: all others sleep.
struct Round {
    begun: bool,
}

const ROUNDS: u64 = 20;

impl<F: Fabric> Node<F> for Round {
    fn step(&mut self, fabric: &mut F) -> Step {
        let (me, nodes) = (fabric.node().0, fabric.nodes());
        let next = NodeId((me + 1) % nodes);
        if me == 0 && !self.begun {
            self.begun = true;
            send(fabric, next, 1);
        }
        let Some(message) = fabric.poll() else { return Step::Wait(None) };
        let hops = message.words()[0];
        assert_eq!(hops % u64::from(nodes), u64::from(me), "it missed a node");
        let last = ROUNDS * u64::from(nodes);
        if hops < last {
            send(fabric, next, hops + 1);
        }
        if hops + u64::from(nodes) > last { Step::Done } else { Step::Wait(None) }
    }
}

pub(super) fn round<K: Kind>(kind: &mut K) {
    kind.run(|_| Round { begun: false });
}

/// Comes to barriers, sooner or later, and says to all when each is over.
struct Meeting {
    /// How many it has come to, and whether the last of them is over.
    come: u64,
    over: bool,
    /// Steps that it lets pass before it comes to the next.
    late: u32,
    random: Random,
    /// Others that said that the last is over.
    heard: u32,
}

const MEETINGS: u64 = 50;

impl<F: Fabric> Node<F> for Meeting {
    fn step(&mut self, fabric: &mut F) -> Step {
        while let Some(message) = fabric.poll() {
            let number = message.words()[0];
            assert!(number <= self.come, "barrier {number} is over before node {} came", fabric.node().0);
            self.heard += u32::from(number == MEETINGS);
        }
        if !self.over {
            if !fabric.all_arrived() {
                return Step::Wait(None);
            }
            self.over = true;
            self.late = self.random.below(8).saturating_sub(3);
            let (me, nodes) = (fabric.node().0, fabric.nodes());
            (0..nodes).filter(|&node| node != me).for_each(|node| send(fabric, NodeId(node), self.come));
        }
        if self.come == MEETINGS {
            return if self.heard + 1 == fabric.nodes() { Step::Done } else { Step::Wait(None) };
        }
        if self.late > 0 {
            self.late -= 1;
            return Step::Again;
        }
        if !fabric.arrive() {
            return Step::Done;
        }
        (self.come, self.over) = (self.come + 1, false);
        Step::Again
    }
}

pub(super) fn barriers<K: Kind>(kind: &mut K) {
    // The second run begins after one that ended in the middle of a barrier.
    kind.run(|_| Leaver);
    kind.run(|node| Meeting {
        come: 0,
        over: true,
        late: node.0,
        random: Random::new(node.0.into()),
        heard: 0,
    });
}

/// Comes to a barrier, unless it is node 0, and does not wait for it.
struct Leaver;

impl<F: Fabric> Node<F> for Leaver {
    fn step(&mut self, fabric: &mut F) -> Step {
        if fabric.node() != NodeId(0) && fabric.arrive() {
            assert!(!fabric.all_arrived(), "node 0 never comes");
        }
        Step::Done
    }
}
