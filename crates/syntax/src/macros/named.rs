//! Arithmetic builtins that are called by their names: `add(X,Y,Z)` is `Z := X + Y`.

use super::keys::{Key, Keys};
use crate::program::{Clause, Expr, GoalKind, Term, TermKind};
use crate::source::Span;
use term::abi::IntOp;
use term::symbol::NIL;
use term::{Atom, AtomTable};

/// Makes assignments of a clause's calls of arithmetic builtins. `is_own` says which names the module defines itself:
/// they are meant, then.
pub(crate) fn assign(
    clause: &mut Clause,
    keys: &Keys,
    atoms: &AtomTable,
    is_own: impl Fn(Atom, usize) -> bool,
) {
    for goal in &mut clause.body {
        if let GoalKind::Call(call) = &mut goal.kind
            && call.module.is_none()
            && !is_own(call.name, call.arguments.len())
            && let Some((target, expression)) =
                arithmetic(keys, atoms, call.name, &mut call.arguments, goal.span)
        {
            goal.kind = assignment(target, expression);
        }
    }
}

/// The result and the expression. `None` takes nothing from the arguments.
fn arithmetic(
    keys: &Keys,
    atoms: &AtomTable,
    name: Atom,
    arguments: &mut Vec<Term>,
    span: Span,
) -> Option<(Term, Expr)> {
    if let Some(key) = keys.get(name) {
        return integers(key, arguments, span);
    }
    let method = atoms.text(name).strip_prefix(b"floating_point_")?;
    let (operation, arity) =
        *FLOAT_BUILTINS.iter().find(|(n, _)| n.as_bytes() == method || *n == "pow" && method == b"power")?;
    if arguments.len() != arity {
        return None;
    }
    let target = arguments.pop()?;
    let operands = arguments.drain(..).map(Expr::Term).collect();
    Some((target, Expr::Float(operation, span, operands)))
}

/// The same of a builtin for integers, also of a guard.
pub(super) fn integers(key: Key, arguments: &mut Vec<Term>, span: Span) -> Option<(Term, Expr)> {
    let arity = arguments.len();
    let operation = named_int_operation(key, arity);
    if operation.is_none() && !(key == Key::FloatingPointToInteger && arity == 2) {
        return None;
    }
    let result = arguments.pop().unwrap_or(Term { span, kind: TermKind::Atom(NIL) });
    let mut operands: Vec<Expr> = arguments.drain(..).map(Expr::Term).collect();
    let expression = match operation {
        None => Expr::Float("int", span, operands),
        Some(IntOp::Add) if arity == 2 => match operands.pop() {
            Some(operand) => plus(operand, span),
            None => return None,
        },
        Some(operation) => Expr::Int(operation, span, operands),
    };
    Some((result, expression))
}

/// Methods of class float that have a builtin `floating_point_..`, with its arity.
const FLOAT_BUILTINS: &[(&str, usize)] = &[
    ("add", 3),
    ("subtract", 3),
    ("multiply", 3),
    ("divide", 3),
    ("pow", 3),
    ("sin", 2),
    ("cos", 2),
    ("tan", 2),
    ("asin", 2),
    ("acos", 2),
    ("atan", 2),
    ("sinh", 2),
    ("cosh", 2),
    ("tanh", 2),
    ("exp", 2),
    ("log", 2),
    ("sqrt", 2),
    ("ceil", 2),
    ("floor", 2),
];

/// The integer operation that a builtin's name stands for: `add/3` has two operands and a result.
fn named_int_operation(key: Key, arity: usize) -> Option<IntOp> {
    use Key::*;
    Some(match (key, arity) {
        (Add, 3) | (PlusName, 2) => IntOp::Add,
        (Subtract, 3) => IntOp::Sub,
        (Multiply, 3) => IntOp::Mul,
        (DivideName, 3) => IntOp::Div,
        (Modulo, 3) => IntOp::Mod,
        (And, 3) => IntOp::And,
        (Or, 3) => IntOp::Or,
        (ExclusiveOr, 3) => IntOp::Xor,
        (ShiftLeft, 3) => IntOp::Shl,
        (ShiftRight, 3) => IntOp::Shr,
        (Complement, 2) => IntOp::Not,
        (MinusName, 2) => IntOp::Neg,
        _ => return None,
    })
}

/// `+X`.
pub(super) fn plus(operand: Expr, span: Span) -> Expr {
    match operand {
        Expr::Term(term @ Term { kind: TermKind::Int(_) | TermKind::BigInt(_), .. }) => Expr::Term(term),
        operand => {
            let zero = Expr::Term(Term { span, kind: TermKind::Int(0) });
            Expr::Int(IntOp::Add, span, vec![zero, operand])
        }
    }
}

/// The goal `target := expression`. Something that is neither a number nor an expression is unified (the warning is
/// given where it was read).
pub(super) fn assignment(target: Term, expression: Expr) -> GoalKind {
    match expression {
        Expr::Term(term) if !is_integer_operand(&term) => GoalKind::Unify(target, term),
        expression => GoalKind::Assign(target, expression),
    }
}

/// May be an operand of integer arithmetic.
fn is_integer_operand(term: &Term) -> bool {
    matches!(term.kind, TermKind::Var(_) | TermKind::Int(_) | TermKind::BigInt(_))
}
