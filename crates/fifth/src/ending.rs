//! How a run ends: exit codes, and what is said about a program that failed.

use crate::callers::{Callers, Calls, Site, arguments};
use crate::cli::Engine;
use crate::destination::Destination;
use crate::driver::Machine;
use crate::recording::Recording;
use crate::report::{displayable, harmless};
use crate::{served, sources, timeline};
use runtime::outcome::{ErrorKind, ProgramError, RunOutcome, SuspendedGoal, Waiting};
use runtime::schedule::Passed;
use runtime::statistics::Statistics;
use runtime::trace::Tracks;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The program failed.
const FAILED: u8 = 255;
/// Somebody ended it.
pub(crate) const INTERRUPTED: u8 = 130;
/// Whoever read the output has gone: what a shell says of a process that SIGPIPE has ended.
pub(crate) const READER_GONE: u8 = 141;
/// Characters of a source line that are shown at most.
const LINE_CHARS_MAX: usize = 120;

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

/// Runs `main:main`, reports its end, and gives the exit code. `inputs` must not be written over; `calls` says what the
/// program calls, if somebody asks.
pub(crate) fn run_main(
    machine: &mut Machine,
    engine: &Engine,
    inputs: &[PathBuf],
    calls: &dyn Fn() -> Calls,
) -> anyhow::Result<u8> {
    let follows = machine.follows();
    // A name that cannot be written should not cost a run.
    let destination = |path: &Option<PathBuf>| {
        let path = path.as_deref().filter(|_| !follows);
        path.map(|path| Destination::new(path, inputs)).transpose()
    };
    let (figures, trace) = (destination(&engine.stats_file)?, destination(&engine.trace)?);
    if let (Some(one), Some(other)) = (&figures, &trace)
        && one.is_same(other)
    {
        anyhow::bail!("--stats-file and --trace name the same file");
    }
    if engine.stats_file.is_some() {
        machine.note_collections();
    }
    answer_questions(machine);
    let record = figures.map(Recording::start);
    let started = Instant::now();
    let outcome = machine.run("main", "main")?.expect("the compiler checked that main:main/0 is there");
    if follows {
        return Ok(0);
    }
    let outcome = match runtime::builtins::io::flush(machine.node.worker()) {
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
    let _ = report(&outcome, Texts { lines: &file_line, callers }, &mut err);
    if let Some(simulate) = engine.simulate.filter(|_| engine.stats) {
        let _ = crate::simulated::statistics(machine, simulate, &mut err);
    } else if engine.stats {
        let _ = statistics(&machine.statistics(), machine.worker_count(), started.elapsed(), &mut err);
        let _ = messages(machine, &mut err);
        if let Some(Passed { times, trace }) = machine.node.passed() {
            let _ = writeln!(err, "{:<22}{times} turns, {trace:016x}", "schedule");
        }
    }
    drop(err);
    let mut told = if record.is_some() || trace.is_some() { machine.told(started) } else { Vec::new() };
    // An interrupt leaves no part of a file.
    let waker = machine.node.worker().waker();
    waker.hold_interrupts();
    if let Some(record) = record {
        record.finish(machine, engine.simulate, &mut told)?;
    }
    if let Some(trace) = trace {
        let traces: Vec<Tracks> = told.into_iter().filter_map(|told| told.trace).collect();
        timeline::write(&traces, machine.one_clock, trace)?;
    }
    if waker.release_interrupts() {
        return Ok(INTERRUPTED);
    }
    let code = exit_code(&outcome);
    Ok(if code == FAILED { postmortem(machine).unwrap_or(code) } else { code })
}

/// Runs the goal that the program registered for its failure (`system_control:postmortem`), and gives the status with
/// which that goal asks to exit, if it does.
fn postmortem(machine: &mut Machine) -> Option<u8> {
    let (predicate, args) = runtime::builtins::take_postmortem(machine.node.worker())?;
    // As above: a closed standard error leaves nobody to tell.
    let _ = writeln!(std::io::stderr(), "Starting postmortem processing...");
    machine.node.leave_others();
    let outcome = machine.node.run(predicate, &args);
    let flushed = runtime::builtins::io::flush(machine.node.worker());
    let outcome = flushed.map_or_else(RunOutcome::Failed, |()| outcome);
    // Goals that wait for ever are no news after the first failure: only an error is.
    if let RunOutcome::Failed(_) = outcome {
        let _ = report(&outcome, Texts::of_files(), &mut std::io::stderr());
    }
    match outcome {
        RunOutcome::Exit(_) => Some(exit_code(&outcome)),
        _ => None,
    }
}

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

/// Gives a line of a source file, if that can be read.
pub(crate) type Lines<'a> = &'a dyn Fn(&str, u32) -> Option<String>;

/// What a report may quote.
#[derive(Clone, Copy)]
pub(crate) struct Texts<'a> {
    pub(crate) lines: Lines<'a>,
    pub(crate) callers: Option<Callers<'a>>,
}

impl Texts<'_> {
    /// The files that are named, and nothing else.
    fn of_files() -> Texts<'static> {
        Texts { lines: &file_line, callers: None }
    }
}

/// A line of a file or of a library module.
pub(crate) fn file_line(file: &str, line: u32) -> Option<String> {
    let module = file.strip_prefix("library/").and_then(|name| name.strip_suffix(".kl1"));
    let text = match module.and_then(library::text) {
        Some(text) => text.as_bytes().to_vec(),
        None => sources::text_again(file)?,
    };
    nth_line(&text, line)
}

/// A line of a text, without blanks at its ends; `None` if there is nothing to see.
pub(crate) fn nth_line(text: &[u8], line: u32) -> Option<String> {
    let found = text.split(|&b| b == b'\n').nth((line as usize).checked_sub(1)?)?;
    let shown = displayable(found).replace('\t', " ");
    let shown = shown.trim_end();
    let cut: String = shown.chars().take(LINE_CHARS_MAX).collect();
    (!cut.trim().is_empty()).then(|| if cut.len() < shown.len() { cut + ".." } else { cut })
}

/// Says how a run ended, unless it ended well or nobody wants to know.
pub(crate) fn report(outcome: &RunOutcome, texts: Texts<'_>, out: &mut impl Write) -> std::io::Result<()> {
    match outcome {
        RunOutcome::Success | RunOutcome::Exit(_) => Ok(()),
        RunOutcome::Failed(error) if error.kind == ErrorKind::ReaderGone => Ok(()),
        RunOutcome::Failed(error) => failure(error, texts, out),
        RunOutcome::Deadlock { goals, count } => deadlock(goals, *count, texts, out),
    }
}

/// Where the goal's predicate is defined, with its first line.
fn place(file: &str, line: u32, lines: Lines<'_>, out: &mut impl Write) -> std::io::Result<()> {
    if file.is_empty() {
        return Ok(());
    }
    writeln!(out, "  --> {}:{line}", harmless(file))?;
    if let Some(text) = lines(file, line) {
        let blank = " ".repeat(line.to_string().len());
        writeln!(out, "{blank}  |\n {line} | {text}\n{blank}  |")?;
    }
    Ok(())
}

/// Goals of one predicate that are shown of a deadlock at most.
const ALIKE_MAX: usize = 5;

/// Sites that are shown of a goal at most.
const SITES_MAX: usize = 3;

/// Whether goals of this file are the library's or a builtin's.
fn is_library(file: &str) -> bool {
    file.is_empty() || file.starts_with("library/")
}

/// The goals of the text that can have led to a goal.
fn fitting(callers: Callers<'_>, goal: &str) -> Vec<Site> {
    served::fitting(callers.of(goal), goal, callers.atoms)
}

/// The user's goals that lead to a goal of the library or of a builtin, those that call its module first.
fn leading(goal: &str, file: &str, texts: Texts<'_>) -> Vec<Site> {
    let Some(callers) = texts.callers.filter(|_| is_library(file)) else { return Vec::new() };
    let mut sites = fitting(callers, goal);
    if let Some(message) = served::message(goal) {
        sites = served::narrowed(sites, message, callers.atoms);
    }
    let module = goal.split_once(':').map_or("", |(module, _)| module);
    let calls = |site: &Site| site.text.strip_prefix(module).is_some_and(|rest| rest.starts_with(':'));
    sites.sort_by_key(|site| !calls(site));
    sites
}

/// Levels of callers that are shown: there is no stack of calls, so each is known only where the text has one.
const LEVELS: usize = 2;

/// Names the goals of the text that lead to a goal, and where that is only one, those that lead to its clause.
fn led_by(mut sites: Vec<Site>, texts: Texts<'_>, out: &mut impl Write) -> std::io::Result<()> {
    for _ in 1..LEVELS {
        list(&sites, texts, out)?;
        let ([site], Some(callers)) = (&sites[..], texts.callers) else { return Ok(()) };
        sites = callers.calling(site.caller);
    }
    list(&sites, texts, out)
}

/// Names goals of the text of which one led to what was said before.
fn list(sites: &[Site], texts: Texts<'_>, out: &mut impl Write) -> std::io::Result<()> {
    let text = |site: &Site| nth_line(site.text.as_bytes(), 1).unwrap_or_default();
    if let [site] = sites {
        writeln!(out, "   from: {}", text(site))?;
        return place(&site.file, site.line, texts.lines, out);
    }
    for (at, site) in sites.iter().take(SITES_MAX).enumerate() {
        let word = if at == 0 { "one of:" } else { "       " };
        writeln!(out, "   {word} {}:{}: {}", harmless(&site.file), site.line, text(site))?;
    }
    if sites.len() > SITES_MAX {
        writeln!(out, "   and {} more that lead to it", sites.len() - SITES_MAX)?;
    }
    Ok(())
}

fn failure(error: &ProgramError, texts: Texts<'_>, out: &mut impl Write) -> std::io::Result<()> {
    let name = match error.kind {
        ErrorKind::ReductionFailure => "reduction failure: ",
        ErrorKind::UnificationFailure => "unification failure: ",
        _ => "",
    };
    writeln!(out, "fifth: {name}{}", harmless(&error.message))?;
    // The library's servers are no news when output fails.
    if !error.goal.is_empty() && !lost_output(error) {
        let word = if is_next(error) { "NEXT" } else { "FAIL" };
        writeln!(out, "   {word}: {}", harmless(&error.goal))?;
        let sites = to_failed(error, texts);
        // Of a goal that cannot be put where it is to run the clauses are no news.
        if error.kind != ErrorKind::Placement || sites.is_empty() {
            place(&error.file, error.line, texts.lines, out)?;
        }
        // A query of the REPL has no name of the user's.
        if !error.within.is_empty() && !error.within.contains(' ') {
            let how = if error.line == 0 { "one of them is a result of" } else { "in a clause of" };
            writeln!(out, "   {how} {}", harmless(&error.within))?;
        }
        led_by(sites, texts, out)?;
    }
    error.details.iter().try_for_each(|line| writeln!(out, "   {}", harmless(line)))?;
    waiting(&error.waiting, texts, out)?;
    let computed = arguments(&error.goal).into_iter().find(|argument| is_uncomputed(argument));
    let help = match computed
        .filter(|_| matches!(error.kind, ErrorKind::ReductionFailure | ErrorKind::ArgumentType))
    {
        Some(text) => Some(format!("{} is a structure: `=` computes nothing, `:=` does", harmless(text))),
        None if is_refused(error) => Some(
            "`abnormal` is the answer to a request that could not be done: a clause for it says what to do then"
                .to_string(),
        ),
        None => help(error).map(str::to_string),
    };
    match help {
        Some(help) => writeln!(out, "   Help: {help}"),
        None => Ok(()),
    }
}

/// The goals of the text that led to a goal that failed, or to the clause in which it stands.
fn to_failed(error: &ProgramError, texts: Texts<'_>) -> Vec<Site> {
    let Some(callers) = texts.callers else { return Vec::new() };
    if !error.within.is_empty() {
        return callers.of_predicate(&error.within);
    }
    if is_library(&error.file) || is_next(error) {
        return leading(&error.goal, &error.file, texts);
    }
    let sites = fitting(callers, &error.goal);
    if error.kind != ErrorKind::Placement {
        return sites;
    }
    sites.into_iter().filter(|site| site.placed).collect()
}

/// Whether the goal of an error is only the one that was next.
fn is_next(error: &ProgramError) -> bool {
    matches!(error.kind, ErrorKind::Interrupted | ErrorKind::HeapLimit)
}

/// Whether a goal failed because nobody thought of a request that cannot be done.
fn is_refused(error: &ProgramError) -> bool {
    let is_answer = |argument: &str| argument == "abnormal" || argument.starts_with("abnormal(");
    matches!(error.kind, ErrorKind::ReductionFailure | ErrorKind::UnificationFailure)
        && arguments(&error.goal).into_iter().any(is_answer)
}

fn lost_output(error: &ProgramError) -> bool {
    error.kind == ErrorKind::Other && error.message.starts_with("cannot write to stdout")
}

/// Whether an argument, as it is shown, is a sum or the like of two integers: `-(5,1)`.
fn is_uncomputed(argument: &str) -> bool {
    let operator = argument.split('(').next().unwrap_or_default();
    let operands = arguments(argument);
    ["+", "-", "*", "/", "mod"].contains(&operator)
        && operands.len() == 2
        && operands.iter().all(|operand| operand.parse::<i64>().is_ok())
}

/// What to do about an error of this kind.
fn help(error: &ProgramError) -> Option<&'static str> {
    match error.kind {
        // A builtin has no clauses, and its message says what it wants.
        ErrorKind::ReductionFailure if error.line == 0 => None,
        ErrorKind::ReductionFailure => Some(
            "all clauses were tried; add one for these arguments, or a last one behind `otherwise.` for all others",
        ),
        ErrorKind::UnificationFailure => {
            Some("two goals gave one variable different values; one of them should read it instead")
        }
        ErrorKind::HeapLimit => Some(
            "`--heap-limit SIZE` allows more (and `ulimit -v` less); a stream that is made faster than it is read \
             grows without end",
        ),
        ErrorKind::ArgumentType if error.message.contains("must be a float, not the integer") => {
            Some("`float(N)` makes a float of an integer, as in `F $:= float(N) * 2.0`")
        }
        ErrorKind::ArgumentType
            if error.message.contains("must be an integer, not an object of class float") =>
        {
            Some("`$:=` computes floats; in `:=` `int(F)` makes an integer of one")
        }
        ErrorKind::ZeroDivision => Some("test the divisor in a guard: `D =\\= 0`"),
        ErrorKind::Placement if error.message.starts_with("there is no node") => Some(
            "`--nodes N` says how many nodes there are; `builtin:current_node(Me,Total)` tells the program",
        ),
        _ if lost_output(error) => Some("there is no room for the output, or it was closed"),
        _ => None,
    }
}

/// The one goal of the text that a waiting goal of the user's can be, with the names that the variables have there.
fn called(goal: &SuspendedGoal, texts: Texts<'_>, out: &mut impl Write) -> std::io::Result<()> {
    let sites = texts.callers.filter(|_| !goal.file.starts_with("library/"));
    let sites = sites.map(|callers| fitting(callers, &goal.goal)).unwrap_or_default();
    let [site] = &sites[..] else { return Ok(()) };
    let shown = arguments(&goal.goal);
    let name_of = |variable: &String| {
        let at = shown.iter().position(|argument| argument == variable)?;
        Some(format!("{variable} is {}", site.names.get(at)?.as_ref()?))
    };
    let names: Vec<String> = goal.waits_for.iter().filter_map(name_of).collect();
    if names.is_empty() {
        return Ok(());
    }
    let text = nth_line(site.text.as_bytes(), 1).unwrap_or_default();
    writeln!(out, "   {} in the goal {text}", names.join(", "))?;
    place(&site.file, site.line, texts.lines, out)
}

fn deadlock(
    goals: &[SuspendedGoal],
    count: usize,
    texts: Texts<'_>,
    out: &mut impl Write,
) -> std::io::Result<()> {
    let what = if count == 1 { "1 goal waits" } else { &format!("{count} goals wait") };
    writeln!(
        out,
        "fifth: perpetual suspension (deadlock): {what} for variables that nothing can bind any more"
    )?;
    goals_that_wait("PSUS", goals, count, texts, out)?;
    writeln!(
        out,
        "   Help: the goal that should bind these variables is missing, ended without `[]` at the end of a stream, or \
         waits itself"
    )
}

/// From now on somebody who asks (SIGQUIT) is told what waits, and the run goes on.
pub(crate) fn answer_questions(machine: &mut Machine) {
    for node in std::iter::once(&mut machine.node).chain(&mut machine.others) {
        let number = node.worker().options().node;
        node.report_to(Arc::new(move |goals| asked(number, &goals)));
    }
}

/// Says what waits at this node.
fn asked(node: u32, goals: &Waiting) {
    let mut text = b"fifth: asked what waits\n".to_vec();
    if goals.count == 0 {
        // The first node speaks for those where nothing waits.
        if node > 0 {
            return;
        }
        text.extend_from_slice(b"   no goal waits\n");
    }
    // A vector takes all, and a closed standard error leaves nobody to tell.
    let _ = waiting(goals, Texts::of_files(), &mut text);
    let _ = std::io::stderr().lock().write_all(&text);
}

/// Goals that waited when somebody ended the run, or asked.
fn waiting(waiting: &Waiting, texts: Texts<'_>, out: &mut impl Write) -> std::io::Result<()> {
    let Waiting { goals, count } = waiting;
    if *count == 0 {
        return Ok(());
    }
    writeln!(out, "   {}:", if *count == 1 { "1 goal waits".into() } else { format!("{count} goals wait") })?;
    goals_that_wait("WAIT", goals, *count, texts, out)
}

/// What each of them waits for.
fn goals_that_wait(
    word: &str,
    goals: &[SuspendedGoal],
    count: usize,
    texts: Texts<'_>,
    out: &mut impl Write,
) -> std::io::Result<()> {
    let (mut alike, mut left_out) = (BTreeMap::new(), 0);
    for goal in goals {
        let predicate = goal.goal.split('(').next().unwrap_or_default();
        let seen = alike.entry((predicate, &goal.file, goal.line)).or_insert(0);
        *seen += 1;
        if *seen > ALIKE_MAX {
            left_out += 1;
            continue;
        }
        writeln!(out, "   {word}: {}", harmless(&served::name(&goal.goal)))?;
        if let Some(node) = goal.node {
            writeln!(out, "         at node {node}")?;
        }
        if !goal.waits_for.is_empty() {
            write!(out, "         waits for {}", harmless(&goal.waits_for.join(", ")))?;
            match goal.holder.and_then(|index| goals.get(index)) {
                Some(holder) => writeln!(out, ", which {} holds", harmless(&served::name(&holder.goal)))?,
                None => writeln!(out)?,
            }
        }
        goal.outside.iter().try_for_each(|from| writeln!(out, "         {}", harmless(from)))?;
        let sites = leading(&goal.goal, &goal.file, texts);
        // How the library waits is no news.
        if sites.is_empty() || !goal.file.starts_with("library/") {
            place(&goal.file, goal.line, texts.lines, out)?;
        }
        called(goal, texts, out)?;
        list(&sites, texts, out)?;
    }
    if left_out > 0 {
        writeln!(out, "   and {left_out} more of the same predicates")?;
    }
    if goals.len() < count {
        writeln!(out, "   and {} more that these lead to", count - goals.len())?;
    }
    Ok(())
}

/// `--stats` of several nodes: what each of them has sent, by kind of message, and what its tables hold at the end.
fn messages(machine: &Machine, out: &mut impl Write) -> std::io::Result<()> {
    let counters = &machine.counters;
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
    let names: BTreeSet<&String> = machine.beside.iter().flat_map(|counts| counts.keys()).collect();
    let count = |node: usize, name: &String| machine.beside[node].get(name).copied().unwrap_or_default();
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
