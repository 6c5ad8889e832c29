//! What is known of a small integer: comparisons that came before bound it, so that a sum need not be tested for
//! overflow.

use term::abi::{Cond, IntOp};
use term::word::{INT_MAX, INT_MIN};

/// A small integer is one of `least..=most`. (None is, where a branch is never taken: that code may be anything.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    least: i64,
    most: i64,
}

impl Range {
    /// All small integers.
    pub(crate) const ALL: Range = Range { least: INT_MIN, most: INT_MAX };

    /// The integers that are not negative.
    pub(crate) const NATURAL: Range = Range { least: 0, most: INT_MAX };
    /// Elements of strings.
    pub(crate) const BYTE: Range = Range { least: 0, most: 0xff };

    pub(crate) const fn one(value: i64) -> Range {
        Range { least: value, most: value }
    }
    /// True if none is negative, false if none is positive, nothing if there may be both.
    pub(crate) fn is_up(self) -> Option<bool> {
        if self.least >= 0 { Some(true) } else { (self.most <= 0).then_some(false) }
    }
    /// Holds what either holds.
    pub(crate) fn hull(self, other: Range) -> Range {
        Range { least: self.least.min(other.least), most: self.most.max(other.most) }
    }
    /// What the operation gives, if it is a small integer for all operands.
    pub(crate) fn result(op: IntOp, a: Range, b: Range) -> Option<Range> {
        let (least, most) = match op {
            IntOp::Add => (a.least.checked_add(b.least)?, a.most.checked_add(b.most)?),
            IntOp::Sub => (a.least.checked_sub(b.most)?, a.most.checked_sub(b.least)?),
            IntOp::And | IntOp::Or | IntOp::Xor | IntOp::Not => (INT_MIN, INT_MAX),
            _ => return None,
        };
        (least >= INT_MIN && most <= INT_MAX).then_some(Range { least, most })
    }
    /// Whether the operation may give a small integer for all operands of some ranges.
    pub(crate) fn is_kept_by(op: IntOp) -> bool {
        Range::result(op, Range::one(0), Range::one(0)).is_some()
    }
    /// Both operands, if the comparison holds.
    pub(crate) fn where_holds(cond: Cond, a: Range, b: Range) -> (Range, Range) {
        match cond {
            Cond::Lt => {
                let below = Range { most: a.most.min(b.most.saturating_sub(1)), ..a };
                (below, Range { least: b.least.max(a.least.saturating_add(1)), ..b })
            }
            Cond::Le => (Range { most: a.most.min(b.most), ..a }, Range { least: b.least.max(a.least), ..b }),
            Cond::Gt | Cond::Ge => {
                let turned = if cond == Cond::Gt { Cond::Lt } else { Cond::Le };
                let (b, a) = Range::where_holds(turned, b, a);
                (a, b)
            }
            Cond::Eq => {
                let both = Range { least: a.least.max(b.least), most: a.most.min(b.most) };
                (both, both)
            }
            Cond::Ne => (a, b),
        }
    }
    /// False if it holds for no two of them.
    pub(crate) fn may_hold(cond: Cond, a: Range, b: Range) -> bool {
        let (a, b) = Range::where_holds(cond, a, b);
        a.least <= a.most && b.least <= b.most
    }
    /// The same, if it does not hold.
    pub(crate) fn where_not(cond: Cond, a: Range, b: Range) -> (Range, Range) {
        let opposite = match cond {
            Cond::Lt => Cond::Ge,
            Cond::Le => Cond::Gt,
            Cond::Gt => Cond::Le,
            Cond::Ge => Cond::Lt,
            Cond::Eq => Cond::Ne,
            Cond::Ne => Cond::Eq,
        };
        Range::where_holds(opposite, a, b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONDITIONS: [Cond; 6] = [Cond::Lt, Cond::Le, Cond::Gt, Cond::Ge, Cond::Eq, Cond::Ne];

    fn holds(cond: Cond, a: i64, b: i64) -> bool {
        match cond {
            Cond::Lt => a < b,
            Cond::Le => a <= b,
            Cond::Gt => a > b,
            Cond::Ge => a >= b,
            Cond::Eq => a == b,
            Cond::Ne => a != b,
        }
    }

    fn ranges() -> impl Iterator<Item = Range> {
        (-3..3).flat_map(|least| (least..3).map(move |most| Range { least, most }))
    }

    #[test]
    fn comparisons_keep_the_integers_for_which_they_hold() {
        let within = |range: Range, x: i64| range.least <= x && x <= range.most;
        for cond in CONDITIONS {
            for (a, b) in ranges().flat_map(|a| ranges().map(move |b| (a, b))) {
                let (yes, no) = (Range::where_holds(cond, a, b), Range::where_not(cond, a, b));
                for (x, y) in (a.least..=a.most).flat_map(|x| (b.least..=b.most).map(move |y| (x, y))) {
                    let (in_a, in_b) = if holds(cond, x, y) { yes } else { no };
                    assert!(within(in_a, x) && within(in_b, y), "{cond:?} {a:?} {b:?} {x} {y}");
                }
            }
        }
    }

    #[test]
    fn comparisons_with_constants_bound() {
        let (below, _) = Range::where_holds(Cond::Lt, Range::ALL, Range::one(2));
        assert_eq!(below, Range { least: INT_MIN, most: 1 });
        let (above, _) = Range::where_not(Cond::Lt, Range::ALL, Range::one(2));
        assert_eq!(above, Range { least: 2, most: INT_MAX });
    }

    #[test]
    fn sums_at_the_ends_have_no_range() {
        let one = Range::one(1);
        let (_, positive) = Range::where_holds(Cond::Lt, Range::ALL, Range::ALL);
        assert_eq!(
            Range::result(IntOp::Sub, positive, one),
            Some(Range { least: INT_MIN, most: INT_MAX - 1 })
        );
        assert_eq!(Range::result(IntOp::Sub, positive, Range::one(2)), None);
        assert_eq!(Range::result(IntOp::Add, positive, one), None);
        assert_eq!(Range::result(IntOp::Sub, one, Range::ALL), None);
        assert_eq!(Range::result(IntOp::Sub, Range::one(-1), Range::ALL), Some(Range::ALL));
    }
}
