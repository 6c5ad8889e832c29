//! The laboratory: each published table or figure is an experiment, whose report has the published values beside the
//! measured ones.
//!
//! An experiment ([`Experiment`]) asks a [`Host`] to run programs, and makes a [`report::Report`] of what was
//! measured; `text`, `csv`, `svg` and `html` are ways to write one. A number in a report was measured in that run, or
//! is marked as published.
//!
//! Absent on purpose: files, terminals and processes. The host (the command) has them.

#![forbid(unsafe_code)]

pub mod answers;
mod axis;
mod cell;
pub mod chosen;
pub mod csv;
pub mod disturbed;
pub mod html;
mod jmachine;
mod jump1;
pub mod movie;
mod multipsi;
mod networks;
pub mod own;
pub mod programs;
pub mod provenance;
pub mod report;
pub mod scorecard;
mod staff;
pub mod svg;
mod symmetry;
pub mod text;
pub mod timeline;
mod tr448;
pub mod variants;
pub mod workloads;

pub use engine::record;

use programs::Program;
use record::Record;
use report::Cell;

/// One published table or figure, or a set of them from one paper.
pub struct Experiment {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What it is about, in a few words.
    pub title: &'static str,
    /// The paper.
    pub source: &'static str,
    /// What it shows, in a few sentences.
    pub about: &'static str,
    /// Whether it times programs or threads of this host even where no nodes of it are asked for
    /// ([`Config::nodes`]): nothing else may run beside it.
    pub times_host: bool,
    /// Measures and reports.
    pub run: fn(&Experiment, &mut dyn Host, &Config) -> Result<report::Report, Error>,
}

/// All experiments.
pub const EXPERIMENTS: &[Experiment] = &[
    tr448::EXPERIMENT,
    symmetry::EXPERIMENT,
    jmachine::FIG2,
    jmachine::FIG3,
    jmachine::FIG4,
    jmachine::TABLE1,
    jmachine::TABLE2,
    jmachine::TABLE3,
    jmachine::TABLE4,
    jmachine::FIG5,
    jmachine::FIG6,
    jmachine::TABLE5,
    multipsi::TABLE1,
    multipsi::FIG4,
    multipsi::FIG5,
    jump1::FIG11,
    jump1::TABLE3,
    jump1::FIG12,
    jump1::TABLE4,
    jump1::DISTANCES,
    jump1::DIRECTORIES,
    jmachine::RDT,
    staff::TABLE1,
    staff::MISSES,
    staff::MATMUL,
    staff::FFT,
    staff::LU,
    staff::TABLE3,
    networks::BOOKSIM,
    networks::ROUTING,
];

/// Those that take longest, the longest first: where several run at a time these begin before the others, so that
/// none runs on alone at the end.
const LONGEST: [&Experiment; 9] = [
    &multipsi::TABLE1,
    &jmachine::FIG5,
    &multipsi::FIG5,
    &jmachine::RDT,
    &symmetry::EXPERIMENT,
    &jmachine::FIG6,
    &jmachine::TABLE5,
    &networks::BOOKSIM,
    &multipsi::FIG4,
];

impl Experiment {
    /// In which order experiments begin where several run at a time: the least first.
    pub fn begins(&self) -> usize {
        LONGEST.iter().position(|long| long.name == self.name).unwrap_or(LONGEST.len())
    }
}

/// The experiment of a name.
pub fn find(name: &str) -> Option<&'static Experiment> {
    EXPERIMENTS.iter().find(|experiment| experiment.name == name)
}

/// Measures, in the processes of an MPI job: all call it with the same, and the first of them has the figures.
#[cfg(feature = "mpi")]
pub type Between = fn(&mut fabric::mpi::Session, &Config) -> Result<report::Table, Error>;

/// What an experiment of this name measures between processes, if it does.
#[cfg(feature = "mpi")]
pub fn between_processes(name: &str) -> Option<Between> {
    match name {
        "jmachine/table1" => Some(jmachine::messages),
        "jmachine/table3" => Some(jmachine::barriers),
        _ => None,
    }
}

/// Does what an experiment counts. `mark` is called before and after each operation.
pub type Counted = fn(mark: &mut dyn FnMut()) -> Result<(), Error>;

/// What is counted for the experiment of this name, if anything is.
pub fn counted(name: &str) -> Option<Counted> {
    (name == multipsi::FIG4.name).then_some(multipsi::fig4::operations as Counted)
}

/// How much is measured.
#[derive(Clone, Debug)]
pub struct Config {
    /// Numbers of workers, each measured.
    pub workers: Vec<u32>,
    /// Numbers of nodes of this host, each measured by experiments that simulate nodes otherwise.
    pub nodes: Vec<u32>,
    /// Runs of each program with each number of workers.
    pub runs: u32,
    /// Size of the problems.
    pub scale: Scale,
}

/// Size of the problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// The published sizes, or runs of some seconds.
    Full,
    /// Runs of a moment: to see whether everything works. Their figures mean little.
    Small,
}

/// One run that an experiment wants.
#[derive(Clone, Debug)]
pub struct Job {
    /// The program.
    pub program: &'static Program,
    /// Its arguments.
    pub arguments: Vec<&'static str>,
    /// Where it runs.
    pub place: Place,
}

/// What runs a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A node with this number of workers.
    Workers(u32),
    /// Nodes that are threads of a process.
    Threads(u32),
    /// Nodes that are processes under an MPI launcher.
    Processes(u32),
    /// A simulated machine.
    Simulated {
        /// As the option `--simulate` names it.
        machine: String,
        /// Structures have identities: the option `--structure-ids`.
        identities: bool,
    },
}

/// What a run gave.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The program's output.
    pub stdout: String,
    /// The figures.
    pub record: Record,
}

/// What runs programs for experiments.
pub trait Host {
    /// Runs a program in a fresh process. The error says why it could not.
    fn run(&mut self, job: &Job) -> Result<Finished, String>;
    /// Says which simulated machines will be run, in this order: several may be simulated at the same time, before they
    /// are asked for.
    fn will_run(&mut self, jobs: &[Job]) {
        let _ = jobs;
    }
    /// Runs what [`counted`] gives for this experiment, in a fresh process, and gives the instructions between the
    /// first two marks, between the next two, and so on. The error says why it could not.
    fn count(&mut self, experiment: &str) -> Result<Vec<u64>, String> {
        Err(format!("instructions of {experiment} cannot be counted here"))
    }
    /// Whether it can run nodes that are processes.
    fn has_launcher(&self) -> bool {
        false
    }
    /// Tells somebody who watches what comes next: part `part` of `parts`.
    fn progress(&mut self, part: usize, parts: usize, what: &str);
    /// Tells somebody who watches a row of what is being measured: heads and cells. The report has it, too, or what
    /// follows from it.
    fn row(&mut self, title: &str, cells: &[(&str, Cell)]) {
        let _ = (title, cells);
    }
    /// The machine that measures, for the record.
    fn machine(&self) -> String;
    /// How long threads of the last run were ready and had no processor, all together, as far as the host knows.
    fn waited_seconds(&mut self) -> f64 {
        0.0
    }
}

/// Why an experiment gave no report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(pub String);

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
