//! Body goals, update goals and pragmas.

use super::expressions::int_operation;
use super::guards::{condition, float_method, order};
use super::keys::Key;
use super::{Expander, Scope, Section};
use crate::diagnostic::Diagnostic;
use crate::habits::DIFFERENCES;
use crate::program::{Call, Expr, Goal, GoalKind, Guard, GuardKind, Pragma, Term, TermKind};
use crate::source::Span;
use crate::tree::{NodeId, NodeKind};
use term::Atom;
use term::abi::IntOp;

impl Expander<'_, '_, '_> {
    /// Expands a conjunction of body goals.
    pub(super) fn body(&mut self, scope: &mut Scope, id: NodeId) {
        for goal in self.chain(id, Key::Comma) {
            self.goal(scope, goal);
        }
    }

    fn goal(&mut self, scope: &mut Scope, id: NodeId) {
        let mut pragmas = vec![];
        let mut module = None;
        let mut at = id;
        // `m:p(..)@a@b` reads as `m:(p(..)@(a@b))`; parentheses may change that.
        loop {
            match self.structure(at) {
                (Some(Key::Pragma), &[goal, more]) => {
                    pragmas.splice(0..0, self.chain(more, Key::Pragma));
                    at = goal;
                }
                (Some(Key::Colon), &[name, goal]) if module.is_none() => {
                    match self.tree.node(name).kind {
                        NodeKind::Atom(atom) => module = Some(atom),
                        _ => {
                            let span = self.span(name);
                            let error = Diagnostic::error(
                                "illegal-goal",
                                span,
                                "the module of a call must be an atom",
                            );
                            let help = "to call a predicate object write `apply(P,{..})`";
                            return self.report(error.label("not an atom").help(help));
                        }
                    }
                    at = goal;
                }
                (Some(Key::Sharp), &[name, goal])
                    if self.atom_key(name) == Some(Key::Builtin) && module.is_none() =>
                {
                    at = goal;
                }
                _ => break,
            }
        }
        let span = self.span(id);
        match module.map(|m| (m, self.key(m))) {
            None => self.plain_goal(scope, at, &pragmas, span),
            Some((_, Some(Key::Inline))) => self.inline_c(span),
            Some((module, key)) => {
                if key == Some(Key::Generic) && !pragmas.is_empty() {
                    let warning = Diagnostic::warning(
                        "pragma-on-method",
                        self.span(pragmas[0]),
                        "a pragma of a generic method has no effect",
                    );
                    self.report(warning.label("ignored"));
                    pragmas.clear();
                }
                self.call(scope, Some(module), at, &pragmas, span);
            }
        }
    }

    /// A goal without module.
    fn plain_goal(&mut self, scope: &mut Scope, id: NodeId, pragmas: &[NodeId], span: Span) {
        let (key, arguments) = self.structure(id);
        let simple = match (key, arguments) {
            (Some(Key::True), []) => true,
            (Some(Key::Arrow | Key::Semicolon), &[_, _]) => {
                self.conditional(scope, id);
                true
            }
            (Some(Key::Comma), &[_, _]) => {
                self.body(scope, id);
                true
            }
            (Some(Key::Bar), &[_, _]) => {
                let error = Diagnostic::error("illegal-goal", span, "a clause has only one commit bar `|`");
                return self
                    .report(error.label("another one").help("in a conditional write `->` after the guard"));
            }
            (Some(Key::Unify), &[left, right]) => {
                if let (Some(key), parts) = self.structure(right)
                    && int_operation(key, parts.len()).is_some()
                {
                    self.warn_of_change(left, right, span);
                }
                let kind = GoalKind::Unify(self.term(scope, left), self.term(scope, right));
                scope.body.push(Goal { span, kind });
                true
            }
            (Some(key), &[_, _])
                if condition(key).is_some()
                    || float_method(key).is_some()
                    || order(key).is_some()
                    || key == Key::Differ =>
            {
                let error = Diagnostic::error("illegal-goal", span, "a comparison cannot be a body goal");
                let help =
                    "put it before the commit bar, or write `( Test -> Goals ; otherwise ; true -> Goals )`";
                return self.report(error.label("only guards can test").help(help));
            }
            (Some(key), &[left, right]) => self.assignment(scope, key, left, right, span),
            _ => false,
        };
        if !simple {
            return self.call(scope, None, id, pragmas, span);
        }
        if let Some(&pragma) = pragmas.first() {
            let span = self.span(pragma);
            let error = Diagnostic::error("illegal-pragma", span, "this goal cannot have a pragma");
            self.report(error.label("only calls of predicates can").help("leave it out"));
        }
    }

    /// `:=`, `$:=` and update goals, in guards and bodies; `false`: none of them.
    pub(super) fn assignment(
        &mut self,
        scope: &mut Scope,
        key: Key,
        left: NodeId,
        right: NodeId,
        span: Span,
    ) -> bool {
        let operation = match key {
            Key::IntAssign => {
                self.warn_of_change(left, right, span);
                let target = self.term(scope, left);
                let value = self.int_expression(scope, right);
                self.emit_assignment(scope, target, value, span);
                return true;
            }
            Key::FloatAssign => {
                self.warn_of_change(left, right, span);
                let target = self.term(scope, left);
                let value = self.float_expression(scope, right);
                self.emit_assignment(scope, target, value, span);
                return true;
            }
            Key::Send | Key::Push | Key::Update => None,
            Key::AddUpdate => Some(IntOp::Add),
            Key::SubUpdate => Some(IntOp::Sub),
            Key::MulUpdate => Some(IntOp::Mul),
            Key::DivUpdate => Some(IntOp::Div),
            _ => return false,
        };
        let (state, other) = if key == Key::Push { (right, left) } else { (left, right) };
        if matches!(key, Key::Send | Key::Push)
            && scope.section == Section::Guard
            && (self.is_number(left) || self.is_number(right) || self.are_variables(left, right))
        {
            let (operator, meant) = if key == Key::Send {
                ("`<=`", "less-or-equal is written `=<`")
            } else {
                ("`=>`", "greater-or-equal is written `>=`")
            };
            let message = format!("{operator} sends a message on a stream");
            let warning = Diagnostic::warning("send-in-guard", span, message);
            self.report(warning.label("compares nothing").help(meant));
        }
        if key == Key::DivUpdate && scope.section == Section::Guard {
            let warning = Diagnostic::warning("send-in-guard", span, "`/=` divides a variable");
            self.report(warning.label("compares nothing").help(DIFFERENCES));
        }
        let Some(variable) = self.variable_of(state) else {
            let span = self.span(state);
            let error = Diagnostic::error("illegal-update", span, "an update goal needs a variable here");
            let help = "comparisons are written `=<` and `>=`";
            self.report(error.label("not a variable").help(help));
            return true;
        };
        self.update_goal(scope, (key, operation), (variable, self.span(state)), other, span);
        true
    }

    /// `I := I + 1` and `I = I + 1`, from other languages: it waits for ever, compares two different numbers, or makes
    /// a term without an end.
    fn warn_of_change(&mut self, left: NodeId, right: NodeId, span: Span) {
        let Some(variable) = self.variable_of(left).filter(|_| self.variable_of(right).is_none()) else {
            return;
        };
        let mut rest = vec![right];
        while let Some(id) = rest.pop() {
            match self.tree.node(id).kind {
                NodeKind::Var(other) if other == variable => {
                    let message = "a variable cannot get a new value from its old one";
                    let help = "give the new value a name of its own, as in `I1 := I + 1`, and use that from there on";
                    let warning = Diagnostic::warning("assigned-to-itself", span, message);
                    self.report(warning.label("the same variable on both sides").help(help));
                    return;
                }
                NodeKind::Struct(_, range) | NodeKind::List(range) | NodeKind::Vector(range) => {
                    rest.extend(self.tree.children(range));
                }
                _ => {}
            }
        }
    }

    /// An update goal: its key with the operation of `+=` and the like, the state variable and its place,
    /// the other operand.
    fn update_goal(
        &mut self,
        scope: &mut Scope,
        (key, operation): (Key, Option<IntOp>),
        (variable, place): (u32, Span),
        other: NodeId,
        span: Span,
    ) {
        if let Some(operation) = operation {
            let old = Expr::Term(self.read(scope, variable, place));
            let operand = self.operand(scope, other);
            let new = self.update(scope, variable, place);
            self.emit_assignment(scope, new, Expr::Int(operation, span, vec![old, operand]), span);
            return;
        }
        let (left, right) = match key {
            Key::Send => {
                let old = self.read(scope, variable, place);
                let message = self.term(scope, other);
                let new = self.update(scope, variable, place);
                (old, cons(message, new, span))
            }
            Key::Push => {
                let item = self.term(scope, other);
                let old = self.read(scope, variable, place);
                (self.update(scope, variable, place), cons(item, old, span))
            }
            _ => {
                let value = self.term(scope, other);
                (self.update(scope, variable, place), value)
            }
        };
        if scope.section == Section::Body {
            scope.body.push(Goal { span, kind: GoalKind::Unify(left, right) });
        } else {
            scope.guard.push(Guard { span, kind: GuardKind::Unify(left, right) });
        }
    }

    fn are_variables(&self, left: NodeId, right: NodeId) -> bool {
        self.variable_of(left).is_some() && self.variable_of(right).is_some()
    }

    fn is_number(&self, id: NodeId) -> bool {
        matches!(self.tree.node(id).kind, NodeKind::Int(_) | NodeKind::BigInt(_) | NodeKind::Float(_))
    }

    fn call(&mut self, scope: &mut Scope, module: Option<Atom>, id: NodeId, pragmas: &[NodeId], span: Span) {
        let Some(form) = self.form(id, "illegal-goal") else { return };
        let arguments = self.arguments(scope, &form);
        let pragmas = self.pragmas(scope, pragmas);
        let call = Call { module, name: form.name, arguments, pragmas };
        scope.body.push(Goal { span, kind: GoalKind::Call(call) });
    }

    fn pragmas(&mut self, scope: &mut Scope, ids: &[NodeId]) -> Vec<Pragma> {
        let mut pragmas: Vec<Pragma> = vec![];
        for &id in ids {
            let span = self.span(id);
            let (key, arguments) = self.structure(id);
            let pragma = match (key, arguments) {
                (Some(Key::LowerPriority), []) => {
                    Some(Pragma::LowerPriority(Term { span, kind: TermKind::Int(1) }))
                }
                (Some(Key::Priority), &[level]) => self.pragma_value(scope, level).map(Pragma::Priority),
                (Some(Key::LowerPriority), &[by]) => self.pragma_value(scope, by).map(Pragma::LowerPriority),
                (Some(Key::Node | Key::Processor), &[node]) => {
                    let any = self.tree.node(node).kind == NodeKind::Atom(term::symbol::ANY);
                    let term =
                        if any { Some(self.term(scope, node)) } else { self.pragma_value(scope, node) };
                    term.map(Pragma::Node)
                }
                _ => None,
            };
            let Some(pragma) = pragma else {
                let error = match (key, arguments) {
                    (Some(Key::Priority | Key::LowerPriority | Key::Node | Key::Processor), &[value]) => {
                        let what = "a pragma's argument must be an integer of 61 bits or a variable";
                        Diagnostic::error("illegal-pragma", self.span(value), what).label("neither")
                    }
                    _ => Diagnostic::error("illegal-pragma", span, "there is no such pragma")
                        .label("unknown pragma"),
                };
                self.report(error.help(
                    "pragmas are `@priority(P)`, `@lower_priority`, `@lower_priority(N)`, `@node(N)`, \
                         `@node(any)`, `@processor(N)`",
                ));
                continue;
            };
            // A node and a priority go together.
            let of_node = |pragma: &Pragma| matches!(pragma, Pragma::Node(_));
            let same = |first: &&Pragma| of_node(first) == of_node(&pragma);
            if let Some(first) = pragmas.iter().find(same) {
                let twice = std::mem::discriminant(first) == std::mem::discriminant(&pragma);
                let what = if twice { "this pragma twice" } else { "two priorities" };
                let error = format!("a goal cannot have {what}");
                let error = Diagnostic::error("illegal-pragma", span, error);
                self.report(error.label("the second one"));
                continue;
            }
            pragmas.push(pragma);
        }
        pragmas
    }

    fn pragma_value(&mut self, scope: &mut Scope, id: NodeId) -> Option<Term> {
        let term = self.term(scope, id);
        matches!(term.kind, TermKind::Var(_) | TermKind::Int(_)).then_some(term)
    }
}

/// `[head|tail]`.
fn cons(head: Term, tail: Term, span: Span) -> Term {
    let kind = match tail.kind {
        TermKind::Atom(term::symbol::NIL) => TermKind::List(vec![head], None),
        _ => TermKind::List(vec![head], Some(Box::new(tail))),
    };
    Term { span, kind }
}
