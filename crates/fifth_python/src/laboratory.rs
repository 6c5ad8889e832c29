//! Experiments of the laboratory that run in this process.

use crate::SLICE;
use lab::report::{Cell, Report};
use lab::{Config, EXPERIMENTS, Experiment, Finished, Host, Job, Scale};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};

/// The stack of an experiment, as large as that of a process's first thread usually is.
const STACK_BYTES: usize = 8 << 20;

/// What an experiment asks for: there are no processes here.
#[derive(Clone, Default)]
struct Here {
    /// It wants a program to be run.
    wants_programs: Arc<AtomicBool>,
    /// Nobody waits for it any more.
    left: Arc<AtomicBool>,
}

impl Host for Here {
    fn run(&mut self, job: &Job) -> Result<Finished, String> {
        let _ = job;
        self.wants_programs.store(true, Ordering::Relaxed);
        Err("this experiment runs programs in processes of their own, which the command `fifth lab run` does"
            .into())
    }
    /// An experiment that nobody waits for ends here.
    fn progress(&mut self, _part: usize, _parts: usize, _what: &str) {
        if self.left.load(Ordering::Relaxed) {
            // No panic: nothing is said, and its thread ends.
            std::panic::resume_unwind(Box::new("nobody waits for the experiment"));
        }
    }
    fn machine(&self) -> String {
        "this process".into()
    }
}

/// Name, title, source and description of each experiment.
#[pyfunction]
pub(crate) fn experiments() -> Vec<(&'static str, &'static str, &'static str, &'static str)> {
    let told = |experiment: &Experiment| {
        let Experiment { name, title, source, about, .. } = *experiment;
        (name, title, source, about)
    };
    EXPERIMENTS.iter().map(told).collect()
}

/// A number without decimals is an integer where it is one.
fn number<'py>(py: Python<'py>, value: f64, decimals: usize) -> PyResult<Bound<'py, PyAny>> {
    let whole = decimals == 0 && value.fract() == 0.0 && value.abs() < 2f64.powi(53);
    Ok(if whole { PyInt::new(py, value as i64).into_any() } else { PyFloat::new(py, value).into_any() })
}

fn cell<'py>(py: Python<'py>, cell: &Cell) -> PyResult<Bound<'py, PyAny>> {
    match cell {
        Cell::Text(text) => Ok(PyString::new(py, text).into_any()),
        &(Cell::Key(value, decimals)
        | Cell::Measured(value, decimals)
        | Cell::Published(value, decimals)
        | Cell::Input(value, decimals)
        | Cell::Fitted(value, decimals)
        | Cell::Derived(value, decimals)) => number(py, value, decimals),
        Cell::Finding(_, holds) => Ok(PyBool::new(py, *holds).to_owned().into_any()),
        Cell::NotModelled(_) | Cell::Absent => Ok(py.None().into_bound(py)),
    }
}

fn told<'py>(py: Python<'py>, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    let tables = PyList::empty(py);
    for table in &report.tables {
        let rows = PyList::empty(py);
        for row in &table.rows {
            let values = PyDict::new(py);
            for (head, value) in table.columns.iter().zip(row) {
                values.set_item(head, cell(py, value)?)?;
            }
            rows.append(values)?;
        }
        let all = PyDict::new(py);
        all.set_item("id", &table.id)?;
        all.set_item("title", &table.title)?;
        all.set_item("note", &table.note)?;
        all.set_item("rows", rows)?;
        tables.append(all)?;
    }
    let all = PyDict::new(py);
    all.set_item("name", &report.name)?;
    all.set_item("title", &report.title)?;
    all.set_item("source", &report.source)?;
    all.set_item("about", &report.about)?;
    all.set_item("notes", &report.notes)?;
    all.set_item("tables", tables)?;
    Ok(all)
}

/// The report that the command has written as JSON.
#[pyfunction]
pub(crate) fn read_report<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyDict>> {
    let report = serde_json::from_str::<Report>(text).map_err(|error| error.to_string());
    let report = report.and_then(|report| report.checked().map_err(|wrong| wrong.to_string()));
    told(py, &report.map_err(PyValueError::new_err)?)
}

/// Runs an experiment: its report; `None` if it runs programs, which the command does. After a signal its thread ends
/// with the part of the experiment that it is in.
#[pyfunction]
pub(crate) fn run_experiment<'py>(
    py: Python<'py>,
    name: &str,
    small: bool,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Some(experiment) = lab::find(name) else {
        return Err(PyValueError::new_err(format!(
            "there is no experiment {name}: see fifth.lab.experiments()"
        )));
    };
    let scale = if small { Scale::Small } else { Scale::Full };
    let config = Config { workers: vec![1], nodes: vec![1], runs: 1, scale };
    let (answer, answered) = mpsc::channel();
    let host = Here::default();
    let mut theirs = host.clone();
    let work = move || _ = answer.send((experiment.run)(experiment, &mut theirs, &config));
    std::thread::Builder::new().name("fifth-lab".into()).stack_size(STACK_BYTES).spawn(work)?;
    let answered = Mutex::new(answered);
    loop {
        match py.detach(|| base::lock(&answered).recv_timeout(SLICE)) {
            Ok(Ok(report)) => return told(py, &report).map(Some),
            Ok(Err(_)) if host.wants_programs.load(Ordering::Relaxed) => return Ok(None),
            Ok(Err(error)) => return Err(PyRuntimeError::new_err(format!("{name}: {error}"))),
            Err(RecvTimeoutError::Timeout) => {
                py.check_signals().inspect_err(|_| host.left.store(true, Ordering::Relaxed))?;
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err(format!("{name}: the experiment has a bug, and ended")));
            }
        }
    }
}
