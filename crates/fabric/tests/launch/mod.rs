//! How a program starts itself under an MPI launcher.
//!
//! The launcher must be of the library that the program was built with. Both are Debian's if their names have an ending (`mpirun.openmpi`,
//! `mpirun.mpich`); `MPIRUN` names another.

use std::process::Command;

/// This program under the launcher, so many times.
pub(crate) fn job(nodes: u32) -> Command {
    let (launcher, options) = launcher(nodes);
    let mut command = Command::new(launcher);
    command
        .args(options)
        .args(["-n", &nodes.to_string()])
        .arg(std::env::current_exe().expect("a program knows where it is"))
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command
}

/// The launcher, and what it must be told if there are more nodes than processors.
fn launcher(nodes: u32) -> (String, &'static [&'static str]) {
    let library = mpi::environment::library_version().unwrap_or_default();
    let (names, options): (&[&str], &[&str]) = if library.contains("Open MPI") {
        let there = std::thread::available_parallelism().map_or(1, usize::from);
        let all: &[&str] = &["--bind-to", "none", "--oversubscribe"];
        (&["mpirun.openmpi", "mpirun"], if nodes as usize > there { all } else { &all[..2] })
    } else {
        (&["mpirun.mpich", "mpirun"], &[])
    };
    let there = |name: &&&str| Command::new(name).arg("--version").output().is_ok();
    let name = std::env::var("MPIRUN").ok();
    (name.unwrap_or_else(|| names.iter().find(there).unwrap_or(&"mpirun").to_string()), options)
}
