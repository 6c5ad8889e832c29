//! Module `map`: what `terms::maps` does, for programs. The rest of the module is KL1 (`library/map.kl1`).

use super::{Row, attempt, guard, known, method, sorting, wrong};
use crate::reports::outcome::ErrorKind;
use crate::terms::View;
use crate::terms::maps::{CHANGE_WORDS, Edit, Map, no_map};
use crate::worker::Worker;
use crate::worker::native::Outcome;
use term::Word;
use term::abi::IntOp;
use term::layout::VECTOR;
use term::symbol::{ABNORMAL, NORMAL};

/// Elements of a list that one call takes, at most.
const BATCH: usize = 256;

fn map(worker: &Worker, position: usize, word: Word) -> Result<Map, Outcome> {
    worker.map(word)?.ok_or_else(|| wrong(worker, position, "a map", word))
}

/// `find(K,M,R)`: `normal(V)` or `abnormal(absent)`.
fn find(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let map = attempt!(map(worker, 2, inputs[1]));
    outputs[0] = match attempt!(worker.map_find(&map, inputs[0])) {
        Some(value) => worker.structure(NORMAL, &[value]),
        None => {
            let absent = Word::atom(worker.intern("absent"));
            worker.structure(ABNORMAL, &[absent])
        }
    };
    Outcome::Done
}

/// `get(K,Default,M,V)`.
fn get(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let map = attempt!(map(worker, 3, inputs[2]));
    outputs[0] = attempt!(worker.map_find(&map, inputs[0])).unwrap_or(inputs[1]);
    Outcome::Done
}

/// The guard `map_value(M,K,V)`: fails where the key is absent.
fn value(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let found = match worker.map(inputs[0]) {
        Ok(Some(map)) => worker.map_find(&map, inputs[1]),
        Ok(None) => return Outcome::No,
        Err(outcome) => Err(outcome),
    };
    match found {
        Ok(Some(value)) => {
            outputs[0] = value;
            Outcome::Done
        }
        Ok(None) => Outcome::No,
        Err(Outcome::Error(error)) if error.kind == ErrorKind::ArgumentType => Outcome::No,
        Err(outcome) => outcome,
    }
}

/// Changes a map, and answers the new one.
fn changed(
    worker: &mut Worker,
    map: Map,
    change: impl FnOnce(&mut Edit, &mut Worker) -> Result<(), Outcome>,
) -> Result<Word, Outcome> {
    worker.ensure_young(CHANGE_WORDS)?;
    let mut edit = Edit::begin(worker, map);
    change(&mut edit, worker)?;
    Ok(worker.map_term(&edit.map))
}

/// `put(K,V,M,M1)`.
fn put(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let map = attempt!(map(worker, 3, inputs[2]));
    let change = |edit: &mut Edit, worker: &mut Worker| edit.put(worker, inputs[0], |_, _| Ok(inputs[1]));
    outputs[0] = attempt!(changed(worker, map, change));
    Outcome::Done
}

/// `remove(K,M,M1)`.
fn remove(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let map = attempt!(map(worker, 2, inputs[1]));
    outputs[0] = attempt!(changed(worker, map, |edit, worker| edit.remove(worker, inputs[0])));
    Outcome::Done
}

/// The sum of two integers, of which the first is a map's value, 0 if there is none.
fn sum(worker: &mut Worker, value: Option<Word>, more: Word) -> Result<Word, Outcome> {
    let value = known(value.unwrap_or(Word::small(0)))?;
    match worker.arithmetic(IntOp::Add, value, more) {
        Some(Ok(sum)) => Ok(sum),
        _ => Err(wrong(worker, 3, "a map whose value of this key is an integer", value)),
    }
}

/// `add(K,N,M,M1)`: N more than the key's value, which is 0 if there is none.
fn add(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let map = attempt!(map(worker, 3, inputs[2]));
    if worker.big(inputs[1]).is_none() {
        return wrong(worker, 2, "an integer", inputs[1]);
    }
    let change = |edit: &mut Edit, worker: &mut Worker| {
        edit.put(worker, inputs[0], |worker, value| sum(worker, value, inputs[1]))
    };
    outputs[0] = attempt!(changed(worker, map, change));
    Outcome::Done
}

/// `pairs(M,Ps)`: all pairs `{K,V}`, in the order of hashes.
fn pairs(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let map = attempt!(map(worker, 1, inputs[0]));
    let pairs = attempt!(worker.map_pairs(&map));
    listed(worker, pairs, outputs)
}

/// `list(M,Ps)`: the same by rising keys. Keys are ground, so no comparison waits.
fn list(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let map = attempt!(map(worker, 1, inputs[0]));
    let pairs = attempt!(worker.map_pairs(&map));
    match attempt!(sorting::by_key(worker, pairs)) {
        Some(pairs) => listed(worker, pairs, outputs),
        // A part of a key is still at another node.
        None => {
            for (key, _) in attempt!(worker.map_pairs(&map)) {
                attempt!(worker.key_hash(key));
            }
            no_map()
        }
    }
}

fn listed(worker: &mut Worker, pairs: Vec<(Word, Word)>, outputs: &mut [Word]) -> Outcome {
    // A cons; a vector is a handle and its store.
    attempt!(worker.ensure_young(pairs.len() * 9));
    outputs[0] = pairs.into_iter().rev().fold(Word::NIL, |list, (key, value)| {
        let pair = worker.vector(&[key, value]);
        worker.cons(pair, list)
    });
    Outcome::Done
}

/// What goes on with the elements of a list as long as they are there: outputs the map and the rest of the list.
fn with_each(
    worker: &mut Worker,
    inputs: &[Word],
    outputs: &mut [Word],
    mut change: impl FnMut(&mut Edit, &mut Worker, Word) -> Result<bool, Outcome>,
) -> Outcome {
    let map = attempt!(map(worker, 2, inputs[1]));
    let (mut edit, mut rest) = (Edit::begin(worker, map), inputs[0]);
    for _ in 0..BATCH {
        let View::Cons(element, next) = worker.view(rest) else { break };
        if !worker.is_at_hand(CHANGE_WORDS) {
            break;
        }
        match change(&mut edit, worker, element) {
            Ok(true) => rest = next,
            // Whoever gets the rest looks at it again.
            Ok(false) | Err(Outcome::Wait(_)) => break,
            Err(outcome) => return outcome,
        }
    }
    outputs[0] = if edit.map == map { inputs[1] } else { worker.map_term(&edit.map) };
    outputs[1] = rest;
    Outcome::Done
}

/// `put_known(Pairs,M,M1,Rest)`.
fn put_known(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    with_each(worker, inputs, outputs, |edit, worker, pair| {
        if worker.class_of(pair) != Some(VECTOR) || worker.vector_length(pair) != Some(2) {
            return Ok(false);
        }
        let [key, value] = [0, 1].map(|index| worker.vector_element(pair, index));
        edit.put(worker, key, |_, _| Ok(value)).map(|()| true)
    })
}

/// `count_known(Keys,M,M1,Rest)`.
fn count_known(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    with_each(worker, inputs, outputs, |edit, worker, key| {
        edit.put(worker, key, |worker, value| sum(worker, value, Word::small(1))).map(|()| true)
    })
}

const MODULE: &str = "map";

pub(super) const NATIVES: &[Row] = &[
    guard("guard", "map_value", "iio", value),
    method(MODULE, "find", "iio", find),
    method(MODULE, "get", "iaio", get),
    method(MODULE, "put", "iaio", put),
    method(MODULE, "remove", "iio", remove),
    method(MODULE, "add", "iiio", add),
    method(MODULE, "pairs", "io", pairs),
    method(MODULE, "list", "io", list),
    method(MODULE, "put_known", "aioo", put_known),
    method(MODULE, "count_known", "aioo", count_known),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtins::tests::worker;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn empty(worker: &mut Worker) -> Word {
        worker.structure(term::symbol::MAP, &[Word::small(0), Word::NIL])
    }
    fn call(worker: &mut Worker, run: crate::worker::native::Run, inputs: &[Word]) -> Word {
        let mut out = [Word::NIL];
        assert!(matches!(run(worker, inputs, &mut out), Outcome::Done));
        out[0]
    }
    fn contents(worker: &mut Worker, map: Word) -> BTreeMap<String, String> {
        let map = worker.map(map).ok().flatten().expect("a map");
        let pairs = worker.map_pairs(&map).unwrap_or_else(|_| panic!("a map"));
        let known: BTreeMap<_, _> =
            pairs.iter().map(|&(key, value)| (worker.term_text(key), worker.term_text(value))).collect();
        assert_eq!((known.len() as i64, pairs.len() as i64), (map.size, map.size));
        known
    }
    /// A key of each kind, by number.
    fn key(worker: &mut Worker, number: i64) -> Word {
        let small = Word::small(number / 6);
        let text = format!("key {number}");
        match number % 6 {
            0 => small,
            1 => worker.string(text.as_bytes()),
            2 => Word::atom(worker.intern(&text)),
            3 => worker.float(number as f64),
            4 => worker.vector(&[small, small]),
            _ => worker.cons(small, Word::NIL),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 24, ..ProptestConfig::default() })]
        #[test]
        fn a_map_is_what_was_put_into_it_and_not_taken_out(steps in prop::collection::vec((0..90i64, any::<bool>()), 0..300)) {
            let worker = worker();
            let (mut map, mut model) = (empty(worker), BTreeMap::new());
            for (step, &(number, puts)) in steps.iter().enumerate() {
                let (key, old) = (key(worker, number), map);
                let (text, before) = (worker.term_text(key), model.clone());
                if puts {
                    map = call(worker, put, &[key, Word::small(step as i64), map]);
                    model.insert(text, step.to_string());
                } else {
                    map = call(worker, remove, &[key, map]);
                    model.remove(&text);
                }
                prop_assert_eq!(contents(worker, map), model.clone());
                prop_assert_eq!(contents(worker, old), before);
            }
            // P1: the same pairs in another order.
            let mut again = empty(worker);
            for &(number, _) in steps.iter().rev() {
                let key = key(worker, number);
                if let Some(value) = model.get(&worker.term_text(key)) {
                    let value = Word::small(value.parse().expect("a number"));
                    again = call(worker, put, &[key, value, again]);
                }
            }
            prop_assert!(matches!(worker.equal_terms(map, again), Outcome::Done));
            for number in 0..90 {
                let key = key(worker, number);
                let found = call(worker, get, &[key, Word::small(-1), map]);
                let expected = model.get(&worker.term_text(key)).map_or("-1", |value| value);
                prop_assert_eq!(worker.term_text(found), expected);
            }
        }
    }

    #[test]
    fn many_keys_at_once_leave_the_old_map_as_it_was() {
        let worker = worker();
        let start = empty(worker);
        let one = call(worker, put, &[Word::small(1), Word::small(10), start]);
        let keys: Vec<Word> = (0..BATCH as i64 * 2).map(|number| key(worker, number % 100)).collect();
        let list = worker.list(&keys, Word::NIL);
        let (mut map, mut rest) = (one, list);
        while rest != Word::NIL {
            let mut out = [Word::NIL; 2];
            let before = contents(worker, map);
            assert!(matches!(count_known(worker, &[rest, map], &mut out), Outcome::Done));
            assert_eq!(contents(worker, map), before);
            (map, rest) = (out[0], out[1]);
        }
        let counts = contents(worker, map);
        assert_eq!(counts.len(), 100);
        // The key 1 is the number 6 of them.
        assert_eq!(counts["1"], "16");
        assert_eq!(contents(worker, one).len(), 1);
    }

    /// As a map of another node has it, until its key was read.
    #[test]
    fn a_key_of_a_map_that_is_not_there_yet_is_waited_for() {
        let worker = worker();
        let (start, key) = (empty(worker), worker.vector(&[Word::small(1), Word::small(2)]));
        let map = call(worker, put, &[key, Word::small(10), start]);
        let whole = worker.map(map).ok().flatten().expect("a map");
        let (bits, unknown) = (worker.arg(worker.arg(map, 1), 0), worker.new_variable());
        let node = worker.structure(term::symbol::MAP, &[bits, unknown, Word::small(10)]);
        let map = worker.structure(term::symbol::MAP, &[Word::small(1), node]);
        let read = worker.map(map).ok().flatten().expect("a map");
        assert!(matches!(worker.map_find(&read, key), Err(Outcome::Wait(variable)) if variable == unknown));
        worker.unify(unknown, key);
        for map in [whole, read] {
            assert!(matches!(worker.map_find(&map, key), Ok(Some(value)) if value == Word::small(10)));
        }
    }

    #[test]
    fn what_looks_like_a_map_is_looked_at_before_it_is_used() {
        let worker = worker();
        let node = |worker: &mut Worker, args: &[i64]| {
            let args: Vec<Word> = args.iter().map(|&arg| Word::small(arg)).collect();
            worker.structure(term::symbol::MAP, &args)
        };
        for args in [&[0x7fff][..], &[1], &[-1, 1, 2], &[1 << 16, 1], &[0x1_0001, 1, 2, 3], &[1 << 40]] {
            let root = node(worker, args);
            for size in [Word::small(1), Word::NIL] {
                let map = worker.structure(term::symbol::MAP, &[size, root]);
                for (run, inputs) in [
                    (find as crate::worker::native::Run, &[Word::small(0), map][..]),
                    (put, &[Word::small(0), Word::NIL, map]),
                    (remove, &[Word::small(0), map]),
                    (pairs, &[map]),
                ] {
                    let outcome = run(worker, inputs, &mut [Word::NIL]);
                    assert!(matches!(outcome, Outcome::Error(_) | Outcome::Done), "{args:?}");
                }
            }
        }
    }

    #[test]
    fn a_list_of_pairs_waits_for_parts_of_keys() {
        let worker = worker();
        let (f, variable) = (worker.intern("f"), worker.new_variable());
        let keys = [Word::small(1), variable].map(|part| worker.structure(f, &[part]));
        let node =
            worker.structure(term::symbol::MAP, &[Word::small(3), keys[0], Word::NIL, keys[1], Word::NIL]);
        let whole = worker.structure(term::symbol::MAP, &[Word::small(2), node]);
        let outcome = list(worker, &[whole], &mut [Word::NIL]);
        assert!(matches!(outcome, Outcome::Wait(awaited) if awaited == variable), "{outcome:?}");
        worker.unify(variable, Word::small(0));
        let pairs = call(worker, list, &[whole]);
        assert_eq!(worker.term_text(pairs), "[{f(0),[]},{f(1),[]}]");
    }

    #[test]
    fn keys_whose_hashes_are_used_up_are_told_apart() {
        let worker = worker();
        // No two keys of these have one hash, so the node is made by hand: -1 and its entries, below 16 levels.
        let hash = worker.key_hash(Word::small(7)).unwrap_or_else(|_| panic!("it is ground"));
        let entries = [-1, 5, 50, 7, 70].map(Word::small);
        let mut node = worker.structure(term::symbol::MAP, &entries);
        for level in (0..16).rev() {
            let way = hash >> (4 * level) & 15;
            node = worker.structure(term::symbol::MAP, &[Word::small(1 << (16 + way)), node]);
        }
        let whole = worker.structure(term::symbol::MAP, &[Word::small(2), node]);
        assert_eq!(contents(worker, whole).len(), 2);
        let found = call(worker, get, &[Word::small(7), Word::NIL, whole]);
        assert_eq!(found, Word::small(70));
        let more = call(worker, put, &[Word::small(7), Word::small(71), whole]);
        assert_eq!(contents(worker, more)["7"], "71");
        let less = call(worker, remove, &[Word::small(7), more]);
        assert_eq!(contents(worker, less).into_iter().collect::<Vec<_>>(), [("5".into(), "50".into())]);
    }
}
