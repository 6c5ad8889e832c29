//! The passive part of a clause (head and guard) as a sequence of tests on values.
//!
//! Tests stand in textual order, each after the tests that make its values loadable. A clause commits when all of
//! them succeed; the first that fails or blocks decides otherwise.

use crate::ir::{Constant, Pattern};
use crate::program::constants::{Pool, ground};
use crate::program::names::Names;
use crate::program::values::{Atomic, Origin, Shape, Table, Test, TestId, ValueId};
use std::rc::Rc;
use syntax::diagnostic::Diagnostic;
use syntax::program::{Clause, Expr, Guard, GuardKind, Term, TermKind, VarId};
use syntax::source::{SourceMap, Span};
use term::abi::{Cond, IntOp};
use term::layout::{BIGINT, FLOAT, MODULE, PREDICATE, STRING, VECTOR};
use term::{Atom, AtomTable};

/// A clause's passive part.
#[derive(Clone, Debug)]
pub(crate) struct Passive {
    /// In order.
    pub(crate) tests: Rc<[TestId]>,
    /// What the clause's variables are; `None`: first occurrence in the body.
    pub(crate) variables: Vec<Option<Atomic>>,
    /// The clause can never commit.
    pub(crate) never: bool,
}

/// What a compilation of passive parts needs.
pub(crate) struct Context<'c, 'a> {
    pub(crate) names: &'c Names<'a>,
    pub(crate) sources: &'c SourceMap,
    pub(crate) pool: &'c mut Pool,
    pub(crate) atoms: &'c AtomTable,
    pub(crate) diagnostics: &'c mut Vec<Diagnostic>,
}

struct Builder<'b, 'c, 'a> {
    context: &'b mut Context<'c, 'a>,
    clause: &'b Clause,
    table: &'b mut Table,
    tests: Vec<TestId>,
    variables: Vec<Option<Atomic>>,
    never: bool,
}

/// The tests of a clause.
pub(crate) fn passive(context: &mut Context<'_, '_>, clause: &Clause, table: &mut Table) -> Passive {
    let mut builder = Builder {
        context,
        clause,
        table,
        tests: Vec::new(),
        variables: vec![None; clause.variables.len()],
        never: false,
    };
    for (position, term) in clause.head.iter().enumerate() {
        let value = builder.table.value(Origin::Parameter(position as u32));
        builder.pattern(term, Atomic::Value(value));
    }
    for guard in &clause.guard {
        builder.guard(guard);
    }
    let mut tests: Vec<TestId> = Vec::with_capacity(builder.tests.len());
    let mut seen = rustc_hash::FxHashSet::default();
    tests.extend(builder.tests.iter().filter(|test| seen.insert(**test)));
    Passive { tests: tests.into(), variables: builder.variables, never: builder.never }
}

impl Builder<'_, '_, '_> {
    fn push(&mut self, test: Test) -> TestId {
        let id = self.table.test(test);
        self.tests.push(id);
        id
    }
    fn known(&self, variable: VarId) -> Option<Atomic> {
        self.variables[variable.0 as usize]
    }
    fn name(&self, variable: VarId) -> &str {
        &self.clause.variables[variable.0 as usize].name
    }
    fn never(&mut self, span: Span, why: String) {
        self.never_but(span, why, None);
    }
    /// The same, with a spelling that works.
    fn never_but(&mut self, span: Span, why: String, help: Option<&str>) {
        if !self.never {
            let mut warning = Diagnostic::warning("clause-never-commits", span, why)
                .label("this can never succeed")
                .note("a clause whose guard can never succeed is never chosen; its predicate goes on without it");
            warning.help = help.map(str::to_string);
            self.context.diagnostics.push(warning);
        }
        self.never = true;
    }
    /// A term without variables as an operand.
    fn constant(&mut self, term: &Term) -> Option<Atomic> {
        match term.kind {
            TermKind::Int(value) => return Some(Atomic::Int(value)),
            TermKind::Atom(atom) => return Some(Atomic::Atom(atom)),
            _ => {}
        }
        let constant = ground(term, self.context.names)?;
        Some(Atomic::Constant(self.context.pool.intern(constant)))
    }
    fn shape(&mut self, value: Atomic, shape: Shape, span: Span) {
        match value {
            Atomic::Value(value) => {
                self.push(Test::Shape(value, shape));
            }
            other => {
                if self.constant_has(other, shape) == Some(false) {
                    self.never(span, "a constant is tested for something that it is not".into());
                }
            }
        }
    }
    fn constant_has(&self, value: Atomic, shape: Shape) -> Option<bool> {
        let pattern = match value {
            Atomic::Value(_) | Atomic::Column { .. } => return None,
            Atomic::Int(value) => Pattern::Int(value),
            Atomic::Atom(atom) => Pattern::Atom(atom),
            Atomic::Constant(id) => self.context.pool.pattern(id)?,
        };
        crate::program::values::Fact::Like(pattern).decides(shape)
    }
    /// Tests that `value` is like `term`, and names the term's new variables.
    fn pattern(&mut self, term: &Term, value: Atomic) {
        let Atomic::Value(id) = value else {
            return self.constant_pattern(term, value);
        };
        let is = |pattern| Shape::Is(pattern);
        match &term.kind {
            TermKind::Var(variable) => match self.known(*variable) {
                None => self.variables[variable.0 as usize] = Some(value),
                Some(known) => self.equal(known, value, term.span),
            },
            TermKind::Int(int) => self.shape(value, is(Pattern::Int(*int)), term.span),
            TermKind::Atom(atom) => self.shape(value, is(Pattern::Atom(*atom)), term.span),
            TermKind::List(items, tail) => self.list_pattern(items, tail.as_deref(), id, term.span),
            TermKind::Struct(name, arguments) => {
                self.shape(value, is(Pattern::Struct(*name, arguments.len() as u32)), term.span);
                for (index, argument) in arguments.iter().enumerate() {
                    let part = self.table.value(Origin::Argument(id, index as u32));
                    self.pattern(argument, Atomic::Value(part));
                }
            }
            TermKind::Vector(elements) => self.vector_pattern(elements, id, term.span),
            TermKind::BigInt(_) => self.object_pattern(term, value, BIGINT.0),
            TermKind::Float(_) => self.object_pattern(term, value, FLOAT.0),
            TermKind::String(_) => self.object_pattern(term, value, STRING.0),
            TermKind::Predicate(..) => self.object_pattern(term, value, PREDICATE.0),
            TermKind::Module(_) => self.object_pattern(term, value, MODULE.0),
        }
    }
    fn list_pattern(&mut self, items: &[Term], tail: Option<&Term>, mut value: ValueId, span: Span) {
        for item in items {
            self.push(Test::Shape(value, Shape::Is(Pattern::Cons)));
            let car = self.table.value(Origin::Car(value));
            self.pattern(item, Atomic::Value(car));
            value = self.table.value(Origin::Cdr(value));
        }
        match tail {
            Some(tail) => self.pattern(tail, Atomic::Value(value)),
            None => self.shape(Atomic::Value(value), Shape::Is(Pattern::Atom(term::symbol::NIL)), span),
        }
    }
    fn object_pattern(&mut self, term: &Term, value: Atomic, class: u8) {
        self.shape(value, Shape::Is(Pattern::Object(class)), term.span);
        if let Some(constant) = self.constant(term) {
            self.equal(value, constant, term.span);
        }
    }
    fn vector_pattern(&mut self, elements: &[Term], value: ValueId, span: Span) {
        self.push(Test::Shape(value, Shape::Is(Pattern::Object(VECTOR.0))));
        let size = elements.len() as i64;
        if let Some(size_value) = self.output("vector", &[Atomic::Value(value)], span) {
            self.shape(Atomic::Value(size_value), Shape::Is(Pattern::Int(size)), span);
        }
        for (index, element) in elements.iter().enumerate() {
            if matches!(element.kind, TermKind::Var(v) if self.is_void(v)) {
                continue;
            }
            let operands = [Atomic::Value(value), Atomic::Int(index as i64)];
            if let Some(part) = self.output("vector_element", &operands, span) {
                self.pattern(element, Atomic::Value(part));
            }
        }
    }
    /// An anonymous variable: nothing else can mention it.
    fn is_void(&self, variable: VarId) -> bool {
        self.name(variable) == "_"
    }
    /// The one output of a guard builtin that the compiler itself needs.
    fn output(&mut self, name: &str, inputs: &[Atomic], span: Span) -> Option<ValueId> {
        let id = self.builtin(name, inputs.len() + 1, span)?;
        let test = self.push(Test::Call(id, inputs.to_vec(), 1));
        Some(self.table.value(Origin::Output(test, 0)))
    }
    fn builtin(&mut self, name: &str, arity: usize, span: Span) -> Option<term::abi::PredicateId> {
        let found =
            self.context.atoms.lookup(name.as_bytes()).and_then(|name| self.context.names.guard(name, arity));
        if found.is_none() {
            self.context.diagnostics.push(
                Diagnostic::error(
                    "unknown-guard",
                    span,
                    format!("this needs the guard builtin {name}/{arity}"),
                )
                .note("the runtime that this compiler was given does not have it"),
            );
        }
        found.map(|found| found.0)
    }
    /// A pattern against a constant.
    fn constant_pattern(&mut self, term: &Term, value: Atomic) {
        if let TermKind::Var(variable) = term.kind {
            match self.known(variable) {
                None => self.variables[variable.0 as usize] = Some(value),
                Some(known) => self.equal(known, value, term.span),
            }
            return;
        }
        match self.constant(term) {
            Some(constant) => self.equal(constant, value, term.span),
            // Only the parts of ground structures would be left: nobody writes that.
            None => self.structure_in_guard(term),
        }
    }
    /// Deep equality.
    fn equal(&mut self, a: Atomic, b: Atomic, span: Span) {
        if a == b && !matches!(a, Atomic::Value(_)) {
            return;
        }
        match (a, b) {
            (Atomic::Value(_), Atomic::Int(value)) => self.shape(a, Shape::Is(Pattern::Int(value)), span),
            (Atomic::Value(_), Atomic::Atom(atom)) => self.shape(a, Shape::Is(Pattern::Atom(atom)), span),
            (Atomic::Int(_) | Atomic::Atom(_), Atomic::Value(_)) => self.equal(b, a, span),
            (Atomic::Value(_), _) | (_, Atomic::Value(_)) => {
                let (a, b) = if a <= b { (a, b) } else { (b, a) };
                if let Some(id) = self.builtin("equal_terms", 2, span) {
                    self.push(Test::Call(id, vec![a, b], 0));
                }
            }
            _ => self.never(span, "two different constants are never equal".into()),
        }
    }
    fn structure_in_guard(&mut self, term: &Term) {
        self.context.diagnostics.push(
            Diagnostic::error("structure-in-guard", term.span, "a guard cannot build a structure")
                .label("this is a structure with variables in it")
                .note("guards only look at what the goal's arguments are")
                .help("build it in the body"),
        );
        self.never = true;
    }
    fn guard(&mut self, guard: &Guard) {
        match &guard.kind {
            GuardKind::Unify(a, b) => self.unify(a, b),
            GuardKind::Compare(cond, a, b) => {
                let (Some(a), Some(b)) = (self.expression(a), self.expression(b)) else { return };
                self.compare(*cond, a, b, guard.span);
            }
            GuardKind::Assign(target, expr) => {
                let Some(value) = self.expression(expr) else { return };
                self.assign(target, value);
            }
            GuardKind::Call(name, arguments) => self.call(*name, arguments, guard.span),
            GuardKind::Method(name, inputs, outputs) => {
                let arity = inputs.len() + outputs.len();
                match self.context.names.guard_method(*name, arity) {
                    Some((id, builtin)) => {
                        let arguments: Vec<&Term> = inputs.iter().chain(outputs).collect();
                        self.invoke(id, &builtin.modes, &arguments);
                    }
                    None => self.unknown_guard(*name, arity, guard.span),
                }
            }
        }
    }
    fn unify(&mut self, a: &Term, b: &Term) {
        let left = self.operand(a);
        let right = self.operand(b);
        match (left, right) {
            (Some(value), _) => self.pattern(b, value),
            (None, Some(value)) => self.pattern(a, value),
            (None, None) => match (&a.kind, &b.kind) {
                (TermKind::Var(_), TermKind::Var(variable)) => {
                    let name = self.name(*variable).to_string();
                    self.unbound(b.span, &name);
                }
                (TermKind::Var(_), _) => self.structure_in_guard(b),
                (_, TermKind::Var(_)) => self.structure_in_guard(a),
                _ => self.unify_structures(a, b),
            },
        }
    }
    /// Both sides are written out: the parts are unified.
    fn unify_structures(&mut self, a: &Term, b: &Term) {
        match (&a.kind, &b.kind) {
            (TermKind::Struct(f, xs), TermKind::Struct(g, ys)) if f == g && xs.len() == ys.len() => {
                xs.iter().zip(ys).for_each(|(x, y)| self.unify(x, y));
            }
            (TermKind::Vector(xs), TermKind::Vector(ys)) if xs.len() == ys.len() => {
                xs.iter().zip(ys).for_each(|(x, y)| self.unify(x, y));
            }
            (TermKind::List(xs, None), TermKind::List(ys, None)) if xs.len() == ys.len() => {
                xs.iter().zip(ys).for_each(|(x, y)| self.unify(x, y));
            }
            (TermKind::List(..), TermKind::List(..)) => self.structure_in_guard(b),
            _ => self.never(a.span, "two different structures are never equal".into()),
        }
    }
    /// A term that needs no building: a known variable or something ground.
    fn operand(&mut self, term: &Term) -> Option<Atomic> {
        match term.kind {
            TermKind::Var(variable) => self.known(variable),
            _ => self.constant(term),
        }
    }
    /// An input variable that nothing binds.
    fn unbound(&mut self, span: Span, name: &str) {
        self.never(span, format!("nothing gives {name} a value before this guard"));
    }
    fn expression(&mut self, expr: &Expr) -> Option<Atomic> {
        match expr {
            Expr::Term(term) => {
                let value = match self.operand(term) {
                    Some(value) => value,
                    None => {
                        let name = match term.kind {
                            TermKind::Var(variable) => self.name(variable).to_string(),
                            _ => "a structure".into(),
                        };
                        self.unbound(term.span, &name);
                        return None;
                    }
                };
                if self.constant_has(value, Shape::Integer) == Some(false) {
                    let help = matches!(term.kind, TermKind::Float(_)).then_some(FLOAT_COMPARISONS);
                    self.never_but(term.span, "only integers can be compared and computed with".into(), help);
                    return None;
                }
                self.integer(value, term.span);
                Some(value)
            }
            Expr::Int(op, span, operands) => {
                let a = self.expression(operands.first()?)?;
                let b = match operands.get(1) {
                    Some(operand) => self.expression(operand)?,
                    None => Atomic::Int(0),
                };
                if let Some(value) = crate::program::arithmetic::fold_atomic(*op, a, b) {
                    return Some(value);
                }
                if matches!(op, IntOp::Div | IntOp::Mod) && b == Atomic::Int(0) {
                    self.never(*span, "division by zero makes a guard fail".into());
                    return None;
                }
                let value = self.table.value(Origin::Arith(*op, a, b));
                self.push(Test::Eval(value));
                Some(Atomic::Value(value))
            }
            Expr::Float("int", span, operands) => {
                let [Expr::Term(term)] = &operands[..] else { return self.float_in_guard("int", *span) };
                let Some(value) = self.operand(term) else {
                    let TermKind::Var(variable) = term.kind else { return self.float_in_guard("int", *span) };
                    let name = self.name(variable).to_string();
                    self.unbound(term.span, &name);
                    return None;
                };
                let result = self.output("floating_point_to_integer", &[value], *span)?;
                self.integer(Atomic::Value(result), *span);
                Some(Atomic::Value(result))
            }
            Expr::Float(name, span, _) => self.float_in_guard(name, *span),
        }
    }
    fn unknown_guard(&mut self, name: Atom, arity: usize, span: Span) {
        crate::program::check::unknown_guard(self.context, name, arity, span);
        self.never = true;
    }
    fn float_in_guard(&mut self, name: &str, span: Span) -> Option<Atomic> {
        self.context.diagnostics.push(
            Diagnostic::error("float-in-guard", span, format!("a guard cannot compute {name} of floats"))
                .help("compute it in a body and compare in the guard of an auxiliary predicate"),
        );
        self.never = true;
        None
    }
    fn integer(&mut self, value: Atomic, span: Span) {
        if let Atomic::Value(id) = value
            && matches!(self.table.origin(id), Origin::Arith(..))
        {
            return;
        }
        self.shape(value, Shape::Integer, span);
    }
    fn compare(&mut self, cond: Cond, a: Atomic, b: Atomic, span: Span) {
        if let (Atomic::Int(x), Atomic::Int(y)) = (a, b) {
            if !crate::program::arithmetic::holds(cond, x, y) {
                self.never(span, "this comparison of constants is never true".into());
            }
            return;
        }
        // Constants to the right, values in the order of their numbers: equal tests get equal numbers.
        let swap = matches!((a, b), (Atomic::Int(_) | Atomic::Constant(_), Atomic::Value(_)))
            || matches!((a, b), (Atomic::Value(x), Atomic::Value(y)) if y < x);
        let (cond, a, b) =
            if swap { (crate::program::arithmetic::swapped(cond), b, a) } else { (cond, a, b) };
        if a == b {
            if !crate::program::arithmetic::holds(cond, 0, 0) {
                self.never(span, "a value is never less than, greater than or different from itself".into());
            }
            return;
        }
        if let (Atomic::Value(value), Atomic::Int(int)) = (a, b)
            && let Some(shape) = match cond {
                Cond::Eq => Some(Shape::Is(Pattern::Int(int))),
                Cond::Ne => Some(Shape::IsNot(Pattern::Int(int))),
                _ => None,
            }
        {
            self.push(Test::Shape(value, shape));
            return;
        }
        let (cond, b) = crate::program::arithmetic::canonical(cond, b);
        self.push(Test::Compare(cond, a, b));
    }
    fn assign(&mut self, target: &Term, value: Atomic) {
        if let TermKind::Var(variable) = target.kind {
            match self.known(variable) {
                None => self.variables[variable.0 as usize] = Some(value),
                Some(known) => {
                    self.integer(known, target.span);
                    self.compare(Cond::Eq, known, value, target.span);
                }
            }
            return;
        }
        match self.constant(target) {
            Some(constant) if self.constant_has(constant, Shape::Integer) == Some(true) => {
                self.compare(Cond::Eq, constant, value, target.span);
            }
            _ => {
                let help = matches!(target.kind, TermKind::Float(_)).then_some(FLOAT_COMPARISONS);
                self.never_but(target.span, "an integer is never equal to this".into(), help);
            }
        }
    }
    fn call(&mut self, name: Atom, arguments: &[Term], span: Span) {
        if let [argument] = arguments
            && let Some(shape) = type_test(self.context.atoms.text(name))
        {
            match self.operand(argument) {
                Some(value) => self.shape(value, shape, span),
                None => self.structure_test(argument, shape),
            }
            return;
        }
        if let [a, b] = arguments
            && matches!(self.context.atoms.text(name), b"\\=" | b"diff")
            && self.differs(a, b)
        {
            return;
        }
        match self.context.names.guard(name, arguments.len()) {
            Some((id, builtin)) => {
                let arguments: Vec<&Term> = arguments.iter().collect();
                self.invoke(id, &builtin.modes, &arguments);
            }
            None => self.unknown_guard(name, arguments.len(), span),
        }
    }
    /// A type test of a term that is written out, or of a variable that nothing binds.
    fn structure_test(&mut self, argument: &Term, shape: Shape) {
        let pattern = match &argument.kind {
            TermKind::Var(variable) => {
                let name = self.name(*variable).to_string();
                return self.unbound(argument.span, &name);
            }
            TermKind::List(..) => Pattern::Cons,
            TermKind::Struct(name, arguments) => Pattern::Struct(*name, arguments.len() as u32),
            _ => Pattern::Object(VECTOR.0),
        };
        if crate::program::values::Fact::Like(pattern).decides(shape) == Some(false) {
            self.never(argument.span, "this is never of the type tested".into());
        }
    }
    /// `X \= constant` as a test of a shape; false if it is not that simple.
    fn differs(&mut self, a: &Term, b: &Term) -> bool {
        [a, b].into_iter().for_each(|term| self.shallow(term));
        let (Some(a), Some(b)) = (self.operand(a), self.operand(b)) else { return false };
        let (value, constant) = if matches!(a, Atomic::Value(_)) { (a, b) } else { (b, a) };
        let (Atomic::Value(value), pattern) = (
            value,
            match constant {
                Atomic::Int(int) => Pattern::Int(int),
                Atomic::Atom(atom) => Pattern::Atom(atom),
                _ => return false,
            },
        ) else {
            return false;
        };
        self.push(Test::Shape(value, Shape::IsNot(pattern)));
        true
    }
    /// Warns of `\=` with something that is only looked at from outside: two of its kind never differ.
    fn shallow(&mut self, term: &Term) {
        let kind = match term.kind {
            TermKind::String(_) => "strings",
            TermKind::Float(_) => "floats",
            TermKind::Vector(_) => "vectors",
            _ => return,
        };
        let help = if kind == "floats" {
            "floats are compared by `X $=\\= Y`"
        } else {
            "write a clause for this value, and one for all others behind `otherwise.`"
        };
        self.context.diagnostics.push(
            Diagnostic::warning(
                "shallow-difference",
                term.span,
                format!("`\\=` never holds between two {kind}"),
            )
            .label("it does not look into this")
            .help(help),
        );
    }
    /// A guard builtin: inputs are tested in order, outputs are named or compared.
    fn invoke(&mut self, id: term::abi::PredicateId, modes: &str, arguments: &[&Term]) {
        let mut inputs = Vec::new();
        let mut outputs = Vec::new();
        for (mode, term) in modes.bytes().zip(arguments) {
            if mode == b'o' {
                outputs.push(*term);
                continue;
            }
            let Some(value) = self.operand(term) else {
                match term.kind {
                    TermKind::Var(variable) => {
                        let name = self.name(variable).to_string();
                        self.unbound(term.span, &name);
                    }
                    _ => self.structure_in_guard(term),
                }
                return;
            };
            inputs.push(value);
        }
        // An output that is an input of the same name would make the test its own input: outputs come after.
        let test = self.push(Test::Call(id, inputs, outputs.len() as u32));
        for (index, term) in outputs.into_iter().enumerate() {
            let value = self.table.value(Origin::Output(test, index as u32));
            self.pattern(term, Atomic::Value(value));
        }
    }
}

/// For those who compare floats as integers.
const FLOAT_COMPARISONS: &str = "floats are compared by `$<`, `$=<`, `$>`, `$>=`, `$=:=` and `$=\\=`";

/// What the tests with one argument look for.
pub(crate) fn type_test(name: &[u8]) -> Option<Shape> {
    Some(match name {
        b"wait" => Shape::Bound,
        b"atom" => Shape::Is(Pattern::AnyAtom),
        b"integer" => Shape::Integer,
        b"atomic" => Shape::Atomic,
        b"list" => Shape::Is(Pattern::Cons),
        b"float" => Shape::Is(Pattern::Object(FLOAT.0)),
        b"string" => Shape::Is(Pattern::Object(STRING.0)),
        b"vector" => Shape::Is(Pattern::Object(VECTOR.0)),
        _ => return None,
    })
}

impl Pool {
    /// What a constant looks like.
    fn pattern(&self, id: crate::ir::ConstantId) -> Option<Pattern> {
        Some(match self.get(id) {
            Constant::Int(value) => Pattern::Int(*value),
            Constant::Atom(atom) => Pattern::Atom(*atom),
            Constant::BigInt(_) => Pattern::Object(BIGINT.0),
            Constant::Float(_) => Pattern::Object(FLOAT.0),
            Constant::String(_) => Pattern::Object(STRING.0),
            Constant::Vector(_) => Pattern::Object(VECTOR.0),
            Constant::Predicate(_) => Pattern::Object(PREDICATE.0),
            Constant::Module(_) => Pattern::Object(MODULE.0),
            Constant::Table(_) => return None,
            Constant::List(..) => Pattern::Cons,
            Constant::Struct(name, arguments) => Pattern::Struct(*name, arguments.len() as u32),
        })
    }
}
