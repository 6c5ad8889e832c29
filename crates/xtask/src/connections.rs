//! `cargo xtask bench --connections`: a web server (`examples/http.kl1`) with many connections, beside one of Go's
//! `net/http` (`benches/connections/server.go`) if Go is there.
//!
//! Idle: [`IDLE`] connections that have each asked once; the server's memory, and how long a request of another one
//! takes. Busy: [`BUSY`] connections that all ask at the same time, again and again; requests a second, and the
//! server's processor time for each. The client is one thread of this process.

use crate::bench::middle;
use anyhow::{Context, bail, ensure};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Connections that say nothing.
const IDLE: usize = 10_000;
/// Connections that ask.
const BUSY: usize = 1_000;
/// Requests of each in a round.
const REQUESTS: usize = 20;
/// Requests among idle connections.
const ALONE: usize = 101;
/// How long a server may take to begin, and to answer.
const PATIENCE: Duration = Duration::from_secs(60);
const REQUEST: &[u8] = b"GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n";
const BODY: &[u8] = b"Hello, world!\n";
/// A tick of `/proc/PID/stat`, in seconds.
const CLOCK_TICK: f64 = 0.01;

/// A server that ends with the measurement.
struct Server {
    child: Child,
    port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill().and_then(|()| self.child.wait());
    }
}

/// What is measured of a server.
struct Figures {
    /// Peak of its memory before and with the idle connections, in MB.
    before: f64,
    idle: f64,
    /// Milliseconds of a request among those: the median, the worst.
    alone: (f64, f64),
    /// Of busy connections.
    requests_per_second: f64,
    /// Processor time of the server for a request, in µs.
    micros: f64,
}

impl Server {
    /// The command with a port behind it, when it listens.
    fn start(command: &[String]) -> anyhow::Result<Server> {
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let (program, arguments) = command.split_first().context("a command")?;
        let mut run = Command::new(program);
        run.args(arguments).arg(port.to_string()).stdout(Stdio::null());
        let server = Server { child: run.spawn().with_context(|| program.clone())?, port };
        let start = Instant::now();
        while server.connect().is_err() {
            ensure!(start.elapsed() < PATIENCE, "{command:?} does not listen");
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(server)
    }
    fn connect(&self) -> anyhow::Result<TcpStream> {
        let stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(stream)
    }
    /// The peak of its resident memory, in MB.
    fn megabytes(&self) -> anyhow::Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("VmHWM")?;
        let kilobytes: f64 = line.trim().trim_end_matches(" kB").parse()?;
        Ok(kilobytes / 1e3)
    }
    /// Its processor time in seconds.
    fn seconds(&self) -> anyhow::Result<f64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let (_, fields) = stat.rsplit_once(") ").context("a name in brackets")?;
        // Behind the name: 11 others, then ticks as a user and as the system.
        let ticks = fields.split(' ').skip(11).take(2).map(str::parse::<f64>);
        Ok(ticks.sum::<Result<f64, _>>()? * CLOCK_TICK)
    }
    fn figures(&self, rounds: usize) -> anyhow::Result<Figures> {
        ask(&mut self.connect()?)?;
        let before = self.megabytes()?;
        let mut silent = Vec::with_capacity(IDLE);
        for _ in 0..IDLE {
            let mut stream = self.connect()?;
            ask(&mut stream)?;
            silent.push(stream);
        }
        let idle = self.megabytes()?;
        let mut another = self.connect()?;
        let mut times = Vec::new();
        for _ in 0..ALONE {
            let start = Instant::now();
            ask(&mut another)?;
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
        let worst = times.iter().copied().fold(0.0, f64::max);
        drop(silent);
        let mut busy = (0..BUSY).map(|_| self.connect()).collect::<anyhow::Result<Vec<_>>>()?;
        all_ask(&mut busy)?;
        let (mut speeds, mut micros) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let (start, worked) = (Instant::now(), self.seconds()?);
            for _ in 0..REQUESTS {
                all_ask(&mut busy)?;
            }
            let requests = (BUSY * REQUESTS) as f64;
            speeds.push(requests / start.elapsed().as_secs_f64());
            micros.push((self.seconds()? - worked) / requests * 1e6);
        }
        let alone = (middle(times), worst);
        Ok(Figures { before, idle, alone, requests_per_second: middle(speeds), micros: middle(micros) })
    }
}

/// Reads one answer.
fn answer(stream: &mut TcpStream) -> anyhow::Result<()> {
    let (mut bytes, mut end) = ([0; 4096], 0);
    while !bytes[..end].ends_with(BODY) {
        let count = stream.read(&mut bytes[end..])?;
        if count == 0 {
            bail!("no answer: {}", String::from_utf8_lossy(&bytes[..end]));
        }
        end += count;
    }
    Ok(())
}

fn ask(stream: &mut TcpStream) -> anyhow::Result<()> {
    stream.write_all(REQUEST)?;
    answer(stream)
}

/// All of them ask before the first answer is read.
fn all_ask(streams: &mut [TcpStream]) -> anyhow::Result<()> {
    for stream in &mut *streams {
        stream.write_all(REQUEST)?;
    }
    streams.iter_mut().try_for_each(answer)
}

/// The command of Go's server; `None` if Go is not there.
fn go_server(root: &Path) -> anyhow::Result<Option<Vec<String>>> {
    let executable = root.join("target/connections/server");
    fs::create_dir_all(executable.parent().context("a folder of builds")?)?;
    let text = root.join("benches/connections/server.go");
    let Ok(status) = Command::new("go").arg("build").arg("-o").arg(&executable).arg(text).status() else {
        return Ok(None);
    };
    ensure!(status.success(), "go build: {status}");
    Ok(Some(vec![executable.to_string_lossy().into_owned()]))
}

/// Measures and prints.
pub(crate) fn run(root: &Path, fifth: &Path, rounds: usize) -> anyhow::Result<()> {
    ensure!(rounds > 0, "no rounds, no figures");
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
    ensure!(most > IDLE as u64 + 100, "more descriptors are needed: `ulimit -Hn` says {most}");
    setrlimit(Resource::RLIMIT_NOFILE, most, most)?;
    let own = |workers: &str| {
        let example = root.join("examples/http.kl1");
        let words = [&fifth.to_string_lossy(), "run", "--workers", workers, &example.to_string_lossy(), "--"];
        words.map(String::from).to_vec()
    };
    let mut servers = vec![("Fifth, 1 worker", own("1")), ("Fifth, 2 workers", own("2"))];
    servers.extend(go_server(root)?.map(|command| ("Go", command)));
    println!(
        "{:<17} {:>9} {:>9} {:>10} {:>9} {:>11} {:>11}",
        "server", "MB, none", "MB, idle", "median ms", "worst ms", "requests/s", "CPU us each"
    );
    for (name, command) in servers {
        let Figures { before, idle, alone, requests_per_second, micros } =
            Server::start(&command)?.figures(rounds).with_context(|| name.to_string())?;
        println!(
            "{name:<17} {before:>9.1} {idle:>9.1} {:>10.2} {:>9.2} {requests_per_second:>11.0} {micros:>11.1}",
            alone.0, alone.1
        );
    }
    Ok(())
}
