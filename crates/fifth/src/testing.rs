//! `fifth test`: runs tests, each in a process of its own, so that none can harm another.

use crate::cli::{self, MessageFormat, Running, TestFormat};
use crate::files::Disk;
use crate::workers::Workers;
use crate::{USAGE, output, report};
use anyhow::{Context, bail};
use engine::sources::{Files, text_of};
use engine::testing::{self, Kind, Test, Verdict};
use engine::{Front, Wanted};
use serde_json::json;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A test failed.
const FAILED: u8 = 1;
/// How often a test that runs is asked whether it has ended.
const PATIENCE: Duration = Duration::from_millis(2);
/// Most bytes of a program's output that are shown or compared.
const OUTPUT_MAX: u64 = 1 << 26;

/// A test that was run.
struct Done {
    file: String,
    test: Test,
    verdict: Verdict,
    seconds: f64,
    /// What it has printed, unless that was what was tested.
    printed: String,
}

/// Runs the tests of the files; gives the exit code.
pub(crate) fn run(options: &cli::Test) -> anyhow::Result<u8> {
    if let Some([number, verdict]) = options.alone.as_deref() {
        return alone(options, number.parse().context("no number of a test")?, Path::new(verdict));
    }
    let files = if options.files.is_empty() { here()? } else { options.files.clone() };
    if options.format == TestFormat::Junit {
        output::line("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>")?;
    }
    let (mut passed, mut failed, mut wrong) = (0, 0, false);
    for file in &files {
        let text = text_of(&Disk, file).map_err(engine::Error::from)?;
        let tests: Vec<(usize, Test)> = testing::tests(&text).into_iter().enumerate().collect();
        if !is_right(file)? {
            wrong = true;
            continue;
        }
        let is_wanted =
            |test: &Test| options.filter.as_ref().is_none_or(|part| test.name.contains(part.as_str()));
        let mut done = vec![];
        for (number, test) in tests.into_iter().filter(|(_, test)| is_wanted(test)) {
            let one = one(file, number, test, options)?;
            if one.verdict.is_ok() {
                passed += 1
            } else {
                failed += 1
            }
            match options.format {
                TestFormat::Human => output::write(&for_people(&one))?,
                TestFormat::Json => output::line(&as_json(&one).to_string())?,
                TestFormat::Junit => {}
            }
            done.push(one);
        }
        if options.format == TestFormat::Junit && !done.is_empty() {
            output::write(&as_junit(&Disk.name(file), &done))?;
        }
    }
    match options.format {
        TestFormat::Junit => output::line("</testsuites>")?,
        TestFormat::Human => output::line(&format!("{passed} passed, {failed} failed"))?,
        TestFormat::Json => {}
    }
    if passed + failed == 0 && !wrong {
        bail!("there is no test: `fifth test --help` says what a test is");
    }
    Ok(if wrong {
        USAGE
    } else if failed > 0 {
        FAILED
    } else {
        0
    })
}

/// The KL1 files of this folder and of its folder `tests`, by name.
fn here() -> anyhow::Result<Vec<PathBuf>> {
    let mut files = vec![];
    for folder in ["", "tests"].map(Path::new) {
        let named = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let Ok(entries) = std::fs::read_dir(named) else { continue };
        let names = entries.flatten().map(|entry| folder.join(entry.file_name()));
        files.extend(names.filter(|path| path.extension().is_some_and(|end| end == "kl1") && path.is_file()));
    }
    files.sort();
    if files.is_empty() {
        bail!("no KL1 file is here or in the folder tests");
    }
    Ok(files)
}

/// Whether the file has no errors, which are shown.
fn is_right(file: &Path) -> anyhow::Result<bool> {
    let front = Front::alone();
    let mut read = engine::read(&front, &[file.to_path_buf()], &Disk, true).map_err(engine::Error::from)?;
    let right = engine::compile(&front, &mut read, Wanted::Everything).is_some();
    if !right {
        report::diagnostics(&read.diagnostics, &read.sources, MessageFormat::Human);
    }
    Ok(right)
}

fn one(file: &Path, number: usize, test: Test, options: &cli::Test) -> anyhow::Result<Done> {
    let started = Instant::now();
    let (verdict, printed) = match &test.kind {
        Kind::Unreadable(wrong) => (Err(format!("{wrong}\n")), String::new()),
        Kind::Program { stdout, exit } => (program(file, stdout, *exit, options)?, String::new()),
        Kind::Goal { .. } => goal(file, number, options)?,
    };
    Ok(Done { file: Disk.name(file), test, verdict, seconds: started.elapsed().as_secs_f64(), printed })
}

/// This executable, with an order of goals if one was asked for.
fn fifth(command: &str, options: &cli::Test) -> anyhow::Result<Command> {
    let mut fifth = Command::new(std::env::current_exe()?);
    fifth.arg(command).stdin(Stdio::null());
    fifth.args(options.schedule.map(|seed| format!("--schedule={seed}")));
    Ok(fifth)
}

/// How a process ended, and what it has printed.
struct Ended {
    code: Option<i32>,
    stdout: Vec<u8>,
    stderr: String,
}

/// Runs a process to its end, or until the test takes too long (`None`).
fn ended(mut command: Command, options: &cli::Test) -> anyhow::Result<Option<Ended>> {
    let (mut out, mut err) = (tempfile::tempfile()?, tempfile::tempfile()?);
    let mut child = command.stdout(out.try_clone()?).stderr(err.try_clone()?).spawn()?;
    let until = Instant::now() + Duration::from_secs(options.timeout.into());
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() > until {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(PATIENCE);
    };
    let text = |file: &mut std::fs::File| -> anyhow::Result<Vec<u8>> {
        let mut bytes = vec![];
        file.rewind()?;
        file.take(OUTPUT_MAX).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let (stdout, stderr) = (text(&mut out)?, text(&mut err)?);
    Ok(Some(Ended { code: status.code(), stdout, stderr: String::from_utf8_lossy(&stderr).into_owned() }))
}

fn late(options: &cli::Test) -> Verdict {
    Err(format!("it has not ended after {} seconds\n", options.timeout))
}

/// The whole program.
fn program(file: &Path, stdout: &[u8], exit: u8, options: &cli::Test) -> anyhow::Result<Verdict> {
    let mut run = fifth("run", options)?;
    run.arg(file);
    let Some(ended) = ended(run, options)? else { return Ok(late(options)) };
    let mut wrong = String::new();
    if ended.stdout != stdout {
        wrong += &difference(stdout, &ended.stdout);
    }
    if ended.code != Some(exit.into()) {
        let code = ended.code.map_or("none: a signal ended it".to_string(), |code| code.to_string());
        wrong += &format!("its exit code is {code}, and {exit} is expected\n{}", ended.stderr);
    }
    Ok(if wrong.is_empty() { Ok(()) } else { Err(wrong) })
}

/// The first line that is another one.
fn difference(expected: &[u8], printed: &[u8]) -> String {
    let lines = |text: &[u8]| String::from_utf8_lossy(text).lines().map(str::to_string).collect::<Vec<_>>();
    let (expected, printed) = (lines(expected), lines(printed));
    let at = (0..expected.len().max(printed.len())).find(|&n| expected.get(n) != printed.get(n));
    let Some(at) = at else { return "the end of its last line is another one\n".into() };
    let shown = |lines: &[String]| lines.get(at).map_or("nothing".to_string(), |line| format!("`{line}`"));
    format!("line {} is {}, and {} is expected\n", at + 1, shown(&printed), shown(&expected))
}

/// A goal, in a process that writes its verdict into a file.
fn goal(file: &Path, number: usize, options: &cli::Test) -> anyhow::Result<(Verdict, String)> {
    let verdict = tempfile::NamedTempFile::new()?;
    let mut run = fifth("test", options)?;
    run.arg("--alone").arg(number.to_string()).arg(verdict.path()).arg(file);
    let Some(ended) = ended(run, options)? else { return Ok((late(options), String::new())) };
    let told = std::fs::read(verdict.path())?;
    let printed = String::from_utf8_lossy(&ended.stdout).into_owned() + &ended.stderr;
    let verdict = match serde_json::from_slice::<Option<String>>(&told) {
        Ok(None) => Ok(()),
        Ok(Some(why)) => Err(why),
        Err(_) => Err(match ended.code {
            Some(code) => format!("it ended the process with code {code}\n"),
            None => "a signal ended the process\n".to_string(),
        }),
    };
    Ok((verdict, printed))
}

/// In that process.
fn alone(options: &cli::Test, number: usize, verdict: &Path) -> anyhow::Result<u8> {
    let [file] = options.files.as_slice() else { bail!("a test has one file") };
    let text = text_of(&Disk, file).map_err(engine::Error::from)?;
    let Some(Test { kind: Kind::Goal { goal, expected }, .. }) =
        testing::tests(&text).into_iter().nth(number)
    else {
        bail!("there is no such test");
    };
    let mut settings = Running::with(Workers { given: None }).settings()?;
    settings.schedule = options.schedule;
    let found = testing::run(file, &goal, &expected, Box::new(Disk), &settings)?;
    std::fs::write(verdict, serde_json::to_vec(&found.err())?)?;
    Ok(0)
}

/// `FILE:LINE`
fn place(done: &Done) -> String {
    format!("{}:{}", done.file, done.test.line)
}

fn for_people(done: &Done) -> String {
    let (place, name) = (place(done), &done.test.name);
    let Err(why) = &done.verdict else { return format!("ok      {place} {name}\n") };
    let indented = |text: &str| text.lines().map(|line| format!("        {line}\n")).collect::<String>();
    let mut text = format!("FAILED  {place} {name}\n{}", indented(why));
    if !done.printed.is_empty() {
        text += &format!("        it has printed:\n{}", indented(&done.printed));
    }
    text
}

fn as_json(done: &Done) -> serde_json::Value {
    json!({
        "file": done.file,
        "line": done.test.line,
        "test": done.test.name,
        "passed": done.verdict.is_ok(),
        "why": done.verdict.as_ref().err(),
        "printed": done.printed,
        "seconds": done.seconds,
    })
}

fn as_junit(file: &str, done: &[Done]) -> String {
    let failed = done.iter().filter(|done| done.verdict.is_err()).count();
    let seconds: f64 = done.iter().map(|done| done.seconds).sum();
    let mut text = format!(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failed}\" time=\"{seconds:.3}\">\n",
        escaped(file),
        done.len()
    );
    for one in done {
        let (name, line, time) = (escaped(&one.test.name), one.test.line, one.seconds);
        text += &format!(
            "    <testcase name=\"{name}\" classname=\"{}\" file=\"{}\" line=\"{line}\" time=\"{time:.3}\"",
            escaped(file),
            escaped(file)
        );
        text += &match &one.verdict {
            Ok(()) => "/>\n".to_string(),
            Err(why) => format!(">\n      <failure>{}</failure>\n    </testcase>\n", escaped(why)),
        };
    }
    text + "  </testsuite>\n"
}

/// A text for XML, which has no control characters.
fn escaped(text: &str) -> String {
    let escape = |c: char| match c {
        '&' => "&amp;".to_string(),
        '<' => "&lt;".to_string(),
        '>' => "&gt;".to_string(),
        '"' => "&quot;".to_string(),
        '\n' | '\t' => c.to_string(),
        c if c.is_control() => "?".to_string(),
        c => c.to_string(),
    };
    text.chars().map(escape).collect()
}
