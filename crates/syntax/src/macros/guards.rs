//! Guards: disjunctions to several clauses, goals to [`GuardKind`].

use super::keys::Key;
use super::{Expander, Form, Scope, Suffix};
use crate::diagnostic::Diagnostic;
use crate::program::{Expr, Guard, GuardKind, Term, TermKind};
use crate::source::Span;
use crate::tree::{NodeId, NodeKind};
use term::abi::Cond;

/// Copies that guard disjunctions may make of one clause of the text, its conditionals included.
const COPIES_MAX: usize = 1024;
/// The same, counted in nodes of the tree: copying takes time.
const COPIED_NODES_MAX: usize = 1 << 24;

/// Copies that are allowed of a clause with this number of nodes.
pub(super) fn copies_allowed(nodes: usize) -> usize {
    (COPIED_NODES_MAX / nodes.max(1)).min(COPIES_MAX)
}

impl<'t> Expander<'_, '_, 't> {
    /// The conjunctions that a guard is a disjunction of: at least one, and no more than copies of the
    /// clause are allowed in all.
    pub(super) fn alternatives(&mut self, id: NodeId) -> Vec<Vec<NodeId>> {
        let mut alternatives = self.guard_alternatives(id);
        let copies = alternatives.len() - 1;
        if copies > self.copies_left {
            self.too_many_alternatives(id);
            alternatives.truncate(1);
        } else {
            self.copies_left -= copies;
        }
        alternatives
    }

    fn too_many_alternatives(&mut self, id: NodeId) {
        let span = self.span(id);
        let error = Diagnostic::error(
            "too-many-alternatives",
            span,
            "the disjunctions of guards make too many clauses of this one",
        );
        self.report(
            error
                .label(format!("at most {COPIES_MAX}, fewer for very long clauses"))
                .help("test some of the conditions in a predicate of their own"),
        );
    }

    fn guard_alternatives(&mut self, id: NodeId) -> Vec<Vec<NodeId>> {
        let mut alternatives = vec![vec![]];
        for part in self.chain(id, Key::Comma) {
            let branches = self.chain(part, Key::Semicolon);
            if branches.len() == 1 {
                alternatives.iter_mut().for_each(|a| a.push(part));
                continue;
            }
            if !self.enter(part) {
                return vec![vec![]];
            }
            let choices: Vec<Vec<NodeId>> =
                branches.iter().flat_map(|&branch| self.guard_alternatives(branch)).collect();
            self.leave();
            if alternatives.len().saturating_mul(choices.len()) > COPIES_MAX {
                self.too_many_alternatives(id);
                return vec![vec![]];
            }
            let joined = alternatives.iter().flat_map(|a| choices.iter().map(move |c| [&a[..], c].concat()));
            alternatives = joined.collect();
        }
        alternatives
    }

    /// The elements of a chain of one operator, from left to right (M2: no recursion).
    pub(super) fn chain(&self, id: NodeId, operator: Key) -> Vec<NodeId> {
        let mut elements = vec![];
        let mut rest = vec![id];
        while let Some(id) = rest.pop() {
            match self.structure(id) {
                (Some(key), &[left, right]) if key == operator => rest.extend([right, left]),
                _ => elements.push(id),
            }
        }
        elements
    }

    /// Expands one guard goal.
    pub(super) fn guard_goal(&mut self, scope: &mut Scope, id: NodeId) {
        let span = self.span(id);
        match self.structure(id) {
            (Some(Key::True), []) => return,
            (Some(Key::Colon), &[module, rest]) => return self.guard_method(scope, module, rest, span),
            (Some(Key::Arrow | Key::Bar | Key::Pragma), &[_, _]) => {
                let error = Diagnostic::error("illegal-guard", span, "this cannot stand in a guard");
                let help = "guards are conjunctions and disjunctions of builtin tests; the guard ends with `|`, in \
                    conditionals with `->`";
                return self.report(error.label("not a test").help(help));
            }
            (Some(key), &[left, right]) if self.guard_operator(scope, key, left, right, span) => return,
            _ => {}
        }
        let Some(form) = self.form(id, "illegal-guard") else { return };
        let mut arguments = self.arguments(scope, &form);
        let kind = match self.key(form.name) {
            Some(key) => {
                if let (Some(cond), [_, _]) = (named_condition(key), &arguments[..]) {
                    let right = arguments.pop().map(Expr::Term);
                    let left = arguments.pop().map(Expr::Term);
                    left.zip(right).map(|(left, right)| GuardKind::Compare(cond, left, right))
                } else {
                    super::named::integers(key, &mut arguments, span)
                        .map(|(target, expression)| GuardKind::Assign(target, expression))
                }
            }
            None => None,
        };
        let kind = kind.unwrap_or(GuardKind::Call(form.name, arguments));
        scope.guard.push(Guard { span, kind });
    }

    /// Goals written with an operator; `false`: none of them.
    fn guard_operator(
        &mut self,
        scope: &mut Scope,
        key: Key,
        left: NodeId,
        right: NodeId,
        span: Span,
    ) -> bool {
        let kind = match key {
            Key::Unify => GuardKind::Unify(self.term(scope, left), self.term(scope, right)),
            Key::Differ => {
                let operands = vec![self.term(scope, left), self.term(scope, right)];
                GuardKind::Call(self.context.keys.atom(Key::Diff), operands)
            }
            _ if condition(key).is_some() => {
                let (left, right) = (self.operand(scope, left), self.operand(scope, right));
                GuardKind::Compare(condition(key).expect("just tested"), left, right)
            }
            _ if float_method(key).is_some() => {
                let method = self.context.keys.atom(float_method(key).expect("just tested"));
                let operands = vec![self.float_operand(scope, left), self.float_operand(scope, right)];
                GuardKind::Method(method, operands, vec![])
            }
            _ if order(key).is_some() => {
                let (left, right) = (self.term(scope, left), self.term(scope, right));
                let result = Term { span, kind: TermKind::Var(scope.fresh(span)) };
                let compare = self.context.keys.atom(Key::Compare);
                let kind = GuardKind::Call(compare, vec![left, right, result.clone()]);
                scope.guard.push(Guard { span, kind });
                let zero = Expr::Term(Term { span, kind: TermKind::Int(0) });
                GuardKind::Compare(order(key).expect("just tested"), Expr::Term(result), zero)
            }
            _ => return self.assignment(scope, key, left, right, span),
        };
        scope.guard.push(Guard { span, kind });
        true
    }

    /// `generic:method(In..):Out..`.
    fn guard_method(&mut self, scope: &mut Scope, module: NodeId, rest: NodeId, span: Span) {
        match self.atom_key(module) {
            Some(Key::Generic) => {}
            Some(Key::Inline) => return self.inline_c(span),
            _ => {
                let error =
                    Diagnostic::error("illegal-guard", span, "a predicate cannot be called in a guard");
                let help = "call it in the body and test its result in a predicate of your own";
                return self.report(error.label("guards have builtin tests only").help(help));
            }
        }
        let parts = self.chain(rest, Key::Colon);
        let Some(form) = self.form(parts[0], "illegal-guard") else { return };
        let inputs = self.arguments(scope, &form);
        if inputs.is_empty() {
            let error = Diagnostic::error("illegal-guard", span, "a method needs an object");
            return self.report(error.label("no argument").help("write `generic:method(Object)`"));
        }
        let outputs = parts[1..].iter().map(|&id| self.term(scope, id)).collect();
        scope.guard.push(Guard { span, kind: GuardKind::Method(form.name, inputs, outputs) });
    }

    pub(super) fn inline_c(&mut self, span: Span) {
        let error = Diagnostic::error("inline-c", span, "C code cannot be used");
        self.report(
            error
                .label("inline C")
                .note("It depends on another implementation's data representation.")
                .help("use builtins, or the generic methods of strings, vectors and floats"),
        );
    }

    /// Arguments with those that suffixes add, in textual order.
    pub(super) fn arguments(&mut self, scope: &mut Scope, form: &Form<'t>) -> Vec<Term> {
        let mut arguments: Vec<Term> = form.arguments.iter().map(|&id| self.term(scope, id)).collect();
        for suffix in &form.suffixes {
            match *suffix {
                Suffix::State(variable, span) => {
                    arguments.push(self.read(scope, variable, span));
                    arguments.push(self.update(scope, variable, span));
                }
                Suffix::Extra(id) => arguments.push(self.term(scope, id)),
            }
        }
        if arguments.len() > term::layout::GOAL_ARITY_MAX {
            self.too_many_arguments(form.span, arguments.len());
        }
        arguments
    }

    /// A variable node's number.
    pub(super) fn variable_of(&self, id: NodeId) -> Option<u32> {
        match self.tree.node(id).kind {
            NodeKind::Var(variable) => Some(variable),
            _ => None,
        }
    }
}

/// Comparison operators.
pub(super) fn condition(key: Key) -> Option<Cond> {
    Some(match key {
        Key::Lt => Cond::Lt,
        Key::Le => Cond::Le,
        Key::Gt => Cond::Gt,
        Key::Ge => Cond::Ge,
        Key::Eq => Cond::Eq,
        Key::Ne => Cond::Ne,
        _ => return None,
    })
}

fn named_condition(key: Key) -> Option<Cond> {
    Some(match key {
        Key::LessThan => Cond::Lt,
        Key::NotGreaterThan => Cond::Le,
        Key::GreaterThan => Cond::Gt,
        Key::NotLessThan => Cond::Ge,
        Key::Equal => Cond::Eq,
        Key::NotEqual => Cond::Ne,
        _ => return None,
    })
}

/// The methods of class float that compare.
pub(super) fn float_method(key: Key) -> Option<Key> {
    Some(match key {
        Key::FloatLt => Key::LessThan,
        Key::FloatLe => Key::NotGreaterThan,
        Key::FloatGt => Key::GreaterThan,
        Key::FloatGe => Key::NotLessThan,
        Key::FloatEq => Key::Equal,
        Key::FloatNe => Key::NotEqual,
        _ => return None,
    })
}

/// Standard order: the condition on the result of `compare/3`.
pub(super) fn order(key: Key) -> Option<Cond> {
    Some(match key {
        Key::Before => Cond::Lt,
        Key::NotAfter => Cond::Le,
        Key::After => Cond::Gt,
        Key::NotBefore => Cond::Ge,
        _ => return None,
    })
}
