//! A new user's first hour, by script and from README.md alone: everything that its tables name is tried, and so is
//! what goes wrong most often. No step is without a clear answer.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// What README.md says.
fn readme() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).expect("the readme")
}

/// A folder with the readme's program.
fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().expect("a temporary folder");
    let text = readme();
    let program = text.split("```kl1\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a program");
    fs::write(home.path().join("primes.kl1"), program).expect("it can be written");
    home
}

/// A step: exit code, standard output, standard error.
fn step(home: &Path, arguments: &[&str], input: &str) -> (Option<i32>, String, String) {
    let file = home.join("input");
    fs::write(&file, input).expect("it can be written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_fifth"));
    command.args(arguments).current_dir(home).stdin(fs::File::open(file).expect("it was written"));
    let output = command.stderr(Stdio::piped()).output().expect("it starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// The first cells of the rows of the table that begins with this heading.
fn cells<'t>(text: &'t str, heading: &str) -> Vec<&'t str> {
    let table = text.split(heading).nth(1).expect("the table is there");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with("| "));
    let cells: Vec<&str> = rows.filter_map(|row| row.strip_prefix("| `")?.split("` |").next()).collect();
    assert!(cells.len() > 5, "{cells:?}");
    cells
}

const PRIMES: &str = "[2,3,5,7,11,13,17,19,23,29]\n";

#[test]
fn each_command_of_the_readme_does_something() {
    let home = home();
    let told = "Content-Length: 44\r\n\r\n{\"jsonrpc\":\"2.0\",\"method\":\"exit\",\"params\":{}}";
    for cell in cells(&readme(), "| command | what it does |\n") {
        let name = cell.strip_prefix("fifth ").and_then(|rest| rest.split(' ').next()).expect("a command");
        // The laboratory's commands have tests of their own; one of them serves until it is stopped.
        let (arguments, input, code, shown): (&[&str], &str, i32, &str) = match name {
            "run" => (&["run", "primes.kl1"], "", 0, PRIMES),
            "check" => (&["check", "primes.kl1"], "", 0, ""),
            "lsp" => (&["lsp"], told, 1, ""),
            "build" => (&["build", "primes.kl1"], "", 0, ""),
            "new" => (&["new", "counter"], "", 0, ""),
            "test" => (&["test", "counter/main.kl1", "counter/main_tests.kl1"], "", 0, "3 passed, 0 failed"),
            "fmt" => (&["fmt", "primes.kl1"], "", 0, ""),
            "doc" => (&["doc", "counter/main.kl1"], "", 0, "# "),
            "explain" => (&["explain", "shadowed-clause"], "", 0, "A clause is never chosen"),
            "repl" => (&["repl", "primes.kl1"], "primes(10,Ps).\n1+2*3.\n", 0, "Ps = [2,3,5,7]\n7\n"),
            "lab" => (&["lab", "list"], "", 0, "jmachine/fig5"),
            "completions" => (&["completions", "bash"], "", 0, "_fifth"),
            _ => panic!("`{cell}` of the readme is not tried here"),
        };
        let (given, output, errors) = step(home.path(), arguments, input);
        assert_eq!(given, Some(code), "{cell}: {output}{errors}");
        assert!(output.contains(shown), "{cell}: no {shown:?} in {output}");
        assert!(errors.is_empty() || name == "lsp", "{cell}: {errors}");
    }
    let built = Command::new(home.path().join("primes")).output().expect("it was built");
    assert_eq!(String::from_utf8_lossy(&built.stdout), PRIMES);
}

#[test]
fn each_option_of_the_readme_leaves_the_program_what_it_is() {
    let home = home();
    for cell in cells(&readme(), "| option | what it does |\n") {
        // A value that may be left out is.
        let cell = cell.split_once('[').map_or(cell, |(name, _)| name);
        let (name, value) = cell.split_once(' ').unwrap_or((cell, ""));
        let value = match value {
            "" => None,
            "N" => Some("2"),
            "FILE" => Some("out"),
            // The first of several, or an example.
            other => other.split(['|', '\\']).next(),
        };
        let more: &[&str] = if name == "--balance" { &["--nodes", "2"] } else { &[] };
        let arguments: Vec<&str> = ["run", name]
            .into_iter()
            .chain(value)
            .chain(more.iter().copied())
            .chain(["primes.kl1"])
            .collect();
        let (code, output, errors) = step(home.path(), &arguments, "");
        assert_eq!(code, Some(0), "{arguments:?}: {errors}");
        assert!(output == PRIMES || name == "--dump" && !output.is_empty(), "{arguments:?}: {output}");
        // The profile of a run that takes no time may be empty.
        assert!(value != Some("out") || fs::remove_file(home.path().join("out")).is_ok(), "{cell}");
        assert!(errors.is_empty() || ["--stats", "--observe"].contains(&name), "{arguments:?}: {errors}");
    }
}

#[test]
fn what_goes_wrong_first_has_an_answer_that_says_what_to_do() {
    let home = home();
    let files = [
        (
            "typo.kl1",
            ":- module main.\nmain :- prims(3,Ps), io:outstream([print(Ps)]).\nprimes(_,Ps) :- Ps = [].\n",
        ),
        ("dot.kl1", ":- module main.\nmain :- p(1)\np(_).\n"),
        ("waits.kl1", ":- module main.\nmain :- p(X), q(X).\np(1).\nq(_).\n"),
        ("fails.kl1", ":- module main.\nmain :- p(2).\np(1).\n"),
        ("start.kl1", ":- module start.\nmain.\n"),
        ("prolog.kl1", ":- module main.\nmain :- X is 1 + 2, write(X), nl.\n"),
    ];
    files.iter().for_each(|(name, text)| fs::write(home.path().join(name), text).expect("it can be written"));
    let mistakes: &[(&[&str], i32, &[&str])] = &[
        (&[], 2, &["Usage: fifth <COMMAND>", "run"]),
        (&["start"], 2, &["unrecognized subcommand 'start'", "--help"]),
        (&["primes.kl1"], 2, &["To run a program: fifth run primes.kl1"]),
        (&["run"], 2, &["<FILE.kl1>"]),
        (&["run", "primes"], 2, &["is primes.kl1 meant?"]),
        (&["run", "."], 2, &["it is a folder; name the KL1 files in it"]),
        (&["run", "--nodez", "2", "primes.kl1"], 2, &["'--nodes'"]),
        (&["run", "--workers", "0", "primes.kl1"], 2, &["from 1 to 64"]),
        (&["test", "primes.kl1"], 2, &["there is no test", "--help"]),
        (&["explain", "nonsense"], 2, &["there is no code nonsense", "lists all codes"]),
        (&["new", "No"], 2, &["a lower-case letter"]),
        (&["run", "typo.kl1"], 2, &["typo.kl1:2", "prims", "did you mean primes/2?"]),
        (&["run", "dot.kl1"], 2, &["dot.kl1:", "Error"]),
        (&["run", "waits.kl1"], 255, &["waits.kl1:2", "perpetual suspension", "p(X)"]),
        (&["run", "fails.kl1"], 255, &["fails.kl1:2", "p(2)", "Help: "]),
        (&["run", "start.kl1"], 2, &["no main:main/0", "name that module `main`"]),
        (&["run", "prolog.kl1"], 2, &["prolog.kl1:2", "Help: "]),
    ];
    for (arguments, code, parts) in mistakes {
        let (given, output, errors) = step(home.path(), arguments, "");
        assert_eq!(given, Some(*code), "{arguments:?}: {output}{errors}");
        for part in *parts {
            assert!(errors.contains(part), "{arguments:?}: no {part:?} in\n{errors}");
        }
    }
    let entries = "append([1],[2],X).\nprint(1).\n:frob\n:load none.kl1\nX := 1/0.\n:help\n";
    let (code, output, errors) = step(home.path(), &["repl"], entries);
    assert_eq!(code, Some(0));
    for part in [
        "did you mean `lists:append(+Xs,+Ys,-Zs)`?",
        "`io:outstream([print(X), nl])`",
        "there is no command :frob; :help",
        "cannot read none.kl1",
    ] {
        assert!(errors.contains(part), "no {part:?} in\n{errors}");
    }
    assert!(errors.contains("division by zero") && output.contains(":doc"), "{output}{errors}");
}

#[test]
fn each_link_of_the_readme_leads_somewhere() {
    let (text, root) = (readme(), Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    for link in links.filter(|link| !link.contains("://")) {
        let (path, place) = link.split_once('#').unwrap_or((link, ""));
        let page = if path.is_empty() { root.join("README.md") } else { root.join(path) };
        assert!(page.exists(), "{link}");
        if !place.is_empty() {
            let text = fs::read_to_string(&page).expect("a page");
            let headings = text.lines().filter(|line| line.starts_with('#'));
            let mut anchors = headings.map(|line| {
                let line = line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
                line.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect::<String>()
            });
            assert!(anchors.any(|anchor| anchor == place), "{link}: there is no such heading");
        }
    }
}
