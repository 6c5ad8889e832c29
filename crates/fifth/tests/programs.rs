//! Programs do the same compiled and interpreted: the corpus, where each says what it does, and random ones.
//!
//! `FIFTH_CORPUS=guard/,merge/` runs only the programs of the corpus whose path contains one of these texts.
//! `FIFTH_CASES=1000` runs more random programs; a disagreement is shown with the smallest program that has it.

#[allow(dead_code, reason = "each test file uses its part")]
mod support;

use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use std::path::Path;
use support::directives;
use support::execute::{self, Ending};

const CASES: u32 = 60;
const BYTES_MAX: usize = 500;

#[test]
fn programs_do_what_they_say() {
    check_corpus(directives::with_one_worker);
}

#[test]
fn several_workers_do_what_programs_say() {
    let programs = check_corpus(directives::with_several_workers);
    let gifts = directives::GIFTS.load(std::sync::atomic::Ordering::Relaxed);
    // Some programs are a goal or two.
    assert!(programs < 20 || gifts > programs as u64, "{gifts} gifts of goals in {programs} programs");
}

#[test]
fn several_nodes_do_what_programs_say() {
    check_corpus(directives::on_several_nodes);
}

#[test]
fn simulated_machines_do_what_programs_say() {
    check_corpus(directives::on_a_simulated_machine);
}

#[test]
fn a_simulated_run_is_the_same_each_time() {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/nodes_search.kl1");
    let run = |machine: &str, seed: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_fifth"));
        command.args(["run", "--simulate", machine, "--stats", seed]).arg(&program);
        let output = command.output().expect("the command starts");
        assert!(output.status.success(), "{output:?}");
        (output.stdout, String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let first = run("multipsi:4", "--check-nodes=1");
    assert_eq!(first, run("multipsi:4", "--check-nodes=1"));
    assert_eq!(first.0, run("pim:9", "--check-nodes=2").0);
    assert_ne!(first.1, run("multipsi:4", "--check-nodes=2").1);
    for figure in ["virtual time", "sent, throw_goal", "  node 3", "load of channels"] {
        assert!(first.1.contains(figure), "no {figure} in\n{}", first.1);
    }
}

#[test]
fn a_printed_variable_is_no_value_and_not_another_variable() {
    for (one, other, same) in [
        ("f(_1,_2,_1)", "f(_12,_3,_12)", true),
        ("f(_1,_2,_1)", "f(_1,_2,_2)", false),
        ("f(_1,_1)", "f(_1,_2)", false),
        ("f(_1)", "f(1)", false),
        ("_1", "anything", false),
        ("[a|_4]", "[a|_1]", true),
        ("foo_1", "foo_2", false),
        ("_1a", "_2a", false),
        ("_ = _3", "_ = _1", true),
    ] {
        assert_eq!(directives::shape(one) == directives::shape(other), same, "{one} {other}");
    }
}

/// Answers how many programs it has checked.
fn check_corpus(check: directives::Check) -> usize {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus");
    let filter = std::env::var("FIFTH_CORPUS").unwrap_or_default();
    let programs = directives::programs(&root, &filter).unwrap_or_else(|error| panic!("{error}"));
    assert!(!programs.is_empty(), "no program matches {filter:?}");
    if let Err(report) = directives::check_all(&programs, &root, check) {
        panic!("{report}");
    }
    programs.len()
}

#[test]
fn compiled_and_interpreted_runs_agree() {
    let cases = std::env::var("FIFTH_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(CASES);
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 2000, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let folder = std::env::temp_dir().join(format!("fifth-random-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let file = folder.join("random.kl1");
    let result = runner.run(&vec(any::<u8>(), 0..BYTES_MAX), |bytes| {
        let text = oracle::fuzzing::program(&bytes);
        agree(&file, &text).map_err(|difference| TestCaseError::fail(format!("{difference}\n{text}")))
    });
    // What cannot be removed is only litter.
    let _ = std::fs::remove_dir_all(&folder);
    if let Err(error) = result {
        panic!("{error}");
    }
}

/// Both runs of a program give the same, as far as the language says what it is.
fn agree(file: &Path, text: &str) -> Result<(), String> {
    std::fs::write(file, text).map_err(|error| error.to_string())?;
    let files = [file.to_path_buf()];
    let Ok(expected) = execute::interpreted(&files, &[], b"") else {
        // The interpreter gives up on programs that take too many steps.
        return Ok(());
    };
    let (given, messages) = execute::compiled(&[], &files, &[], b"")?;
    if let Some(error) = messages.iter().find(|message| message.severity == "error") {
        return Err(format!("compile error {} in line {}", error.code, error.line));
    }
    let output_counts = matches!(expected.ending, Ending::Success | Ending::Deadlock);
    if !given.ending.agrees(expected.ending) || (output_counts && given.stdout != expected.stdout) {
        return Err(format!("interpreted: {expected:?}\ncompiled: {given:?}"));
    }
    Ok(())
}
