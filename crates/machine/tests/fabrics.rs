//! Machines on threads and on simulated networks.

use fabric::simulated::{self, Config, Topology};
use fabric::{NodeId, threads};
use machine::conformance::{Kind, tests};
use machine::{Costs, Machine, Program};

struct Threads(u32);

impl Kind for Threads {
    fn nodes(&self) -> u32 {
        self.0
    }
    fn run<P: Program, R: Send>(
        &mut self,
        make: impl Fn(NodeId) -> P + Sync,
        end: impl Fn(Machine<P>) -> R + Sync,
    ) -> Vec<(NodeId, R)> {
        let make = |node| Machine::new(node, self.0, make(node), Costs::REAL);
        let ends = threads::run(self.0, make, end).unwrap_or_else(|failed| panic!("{failed}"));
        (0..self.0).map(NodeId).zip(ends).collect()
    }
}

struct Simulated(Config);

impl Kind for Simulated {
    fn nodes(&self) -> u32 {
        self.0.topology.nodes()
    }
    fn run<P: Program, R: Send>(
        &mut self,
        make: impl Fn(NodeId) -> P + Sync,
        end: impl Fn(Machine<P>) -> R + Sync,
    ) -> Vec<(NodeId, R)> {
        let nodes = self.nodes();
        let costs = Costs { dispatch: 4, send: 2, patience: 1000, ..Costs::default() };
        let outcome = simulated::run(&self.0, |node| Machine::new(node, nodes, make(node), costs));
        let outcome = outcome.unwrap_or_else(|stopped| panic!("{stopped}"));
        (0..nodes).map(NodeId).zip(outcome.nodes.into_iter().map(end)).collect()
    }
}

fn conforms<K: Kind>(mut kind: K) {
    for (name, test) in tests::<K>() {
        let begin = std::time::Instant::now();
        test(&mut kind);
        println!("{} nodes, {name}: {:.1?}", kind.nodes(), begin.elapsed());
    }
}

#[test]
fn machines_conform_on_threads() {
    for nodes in [1, 2, 3, 8] {
        conforms(Threads(nodes));
    }
}

#[test]
fn machines_conform_on_simulated_networks() {
    for topology in [Topology::mesh(&[2]), Topology::mesh(&[3, 3]), Topology::torus(&[2, 4])] {
        conforms(Simulated(Config { time_max: 1 << 30, ..Config::plain(topology, 1) }));
    }
}

#[test]
fn machines_conform_on_a_network_with_small_queues() {
    let config = Config { time_max: 1 << 30, ..Config::plain(Topology::mesh(&[2, 2]), 1) };
    conforms(Simulated(Config { buffer_flits: 1, send_queue: 2, receive_queue: 2, ..config }));
}
