//! Experiments: with which seeds and inputs, what is there already, and what came of it.
//!
//! Those that time this host run first, one after the other and alone. The others are simulated, in virtual time, so
//! they run at the same time, one on each processor, and those that take longest begin first.

use super::files;
use super::processes::{Processes, Progress, Simulations, machine};
use crate::output;
use anyhow::{Context, bail};
use lab::chosen::{self, Chosen, Setting};
use lab::report::{Provenance, Report, Table};
use lab::{Config, Error, Experiment, disturbed, variants};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
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
    /// How many experiments that time nothing of this host run at the same time.
    pub(super) at_once: usize,
}

/// What experiments gave.
pub(super) struct Measured {
    pub(super) reports: Vec<Report>,
    /// Names of those that gave no report.
    pub(super) failed: Vec<&'static str>,
    /// Whether all files could be written.
    pub(super) files: anyhow::Result<()>,
}

/// Runs experiments; each report is written as soon as it is there, and so is the page of all. They are told in one
/// order, whichever ends first: those that time this host, then the others. `between_processes` are more tables of the
/// first experiments, one each.
pub(super) fn all(
    plan: &Plan<'_>,
    experiments: &[&'static Experiment],
    between_processes: Vec<Table>,
    progress: Progress,
    told: impl FnMut(&Report) -> anyhow::Result<()>,
) -> anyhow::Result<Measured> {
    let choices = chosen::choices(&plan.settings).map_err(anyhow::Error::msg)?;
    let names: Vec<&str> = experiments.iter().map(|experiment| experiment.name).collect();
    if let Some(wrong) = chosen::missing(&plan.settings, &names) {
        bail!(wrong);
    }
    if let Some(folder) = plan.folder {
        files::make_folder(folder)?;
    }
    let times_host = |at: &usize| experiments[*at].times_host || !plan.config.nodes.is_empty();
    let (alone, others): (Vec<usize>, Vec<usize>) = (0..experiments.len()).partition(times_host);
    let origin = origin(plan)?;
    let mut ending = Ending {
        plan,
        experiments,
        origin: &origin,
        between_processes: between_processes.into_iter().map(Some).collect(),
        order: alone.iter().chain(&others).copied().collect(),
        told,
        ended: experiments.iter().map(|_| None).collect(),
        used: BTreeSet::new(),
        files: Ok(()),
    };
    let work = |at: usize, host: &mut Processes| -> anyhow::Result<Ended> {
        if let Some(report) = kept(plan, experiments[at], &origin)? {
            return Ok(Ended::Kept(report));
        }
        host.begin(experiments[at].name, at + 1, experiments.len());
        let mut used = BTreeSet::new();
        let result = one(plan, experiments[at], host, &choices, &mut used);
        host.end();
        Ok(Ended::Ran(result, used))
    };
    let mut longest_first = others;
    longest_first.sort_by_key(|at| experiments[*at].begins());
    for (line, most) in [(alone, 1), (longest_first, plan.at_once)] {
        side_by_side(&line, most, &progress, &work, |at, ended| {
            let ended = ended?;
            progress.aside(|| ending.end(at, ended))
        })?;
    }
    let Ending { ended, used, files, .. } = ending;
    let measured = measured(experiments, ended, files);
    if measured.failed.is_empty() {
        all_are_used(plan, &used)?;
    }
    Ok(measured)
}

/// Does the work for each number of a line, `most` at a time, each with a host of its own; `end` hears of each as it
/// ends. After an error no more begins, and the error is given when what runs has ended.
fn side_by_side<R: Send>(
    line: &[usize],
    most: usize,
    progress: &Progress,
    work: &(impl Fn(usize, &mut Processes) -> R + Sync),
    mut end: impl FnMut(usize, R) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let hosts = most.clamp(1, line.len().max(1));
    let simulations = Simulations::default();
    let host = |_| Processes::new(progress.clone(), simulations.clone());
    let hosts: Vec<Processes> = (0..hosts).map(host).collect::<anyhow::Result<_>>()?;
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for mut host in hosts {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                while let Some(at) = line.get(next.fetch_add(1, Ordering::Relaxed)) {
                    // Nobody hears it after an error.
                    let _ = sender.send((*at, work(*at, &mut host)));
                }
            });
        }
        drop(sender);
        receiver.into_iter().try_for_each(|(at, result)| end(at, result)).inspect_err(|_| {
            next.store(line.len(), Ordering::Relaxed);
        })
    })
}

/// How the work for an experiment ended.
enum Ended {
    /// Its report was there.
    Kept(Report),
    /// It ran, and used these inputs.
    Ran(Result<Report, Error>, BTreeSet<&'static str>),
}

/// Writes and tells what ends.
struct Ending<'a, T> {
    plan: &'a Plan<'a>,
    experiments: &'a [&'static Experiment],
    origin: &'a Provenance,
    between_processes: Vec<Option<Table>>,
    /// Experiments in the order in which they are told, without those that were.
    order: VecDeque<usize>,
    told: T,
    /// What ended: an experiment without a report failed.
    ended: Vec<Option<Option<Report>>>,
    used: BTreeSet<&'static str>,
    files: anyhow::Result<()>,
}

impl<T: FnMut(&Report) -> anyhow::Result<()>> Ending<'_, T> {
    fn end(&mut self, at: usize, ended: Ended) -> anyhow::Result<()> {
        self.ended[at] = Some(match ended {
            Ended::Kept(report) => {
                // Whoever wrote it had used its inputs.
                let set = self.plan.settings.iter().flatten().map(|set| set.name);
                self.used.extend(set.chain([chosen::SEED]));
                Some(report)
            }
            Ended::Ran(Ok(mut report), used) => {
                self.used.extend(used);
                report.tables.extend(self.between_processes.get_mut(at).and_then(Option::take));
                report.provenance = Some(Provenance { date: now(), ..self.origin.clone() });
                self.write(|folder| files::write_report(&report, folder));
                Some(report)
            }
            // What the others measure is no worse for it.
            Ended::Ran(Err(error), _) => {
                output::complain(&format!("error: {}: {error}", self.experiments[at].name));
                None
            }
        });
        let reports: Vec<Report> = self.ended.iter().flatten().flatten().cloned().collect();
        self.write(|folder| files::write_page(&with_scorecard(&reports), folder));
        while let Some(ended) = self.order.front().and_then(|at| self.ended[*at].as_ref()) {
            self.order.pop_front();
            if let Some(report) = ended {
                (self.told)(report)?;
            }
        }
        Ok(())
    }

    fn write(&mut self, write: impl FnOnce(&Path) -> anyhow::Result<()>) {
        let written = self.plan.folder.map_or(Ok(()), write);
        let before = std::mem::replace(&mut self.files, Ok(()));
        self.files = before.and(written);
    }
}

/// What all gave, in the order of the experiments.
fn measured(
    experiments: &[&'static Experiment],
    ended: Vec<Option<Option<Report>>>,
    files: anyhow::Result<()>,
) -> Measured {
    let mut measured = Measured { reports: Vec::new(), failed: Vec::new(), files };
    for (experiment, ended) in experiments.iter().zip(ended) {
        match ended.flatten() {
            Some(report) => measured.reports.push(report),
            None => measured.failed.push(experiment.name),
        }
    }
    measured
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

/// The scorecard of reports: of those that count. A note says why others do not.
pub(super) fn scorecard(reports: &[Report]) -> Report {
    let counting: Vec<Report> = reports.iter().filter(|report| report.counts()).cloned().collect();
    let mut scorecard = lab::scorecard::report(&counting);
    let mut left_out: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for report in reports {
        if let Some(why) = report.why_not() {
            left_out.entry(why).or_default().push(&report.name);
        }
    }
    let told = |(why, names): (&str, Vec<&str>)| format!("Not counted, because {why}: {}.", names.join(", "));
    scorecard.notes.extend(left_out.into_iter().map(told));
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
        size: lab::provenance::size(&plan.config),
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

#[cfg(test)]
mod tests {
    use super::{Progress, side_by_side};
    use anyhow::bail;
    use std::sync::Barrier;

    #[test]
    fn all_of_a_line_are_worked_for_at_the_same_time() {
        // Nobody would pass the barrier alone.
        let together = Barrier::new(3);
        let work = |at: usize, _: &mut _| {
            together.wait();
            10 * at
        };
        let mut ended = Vec::new();
        let line = [4, 1, 7];
        let result = side_by_side(&line, 3, &Progress::bars(), &work, |at, result| {
            ended.push((at, result));
            Ok(())
        });
        ended.sort_unstable();
        assert_eq!(ended, [(1, 10), (4, 40), (7, 70)]);
        assert!(result.is_ok());
    }

    #[test]
    fn an_error_ends_the_line() {
        let work = |at: usize, _: &mut _| at;
        let mut ended = Vec::new();
        let line: Vec<usize> = (0..100_000).collect();
        let result = side_by_side(&line, 1, &Progress::bars(), &work, |at, _| {
            ended.push(at);
            bail!("the disk is full")
        });
        assert_eq!(ended, [0]);
        assert_eq!(result.map_err(|error| error.to_string()), Err("the disk is full".into()));
    }
}
