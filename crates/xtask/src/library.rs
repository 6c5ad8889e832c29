//! `cargo xtask bench --library`: programs that use the library, beside the same in Python if it is there.
//!
//! Times are CPU seconds of the whole process with one worker, compilation included; medians of all rounds.

use crate::bench::{build_fifth, measured, median};
use anyhow::{Context, bail};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a program reads.
#[derive(Clone, Copy)]
pub(crate) enum Input {
    None,
    /// Words by Zipf's law in lines.
    Words,
    /// A list of objects.
    Json,
    /// Rows of a number, a word and a number, every fourth with quotes.
    Table,
}

/// A program of `benches/library/` (or the example), and what it is to reach.
struct Program {
    name: &'static str,
    input: Input,
    aim: &'static str,
}

const PROGRAMS: [Program; 6] = [
    Program { name: "wordfrequency", input: Input::Words, aim: "0.3 s, 15 lines" },
    Program { name: "map", input: Input::None, aim: "twice Python" },
    Program { name: "json", input: Input::Json, aim: "50 MB/s, read and written" },
    Program { name: "csv", input: Input::Table, aim: "" },
    Program { name: "sort", input: Input::Words, aim: "" },
    Program { name: "builder", input: Input::None, aim: "linear: 20,000 pieces in 1/50 of it" },
];

/// Bytes of a text that is read, about.
const TEXT_BYTES: usize = 3_000_000;
const JSON_BYTES: usize = 11_000_000;

/// Numbers that are the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
    fn word(&mut self) -> String {
        // The rank of a word is about as likely as its inverse.
        let mut rank = 1u64 << self.below(15);
        rank += self.below(rank);
        let mut word = String::new();
        for _ in 0..2 + rank % 7 {
            rank = rank.wrapping_mul(2_654_435_761) >> 3 & 0xff_ffff | 1;
            word.push(char::from(b'a' + (rank % 26) as u8));
        }
        word
    }
}

impl Input {
    fn text(self) -> String {
        let (mut numbers, mut text, mut row) = (Numbers(1), String::new(), 0);
        let bytes = if matches!(self, Input::Json) { JSON_BYTES } else { TEXT_BYTES };
        while text.len() < bytes {
            row += 1;
            let (a, b, c) = (numbers.word(), numbers.word(), numbers.below(1_000_000));
            let written = match self {
                Input::None => break,
                Input::Words => writeln!(text, "{a} {b} {} {}", numbers.word(), numbers.word()),
                Input::Json => {
                    let comma = if row == 1 { "[" } else { "," };
                    let ok = c % 2 == 0;
                    write!(
                        text,
                        "{comma}{{\"id\":{row},\"name\":\"{a}\",\"tags\":[\"{b}\",\"{a}\"],\"score\":0.{c},\"ok\":{ok},\
                         \"note\":\"line\\n\\\"{b}\\\"\"}}"
                    )
                }
                Input::Table if row % 4 == 0 => writeln!(text, "{row},\"{a}, \"\"{a}\"\"\",{c}"),
                Input::Table => writeln!(text, "{row},{a},{c}"),
            };
            written.expect("strings take all");
        }
        if matches!(self, Input::Json) {
            text.push(']');
        }
        text
    }
    /// The file, made if it is not there.
    pub(crate) fn file(self, root: &Path, name: &str) -> anyhow::Result<Option<PathBuf>> {
        if matches!(self, Input::None) {
            return Ok(None);
        }
        let path = root.join(format!("target/library/{name}.txt"));
        fs::create_dir_all(path.parent().context("a folder of builds")?)?;
        fs::write(&path, self.text())?;
        Ok(Some(path))
    }
}

/// Lines of a program that are not empty and no comments.
pub(crate) fn lines(path: &Path) -> anyhow::Result<usize> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let comment = |line: &str| ["%", "#", "//"].iter().any(|mark| line.starts_with(mark));
    Ok(text.lines().map(str::trim).filter(|line| !line.is_empty() && !comment(line)).count())
}

/// Builds, measures, reports.
pub(crate) fn run(root: &Path, rounds: usize) -> anyhow::Result<()> {
    if rounds == 0 {
        bail!("no rounds, no figures");
    }
    let fifth = build_fifth(root)?.to_string_lossy().into_owned();
    let python = Command::new("python3").arg("--version").output().is_ok();
    println!(
        "{:<14} {:>7} {:>6} {:>9} {:>6} {:>7}  aim",
        "program", "CPU s", "lines", "Python s", "lines", "ratio"
    );
    for Program { name, input, aim } in &PROGRAMS {
        let folder = root.join("benches/library");
        let own = folder.join(format!("{name}.kl1"));
        let own = if own.is_file() { own } else { root.join(format!("examples/{name}.kl1")) };
        let theirs = folder.join(format!("{name}.py"));
        let file = input.file(root, name)?;
        let argument = file.as_deref().map(|path| path.to_string_lossy().into_owned());
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let mut ours = vec![fifth.clone(), "run".into(), "--workers".into(), "1".into(), text(&own)];
        ours.extend(argument.iter().flat_map(|file| ["--".to_string(), file.clone()]));
        let mut python_command = vec!["python3".to_string(), text(&theirs)];
        python_command.extend(argument);
        let (mut own_runs, mut their_runs) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            own_runs.push(measured(&ours)?);
            if python {
                their_runs.push(measured(&python_command)?);
            }
        }
        let seconds = median(&own_runs);
        let theirs_seconds = python.then(|| median(&their_runs));
        let shown =
            |number: Option<f64>, digits: usize| number.map_or("-".into(), |n| format!("{n:.digits$}"));
        let speed = match input {
            Input::Json => format!(" ({:.0} MB/s)", 2.0 * JSON_BYTES as f64 / 1e6 / seconds),
            _ => String::new(),
        };
        println!(
            "{name:<14} {seconds:>7.3} {:>6} {:>9} {:>6} {:>7}  {aim}{speed}",
            lines(&own)?,
            shown(theirs_seconds, 3),
            lines(&theirs)?,
            shown(theirs_seconds.map(|theirs| seconds / theirs), 2),
        );
    }
    Ok(())
}
