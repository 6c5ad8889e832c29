//! What a body does, in which order, before anything is known of registers.
//!
//! For: the order of a body, and which predicates become one function.
//! It may know: the names and values of `program`.
//! It never: makes an operation of IR.
//!
//! Order (KL1's execution order after commitment): active unifications and what can be computed at once, by data
//! dependence; then the goals, in textual order. An inline operation that waits for a variable which only goals of this
//! body (or operations that wait themselves) can bind becomes a goal in its textual place; in a body that many clauses
//! share it is tried at once all the same, as only so it knows its line.

pub(crate) mod components;
mod schedule;

use crate::ir::ConstantId;
use crate::program::arithmetic::fold;
use crate::program::names::{Callee, Names};
use crate::program::values::{Atomic, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};
use syntax::program::{Clause, Expr, Goal, GoalKind, Pragma, Term, TermKind, VarId};
use syntax::source::Span;
use term::abi::{Builtin, IntOp, Position, PredicateId};
use term::{Atom, AtomTable};

/// Something that stands for a value in a body.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Side<'a> {
    Term(&'a Term),
    Var(VarId),
    Int(i64),
}

/// Where a variable gets its value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source<'a> {
    /// The passive part names it.
    Known(Atomic),
    /// Another name for a variable.
    Alias(VarId),
    /// Another name for a term.
    Term(&'a Term),
    /// The output of an inline operation.
    Computed,
    /// A new variable: it needs a cell.
    Fresh,
}

/// What a goal of a body calls.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    User(crate::program::names::Index),
    Other(PredicateId),
    /// An inline operation that waits for its inputs, and where it stands.
    Late(Late, Position),
}

/// What a goal computes that an inline operation has become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Late {
    /// Arithmetic, and the builtin that it is.
    Arith(IntOp, PredicateId),
    /// Any other builtin.
    Builtin(PredicateId),
}

impl Late {
    /// The builtin that it is.
    pub(crate) fn builtin(self) -> PredicateId {
        match self {
            Late::Arith(_, id) | Late::Builtin(id) => id,
        }
    }
}

/// Something done at once, and where it stands.
#[derive(Clone, Debug)]
pub(crate) enum Step<'a> {
    Unify(Side<'a>, Side<'a>, Position),
    Arith(IntOp, VarId, Side<'a>, Side<'a>, Position),
    Builtin(PredicateId, Vec<Side<'a>>, Vec<VarId>, Position),
}

/// A goal to be pushed.
#[derive(Clone, Debug)]
pub(crate) struct Planned<'a> {
    pub(crate) target: Target,
    pub(crate) arguments: Vec<Side<'a>>,
    pub(crate) pragmas: &'a [Pragma],
}

/// A body.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    /// By variable number; made-up ones behind the clause's own.
    pub(crate) sources: Vec<Source<'a>>,
    pub(crate) steps: Vec<Step<'a>>,
    pub(crate) goals: Vec<Planned<'a>>,
    /// Values of the passive part that the body mentions.
    pub(crate) values: FxHashSet<ValueId>,
    /// Those that it computes with.
    pub(crate) integers: FxHashSet<ValueId>,
    /// Where the body stands, if it is that of many clauses.
    pub(crate) lines: Option<Lines>,
}

/// Where a body stands that many clauses have: a column of their table says it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lines {
    pub(crate) table: ConstantId,
    pub(crate) row: ValueId,
    pub(crate) index: u32,
    /// The line in the clause that was planned for which the column has those of the others.
    pub(crate) line: u32,
}

impl<'a> Plan<'a> {
    /// The variable that a side is, if it is one.
    pub(crate) fn variable(&self, side: Side<'a>) -> Option<VarId> {
        let variable = match side {
            Side::Var(variable) => variable,
            Side::Term(Term { kind: TermKind::Var(variable), .. }) => *variable,
            _ => return None,
        };
        Some(self.representative(variable))
    }
    /// The variable that a variable is a name for.
    pub(crate) fn representative(&self, mut variable: VarId) -> VarId {
        while let Source::Alias(next) = self.sources[variable.0 as usize] {
            variable = next;
        }
        variable
    }
    /// Where a side that is a variable gets its value.
    pub(crate) fn source_of(&self, side: Side<'a>) -> Option<Source<'a>> {
        self.variable(side).map(|variable| self.sources[variable.0 as usize])
    }
    /// Whether a side is a value that the text gives: certainly no variable.
    pub(crate) fn is_built(&self, side: Side<'a>) -> bool {
        match self.source_of(side) {
            Some(Source::Term(_)) => true,
            Some(Source::Known(atomic)) => !matches!(atomic, Atomic::Value(_)),
            Some(_) => false,
            None => true,
        }
    }
    /// The active unifications.
    pub(crate) fn unifications(&self) -> impl Iterator<Item = (Side<'a>, Side<'a>)> + '_ {
        self.steps.iter().filter_map(|step| match step {
            Step::Unify(a, b, _) => Some((*a, *b)),
            _ => None,
        })
    }
    /// Calls `visit` for the variables in a side, looking through names, each once.
    pub(crate) fn each_variable(&self, side: Side<'a>, visit: &mut dyn FnMut(VarId)) {
        let mut seen = FxHashSet::default();
        let mut work = vec![side];
        while let Some(side) = work.pop() {
            match (self.variable(side), side) {
                (Some(variable), _) => {
                    if seen.insert(variable) {
                        visit(variable);
                        if let Source::Term(term) = self.sources[variable.0 as usize] {
                            work.push(Side::Term(term));
                        }
                    }
                }
                (None, Side::Term(term)) => work.extend(term.parts().map(Side::Term)),
                (None, _) => {}
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Arith(IntOp),
    Builtin(PredicateId),
}

/// An inline operation.
#[derive(Clone, Debug)]
struct Inline<'a> {
    kind: Kind,
    /// Inputs, and whether the operation waits for them.
    inputs: Vec<(Side<'a>, bool)>,
    outputs: Vec<VarId>,
    /// As a goal: predicate, and for each argument the input or output it is.
    goal: Option<(PredicateId, Vec<Part>)>,
    at: Position,
}

#[derive(Clone, Copy, Debug)]
enum Part {
    Input(usize),
    Output(usize),
}

enum Item<'a> {
    Unify(Side<'a>, Side<'a>, Position),
    Inline(Inline<'a>),
    Goal(Planned<'a>),
}

struct Planner<'p, 'a> {
    names: &'p Names<'a>,
    atoms: &'p AtomTable,
    module: Atom,
    clause: &'a Clause,
    /// `None`: no source yet.
    sources: Vec<Option<Source<'a>>>,
    items: Vec<Item<'a>>,
    /// Made-up outputs, and what they are unified with.
    stand_ins: FxHashMap<VarId, Side<'a>>,
    /// Where the goal stands that is being planned.
    at: Position,
    /// Many clauses have this body: where a goal of it stands is known only to what is done at once.
    shared: bool,
}

/// Plans the body of a clause whose passive part knows `variables`; `position` is asked where its goals stand, and
/// `shared` says that it stands for many clauses in different lines.
pub(crate) fn plan<'a>(
    names: &Names<'a>,
    atoms: &AtomTable,
    module: Atom,
    clause: &'a Clause,
    variables: &[Option<Atomic>],
    position: impl Fn(Span) -> Position,
    shared: bool,
) -> Plan<'a> {
    let sources = variables.iter().map(|known| known.map(Source::Known)).collect();
    let mut planner = Planner {
        names,
        atoms,
        module,
        clause,
        sources,
        items: Vec::new(),
        stand_ins: FxHashMap::default(),
        at: Position::NONE,
        shared,
    };
    for goal in &clause.body {
        planner.at = position(goal.span);
        planner.goal(goal);
    }
    planner.name_terms();
    planner.settle_outputs();
    planner.schedule()
}

/// The name of an integer operation as a body builtin.
fn operation_name(op: IntOp) -> &'static [u8] {
    match op {
        IntOp::Add => b"add",
        IntOp::Sub => b"subtract",
        IntOp::Mul => b"multiply",
        IntOp::Div => b"divide",
        IntOp::Mod => b"modulo",
        IntOp::And => b"and",
        IntOp::Or => b"or",
        IntOp::Xor => b"exclusive_or",
        IntOp::Shl => b"shift_left",
        IntOp::Shr => b"shift_right",
        IntOp::Neg => b"minus",
        IntOp::Not => b"complement",
    }
}

fn operation(name: &[u8], arity: usize) -> Option<IntOp> {
    use IntOp::*;
    let all = [Add, Sub, Mul, Div, Mod, And, Or, Xor, Shl, Shr, Neg, Not];
    all.into_iter().find(|op| operation_name(*op) == name && arity == operands(*op) + 1)
}

fn operands(op: IntOp) -> usize {
    if matches!(op, IntOp::Neg | IntOp::Not) { 1 } else { 2 }
}

impl<'a> Planner<'_, 'a> {
    fn fresh(&mut self) -> VarId {
        self.sources.push(None);
        VarId(self.sources.len() as u32 - 1)
    }
    /// The variable that a variable is a name for.
    fn representative(&self, mut variable: VarId) -> VarId {
        while let Some(Source::Alias(next)) = self.sources[variable.0 as usize] {
            variable = next;
        }
        variable
    }
    fn source(&self, variable: VarId) -> Option<Source<'a>> {
        self.sources[self.representative(variable).0 as usize]
    }
    fn variable(&self, side: Side<'a>) -> Option<VarId> {
        match side {
            Side::Var(variable) => Some(variable),
            Side::Term(Term { kind: TermKind::Var(variable), .. }) => Some(*variable),
            _ => None,
        }
    }
    fn goal(&mut self, goal: &'a Goal) {
        match &goal.kind {
            GoalKind::Unify(a, b) => self.items.push(Item::Unify(Side::Term(a), Side::Term(b), self.at)),
            GoalKind::Assign(target, Expr::Term(value)) => {
                self.items.push(Item::Unify(Side::Term(target), Side::Term(value), self.at));
            }
            GoalKind::Assign(target, expr) => {
                let output = match target.kind {
                    TermKind::Var(variable) => variable,
                    _ => self.fresh(),
                };
                let value = self.expression(expr, Some(output));
                // Folded, or a target that is not a variable.
                if !matches!(value, Side::Var(variable) if variable == output) {
                    self.items.push(Item::Unify(Side::Term(target), value, self.at));
                } else if !matches!(target.kind, TermKind::Var(_)) {
                    self.items.push(Item::Unify(Side::Term(target), Side::Var(output), self.at));
                }
            }
            GoalKind::Call(call) => self.call(call),
        }
    }
    fn expression(&mut self, expr: &'a Expr, output: Option<VarId>) -> Side<'a> {
        match expr {
            Expr::Term(Term { kind: TermKind::Int(value), .. }) => Side::Int(*value),
            Expr::Term(term) => Side::Term(term),
            Expr::Int(op, _, parts) => {
                let a = parts.first().map_or(Side::Int(0), |part| self.expression(part, None));
                let b = parts.get(1).map_or(Side::Int(0), |part| self.expression(part, None));
                if let (Side::Int(a), Side::Int(b)) = (a, b)
                    && let Some(value) = fold(*op, a, b)
                {
                    return Side::Int(value);
                }
                let output = output.unwrap_or_else(|| self.fresh());
                let inputs = if operands(*op) == 1 { vec![a] } else { vec![a, b] };
                self.arith(*op, inputs, output);
                Side::Var(output)
            }
            Expr::Float(method, _, parts) => {
                let inputs: Vec<Side<'a>> = parts.iter().map(|part| self.expression(part, None)).collect();
                let output = output.unwrap_or_else(|| self.fresh());
                let name = float_builtin(method);
                let found = self.atoms.lookup(name.as_bytes());
                if let Some((id, builtin)) = found.and_then(|name| self.names.body(name, inputs.len() + 1)) {
                    let arguments = inputs.into_iter().chain([Side::Var(output)]).collect();
                    self.builtin(id, builtin, arguments);
                }
                Side::Var(output)
            }
        }
    }
    fn arith(&mut self, op: IntOp, inputs: Vec<Side<'a>>, output: VarId) {
        let name = self.atoms.lookup(operation_name(op));
        let found = name.and_then(|name| self.names.body(name, inputs.len() + 1));
        let mut parts: Vec<Part> = (0..inputs.len()).map(Part::Input).collect();
        parts.push(Part::Output(0));
        self.items.push(Item::Inline(Inline {
            kind: Kind::Arith(op),
            inputs: inputs.into_iter().map(|input| (input, true)).collect(),
            outputs: vec![output],
            goal: found.map(|(id, _)| (id, parts)),
            at: self.at,
        }));
    }
    fn builtin(&mut self, id: PredicateId, builtin: &Builtin, arguments: Vec<Side<'a>>) {
        let (mut inputs, mut outputs, mut parts) = (Vec::new(), Vec::new(), Vec::new());
        let mut unifications = Vec::new();
        for (mode, argument) in builtin.modes.bytes().zip(arguments) {
            if mode != b'o' {
                parts.push(Part::Input(inputs.len()));
                inputs.push((argument, mode == b'i'));
                continue;
            }
            let output = match self.variable(argument) {
                Some(variable) if !outputs.contains(&variable) => variable,
                _ => {
                    let output = self.fresh();
                    unifications.push(Item::Unify(argument, Side::Var(output), self.at));
                    output
                }
            };
            parts.push(Part::Output(outputs.len()));
            outputs.push(output);
        }
        let goal = Some((id, parts));
        self.items.push(Item::Inline(Inline { kind: Kind::Builtin(id), inputs, outputs, goal, at: self.at }));
        self.items.extend(unifications);
    }
    fn call(&mut self, call: &'a syntax::program::Call) {
        let arguments: Vec<Side<'a>> = call.arguments.iter().map(Side::Term).collect();
        let target = match self.names.callee(self.module, call) {
            Some(Callee::Inline(id, builtin)) if call.pragmas.is_empty() => {
                return self.inline_call(id, builtin, call, arguments);
            }
            Some(Callee::Inline(id, _)) => Target::Late(Late::Builtin(id), self.at),
            Some(Callee::Other(id)) => Target::Other(id),
            Some(Callee::User(index)) => Target::User(index),
            // Diagnosed elsewhere; no code comes of it.
            None => return,
        };
        self.items.push(Item::Goal(Planned { target, arguments, pragmas: &call.pragmas }));
    }
    fn inline_call(
        &mut self,
        id: PredicateId,
        builtin: &'a Builtin,
        call: &'a syntax::program::Call,
        arguments: Vec<Side<'a>>,
    ) {
        let name = self.atoms.text(call.name);
        if let Some(op) = operation(name, arguments.len())
            && call.module.is_none()
            && let Some((&output, inputs)) = arguments.split_last()
        {
            let variable = self.variable(output);
            let result = variable.unwrap_or_else(|| self.fresh());
            self.arith(op, inputs.to_vec(), result);
            if variable.is_none() {
                self.items.push(Item::Unify(output, Side::Var(result), self.at));
            }
            return;
        }
        if let &[vector, index, old, new, result] = &arguments[..]
            && matches!(name, b"set_vector_element" | b"set_element" | b"setarg")
            && self.replace(call, name, [vector, index, old, new, result])
        {
            return;
        }
        match self.new_object(call, name, &arguments) {
            Some((id, builtin, arguments)) => self.builtin(id, builtin, arguments),
            None => self.builtin(id, builtin, arguments),
        }
    }
    /// `generic:new(vector,V,From)` and `generic:new(string,S,From,8)` are `new_vector(V,From)` and
    /// `new_string(S,From,8)`. Their modes say what they wait for and what they make, where those of `new`, which has
    /// objects of all classes, do not: so what uses the object may follow at once.
    fn new_object(
        &self,
        call: &syntax::program::Call,
        name: &[u8],
        arguments: &[Side<'a>],
    ) -> Option<(PredicateId, &'a Builtin, Vec<Side<'a>>)> {
        if name != b"new" || self.atoms.text(call.module?) != b"generic" {
            return None;
        }
        let (Side::Term(Term { kind: TermKind::Atom(class), .. }), made) = arguments.split_first()? else {
            return None;
        };
        let name: &[u8] = match (self.atoms.text(*class), made) {
            (b"vector", [_, _]) => b"new_vector",
            (b"string", [_, _, Side::Term(Term { kind: TermKind::Int(8), .. })]) => b"new_string",
            _ => return None,
        };
        let (id, builtin) = self.names.body(self.atoms.lookup(name)?, made.len())?;
        Some((id, builtin, made.to_vec()))
    }
    /// An update that also gives the old element: reads and writes apart, so that the new one may depend on the old
    /// one.
    fn replace(&mut self, call: &syntax::program::Call, name: &[u8], arguments: [Side<'a>; 5]) -> bool {
        let read: &[u8] = match name {
            b"set_vector_element" => b"vector_element",
            b"set_element" => b"element",
            _ => b"arg",
        };
        let find = |name: Atom, arity: usize| self.names.builtin(self.module, call.module, name, arity);
        let Some(read) = self.atoms.lookup(read) else { return false };
        let (Some(read), Some(write)) = (find(read, 3), find(call.name, 4)) else { return false };
        let [vector, index, old, new, result] = arguments;
        let unused = self.variable(old).is_some_and(|variable| self.is_void(variable));
        if !unused {
            self.builtin(read.0, read.1, vec![vector, index, old]);
        }
        self.builtin(write.0, write.1, vec![vector, index, new, result]);
        true
    }
    /// An anonymous variable: nothing else can mention it.
    fn is_void(&self, variable: VarId) -> bool {
        self.clause.variables.get(variable.0 as usize).is_some_and(|variable| variable.name == "_")
    }

    /// Unifications that only give a new variable its meaning disappear.
    fn name_terms(&mut self) {
        let items = std::mem::take(&mut self.items);
        for item in items {
            match item {
                Item::Unify(a, b, _) if self.give_name(a, b) || self.give_name(b, a) => {}
                other => self.items.push(other),
            }
        }
    }
    fn give_name(&mut self, target: Side<'a>, value: Side<'a>) -> bool {
        let Some(target) = self.variable(target) else { return false };
        let target = self.representative(target);
        if self.sources[target.0 as usize].is_some() {
            return false;
        }
        let source = match value {
            Side::Int(value) => Source::Known(Atomic::Int(value)),
            _ => match (self.variable(value), value) {
                (Some(variable), _) => {
                    let variable = self.representative(variable);
                    if variable == target {
                        return true;
                    }
                    if self.reaches(Side::Var(variable), target) {
                        return false;
                    }
                    Source::Alias(variable)
                }
                (None, Side::Term(term)) => {
                    if self.reaches(Side::Term(term), target) {
                        return false;
                    }
                    Source::Term(term)
                }
                (None, _) => return false,
            },
        };
        self.sources[target.0 as usize] = Some(source);
        true
    }
    /// Whether a side contains a variable, looking through names.
    fn reaches(&self, side: Side<'a>, target: VarId) -> bool {
        let mut found = false;
        self.each_variable(side, &mut |variable| found |= variable == target);
        found
    }
    /// Calls `visit` for the representatives in a term, looking through names, each once.
    fn each_variable(&self, side: Side<'a>, visit: &mut dyn FnMut(VarId)) {
        let mut seen = FxHashSet::default();
        let mut work = vec![side];
        while let Some(side) = work.pop() {
            if let Some(variable) = self.variable(side) {
                let variable = self.representative(variable);
                if !seen.insert(variable) {
                    continue;
                }
                visit(variable);
                if let Some(Source::Term(term)) = self.sources[variable.0 as usize] {
                    work.push(Side::Term(term));
                }
            } else if let Side::Term(term) = side {
                work.extend(term.parts().map(Side::Term));
            }
        }
    }
    /// Every output becomes a variable that nothing else defines; others are unified with it.
    fn settle_outputs(&mut self) {
        let items = std::mem::take(&mut self.items);
        for item in items {
            let Item::Inline(mut inline) = item else {
                self.items.push(item);
                continue;
            };
            let mut unifications = Vec::new();
            for output in &mut inline.outputs {
                let variable = self.representative(*output);
                if self.sources[variable.0 as usize].is_none() {
                    self.sources[variable.0 as usize] = Some(Source::Computed);
                    *output = variable;
                } else {
                    self.sources.push(Some(Source::Computed));
                    *output = VarId(self.sources.len() as u32 - 1);
                    self.stand_ins.insert(*output, Side::Var(variable));
                    unifications.push(Item::Unify(Side::Var(variable), Side::Var(*output), inline.at));
                }
            }
            self.items.push(Item::Inline(inline));
            self.items.extend(unifications);
        }
        for source in &mut self.sources {
            source.get_or_insert(Source::Fresh);
        }
    }
}

/// The builtin that a float operation is.
fn float_builtin(method: &str) -> String {
    match method {
        "float" => "integer_to_floating_point".into(),
        "int" => "floating_point_to_integer".into(),
        "pow" => "floating_point_power".into(),
        other => format!("floating_point_{other}"),
    }
}
