//! Active unification, and the passive comparisons of guards.

use super::Outcome;
use super::builtins::random;
use super::scheduler::Machine;
use super::terms::{Cell, Id, SuspensionId, Value};
use std::cmp::Ordering;

/// What a test says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// It succeeds.
    Yes,
    /// It fails.
    No,
    /// It cannot say before this variable is bound.
    Wait(Id),
}

impl Answer {
    pub(super) fn of(condition: bool) -> Answer {
        if condition { Answer::Yes } else { Answer::No }
    }
}

impl Machine<'_> {
    /// `X = Y` in a body: binds variables from left to right. A mismatch ends the run.
    pub(super) fn unify(&mut self, a: Id, b: Id) {
        let mut pairs = vec![(a, b)];
        while let Some((a, b)) = pairs.pop() {
            self.count_step();
            if self.stop.is_some() {
                return;
            }
            let (a, b) = (self.store.deref(a), self.store.deref(b));
            if a != b && !self.unify_cells(a, b, &mut pairs) {
                self.mismatch(a, b);
                return;
            }
        }
    }

    /// One step; false when the principal parts differ.
    fn unify_cells(&mut self, a: Id, b: Id, pairs: &mut Vec<(Id, Id)>) -> bool {
        match (self.store.cell(a), self.store.cell(b)) {
            (Cell::Generator(_), Cell::Value(_) | Cell::Generator(_)) => {
                random::force(self, a);
                pairs.push((a, b));
            }
            (Cell::Value(_), Cell::Generator(_)) => pairs.push((b, a)),
            (Cell::Unbound(_), Cell::Unbound(_)) => self.alias(a, b),
            (Cell::Unbound(_), _) => self.bind(a, b),
            (_, Cell::Unbound(_)) => self.bind(b, a),
            (Cell::Value(x), Cell::Value(y)) => match children(x, y) {
                Some(found) => pairs.extend(found.into_iter().rev()),
                None => return false,
            },
            (Cell::Link(_), _) | (_, Cell::Link(_)) => unreachable!("T2: both were dereferenced"),
        }
        true
    }

    /// Two variables become one; both keep their waiters, in the order of suspending.
    fn alias(&mut self, a: Id, b: Id) {
        let Cell::Unbound(mut waiters) = self.store.replace(a, Cell::Link(b)) else {
            unreachable!("matched")
        };
        let Cell::Unbound(others) = self.store.replace(b, Cell::Link(b)) else { unreachable!("matched") };
        waiters.extend(others);
        waiters.sort_unstable_by_key(|waiter: &SuspensionId| waiter.0);
        waiters.dedup();
        self.store.replace(b, Cell::Unbound(waiters));
    }

    /// A variable gets a value (or becomes a generator, which its waiters ask at once).
    fn bind(&mut self, variable: Id, target: Id) {
        let Cell::Unbound(waiters) = self.store.replace(variable, Cell::Link(target)) else {
            unreachable!("the caller matched an unbound cell")
        };
        self.resume(waiters);
    }

    fn mismatch(&mut self, a: Id, b: Id) {
        let goal = format!("unify_term_dcode:unify({},{})", self.show(a), self.show(b));
        self.fault("unification_failure", Outcome::Failure { goal });
    }

    /// `=` of two known terms in a guard: on values, so even one variable given twice waits.
    pub(super) fn same(&mut self, a: Id, b: Id) -> Answer {
        let mut wait = None;
        let mut pairs = vec![(a, b)];
        while let Some((a, b)) = pairs.pop() {
            self.count_step();
            if self.stop.is_some() {
                return Answer::No;
            }
            match (self.store.get(a), self.store.get(b)) {
                (Some(x), Some(y)) => match children(x, y) {
                    Some(found) => pairs.extend(found.into_iter().rev()),
                    None => return Answer::No,
                },
                (x, _) => {
                    wait = wait.or(Some(if x.is_none() { self.store.deref(a) } else { self.store.deref(b) }))
                }
            }
        }
        wait.map_or(Answer::Yes, Answer::Wait)
    }

    /// `\=`: whether the principal parts differ.
    pub(super) fn differ(&self, a: Id, b: Id) -> Answer {
        let Some(x) = self.store.get(a) else { return Answer::Wait(self.store.deref(a)) };
        let Some(y) = self.store.get(b) else { return Answer::Wait(self.store.deref(b)) };
        Answer::of(match (x, y) {
            // Two objects of one class never differ (their contents are not looked at).
            (Value::Float(_), Value::Float(_))
            | (Value::String(_), Value::String(_))
            | (Value::Vector(_), Value::Vector(_)) => false,
            _ => children(x, y).is_none(),
        })
    }

    /// Standard order: below zero, zero or above; `Err` is a variable to wait for.
    pub(super) fn order(&mut self, a: Id, b: Id) -> Result<i64, Id> {
        let mut rest = vec![Comparison::Terms(a, b)];
        while let Some(comparison) = rest.pop() {
            self.count_step();
            if self.stop.is_some() {
                return Ok(0);
            }
            let (a, b) = match comparison {
                Comparison::Terms(a, b) => (a, b),
                Comparison::Lengths(0) => continue,
                Comparison::Lengths(difference) => return Ok(difference),
            };
            let Some(x) = self.store.get(a) else { return Err(self.store.deref(a)) };
            let Some(y) = self.store.get(b) else { return Err(self.store.deref(b)) };
            if let (Value::Vector(xs), Value::Vector(ys)) = (x, y) {
                rest.push(Comparison::Lengths(length_order(xs.len(), ys.len())));
                rest.extend(xs.iter().zip(ys.iter()).rev().map(|(&a, &b)| Comparison::Terms(a, b)));
                continue;
            }
            let difference = self.principal_order(x, y);
            if difference != 0 {
                return Ok(difference);
            }
            let pairs = children(x, y).unwrap_or_default().into_iter().rev();
            rest.extend(pairs.map(|(a, b)| Comparison::Terms(a, b)));
        }
        Ok(0)
    }

    /// The order of what is not in the arguments.
    fn principal_order(&self, x: &Value, y: &Value) -> i64 {
        let text = |atom: term::Atom| self.atoms.text(atom);
        let order = match (x, y) {
            (Value::Int(_) | Value::Big(_), Value::Int(_) | Value::Big(_)) => {
                super::numbers::integer_order(x, y).expect("both are integers")
            }
            (Value::Atom(a), Value::Atom(b)) | (Value::Module(a), Value::Module(b)) => text(*a).cmp(text(*b)),
            (Value::Struct(f, xs), Value::Struct(g, ys)) => {
                text(*f).cmp(text(*g)).then(xs.len().cmp(&ys.len()))
            }
            (Value::String(a), Value::String(b)) => return string_order(a, b),
            (Value::Float(a), Value::Float(b)) => a.partial_cmp(b).unwrap_or(a.total_cmp(b)),
            (Value::Predicate(m, p, n), Value::Predicate(k, q, l)) => {
                text(*m).cmp(text(*k)).then_with(|| text(*p).cmp(text(*q))).then(n.cmp(l))
            }
            (Value::Handle(a), Value::Handle(b)) => a.cmp(b),
            _ => rank(x).cmp(&rank(y)),
        };
        order as i64
    }
}

/// What is left of two terms whose order is wanted.
enum Comparison {
    Terms(Id, Id),
    /// Of two vectors whose common elements are equal.
    Lengths(i64),
}

/// The order of two vectors, the longer of which begins with the elements of the other.
fn length_order(a: usize, b: usize) -> i64 {
    let longer = a.max(b) as i64;
    a.cmp(&b) as i64 * (longer + 1)
}

/// Bytes in order; the result tells the first difference (from 1), negative when the first string is smaller.
fn string_order(a: &[u8], b: &[u8]) -> i64 {
    let common = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let position = common as i64 + 1;
    match a[common..].cmp(&b[common..]) {
        Ordering::Less => -position,
        Ordering::Equal => 0,
        Ordering::Greater => position,
    }
}

/// The order across types.
fn rank(value: &Value) -> u8 {
    match value {
        Value::Int(_) | Value::Big(_) => 0,
        Value::Atom(_) => 1,
        Value::List(..) => 2,
        Value::Struct(..) => 3,
        Value::String(_) => 4,
        Value::Float(_) => 5,
        Value::Vector(_) => 6,
        Value::Predicate(..) => 7,
        Value::Module(_) => 8,
        Value::Handle(_) => 9,
    }
}

/// The pairs of arguments still to compare; `None` when the principal parts differ.
fn children(x: &Value, y: &Value) -> Option<Vec<(Id, Id)>> {
    let same = match (x, y) {
        (Value::Int(a), Value::Int(b)) => a == b,
        (Value::Big(a), Value::Big(b)) => a == b,
        // Not-a-number is the same term as itself, though it is no number that equals one.
        (Value::Float(a), Value::Float(b)) => a == b || a.to_bits() == b.to_bits(),
        (Value::Atom(a), Value::Atom(b)) | (Value::Module(a), Value::Module(b)) => a == b,
        (Value::String(a), Value::String(b)) => a == b,
        (Value::Handle(a), Value::Handle(b)) => a == b,
        (Value::Predicate(m, p, n), Value::Predicate(k, q, l)) => (m, p, n) == (k, q, l),
        (Value::List(a, r), Value::List(b, s)) => return Some(vec![(*a, *b), (*r, *s)]),
        (Value::Struct(f, xs), Value::Struct(g, ys)) if f == g && xs.len() == ys.len() => {
            return Some(xs.iter().copied().zip(ys.iter().copied()).collect());
        }
        (Value::Vector(xs), Value::Vector(ys)) if xs.len() == ys.len() => {
            return Some(xs.iter().copied().zip(ys.iter().copied()).collect());
        }
        _ => false,
    };
    same.then(Vec::new)
}
