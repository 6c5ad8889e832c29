//! Floats: the methods of class `float`, the builtins of module `floating_arithmetics`, and comparison in guards.

use super::{Row, attempt, body, decide, error, guard, known, wrong};
use crate::reports::outcome::{ErrorKind, ProgramError};
use crate::terms::View;
use crate::worker::Worker;
use crate::worker::native::Outcome;
use num_bigint::{BigInt, ToBigInt};
use term::Word;

fn float(worker: &Worker, position: usize, word: Word) -> Result<f64, Outcome> {
    let word = known(word)?;
    worker.float_value(word).ok_or_else(|| wrong(worker, position, "a float", word))
}

fn unary(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word], run: fn(f64) -> f64) -> Outcome {
    let value = attempt!(float(worker, 1, inputs[0]));
    outputs[0] = worker.float(run(value));
    Outcome::Done
}

fn binary(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word], run: fn(f64, f64) -> f64) -> Outcome {
    let a = attempt!(float(worker, 1, inputs[0]));
    let b = attempt!(float(worker, 2, inputs[1]));
    outputs[0] = worker.float(run(a, b));
    Outcome::Done
}

/// A guard's comparison: anything but two floats fails.
fn compare(worker: &mut Worker, inputs: &[Word], holds: fn(&f64, &f64) -> bool) -> Outcome {
    match (worker.float_value(inputs[0]), worker.float_value(inputs[1])) {
        (Some(a), Some(b)) => decide(holds(&a, &b)),
        _ => Outcome::No,
    }
}

/// The integer part: truncated toward zero.
fn to_integer(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let value = attempt!(float(worker, 1, inputs[0]));
    let Some(integer) = value.to_bigint() else {
        return error(ErrorKind::Range, format!("the float {value} has no integer part"));
    };
    outputs[0] = worker.integer(&integer);
    Outcome::Done
}

fn guard_to_integer(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let Some(integer) = worker.float_value(inputs[0]).and_then(|value| value.to_bigint()) else {
        return Outcome::No;
    };
    outputs[0] = worker.integer(&integer);
    Outcome::Done
}

fn from_integer(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let Some(value) = worker.big(inputs[0]) else { return wrong(worker, 1, "an integer", inputs[0]) };
    outputs[0] = worker.float(nearest(&value));
    Outcome::Done
}

/// `float(X)` in float expressions: of an integer, or a float itself.
fn to_float(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    if worker.float_value(inputs[0]).is_some() {
        outputs[0] = inputs[0];
        return Outcome::Done;
    }
    from_integer(worker, inputs, outputs)
}

/// The float nearest to an integer.
pub(super) fn nearest(value: &BigInt) -> f64 {
    if value.bits() <= 1025 {
        // Decimal digits are exact, and reading them rounds correctly; so long a number is short enough for that.
        return value.to_string().parse().expect("decimal digits are a float literal");
    }
    if value.sign() == num_bigint::Sign::Minus { f64::NEG_INFINITY } else { f64::INFINITY }
}

/// `generic:new(float, F, X)`: from an integer, a float or a string.
pub(super) fn create(worker: &mut Worker, from: Word) -> Result<Word, Outcome> {
    let value = match worker.view(from) {
        View::Int(value) => value as f64,
        View::Unbound(variable) => return Err(Outcome::Wait(variable)),
        _ => {
            if let Some(value) = worker.float_value(from) {
                value
            } else if let Some(value) = worker.big(from) {
                nearest(&value)
            } else if let Some(text) = worker.string_bytes(from) {
                let parsed = std::str::from_utf8(&text).ok().and_then(|text| text.trim().parse().ok());
                match parsed {
                    Some(value) => value,
                    None => {
                        let message = format!("the string {:?} is no float", String::from_utf8_lossy(&text));
                        let error = ProgramError::new(ErrorKind::ArgumentType, message);
                        let other = "number:parse(S,R) answers `abnormal(..)` for a string that is no number";
                        return Err(Outcome::Error(error.detail(other)));
                    }
                }
            } else {
                return Err(wrong(worker, 3, "an integer or a string", from));
            }
        }
    };
    Ok(worker.float(value))
}

fn is_float(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
    decide(worker.float_value(inputs[0]).is_some())
}

/// `generic:print(F, S)`: as `putt` writes it.
fn print(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let value = attempt!(float(worker, 1, inputs[0]));
    outputs[0] = worker.string(syntax::format::float_readable(value).as_bytes());
    Outcome::Done
}

const MODULE: &str = "floating_arithmetics";

macro_rules! methods {
    (unary $($u_method:literal $u_builtin:literal $u_run:expr),*; binary $($b_method:literal $b_builtin:literal $b_run:expr),*;
     compare $($c_op:literal $c_run:expr),*; $($more:expr),* $(,)?) => {
        &[
            $(body("generic", $u_method, "io", |w, i, o| unary(w, i, o, $u_run)),
              body(MODULE, $u_builtin, "io", |w, i, o| unary(w, i, o, $u_run)),)*
            $(body("generic", $b_method, "iio", |w, i, o| binary(w, i, o, $b_run)),
              body(MODULE, $b_builtin, "iio", |w, i, o| binary(w, i, o, $b_run)),)*
            $(guard("guard", $c_op, "ii", |w, i, _| compare(w, i, $c_run)),)*
            $($more),*
        ]
    };
}

pub(super) const NATIVES: &[Row] = methods! {
    unary
        "sin" "floating_point_sin" f64::sin, "cos" "floating_point_cos" f64::cos,
        "tan" "floating_point_tan" f64::tan, "asin" "floating_point_asin" f64::asin,
        "acos" "floating_point_acos" f64::acos, "atan" "floating_point_atan" f64::atan,
        "sinh" "floating_point_sinh" f64::sinh, "cosh" "floating_point_cosh" f64::cosh,
        "tanh" "floating_point_tanh" f64::tanh, "exp" "floating_point_exp" f64::exp,
        "log" "floating_point_log" f64::ln, "sqrt" "floating_point_sqrt" f64::sqrt,
        "ceil" "floating_point_ceil" f64::ceil, "floor" "floating_point_floor" f64::floor,
        "plus" "floating_point_plus" |x| x, "minus" "floating_point_minus" |x: f64| -x;
    binary
        "add" "floating_point_add" |a, b| a + b, "subtract" "floating_point_subtract" |a, b| a - b,
        "multiply" "floating_point_multiply" |a, b| a * b, "divide" "floating_point_divide" |a, b| a / b,
        "pow" "floating_point_power" f64::powf;
    compare
        "$<" f64::lt, "$=<" f64::le, "$<=" f64::le, "$>" f64::gt, "$>=" f64::ge, "$=:=" f64::eq, "$=\\=" f64::ne,
        "floating_point_less_than" f64::lt, "floating_point_not_less_than" f64::ge,
        "floating_point_greater_than" f64::gt, "floating_point_not_greater_than" f64::le,
        "floating_point_equal" f64::eq, "floating_point_not_equal" f64::ne;
    body(MODULE, "floating_point_to_integer", "io", to_integer),
    body(MODULE, "integer_to_floating_point", "io", from_integer),
    body("generic", "int", "io", to_integer),
    body("generic", "print", "io", print),
    body("generic", "float", "io", to_float),
    guard("guard", "floating_point_to_integer", "io", guard_to_integer),
    guard("guard", "int", "io", guard_to_integer),
    guard("generic", "float", "i", is_float),
    guard("generic", "greater_than", "ii", |w, i, _| compare(w, i, f64::gt)),
    guard("generic", "not_greater_than", "ii", |w, i, _| compare(w, i, f64::le)),
    guard("generic", "equal", "ii", |w, i, _| compare(w, i, f64::eq)),
    guard("generic", "not_equal", "ii", |w, i, _| compare(w, i, f64::ne)),
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_become_the_nearest_float() {
        for value in [0i64, 1, -5, (1 << 53) + 1, i64::MAX] {
            assert_eq!(nearest(&value.into()), value as f64);
        }
        assert_eq!(nearest(&(BigInt::from(1) << 2000u32)), f64::INFINITY);
        assert_eq!(nearest(&-(BigInt::from(1) << 2000u32)), f64::NEG_INFINITY);
    }

    #[test]
    fn a_float_without_integer_part_is_an_error() {
        let worker = crate::builtins::tests::worker();
        let infinite = worker.float(f64::INFINITY);
        assert!(matches!(to_integer(worker, &[infinite], &mut [Word::NIL]), Outcome::Error(_)));
        let large = worker.float(1e30);
        let mut out = [Word::NIL];
        assert!(matches!(to_integer(worker, &[large], &mut out), Outcome::Done));
        assert_eq!(worker.big(out[0]).map(|v| v.to_string()), Some("1000000000000000019884624838656".into()));
    }
}
