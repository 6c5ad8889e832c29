//! The J-Machine's programs on real nodes give what the plain sequential versions give.

use fabric::{NodeId, threads};
use lab::workloads::{lcs, queens, radix_sort, tsp};
use machine::{Costs, Ended, Machine, Program};

const NODES: [u32; 5] = [1, 2, 4, 8, 16];

/// Runs a program on threads until no node has anything to do: what `end` makes of its parts.
fn run<P: Program, R: Send>(
    nodes: u32,
    make: impl Fn(NodeId) -> P + Sync,
    end: impl Fn(&P) -> R + Sync,
) -> Vec<R> {
    let make = |node| Machine::new(node, nodes, make(node), Costs::REAL);
    let results = threads::run(nodes, make, |machine: Machine<P>| (machine.ended(), end(&machine.program)));
    let results = results.unwrap_or_else(|failed| panic!("{nodes} nodes: {failed}"));
    let all = results.into_iter().map(|(ended, result)| {
        assert_eq!(ended, Some(Ended { waiting: 0 }), "{nodes} nodes");
        result
    });
    all.collect()
}

#[test]
fn longest_common_subsequence() {
    let (first, second) = lcs::strings(1, 256, 1000);
    let expected = lcs::sequential(&first, &second);
    let cycles = lcs::Cycles { entry: 0, character: 0 };
    for nodes in NODES {
        let make = |node| lcs::Lcs::new(node, nodes, (&first, &second), cycles);
        let results = run(nodes, make, |part| (part.characters, part.result));
        assert!(results.iter().all(|&(characters, _)| characters == second.len() as u64));
        assert_eq!(results.last().expect("there are nodes").1, expected, "{nodes} nodes");
    }
}

#[test]
fn radix_sorting() {
    use radix_sort::{Cycles, RadixSort, Writes};
    let keys = radix_sort::keys(2, 4096, 28);
    let expected = radix_sort::sequential(&keys);
    for nodes in NODES {
        for writes in [Writes::One, Writes::Batched] {
            let make = |node| RadixSort::new(node, nodes, &keys, 28, writes, Cycles { key: 0, write: 0 });
            let results = run(nodes, make, RadixSort::keys);
            assert_eq!(results.concat(), expected, "{nodes} nodes, {writes:?}");
        }
    }
}

#[test]
fn placing_queens() {
    for size in [1, 2, 5, 9] {
        for nodes in NODES {
            let make = |_| queens::Queens::new(size, 3.min(size), 0);
            let results = run(nodes, make, |part| (part.boards, part.answers, part.solutions));
            let boards: u64 = results.iter().map(|result| result.0).sum();
            assert_eq!((results[0].1, results[0].2), (boards, queens::sequential(size)), "{size} on {nodes}");
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
            let results =
                run(nodes, |node| tsp::Tsp::new(node, &map, 0), |part| (part.best(), part.looked_at()));
            assert!(
                results.iter().all(|&(best, _)| best == expected),
                "{nodes} nodes: {results:?}, not {expected}"
            );
        }
    }
}
