//! Arithmetic on integers of any size, and on floats.

use super::terms::Value;
use num_bigint::{BigInt, Sign};
use std::cmp::Ordering;
use term::abi::{Cond, IntOp};

/// Why there is no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// An operand is of a wrong type.
    Type,
    /// Division by zero.
    ZeroDivision,
    /// A result that no memory holds.
    Shift,
}

/// Results have at most this many bits.
const BITS_MAX: u64 = 1 << 32;

/// `a op b`; unary operations ignore `b`.
pub(super) fn integer(op: IntOp, a: &Value, b: &Value) -> Result<Value, Trouble> {
    if let (Value::Int(a), Value::Int(b)) = (a, b)
        && let Some(small) = small(op, *a, *b)
    {
        return Ok(Value::Int(small));
    }
    let (Some(a), Some(b)) = (a.to_bigint(), b.to_bigint()) else { return Err(Trouble::Type) };
    let zero = BigInt::from(0);
    let result = match op {
        IntOp::Add => a + b,
        IntOp::Sub => a - b,
        IntOp::Mul if a.bits() + b.bits() > BITS_MAX => return Err(Trouble::Shift),
        IntOp::Mul => a * b,
        IntOp::Div | IntOp::Mod if b == zero => return Err(Trouble::ZeroDivision),
        // Truncating, as in C: the remainder has the sign of the dividend.
        IntOp::Div => a / b,
        IntOp::Mod => a % b,
        IntOp::And => a & b,
        IntOp::Or => a | b,
        IntOp::Xor => a ^ b,
        IntOp::Shl | IntOp::Shr => shift(op, a, &b)?,
        IntOp::Neg => -a,
        IntOp::Not => -a - 1,
    };
    Ok(Value::integer(result))
}

/// The frequent cases, when operands and result are short.
fn small(op: IntOp, a: i64, b: i64) -> Option<i64> {
    match op {
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
        IntOp::Shl | IntOp::Shr => None,
    }
}

/// A negative count shifts the other way; to the right it rounds down (arithmetic).
fn shift(op: IntOp, a: BigInt, count: &BigInt) -> Result<BigInt, Trouble> {
    let left = (op == IntOp::Shl) != (count.sign() == Sign::Minus);
    match (left, u64::try_from(count.magnitude())) {
        (true, _) if a.sign() == Sign::NoSign => Ok(a),
        (true, Ok(count)) if a.bits().saturating_add(count) <= BITS_MAX => Ok(a << count),
        (true, _) => Err(Trouble::Shift),
        (false, count) => Ok(a.clone() >> count.unwrap_or(u64::MAX).min(a.bits() + 1)),
    }
}

/// The order of two integers; `None` if one is none.
pub(super) fn integer_order(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        _ => Some(a.to_bigint()?.cmp(&b.to_bigint()?)),
    }
}

/// Whether a comparison holds for this order; `None` is the order of a NaN.
pub(super) fn holds(cond: Cond, order: Option<Ordering>) -> bool {
    match cond {
        Cond::Lt => order == Some(Ordering::Less),
        Cond::Le => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        Cond::Gt => order == Some(Ordering::Greater),
        Cond::Ge => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        Cond::Eq => order == Some(Ordering::Equal),
        Cond::Ne => order != Some(Ordering::Equal),
    }
}

/// A float operation of two operands, by its method name.
pub(super) fn float_binary(name: &str, a: f64, b: f64) -> Option<f64> {
    Some(match name {
        "add" => a + b,
        "subtract" => a - b,
        "multiply" => a * b,
        "divide" => a / b,
        "pow" => a.powf(b),
        _ => return None,
    })
}

/// A float operation of one operand, by its method name.
pub(super) fn float_unary(name: &str, a: f64) -> Option<f64> {
    Some(match name {
        "plus" => a,
        "minus" => -a,
        "sin" => a.sin(),
        "cos" => a.cos(),
        "tan" => a.tan(),
        "asin" => a.asin(),
        "acos" => a.acos(),
        "atan" => a.atan(),
        "sinh" => a.sinh(),
        "cosh" => a.cosh(),
        "tanh" => a.tanh(),
        "exp" => a.exp(),
        "log" => a.ln(),
        "sqrt" => a.sqrt(),
        "ceil" => a.ceil(),
        "floor" => a.floor(),
        _ => return None,
    })
}

/// The nearest float.
pub(super) fn to_float(n: &Value) -> Option<f64> {
    match n {
        Value::Int(n) => Some(*n as f64),
        // Decimal text is the only conversion that rounds correctly at any size.
        Value::Big(n) => Some(n.to_string().parse().expect("digits are a float")),
        _ => None,
    }
}

/// The integer part; `None` for infinities and NaN.
pub(super) fn truncate(f: f64) -> Option<Value> {
    if !f.is_finite() {
        return None;
    }
    let digits = format!("{:.0}", f.trunc());
    Some(Value::integer(digits.parse().expect("a whole float without exponent is a number")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(op: IntOp, a: i64, b: i64, expected: &str) {
        let result = integer(op, &Value::Int(a), &Value::Int(b)).expect("has a value");
        assert_eq!(result.to_bigint().expect("an integer").to_string(), expected);
    }

    #[test]
    fn division_truncates_and_the_remainder_has_the_sign_of_the_dividend() {
        check(IntOp::Div, -7, 2, "-3");
        check(IntOp::Mod, -7, 2, "-1");
        check(IntOp::Mod, 7, -2, "1");
        check(IntOp::Div, i64::MIN, -1, "9223372036854775808");
        assert_eq!(integer(IntOp::Mod, &Value::Int(1), &Value::Int(0)).err(), Some(Trouble::ZeroDivision));
    }

    #[test]
    fn nothing_wraps_and_shifts_are_arithmetic() {
        check(IntOp::Mul, i64::MAX, i64::MAX, "85070591730234615847396907784232501249");
        check(IntOp::Shl, -3, 70, "-3541774862152233910272");
        check(IntOp::Shr, -5, 1, "-3");
        check(IntOp::Shr, -5, 1000, "-1");
        check(IntOp::Shl, 5, -1, "2");
        check(IntOp::Shr, -7, -2, "-28");
        assert_eq!(integer(IntOp::Shl, &Value::Int(1), &Value::Int(1 << 40)).err(), Some(Trouble::Shift));
    }

    #[test]
    fn floats_become_integers_by_truncation() {
        assert!(matches!(truncate(-2.9), Some(Value::Int(-2))));
        assert_eq!(
            truncate(1e20).and_then(|n| n.to_bigint()).map(|n| n.to_string()).as_deref(),
            Some("100000000000000000000")
        );
        assert!(truncate(f64::NAN).is_none());
    }
}
