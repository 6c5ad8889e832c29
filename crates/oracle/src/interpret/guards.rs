//! The passive part: which clause of a goal's predicate commits.

use super::builtins::Step;
use super::numbers;
use super::scheduler::Machine;
use super::terms::{Id, Value};
use super::unify::Answer;
use num_bigint::BigInt;
use std::rc::Rc;
use syntax::program::{Clause, Expr, Guard, GuardKind, Separator, Term, TermKind, VarId};
use term::{Atom, symbol};

/// The variables of a clause; `None` before the first occurrence.
pub(super) type Environment = Vec<Option<Id>>;

/// What becomes of a goal.
pub(super) enum Choice<'p> {
    /// This clause is committed to.
    Commit(&'p Clause, Environment),
    /// Some clause waits for each of these variables.
    Suspend(Vec<Id>),
    /// All clauses fail.
    Fail,
}

impl<'p> Machine<'p> {
    /// Tries the clauses of a predicate in textual order (O1).
    pub(super) fn choose(&mut self, index: usize, arguments: &[Id]) -> Choice<'p> {
        let predicate = self.entries[index].predicate;
        let mut blocking: Vec<Id> = Vec::new();
        for clause in &predicate.clauses {
            if clause.separator == Separator::Otherwise && !blocking.is_empty() {
                break;
            }
            let mut environment = vec![None; clause.variables.len()];
            match self.passive(clause, arguments, &mut environment) {
                Answer::Yes => return Choice::Commit(clause, environment),
                Answer::No => {}
                Answer::Wait(variable) if blocking.contains(&variable) => {}
                Answer::Wait(variable) => blocking.push(variable),
            }
        }
        if blocking.is_empty() { Choice::Fail } else { Choice::Suspend(blocking) }
    }

    fn passive(&mut self, clause: &Clause, arguments: &[Id], environment: &mut Environment) -> Answer {
        for (pattern, &argument) in clause.head.iter().zip(arguments) {
            let answer = self.matches(pattern, argument, environment);
            if answer != Answer::Yes {
                return answer;
            }
        }
        for guard in &clause.guard {
            let answer = self.guard(guard, environment);
            if answer != Answer::Yes {
                return answer;
            }
        }
        Answer::Yes
    }

    /// Whether a term has the form of a pattern; new variables of the pattern get the parts they stand for.
    pub(super) fn matches(&mut self, pattern: &Term, id: Id, environment: &mut Environment) -> Answer {
        if let TermKind::Var(variable) = pattern.kind {
            return self.matches_variable(variable, id, environment);
        }
        let Some(value) = self.store.get(id).cloned() else { return Answer::Wait(self.store.deref(id)) };
        match (&pattern.kind, &value) {
            (TermKind::Int(n), Value::Int(m)) => Answer::of(n == m),
            (TermKind::BigInt(n), _) => Answer::of(value.to_bigint().as_ref() == Some(n)),
            (TermKind::Float(x), Value::Float(y)) => Answer::of(x == y),
            (TermKind::Atom(a), Value::Atom(b)) => Answer::of(a == b),
            (TermKind::String(a), Value::String(b)) => Answer::of(**a == **b),
            (TermKind::Predicate(m, p, n), Value::Predicate(k, q, l)) => Answer::of((m, p, n) == (k, q, l)),
            (TermKind::Module(a), Value::Module(b)) => Answer::of(a == b),
            (TermKind::Struct(f, patterns), Value::Struct(g, arguments)) => {
                self.matches_all(f == g, patterns, arguments, environment)
            }
            (TermKind::Vector(patterns), Value::Vector(elements)) => {
                self.matches_all(true, patterns, elements, environment)
            }
            (TermKind::List(items, tail), Value::List(..)) => {
                self.matches_list(items, tail.as_deref(), id, environment)
            }
            _ => Answer::No,
        }
    }

    fn matches_variable(&mut self, variable: VarId, id: Id, environment: &mut Environment) -> Answer {
        match environment[variable.0 as usize] {
            Some(known) => self.same(known, id),
            None => {
                environment[variable.0 as usize] = Some(id);
                Answer::Yes
            }
        }
    }

    fn matches_all(
        &mut self,
        same: bool,
        patterns: &[Term],
        parts: &Rc<[Id]>,
        environment: &mut Environment,
    ) -> Answer {
        if !same || patterns.len() != parts.len() {
            return Answer::No;
        }
        for (pattern, &part) in patterns.iter().zip(parts.iter()) {
            let answer = self.matches(pattern, part, environment);
            if answer != Answer::Yes {
                return answer;
            }
        }
        Answer::Yes
    }

    fn matches_list(
        &mut self,
        items: &[Term],
        tail: Option<&Term>,
        list: Id,
        environment: &mut Environment,
    ) -> Answer {
        let mut at = list;
        for item in items {
            let (car, cdr) = match self.store.get(at) {
                Some(Value::List(car, cdr)) => (*car, *cdr),
                Some(_) => return Answer::No,
                None => return Answer::Wait(self.store.deref(at)),
            };
            let answer = self.matches(item, car, environment);
            if answer != Answer::Yes {
                return answer;
            }
            at = cdr;
        }
        match tail {
            Some(tail) => self.matches(tail, at, environment),
            None => match self.store.get(at) {
                Some(Value::Atom(symbol::NIL)) => Answer::Yes,
                Some(_) => Answer::No,
                None => Answer::Wait(self.store.deref(at)),
            },
        }
    }

    fn guard(&mut self, guard: &Guard, environment: &mut Environment) -> Answer {
        match &guard.kind {
            GuardKind::Unify(a, b) => self.guard_unify(a, b, environment),
            GuardKind::Compare(cond, a, b) => {
                let (a, b) = (self.guard_value(a, environment), self.guard_value(b, environment));
                match both(a, b) {
                    Ok((a, b)) => match numbers::integer_order(&a, &b) {
                        Some(order) => Answer::of(numbers::holds(*cond, Some(order))),
                        None => Answer::No,
                    },
                    Err(answer) => answer,
                }
            }
            GuardKind::Assign(target, Expr::Term(value)) => self.guard_unify(target, value, environment),
            GuardKind::Assign(target, expression) => match self.guard_value(expression, environment) {
                Ok(value) => {
                    let value = self.store.value(value);
                    self.matches(target, value, environment)
                }
                Err(answer) => answer,
            },
            GuardKind::Call(name, arguments) => self.guard_call(*name, arguments, environment),
            GuardKind::Method(name, inputs, outputs) => {
                self.guard_method(*name, inputs, outputs, environment)
            }
        }
    }

    /// `X = T` with at least one side known.
    fn guard_unify(&mut self, a: &Term, b: &Term, environment: &mut Environment) -> Answer {
        if let Some(known) = self.known(a, environment) {
            self.matches(b, known, environment)
        } else if let Some(known) = self.known(b, environment) {
            self.matches(a, known, environment)
        } else {
            // Both are new: the clause is one that the compiler refuses or deletes.
            Answer::No
        }
    }

    /// The value of a term without new variables.
    pub(super) fn known(&mut self, term: &Term, environment: &Environment) -> Option<Id> {
        match &term.kind {
            TermKind::Var(variable) => environment[variable.0 as usize],
            _ if term.variables().any(|variable| environment[variable.0 as usize].is_none()) => None,
            _ => {
                // Without new variables, building does not change the environment.
                let mut unchanged = environment.clone();
                Some(self.build(term, &mut unchanged))
            }
        }
    }

    /// The integer value of a guard expression; what it is not, is the guard's answer.
    fn guard_value(&mut self, expression: &Expr, environment: &mut Environment) -> Result<Value, Answer> {
        match expression {
            Expr::Term(term) => {
                let id = self.known(term, environment).ok_or(Answer::No)?;
                match self.store.get(id) {
                    Some(value @ (Value::Int(_) | Value::Big(_))) => Ok(value.clone()),
                    Some(_) => Err(Answer::No),
                    None => Err(Answer::Wait(self.store.deref(id))),
                }
            }
            Expr::Int(op, _, operands) => {
                let a = self.guard_value(&operands[0], environment);
                let b = match operands.get(1) {
                    Some(operand) => self.guard_value(operand, environment),
                    None => Ok(Value::Int(0)),
                };
                let (a, b) = both(a, b)?;
                numbers::integer(*op, &a, &b).map_err(|_| Answer::No)
            }
            Expr::Float("int", _, operands) => {
                let float = self.guard_float(&operands[0], environment)?;
                numbers::truncate(float).ok_or(Answer::No)
            }
            Expr::Float(..) => Ok(Value::Float(self.guard_float(expression, environment)?)),
        }
    }

    fn guard_float(&mut self, expression: &Expr, environment: &mut Environment) -> Result<f64, Answer> {
        match expression {
            Expr::Term(term) => {
                let id = self.known(term, environment).ok_or(Answer::No)?;
                match self.store.get(id) {
                    Some(Value::Float(x)) => Ok(*x),
                    Some(_) => Err(Answer::No),
                    None => Err(Answer::Wait(self.store.deref(id))),
                }
            }
            Expr::Float("float", _, operands) => {
                let number = self.guard_value(&operands[0], environment)?;
                numbers::to_float(&number).ok_or(Answer::No)
            }
            Expr::Float(name, _, operands) => {
                let a = self.guard_float(&operands[0], environment)?;
                let result = match operands.get(1) {
                    Some(operand) => numbers::float_binary(name, a, self.guard_float(operand, environment)?),
                    None => numbers::float_unary(name, a),
                };
                result.ok_or(Answer::No)
            }
            Expr::Int(..) => Err(Answer::No),
        }
    }

    fn guard_call(&mut self, name: Atom, arguments: &[Term], environment: &mut Environment) -> Answer {
        if name == symbol::TRUE && arguments.is_empty() {
            return Answer::Yes;
        }
        let Some(native) = self.natives.guard(name, arguments.len()) else {
            let what = format!("guard {}/{}", self.atoms.name(name), arguments.len());
            self.finish(super::Outcome::Unsupported { what });
            return Answer::No;
        };
        let inputs: Vec<&Term> = parts(arguments, &native.modes, |mode| mode != b'o');
        let outputs: Vec<&Term> = parts(arguments, &native.modes, |mode| mode == b'o');
        self.run_guard(&native, &inputs, &outputs, environment)
    }

    fn guard_method(
        &mut self,
        name: Atom,
        inputs: &[Term],
        outputs: &[Term],
        environment: &mut Environment,
    ) -> Answer {
        let Some(native) = self.natives.guard_method(name, inputs.len()) else { return Answer::No };
        let inputs: Vec<&Term> = inputs.iter().collect();
        let outputs: Vec<&Term> = outputs.iter().collect();
        self.run_guard(&native, &inputs, &outputs, environment)
    }

    fn run_guard(
        &mut self,
        native: &super::builtins::Native,
        inputs: &[&Term],
        outputs: &[&Term],
        environment: &mut Environment,
    ) -> Answer {
        let mut given = Vec::new();
        for (term, mode) in inputs.iter().zip(native.modes.bytes().filter(|mode| *mode != b'o')) {
            let Some(id) = self.known(term, environment) else { return Answer::No };
            if mode == b'i' && self.is_unbound(id) {
                return Answer::Wait(self.store.deref(id));
            }
            given.push(id);
        }
        match (native.run)(self, &given) {
            Step::Done(results) => {
                for (term, result) in outputs.iter().zip(results) {
                    let answer = self.matches(term, result, environment);
                    if answer != Answer::Yes {
                        return answer;
                    }
                }
                Answer::Yes
            }
            Step::Wait(variable) => Answer::Wait(variable),
            Step::No | Step::Error(_) => Answer::No,
            Step::End(outcome) => {
                self.finish(outcome);
                Answer::No
            }
        }
    }
}

/// Both values; failure of one counts more than that the other is not there yet.
fn both(a: Result<Value, Answer>, b: Result<Value, Answer>) -> Result<(Value, Value), Answer> {
    match (a, b) {
        (Ok(a), Ok(b)) => Ok((a, b)),
        (Err(Answer::No), _) | (_, Err(Answer::No)) => Err(Answer::No),
        (Err(answer), _) | (_, Err(answer)) => Err(answer),
    }
}

/// The terms whose mode is wanted.
fn parts<'t>(arguments: &'t [Term], modes: &str, wanted: fn(u8) -> bool) -> Vec<&'t Term> {
    arguments.iter().zip(modes.bytes()).filter(|(_, mode)| wanted(*mode)).map(|(term, _)| term).collect()
}

impl Machine<'_> {
    /// Builds a term; its new variables become fresh ones.
    pub(super) fn build(&mut self, term: &Term, environment: &mut Environment) -> Id {
        let value = match &term.kind {
            TermKind::Var(variable) => {
                let store = &mut self.store;
                return *environment[variable.0 as usize].get_or_insert_with(|| store.variable());
            }
            TermKind::Int(n) => Value::Int(*n),
            TermKind::BigInt(n) => Value::integer(BigInt::clone(n)),
            TermKind::Float(x) => Value::Float(*x),
            TermKind::Atom(atom) => Value::Atom(*atom),
            TermKind::String(bytes) => Value::String((**bytes).into()),
            TermKind::List(items, tail) => {
                let items: Vec<Id> = items.iter().map(|item| self.build(item, environment)).collect();
                let tail = match tail {
                    Some(tail) => self.build(tail, environment),
                    None => self.store.atom(symbol::NIL),
                };
                return self.store.list(&items, tail);
            }
            TermKind::Struct(name, parts) => {
                Value::Struct(*name, parts.iter().map(|part| self.build(part, environment)).collect())
            }
            TermKind::Vector(parts) => {
                Value::Vector(parts.iter().map(|part| self.build(part, environment)).collect())
            }
            TermKind::Predicate(module, name, arity) => Value::Predicate(*module, *name, *arity),
            TermKind::Module(name) => Value::Module(*name),
        };
        self.store.value(value)
    }
}
