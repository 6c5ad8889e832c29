//! Templates of `format:to` and of the message `format(Template,Args)` that are wrong in each run that comes there.

use super::messages::looks_for;
use syntax::diagnostic::Diagnostic;
use syntax::program::{Clause, GoalKind, Program, Term, TermKind};
use syntax::template::{Part, parts};
use term::AtomTable;

/// Warns of constant templates that are none, or that have not as many places as there are values.
pub(crate) fn check(program: &Program, atoms: &AtomTable, diagnostics: &mut Vec<Diagnostic>) {
    let [format, to] = ["format", "to"].map(|name| atoms.intern(name.as_bytes()));
    // A program that takes such messages itself means something else by them.
    let is_message = !looks_for(program, format, 2);
    let predicates = program.modules.iter().flat_map(|module| &module.predicates);
    for clause in predicates.flat_map(|predicate| &predicate.clauses) {
        for goal in &clause.body {
            if let GoalKind::Call(call) = &goal.kind
                && let [template, args, _] = call.arguments.as_slice()
                && (call.module, call.name) == (Some(format), to)
            {
                diagnostics.extend(wrong(template, args));
            }
        }
        if is_message {
            messages(clause, &mut |name, parts| match parts {
                [template, args] if name == format => diagnostics.extend(wrong(template, args)),
                _ => {}
            });
        }
    }
}

/// The structures that are elements of lists in a body.
fn messages(clause: &Clause, found: &mut dyn FnMut(term::Atom, &[Term])) {
    for part in clause.terms().skip(clause.head.len()).flat_map(Term::subterms) {
        let TermKind::List(items, _) = &part.kind else { continue };
        for item in items {
            if let TermKind::Struct(name, parts) = &item.kind {
                found(*name, parts);
            }
        }
    }
}

/// What is wrong with a template and its values, as far as both are known.
fn wrong(template: &Term, args: &Term) -> Option<Diagnostic> {
    let TermKind::String(text) = &template.kind else { return None };
    let warn = |message: String| Diagnostic::warning("wrong-template", template.span, message);
    let parts = match parts(text) {
        Ok(parts) => parts,
        Err(at) => {
            let message = format!("this is no template: its byte {at} is wrong");
            let help = "a place is `{}` or `{:..}`; write `{{` and `}}` for braces";
            return Some(warn(message).label("a run that comes here ends").help(help));
        }
    };
    let values = match &args.kind {
        TermKind::List(items, tail) if tail.as_ref().is_none_or(|tail| is_end(tail)) => items.len(),
        _ if is_end(args) => 0,
        _ => return None,
    };
    let places = parts.iter().filter(|part| matches!(part, Part::Field(_))).count();
    let things = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    (places != values).then(|| {
        warn(format!(
            "the template has {}, and there {}",
            things(places, "place"),
            match values {
                1 => "is 1 value".into(),
                values => format!("are {values} values"),
            }
        ))
        .label("a run that comes here ends")
        .related(args.span, "the values")
    })
}

fn is_end(term: &Term) -> bool {
    matches!(term.kind, TermKind::Atom(term::symbol::NIL))
}
