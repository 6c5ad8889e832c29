//! The operator table: KL1's default one, changeable at run time (`addop`, `rmop`).

use rustc_hash::FxHashMap;
use term::{Atom, AtomTable};

/// How an operator stands and how it groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OpType {
    /// Prefix; the argument's priority is lower.
    Fx,
    /// Prefix; the argument's priority may be equal.
    Fy,
    /// Infix; both lower.
    Xfx,
    /// Infix; groups to the right.
    Xfy,
    /// Infix; groups to the left.
    Yfx,
    /// Postfix; lower.
    Xf,
    /// Postfix; may be equal.
    Yf,
}

impl OpType {
    /// All of them.
    pub const ALL: [OpType; 7] =
        [OpType::Fx, OpType::Fy, OpType::Xfx, OpType::Xfy, OpType::Yfx, OpType::Xf, OpType::Yf];
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            OpType::Fx => "fx",
            OpType::Fy => "fy",
            OpType::Xfx => "xfx",
            OpType::Xfy => "xfy",
            OpType::Yfx => "yfx",
            OpType::Xf => "xf",
            OpType::Yf => "yf",
        }
    }
    /// From its name (`xfx`).
    pub fn from_name(name: &[u8]) -> Option<OpType> {
        Some(match name {
            b"fx" => OpType::Fx,
            b"fy" => OpType::Fy,
            b"xfx" => OpType::Xfx,
            b"xfy" => OpType::Xfy,
            b"yfx" => OpType::Yfx,
            b"xf" => OpType::Xf,
            b"yf" => OpType::Yf,
            _ => return None,
        })
    }
}

/// An operator's priority and the highest priorities of its operands (0 for a missing one).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// Its own priority, 1 to 1200.
    pub priority: u16,
    /// Of the operand before it.
    pub left: u16,
    /// Of the operand after it.
    pub right: u16,
}

/// Highest priority of a term.
pub const PRIORITY_MAX: u16 = 1200;
/// Highest priority of an argument or list item.
pub const ARGUMENT_MAX: u16 = 999;
/// `,` between terms.
pub const COMMA_OP: Op = Op { priority: 1000, left: 999, right: 1000 };
/// `|` between terms.
pub const BAR_OP: Op = Op { priority: 1100, left: 1099, right: 1100 };

/// Operators by atom: at most one prefix, one infix and one postfix each.
#[derive(Clone, Debug, Default)]
pub struct OpTable {
    prefix: FxHashMap<Atom, Op>,
    infix: FxHashMap<Atom, Op>,
    postfix: FxHashMap<Atom, Op>,
    /// A bit for each atom up to the last one here: whether it is one of them.
    any: Vec<u64>,
}

const DEFAULT: &[(OpType, u16, &str)] = &[
    (OpType::Fx, 80, "module"),
    (OpType::Fx, 100, "#"),
    (OpType::Fx, 200, "&"),
    (OpType::Fy, 300, "~ $~"),
    (OpType::Fx, 500, "+ -"),
    (OpType::Fy, 900, "\\+ spy nospy"),
    (OpType::Fx, 1150, "implicit local_implicit mode public with_macro"),
    (OpType::Fx, 1200, ":- ?-"),
    (OpType::Xfx, 90, "::"),
    (OpType::Xfx, 100, "#"),
    (OpType::Xfy, 200, "^"),
    (OpType::Xfx, 300, "mod"),
    (OpType::Xfy, 300, "**"),
    (OpType::Yfx, 400, "* / // << >>"),
    (OpType::Yfx, 500, "+ - /\\ \\/ xor"),
    (OpType::Xfx, 700, "= := == \\= \\== =.. is =:= =\\= < > =< >= <= => <== <<= @< @=< @> @>= += -= *= /="),
    (OpType::Xfx, 700, "$:= $< $<= $=:= $=< $=\\= $> $>= $+= $-= $*= $/="),
    (OpType::Xfx, 700, "$$:= $$< $$<= $$=:= $$=< $$=\\= $$> $$>="),
    (OpType::Xfx, 700, "&< &<= &=< &> &>="),
    (OpType::Xfy, 700, "@"),
    (OpType::Xfy, 800, ":"),
    (OpType::Xfy, 1000, ","),
    (OpType::Xfy, 1050, "->"),
    (OpType::Xfy, 1100, "; |"),
    (OpType::Xfx, 1200, ":- -->"),
    (OpType::Xf, 150, "++ --"),
];

/// KL1's default operators: type, priority, name.
pub fn default_operators() -> impl Iterator<Item = (OpType, u16, &'static str)> {
    DEFAULT
        .iter()
        .flat_map(|&(kind, priority, names)| names.split(' ').map(move |name| (kind, priority, name)))
}

/// Operators of source files only.
const SOURCE: [(OpType, u16, &str); 1] = [(OpType::Fx, 1150, "daemon")];

/// The operators of source files: type, priority, name.
pub fn source_operators() -> impl Iterator<Item = (OpType, u16, &'static str)> {
    default_operators().chain(SOURCE)
}

impl OpTable {
    /// KL1's default operators.
    pub fn default_table(atoms: &AtomTable) -> Self {
        let mut table = OpTable::default();
        for (kind, priority, name) in default_operators() {
            table.add(atoms.intern(name.as_bytes()), kind, priority);
        }
        table
    }
    /// The operators of source files: the default ones, and `daemon` for the library's directive.
    pub fn source_table(atoms: &AtomTable) -> Self {
        let mut table = Self::default_table(atoms);
        for (kind, priority, name) in SOURCE {
            table.add(atoms.intern(name.as_bytes()), kind, priority);
        }
        table
    }
    /// Adds an operator, in place of one of the same kind; a priority outside 1..1200 is refused (`false`).
    pub fn add(&mut self, atom: Atom, kind: OpType, priority: u16) -> bool {
        if priority == 0 || priority > PRIORITY_MAX {
            return false;
        }
        let below = priority - 1;
        let (left, right) = match kind {
            OpType::Fx => (0, below),
            OpType::Fy => (0, priority),
            OpType::Xfx => (below, below),
            OpType::Xfy => (below, priority),
            OpType::Yfx => (priority, below),
            OpType::Xf => (below, 0),
            OpType::Yf => (priority, 0),
        };
        self.class(kind).insert(atom, Op { priority, left, right });
        let (place, bit) = Self::bit(atom);
        if place >= self.any.len() {
            self.any.resize(place + 1, 0);
        }
        self.any[place] |= bit;
        true
    }
    /// Removes the operator of this kind (any of the infix kinds removes the infix one).
    pub fn remove(&mut self, atom: Atom, kind: OpType) {
        self.class(kind).remove(&atom);
        let left = [&self.prefix, &self.infix, &self.postfix].iter().any(|class| class.contains_key(&atom));
        let (place, bit) = Self::bit(atom);
        if !left && let Some(bits) = self.any.get_mut(place) {
            *bits &= !bit;
        }
    }
    /// An atom's place in `any`.
    fn bit(atom: Atom) -> (usize, u64) {
        (atom.0 as usize / 64, 1 << (atom.0 % 64))
    }
    #[inline]
    fn of(&self, class: &FxHashMap<Atom, Op>, atom: Atom) -> Option<Op> {
        if self.is_operator(atom) { class.get(&atom).copied() } else { None }
    }
    fn class(&mut self, kind: OpType) -> &mut FxHashMap<Atom, Op> {
        match kind {
            OpType::Fx | OpType::Fy => &mut self.prefix,
            OpType::Xfx | OpType::Xfy | OpType::Yfx => &mut self.infix,
            OpType::Xf | OpType::Yf => &mut self.postfix,
        }
    }
    /// As a prefix operator.
    pub fn prefix(&self, atom: Atom) -> Option<Op> {
        self.of(&self.prefix, atom)
    }
    /// As an infix operator.
    pub fn infix(&self, atom: Atom) -> Option<Op> {
        self.of(&self.infix, atom)
    }
    /// As a postfix operator.
    pub fn postfix(&self, atom: Atom) -> Option<Op> {
        self.of(&self.postfix, atom)
    }
    /// Any kind of operator.
    #[inline]
    pub fn is_operator(&self, atom: Atom) -> bool {
        let (place, bit) = Self::bit(atom);
        self.any.get(place).is_some_and(|bits| bits & bit != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_atom_is_an_operator_until_the_last_of_its_kinds_is_removed() {
        let atoms = AtomTable::new();
        let (minus, far) = (atoms.intern(b"-"), Atom(100_000));
        let mut table = OpTable::default_table(&atoms);
        assert!(!table.is_operator(far) && table.infix(far).is_none());
        table.remove(far, OpType::Xfx);
        table.add(far, OpType::Xf, 100);
        assert!(table.is_operator(far) && table.postfix(far).is_some() && table.prefix(far).is_none());
        assert!(!table.is_operator(Atom(99_999)) && !table.is_operator(Atom(100_001)));
        table.remove(minus, OpType::Fy);
        assert!(table.is_operator(minus) && table.prefix(minus).is_none() && table.infix(minus).is_some());
        table.remove(minus, OpType::Xfy);
        table.remove(far, OpType::Yf);
        for atom in [minus, far] {
            assert!(!table.is_operator(atom) && table.infix(atom).is_none() && table.postfix(atom).is_none());
        }
    }
}
