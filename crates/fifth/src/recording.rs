//! `--stats-file`: the figures of a run for programs.

use crate::driver::Machine;
use anyhow::Context;
use lab::record::Record;
use rustix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// A run that is being recorded.
pub(crate) struct Recording<'p> {
    path: &'p Path,
    file: File,
    started: Instant,
    cpu: Duration,
}

impl<'p> Recording<'p> {
    /// Begins. The file is opened first: a name that cannot be written should not cost a run.
    pub(crate) fn start(machine: &mut Machine, path: &'p Path) -> anyhow::Result<Recording<'p>> {
        let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        machine.node.worker().note_collections();
        Ok(Recording { path, file, started: Instant::now(), cpu: cpu_time() })
    }
    /// Writes what was measured.
    pub(crate) fn finish(self, machine: &mut Machine) -> anyhow::Result<()> {
        let (wall, cpu) = (self.started.elapsed(), cpu_time().saturating_sub(self.cpu));
        let statistics = machine.node.statistics();
        let workers = machine.node.worker_count() as u32;
        let collections = machine.node.worker().collections();
        let record = Record::new(workers, &statistics, collections, self.started, wall, cpu);
        let mut out = BufWriter::new(self.file);
        serde_json::to_writer(&mut out, &record)
            .map_err(anyhow::Error::from)
            .and_then(|()| Ok(out.flush()?))
            .with_context(|| format!("cannot write {}", self.path.display()))
    }
}

/// Processor time of this process.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}
