//! What `syntax` hands on: modules of predicates of clauses, with every macro expanded.
//!
//! Invariants of a program without error diagnostics:
//! - Guard disjunctions are expanded (a clause per branch); body conditionals are predicates of their own
//!   (`p/2$0`); argument pairs, update goals, `~(..)`, `#"c"` and `:- with` are gone.
//! - S2 Terms nest at most [`NESTING_MAX`] deep (lists count once), so passes over them may recurse.
//! - All clauses of a predicate are in one [`Predicate`], in textual order.

use crate::source::Span;
use num_bigint::BigInt;
use term::Atom;
use term::abi::{Cond, IntOp};

/// Deepest nesting of terms, expressions and conditionals in a program text (S2).
pub const NESTING_MAX: usize = 256;

/// A program text: all modules of all files given.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// In the order of the files.
    pub modules: Vec<Module>,
}

/// One module.
#[derive(Clone, Debug)]
pub struct Module {
    /// Its name.
    pub name: Atom,
    /// Where it is declared.
    pub span: Span,
    /// In order of their first clauses; auxiliary predicates after their owners.
    pub predicates: Vec<Predicate>,
}

/// A predicate: all clauses with one name and arity.
#[derive(Clone, Debug)]
pub struct Predicate {
    /// Name without arity; of an auxiliary predicate `owner/arity$k`.
    pub name: Atom,
    /// Number of arguments.
    pub arity: usize,
    /// The head of the first clause.
    pub span: Span,
    /// Made from a body conditional.
    pub auxiliary: bool,
    /// Declared by `:- daemon p/n.` (library only): its goals may stay suspended at the end.
    pub daemon: bool,
    /// In textual order.
    pub clauses: Vec<Clause>,
}

/// What stands between a clause and the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Separator {
    /// Nothing: same layer.
    None,
    /// `otherwise.`: all earlier clauses must have failed.
    Otherwise,
    /// `alternatively.`: no earlier clause can commit now.
    Alternatively,
}

/// Index into [`Clause::variables`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VarId(pub u32);

/// A variable of a clause.
#[derive(Clone, Debug)]
pub struct Variable {
    /// As written; made-up variables have a name that no text can have (`$1`).
    pub name: String,
    /// First occurrence.
    pub span: Span,
}

/// A clause.
#[derive(Clone, Debug)]
pub struct Clause {
    /// From the head to the end.
    pub span: Span,
    /// What precedes it.
    pub separator: Separator,
    /// Its variables.
    pub variables: Vec<Variable>,
    /// The head's arguments.
    pub head: Vec<Term>,
    /// In textual order; a conjunction.
    pub guard: Vec<Guard>,
    /// In textual order.
    pub body: Vec<Goal>,
}

impl Clause {
    /// The terms of its head, those that its guard tests or takes apart, and those of its unifications and calls, in
    /// textual order; not the operands of expressions.
    pub fn terms(&self) -> impl Iterator<Item = &Term> {
        let guards = self.guard.iter().flat_map(|guard| match &guard.kind {
            GuardKind::Unify(a, b) => vec![a, b],
            GuardKind::Call(_, terms) => terms.iter().collect(),
            GuardKind::Method(_, inputs, outputs) => inputs.iter().chain(outputs).collect(),
            GuardKind::Compare(..) | GuardKind::Assign(..) => vec![],
        });
        let goals = self.body.iter().flat_map(|goal| match &goal.kind {
            GoalKind::Unify(a, b) => vec![a, b],
            GoalKind::Call(call) => call.arguments.iter().collect(),
            GoalKind::Assign(..) => vec![],
        });
        self.head.iter().chain(guards).chain(goals)
    }

    /// The predicates that are constants in it, `predicate#(m:p/n)`, with their places.
    pub fn predicates(&self) -> impl Iterator<Item = (Atom, Atom, usize, Span)> {
        self.terms().flat_map(Term::subterms).filter_map(|term| match term.kind {
            TermKind::Predicate(module, name, arity) => Some((module, name, arity, term.span)),
            _ => None,
        })
    }
}

/// A term of a clause.
#[derive(Clone, Debug)]
pub struct Term {
    /// Where it stands.
    pub span: Span,
    /// What it is.
    pub kind: TermKind,
}

impl Term {
    /// The terms directly in it, in textual order.
    pub fn parts(&self) -> impl DoubleEndedIterator<Item = &Term> {
        let (items, tail): (&[Term], Option<&Term>) = match &self.kind {
            TermKind::List(items, tail) => (items, tail.as_deref()),
            TermKind::Struct(_, parts) | TermKind::Vector(parts) => (parts, None),
            _ => (&[], None),
        };
        items.iter().chain(tail)
    }

    /// It and every term inside it, in textual order.
    pub fn subterms(&self) -> impl Iterator<Item = &Term> {
        let mut work = vec![self];
        std::iter::from_fn(move || {
            let term = work.pop()?;
            work.extend(term.parts().rev());
            Some(term)
        })
    }

    /// The variables in it, as often as they occur, in textual order.
    pub fn variables(&self) -> impl Iterator<Item = VarId> {
        self.subterms().filter_map(|term| match term.kind {
            TermKind::Var(variable) => Some(variable),
            _ => None,
        })
    }
}

/// Kinds of terms.
#[derive(Clone, Debug)]
pub enum TermKind {
    /// A variable; every anonymous `_` is one of its own.
    Var(VarId),
    /// An integer that a word holds.
    Int(i64),
    /// A larger one.
    BigInt(Box<BigInt>),
    /// A float.
    Float(f64),
    /// An atom.
    Atom(Atom),
    /// A string's bytes.
    String(Box<[u8]>),
    /// `[a,b|T]`: at least one item; the tail is `[]` when absent.
    List(Vec<Term>, Option<Box<Term>>),
    /// A functor with at least one argument (`'.'/2` becomes a list).
    Struct(Atom, Vec<Term>),
    /// `{a,b}`.
    Vector(Vec<Term>),
    /// `predicate#(m:p/n)`.
    Predicate(Atom, Atom, usize),
    /// `module#m` (bodies only).
    Module(Atom),
}

/// An expression of `:=`, `$:=` or a comparison.
#[derive(Clone, Debug)]
pub enum Expr {
    /// A variable or constant.
    Term(Term),
    /// An integer operation; unary ones have one operand.
    Int(IntOp, Span, Vec<Expr>),
    /// A float operation, named as the method of class float: `add subtract multiply divide pow`, `plus
    /// minus sin .. floor`, `float` (operand: an integer expression), `int` (its value is an integer).
    /// Operands of the others are float expressions; integer constants in them are floats already.
    Float(&'static str, Span, Vec<Expr>),
}

/// A guard goal.
#[derive(Clone, Debug)]
pub struct Guard {
    /// Where it stands.
    pub span: Span,
    /// What it is.
    pub kind: GuardKind,
}

/// Kinds of guard goals.
#[derive(Clone, Debug)]
pub enum GuardKind {
    /// `X = T`: a test, a pattern, or another name for a new variable.
    Unify(Term, Term),
    /// `E1 < E2` and the like (also `less_than/2` ..).
    Compare(Cond, Expr, Expr),
    /// `V := E` (also `add/3` ..): a new variable gets the value, a known one is tested.
    Assign(Term, Expr),
    /// Any other guard builtin, by name; its modes say which arguments are outputs.
    Call(Atom, Vec<Term>),
    /// `generic:m(Obj,In..):Out1:Out2`: name, inputs (the object first), outputs (`_` where omitted).
    Method(Atom, Vec<Term>, Vec<Term>),
}

/// A body goal.
#[derive(Clone, Debug)]
pub struct Goal {
    /// Where it stands.
    pub span: Span,
    /// What it is.
    pub kind: GoalKind,
}

/// Kinds of body goals.
#[derive(Clone, Debug)]
pub enum GoalKind {
    /// `X = T`.
    Unify(Term, Term),
    /// `V := E` and `V $:= E` (also `add/3`, `floating_point_add/3` .. without a module): `V` is unified
    /// with the value.
    Assign(Term, Expr),
    /// `p(..)`, `m:p(..)`, `generic:m(..)` (module `generic`): a builtin, a predicate of this or of another
    /// module.
    Call(Call),
}

/// A call in a body.
#[derive(Clone, Debug)]
pub struct Call {
    /// The module, when the text names one.
    pub module: Option<Atom>,
    /// The predicate's name.
    pub name: Atom,
    /// Its arguments.
    pub arguments: Vec<Term>,
    /// `@priority(P)` and the like; at most one of each kind.
    pub pragmas: Vec<Pragma>,
}

/// A pragma of a call; the term is an integer or a variable.
#[derive(Clone, Debug)]
pub enum Pragma {
    /// `@priority(P)`.
    Priority(Term),
    /// `@lower_priority(N)`; `@lower_priority` is 1.
    LowerPriority(Term),
    /// `@node(N)`.
    Node(Term),
}
