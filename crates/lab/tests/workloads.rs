//! The J-Machine's programs, on real nodes and on simulated ones, give what the plain sequential versions give.

use fabric::simulated::{self, Config, Outcome};
use fabric::{NodeId, Pace, threads};
use lab::workloads::queens::Deal;
use lab::workloads::{lcs, queens, radix_sort, tsp};
use machine::{Costs, Ended, Machine, Program};

const NODES: [u32; 5] = [1, 2, 4, 8, 16];

/// Runs a program until no node has anything to do, on threads and in simulated time, there twice: what `end` makes
/// of its parts, for each of the two.
fn run<P: Program, R: Send>(
    nodes: u32,
    make: impl Fn(NodeId) -> P + Sync,
    end: impl Fn(&P) -> R + Sync,
) -> [Vec<R>; 2] {
    let machine = |costs| move |node, program| Machine::new(node, nodes, program, costs);
    let result = |machine: &Machine<P>| {
        assert_eq!(machine.ended(), Some(Ended { waiting: 0 }), "{nodes} nodes");
        end(&machine.program)
    };
    let real = threads::run(nodes, |node| machine(Costs::REAL)(node, make(node)), |machine| result(&machine));
    let real = real.unwrap_or_else(|failed| panic!("{nodes} nodes: {failed}"));
    let config = Config { log: true, ..Config::j_machine(&[2.min(nodes), 1, nodes.div_ceil(2)], 1) };
    let send_words = Pace { cycles: 1, things: 2 };
    let costs = Costs { dispatch: 4, send_words, restart: 75, patience: 1000, ..Costs::default() };
    let simulate = || simulated::run(&config, |node| machine(costs)(node, make(node))).expect("all are done");
    let (first, second) = (simulate(), simulate());
    let at = |outcome: &Outcome<Machine<P>>| outcome.nodes.iter().map(Machine::counters).collect::<Vec<_>>();
    assert!(at(&first) == at(&second) && first.log == second.log, "{nodes} nodes: not the same run");
    [real, first.nodes.iter().map(result).collect()]
}

#[test]
fn longest_common_subsequence() {
    let (first, second) = lcs::strings(1, 256, 1000);
    let expected = lcs::sequential(&first, &second);
    let cycles = lcs::Cycles { entry: 42, character: 22, start_up: 5 };
    for nodes in NODES {
        let make = |node| lcs::Lcs::new(node, nodes, (&first, &second), cycles);
        for results in run(nodes, make, |part| (part.characters, part.result)) {
            assert!(results.iter().all(|&(characters, _)| characters == second.len() as u64));
            assert_eq!(results.last().expect("there are nodes").1, expected, "{nodes} nodes");
        }
    }
}

#[test]
fn radix_sorting() {
    use radix_sort::{Cycles, RadixSort, Writes};
    let keys = radix_sort::keys(2, 4096, 28);
    let expected = radix_sort::sequential(&keys);
    for nodes in NODES {
        for writes in [Writes::One, Writes::Batched] {
            let make = |node| {
                RadixSort::new(node, nodes, &keys, 28, writes, Cycles { key: 20, write: 4, alone: 30 })
            };
            for results in run(nodes, make, RadixSort::keys) {
                assert_eq!(results.concat(), expected, "{nodes} nodes, {writes:?}");
            }
        }
    }
}

#[test]
fn placing_queens() {
    for size in [1, 2, 5, 9] {
        for nodes in NODES {
            let cycles = queens::Cycles { board: 10, answer: 5 };
            for deal in [Deal::InTurn, Deal::AtRandom(7), Deal::InBlocks] {
                let make = |_| queens::Queens::new(size, 3.min(size), deal, cycles);
                for results in run(nodes, make, |part| (part.boards, part.answers, part.solutions)) {
                    let boards: u64 = results.iter().map(|result| result.0).sum();
                    // Each answer that goes up the tree is one, too.
                    assert!(results[0].1 >= boards, "{size} on {nodes}");
                    assert_eq!(results[0].2, queens::sequential(size), "{size} on {nodes}, {deal:?}");
                }
            }
        }
    }
    assert_eq!(queens::sequential(9), 352);
}

#[test]
fn the_travelling_salesman() {
    for (seed, cities) in [(1, 4), (2, 9), (3, 10)] {
        let map = tsp::Map::new(seed, cities);
        let expected = tsp::sequential(&map);
        for nodes in NODES {
            let cycles = tsp::Cycles { path: 50, call: 20, call_paths: 3, task_cities: 3 };
            let make = |node| tsp::Tsp::new(node, nodes, &map, cycles);
            for results in run(nodes, make, |part| (part.best(), part.looked_at())) {
                assert!(
                    results.iter().all(|&(best, _)| best == expected),
                    "{nodes} nodes: {results:?}, not {expected}"
                );
            }
        }
    }
}
