//! The command as a process, and program texts in files of their own.

use rustix::process::{Pid, Signal, kill_process};
use std::io::Read;
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A file with a program, removed at the end.
pub(crate) struct Text(pub(crate) PathBuf);

impl Text {
    pub(crate) fn new(name: &str, bytes: &[u8]) -> Text {
        // Tests of one process run at the same time, and may choose the same name.
        static TEXTS: AtomicUsize = AtomicUsize::new(0);
        let number = TEXTS.fetch_add(1, Ordering::Relaxed);
        let name = format!("fifth-outside-{}-{number}-{name}.kl1", std::process::id());
        let path = std::env::temp_dir().join(name);
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

/// Waits until an interrupt would not end it before it has begun, or it has ended.
pub(crate) fn wait_for_handler(child: &Child) {
    let start = Instant::now();
    while !handles_interrupts(child.id()).expect("it is there") {
        assert!(start.elapsed() < Duration::from_secs(60), "it does not begin");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whether an interrupt would end this process in its own way, or it has ended; `None` if it is gone.
pub(crate) fn handles_interrupts(process: u32) -> Option<bool> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).expect(name).trim();
    let caught = u64::from_str_radix(field("SigCgt:"), 16).expect("a number");
    Some(caught & 1 << (Signal::INT.as_raw() - 1) != 0 || field("State:").starts_with('Z'))
}

/// Waits until its standard output takes no more.
pub(crate) fn wait_for_full_pipe(child: &Child) {
    let (start, mut before) = (Instant::now(), 0);
    loop {
        let bytes = rustix::io::ioctl_fionread(child.stdout.as_ref().expect("piped")).expect("a pipe");
        if bytes > 32 << 10 && bytes == before {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "it writes only {bytes} bytes");
        before = bytes;
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Waits until it has complained of this, a line. (What it writes to standard output waits for more.)
pub(crate) fn wait_for_line(child: &mut Running, line: &str) {
    let err = child.stderr.as_mut().expect("piped");
    // Not more than the line: the rest is read at the end.
    let (mut read, mut byte) = (Vec::new(), [0]);
    while err.read(&mut byte).expect("it can be read") == 1 && byte != *b"\n" {
        read.extend(byte);
    }
    if read != line.as_bytes() {
        let mut more = [0; 4096];
        let count = err.read(&mut more).expect("it can be read");
        read.push(b'\n');
        read.extend(&more[..count]);
        panic!("in place of {line:?}: {}", String::from_utf8_lossy(&read));
    }
}

/// Descriptors that the system watches for a process.
pub(crate) fn watched(process: u32) -> usize {
    let files = std::fs::read_dir(format!("/proc/{process}/fdinfo")).expect("it runs").filter_map(Result::ok);
    let texts = files.filter_map(|file| std::fs::read_to_string(file.path()).ok());
    texts.map(|text| text.lines().filter(|line| line.starts_with("tfd:")).count()).sum()
}

/// Waits until it has worked for so long.
pub(crate) fn wait_for_work(child: &mut Running, time: Duration) {
    let start = Instant::now();
    let worked = |child: &mut Running| {
        assert!(child.try_wait().is_ok_and(|status| status.is_none()), "it should not have ended");
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).expect("it is there");
        // Behind the name: 11 others, and hundredths of a second as a user and as the system.
        let (_, numbers) = stat.rsplit_once(") ").expect("a name in brackets");
        let ticks = numbers.split(' ').skip(11).take(2).map(|ticks| ticks.parse::<u64>().expect("a number"));
        Duration::from_millis(10 * ticks.sum::<u64>())
    };
    while worked(child) < time {
        assert!(start.elapsed() < Duration::from_secs(60), "it does not work");
        std::thread::sleep(Duration::from_millis(10));
    }
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
