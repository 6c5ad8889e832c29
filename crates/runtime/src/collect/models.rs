//! What every order of events of two collectors leads to (`cargo xtask loom`): the collector's own code (see
//! `crate::node::models`).

use super::{Collection, Plan};
use crate::memory::ranges::{pointer, read};
use crate::node::models::{Pair, check, on_large_stack};
use crate::terms::deref;
use crate::worker::{Root, Worker};
use std::sync::Arc;
use term::Word;
use term::word::{Tag, UNBOUND};

/// Two collectors copy what both workers have roots for; `make` answers those of the two. `after` gets their new words.
fn model(
    preemptions: usize,
    major: bool,
    make: fn(&mut Worker) -> [Word; 2],
    after: fn(&mut Worker, [Word; 2]),
) {
    check(preemptions, move || {
        let (_node, pair) = Pair::new();
        let pair = Arc::new(pair);
        let words = pair.with(0, make);
        let roots: [Root; 2] = [0, 1].map(|me| pair.with(me, |worker| worker.root(words[me])));
        let plan = Plan {
            major,
            ages: crate::collect::Ages::Second,
            nursery_bytes: crate::memory::tuning::NURSERY_MIN,
            older: 0,
        };
        let collection = Arc::new(Collection::new(pair.shared.crew(), plan, true));
        let collectors = [0, 1].map(|me| {
            let (pair, collection) = (pair.clone(), collection.clone());
            on_large_stack(move || _ = collection.collector(pair.shared.crew(), me))
        });
        for collector in collectors {
            collector.join().expect("no collector panics");
        }
        collection.end(pair.shared.crew());
        let words = [0, 1].map(|me| pair.with(me, |worker| worker.root_word(&roots[me])));
        pair.with(0, |worker| after(worker, words));
    });
}

/// F6: there may be two copies, and both are good.
#[test]
fn a_list_that_both_copy_stays_what_it_is() {
    for major in [false, true] {
        model(
            2,
            major,
            |worker| {
                let tail = worker.cons(Word::small(2), Word::NIL);
                [worker.cons(Word::small(1), tail), tail]
            },
            |_, [list, tail]| {
                let rest = read(list.address() + 8);
                assert_eq!((list.tag(), rest.tag(), tail.tag()), (Tag::Cons, Tag::Cons, Tag::Cons));
                assert_eq!(read(list.address()), Word::small(1));
                for cons in [rest, tail] {
                    assert_eq!([read(cons.address()), read(cons.address() + 8)], [Word::small(2), Word::NIL]);
                }
            },
        );
    }
}

/// F6, F2: whoever copied the structure, there is one variable.
#[test]
fn a_variable_in_a_structure_that_both_copy_is_copied_once() {
    model(
        2,
        false,
        |worker| {
            let name = worker.intern("f");
            [worker.structure(name, &[UNBOUND]); 2]
        },
        |_, structures| {
            let [one, other] = structures.map(|word| deref(pointer(Tag::Ref, word.address() + 8)));
            assert_eq!(one, other);
            assert_eq!((one.tag(), read(one.address())), (Tag::Ref, UNBOUND));
        },
    );
}

/// F6, F2: both copy the cons, one cell of which is a variable.
#[test]
fn a_variable_in_a_list_that_both_copy_is_copied_once() {
    for car_is_variable in [false, true] {
        model(
            2,
            false,
            if car_is_variable {
                |worker| [worker.cons(UNBOUND, Word::NIL); 2]
            } else {
                |worker| [worker.cons(Word::small(1), UNBOUND); 2]
            },
            |_, lists| {
                let cells = lists.map(|list| [0, 8].map(|at| deref(pointer(Tag::Ref, list.address() + at))));
                assert_eq!(cells[0], cells[1]);
                let variables = cells[0].into_iter().filter(|cell| cell.tag() == Tag::Ref);
                assert_eq!(variables.map(|cell| read(cell.address())).collect::<Vec<_>>(), [UNBOUND]);
            },
        );
    }
}

/// F6: an object is something that changes.
#[test]
fn an_object_is_copied_once() {
    model(
        2,
        false,
        |worker| [worker.object(term::layout::VECTOR, &[Word::small(7)]); 2],
        |_, [one, other]| {
            assert_eq!(one, other);
            assert_eq!(read(one.address() + 8), Word::small(7));
        },
    );
}

/// F2: one collector meets a cell through a reference, the other one the cons that it is in.
#[test]
fn a_car_is_copied_once() {
    model(
        2,
        false,
        |worker| {
            let list = worker.cons(UNBOUND, Word::NIL);
            [list, pointer(Tag::Ref, list.address())]
        },
        |_, [list, car]| {
            assert_eq!(deref(pointer(Tag::Ref, list.address())), car);
            assert_eq!(read(car.address()), UNBOUND);
        },
    );
}

#[test]
fn a_cdr_is_copied_once() {
    model(
        2,
        false,
        |worker| {
            let list = worker.cons(Word::small(1), UNBOUND);
            [list, pointer(Tag::Ref, list.address() + 8)]
        },
        |_, [list, cdr]| {
            assert_eq!(deref(pointer(Tag::Ref, list.address() + 8)), cdr);
            assert_eq!(read(cdr.address()), UNBOUND);
        },
    );
}

#[test]
fn a_variable_is_copied_once() {
    model(
        2,
        false,
        |worker| [worker.new_variable(); 2],
        |_, [one, other]| {
            assert_eq!(one, other);
            assert_eq!(read(one.address()), UNBOUND);
        },
    );
}
