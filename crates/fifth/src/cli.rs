//! The command line: what may be said, and the help that teaches it.

mod lab;
mod tools;

pub(crate) use self::lab::{Inputs, Lab, LabRun, OwnNetwork, Scale, Scorecard, Seeds, ServeLab};
pub(crate) use tools::{Doc, Fmt, New, Test, TestFormat};

use crate::job;
use crate::nodes::Nodes;
use crate::workers::Workers;
use clap::{Args, Parser, Subcommand, ValueEnum};
use engine::{Settings, Simulate};
use runtime::worker::Without;
use std::ffi::OsString;
use std::path::PathBuf;
use tools::{DOC_HELP, FMT_HELP, NEW_HELP, TEST_HELP};

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
    /// Writes program texts in one style, with their comments.
    #[command(after_help = FMT_HELP)]
    Fmt(Fmt),
    /// Runs the tests of programs and modules, each in a process of its own.
    #[command(after_help = TEST_HELP)]
    Test(Test),
    /// Prints what documentation comments say, as Markdown.
    #[command(after_help = DOC_HELP)]
    Doc(Doc),
    /// Makes a folder with a program, its tests and a README.
    #[command(after_help = NEW_HELP)]
    New(New),
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
    /// Answers an editor: a language server on standard input and output.
    Lsp,
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
            | Command::Lsp
            | Command::Completions { .. }
            | Command::Fmt(_)
            | Command::Test(_)
            | Command::Doc(_)
            | Command::New(_)
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
    /// A folder where such modules are looked for, too, behind that of the first file; may be given again.
    #[arg(long, value_name = "DIR")]
    pub(crate) library: Vec<PathBuf>,
    /// A shared library with foreign predicates, which the program may call (docs/c.md); may be given again.
    #[arg(long = "with", value_name = "LIBRARY.so")]
    pub(crate) foreign: Vec<PathBuf>,
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
    /// Writes where time goes to a file, by predicate and line: for `pprof` if its name ends in `.pb.gz` or `.pprof`,
    /// else as folded lines, which tools for flame graphs read. Executables of `fifth build` have no such option.
    #[arg(long, value_name = "FILE", conflicts_with = "simulate")]
    pub(crate) profile: Option<PathBuf>,
    /// Shows the program while it runs, on a page of this host whose address is said on standard error: ready and
    /// waiting goals, what each worker does, heap and collections, messages between nodes; and stops it. PORT: where,
    /// instead of any port that is free. See docs/observe.md.
    #[arg(long, value_name = "PORT", require_equals = true, num_args = 0..=1, default_missing_value = "0")]
    pub(crate) observe: Option<u16>,
    /// Writes the names of generated code to /tmp/perf-PID.map, where `perf report` looks for them.
    #[arg(long)]
    pub(crate) perf_map: bool,
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
    /// Rules of the load balance that do not hold, to measure what each is worth (docs/balance.md).
    #[arg(long, hide = true, value_name = "RULE,..", require_equals = true)]
    pub(crate) without: Option<Without>,
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
            profile: None,
            observe: None,
            perf_map: false,
            heap_limit: None,
            check_heap: None,
            schedule: None,
            pieces: None,
            without: None,
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
            places: self.profile.is_some() || self.perf_map,
            heap_limit: self.heap_limit,
            address_space: None,
            check_heap: self.check_heap,
            schedule: self.schedule,
            pieces: self.pieces,
            without: self.without.unwrap_or_default(),
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
