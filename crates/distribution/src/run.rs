//! Runs of a program: its nodes are threads of this process, or processes under an MPI launcher.

use crate::node::Reducer;
use crate::protocol::{Counters, Options};
use fabric::{NodeId, threads};
use machine::{Costs, Machine};
use runtime::node::{Bell, Node};
use runtime::outcome::{ErrorKind, RunOutcome, Waiting};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use term::abi::PredicateId;

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
    Ok(Run::of(threads::run(count, make, end)?))
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
