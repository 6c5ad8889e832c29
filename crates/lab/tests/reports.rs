//! What writers of reports write, word for word, and what an experiment makes of the figures of its runs.
//! `UPDATE_EXPECT=1` writes down what they write now.

use expect_test::expect_file;
use lab::record::{self, Record, Sample, Share};
use lab::report::{Cell, Chart, Group, Kind, Look, Report, Series, Table};
use lab::{Config, Finished, Host, Job, Place, Scale};

fn report() -> Report {
    let text = |text: &str| Cell::Text(text.into());
    let points = |factor: f64| (0..5).map(|n| (f64::from(n) * 0.25, f64::from(n * n) * factor)).collect();
    Report {
        name: "example".into(),
        title: "An example".into(),
        source: "Nobody: Nothing. 1989".into(),
        about: "Shows <what> a report looks like, with a sentence that is long enough that it must be wrapped somewhere \
                behind its hundredth character.".into(),
        measured_on: "Measured on a machine.".into(),
        notes: vec!["one: the first program".into()],
        tables: vec![Table {
            id: "speed".into(),
            title: "Speed & \"more\"".into(),
            note: "What must be known.".into(),
            columns: ["program", "workers", "reductions, all", "s", "published s"].map(String::from).to_vec(),
            rows: vec![
                vec![
                    text("one"),
                    Cell::key(2_u64),
                    Cell::Measured(1234567.0, 0),
                    Cell::Measured(0.12345, 3),
                    Cell::Published(606.02, 2),
                ],
                vec![text("another"), Cell::key(4_u64), Cell::count(7_u64), Cell::ratio(1.0, 0.0, 2), Cell::Absent],
                vec![
                    text("a third"),
                    Cell::key(8_u64),
                    Cell::Derived(8.5, 1),
                    Cell::Fitted(2.0, 1),
                    Cell::Finding(Kind::Published, true),
                ],
                vec![
                    text("the last"),
                    Cell::Key(1.0, 0),
                    Cell::Input(9.0, 0),
                    Cell::Finding(Kind::Measured, false),
                    Cell::NotModelled("<nobody> knows how".into()),
                ],
            ],
        }],
        charts: vec![Chart {
            id: "words".into(),
            title: "words in use".into(),
            x: "seconds".into(),
            y: "words".into(),
            groups: Vec::new(),
            look: Look::default(),
            series: vec![
                Series { name: "run 1".into(), points: points(1000.0) },
                Series { name: "run 2".into(), points: points(900.0) },
            ],
        }],
        disturbed: vec![],
        provenance: None,
    }
}

#[test]
fn text() {
    expect_file!["golden/report.txt"].assert_eq(&lab::text::report(&report()));
}

#[test]
fn csv() {
    let report = report();
    let both = format!("{}\n{}", lab::csv::table(&report.tables[0]), lab::csv::chart(&report.charts[0]));
    expect_file!["golden/report.csv"].assert_eq(&both);
}

#[test]
fn svg() {
    expect_file!["golden/chart.svg"].assert_eq(&lab::svg::chart(&report().charts[0]));
}

#[test]
fn bars() {
    let group = |(name, published): (&str, bool)| Group { name: name.into(), published };
    let chart = Chart {
        id: "bars".into(),
        title: "Speed-up".into(),
        x: "workers".into(),
        y: "times".into(),
        groups: [("1", false), ("2, \"twice\"", false), ("8*", true)].map(group).to_vec(),
        series: vec![
            Series { name: "one".into(), points: vec![(0.0, 1.0), (1.0, 1.9), (2.0, 7.5)] },
            Series { name: "two".into(), points: vec![(1.0, 12.25)] },
        ],
        look: Look::default(),
    };
    expect_file!["golden/bars.svg"].assert_eq(&lab::svg::chart(&chart));
    expect_file!["golden/bars.csv"].assert_eq(&lab::csv::chart(&chart));
}

#[test]
fn a_legend_goes_on_in_a_new_line() {
    let series = (0..64).map(|n| Series { name: format!("worker {n}"), points: vec![(0.0, 1.0)] }).collect();
    let groups = vec![Group { name: "all".into(), published: false }];
    let chart = Chart {
        id: "c".into(),
        title: "t".into(),
        x: "x".into(),
        y: "y".into(),
        groups,
        series,
        look: Look::default(),
    };
    let svg = lab::svg::chart(&chart);
    let places = svg.match_indices("start\">worker ").count();
    let height: f64 = svg
        .split("height=\"")
        .nth(1)
        .and_then(|rest| rest.split('"').next()?.parse().ok())
        .expect("it has a height");
    assert!(places == 64 && height > 400.0, "{places} {height}");
}

#[test]
fn html() {
    expect_file!["golden/report.html"].assert_eq(&lab::html::page(&[report()]));
}

#[test]
fn long_lines_keep_their_peaks_and_empty_ones_their_axes() {
    let chart = |points| {
        let series = vec![Series { name: "line".into(), points }];
        Chart {
            id: "c".into(),
            title: "t".into(),
            x: "x".into(),
            y: "y".into(),
            groups: Vec::new(),
            series,
            look: Look::default(),
        }
    };
    let mut points: Vec<(f64, f64)> = (0..100_000).map(|n| (f64::from(n), 1.0)).collect();
    points[54_321].1 = 1_000_000.0;
    let long = lab::svg::chart(&chart(points));
    assert!(long.len() < 20_000 && long.contains(">1,000,000</text>"), "{} bytes", long.len());
    assert!(lab::svg::chart(&chart(vec![])).contains("</svg>"));
}

/// Gives the same figures for every run, twice as fast with two workers.
struct Fixed {
    answer: Option<&'static str>,
    asked: Vec<String>,
}

impl Host for Fixed {
    fn run(&mut self, job: &Job) -> Result<Finished, String> {
        let Place::Workers(workers) = job.place else { return Err(format!("one node: {:?}", job.place)) };
        // Worker 0 copies all of the first collection; then each has its part.
        let share = |n: u64, worker: u32| Share {
            worker,
            words_copied: 100 * n / u64::from(workers.min(n as u32)),
            busy_seconds: if worker == 0 { 0.01 * n as f64 } else { 0.005 * n as f64 },
        };
        let sample = |n: u64| Sample {
            kind: if n == 3 { record::Kind::Major } else { record::Kind::Minor },
            at_seconds: n as f64 * 0.25,
            pause_seconds: 0.01 * n as f64,
            stop_seconds: 0.0,
            words_copied: 100 * n,
            heap_words: 1000 * n,
            ready_words: 10 * n,
            waiting_words: n,
            shares: (0..workers.min(n as u32)).map(|worker| share(n, worker)).collect(),
        };
        let record = Record {
            workers,
            wall_seconds: 1.06 / f64::from(workers),
            cpu_seconds: 1.0,
            reductions: 1_000_000,
            suspensions: 1000,
            resumptions: 1000,
            words_allocated: 500_000,
            shared_writes: 2000 * u64::from(workers - 1),
            shared_writes_lost: 10 * u64::from(workers - 1),
            mails: 500 * u64::from(workers - 1),
            collections: (1..=3).map(sample).collect(),
            nodes: Vec::new(),
            simulation: None,
        };
        let scales = [Scale::Small, Scale::Full].map(|scale| job.program.size(scale));
        let size = scales.into_iter().find(|size| size.arguments == job.arguments).ok_or("no such size")?;
        Ok(Finished { stdout: format!("{}\n", self.answer.unwrap_or(size.answer)), record })
    }
    fn progress(&mut self, part: usize, parts: usize, what: &str) {
        self.asked.push(format!("{part} of {parts}: {what}"));
    }
    fn machine(&self) -> String {
        "no machine at all: fixed figures".into()
    }
}

#[test]
fn an_experiment_computes_what_its_columns_say() {
    let experiment = lab::find("tr448").expect("it is in the list");
    let mut host = Fixed { answer: None, asked: Vec::new() };
    let config = Config { workers: vec![1, 2], nodes: vec![], runs: 3, scale: Scale::Small };
    let report = (experiment.run)(experiment, &mut host, &config).expect("all answers are right");
    expect_file!["golden/tr448.txt"].assert_eq(&lab::text::report(&report));
    assert_eq!(host.asked.len(), 18);
    assert_eq!(host.asked[17], "18 of 18: triangle, 2 workers, run 3");
    assert_eq!(report.charts.len(), 6 + 12);
    for table in &report.tables {
        assert!(table.rows.iter().all(|row| row.len() == table.columns.len()), "{}", table.id);
    }
}

#[test]
fn a_wrong_answer_is_no_measurement() {
    let experiment = lab::find("tr448").expect("it is in the list");
    let mut host = Fixed { answer: Some("41"), asked: Vec::new() };
    let config = Config { workers: vec![1], nodes: vec![], runs: 1, scale: Scale::Full };
    let error = (experiment.run)(experiment, &mut host, &config).expect_err("41 is wrong");
    assert_eq!(error.to_string(), "puzzle3d: the answer is 41, and should be 4196");
}
