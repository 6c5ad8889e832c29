//! `--trace`: the file is what its readers expect, however the program ends.

#[allow(dead_code, reason = "each test file uses its part")]
mod support;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use support::nodes;
use support::process::{Running, end, interrupt, wait_for_line};

/// Programs, options for them, and exit codes.
const PROGRAMS: &[(&str, &str, &[&str], i32)] = &[
    ("success", ":- module main.\nmain :- tree(16, N), io:outstream([print(N), nl]).\n", &[], 0),
    ("failure", ":- module main.\nmain :- tree(14, N), fail(N).\nfail(0) :- true.\n", &[], 255),
    ("deadlock", ":- module main.\nmain :- tree(14, N), wait(N, _).\nwait(N, 1) :- wait(N, N).\n", &[], 255),
    (
        "exit",
        ":- module main.\nmain :- tree(14, N), wait(N).\nwait(N) :- integer(N) | unix:exit(7).\n",
        &[],
        7,
    ),
    (
        "limit",
        ":- module main.\nmain :- tree(10, _), all(1, L), keep(L, L).\nall(N, L) :- L = [N|R], N1 := N + 1, all(N1, R).\nkeep([_|R], L) :- keep(R, L).\n",
        &["--heap-limit", "32m"],
        255,
    ),
];
const TREE: &str =
    "tree(0, N) :- N = 1.\ntree(D, N) :- D > 0 | N := N1 + N2, D1 := D - 1, tree(D1, N1), tree(D1, N2).\n";
const LOOP: &str = ":- module main.\nmain :- io:errstream([print(started), nl, flush]), loop(0).\nloop(N) :- N1 := N + 1, loop(N1).\n";

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("fifth-tracing-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a temporary folder");
        Folder(path)
    }
    fn program(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(format!("{name}.kl1"));
        std::fs::write(&path, text).expect("a temporary file");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is only litter.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn fifth(options: &[&str], workers: usize, trace: &Path, program: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fifth"));
    command
        .arg("run")
        .args(options)
        .args(["--workers", &workers.to_string(), "--trace"])
        .arg(trace)
        .arg(program);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn number(event: &Value, key: &str) -> f64 {
    event[key].as_f64().unwrap_or_else(|| panic!("no {key} in {event}"))
}

/// Nanoseconds: exact, so that ends can be compared with beginnings.
fn nanoseconds(event: &Value, key: &str) -> u64 {
    (number(event, key) * 1e3).round() as u64
}

/// Checks what holds for every trace, and gives its events.
fn checked(file: &Path, workers: usize) -> Vec<Value> {
    let text = std::fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let trace: Value = serde_json::from_slice(&text).expect("JSON");
    assert_eq!(trace["otherData"]["events left out"], 0);
    let events = trace["traceEvents"].as_array().expect("a list").clone();
    for worker in 0..workers {
        let own: Vec<&Value> = events.iter().filter(|event| event["tid"] == worker).collect();
        let named = |event: &&Value| event["name"] == "thread_name";
        let name = own.iter().copied().find(named).unwrap_or_else(|| panic!("no worker {worker}"));
        assert_eq!(name["args"]["name"], format!("worker {worker}"));
        let times: Vec<u64> = own.iter().map(|event| nanoseconds(event, "ts")).collect();
        assert!(times.is_sorted(), "worker {worker}: times do not ascend");
        // The ends of the spans around the one that is looked at.
        let mut around: Vec<u64> = Vec::new();
        for span in own.iter().filter(|event| event["ph"] == "X") {
            let (start, end) = (nanoseconds(span, "ts"), nanoseconds(span, "ts") + nanoseconds(span, "dur"));
            while around.last().is_some_and(|&outer| outer <= start) {
                around.pop();
            }
            assert!(around.last().is_none_or(|&outer| end <= outer), "worker {worker}: {span} overlaps");
            around.push(end);
        }
        assert!(own.iter().any(|event| event["ph"] == "X"), "worker {worker} did nothing");
    }
    assert!(events.iter().all(|event| (number(event, "tid") as usize) < workers));
    events
}

fn sum(events: &[Value], name: &str, arg: &str) -> u64 {
    let named = events.iter().filter(|event| event["name"].as_str().is_some_and(|n| n.ends_with(name)));
    named.map(|event| event["args"][arg].as_u64().unwrap_or_else(|| panic!("no {arg} in {event}"))).sum()
}

/// Words that all collections copied: as many as the parts of the workers that took part, if several could.
fn copied(events: &[Value]) -> u64 {
    let span = |event: &Value| {
        let start = nanoseconds(event, "ts");
        start..start + nanoseconds(event, "dur")
    };
    let words = |event: &Value| event["args"]["words copied"].as_u64().expect("a number");
    let mut parts: Vec<&Value> = events.iter().filter(|event| event["name"] == "copying").collect();
    let mut all = 0;
    for event in
        events.iter().filter(|event| event["name"].as_str().is_some_and(|n| n.ends_with(" collection")))
    {
        let collection = span(event);
        let (own, others) = parts.into_iter().partition(|part| collection.contains(&span(part).start));
        parts = others;
        let own: Vec<&Value> = own;
        assert!(own.is_empty() || own.iter().map(|part| words(part)).sum::<u64>() == words(event), "{event}");
        all += words(event);
    }
    assert!(parts.is_empty(), "copying outside collections: {parts:?}");
    all
}

#[test]
fn a_trace_is_complete_however_the_program_ends() {
    let folder = Folder::new("ends");
    for (name, text, options, exit) in PROGRAMS {
        let program = folder.program(name, &format!("{text}{TREE}"));
        for workers in [1, 4] {
            let trace = folder.0.join(format!("{name}-{workers}.json"));
            let output = fifth(options, workers, &trace, &program).output().expect("it starts");
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(*exit), "{name}, {workers} workers: {said}");
            let events = checked(&trace, workers);
            let copied = copied(&events);
            assert!(events.iter().any(|event| event["name"] == "reducing"), "{name}, {workers} workers");
            if *name == "limit" {
                let heap = events.iter().filter(|event| event["name"] == "heap");
                assert!(heap.map(|event| event["args"]["words in use"].as_u64()).max() > Some(Some(1 << 20)));
                assert!(copied > 1 << 20);
            }
        }
    }
}

#[test]
fn goals_that_are_given_are_received() {
    let folder = Folder::new("flows");
    let (_, text, ..) = PROGRAMS[0];
    let program = folder.program("flows", &format!("{text}{TREE}").replace("tree(16", "tree(20"));
    let trace = folder.0.join("flows.json");
    let status: ExitStatus = fifth(&[], 4, &trace, &program).output().expect("it starts").status;
    assert!(status.success());
    let events = checked(&trace, 4);
    let flows = |phase: &str| {
        let mut ids: Vec<u64> = events
            .iter()
            .filter(|event| event["ph"] == phase)
            .filter_map(|event| event["id"].as_u64())
            .collect();
        ids.sort_unstable();
        ids
    };
    assert!(!flows("s").is_empty() && flows("s") == flows("f"));
    let words = sum(&events, "gives goals", "words");
    assert!(words > 0 && words == sum(&events, "receives goals", "words"));
    let counters = |name: &str| {
        let own = events.iter().filter(|event| event["ph"] == "C" && event["name"] == name);
        own.filter_map(|event| event["args"]["resumptions"].as_u64()).collect::<Vec<_>>()
    };
    for worker in 0..4 {
        assert!(counters(&format!("worker {worker}")).is_sorted());
    }
    assert!((0..4).any(|worker| counters(&format!("worker {worker}")).last() > Some(&1000)));
}

#[test]
fn nodes_are_processes_and_their_messages_are_flows_that_figures_count() {
    let folder = Folder::new("nodes");
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/nodes_stream.kl1");
    for nodes in [2, 3] {
        let (figures, trace) = (folder.0.join("figures"), folder.0.join("trace"));
        let mut run = Command::new(env!("CARGO_BIN_EXE_fifth"));
        run.args(["run", "--nodes", &nodes.to_string(), "--stats-file"]).arg(&figures);
        let output = run.arg("--trace").arg(&trace).arg(&program).output().expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        nodes::check(&figures, &trace, nodes);
    }
}

#[test]
fn an_interrupted_run_leaves_a_whole_trace() {
    let folder = Folder::new("interrupt");
    let program = folder.program("loop", LOOP);
    for workers in [1, 4] {
        let trace = folder.0.join(format!("{workers}.json"));
        let mut child = Running::start(&mut fifth(&[], workers, &trace, &program));
        wait_for_line(&mut child, "started");
        interrupt(&child);
        assert_eq!(end(child).status.code(), Some(130));
        checked(&trace, workers);
    }
}

#[test]
fn a_trace_that_cannot_be_written_costs_no_run() {
    let folder = Folder::new("nowhere");
    let program = folder.program("loop", LOOP);
    let output = fifth(&[], 1, &folder.0.join("no/trace.json"), &program).output().expect("it starts");
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &b""[..]));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no/trace.json: No such file"));
}
