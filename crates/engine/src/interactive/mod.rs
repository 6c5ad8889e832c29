//! Definitions and queries that are entered one after the other, as in a REPL or a notebook: clauses are collected in a
//! module of their own, beside modules of files; a query is compiled with those that it reaches and run on one node,
//! which keeps running.
//!
//! Invariants:
//! - Q1 A definition that could never be compiled is refused when it is entered, so that it cannot spoil later queries.
//! - A query that fails, waits for ever or is interrupted leaves nothing behind.

mod definitions;
mod kinds;
mod query;
mod typed;

pub use query::{Binding, Show};

use crate::error::Error;
use crate::machine::Machine;
use crate::program::Report;
use crate::settings::Settings;
use crate::sources::{self, Beside, Files, Read};
use definitions::{Clause, Definitions, Key, Loaded};
use kinds::Kind;
use query::{Query, Shown};
use runtime::outcome::RunOutcome;
use std::path::Path;
use syntax::diagnostic::{Diagnostic, Severity};
use syntax::lexer::{Scanned, TermScanner};
use syntax::program::{GoalKind, Program};
use syntax::source::SourceMap;
use typed::Typed;

/// The module of what is typed.
const MODULE: &str = "repl";

/// Errors about what is not defined, and may be defined later.
const MISSING: [&str; 3] = ["undefined-predicate", "undefined-module", "wrong-arity"];

/// A node, what has been defined, and where files come from.
pub struct Interactive {
    machine: Machine,
    definitions: Definitions,
    files: Box<dyn Files>,
}

/// What is to be told about an entry, beside bindings.
#[derive(Debug)]
pub enum Said {
    /// What is wrong with a text.
    Wrong(Report),
    /// A sentence about what was done, or cannot be.
    Note(String),
    /// This word alone is no goal: there is no such predicate.
    Missing(String),
    /// How a query ended that did not end well.
    Ended {
        /// The outcome.
        outcome: RunOutcome,
        /// The same for people.
        text: String,
    },
}

/// Is told, in the order in which things happen.
pub type Tell<'t> = &'t mut dyn FnMut(Said);

/// Nothing more is to be entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// A query asked to exit with this status.
    Exit(i32),
    /// Nobody reads the output any more.
    ReaderGone,
}

/// What became of an entry.
pub type Entered = Result<Option<Leave>, Error>;

impl Interactive {
    /// Nothing is defined; `show` shows bindings.
    pub fn start(settings: &Settings, files: Box<dyn Files>, show: Show) -> Result<Interactive, Error> {
        let mut machine = Machine::with_natives(settings, &[query::show()])?;
        machine.node().terms().state::<Shown>().show = Some(show);
        Ok(Interactive { machine, definitions: Definitions::default(), files })
    }

    /// The node.
    pub fn machine(&mut self) -> &mut Machine {
        &mut self.machine
    }

    /// A clause, goals or a value, with its full stop.
    pub fn enter(&mut self, entry: &[u8], tell: Tell<'_>) -> Entered {
        let query = |goals, assignment| Query { entry, goals, assignment };
        if let Some(goals) = entry.strip_prefix(b"?-") {
            return query(goals, None).run(self, tell);
        }
        let is_separator = matches!(entry, b"otherwise." | b"alternatively.");
        let kind = if is_separator { Kind::Clause } else { kinds::kind(entry, self.machine.atoms()) };
        match kind {
            Kind::Goals => query(entry, None).run(self, tell),
            Kind::Value(assignment) => query(entry, Some(assignment)).run(self, tell),
            Kind::Either((name, arity)) => {
                let goal = query(entry, None);
                // `print(X).` is to print, and makes no fact.
                let foreign = || compiler::is_foreign(name.as_bytes(), arity, &library::named(&name));
                if arity > 0 && foreign() || !goal.misses(self)? {
                    return goal.run(self, tell);
                }
                if arity == 0 {
                    tell(Said::Missing(name));
                } else if self.define(entry, false, tell)? {
                    tell(Said::Note(format!(
                        "note: this defines the fact {name}/{arity}; from now on such an entry is run, and `:def` adds facts"
                    )));
                }
                Ok(None)
            }
            Kind::Clause => self.define(entry, false, tell).map(|_| None),
        }
    }

    /// Adds clauses to what there is.
    pub fn add(&mut self, mut text: &[u8], tell: Tell<'_>) -> Result<(), Error> {
        while let Scanned::Term(end) = TermScanner::new().scan(text, true) {
            let (clause, rest) = text.split_at(end);
            self.define(clause.trim_ascii(), true, tell)?;
            text = rest;
        }
        Ok(())
    }

    /// Forgets the clauses of a predicate, `p/1`. False if there is none.
    pub fn forget(&mut self, predicate: &str) -> bool {
        let before = self.definitions.predicates.len();
        self.definitions.predicates.retain(|((name, arity), _)| format!("{name}/{arity}") != predicate);
        self.definitions.predicates.len() < before
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.definitions = Definitions { queries: self.definitions.queries, ..Definitions::default() };
    }

    /// The clauses, and the files.
    pub fn listing(&self) -> Vec<u8> {
        self.definitions.shown()
    }

    /// The texts of the modules that may be called, with their names: of files, the last one first, and of the library.
    pub fn texts(&self) -> Vec<(String, Vec<u8>)> {
        let loaded = self.definitions.files.iter().rev();
        let files = loaded.map(|file| (self.files.name(&file.path), file.text.clone()));
        let library = library::modules().filter_map(|name| Some((name, library::text(name)?)));
        files.chain(library.map(|(name, text)| (format!("library/{name}.kl1"), text.into()))).collect()
    }

    /// What names may begin with: defined predicates, builtins, and modules, these with a colon; in alphabetical order.
    pub fn names(&mut self) -> Vec<String> {
        let Interactive { machine, definitions, .. } = self;
        let builtins = machine.node.builtins().iter().map(|(_, builtin)| builtin);
        let mut names: Vec<String> =
            definitions.predicates.iter().map(|((name, _), _)| name.clone()).collect();
        names.extend(builtins.map(|builtin| format!("{}:{}", builtin.module, builtin.name)));
        let loaded = definitions.files.iter().flat_map(|file| &file.modules);
        names.extend(loaded.map(|module| format!("{module}:")));
        names.extend(library::modules().map(|module| format!("{module}:")));
        names.retain(|name| name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == ':'));
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Adds the modules of a file, or replaces them.
    pub fn load(&mut self, file: &Path, tell: Tell<'_>) -> Result<(), Error> {
        let Interactive { machine, definitions, files } = self;
        let text = sources::text_of(&**files, file)?;
        let name = files.name(file);
        let mut map = SourceMap::default();
        let given = map.add(name, text.clone());
        let (program, diagnostics) = syntax::read_program(&map, &[given], machine.atoms());
        let mut read = Read::of(program, map, diagnostics, vec![given], vec![file.to_path_buf()]);
        let own = read.program.modules.iter();
        let modules: Vec<String> = own.map(|module| machine.atoms().name(module.name).into_owned()).collect();
        let keys: Vec<_> = (read.program.modules.iter())
            .flat_map(|module| module.predicates.iter().map(|predicate| (module.name, predicate)))
            .filter(|(_, predicate)| !predicate.auxiliary)
            .map(|(module, predicate)| (module, predicate.name, predicate.arity))
            .collect();
        if modules.iter().any(|module| module == MODULE) {
            return Err(Error::Settings(format!(
                "cannot load {}: its module {MODULE} is that of the REPL",
                file.display()
            )));
        }
        let taken = |loaded: &&Loaded| {
            loaded.path != file && loaded.modules.iter().any(|name| modules.contains(name))
        };
        if let Some(other) = definitions.files.iter().find(taken) {
            let (shown, other) = (file.display(), other.path.display());
            return Err(Error::Settings(format!("cannot load {shown}: a module of it is in {other}, too")));
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
        let completed = self.complete(&mut read);
        let (_, more) = self.machine.front().lower(&read, Some(keys));
        read.diagnostics.extend(more);
        let refused = |d: &Diagnostic| d.severity == Severity::Error && !MISSING.contains(&d.code);
        let wrong = completed.is_err() || read.diagnostics.iter().any(refused);
        if !read.diagnostics.is_empty() {
            tell(Said::Wrong(Report::of(read)));
        }
        if wrong {
            self.definitions.files.pop();
            self.definitions.files.extend(before);
        } else if before.is_some() {
            tell(Said::Note(format!("note: the modules of {} are replaced", file.display())));
        }
        completed
    }

    /// Adds a clause (Q1); if not told to `add`, it may begin a new definition. True if it did.
    fn define(&mut self, text: &[u8], add: bool, tell: Tell<'_>) -> Result<bool, Error> {
        if matches!(text, b"otherwise." | b"alternatively.") {
            self.definitions.separator = Some(match text {
                b"otherwise." => b"otherwise.\n",
                _ => b"alternatively.\n",
            });
            return Ok(false);
        }
        if text.starts_with(b":-") {
            tell(Said::Note(
                "error: directives have no place here; type clauses, or goals behind `?-`".into(),
            ));
            return Ok(false);
        }
        let header = format!(":- module {MODULE}.\n");
        let alone = [header.as_bytes(), text, b"\n"].concat();
        let alone = read(alone, &Definitions::default(), &mut self.machine);
        let typed = Typed { text, place: header.len()..header.len() + text.len(), skip: 0 };
        let errors: Vec<_> =
            alone.diagnostics.into_iter().filter(|d| d.severity == Severity::Error).collect();
        if typed.report(&errors, &alone.sources, alone.given[0], tell) {
            return Ok(false);
        }
        let defined = alone.program.modules.iter().flat_map(|module| &module.predicates);
        let Some(predicate) = defined.into_iter().find(|predicate| !predicate.auxiliary) else {
            return Ok(false);
        };
        let key = (self.machine.atoms().name(predicate.name).into_owned(), predicate.arity);
        let body = predicate.clauses.first().and_then(|clause| clause.body.first());
        let body = body.map(|goal| (goal.span.start as usize).saturating_sub(header.len()));
        let separator = self.definitions.separator.unwrap_or_default();
        let condition = kinds::condition(text, body, self.machine.atoms());
        let clause = Clause { text: [separator, text].concat(), condition };
        let replace = !add && self.definitions.is_new(&key, &clause);
        let (module, place) = self.definitions.with(&key, &clause.text, replace);
        let mut read = read(module, &self.definitions, &mut self.machine);
        self.complete(&mut read)?;
        let (_, more) = self.machine.front().lower(&read, Some(Vec::new()));
        read.diagnostics.extend(more);
        // What is missing may still be typed.
        read.diagnostics.retain(|d| !MISSING.contains(&d.code));
        let typed = Typed { text, place: place.start + separator.len()..place.end, skip: 0 };
        if typed.report(&read.diagnostics, &read.sources, read.given[0], tell) {
            return Ok(false);
        }
        self.definitions.separator = None;
        if let Some(note) = replaced(&key, &clause, replace, &self.definitions) {
            tell(Said::Note(note));
        }
        self.definitions.add(key, clause, replace);
        Ok(true)
    }

    fn complete(&mut self, read: &mut Read) -> Result<(), Error> {
        let beside = Beside { folders: self.definitions.folders(), files: &*self.files };
        Ok(sources::complete(read, &beside, self.machine.atoms())?)
    }
}

/// A text as the module of what is typed, with the modules of files.
fn read(text: Vec<u8>, definitions: &Definitions, machine: &mut Machine) -> Read {
    let mut map = SourceMap::default();
    let mut files = vec![map.add(MODULE.into(), text)];
    for loaded in &definitions.files {
        files.push(map.add(loaded.path.display().to_string(), loaded.text.clone()));
    }
    let (mut program, diagnostics) = syntax::read_program(&map, &files, machine.atoms());
    import(&mut program);
    Read::of(program, map, diagnostics, files, Vec::new())
}

/// Calls in the module of what is typed of what is not in it mean the predicates of files, those of the last file
/// first.
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

/// What is said of a definition that replaces another one.
fn replaced(
    (name, arity): &Key,
    clause: &Clause,
    replace: bool,
    definitions: &Definitions,
) -> Option<String> {
    let known = definitions.clauses(&(name.clone(), *arity)).unwrap_or_default();
    let is_same = known.len() == 1 && known[0].text == clause.text;
    if !replace || known.is_empty() || is_same {
        return None;
    }
    let count = match known.len() {
        1 => "its clause is".to_string(),
        count => format!("its {count} clauses are"),
    };
    Some(format!("note: {name}/{arity} is defined anew: {count} replaced (`:def` adds clauses instead)"))
}
