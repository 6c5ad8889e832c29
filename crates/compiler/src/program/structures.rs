//! `functor_table:(T =.. [f,A,B])` with a list that the text gives is `T = f(A,B)`: there is no list to make, to read
//! and to leave to the collector.

use crate::program::names::{Callee, Names};
use syntax::program::{Call, Goal, GoalKind, Program, Term, TermKind};
use term::word::STRUCT_ARITY_MAX;
use term::{Atom, AtomTable};
use term::{abi::Builtin, symbol::DOT};

/// The program with such calls as unifications; `None` if there is none.
pub(crate) fn named_in_the_text(program: &Program, names: &Names<'_>, atoms: &AtomTable) -> Option<Program> {
    let name = atoms.lookup(b"=..")?;
    let builds = |module: Atom, goal: &Goal| match &goal.kind {
        GoalKind::Call(call) => call.name == name && built(module, call, names).is_some(),
        _ => false,
    };
    let goals = |module: Atom, predicate: &syntax::program::Predicate| {
        predicate.clauses.iter().flat_map(|clause| &clause.body).any(|goal| builds(module, goal))
    };
    if !program.modules.iter().any(|module| module.predicates.iter().any(|p| goals(module.name, p))) {
        return None;
    }
    let mut program = program.clone();
    for module in &mut program.modules {
        for goal in module.predicates.iter_mut().flat_map(|p| &mut p.clauses).flat_map(|c| &mut c.body) {
            if let GoalKind::Call(call) = &goal.kind
                && call.name == name
                && let Some((target, structure)) = built(module.name, call, names)
            {
                goal.kind = GoalKind::Unify(target, structure);
            }
        }
    }
    Some(program)
}

/// What a call of `=..` unifies, if it is the builtin and the text names the structure.
fn built(module: Atom, call: &Call, names: &Names<'_>) -> Option<(Term, Term)> {
    let is_builtin = |builtin: &Builtin| builtin.module == "functor_table" && builtin.modes == "oi";
    let Some(Callee::Inline(_, builtin)) = names.callee(module, call) else { return None };
    let [target, Term { span, kind: TermKind::List(items, None) }] = &call.arguments[..] else { return None };
    let (first, arguments) = items.split_first()?;
    if !is_builtin(builtin) || !call.pragmas.is_empty() || arguments.len() > STRUCT_ARITY_MAX as usize {
        return None;
    }
    let structure = match (&first.kind, arguments) {
        (_, []) => first.clone(),
        (TermKind::Atom(DOT), [car, cdr]) => {
            let kind = TermKind::List(vec![car.clone()], Some(Box::new(cdr.clone())));
            Term { span: *span, kind }
        }
        (TermKind::Atom(name), _) => Term { span: *span, kind: TermKind::Struct(*name, arguments.to_vec()) },
        _ => return None,
    };
    Some((target.clone(), structure))
}
