//! The REPL: clauses are collected in a module of their own; a query is compiled with them and run on one node, which
//! keeps running as long as the REPL does.

use crate::cli::{self, Engine, MessageFormat};
use crate::driver::Machine;
use crate::{ending, report, sources};
use runtime::native::{Native, Outcome};
use runtime::outcome::RunOutcome;
use runtime::worker::Worker;
use std::io::{BufRead, IsTerminal, Write};
use syntax::diagnostic::Severity;
use syntax::lexer::{Scanned, TermScanner};
use syntax::source::SourceMap;
use term::Word;
use term::abi::{Builtin, Place};

const MODULE: &str = "repl";
const HELP: &str = "\
p(X) :- G | B.     defines a clause (of the module `repl`); more clauses of p/1 are added to it
?- p(X), q(Y).     runs goals; bindings are printed as they arrive
:list              shows the clauses            :clear   forgets them
:load FILE         defines the clauses of a file that has one module
:help              this page                    :quit    leaves (so does the end of input)
";

/// What has been defined: the texts of each predicate's clauses, in order of first definition.
#[derive(Default)]
struct Definitions {
    predicates: Vec<((String, usize), Vec<String>)>,
    queries: usize,
}

/// Texts that `repl:show` has printed in the running query.
#[derive(Default)]
struct Shown(Vec<(String, String)>);

/// Runs the REPL until the end of its input; gives the exit code.
pub(crate) fn run(options: &cli::Repl) -> anyhow::Result<u8> {
    let engine = Engine { stats: false, heap_limit: None, check_heap: false };
    let mut machine = Machine::with_natives(&engine, vec![show()])?;
    let mut definitions = Definitions::default();
    for path in &options.files {
        load(&mut definitions, &mut machine, &path.display().to_string())?;
    }
    let terminal = std::io::stdin().is_terminal();
    if terminal {
        println!("Fifth {}. `:help` explains, `:quit` leaves.", env!("CARGO_PKG_VERSION"));
    }
    let mut input = std::io::stdin().lock();
    loop {
        let Some(text) = next_input(&mut input, terminal)? else { return Ok(0) };
        let entry = text.trim();
        if let Some(command) = entry.strip_prefix(':').filter(|_| !entry.starts_with(":-")) {
            if command.trim() == "quit" {
                return Ok(0);
            }
            if let Err(error) = obey(command.trim(), &mut definitions, &mut machine) {
                eprintln!("error: {error:#}");
            }
        } else if let Some(goals) = entry.strip_prefix("?-") {
            if let Some(code) = query(goals, &mut definitions, &mut machine)? {
                return Ok(code);
            }
        } else if !entry.is_empty() {
            define(entry, &mut definitions, &mut machine);
        }
    }
}

/// Reads lines up to the end of a clause, or one line with a command. `None` at the end of the input.
fn next_input(input: &mut impl BufRead, terminal: bool) -> anyhow::Result<Option<String>> {
    let mut text = String::new();
    loop {
        if terminal {
            print!("{}", if text.is_empty() { "fifth> " } else { "     | " });
            std::io::stdout().flush()?;
        }
        let mut line = Vec::new();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(if text.trim().is_empty() { None } else { Some(text) });
        }
        text.push_str(&String::from_utf8_lossy(&line));
        let entry = text.trim();
        let command = entry.starts_with(':') && !entry.starts_with(":-");
        if entry.is_empty() {
            text.clear();
        } else if command || matches!(TermScanner::new().scan(text.as_bytes(), false), Scanned::Term { .. }) {
            return Ok(Some(text));
        }
    }
}

fn obey(command: &str, definitions: &mut Definitions, machine: &mut Machine) -> anyhow::Result<()> {
    match command.split_once(' ').unwrap_or((command, "")) {
        ("help" | "h", _) => print!("{HELP}"),
        ("list", _) => {
            definitions.predicates.iter().flat_map(|(_, texts)| texts).for_each(|text| println!("{text}"))
        }
        ("clear", _) => definitions.predicates.clear(),
        ("load", file) if !file.trim().is_empty() => load(definitions, machine, file.trim())?,
        _ => eprintln!("error: there is no command :{command}; :help lists them"),
    }
    Ok(())
}

/// Adds the clauses of a file, whatever its module is called.
fn load(definitions: &mut Definitions, machine: &mut Machine, file: &str) -> anyhow::Result<()> {
    let read = sources::read(&[file.into()], machine.atoms(), &|_| true)?;
    if report::diagnostics(&read.diagnostics, &read.sources, MessageFormat::Human) {
        return Ok(());
    }
    let given = read.given[0];
    for predicate in read.program.modules.iter().flat_map(|module| &module.predicates) {
        if predicate.auxiliary || predicate.span.file != given {
            continue;
        }
        let name = machine.atoms().name(predicate.name).into_owned();
        for clause in &predicate.clauses {
            let text = &read.sources.file(given).text[clause.span.start as usize..clause.span.end as usize];
            let mut text = String::from_utf8_lossy(text).trim_end().trim_end_matches('.').to_string();
            text.push('.');
            definitions.add((name.clone(), predicate.arity), text);
        }
    }
    Ok(())
}

impl Definitions {
    fn add(&mut self, key: (String, usize), text: String) {
        match self.predicates.iter_mut().find(|(known, _)| *known == key) {
            Some((_, texts)) if texts.last() == Some(&text) => {}
            Some((_, texts)) => texts.push(text),
            None => self.predicates.push((key, vec![text])),
        }
    }
    fn text(&self) -> String {
        let clauses: Vec<&str> =
            self.predicates.iter().flat_map(|(_, texts)| texts).map(String::as_str).collect();
        format!(":- module {MODULE}.\n{}\n", clauses.join("\n"))
    }
}

/// Adds a clause if it is well-formed. `otherwise.` and `alternatively.` stand before the next clause of a predicate, so
/// they are typed together with it.
fn define(text: &str, definitions: &mut Definitions, machine: &mut Machine) {
    let mut map = SourceMap::default();
    let header = format!(":- module {MODULE}.\n");
    let file = map.add("input".into(), format!("{header}{text}\n").into_bytes());
    let (program, diagnostics) = syntax::read_program(&map, &[file], machine.atoms());
    if report::diagnostics(&diagnostics, &map, MessageFormat::Human) {
        return;
    }
    let Some(predicate) =
        program.modules.first().and_then(|module| module.predicates.iter().find(|p| !p.auxiliary))
    else {
        return;
    };
    let name = machine.atoms().name(predicate.name).into_owned();
    definitions.add((name, predicate.arity), text.to_string());
}

/// Runs goals. An exit code when the goals ask to exit.
fn query(goals: &str, definitions: &mut Definitions, machine: &mut Machine) -> anyhow::Result<Option<u8>> {
    definitions.queries += 1;
    let name = format!("query {}", definitions.queries);
    let Some(variables) = variables(goals, machine) else { return Ok(None) };
    let head = if variables.is_empty() { String::new() } else { format!("({})", variables.join(",")) };
    let watches: String = variables.iter().map(|v| format!("'repl watch'('{v}',{v}), ")).collect();
    let text = format!(
        "{}'repl watch'(N,V) :- wait(V) | repl:show(N,V).\n:- daemon 'repl watch'/2.\n'{name}'{head} :- true | {watches}{goals}",
        definitions.text()
    );
    let mut map = SourceMap::default();
    let file = map.add("query".into(), text.into_bytes());
    let (program, diagnostics) = syntax::read_program(&map, &[file], machine.atoms());
    let mut read = sources::Read { program, sources: map, diagnostics, given: vec![file] };
    let known = machine.modules();
    sources::complete(&mut read, Some(std::path::Path::new(".")), machine.atoms(), &|module| {
        known.contains(module)
    })?;
    let key =
        (machine.atoms().intern(MODULE.as_bytes()), machine.atoms().intern(name.as_bytes()), variables.len());
    let (program, diagnostics) = machine.lower(&mut read, Some(vec![key]));
    read.diagnostics.extend(diagnostics);
    read.diagnostics.retain(|d| d.severity == Severity::Error || d.code != "singleton-variable");
    let errors = report::diagnostics(&read.diagnostics, &read.sources, MessageFormat::Human);
    let Some(program) = program.filter(|_| !errors) else { return Ok(None) };
    let engine = Engine { stats: false, heap_limit: None, check_heap: false };
    let compiled = machine.generate(program, &engine)?;
    machine.load(&compiled)?;
    run_query(machine, key, &variables)
}

/// The named variables of a query, in order; `None` after a syntax error (reported).
fn variables(goals: &str, machine: &mut Machine) -> Option<Vec<String>> {
    let mut map = SourceMap::default();
    let file = map.add("query".into(), format!(":- module {MODULE}.\nquery :- true | {goals}").into_bytes());
    let (program, diagnostics) = syntax::read_program(&map, &[file], machine.atoms());
    let errors: Vec<_> = diagnostics.into_iter().filter(|d| d.severity == Severity::Error).collect();
    if report::diagnostics(&errors, &map, MessageFormat::Human) {
        return None;
    }
    let clause = program.modules.first()?.predicates.first()?.clauses.first()?;
    let named = clause.variables.iter().map(|variable| variable.name.clone());
    Some(named.filter(|name| name.starts_with(|c: char| c.is_uppercase())).collect())
}

fn run_query(
    machine: &mut Machine,
    (module, name, arity): compiler::PredicateKey,
    variables: &[String],
) -> anyhow::Result<Option<u8>> {
    let worker = machine.node.worker();
    worker.state::<Shown>().0.clear();
    let arguments: Vec<Word> = variables.iter().map(|_| worker.new_variable()).collect();
    let roots: Vec<_> = arguments.iter().map(|&argument| worker.root(argument)).collect();
    let Some(predicate) = worker.predicates.lookup(module, name, arity) else { return Ok(None) };
    let outcome = machine.node.run(predicate, &arguments);
    if let Err(error) = runtime::builtins::io::flush(machine.node.worker()) {
        ending::report(&RunOutcome::Failed(error), &mut std::io::stderr())?;
    }
    let worker = machine.node.worker();
    for (name, root) in variables.iter().zip(roots) {
        let value = worker.take_root(root);
        let text = worker.term_text(value);
        let shown = worker.state::<Shown>().0.iter().any(|(n, t)| n == name && *t == text);
        if !shown {
            println!("{name} = {text}");
        }
    }
    ending::report(&outcome, &mut std::io::stderr())?;
    Ok(match outcome {
        RunOutcome::Exit(status) => Some((status & 255) as u8),
        _ => None,
    })
}

/// `repl:show(Name, Value)`: prints a binding when it arrives.
fn show() -> Native {
    fn run(worker: &mut Worker, inputs: &[Word], _: &mut [Word]) -> Outcome {
        let name = worker.term_text(inputs[0]);
        let name = name.trim_matches('\'').to_string();
        let text = worker.term_text(inputs[1]);
        // What the program has written comes first.
        if let Err(error) = runtime::builtins::io::flush(worker) {
            return Outcome::Error(error);
        }
        println!("{name} = {text}");
        worker.state::<Shown>().0.push((name, text));
        Outcome::Done
    }
    let signature = Builtin {
        module: MODULE.into(),
        name: "show".into(),
        modes: "ii".into(),
        place: Place::Goal,
        daemon: true,
    };
    Native { signature, run }
}
