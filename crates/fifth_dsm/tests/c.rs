//! Programs in C against the header and the library, compiled by `cc`.

use std::env::{current_exe, temp_dir};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The static library that was built with this test.
fn library() -> PathBuf {
    current_exe().expect("this test").with_file_name("libfifth_dsm.a")
}

/// Compiles a program, runs it, and gives what it wrote.
fn run(source: &str, arguments: &[&str]) -> Output {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let name = Path::new(source).file_stem().expect("a file").to_string_lossy().into_owned();
    // Tests that run at the same time compile the same source.
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let number = RUNS.fetch_add(1, Relaxed);
    let program = temp_dir().join(format!("fifth-dsm-{name}-{}-{number}", std::process::id()));
    let compiled = Command::new("cc")
        .args(["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-I"])
        .args([here.join("include"), here.join(source), library()])
        .args(["-lpthread", "-lm", "-ldl", "-o"])
        .arg(&program)
        .status()
        .expect("cc");
    assert!(compiled.success(), "{source} does not compile");
    let output = Command::new(&program).args(arguments).output().expect("the program");
    let _ = std::fs::remove_file(&program);
    output
}

#[test]
fn the_header_keeps_its_promises() {
    let output = run("tests/faults.c", &[]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "all checks passed\n");
}

#[test]
fn a_pointer_that_leads_nowhere_is_named_before_the_process_ends() {
    for way in ["messages", "same"] {
        let output = run("tests/stray.c", &["nowhere", way]);
        assert_eq!(output.status.signal(), Some(11), "SIGSEGV");
        let errors = String::from_utf8_lossy(&output.stderr);
        for part in [
            "node 1 tries to write at 0x10",
            "outside the shared memory (0x",
            "index of the program is wrong\n",
        ] {
            assert!(errors.contains(part), "{errors}");
        }
    }
}

/// Without pages between them, the views of nodes lie one behind the other.
#[test]
fn a_pointer_that_runs_beyond_the_memory_of_a_node_reaches_no_other() {
    for (place, way) in
        [("behind", "same"), ("behind", "messages"), ("before", "same"), ("before", "messages")]
    {
        let output = run("tests/stray.c", &[place, way]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.signal(), Some(11), "{place}, {way}: {errors}");
        assert!(errors.contains("node 1 tries to write at 0x"), "{place}, {way}: {errors}");
    }
}

#[test]
fn the_example_multiplies_as_one_node_does() {
    // The trace, by the definition: integers, so any order of the sums gives the same.
    let element = |row: i64, column: i64| (row * 31 + column * 17) % 101 - 50;
    let n = 96;
    let trace: i64 = (0..n).flat_map(|i| (0..n).map(move |k| element(i, k) * element(i, k))).sum();
    for nodes in ["1", "2", "5"] {
        let output = run("examples/matmul.c", &[nodes, "96"]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(
            text,
            format!("{nodes} nodes, trace {trace}.0\n"),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
