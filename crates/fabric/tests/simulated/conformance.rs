//! The conformance suite on simulated networks of several forms.

use conformance::fabrics::{Kind, programs};
use fabric::simulated::{Arbitration, Config, Duplex, Endpoint, Topology, run};
use fabric::{Node, NodeId};

struct Suite(Config);

impl Kind for Suite {
    type Fabric = Endpoint;
    const LARGE_BYTES: usize = 30_000;
    fn nodes(&self) -> u32 {
        self.0.topology.nodes()
    }
    fn run<N: Node<Endpoint>>(&mut self, make: impl Fn(NodeId) -> N + Sync) {
        if let Err(stopped) = run(&self.0, make) {
            panic!("{stopped}");
        }
    }
}

fn conforms(config: &Config) {
    conforms_but(config, "");
}

/// The whole suite without one program.
fn conforms_but(config: &Config, left_out: &str) {
    for (name, program) in programs::<Suite>().into_iter().filter(|(name, _)| *name != left_out) {
        let begin = std::time::Instant::now();
        program(&mut Suite(config.clone()));
        println!("{}, {name}: {:.1?}", config.topology, begin.elapsed());
    }
}

fn config(topology: Topology) -> Config {
    Config { time_max: 1 << 30, ..Config::plain(topology, 1) }
}

#[test]
fn a_pair_conforms() {
    conforms(&config(Topology::mesh(&[2])));
}

#[test]
fn a_slow_half_duplex_mesh_conforms() {
    let slow = Config {
        duplex: Duplex::Half,
        arbitration: Arbitration::Fixed,
        hop_cycles: 2,
        credit_cycles: 3,
        ..config(Topology::mesh(&[3, 3]))
    };
    conforms(&slow);
}

#[test]
fn a_torus_with_the_smallest_queues_conforms() {
    let small = |queue| Config {
        buffer_flits: 1,
        send_queue: queue,
        receive_queue: queue,
        ..config(Topology::torus(&[2, 3]))
    };
    conforms(&small(2));
    // Nothing waits there that could be overtaken.
    conforms_but(&small(1), "high priority overtakes");
}

#[test]
fn stop_and_go_conforms() {
    // Its priorities are alike: what came first is not overtaken.
    conforms_but(&Config { time_max: 1 << 34, ..Config::staff_link(4, 64, 1) }, "high priority overtakes");
}

#[test]
fn an_rdt_conforms() {
    // Its priorities are alike: what came first is not overtaken.
    conforms_but(&Config { time_max: 1 << 30, ..Config::jump1(4, 1) }, "high priority overtakes");
}
