//! What can be wrong with a program as a whole: names that mean nothing.

use crate::program::names::{Key, Names};
use crate::program::passive::{Context, type_test};
use crate::program::suggestions::{Call as LibraryCall, Suggestions, Words, arguments, nearest_guard};
use syntax::diagnostic::Diagnostic;
use syntax::program::{Call, Clause, GoalKind};
use syntax::source::{SourceMap, Span};
use syntax::written::written;
use term::layout::GOAL_ARITY_MAX;
use term::{Atom, AtomTable};

/// Diagnoses every call and predicate object, and names that builtins hide.
pub(crate) fn names(
    names: &Names<'_>,
    sources: &SourceMap,
    atoms: &AtomTable,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let mut suggestions = None;
    for (module, predicate) in &names.predicates {
        if names.body(predicate.name, predicate.arity).is_some() && !predicate.auxiliary {
            let name = shown(atoms, predicate.name, predicate.arity);
            diagnostics.push(
                Diagnostic::warning(
                    "reserved-name",
                    predicate.span,
                    format!("{name} is the name of a builtin, too"),
                )
                .label(format!("calls in module {} mean this predicate", atoms.name(module.name)))
                .note("KLIC calls the builtin")
                .help("rename it if the program is to run elsewhere, too"),
            );
        }
        if predicate.arity > GOAL_ARITY_MAX {
            let message = format!("a predicate has at most {GOAL_ARITY_MAX} arguments");
            diagnostics.push(
                Diagnostic::error("too-many-arguments", predicate.span, message)
                    .label(format!("this has {}", predicate.arity)),
            );
        }
        let suggestions = &mut suggestions;
        let mut checker = Checker { names, sources, atoms, module: module.name, diagnostics, suggestions };
        for clause in &predicate.clauses {
            checker.clause(clause);
        }
    }
}

struct Checker<'c, 'a> {
    names: &'c Names<'a>,
    sources: &'c SourceMap,
    atoms: &'c AtomTable,
    module: Atom,
    diagnostics: &'c mut Vec<Diagnostic>,
    /// Made when the first name means nothing.
    suggestions: &'c mut Option<Suggestions>,
}

impl Checker<'_, '_> {
    fn clause(&mut self, clause: &Clause) {
        use crate::program::constants::Predicates;
        for (module, name, arity, span) in clause.predicates() {
            if self.names.number(module, name, arity).is_none() {
                self.missing(module, name, arity, false, span);
            }
        }
        for goal in &clause.body {
            if let GoalKind::Call(call) = &goal.kind
                && self.names.callee(self.module, call).is_none()
            {
                self.undefined(call, goal.span);
            }
        }
    }
    fn undefined(&mut self, call: &Call, span: Span) {
        let module = call.module.unwrap_or(self.module);
        self.missing(module, call.name, call.arguments.len(), call.module.is_none(), span);
    }
    fn missing(&mut self, module: Atom, name: Atom, arity: usize, bare: bool, span: Span) {
        let (atoms, names) = (self.atoms, self.names);
        // There clauses begin, usually, but for what is entered in the REPL.
        let is_entry = *atoms.text(module) == *b"repl";
        let begins_line = bare && !is_entry && self.sources.line_column(span.file, span.start).1 == 1;
        let suggestions = self.suggestions.get_or_insert_with(|| Suggestions::new(names, atoms));
        let what = shown(atoms, name, arity);
        let module_name = atoms.name(module);
        if !bare && !suggestions.has_module(module) {
            let diagnostic = Diagnostic::error(
                "undefined-module",
                span,
                format!("there is no module {module_name}, so no {module_name}:{what}"),
            );
            let help = match atoms.text(module) {
                b"shoen" => "of PIMOS it is missing; docs/library.md says how its uses are written".into(),
                _ => {
                    format!("name the file that has it, too, or put it beside the first as {module_name}.kl1")
                }
            };
            self.diagnostics.push(diagnostic.label("called here").help(help));
            return;
        }
        let arities = suggestions.arities(module, name, bare);
        let arities: Vec<String> = arities.into_iter().map(|arity| shown(atoms, name, arity)).collect();
        if !arities.is_empty() {
            let message = format!("{module_name}:{what} does not exist, but {} does", arities.join(", "));
            let mut diagnostic = Diagnostic::error("wrong-arity", span, message)
                .label(format!("called with {arity} arguments here"));
            if begins_line {
                diagnostic = diagnostic.help(JOINED);
            }
            self.diagnostics.push(diagnostic);
            return;
        }
        let message = format!("there is no predicate {module_name}:{what}");
        let diagnostic = Diagnostic::error("undefined-predicate", span, message).label("called here");
        let diagnostic = if begins_line {
            diagnostic.help(JOINED)
        } else if bare {
            self.meant_bare(diagnostic, (module, name, arity), span)
        } else {
            self.meant_in_module(diagnostic, (module, name, arity))
        };
        self.diagnostics.push(diagnostic);
    }
    /// With what a goal without a module may have been meant to be.
    fn meant_bare(&mut self, diagnostic: Diagnostic, (module, name, arity): Key, span: Span) -> Diagnostic {
        let (atoms, names) = (self.atoms, self.names);
        let suggestions = self.suggestions.get_or_insert_with(|| Suggestions::new(names, atoms));
        let (what, text) = (shown(atoms, name, arity), atoms.name(name).into_owned());
        if names.guard(name, arity).is_some() || arity == 1 && type_test(atoms.text(name)).is_some() {
            return diagnostic.help(format!("{what} is a test: it stands in a guard, before `|` or `->`"));
        }
        if let Some(help) = in_other_languages(atoms.text(name), arity) {
            let is_test = matches!(atoms.text(name), b"==" | b"\\==");
            let place = if is_test { "a test stands in a guard, before `|` or `->`; " } else { "" };
            return diagnostic.help(format!("{place}{help}"));
        }
        let (same, others) = suggestions.of_library(&text, arity);
        let qualified = |module: &str| {
            let module = format!("{module}:");
            (format!("write `{module}` before it"), vec![(span.before(), module)])
        };
        if !same.is_empty() {
            let diagnostic = diagnostic.help(format!("did you mean {}?", alternatives(&same)));
            return match &same[..] {
                [(module, _)] => {
                    let (title, edits) = qualified(module);
                    diagnostic.fix(title, edits)
                }
                _ => diagnostic,
            };
        }
        if let Some((near, near_arity)) = suggestions.nearest(atoms, module, (name, arity), true) {
            let diagnostic = diagnostic.help(format!("did you mean {}?", shown(atoms, near, near_arity)));
            return match near_arity == arity {
                true => renamed(diagnostic, self.sources, (name, near), atoms),
                false => diagnostic,
            };
        }
        if let Some(other) = suggestions.elsewhere(module, name, arity) {
            let (title, edits) = qualified(&written_atom(other, atoms));
            return diagnostic.help(format!("did you mean {}:{what}?", atoms.name(other))).fix(title, edits);
        }
        let library = if others.is_empty() {
            format!("call that of another module: `module:{text}(..)`")
        } else {
            format!("call one of the library: {}", alternatives(&others))
        };
        diagnostic.help(format!("write its clauses, or {library}"))
    }
    /// The same for a goal of a module.
    fn meant_in_module(&mut self, diagnostic: Diagnostic, (module, name, arity): Key) -> Diagnostic {
        let (atoms, names) = (self.atoms, self.names);
        let suggestions = self.suggestions.get_or_insert_with(|| Suggestions::new(names, atoms));
        let prints = *atoms.text(module) == *b"io";
        if let Some(help) = in_other_languages(atoms.text(name), arity).filter(|_| prints) {
            diagnostic.help(help)
        } else if let Some((near, near_arity)) = suggestions.nearest(atoms, module, (name, arity), false) {
            let near_text = shown(atoms, near, near_arity);
            let diagnostic = diagnostic.help(format!("did you mean {}:{near_text}?", atoms.name(module)));
            match near_arity == arity {
                true => renamed(diagnostic, self.sources, (name, near), atoms),
                false => diagnostic,
            }
        } else if let Some(other) = suggestions.elsewhere(module, name, arity) {
            let what = shown(atoms, name, arity);
            diagnostic.help(format!("did you mean {}:{what}?", atoms.name(other)))
        } else {
            diagnostic
        }
    }
}

/// Calls of the library, as a text: three at most.
fn alternatives(calls: &[LibraryCall]) -> String {
    let calls: Vec<String> =
        calls.iter().take(3).map(|(module, call)| format!("`{module}:{call}`")).collect();
    calls.join(" or ")
}

/// For goals that begin a line: a comma behind the last goal of a clause makes a goal of the fact that follows.
const JOINED: &str = "if this begins a clause, end the one before it with `.`, not with `,`";

/// Whether goals of this name and number of arguments are from other languages, or meant to be of the library.
pub fn is_foreign(name: &[u8], arity: usize, library: &[(&str, &str)]) -> bool {
    in_other_languages(name, arity).is_some() || library.iter().any(|call| arguments(call) == arity)
}

/// What is written here in place of predicates and tests of other languages.
fn in_other_languages(name: &[u8], arity: usize) -> Option<&'static str> {
    use syntax::habits::*;
    Some(match (name, arity) {
        (b"is", 2) => COMPUTED,
        (b"==", 2) => EQUALITIES,
        (b"\\==", 2) => DIFFERENCES,
        (b"\\+" | b"not" | b"!", 1) => OPPOSITE,
        (
            b"write" | b"writeln" | b"print" | b"nl" | b"put_char" | b"format" | b"println" | b"printf"
            | b"puts" | b"echo" | b"fwrite" | b"put_chars",
            _,
        ) => OUTPUT,
        (b"read" | b"readline" | b"read_line" | b"get_line" | b"input" | b"get_char" | b"gets", 0..=2) => {
            INPUT
        }
        (b"+" | b"-" | b"*" | b"/" | b"mod", 2) => "an expression is no goal: `Y := X + 1` computes one",
        (b"if" | b"unless", _) => CONDITIONAL,
        (b"for" | b"foreach" | b"forall" | b"while" | b"until" | b"repeat", _) => LOOP,
        (b"between" | b"numlist", 3) => RANGE,
        (b"case" | b"switch", _) => CASES,
        (b"++" | b"--", 1) => NEXT,
        (b"spawn", _) => PROCESS,
        (b"import" | b"use_module" | b"consult", _) => MODULES,
        (b"call", 1..) => {
            "a predicate that is a value, `predicate#(main:p/2)`, is called by `apply(P,{A,B})`"
        }
        (b"findall" | b"bagof" | b"setof", 3..) => {
            "nothing is tried again: a predicate that finds several answers makes a list of them"
        }
        (b"assert" | b"asserta" | b"assertz" | b"retract" | b"retractall", 1) => {
            "clauses stay as they are: what changes is an argument of a process, or a `map` in one"
        }
        (b"halt" | b"exit" | b"quit", 0 | 1) => "`unix:exit(0)` ends the run",
        (b"fail" | b"false", 0) => {
            "nothing is tried again: a goal that no clause takes ends the run; an answer `no` is an argument"
        }
        (b"otherwise" | b"alternatively", 0) => {
            "it stands on a line of its own: end the clause before it with `.`, not with `,`"
        }
        (b"!", 0) => "there is no cut: a guard chooses the clause for good, `p(X) :- X > 0 | ..`",
        _ => return None,
    })
}

/// Reports a guard goal that is no guard builtin.
pub(crate) fn unknown_guard(context: &mut Context<'_, '_>, name: Atom, arity: usize, span: Span) {
    let atoms = context.atoms;
    let guards = Words::new(atoms, context.names.guards());
    let what = shown(atoms, name, arity);
    let mut diagnostic = Diagnostic::error("unknown-guard", span, format!("{what} is not a guard builtin"))
        .label("not a guard");
    let arities: Vec<String> = guards.arities(name).iter().map(|&arity| shown(atoms, name, arity)).collect();
    let foreign = || in_other_languages(atoms.text(name), arity);
    if arity == 0 && matches!(atoms.text(name), b"otherwise" | b"alternatively") {
        let name = atoms.name(name);
        diagnostic = diagnostic.help(format!(
            "`{name}.` stands on a line of its own before the clause, in a conditional `; {name} ; true -> ..`"
        ));
    } else if !arities.is_empty() {
        diagnostic = diagnostic.help(format!("there is {}", arities.join(", ")));
    } else if let Some(help) = foreign() {
        diagnostic = diagnostic.help(help);
    } else if let Some((near, near_arity)) = nearest_guard(&guards, atoms, name, arity) {
        diagnostic = diagnostic.help(format!("did you mean {}?", shown(atoms, near, near_arity)));
        if near_arity == arity {
            diagnostic = renamed(diagnostic, context.sources, (name, near), atoms);
        }
    } else {
        diagnostic = diagnostic
            .note("a guard calls no predicates: move the call into the body of an auxiliary predicate");
    }
    context.diagnostics.push(diagnostic);
}

/// With a fix that writes another name where this one is written, if it is.
pub(crate) fn renamed(
    diagnostic: Diagnostic,
    sources: &SourceMap,
    (name, near): (Atom, Atom),
    atoms: &AtomTable,
) -> Diagnostic {
    let Some(place) = written(sources, diagnostic.span, name, atoms) else { return diagnostic };
    let near = written_atom(near, atoms);
    diagnostic.fix(format!("write `{near}`"), vec![(place.name, near)])
}

/// An atom as a program text has it.
fn written_atom(atom: Atom, atoms: &AtomTable) -> String {
    let mut text = Vec::new();
    syntax::format::write_atom(atoms.text(atom), &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

fn shown(atoms: &AtomTable, name: Atom, arity: usize) -> String {
    format!("{}/{arity}", atoms.name(name))
}
