//! Programs that share memory, on threads and on simulated networks, with faults.

use dsm::kernels::fft::{self, Fft};
use dsm::kernels::lu::{self, Lu};
use dsm::kernels::matmul::{self, Matmul};
use dsm::kernels::owned::ByOwner;
use dsm::kernels::{PAGE_BYTES, options, share};
use dsm::protocol::{Counters, Mode, Options};
use dsm::{Local, Memory, Node, Use, WORD, Work};
use fabric::simulated::{self, Config, RandomFaults, Topology};
use fabric::{NodeId, Pace, Random, threads};
use machine::{Costs, Ended, Machine, Spread};
use std::future::Future;

const MODES: [Mode; 2] = [Mode::Invalidate, Mode::Update];

/// What a node's program gave, and what the node has counted.
struct End<R> {
    result: R,
    counters: Counters,
    work: Work,
}

fn end<R: 'static>(machine: &Machine<Node<R>>) -> End<R> {
    assert_eq!((machine.ended(), machine.counters().strange), (Some(Ended { waiting: 0 }), 0));
    let result = machine.program.take_result().expect("the program has ended");
    End { result, counters: machine.program.counters(), work: machine.program.work() }
}

fn on_threads<R: Send + 'static, T: Future<Output = R> + 'static>(
    nodes: u32,
    options: impl Fn(NodeId) -> Options + Sync,
    program: impl Fn(Local) -> T + Clone + Sync + Send + 'static,
) -> Vec<End<R>> {
    let make = |node| {
        let program = program.clone();
        Machine::new(node, nodes, Node::new(options(node), program), Costs::REAL)
    };
    threads::run(nodes, make, |machine| end(&machine)).unwrap_or_else(|failed| panic!("{failed}"))
}

const COSTS: Costs = Costs {
    dispatch: 4,
    send: 2,
    send_words: Pace { cycles: 1, things: 2 },
    receive_words: Pace::NONE,
    boards_pass_on: false,
    barrier_round: 3,
    barrier: 5,
    restart: 7,
    patience: 1000,
};

fn simulated<R: 'static, T: Future<Output = R> + 'static>(
    config: &Config,
    options: impl Fn(NodeId) -> Options,
    program: impl Fn(Local) -> T + Clone + 'static,
) -> Vec<End<R>> {
    let nodes = config.topology.nodes();
    let mut faults = RandomFaults::swarm(config.seed);
    let spread = Spread::ALL[config.seed as usize % Spread::ALL.len()];
    let make = |node| {
        let node_program = Node::new(options(node), program.clone()).with_spread(spread);
        Machine::new(node, nodes, node_program, COSTS)
    };
    let outcome = simulated::run_with(config, &mut faults, make);
    outcome.unwrap_or_else(|stopped| panic!("{config:?}: {stopped}")).nodes.iter().map(end).collect()
}

fn ring(nodes: u32, seed: u64) -> Config {
    Config { time_max: 1 << 34, ..Config::plain(Topology::torus(&[nodes]), seed) }
}

fn sum(ends: &[End<impl Sized>], count: impl Fn(&Counters) -> u64) -> u64 {
    ends.iter().map(|end| count(&end.counters)).sum()
}

#[test]
fn matrices_are_multiplied_bit_by_bit_as_on_one_node() {
    let (n, wanted) = (48, matmul::sequential(48));
    let plan = Matmul { n };
    let program = move |memory: Local| async move { plan.run(&memory).await };
    for mode in MODES {
        for nodes in [1, 2, 3, 4, 8] {
            let options = |node| options(plan.words(), node, nodes, mode);
            let real = on_threads(nodes, options, program);
            assert_eq!(real.into_iter().flat_map(|end| end.result).collect::<Vec<_>>(), wanted, "{nodes}");
        }
        let options = |node| options(plan.words(), node, 3, mode);
        let ends = simulated(&ring(3, 1), options, program);
        assert_eq!(ends.into_iter().flat_map(|end| end.result).collect::<Vec<_>>(), wanted);
    }
}

#[test]
fn factors_are_those_of_the_matrix() {
    let plan = Lu { n: 64, block: 8 };
    let program = move |memory: Local| async move {
        plan.fill(&memory).await;
        plan.factorise(&memory).await;
        plan.matrix(&memory).await
    };
    let one = on_threads(1, |node| options(plan.words(), node, 1, Mode::Invalidate), program);
    let residual = lu::residual(&plan.original(), &one[0].result, plan.n);
    assert!(residual < 1e-13, "{residual}");
    for mode in MODES {
        for nodes in [2, 3, 4, 8] {
            let ends = on_threads(nodes, |node| options(plan.words(), node, nodes, mode), program);
            assert!(ends.iter().all(|end| end.result == one[0].result), "{nodes} nodes, {mode:?}");
        }
        let ends = simulated(&ring(4, 2), |node| options(plan.words(), node, 4, mode), program);
        assert!(ends.iter().all(|end| end.result == one[0].result), "{mode:?}, simulated");
        assert!(sum(&ends, |counters| counters.diffs) > 0);
    }
}

#[test]
fn factors_of_a_matrix_laid_by_owner_are_the_same_without_a_diff() {
    let plan = Lu { n: 64, block: 8 };
    let program = |nodes| {
        move |memory: Local| async move {
            let layout = ByOwner::new(&plan, nodes);
            let memory = layout.over(&memory);
            plan.fill(&memory).await;
            plan.factorise(&memory).await;
            plan.matrix(&memory).await
        }
    };
    let one = on_threads(1, |node| options(plan.words(), node, 1, Mode::Invalidate), program(1));
    for nodes in [2, 3, 4, 8] {
        let options = |node| ByOwner::new(&plan, nodes).options(node, nodes, Mode::Invalidate);
        let ends = on_threads(nodes, options, program(nodes));
        assert!(ends.iter().all(|end| end.result == one[0].result), "{nodes} nodes");
        assert_eq!(sum(&ends, |counters| counters.diffs), 0, "{nodes} nodes");
        assert!(sum(&ends, |counters| counters.misses) > 0, "{nodes} nodes");
    }
}

#[test]
fn a_transform_is_the_plain_one_and_its_inverse_undoes_it() {
    let plan = Fft { side: 16, inverse: false };
    let program = move |memory: Local| async move {
        plan.fill(&memory).await;
        plan.run(&memory).await;
        let all = [Use::read(0, 2 * plan.side * plan.side)];
        let there = memory.with(&all, |views| views[0].to_vec()).await;
        memory.barrier().await;
        Fft { inverse: true, ..plan }.run(&memory).await;
        (there, memory.with(&all, |views| views[0].to_vec()).await)
    };
    let mut plain = plan.original();
    fft::transform(&mut plain, false);
    let near =
        |a: &[f64], b: &[f64]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
    for mode in MODES {
        for nodes in [1, 2, 3, 4, 8] {
            for end in on_threads(nodes, |node| options(plan.words(), node, nodes, mode), program) {
                assert!(near(&end.result.0, &plain), "{nodes} nodes, {mode:?}");
                assert!(near(&end.result.1, &plan.original()), "{nodes} nodes, {mode:?}: back");
            }
        }
        for end in simulated(&ring(4, 3), |node| options(plan.words(), node, 4, mode), program) {
            assert!(near(&end.result.0, &plain) && near(&end.result.1, &plan.original()), "{mode:?}");
        }
    }
}

/// Table III of the paper: pairs of a node and a page that it has written between two releases.
#[test]
fn lu_of_512_writes_the_published_number_of_pages() {
    let plan = Lu { n: 512, block: 16 };
    let program = move |memory: Local| async move {
        plan.factorise(&memory).await;
    };
    for (nodes, wanted) in [(1, 6120), (2, 11_440), (3, 11_440), (4, 11_440)] {
        let ends = on_threads(nodes, |node| options(plan.words(), node, nodes, Mode::Invalidate), program);
        let written: u64 = ends.iter().map(|end| end.work.written).sum();
        assert_eq!(written, wanted, "{nodes} nodes");
    }
}

/// A small random program without races: in each phase each word belongs to one node, or to all to read; some words
/// have a lock and are counted up.
async fn random_program(seed: u64, memory: Local) -> Vec<f64> {
    const WORDS: usize = 4 * 4;
    let (node, nodes) = (memory.node(), memory.nodes());
    // All nodes draw the same numbers, so each knows what is to be there.
    let mut random = Random::new(seed);
    let mut truth = [0.0; WORDS];
    let locked: Vec<bool> = (0..WORDS).map(|_| random.chance(0.2)).collect();
    for phase in 1..=4 {
        let mut next = truth;
        for word in 0..WORDS {
            let owner = random.below(nodes + 1);
            for reader in 0..nodes {
                let acts = random.chance(0.6);
                if locked[word] {
                    next[word] += f64::from(u32::from(acts));
                    if acts && reader == node {
                        memory.lock(word as u32).await;
                        memory.with(&[Use::write(word, 1)], |views| views[0][0] += 1.0).await;
                        memory.unlock(word as u32).await;
                    }
                } else if owner == reader && acts {
                    next[word] = f64::from(phase * 100 + word as u32);
                    if reader == node {
                        memory.with(&[Use::write(word, 1)], |views| views[0][0] = next[word]).await;
                    }
                } else if owner == nodes && acts && reader == node {
                    let found = memory.with(&[Use::read(word, 1)], |views| views[0][0]).await;
                    assert_eq!(found, truth[word], "seed {seed}: word {word} at node {node}, phase {phase}");
                }
            }
        }
        truth = next;
        memory.barrier().await;
    }
    let found = memory.with(&[Use::read(0, WORDS)], |views| views[0].to_vec()).await;
    assert_eq!(found, truth, "seed {seed}: node {node}");
    found
}

/// Pages of four words, with homes at random.
fn small_pages(seed: u64, node: NodeId, nodes: u32) -> Options {
    let mut random = Random::new(seed);
    let homes = (0..4).map(|_| NodeId(random.below(nodes))).collect();
    Options { node, nodes, page_bytes: 4 * WORD, homes, mode: MODES[(seed / 4 % 2) as usize] }
}

#[test]
fn random_programs_read_what_was_written_last_on_networks_with_faults() {
    let mut seen = Counters::default();
    for seed in 0..200 {
        let nodes = 2 + (seed % 4) as u32;
        let config = Config { check: seed % 10 == 0, ..ring(nodes, seed) };
        let ends = simulated(
            &config,
            |node| small_pages(seed, node, nodes),
            move |memory| random_program(seed, memory),
        );
        assert!(ends.windows(2).all(|pair| pair[0].result == pair[1].result), "seed {seed}");
        seen.refetches += sum(&ends, |counters| counters.refetches);
        seen.guarded_writes += sum(&ends, |counters| counters.guarded_writes);
        seen.reached += sum(&ends, |counters| counters.reached);
    }
    assert!(seen.refetches > 0 && seen.guarded_writes > 100 && seen.reached > 1000, "{seen:?}");
}

/// Its routers multiply packets.
#[test]
fn random_programs_read_what_was_written_last_on_an_rdt() {
    for seed in 0..20 {
        let config = Config { time_max: 1 << 34, ..Config::jump1(4, seed) };
        let ends = simulated(
            &config,
            |node| small_pages(seed, node, 16),
            move |memory| random_program(seed, memory),
        );
        assert!(ends.windows(2).all(|pair| pair[0].result == pair[1].result), "seed {seed}");
    }
}

#[test]
fn random_programs_read_what_was_written_last_on_threads() {
    for seed in 0..100 {
        let nodes = 2 + (seed % 4) as u32;
        on_threads(nodes, |node| small_pages(seed, node, nodes), move |memory| random_program(seed, memory));
    }
}

#[test]
#[should_panic(expected = "node 1: its program has ended with lock 3")]
fn a_program_gives_its_locks_back() {
    on_threads(
        2,
        |node| options(1, node, 2, Mode::Invalidate),
        |memory| async move {
            if memory.node() == 1 {
                memory.lock(3).await;
            }
        },
    );
}

#[test]
fn shares_are_all_there_is() {
    for (count, nodes) in [(0, 3), (7, 3), (512, 4)] {
        let all: Vec<usize> = (0..nodes).flat_map(|node| share(count, node, nodes)).collect();
        assert_eq!(all, (0..count).collect::<Vec<_>>());
    }
    assert_eq!(PAGE_BYTES % WORD, 0);
}
