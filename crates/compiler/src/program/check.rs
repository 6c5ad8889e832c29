//! What can be wrong with a program as a whole: names that mean nothing, clauses that are never chosen.

use crate::program::names::Names;
use crate::program::passive::{Context, Passive, type_test};
use crate::program::values::{Origin, Table, Test, TestId, ValueId};
use rustc_hash::FxHashMap;
use syntax::diagnostic::Diagnostic;
use syntax::program::{Call, Clause, GoalKind, GuardKind, Predicate, Separator, Term, TermKind};
use syntax::source::Span;
use term::layout::GOAL_ARITY_MAX;
use term::{Atom, AtomTable};

/// Diagnoses every call and predicate object, and names that builtins hide.
pub(crate) fn names(names: &Names<'_>, atoms: &AtomTable, diagnostics: &mut Vec<Diagnostic>) {
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
        let mut checker = Checker { names, atoms, module: module.name, diagnostics };
        for clause in &predicate.clauses {
            checker.clause(clause);
        }
    }
}

struct Checker<'c, 'a> {
    names: &'c Names<'a>,
    atoms: &'c AtomTable,
    module: Atom,
    diagnostics: &'c mut Vec<Diagnostic>,
}

impl Checker<'_, '_> {
    fn clause(&mut self, clause: &Clause) {
        clause.head.iter().for_each(|term| self.term(term));
        for guard in &clause.guard {
            match &guard.kind {
                GuardKind::Unify(a, b) => [a, b].into_iter().for_each(|term| self.term(term)),
                GuardKind::Call(_, terms) => terms.iter().for_each(|term| self.term(term)),
                _ => {}
            }
        }
        for goal in &clause.body {
            match &goal.kind {
                GoalKind::Unify(a, b) => [a, b].into_iter().for_each(|term| self.term(term)),
                GoalKind::Assign(..) => {}
                GoalKind::Call(call) => {
                    call.arguments.iter().for_each(|term| self.term(term));
                    if self.names.callee(self.module, call).is_none() {
                        self.undefined(call, goal.span);
                    }
                }
            }
        }
    }
    fn term(&mut self, term: &Term) {
        use crate::program::constants::Predicates;
        for part in term.subterms() {
            if let TermKind::Predicate(module, name, arity) = part.kind
                && self.names.number(module, name, arity).is_none()
            {
                self.missing(module, name, arity, false, part.span);
            }
        }
    }
    fn undefined(&mut self, call: &Call, span: Span) {
        let module = call.module.unwrap_or(self.module);
        self.missing(module, call.name, call.arguments.len(), call.module.is_none(), span);
    }
    fn missing(&mut self, module: Atom, name: Atom, arity: usize, bare: bool, span: Span) {
        let atoms = self.atoms;
        let what = shown(atoms, name, arity);
        let module_name = atoms.name(module);
        if !bare && !self.names.module_exists(module) {
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
        let candidates = self.names.candidates(module, bare);
        let arities: Vec<String> =
            candidates.iter().filter(|c| c.0 == name).map(|c| shown(atoms, c.0, c.1)).collect();
        if !arities.is_empty() {
            let message = format!("{module_name}:{what} does not exist, but {} does", arities.join(", "));
            self.diagnostics.push(
                Diagnostic::error("wrong-arity", span, message)
                    .label(format!("called with {arity} arguments here")),
            );
            return;
        }
        let message = format!("there is no predicate {module_name}:{what}");
        let mut diagnostic = Diagnostic::error("undefined-predicate", span, message).label("called here");
        let elsewhere = self.names.modules_with(name, arity);
        let in_guards =
            self.names.guard(name, arity).is_some() || arity == 1 && type_test(atoms.text(name)).is_some();
        if bare && in_guards {
            diagnostic =
                diagnostic.help(format!("{what} is a test: it stands in a guard, before `|` or `->`"));
        } else if let Some(help) = in_prolog(atoms.text(name), arity).filter(|_| bare) {
            diagnostic = diagnostic.help(help);
        } else if let Some((near, near_arity)) = nearest(atoms, name, arity, &candidates) {
            let prefix = if bare { String::new() } else { format!("{module_name}:") };
            diagnostic = diagnostic.help(format!("did you mean {prefix}{}?", shown(atoms, near, near_arity)));
        } else if let Some(&other) = elsewhere.iter().find(|other| **other != module) {
            diagnostic = diagnostic.help(format!("did you mean {}:{what}?", atoms.name(other)));
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

/// What stands here for predicates that Prolog has, and that beginners therefore write.
fn in_prolog(name: &[u8], arity: usize) -> Option<&'static str> {
    match (name, arity) {
        (b"is", 2) => Some("`X := 1 + Y` computes integers, `X $:= 1.5 * Y` floats"),
        (b"write" | b"writeln" | b"print" | b"nl" | b"put_char" | b"format", 0..=2) => {
            Some("what is written goes by a stream: `io:outstream([print(X), nl])`")
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
    let candidates = context.names.guard_candidates();
    let what = shown(atoms, name, arity);
    let mut diagnostic = Diagnostic::error("unknown-guard", span, format!("{what} is not a guard builtin"))
        .label("not a guard");
    let arities: Vec<String> =
        candidates.iter().filter(|c| c.0 == name).map(|c| shown(atoms, c.0, c.1)).collect();
    if *atoms.text(name) == *b"==" {
        diagnostic = diagnostic.help(EQUALITIES);
    } else if arity == 0 && matches!(atoms.text(name), b"otherwise" | b"alternatively") {
        let name = atoms.name(name);
        diagnostic = diagnostic.help(format!(
            "`{name}.` stands on a line of its own before the clause, in a conditional `; {name} ; true -> ..`"
        ));
    } else if !arities.is_empty() {
        diagnostic = diagnostic.help(format!("there is {}", arities.join(", ")));
    } else if let Some((near, near_arity)) = nearest(atoms, name, arity, &candidates) {
        diagnostic = diagnostic.help(format!("did you mean {}?", shown(atoms, near, near_arity)));
    } else {
        diagnostic = diagnostic
            .note("a guard calls no predicates: move the call into the body of an auxiliary predicate");
    }
    context.diagnostics.push(diagnostic);
}

/// Tests of a clause that are looked at, at most, to see whether it may wait where a later one fits: so time is linear.
const LOOKED_AT: usize = 64;

/// Warns of clauses that are never chosen, and of those whose choice depends on what is known at the moment.
pub(crate) fn shadowed(
    predicate: &Predicate,
    table: &Table,
    passive: &[Passive],
    diagnostics: &mut Vec<Diagnostic>,
) {
    let mut seen: FxHashMap<&[TestId], Span> = FxHashMap::default();
    // Since the last separator: the latest clause with each test, and the first with any.
    let mut with: FxHashMap<TestId, usize> = FxHashMap::default();
    let mut conditional: Option<usize> = None;
    for (at, (clause, parts)) in predicate.clauses.iter().zip(passive).enumerate() {
        if clause.separator != Separator::None {
            with.clear();
            conditional = None;
        }
        if parts.never {
            continue;
        }
        let tests = &parts.tests[..];
        let candidate = tests.iter().map(|test| with.get(test).copied()).min().unwrap_or(conditional);
        let waits = |&earlier: &usize| may_wait_where(table, &passive[earlier].tests, tests);
        if let Some(&earlier) = seen.get(&[][..]).or_else(|| seen.get(tests)) {
            diagnostics.push(
                Diagnostic::warning("shadowed-clause", clause.span, "this clause is never chosen")
                    .label("never chosen")
                    .related(earlier, "this one always commits first"),
            );
        } else if let Some(earlier) = candidate.filter(waits) {
            let what = "this clause is chosen whenever the ones before it are not chosen at once";
            let warning = Diagnostic::warning("shadowed-clause", clause.span, what)
                .related(predicate.clauses[earlier].span, "also when this one could commit later");
            let warning = if tests.is_empty() {
                warning.label("has no conditions").note("KLIC deletes such a clause")
            } else {
                warning.label("has fewer conditions")
            };
            diagnostics.push(
                warning.help("write `otherwise.` before it, or give it a guard that excludes the others"),
            );
        }
        if !tests.is_empty() {
            conditional.get_or_insert(at);
        }
        with.extend(tests.iter().map(|&test| (test, at)));
        seen.entry(tests).or_insert(clause.span);
    }
}

/// True if a clause with the tests `earlier` may have to wait for a value where one with the tests `later` commits, and
/// may commit itself when the value is there.
fn may_wait_where(table: &Table, earlier: &[TestId], later: &[TestId]) -> bool {
    if later.is_empty() {
        return true;
    }
    if later.len() >= earlier.len() || earlier.len() > LOOKED_AT {
        return false;
    }
    let value = |test: &TestId| match *table.get(*test) {
        // Outputs of builtins are mostly bound, and not known to be unbound.
        Test::Shape(value, _) if !matches!(table.origin(value), Origin::Output(..) | Origin::Arith(..)) => {
            Some(value)
        }
        _ => None,
    };
    let bound: Vec<ValueId> = later.iter().filter_map(value).collect();
    later.iter().all(|test| earlier.contains(test))
        && earlier.iter().filter_map(value).any(|value| !bound.contains(&value))
}

fn shown(atoms: &AtomTable, name: Atom, arity: usize) -> String {
    format!("{}/{arity}", atoms.name(name))
}

/// The candidate whose name is most like the wanted one, if it is like it at all.
fn nearest(
    atoms: &AtomTable,
    name: Atom,
    arity: usize,
    candidates: &[(Atom, usize)],
) -> Option<(Atom, usize)> {
    let wanted = atoms.name(name);
    let limit = (wanted.chars().count() / 3).max(1);
    candidates
        .iter()
        .map(|&(other, n)| (distance(&wanted, &atoms.name(other), limit), n != arity, other, n))
        .filter(|candidate| candidate.0 <= limit)
        .min_by_key(|candidate| (candidate.0, candidate.1, candidate.2, candidate.3))
        .map(|candidate| (candidate.2, candidate.3))
}

/// Insertions, deletions, replacements and swaps of neighbours between two words; anything above `limit` if more.
fn distance(a: &str, b: &str, limit: usize) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > limit {
        return limit + 1;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn distance_counts_edits() {
        assert_eq!(distance("append", "append", 3), 0);
        assert_eq!(distance("append", "apend", 3), 1);
        assert_eq!(distance("append", "appned", 3), 1);
        assert_eq!(distance("filter", "fitler2", 3), 2);
        assert!(distance("a", "abcdef", 2) > 2);
    }
}
