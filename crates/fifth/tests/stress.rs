//! One worker and several in disorder (`--check-heap=SEED`: collections at random safe points, goals change workers
//! at random) do what the reference interpreter does.
//!
//! Threads' timing has no seed; so each program also runs with workers that take turns (`--schedule=SEED`), and what
//! fails there fails again.
//!
//! `FIFTH_CASES=100000` runs more random programs, `FIFTH_SEED=7` begins with number 7; what fails is shown with its
//! number and the options.

#[allow(dead_code, reason = "each test file uses its part")]
mod support;

use base::Random;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use support::execute::{self, Ending, Execution};

const CASES: u64 = 30;
const BYTES_MAX: u64 = 600;
/// Numbers of workers that are tried in turn.
const WORKERS: [&str; 4] = ["1", "2", "3", "8"];
/// The most there can be take their time: they have a part of the cases.
const WORKERS_MOST: &str = "64";
const MOST_EACH: u64 = 8;
/// Numbers of workers that take turns.
const SCHEDULED: [&str; 2] = ["2", "5"];
/// Cases after which it says how far it is.
const REPORT_AFTER: u64 = 500;
/// The interpreter gives up on one program of this number at most.
const GIVEN_UP_EACH: u64 = 10;
/// Failures after which it stops.
const FAILURES_MAX: usize = 5;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn random_programs_in_disorder() {
    let first = number("FIFTH_SEED").unwrap_or(0);
    let next = AtomicU64::new(first);
    let end = first + number("FIFTH_CASES").unwrap_or(CASES);
    let failures = Mutex::new(String::new());
    let given_up = AtomicU64::new(0);
    let folder = std::env::temp_dir().join(format!("fifth-stress-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let threads = std::thread::available_parallelism().map_or(2, |count| count.get());
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let file = folder.join(format!("random{thread}.kl1"));
            let (next, failures, given_up) = (&next, &failures, &given_up);
            scope.spawn(move || {
                loop {
                    // Relaxed: only the number itself matters.
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end {
                        return;
                    }
                    // Long runs may be ended from outside: what they found is not lost then.
                    if seed > first && (seed - first).is_multiple_of(REPORT_AFTER) {
                        eprintln!("{} cases, up to FIFTH_SEED={seed}", seed - first);
                    }
                    let checked = check(&file, seed);
                    if checked == Ok(Checked::GivenUp) {
                        given_up.fetch_add(1, Ordering::Relaxed);
                    }
                    if let Err(difference) = checked {
                        eprintln!("FIFTH_SEED={seed}: {difference}");
                        let mut failures = base::lock(failures);
                        let _ = writeln!(failures, "FIFTH_SEED={seed}: {difference}");
                        if failures.matches("FIFTH_SEED=").count() >= FAILURES_MAX {
                            next.store(end, Ordering::Relaxed);
                        }
                    }
                }
            });
        }
    });
    // What cannot be removed is only litter.
    let _ = std::fs::remove_dir_all(&folder);
    let failures = base::unpoisoned(failures.into_inner());
    assert!(failures.is_empty(), "{failures}");
    let given_up = given_up.into_inner();
    assert!(given_up * GIVEN_UP_EACH <= end - first, "the interpreter gave up on {given_up} programs");
}

/// In most of the random programs results are slots of records on the goal stack: so disorder, other orders and other
/// workers meet them.
#[test]
fn random_programs_have_slots() {
    let file = std::env::temp_dir().join(format!("fifth-slots-{}.kl1", std::process::id()));
    let has_slots = |seed: &u64| {
        std::fs::write(&file, oracle::fuzzing::program(&bytes(*seed))).expect("a temporary file");
        let mut dump = Command::new(env!("CARGO_BIN_EXE_fifth"));
        let output = dump.args(["run", "--dump", "ir"]).arg(&file).output().expect("it starts");
        String::from_utf8_lossy(&output.stdout).contains(" := slot\n")
    };
    let number = (0..20).filter(has_slots).count();
    // What cannot be removed is only litter.
    let _ = std::fs::remove_file(&file);
    assert!(number > 10, "{number} of 20");
}

/// What was seen of a program.
#[derive(PartialEq, Eq)]
enum Checked {
    /// All runs agree.
    Agrees,
    /// The interpreter gives up on programs that take too many steps: there is nothing to compare with.
    GivenUp,
}

/// One random program, with each number of workers.
fn check(file: &Path, seed: u64) -> Result<Checked, String> {
    let text = oracle::fuzzing::program(&bytes(seed));
    std::fs::write(file, &text).map_err(|error| error.to_string())?;
    let files = [file.to_path_buf()];
    let Ok(expected) = execute::interpreted(&files, &[], b"") else {
        return Ok(Checked::GivenUp);
    };
    let most = seed.is_multiple_of(MOST_EACH).then_some(WORKERS_MOST);
    for workers in WORKERS.into_iter().chain(most) {
        agree(&files, &disorder(workers, seed), &expected)
            .map_err(|difference| format!("{difference}\n{text}"))?;
    }
    for workers in SCHEDULED {
        let mut options = disorder(workers, seed);
        options.push(format!("--schedule={seed}"));
        agree(&files, &options, &expected).map_err(|difference| format!("{difference}\n{text}"))?;
    }
    Ok(Checked::Agrees)
}

fn disorder(workers: &str, seed: u64) -> Vec<String> {
    vec![format!("--workers={workers}"), format!("--check-heap={seed}")]
}

fn agree(files: &[PathBuf], options: &[String], expected: &Execution) -> Result<(), String> {
    let words: Vec<&str> = options.iter().map(String::as_str).collect();
    let shown = options.join(" ");
    let (given, _) =
        execute::compiled(&words, files, &[], b"").map_err(|error| format!("{shown}: {error}"))?;
    // A program that fails may have printed its line before or after (P3 of `oracle::fuzzing`).
    let output_counts = matches!(expected.ending, Ending::Success | Ending::Deadlock);
    if !given.ending.agrees(expected.ending) || (output_counts && given.stdout != expected.stdout) {
        return Err(format!("{shown}: {given:?}\ninterpreted: {expected:?}"));
    }
    Ok(())
}

/// What has to be the same of two runs with one schedule: all that is counted, and the order in which workers took
/// turns.
const COUNTED: [&str; 10] = [
    "schedule",
    "suspensions",
    "resumptions",
    "words allocated",
    "minor collections",
    "words copied",
    "rests",
    "requests for goals",
    "gifts of goals",
    "shared writes",
];

/// Several goals that talk, and many that do not.
const TALKING: &str = ":- module main.\n\
    main :- tree(8, N), numbers(300, Xs), sums(Xs, 0, Ys), last(Ys, N, S), io:outstream([print(S), nl]).\n\
    tree(0, N) :- N = 1.\n\
    tree(D, N) :- D > 0 | D1 := D - 1, tree(D1, A), tree(D1, B), N := A + B.\n\
    numbers(0, Xs) :- Xs = [].\n\
    numbers(N, Xs) :- N > 0 | Xs = [N|Xs1], numbers(~(N - 1), Xs1).\n\
    sums([], _, Ys) :- Ys = [].\n\
    sums([X|Xs], S, Ys) :- S1 := S + X, Ys = [S1|Ys1], sums(Xs, S1, Ys1).\n\
    last([Y], N, S) :- S := Y + N.\n\
    last([_,Y|Ys], N, S) :- last([Y|Ys], N, S).\n";

/// Seeds with which that one runs.
const TALKING_SEEDS: u64 = 4;

#[test]
fn a_run_with_a_schedule_is_the_same_each_time() {
    let file = std::env::temp_dir().join(format!("fifth-schedule-{}.kl1", std::process::id()));
    let mut traces = std::collections::BTreeSet::new();
    let (mut gifts, mut programs) = (0, 0);
    for seed in 0..48 {
        let random = oracle::fuzzing::program(&bytes(seed));
        let text = if seed < TALKING_SEEDS { TALKING } else { &random };
        std::fs::write(&file, text).expect("a temporary file");
        let files = [file.clone()];
        if execute::interpreted(&files, &[], b"").is_err() {
            continue;
        }
        let run = |disorder: bool| {
            let mut options =
                vec![format!("--workers={}", 2 + seed % 3), format!("--schedule={seed}"), "--stats".into()];
            if disorder {
                options.push(format!("--check-heap={seed}"));
            }
            let words: Vec<&str> = options.iter().map(String::as_str).collect();
            let (execution, _) = execute::compiled(&words, &files, &[], b"").expect("it runs");
            let counted =
                |line: &&str| COUNTED.iter().any(|name| line.starts_with(name) && !line.contains("second"));
            let lines: Vec<String> = execution.stderr.lines().filter(counted).map(str::to_string).collect();
            assert!(lines.len() > COUNTED.len(), "{}", execution.stderr);
            (lines, execution)
        };
        for disorder in [false, true] {
            let (lines, execution) = run(disorder);
            for _ in 0..2 {
                let (again, other) = run(disorder);
                assert_eq!(
                    (&again, &other.stdout),
                    (&lines, &execution.stdout),
                    "seed {seed}, {disorder}\n{text}"
                );
            }
            gifts += execution.count("gifts of goals");
            programs += 1;
            // A short program may take its few turns in the same order with another seed.
            let long = (seed < TALKING_SEEDS).then_some(lines).into_iter().flatten();
            traces.extend(long.filter(|line| line.starts_with("schedule")));
        }
    }
    // What cannot be removed is only litter.
    let _ = std::fs::remove_file(&file);
    assert!(
        gifts > 100 && programs > 12 && traces.len() as u64 == 2 * TALKING_SEEDS,
        "{gifts} {programs} {traces:?}"
    );
}

/// The bytes that random program number `seed` is made of.
fn bytes(seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let count = random.bits() % BYTES_MAX;
    (0..count).map(|_| random.bits() as u8).collect()
}
