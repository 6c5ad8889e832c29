//! Against the J-Machine: a ping takes 43 cycles and 2 a hop, random traffic saturates at about 6 Gbit/s. Inputs: the
//! network of `Config::j_machine`, dispatch 4, handlers 9 and 10; pings of two words each way; a test loop of 45
//! cycles, answers as long as requests.

use fabric::simulated::{Config, Duplex, Endpoint, Pattern, Source, Traffic, measure, run};
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

const TEST_LOOP: u64 = 45;

/// Words between the halves of the machine, in Gbit/s, when everybody sends to anybody and waits for an answer of the
/// same length.
fn bisection_gbits(duplex: Duplex, words: u32) -> f64 {
    let config = Config { duplex, ..Config::j_machine(&[8, 8, 8], 1) };
    let flits = config.header_flits + words * config.word_flits;
    let source = Source::Closed {
        pattern: Pattern::Uniform,
        flits,
        answer_flits: Some(flits),
        calls: 1,
        think_cycles: DISPATCH + REPLY_HANDLER + TEST_LOOP,
        serve_cycles: DISPATCH + REQUEST_HANDLER,
    };
    let measured = measure(&config, &Traffic { source, warm_up: 1000, measure: 1500, drain_max: 0 });
    let words_a_cycle = measured.accepted * 512.0 * f64::from(words) / f64::from(flits);
    // Half of them cross; 36 bits a word, 12.5 MHz.
    words_a_cycle / 2.0 * 36.0 * 12.5e6 / 1e9
}

#[test]
fn random_traffic_saturates_at_6_gigabits() {
    for words in [8, 16] {
        let gbits = bisection_gbits(Duplex::Half, words);
        assert!((gbits / 6.0 - 1.0).abs() < 0.1, "{words} words: {gbits:.2}");
    }
    // Wires for each direction would carry half as much again.
    let full = bisection_gbits(Duplex::Full, 16);
    assert!((8.5..10.0).contains(&full), "{full:.2}");
}
