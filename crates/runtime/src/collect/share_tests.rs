//! What collectors give each other is enough to keep both busy: two of them go in step, one piece of work each (from
//! one look for somebody out of work to the next), so how much each of them does is not a matter of time.

use crate::collect::tests::{Builder, Description};
use crate::collect::{Collection, Part, Plan};
use crate::memory::ranges::{read, write};
use crate::memory::tuning::{BLOCK_BYTES, NURSERY_MIN};
use crate::worker::Worker;
use std::sync::{Condvar, Mutex};
use term::word::Tag;
use term::{Atom, Word};

/// Makes the collectors go in step; nothing happens before `begin`.
#[derive(Debug, Default)]
pub(super) struct Step {
    members: Mutex<Members>,
    all_here: Condvar,
}

#[derive(Debug, Default)]
struct Members {
    count: usize,
    here: usize,
    round: usize,
}

impl Step {
    fn begin(&self, count: usize) {
        self.members.lock().expect("no panics").count = count;
    }
    /// Returns when everybody has called it once more or has left.
    pub(super) fn take(&self) {
        let mut members = self.members.lock().expect("no panics");
        if members.count == 0 {
            return;
        }
        members.here += 1;
        let round = members.round;
        self.go_on(&mut members);
        while members.round == round {
            members = self.all_here.wait(members).expect("no panics");
        }
    }
    pub(super) fn leave(&self) {
        let mut members = self.members.lock().expect("no panics");
        members.count = members.count.saturating_sub(1);
        self.go_on(&mut members);
    }
    fn go_on(&self, members: &mut Members) {
        if members.here >= members.count {
            (members.here, members.round) = (0, members.round + 1);
            self.all_here.notify_all();
        }
    }
}

const SIZE: i64 = if cfg!(miri) { 3_000 } else { 300_000 };

/// Worker 0 of two builds something; then both collect it, and nothing changes. Answers how many words each of them
/// copied and scanned, for a minor collection and a major one.
fn collected(build: impl FnOnce(&mut Builder)) -> [[(usize, usize); 2]; 2] {
    let mut builder = Builder::with(2, None);
    build(&mut builder);
    [false, true].map(|major| {
        let before = Description::of(builder.node.worker());
        let parts = collect(&mut builder, major);
        let after = Description::of(builder.node.worker());
        assert!(after.is_copy_of(&before), "the graph is another one");
        let words = |index| {
            let part = parts.iter().find(|part| part.collector == index);
            part.map_or((0, 0), |part| (part.words, part.scanned))
        };
        [words(0), words(1)]
    })
}

fn collect(builder: &mut Builder, major: bool) -> Vec<Part> {
    let shared = builder.node.shared();
    let crew = shared.crew();
    let plan = Plan { major, ages: crate::collect::Ages::Second, nursery_bytes: NURSERY_MIN, older: 0 };
    let collection = Collection::new(crew, plan, true);
    collection.pool.step.begin(2);
    std::thread::scope(|scope| {
        for me in 0..2 {
            let collection = &collection;
            scope.spawn(move || collection.collector(crew, me));
        }
    });
    let parts = collection.end(crew);
    crew.each(|worker| worker.empty_nursery(NURSERY_MIN, NURSERY_MIN));
    crew.with(0, |worker| crate::collect::check::check_heap(crew, worker));
    parts
}

/// Each of the two did at least this percentage of it.
fn assert_shared(what: &str, percent: usize, words: [usize; 2]) {
    let (least, all) = (words[0].min(words[1]), words[0] + words[1]);
    assert!(least * 100 >= all * percent, "{what}: {words:?}");
}

fn list(worker: &mut Worker, length: i64, item: impl Fn(&mut Worker, i64) -> Word) -> Word {
    (0..length).fold(Word::NIL, |list, i| {
        let item = item(worker, i);
        worker.cons(item, list)
    })
}

#[test]
fn one_list_is_copied_by_both() {
    let shares = collected(|builder| {
        let worker = builder.node.worker();
        let list = list(worker, SIZE, |_, i| Word::small(i));
        worker.root(list);
    });
    for [(first, _), (second, _)] in shares {
        assert!(first + second >= 2 * SIZE as usize);
        assert_shared("words copied", 25, [first, second]);
    }
}

#[test]
fn one_list_that_ends_in_a_variable_and_is_met_in_the_middle() {
    let shares = collected(|builder| {
        let worker = builder.node.worker();
        let (end, mut middle) = (worker.new_variable(), Word::NIL);
        let list = (0..SIZE).fold(end, |list, i| {
            if i == SIZE / 3 {
                middle = list;
            }
            // Every seventh cdr is a bound cell.
            let list = if i % 7 == 0 && list != end {
                let cell = worker.new_variable();
                write(cell.address(), list);
                cell
            } else {
                list
            };
            worker.cons(Word::small(i), list)
        });
        for word in [end, middle, list] {
            worker.root(word);
        }
    });
    for [(first, _), (second, _)] in shares {
        assert_shared("words copied", 25, [first, second]);
    }
}

/// Of a chain never more than one structure is grey: to give that away is to wait for each other.
#[test]
fn a_chain_of_structures_stays_with_one() {
    let shares = collected(|builder| {
        let worker = builder.node.worker();
        let atom = worker.intern("s");
        let chain = (0..SIZE / 10).fold(Word::NIL, |chain, _| worker.structure(atom, &[chain]));
        worker.root(chain);
    });
    for [(first, _), (second, _)] in shares {
        assert!(first + second >= SIZE as usize / 5);
        assert!(first.min(second) * 100 < first + second, "words copied: {:?}", [first, second]);
    }
}

#[test]
fn one_vector_is_scanned_by_both() {
    let shares = collected(|builder| {
        let worker = builder.node.worker();
        let items: Vec<Word> = (0..SIZE).map(|i| worker.structure(Atom(9), &[Word::small(i)])).collect();
        let vector = worker.vector(&items);
        worker.root(vector);
    });
    for [first, second] in shares {
        assert_shared("words scanned", 35, [first.1, second.1]);
        assert_shared("words copied", 35, [first.0, second.0]);
    }
}

#[test]
fn one_tree_is_copied_by_both() {
    let shares = collected(|builder| {
        let worker = builder.node.worker();
        let mut trees: Vec<Word> =
            (0..SIZE / 2).map(|i| worker.structure(Atom(9), &[Word::small(i)])).collect();
        while trees.len() > 1 {
            trees = trees.chunks(2).map(|pair| worker.structure(Atom(8), pair)).collect();
        }
        worker.root(trees[0]);
    });
    for [(first, _), (second, _)] in shares {
        assert_shared("words copied", 35, [first, second]);
    }
}

#[test]
fn the_goals_of_one_worker_are_roots_of_both() {
    let shares = collected(|builder| {
        let goal = builder.goal[0];
        let worker = builder.node.worker();
        for i in 0..SIZE / 10 {
            let list = list(worker, 3, |_, _| Word::small(i));
            worker.spawn(goal, &[list]);
        }
    });
    for [(first, _), (second, _)] in shares {
        assert_shared("words copied", 35, [first, second]);
    }
}

#[test]
fn the_waiting_goals_of_one_worker_are_roots_of_both() {
    let shares = collected(|builder| {
        let goal = builder.goal[1];
        let worker = builder.node.worker();
        for i in 0..SIZE / 10 {
            let (list, variable) = (list(worker, 3, |_, _| Word::small(i)), worker.new_variable());
            worker.spawn(goal, &[list, variable, Word::NIL]);
            worker.abi.pending[0] = variable;
            worker.abi.pending_count = 1;
            worker.suspend_top();
        }
    });
    for [(first, _), (second, _)] in shares {
        assert!(first + second >= 12 * SIZE as usize / 10);
        assert_shared("words copied", 35, [first, second]);
    }
}

#[test]
fn the_remembered_words_of_one_worker_are_roots_of_both() {
    let mut builder = Builder::with(2, None);
    let worker = builder.node.worker();
    let vector = worker.vector(&vec![Word::NIL; SIZE as usize / 10]);
    let root = worker.root(vector);
    collect(&mut builder, true);
    let worker = builder.node.worker();
    let mut vector = worker.take_root(root);
    for i in 0..SIZE as usize / 10 {
        let list = list(worker, 3, |_, _| Word::small(i as i64));
        vector = worker.vector_update(vector, i, list).expect("room");
    }
    worker.root(vector);
    let parts = collect(&mut builder, false);
    let words = |index| parts.iter().filter(|part| part.collector == index).map(|part| part.words).sum();
    assert_shared("words copied", 25, [words(0), words(1)]);
}

#[test]
fn a_list_that_both_copied_has_few_breaks() {
    let mut builder = Builder::with(2, None);
    let worker = builder.node.worker();
    let numbers = list(worker, SIZE, |_, i| Word::small(i));
    let root = worker.root(numbers);
    collect(&mut builder, true);
    let mut list = builder.node.worker().take_root(root);
    let (mut length, mut breaks) = (0, 0);
    while list.tag() == Tag::Cons {
        let next = read(list.address() + 8);
        length += 1;
        breaks += usize::from(next.address() != list.address() + 16);
        list = next;
    }
    assert_eq!(length, SIZE);
    // Its blocks, and a break for each part that was given away, which has thousands of conses.
    let parts = SIZE as usize / super::CONSES_AHEAD + SIZE as usize * 16 / BLOCK_BYTES;
    assert!(breaks <= 2 * parts + 2, "{breaks} breaks");
}
