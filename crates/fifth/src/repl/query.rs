//! Queries: goals are compiled with the definitions that they reach, and run; bindings are shown as they arrive.

use super::definitions::Definitions;
use super::typed::Typed;
use super::{MISSING, MODULE, complete, read};
use crate::{ending, files, output};
use engine::render::endings::{Texts, nth_line, outcome as ending_text};
use engine::{Callers, Calls, Machine, Settings, sources};
use runtime::native::{Native, Outcome, Seat};
use runtime::outcome::{ErrorKind, ProgramError, RunOutcome};
use runtime::terms::naming::Naming;
use runtime::worker::Worker;
use std::collections::BTreeSet;
use std::io::Write;
use syntax::diagnostic::{Diagnostic, Severity};
use syntax::program::{GoalKind, Program};
use term::Word;
use term::abi::{Builtin, Place};

/// What has been printed in the running query.
#[derive(Default)]
struct Shown {
    /// Names and texts.
    lines: Vec<(String, Vec<u8>)>,
    naming: Naming,
    /// The variable whose value alone is shown, without its name.
    plain: Option<String>,
}

impl Shown {
    /// A binding as it is printed.
    fn line(&self, name: &str, text: &[u8]) -> Vec<u8> {
        let before = if self.plain.as_deref() == Some(name) { String::new() } else { format!("{name} = ") };
        [before.as_bytes(), text, b"\n"].concat()
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
    pub(super) fn misses(&self, definitions: &Definitions, machine: &mut Machine) -> anyhow::Result<bool> {
        let (text, typed) = self.behind(&format!(":- module {MODULE}.\n'repl query' :- true | "));
        // What is defined is not needed to know whether it is there.
        let text = [&text[..], b"\n", &definitions.listing()].concat();
        let key = (machine.atoms().intern(MODULE.as_bytes()), machine.atoms().intern(b"repl query"), 0);
        let (read, _) = lower(text, key, true, definitions, machine)?;
        let missing = |d: &Diagnostic| MISSING.contains(&d.code) && typed.has(d.span, read.given[0]);
        Ok(read.diagnostics.iter().any(missing))
    }
    /// Runs the goals. An exit code when they ask to exit.
    pub(super) fn run(
        &self,
        definitions: &mut Definitions,
        machine: &mut Machine,
    ) -> anyhow::Result<Option<u8>> {
        definitions.queries += 1;
        definitions.current = None;
        let name = format!("query {}", definitions.queries);
        let Some(variables) = self.variables(machine)? else { return Ok(None) };
        let head = if variables.is_empty() { String::new() } else { format!("({})", variables.join(",")) };
        let watches: String = variables.iter().map(|v| format!("'repl watch'('{v}',{v}), ")).collect();
        let listing = definitions.listing();
        let before = format!(":- module {MODULE}.\n");
        let own = format!(
            "'repl watch'(N,V) :- wait(V) | repl:show(N,V).\n:- daemon 'repl watch'/2.\n'{name}'{head} :- true | {watches}\n"
        );
        let (goals, mut typed) = self.behind(&own);
        let shift = before.len() + listing.len();
        typed.place = typed.place.start + shift..typed.place.end + shift;
        let text = [before.as_bytes(), &listing, &goals].concat();
        let atoms = machine.atoms();
        let key = (atoms.intern(MODULE.as_bytes()), atoms.intern(name.as_bytes()), variables.len());
        let (mut read, mut program) = lower(text.clone(), key, false, definitions, machine)?;
        if read.diagnostics.iter().any(|d| MISSING.contains(&d.code)) {
            (read, program) = lower(text, key, true, definitions, machine)?;
        }
        let errors = typed.report(&read.diagnostics, &read.sources, read.given[0]);
        let Some(program) = program.filter(|_| !errors) else { return Ok(None) };
        let code = machine.code_options(&Settings::with_workers(1));
        let compiled = machine.generate(program, &code, read.library)?;
        machine.load(&compiled)?;
        run(machine, key, &variables, &read, self.value())
    }
    /// The named variables, in order; `None` after a syntax error (reported).
    fn variables(&self, machine: &mut Machine) -> anyhow::Result<Option<Vec<String>>> {
        let (text, typed) = self.behind(&format!(":- module {MODULE}.\n'repl query' :- true |\n"));
        let read = read(text, &Definitions::default(), machine)?;
        let errors: Vec<_> = read.diagnostics.into_iter().filter(|d| d.severity == Severity::Error).collect();
        if typed.report(&errors, &read.sources, read.given[0]) {
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
    definitions: &Definitions,
    machine: &mut Machine,
) -> anyhow::Result<(sources::Read, Option<compiler::ir::Program>)> {
    let mut read = read(text, definitions, machine)?;
    if only_reachable {
        keep_reachable(&mut read.program, key);
    }
    complete(&mut read, definitions, machine)?;
    let (program, diagnostics) = machine.front().lower(&read, Some(vec![key]));
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

/// Prints the rest of the bindings, and how the query ended.
fn run(
    machine: &mut Machine,
    (module, name, arity): compiler::PredicateKey,
    variables: &[String],
    read: &sources::Read,
    plain: Option<String>,
) -> anyhow::Result<Option<u8>> {
    let worker = machine.worker();
    *worker.state::<Shown>() = Shown { plain, ..Shown::default() };
    let arguments: Vec<Word> = variables.iter().map(|_| worker.new_variable()).collect();
    let roots: Vec<_> = arguments.iter().map(|&argument| worker.root(argument)).collect();
    let Some(predicate) = worker.predicates.lookup(module, name, arity) else { return Ok(None) };
    let outcome = machine.run_goal(predicate, &arguments);
    let lines = |file: &str, line: u32| {
        let known = read.sources.files().iter().find(|known| known.name == file);
        known.map_or_else(|| files::line(file, line), |known| nth_line(&known.text, line))
    };
    let calls = Calls::of(read, machine.atoms());
    let atoms = machine.worker().atoms.clone();
    let texts = Texts { lines: &lines, callers: Some(Callers { calls: &calls, atoms: &atoms }) };
    let flushed = runtime::builtins::io::flush(machine.worker());
    let gone = |error: &ProgramError| error.kind == ErrorKind::ReaderGone;
    if flushed.as_ref().is_err_and(|error| gone(error))
        || matches!(&outcome, RunOutcome::Failed(e) if gone(e))
    {
        return Ok(Some(ending::READER_GONE));
    }
    if let Err(error) = flushed {
        tell(&RunOutcome::Failed(error), texts);
    }
    let worker = machine.worker();
    let mut shown = std::mem::take(worker.state::<Shown>());
    for (name, root) in variables.iter().zip(roots) {
        let value = worker.take_root(root);
        let text = shown.naming.text(worker, value);
        if !shown.lines.iter().any(|(n, t)| n == name && *t == text) {
            output::bytes(&shown.line(name, &text))?;
        }
    }
    shown.naming.end(worker);
    tell(&outcome, texts);
    Ok(match outcome {
        RunOutcome::Exit(status) => Some((status & 255) as u8),
        _ => None,
    })
}

/// Says how a query ended.
fn tell(outcome: &RunOutcome, texts: Texts<'_>) {
    // A closed standard error leaves nobody to tell.
    let _ = std::io::stderr().write_all(ending_text(outcome, texts).as_bytes());
}

/// `repl:show(Name, Value)`: prints a binding when it arrives.
pub(super) fn show() -> Native {
    fn run(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
        let name = worker.term_text(inputs[0]);
        let name = name.trim_matches('\'').to_string();
        // What the program has written comes first.
        if let Err(error) = runtime::builtins::io::flush(worker) {
            return Outcome::Error(error);
        }
        let mut shown = std::mem::take(worker.state::<Shown>());
        let text = shown.naming.text(worker, inputs[1]);
        let written = output::bytes(&shown.line(&name, &text));
        shown.lines.push((name, text));
        *worker.state::<Shown>() = shown;
        if let Err(error) = written {
            let gone = error.is::<output::ReaderGone>();
            let kind = if gone { ErrorKind::ReaderGone } else { ErrorKind::Other };
            return Outcome::Error(ProgramError::new(kind, format!("{error:#}")));
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
    Native { signature, run, process: None, seat: Seat::Home, walks: false }
}
