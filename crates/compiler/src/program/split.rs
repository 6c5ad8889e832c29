//! Clauses that build very much (I4): nothing that may collect can follow the one heap check of a reduction that
//! takes more than the slack, so the guard and what is computed stay in the clause, and an auxiliary predicate builds
//! and calls.

use crate::program::names::Names;
use rustc_hash::FxHashSet;
use syntax::diagnostic::Diagnostic;
use syntax::program::{
    Call, Clause, Expr, Goal, GoalKind, GuardKind, Pragma, Predicate, Program, Separator, Term, TermKind,
    VarId,
};
use term::abi::SLACK_WORDS;
use term::layout::GOAL_ARITY_MAX;
use term::{Atom, AtomTable};

/// The program with large clauses split; `None` if there is none.
pub(crate) fn split(
    program: &Program,
    names: &Names<'_>,
    atoms: &AtomTable,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Program> {
    let is_large = |clause: &Clause| words(clause) > SLACK_WORDS;
    let clauses = program.modules.iter().flat_map(|m| &m.predicates).flat_map(|p| &p.clauses);
    if !clauses.into_iter().any(is_large) {
        return None;
    }
    let mut program = program.clone();
    for module in &mut program.modules {
        let mut made = Vec::new();
        for predicate in &mut module.predicates {
            let single = predicate.clauses.len() == 1;
            for (number, clause) in predicate.clauses.iter_mut().enumerate().filter(|(_, c)| is_large(c)) {
                let text = format!("{}/{}$large{number}", atoms.name(predicate.name), predicate.arity);
                let name = atoms.intern(text.as_bytes());
                // What only builds and calls may stay as it is, if nothing else shares its heap check.
                if single
                    && clause.guard.is_empty()
                    && clause.head.iter().all(is_variable)
                    && !has_inline(clause, module.name, names)
                {
                    continue;
                }
                made.push(split_clause(clause, (module.name, name), names, diagnostics));
            }
        }
        module.predicates.extend(made);
    }
    Some(program)
}

/// Words that a clause's body builds, at most.
fn words(clause: &Clause) -> usize {
    let body = clause.body.iter().map(|goal| match &goal.kind {
        GoalKind::Unify(a, b) => term_words(a) + term_words(b),
        GoalKind::Assign(..) => 1,
        GoalKind::Call(call) => call.arguments.iter().map(term_words).sum(),
    });
    body.sum::<usize>() + clause.variables.len()
}

fn term_words(term: &Term) -> usize {
    let all = |terms: &[Term]| terms.iter().map(term_words).sum::<usize>();
    match &term.kind {
        TermKind::List(items, tail) => {
            2 * items.len() + all(items) + tail.as_ref().map_or(0, |tail| term_words(tail))
        }
        TermKind::Struct(_, parts) => 1 + parts.len() + all(parts),
        TermKind::Vector(parts) => crate::ir::vector_words(parts.len()) as usize + all(parts),
        _ => 0,
    }
}

/// Whether a goal is one that the compiler may do at once.
fn is_inline(goal: &Goal, module: Atom, names: &Names<'_>) -> bool {
    match &goal.kind {
        GoalKind::Assign(..) => true,
        GoalKind::Call(call) => {
            call.pragmas.is_empty()
                && names.builtin(module, call.module, call.name, call.arguments.len()).is_some()
        }
        GoalKind::Unify(..) => false,
    }
}

fn has_inline(clause: &Clause, module: Atom, names: &Names<'_>) -> bool {
    clause.body.iter().any(|goal| is_inline(goal, module, names))
}

fn split_clause(
    clause: &mut Clause,
    (module, name): (Atom, Atom),
    names: &Names<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Predicate {
    let body = std::mem::take(&mut clause.body);
    let (inline, rest): (Vec<Goal>, Vec<Goal>) =
        body.into_iter().partition(|goal| is_inline(goal, module, names));
    let (mut outer, mut inner) = (FxHashSet::default(), FxHashSet::default());
    clause.head.iter().for_each(|term| outer.extend(term.variables()));
    clause.guard.iter().for_each(|guard| guard_variables(&guard.kind, &mut outer));
    inline.iter().for_each(|goal| goal_variables(goal, &mut outer));
    rest.iter().for_each(|goal| goal_variables(goal, &mut inner));
    let mut shared: Vec<VarId> = outer.intersection(&inner).copied().collect();
    shared.sort_unstable();
    if shared.len() > GOAL_ARITY_MAX {
        diagnostics.push(
            Diagnostic::error("clause-too-large", clause.span, "this clause builds too much at once")
                .help("move a part of its body to another predicate"),
        );
    }
    let span = clause.span;
    let head: Vec<Term> = shared.into_iter().map(|v| Term { span, kind: TermKind::Var(v) }).collect();
    let call = Call { module: None, name, arguments: head.clone(), pragmas: Vec::new() };
    clause.body = vec![Goal { span, kind: GoalKind::Call(call) }];
    clause.body.extend(inline);
    let arity = head.len();
    let variables = clause.variables.clone();
    let split = Clause { span, separator: Separator::None, variables, head, guard: Vec::new(), body: rest };
    Predicate { name, arity, span, auxiliary: true, daemon: false, clauses: vec![split] }
}

fn is_variable(term: &Term) -> bool {
    matches!(term.kind, TermKind::Var(_))
}

fn expression_variables(expr: &Expr, found: &mut FxHashSet<VarId>) {
    match expr {
        Expr::Term(term) => found.extend(term.variables()),
        Expr::Int(_, _, parts) | Expr::Float(_, _, parts) => {
            parts.iter().for_each(|part| expression_variables(part, found));
        }
    }
}

fn guard_variables(guard: &GuardKind, found: &mut FxHashSet<VarId>) {
    match guard {
        GuardKind::Unify(a, b) => [a, b].into_iter().for_each(|term| found.extend(term.variables())),
        GuardKind::Compare(_, a, b) => [a, b].into_iter().for_each(|expr| expression_variables(expr, found)),
        GuardKind::Assign(target, expr) => {
            found.extend(target.variables());
            expression_variables(expr, found);
        }
        GuardKind::Call(_, terms) => terms.iter().for_each(|term| found.extend(term.variables())),
        GuardKind::Method(_, inputs, outputs) => {
            inputs.iter().chain(outputs).for_each(|term| found.extend(term.variables()));
        }
    }
}

fn goal_variables(goal: &Goal, found: &mut FxHashSet<VarId>) {
    match &goal.kind {
        GoalKind::Unify(a, b) => [a, b].into_iter().for_each(|term| found.extend(term.variables())),
        GoalKind::Assign(target, expr) => {
            found.extend(target.variables());
            expression_variables(expr, found);
        }
        GoalKind::Call(call) => {
            call.arguments.iter().for_each(|term| found.extend(term.variables()));
            for pragma in &call.pragmas {
                let (Pragma::Priority(term) | Pragma::LowerPriority(term) | Pragma::Node(term)) = pragma;
                found.extend(term.variables());
            }
        }
    }
}
