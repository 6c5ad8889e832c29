//! Under an MPI launcher: this process is one of several, which run a program together, a node each, or measure between
//! each other. The first process compiles the program and gives it to the others; it alone has the terminal.

#[cfg(not(feature = "mpi"))]
#[path = "job/without.rs"]
mod processes;
#[cfg(feature = "mpi")]
mod processes;

pub(crate) use processes::{Job, launched, measure_together};

use lab::report::Table;
use lab::{Config, Experiment};
use std::fmt;

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

/// What these experiments measure between the processes of this job: a table each, or nothing if this process is
/// alone. `None`: this is not the first process, and has nothing more to do.
pub(crate) fn measure(experiments: &[&Experiment], config: &Config) -> anyhow::Result<Option<Vec<Table>>> {
    match size() {
        1 => Ok(Some(Vec::new())),
        size => measure_together(size, experiments, config),
    }
}
