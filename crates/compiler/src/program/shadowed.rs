//! Clauses that are never chosen, and those whose choice depends on what is known at the moment.
//!
//! A clause *covers* an earlier one if it fits wherever that one fits. Where the earlier one waits, the later one then
//! commits. The other way round, a clause that fits only where an earlier one fits is never chosen.

use crate::ir::Pattern;
use crate::program::arithmetic::holds;
use crate::program::names::Names;
use crate::program::passive::Passive;
use crate::program::values::{Atomic, Fact, Origin, Shape, Table, Test, TestId, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};
use syntax::diagnostic::Diagnostic;
use syntax::program::{Predicate, Separator};
use syntax::source::Span;
use term::AtomTable;
use term::abi::PredicateId;

// Bounds of what is looked at for one clause: so time is linear.

/// Clauses with more tests are compared with those that have the same tests only.
const TESTS_MAX: usize = 64;
/// Clauses just before.
const RECENT: usize = 8;
/// First clauses that test a certain value last.
const FIRST: usize = 4;

/// Guard builtins that hand out parts, which may be unbound. Outputs of others are values.
const PARTS: [(&[u8], usize); 2] = [(b"vector_element", 3), (b"arg", 3)];

/// Warns of clauses that are never chosen, and of those whose choice depends on what is known at the moment.
pub(crate) fn shadowed(
    names: &Names<'_>,
    atoms: &AtomTable,
    predicate: &Predicate,
    table: &Table,
    passive: &[Passive],
    diagnostics: &mut Vec<Diagnostic>,
) {
    let guard = |&(name, arity): &(&[u8], usize)| names.guard(atoms.lookup(name)?, arity);
    let parts = PARTS.iter().filter_map(guard).map(|found| found.0).collect();
    let mut search = Search::new(predicate, table, passive, parts);
    for at in 0..passive.len() {
        search.clause(at, diagnostics);
    }
}

/// The clauses before the one that is looked at.
struct Search<'s> {
    predicate: &'s Predicate,
    table: &'s Table,
    passive: &'s [Passive],
    parts: Vec<PredicateId>,
    /// By their tests: the first with just these.
    same: FxHashMap<&'s [TestId], Span>,
    /// The first that test a value last.
    first: FxHashMap<ValueId, Vec<usize>>,
    /// Where the layer begins, and its first clause with any test.
    layer: usize,
    conditional: Option<usize>,
    /// The latest of the layer that test a value, or make another test.
    latest: FxHashMap<About, usize>,
}

/// What a test is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum About {
    Value(ValueId),
    Test(TestId),
}

/// What the tests of a clause say where all of them succeed.
struct Known<'t> {
    tests: FxHashSet<TestId>,
    facts: FxHashMap<ValueId, Fact>,
    table: &'t Table,
}

impl<'s> Search<'s> {
    fn new(
        predicate: &'s Predicate,
        table: &'s Table,
        passive: &'s [Passive],
        parts: Vec<PredicateId>,
    ) -> Search<'s> {
        Search {
            predicate,
            table,
            passive,
            parts,
            same: FxHashMap::default(),
            first: FxHashMap::default(),
            layer: 0,
            conditional: None,
            latest: FxHashMap::default(),
        }
    }
    fn clause(&mut self, at: usize, diagnostics: &mut Vec<Diagnostic>) {
        let (predicate, passive) = (self.predicate, self.passive);
        let (clause, tests) = (&predicate.clauses[at], &passive[at].tests[..]);
        if clause.separator != Separator::None {
            self.latest.clear();
            (self.layer, self.conditional) = (at, None);
        }
        if passive[at].never {
            return;
        }
        let known = Known::new(self.table, tests);
        let earlier = |at: usize| predicate.clauses[at].span;
        if let Some(&same) = self.same.get(&[][..]).or_else(|| self.same.get(tests)) {
            diagnostics.push(never_chosen(clause.span, same));
        } else if let Some(first) = self.always_before(at, &known) {
            diagnostics.push(
                never_chosen(clause.span, earlier(first))
                    .note("KLIC does not try clauses in their order: it may choose this one")
                    .help("put the clause with more conditions first"),
            );
        } else if let Some(first) = self.waits_before(at, &known) {
            diagnostics.push(chosen_too_early(clause.span, earlier(first), tests.is_empty()));
        }
        self.add(at);
    }
    fn add(&mut self, at: usize) {
        let tests = &self.passive[at].tests[..];
        if !tests.is_empty() {
            self.conditional.get_or_insert(at);
        }
        self.latest.extend(tests.iter().map(|&test| (about(self.table, test), at)));
        self.same.entry(tests).or_insert(self.predicate.clauses[at].span);
        if let Some(&Test::Shape(value, _)) = tests.last().map(|&test| self.table.get(test)) {
            let first = self.first.entry(value).or_default();
            if first.len() < FIRST {
                first.push(at);
            }
        }
    }
    /// An earlier clause that fits wherever this one does.
    fn always_before(&self, at: usize, known: &Known<'_>) -> Option<usize> {
        if known.tests.len() > TESTS_MAX {
            return None;
        }
        let values = known.facts.keys().filter_map(|value| self.first.get(value)).flatten().copied();
        let recent = at.saturating_sub(RECENT)..at;
        let fits = |&earlier: &usize| self.passive[earlier].tests.iter().all(|&test| known.implies(test));
        values.chain(recent).filter(|&earlier| self.is_other(earlier, at)).filter(fits).min()
    }
    /// A clause before this one in its layer that may have to wait where this one commits, and may commit itself later.
    fn waits_before(&self, at: usize, known: &Known<'_>) -> Option<usize> {
        let tests = &self.passive[at].tests[..];
        if tests.is_empty() {
            return self.conditional;
        }
        if tests.len() > TESTS_MAX {
            return None;
        }
        let latest = tests.iter().map(|&test| self.latest.get(&about(self.table, test)).copied()).min();
        let recent = self.layer.max(at.saturating_sub(RECENT))..at;
        let waits = |&earlier: &usize| self.is_other(earlier, at) && self.may_wait(earlier, tests, known);
        recent.rev().chain(latest.flatten()).find(waits)
    }
    /// Whether a clause counts beside this one. Copies of one clause, which a disjunction makes, do the same.
    fn is_other(&self, earlier: usize, at: usize) -> bool {
        let span = |at: usize| self.predicate.clauses[at].span;
        !self.passive[earlier].never && span(earlier) != span(at)
    }
    /// True if this clause with the tests `later` covers the earlier one, and that one may wait where it commits.
    fn may_wait(&self, earlier: usize, later: &[TestId], known: &Known<'_>) -> bool {
        let tests = &self.passive[earlier].tests[..];
        if tests.len() > TESTS_MAX {
            return false;
        }
        let before = Known::new(self.table, tests);
        let waits = |value: &ValueId| self.may_be_unbound(*value) && !known.facts.contains_key(value);
        later.iter().all(|&test| before.implies(test))
            && tests.iter().flat_map(|&test| looked_at(self.table, test)).any(|value| waits(&value))
    }
    fn may_be_unbound(&self, value: ValueId) -> bool {
        match self.table.origin(value) {
            Origin::Output(test, _) => {
                matches!(self.table.get(*test), Test::Call(id, ..) if self.parts.contains(id))
            }
            Origin::Arith(..) => false,
            Origin::Parameter(_) | Origin::Car(_) | Origin::Cdr(_) | Origin::Argument(..) => true,
        }
    }
}

impl<'t> Known<'t> {
    fn new(table: &'t Table, tests: &[TestId]) -> Known<'t> {
        let mut known = Known { tests: tests.iter().copied().collect(), facts: FxHashMap::default(), table };
        for &test in tests.iter().take(TESTS_MAX) {
            let fact = match *table.get(test) {
                Test::Shape(_, Shape::Is(pattern)) => Fact::Like(pattern),
                Test::Shape(_, Shape::Integer) => Fact::Integer,
                _ => Fact::Bound,
            };
            for value in looked_at(table, test) {
                let known = known.facts.entry(value).or_insert(fact);
                if fact.implies(*known) {
                    *known = fact;
                }
            }
        }
        known
    }
    /// Whether a test succeeds, too.
    fn implies(&self, test: TestId) -> bool {
        let fact = |value: &ValueId| self.facts.get(value).copied();
        self.tests.contains(&test)
            || match self.table.get(test) {
                Test::Shape(value, shape) => fact(value).and_then(|fact| fact.decides(*shape)) == Some(true),
                Test::Compare(cond, Atomic::Value(value), Atomic::Int(int)) => {
                    let is = |fact| matches!(fact, Fact::Like(Pattern::Int(it)) if holds(*cond, it, *int));
                    fact(value).is_some_and(is)
                }
                _ => false,
            }
    }
}

/// The values that a test waits for, and that are bound when it succeeds.
fn looked_at(table: &Table, test: TestId) -> impl Iterator<Item = ValueId> + '_ {
    let (one, inputs) = match table.get(test) {
        Test::Shape(value, _) => (Some(*value), &[][..]),
        Test::Call(_, inputs, _) => (None, &inputs[..]),
        // What is compared or computed with has been tested before.
        Test::Compare(..) | Test::Eval(_) | Test::Find { .. } => (None, &[][..]),
    };
    let value = |input: &Atomic| match input {
        Atomic::Value(value) => Some(*value),
        _ => None,
    };
    one.into_iter().chain(inputs.iter().filter_map(value))
}

fn about(table: &Table, test: TestId) -> About {
    match *table.get(test) {
        Test::Shape(value, _) => About::Value(value),
        _ => About::Test(test),
    }
}

fn never_chosen(clause: Span, earlier: Span) -> Diagnostic {
    Diagnostic::warning("shadowed-clause", clause, "this clause is never chosen")
        .label("never chosen")
        .related(earlier, "this one always commits first")
}

fn chosen_too_early(clause: Span, earlier: Span, is_unconditional: bool) -> Diagnostic {
    let what = "this clause is chosen whenever the ones before it are not chosen at once";
    let warning = Diagnostic::warning("shadowed-clause", clause, what)
        .related(earlier, "also when this one could commit later");
    let warning = if is_unconditional {
        warning.label("has no conditions").note("KLIC deletes such a clause")
    } else {
        warning.label("has fewer conditions")
    };
    warning.help("write `otherwise.` before it, or give it a guard that excludes the others")
}
