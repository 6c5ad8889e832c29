//! Runs of a program: its nodes are threads of this process, or processes under an MPI launcher.

use crate::node::Reducer;
use crate::protocol::{Counters, Options};
use fabric::{NodeId, threads};
use machine::{Costs, Machine};
use runtime::node::{Bell, Node};
use runtime::outcome::{ErrorKind, RunOutcome, Waiting};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, Thread, park_timeout, scope};
use std::time::Duration;
use term::abi::PredicateId;

/// J1 of `node`: how often nodes that reduce are reminded; and how long nobody looks whether any does, at most.
const REMINDED: Duration = Duration::from_millis(5);
const UNSEEN: Duration = Duration::from_millis(80);

/// What became of a run.
#[derive(Debug)]
pub struct Run {
    /// How it ended. If several nodes ended it, the first one counts; goals that wait for ever are those of all nodes.
    pub outcome: RunOutcome,
    /// What each node's protocol has done.
    pub counters: Vec<Counters>,
    /// What each node has done beside terms ([`crate::Beside`]), by name.
    pub beside: Vec<BTreeMap<String, u64>>,
}

/// What became of a run at one node.
#[derive(Debug, Serialize, Deserialize)]
pub struct Part {
    /// When the run ended here by itself, in nanoseconds since it began.
    pub(crate) time: Option<u64>,
    pub(crate) outcome: RunOutcome,
    /// Goals that waited here when somebody ended the run.
    pub(crate) waiting: Waiting,
    pub(crate) counters: Counters,
    pub(crate) beside: BTreeMap<String, u64>,
}

impl Run {
    /// All parts of a run, in the order of nodes.
    pub fn of(parts: Vec<Part>) -> Run {
        assert!(!parts.is_empty(), "a run has a node, which says how it ended");
        let counters = parts.iter().map(|part| part.counters).collect();
        let beside = parts.iter().map(|part| part.beside.clone()).collect();
        Run { outcome: outcome(parts), counters, beside }
    }
}

/// Runs a goal without arguments at the first node, and all that follows from it, to the end. The nodes are numbered
/// in this order, have the same program, and a table of atoms in common. Whether structures have `identities`:
/// [`Options::identities`].
pub fn run(nodes: &mut [&mut Node], goal: PredicateId, identities: bool) -> Result<Run, threads::Failed> {
    let bells: Arc<[Bell]> = nodes.iter().map(|node| node.bell()).collect();
    let count = nodes.len() as u32;
    let places: Vec<Mutex<Option<&mut Node>>> =
        nodes.iter_mut().map(|node| Mutex::new(Some(&mut **node))).collect();
    let make = |id: NodeId| {
        let place = &places[id.0 as usize];
        let node = place.lock().expect("nobody panics meanwhile").take().expect("a node is made once");
        let first = (id == NodeId(0)).then_some(goal);
        let options = Options { identities, ..Options::new(id, count) };
        let reducer = Reducer::new(node, first, options, u32::MAX, bells.clone(), None);
        Machine::new(id, count, reducer, Costs::REAL)
    };
    let end = |mut machine: Machine<Reducer<'_>>| machine.program.end();
    Ok(Run::of(reminding(&bells, || threads::run(count, make, end))?))
}

/// J1 of `node`: reminds nodes that reduce as long as `run` takes. A system that refuses the thread has none for the
/// nodes, either.
fn reminding<R>(bells: &[Bell], run: impl FnOnce() -> R) -> R {
    /// Even if the run panics.
    struct Ends<'a>(&'a AtomicBool, Option<Thread>);
    impl Drop for Ends<'_> {
        fn drop(&mut self) {
            // Relaxed: it orders nothing.
            self.0.store(true, Relaxed);
            self.1.iter().for_each(Thread::unpark);
        }
    }
    let over = AtomicBool::new(false);
    let remind = || {
        let mut pause = REMINDED;
        while !over.load(Relaxed) {
            park_timeout(pause);
            let reducing = bells.iter().filter(|bell| bell.remind()).count();
            pause = if reducing > 0 { REMINDED } else { UNSEEN.min(2 * pause) };
        }
    };
    scope(|scope| {
        let thread = Builder::new().name("fifth-reminder".into()).spawn_scoped(scope, remind);
        let _ends = Ends(&over, thread.ok().map(|thread| thread.thread().clone()));
        run()
    })
}

/// The same with one node in each process of a job: this one's part. The nodes have the same program,
/// and the first `atoms` atoms have the same numbers at all of them. After an error the job cannot go on (see
/// [`fabric::mpi::Session::run`]).
#[cfg(feature = "mpi")]
pub fn run_part(
    session: &mut fabric::mpi::Session,
    node: &mut Node,
    goal: PredicateId,
    atoms: u32,
    identities: bool,
) -> Result<Part, fabric::mpi::Error> {
    let count = session.nodes();
    let machine = session.run(|id| {
        let first = (id == NodeId(0)).then_some(goal);
        let options = Options { identities, ..Options::new(id, count) };
        let reducer = Reducer::new(node, first, options, atoms, Arc::default(), None);
        Machine::new(id, count, reducer, Costs::REAL)
    });
    Ok(machine?.program.end())
}

/// What the ends of all nodes are together.
fn outcome(mut parts: Vec<Part>) -> RunOutcome {
    let several = parts.len() > 1;
    let mut waiting = Waiting::default();
    for part in &mut parts {
        waiting.add(std::mem::take(&mut part.waiting));
        if let RunOutcome::Failed(error) = &mut part.outcome {
            waiting.add(std::mem::take(&mut error.waiting));
        }
    }
    let ended = parts.iter().enumerate().filter_map(|(node, part)| Some((part.time?, node, &part.outcome)));
    if let Some((_, node, outcome)) = ended.min_by_key(|&(time, node, _)| (time, node)) {
        return match outcome.clone() {
            RunOutcome::Failed(mut error) => {
                if error.kind == ErrorKind::Interrupted {
                    error.waiting = waiting;
                }
                RunOutcome::Failed(if several { error.detail(format!("at node {node}")) } else { error })
            }
            outcome => outcome,
        };
    }
    let (mut all, mut sum) = (Vec::new(), 0);
    for part in parts {
        if let RunOutcome::Deadlock { mut goals, count } = part.outcome {
            let before = all.len();
            goals.iter_mut().filter_map(|goal| goal.holder.as_mut()).for_each(|holder| *holder += before);
            all.append(&mut goals);
            sum += count;
        }
    }
    if sum == 0 { RunOutcome::Success } else { RunOutcome::Deadlock { goals: all, count: sum } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use runtime::native::{Native, Outcome, Seat};
    use runtime::node::{Answer, Term, Terms, Turn};
    use std::time::Instant;
    use term::abi::{Builtin, Place};

    /// Far more than a reminder takes.
    const LONG: Duration = Duration::from_secs(60);

    /// Reduces on and on, and allocates nothing, until a time that no test sees.
    fn spin<'t>(terms: &mut Terms<'t>, _: &[Term<'t>], _: &mut [Term<'t>]) -> Answer<'t> {
        let begin = *terms.state::<Option<Instant>>().get_or_insert_with(Instant::now);
        if begin.elapsed() < LONG {
            let spin = terms.called();
            terms.spawn(spin, &[]);
        }
        Outcome::Done
    }

    #[test]
    fn who_has_overlooked_a_bell_looks_all_the_same() {
        let signature = Builtin {
            module: "main".into(),
            name: "spin".into(),
            modes: "".into(),
            place: Place::Goal,
            daemon: false,
        };
        let options = runtime::worker::Options { nodes: 2, ..runtime::worker::Options::alone(1) };
        let native = Native::new(signature, Seat::Noted, false, spin);
        let mut node = Node::new(options, Arc::default(), vec![native]).expect("address space");
        let mut terms = node.terms();
        let (module, name) = (terms.intern("main"), terms.intern("spin"));
        let goal = terms.predicates().lookup(module, name, 0);
        let bell = node.bell();
        assert!(!bell.remind(), "it does not reduce");
        node.begin(goal);
        // Nobody rings.
        let turns = reminding(&[bell], || [(); 3].map(|()| node.turn()));
        assert_eq!(turns, [Turn::Look; 3]);
        node.end(Some(RunOutcome::Success));
    }
}
