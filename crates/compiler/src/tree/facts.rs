//! What is known on the way to a block of a decision tree.

use crate::ir::Pattern;
use crate::program::arithmetic::relations;
use crate::program::values::{Atomic, Fact, Table, TestId, ValueId};
use crate::tree::match_cases::BIGINT;
use crate::tree::numbered::Numbered;
use rustc_hash::FxHashSet;
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

/// Knowledge. Copies share what they have in common.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Facts {
    values: Numbered<Fact>,
    /// Where an integer lies, by value.
    ranges: Numbered<Range>,
    /// Under which of `<`, `=`, `>` (bits 0, 1, 2) a pair of integers may stand.
    relations: Numbered<u8>,
    answers: Numbered<Answer>,
    /// Whether small and big integers are just integers.
    is_coarse: bool,
}

/// A value is one of `least..=most`; the ends of `i64` are those of all integers, as constants have 61 bits.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Range {
    least: i64,
    most: i64,
}

const ALL: Range = Range { least: i64::MIN, most: i64::MAX };

impl Facts {
    pub(crate) fn value(&self, value: ValueId) -> Option<Fact> {
        self.values.get(value.0).map(|fact| self.seen(fact))
    }
    fn seen(&self, fact: Fact) -> Fact {
        let has_size = matches!(fact, Fact::Like(Pattern::AnyInt | BIGINT));
        if self.is_coarse && has_size { Fact::Integer } else { fact }
    }
    pub(crate) fn set_value(&mut self, value: ValueId, fact: Fact) {
        self.values.set(value.0, fact);
    }
    pub(crate) fn answer(&self, test: TestId) -> Option<Answer> {
        self.answers.get(test.0)
    }
    pub(crate) fn set_answer(&mut self, test: TestId, answer: Answer) {
        self.answers.set(test.0, answer);
    }
    /// Restricts how a pair may stand.
    pub(crate) fn relate(&mut self, table: &Table, pair: (Atomic, Atomic), possible: u8) {
        if let (Atomic::Value(value), Atomic::Int(limit)) = pair {
            let Range { mut least, mut most } = self.range(value);
            if possible & 0b100 == 0 {
                most = most.min(if possible & 0b010 == 0 { limit - 1 } else { limit });
            }
            if possible & 0b001 == 0 {
                least = least.max(if possible & 0b010 == 0 { limit + 1 } else { limit });
            }
            return self.ranges.set(value.0, Range { least, most });
        }
        if let Some(number) = table.pair(pair) {
            self.relations.set(number, self.relations.get(number).unwrap_or(0b111) & possible);
        }
    }
    fn range(&self, value: ValueId) -> Range {
        self.ranges.get(value.0).unwrap_or(ALL)
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
    pub(crate) fn compares(&self, table: &Table, cond: Cond, a: Atomic, b: Atomic) -> Option<bool> {
        if let (Some(a), Some(b)) = (self.integer(a), self.integer(b)) {
            return Some(crate::program::arithmetic::holds(cond, a, b));
        }
        let wanted = relations(cond);
        let possible = match (a, b) {
            (Atomic::Value(value), Atomic::Int(limit)) => against(self.range(value), limit),
            pair => table.pair(pair).and_then(|number| self.relations.get(number)).unwrap_or(0b111),
        };
        if possible & !wanted == 0 {
            Some(true)
        } else if possible & wanted == 0 {
            Some(false)
        } else {
            None
        }
    }
    /// True if code that relies on `weaker` may run where `self` is known.
    pub(crate) fn implies(&self, weaker: &Facts) -> bool {
        let value =
            |fact, mine: Option<Fact>| mine.is_some_and(|mine| self.seen(mine).implies(weaker.seen(fact)));
        let range = |weaker: Range, mine: Option<Range>| {
            let mine = mine.unwrap_or(ALL);
            mine.least >= weaker.least && mine.most <= weaker.most
        };
        (weaker.is_coarse || !self.is_coarse)
            && weaker.values.every(&self.values, value)
            && weaker.answers.every(&self.answers, |answer, mine| mine == Some(answer))
            && weaker
                .relations
                .every(&self.relations, |possible, mine| mine.unwrap_or(0b111) & !possible == 0)
            && weaker.ranges.every(&self.ranges, range)
    }
    /// True if something is known here, beyond being in a register, that `weaker` does not know.
    pub(crate) fn is_stronger_than(&self, weaker: &Facts) -> bool {
        let known = |fact: Fact, theirs: Option<Fact>| {
            fact == Fact::Loaded || theirs.is_some_and(|theirs| weaker.seen(theirs) == self.seen(fact))
        };
        self.is_coarse != weaker.is_coarse
            || !self.values.every(&weaker.values, known)
            || self.ranges != weaker.ranges
            || self.relations != weaker.relations
            || self.answers != weaker.answers
    }
    /// Small and big integers become just integers: where big ones occur, one version is enough.
    pub(crate) fn forget_sizes(&mut self) {
        self.is_coarse = true;
    }
    /// Whether they are.
    pub(crate) fn is_coarse(&self) -> bool {
        self.is_coarse
    }
    /// These values and tests block, and their variables have been noted.
    pub(crate) fn note(&mut self, value: impl Fn(ValueId) -> bool, test: impl Fn(TestId) -> bool) {
        self.values = self.values.view(|id, fact| {
            let noted = fact == Fact::Unbound && value(ValueId(id));
            Some(if noted { Fact::Noted } else { fact })
        });
        self.answers = self.answers.view(|id, answer| {
            let noted = answer == Answer::Blocked && test(TestId(id));
            Some(if noted { Answer::Noted } else { answer })
        });
    }
    /// What is left when facts about other values, and about pairs of them, are forgotten.
    pub(crate) fn about(&self, table: &Table, value: impl Fn(ValueId) -> bool) -> Facts {
        Facts {
            values: self.values.view(|id, fact| value(ValueId(id)).then_some(fact)),
            ranges: self.ranges.view(|id, range| value(ValueId(id)).then_some(range)),
            ..self.about_pairs(table, value)
        }
    }
    /// The same for a few values.
    pub(crate) fn about_few(&self, table: &Table, few: &FxHashSet<ValueId>) -> Facts {
        let mut facts = self.about_pairs(table, |value| few.contains(&value));
        (facts.values, facts.ranges) = Default::default();
        for value in few {
            if let Some(fact) = self.values.get(value.0) {
                facts.values.set(value.0, fact);
            }
            if let Some(range) = self.ranges.get(value.0) {
                facts.ranges.set(value.0, range);
            }
        }
        facts
    }
    fn about_pairs(&self, table: &Table, value: impl Fn(ValueId) -> bool) -> Facts {
        let concerned = |atomic: Atomic| match atomic {
            Atomic::Value(id) => value(id),
            _ => true,
        };
        let relations = self.relations.view(|number, possible| {
            let (a, b) = table.paired(number);
            (concerned(a) && concerned(b)).then_some(possible)
        });
        Facts { relations, ..self.clone() }
    }
    /// Forgets the answers to other tests.
    pub(crate) fn keep_answers(&mut self, test: impl Fn(TestId) -> bool) {
        self.answers = self.answers.view(|id, answer| test(TestId(id)).then_some(answer));
    }
    /// Only facts about these values, each seen through `view`.
    pub(crate) fn values_as(
        &self,
        values: &FxHashSet<ValueId>,
        view: impl Fn(ValueId, Fact) -> Fact,
    ) -> Facts {
        let mut facts = Facts::default();
        for &value in values {
            if let Some(fact) = self.value(value) {
                facts.set_value(value, view(value, fact));
            }
        }
        facts
    }
}

/// How a value in a range may stand to a constant.
fn against(Range { least, most }: Range, limit: i64) -> u8 {
    let mut possible = 0;
    if least < limit {
        possible |= 0b001;
    }
    if least <= limit && limit <= most {
        possible |= 0b010;
    }
    if most > limit {
        possible |= 0b100;
    }
    possible
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clause without a head is tried behind each test of one with thousands, each of which has left a fact.
    #[test]
    fn only_what_is_wanted_is_looked_at() {
        let mut facts = Facts::default();
        (0..1000).for_each(|value| facts.set_value(ValueId(value), Fact::Loaded));
        let seen = std::cell::RefCell::new(Vec::new());
        let wanted = [ValueId(7), ValueId(1001)].into_iter().collect();
        let left = facts.values_as(&wanted, |value, fact| {
            seen.borrow_mut().push(value);
            fact
        });
        assert_eq!(seen.take(), [ValueId(7)]);
        assert_eq!((left.value(ValueId(7)), left.value(ValueId(8))), (Some(Fact::Loaded), None));
    }
}
