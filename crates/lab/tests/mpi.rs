//! The J-Machine's programs under an MPI launcher give what the plain sequential versions give. This program is its
//! own node: without a launcher it starts itself under one, several times.

use fabric::NodeId;
use fabric::mpi::Session;
use fabric::mpi::launch::{self, Expected};
use lab::workloads::{lcs, queens, radix_sort, tsp};
use machine::{Costs, Ended, Machine, Program};
use std::process::ExitCode;

fn main() -> ExitCode {
    if launch::program().is_none() {
        return launch::tests(&[2, 4, 8].map(|nodes| ("workloads", nodes, Expected::Success)));
    }
    let mut session = Session::start().expect("the first session of this process");
    let (node, nodes) = (session.node(), session.nodes());
    let last = node.0 + 1 == nodes;

    let (first, second) = lcs::strings(1, 256, 1000);
    let cycles = lcs::Cycles { entry: 0, character: 0, start_up: 0 };
    let part = run(&mut session, |node| lcs::Lcs::new(node, nodes, (&first, &second), cycles));
    assert_eq!(part.characters, second.len() as u64);
    assert!(!last || part.result == lcs::sequential(&first, &second));

    let keys = radix_sort::keys(2, 4096, 28);
    let sorted = radix_sort::sequential(&keys);
    let mine =
        sorted.chunks(keys.len() / nodes as usize).nth(node.0 as usize).expect("nodes divide the keys");
    for writes in [radix_sort::Writes::One, radix_sort::Writes::Batched] {
        let cycles = radix_sort::Cycles { key: 0, write: 0, alone: 0 };
        let part =
            run(&mut session, |node| radix_sort::RadixSort::new(node, nodes, &keys, 28, writes, cycles));
        assert_eq!(part.keys(), mine, "{writes:?}");
    }

    let cycles = queens::Cycles { board: 0, answer: 0 };
    let part = run(&mut session, |_| queens::Queens::new(9, 3, queens::Deal::InTurn, cycles));
    assert!(node != NodeId(0) || part.solutions == queens::sequential(9));

    let map = tsp::Map::new(3, 10);
    let part = run(&mut session, |node| tsp::Tsp::new(node, nodes, &map, tsp::Cycles::NONE));
    assert_eq!(part.best(), tsp::sequential(&map));
    session.finish();
    ExitCode::SUCCESS
}

/// Runs a program until no node has anything to do; this node's part of it.
fn run<P: Program>(session: &mut Session, make: impl FnOnce(NodeId) -> P) -> P {
    let nodes = session.nodes();
    let machine = session.run(|node| Machine::new(node, nodes, make(node), Costs::REAL));
    let machine = machine.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(machine.ended(), Some(Ended { waiting: 0 }));
    machine.program
}
