//! Charts: figures against the number of workers as bars, words in use over the run as lines.

use super::{CASES, Runs, Words, people};
use crate::record::{Record, Sample};
use crate::report::{Chart, Group, Look, Series, grouped};

pub(super) fn all(measured: &[Runs]) -> Vec<Chart> {
    let mut charts = against_workers(measured);
    charts.extend(utilisation(measured));
    charts.extend(measured.iter().flat_map(over_time));
    charts
}

/// As many as the paper draws; more would hide each other.
const OVERLAID_MAX: usize = 3;

/// Values of a program with some workers.
type Figure<'a> = &'a dyn Fn(&Runs) -> Option<f64>;
/// Bars for each number of workers, one a program.
fn bars(measured: &[Runs], id: &str, title: &str, y: &str, figure: Figure) -> Option<Chart> {
    let mut workers: Vec<u32> =
        measured.iter().filter(|runs| figure(runs).is_some()).map(|runs| runs.workers).collect();
    workers.sort_unstable();
    workers.dedup();
    let series = CASES.iter().map(|case| {
        let value = |workers: &u32| {
            let runs = measured.iter().find(|runs| runs.workers == *workers && std::ptr::eq(runs.case, case));
            runs.and_then(figure)
        };
        let points = workers.iter().enumerate().filter_map(|(n, workers)| Some((n as f64, value(workers)?)));
        Series { name: case.program.name.into(), points: points.collect() }
    });
    let group = |workers: &u32| Group { name: workers.to_string(), published: false };
    (!workers.is_empty()).then(|| Chart {
        groups: workers.iter().map(group).collect(),
        ..Chart::lines(id, title, "workers", y, series.collect())
    })
}

fn against_workers(measured: &[Runs]) -> Vec<Chart> {
    let against_one =
        |figure: fn(&Runs) -> Option<f64>| move |runs: &Runs| runs.against_one(measured, figure);
    let charts = [
        bars(measured, "speed-up", "Speed-up", "times as fast as one worker", &|runs| runs.speedup(measured)),
        bars(
            measured,
            "collection-speed-up",
            "Speed-up of collection",
            "words copied per second, times as many as by one worker",
            &against_one(Runs::words_copied_per_second),
        ),
        bars(
            measured,
            "collection-share",
            "Time of collections",
            "% of the time of reduction",
            &Runs::collection_share,
        ),
        bars(
            measured,
            "words-per-second",
            "Consumption of memory",
            "million words per second of reduction",
            &|runs| runs.words_per_second().map(|words| words / 1e6),
        ),
        bars(
            measured,
            "words-per-reduction",
            "Consumption of memory by a reduction",
            "words per reduction",
            &|runs| runs.quotient(|record| record.words_allocated as f64, super::reductions),
        ),
    ];
    charts.into_iter().flatten().collect()
}

/// How much of the time of collections each worker had work.
fn utilisation(measured: &[Runs]) -> Option<Chart> {
    let runs: Vec<&Runs> = measured.iter().filter(|runs| runs.utilisation(0).is_some()).collect();
    let group = |runs: &&Runs| Group { name: format!("{}, {}", runs.name(), runs.workers), published: false };
    let workers = runs.iter().map(|runs| runs.workers).max()?;
    let series = (0..workers).map(|worker| {
        let own = runs.iter().enumerate().filter(|(_, runs)| worker < runs.workers);
        let points = own.filter_map(|(n, runs)| Some((n as f64, runs.utilisation(worker)?)));
        Series { name: format!("worker {worker}"), points: points.collect() }
    });
    Some(Chart {
        id: "utilisation".into(),
        title: "Each worker in collections".into(),
        x: "program, workers".into(),
        y: "% of the time of collections in which it had work".into(),
        groups: runs.iter().map(group).collect(),
        series: series.collect(),
        look: Look::default(),
    })
}

/// Words in use after each collection: the first runs, and for one of them goals and data.
fn over_time(runs: &Runs) -> Vec<Chart> {
    let (name, workers) = (runs.name(), runs.workers);
    let line = |name: String, record: &Record, of: Words| Series {
        name,
        points: record.by_reducing_time().map(|(at, sample)| (at, of(sample) as f64)).collect(),
    };
    let chart = |id: &str, what: &str, series| {
        let id = format!("{id}-{name}-{workers}");
        let title = format!("{name}, {}: {what}", people(workers));
        Chart::lines(&id, &title, "seconds of reduction", "words", series)
    };
    let mut charts = Vec::new();
    // Without a collection there is nothing to draw.
    if runs.samples().next().is_none() {
        return charts;
    }
    let overlaid = runs.records.iter().enumerate().take(OVERLAID_MAX);
    let overlaid = overlaid.map(|(n, record)| line(format!("run {}", n + 1), record, Sample::words));
    charts.push(chart("in-use", "words in use after each collection", overlaid.collect()));
    if let Some(record) = runs.records.first() {
        let split: [(&str, Words); 3] = [
            ("data", |sample| sample.heap_words.saturating_sub(sample.waiting_words)),
            ("ready goals", |sample| sample.ready_words),
            ("waiting goals", |sample| sample.waiting_words),
        ];
        let split = split.map(|(part, of)| {
            let most = record.collections.iter().map(of).max().unwrap_or(0);
            line(format!("{part} (at most {})", grouped(most as f64, 0)), record, of)
        });
        charts.push(chart("goals-and-data", "goals and data, run 1", split.to_vec()));
    }
    charts
}
