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
fn nodes_that_have_copies_of_arrays_do_what_programs_say() {
    check_corpus(directives::on_nodes_with_copies);
}

#[test]
fn nodes_of_several_workers_do_what_programs_say() {
    check_corpus(directives::on_nodes_of_several_workers);
}

#[test]
fn simulated_machines_do_what_programs_say() {
    check_corpus(directives::on_a_simulated_machine);
}

#[test]
fn nodes_that_balance_do_what_programs_say() {
    check_corpus(directives::on_nodes_that_balance);
}

/// The figures of a run on a simulated machine of four nodes whose answer is right.
fn simulated(options: &[&str], text: &str, answer: &str) -> String {
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    // Relaxed: the number orders nothing else.
    let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let file = std::env::temp_dir().join(format!("fifth-simulated-{}-{number}.kl1", std::process::id()));
    std::fs::write(&file, text).expect("a program");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_fifth"));
    command.args(["run", "--simulate", "multipsi:4", "--stats"]).args(options).arg(&file);
    let output = command.output().expect("the command starts");
    let _ = std::fs::remove_file(&file);
    assert!(output.status.success() && output.stdout == answer.as_bytes(), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The first number of a line of these figures.
fn figure(figures: &str, name: &str) -> u64 {
    let rest = figures.lines().find_map(|line| line.strip_prefix(name)).expect("a figure");
    rest.trim().split(',').next().and_then(|figure| figure.parse().ok()).expect("a number")
}

#[test]
fn nodes_send_each_other_pages_only_if_told_to() {
    let ring = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/array/ring.kl1");
    let figures = |options: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_fifth"));
        command.args(["run", "--nodes", "2", "--stats"]).args(options).arg(&ring);
        let output = command.output().expect("the command starts");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let copies = figures(&[directives::COPIES]);
    let of = |name: &str| {
        let line = copies.lines().find_map(|line| line.strip_prefix(name)).expect("a figure");
        line.split_whitespace().map(|count| count.parse().expect("a number")).collect::<Vec<u64>>()
    };
    // The array is at node 0: node 1 gets it anew for each of its 150 turns, and says each time what it has changed.
    assert_eq!((of("page misses"), of("page diffs sent")), (vec![0, 150], vec![0, 150]), "{copies}");
    assert!(of("messages kept").iter().all(|&kept| kept >= 149), "{copies}");
    for options in [&[][..], &["--dsm-pages=mapped"]] {
        let figures = figures(options);
        assert!(!figures.contains("page misses"), "{figures}");
    }
}

/// Goals that moved, and the nodes that reduced more than a few.
fn moved(options: &[&str], text: &str, answer: &str) -> (u64, usize) {
    let figures = simulated(options, text, answer);
    let reductions =
        |line: &str| line.split(" reductions").next()?.split_whitespace().last()?.parse::<u64>().ok();
    let nodes = figures.lines().filter(|line| line.starts_with("  node ")).filter_map(reductions);
    (figure(&figures, "goals given away"), nodes.filter(|&reductions| reductions > 500).count())
}

#[test]
fn large_goals_move_to_nodes_that_have_none_and_small_ones_stop_moving() {
    let large = |pragma: &str| {
        format!(
            ":- module main.\nmain :- fib(19,R){pragma}, io:outstream([print(R),nl]).\n\
             fib(N,R) :- N < 2 | R = 1.\n\
             fib(N,R) :- N >= 2 | fib(~(N-1),A){pragma}, fib(~(N-2),B), R := A+B.\n"
        )
    };
    let (moves, nodes) = moved(&["--balance"], &large(""), "6765\n");
    assert!((3..1_000).contains(&moves) && nodes == 4, "{moves} goals moved, {nodes} nodes were busy");
    let (moves, nodes) = moved(&[], &large("@node(any)"), "6765\n");
    assert!((3..1_000).contains(&moves) && nodes == 4, "{moves} goals moved, {nodes} nodes were busy");
    assert_eq!(moved(&[], &large(""), "6765\n").0, 0);
    // What is placed stays; the goals of the library are not.
    let (moves, nodes) = moved(&["--balance"], &large("@node(0)"), "6765\n");
    assert!(moves < 3 && nodes == 1, "{moves} goals moved, {nodes} nodes were busy");
    let small = ":- module main.\nmain :- many(5000,Xs), sum(Xs,0,S), io:outstream([print(S),nl]).\n\
                 many(N,Xs) :- N = 0 | Xs = [].\n\
                 many(N,Xs) :- N > 0 | Xs = [X|Xs1], many(~(N-1),Xs1), tiny(N,X).\n\
                 tiny(N,X) :- X := N mod 7.\n\
                 sum([],S,R) :- R = S.\n\
                 sum([X|Xs],S,R) :- sum(Xs,~(S+X),R).\n";
    let (moves, _) = moved(&["--balance"], small, "14997\n");
    // Three in vain, and those that are under way meanwhile to three nodes; of each predicate.
    assert!((1..=24).contains(&moves), "{moves} goals moved");
}

/// On threads, where nothing but a tick makes a loop look at its messages.
#[test]
fn a_node_that_allocates_nothing_gives_goals_to_one_that_asks() {
    let fib = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/fib.kl1");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_fifth"));
    let output = command.args(["run", "--nodes", "2", "--balance", "--stats"]).arg(&fib).output();
    let output = output.expect("the command starts");
    assert!(output.status.success() && output.stdout == b"102334155\n", "{output:?}");
    let figures = String::from_utf8_lossy(&output.stderr);
    let gifts = figures.lines().find_map(|line| line.strip_prefix("goals given away")).expect("a figure");
    assert!(gifts.split_whitespace().any(|count| count != "0"), "{figures}");
}

#[test]
fn a_node_reads_no_second_copy_of_a_structure_with_an_identity() {
    let text = ":- module main.\n\
        main :- generic:new(vector,V,40), ask(6,V,[],Rs), count(Rs,0,N), io:outstream([print(N),nl]).\n\
        ask(0,_,Rs,Out) :- Out = Rs.\n\
        ask(N,V,Rs,Out) :- N > 0 | size({V},R)@node(1), next(R,N,V,Rs,Out).\n\
        next(R,N,V,Rs,Out) :- integer(R) | ask(~(N-1),V,[R|Rs],Out).\n\
        size({V},R) :- vector(V,N) | R = N.\n\
        count([],S,R) :- R = S.\n\
        count([X|Xs],S,R) :- count(Xs,~(S+X),R).\n";
    let (with, without) = (simulated(&["--structure-ids"], text, "240\n"), simulated(&[], text, "240\n"));
    let reads = [&with, &without].map(|figures| figure(figures, "sent, read"));
    let resolved = [&with, &without].map(|figures| figure(figures, "references resolved"));
    assert!(
        resolved[0] >= 4 && resolved[1] == 0 && reads[0] + 4 <= reads[1],
        "{reads:?} reads, {resolved:?} resolved"
    );
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
    // As it is, and as if all its predicates were large.
    for options in [&[][..], &["--pieces=3"]] {
        let (given, messages) = execute::compiled(options, &files, &[], b"")?;
        if let Some(error) = messages.iter().find(|message| message.severity == "error") {
            return Err(format!("compile error {} in line {}", error.code, error.line));
        }
        let output_counts = matches!(expected.ending, Ending::Success | Ending::Deadlock);
        if !given.ending.agrees(expected.ending) || (output_counts && given.stdout != expected.stdout) {
            return Err(format!("interpreted: {expected:?}\ncompiled, {options:?}: {given:?}"));
        }
    }
    Ok(())
}
