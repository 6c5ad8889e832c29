//! Integer and float operations under their names.

use super::super::numbers;
use super::super::scheduler::Machine;
use super::super::terms::{Id, Value};
use super::{Native, Step, done, native, test, type_error};
use std::cmp::Ordering;
use term::abi::{Cond, IntOp, Place};

pub(super) fn natives() -> Vec<Native> {
    let mut all = integers();
    all.extend(floats());
    all.extend(float_tests());
    all.push(native("integer_arithmetics", "less_than", "ii", Place::Guard, |m, a| ordered(m, a, Cond::Lt)));
    all.push(native("integer_arithmetics", "not_greater_than", "ii", Place::Guard, |m, a| {
        ordered(m, a, Cond::Le)
    }));
    all.push(native("integer_arithmetics", "greater_than", "ii", Place::Guard, |m, a| {
        ordered(m, a, Cond::Gt)
    }));
    all.push(native("integer_arithmetics", "not_less_than", "ii", Place::Guard, |m, a| {
        ordered(m, a, Cond::Ge)
    }));
    all.push(native("integer_arithmetics", "equal", "ii", Place::Guard, |m, a| ordered(m, a, Cond::Eq)));
    all.push(native("integer_arithmetics", "not_equal", "ii", Place::Guard, |m, a| ordered(m, a, Cond::Ne)));
    all
}

fn integers() -> Vec<Native> {
    let table: [(&str, &str, super::Run); 13] = [
        ("add", "iio", |m, a| m.integer_step(IntOp::Add, a)),
        ("subtract", "iio", |m, a| m.integer_step(IntOp::Sub, a)),
        ("multiply", "iio", |m, a| m.integer_step(IntOp::Mul, a)),
        ("divide", "iio", |m, a| m.integer_step(IntOp::Div, a)),
        ("modulo", "iio", |m, a| m.integer_step(IntOp::Mod, a)),
        ("and", "iio", |m, a| m.integer_step(IntOp::And, a)),
        ("or", "iio", |m, a| m.integer_step(IntOp::Or, a)),
        ("exclusive_or", "iio", |m, a| m.integer_step(IntOp::Xor, a)),
        ("shift_left", "iio", |m, a| m.integer_step(IntOp::Shl, a)),
        ("shift_right", "iio", |m, a| m.integer_step(IntOp::Shr, a)),
        ("complement", "io", |m, a| m.integer_step(IntOp::Not, a)),
        ("minus", "io", |m, a| m.integer_step(IntOp::Neg, a)),
        ("plus", "io", |m, a| m.integer_step(IntOp::Add, a)),
    ];
    let mut all = Vec::new();
    for (name, modes, run) in table {
        all.push(native("integer_arithmetics", name, modes, Place::Body, run));
        all.push(native("integer_arithmetics", name, modes, Place::Guard, run));
    }
    all
}

fn ordered(machine: &mut Machine, inputs: &[Id], cond: Cond) -> Step {
    match numbers::integer_order(machine.bound(inputs[0]), machine.bound(inputs[1])) {
        Some(order) => test(numbers::holds(cond, Some(order))),
        None => Step::No,
    }
}

macro_rules! float_operations {
    ($all:ident, $modes:literal, $run:ident: $($method:literal / $builtin:literal),*) => {
        $(
            $all.push(native("generic", $method, $modes, Place::Body, |m, a| $run(m, $method, a)));
            $all.push(native("floating_arithmetics", concat!("floating_point_", $builtin), $modes, Place::Body,
                |m, a| $run(m, $method, a)));
        )*
    };
}

fn floats() -> Vec<Native> {
    let mut all = vec![
        native("generic", "int", "io", Place::Body, to_integer),
        native("floating_arithmetics", "floating_point_to_integer", "io", Place::Body, to_integer),
        native("floating_arithmetics", "floating_point_to_integer", "io", Place::Guard, to_integer),
        native("floating_arithmetics", "integer_to_floating_point", "io", Place::Goal, from_integer),
        native("generic", "new float", "aoi", Place::Body, new_float),
        native("generic", "float", "io", Place::Body, to_float),
        native("generic", "print", "io", Place::Body, print),
    ];
    float_operations!(all, "iio", binary: "add"/"add", "subtract"/"subtract", "multiply"/"multiply", "divide"/"divide",
        "pow"/"power");
    float_operations!(all, "io", unary: "plus"/"plus", "minus"/"minus", "sin"/"sin", "cos"/"cos", "tan"/"tan",
        "asin"/"asin", "acos"/"acos", "atan"/"atan", "sinh"/"sinh", "cosh"/"cosh", "tanh"/"tanh", "exp"/"exp",
        "log"/"log", "sqrt"/"sqrt", "ceil"/"ceil", "floor"/"floor");
    all
}

fn binary(machine: &mut Machine, name: &str, inputs: &[Id]) -> Step {
    let (Value::Float(a), Value::Float(b)) = (machine.bound(inputs[0]), machine.bound(inputs[1])) else {
        return type_error("a float method needs floats");
    };
    let result = numbers::float_binary(name, *a, *b).expect("the table names binary operations");
    done(machine.store.value(Value::Float(result)))
}

fn unary(machine: &mut Machine, name: &str, inputs: &[Id]) -> Step {
    let Value::Float(a) = machine.bound(inputs[0]) else { return type_error("a float method needs a float") };
    let result = numbers::float_unary(name, *a).expect("the table names unary operations");
    done(machine.store.value(Value::Float(result)))
}

fn to_integer(machine: &mut Machine, inputs: &[Id]) -> Step {
    let Value::Float(a) = machine.bound(inputs[0]) else { return type_error("int needs a float") };
    match numbers::truncate(*a) {
        Some(value) => done(machine.store.value(value)),
        None => Step::Error("no integer is near an infinity or NaN".into()),
    }
}

fn from_integer(machine: &mut Machine, inputs: &[Id]) -> Step {
    match numbers::to_float(machine.bound(inputs[0])) {
        Some(value) => done(machine.store.value(Value::Float(value))),
        None => type_error("float needs an integer"),
    }
}

/// `generic:float(X,F)`: also of a float.
fn to_float(machine: &mut Machine, inputs: &[Id]) -> Step {
    if let Value::Float(_) = machine.bound(inputs[0]) {
        done(inputs[0])
    } else {
        from_integer(machine, inputs)
    }
}

/// `generic:print(F,S)`: the text that `putt` writes.
fn print(machine: &mut Machine, inputs: &[Id]) -> Step {
    let Value::Float(x) = machine.bound(inputs[0]) else { return type_error("print needs a float") };
    let text = syntax::format::float_readable(*x);
    done(machine.store.string(text.as_bytes()))
}

/// `generic:new(float,F,IntOrString)`.
fn new_float(machine: &mut Machine, inputs: &[Id]) -> Step {
    let value = match machine.bound(inputs[1]) {
        Value::Float(x) => Some(*x),
        Value::String(text) => std::str::from_utf8(text).ok().and_then(|text| text.trim().parse().ok()),
        number => numbers::to_float(number),
    };
    match value {
        Some(value) => done(machine.store.value(Value::Float(value))),
        None => type_error("a float is made from an integer or a string with a number"),
    }
}

fn float_tests() -> Vec<Native> {
    let table: [(&str, &str, super::Run); 6] = [
        ("$<", "less_than", |m, a| compare(m, a, Cond::Lt)),
        ("$=<", "not_greater_than", |m, a| compare(m, a, Cond::Le)),
        ("$>", "greater_than", |m, a| compare(m, a, Cond::Gt)),
        ("$>=", "not_less_than", |m, a| compare(m, a, Cond::Ge)),
        ("$=:=", "equal", |m, a| compare(m, a, Cond::Eq)),
        ("$=\\=", "not_equal", |m, a| compare(m, a, Cond::Ne)),
    ];
    let mut all = Vec::new();
    for (name, method, run) in table {
        all.extend(
            [("floating_arithmetics", name), ("generic", method)]
                .map(|(module, name)| native(module, name, "ii", Place::Guard, run)),
        );
    }
    all
}

/// Floats with floats, strings with strings (of which only `less_than` and `not_less_than` exist).
fn compare(machine: &mut Machine, inputs: &[Id], cond: Cond) -> Step {
    match (machine.bound(inputs[0]), machine.bound(inputs[1])) {
        (Value::Float(a), Value::Float(b)) => test(numbers::holds(cond, a.partial_cmp(b))),
        (Value::String(a), Value::String(b)) if matches!(cond, Cond::Lt | Cond::Ge) => {
            let order: Ordering = a.cmp(b);
            test(numbers::holds(cond, Some(order)))
        }
        _ => Step::No,
    }
}
