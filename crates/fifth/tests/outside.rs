//! The world outside misbehaves: odd bytes, closed pipes, full disks, signals.

#[allow(dead_code, reason = "each test file uses its part")]
mod support;

use proptest::prelude::{Strategy, any, prop_oneof};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use rustix::process::Signal;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::process::{
    Running, Text, end, error, interrupt, send, wait_for_full_pipe, wait_for_handler, wait_for_line,
    wait_for_work,
};

/// Says that it has started when a line is in the buffer of its output, and then goes on.
const STARTED: &str = ":- module main.\nmain :- io:outstream([print(kept), nl, sync(S)]), go(S).\n\
    go(S) :- wait(S) | io:errstream([print(started), nl, flush, sync(S1)]), go_on(S1).\n";
const WRITER: &str = ":- module main.\nmain :- io:outstream(S), count(0, S).\ncount(N, S) :- N < 200000 | S = [print(N), nl | S1], N1 := N + 1, count(N1, S1).\ncount(N, S) :- N >= 200000 | S = [].\n";

#[test]
fn a_byte_order_mark_is_no_part_of_the_text() {
    let text =
        Text::new("mark", "\u{feff}:- module main.\nmain :- io:outstream([print(ok), nl]).\n".as_bytes());
    let output = end(text.start(&["run"]));
    assert_eq!(
        (output.status.code(), output.stdout.as_slice()),
        (Some(0), b"ok\n".as_slice()),
        "{}",
        error(&output)
    );
}

#[test]
fn a_text_in_another_encoding_is_told_so() {
    let wide = |order: fn(u16) -> [u8; 2]| -> Vec<u8> {
        "\u{feff}:- module main.\nmain.\n".encode_utf16().flat_map(order).collect()
    };
    for (name, bytes) in [("little", wide(u16::to_le_bytes)), ("big", wide(u16::to_be_bytes))] {
        let output = end(Text::new(name, &bytes).start(&["run"]));
        assert_eq!(output.status.code(), Some(2), "{}", error(&output));
        assert!(error(&output).contains("it is UTF-16; save it as UTF-8"), "{}", error(&output));
    }
}

#[test]
fn signals_end_a_run_and_its_output_is_kept() {
    let program = format!("{STARTED}go_on(S) :- wait(S) | loop(0).\nloop(N) :- N1 := N + 1, loop(N1).\n");
    let text = Text::new("loop", program.as_bytes());
    for signal in [Signal::INT, Signal::TERM] {
        for workers in ["1", "2", "64"] {
            let mut child = text.start(&["run", "-w", workers]);
            wait_for_line(&mut child, "started");
            wait_for_work(&mut child, Duration::from_millis(200));
            send(&child, signal);
            let output = end(child);
            assert_eq!(output.status.code(), Some(130), "{}", error(&output));
            assert_eq!(String::from_utf8_lossy(&output.stdout), "kept\n");
            let told = error(&output);
            assert!(told.contains("interrupted"), "{told}");
            // With several workers the one that hears of it may have nothing to do.
            assert!(workers != "1" || told.contains("main:loop("), "{told}");
        }
    }
}

/// Wherever they reduce, and whatever they wait for meanwhile: the first one its input, a timer, or nothing.
#[test]
fn signals_end_a_run_of_several_nodes_once() {
    let waits = [
        "true",
        "io:instream([getc(C)]), wait_for(C)",
        "timer:instantiate_after(time(1, 0, 0), T), wait_for(T)",
        "loop(0), grow(0)",
    ];
    for (number, first) in waits.iter().enumerate() {
        let program = format!(
            "{STARTED}go_on(S) :- wait(S) | loop(0)@node(1), grow(0)@node(2), {first}.\n\
             loop(N) :- N >= 0 | loop(N).\ngrow(N) :- N >= 0 | N1 := (N + 1) mod 1000, keep([N1]).\n\
             keep([N]) :- true | grow(N).\nwait_for(a) :- true | true.\n"
        );
        let text = Text::new(&format!("nodes{number}"), program.as_bytes());
        for signal in [Signal::INT, Signal::TERM] {
            let mut child = Running::start(text.command(&["run", "--nodes", "3"]).stdin(Stdio::piped()));
            wait_for_line(&mut child, "started");
            wait_for_work(&mut child, Duration::from_millis(200));
            send(&child, signal);
            let output = end(child);
            let told = error(&output);
            assert_eq!(output.status.code(), Some(130), "{first}: {told}");
            assert_eq!(String::from_utf8_lossy(&output.stdout), "kept\n", "{first}: {told}");
            assert_eq!(told.matches("fifth: interrupted").count(), 1, "{first}: {told}");
        }
    }
}

/// `timeout` sends its signal twice. A multiplication of some seconds is on its way.
#[test]
fn a_signal_that_comes_twice_loses_no_output() {
    let program = format!(
        "{STARTED}go_on(S) :- wait(S) | X := (1 << 120000000) - 1, square(X).\n\
         square(X) :- Y := X * X, more(Y).\nmore(Y) :- Y > 0 | square(Y).\n"
    );
    let text = Text::new("twice", program.as_bytes());
    for pause in [1, 700] {
        let mut child = text.start(&["run", "-w", "2"]);
        wait_for_line(&mut child, "started");
        wait_for_work(&mut child, Duration::from_millis(200));
        send(&child, Signal::TERM);
        std::thread::sleep(Duration::from_millis(pause));
        // Unless the first one has ended it by now.
        send(&child, Signal::TERM);
        let output = end(child);
        assert_eq!(
            (output.status.code(), &output.stdout[..]),
            (Some(130), &b"kept\n"[..]),
            "{}",
            error(&output)
        );
        assert!(error(&output).contains("interrupted"), "{}", error(&output));
    }
}

/// Nothing reads what the program writes, so the first signal cannot end it: what it has written would be lost.
#[test]
fn a_second_signal_ends_what_the_first_cannot() {
    let program = format!(
        "{STARTED}go_on(S) :- wait(S) | io:outstream(L), lines(L).\n\
         lines(L) :- true | L = [puts(\"a line that nothing reads\"), nl|L1], lines(L1).\n"
    );
    let text = Text::new("blocked", program.as_bytes());
    let mut child = text.start(&["run", "-w", "1"]);
    wait_for_line(&mut child, "started");
    wait_for_full_pipe(&child);
    send(&child, Signal::TERM);
    std::thread::sleep(Duration::from_millis(700));
    send(&child, Signal::TERM);
    let output = end(child);
    assert_eq!(output.status.code(), Some(130), "{}", error(&output));
    assert!(output.stdout.starts_with(b"kept\na line") && output.stdout.len() < 1 << 20);
    assert!(!error(&output).contains("interrupted"), "{}", error(&output));
}

/// As `fifth run` does.
#[test]
fn executables_name_the_goal_that_leads_to_a_failure_in_the_library() {
    let text = Text::new("callers", b":- module main.\nmain :- io:outstream([prnt(1)]).\n");
    let executable = text.0.with_extension("exe");
    let build = text.command(&["build", "-o", executable.to_str().expect("a plain path")]).output();
    assert_eq!(build.expect("it starts").status.code(), Some(0));
    let built = Command::new(&executable).output().expect("it starts");
    std::fs::remove_file(executable).expect("it was built");
    assert_eq!(built.status.code(), Some(255));
    assert!(error(&built).contains("from: io:outstream([prnt(1)])"), "{}", error(&built));
    assert_eq!(error(&built), error(&end(text.start(&["run"]))));
}

/// Each of these takes minutes or more; `end` gives up before that.
#[test]
fn operations_on_huge_integers_are_interrupted() {
    let square = "X := 1 << 800000000, Y := X - 1, Z := Y * Y, show(Z)";
    let quotient = "X := 1 << 800000000, Y := (1 << 400000000) + 1, Z := X / Y, show(Z)";
    let text = "X := 1 << 1600000000, io:outstream([print(X)])";
    let program =
        |goals| format!(":- module main.\nmain :- {goals}.\nshow(Z) :- Z > 0 | io:outstream([print(ok)]).\n");
    for (name, goals) in [("square", square), ("quotient", quotient), ("text", text)] {
        let text = Text::new(&format!("huge-{name}"), program(goals).as_bytes());
        for signal in [Signal::INT, Signal::TERM] {
            let mut child = text.start(&["run", "-w", "1"]);
            wait_for_work(&mut child, Duration::from_millis(2500));
            send(&child, signal);
            let output = end(child);
            assert_eq!(output.status.code(), Some(130), "{name}: {}", error(&output));
        }
    }
}

/// Also if another worker runs the builtin than the one that is told of signals: three such goals are there to be
/// taken.
#[test]
fn goals_that_look_at_an_infinite_term_are_interrupted() {
    // Each time `hash` looks at as many parts as it does at most.
    let program = ":- module main.\nmain :- true | X=[X|X], loop(0), go(X), go(X), go(X).\n\
        loop(N) :- N < LAST | N1 := N + 1, loop(N1).\ngo(X) :- hash(X,100,_) | go(X).\n";
    let endless = Text::new("infinite", program.replace("LAST", "1000000000000").as_bytes());
    let failing = Text::new("infinite-failing", program.replace("LAST", "1000000000").as_bytes());
    let alone = Text::new("infinite-alone", program.replace("loop(0), go(X), go(X),", "").as_bytes());
    let start = |text: &Text, workers| text.start(&["run", "-w", workers]);
    let mut children = [
        start(&endless, "1"),
        start(&endless, "2"),
        start(&endless, "8"),
        start(&alone, "1"),
        start(&alone, "4"),
    ];
    for child in &mut children {
        wait_for_work(child, Duration::from_millis(500));
        interrupt(child);
    }
    for child in children {
        let output = end(child);
        assert_eq!(output.status.code(), Some(130), "{}", error(&output));
        assert!(error(&output).contains("interrupted"), "{}", error(&output));
    }
    // The failure of another goal ends them, too.
    for workers in ["2", "8"] {
        let output = end(start(&failing, workers));
        assert_eq!(output.status.code(), Some(255), "{}", error(&output));
        assert!(error(&output).contains("main:loop(1000000000)"), "{}", error(&output));
    }
}

/// Whoever reads the output goes after the first two bytes: the exit code, and what was said.
fn read_and_go(mut command: Command) -> (Option<i32>, String) {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = Running::start(&mut command);
    let mut out = child.stdout.take().expect("piped");
    out.read_exact(&mut [0; 2]).expect("some output");
    drop(out);
    let output = end(child);
    (output.status.code(), error(&output))
}

#[test]
fn a_reader_that_goes_ends_the_program_without_a_word() {
    let endless = "main :- io:outstream(S), loop(S).\nloop(S) :- S = [print(1), nl|T], loop(T).\n";
    // `fflush` has an answer for all other errors.
    let flushing = "main :- klicio:klicio([stdout(normal(S))]), loop(0, S).\n\
        loop(R, S) :- wait(R) | S = [fwrite(\"1\\n\"), fflush(R1)|T], loop(R1, T).\n";
    let to_stderr = "main :- unix:unix([stdout(normal(O)), stderr(normal(E))]), O = [fwrite(\"1\\n\"), fflush(R)], loop(R, E).\n\
        loop(R, S) :- wait(R) | S = [fwrite(\"1\\n\"), sync(R1)|T], loop(R1, T).\n";
    for (name, body) in [("endless", endless), ("flushing", flushing), ("errors", to_stderr)] {
        let text = Text::new(name, format!(":- module main.\n{body}").as_bytes());
        for workers in ["1", "2"] {
            let mut command = text.command(&["run", "--workers", workers]);
            if name == "errors" {
                let path = text.0.clone();
                command = Command::new("/bin/sh");
                command.arg("-c").arg("exec \"$0\" run --workers $2 \"$1\" 2>&1");
                command.arg(env!("CARGO_BIN_EXE_fifth")).arg(path).arg(workers);
            }
            assert_eq!(read_and_go(command), (Some(141), String::new()), "{name} with {workers} workers");
        }
        let executable = text.0.with_extension("exe");
        let built = text.command(&["build", "-o", executable.to_str().expect("plain")]).status();
        assert!(built.expect("it starts").success());
        if name != "errors" {
            assert_eq!(read_and_go(Command::new(&executable)), (Some(141), String::new()), "{name} built");
        }
        // What cannot be removed is only litter.
        let _ = std::fs::remove_file(executable);
    }
    let mut dump = Command::new(env!("CARGO_BIN_EXE_fifth"));
    dump.args(["run", "--dump", "asm"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/pentomino.kl1"));
    assert_eq!(read_and_go(dump), (Some(141), String::new()));
    // The reader has gone long before there is something to read.
    let late =
        ":- module main.\nmain :- timer:instantiate_after(time(0, 100000), T), wait_for(T).\nwait_for([]).\n";
    let text = Text::new("late", late.as_bytes());
    for option in ["--stats-file", "--trace"] {
        let mut child = text.start(&["run", option, "/dev/stdout"]);
        drop(child.stdout.take());
        let output = end(child);
        assert_eq!((output.status.code(), error(&output)), (Some(141), String::new()), "{option}");
    }
}

#[test]
fn a_full_disk_is_an_error() {
    let full = || std::fs::File::options().write(true).open("/dev/full").expect("/dev/full");
    let text = Text::new("full", WRITER.as_bytes());
    let cases: [(&[&str], i32); 2] = [(&["run"], 255), (&["run", "--dump", "ir"], 2)];
    for (arguments, code) in cases {
        let output = end(Running::start(text.command(arguments).stdout(full())));
        assert_eq!(output.status.code(), Some(code), "{}", error(&output));
        assert!(error(&output).contains("No space left"), "{}", error(&output));
    }
    for arguments in [&["--help"][..], &["completions", "bash"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fifth"));
        let output = command.args(arguments).stdout(full()).output().expect("it starts");
        assert_eq!(output.status.code(), Some(2), "{}", error(&output));
    }
    // Nobody can be told here; the exit code says it.
    let output = end(Running::start(text.command(&["run"]).stdout(full()).stderr(full())));
    assert_eq!(output.status.code(), Some(255));
}

#[test]
fn arguments_need_not_be_text() {
    use std::os::unix::ffi::OsStrExt;
    let program = ":- module main.\nmain :- unix:argv([A]), io:outstream([print(A), nl]).\n";
    let program = program.replace("unix:argv([A]), io:", "unix:argv(As), p(As).\np([A]) :- io:");
    let text = Text::new("bytes", program.as_bytes());
    let mut command = text.command(&["run"]);
    command.arg("--").arg(std::ffi::OsStr::from_bytes(b"a\xff"));
    let output = end(Running::start(&mut command));
    assert_eq!(
        (output.status.code(), &output.stdout[..]),
        (Some(0), &b"\"a\\377\"\n"[..]),
        "{}",
        error(&output)
    );
}

#[test]
fn executables_run_by_themselves() {
    let text = Text::new("build", WRITER.replace("200000", "3").as_bytes());
    let exe = text.0.with_extension("exe");
    let output = end(text.start(&["build", "-o", exe.to_str().expect("a plain path")]));
    assert_eq!(output.status.code(), Some(0), "{}", error(&output));
    let output = Command::new(&exe).output().expect("it starts");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "0\n1\n2\n");
    std::fs::remove_file(exe).expect("it is there");
}

/// Whatever a file holds, `check` says 0 or 2 and nothing else happens.
#[test]
fn random_bytes_are_refused_with_a_message() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    for round in 0..24 {
        let mut bytes = if round % 2 == 0 { WRITER.as_bytes().to_vec() } else { Vec::new() };
        for _ in 0..1 + random(200) {
            let at = random(bytes.len() + 1);
            match random(3) {
                0 if at < bytes.len() => bytes[at] = 1 + random(255) as u8,
                1 if at < bytes.len() => _ = bytes.remove(at),
                _ => bytes.insert(at, 1 + random(255) as u8),
            }
        }
        let text = Text::new("random", &bytes);
        let output = end(text.start(&["check"]));
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 2)), "{code:?} {bytes:?}\n{}", error(&output));
        assert!(code == Some(0) || !output.stderr.is_empty());
    }
}

#[test]
fn the_repl_ends_with_its_input_whatever_is_typed() {
    for typed in [&b"p(X :- .\n?- \xff.\n'unclosed\n"[..], b"?- X = 1", b":", b"", b"?- .\n:list"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fifth"));
        command.arg("repl").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = Running::start(&mut command);
        child.stdin.take().expect("piped").write_all(typed).expect("it reads");
        let output = end(child);
        assert_eq!(output.status.code(), Some(0), "{typed:?} {}", error(&output));
    }
}

/// A reader that sleeps keeps only the writer waiting: another goal's file appears meanwhile, and no output is lost.
#[test]
fn a_full_pipe_does_not_stop_other_goals() {
    let writer = WRITER.replace(
        "main :- io:outstream(S), count(0, S).",
        "main :- unix:argv([Path]), io:outstream(S), count(0, S), timer:instantiate_after(time(0,0,300000), T), say(T, Path).\n\
         say(T, Path) :- wait(T) | io:outstream(Path, F), F = [print(done), nl].",
    );
    let writer = writer.replace("unix:argv([Path]), ", "unix:argv(As), go(As).\ngo([Path]) :- ");
    let text = Text::new("sleeper", writer.as_bytes());
    let file = text.0.with_extension("said");
    let mut command = text.command(&["run"]);
    let child = Running::start(command.arg("--").arg(&file));
    let start = Instant::now();
    while !std::fs::read(&file).is_ok_and(|said| said == b"done\n") {
        assert!(start.elapsed() < Duration::from_secs(60), "the other goal never ran");
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = child.output();
    assert_eq!(output.status.code(), Some(0), "{}", error(&output));
    let numbers: String = (0..200_000).map(|n| format!("{n}\n")).collect();
    assert!(output.stdout == numbers.as_bytes());
    std::fs::remove_file(file).expect("it is there");
}

/// Whenever an interrupt comes, an executable is whole or not there, and nothing else is left.
#[test]
fn an_interrupted_build_leaves_no_parts() {
    let folder = std::env::temp_dir().join(format!("fifth-outside-{}-build", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let text = Text::new("interrupted", WRITER.replace("200000", "3").as_bytes());
    let exe = folder.join("exe");
    for milliseconds in [0, 5, 10, 20, 40, 60, 80, 100, 150, 200, 300, 500, 800] {
        let child = text.start(&["build", "-o", exe.to_str().expect("a plain path")]);
        wait_for_handler(&child);
        std::thread::sleep(Duration::from_millis(milliseconds));
        // It may have ended already, but has not been waited for.
        interrupt(&child);
        let output = end(child);
        assert!(matches!(output.status.code(), Some(0 | 130)), "{:?} {}", output.status, error(&output));
        let left: Vec<_> = std::fs::read_dir(&folder).expect("a folder").flatten().collect();
        assert!(left.iter().all(|entry| entry.file_name() == "exe"), "{left:?}");
        if exe.exists() {
            let output = Command::new(&exe).output().expect("it starts");
            assert_eq!(String::from_utf8_lossy(&output.stdout), "0\n1\n2\n");
            std::fs::remove_file(&exe).expect("it is there");
        }
    }
    std::fs::remove_dir(folder).expect("it is empty");
}

#[test]
fn a_mistaken_name_gets_a_hint() {
    let text = Text::new("meant", b":- module main.\nmain :- true.\n");
    let mut command = Command::new(env!("CARGO_BIN_EXE_fifth"));
    let output = command.arg("run").arg(text.0.with_extension("")).output().expect("it starts");
    assert_eq!(output.status.code(), Some(2));
    assert!(error(&output).contains("meant.kl1 meant?"), "{}", error(&output));
    let mut command = Command::new(env!("CARGO_BIN_EXE_fifth"));
    let output = command.arg(&text.0).output().expect("it starts");
    assert_eq!(output.status.code(), Some(2));
    assert!(error(&output).contains("fifth run"), "{}", error(&output));
}

/// The example on a port that was free a moment ago; `limit` is what `ulimit` is told.
fn echo_server(name: &str, workers: &str, limit: &str) -> (Text, Running, u16) {
    let text = Text::new(name, include_bytes!("../../../examples/echo.kl1"));
    let probe = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = probe.local_addr().expect("bound").port();
    drop(probe);
    let mut command = Command::new("sh");
    let script = format!("ulimit {limit} && exec \"$0\" run -w {workers} \"$1\" -- {port}");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_fifth")]).arg(&text.0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut server = Running::start(&mut command);
    let mut line = String::new();
    BufReader::new(server.stdout.as_mut().expect("piped")).read_line(&mut line).expect("a line");
    assert_eq!(line, format!("listening on port {port}\n"));
    (text, server, port)
}

/// A client; a wait of more than a minute is an error.
fn client(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).expect("the server accepts");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
    stream
}

fn echo(client: &mut TcpStream, text: &[u8]) {
    client.write_all(text).expect("it is sent");
    let mut back = vec![0; text.len()];
    client.read_exact(&mut back).expect("it comes back");
    assert_eq!(back, text);
}

fn end_of_server(server: Running) {
    interrupt(&server);
    let output = end(server);
    assert_eq!(output.status.code(), Some(130), "{}", error(&output));
}

#[test]
fn connections_that_break_end_nothing_but_themselves() {
    for workers in ["1", "4"] {
        let (_text, server, port) = echo_server(&format!("reset-{workers}"), workers, "-n 1024");
        let mut innocent = client(port);
        for pieces in [0, 1, 4, 16, 64] {
            for waits in [false, true] {
                let mut broken = client(port);
                echo(&mut broken, b"first");
                for _ in 0..pieces {
                    broken.write_all(&[7; 4096]).expect("it is sent");
                }
                if waits {
                    std::thread::sleep(Duration::from_millis(20));
                }
                // Closed with bytes unread, and without waiting: the server is sent a reset.
                rustix::net::sockopt::set_socket_linger(&broken, Some(Duration::ZERO)).expect("an option");
                drop(broken);
                echo(&mut innocent, b"still here");
            }
        }
        echo(&mut client(port), b"and others, too");
        end_of_server(server);
    }
}

#[test]
fn all_clients_that_wait_are_served() {
    let (_text, server, port) = echo_server("many", "2", "-n 1024");
    let mut clients: Vec<TcpStream> = (0..400).map(|_| client(port)).collect();
    for round in 0..5 {
        let text = format!("round {round}");
        for client in &mut clients {
            client.write_all(text.as_bytes()).expect("it is sent");
        }
        for client in &mut clients {
            let mut back = vec![0; text.len()];
            client.read_exact(&mut back).expect("it comes back");
            assert_eq!(back, text.as_bytes());
        }
    }
    end_of_server(server);
}

/// Those that find no descriptor wait until others have left.
#[test]
fn a_server_without_descriptors_goes_on_accepting() {
    let (_text, server, port) = echo_server("few", "2", "-n 40");
    let mut clients: Vec<TcpStream> = (0..100).map(|_| client(port)).collect();
    for client in &mut clients {
        client.write_all(b"x").expect("it is sent");
    }
    for mut client in clients {
        client.read_exact(&mut [0]).expect("it comes back");
    }
    end_of_server(server);
}

/// The soft limit of descriptors is no limit: what the system allows is.
#[test]
fn more_than_a_thousand_clients_are_served_at_once() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    assert!(limit.maximum.is_none_or(|most| most >= 2048), "this test needs 2,048 descriptors: ulimit -Hn");
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).expect("a soft limit");
    let (_text, server, port) = echo_server("thousand", "2", "-S -n 256");
    let mut clients: Vec<TcpStream> = (0..1100).map(|_| client(port)).collect();
    for client in &mut clients {
        echo(client, b"hello");
    }
    end_of_server(server);
}

/// Any valid Unicode text is a program, or gets messages that show the place, also where characters have several
/// bytes.
#[test]
fn unicode_texts_are_checked_and_their_errors_shown() {
    const PIECES: &[&str] = &[
        "é(",
        "素数",
        "変数",
        "\"文字列\"",
        "'あ",
        "'い'",
        "0'う",
        "\u{2028}",
        "\u{301}",
        "🦀",
        "%え\n",
        "/*お",
        "*/",
        "X",
        "p",
        "p(X)",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        "|",
        ".\n",
        " ",
        "\n",
        ":- true | ",
        ":-",
        ":- module main.\n",
        "main :- ",
        "q(X,Y)",
        ":=",
        "+1",
        "=",
        "<",
        "#",
        "otherwise.\n",
        "io:outstream([print(X)])",
        "\t",
    ];
    let piece = prop_oneof![
        6 => proptest::sample::select(PIECES).prop_map(str::to_string),
        1 => any::<char>().prop_map(String::from),
    ];
    let config = Config { cases: 200, failure_persistence: None, max_shrink_iters: 500, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let result = runner.run(&proptest::collection::vec(piece, 0..30), |pieces| {
        let text = Text::new("unicode", pieces.concat().as_bytes());
        for format in ["human", "json"] {
            let output = text.command(&["check", "--message-format", format]).output().expect("it starts");
            let told = error(&output);
            assert!(matches!(output.status.code(), Some(0 | 2)), "{:?}\n{told}", output.status);
        }
        Ok(())
    });
    result.expect("no text is too much");
}
