//! A reduction: the first clause whose head and guard hold, and what its body makes; or a suspension.

use super::code::{Action, Clause, Code, Shape, Test, Value};
use super::machine::Machine;
use super::memory::{Memory, Word};
use term::abi::{Cond, IntOp};

/// What a clause, or a test in it, gives.
#[derive(Clone, Copy, PartialEq)]
enum Tried {
    Holds,
    Fails,
    /// It waits for the variable in this cell.
    Waits(u32),
}

impl Machine<'_> {
    /// Reduces a processor's current goal, or suspends it.
    pub(super) fn reduce(&mut self, at: usize) -> Result<(), String> {
        let Some(predicate) = self.processors[at].current.take() else { return Ok(()) };
        let code: &Code = self.code;
        let arguments = std::mem::take(&mut self.processors[at].arguments);
        let mut variables = std::mem::take(&mut self.variables);
        let mut waits_for = Vec::new();
        let mut chosen = None;
        for clause in &code.predicates[predicate as usize].clauses {
            if clause.otherwise && !waits_for.is_empty() {
                break;
            }
            match holds(&self.memory, clause, &arguments, &mut variables)? {
                Tried::Holds => {
                    chosen = Some(clause);
                    break;
                }
                Tried::Fails => {}
                Tried::Waits(cell) if waits_for.contains(&cell) => {}
                Tried::Waits(cell) => waits_for.push(cell),
            }
        }
        let before = self.processors[at].local.consumed;
        let costs = self.setup.costs;
        let time = match chosen {
            Some(clause) => {
                let bindings = self.counts.bindings;
                self.counts.reductions += 1;
                self.commit(at, clause, &mut variables, arguments)?;
                self.counts.lock += (1 + self.counts.bindings - bindings) * costs.lock;
                costs.reduction
            }
            None if waits_for.is_empty() => {
                let predicate = &code.predicates[predicate as usize];
                return Err(format!("no clause of {}/{} commits", predicate.name, predicate.arity));
            }
            None => {
                self.suspend(at, predicate, arguments, &waits_for)?;
                costs.reduction / 2
            }
        };
        self.variables = variables;
        let words = self.processors[at].local.consumed - before;
        self.processors[at].clock += time + words * costs.word;
        Ok(())
    }

    fn suspend(
        &mut self,
        at: usize,
        predicate: u32,
        arguments: Vec<Word>,
        cells: &[u32],
    ) -> Result<(), String> {
        let goal = self.pack(at, predicate, &arguments)?;
        self.processors[at].arguments = arguments;
        let local = &mut self.processors[at].local;
        let flag = self.memory.record(local, 2)?;
        self.memory.set(flag, Word::Waits(goal, cells.len() == 1));
        for &cell in cells {
            let record = self.memory.record(local, 1)?;
            self.memory.set(record, Word::Flag(flag));
            let next = if let next @ Word::Hook(_) = self.memory.get(cell) { next } else { Word::Empty };
            self.memory.set(record + 1, next);
            self.memory.set(cell, Word::Hook(record));
        }
        self.counts.suspensions += 1;
        self.suspended += 1;
        Ok(())
    }

    fn commit(
        &mut self,
        at: usize,
        clause: &Clause,
        variables: &mut [Word],
        mut arguments: Vec<Word>,
    ) -> Result<(), String> {
        let others = self.processors[at].ready.len();
        let (mut first, mut pushed) = (None, std::mem::take(&mut self.pushed));
        for action in &clause.body {
            match action {
                Action::Compute(shape, value) => {
                    let value = evaluate(&self.memory, value, variables).and_then(known)?;
                    match *shape {
                        Shape::Variable(variable) if variables[variable] == Word::Empty => {
                            variables[variable] = Word::Int(value);
                        }
                        _ => {
                            let built = self.build(at, shape, variables)?;
                            self.unify(at, built, Word::Int(value))?;
                        }
                    }
                }
                Action::Replace(parts) => self.replace(at, parts, variables)?,
                Action::Unify(left, right) => {
                    let (left, right) = (self.build(at, left, variables)?, self.build(at, right, variables)?);
                    self.unify(at, left, right)?;
                }
                Action::Goal(predicate, parts) => {
                    self.counts.goals += 1;
                    let target = if first.is_none() { &mut arguments } else { &mut pushed };
                    target.clear();
                    for part in parts {
                        let built;
                        let word = match part {
                            Shape::Constant(word) => word,
                            Shape::Variable(variable) if variables[*variable] != Word::Empty => {
                                self.memory.end(&variables[*variable])
                            }
                            _ => {
                                built = self.build(at, part, variables)?;
                                &built
                            }
                        };
                        target.push(*word);
                    }
                    if first.is_none() {
                        first = Some(*predicate);
                    } else {
                        let record = self.pack(at, *predicate, target)?;
                        self.processors[at].ready.push_back(record);
                        self.counts.pushes += 1;
                    }
                }
            }
        }
        self.pushed = pushed;
        // The goals run in textual order: the second lies on top.
        let ready = self.processors[at].ready.make_contiguous();
        ready[others..].reverse();
        self.processors[at].current = first;
        self.processors[at].arguments = arguments;
        Ok(())
    }

    /// A term of a body. A variable that is new is a cell of its own.
    fn build(&mut self, at: usize, shape: &Shape, variables: &mut [Word]) -> Result<Word, String> {
        let parts: &[Shape] = match shape {
            Shape::Constant(word) => return Ok(*word),
            Shape::Variable(variable) => {
                if variables[*variable] == Word::Empty {
                    let cell = self.memory.take(&mut self.processors[at].local, 1)?;
                    self.memory.set(cell, Word::Unbound);
                    variables[*variable] = Word::Ref(cell);
                }
                return Ok(self.memory.deref(variables[*variable]));
            }
            Shape::List(parts) => &parts[..],
            Shape::Vector(parts) => parts,
        };
        let count = parts.len() as u32;
        let built = self.memory.take(&mut self.processors[at].local, count)?;
        for (cell, part) in (built..).zip(parts) {
            let word = match part {
                // A new variable lies in the structure.
                Shape::Variable(variable) if variables[*variable] == Word::Empty => {
                    variables[*variable] = Word::Ref(cell);
                    Word::Unbound
                }
                part => self.build(at, part, variables)?,
            };
            self.memory.set(cell, word);
        }
        Ok(if let Shape::List(_) = shape { Word::List(built) } else { Word::Vector(built, count) })
    }

    fn replace(&mut self, at: usize, parts: &[Shape; 4], variables: &mut [Word]) -> Result<(), String> {
        let [vector, index, element, result] = parts;
        let vector = self.build(at, vector, variables)?;
        let (Word::Vector(from, count), Word::Int(index)) = (vector, self.build(at, index, variables)?)
        else {
            return Err("set_vector_element waits for its arguments: not a part of the machine".into());
        };
        if !(0..i64::from(count)).contains(&index) {
            return Err(format!("a vector of {count} has no element {index}"));
        }
        let element = self.build(at, element, variables)?;
        let to = self.memory.take(&mut self.processors[at].local, count)?;
        for n in 0..count {
            let word = if i64::from(n) == index { element } else { self.memory.load(from + n) };
            self.memory.set(to + n, word);
        }
        match *result {
            Shape::Variable(variable) if variables[variable] == Word::Empty => {
                variables[variable] = Word::Vector(to, count);
                Ok(())
            }
            _ => {
                let result = self.build(at, result, variables)?;
                self.unify(at, result, Word::Vector(to, count))
            }
        }
    }

    /// Makes two terms equal. The error says that they cannot be.
    fn unify(&mut self, at: usize, left: Word, right: Word) -> Result<(), String> {
        let mut work = Vec::new();
        let mut next = Some((left, right));
        while let Some((left, right)) = next {
            match (self.memory.deref(left), self.memory.deref(right)) {
                (left, right) if left == right => {}
                (Word::Ref(cell), value) | (value, Word::Ref(cell)) => self.bind(at, cell, value),
                (Word::List(left), Word::List(right)) => {
                    work.extend((0..2).map(|n| (self.memory.load(left + n), self.memory.load(right + n))));
                }
                (Word::Vector(left, count), Word::Vector(right, other)) if count == other => {
                    work.extend(
                        (0..count).map(|n| (self.memory.load(left + n), self.memory.load(right + n))),
                    );
                }
                (left, right) => return Err(format!("{left:?} and {right:?} do not unify")),
            }
            next = work.pop();
        }
        Ok(())
    }

    /// Binds a variable, to a value or to another variable, and resumes the goals that wait for it.
    fn bind(&mut self, at: usize, cell: u32, value: Word) {
        self.counts.bindings += 1;
        let hook = self.memory.get(cell);
        self.memory.set(cell, value);
        let Word::Hook(first) = hook else { return };
        if let Word::Ref(other) = value {
            // Goals that wait for either wait for the other.
            let mut last = first;
            while let Word::Hook(next) = self.memory.get(last + 1) {
                last = next;
            }
            if let next @ Word::Hook(_) = self.memory.get(other) {
                self.memory.set(last + 1, next);
            }
            self.memory.set(other, hook);
            return;
        }
        let processor = &mut self.processors[at];
        let mut next = hook;
        while let Word::Hook(record) = next {
            next = self.memory.get(record + 1);
            if let Word::Flag(flag) = self.memory.get(record)
                && let Word::Waits(goal, alone) = self.memory.get(flag)
            {
                self.memory.set(flag, Word::Resumed);
                processor.ready.push_back(goal);
                self.suspended -= 1;
                if alone {
                    processor.local.free[2].push(flag);
                }
            }
            processor.local.free[1].push(record);
        }
    }
}

/// Whether a clause's head and guard hold. A part that fails decides, even after one that waits.
fn holds(
    memory: &Memory,
    clause: &Clause,
    arguments: &[Word],
    variables: &mut Vec<Word>,
) -> Result<Tried, String> {
    // Most clauses that fail do so here.
    if clause.strict.iter().any(|&part| differ(&clause.head[part], memory.end(&arguments[part]))) {
        return Ok(Tried::Fails);
    }
    variables.clear();
    variables.resize(clause.variables, Word::Empty);
    let mut waits = None;
    for (shape, word) in clause.head.iter().zip(arguments) {
        if let Shape::Variable(variable) = *shape
            && variables[variable] == Word::Empty
        {
            variables[variable] = *memory.end(word);
            continue;
        }
        match matches(memory, shape, *word, variables) {
            Tried::Holds => {}
            Tried::Fails => return Ok(Tried::Fails),
            Tried::Waits(cell) => waits = waits.or(Some(cell)),
        }
    }
    if let Some(cell) = waits {
        return Ok(Tried::Waits(cell));
    }
    for test in &clause.guard {
        let tried = guard(memory, test, variables)?;
        if tried != Tried::Holds {
            return Ok(tried);
        }
    }
    Ok(Tried::Holds)
}

/// Whether a value cannot match a term of a head, whatever their parts are.
#[inline]
fn differ(shape: &Shape, word: &Word) -> bool {
    match (shape, word) {
        (Shape::Variable(_), _) | (_, Word::Ref(_)) => false,
        (Shape::Constant(Word::Int(one)), Word::Int(other)) => one != other,
        (Shape::Constant(one), other) => one != other,
        (Shape::List(_), Word::List(_)) => false,
        (Shape::Vector(parts), Word::Vector(_, count)) => *count as usize != parts.len(),
        (Shape::List(_) | Shape::Vector(_), _) => true,
    }
}

fn matches(memory: &Memory, shape: &Shape, word: Word, variables: &mut [Word]) -> Tried {
    let word = memory.deref(word);
    let parts: &[Shape] = match shape {
        Shape::Variable(variable) if variables[*variable] == Word::Empty => {
            variables[*variable] = word;
            return Tried::Holds;
        }
        Shape::Variable(variable) => return equal(memory, variables[*variable], word),
        Shape::Constant(constant) if *constant == word => return Tried::Holds,
        Shape::Constant(_) => &[],
        Shape::List(parts) => &parts[..],
        Shape::Vector(parts) => parts,
    };
    let first = match (shape, word) {
        (_, Word::Ref(cell)) => return Tried::Waits(cell),
        (Shape::List(_), Word::List(first)) => first,
        (Shape::Vector(_), Word::Vector(first, count)) if count as usize == parts.len() => first,
        _ => return Tried::Fails,
    };
    let mut tried = Tried::Holds;
    for (cell, part) in (first..).zip(parts) {
        match matches(memory, part, memory.load(cell), variables) {
            Tried::Fails => return Tried::Fails,
            other if tried == Tried::Holds => tried = other,
            _ => {}
        }
    }
    tried
}

fn equal(memory: &Memory, left: Word, right: Word) -> Tried {
    let mut work = Vec::new();
    let mut next = Some((left, right));
    while let Some((left, right)) = next {
        match (memory.deref(left), memory.deref(right)) {
            (left, right) if left == right => {}
            (Word::Ref(cell), _) | (_, Word::Ref(cell)) => return Tried::Waits(cell),
            (Word::List(left), Word::List(right)) => {
                work.extend((0..2).rev().map(|n| (memory.load(left + n), memory.load(right + n))));
            }
            (Word::Vector(left, count), Word::Vector(right, other)) if count == other => {
                work.extend((0..count).rev().map(|n| (memory.load(left + n), memory.load(right + n))));
            }
            _ => return Tried::Fails,
        }
        next = work.pop();
    }
    Tried::Holds
}

fn guard(memory: &Memory, test: &Test, variables: &mut [Word]) -> Result<Tried, String> {
    Ok(match test {
        Test::Integer(variable) => match memory.deref(variables[*variable]) {
            Word::Int(_) => Tried::Holds,
            Word::Ref(cell) => Tried::Waits(cell),
            _ => Tried::Fails,
        },
        Test::Bound(variable) => match memory.deref(variables[*variable]) {
            Word::Ref(cell) => Tried::Waits(cell),
            _ => Tried::Holds,
        },
        Test::Compute(variable, value) => match evaluate(memory, value, variables)? {
            Ok(value) => {
                variables[*variable] = Word::Int(value);
                Tried::Holds
            }
            Err(tried) => tried,
        },
        Test::Compare(condition, left, right) => {
            match (evaluate(memory, left, variables)?, evaluate(memory, right, variables)?) {
                (Ok(left), Ok(right)) if compare(*condition, left, right) => Tried::Holds,
                (Ok(_), Ok(_)) => Tried::Fails,
                (Err(tried), _) | (_, Err(tried)) => tried,
            }
        }
        Test::Element(vector, index, element) => {
            let word = |shape: &Shape| match shape {
                Shape::Variable(variable) => memory.deref(variables[*variable]),
                Shape::Constant(word) => *word,
                _ => Word::Empty,
            };
            match (word(vector), word(index)) {
                (Word::Ref(cell), _) | (_, Word::Ref(cell)) => Tried::Waits(cell),
                (Word::Vector(first, count), Word::Int(index)) if (0..i64::from(count)).contains(&index) => {
                    variables[*element] = memory.deref(memory.load(first + index as u32));
                    Tried::Holds
                }
                _ => Tried::Fails,
            }
        }
    })
}

fn compare(condition: Cond, left: i64, right: i64) -> bool {
    match condition {
        Cond::Lt => left < right,
        Cond::Le => left <= right,
        Cond::Gt => left > right,
        Cond::Ge => left >= right,
        Cond::Eq => left == right,
        Cond::Ne => left != right,
    }
}

/// The value of an expression in a body, whose operands must be there.
fn known(value: Result<i64, Tried>) -> Result<i64, String> {
    value.map_err(|_| "an operand of := is not there: not a part of the machine".into())
}

/// An expression's value; or, if an operand is no integer, what that means for a guard.
fn evaluate(memory: &Memory, value: &Value, variables: &[Word]) -> Result<Result<i64, Tried>, String> {
    let (operation, operands) = match value {
        Value::Constant(value) => return Ok(Ok(*value)),
        Value::Variable(variable) => {
            return Ok(match memory.deref(variables[*variable]) {
                Word::Int(value) => Ok(value),
                Word::Ref(cell) => Err(Tried::Waits(cell)),
                _ => Err(Tried::Fails),
            });
        }
        Value::Of(operation, operands) => (*operation, operands),
    };
    let left = match evaluate(memory, &operands[0], variables)? {
        Ok(left) => left,
        Err(tried) => return Ok(Err(tried)),
    };
    let right = match operands.get(1).map(|operand| evaluate(memory, operand, variables)).transpose()? {
        Some(Ok(right)) => right,
        Some(Err(tried)) => return Ok(Err(tried)),
        None => 0,
    };
    let shift = u32::try_from(right);
    let result = match operation {
        IntOp::Add => left.checked_add(right),
        IntOp::Sub => left.checked_sub(right),
        IntOp::Mul => left.checked_mul(right),
        IntOp::Div => left.checked_div(right),
        IntOp::Mod => left.checked_rem(right),
        IntOp::And => Some(left & right),
        IntOp::Or => Some(left | right),
        IntOp::Xor => Some(left ^ right),
        IntOp::Shl => shift.ok().filter(|&by| by < 62).and_then(|by| left.checked_mul(1 << by)),
        IntOp::Shr => shift.ok().map(|by| left >> by.min(63)),
        IntOp::Neg => left.checked_neg(),
        IntOp::Not => Some(!left),
    };
    result.map(Ok).ok_or_else(|| format!("{operation:?} of {left} and {right} is no word"))
}
