//! `--stats-file`: the figures of a run for programs.

use crate::destination::Destination;
use crate::driver::Machine;
use lab::record::Record;
use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// A run that is being recorded.
pub(crate) struct Recording {
    destination: Destination,
    started: Instant,
    cpu: Duration,
}

impl Recording {
    /// Begins.
    pub(crate) fn start(machine: &mut Machine, destination: Destination) -> Recording {
        machine.node.worker().note_collections();
        Recording { destination, started: Instant::now(), cpu: cpu_time() }
    }
    /// Writes what was measured.
    pub(crate) fn finish(self, machine: &mut Machine) -> anyhow::Result<()> {
        let (wall, cpu) = (self.started.elapsed(), cpu_time().saturating_sub(self.cpu));
        let statistics = machine.node.statistics();
        let workers = machine.node.worker_count() as u32;
        let collections = machine.node.worker().collections();
        let record = Record::new(workers, &statistics, collections, self.started, wall, cpu);
        self.destination.write(0o666, |out| Ok(serde_json::to_writer(out, &record)?))
    }
}

/// Processor time of this process.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}
