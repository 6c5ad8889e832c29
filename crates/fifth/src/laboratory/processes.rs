//! Runs the programs of experiments with this executable, each in a process of its own, and shows what comes next.

use crate::{counting, job};
use anyhow::{Context, bail};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use lab::report::Cell;
use lab::{Finished, Host, Job, Place};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// How often it is asked how long threads of a run wait for a processor.
const LOOK: Duration = Duration::from_millis(50);

/// What simulated machines gave: several experiments show the same runs, which are the same each time.
#[derive(Clone, Default)]
pub(super) struct Simulations(Arc<Mutex<HashMap<String, Given>>>);
type Given = Arc<OnceLock<Result<Finished, String>>>;

impl Simulations {
    /// What a job gives. A thread that asks while another one runs it waits for that.
    fn run(&self, executable: &Path, job: &Job) -> Result<Finished, String> {
        let name = format!("{} {:?} {:?}", job.program.name, job.arguments, job.place);
        let given = base::lock(&self.0).entry(name).or_default().clone();
        given
            .get_or_init(|| {
                run_job(executable, job).map(|(finished, _)| finished).map_err(|error| format!("{error:#}"))
            })
            .clone()
    }
    /// Runs jobs in this order, one on each processor; gives those that have not begun.
    fn begin(&self, executable: &Path, jobs: &[Job]) -> Queue {
        let queue = Queue::new(Mutex::new(jobs.iter().cloned().collect()));
        for _ in 0..jobs.len().min(processors() as usize) {
            let (queue, simulations, executable) = (queue.clone(), self.clone(), executable.to_path_buf());
            std::thread::spawn(move || {
                let next = || base::lock(&queue).pop_front();
                while let Some(job) = next() {
                    // Whatever needs it asks again.
                    let _ = simulations.run(&executable, &job);
                }
            });
        }
        queue
    }
}

/// Jobs that have not begun.
type Queue = Arc<Mutex<VecDeque<Job>>>;

/// Runs programs with this executable, each in a process of its own.
pub(super) struct Processes {
    executable: PathBuf,
    simulations: Simulations,
    /// Those that the experiment will ask for.
    queue: Queue,
    progress: Progress,
    /// The line of the experiment that runs, if progress is lines.
    bar: Option<ProgressBar>,
    /// The experiment that runs.
    name: String,
    waited_seconds: f64,
}

/// Hears what an experiment does.
pub(super) trait Watcher: Send + Sync {
    /// A part of it begins, of how many, and what it is.
    fn part(&self, experiment: &str, part: usize, parts: usize, what: &str);
    /// A row of what is measured: a table's title; heads and cells.
    fn row(&self, title: &str, cells: &[(&str, Cell)]);
}

/// Where it is seen what runs.
#[derive(Clone)]
pub(super) enum Progress {
    /// A line of standard error for each experiment that runs, if that is a terminal.
    Bars(MultiProgress),
    /// Somewhere else.
    Told(Arc<dyn Watcher>),
}

impl Progress {
    pub(super) fn bars() -> Progress {
        Progress::Bars(MultiProgress::new())
    }
    /// Says something else while no progress is to be seen.
    pub(super) fn aside<R>(&self, say: impl FnOnce() -> R) -> R {
        match self {
            Progress::Bars(bars) => bars.suspend(say),
            Progress::Told(_) => say(),
        }
    }
}

impl Processes {
    pub(super) fn new(progress: Progress, simulations: Simulations) -> anyhow::Result<Processes> {
        let executable = std::env::current_exe().context("cannot find the fifth executable")?;
        let (queue, name) = (Queue::default(), String::new());
        Ok(Processes { executable, simulations, queue, progress, bar: None, name, waited_seconds: 0.0 })
    }
    /// An experiment begins: its name, and which of how many it is.
    pub(super) fn begin(&mut self, name: &str, number: usize, count: usize) {
        self.name = name.into();
        if let Progress::Bars(bars) = &self.progress {
            let bar = bars.add(ProgressBar::no_length());
            let line = "{prefix} {bar:20} {pos}/{len} {wide_msg} {eta} left";
            if let Ok(style) = ProgressStyle::with_template(line) {
                bar.set_style(style);
            }
            bar.set_prefix(format!("[{number} of {count}] {name}"));
            self.bar = Some(bar);
        }
    }
    /// Nothing is to be seen of the experiment's progress any longer, and what it has not asked for does not begin.
    pub(super) fn end(&mut self) {
        base::lock(&self.queue).clear();
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

fn command(executable: &Path, job: &Job) -> anyhow::Result<Command> {
    let alone = || Command::new(executable);
    let (mut command, option) = match &job.place {
        Place::Workers(workers) => (alone(), Some(("--workers", workers.to_string()))),
        Place::Threads(nodes) => (alone(), Some(("--nodes", nodes.to_string()))),
        Place::Simulated { machine, .. } => (alone(), Some(("--simulate", machine.clone()))),
        Place::Processes(nodes) => {
            let command = job::launched(executable, *nodes);
            (command.context("fifth was built without MPI")?, None)
        }
    };
    // A launcher is to end its processes itself.
    let is_child = !matches!(job.place, Place::Processes(_));
    command.arg("run").args(is_child.then_some("--end-with-parent"));
    command.args(option.into_iter().flat_map(|(name, value)| [name.to_string(), value]));
    if matches!(job.place, Place::Simulated { identities: true, .. }) {
        command.arg("--structure-ids");
    }
    command.args(["--stats-file", "/dev/stderr", "/dev/stdin", "--"]).args(&job.arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Ok(command)
}

/// Runs a job, and gives also how long its threads were ready and had no processor. Text and figures go through pipes:
/// whatever ends this process, no file is left behind.
fn run_job(executable: &Path, job: &Job) -> anyhow::Result<(Finished, f64)> {
    let mut child = command(executable, job)?.spawn().context("cannot start a process")?;
    // A process that does not read it says why itself.
    let _ = child.stdin.take().expect("piped").write_all(job.program.text.as_bytes());
    let read = |mut pipe: Box<dyn Read + Send>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            // What cannot be read is missing below.
            let _ = pipe.read_to_end(&mut bytes);
            bytes
        })
    };
    let stdout = read(Box::new(child.stdout.take().expect("piped")));
    let stderr = read(Box::new(child.stderr.take().expect("piped")));
    let waited_seconds = watch(&mut child);
    let status = child.wait().context("cannot wait for a process")?;
    let [stdout, stderr] = [stdout, stderr].map(|thread| thread.join().unwrap_or_default());
    let told = String::from_utf8_lossy(&stderr);
    if !status.success() {
        let told: Vec<&str> = told.lines().filter(|line| !line.starts_with('{')).collect();
        bail!("{status}\n{}", told.join("\n").trim_end());
    }
    // Launchers may have something to say, too.
    let figures = told.lines().find(|line| line.starts_with('{')).unwrap_or(&told);
    let record = serde_json::from_str(figures)
        .with_context(|| format!("the figures of the run cannot be read: {told:.200}"))?;
    let stdout = String::from_utf8_lossy(&stdout).into_owned();
    Ok((Finished { stdout, record }, waited_seconds))
}

/// Waits until a process has ended, and gives how long its threads were ready and had no processor, as far as they were
/// seen: a thread is asked now and then, and once more before it ends only by chance.
fn watch(child: &mut Child) -> f64 {
    let folder = format!("/proc/{}/task", child.id());
    let mut waited = BTreeMap::new();
    let (mut pause, mut ended) = (Duration::from_millis(1), false);
    while !ended {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            // Of the three numbers the second is the time for which it waited for a processor, in nanoseconds.
            let text = std::fs::read_to_string(entry.path().join("schedstat")).unwrap_or_default();
            if let Some(nanoseconds) = text.split(' ').nth(1).and_then(|number| number.parse::<u64>().ok()) {
                waited.insert(entry.file_name(), nanoseconds);
            }
        }
        std::thread::sleep(pause);
        pause = (2 * pause).min(LOOK);
        // What cannot be waited for here is waited for by the caller.
        ended = !matches!(child.try_wait(), Ok(None));
    }
    waited.values().sum::<u64>() as f64 / 1e9
}

impl Host for Processes {
    fn run(&mut self, job: &Job) -> Result<Finished, String> {
        if matches!(job.place, Place::Simulated { .. }) {
            return self.simulations.run(&self.executable, job);
        }
        let (finished, waited_seconds) =
            run_job(&self.executable, job).map_err(|error| format!("{error:#}"))?;
        self.waited_seconds = waited_seconds;
        Ok(finished)
    }
    fn will_run(&mut self, jobs: &[Job]) {
        self.queue = self.simulations.begin(&self.executable, jobs);
    }
    fn count(&mut self, experiment: &str) -> Result<Vec<u64>, String> {
        counting::count(&self.executable, experiment).map_err(|error| format!("{error:#}"))
    }
    fn has_launcher(&self) -> bool {
        job::launched(&self.executable, 1).is_some()
    }
    fn progress(&mut self, part: usize, parts: usize, what: &str) {
        match &self.progress {
            Progress::Bars(_) => {
                if let Some(bar) = &self.bar {
                    bar.set_length(parts as u64);
                    bar.set_position(part.saturating_sub(1) as u64);
                    bar.set_message(what.to_string());
                }
            }
            Progress::Told(watcher) => watcher.part(&self.name, part, parts, what),
        }
    }
    fn row(&mut self, title: &str, cells: &[(&str, Cell)]) {
        if let Progress::Told(watcher) = &self.progress {
            watcher.row(title, cells);
        }
    }
    fn machine(&self) -> String {
        machine()
    }
    fn waited_seconds(&mut self) -> f64 {
        self.waited_seconds
    }
}

/// This host.
pub(super) fn machine() -> String {
    let facts = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = facts.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let cores = processors();
    let cores = if cores == 1 { "1 core".into() } else { format!("{cores} cores") };
    format!("{}, {cores}", model.map_or("an unknown processor", |(_, model)| model.trim()))
}

/// Its processors.
pub(super) fn processors() -> u32 {
    std::thread::available_parallelism().map_or(1, |count| count.get() as u32)
}
