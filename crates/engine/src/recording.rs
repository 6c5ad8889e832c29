//! The figures of a run, as a [`Record`].

use crate::machine::{Machine, Told};
use crate::record::{NodeRecord, Record, Simulation, Spent};
use crate::simulated::Simulate;
use distribution::{Counters, DEPTHS, KINDS};
use runtime::statistics::Statistics;
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A run that is being recorded.
pub struct Recording {
    started: Instant,
    cpu: Duration,
}

impl Recording {
    /// Begins.
    pub fn start() -> Recording {
        Recording { started: Instant::now(), cpu: cpu_time() }
    }
    /// What was measured, and what the nodes did.
    pub fn finish(self, machine: &Machine, simulate: Option<Simulate>, told: &mut [Told]) -> Record {
        let (wall, cpu) = (self.started.elapsed(), cpu_time().saturating_sub(self.cpu));
        let statistics: Vec<Statistics> = told.iter().map(|told| told.statistics.clone()).collect();
        let mut record = Record::new(0, &Statistics::sum(&statistics), &[], self.started, wall, cpu);
        record.workers = (told.len() * machine.node.worker_count()) as u32;
        match told {
            [alone] => record.collections = std::mem::take(&mut alone.collections),
            _ => {
                record.nodes =
                    told.iter_mut().zip(machine.counters()).map(|(told, of)| node(told, of)).collect();
                for (node, counts) in record.nodes.iter_mut().zip(machine.beside()) {
                    node.copies.clone_from(counts);
                }
                simulation(machine, simulate, &mut record);
            }
        }
        record
    }
}

/// What only a simulation knows.
fn simulation(machine: &Machine, simulate: Option<Simulate>, record: &mut Record) {
    let model = simulate.and_then(Simulate::model);
    let Some((model, run)) = model.zip(machine.simulated()) else { return };
    let seconds = |cycles: u64| cycles as f64 * model.cycle / 1e9;
    for (node, work) in record.nodes.iter_mut().zip(&run.work) {
        node.simulated = Some(Spent {
            reducing_seconds: seconds(work.reducing),
            handling_seconds: seconds(work.messages),
            references: work.references,
            bytes: work.bytes.iter().sum(),
        });
    }
    record.simulation = Some(Simulation {
        seconds: seconds(run.cycles),
        channel_bytes: run.channels.clone(),
        channel_bytes_per_second: 1e9 / model.cycle,
    });
}

/// What one of several nodes did.
fn node(told: &mut Told, counters: &Counters) -> NodeRecord {
    let Told { statistics, collections, .. } = told;
    let sent = KINDS.iter().map(ToString::to_string).zip(counters.sent).collect();
    let depth = |depth: usize| match depth {
        0 => "structure".into(),
        1 => "one level".into(),
        last if last == DEPTHS - 1 => "garbage".into(),
        2..=10 => format!("{} conses", 1u32 << (depth - 2)),
        _ => format!("{} words", 450u32 << (depth - 11)),
    };
    NodeRecord {
        reductions: statistics.reductions,
        suspensions: statistics.suspensions,
        resumptions: statistics.resumptions,
        words_allocated: statistics.words_allocated,
        sent,
        released: counters.released,
        reads: (0..DEPTHS).map(depth).zip(counters.reads).filter(|&(_, count)| count > 0).collect(),
        indirect: counters.indirect,
        exports: [counters.exports as u64, counters.exports_most as u64],
        imports: [counters.imports as u64, counters.imports_most as u64],
        collections: std::mem::take(collections),
        copies: BTreeMap::new(),
        simulated: None,
    }
}

/// Processor time of this process.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}
