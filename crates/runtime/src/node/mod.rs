//! The node: loads programs and runs goals to an outcome.
//!
//! For: loading, the loop of each worker, its thread, and the entry from generated code.
//! It may know: every room.
//! It never: knows the compiler, other nodes, or the terminal.

mod attend;
mod carried;
pub(crate) mod entry;
mod face;
mod home;
mod known;
#[cfg(all(test, models))]
pub(crate) mod models;
mod profiled;
mod reduce;
mod sources;
mod threads;
mod watched;

pub use crate::builtins::io::events::Rouser;
use crate::coordination::schedule::Passed;
use crate::coordination::sync::lock;
use crate::goals::shoen::deadlock::{deepest_deadlock, tell_of_deadlock};
use crate::goals::state::Goals;
use crate::memory::constants::Constants;
use crate::memory::nursery::{address_space_min, other_bytes, reserved_bytes};
use crate::memory::ranges::Region;
use crate::memory::spaces::Spaces;
use crate::memory::tuning::HALVINGS_MAX;
pub use crate::node::face::{Answer, Code as NativeCode, Term, Terms};
use crate::node::home::Home;
pub use crate::node::home::Report;
pub use crate::node::known::Known;
use crate::node::reduce::Idle;
pub use crate::node::reduce::Turn;
pub use crate::node::sources::MoreEvents;
use crate::node::threads::Threads;
pub use crate::node::watched::Watcher;
use crate::reports::outcome::{ErrorKind, ProgramError, RunOutcome, Waiting};
use crate::reports::profile::{Clock, Profile, Profiler};
use crate::reports::statistics::Statistics;
use crate::reports::trace::Tracks;
use crate::worker::all::{Shared, Workers};
use crate::worker::events::Events;
use crate::worker::native::Native;
use crate::worker::program::{Code, Enter, Load};
use crate::worker::{Options, PRIORITY_START, Root, Tracer, Worker};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use term::Word;
use term::abi::{Builtin, PredicateId};
use term::symbol::AtomTable;

/// One node: a program, its terms and goals, and the workers that reduce them.
pub struct Node {
    /// First: they end before anything that they use.
    threads: Threads,
    workers: Workers,
    shared: Arc<Shared>,
    home: Home,
    /// Of worker 0, during a run.
    idle: Option<Idle>,
    /// Of worker 0, during a run that is profiled.
    clock: Option<Clock>,
    /// Worker 0 has been told that nothing is ready, and has not gone on.
    quiescent: bool,
    /// The goals that wait are to be listed at the end of the run.
    lists_waiting: bool,
    waiting: Waiting,
    code: Code,
    constants: Constants,
    builtins: Vec<(PredicateId, Builtin)>,
}

/// Wakes a node among several; may be used from any thread.
#[derive(Clone)]
pub struct Bell(Arc<Shared>);

impl Bell {
    /// There is a message for the node: its worker 0 looks soon, reducing or at rest.
    pub fn ring(&self) {
        self.0.waker.wake();
        self.0.team.knock();
    }
    /// There may be one that it was not woken for, or has overlooked that (K2 of `waker`). False if worker 0 does not
    /// reduce: then whoever steps the node looks anyway.
    pub fn remind(&self) -> bool {
        let reduces = self.0.in_turn.load(Relaxed);
        if reduces {
            self.0.waker.wake();
        }
        reduces
    }
}

/// What the system refused to a node with this number of workers.
#[derive(Debug)]
pub enum Refused {
    /// Address space.
    AddressSpace(usize),
    /// Threads.
    Threads(usize),
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let workers = match *self {
            Refused::AddressSpace(workers) => {
                let mebibytes = address_space_min(workers).div_ceil(1 << 20);
                write!(
                    f,
                    "the system refuses the address space for heap and goal stacks: at least {mebibytes} MiB are \
                     needed; `ulimit -v` shows what this shell allows (in KiB)"
                )?;
                workers
            }
            Refused::Threads(workers) => {
                write!(
                    f,
                    "the system refuses the threads for {workers} workers; `ulimit -u` shows how many processes and \
                     threads one user may have"
                )?;
                workers
            }
        };
        if workers > 1 {
            write!(f, ", and `--workers N` asks for fewer than {workers} workers")
        } else {
            Ok(())
        }
    }
}

impl Node {
    /// A node that knows these builtins; `atoms` may hold atoms already (of a program that was read). All nodes of a
    /// process may share it: code that was generated with it then runs on each of them that has the same builtins.
    pub fn new(options: Options, atoms: Arc<AtomTable>, natives: Vec<Native>) -> Result<Node, Refused> {
        // Less address space (`ulimit -v`) is a smaller heap, not an error.
        let begin = options.share.next_power_of_two().ilog2().min(HALVINGS_MAX);
        let most = options.address_space.unwrap_or(usize::MAX);
        let fits = |halvings: &u32| reserved_bytes(options.workers, *halvings) <= most;
        let reserved = (begin..=HALVINGS_MAX).filter(fits).find_map(|halvings| reserve(&options, halvings));
        let (spaces, goals) = reserved.ok_or(Refused::AddressSpace(options.workers))?;
        let shared = Arc::new(Shared::new(&options, atoms, spaces));
        let Known { predicates, builtins, system_goals, arithmetic_goals } =
            Known::new(&shared.atoms, natives);
        let calls = predicates.calls();
        let predicates = Arc::new(predicates);
        let make = |index, goals| {
            let mut worker = Worker::new(&options, index, &shared, goals, entry::HELPERS);
            worker.system_goals = system_goals;
            worker.arithmetic_goals = arithmetic_goals;
            worker.abi.first_compiled = PredicateId(predicates.len() as u32).goal_word();
            worker.predicates = predicates.clone();
            worker.calls = calls.clone();
            worker
        };
        let workers = goals.into_iter().enumerate().map(|(index, goals)| make(index, goals));
        let workers = attach(&shared, workers.collect());
        let (all, team) = (shared.clone(), shared.clone());
        let work = move |index| reduce::work(&all, index);
        let threads = Threads::start(options.workers, work, move || team.team.remind())
            .ok_or(Refused::Threads(options.workers))?;
        let (home, code, constants) = (Home::default(), Code::default(), Constants::default());
        let (idle, quiescent, clock) = (None, false, None);
        let (lists_waiting, waiting) = (false, Waiting::default());
        Ok(Node {
            threads,
            workers,
            shared,
            home,
            idle,
            clock,
            quiescent,
            lists_waiting,
            waiting,
            code,
            constants,
            builtins,
        })
    }
    /// The builtins given to `new`, with their numbers.
    pub fn builtins(&self) -> &[(PredicateId, Builtin)] {
        &self.builtins
    }
    /// All that code of the node may call before a program is loaded, in the order of the predicates' numbers from 1:
    /// what the runtime itself needs, and the builtins.
    pub fn callable(&mut self) -> Vec<Builtin> {
        let worker = self.workers.get(0);
        known::callable(&worker.predicates, &self.builtins, &worker.atoms)
    }
    /// How many workers it has.
    pub fn worker_count(&self) -> usize {
        self.shared.team.len()
    }
    /// The worker that the outside world belongs to: atoms, predicates, terms. During a run, between turns, nobody
    /// else uses it.
    pub(crate) fn worker(&mut self) -> &mut Worker {
        self.workers.get(0)
    }
    /// Another one, between runs.
    #[cfg(all(test, not(models)))]
    pub(crate) fn worker_at(&mut self, index: usize) -> &mut Worker {
        self.workers.get(index)
    }
    /// The terms of the node, between runs and between turns.
    pub fn terms(&mut self) -> Terms<'_> {
        Terms::new(self.worker())
    }
    /// W1: what is done to all workers is done between runs.
    fn check_between_runs(&self) {
        assert!(self.idle.is_none(), "a node is changed and asked between its runs");
    }
    /// The counters so far, of all workers. Panics during a run.
    pub fn statistics(&self) -> Statistics {
        Statistics::sum(&self.statistics_by_worker())
    }
    /// The counters so far, of each worker. Panics during a run.
    pub fn statistics_by_worker(&self) -> Vec<Statistics> {
        self.check_between_runs();
        self.workers.iter().map(|worker| worker.statistics()).collect()
    }
    /// How often workers took turns in all runs, and in which order; `None` unless [`Options`] asked for a schedule.
    pub fn passed(&self) -> Option<Passed> {
        self.shared.team.schedule().map(|schedule| schedule.passed())
    }
    /// What each worker did in the runs since this was last asked for; `None` unless [`Options`] asked for it.
    pub fn take_trace(&mut self) -> Option<Tracks> {
        self.shared.take_trace()
    }
    /// Between runs, once code is set: from now on the node is profiled. `code` is where generated code lies that comes
    /// from a text. Panics during a run.
    pub fn profile(&mut self, code: std::ops::Range<usize>) {
        self.check_between_runs();
        let Some(enter) = self.code.enter else { return };
        let profiler = Arc::new(Profiler::new(self.worker_count(), code, enter));
        if self.shared.profiler.set(profiler).is_ok() {
            self.code.enter = Some(profiled::enter_profiled);
            let code = &self.code;
            self.workers.iter_mut().for_each(|worker| {
                worker.code = code.clone();
                worker.abi.helpers.native = profiled::native_profiled;
            });
        }
    }
    /// Where time went in the runs since this was last asked for; `None` unless the node is profiled.
    pub fn take_profile(&mut self) -> Option<Profile> {
        self.shared.profiler.get().map(|profiler| profiler.take())
    }
    /// To note messages; `None` unless [`Options`] asked for a trace.
    pub fn tracer(&self) -> Option<Tracer> {
        Tracer::of(&self.shared)
    }
    /// What wakes the node for a message, of a node whose run another thread goes on with.
    pub fn bell(&self) -> Bell {
        Bell(self.shared.clone())
    }
    /// Where outside events come from.
    pub(crate) fn set_events(&mut self, events: Box<dyn Events>) {
        self.home.events = Some(events);
    }
    /// Gives each worker a state of its own for a group of builtins: what [`Terms::state`] answers. Panics during a
    /// run.
    pub fn give<T: std::any::Any + Default + Send>(&mut self, make: impl Fn() -> T) {
        self.check_between_runs();
        self.workers.iter_mut().for_each(|worker| *worker.state::<T>() = make());
    }
    /// Adds a class of objects.
    #[cfg(test)]
    pub(crate) fn add_class(
        &mut self,
        name: &'static str,
        contents: crate::memory::classes::Contents,
    ) -> term::layout::ClassId {
        let mut classes = crate::memory::classes::Classes::clone(&self.worker().classes);
        let class = classes.add(name, contents);
        let (tagged, classes) = (Arc::new(classes.tagged_words()), Arc::new(classes));
        for worker in self.workers.iter_mut() {
            (worker.classes, worker.tagged_words) = (classes.clone(), tagged.clone());
        }
        class
    }
    /// How generated code is entered, and the address of the entry that answers
    /// [`Status::Native`](term::abi::Status::Native).
    pub fn set_code(&mut self, enter: Enter, native_entry: usize) {
        self.check_between_runs();
        self.code.enter = Some(enter);
        // Each program loaded has such an entry of its own; one of them stands for all.
        let old = std::mem::replace(&mut self.code.native_entry, native_entry);
        let entries = Arc::make_mut(&mut self.code.entries);
        entries.iter_mut().filter(|entry| **entry == old).for_each(|entry| *entry = native_entry);
    }
    /// Adds a program. Panics if its numbers do not continue the node's.
    pub fn load(&mut self, load: Load) {
        self.check_between_runs();
        assert!(self.code.enter.is_some(), "C1: how code is entered is known before it is loaded");
        // Nobody else has them, most often: then nothing is copied.
        let mut predicates = std::mem::take(&mut self.worker().predicates);
        self.workers.iter_mut().for_each(|worker| worker.predicates = Arc::default());
        let known = Arc::make_mut(&mut predicates);
        known.reserve(load.predicates.len());
        for info in load.predicates {
            known.add(info);
        }
        let entries = Arc::make_mut(&mut self.code.entries);
        entries.resize(predicates.len(), self.code.native_entry);
        for (predicate, address) in load.entries {
            entries[predicate.0 as usize] = address;
        }
        for constant in &load.constants {
            self.constants.add(constant);
        }
        let constants = self.constants.ranges();
        for worker in self.workers.iter_mut() {
            worker.predicates = predicates.clone();
            worker.constants = constants.clone();
            worker.code = self.code.clone();
            worker.abi.entries = worker.code.entries.as_ptr();
            worker.abi.constants = self.constants.table();
        }
    }
    /// Number of constants loaded so far.
    pub fn constant_count(&self) -> usize {
        self.constants.len()
    }

    /// What the workers share, for tests between runs.
    #[cfg(test)]
    pub(crate) fn shared(&self) -> Arc<Shared> {
        self.shared.clone()
    }
    /// Collects between runs, for tests: the nursery then takes `need` words.
    #[cfg(test)]
    pub(crate) fn collect(&mut self, need: usize) {
        self.worker().wanted.need_words(need);
        let shared = self.shared.clone();
        crate::collect::lead::collect(&shared, 0, std::time::Instant::now());
    }

    /// Runs a goal, and all that follows from it, to the end. The roots end: what the goal has read of its arguments is
    /// garbage. Panics if no program may call such a goal.
    pub fn run(&mut self, predicate: PredicateId, args: Vec<Root>) -> RunOutcome {
        let worker = self.worker();
        let words: Vec<Word> = args.into_iter().map(|root| worker.take_root(root)).collect();
        self.run_words(predicate, &words)
    }
    /// The same with words that are good now.
    pub(crate) fn run_words(&mut self, predicate: PredicateId, args: &[Word]) -> RunOutcome {
        self.begin_words(Some((predicate, args)));
        loop {
            match self.turn() {
                Turn::Look => {}
                Turn::Ended => return self.end(None),
                Turn::Quiescent if self.awaits_events() => reduce::await_event(&self.shared, &mut self.home),
                Turn::Quiescent => {
                    let outcome = self.stuck();
                    return self.end(Some(outcome));
                }
            }
        }
    }
    /// Begins a run, with a goal without arguments or with none. [`Node::turn`] goes on with it, on this thread, until
    /// [`Node::end`]. Panics during a run, and if no program may call such a goal.
    pub fn begin(&mut self, goal: Option<PredicateId>) {
        self.begin_words(goal.map(|predicate| (predicate, &[][..])));
    }
    fn begin_words(&mut self, goal: Option<(PredicateId, &[Word])>) {
        self.check_between_runs();
        let worker = self.workers.get(0);
        worker.waker().set_running(true);
        if let Some((predicate, args)) = goal {
            assert!(worker.may_be_called(predicate, args.len()), "a goal that no program may call");
            worker.spawn(predicate, args);
        }
        self.shared.team.begin_run();
        self.shared.trial.begin_run();
        self.threads.begin();
        self.idle = Some(Idle::new(&self.shared, 0));
        self.clock = self.shared.clock(0);
        self.home.tick(self.workers.get(0), true);
    }
    /// Worker 0's share of the run. Panics before `begin`.
    pub fn turn(&mut self) -> Turn {
        self.go_on();
        let idle = self.idle.as_mut().expect("a run has begun");
        debug_assert!(!self.shared.in_turn.load(Relaxed), "W1: worker 0 has one turn at a time");
        self.shared.in_turn.store(true, Relaxed);
        let turn = reduce::turn(&self.shared, idle, Some(&mut self.home));
        self.shared.in_turn.store(false, Relaxed);
        self.quiescent = turn == Turn::Quiescent;
        turn
    }
    /// Worker 0 is told no longer that nothing is ready.
    fn go_on(&mut self) {
        if std::mem::take(&mut self.quiescent) {
            self.shared.team.go_on();
        }
    }
    /// Between two turns: collects everything.
    pub fn collect_everything(&mut self) {
        self.go_on();
        reduce::collect_everything(&self.shared);
    }
    /// Between two turns, or two runs: whether `words` more words may be allocated at once; the error says why not.
    /// Garbage is no reason: if there is no room without it, everything is collected, and all words are others then.
    pub fn make_room(&mut self, words: usize) -> Result<(), Box<ProgramError>> {
        if self.worker().ensure(words).is_ok() {
            return Ok(());
        }
        // Between two runs the team is over, and nobody collects.
        let between_runs = self.idle.is_none();
        if between_runs {
            self.begin(None);
        }
        self.collect_everything();
        if between_runs {
            self.end(None);
        }
        let worker = self.worker();
        let room = worker.ensure(words);
        // No builtin had asked.
        worker.wanted.take_refused();
        room.map_err(|error| error.detail(format!("{} MiB are in use", worker.mebibytes_in_use())))
    }
    /// Y12 of `abroad`: `bytes` of messages to other nodes are under way, and count for the heap limit. While
    /// `holds_back`, the workers of this node but worker 0 hand no goal to other nodes.
    pub fn set_under_way(&mut self, bytes: u64, holds_back: bool) {
        self.shared.under_way.store(usize::try_from(bytes).unwrap_or(usize::MAX), Relaxed);
        self.shared.holds_back.store(holds_back, Relaxed);
    }
    /// The same for a node among several with metered code: after this number of reductions at the latest it is time to
    /// look for messages. Answers how many there were, too.
    pub fn turn_within(&mut self, reductions: u64) -> (Turn, u64) {
        let abi = &mut self.workers.get(0).abi;
        let before = abi.reductions;
        abi.reductions_limit = before.saturating_add(reductions);
        let turn = self.turn();
        (turn, self.workers.get(0).abi.reductions - before)
    }
    /// After [`Turn::Quiescent`]: whether goals wait that events from outside may resume.
    pub fn awaits_events(&self) -> bool {
        reduce::awaits_events(&self.shared, &self.home)
    }
    /// Messages of other nodes that wait for answers are likely to come soon: for ten milliseconds a node of a process
    /// of its own interrupts its reducing five thousand times a second, instead of two hundred times, to look for them.
    pub fn expect_messages(&self) {
        self.home.ticker.hurry();
    }
    /// Another node waits for what this one may give: for ten milliseconds worker 0 interrupts its reducing five
    /// thousand times a second, whether it allocates or not.
    pub fn look_soon(&mut self) {
        let waker = self.workers.get(0).waker();
        self.home.ticker.set(true, &waker);
        self.home.ticker.hurry();
    }
    /// Whether events may come from outside.
    pub fn has_events(&mut self) -> bool {
        let Node { workers, home, .. } = self;
        home.has_pending(workers.get(0))
    }
    /// Handles the events that have come from outside; nothing that was written is kept back. True if that made
    /// something happen.
    pub fn look_outside(&mut self) -> bool {
        let Node { workers, home, .. } = self;
        home.look_and_flush(workers.get(0))
    }
    /// Whether goals wait, daemons not counted; or other workers are reducing, or about to.
    pub fn has_waiting(&self) -> bool {
        self.is_reducing() || reduce::has_waiting(&self.shared)
    }
    /// Whether other workers than the first are reducing, or about to: then the node is to have another turn, which
    /// says when they are not.
    pub fn is_reducing(&self) -> bool {
        // W1: not calm, other workers' states are not for this thread.
        self.worker_count() > 1 && !(self.quiescent && self.shared.team.is_calm())
    }
    /// After [`Turn::Quiescent`]: how a run ends in which nothing resumes a goal of this node any more.
    pub fn stuck(&mut self) -> RunOutcome {
        reduce::stuck(&self.shared)
    }
    /// After [`Turn::Quiescent`], where no goal is ready at any node: the greatest depth of a shoen of which goals wait
    /// here for ever, and which was not told.
    pub fn deepest_deadlock(&mut self) -> Option<u32> {
        if self.is_reducing() { None } else { deepest_deadlock(&self.shared) }
    }
    /// The same: shoens of this depth are told. True if there were any that had not been; then the run goes on.
    pub fn tell_of_deadlock(&mut self, depth: u32) -> bool {
        !self.is_reducing() && tell_of_deadlock(&self.shared, Some(depth))
    }
    /// Between runs: from now on there are no other nodes, whatever [`Options`] said, and no turn ends for their sake.
    pub fn leave_others(&mut self) {
        self.check_between_runs();
        self.workers.iter_mut().for_each(|worker| {
            worker.options.nodes = 1;
            worker.abi.reductions_limit = u64::MAX;
        });
    }
    /// Ends the run, with this outcome unless it has one. Goals that are left are forgotten. Panics between runs.
    pub fn end(&mut self, outcome: Option<RunOutcome>) -> RunOutcome {
        assert!(self.idle.is_some(), "a run has begun");
        match outcome {
            Some(outcome) => self.shared.finish(outcome),
            None => self.shared.team.finish(),
        }
        (self.quiescent, self.idle, self.clock) = (false, None, None);
        self.shared.team.schedule().iter().for_each(|schedule| schedule.leave(0));
        self.threads.end();
        let mut outcome = self.shared.take_outcome().unwrap_or(RunOutcome::Success);
        let interrupted =
            matches!(&outcome, RunOutcome::Failed(error) if error.kind == ErrorKind::Interrupted);
        if std::mem::take(&mut self.lists_waiting) || interrupted {
            let waiting = home::waiting(&self.shared, &self.home);
            match &mut outcome {
                RunOutcome::Failed(error) if interrupted => error.waiting = waiting,
                _ => self.waiting = waiting,
            }
        }
        self.workers.get(0).waker().set_running(false);
        self.set_under_way(0, false);
        self.home.tick(self.workers.get(0), false);
        self.workers.iter_mut().for_each(|worker| {
            worker.note_figures(true);
            worker.show_at_end();
            crate::builtins::io::batches::forget(worker);
            worker.clear_goals();
            worker.sharing.end_run();
            worker.visibility.end_run();
            worker.waiting.end_run();
            worker.ending.end_run();
        });
        self.shared.shoens.end_run();
        lock(&self.shared.refused).clear();
        outcome
    }
    /// Somebody has interrupted the run, perhaps at another node: when it ends, the goals that wait are kept for
    /// [`Node::take_waiting`].
    pub fn list_waiting(&mut self) {
        self.lists_waiting = true;
    }
    /// After a run: what [`Node::list_waiting`] asked for.
    pub fn take_waiting(&mut self) -> Waiting {
        std::mem::take(&mut self.waiting)
    }
    /// True once after somebody has asked this node what waits: the others are to say it, too.
    pub fn take_asked(&mut self) -> bool {
        std::mem::take(&mut self.home.asked)
    }
    /// From now on this gets what waits when somebody asks a run that
    /// ([`Waker::ask`](crate::coordination::waker::Waker::ask)).
    pub fn report_to(&mut self, report: Report) {
        self.home.report = Some(report);
    }
}

/// The workers, each known to those that poke it, and to all others.
fn attach(shared: &Arc<Shared>, workers: Vec<Box<Worker>>) -> Workers {
    let mut workers = Workers::new(workers);
    for (index, worker) in workers.iter_mut().enumerate() {
        let base = worker.heap.nursery();
        worker.set_private_base(base);
        worker.attach_limit();
        shared.team.attach(index, &raw const worker.abi.limit);
    }
    shared.waker.set_others(workers.iter().skip(1).map(Worker::waker).collect());
    shared.set_crew(workers.crew());
    workers
}

/// The spaces and a goal stack for each worker, if the system gives the address space for them and for all else that a
/// process needs.
fn reserve(options: &Options, halvings: u32) -> Option<(Spaces, Vec<Goals>)> {
    let spaces = Spaces::new(options.workers, options.heap_bytes_max, options.share, halvings)?;
    let stacks = (0..options.workers).map(|_| Goals::new(PRIORITY_START, halvings));
    let stacks: Option<Vec<Goals>> = stacks.collect();
    // Given back at once: compiler, code and threads take it.
    Region::reserve(other_bytes(options.workers), 4096)?;
    Some((spaces, stacks?))
}
