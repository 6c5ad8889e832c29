//! Standard order, deep equality, top-level difference, hashing: questions that may have to wait for variables.

use super::{Row, decide, guard};
use crate::terms::View;
use crate::terms::order::AHEAD;
use crate::worker::Worker;
use crate::worker::native::Outcome;
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use term::Word;
use term::layout::{BIGINT, FLOAT, MODULE, PREDICATE, STRING, VECTOR};

fn compare(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    match worker.compare_terms(inputs[0], inputs[1]) {
        Ok(order) => {
            outputs[0] = Word::small(order);
            Outcome::Done
        }
        Err(outcome) => not_yet(worker, outcome),
    }
}

/// The terms of other nodes that the comparison has come to will be wanted.
fn not_yet(worker: &mut Worker, outcome: Outcome) -> Outcome {
    worker.fetch_met();
    outcome
}

fn equal(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    let outcome = worker.equal_terms(inputs[0], inputs[1]);
    not_yet(worker, outcome)
}

fn ordered(worker: &mut Worker, inputs: &[Word], holds: fn(i64) -> bool) -> Outcome {
    match worker.compare_terms(inputs[0], inputs[1]) {
        Ok(order) => decide(holds(order)),
        Err(outcome) => not_yet(worker, outcome),
    }
}

/// `X \= Y`: the terms differ at the top. Two objects of one class never do, except big integers.
fn differ(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    let (a, b) = (inputs[0], inputs[1]);
    decide(match (worker.view(a), worker.view(b)) {
        (View::Atom(a), View::Atom(b)) => a != b,
        (View::Int(a), View::Int(b)) => a != b,
        (View::Cons(..), View::Cons(..)) => false,
        (View::Struct(a, m), View::Struct(b, n)) => (a, m) != (b, n),
        (View::Object(BIGINT), View::Object(BIGINT)) => worker.big(a) != worker.big(b),
        (View::Object(a), View::Object(b)) => a != b,
        _ => true,
    })
}

/// Levels of a term that `hash/2` looks at.
const HASH_DEPTH: i64 = 1;
/// Hash values are below this: they fit the smallest integers that old programs expect.
const HASH_MASK: u64 = (1 << 27) - 1;

/// Parts of a term that are looked at, at most: a small term whose parts are shared, or that contains itself, may
/// have more of them than there is time for.
const HASH_PARTS_MAX: usize = 1 << 16;

/// Parts of a term that are still to be looked at, those near its top first.
struct Parts {
    /// Each with the number of levels that are looked at there.
    next: VecDeque<(Word, i64)>,
    /// How many more may come.
    left: usize,
}

impl Parts {
    /// Adds those of a part with this number of levels.
    fn add(&mut self, levels: i64, parts: impl Iterator<Item = Word>) {
        if levels > 1 {
            let before = self.next.len();
            self.next.extend(parts.take(self.left).map(|part| (part, levels - 1)));
            self.left -= self.next.len() - before;
        }
    }
}

/// A hash of the top `depth` levels, of [`HASH_PARTS_MAX`] parts at most (so the loop is short, L1 of `walk`); `Err` is
/// a variable among them.
fn hash_term(worker: &mut Worker, term: Word, depth: i64) -> Result<i64, Outcome> {
    let mut hasher = rustc_hash::FxHasher::default();
    let mut parts = Parts { next: VecDeque::new(), left: HASH_PARTS_MAX };
    parts.add(depth.saturating_add(1), std::iter::once(term));
    while let Some((term, levels)) = parts.next.pop_front() {
        worker.deref(term).tag().hash(&mut hasher);
        match worker.view(term) {
            View::Unbound(variable) => {
                if levels > 1 && worker.fetch(variable) {
                    // What comes next will be waited for, too.
                    let next = parts.next.iter().take(AHEAD).filter(|(_, levels)| *levels > 1);
                    next.for_each(|&(part, _)| _ = worker.fetch(part));
                }
                return Err(Outcome::Wait(variable));
            }
            View::Int(value) => value.hash(&mut hasher),
            View::Atom(atom) => worker.atoms.text(atom).hash(&mut hasher),
            View::Cons(car, cdr) => parts.add(levels, [car, cdr].into_iter()),
            View::Struct(name, arity) => {
                (worker.atoms.text(name), arity).hash(&mut hasher);
                parts.add(levels, (0..arity).map(|i| worker.arg(term, i)));
            }
            View::Object(VECTOR) => {
                let elements = worker.vector_elements(term).unwrap_or_default();
                elements.len().hash(&mut hasher);
                parts.add(levels, elements.into_iter());
            }
            View::Object(STRING) => {
                let newest = worker.newest_length(term, STRING);
                let length = newest.or_else(|| worker.string_length(term)).unwrap_or(0);
                worker.with_string_piece(term, 0..length, |bytes| Some(bytes).hash(&mut hasher));
            }
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
        Err(outcome) => outcome,
    }
}

const GUARD: &str = "guard";

pub(super) const NATIVES: &[Row] = &[
    guard(GUARD, "compare", "aao", compare),
    guard(GUARD, "@<", "aa", |w, i, _| ordered(w, i, |order| order < 0)),
    guard(GUARD, "@=<", "aa", |w, i, _| ordered(w, i, |order| order <= 0)),
    guard(GUARD, "@>", "aa", |w, i, _| ordered(w, i, |order| order > 0)),
    guard(GUARD, "@>=", "aa", |w, i, _| ordered(w, i, |order| order >= 0)),
    guard(GUARD, "equal_terms", "aa", equal),
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
    fn difference_is_decided_at_the_top() {
        let worker = worker();
        let (s, t) = (worker.string(b"a"), worker.string(b"b"));
        assert!(matches!(differ(worker, &[s, t], &mut []), Outcome::No));
        let big = worker.integer(&(num_bigint::BigInt::from(1) << 80u32));
        assert!(matches!(differ(worker, &[big, Word::small(1)], &mut []), Outcome::Done));
        assert!(matches!(differ(worker, &[big, big], &mut []), Outcome::No));
        let name = worker.intern("f");
        let (f1, f2) = (worker.structure(name, &[Word::small(1)]), worker.structure(name, &[Word::small(2)]));
        assert!(matches!(differ(worker, &[f1, f2], &mut []), Outcome::No));
        assert!(matches!(differ(worker, &[f1, s], &mut []), Outcome::Done));
    }
}
