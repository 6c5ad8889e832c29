//! `cargo xtask bench --library`: programs that use the library, beside the same in Python if it is there.
//!
//! Both must print the same. Times are CPU seconds of the whole process with one worker, compilation included; medians
//! of all rounds.

use crate::bench::{measured, median};
use anyhow::{Context, bail, ensure};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a program reads.
#[derive(Clone, Copy)]
pub(crate) enum Input {
    None,
    /// This number.
    Number(&'static str),
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

const PROGRAMS: [Program; 7] = [
    Program { name: "wordfrequency", input: Input::Words, aim: "0.3 s, 15 lines" },
    Program { name: "map", input: Input::None, aim: "twice Python" },
    Program { name: "json", input: Input::Json, aim: "50 MB/s, read and written" },
    Program { name: "csv", input: Input::Table, aim: "" },
    Program { name: "sort", input: Input::Words, aim: "" },
    Program { name: "builder", input: Input::Number("20000"), aim: "linear" },
    Program { name: "builder", input: Input::Number("1000000"), aim: "linear" },
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
                Input::None | Input::Number(_) => break,
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
        if matches!(self, Input::None | Input::Number(_)) {
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

/// A program and what it is compared with: their commands.
struct Pair {
    own: Vec<String>,
    theirs: Option<Vec<String>>,
}

impl Pair {
    /// Medians of their seconds; or why they cannot be compared.
    fn seconds(&self, rounds: usize) -> anyhow::Result<(f64, Option<f64>)> {
        let printed = [Some(&self.own), self.theirs.as_ref()].into_iter().flatten().map(|command| {
            let output = Command::new(&command[0]).args(&command[1..]).output()?;
            ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
            Ok(output.stdout)
        });
        let printed = printed.collect::<anyhow::Result<Vec<_>>>()?;
        ensure!(printed.windows(2).all(|two| two[0] == two[1]), "{:?} print not the same", self.own);
        let (mut own, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            own.push(measured(&self.own)?);
            theirs.extend(self.theirs.as_deref().map(measured).transpose()?);
        }
        Ok((median(&own), self.theirs.as_ref().map(|_| median(&theirs))))
    }
}

/// Measures with this `fifth`, reports.
pub(crate) fn run(root: &Path, fifth: &Path, rounds: usize) -> anyhow::Result<()> {
    if rounds == 0 {
        bail!("no rounds, no figures");
    }
    let python = Command::new("python3").arg("--version").output().is_ok();
    println!(
        "{:<16} {:>7} {:>6} {:>9} {:>6} {:>7}  aim{}",
        "program",
        "CPU s",
        "lines",
        "Python s",
        "lines",
        "ratio",
        if python { "" } else { " (python3 is not there)" }
    );
    for Program { name, input, aim } in &PROGRAMS {
        let folder = root.join("benches/library");
        let own = folder.join(format!("{name}.kl1"));
        let own = if own.is_file() { own } else { root.join(format!("examples/{name}.kl1")) };
        let theirs = folder.join(format!("{name}.py"));
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let argument = match input {
            Input::Number(number) => Some(number.to_string()),
            _ => input.file(root, name)?.as_deref().map(text),
        };
        let mut command = vec![text(fifth), "run".into(), "--workers".into(), "1".into(), text(&own)];
        command.extend(argument.iter().flat_map(|argument| ["--".to_string(), argument.clone()]));
        // Isolated: the folder has files that are named as modules of Python are.
        let other = ["python3".to_string(), "-I".into(), text(&theirs)].into_iter().chain(argument);
        let pair = Pair { own: command, theirs: python.then(|| other.collect()) };
        let (seconds, theirs_seconds) = pair.seconds(rounds)?;
        let shown =
            |number: Option<f64>, digits: usize| number.map_or("-".into(), |n| format!("{n:.digits$}"));
        let speed = match input {
            Input::Json => format!(" ({:.0} MB/s)", 2.0 * JSON_BYTES as f64 / 1e6 / seconds),
            _ => String::new(),
        };
        let shown_name = match input {
            Input::Number(number) => format!("{name} {number}"),
            _ => name.to_string(),
        };
        println!(
            "{shown_name:<16} {seconds:>7.3} {:>6} {:>9} {:>6} {:>7}  {aim}{speed}",
            lines(&own)?,
            shown(theirs_seconds, 3),
            lines(&theirs)?,
            shown(theirs_seconds.map(|theirs| seconds / theirs), 2),
        );
    }
    Ok(())
}
