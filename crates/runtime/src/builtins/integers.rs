//! Integer arithmetic and comparison as builtins: the goals of module `integer_arithmetics`, and the named forms in
//! guards. The operations themselves are the worker's (`arith`).

use super::{Row, body, decide, error, guard, wrong};
use crate::reports::outcome::ErrorKind;
use crate::terms::View;
use crate::terms::integers::{ArithError, holds};
use crate::worker::Worker;
use crate::worker::native::Outcome;
use term::Word;
use term::abi::{Cond, IntOp};
use term::layout::BIGINT;

fn run(worker: &mut Worker, op: IntOp, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let second = inputs.get(1).copied().unwrap_or(Word::small(0));
    match worker.arithmetic(op, inputs[0], second) {
        Some(Ok(value)) => {
            outputs[0] = value;
            Outcome::Done
        }
        Some(Err(ArithError::ZeroDivision)) => error(ErrorKind::ZeroDivision, "division by zero"),
        Some(Err(ArithError::Ended(error))) => Outcome::Error(error),
        Some(Err(ArithError::ShiftRange)) => {
            error(ErrorKind::Range, format!("the shift count {} is too large", worker.term_text(second)))
        }
        None => {
            let position = inputs.iter().position(|&word| worker.big(word).is_none()).unwrap_or(0);
            wrong(worker, position + 1, "an integer", inputs[position])
        }
    }
}

fn run_guard(worker: &mut Worker, op: IntOp, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    let second = inputs.get(1).copied().unwrap_or(Word::small(0));
    match worker.guard_arithmetic(op, inputs[0], second) {
        Some(Ok(value)) => {
            outputs[0] = value;
            Outcome::Done
        }
        Some(Err(ArithError::Ended(error))) => Outcome::Error(error),
        _ => Outcome::No,
    }
}

fn is_integer(worker: &Worker, word: Word) -> bool {
    match worker.view(word) {
        View::Int(_) => true,
        View::Object(class) => class == BIGINT,
        _ => false,
    }
}

/// `plus/2`: the integer itself.
fn plus(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    if !is_integer(worker, inputs[0]) {
        return wrong(worker, 1, "an integer", inputs[0]);
    }
    outputs[0] = inputs[0];
    Outcome::Done
}

fn guard_plus(worker: &mut Worker, inputs: &[Word], outputs: &mut [Word]) -> Outcome {
    outputs[0] = inputs[0];
    decide(is_integer(worker, inputs[0]))
}

fn compare(worker: &mut Worker, cond: Cond, inputs: &[Word]) -> Outcome {
    decide(worker.compare_integers(inputs[0], inputs[1]).is_some_and(|order| holds(cond, order)))
}

const MODULE: &str = "integer_arithmetics";
const GUARD: &str = "guard";

macro_rules! operations {
    ($($name:literal $modes:literal $op:ident),* $(,)?) => {
        &[
            $(body(MODULE, $name, $modes, |w, i, o| run(w, IntOp::$op, i, o)),
              guard(GUARD, $name, $modes, |w, i, o| run_guard(w, IntOp::$op, i, o)),)*
            body(MODULE, "plus", "io", plus),
            guard(GUARD, "plus", "io", guard_plus),
            guard(GUARD, "less_than", "ii", |w, i, _| compare(w, Cond::Lt, i)),
            guard(GUARD, "not_greater_than", "ii", |w, i, _| compare(w, Cond::Le, i)),
            guard(GUARD, "greater_than", "ii", |w, i, _| compare(w, Cond::Gt, i)),
            guard(GUARD, "not_less_than", "ii", |w, i, _| compare(w, Cond::Ge, i)),
            guard(GUARD, "equal", "ii", |w, i, _| compare(w, Cond::Eq, i)),
            guard(GUARD, "not_equal", "ii", |w, i, _| compare(w, Cond::Ne, i)),
        ]
    };
}

pub(super) const NATIVES: &[Row] = operations! {
    "add" "iio" Add, "subtract" "iio" Sub, "multiply" "iio" Mul, "divide" "iio" Div, "modulo" "iio" Mod,
    "and" "iio" And, "or" "iio" Or, "exclusive_or" "iio" Xor, "shift_left" "iio" Shl, "shift_right" "iio" Shr,
    "minus" "io" Neg, "complement" "io" Not,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtins::tests::worker;
    use num_bigint::BigInt;

    #[test]
    fn operations_cross_the_word_in_both_directions() {
        let worker = worker();
        let mut out = [Word::NIL];
        let top = Word::small(term::word::INT_MAX);
        assert!(matches!(run(worker, IntOp::Add, &[top, Word::small(1)], &mut out), Outcome::Done));
        let above = out[0];
        assert_eq!(worker.big(above), Some(BigInt::from(term::word::INT_MAX) + 1));
        assert!(matches!(run(worker, IntOp::Sub, &[above, Word::small(1)], &mut out), Outcome::Done));
        assert_eq!(out[0], top);
        assert!(matches!(compare(worker, Cond::Lt, &[top, above]), Outcome::Done));
        assert!(matches!(compare(worker, Cond::Lt, &[above, top]), Outcome::No));
    }

    #[test]
    fn what_is_wrong_is_said_in_bodies_and_fails_in_guards() {
        let worker = worker();
        let mut out = [Word::NIL];
        let zero = [Word::small(1), Word::small(0)];
        let Outcome::Error(error) = run(worker, IntOp::Mod, &zero, &mut out) else { panic!("no error") };
        assert!(error.message.contains("division by zero"));
        assert!(matches!(run_guard(worker, IntOp::Mod, &zero, &mut out), Outcome::No));
        let atom = [Word::small(1), Word::NIL];
        let Outcome::Error(error) = run(worker, IntOp::Add, &atom, &mut out) else { panic!("no error") };
        assert_eq!(error.message, "argument 2 must be an integer, not the atom []");
        assert!(matches!(run_guard(worker, IntOp::Add, &atom, &mut out), Outcome::No));
    }
}
