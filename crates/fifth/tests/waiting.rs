//! What a run that waits says to a signal: the goals that wait, and what for.

#[allow(dead_code, reason = "each test file uses its part")]
mod support;

use rustix::process::Signal;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use support::process::{Running, Text, end, error, send};

/// Waits for a line on standard input; says before that it does.
const INPUT: &str = ":- module main.\n\
    main :- klicio:klicio([stdin(normal(In))]), io:errstream([puts(\"started\"),nl,flush,sync(S)]), ask(S,In).\n\
    ask(S,In) :- wait(S) | In = [gett(T)], use(T).\n\
    use(T) :- integer(T) | io:outstream([print(T),nl]).\n";
/// Waits for a timer.
const TIMER: &str = ":- module main.\n\
    main :- io:errstream([puts(\"started\"),nl,flush,sync(S)]), begin(S).\n\
    begin(S) :- wait(S) | timer:instantiate_after(time(1000,0),X), use(X).\n\
    use([]).\n";
/// Waits for a connection that nobody makes.
const SOCKET: &str = ":- module main.\n\
    main :- unix:unix([bind(inet({127,0,0,1},0),R)]), accept(R).\n\
    accept(normal(B)) :- B = [accept(C)], io:errstream([puts(\"started\"),nl,flush]), use(C).\n\
    use(normal(C)) :- C = [].\n";
/// Waits for a command that does not end.
const COMMAND: &str = ":- module main.\n\
    main :- io:errstream([puts(\"started\"),nl,flush,sync(S)]), begin(S).\n\
    begin(S) :- wait(S) | unix:unix([system(\"exec sleep 20 </dev/null >/dev/null 2>&1\",R)]), use(R).\n\
    use(0).\n";
/// Reduces for ever, while another goal waits for what nobody makes.
const BUSY: &str = ":- module main.\n\
    main :- io:errstream([puts(\"started\"),nl,flush,sync(S)]), use(X), begin(S,X).\n\
    begin(S,X) :- wait(S) | loop(0,X).\n\
    loop(N,X) :- N >= 0 | M := N+1, loop(M,X).\n\
    loop(N,X) :- N < 0 | X = 1.\n\
    use(1).\n";

/// The program, run in ways that differ in nothing that it does, after it has said that it waits.
fn started(command: &mut Command) -> (Running, BufReader<std::process::ChildStderr>) {
    let mut child = Running::start(command.stdin(Stdio::piped()));
    let mut err = BufReader::new(child.stderr.take().expect("piped"));
    assert_eq!(line(&mut err), "started\n");
    // The line may come before the last goal waits.
    std::thread::sleep(std::time::Duration::from_millis(300));
    (child, err)
}

fn line(err: &mut impl BufRead) -> String {
    let mut line = String::new();
    err.read_line(&mut line).expect("it can be read");
    line
}

/// What it says up to a line with this text.
fn until(err: &mut impl BufRead, text: &str) -> String {
    let mut said = String::new();
    while !said.contains(text) {
        assert!(err.read_line(&mut said).expect("it can be read") > 0, "without {text:?}: {said}");
    }
    said
}

const WAYS: [&[&str]; 4] =
    [&["run", "-w", "1"], &["run", "-w", "3"], &["run", "--nodes", "2"], &["run", "--nodes", "2", "-w", "2"]];

/// What it says when this signal ends it.
fn said_at_end(text: &Text, way: &[&str], signal: Signal) -> String {
    let (child, mut err) = started(&mut text.command(way));
    send(&child, signal);
    let status = end(child).status;
    let mut rest = String::new();
    while err.read_line(&mut rest).expect("it can be read") > 0 {}
    assert_eq!(status.code(), Some(130), "{way:?}: {rest}");
    rest
}

#[test]
fn an_interrupt_lists_the_goals_that_wait_and_what_for() {
    let programs = [
        ("input", INPUT, "WAIT: main:use(_", "input from standard input"),
        ("timer", TIMER, "WAIT: main:use(_", ": a timer, in 9"),
        ("socket", SOCKET, "WAIT: main:use(_", "a connection to 127.0.0.1:"),
        ("command", COMMAND, "WAIT: main:use(_", "the end of process "),
    ];
    for (name, program, goal, cause) in programs {
        let text = Text::new(&format!("waits_{name}"), program.as_bytes());
        for way in WAYS {
            for signal in [Signal::INT, Signal::TERM] {
                let said = said_at_end(&text, way, signal);
                assert!(said.starts_with("fifth: interrupted\n"), "{name} {way:?}: {said}");
                assert!(said.contains(goal) && said.contains(cause), "{name} {way:?}: {said}");
            }
        }
    }
}

#[test]
fn an_interrupted_run_that_reduces_lists_the_goals_that_wait() {
    let text = Text::new("waits_busy", BUSY.as_bytes());
    let said = said_at_end(&text, WAYS[0], Signal::INT);
    assert!(said.starts_with("fifth: interrupted\n   NEXT: main:loop("), "{said}");
    assert!(said.contains("1 goal waits") && said.contains("WAIT: main:use(_"), "{said}");
}

#[test]
fn somebody_who_asks_is_told_what_waits_and_the_run_goes_on() {
    let text = Text::new("asked", INPUT.as_bytes());
    for way in WAYS {
        let (mut child, mut err) = started(&mut text.command(way));
        for _ in 0..2 {
            send(&child, Signal::QUIT);
            let said = until(&mut err, "input from standard input");
            assert!(said.contains("fifth: asked what waits\n"), "{way:?}: {said}");
            assert!(said.contains("WAIT: "), "{way:?}: {said}");
        }
        child.stdin.take().expect("piped").write_all(b"42.\n").expect("it reads");
        let output = end(child);
        assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"42\n"[..]), "{way:?}");
    }
}

#[test]
fn every_node_tells_what_waits_there() {
    let program = format!("{INPUT}far(X) :- wait(X) | true.\n")
        .replace("main :- ", "main :- far(X)@node(1), hold(X), ")
        + "hold(X) :- true | near(X,_).\nnear(_,Y) :- wait(Y) | true.\n";
    let text = Text::new("far_asked", program.as_bytes());
    for way in &WAYS[2..] {
        let (child, mut err) = started(&mut text.command(way));
        send(&child, Signal::QUIT);
        until(&mut err, "WAIT: main:far(");
        drop((child, err));
        let said = said_at_end(&text, way, Signal::INT);
        assert!(said.contains("WAIT: main:far(") && said.contains("at node 1"), "{way:?}: {said}");
        assert!(said.contains("WAIT: main:use("), "{way:?}: {said}");
    }
}

#[test]
fn a_busy_run_tells_what_waits_and_goes_on() {
    let text = Text::new("busy_asked", BUSY.as_bytes());
    for way in &WAYS[..1] {
        let (child, mut err) = started(&mut text.command(way));
        send(&child, Signal::QUIT);
        until(&mut err, "WAIT: main:use(_");
        send(&child, Signal::INT);
        assert_eq!(end(child).status.code(), Some(130), "{way:?}");
    }
}

#[test]
fn an_executable_tells_the_same() {
    let text = Text::new("waits_built", TIMER.as_bytes());
    let path = text.0.with_extension("exe");
    let mut build = Command::new(env!("CARGO_BIN_EXE_fifth"));
    build.arg("build").arg(&text.0).arg("-o").arg(&path).stdout(Stdio::piped()).stderr(Stdio::piped());
    let built = end(Running::start(&mut build));
    assert_eq!(built.status.code(), Some(0), "{}", error(&built));
    let (child, mut err) =
        started(Command::new(&path).args(["-w", "2"]).stdout(Stdio::piped()).stderr(Stdio::piped()));
    send(&child, Signal::QUIT);
    until(&mut err, "a timer, in");
    send(&child, Signal::TERM);
    assert_eq!(end(child).status.code(), Some(130));
    std::fs::remove_file(&path).expect("it was made");
    let mut rest = String::new();
    while err.read_line(&mut rest).expect("it can be read") > 0 {}
    // It has the text's calls, though not the text itself.
    assert!(rest.contains("WAIT: main:use(_") && rest.contains("goal use(X)"), "{rest}");
}

#[test]
fn a_closed_terminal_ends_a_run_as_a_shell_says() {
    use std::os::unix::process::ExitStatusExt;
    let text = Text::new("hangup", TIMER.as_bytes());
    let (child, _err) = started(&mut text.command(&["run"]));
    send(&child, Signal::HUP);
    // A shell adds 128.
    assert_eq!(end(child).status.signal(), Some(1));
}

#[test]
fn a_socket_that_names_no_host_listens_on_all_interfaces() {
    // The address 127.0.0.2 is this host's, but not the one that is bound below.
    let program = |address: &str| {
        format!(
            ":- module main.\n\
             main :- unix:unix([bind({address},R)]), accept(R).\n\
             accept(normal(B)) :- B = [accept(C)], io:errstream([puts(\"started\"),nl,flush]), use(C).\n\
             accept(abnormal(_)) :- io:errstream([puts(\"taken\"),nl]).\n\
             use(normal(C)) :- C = [].\n"
        )
    };
    let free = || {
        let socket = std::net::TcpListener::bind("0.0.0.0:0").expect("a port");
        socket.local_addr().expect("an address").port()
    };
    for (loopback, reached) in [(false, true), (true, false)] {
        let port = free();
        let address = if loopback { format!("inet({{127,0,0,1}},{port})") } else { format!("inet({port})") };
        let text = Text::new(&format!("listens_{loopback}"), program(&address).as_bytes());
        let (child, _err) = started(&mut text.command(&["run"]));
        let connected = std::net::TcpStream::connect(("127.0.0.2", port)).is_ok();
        assert_eq!(connected, reached, "{address}");
        if reached {
            assert_eq!(end(child).status.code(), Some(0));
        }
    }
}
