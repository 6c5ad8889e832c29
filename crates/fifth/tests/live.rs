//! A run hears the world outside, whatever its workers compute meanwhile and whatever else the machine does.
//!
//! Something else has a processor for itself in these tests: without that, worker 0 often gets up by luck. No test has
//! a time limit but the minute after which a run counts as deaf; `cargo xtask bench --live` prints the times.

#[allow(dead_code, reason = "each test file uses its part")]
mod support;

use rustix::process::Signal;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;
use support::process::{Text, end, error, send, wait_for_line};

/// A thread that wants a processor all the time.
struct Load(Arc<AtomicBool>, Option<JoinHandle<()>>);

impl Load {
    fn new() -> Load {
        let over = Arc::new(AtomicBool::new(false));
        let seen = over.clone();
        let busy = std::thread::spawn(move || {
            while !seen.load(Relaxed) {
                std::hint::spin_loop();
            }
        });
        Load(over, Some(busy))
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
        let _ = self.1.take().map(JoinHandle::join);
    }
}

/// Endless goals: one that makes integers, one that allocates nothing, one that fills the heap and lets go of it, one
/// that waits all the time.
const LOOPS: &str = "count(N) :- M := N + 1, count(M).\n\
    spin(N) :- N < 1000000000 | spin(~(N+1)).\n\
    spin(1000000000) :- spin(0).\n\
    fill(L) :- fill([a,b,c|L], 0).\n\
    fill(L, N) :- N < 100000 | M := N + 1, fill([N|L], M).\n\
    fill(_, 100000) :- fill([]).\n\
    talk(N) :- S = [N|T], hear(S, R), talk(R, T).\n\
    talk(R, _) :- integer(R) | talk(R).\n\
    hear([N|_], R) :- R := (N + 1) mod 1000.\n";

/// The endless goals of [`LOOPS`], and several of them at once.
const ENDLESS: [&str; 5] =
    ["count(0)", "spin(0)", "fill([])", "talk(0)", "spin(0), count(0), fill([]), talk(0), spin(1)"];

/// Machines, and how many goals compute on them.
const MACHINES: [&[&str]; 10] = [
    &["-w", "1"],
    &["-w", "2"],
    &["-w", "3"],
    &["-w", "8"],
    &["-w", "64"],
    &["--nodes", "2"],
    &["--nodes", "3", "-w", "2"],
    &["--simulate", "multipsi:4"],
    &["-w", "2", "--schedule=1"],
    &["-w", "5", "--schedule=2"],
];

#[test]
fn signals_end_whatever_computes_wherever() {
    let _load = Load::new();
    for (number, goals) in ENDLESS.iter().enumerate() {
        let program = format!(
            ":- module main.\nmain :- io:errstream([print(started), nl, flush, sync(S)]), go(S).\n\
             go(S) :- wait(S) | {goals}.\n{LOOPS}"
        );
        let text = Text::new(&format!("ended{number}"), program.as_bytes());
        for machine in MACHINES {
            for signal in [Signal::INT, Signal::TERM] {
                let mut child = text.start(&[&["run"], machine].concat());
                wait_for_line(&mut child, "started");
                std::thread::sleep(Duration::from_millis(30));
                send(&child, signal);
                let output = end(child);
                let told = error(&output);
                assert_eq!(output.status.code(), Some(130), "{goals} {machine:?}: {told}");
                assert_eq!(told.matches("fifth: interrupted").count(), 1, "{goals} {machine:?}: {told}");
            }
        }
    }
}

/// A FIFO is opened that nobody else opens.
#[test]
fn signals_end_what_waits_for_the_other_end_of_a_fifo() {
    let fifo = std::env::temp_dir().join(format!("fifth-live-fifo-{}", std::process::id()));
    let made = std::process::Command::new("mkfifo").arg(&fifo).status().expect("it starts");
    assert!(made.success());
    let path = fifo.to_str().expect("plain");
    for (name, opens) in
        [("read", "io:instream(PATH, [getc(C)]), got(C)"), ("write", "io:outstream(PATH, [nl])")]
    {
        let program = format!(
            ":- module main.\nmain :- io:errstream([print(started), nl, flush, sync(S)]), go(S).\n\
             go(S) :- wait(S) | {}.\ngot(C) :- integer(C) | true.\n",
            opens.replace("PATH", &format!("{path:?}"))
        );
        let text = Text::new(name, program.as_bytes());
        for workers in ["1", "2"] {
            let mut child = text.start(&["run", "-w", workers]);
            wait_for_line(&mut child, "started");
            std::thread::sleep(Duration::from_millis(30));
            send(&child, Signal::TERM);
            let output = end(child);
            assert_eq!(output.status.code(), Some(130), "{name}, {workers} workers: {}", error(&output));
        }
    }
    std::fs::remove_file(fifo).expect("it was made");
}

/// Twenty ticks come, and then the program ends itself. The first goal keeps worker 0 busy for a while, so that another
/// one takes the endless goals.
#[test]
fn timers_are_heard_while_others_compute() {
    let _load = Load::new();
    for (number, goals) in ENDLESS.iter().enumerate() {
        let program = format!(
            ":- module main.\nmain :- busy(0), {goals}.\n\
             busy(N) :- N < 3000000 | M := N + 1, busy(M).\n\
             busy(3000000) :- timer:instantiate_every(time(0,0,5000), _, L), hear(L, 0).\n\
             hear([_|L], N) :- N < 20 | M := N + 1, hear(L, M).\nhear(_, 20) :- unix:exit(7).\n{}",
            LOOPS.replace("hear(", "answer(")
        );
        let text = Text::new(&format!("ticks{number}"), program.as_bytes());
        // Of one worker, or one that has the turn, the endless goal may be the first.
        for machine in &MACHINES[1..7] {
            let output = end(text.start(&[&["run"], *machine].concat()));
            assert_eq!(output.status.code(), Some(7), "{goals} {machine:?}: {}", error(&output));
        }
    }
}

/// A line that is sent comes back at once.
#[test]
fn sockets_are_heard_while_others_compute() {
    let _load = Load::new();
    for (number, goals) in ENDLESS.iter().enumerate() {
        let program = format!(
            ":- module main.\n\
             main :- unix:unix([bind(inet({{127,0,0,1}},PORT), R)]), serve(R), {goals}.\n\
             serve(normal(S)) :- io:errstream([print(listening), nl, flush]), S = [accept(R)|S1], accepted(R, S1).\n\
             accepted(normal(C), S) :- S = [], C = [fread(4096, T)|C1], echo(T, C1).\n\
             echo(T, C) :- string(T, 0, _) | C = [], unix:exit(7).\n\
             echo(T, C) :- string(T, L, _), L > 0 | C = [fwrite(T), fread(4096, T1)|C1], echo(T1, C1).\n{LOOPS}"
        );
        for machine in &MACHINES[1..7] {
            let probe = TcpListener::bind("127.0.0.1:0").and_then(|probe| probe.local_addr());
            let port = probe.expect("a port that is free").port();
            let program = program.replace("PORT", &port.to_string());
            let text = Text::new(&format!("echo{number}"), program.as_bytes());
            let mut server = text.start(&[&["run"], *machine].concat());
            wait_for_line(&mut server, "listening");
            let mut client = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
            client.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
            for round in 0..10_u8 {
                let mut back = [0];
                client.write_all(&[round]).and_then(|()| client.read_exact(&mut back)).expect("an answer");
                assert_eq!(back, [round]);
            }
            drop(client);
            let output = end(server);
            assert_eq!(output.status.code(), Some(7), "{goals} {machine:?}: {}", error(&output));
        }
    }
}

/// Reductions of a run that ends by itself, as `--stats` says.
fn reductions(text: &Text, workers: &str) -> u64 {
    let output = end(text.start(&["run", "--stats", "-w", workers]));
    let told = error(&output);
    assert_eq!(output.status.code(), Some(0), "{workers} workers: {told}");
    let count = told.lines().find_map(|line| line.strip_prefix("reductions"));
    count.and_then(|count| count.trim().parse().ok()).expect("a count")
}

/// A generator without an end makes at a low priority what goals above it ask for, until one of them stops it. With
/// several workers it runs ahead of them, but not far.
#[test]
fn endless_generators_at_a_low_priority_do_not_run_far_ahead() {
    const GENERATOR: &str = "gen(_, G, stop) :- true | G = [].\nalternatively.\n\
        gen(N, G, S) :- true | G = [N|G1], N1 := N + 1, gen(N1, G1, S).\n";
    let sieve = "main :- gen(2, G, Stop)@lower_priority(10), sift(G, P), take(300, P, Stop).\n\
        sift([], P) :- true | P = [].\n\
        sift([N|G], P) :- true | P = [N|P1], filter(G, N, G1), sift(G1, P1).\n\
        filter([], _, O) :- true | O = [].\n\
        filter([X|I], N, O) :- X mod N =\\= 0 | O = [X|O1], filter(I, N, O1).\n\
        filter([X|I], N, O) :- X mod N =:= 0 | filter(I, N, O).\n\
        take(0, _, S) :- true | S = stop.\n\
        take(N, [_|P], S) :- N > 0 | N1 := N - 1, take(N1, P, S).\n";
    let work = "main :- gen(1, G, Stop)@lower_priority, work(G, 0, Stop).\n\
        work([N|G], A, S) :- A < 100000 | fib(~(N mod 15), F), A1 := A + F, work(G, A1, S).\n\
        work(_, A, S) :- A >= 100000 | S = stop.\n\
        fib(N, F) :- N < 2 | F = 1.\n\
        fib(N, F) :- N >= 2 | fib(~(N-1), A), fib(~(N-2), B), F := A + B.\n";
    let server = "main :- ask(0, S, Stop)@lower_priority(5), serve(S, 0, Stop)@lower_priority(2).\n\
        ask(_, S, stop) :- true | S = [].\nalternatively.\n\
        ask(N, S, Stop) :- true | S = [add(N,X)|S1], keep(X), N1 := N + 1, ask(N1, S1, Stop).\n\
        keep(X) :- wait(X) | true.\n\
        serve([add(N,X)|S], A, Stop) :- A < 50000 | X := N + A, A1 := A + 1, serve(S, A1, Stop).\n\
        serve([add(_,X)|S], A, Stop) :- A >= 50000 | X = 0, Stop = stop, drain(S).\n\
        drain([add(_,X)|S]) :- true | X = 0, drain(S).\ndrain([]) :- true | true.\n";
    let _load = Load::new();
    for (name, program) in [("sieve", sieve), ("work", work), ("server", server)] {
        let text = Text::new(name, format!(":- module main.\n{program}{GENERATOR}").as_bytes());
        let alone = reductions(&text, "1");
        for workers in ["2", "3", "8", "64"] {
            let mut several = [(); 5].map(|()| reductions(&text, workers));
            several.sort_unstable();
            // If the system takes the processor from a worker in the middle of the goals above, one run may be longer.
            assert!(several[2] <= 10 * alone, "{name}, {workers} workers: {several:?} for {alone}");
        }
    }
}
