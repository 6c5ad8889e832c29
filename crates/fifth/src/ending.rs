//! How a run ends: exit codes, and what is said about a program that failed.

use crate::cli::Engine;
use crate::driver::Machine;
use runtime::outcome::{ProgramError, RunOutcome, SuspendedGoal};
use runtime::statistics::Statistics;
use std::io::Write;
use std::time::{Duration, Instant};

/// The program failed.
const FAILED: u8 = 255;

/// A panic is a bug of ours: says so, and how to report it.
pub(crate) fn on_panic() {
    std::panic::set_hook(Box::new(|info| {
        let mut err = std::io::stderr().lock();
        let _ = writeln!(err, "fifth: internal error: {info}");
        let _ = writeln!(err, "This is a bug in Fifth. Please report it with the program that shows it.");
        std::process::exit(101);
    }));
}

/// Runs `main:main`, reports its end, and gives the exit code.
pub(crate) fn run_main(machine: &mut Machine, engine: &Engine) -> u8 {
    let started = Instant::now();
    let outcome = machine.run("main", "main").expect("the compiler checked that main:main/0 is there");
    let outcome = match runtime::builtins::io::flush(machine.node.worker()) {
        Err(error) if matches!(outcome, RunOutcome::Success | RunOutcome::Exit(_)) => {
            RunOutcome::Failed(error)
        }
        _ => outcome,
    };
    let mut err = std::io::stderr().lock();
    // A closed standard error leaves nobody to tell.
    let _ = report(&outcome, &mut err);
    if engine.stats {
        let _ = statistics(&machine.node.statistics(), started.elapsed(), &mut err);
    }
    drop(err);
    if matches!(outcome, RunOutcome::Failed(_) | RunOutcome::Deadlock { .. }) && postmortem(machine) {
        return 0;
    }
    exit_code(&outcome)
}

/// Runs the goal that the program registered for its failure (`system_control:postmortem`). True if there was one.
fn postmortem(machine: &mut Machine) -> bool {
    let Some((predicate, args)) = runtime::builtins::take_postmortem(machine.node.worker()) else {
        return false;
    };
    // As above: a closed standard error leaves nobody to tell.
    let _ = writeln!(std::io::stderr(), "Starting postmortem processing...");
    let outcome = machine.node.run(predicate, &args);
    let flushed = runtime::builtins::io::flush(machine.node.worker());
    let outcome = flushed.map_or_else(RunOutcome::Failed, |()| outcome);
    // The goals that waited before still do: only an error is news.
    if let RunOutcome::Failed(_) = outcome {
        let _ = report(&outcome, &mut std::io::stderr());
    }
    true
}

/// The exit code of an outcome.
fn exit_code(outcome: &RunOutcome) -> u8 {
    match outcome {
        RunOutcome::Success => 0,
        RunOutcome::Exit(status) => (*status & 255) as u8,
        RunOutcome::Failed(_) | RunOutcome::Deadlock { .. } => FAILED,
    }
}

/// Says how a run ended, unless it ended well.
pub(crate) fn report(outcome: &RunOutcome, out: &mut impl Write) -> std::io::Result<()> {
    match outcome {
        RunOutcome::Success | RunOutcome::Exit(_) => Ok(()),
        RunOutcome::Failed(error) => failure(error, out),
        RunOutcome::Deadlock { goals, count } => deadlock(goals, *count, out),
    }
}

fn place(file: &str, line: u32) -> String {
    if file.is_empty() { String::new() } else { format!("\n  --> {file}:{line}") }
}

fn failure(error: &ProgramError, out: &mut impl Write) -> std::io::Result<()> {
    writeln!(out, "fifth: {}{}", error.message, place(&error.file, error.line))?;
    if !error.goal.is_empty() {
        writeln!(out, "   FAIL: {}", error.goal)?;
    }
    error.details.iter().try_for_each(|line| writeln!(out, "   {line}"))
}

fn deadlock(goals: &[SuspendedGoal], count: usize, out: &mut impl Write) -> std::io::Result<()> {
    let what = if count == 1 { "1 goal waits" } else { &format!("{count} goals wait") };
    writeln!(
        out,
        "fifth: perpetual suspension (deadlock): {what} for variables that nothing can bind any more"
    )?;
    for goal in goals {
        writeln!(out, "   PSUS: {}{}", goal.goal, place(&goal.file, goal.line))?;
        if !goal.waits_for.is_empty() {
            writeln!(out, "         waits for {}", goal.waits_for.join(", "))?;
        }
    }
    if goals.len() < count {
        writeln!(out, "   and {} more", count - goals.len())?;
    }
    writeln!(
        out,
        "   Help: a goal that should bind these variables is missing, failed to send `[]` at the end of a stream, or waits itself."
    )
}

/// `--stats`: one figure a line, name first.
fn statistics(figures: &Statistics, total: Duration, out: &mut impl Write) -> std::io::Result<()> {
    let collecting = figures.minor_time + figures.major_time;
    let seconds = |time: Duration| format!("{:.3} s", time.as_secs_f64());
    let megabytes = |bytes: usize| format!("{:.1} MB", bytes as f64 / (1 << 20) as f64);
    let rows: [(&str, String); 13] = [
        ("reductions", figures.reductions.to_string()),
        ("suspensions", figures.suspensions.to_string()),
        ("resumptions", figures.resumptions.to_string()),
        ("words allocated", figures.words_allocated.to_string()),
        ("minor collections", figures.minor_collections.to_string()),
        ("major collections", figures.major_collections.to_string()),
        ("words copied, minor", figures.words_copied_minor.to_string()),
        ("words copied, major", figures.words_copied_major.to_string()),
        ("time, minor", seconds(figures.minor_time)),
        ("time, major", seconds(figures.major_time)),
        ("time, reducing", seconds(total.saturating_sub(collecting))),
        ("longest pause", format!("{:.3} ms", figures.pause_max.as_secs_f64() * 1e3)),
        ("peak data", megabytes(figures.bytes_peak)),
    ];
    rows.iter().try_for_each(|(name, value)| writeln!(out, "{name:<22}{value}"))
}
