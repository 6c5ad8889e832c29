//! From a program text to intermediate code, and what is wrong with it.

use crate::error::Unreadable;
use crate::front::Front;
use crate::sources::{self, Files, Read};
use std::path::PathBuf;
use syntax::diagnostic::{Diagnostic, Severity};
use syntax::documentation::documentation;
use syntax::program::{Call, GoalKind, TermKind};
use syntax::source::Span;
use term::AtomTable;

/// What a program is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Its goal `main:main`.
    Main,
    /// The same, to say also what that goal does not use: while a program is written, much of it is not used yet.
    Check,
    /// Calls of any predicate.
    Everything,
    /// Nothing yet: all is checked and nothing compiled, which is much faster; if there is a goal `main:main`, what
    /// that does not use is said, too. For editors.
    Text,
}

/// Reads a program: these files and then, again and again, the modules that are called and not there, from a file
/// beside the first one or from the library. `code`: the library's modules are wanted as code, not as clauses.
pub fn read(front: &Front, paths: &[PathBuf], files: &dyn Files, code: bool) -> Result<Read, Unreadable> {
    sources::read(paths, files, &front.atoms, code && front.has_library)
}

/// Lowers a program that was read; what is wrong with it is added to its diagnostics. `None` when one of them is an
/// error.
pub fn compile(front: &Front, read: &mut Read, wanted: Wanted) -> Option<compiler::ir::Program> {
    let refused = read.diagnostics.iter().any(|d| d.severity == Severity::Error);
    let roots = roots(&front.atoms, read, wanted);
    let (program, diagnostics) = front.lower(read, Some(roots.clone()));
    if program.is_some() && !refused {
        let found = sources::almost_messages(read, &front.atoms);
        read.diagnostics.extend(found);
        let unused = |roots: &[_]| compiler::unused_predicates(&read.program, &front.atoms, roots);
        let found = match wanted {
            Wanted::Check => unused(&roots),
            Wanted::Text => unused(&self::roots(&front.atoms, read, Wanted::Main)),
            Wanted::Main | Wanted::Everything => Vec::new(),
        };
        read.diagnostics.extend(found);
        if matches!(wanted, Wanted::Check | Wanted::Text) {
            for &file in &read.given {
                read.diagnostics.extend(documentation(&read.sources, file, &front.atoms).1);
            }
        }
    }
    // What could not be read is missing: what follows from that is not worth saying.
    let follows =
        |d: &Diagnostic| refused && ["no-main", "undefined-predicate", "wrong-arity"].contains(&d.code);
    read.diagnostics.extend(diagnostics.into_iter().filter(|d| !follows(d)));
    refuse_empty(read);
    let errors = read.diagnostics.iter().any(|d| d.severity == Severity::Error);
    program.filter(|_| !errors)
}

/// What must be compiled: `main:main/0`, and all of the user's predicates if the program looks some up by name while
/// it runs.
fn roots(atoms: &AtomTable, read: &Read, wanted: Wanted) -> Vec<compiler::PredicateKey> {
    let main = atoms.intern(b"main");
    let mut roots = match wanted {
        Wanted::Text => return Vec::new(),
        Wanted::Everything => Vec::new(),
        Wanted::Main | Wanted::Check => vec![(main, main, 0)],
    };
    let by_name = ["generic", "system_control"].map(|module| atoms.intern(module.as_bytes()));
    let classes = ["module", "predicate"].map(|class| atoms.intern(class.as_bytes()));
    let looks_up = |call: &Call| match call.arguments.first().map(|argument| &argument.kind) {
        Some(TermKind::Atom(class)) if call.module == Some(by_name[0]) => classes.contains(class),
        // `system_control:postmortem` takes a module in any form.
        Some(_) if call.module == Some(by_name[1]) => call.arguments.len() == 3,
        Some(TermKind::Module(_)) => call.module == Some(by_name[0]),
        _ => false,
    };
    let predicates = || read.program.modules.iter().flat_map(|m| m.predicates.iter().map(move |p| (m, p)));
    let mut goals = predicates().flat_map(|(_, p)| &p.clauses).flat_map(|clause| &clause.body);
    if wanted == Wanted::Everything
        || goals.any(|goal| matches!(&goal.kind, GoalKind::Call(call) if looks_up(call)))
    {
        let users =
            predicates().filter(|(_, p)| !read.sources.file(p.span.file).name.starts_with("library/"));
        roots.extend(users.map(|(module, p)| (module.name, p.name, p.arity)));
    }
    roots
}

/// A text without modules is an error; nothing else says so.
fn refuse_empty(read: &mut Read) {
    let errors = |d: &Diagnostic| d.severity == Severity::Error;
    if read.program.modules.is_empty() && !read.diagnostics.iter().any(errors) {
        let start = Span { file: read.given[0], start: 0, end: 0 };
        let diagnostic = Diagnostic::error("no-main", start, "the program text is empty");
        let help = "the smallest program is `:- module main.` and `main :- true.`";
        read.diagnostics.push(Diagnostic { help: Some(help.into()), ..diagnostic });
    }
}
