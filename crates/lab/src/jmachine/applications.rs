//! The paper's four programs on simulated J-Machines of any size, each with its answer checked.

use super::simulation::{self, Run, Threads};
use super::{CLOCK_HZ, Input, SEED, measured_on, network_inputs};
use crate::chosen;
use crate::report::{Chart, Report, Table};
use crate::workloads::queens::Deal;
use crate::workloads::{lcs, queens, radix_sort, tsp};
use crate::{Error, Experiment, Scale};
use fabric::simulated::Config;
use machine::Spent;
use std::collections::BTreeMap;
use std::fmt::Debug;

/// Cycles of an instruction of LCS, on the average: an operand in the chip's memory costs one more.
const CYCLES_AN_INSTRUCTION: u64 = 2;

/// LCS: 232 instructions are printed for a character on 64 nodes, where a node has 16 letters of the first string, and
/// 86,000 for taking the second string of 4,096 characters apart, which node 0 does: 21 a character, a cycle each. Of
/// the 232 so many are the handler's own that the printed shares of `entry` on 64, 256 and 512 nodes come out as well
/// as they can.
const LCS_CYCLES: lcs::Cycles =
    lcs::Cycles { entry: 23 * CYCLES_AN_INSTRUCTION, character: 13 * CYCLES_AN_INSTRUCTION, start_up: 21 };
/// N-Queens: 1,030 threads of 296,000 instructions, and 4,674,890 boards: 65 instructions each; 21 for an answer. The
/// printed run time, less 15 % of idle time, over all instructions is 1.73 cycles each.
const QUEENS_CYCLES: queens::Cycles = queens::Cycles { board: 65 * 173 / 100, answer: 21 * 173 / 100 };
/// Radix sort: 276,000 instructions on each of 64 nodes that count and send 1,024 keys in 7 passes, at 5.5 MIPS; 16
/// cycles for a key that is written. A sequential program is faster: so much that two nodes are 1.3 times as fast.
const SORT_CYCLES: radix_sort::Cycles = radix_sort::Cycles { key: 43, write: 16, alone: 63 };
/// Cycles of a write to external memory, which is what a key costs that stays.
const LOCAL_WRITE: u64 = 6;
/// TSP: 309 instructions of a user's thread are 11 paths; 61 of the system's; 6.25 cycles each, from external memory.
pub(super) const TSP_CYCLES: tsp::Cycles = tsp::Cycles {
    path: PATH_INSTRUCTIONS * 625 / 100,
    call: CALL_INSTRUCTIONS * 625 / 100,
    call_paths: 11,
    task_cities: 5,
};
pub(super) const PATH_INSTRUCTIONS: u64 = 28;
pub(super) const CALL_INSTRUCTIONS: u64 = 61;

/// LCS's thread that takes the second string apart is a task of node 0: no handler has this code.
const START_UP: u32 = u32::MAX;

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
#[derive(Debug)]
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
#[derive(Clone)]
pub(super) struct Ran {
    pub(super) nodes: u32,
    pub(super) cycles: u64,
    pub(super) spent: Spent,
    /// Threads that were started by messages, in the order of [`Application::handlers`].
    pub(super) threads: Vec<Threads>,
    /// Boards or paths that were looked at.
    pub(super) looked_at: u64,
    /// Tasks of TSP, and its null calls.
    pub(super) tasks: u64,
    /// See `tasks`.
    pub(super) calls: u64,
    /// When the last node had its first character of LCS.
    pub(super) last_begins: u64,
    /// By node: messages that could not go at once.
    pub(super) put_off: Vec<u64>,
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
        Ok(Ran {
            nodes,
            cycles: run.cycles,
            spent: run.spent,
            threads,
            looked_at,
            tasks: 0,
            calls: 0,
            last_begins: 0,
            put_off: run.put_off.clone(),
        })
    }
    pub(super) fn millis(&self) -> f64 {
        self.cycles as f64 / CLOCK_HZ * 1e3
    }
    /// So much of the time of all nodes, in percent.
    pub(super) fn share(&self, cycles: u64) -> f64 {
        100.0 * cycles as f64 / (self.cycles as f64 * f64::from(self.nodes))
    }
    /// The time until the last node had its first character of LCS, in percent of the run's.
    pub(super) fn skew(&self) -> f64 {
        100.0 * self.last_begins as f64 / self.cycles as f64
    }
    /// Messages that could not go at once: of the node that had most of them, against that with least of those that had
    /// any.
    pub(super) fn send_faults(&self) -> Option<f64> {
        let had = || self.put_off.iter().filter(|count| **count > 0);
        Some(*had().max()? as f64 / *had().min()? as f64)
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
                    "LCS: the longest common subsequence of strings of {first} and {second} letters; seed {}",
                    chosen::seed(SEED)
                )
            }
            Queens => format!("N-Queens: all ways to place {} queens", sizes.queens),
            RadixSort => {
                format!(
                    "radix sort: {} keys of {KEY_BITS} bits, 4 bits a pass, a message a key; seed {}",
                    sizes.keys,
                    chosen::seed(SEED)
                )
            }
            Tsp => {
                format!(
                    "TSP: a shortest tour through {} cities at random places; seed {}",
                    sizes.cities,
                    chosen::seed(SEED)
                )
            }
        }
    }
    /// What its threads that messages start are called.
    pub(super) fn handlers(self) -> &'static [(&'static str, u32)] {
        match self {
            Lcs => &[("StartUp", START_UP), ("NxtChar", lcs::NEXT_CHARACTER)],
            Queens => &[("NQueens", queens::BOARD), ("NQDone", queens::DONE)],
            RadixSort => &[("Write", radix_sort::WRITE)],
            Tsp => &[("Work", tsp::WORK), ("Want", tsp::WANT), ("Bound", tsp::BOUND)],
        }
    }

    /// Runs it on a J-Machine of this number of nodes, and checks its answer. Several experiments show the same runs.
    pub(super) fn run(self, nodes: u32, sizes: &Sizes) -> Result<Ran, Error> {
        static RUNS: chosen::Memory<Ran> = chosen::Memory::new(BTreeMap::new());
        let name = format!("{self:?} {nodes} {sizes:?}");
        chosen::once(&RUNS, &name, || self.run_on(&simulation::network(nodes), sizes))
    }
    /// The same with another network.
    pub(super) fn run_on(self, network: &Config, sizes: &Sizes) -> Result<Ran, Error> {
        let nodes = network.topology.nodes();
        let ran = match self {
            Lcs => run_lcs(network, sizes.strings),
            Queens => run_queens(network, sizes.queens, Deal::InTurn),
            RadixSort => run_radix_sort(network, sizes.keys),
            Tsp => run_tsp(network, sizes.cities, chosen::seed(SEED), TSP_CYCLES),
        };
        ran.map_err(|Error(why)| Error(format!("{} on {nodes} nodes: {why}", self.name())))
    }
    /// N-Queens on a J-Machine of this number of nodes, whose boards are dealt so.
    pub(super) fn run_dealt(nodes: u32, sizes: &Sizes, deal: Deal) -> Result<Ran, Error> {
        run_queens(&simulation::network(nodes), sizes.queens, deal)
    }
    /// TSP with other cities, and tasks of another number of cities.
    pub(super) fn run_cities(nodes: u32, sizes: &Sizes, seed: u64, task_cities: u32) -> Result<Ran, Error> {
        run_tsp(&simulation::network(nodes), sizes.cities, seed, tsp::Cycles { task_cities, ..TSP_CYCLES })
    }
    /// What the nodes were told.
    fn inputs(self) -> Vec<Input> {
        let of = |what, value: u64, origin| (what, value.to_string(), origin);
        match self {
            Lcs => lcs_inputs(),
            Queens => vec![
                (
                    "N-Queens: cycles of an instruction",
                    "1.73".into(),
                    "fitted to the printed run time and idle time",
                ),
                of(
                    "N-Queens: cycles of a board",
                    QUEENS_CYCLES.board,
                    "fitted: printed instructions of all threads, over our boards, 1.73 cycles each",
                ),
                of(
                    "N-Queens: cycles of an answer",
                    QUEENS_CYCLES.answer,
                    "fitted: printed instructions, 1.73 cycles each",
                ),
                ("N-Queens: how boards are dealt", "to nodes in turn".into(), "assumed; figure 6 has others"),
            ],
            RadixSort => vec![
                of(
                    "radix sort: cycles to count or to send a key",
                    SORT_CYCLES.key,
                    "printed instructions, over keys and passes, at about the printed 5.5 MIPS",
                ),
                of("radix sort: cycles to write a key", SORT_CYCLES.write, "printed"),
                of(
                    "radix sort: cycles of a key and pass on one node",
                    SORT_CYCLES.alone,
                    "fitted: two nodes are 1.3 times as fast",
                ),
            ],
            Tsp => vec![
                of(
                    "TSP: instructions of a path",
                    PATH_INSTRUCTIONS,
                    "printed: 309 a thread, which are 11 paths",
                ),
                of("TSP: paths of a thread of users", TSP_CYCLES.call_paths, "assumed"),
                of(
                    "TSP: instructions of a null call",
                    CALL_INSTRUCTIONS,
                    "printed: of a thread of the system",
                ),
                (
                    "TSP: cycles of an instruction",
                    "6.25".into(),
                    "printed: under 2 MIPS from external memory",
                ),
                ("MIPS from external memory", "2.0".into(), "printed: under 2"),
                of(
                    "TSP: cities of a task's path",
                    TSP_CYCLES.task_cities.into(),
                    "assumed; table 5 has 6, too",
                ),
            ],
        }
    }
}

/// What the nodes of LCS were told.
fn lcs_inputs() -> Vec<Input> {
    let of = |what, value: u64, origin| (what, value.to_string(), origin);
    vec![
        ("LCS: cycles of an instruction", CYCLES_AN_INSTRUCTION.to_string(), "assumed"),
        ("MIPS that 2 cycles an instruction are", "6.25".into(), "assumed; 5.5 is printed as typical"),
        of(
            "LCS: cycles of a character's handler",
            LCS_CYCLES.entry,
            "fitted to the printed shares of figure 6; with 16 letters the printed instructions",
        ),
        of("LCS: cycles for each letter of the node", LCS_CYCLES.character, "fitted, the same"),
        of(
            "LCS: cycles of node 0 for each character, to start",
            LCS_CYCLES.start_up,
            "printed instructions, over characters; a cycle each is assumed",
        ),
    ]
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

/// What a key costs the two nodes if it goes to another one, against one that stays.
pub(super) fn remote_write() -> f64 {
    let sent = simulation::COSTS.send_words.of(3);
    (sent + simulation::COSTS.dispatch + SORT_CYCLES.write) as f64 / LOCAL_WRITE as f64
}

fn run_lcs(network: &Config, (first, second): (usize, usize)) -> Result<Ran, Error> {
    let nodes = network.topology.nodes();
    let (first, second) = lcs::strings(chosen::seed(SEED), first, second);
    let cycles = lcs::Cycles {
        entry: chosen::cycles(LCS_CYCLES.entry),
        character: chosen::cycles(LCS_CYCLES.character),
        start_up: chosen::cycles(LCS_CYCLES.start_up),
    };
    let make = |node| lcs::Lcs::new(node, nodes, (&first, &second), cycles);
    let run = simulation::run_on(network, make)?;
    let answer = run.programs.last().map_or(0, |last| last.result);
    let ran = Ran::checked((Lcs, nodes), &run, (answer, lcs::sequential(&first, &second)), 0)?;
    let mut ran = Ran { last_begins: run.programs.last().map_or(0, |last| last.first.0), ..ran };
    let start_up = cycles.start_up * second.len() as u64;
    ran.threads[0] = Threads { count: 1, cycles: start_up, words: 1 };
    Ok(ran)
}

fn run_queens(network: &Config, size: u32, deal: Deal) -> Result<Ran, Error> {
    let nodes = network.topology.nodes();
    let cycles = queens::Cycles {
        board: chosen::cycles(QUEENS_CYCLES.board),
        answer: chosen::cycles(QUEENS_CYCLES.answer),
    };
    let make = |_| queens::Queens::new(size, QUEENS_DEPTH, deal, cycles);
    let run = simulation::run_on(network, make)?;
    let looked_at = run.programs.iter().map(|part| part.looked_at).sum();
    let answer = run.programs[0].solutions;
    Ran::checked((Queens, nodes), &run, (answer, queens::sequential(size)), looked_at)
}

fn run_radix_sort(network: &Config, keys: usize) -> Result<Ran, Error> {
    let nodes = network.topology.nodes();
    let keys = radix_sort::keys(chosen::seed(SEED), keys, KEY_BITS);
    let one = radix_sort::Writes::One;
    let cycles = radix_sort::Cycles {
        key: chosen::cycles(SORT_CYCLES.key),
        write: chosen::cycles(SORT_CYCLES.write),
        alone: chosen::cycles(SORT_CYCLES.alone),
    };
    let make = |node| radix_sort::RadixSort::new(node, nodes, &keys, KEY_BITS, one, cycles);
    let run = simulation::run_on(network, make)?;
    let sorted: Vec<u64> = run.programs.iter().flat_map(radix_sort::RadixSort::keys).collect();
    let right = sorted == radix_sort::sequential(&keys);
    Ran::checked((RadixSort, nodes), &run, (right, true), 0)
}

fn run_tsp(network: &Config, cities: usize, seed: u64, cycles: tsp::Cycles) -> Result<Ran, Error> {
    let nodes = network.topology.nodes();
    let map = tsp::Map::new(seed, cities);
    let cycles =
        tsp::Cycles { path: chosen::cycles(cycles.path), call: chosen::cycles(cycles.call), ..cycles };
    let run = simulation::run_on(network, |node| tsp::Tsp::new(node, nodes, &map, cycles))?;
    let looked_at = run.programs.iter().map(tsp::Tsp::looked_at).sum();
    let calls: u64 = run.programs.iter().map(tsp::Tsp::calls).sum();
    let best = run.programs.iter().map(tsp::Tsp::best).max().unwrap_or_default();
    let mut ran = Ran::checked((Tsp, nodes), &run, (best, tsp::sequential(&map)), looked_at)?;
    // Null calls are the system's.
    ran.spent.program -= calls * cycles.call;
    ran.spent.synchronization += calls * cycles.call;
    Ok(Ran { tasks: tsp::tasks(&map, cycles.task_cities).len() as u64, calls, ..ran })
}
