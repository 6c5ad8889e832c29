//! `cargo xtask compare`: programs of everyday kinds (`examples/compare/`) beside the same in other languages. Each
//! must print the same as the others. Writes `docs/comparison.md`.
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

/// The languages, each with the ending of its files.
const LANGUAGES: [(&str, &str); 4] = [("KL1", "kl1"), ("Python", "py"), ("Go", "go"), ("Erlang", "erl")];

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
    /// The command that runs a text; `None` if its language is not there.
    fn command(&self, program: &str, text: &Path) -> anyhow::Result<Option<Vec<String>>> {
        let path = |path: &Path| path.to_string_lossy().into_owned();
        let built = self.root.join("target/compare").join(program);
        fs::create_dir_all(&built)?;
        let there = |tool: &str, question: &str| Command::new(tool).arg(question).output().is_ok();
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        Ok(match text.extension().and_then(|ending| ending.to_str()) {
            Some("kl1") if program == TESTS => Some(words(&[&self.fifth, "test", &path(text)])),
            Some("kl1") => Some(words(&[&self.fifth, "run", &path(text), "--"])),
            Some("py") if there("python3", "--version") => Some(words(&["python3", &path(text)])),
            Some("go") if there("go", "version") => {
                let executable = built.join("main");
                if program == TESTS {
                    let renamed = built.join("main_test.go");
                    fs::copy(text, &renamed)?;
                    done(Command::new("go").args(["test", "-c", "-o"]).arg(&executable).arg(&renamed))?;
                } else {
                    done(Command::new("go").arg("build").arg("-o").arg(&executable).arg(text))?;
                }
                Some(vec![path(&executable)])
            }
            Some("erl") if there("erlc", "--version") => {
                done(Command::new("erlc").arg("-o").arg(&built).arg(text))?;
                let start = "main:start(init:get_plain_arguments()), halt().";
                Some(words(&["erl", "-noshell", "-pa", &path(&built), "-eval", start, "-extra"]))
            }
            _ => None,
        })
    }
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

/// A row of the table.
fn row(place: &Place<'_>, folder: &Path, rounds: usize) -> anyhow::Result<String> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let main = fs::read_to_string(folder.join("main.kl1")).with_context(|| folder.display().to_string())?;
    let what = main.lines().next().unwrap_or_default().trim_start_matches(['%', ' ']).trim_end_matches('.');
    let file = input(&name).file(place.root, &name)?;
    let mut row = format!("| [{name}](../examples/compare/{name}): {what}");
    let mut expected: Option<Vec<u8>> = None;
    for (language, ending) in LANGUAGES {
        let text = folder.join(format!("main.{ending}"));
        let command = if text.is_file() { place.command(&name, &text)? } else { None };
        let Some(mut command) = command else {
            row.push_str(" | - | -");
            continue;
        };
        command.extend(file.iter().map(|path: &PathBuf| path.to_string_lossy().into_owned()));
        let with_port = || {
            let port = SERVERS.contains(&name.as_str()).then(free_port).transpose()?;
            Ok::<_, anyhow::Error>(command.iter().cloned().chain(port).collect::<Vec<_>>())
        };
        let first = with_port()?;
        let output = Command::new(&first[0]).args(&first[1..]).output()?;
        ensure!(output.status.success(), "{name} in {language}: {}", String::from_utf8_lossy(&output.stderr));
        if name != TESTS && expected.get_or_insert_with(|| output.stdout.clone()) != &output.stdout {
            bail!("{name} in {language} prints something else: {}", String::from_utf8_lossy(&output.stdout));
        }
        let runs = (0..rounds).map(|_| measured(&with_port()?)).collect::<anyhow::Result<Vec<_>>>()?;
        write!(row, " | {} | {:.2}", lines(&text)?, median(&runs))?;
    }
    Ok(row + " |\n")
}

/// Builds, measures, writes the page.
pub(crate) fn run(root: &Path, rounds: usize) -> anyhow::Result<()> {
    ensure!(rounds > 0, "no rounds, no figures");
    let place = Place { root, fifth: build_fifth(root)?.to_string_lossy().into_owned() };
    let folders = fs::read_dir(root.join("examples/compare"))?;
    let mut folders: Vec<PathBuf> =
        folders.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    folders.sort();
    let mut page = String::from(
        "# The same programs in other languages\n\nPrograms of everyday kinds, each as somebody would write it who knows \
         the language: with what its standard library\nhas, and nothing else. This page is written by\n\n```sh\ncargo \
         xtask compare\n```\n\nwhich also checks that all four print the same. Lines are those that are neither empty nor \
         comments. Seconds are\nprocessor seconds of the whole process: Fifth compiles in them, Python does, too; Go and \
         Erlang were compiled before.\n",
    );
    writeln!(page, "Machine: {}.\n", machine())?;
    let names = LANGUAGES.map(|(language, _)| format!(" {language}, lines | s")).join(" |");
    writeln!(page, "| program |{names} |\n|---|{}", "--:|".repeat(2 * LANGUAGES.len()))?;
    for folder in folders {
        let row = row(&place, &folder, rounds)?;
        print!("{row}");
        page.push_str(&row);
    }
    fs::write(root.join("docs/comparison.md"), page)?;
    Ok(())
}
