//! Arithmetic and comparisons on constants.

use crate::program::values::Atomic;
use term::abi::{Cond, IntOp};
use term::word::{INT_MAX, INT_MIN};

/// The result of an operation on two small integers, if it is defined and small.
pub(crate) fn fold(op: IntOp, a: i64, b: i64) -> Option<i64> {
    let result = match op {
        IntOp::Add => a.checked_add(b),
        IntOp::Sub => a.checked_sub(b),
        IntOp::Mul => a.checked_mul(b),
        IntOp::Div => a.checked_div(b),
        IntOp::Mod => a.checked_rem(b),
        IntOp::And => Some(a & b),
        IntOp::Or => Some(a | b),
        IntOp::Xor => Some(a ^ b),
        IntOp::Neg => a.checked_neg(),
        IntOp::Not => Some(!a),
        // Shifts by strange counts are left to the runtime, which knows what they mean.
        IntOp::Shl if (0..32).contains(&b) => a.checked_mul(1 << b),
        IntOp::Shr if (0..60).contains(&b) => Some(a >> b),
        IntOp::Shl | IntOp::Shr => None,
    }?;
    (INT_MIN..=INT_MAX).contains(&result).then_some(result)
}

/// [`fold`] for operands that may not be constants.
pub(crate) fn fold_atomic(op: IntOp, a: Atomic, b: Atomic) -> Option<Atomic> {
    match (a, b) {
        (Atomic::Int(a), Atomic::Int(b)) => fold(op, a, b).map(Atomic::Int),
        _ => None,
    }
}

/// Whether a comparison holds.
pub(crate) fn holds(cond: Cond, a: i64, b: i64) -> bool {
    match cond {
        Cond::Lt => a < b,
        Cond::Le => a <= b,
        Cond::Gt => a > b,
        Cond::Ge => a >= b,
        Cond::Eq => a == b,
        Cond::Ne => a != b,
    }
}

/// The comparison with its operands exchanged.
pub(crate) fn swapped(cond: Cond) -> Cond {
    match cond {
        Cond::Lt => Cond::Gt,
        Cond::Le => Cond::Ge,
        Cond::Gt => Cond::Lt,
        Cond::Ge => Cond::Le,
        Cond::Eq | Cond::Ne => cond,
    }
}

/// `X > 3` is `X >= 4` and `X =< 3` is `X < 4`: one form for tests that are complements of each other.
pub(crate) fn canonical(cond: Cond, right: Atomic) -> (Cond, Atomic) {
    match (cond, right) {
        (Cond::Gt, Atomic::Int(value)) if value < INT_MAX => (Cond::Ge, Atomic::Int(value + 1)),
        (Cond::Le, Atomic::Int(value)) if value < INT_MAX => (Cond::Lt, Atomic::Int(value + 1)),
        other => other,
    }
}

/// The relations `<`, `=`, `>` (bits 0, 1, 2) under which a comparison holds.
pub(crate) fn relations(cond: Cond) -> u8 {
    match cond {
        Cond::Lt => 0b001,
        Cond::Le => 0b011,
        Cond::Gt => 0b100,
        Cond::Ge => 0b110,
        Cond::Eq => 0b010,
        Cond::Ne => 0b101,
    }
}
