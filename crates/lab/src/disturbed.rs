//! Runs that something else on the host disturbed, and their repetition.
//!
//! A run of a node or of nodes of this host is disturbed if its threads had a processor for less than 0.8 of the time
//! in which they had work, or if it took more than 1.3 times as long as the fastest of the same program, arguments
//! and place. The experiment is then done again, up to three times: runs that were not disturbed are kept, and only
//! the others are repeated. What is still disturbed then is named in the report, whose values count nowhere.
//!
//! What threads of this process measure ([`repeated`]) is judged in the same way; the table says which rows stayed
//! disturbed, because the others of its report were simulated and count.
//!
//! Simulated machines are in virtual time, which nothing disturbs; and runs of a moment (`Scale::Small`) are not
//! judged, because starting a thread is a large part of them.

use crate::chosen::Chosen;
use crate::record::Record;
use crate::report::{Cell, Report};
use crate::{Config, Error, Experiment, Finished, Host, Job, Place, Scale};
use std::collections::{BTreeMap, BTreeSet};

/// Less processor time than this part of the time with work is a disturbance.
const PROCESSOR_SHARE_MIN: f64 = 0.8;
/// So is a longer time than this many times the fastest.
const SPREAD_MAX: f64 = 1.3;
/// How often an experiment is done again.
pub(crate) const REPETITIONS: u32 = 3;

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
        let seconds = match &finished.record.simulation {
            Some(simulation) => simulation.seconds,
            None => finished.record.wall_seconds,
        };
        let reductions = match &finished.record.nodes[..] {
            [] => finished.record.reductions,
            nodes => nodes.iter().map(|node| node.reductions).sum(),
        };
        let cells = [
            ("run", Cell::Text(format!("{}, run {}", key.0, key.1 + 1))),
            ("s", Cell::Measured(seconds, 2)),
            ("reductions", Cell::count(reductions)),
        ];
        self.host.row("Runs", &cells);
        let starved = is_starved(&finished.record, self.host.waited_seconds());
        let on_host = !matches!(job.place, Place::Simulated { .. });
        self.kept.insert(key, Run { finished: finished.clone(), on_host, starved });
        Ok(finished)
    }
    fn will_run(&mut self, jobs: &[Job]) {
        self.host.will_run(jobs);
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
    fn row(&mut self, title: &str, cells: &[(&str, Cell)]) {
        self.host.row(title, cells);
    }
    fn machine(&self) -> String {
        self.host.machine()
    }
    fn waited_seconds(&mut self) -> f64 {
        self.host.waited_seconds()
    }
}

/// Something that was timed in this process, and whether its threads had a processor for too little of their time.
pub(crate) struct Timed<T> {
    pub(crate) value: T,
    pub(crate) starved: bool,
}

/// What this thread had of the processors, and waited for: as Linux counts it; nothing elsewhere.
#[derive(Clone, Copy, Default)]
pub(crate) struct Share {
    ran: f64,
    waited: f64,
}

impl Share {
    /// Since the thread began.
    pub(crate) fn now() -> Share {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        let mut numbers = text.split_whitespace().map_while(|number| number.parse::<f64>().ok());
        let (ran, waited) = (numbers.next().unwrap_or(0.0), numbers.next().unwrap_or(0.0));
        Share { ran, waited }
    }
    /// Since then.
    #[cfg(feature = "mpi")]
    pub(crate) fn since(self, then: Share) -> Share {
        Share { ran: self.ran - then.ran, waited: self.waited - then.waited }
    }
    pub(crate) fn is_starved(self) -> bool {
        self.ran < PROCESSOR_SHARE_MIN * (self.ran + self.waited)
    }
}

/// Times something of this process `config.runs` times. What was disturbed is timed again, up to `repetitions` times;
/// gives also whether something still is. `parts` are times that should be alike in all runs.
pub(crate) fn repeated<T>(
    config: &Config,
    repetitions: u32,
    mut time: impl FnMut() -> Result<Timed<T>, Error>,
    parts: impl Fn(&T) -> Vec<f64>,
) -> Result<(Vec<T>, bool), Error> {
    let mut timed = (0..config.runs).map(|_| time()).collect::<Result<Vec<Timed<T>>, Error>>()?;
    let disturbed = |timed: &[Timed<T>]| -> Vec<usize> {
        let all: Vec<Vec<f64>> = timed.iter().map(|one| parts(&one.value)).collect();
        let least = |part: usize| all.iter().map(|times| times[part]).fold(f64::INFINITY, f64::min);
        let is_slow = |times: &[f64]| (0..times.len()).any(|part| times[part] > SPREAD_MAX * least(part));
        let numbers = (0..timed.len()).filter(|&number| timed[number].starved || is_slow(&all[number]));
        numbers.filter(|_| config.scale == Scale::Full).collect()
    };
    for _ in 0..repetitions {
        for number in disturbed(&timed) {
            timed[number] = time()?;
        }
    }
    let is_disturbed = !disturbed(&timed).is_empty();
    Ok((timed.into_iter().map(|one| one.value).collect(), is_disturbed))
}

/// What a table says of rows whose runs stayed disturbed.
pub(crate) fn told(rows: &[String]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    format!(" Disturbed by something else on this host, so no measure of anything: {}.", rows.join(", "))
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
        Experiment { name: "test", title: "", source: "", about: "", times_host: true, run }
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
    fn what_is_timed_here_is_repeated_too() {
        // Of each run a time, and whether it was starved.
        let timed = |runs: &[(f64, bool)], scale: Scale| {
            let mut next = runs.iter().chain(std::iter::repeat(&runs[runs.len() - 1]));
            let mut count = 0;
            let config = Config { workers: vec![], nodes: vec![], runs: 3, scale };
            let time = || {
                count += 1;
                let &(value, starved) = next.next().expect("it goes on");
                Ok(Timed { value, starved })
            };
            let (values, is_disturbed) = repeated(&config, 3, time, |time| vec![*time]).expect("it runs");
            (values, is_disturbed, count)
        };
        let full = |runs: &[(f64, bool)]| timed(runs, Scale::Full);
        assert_eq!(full(&[(1.0, false), (1.2, false), (1.1, false)]), (vec![1.0, 1.2, 1.1], false, 3));
        // The second had no processor, the first was slow, as the third showed.
        let runs = [(1.4, false), (1.2, true), (1.0, false), (1.1, false), (1.2, false)];
        assert_eq!(full(&runs), (vec![1.1, 1.2, 1.0], false, 5));
        assert_eq!(full(&[(1.0, false), (1.0, false), (2.0, false)]), (vec![1.0, 1.0, 2.0], true, 6));
        assert_eq!(timed(&[(1.0, true), (9.0, true)], Scale::Small), (vec![1.0, 9.0, 9.0], false, 3));
        assert!(
            Share { ran: 7.0, waited: 3.0 }.is_starved() && !Share { ran: 9.0, waited: 1.0 }.is_starved()
        );
        assert!(!Share::default().is_starved());
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
