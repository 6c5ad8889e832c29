//! Integer arithmetic beyond the fast path of generated code: big integers, and the goals that compute when
//! their operands arrive (they are builtins).

use crate::reports::outcome::ProgramError;
use crate::terms::large::Pieces;
use crate::terms::walk::interrupted;
use crate::worker::Worker;
use num_bigint::BigInt;
use num_bigint::Sign;
use std::cmp::Ordering;
use term::Word;
use term::abi::{Cond, IntOp};
use term::word::{INT_MAX, INT_MIN, Tag};

/// Largest shift to the left that is computed: more would be a program error that looks like a memory problem.
const SHIFT_MAX: i64 = 1 << 32;

/// Bits of a result up to which it is computed without asking whether they fit into the heap.
const SMALL_BITS: u64 = 1 << 16;

/// Words beside the heap for each word of a result: copies of the operands, the result before it is in the heap, and
/// what a product or quotient of halves needs.
const SCRATCH: usize = 4;

/// Bytes of scratch that the heap limit never refuses, beside as much as the limit itself, which collections need.
const SCRATCH_BYTES_MIN: usize = 16 << 20;

/// True if the result may be longer than both operands together.
fn grows(op: IntOp, a: &BigInt, count: &BigInt) -> bool {
    let left = (op == IntOp::Shl) != (count.sign() == Sign::Minus);
    op == IntOp::Mul || (left && a.sign() != Sign::NoSign)
}

/// Why there is no result.
#[derive(Debug)]
pub(crate) enum ArithError {
    ZeroDivision,
    /// A shift count that no result can have.
    ShiftRange,
    /// The result does not fit into the heap, or an interrupt came.
    Ended(Box<ProgramError>),
}

/// True for operations with one operand.
pub(crate) fn is_unary(op: IntOp) -> bool {
    matches!(op, IntOp::Neg | IntOp::Not)
}

/// The operation with this number, as generated code passes it.
pub(crate) fn int_op(number: u64) -> IntOp {
    const OPS: [IntOp; 12] = [
        IntOp::Add,
        IntOp::Sub,
        IntOp::Mul,
        IntOp::Div,
        IntOp::Mod,
        IntOp::And,
        IntOp::Or,
        IntOp::Xor,
        IntOp::Shl,
        IntOp::Shr,
        IntOp::Neg,
        IntOp::Not,
    ];
    debug_assert!(OPS.iter().enumerate().all(|(i, &op)| op as usize == i));
    OPS[number as usize]
}

/// The comparison with this number.
pub(crate) fn cond(number: u64) -> Cond {
    const CONDS: [Cond; 6] = [Cond::Lt, Cond::Le, Cond::Gt, Cond::Ge, Cond::Eq, Cond::Ne];
    debug_assert!(CONDS.iter().enumerate().all(|(i, &cond)| cond as usize == i));
    CONDS[number as usize]
}

/// Whether an ordering satisfies a comparison.
pub(crate) fn holds(cond: Cond, ordering: Ordering) -> bool {
    match cond {
        Cond::Lt => ordering.is_lt(),
        Cond::Le => ordering.is_le(),
        Cond::Gt => ordering.is_gt(),
        Cond::Ge => ordering.is_ge(),
        Cond::Eq => ordering.is_eq(),
        Cond::Ne => ordering.is_ne(),
    }
}

/// An operation on small integers; `None` if the result is not small (or there is none).
fn small(op: IntOp, a: i64, b: i64) -> Option<i64> {
    let value = match op {
        IntOp::Add => a.checked_add(b)?,
        IntOp::Sub => a.checked_sub(b)?,
        IntOp::Mul => a.checked_mul(b)?,
        IntOp::Div => a.checked_div(b)?,
        IntOp::Mod => a.checked_rem(b)?,
        IntOp::And => a & b,
        IntOp::Or => a | b,
        IntOp::Xor => a ^ b,
        IntOp::Shl if a == 0 => 0,
        IntOp::Shl => {
            let room = i64::from(if a < 0 { (!a).leading_zeros() } else { a.leading_zeros() });
            if b >= 0 && b < room - 3 { a << b } else { return None }
        }
        IntOp::Shr => {
            if b >= 0 {
                a >> b.min(63)
            } else {
                return None;
            }
        }
        IntOp::Neg => a.checked_neg()?,
        IntOp::Not => !a,
    };
    (INT_MIN..=INT_MAX).contains(&value).then_some(value)
}

/// The same with operands of 64 bits and a sign; `None` if the result is not known to have 127.
fn wide(op: IntOp, a: i128, b: i128) -> Option<i128> {
    match op {
        IntOp::Add => a.checked_add(b),
        IntOp::Sub => a.checked_sub(b),
        IntOp::Mul => a.checked_mul(b),
        IntOp::Div => a.checked_div(b),
        IntOp::Mod => a.checked_rem(b),
        IntOp::And => Some(a & b),
        IntOp::Or => Some(a | b),
        IntOp::Xor => Some(a ^ b),
        IntOp::Shl => (0..63).contains(&b).then(|| a << b),
        IntOp::Shr => (0..i128::MAX).contains(&b).then(|| a >> b.min(127)),
        IntOp::Neg => a.checked_neg(),
        IntOp::Not => Some(!a),
    }
}

/// `go_on` is asked from time to time where an operation takes long.
fn big(op: IntOp, a: &BigInt, b: &BigInt, go_on: &dyn Fn() -> bool) -> Result<BigInt, ArithError> {
    let ended = || ArithError::Ended(interrupted());
    let zero = b.sign() == Sign::NoSign;
    Ok(match op {
        IntOp::Add => a + b,
        IntOp::Sub => a - b,
        IntOp::Mul => Pieces::new(go_on).multiply(a, b).ok_or_else(ended)?,
        IntOp::Div | IntOp::Mod if zero => return Err(ArithError::ZeroDivision),
        IntOp::Div => Pieces::new(go_on).divide(a, b).ok_or_else(ended)?.0,
        IntOp::Mod => Pieces::new(go_on).divide(a, b).ok_or_else(ended)?.1,
        IntOp::And => a & b,
        IntOp::Or => a | b,
        IntOp::Xor => a ^ b,
        IntOp::Shl | IntOp::Shr => return shift(op, a, b),
        IntOp::Neg => -a,
        IntOp::Not => !a,
    })
}

/// A negative count shifts the other way.
fn shift(op: IntOp, a: &BigInt, count: &BigInt) -> Result<BigInt, ArithError> {
    let left = (op == IntOp::Shl) != (count.sign() == Sign::Minus);
    let count = i64::try_from(count.magnitude()).unwrap_or(i64::MAX);
    if a.sign() == Sign::NoSign {
        return Ok(BigInt::ZERO);
    }
    match (left, count > SHIFT_MAX) {
        (true, true) => Err(ArithError::ShiftRange),
        (true, false) => Ok(a << count),
        (false, true) => Ok(BigInt::from(if a.sign() == Sign::Minus { -1 } else { 0 })),
        (false, false) => Ok(a >> count),
    }
}

impl Worker {
    /// The result of an operation on two bound terms; `None` if one is not an integer. Unary operations ignore `b`.
    pub(crate) fn arithmetic(&mut self, op: IntOp, a: Word, b: Word) -> Option<Result<Word, ArithError>> {
        self.compute(op, a, b, Worker::ensure)
    }
    /// The same in a guard, where nothing can be tried again: garbage is no reason to have no result, it is collected
    /// soon.
    pub(crate) fn guard_arithmetic(
        &mut self,
        op: IntOp,
        a: Word,
        b: Word,
    ) -> Option<Result<Word, ArithError>> {
        self.compute(op, a, b, |worker, words| {
            let refused = worker.ensure(words);
            if refused.is_err() && worker.wanted.take_refused() {
                worker.collect_soon();
                return Ok(());
            }
            refused
        })
    }
    /// `ensure` is asked before a result is computed that may be much longer than the operands.
    fn compute(
        &mut self,
        op: IntOp,
        a: Word,
        b: Word,
        ensure: fn(&mut Worker, usize) -> Result<(), Box<ProgramError>>,
    ) -> Option<Result<Word, ArithError>> {
        let b = if is_unary(op) { Word::small(0) } else { b };
        if a.tag() == Tag::Int
            && b.tag() == Tag::Int
            && let Some(value) = small(op, a.as_int(), b.as_int())
        {
            return Some(Ok(Word::small(value)));
        }
        if let (Some(a), Some(b)) = (self.wide(a), self.wide(b))
            && let Some(value) = wide(op, a, b)
        {
            return Some(Ok(self.wide_integer(value)));
        }
        let (a, b) = (self.big(a)?, self.big(b)?);
        let bits = match op {
            IntOp::Mul => a.bits() + b.bits(),
            IntOp::Shl | IntOp::Shr if grows(op, &a, &b) => {
                a.bits().saturating_add(u64::try_from(b.magnitude()).unwrap_or(u64::MAX))
            }
            IntOp::Shl | IntOp::Shr => a.bits(),
            _ => a.bits().max(b.bits()),
        };
        let words = (bits / 64) as usize;
        if bits > SMALL_BITS {
            let room = if grows(op, &a, &b) { ensure(self, words) } else { Ok(()) };
            if let Err(error) = room.and_then(|()| self.ensure_scratch(words)) {
                return Some(Err(ArithError::Ended(error)));
            }
        }
        let worker: &Worker = self;
        let value = big(op, &a, &b, &|| !worker.is_interrupted());
        Some(value.map(|value| self.integer(&value)))
    }
    /// Whether an operation on integers of this number of words may take what it needs beside the heap. That is free
    /// again before the next collection, so it may use what the collection needs.
    fn ensure_scratch(&self, words: usize) -> Result<(), Box<ProgramError>> {
        let free = self.heap.spaces.bytes_max() + SCRATCH_BYTES_MIN;
        self.may_go_on(words.saturating_mul(8 * SCRATCH).saturating_sub(free))
    }
    /// The decimal digits of an integer; none after an interrupt.
    pub(crate) fn digits(&self, value: &BigInt) -> Option<String> {
        Pieces::new(&|| !self.is_interrupted()).text(value)
    }
    /// Compares two bound integers; `None` if one is not an integer.
    pub(crate) fn compare_integers(&self, a: Word, b: Word) -> Option<Ordering> {
        if a.tag() == Tag::Int && b.tag() == Tag::Int {
            return Some(a.as_int().cmp(&b.as_int()));
        }
        if let (Some(a), Some(b)) = (self.wide(a), self.wide(b)) {
            return Some(a.cmp(&b));
        }
        Some(self.big(a)?.cmp(&self.big(b)?))
    }
}

/// The names under which goals of arithmetic appear.
pub(crate) const GOALS: [(&str, &str); 12] = [
    ("add", "iio"),
    ("subtract", "iio"),
    ("multiply", "iio"),
    ("divide", "iio"),
    ("modulo", "iio"),
    ("and", "iio"),
    ("or", "iio"),
    ("exclusive_or", "iio"),
    ("shift_left", "iio"),
    ("shift_right", "iio"),
    ("minus", "io"),
    ("complement", "io"),
];

/// The module of those goals.
pub(crate) const MODULE: &str = "integer_arithmetics";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtins::tests::worker;

    #[test]
    fn integers_of_a_limb_have_the_results_of_big_ones() {
        let worker = worker();
        let mut values: Vec<i128> = vec![0, 1, 3, 31, 60, 62, 63, 64, 1103515245];
        for edge in [1i128 << 31, INT_MAX.into(), 1 << 61, i64::MAX.into(), u64::MAX.into(), 1 << 66] {
            values.extend([edge - 1, edge, edge + 1]);
        }
        values.extend(values.clone().iter().map(|value| -value));
        let (mut told, mut all) = (0, 0);
        for (number, &a) in (0..12).flat_map(|number| values.iter().map(move |a| (number, a))) {
            for &b in &values {
                let op = int_op(number);
                let (x, y) = (BigInt::from(a), BigInt::from(b));
                let (in_a, in_b) = (worker.integer(&x), worker.integer(&y));
                let again = worker.wide_integer(a);
                assert_eq!((again.tag(), worker.big(again)), (in_a.tag(), Some(x.clone())));
                assert_eq!(worker.compare_integers(in_a, in_b), Some(x.cmp(&y)));
                let too_far = matches!(op, IntOp::Shl | IntOp::Shr) && b.abs() > 1 << 12;
                if too_far {
                    continue;
                }
                let expected = big(op, &x, &y, &|| true).ok();
                let found = worker.arithmetic(op, in_a, in_b).expect("two integers").ok();
                assert_eq!(found.and_then(|word| worker.big(word)), expected, "{op:?} {a} {b}");
                if let Some(word) = found {
                    let value = expected.expect("a result");
                    assert_eq!(word.tag() == Tag::Int, worker.integer(&value).tag() == Tag::Int);
                }
                all += 1;
                let limbs = (worker.wide(in_a), worker.wide(in_b));
                if let (Some(a), Some(b)) = limbs
                    && wide(op, a, b).is_some()
                {
                    told += 1;
                }
            }
        }
        assert!(2 * told > all, "{told} of {all}");
    }
}
