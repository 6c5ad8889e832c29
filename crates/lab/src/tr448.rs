//! M. Sato, A. Goto: "Evaluation of the KL1 Parallel System on a Shared Memory Multiprocessor", ICOT TR-448, 1989.
//!
//! The paper runs three programs on a Sequent Symmetry and looks at how fast goals are reduced, how fast memory is
//! consumed, what is alive after each collection, and what collections cost. Its programs are not printed; ours solve the same
//! problems, so times and counts cannot be compared one to one, shares and shapes can.

use crate::programs::{KL1CMP, PUZZLE, Program, TRIANGLE};
use crate::record::{Kind, Record, Sample};
use crate::report::{Cell, Chart, Report, Series, Table, grouped, median, percentile};
use crate::{Config, Error, Experiment, Host, Job, Scale};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "tr448",
    title: "KL1 on a shared-memory machine",
    source: "M. Sato, A. Goto: Evaluation of the KL1 Parallel System on a Shared Memory Multiprocessor. ICOT TR-448, 1989",
    about: "How fast goals are reduced and memory is consumed, how many words are in use after each collection, and what \
            collections cost, against the number of workers. The paper finds that consumption grows in proportion to speed, that \
            words in use grow with workers, and that collection speeds up less than reduction.",
    run,
};

/// What the paper prints of a program, on a Sequent Symmetry.
struct Published {
    seconds: f64,
    reductions_per_second: f64,
    words_copied_per_second: f64,
    /// On eight processors.
    speedup_8: f64,
    /// Processors, and time of collections in percent of the time of reduction.
    collection_share: [(u32, f64); 3],
}

struct Case {
    program: &'static Program,
    published: Published,
}

static CASES: [Case; 3] = [
    Case {
        program: &PUZZLE,
        published: Published {
            seconds: 606.02,
            reductions_per_second: 1891.0,
            words_copied_per_second: 14_400.0,
            speedup_8: 7.5,
            collection_share: [(2, 0.4), (4, 0.7), (8, 1.2)],
        },
    },
    Case {
        program: &KL1CMP,
        published: Published {
            seconds: 126.83,
            reductions_per_second: 1508.0,
            words_copied_per_second: 14_800.0,
            speedup_8: 5.9,
            collection_share: [(2, 5.6), (4, 10.3), (8, 18.2)],
        },
    },
    Case {
        program: &TRIANGLE,
        published: Published {
            seconds: 365.15,
            reductions_per_second: 1825.0,
            words_copied_per_second: 15_100.0,
            speedup_8: 6.4,
            collection_share: [(2, 0.2), (4, 1.2), (8, 2.0)],
        },
    },
];

/// Words of some kind after a collection.
type Words = fn(&Sample) -> u64;

/// The runs of one program with one number of workers.
struct Runs {
    case: &'static Case,
    workers: u32,
    records: Vec<Record>,
}

fn run(experiment: &Experiment, host: &mut dyn Host, config: &Config) -> Result<Report, Error> {
    let measured = measure(host, config)?;
    let scale = match config.scale {
        Scale::Full => "full",
        Scale::Small => "small (figures of runs this short mean little)",
    };
    let runs = if config.runs == 1 { "1 run".into() } else { format!("{} runs", config.runs) };
    Ok(Report {
        name: experiment.name,
        title: experiment.title,
        source: experiment.source,
        about: experiment.about,
        measured_on: format!(
            "Measured on {}; {runs} of each program, in turn; scale: {scale}.",
            host.machine()
        ),
        notes: CASES.iter().map(|case| format!("{}: {}", case.program.name, case.program.about)).collect(),
        tables: vec![
            speed(&measured),
            consumption(&measured),
            collection(&measured),
            pauses(&measured),
            in_use(&measured),
        ],
        charts: measured.iter().flat_map(charts).collect(),
    })
}

/// Runs everything. Programs take turns, so that a disturbance of the machine does not fall on one of them alone.
fn measure(host: &mut dyn Host, config: &Config) -> Result<Vec<Runs>, Error> {
    let mut measured = Vec::new();
    for case in &CASES {
        measured.extend(config.workers.iter().map(|&workers| Runs { case, workers, records: Vec::new() }));
    }
    let parts = measured.len() * config.runs as usize;
    for turn in 0..config.runs as usize {
        for (n, Runs { case, workers, records }) in measured.iter_mut().enumerate() {
            let name = case.program.name;
            let size = case.program.size(config.scale);
            let people = if *workers == 1 { "worker" } else { "workers" };
            let part = turn * (parts / config.runs as usize) + n + 1;
            host.progress(part, parts, &format!("{name}, {workers} {people}, run {}", turn + 1));
            let job = Job { program: case.program, arguments: size.arguments.to_vec(), workers: *workers };
            let finished = host.run(&job).map_err(|why| Error(format!("{name}: {why}")))?;
            if finished.stdout.trim_end() != size.answer {
                let given = finished.stdout.trim_end();
                return Err(Error(format!("{name}: the answer is {given}, and should be {}", size.answer)));
            }
            records.push(finished.record);
        }
    }
    Ok(measured)
}

impl Runs {
    fn name(&self) -> Cell {
        Cell::Text(self.case.program.name.into())
    }
    fn median(&self, of: impl Fn(&Record) -> f64) -> f64 {
        median(self.records.iter().map(of).collect()).unwrap_or(0.0)
    }
    /// A quotient of two figures of each run; its median.
    fn quotient(&self, dividend: impl Fn(&Record) -> f64, divisor: impl Fn(&Record) -> f64) -> Option<f64> {
        let records = self.records.iter().filter(|record| divisor(record) > 0.0);
        median(records.map(|record| dividend(record) / divisor(record)).collect())
    }
    fn ratio(
        &self,
        dividend: impl Fn(&Record) -> f64,
        divisor: impl Fn(&Record) -> f64,
        decimals: usize,
    ) -> Cell {
        self.quotient(dividend, divisor).map_or(Cell::Absent, |value| Cell::Measured(value, decimals))
    }
    /// How many times as fast as with one worker, if both were measured.
    fn against_one(&self, measured: &[Runs], speed: impl Fn(&Runs) -> Option<f64>) -> Cell {
        let one = measured.iter().find(|other| other.workers == 1 && std::ptr::eq(other.case, self.case));
        match (one.filter(|_| self.workers > 1).and_then(&speed), speed(self)) {
            (Some(one), Some(speed)) => Cell::ratio(speed, one, 2),
            _ => Cell::Absent,
        }
    }
    fn samples(&self) -> impl Iterator<Item = &Sample> {
        self.records.iter().flat_map(|record| &record.collections)
    }
    /// A published value, if it is one for this number of workers.
    fn published_for(&self, workers: u32, value: f64, decimals: usize) -> Cell {
        if self.workers == workers { Cell::Published(value, decimals) } else { Cell::Absent }
    }
}

fn seconds(record: &Record) -> f64 {
    record.wall_seconds
}
fn reductions(record: &Record) -> f64 {
    record.reductions as f64
}
fn table(id: &str, title: &str, note: &str, columns: &[&str], rows: Vec<Vec<Cell>>) -> Table {
    let columns = columns.iter().map(|column| column.to_string()).collect();
    Table { id: id.into(), title: title.into(), note: note.into(), columns, rows }
}

fn speed(measured: &[Runs]) -> Table {
    let rows = measured.iter().map(|runs| {
        let published = &runs.case.published;
        let speedup = runs.against_one(measured, |runs| Some(1.0 / runs.median(seconds)));
        let range = runs.records.iter().map(seconds);
        vec![
            runs.name(),
            Cell::count(runs.workers),
            Cell::Measured(runs.median(seconds), 3),
            Cell::Measured(range.clone().fold(f64::INFINITY, f64::min), 3),
            Cell::Measured(range.fold(0.0, f64::max), 3),
            Cell::Measured(runs.median(|record| record.cpu_seconds), 3),
            Cell::Measured(runs.median(reductions), 0),
            runs.ratio(reductions, seconds, 0),
            speedup,
            runs.published_for(1, published.seconds, 2),
            runs.published_for(1, published.reductions_per_second, 0),
            Cell::Published(published.speedup_8, 1),
        ]
    });
    table(
        "speed",
        "Speed",
        "Medians of the runs, with the fastest and the slowest; reductions/s by elapsed time. Elapsed time far above CPU time means that \
         the machine was busy with something else. Published: one processor, and the speed-up on eight.",
        &[
            "program",
            "workers",
            "s",
            "least s",
            "most s",
            "CPU s",
            "reductions",
            "reductions/s",
            "speed-up",
            "published s",
            "published reductions/s",
            "published speed-up on 8",
        ],
        rows.collect(),
    )
}

fn consumption(measured: &[Runs]) -> Table {
    let rows = measured.iter().map(|runs| {
        let words = |record: &Record| record.words_allocated as f64;
        vec![
            runs.name(),
            Cell::count(runs.workers),
            runs.ratio(words, reductions, 3),
            runs.ratio(words, Record::reducing_seconds, 0),
            runs.ratio(|record| record.suspensions as f64, reductions, 4),
        ]
    });
    table(
        "consumption",
        "Consumption of memory",
        "Words of 8 bytes, per second of reduction time. Goals that are ready lie on a stack and consume none, unlike the paper's goal \
         records of 32 words. The paper draws these and prints no numbers.",
        &["program", "workers", "words/reduction", "words/s", "suspensions/reduction"],
        rows.collect(),
    )
}

fn collection(measured: &[Runs]) -> Table {
    let rows = measured.iter().map(|runs| {
        let published = &runs.case.published;
        let copied = |record: &Record| record.words_copied() as f64;
        let share = published.collection_share.iter().find(|(workers, _)| *workers == runs.workers);
        vec![
            runs.name(),
            Cell::count(runs.workers),
            Cell::Measured(runs.median(|record| record.count(Kind::Minor) as f64), 0),
            Cell::Measured(runs.median(|record| record.count(Kind::Major) as f64), 0),
            Cell::Measured(runs.median(copied), 0),
            runs.ratio(copied, Record::pause_seconds, 0),
            runs.against_one(measured, |runs| runs.quotient(copied, Record::pause_seconds)),
            runs.ratio(|record| 100.0 * record.pause_seconds(), seconds, 2),
            runs.ratio(|record| 100.0 * record.pause_seconds(), Record::reducing_seconds, 2),
            runs.published_for(1, published.words_copied_per_second, 0),
            share.map_or(Cell::Absent, |&(_, share)| Cell::Published(share, 1)),
        ]
    });
    table(
        "collection",
        "Collection",
        "Medians of the runs. Collections are generational here: most copy only what is young. The paper's copy everything, and its \
         shares of time are printed for 2, 4 and 8 processors.",
        &[
            "program",
            "workers",
            "minor",
            "major",
            "words copied",
            "words copied/s",
            "speed-up",
            "% of time",
            "% of reduction time",
            "published words copied/s",
            "published % of reduction time",
        ],
        rows.collect(),
    )
}

fn pauses(measured: &[Runs]) -> Table {
    let rows = measured.iter().map(|runs| {
        let pauses = || runs.samples().map(|sample| sample.pause_seconds * 1e3).collect();
        let at = |percent| percentile(pauses(), percent).map_or(Cell::Absent, |ms| Cell::Measured(ms, 3));
        let total = runs.median(Record::pause_seconds);
        let count = runs.median(|record| record.collections.len() as f64);
        let mut row =
            vec![runs.name(), Cell::count(runs.workers), Cell::Measured(count, 0), Cell::Measured(total, 3)];
        row.extend([50, 99, 100].map(at));
        row
    });
    table(
        "pauses",
        "Pauses",
        "Percentiles of the pauses of all runs together; number and total are medians of the runs. Not in the paper.",
        &["program", "workers", "pauses", "total s", "50 % ms", "99 % ms", "100 % ms"],
        rows.collect(),
    )
}

fn in_use(measured: &[Runs]) -> Table {
    let rows = measured.iter().map(|runs| {
        let mean = |of: Words| {
            let count = runs.samples().count() as f64;
            Cell::ratio(runs.samples().map(|sample| of(sample) as f64).sum(), count, 0)
        };
        let all = |of: Words| runs.samples().map(|sample| of(sample) as f64).sum::<f64>();
        let most = runs.samples().map(Sample::words).max();
        let live = runs.samples().filter(|sample| sample.kind == Kind::Major).map(Sample::words).max();
        vec![
            runs.name(),
            Cell::count(runs.workers),
            mean(Sample::words),
            most.map_or(Cell::Absent, Cell::count),
            live.map_or(Cell::Absent, Cell::count),
            Cell::ratio(100.0 * all(Sample::goal_words), all(Sample::words), 2),
            Cell::ratio(100.0 * all(|sample| sample.waiting_words), all(Sample::words), 2),
        ]
    });
    table(
        "in-use",
        "Words in use after collections",
        "Over all collections of all runs. After a minor collection what died in old space since the last major one still counts, so \
         only the value after major collections is exactly what is live (none ran: no value). Goals are ready ones on the stack and records of \
         waiting ones; everything else is data. The paper draws these.",
        &["program", "workers", "mean", "most", "most after major", "% goals", "% waiting goals"],
        rows.collect(),
    )
}

fn charts(runs: &Runs) -> Vec<Chart> {
    let (name, workers) = (runs.case.program.name, runs.workers);
    let people = if workers == 1 { "worker" } else { "workers" };
    let title = |what: &str| format!("{name}, {workers} {people}: {what}");
    let line = |name: String, record: &Record, of: Words| Series {
        name,
        points: record.by_reducing_time().map(|(at, sample)| (at, of(sample) as f64)).collect(),
    };
    let chart = |id: &str, title: String, series| Chart {
        id: format!("{id}-{name}-{workers}"),
        title,
        x: "seconds of reduction".into(),
        y: "words".into(),
        series,
    };
    let mut charts = Vec::new();
    // Without a collection there is nothing to draw.
    if runs.samples().next().is_none() {
        return charts;
    }
    let overlaid = runs.records.iter().enumerate();
    let overlaid = overlaid.map(|(n, record)| line(format!("run {}", n + 1), record, Sample::words));
    charts.push(chart("in-use", title("words in use after each collection"), overlaid.collect()));
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
        charts.push(chart("goals-and-data", title("goals and data, run 1"), split.to_vec()));
    }
    charts
}
