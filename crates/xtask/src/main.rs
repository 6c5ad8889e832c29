//! `cargo xtask`: the project's own tools.

mod asserts;
mod bench;
mod checkers;
mod circles;
mod compare;
mod connections;
mod grammars;
mod labels;
mod library;
mod live;
mod methods;
mod nodes;
mod prose;
mod rooms;
mod tidy;
mod workers;

use clap::{Parser, Subcommand};
use std::path::{Path, PathBuf};

/// The project's own tools.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Checks what no compiler checks: crate dependencies, file sizes, module comments, links, invariants.
    Tidy {
        /// Prints the label of every invariant, the file that defines it and its first line.
        #[arg(long)]
        index: bool,
    },
    /// Writes what the grammars in editors/ have from the table of operators, and the parser that is made of them.
    Grammars,
    /// Measures the programs in benches/ against the yardstick, in turn.
    Bench(bench::Options),
    /// Measures the programs of examples/compare/ beside the same in other languages, and writes docs/comparison.md.
    Compare {
        /// Runs of each program.
        #[arg(long, default_value_t = 5)]
        rounds: usize,
        /// An executable of Fifth, in place of one that is built.
        #[arg(long)]
        fifth: Option<PathBuf>,
    },
    /// Runs the models of concurrent modules in every order of events (within bounds).
    Loom,
    /// Runs tests without generated code under Miri, which finds undefined behaviour. Needs a nightly toolchain.
    Miri {
        /// Only tests whose path contains this.
        filter: Option<String>,
    },
    /// Runs tests with several threads, the corpus with several workers among them, under the thread sanitizer, which
    /// finds data races. Needs a nightly toolchain.
    Tsan {
        /// Only tests whose path contains this.
        filter: Option<String>,
    },
    /// Runs the programs of the corpus on nodes of one process, as they are written and with goals thrown to random
    /// nodes. `FIFTH_CORPUS` of the environment names some of them.
    Corpus {
        /// How many nodes.
        #[arg(long, value_parser = clap::value_parser!(u32).range(2..=1024))]
        nodes: u32,
        /// Workers of each.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
        workers: u32,
        /// What chooses the nodes.
        #[arg(long, value_name = "SEED", default_value_t = 1)]
        check_nodes: u64,
    },
    /// Runs the protocols' models along random ways, and prints the seed of one that breaks a rule.
    Simulate {
        /// How many seeds.
        #[arg(long, default_value_t = 10_000)]
        seeds: u64,
        /// The first one.
        #[arg(long, default_value_t = 0)]
        from: u64,
    },
    /// Runs a program and prints its CPU seconds and peak memory (used by `bench`).
    #[command(hide = true)]
    Measure {
        /// The program and its arguments.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<String>,
    },
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Tidy { index } => tidy::run(&root(), index),
        Command::Grammars => grammars::run(&root()),
        Command::Bench(options) => bench::run(&root(), &options),
        Command::Compare { rounds, fifth } => compare::run(&root(), rounds, fifth),
        Command::Loom => checkers::loom(&root()),
        Command::Miri { filter } => checkers::miri(&root(), filter.as_deref().unwrap_or_default()),
        Command::Tsan { filter } => checkers::tsan(&root(), filter.as_deref().unwrap_or_default()),
        Command::Corpus { nodes, workers, check_nodes } => {
            checkers::corpus(&root(), nodes, workers, check_nodes)
        }
        Command::Simulate { seeds, from } => checkers::simulate(&root(), from..from.saturating_add(seeds)),
        Command::Measure { command } => bench::measure(&command),
    }
}

/// The workspace's root.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("xtask lies in crates/").to_path_buf()
}
