//! Goals that are written as arguments of calls: of `shoen:try(p(X),R)` the first becomes
//! `{predicate#(module:p/1),{X}}`, so that a predicate that is not there is found when the program is compiled.

use super::Context;
use super::keys::Key;
use crate::program::{Call, Clause, GoalKind, Term, TermKind};
use term::Atom;

/// Names of such predicates of module `shoen`, and their numbers of arguments.
const CALLERS: [(Key, usize); 4] = [(Key::Try, 2), (Key::Try, 3), (Key::Execute, 3), (Key::Execute, 5)];

/// Replaces the goals that are arguments in a clause of this module. `is_own` says which names the module defines
/// itself: `try` means `shoen:try` if it does not.
pub(crate) fn goals(
    clause: &mut Clause,
    module: Atom,
    context: &Context<'_>,
    is_own: impl Fn(Atom, usize) -> bool,
) {
    for goal in &mut clause.body {
        let GoalKind::Call(call) = &mut goal.kind else { continue };
        let arity = call.arguments.len();
        let key = context.keys.get(call.name);
        if !key.is_some_and(|key| CALLERS.contains(&(key, arity))) {
            continue;
        }
        let shoen = context.keys.atom(Key::Shoen);
        if call.module.is_none() && key == Some(Key::Try) && !is_own(call.name, arity) {
            call.module = Some(shoen);
        }
        if call.module == Some(shoen) {
            replace(call, module, context);
        }
    }
}

fn replace(call: &mut Call, own: Atom, context: &Context<'_>) {
    let term = &mut call.arguments[0];
    let span = term.span;
    let (module, goal) = match &mut term.kind {
        TermKind::Struct(name, parts) if context.keys.get(*name) == Some(Key::Colon) => {
            match &mut parts[..] {
                [Term { kind: TermKind::Atom(module), .. }, goal] => (*module, &mut goal.kind),
                _ => return,
            }
        }
        kind => (own, kind),
    };
    let (name, arguments) = match goal {
        TermKind::Atom(name) if !is_no_goal(*name, context) => (*name, Vec::new()),
        TermKind::Struct(name, arguments) => (*name, std::mem::take(arguments)),
        _ => return,
    };
    let predicate = TermKind::Predicate(module, name, arguments.len());
    let arguments = TermKind::Vector(arguments);
    term.kind = TermKind::Vector([predicate, arguments].map(|kind| Term { span, kind }).into());
}

/// Whether the atom is no goal, or stands for none.
fn is_no_goal(name: Atom, context: &Context<'_>) -> bool {
    name == term::symbol::NIL || matches!(context.keys.get(name), Some(Key::True | Key::Skip))
}
