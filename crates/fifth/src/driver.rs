//! From a program's clauses to a running node.

use crate::cli::{Engine, Stage};
use crate::front::{self, Front};
use crate::job::{self, Job};
use crate::nodes::Pages;
use crate::output;
use crate::simulated::Simulate;
use anyhow::Context;
use arrays::Arrays;
use lab::record::{self, Sample};
use runtime::native::Native;
use runtime::node::Node;
use runtime::outcome::RunOutcome;
use runtime::program::{Load, PredicateInfo};
use runtime::statistics::Statistics;
use runtime::trace::Tracks;
use runtime::worker::Collect;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;
use term::AtomTable;
use term::abi::Builtin;

/// A program as code, with all that a node needs to know of it: what `fifth build` stores.
pub(crate) struct Compiled {
    /// Predicates and constants.
    pub(crate) program: compiler::ir::Program,
    /// Machine code.
    pub(crate) image: codegen::Image,
    /// What it is like.
    pub(crate) code: codegen::Options,
    /// The modules of the library whose code it uses.
    pub(crate) library: library::Used,
}

/// A node and what it knows, as the compiler wants to hear it.
pub(crate) struct Machine {
    pub(crate) node: Node,
    /// The others that run the same program.
    pub(crate) others: Vec<Node>,
    /// What the protocol between the nodes has done, after a run; empty of one node.
    pub(crate) counters: Vec<distribution::Counters>,
    /// What they did with copies of arrays, by name.
    pub(crate) beside: Vec<BTreeMap<String, u64>>,
    /// This process is one of several, each of which has a node.
    pub(crate) job: Option<Job>,
    /// Of a job: atoms that all nodes have under the same numbers.
    atoms_in_common: u32,
    /// It can run the library's code.
    pub(crate) has_library: bool,
    /// What the nodes of other processes did, after a run.
    elsewhere: Vec<Told>,
    /// Nodes on other hosts have clocks of their own.
    pub(crate) one_clock: bool,
    /// The machine that runs the program, if it is simulated, and after a run what it has done.
    model: Option<distribution::Model>,
    pub(crate) simulated: Option<distribution::Simulated>,
    /// What [`Machine::builtins`] answers; empty until somebody asks.
    builtins: Rc<[Builtin]>,
    /// Code stays mapped as long as the node may run it.
    code: Vec<codegen::LoadedCode>,
}

/// What a node did in a run.
#[derive(Serialize, Deserialize)]
pub(crate) struct Told {
    pub(crate) statistics: Statistics,
    /// Its collections, if they were noted.
    pub(crate) collections: Vec<Sample>,
    /// Of a node that was traced.
    pub(crate) trace: Option<Tracks>,
}

impl Told {
    /// Of a node whose run began then.
    pub(crate) fn of(node: &mut Node, started: Instant) -> Told {
        let (statistics, trace) = (node.statistics(), node.take_trace());
        Told { statistics, collections: record::samples(node.worker().collections(), started), trace }
    }
}

/// The nodes could not be made: not the program's fault.
fn new_nodes(
    engine: &Engine,
    own: &[Native],
    job: Option<&Job>,
    have_copies: bool,
) -> anyhow::Result<Vec<Node>> {
    // Those of this process.
    let count = engine.node_count();
    let place = |node| match job {
        Some(job) => NodePlace { node: job.node(), nodes: job.nodes(), share: job.here(), ticks: true },
        // A message to several nodes may leave after its receivers were woken.
        None => NodePlace { node, nodes: count, share: count, ticks: have_copies },
    };
    let natives = front::natives(own, have_copies);
    let several = place(0).nodes > 1;
    let candidates =
        if several { vec![engine.workers.given.unwrap_or(1)] } else { engine.workers.candidates()? };
    let mut candidates = candidates.into_iter();
    let (first, workers) = loop {
        let workers = candidates.next().expect("the last candidate is returned or refused");
        match Node::new(node_options(engine, workers, place(0)), Arc::default(), natives.clone()) {
            Ok(node) => break (node, workers),
            Err(error) if candidates.len() == 0 => anyhow::bail!("{error}"),
            Err(_) => {}
        }
    };
    let mut nodes = vec![first];
    for number in 1..count {
        let atoms = nodes[0].worker().atoms.clone();
        let node = Node::new(node_options(engine, workers, place(number)), atoms, natives.clone());
        nodes.push(node.map_err(|error| anyhow::anyhow!("node {number} of {count}: {error}"))?);
    }
    let mut workers: Vec<_> = nodes.iter_mut().map(Node::worker).collect();
    // Without handlers an interrupt ends the process all the same, only less politely.
    let _ = runtime::builtins::io::events::end_on_interrupt(&mut workers);
    let outside = runtime::builtins::io::events::Outside::of(nodes[0].worker());
    nodes[0].set_events(Box::new(outside));
    Ok(nodes)
}

/// The arrays of this process's nodes: those of each, or one for all.
fn arrays_of(engine: &Engine, job: Option<&Job>) -> Vec<Arrays> {
    let count = engine.node_count();
    match (job, engine.simulate) {
        (Some(job), _) => vec![job.arrays(engine.nodes.pages)],
        (None, Some(_)) => vec![Arrays::none("they are not simulated: leave out --simulate")],
        (None, None) if count > 1 && engine.nodes.pages == Some(Pages::Messages) => {
            (0..count).map(|node| Arrays::of_copies(node, count)).collect()
        }
        (None, None) => vec![Arrays::default()],
    }
}

/// What does not go with several nodes.
fn several_nodes(engine: &Engine) -> anyhow::Result<()> {
    let several = engine.workers.given.is_some_and(|workers| workers > 1);
    if several && engine.schedule.is_some() {
        let more = "--schedule orders the workers of one node: of several nodes each has one then";
        return Err(job::refusal(more.into()));
    }
    if several && engine.simulate.is_some() {
        let more = "a simulated node has one worker: leave out --workers, or say --workers 1";
        return Err(job::refusal(more.into()));
    }
    Ok(())
}

/// Where a node is among all.
struct NodePlace {
    node: u32,
    nodes: u32,
    /// Nodes that share this host, or this process.
    share: u32,
    ticks: bool,
}

fn node_options(engine: &Engine, workers: u32, place: NodePlace) -> runtime::worker::Options {
    let NodePlace { node, nodes, share, ticks } = place;
    // Nodes that do the same things at the same time would find less.
    let seed = |seed: u64| seed.wrapping_add(u64::from(node).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    runtime::worker::Options {
        heap_bytes_max: engine.heap_limit.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX)),
        collect: match (engine.check_heap, engine.nodes.check) {
            (None, None) => Collect::WhenFull,
            (Some(None), None) => Collect::Always,
            (Some(Some(given)), _) | (_, Some(given)) => Collect::AtRandom(seed(given)),
        },
        check_heap: engine.check_heap.is_some(),
        trace: engine.trace.is_some(),
        node,
        nodes,
        share,
        ticks,
        balance: engine.nodes.balance,
        identities: engine.nodes.identities,
        schedule: engine.schedule,
        ..runtime::worker::Options::alone(workers as usize)
    }
}

impl Machine {
    /// A node that knows the builtins only, or as many as the options say.
    pub(crate) fn new(engine: &Engine) -> anyhow::Result<Machine> {
        Machine::with(engine, &[], None)
    }

    /// The same with more builtins.
    pub(crate) fn with_natives(engine: &Engine, natives: &[Native]) -> anyhow::Result<Machine> {
        Machine::with(engine, natives, None)
    }

    /// The same as [`Machine::new`]; under an MPI launcher, the node of this process. All processes call it together.
    pub(crate) fn under_launcher(engine: &Engine) -> anyhow::Result<Machine> {
        let size = job::size();
        if size > 1 || engine.node_count() > 1 {
            several_nodes(engine)?;
        }
        if size == 1 {
            return Machine::new(engine);
        }
        if engine.node_count() > 1 {
            let option = if engine.simulate.is_some() { "--simulate" } else { "--nodes" };
            return Err(job::refusal(format!(
                "each of these {size} processes is a node: leave out {option}"
            )));
        }
        Machine::with(engine, &[], Some(Job::join(size)?))
    }

    fn with(engine: &Engine, natives: &[Native], job: Option<Job>) -> anyhow::Result<Machine> {
        let arrays = arrays_of(engine, job.as_ref());
        let nodes = new_nodes(engine, natives, job.as_ref(), arrays[0].have_copies());
        // Without the job nothing more can be said.
        let mut nodes = if job.is_some() { nodes.inspect_err(output::error)? } else { nodes? };
        nodes.iter_mut().zip(arrays.iter().cycle()).for_each(|(node, arrays)| arrays.give(node));
        let others = nodes.split_off(1);
        let mut node = nodes.pop().expect("there is at least one");
        let (counters, beside, elsewhere) = (Vec::new(), Vec::new(), Vec::new());
        let (builtins, code, atoms_in_common) = (Rc::default(), Vec::new(), u32::MAX);
        let (model, simulated) = (engine.simulate.and_then(Simulate::model), None);
        let worker = node.worker();
        let has_library = library::join(&worker.atoms, worker.predicates.len());
        Ok(Machine {
            node,
            others,
            has_library,
            counters,
            beside,
            job,
            atoms_in_common,
            elsewhere,
            one_clock: true,
            model,
            simulated,
            builtins,
            code,
        })
    }

    /// Whether another process has the first node.
    pub(crate) fn follows(&self) -> bool {
        self.job.as_ref().is_some_and(|job| job.node() > 0)
    }

    /// All atoms that there are now have the same numbers at all nodes; those that come later may not.
    pub(crate) fn have_atoms_in_common(&mut self) {
        self.atoms_in_common = self.atoms().len() as u32;
    }

    /// This process goes on alone.
    pub(crate) fn leave_job(&mut self) {
        self.job.take().into_iter().for_each(Job::leave);
    }

    /// The process is about to end. The system takes memory back at once, so it is not freed piece by piece, unless
    /// threads use it or others wait for it.
    pub(crate) fn end(self) {
        if self.job.is_none() && self.others.is_empty() && self.node.worker_count() == 1 {
            std::mem::forget(self);
        }
    }

    /// The node's atoms, for reading program texts.
    pub(crate) fn atoms(&mut self) -> &AtomTable {
        &self.node.worker().atoms
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
    pub(crate) fn front(&mut self) -> Front {
        let (builtins, constants) = (self.builtins(), self.node.constant_count() as u32);
        let worker = self.node.worker();
        let (atoms, predicates) = (worker.atoms.clone(), worker.predicates.clone());
        Front { atoms, predicates, builtins, constants, has_library: self.has_library }
    }

    /// What code for this node is like.
    pub(crate) fn code_options(&self, engine: &Engine) -> codegen::Options {
        let workers =
            if self.node.worker_count() == 1 { codegen::Workers::One } else { codegen::Workers::Several };
        let reductions = match engine.simulate {
            Some(_) => codegen::Reductions::Metered,
            None if engine.counts() => codegen::Reductions::Counted,
            None => codegen::Reductions::Uncounted,
        };
        codegen::Options { reductions, workers, ..codegen::Options::default() }
    }

    /// IR to machine code, of a program that uses these modules of the library.
    pub(crate) fn generate(
        &mut self,
        program: compiler::ir::Program,
        options: &codegen::Options,
        library: library::Used,
    ) -> anyhow::Result<Compiled> {
        let image = codegen::generate(&program, &self.builtins(), options)?;
        Ok(Compiled { program, image, code: *options, library })
    }

    /// A stage of the compilation as text: of the code that would run.
    pub(crate) fn dump(
        &mut self,
        program: &compiler::ir::Program,
        stage: Stage,
        options: &codegen::Options,
    ) -> anyhow::Result<String> {
        let builtins = self.builtins();
        let atoms = &self.node.worker().atoms;
        Ok(match stage {
            Stage::Clif => codegen::dump(program, &builtins, atoms, options, codegen::Dump::Clif)?,
            Stage::Asm => codegen::dump(program, &builtins, atoms, options, codegen::Dump::Asm)?,
            Stage::Tree => compiler::text::dump_tree(program, atoms),
            _ => compiler::text::print(program, atoms),
        })
    }

    /// Adds code to the node.
    pub(crate) fn load(&mut self, compiled: &Compiled) -> anyhow::Result<()> {
        let refused = "the system refuses memory for code";
        let code = codegen::load(&compiled.image).context(refused)?;
        for node in std::iter::once(&mut self.node).chain(&mut self.others) {
            let mut load = Load::default();
            if !compiled.library.is_empty() {
                add_library(&mut load, compiled).context(refused)?;
            }
            load.predicates.extend(compiled.program.predicates.iter().map(predicate_info));
            load.entries.extend(code.entries());
            load.constants.extend(compiled.program.constants.iter().cloned());
            node.set_code(code.enter(), code.native_entry());
            node.load(load);
        }
        self.code.push(code);
        Ok(())
    }

    /// Runs `module:name/0`; `None`: there is no such predicate.
    pub(crate) fn run(&mut self, module: &str, name: &str) -> anyhow::Result<Option<RunOutcome>> {
        let worker = self.node.worker();
        let (module, name) = (worker.intern(module), worker.intern(name));
        let Some(predicate) = worker.predicates.lookup(module, name, 0) else { return Ok(None) };
        if let Some(job) = &mut self.job {
            let ran = job.run(&mut self.node, predicate, self.atoms_in_common)?;
            self.one_clock = job.here() == job.nodes();
            self.leave_job();
            // At the others there is nothing to be said.
            let Some((run, elsewhere)) = ran else { return Ok(Some(RunOutcome::Success)) };
            (self.counters, self.beside, self.elsewhere) = (run.counters, run.beside, elsewhere);
            return Ok(Some(run.outcome));
        }
        if self.others.is_empty() {
            return Ok(Some(self.node.run(predicate, &[])));
        }
        let mut nodes: Vec<_> = std::iter::once(&mut self.node).chain(&mut self.others).collect();
        if let Some(model) = &self.model {
            let mut done = distribution::simulate(&mut nodes, predicate, model)?;
            self.counters = std::mem::take(&mut done.run.counters);
            let outcome = std::mem::replace(&mut done.run.outcome, RunOutcome::Success);
            self.simulated = Some(done);
            return Ok(Some(outcome));
        }
        let run = distribution::run(&mut nodes, predicate)?;
        (self.counters, self.beside) = (run.counters, run.beside);
        Ok(Some(run.outcome))
    }
    /// The counters of all workers, those of each node behind those of the one before.
    pub(crate) fn statistics(&self) -> Vec<Statistics> {
        let here = std::iter::once(&self.node).chain(&self.others).flat_map(Node::statistics_by_worker);
        here.chain(self.elsewhere.iter().map(|told| told.statistics.clone())).collect()
    }
    /// The counters of each node.
    pub(crate) fn statistics_by_node(&self) -> Vec<Statistics> {
        let here = std::iter::once(&self.node).chain(&self.others).map(Node::statistics);
        here.chain(self.elsewhere.iter().map(|told| told.statistics.clone())).collect()
    }
    /// How many workers all nodes have.
    pub(crate) fn worker_count(&self) -> usize {
        (1 + self.others.len() + self.elsewhere.len()) * self.node.worker_count()
    }
    /// From now on collections are noted.
    pub(crate) fn note_collections(&mut self) {
        std::iter::once(&mut self.node)
            .chain(&mut self.others)
            .for_each(|node| node.worker().note_collections());
    }
    /// What each node did in the run that began then. Those of other processes tell it once.
    pub(crate) fn told(&mut self, started: Instant) -> Vec<Told> {
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
        native: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_use_the_code_of_the_library_unless_they_have_builtins_of_their_own() {
        let mut machine = Machine::new(&Engine::PLAIN).expect("a node");
        assert!(machine.has_library);
        assert_eq!(machine.builtins().len() as u32 + 1, machine.node.worker().predicates.len() as u32);
        let own = runtime::builtins::natives().pop().expect("there are builtins");
        assert!(!Machine::with_natives(&Engine::PLAIN, &[own]).expect("a node").has_library);
    }
}
