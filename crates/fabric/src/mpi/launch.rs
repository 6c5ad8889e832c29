//! How a program starts itself under an MPI launcher.
//!
//! The launcher must be of the library that the program was built with. Both are Debian's if their names have an
//! ending (`mpirun.openmpi`, `mpirun.mpich`); `MPIRUN` names another.

use rustix::process::{Pid, Signal, kill_process};
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode, Output, Stdio};
use std::time::{Duration, Instant};

/// Says to a process which of its programs it is to run as a node.
const PROGRAM: &str = "FABRIC_PROGRAM";
/// Between two looks whether a job has ended.
const LOOK: Duration = Duration::from_millis(10);
/// No job of a test takes nearly as long, unless it hangs.
const PATIENCE: Duration = Duration::from_secs(240);

/// A test: a program, its number of nodes, and what must come of it.
pub type Case = (&'static str, u32, Expected);

/// What must come of a job.
#[derive(Clone, Copy, Debug)]
pub enum Expected {
    /// It ends well.
    Success,
    /// It fails, and says this.
    Failure(&'static str),
}

/// The tests of an executable that is its own nodes: runs those jobs whose programs have the first argument in their
/// names.
pub fn tests(cases: &[Case]) -> ExitCode {
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    let (mut tests, mut failures) = (0, 0);
    for &(program, nodes, expected) in cases.iter().filter(|(program, ..)| program.contains(&filter)) {
        tests += 1;
        let begin = Instant::now();
        let complaint = match job(program, nodes).and_then(outcome) {
            Ok(output) => complaint(&output, expected),
            Err(error) => Some(error.to_string()),
        };
        let verdict = if complaint.is_some() { "FAILED" } else { "ok" };
        println!("test {program}, {nodes} nodes ... {verdict} ({:.1?})", begin.elapsed());
        if let Some(complaint) = complaint {
            println!("{complaint}");
            failures += 1;
        }
    }
    let verdict = if failures > 0 { "FAILED" } else { "ok" };
    println!("test result: {verdict}. {} passed; {failures} failed", tests - failures);
    ExitCode::from(u8::from(failures > 0))
}

fn complaint(output: &Output, expected: Expected) -> Option<String> {
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let fine = match expected {
        Expected::Success => output.status.success(),
        Expected::Failure(says) => !output.status.success() && text.contains(says),
    };
    (!fine).then(|| format!("it ends with {} and says:\n{text}", output.status))
}

/// The program that this process is to run as a node, if [`job`] began it.
pub fn program() -> Option<String> {
    std::env::var(PROGRAM).ok()
}

/// Says to Open MPI whether a process that asks for what is not there yet gives way to others.
const GIVES_WAY: &str = "OMPI_MCA_mpi_yield_when_idle";

/// A job of this number of nodes, each of them this executable, to run this program of its programs.
pub fn job(program: &str, nodes: u32) -> io::Result<Command> {
    let mut command = processes(&std::env::current_exe()?, nodes);
    command.env(PROGRAM, program);
    Ok(command)
}

/// A job of this number of processes of an executable, whose arguments can be added.
pub fn processes(executable: &Path, nodes: u32) -> Command {
    let (launcher, options) = launcher(nodes);
    let mut command = Command::new(launcher);
    command
        .args(options)
        .args(["-n", &nodes.to_string()])
        .arg(executable)
        // Nodes do so themselves, when they have dealt with what they got.
        .env(GIVES_WAY, "0")
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .stdin(Stdio::null());
    command
}

/// Runs a job to its end; one that seems to hang is ended, and that is an error.
pub fn outcome(mut job: Command) -> io::Result<Output> {
    let mut child = job.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let end = Instant::now() + PATIENCE;
    while child.try_wait()?.is_none() {
        if Instant::now() > end {
            // The launcher ends its processes when it is asked to; killing it would leave them.
            kill_process(Pid::from_child(&child), Signal::TERM)?;
            let output = child.wait_with_output()?;
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            return Err(io::Error::new(io::ErrorKind::TimedOut, format!("it hangs; so far:\n{said}")));
        }
        std::thread::sleep(LOOK);
    }
    child.wait_with_output()
}

/// The name and the version of the MPI library.
pub fn library() -> String {
    let version = mpi::environment::library_version().unwrap_or_default();
    let words: Vec<&str> = version.split([',', '\n']).next().unwrap_or("MPI").split_whitespace().collect();
    words.join(" ")
}

/// The launcher, and what it must be told if there are more nodes than processors.
fn launcher(nodes: u32) -> (String, &'static [&'static str]) {
    let (names, options): (&[&str], &[&str]) = if library().contains("Open MPI") {
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
