//! `cargo xtask bench`: the programs in `benches/` (a file, or a folder with `main.kl1` and the modules that it calls),
//! each beside the yardstick, in turn; with `--network`, the
//! simulated network, with `--messages`, what goes between threads and processes, with `--dsm`, shared memory, with
//! `--nodes`, KL1 on several nodes, with `--live`, how soon a run hears the world outside, with `--library`, programs
//! that use the library, with `--connections`, a web server with many connections, with `--default`, what more than one
//! worker brings, and with `--ablate`, what each rule of its balance does.
//!
//! Times are CPU seconds (user + system) of the whole process, compilation of the program included. The yardstick
//! (`benches/yardstick.c`, `cc -O2`) carries figures from one machine to another: `benches/klic.csv` holds KLIC's
//! time divided by the yardstick's, so `KLIC / Fifth` below is a ratio within one run. Programs that are in
//! `benches/c/`, too, run beside those: C that computes the same and allocates alike.

use crate::{connections, library, live, nodes, workers};
use anyhow::{Context, bail};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The file of a folder of `benches/` that a program begins with.
const MAIN: &str = "main.kl1";

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only programs whose name contains this.
    filter: Option<String>,
    /// Runs of each program.
    #[arg(long, default_value_t = 10)]
    rounds: usize,
    /// A second fifth executable to compare with, run in turn with the first.
    #[arg(long)]
    baseline: Option<PathBuf>,
    /// Writes the measurements as JSON.
    #[arg(long)]
    json: Option<PathBuf>,
    /// How fast messages are between threads and, for each MPI library that is there, between processes, instead of
    /// programs.
    #[arg(long, conflicts_with_all = ["filter", "rounds", "baseline", "json", "network"])]
    messages: bool,
    /// What shared memory costs between processes, for each MPI library that is there, instead of programs.
    #[arg(long, conflicts_with_all = ["filter", "rounds", "baseline", "json", "network", "messages"])]
    dsm: bool,
    /// KL1 on several nodes: the programs in benches/nodes/, on threads and, for each MPI library that is there, in
    /// processes.
    #[arg(long, conflicts_with_all = ["filter", "baseline", "json", "network", "messages", "dsm"])]
    nodes: bool,
    /// How soon signals, timers and connections are heard while all workers compute, instead of programs.
    #[arg(long, conflicts_with_all = ["filter", "baseline", "json", "network", "messages", "dsm", "nodes"])]
    live: bool,
    /// Programs that use the library, beside Python, instead of those in benches/.
    #[arg(long, conflicts_with_all = ["filter", "baseline", "json", "network", "messages", "dsm", "nodes", "live"])]
    library: bool,
    /// A web server with many connections, beside one of Go's, instead of programs.
    #[arg(long, conflicts_with_all = ["filter", "baseline", "json", "network", "messages", "dsm", "nodes", "live", "library"])]
    connections: bool,
    /// What the default number of workers brings, beside one worker: wall seconds of the programs in benches/.
    #[arg(long = "default", conflicts_with_all = ["baseline", "json", "network", "messages", "dsm", "nodes", "live", "library", "connections"])]
    default_workers: bool,
    /// What each rule of the load balance is worth: programs with the default, and without each rule.
    #[arg(long, conflicts_with_all = ["baseline", "json", "network", "messages", "dsm", "nodes", "live", "library", "connections", "default_workers"])]
    ablate: bool,
    /// An executable of Fifth, in place of one that is built.
    #[arg(long, conflicts_with_all = ["messages", "dsm", "nodes", "network"])]
    fifth: Option<PathBuf>,
    /// How fast networks are simulated, instead of programs.
    #[arg(long, conflicts_with_all = ["filter", "rounds", "baseline", "json"])]
    network: bool,
}

impl Options {
    /// The executable that is measured.
    fn fifth(&self, root: &Path) -> anyhow::Result<PathBuf> {
        self.fifth.clone().map_or_else(|| build_fifth(root), Ok)
    }
}

/// One run.
#[derive(Clone, Copy)]
pub(crate) struct Run {
    seconds: f64,
    pub(crate) peak_kib: i64,
}

/// Runs `command` and prints its CPU microseconds and peak memory in KiB on standard error; its output goes nowhere.
pub(crate) fn measure(command: &[String]) -> anyhow::Result<()> {
    let (program, arguments) = command.split_first().context("a program to measure")?;
    let status = Command::new(program).args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    if !status.success() {
        bail!("{program} failed: {status}");
    }
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    eprintln!("measured {micros} {}", usage.max_rss());
    Ok(())
}

/// Builds, measures, reports.
pub(crate) fn run(root: &Path, options: &Options) -> anyhow::Result<()> {
    if options.messages {
        return messages(root);
    }
    if options.dsm {
        println!("machine: {}", machine());
        return between_processes(root, &["bench", "--quiet", "--package", "dsm", "--bench", "memory"]);
    }
    if options.nodes {
        println!("machine: {}", machine());
        return nodes::run(root, options.rounds);
    }
    if options.live {
        println!("machine: {}", machine());
        return live::run(root, &options.fifth(root)?, options.rounds);
    }
    if options.library {
        println!("machine: {}", machine());
        return library::run(root, &options.fifth(root)?, options.rounds);
    }
    if options.connections {
        println!("machine: {}", machine());
        return connections::run(root, &options.fifth(root)?, options.rounds);
    }
    if options.ablate {
        println!("machine: {}", machine());
        return workers::ablate(root, &options.fifth(root)?, options.filter.as_deref(), options.rounds);
    }
    if options.default_workers {
        println!("machine: {}", machine());
        return workers::run(root, &options.fifth(root)?, options.filter.as_deref(), options.rounds);
    }
    if options.network {
        return network(root);
    }
    programs_beside_yardstick(root, options)
}

/// What the programs of one report run beside.
struct Beside {
    fifth: PathBuf,
    baseline: Option<PathBuf>,
    yardstick: PathBuf,
    klic: BTreeMap<String, f64>,
    rounds: usize,
}

fn programs_beside_yardstick(root: &Path, options: &Options) -> anyhow::Result<()> {
    let beside = Beside {
        fifth: options.fifth(root)?,
        baseline: options.baseline.clone(),
        yardstick: build_c(root, "yardstick.c")?,
        klic: klic_ratios(root)?,
        rounds: options.rounds,
    };
    println!("machine: {}", machine());
    println!(
        "{:<12} {:>8} {:>15} {:>9} {:>8} {:>10} {:>8} {:>12}{}",
        "program",
        "CPU s",
        "range",
        "peak MB",
        "/yard",
        "KLIC/Fifth",
        "Fifth/C",
        "reductions/s",
        if options.baseline.is_some() { "  baseline/Fifth" } else { "" }
    );
    let mut report = Vec::new();
    let mut logs = Vec::new();
    for program in programs(root, options.filter.as_deref())? {
        let (figures, against_klic) = beside.program(root, &program)?;
        logs.extend(against_klic.map(f64::ln));
        report.push(figures);
    }
    if !logs.is_empty() {
        let mean = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
        println!("geometric mean of KLIC/Fifth over {} programs: {mean:.2}", logs.len());
    }
    if let Some(path) = &options.json {
        let report = serde_json::json!({ "machine": machine(), "programs": report });
        fs::write(path, serde_json::to_string_pretty(&report)?)?;
    }
    Ok(())
}

impl Beside {
    /// Measures and prints one program: its figures, and KLIC's time over ours if it is known.
    fn program(&self, root: &Path, program: &Path) -> anyhow::Result<(serde_json::Value, Option<f64>)> {
        let name = name(program);
        let path = program.to_string_lossy().into_owned();
        let alike = format!("c/{name}.c");
        let alike = root.join("benches").join(&alike).exists().then(|| build_c(root, &alike)).transpose()?;
        let run = |fifth: &Path| {
            measured(&[&fifth.to_string_lossy(), "run", "--workers", "1", &path].map(String::from))
        };
        let alone = |executable: &Path| measured(&[executable.to_string_lossy().into_owned()]);
        let (mut yard, mut ours, mut base, mut c) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for _ in 0..self.rounds {
            yard.push(alone(&self.yardstick)?);
            ours.push(run(&self.fifth)?);
            base.extend(self.baseline.as_deref().map(run).transpose()?);
            c.extend(alike.as_deref().map(alone).transpose()?);
        }
        let (seconds, yard_seconds) = (median(&ours), median(&yard));
        let ratio = seconds / yard_seconds;
        let against_klic = self.klic.get(&name).map(|klic| klic / ratio);
        let against_c = alike.map(|_| seconds / median(&c));
        let reductions = reductions(&self.fifth, &path)?;
        let range = range(&ours);
        let times = |ratio: Option<f64>| ratio.map_or("-".into(), |ratio| format!("{ratio:.2}"));
        println!(
            "{name:<12} {seconds:>8.3} {:>15} {:>9.1} {ratio:>8.2} {:>10} {:>8} {:>10.1} M{}",
            format!("{:.3}-{:.3}", range.0, range.1),
            ours.iter().map(|r| r.peak_kib).max().unwrap_or_default() as f64 / 1024.0,
            times(against_klic),
            times(against_c),
            reductions as f64 / seconds / 1e6,
            if base.is_empty() { String::new() } else { format!(" {:>8.2}", median(&base) / seconds) }
        );
        let figures = serde_json::json!({
            "program": name, "cpu_seconds_median": seconds, "cpu_seconds_min": range.0, "cpu_seconds_max": range.1,
            "yardstick_seconds_median": yard_seconds, "klic_over_fifth": against_klic, "fifth_over_c": against_c,
            "reductions": reductions, "peak_kib": ours.iter().map(|r| r.peak_kib).max(), "rounds": self.rounds,
        });
        Ok((figures, against_klic))
    }
}

/// Compiles a C program of `benches/` into the folder of builds.
fn build_c(root: &Path, source: &str) -> anyhow::Result<PathBuf> {
    let out = root.join("target").join(source).with_extension("");
    fs::create_dir_all(out.parent().context("a folder of builds")?)?;
    let status =
        Command::new("cc").arg("-O2").arg(root.join("benches").join(source)).arg("-o").arg(&out).status();
    if !status.context("cc is needed for the programs in C")?.success() {
        bail!("benches/{source} does not compile");
    }
    Ok(out)
}

pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

fn network(root: &Path) -> anyhow::Result<()> {
    println!("machine: {}", machine());
    finished(
        cargo().args(["bench", "--quiet", "--package", "fabric", "--bench", "network"]).current_dir(root),
    )
}

fn messages(root: &Path) -> anyhow::Result<()> {
    const BENCH: [&str; 6] = ["bench", "--quiet", "--package", "machine", "--bench", "messages"];
    println!("machine: {}", machine());
    finished(cargo().args(BENCH).current_dir(root))?;
    between_processes(root, &BENCH)
}

/// A benchmark with each MPI library that is there.
fn between_processes(root: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    for library in libraries() {
        finished(with_library(root, library).args(arguments).args(["--features", "mpi"]))?;
    }
    Ok(())
}

/// The MPI libraries that are there.
pub(crate) fn libraries() -> Vec<&'static str> {
    let there = |library: &&str| {
        let compiler = format!("mpicc.{library}");
        let there = Command::new(&compiler).arg("--version").output().is_ok();
        if !there {
            println!("{compiler} is not there");
        }
        there
    };
    ["openmpi", "mpich"].into_iter().filter(there).collect()
}

/// `cargo` that builds with this MPI library, in a folder for it.
pub(crate) fn with_library(root: &Path, library: &str) -> Command {
    let mut cargo = cargo();
    cargo.env("MPICC", format!("mpicc.{library}")).env("CARGO_TARGET_DIR", format!("target/{library}"));
    cargo.current_dir(root);
    cargo
}

pub(crate) fn finished(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status()?;
    if !status.success() {
        bail!("the benchmark failed: {status}");
    }
    Ok(())
}

pub(crate) fn build_fifth(root: &Path) -> anyhow::Result<PathBuf> {
    if !cargo()
        .args(["build", "--release", "--quiet", "--package", "fifth"])
        .current_dir(root)
        .status()?
        .success()
    {
        bail!("fifth does not build");
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(target.join("release/fifth"))
}

/// A program's name: its file's, or its folder's if the file is the main one there.
pub(crate) fn name(program: &Path) -> String {
    let named = if program.ends_with(MAIN) { program.parent() } else { Some(program) };
    named.and_then(Path::file_stem).unwrap_or_default().to_string_lossy().into_owned()
}

pub(crate) fn programs(root: &Path, filter: Option<&str>) -> anyhow::Result<Vec<PathBuf>> {
    let mut programs: Vec<PathBuf> = fs::read_dir(root.join("benches"))?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .map(|path| if path.is_dir() { path.join(MAIN) } else { path })
        .filter(|path| path.extension().is_some_and(|e| e == "kl1") && path.is_file())
        .filter(|path| filter.is_none_or(|filter| path.to_string_lossy().contains(filter)))
        .collect();
    programs.sort();
    if programs.is_empty() {
        bail!("no program in benches/ has this in its name");
    }
    Ok(programs)
}

/// `program,ratio` lines; `#` starts a comment.
fn klic_ratios(root: &Path) -> anyhow::Result<BTreeMap<String, f64>> {
    let text = fs::read_to_string(root.join("benches/klic.csv"))?;
    text.lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| {
            let (name, ratio) = line.split_once(',').with_context(|| format!("benches/klic.csv: {line}"))?;
            Ok((name.to_string(), ratio.trim().parse()?))
        })
        .collect()
}

pub(crate) fn measured(command: &[String]) -> anyhow::Result<Run> {
    let output = Command::new(std::env::current_exe()?).arg("measure").args(command).output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find_map(|line| line.strip_prefix("measured "));
    let (micros, peak) =
        line.and_then(|line| line.split_once(' ')).with_context(|| format!("{command:?}: {text}"))?;
    Ok(Run { seconds: micros.parse::<f64>()? / 1e6, peak_kib: peak.trim().parse()? })
}

/// Reductions of one run, from its statistics.
fn reductions(fifth: &Path, program: &str) -> anyhow::Result<u64> {
    let output = Command::new(fifth).args(["run", "--workers", "1", "--stats", program]).output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find_map(|line| line.trim().strip_prefix("reductions"));
    let digits: String = line.unwrap_or_default().chars().filter(char::is_ascii_digit).collect();
    digits.parse().with_context(|| format!("{program}: no reductions in its statistics:\n{text}"))
}

pub(crate) fn median(runs: &[Run]) -> f64 {
    middle(runs.iter().map(|run| run.seconds).collect())
}

/// The median of numbers; 0 of none.
pub(crate) fn middle(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    match numbers.len() {
        0 => 0.0,
        n if n % 2 == 1 => numbers[n / 2],
        n => (numbers[n / 2 - 1] + numbers[n / 2]) / 2.0,
    }
}

fn range(runs: &[Run]) -> (f64, f64) {
    let low = runs.iter().map(|run| run.seconds).fold(f64::INFINITY, f64::min);
    (low, runs.iter().map(|run| run.seconds).fold(0.0, f64::max))
}

/// Processor and number of cores, for the record.
pub(crate) fn machine() -> String {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or(": unknown processor");
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{}, {cores} cores", model.trim_start_matches(['\t', ' ', ':']))
}
