//! Clauses that differ in constants only: one clause stands for all of them, and a table (`term::table`) has a row
//! of constants for each. Code and the time to make it do not grow with their number, nor does the time to find one.
//!
//! Such clauses are of one *kind*: their tests and bodies are the same but for *keys*, the integers and atoms that
//! tests compare with, and *holes*, the ground terms of bodies.
//!
//! Invariants:
//! - B1 A clause goes into a table only where it stands among clauses that all compare one value with a constant,
//!   and no clause of another kind there has its constant. So a row and a clause that changed places never both
//!   commit.
//! - Of rows with the same keys only the first is kept: the others never commit, since all other tests of a kind
//!   are the same.

use crate::ir::{Constant, ConstantId, Pattern};
use crate::program::constants::{Pool, encode, ground};
use crate::program::names::Names;
use crate::program::passive::Passive;
use crate::program::values::{Atomic, Origin, Shape, Table, Test, TestId, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;
use syntax::program::{
    Clause, Expr, Goal, GoalKind, Pragma, Predicate, Separator, Term, TermKind, VarId, Variable,
};
use syntax::source::{SourceMap, Span};
use term::Word;
use term::abi::{Position, PredicateId};
use term::table::{HASH_BITS, home};

/// Fewer rows are clauses: their tests cost less than a look-up.
const ROWS_MIN: usize = 16;
/// Clauses with more keys stay clauses (look-ups nest).
const KEYS_MAX: usize = 64;

/// What a predicate's decision tree chooses from.
pub(crate) enum Choice {
    /// The clause with this number.
    Clause(usize),
    /// Clauses in a table.
    Rows(Box<Rows>),
}

/// A clause that stands for many.
pub(crate) struct Rows {
    /// The first of them, with variables for the constants in which they differ.
    pub(crate) clause: Clause,
    pub(crate) passive: Passive,
    /// Its number.
    pub(crate) first: usize,
    /// Where its body stands: table, row, index of the column, and the line that the column has for this clause.
    pub(crate) lines: Option<(ConstantId, ValueId, u32, u32)>,
}

/// Where clauses stand.
pub(crate) struct Places<'p> {
    pub(crate) sources: &'p SourceMap,
    pub(crate) predicate: PredicateId,
}

/// An integer or atom that a test compares with.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Int(i64),
    Atom(term::Atom),
}

impl Key {
    fn of(pattern: Pattern) -> Option<Key> {
        match pattern {
            Pattern::Int(value) => Some(Key::Int(value)),
            Pattern::Atom(atom) => Some(Key::Atom(atom)),
            _ => None,
        }
    }
    fn word(self) -> Word {
        match self {
            Key::Int(value) => Word::small(value),
            Key::Atom(atom) => Word::atom(atom),
        }
    }
    fn constant(self) -> Constant {
        match self {
            Key::Int(value) => Constant::Int(value),
            Key::Atom(atom) => Constant::Atom(atom),
        }
    }
}

/// A clause as this module sees it.
#[derive(Default)]
struct Read {
    /// Number of its kind; `None`: it cannot be a row.
    kind: Option<u32>,
    keys: Vec<(ValueId, Key)>,
    holes: Vec<Constant>,
    /// The line of the body's first goal.
    line: Option<u32>,
}

impl Read {
    fn key(&self, value: ValueId) -> Option<Key> {
        self.keys.iter().find(|key| key.0 == value).map(|key| key.1)
    }
}

/// The choices of a predicate, in the order in which they are tried.
pub(crate) fn choices(
    names: &Names<'_>,
    pool: &mut Pool,
    predicate: &Predicate,
    passive: &[Passive],
    table: &mut Table,
    places: &Places<'_>,
) -> Vec<Choice> {
    let count = predicate.clauses.len();
    if count < ROWS_MIN {
        return (0..count).map(Choice::Clause).collect();
    }
    let mut reader =
        Reader { names, places, predicate, table, kinds: FxHashMap::default(), text: Vec::new() };
    let read: Vec<Read> = predicate
        .clauses
        .iter()
        .zip(passive)
        .map(|(clause, passive)| reader.clause(clause, passive))
        .collect();
    let mut maker =
        Maker { names, pool, predicate, passive, table, places, read: &read, choices: Vec::new() };
    let mut start = 0;
    while start < count {
        let Some(&(value, _)) = read[start].keys.first() else {
            maker.choices.push(Choice::Clause(start));
            start += 1;
            continue;
        };
        let more = (start + 1..count).take_while(|&next| {
            predicate.clauses[next].separator != Separator::Otherwise && read[next].key(value).is_some()
        });
        let end = start + 1 + more.count();
        maker.run(start..end, value);
        start = end;
    }
    maker.choices
}

/// Finds out what clauses are like.
struct Reader<'r, 'a> {
    names: &'r Names<'a>,
    places: &'r Places<'r>,
    predicate: &'r Predicate,
    table: &'r Table,
    /// By what all clauses of a kind have in common.
    kinds: FxHashMap<Vec<u8>, u32>,
    text: Vec<u8>,
}

impl Reader<'_, '_> {
    fn clause(&mut self, clause: &Clause, passive: &Passive) -> Read {
        let mut read = Read::default();
        if passive.never {
            return read;
        }
        self.text.clear();
        for &test in passive.tests.iter() {
            match key(self.table, test) {
                Some((value, key)) => {
                    read.keys.push((value, key));
                    self.numbers([0, value.0.into()]);
                }
                None => self.numbers([1, test.0.into()]),
            }
        }
        for (variable, known) in clause.variables.iter().zip(&passive.variables) {
            // Bodies know anonymous variables by their names.
            self.numbers([u64::from(variable.name == "_")]);
            match *known {
                None => self.numbers([2]),
                Some(Atomic::Value(value)) => self.numbers([3, value.0.into()]),
                Some(Atomic::Int(value)) => self.numbers([4, value as u64]),
                Some(Atomic::Atom(atom)) => self.numbers([5, atom.0.into()]),
                Some(Atomic::Constant(id)) => self.numbers([6, id.0.into()]),
                Some(Atomic::Column { .. }) => unreachable!("only this module makes columns"),
            }
        }
        let known = clause.body.iter().all(|goal| self.goal(goal, &mut read));
        if known && read.keys.len() <= KEYS_MAX {
            let next = self.kinds.len() as u32;
            read.kind = Some(*self.kinds.entry(self.text.clone()).or_insert(next));
        }
        read
    }
    fn numbers<const N: usize>(&mut self, numbers: [u64; N]) {
        numbers.iter().for_each(|number| self.text.extend(number.to_le_bytes()));
    }
    /// False if it is not known where the goal stands.
    fn goal(&mut self, goal: &Goal, read: &mut Read) -> bool {
        let Some(line) = self.line(goal.span) else { return false };
        let first = *read.line.get_or_insert(line);
        let Some(below) = line.checked_sub(first) else { return false };
        self.numbers([7, below.into()]);
        match &goal.kind {
            GoalKind::Unify(a, b) => {
                self.numbers([8]);
                [a, b].into_iter().for_each(|term| self.term(term, read));
            }
            GoalKind::Assign(target, expr) => {
                self.numbers([9]);
                self.term(target, read);
                self.expression(expr, read);
            }
            GoalKind::Call(call) => {
                let module = call.module.map_or(0, |module| 1 + u64::from(module.0));
                let (arguments, pragmas) = (call.arguments.len() as u64, call.pragmas.len() as u64);
                self.numbers([10, module, call.name.0.into(), arguments, pragmas]);
                call.arguments.iter().for_each(|term| self.term(term, read));
                return call.pragmas.iter().all(|pragma| self.pragma(pragma));
            }
        }
        true
    }
    /// These constants are not columns: they are the same for a kind.
    fn pragma(&mut self, pragma: &Pragma) -> bool {
        let (number, term) = match pragma {
            Pragma::Priority(term) => (0, term),
            Pragma::LowerPriority(term) => (1, term),
            Pragma::Node(term) => (2, term),
        };
        match term.kind {
            TermKind::Var(variable) => self.numbers([11, number, 0, variable.0.into()]),
            TermKind::Int(value) => self.numbers([11, number, 1, value as u64]),
            _ => return false,
        }
        true
    }
    fn expression(&mut self, expr: &Expr, read: &mut Read) {
        match expr {
            Expr::Term(term) => self.term(term, read),
            Expr::Int(op, _, parts) => {
                self.numbers([12, *op as u64, parts.len() as u64]);
                parts.iter().for_each(|part| self.expression(part, read));
            }
            Expr::Float(name, _, parts) => {
                self.numbers([13, name.len() as u64, parts.len() as u64]);
                self.text.extend(name.bytes());
                parts.iter().for_each(|part| self.expression(part, read));
            }
        }
    }
    fn term(&mut self, term: &Term, read: &mut Read) {
        if let Some(constant) = hole(term, self.names) {
            self.numbers([14]);
            read.holes.push(constant);
            return;
        }
        match &term.kind {
            TermKind::Var(variable) => self.numbers([15, variable.0.into()]),
            TermKind::List(items, tail) => {
                self.numbers([16, items.len() as u64, u64::from(tail.is_some())]);
            }
            TermKind::Struct(name, parts) => self.numbers([17, name.0.into(), parts.len() as u64]),
            TermKind::Vector(parts) => self.numbers([18, parts.len() as u64]),
            // A predicate that does not exist: diagnosed elsewhere.
            _ => self.numbers([19]),
        }
        term.parts().for_each(|part| self.term(part, read));
    }
    /// The line, if a position can say it.
    fn line(&self, span: Span) -> Option<u32> {
        let line = self.places.sources.line(span.file, span.start);
        let said = Position::new(self.places.predicate, line) != Position::NONE;
        (span.file == self.predicate.span.file && said).then_some(line)
    }
}

/// The constant that a term of a body is, if all of it is one.
fn hole(term: &Term, names: &Names<'_>) -> Option<Constant> {
    if matches!(term.kind, TermKind::Var(_)) { None } else { ground(term, names) }
}

/// The value and the constant, if a test compares with one.
fn key(table: &Table, test: TestId) -> Option<(ValueId, Key)> {
    match *table.get(test) {
        Test::Shape(value, Shape::Is(pattern)) => Some((value, Key::of(pattern)?)),
        _ => None,
    }
}

/// Makes choices.
struct Maker<'m, 'a> {
    names: &'m Names<'a>,
    pool: &'m mut Pool,
    predicate: &'m Predicate,
    passive: &'m [Passive],
    table: &'m mut Table,
    places: &'m Places<'m>,
    read: &'m [Read],
    choices: Vec<Choice>,
}

impl Maker<'_, '_> {
    /// Clauses that all compare `value` with a constant (B1).
    fn run(&mut self, clauses: Range<usize>, value: ValueId) {
        let read = self.read;
        let mut owners: FxHashMap<Key, Option<u32>> = FxHashMap::default();
        for clause in &read[clauses.clone()] {
            let key = clause.key(value).expect("all of them compare it");
            let owner = owners.entry(key).or_insert(clause.kind);
            if *owner != clause.kind {
                *owner = None;
            }
        }
        let mut members: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
        for number in clauses.clone() {
            if let Some(kind) = read[number].key(value).and_then(|key| owners[&key]) {
                members.entry(kind).or_default().push(number);
            }
        }
        let mut tabled = FxHashSet::default();
        let mut firsts: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
        for (_, members) in members {
            let mut seen = FxHashSet::default();
            let different = |number: &usize| {
                let keys: Vec<Key> = read[*number].keys.iter().map(|key| key.1).collect();
                seen.insert(keys)
            };
            let rows: Vec<usize> = members.iter().copied().filter(different).collect();
            if rows.len() >= ROWS_MIN {
                tabled.extend(members);
                firsts.insert(rows[0], rows);
            }
        }
        for number in clauses {
            if let Some(rows) = firsts.remove(&number) {
                let rows = self.rows(&rows);
                self.choices.push(Choice::Rows(Box::new(rows)));
            } else if !tabled.contains(&number) {
                self.choices.push(Choice::Clause(number));
            }
        }
    }

    /// The clause and the table of these.
    fn rows(&mut self, rows: &[usize]) -> Rows {
        let (first, read) = (rows[0], self.read);
        let sample = &read[first];
        let levels: Vec<usize> = (0..sample.keys.len())
            .filter(|&at| rows.iter().any(|&row| read[row].keys[at].1 != sample.keys[at].1))
            .collect();
        let columns: Vec<usize> = (0..sample.holes.len()).filter(|&at| self.differs(rows, at)).collect();
        let has_lines = rows.iter().any(|&row| read[row].line != sample.line);
        let predicate = self.places.predicate;
        let row = |row: usize| {
            let constants = columns.iter().map(|&at| read[row].holes[at].clone());
            let line = read[row].line.filter(|_| has_lines);
            let bits = line.map(|line| Constant::Int(Position::new(predicate, line).bits() as i64));
            constants.chain(bits).collect()
        };
        let mut words = Words { read, levels: &levels, row: &row, words: Vec::new() };
        words.node(rows, 0);
        let table = self.pool.add(Constant::Table(words.words.into()));
        let (tests, found) = self.tests(first, &levels, table);
        let mut clause = self.predicate.clauses[first].clone();
        let mut variables = self.passive[first].variables.clone();
        let mut holes =
            Holes { names: self.names, columns: &columns, next: 0, clause: &mut clause.variables };
        clause.body.iter_mut().for_each(|goal| holes.goal(goal));
        variables
            .extend((0..columns.len() as u32).map(|index| Some(Atomic::Column { table, row: found, index })));
        let lines = sample.line.filter(|_| has_lines).map(|line| (table, found, columns.len() as u32, line));
        Rows { clause, passive: Passive { tests: tests.into(), variables, never: false }, first, lines }
    }

    /// Whether the rows have different constants there.
    fn differs(&self, rows: &[usize], at: usize) -> bool {
        let mut sample = Vec::new();
        encode(&self.read[rows[0]].holes[at], &mut sample);
        let mut other = Vec::new();
        rows.iter().any(|&row| {
            other.clear();
            encode(&self.read[row].holes[at], &mut other);
            other != sample
        })
    }

    /// The tests of the clause that stands for the rows, and the value that says which row was found.
    fn tests(&mut self, first: usize, levels: &[usize], table: ConstantId) -> (Vec<TestId>, ValueId) {
        let mut node = None;
        let mut keys = 0;
        let mut tests = Vec::new();
        for &test in self.passive[first].tests.iter() {
            let Some((value, _)) = key(self.table, test) else {
                tests.push(test);
                continue;
            };
            keys += 1;
            if !levels.contains(&(keys - 1)) {
                tests.push(test);
                continue;
            }
            let find = self.table.test(Test::Find { table, node, key: value });
            tests.push(find);
            node = Some(self.table.value(Origin::Output(find, 0)));
        }
        (tests, node.expect("different rows differ in a key"))
    }
}

/// Puts variables where a clause has constants in which others differ.
struct Holes<'h, 'a> {
    names: &'h Names<'a>,
    columns: &'h [usize],
    /// Number of the next hole.
    next: usize,
    clause: &'h mut Vec<Variable>,
}

impl Holes<'_, '_> {
    fn goal(&mut self, goal: &mut Goal) {
        match &mut goal.kind {
            GoalKind::Unify(a, b) => [a, b].into_iter().for_each(|term| self.term(term)),
            GoalKind::Assign(target, expr) => {
                self.term(target);
                self.expression(expr);
            }
            GoalKind::Call(call) => call.arguments.iter_mut().for_each(|term| self.term(term)),
        }
    }
    fn expression(&mut self, expr: &mut Expr) {
        match expr {
            Expr::Term(term) => self.term(term),
            Expr::Int(_, _, parts) | Expr::Float(_, _, parts) => {
                parts.iter_mut().for_each(|part| self.expression(part));
            }
        }
    }
    fn term(&mut self, term: &mut Term) {
        if hole(term, self.names).is_some() {
            self.next += 1;
            if self.columns.contains(&(self.next - 1)) {
                term.kind = TermKind::Var(VarId(self.clause.len() as u32));
                self.clause.push(Variable { name: "$column".into(), span: term.span });
            }
            return;
        }
        let (items, tail): (&mut [Term], Option<&mut Term>) = match &mut term.kind {
            TermKind::List(items, tail) => (items, tail.as_deref_mut()),
            TermKind::Struct(_, parts) | TermKind::Vector(parts) => (parts, None),
            _ => (&mut [], None),
        };
        items.iter_mut().chain(tail).for_each(|part| self.term(part));
    }
}

/// The words of a table while they are made.
struct Words<'w> {
    read: &'w [Read],
    /// Which keys of a clause are looked for, in order.
    levels: &'w [usize],
    row: &'w dyn Fn(usize) -> Vec<Constant>,
    words: Vec<Constant>,
}

impl Words<'_> {
    /// Adds the node for the rows that have come so far, and what follows it. Answers where it begins.
    fn node(&mut self, rows: &[usize], level: usize) -> i64 {
        let mut numbers: FxHashMap<Key, usize> = FxHashMap::default();
        let mut groups: Vec<(Key, Vec<usize>)> = Vec::new();
        for &row in rows {
            let key = self.read[row].keys[self.levels[level]].1;
            let number = *numbers.entry(key).or_insert_with(|| {
                groups.push((key, Vec::new()));
                groups.len() - 1
            });
            groups[number].1.push(row);
        }
        // At most half of the slots are used; a node of one key needs one.
        let slots = if groups.len() == 1 { 1 } else { (2 * groups.len()).next_power_of_two() };
        let shift = HASH_BITS - slots.trailing_zeros();
        let mut order: Vec<Option<usize>> = vec![None; slots];
        for (number, (key, _)) in groups.iter().enumerate() {
            let mut at = home(key.word(), shift);
            while order.get(at).is_some_and(Option::is_some) {
                at += 1;
            }
            order.resize(order.len().max(at + 1), None);
            order[at] = Some(number);
        }
        order.push(None);
        let start = self.words.len();
        self.words.push(Constant::Int(shift.into()));
        self.words.extend(std::iter::repeat_n(Constant::Int(0), 2 * order.len()));
        for (at, number) in order.into_iter().enumerate() {
            let Some(number) = number else { continue };
            let (key, rows) = &groups[number];
            let next = if level + 1 == self.levels.len() {
                let next = self.words.len() as i64;
                self.words.extend((self.row)(rows[0]));
                next
            } else {
                self.node(rows, level + 1)
            };
            self.words[start + 1 + 2 * at] = key.constant();
            self.words[start + 2 + 2 * at] = Constant::Int(next);
        }
        start as i64
    }
}
