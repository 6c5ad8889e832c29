//! How a run ended, as text for people: what is said about a program that failed, and about goals that wait.

use crate::callers::{Callers, Site};
use crate::served;
use crate::shown::{displayable, harmless};
use crate::sources::Files;
use runtime::outcome::{ErrorKind, GoalText, ProgramError, RunOutcome, SuspendedGoal, Waiting};
use std::collections::BTreeMap;
use std::fmt::{self, Write};

/// Characters of a source line that are shown at most.
const LINE_CHARS_MAX: usize = 120;

/// Gives a line of a source file, if that can be read.
pub type Lines<'a> = &'a dyn Fn(&str, u32) -> Option<String>;

/// What a report may quote.
#[derive(Clone, Copy)]
pub struct Texts<'a> {
    /// Lines of the files that are named.
    pub lines: Lines<'a>,
    /// What leads to what in the program.
    pub callers: Option<Callers<'a>>,
}

/// A line of a library module, or of one of the files.
pub fn file_line(files: &dyn Files, file: &str, line: u32) -> Option<String> {
    let module = file.strip_prefix("library/").and_then(|name| name.strip_suffix(".kl1"));
    let text = match module.and_then(library::text) {
        Some(text) => text.as_bytes().to_vec(),
        None => files.read_again(file)?,
    };
    nth_line(&text, line)
}

/// A line of a text, without blanks at its ends; `None` if there is nothing to see.
pub fn nth_line(text: &[u8], line: u32) -> Option<String> {
    let found = text.split(|&b| b == b'\n').nth((line as usize).checked_sub(1)?)?;
    let shown = displayable(found).replace('\t', " ");
    let shown = shown.trim_end();
    let cut: String = shown.chars().take(LINE_CHARS_MAX).collect();
    (!cut.trim().is_empty()).then(|| if cut.len() < shown.len() { cut + ".." } else { cut })
}

/// How a run ended; nothing if it ended well or nobody wants to know.
pub fn outcome(outcome: &RunOutcome, texts: Texts<'_>) -> String {
    text(|out| match outcome {
        RunOutcome::Success | RunOutcome::Exit(_) => Ok(()),
        RunOutcome::Failed(error) if error.kind == ErrorKind::ReaderGone => Ok(()),
        RunOutcome::Failed(error) => failure(error, texts, out),
        RunOutcome::Deadlock { goals, count } => deadlock(goals, *count, texts, out),
    })
}

/// Goals that waited when somebody asked; nothing if there are none.
pub fn goals_waiting(goals: &Waiting, texts: Texts<'_>) -> String {
    text(|out| waiting(goals, texts, out))
}

/// What is written.
fn text(write: impl FnOnce(&mut String) -> fmt::Result) -> String {
    let mut text = String::new();
    write(&mut text).expect("a text takes what is written");
    text
}

/// Where the goal's predicate is defined, with its first line.
fn place(file: &str, line: u32, lines: Lines<'_>, out: &mut String) -> fmt::Result {
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
fn fitting(callers: Callers<'_>, goal: &GoalText) -> Vec<Site> {
    served::fitting(callers.of(goal), goal, callers.atoms)
}

/// The user's goals that lead to a goal of the library or of a builtin, those that call its module first.
fn leading(goal: &GoalText, file: &str, texts: Texts<'_>) -> Vec<Site> {
    let Some(callers) = texts.callers.filter(|_| is_library(file)) else { return Vec::new() };
    let mut sites = fitting(callers, goal);
    if let Some(message) = served::message(goal) {
        sites = served::narrowed(sites, message, callers.atoms);
    }
    let calls = |site: &Site| site.text.strip_prefix(&*goal.module).is_some_and(|rest| rest.starts_with(':'));
    sites.sort_by_key(|site| !calls(site));
    sites
}

/// Levels of callers that are shown: there is no stack of calls, so each is known only where the text has one.
const LEVELS: usize = 2;

/// Names the goals of the text that lead to a goal, and where that is only one, those that lead to its clause.
fn led_by(mut sites: Vec<Site>, texts: Texts<'_>, out: &mut String) -> fmt::Result {
    for _ in 1..LEVELS {
        list(&sites, texts, out)?;
        let ([site], Some(callers)) = (&sites[..], texts.callers) else { return Ok(()) };
        sites = callers.calling(site.caller);
    }
    list(&sites, texts, out)
}

/// Names goals of the text of which one led to what was said before.
fn list(sites: &[Site], texts: Texts<'_>, out: &mut String) -> fmt::Result {
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

fn failure(error: &ProgramError, texts: Texts<'_>, out: &mut String) -> fmt::Result {
    let name = match error.kind {
        ErrorKind::ReductionFailure => "reduction failure: ",
        ErrorKind::UnificationFailure => "unification failure: ",
        _ => "",
    };
    writeln!(out, "fifth: {name}{}", harmless(&error.message))?;
    // The library's servers are no news when output fails.
    if !error.goal.is_empty() && !lost_output(error) {
        let word = if is_next(error) { "NEXT" } else { "FAIL" };
        writeln!(out, "   {word}: {}", harmless(&error.goal.text))?;
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
    let computed = error.goal.arguments.iter().find(|argument| is_uncomputed(&argument.text));
    let help = match computed
        .filter(|_| matches!(error.kind, ErrorKind::ReductionFailure | ErrorKind::ArgumentType))
    {
        Some(argument) => {
            let shown = harmless(&argument.text);
            Some(format!("{shown} is a structure: `=` computes nothing, `:=` does"))
        }
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
        && error.goal.arguments.iter().any(|argument| is_answer(&argument.text))
}

fn lost_output(error: &ProgramError) -> bool {
    error.kind == ErrorKind::Other && error.message.starts_with("cannot write to stdout")
}

/// Whether an argument, as it is shown, is a sum or the like of two integers: `-(5,1)`.
fn is_uncomputed(argument: &str) -> bool {
    let Some((operator, operands)) = argument.split_once('(') else { return false };
    let operands = operands.strip_suffix(')').and_then(|operands| operands.split_once(','));
    let is_integer = |operand: &str| operand.parse::<i64>().is_ok();
    ["+", "-", "*", "/", "mod"].contains(&operator)
        && operands.is_some_and(|(one, other)| is_integer(one) && is_integer(other))
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
fn called(goal: &SuspendedGoal, texts: Texts<'_>, out: &mut String) -> fmt::Result {
    let sites = texts.callers.filter(|_| !goal.file.starts_with("library/"));
    let sites = sites.map(|callers| fitting(callers, &goal.goal)).unwrap_or_default();
    let [site] = &sites[..] else { return Ok(()) };
    let name_of = |variable: &String| {
        let at = goal.goal.arguments.iter().position(|argument| argument.text == *variable)?;
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

fn deadlock(goals: &[SuspendedGoal], count: usize, texts: Texts<'_>, out: &mut String) -> fmt::Result {
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

/// Goals that waited when somebody ended the run, or asked.
fn waiting(waiting: &Waiting, texts: Texts<'_>, out: &mut String) -> fmt::Result {
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
    out: &mut String,
) -> fmt::Result {
    let (mut alike, mut left_out) = (BTreeMap::new(), 0);
    for goal in goals {
        let predicate = (&goal.goal.module, &goal.goal.name);
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
