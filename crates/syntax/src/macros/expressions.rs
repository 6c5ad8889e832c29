//! Expressions of `:=`, `$:=`, `~(..)`, `$~(..)` and comparisons.

use super::keys::Key;
use super::named::plus;
use super::{Expander, Scope, Section};
use crate::diagnostic::Diagnostic;
use crate::habits::JOIN;
use crate::program::{Expr, Term, TermKind};
use crate::source::Span;
use crate::tree::{NodeId, NodeKind};
use term::abi::IntOp;

/// The integer operation that an operator or a builtin's name stands for, by number of operands.
pub(super) fn int_operation(key: Key, operands: usize) -> Option<IntOp> {
    use Key::*;
    Some(match (key, operands) {
        (Plus, 2) => IntOp::Add,
        (Minus, 2) => IntOp::Sub,
        (Times, 2) => IntOp::Mul,
        (Divide, 2) => IntOp::Div,
        (Mod, 2) => IntOp::Mod,
        (BitAnd, 2) => IntOp::And,
        (BitOr, 2) => IntOp::Or,
        (Xor, 2) => IntOp::Xor,
        (LeftShift, 2) => IntOp::Shl,
        (RightShift, 2) => IntOp::Shr,
        (Minus, 1) => IntOp::Neg,
        (Backslash, 1) => IntOp::Not,
        _ => return None,
    })
}

fn float_operation(key: Key, operands: usize) -> Option<&'static str> {
    use Key::*;
    Some(match (key, operands) {
        (Plus, 2) => "add",
        (Minus, 2) => "subtract",
        (Times, 2) => "multiply",
        (Divide, 2) => "divide",
        (Pow, 2) => "pow",
        (Plus, 1) => "plus",
        (Minus, 1) => "minus",
        (Sin, 1) => "sin",
        (Cos, 1) => "cos",
        (Tan, 1) => "tan",
        (Asin, 1) => "asin",
        (Acos, 1) => "acos",
        (Atan, 1) => "atan",
        (Sinh, 1) => "sinh",
        (Cosh, 1) => "cosh",
        (Tanh, 1) => "tanh",
        (Exp, 1) => "exp",
        (Log, 1) => "log",
        (Sqrt, 1) => "sqrt",
        (Ceil, 1) => "ceil",
        (Floor, 1) => "floor",
        _ => return None,
    })
}

impl Expander<'_, '_, '_> {
    /// An integer expression. What is none is answered as a term, with a warning: `X := foo` unifies.
    pub(super) fn int_expression(&mut self, scope: &mut Scope, id: NodeId) -> Expr {
        self.int_expression_at(scope, id, true)
    }

    fn int_expression_at(&mut self, scope: &mut Scope, id: NodeId, top: bool) -> Expr {
        let span = self.span(id);
        let (key, arguments) = self.structure(id);
        let placeholder = Expr::Term(Term { span, kind: TermKind::Int(0) });
        if let Some(key) = key
            && !arguments.is_empty()
        {
            if !self.enter(id) {
                return placeholder;
            }
            let expression = match (key, arguments, int_operation(key, arguments.len())) {
                (_, _, Some(operation)) => {
                    self.warn_of_grouping(id, key, arguments);
                    let operands = arguments.iter().map(|&a| self.int_expression_at(scope, a, false));
                    Some(Expr::Int(operation, span, operands.collect()))
                }
                // `+X` waits for an integer, as an addition does.
                (Key::Plus, &[operand], _) => Some(plus(self.int_expression_at(scope, operand, false), span)),
                (Key::Int, &[operand], _) => {
                    let operand = self.float_expression_at(scope, operand, false);
                    Some(Expr::Float("int", span, vec![operand]))
                }
                (Key::IntExpression, &[inner], _) => Some(self.int_expression_at(scope, inner, top)),
                _ => None,
            };
            self.leave();
            if let Some(expression) = expression {
                return expression;
            }
        }
        let term = self.term(scope, id);
        match term.kind {
            TermKind::Var(_) | TermKind::Int(_) | TermKind::BigInt(_) => {}
            _ if top => self.not_an_expression(id, span, "integer"),
            _ if never_commits(scope, &term) => {}
            _ => {
                self.unknown_operand(id, span, "integer");
                return placeholder;
            }
        }
        Expr::Term(term)
    }

    /// A float expression, as [`Self::int_expression`]. Integer constants become floats.
    pub(super) fn float_expression(&mut self, scope: &mut Scope, id: NodeId) -> Expr {
        self.float_expression_at(scope, id, true)
    }

    fn float_expression_at(&mut self, scope: &mut Scope, id: NodeId, top: bool) -> Expr {
        let span = self.span(id);
        let (key, arguments) = self.structure(id);
        let placeholder = Expr::Term(Term { span, kind: TermKind::Float(0.0) });
        if let Some(key) = key
            && !arguments.is_empty()
        {
            if !self.enter(id) {
                return placeholder;
            }
            let expression = match (key, arguments, float_operation(key, arguments.len())) {
                (_, _, Some(method)) => {
                    let operands = arguments.iter().map(|&a| self.float_expression_at(scope, a, false));
                    Some(Expr::Float(method, span, operands.collect()))
                }
                (Key::Float, &[operand], _) => {
                    let operand = self.int_expression_at(scope, operand, false);
                    Some(Expr::Float("float", span, vec![operand]))
                }
                (Key::FloatExpression, &[inner], _) => Some(self.float_expression_at(scope, inner, top)),
                _ => None,
            };
            self.leave();
            if let Some(expression) = expression {
                return expression;
            }
        }
        let mut term = self.term(scope, id);
        match &term.kind {
            TermKind::Int(value) => term.kind = TermKind::Float(*value as f64),
            // As the whole expression, a variable must be seen to be a float one.
            TermKind::Var(_) if top => return Expr::Float("plus", span, vec![Expr::Term(term)]),
            TermKind::Var(_) | TermKind::Float(_) => {}
            _ if top => self.not_an_expression(id, span, "float"),
            _ if never_commits(scope, &term) => {}
            _ => {
                self.unknown_operand(id, span, "float");
                return placeholder;
            }
        }
        Expr::Term(term)
    }

    /// The whole right side is no expression.
    fn not_an_expression(&mut self, id: NodeId, span: Span, kind: &str) {
        let message = format!("this is no {kind} expression");
        let warning = Diagnostic::warning("unknown-expression", span, message);
        let help = self.instead(id, kind == "integer");
        let help = help.unwrap_or_else(|| "write `=` to unify with a term".into());
        self.report(warning.label("the term itself is used as the value").help(help));
    }

    fn unknown_operand(&mut self, id: NodeId, span: Span, kind: &str) {
        let message = match self.tree.node(id).kind {
            NodeKind::Struct(name, range) => {
                let arity = self.tree.children(range).len();
                format!("there is no {kind} operation `{}`/{arity}", self.context.atoms.name(name))
            }
            _ => format!("this is no {kind}"),
        };
        let error = Diagnostic::error("unknown-expression", span, message);
        let help = if let Some(instead) = self.instead(id, kind == "integer") {
            return self.report(error.label("cannot be computed with").help(instead));
        } else if kind == "integer" && matches!(self.tree.node(id).kind, NodeKind::Float(_)) {
            "`:=` computes integers; floats are computed by `$:=`, as in `X $:= 1.5 + Y`"
        } else if let NodeKind::String(_) = self.tree.node(id).kind {
            JOIN
        } else if kind == "integer" {
            "integers have `+ - * / mod /\\ \\/ xor << >>`, unary `+ - \\(X)`, and `int(FloatExpression)`"
        } else {
            "floats have `+ - * /`, `pow(X,Y)`, `sin` and the like, and `float(IntegerExpression)`"
        };
        self.report(error.label("cannot be computed with").help(help));
    }

    /// A comparison's operand.
    pub(super) fn operand(&mut self, scope: &mut Scope, id: NodeId) -> Expr {
        self.int_expression_at(scope, id, false)
    }

    /// A float comparison's operand, computed before if it is an expression.
    pub(super) fn float_operand(&mut self, scope: &mut Scope, id: NodeId) -> Term {
        let span = self.span(id);
        match self.float_expression_at(scope, id, false) {
            Expr::Term(term) => term,
            expression => {
                let variable = scope.fresh(span);
                let term = Term { span, kind: TermKind::Var(variable) };
                self.emit_assignment(scope, term.clone(), expression, span);
                term
            }
        }
    }
}

/// A constant of a wrong type in a guard: the guard fails, and the compiler says so.
fn never_commits(scope: &Scope, term: &Term) -> bool {
    scope.section != Section::Body && !matches!(term.kind, TermKind::Struct(..))
}
