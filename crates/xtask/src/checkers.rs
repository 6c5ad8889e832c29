//! Tools that run tests and find what tests alone do not: loom (every order of events), Miri (undefined behaviour),
//! the thread sanitizer (data races).

use anyhow::{Context, bail};
use std::ops::Range;
use std::path::Path;
use std::process::Command;

/// Tests of a package: the arguments that choose their executable, and the beginnings of their paths.
type Tests = (&'static str, &'static [&'static str], &'static [&'static str]);

/// The models are tests that exist with `--cfg models` only; they have a build directory of their own because the flag
/// reaches all crates.
pub(crate) fn loom(root: &Path) -> anyhow::Result<()> {
    let status = Command::new(env!("CARGO"))
        .current_dir(root)
        .env("RUSTFLAGS", "--cfg models")
        .args(["test", "--package", "runtime", "--package", "fabric", "--package", "dsm", "--lib"])
        .args(["--target-dir", "target/loom", "models::"])
        .status()
        .context("cargo")?;
    if !status.success() {
        bail!("a model failed: {status}");
    }
    Ok(())
}

/// The corpus on this number of nodes, each with this number of workers; the test reads both, and the seed.
pub(crate) fn corpus(root: &Path, nodes: u32, workers: u32, seed: u64) -> anyhow::Result<()> {
    let status = Command::new(env!("CARGO"))
        .current_dir(root)
        .envs([("FIFTH_NODES", nodes.to_string()), ("FIFTH_SEED", seed.to_string())])
        .env("FIFTH_NODE_WORKERS", workers.to_string())
        .args(["test", "--package", "fifth", "--test", "programs", "several_nodes_do_what_programs_say"])
        .status()
        .context("cargo")?;
    if !status.success() {
        bail!(
            "a program does something else on {nodes} nodes of {workers} workers, or with seed {seed}: {status}"
        );
    }
    Ok(())
}

/// The tests of a protocol that go along random ways read which seeds they are to take.
pub(crate) fn simulate(root: &Path, seeds: Range<u64>) -> anyhow::Result<()> {
    let status = Command::new(env!("CARGO"))
        .current_dir(root)
        .env("FIFTH_SEEDS", format!("{}..{}", seeds.start, seeds.end))
        .args(["test", "--release", "--package", "distribution", "--package", "dsm", "--lib"])
        .args(["random_runs_hold_every_invariant", "--", "--nocapture"])
        .status()
        .context("cargo")?;
    if !status.success() {
        bail!("a run broke a rule: {status}");
    }
    Ok(())
}

const MIRI: [Tests; 3] = [
    ("term", &["--lib"], &[""]),
    (
        "runtime",
        &["--lib"],
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
            "terms::print::tests::operators",
            "terms::print::tests::terms",
            "reports::statistics",
            "reports::trace",
        ],
    ),
    ("fabric", &["--lib"], &["threads::lane", "threads::tests::a_panic"]),
];
/// Words are pointers, so provenance is exposed; some tests leave a node to the end of the process; clocks are read.
const MIRI_FLAGS: &str = "-Zmiri-permissive-provenance -Zmiri-ignore-leaks -Zmiri-disable-isolation";

/// Absent: what talks to the system (Miri knows few of its calls), terms of millions of words, and what would take
/// hours.
pub(crate) fn miri(root: &Path, filter: &str) -> anyhow::Result<()> {
    let cargo = || {
        let mut cargo = nightly(root);
        cargo.arg("miri").env("MIRIFLAGS", MIRI_FLAGS);
        cargo
    };
    if !cargo().arg("--version").output().is_ok_and(|output| output.status.success()) {
        bail!(
            "no Miri: `rustup toolchain install nightly --component miri --component rust-src` installs it"
        );
    }
    let test = || {
        let mut test = cargo();
        test.args(["test", "--target-dir", "target/miri"]);
        test
    };
    run_all("Miri", test, &MIRI, filter)
}

const TSAN: [Tests; 5] = [
    ("runtime", &["--lib"], &["coordination::team::", "collect::share::"]),
    ("fabric", &["--lib"], &["threads::"]),
    ("machine", &["--test", "fabrics"], &["machines_conform_on_threads"]),
    ("fifth", &["--test", "programs"], &["several_workers"]),
    ("fifth", &["--test", "stress"], &[""]),
];

/// The standard library is built again, because what it does has to be seen, too. Generated code is not seen: only
/// what it calls.
pub(crate) fn tsan(root: &Path, filter: &str) -> anyhow::Result<()> {
    if !nightly(root).arg("--version").output().is_ok_and(|output| output.status.success()) {
        bail!("no nightly toolchain: `rustup toolchain install nightly --component rust-src` installs it");
    }
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let test = || {
        let mut test = nightly(root);
        test.env("RUSTFLAGS", "-Zsanitizer=thread").env("TSAN_OPTIONS", "halt_on_error=1");
        test.args(["test", "-Zbuild-std", "--target-dir", "target/tsan", "--target", &target]);
        test
    };
    run_all("the thread sanitizer", test, &TSAN, filter)
}

fn nightly(root: &Path) -> Command {
    let mut cargo = Command::new("rustup");
    cargo.current_dir(root).args(["run", "nightly", "cargo"]);
    cargo
}

/// Runs those of the tests whose paths contain the filter. There must be one.
fn run_all(tool: &str, test: impl Fn() -> Command, all: &[Tests], filter: &str) -> anyhow::Result<()> {
    let mut count = 0;
    for tests in all {
        count += run(tool, &test, tests, filter)?;
    }
    if count == 0 {
        bail!("none of the tests that run under {tool} has `{filter}` in its path");
    }
    Ok(())
}

/// Answers how many there were. That there are none of a beginning would be a mistake in the lists above.
fn run(
    tool: &str,
    test: impl Fn() -> Command,
    &(package, target, beginnings): &Tests,
    filter: &str,
) -> anyhow::Result<usize> {
    let arguments = [&["--package", package], target, &["--"]].concat();
    let list = test().args(&arguments).args(["--list", "--format=terse"]).output().context("cargo")?;
    if !list.status.success() {
        bail!("{}", String::from_utf8_lossy(&list.stderr));
    }
    let list = String::from_utf8_lossy(&list.stdout);
    let names: Vec<&str> = list.lines().filter_map(|line| line.strip_suffix(": test")).collect();
    if let Some(none) = beginnings.iter().find(|start| !names.iter().any(|name| name.starts_with(*start))) {
        bail!("{package} has no tests {none} any more");
    }
    let wanted =
        |name: &&str| beginnings.iter().any(|start| name.starts_with(start)) && name.contains(filter);
    let names: Vec<&str> = names.into_iter().filter(wanted).collect();
    let count = names.len();
    if count == 0 {
        return Ok(0);
    }
    let status = test().args(&arguments).arg("--exact").args(names).status().context("cargo")?;
    if !status.success() {
        bail!("{tool} on {package}: {status}");
    }
    Ok(count)
}
