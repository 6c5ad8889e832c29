//! Nodes under an MPI launcher. This program is its own node: without a launcher it starts itself under one, several
//! times.

use conformance::fabrics::{Kind, programs};
use fabric::mpi::launch::{self, Case, Expected};
use fabric::mpi::{Mpi, Session};
use fabric::{Fabric, Message, Node, NodeId, Priority, Step};
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    match launch::program() {
        Some(program) => node(&program),
        None => launch::tests(&cases()),
    }
}

fn cases() -> Vec<Case> {
    use Expected::{Failure, Success};
    const NONSENSE: Expected = Failure("node 1 sent a packet that makes no sense");
    let mut cases: Vec<Case> = [2, 3, 4, 8].into_iter().map(|nodes| ("conforms", nodes, Success)).collect();
    cases.push(("conforms in pieces", 2, Success));
    cases.push(("conforms in pieces", 4, Success));
    cases.push(("conforms alone", 1, Success));
    for nodes in [2, 4] {
        cases.push(("panics", nodes, Failure("this node has had enough")));
        cases.push(("exits", nodes, Failure("")));
        cases.push(("aborts", nodes, Failure("")));
    }
    cases.push(("sends nonsense", 3, NONSENSE));
    cases.push(("sends a lie", 3, NONSENSE));
    cases.push(("sends less than it announced", 2, NONSENSE));
    cases.push(("sends more than it announced", 2, NONSENSE));
    cases.push(("sends a packet that is too long", 2, NONSENSE));
    cases.push(("sends a packet that is far too long", 2, NONSENSE));
    cases.push(("sends forged credits", 2, NONSENSE));
    let too_large = Failure("no memory for a message of 70368744177664 bytes from node 1");
    cases.push(("announces too much", 2, too_large));
    cases
}

fn node(program: &str) -> ExitCode {
    let mut session = Session::start().expect("the first session of this process");
    match program {
        "conforms" | "conforms alone" | "conforms in pieces" => {
            if program == "conforms in pieces" {
                // As if a gibibyte were so little: large payloads and some that are not.
                session.set_chunk_for_test(10_000);
            }
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
        while let Some(message) = fabric.poll() {
            assert!(message.payload.is_empty(), "a payload that was refused");
        }
        if fabric.node() != NodeId(1) {
            // One that does not wait would be given a payload as soon as it is there.
            let waits = !self.program.ends_with("than it announced");
            return if waits { Step::Wait(None) } else { Step::Again };
        }
        let record = |word: u64| [&[1, 0, 0, 0, 0, 0, 1, 0][..], &word.to_le_bytes()].concat();
        match self.program.as_str() {
            "waits" => return Step::Wait(None),
            "panics" => panic!("this node has had enough"),
            "exits" => std::process::exit(3),
            "aborts" => std::process::abort(),
            "sends nonsense" => fabric.send_for_test(NodeId(0), vec![0xa5; 100]),
            // Longer than those of fabrics, by little; and so long that whatever writes it behind a buffer writes
            // over everything else.
            "sends a packet that is too long" => fabric.send_for_test(NodeId(0), vec![0xa5; 4_000]),
            "sends a packet that is far too long" => fabric.send_for_test(NodeId(0), vec![0xa5; 64 << 20]),
            // Words that are not there.
            "sends a lie" => fabric.send_for_test(NodeId(2), record(5)),
            "sends forged credits" => fabric.send_for_test(NodeId(0), vec![1, 2, 9, 0, 0, 0, 1, 0]),
            "sends less than it announced" | "sends more than it announced" => {
                fabric.send_for_test(NodeId(0), record((2 << 8) | (9000 << 16)));
                let bytes = if self.program.contains("less") { 8999 } else { 9001 };
                fabric.send_payload_for_test(NodeId(0), vec![0; bytes]);
            }
            // 64 TiB that follow outside the packet.
            "announces too much" => fabric.send_for_test(NodeId(0), record((2 << 8) | (1 << 62))),
            other => panic!("no such program: {other}"),
        }
        let _ = fabric.send(NodeId(0), Message::new(Priority::Low, &[0]));
        self.program = "waits".into();
        Step::Wait(None)
    }
}
