//! Which predicates a run may start with: `main:main`, and all of the user's when the program asks for predicates by name.

use crate::sources::Read;
use syntax::program::{Call, GoalKind, Module, Term, TermKind};
use term::{Atom, AtomTable};

/// The roots of a program.
pub(crate) fn roots(read: &Read, atoms: &mut AtomTable) -> Vec<compiler::PredicateKey> {
    let main = atoms.intern(b"main");
    let mut roots = vec![(main, main, 0)];
    let names = Names {
        generic: atoms.intern(b"generic"),
        new: atoms.intern(b"new"),
        classes: [atoms.intern(b"module"), atoms.intern(b"predicate")],
        system_control: atoms.intern(b"system_control"),
        postmortem: atoms.intern(b"postmortem"),
    };
    let own = |module: &&Module| !read.sources.file(module.span.file).name.starts_with("library/");
    let modules = || read.program.modules.iter().filter(own);
    let goals = modules().flat_map(|module| &module.predicates).flat_map(|predicate| &predicate.clauses);
    if goals.flat_map(|clause| &clause.body).any(|goal| names.asks(&goal.kind)) {
        for module in modules() {
            roots.extend(module.predicates.iter().map(|p| (module.name, p.name, p.arity)));
        }
    }
    roots
}

struct Names {
    generic: Atom,
    new: Atom,
    classes: [Atom; 2],
    system_control: Atom,
    postmortem: Atom,
}

impl Names {
    /// Does this goal find predicates by their names at run time?
    fn asks(&self, goal: &GoalKind) -> bool {
        match goal {
            GoalKind::Unify(a, b) => [a, b].iter().any(|term| is_module(term)),
            GoalKind::Assign(..) => false,
            GoalKind::Call(call) => self.call_asks(call),
        }
    }
    fn call_asks(&self, call: &Call) -> bool {
        let by_class = call.module == Some(self.generic)
            && call.name == self.new
            && matches!(call.arguments.first().map(|term| &term.kind), Some(TermKind::Atom(class)) if self.classes.contains(class));
        let postmortem = call.module == Some(self.system_control) && call.name == self.postmortem;
        by_class || postmortem || call.arguments.iter().any(is_module)
    }
}

fn is_module(term: &Term) -> bool {
    matches!(term.kind, TermKind::Module(_))
}
