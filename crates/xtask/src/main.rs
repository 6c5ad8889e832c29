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

/// The workspace's root.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("xtask lies in crates/").to_path_buf()
}
