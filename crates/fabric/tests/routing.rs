//! Packets by way of a random node, and where there is room, against theory and against plain counts of ways.

use fabric::simulated::{
    Config, Measured, Pattern, Priorities, Routing, Source, Topology, Traffic, measure, trace,
};
use fabric::{NodeId, Priority, Time};

fn config(topology: Topology, routing: Routing) -> Config {
    Config { routing, priorities: Priorities::Alike, buffer_flits: 8, ..Config::plain(topology, 1) }
}

fn open(config: &Config, pattern: Pattern, flits: u32, rate: f64, cycles: u64) -> Measured {
    let source = Source::Open { pattern, flits, rate };
    measure(config, &Traffic { source, warm_up: cycles / 4, measure: cycles, drain_max: 0 })
}

/// A packet from each node to each, all at once.
fn all_to_all(config: &Config, flits: u32) -> Measured {
    let nodes = config.topology.nodes();
    let pairs = (0..nodes).flat_map(|from| (0..nodes).map(move |to| (NodeId(from), NodeId(to))));
    let sent =
        pairs.map(|(from, to)| trace::Sent { time: Time(0), from, to, flits, priority: Priority::Low });
    let source = Source::Trace(sent.collect());
    measure(config, &Traffic { source, warm_up: 0, measure: 1, drain_max: 200_000 })
}

fn grids() -> [Topology; 4] {
    [Topology::mesh(&[4, 4]), Topology::torus(&[4, 5]), Topology::mesh(&[3, 2, 3]), Topology::ring(7)]
}

fn graphs() -> [Topology; 2] {
    let links: Vec<(u32, u32)> =
        (0..12).flat_map(|node| [(node, (node + 1) % 12), (node, (node + 5) % 12)]).collect();
    [Topology::graph(12, &links, None).expect("a graph"), Topology::dragonfly(3, 1).expect("a dragonfly")]
}

/// Long packets, small buffers, everything at once: whatever could wait for ever would do so here.
#[test]
fn nothing_waits_for_ever() {
    for topology in grids().into_iter().chain(graphs()) {
        for routing in [Routing::Own, Routing::Adaptive, Routing::Valiant] {
            let config = Config { buffer_flits: 2, check: true, ..config(topology.clone(), routing) };
            if !config.fits() {
                continue;
            }
            let measured = all_to_all(&config, 9);
            let all = u64::from(topology.nodes()).pow(2);
            assert_eq!(
                (measured.latency.count(), measured.saturated),
                (all, false),
                "{topology}, {routing:?}"
            );
        }
    }
}

#[test]
fn adaptive_ways_are_shortest_ways() {
    for topology in grids() {
        let nodes = || (0..topology.nodes()).map(NodeId);
        let links: u32 = nodes()
            .flat_map(|from| nodes().map(move |to| (from, to)))
            .map(|(from, to)| topology.hops(from, to))
            .sum();
        let mean = f64::from(links) / f64::from(topology.nodes()).powi(2);
        let measured = all_to_all(&config(topology.clone(), Routing::Adaptive), 3);
        assert!(
            (measured.hops_mean - mean).abs() < 1e-9,
            "{topology}: {} links, not {mean}",
            measured.hops_mean
        );
    }
}

/// The links of a way by dimension on a torus, written once more: x first, then y; half of the nodes take each of two
/// ways that are as long.
fn way(side: i64, from: (i64, i64), to: (i64, i64)) -> Vec<(i64, i64, usize)> {
    let (mut at, mut links) = (from, Vec::new());
    for dimension in 0..2 {
        loop {
            let (here, there) = if dimension == 0 { (at.0, to.0) } else { (at.1, to.1) };
            let ahead = (there - here).rem_euclid(side);
            if ahead == 0 {
                break;
            }
            let up = 2 * ahead < side || (2 * ahead == side && here % 2 == 0);
            links.push((at.0, at.1, 2 * dimension + usize::from(!up)));
            let step = |place: i64| (place + if up { 1 } else { -1 }).rem_euclid(side);
            at = if dimension == 0 { (step(at.0), at.1) } else { (at.0, step(at.1)) };
        }
    }
    links
}

/// By way of random nodes each link carries what a plain count of all ways through all nodes gives.
#[test]
fn links_carry_what_valiant_says() {
    let side = 6;
    let places = || (0..side).flat_map(|y| (0..side).map(move |x| (x, y)));
    let mut expected = vec![0.0; (side * side) as usize * 4];
    for from in places() {
        let to = (from.1, from.0);
        for between in places() {
            let links = way(side, from, between).into_iter().chain(way(side, between, to));
            links.for_each(|(x, y, port)| {
                expected[((y * side + x) * 4) as usize + port] += 1.0 / (side * side) as f64
            });
        }
    }
    let rate = 0.2;
    let torus = Topology::torus(&[side as u32, side as u32]);
    let measured = open(&config(torus.clone(), Routing::Valiant), Pattern::Transpose, 1, rate, 40_000);
    assert!(!measured.saturated || measured.accepted > 0.19, "{}", measured.accepted);
    for (at, expected) in expected.iter().enumerate() {
        let flits = measured.channels[at / 4 * torus.ports() + at % 4].flits as f64;
        let load = flits / (40_000.0 * rate);
        assert!(
            (load / expected - 1.0).abs() < 0.1,
            "link {at}: {load:.3} of each node's traffic, not {expected:.3}"
        );
    }
}

/// Half of what uniform traffic could have, for any permutation: of a torus of 8 by 8, whose links carry one flit a
/// node and cycle at most, that is a half.
#[test]
fn valiant_has_half_of_the_uniform_capacity_on_any_permutation() {
    let torus = || Topology::torus(&[8, 8]);
    let accepted = |routing, pattern| {
        let config = Config { buffer_flits: 16, ..config(torus(), routing) };
        open(&config, pattern, 1, 1.0, 2000).accepted
    };
    let uniform = accepted(Routing::Own, Pattern::Uniform);
    for pattern in [Pattern::Transpose, Pattern::BitComplement, Pattern::Neighbour] {
        let valiant = accepted(Routing::Valiant, pattern);
        assert!(
            valiant <= 0.51,
            "{pattern:?}: {valiant:.3} flits a node and cycle, more than links can carry"
        );
        let share = valiant / uniform;
        assert!((0.4..0.75).contains(&share), "{pattern:?}: {valiant:.3} of the uniform {uniform:.3}");
    }
}

/// Transposition loads few links of a mesh if all packets go along x first; adaptive ones go round them.
#[test]
fn adaptive_ways_go_round_what_is_full() {
    let accepted =
        |routing| open(&config(Topology::mesh(&[8, 8]), routing), Pattern::Transpose, 4, 0.9, 3000).accepted;
    let (own, adaptive) = (accepted(Routing::Own), accepted(Routing::Adaptive));
    assert!(adaptive > 1.2 * own, "{adaptive:.3} against {own:.3}");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for routing in [Routing::Adaptive, Routing::Valiant] {
        let log = || {
            let config = Config { log: true, ..config(Topology::torus(&[4, 4]), routing) };
            open(&config, Pattern::Uniform, 3, 0.3, 200).log
        };
        assert!(log().len() > 1000);
        assert_eq!(log(), log());
    }
}
