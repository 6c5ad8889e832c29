//! Table 5: the travelling salesman.

use super::applications::{
    Application, CALL_INSTRUCTIONS, PATH_INSTRUCTIONS, Ran, Sizes, TSP_CYCLES, report,
};
use super::table4::NODES;
use super::{SOURCE, simulation};
use crate::chosen;
use crate::report::{Cell, Kind, Report, Table, median};
use crate::{Config, Error, Experiment, Host};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "jmachine/table5",
    title: "J-Machine: the travelling salesman on 64 nodes",
    source: SOURCE,
    about: "A search whose parts are of any size: nodes that have nothing left get some from others, and tell all of \
        a better tour. How many threads does that take, and how long are nodes idle?",
    times_host: false,
    run,
};

/// Cities of a task's path, and seeds of cities. How many seeds there are, and which, was fixed before a search with
/// any of them had been run: searches differ five times with their cities, and an earlier choice had been seen.
const TASK_CITIES: [u32; 2] = [5, 6];
pub(super) const SEEDS: [u64; 8] = [11, 12, 13, 14, 15, 16, 17, 18];

/// What is measured or computed of a run.
struct Row {
    what: &'static str,
    kind: Kind,
    decimals: usize,
    of: fn(&Ran) -> f64,
    published: Option<f64>,
}

const fn row(what: &'static str, kind: Kind, of: fn(&Ran) -> f64, published: f64) -> Row {
    Row { what, kind, decimals: 0, of, published: Some(published) }
}

const ROWS: [Row; 11] = [
    row("run time, ms", Kind::Measured, Ran::millis, 26_300.0),
    row("threads of users", Kind::Measured, users, 9.1e6),
    row("threads of the system", Kind::Measured, |ran| ran.calls as f64 + messages(ran), 8.9e6),
    row("instructions of users", Kind::Derived, user_instructions, 2.8e9),
    row(
        "instructions of the system",
        Kind::Derived,
        |ran| (ran.calls as f64 + messages(ran)) * CALL_INSTRUCTIONS as f64,
        0.54e9,
    ),
    row("instructions of a user's thread", Kind::Input, |_| thread_instructions(), 309.0),
    row("instructions of a system's thread", Kind::Input, |_| CALL_INSTRUCTIONS as f64, 61.0),
    row("instructions of a task", Kind::Derived, |ran| user_instructions(ran) / ran.tasks as f64, 32_000.0),
    Row {
        decimals: 1,
        ..row("% synchronization", Kind::Derived, |ran| ran.share(ran.spent.synchronization), 16.0)
    },
    Row { decimals: 1, ..row("% idle", Kind::Measured, Ran::idle, 3.8) },
    Row {
        what: "tasks that went to other nodes",
        kind: Kind::Measured,
        decimals: 0,
        of: |ran| ran.threads[0].count as f64,
        published: None,
    },
];

fn users(ran: &Ran) -> f64 {
    ran.looked_at as f64 / TSP_CYCLES.call_paths as f64
}
fn messages(ran: &Ran) -> f64 {
    ran.threads.iter().map(|threads| threads.count as f64).sum()
}
fn user_instructions(ran: &Ran) -> f64 {
    (ran.looked_at * PATH_INSTRUCTIONS) as f64
}
fn thread_instructions() -> f64 {
    (PATH_INSTRUCTIONS * TSP_CYCLES.call_paths) as f64
}

fn run(experiment: &Experiment, host: &mut dyn Host, config: &Config) -> Result<Report, Error> {
    let sizes = Sizes::of(config.scale);
    let searches = TASK_CITIES.map(|cities| SEEDS.map(|seed| (cities, seed))).concat();
    let mut part = 0;
    let run = |(cities, seed): &(u32, u64)| Application::run_cities(NODES, &sizes, *seed, *cities);
    let runs = chosen::each(&searches, run, |(cities, seed), ran| {
        part += 1;
        host.progress(part, searches.len(), &format!("TSP, seed {seed}, tasks of {cities} cities"));
        let told = [
            ("seed of the cities", Cell::key(*seed)),
            ("cities of a task", Cell::key(*cities)),
            ("ms", Cell::Measured(ran.millis(), 0)),
            ("% idle", Cell::Measured(ran.idle(), 1)),
        ];
        host.row("The search", &told);
    })?;
    let rows = ROWS.map(|row| {
        let values = || runs.iter().map(row.of);
        let cell = |value| Cell::number(row.kind, value, row.decimals);
        vec![
            Cell::text(row.what),
            median(values().collect()).map_or(Cell::Absent, cell),
            cell(values().fold(f64::INFINITY, f64::min)),
            cell(values().fold(f64::NEG_INFINITY, f64::max)),
            row.published.map_or(Cell::Absent, |value| Cell::Published(value, row.decimals)),
        ]
    });
    let note = "The paper's cities are not printed. Ours lie at random places: simulated is the middle of sixteen runs, of \
        seeds 11 to 18 and tasks of 5 and of 6 cities, which were chosen before any was run. A path that is shorter than the best \
        tour is extended by each other city, and each of these paths is looked at; a thread of users is 11 of them and a null call, so that it has as many instructions as \
        printed. Messages for tasks and for better tours are threads of the system, too. The paper prints under 2 \
        million instructions a second from external memory, where the search is.";
    let heads = ["what", "simulated", "least", "most", "published"];
    let table = Table::new("search", "The search", note, &heads, rows.to_vec());
    let topology = simulation::network(NODES).topology.to_string();
    Ok(report(experiment, (&[Application::Tsp], config.scale), &topology, vec![table], Vec::new()))
}
