//! `fifth lab figures`: the two figures of README.md, made again.

use super::files;
use super::processes::{Processes, Progress, Simulations};
use anyhow::{Context, bail};
use lab::timeline::{self, Span};
use lab::{Config, Scale, programs};
use serde::Deserialize;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// The experiment of the chart, and the chart.
const EXPERIMENT: &str = "jmachine/fig5";
const CHART: &str = "by-nodes";
/// How much of the run is drawn, in microseconds.
const SHOWN: f64 = 20_000.0;

/// Writes both figures to a folder.
pub(super) fn run(folder: &Path, scale: Scale) -> anyhow::Result<u8> {
    files::make_folder(folder)?;
    files::write_file(&folder.join("speed-up.svg"), &speed_up(scale)?)?;
    files::write_file(&folder.join("two-workers.svg"), &two_workers()?)?;
    Ok(0)
}

fn speed_up(scale: Scale) -> anyhow::Result<String> {
    let experiment = lab::find(EXPERIMENT).context("the experiment of the figure is gone")?;
    let config = Config { workers: vec![1], nodes: Vec::new(), runs: 1, scale };
    let mut host = Processes::new(Progress::bars(), Simulations::default())?;
    host.begin(experiment.name, 1, 1);
    let report = (experiment.run)(experiment, &mut host, &config);
    host.end();
    let report = report?;
    let chart = report.charts.iter().find(|chart| chart.id == CHART).context("the chart is gone")?;
    let mut chart = chart.clone();
    chart.title = "Four programs on a simulated J-Machine".into();
    Ok(lab::svg::chart(&chart))
}

/// What an event of a trace says; others have no duration.
#[derive(Deserialize)]
struct Event {
    tid: u32,
    name: String,
    ts: f64,
    #[serde(default)]
    dur: Option<f64>,
}

#[derive(Deserialize)]
struct Trace {
    #[serde(rename = "traceEvents")]
    events: Vec<Event>,
}

/// A compiler's run on two workers, as its trace has it.
fn two_workers() -> anyhow::Result<String> {
    let program = &programs::KL1CMP;
    let executable = std::env::current_exe().context("cannot find the fifth executable")?;
    let mut command = Command::new(executable);
    command.args(["run", "--workers", "2", "--trace", "/dev/stderr", "/dev/stdin", "--"]);
    command.args(program.size(Scale::Small).arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().context("cannot start a process")?;
    // A process that does not read it says why itself.
    let _ = child.stdin.take().expect("piped").write_all(program.text.as_bytes());
    let output = child.wait_with_output().context("cannot wait for a process")?;
    if !output.status.success() {
        bail!("{}: {}", program.name, output.status);
    }
    let trace: Trace = serde_json::from_slice(&output.stderr).context("the trace cannot be read")?;
    let span =
        |event: Event| Some(Span { worker: event.tid, lasted: event.dur?, name: event.name, at: event.ts });
    let spans: Vec<Span> = trace.events.into_iter().filter_map(span).collect();
    let begin = spans.iter().map(|span| span.at).fold(f64::INFINITY, f64::min);
    let end = spans.iter().map(|span| span.at + span.lasted).fold(0.0, f64::max);
    if spans.is_empty() {
        bail!("the trace has no spans");
    }
    let part = (begin, end.min(begin + SHOWN));
    Ok(timeline::svg("Two workers of Fifth compile a grammar (kl1cmp)", &spans, part))
}
