//! A job: this process is one of several, which run a program together, a node each. The first one compiles the program
//! and gives it to the others; it alone has the terminal.

#[cfg(not(feature = "mpi"))]
#[path = "job/without.rs"]
mod processes;
#[cfg(feature = "mpi")]
mod processes;

pub use processes::Job;
#[cfg(feature = "mpi")]
pub use processes::other_launcher;
