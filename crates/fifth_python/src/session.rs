//! Sessions, their calls and their streams.

use crate::arrays::memory;
use crate::convert::{to_python, to_value};
use crate::functions::{Pool, await_all};
use crate::program::Program;
use crate::{ADDRESS_SPACE_BYTES, SLICE, failures};
use base::lock;
use engine::{Argument, Functions, Hooks, Interrupter, Settings, Sink};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

pyo3::create_exception!(
    fifth,
    ForkedError,
    PyRuntimeError,
    "A session is used in a child of the process that has it."
);

/// Items that go to Python at once.
const ITEMS_MAX: usize = 4096;

/// Something of the process that made it (Y2).
struct Here<T> {
    thing: Mutex<Option<T>>,
    process: u32,
}

impl<T> Here<T> {
    fn new(thing: T) -> Here<T> {
        Here { thing: Mutex::new(Some(thing)), process: std::process::id() }
    }
    fn check(&self) -> PyResult<()> {
        if self.process == std::process::id() {
            return Ok(());
        }
        let text = "a session does not follow a fork: start one in this process (multiprocessing: spawn, forkserver)";
        Err(ForkedError::new_err(text))
    }
    fn take(&self) -> PyResult<Option<T>> {
        self.check()?;
        Ok(lock(&self.thing).take())
    }
    /// Drops it where it was made, and forgets it elsewhere.
    fn end(&self) {
        let thing = lock(&self.thing).take();
        if self.process == std::process::id() {
            drop(thing);
        } else {
            std::mem::forget(thing);
        }
    }
}

impl<T> Drop for Here<T> {
    fn drop(&mut self) {
        self.end();
    }
}

/// A session, until it is closed. Whoever does something with it has a reference of its own meanwhile.
type Shared = Arc<Here<Arc<engine::Session>>>;

/// All that are open, or were.
static OPEN: Mutex<Vec<Weak<Here<Arc<engine::Session>>>>> = Mutex::new(Vec::new());

/// Ends all sessions of this process. Their threads may want the interpreter's lock to write, so they end before it.
#[pyfunction]
pub(crate) fn close_all(py: Python<'_>) -> PyResult<()> {
    let open = std::mem::take(&mut *lock(&OPEN));
    py.detach(|| open.iter().filter_map(Weak::upgrade).for_each(|shared| shared.end()));
    await_all(py)
}

/// Lets go of a session without the interpreter's lock: the last one ends it, and waits for its thread.
fn let_go(shared: Option<Shared>) {
    Python::attach(|py| py.detach(|| drop(shared)));
}

/// A program that stays on a node of its own.
#[pyclass(frozen, module = "fifth")]
pub struct Session {
    shared: Option<Shared>,
}

/// Hands what is written to a Python function that takes bytes.
fn sink(take: Option<Py<PyAny>>) -> Option<Sink> {
    let take = take?;
    Some(Sink::new(move |bytes| {
        Python::attach(|py| take.call1(py, (PyBytes::new(py, bytes),)).map(|_| ()))
            .map_err(std::io::Error::other)
    }))
}

impl Session {
    fn shared(&self) -> &Shared {
        self.shared.as_ref().expect("it is there until it is dropped")
    }
    fn session(&self) -> PyResult<Arc<engine::Session>> {
        self.shared().check()?;
        let session = lock(&self.shared().thing).clone();
        session.ok_or_else(|| PyRuntimeError::new_err("the session is closed"))
    }
}

#[pymethods]
impl Session {
    #[new]
    #[pyo3(signature = (program, workers, heap_limit, takes, args, functions))]
    fn start(
        py: Python<'_>,
        program: &Program,
        workers: Option<u32>,
        heap_limit: Option<u64>,
        takes: (Option<Py<PyAny>>, Option<Py<PyAny>>),
        args: Vec<Vec<u8>>,
        functions: Py<PyDict>,
    ) -> PyResult<Session> {
        let settings =
            Settings { workers, heap_limit, address_space: Some(ADDRESS_SPACE_BYTES), ..Settings::default() };
        let (stdout, stderr) = (sink(takes.0), sink(takes.1));
        let functions = Some(Arc::new(Pool::new(functions)) as Arc<dyn Functions>);
        let hooks = Hooks { arguments: args, stdout, stderr, functions, arrays: Some(memory()) };
        let started = py.detach(|| engine::Session::start(&program.program, &settings, hooks));
        let session = started.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        let shared = Arc::new(Here::new(Arc::new(session)));
        let mut open = lock(&OPEN);
        open.retain(|shared| shared.strong_count() > 0);
        open.push(Arc::downgrade(&shared));
        Ok(Session { shared: Some(shared) })
    }
    /// Begins a call. Of the arguments a [`Source`] is a list that is sent, a [`Drain`] one that is received, and
    /// `None` a variable whose value is a result.
    fn call(&self, module: &str, name: &str, arguments: &Bound<'_, PyTuple>) -> PyResult<Call> {
        let session = self.session()?;
        let arguments =
            arguments.iter().map(|argument| argument_of(&argument)).collect::<PyResult<Vec<_>>>()?;
        let call = session.call(module, name, arguments);
        let interrupter = call.interrupter();
        Ok(Call { call: Here::new(call), interrupter, shared: Some(self.shared().clone()) })
    }
    /// The two ends of a list that is sent.
    fn sender(&self) -> PyResult<(Sender, Source)> {
        let (sender, source) = self.session()?.sender();
        Ok((Sender { sender: Here::new(Arc::new(sender)) }, Source { source: Here::new(source) }))
    }
    /// The two ends of a list that is received.
    #[staticmethod]
    fn receiver() -> (Drain, Receiver) {
        let (drain, receiver) = engine::receiver();
        (Drain { drain: Here::new(drain) }, Receiver { receiver: Here::new(receiver) })
    }
    /// Adds the modules of a text: warnings, or a dictionary that says what is wrong.
    fn define(&self, py: Python<'_>, name: &str, text: &str) -> PyResult<Py<PyAny>> {
        let session = self.session()?;
        match py.detach(|| session.define(name, text)) {
            Ok(report) => Ok(failures::diagnostics(py, &report)?.unbind()),
            Err(wrong) => Ok(failures::of_text(py, &wrong)?.unbind()),
        }
    }
    /// Ends the call that runs.
    fn interrupt(&self) -> PyResult<()> {
        self.session()?.interrupt();
        Ok(())
    }
    /// The goals that wait in the call that runs.
    fn waiting<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let session = self.session()?;
        let waiting = py.detach(|| session.snapshot());
        failures::waiting(py, &waiting)
    }
    /// Ends it; a call that runs is interrupted.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.shared().end());
    }
}

fn argument_of(argument: &Bound<'_, PyAny>) -> PyResult<Argument> {
    let used = || PyTypeError::new_err("this end of a list was given to a call before");
    if argument.is_none() {
        return Ok(Argument::Out);
    }
    if let Ok(source) = argument.cast::<Source>() {
        return source.get().source.take()?.map(Argument::From).ok_or_else(used);
    }
    if let Ok(drain) = argument.cast::<Drain>() {
        return drain.get().drain.take()?.map(Argument::To).ok_or_else(used);
    }
    Ok(Argument::In(to_value(argument)?))
}

/// A call that was begun.
#[pyclass(frozen, module = "fifth")]
pub struct Call {
    call: Here<engine::Call>,
    interrupter: Interrupter,
    /// Its session lives as long as the call, unless it is closed.
    shared: Option<Shared>,
}

#[pymethods]
impl Call {
    /// Its values, or a dictionary that says why there are none; `None`: the time is over, and it goes on. Once.
    fn wait<'py>(
        &self,
        py: Python<'py>,
        seconds: Option<f64>,
        raw: bool,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let taken = self.call.take()?;
        let mut call =
            taken.ok_or_else(|| PyRuntimeError::new_err("this call has been waited for, or is being"))?;
        // What is no time is no end.
        let end = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds.max(0.0)).ok());
        let end = end.and_then(|time| Instant::now().checked_add(time));
        let answer = loop {
            let left = end.map_or(SLICE, |end| SLICE.min(end.saturating_duration_since(Instant::now())));
            let waited;
            (call, waited) = py.detach(move || {
                let waited = call.wait_for(left);
                (call, waited)
            });
            if let Some(answer) = waited {
                break answer;
            }
            if let Err(signal) = py.check_signals() {
                self.interrupt()?;
                // Y1: the run ends at its next safe point, and nothing of this call is heard later.
                let _ = py.detach(move || call.wait());
                return Err(signal);
            }
            if end.is_some_and(|end| Instant::now() >= end) {
                *lock(&self.call.thing) = Some(call);
                return Ok(None);
            }
        };
        match answer {
            Ok(values) => {
                let values =
                    values.iter().map(|value| to_python(py, value, raw)).collect::<PyResult<Vec<_>>>()?;
                Ok(Some(PyList::new(py, values)?.into_any()))
            }
            Err(failure) => Ok(Some(failures::of_call(py, &failure)?)),
        }
    }
    /// Ends it, be it that it runs or that it waits for its turn.
    fn interrupt(&self) -> PyResult<()> {
        self.call.check()?;
        self.interrupter.interrupt();
        Ok(())
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let_go(self.shared.take());
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let_go(self.shared.take());
    }
}

/// Puts items into a list that a call reads.
#[pyclass(frozen, module = "fifth")]
pub struct Sender {
    sender: Here<Arc<engine::Sender>>,
}

/// A list that a [`Sender`] makes, as an argument of a call.
#[pyclass(frozen, module = "fifth")]
pub(crate) struct Source {
    source: Here<engine::Source>,
}

#[pymethods]
impl Sender {
    /// Adds the items of an iterable. False: the session has ended, or the list.
    fn send_all(&self, py: Python<'_>, items: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.sender.check()?;
        let Some(sender) = lock(&self.sender.thing).clone() else { return Ok(false) };
        for item in items.try_iter()? {
            let mut item = to_value(&item?)?;
            let mut wait = Duration::ZERO;
            loop {
                let sent = if wait.is_zero() {
                    sender.send_within(item, wait)
                } else {
                    py.detach(|| sender.send_within(item, wait))
                };
                match sent {
                    Err(engine::Closed) => return Ok(false),
                    Ok(None) => break,
                    Ok(Some(back)) => item = back,
                }
                py.check_signals()?;
                wait = SLICE;
            }
        }
        Ok(true)
    }
    /// Ends the list.
    fn close(&self) {
        self.sender.end();
    }
}

/// Takes the items of a list that a call makes.
#[pyclass(frozen, module = "fifth")]
pub struct Receiver {
    receiver: Here<engine::Receiver>,
}

/// A list that a [`Receiver`] reads, as an argument of a call.
#[pyclass(frozen, module = "fifth")]
pub(crate) struct Drain {
    drain: Here<engine::Drain>,
}

#[pymethods]
impl Receiver {
    /// Nobody reads on.
    fn close(&self) {
        self.receiver.end();
    }
    /// The next items, one at least, when they are complete; `None` at the end of the list, or of the call.
    fn receive<'py>(&self, py: Python<'py>, raw: bool) -> PyResult<Option<Bound<'py, PyList>>> {
        let taken = self.receiver.take()?;
        let mut receiver = taken
            .ok_or_else(|| PyRuntimeError::new_err("this list is closed, or another thread waits for it"))?;
        let items = loop {
            let received;
            (receiver, received) = py.detach(move || {
                let mut items = Vec::new();
                let mut wait = SLICE;
                while items.len() < ITEMS_MAX {
                    match receiver.receive_within(wait) {
                        Ok(Some(item)) => items.push(item),
                        Ok(None) if items.is_empty() => return (receiver, None),
                        Ok(None) | Err(engine::Late) => break,
                    }
                    wait = Duration::ZERO;
                }
                (receiver, Some(items))
            });
            match received {
                None => break None,
                Some(items) if !items.is_empty() => break Some(items),
                Some(_) => {}
            }
            if let Err(signal) = py.check_signals() {
                *lock(&self.receiver.thing) = Some(receiver);
                return Err(signal);
            }
        };
        *lock(&self.receiver.thing) = Some(receiver);
        let Some(items) = items else { return Ok(None) };
        let all = PyList::empty(py);
        for item in items {
            match item {
                Ok(value) => all.append(to_python(py, &value, raw)?)?,
                Err(unfit) => {
                    let told = failures::of_call(py, &engine::Failure::Unfit(unfit))?;
                    return Err(PyRuntimeError::new_err(told.get_item("text")?.unbind()));
                }
            }
        }
        Ok(Some(all))
    }
}
