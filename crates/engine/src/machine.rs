//! Nodes that run a program, and what they did: the thread that calls [`Machine::run`] reduces the first one's goals.

use crate::error::{Error, reasons};
use crate::foreign::{self, Libraries};
use crate::front::{self, Front};
use crate::functions;
use crate::job::Job;
use crate::record::{self, Sample};
use crate::settings::{Pages, Settings};
use crate::simulated::Simulate;
use arrays::Arrays;
use runtime::native::Native;
use runtime::node::Node;
use runtime::outcome::RunOutcome;
use runtime::program::{Load, PredicateInfo};
use runtime::schedule::Passed;
use runtime::statistics::Statistics;
use runtime::trace::Tracks;
use runtime::worker::{Collect, Root, WORKERS_MAX};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;
use term::AtomTable;
use term::abi::{Builtin, PredicateId};

/// A program as code, with all that a node needs to know of it: what `fifth build` stores.
pub struct Compiled {
    /// Predicates and constants.
    pub(crate) program: compiler::ir::Program,
    /// Machine code.
    pub(crate) image: codegen::Image,
    /// What it is like.
    pub(crate) code: codegen::Options,
    /// The modules of the library whose code it uses.
    pub(crate) library: library::Used,
}

impl Compiled {
    /// IR to machine code, of a program that uses these modules of the library, for nodes with these builtins.
    pub(crate) fn generate(
        program: compiler::ir::Program,
        builtins: &[Builtin],
        options: &codegen::Options,
        library: library::Used,
    ) -> Result<Compiled, Error> {
        let image =
            codegen::generate(&program, builtins, options).map_err(|error| Error::System(reasons(&error)))?;
        Ok(Compiled { program, image, code: *options, library })
    }
}

/// A stage of the compilation that can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Decision trees.
    Tree,
    /// Fifth's intermediate representation.
    Ir,
    /// Cranelift's.
    Clif,
    /// Machine code.
    Asm,
}

/// The nodes of this process, and what they know, as the compiler wants to hear it.
///
/// The thread that makes it is the one that runs it.
pub struct Machine {
    pub(crate) node: Node,
    /// The others that run the same program.
    others: Vec<Node>,
    /// What the protocol between the nodes has done, after a run; empty of one node.
    counters: Vec<distribution::Counters>,
    /// What they did with copies of arrays, by name.
    beside: Vec<BTreeMap<String, u64>>,
    /// This process is one of several, each of which has a node.
    job: Option<Job>,
    /// Of a job: atoms that all nodes have under the same numbers.
    atoms_in_common: u32,
    /// Structures have identities, by which the nodes know what they have copies of.
    identities: bool,
    /// It can run the library's code.
    pub(crate) has_library: bool,
    /// Libraries that give predicates to programs.
    pub(crate) libraries: Libraries,
    /// Their predicates have numbers.
    has_foreign: bool,
    /// What the nodes of other processes did, after a run.
    elsewhere: Vec<Told>,
    /// Nodes on other hosts have clocks of their own.
    one_clock: bool,
    /// The machine that runs the program, if it is simulated, and after a run what it has done.
    model: Option<distribution::Model>,
    simulated: Option<distribution::Simulated>,
    /// What [`Machine::builtins`] answers; empty until somebody asks.
    builtins: Rc<[Builtin]>,
    /// All code that was loaded: a profile asks where it comes from.
    pub(crate) code: Vec<codegen::LoadedCode>,
}

/// What a node did in a run.
#[derive(Serialize, Deserialize)]
pub struct Told {
    /// Its counters.
    pub statistics: Statistics,
    /// Its collections, if they were noted.
    pub collections: Vec<Sample>,
    /// Of a node that was traced.
    pub trace: Option<Tracks>,
}

impl Told {
    /// Of a node whose run began then.
    pub(crate) fn of(node: &mut Node, started: Instant) -> Told {
        let (statistics, trace) = (node.statistics(), node.take_trace());
        Told { statistics, collections: record::samples(node.collections(), started), trace }
    }
}

/// Workers of a node that is alone when nobody says how many: one for each processor that the process may use.
fn usual_workers() -> u32 {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    processors.min(WORKERS_MAX) as u32
}

/// The nodes of this process.
fn new_nodes(
    settings: &Settings,
    atoms: Arc<AtomTable>,
    own: &[Native],
    job: Option<&Job>,
    have_copies: bool,
) -> Result<Vec<Node>, Error> {
    // Those of this process.
    let count = settings.node_count();
    let place = |node| match job {
        Some(job) => NodePlace { node: job.node(), nodes: job.nodes(), share: job.here(), ticks: true },
        // A message to several nodes may leave after its receivers were woken.
        None => NodePlace { node, nodes: count, share: count, ticks: have_copies },
    };
    let natives = front::natives(own, have_copies);
    let several = place(0).nodes > 1;
    let candidates = match settings.workers {
        Some(number) => vec![number],
        None if several => vec![1],
        None => std::iter::successors(Some(usual_workers()), |&n| (n > 1).then_some(n / 2)).collect(),
    };
    let mut candidates = candidates.into_iter();
    let (first, workers) = loop {
        let workers = candidates.next().expect("the last candidate is returned or refused");
        match Node::new(node_options(settings, workers, place(0)), atoms.clone(), natives.clone()) {
            Ok(node) => break (node, workers),
            Err(error) if candidates.len() == 0 => return Err(Error::System(error.to_string())),
            Err(_) => {}
        }
    };
    let mut nodes = vec![first];
    for number in 1..count {
        let atoms = nodes[0].atoms().clone();
        let node = Node::new(node_options(settings, workers, place(number)), atoms, natives.clone());
        nodes.push(node.map_err(|error| Error::System(format!("node {number} of {count}: {error}")))?);
    }
    nodes[0].open_outside();
    Ok(nodes)
}

/// The arrays of this process's nodes: those of each, or one for all.
fn arrays_of(settings: &Settings, job: Option<&Job>) -> Vec<Arrays> {
    let count = settings.node_count();
    match (job, settings.simulate) {
        (Some(job), _) => vec![job.arrays(settings.nodes.pages)],
        (None, Some(_)) => vec![Arrays::none("they are not simulated: leave out --simulate")],
        (None, None) if count > 1 && settings.nodes.pages == Some(Pages::Messages) => {
            (0..count).map(|node| Arrays::of_copies(node, count)).collect()
        }
        (None, None) => vec![Arrays::default()],
    }
}

/// Where a node is among all.
struct NodePlace {
    node: u32,
    nodes: u32,
    /// Nodes that share this host, or this process.
    share: u32,
    ticks: bool,
}

fn node_options(settings: &Settings, workers: u32, place: NodePlace) -> runtime::worker::Options {
    let NodePlace { node, nodes, share, ticks } = place;
    // Nodes that do the same things at the same time would find less.
    let seed = |seed: u64| seed.wrapping_add(u64::from(node).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    runtime::worker::Options {
        heap_bytes_max: settings.heap_limit.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX)),
        collect: match (settings.check_heap, settings.nodes.check) {
            (None, None) => Collect::WhenFull,
            (Some(None), None) => Collect::Always,
            (Some(Some(given)), _) | (_, Some(given)) => Collect::AtRandom(seed(given)),
        },
        address_space: settings.address_space.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX)),
        check_heap: settings.check_heap.is_some(),
        trace: settings.traces,
        node,
        nodes,
        share,
        ticks,
        balance: settings.nodes.balance,
        schedule: settings.schedule,
        without: settings.without,
        ..runtime::worker::Options::alone(workers as usize)
    }
}

/// Nodes that could not be made.
pub struct Unmade {
    /// Why.
    pub error: Error,
    /// The job that they were to be part of: it is over, with all its processes, when this is dropped. Whatever is to
    /// be said is said before.
    pub job: Option<Job>,
}

impl Machine {
    /// A node that knows the builtins only, or as many as the settings say.
    pub fn new(settings: &Settings) -> Result<Machine, Error> {
        Machine::with_natives(settings, &[])
    }

    /// The same with more builtins.
    pub fn with_natives(settings: &Settings, natives: &[Native]) -> Result<Machine, Error> {
        Machine::with(settings, Arc::default(), natives, None).map_err(|unmade| unmade.error)
    }

    /// Nodes whose programs have the predicates of these libraries.
    pub fn with_libraries(settings: &Settings, libraries: Libraries) -> Result<Machine, Error> {
        Ok(Machine { libraries, ..Machine::new(settings)? })
    }

    /// The same whose atoms are these, of a program that was compiled.
    pub(crate) fn with_atoms(
        settings: &Settings,
        atoms: Arc<AtomTable>,
        libraries: Libraries,
    ) -> Result<Machine, Error> {
        let made = Machine::with(settings, atoms, &[], None).map_err(|unmade| unmade.error)?;
        Ok(Machine { libraries, ..made })
    }

    /// The node of this process among those of a job. All processes call it together, with the same libraries.
    pub fn in_job(settings: &Settings, job: Job, libraries: Libraries) -> Result<Machine, Box<Unmade>> {
        Ok(Machine { libraries, ..Machine::with(settings, Arc::default(), &[], Some(job))? })
    }

    fn with(
        settings: &Settings,
        atoms: Arc<AtomTable>,
        natives: &[Native],
        job: Option<Job>,
    ) -> Result<Machine, Box<Unmade>> {
        let arrays = arrays_of(settings, job.as_ref());
        let mut nodes = match new_nodes(settings, atoms, natives, job.as_ref(), arrays[0].have_copies()) {
            Ok(nodes) => nodes,
            Err(error) => return Err(Box::new(Unmade { error, job })),
        };
        nodes.iter_mut().zip(arrays.iter().cycle()).for_each(|(node, arrays)| arrays.give(node));
        let others = nodes.split_off(1);
        let mut node = nodes.pop().expect("there is at least one");
        let (counters, beside, elsewhere) = (Vec::new(), Vec::new(), Vec::new());
        let (builtins, atoms_in_common) = (Rc::default(), u32::MAX);
        let (model, simulated) = (settings.simulate.and_then(Simulate::model), None);
        let model = model.map(|model| model.with_crash(settings.nodes.crash));
        let predicates = node.predicates().len();
        let has_library = library::join(node.atoms(), predicates);
        Ok(Machine {
            node,
            others,
            has_library,
            libraries: Libraries::default(),
            has_foreign: false,
            counters,
            beside,
            job,
            atoms_in_common,
            identities: settings.nodes.identities(),
            elsewhere,
            one_clock: true,
            model,
            simulated,
            builtins,
            code: Vec::new(),
        })
    }

    /// The nodes of this process; the first one has the terminal, files and timers.
    pub fn nodes(&mut self) -> impl Iterator<Item = &mut Node> {
        std::iter::once(&mut self.node).chain(&mut self.others)
    }

    /// The first node.
    pub fn node(&mut self) -> &mut Node {
        &mut self.node
    }

    /// Whether this process is one of several, each of which has a node.
    pub fn is_in_job(&self) -> bool {
        self.job.is_some()
    }

    /// Whether another process has the first node.
    pub fn follows(&self) -> bool {
        self.job.as_ref().is_some_and(|job| job.node() > 0)
    }

    /// All processes of the job get what the first one gives; all call it together. `None` without a job.
    pub(crate) fn broadcast(&mut self, bytes: Vec<u8>) -> Result<Option<Vec<u8>>, Error> {
        self.job.as_mut().map(|job| job.broadcast(bytes)).transpose()
    }

    /// All atoms that there are now have the same numbers at all nodes; those that come later may not.
    pub(crate) fn have_atoms_in_common(&mut self) {
        self.atoms_in_common = self.atoms().len() as u32;
    }

    /// This process goes on alone.
    pub(crate) fn leave_job(&mut self) {
        self.job.take().into_iter().for_each(Job::leave);
    }

    /// The process is about to end. The system takes memory back at once, so it is not freed piece by piece, and the
    /// threads of other workers, which rest, are not waited for; unless other nodes are there.
    pub fn end(self) {
        if self.job.is_none() && self.others.is_empty() {
            std::mem::forget(self);
        }
    }

    /// The node's atoms, for reading program texts.
    pub fn atoms(&mut self) -> &AtomTable {
        self.node.atoms()
    }

    /// Everything the node can call, in the order of predicate numbers from 1.
    fn builtins(&mut self) -> Rc<[Builtin]> {
        if !self.builtins.is_empty() {
            return self.builtins.clone();
        }
        self.builtins = self.node.callable().into();
        self.builtins.clone()
    }

    /// What the compiler has to know of it.
    pub fn front(&mut self) -> Front {
        let (builtins, constants) = (self.builtins(), self.node.constant_count() as u32);
        let (atoms, predicates) = (self.node.atoms().clone(), self.node.predicates().clone());
        let libraries = (!self.has_foreign).then(|| self.libraries.clone());
        Front { atoms, predicates, builtins, constants, has_library: self.has_library, libraries }
    }

    /// What code for this node is like.
    pub fn code_options(&self, settings: &Settings) -> codegen::Options {
        settings.code(self.node.worker_count() == 1)
    }

    /// IR to machine code, of a program that uses these modules of the library.
    pub fn generate(
        &mut self,
        program: compiler::ir::Program,
        options: &codegen::Options,
        library: library::Used,
    ) -> Result<Compiled, Error> {
        Compiled::generate(program, &self.builtins(), options, library)
    }

    /// A stage of the compilation as text: of the code that would run.
    pub fn dump(
        &mut self,
        program: &compiler::ir::Program,
        stage: Stage,
        options: &codegen::Options,
    ) -> Result<String, Error> {
        let builtins = self.builtins();
        let atoms = self.node.atoms();
        let code = |dump| {
            codegen::dump(program, &builtins, atoms, options, dump)
                .map_err(|error| Error::System(reasons(&error)))
        };
        match stage {
            Stage::Clif => code(codegen::Dump::Clif),
            Stage::Asm => code(codegen::Dump::Asm),
            Stage::Tree => Ok(compiler::text::dump_tree(program, atoms)),
            Stage::Ir => Ok(compiler::text::print(program, atoms)),
        }
    }

    /// Adds code to the nodes.
    pub fn load(&mut self, compiled: &Compiled) -> Result<(), Error> {
        let refused =
            |error: std::io::Error| Error::System(format!("the system refuses memory for code: {error}"));
        let code = codegen::load(&compiled.image).map_err(refused)?;
        for node in std::iter::once(&mut self.node).chain(&mut self.others) {
            let mut load = Load::default();
            if !compiled.library.is_empty() {
                add_library(&mut load, compiled).map_err(refused)?;
            }
            if !self.has_foreign {
                let first = (node.predicates().len() + load.predicates.len() + functions::COUNT) as u32;
                load.predicates.extend(self.libraries.infos(node.atoms()));
                let libraries = &self.libraries;
                node.give(|| foreign::State { libraries: Some(libraries.clone()), first });
            }
            load.predicates.extend(compiled.program.predicates.iter().map(predicate_info));
            load.entries.extend(code.entries());
            load.constants.extend(compiled.program.constants.iter().cloned());
            node.set_code(code.enter(), code.native_entry());
            node.load(load);
        }
        self.has_foreign = true;
        self.code.push(code);
        Ok(())
    }

    /// Runs `module:name/0`; `None`: there is no such predicate. The outcome of a run in a job is that of its first
    /// process; the others have nothing to say.
    pub fn run(&mut self, module: &str, name: &str) -> Result<Option<RunOutcome>, Error> {
        let [module, name] = [module, name].map(|text| self.node.atoms().intern(text.as_bytes()));
        let Some(predicate) = self.node.predicates().lookup(module, name, 0) else { return Ok(None) };
        if let Some(job) = &mut self.job {
            let ran = job.run(&mut self.node, predicate, self.atoms_in_common, self.identities)?;
            self.one_clock = job.here() == job.nodes();
            self.leave_job();
            // At the others there is nothing to be said.
            let Some((run, elsewhere)) = ran else { return Ok(Some(RunOutcome::Success)) };
            (self.counters, self.beside, self.elsewhere) = (run.counters, run.beside, elsewhere);
            return Ok(Some(run.outcome));
        }
        if self.others.is_empty() {
            return Ok(Some(self.node.run(predicate, Vec::new())));
        }
        let mut nodes: Vec<_> = std::iter::once(&mut self.node).chain(&mut self.others).collect();
        if let Some(model) = &self.model {
            let mut done = distribution::simulate(&mut nodes, predicate, self.identities, model)
                .map_err(|stopped| Error::System(reasons(&stopped)))?;
            self.counters = std::mem::take(&mut done.run.counters);
            let outcome = std::mem::replace(&mut done.run.outcome, RunOutcome::Success);
            self.simulated = Some(done);
            return Ok(Some(outcome));
        }
        let run = distribution::run(&mut nodes, predicate, self.identities)
            .map_err(|failed| Error::System(reasons(&failed)))?;
        (self.counters, self.beside) = (run.counters, run.beside);
        Ok(Some(run.outcome))
    }

    /// Runs a goal at the first node.
    pub fn run_goal(&mut self, predicate: PredicateId, arguments: Vec<Root>) -> RunOutcome {
        self.node.run(predicate, arguments)
    }

    /// Runs a goal at the first node, and no other node any more.
    pub fn run_alone(&mut self, predicate: PredicateId, arguments: Vec<Root>) -> RunOutcome {
        self.node.leave_others();
        self.node.run(predicate, arguments)
    }

    /// In which order workers took turns, if the settings asked for a schedule.
    pub fn passed(&self) -> Option<Passed> {
        self.node.passed()
    }

    /// After a run of several nodes: what the protocol between them has done, at each. Empty of one node.
    pub fn counters(&self) -> &[distribution::Counters] {
        &self.counters
    }

    /// After such a run: what each did with copies of arrays, by name.
    pub fn beside(&self) -> &[BTreeMap<String, u64>] {
        &self.beside
    }

    /// After a simulated run: what the machine has done.
    pub fn simulated(&self) -> Option<&distribution::Simulated> {
        self.simulated.as_ref()
    }

    /// Nanoseconds of a cycle, of a simulated machine.
    pub(crate) fn cycle(&self) -> Option<f64> {
        self.model.as_ref().map(|model| model.cycle)
    }

    /// Whether the times of all nodes' traces come from one clock.
    pub fn has_one_clock(&self) -> bool {
        self.one_clock
    }

    /// The counters of all workers, those of each node behind those of the one before.
    pub fn statistics(&self) -> Vec<Statistics> {
        let here = std::iter::once(&self.node).chain(&self.others).flat_map(Node::statistics_by_worker);
        here.chain(self.elsewhere.iter().map(|told| told.statistics.clone())).collect()
    }

    /// The counters of each node.
    pub fn statistics_by_node(&self) -> Vec<Statistics> {
        let here = std::iter::once(&self.node).chain(&self.others).map(Node::statistics);
        here.chain(self.elsewhere.iter().map(|told| told.statistics.clone())).collect()
    }

    /// How many workers all nodes have.
    pub fn worker_count(&self) -> usize {
        (1 + self.others.len() + self.elsewhere.len()) * self.node.worker_count()
    }

    /// From now on collections are noted.
    pub fn note_collections(&mut self) {
        self.nodes().for_each(|node| node.note_collections());
    }

    /// What each node did in the run that began then. Those of other processes tell it once.
    pub fn told(&mut self, started: Instant) -> Vec<Told> {
        let here = std::iter::once(&mut self.node).chain(&mut self.others);
        here.map(|node| Told::of(node, started)).chain(std::mem::take(&mut self.elsewhere)).collect()
    }
}

/// Adds the modules of the library that a program uses.
fn add_library(load: &mut Load, compiled: &Compiled) -> std::io::Result<()> {
    let files: Vec<Arc<str>> = library::modules().map(|name| format!("library/{name}.kl1").into()).collect();
    let none: Arc<str> = "".into();
    let entries = library::run(&compiled.code)?;
    for (predicate, entry) in library::predicates().zip(entries) {
        if predicate.text.is_some_and(|module| !compiled.library.has(module)) {
            load.predicates.push(PredicateInfo::absent(none.clone()));
            continue;
        }
        load.entries.push((predicate.id, entry));
        load.predicates.push(PredicateInfo {
            module: predicate.module,
            name: predicate.name,
            arity: predicate.arity,
            file: predicate.text.map_or(&none, |module| &files[module]).clone(),
            line: predicate.line,
            daemon: predicate.daemon,
            auxiliary: predicate.auxiliary,
            awaits: predicate.awaits,
            reads: predicate.reads,
            native: None,
        });
    }
    load.constants = library::constants();
    Ok(())
}

fn predicate_info(predicate: &compiler::ir::Predicate) -> PredicateInfo {
    PredicateInfo {
        module: predicate.module,
        name: predicate.name,
        arity: predicate.arity,
        file: predicate.file.as_str().into(),
        line: predicate.line,
        daemon: predicate.daemon,
        auxiliary: predicate.auxiliary,
        awaits: predicate.awaits,
        reads: predicate.reads,
        native: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_use_the_code_of_the_library_unless_they_have_builtins_of_their_own() {
        let mut machine = Machine::new(&Settings::with_workers(1)).expect("a node");
        assert!(machine.has_library);
        assert_eq!(machine.builtins().len() as u32 + 1, machine.node.predicates().len() as u32);
        let own = runtime::builtins::natives().pop().expect("there are builtins");
        assert!(!Machine::with_natives(&Settings::with_workers(1), &[own]).expect("a node").has_library);
    }
}
