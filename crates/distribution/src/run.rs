//! Nodes that are threads of this process.

use crate::node::Reducer;
use crate::protocol::Counters;
use fabric::{NodeId, Time, threads};
use machine::{Costs, Machine};
use runtime::node::Node;
use runtime::outcome::RunOutcome;
use runtime::waker::Waker;
use std::sync::{Arc, Mutex};
use term::abi::PredicateId;

/// What became of a run.
#[derive(Debug)]
pub struct Run {
    /// How it ended. If several nodes ended it, the first one counts; goals that wait for ever are those of all nodes.
    pub outcome: RunOutcome,
    /// What each node's protocol has done.
    pub counters: Vec<Counters>,
}

/// Runs a goal without arguments at the first node, and all that follows from it, to the end. The nodes are numbered in this order, have the
/// same program, a table of atoms in common, and one worker each.
pub fn run(nodes: &mut [&mut Node], goal: PredicateId) -> Result<Run, threads::Failed> {
    let wakers: Arc<[Waker]> = nodes.iter_mut().map(|node| node.worker().waker()).collect();
    let count = nodes.len() as u32;
    let places: Vec<Mutex<Option<&mut Node>>> =
        nodes.iter_mut().map(|node| Mutex::new(Some(&mut **node))).collect();
    let make = |id: NodeId| {
        let place = &places[id.0 as usize];
        let node = place.lock().expect("nobody panics meanwhile").take().expect("a node is made once");
        let first = (id == NodeId(0)).then_some(goal);
        Machine::new(id, count, Reducer::new(node, first, id, wakers.clone()), Costs::REAL)
    };
    let end =
        |mut machine: Machine<Reducer<'_>>| (machine.program.end(), machine.program.protocol.counters());
    let ends = threads::run(count, make, end)?;
    let (ends, counters) = ends.into_iter().unzip();
    Ok(Run { outcome: outcome(ends), counters })
}

/// What the ends of all nodes are together.
fn outcome(ends: Vec<(Option<Time>, RunOutcome)>) -> RunOutcome {
    let several = ends.len() > 1;
    let numbered = || ends.iter().enumerate();
    let first = numbered().filter_map(|(node, (time, outcome))| Some((time.as_ref()?, node, outcome)));
    if let Some((_, node, outcome)) = first.min_by_key(|&(time, node, _)| (time, node)) {
        return match outcome.clone() {
            RunOutcome::Failed(error) if several => {
                RunOutcome::Failed(error.detail(format!("at node {node}")))
            }
            outcome => outcome,
        };
    }
    let (mut all, mut sum) = (Vec::new(), 0);
    for (_, outcome) in ends {
        if let RunOutcome::Deadlock { mut goals, count } = outcome {
            all.append(&mut goals);
            sum += count;
        }
    }
    if sum == 0 { RunOutcome::Success } else { RunOutcome::Deadlock { goals: all, count: sum } }
}
