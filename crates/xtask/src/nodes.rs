//! `cargo xtask bench --nodes`: KL1 on several nodes, by the programs in `benches/nodes/`. They measure themselves, so
//! that compiling counts for nothing. What is compared is measured in turn, in rounds; all figures are medians, those
//! of ratios medians of the rounds' ratios, with the least and the most behind them.

use crate::bench::{build_fifth, cargo, finished, libraries, measured, with_library};
use anyhow::{Context, bail};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use std::io::{IsTerminal, stderr};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the programs do, as often as they say.
const READS: f64 = 200_000.0;
const THROWS: f64 = 1_000_000.0;
const ELEMENTS: f64 = 10_000_000.0;

/// Both searches deal their work to all nodes.
const SEARCHES: [&str; 2] = ["queens", "pentomino"];

/// Where programs are run.
struct Place<'a> {
    root: &'a Path,
    fifth: PathBuf,
    /// Under the launcher of this MPI library; `None`: on threads.
    library: Option<&'a str>,
}

/// What a program says of itself.
struct Said {
    microseconds: f64,
    /// Of all processors.
    milliseconds: Option<f64>,
}

/// Figures of all rounds.
#[derive(Default)]
struct Figures(Vec<f64>);

impl Figures {
    fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
    }
    fn show(&self, what: &str, unit: &str, aim: &str) {
        let low = self.0.iter().copied().fold(f64::INFINITY, f64::min);
        let high = self.0.iter().copied().fold(0.0, f64::max);
        let figure = format!("{:.3} {unit}", self.median());
        progress("");
        println!("  {what:<44} {figure:>14} ({low:.3} to {high:.3})  {aim}");
    }
}

/// On a terminal, in a line that the next one replaces: what runs.
fn progress(what: &str) {
    if stderr().is_terminal() {
        eprint!("\r\x1b[K{what}");
    }
}

/// Does something with one processor for this process and those that it starts.
fn on_one_processor<R>(act: impl FnOnce() -> anyhow::Result<R>) -> anyhow::Result<R> {
    let own = Pid::from_raw(0);
    let all = sched_getaffinity(own)?;
    let first = (0..CpuSet::count()).find(|&number| all.is_set(number).unwrap_or(false));
    let mut one = CpuSet::new();
    one.set(first.context("no processor")?)?;
    sched_setaffinity(own, &one)?;
    let result = act();
    sched_setaffinity(own, &all)?;
    result
}

/// Builds, measures, reports.
pub(crate) fn run(root: &Path, rounds: usize) -> anyhow::Result<()> {
    if rounds == 0 {
        bail!("no rounds, no figures");
    }
    let place = Place { root, fifth: build_fifth(root)?, library: None };
    println!("threads of one process");
    for search in SEARCHES {
        let [mut one, mut ratio] = [(); 2].map(|()| Figures::default());
        for _ in 0..rounds {
            let alone = place.run(1, search)?.microseconds;
            one.0.push(alone / 1e6);
            ratio.0.push(alone / place.run(2, search)?.microseconds);
        }
        one.show(&format!("{search}, one node"), "s", "");
        ratio.show(&format!("{search}, two nodes"), "as fast", "aim: 1.8");
    }
    place.talk(rounds)?;
    place.memory()?;
    for library in libraries() {
        progress(&format!("fifth with {library} is built"));
        finished(with_library(root, library).args([
            "build",
            "--release",
            "--quiet",
            "-p",
            "fifth",
            "--features",
            "mpi",
        ]))?;
        let fifth = root.join(format!("target/{library}/release/fifth"));
        let place = Place { root, fifth, library: Some(library) };
        progress("");
        println!("processes under {library}");
        for search in SEARCHES {
            let [mut two, mut ratio] = [(); 2].map(|()| Figures::default());
            for _ in 0..rounds {
                let pair = place.run(2, search)?.microseconds;
                two.0.push(pair / 1e6);
                ratio.0.push(place.run(4, search)?.microseconds / pair);
            }
            two.show(&format!("{search}, two processes"), "s", "");
            ratio.show(&format!("{search}, four processes"), "times two's", "aim on two processors: 1.15");
        }
        place.talk(rounds)?;
    }
    Ok(())
}

impl Place<'_> {
    fn command(&self, nodes: u32, program: &str) -> Vec<String> {
        let mut command: Vec<String> = match self.library {
            None => Vec::new(),
            Some(library) => {
                let open: &[&str] =
                    if library == "openmpi" { &["--bind-to", "none", "--oversubscribe"] } else { &[] };
                let launcher = format!("mpirun.{library}");
                let count = nodes.to_string();
                [&[&*launcher], open, &["-n", &count]].concat().into_iter().map(String::from).collect()
            }
        };
        command.extend([self.fifth.to_string_lossy().into_owned(), "run".into()]);
        match (self.library, nodes) {
            (Some(_), _) => {}
            (None, 1) => command.extend(["--workers".into(), "1".into()]),
            (None, nodes) => command.extend(["--nodes".into(), nodes.to_string()]),
        }
        command.push(self.path(program));
        command
    }
    fn path(&self, program: &str) -> String {
        self.root.join(format!("benches/nodes/{program}.kl1")).to_string_lossy().into_owned()
    }
    fn run(&self, nodes: u32, program: &str) -> anyhow::Result<Said> {
        let command = self.command(nodes, program);
        progress(&command.join(" "));
        let mut run = Command::new(&command[0]);
        run.args(&command[1..]).env("OMPI_MCA_mpi_yield_when_idle", "0");
        run.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        let output = run.output().with_context(|| format!("cannot start {}", command[0]))?;
        let said = String::from_utf8_lossy(&output.stdout);
        let figure = |unit: &str| -> Option<f64> {
            said.split(',').find_map(|part| part.trim().strip_suffix(unit)?.trim().parse().ok())
        };
        match figure("us") {
            Some(microseconds) if output.status.success() => {
                Ok(Said { microseconds, milliseconds: figure("ms") })
            }
            _ => bail!("{}:\n{said}{}", command.join(" "), String::from_utf8_lossy(&output.stderr)),
        }
    }
    /// Microseconds that a message takes one way between handlers of the machine layer.
    fn ping(&self) -> anyhow::Result<f64> {
        progress("messages of the machine layer");
        let mut bench = match self.library {
            None => cargo(),
            Some(library) => with_library(self.root, library),
        };
        bench
            .args(["bench", "--quiet", "--package", "machine", "--bench", "messages"])
            .current_dir(self.root);
        if self.library.is_some() {
            bench.args(["--features", "mpi"]);
        }
        let output = bench.args(["--", "ping"]).output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        said.trim()
            .parse()
            .with_context(|| format!("no figure: {said}{}", String::from_utf8_lossy(&output.stderr)))
    }
    /// What messages between two nodes cost.
    fn talk(&self, rounds: usize) -> anyhow::Result<()> {
        let [mut ping, mut read, mut ratio, mut throw] = [(); 4].map(|()| Figures::default());
        let [mut work, mut alone, mut stream, mut places] = [(); 4].map(|()| Figures::default());
        // Built before it is measured.
        self.ping()?;
        for _ in 0..rounds {
            let both_ways = 2.0 * self.ping()?;
            let reads = self.run(2, "read")?.microseconds / READS;
            ping.0.push(both_ways);
            read.0.push(reads);
            ratio.0.push(reads / both_ways);
            let said = self.run(2, "throw")?;
            throw.0.push(said.microseconds / THROWS);
            // A process knows its own time only.
            if self.library.is_none() {
                let both = on_one_processor(|| self.run(2, "throw"))?;
                for (figures, said) in [(&mut work, said), (&mut alone, both)] {
                    figures.0.extend(said.milliseconds.map(|ms| ms * 1e3 / THROWS));
                }
            }
            stream.0.push(ELEMENTS / self.run(2, "stream")?.microseconds);
            places.0.push(ELEMENTS / self.run(2, "places")?.microseconds);
        }
        ping.show("yardstick: a message there and one back", "us", "");
        read.show("a cons of the other node is read", "us", "");
        ratio.show("", "times that", "aim: 3");
        throw.show("a goal with an atom and two variables", "us", "");
        if !work.0.is_empty() {
            work.show("its processor time, waiting counted", "us", "");
            alone.show("both nodes' on one processor: nothing waits", "us", "aim: 1");
        }
        stream.show("integers through 1,024 demands", "M/s", "aim: 5");
        places.show("integers through 1,024 places", "M/s", "aim: 5");
        Ok(())
    }
    /// Whether ten times as many integers need more memory.
    fn memory(&self) -> anyhow::Result<()> {
        for program in ["stream", "places"] {
            let long = self.command(2, program);
            progress(&format!("the memory of {program}"));
            let short = [&long[..], &["--".into(), "short".into()]].concat();
            let [short, long] = [short, long].map(|command| measured(&command));
            let [short, long] = [short?.peak_kib, long?.peak_kib].map(|kib| kib as f64 / 1024.0);
            progress("");
            println!("  peak memory of {program:<29} {long:>11.1} MB (a tenth of it: {short:.1})");
        }
        Ok(())
    }
}
