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
        table.add(atoms.intern(b"daemon"), OpType::Fx, 1150);
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
        true
    }
    /// Removes the operator of this kind (any of the infix kinds removes the infix one).
    pub fn remove(&mut self, atom: Atom, kind: OpType) {
        self.class(kind).remove(&atom);
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
        self.prefix.get(&atom).copied()
    }
    /// As an infix operator.
    pub fn infix(&self, atom: Atom) -> Option<Op> {
        self.infix.get(&atom).copied()
    }
    /// As a postfix operator.
    pub fn postfix(&self, atom: Atom) -> Option<Op> {
        self.postfix.get(&atom).copied()
    }
    /// Any kind of operator.
    pub fn is_operator(&self, atom: Atom) -> bool {
        self.prefix.contains_key(&atom) || self.infix.contains_key(&atom) || self.postfix.contains_key(&atom)
    }
}
