//! The REPL: clauses are collected in a module of their own, beside modules of files; a query is compiled with those
//! that it reaches and run on one node, which keeps running as long as the REPL does.
//!
//! Invariants:
//! - Q1 A definition that could never be compiled is refused when it is typed, so that it cannot spoil later queries.
//! - Q2 A query that fails, waits for ever or is interrupted leaves nothing behind.

mod definitions;
mod kinds;
mod query;
mod typed;

use crate::cli::{self, MessageFormat, Running};
use crate::files::Disk;
use crate::input::{COMMANDS, Input, hint};
use crate::output::{self, complain};
use crate::{ending, report};
use definitions::{Clause, Definitions, Key, Loaded};
use engine::sources::{self, Beside};
use engine::{Machine, shown};
use kinds::Kind;
use query::Query;
use std::path::Path;
use syntax::diagnostic::Severity;
use syntax::lexer::{Scanned, TermScanner};
use syntax::program::{GoalKind, Program};
use syntax::source::SourceMap;
use typed::Typed;

const MODULE: &str = "repl";
const HELP: &str = "\
p(X) :- G | B.     defines a clause (of the module `repl`). Clauses of p/1 that are typed one after the other belong
                   together; typed later, or again, one begins a new definition, which replaces the first
otherwise.         stands before the next clause that is typed; so does alternatively.
?- p(X), q(Y).     runs goals; bindings are printed as they arrive; Ctrl-C ends the query. `?-` may be left out,
                   but p(a). runs only if there is a p/1: otherwise it defines that, as a fact
1+2*3.             prints the value
:def p(a).         adds a clause to what there is of p/1, be it a fact or not
:list              shows the clauses            :clear        forgets everything
:forget p/1        forgets the clauses of p/1   :load FILE    adds the modules of a file, or replaces them
:help              this page                    :quit         leaves (so does Ctrl-D)
Modules of files stay modules. Their predicates may be called without the module, those of the last file first. A module
that is not there is looked for in a file of its name beside these files.
On a terminal Tab completes names, the arrow keys edit and recall, Ctrl-R searches, Ctrl-C abandons what is typed.
";

/// Errors about what is not defined, and may be defined later.
const MISSING: [&str; 3] = ["undefined-predicate", "undefined-module", "wrong-arity"];

/// Runs the REPL until the end of its input; gives the exit code.
pub(crate) fn run(options: &cli::Repl) -> anyhow::Result<u8> {
    let settings = Running::with(options.workers).settings()?;
    let mut machine = ending::interruptible(Machine::with_natives(&settings, &[query::show()])?);
    ending::answer_questions(&mut machine);
    let mut definitions = Definitions::default();
    for path in &options.files {
        load(&mut definitions, &mut machine, path)?;
    }
    let mut input = Input::new()?;
    if input.is_terminal() {
        output::line(&format!("Fifth {}. `:help` explains, `:quit` leaves.", env!("CARGO_PKG_VERSION")))?;
    }
    loop {
        input.offer(|| names(&definitions, &mut machine));
        let Some(entry) = input.next()? else { return Ok(0) };
        let entry = entry.trim_ascii();
        if let Some(command) = entry.strip_prefix(b":").filter(|_| !entry.starts_with(b":-")) {
            if matches!(command.trim_ascii(), b"quit" | b"q" | b"exit") {
                return Ok(0);
            }
            obey(command.trim_ascii(), &mut definitions, &mut machine)?;
        } else if let Some(code) = enter(entry, &mut definitions, &mut machine)? {
            return Ok(code);
        }
    }
}

/// A clause, goals or a value. An exit code when goals ask to exit.
fn enter(entry: &[u8], definitions: &mut Definitions, machine: &mut Machine) -> anyhow::Result<Option<u8>> {
    let query = |goals, assignment| Query { entry, goals, assignment };
    if let Some(goals) = entry.strip_prefix(b"?-") {
        return query(goals, None).run(definitions, machine);
    }
    let is_separator = matches!(entry, b"otherwise." | b"alternatively.");
    let kind = if is_separator { Kind::Clause } else { kinds::kind(entry, machine.atoms()) };
    match kind {
        Kind::Goals => query(entry, None).run(definitions, machine),
        Kind::Value(assignment) => query(entry, Some(assignment)).run(definitions, machine),
        Kind::Either((name, arity)) => {
            let goal = query(entry, None);
            if !goal.misses(definitions, machine)? {
                return goal.run(definitions, machine);
            }
            if arity == 0 {
                complain(&format!("error: there is no predicate {name}/0; {}", hint(&name)));
            } else if define(entry, false, definitions, machine)? {
                complain(&format!(
                    "note: this defines the fact {name}/{arity}; from now on such an entry is run, and `:def` adds facts"
                ));
            }
            Ok(None)
        }
        Kind::Clause => define(entry, false, definitions, machine).map(|_| None),
    }
}

/// What may be completed: commands, defined predicates, builtins, modules.
fn names(definitions: &Definitions, machine: &mut Machine) -> Vec<String> {
    let node = machine.nodes().next();
    let builtins = node.iter().flat_map(|node| node.builtins()).map(|(_, builtin)| builtin);
    let mut names: Vec<String> = COMMANDS.map(|command| format!(":{command}")).into();
    names.extend(definitions.predicates.iter().map(|((name, _), _)| name.clone()));
    names.extend(builtins.map(|builtin| format!("{}:{}", builtin.module, builtin.name)));
    let loaded = definitions.files.iter().flat_map(|file| &file.modules);
    names.extend(loaded.map(|module| format!("{module}:")));
    names.extend(library::modules().map(|module| format!("{module}:")));
    names.retain(|name| name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == ':'));
    names.sort_unstable();
    names.dedup();
    names
}

fn obey(command: &[u8], definitions: &mut Definitions, machine: &mut Machine) -> anyhow::Result<()> {
    let split = command.iter().position(|byte| *byte == b' ').unwrap_or(command.len());
    let (name, rest) = (&command[..split], command[split..].trim_ascii());
    let what = String::from_utf8_lossy(rest).into_owned();
    match name {
        b"help" | b"h" => output::write(HELP)?,
        b"list" => output::bytes(&definitions.shown())?,
        b"clear" => *definitions = Definitions { queries: definitions.queries, ..Definitions::default() },
        b"forget" if !what.is_empty() => {
            let before = definitions.predicates.len();
            let named = |(name, arity): &Key| format!("{name}/{arity}") == what;
            definitions.predicates.retain(|(key, _)| !named(key));
            if definitions.predicates.len() == before {
                complain(&format!("error: there is no {what}; :list shows what there is"));
            }
        }
        b"load" if !what.is_empty() => {
            if let Err(error) = load(definitions, machine, Path::new(&what)) {
                output::error(&error);
            }
        }
        b"def" if !what.is_empty() => add(rest, definitions, machine)?,
        b"load" => complain("error: :load needs a file"),
        b"forget" => complain("error: :forget needs a predicate, as in `:forget p/1`"),
        b"def" => complain("error: :def needs a clause, as in `:def p(a).`"),
        _ => {
            let name = String::from_utf8_lossy(name);
            complain(&format!("error: there is no command :{}; :help lists them", shown::harmless(&name)));
        }
    }
    Ok(())
}

/// Adds clauses to what there is.
fn add(mut text: &[u8], definitions: &mut Definitions, machine: &mut Machine) -> anyhow::Result<()> {
    while let Scanned::Term(end) = TermScanner::new().scan(text, true) {
        let (clause, rest) = text.split_at(end);
        define(clause.trim_ascii(), true, definitions, machine)?;
        text = rest;
    }
    Ok(())
}

/// Adds the modules of a file, or replaces them.
fn load(definitions: &mut Definitions, machine: &mut Machine, file: &Path) -> anyhow::Result<()> {
    let text = sources::text_of(&Disk, file)?;
    let name = file.display().to_string();
    let mut map = SourceMap::default();
    let given = map.add(name, text.clone());
    let (program, diagnostics) = syntax::read_program(&map, &[given], machine.atoms());
    let mut read = sources::Read::of(program, map, diagnostics, vec![given], vec![file.to_path_buf()]);
    let own = read.program.modules.iter();
    let modules: Vec<String> = own.map(|module| machine.atoms().name(module.name).into_owned()).collect();
    let keys: Vec<_> = (read.program.modules.iter())
        .flat_map(|module| module.predicates.iter().map(|predicate| (module.name, predicate)))
        .filter(|(_, predicate)| !predicate.auxiliary)
        .map(|(module, predicate)| (module, predicate.name, predicate.arity))
        .collect();
    if modules.iter().any(|module| module == MODULE) {
        anyhow::bail!("cannot load {}: its module {MODULE} is that of the REPL", file.display());
    }
    let taken =
        |loaded: &&Loaded| loaded.path != file && loaded.modules.iter().any(|name| modules.contains(name));
    if let Some(other) = definitions.files.iter().find(taken) {
        anyhow::bail!("cannot load {}: a module of it is in {}, too", file.display(), other.path.display());
    }
    let replaced = definitions.files.iter().position(|loaded| loaded.path == file);
    let before = replaced.map(|at| definitions.files.remove(at));
    definitions.files.push(Loaded { path: file.to_path_buf(), text, modules });
    definitions.current = None;
    for loaded in definitions.files.iter().rev().skip(1) {
        let added = read.sources.add(loaded.path.display().to_string(), loaded.text.clone());
        let (program, _) = syntax::read_program(&read.sources, &[added], machine.atoms());
        read.program.modules.extend(program.modules);
    }
    let completed = complete(&mut read, definitions, machine);
    let (_, more) = machine.front().lower(&read, Some(keys));
    read.diagnostics.extend(more);
    let refused =
        |d: &syntax::diagnostic::Diagnostic| d.severity == Severity::Error && !MISSING.contains(&d.code);
    report::diagnostics(&read.diagnostics, &read.sources, MessageFormat::Human);
    if completed.is_err() || read.diagnostics.iter().any(refused) {
        definitions.files.pop();
        definitions.files.extend(before);
    } else if before.is_some() {
        complain(&format!("note: the modules of {} are replaced", file.display()));
    }
    completed
}

/// A text as the REPL's module, with the modules of files.
fn read(text: Vec<u8>, definitions: &Definitions, machine: &mut Machine) -> anyhow::Result<sources::Read> {
    let mut map = SourceMap::default();
    let mut files = vec![map.add(MODULE.into(), text)];
    for loaded in &definitions.files {
        files.push(map.add(loaded.path.display().to_string(), loaded.text.clone()));
    }
    let (mut program, diagnostics) = syntax::read_program(&map, &files, machine.atoms());
    import(&mut program);
    Ok(sources::Read::of(program, map, diagnostics, files, Vec::new()))
}

/// Calls in the REPL's module of what is not in it mean the predicates of files, those of the last file first.
fn import(program: &mut Program) {
    let Some((own, loaded)) = program.modules.split_first_mut() else { return };
    let is_own: std::collections::BTreeSet<_> = own.predicates.iter().map(|p| (p.name, p.arity)).collect();
    let clauses = own.predicates.iter_mut().flat_map(|predicate| &mut predicate.clauses);
    for goal in clauses.flat_map(|clause| &mut clause.body) {
        let GoalKind::Call(call) = &mut goal.kind else { continue };
        let key = (call.name, call.arguments.len());
        if call.module.is_none() && !is_own.contains(&key) {
            let has = |module: &&syntax::program::Module| {
                module.predicates.iter().any(|p| !p.auxiliary && (p.name, p.arity) == key)
            };
            call.module = loaded.iter().rev().find(|module| has(module)).map(|module| module.name);
        }
    }
}

fn complete(
    read: &mut sources::Read,
    definitions: &Definitions,
    machine: &mut Machine,
) -> anyhow::Result<()> {
    let beside = Beside { folders: definitions.folders(), files: &Disk };
    Ok(sources::complete(read, &beside, machine.atoms())?)
}

/// Adds a clause (Q1); if not told to `add`, it may begin a new definition. True if it did.
fn define(
    text: &[u8],
    add: bool,
    definitions: &mut Definitions,
    machine: &mut Machine,
) -> anyhow::Result<bool> {
    if matches!(text, b"otherwise." | b"alternatively.") {
        definitions.separator = Some(match text {
            b"otherwise." => b"otherwise.\n",
            _ => b"alternatively.\n",
        });
        return Ok(false);
    }
    if text.starts_with(b":-") {
        complain("error: directives have no place here; type clauses, or goals behind `?-`");
        return Ok(false);
    }
    let header = format!(":- module {MODULE}.\n");
    let alone = read([header.as_bytes(), text, b"\n"].concat(), &Definitions::default(), machine)?;
    let typed = Typed { text, place: header.len()..header.len() + text.len(), skip: 0 };
    let errors: Vec<_> = alone.diagnostics.into_iter().filter(|d| d.severity == Severity::Error).collect();
    if typed.report(&errors, &alone.sources, alone.given[0]) {
        return Ok(false);
    }
    let defined = alone.program.modules.iter().flat_map(|module| &module.predicates);
    let Some(predicate) = defined.into_iter().find(|predicate| !predicate.auxiliary) else {
        return Ok(false);
    };
    let key = (machine.atoms().name(predicate.name).into_owned(), predicate.arity);
    let body = predicate.clauses.first().and_then(|clause| clause.body.first());
    let body = body.map(|goal| (goal.span.start as usize).saturating_sub(header.len()));
    let separator = definitions.separator.unwrap_or_default();
    let condition = kinds::condition(text, body, machine.atoms());
    let clause = Clause { text: [separator, text].concat(), condition };
    let replace = !add && definitions.is_new(&key, &clause);
    let (module, place) = definitions.with(&key, &clause.text, replace);
    let mut read = read(module, definitions, machine)?;
    complete(&mut read, definitions, machine)?;
    let (_, more) = machine.front().lower(&read, Some(Vec::new()));
    read.diagnostics.extend(more);
    // What is missing may still be typed.
    read.diagnostics.retain(|d| !MISSING.contains(&d.code));
    let typed = Typed { text, place: place.start + separator.len()..place.end, skip: 0 };
    if typed.report(&read.diagnostics, &read.sources, read.given[0]) {
        return Ok(false);
    }
    definitions.separator = None;
    tell_replaced(&key, &clause, replace, definitions);
    definitions.add(key, clause, replace);
    Ok(true)
}

/// Says that a definition replaces another, or stands before it.
fn tell_replaced((name, arity): &Key, clause: &Clause, replace: bool, definitions: &Definitions) {
    let known = definitions.clauses(&(name.clone(), *arity)).unwrap_or_default();
    let is_same = known.len() == 1 && known[0].text == clause.text;
    if replace && !known.is_empty() && !is_same {
        let count = match known.len() {
            1 => "its clause is".to_string(),
            count => format!("its {count} clauses are"),
        };
        complain(&format!(
            "note: {name}/{arity} is defined anew: {count} replaced (`:def` adds clauses instead)"
        ));
    }
}
