//! Compiled programs.

use crate::failures;
use engine::{Libraries, Overlay, Settings, Texts};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use std::path::PathBuf;

/// A program as code, which any number of sessions may run.
#[pyclass(frozen, module = "fifth")]
pub struct Program {
    pub(crate) program: engine::Program,
}

#[pymethods]
impl Program {
    /// Compiles files, and a text under a name, with libraries of foreign predicates: the program, or a dictionary that
    /// says what is wrong.
    #[staticmethod]
    fn compile(
        py: Python<'_>,
        mut paths: Vec<PathBuf>,
        text: Option<(String, Vec<u8>)>,
        libraries: Vec<PathBuf>,
    ) -> PyResult<Py<PyAny>> {
        let mut texts = Texts::default();
        if let Some((name, text)) = text {
            texts.add(&name, text);
            paths.push(name.into());
        }
        let files = Overlay { texts, read: base::read_at_most };
        let libraries = py.detach(|| {
            let loaded = libraries.iter().map(|path| foreign::load(path)).collect::<Result<_, _>>()?;
            Libraries::new(loaded)
        });
        let libraries = libraries.map_err(PyOSError::new_err)?;
        let compiled =
            py.detach(|| engine::Program::compile_with(&Settings::default(), &paths, &files, libraries));
        match compiled {
            Ok(program) => Ok(Py::new(py, Program { program })?.into_any()),
            Err(wrong) => Ok(failures::of_text(py, &wrong)?.unbind()),
        }
    }
    /// Warnings.
    fn diagnostics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        failures::diagnostics(py, self.program.report())
    }
    /// Warnings as text for people.
    fn warnings(&self) -> String {
        self.program.report().text(false)
    }
}
