//! Compiled programs.

use crate::failures;
use engine::sources::TEXT_BYTES_MAX;
use engine::{Files, Settings, Texts};
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A program as code, which any number of sessions may run.
#[pyclass(frozen, module = "fifth")]
pub struct Program {
    pub(crate) program: engine::Program,
}

/// Files of the disk, and texts in memory, which come first.
pub(crate) struct Sources {
    pub(crate) texts: Texts,
}

impl Files for Sources {
    fn read(&self, path: &Path) -> Result<Vec<u8>, String> {
        if self.texts.has(path) {
            return self.texts.read(path);
        }
        let mut text = Vec::new();
        std::fs::File::open(path)
            .and_then(|file| file.take(TEXT_BYTES_MAX + 1).read_to_end(&mut text))
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        Ok(text)
    }
    fn has(&self, path: &Path) -> bool {
        self.texts.has(path) || path.is_file()
    }
}

#[pymethods]
impl Program {
    /// Compiles files, and a text under a name: the program, or a dictionary that says what is wrong.
    #[staticmethod]
    fn compile(
        py: Python<'_>,
        mut paths: Vec<PathBuf>,
        text: Option<(String, Vec<u8>)>,
    ) -> PyResult<Py<PyAny>> {
        let mut texts = Texts::default();
        if let Some((name, text)) = text {
            texts.add(&name, text);
            paths.push(name.into());
        }
        let files = Sources { texts };
        let compiled = py.detach(|| engine::Program::compile(&Settings::default(), &paths, &files));
        match compiled {
            Ok(program) => Ok(Py::new(py, Program { program })?.into_any()),
            Err(wrong) => Ok(failures::of_text(py, &wrong)?.into_any().unbind()),
        }
    }
    /// Warnings.
    fn diagnostics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        failures::diagnostics(py, self.program.report())
    }
    /// Warnings as text for people.
    fn warnings(&self) -> String {
        self.program.report().text(false)
    }
}
