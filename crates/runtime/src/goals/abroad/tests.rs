//! Imports, exports and what is told of them, with collections in between.

use super::*;
use crate::collect::tests::Builder;
use crate::node::{Node, Turn};

/// A node of three, which checks its heap.
fn builder() -> Builder {
    let mut builder = Builder::with(1, None);
    let worker = builder.node.worker();
    (worker.options.nodes, worker.options.node) = (3, 1);
    builder
}

/// A goal of one argument waits for a variable.
fn wait(worker: &mut Worker, goal: PredicateId, variable: Word) {
    worker.spawn(goal, &[Word::NIL]);
    (worker.abi.pending[0], worker.abi.pending_count) = (variable, 1);
    worker.suspend_top();
}
/// Makes what was resumed ready, and answers what happened.
fn happened(worker: &mut Worker) -> Vec<Outward> {
    worker.push_resumed();
    std::iter::from_fn(|| worker.next_outward()).collect()
}
/// A minor collection, or a major one.
fn collect(node: &mut Node, major: bool) {
    if major {
        node.worker().collect_soon();
    }
    node.collect(0);
}

#[test]
fn an_import_lives_as_long_as_its_variable_is_read_once_and_tells_its_value() {
    let mut builder = builder();
    let goal = builder.goal[0];
    let worker = builder.node.worker();
    let (kept, _) = (worker.import(7), worker.import(8));
    let kept = worker.root(kept);
    assert_eq!(worker.import_of(worker.root_word(&kept)), Some(7));
    collect(&mut builder.node, false);
    let worker = builder.node.worker();
    assert_eq!((worker.take_dead(), worker.import_cell(8)), (vec![8], None));
    assert_eq!(worker.import_cell(7), Some(deref(worker.root_word(&kept))));
    // Two goals wait for it: it is read once.
    for _ in 0..2 {
        let variable = worker.root_word(&kept);
        wait(worker, goal, variable);
    }
    assert_eq!(happened(worker), [Outward::Wanted { import: 7, whole: false }]);
    for major in [false, false, true, false] {
        collect(&mut builder.node, major);
        let worker = builder.node.worker();
        let variable = deref(worker.root_word(&kept));
        assert_eq!((worker.import_cell(7), worker.import_of(variable)), (Some(variable), Some(7)));
        assert_eq!((worker.waiting_goals().count(), worker.take_dead()), (2, vec![]));
    }
    let worker = builder.node.worker();
    let variable = worker.root_word(&kept);
    worker.unify(variable, Word::small(5));
    let bound = Outward::Bound { import: 7, value: Word::small(5), by: By::default() };
    assert_eq!(happened(worker), [bound]);
    assert_eq!(worker.waiting_goals().count(), 0);
    worker.forget_import(7);
    assert_eq!(worker.import_cell(7), None);
    // Nobody reads it, and it gets a value.
    let unread = worker.import(9);
    worker.unify(Word::NIL, unread);
    assert_eq!(happened(worker), [Outward::Bound { import: 9, value: Word::NIL, by: By::default() }]);
}

#[test]
fn an_answer_resumes_the_goals_and_is_not_told_to_its_home() {
    let mut builder = builder();
    let goal = builder.goal[0];
    let worker = builder.node.worker();
    let variable = worker.import(0);
    wait(worker, goal, variable);
    assert_eq!(happened(worker), [Outward::Wanted { import: 0, whole: false }]);
    worker.become_reference(variable, Word::small(1));
    worker.forget_import(0);
    assert_eq!(happened(worker), []);
    assert_eq!((deref(variable), worker.waiting_goals().count()), (Word::small(1), 0));
    // The answer is an import of another node: the goals read that one.
    let (first, second) = (worker.import(1), worker.import(2));
    wait(worker, goal, first);
    assert_eq!(happened(worker), [Outward::Wanted { import: 1, whole: false }]);
    worker.become_reference(first, second);
    worker.forget_import(1);
    assert_eq!(happened(worker), []);
    worker.pop_goal();
    wait(worker, goal, first);
    assert_eq!(happened(worker), [Outward::Wanted { import: 2, whole: false }]);
}

#[test]
fn an_exported_variable_tells_its_value_and_what_is_no_root_dies_with_its_variable() {
    let mut builder = builder();
    let worker = builder.node.worker();
    let [held, weak, lost] = [(); 3].map(|()| worker.new_variable());
    for (export, variable) in (0..).zip([held, weak, lost]) {
        worker.anchor(export, variable);
        worker.mark(variable, export);
        worker.hold_anchor(export, export == 0);
        assert_eq!((worker.marker_of(variable), worker.anchored(export)), (Some(export), Some(variable)));
    }
    let weak = worker.root(weak);
    for major in [false, true, false] {
        collect(&mut builder.node, major);
    }
    let worker = builder.node.worker();
    assert_eq!((worker.take_lost(), worker.anchored(2)), (vec![2], None));
    let (held, weak) = (worker.anchored(0).expect("a root"), worker.take_root(weak));
    assert_eq!(worker.anchored(1), Some(deref(weak)));
    for variable in [held, weak] {
        let value = worker.list(&[Word::NIL; 3], Word::NIL);
        worker.unify(variable, value);
    }
    // Until it was told, what was bound is a root.
    worker.push_resumed();
    collect(&mut builder.node, false);
    let worker = builder.node.worker();
    let told: Vec<_> = (0..2).map(|_| worker.next_outward()).collect();
    assert_eq!(told, [1, 0].map(|export| Some(Outward::Marked { export })));
    assert!([0, 1].iter().all(|&export| worker.lists_three(export)));
    worker.release_anchor(0);
    assert_eq!(worker.anchored(0), None);
}

#[test]
fn the_marker_of_an_export_that_had_the_number_before_leaves_the_anchored_word_as_it_is() {
    let mut builder = builder();
    let worker = builder.node.worker();
    let [before, weak, lost] = [(); 3].map(|()| worker.new_variable());
    for export in [0, 1] {
        worker.anchor(export, before);
        worker.mark(before, export);
        worker.release_anchor(export);
    }
    for (export, variable) in [(0, weak), (1, lost)] {
        worker.anchor(export, variable);
        worker.mark(variable, export);
        worker.hold_anchor(export, false);
    }
    let [before, weak] = [before, weak].map(|variable| worker.root(variable));
    for major in [false, true] {
        collect(&mut builder.node, major);
    }
    // Of the two markers of this variable, one is told: what had the other one's number has died.
    let worker = builder.node.worker();
    let before = worker.take_root(before);
    worker.unify(before, Word::NIL);
    worker.push_resumed();
    collect(&mut builder.node, false);
    let worker = builder.node.worker();
    assert_eq!(worker.next_outward(), Some(Outward::Marked { export: 0 }));
    let weak = deref(worker.root_word(&weak));
    assert_eq!((worker.anchored(0), worker.anchored(1), worker.take_lost()), (Some(weak), None, vec![1]));
    assert_eq!((worker.next_outward(), worker.anchored(0)), (None, Some(weak)));
}

impl Worker {
    fn lists_three(&self, export: u32) -> bool {
        self.anchored(export).is_none_or(|word| word.tag() == Tag::Cons && self.arg(word, 0) == Word::NIL)
    }
}

#[test]
fn two_variables_that_others_know_are_made_one_by_those_who_know_more() {
    let mut builder = builder();
    let goal = builder.goal[0];
    let worker = builder.node.worker();
    let (import, unread) = (worker.import(0), worker.import(1));
    let [exported, waited, plain] = [(); 3].map(|()| worker.new_variable());
    worker.mark(exported, 0);
    for variable in [import, waited] {
        wait(worker, goal, variable);
    }
    assert_eq!(happened(worker), [Outward::Wanted { import: 0, whole: false }]);
    let pairs = [(import, exported), (exported, import), (unread, import), (exported, unread)];
    for (a, b) in pairs {
        worker.unify(a, b);
        let told = happened(worker);
        assert!(
            told == [Outward::Alias { a, b, by: By::default() }]
                || told == [Outward::Alias { a: b, b: a, by: By::default() }],
            "{told:?}"
        );
        assert!(deref(a) != deref(b));
    }
    // What nobody else knows becomes a reference at once, whether goals wait for it or not.
    worker.unify(plain, exported);
    worker.unify(waited, import);
    assert_eq!(happened(worker), []);
    assert_eq!((deref(plain), deref(waited)), (deref(exported), deref(import)));
    assert_eq!((worker.import_of(waited), worker.waiting_goals().count()), (Some(0), 2));
}

#[test]
fn old_exports_and_imports_cost_minor_collections_nothing() {
    const COUNT: u32 = if cfg!(miri) { 1000 } else { 1_000_000 };
    let mut builder = builder();
    let worker = builder.node.worker();
    for export in 0..COUNT {
        let structure = worker.list(&[Word::small(export.into())], Word::NIL);
        worker.anchor(export, structure);
    }
    let mut imports = Word::NIL;
    for import in 0..COUNT / 100 {
        let variable = worker.import(import);
        imports = worker.cons(variable, imports);
    }
    let imports = worker.root(imports);
    builder.node.worker().options.check_heap = false;
    collect(&mut builder.node, true);
    for _ in 0..3 {
        collect(&mut builder.node, false);
    }
    let before = builder.node.worker().abroad.scanned;
    for _ in 0..10 {
        collect(&mut builder.node, false);
    }
    let worker = builder.node.worker();
    let scanned = worker.abroad.scanned - before;
    // Some variables stay young for a long time: as many as the collector lets.
    assert!(scanned <= 10 * 2 * u64::from(COUNT / 100), "{scanned} words");
    assert!(
        (0..COUNT)
            .all(|export| worker.arg(worker.anchored(export).expect("a root"), 0)
                == Word::small(export.into()))
    );
    assert!(worker.take_dead().is_empty());
    worker.take_root(imports);
    collect(&mut builder.node, true);
    assert_eq!(builder.node.worker().take_dead().len(), COUNT as usize / 100);
}

#[test]
fn a_major_collection_copies_what_is_live_whatever_was_exported_before() {
    const COUNT: u32 = if cfg!(miri) { 1000 } else { 1_000_000 };
    let copied = |exports: u32| {
        let mut builder = builder();
        let worker = builder.node.worker();
        worker.options.check_heap = false;
        let items: Vec<Word> = (0..1000).map(Word::small).collect();
        let live = worker.list(&items, Word::NIL);
        let live = worker.root(live);
        for export in 0..exports {
            let structure = worker.list(&[Word::NIL, Word::NIL], Word::NIL);
            worker.anchor(export, structure);
        }
        for import in 0..exports / 100 {
            worker.import(import);
        }
        (0..exports).for_each(|export| worker.release_anchor(export));
        collect(&mut builder.node, true);
        let worker = builder.node.worker();
        assert_eq!(worker.take_dead().len(), exports as usize / 100);
        let copied = worker.statistics().words_copied_major;
        worker.take_root(live);
        copied
    };
    let (none, many) = (copied(0), copied(COUNT));
    assert!((2000..3000).contains(&none) && many <= none + 100, "{none} words, {many} after many exports");
}

#[test]
fn what_other_nodes_hold_is_a_step_farther_than_their_references() {
    let mut builder = builder();
    let worker = builder.node.worker();
    let imports: Vec<Word> = (0..5).map(|import| worker.import(import)).collect();
    let held = worker.root(imports[2]);
    // Export, its distance, and what it holds.
    for (export, distance, of) in [(0, 1, [0, 0]), (1, 5, [0, 1]), (2, 3, [2, 3]), (3, FAR, [4, 4])] {
        let list = worker.list(&of.map(|import: usize| imports[import]), Word::NIL);
        worker.anchor(export, list);
        worker.set_anchor_distance(export, distance);
    }
    assert_eq!(worker.take_distances(), None);
    for _ in 0..2 {
        collect(&mut builder.node, false);
        assert_eq!(builder.node.worker().take_distances(), None);
        collect(&mut builder.node, true);
        let far = vec![(0, 2), (1, 6), (3, 4), (4, FAR)];
        assert_eq!(builder.node.worker().take_distances(), Some(far));
    }
    // One is nearer now, one farther, and one is dead.
    let worker = builder.node.worker();
    worker.take_root(held);
    worker.set_anchor_distance(1, 1);
    worker.release_anchor(3);
    collect(&mut builder.node, true);
    let worker = builder.node.worker();
    assert_eq!(worker.take_distances(), Some(vec![(0, 2), (1, 2), (2, 4), (3, 4)]));
    assert_eq!(worker.take_dead(), [4]);
    // A worker that holds an import itself is nearest.
    let nearest = worker.import_cell(3).expect("it lives");
    worker.root(nearest);
    collect(&mut builder.node, true);
    assert_eq!(builder.node.worker().take_distances(), Some(vec![(0, 2), (1, 2), (2, 4), (3, 1)]));
}

#[test]
fn what_is_known_of_structures_is_weak() {
    let mut builder = builder();
    let worker = builder.node.worker();
    let [kept, lost] = [1, 2].map(|number| worker.list(&[Word::small(number)], Word::NIL));
    let variable = worker.new_variable();
    for (number, word) in (0..).zip([kept, lost, variable, Word::small(1)]) {
        worker.identify(word, (1, number));
        worker.note_export(word, number as u32);
    }
    assert_eq!((worker.identified((1, 2)), worker.noted_export(variable)), (None, None));
    // It has one: another one is nobody's.
    worker.identify(kept, (2, 7));
    assert_eq!((worker.identified((2, 7)), worker.identity(kept)), (None, Some((1, 0))));
    let kept = worker.root(kept);
    assert_eq!(worker.identified((1, 1)), Some(lost));
    for major in [false, false, true, false, true] {
        collect(&mut builder.node, major);
        let worker = builder.node.worker();
        // Others come to where it was.
        worker.list(&[Word::small(3); 9], Word::NIL);
        let now = deref(worker.root_word(&kept));
        assert_eq!((worker.identified((1, 0)), worker.identified((1, 1))), (Some(now), None));
        assert_eq!((worker.identity(now), worker.noted_export(now)), (Some((1, 0)), Some(0)));
        assert_eq!(worker.arg(now, 0), Word::small(1));
    }
    // A free export is forgotten, and what is left is its identity.
    let worker = builder.node.worker();
    let now = deref(worker.root_word(&kept));
    worker.anchor(0, now);
    worker.release_anchor(0);
    assert_eq!((worker.noted_export(now), worker.identity(now)), (None, Some((1, 0))));
    worker.take_root(kept);
    collect(&mut builder.node, true);
    assert_eq!(builder.node.worker().identified((1, 0)), None);
}

#[test]
fn old_identities_cost_minor_collections_nothing() {
    const COUNT: u64 = if cfg!(miri) { 100 } else { 100_000 };
    let mut builder = builder();
    let worker = builder.node.worker();
    let mut list = Word::NIL;
    for number in 0..COUNT {
        list = worker.cons(Word::small(number as i64), list);
        worker.identify(list, (1, number));
    }
    let list = worker.root(list);
    builder.node.worker().options.check_heap = false;
    collect(&mut builder.node, true);
    (0..3).for_each(|_| collect(&mut builder.node, false));
    let worker = builder.node.worker();
    assert!(worker.abroad.identities.young() <= COUNT as usize / 100);
    assert!((0..COUNT).all(|number| worker.identified((1, number)).is_some()));
    worker.take_root(list);
    collect(&mut builder.node, true);
    assert!((0..COUNT).all(|number| builder.node.worker().identified((1, number)).is_none()));
}

#[test]
fn a_goal_for_another_node_waits_in_the_queue_and_a_node_that_is_not_there_is_an_error() {
    let mut builder = builder();
    let goal = builder.goal[0];
    let worker = builder.node.worker();
    assert!(matches!((worker.other_node(1), worker.other_node(2)), (Ok(None), Ok(Some(2)))));
    for wrong in [-1, 3, i64::MAX] {
        let message = worker.other_node(wrong).expect_err("there are three");
        assert!(message.contains("the nodes are 0 to 2"), "{message}");
    }
    let list = worker.list(&[Word::small(1); 5], Word::NIL);
    worker.throw(2, goal, &[list]);
    collect(&mut builder.node, false);
    let worker = builder.node.worker();
    let Some(Outward::Throw { node: 2, goal: thrown }) = worker.next_outward() else { panic!() };
    assert_eq!((thrown.predicate, worker.arg(thrown.args[0], 0)), (goal, Word::small(1)));
    worker.options.nodes = 1;
    assert!(matches!(worker.other_node(99), Ok(None)));
}

#[test]
fn what_is_to_be_told_waits_for_more_but_not_for_long() {
    let mut builder = builder();
    let goal = builder.goal[0];
    let worker = builder.node.worker();
    let free = worker.attention.first();
    worker.abi.set_limit(free);
    let end = free.min(worker.abi.heap as usize + BUNCH_BYTES);
    for _ in 1..BUNCH {
        worker.throw(0, goal, &[Word::NIL]);
        // A tick may have come already.
        let limit = worker.abi.limit();
        assert!(limit == end || limit == 0 && worker.is_woken(), "{limit}, not {end}");
        assert_eq!(worker.attention.first(), end);
    }
    // What was wanted meanwhile is not forgotten.
    worker.abi.want_resumption();
    worker.throw(0, goal, &[Word::NIL]);
    assert_eq!((worker.abi.limit(), happened(worker).len()), (0, BUNCH));
    worker.abi.want_resumption();
    worker.throw(0, goal, &[Word::NIL]);
    assert_eq!((worker.abi.limit(), happened(worker).len()), (0, 1));
    // The ticker ends what waits where nothing is allocated.
    worker.woken();
    worker.abi.set_limit(free);
    worker.throw(0, goal, &[Word::NIL]);
    while !worker.is_woken() {
        std::thread::yield_now();
    }
}

#[test]
fn a_message_that_comes_when_a_collection_is_due_is_looked_at_after_it() {
    let mut builder = builder();
    let node = &mut builder.node;
    node.begin(None);
    let worker = node.worker();
    let before = worker.statistics.major_collections;
    worker.waker().wake();
    worker.collect_soon();
    assert_eq!(node.turn(), Turn::Look);
    assert_eq!(node.worker().statistics.major_collections, before + 1);
    assert!(!node.worker().is_woken());
    assert_eq!(node.turn(), Turn::Quiescent);
    node.end(None);
}
