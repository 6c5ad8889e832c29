//! `fifth lab`: runs experiments; has the processes, the files and the terminal that they do not know of.

mod figures;
mod files;
mod network;
mod processes;
mod runs;
mod serve;

use crate::cli::{self, Lab, LabRun, Scorecard};
use crate::{counting, job, output};
use anyhow::bail;
use lab::chosen::INPUTS;
use lab::{Config, EXPERIMENTS, Experiment, Scale};
use processes::{Progress, processors};
use runs::Plan;
use std::collections::BTreeSet;

/// A program of an experiment failed.
const FAILED: u8 = 255;

/// Runs the subcommand and gives the exit code.
pub(crate) fn run(command: &Lab) -> anyhow::Result<u8> {
    match command {
        Lab::List => output::write(&list()).map(|()| 0),
        Lab::Inputs => output::write(&inputs()).map(|()| 0),
        Lab::Run(options) => run_experiments(options),
        Lab::Scorecard(options) => score(options),
        Lab::Network(options) => network::run(options),
        Lab::Serve(options) => serve::run(options),
        Lab::Figures { folder, scale } => figures::run(folder, scale_of(*scale)),
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

fn inputs() -> String {
    let width = INPUTS.iter().map(|input| input.name.len()).max().unwrap_or_default();
    INPUTS.iter().map(|input| format!("{:<width$}  {}\n", input.name, input.told())).collect()
}

/// Runs experiments; each report is written, to its folder and to the terminal, as soon as it is there.
fn run_experiments(options: &LabRun) -> anyhow::Result<u8> {
    let experiments = chosen(&options.names)?;
    let mut workers = options.workers.clone();
    workers.sort_unstable();
    workers.dedup();
    let config = config(workers, options.nodes.clone(), options.runs, options.scale);
    let Some(between_processes) = job::measure(&experiments, &config)? else { return Ok(0) };
    let plan = Plan {
        config,
        seeds: options.seed.clone().map_or(Vec::new(), |seeds| seeds.0.collect()),
        settings: options.set.iter().map(|set| set.0.clone()).collect(),
        folder: options.out.as_deref(),
        resume: options.resume,
        at_once: processors() as usize,
    };
    let mut separator = "";
    let measured = runs::all(&plan, &experiments, between_processes, Progress::bars(), |report| {
        let text = format!("{separator}{}", lab::text::report(report));
        separator = "\n";
        output::write(&text)
    })?;
    // If files cannot be written, at least the terminal has what took minutes to measure, and the other way round.
    measured.files?;
    Ok(ended(&measured.failed, experiments.len()))
}

/// Says at the end which experiments gave no report; gives the exit code.
fn ended(failed: &[&str], all: usize) -> u8 {
    if failed.is_empty() {
        return 0;
    }
    if all > 1 {
        output::complain(&format!(
            "error: {} of {all} experiments failed: {}",
            failed.len(),
            failed.join(", ")
        ));
    }
    FAILED
}

/// Compares every number that the papers print with reports: those of a folder, or of experiments that it runs.
fn score(options: &Scorecard) -> anyhow::Result<u8> {
    let experiments: Vec<_> = lab::scorecard::experiments().into_iter().filter_map(lab::find).collect();
    let (reports, code) = match &options.from {
        Some(folder) => (files::read_reports(&experiments, folder)?, 0),
        None => {
            let config = config(Vec::new(), Vec::new(), options.runs, options.scale);
            let Some(between_processes) = job::measure(&experiments, &config)? else { return Ok(0) };
            let (seeds, settings) = (Vec::new(), Vec::new());
            let (folder, at_once) = (options.out.as_deref(), processors() as usize);
            let plan = Plan { config, seeds, settings, folder, resume: false, at_once };
            let measured = runs::all(&plan, &experiments, between_processes, Progress::bars(), |_| Ok(()))?;
            measured.files?;
            (measured.reports, ended(&measured.failed, experiments.len()))
        }
    };
    let counting: Vec<_> = reports.iter().filter(|report| report.counts()).cloned().collect();
    let scorecard = runs::scorecard(&reports);
    let text =
        if options.markdown { lab::scorecard::markdown(&counting) } else { lab::text::report(&scorecard) };
    let said = output::write(&text);
    if let Some(folder) = &options.out {
        files::make_folder(folder)?;
        files::write_report(&scorecard, folder)?;
        files::write_page(&runs::with_scorecard(&reports), folder)?;
    }
    said.map(|()| code)
}

fn config(workers: Vec<u32>, nodes: Vec<u32>, runs: u32, scale: cli::Scale) -> Config {
    let scale = scale_of(scale);
    let workers = if workers.is_empty() { up_to(processors()) } else { workers };
    Config { workers, nodes, runs, scale }
}

fn scale_of(scale: cli::Scale) -> Scale {
    match scale {
        cli::Scale::Full => Scale::Full,
        cli::Scale::Small => Scale::Small,
    }
}

/// Numbers of workers that show how speed grows, without runs that show no more.
fn up_to(processors: u32) -> Vec<u32> {
    let most = processors.min(runtime::worker::WORKERS_MAX as u32);
    (1..=most).filter(|&n| n <= 8 || n.is_power_of_two() || n == most).collect()
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
