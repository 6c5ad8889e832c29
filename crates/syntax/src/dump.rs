//! Programs as text, for `--dump` and for tests. Made-up variables show as `$n`.

use crate::program::{
    Call, Clause, Expr, Goal, GoalKind, Guard, GuardKind, Pragma, Program, Separator, Term, TermKind, VarId,
};
use std::fmt::Write;
use term::abi::{Cond, IntOp};
use term::{Atom, AtomTable};

/// The whole program.
pub fn dump_program(program: &Program, atoms: &AtomTable) -> String {
    let mut text = String::new();
    for module in &program.modules {
        line(&mut text, format_args!(":- module {}.", atoms.name(module.name)));
        for predicate in &module.predicates {
            let marks = match (predicate.auxiliary, predicate.daemon) {
                (true, _) => " auxiliary",
                (_, true) => " daemon",
                _ => "",
            };
            let name = atoms.name(predicate.name);
            line(&mut text, format_args!("% {name}/{}{marks}", predicate.arity));
            for clause in &predicate.clauses {
                match clause.separator {
                    Separator::None => {}
                    Separator::Otherwise => text.push_str("otherwise.\n"),
                    Separator::Alternatively => text.push_str("alternatively.\n"),
                }
                line(&mut text, format_args!("{}", dump_clause(&name, clause, atoms)));
            }
        }
    }
    text
}

fn line(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments).expect("writing to a string succeeds");
    text.push('\n');
}

/// One clause.
pub fn dump_clause(name: &str, clause: &Clause, atoms: &AtomTable) -> String {
    let dumper = Dumper { clause, atoms };
    let head = dumper.call(name, &clause.head);
    let join = |parts: Vec<String>| if parts.is_empty() { "true".to_string() } else { parts.join(", ") };
    let guard = join(clause.guard.iter().map(|g| dumper.guard(g)).collect());
    let body = join(clause.body.iter().map(|g| dumper.goal(g)).collect());
    format!("{head} :- {guard} | {body}.")
}

struct Dumper<'a> {
    clause: &'a Clause,
    atoms: &'a AtomTable,
}

impl Dumper<'_> {
    fn atom(&self, atom: Atom) -> String {
        self.atoms.name(atom).into_owned()
    }
    fn variable(&self, id: VarId) -> String {
        let name = &self.clause.variables[id.0 as usize].name;
        if name == "_" { format!("_{}", id.0) } else { name.clone() }
    }
    fn call(&self, name: &str, arguments: &[Term]) -> String {
        if arguments.is_empty() { name.to_string() } else { format!("{name}({})", self.terms(arguments)) }
    }
    fn terms(&self, terms: &[Term]) -> String {
        terms.iter().map(|t| self.term(t)).collect::<Vec<_>>().join(",")
    }
    fn term(&self, term: &Term) -> String {
        match &term.kind {
            TermKind::Var(id) => self.variable(*id),
            TermKind::Int(value) => value.to_string(),
            TermKind::BigInt(value) => value.to_string(),
            TermKind::Float(value) => format!("{value:?}"),
            TermKind::Atom(atom) => self.atom(*atom),
            TermKind::String(bytes) => format!("{:?}", String::from_utf8_lossy(bytes)),
            TermKind::List(items, None) => format!("[{}]", self.terms(items)),
            TermKind::List(items, Some(tail)) => format!("[{}|{}]", self.terms(items), self.term(tail)),
            TermKind::Struct(name, arguments) => self.call(&self.atom(*name), arguments),
            TermKind::Vector(items) => format!("{{{}}}", self.terms(items)),
            TermKind::Predicate(m, p, n) => format!("predicate#({}:{}/{n})", self.atom(*m), self.atom(*p)),
            TermKind::Module(m) => format!("module#{}", self.atom(*m)),
        }
    }
    fn expression(&self, expression: &Expr) -> String {
        match expression {
            Expr::Term(term) => self.term(term),
            Expr::Int(operation, _, operands) => self.operation(int_name(*operation), operands),
            Expr::Float(method, _, operands) => self.operation(&format!("float:{method}"), operands),
        }
    }
    fn operation(&self, name: &str, operands: &[Expr]) -> String {
        let operands: Vec<String> = operands.iter().map(|e| self.expression(e)).collect();
        format!("{name}({})", operands.join(","))
    }
    fn guard(&self, guard: &Guard) -> String {
        match &guard.kind {
            GuardKind::Unify(left, right) => format!("{} = {}", self.term(left), self.term(right)),
            GuardKind::Compare(cond, left, right) => {
                format!("{} {} {}", self.expression(left), cond_name(*cond), self.expression(right))
            }
            GuardKind::Assign(target, value) => {
                format!("{} := {}", self.term(target), self.expression(value))
            }
            GuardKind::Call(name, arguments) => self.call(&self.atom(*name), arguments),
            GuardKind::Method(name, inputs, outputs) => {
                let outputs: String = outputs.iter().map(|t| format!(":{}", self.term(t))).collect();
                format!("generic:{}{outputs}", self.call(&self.atom(*name), inputs))
            }
        }
    }
    fn goal(&self, goal: &Goal) -> String {
        match &goal.kind {
            GoalKind::Unify(left, right) => format!("{} = {}", self.term(left), self.term(right)),
            GoalKind::Assign(target, value) => format!("{} := {}", self.term(target), self.expression(value)),
            GoalKind::Call(Call { module, name, arguments, pragmas }) => {
                let module = module.map(|m| format!("{}:", self.atom(m))).unwrap_or_default();
                let pragmas: String = pragmas.iter().map(|p| self.pragma(p)).collect();
                format!("{module}{}{pragmas}", self.call(&self.atom(*name), arguments))
            }
        }
    }
    fn pragma(&self, pragma: &Pragma) -> String {
        match pragma {
            Pragma::Priority(term) => format!("@priority({})", self.term(term)),
            Pragma::LowerPriority(term) => format!("@lower_priority({})", self.term(term)),
            Pragma::Node(term) => format!("@node({})", self.term(term)),
        }
    }
}

fn int_name(operation: IntOp) -> &'static str {
    match operation {
        IntOp::Add => "+",
        IntOp::Sub => "-",
        IntOp::Mul => "*",
        IntOp::Div => "/",
        IntOp::Mod => "mod",
        IntOp::And => "/\\",
        IntOp::Or => "\\/",
        IntOp::Xor => "xor",
        IntOp::Shl => "<<",
        IntOp::Shr => ">>",
        IntOp::Neg => "neg",
        IntOp::Not => "\\",
    }
}

fn cond_name(cond: Cond) -> &'static str {
    match cond {
        Cond::Lt => "<",
        Cond::Le => "=<",
        Cond::Gt => ">",
        Cond::Ge => ">=",
        Cond::Eq => "=:=",
        Cond::Ne => "=\\=",
    }
}
