//! Module `lists`: sorting of a list whose elements can be compared at once. What has to wait is sorted in KL1
//! (`library/lists.kl1`), where the elements that are there need not wait for the others.

use super::{Row, attempt, list_items, method};
use crate::reports::outcome::ProgramError;
use crate::terms::walk::Stack;
use crate::worker::Worker;
use crate::worker::native::Outcome;
use term::Word;

/// Elements that are put in order by insertion: runs of this many are merged.
const RUN: usize = 16;

/// Why a list is not sorted.
enum Stop {
    /// A comparison waits for a variable.
    Later,
    Error(Box<ProgramError>),
}

struct Sort<'w> {
    worker: &'w mut Worker,
    steps: Stack<()>,
}

impl Sort<'_> {
    /// Whether `a` stands before `b`, if `b` came later: those with equal keys keep their order.
    fn in_order<T>(&mut self, a: &(Word, T), b: &(Word, T)) -> Result<bool, Stop> {
        self.steps.count(self.worker).map_err(Stop::Error)?;
        match self.worker.compare_terms(a.0, b.0) {
            Ok(order) => Ok(order <= 0),
            Err(Outcome::Error(error)) => Err(Stop::Error(error)),
            Err(_) => Err(Stop::Later),
        }
    }
    fn run<T>(&mut self, run: &mut [(Word, T)]) -> Result<(), Stop> {
        debug_assert!(run.len() <= RUN, "a run takes few steps");
        for end in 1..run.len() {
            let mut at = end;
            while at > 0 && !self.in_order(&run[at - 1], &run[at])? {
                run.swap(at - 1, at);
                at -= 1;
            }
        }
        Ok(())
    }
    /// Two sorted parts of `from`, which meet at `middle`, become one in `to`, which is as long.
    fn merge<T: Copy>(
        &mut self,
        from: &[(Word, T)],
        middle: usize,
        to: &mut [(Word, T)],
    ) -> Result<(), Stop> {
        debug_assert!(from.len() == to.len() && middle <= from.len(), "two parts become one as long");
        let (mut left, mut right) = (0, middle);
        for place in to {
            let takes_left =
                right == from.len() || (left < middle && self.in_order(&from[left], &from[right])?);
            let taken = if takes_left { &mut left } else { &mut right };
            *place = from[*taken];
            *taken += 1;
        }
        Ok(())
    }
    fn sort<T: Copy>(&mut self, mut items: Vec<(Word, T)>) -> Result<Vec<(Word, T)>, Stop> {
        items.chunks_mut(RUN).try_for_each(|run| self.run(run))?;
        let mut other = items.clone();
        let mut length = RUN;
        while length < items.len() {
            for (from, to) in items.chunks(2 * length).zip(other.chunks_mut(2 * length)) {
                self.merge(from, length.min(from.len()), to)?;
            }
            debug_assert_eq!(items.len(), other.len(), "what is merged has its place");
            std::mem::swap(&mut items, &mut other);
            length *= 2;
        }
        Ok(items)
    }
}

/// Items by rising keys; those with equal keys keep their order. `None`: a comparison waits for a variable.
pub(super) fn by_key<T: Copy>(
    worker: &mut Worker,
    items: Vec<(Word, T)>,
) -> Result<Option<Vec<(Word, T)>>, Outcome> {
    let count = items.len();
    worker.may_go_on(2 * size_of_val(&items[..]))?;
    match (Sort { worker, steps: Stack::new() }).sort(items) {
        Ok(items) => {
            debug_assert_eq!(items.len(), count, "nothing is lost");
            Ok(Some(items))
        }
        Err(Stop::Later) => Ok(None),
        Err(Stop::Error(error)) => Err(Outcome::Error(error)),
    }
}

/// `sorted(Xs,R)`: R is `sorted(Ys)`, or `later`, if an element has to be waited for.
fn sorted(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let items = attempt!(list_items(worker, 1, inputs[0]));
    attempt!(worker.ensure(2 * items.len() + 2));
    let items = items.into_iter().map(|item| (item, ())).collect();
    outputs[0] = match attempt!(by_key(worker, items)) {
        Some(items) => {
            let list = items.into_iter().rev().fold(Word::NIL, |list, (item, ())| worker.cons(item, list));
            let name = worker.intern("sorted");
            worker.structure(name, &[list])
        }
        None => Word::atom(worker.intern("later")),
    };
    Outcome::Done
}

pub(super) const NATIVES: &[Row] = &[method("lists", "sorted", "io", sorted)];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtins::tests::worker;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 16, ..ProptestConfig::default() })]
        #[test]
        fn elements_are_in_order_and_equal_ones_as_they_came(keys in prop::collection::vec(0..20i64, 0..200)) {
            let worker = worker();
            // Strings with equal bytes are equal terms at different places.
            let items: Vec<Word> = keys.iter().map(|key| worker.string(key.to_string().as_bytes())).collect();
            let list = worker.list(&items, Word::NIL);
            let mut out = [Word::NIL];
            prop_assert!(matches!(sorted(worker, &[list], &mut out), Outcome::Done));
            let list = worker.arg(out[0], 0);
            let found = list_items(worker, 1, list).expect("a list");
            let mut expected: Vec<(String, Word)> = keys.iter().map(i64::to_string).zip(items).collect();
            expected.sort_by(|a, b| a.0.cmp(&b.0));
            let expected: Vec<Word> = expected.into_iter().map(|(_, item)| item).collect();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn what_waits_is_left_to_others() {
        let worker = worker();
        let variable = worker.new_variable();
        let pair = |worker: &mut Worker, key: i64, value: Word| worker.vector(&[Word::small(key), value]);
        let (a, b) = (pair(worker, 2, variable), pair(worker, 1, variable));
        for (items, expected) in [([a, b], "sorted([{1,"), ([a, a], "later"), ([variable, a], "later")] {
            let list = worker.list(&items, Word::NIL);
            let mut out = [Word::NIL];
            assert!(matches!(sorted(worker, &[list], &mut out), Outcome::Done));
            assert!(worker.term_text(out[0]).starts_with(expected), "{}", worker.term_text(out[0]));
        }
    }
}
