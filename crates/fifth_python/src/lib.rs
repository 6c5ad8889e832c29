//! The native part of the Python package `fifth`: programs, sessions, calls and streams of [`engine`], and what
//! Python's objects become.
//!
//! The package's Python files (`python/fifth`) are its public face: names, exceptions, iterators. What is here tells
//! them everything as values.
//!
//! Invariants:
//! - Y1 Nothing waits while it has the interpreter's lock, and what waits looks for signals every [`SLICE`].
//! - Y2 After a fork the child has no engine threads: every use there is an error, and what is dropped there is
//!   forgotten.
//! - Y3 Terms of any depth are converted without recursion.

#![forbid(unsafe_op_in_unsafe_fn)]

mod arrays;
mod convert;
mod failures;
mod functions;
mod laboratory;
mod notebook;
mod program;
mod session;
mod terms;

use pyo3::prelude::*;
use std::time::Duration;

/// How long a thread waits before it looks for signals.
const SLICE: Duration = Duration::from_millis(20);

/// Bytes of address space of a session: hundreds of them fit into a process.
const ADDRESS_SPACE_BYTES: u64 = 64 << 30;

/// The module `fifth._fifth`.
#[pymodule]
fn _fifth(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<terms::Atom>()?;
    module.add_class::<terms::Term>()?;
    module.add_class::<terms::Var>()?;
    module.add_class::<arrays::SharedArray>()?;
    module.add_class::<program::Program>()?;
    module.add_class::<session::Session>()?;
    module.add_class::<session::Call>()?;
    module.add_class::<session::Sender>()?;
    module.add_class::<session::Source>()?;
    module.add_class::<session::Receiver>()?;
    module.add_class::<session::Drain>()?;
    module.add_class::<notebook::Notebook>()?;
    module.add_function(wrap_pyfunction!(notebook::is_complete, module)?)?;
    module.add_function(wrap_pyfunction!(laboratory::experiments, module)?)?;
    module.add_function(wrap_pyfunction!(laboratory::run_experiment, module)?)?;
    module.add_function(wrap_pyfunction!(laboratory::read_report, module)?)?;
    module.add_function(wrap_pyfunction!(arrays::shared_array, module)?)?;
    module.add_function(wrap_pyfunction!(arrays::attach_array, module)?)?;
    module.add_function(wrap_pyfunction!(session::close_all, module)?)?;
    module.add("ForkedError", module.py().get_type::<session::ForkedError>())
}
