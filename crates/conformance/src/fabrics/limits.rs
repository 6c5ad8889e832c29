//! What happens when there is no room (N2), and what does not wait for it.

use super::Kind;
use fabric::{Busy, Fabric, Message, Node, NodeId, Priority, Step};

/// More messages than any queue has room for.
const PLENTY: u64 = 1 << 20;
const BATCH: usize = 16;

/// Node 1 sends to node 0, which does not poll, and must soon be told that there is no room.
///
/// Node 0 learns that node 1 has been told without polling: it sends to node 1, too, which does not poll either until
/// then. So once a message of node 0's is taken after one that was not, it goes on to poll. Both tell at the end how
/// many messages there were.
struct Bounded {
    sent: u64,
    told: bool,
    polls: bool,
    /// How many are to come, as soon as it is known.
    expected: Option<u64>,
    received: u64,
    farewell: bool,
}

impl Bounded {
    fn flood<F: Fabric>(&mut self, fabric: &mut F) {
        let (me, partner) = (fabric.node().0, NodeId(fabric.node().0 ^ 1));
        for _ in 0..BATCH {
            fabric.spend(1);
            match fabric.send(partner, Message::new(Priority::Low, &[self.sent, self.sent, self.sent])) {
                Ok(()) => self.sent += 1,
                Err(Busy(message)) => {
                    assert_eq!(message.words(), [self.sent; 3], "it comes back as it was");
                    self.told = true;
                    self.polls |= me == 1;
                    return;
                }
            }
            assert!(me == 0 || self.sent < PLENTY, "{PLENTY} messages are on their way and nobody polls");
            // Node 1 polls, for it took one; or it must have, for there have been so many.
            self.polls |= me == 0 && (self.told || self.sent == PLENTY);
        }
    }

    fn receive<F: Fabric>(&mut self, fabric: &mut F) -> bool {
        let Some(message) = fabric.poll() else { return false };
        match *message.words() {
            [sent] => self.expected = Some(sent),
            ref words => {
                assert_eq!(words, [self.received; 3]);
                self.received += 1;
            }
        }
        true
    }
}

impl<F: Fabric> Node<F> for Bounded {
    fn step(&mut self, fabric: &mut F) -> Step {
        let partner = NodeId(fabric.node().0 ^ 1);
        if partner.0 > 1 {
            return Step::Done;
        }
        if !self.polls {
            self.flood(fabric);
            return Step::Again;
        }
        if !self.farewell {
            let farewell = Message::new(Priority::High, &[self.sent]);
            self.farewell = fabric.send(partner, farewell).is_ok();
        }
        let received = self.receive(fabric);
        match (self.farewell, received) {
            (true, false) if self.expected == Some(self.received) => Step::Done,
            (true, false) => Step::Wait(None),
            _ => Step::Again,
        }
    }
}

pub(super) fn bounded<K: Kind>(kind: &mut K) {
    kind.run(|_| Bounded {
        sent: 0,
        told: false,
        polls: false,
        expected: None,
        received: 0,
        farewell: false,
    });
}

/// Each of two sends as fast as it can and polls only when there is no room.
struct Flood {
    sent: u64,
    received: u64,
}

const FLOOD: u64 = 20_000;

impl<F: Fabric> Node<F> for Flood {
    fn step(&mut self, fabric: &mut F) -> Step {
        let partner = NodeId(fabric.node().0 ^ 1);
        if partner.0 >= fabric.nodes() {
            return Step::Done;
        }
        for _ in 0..BATCH {
            fabric.spend(1);
            let message = Message::new(Priority::Low, &[self.sent, 0, 0]);
            if self.sent == FLOOD || fabric.send(partner, message).is_err() {
                break;
            }
            self.sent += 1;
        }
        let message = fabric.poll();
        if let Some(message) = &message {
            assert_eq!(message.words()[0], self.received);
            self.received += 1;
        }
        match self.sent == FLOOD {
            true if self.received == FLOOD => Step::Done,
            true if message.is_none() => Step::Wait(None),
            _ => Step::Again,
        }
    }
}

pub(super) fn mutual_flood<K: Kind>(kind: &mut K) {
    kind.run(|_| Flood { sent: 0, received: 0 });
}

/// Node 0 sends more of low priority than there is room for, and one of high priority when there is none. Node 1
/// polls more slowly than that. The urgent message tells how many went before it.
///
/// A fabric may be so quick that nothing waits anywhere, but not in every round.
struct Overtaking {
    round: u64,
    sent: u64,
    urgent: Urgent,
    received: u64,
    overtook: bool,
}

#[derive(PartialEq)]
enum Urgent {
    NotYet,
    Refused,
    Sent,
}

const OVERTAKINGS: u64 = 30;
const CROWD: u64 = 3_000;

impl Overtaking {
    fn send<F: Fabric>(&mut self, fabric: &mut F) -> Step {
        while let Some(message) = fabric.poll() {
            assert_eq!(message.words(), [self.round], "the receiver's word that it has everything");
            (self.round, self.sent, self.urgent) = (self.round + 1, 0, Urgent::NotYet);
        }
        if self.round == OVERTAKINGS {
            return Step::Done;
        }
        for _ in 0..BATCH {
            fabric.spend(1);
            if self.urgent == Urgent::Refused || (self.sent == CROWD && self.urgent == Urgent::NotYet) {
                let urgent = Message::new(Priority::High, &[self.sent]);
                if fabric.send(NodeId(1), urgent).is_err() {
                    return Step::Again;
                }
                self.urgent = Urgent::Sent;
            }
            if self.sent == CROWD {
                return Step::Wait(None);
            }
            match fabric.send(NodeId(1), Message::new(Priority::Low, &[self.sent])) {
                Ok(()) => self.sent += 1,
                Err(_) if self.urgent == Urgent::NotYet => self.urgent = Urgent::Refused,
                Err(_) => return Step::Again,
            }
        }
        Step::Again
    }

    fn receive<F: Fabric>(&mut self, fabric: &mut F) -> Step {
        if self.round == OVERTAKINGS {
            assert!(self.overtook, "no urgent message overtook any other in {OVERTAKINGS} rounds");
            return Step::Done;
        }
        let Some(message) = fabric.poll() else { return Step::Wait(None) };
        fabric.spend(20);
        if message.priority == Priority::High {
            self.overtook |= self.received < message.words()[0];
            self.urgent = Urgent::Sent;
        } else {
            assert_eq!(message.words(), [self.received]);
            self.received += 1;
        }
        if self.received == CROWD && self.urgent == Urgent::Sent {
            super::calls::send(fabric, NodeId(0), self.round);
            (self.round, self.received, self.urgent) = (self.round + 1, 0, Urgent::NotYet);
        }
        Step::Again
    }
}

impl<F: Fabric> Node<F> for Overtaking {
    fn step(&mut self, fabric: &mut F) -> Step {
        match fabric.node().0 {
            0 => self.send(fabric),
            1 => self.receive(fabric),
            _ => Step::Done,
        }
    }
}

pub(super) fn overtaking<K: Kind>(kind: &mut K) {
    kind.run(|_| Overtaking { round: 0, sent: 0, urgent: Urgent::NotYet, received: 0, overtook: false });
}
