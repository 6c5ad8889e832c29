//! The cluster, simulated: what its stages, its network and its manager take; and the same programs on this host.
//!
//! A node of the simulation is one thread of control: the manager of its pages runs as handlers that steal the
//! program's time, which computes in slices. (A workstation had two processors, so its manager ran beside the program;
//! here it does not.)

use super::table1::{ACCESS_US, PUBLISHED_US, READ_MBIT_S, WRITE_MBIT_S};
use crate::Error;
use crate::chosen;
use crate::report::{Cell, Table};
use dsm::kernels::{PAGE_BYTES, options};
use dsm::protocol::{Counters, Mode};
use dsm::{Local, Node, PageCosts, Work};
use fabric::{NodeId, Pace, simulated, threads};
use machine::{Costs, Ended, Machine, Spread};
use std::future::Future;

/// A cycle is a byte on a link of 140 Mbit/s.
pub(super) const CYCLE_US: f64 = 8.0 / 140.0;
/// Nothing is random: it names the run.
const SEED: u64 = 1;
/// Bytes of a FIFO: not printed.
const FIFO_BYTES: u32 = 4096;

fn fifo_bytes() -> u32 {
    chosen::count("fifo-bytes", FIFO_BYTES)
}

/// To make a twin: "about 700 us".
pub(super) const TWIN_US: f64 = 700.0;
/// Not printed: a touch until the manager knows of it, a page compared with its twin, changes put into a page.
const FAULT_US: f64 = 100.0;
const DIFF_US: f64 = 200.0;
const APPLY_US: f64 = 100.0;
/// Chosen so that a page from a neighbour takes the published 3 ms: what its manager does with it.
const INSTALL_US: f64 = 1370.0;
/// Not printed: cycles of an operation of a program (8.75 million a second), and of the slices in which it computes.
const UNIT_CYCLES: u64 = 2;
const SLICE_US: f64 = 100.0;

fn cycles(us: f64) -> u64 {
    (us / CYCLE_US).round() as u64
}

/// What 32 bits take at this rate.
fn words(mbit_s: f64) -> Pace {
    Pace { cycles: (140_000.0 * 4.0 / mbit_s).round() as u32, things: 1000 }
}

fn costs() -> Costs {
    Costs {
        dispatch: cycles(ACCESS_US),
        send: cycles(ACCESS_US),
        send_words: words(WRITE_MBIT_S),
        receive_words: words(READ_MBIT_S),
        boards_pass_on: true,
        barrier_round: 0,
        barrier: 0,
        restart: 0,
        // Longer than any program runs: looking for the end would cost those that wait.
        patience: 1 << 36,
    }
}

fn page_costs() -> PageCosts {
    PageCosts {
        fault: cycles(FAULT_US),
        install: cycles(INSTALL_US),
        twin: cycles(TWIN_US),
        diff: cycles(DIFF_US),
        apply: cycles(APPLY_US),
        unit: UNIT_CYCLES,
        slice: cycles(SLICE_US),
    }
}

/// Where nodes run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// On the simulated cluster.
    Cluster,
    /// As threads of this host, which send each other messages.
    Host,
}

impl Place {
    pub(super) const ALL: [Place; 2] = [Place::Cluster, Place::Host];
    pub(super) fn name(self) -> &'static str {
        match self {
            Place::Cluster => "cluster, simulated",
            Place::Host => "this host, threads",
        }
    }
    fn us(self, time: u64) -> f64 {
        match self {
            Place::Cluster => time as f64 * CYCLE_US,
            Place::Host => time as f64 / 1e3,
        }
    }
}

/// What a node's program gives: its result, and the time and what was done by then, as often as it likes to say.
pub(super) struct Ending<R> {
    pub(super) result: R,
    marks: Vec<(u64, Work, Counters)>,
}

/// Notes when things were done.
pub(super) struct Marks<'a> {
    memory: &'a Local,
    marks: Vec<(u64, Work, Counters)>,
}

impl Marks<'_> {
    pub(super) fn of(memory: &Local) -> Marks<'_> {
        let mut marks = Marks { memory, marks: Vec::new() };
        marks.set();
        marks
    }
    pub(super) fn set(&mut self) {
        self.marks.push((self.memory.now(), self.memory.work(), self.memory.counters()));
    }
    pub(super) fn end<R>(self, result: R) -> Ending<R> {
        Ending { result, marks: self.marks }
    }
}

/// What nodes did between two marks: times are means of all nodes, in us; counts are sums.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Stretch {
    pub(super) time: f64,
    pub(super) pages: f64,
    pub(super) release: f64,
    pub(super) barrier: f64,
    /// Pages that nodes wrote between two releases.
    pub(super) written: u64,
    pub(super) misses: u64,
    /// Multicasts to copies, and their receivers; copies that were updated.
    pub(super) multicasts: u64,
    pub(super) targets: u64,
    pub(super) reached: u64,
}

/// A run: the results of the nodes, and what they, and the first of them alone, did between each two marks.
pub(super) struct Run<R> {
    pub(super) results: Vec<R>,
    pub(super) stretches: Vec<Stretch>,
    pub(super) first: Vec<Stretch>,
}

/// Runs a program.
pub(super) fn run<R: Send + 'static, T: Future<Output = Ending<R>> + 'static>(
    place: Place,
    nodes: u32,
    words: usize,
    mode: Mode,
    program: impl Fn(Local) -> T + Clone + Sync + Send + 'static,
) -> Result<Run<R>, Error> {
    let ends = match place {
        Place::Cluster => {
            let network = simulated::Config {
                time_max: 1 << 50,
                ..simulated::Config::staff_link(nodes, fifo_bytes(), chosen::seed(SEED))
            };
            let make = |node| {
                let node_program = Node::new(options(words, node, nodes, mode), program.clone());
                let node_program = node_program.with_costs(page_costs()).with_spread(Spread::Chain);
                Machine::new(node, nodes, node_program, costs())
            };
            let outcome = simulated::run(&network, make).map_err(|stopped| Error(stopped.to_string()))?;
            outcome.nodes.into_iter().map(ending).collect::<Vec<_>>()
        }
        Place::Host => {
            let make = |node: NodeId| {
                let node_program = Node::new(options(words, node, nodes, mode), program.clone());
                Machine::new(node, nodes, node_program, Costs::REAL)
            };
            threads::run(nodes, make, ending).map_err(|failed| Error(failed.to_string()))?
        }
    };
    let ends: Option<Vec<Ending<R>>> = ends.into_iter().collect();
    let ends = ends.ok_or_else(|| Error(format!("{nodes} nodes did not come to their ends")))?;
    let marks = ends.iter().map(|end| end.marks.len()).min().unwrap_or(0);
    let between = |ends: &[Ending<R>]| (1..marks).map(|mark| stretch(place, ends, mark)).collect();
    let (stretches, first) = (between(&ends), between(&ends[..1]));
    Ok(Run { results: ends.into_iter().map(|end| end.result).collect(), stretches, first })
}

fn ending<R: 'static>(machine: Machine<Node<Ending<R>>>) -> Option<Ending<R>> {
    let whole = machine.ended() == Some(Ended { waiting: 0 }) && machine.counters().strange == 0;
    machine.program.take_result().filter(|_| whole)
}

fn stretch<R>(place: Place, ends: &[Ending<R>], mark: usize) -> Stretch {
    let mut sum = Stretch::default();
    let nodes = ends.len() as f64;
    for end in ends {
        let ((begin, work, counters), (time, more_work, more)) = (&end.marks[mark - 1], &end.marks[mark]);
        let (work, counters) = (*more_work - *work, *more - *counters);
        let mean = |time: u64| place.us(time) / nodes;
        sum.time += mean(time - begin);
        sum.pages += mean(work.fetching);
        sum.release += mean(work.releasing);
        sum.barrier += mean(work.barriers);
        sum.written += work.written;
        sum.misses += counters.misses;
        sum.multicasts += counters.multicasts;
        sum.targets += counters.targets;
        sum.reached += counters.reached;
    }
    sum
}

/// What the simulation was told.
pub(super) fn inputs() -> Table {
    inputs_of("inputs")
}

/// The same as a table of this name.
pub(super) fn inputs_of(id: &str) -> Table {
    let of =
        |what: &str, cell: Cell, origin: &str| vec![Cell::Text(what.into()), cell, Cell::Text(origin.into())];
    let rows = vec![
        of("workstations in a ring, at most", Cell::Input(4.0, 0), "printed: 4; the ring is assumed"),
        of("link, Mbit/s: a byte a cycle, ns", Cell::Input(CYCLE_US * 1e3, 1), "printed: 140 Mbit/s"),
        of("FIFO, bytes", Cell::Input(fifo_bytes().into(), 0), "assumed; Xoff above half, Xon at half"),
        of("a router and its link, cycles", Cell::Input(18.0, 0), "printed: 1 us"),
        of("between buffer and FIFO, Mbit/s", Cell::Input(200.0, 0), "printed; a packet as a whole: assumed"),
        of("access to a board, us", Cell::Input(ACCESS_US, 0), "printed"),
        of("write to the buffer, Mbit/s", Cell::Input(WRITE_MBIT_S, 0), "printed; the program's time"),
        of("read from the buffer, Mbit/s", Cell::Input(READ_MBIT_S, 0), "printed; the program's time"),
        of("twin, us", Cell::Input(TWIN_US, 0), "printed: about 700"),
        of("page, its manager's part, us", Cell::Fitted(INSTALL_US, 0), "fitted: a page takes about 3 ms"),
        of("touch that is not allowed, us", Cell::Input(FAULT_US, 0), "assumed"),
        of("comparison with the twin, us", Cell::Input(DIFF_US, 0), "assumed"),
        of("changes put into a page, us", Cell::Input(APPLY_US, 0), "assumed"),
        of("operation of a program, cycles", Cell::Input(UNIT_CYCLES as f64, 0), "assumed"),
        of("slice of a program, us", Cell::Input(SLICE_US, 0), "assumed; handlers run between slices"),
        of("page, bytes", Cell::Input(PAGE_BYTES as f64, 0), "printed"),
    ];
    let note = "Copies hear of changes along a chain: the router board passes the message on when its node has dealt \
                with it, which costs the node nothing, and the last one acknowledges. The two processors of a \
                workstation are one here: handlers steal the program's time.";
    Table::new(id, "Inputs of the simulation", note, &["what", "value", "origin"], rows)
}

/// A page from a neighbour: what is printed.
pub(super) fn published_page() -> Cell {
    Cell::Published(PUBLISHED_US, 0)
}
