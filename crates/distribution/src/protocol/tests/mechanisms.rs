//! Each mechanism of the protocol shows in what is sent and kept: a figure is as it should be with it, and larger
//! without. So no mechanism can be lost without a test that fails.

use super::model::{Act, Case, Removed, State};
use super::rings::{left, moved, pairs, sum};
use super::small;
use super::tiny::Cell;
use crate::KINDS;
use crate::protocol::{Depth, Rule};
use crate::store::{ExportId, Store};
use crate::wire::message::{Distance, Distances, Message};
use explorer::Model;
use fabric::NodeId;

/// Messages of a kind.
fn sent(state: &State, name: &str) -> u64 {
    let kind = KINDS.iter().position(|kind| *kind == name).expect("a kind");
    sum(state, |counters| counters.sent[kind])
}

/// What a mechanism does: the figure with all mechanisms, and without it.
fn shows(rule: Rule, right: u64, figure: impl Fn(Option<Rule>) -> u64) {
    assert_eq!(figure(None), right, "with {rule:?}");
    let without = figure(Some(rule));
    assert!(without > right, "without {rule:?} {without} instead of {right}");
}

/// These nodes do these things one after the other, and all that follows.
fn after(case: &Case, without: Option<Rule>, acts: &[(usize, Act)]) -> State {
    let case = Case { removed: without.map(Removed::Protocol), ..case.clone() };
    let mut state = case.start();
    for &(node, act) in acts {
        state.nodes[node].acts.push_back(act);
        case.finish(&mut state).expect("an action");
    }
    state
}

#[test]
fn one_import_and_one_export_for_all_references_to_a_term() {
    use Act::Throw;
    let case = small(2, [0, 0], &[], &[]);
    let throws = [(0, Throw(0, 1)); 3];
    let imports = |rule| sum(&after(&case, rule, &throws), |counters| counters.imports_most as u64);
    // The first throw is white, so its import is not found again; the second and the third share one.
    shows(Rule::ImportHash, 2, imports);
    let exports = |rule| sum(&after(&case, rule, &throws), |counters| counters.exports_most as u64);
    shows(Rule::ExportHash, 1, exports);
}

#[test]
fn a_thrown_variable_that_no_other_node_knows_is_white() {
    use Act::Throw;
    let case = small(2, [0, 0], &[], &[]);
    let noted = |rule, acts: &[_]| after(&case, rule, acts).nodes[1].protocol.imports.noted() as u64;
    shows(Rule::White, 0, |rule| noted(rule, &[(0, Throw(0, 1))]));
    // The second throw finds it exported.
    assert_eq!(noted(None, &[(0, Throw(0, 1)); 2]), 1);
}

#[test]
fn weight_is_split_and_asked_for_and_a_reference_home_has_none() {
    use Act::Throw;
    // A weight of 4: the fourth throw finds 1, and the fifth what was granted.
    let case = small(3, [0, 0], &[], &[]);
    let acts = [(0, Throw(0, 1)), (1, Throw(0, 2)), (1, Throw(0, 2)), (1, Throw(0, 2))];
    let split = |rule| sum(&after(&case, rule, &acts), |counters| counters.indirect);
    shows(Rule::Split, 0, split);
    let mut more = acts.to_vec();
    more.extend([(1, Throw(0, 2)); 2]);
    shows(Rule::Want, 1, |rule| sum(&after(&case, rule, &more), |counters| counters.indirect));
    let none = Case { exponent: 0, ..case };
    let home = [(0, Throw(0, 1)), (1, Throw(0, 0))];
    shows(Rule::HomeFree, 0, |rule| sum(&after(&none, rule, &home), |counters| counters.indirect));
    // Each second throw finds no weight.
    let again = [(0, Throw(0, 1)), (1, Throw(0, 2)), (1, Throw(0, 2)), (1, Throw(0, 2))];
    let exports = |rule| after(&none, rule, &again).nodes[1].protocol.counters().exports_most as u64;
    shows(Rule::IndirectHash, 1, exports);
}

#[test]
fn a_read_is_passed_on_not_for_ever_and_taken_back() {
    use Act::{Bind, Forget, ForgetGoals, Throw, Wait};
    // Node 2 has a reference to node 1's import.
    let case = Case { exponent: 0, ..small(3, [0, 0], &[], &[]) };
    let acts = [(0, Throw(0, 1)), (1, Throw(0, 2)), (0, Bind(0, 0)), (2, Wait(0))];
    shows(Rule::Forward, 1, |rule| sent(&after(&case, rule, &acts), "answer_value"));
    let never = Case { hops: 0, ..case.clone() };
    let asked = |rule| 10 - sent(&after(&never, rule, &acts), "answer_value");
    shows(Rule::Hops, 8, asked);
    let acts = [(0, Throw(0, 1)), (1, Wait(0)), (1, ForgetGoals(0)), (1, Forget(0))];
    shows(Rule::Cancel, 0, |rule| left(&after(&case, rule, &acts)));
}

#[test]
fn what_a_goal_waits_for_travels_with_it() {
    use Act::{Pair, Throw, Wait};
    let case = small(2, [0, 0], &[], &[]);
    let acts = [(0, Pair(1, 0, 0)), (0, Throw(1, 1)), (1, Wait(1))];
    shows(Rule::Values, 0, |rule| sent(&after(&case, rule, &acts), "read"));
}

#[test]
fn releases_travel_together() {
    use Act::{Forget, Throw};
    let mut case = small(2, [0, 0], &[], &[]);
    (case.variables, case.homes, case.batch) = (3, vec![0; 3], 3);
    let acts = [(0, Throw(0, 1)), (0, Throw(1, 1)), (0, Throw(2, 1))];
    let messages = |rule: Option<Rule>| {
        let mut state = after(&case, rule, &acts);
        let case = Case { removed: rule.map(Removed::Protocol), ..case.clone() };
        state.nodes[1].acts.extend([Forget(0), Forget(1), Forget(2)]);
        case.finish(&mut state).expect("they die");
        assert_eq!(sum(&state, |counters| counters.released), 3);
        sent(&state, "release")
    };
    shows(Rule::Batch, 1, messages);
}

/// A goal at node 0 walks over the first conses of a list of 1,000 at node 1.
fn walk(rule: Option<Rule>, count: usize) -> State {
    let mut case = small(2, [1, 1], &[(0, 1, 0)], &[]);
    (case.exponent, case.depth, case.removed) = (9, Depth::Adaptive, rule.map(Removed::Protocol));
    let mut state = case.start();
    let home = &mut state.nodes[1];
    let list = pairs(&mut home.store, 1000, |store, tail| Cell::Pair(store.add(Cell::Atom(0)), tail));
    let variable = home.handles[0].1;
    home.store.unify(list, variable);
    case.finish(&mut state).expect("the binding is told");
    for _ in 0..count {
        let node = &mut state.nodes[0];
        let at = node.handles[0].1;
        node.store.wait(at);
        case.finish(&mut state).expect("it is read");
        let node = &mut state.nodes[0];
        let Cell::Pair(_, tail) = node.store.cells[node.store.at(node.handles[0].1)] else {
            panic!("a cons")
        };
        node.handles[0].1 = tail;
    }
    state
}

#[test]
fn answers_bring_more_and_more_of_a_list_whose_rest_is_not_noted() {
    shows(Rule::Chunks, 6, |rule| sent(&walk(rule, 60), "read"));
    // The ninth answer has 256 conses: a tenth read is under way before anybody wants it.
    let wanted = |rule| 20 - sent(&walk(rule, 300), "read");
    shows(Rule::Ahead, 10, wanted);
    shows(Rule::White, 0, |rule| walk(rule, 60).nodes[1].store.noted() as u64);
}

#[test]
fn a_copy_that_is_there_is_not_read_again() {
    use Act::{Pair, Throw, Wait};
    let mut case = small(3, [0, 0], &[], &[]);
    case.identities = true;
    let acts = [
        (0, Pair(0, 1, 1)),
        (0, Throw(0, 2)),
        (0, Throw(0, 1)),
        (1, Wait(0)),
        (0, Throw(0, 1)),
        (1, Wait(0)),
    ];
    // The variable in it is an import, and a second reference to it is none.
    let imports = |rule| after(&case, rule, &acts).nodes[1].protocol.counters().imports as u64;
    shows(Rule::Copies, 1, imports);
    assert_eq!(sent(&after(&case, None, &acts), "read"), 1);
    let state = after(&case, None, &acts);
    assert_eq!(sum(&state, |counters| counters.identified), 1);
    assert!(sum(&state, |counters| counters.resolved) >= 1);
    // Without identities each reference is read.
    case.identities = false;
    assert_eq!(sum(&after(&case, None, &acts), |counters| counters.resolved), 0);
}

#[test]
fn an_export_is_as_far_as_the_nearest_of_all_its_imports() {
    use Act::Throw;
    let case = small(3, [0, 0], &[], &[]);
    let distance = |rule| {
        let mut state = after(&case, rule, &[(0, Throw(0, 1)), (0, Throw(0, 2))]);
        let mut words = Vec::new();
        let item = Distance { entry: 0, import: 0, weight: 4, distance: 5 };
        Distances::push(&mut words, &item);
        let items = Distances::new(&words).expect("an item");
        let told = case.with(&mut state, 0, |protocol| {
            protocol.receive(NodeId(1), Message::Distances { items }).map_err(|fault| fault.to_string())
        });
        told.expect("a right message");
        u64::from(state.nodes[0].store.distance(ExportId(0)))
    };
    shows(Rule::AllFar, 1, distance);
}

#[test]
fn what_moves_does_so_in_one_round_once_and_within_its_room() {
    let deep = |rule| {
        let (state, _) = moved(rule, 1 << 20, |store| {
            pairs(store, 10, |store, inner| Cell::Pair(inner, store.add(Cell::Atom(0))))
        });
        left(&state)
    };
    shows(Rule::Parts, 0, deep);
    // Three pairs in a circle: without identities it is read until there is no more room.
    let circle = |rule| {
        let (_, reads) = moved(rule, 2000, |store| {
            let last = store.add(Cell::Atom(0));
            let first = (0..3).fold(last, |inner, _| {
                let atom = store.add(Cell::Atom(0));
                store.add(Cell::Pair(inner, atom))
            });
            store.cells[last] = Cell::Reference(first);
            first
        });
        reads
    };
    let (with, without) = (circle(None), circle(Some(Rule::Frontier)));
    assert!(with <= 5 && without > 20, "{with} {without}");
    let came = |rule| {
        let (state, _) = moved(rule, 20, |store| {
            pairs(store, 20, |store, tail| Cell::Pair(store.add(Cell::Atom(0)), tail))
        });
        u64::from(left(&state) == 0)
    };
    // With the rule: `with_little_room_rings_are_collected_a_part_at_a_time`.
    assert_eq!(came(Some(Rule::Room)), 1);
}
