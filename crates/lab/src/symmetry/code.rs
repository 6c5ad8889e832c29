//! Parsed clauses as the machine runs them: match the head, test the guard, build the body. Nothing is compiled away:
//! each term of a body is built each time.

use super::memory::Word;
use std::collections::BTreeMap;
use syntax::program::{Clause as Parsed, Expr as ParsedExpr, GoalKind, GuardKind, Separator, Term, TermKind};
use syntax::source::SourceMap;
use term::abi::{Cond, IntOp};
use term::{Atom, AtomTable};

/// A program.
pub(super) struct Code {
    pub(super) predicates: Vec<Predicate>,
    numbers: BTreeMap<(String, usize), u32>,
}

/// A predicate.
pub(super) struct Predicate {
    pub(super) name: String,
    pub(super) arity: usize,
    pub(super) clauses: Vec<Clause>,
}

/// A clause.
pub(super) struct Clause {
    /// All clauses before it must have failed.
    pub(super) otherwise: bool,
    pub(super) variables: usize,
    pub(super) head: Vec<Shape>,
    /// Parts of the head that are no variables.
    pub(super) strict: Vec<usize>,
    pub(super) guard: Vec<Test>,
    /// Values that are computed come first, then unifications, then goals, each in textual order.
    pub(super) body: Vec<Action>,
}

/// A term of a clause.
pub(super) enum Shape {
    Variable(usize),
    Constant(Word),
    List(Box<[Shape; 2]>),
    /// A functor's name is the first element.
    Vector(Vec<Shape>),
}

/// An integer expression.
pub(super) enum Value {
    Variable(usize),
    Constant(i64),
    Of(IntOp, Vec<Value>),
}

/// A goal of a guard.
pub(super) enum Test {
    Compare(Cond, Value, Value),
    Integer(usize),
    Bound(usize),
    /// The variable is new.
    Compute(usize, Value),
    /// An element of a vector; the variable is new.
    Element(Shape, Shape, usize),
}

/// A goal of a body.
pub(super) enum Action {
    Compute(Shape, Value),
    Unify(Shape, Shape),
    /// A copy of a vector with another element: vector, index, element, result.
    Replace(Box<[Shape; 4]>),
    Goal(u32, Vec<Shape>),
}

impl Code {
    /// Reads a module. The error says which part of the language the machine has not.
    pub(super) fn read(text: &str) -> Result<Code, String> {
        let (mut sources, atoms) = (SourceMap::default(), AtomTable::new());
        let file = sources.add("program".into(), text.as_bytes().to_vec());
        let (program, diagnostics) = syntax::read_program(&sources, &[file], &atoms);
        let parsed = match (&program.modules[..], diagnostics.first()) {
            ([module], None) => &module.predicates,
            (_, Some(wrong)) => return Err(format!("{wrong:?}")),
            _ => return Err("a program is one module".into()),
        };
        let name = |atom: Atom| atoms.name(atom).into_owned();
        let numbered = (0..).zip(parsed).map(|(n, parsed)| ((name(parsed.name), parsed.arity), n));
        let mut code = Code { predicates: Vec::new(), numbers: numbered.collect() };
        for predicate in parsed {
            let clauses =
                predicate.clauses.iter().map(|clause| Reader { code: &code, atoms: &atoms }.clause(clause));
            let clauses = clauses.collect::<Result<_, _>>();
            let clauses =
                clauses.map_err(|wrong| format!("{}/{}: {wrong}", name(predicate.name), predicate.arity))?;
            code.predicates.push(Predicate { name: name(predicate.name), arity: predicate.arity, clauses });
        }
        Ok(code)
    }
    /// A predicate's number.
    pub(super) fn number(&self, name: &str, arity: usize) -> Option<u32> {
        self.numbers.get(&(name.to_string(), arity)).copied()
    }
}

struct Reader<'a> {
    code: &'a Code,
    atoms: &'a AtomTable,
}

impl Reader<'_> {
    fn clause(&self, parsed: &Parsed) -> Result<Clause, String> {
        let otherwise = match parsed.separator {
            Separator::None => false,
            Separator::Otherwise => true,
            Separator::Alternatively => return Err("`alternatively` is not a part of the machine".into()),
        };
        let head = parsed.head.iter().map(|term| self.shape(term)).collect::<Result<Vec<_>, _>>()?;
        let strict = (0..head.len()).filter(|&part| !matches!(head[part], Shape::Variable(_))).collect();
        let guard = parsed.guard.iter().map(|goal| self.test(&goal.kind)).collect::<Result<_, _>>()?;
        let mut body =
            parsed.body.iter().map(|goal| self.action(&goal.kind)).collect::<Result<Vec<_>, _>>()?;
        body.sort_by_key(|action| match action {
            Action::Compute(..) => 0,
            Action::Replace(_) => 1,
            Action::Unify(..) => 2,
            Action::Goal(..) => 3,
        });
        Ok(Clause { otherwise, variables: parsed.variables.len(), head, strict, guard, body })
    }

    fn shape(&self, term: &Term) -> Result<Shape, String> {
        Ok(match &term.kind {
            TermKind::Var(variable) => Shape::Variable(variable.0 as usize),
            TermKind::Int(value) => Shape::Constant(Word::Int(*value)),
            TermKind::Atom(atom) => Shape::Constant(Word::Atom(*atom)),
            TermKind::List(items, tail) => {
                let tail = match tail {
                    Some(tail) => self.shape(tail)?,
                    None => Shape::Constant(Word::Atom(term::symbol::NIL)),
                };
                let items = items.iter().map(|item| self.shape(item)).collect::<Result<Vec<_>, _>>()?;
                items.into_iter().rev().fold(tail, |tail, item| Shape::List(Box::new([item, tail])))
            }
            TermKind::Struct(name, parts) => {
                let parts = parts.iter().map(|part| self.shape(part)).collect::<Result<Vec<_>, _>>()?;
                let name = Shape::Constant(Word::Atom(*name));
                Shape::Vector(std::iter::once(name).chain(parts).collect())
            }
            TermKind::Vector(parts) if !parts.is_empty() => {
                Shape::Vector(parts.iter().map(|part| self.shape(part)).collect::<Result<_, _>>()?)
            }
            other => return Err(format!("the machine has no such term: {other:?}")),
        })
    }

    fn test(&self, goal: &GuardKind) -> Result<Test, String> {
        let variable = |term: &Term| match term.kind {
            TermKind::Var(variable) => Ok(variable.0 as usize),
            _ => Err("this argument must be a variable".to_string()),
        };
        Ok(match goal {
            GuardKind::Compare(condition, left, right) => {
                Test::Compare(*condition, self.value(left)?, self.value(right)?)
            }
            GuardKind::Assign(term, value) => Test::Compute(variable(term)?, self.value(value)?),
            GuardKind::Call(name, arguments) => match (&*self.atoms.name(*name), &arguments[..]) {
                ("integer", [term]) => Test::Integer(variable(term)?),
                ("wait", [term]) => Test::Bound(variable(term)?),
                ("vector_element", [vector, index, element]) => {
                    Test::Element(self.shape(vector)?, self.shape(index)?, variable(element)?)
                }
                (name, _) => return Err(format!("the machine has no guard {name}")),
            },
            other => return Err(format!("the machine has no such guard: {other:?}")),
        })
    }

    fn value(&self, value: &ParsedExpr) -> Result<Value, String> {
        Ok(match value {
            ParsedExpr::Term(term) => match self.shape(term)? {
                Shape::Variable(variable) => Value::Variable(variable),
                Shape::Constant(Word::Int(value)) => Value::Constant(value),
                _ => return Err("an expression is of integers".into()),
            },
            ParsedExpr::Int(operation, _, operands) => {
                Value::Of(*operation, operands.iter().map(|part| self.value(part)).collect::<Result<_, _>>()?)
            }
            ParsedExpr::Float(..) => return Err("the machine has no floats".into()),
        })
    }

    fn action(&self, goal: &GoalKind) -> Result<Action, String> {
        Ok(match goal {
            GoalKind::Unify(left, right) => Action::Unify(self.shape(left)?, self.shape(right)?),
            GoalKind::Assign(term, value) => Action::Compute(self.shape(term)?, self.value(value)?),
            GoalKind::Call(call) => {
                let name = self.atoms.name(call.name);
                let parts =
                    call.arguments.iter().map(|part| self.shape(part)).collect::<Result<Vec<_>, _>>()?;
                match (&*name, parts) {
                    ("set_vector_element", parts) if parts.len() == 4 => {
                        Action::Replace(Box::new(parts.try_into().map_err(|_| "it has four arguments")?))
                    }
                    (name, parts) => match self.code.number(name, parts.len()) {
                        Some(number) => Action::Goal(number, parts),
                        None => return Err(format!("there is no {name}/{}", parts.len())),
                    },
                }
            }
        })
    }
}
