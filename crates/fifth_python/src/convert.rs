//! Python's objects to values of the engine, and back, without recursion (Y3).

use crate::arrays::SharedArray;
use crate::terms::{Atom, Term, Var};
use engine::Value;
use engine::value::{ARITY_MAX, Builder, NODES_MAX, Part, Shape, Terms};
use num_bigint::BigInt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::collections::HashSet;

/// What is left to do.
enum Step<'py> {
    Look(Bound<'py, PyAny>),
    /// An object whose parts have been made: how many they are.
    List(Bound<'py, PyAny>, usize),
    Vector(Bound<'py, PyAny>, usize),
    Structure(Bound<'py, Term>, usize),
}

/// The value that an object becomes.
pub(crate) fn to_value(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    let mut making =
        Making { builder: Builder::default(), steps: Vec::new(), made: Vec::new(), around: HashSet::new() };
    making.steps.push(Step::Look(object.clone()));
    while let Some(step) = making.steps.pop() {
        let part = match step {
            Step::Look(object) => match making.look(object)? {
                Some(part) => part,
                None => continue,
            },
            Step::List(object, count) => {
                let parts = making.parts(&object, count);
                making.builder.list(&parts)
            }
            Step::Vector(object, count) => {
                let parts = making.parts(&object, count);
                making.builder.vector(&parts)
            }
            Step::Structure(term, count) => {
                let parts = making.parts(term.as_any(), count);
                making.builder.structure(term.get().name.as_bytes(), &parts)
            }
        };
        making.made.push(part);
        if making.builder.len() + making.steps.len() > NODES_MAX {
            return Err(PyValueError::new_err("a value is too large for a call"));
        }
    }
    Ok(making.builder.finish())
}

struct Making<'py> {
    builder: Builder,
    steps: Vec<Step<'py>>,
    made: Vec<Part>,
    /// The lists, tuples and terms around what is being made: none of them may be a part of itself.
    around: HashSet<usize>,
}

impl<'py> Making<'py> {
    /// The last `count` parts that were made, in order; nothing is inside this object any more.
    fn parts(&mut self, object: &Bound<'py, PyAny>, count: usize) -> Vec<Part> {
        self.around.remove(&(object.as_ptr() as usize));
        self.made.split_off(self.made.len() - count)
    }
    /// The parts of an object come before it.
    fn open(
        &mut self,
        object: &Bound<'py, PyAny>,
        last: Step<'py>,
        parts: Vec<Bound<'py, PyAny>>,
    ) -> PyResult<()> {
        if !self.around.insert(object.as_ptr() as usize) {
            return Err(PyValueError::new_err("a value that contains itself does not go into KL1"));
        }
        self.steps.push(last);
        self.steps.extend(parts.into_iter().rev().map(Step::Look));
        Ok(())
    }
    fn look(&mut self, object: Bound<'py, PyAny>) -> PyResult<Option<Part>> {
        let builder = &mut self.builder;
        if let Ok(value) = object.cast_exact::<PyInt>() {
            return Ok(Some(match value.extract::<i64>() {
                Ok(value) => builder.integer(value),
                Err(_) => builder.big(value.extract::<BigInt>()?),
            }));
        }
        if let Ok(text) = object.cast::<PyString>() {
            return Ok(Some(builder.string(bytes_of(text)?)));
        }
        if let Ok(list) = object.cast::<PyList>() {
            let parts: Vec<_> = list.iter().collect();
            let last = Step::List(object.clone(), parts.len());
            return self.open(&object, last, parts).map(|()| None);
        }
        if let Ok(tuple) = object.cast::<PyTuple>() {
            let parts: Vec<_> = tuple.iter().collect();
            let last = Step::Vector(object.clone(), parts.len());
            return self.open(&object, last, parts).map(|()| None);
        }
        if let Ok(term) = object.cast::<Term>() {
            let parts: Vec<_> = term.get().args.bind(object.py()).iter().collect();
            if parts.len() > ARITY_MAX {
                let count = parts.len();
                return Err(PyValueError::new_err(format!(
                    "a structure has at most {ARITY_MAX} arguments, not {count}; a tuple becomes a vector, which may have more"
                )));
            }
            let last = Step::Structure(term.clone(), parts.len());
            return self.open(&object, last, parts).map(|()| None);
        }
        if let Ok(array) = object.cast::<SharedArray>() {
            let Some(parts) = array.get().given() else {
                let text =
                    "an array of another process's memory does not go into a session that was started here";
                return Err(PyValueError::new_err(text));
            };
            let parts = parts.map(|part| builder.integer(part));
            return Ok(Some(builder.structure(b"array", &parts)));
        }
        Ok(Some(if let Ok(atom) = object.cast::<Atom>() {
            builder.atom(&atom.get().name)
        } else if let Ok(value) = object.cast::<PyBool>() {
            builder.atom(if value.is_true() { "true" } else { "false" })
        } else if let Ok(value) = object.cast::<PyFloat>() {
            builder.float(value.value())
        } else if let Ok(bytes) = object.cast::<PyBytes>() {
            builder.string(bytes.as_bytes())
        } else if let Ok(var) = object.cast::<Var>() {
            builder.variable(var.get().number)
        } else if let Ok(value) = object.extract::<BigInt>() {
            builder.big(value)
        } else {
            let class = object.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "a {class} does not go into KL1; what does: int, float, str, bytes, bool, list, tuple, Atom, Term, Var, SharedArray"
            )));
        }))
    }
}

/// The bytes of a text: surrogate escapes are the bytes that they were.
fn bytes_of(text: &Bound<'_, PyString>) -> PyResult<Vec<u8>> {
    if let Ok(text) = text.to_cow() {
        return Ok(text.as_bytes().to_vec());
    }
    let bytes = text.call_method1("encode", ("utf-8", "surrogateescape"))?;
    Ok(bytes.cast_into::<PyBytes>().map_err(PyErr::from)?.as_bytes().to_vec())
}

/// A text, or the bytes themselves.
fn string<'py>(py: Python<'py>, bytes: &[u8], raw: bool) -> PyResult<Bound<'py, PyAny>> {
    let object = PyBytes::new(py, bytes);
    if raw {
        return Ok(object.into_any());
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(PyString::new(py, text).into_any()),
        Err(_) => object.call_method1("decode", ("utf-8", "surrogateescape")),
    }
}

/// The array that a structure stands for.
fn array_of(name: &[u8], parts: Terms<'_>) -> Option<SharedArray> {
    if name != b"array" || parts.len() != 2 {
        return None;
    }
    SharedArray::of(parts.get(0)?.as_integer()?, parts.get(1)?.as_integer()?)
}

/// The object that a value becomes; `raw`: strings become bytes.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &Value, raw: bool) -> PyResult<Bound<'py, PyAny>> {
    let name = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    value.fold(|shape, parts: &[&Bound<'py, PyAny>]| {
        Ok(match shape {
            Shape::Integer(value) => value.into_pyobject(py)?.into_any(),
            Shape::Big(value) => value.into_pyobject(py)?.into_any(),
            Shape::Float(value) => PyFloat::new(py, value).into_any(),
            Shape::Atom(b"[]") => PyList::empty(py).into_any(),
            Shape::Atom(text) => Bound::new(py, Atom { name: name(text) })?.into_any(),
            Shape::String(bytes) => string(py, bytes, raw)?,
            Shape::List(..) => {
                let (end, items) = parts.split_last().expect("what is behind them is there");
                if !end.is_instance_of::<PyList>() {
                    let text = "a list without an end does not come out of KL1";
                    return Err(PyValueError::new_err(text));
                }
                PyList::new(py, items)?.into_any()
            }
            Shape::Vector(_) => PyTuple::new(py, parts)?.into_any(),
            Shape::Structure(text, of) => {
                if let Some(array) = array_of(text, of) {
                    return Ok(Bound::new(py, array)?.into_any());
                }
                let args = PyTuple::new(py, parts)?.unbind();
                Bound::new(py, Term { name: name(text), args })?.into_any()
            }
            Shape::Variable(number) => Bound::new(py, Var { number })?.into_any(),
            Shape::Other(text) => PyString::new(py, &name(text)).into_any(),
        })
    })
}
