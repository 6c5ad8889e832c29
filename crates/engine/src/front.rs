//! What a program is compiled with: the names that there are, and what can be called. A node has one; a program that
//! is only checked needs no node.

use crate::foreign::Libraries;
use crate::sources::Read;
use compiler::Earlier;
use runtime::native::Native;
use runtime::node::Known;
use runtime::program::Predicates;
use rustc_hash::FxHashMap;
use std::rc::Rc;
use std::sync::Arc;
use syntax::diagnostic::{Diagnostic, Severity};
use term::AtomTable;
use term::abi::{Builtin, PredicateId};

/// Names and predicates, as the compiler wants to hear them.
pub struct Front {
    /// Those of the node.
    pub atoms: Arc<AtomTable>,
    /// What can be called, with the programs loaded before.
    pub(crate) predicates: Arc<Predicates>,
    /// The first of them, in the order of predicate numbers from 1.
    pub(crate) builtins: Rc<[Builtin]>,
    /// How many constants programs loaded before have.
    pub(crate) constants: u32,
    /// The library's code can be used.
    pub(crate) has_library: bool,
    /// Those whose predicates get numbers with the program; `None` once they have some.
    pub(crate) libraries: Option<Libraries>,
}

/// All builtins, and these.
pub(crate) fn natives(own: &[Native], have_copies: bool) -> Vec<Native> {
    let mut natives = runtime::builtins::natives();
    natives.extend(arrays::natives(have_copies));
    natives.extend_from_slice(own);
    natives
}

/// The predicates of the library's modules that are used, and those that it has for itself.
fn of_library(used: library::Used) -> impl Iterator<Item = library::Predicate> {
    library::predicates().filter(move |predicate| predicate.text.is_none_or(|module| used.has(module)))
}

impl Front {
    /// Without a node: nothing will run.
    pub fn alone() -> Front {
        Front::with(Libraries::default())
    }

    /// The same for programs that these libraries give predicates to.
    pub fn with(libraries: Libraries) -> Front {
        let atoms: Arc<AtomTable> = Arc::default();
        let known = Known::new(&atoms, natives(&[], false));
        let builtins = known.callable(&atoms).into();
        let has_library = library::join(&atoms, known.predicates.len());
        Front {
            atoms,
            predicates: Arc::new(known.predicates),
            builtins,
            constants: 0,
            has_library,
            libraries: Some(libraries),
        }
    }

    /// All builtins.
    pub fn builtins(&self) -> &[Builtin] {
        &self.builtins
    }

    /// Clauses to IR. The program is `None` when a diagnostic is an error.
    pub fn lower(
        &self,
        read: &Read,
        roots: Option<Vec<compiler::PredicateKey>>,
    ) -> (Option<compiler::ir::Program>, Vec<Diagnostic>) {
        let mut predicates = self.earlier();
        let mut first_predicate = self.predicates.len() as u32;
        let mut first_constant = self.constants;
        if !read.library.is_empty() {
            (first_predicate, first_constant) = (library::END, library::CONSTANTS);
            // A module of the program hides the library's of the same name.
            let is_own = |name| read.program.modules.iter().any(|module| module.name == name);
            predicates.extend(
                of_library(read.library)
                    .filter(|predicate| predicate.text.is_some() && !is_own(predicate.module))
                    .map(|p| {
                        let known = Earlier { id: p.id, awaits: p.awaits, reads: p.reads };
                        ((p.module, p.name, p.arity as usize), known)
                    }),
            );
        }
        let keys = self.libraries.iter().flat_map(|libraries| libraries.keys(&self.atoms));
        for (key, awaits) in keys {
            // A builtin's: what it does with its arguments holds nothing up (`compiler::ir::reads`).
            predicates.insert(key, Earlier { id: PredicateId(first_predicate), awaits, reads: 0 });
            first_predicate += 1;
        }
        let known =
            compiler::Known { builtins: &self.builtins, predicates: &predicates, library: library::named };
        let options = compiler::Options { known, first_predicate, first_constant, roots };
        let (program, mut diagnostics) =
            compiler::compile(&read.program, &read.sources, &self.atoms, &options);
        let hidden = self.libraries.iter().flat_map(|libraries| libraries.hidden(&read.program, &self.atoms));
        for (predicate, module, path) in hidden {
            let (module, name) = (self.atoms.name(module), self.atoms.name(predicate.name));
            let message = format!("{module}:{name}/{} is a predicate of a library, too", predicate.arity);
            let diagnostic = Diagnostic::error("duplicate-module", predicate.span, message);
            let help = "rename one of them, or leave the library out";
            diagnostics.push(diagnostic.label(format!("{} has it", path.display())).help(help));
        }
        let errors = diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
        (if errors { None } else { Some(program) }, diagnostics)
    }

    /// Predicates of programs loaded before.
    fn earlier(&self) -> FxHashMap<compiler::PredicateKey, Earlier> {
        (self.builtins.len() as u32 + 1..self.predicates.len() as u32)
            .map(|n| (self.predicates.get(PredicateId(n)), PredicateId(n)))
            .filter(|(predicate, _)| !predicate.is_absent())
            .map(|(p, id)| {
                let known = Earlier { id, awaits: p.awaits, reads: p.reads };
                ((p.module, p.name, p.arity as usize), known)
            })
            .collect()
    }
}
