//! Traffic without nodes.

use crate::for_seeds;
use fabric::simulated::trace::{self, Sent};
use fabric::simulated::{
    Arbitration, Config, Duplex, Flow, Measured, Pattern, Priorities, Source, Topology, Traffic, measure,
};
use fabric::{NodeId, Pace, Priority, Random, Time};
use std::panic::catch_unwind;

fn open(pattern: Pattern, flits: u32, rate: f64) -> Traffic {
    let source = Source::Open { pattern, flits, rate };
    Traffic { source, warm_up: 200, measure: 1000, drain_max: 5000 }
}

/// One packet in an empty network.
fn alone(config: &Config, from: u32, to: u32, flits: u32) -> Measured {
    let packet = Sent { time: Time(5), from: NodeId(from), to: NodeId(to), flits, priority: Priority::Low };
    let source = Source::Trace(vec![packet]);
    measure(config, &Traffic { source, warm_up: 0, measure: 10, drain_max: 10_000 })
}

#[test]
fn a_packet_alone_takes_what_the_model_says() {
    for topology in
        [Topology::mesh(&[4, 3, 5]), Topology::torus(&[5, 4]), Topology::ring(9), Topology::rdt(8)]
    {
        let nodes = topology.nodes();
        for (hop_cycles, credit_cycles, interface_cycles, flits) in [(1, 1, 0, 1), (1, 1, 3, 9), (3, 2, 1, 6)]
        {
            let timing = Config {
                hop_cycles,
                credit_cycles,
                interface_cycles,
                buffer_flits: 8,
                priorities: Priorities::Alike,
                check: true,
                ..Config::plain(topology.clone(), 0)
            };
            for to in 0..nodes {
                let hops = topology.hops(NodeId(1), NodeId(to));
                let measured = alone(&timing, 1, to, flits);
                let cycles = interface_cycles + (hops + 1) * hop_cycles + flits - 1;
                assert_eq!(measured.latency.mean(), f64::from(cycles), "{topology} to {to}");
                assert_eq!(measured.flit_hops, u64::from(hops * flits));
                assert_eq!(measured.hops_mean, f64::from(hops));
                assert!(!measured.saturated);
            }
        }
    }
}

#[test]
fn an_interface_takes_its_time_for_each_flit() {
    let (entry, exit) = (Pace { cycles: 7, things: 10 }, Pace { cycles: 3, things: 2 });
    let config = Config { entry, exit, check: true, ..Config::plain(Topology::mesh(&[4]), 0) };
    // 1 of the interface and 14 of its flits, 4 routers, 19 more flits, 30 of the flits.
    assert_eq!(alone(&config, 0, 3, 20).latency.mean(), f64::from(1 + 14 + 4 + 19 + 30));
    // A page to a neighbour on the STAFF-Link cluster: 2 x 164 us by the interfaces and 234 us by the link.
    let page = alone(&Config::staff_link(4, 4096, 0), 0, 1, 4096);
    assert_eq!(page.latency.mean(), f64::from(6 + 2868 + 2 * 18 + 4095 + 2868));
}

#[test]
fn a_small_buffer_waits_for_its_credits() {
    // Two places and 3 cycles until one can be used again, 1 + 3 after its flit came: two flits in four cycles.
    let config = Config { buffer_flits: 2, credit_cycles: 3, ..Config::plain(Topology::mesh(&[8]), 0) };
    let [short, long] = [10, 110].map(|flits| alone(&config, 0, 7, flits).latency.mean());
    assert_eq!(long - short, 200.0);
}

#[test]
fn two_directions_share_a_link_if_they_must() {
    let both = |duplex| {
        let config = Config { duplex, check: true, ..Config::plain(Topology::mesh(&[2]), 0) };
        let packet = |from, to| Sent {
            time: Time(0),
            from: NodeId(from),
            to: NodeId(to),
            flits: 50,
            priority: Priority::Low,
        };
        let source = Source::Trace(vec![packet(0, 1), packet(1, 0)]);
        measure(&config, &Traffic { source, warm_up: 0, measure: 1, drain_max: 1000 }).latency
    };
    let (full, half) = (both(Duplex::Full), both(Duplex::Half));
    assert_eq!((full.mean(), full.percentile(0)), (52.0, 52));
    // In turn, flit by flit: both take twice as long.
    assert_eq!((half.percentile(0), half.percentile(100)), (101, 102));
}

#[test]
fn the_higher_priority_wins() {
    let run = |priorities| {
        let config = Config { priorities, check: true, ..Config::plain(Topology::mesh(&[4]), 0) };
        let packet = |time, from, priority| Sent {
            time: Time(time),
            from: NodeId(from),
            to: NodeId(3),
            flits: 40,
            priority,
        };
        let packets = vec![packet(0, 0, Priority::Low), packet(10, 1, Priority::High)];
        measure(
            &config,
            &Traffic { source: Source::Trace(packets), warm_up: 10, measure: 10, drain_max: 1000 },
        )
    };
    // 1 interface, 3 routers, 39 more flits: as if it were alone.
    assert_eq!(run(Priorities::Apart).latency.mean(), 43.0);
    assert!(run(Priorities::Alike).latency.mean() > 60.0);
}

#[test]
fn arbitration_is_fair_or_not() {
    let shares = |arbitration| {
        let config = Config { arbitration, ..Config::plain(Topology::mesh(&[3]), 3) };
        let source =
            Source::Open { pattern: Pattern::HotSpot { node: NodeId(0), share: 1.0 }, flits: 4, rate: 0.9 };
        let measured = measure(&config, &Traffic { source, warm_up: 1000, measure: 2000, drain_max: 0 });
        assert!(measured.saturated && measured.accepted * 3.0 > 0.95, "{}", measured.accepted);
        // What node 2 sends through node 1, by its port towards 0.
        measured.channels[2 * 3 + 1].flits
    };
    // Ports of links come first, so the far node starves the near ones; or else it has a quarter of the sink: half of
    // what half gets.
    assert!(shares(Arbitration::Fixed) > 1500);
    assert!((400..800).contains(&shares(Arbitration::RoundRobin)), "{}", shares(Arbitration::RoundRobin));
}

#[test]
fn patterns_lead_where_they_say() {
    let run = |pattern, topology: Topology| {
        measure(&Config { check: true, ..Config::plain(topology, 2) }, &open(pattern, 3, 0.05))
    };
    let square = || Topology::mesh(&[4, 4]);
    assert_eq!(
        run(Pattern::Transpose, square()).latency.percentile(0),
        1 + 1 + 2,
        "the diagonal sends to itself"
    );
    let mirrored = run(Pattern::BitComplement, square());
    assert!((3.8..4.2).contains(&mirrored.hops_mean), "{}", mirrored.hops_mean);
    assert_eq!(run(Pattern::Neighbour, Topology::torus(&[4, 4])).hops_mean, 2.0);
    let uniform = run(Pattern::Uniform, square());
    assert!((2.3..2.7).contains(&uniform.hops_mean), "2 (L - 1)(L + 1) / 3L = 2.5: {}", uniform.hops_mean);
    let hot = run(Pattern::HotSpot { node: NodeId(5), share: 0.5 }, square());
    let to_hot = hot.channels[5 * 5 + 4].flits as f64;
    let all: u64 = hot.channels.iter().skip(4).step_by(5).map(|channel| channel.flits).sum();
    assert!((0.47..0.60).contains(&(to_hot / all as f64)), "a half and a sixteenth of the rest");
}

#[test]
fn saturation_is_a_verdict() {
    let config = Config::plain(Topology::mesh(&[4, 4]), 4);
    let idle = measure(&config, &open(Pattern::Uniform, 4, 0.1));
    assert!(
        !idle.saturated && (idle.offered - idle.accepted).abs() < 0.01,
        "{} {}",
        idle.offered,
        idle.accepted
    );
    let busy = measure(&config, &open(Pattern::Uniform, 4, 2.0));
    assert!(
        busy.saturated && busy.accepted < 1.0 && busy.offered > 1.9,
        "{} {}",
        busy.offered,
        busy.accepted
    );
    assert!(busy.latency.percentile(99) > 10 * idle.latency.percentile(99));
}

#[test]
fn a_closed_loop_does_one_thing_after_another() {
    let config = Config { check: true, ..Config::plain(Topology::ring(2), 5) };
    let source = |calls| Source::Closed {
        pattern: Pattern::Neighbour,
        flits: 3,
        answer_flits: Some(2),
        calls,
        think_cycles: 20,
        serve_cycles: 7,
    };
    let run = |calls| {
        measure(&config, &Traffic { source: source(calls), warm_up: 100, measure: 4700, drain_max: 500 })
    };
    let one = run(1);
    // Each way 1 + 2 and the other flits: 5 + 7 + 4.
    assert_eq!((one.round_trip.percentile(0), one.round_trip.percentile(50)), (16, 16));
    // 36 cycles a call.
    assert!((258..=264).contains(&one.round_trip.count()), "{}", one.round_trip.count());
    assert!(run(4).round_trip.count() > 3 * one.round_trip.count());
}

#[test]
fn a_trace_runs_again() {
    let config = Config { trace: true, log: true, ..Config::plain(Topology::torus(&[4, 4]), 6) };
    let first = measure(&config, &open(Pattern::Uniform, 5, 0.3));
    let text = trace::write(&first.trace);
    let source = Source::Trace(trace::read(&text, 16).expect("it was written"));
    let again = measure(&config, &Traffic { source, ..open(Pattern::Uniform, 5, 0.3) });
    assert!(first.trace.len() > 500);
    assert_eq!((first.latency, first.log, text), (again.latency, again.log, trace::write(&again.trace)));
}

/// The sum of a text (FNV-1a).
fn sum(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn a_seed_gives_one_log_on_every_host() {
    let run = |seed| {
        let config =
            Config { log: true, duplex: Duplex::Half, ..Config::plain(Topology::mesh(&[4, 4, 2]), seed) };
        measure(&config, &open(Pattern::Uniform, 5, 0.2)).log
    };
    let log = run(7);
    assert_eq!(log, run(7));
    assert_ne!(log, run(8));
    assert_eq!((log.lines().count(), sum(&log)), (7840, 0x12cb_5307_31e2_e4bd));
}

/// Whatever the network is like, all packets of a burst arrive, though buffers are small and much is under way.
#[test]
fn nothing_deadlocks_and_nothing_breaks() {
    for_seeds("nothing_deadlocks_and_nothing_breaks", 60, |seed| {
        let mut random = Random::new(seed);
        let topologies = [
            Topology::ring(5),
            Topology::torus(&[4, 4]),
            Topology::torus(&[3, 2, 4]),
            Topology::mesh(&[4, 4]),
            Topology::mesh(&[3, 3, 3]),
            Topology::rdt(4),
            Topology::rdt(8),
            Topology::rdt(16),
        ];
        let topology = topologies[random.below(8) as usize].clone();
        // An RDT's links have channels for one priority.
        let of_priorities = if topology.links() == 8 { 1 } else { 2 };
        let nodes = topology.nodes();
        let (credit_cycles, room) = (1 + random.below(3), random.below(4));
        let (flow, buffer_flits) = match random.below(of_priorities) {
            0 => (Flow::Credits, 1 + room),
            _ => (Flow::OnOff { stop: room, go: random.below(room + 1) }, room + credit_cycles),
        };
        let pace = |random: &mut Random| Pace { cycles: random.below(4), things: 1 + random.below(3) };
        let config = Config {
            entry: pace(&mut random),
            exit: pace(&mut random),
            flow,
            duplex: [Duplex::Full, Duplex::Half][random.below(2) as usize],
            priorities: [Priorities::Alike, Priorities::Apart][random.below(of_priorities) as usize],
            arbitration: [Arbitration::Fixed, Arbitration::RoundRobin][random.below(2) as usize],
            hop_cycles: 1 + random.below(3),
            credit_cycles,
            interface_cycles: random.below(4),
            buffer_flits,
            check: true,
            ..Config::plain(topology, seed)
        };
        let mut packets: Vec<Sent> = (0..300)
            .map(|_| Sent {
                time: Time(u64::from(random.below(100))),
                from: NodeId(random.below(nodes)),
                to: NodeId(random.below(nodes)),
                flits: 1 + random.below(12),
                priority: [Priority::Low, Priority::High][random.below(2) as usize],
            })
            .collect();
        packets.sort_by_key(|packet| packet.time);
        let traffic =
            Traffic { source: Source::Trace(packets), warm_up: 0, measure: 100, drain_max: 100_000 };
        let measured = measure(&config, &traffic);
        assert!(!measured.saturated && measured.latency.count() == 300, "{config:?}");
    });
}

#[test]
fn what_makes_no_sense_is_refused() {
    let (nan, hot) = (f64::NAN, |node, share| Pattern::HotSpot { node: NodeId(node), share });
    let closed = |calls, think_cycles| Source::Closed {
        pattern: Pattern::Uniform,
        flits: 1,
        answer_flits: Some(1),
        calls,
        think_cycles,
        serve_cycles: 0,
    };
    let packet = |time, to, flits| Sent {
        time: Time(time),
        from: NodeId(0),
        to: NodeId(to),
        flits,
        priority: Priority::Low,
    };
    let trace = |packets: &[Sent]| Traffic {
        source: Source::Trace(packets.to_vec()),
        ..open(Pattern::Uniform, 1, 0.1)
    };
    let of = |source| Traffic { source, ..open(Pattern::Uniform, 1, 0.1) };
    let traffic = [
        (open(Pattern::Uniform, 0, 0.1), "packets of at least one flit"),
        (open(Pattern::Uniform, 1, nan), "a rate of at least 0"),
        (open(Pattern::Uniform, 1, -1.0), "a rate of at least 0"),
        (open(Pattern::Transpose, 1, 0.1), "equal sides for a transpose"),
        (open(hot(6, 0.5), 1, 0.1), "a hot spot among the 6 nodes"),
        (open(hot(5, nan), 1, 0.1), "a share of 0 to 1 for the hot spot"),
        (of(closed(u32::MAX, 0)), "at most 1073741824 calls of all nodes"),
        (of(closed(1, u64::MAX)), "calls of at most 2147483648 cycles"),
        (trace(&[packet(0, 6, 1)]), "packets of at least one flit between the 6 nodes"),
        (trace(&[packet(0, 5, 0)]), "packets of at least one flit between the 6 nodes"),
        (trace(&[packet(1, 5, 1), packet(0, 5, 1)]), "packets in the order of their times"),
        (Traffic { measure: 0, ..of(closed(1, 0)) }, "a cycle or more in which packets count, and an end"),
        (
            Traffic { drain_max: u64::MAX, ..of(closed(1, 0)) },
            "a cycle or more in which packets count, and an end",
        ),
    ];
    let plain = || Config::plain(Topology::mesh(&[3, 2]), 0);
    let configs = [
        (Config { hop_cycles: 0, ..plain() }, "a hop and a credit take a cycle at least"),
        (Config { buffer_flits: 0, ..plain() }, "buffers of 1 to 4,096 flits"),
        (Config { word_bytes: 0, ..plain() }, "words of at least a byte"),
        (Config { send_queue: 0, ..plain() }, "queues of at least a packet"),
        (Config { interface_cycles: u32::MAX, ..plain() }, "delays of at most a million cycles"),
        (
            Config { flow: Flow::OnOff { stop: 2, go: 3 }, ..plain() },
            "a buffer that says go has no more flits than one that says stop",
        ),
        (
            Config { flow: Flow::OnOff { stop: 4, go: 4 }, ..plain() },
            "room in a buffer for what comes between stop and its arrival",
        ),
        (Config { flow: Flow::OnOff { stop: 2, go: 2 }, ..Config::jump1(4, 0) }, "credits on an RDT"),
        (Config { entry: Pace { cycles: 1, things: 0 }, ..plain() }, "a pace of at least one flit"),
    ];
    let of_traffic = traffic.map(|(traffic, what)| (plain(), traffic, what));
    let of_configs = configs.map(|(config, what)| (config, open(Pattern::Uniform, 1, 0.1), what));
    for (config, traffic, what) in of_traffic.into_iter().chain(of_configs) {
        let panic = catch_unwind(|| measure(&config, &traffic)).expect_err(what);
        let said = panic.downcast_ref::<String>().cloned();
        let said = said.or_else(|| panic.downcast_ref::<&str>().map(|said| said.to_string()));
        assert_eq!(said.as_deref(), Some(what));
    }
}
