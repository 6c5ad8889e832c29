//! Under an MPI launcher: this process is one of several, which run a program together, a node each, or measure between
//! each other. The first process compiles the program and gives it to the others; it alone has the terminal.

use crate::output;
#[cfg(feature = "mpi")]
use anyhow::{Context, ensure};
use engine::{Error, Job, Libraries, Machine, Settings, Unmade};
use lab::report::Table;
use lab::{Config, Experiment};
use std::fmt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Launchers tell a process how many there are, and which it is: that of Open MPI, that of MPICH and its kin, and
/// Slurm's `srun`.
const VARIABLES: [[&str; 2]; 3] = [
    ["OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"],
    ["PMI_SIZE", "PMI_RANK"],
    ["SLURM_STEP_NUM_TASKS", "SLURM_PROCID"],
];

fn variable(which: usize) -> Option<u32> {
    VARIABLES.iter().find_map(|names| std::env::var(names[which]).ok()?.parse().ok())
}

/// How many processes the job has, by the environment; 1 without a launcher.
pub(crate) fn size() -> u32 {
    variable(0).unwrap_or(1)
}

/// Whether this process is the one that says what all would say.
pub(crate) fn speaks() -> bool {
    size() == 1 || variable(1).is_none_or(|rank| rank == 0)
}

/// Lets the first process say what is wrong. A launcher ends the whole job when one process fails, so a process that
/// fails in silence waits until that ends it. It goes on after ten seconds: there are launchers that do not.
pub(crate) fn let_the_first_speak() {
    std::thread::sleep(Duration::from_secs(10));
}

/// What is wrong is for the first process to say.
#[derive(Debug)]
pub(crate) struct Untold;

impl fmt::Display for Untold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the first process says what is wrong")
    }
}

impl std::error::Error for Untold {}

/// What is wrong with the command line that all processes have.
pub(crate) fn refusal(text: String) -> anyhow::Error {
    if speaks() { anyhow::Error::msg(text) } else { Untold.into() }
}

/// The nodes of this process: all, or under a launcher one, and then all processes call it together.
pub(crate) fn machine(settings: &Settings, libraries: Libraries) -> anyhow::Result<Machine> {
    let size = size();
    if size > 1 || settings.node_count() > 1 {
        several_nodes(settings)?;
    }
    if size == 1 {
        return Ok(Machine::with_libraries(settings, libraries)?);
    }
    if settings.node_count() > 1 {
        let option = if settings.simulate.is_some() { "--simulate" } else { "--nodes" };
        return Err(refusal(format!("each of these {size} processes is a node: leave out {option}")));
    }
    let job = Job::join(size).map_err(|error| match error {
        // All processes find the same.
        Error::Settings(text) => refusal(text),
        error => error.into(),
    })?;
    Machine::in_job(settings, job, libraries).map_err(|unmade| {
        let Unmade { error, job: _job } = *unmade;
        let error = error.into();
        // Without the job nothing more can be said.
        output::error(&error);
        error
    })
}

/// What does not go with several nodes.
fn several_nodes(settings: &Settings) -> anyhow::Result<()> {
    let several = settings.workers.is_some_and(|workers| workers > 1);
    if several && settings.schedule.is_some() {
        let more = "--schedule orders the workers of one node: of several nodes each has one then";
        return Err(refusal(more.into()));
    }
    if several && settings.simulate.is_some() {
        let more = "a simulated node has one worker: leave out --workers, or say --workers 1";
        return Err(refusal(more.into()));
    }
    Ok(())
}

/// What these experiments measure between the processes of this job: a table each, or nothing if this process is
/// alone. `None`: this is not the first process, and has nothing more to do.
pub(crate) fn measure(experiments: &[&Experiment], config: &Config) -> anyhow::Result<Option<Vec<Table>>> {
    match size() {
        1 => Ok(Some(Vec::new())),
        size => measure_together(size, experiments, config),
    }
}

#[cfg(not(feature = "mpi"))]
fn measure_together(size: u32, _: &[&Experiment], _: &Config) -> anyhow::Result<Option<Vec<Table>>> {
    match Job::join(size).map_err(|error| refusal(error.to_string()))? {}
}

/// See [`measure`]. After an error the job cannot go on, so it is said before the session is dropped.
#[cfg(feature = "mpi")]
fn measure_together(
    size: u32,
    experiments: &[&Experiment],
    config: &Config,
) -> anyhow::Result<Option<Vec<Table>>> {
    use fabric::{NodeId, mpi};
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
        ensure!(sees == size, engine::other_launcher(size, sees));
        parts.iter().map(|part| Ok(part(&mut session, config)?)).collect::<anyhow::Result<Vec<Table>>>()
    })();
    // Without a session the job is over, and nothing more can be said.
    let tables = measured.inspect_err(output::error)?;
    session.finish();
    Ok(first.then_some(tables))
}

/// A job of this number of processes of an executable, to which its arguments are to be added. Its first process has
/// the standard input. `None` in a process of a job, because launchers do not start each other, and without MPI.
#[cfg(feature = "mpi")]
pub(crate) fn launched(executable: &Path, nodes: u32) -> Option<Command> {
    (size() == 1).then(|| fabric::mpi::launch::processes(executable, nodes))
}

/// A job of this number of processes of an executable: there are none without MPI.
#[cfg(not(feature = "mpi"))]
pub(crate) fn launched(_: &Path, _: u32) -> Option<Command> {
    None
}
