//! What is known on the way to a block of a decision tree.

use crate::ir::Pattern;
use crate::program::arithmetic::relations;
use crate::program::values::{Atomic, Fact, TestId, ValueId};
use term::abi::Cond;

/// How a guard call or a computation went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Answer {
    Yes,
    No,
    Blocked,
    /// Blocked, and its variable was noted by `Pend` since.
    Noted,
}

/// Knowledge: small sorted lists, since a path knows few things.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    values: Vec<(ValueId, Fact)>,
    /// Under which of `<`, `=`, `>` (bits 0, 1, 2) the pair may stand; both are integers.
    relations: Vec<((Atomic, Atomic), u8)>,
    answers: Vec<(TestId, Answer)>,
}

impl Facts {
    pub(crate) fn value(&self, value: ValueId) -> Option<Fact> {
        self.values.binary_search_by_key(&value, |entry| entry.0).ok().map(|at| self.values[at].1)
    }
    pub(crate) fn set_value(&mut self, value: ValueId, fact: Fact) {
        match self.values.binary_search_by_key(&value, |entry| entry.0) {
            Ok(at) => self.values[at].1 = fact,
            Err(at) => self.values.insert(at, (value, fact)),
        }
    }
    pub(crate) fn answer(&self, test: TestId) -> Option<Answer> {
        self.answers.binary_search_by_key(&test, |entry| entry.0).ok().map(|at| self.answers[at].1)
    }
    pub(crate) fn set_answer(&mut self, test: TestId, answer: Answer) {
        match self.answers.binary_search_by_key(&test, |entry| entry.0) {
            Ok(at) => self.answers[at].1 = answer,
            Err(at) => self.answers.insert(at, (test, answer)),
        }
    }
    /// Restricts how a pair may stand.
    pub(crate) fn relate(&mut self, pair: (Atomic, Atomic), possible: u8) {
        match self.relations.binary_search_by_key(&pair, |entry| entry.0) {
            Ok(at) => self.relations[at].1 &= possible,
            Err(at) => self.relations.insert(at, (pair, possible)),
        }
    }
    /// The integer that a value is known to be.
    fn integer(&self, atomic: Atomic) -> Option<i64> {
        match atomic {
            Atomic::Int(value) => Some(value),
            Atomic::Value(value) => match self.value(value) {
                Some(Fact::Like(Pattern::Int(int))) => Some(int),
                _ => None,
            },
            _ => None,
        }
    }
    /// What is known of a comparison of two integers.
    pub(crate) fn compares(&self, cond: Cond, a: Atomic, b: Atomic) -> Option<bool> {
        if let (Some(a), Some(b)) = (self.integer(a), self.integer(b)) {
            return Some(crate::program::arithmetic::holds(cond, a, b));
        }
        let wanted = relations(cond);
        let mut possible = 0b111;
        if let Ok(at) = self.relations.binary_search_by_key(&(a, b), |entry| entry.0) {
            possible = self.relations[at].1;
        }
        if let Atomic::Int(limit) = b {
            possible &= self.against(a, limit);
        }
        if possible & !wanted == 0 {
            Some(true)
        } else if possible & wanted == 0 {
            Some(false)
        } else {
            None
        }
    }
    /// How `a` may stand to a constant, from what is known of it and other constants.
    fn against(&self, a: Atomic, limit: i64) -> u8 {
        let (mut low, mut high) = (i64::MIN, i64::MAX);
        for &((left, right), possible) in &self.relations {
            let Atomic::Int(other) = right else { continue };
            if left != a {
                continue;
            }
            if possible & 0b100 == 0 {
                high = high.min(if possible & 0b010 == 0 { other - 1 } else { other });
            }
            if possible & 0b001 == 0 {
                low = low.max(if possible & 0b010 == 0 { other + 1 } else { other });
            }
        }
        let mut possible = 0;
        if low < limit {
            possible |= 0b001;
        }
        if low <= limit && limit <= high {
            possible |= 0b010;
        }
        if high > limit {
            possible |= 0b100;
        }
        possible
    }
    /// True if code that relies on `weaker` may run where `self` is known.
    pub(crate) fn implies(&self, weaker: &Facts) -> bool {
        weaker.values.iter().all(|&(value, fact)| self.value(value).is_some_and(|mine| mine.implies(fact)))
            && weaker.answers.iter().all(|&(test, answer)| self.answer(test) == Some(answer))
            && weaker.relations.iter().all(|&(pair, possible)| {
                self.relations
                    .binary_search_by_key(&pair, |entry| entry.0)
                    .is_ok_and(|at| self.relations[at].1 & !possible == 0)
            })
    }
    /// True if something is known here, beyond being in a register, that `weaker` does not know.
    pub(crate) fn is_stronger_than(&self, weaker: &Facts) -> bool {
        self.values.iter().any(|&(value, fact)| fact != Fact::Loaded && weaker.value(value) != Some(fact))
            || self.relations != weaker.relations
            || self.answers != weaker.answers
    }
    /// Small and big integers become just integers: where big ones occur, one version is enough.
    pub(crate) fn forget_sizes(&mut self) {
        for (_, fact) in &mut self.values {
            const BIG: Pattern = Pattern::Object(term::layout::BIGINT.0);
            if matches!(fact, Fact::Like(Pattern::AnyInt | BIG)) {
                *fact = Fact::Integer;
            }
        }
    }
    /// These values and tests block, and their variables have been noted.
    pub(crate) fn note(&mut self, value: impl Fn(ValueId) -> bool, test: impl Fn(TestId) -> bool) {
        for (id, fact) in &mut self.values {
            if *fact == Fact::Unbound && value(*id) {
                *fact = Fact::Noted;
            }
        }
        for (id, answer) in &mut self.answers {
            if *answer == Answer::Blocked && test(*id) {
                *answer = Answer::Noted;
            }
        }
    }
    /// What is left when facts about other values, pairs and tests are forgotten.
    pub(crate) fn about(&self, value: impl Fn(ValueId) -> bool, test: impl Fn(TestId) -> bool) -> Facts {
        let concerned = |atomic: Atomic| match atomic {
            Atomic::Value(id) => value(id),
            _ => true,
        };
        Facts {
            values: self.values.iter().copied().filter(|entry| value(entry.0)).collect(),
            relations: (self.relations.iter().copied())
                .filter(|entry| concerned(entry.0.0) && concerned(entry.0.1))
                .collect(),
            answers: self.answers.iter().copied().filter(|entry| test(entry.0)).collect(),
        }
    }
    /// Only facts about values, each seen through `view`.
    pub(crate) fn values_as(&self, view: impl Fn(ValueId, Fact) -> Option<Fact>) -> Facts {
        Facts {
            values: self.values.iter().filter_map(|&(v, fact)| view(v, fact).map(|fact| (v, fact))).collect(),
            ..Facts::default()
        }
    }
}
