//! The command line of the laboratory.

use crate::number;
use clap::{Args, Subcommand, ValueEnum};
use engine::NODES_MAX;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

#[derive(Subcommand, Debug)]
pub(crate) enum Lab {
    /// Lists the experiments.
    List,
    /// Lists the inputs of models that `run --set` changes.
    Inputs,
    /// Runs experiments and prints the published values beside the measured ones.
    #[command(after_help = LAB_HELP)]
    Run(LabRun),
    /// Compares every number that the five papers print with what comes out here.
    #[command(after_help = SCORECARD_HELP)]
    Scorecard(Scorecard),
    /// Measures a network of your own: its file says nodes, links, routing and traffic.
    #[command(after_help = NETWORK_HELP)]
    Network(OwnNetwork),
    /// Shows the laboratory as a live page: experiments start from it, and machines are drawn as they work.
    #[command(after_help = SERVE_HELP)]
    Serve(ServeLab),
    /// Writes the figures of README.md.
    Figures {
        /// The folder: `docs/figures` of the source tree.
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// Size of the problems.
        #[arg(long, value_enum, default_value_t = Scale::Full)]
        scale: Scale,
    },
    /// Does what an experiment counts; `run` starts it.
    #[command(hide = true)]
    Counted {
        /// The experiment.
        experiment: String,
    },
}

const LAB_HELP: &str = "\
Every run is a process of its own, and its answer is checked. A run that something else on this host disturbed is \
repeated, up to three times, and named if it stays disturbed. A terminal shows what is done and how long it takes yet.

DIR gets report.html (everything, with charts), and a folder for each experiment with all of it (report.json), its \
tables (.csv), its charts (.svg) and their data (.csv), each as soon as it is there. Everywhere a value's kind is with it: measured, derived, input, \
fitted, published, or not modelled.

Exit codes:
    0    all experiments ran
    2    wrong usage, or DIR cannot be written
    141  whoever read the output has gone
    255  an experiment failed: a wrong answer, or a program that could not run; the others ran
    Others, of an MPI job: its launcher's, if a process failed.

Examples:
    fifth lab run tr448
    fifth lab run tr448 --runs 1 --scale small
    fifth lab run tr448 --workers 1,2,4
    fifth lab run multipsi/table1 --nodes 2,4
    fifth lab run jmachine --scale small
    fifth lab run all --out results --resume
    fifth lab run jump1 --seed 1..5
    fifth lab run jmachine/fig3 --set buffer-flits=2,3,4,8
    mpirun -n 2 fifth lab run jmachine/table1 jmachine/table3

The last one measures between processes, too: fifth must have been built with its feature `mpi` (docs/laboratory.md).";

const NETWORK_HELP: &str = "\
docs/laboratory.md has all keys. A small file:

    [network]
    topology = \"mesh\"
    sides = [8, 8]
    [traffic]
    pattern = \"uniform\"
    loads = [0.1, 0.2, 0.3, 0.4]

Exit codes:
    0    measured, and what the file expects holds
    1    measured, and something that the file expects does not hold
    2    wrong usage, or the file cannot be read or is wrong; DIR cannot be written

Examples:
    fifth lab network examples/networks/torus.toml
    fifth lab network examples/networks/custom.toml --out results";

const SERVE_HELP: &str = "\
Only this host reaches the page (127.0.0.1), and only with the address that is printed to standard error: it has a \
token, which is new each time. The page runs experiments on this host until Ctrl-C.

Example:
    fifth lab serve";

const SCORECARD_HELP: &str = "\
A row is a number or a finding that a paper prints. Its state says how near our value is, if a program or a network ran \
and was not told it; or that it was told, fitted or computed; or why nothing gives it.

Exit codes: those of `fifth lab run`.

Examples:
    fifth lab scorecard
    fifth lab run all --out results && fifth lab scorecard --from results";

#[derive(Args, Debug)]
pub(crate) struct ServeLab {
    /// The port; 0 is any that is free.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub(crate) port: u16,
}

#[derive(Args, Debug)]
pub(crate) struct OwnNetwork {
    /// The file.
    #[arg(value_name = "FILE.toml")]
    pub(crate) file: PathBuf,
    /// Writes tables, charts and a page to this folder, and makes it if necessary.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Threads that share the runs; they change nothing but the time that it takes. Without it: one for each processor.
    #[arg(long, value_name = "N", value_parser = number::within("the number of threads", 1..=256))]
    pub(crate) threads: Option<u32>,
}

#[derive(Args, Debug)]
pub(crate) struct Scorecard {
    /// Reads the reports that `fifth lab run --out DIR` wrote, and runs nothing.
    #[arg(long, value_name = "DIR")]
    pub(crate) from: Option<PathBuf>,
    /// Writes the scorecard, and a page with it, to this folder, and makes it if necessary.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Prints the tables of docs/laboratory.md instead.
    #[arg(long)]
    pub(crate) markdown: bool,
    /// Runs of each program, and of each measurement of nodes of this host.
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "from")]
    #[arg(value_parser = number::within("the number of runs", 1..=u32::MAX))]
    pub(crate) runs: u32,
    /// Size of the problems.
    #[arg(long, value_enum, default_value_t = Scale::Full, conflicts_with = "from")]
    pub(crate) scale: Scale,
}

#[derive(Args, Debug)]
pub(crate) struct LabRun {
    /// Names of experiments, or of groups (`jmachine`), or `all`.
    #[arg(required = true, value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Writes tables, charts and a page with everything to this folder, and makes it if necessary.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Leaves out what DIR has of this very program, asked for the same, and not disturbed.
    #[arg(long, requires = "out")]
    pub(crate) resume: bool,
    /// Where random numbers begin, instead of 1. With a range every experiment runs once with each: then tables have
    /// medians, and what differs has its least and greatest value.
    #[arg(long, value_name = "N|A..B")]
    pub(crate) seed: Option<Seeds>,
    /// Another value for an input of a model (`fifth lab inputs` lists them). With several values the report says what
    /// they change. Such reports count in no scorecard.
    #[arg(long, value_name = "INPUT=VALUE,..")]
    pub(crate) set: Vec<Inputs>,
    /// Numbers of workers to measure with, separated by commas. Without it: up to the number of processors, each of the
    /// first eight, then doubling.
    #[arg(long, value_name = "N,..", value_delimiter = ',', value_parser = crate::workers::parse)]
    pub(crate) workers: Vec<u32>,
    /// Numbers of nodes of this host, separated by commas, that multipsi experiments measure beside the simulated
    /// machine: threads, and processes if fifth was built with MPI.
    #[arg(long, value_name = "N,..", value_delimiter = ',')]
    #[arg(value_parser = number::within("the number of nodes", 2..=NODES_MAX))]
    pub(crate) nodes: Vec<u32>,
    /// Runs of each program with each number of workers, and of each measurement of nodes of this host.
    #[arg(long, value_name = "N", default_value_t = 3)]
    #[arg(value_parser = number::within("the number of runs", 1..=u32::MAX))]
    pub(crate) runs: u32,
    /// Size of the problems.
    #[arg(long, value_enum, default_value_t = Scale::Full)]
    pub(crate) scale: Scale,
}

/// Seeds of random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Seeds(pub(crate) RangeInclusive<u64>);

/// Most seeds of a run.
const SEEDS_MAX: u64 = 1000;

impl FromStr for Seeds {
    type Err = String;
    fn from_str(text: &str) -> Result<Seeds, String> {
        let (first, last) = text.split_once("..").unwrap_or((text, text));
        let range = first.parse().ok().zip(last.parse().ok()).map(|(first, last)| Seeds(first..=last));
        let is_some = |seeds: &Seeds| (0..SEEDS_MAX).contains(&seeds.0.end().wrapping_sub(*seeds.0.start()));
        let told = || format!("write a number, or the first and the last of at most {SEEDS_MAX}: 1..5");
        range.filter(|seeds| seeds.0.start() <= seeds.0.end() && is_some(seeds)).ok_or_else(told)
    }
}

/// An input and its values.
#[derive(Clone, Debug)]
pub(crate) struct Inputs(pub(crate) Vec<::lab::chosen::Setting>);

impl FromStr for Inputs {
    type Err = String;
    fn from_str(text: &str) -> Result<Inputs, String> {
        ::lab::chosen::Setting::parse(text).map(Inputs)
    }
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// The published sizes, or runs of some seconds.
    Full,
    /// Runs of a moment, to try things out.
    Small,
}
