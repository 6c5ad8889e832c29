//! What a committed clause does (O2).

use super::builtins::{Native, Step};
use super::guards::Environment;
use super::numbers;
use super::scheduler::{self, Code, Goal, Machine};
use super::terms::{Id, Value};
use super::{Outcome, Schedule};
use std::rc::Rc;
use syntax::program::{Call, Clause, Expr, GoalKind, Pragma, Term, TermKind};
use term::abi::{IntOp, Place};
use term::{Atom, symbol};

impl Machine<'_> {
    /// Runs a clause's body: unifications, then builtins, then its goals onto the stack, the leftmost on top.
    pub(super) fn commit(&mut self, module: Atom, clause: &Clause, mut environment: Environment) {
        let environment = &mut environment;
        for goal in &clause.body {
            if let GoalKind::Unify(a, b) = &goal.kind {
                self.body_unify(a, b, environment);
            }
        }
        let mut goals = Vec::new();
        for goal in &clause.body {
            match &goal.kind {
                GoalKind::Unify(..) => {}
                GoalKind::Assign(target, Expr::Term(value)) => self.body_unify(target, value, environment),
                GoalKind::Assign(target, expression) => {
                    let value = self.expression(expression, environment, &mut goals);
                    self.define(target, value, environment);
                }
                GoalKind::Call(call) => self.call(module, call, environment, &mut goals),
            }
            if self.stop.is_some() {
                return;
            }
        }
        while let Some(goal) = goals.pop() {
            self.push(goal);
        }
    }

    fn body_unify(&mut self, a: &Term, b: &Term, environment: &mut Environment) {
        for (target, value) in [(a, b), (b, a)] {
            if self.is_new(target, environment) {
                let value = self.build(value, environment);
                return self.define(target, value, environment);
            }
        }
        let a = self.build(a, environment);
        let b = self.build(b, environment);
        self.unify(a, b);
    }

    fn is_new(&self, term: &Term, environment: &Environment) -> bool {
        matches!(term.kind, TermKind::Var(variable) if environment[variable.0 as usize].is_none())
    }

    /// The target is, or becomes equal to, the value.
    fn define(&mut self, target: &Term, value: Id, environment: &mut Environment) {
        match target.kind {
            TermKind::Var(variable) if environment[variable.0 as usize].is_none() => {
                environment[variable.0 as usize] = Some(value);
            }
            _ => {
                let target = self.build(target, environment);
                self.unify(target, value);
            }
        }
    }

    /// The value of an expression: computed, or a fresh variable that a goal will give a value.
    fn expression(&mut self, expression: &Expr, environment: &mut Environment, goals: &mut Vec<Goal>) -> Id {
        let (module, name, operands) = match expression {
            Expr::Term(term) => return self.build(term, environment),
            Expr::Int(op, _, operands) => {
                ("integer_arithmetics", integer_name(*op, operands.len()), operands)
            }
            Expr::Float("float", _, operands) => {
                ("floating_arithmetics", "integer_to_floating_point", operands)
            }
            Expr::Float("int", _, operands) => {
                ("floating_arithmetics", "floating_point_to_integer", operands)
            }
            Expr::Float(name, _, operands) => ("generic", *name, operands),
        };
        let mut arguments: Vec<Id> =
            operands.iter().map(|operand| self.expression(operand, environment, goals)).collect();
        let native = self.natives.text_named(self.atoms, module, name, arguments.len() + 1);
        let native = native.expect("the table has every operation of expressions");
        let result = self.store.variable();
        arguments.push(result);
        self.try_builtin(native, arguments, goals);
        result
    }

    /// Runs a builtin at once, or makes it a goal when inputs are missing.
    fn try_builtin(&mut self, native: Rc<Native>, arguments: Vec<Id>, goals: &mut Vec<Goal>) {
        if self.schedule != Schedule::Textual {
            return goals.push(self.goal(Code::Native(native), arguments));
        }
        match self.run_native(&native, &arguments) {
            Step::Done(outputs) => {
                let places = arguments.iter().zip(native.modes.bytes()).filter(|(_, mode)| *mode == b'o');
                for ((&argument, _), output) in places.zip(outputs) {
                    self.unify(argument, output);
                }
            }
            // A generator makes its value when the goal is suspended on it.
            Step::Wait(_) => goals.push(self.goal(Code::Native(native), arguments)),
            Step::No => {
                let goal = self.goal(Code::Native(native), arguments);
                self.fail(&goal);
            }
            Step::Error(message) => self.error(message),
            Step::End(outcome) => self.end_by(outcome),
        }
    }

    /// Waits for the inputs of mode `i`, then runs a builtin.
    pub(super) fn run_native(&mut self, native: &Native, arguments: &[Id]) -> Step {
        let mut inputs = Vec::new();
        for (&argument, mode) in arguments.iter().zip(native.modes.bytes()) {
            if mode == b'i' && self.is_unbound(argument) {
                return Step::Wait(self.store.deref(argument));
            }
            if mode != b'o' {
                inputs.push(argument);
            }
        }
        (native.run)(self, &inputs)
    }

    fn goal(&self, code: Code, arguments: Vec<Id>) -> Goal {
        Goal { code, arguments, priority: self.priority, shoen: self.shoen }
    }

    fn call(&mut self, module: Atom, call: &Call, environment: &mut Environment, goals: &mut Vec<Goal>) {
        let arity = call.arguments.len();
        if call.module.is_none() && call.name == symbol::TRUE && arity == 0 {
            return;
        }
        let arguments: Vec<Id> =
            call.arguments.iter().map(|argument| self.build(argument, environment)).collect();
        let builtin = match call.module {
            // A module's own predicate comes before a builtin of its name.
            None if self.predicates.contains_key(&(module, call.name, arity)) => None,
            None => self.natives.body(call.name, arity),
            Some(named) => self.natives.method(self.atoms, named, call.name, &call.arguments),
        };
        if let Some(native) = builtin {
            if native.place == Place::Goal {
                return goals.push(self.goal(Code::Native(native), arguments));
            }
            return self.try_builtin(native, arguments, goals);
        }
        let code = self.predicate_code(call.module.unwrap_or(module), call.name, arity);
        let mut goal = self.goal(code, arguments);
        for pragma in &call.pragmas {
            self.place(&mut goal, pragma, environment);
        }
        goals.push(goal);
    }

    /// A pragma moves the goal to another priority at once, or when its number is there.
    fn place(&mut self, goal: &mut Goal, pragma: &Pragma, environment: &mut Environment) {
        let (place, number) = match pragma {
            Pragma::Priority(number) => (scheduler::Place::Priority, number),
            Pragma::LowerPriority(number) => (scheduler::Place::Lower, number),
            Pragma::Node(number) => (scheduler::Place::Node, number),
        };
        let number = self.build(number, environment);
        match self.place_priority(place, number) {
            Ok(priority) if !matches!(place, scheduler::Place::Node) => goal.priority = priority,
            Ok(_) => {}
            Err(Step::Wait(_)) => {
                goal.arguments.insert(0, number);
                goal.code = Code::Placed(place, Box::new(goal.code.clone()));
            }
            Err(_) => self.fault("placement", Outcome::Error { message: "a pragma needs an integer".into() }),
        }
    }

    /// A goal that replaces the running one: the first of what is resumed by this reduction.
    pub(super) fn become_goal(&mut self, code: Code, arguments: Vec<Id>) {
        let goal = self.goal(code, arguments);
        self.resumed.insert(0, goal);
    }

    /// The step of an integer operation.
    pub(super) fn integer_step(&mut self, op: IntOp, inputs: &[Id]) -> Step {
        let zero = Value::Int(0);
        let value = |at: usize| inputs.get(at).map_or(Some(&zero), |&id| self.store.get(id));
        let (Some(a), Some(b)) = (value(0), value(1)) else { return Step::No };
        match numbers::integer(op, a, b) {
            Ok(result) => Step::Done(vec![self.store.value(result)]),
            Err(numbers::Trouble::ZeroDivision) => Step::Error("division by zero".into()),
            Err(numbers::Trouble::Type) => {
                let name = integer_name(op, inputs.len());
                Step::Error(format!("argument type error in {name}/{}", inputs.len() + 1))
            }
            Err(numbers::Trouble::Shift) => Step::Error("shift count too large".into()),
        }
    }
}

/// The builtin's name of an integer operation.
fn integer_name(op: IntOp, operands: usize) -> &'static str {
    match op {
        IntOp::Add if operands == 1 => "plus",
        IntOp::Add => "add",
        IntOp::Sub => "subtract",
        IntOp::Mul => "multiply",
        IntOp::Div => "divide",
        IntOp::Mod => "modulo",
        IntOp::And => "and",
        IntOp::Or => "or",
        IntOp::Xor => "exclusive_or",
        IntOp::Shl => "shift_left",
        IntOp::Shr => "shift_right",
        IntOp::Neg => "minus",
        IntOp::Not => "complement",
    }
}
