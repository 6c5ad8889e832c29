//! Under an MPI launcher: experiments that measure between processes do so, and then the first process goes on alone.

use lab::report::Table;
use lab::{Config, Experiment};

/// Launchers tell a process how many there are: that of Open MPI, and that of MPICH and its kin.
const SIZES: [&str; 2] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"];

/// What these experiments measure between the processes of this job: a table each, or nothing if this process is
/// alone. `None`: this is not the first process, and has nothing more to do.
pub(crate) fn measure(experiments: &[&Experiment], config: &Config) -> anyhow::Result<Option<Vec<Table>>> {
    let size = SIZES.iter().find_map(|name| std::env::var(name).ok()?.parse().ok()).unwrap_or(1);
    if size == 1 { Ok(Some(Vec::new())) } else { together(size, experiments, config) }
}

#[cfg(not(feature = "mpi"))]
fn together(size: u32, _: &[&Experiment], _: &Config) -> anyhow::Result<Option<Vec<Table>>> {
    anyhow::bail!(
        "this is one of {size} processes, but fifth was built without its feature `mpi`: build it with `--features mpi`, \
         or run it without the MPI launcher"
    )
}

#[cfg(feature = "mpi")]
fn together(size: u32, experiments: &[&Experiment], config: &Config) -> anyhow::Result<Option<Vec<Table>>> {
    use crate::output;
    use anyhow::{Context, ensure};
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
        let (nodes, library) = (session.nodes(), mpi::launch::library());
        ensure!(
            nodes == size,
            "this is one of {size} processes, but {library}, with which fifth was built, sees {nodes}: use the launcher of that library"
        );
        parts.iter().map(|part| Ok(part(&mut session, config)?)).collect::<anyhow::Result<Vec<Table>>>()
    })();
    // Without a session the job is over, and nothing more can be said.
    let tables = measured.inspect_err(output::error)?;
    session.finish();
    Ok(first.then_some(tables))
}
