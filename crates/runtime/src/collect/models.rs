//! What every order of events of two collectors leads to (`cargo xtask loom`): the collector's own code (see `crate::models`).

use super::Collection;
use crate::memory::read;
use crate::models::{Pair, check, on_large_stack};
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
        let collection = Arc::new(Collection::new(pair.shared.crew(), major, true, crate::heap::NURSERY_MIN));
        let collectors = [0, 1].map(|me| {
            let (pair, collection) = (pair.clone(), collection.clone());
            on_large_stack(move || _ = collection.take_part(pair.shared.crew(), me))
        });
        for collector in collectors {
            collector.join().expect("no collector panics");
        }
        collection.end(pair.shared.crew());
        let words = [0, 1].map(|me| pair.with(me, |worker| worker.root_word(&roots[me])));
        pair.with(0, |worker| after(worker, words));
    });
}

/// F6: whoever is second gets the copy of the first.
#[test]
fn a_list_is_copied_once() {
    for major in [false, true] {
        model(
            2,
            major,
            |worker| {
                let tail = worker.cons(Word::small(2), Word::NIL);
                [worker.cons(Word::small(1), tail), tail]
            },
            |_, [list, tail]| {
                assert_eq!([read(list.address()), read(list.address() + 8)], [Word::small(1), tail]);
                assert_eq!([read(tail.address()), read(tail.address() + 8)], [Word::small(2), Word::NIL]);
            },
        );
    }
}

#[test]
fn a_structure_is_copied_once() {
    model(
        2,
        false,
        |worker| {
            let name = worker.intern("f");
            [worker.structure(name, &[Word::small(7)]); 2]
        },
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
            [list, Word::pointer(Tag::Ref, list.address())]
        },
        |_, [list, car]| {
            assert_eq!(deref(Word::pointer(Tag::Ref, list.address())), car);
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
            [list, Word::pointer(Tag::Ref, list.address() + 8)]
        },
        |_, [list, cdr]| {
            assert_eq!(deref(Word::pointer(Tag::Ref, list.address() + 8)), cdr);
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
