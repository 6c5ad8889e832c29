//! Benchmarks and examples give with 2, 3, 8 and 64 workers what they give with one.
//!
//! Benchmarks run smaller than they are measured. A new one needs a line in `SIZES`, a new example none, unless the
//! order of its lines is open. `FIFTH_CROWD=queens` runs only the programs whose path contains this.

#[allow(dead_code, reason = "each test file uses its part")]
mod support;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::execute::{self, Ending, Execution};
use support::process::Text;

const WORKERS: [&str; 4] = ["2", "3", "8", "64"];

/// A benchmark, what is written differently in its text, and its arguments.
type Size = (&'static str, &'static [(&'static str, &'static str)], &'static [&'static str]);

const SIZES: [Size; 33] = [
    ("atoms", &[("1000000", "20000")], &[]),
    ("bestpath", &[("330", "60")], &[]),
    ("bintree", &[("1000", "12")], &[]),
    ("characters", &[("1000000", "20000")], &[]),
    ("elimination", &[("600", "60")], &[]),
    ("fib", &[("40", "28")], &[]),
    ("floats", &[("200", "20"), ("1000000", "20000")], &[]),
    ("gates", &[("25000,", "300,"), (",25000)", ",300)")], &[]),
    ("kl1cmp", &[], &["40"]),
    ("life", &[("100,200", "12,20")], &[]),
    ("lines", &[("300000", "5000")], &[]),
    ("livedata", &[("tree(20,", "tree(14,"), ("1000000", "50000")], &[]),
    ("loop", &[("1500000000", "100000000")], &[]),
    ("merge", &[("1000000", "50000")], &[]),
    ("multipsi_pentomino", &[], &["4", "5", "2"]),
    ("nodes_bestpath", &[], &["60"]),
    ("nodes_pentomino", &[], &["4", "6", "2"]),
    ("nrev", &[("2000", "100"), ("1000", "300")], &[]),
    ("paths", &[("330", "60")], &[]),
    ("pentomino", &[("Q/6 < 4, Q mod 6 < 3", "Q < 3")], &[]),
    ("pingpong", &[("50000000", "500000")], &[]),
    ("primes", &[("300000", "10000")], &[]),
    ("priorities", &[("100000", "10000")], &[]),
    ("prodcons", &[("50000000", "1000000")], &[]),
    ("puzzle3d", &[], &["soma"]),
    ("queens", &[("ints(13,", "ints(10,")], &[]),
    ("quicksort", &[("1000000", "100000")], &[]),
    ("records", &[("300000", "5000"), ("3000", "300")], &[]),
    ("ring", &[("50000000", "1000000")], &[]),
    ("strings", &[("1000000", "10000"), ("20000", "1000")], &[]),
    ("terms", &[("1000000", "20000")], &[]),
    ("triangle", &[], &["5"]),
    ("vector", &[("100000000", "3000000")], &[]),
];

/// Examples whose processes write without waiting for each other.
const ANY_ORDER: [&str; 1] = ["buffer"];

/// A program, smaller, in a file of its own.
struct Small {
    name: String,
    text: Text,
    arguments: Vec<String>,
    any_order: bool,
}

/// The benchmarks of several nodes.
const NODES: [Size; 6] = [
    ("pentomino", &[("30", "3")], &[]),
    ("places", &[("10000000", "20000")], &[]),
    ("queens", &[("13,13", "8,8")], &[]),
    ("read", &[("200000", "2000")], &[]),
    ("stream", &[("10000000", "20000")], &[]),
    ("throw", &[("rounds(2000", "rounds(3")], &[]),
];

fn texts(folder: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let paths = std::fs::read_dir(&folder)
        .expect("a folder of programs")
        .map(|entry| entry.expect("an entry").path());
    let mut programs: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|kind| kind == "kl1")).collect();
    programs.sort();
    let name = |path: &Path| path.file_stem().expect("a name").to_string_lossy().into_owned();
    programs.iter().map(|path| (name(path), std::fs::read_to_string(path).expect("a text"))).collect()
}

fn benchmarks(folder: &str, sizes: &[Size]) -> Vec<Small> {
    let small = |(name, mut text): (String, String)| {
        let (_, changes, arguments) =
            sizes.iter().find(|(other, ..)| *other == name).unwrap_or_else(|| panic!("no size for {name}"));
        for (large, little) in *changes {
            // What it does is said above, and stays so.
            let (head, clauses) = text.split_once(":- module").expect("a module");
            assert!(clauses.contains(large), "{name} has no {large}");
            text = format!("{head}:- module{}", clauses.replace(large, little));
        }
        let arguments = arguments.iter().map(ToString::to_string).collect();
        let text = Text::new(&format!("crowd-{}-{name}", folder.replace('/', "-")), text.as_bytes());
        Small { name: format!("{folder}/{name}"), text, arguments, any_order: false }
    };
    texts(folder).into_iter().map(small).collect()
}

fn examples() -> Vec<Small> {
    let example = |(name, text): (String, String)| {
        let any_order = ANY_ORDER.contains(&name.as_str());
        let text = Text::new(&format!("crowd-example-{name}"), text.as_bytes());
        Small { name: format!("examples/{name}"), text, arguments: Vec::new(), any_order }
    };
    texts("examples").into_iter().map(example).collect()
}

/// `what`: workers or nodes.
fn run(program: &Small, what: &str, count: &str) -> Result<Execution, String> {
    let stdin = b"the quick brown fox\njumps over\n\nthe lazy dog\n";
    let option = format!("--{what}");
    let (mut given, messages) = execute::compiled(
        &[&option, count],
        std::slice::from_ref(&program.text.0),
        &program.arguments,
        stdin,
    )
    .map_err(|error| format!("{count} {what}: {error}"))?;
    if !messages.is_empty() || given.exit != 0 || given.ending != Ending::Success || given.stdout.is_empty() {
        return Err(format!("{count} {what}: {messages:?} {given:?}"));
    }
    if program.any_order {
        let mut lines: Vec<&[u8]> = given.stdout.split(|byte| *byte == b'\n').collect();
        lines.sort_unstable();
        given.stdout = lines.join(&b'\n');
    }
    Ok(given)
}

fn check(program: &Small) -> Result<(), String> {
    let expected = run(program, "workers", "1")?;
    for workers in WORKERS {
        let given = run(program, "workers", workers)?;
        if given.stdout != expected.stdout {
            let [given, expected] =
                [given, expected].map(|run| String::from_utf8_lossy(&run.stdout).into_owned());
            return Err(format!("{workers} workers: {given:?}\none worker: {expected:?}"));
        }
    }
    Ok(())
}

/// As many at a time as there are processors.
fn check_all(programs: &[Small]) {
    let filter = std::env::var("FIFTH_CROWD").unwrap_or_default();
    let programs: Vec<&Small> = programs.iter().filter(|program| program.name.contains(&filter)).collect();
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(String::new()));
    let threads = std::thread::available_parallelism().map_or(2, |count| count.get());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                // Relaxed: only the number itself matters.
                while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(difference) = check(program) {
                        let mut failures = failures.lock().expect("nobody panics with it");
                        failures.push_str(&format!("{}: {difference}\n", program.name));
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().expect("nobody panics with it");
    assert!(failures.is_empty(), "{failures}");
}

#[test]
fn benchmarks_do_the_same_with_many_workers() {
    check_all(&benchmarks("benches", &SIZES));
}

/// The benchmark of many modules, on a small one: with many workers, whichever goals go first, and interpreted.
#[test]
fn a_compiler_does_the_same_in_any_order() {
    let files = [Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/compiler/main.kl1")];
    let arguments = ["21", "out.s"].map(String::from);
    let expected = execute::interpreted(&files, &arguments, b"").expect("an answer");
    assert!(expected.ending == Ending::Success, "{expected:?}");
    let orders = (0..8).map(|seed| vec!["--workers=3".to_string(), format!("--schedule={seed}")]);
    let crowds = ["1", "2", "8"].map(|workers| vec![format!("--workers={workers}")]);
    for options in crowds.into_iter().chain(orders) {
        let given: Vec<&str> = options.iter().map(String::as_str).collect();
        let (given, messages) = execute::compiled(&given, &files, &arguments, b"").expect("an end");
        assert!(messages.is_empty() && given.ending == Ending::Success, "{options:?} {messages:?} {given:?}");
        let [given, expected] = [&given, &expected].map(|run| String::from_utf8_lossy(&run.stdout));
        assert_eq!(given, expected, "{options:?}");
    }
}

#[test]
fn examples_do_the_same_with_many_workers() {
    check_all(&examples());
}

/// Each says its answer, and behind a comma how long it took.
#[test]
fn benchmarks_of_nodes_answer_the_same_on_any_number_of_them() {
    for program in benchmarks("benches/nodes", &NODES) {
        let answer = |count: &str| {
            let given =
                run(&program, "nodes", count).unwrap_or_else(|error| panic!("{}: {error}", program.name));
            let said = String::from_utf8_lossy(&given.stdout).into_owned();
            said.split(',').next().expect("split gives at least one part").to_string()
        };
        let alone = answer("1");
        for count in ["2", "3", "8"] {
            assert_eq!(answer(count), alone, "{} on {count} nodes", program.name);
        }
    }
}
