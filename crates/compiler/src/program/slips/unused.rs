//! Predicates that nothing calls.

use rustc_hash::FxHashMap;
use syntax::diagnostic::Diagnostic;
use syntax::program::{Call, Clause, GoalKind, Program};
use term::{Atom, AtomTable};

/// Module, name and number of arguments.
type Key = (Atom, Atom, usize);

/// Warns of predicates that the roots do not reach, in the file of the first root. Of those that call each other, the
/// first is named.
pub fn unused_predicates(program: &Program, atoms: &AtomTable, roots: &[Key]) -> Vec<Diagnostic> {
    let calls = Calls::of(program);
    let indices = || roots.iter().filter_map(|root| calls.index.get(root).copied());
    let Some(first) = indices().next() else { return Vec::new() };
    let mut reached = vec![false; calls.to.len()];
    indices().for_each(|root| calls.reach(root, &mut reached));
    let file = calls.predicates[first].1.span.file;
    let unused: Vec<usize> = (0..reached.len()).filter(|&at| !reached[at]).collect();
    let mut callers = vec![0; calls.to.len()];
    for &from in &unused {
        calls.to[from].iter().filter(|&&to| to != from).for_each(|&to| callers[to] += 1);
    }
    let mut named = Vec::new();
    let alone = unused.iter().filter(|&&at| callers[at] == 0);
    // What is left is in a circle, or called from one.
    for &at in alone.chain(&unused) {
        if !reached[at] {
            calls.reach(at, &mut reached);
            named.push(at);
        }
    }
    named.sort_unstable();
    let predicates = named.into_iter().map(|at| calls.predicates[at]);
    let here = predicates.filter(|(_, predicate)| predicate.span.file == file && !predicate.daemon);
    here.map(|(module, predicate)| {
        let what = format!("{}:{}/{}", atoms.name(module), atoms.name(predicate.name), predicate.arity);
        Diagnostic::warning("unused-predicate", predicate.span, format!("nothing calls {what}"))
            .label("not used by the program")
            .help("call it where it was meant to be called, or remove it")
    })
    .collect()
}

/// The calls between predicates. Auxiliary ones (of conditionals) are their owners.
struct Calls<'a> {
    predicates: Vec<(Atom, &'a syntax::program::Predicate)>,
    index: FxHashMap<Key, usize>,
    to: Vec<Vec<usize>>,
}

impl<'a> Calls<'a> {
    fn of(program: &'a Program) -> Calls<'a> {
        let mut calls = Calls { predicates: Vec::new(), index: FxHashMap::default(), to: Vec::new() };
        let all = || program.modules.iter().flat_map(|m| m.predicates.iter().map(move |p| (m.name, p)));
        for (module, predicate) in all() {
            // They come right after their owners.
            if !predicate.auxiliary || calls.predicates.is_empty() {
                calls.predicates.push((module, predicate));
            }
            let owner = calls.predicates.len() - 1;
            calls.index.entry((module, predicate.name, predicate.arity)).or_insert(owner);
        }
        calls.to = vec![Vec::new(); calls.predicates.len()];
        for (module, predicate) in all() {
            let from = calls.index[&(module, predicate.name, predicate.arity)];
            for clause in &predicate.clauses {
                let to = &mut calls.to[from];
                let index = &calls.index;
                mentions(clause, module, &mut |key| to.extend(index.get(&key)));
            }
        }
        calls.to.iter_mut().for_each(|to| {
            to.sort_unstable();
            to.dedup();
        });
        calls
    }

    fn reach(&self, from: usize, reached: &mut [bool]) {
        let mut work = vec![from];
        while let Some(at) = work.pop() {
            if !std::mem::replace(&mut reached[at], true) {
                work.extend(&self.to[at]);
            }
        }
    }
}

/// The predicates that a clause calls or has as constants.
fn mentions(clause: &Clause, module: Atom, found: &mut dyn FnMut(Key)) {
    clause.predicates().for_each(|(module, name, arity, _)| found((module, name, arity)));
    for goal in &clause.body {
        if let GoalKind::Call(Call { module: named, name, arguments, .. }) = &goal.kind {
            found((named.unwrap_or(module), *name, arguments.len()));
        }
    }
}
