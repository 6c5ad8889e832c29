//! What a clause does with each of its variables.

use syntax::program::{Clause, Expr, GoalKind, GuardKind, Term, TermKind, VarId};
use syntax::source::Span;
use term::AtomTable;

/// What a clause does with a variable: the first place of each.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Uses {
    /// It is compared or computed with as an integer.
    pub(super) integer: Option<Span>,
    /// That is more than a test of its type.
    pub(super) counts: bool,
    /// As a float.
    pub(super) float: Option<Span>,
    /// It gets an integer.
    pub(super) made_integer: Option<Span>,
    /// It gets a float.
    pub(super) made_float: Option<Span>,
    /// It gets a term that looks like an expression.
    pub(super) term: Option<Span>,
    /// It is looked into as a structure, list or vector.
    pub(super) taken_apart: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Sort {
    Integer,
    Float,
}

struct Reader<'a> {
    atoms: &'a AtomTable,
    uses: Vec<Uses>,
}

/// The uses of a clause's variables.
pub(super) fn uses(clause: &Clause, atoms: &AtomTable) -> Vec<Uses> {
    let mut reader = Reader { atoms, uses: vec![Uses::default(); clause.variables.len()] };
    for guard in &clause.guard {
        match &guard.kind {
            GuardKind::Compare(_, a, b) => [a, b].into_iter().for_each(|e| reader.operand(e, Sort::Integer)),
            GuardKind::Assign(target, value) => reader.assigned(target, value),
            GuardKind::Unify(a, b) => {
                reader.unified(a, b, false);
                reader.unified(b, a, false);
            }
            GuardKind::Call(name, terms) => reader.guard(atoms.text(*name), terms),
            GuardKind::Method(name, inputs, _) => {
                const COMPARISONS: [&[u8]; 6] = [
                    b"less_than",
                    b"not_less_than",
                    b"greater_than",
                    b"not_greater_than",
                    b"equal",
                    b"not_equal",
                ];
                if COMPARISONS.contains(&atoms.text(*name)) {
                    inputs.iter().for_each(|term| reader.used(term, Sort::Float));
                }
            }
        }
    }
    for goal in &clause.body {
        match &goal.kind {
            GoalKind::Assign(target, value) => reader.assigned(target, value),
            GoalKind::Unify(a, b) => {
                reader.unified(a, b, true);
                reader.unified(b, a, true);
            }
            GoalKind::Call(call) => reader.looked_into(atoms.text(call.name), &call.arguments),
        }
    }
    reader.uses
}

/// `A + B` and the like, as a term.
pub(super) fn is_expression(term: &Term, atoms: &AtomTable) -> bool {
    let TermKind::Struct(name, parts) = &term.kind else { return false };
    match parts.len() {
        1 => *atoms.text(*name) == *b"-",
        2 => matches!(
            atoms.text(*name),
            b"+" | b"-" | b"*" | b"/" | b"mod" | b"<<" | b">>" | b"/\\" | b"\\/" | b"xor"
        ),
        _ => false,
    }
}

/// The variable that a term is.
pub(super) fn variable(term: &Term) -> Option<VarId> {
    match term.kind {
        TermKind::Var(variable) => Some(variable),
        _ => None,
    }
}

impl Reader<'_> {
    fn of(&mut self, variable: VarId) -> &mut Uses {
        &mut self.uses[variable.0 as usize]
    }

    fn used(&mut self, term: &Term, sort: Sort) {
        if let Some(variable) = variable(term) {
            let uses = self.of(variable);
            let place = if sort == Sort::Integer { &mut uses.integer } else { &mut uses.float };
            place.get_or_insert(term.span);
        }
    }

    fn operand(&mut self, expression: &Expr, sort: Sort) {
        match expression {
            Expr::Term(term) => {
                self.used(term, sort);
                if let Some(variable) = variable(term) {
                    self.of(variable).counts |= sort == Sort::Integer;
                }
            }
            Expr::Int(_, _, operands) => operands.iter().for_each(|e| self.operand(e, Sort::Integer)),
            Expr::Float("float", _, operands) => {
                operands.iter().for_each(|e| self.operand(e, Sort::Integer));
            }
            Expr::Float(_, _, operands) => operands.iter().for_each(|e| self.operand(e, Sort::Float)),
        }
    }

    fn assigned(&mut self, target: &Term, value: &Expr) {
        let sort = match value {
            // A number is one of its sort; a variable is handed on.
            Expr::Term(term) => return self.unified(target, term, true),
            Expr::Int(..) | Expr::Float("int", ..) => Sort::Integer,
            Expr::Float(..) => Sort::Float,
        };
        self.operand(value, sort);
        self.made(target, sort);
    }

    fn made(&mut self, target: &Term, sort: Sort) {
        if let Some(variable) = variable(target) {
            let uses = self.of(variable);
            let place = if sort == Sort::Integer { &mut uses.made_integer } else { &mut uses.made_float };
            place.get_or_insert(target.span);
        }
    }

    fn unified(&mut self, target: &Term, value: &Term, in_body: bool) {
        let expression = in_body && is_expression(value, self.atoms);
        match &value.kind {
            TermKind::Int(_) | TermKind::BigInt(_) => self.made(target, Sort::Integer),
            TermKind::Float(_) => self.made(target, Sort::Float),
            TermKind::Struct(..) | TermKind::List(..) | TermKind::Vector(_) => {
                if let Some(variable) = variable(target) {
                    let uses = self.of(variable);
                    uses.taken_apart = true;
                    if expression {
                        uses.term.get_or_insert(value.span);
                    }
                }
            }
            _ => {}
        }
    }

    fn guard(&mut self, name: &[u8], terms: &[Term]) {
        match (name, terms) {
            (b"integer", [term]) => self.used(term, Sort::Integer),
            (b"float", [term]) => self.used(term, Sort::Float),
            _ => self.looked_into(name, terms),
        }
    }

    fn looked_into(&mut self, name: &[u8], terms: &[Term]) {
        if !matches!(
            name,
            b"functor" | b"arg" | b"setarg" | b"=.." | b"list" | b"vector" | b"atom" | b"string"
        ) {
            return;
        }
        for variable in terms.iter().filter_map(variable) {
            self.of(variable).taken_apart = true;
        }
    }
}
