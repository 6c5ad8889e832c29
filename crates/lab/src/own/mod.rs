//! A network of the user's own: read from a file, measured at each load with each seed, and judged.
//!
//! Runs are independent of each other and share the processors; each is the same on any host, and so is the report.

mod file;

pub use file::Wrong;

use crate::report::{Cell, Chart, Report, Series, Table, Whisker, median};
use fabric::Random;
use fabric::simulated::{Config, Measured, RandomFaults, Source, Traffic, measure, measure_with};
use file::Own;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A network, ready to be measured.
pub struct Network {
    own: Own,
}

/// What came of it.
pub struct Judged {
    /// Tables and charts.
    pub report: Report,
    /// Whether all that the file expects holds.
    pub holds: bool,
}

/// What is measured at a load, over the seeds.
struct Point {
    load: f64,
    runs: Vec<Measured>,
}

impl Network {
    /// Reads a file's text. The error has the line and the key.
    pub fn read(text: &str) -> Result<Network, Wrong> {
        file::read(text).map(|own| Network { own })
    }

    /// Measures on this number of threads; `done` hears how many runs of how many are done.
    pub fn measure(&self, threads: usize, done: &(dyn Fn(usize, usize) + Sync)) -> Judged {
        let own = &self.own;
        let runs: Vec<(f64, u64)> =
            own.loads.iter().flat_map(|load| own.seeds.iter().map(move |seed| (*load, *seed))).collect();
        let results: Mutex<Vec<Option<Measured>>> = Mutex::new(vec![None; runs.len()]);
        let (next, ready) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..threads.clamp(1, runs.len()) {
                scope.spawn(|| {
                    // Later loads take longer, so the last run is seldom the longest that is left.
                    while let Some(at) = runs.len().checked_sub(1 + next.fetch_add(1, Ordering::Relaxed)) {
                        let measured = own.run(runs[at].0, runs[at].1);
                        base::lock(&results)[at] = Some(measured);
                        done(ready.fetch_add(1, Ordering::Relaxed) + 1, runs.len());
                    }
                });
            }
        });
        let mut results = base::unpoisoned(results.into_inner()).into_iter().flatten();
        let point =
            |load: &f64| Point { load: *load, runs: results.by_ref().take(own.seeds.len()).collect() };
        let points: Vec<Point> = own.loads.iter().map(point).collect();
        own.judge(&points)
    }
}

impl Own {
    fn run(&self, load: f64, seed: u64) -> Measured {
        let config = Config { seed, ..self.config.clone() };
        let source = Source::Open { pattern: self.pattern, flits: self.flits, rate: load };
        let (warm_up, drain_max) = (self.warm_up, self.drain);
        let traffic = Traffic { source, warm_up, measure: self.measure, drain_max };
        match self.faults {
            None => measure(&config, &traffic),
            Some((delay, stall, drop, cycles_max)) => {
                let random = Random::new(seed);
                measure_with(&config, &traffic, &mut RandomFaults { random, delay, stall, drop, cycles_max })
            }
        }
    }

    fn judge(&self, points: &[Point]) -> Judged {
        let (verdict, holds) = self.verdict(points);
        let seeds = match self.seeds[..] {
            [seed] => format!("seed {seed}"),
            _ => format!("medians over {} seeds", self.seeds.len()),
        };
        let about = format!(
            "{}: {} nodes, routing {}, {} traffic of packets of {} flits.",
            self.config.topology,
            self.config.topology.nodes(),
            self.routing,
            self.pattern_name,
            self.flits
        );
        let report = Report {
            name: "network".into(),
            title: self.name.clone(),
            source: "A network of your own".into(),
            about,
            measured_on: format!("Simulated, flit by flit; {seeds}. The same on every machine."),
            notes: Vec::new(),
            tables: vec![verdict, self.sweep(points), self.inputs()],
            charts: self.charts(points),
            disturbed: Vec::new(),
            provenance: None,
        };
        Judged { report, holds }
    }

    /// What the network can do, and whether that is what the file expects.
    fn verdict(&self, points: &[Point]) -> (Table, bool) {
        let most = points.iter().filter_map(Point::accepted).fold(0.0, f64::max);
        let first = points.first();
        let latency = first.and_then(Point::latency);
        let free = points.iter().take_while(|point| !point.is_saturated()).last();
        let bound = first.and_then(|point| self.bound(point));
        let number = |value: Option<f64>, decimals| {
            value.map_or(Cell::Absent, |value| Cell::Measured(value, decimals))
        };
        let row = |what: &str, cell: Cell| vec![Cell::text(what), cell, Cell::Absent];
        let mut rows = vec![
            row(
                "highest load without saturation, flits a node and cycle",
                number(free.map(|point| point.load), 3),
            ),
            row("most that arrived, flits a node and cycle", number(Some(most), 3)),
            row(
                "most that could, by the busiest link at the lowest load",
                bound.map_or(Cell::Absent, |bound| Cell::Derived(bound, 3)),
            ),
            row("latency at the lowest load, cycles", number(latency, 1)),
        ];
        let mut holds = true;
        let mut expect =
            |row: usize, bound: Option<f64>, told: &str, good: &dyn Fn(f64) -> bool, value: Option<f64>| {
                let Some(bound) = bound else { return };
                let is_good = value.is_some_and(good);
                holds &= is_good;
                rows[row][2] = Cell::Text(format!(
                    "{told} {bound}: {}",
                    if is_good { "holds" } else { "does not hold" }
                ));
            };
        let least = self.accepted_at_least;
        expect(1, least, "at least", &|value| least.is_none_or(|least| value >= least), Some(most));
        let longest = self.latency_at_most;
        expect(3, longest, "at most", &|value| longest.is_none_or(|longest| value <= longest), latency);
        let note = "A network saturates when it takes less than it is offered.";
        (Table::new("verdict", "Verdict", note, &["what", "simulated", "expected"], rows), holds)
    }

    /// What all nodes could send at most, if each link carried the same share as at this load.
    fn bound(&self, point: &Point) -> Option<f64> {
        let (links, ports) = (self.config.topology.links(), self.config.topology.ports());
        let flits = |measured: &Measured| {
            let of_links = measured.channels.iter().enumerate().filter(|(at, _)| at % ports < links);
            of_links.map(|(_, channel)| channel.flits).max().unwrap_or(0) as f64
        };
        let busiest = median(point.runs.iter().map(flits).collect())? / self.measure as f64;
        (busiest > 0.0).then(|| point.accepted().map(|accepted| accepted / busiest))?
    }

    fn sweep(&self, points: &[Point]) -> Table {
        let rows = points.iter().map(|point| {
            let number = |value: Option<f64>, decimals| {
                value.map_or(Cell::Absent, |value| Cell::Measured(value, decimals))
            };
            let (least, most) = point.spread(|run| run.latency.mean());
            let percentile = |percent| point.middle(|run| run.latency.percentile(percent) as f64);
            vec![
                Cell::Key(point.load, 3),
                number(point.accepted(), 4),
                number(point.latency(), 2),
                number(Some(least), 2),
                number(Some(most), 2),
                number(percentile(50), 0),
                number(percentile(99), 0),
                number(point.middle(|run| run.hops_mean), 3),
                Cell::text(if point.is_saturated() { "yes" } else { "no" }),
            ]
        });
        let heads = [
            "load",
            "accepted",
            "latency, cycles",
            "least of the seeds",
            "most of the seeds",
            "50 %",
            "99 %",
            "links of a way",
            "saturated",
        ];
        let note = "Load and accepted are flits for each node and cycle. Latencies of a saturated network grow with the \
            length of the run.";
        Table::new("sweep", "Load and latency", note, &heads, rows.collect())
    }

    fn inputs(&self) -> Table {
        let config = &self.config;
        let mut rows = vec![
            ("flits of a buffer", f64::from(config.buffer_flits)),
            ("cycles of a hop", f64::from(config.hop_cycles)),
            ("cycles of a credit", f64::from(config.credit_cycles)),
            ("cycles of the interface", f64::from(config.interface_cycles)),
            ("cycles before the measurement", self.warm_up as f64),
            ("cycles of the measurement", self.measure as f64),
        ];
        if let Some((delay, stall, drop, cycles)) = self.faults {
            rows.extend([("delays a packet and link", delay), ("stalls", stall), ("losses", drop)]);
            rows.push(("cycles of a delay or stall, at most", f64::from(cycles)));
        }
        let row = |(what, value): (&str, f64)| {
            let decimals = if value.fract() == 0.0 { 0 } else { 3 };
            vec![Cell::text(what), Cell::Input(value, decimals)]
        };
        Table::new("inputs", "Inputs", "", &["what", "value"], rows.into_iter().map(row).collect())
    }

    fn charts(&self, points: &[Point]) -> Vec<Chart> {
        let free: Vec<&Point> = points.iter().filter(|point| !point.is_saturated()).collect();
        let place = |point: &&Point| Some((point.load, point.latency()?));
        let whisker = |point: &&Point| {
            let (least, most) = point.spread(|run| run.latency.mean());
            Whisker { series: 0, x: point.load, least, most }
        };
        let series = Series { name: "mean".into(), points: free.iter().filter_map(place).collect() };
        let x = "load, flits a node and cycle";
        let mut latency = Chart::lines("latency", "Latency", x, "cycles", vec![series]);
        if self.seeds.len() > 1 {
            latency.look.whiskers =
                free.iter().map(whisker).filter(|whisker| whisker.least < whisker.most).collect();
        }
        let accepted = points.iter().filter_map(|point| Some((point.load, point.accepted()?)));
        let ideal = points.iter().map(|point| (point.load, point.load));
        let series = vec![
            Series { name: "accepted".into(), points: accepted.collect() },
            Series { name: "ideal".into(), points: ideal.collect() },
        ];
        let accepted = Chart::lines("accepted", "Accepted", x, "flits a node and cycle", series);
        // Where every load is too much there is no latency to draw.
        if free.is_empty() { vec![accepted] } else { vec![latency, accepted] }
    }
}

impl Point {
    fn middle(&self, of: impl Fn(&Measured) -> f64) -> Option<f64> {
        median(self.runs.iter().map(of).collect())
    }
    fn spread(&self, of: impl Fn(&Measured) -> f64) -> (f64, f64) {
        let values = || self.runs.iter().map(&of);
        (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max))
    }
    fn accepted(&self) -> Option<f64> {
        self.middle(|run| run.accepted)
    }
    fn latency(&self) -> Option<f64> {
        self.middle(|run| run.latency.mean())
    }
    fn is_saturated(&self) -> bool {
        self.runs.iter().any(|run| run.saturated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
        [network]
        topology = \"torus\"
        sides = [4, 4]
        routing = \"adaptive\"
        [traffic]
        pattern = \"transpose\"
        loads = [0.1, 0.9]
        seeds = [1, 2, 3]
        warm-up = 100
        measure = 500
        [faults]
        drop = 0.01
        [expect]
        accepted-at-least = 0.05
        latency-at-most = 1.0
    ";

    /// Whatever the number of threads, each run has its place.
    #[test]
    fn the_number_of_threads_changes_nothing() {
        let network = Network::read(TEXT).expect("it is right");
        let [one, three] = [1, 3].map(|threads| network.measure(threads, &|_, _| {}));
        assert_eq!(format!("{:?}", one.report), format!("{:?}", three.report));
        assert_eq!(one.report.tables[1].rows.len(), 2);
        assert_eq!(one.report.tables[1].rows[0][8], Cell::text("no"));
    }

    #[test]
    fn what_is_expected_is_judged() {
        let judged = Network::read(TEXT).expect("it is right").measure(2, &|_, _| {});
        assert!(!judged.holds);
        let told: Vec<String> = judged.report.tables[0].rows.iter().map(|row| row[2].show()).collect();
        assert_eq!(told, ["-", "at least 0.05: holds", "-", "at most 1: does not hold"]);
        let text = TEXT.replace("latency-at-most = 1.0", "latency-at-most = 1000.0");
        assert!(Network::read(&text).expect("it is right").measure(2, &|_, _| {}).holds);
    }
}
