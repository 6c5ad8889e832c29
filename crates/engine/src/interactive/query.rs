//! Queries: goals are compiled with the definitions that they reach, and run; bindings are shown as they arrive.

use super::definitions::Definitions;
use super::typed::Typed;
use super::{Entered, Interactive, Leave, Said, Tell};
use super::{MISSING, MODULE};
use crate::callers::{Callers, Calls};
use crate::error::Error;
use crate::render::endings::{Texts, file_line, nth_line, outcome as ending_text};
use crate::settings::Settings;
use crate::sources::Read;
use runtime::native::{Native, Outcome, Seat};
use runtime::node::{Answer, Term, Terms};
use runtime::outcome::{ErrorKind, ProgramError, RunOutcome};
use runtime::terms::naming::Naming;
use std::collections::BTreeSet;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use syntax::diagnostic::{Diagnostic, Severity};
use syntax::program::{GoalKind, Program};
use term::abi::{Builtin, Place};

/// A binding that has arrived: the variable, unless it stands for the value of an expression, and its value as text.
#[derive(Clone, Copy, Debug)]
pub struct Binding<'b> {
    /// The variable's name.
    pub name: Option<&'b str>,
    /// Its value, cut off when it is deep or long.
    pub value: &'b [u8],
}

/// Shows bindings, while the query runs. An error of its ends the query; [`io::ErrorKind::BrokenPipe`] says that nobody
/// looks any more.
pub type Show = Box<dyn FnMut(Binding<'_>) -> io::Result<()> + Send>;

/// What has been shown in the running query.
#[derive(Default)]
pub(super) struct Shown {
    /// Names and texts.
    lines: Vec<(String, Vec<u8>)>,
    naming: Naming,
    /// The variable whose value alone is shown, without its name.
    plain: Option<String>,
    pub(super) show: Option<Show>,
}

impl Shown {
    /// Shows a binding. No panic of a function of somebody else's may cross generated code (A7).
    fn show(&mut self, name: &str, value: &[u8]) -> io::Result<()> {
        let name = if self.plain.as_deref() == Some(name) { None } else { Some(name) };
        let Some(show) = &mut self.show else { return Ok(()) };
        let shown = catch_unwind(AssertUnwindSafe(|| show(Binding { name, value })));
        shown.unwrap_or_else(|_| Err(io::Error::other("what shows bindings panicked")))
    }
}

/// What is typed, and what is compiled for it.
pub(super) struct Query<'t> {
    /// As it was typed.
    pub(super) entry: &'t [u8],
    /// The end of it that are goals.
    pub(super) goals: &'t [u8],
    /// It is a value: the goal is an assignment by this operator.
    pub(super) assignment: Option<&'static str>,
}

impl Query<'_> {
    /// The variable of a value: the entry has none of this name.
    fn value(&self) -> Option<String> {
        self.assignment?;
        let mut name = String::from("It");
        while memchr::memmem::find(self.goals, name.as_bytes()).is_some() {
            name.push('_');
        }
        Some(name)
    }
    /// What stands before the goals.
    fn prefix(&self) -> String {
        let value = self.value().zip(self.assignment);
        value.map_or_else(String::new, |(name, assignment)| format!("{name} {assignment} "))
    }
    /// A text that ends with the goals.
    fn behind(&self, before: &str) -> (Vec<u8>, Typed<'_>) {
        let before = format!("{before}{}", self.prefix());
        let place = before.len()..before.len() + self.goals.len();
        let skip = self.entry.len() - self.goals.len();
        ([before.as_bytes(), self.goals, b"\n"].concat(), Typed { text: self.entry, place, skip })
    }
    /// Whether the goals call what is not there.
    pub(super) fn misses(&self, on: &mut Interactive) -> Result<bool, Error> {
        let (text, typed) = self.behind(&format!(":- module {MODULE}.\n'repl query' :- true | "));
        // What is defined is not needed to know whether it is there.
        let text = [&text[..], b"\n", &on.definitions.listing()].concat();
        let atoms = on.machine.atoms();
        let key = (atoms.intern(MODULE.as_bytes()), atoms.intern(b"repl query"), 0);
        let (read, _) = lower(text, key, true, on)?;
        let missing = |d: &Diagnostic| MISSING.contains(&d.code) && typed.has(d.span, read.given[0]);
        Ok(read.diagnostics.iter().any(missing))
    }
    /// Runs the goals.
    pub(super) fn run(&self, on: &mut Interactive, tell: Tell<'_>) -> Entered {
        on.definitions.queries += 1;
        on.definitions.current = None;
        let name = format!("query {}", on.definitions.queries);
        let Some(variables) = self.variables(on, tell)? else { return Ok(None) };
        let head = if variables.is_empty() { String::new() } else { format!("({})", variables.join(",")) };
        let watches: String = variables.iter().map(|v| format!("'repl watch'('{v}',{v}), ")).collect();
        let listing = on.definitions.listing();
        let before = format!(":- module {MODULE}.\n");
        let own = format!(
            "'repl watch'(N,V) :- wait(V) | repl:show(N,V).\n:- daemon 'repl watch'/2.\n'{name}'{head} :- true | {watches}\n"
        );
        let (goals, mut typed) = self.behind(&own);
        let shift = before.len() + listing.len();
        typed.place = typed.place.start + shift..typed.place.end + shift;
        let text = [before.as_bytes(), &listing, &goals].concat();
        let atoms = on.machine.atoms();
        let key = (atoms.intern(MODULE.as_bytes()), atoms.intern(name.as_bytes()), variables.len());
        let (mut read, mut program) = lower(text.clone(), key, false, on)?;
        if read.diagnostics.iter().any(|d| MISSING.contains(&d.code)) {
            (read, program) = lower(text, key, true, on)?;
        }
        let errors = typed.report(&read.diagnostics, &read.sources, read.given[0], tell);
        let Some(program) = program.filter(|_| !errors) else { return Ok(None) };
        let code = on.machine.code_options(&Settings::with_workers(1));
        let compiled = on.machine.generate(program, &code, read.library)?;
        on.machine.load(&compiled)?;
        run(on, key, &variables, &read, self.value(), tell)
    }
    /// The named variables, in order; `None` after a syntax error (told).
    fn variables(&self, on: &mut Interactive, tell: Tell<'_>) -> Result<Option<Vec<String>>, Error> {
        let (text, typed) = self.behind(&format!(":- module {MODULE}.\n'repl query' :- true |\n"));
        let read = super::read(text, &Definitions::default(), &mut on.machine);
        let errors: Vec<_> = read.diagnostics.into_iter().filter(|d| d.severity == Severity::Error).collect();
        if typed.report(&errors, &read.sources, read.given[0], tell) {
            return Ok(None);
        }
        let predicates = read.program.modules.first().map(|module| &module.predicates);
        let clause =
            predicates.and_then(|all| all.iter().find(|p| !p.auxiliary)).and_then(|p| p.clauses.first());
        let named =
            clause.into_iter().flat_map(|clause| &clause.variables).map(|variable| variable.name.clone());
        Ok(Some(named.filter(|name| name.starts_with(|c: char| c.is_uppercase())).collect()))
    }
}

/// Compiles a query: with all definitions, or only with those that it reaches. Warnings were shown before.
fn lower(
    text: Vec<u8>,
    key: compiler::PredicateKey,
    only_reachable: bool,
    on: &mut Interactive,
) -> Result<(Read, Option<compiler::ir::Program>), Error> {
    let mut read = super::read(text, &on.definitions, &mut on.machine);
    if only_reachable {
        keep_reachable(&mut read.program, key);
    }
    on.complete(&mut read)?;
    let (program, diagnostics) = on.machine.front().lower(&read, Some(vec![key]));
    read.diagnostics.extend(diagnostics);
    read.diagnostics.retain(|d| d.severity == Severity::Error);
    Ok((read, program))
}

/// Drops predicates that the query does not reach: they may call what is not defined yet.
fn keep_reachable(program: &mut Program, root: compiler::PredicateKey) {
    let mut reached = BTreeSet::from([root]);
    let mut next = vec![root];
    while let Some((module, name, arity)) = next.pop() {
        let own = program.modules.iter().filter(|other| other.name == module);
        let called = own.flat_map(|own| &own.predicates).filter(|p| (p.name, p.arity) == (name, arity));
        for goal in called.flat_map(|predicate| &predicate.clauses).flat_map(|clause| &clause.body) {
            if let GoalKind::Call(call) = &goal.kind {
                let key = (call.module.unwrap_or(module), call.name, call.arguments.len());
                if reached.insert(key) {
                    next.push(key);
                }
            }
        }
    }
    for module in &mut program.modules {
        let name = module.name;
        module.predicates.retain(|predicate| reached.contains(&(name, predicate.name, predicate.arity)));
    }
}

/// Shows the rest of the bindings, and tells how the query ended.
fn run(
    on: &mut Interactive,
    (module, name, arity): compiler::PredicateKey,
    variables: &[String],
    read: &Read,
    plain: Option<String>,
    tell: Tell<'_>,
) -> Entered {
    let Interactive { machine, files, .. } = on;
    let mut terms = machine.node().terms();
    terms.state::<Shown>().plain = plain;
    let Some(predicate) = terms.predicates().lookup(module, name, arity) else { return Ok(None) };
    let mut roots = || {
        let variable = terms.new_variable();
        (terms.root(variable), terms.root(variable))
    };
    let (arguments, roots): (Vec<_>, Vec<_>) = variables.iter().map(|_| roots()).unzip();
    let outcome = machine.run_goal(predicate, arguments);
    let lines = |file: &str, line: u32| {
        let known = read.sources.files().iter().find(|known| known.name == file);
        known.map_or_else(|| file_line(&**files, file, line), |known| nth_line(&known.text, line))
    };
    let calls = Calls::of(read, machine.atoms());
    let atoms = machine.node().atoms().clone();
    let texts = Texts { lines: &lines, callers: Some(Callers { calls: &calls, atoms: &atoms }) };
    let flushed = machine.node().flush();
    let mut terms = machine.node().terms();
    let mut shown = std::mem::take(terms.state::<Shown>());
    let gone = |error: &ProgramError| error.kind == ErrorKind::ReaderGone;
    let mut left = flushed.as_ref().is_err_and(|error| gone(error))
        || matches!(&outcome, RunOutcome::Failed(error) if gone(error));
    if !left && let Err(error) = flushed {
        ended(RunOutcome::Failed(error), texts, tell);
    }
    let mut failed = None;
    for (name, root) in variables.iter().zip(roots) {
        let value = terms.take_root(root);
        let text = terms.named_text(&mut shown.naming, value);
        if !left && failed.is_none() && !shown.lines.iter().any(|(n, t)| n == name && *t == text) {
            let result = shown.show(name, &text);
            left |= result.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
            failed = result.err();
        }
    }
    terms.end_naming(std::mem::take(&mut shown.naming));
    *terms.state::<Shown>() = Shown { show: shown.show, ..Shown::default() };
    if left {
        return Ok(Some(Leave::ReaderGone));
    }
    if let Some(error) = failed {
        return Err(Error::System(error.to_string()));
    }
    let leave = if let RunOutcome::Exit(status) = outcome { Some(Leave::Exit(status)) } else { None };
    ended(outcome, texts, tell);
    Ok(leave)
}

/// Tells how a query ended, if there is anything to say.
fn ended(outcome: RunOutcome, texts: Texts<'_>, tell: Tell<'_>) {
    let text = ending_text(&outcome, texts);
    if !text.is_empty() {
        tell(Said::Ended { outcome, text });
    }
}

/// `repl:show(Name, Value)`: shows a binding when it arrives.
pub(super) fn show() -> Native {
    fn run<'t>(terms: &mut Terms<'t>, inputs: &[Term<'t>], _: &mut [Term<'t>]) -> Answer<'t> {
        let name = terms.term_text(inputs[0]);
        let name = name.trim_matches('\'').to_string();
        // What the program has written comes first.
        if let Err(error) = terms.flush() {
            return Outcome::Error(error);
        }
        let mut shown = std::mem::take(terms.state::<Shown>());
        let text = terms.named_text(&mut shown.naming, inputs[1]);
        let seen = shown.show(&name, &text);
        shown.lines.push((name, text));
        *terms.state::<Shown>() = shown;
        if let Err(error) = seen {
            let gone = error.kind() == io::ErrorKind::BrokenPipe;
            let kind = if gone { ErrorKind::ReaderGone } else { ErrorKind::Other };
            return Outcome::Error(ProgramError::new(kind, error.to_string()));
        }
        Outcome::Done
    }
    let signature = Builtin {
        module: MODULE.into(),
        name: "show".into(),
        modes: "ii".into(),
        place: Place::Goal,
        daemon: true,
    };
    Native::new(signature, Seat::Home, false, run)
}
