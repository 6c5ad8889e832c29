//! The command line: what may be said, and the help that teaches it.

use crate::job;
use crate::nodes::Nodes;
use crate::number;
use crate::workers::Workers;
use clap::{Args, Parser, Subcommand, ValueEnum};
use engine::{NODES_MAX, Settings, Simulate};
use std::ffi::OsString;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

/// Runs KL1 programs: goals that communicate through single-assignment variables, compiled to native code.
#[derive(Parser, Debug)]
#[command(name = "fifth", version, subcommand_required = true, arg_required_else_help = true, after_help = AFTER_HELP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const AFTER_HELP: &str = "\
A first program, hello.kl1:

    :- module main.
    main :- true | io:outstream([print(hello), nl]).

    fifth run hello.kl1

Exit codes:
    0    the program ended normally
    N    the program called unix:exit(N)
    2    wrong usage, a file that cannot be read or written, or errors in the program text
    101  a bug in Fifth itself (please report it)
    129  the terminal was closed (SIGHUP), as a shell says it
    130  interrupted (Ctrl-C or SIGTERM): the goals that wait are listed; SIGQUIT lists them and the run goes on
    141  whoever read the output has gone, as `| head -1` does; nothing is said
    255  the program failed: reduction or unification failure, error, heap limit, memory that the system \
refuses, or perpetual suspension (deadlock)

The tutorial is docs/tutorial.md; the language's library is described in docs/library.md.";

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Compiles a program in memory and runs it.
    #[command(after_help = "Examples:
    fifth run examples/queens.kl1
    fifth run main.kl1 parser.kl1 -- input.txt -v
    fifth run --stats --heap-limit 512m program.kl1")]
    Run(Run),
    /// Reports the errors and warnings of a program without running it.
    Check(Check),
    /// Writes a stand-alone executable.
    #[command(after_help = "Example:
    fifth build examples/queens.kl1 -o queens && ./queens
    fifth build queens.kl1 && ./queens

The executable has options of its own: `./queens --help` lists them.")]
    Build(Build),
    /// Says what the code of an error or warning means.
    #[command(after_help = "Example:
    fifth explain shadowed-clause")]
    Explain {
        /// A code, as messages have it in brackets; without one, all are listed.
        #[arg(value_name = "CODE")]
        code: Option<String>,
    },
    /// Defines clauses and runs goals interactively.
    #[command(
        after_help = "In the REPL, a line `p(X) :- G | B.` defines a clause; `?- p(X).` runs a goal and prints \
            bindings as they arrive; :help says more."
    )]
    Repl(Repl),
    /// Measures published tables and figures again.
    #[command(
        subcommand_required = true,
        arg_required_else_help = true,
        after_help = "Examples:
    fifth lab list
    fifth lab run tr448 --out results

What each experiment shows is described in docs/laboratory.md."
    )]
    Lab {
        #[command(subcommand)]
        command: Lab,
    },
    /// Prints a completion script for a shell.
    #[command(
        after_help = "Example (bash):\n    fifth completions bash > ~/.local/share/bash-completion/completions/fifth"
    )]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

impl Command {
    /// How it says what is wrong.
    pub(crate) fn message_format(&self) -> MessageFormat {
        match self {
            Command::Run(Run { sources, .. })
            | Command::Check(Check { sources })
            | Command::Build(Build { sources, .. }) => sources.message_format,
            Command::Repl(_)
            | Command::Lab { .. }
            | Command::Completions { .. }
            | Command::Explain { .. } => MessageFormat::Human,
        }
    }
}

/// The program text.
#[derive(Args, Debug, Clone)]
pub(crate) struct Sources {
    /// KL1 files; `-` is standard input. A module that they call and do not contain is looked for in a file of its name
    /// beside the first, then in the library.
    #[arg(required = true, value_name = "FILE.kl1")]
    pub(crate) files: Vec<PathBuf>,
    /// How errors and warnings are printed.
    #[arg(long, value_enum, default_value_t = MessageFormat::Human)]
    pub(crate) message_format: MessageFormat,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageFormat {
    /// For people, with the text and marks.
    Human,
    /// One JSON object a line, for editors.
    Json,
}

/// Whether a command line that is wrong in some other place asks for JSON.
pub(crate) fn wants_json(arguments: impl Iterator<Item = std::ffi::OsString>) -> bool {
    let arguments: Vec<_> = arguments.take_while(|argument| argument != "--").collect();
    arguments.iter().any(|argument| argument == "--message-format=json")
        || arguments.windows(2).any(|pair| pair[0] == "--message-format" && pair[1] == "json")
}

/// What is wrong with a command line, in one line and without the usage.
pub(crate) fn message(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let first = text.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ");
    first.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Tokens of the first file.
    Tokens,
    /// Clauses with all macros expanded.
    Clauses,
    /// Decision trees.
    Tree,
    /// Fifth's intermediate representation.
    Ir,
    /// Cranelift's intermediate representation.
    Clif,
    /// Machine code.
    Asm,
}

impl Stage {
    /// The same of the engine, of those that come behind the clauses.
    pub(crate) fn of_code(self) -> engine::Stage {
        match self {
            Stage::Tokens | Stage::Clauses | Stage::Ir => engine::Stage::Ir,
            Stage::Tree => engine::Stage::Tree,
            Stage::Clif => engine::Stage::Clif,
            Stage::Asm => engine::Stage::Asm,
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) sources: Sources,
    #[command(flatten)]
    pub(crate) running: Running,
    /// Prints this stage of the compilation instead of running.
    #[arg(long, value_enum, value_name = "STAGE")]
    pub(crate) dump: Option<Stage>,
    /// Ends when the process that has started it does (`fifth lab`).
    #[arg(long, hide = true)]
    pub(crate) end_with_parent: bool,
    /// Arguments for the program (unix:argv).
    #[arg(last = true, value_name = "ARGUMENT")]
    pub(crate) arguments: Vec<OsString>,
}

/// How a program is run.
#[derive(Args, Debug, Clone)]
pub(crate) struct Running {
    #[command(flatten)]
    pub(crate) workers: Workers,
    #[command(flatten)]
    pub(crate) nodes: Nodes,
    /// Runs the program on the nodes of a simulated machine, in virtual time: `multipsi:16` is the Multi-PSI with 16
    /// nodes (any square up to 1600), `pim:16` one of faster processors and channels. Settings may follow:
    /// `multipsi:16,reduction=41us` is the time of a reduction, `depth=off`, `level` or `adaptive` how much of a
    /// structure an answer brings, `tables=black` makes no reference white. With --stats: what each node and the
    /// network did, the same each time.
    #[arg(long, value_name = "MACHINE", conflicts_with_all = ["count", "trace", "schedule"])]
    pub(crate) simulate: Option<Simulate>,
    /// Prints reductions, suspensions, collections, words and times to standard error at the end. (Executables of
    /// `fifth build` do not count reductions.)
    #[arg(long)]
    pub(crate) stats: bool,
    /// Writes the same figures and every collection to a file, as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) stats_file: Option<PathBuf>,
    /// Writes a timeline to a file: what each worker did when, to be opened at ui.perfetto.dev. Executables of `fifth
    /// build` take this option too.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Ends the program with an error when its data and goals, of all workers, need more than this (bytes; k, m, g for
    /// powers of 1024).
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) heap_limit: Option<u64>,
    /// Collects garbage at every opportunity and checks the heap after it (to find bugs in Fifth). With a number: at
    /// random ones, and goals change workers at random.
    #[arg(long, hide = true, value_name = "SEED", require_equals = true, num_args = 0..=1)]
    pub(crate) check_heap: Option<Option<u64>>,
    /// Lets workers reduce one after the other, in an order from this seed: then a run is the same each time (to find
    /// bugs in Fifth).
    #[arg(long, hide = true, value_name = "SEED", require_equals = true)]
    pub(crate) schedule: Option<u64>,
    /// The weight above which a predicate becomes several native functions (to find bugs in Fifth).
    #[arg(long, hide = true, value_name = "WEIGHT", require_equals = true)]
    pub(crate) pieces: Option<u32>,
}

impl Running {
    /// Those of no option, with this number of workers.
    pub(crate) const fn with(workers: Workers) -> Running {
        Running {
            workers,
            nodes: Nodes::ALONE,
            simulate: None,
            stats: false,
            stats_file: None,
            trace: None,
            heap_limit: None,
            check_heap: None,
            schedule: None,
            pieces: None,
        }
    }

    /// As the engine wants them.
    pub(crate) fn settings(&self) -> anyhow::Result<Settings> {
        let mut settings = Settings {
            workers: None,
            nodes: self.nodes.settings(),
            simulate: self.simulate,
            counts: self.stats || self.stats_file.is_some(),
            traces: self.trace.is_some(),
            heap_limit: self.heap_limit,
            address_space: None,
            check_heap: self.check_heap,
            schedule: self.schedule,
            pieces: self.pieces,
        };
        let alone = job::size() == 1 && settings.node_count() == 1;
        settings.workers = self.workers.number(alone)?;
        Ok(settings)
    }
}

#[derive(Args, Debug)]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) sources: Sources,
}

#[derive(Args, Debug)]
pub(crate) struct Build {
    #[command(flatten)]
    pub(crate) sources: Sources,
    /// The executable to write. Without it: the first file without `.kl1`, which must not be there unless Fifth has
    /// built it.
    #[arg(short, long, value_name = "EXECUTABLE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct Repl {
    /// Files to define first.
    #[arg(value_name = "FILE.kl1")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) workers: Workers,
}

/// What an executable that `fifth build` wrote may be told before its program's own arguments.
#[derive(Parser, Debug)]
#[command(about = None, after_help = EXECUTABLE_HELP)]
pub(crate) struct Executable {
    #[command(flatten)]
    pub(crate) running: Running,
    /// Arguments for the program (unix:argv).
    #[arg(trailing_var_arg = true, value_name = "ARGUMENT")]
    pub(crate) arguments: Vec<OsString>,
}

const EXECUTABLE_HELP: &str = "These options are Fifth's, which compiled this program. They end at the first argument \
    without a dash, or at `--`: what follows is the program's own.";

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
pub(crate) struct Inputs(pub(crate) Vec<lab::chosen::Setting>);

impl FromStr for Inputs {
    type Err = String;
    fn from_str(text: &str) -> Result<Inputs, String> {
        lab::chosen::Setting::parse(text).map(Inputs)
    }
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// The published sizes, or runs of some seconds.
    Full,
    /// Runs of a moment, to try things out.
    Small,
}

/// A number of bytes, with an optional suffix.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let lower = text.to_ascii_lowercase();
    let (digits, shift) = match lower.chars().last() {
        Some('k') => (&lower[..lower.len() - 1], 10),
        Some('m') => (&lower[..lower.len() - 1], 20),
        Some('g') => (&lower[..lower.len() - 1], 30),
        _ => (lower.as_str(), 0),
    };
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return Err(format!("`{text}` is not a size; write 64m, 2g or a number of bytes"));
    }
    let shifted = |number: u64| number.checked_shl(shift).filter(|size| size >> shift == number);
    let size = digits.parse().ok().and_then(shifted);
    let size = size.ok_or_else(|| format!("`{text}` is out of range: less than 17179869184g"))?;
    if size < 1 << 20 { Err(format!("`{text}` is out of range: at least 1m")) } else { Ok(size) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_suffixes_and_limits() {
        assert_eq!(size("64m"), Ok(64 << 20));
        assert_eq!(size("2G"), Ok(2 << 30));
        assert_eq!(size("2097152"), Ok(2 << 20));
        for wrong in ["", "m", "1k", "12q", "-5m", "99999999999g"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
        let least = size("1k").err();
        assert_eq!(least.as_deref(), Some("`1k` is out of range: at least 1m"));
        let most = size("99999999999999999999999999").err();
        assert!(most.is_some_and(|told| told.ends_with("is out of range: less than 17179869184g")));
        let most = size("17179869184g").err();
        assert_eq!(most.as_deref(), Some("`17179869184g` is out of range: less than 17179869184g"));
    }

    #[test]
    fn seeds_are_a_number_or_a_range() {
        let seeds = |text: &str| text.parse::<Seeds>().map(|seeds| seeds.0);
        assert_eq!((seeds("7"), seeds("1..5")), (Ok(7..=7), Ok(1..=5)));
        for wrong in ["", "..", "5..1", "a", "-1", "1..", "1...5", "0..1000", "1..18446744073709551615"] {
            assert!(seeds(wrong).is_err_and(|told| told.contains("1..5")), "{wrong}");
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
