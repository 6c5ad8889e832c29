//! Garbage in cycles over nodes: rings of which each node has a part, of one structure or of several inside each
//! other, in all shapes.

use super::model::{Action, Case, Node, Outbox, Removed, State};
use super::small;
use super::tiny::{Cell, Tiny};
use crate::protocol::{Counters, Depth, Rule, With};
use crate::store::{ExportId, ImportId, Store};
use explorer::Model;

/// A ring of parts, each at a node of its own and leading to the next one's.
#[derive(Clone, Copy, Debug)]
struct Ring {
    nodes: u8,
    /// Pairs that are a part, each inside the one before.
    depth: u8,
    /// Pairs are inside the tails of others, not their heads.
    list: bool,
    /// So many pairs of a part, the outer ones, are known to the node before.
    entries: u8,
    read: Depth,
    far: Option<u8>,
    /// Words that a collection leaves for what moves.
    room: usize,
}

const RING: Ring =
    Ring { nodes: 2, depth: 1, list: false, entries: 1, read: Depth::Off, far: Some(4), room: 1 << 20 };

impl Ring {
    /// It is there, and no program holds it.
    fn start(&self) -> (Case, State) {
        let Ring { nodes, entries, .. } = *self;
        let next = |number: u8| (number + 1) % nodes;
        let before = (0..nodes).flat_map(|number| {
            (0..entries).map(move |entry| (next(number) * entries + entry, next(number), number))
        });
        let mut case = small(nodes, [0, 0], &before.collect::<Vec<_>>(), &[]);
        (case.variables, case.exponent, case.depth) = (nodes * entries, 9, self.read);
        (case.far, case.room) = (self.far, self.room);
        case.homes = (0..nodes * entries).map(|variable| variable / entries).collect();
        let mut state = case.start();
        for (number, node) in (0..nodes).zip(&mut state.nodes) {
            self.make(node, number * entries, next(number) * entries);
        }
        case.finish(&mut state).expect("the bindings are told");
        (case, state)
    }
    /// A node's part: its variables are numbered from `own` on, those of the next node from `others` on.
    fn make(&self, node: &mut Node, own: u8, others: u8) {
        let cell = |node: &Node, of: u8| {
            node.handles.iter().find(|(known, _)| *known == of).expect("it was thrown here").1
        };
        let mut inner = node.store.add(Cell::Atom(0));
        for entry in 0..self.entries {
            let other = cell(node, others + entry);
            inner = node.store.add(Cell::Pair(other, inner));
        }
        for level in (0..self.depth).rev() {
            let atom = node.store.add(Cell::Atom(0));
            let (head, tail) = if self.list { (atom, inner) } else { (inner, atom) };
            inner = node.store.add(Cell::Pair(head, tail));
            if level < self.entries {
                let variable = cell(node, own + level);
                node.store.unify(inner, variable);
            }
        }
        node.handles.clear();
    }
    /// How many collections of each node it takes until nothing is left, at most `most`.
    fn rounds(&self, most: usize) -> Option<usize> {
        let (case, mut state) = self.start();
        (1..=most).find(|_| {
            round(&case, &mut state);
            left(&state) == 0
        })
    }
}

/// Each node collects once.
fn round(case: &Case, state: &mut State) {
    for number in 0..case.nodes {
        case.step(state, &Action::Collect(number)).expect("a collection");
        case.finish(state).expect("what it has told");
    }
}

/// Entries of all tables.
pub(super) fn left(state: &State) -> u64 {
    sum(state, |counters| (counters.exports + counters.imports) as u64)
}

/// A sum over all nodes.
pub(super) fn sum(state: &State, of: impl Fn(&Counters) -> u64) -> u64 {
    state.nodes.iter().map(|node| of(&node.protocol.counters())).sum()
}

#[test]
fn rings_that_nobody_holds_are_collected_whatever_their_parts_are() {
    for nodes in 2..=8 {
        for depth in [1, 2, 3, 10, 40] {
            let shapes = [
                (false, Depth::Off),
                (false, Depth::OneLevel),
                (false, Depth::Adaptive),
                (true, Depth::Off),
                (true, Depth::Adaptive),
            ];
            for (list, read) in shapes {
                for entries in [1, depth.min(3)] {
                    let ring = Ring { nodes, depth, list, entries, read, ..RING };
                    let rounds = ring.rounds(20);
                    // Distances grow to 4, all moves, and what was left behind dies.
                    assert!(rounds.is_some_and(|rounds| rounds <= 3), "{ring:?}: {rounds:?}");
                }
            }
        }
        assert_eq!(Ring { nodes, far: None, ..RING }.rounds(40), None);
    }
}

#[test]
fn with_little_room_rings_are_collected_a_part_at_a_time() {
    for nodes in [2, 3] {
        for depth in [1, 3, 10] {
            for (list, room) in [(false, 90), (true, 250), (true, 400)] {
                let ring = Ring { nodes, depth, list, entries: depth.min(3), room, ..RING };
                let rounds = ring.rounds(200);
                assert!(rounds.is_some(), "{ring:?}");
            }
        }
    }
    // There never is enough: nothing is lost, and nothing is asked for again and again.
    let (case, mut state) = Ring { depth: 10, list: true, room: 20, ..RING }.start();
    (0..10).for_each(|_| round(&case, &mut state));
    assert!(sum(&state, |counters| counters.imports as u64) > 0);
    assert_eq!(sum(&state, |counters| counters.suspected), 1);
}

/// A program's goal at a node goes on from its second variable to the head of that pair, wherever that is.
fn step_on(case: &Case, state: &mut State, holder: usize) {
    let node = &mut state.nodes[holder];
    let at = node.handles.iter().find(|(known, _)| *known == 1).expect("it goes round").1;
    node.store.wait(at);
    case.finish(state).expect("it is read");
    let node = &mut state.nodes[holder];
    for (variable, cell) in &mut node.handles {
        if *variable == 1 {
            let Cell::Pair(head, _) = node.store.cells[node.store.at(*cell)] else { panic!("no pair") };
            *cell = head;
        }
    }
}

#[test]
fn a_ring_that_somebody_holds_stays() {
    for (nodes, depth) in [(2, 1), (2, 3), (3, 2), (8, 1), (8, 3)] {
        for holder in 0..usize::from(nodes) {
            let (case, mut state) = Ring { nodes, depth, ..RING }.start();
            let held = state.nodes[holder].store.anchored(ExportId(0)).expect("its part");
            state.nodes[holder].handles.push((0, held));
            for _ in 0..3 {
                (0..6).for_each(|_| round(&case, &mut state));
                let node = &mut state.nodes[holder];
                let start = node.handles[0].1;
                node.handles.push((1, start));
                // Twice round it.
                (0..2 * (nodes * (depth + 1))).for_each(|_| step_on(&case, &mut state, holder));
                state.nodes[holder].handles.retain(|(known, _)| *known == 0);
            }
            // What nobody is far from is never suspected.
            assert!(nodes > 3 || sum(&state, |counters| counters.suspected) == 0);
            state.nodes[holder].handles.clear();
            (0..4).for_each(|_| round(&case, &mut state));
            assert_eq!(left(&state), 0);
        }
    }
}

/// A term of node 1 that a program at node 0 holds is suspected of being garbage, and moves: how many reads that takes.
pub(super) fn moved(
    without: Option<Rule>,
    room: usize,
    make: impl FnOnce(&mut Tiny) -> usize,
) -> (State, u64) {
    let mut case = small(2, [1, 1], &[(0, 1, 0)], &[]);
    case.removed = without.map(Removed::Protocol);
    (case.exponent, case.far) = (9, Some(4));
    let mut state = case.start();
    let home = &mut state.nodes[1];
    let (term, variable) = (make(&mut home.store), home.handles[0].1);
    home.store.unify(term, variable);
    home.handles.clear();
    case.finish(&mut state).expect("the binding is told");
    let far = |protocol: &mut With<'_, Tiny, Outbox<'_>>| {
        protocol.far(&[(ImportId(0), 4)], room);
        Ok(())
    };
    case.with(&mut state, 0, far).expect("it is suspected");
    case.finish(&mut state).expect("it moves");
    assert!(without.is_some() || left(&state) == 0);
    let reads = sum(&state, |counters| counters.suspected);
    (state, reads)
}

/// The heads of a term that moved: how many pairs there are until a pair comes again, or another term.
fn length(state: &State) -> usize {
    let Node { store, handles, .. } = &state.nodes[0];
    let mut at = store.at(handles[0].1);
    let mut seen = Vec::new();
    while let Cell::Pair(head, _) = store.cells[at]
        && !seen.contains(&at)
    {
        seen.push(at);
        at = store.at(head);
    }
    seen.len()
}

pub(super) fn pairs(store: &mut Tiny, count: usize, mut pair: impl FnMut(&mut Tiny, usize) -> Cell) -> usize {
    let mut inner = store.add(Cell::Atom(0));
    for _ in 0..count {
        let next = pair(store, inner);
        inner = store.add(next);
    }
    inner
}

#[test]
fn all_of_a_term_moves_in_few_answers() {
    for count in [1, 10, 100, 1000] {
        // A list, and pairs in heads: as what structures are made of.
        let (_, reads) = moved(None, 1 << 20, |store| {
            pairs(store, count, |store, inner| Cell::Pair(store.add(Cell::Atom(0)), inner))
        });
        assert_eq!(reads, count.div_ceil(256) as u64);
        let (state, reads) = moved(None, 1 << 20, |store| {
            pairs(store, count, |store, inner| Cell::Pair(inner, store.add(Cell::Atom(0))))
        });
        assert_eq!((reads, length(&state)), (count.div_ceil(2) as u64, count));
    }
}

#[test]
fn what_many_references_lead_to_moves_once() {
    for count in [1, 10, 100, 1000] {
        let (state, reads) =
            moved(None, 1 << 20, |store| pairs(store, count, |_, inner| Cell::Pair(inner, inner)));
        println!("{reads} reads of {count} pairs");
        assert!(reads <= count as u64, "{reads} reads of {count} pairs");
        assert_eq!(length(&state), count);
    }
}

#[test]
fn what_is_a_part_of_itself_moves() {
    for count in [1, 2, 3, 5, 7, 30, 300] {
        for list in [true, false] {
            let (state, reads) = moved(None, 1 << 20, |store| {
                let mut last = None;
                let first = pairs(store, count, |store, inner| {
                    last.get_or_insert(inner);
                    let atom = store.add(Cell::Atom(0));
                    if list { Cell::Pair(atom, inner) } else { Cell::Pair(inner, atom) }
                });
                store.cells[last.expect("a pair")] = Cell::Reference(first);
                first
            });
            println!("{reads} reads of {count} pairs");
            assert!(reads <= count as u64 + 2, "{reads} reads of {count} pairs");
            assert!(list || length(&state) <= 2 * count + 2);
        }
    }
}
