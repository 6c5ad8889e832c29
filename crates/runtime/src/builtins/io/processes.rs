//! Other processes: commands, signals to them, forking; and the environment.
//!
//! Invariant I8: the environment of this process is never written (other threads may be reading it); changes are
//! kept beside it, seen by `getenv` and given to commands.
//!
//! Invariant E7: a process forks only while it has one thread, so no lock is held by a thread that the child lacks.

use super::errors::Refusal;
use super::requests::{open, owned, refused, reply};
use super::{batches, events, flush};
use crate::builtins::{bytes, error, integer};
use crate::reports::outcome::ErrorKind;
use crate::worker::Worker;
use crate::worker::native::Outcome;
use rustix::io::Errno;
use rustix::process::{Pid, Signal};
use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::Duration;
use term::Word;

/// Looks at the number of threads, 100 µs apart, before a fork is refused.
const FORK_LOOKS: u32 = 100;

/// The value of an environment variable (I8).
pub(super) fn environment(worker: &mut Worker, name: &[u8]) -> Option<Vec<u8>> {
    if let Some(value) = worker.io().environment.get(name) {
        return Some(value.clone());
    }
    // An empty name, or one with `=` or a zero byte, is never defined.
    if name.is_empty() || name.contains(&b'=') || name.contains(&0) {
        return None;
    }
    std::env::var_os(OsStr::from_bytes(name)).map(OsStringExt::into_vec)
}

/// `NAME=VALUE`; `None` if the text has no such form.
pub(super) fn set_environment(worker: &mut Worker, text: &[u8]) -> Option<()> {
    let at = text.iter().position(|&byte| byte == b'=').filter(|&at| at > 0)?;
    if text.contains(&0) {
        return None;
    }
    worker.io().environment.insert(text[..at].to_vec(), text[at + 1..].to_vec());
    Some(())
}

/// `system(Command,R)`: R becomes the wait status when the command has ended.
pub(super) fn system(worker: &mut Worker, command: Word, answer: Word) -> Result<Word, Outcome> {
    let command = bytes(worker, 1, command)?;
    flush(worker).map_err(Outcome::Error)?;
    let environment = worker.io().environment.clone();
    let changed = environment.iter().map(|(name, value)| (OsStr::from_bytes(name), OsStr::from_bytes(value)));
    let started = std::process::Command::new("/bin/sh")
        .arg("-c")
        .arg(OsStr::from_bytes(&command))
        .envs(changed)
        .spawn();
    let waiting = match started {
        Ok(child) => events::when_ended(worker, child, answer).is_ok(),
        Err(_) => false,
    };
    if !waiting {
        worker.unify(answer, Word::small(-1));
    }
    Ok(reply(worker, "result", &[answer]))
}

/// `kill(Pid,Signal,R)`: an error if it could not be sent.
pub(super) fn kill(worker: &mut Worker, pid: Word, signal: Word) -> Result<Result<(), Errno>, Outcome> {
    use rustix::process::{kill_current_process_group, kill_process, kill_process_group, test_kill_process};
    let pid = integer(worker, 1, pid)?;
    let signal = integer(worker, 2, signal)?;
    let sent = (|| {
        let process = i32::try_from(pid.unsigned_abs()).ok().and_then(Pid::from_raw);
        if signal == 0 {
            return test_kill_process(process.ok_or(Errno::SRCH)?);
        }
        let number = i32::try_from(signal).ok();
        let signal = number.and_then(Signal::from_named_raw).ok_or(Errno::INVAL)?;
        match (pid, process) {
            (0, _) => kill_current_process_group(signal),
            (1.., Some(process)) => kill_process(process, signal),
            // Everything there is: never meant.
            (-1, _) => Err(Errno::PERM),
            (_, Some(group)) => kill_process_group(group, signal),
            _ => Err(Errno::SRCH),
        }
    })();
    Ok(sent)
}

/// Duplicates this process: 0 in the child, its number in the parent, -1 if it cannot be done.
pub(super) fn fork(worker: &mut Worker) -> Result<i64, Outcome> {
    let threads = || std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
    batches::end_ticks(worker);
    if threads() != 1
        && let Some(variable) = events::when_alone(worker)
    {
        return Err(Outcome::Wait(variable));
    }
    events::end_alone(worker);
    // The system lists a thread that has ended for a moment.
    let mut looks = 0..FORK_LOOKS;
    while threads() != 1 && looks.next().is_some() {
        std::thread::sleep(Duration::from_micros(100));
    }
    if threads() != 1 {
        let message = "fork needs a process with one thread: run the program with one worker";
        return Err(error(ErrorKind::Other, message));
    }
    flush(worker).map_err(Outcome::Error)?;
    // SAFETY: E7 - the process has one thread, which was counted just above.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        events::Outside::of(worker).begin_copy();
    }
    Ok(pid.into())
}

/// `fork_with_pipes(R)`: R becomes `parent(Pid,In,Out)` here and `child(In,Out)` there.
pub(super) fn fork_with_pipes(worker: &mut Worker, answer: Word) -> Result<Word, Outcome> {
    let pipe = || rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC);
    let ((down_read, down_write), (up_read, up_write)) = match (pipe(), pipe()) {
        (Ok(down), Ok(up)) => (down, up),
        (Err(error), _) | (_, Err(error)) => {
            return refused(worker, answer, &Refusal::new("cannot make a pipe", error));
        }
    };
    let pid = fork(worker)?;
    let (input, output, made) = match pid {
        -1 => {
            let error = std::io::Error::last_os_error();
            let error = Errno::from_io_error(&error).unwrap_or(Errno::AGAIN);
            return refused(worker, answer, &Refusal::new("cannot duplicate the process", error));
        }
        0 => (down_read, up_write, reply(worker, "child", &[])),
        _ => (up_read, down_write, reply(worker, "parent", &[Word::small(pid)])),
    };
    let input = open(worker, "pipe", Some(owned(input)), None);
    let output = open(worker, "pipe", None, Some(owned(output)));
    Ok(reply(worker, "forked", &[made, input, output, answer]))
}
