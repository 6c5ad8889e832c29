//! Programs that wait for more descriptors than are looked at one by one: the system watches those.

#[allow(dead_code, reason = "each test file uses its part")]
mod support;

use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::Mutex;
use std::time::Duration;
use support::process::{Running, Text, end, error, wait_for_line, watched};

/// More than are looked at one by one.
const CLIENTS: usize = 100;

/// A port that nobody listens at, and that no other test of this process was given.
fn free_port() -> u16 {
    static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    loop {
        let probe = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = probe.local_addr().expect("it is bound").port();
        if GIVEN.lock().expect("no test panics here").insert(port) {
            return port;
        }
    }
}

fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
    stream
}

/// One byte there, and one back.
fn exchange(client: &mut TcpStream) -> u8 {
    let mut answer = [0];
    client.write_all(b"x").expect("it is open");
    client.read_exact(&mut answer).expect("an answer");
    answer[0]
}

/// At least this number of descriptors waits at the system.
fn wait_until_watched(child: &Running, count: usize) {
    while watched(child.id()) < count {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Lets it read a byte from standard input.
fn tell(child: &mut Running) {
    let stdin = child.stdin.as_mut().expect("piped");
    stdin.write_all(b"x").and_then(|()| stdin.flush()).expect("it reads");
}

/// Clients of a computation that is aborted are closed, and nothing is watched for them any longer; those outside are
/// served on.
#[test]
fn what_an_aborted_computation_waited_for_is_forgotten() {
    let (inside, outside) = (free_port(), free_port());
    let program = format!(
        ":- module main.\n\
         main :- klicio:klicio([stdin(normal([getc(X)|In]))]), shoen:execute(server({inside}),C,R), told(X,C),\n    \
             over(R,In), server({outside}).\n\
         told(X,C) :- integer(X) | C = [abort].\n\
         over([started|R],In) :- over(R,In).\n\
         over([aborted|_],In) :- io:errstream([puts(\"aborted\"),nl]), In = [getc(X)], stop(X).\n\
         stop(X) :- integer(X) | unix:exit(0).\n\
         server(P) :- unix:unix([bind(inet({{127,0,0,1}},P),R)]), bound(R).\n\
         bound(normal(S)) :- io:errstream([puts(\"listens\"),nl]), S = [accept(A)|S1], next(A,S1).\n\
         next(normal(C),S) :- C = [getc(X)|C1], echo(X,C1), S = [accept(A)|S1], next(A,S1).\n\
         echo(X,C) :- X >= 0 | C = [putc(X),fflush(_),getc(Y)|C1], echo(Y,C1).\n\
         echo(X,C) :- X < 0 | C = [].\n"
    );
    let text = Text::new("aborted", program.as_bytes());
    for workers in ["1", "2"] {
        let mut child = Running::start(text.command(&["run", "-w", workers]).stdin(Stdio::piped()));
        wait_for_line(&mut child, "listens");
        wait_for_line(&mut child, "listens");
        let mut deserted: Vec<TcpStream> = (0..CLIENTS).map(|_| connect(inside)).collect();
        let mut kept: Vec<TcpStream> = (0..CLIENTS).map(|_| connect(outside)).collect();
        for client in deserted.iter_mut().chain(&mut kept) {
            assert_eq!(exchange(client), b'x');
        }
        wait_until_watched(&child, 2 * CLIENTS - 64);
        tell(&mut child);
        wait_for_line(&mut child, "aborted");
        for client in &mut deserted {
            assert_eq!(client.read(&mut [0]).expect("its end"), 0);
        }
        for client in &mut kept {
            assert_eq!(exchange(client), b'x');
        }
        assert!(watched(child.id()) <= CLIENTS + 3, "{} are watched", watched(child.id()));
        tell(&mut child);
        let output = end(child);
        assert_eq!(output.status.code(), Some(0), "{}", error(&output));
    }
}

/// The sockets that a process has.
fn sockets(process: u32) -> usize {
    let files = std::fs::read_dir(format!("/proc/{process}/fd")).expect("it runs").filter_map(Result::ok);
    let names = files.filter_map(|file| std::fs::read_link(file.path()).ok());
    names.filter(|name| name.to_string_lossy().starts_with("socket:")).count()
}

/// A program that aborts computations which listen, and listens there itself then; the sockets that it has meanwhile.
/// The computations are made at a node, and what listens is a goal of another one.
fn sockets_after(turns: usize, [home, there]: [usize; 2], options: &[&str]) -> usize {
    let starts = format!(
        "starts(X) :- listens(X)@node({there}).\n\
         bound(normal(S),X) :- X = S, S = [accept(A)|_], waits(A).\n\
         waits(normal(_))."
    );
    sockets_with(turns, home, &starts, options)
}

/// The same if what listens is a goal of a computation inside, which is made at a node between, and over by then.
fn sockets_inside(turns: usize, [home, between, there]: [usize; 3], options: &[&str]) -> usize {
    let starts = format!(
        "starts(X) :- inside(X)@node({between}).\n\
         inside(X) :- try(opens(Y),R), ended(R,Y,X).\n\
         opens(Y) :- listens(Y)@node({there}).\n\
         bound(normal(S),X) :- X = [S|_].\n\
         ended(succeeded,Y,X) :- X = Y, waits(Y).\n\
         waits([_|Y]) :- waits(Y)."
    );
    sockets_with(turns, home, &starts, options)
}

/// `starts(X)` begins to listen somewhere.
fn sockets_with(turns: usize, home: usize, starts: &str, options: &[&str]) -> usize {
    let port = free_port();
    let address = format!("inet({{127,0,0,1}},{port})");
    let program = format!(
        ":- module main.\n\
         main :- turn({turns})@node({home}).\n\
         turn(N) :- N > 0 | shoen:execute(starts(X),C,R), told(X,C), over(R,N).\n\
         turn(0) :- unix:unix([bind({address},R)]), last(R).\n\
         {starts}\n\
         listens(X) :- unix:unix([bind({address},R)]), bound(R,X).\n\
         told([_|_],C) :- C = [abort].\n\
         over([started|R],N) :- over(R,N).\n\
         over([aborted|_],N) :- N1 := N - 1, turn(N1).\n\
         last(normal(S)) :- io:errstream([puts(\"listens\"),nl]), klicio:klicio([stdin(normal([getc(X)]))]), end(X,S).\n\
         end(X,S) :- integer(X) | S = [].\n"
    );
    let text = Text::new(&format!("listens_again_{port}"), program.as_bytes());
    let mut child = Running::start(text.command(&["run"]).args(options).stdin(Stdio::piped()));
    wait_for_line(&mut child, "listens");
    connect(port);
    let sockets = sockets(child.id());
    tell(&mut child);
    let output = end(child);
    assert_eq!(output.status.code(), Some(0), "{}", error(&output));
    sockets
}

/// Whoever is told that a computation was aborted may listen where it has listened, and no socket is left of it.
#[test]
fn where_an_aborted_computation_listened_another_one_may() {
    for workers in ["1", "2"] {
        let options = ["-w", workers];
        assert_eq!(sockets_after(1, [0, 0], &options), sockets_after(20, [0, 0], &options));
    }
}

/// The same where its goals are at other nodes than its sockets, which are at node 0.
#[test]
fn where_an_aborted_computation_of_other_nodes_listened_another_one_may() {
    for nodes in [[0, 1], [1, 1], [1, 0], [2, 1], [1, 2]] {
        for options in [
            &["--nodes", "3"][..],
            &["--nodes", "3", "-w", "2"],
            &["--nodes", "3", "--check-nodes=7"],
            &["--simulate", "multipsi:4"],
            &["--simulate", "multipsi:4", "--check-nodes=8"],
        ] {
            let [one, many] = [1, 10].map(|turns| sockets_after(turns, nodes, options));
            assert_eq!(one, many, "{nodes:?} {options:?}");
        }
    }
}

/// The same where a computation inside has left them, which is over.
#[test]
fn where_one_inside_an_aborted_computation_listened_another_one_may() {
    for nodes in [[0, 0, 0], [0, 1, 1], [0, 1, 0], [1, 0, 0], [1, 0, 2], [0, 1, 2], [1, 2, 1], [2, 1, 0]] {
        for options in [
            &["--nodes", "3"][..],
            &["--nodes", "3", "-w", "2"],
            &["--nodes", "3", "--check-nodes=7"],
            &["--simulate", "multipsi:4"],
            &["--simulate", "multipsi:4", "--check-nodes=8"],
        ] {
            let [one, many] = [1, 10].map(|turns| sockets_inside(turns, nodes, options));
            assert_eq!(one, many, "{nodes:?} {options:?}");
        }
    }
}

/// A copy of the program's process, which does not outlive its test.
struct Copy(Pid);

impl Drop for Copy {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = kill_process(self.0, Signal::KILL);
    }
}

/// A process and its copy wait for the same connections. Whichever of them is awake hears all of them.
#[test]
fn a_copy_of_a_process_hears_all_that_the_process_waited_for_and_takes_nothing_away() {
    let port = free_port();
    let program = format!(
        ":- module main.\n\
         main :- unix:unix([bind(inet({{127,0,0,1}},{port}),R)]), bound(R,Who), klicio:klicio([stdin(normal([getc(X)]))]), told(X,Who).\n\
         told(X,Who) :- integer(X) | unix:unix([fork(P)]), forked(P,Who).\n\
         forked(0,Who) :- Who = #\"c\".\n\
         forked(P,Who) :- P > 0 | Who = #\"p\", io:errstream([print(P),nl]).\n\
         bound(normal(S),Who) :- io:errstream([puts(\"listens\"),nl]), S = [accept(A)|S1], next({CLIENTS},A,S1,Who).\n\
         next(0,_,S,_) :- S = [].\n\
         next(N,normal(C),S,Who) :- N > 1 | C = [getc(X)|C1], answer(X,C1,Who), S = [accept(A)|S1], N1 := N - 1, next(N1,A,S1,Who).\n\
         next(1,normal(C),S,Who) :- C = [getc(X)|C1], answer(X,C1,Who), S = [], io:errstream([puts(\"all\"),nl]).\n\
         answer(X,C,Who) :- X >= 0, integer(Who) | C = [putc(Who),fflush(_),getc(Y)|C1], answer(Y,C1,Who).\n\
         answer(X,C,_) :- X < 0 | C = [].\n"
    );
    let text = Text::new("copied", program.as_bytes());
    let mut child = Running::start(text.command(&["run", "-w", "1"]).stdin(Stdio::piped()));
    wait_for_line(&mut child, "listens");
    let mut clients: Vec<TcpStream> = (0..CLIENTS).map(|_| connect(port)).collect();
    // Else those that were not taken yet would be taken by either of the two.
    wait_for_line(&mut child, "all");
    wait_until_watched(&child, CLIENTS - 64);
    tell(&mut child);
    let copy = Copy(Pid::from_raw(read_number(&mut child)).expect("a process"));
    let parent = Pid::from_child(&child);
    for _ in 0..3 {
        for (awake, asleep, name) in [(parent, copy.0, b'p'), (copy.0, parent, b'c')] {
            kill_process(asleep, Signal::STOP).expect("it is there");
            kill_process(awake, Signal::CONT).expect("it is there");
            for client in &mut clients {
                assert_eq!(exchange(client), name);
            }
        }
    }
    kill_process(parent, Signal::CONT).expect("it is there");
    drop(clients);
    let output = end(child);
    assert_eq!(output.status.code(), Some(0), "{}", error(&output));
}

/// A line with a number on standard error.
fn read_number(child: &mut Running) -> i32 {
    let err = child.stderr.as_mut().expect("piped");
    let (mut line, mut byte) = (String::new(), [0]);
    while err.read(&mut byte).expect("it can be read") == 1 && byte != *b"\n" {
        line.push(char::from(byte[0]));
    }
    line.parse().expect("a number")
}
