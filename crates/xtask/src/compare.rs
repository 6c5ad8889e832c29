//! `cargo xtask compare`: programs of everyday kinds (`examples/compare/`) beside the same in other languages. Each
//! must print the same as the others. Writes `docs/comparison.md`; a test holds its programs and numbers of lines to
//! those of the folder.
//!
//! Programs whose name is of [`SERVERS`] get a free port. Of `tests`, which are a test of each language's own kind,
//! only the exit code counts. Times are CPU seconds of the whole process, medians of all rounds. Go and Erlang are
//! compiled before; Fifth compiles in its time.

use crate::bench::{build_fifth, machine, measured, median};
use crate::library::{Input, lines};
use anyhow::{Context, bail, ensure};
use std::fmt::Write;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A language, the ending of its files, and a command that tells the version.
type Language = (&'static str, &'static str, &'static [&'static str]);

const RELEASE: &str = "io:put_chars([\"Erlang/OTP \",erlang:system_info(otp_release)]),halt().";
const LANGUAGES: [Language; 4] = [
    ("KL1", "kl1", &[]),
    ("Python", "py", &["python3", "--version"]),
    ("Go", "go", &["go", "version"]),
    ("Erlang", "erl", &["erl", "-noshell", "-eval", RELEASE]),
];

/// Programs that listen.
const SERVERS: [&str; 2] = ["echo", "http"];
/// Programs that are run as tests.
const TESTS: &str = "tests";

/// What a program reads, by its name.
fn input(program: &str) -> Input {
    match program {
        "wordfrequency" => Input::Words,
        "json" => Input::Json,
        "csv" => Input::Table,
        _ => Input::None,
    }
}

/// Where programs are run.
struct Place<'a> {
    root: &'a Path,
    fifth: String,
}

impl Place<'_> {
    /// The command that runs a text, which is compiled before if its language is. The tools are there.
    fn command(&self, program: &str, ending: &str, text: &Path) -> anyhow::Result<Vec<String>> {
        let path = |path: &Path| path.to_string_lossy().into_owned();
        let built = self.root.join("target/compare").join(program);
        fs::create_dir_all(&built)?;
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        Ok(match ending {
            "kl1" if program == TESTS => words(&[&self.fifth, "test", &path(text)]),
            "kl1" => words(&[&self.fifth, "run", &path(text), "--"]),
            "py" => words(&["python3", &path(text)]),
            "go" => {
                let executable = built.join("main");
                if program == TESTS {
                    let renamed = built.join("main_test.go");
                    fs::copy(text, &renamed)?;
                    done(Command::new("go").args(["test", "-c", "-o"]).arg(&executable).arg(&renamed))?;
                } else {
                    done(Command::new("go").arg("build").arg("-o").arg(&executable).arg(text))?;
                }
                vec![path(&executable)]
            }
            _ => {
                done(Command::new("erlc").arg("-o").arg(&built).arg(text))?;
                let start = "main:start(init:get_plain_arguments()), halt().";
                words(&["erl", "-noshell", "-pa", &path(&built), "-eval", start, "-extra"])
            }
        })
    }
}

/// What a language's tool says of its version; `None` if it is not there.
fn version(question: &[&str]) -> Option<String> {
    let (tool, arguments) = question.split_first()?;
    let output = Command::new(tool).args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_string())
}

fn done(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status()?;
    ensure!(status.success(), "{command:?}: {status}");
    Ok(())
}

/// A port of this host that nobody has just now.
fn free_port() -> anyhow::Result<String> {
    let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
    Ok(port.to_string())
}

/// The programs' folders, by name.
fn folders(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(root.join("examples/compare"))?;
    let mut folders: Vec<PathBuf> =
        entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    folders.sort();
    Ok(folders)
}

fn name(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// What a row begins with: the program's name, and the first sentence of its text in KL1.
fn begin(folder: &Path) -> anyhow::Result<String> {
    let main = fs::read_to_string(folder.join("main.kl1")).with_context(|| folder.display().to_string())?;
    let what = main.lines().next().unwrap_or_default().trim_start_matches(['%', ' ']).trim_end_matches('.');
    let name = name(folder);
    Ok(format!("| [{name}](../examples/compare/{name}): {what}"))
}

/// Lines of a program in a language, if there is one.
fn length(folder: &Path, ending: &str) -> anyhow::Result<Option<usize>> {
    let text = folder.join(format!("main.{ending}"));
    text.is_file().then(|| lines(&text)).transpose()
}

/// What is known of a program after its first run.
struct Compared<'a> {
    place: &'a Place<'a>,
    name: String,
    file: Option<PathBuf>,
    /// What all of them print.
    expected: Option<Vec<u8>>,
}

impl Compared<'_> {
    /// Seconds of the program in one language.
    fn seconds(&mut self, folder: &Path, ending: &str, rounds: usize) -> anyhow::Result<f64> {
        let name = &self.name;
        let mut command = self.place.command(name, ending, &folder.join(format!("main.{ending}")))?;
        command.extend(self.file.iter().map(|path| path.to_string_lossy().into_owned()));
        let with_port = || {
            let port = SERVERS.contains(&name.as_str()).then(free_port).transpose()?;
            Ok::<_, anyhow::Error>(command.iter().cloned().chain(port).collect::<Vec<_>>())
        };
        let first = with_port()?;
        let output = Command::new(&first[0]).args(&first[1..]).output()?;
        ensure!(output.status.success(), "{first:?}: {}", String::from_utf8_lossy(&output.stderr));
        if name != TESTS && self.expected.get_or_insert_with(|| output.stdout.clone()) != &output.stdout {
            bail!("{first:?} prints something else: {}", String::from_utf8_lossy(&output.stdout));
        }
        let runs = (0..rounds).map(|_| measured(&with_port()?)).collect::<anyhow::Result<Vec<_>>>()?;
        Ok(median(&runs))
    }
}

/// A row of the table; `there` are the endings of languages that are there.
fn row(place: &Place<'_>, folder: &Path, rounds: usize, there: &[&str]) -> anyhow::Result<String> {
    let mut row = begin(folder)?;
    let name = name(folder);
    let file = input(&name).file(place.root, &name)?;
    let mut compared = Compared { place, name, file, expected: None };
    for (_, ending, _) in LANGUAGES {
        match length(folder, ending)? {
            None => row.push_str(" | - | -"),
            Some(lines) if !there.contains(&ending) => write!(row, " | {lines} | -")?,
            Some(lines) => {
                write!(row, " | {lines} | {:.2}", compared.seconds(folder, ending, rounds)?)?;
            }
        }
    }
    Ok(row + " |\n")
}

const HEAD: &str = "# The same programs in other languages

Programs of everyday kinds, each as somebody would write it who knows the language: with what its standard library
has, and nothing else. This page is written by

```sh
cargo xtask compare
```

which also checks that all of them print the same. Lines are those that are neither empty nor comments. Seconds are
processor seconds of the whole process, medians: Fifth and Python compile in them, Go and Erlang were compiled before. A
dash is for a program that needs what the language's library does not have (Erlang: JSON, and HTTP without a
configuration), and for the seconds of a language that was not there.

";

/// Measures with this `fifth`, or one that is built; writes the page.
pub(crate) fn run(root: &Path, rounds: usize, fifth: Option<PathBuf>) -> anyhow::Result<()> {
    ensure!(rounds > 0, "no rounds, no figures");
    let fifth = fifth.map_or_else(|| build_fifth(root), Ok)?;
    let place = Place { root, fifth: fifth.to_string_lossy().into_owned() };
    let mut page = String::from(HEAD);
    writeln!(page, "Machine: {}; {rounds} runs of each.", machine())?;
    let mut there = vec![LANGUAGES[0].1];
    for (language, ending, question) in &LANGUAGES[1..] {
        match version(question) {
            Some(version) => {
                there.push(ending);
                writeln!(page, "{language}: {version}.")?;
            }
            None => writeln!(page, "{language} was not there.")?,
        }
    }
    let names = LANGUAGES.map(|(language, ..)| format!(" {language}, lines | s")).join(" |");
    writeln!(page, "\n| program |{names} |\n|---|{}", "--:|".repeat(2 * LANGUAGES.len()))?;
    for folder in folders(root)? {
        let row = row(&place, &folder, rounds, &there)?;
        print!("{row}");
        page.push_str(&row);
    }
    fs::write(root.join("docs/comparison.md"), page)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_the_programs_and_lines_of_the_folder() {
        let root = crate::root();
        let page = fs::read_to_string(root.join("docs/comparison.md")).expect("the page");
        // A row without its seconds.
        let row = |line: &str| {
            let cells = line.split('|').map(str::trim).enumerate();
            cells
                .filter(|(at, _)| *at < 2 || at % 2 == 0)
                .map(|(_, cell)| cell.to_string())
                .collect::<Vec<_>>()
        };
        let rows: Vec<_> = page.lines().filter(|line| line.starts_with("| [")).map(row).collect();
        let folders = folders(&root).expect("the programs");
        let expected: Vec<_> = folders
            .iter()
            .map(|folder| {
                let mut line = begin(folder).expect("a program");
                for (_, ending, _) in LANGUAGES {
                    let lines = length(folder, ending).expect("it can be read");
                    line += &format!(" | {} | ", lines.map_or("-".into(), |lines| lines.to_string()));
                }
                row(&(line + "|"))
            })
            .collect();
        assert_eq!(rows, expected, "`cargo xtask compare` writes the page anew");
    }
}
