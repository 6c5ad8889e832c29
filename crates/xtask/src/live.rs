//! `cargo xtask bench --live`: how soon a run hears the world outside while its workers compute: signals that end it,
//! the ticks of a timer, lines that come over a connection. Each with 1, 2, 8 and 64 workers, with and without a
//! process beside it that wants a processor all the time.

use anyhow::{Context, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

const WORKERS: [&str; 4] = ["1", "2", "8", "64"];
/// Time between two ticks of the timer that is measured.
const TICK: Duration = Duration::from_millis(20);
/// Ticks of one run.
const TICKS: usize = 20;
/// Lines that one connection sends and gets back.
const LINES: u8 = 20;

/// Says that it runs when all its goals do. One of them makes integers, one allocates nothing, one fills the heap.
const LOOPS: &str = "count(N) :- M := N + 1, count(M).\n\
    spin(N) :- N < 1000000000 | spin(~(N+1)).\n\
    spin(1000000000) :- spin(0).\n\
    fill(L) :- fill([a,b,c|L], 0).\n\
    fill(L, N) :- N < 100000 | M := N + 1, fill([N|L], M).\n\
    fill(_, 100000) :- fill([]).\n\
    loops :- count(0), spin(0), fill([]).\n";
const KILLED: &str = ":- module main.\nmain :- io:outstream([puts(\"runs\"), nl, flush, sync(S)]), go(S).\n\
    go(S) :- wait(S) | loops.\n";
const TICKING: &str = ":- module main.\n\
    main :- timer:instantiate_every(time(0,0,20000), _, L), io:outstream(O), hear(L, O), loops.\n\
    hear([_|L], O) :- O = [puts(\"tick\"), nl, flush|O1], hear(L, O1).\n";
const ECHO: &str = ":- module main.\n\
    main :- unix:unix([bind(inet({127,0,0,1},PORT), R)]), serve(R), loops.\n\
    serve(normal(S)) :- io:outstream([puts(\"listens\"), nl, flush]), S = [accept(R)|S1], accepted(R, S1).\n\
    accepted(normal(C), S) :- S = [], C = [fread(4096, T)|C1], echo(T, C1).\n\
    echo(T, C) :- string(T, L, _), L > 0 | C = [fwrite(T), fread(4096, T1)|C1], echo(T1, C1).\n";

/// A process that ends with the measurement.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill().and_then(|()| self.0.wait());
    }
}

/// The runs that are measured: the command, and where programs are written.
struct Runs<'a> {
    fifth: &'a Path,
    folder: PathBuf,
    workers: &'a str,
}

/// Measures and prints.
pub(crate) fn run(root: &Path, fifth: &Path, rounds: usize) -> anyhow::Result<()> {
    let folder = root.join("target/live");
    std::fs::create_dir_all(&folder)?;
    println!(
        "{:<22} {:>7} {:>7} {:>11} {:>10} {:>7}",
        "what is heard", "workers", "beside", "median ms", "worst ms", "times"
    );
    for busy in [false, true] {
        let _beside = busy.then(beside).transpose()?;
        for workers in WORKERS {
            let runs = Runs { fifth, folder: folder.clone(), workers };
            let row = |name: &str, times: Vec<Duration>| print_row(name, workers, busy, times);
            row("SIGTERM, to the end", runs.kills(Signal::SIGTERM, rounds)?);
            row("SIGINT, to the end", runs.kills(Signal::SIGINT, rounds)?);
            row("a tick, to its reader", runs.ticks()?);
            row("a line, and back", runs.lines()?);
        }
    }
    Ok(())
}

/// A process that wants a processor all the time.
fn beside() -> anyhow::Result<Running> {
    let child = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().context("sh")?;
    Ok(Running(child))
}

fn print_row(name: &str, workers: &str, busy: bool, mut times: Vec<Duration>) {
    times.sort_unstable();
    let ms = |time: Option<&Duration>| time.map_or(0.0, |time| time.as_secs_f64() * 1e3);
    let (median, worst) = (ms(times.get(times.len() / 2)), ms(times.last()));
    let beside = if busy { "one" } else { "none" };
    println!("{name:<22} {workers:>7} {beside:>7} {median:>11.2} {worst:>10.2} {:>7}", times.len());
}

impl Runs<'_> {
    /// A run of this program, and the lines that it writes, the first of which has come.
    fn start(&self, name: &str, program: &str) -> anyhow::Result<(Running, Lines<BufReader<ChildStdout>>)> {
        let file = self.folder.join(name).with_extension("kl1");
        std::fs::write(&file, format!("{program}{LOOPS}"))?;
        let mut command = Command::new(self.fifth);
        command.args(["run", "--workers", self.workers]).arg(&file);
        let mut child = Running(command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?);
        let mut lines = BufReader::new(child.0.stdout.take().context("a pipe")?).lines();
        lines.next().context("the program says nothing")??;
        Ok((child, lines))
    }
    /// From the signal until the process has ended.
    fn kills(&self, signal: Signal, rounds: usize) -> anyhow::Result<Vec<Duration>> {
        let mut times = Vec::new();
        for round in 0..rounds {
            let (mut child, _lines) = self.start("killed", KILLED)?;
            // At another moment each time.
            std::thread::sleep(Duration::from_millis(20 + 7 * (round as u64 % 10)));
            let sent = Instant::now();
            kill(Pid::from_raw(child.0.id().cast_signed()), signal)?;
            let status = child.0.wait()?;
            times.push(sent.elapsed());
            if status.code() != Some(130) {
                bail!("{signal} ends a run with {status}");
            }
        }
        Ok(times)
    }
    /// How late each tick is: a tick is due [`TICK`] after the one before was heard.
    fn ticks(&self) -> anyhow::Result<Vec<Duration>> {
        let (_child, lines) = self.start("ticking", TICKING)?;
        let mut before = Instant::now();
        let mut times = Vec::new();
        for line in lines.take(TICKS) {
            line?;
            let heard = Instant::now();
            times.push((heard - before).saturating_sub(TICK));
            before = heard;
        }
        Ok(times)
    }
    /// From sending a line until it is back.
    fn lines(&self) -> anyhow::Result<Vec<Duration>> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let (_child, _lines) = self.start("echo", &ECHO.replace("PORT", &port.to_string()))?;
        let mut connection = TcpStream::connect(("127.0.0.1", port))?;
        connection.set_nodelay(true)?;
        let mut times = Vec::new();
        for line in 0..LINES {
            // The workers are in the middle of their work.
            std::thread::sleep(Duration::from_millis(10));
            let (sent, mut back) = (Instant::now(), [0]);
            connection.write_all(&[line])?;
            connection.read_exact(&mut back)?;
            times.push(sent.elapsed());
        }
        Ok(times)
    }
}
