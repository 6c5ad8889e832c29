//! The protocol explored: small cases in every order, large ones along random ways, and each rule taken away.
//!
//! `FIFTH_SEEDS=FROM..TO` chooses the seeds of `random_runs_hold_every_invariant`; `cargo xtask simulate --seeds N`
//! does that.

mod model;

use super::{Counters, Mode, Options, Post, Protocol, Rule};
use crate::{Access, Message, Page, Store, WORD};
use explorer::{Model, breadth_first, walk, walks};
use fabric::{NodeId, NodeSet};
use model::{Case, Op};
use std::ops::Range;

const MODES: [Mode; 2] = [Mode::Invalidate, Mode::Update];
/// States of one case; all of the cases below have fewer.
const STATES_MAX: usize = 2_000_000;

fn case<const N: usize>(homes: &[u32], mode: Mode, programs: [&[Op]; N]) -> Case {
    let programs = programs.into_iter().map(|program| [program, &[Op::Barrier]].concat()).collect();
    Case { homes: homes.to_vec(), mode, programs, without: None }
}

/// Every order of events, in both modes.
fn explore<const N: usize>(homes: &[u32], programs: [&[Op]; N]) {
    for mode in MODES {
        let case = case(homes, mode, programs);
        let explored = breadth_first(&case, STATES_MAX).unwrap_or_else(|broken| panic!("{case:?}\n{broken}"));
        println!("{mode:?}, {N} nodes: {explored:?}");
        assert!(explored.complete && explored.ends > 0, "{case:?}: {explored:?}");
    }
}

use Op::{Barrier, Hear, Lock, Read, Tell, Touch, Unlock, Write};

#[test]
fn a_home_and_a_reader_in_every_order() {
    explore(&[0], [&[Write(0, 0, 1), Barrier, Write(0, 0, 2)], &[Read(0, 1), Barrier, Read(0, 1)]]);
    explore(&[0], [&[Write(0, 0, 1), Barrier, Barrier, Write(0, 0, 2)], &[Barrier, Read(0, 0), Barrier]]);
    explore(
        &[0],
        [&[Barrier, Barrier, Read(0, 0)], &[Write(0, 0, 1), Barrier, Read(0, 0), Write(0, 0, 2), Barrier]],
    );
}

#[test]
fn two_writers_of_a_page_in_every_order() {
    explore(&[0], [&[Write(0, 0, 1), Barrier, Read(0, 1)], &[Write(0, 1, 2), Barrier, Read(0, 0)]]);
    explore(
        &[2],
        [
            &[Write(0, 0, 1), Barrier, Read(0, 1)],
            &[Write(0, 1, 2), Barrier, Read(0, 0)],
            &[Barrier, Read(0, 0)],
        ],
    );
}

#[test]
fn a_release_of_several_pages_in_every_order() {
    let first = [Write(0, 0, 1), Write(1, 0, 2), Barrier, Read(0, 1), Read(1, 1)];
    let second = [Write(1, 1, 3), Write(0, 1, 4), Barrier, Read(1, 0)];
    explore(&[0, 0], [&second, &first]);
    explore(&[0, 1], [&first, &second]);
}

#[test]
fn a_lock_goes_round_in_every_order() {
    let add = |value| [Lock(0), Read(0, 0), Write(0, 0, value), Unlock(0)];
    explore(&[0], [&add(1), &add(2)]);
    explore(&[1], [&add(1), &add(2)]);
    explore(
        &[2],
        [&[Read(0, 1), Lock(0), Read(0, 0), Unlock(0)], &[Lock(0), Write(0, 0, 2), Unlock(0)], &[]],
    );
    // A writer of another word meanwhile: its copy becomes stale.
    explore(&[0], [&[Lock(0), Write(0, 0, 1), Unlock(0)], &[Write(0, 1, 2), Lock(0), Read(0, 0), Unlock(0)]]);
}

#[test]
fn two_pages_with_two_homes_in_every_order() {
    explore(&[0, 1], [&[Write(1, 0, 1), Barrier, Read(0, 0)], &[Write(0, 0, 2), Barrier, Read(1, 0)]]);
    explore(&[0, 0], [&[Barrier, Read(0, 0)], &[Write(0, 0, 1), Write(1, 1, 2), Barrier, Read(1, 1)]]);
}

#[test]
fn several_pages_are_fetched_at_once_in_every_order() {
    explore(
        &[0, 0],
        [
            &[Write(0, 0, 1), Barrier, Write(0, 0, 2), Write(1, 0, 3)],
            &[Touch(0, 1, false), Read(1, 1), Barrier, Touch(0, 1, true), Write(0, 1, 4), Read(1, 1)],
        ],
    );
    // Of two homes, and a third node that changes one page while both travel.
    explore(
        &[0, 0, 1],
        [
            &[Write(0, 0, 1), Barrier, Read(0, 0)],
            &[Write(2, 0, 2), Write(0, 1, 3), Barrier],
            &[Touch(0, 2, false), Barrier, Touch(0, 2, false), Read(0, 1), Read(2, 0)],
        ],
    );
}

#[test]
fn small_random_programs_in_every_order() {
    let mut states = 0;
    for seed in 0..120 {
        let (nodes, pages) = (2 + u32::from(seed % 4 == 0), 1 + (seed / 2 % 2) as u32);
        let case = Case::random(seed, nodes, pages, 2, 2);
        let explored = breadth_first(&case, 30_000).unwrap_or_else(|broken| panic!("{case:?}\n{broken}"));
        states += explored.states;
    }
    println!("{states} states");
    assert!(states > 100_000, "{states}");
}

/// The seeds that the environment wants.
fn seeds() -> Range<u64> {
    let parse = |text: String| {
        let (from, to) = text.split_once("..")?;
        Some(from.parse().ok()?..to.parse().ok()?)
    };
    match std::env::var("FIFTH_SEEDS") {
        Ok(text) => parse(text).expect("FIFTH_SEEDS=FROM..TO"),
        Err(_) => 0..200,
    }
}

/// A large case: 2 to 5 nodes, 1 to 4 pages, 2 to 6 phases.
fn large(seed: u64) -> Case {
    let (nodes, pages, phases) = (2 + seed % 4, 1 + seed / 4 % 4, 2 + seed / 16 % 5);
    Case::random(seed, nodes as u32, pages as u32, phases as u32, 6)
}

#[test]
fn random_runs_hold_every_invariant() {
    let walked = walks(seeds(), 100_000, large)
        .unwrap_or_else(|broken| panic!("{:?}\n{broken}", large(broken.seed.unwrap_or_default())));
    println!("{walked:?}");
    assert_eq!(walked.ended, seeds().count() as u64);
}

/// Without the rule something breaks in this case, and with it nothing does.
fn breaks<const N: usize>(rule: Rule, homes: &[u32], mode: Mode, programs: [&[Op]; N]) {
    let whole = case(homes, mode, programs);
    breadth_first(&whole, STATES_MAX).unwrap_or_else(|broken| panic!("{whole:?}\n{broken}"));
    let broken = breadth_first(&Case { without: Some(rule), ..whole }, STATES_MAX);
    let broken = broken.err().unwrap_or_else(|| panic!("nothing breaks without {rule:?}"));
    println!("without {rule:?}: {broken}");
}

#[test]
fn without_acknowledgements_an_old_copy_is_read() {
    let programs: [&[Op]; 2] =
        [&[Barrier, Write(0, 0, 1), Barrier], &[Read(0, 0), Barrier, Barrier, Read(0, 0)]];
    MODES.into_iter().for_each(|mode| breaks(Rule::Acknowledgements, &[0], mode, programs));
}

#[test]
fn without_those_of_earlier_batches_an_old_copy_is_read() {
    // Node 0's release is still waiting for node 2 to drop its copy when node 1 releases the same page.
    let first: &[Op] = &[Barrier, Write(0, 1, 1)];
    let second: &[Op] = &[Barrier, Lock(0), Write(0, 0, 2), Unlock(0)];
    let third: &[Op] = &[Read(0, 0), Barrier, Lock(0), Read(0, 0), Unlock(0)];
    breaks(Rule::Earlier, &[0], Mode::Invalidate, [first, second, third]);
}

#[test]
fn without_versions_a_page_that_was_overtaken_is_read() {
    let programs: [&[Op]; 2] = [&[Write(0, 0, 1), Barrier, Read(0, 0)], &[Read(0, 1), Barrier, Read(0, 0)]];
    MODES.into_iter().for_each(|mode| breaks(Rule::Versions, &[0], mode, programs));
}

#[test]
fn without_stale_pages_a_write_is_lost() {
    let programs: [&[Op]; 2] = [&[Write(0, 0, 1), Barrier, Read(0, 1)], &[Write(0, 1, 2), Barrier]];
    breaks(Rule::Stale, &[0], Mode::Invalidate, programs);
}

#[test]
fn without_twins_another_write_is_lost() {
    let programs: [&[Op]; 3] =
        [&[Write(0, 0, 1), Barrier, Read(0, 1)], &[Write(0, 1, 2), Barrier, Read(0, 0)], &[Barrier]];
    MODES.into_iter().for_each(|mode| breaks(Rule::Twins, &[2], mode, programs));
}

#[test]
fn without_guards_an_old_copy_is_read() {
    let programs: [&[Op]; 2] =
        [&[Barrier, Write(0, 0, 1), Barrier], &[Read(0, 0), Barrier, Barrier, Read(0, 0)]];
    for mode in MODES {
        let case = Case { without: Some(Rule::Guards), ..case(&[0], mode, programs) };
        breadth_first(&case, STATES_MAX).expect_err("an old copy is read");
    }
}

#[test]
fn without_a_homes_twin_an_update_undoes_a_write() {
    let programs: [&[Op]; 2] =
        [&[Write(0, 0, 1), Barrier, Read(0, 1)], &[Write(0, 1, 2), Barrier, Read(0, 1)]];
    breaks(Rule::HomeTwins, &[0], Mode::Update, programs);
}

#[test]
fn without_acquires_a_stale_page_is_read() {
    let programs: [&[Op]; 2] =
        [&[Lock(0), Write(0, 0, 1), Unlock(0)], &[Write(0, 1, 2), Lock(0), Read(0, 0), Unlock(0)]];
    breaks(Rule::Acquire, &[0], Mode::Invalidate, programs);
}

/// Programs that tell each other what they wrote, in every order and both modes.
fn explore_telling<const N: usize>(homes: &[u32], programs: [&[Op]; N]) {
    for mode in MODES {
        let programs = programs.iter().map(|program| program.to_vec()).collect();
        let case = Case { homes: homes.to_vec(), mode, programs, without: None };
        let explored = breadth_first(&case, STATES_MAX).unwrap_or_else(|broken| panic!("{case:?}\n{broken}"));
        println!("{mode:?}, {N} nodes: {explored:?}");
        assert!(explored.complete && explored.ends > 0, "{case:?}: {explored:?}");
    }
}

/// The writer goes on: what it writes and tells then belongs to another release.
const TELLER: &[Op] = &[Write(0, 0, 1), Tell(1), Write(0, 1, 2), Tell(2)];
/// It has a copy already, or is going to get one.
const HEARER: &[Op] = &[Touch(0, 0, false), Hear(1), Read(0, 0), Hear(2), Read(0, 1), Read(0, 0)];

#[test]
fn who_hears_of_a_write_reads_it_in_every_order() {
    explore_telling(&[0], [TELLER, HEARER]);
    explore_telling(&[1], [TELLER, HEARER]);
    explore_telling(&[2], [TELLER, HEARER, &[]]);
    // Two pages with two homes.
    explore_telling(
        &[0, 1],
        [&[Write(0, 0, 1), Write(1, 0, 2), Tell(1)], &[Touch(0, 1, false), Hear(1), Read(0, 0), Read(1, 0)]],
    );
}

#[test]
fn who_hears_of_it_from_another_reads_it_in_every_order() {
    explore_telling(
        &[0],
        [&[Write(0, 0, 1), Tell(1)], &[Hear(1), Tell(2)], &[Touch(0, 0, false), Hear(2), Read(0, 0)]],
    );
    explore_telling(
        &[1],
        [&[Write(0, 0, 1), Tell(1)], &[Hear(1), Tell(2)], &[Touch(0, 0, false), Hear(2), Read(0, 0)]],
    );
}

#[test]
fn two_writers_of_a_page_tell_each_other_in_every_order() {
    let programs: [&[Op]; 2] = [
        &[Write(0, 0, 1), Tell(1), Hear(2), Read(0, 1), Write(0, 0, 3), Tell(3)],
        &[Write(0, 1, 2), Hear(1), Read(0, 0), Tell(2), Hear(3), Read(0, 0)],
    ];
    explore_telling(&[0], programs);
    explore_telling(&[1], programs);
    explore_telling(&[2], [programs[0], programs[1], &[]]);
    let at_once: [&[Op]; 2] =
        [&[Write(0, 0, 1), Tell(1), Hear(2), Read(0, 1)], &[Write(0, 1, 2), Tell(2), Hear(1), Read(0, 0)]];
    explore_telling(&[0], at_once);
    explore_telling(&[2], [at_once[0], at_once[1], &[]]);
}

#[test]
fn random_runs_that_tell_hold_every_invariant() {
    let case = |seed: u64| Case::telling(seed, 2 + (seed % 4) as u32, 1 + (seed / 4 % 4) as u32, 40);
    let walked = walks(seeds(), 100_000, case)
        .unwrap_or_else(|broken| panic!("{:?}\n{broken}", case(broken.seed.unwrap_or_default())));
    println!("{walked:?}");
    assert_eq!(walked.ended, seeds().count() as u64);
}

#[test]
fn without_an_outbox_or_acquires_who_hears_of_a_write_does_not_read_it() {
    for (rule, second) in [
        (Rule::Outbox, &[Touch(0, 0, false), Hear(1), Read(0, 0)][..]),
        (Rule::Acquire, &[Write(0, 1, 2), Hear(1), Read(0, 0)]),
    ] {
        let programs = vec![vec![Write(0, 0, 1), Tell(1)], second.to_vec()];
        let case = Case { homes: vec![0], mode: Mode::Invalidate, programs, without: Some(rule) };
        let broken = breadth_first(&case, STATES_MAX);
        println!("without {rule:?}: {}", broken.expect_err("something breaks"));
    }
}

/// What each node has counted at the end of a run.
fn counted(case: &Case) -> Vec<Counters> {
    let mut state = case.start();
    let mut actions = Vec::new();
    loop {
        actions.clear();
        case.actions(&state, &mut actions);
        let Some(action) = actions.first() else { break };
        case.step(&mut state, action).expect("nothing breaks");
    }
    Case::counters(&state)
}

#[test]
fn a_message_to_each_home_asks_for_all_pages_that_are_missing() {
    let touches = [Touch(0, 69, false), Touch(0, 69, true), Barrier];
    let mut homes = vec![0; 66];
    homes.extend([2; 4]);
    let case = case(&homes, Mode::Invalidate, [&[Barrier], &touches, &[Barrier]]);
    let counters = counted(&case);
    // 64 pages at most in one.
    assert_eq!((counters[1].misses, counters[1].fetches), (70, 3));
}

#[test]
fn what_is_counted_is_what_happened() {
    let programs: [&[Op]; 2] = [&[Barrier, Read(0, 0)], &[Write(0, 0, 1), Barrier, Read(0, 0)]];
    let case = case(&[0], Mode::Invalidate, programs);
    let [home, writer] = counted(&case)[..] else { panic!("two nodes") };
    assert_eq!((writer.misses, writer.twins, writer.diffs, home.applied), (1, 1, 1, 1));
    assert_eq!((home.multicasts, home.misses), (0, 0), "{home:?}");
    assert_eq!(walk(&case, 1, 1000).map(|walked| walked.ended), Ok(1));
}

/// Pages of one word, and what is sent about them.
struct Sent {
    words: Vec<u8>,
    diffs: Vec<Vec<Page>>,
}

impl Store for Sent {
    fn read(&self, page: Page, into: &mut [u8]) {
        into.fill(self.words[page as usize]);
    }
    fn write(&mut self, page: Page, _: usize, bytes: &[u8]) {
        self.words[page as usize] = bytes[0];
    }
    fn access(&mut self, _: Page, _: Access) {}
}

impl Post for Sent {
    fn post(&mut self, _: NodeId, message: Message) {
        if let Message::Diffs { diffs, .. } = message {
            self.diffs.push(diffs.into_iter().map(|(page, _)| page).collect());
        }
    }
    fn post_many(&mut self, _: NodeSet, _: u64, _: Message) {}
}

#[test]
fn a_release_goes_home_part_by_part() {
    let homes: Vec<NodeId> = [0, 1, 0, 0, 0].map(NodeId).into();
    let options =
        Options { node: NodeId(1), nodes: 2, page_bytes: WORD, homes: homes.into(), mode: Mode::Invalidate };
    let mut node = Protocol::new(options);
    node.set_part(2);
    let mut env = Sent { words: vec![0; 5], diffs: Vec::new() };
    for page in [4, 0, 3, 2] {
        assert!(!node.write(page, &mut env));
        let pages = Message::Pages { pages: vec![(page, 0)], bytes: vec![0; WORD] };
        node.receive(NodeId(0), pages, &mut env).expect("it was asked for");
        assert!(node.write(page, &mut env));
        env.words[page as usize] = 7;
    }
    node.release(&mut env);
    assert!(node.is_leaving());
    assert_eq!(env.diffs, [[0, 2]]);
    node.receive(NodeId(0), Message::Done { batch: 1 }, &mut env).expect("it was sent");
    assert!(!node.is_released(), "a part of it is here");
    // What others have changed meanwhile goes home all the same, and the copy with it.
    node.receive(NodeId(0), Message::Invalidate { pages: vec![(4, 1)] }, &mut env).expect("it has a copy");
    node.go_on(&mut env);
    assert_eq!((&env.diffs[1..], node.is_leaving()), (&[vec![3, 4]][..], false));
    assert!(!node.is_released());
    node.receive(NodeId(0), Message::Done { batch: 2 }, &mut env).expect("it was sent");
    assert!(node.is_released() && !node.read(4, &mut env));
}
