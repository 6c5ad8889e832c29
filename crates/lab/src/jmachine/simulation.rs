//! Programs of `machine` on simulated J-Machines of 1 to 512 nodes.

use super::{CLOCK_HZ, DISPATCH, PRINTED};
use crate::Error;
use fabric::simulated::{self, Config};
use fabric::{Fabric, NodeId, Pace};
use machine::{Call, Context, Costs, Ended, Here, Machine, Program, Spent, Verdict};
use std::collections::BTreeMap;

/// What a node does in no time of a program's. See [`inputs`] for where it comes from.
pub(super) const COSTS: Costs = Costs {
    dispatch: DISPATCH,
    send: 0,
    send_words: Pace { cycles: 1, things: 2 },
    receive_words: Pace::NONE,
    boards_pass_on: false,
    barrier_round: 9,
    barrier: 26,
    restart: 75,
    patience: 2000,
};

/// What the nodes were told, for reports.
pub(super) fn inputs() -> Vec<(&'static str, String, &'static str)> {
    vec![
        ("words sent in a cycle", COSTS.send_words.things.to_string(), PRINTED),
        (
            "cycles to save and restore a thread that waits",
            COSTS.restart.to_string(),
            "printed: 30 to 50 and 20 to 50",
        ),
    ]
}

/// The network of so many nodes, a power of two: a box with sides as equal as they can be.
pub(super) fn network(nodes: u32) -> Config {
    let doublings = nodes.ilog2();
    super::network_of(&[2, 1, 0].map(|more| 1 << ((doublings + more) / 3)))
}

pub(super) fn micros(cycles: f64) -> f64 {
    cycles / CLOCK_HZ * 1e6
}

/// Runs of one handler.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Threads {
    pub(super) count: u64,
    /// From its first instruction to its last, what it sends included.
    pub(super) cycles: u64,
    /// Of its messages, that with the handler's code included.
    pub(super) words: u64,
}

/// A program whose handlers are counted, by code.
struct Observed<P> {
    program: P,
    threads: BTreeMap<u32, Threads>,
}

impl<P: Program> Program for Observed<P> {
    fn start(&mut self, here: &Here) {
        self.program.start(here);
    }
    fn handle<F: Fabric>(&mut self, context: &mut Context<'_, F>, call: &Call<'_>) -> Verdict {
        let begin = context.now();
        let verdict = self.program.handle(context, call);
        let threads = self.threads.entry(call.code).or_default();
        threads.count += 1;
        threads.cycles += context.now().0 - begin.0;
        threads.words += (1 + call.words.len() + call.payload.len().div_ceil(4)) as u64;
        verdict
    }
}

/// A run that is over.
pub(super) struct Run<P> {
    /// The nodes' programs.
    pub(super) programs: Vec<P>,
    /// Until the last node had done its last work; finding the end is not in it.
    pub(super) cycles: u64,
    /// By code of the handler.
    pub(super) threads: BTreeMap<u32, Threads>,
    /// By all nodes.
    pub(super) spent: Spent,
    /// By node: messages that could not go at once.
    pub(super) put_off: Vec<u64>,
}

/// Runs a program on a J-Machine of this number of nodes.
pub(super) fn run<P: Program>(nodes: u32, make: impl Fn(NodeId) -> P) -> Result<Run<P>, Error> {
    run_on(&network(nodes), make)
}

/// Runs a program on the J-Machine's nodes, linked by this network.
pub(super) fn run_on<P: Program>(network: &Config, make: impl Fn(NodeId) -> P) -> Result<Run<P>, Error> {
    let nodes = network.topology.nodes();
    let observed = |node| Observed { program: make(node), threads: BTreeMap::new() };
    let machine = |node| Machine::new(node, nodes, observed(node), COSTS);
    let outcome = simulated::run(network, machine).map_err(|stopped| Error(stopped.to_string()))?;
    let mut run = Run {
        programs: Vec::new(),
        cycles: 0,
        threads: BTreeMap::new(),
        spent: Spent::default(),
        put_off: Vec::new(),
    };
    for machine in outcome.nodes {
        if machine.ended() != Some(Ended { waiting: 0 }) {
            return Err(Error("tasks wait for ever".into()));
        }
        let counters = machine.counters();
        run.cycles = run.cycles.max(counters.worked_until.0);
        run.spent += counters.spent;
        run.put_off.push(counters.put_off);
        for (code, threads) in machine.program.threads {
            let sum = run.threads.entry(code).or_default();
            sum.count += threads.count;
            sum.cycles += threads.cycles;
            sum.words += threads.words;
        }
        run.programs.push(machine.program.program);
    }
    Ok(run)
}
