//! The protocol explored: small cases in every order, large ones along random ways, and each rule taken away.
//!
//! `FIFTH_SEEDS=FROM..TO` chooses the seeds of `random_runs_hold_every_invariant`; `cargo xtask simulate --seeds N`
//! does that.

mod invariants;
mod mechanisms;
mod model;
mod oracle;
mod rings;
mod tiny;

use super::exports::Exports;
use super::imports::Imports;
use super::{Counters, Depth, Protocol, Rule};
use crate::wire::message::Items;
use explorer::{Model, breadth_first, walk, walks};
use fabric::{NodeId, Random};
use model::{Act, Action, Case, Removed};
use tiny::StoreRule;

impl Protocol {
    fn without(&mut self, rule: Rule) {
        self.without = Some(rule);
    }
    fn exports(&self) -> &Exports {
        &self.exports
    }
    fn imports(&self) -> &Imports {
        &self.imports
    }
    fn releases(&self) -> impl Iterator<Item = (NodeId, Items<'_>)> {
        let items = |words| Items::new(words, self.options.nodes).expect("items");
        self.releases.iter().map(move |(to, words)| (to, items(words)))
    }
    fn has_releases(&self) -> bool {
        self.releases.first().is_some()
    }
}

impl Counters {
    fn exports_and_imports(&self) -> usize {
        self.exports + self.imports
    }
}

/// Two variables, x (0) and y (1), with weights of at most 4.
fn small(nodes: u8, homes: [u8; 2], before: &[(u8, u8, u8)], acts: &[&[Act]]) -> Case {
    Case {
        nodes,
        variables: 2,
        exponent: 2,
        hops: 9,
        depth: Depth::Off,
        identities: false,
        far: None,
        room: 1 << 20,
        batch: 1,
        homes: homes.to_vec(),
        before: before.to_vec(),
        acts: acts.iter().map(|acts| acts.to_vec()).collect(),
        removed: None,
    }
}

/// Goes through all states of a case, and says how many there are.
fn every_order(case: &Case) -> usize {
    let explored = breadth_first(case, 400_000).unwrap_or_else(|broken| panic!("{case:?}\n{broken}"));
    assert!(explored.complete && explored.ends > 0, "{explored:?}");
    println!("{} states, {} ends", explored.states, explored.ends);
    explored.states
}

#[test]
fn unified_from_both_sides_in_every_order() {
    use Act::{Bind, Unify, Wait};
    let both = [(0, 0, 1), (1, 1, 0)];
    let states = every_order(&small(2, [0, 1], &both, &[&[Unify(0, 1), Wait(0)], &[Unify(1, 0), Wait(1)]]));
    let bound = small(2, [0, 1], &both, &[&[Unify(0, 1), Wait(1)], &[Unify(1, 0), Bind(0, 0), Wait(1)]]);
    assert!(states > 50 && every_order(&bound) > 100);
    // A third node has both, and unifies them, too.
    let spread = [(0, 0, 1), (1, 1, 0), (0, 0, 2), (1, 0, 2)];
    let acts: [&[Act]; 3] = [&[Unify(0, 1), Wait(0)], &[Unify(1, 0)], &[Unify(1, 0), Wait(1)]];
    assert!(every_order(&small(3, [0, 1], &spread, &acts)) > 500);
}

#[test]
fn passed_on_without_weight_in_every_order() {
    use Act::{Bind, Forget, Throw, Unify, Wait};
    let mut case =
        small(3, [0, 0], &[(0, 0, 1)], &[&[Bind(0, 0)], &[Throw(0, 2), Forget(0)], &[Wait(0), Throw(0, 1)]]);
    case.exponent = 0;
    assert!(every_order(&case) > 200);
    let mut case = small(
        3,
        [0, 2],
        &[(0, 0, 1), (0, 1, 2), (1, 2, 0)],
        &[&[Unify(0, 1)], &[Wait(0)], &[Unify(0, 1), Wait(1)]],
    );
    case.exponent = 0;
    assert!(every_order(&case) > 200);
    case.hops = 0;
    assert!(every_order(&case) > 200);
}

/// Node 0 has only passed the reference on, and what it has is suspected; node 1 gives it a value, and node 2 waits.
#[test]
fn what_moves_and_is_waited_for_in_every_order() {
    use Act::{Bind, Forget, Throw, Wait};
    let acts: [&[Act]; 3] = [&[Throw(0, 2), Forget(0)], &[Bind(0, 0)], &[Wait(0)]];
    let mut case = small(3, [1, 1], &[(0, 1, 0)], &acts);
    (case.exponent, case.far) = (0, Some(2));
    assert!(every_order(&case) > 100);
    // And at node 0 somebody waits, too.
    let acts: [&[Act]; 3] = [&[Throw(0, 2), Wait(0), Forget(0)], &[Bind(0, 0)], &[Wait(0)]];
    case.acts = acts.map(<[Act]>::to_vec).to_vec();
    assert!(every_order(&case) > 100);
}

#[test]
fn weight_runs_out_in_every_order() {
    use Act::{Bind, Forget, Throw, Wait};
    // Four throws of a weight of four: the last ones are references to the import.
    let throws = [Throw(0, 2), Throw(0, 2), Throw(0, 2), Throw(0, 2)];
    let case = small(3, [0, 0], &[(0, 0, 1)], &[&[Bind(0, 0)], &throws, &[Wait(0), Forget(0)]]);
    assert!(every_order(&case) > 200);
}

#[test]
fn released_against_exported_again_in_every_order() {
    use Act::{Bind, Forget, Throw, Wait};
    let case = small(
        2,
        [0, 0],
        &[(0, 0, 1)],
        &[&[Throw(0, 1), Throw(0, 1), Bind(0, 0)], &[Forget(0), Wait(0), Forget(0)]],
    );
    assert!(every_order(&case) > 100);
    let back = small(
        2,
        [0, 0],
        &[(0, 0, 1)],
        &[&[Throw(0, 1), Wait(0)], &[Throw(0, 0), Forget(0), Wait(0), Bind(0, 0)]],
    );
    assert!(every_order(&back) > 100);
}

/// More than any large case takes.
const STEPS_MAX: usize = 20_000;

/// The seeds of the large runs.
fn seeds() -> std::ops::Range<u64> {
    let parse = |text: String| {
        let (from, to) = text.split_once("..")?;
        Some(from.parse().ok()?..to.parse().ok()?)
    };
    match std::env::var("FIFTH_SEEDS") {
        Ok(text) => parse(text).expect("FIFTH_SEEDS=FROM..TO"),
        Err(_) => 0..200,
    }
}

/// A large case: 2 to 4 nodes, 2 to 6 variables, 4 to 14 actions of each node.
fn large(seed: u64) -> Case {
    let (nodes, variables, length) = (2 + seed % 3, 2 + seed / 3 % 5, 4 + seed / 7 % 11);
    Case::random(seed, nodes as u8, variables as u8, length as u8)
}

#[test]
fn random_runs_hold_every_invariant() {
    let seeds = seeds();
    let count = seeds.end - seeds.start;
    let walked = walks(seeds, STEPS_MAX, large)
        .unwrap_or_else(|broken| panic!("{:?}\n{broken}", large(broken.seed.unwrap_or_default())));
    println!("{count} seeds, {} steps: every invariant held", walked.steps);
    assert_eq!(walked.ended, count);
}

#[test]
fn messages_that_no_node_sends_are_errors_that_name_the_sender() {
    let (mut errors, mut delivered) = (0, 0);
    for seed in 0..3_000 {
        let (case, mut random) = (large(seed), Random::new(seed));
        let (mut state, mut actions) = (case.start(), Vec::new());
        for _ in 0..100 {
            actions.clear();
            case.actions(&state, &mut actions);
            if actions.is_empty() {
                break;
            }
            let action = actions[random.below(actions.len() as u32) as usize];
            if let Action::Deliver(way) = action
                && let Some(words) = state.ways[way as usize].front_mut()
                && random.below(4) == 0
            {
                let word = random.below(words.len() as u32) as usize;
                words[word] ^= 1 << random.below(64);
                delivered += 1;
            }
            if let Err(error) = case.step(&mut state, &action) {
                let named = error.contains("sent a message that no node of this program sends");
                assert!(named, "seed {seed}: {error}");
                errors += 1;
                break;
            }
        }
    }
    println!("{errors} errors, {delivered} changed messages");
    assert!(errors > 1_000 && delivered > errors);
}

/// Takes a rule away and wants a counterexample.
fn bites(removed: Removed) {
    let broken = (0..20_000).find_map(|seed| {
        let mut case = large(seed);
        case.removed = Some(removed);
        walk(&case, seed, STEPS_MAX).err()
    });
    let broken = broken.unwrap_or_else(|| panic!("nothing breaks without {removed:?}"));
    println!("without {removed:?}: {} after {} actions", broken.cause, broken.trace.len());
}

#[test]
fn without_depth_references_form_a_circle() {
    bites(Removed::Protocol(Rule::Depth));
}

#[test]
fn without_exports_for_readers_a_goal_waits_for_ever() {
    bites(Removed::Protocol(Rule::Readers));
}

#[test]
fn without_comparison_a_failure_is_lost() {
    bites(Removed::Protocol(Rule::Compare));
}

#[test]
fn without_serials_answers_go_astray() {
    bites(Removed::Protocol(Rule::Serial));
}

#[test]
fn without_keys_of_grants_weight_is_lost() {
    bites(Removed::Protocol(Rule::GrantKey));
}

#[test]
fn without_roots_in_the_queue_a_value_is_lost() {
    bites(Removed::Store(StoreRule::QueueRoots));
}

#[test]
fn without_marks_that_stay_variables_close_a_circle() {
    bites(Removed::Store(StoreRule::StaysMarked));
}

#[test]
fn without_order_of_requests_for_weight_an_entry_is_free() {
    bites(Removed::WantLow);
}

#[test]
fn without_order_of_releases_an_entry_is_free() {
    bites(Removed::ReleaseLow);
}
