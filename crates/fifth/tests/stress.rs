//! One worker and several in disorder (`--check-heap=SEED`: collections at random safe points, goals change workers
//! at random) do what the reference interpreter does.
//!
//! `FIFTH_CASES=100000` runs more random programs, `FIFTH_SEED=7` begins with number 7; what fails is shown with its
//! number. A failure may need many repetitions to come again: the threads' timing has no seed.

#[allow(dead_code, reason = "each test file uses its part")]
mod support;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use support::execute::{self, Ending, Execution};

const CASES: u64 = 30;
const BYTES_MAX: u64 = 600;
/// Numbers of workers that are tried in turn.
const WORKERS: [&str; 4] = ["1", "2", "3", "8"];
/// The most there can be take their time: they have a part of the cases.
const WORKERS_MOST: &str = "64";
const MOST_EACH: u64 = 8;
/// Cases after which it says how far it is.
const REPORT_AFTER: u64 = 500;
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
    let folder = std::env::temp_dir().join(format!("fifth-stress-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let threads = std::thread::available_parallelism().map_or(2, |count| count.get());
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let file = folder.join(format!("random{thread}.kl1"));
            let (next, failures) = (&next, &failures);
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
                    if let Err(difference) = check(&file, seed) {
                        eprintln!("FIFTH_SEED={seed}: {difference}");
                        let mut failures = failures.lock().unwrap_or_else(PoisonError::into_inner);
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
    let failures = failures.into_inner().unwrap_or_else(PoisonError::into_inner);
    assert!(failures.is_empty(), "{failures}");
}

/// One random program, with each number of workers.
fn check(file: &Path, seed: u64) -> Result<(), String> {
    let text = oracle::fuzzing::program(&bytes(seed));
    std::fs::write(file, &text).map_err(|error| error.to_string())?;
    let files = [file.to_path_buf()];
    let Ok(expected) = execute::interpreted(&files, &[], b"") else {
        // The interpreter gives up on programs that take too many steps.
        return Ok(());
    };
    let most = seed.is_multiple_of(MOST_EACH).then_some(WORKERS_MOST);
    for workers in WORKERS.into_iter().chain(most) {
        agree(&files, workers, seed, &expected).map_err(|difference| format!("{difference}\n{text}"))?;
    }
    Ok(())
}

fn agree(files: &[PathBuf], workers: &str, seed: u64, expected: &Execution) -> Result<(), String> {
    let disorder = format!("--check-heap={seed}");
    let (given, _) = execute::compiled(&["--workers", workers, &disorder], files, &[], b"")
        .map_err(|error| format!("{workers} workers: {error}"))?;
    // A program that fails may have printed its line before or after (P3 of `oracle::fuzzing`).
    let output_counts = matches!(expected.ending, Ending::Success | Ending::Deadlock);
    if !given.ending.agrees(expected.ending) || (output_counts && given.stdout != expected.stdout) {
        return Err(format!("{workers} workers: {given:?}\ninterpreted: {expected:?}"));
    }
    Ok(())
}

/// The bytes that random program number `seed` is made of.
fn bytes(seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut random = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    };
    let count = random() % BYTES_MAX;
    (0..count).map(|_| random() as u8).collect()
}
