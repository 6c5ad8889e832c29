//! M. Sato, A. Goto: "KL1並列処理系の評価 — メモリ消費特性とGC —" (an evaluation of a parallel KL1 system: consumption
//! of memory, and collection), ICOT TR-448, 1989.
//!
//! The paper runs three programs on a Sequent Symmetry and looks at how fast goals are reduced, how fast memory is
//! consumed, what is alive after each collection, and what collections cost. Its programs are not printed; ours solve
//! the same problems. This experiment measures Fifth today, on this host: another machine, whose compiler allocates
//! nothing for two of the programs, whose collections are generational, and which has no locks. So no published value
//! stands beside these figures.
//!
//! Here is how the programs are run; what is made of the figures is in `tables` and `charts`.

use crate::programs::{KL1CMP, PUZZLE, Program, TRIANGLE};
use crate::record::{Record, Sample, Share};
use crate::report::{Report, median};
use crate::{Config, Error, Experiment, Host, Job, Place, Scale};

mod charts;
mod tables;

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "tr448",
    title: "KL1 on a shared-memory machine: Fifth today",
    source: "M. Sato, A. Goto: KL1並列処理系の評価 — メモリ消費特性とGC —. ICOT TR-448, 1989",
    about: "How fast goals are reduced and memory is consumed, how many words are in use after each collection, and \
        what collections cost, against the number of workers. The paper finds that consumption grows in proportion to \
        speed, that words in use grow with workers, and that collection speeds up less than reduction. Its figures are \
        of another machine and of programs of other sizes, so none stands beside these.",
    times_host: true,
    run,
};

struct Case {
    program: &'static Program,
}

static CASES: [Case; 3] = [Case { program: &PUZZLE }, Case { program: &KL1CMP }, Case { program: &TRIANGLE }];

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
    let machine = host.machine();
    let measured_on = format!("Measured on {machine}; {runs} of each program, in turn; scale: {scale}.");
    Ok(Report {
        notes: CASES.iter().map(|case| format!("{}: {}", case.program.name, case.program.about)).collect(),
        tables: tables::all(&measured),
        charts: charts::all(&measured),
        ..Report::of(experiment, measured_on)
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
            let part = turn * (parts / config.runs as usize) + n + 1;
            host.progress(part, parts, &format!("{name}, {}, run {}", people(*workers), turn + 1));
            let (arguments, place) = (size.arguments.to_vec(), Place::Workers(*workers));
            let job = Job { program: case.program, arguments, place };
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
    fn name(&self) -> &'static str {
        self.case.program.name
    }
    fn median(&self, of: impl Fn(&Record) -> f64) -> Option<f64> {
        median(self.records.iter().map(of).collect())
    }
    /// A quotient of two figures of each run; its median.
    fn quotient(&self, dividend: impl Fn(&Record) -> f64, divisor: impl Fn(&Record) -> f64) -> Option<f64> {
        let records = self.records.iter().filter(|record| divisor(record) > 0.0);
        median(records.map(|record| dividend(record) / divisor(record)).collect())
    }
    /// How many times what it is with one worker, if both were measured.
    fn against_one(&self, measured: &[Runs], figure: impl Fn(&Runs) -> Option<f64>) -> Option<f64> {
        let one = measured.iter().find(|other| other.workers == 1 && std::ptr::eq(other.case, self.case));
        let one = one.filter(|_| self.workers > 1).and_then(&figure).filter(|&one| one > 0.0)?;
        Some(figure(self)? / one)
    }
    fn samples(&self) -> impl Iterator<Item = &Sample> {
        self.records.iter().flat_map(|record| &record.collections)
    }
    // Figures that several tables and charts show.
    fn speedup(&self, measured: &[Runs]) -> Option<f64> {
        self.against_one(measured, |runs| runs.median(seconds).map(|seconds| 1.0 / seconds))
    }
    fn words_per_second(&self) -> Option<f64> {
        self.quotient(|record| record.words_allocated as f64, Record::reducing_seconds)
    }
    fn words_copied_per_second(&self) -> Option<f64> {
        self.quotient(|record| record.words_copied() as f64, Record::pause_seconds)
    }
    fn reductions_per_second(&self) -> Option<f64> {
        self.quotient(reductions, Record::reducing_seconds)
    }
    /// Time of collections in percent of the time of reduction.
    fn collection_share(&self) -> Option<f64> {
        self.quotient(|record| 100.0 * record.pause_seconds(), Record::reducing_seconds)
    }
    /// How much of the time of all collections a worker had work in them, in percent.
    fn utilisation(&self, worker: u32) -> Option<f64> {
        let total: f64 = self.samples().map(|sample| sample.pause_seconds).sum();
        let busy = self.shares(worker).fold(0.0, |busy, share| busy + share.busy_seconds);
        (total > 0.0).then(|| 100.0 * busy / total)
    }
    /// A worker's parts in collections.
    fn shares(&self, worker: u32) -> impl Iterator<Item = &Share> {
        self.samples().flat_map(|sample| &sample.shares).filter(move |share| share.worker == worker)
    }
}

fn seconds(record: &Record) -> f64 {
    record.wall_seconds
}
fn reductions(record: &Record) -> f64 {
    record.reductions as f64
}
fn people(workers: u32) -> String {
    if workers == 1 { "1 worker".into() } else { format!("{workers} workers") }
}
