//! Functions of Python, called from KL1: a pool of threads runs them, so that no worker waits for the interpreter's
//! lock.

use crate::SLICE;
use crate::convert::{to_python, to_value};
use base::{lock, unpoisoned};
use engine::functions::{Answer, exception};
use engine::{Functions, Value};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex};

/// Functions of a session that run at the same time, at most.
const THREADS_MAX: usize = 32;

/// How many functions of all sessions run. The interpreter ends threads that wait for its lock when it ends, and none
/// may be ended in the middle of this crate: so it waits for these before.
static RUNNING: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

/// A function runs.
struct Running;

impl Running {
    fn new() -> Running {
        *lock(&RUNNING.0) += 1;
        Running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        *lock(&RUNNING.0) -= 1;
        RUNNING.1.notify_all();
    }
}

/// Waits for the functions that run, of sessions that have ended; an error if a signal says otherwise.
pub(crate) fn await_all(py: Python<'_>) -> PyResult<()> {
    while py.detach(|| {
        let waited = RUNNING.1.wait_timeout_while(lock(&RUNNING.0), SLICE, |running| *running > 0);
        unpoisoned(waited).1.timed_out()
    }) {
        py.check_signals()?;
    }
    Ok(())
}

/// A call that waits for a thread.
struct Job {
    function: Vec<u8>,
    arguments: Value,
    answer: Answer,
}

/// The functions of a session, and the threads that run them.
pub(crate) struct Pool(Arc<Shared>);

struct Shared {
    /// By their names.
    functions: Py<PyDict>,
    work: Mutex<Work>,
    changed: Condvar,
}

#[derive(Default)]
struct Work {
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
    /// The session has ended.
    ended: bool,
}

impl Pool {
    pub(crate) fn new(functions: Py<PyDict>) -> Pool {
        Pool(Arc::new(Shared { functions, work: Mutex::default(), changed: Condvar::new() }))
    }
}

impl Functions for Pool {
    fn begin(&self, function: Vec<u8>, arguments: Value, answer: Answer) {
        let mut work = lock(&self.0.work);
        work.jobs.push_back(Job { function, arguments, answer });
        if work.jobs.len() <= work.idle || work.threads == THREADS_MAX {
            self.0.changed.notify_one();
            return;
        }
        let shared = self.0.clone();
        let thread = std::thread::Builder::new().name("fifth-python".into()).spawn(move || shared.serve());
        match thread {
            Ok(_) => work.threads += 1,
            // Another one takes it, or else nobody can: its answer says so when it is dropped.
            Err(_) if work.threads == 0 => drop(work.jobs.pop_back()),
            Err(_) => {}
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let mut work = lock(&self.0.work);
        work.ended = true;
        let left = std::mem::take(&mut work.jobs);
        drop(work);
        self.0.changed.notify_all();
        drop(left);
    }
}

impl Shared {
    /// What a thread does until the session has ended.
    fn serve(&self) {
        let mut work = lock(&self.work);
        loop {
            if let Some(job) = work.jobs.pop_front() {
                drop(work);
                let running = Running::new();
                // Where the interpreter ends, nobody answers any more.
                let _ = Python::try_attach(|py| self.run(py, job));
                drop(running);
                work = lock(&self.work);
            } else if work.ended {
                return;
            } else {
                work.idle += 1;
                work = unpoisoned(self.changed.wait(work));
                work.idle -= 1;
            }
        }
    }
    fn run(&self, py: Python<'_>, job: Job) {
        let Job { function, arguments, answer } = job;
        let called = self.call(py, &String::from_utf8_lossy(&function), &arguments);
        answer.give(called.map_err(|raised| {
            let class =
                raised.get_type(py).name().map_or_else(|_| "Exception".into(), |name| name.to_string());
            let text =
                raised.value(py).str().map_or_else(|_| String::new(), |text| text.to_string_lossy().into());
            exception(&class, &text)
        }));
    }
    fn call(&self, py: Python<'_>, name: &str, arguments: &Value) -> PyResult<Value> {
        let Some(function) = self.functions.bind(py).get_item(name)? else {
            let text =
                format!("there is no function {name}: functions= of the program or session has none such");
            return Err(pyo3::exceptions::PyLookupError::new_err(text));
        };
        let arguments = to_python(py, arguments, false)?.cast_into::<PyList>().map_err(PyErr::from)?;
        let given = function.call1(arguments.to_tuple())?;
        if given.is_none() { Ok(Value::list([])) } else { to_value(&given) }
    }
}
