//! The command as a process, and program texts in files of their own.

use rustix::process::{Pid, Signal, kill_process};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A file with a program, removed at the end.
pub(crate) struct Text(pub(crate) PathBuf);

impl Text {
    pub(crate) fn new(name: &str, bytes: &[u8]) -> Text {
        let path = std::env::temp_dir().join(format!("fifth-outside-{}-{name}.kl1", std::process::id()));
        std::fs::write(&path, bytes).expect("a temporary file");
        Text(path)
    }
    /// The command on this file, with arguments before it.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fifth"));
        command
            .args(arguments)
            .arg(&self.0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

impl Drop for Text {
    fn drop(&mut self) {
        // What cannot be removed is only litter.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// What it complained of.
pub(crate) fn error(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Interrupts it.
pub(crate) fn interrupt(child: &Child) {
    send(child, Signal::INT);
}

/// Sends it a signal. A small system has no command for that.
pub(crate) fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).expect("a child that has not been waited for");
}

/// Waits for the end, at most a minute.
pub(crate) fn end(mut child: Child) -> Output {
    let start = Instant::now();
    while child.try_wait().expect("a child").is_none() {
        if start.elapsed() > Duration::from_secs(60) {
            child.kill().expect("a child");
            panic!("no end after a minute");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().expect("a child")
}
