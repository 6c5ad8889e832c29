//! Experiments one after the other: with which seeds and inputs, what is there already, and what came of it.

use super::files;
use super::processes::{Processes, Progress, machine};
use crate::output;
use anyhow::{Context, bail};
use lab::chosen::{self, Chosen, Setting};
use lab::report::{Provenance, Report, Table};
use lab::{Config, Error, Experiment, Scale, disturbed, variants};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use xxhash_rust::xxh3::Xxh3;

/// What is measured, and where it is kept.
pub(super) struct Plan<'a> {
    pub(super) config: Config,
    /// Empty: the seeds of the experiments.
    pub(super) seeds: Vec<u64>,
    pub(super) settings: Vec<Vec<Setting>>,
    pub(super) folder: Option<&'a Path>,
    /// Whether reports of the folder stay if this command would only make the same again.
    pub(super) resume: bool,
}

/// What experiments gave.
pub(super) struct Measured {
    pub(super) reports: Vec<Report>,
    /// Names of those that gave no report.
    pub(super) failed: Vec<&'static str>,
    /// Whether all files could be written.
    pub(super) files: anyhow::Result<()>,
}

/// Runs experiments; each report is written as soon as it is there, and so is the page of all. `between_processes` are
/// more tables of the first experiments, one each.
pub(super) fn all(
    plan: &Plan<'_>,
    experiments: &[&'static Experiment],
    between_processes: Vec<Table>,
    progress: Progress,
    mut told: impl FnMut(&Report) -> anyhow::Result<()>,
) -> anyhow::Result<Measured> {
    let choices = chosen::choices(&plan.settings).map_err(anyhow::Error::msg)?;
    let names: Vec<&str> = experiments.iter().map(|experiment| experiment.name).collect();
    if let Some(wrong) = chosen::missing(&plan.settings, &names) {
        bail!(wrong);
    }
    if let Some(folder) = plan.folder {
        files::make_folder(folder)?;
    }
    let origin = origin(plan)?;
    let mut between_processes = between_processes.into_iter();
    let mut host = Processes::new(progress)?;
    let mut measured = Measured { reports: Vec::new(), failed: Vec::new(), files: Ok(()) };
    let mut used = BTreeSet::new();
    for (number, experiment) in (1..).zip(experiments) {
        let between_processes = between_processes.next();
        if let Some(report) = kept(plan, experiment, &origin)? {
            told(&report)?;
            measured.reports.push(report);
            // Whoever wrote it had used its inputs.
            used.extend(plan.settings.iter().flatten().map(|set| set.name).chain([chosen::SEED]));
            continue;
        }
        host.begin(experiment.name, number, experiments.len());
        let result = one(plan, experiment, &mut host, &choices, &mut used);
        host.clear_progress();
        match result {
            Ok(mut report) => {
                report.tables.extend(between_processes);
                report.provenance = Some(Provenance { date: now(), ..origin.clone() });
                let written = plan.folder.map_or(Ok(()), |folder| files::write_report(&report, folder));
                measured.files = measured.files.and(written);
                told(&report)?;
                measured.reports.push(report);
            }
            // What the others measure is no worse for it.
            Err(error) => {
                output::complain(&format!("error: {}: {error}", experiment.name));
                measured.failed.push(experiment.name);
            }
        }
        if let Some(folder) = plan.folder {
            let page = files::write_page(&with_scorecard(&measured.reports), folder);
            measured.files = measured.files.and(page);
        }
    }
    if measured.failed.is_empty() {
        all_are_used(plan, &used)?;
    }
    Ok(measured)
}

/// The error says what was set and changed nothing, and what the experiments that ran have.
fn all_are_used(plan: &Plan<'_>, asked: &BTreeSet<&str>) -> anyhow::Result<()> {
    let unused = plan.settings.iter().flatten().find(|set| !asked.contains(set.name));
    let inputs: Vec<&str> = asked.iter().copied().filter(|name| *name != chosen::SEED).collect();
    let inputs = if inputs.is_empty() { "none".into() } else { inputs.join(", ") };
    if let Some(set) = unused {
        bail!("no experiment that ran has the input {}; they have {inputs}", set.name);
    }
    if !plan.seeds.is_empty() && !asked.contains(chosen::SEED) {
        bail!("no experiment that ran has a seed: nothing in them is random; their inputs: {inputs}");
    }
    Ok(())
}

/// The reports, and the scorecard of those that count before them.
pub(super) fn with_scorecard(reports: &[Report]) -> Vec<Report> {
    let mut all = vec![scorecard(reports)];
    all.extend(reports.iter().cloned());
    all
}

/// The scorecard of reports: without those of disturbed runs and of other inputs.
pub(super) fn scorecard(reports: &[Report]) -> Report {
    let counting: Vec<Report> = reports.iter().filter(|report| report.counts()).cloned().collect();
    let mut scorecard = lab::scorecard::report(&counting);
    let left_out: Vec<&str> =
        reports.iter().filter(|report| !report.counts()).map(|report| report.name.as_str()).collect();
    if !left_out.is_empty() {
        let told =
            format!("Not counted, because runs were disturbed or inputs were set: {}.", left_out.join(", "));
        scorecard.notes.push(told);
    }
    scorecard
}

/// The report of the folder, if this command would only make the same again.
fn kept(plan: &Plan<'_>, experiment: &Experiment, origin: &Provenance) -> anyhow::Result<Option<Report>> {
    let Some(folder) = plan.folder.filter(|_| plan.resume) else { return Ok(None) };
    let stands = |report: &Report| {
        report.disturbed.is_empty() && report.provenance.as_ref().is_some_and(|from| from.stands_for(origin))
    };
    // What is no report is made again.
    Ok(files::read_report(experiment, folder).ok().flatten().filter(stands))
}

/// An experiment with each value of the input that has several, and each of these with all seeds.
fn one(
    plan: &Plan<'_>,
    experiment: &Experiment,
    host: &mut Processes,
    choices: &[Chosen],
    used: &mut BTreeSet<&'static str>,
) -> Result<Report, Error> {
    let seeds: Vec<Option<u64>> =
        if plan.seeds.is_empty() { vec![None] } else { plan.seeds.iter().copied().map(Some).collect() };
    let mut reports = Vec::new();
    for choice in choices {
        let mut of_seeds = Vec::new();
        for seed in &seeds {
            let choice = Chosen { seed: *seed, ..choice.clone() };
            let (report, asked) = disturbed::measure(experiment, host, &plan.config, &choice);
            let is_random = asked.contains(chosen::SEED);
            used.extend(asked);
            of_seeds.push(report?);
            if !is_random {
                break;
            }
        }
        reports.extend(variants::spread(&plan.seeds, of_seeds));
    }
    let several = plan.settings.iter().find(|values| values.len() > 1);
    let report = match several {
        Some(settings) => {
            let values: Vec<(String, f64)> =
                settings.iter().map(|set| (set.text.clone(), set.value)).collect();
            variants::sensitivity(settings[0].name, &values, &reports)
        }
        None => reports.into_iter().next(),
    };
    let mut report = report.ok_or_else(|| Error("it was not run".into()))?;
    let set: Vec<String> = plan.settings.iter().map(|values| said(values)).collect();
    if !set.is_empty() {
        report.measured_on += &format!(" Inputs that were set: {}.", set.join(", "));
    }
    Ok(report)
}

/// `name=value,value`.
fn said(values: &[Setting]) -> String {
    let texts: Vec<&str> = values.iter().map(|set| set.text.as_str()).collect();
    format!("{}={}", values.first().map_or("", |set| set.name), texts.join(","))
}

/// Where reports of this command come from, but for the date.
fn origin(plan: &Plan<'_>) -> anyhow::Result<Provenance> {
    let Config { workers, nodes, runs, scale } = &plan.config;
    let scale = if *scale == Scale::Full { "full" } else { "small" };
    let size = format!("scale {scale}, runs {runs}, workers {workers:?}, nodes {nodes:?}");
    let seed = match plan.seeds[..] {
        [] => String::new(),
        [seed] => seed.to_string(),
        [first, .., last] => format!("{first}..{last}"),
    };
    let command: Vec<String> =
        std::env::args_os().skip(1).map(|word| quoted(&word.to_string_lossy())).collect();
    let set: Vec<String> = plan.settings.iter().map(|values| said(values)).collect();
    Ok(Provenance {
        command: format!("fifth {}", command.join(" ")),
        version: env!("CARGO_PKG_VERSION").into(),
        commit: env!("FIFTH_COMMIT").into(),
        executable: own_hash()?,
        compiler: env!("FIFTH_COMPILER").into(),
        host: machine(),
        date: String::new(),
        size,
        seed,
        set: set.join(" "),
    })
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=,:+@".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn own_hash() -> anyhow::Result<String> {
    struct Hashing(Xxh3);
    impl Write for Hashing {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.update(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut file = std::fs::File::open("/proc/self/exe").context("cannot read the fifth executable")?;
    let mut hash = Hashing(Xxh3::new());
    std::io::copy(&mut file, &mut hash).context("cannot read the fifth executable")?;
    Ok(format!("{:016x}", hash.0.digest()))
}

fn now() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    lab::provenance::date(now.as_secs())
}
