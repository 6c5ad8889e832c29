//! The check of a program: what the engine says about a text, and what arguments wait for.

use crate::outline::{Role, Symbol};
use crate::text::Text;
use crate::workspace::Workspace;
use engine::{Front, Wanted};
use lsp_types::{
    Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, DiagnosticTag, Location, NumberOrString,
};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use syntax::diagnostic::{Diagnostic as Found, Severity};
use syntax::source::{FileId, SourceMap, Span};

/// Files of a program, at most, that no command names: those that have a module which it calls.
const COMPANIONS_MAX: usize = 50;

/// Module, name and number of arguments of a predicate.
pub(crate) type Key = (String, String, usize);
/// The arguments (a bit each) that goals of predicates wait for.
pub(crate) type Awaits = FxHashMap<Key, u64>;

/// What a check found.
#[derive(Default)]
pub(crate) struct Checked {
    /// By text.
    pub(crate) diagnostics: BTreeMap<PathBuf, Vec<Diagnostic>>,
    /// Changes that mend what is wrong, with the place of that in the text that was checked.
    pub(crate) fixes: Vec<Fix>,
    /// The files that a command would name.
    pub(crate) files: Vec<PathBuf>,
    /// The files of the program.
    pub(crate) paths: Vec<PathBuf>,
}

/// The code of a call in a module that is not found.
pub(crate) const UNDEFINED_MODULE: &str = "undefined-module";

impl Checked {
    /// Whether there is a diagnostic with this code.
    pub(crate) fn has(&self, code: &str) -> bool {
        let code = NumberOrString::String(code.into());
        self.diagnostics.values().flatten().any(|diagnostic| diagnostic.code.as_ref() == Some(&code))
    }
}

/// A change that mends something.
pub(crate) struct Fix {
    pub(crate) title: String,
    pub(crate) diagnostic: Diagnostic,
    /// Bytes of the text, and what is to stand there.
    pub(crate) edits: Vec<(std::ops::Range<usize>, String)>,
}

/// Checks the program that a text begins.
pub(crate) fn check(workspace: &Workspace<'_>, path: &Path) -> Checked {
    let checked = check_files(workspace, vec![path.to_path_buf()]);
    if !checked.has(UNDEFINED_MODULE) {
        return checked;
    }
    let companions = companions(workspace, path);
    if companions.is_empty() {
        return checked;
    }
    check_files(workspace, std::iter::once(path.to_path_buf()).chain(companions).collect())
}

/// Checks the program that a command with these files has.
fn check_files(workspace: &Workspace<'_>, paths: Vec<PathBuf>) -> Checked {
    let front = Front::alone();
    let mut read = match engine::read(&front, &paths, workspace, true) {
        Ok(read) => read,
        Err(unreadable) => {
            let diagnostic = Diagnostic {
                severity: Some(DiagnosticSeverity::ERROR),
                code: Some(NumberOrString::String("unreadable-file".into())),
                source: Some(SOURCE.into()),
                message: unreadable.message,
                ..Diagnostic::default()
            };
            let diagnostics = BTreeMap::from([(unreadable.path, vec![diagnostic])]);
            return Checked { diagnostics, files: paths.clone(), paths, ..Checked::default() };
        }
    };
    engine::compile(&front, &mut read, Wanted::Text);
    let mut checked = Checked { paths: read.paths.clone(), files: paths, ..Checked::default() };
    let mut shown = Shown { workspace, sources: &read.sources, texts: FxHashMap::default() };
    for found in engine::render::diagnostics::ordered(&read.diagnostics) {
        let diagnostic = shown.diagnostic(found);
        if let Some(fix) = &found.fix
            && fix.edits.iter().all(|(span, _)| span.file == read.given[0])
            && found.span.file == read.given[0]
        {
            let edits = fix.edits.iter();
            checked.fixes.push(Fix {
                title: capitalized(&fix.title),
                diagnostic: diagnostic.clone(),
                edits: edits
                    .map(|(span, text)| (span.start as usize..span.end as usize, text.clone()))
                    .collect(),
            });
        }
        checked.diagnostics.entry(shown.path(found.span.file)).or_default().push(diagnostic);
    }
    checked
}

/// What goals of a program wait for; `None` if it has errors. This takes three times as long as the check.
pub(crate) fn awaits(workspace: &Workspace<'_>, files: &[PathBuf]) -> Option<Awaits> {
    let front = Front::alone();
    let mut read = engine::read(&front, files, workspace, true).ok()?;
    let program = engine::compile(&front, &mut read, Wanted::Everything)?;
    let name = |atom| front.atoms.name(atom).into_owned();
    let all = program.predicates.iter();
    Some(all.map(|p| ((name(p.module), name(p.name), p.arity as usize), p.awaits)).collect())
}

const SOURCE: &str = "fifth";

/// Other files beside a text that have modules which it calls, directly or not, and which `fifth` would not find by
/// their names: a command names them.
fn companions(workspace: &Workspace<'_>, path: &Path) -> Vec<PathBuf> {
    let builtins: Vec<&str> = workspace.language.builtins.iter().map(|builtin| &*builtin.module).collect();
    let Some(first) = workspace.outline(path) else { return Vec::new() };
    let mut found: Vec<PathBuf> = Vec::new();
    let mut work = vec![first.clone()];
    let mut asked = std::collections::BTreeSet::new();
    while let Some(outline) = work.pop() {
        for used in outline.uses.iter().filter(|u| u.role == Role::Calls) {
            let Symbol::Module(name) = &used.symbol else { continue };
            let is_known = first.module(name).is_some()
                || library::text(name).is_some()
                || builtins.contains(&&name[..])
                || !asked.insert(name.clone());
            let Some(other) = (if is_known { None } else { workspace.module(name, &first) }) else {
                continue;
            };
            let by_name = other.path.file_stem().is_some_and(|stem| stem.to_str() == Some(&name[..]));
            if !by_name && !found.contains(&other.path) && found.len() < COMPANIONS_MAX {
                found.push(other.path.clone());
            }
            work.push(other);
        }
    }
    found
}

/// Diagnostics as the protocol has them.
struct Shown<'a, 'h> {
    workspace: &'a Workspace<'h>,
    sources: &'a SourceMap,
    texts: FxHashMap<FileId, Text>,
}

impl Shown<'_, '_> {
    fn path(&self, file: FileId) -> PathBuf {
        PathBuf::from(&self.sources.file(file).name)
    }

    fn range(&mut self, span: Span) -> lsp_types::Range {
        let path = self.path(span.file);
        let text = self.texts.entry(span.file).or_insert_with(|| {
            // As it is with the mark that it may begin with.
            let raw = engine::Files::read(self.workspace, &path);
            Text::new(raw.unwrap_or_else(|_| self.sources.file(span.file).text.clone()))
        });
        text.range(&(span.start as usize..span.end as usize))
    }

    fn diagnostic(&mut self, found: &Found) -> Diagnostic {
        let mut message = found.message.clone();
        let label = Some(&found.label).filter(|label| !label.is_empty());
        let more = label.into_iter().chain(&found.notes).chain(&found.help);
        more.for_each(|line| message += &format!("\n{line}"));
        let related: Vec<DiagnosticRelatedInformation> = (found.related.iter())
            .filter_map(|(span, text)| {
                let uri = self.workspace.uri(&self.path(span.file))?;
                let location = Location { uri, range: self.range(*span) };
                Some(DiagnosticRelatedInformation { location, message: text.clone() })
            })
            .collect();
        Diagnostic {
            range: self.range(found.span),
            severity: Some(match found.severity {
                Severity::Error => DiagnosticSeverity::ERROR,
                Severity::Warning => DiagnosticSeverity::WARNING,
            }),
            code: Some(NumberOrString::String(found.code.into())),
            source: Some(SOURCE.into()),
            message,
            related_information: (!related.is_empty()).then_some(related),
            tags: ["unused-predicate", "singleton-variable", "shadowed-clause"]
                .contains(&found.code)
                .then(|| vec![DiagnosticTag::UNNECESSARY]),
            ..Diagnostic::default()
        }
    }
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzzing::Nothing;
    use crate::workspace::Open;
    use std::str::FromStr;

    fn checked(text: &str) -> Checked {
        let mut workspace = Workspace::new(&Nothing);
        let path = PathBuf::from("/m.kl1");
        let uri = lsp_types::Uri::from_str("file:///m.kl1").expect("it is one");
        workspace.open.insert(path.clone(), Open { uri, version: 1, text: Text::new(text.into()) });
        check(&workspace, &path)
    }

    #[test]
    fn what_a_fix_changes_is_right_afterwards() {
        let module = |text: &str| format!(":- module main.\n{text}");
        let server =
            "main :- true | p([ad(1)]).\np([add(X)|S]) :- true | q(X), p(S).\np([]) :- true | true.\nq(_).\n";
        for (code, text) in [
            ("module-missing", "main :- true | true.\n".to_string()),
            ("singleton-variable", module("p(X) :- true | true.\n")),
            ("mod-binds-tighter", module("p(A,B,R) :- true | R := A*(B+1) mod 7.\n")),
            ("shift-binds-tighter", module("p(A,R) :- true | R := 1 << A + 1.\n")),
            ("undefined-predicate", module("p(A) :- true | heper(A).\nhelper(_).\n")),
            ("undefined-predicate", module("p(A) :- true | main : 'he per'(A)@node(1).\n'he pr'(_).\n")),
            ("undefined-predicate", module("p(A) :- true | serve(A).\n:- module other.\nserve(_).\n")),
            ("unknown-guard", module("p(A) :- string_elemnt(A,0,C), C > 1 | true.\n")),
            ("almost-message", module(server)),
            ("integer-as-float", module("main :- true | p(3).\np(X) :- X $> 0.0 | true.\n")),
            ("term-for-number", module("p(N) :- true | q(N+1).\nq(N) :- N > 0 | true.\n")),
        ] {
            let found = checked(&text);
            let wanted = Some(NumberOrString::String(code.into()));
            let fix = found.fixes.iter().find(|fix| fix.diagnostic.code == wanted);
            let fix = fix.unwrap_or_else(|| panic!("{code} has no fix: {:?}", found.diagnostics));
            let mut mended = text.clone();
            let mut edits = fix.edits.clone();
            edits.sort_by_key(|(place, _)| std::cmp::Reverse(place.start));
            edits.into_iter().for_each(|(place, new)| mended.replace_range(place, &new));
            assert!(!checked(&mended).has(code), "{code}: {mended}: {:?}", checked(&mended).diagnostics);
        }
    }

    #[test]
    fn a_text_need_be_no_program() {
        let codes = |text: &str| {
            let all = checked(text).diagnostics.into_values().flatten();
            all.map(|found| format!("{:?}", found.code)).collect::<Vec<_>>()
        };
        assert_eq!(codes(":- module m.\np(X) :- true | q(X).\nq(_).\n"), [] as [&str; 0]);
        let unused = codes(":- module main.\nmain :- true | true.\nq(_).\n");
        assert!(unused.len() == 1 && unused[0].contains("unused-predicate"), "{unused:?}");
    }
}
