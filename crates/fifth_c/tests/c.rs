//! Programs in C against the header and the library, compiled by `cc`: promises, the example, the listings of
//! docs/c.md.

use std::env::{current_exe, temp_dir};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The static library that was built with this test.
fn library() -> PathBuf {
    current_exe().expect("this test").with_file_name("libfifth_c.a")
}

/// Compiles a program, runs it in a folder, and gives what it wrote.
fn run(source: &Path, folder: &Path, arguments: &[&str]) -> Output {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let name = source.file_stem().expect("a file").to_string_lossy().into_owned();
    let program = temp_dir().join(format!("fifth-c-{name}-{}", std::process::id()));
    let compiled = Command::new("cc")
        .args(["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-I"])
        .args([&here.join("include"), source, &library()])
        .args(["-lpthread", "-lm", "-ldl", "-o"])
        .arg(&program)
        .status()
        .expect("cc");
    assert!(compiled.success(), "{} does not compile", source.display());
    let output = Command::new(&program).args(arguments).current_dir(folder).output().expect("the program");
    let _ = std::fs::remove_file(&program);
    output
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_header_keeps_its_promises() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = run(&here.join("tests/promises.c"), here, &[]);
    let errors = text(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", output.status);
    assert_eq!(text(&output.stdout), "all checks passed\n");
    // Nothing is said by the library itself.
    assert_eq!(errors, "");
}

#[test]
fn the_header_serves_cpp() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let checked = Command::new("cc")
        .args(["-x", "c++", "-fsyntax-only", "-Wall", "-Werror"])
        .arg(here.join("include/fifth.h"))
        .output()
        .expect("cc");
    let missing = text(&checked.stderr).contains("cc1plus");
    assert!(checked.status.success() || missing, "{}", text(&checked.stderr));
}

#[test]
fn the_example_gives_primes() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = run(&here.join("examples/primes.c"), here, &["30"]);
    assert_eq!(text(&output.stdout), "2\n3\n5\n7\n11\n13\n17\n19\n23\n29\n", "{}", text(&output.stderr));
}

/// The listings of a page: what stands between fences of a language.
fn listings(page: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    let parts = page.split(&fence).skip(1);
    parts.map(|part| part.split("```").next().unwrap_or_default().to_string()).collect()
}

/// Each program of the page runs beside the KL1 texts that the page names, and writes what stands below it.
#[test]
fn the_listings_of_the_guide_are_right() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/c.md");
    let page = std::fs::read_to_string(page).expect("the guide");
    // The command has the test of foreign predicates.
    let page = page.split("\n## Foreign predicates\n").next().expect("the first part");
    let folder = temp_dir().join(format!("fifth-c-guide-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    for program in listings(page, "kl1") {
        let name = program.lines().next().and_then(|line| line.strip_prefix("% "));
        if let Some(name) = name.filter(|name| name.ends_with(".kl1")) {
            std::fs::write(folder.join(name), &program).expect("a file");
        }
    }
    let (programs, outputs) = (listings(page, "c"), listings(page, "text"));
    assert!(!programs.is_empty() && programs.len() == outputs.len(), "each has its output");
    for (number, (program, expected)) in programs.iter().zip(outputs).enumerate() {
        let source = folder.join(format!("guide{number}.c"));
        std::fs::write(&source, program).expect("a file");
        let output = run(&source, &folder, &[]);
        assert_eq!(text(&output.stdout) + &text(&output.stderr), expected, "listing {number}");
    }
    let _ = std::fs::remove_dir_all(&folder);
}
