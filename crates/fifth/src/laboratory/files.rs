//! Files of the laboratory: a folder for each report, and the page of all.
//!
//! A file is written beside its place and moved there, so that a process that is killed leaves no half of one.

use anyhow::{Context, bail};
use lab::Experiment;
use lab::report::Report;
use std::path::Path;

/// All of a report, in its folder.
const JSON: &str = "report.json";

/// The page of these reports.
pub(super) fn write_page(reports: &[Report], folder: &Path) -> anyhow::Result<()> {
    write_file(&folder.join("report.html"), &lab::html::page(reports))
}

/// A report, its tables and its charts, in a folder of its name.
pub(super) fn write_report(report: &Report, folder: &Path) -> anyhow::Result<()> {
    let folder = folder.join(&report.name);
    make_folder(&folder)?;
    for table in &report.tables {
        write_file(&folder.join(format!("{}.csv", table.id)), &lab::csv::table(table))?;
    }
    for chart in &report.charts {
        write_file(&folder.join(format!("{}.csv", chart.id)), &lab::csv::chart(chart))?;
        write_file(&folder.join(format!("{}.svg", chart.id)), &lab::svg::chart(chart))?;
    }
    // The last file: where it is, the others are.
    let json = serde_json::to_string_pretty(report).context("cannot write a report as JSON")?;
    write_file(&folder.join(JSON), &(json + "\n"))
}

/// The report that a folder has of this experiment, if it has one. What is no report is an error.
pub(super) fn read_report(experiment: &Experiment, folder: &Path) -> anyhow::Result<Option<Report>> {
    let path = folder.join(experiment.name).join(JSON);
    if !path.exists() {
        return Ok(None);
    }
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let report = serde_json::from_str::<Report>(&text)
        .map_err(anyhow::Error::from)
        .and_then(|report| report.checked().map_err(anyhow::Error::msg))
        .with_context(|| format!("{} is no report of `fifth lab run --out`", path.display()))?;
    Ok(Some(report))
}

/// The reports that a folder has of these experiments: one at least.
pub(super) fn read_reports(
    experiments: &[&'static Experiment],
    folder: &Path,
) -> anyhow::Result<Vec<Report>> {
    let mut reports = Vec::new();
    for experiment in experiments {
        reports.extend(read_report(experiment, folder)?);
    }
    if reports.is_empty() {
        bail!("{} has no reports; `fifth lab run all --out {0}` writes them", folder.display());
    }
    Ok(reports)
}

/// Makes a folder, unless it is there.
pub(super) fn make_folder(folder: &Path) -> anyhow::Result<()> {
    if folder.exists() && !folder.is_dir() {
        bail!("cannot make the folder {}: there is a file of that name", folder.display());
    }
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))
}

/// Writes a file as a whole.
pub(super) fn write_file(path: &Path, text: &str) -> anyhow::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let part = path.with_file_name(name);
    let written = std::fs::write(&part, text).and_then(|()| std::fs::rename(&part, path));
    if written.is_err() {
        // Whatever was written of it is no use.
        let _ = std::fs::remove_file(&part);
    }
    written.with_context(|| format!("cannot write {}", path.display()))
}
