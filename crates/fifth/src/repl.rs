//! The REPL: clauses are collected in a module of their own; a query is compiled with those that it reaches and run
//! on one node, which keeps running as long as the REPL does.
//!
//! Invariants:
//! - Q1 A definition that could never be compiled is refused when it is typed, so that it cannot spoil later queries.
//! - Q2 A query that fails, waits for ever or is interrupted leaves nothing behind.

use crate::callers::{Callers, Calls};
use crate::cli::{self, Engine, MessageFormat};
use crate::driver::Machine;
use crate::input::Input;
use crate::output::{self, complain};
use crate::{ending, report, sources};
use runtime::native::{Native, Outcome, Seat};
use runtime::outcome::{ErrorKind, ProgramError, RunOutcome};
use runtime::worker::Worker;
use std::ops::Range;
use std::path::Path;
use syntax::diagnostic::{Diagnostic, Severity};
use syntax::program::{GoalKind, Program};
use syntax::source::{SourceMap, Span};
use term::Word;
use term::abi::{Builtin, Place};

const MODULE: &str = "repl";
const HELP: &str = "\
p(X) :- G | B.     defines a clause (of the module `repl`); further clauses of p/1 are added to it
otherwise.         stands before the next clause that is typed; so does alternatively.
?- p(X), q(Y).     runs goals; bindings are printed as they arrive; Ctrl-C ends the query
:list              shows the clauses            :clear        forgets them all
:forget p/1        forgets those of p/1         :load FILE    defines the clauses of a file
:help              this page                    :quit         leaves (so does Ctrl-D)
On a terminal Tab completes names, the arrow keys edit and recall, Ctrl-R searches, Ctrl-C abandons what is typed.
";
const COMMANDS: [&str; 6] = ["clear", "forget", "help", "list", "load", "quit"];

/// Errors about what is not defined, and may be defined later.
const MISSING: [&str; 2] = ["undefined-predicate", "wrong-arity"];

type Key = (String, usize);

/// What has been defined: the texts of each predicate's clauses, in order of first definition.
#[derive(Default)]
struct Definitions {
    predicates: Vec<(Key, Vec<String>)>,
    /// `otherwise.` or `alternatively.`, typed and waiting for its clause.
    separator: Option<String>,
    queries: usize,
}

/// Texts that `repl:show` has printed in the running query.
#[derive(Default)]
struct Shown(Vec<(String, String)>);

/// Runs the REPL until the end of its input; gives the exit code.
pub(crate) fn run(options: &cli::Repl) -> anyhow::Result<u8> {
    let mut machine = Machine::with_natives(&Engine::with(options.workers), &[show()])?;
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
        input.offer(|| names(&definitions, &machine));
        let Some(entry) = input.next()? else { return Ok(0) };
        let entry = entry.trim();
        if let Some(command) = entry.strip_prefix(':').filter(|_| !entry.starts_with(":-")) {
            if matches!(command.trim(), "quit" | "q" | "exit") {
                return Ok(0);
            }
            obey(command.trim(), &mut definitions, &mut machine)?;
        } else if let Some(goals) = entry.strip_prefix("?-") {
            if let Some(code) = query(entry, goals, &mut definitions, &mut machine)? {
                return Ok(code);
            }
        } else {
            define(entry, &mut definitions, &mut machine)?;
        }
    }
}

/// What may be completed: commands, defined predicates, builtins, modules of the library.
fn names(definitions: &Definitions, machine: &Machine) -> Vec<String> {
    let builtins = machine.node.builtins().iter().map(|(_, builtin)| builtin);
    let mut names: Vec<String> = COMMANDS.map(|command| format!(":{command}")).into();
    names.extend(definitions.predicates.iter().map(|((name, _), _)| name.clone()));
    names.extend(builtins.map(|builtin| format!("{}:{}", builtin.module, builtin.name)));
    names.extend(library::modules().map(|module| format!("{module}:")));
    names.retain(|name| name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == ':'));
    names.sort_unstable();
    names.dedup();
    names
}

fn obey(command: &str, definitions: &mut Definitions, machine: &mut Machine) -> anyhow::Result<()> {
    match command.split_once(' ').unwrap_or((command, "")) {
        ("help" | "h", _) => output::write(HELP)?,
        ("list", _) => output::write(&definitions.listing())?,
        ("clear", _) => definitions.predicates.clear(),
        ("forget", what) if !what.trim().is_empty() => {
            let before = definitions.predicates.len();
            let named = |(name, arity): &Key| format!("{name}/{arity}") == what.trim();
            definitions.predicates.retain(|(key, _)| !named(key));
            if definitions.predicates.len() == before {
                complain(&format!("error: there is no {}; :list shows what there is", what.trim()));
            }
        }
        ("load", file) if !file.trim().is_empty() => {
            if let Err(error) = load(definitions, machine, Path::new(file.trim())) {
                output::error(&error);
            }
        }
        ("load", _) => complain("error: :load needs a file"),
        ("forget", _) => complain("error: :forget needs a predicate, as in `:forget p/1`"),
        _ => complain(&format!("error: there is no command :{command}; :help lists them")),
    }
    Ok(())
}

/// Adds the clauses of a file, whatever its module is called.
fn load(definitions: &mut Definitions, machine: &mut Machine, file: &Path) -> anyhow::Result<()> {
    let read = sources::read(&[file.into()], machine.atoms(), &|_| true, false)?;
    if report::diagnostics(&read.diagnostics, &read.sources, MessageFormat::Human) {
        return Ok(());
    }
    let given = read.given[0];
    for predicate in read.program.modules.iter().flat_map(|module| &module.predicates) {
        if predicate.auxiliary || predicate.span.file != given {
            continue;
        }
        let key = (machine.atoms().name(predicate.name).into_owned(), predicate.arity);
        definitions.predicates.retain(|(known, _)| *known != key);
        for clause in &predicate.clauses {
            let text = &read.sources.file(given).text[clause.span.start as usize..clause.span.end as usize];
            let text = String::from_utf8_lossy(text).trim_end().trim_end_matches('.').to_string();
            definitions.add(key.clone(), format!("{}{text}.", separator(clause.separator)));
        }
    }
    Ok(())
}

fn separator(separator: syntax::program::Separator) -> &'static str {
    use syntax::program::Separator;
    match separator {
        Separator::Otherwise => "otherwise.\n",
        Separator::Alternatively => "alternatively.\n",
        Separator::None => "",
    }
}

impl Definitions {
    fn add(&mut self, key: Key, text: String) {
        match self.predicates.iter_mut().find(|(known, _)| *known == key) {
            Some((_, texts)) if texts.last() == Some(&text) => {}
            Some((_, texts)) => texts.push(text),
            None => self.predicates.push((key, vec![text])),
        }
    }
    fn listing(&self) -> String {
        self.predicates.iter().flat_map(|(_, texts)| texts).map(|text| format!("{text}\n")).collect()
    }
    /// The module with one clause more, and where that one is.
    fn with(&self, key: &Key, text: &str) -> (String, Range<usize>) {
        let mut module = format!(":- module {MODULE}.\n");
        let mut place = None;
        let put = |module: &mut String, text: &str| {
            let start = module.len();
            module.push_str(text);
            module.push('\n');
            start..start + text.len()
        };
        for (known, texts) in &self.predicates {
            for text in texts {
                put(&mut module, text);
            }
            if known == key {
                place = Some(put(&mut module, text));
            }
        }
        let place = place.unwrap_or_else(|| put(&mut module, text));
        (module, place)
    }
}

/// A text that was typed, inside a text that is compiled.
struct Typed<'t> {
    text: &'t str,
    /// Where it is in the compiled text; what is before `skip` is only in the typed one.
    place: Range<usize>,
    skip: usize,
}

impl Typed<'_> {
    /// Reports diagnostics as those of the typed text where they are in it. True if one is an error.
    fn report(&self, list: &[Diagnostic], compiled: &SourceMap, own: syntax::source::FileId) -> bool {
        let mut map = SourceMap::default();
        let file = map.add("input".into(), self.text.as_bytes().to_vec());
        let shift = |span: Span| {
            let inside = span.file == own
                && (self.place.start..=self.place.end).contains(&(span.start as usize))
                && span.end as usize <= self.place.end + 1;
            let moved = |at: u32| (at as usize - self.place.start + self.skip).min(self.text.len()) as u32;
            inside.then(|| Span { file, start: moved(span.start), end: moved(span.end) })
        };
        let (mut typed, mut others) = (Vec::new(), Vec::new());
        for diagnostic in list {
            match shift(diagnostic.span) {
                Some(span) => {
                    let mut diagnostic = Diagnostic { span, ..diagnostic.clone() };
                    diagnostic.related.retain_mut(|(span, _)| shift(*span).map(|to| *span = to).is_some());
                    typed.push(diagnostic);
                }
                None if diagnostic.severity == Severity::Error => others.push(diagnostic.clone()),
                None => {}
            }
        }
        let typed = report::diagnostics(&typed, &map, MessageFormat::Human);
        report::diagnostics(&others, compiled, MessageFormat::Human) | typed
    }
}

/// A text as the REPL's program, with the modules that it needs.
fn read(text: String, machine: &mut Machine) -> anyhow::Result<sources::Read> {
    let mut map = SourceMap::default();
    let file = map.add(MODULE.into(), text.into_bytes());
    let (program, diagnostics) = syntax::read_program(&map, &[file], machine.atoms());
    Ok(sources::Read::of(program, map, diagnostics, vec![file], Vec::new()))
}

fn complete(read: &mut sources::Read, machine: &mut Machine) -> anyhow::Result<()> {
    let known = machine.known_modules();
    sources::complete(read, Some(Path::new("")), machine.atoms(), &known)
}

/// Adds a clause (Q1).
fn define(text: &str, definitions: &mut Definitions, machine: &mut Machine) -> anyhow::Result<()> {
    if matches!(text, "otherwise." | "alternatively.") {
        definitions.separator = Some(format!("{text}\n"));
        return Ok(());
    }
    if text.starts_with(":-") {
        complain("error: directives have no place here; type clauses, or goals behind `?-`");
        return Ok(());
    }
    let header = format!(":- module {MODULE}.\n");
    let alone = read(format!("{header}{text}\n"), machine)?;
    let typed = Typed { text, place: header.len()..header.len() + text.len(), skip: 0 };
    let errors: Vec<_> = alone.diagnostics.into_iter().filter(|d| d.severity == Severity::Error).collect();
    if typed.report(&errors, &alone.sources, alone.given[0]) {
        return Ok(());
    }
    let defined = alone.program.modules.iter().flat_map(|module| &module.predicates);
    let Some(predicate) = defined.into_iter().find(|predicate| !predicate.auxiliary) else { return Ok(()) };
    let key = (machine.atoms().name(predicate.name).into_owned(), predicate.arity);
    let separator = definitions.separator.take().unwrap_or_default();
    let whole = format!("{separator}{text}");
    let (module, place) = definitions.with(&key, &whole);
    let mut read = read(module, machine)?;
    complete(&mut read, machine)?;
    let (_, more) = machine.lower(&mut read, Some(Vec::new()));
    read.diagnostics.extend(more);
    // What is missing may still be typed.
    read.diagnostics.retain(|d| !MISSING.contains(&d.code));
    let typed = Typed { text, place: place.start + separator.len()..place.end, skip: 0 };
    if !typed.report(&read.diagnostics, &read.sources, read.given[0]) {
        definitions.add(key, whole);
    }
    Ok(())
}

/// Runs goals. An exit code when the goals ask to exit.
fn query(
    entry: &str,
    goals: &str,
    definitions: &mut Definitions,
    machine: &mut Machine,
) -> anyhow::Result<Option<u8>> {
    definitions.queries += 1;
    let name = format!("query {}", definitions.queries);
    let skip = entry.len() - goals.len();
    let Some(variables) = variables(entry, goals, machine)? else { return Ok(None) };
    let head = if variables.is_empty() { String::new() } else { format!("({})", variables.join(",")) };
    let watches: String = variables.iter().map(|v| format!("'repl watch'('{v}',{v}), ")).collect();
    let before = format!(
        ":- module {MODULE}.\n{}'repl watch'(N,V) :- wait(V) | repl:show(N,V).\n:- daemon 'repl watch'/2.\n'{name}'{head} :- true | {watches}\n",
        definitions.listing()
    );
    let place = before.len()..before.len() + goals.len();
    let text = before + goals + "\n";
    let key =
        (machine.atoms().intern(MODULE.as_bytes()), machine.atoms().intern(name.as_bytes()), variables.len());
    let (mut read, mut program) = lower(text.clone(), key, false, machine)?;
    if read.diagnostics.iter().any(|d| MISSING.contains(&d.code)) {
        (read, program) = lower(text, key, true, machine)?;
    }
    let errors = Typed { text: entry, place, skip }.report(&read.diagnostics, &read.sources, read.given[0]);
    let Some(program) = program.filter(|_| !errors) else { return Ok(None) };
    let code = machine.code_options(&Engine::PLAIN);
    let compiled = machine.generate(program, &code, read.library)?;
    machine.load(&compiled)?;
    run_query(machine, key, &variables, &read)
}

/// Compiles a query: with all definitions, or only with those that it reaches. Warnings were shown before.
fn lower(
    text: String,
    key: compiler::PredicateKey,
    only_reachable: bool,
    machine: &mut Machine,
) -> anyhow::Result<(sources::Read, Option<compiler::ir::Program>)> {
    let mut read = read(text, machine)?;
    if only_reachable {
        keep_reachable(&mut read.program, key);
    }
    complete(&mut read, machine)?;
    let (program, diagnostics) = machine.lower(&mut read, Some(vec![key]));
    read.diagnostics.extend(diagnostics);
    read.diagnostics.retain(|d| d.severity == Severity::Error);
    Ok((read, program))
}

/// Drops predicates of the REPL's module that the query does not reach: they may call what is not defined yet.
fn keep_reachable(program: &mut Program, (module, name, arity): compiler::PredicateKey) {
    let Some(own) = program.modules.iter_mut().find(|other| other.name == module) else { return };
    let mut reached = std::collections::BTreeSet::from([(name, arity)]);
    let mut next = vec![(name, arity)];
    while let Some(key) = next.pop() {
        let called = own.predicates.iter().filter(|p| (p.name, p.arity) == key);
        for goal in called.flat_map(|predicate| &predicate.clauses).flat_map(|clause| &clause.body) {
            if let GoalKind::Call(call) = &goal.kind
                && call.module.is_none_or(|other| other == module)
                && reached.insert((call.name, call.arguments.len()))
            {
                next.push((call.name, call.arguments.len()));
            }
        }
    }
    own.predicates.retain(|predicate| reached.contains(&(predicate.name, predicate.arity)));
}

/// The named variables of a query, in order; `None` after a syntax error (reported).
fn variables(entry: &str, goals: &str, machine: &mut Machine) -> anyhow::Result<Option<Vec<String>>> {
    let before = format!(":- module {MODULE}.\nquery :- true |\n");
    let place = before.len()..before.len() + goals.len();
    let read = read(before + goals + "\n", machine)?;
    let errors: Vec<_> = read.diagnostics.into_iter().filter(|d| d.severity == Severity::Error).collect();
    let typed = Typed { text: entry, place, skip: entry.len() - goals.len() };
    if typed.report(&errors, &read.sources, read.given[0]) {
        return Ok(None);
    }
    let predicates = read.program.modules.first().map(|module| &module.predicates);
    let clause = predicates.and_then(|all| all.iter().find(|p| !p.auxiliary)).and_then(|p| p.clauses.first());
    let named = clause.into_iter().flat_map(|clause| &clause.variables).map(|variable| variable.name.clone());
    Ok(Some(named.filter(|name| name.starts_with(|c: char| c.is_uppercase())).collect()))
}

fn run_query(
    machine: &mut Machine,
    (module, name, arity): compiler::PredicateKey,
    variables: &[String],
    read: &sources::Read,
) -> anyhow::Result<Option<u8>> {
    let worker = machine.node.worker();
    worker.state::<Shown>().0.clear();
    let arguments: Vec<Word> = variables.iter().map(|_| worker.new_variable()).collect();
    let roots: Vec<_> = arguments.iter().map(|&argument| worker.root(argument)).collect();
    let Some(predicate) = worker.predicates.lookup(module, name, arity) else { return Ok(None) };
    let outcome = machine.node.run(predicate, &arguments);
    // A closed standard error leaves nobody to tell, here and below.
    let lines = |file: &str, line: u32| {
        let known = read.sources.files().iter().find(|known| known.name == file);
        known.map_or_else(|| ending::file_line(file, line), |known| ending::nth_line(&known.text, line))
    };
    let calls = Calls::of(read, machine.atoms());
    let atoms = machine.node.worker().atoms.clone();
    let texts = ending::Texts { lines: &lines, callers: Some(Callers { calls: &calls, atoms: &atoms }) };
    let flushed = runtime::builtins::io::flush(machine.node.worker());
    let gone = |error: &ProgramError| error.kind == ErrorKind::ReaderGone;
    if flushed.as_ref().is_err_and(|error| gone(error))
        || matches!(&outcome, RunOutcome::Failed(e) if gone(e))
    {
        return Ok(Some(ending::READER_GONE));
    }
    if let Err(error) = flushed {
        let _ = ending::report(&RunOutcome::Failed(error), texts, &mut std::io::stderr());
    }
    let worker = machine.node.worker();
    for (name, root) in variables.iter().zip(roots) {
        let value = worker.take_root(root);
        let text = worker.term_text(value);
        let shown = worker.state::<Shown>().0.iter().any(|(n, t)| n == name && *t == text);
        if !shown {
            output::line(&format!("{name} = {text}"))?;
        }
    }
    let _ = ending::report(&outcome, texts, &mut std::io::stderr());
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
        if let Err(error) = output::line(&format!("{name} = {text}")) {
            let gone = error.is::<output::ReaderGone>();
            let kind = if gone { ErrorKind::ReaderGone } else { ErrorKind::Other };
            return Outcome::Error(ProgramError::new(kind, format!("{error:#}")));
        }
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
    Native { signature, run, process: None, seat: Seat::Home, walks: false }
}
