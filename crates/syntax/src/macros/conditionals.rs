//! Body conditionals: each becomes an auxiliary predicate over the variables it shares with the clause.

use super::keys::Key;
use super::{Expander, Scope, Section, Value};
use crate::diagnostic::Diagnostic;
use crate::program::{Call, Clause, Goal, GoalKind, Predicate, Separator, Term, TermKind, VarId};
use crate::source::Span;
use crate::tree::{NodeId, NodeKind};
use rustc_hash::FxHashMap;
use term::layout::GOAL_ARITY_MAX;

/// A branch being built.
struct Branch {
    scope: Scope,
    span: Span,
    separator: Separator,
}

impl Expander<'_, '_, '_> {
    /// Expands `( Guard -> Body ; .. )`.
    pub(super) fn conditional(&mut self, scope: &mut Scope, id: NodeId) {
        if !self.enter(id) {
            return;
        }
        let span = self.span(id);
        let number = self.auxiliary_count;
        self.auxiliary_count += 1;
        let shared = self.shared_variables(scope, id);
        let mut arguments: Vec<Term> = shared.iter().map(|&v| self.read(scope, v, span)).collect();
        let branches = self.branches(id, &shared);
        let outputs = self.outputs(id, &branches);
        if !branches.is_empty() {
            let name = format!("{}/{}${number}", self.context.atoms.name(self.owner.0), self.owner.1);
            let name = self.context.atoms.intern(name.as_bytes());
            let arity = shared.len() + outputs.len();
            if arity > GOAL_ARITY_MAX {
                self.too_many_arguments(span, arity);
            }
            let clauses =
                branches.into_iter().map(|branch| self.branch_clause(branch, &shared, &outputs)).collect();
            let predicate = Predicate { name, arity, span, auxiliary: true, daemon: false, clauses };
            self.auxiliaries.push((number, predicate));
            arguments.extend(outputs.iter().map(|&v| self.update(scope, v, span)));
            let call = Call { module: None, name, arguments, pragmas: vec![] };
            scope.body.push(Goal { span, kind: GoalKind::Call(call) });
        }
        for &variable in &scope.updated {
            if !self.head_states.contains(&variable) {
                scope.forgetful.insert(variable, span);
            }
        }
        self.leave();
    }

    /// How often each variable occurs in a part of the tree.
    fn occurrences(&self, id: NodeId) -> FxHashMap<u32, u32> {
        let mut counts = FxHashMap::default();
        let mut rest = vec![id];
        while let Some(id) = rest.pop() {
            match self.tree.node(id).kind {
                NodeKind::Var(variable) => *counts.entry(variable).or_insert(0) += 1,
                NodeKind::List(range) | NodeKind::Struct(_, range) | NodeKind::Vector(range) => {
                    rest.extend(self.tree.children(range));
                }
                _ => {}
            }
        }
        counts
    }

    /// Variables of the conditional that occur outside of it too, in order of first occurrence.
    fn shared_variables(&self, scope: &Scope, id: NodeId) -> Vec<u32> {
        let mut shared: Vec<u32> = self
            .occurrences(id)
            .into_iter()
            .filter(|&(variable, inside)| {
                let constant = match scope.values.get(&variable) {
                    Some(value) => matches!(value, Value::With(_)),
                    None => self.withs[variable as usize].is_some(),
                };
                !constant && inside < self.tree.variables()[variable as usize].occurrences
            })
            .map(|(variable, _)| variable)
            .collect();
        shared.sort_unstable();
        shared
    }

    /// Variables that occur outside and get a new value in some branch.
    fn outputs(&self, id: NodeId, branches: &[Branch]) -> Vec<u32> {
        let inside = self.occurrences(id);
        let mut outputs: Vec<u32> = branches
            .iter()
            .flat_map(|branch| branch.scope.updated.iter().copied())
            .filter(|v| {
                let occurrences = self.tree.variables()[*v as usize].occurrences;
                inside.get(v).is_none_or(|&n| n < occurrences) || self.head_states.contains(v)
            })
            .collect();
        outputs.sort_unstable();
        outputs.dedup();
        outputs
    }

    fn branches(&mut self, id: NodeId, shared: &[u32]) -> Vec<Branch> {
        let mut branches: Vec<Branch> = vec![];
        let mut separator = (Separator::None, None);
        let mut legal = true;
        for element in self.chain(id, Key::Semicolon) {
            let span = self.span(element);
            let (guard, body) = match self.structure(element) {
                (Some(Key::Otherwise), []) => {
                    separator = (Separator::Otherwise, Some(span));
                    continue;
                }
                (Some(Key::Alternatively), []) => {
                    separator = (Separator::Alternatively, Some(span));
                    continue;
                }
                (Some(Key::Arrow), &[guard, body]) => (guard, body),
                _ => {
                    let error = Diagnostic::error(
                        "illegal-conditional",
                        span,
                        "this is not a branch of a conditional",
                    );
                    self.report(
                        error
                            .label("`Guard -> Goals` is expected")
                            .help("a conditional is `( Guard -> Goals ; otherwise ; true -> Goals )`"),
                    );
                    legal = false;
                    continue;
                }
            };
            let mut this = separator.0;
            if branches.is_empty() && this != Separator::None {
                self.idle_separator(separator.1.unwrap_or(span));
                this = Separator::None;
            }
            separator = (Separator::None, None);
            for alternative in self.alternatives(guard) {
                let scope = self.branch(&alternative, body, shared);
                branches.push(Branch { scope, span, separator: this });
                this = Separator::None;
            }
        }
        if let Some(span) = separator.1 {
            self.idle_separator(span);
        }
        if branches.is_empty() && legal {
            let span = self.span(id);
            let error = Diagnostic::error("illegal-conditional", span, "a conditional without branches");
            self.report(error.label("no `Guard -> Goals` here"));
        }
        branches
    }

    fn idle_separator(&mut self, span: Span) {
        let warning =
            Diagnostic::warning("trailing-separator", span, "no branches on both sides of this separator");
        self.report(warning.label("has no effect"));
    }

    fn branch(&mut self, guard: &[NodeId], body: NodeId, shared: &[u32]) -> Scope {
        let mut scope = Scope::new();
        for &variable in shared {
            let v = &self.tree.variables()[variable as usize];
            let first = self.place(v.start, v.end);
            let id = scope.variable(String::from_utf8_lossy(&v.name).into_owned(), first);
            scope.values.insert(variable, Value::Var(id));
        }
        scope.section = Section::Guard;
        for &goal in guard {
            self.guard_goal(&mut scope, goal);
        }
        scope.section = Section::Body;
        self.body(&mut scope, body);
        scope
    }

    fn branch_clause(&mut self, branch: Branch, shared: &[u32], outputs: &[u32]) -> Clause {
        let Branch { mut scope, span, separator } = branch;
        let mut head: Vec<Term> =
            (0..shared.len()).map(|n| Term { span, kind: TermKind::Var(VarId(n as u32)) }).collect();
        let finals: Vec<(u32, usize)> =
            outputs.iter().enumerate().map(|(n, &v)| (v, shared.len() + n)).collect();
        head.extend(outputs.iter().map(|_| Term { span, kind: TermKind::Atom(term::symbol::NIL) }));
        self.finish_states(&mut scope, &finals, &mut head);
        Clause { span, separator, variables: scope.variables, head, guard: scope.guard, body: scope.body }
    }
}
