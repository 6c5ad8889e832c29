//! Programs in documents and examples do what is said of them.

#[allow(dead_code, reason = "each test file uses its part")]
mod support;

use std::path::{Path, PathBuf};
use support::directives::Directives;
use support::execute;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The fenced blocks of a kind in a Markdown text.
fn blocks<'t>(text: &'t str, kind: &str) -> Vec<&'t str> {
    let fence = format!("```{kind}\n");
    let starts = text.match_indices(&fence).map(|(at, _)| at + fence.len());
    starts.map(|start| text[start..].split("```").next().expect("split gives at least one part")).collect()
}

/// Numbers of workers that programs of documents run with.
const WORKERS: [&str; 3] = ["1", "2", "8"];

/// Runs a program text and compares with its directives.
fn run(name: &str, text: &str, folder: &Path) -> Result<(), String> {
    let directives = Directives::parse(format!("% test: document\n{text}").as_bytes())?;
    let file = folder.join(format!("{name}.kl1"));
    std::fs::write(&file, text).map_err(|error| error.to_string())?;
    let several = if directives.one_worker { &WORKERS[..1] } else { &WORKERS };
    several.iter().try_for_each(|workers| run_with(workers, name, &file, &directives))
}

fn run_with(workers: &str, name: &str, file: &PathBuf, directives: &Directives) -> Result<(), String> {
    let (given, _) = execute::compiled(
        &["--workers", workers],
        std::slice::from_ref(file),
        &directives.arguments,
        &directives.stdin,
    )?;
    let (exit, expected) = (directives.exit.unwrap_or(0), String::from_utf8_lossy(&directives.stdout));
    let stdout = String::from_utf8_lossy(&given.stdout);
    let same = stdout == expected || directives.unordered && sorted(&stdout) == sorted(&expected);
    if same && given.exit == exit {
        return Ok(());
    }
    Err(format!(
        "{name}, {workers} workers: {stdout:?} and {}, expected {expected:?} and {exit}\n{}",
        given.exit, given.stderr
    ))
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("fifth-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    folder
}

#[test]
fn programs_of_the_tutorial_print_what_it_says() {
    let text = std::fs::read_to_string(root().join("docs/tutorial.md")).expect("the tutorial");
    let programs: Vec<&str> =
        blocks(&text, "kl1").into_iter().filter(|block| block.contains("% stdout")).collect();
    assert!(programs.len() >= 10, "only {} programs with directives", programs.len());
    let folder = folder("tutorial");
    let wrong: Vec<String> = (programs.iter().enumerate())
        .filter_map(|(n, program)| run(&format!("program{n}"), program, &folder).err())
        .collect();
    // What cannot be removed is only litter.
    let _ = std::fs::remove_dir_all(&folder);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The name behind `[ ` or `--> ` in a message.
fn named(message: &str) -> Option<&str> {
    let place = message.split_once("[ ").or_else(|| message.split_once("--> "))?.1;
    place.split_once(':').map(|(name, _)| name)
}

#[test]
fn programs_of_the_tutorial_fail_as_it_shows() {
    let text = std::fs::read_to_string(root().join("docs/tutorial.md")).expect("the tutorial");
    let folder = folder("messages");
    let (mut program, mut shown) = ("", 0);
    // Every second piece is a block, and begins with its kind.
    for block in text.split("```").skip(1).step_by(2) {
        let message = match block.split_once('\n').expect("a block has lines") {
            ("kl1", listing) => {
                program = listing;
                continue;
            }
            ("text", message) if message.starts_with("fifth: ") || message.starts_with('[') => message,
            _ => continue,
        };
        let name = named(message).expect("a message names its file");
        std::fs::write(folder.join(name), program).expect("a file can be written");
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_fifth"));
        let output = command.args(["run", name]).current_dir(&folder).output().expect("it starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        let mut given = stderr.lines().map(str::trim_end);
        for line in message.lines() {
            assert!(given.any(|other| other == line), "{name}: no line `{line}` in its place\n{stderr}");
        }
        shown += 1;
    }
    // What cannot be removed is only litter.
    let _ = std::fs::remove_dir_all(&folder);
    assert_eq!(shown, 3);
}

#[test]
fn the_readme_program_prints_what_it_says() {
    let text = std::fs::read_to_string(root().join("README.md")).expect("the readme");
    let program = blocks(&text, "kl1")[0];
    let console = blocks(&text, "console")[0];
    let output = console.lines().skip(1).map(|line| format!("% stdout: {line}\n")).collect::<String>();
    let folder = folder("readme");
    let result = run("primes", &format!("{output}{program}"), &folder);
    // As above.
    let _ = std::fs::remove_dir_all(&folder);
    result.expect("the program prints what the readme says");
}

#[test]
fn examples_run() {
    let folder = root().join("examples");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("examples").map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "kl1"));
    assert!(!files.is_empty());
    for file in files {
        let [one, others @ ..] = WORKERS.map(|workers| {
            let options = ["--workers", workers];
            let (given, messages) =
                execute::compiled(&options, std::slice::from_ref(&file), &[], b"one two\n")
                    .expect("it starts");
            assert_eq!(given.exit, 0, "{}, {workers} workers: {}", file.display(), given.stderr);
            assert!(messages.is_empty(), "{}: {messages:?}", file.display());
            String::from_utf8_lossy(&given.stdout).into_owned()
        });
        // Where streams are merged it is open what comes first.
        let text = std::fs::read_to_string(&file).expect("it was read before");
        for other in others {
            assert!(one == other || text.contains("merge("), "{}: {one}\n{other}", file.display());
        }
    }
}

#[test]
fn every_code_of_a_diagnostic_is_described() {
    let page = std::fs::read_to_string(root().join("docs/diagnostics.md")).expect("the page");
    let rows: String = page.lines().filter(|line| line.starts_with("| `")).collect();
    for code in syntax::diagnostic::CODES {
        assert!(rows.contains(&format!("`{code}`")), "{code} is not in docs/diagnostics.md");
    }
}
