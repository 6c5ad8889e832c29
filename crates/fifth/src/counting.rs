//! Instructions between marks: a process runs an experiment's operations and stops itself at each mark; another one
//! lets it run one instruction after another from each first mark of a pair to the second.
//!
//! It works without hardware counters, which virtual machines seldom have, and gives the same count each time.

use anyhow::{Context, bail};
use nix::sys::ptrace;
use nix::sys::signal::{Signal, raise};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Runs what an experiment counts, in this process, once standard input is closed.
pub(crate) fn run_operations(experiment: &str) -> anyhow::Result<()> {
    let operations =
        lab::counted(experiment).with_context(|| format!("nothing is counted for {experiment}"))?;
    std::io::stdin().read_to_end(&mut Vec::new())?;
    let mut failed = None;
    let mut mark = || failed = raise(Signal::SIGSTOP).err().or(failed);
    operations(&mut mark)?;
    failed.map_or(Ok(()), |errno| Err(errno.into()))
}

/// Has another process of this executable run them, and counts.
pub(crate) fn count(executable: &Path, experiment: &str) -> anyhow::Result<Vec<u64>> {
    let mut command = Command::new(executable);
    command.args(["lab", "counted", experiment]).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = command.spawn().context("cannot start a process")?;
    let counts = follow(&mut child);
    if counts.is_err() {
        // It may have ended; either way it is not needed any more.
        let _ = child.kill();
    }
    // Whatever it is, `follow` has seen its end or has an error that says more.
    let _ = child.wait();
    counts
}

fn follow(child: &mut Child) -> anyhow::Result<Vec<u64>> {
    let process = Pid::from_raw(i32::try_from(child.id())?);
    ptrace::attach(process).context("this system does not let a process follow another (ptrace)")?;
    // A process that begins its program just now shows that first (SIGTRAP): the stop of `attach` itself is no mark.
    while !matches!(waitpid(process, None)?, WaitStatus::Stopped(_, Signal::SIGSTOP)) {
        ptrace::cont(process, None)?;
    }
    drop(child.stdin.take());
    let mut counts = Vec::new();
    while run_to_mark(process, ptrace::cont::<Option<Signal>>)?.is_some() {
        match run_to_mark(process, ptrace::step::<Option<Signal>>)? {
            Some(count) => counts.push(count),
            None => bail!("the operations end between two marks"),
        }
    }
    Ok(counts)
}

/// Goes on to the next mark and gives the number of stops on the way; none if the process ends first.
fn run_to_mark(
    process: Pid,
    go_on: fn(Pid, Option<Signal>) -> nix::Result<()>,
) -> anyhow::Result<Option<u64>> {
    let (mut count, mut signal) = (0, None);
    loop {
        go_on(process, signal)?;
        signal = match waitpid(process, None)? {
            WaitStatus::Stopped(_, Signal::SIGSTOP) => return Ok(Some(count)),
            WaitStatus::Stopped(_, Signal::SIGTRAP) => {
                count += 1;
                None
            }
            WaitStatus::Stopped(_, other) => Some(other),
            WaitStatus::Exited(_, 0) => return Ok(None),
            end => bail!("the process that is counted ended: {end:?}"),
        };
    }
}
