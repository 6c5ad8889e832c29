//! Experiments on simulated networks: they need no host, so their figures are the same everywhere.

use lab::report::{Cell, Report, Table};
use lab::{Config, Finished, Host, Job, Scale};

/// Runs no programs.
struct Nobody;

impl Host for Nobody {
    fn run(&mut self, job: &Job) -> Result<Finished, String> {
        Err(format!("{} is not asked for", job.program.name))
    }
    fn progress(&mut self, part: usize, parts: usize, _: &str) {
        assert!((1..=parts).contains(&part));
    }
    fn machine(&self) -> String {
        "nothing".into()
    }
}

fn run(name: &str, scale: Scale) -> Report {
    let experiment = lab::find(name).expect("it is in the list");
    let config = Config { workers: vec![1], runs: 1, scale };
    let report = (experiment.run)(experiment, &mut Nobody, &config).expect("it needs nobody");
    println!("{}", lab::text::report(&report));
    for table in &report.tables {
        assert!(table.rows.iter().all(|row| row.len() == table.columns.len()), "{}", table.id);
    }
    assert!(report.charts.iter().all(|chart| lab::svg::chart(chart).ends_with("</svg>\n")));
    report
}

/// The values of a table's column.
fn column(table: &Table, head: &str) -> Vec<f64> {
    let at = table.columns.iter().position(|column| column == head).expect("there is such a column");
    let value = |row: &Vec<Cell>| match row[at] {
        Cell::Measured(value, _) => value,
        ref other => panic!("{head}: {other:?} is not measured"),
    };
    table.rows.iter().map(value).collect()
}

#[test]
fn round_trips_of_the_j_machine() {
    let report = run("jmachine/fig2", Scale::Small);
    let table = &report.tables[0];
    assert_eq!(column(table, "base")[0], 43.0);
    assert_eq!(column(table, "a hop"), [2.0; 3]);
    // Published: 60 and 98.
    assert_eq!((column(table, "neighbour")[2], column(table, "opposite corner")[2]), (57.0, 97.0));
}

#[test]
fn random_traffic_of_the_j_machine() {
    let report = run("jmachine/fig3", Scale::Small);
    let most = column(&report.tables[0], "most traffic, Gbit/s");
    assert!(most[2..].iter().all(|gbits| (gbits / 6.0 - 1.0).abs() < 0.1), "{most:?}");
    let half = column(&report.tables[0], "half-power grain, cycles");
    assert!(half.is_sorted() && half[0] > 100.0 && half[3] < 400.0, "{half:?}");
}

#[test]
fn bandwidth_of_the_j_machine() {
    let share = column(&run("jmachine/fig4", Scale::Small).tables[0], "% of the channel");
    assert!(share[1] > 50.0 && share[5] >= 90.0 && share.is_sorted(), "{share:?}");
}

#[test]
fn load_of_the_multi_psi() {
    let report = run("multipsi/traffic", Scale::Small);
    let table = &report.tables[0];
    assert_eq!(column(table, "channels"), [48.0, 6240.0]);
    for (head, [small, large], tolerance) in
        [("links a message", [2.5, 26.65], 0.05), ("% of a channel", [0.353, 23.4], 0.1)]
    {
        let measured = column(table, head);
        let near = |value: f64, expected: f64| (value / expected - 1.0).abs() < tolerance;
        assert!(near(measured[0], small) && near(measured[1], large), "{head}: {measured:?}");
    }
}
