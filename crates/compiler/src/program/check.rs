//! What can be wrong with a program as a whole: names that mean nothing.

use crate::program::names::Names;
use crate::program::passive::{Context, type_test};
use crate::program::suggestions::{Suggestions, Words, nearest_guard};
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
        // There clauses begin, usually.
        let begins_line = bare && self.sources.line_column(span.file, span.start).1 == 1;
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
        let mut diagnostic = Diagnostic::error("undefined-predicate", span, message).label("called here");
        let in_guards =
            names.guard(name, arity).is_some() || arity == 1 && type_test(atoms.text(name)).is_some();
        if begins_line {
            diagnostic = diagnostic.help(JOINED);
        } else if bare && in_guards {
            diagnostic =
                diagnostic.help(format!("{what} is a test: it stands in a guard, before `|` or `->`"));
        } else if let Some(help) = in_prolog(atoms.text(name), arity).filter(|_| bare) {
            diagnostic = diagnostic.help(help);
        } else if let Some((near, near_arity)) = suggestions.nearest(atoms, module, (name, arity), bare) {
            let prefix = if bare { String::new() } else { format!("{module_name}:") };
            diagnostic = diagnostic.help(format!("did you mean {prefix}{}?", shown(atoms, near, near_arity)));
            if near_arity == arity {
                diagnostic = renamed(diagnostic, self.sources, (name, near), atoms);
            }
        } else if let Some(other) = suggestions.elsewhere(module, name, arity) {
            diagnostic = diagnostic.help(format!("did you mean {}:{what}?", atoms.name(other)));
            if bare {
                let module = format!("{}:", written_atom(other, atoms));
                diagnostic =
                    diagnostic.fix(format!("write `{module}` before it"), vec![(span.before(), module)]);
            }
        } else if bare {
            let help = format!(
                "write its clauses, or call that of another module: `module:{}(..)`",
                atoms.name(name)
            );
            diagnostic = diagnostic.help(help);
        }
        self.diagnostics.push(diagnostic);
    }
}

/// For goals that begin a line: a comma behind the last goal of a clause makes a goal of the fact that follows.
const JOINED: &str = "if this begins a clause, end the one before it with `.`, not with `,`";

/// What stands here for predicates that Prolog has, and that beginners therefore write.
fn in_prolog(name: &[u8], arity: usize) -> Option<&'static str> {
    match (name, arity) {
        (b"is", 2) => Some("`X := 1 + Y` computes integers, `X $:= 1.5 * Y` floats"),
        (b"write" | b"writeln" | b"print" | b"nl" | b"put_char" | b"format", 0..=2) => {
            Some("what is written goes by a stream: `io:outstream([print(X), nl])`")
        }
        (b"if" | b"while", _) => Some(
            "a conditional is `( X > 0 -> Goals ; otherwise ; true -> Goals )`; a loop is a predicate that calls itself",
        ),
        (b"otherwise" | b"alternatively", 0) => {
            Some("it stands on a line of its own: end the clause before it with `.`, not with `,`")
        }
        (b"!", 0) => Some("there is no cut: a guard chooses the clause for good, `p(X) :- X > 0 | ..`"),
        _ => None,
    }
}

/// For programs that mean `==`.
const EQUALITIES: &str = "equal terms are written `X = Y`, equal integers `X =:= Y`, equal floats `X $=:= Y`";

/// Reports a guard goal that is no guard builtin.
pub(crate) fn unknown_guard(context: &mut Context<'_, '_>, name: Atom, arity: usize, span: Span) {
    let atoms = context.atoms;
    let guards = Words::new(atoms, context.names.guards());
    let what = shown(atoms, name, arity);
    let mut diagnostic = Diagnostic::error("unknown-guard", span, format!("{what} is not a guard builtin"))
        .label("not a guard");
    let arities: Vec<String> = guards.arities(name).iter().map(|&arity| shown(atoms, name, arity)).collect();
    if *atoms.text(name) == *b"==" {
        diagnostic = diagnostic.help(EQUALITIES);
    } else if arity == 0 && matches!(atoms.text(name), b"otherwise" | b"alternatively") {
        let name = atoms.name(name);
        diagnostic = diagnostic.help(format!(
            "`{name}.` stands on a line of its own before the clause, in a conditional `; {name} ; true -> ..`"
        ));
    } else if !arities.is_empty() {
        diagnostic = diagnostic.help(format!("there is {}", arities.join(", ")));
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
