//! Built with the feature `mpi`. After an error the job cannot go on: whoever has a [`Job`] says what it was before it
//! drops that, for then the job is over.

use crate::driver::Told;
use crate::nodes::Pages;
use crate::output;
use anyhow::{Context, ensure};
use arrays::{Arrays, FILE_BYTES};
use distribution::{Part, Run};
use fabric::{NodeId, mpi};
use lab::report::Table;
use lab::{Config, Experiment};
use runtime::node::Node;
use std::path::Path;
use std::process::Command;
use std::time::Instant;
use term::abi::PredicateId;

/// This process's part in a job.
pub(crate) struct Job {
    session: mpi::Session,
}

impl Job {
    /// All processes of the job, of which the launcher says that there are `size`, call it together.
    pub(crate) fn join(size: u32) -> anyhow::Result<Job> {
        let session = mpi::Session::start()?;
        let sees = session.nodes();
        if sees != size {
            // Each of them is alone.
            session.finish();
            return Err(super::refusal(others(size, sees)));
        }
        Ok(Job { session })
    }
    /// Which of its processes this is.
    pub(crate) fn node(&self) -> u32 {
        self.session.node().0
    }
    /// How many there are.
    pub(crate) fn nodes(&self) -> u32 {
        self.session.nodes()
    }
    /// How many of them are on this host.
    pub(crate) fn here(&self) -> u32 {
        self.session.here()
    }
    /// The arrays of all processes, which say the same of their pages; all call it together.
    pub(crate) fn arrays(&self, pages: Option<Pages>) -> Arrays {
        let file = match pages {
            Some(Pages::Messages) => None,
            _ => self.session.shared_file(FILE_BYTES),
        };
        match (file, pages) {
            (Some(file), _) => Arrays::of(file.into()),
            (None, Some(Pages::Mapped)) => Arrays::none(
                "the processes of this run are on several hosts, or cannot open each other's memory: leave out \
                 --dsm-pages=mapped",
            ),
            (None, _) => Arrays::of_copies(self.node(), self.nodes()),
        }
    }
    /// What the first process gives; all call it together.
    pub(crate) fn broadcast(&mut self, bytes: Vec<u8>) -> anyhow::Result<Vec<u8>> {
        Ok(self.session.broadcast(bytes)?)
    }
    /// Runs a goal at the first node, and all that follows from it at all nodes; all call it together. At the first
    /// process: what became of it, and what each other node did.
    pub(crate) fn run(
        &mut self,
        node: &mut Node,
        goal: PredicateId,
        atoms: u32,
    ) -> anyhow::Result<Option<(Run, Vec<Told>)>> {
        let started = Instant::now();
        let part = distribution::run_part(&mut self.session, node, goal, atoms)?;
        // The first node tells the same without being asked.
        let told = (self.node() > 0).then(|| Told::of(node, started));
        let bytes = postcard::to_stdvec(&(part, told)).context("cannot store how the run ended")?;
        let ends = self.session.gather(bytes)?;
        if ends.is_empty() {
            return Ok(None);
        }
        let ends = ends.iter().enumerate().map(|(node, bytes)| {
            postcard::from_bytes(bytes)
                .with_context(|| format!("what node {node} says of its end makes no sense"))
        });
        let ends: Vec<(Part, Option<Told>)> = ends.collect::<anyhow::Result<_>>()?;
        let (parts, told): (Vec<Part>, Vec<Option<Told>>) = ends.into_iter().unzip();
        Ok(Some((Run::of(parts), told.into_iter().flatten().collect())))
    }
    /// This process goes on alone; all call it together.
    pub(crate) fn leave(self) {
        self.session.finish();
    }
}

fn others(size: u32, sees: u32) -> String {
    let library = mpi::launch::library();
    format!(
        "this is one of {size} processes, but {library}, with which fifth was built, sees {sees}: use the launcher of \
         that library"
    )
}

/// See [`super::measure`].
pub(crate) fn measure_together(
    size: u32,
    experiments: &[&Experiment],
    config: &Config,
) -> anyhow::Result<Option<Vec<Table>>> {
    let parts = experiments.iter().map(|experiment| {
        lab::between_processes(experiment.name).with_context(|| {
            format!("{} measures nothing between processes: run it without the MPI launcher", experiment.name)
        })
    });
    let parts = parts.collect::<anyhow::Result<Vec<lab::Between>>>()?;
    let mut session = mpi::Session::start()?;
    let first = session.node() == NodeId(0);
    let measured = (|| {
        let sees = session.nodes();
        ensure!(sees == size, others(size, sees));
        parts.iter().map(|part| Ok(part(&mut session, config)?)).collect::<anyhow::Result<Vec<Table>>>()
    })();
    // Without a session the job is over, and nothing more can be said.
    let tables = measured.inspect_err(output::error)?;
    session.finish();
    Ok(first.then_some(tables))
}

/// A job of this number of processes of an executable, to which its arguments are to be added. Its first process has
/// the standard input. `None` in a process of a job: launchers do not start each other.
pub(crate) fn launched(executable: &Path, nodes: u32) -> Option<Command> {
    (super::size() == 1).then(|| mpi::launch::processes(executable, nodes))
}
