//! Faults by rules.

use fabric::simulated::trace::Sent;
use fabric::simulated::{
    Config, Crossing, Death, Endpoint, Measured, Rule, Rules, Source, Topology, Traffic, Verdict,
    measure_with, run_with,
};
use fabric::{Fabric, Message, Node, NodeId, Priority, Step, Time};

/// Packets of 4 flits along a row of 5 nodes: one from 0 to 4, one from 1 to 4 a while later.
fn two_packets(rule: &mut dyn Rule) -> Measured {
    let config =
        Config { check: true, log: true, retransmit_cycles: 30, ..Config::plain(Topology::mesh(&[5]), 0) };
    let packet = |time, from| Sent {
        time: Time(time),
        from: NodeId(from),
        to: NodeId(4),
        flits: 4,
        priority: Priority::Low,
    };
    let source = Source::Trace(vec![packet(0, 0), packet(20, 1)]);
    measure_with(&config, &Traffic { source, warm_up: 0, measure: 200, drain_max: 1000 }, rule)
}

/// The latencies: the packets alone take 9 and 8 cycles.
fn times(measured: &Measured) -> [u64; 2] {
    assert_eq!(measured.latency.count(), 2);
    [measured.latency.percentile(0), measured.latency.percentile(100)]
}

#[test]
fn without_faults() {
    assert_eq!(times(&two_packets(&mut |_: &Crossing| Verdict::Pass)), [8, 9]);
}

#[test]
fn a_delay_is_for_one_packet() {
    let mut delay = |crossing: &Crossing| match (crossing.from.0, crossing.at.0) {
        (0, 2) => Verdict::Delay(7),
        _ => Verdict::Pass,
    };
    let measured = two_packets(&mut delay);
    assert_eq!(times(&measured), [8, 16]);
    assert_eq!(measured.log.matches(" delay 0 2>3 7\n").count(), 1);
}

#[test]
fn a_stall_is_for_the_link() {
    let mut asked = 0;
    let mut stall = |crossing: &Crossing| {
        asked += 1;
        if crossing.from.0 == 0 && crossing.at.0 == 2 { Verdict::Stall(40) } else { Verdict::Pass }
    };
    // The first is at the link 2>3 at 3 and passes from 43 to 46; the second, there at 22, waits behind it.
    let measured = two_packets(&mut stall);
    assert_eq!(times(&measured), [8 + 25, 9 + 40]);
    assert_eq!(asked, 4 + 3, "once for each packet and link");
}

#[test]
fn a_lost_flit_is_sent_again() {
    let mut left = 3;
    let mut drop = |crossing: &Crossing| {
        if crossing.from.0 == 0 && crossing.at.0 == 1 && left > 0 {
            left -= 1;
            return Verdict::Drop;
        }
        Verdict::Pass
    };
    let measured = two_packets(&mut drop);
    assert_eq!(times(&measured)[1], 9 + 3 * 30);
    let lost: u64 = measured.channels.iter().map(|channel| channel.lost).sum();
    assert_eq!((lost, measured.log.matches(" drop 0 1>2\n").count()), (3, 3));
    assert_eq!(measured.flit_hops, 4 * 4 + 4 * 3, "each flit crosses each link once in the end");
}

#[test]
fn the_first_rule_that_objects_decides() {
    let pass = |_: &Crossing| Verdict::Pass;
    let delay = |_: &Crossing| Verdict::Delay(2);
    let drop = |_: &Crossing| Verdict::Drop;
    let mut rules = Rules(vec![Box::new(pass), Box::new(delay), Box::new(drop)]);
    assert_eq!(times(&two_packets(&mut rules)), [8 + 3 * 2, 9 + 4 * 2]);
}

/// Each asks the next one for a sign of life every 100 cycles, and ends when that one does not answer.
struct Watcher {
    answered: bool,
    end: Option<Time>,
}

impl Node<Endpoint> for Watcher {
    fn step(&mut self, fabric: &mut Endpoint) -> Step {
        while let Some(message) = fabric.poll() {
            match message.words() {
                [0] => fabric.send(message.from, Message::new(Priority::High, &[1])).expect("there is room"),
                _ => self.answered = true,
            }
        }
        if self.end.is_some() {
            // It goes on answering for a while.
            return if fabric.now() > Time(5000) { Step::Done } else { Step::Wait(Some(Time(5001))) };
        }
        let next_round = Time((fabric.now().0 / 100 + 1) * 100);
        if fabric.now().0.is_multiple_of(100) {
            if !self.answered {
                self.end = Some(fabric.now());
            }
            self.answered = false;
            let next = NodeId((fabric.node().0 + 1) % fabric.nodes());
            fabric.send(next, Message::new(Priority::Low, &[0])).expect("there is room");
        }
        if fabric.now() > Time(5000) { Step::Done } else { Step::Wait(Some(next_round)) }
    }
}

#[test]
fn a_dead_node_answers_nothing() {
    let config = Config { check: true, ..Config::plain(Topology::mesh(&[3, 3]), 0) };
    let mut death = Death { node: NodeId(4), time: Time(1050) };
    let outcome = run_with(&config, &mut death, |_| Watcher { answered: true, end: None })
        .expect("the others are done");
    let ends: Vec<_> = outcome.nodes.iter().map(|node| node.end).collect();
    assert_eq!(ends[3], Some(Time(1200)), "it was asked at 1,100");
    assert!(ends.iter().enumerate().all(|(node, end)| node == 3 || end.is_none()), "{ends:?}");
}

#[test]
fn who_sleeps_until_death_ends_there() {
    struct Asleep;
    impl Node<Endpoint> for Asleep {
        fn step(&mut self, fabric: &mut Endpoint) -> Step {
            if fabric.node().0 == 0 { Step::Wait(None) } else { Step::Done }
        }
    }
    let config = Config::plain(Topology::mesh(&[2]), 0);
    let mut death = Death { node: NodeId(0), time: Time(99) };
    assert!(run_with(&config, &mut death, |_| Asleep).is_ok());
}
