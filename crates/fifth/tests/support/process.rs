//! The command as a process, and program texts in files of their own.

use rustix::process::{Pid, Signal, kill_process};
use std::ops::{Deref, DerefMut};
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
    /// The command on this file, with arguments before it, started.
    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        Running::start(&mut self.command(arguments))
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

/// A process that does not outlive its test: an endless program ends, too, when the test panics.
pub(crate) struct Running(Option<Child>);

impl Running {
    pub(crate) fn start(command: &mut Command) -> Running {
        Running(Some(command.spawn().expect("it starts")))
    }

    /// Reads what it prints, until it ends.
    pub(crate) fn output(mut self) -> Output {
        let child = self.0.take().expect("it is there until it has ended");
        child.wait_with_output().expect("a child")
    }
}

impl Deref for Running {
    type Target = Child;
    fn deref(&self) -> &Child {
        self.0.as_ref().expect("it is there until it has ended")
    }
}

impl DerefMut for Running {
    fn deref_mut(&mut self) -> &mut Child {
        self.0.as_mut().expect("it is there until it has ended")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            // It may have ended by itself; that is as good.
            let _ = child.kill().and_then(|()| child.wait());
        }
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
pub(crate) fn end(mut child: Running) -> Output {
    let start = Instant::now();
    while child.try_wait().expect("a child").is_none() {
        assert!(start.elapsed() < Duration::from_secs(60), "no end after a minute");
        std::thread::sleep(Duration::from_millis(10));
    }
    child.output()
}
