//! Sessions: a program that stays on a node of its own, to be called from any thread.
//!
//! A session owns one thread, which has the node; others send it commands. Calls run one after the other, each as a run
//! of its own: what one leaves behind is forgotten.
//!
//! Invariants:
//! - P1 After a panic in the engine's thread nothing is answered any more: whoever waits, and whoever calls later, gets
//!   [`Failure::Poisoned`].
//! - P2 An interrupt ends one call, whether it runs yet or not: the one that it names, or of a session the first that
//!   was begun and has not ended. A call that has its result already keeps it, and the next one is not hit.

mod turns;

pub use turns::Interrupter;

use crate::callers::Callers;
use crate::compile::{self, Wanted};
use crate::error::Error;
use crate::functions::{self, Functions};
use crate::machine::Machine;
use crate::program::{NotCompiled, Program, Report};
use crate::render::endings::{Texts as Quoted, file_line, nth_line, outcome};
use crate::settings::Settings;
use crate::sources::Texts;
use crate::streams::{Doorbell, Drain, Lists, Mailbox, Sender, Source, Streams};
use crate::value::{Unfit, Value};
use arrays::Arrays;
use base::lock;
use runtime::builtins::io::Sink;
use runtime::outcome::{ErrorKind, RunOutcome, Waiting};
use runtime::worker::WORKERS_MAX;
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;
use term::Atom;
use turns::Turns;

/// The stack of an engine's thread, which compiles, too.
const STACK_BYTES: usize = 8 << 20;

/// What a session's program finds around it. Where output goes: `None` is the descriptor of the process.
#[derive(Default)]
pub struct Hooks {
    /// What `unix:argv` answers.
    pub arguments: Vec<Vec<u8>>,
    /// Standard output.
    pub stdout: Option<Sink>,
    /// Standard error.
    pub stderr: Option<Sink>,
    /// What `python:call` calls.
    pub functions: Option<Arc<dyn Functions>>,
    /// Memory of arrays that the program shares with whoever starts it; what it makes there ends with the session.
    pub arrays: Option<Arrays>,
}

/// An argument of a call.
pub enum Argument {
    /// A value.
    In(Value),
    /// A list whose items are sent.
    From(Source),
    /// A variable, whose value the call gives back.
    Out,
    /// A variable that becomes a list, whose items are received.
    To(Drain),
}

impl From<Value> for Argument {
    fn from(value: Value) -> Argument {
        Argument::In(value)
    }
}

/// Why a call gives no values.
#[derive(Clone, Debug)]
pub enum Failure {
    /// There is no such predicate: `module:name/arity`.
    Undefined(String),
    /// The run ended otherwise than well: the outcome, and what is said about it to people.
    Ended {
        /// An error, a deadlock, or a request to exit.
        outcome: RunOutcome,
        /// As a command shows it; empty for a request to exit.
        text: String,
    },
    /// A value that the call was to give back is too large, or infinite.
    Unfit(Unfit),
    /// The engine's thread panicked (a bug), or the session has ended.
    Poisoned(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Undefined(name) => write!(f, "there is no predicate {name}"),
            Failure::Ended { outcome: RunOutcome::Exit(status), .. } => {
                write!(f, "the program asked to exit with status {status}")
            }
            Failure::Ended { text, .. } => f.write_str(text.trim_end()),
            Failure::Unfit(Unfit::Large) => f.write_str("a value is too large to be given back"),
            Failure::Unfit(Unfit::Infinite) => f.write_str("a value contains itself"),
            Failure::Poisoned(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Failure {}

type Answer = Result<Vec<Value>, Failure>;

/// A call that was begun.
pub struct Call {
    answer: mpsc::Receiver<Answer>,
    poison: Poison,
    interrupter: Interrupter,
}

impl Call {
    /// What ends it, while somebody waits for it.
    pub fn interrupter(&self) -> Interrupter {
        self.interrupter.clone()
    }
    /// Waits for its end: the values of its [`Argument::Out`]s, in order. What has no value is a variable.
    pub fn wait(self) -> Answer {
        self.answer.recv().unwrap_or_else(|_| Err(self.poison.failure()))
    }
    /// The same within a time; `None`: it goes on. After an answer there is no other.
    pub fn wait_for(&mut self, time: Duration) -> Option<Answer> {
        match self.answer.recv_timeout(time) {
            Ok(answer) => Some(answer),
            Err(mpsc::RecvTimeoutError::Timeout) => None,
            Err(mpsc::RecvTimeoutError::Disconnected) => Some(Err(self.poison.failure())),
        }
    }
    /// Its end, if it has come.
    pub fn poll(&mut self) -> Option<Answer> {
        self.wait_for(Duration::ZERO)
    }
}

/// What made the engine's thread end.
#[derive(Clone, Default)]
struct Poison(Arc<Mutex<Option<String>>>);

impl Poison {
    fn set(&self, panic: &(dyn Any + Send)) {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no reason is known");
        *lock(&self.0) = Some(format!("the engine has a bug, and this session cannot go on: {text}"));
    }
    fn failure(&self) -> Failure {
        let text = lock(&self.0).clone();
        Failure::Poisoned(text.unwrap_or_else(|| "the session has ended".into()))
    }
}

/// What the engine's thread is to do. False: it panicked.
type Task = Box<dyn FnOnce(&mut Engine) -> bool + Send>;

/// A program that stays on a node of its own.
pub struct Session {
    tasks: Option<mpsc::Sender<Task>>,
    thread: Option<JoinHandle<()>>,
    poison: Poison,
    bell: Doorbell,
    mailbox: Mailbox,
    asking: Asking,
    closing: Arc<AtomicBool>,
    turns: Arc<Mutex<Turns>>,
}

/// Where what waits is to be told, once.
type Asking = Arc<Mutex<Vec<mpsc::Sender<Waiting>>>>;

/// What the engine's thread has.
struct Engine {
    machine: Machine,
    settings: Settings,
    program: Program,
    /// What was defined later.
    defined: Vec<Report>,
    lists: Arc<Mutex<Lists>>,
    mailbox: Mailbox,
    asking: Asking,
    closing: Arc<AtomicBool>,
    turns: Arc<Mutex<Turns>>,
    bell: Doorbell,
}

impl Session {
    /// Starts a session on one node of this process. Nothing of the process is changed but that it has more threads and
    /// maps address space ([`Settings::address_space`]).
    pub fn start(program: &Program, settings: &Settings, hooks: Hooks) -> Result<Session, Error> {
        if settings.node_count() > 1 || settings.simulate.is_some() {
            return Err(Error::Settings("a session has one node, which is not simulated".into()));
        }
        if let Some(workers) =
            settings.workers.filter(|&workers| !(1..=WORKERS_MAX as u32).contains(&workers))
        {
            let text = format!("{workers} workers: a session has from 1 to {WORKERS_MAX}");
            return Err(Error::Settings(text));
        }
        let (tasks, given) = mpsc::channel::<Task>();
        let (mailbox, asking, closing) =
            (Mailbox::default(), Asking::default(), Arc::new(AtomicBool::new(false)));
        let (poison, (ready, started)) = (Poison::default(), mpsc::channel());
        let turns = Arc::<Mutex<Turns>>::default();
        let thread = {
            let (program, settings, poison) = (program.clone(), *settings, poison.clone());
            let (mailbox, asking, closing) = (mailbox.clone(), asking.clone(), closing.clone());
            let turns = turns.clone();
            let work = move || {
                let made = || Engine::new(program, settings, hooks, &mailbox, (asking, closing, turns));
                let made = catch_unwind(AssertUnwindSafe(made)).unwrap_or_else(|panic| {
                    poison.set(&*panic);
                    Err(Error::System(poison.failure().to_string()))
                });
                // Whoever starts the session waits for this.
                match made {
                    Ok((engine, bell)) => {
                        if ready.send(Ok(bell)).is_ok() {
                            serve(engine, given);
                        }
                    }
                    Err(error) => _ = ready.send(Err(error)),
                }
                mailbox.close();
            };
            std::thread::Builder::new().name("fifth-engine".into()).stack_size(STACK_BYTES).spawn(work)
        };
        let thread = thread
            .map_err(|error| Error::System(format!("the system refuses a thread for the engine: {error}")))?;
        let bell = started.recv().unwrap_or_else(|_| Err(Error::System(poison.failure().to_string())))?;
        Ok(Session {
            tasks: Some(tasks),
            thread: Some(thread),
            poison,
            bell,
            mailbox,
            asking,
            closing,
            turns,
        })
    }

    /// Has the engine's thread do something; what was asked before comes first.
    fn ask<T: Send + 'static>(
        &self,
        task: impl FnOnce(&mut Engine) -> T + Send + 'static,
    ) -> mpsc::Receiver<T> {
        let (answer, answered) = mpsc::channel();
        let poison = self.poison.clone();
        let task: Task = Box::new(move |engine| match catch_unwind(AssertUnwindSafe(|| task(engine))) {
            Ok(done) => {
                // Nobody may be interested any more.
                let _ = answer.send(done);
                true
            }
            Err(panic) => {
                poison.set(&*panic);
                false
            }
        });
        // If the thread has ended, the task is dropped, and with it the only sender of an answer.
        let _ = self.tasks.as_ref().expect("it is there until the session is dropped").send(task);
        answered
    }

    /// Begins a call of a predicate. Calls run in the order in which they were begun.
    pub fn call(&self, module: &str, name: &str, arguments: impl IntoIterator<Item = Argument>) -> Call {
        let arguments: Vec<Argument> = arguments.into_iter().collect();
        let (module, name) = (module.to_string(), name.to_string());
        // P2: it is counted before the engine's thread can have it, and calls run in the order of their numbers.
        let mut turns = lock(&self.turns);
        let interrupter =
            Interrupter { number: turns.begin(), turns: self.turns.clone(), bell: self.bell.clone() };
        let answer = self.ask(move |engine| {
            let answer = engine.call(&module, &name, arguments);
            engine.end_turn();
            answer
        });
        Call { answer, poison: self.poison.clone(), interrupter }
    }

    /// The two ends of a list: what is sent are the items of an argument ([`Argument::From`]) of one call.
    pub fn sender(&self) -> (Sender, Source) {
        self.mailbox.list(self.bell.clone())
    }

    /// Adds the modules of a text. Calls from now on, and what is defined later, find them; what was there before goes
    /// on calling what it called. Answers the warnings.
    pub fn define(&self, name: &str, text: &str) -> Result<Report, NotCompiled> {
        let (name, text) = (name.to_string(), text.to_string());
        let answered = self.ask(move |engine| engine.define(&name, &text));
        answered.recv().unwrap_or_else(|_| Err(Error::System(self.poison.failure().to_string()).into()))
    }

    /// Ends the call that runs, as Ctrl-C does, or the one that is to run next if it was begun: it answers a
    /// [`Failure::Ended`]. Does nothing if all calls have ended.
    pub fn interrupt(&self) {
        let mut turns = lock(&self.turns);
        let first = turns.first();
        turns.interrupt(first, &self.bell);
    }

    /// The goals that wait in the call that runs; none if none runs.
    pub fn snapshot(&self) -> Waiting {
        let (tell, told) = mpsc::channel();
        lock(&self.asking).push(tell);
        if !self.bell.waker.ask() {
            lock(&self.asking).clear();
        }
        self.bell.ring();
        // Where the call ends meanwhile, nothing waits.
        told.recv().unwrap_or_default()
    }
}

/// Does what is given, until nobody can give more.
fn serve(mut engine: Engine, given: mpsc::Receiver<Task>) {
    for task in given {
        if !task(&mut engine) {
            // P1. What a panic left behind is not touched any more.
            std::mem::forget(engine);
            return;
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // The call that runs is interrupted, and those that have not begun never do.
        self.closing.store(true, Ordering::SeqCst);
        self.mailbox.close();
        drop(self.tasks.take());
        let Some(thread) = self.thread.take() else { return };
        while !thread.is_finished() {
            self.interrupt();
            std::thread::park_timeout(Duration::from_millis(1));
        }
        // Why it ended was told to those that wait.
        let _ = thread.join();
    }
}

impl Engine {
    fn new(
        program: Program,
        settings: Settings,
        hooks: Hooks,
        mailbox: &Mailbox,
        (asking, closing, turns): (Asking, Arc<AtomicBool>, Arc<Mutex<Turns>>),
    ) -> Result<(Engine, Doorbell), Error> {
        let mut machine =
            Machine::with_atoms(&settings, program.atoms().clone(), program.libraries().clone())?;
        machine.load(program.compiled())?;
        let node = &mut machine.node;
        node.set_output(hooks.stdout, hooks.stderr);
        node.set_arguments(hooks.arguments);
        let rouser = node
            .rouser()
            .map_err(|error| Error::System(format!("the system refuses a pair of sockets: {error}")))?;
        let bell = Doorbell { waker: node.waker(), rouser: Arc::new(rouser) };
        let (streams, lists) = Streams::new(mailbox.clone());
        if let Some(functions) = hooks.functions {
            let (lists, mailbox, bell) = (lists.clone(), mailbox.clone(), bell.clone());
            let calls = functions::Calls { functions, lists, mailbox, bell };
            machine.node.give(|| functions::State(Some(calls.clone())));
        }
        let tells = asking.clone();
        for node in machine.nodes() {
            let tells = tells.clone();
            node.report_to(Arc::new(move |waiting| {
                for tell in lock(&tells).drain(..) {
                    // Whoever asked may have gone.
                    let _ = tell.send(waiting.clone());
                }
            }));
        }
        machine.node.open_outside_and(Box::new(streams));
        if let Some(arrays) = hooks.arrays {
            arrays.of_node().give(&mut machine.node);
        }
        let (mailbox, defined) = (mailbox.clone(), Vec::new());
        let rung = bell.clone();
        Ok((
            Engine { machine, settings, program, defined, lists, mailbox, asking, closing, turns, bell },
            rung,
        ))
    }

    fn call(&mut self, module: &str, name: &str, arguments: Vec<Argument>) -> Answer {
        if self.closing.load(Ordering::SeqCst) {
            return Err(Poison::default().failure());
        }
        let arity = arguments.len();
        let predicates = self.machine.node.predicates().clone();
        let atoms = self.machine.atoms();
        let key: Option<(Atom, Atom)> = atoms.lookup(module.as_bytes()).zip(atoms.lookup(name.as_bytes()));
        let Some(predicate) = key.and_then(|(module, name)| predicates.lookup(module, name, arity)) else {
            return Err(Failure::Undefined(format!("{module}:{name}/{arity}")));
        };
        let values: Vec<Value> = arguments
            .iter()
            .filter_map(
                |argument| if let Argument::In(value) = argument { Some(value.clone()) } else { None },
            )
            .collect();
        let made = Value::make_all(&values, &mut self.machine.node);
        let made = made.map_err(|error| self.ended(RunOutcome::Failed(error)))?;
        let (mut made, mut terms) = (made.into_iter(), self.machine.node.terms());
        let (mut roots, mut outputs) = (Vec::with_capacity(arity), Vec::new());
        let mut lists = lock(&self.lists);
        for argument in arguments {
            if let Argument::In(_) = argument {
                roots.push(made.next().expect("one for each"));
                continue;
            }
            let variable = terms.new_variable();
            roots.push(terms.root(variable));
            let second = terms.root(variable);
            match argument {
                Argument::From(source) => lists.source(second, &source),
                Argument::To(drain) => lists.drain(second, drain, &self.bell),
                _ => outputs.push(second),
            }
        }
        drop(lists);
        self.mailbox.set_running(true);
        self.begin_run();
        let outcome = self.machine.run_goal(predicate, roots);
        self.mailbox.set_running(false);
        lock(&self.asking).clear();
        let mut terms = self.machine.node.terms();
        // Whoever ends a call wants nothing more of it: what is left may be millions of items.
        let is_interrupted =
            matches!(&outcome, RunOutcome::Failed(error) if error.kind == ErrorKind::Interrupted);
        lock(&self.lists).end(&mut terms, !is_interrupted);
        let outputs: Vec<_> = outputs.into_iter().map(|root| terms.take_root(root)).collect();
        let values: Result<Vec<Value>, Unfit> =
            outputs.iter().map(|&output| Value::read(&terms, output)).collect();
        let outcome = match terms.flush() {
            Err(error) if matches!(outcome, RunOutcome::Success) => RunOutcome::Failed(error),
            _ => outcome,
        };
        match outcome {
            RunOutcome::Success => values.map_err(Failure::Unfit),
            outcome => Err(self.ended(outcome)),
        }
    }

    /// From now on interrupts are for the node, and one that came before this is: the run ends at once.
    fn begin_run(&self) {
        let mut turns = lock(&self.turns);
        let interrupted = turns.run();
        self.bell.waker.expect_run();
        if interrupted {
            let _ = self.bell.waker.interrupt();
        }
    }

    /// A call has ended, whether it ran or not.
    fn end_turn(&self) {
        lock(&self.turns).end();
    }

    /// How a run ended that did not end well.
    fn ended(&mut self, ending: RunOutcome) -> Failure {
        let Engine { machine, program, defined, .. } = self;
        let lines = |file: &str, line: u32| {
            let reports = defined.iter().rev().chain([program.report()]);
            let known = reports.flat_map(|report| report.sources().files()).find(|known| known.name == file);
            known
                .map_or_else(|| file_line(&Texts::default(), file, line), |known| nth_line(&known.text, line))
        };
        let callers = Some(Callers { calls: program.calls(), atoms: machine.atoms() });
        let text = outcome(&ending, Quoted { lines: &lines, callers });
        Failure::Ended { outcome: ending, text }
    }

    fn define(&mut self, name: &str, text: &str) -> Result<Report, NotCompiled> {
        let mut files = Texts::default();
        files.add(name, text);
        let front = self.machine.front();
        let mut read = compile::read(&front, &[PathBuf::from(name)], &files, false).map_err(Error::from)?;
        let Some(program) = compile::compile(&front, &mut read, Wanted::Everything) else {
            return Err(NotCompiled::Wrong(Report::of(read)));
        };
        let code = self.settings.code(false);
        let compiled = self.machine.generate(program, &code, read.library)?;
        self.machine.load(&compiled)?;
        let report = Report::of(read);
        self.defined.push(report.clone());
        Ok(report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_ends_a_call_that_was_begun_and_does_not_run_yet() {
        let mut files = Texts::default();
        files.add("main.kl1", ":- module main.\nsame(X, Y) :- true | Y = X.\n");
        for workers in [1, 2] {
            let settings = Settings { address_space: Some(16 << 30), ..Settings::with_workers(workers) };
            let program = Program::compile(&settings, &["main.kl1".into()], &files).expect("it is right");
            let session = Session::start(&program, &settings, Hooks::default()).expect("a session");
            let call = || session.call("main", "same", [Argument::In(Value::integer(1)), Argument::Out]);
            // The engine's thread does nothing until it is let go.
            let (go, gone) = mpsc::channel::<()>();
            let _held = session.ask(move |_| gone.recv());
            session.interrupt();
            let first = call();
            drop(go);
            assert_eq!(first.wait().expect("it was begun after that"), [Value::integer(1)]);
            for _ in 0..20 {
                let (go, gone) = mpsc::channel::<()>();
                let _held = session.ask(move |_| gone.recv());
                let (hit, spared) = (call(), call());
                // As often as one likes: it is for one call.
                (0..3).for_each(|_| session.interrupt());
                drop(go);
                match hit.wait() {
                    Err(Failure::Ended { outcome: RunOutcome::Failed(error), .. }) => {
                        assert_eq!(error.kind, ErrorKind::Interrupted);
                    }
                    other => panic!("{other:?}"),
                }
                assert_eq!(spared.wait().expect("nobody interrupted this one"), [Value::integer(1)]);
            }
        }
    }

    #[test]
    fn an_interrupt_of_a_call_that_waits_for_its_turn_ends_that_one() {
        let mut files = Texts::default();
        files.add("main.kl1", ":- module main.\nsame(X, Y) :- true | Y = X.\n");
        let settings = Settings { address_space: Some(16 << 30), ..Settings::with_workers(2) };
        let program = Program::compile(&settings, &["main.kl1".into()], &files).expect("it is right");
        let session = Session::start(&program, &settings, Hooks::default()).expect("a session");
        let call = || session.call("main", "same", [Argument::In(Value::integer(1)), Argument::Out]);
        for _ in 0..20 {
            let (go, gone) = mpsc::channel::<()>();
            let _held = session.ask(move |_| gone.recv());
            let calls = [call(), call(), call()];
            calls[1].interrupter().interrupt();
            let late = calls[0].interrupter();
            drop(go);
            let [first, second, third] = calls.map(Call::wait);
            assert_eq!(first.expect("another one was interrupted"), [Value::integer(1)]);
            assert!(second.is_err(), "it was interrupted");
            assert_eq!(third.expect("another one was interrupted"), [Value::integer(1)]);
            // It has ended.
            late.interrupt();
            assert_eq!(call().wait().expect("another one was interrupted"), [Value::integer(1)]);
        }
    }

    #[test]
    fn a_panic_of_the_engine_ends_its_session_and_no_other() {
        let mut files = Texts::default();
        files.add("main.kl1", ":- module main.\nsame(X, Y) :- true | Y = X.\n");
        let settings = Settings { address_space: Some(16 << 30), ..Settings::with_workers(2) };
        let program = Program::compile(&settings, &["main.kl1".into()], &files).expect("it is right");
        let start = || Session::start(&program, &settings, Hooks::default()).expect("a session");
        let (broken, whole) = (start(), start());
        let call = |session: &Session| {
            session.call("main", "same", [Argument::In(Value::integer(1)), Argument::Out])
        };
        let answered = broken.ask(|_| panic!("the test asked for it"));
        let waiting = call(&broken);
        assert!(answered.recv().is_err());
        for call in [waiting, call(&broken)] {
            match call.wait() {
                Err(Failure::Poisoned(text)) => assert!(text.contains("the test asked for it"), "{text}"),
                other => panic!("{other:?}"),
            }
        }
        assert!(broken.define("a.kl1", ":- module a.\n").is_err() && broken.snapshot().count == 0);
        broken.interrupt();
        drop(broken);
        assert_eq!(call(&whole).wait().expect("it ends well"), [Value::integer(1)]);
    }
}
