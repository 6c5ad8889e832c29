//! The page of a running program: what it says, what its buttons do, whom it refuses, and how it looks in a browser, if
//! there is one.

#[allow(dead_code, reason = "each test file uses its part")]
mod support;

use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};
use support::browser::Opened;
use support::process::{Running, Text, end};
use support::web::Address;

/// Reduces for ever, and makes garbage; other goals wait for what nobody makes, and one is ready that has its turn if
/// there are several workers only.
const BUSY: &str = ":- module main.\n\
    main :- use(X), then(X,Y), last(Y), loop(0,X), loop(1,X), loop(2,X), low(0)@priority(5).\n\
    loop(N,X) :- N >= 0 | some(N,L), M := N+1, next(L,M,X).\n\
    loop(N,X) :- N < 0 | X = 1.\n\
    some(N,L) :- true | L = [N,N,N].\n\
    next([_|_],M,X) :- true | loop(M,X).\n\
    low(_).\n\
    use(1).\n\
    then(1,Y) :- true | Y = 2.\n\
    last(2).\n";
/// The same at two nodes, which tell each other of each step.
const NODES: &str = ":- module main.\n\
    main :- use(X), loop(0,X).\n\
    loop(N,X) :- N >= 0 | step(N,M)@node(1), loop(M,X).\n\
    loop(N,X) :- N < 0 | X = 1.\n\
    step(N,M) :- true | M := N+1.\n\
    use(1).\n";
/// Waits for a line on standard input.
const INPUT: &str = ":- module main.\n\
    main :- klicio:klicio([stdin(normal(In))]), In = [gett(T)], use(T).\n\
    use(T) :- integer(T) | io:outstream([print(T),nl]).\n";

/// A program that runs, and its page.
struct Shown {
    child: Running,
    err: BufReader<ChildStderr>,
    page: Address,
}

impl Shown {
    fn start(command: &mut Command) -> Shown {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = Running::start(command);
        let mut err = BufReader::new(child.stderr.take().expect("piped"));
        let mut line = String::new();
        err.read_line(&mut line).expect("it can be read");
        let page = Address::of_line(&line).unwrap_or_else(|| panic!("no address: {line}"));
        Shown { child, err, page }
    }
    /// Asks until it is not turned away: connections that are gone may still count.
    fn ask(&self, method: &str, path: &str) -> (String, String) {
        let begin = Instant::now();
        loop {
            if let Some(answer) = self.page.ask(method, path, "") {
                return answer;
            }
            assert!(begin.elapsed() < Duration::from_secs(60), "it answers");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    fn post(&self, path: &str) -> Value {
        let (status, body) = self.ask("POST", path);
        assert_eq!(status, "200", "{path}: {body}");
        serde_json::from_str(&body).expect("JSON")
    }
    /// What is seen, once it is what is expected.
    fn seen(&self, what: &str, is_expected: impl Fn(&Value) -> bool) -> Value {
        let begin = Instant::now();
        loop {
            let (_, body) = self.ask("GET", "state?page=test&after=0");
            let state: Value = serde_json::from_str(&body).unwrap_or_else(|_| panic!("no JSON: {body}"));
            if is_expected(&state) {
                return state;
            }
            assert!(begin.elapsed() < Duration::from_secs(60), "not {what}: {state}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    /// Presses the button that stops it: what the page says of the end, the exit code, and the rest of what is said on
    /// standard error.
    fn stop(self) -> (Value, Option<i32>, String) {
        assert_eq!(self.post("stop"), true);
        self.ended()
    }
    fn ended(mut self) -> (Value, Option<i32>, String) {
        let ended = self.seen("ended", |state| !state["ended"].is_null())["ended"].clone();
        // It ends then, perhaps before it has answered.
        let _ = self.page.ask("POST", "told", "test");
        let code = end(self.child).status.code();
        let mut rest = String::new();
        self.err.read_to_string(&mut rest).expect("it can be read");
        (ended, code, rest)
    }
}

/// Sums a figure over all workers of all nodes.
fn total(state: &Value, figure: &str) -> u64 {
    let nodes = state["seen"]["nodes"].as_array().expect("nodes");
    let workers = nodes.iter().flat_map(|node| node["workers"].as_array().expect("workers"));
    workers.map(|worker| worker["figures"][figure].as_u64().expect("a number")).sum()
}

fn predicates(state: &Value) -> String {
    let nodes = state["seen"]["nodes"].as_array().expect("nodes");
    let workers = nodes.iter().flat_map(|node| node["workers"].as_array().expect("workers"));
    workers.map(|worker| worker["figures"]["ready"]["predicates"].to_string()).collect()
}

fn executable(text: &Text) -> PathBuf {
    let path = text.0.with_extension("exe");
    let built = text.command(&["build"]).arg("-o").arg(&path).status().expect("the command starts");
    assert!(built.success());
    path
}

#[test]
fn a_run_is_seen_asked_and_stopped() {
    let text = Text::new("observe-busy", BUSY.as_bytes());
    let built = executable(&text);
    let mut of_executable = Command::new(&built);
    of_executable.args(["--observe", "--workers", "2"]);
    let ways = [&["run", "--observe", "-w", "1"][..], &["run", "--observe=0", "-w", "3", "--stats"]];
    let commands = ways.map(|way| text.command(way)).into_iter().chain([of_executable]);
    for mut command in commands {
        let shown = Shown::start(&mut command);
        let (status, page) = shown.page.ask("GET", "", "").expect("it answers");
        assert!(status == "200" && page.contains("stop the program") && !page.contains("NONCE"), "{page}");
        let first = shown.seen("seen", |state| {
            let (words, collections) = (total(state, "words_allocated"), total(state, "collections"));
            words > 0 && collections > 0 && predicates(state).contains("main:loop/2")
        });
        assert!(first["ended"].is_null(), "{first}");
        if command.get_args().any(|argument| argument == "1") {
            assert!(predicates(&first).contains("main:low/1"), "{first}");
        }
        let counts = command.get_args().any(|argument| argument == "--stats");
        assert_eq!(total(&first, "reductions") > 0, counts, "{first}");
        let node = &first["seen"]["nodes"][0];
        assert!(!node["pauses"].as_array().expect("a list").is_empty() && node["heap_limit"] != 0, "{first}");
        // Counters go on, and so does time.
        let words = total(&first, "words_allocated");
        let later = shown.seen("going on", |state| total(state, "words_allocated") > words);
        let running = |state: &Value| {
            let workers = state["seen"]["nodes"][0]["workers"].as_array().expect("workers").iter();
            workers.map(|worker| worker["running"].as_u64().expect("a number")).sum::<u64>()
        };
        assert!(running(&later) > running(&first), "{later}");
        // What waits, and what holds what it waits for.
        let waits = shown.post("waiting");
        let [waits] = &waits.as_array().expect("a list")[..] else { panic!("one node: {waits}") };
        let text = waits["goals"].to_string();
        assert!(["main:use(", "main:then(", "main:last("].iter().all(|goal| text.contains(goal)), "{waits}");
        assert!(waits["count"] == 3 && waits["pause"].as_u64() > Some(0), "{waits}");
        let goals = waits["goals"].as_array().expect("goals");
        let of = |name: &str| goals.iter().find(|goal| goal["name"] == name).expect("it waits");
        assert_eq!(of("main:use")["waits_at"], of("main:then")["waits_at"], "{waits}");
        assert_eq!(of("main:then")["holds"], of("main:last")["waits_at"], "{waits}");
        assert_eq!(of("main:last")["holds"].as_array().map(Vec::len), Some(0), "{waits}");
        let (ended, code, rest) = shown.stop();
        assert_eq!((ended["code"].as_u64(), code), (Some(130), Some(130)), "{ended} {rest}");
        let report = ended["text"].as_str().expect("a report");
        assert!(report.contains("interrupted") && rest.contains(report), "{report} {rest}");
        assert!(report.contains("main:use("), "{report}");
    }
    // What cannot be removed is only litter.
    let _ = std::fs::remove_file(built);
}

#[test]
fn several_nodes_and_simulated_machines_are_seen() {
    let text = Text::new("observe-nodes", NODES.as_bytes());
    let sent = |state: &Value, node: usize| -> u64 {
        let kinds = state["seen"]["nodes"][node]["letters"]["sent"].as_array();
        kinds.map_or(0, |kinds| kinds.iter().filter_map(Value::as_u64).sum())
    };
    for way in [&["--nodes", "2"][..], &["--nodes", "3", "-w", "2"]] {
        let shown = Shown::start(&mut text.command(&[&["run", "--observe"], way].concat()));
        let first = shown.seen("messages", |state| sent(state, 0) > 0 && sent(state, 1) > 0);
        assert_eq!(first["seen"]["node_count"].as_u64(), way[1].parse().ok(), "{first}");
        let kinds = first["seen"]["kinds"].as_array().expect("kinds").len();
        assert_eq!(first["seen"]["nodes"][0]["letters"]["sent"].as_array().map(Vec::len), Some(kinds));
        shown.seen("more of them", |state| sent(state, 1) > sent(&first, 1));
        let waits = shown.post("waiting").to_string();
        assert!(waits.contains("main:use("), "{way:?}: {waits}");
        let (ended, code, rest) = shown.stop();
        assert_eq!((ended["code"].as_u64(), code), (Some(130), Some(130)), "{way:?}: {ended} {rest}");
    }
    let shown = Shown::start(&mut text.command(&["run", "--observe", "--simulate", "multipsi:4"]));
    let time = |state: &Value| state["seen"]["nodes"][0]["letters"]["simulated"]["now"].as_u64();
    let first = shown.seen("virtual time", |state| time(state) > Some(0) && sent(state, 1) > 0);
    assert!(first["seen"]["cycle"].as_f64() > Some(0.0) && total(&first, "reductions") > 0, "{first}");
    shown.seen("later", |state| time(state) > time(&first));
    let (ended, code, rest) = shown.stop();
    assert_eq!((ended["code"].as_u64(), code), (Some(130), Some(130)), "{ended} {rest}");
}

#[test]
fn a_program_that_waits_for_the_outside_answers_and_is_stopped() {
    let text = Text::new("observe-input", INPUT.as_bytes());
    for way in [["-w", "1"], ["-w", "3"], ["--nodes", "2"]] {
        let shown = Shown::start(text.command(&["run", "--observe"]).args(way));
        shown.seen("at rest", |state| {
            let workers = state["seen"]["nodes"][0]["workers"].as_array().expect("workers");
            workers.iter().all(|worker| worker["doing"] == "idle" && worker["figures"]["at"] != 0)
        });
        let waits = shown.post("waiting").to_string();
        assert!(waits.contains("input from standard input"), "{way:?}: {waits}");
        let (ended, code, rest) = shown.stop();
        assert_eq!((ended["code"].as_u64(), code), (Some(130), Some(130)), "{way:?}: {ended} {rest}");
    }
}

#[test]
fn whoever_watches_is_told_of_the_end() {
    use std::io::Write;
    let text = Text::new("observe-end", INPUT.as_bytes());
    for (line, code, why) in [("7.\n", 0, ""), ("word.\n", 255, "reduction failure")] {
        let mut shown = Shown::start(&mut text.command(&["run", "--observe"]));
        shown.seen("at rest", |state| state["ended"].is_null());
        shown.child.stdin.take().expect("piped").write_all(line.as_bytes()).expect("it reads");
        let (ended, exit, rest) = shown.ended();
        assert_eq!((ended["code"].as_i64(), exit), (Some(code), Some(code as i32)), "{ended} {rest}");
        assert!(ended["text"].as_str().is_some_and(|text| text.contains(why)), "{ended}");
    }
    // Without anybody it ends at once, and says what it always does.
    let text = Text::new("observe-alone", b":- module main.\nmain :- io:outstream([print(done),nl]).\n");
    let output = text.start(&["run", "--observe"]).output();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && output.stdout == b"done\n" && said.lines().count() == 1, "{said}");
}

#[test]
fn strangers_see_and_stop_nothing() {
    let text = Text::new("observe-rules", BUSY.as_bytes());
    let shown = Shown::start(&mut text.command(&["run", "--observe"]));
    let Address { host, token } = &shown.page;
    let port = host.strip_prefix("127.0.0.1:").expect("loopback, and nothing else");
    let status = |request: &str| {
        let answer = shown.page.raw(request).expect("it answers");
        answer.split(' ').nth(1).unwrap_or_default().to_string()
    };
    let own = format!("Host: {host}\r\n");
    let post = |path: &str, headers: &str| {
        status(&format!("POST {path} HTTP/1.1\r\n{headers}Content-Length: 0\r\n\r\n"))
    };
    let stop = format!("/{token}/stop");
    // Without the token, with a wrong one, and with the right one of a page of another origin or of another name.
    assert_eq!(post("/stop", &own), "404");
    assert_eq!(post(&format!("/{}/stop", "0".repeat(token.len())), &own), "404");
    assert_eq!(post(&stop, &format!("Host: example.com:{port}\r\n")), "403");
    assert_eq!(post(&stop, &format!("{own}Origin: http://example.com\r\n")), "403");
    assert_eq!(post(&stop, &format!("{own}Sec-Fetch-Site: cross-site\r\n")), "403");
    // What changes something is a POST.
    assert_eq!(status(&format!("GET {stop} HTTP/1.1\r\n{own}\r\n")), "404");
    assert_eq!(status(&format!("GET /{token}/waiting HTTP/1.1\r\n{own}\r\n")), "404");
    for query in ["", "?page=x&after=no", "?page=&after=0", &format!("?page={}&after=0", "x".repeat(99))] {
        assert_eq!(status(&format!("GET /{token}/state{query} HTTP/1.1\r\n{own}\r\n")), "400", "{query}");
    }
    let page = shown.page.raw(&format!("GET /{token}/ HTTP/1.1\r\n{own}\r\n")).expect("it answers");
    let nonce =
        page.split_once("script-src 'nonce-").and_then(|rest| rest.1.split_once('\'')).expect("a nonce").0;
    assert!(page.contains(&format!("<script nonce=\"{nonce}\">")) && page.contains("no-referrer"), "{page}");
    assert!(!page.to_ascii_lowercase().contains("access-control-allow"), "{page}");
    // More connections than there may be are turned away, and the program goes on.
    let many: Vec<_> = (0..64).map(|_| std::net::TcpStream::connect(host).expect("it listens")).collect();
    drop(many);
    // One more is turned away, too, until it is known that they are gone.
    shown.seen("running", |state| state["ended"].is_null() && total(state, "words_allocated") > 0);
    assert_eq!(shown.stop().1, Some(130));
}

#[test]
fn a_port_that_is_taken_is_an_error() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port();
    let text = Text::new("observe-port", BUSY.as_bytes());
    let output = text.start(&["run", &format!("--observe={port}")]).output();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("--observe") && said.contains(&port.to_string()), "{said}");
    drop(taken);
    // Nobody else takes it meanwhile, most likely.
    let shown = Shown::start(&mut text.command(&["run", &format!("--observe={port}")]));
    assert_eq!(shown.page.host, format!("127.0.0.1:{port}"));
    shown.seen("running", |state| state["ended"].is_null());
    assert_eq!(shown.stop().1, Some(130));
}

/// Where pictures are kept: the test's artefacts.
fn artefacts() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("observe");
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

#[test]
fn the_page_works_in_a_browser() {
    let (busy, nodes) =
        (Text::new("observe-browser", BUSY.as_bytes()), Text::new("observe-far", NODES.as_bytes()));
    let shown = Shown::start(&mut busy.command(&["run", "--observe", "-w", "3"]));
    let Some(mut page) = Opened::start(&shown.page.url()) else {
        eprintln!("there is no browser here: skipped");
        return;
    };
    page.wait_until("$('state').textContent === 'The program runs.'");
    page.wait_until("$('workers').rows.length === 4 && $('workers').rows[1].cells[4].textContent !== ''");
    page.wait_until(
        "$('ready').innerText.includes('main:loop/2') && document.querySelector('#heap polyline')",
    );
    // Some time goes by, so that there is something to see.
    page.wait_until("sizes.length > 8 && pauses.length > 8");
    page.picture(&artefacts().join("running.png"));
    page.press("#ask");
    page.wait_until("document.querySelectorAll('#graph .goal').length === 3");
    page.wait_until(
        "$('waiting').textContent.startsWith('3 goals wait') && $('graph').innerHTML.includes('edge')",
    );
    page.picture(&artefacts().join("waiting.png"));
    page.press("#stop");
    page.wait_until("$('state').textContent === 'The program has ended: exit code 130.'");
    page.wait_until("$('report').textContent.includes('interrupted') && $('stop').disabled");
    page.picture(&artefacts().join("ended.png"));
    assert_eq!(end(shown.child).status.code(), Some(130));
    for (name, way) in [("nodes.png", ["--nodes", "2"]), ("simulated.png", ["--simulate", "pim:9"])] {
        let shown = Shown::start(nodes.command(&["run", "--observe"]).args(way));
        let mut page = Opened::start(&shown.page.url()).expect("it was there");
        let simulated = name == "simulated.png";
        page.wait_until(&format!("$('nodes').rows.length === {}", if simulated { 10 } else { 3 }));
        page.wait_until("sizes.length > 3 && $('kinds').rows.length > 1");
        page.wait_until(&format!("$('machine').textContent.includes('simulated') === {simulated}"));
        page.picture(&artefacts().join(name));
        page.press("#stop");
        page.wait_until("$('state').textContent === 'The program has ended: exit code 130.'");
        assert_eq!(end(shown.child).status.code(), Some(130));
    }
}
