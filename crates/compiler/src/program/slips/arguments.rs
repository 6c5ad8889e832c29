//! The arguments of a program's predicates: what goes into them, and what they need.

use super::variables::{Uses, is_expression, uses, variable};
use crate::program::names::{Callee, Names};
use rustc_hash::FxHashMap;
use syntax::program::{Clause, GoalKind, Predicate, Term, TermKind};
use syntax::source::SourceMap;
use term::AtomTable;

/// A clause and what it does.
pub(super) struct Facts<'a> {
    pub(super) predicate: usize,
    pub(super) clause: &'a Clause,
    pub(super) uses: Vec<Uses>,
    /// The goals that call predicates of the program.
    pub(super) calls: Vec<(usize, &'a [Term])>,
}

/// All of a program. An argument of a predicate has a place: the predicate's first, and its number.
pub(super) struct Whole<'a> {
    pub(super) atoms: &'a AtomTable,
    pub(super) sources: &'a SourceMap,
    pub(super) predicates: Vec<&'a Predicate>,
    pub(super) firsts: Vec<usize>,
    /// The predicate in whose clauses a conditional stands; of others, themselves.
    pub(super) owners: Vec<usize>,
    /// Of each predicate, the arguments that are variables of this name in some clause.
    pub(super) named: Vec<FxHashMap<&'a str, Vec<usize>>>,
    pub(super) clauses: Vec<Facts<'a>>,
    /// For an argument, the arguments that are handed on to it, each with its clause.
    pub(super) handed_on: FxHashMap<usize, Vec<(usize, usize)>>,
}

impl<'a> Whole<'a> {
    pub(super) fn new(names: &Names<'a>, sources: &'a SourceMap, atoms: &'a AtomTable) -> Whole<'a> {
        let predicates: Vec<&Predicate> = names.predicates.iter().map(|(_, predicate)| *predicate).collect();
        let mut firsts = Vec::with_capacity(predicates.len() + 1);
        let mut next = 0;
        for predicate in &predicates {
            firsts.push(next);
            next += predicate.arity;
        }
        firsts.push(next);
        let mut clauses = Vec::new();
        for (at, (module, predicate)) in names.predicates.iter().enumerate() {
            for clause in &predicate.clauses {
                let calls = clause.body.iter().filter_map(|goal| match &goal.kind {
                    GoalKind::Call(call) => match names.callee(module.name, call) {
                        Some(Callee::User(index)) => Some((index.0 as usize, &call.arguments[..])),
                        _ => None,
                    },
                    _ => None,
                });
                let (calls, uses) = (calls.collect(), uses(clause, atoms));
                clauses.push(Facts { predicate: at, clause, uses, calls });
            }
        }
        // Auxiliary predicates come after their owners.
        let owners = predicates.iter().enumerate().scan(0, |owner, (at, predicate)| {
            *owner = if predicate.auxiliary { *owner } else { at };
            Some(*owner)
        });
        let owners = owners.collect();
        let handed_on = FxHashMap::default();
        let named = vec![FxHashMap::default(); predicates.len()];
        let mut whole = Whole { atoms, sources, predicates, firsts, owners, named, clauses, handed_on };
        whole.name_arguments();
        whole.hand_on();
        whole
    }

    fn name_arguments(&mut self) {
        for facts in self.clauses.iter().filter(|facts| self.owners[facts.predicate] == facts.predicate) {
            for (at, term) in facts.clause.head.iter().enumerate() {
                let Some(variable) = variable(term) else { continue };
                let name = &facts.clause.variables[variable.0 as usize].name[..];
                let places: &mut Vec<usize> = self.named[facts.predicate].entry(name).or_default();
                let place = self.firsts[facts.predicate] + at;
                if !places.contains(&place) {
                    places.push(place);
                }
            }
        }
    }

    fn hand_on(&mut self) {
        for (number, facts) in self.clauses.iter().enumerate() {
            let mut heads: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
            for (at, term) in facts.clause.head.iter().enumerate() {
                if let Some(variable) = variable(term) {
                    heads.entry(variable.0).or_default().push(self.firsts[facts.predicate] + at);
                }
            }
            for &(callee, arguments) in &facts.calls {
                for (at, argument) in arguments.iter().enumerate() {
                    let from = variable(argument).and_then(|variable| heads.get(&variable.0));
                    let to = self.handed_on.entry(self.firsts[callee] + at);
                    if let Some(from) = from {
                        to.or_default().extend(from.iter().map(|&from| (from, number)));
                    }
                }
            }
        }
    }

    /// The arguments that need what `direct` says of a head's argument.
    pub(super) fn needed(&self, direct: impl Fn(&Term, &[Uses]) -> bool) -> Vec<bool> {
        let mut needed = vec![false; self.firsts[self.predicates.len()]];
        // Clauses that do not need it yet; the satisfied pairs of an argument and a clause.
        let mut left: Vec<usize> = vec![0; needed.len()];
        let mut satisfied = rustc_hash::FxHashSet::default();
        for (number, facts) in self.clauses.iter().enumerate() {
            for (at, term) in facts.clause.head.iter().enumerate() {
                let place = self.firsts[facts.predicate] + at;
                match (direct(term, &facts.uses), variable(term)) {
                    (true, Some(_)) => {
                        satisfied.insert((place, number));
                    }
                    // It is handed on nowhere.
                    (true, None) => {}
                    (false, _) => left[place] += 1,
                }
            }
        }
        let mut work: Vec<usize> = Vec::new();
        for (at, predicate) in self.predicates.iter().enumerate().filter(|(_, p)| !p.clauses.is_empty()) {
            let places = self.firsts[at]..self.firsts[at] + predicate.arity;
            work.extend(places.filter(|&place| left[place] == 0));
        }
        while let Some(place) = work.pop() {
            needed[place] = true;
            for &(from, clause) in self.handed_on.get(&place).into_iter().flatten() {
                if satisfied.insert((from, clause)) {
                    left[from] -= 1;
                    if left[from] == 0 {
                        work.push(from);
                    }
                }
            }
        }
        needed
    }

    /// Where a clause's predicate, or that of its conditional, has a variable of this name among its arguments.
    pub(super) fn places(&self, facts: &Facts, name: &str) -> &[usize] {
        self.named[self.owners[facts.predicate]].get(name).map_or(&[], |places| &places[..])
    }

    /// Arguments that some clause takes apart, or hands on to where one does.
    pub(super) fn taken_apart(&self) -> Vec<bool> {
        let mut taken = vec![false; self.firsts[self.predicates.len()]];
        let mut work = Vec::new();
        for facts in &self.clauses {
            for (at, term) in facts.clause.head.iter().enumerate() {
                let apart = match &term.kind {
                    TermKind::Struct(..) | TermKind::List(..) | TermKind::Vector(_) => true,
                    TermKind::Var(v) => facts.uses[v.0 as usize].taken_apart,
                    _ => false,
                };
                if apart {
                    work.push(self.firsts[facts.predicate] + at);
                }
            }
        }
        while let Some(place) = work.pop() {
            if !std::mem::replace(&mut taken[place], true) {
                work.extend(self.handed_on.get(&place).into_iter().flatten().map(|&(from, _)| from));
            }
        }
        taken
    }

    /// What other predicates put into each argument.
    pub(super) fn begins(&self) -> FxHashMap<usize, Begins> {
        let mut begins: FxHashMap<usize, Begins> = FxHashMap::default();
        for facts in &self.clauses {
            let owner = self.owners[facts.predicate];
            for &(callee, arguments) in facts.calls.iter().filter(|(callee, _)| *callee != owner) {
                for (number, argument) in arguments.iter().enumerate() {
                    let found = begins.entry(self.firsts[callee] + number).or_default();
                    match argument.kind {
                        TermKind::Int(_) | TermKind::BigInt(_) => found.numbers = true,
                        TermKind::Var(_) | TermKind::Float(_) => {}
                        _ => found.others |= !is_expression(argument, self.atoms),
                    }
                }
            }
        }
        begins
    }
}

/// What an argument begins with, where another predicate gives it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Begins {
    pub(super) numbers: bool,
    pub(super) others: bool,
}
