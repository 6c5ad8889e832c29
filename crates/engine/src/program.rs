//! Compiled programs, which any number of sessions may run.

use crate::callers::Calls;
use crate::compile::{self, Wanted};
use crate::error::Error;
use crate::foreign::Libraries;
use crate::front::Front;
use crate::machine::Compiled;
use crate::render::diagnostics::ordered;
use crate::settings::Settings;
use crate::sources::{Files, Read};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use syntax::diagnostic::Diagnostic;
use syntax::source::SourceMap;
use term::AtomTable;

/// A program as code, with what a run of it is told from. Copies share it, and any thread may have one.
#[derive(Clone)]
pub struct Program(Arc<Whole>);

struct Whole {
    atoms: Arc<AtomTable>,
    compiled: Compiled,
    calls: Calls,
    report: Report,
    libraries: Libraries,
}

/// What is wrong with a program text, with that text.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) sources: SourceMap,
}

/// Why there is no program.
#[derive(Debug)]
pub enum NotCompiled {
    /// Its text has errors.
    Wrong(Report),
    /// Something else: a file that cannot be read, most often.
    Not(Error),
}

impl Report {
    pub(crate) fn of(read: Read) -> Report {
        Report { diagnostics: read.diagnostics, sources: read.sources }
    }
    /// Errors and warnings, as they were found.
    pub fn list(&self) -> &[Diagnostic] {
        &self.diagnostics
    }
    /// Errors and warnings, in the order of the text.
    pub fn diagnostics(&self) -> Vec<&Diagnostic> {
        ordered(&self.diagnostics)
    }
    /// The texts that they are about.
    pub fn sources(&self) -> &SourceMap {
        &self.sources
    }
    /// As text for people.
    pub fn text(&self, colored: bool) -> String {
        crate::render::diagnostics::for_people(&self.diagnostics, &self.sources, colored)
    }
    /// As JSON objects, one a line.
    pub fn json(&self) -> String {
        crate::render::diagnostics::as_json(&self.diagnostics, &self.sources)
    }
}

impl fmt::Display for NotCompiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotCompiled::Wrong(report) => f.write_str(report.text(false).trim_end()),
            NotCompiled::Not(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for NotCompiled {}

impl From<Error> for NotCompiled {
    fn from(error: Error) -> NotCompiled {
        NotCompiled::Not(error)
    }
}

impl Program {
    /// Compiles these files, and the modules that they call. All predicates of theirs can be called. Its code is good
    /// for any number of workers; of the settings it depends on whether reductions are counted.
    pub fn compile(
        settings: &Settings,
        paths: &[PathBuf],
        files: &dyn Files,
    ) -> Result<Program, NotCompiled> {
        Program::compile_with(settings, paths, files, Libraries::default())
    }
    /// The same of a program that these libraries give predicates to.
    pub fn compile_with(
        settings: &Settings,
        paths: &[PathBuf],
        files: &dyn Files,
        libraries: Libraries,
    ) -> Result<Program, NotCompiled> {
        let front = Front::with(libraries.clone());
        let mut read = compile::read(&front, paths, files, true).map_err(Error::from)?;
        let Some(program) = compile::compile(&front, &mut read, Wanted::Everything) else {
            return Err(NotCompiled::Wrong(Report::of(read)));
        };
        let compiled = Compiled::generate(program, &front.builtins, &settings.code(false), read.library)?;
        let (atoms, calls) = (front.atoms.clone(), Calls::of(&read, &front.atoms));
        Ok(Program(Arc::new(Whole { atoms, compiled, calls, report: Report::of(read), libraries })))
    }
    /// Warnings, and the texts.
    pub fn report(&self) -> &Report {
        &self.0.report
    }
    pub(crate) fn atoms(&self) -> &Arc<AtomTable> {
        &self.0.atoms
    }
    pub(crate) fn libraries(&self) -> &Libraries {
        &self.0.libraries
    }
    pub(crate) fn compiled(&self) -> &Compiled {
        &self.0.compiled
    }
    pub(crate) fn calls(&self) -> &Calls {
        &self.0.calls
    }
}
