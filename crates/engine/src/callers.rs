//! Where a program calls what failed or waits: the user's goals that lead to it, through the library if need be.

use crate::sources::{self, Read};
use runtime::outcome::GoalText;
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use syntax::program::{Call as CallOf, Goal, GoalKind, Predicate, Program, TermKind};
use syntax::source::SourceMap;
use term::{Atom, AtomTable};

/// A goal of the program's text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// The file that has it.
    pub file: String,
    /// Its line there.
    pub line: u32,
    /// As it is written.
    pub text: String,
    /// The arguments that are variables, by their names.
    pub names: Vec<Option<String>>,
    /// It says at which priority or node it runs.
    pub placed: bool,
    /// The predicate in whose clauses it stands.
    pub(crate) caller: Name,
}

/// A predicate: module and name as numbers of atoms, and the number of arguments.
pub(crate) type Name = (u32, u32, u32);

#[derive(Serialize, Deserialize)]
struct Call {
    caller: Name,
    callee: Name,
    /// None in the library.
    site: Option<Site>,
}

/// The calls of a program: executables keep them without its text.
#[derive(Default, Serialize, Deserialize)]
pub struct Calls {
    all: Vec<Call>,
}

/// What leads to what in the program that runs.
#[derive(Clone, Copy)]
pub struct Callers<'a> {
    /// What the program calls.
    pub calls: &'a Calls,
    /// The atoms of its node.
    pub atoms: &'a AtomTable,
}

impl Calls {
    /// Those of a program, and of the library's code that it uses.
    pub fn of(read: &Read, atoms: &AtomTable) -> Calls {
        let mut calls = Calls::default();
        calls.add(&read.program, &read.sources, atoms);
        if !read.library.is_empty() {
            let (program, sources) = sources::of_library(read.library, atoms);
            calls.add(&program, &sources, atoms);
        }
        calls
    }

    /// Adds those of a text.
    fn add(&mut self, program: &Program, sources: &SourceMap, atoms: &AtomTable) {
        for module in &program.modules {
            for predicate in &module.predicates {
                let is_library = sources.file(predicate.span.file).name.starts_with("library/");
                let caller = owner(atoms, module.name, predicate.name, predicate.arity);
                for (goal, call) in goals(predicate) {
                    let of = call.module.unwrap_or(module.name);
                    let callee = owner(atoms, of, call.name, call.arguments.len());
                    let site = (!is_library).then(|| site(sources, predicate, goal, call, caller));
                    self.all.push(Call { caller, callee, site });
                }
            }
        }
    }
}

/// A predicate; if the compiler made it of a conditional, the one in whose clauses that stands.
fn owner(atoms: &AtomTable, module: Atom, name: Atom, arity: usize) -> Name {
    let text = atoms.name(name);
    let of = text.rsplit_once('$').and_then(|(owner, _)| owner.rsplit_once('/'));
    let of = of.and_then(|(name, arity)| Some((atoms.lookup(name.as_bytes())?, arity.parse().ok()?)));
    let (name, arity) = of.unwrap_or((name, arity as u32));
    (module.0, name.0, arity)
}

impl Callers<'_> {
    /// The user's goals that lead to a goal. What a predicate calls itself is left out.
    pub(crate) fn of(&self, goal: &GoalText) -> Vec<Site> {
        let name = self.named(&goal.module, &goal.name, goal.arguments.len());
        name.map(|name| self.calling(name)).unwrap_or_default()
    }
    /// Those that lead to a predicate, which is given as `main:p/3`.
    pub(crate) fn of_predicate(&self, predicate: &str) -> Vec<Site> {
        let parts =
            predicate.split_once(':').and_then(|(module, rest)| Some((module, rest.rsplit_once('/')?)));
        let Some((module, (name, arity))) = parts else { return Vec::new() };
        let name = arity.parse().ok().and_then(|arity| self.named(module, name, arity));
        name.map(|name| self.calling(name)).unwrap_or_default()
    }
    fn named(&self, module: &str, name: &str, arity: usize) -> Option<Name> {
        let atom = |text: &str| self.atoms.lookup(text.as_bytes());
        Some(owner(self.atoms, atom(module)?, atom(name)?, arity))
    }
    /// Those that lead to a predicate.
    pub(crate) fn calling(&self, predicate: Name) -> Vec<Site> {
        let mut wanted = FxHashSet::from_iter([predicate]);
        // What the library calls on the way.
        loop {
            let before = wanted.len();
            for call in self.calls.all.iter().filter(|call| call.site.is_none()) {
                if wanted.contains(&call.callee) {
                    wanted.insert(call.caller);
                }
            }
            if wanted.len() == before {
                break;
            }
        }
        let leads = |call: &&Call| wanted.contains(&call.callee) && call.callee != call.caller;
        let mut sites: Vec<Site> =
            self.calls.all.iter().filter(leads).filter_map(|call| call.site.clone()).collect();
        sites.dedup();
        sites
    }
}

fn site(sources: &SourceMap, predicate: &Predicate, goal: &Goal, call: &CallOf, caller: Name) -> Site {
    let file = sources.file(goal.span.file);
    let clause = predicate.clauses.iter().find(|c| c.body.iter().any(|other| std::ptr::eq(other, goal)));
    let name = |kind: &TermKind| match (kind, clause) {
        (TermKind::Var(variable), Some(clause)) => {
            clause.variables.get(variable.0 as usize).map(|variable| variable.name.clone())
        }
        _ => None,
    };
    Site {
        file: file.name.clone(),
        line: sources.line(goal.span.file, goal.span.start),
        text: crate::shown::displayable(&file.text[goal.span.start as usize..goal.span.end as usize]),
        names: call.arguments.iter().map(|argument| name(&argument.kind)).collect(),
        placed: !call.pragmas.is_empty(),
        caller,
    }
}

/// The calls of a predicate.
fn goals(predicate: &Predicate) -> impl Iterator<Item = (&Goal, &CallOf)> {
    let goals = predicate.clauses.iter().flat_map(|clause| &clause.body);
    goals.filter_map(|goal| match &goal.kind {
        GoalKind::Call(call) => Some((goal, call)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use runtime::outcome::ArgumentText;

    #[test]
    fn goals_of_the_user_are_found_through_the_library() {
        let atoms = AtomTable::new();
        let mut sources = SourceMap::default();
        let user = ":- module main.\nmain :- q(X,1),\n  io:out([X]), main.\nq(_,_) :- true | q(1,2).\n";
        let library = ":- module io.\nout(S) :- true | deep:serve(S,0).\n";
        let files =
            [sources.add("u.kl1".into(), user.into()), sources.add("library/io.kl1".into(), library.into())];
        let (program, _) = syntax::read_program(&sources, &files, &atoms);
        let mut calls = Calls::default();
        calls.add(&program, &sources, &atoms);
        let callers = Callers { calls: &calls, atoms: &atoms };
        let shown = |module: &str, name: &str, arity| -> Vec<String> {
            let arguments = vec![ArgumentText::default(); arity];
            let goal =
                GoalText { module: module.into(), name: name.into(), arguments, ..GoalText::default() };
            callers
                .of(&goal)
                .iter()
                .map(|s| format!("{}:{} {} {:?}", s.file, s.line, s.text, s.names))
                .collect()
        };
        assert_eq!(shown("deep", "serve", 2), ["u.kl1:3 io:out([X]) [None]"]);
        assert_eq!(shown("main", "q", 2), ["u.kl1:2 q(X,1) [Some(\"X\"), None]"]);
        assert_eq!(shown("nowhere", "q", 2), Vec::<String>::new());
    }
}
