//! Runs that something else on the host disturbed, and their repetition.
//!
//! A run of a node or of nodes of this host is disturbed if its threads had a processor for less than 0.8 of the time
//! in which they had work, or if it took more than 1.3 times as long as the fastest of the same program, arguments
//! and place. The experiment is then done again, up to three times: runs that were not disturbed are kept, and only
//! the others are repeated. What is still disturbed then is named in the report, whose values count nowhere.
//!
//! Simulated machines are in virtual time, which nothing disturbs; and runs of a moment (`Scale::Small`) are not
//! judged, because starting a thread is a large part of them.

use crate::chosen::Chosen;
use crate::record::Record;
use crate::report::Report;
use crate::{Config, Error, Experiment, Finished, Host, Job, Place, Scale};
use std::collections::{BTreeMap, BTreeSet};

/// Less processor time than this part of the time with work is a disturbance.
const PROCESSOR_SHARE_MIN: f64 = 0.8;
/// So is a longer time than this many times the fastest.
const SPREAD_MAX: f64 = 1.3;
/// How often an experiment is done again.
const REPETITIONS: u32 = 3;

/// A run: its program, arguments and place, and how many like it came before.
type Key = (String, usize);

/// A host that keeps what was not disturbed for the next attempt.
struct Repeating<'a> {
    host: &'a mut dyn Host,
    judges: bool,
    kept: BTreeMap<Key, Run>,
    counts: BTreeMap<String, Vec<u64>>,
    /// Runs like this one in this attempt.
    runs: BTreeMap<String, usize>,
}

struct Run {
    finished: Finished,
    on_host: bool,
    starved: bool,
}

/// Runs an experiment under a choice, and repeats what was disturbed. Gives also which of the chosen inputs were used.
pub fn measure(
    experiment: &Experiment,
    host: &mut dyn Host,
    config: &Config,
    chosen: &Chosen,
) -> (Result<Report, Error>, BTreeSet<&'static str>) {
    let (kept, counts, runs) = Default::default();
    let mut host = Repeating { host, judges: config.scale == Scale::Full, kept, counts, runs };
    for attempt in 0.. {
        host.runs.clear();
        let (result, used) = chosen.during(|| (experiment.run)(experiment, &mut host, config));
        let disturbed = host.disturbed();
        if result.is_err() || disturbed.is_empty() || attempt == REPETITIONS {
            let mark = |mut report: Report| {
                report.disturbed = disturbed
                    .into_iter()
                    .map(|(name, number)| format!("{name}, run {}", number + 1))
                    .collect();
                report
            };
            return (result.map(mark), used);
        }
        host.kept.retain(|key, _| !disturbed.contains(key));
    }
    unreachable!("the last attempt gives its result")
}

impl Repeating<'_> {
    fn disturbed(&self) -> BTreeSet<Key> {
        let mut least: BTreeMap<&str, f64> = BTreeMap::new();
        let of_host = || self.kept.iter().filter(|(_, run)| run.on_host && self.judges);
        for ((name, _), run) in of_host() {
            let seconds = least.entry(name).or_insert(f64::INFINITY);
            *seconds = seconds.min(run.finished.record.wall_seconds);
        }
        let is_slow = |name: &str, run: &Run| {
            least.get(name).is_some_and(|least| run.finished.record.wall_seconds > SPREAD_MAX * least)
        };
        let disturbed = of_host().filter(|((name, _), run)| run.starved || is_slow(name, run));
        disturbed.map(|(key, _)| key.clone()).collect()
    }
}

impl Host for Repeating<'_> {
    fn run(&mut self, job: &Job) -> Result<Finished, String> {
        let name = named(job);
        let before = self.runs.entry(name.clone()).or_default();
        let key = (name, *before);
        *before += 1;
        if let Some(run) = self.kept.get(&key) {
            return Ok(run.finished.clone());
        }
        let finished = self.host.run(job)?;
        let starved = is_starved(&finished.record, self.host.waited_seconds());
        let on_host = !matches!(job.place, Place::Simulated { .. });
        self.kept.insert(key, Run { finished: finished.clone(), on_host, starved });
        Ok(finished)
    }
    fn count(&mut self, experiment: &str) -> Result<Vec<u64>, String> {
        if let Some(counts) = self.counts.get(experiment) {
            return Ok(counts.clone());
        }
        let counts = self.host.count(experiment)?;
        self.counts.insert(experiment.into(), counts.clone());
        Ok(counts)
    }
    fn has_launcher(&self) -> bool {
        self.host.has_launcher()
    }
    fn progress(&mut self, part: usize, parts: usize, what: &str) {
        self.host.progress(part, parts, what);
    }
    fn machine(&self) -> String {
        self.host.machine()
    }
    fn waited_seconds(&mut self) -> f64 {
        self.host.waited_seconds()
    }
}

fn named(job: &Job) -> String {
    let place = match &job.place {
        Place::Workers(1) => "1 worker".into(),
        Place::Workers(workers) => format!("{workers} workers"),
        Place::Threads(nodes) => format!("{nodes} threads"),
        Place::Processes(nodes) => format!("{nodes} processes"),
        Place::Simulated { machine, identities } => {
            format!("{machine}{}", if *identities { ", structure IDs" } else { "" })
        }
    };
    let arguments: String = job.arguments.iter().map(|argument| format!(" {argument}")).collect();
    format!("{}{arguments}, {place}", job.program.name)
}

/// Whether a run had too little of the processors. One worker always has work; of several we know how long they waited.
fn is_starved(record: &Record, waited_seconds: f64) -> bool {
    let with_work = record.cpu_seconds + waited_seconds;
    let alone = record.workers == 1 && record.nodes.is_empty();
    let with_work = if alone { with_work.max(record.wall_seconds) } else { with_work };
    record.cpu_seconds < PROCESSOR_SHARE_MIN * with_work
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::{KL1CMP, PUZZLE};

    /// A host whose runs take these seconds, one after the other, of which they have the processor for a share.
    struct Script {
        runs: Vec<(f64, f64)>,
        done: usize,
    }

    impl Host for Script {
        fn run(&mut self, _: &Job) -> Result<Finished, String> {
            let (wall_seconds, share) = self.runs[self.done.min(self.runs.len() - 1)];
            self.done += 1;
            let record = Record {
                workers: 1,
                wall_seconds,
                cpu_seconds: wall_seconds * share,
                reductions: 0,
                suspensions: 0,
                resumptions: 0,
                words_allocated: 0,
                shared_writes: 0,
                shared_writes_lost: 0,
                mails: 0,
                collections: Vec::new(),
                nodes: Vec::new(),
                simulation: None,
            };
            Ok(Finished { stdout: self.done.to_string(), record })
        }
        fn progress(&mut self, _: usize, _: usize, _: &str) {}
        fn machine(&self) -> String {
            String::new()
        }
    }

    /// Three runs of one program, and one of another.
    fn experiment() -> Experiment {
        fn run(experiment: &Experiment, host: &mut dyn Host, _: &Config) -> Result<Report, Error> {
            let mut notes = Vec::new();
            for program in [&KL1CMP, &PUZZLE, &KL1CMP, &KL1CMP] {
                let job = Job { program, arguments: vec![], place: Place::Workers(1) };
                notes.push(host.run(&job).map_err(Error)?.stdout);
            }
            Ok(Report { notes, ..Report::of(experiment, String::new()) })
        }
        Experiment { name: "test", title: "", source: "", about: "", run }
    }

    /// Which runs the report has, which are marked, and how many there were.
    fn measured(runs: &[(f64, f64)], scale: Scale) -> (String, Vec<String>, usize) {
        let mut host = Script { runs: runs.to_vec(), done: 0 };
        let config = Config { workers: vec![], nodes: vec![], runs: 3, scale };
        let (report, _) = measure(&experiment(), &mut host, &config, &Chosen::default());
        let report = report.expect("it runs");
        (report.notes.join(" "), report.disturbed, host.done)
    }

    #[test]
    fn what_was_disturbed_is_repeated_and_nothing_else() {
        let quiet = [(1.0, 1.0), (3.0, 1.0), (1.1, 0.9), (1.2, 0.95)];
        assert_eq!(measured(&quiet, Scale::Full), ("1 2 3 4".into(), vec![], 4));
        // The third run had no processor for a while: the fifth takes its place.
        let starved = [(1.0, 1.0), (3.0, 1.0), (1.1, 0.5), (1.2, 0.95), (1.0, 1.0)];
        assert_eq!(measured(&starved, Scale::Full), ("1 2 5 4".into(), vec![], 5));
        // The first was slow, as the later ones showed.
        let slow = [(1.7, 1.0), (3.0, 1.0), (1.2, 1.0), (1.2, 1.0), (1.1, 1.0)];
        assert_eq!(measured(&slow, Scale::Full), ("5 2 3 4".into(), vec![], 5));
    }

    #[test]
    fn what_stays_disturbed_is_marked() {
        let busy = [(1.0, 1.0), (3.0, 1.0), (1.1, 1.0), (1.2, 0.5)];
        let (runs, marked, count) = measured(&busy, Scale::Full);
        assert_eq!((runs.as_str(), count), ("1 2 3 7", 7));
        assert_eq!(marked, ["kl1cmp, 1 worker, run 3"]);
        assert_eq!(measured(&busy, Scale::Small).1, Vec::<String>::new());
    }
}
