//! Against the J-Machine's ping: a round trip of 43 cycles and 2 a hop. Inputs: the network of `Config::j_machine`, two words each way, dispatch 4,
//! handlers 9 and 10.

use fabric::simulated::{Config, Endpoint, run};
use fabric::{Fabric, Message, Node, NodeId, Priority, Step, Time};

const DISPATCH: u64 = 4;
const REQUEST_HANDLER: u64 = 9;
const REPLY_HANDLER: u64 = 10;

/// Node 0 pings each node in turn; the last ping is for itself.
struct Pinger {
    next: u32,
    began: Time,
    round_trips: Vec<u64>,
}

impl Node<Endpoint> for Pinger {
    fn step(&mut self, fabric: &mut Endpoint) -> Step {
        let (node, nodes) = (fabric.node(), fabric.nodes());
        let Some(message) = fabric.poll() else {
            if node.0 == 0 {
                self.ping(fabric);
            }
            return Step::Wait(None);
        };
        fabric.spend(DISPATCH);
        match message.words()[0] {
            0 => {
                fabric.spend(REQUEST_HANDLER);
                let reply = Message::new(Priority::Low, &[1, 0]);
                fabric.send(message.from, reply).expect("one message finds room");
                if node.0 == 0 { Step::Wait(None) } else { Step::Done }
            }
            _ => {
                fabric.spend(REPLY_HANDLER);
                self.round_trips.push(fabric.now().0 - self.began.0);
                if self.round_trips.len() == nodes as usize {
                    return Step::Done;
                }
                self.ping(fabric);
                Step::Wait(None)
            }
        }
    }
}

impl Pinger {
    fn ping(&mut self, fabric: &mut Endpoint) {
        self.next = (self.next + 1) % fabric.nodes();
        self.began = fabric.now();
        fabric.send(NodeId(self.next), Message::new(Priority::Low, &[0, 0])).expect("one message finds room");
    }
}

#[test]
fn ping_takes_43_cycles_and_2_a_hop() {
    let config = Config::j_machine(&[8, 8, 8], 1);
    let pinger = |_| Pinger { next: 0, began: Time(0), round_trips: Vec::new() };
    let outcome = run(&config, pinger).expect("all are done");
    let measured = &outcome.nodes[0].round_trips;
    for (at, round_trip) in measured.iter().enumerate() {
        let to = NodeId((at as u32 + 1) % 512);
        let hops = config.topology.hops(NodeId(0), to);
        assert_eq!(*round_trip, 43 + 2 * u64::from(hops), "{hops} hops");
    }
    assert_eq!(measured.len(), 512);
}
