//! Machines under an MPI launcher. This program is its own node: without a launcher it starts itself under one,
//! several times.

use conformance::machines::{Kind, hold_back, tests};
use fabric::NodeId;
use fabric::mpi::Session;
use fabric::mpi::launch::{self, Expected};
use machine::{Costs, Machine, Program};
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    if launch::program().is_none() {
        return launch::tests(&[1, 2, 3, 4, 8].map(|nodes| ("conforms", nodes, Expected::Success)));
    }
    let mut processes = Processes(Session::start().expect("the first session of this process"));
    for (name, test) in tests::<Processes>() {
        let begin = Instant::now();
        test(&mut processes);
        if processes.0.node() == NodeId(0) {
            println!("{name}: {:.1?}", begin.elapsed());
        }
    }
    hold_back(&mut processes, 300, 100_000, 400_000);
    processes.0.finish();
    ExitCode::SUCCESS
}

struct Processes(Session);

impl Kind for Processes {
    fn nodes(&self) -> u32 {
        self.0.nodes()
    }
    fn run<P: Program, R: Send>(
        &mut self,
        make: impl Fn(NodeId) -> P + Sync,
        end: impl Fn(Machine<P>) -> R + Sync,
    ) -> Vec<(NodeId, R)> {
        let nodes = self.nodes();
        let machine = self.0.run(|node| Machine::new(node, nodes, make(node), Costs::REAL));
        vec![(self.0.node(), end(machine.unwrap_or_else(|error| panic!("{error}"))))]
    }
}
