//! The paper's four programs on simulated J-Machines of any size, each with its answer checked.

use super::simulation::{self, Run, Threads};
use super::{CLOCK_HZ, Input, SEED, measured_on, network_inputs};
use crate::report::{Chart, Report, Table};
use crate::workloads::{lcs, queens, radix_sort, tsp};
use crate::{Error, Experiment, Scale};
use fabric::simulated::Config;
use machine::Spent;
use std::fmt::Debug;

/// Cycles of an instruction, on the average: an operand in the chip's memory costs one more.
const CYCLES_AN_INSTRUCTION: u64 = 2;

/// LCS: 232 instructions are printed for a character on 64 nodes, where a node has 16 letters of the first string,
/// and the shares of `entry` on 64, 256 and 512 nodes. Whole instructions that come near to all four: 20 + 16 * 13 =
/// 228.
const LCS_CYCLES: lcs::Cycles =
    lcs::Cycles { entry: 20 * CYCLES_AN_INSTRUCTION, character: 13 * CYCLES_AN_INSTRUCTION };
/// N-Queens: 1,030 threads of 296,000 instructions, and 4,674,890 boards; 21 instructions for an answer.
const QUEENS_CYCLES: queens::Cycles =
    queens::Cycles { board: 65 * CYCLES_AN_INSTRUCTION, answer: 21 * CYCLES_AN_INSTRUCTION };
/// Radix sort: 276,000 instructions on each of 64 nodes that count and send 1,024 keys in 7 passes; 4 for a key that
/// is written.
const SORT_CYCLES: radix_sort::Cycles =
    radix_sort::Cycles { key: 19 * CYCLES_AN_INSTRUCTION, write: 4 * CYCLES_AN_INSTRUCTION };
/// TSP: 26,300 ms of 64 nodes for 9.1 million threads.
const PATH_CYCLES: u64 = 2300;

/// Rows of N-Queens that are filled breadth first.
const QUEENS_DEPTH: u32 = 3;
const KEY_BITS: u32 = 28;

/// A program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Application {
    Lcs,
    Queens,
    RadixSort,
    Tsp,
}

use Application::{Lcs, Queens, RadixSort, Tsp};

/// How large the problems are.
pub(super) struct Sizes {
    strings: (usize, usize),
    queens: u32,
    keys: usize,
    cities: usize,
}

impl Sizes {
    pub(super) fn of(scale: Scale) -> Sizes {
        match scale {
            Scale::Full => Sizes { strings: (1024, 4096), queens: 13, keys: 65_536, cities: 14 },
            Scale::Small => Sizes { strings: (1024, 256), queens: 9, keys: 4096, cities: 9 },
        }
    }
}

/// What a run measured.
pub(super) struct Ran {
    pub(super) nodes: u32,
    pub(super) cycles: u64,
    pub(super) spent: Spent,
    /// Threads that were started by messages, in the order of [`Application::handlers`].
    pub(super) threads: Vec<Threads>,
    /// Boards or paths that were looked at.
    pub(super) looked_at: u64,
}

impl Ran {
    /// The answer must be that of the plain sequential version.
    fn checked<P, T: PartialEq + Debug>(
        (application, nodes): (Application, u32),
        run: &Run<P>,
        (answer, expected): (T, T),
        looked_at: u64,
    ) -> Result<Ran, Error> {
        if answer != expected {
            return Err(Error(format!("the answer is {answer:?}, and should be {expected:?}")));
        }
        let of = |(_, code): &(&str, u32)| run.threads.get(code).copied().unwrap_or_default();
        let threads = application.handlers().iter().map(of).collect();
        Ok(Ran { nodes, cycles: run.cycles, spent: run.spent, threads, looked_at })
    }
    pub(super) fn millis(&self) -> f64 {
        self.cycles as f64 / CLOCK_HZ * 1e3
    }
    /// So much of the time of all nodes, in percent.
    pub(super) fn share(&self, cycles: u64) -> f64 {
        100.0 * cycles as f64 / (self.cycles as f64 * f64::from(self.nodes))
    }
    /// The time of nodes that had nothing to do, or could not send, in percent.
    pub(super) fn idle(&self) -> f64 {
        let Spent { program, messages, synchronization, .. } = self.spent;
        100.0 - self.share(program + messages + synchronization)
    }
}

impl Application {
    pub(super) const ALL: [Application; 4] = [Lcs, Queens, RadixSort, Tsp];
    /// Cycles of LCS's handler, whatever the length of the node's part.
    pub(super) const LCS_ENTRY: u64 = LCS_CYCLES.entry;

    pub(super) fn name(self) -> &'static str {
        match self {
            Lcs => "LCS",
            Queens => "N-Queens",
            RadixSort => "radix sort",
            Tsp => "TSP",
        }
    }
    /// What these compute, for reports.
    fn notes(applications: &[Application], scale: Scale) -> Vec<String> {
        let sizes = Sizes::of(scale);
        let mut notes: Vec<String> =
            applications.iter().map(|application| application.about(&sizes)).collect();
        if scale == Scale::Small {
            notes.push("The published figures are those of larger problems.".into());
        }
        notes
    }
    fn about(self, sizes: &Sizes) -> String {
        match self {
            Lcs => {
                let (first, second) = sizes.strings;
                format!(
                    "LCS: the longest common subsequence of strings of {first} and {second} letters; seed {SEED}"
                )
            }
            Queens => format!("N-Queens: all ways to place {} queens", sizes.queens),
            RadixSort => {
                format!(
                    "radix sort: {} keys of {KEY_BITS} bits, 4 bits a pass, a message a key; seed {SEED}",
                    sizes.keys
                )
            }
            Tsp => {
                format!("TSP: a shortest tour through {} cities at random places; seed {SEED}", sizes.cities)
            }
        }
    }
    /// What its threads that messages start are called.
    pub(super) fn handlers(self) -> &'static [(&'static str, u32)] {
        match self {
            Lcs => &[("NxtChar", lcs::NEXT_CHARACTER)],
            Queens => &[("NQueens", queens::BOARD), ("NQDone", queens::DONE)],
            RadixSort => &[("Write", radix_sort::WRITE)],
            Tsp => &[("Work", tsp::WORK), ("Want", tsp::WANT), ("Bound", tsp::BOUND)],
        }
    }

    /// Runs it on a J-Machine of this number of nodes, and checks its answer.
    pub(super) fn run(self, nodes: u32, sizes: &Sizes) -> Result<Ran, Error> {
        self.run_on(&simulation::network(nodes), sizes)
    }
    /// The same with another network.
    pub(super) fn run_on(self, network: &Config, sizes: &Sizes) -> Result<Ran, Error> {
        let nodes = network.topology.nodes();
        let ran = match self {
            Lcs => run_lcs(network, sizes.strings),
            Queens => run_queens(network, sizes.queens),
            RadixSort => run_radix_sort(network, sizes.keys),
            Tsp => run_tsp(network, sizes.cities),
        };
        ran.map_err(|Error(why)| Error(format!("{} on {nodes} nodes: {why}", self.name())))
    }
    /// What the nodes were told.
    fn inputs(self) -> Vec<Input> {
        match self {
            Lcs => vec![
                (
                    "LCS: cycles of a character's handler",
                    LCS_CYCLES.entry.to_string(),
                    "fitted to the printed shares of figure 6; with 16 letters 98 % of the printed instructions, 2 \
                     cycles each",
                ),
                ("LCS: cycles for each letter of the node", LCS_CYCLES.character.to_string(), "the same"),
            ],
            Queens => vec![
                (
                    "N-Queens: cycles of a board",
                    QUEENS_CYCLES.board.to_string(),
                    "printed instructions of all threads, over our boards, 2 cycles each",
                ),
                (
                    "N-Queens: cycles of an answer",
                    QUEENS_CYCLES.answer.to_string(),
                    "printed instructions, 2 cycles each",
                ),
            ],
            RadixSort => vec![
                (
                    "radix sort: cycles to count or to send a key",
                    SORT_CYCLES.key.to_string(),
                    "printed instructions, over keys and passes, 2 cycles each",
                ),
                (
                    "radix sort: cycles to write a key",
                    SORT_CYCLES.write.to_string(),
                    "printed instructions, 2 cycles each",
                ),
            ],
            Tsp => vec![(
                "TSP: cycles of a path",
                PATH_CYCLES.to_string(),
                "printed run time of 64 nodes, over printed threads",
            )],
        }
    }
}

/// What an experiment with these shows: what they compute, its tables, what the nodes of this network were told, and
/// its charts.
pub(super) fn report(
    experiment: &Experiment,
    (applications, scale): (&[Application], Scale),
    topology: &str,
    mut tables: Vec<Table>,
    charts: Vec<Chart>,
) -> Report {
    let own = applications.iter().flat_map(|application| application.inputs());
    let inputs: Vec<Input> = simulation::inputs().into_iter().chain(own).collect();
    tables.push(network_inputs(topology, &inputs));
    let notes = Application::notes(applications, scale);
    Report { notes, tables, charts, ..Report::of(experiment, measured_on()) }
}

fn run_lcs(network: &Config, (first, second): (usize, usize)) -> Result<Ran, Error> {
    let nodes = network.topology.nodes();
    let (first, second) = lcs::strings(SEED, first, second);
    let make = |node| lcs::Lcs::new(node, nodes, (&first, &second), LCS_CYCLES);
    let run = simulation::run_on(network, make)?;
    let answer = run.programs.last().map_or(0, |last| last.result);
    Ran::checked((Lcs, nodes), &run, (answer, lcs::sequential(&first, &second)), 0)
}

fn run_queens(network: &Config, size: u32) -> Result<Ran, Error> {
    let nodes = network.topology.nodes();
    let run = simulation::run_on(network, |_| queens::Queens::new(size, QUEENS_DEPTH, QUEENS_CYCLES))?;
    let looked_at = run.programs.iter().map(|part| part.looked_at).sum();
    let answer = run.programs[0].solutions;
    Ran::checked((Queens, nodes), &run, (answer, queens::sequential(size)), looked_at)
}

fn run_radix_sort(network: &Config, keys: usize) -> Result<Ran, Error> {
    let nodes = network.topology.nodes();
    let keys = radix_sort::keys(SEED, keys, KEY_BITS);
    let one = radix_sort::Writes::One;
    let make = |node| radix_sort::RadixSort::new(node, nodes, &keys, KEY_BITS, one, SORT_CYCLES);
    let run = simulation::run_on(network, make)?;
    let sorted: Vec<u64> = run.programs.iter().flat_map(radix_sort::RadixSort::keys).collect();
    let right = sorted == radix_sort::sequential(&keys);
    Ran::checked((RadixSort, nodes), &run, (right, true), 0)
}

fn run_tsp(network: &Config, cities: usize) -> Result<Ran, Error> {
    let nodes = network.topology.nodes();
    let map = tsp::Map::new(SEED, cities);
    let run = simulation::run_on(network, |node| tsp::Tsp::new(node, &map, PATH_CYCLES))?;
    let looked_at = run.programs.iter().map(tsp::Tsp::looked_at).sum();
    let best = run.programs.iter().map(tsp::Tsp::best).max().unwrap_or_default();
    Ran::checked((Tsp, nodes), &run, (best, tsp::sequential(&map)), looked_at)
}
