//! Infinite terms: unification and comparison of the usual ones end; everything else can be interrupted, and stays
//! within the heap limit (L1).

use crate::builtins::natives;
use crate::builtins::tests::{node, worker};
use crate::reports::outcome::ErrorKind;
use crate::terms::View;
use crate::worker::Worker;
use crate::worker::native::Outcome;
use term::{Atom, Word};

/// A variable that is bound to what `make` makes of it.
fn infinite(worker: &mut Worker, make: impl FnOnce(&mut Worker, Word) -> Word) -> Word {
    let variable = worker.new_variable();
    let term = make(worker, variable);
    worker.unify(variable, term);
    term
}

fn name(worker: &mut Worker) -> Atom {
    worker.intern("-")
}

/// Infinite terms of every kind.
fn samples(worker: &mut Worker) -> Vec<Word> {
    vec![
        infinite(worker, |w, x| w.list(&[Word::small(65)], x)),
        infinite(worker, |w, x| w.cons(x, Word::NIL)),
        infinite(worker, |w, x| w.cons(x, x)),
        infinite(worker, |w, x| {
            let name = name(w);
            w.structure(name, &[x])
        }),
        infinite(worker, |w, x| {
            let name = name(w);
            let inner = w.structure(name, &[x, x]);
            w.structure(name, &[x, inner])
        }),
        infinite(worker, |w, x| w.vector(&[x])),
        infinite(worker, |w, x| w.vector(&[x, x])),
        infinite(worker, |w, x| {
            let (functor, name) = (w.intern("functor"), name(w));
            let part = w.structure(name, &[x]);
            w.structure(functor, &[part])
        }),
    ]
}

#[test]
fn unification_and_comparison_of_infinite_terms_end() {
    let worker = worker();
    let (some, others) = (samples(worker), samples(worker));
    for (i, &a) in some.iter().enumerate() {
        for (j, &b) in others.iter().enumerate() {
            let order = worker.compare_terms(a, b);
            assert!(matches!(order, Ok(order) if (order == 0) == (i == j)), "{i} and {j}: {order:?}");
            let equal = matches!(worker.equal_terms(a, b), Outcome::Done);
            assert_eq!(equal, i == j, "{i} and {j}");
            worker.unify(a, b);
            assert_eq!(worker.ending.take_error().is_none(), i == j, "{i} and {j}");
        }
    }
}

#[test]
fn circles_of_different_lengths_are_equal() {
    let worker = worker();
    let circle = |worker: &mut Worker, length: usize| {
        infinite(worker, |worker, x| worker.list(&vec![Word::small(1); length], x))
    };
    let (a, b) = (circle(worker, 300), circle(worker, 1001));
    assert!(matches!(worker.compare_terms(a, b), Ok(0)));
    let c = infinite(worker, |worker, x| {
        let end = worker.list(&[Word::small(2)], x);
        worker.list(&[Word::small(1); 500], end)
    });
    assert!(matches!(worker.compare_terms(a, c), Ok(-1)));
    assert!(matches!(worker.equal_terms(c, a), Outcome::No));
}

/// Calls a builtin with `term` for its input `place` and others that suit it.
fn call(worker: &mut Worker, native: &crate::worker::native::Native, place: usize, term: Word) -> Outcome {
    let others = [Word::NIL, Word::small(0), term];
    let count = |output: bool| native.signature.modes.bytes().filter(|&m| (m == b'o') == output).count();
    let mut result = Outcome::No;
    for other in others {
        let inputs: Vec<Word> = (0..count(false)).map(|i| if i == place { term } else { other }).collect();
        let mut outputs = vec![Word::NIL; count(true)];
        let outcome = (native.run)(worker, &inputs, &mut outputs);
        if matches!(outcome, Outcome::Error(_)) {
            result = outcome;
        }
    }
    result
}

#[test]
fn every_builtin_ends_after_an_interrupt_whatever_infinite_term_it_has() {
    let mut node = node();
    let worker = node.worker();
    worker.waker().set_running(true);
    assert!(worker.waker().interrupt());
    let mut interrupted = 0;
    for native in natives() {
        let signature = &native.signature;
        if signature.module == "file_io" && signature.name == "connected" {
            continue;
        }
        for place in 0..signature.modes.bytes().filter(|&mode| mode != b'o').count() {
            for term in samples(worker) {
                let outcome = call(worker, &native, place, term);
                if let Outcome::Error(error) = outcome {
                    interrupted += usize::from(error.kind == ErrorKind::Interrupted);
                }
                worker.ending.end_run();
            }
        }
    }
    assert!(interrupted > 20, "only {interrupted}");
}

#[test]
fn what_is_made_of_infinite_terms_meets_the_heap_limit_and_their_text_is_refused() {
    let mut node = node();
    let worker = node.worker();
    worker.heap.spaces.set_bytes_max(16 << 20);
    let class = Word::atom(worker.intern("vector"));
    let (handle, collected) = (worker.new_variable(), worker.new_variable());
    let terms = samples(worker);
    let (list, structure, wrapped) = (terms[0], terms[4], terms[7]);
    let putt = worker.intern("putt");
    let message = worker.structure(putt, &[structure]);
    let messages = worker.list(&[message], Word::NIL);
    let request = worker.intern("string_output");
    let request = worker.structure(request, &[handle, collected]);
    let run = |worker: &mut Worker, name: &str, inputs: &[Word]| {
        let natives = natives();
        let found = natives.iter().find(|native| {
            let inputs_wanted = native.signature.modes.bytes().filter(|&mode| mode != b'o').count();
            (native.signature.name == name
                || name == format!("{}:{}", native.signature.module, native.signature.name))
                && inputs_wanted == inputs.len()
        });
        let mut outputs = [Word::NIL; 4];
        let outcome = (found.expect("a builtin").run)(worker, inputs, &mut outputs[..1]);
        (outcome, outputs[0])
    };
    let (_, reply) = run(worker, "request", &[request]);
    assert!(matches!(worker.view(reply), View::Struct(..)));
    let handle = worker.arg(reply, 0);
    for (name, inputs) in [
        ("new", vec![class, Word::NIL, list]),
        ("new_vector", vec![list]),
        ("wrap", vec![structure]),
        ("unwrap", vec![wrapped]),
        ("builtin:print", vec![structure]),
        ("=..", vec![list]),
        ("scan", vec![list, Word::small(0)]),
        ("codes", vec![structure, Word::NIL, Word::small(0), Word::NIL]),
        ("serve", vec![messages, handle]),
        ("ground", vec![list]),
    ] {
        let (outcome, _) = run(worker, name, &inputs);
        let Outcome::Error(error) = outcome else { panic!("{name} has no end: {outcome:?}") };
        if ["builtin:print", "codes", "serve"].contains(&name) {
            assert!(error.message.contains("contains itself"), "{name}: {}", error.message);
        } else {
            assert_eq!(error.kind, ErrorKind::HeapLimit, "{name}: {}", error.message);
        }
    }
}
