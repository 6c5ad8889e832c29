//! Nodes under an MPI launcher. This program is its own node: without a launcher it starts itself under one, several times.

mod launch;

use fabric::conformance::{Kind, programs};
use fabric::mpi::{Mpi, Session};
use fabric::{Fabric, Message, Node, NodeId, Priority, Step};
use std::process::{Command, ExitCode, Output, Stdio};
use std::time::{Duration, Instant};

/// What a process is to do as a node.
const PROGRAM: &str = "FABRIC_TEST_PROGRAM";
/// No run takes nearly as long, unless it hangs.
const PATIENCE: Duration = Duration::from_secs(240);

fn main() -> ExitCode {
    match std::env::var(PROGRAM) {
        Ok(program) => node(&program),
        Err(_) => tests(),
    }
}

/// What must come out of a job.
enum Outcome {
    Success,
    /// It fails, and says this.
    Failure(&'static str),
}

fn tests() -> ExitCode {
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    let mut cases: Vec<(&str, u32, Outcome)> =
        [2, 3, 4, 8].into_iter().map(|nodes| ("conforms", nodes, Outcome::Success)).collect();
    cases.push(("conforms alone", 1, Outcome::Success));
    for nodes in [2, 4] {
        cases.push(("panics", nodes, Outcome::Failure("this node has had enough")));
        cases.push(("exits", nodes, Outcome::Failure("")));
        cases.push(("aborts", nodes, Outcome::Failure("")));
    }
    cases.push(("sends nonsense", 3, Outcome::Failure("node 1 sent a packet that makes no sense")));
    cases.push(("sends a lie", 3, Outcome::Failure("node 1 sent a packet that makes no sense")));
    cases.push(("sends forged credits", 2, Outcome::Failure("node 1 sent a packet that makes no sense")));
    cases.push(("sends too much at once", 2, Outcome::Failure("")));
    cases.push((
        "announces too much",
        2,
        Outcome::Failure("no memory for a message of 70368744177664 bytes from node 1"),
    ));
    let (mut tests, mut failures) = (0, 0);
    for (program, nodes, outcome) in cases.iter().filter(|(program, ..)| program.contains(&filter)) {
        tests += 1;
        let begin = Instant::now();
        let complaint = match job(program, *nodes) {
            Ok(output) => complaint(&output, outcome),
            Err(error) => Some(error),
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

fn complaint(output: &Output, outcome: &Outcome) -> Option<String> {
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let fine = match outcome {
        Outcome::Success => output.status.success(),
        Outcome::Failure(says) => !output.status.success() && text.contains(says),
    };
    (!fine).then(|| format!("it ends with {} and says:\n{text}", output.status))
}

/// Runs this program under the launcher.
fn job(program: &str, nodes: u32) -> Result<Output, String> {
    let mut job = launch::job(nodes);
    job.env(PROGRAM, program).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = job.spawn().map_err(|error| format!("{job:?}: {error}"))?;
    let end = Instant::now() + PATIENCE;
    while child.try_wait().map_err(|error| error.to_string())?.is_none() {
        if Instant::now() > end {
            // The launcher ends its processes when it is asked to; killing it would leave them.
            let _ = Command::new("kill").arg(child.id().to_string()).status();
            let output = child.wait_with_output().map_err(|error| error.to_string())?;
            return Err(format!("it hangs; so far:\n{}", String::from_utf8_lossy(&output.stdout)));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().map_err(|error| error.to_string())
}

fn node(program: &str) -> ExitCode {
    let mut session = Session::start().expect("the first session of this process");
    match program {
        "conforms" | "conforms alone" => {
            let mut suite = Suite(session);
            for (name, program) in programs::<Suite>() {
                // Alone, a node has only itself.
                if suite.nodes() == 1 && !["self-sends", "all to all"].contains(&name) {
                    continue;
                }
                let begin = Instant::now();
                program(&mut suite);
                if suite.0.node() == NodeId(0) {
                    println!("{name}: {:.1?}", begin.elapsed());
                }
            }
            suite.0.finish();
            ExitCode::SUCCESS
        }
        _ => match session.run(|_| Bad { program: program.to_string() }) {
            Ok(_) => panic!("{program} goes unnoticed"),
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        },
    }
}

struct Suite(Session);

impl Kind for Suite {
    type Fabric = Mpi;
    fn nodes(&self) -> u32 {
        self.0.nodes()
    }
    fn run<N: Node<Mpi>>(&mut self, make: impl Fn(NodeId) -> N + Sync) {
        if let Err(error) = self.0.run(make) {
            panic!("{error}");
        }
    }
}

/// Node 1 does what it should not; the others wait for ever.
struct Bad {
    program: String,
}

impl Node<Mpi> for Bad {
    fn step(&mut self, fabric: &mut Mpi) -> Step {
        while fabric.poll().is_some() {}
        if fabric.node() != NodeId(1) {
            return Step::Wait(None);
        }
        let record = |word: u64| [&[1, 0, 0, 0, 0, 0, 1, 0][..], &word.to_le_bytes()].concat();
        match self.program.as_str() {
            "waits" => return Step::Wait(None),
            "panics" => panic!("this node has had enough"),
            "exits" => std::process::exit(3),
            "aborts" => std::process::abort(),
            "sends nonsense" => fabric.send_for_test(NodeId(0), vec![0xa5; 100]),
            // Words that are not there.
            "sends a lie" => fabric.send_for_test(NodeId(2), record(5)),
            "sends forged credits" => fabric.send_for_test(NodeId(0), vec![1, 2, 9, 0, 0, 0, 1, 0]),
            "sends too much at once" => fabric.send_for_test(NodeId(0), vec![1; 100_000]),
            // 64 TiB that follow outside the packet.
            "announces too much" => fabric.send_for_test(NodeId(0), record((2 << 8) | (1 << 62))),
            other => panic!("no such program: {other}"),
        }
        let _ = fabric.send(NodeId(0), Message::new(Priority::Low, &[0]));
        self.program = "waits".into();
        Step::Wait(None)
    }
}
