//! Nodes on a simulated machine, in virtual time and in one thread: a run depends on its program and its machine alone.

use crate::model::{Meter, Model, Work};
use crate::node::Reducer;
use crate::protocol::{Depth, Options};
use crate::run::Run;
use fabric::NodeId;
use fabric::simulated;
use machine::{Costs, Machine};
use runtime::node::Node;
use std::sync::Arc;
use term::abi::PredicateId;

pub use fabric::simulated::Stopped;

/// What a machine does beside the program: a cycle for each message that comes, so that it knows that its time is
/// simulated; and 5 ms of a Multi-PSI between two looks at whether the run has ended.
const COSTS: Costs = Costs { dispatch: 1, patience: 25_000, ..Costs::REAL };

/// A run in virtual time.
#[derive(Debug)]
pub struct Simulated {
    /// How it ended, and what was sent.
    pub run: Run,
    /// Cycles until the last node had done its last work.
    pub cycles: u64,
    /// What each node has done.
    pub work: Vec<Work>,
    /// Bytes that each channel between two nodes has carried, those of the messages that find the end of the run
    /// included.
    pub channels: Vec<u64>,
}

/// Runs a goal without arguments at the first of these nodes, on a simulated machine that has as many. They have the
/// same program, with metered code, a table of atoms in common, and one worker each. As on the Multi-PSI each
/// reference is released by a message of its own. If goals move by themselves, answers bring more than one level of a
/// structure: level by level, goals would wait for each list in turn, and pile up.
pub fn simulate(
    nodes: &mut [&mut Node],
    goal: PredicateId,
    identities: bool,
    model: &Model,
) -> Result<Simulated, Stopped> {
    let count = nodes.len() as u32;
    assert_eq!(count, model.nodes(), "a machine of another size");
    let mut nodes = nodes.iter_mut();
    let make = |id: NodeId| {
        let node = nodes.next().expect("a node is made once, in order");
        let first = (id == NodeId(0)).then_some(goal);
        let black = model.black;
        let depth = if node.options().balance { Depth::Adaptive } else { model.depth };
        let options = Options { depth, black, identities, batch: 1, ..Options::new(id, count) };
        let meter = Meter::new(model.clone());
        let reducer = Reducer::new(node, first, options, u32::MAX, Arc::default(), Some(meter));
        Machine::new(id, count, reducer, COSTS)
    };
    let done = simulated::run(&model.network, make)?;
    let cycles = done.nodes.iter().map(|machine| machine.counters().worked_until.0).max().unwrap_or_default();
    let (mut parts, mut work) = (Vec::new(), Vec::new());
    for mut machine in done.nodes {
        parts.push(machine.program.end());
        work.extend(machine.program.work().copied());
    }
    let topology = &model.network.topology;
    let links = (0..count).flat_map(|node| (0..topology.links()).map(move |port| (node, port)));
    let channels = links
        .filter(|&(node, port)| topology.neighbour(NodeId(node), port).is_some())
        .map(|(node, port)| done.channels[node as usize * topology.ports() + port].flits)
        .collect();
    Ok(Simulated { run: Run::of(parts), cycles, work, channels })
}
