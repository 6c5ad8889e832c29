//! Terms that Python has no type for.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

/// An atom.
#[pyclass(frozen, module = "fifth")]
pub struct Atom {
    /// Its name.
    #[pyo3(get)]
    pub(crate) name: String,
}

#[pymethods]
impl Atom {
    #[new]
    fn new(name: String) -> Atom {
        Atom { name }
    }
    #[classattr]
    fn __match_args__() -> (&'static str,) {
        ("name",)
    }
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("Atom({})", self.name.as_str().into_pyobject(py)?.repr()?))
    }
    fn __str__(&self) -> &str {
        &self.name
    }
    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Atom>().is_ok_and(|other| other.get().name == self.name)
    }
    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.name.hash(&mut hasher);
        hasher.finish()
    }
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyAny>, (String,)) {
        (slf.get_type().into_any(), (slf.get().name.clone(),))
    }
}

/// A structure: a name and its arguments, of which there is one at least.
#[pyclass(frozen, module = "fifth")]
pub struct Term {
    /// Its name.
    #[pyo3(get)]
    pub(crate) name: String,
    /// Its arguments.
    #[pyo3(get)]
    pub(crate) args: Py<PyTuple>,
}

#[pymethods]
impl Term {
    #[new]
    #[pyo3(signature = (name, *args))]
    fn new(name: String, args: Py<PyTuple>) -> Term {
        Term { name, args }
    }
    #[classattr]
    fn __match_args__() -> (&'static str, &'static str) {
        ("name", "args")
    }
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let mut text = format!("Term({}", self.name.as_str().into_pyobject(py)?.repr()?);
        for argument in self.args.bind(py) {
            text += &format!(", {}", argument.repr()?);
        }
        Ok(text + ")")
    }
    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        match other.cast::<Term>() {
            Ok(other) if other.get().name == self.name => self.args.bind(py).eq(other.get().args.bind(py)),
            _ => Ok(false),
        }
    }
    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        (self.name.as_str(), self.args.bind(py)).into_pyobject(py)?.hash()
    }
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let name = slf.get().name.as_str().into_pyobject(py)?.into_any();
        let arguments = slf.get().args.bind(py).iter();
        let all: Vec<_> = std::iter::once(name).chain(arguments).collect();
        let all = PyTuple::new(py, all)?;
        Ok((slf.get_type().into_any(), all))
    }
}

/// A variable without a value. Among the arguments of one call, or within one result, the same number is the same
/// variable.
#[pyclass(frozen, module = "fifth")]
pub struct Var {
    /// Its number.
    #[pyo3(get)]
    pub(crate) number: u32,
}

#[pymethods]
impl Var {
    #[new]
    fn new(number: u32) -> Var {
        Var { number }
    }
    fn __repr__(&self) -> String {
        format!("Var({})", self.number)
    }
    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Var>().is_ok_and(|other| other.get().number == self.number)
    }
    fn __hash__(&self) -> u64 {
        u64::from(self.number)
    }
}
