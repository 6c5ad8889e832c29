//! Figures 1 to 8 as charts.

use super::programs::Program;
use super::{Case, PROCESSORS, Runs};
use crate::report::{Chart, Series};

pub(super) fn all(runs: &Runs) -> Vec<Chart> {
    let against = |id: &str, title: &str, y: &str, of: &dyn Fn(&Case) -> f64| {
        let series = Program::ALL.map(|program| Series {
            name: program.name().into(),
            points: PROCESSORS.map(|at| (f64::from(at), of(runs.case(program, at)))).to_vec(),
        });
        let ideal = (y == "times").then(|| Series {
            name: "ideal".into(),
            points: PROCESSORS.map(|at| (f64::from(at), f64::from(at))).to_vec(),
        });
        Chart::lines(id, title, "processors", y, series.into_iter().chain(ideal).collect())
    };
    let mut charts = vec![
        against("figure-1", "Figure 1: words taken from blocks", "words/s", &|case| {
            case.consumed() / case.reducing()
        }),
        against("figure-2", "Figure 2: consumption against one processor", "times", &|case| {
            runs.against_one(case, |case| case.consumed() / case.reducing())
        }),
    ];
    charts.extend(Program::ALL.map(|program| active(runs, program)));
    charts.extend(Program::ALL.map(|program| split(runs, program)));
    charts.extend([
        against("figure-6", "Figure 6: speed-up, with collections", "times", &|case| {
            runs.against_one(case, Case::speed)
        }),
        against("figure-6-without", "Figure 6: speed-up, without collections", "times", &|case| {
            runs.against_one(case, Case::reducing_speed)
        }),
        against("figure-7", "Figure 7: speed-up of collection, by words copied/s", "times", &|case| {
            runs.against_one(case, Case::copied_a_second)
        }),
        against("figure-8", "Figure 8: use of processors in collections", "%", &|case| 100.0 * case.used()),
    ]);
    charts
}

/// Active words over the parts of the run, for each number of processors and run.
fn active(runs: &Runs, program: Program) -> Chart {
    let mut series = Vec::new();
    for at in PROCESSORS {
        for (number, run) in (1..).zip(&runs.case(program, at).runs) {
            let points = run.collections.iter().map(|done| (super::part(run, done), done.words() as f64));
            series.push(Series { name: format!("{at} processors, run {number}"), points: points.collect() });
        }
    }
    let title = format!("Figure 3: active words after collections, {}", program.name());
    Chart::lines(
        &format!("figure-3-{}", program.name()),
        &title,
        "part of the time of reduction",
        "words",
        series,
    )
}

/// Heap and goals, on one processor and on 8.
fn split(runs: &Runs, program: Program) -> Chart {
    let mut series = Vec::new();
    for at in [1, 8] {
        let Some(run) = runs.case(program, at).runs.first() else { continue };
        let line = |name: &str, of: fn(&super::collect::Collection) -> u64| Series {
            name: format!("{name}, {at} processors"),
            points: run.collections.iter().map(|done| (super::part(run, done), of(done) as f64)).collect(),
        };
        series.extend([line("heap", |done| done.heap), line("goal records", |done| done.goals)]);
    }
    let title = format!("Figures 4 and 5: heap and goal records, {}", program.name());
    Chart::lines(
        &format!("figure-4-{}", program.name()),
        &title,
        "part of the time of reduction",
        "words",
        series,
    )
}
