//! How a run ends: exit codes, and what is said about a program that failed.

use crate::cli::Running;
use crate::destination::Destination;
use crate::files;
use crate::observe::Page;
use engine::render::endings::{Texts, goals_waiting, outcome as ending_text};
use engine::{Callers, Calls, Machine, Observer, Recording, timeline};
use runtime::node::{Node, Rouser};
use runtime::outcome::{ErrorKind, RunOutcome, Waiting};
use runtime::schedule::Passed;
use runtime::statistics::Statistics;
use runtime::trace::Tracks;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The program failed.
const FAILED: u8 = 255;
/// Somebody ended it.
pub(crate) const INTERRUPTED: u8 = 130;
/// Whoever read the output has gone: what a shell says of a process that SIGPIPE has ended.
pub(crate) const READER_GONE: u8 = 141;

/// A panic is a bug of ours: says so, and how to report it.
pub(crate) fn on_panic() {
    std::panic::set_hook(Box::new(|info| {
        let mut err = std::io::stderr().lock();
        let _ = writeln!(err, "fifth: internal error: {info}");
        let _ = writeln!(err, "This is a bug in Fifth. Please report it with the program that shows it.");
        std::process::exit(101);
    }));
}

/// The system refuses memory for something that cannot do with less: a compilation, for one.
pub(crate) fn on_refused_memory() {
    let message =
        "fifth: the system refuses more memory\n   Help: `ulimit -v` shows what this shell allows (in KiB)\n";
    // Where the signal cannot be caught, the process ends by it.
    let _ = runtime::refused::exit_when_refused(message, FAILED.into());
}

/// Runs `main:main`, reports its end, and gives the exit code, with a page of the run if there is to be one. `rouser`
/// is that of [`interruptible`]; `inputs` must not be written over, and the first is the program; `calls` says what the
/// program calls, if somebody asks.
pub(crate) fn run_main(
    machine: &mut Machine,
    rouser: Option<Rouser>,
    options: &Running,
    inputs: &[PathBuf],
    calls: &dyn Fn() -> Calls,
) -> anyhow::Result<u8> {
    // The first process of several has the page.
    let port = options.observe.filter(|_| !machine.follows());
    // The last one is this executable.
    let program = inputs.split_last().and_then(|(_, texts)| texts.first());
    let open = |port| Page::open(machine, port, program.map(PathBuf::as_path), rouser);
    let page = port.map(open).transpose()?;
    answer_questions(machine, page.as_ref().map(Page::observer));
    let mut told = String::new();
    let result = run_and_report(machine, options, inputs, calls, &mut told);
    if let Some(page) = page {
        match &result {
            Ok(code) => page.end(*code, &told),
            Err(error) => page.end(crate::USAGE, &format!("{error:#}")),
        }
    }
    result
}

/// Runs `main:main`. `told`: gets what is said about its end.
fn run_and_report(
    machine: &mut Machine,
    options: &Running,
    inputs: &[PathBuf],
    calls: &dyn Fn() -> Calls,
    told: &mut String,
) -> anyhow::Result<u8> {
    let follows = machine.follows();
    // A name that cannot be written should not cost a run.
    let destination = |path: &Option<PathBuf>| {
        let path = path.as_deref().filter(|_| !follows);
        path.map(|path| Destination::new(path, inputs)).transpose()
    };
    let figures = destination(&options.stats_file)?;
    let (trace, profile) = (destination(&options.trace)?, destination(&options.profile)?);
    differ([("--stats-file", &figures), ("--trace", &trace), ("--profile", &profile)])?;
    if profile.is_some() {
        machine.profile();
    }
    if options.stats_file.is_some() {
        machine.note_collections();
    }
    let record = figures.map(|figures| (figures, Recording::start()));
    let started = Instant::now();
    let outcome = machine.run("main", "main")?.expect("the compiler checked that main:main/0 is there");
    if follows {
        return Ok(0);
    }
    let outcome = match machine.node().flush() {
        Err(error) if matches!(outcome, RunOutcome::Success | RunOutcome::Exit(_)) => {
            RunOutcome::Failed(error)
        }
        _ => outcome,
    };
    let mut err = std::io::stderr().lock();
    // A closed standard error leaves nobody to tell.
    let failed = matches!(outcome, RunOutcome::Failed(_) | RunOutcome::Deadlock { .. });
    let calls = if failed { calls() } else { Calls::default() };
    let callers = Some(Callers { calls: &calls, atoms: machine.atoms() });
    *told = ending_text(&outcome, Texts { lines: &files::line, callers });
    let _ = err.write_all(told.as_bytes());
    if options.stats {
        let _ = all_statistics(machine, options, started.elapsed(), &mut err);
    }
    drop(err);
    let mut done = if record.is_some() || trace.is_some() { machine.told(started) } else { Vec::new() };
    // An interrupt leaves no part of a file.
    let waker = machine.node().waker();
    waker.hold_interrupts();
    if let Some((figures, record)) = record {
        let record = record.finish(machine, options.simulate, &mut done);
        figures.write(0o666, |out| Ok(serde_json::to_writer(out, &record)?))?;
    }
    if let Some(trace) = trace {
        let traces: Vec<Tracks> = done.into_iter().filter_map(|told| told.trace).collect();
        trace.write(0o666, |out| timeline::write(&traces, machine.has_one_clock(), out))?;
    }
    if let Some((destination, path)) = profile.zip(options.profile.as_deref()) {
        let times = machine.times();
        let text =
            if is_for_pprof(path) { times.pprof(started.elapsed()) } else { times.folded().into_bytes() };
        destination.write(0o666, |out| out.write_all(&text))?;
    }
    if waker.release_interrupts() {
        return Ok(INTERRUPTED);
    }
    let code = exit_code(&outcome);
    Ok(if code == FAILED { postmortem(machine).unwrap_or(code) } else { code })
}

/// `--stats`.
fn all_statistics(
    machine: &Machine,
    options: &Running,
    total: Duration,
    out: &mut impl Write,
) -> std::io::Result<()> {
    if let Some(simulate) = options.simulate {
        return crate::simulated::statistics(machine, simulate, out);
    }
    statistics(&machine.statistics(), machine.worker_count(), total, out)?;
    messages(machine, out)?;
    match machine.passed() {
        Some(Passed { times, trace }) => writeln!(out, "{:<22}{times} turns, {trace:016x}", "schedule"),
        None => Ok(()),
    }
}

/// Refuses one file for two options.
fn differ(options: [(&str, &Option<Destination>); 3]) -> anyhow::Result<()> {
    let named: Vec<_> = options.into_iter().filter_map(|(name, file)| Some((name, file.as_ref()?))).collect();
    for (index, (name, one)) in named.iter().enumerate() {
        if let Some((other, _)) = named[index + 1..].iter().find(|(_, other)| one.is_same(other)) {
            anyhow::bail!("{name} and {other} name the same file");
        }
    }
    Ok(())
}

/// Whether a profile of this name is to be read by `pprof`.
fn is_for_pprof(path: &Path) -> bool {
    path.to_string_lossy().ends_with(".pb.gz")
        || path.extension().is_some_and(|extension| extension == "pprof")
}

/// Runs the goal that the program registered for its failure (`system_control:postmortem`), and gives the status with
/// which that goal asks to exit, if it does.
fn postmortem(machine: &mut Machine) -> Option<u8> {
    let (predicate, args) = machine.node().take_postmortem()?;
    // As above: a closed standard error leaves nobody to tell.
    let _ = writeln!(std::io::stderr(), "Starting postmortem processing...");
    let outcome = machine.run_alone(predicate, args);
    let flushed = machine.node().flush();
    let outcome = flushed.map_or_else(RunOutcome::Failed, |()| outcome);
    // Goals that wait for ever are no news after the first failure: only an error is.
    if let RunOutcome::Failed(_) = outcome {
        let _ = std::io::stderr().write_all(ending_text(&outcome, FILES).as_bytes());
    }
    match outcome {
        RunOutcome::Exit(_) => Some(exit_code(&outcome)),
        _ => None,
    }
}

/// What reports quote if nothing is known of the program but its files.
const FILES: Texts<'static> = Texts { lines: &files::line, callers: None };

/// The exit code of an outcome.
fn exit_code(outcome: &RunOutcome) -> u8 {
    match outcome {
        RunOutcome::Success => 0,
        RunOutcome::Exit(status) => (*status & 255) as u8,
        RunOutcome::Failed(error) if error.kind == ErrorKind::Interrupted => INTERRUPTED,
        RunOutcome::Failed(error) if error.kind == ErrorKind::ReaderGone => READER_GONE,
        RunOutcome::Failed(_) | RunOutcome::Deadlock { .. } => FAILED,
    }
}

/// From now on Ctrl-C and SIGTERM end the runs of a machine. Answers what ends its rest.
pub(crate) fn interruptible(machine: &mut Machine) -> Option<Rouser> {
    // Without handlers an interrupt ends the process all the same, only less politely.
    Node::end_on_interrupt(machine.nodes()).ok().flatten()
}

/// From now on somebody who asks (SIGQUIT, or the page) is told what waits, and the run goes on.
pub(crate) fn answer_questions(machine: &mut Machine, observer: Option<Arc<Observer>>) {
    for node in machine.nodes() {
        let (number, observer) = (node.options().node, observer.clone());
        node.report_to(Arc::new(move |goals| {
            if !observer.as_ref().is_some_and(|observer| observer.answer(number, &goals)) {
                asked(number, &goals);
            }
        }));
    }
}

/// Says what waits at this node.
fn asked(node: u32, goals: &Waiting) {
    let mut text = String::from("fifth: asked what waits\n");
    if goals.count == 0 {
        // The first node speaks for those where nothing waits.
        if node > 0 {
            return;
        }
        text += "   no goal waits\n";
    }
    text += &goals_waiting(goals, FILES);
    // A closed standard error leaves nobody to tell.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// `--stats` of several nodes: what each of them has sent, by kind of message, and what its tables hold at the end.
fn messages(machine: &Machine, out: &mut impl Write) -> std::io::Result<()> {
    let counters = machine.counters();
    if counters.is_empty() {
        return Ok(());
    }
    let mut row = |name: &str, figure: &dyn Fn(usize) -> u64| {
        let figures: Vec<String> = (0..counters.len()).map(|node| figure(node).to_string()).collect();
        writeln!(out, "{name:<22}{}", figures.join(" "))
    };
    let statistics = machine.statistics_by_node();
    row("reductions by node", &|node| statistics[node].reductions)?;
    for (kind, name) in distribution::KINDS.iter().enumerate() {
        row(&format!("sent, {name}"), &|node| counters[node].sent[kind])?;
    }
    row("goals given away", &|node| counters[node].gifts)?;
    row("references released", &|node| counters[node].released)?;
    row("structures identified", &|node| counters[node].identified)?;
    row("references resolved", &|node| counters[node].resolved)?;
    row("suspected garbage", &|node| counters[node].suspected)?;
    row("exports at the end", &|node| counters[node].exports as u64)?;
    row("imports at the end", &|node| counters[node].imports as u64)?;
    let names: BTreeSet<&String> = machine.beside().iter().flat_map(|counts| counts.keys()).collect();
    let count = |node: usize, name: &String| machine.beside()[node].get(name).copied().unwrap_or_default();
    names.into_iter().try_for_each(|name| row(name, &|node| count(node, name)))
}

/// `--stats`: one figure a line, name first.
fn statistics(
    workers: &[Statistics],
    count: usize,
    total: Duration,
    out: &mut impl Write,
) -> std::io::Result<()> {
    let figures = Statistics::sum(workers);
    let seconds = |time: Duration| format!("{:.3} s", time.as_secs_f64());
    let milliseconds = |time: Duration| format!("{:.3} ms", time.as_secs_f64() * 1e3);
    let megabytes = |bytes: usize| format!("{:.1} MB", bytes as f64 / (1 << 20) as f64);
    // Nothing of nothing is nothing.
    let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let (pauses, stops, collecting) = (&figures.pauses, &figures.stops, figures.collecting());
    let mut rows: Vec<(&str, String)> = vec![
        ("workers", count.to_string()),
        ("reductions", figures.reductions.to_string()),
        ("suspensions", figures.suspensions.to_string()),
        ("resumptions", figures.resumptions.to_string()),
        ("words allocated", figures.words_allocated.to_string()),
        ("minor collections", figures.minor_collections.to_string()),
        ("major collections", figures.major_collections.to_string()),
        ("words copied, minor", figures.words_copied_minor.to_string()),
        ("words copied, major", figures.words_copied_major.to_string()),
        ("words copied a second", {
            let speed = ratio(figures.words_copied() as f64, collecting.as_secs_f64());
            format!("{:.1} million", speed / 1e6)
        }),
        ("time, minor", seconds(figures.minor_time)),
        ("time, major", seconds(figures.major_time)),
        ("time, reducing", seconds(total.saturating_sub(collecting))),
        ("pauses", pauses.count.to_string()),
        ("pauses, total", seconds(collecting)),
        (
            "pauses, share of time",
            format!("{:.1} %", 100.0 * ratio(collecting.as_secs_f64(), total.as_secs_f64())),
        ),
        ("pauses, 50 % within", milliseconds(pauses.percentile(50))),
        ("pauses, 99 % within", milliseconds(pauses.percentile(99))),
        ("longest pause", milliseconds(pauses.longest)),
    ];
    if workers.len() > 1 {
        let shares = |words: fn(&Statistics) -> u64| {
            let all = words(&figures) as f64;
            let shares =
                workers.iter().map(|worker| format!("{:.0}", 100.0 * ratio(words(worker) as f64, all)));
            shares.collect::<Vec<_>>().join(" ") + " %"
        };
        rows.extend([
            ("stopping, 50 % within", milliseconds(stops.percentile(50))),
            ("stopping, 99 % within", milliseconds(stops.percentile(99))),
            ("longest stopping", milliseconds(stops.longest)),
            ("copied by workers", shares(Statistics::words_copied)),
            ("scanned by workers", shares(|worker| worker.words_scanned)),
        ]);
        let counts = [
            ("rests", figures.rests),
            ("requests for goals", figures.requests),
            ("gifts of goals", figures.gifts),
            ("words given", figures.words_given),
            ("goals back", figures.goals_back),
            ("goals sent", figures.mails - figures.gifts - figures.goals_back),
            ("shared writes", figures.shared_writes),
            ("shared writes lost", figures.shared_writes_lost),
        ];
        rows.extend(counts.map(|(name, count)| (name, count.to_string())));
    }
    // The code of executables does not count them.
    rows.retain(|&(name, _)| name != "reductions" || figures.reductions > 0);
    rows.push(("peak data", megabytes(figures.bytes_peak)));
    rows.iter().try_for_each(|(name, value)| writeln!(out, "{name:<22}{value}"))
}
