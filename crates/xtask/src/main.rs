//! `cargo xtask`: the project's own tools.

mod bench;
mod tidy;

use anyhow::{Context, bail};
use clap::{Parser, Subcommand};
use std::path::{Path, PathBuf};
use std::process::Command as Process;

/// The project's own tools.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Checks what no compiler checks: crate dependencies, file sizes, module comments, links.
    Tidy,
    /// Measures the programs in benches/ against the yardstick, in turn.
    Bench(bench::Options),
    /// Runs the models of concurrent modules in every order of events (within bounds).
    Loom,
    /// Runs tests without generated code under Miri, which finds undefined behaviour. Needs a nightly toolchain.
    Miri {
        /// Only tests whose path contains this.
        filter: Option<String>,
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
        Command::Tidy => tidy::run(&root()),
        Command::Bench(options) => bench::run(&root(), &options),
        Command::Loom => loom(&root()),
        Command::Miri { filter } => miri(&root(), filter.as_deref()),
        Command::Measure { command } => bench::measure(&command),
    }
}

/// The models are tests that exist with `--cfg models` only; they have a build directory of their own because the flag
/// reaches all crates.
fn loom(root: &Path) -> anyhow::Result<()> {
    let status = Process::new(env!("CARGO"))
        .current_dir(root)
        .env("RUSTFLAGS", "--cfg models")
        .args([
            "test",
            "--package",
            "runtime",
            "--package",
            "fabric",
            "--lib",
            "--target-dir",
            "target/loom",
            "models::",
        ])
        .status()
        .context("cargo")?;
    if !status.success() {
        bail!("a model failed: {status}");
    }
    Ok(())
}

/// What Miri runs: a crate, and the beginnings of its tests' paths.
const MIRI: [(&str, &[&str]); 3] = [
    ("term", &[""]),
    (
        "runtime",
        &[
            "builtins::floats",
            "builtins::integers",
            "builtins::ordering",
            "builtins::random",
            "builtins::terms_text",
            "builtins::variables",
            "builtins::tests::a_merger_keeps",
            "builtins::tests::a_merger_refuses",
            "builtins::tests::inputs_that",
            "builtins::tests::random_numbers",
            "collect::share::tests::a_list_that_both",
            "print::tests::operators",
            "print::tests::terms",
            "statistics",
            "trace",
        ],
    ),
    ("fabric", &["threads::lane", "threads::tests::a_panic"]),
];
/// Words are pointers, so provenance is exposed; some tests leave a node to the end of the process; clocks are read.
const MIRI_FLAGS: &str = "-Zmiri-permissive-provenance -Zmiri-ignore-leaks -Zmiri-disable-isolation";

/// Absent: what talks to the system (Miri knows few of its calls), terms of millions of words, and what would take hours.
fn miri(root: &Path, filter: Option<&str>) -> anyhow::Result<()> {
    let cargo = || {
        let mut cargo = Process::new("rustup");
        cargo.current_dir(root).args(["run", "nightly", "cargo", "miri"]).env("MIRIFLAGS", MIRI_FLAGS);
        cargo
    };
    if !cargo().arg("--version").output().is_ok_and(|output| output.status.success()) {
        bail!(
            "no Miri: `rustup toolchain install nightly --component miri --component rust-src` installs it"
        );
    }
    for (package, tests) in MIRI {
        let run = ["test", "--package", package, "--lib", "--target-dir", "target/miri", "--"];
        let list = cargo()
            .args(run)
            .args(["--list", "--format=terse"])
            .args(tests)
            .output()
            .context("cargo miri")?;
        if !list.status.success() {
            bail!("{}", String::from_utf8_lossy(&list.stderr));
        }
        let list = String::from_utf8_lossy(&list.stdout).into_owned();
        let names: Vec<&str> = list.lines().filter_map(|line| line.strip_suffix(": test")).collect();
        if names.is_empty() {
            bail!("{package} has no such tests any more");
        }
        let names: Vec<&str> =
            names.into_iter().filter(|name| name.contains(filter.unwrap_or_default())).collect();
        if names.is_empty() {
            continue;
        }
        let status = cargo().args(run).arg("--exact").args(names).status().context("cargo miri")?;
        if !status.success() {
            bail!("Miri on {package}: {status}");
        }
    }
    Ok(())
}

/// The workspace's root.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("xtask lies in crates/").to_path_buf()
}
