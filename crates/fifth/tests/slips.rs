//! The programs of this repository against the warnings of what does not mean what it says: each warning is right, and
//! known.

#[allow(dead_code, reason = "each test file uses its part")]
mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::directives::Directives;

/// The warnings that this test is about.
const CODES: [&str; 10] = [
    "almost-message",
    "float-as-integer",
    "integer-as-float",
    "mod-binds-tighter",
    "same-priority",
    "shift-binds-tighter",
    "term-for-number",
    "unknown-escape",
    "unused-predicate",
    "wrong-template",
];

/// What they say of these programs: all of them are about that.
const KNOWN: &[&str] = &[
    "tests/corpus/clauses/wrong_template.kl1:11 wrong-template",
    "tests/corpus/clauses/wrong_template.kl1:8 wrong-template",
    "tests/corpus/clauses/wrong_template.kl1:9 wrong-template",
    "tests/corpus/failure/arithmetic_float.kl1:6 float-as-integer",
    "tests/corpus/lexical/foreign_escapes.kl1:10 unknown-escape",
    "tests/corpus/lexical/foreign_escapes.kl1:8 unknown-escape",
    "tests/corpus/lexical/foreign_escapes.kl1:9 unknown-escape",
    "tests/corpus/library/format_message_wrong.kl1:8 wrong-template",
    "tests/corpus/library/format_no_template.kl1:7 wrong-template",
    "tests/corpus/library/format_wrong.kl1:7 wrong-template",
    "tests/corpus/operators/grouping_warnings.kl1:11 mod-binds-tighter",
    "tests/corpus/operators/grouping_warnings.kl1:12 shift-binds-tighter",
    "tests/corpus/operators/grouping_warnings.kl1:13 shift-binds-tighter",
    "tests/corpus/operators/grouping_warnings.kl1:14 same-priority",
    "tests/corpus/operators/grouping_warnings.kl1:15 same-priority",
    "tests/corpus/operators/grouping_warnings.kl1:16 same-priority",
    "tests/corpus/operators/mod_binds_tighter.kl1:6 mod-binds-tighter",
    "tests/corpus/owners/bodies.kl1:24 mod-binds-tighter",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The program files below a folder.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "kl1") {
            found.push(path);
        }
    }
}

/// What `fifth check` says of a program: file, line and code.
fn check(files: &[PathBuf]) -> Vec<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fifth"));
    let output = command.args(["check", "--message-format", "json"]).args(files).output().expect("it starts");
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    let root = root();
    let told = messages.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    told.filter(|message| message["code"].as_str().is_some_and(|code| CODES.contains(&code)))
        .map(|message| {
            let file = PathBuf::from(message["at"]["file"].as_str().unwrap_or_default());
            let file = file.strip_prefix(&root).unwrap_or(&file).display().to_string();
            format!("{file}:{} {}", message["at"]["line"], message["code"].as_str().unwrap_or_default())
        })
        .collect()
}

#[test]
fn programs_of_the_repository_have_known_slips_only() {
    let mut programs: Vec<Vec<PathBuf>> = Vec::new();
    for folder in ["tests/corpus", "examples", "benches"] {
        let mut found = Vec::new();
        files(&root().join(folder), &mut found);
        for path in found {
            let text = std::fs::read(&path).expect("a program");
            let beside = path.parent().expect("a folder").to_path_buf();
            let more = Directives::parse(&text).map(|directives| directives.files).unwrap_or_default();
            let others = more.into_iter().map(|name| beside.join(name));
            programs.push(std::iter::once(path).chain(others).collect());
        }
    }
    // The library's texts, as modules of a program.
    let folder = std::env::temp_dir().join(format!("fifth-slips-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let main = folder.join("main.kl1");
    std::fs::write(&main, ":- module main.\nmain :- true.\n").expect("it can be written");
    let mut library = vec![main];
    files(&root().join("library"), &mut library);
    programs.push(library);
    assert!(programs.len() > 600, "{}", programs.len());

    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                // Relaxed: the counter orders nothing else.
                while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let told = check(program);
                    found.lock().expect("no thread panics while it holds the lock").extend(told);
                }
            });
        }
    });
    // What cannot be removed is only litter.
    let _ = std::fs::remove_dir_all(&folder);
    let mut found = found.into_inner().expect("all threads have ended");
    found.sort();
    found.dedup();
    assert_eq!(found, KNOWN, "\n{}", found.join("\n"));
}
