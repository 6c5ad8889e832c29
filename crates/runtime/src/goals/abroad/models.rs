//! What every order of events of two workers leads to where one of them binds, marks or unifies variables that other
//! nodes know (`cargo xtask loom`).

use super::{By, Outward};
use crate::goals::abroad::state::Item;
use crate::node::models::{Pair, model_of_nodes, nothing, small, suspend, variable};
use crate::terms::deref;
use crate::worker::Worker;
use term::Word;
use term::word::Tag;

/// An import with the number 0, in old space.
fn unread(worker: &mut Worker, x: &mut Vec<Word>) {
    let import = variable(worker);
    worker.stand_for(import, 0);
    x.push(import);
    worker.publish();
}
/// The same after a read was sent.
fn reading(worker: &mut Worker, x: &mut Vec<Word>) {
    unread(worker, x);
    let import = *x.last().expect("that import");
    worker.run_generator(import.address());
    assert_eq!(worker.next_outward(), Some(Outward::Wanted { import: 0, whole: false }));
}
/// The answer to a read.
fn answer(worker: &mut Worker, import: Word) {
    if worker.become_reference(import, small(1)) {
        worker.forget_import(0);
    }
    worker.push_resumed();
}
fn unify(worker: &mut Worker, a: Word, b: Word) {
    worker.unify(a, b);
    worker.push_resumed();
}
/// All that worker 0 learns in the end.
fn told(pair: &Pair) -> Vec<Outward> {
    let reports = pair.with(1, |worker| worker.abroad.take_reports());
    pair.with(0, |worker| {
        worker.push_resumed();
        reports.iter().for_each(|words| worker.learn(Item::of_mail(words)));
        std::iter::from_fn(|| worker.next_outward()).collect()
    })
}
fn is_variable(word: Word) -> bool {
    word.tag() == Tag::Ref
}

#[test]
fn an_answer_against_an_alias() {
    let does: [fn(&mut Worker, &[Word]); 2] =
        [|worker, x| answer(worker, x[1]), |worker, x| unify(worker, x[0], x[1])];
    model_of_nodes(1, reading, does, |pair| {
        assert_eq!([pair.value(0), pair.value(1)], [small(1); 2]);
        assert_eq!((pair.failed(), told(pair)), ([false; 2], vec![]));
    });
}

#[test]
fn an_answer_against_a_value() {
    let does: [fn(&mut Worker, &[Word]); 2] =
        [|worker, x| answer(worker, x[0]), |worker, x| unify(worker, x[0], small(1))];
    model_of_nodes(0, reading, does, |pair| {
        let bound = pair.with(0, |worker| worker.import_cell(0).is_some());
        let expected = Outward::Bound { import: 0, value: small(1), by: By::default() };
        assert_eq!(told(pair), if bound { vec![expected] } else { vec![] });
        assert_eq!((pair.value(0), pair.failed()), (small(1), [false; 2]));
    });
}

/// Y9: whatever the addresses, no other variable gets the import for a reference to itself.
#[test]
fn aliases_with_an_import_make_no_circle() {
    let does: [fn(&mut Worker, &[Word]); 2] = [
        |worker, x| unify(worker, x[0], x[2]),
        |worker, x| {
            unify(worker, x[1], x[0]);
            unify(worker, x[2], x[1]);
        },
    ];
    model_of_nodes(2, reading, does, |pair| {
        let [a, b, import] = [0, 1, 2].map(|variable| pair.value(variable));
        assert!(a == b && b == import && is_variable(import), "one variable");
        assert_eq!(pair.with(0, |worker| worker.import_of(import)), Some(0));
        assert_eq!(told(pair), []);
    });
}

/// A marker is not lost, and two variables that others know are left to worker 0.
#[test]
fn a_marker_against_an_alias() {
    let does: [fn(&mut Worker, &[Word]); 2] = [
        |worker, x| {
            worker.anchor(5, x[0]);
            worker.mark(x[0], 5);
        },
        |worker, x| unify(worker, x[0], x[1]),
    ];
    model_of_nodes(1, reading, does, |pair| {
        let (variable, import) = (pair.value(0), pair.value(1));
        assert!(is_variable(variable) && is_variable(import));
        let marked = pair.with(0, |worker| worker.marker_of(variable));
        let told = told(pair);
        if variable == import {
            assert!(marked == Some(5) && told.is_empty() || told == [Outward::Marked { export: 5 }]);
        } else {
            assert!(marked == Some(5) && matches!(told[..], [Outward::Alias { .. }]), "{told:?}");
        }
    });
}

#[test]
fn a_marker_against_a_value() {
    let does: [fn(&mut Worker, &[Word]); 2] = [
        |worker, x| {
            worker.anchor(5, x[0]);
            worker.mark(x[0], 5);
        },
        |worker, x| unify(worker, x[0], small(1)),
    ];
    model_of_nodes(1, nothing, does, |pair| {
        // If the value was first, whoever asked for the marker sees it.
        assert_eq!(pair.value(0), small(1));
        let told = told(pair);
        assert!(told.is_empty() || told == [Outward::Marked { export: 5 }], "{told:?}");
        let anchored = pair.with(0, |worker| worker.anchored(5));
        assert_eq!(anchored.map(deref), Some(small(1)));
    });
}

#[test]
fn two_goals_that_wait_for_an_import_make_one_read() {
    let wait: fn(&mut Worker, &[Word]) = |worker, x| suspend(worker, x);
    model_of_nodes(0, unread, [wait, wait], |pair| {
        assert_eq!(told(pair), [Outward::Wanted { import: 0, whole: false }]);
        pair.with(0, |worker| answer(worker, pair.value(0)));
        assert_eq!(pair.ready(), 2, "both go on");
    });
}

#[test]
fn a_goal_waits_for_an_import_that_gets_a_value() {
    let does: [fn(&mut Worker, &[Word]); 2] =
        [|worker, x| suspend(worker, x), |worker, x| unify(worker, x[0], small(1))];
    model_of_nodes(0, unread, does, |pair| {
        assert_eq!((pair.value(0), pair.ready()), (small(1), 1));
        let told = told(pair);
        let bound = Outward::Bound { import: 0, value: small(1), by: By::default() };
        assert_eq!(told.iter().filter(|&told| *told == bound).count(), 1, "{told:?}");
        assert!(told.len() <= 2, "{told:?}");
    });
}
