//! What a program means, without nodes: classes of variables that were unified, and their values.

/// A value of a class.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Value {
    Atom(u32),
    /// A pair of two variables.
    Pair(u8, u8),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Oracle {
    parents: Vec<u8>,
    values: Vec<Option<Value>>,
    /// Two different values were unified.
    pub(super) failed: bool,
}

impl Oracle {
    pub(super) fn new(variables: u8) -> Oracle {
        let values = vec![None; variables.into()];
        Oracle { parents: (0..variables).collect(), values, failed: false }
    }
    pub(super) fn class(&self, mut variable: u8) -> u8 {
        while self.parents[variable as usize] != variable {
            variable = self.parents[variable as usize];
        }
        variable
    }
    pub(super) fn value(&self, variable: u8) -> Option<Value> {
        self.values[self.class(variable) as usize]
    }
    pub(super) fn bind(&mut self, variable: u8, value: Value) {
        let class = self.class(variable) as usize;
        match (self.values[class], value) {
            (None, value) => self.values[class] = Some(value),
            (Some(Value::Atom(a)), Value::Atom(b)) => self.failed |= a != b,
            (Some(Value::Pair(a, b)), Value::Pair(c, d)) => {
                self.unite(a, c);
                self.unite(b, d);
            }
            _ => self.failed = true,
        }
    }
    pub(super) fn unite(&mut self, a: u8, b: u8) {
        let (a, b) = (self.class(a), self.class(b));
        // Infinite terms would be unified for ever; `is_finite` tells them.
        if a == b || !self.is_finite() {
            return;
        }
        self.parents[b as usize] = a;
        if let Some(value) = self.values[b as usize].take() {
            self.bind(a, value);
        }
    }
    pub(super) fn has_pairs(&self) -> bool {
        self.values.iter().any(|value| matches!(value, Some(Value::Pair(..))))
    }
    /// No class is a part of itself.
    pub(super) fn is_finite(&self) -> bool {
        let mut done = vec![0u8; self.parents.len()];
        (0..self.parents.len()).all(|variable| self.visit(variable as u8, &mut done))
    }
    fn visit(&self, variable: u8, done: &mut [u8]) -> bool {
        let class = self.class(variable) as usize;
        match done[class] {
            0 => {
                done[class] = 1;
                let finite = match self.values[class] {
                    Some(Value::Pair(a, b)) => self.visit(a, done) && self.visit(b, done),
                    _ => true,
                };
                done[class] = 2;
                finite
            }
            state => state == 2,
        }
    }
}
