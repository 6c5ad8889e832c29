//! The J-Machine's programs among nodes that send them what no node of theirs sends: it is counted, and nothing worse
//! happens.

use fabric::simulated::{self, Config};
use fabric::{Fabric, NodeId, Priority, Random};
use lab::workloads::{lcs, queens, radix_sort, tsp};
use machine::{Call, Context, Costs, Here, Machine, Program, Verdict};

const NODES: u32 = 4;
/// Messages that the stranger sends to each node.
const DAMAGED: u32 = 400;

/// A message of the program: code, words, payload.
type Letter = (u32, Vec<u64>, Vec<u8>);

/// A node that runs the program, or one that sends letters to all others instead.
enum Peer<P> {
    Right(P),
    Stranger(Vec<Letter>),
}

impl<P: Program> Program for Peer<P> {
    fn start(&mut self, here: &Here) {
        match self {
            Peer::Right(program) => program.start(here),
            Peer::Stranger(letters) => {
                let (here, letters) = (here.clone(), std::mem::take(letters));
                here.clone().spawn(async move {
                    for (code, words, payload) in letters {
                        for to in (0..here.nodes()).map(NodeId).filter(|&to| to != here.node()) {
                            here.send_with(to, Priority::Low, code, &words, payload.clone()).await;
                        }
                    }
                });
            }
        }
    }
    fn handle<F: Fabric>(&mut self, context: &mut Context<'_, F>, call: &Call<'_>) -> Verdict {
        match self {
            Peer::Right(program) => program.handle(context, call),
            Peer::Stranger(_) => Verdict::Done,
        }
    }
}

/// Strange messages that the others count when the last node sends these letters.
fn strange<P: Program>(make: impl Fn(NodeId) -> P, letters: &[Letter]) -> u64 {
    let peer = |node: NodeId| {
        if node.0 == NODES - 1 { Peer::Stranger(letters.to_vec()) } else { Peer::Right(make(node)) }
    };
    let machine = |node| Machine::new(node, NODES, peer(node), Costs { patience: 1000, ..Costs::default() });
    let outcome = simulated::run(&Config::j_machine(&[2, 2, 1], 1), machine).expect("it comes to its end");
    assert!(outcome.nodes.iter().all(|machine| machine.ended().is_some()));
    outcome.nodes.iter().map(|machine| machine.counters().strange).sum()
}

/// Like one of the letters, with a bit, a word or some bytes changed.
fn damaged(random: &mut Random, letters: &[Letter]) -> Letter {
    let (mut code, mut words, mut payload) = letters[random.below(letters.len() as u32) as usize].clone();
    match random.below(6) {
        0 => code ^= 1 << random.below(4),
        1 => words.push(random.bits()),
        2 => _ = words.pop(),
        3 if !payload.is_empty() => {
            let at = random.below(payload.len() as u32) as usize;
            payload[at] ^= 1 << random.below(8);
        }
        4 => payload.resize(random.below(40) as usize * 4, random.bits() as u8),
        _ if !words.is_empty() => {
            let at = random.below(words.len() as u32) as usize;
            words[at] ^= 1 << random.below(64);
        }
        _ => {}
    }
    (code, words, payload)
}

/// Each of the wrong letters is counted by each node; of damaged ones some are, and after them all the run has an end.
fn survives<P: Program>(make: impl Fn(NodeId) -> P, right: &[Letter], wrong: &[Letter]) {
    assert_eq!(strange(&make, wrong), wrong.len() as u64 * u64::from(NODES - 1));
    let mut random = Random::new(1);
    let letters: Vec<Letter> = (0..DAMAGED).map(|_| damaged(&mut random, right)).collect();
    assert!(strange(&make, &letters) > u64::from(DAMAGED) / 4);
}

fn letter(code: u32, words: &[u64], payload: &[u64]) -> Letter {
    (code, words.to_vec(), payload.iter().flat_map(|word| word.to_le_bytes()).collect())
}

#[test]
fn longest_common_subsequence() {
    let (first, second) = lcs::strings(1, 64, 50);
    let cycles = lcs::Cycles { entry: 42, character: 22, start_up: 5 };
    let letter = |words: &[u64]| letter(lcs::NEXT_CHARACTER, words, &[]);
    survives(
        |node| lcs::Lcs::new(node, NODES, (&first, &second), cycles),
        &[letter(&[97, 0])],
        &[letter(&[]), letter(&[97]), letter(&[97, 0, 0]), letter(&[97, u64::MAX]), (7, vec![97, 0], vec![])],
    );
}

#[test]
fn radix_sorting() {
    use radix_sort::{Cycles, DOWN, RadixSort, UP, WRITE, WRITE_MANY, Writes};
    let keys = radix_sort::keys(2, 64, 28);
    let counts = [1; 16];
    let right = [
        letter(WRITE, &[3, 77], &[]),
        letter(WRITE_MANY, &[], &[3, 77, 4, 78]),
        letter(UP, &[0, 0], &counts),
        letter(DOWN, &[1, 1], &counts),
    ];
    let wrong = [
        letter(WRITE, &[16, 77], &[]),
        letter(WRITE, &[u64::MAX, 77], &[]),
        letter(WRITE, &[3], &[]),
        letter(WRITE_MANY, &[], &[3, 77, 16, 78]),
        letter(WRITE_MANY, &[], &[3, 77, 4]),
        letter(WRITE_MANY, &[3], &[3, 77]),
        letter(UP, &[0, 0], &counts[1..]),
        letter(UP, &[7, 0], &counts),
        letter(UP, &[0, 3], &counts),
        letter(DOWN, &[0, 1 << 32], &counts),
        letter(DOWN, &[0, 0], &[65; 16]),
        letter(DOWN, &[0, 0], &[u64::MAX; 16]),
        letter(99, &[0, 0], &counts),
    ];
    for writes in [Writes::One, Writes::Batched] {
        let make =
            |node| RadixSort::new(node, NODES, &keys, 28, writes, Cycles { key: 20, write: 4, alone: 30 });
        survives(make, &right, &wrong);
        // Places that no node has, of keys that then nobody gets.
        strange(make, &[letter(DOWN, &[0, 0], &[64; 16]), letter(DOWN, &[0, 1], &[64; 16])]);
    }
}

#[test]
fn placing_queens() {
    use queens::{BOARD, DONE, Deal};
    const CYCLES: queens::Cycles = queens::Cycles { board: 10, answer: 5 };
    survives(
        |_| queens::Queens::new(6, 3, Deal::InTurn, CYCLES),
        &[letter(BOARD, &[2, 3, 9, 6, 4], &[0]), letter(DONE, &[3, 1], &[])],
        &[
            letter(BOARD, &[7, 3, 0, 0, 0], &[0]),
            letter(BOARD, &[u64::MAX, 3, 0, 0, 0], &[0]),
            letter(BOARD, &[2, 3, 9, 6], &[0]),
            letter(BOARD, &[2, 3, 9, 6, 4], &[]),
            letter(DONE, &[], &[]),
            // Nobody waits for an answer to such a board.
            letter(DONE, &[u64::MAX, 1], &[]),
            letter(3, &[1], &[]),
        ],
    );
    // What would not fit into the sum.
    let twice = [letter(DONE, &[3, u64::MAX - 1], &[]), letter(DONE, &[3, u64::MAX - 1], &[])];
    let make = |_| queens::Queens::new(6, 3, Deal::InTurn, CYCLES);
    assert!(strange(make, &twice) >= u64::from(NODES - 1));
}

#[test]
fn the_travelling_salesman() {
    use tsp::{BOUND, WANT, WORK};
    const CYCLES: tsp::Cycles = tsp::Cycles { path: 50, call: 20, call_paths: 3, task_cities: 3 };
    let map = tsp::Map::new(1, 6);
    // From city 0 to city 2.
    let (last, been, count, length) = (2, 0b101 << 32, 2, 500 << 32);
    survives(
        |node| tsp::Tsp::new(node, NODES, &map, CYCLES),
        &[
            letter(WORK, &[last | been, count | length], &[]),
            letter(WANT, &[], &[]),
            letter(BOUND, &[9000], &[]),
        ],
        &[
            letter(WORK, &[3 | been, count | length], &[]),
            letter(WORK, &[16 | been, count | length], &[]),
            letter(WORK, &[last | been | 1 << 40, count | length], &[]),
            letter(WORK, &[last | been, 3 | length], &[]),
            letter(WORK, &[last | been, count | u64::from(u32::MAX) << 32], &[]),
            letter(WORK, &[last], &[]),
            letter(WANT, &[1], &[]),
            letter(BOUND, &[1 << 32], &[]),
            letter(4, &[], &[]),
        ],
    );
}
