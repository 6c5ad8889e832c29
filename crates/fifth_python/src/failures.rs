//! What goes wrong, as dictionaries, of which the package's Python part makes exceptions.

use engine::{Failure, NotCompiled};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use runtime::outcome::{RunOutcome, SuspendedGoal, Waiting};
use syntax::diagnostic::Severity;

/// Why a call gave no values.
pub(crate) fn of_call<'py>(py: Python<'py>, failure: &Failure) -> PyResult<Bound<'py, PyDict>> {
    let told = PyDict::new(py);
    told.set_item("text", failure.to_string())?;
    let kind = match failure {
        Failure::Undefined(_) => "undefined",
        Failure::Unfit(_) => "unfit",
        Failure::Poisoned(_) => "poisoned",
        Failure::Ended { outcome, .. } => match outcome {
            RunOutcome::Success => "success",
            RunOutcome::Exit(status) => {
                told.set_item("status", status)?;
                "exit"
            }
            RunOutcome::Deadlock { goals, count } => {
                told.set_item("goals", goals_of(py, goals)?)?;
                told.set_item("count", count)?;
                "deadlock"
            }
            RunOutcome::Failed(error) => {
                told.set_item("error", format!("{:?}", error.kind))?;
                told.set_item("message", &error.message)?;
                told.set_item("goal", &error.goal.text)?;
                told.set_item("file", &error.file)?;
                told.set_item("line", error.line)?;
                told.set_item("goals", goals_of(py, &error.waiting.goals)?)?;
                told.set_item("count", error.waiting.count)?;
                "failed"
            }
        },
    };
    told.set_item("kind", kind)?;
    Ok(told)
}

/// Goals that wait.
pub(crate) fn waiting<'py>(py: Python<'py>, waiting: &Waiting) -> PyResult<Bound<'py, PyList>> {
    goals_of(py, &waiting.goals)
}

fn goals_of<'py>(py: Python<'py>, goals: &[SuspendedGoal]) -> PyResult<Bound<'py, PyList>> {
    let all = PyList::empty(py);
    for goal in goals {
        let told = PyDict::new(py);
        told.set_item("goal", &goal.goal.text)?;
        told.set_item("waits_for", &goal.waits_for)?;
        told.set_item("outside", &goal.outside)?;
        told.set_item("file", &goal.file)?;
        told.set_item("line", goal.line)?;
        told.set_item("holder", goal.holder)?;
        all.append(told)?;
    }
    Ok(all)
}

/// Why there is no program.
pub(crate) fn of_text<'py>(py: Python<'py>, wrong: &NotCompiled) -> PyResult<Bound<'py, PyDict>> {
    let told = PyDict::new(py);
    told.set_item("text", wrong.to_string())?;
    let list = match wrong {
        NotCompiled::Wrong(report) => {
            told.set_item("kind", "text")?;
            diagnostics(py, report)?
        }
        NotCompiled::Not(_) => {
            told.set_item("kind", "other")?;
            PyList::empty(py)
        }
    };
    told.set_item("diagnostics", list)?;
    Ok(told)
}

/// What is wrong with a text, or seems to be.
pub(crate) fn diagnostics<'py>(py: Python<'py>, report: &engine::Report) -> PyResult<Bound<'py, PyList>> {
    let all = PyList::empty(py);
    for diagnostic in report.diagnostics() {
        let told = PyDict::new(py);
        let (line, column) = report.sources().line_column(diagnostic.span.file, diagnostic.span.start);
        let is_error = matches!(diagnostic.severity, Severity::Error);
        told.set_item("severity", if is_error { "error" } else { "warning" })?;
        told.set_item("code", diagnostic.code)?;
        told.set_item("message", &diagnostic.message)?;
        told.set_item("file", &report.sources().file(diagnostic.span.file).name)?;
        told.set_item("line", line)?;
        told.set_item("column", column)?;
        told.set_item("notes", &diagnostic.notes)?;
        told.set_item("help", &diagnostic.help)?;
        all.append(told)?;
    }
    Ok(all)
}
