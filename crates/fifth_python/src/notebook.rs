//! The native part of the notebook's kernel: the REPL's core in a thread of its own, to which cells are given.

use crate::{ADDRESS_SPACE_BYTES, SLICE, failures};
use base::lock;
use engine::interactive::{Binding, Interactive, Leave, Said};
use engine::{Settings, Sink, Texts};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use runtime::node::Rouser;
use runtime::outcome::{RunOutcome, Waiting};
use runtime::waker::Waker;
use std::path::Path;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use syntax::diagnostic::Severity;
use syntax::lexer::{Scanned, TermScanner};

/// The stack of the thread, which compiles, too.
const STACK_BYTES: usize = 8 << 20;

/// A Python function that takes what is to be shown: its kind, and its bytes.
type Emit = Arc<Py<PyAny>>;

fn emit(emit: &Emit, kind: &str, bytes: &[u8]) -> std::io::Result<()> {
    Python::attach(|py| emit.call1(py, (kind, PyBytes::new(py, bytes))).map(|_| ()))
        .map_err(std::io::Error::other)
}

/// What the thread has.
struct State {
    interactive: Interactive,
    emit: Emit,
    texts: Arc<Mutex<Texts>>,
    /// The goals that waited when somebody asked last, or at the end of the last query.
    waiting: Arc<Mutex<Waiting>>,
    /// Something was wrong since somebody looked last.
    wrong: bool,
}

type Task = Box<dyn FnOnce(&mut State) + Send>;

/// The REPL's core, with a thread of its own.
#[pyclass(frozen, module = "fifth")]
pub struct Notebook {
    tasks: Mutex<Option<mpsc::Sender<Task>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    waker: Waker,
    rouser: Arc<Rouser>,
    waiting: Arc<Mutex<Waiting>>,
    /// Shows what was written, in the thread that waits.
    drain: Py<PyAny>,
    process: u32,
}

/// Files, and texts that are added while the thread has them.
struct Shared {
    texts: Arc<Mutex<Texts>>,
}

impl engine::Files for Shared {
    fn read(&self, path: &Path) -> Result<Vec<u8>, String> {
        engine::Files::read(
            &engine::Overlay { texts: lock(&self.texts).clone(), read: base::read_at_most },
            path,
        )
    }
    fn has(&self, path: &Path) -> bool {
        lock(&self.texts).has(path) || path.is_file()
    }
}

impl State {
    fn start(settings: &Settings, to: Emit) -> Result<State, engine::Error> {
        let texts = Arc::<Mutex<Texts>>::default();
        let shown = to.clone();
        let show = move |binding: Binding<'_>| {
            let before = binding.name.map_or(String::new(), |name| format!("{name} = "));
            emit(&shown, "binding", &[before.as_bytes(), binding.value, b"\n"].concat())
        };
        let files = Shared { texts: texts.clone() };
        let mut interactive = Interactive::start(settings, Box::new(files), Box::new(show))?;
        let waiting = Arc::<Mutex<Waiting>>::default();
        let sinks = ["stdout", "stderr"].map(|kind| {
            let to = to.clone();
            Some(Sink::new(move |bytes| emit(&to, kind, bytes)))
        });
        let [stdout, stderr] = sinks;
        let node = interactive.machine().node();
        node.set_output(stdout, stderr);
        let asked = waiting.clone();
        node.report_to(Arc::new(move |goals| *lock(&asked) = goals.clone()));
        Ok(State { interactive, emit: to, texts, waiting, wrong: false })
    }
    fn does(
        &mut self,
        act: impl FnOnce(&mut Interactive, &mut dyn FnMut(Said)) -> Result<Option<Leave>, engine::Error>,
    ) -> Option<Leave> {
        let State { interactive, emit: to, waiting, wrong, .. } = self;
        let mut tell = |said: Said| {
            let (kind, text) = match said {
                Said::Wrong(report) => {
                    let error = report.list().iter().any(|one| one.severity == Severity::Error);
                    (if error { "error" } else { "note" }, report.text(false))
                }
                Said::Note(text) => (if text.starts_with("error:") { "error" } else { "note" }, text + "\n"),
                Said::Missing(name) => ("error", format!("error: there is no predicate {name}/0\n")),
                Said::Ended { outcome, text } => {
                    if let RunOutcome::Deadlock { goals, count } = outcome {
                        *lock(waiting) = Waiting { goals, count };
                    }
                    ("error", text)
                }
            };
            *wrong |= kind == "error";
            // A frontend that has gone has no interest in it.
            let _ = emit(to, kind, text.as_bytes());
        };
        match act(interactive, &mut tell) {
            Ok(leave) => leave,
            Err(error) => {
                tell(Said::Note(format!("error: {error}")));
                None
            }
        }
    }
    /// Entries, one after the other, until one is wrong: whether all are right, and the status of one that exits.
    fn enter(&mut self, mut text: &[u8]) -> (bool, Option<i32>) {
        self.wrong = false;
        *lock(&self.waiting) = Waiting::default();
        while let Scanned::Term(end) = TermScanner::new().scan(text, true) {
            let (entry, rest) = text.split_at(end);
            let entry = begin(entry).trim_ascii();
            text = rest;
            let left = self.does(|interactive, tell| interactive.enter(entry, tell));
            match left {
                Some(Leave::Exit(status)) => return (!self.wrong, Some(status)),
                Some(Leave::ReaderGone) => return (false, None),
                None if self.wrong => return (false, None),
                None => {}
            }
        }
        (true, None)
    }
}

/// What stands behind blanks and comments.
fn begin(mut text: &[u8]) -> &[u8] {
    loop {
        text = text.trim_ascii_start();
        let comment = if text.starts_with(b"%") {
            text.iter().position(|&byte| byte == b'\n')
        } else if text.starts_with(b"/*") {
            text.windows(2).skip(2).position(|two| two == b"*/").map(|at| at + 4)
        } else {
            return text;
        };
        text = &text[comment.unwrap_or(text.len())..];
    }
}

impl Notebook {
    fn interrupt_run(&self) {
        let _ = self.waker.interrupt();
        self.waker.wake();
        self.rouser.rouse();
    }
    /// Has the thread do something. A signal of the process interrupts the run, and is an exception when it has ended.
    fn ask<T: Send + 'static>(
        &self,
        py: Python<'_>,
        task: impl FnOnce(&mut State) -> T + Send + 'static,
    ) -> PyResult<T> {
        if self.process != std::process::id() {
            return Err(crate::session::ForkedError::new_err("a notebook's engine does not follow a fork"));
        }
        let (answer, answered) = mpsc::channel();
        let task: Task = Box::new(move |state| _ = answer.send(task(state)));
        if let Some(tasks) = &*lock(&self.tasks) {
            let _ = tasks.send(task);
        }
        let (mut signal, answered) = (None, Mutex::new(answered));
        loop {
            let waited = py.detach(|| lock(&answered).recv_timeout(SLICE));
            if let Err(raised) = self.drain.call0(py).and_then(|_| py.check_signals()) {
                signal = signal.or(Some(raised));
            }
            match waited {
                Ok(done) => return signal.map_or(Ok(done), Err),
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    return Err(PyRuntimeError::new_err("the engine has ended: start the notebook again"));
                }
            }
            if signal.is_some() {
                self.interrupt_run();
            }
        }
    }
    fn end(&self) {
        let (tasks, thread) = (lock(&self.tasks).take(), lock(&self.thread).take());
        if self.process != std::process::id() {
            std::mem::forget((tasks, thread));
            return;
        }
        drop(tasks);
        let Some(thread) = thread else { return };
        while !thread.is_finished() {
            self.interrupt_run();
            std::thread::park_timeout(std::time::Duration::from_millis(1));
        }
        // What it panicked with was told to those that waited.
        let _ = thread.join();
    }
}

#[pymethods]
impl Notebook {
    /// `emit` takes a kind (`stdout`, `stderr`, `binding`, `note`, `error`) and bytes, in a thread of the engine.
    /// `drain` is called now and then in a thread that waits.
    #[new]
    fn start(
        py: Python<'_>,
        emit: Py<PyAny>,
        drain: Py<PyAny>,
        workers: Option<u32>,
        heap_limit: Option<u64>,
    ) -> PyResult<Notebook> {
        let traces = true;
        let address_space = Some(ADDRESS_SPACE_BYTES);
        let settings = Settings { workers, heap_limit, traces, address_space, ..Settings::default() };
        let (tasks, given) = mpsc::channel::<Task>();
        let (ready, started) = mpsc::channel();
        let emit = Arc::new(emit);
        let work = move || {
            let made = State::start(&settings, emit).and_then(|mut state| {
                let waiting = state.waiting.clone();
                let node = state.interactive.machine().node();
                let rouser = node.rouser().map_err(|error| engine::Error::System(error.to_string()))?;
                let ends = (node.waker(), Arc::new(rouser), waiting);
                Ok((state, ends))
            });
            match made {
                Ok((mut state, ends)) => {
                    if ready.send(Ok(ends)).is_ok() {
                        given.into_iter().for_each(|task| task(&mut state));
                    }
                }
                Err(error) => _ = ready.send(Err(error.to_string())),
            }
        };
        let thread = std::thread::Builder::new().name("fifth-notebook".into()).stack_size(STACK_BYTES);
        let thread = thread.spawn(work)?;
        let started = Mutex::new(started);
        let ready = py.detach(|| lock(&started).recv());
        let ready = ready.unwrap_or_else(|_| Err("the engine has a bug, and did not start".into()));
        let (waker, rouser, waiting) = ready.map_err(PyRuntimeError::new_err)?;
        let (tasks, thread) = (Mutex::new(Some(tasks)), Mutex::new(Some(thread)));
        Ok(Notebook { tasks, thread, waker, rouser, waiting, drain, process: std::process::id() })
    }
    /// Enters clauses and goals, until one is wrong: whether all are right, and the status that one wants to exit with.
    fn enter(&self, py: Python<'_>, text: Vec<u8>) -> PyResult<(bool, Option<i32>)> {
        self.ask(py, move |state| state.enter(&text))
    }
    /// Adds the modules of a text, or replaces those of the text of that name before: whether it is right.
    fn load(&self, py: Python<'_>, name: String, text: Vec<u8>) -> PyResult<bool> {
        self.ask(py, move |state| {
            state.wrong = false;
            lock(&state.texts).add(&name, text);
            state.does(|interactive, tell| interactive.load(Path::new(&name), tell).map(|()| None));
            !state.wrong
        })
    }
    /// Adds the modules of a file: whether it is right.
    fn load_file(&self, py: Python<'_>, path: std::path::PathBuf) -> PyResult<bool> {
        self.ask(py, move |state| {
            state.wrong = false;
            state.does(|interactive, tell| interactive.load(&path, tell).map(|()| None));
            !state.wrong
        })
    }
    /// The clauses, and the texts.
    fn listing(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        self.ask(py, |state| state.interactive.listing())
    }
    /// Forgets the clauses of a predicate, as `p/1`; false if there is none.
    fn forget(&self, py: Python<'_>, predicate: String) -> PyResult<bool> {
        self.ask(py, move |state| state.interactive.forget(&predicate))
    }
    /// Forgets everything.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        self.ask(py, |state| state.interactive.clear())
    }
    /// What names may begin with.
    fn names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.ask(py, |state| state.interactive.names())
    }
    /// What the workers did since this was last asked for, in the trace event format.
    fn trace(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        self.ask(py, |state| {
            let mut text = Vec::new();
            let tracks: Vec<_> = state.interactive.machine().node().take_trace().into_iter().collect();
            // Nothing that is written into memory fails.
            let _ = engine::timeline::write(&tracks, true, &mut text);
            text
        })
    }
    /// Asks the query that runs which goals wait.
    fn look(&self) {
        if self.waker.ask() {
            self.waker.wake();
            self.rouser.rouse();
        }
    }
    /// The goals that waited when somebody asked last in the last query, or at its end.
    fn waiting<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let waiting = lock(&self.waiting).clone();
        failures::waiting(py, &waiting)
    }
    /// Ends the query that runs.
    fn interrupt(&self) {
        self.interrupt_run();
    }
    /// Ends the engine.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.end());
    }
}

impl Drop for Notebook {
    fn drop(&mut self) {
        Python::attach(|py| py.detach(|| self.end()));
    }
}

/// What a frontend is to do with a cell when Enter is pressed: `complete`, or `incomplete`: an entry has no end yet.
#[pyfunction]
pub(crate) fn is_complete(text: &[u8]) -> &'static str {
    let mut text = text;
    while let Scanned::Term(end) = TermScanner::new().scan(text, true) {
        if !syntax::lexer::has_end(&text[..end]) {
            return "incomplete";
        }
        text = &text[end..];
    }
    "complete"
}
