//! Standard order, deep equality, top-level difference, hashing: questions that may have to wait for variables.

use super::{Row, decide, guard};
use crate::native::Outcome;
use crate::terms::View;
use crate::worker::Worker;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use term::Word;
use term::layout::{BIGINT, FLOAT, MODULE, PREDICATE, STRING, VECTOR};

/// Integers, then atoms, lists, structures, objects by class.
fn rank(worker: &Worker, word: Word) -> u16 {
    match worker.view(word) {
        View::Int(_) | View::Unbound(_) => 0,
        View::Object(BIGINT) => 0,
        View::Atom(_) => 1,
        View::Cons(..) => 2,
        View::Struct(..) => 3,
        View::Object(STRING) => 4,
        View::Object(FLOAT) => 5,
        View::Object(class) => 6 + u16::from(class.0),
    }
}

fn sign(order: Ordering) -> i64 {
    order as i64
}

/// Bytes: plus or minus (the index of the first difference + 1).
fn compare_bytes(a: &[u8], b: &[u8]) -> i64 {
    let common = a.iter().zip(b).position(|(a, b)| a != b).unwrap_or(a.len().min(b.len()));
    match a.get(common).cmp(&b.get(common)) {
        Ordering::Less => -(common as i64 + 1),
        Ordering::Equal => 0,
        Ordering::Greater => common as i64 + 1,
    }
}

/// Compares two bound terms at the top; parts to be compared next are pushed, the first one last.
fn compare_tops(worker: &Worker, a: Word, b: Word, stack: &mut Vec<(Word, Word)>) -> i64 {
    let ranks = rank(worker, a).cmp(&rank(worker, b));
    if ranks.is_ne() {
        return sign(ranks);
    }
    match (worker.view(a), worker.view(b)) {
        (View::Atom(a), View::Atom(b)) => sign(worker.atoms.text(a).cmp(worker.atoms.text(b))),
        (View::Cons(car_a, cdr_a), View::Cons(car_b, cdr_b)) => {
            stack.extend([(cdr_a, cdr_b), (car_a, car_b)]);
            0
        }
        (View::Struct(name_a, arity_a), View::Struct(name_b, arity_b)) => {
            let names = worker.atoms.text(name_a).cmp(worker.atoms.text(name_b));
            let order = names.then(arity_a.cmp(&arity_b));
            if order.is_eq() {
                stack.extend((0..arity_a).rev().map(|i| (worker.arg(a, i), worker.arg(b, i))));
            }
            sign(order)
        }
        (View::Object(STRING), View::Object(STRING)) => {
            let (a, b) = (worker.string_bytes(a), worker.string_bytes(b));
            compare_bytes(&a.unwrap_or_default(), &b.unwrap_or_default())
        }
        (View::Object(FLOAT), View::Object(FLOAT)) => {
            let (a, b) =
                (worker.float_value(a).unwrap_or_default(), worker.float_value(b).unwrap_or_default());
            sign(a.partial_cmp(&b).unwrap_or_else(|| a.total_cmp(&b)))
        }
        (View::Object(VECTOR), View::Object(VECTOR)) => {
            let a = worker.vector_elements(a).unwrap_or_default();
            let b = worker.vector_elements(b).unwrap_or_default();
            let order = a.len().cmp(&b.len());
            if order.is_eq() {
                stack.extend(a.into_iter().zip(b).rev());
            }
            sign(order)
        }
        (View::Object(MODULE), View::Object(MODULE)) => {
            let text = |word| worker.module_value(word).map(|atom| worker.atoms.text(atom));
            sign(text(a).cmp(&text(b)))
        }
        (View::Object(PREDICATE), View::Object(PREDICATE)) => {
            sign(worker.predicate_value(a).cmp(&worker.predicate_value(b)))
        }
        (View::Object(class), View::Object(_)) if class != BIGINT => sign(a.0.cmp(&b.0)),
        _ => sign(worker.compare_integers(worker.deref(a), worker.deref(b)).unwrap_or(Ordering::Equal)),
    }
}

/// Standard order of two terms: negative, 0 or positive; `Err` is a variable that must be bound first.
pub(crate) fn compare_terms(worker: &Worker, a: Word, b: Word) -> Result<i64, Word> {
    let mut stack = vec![(a, b)];
    while let Some((a, b)) = stack.pop() {
        let (a, b) = (worker.deref(a), worker.deref(b));
        for word in [a, b] {
            if let View::Unbound(variable) = worker.view(word) {
                return Err(variable);
            }
        }
        if a == b {
            continue;
        }
        let order = compare_tops(worker, a, b, &mut stack);
        if order != 0 {
            return Ok(order);
        }
    }
    Ok(0)
}

fn compare(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    match compare_terms(worker, inputs[0], inputs[1]) {
        Ok(order) => {
            outputs[0] = Word::small(order);
            Outcome::Done
        }
        Err(variable) => Outcome::Wait(variable),
    }
}

fn ordered(worker: &mut Worker, inputs: &[Word], holds: fn(i64) -> bool) -> Outcome {
    match compare_terms(worker, inputs[0], inputs[1]) {
        Ok(order) => decide(holds(order)),
        Err(variable) => Outcome::Wait(variable),
    }
}

/// Deep equality: no as soon as a difference is seen, even behind variables; else the first variable is waited for.
fn equal_terms(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    let mut stack = vec![(inputs[0], inputs[1])];
    let mut first_variable = None;
    while let Some((a, b)) = stack.pop() {
        let (a, b) = (worker.deref(a), worker.deref(b));
        let unbound = [a, b].into_iter().find_map(|word| match worker.view(word) {
            View::Unbound(variable) => Some(variable),
            _ => None,
        });
        if unbound.is_some() {
            first_variable = first_variable.or(unbound);
        } else if a != b {
            let height = stack.len();
            if compare_tops(worker, a, b, &mut stack) != 0 {
                return Outcome::No;
            }
            debug_assert!(stack.len() >= height);
        }
    }
    match first_variable {
        Some(variable) => Outcome::Wait(variable),
        None => Outcome::Done,
    }
}

/// `X \= Y`: the terms differ at the top. Two objects of one class never do.
fn differ(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    let (a, b) = (inputs[0], inputs[1]);
    decide(match (worker.view(a), worker.view(b)) {
        (View::Atom(a), View::Atom(b)) => a != b,
        (View::Cons(..), View::Cons(..)) => false,
        (View::Struct(a, m), View::Struct(b, n)) => (a, m) != (b, n),
        (View::Object(a), View::Object(b)) if (a, b) != (BIGINT, BIGINT) => a != b,
        _ => rank(worker, a) != rank(worker, b) || compare_tops(worker, a, b, &mut Vec::new()) != 0,
    })
}

/// Levels of a term that `hash/2` looks at.
const HASH_DEPTH: i64 = 1;
/// Hash values are below this: they fit the smallest integers that old programs expect.
const HASH_MASK: u64 = (1 << 27) - 1;

/// A hash of the top `depth` levels; `Err` is a variable among them.
fn hash_term(worker: &Worker, term: Word, depth: i64) -> Result<i64, Word> {
    let mut hasher = rustc_hash::FxHasher::default();
    let mut stack = vec![(term, depth)];
    while let Some((term, depth)) = stack.pop() {
        if depth <= 0 {
            continue;
        }
        rank(worker, term).hash(&mut hasher);
        match worker.view(term) {
            View::Unbound(variable) => return Err(variable),
            View::Int(value) => value.hash(&mut hasher),
            View::Atom(atom) => worker.atoms.text(atom).hash(&mut hasher),
            View::Cons(car, cdr) => stack.extend([(cdr, depth - 1), (car, depth - 1)]),
            View::Struct(name, arity) => {
                (worker.atoms.text(name), arity).hash(&mut hasher);
                stack.extend((0..arity).rev().map(|i| (worker.arg(term, i), depth - 1)));
            }
            View::Object(VECTOR) => {
                let elements = worker.vector_elements(term).unwrap_or_default();
                elements.len().hash(&mut hasher);
                stack.extend(elements.into_iter().rev().map(|element| (element, depth - 1)));
            }
            View::Object(STRING) => worker.string_bytes(term).hash(&mut hasher),
            View::Object(FLOAT) => worker.float_value(term).map(f64::to_bits).hash(&mut hasher),
            View::Object(BIGINT) => worker.big(term).hash(&mut hasher),
            View::Object(MODULE) => worker.module_value(term).hash(&mut hasher),
            View::Object(PREDICATE) => worker.predicate_value(term).hash(&mut hasher),
            View::Object(_) => {}
        }
    }
    Ok((hasher.finish() >> 16 & HASH_MASK) as i64)
}

fn hash(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let depth = match inputs.get(1) {
        None => HASH_DEPTH,
        Some(&depth) => match worker.small(depth) {
            Some(depth) => depth,
            None => return Outcome::No,
        },
    };
    match hash_term(worker, inputs[0], depth) {
        Ok(value) => {
            outputs[0] = Word::small(value);
            Outcome::Done
        }
        Err(variable) => Outcome::Wait(variable),
    }
}

const GUARD: &str = "guard";

pub(super) const NATIVES: &[Row] = &[
    guard(GUARD, "compare", "aao", compare),
    guard(GUARD, "@<", "aa", |w, i, _| ordered(w, i, |order| order < 0)),
    guard(GUARD, "@=<", "aa", |w, i, _| ordered(w, i, |order| order <= 0)),
    guard(GUARD, "@>", "aa", |w, i, _| ordered(w, i, |order| order > 0)),
    guard(GUARD, "@>=", "aa", |w, i, _| ordered(w, i, |order| order >= 0)),
    guard(GUARD, "equal_terms", "aa", equal_terms),
    guard(GUARD, "\\=", "ii", differ),
    guard(GUARD, "diff", "ii", differ),
    guard(GUARD, "hash", "io", hash),
    guard(GUARD, "hash", "iio", hash),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtins::tests::worker;

    #[test]
    fn types_are_ordered_and_strings_say_where_they_differ() {
        let mut worker = worker();
        let big = worker.integer(&(num_bigint::BigInt::from(1) << 80u32));
        let (a, b) = (worker.intern("a"), worker.intern("b"));
        let (a, b) = (Word::atom(b), Word::atom(a));
        let list = worker.cons(a, b);
        let name = worker.intern("f");
        let structure = worker.structure(name, &[a]);
        let (string, float) = (worker.string(b"abc"), worker.float(1.0));
        let order = [Word::small(-3), Word::small(7), big, b, a, list, structure, string, float];
        for (i, &x) in order.iter().enumerate() {
            for (j, &y) in order.iter().enumerate() {
                let found = compare_terms(&worker, x, y).expect("bound").signum();
                assert_eq!(found, sign(i.cmp(&j)), "{i} {j}");
            }
        }
        for (x, y, expected) in [("abc", "abd", -3), ("ab", "b", -1), ("ab", "abc", -3), ("b", "b", 0)] {
            let (x, y) = (worker.string(x.as_bytes()), worker.string(y.as_bytes()));
            assert_eq!(compare_terms(&worker, x, y), Ok(expected));
        }
    }

    #[test]
    fn equality_finds_differences_behind_variables() {
        let mut worker = worker();
        let (x, y) = (worker.new_variable(), worker.new_variable());
        let left = worker.list(&[x, Word::small(1)], Word::NIL);
        let right = worker.list(&[y, Word::small(2)], Word::NIL);
        assert!(matches!(equal_terms(&mut worker, &[left, right], &mut []), Outcome::No));
        let right = worker.list(&[y, Word::small(1)], Word::NIL);
        assert!(matches!(equal_terms(&mut worker, &[left, right], &mut []), Outcome::Wait(_)));
        worker.unify(x, Word::small(5));
        worker.unify(y, Word::small(5));
        assert!(matches!(equal_terms(&mut worker, &[left, right], &mut []), Outcome::Done));
    }

    #[test]
    fn difference_is_decided_at_the_top() {
        let mut worker = worker();
        let (s, t) = (worker.string(b"a"), worker.string(b"b"));
        assert!(matches!(differ(&mut worker, &[s, t], &mut []), Outcome::No));
        let big = worker.integer(&(num_bigint::BigInt::from(1) << 80u32));
        assert!(matches!(differ(&mut worker, &[big, Word::small(1)], &mut []), Outcome::Done));
        assert!(matches!(differ(&mut worker, &[big, big], &mut []), Outcome::No));
        let name = worker.intern("f");
        let (f1, f2) = (worker.structure(name, &[Word::small(1)]), worker.structure(name, &[Word::small(2)]));
        assert!(matches!(differ(&mut worker, &[f1, f2], &mut []), Outcome::No));
        assert!(matches!(differ(&mut worker, &[f1, s], &mut []), Outcome::Done));
    }
}
