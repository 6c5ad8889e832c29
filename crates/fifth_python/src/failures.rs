//! What goes wrong, as dictionaries, of which the package's Python part makes exceptions: the engine's JSON, read.

use engine::render::failures;
use engine::{Failure, NotCompiled};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyList, PyString};
use runtime::outcome::Waiting;
use serde_json::Value;

/// The object of a JSON text. No code of Python runs meanwhile: at its end the interpreter ends threads that wait for
/// its lock, and none may wait here.
fn read<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    let value = serde_json::from_str(text).map_err(|error| PyValueError::new_err(error.to_string()))?;
    object(py, &value)
}

/// Nothing of it is deeper than the engine's texts are.
fn object<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(value) => PyBool::new(py, *value).to_owned().into_any(),
        Value::Number(number) => match number.as_i64() {
            Some(number) => number.into_pyobject(py)?.into_any(),
            None => PyFloat::new(py, number.as_f64().unwrap_or(f64::NAN)).into_any(),
        },
        Value::String(text) => PyString::new(py, text).into_any(),
        Value::Array(items) => {
            let items = items.iter().map(|item| object(py, item)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, items)?.into_any()
        }
        Value::Object(members) => {
            let told = PyDict::new(py);
            members.iter().try_for_each(|(name, member)| told.set_item(name, object(py, member)?))?;
            told.into_any()
        }
    })
}

/// Why a call gave no values.
pub(crate) fn of_call<'py>(py: Python<'py>, failure: &Failure) -> PyResult<Bound<'py, PyAny>> {
    read(py, &failures::of_call(failure))
}

/// Goals that wait.
pub(crate) fn waiting<'py>(py: Python<'py>, waiting: &Waiting) -> PyResult<Bound<'py, PyAny>> {
    read(py, &failures::waiting(waiting))?.get_item("goals")
}

/// Why there is no program.
pub(crate) fn of_text<'py>(py: Python<'py>, wrong: &NotCompiled) -> PyResult<Bound<'py, PyAny>> {
    read(py, &failures::of_text(wrong))
}

/// What is wrong with a text, or seems to be.
pub(crate) fn diagnostics<'py>(py: Python<'py>, report: &engine::Report) -> PyResult<Bound<'py, PyAny>> {
    if report.list().is_empty() {
        return Ok(PyList::empty(py).into_any());
    }
    read(py, &format!("[{}]", report.json().trim_end().replace('\n', ",")))
}
