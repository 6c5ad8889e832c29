//! `fifth lab`: runs experiments; has the processes, the files and the terminal that they do not know of.

use crate::cli::{self, Lab, LabRun, Scorecard};
use crate::{counting, job, output};
use anyhow::{Context, bail};
use lab::report::Report;
use lab::{Config, EXPERIMENTS, Experiment, Finished, Host, Job, Place, Scale};
use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// All of a report, in its folder.
const JSON: &str = "report.json";
/// A program of an experiment failed.
const FAILED: u8 = 255;

/// Runs the subcommand and gives the exit code.
pub(crate) fn run(command: &Lab) -> anyhow::Result<u8> {
    match command {
        Lab::List => output::write(&list()).map(|()| 0),
        Lab::Run(options) => run_experiments(options),
        Lab::Scorecard(options) => score(options),
        Lab::Counted { experiment } => counting::run_operations(experiment).map(|()| 0),
    }
}

fn list() -> String {
    let name = |experiment: &Experiment| experiment.name.len();
    let width = EXPERIMENTS.iter().map(name).max().unwrap_or_default();
    let lines = EXPERIMENTS.iter().map(|experiment| {
        format!("{:<width$}  {}\n{:<width$}  {}\n", experiment.name, experiment.title, "", experiment.source)
    });
    lines.collect()
}

/// Runs experiments; each report is written as soon as it is there.
fn run_experiments(options: &LabRun) -> anyhow::Result<u8> {
    let experiments = chosen(&options.names)?;
    let mut workers = options.workers.clone();
    workers.sort_unstable();
    workers.dedup();
    let config = config(workers, options.nodes.clone(), options.runs, options.scale);
    let folder = options.out.as_deref();
    let Some(Measured { mut reports, code, files }) = measure(&experiments, &config, folder)? else {
        return Ok(0);
    };
    let texts: Vec<String> = reports.iter().map(lab::text::report).collect();
    // If files cannot be written, at least the terminal has what took minutes to measure, and the other way round.
    let said = output::write(&texts.join("\n"));
    files?;
    if let Some(folder) = folder.filter(|_| !reports.is_empty()) {
        reports.insert(0, lab::scorecard::report(&reports));
        write_page(&reports, folder)?;
    }
    said.map(|()| code)
}

/// Compares every number that the papers print with reports: those of a folder, or of experiments that it runs.
fn score(options: &Scorecard) -> anyhow::Result<u8> {
    let experiments: Vec<_> = lab::scorecard::experiments().into_iter().filter_map(lab::find).collect();
    let (mut reports, code) = match &options.from {
        Some(folder) => (read_reports(&experiments, folder)?, 0),
        None => {
            let config = config(Vec::new(), Vec::new(), options.runs, options.scale);
            let Some(measured) = measure(&experiments, &config, options.out.as_deref())? else {
                return Ok(0);
            };
            measured.files?;
            (measured.reports, measured.code)
        }
    };
    let scorecard = lab::scorecard::report(&reports);
    let text =
        if options.markdown { lab::scorecard::markdown(&reports) } else { lab::text::report(&scorecard) };
    let said = output::write(&text);
    if let Some(folder) = &options.out {
        make_folder(folder)?;
        write_report(&scorecard, folder)?;
        reports.insert(0, scorecard);
        write_page(&reports, folder)?;
    }
    said.map(|()| code)
}

fn config(workers: Vec<u32>, nodes: Vec<u32>, runs: u32, scale: cli::Scale) -> Config {
    let scale = match scale {
        cli::Scale::Full => Scale::Full,
        cli::Scale::Small => Scale::Small,
    };
    let workers = if workers.is_empty() { up_to(processors()) } else { workers };
    Config { workers, nodes, runs, scale }
}

/// What experiments gave.
struct Measured {
    reports: Vec<Report>,
    /// The exit code: an experiment may have failed.
    code: u8,
    /// Whether all files could be written.
    files: anyhow::Result<()>,
}

/// Runs experiments. None: this is a process of a job that has nothing to say.
fn measure(
    experiments: &[&'static Experiment],
    config: &Config,
    folder: Option<&Path>,
) -> anyhow::Result<Option<Measured>> {
    let Some(between_processes) = job::measure(experiments, config)? else { return Ok(None) };
    let mut between_processes = between_processes.into_iter();
    if let Some(folder) = folder {
        make_folder(folder)?;
    }
    let mut host = Processes::new()?;
    let mut measured = Measured { reports: Vec::new(), code: 0, files: Ok(()) };
    for experiment in experiments {
        let result = (experiment.run)(experiment, &mut host, config);
        host.clear_progress();
        let between_processes = between_processes.next();
        match result {
            Ok(mut report) => {
                report.tables.extend(between_processes);
                if let Some(folder) = folder
                    && let Err(error) = write_report(&report, folder)
                {
                    measured.files = measured.files.and(Err(error));
                }
                measured.reports.push(report);
            }
            // What the others measure is no worse for it.
            Err(error) => {
                output::complain(&format!("error: {}: {error}", experiment.name));
                measured.code = FAILED;
            }
        }
    }
    Ok(Some(measured))
}

/// Numbers of workers that show how speed grows, without runs that show no more.
fn up_to(processors: u32) -> Vec<u32> {
    let most = processors.min(runtime::worker::WORKERS_MAX as u32);
    (1..=most).filter(|&n| n <= 8 || n.is_power_of_two() || n == most).collect()
}

fn processors() -> u32 {
    std::thread::available_parallelism().map_or(1, |count| count.get() as u32)
}

fn chosen(names: &[String]) -> anyhow::Result<Vec<&'static Experiment>> {
    let mut experiments: Vec<&Experiment> = Vec::new();
    for name in names {
        if name == "all" {
            experiments = EXPERIMENTS.iter().collect();
            break;
        }
        let is_meant = |experiment: &&Experiment| {
            let group = experiment.name.split_once('/').map(|(group, _)| group);
            experiment.name == name || group == Some(name)
        };
        let found: Vec<_> = EXPERIMENTS.iter().filter(is_meant).collect();
        if found.is_empty() {
            bail!("no experiment is called {name}; `fifth lab list` lists them");
        }
        experiments.extend(found);
    }
    let mut seen = BTreeSet::new();
    experiments.retain(|experiment| seen.insert(experiment.name));
    Ok(experiments)
}

// ---- files -----------------------------------------------------------------------------------------

/// The page of these reports.
fn write_page(reports: &[Report], folder: &Path) -> anyhow::Result<()> {
    write_file(&folder.join("report.html"), &lab::html::page(reports))
}

fn write_report(report: &Report, folder: &Path) -> anyhow::Result<()> {
    let folder = folder.join(&report.name);
    make_folder(&folder)?;
    let json = serde_json::to_string_pretty(report).context("cannot write a report as JSON")?;
    write_file(&folder.join(JSON), &(json + "\n"))?;
    for table in &report.tables {
        write_file(&folder.join(format!("{}.csv", table.id)), &lab::csv::table(table))?;
    }
    for chart in &report.charts {
        write_file(&folder.join(format!("{}.csv", chart.id)), &lab::csv::chart(chart))?;
        write_file(&folder.join(format!("{}.svg", chart.id)), &lab::svg::chart(chart))?;
    }
    Ok(())
}

/// The reports that a folder has of these experiments.
fn read_reports(experiments: &[&'static Experiment], folder: &Path) -> anyhow::Result<Vec<Report>> {
    let mut reports = Vec::new();
    for experiment in experiments {
        let path = folder.join(experiment.name).join(JSON);
        if !path.exists() {
            continue;
        }
        let text =
            std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let report = serde_json::from_str::<Report>(&text)
            .map_err(anyhow::Error::from)
            .and_then(|report| report.checked().map_err(anyhow::Error::msg))
            .with_context(|| format!("{} is no report of `fifth lab run --out`", path.display()))?;
        reports.push(report);
    }
    if reports.is_empty() {
        bail!("{} has no reports; `fifth lab run all --out {0}` writes them", folder.display());
    }
    Ok(reports)
}

fn make_folder(folder: &Path) -> anyhow::Result<()> {
    if folder.exists() && !folder.is_dir() {
        bail!("cannot make the folder {}: there is a file of that name", folder.display());
    }
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))
}

fn write_file(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

// ---- runs ------------------------------------------------------------------------------------------

/// Runs programs with this executable, each in a process of its own.
struct Processes {
    executable: PathBuf,
    terminal: bool,
}

impl Processes {
    fn new() -> anyhow::Result<Processes> {
        let executable = std::env::current_exe().context("cannot find the fifth executable")?;
        Ok(Processes { executable, terminal: std::io::stderr().is_terminal() })
    }
    /// Text and figures go through pipes: whatever ends this process, no file is left behind.
    fn run_job(&self, job: &Job) -> anyhow::Result<Finished> {
        let alone = || Command::new(&self.executable);
        let (mut command, option) = match &job.place {
            Place::Workers(workers) => (alone(), Some(("--workers", workers.to_string()))),
            Place::Threads(nodes) => (alone(), Some(("--nodes", nodes.to_string()))),
            Place::Simulated { machine, .. } => (alone(), Some(("--simulate", machine.clone()))),
            Place::Processes(nodes) => {
                let command = job::launched(&self.executable, *nodes);
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
        let mut child = command.spawn().context("cannot start a process")?;
        // A process that does not read it says why itself.
        let _ = child.stdin.take().expect("piped").write_all(job.program.text.as_bytes());
        let output = child.wait_with_output().context("cannot wait for a process")?;
        let told = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            let told: Vec<&str> = told.lines().filter(|line| !line.starts_with('{')).collect();
            bail!("{}\n{}", output.status, told.join("\n").trim_end());
        }
        // Launchers may have something to say, too.
        let figures = told.lines().find(|line| line.starts_with('{')).unwrap_or(&told);
        let record = serde_json::from_str(figures)
            .with_context(|| format!("the figures of the run cannot be read: {told:.200}"))?;
        Ok(Finished { stdout: String::from_utf8_lossy(&output.stdout).into_owned(), record })
    }
    fn clear_progress(&self) {
        if self.terminal {
            // A closed standard error leaves nobody to tell; so everywhere below.
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

impl Host for Processes {
    fn run(&mut self, job: &Job) -> Result<Finished, String> {
        self.run_job(job).map_err(|error| format!("{error:#}"))
    }
    fn count(&mut self, experiment: &str) -> Result<Vec<u64>, String> {
        counting::count(&self.executable, experiment).map_err(|error| format!("{error:#}"))
    }
    fn has_launcher(&self) -> bool {
        job::launched(&self.executable, 1).is_some()
    }
    fn progress(&mut self, part: usize, parts: usize, what: &str) {
        if self.terminal {
            let _ = write!(std::io::stderr(), "\r\x1b[K{part} of {parts}: {what}");
        }
    }
    fn machine(&self) -> String {
        let facts = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = facts.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        let cores = processors();
        let cores = if cores == 1 { "1 core".into() } else { format!("{cores} cores") };
        format!("{}, {cores}", model.map_or("an unknown processor", |(_, model)| model.trim()))
    }
}

#[cfg(test)]
mod tests {
    use super::{chosen, up_to};

    #[test]
    fn a_name_stands_for_an_experiment_or_a_group() {
        let names = |given: &[&str]| -> Result<Vec<&str>, String> {
            let given: Vec<String> = given.iter().map(|name| name.to_string()).collect();
            let chosen = chosen(&given).map_err(|error| error.to_string())?;
            Ok(chosen.iter().map(|experiment| experiment.name).collect())
        };
        let multipsi = names(&["multipsi/fig4", "multipsi", "multipsi/fig5"]);
        assert_eq!(multipsi, Ok(vec!["multipsi/fig4", "multipsi/table1", "multipsi/fig5"]));
        assert_eq!(names(&["tr448", "tr448"]), Ok(vec!["tr448"]));
        assert!(names(&["all"]).is_ok_and(|all| all.len() == lab::EXPERIMENTS.len()));
        for wrong in ["multi", "multipsi/", "fig4", "TR448", ""] {
            assert!(names(&[wrong]).is_err_and(|told| told.contains("fifth lab list")), "{wrong}");
        }
    }

    #[test]
    fn workers_go_up_to_the_processors() {
        assert_eq!((up_to(1), up_to(2)), (vec![1], vec![1, 2]));
        assert_eq!(up_to(24), [1, 2, 3, 4, 5, 6, 7, 8, 16, 24]);
        assert_eq!(up_to(1000), [1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64]);
    }
}
